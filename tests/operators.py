"""Mutants that nobody wrote: operators of cosmic-ray on the modules that decide what is safe.

    python tests/operators.py                    all of `operators.yml` (hours)
    python tests/operators.py -k rules/ball      modules whose name contains a word
    python tests/operators.py --count            how many there are, by module

cosmic-ray finds the places and changes them; each change is written as an entry of `mutants.yml`
(function, expression, other expression), so that what is known of a survivor outlives edits
elsewhere. `operators.yml` names the modules and their guards, and in `survivors` the changes that
no test can notice, each with its reason (`why`). The run fails when another one survives, and when
one of `survivors` has no place any more.
"""

import argparse
import ast
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import yaml

import mutants
from replacement import definitions, find, places_in, same

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


def generate(file: str, guards: list[str]) -> list[mutants.Mutant]:
    """Return the mutants of a module below lib/safescreen."""
    source = (mutants.ROOT / "lib" / "safescreen" / file).read_text(encoding="utf-8")
    tree = _without_messages(ast.parse(source))
    made = {}
    for changed in changes(source):
        fields = entry(tree, _without_messages(ast.parse(changed)))
        if fields is None:
            continue
        name = "{in}: {from} -> {to} ({nth})".format(**fields)
        made[name] = mutants.Mutant(
            id=f"{file} {name}",
            file=file,
            old=fields["from"],
            new=fields["to"],
            within=fields["in"],
            nth=fields["nth"],
            guards=("\n".join(guards),),
        )
    return list(made.values())


def fits(mutant: mutants.Mutant) -> bool:
    """Whether a change can be written into the source as it stands."""
    try:
        mutant.apply((mutants.ROOT / "lib" / "safescreen" / mutant.file).read_text("utf-8"))
    except ValueError:
        return False
    return True


def main(arguments=None) -> int:
    """Run the operators; return 1 when a mutant survives that is not known to be equivalent."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-k", default="", help="only modules whose name contains this")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="copies at a time")
    parser.add_argument("--count", action="store_true", help="only count, by module")
    options = parser.parse_args(arguments)
    listed = yaml.safe_load(LIST.read_text(encoding="utf-8"))
    modules = {name: tests for name, tests in listed["modules"].items() if options.k in name}
    made = {name: [m for m in generate(name, tests) if fits(m)] for name, tests in modules.items()}
    known = {
        (line["file"], line.get("in", ""), line["from"], line["to"], line.get("nth", 1))
        for line in listed["survivors"]
        if line["file"] in modules
    }
    if options.count:
        for name, its in made.items():
            print(f"{name:36} {len(its):5}")
        return 0
    of = {m.id: (m.file, m.within, m.old, m.new, m.nth) for its in made.values() for m in its}
    chosen = [m for its in made.values() for m in its if of[m.id] not in known]
    with tempfile.TemporaryDirectory(prefix="operators-") as folder:
        done = mutants.run(chosen, Path(folder), options.jobs, lambda line: print(line, flush=True))
    caught = {mutant.id for mutant, _, outcome in done if outcome in mutants.CAUGHT}
    survivors = [mutant for mutant in chosen if mutant.id not in caught]
    killed = Counter(mutant.file for mutant in chosen if mutant.id in caught)
    total = Counter(mutant.file for mutant in chosen)
    for name, its in made.items():
        equivalent = len(its) - total[name]
        print(f"{name:36} {killed[name]:5} of {total[name]:5} killed, {equivalent} are equivalent")
    gone = sorted(known - set(of.values()))
    entries = [
        {"file": m.file, "in": m.within, "from": m.old, "to": m.new, "nth": m.nth}
        for m in survivors
    ]
    if entries:
        print("survivors:", yaml.safe_dump(entries, sort_keys=False, width=200), sep="\n")
    for line in gone:
        print(f"known to be equivalent, but not to be found: {line}")
    return 1 if survivors or gone else 0


if __name__ == "__main__":
    sys.exit(main())
