"""What a type checker sees of the library: the estimators too, though they are imported late."""

import json
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


def test_estimators_have_types_and_other_names_are_refused(tmp_path):
    pytest.importorskip("basedpyright")
    (tmp_path / "user.py").write_text(USER, encoding="utf-8")
    settings = {
        "extraPaths": [str(Path(safescreen.__file__).parents[1])],
        "typeCheckingMode": "basic",
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--project", str(tmp_path)]
    command += ["--pythonpath", sys.executable]
    found = json.loads(subprocess.run(command, capture_output=True, text=True).stdout)
    messages = [
        (fault["range"]["start"]["line"] + 1, fault["message"])
        for fault in found["generalDiagnostics"]
    ]
    assert messages == [
        (9, 'No parameter named "nothing"'),
        (10, '"Nonsense" is not a known attribute of module "safescreen"'),
    ]
