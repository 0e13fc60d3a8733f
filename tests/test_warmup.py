"""What the warm-up compiles is what people's first calls need."""

import subprocess
import sys

import pytest

CALLS = """
import sys
import warnings

import numpy as np
from numba.core.registry import CPUDispatcher
from scipy.sparse import csr_array
from sklearn.datasets import load_breast_cancer, load_iris

import safescreen as ss
from safescreen import svm
from safescreen.warmup import warm_up


def compiled():
    ours = [module for name, module in list(sys.modules.items()) if name.startswith("safescreen")]
    found = [one for module in ours for one in vars(module).values()]
    kernels = [one for one in found if isinstance(one, CPUDispatcher)]
    return {(one.py_func.__qualname__, str(types)) for one in kernels for types in one.signatures}


warnings.simplefilter("ignore")
if sys.argv[1:] != ["cold"]:
    warm_up()
before = compiled()

X, y = load_iris(return_X_y=True)
B, two = load_breast_cancer(return_X_y=True)
B = (B - B.mean(axis=0)) / B.std(axis=0)
signs = 2.0 * two - 1.0
for kernel in ("linear", "rbf", "poly"):
    ss.SafeSVC(kernel=kernel).fit(B, two).predict(B)
    ss.SafeSVC(kernel=kernel, loss="squared_hinge", class_weight="balanced").fit(X, y).predict(X)
ss.SafeSVC(kernel="rbf", fit_intercept=False).fit(B.astype(np.float32), two)
ss.SafeSVC().fit(csr_array(B), two)
ss.SafeSVCCV(ss.SafeSVC(kernel="rbf"), 3, gammas=[0.01, 0.1], cv=2).fit(B, two)
ss.SafeSVCCV(cv=2).fit(X, y)
ss.TripletMetric().fit(X, y).transform(X)
ss.TripletMetric(diagonal=True, with_path=True).fit(B, two)
ss.TripletMetricCV(lams=3, cv=2).fit(X, y)
ss.QuadrupletLearner(preprocessor=X).fit(np.arange(24).reshape(6, 4))
ss.HDSL(max_iter=5).fit(csr_array(X), y)
triplets = ss.Problem(ss.Triplets.from_labels(X, y, k=3), ss.SmoothedHinge(0.05))
lams = triplets.lam_max() * 0.5 ** np.arange(1, 5)
ss.path(triplets, lams, screening=("RRPB", "PGB+semidefinite"), ranges=True, active_set=True)
ss.solve(triplets, lams[-1], method="interior")
svm.eps_path(ss.Samples(B, signs), 0.1, eps=0.1)
free = ss.Problem(ss.FreeIntercept.from_points(B, signs), ss.Hinge())
ss.path(free, [10.0, 1.0], rtol=1e-6, screening=("MGB&BT2",))

for name in sorted(name for name, _ in compiled() - before):
    print(name)
"""


@pytest.mark.slow
def test_first_calls_compile_nothing_after_the_warm_up():
    done = subprocess.run(
        [sys.executable, "-c", CALLS], capture_output=True, text=True, check=True, timeout=600
    )
    assert done.stdout.split() == []
