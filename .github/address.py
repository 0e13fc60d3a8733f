"""Write where the project lives wherever that stands: `[tool.safescreen]` in pyproject.toml says
it, `repository` as OWNER/NAME on GitHub and `doi` of its archive, "" for none.

    python .github/address.py            write it
    python .github/address.py --check    say what differs, and fail if something does
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NAME = r"[\w.-]+/[\w.-]+?"
_CLONE = rf"(`git clone https://github\.com/){NAME}(`)"
PLACES = {
    "pyproject.toml": [
        (rf'^(Repository = "https://github\.com/){NAME}(")', "{repository}"),
        (r'^(Documentation = ")https://[^"]+(")', "https://{owner}.github.io/{name}/"),
        (rf'^(Changelog = "https://github\.com/){NAME}(/blob/main/CHANGELOG\.md")', "{repository}"),
        (rf'^(Issues = "https://github\.com/){NAME}(/issues")', "{repository}"),
    ],
    "README.md": [
        (rf"(https://mybinder\.org/v2/gh/){NAME}(/main\?)", "{repository}"),
        (rf"^(git clone https://github\.com/){NAME}( safescreen )", "{repository}"),
        (rf"^(  url += \{{https://github\.com/){NAME}(\}}$)", "{repository}"),
    ],
    "docs/source/commands.md": [(_CLONE, "{repository}")],
    "docs/commands.md": [(_CLONE, "{repository}")],
    "CITATION.cff": [
        (rf'^(repository-code: "https://github\.com/){NAME}(")', "{repository}"),
        (r'^(doi: ")[^"]*(")', "{doi}"),
    ],
    "codecheck.yml": [
        (rf"^(  reference: https://github\.com/){NAME}(/blob/main/)", "{repository}")
    ],
    ".github/conda/recipe.yaml": [
        (rf"^(  repository: https://github\.com/){NAME}($)", "{repository}"),
        (r"^(  documentation: )https://\S+($)", "https://{owner}.github.io/{name}/"),
    ],
}
"""In each file the patterns of what is around the address, and what is written between them; each
has to be there, but for the line of the DOI where there is none.
"""
DOI_LINE = 'doi: ""\n'


def written(path, text, repository, doi):
    """Return the text of a file with this address."""
    owner, _, name = repository.partition("/")
    values = {"repository": repository, "owner": owner, "name": name, "doi": doi}
    if path == "CITATION.cff":
        text = re.sub(r"^doi: .*\n", "", text, flags=re.M)
        text = re.sub(r"^(repository-code: .*\n)", rf"\g<1>{DOI_LINE}", text, flags=re.M)
    for pattern, form in PLACES[path]:
        value = form.format(**values)
        text, n = re.subn(pattern, rf"\g<1>{value}\g<2>", text, flags=re.M)
        if n == 0:
            raise ValueError(f"{path} has no place for the address: {pattern}")
    return text if doi else text.replace(DOI_LINE, "")


def main(arguments):
    """Write the address, or check it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    address = project["tool"]["safescreen"]
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", address["repository"]):
        raise ValueError(f"repository must be OWNER/NAME, got {address['repository']!r}")
    differ = []
    for path in PLACES:
        text = (ROOT / path).read_text(encoding="utf-8")
        new = written(path, text, **address)
        if new != text:
            differ.append(path)
            if "--check" not in arguments:
                (ROOT / path).write_text(new, encoding="utf-8")
    if differ:
        print("another address stands in" if "--check" in arguments else "written:", *differ)
    return int(bool(differ) and "--check" in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
