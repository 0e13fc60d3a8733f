"""The result of a benchmark as text."""

from safescreen.bench.cases import ELSEWHERE, RTOL
from safescreen.bench.samples import render_samples

__all__ = ["render", "summarize"]

COLUMNS = ("terms", "screening", "seconds", "least", "off/this", "plain/this", "iterations", "rel. gap", "screened", "objective off")
ROW = "  {:9} {:13} {:>8} {:>8} {:>9} {:>11} {:>11} {:>9} {:>9} {:>14}"


def summarize(paths):
    """Return totals over data sets: the plain baseline, and the best method of triplets with screening and of products.

    Parameters
    ----------
    paths : list of dict
        Results of :func:`safescreen.bench.worker.measure_paths`.

    Returns
    -------
    dict
        CPU seconds (medians), how many times faster than the plain baseline without screening, and which methods these were.
    """
    chosen = {
        "plain": [_best(path, "plain", (False,)) for path in paths],
        "triplets": [_best(path, "triplets", (True,)) for path in paths],
        "products": [_best(path, "products", (False, True)) for path in paths],
    }
    seconds = {terms: sum(r["seconds"] for r in records) for terms, records in chosen.items()}
    faster = {terms: seconds["plain"] / seconds[terms] for terms in ("triplets", "products")}
    methods = {terms: [r["name"] for r in records] for terms, records in chosen.items()}
    return {"seconds": seconds, "times_faster": faster, "methods": methods}


def render(result):
    """Return the tables of a benchmark.

    Parameters
    ----------
    result : dict
        As :func:`safescreen.bench.cli.run` makes it.

    Returns
    -------
    str
    """
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    lines = [f"{result['cpu']}, {result['cores']} cores, {result['machine']}; {versions}"]
    if result["quick"]:
        lines.append("Quick run on parts of the data: no numbers to quote.")
    for path in result["paths"]:
        lines += ["", *_path_table(path)]
    lines += ["", *_totals(result["summary"], result["paths"]), ""]
    lines += [_memory_line(result["memory"]), *_evaluation_lines(result["evaluations"])]
    lines += render_samples(result["samples"])
    return "\n".join(lines) + "\n"


def _path_table(path):
    n_runs = len(path["methods"][0]["runs"])
    yield f"{path['data']}: {_sizes(path)}"
    yield f"  {path['lams']} lam from {path['lam_first']:.3g} to {path['lam_last']:.3g}, ratio {path['ratio']:g}, relative gap {RTOL:g}"
    yield f"  CPU seconds on one thread, building the terms included: median and least of {n_runs} rounds (plain: one)"
    yield f"  compiling apart: {path['compile_seconds']:.1f} s"
    yield ROW.format(*COLUMNS)
    plain = _best(path, "plain", (False,))["seconds"]
    for r in path["methods"]:
        off = _best(path, r["terms"], (False,))["seconds"]
        times = f"{r['seconds']:.2f}", f"{r['best']:.2f}", f"{off / r['seconds']:.2f}", f"{plain / r['seconds']:.1f}"
        reached = r["iterations"], f"{r['gap']:.2e}", f"{r['screened']:.1%}", f"{r['objective_off']:.1e}"
        yield ROW.format(r["terms"], r["name"], *times, *reached)
    elsewhere = ", ".join(f"{name} {seconds}" for name, seconds in ELSEWHERE[path["data"]].items())
    yield "  Measured elsewhere, not in this run: the C++ program of the authors of STS19 on another"
    yield f"  machine with two cores, all points, same grid and gap, CPU seconds: {elsewhere}"


def _totals(summary, paths):
    seconds, faster = summary["seconds"], summary["times_faster"]
    yield f"In total ({', '.join(path['data'] for path in paths)}), CPU seconds:"
    yield f"  plain, O(T d^2) a step, no screening      {seconds['plain']:8.2f}"
    for terms, what in (("triplets", "triplets, best screening of each set"), ("products", "products, better of the two of each set")):
        names = ", ".join(summary["methods"][terms])
        yield f"  {what:41} {seconds[terms]:8.2f}   {faster[terms]:.1f} times faster ({names})"


def _memory_line(memory):
    each = ", ".join(f"{m['name']} {m['bytes_per_triplet']:.1f}" for m in memory)
    return f"Memory of explicit triplets and a path, {memory[0]['data']}, bytes a triplet at the peak: {each}"


def _evaluation_lines(found):
    yield f"Products, {found['data']}: {_sizes(found)}; {found['threads']} threads"
    yield "  wall seconds of primal, dual and gradient: median and least"
    for call in found["calls"]:
        yield f"  all-linear metric of {call['part']:g} lam_max  {call['seconds']:.3f}  {call['best']:.3f}"
    yield f"  memory growth at the peak {found['growth_bytes'] / 1e6:.0f} MB; built in {found['build_seconds']:.2f} s"


def _sizes(found):
    return f"{found['triplets']:,} triplets of {found['points']} points in {found['dimension']} dimensions"


def _best(path, terms, screened):
    """Return the record of least median among the methods of such terms that screen, or do not."""
    records = (r for r in path["methods"] if r["terms"] == terms and (r["name"] != "none") in screened)
    return min(records, key=lambda r: r["seconds"])
