"""The sums of what the exhaustive tests counted, at the end of a run."""

from collections import Counter, defaultdict


def pytest_terminal_summary(terminalreporter):
    sums = defaultdict(Counter)
    for outcome in ("passed", "failed"):
        for report in terminalreporter.getreports(outcome):
            if report.when == "call" and "test_exhaustively" in report.nodeid:
                for name, counts in report.user_properties:
                    sums[name].update(counts)
    if sums:
        sums["all"] = sum(sums.values(), Counter())
        terminalreporter.section("thresholds in exact arithmetic")
        for name, c in sums.items():
            terminalreporter.line(
                f"{name:14} {c['cases']:9} cases, {c['past']:9} undecidable, {c['ties']:8} "
                f"of them ties, {c['unsafe']} unsafe"
            )
