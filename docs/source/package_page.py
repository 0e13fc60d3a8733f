"""The README as the page of the package, which is read without the repository: hatchling takes it
from here when it builds, with all links absolute.
"""

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

RELATIVE = r"(?!https?:|mailto:)"


def absolute(text: str, repository: str, version: str) -> str:
    """Return a text of the repository whose links and pictures lead to the tag of a version."""
    files = f"{repository}/blob/v{version}/"
    pictures = f"{repository}/raw/v{version}/"
    text = re.sub(rf"(!\[[^\]]*\]\(){RELATIVE}", rf"\g<1>{pictures}", text)
    text = re.sub(r"(\]\()(?=#)", rf"\g<1>{files}README.md", text)
    return re.sub(rf"(\[[^\]]*\]\(){RELATIVE}", rf"\g<1>{files}", text)


class PackagePage(MetadataHookInterface):
    """Gives the package its README."""

    def update(self, metadata: dict) -> None:
        """Set the field `readme` of the metadata."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        text = absolute(text, metadata["urls"]["Repository"], metadata["version"])
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
