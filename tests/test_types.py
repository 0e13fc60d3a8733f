"""What a type checker sees of the library: the estimators too, though they are imported late."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import safescreen

USER = """\
import safescreen as ss

model = ss.SafeSVC(C=2.0)
model.fit([[0.0], [1.0]], [0, 1])
metrics = ss.TripletMetric(k=2), ss.HDSL(max_iter=10)
searches = ss.SafeSVCCV(model), ss.TripletMetricCV(metrics[0])
learners = ss.PairLearner(), ss.TripletLearner(), ss.QuadrupletLearner()
screened = ss.screen_fitted(model, [[0.0], [1.0]], [0, 1])
ss.SafeSVC(nothing=3)
ss.Nonsense
"""


REFUSED = {9: "nothing", 10: "Nonsense"}
"""The lines of it that are wrong, and a word of the message."""


@pytest.fixture
def checked(tmp_path):
    """Return ``checked(module, *options)``: what a type checker prints about the lines above."""
    (tmp_path / "user.py").write_text(USER, encoding="utf-8")
    library = str(Path(safescreen.__file__).parents[1])
    settings = {"extraPaths": [library], "typeCheckingMode": "basic"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")

    def check(module, *options):
        command = [sys.executable, "-m", module, *options, "user.py"]
        environment = {**os.environ, "MYPYPATH": library}
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True
        ).stdout

    return check


def test_pyright_has_the_types_of_estimators_and_refuses_other_names(checked):
    pytest.importorskip("basedpyright")
    faults = json.loads(checked("basedpyright", "--outputjson", "--pythonpath", sys.executable))
    found = [(f["range"]["start"]["line"] + 1, f["message"]) for f in faults["generalDiagnostics"]]
    assert found == [
        (9, 'No parameter named "nothing"'),
        (10, '"Nonsense" is not a known attribute of module "safescreen"'),
    ]


def test_mypy_has_the_types_of_estimators_and_refuses_other_names(checked):
    pytest.importorskip("mypy")
    found = re.findall(r"user.py:(\d+): error: (.*)", checked("mypy", "--no-pretty"))
    assert [(int(line), REFUSED[int(line)] in message) for line, message in found] == [
        (9, True),
        (10, True),
    ]
