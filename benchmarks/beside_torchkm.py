"""TorchKM's grid: one rbf kernel, 50 C, 10 folds, and the same 50 C of all rows.

    python benchmarks/beside_torchkm.py               # 1,000 rows of 100 columns; a few minutes
    python benchmarks/beside_torchkm.py 10000 1000    # as published; hours on a processor
    python benchmarks/beside_torchkm.py 10000 1000 SafeSVC    # ours alone; minutes, 3 GB

Data, width of the kernel and grid are those of TorchKM's documentation (``data_gen``, ``sigest``,
lam from 1e3 to 1e-3), on the processor, with one thread. Its tolerances are those of its
documentation, and a thousandth of them, at which its objectives are about those of the others.
It minimises ``lam a'Ka + sum_i hinge_i/n`` with a free intercept, in each fold too with the n of
all rows. Times ``1/(2 lam)`` that is SVC's objective for ``C = 1/(2 n lam)``, in each fold as well:
all four solve the same 550 problems. SVC and oneDAL begin each anew, the others follow paths.

Columns: CPU seconds of all 550; by how much the objective of the fit of all rows is above its
optimum, relative to that, the largest and the median of 50 C. Objectives are computed here from the
coefficients and the intercept. The optimum is the lower bound that a duality gap of 1e-9
certifies. The last columns are the best mean accuracy of the folds, and the largest difference
from SVC's.
"""

import contextlib
import importlib
import sys
import time
import warnings

import numpy as np
from sklearn.model_selection import GridSearchCV, PredefinedSplit
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

import safescreen as ss
from safescreen.kernels.functions import Kernel
from searches import one_dal

LAMS = np.logspace(3, -3, 50)
FOLDS = 10


def data_of(n, d):
    """Return standardised points, labels, folds and gamma, as TorchKM's documentation makes them
    from its seed.
    """
    torch = importlib.import_module("torch")
    functions = importlib.import_module("torchkm.functions")
    X, y, _ = functions.data_gen(n, 5, d, d // 2, d // 2, 2.0, 3, 42)
    X = functions.standardize(X.double())
    gamma = 2.0 * functions.sigest(X)
    torch.manual_seed(42)
    return X.numpy(), y.numpy().astype(int), (torch.randperm(n) % FOLDS).numpy(), gamma


def torchkm(tol, X, y, folds, gamma):
    """Return coefficients and intercepts for all rows, one column a C, and mean scores."""
    torch = importlib.import_module("torch")
    torch.set_num_threads(1)
    solver = importlib.import_module("torchkm.cvksvm").cvksvm(
        Kmat=torch.from_numpy(Kernel("rbf", gamma).values(X, X)),
        y=torch.from_numpy(y),
        nlam=LAMS.size,
        ulam=torch.from_numpy(LAMS),
        foldid=torch.from_numpy(folds) + 1,
        nfolds=FOLDS,
        eps=1e-2 * tol,
        maxit=100_000,
        gamma=1e-8,
        is_exact=0,
        KKTeps=tol,
        KKTeps2=tol,
        device="cpu",
    )
    with contextlib.redirect_stdout(None):  # a line for each C that is not exact
        solver.fit()
    is_right = np.where(solver.pred.numpy() > 0.0, 1, -1) == y[:, None]
    scores = np.mean([is_right[folds == fold].mean(axis=0) for fold in range(FOLDS)], axis=0)
    table = solver.alpmat.numpy()
    return table[1:], table[0], scores


def searched(make, Cs, X, y, folds):
    """Return the same of an SVC, begun anew for each C."""
    search = GridSearchCV(make, {"C": Cs}, cv=PredefinedSplit(folds), refit=False).fit(X, y)
    coefs = np.zeros((y.size, Cs.size))
    intercepts = np.zeros(Cs.size)
    for number, C in enumerate(Cs):
        model = make.set_params(C=C).fit(X, y)
        coefs[model.support_, number] = np.ravel(model.dual_coef_)
        intercepts[number] = np.ravel(model.intercept_)[0]
    return coefs, intercepts, search.cv_results_["mean_test_score"]


def followed(tol, Cs, X, y, folds, gamma):
    """Return the same of paths of ours."""
    model = ss.SafeSVC(kernel="rbf", gamma=gamma, tol=tol)
    search = ss.SafeSVCCV(model, Cs, cv=PredefinedSplit(folds), refit=False).fit(X, y)
    path = ss.path(problem_of(X, y, gamma), 1.0 / Cs, tol=0.0, rtol=tol)
    coefs = np.column_stack([y * solution.x.coef for solution in path])
    return coefs, [solution.intercept for solution in path], search.scores_.mean(axis=0)


def problem_of(X, y, gamma):
    """Return the problem of all rows."""
    return ss.Problem(ss.FreeIntercept.from_points(X, y, "rbf", gamma), ss.Hinge())


def objectives(K, y, Cs, coefs, intercepts):
    """Return ``|w|^2/2 + C sum_i hinge_i`` of each C."""
    images = K @ coefs
    losses = np.maximum(1.0 - y[:, None] * (images + intercepts), 0.0).sum(axis=0)
    return 0.5 * np.einsum("ij,ij->j", coefs, images) + Cs * losses


def main(n="1000", d="100", *solvers):
    """Print the table, of those whose names begin with one of `solvers`, if any are given."""
    warnings.simplefilter("ignore")
    X, y, folds, gamma = data_of(int(n), int(d))
    Cs = 1.0 / (2.0 * y.size * LAMS)
    works = {"SVC": lambda: searched(SVC(gamma=gamma), Cs, X, y, folds)}
    for name, model in one_dal().items():
        works[name] = lambda m=model: searched(m.set_params(gamma=gamma), Cs, X, y, folds)
    for tol in (1e-3, 1e-6):
        works[f"TorchKM, {tol:g}"] = lambda t=tol: torchkm(t, X, y, folds, gamma)
    for tol in (1e-3, 1e-4):
        works[f"SafeSVC, {tol:g}"] = lambda t=tol: followed(t, Cs, X, y, folds, gamma)
    works = {name: work for name, work in works.items() if name.startswith(solvers or "")}
    heads = ["solver", "s", "largest excess", "median", "best score", "difference"]
    print(f"{y.size:,} x {X.shape[1]:,}, gamma = {gamma:.3g}, C = {Cs[0]:.2g} to {Cs[-1]:.2g}\n")
    print(f"| {' | '.join(heads)} |\n|---|{'---:|' * (len(heads) - 1)}")
    with threadpool_limits(1):
        followed(1e-3, Cs[:2], X[:200], y[:200], folds[:200], gamma)  # compiles
        exact = ss.path(problem_of(X, y, gamma), 1.0 / Cs, tol=0.0, rtol=1e-9)
        least = Cs * [solution.primal - solution.gap for solution in exact]
        K = Kernel("rbf", gamma).values(X, X)
        reference = None
        for name, work in works.items():
            start = time.process_time()
            coefs, intercepts, scores = work()
            spent = time.process_time() - start
            reference = scores if reference is None else reference
            excess = objectives(K, y, Cs, coefs, intercepts) / least - 1.0
            cells = [name, f"{spent:.2f}", f"{excess.max():.0e}", f"{np.median(excess):.0e}"]
            cells += [f"{scores.max():.4f}", f"{np.abs(scores - reference).max():.4f}"]
            print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
