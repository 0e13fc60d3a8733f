# %% [markdown]
# # With scikit-learn
#
# Two ways to use safe screening where the rest of the work is done in scikit-learn: estimators that can stand in a
# pipeline, and certificates for the solutions of *its* solvers, so that these see fewer samples and still find
# the same classifier.

# %%
import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import safescreen as ss
from safescreen import datasets

X, y = datasets.load("breast-cancer", return_X_y=True)

# %% [markdown]
# ## An estimator
#
# `SafeSVC` solves the support vector machine with the hinge to a certified duality gap. `dual_gap_` is that certificate
# and `screening_` says which samples were proved not to matter.

# %%
search = GridSearchCV(make_pipeline(StandardScaler(), ss.SafeSVC()), {"safesvc__C": [1e-3, 1e-2, 1e-1, 1.0]}, cv=5)
search.fit(X, y)
best = search.best_estimator_[-1]
print("C =", best.C, f"accuracy {search.best_score_:.3f}")
print(f"samples screened {best.screening_[0].rate:.0%}, support vectors {len(best.support_[0])} of {len(y)}")
assert best.dual_gap_ <= 1e-6 * best.solutions_[0].primal

# %% [markdown]
# `TripletMetric` learns a distance, `HDSL` a sparse similarity for very many features. All three can be cloned, pickled
# and searched over, take data frames, and pass scikit-learn's own checks.

# %% [markdown]
# ## A certificate for another solver
#
# LIBLINEAR has trained for one C. For a neighbouring C, which samples can it leave out? Its solution need not be exact,
# only known: `screen` bounds how far from the optimum it is, rounding included.

# %%
y = np.where(y == y.max(), 1, -1)
prob = ss.Problem(ss.Samples(X, y), ss.Hinge())
C0, C = 0.1, 0.105
options = {"loss": "hinge", "fit_intercept": False, "tol": 1e-8, "max_iter": 200_000, "random_state": 0}
first = LinearSVC(C=C0, **options).fit(X, y)
w = first.coef_[0]
alpha = ss.svm.outside.dual_point(prob, w, C0)  # LIBLINEAR does not hand out its dual variables
certificate = ss.screen(prob, w, 1 / C, alpha, lam0=1 / C0, screening=("MGB&BT2",))
print(f"certainly without influence: {certificate.in_R.mean():.0%}, certainly at the bound: {certificate.in_L.mean():.0%}")
assert certificate.in_R.mean() > 0.5

# %% [markdown]
# Dropping the samples without influence changes nothing but the time:

# %%
keep = ~certificate.in_R
part = LinearSVC(C=C, **options).fit(X[keep], y[keep])
whole = LinearSVC(C=C, **options).fit(X, y)
objective = [prob.primal(model.coef_[0], 1 / C) for model in (part, whole)]
print(f"samples {keep.sum()} of {len(y)}; relative difference of the objectives below 1e-6:", abs(objective[0] / objective[1] - 1) < 1e-6)
assert abs(objective[0] / objective[1] - 1) < 1e-6

# %% [markdown]
# Samples at the bound could be folded into a linear term, which LIBLINEAR does not take; the solvers here do:

# %%
reduced = prob.reduce(certificate.in_L, certificate.in_R)
solution = ss.solve(reduced, 1 / C, tol=1e-300, rtol=1e-9)
print(f"terms left {len(reduced)} of {len(prob)}; same objective:", abs(prob.primal(solution.x, 1 / C) / objective[1] - 1) < 1e-6)
assert abs(prob.primal(solution.x, 1 / C) / objective[1] - 1) < 1e-6

# %% [markdown]
# ## What is not covered
#
# A *free* intercept is another problem: the proofs need the whole of w to be penalised. `SafeSVC` adds a constant
# feature instead (`intercept_scaling`), and `ss.svm.outside.svc` runs LIBSVM on mirrored samples, which takes its
# intercept out. What a bad reference costs is screening, never safety:

# %%
rates = [ss.screen(prob, (1.0 + error) * w, 1 / C, alpha, lam0=1 / C0).rate for error in (0.0, 0.01, 0.1, 1.0)]
print("screened with a reference off by 0, 1, 10, 100 %:", [f"{rate:.2f}" for rate in rates])
assert rates == sorted(rates, reverse=True)
