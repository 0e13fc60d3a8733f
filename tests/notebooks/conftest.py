"""The committed notebooks, manifest and ledger."""

from pathlib import Path

import pytest

from safescreen_book.ledger import load_claims
from safescreen_book.runner.loading import load_manifest

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"


@pytest.fixture(scope="session")
def folder():
    return NOTEBOOKS


@pytest.fixture(scope="session")
def ledger(folder):
    return load_claims(folder)


@pytest.fixture(scope="session")
def manifest(folder, ledger):
    return load_manifest(folder, [claim.id for claim in ledger])
