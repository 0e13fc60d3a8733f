"""The examples of README and pages, run; what they print stands below them as `text`.

python docs/source/examples.py              # runs all, and writes what they print (some minutes)
python docs/source/examples.py certificate  # those of the pages of that name
"""

import ast
import contextlib
import io
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).resolve().parent
ROOT = SOURCE.parents[1]
BLOCK = re.compile(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", flags=re.S)
"""A block of Python, and the block of text below it."""


def pages() -> list[Path]:
    """Return the files with examples."""
    names = ("index.md", "library.md", "coming-from.md")
    how_to = sorted((SOURCE / "how-to").glob("*.md"))
    found = [ROOT / "README.md", *(SOURCE / name for name in names), *how_to]
    return [path for path in found if BLOCK.search(path.read_text(encoding="utf-8"))]


def needs_a_cluster(code: str) -> bool:
    """Return whether code names the scheduler of a cluster, which is not here."""
    texts = [node.value for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Constant)]
    return any(isinstance(text, str) and text.startswith("tcp://") for text in texts)


def write_table(folder: Path) -> None:
    """Write the table `my.csv` that the page on tables reads: iris, and two columns more."""
    from sklearn.datasets import load_iris

    table = load_iris(as_frame=True).frame.rename(columns={"target": "species"})
    table.assign(id=range(len(table)), name="x").to_csv(folder / "my.csv", index=False)


def run(codes: list[str], title: str) -> Iterator[str]:
    """Yield what each block of a page prints, run one after the other in a folder of their own."""
    names = {"__name__": title}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        write_table(Path(folder))
        for code in codes:
            printed = io.StringIO()
            if not needs_a_cluster(code):
                with contextlib.redirect_stdout(printed):
                    exec(compile(code, title, "exec"), names)
            yield printed.getvalue()


def written(text: str, title: str) -> str:
    """Return a page with what its examples print now."""
    printed = list(run([code for code, _ in BLOCK.findall(text)], title))
    parts = iter(printed)

    def block(found):
        output = next(parts)
        return f"```python\n{found[1]}```\n" + (f"\n```text\n{output}```\n" if output else "")

    return BLOCK.sub(block, text)


def main(names: list[str]) -> None:
    """Run the examples of all pages, or of those that are named."""
    for path in pages():
        if not names or path.stem in names:
            text = path.read_text(encoding="utf-8")
            path.write_text(written(text, path.stem), encoding="utf-8")
            print(path.relative_to(ROOT))


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / "lib")]
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main(sys.argv[1:])
