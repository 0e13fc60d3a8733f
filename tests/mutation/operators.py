"""Mutants that nobody wrote: operators of cosmic-ray on the modules that decide what is safe.

    python tests/mutation/operators.py                  all of `operators.yml`
    python tests/mutation/operators.py -k rules/ball    modules whose name contains a word
    python tests/mutation/operators.py --quick          without the slow tests in `slower`
    python tests/mutation/operators.py --count          how many there are, by module

cosmic-ray finds the places and changes them. Each change is named by function, expression and
other expression, so that what is known of it outlives edits elsewhere. `in_place.py` runs the tests
on it. `operators.yml` names the modules and the tests, and in `survivors` the changes that no test
can notice, with the reason (`why`). The run fails when another change survives, when a test notices
one of `survivors`, and when one of them has no place any more.

A number that counts roundings, as 8.0 in ``8.0 * UNIT`` or 4 in ``upper(v, 4)``, is left alone: an
allowance for one rounding more is safe too.
"""

import argparse
import ast
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import yaml

import in_place
from replacement import definitions, find, locate, places_in, replaced, same

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "lib" / "safescreen"

LIST = Path(__file__).with_name("operators.yml")
OPERATORS = (
    "NumberReplacer",
    "ReplaceUnaryOperator_Delete_USub",
    "ReplaceUnaryOperator_Delete_Not",
)
OPERATORS += tuple(
    f"ReplaceBinaryOperator_{before}_{after}"
    for before, after in (("Add", "Sub"), ("Sub", "Add"), ("Mul", "Div"), ("Div", "Mul"))
)
OPERATORS += tuple(
    f"ReplaceComparisonOperator_{before}_{after}"
    for before, after in (
        ("Lt", "LtE"),
        ("LtE", "Lt"),
        ("Gt", "GtE"),
        ("GtE", "Gt"),
        ("Lt", "Gt"),
        ("Gt", "Lt"),
        ("LtE", "GtE"),
        ("GtE", "LtE"),
    )
)
OPERATORS += ("ReplaceAndWithOr", "ReplaceOrWithAnd")


def changes(source: str) -> Iterator[str]:
    """Yield the sources into which operators of cosmic-ray change one."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    for name in OPERATORS:
        operator = get_operator(f"core/{name}")()
        # of a number there are two, one more and one less
        step = 2 if name == "NumberReplacer" else 1
        occurrence = 0
        while (changed := mutate_code(source, operator, occurrence)) is not None:
            yield changed
            occurrence += step


def entry(tree: ast.Module, changed: ast.Module) -> dict | None:
    """Return how one tree differs from another, as `from`, `to`, `in` and `nth` of an entry; None
    where no expression does, or one inside of an f-string.
    """
    pair = difference(tree, changed)
    if pair is None:
        return None
    old, new = pair
    known = definitions(tree)
    for within in ["", *known]:
        places = places_in(tree, within, known)
        if any(place.node is old for place in places):
            text = ast.unparse(old)
            alike = find(places, ast.parse(text).body, True)
            nth = [place.node is old for place in alike].index(True) + 1
            return {"in": within, "from": text, "to": ast.unparse(new), "nth": nth}
    return None


def difference(one: ast.AST, other: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """Return the innermost expressions in which two trees differ, None if there are none."""
    if same(one, other):
        return None
    inner = None
    if type(one) is type(other):
        below = zip(ast.iter_child_nodes(one), ast.iter_child_nodes(other), strict=False)
        pairs = [pair for pair in below if not same(*pair)]
        inner = difference(*pairs[0]) if len(pairs) == 1 else None
    if inner is None and isinstance(one, ast.expr) and isinstance(other, ast.expr):
        return one, other
    return inner


def _without_messages(tree: ast.Module) -> ast.Module:
    """Return a tree without what the operators leave alone: errors, annotations, decorators."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise):
            node.exc = None
        for field in ("annotation", "returns"):
            if getattr(node, field, None) is not None:
                setattr(node, field, ast.Constant(None))
        if hasattr(node, "decorator_list"):
            node.decorator_list = []
    return tree


def counts_roundings(tree: ast.Module) -> set[ast.AST]:
    """Return the numbers of a tree that are factors of UNIT, or say for how many roundings `gamma`
    and `upper` allow.
    """
    counts = []
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            sides = [node.left, node.right]
            names = [side.id if isinstance(side, ast.Name) else "" for side in sides]
            if "UNIT" in names:
                counts.append(sides[1 - names.index("UNIT")])
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            position = {"gamma": 0, "upper": 1}.get(node.func.id)
            if position is not None:
                counts.extend(node.args[position : position + 1])
    numbers = set()
    while counts:
        node = counts.pop()
        if isinstance(node, ast.Constant):
            numbers.add(node)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mult):
            counts += [node.left, node.right]
    return numbers


def generate(file: str) -> dict[str, in_place.Change]:
    """Return the changes of a module below lib/safescreen by name."""
    source = (LIBRARY / file).read_text(encoding="utf-8")
    tree = _without_messages(ast.parse(source))
    harmless = counts_roundings(tree)
    made = {}
    for changed in changes(source):
        other = _without_messages(ast.parse(changed))
        pair = difference(tree, other)
        if pair is None or pair[0] in harmless:
            continue
        fields = entry(tree, other)
        if fields is None:
            continue
        name = "{in}: {from} -> {to} ({nth})".format(**fields)
        address = (fields["from"], fields["to"], fields["in"], fields["nth"])
        try:
            written = replaced(source, *address)
        except ValueError:
            continue
        original = ast.parse(source)
        place = locate(original, fields["in"], fields["from"], True, fields["nth"])
        lines = in_place.lines_in_function(original, place.node)
        made[name] = in_place.Change(name, written, lines)
    return made


def serve(file: str, quick: bool) -> None:
    """Run the changes of one module; write a line of JSON for each."""
    listed = yaml.safe_load(LIST.read_text(encoding="utf-8"))
    guards = listed["modules"][file]
    if not quick:
        guards = guards + [test for test in listed["slower"] if test not in guards]
    changed = list(generate(file).values())
    with os.fdopen(os.dup(1), "w") as screen:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what tests print

        def tell(*line):
            print(json.dumps(line), file=screen, flush=True)

        wrong = in_place.run(LIBRARY / file, changed, guards, tell)
        if wrong:
            tell("", "wrong", wrong)


def run(file: str, quick: bool = False, report=print) -> dict[str, str]:
    """Return the outcomes of the changes of a module by name; RuntimeError if its tests fail on
    the module as it is.
    """
    variables = {"PYTHONPATH": str(ROOT / "lib"), "MPLBACKEND": "Agg", "NUMBA_DISABLE_JIT": "1"}
    variables |= {"OPENBLAS_NUM_THREADS": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, __file__, "--serve", file, *(["--quick"] if quick else [])]
    outcomes = {}
    with subprocess.Popen(
        command, cwd=ROOT, env=os.environ | variables, stdout=subprocess.PIPE, text=True
    ) as process:
        for line in process.stdout:
            name, outcome, test = json.loads(line)
            if not name:
                raise RuntimeError(f"{file}: {test}")
            outcomes[name] = outcome
            report(f"{file} {name}   {outcome} {test}")
    if process.returncode:
        raise RuntimeError(f"{file}: exit code {process.returncode}")
    return outcomes


def known_survivors(listed: dict) -> dict[str, set[str]]:
    """Return the names of the changes in `survivors` by module; ValueError if one stands there
    twice, or has no reason.
    """
    known = {}
    for group in listed["survivors"]:
        names = known.setdefault(group["file"], set())
        if not group["why"].strip() or names & set(group["changes"]):
            raise ValueError(f"no reason, or a change that is listed twice: {group}")
        names.update(group["changes"])
    return known


def judge(file: str, outcomes: dict[str, str], known: set[str]) -> list[str]:
    """Return what is wrong with the outcomes of a module, a line each."""
    survivors = {name for name, outcome in outcomes.items() if outcome == in_place.PASSED}
    lines = [f"survives: {file} {name}" for name in sorted(survivors - known)]
    lines += [f"listed, has no place: {file} {name}" for name in sorted(known - set(outcomes))]
    noticed = (known & set(outcomes)) - survivors
    return lines + [f"listed, but a test notices it: {file} {name}" for name in sorted(noticed)]


def main(arguments=None) -> int:
    """Run the operators; return 1 when one survives that is not listed, or a listed one does
    not.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-k", default="", help="only modules whose name contains this")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="modules at a time")
    parser.add_argument("--count", action="store_true", help="only count, by module")
    parser.add_argument("--quick", action="store_true", help="without the tests in `slower`")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.serve:
        serve(options.serve, options.quick)
        return 0
    listed = yaml.safe_load(LIST.read_text(encoding="utf-8"))
    known = known_survivors(listed)
    modules = [name for name in listed["modules"] if options.k in name]
    if options.count:
        for name in modules:
            print(f"{name:36} {len(generate(name)):5}")
        return 0
    report = lambda line: print(line, flush=True)  # noqa: E731
    with ThreadPoolExecutor(options.jobs) as pool:
        done = list(pool.map(lambda name: run(name, options.quick, report), modules))
    wrong = []
    for name, outcomes in zip(modules, done, strict=True):
        survivors = Counter(outcomes.values())[in_place.PASSED]
        print(f"{name:36} {len(outcomes):5} changes, {len(outcomes) - survivors} noticed")
        wrong += judge(name, outcomes, known.get(name, set()))
    print(*wrong, sep="\n")
    if not modules:
        print("nothing was run")
    return 1 if wrong or not modules else 0


if __name__ == "__main__":
    sys.exit(main())
