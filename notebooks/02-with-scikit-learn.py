# %% [markdown]
# # With scikit-learn
#
# There are two ways to use safe screening together with scikit-learn. The first is to put an estimator of this library
# into a pipeline. The second is a certificate for a solution of one of *scikit-learn's* solvers: that solver then sees
# fewer samples, and still finds the same classifier.

# %%
import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import safescreen as ss
from safescreen_book import datasets, figures

X, y = datasets.load("breast-cancer", return_X_y=True)

# %% [markdown]
# ## An estimator
#
# `SafeSVC` solves the support vector machine with the hinge to a certified duality gap. `dual_gap_` is that gap, and
# `screening_` says which samples were screened: their region of the loss is proved.

# %% tags=["nbval-ignore-output"]
search = GridSearchCV(make_pipeline(StandardScaler(), ss.SafeSVC(tol=1e-6, screening=("MGB", ))),
                      {"safesvc__C": [1e-3, 1e-2, 1e-1, 1.0]}, cv=5)
search.fit(X, y)
best = search.best_estimator_[-1]
print("C =", best.C, f"accuracy {search.best_score_:.3f}")
print(
    f"samples screened {best.screening_[0].rate:.0%}, support vectors "
    f"{len(best.support_)} of {len(y)}"
)
assert best.reason_ == "converged"  # the gap is at most tol times the objective

# %% [markdown]
# ## Choosing C, or $\lambda$
#
# A grid search solves each fold for each C from nothing. `SafeSVCCV` follows one path for each fold, where each solution is the
# start for the next C. Scores, choice and table are those of `GridSearchCV`.
#
# The solutions prove something besides. Each makes a ball that contains the exact optimum for its C. The ball gives an interval for
# each decision value of the validation points, and the intervals give a lower and an upper bound of the accuracy of the exact machine.
# The more accurate the solutions are, the nearer the bounds.
#
# Everything but C is said by a `SafeSVC`, as in `SafeSVCCV(ss.SafeSVC(kernel="rbf"))`; by default it is `SafeSVC()`.
# `best_estimator_` is a copy of it with the chosen C, fitted to all samples.

# %%
Cs = np.geomspace(1e-3, 1e2, 26)
X_scaled = StandardScaler().fit_transform(X)
machine = ss.SafeSVC(tol=1e-6)
model = ss.SafeSVCCV(machine, Cs, cv=5).fit(X_scaled, y)
print(f"C = {model.C_:.3g}, accuracy {model.best_score_:.3f}")

exhaustive = GridSearchCV(machine, {"C": Cs}, cv=5).fit(X_scaled, y)
apart = np.abs(
    model.cv_results_["mean_test_score"] - exhaustive.cv_results_["mean_test_score"]
).max()
print(
    f"the grid search chooses C = {exhaustive.best_params_['C']:.3g}; mean scores differ "
    "by less than 0.002"
)
assert apart < 0.002

# %% tags=["nbval-ignore-output"]
fig, ax = plt.subplots(figsize=(7, 3), layout="constrained")
rough = ss.SafeSVCCV(ss.SafeSVC(tol=1e-3), Cs, cv=5, refit=False).fit(X_scaled, y)
for tol, search, colour in ((1e-3, rough, "C1"), (1e-6, model, "C0")):
    low, high = search.score_bounds_.mean(axis=1)
    ax.fill_between(
        Cs, low, high, step="mid", alpha=0.3, color=colour, label=f"certain at tol = {tol:g}"
    )
ax.semilogx(Cs, model.scores_.mean(axis=0), "k.", label="scores")
ax.axvline(model.C_, color="C3", lw=1)
ax.set(xlabel="C", ylabel="accuracy", title="Bounds of the validation accuracy")
ax.legend(loc="lower right")
figures.show(
    "Bands show between which bounds the accuracy of validation is certain, against C, and dots "
    "are the scores, which lie inside. "
    f"The band is {np.mean(rough.score_bounds_[1] - rough.score_bounds_[0]):.1g} wide on average "
    f"at a tolerance of {1e-3:g}, and "
    f"{np.mean(model.score_bounds_[1] - model.score_bounds_[0]):.1g} at {1e-6:g}. "
    f"A vertical line marks the choice, C = {model.C_:.3g}."
)
low, high = model.score_bounds_.mean(axis=1)
print(
    f"bounds at tol = 1e-6 are {np.mean(high - low):.4f} apart on average; certified: "
    f"{model.certified_}"
)
assert (low <= model.scores_.mean(axis=0)).all() and (model.scores_.mean(axis=0) <= high).all()

# %% [markdown]
# `TripletMetricCV` does the same for metrics, with `lams` in place of `Cs`. The error of nearest neighbours depends on the order
# of all distances, for which there is no cheap certificate.
#
# `TripletMetric` learns a distance, and `HDSL` a sparse similarity for very many features. All these estimators can be cloned,
# pickled and used in searches. They take data frames, and follow the conventions of scikit-learn.

# %% tags=["nbval-ignore-output"]
metric = ss.TripletMetricCV(ss.TripletMetric(k=3, screening=("RRPB", "PGB")), lams=5, cv=3).fit(
    X[::3], y[::3]
)
print(f"lambda = {metric.lam_ / metric.lams_[0]:.2g} lambda_max, accuracy {metric.best_score_:.3f}")
print(f"triplets screened there: {metric.best_estimator_.screening_.rate:.0%}")

# %% [markdown]
# ## A certificate for another solver
#
# LIBLINEAR has solved for one C. Which samples can it leave out for a neighbouring C? Its solution need not be exact.
# `screen_fitted` takes the fitted model, and bounds its distance from the optimum, with rounding. From that it derives what it can prove about each sample.

# %% tags=["nbval-ignore-output"]
C0, C = 0.1, 0.105
options = {"loss": "hinge", "tol": 1e-8, "max_iter": 1_000_000, "random_state": 0}
first = LinearSVC(C=C0, **options).fit(X, y)
certificate = ss.screen_fitted(first, X, y, C)
print(
    f"certainly without influence: {certificate.in_R.mean():.0%}, certainly at the bound: "
    f"{certificate.in_L.mean():.0%}"
)
print(
    f"the proof: gap {certificate.gap:.2g}, of which rounding {certificate.gap_rounding:.0e}; "
    f"ball of radius {certificate.balls[0].radius:.2f}"
)
assert certificate.in_R.mean() > 0.5

# %% [markdown]
# To drop the samples without influence changes nothing:

# %%
keep = ~certificate.in_R
part = LinearSVC(C=C, **options).fit(X[keep], y[keep])
whole = LinearSVC(C=C, **options).fit(X, y)
apart = np.abs(part.decision_function(X) - whole.decision_function(X)).max()
print(f"samples {keep.sum()} of {len(y)}; decision values differ by less than 1e-4")
assert apart < 1e-4

# %% [markdown]
# ## SVC, with its free intercept
#
# The papers leave out the intercept of LIBSVM, which nothing penalises. `screen_fitted` does not. If the dual point has
# $\sum_i y_i \alpha_i = 0$, the ball around $w$ holds as it is. For a given $w$ the optimal intercept is an order statistic of the
# $y_i - \langle w, x_i\rangle$. So an interval for each of these numbers gives an interval for the intercept.

# %% tags=["nbval-ignore-output"]
options = {"kernel": "rbf", "gamma": 0.1, "tol": 1e-8}
first = SVC(C=1.0, **options).fit(X, y)
for C in (1.0, 1.02, 1.05):
    certificate, whole = ss.screen_fitted(first, X, y, C), SVC(C=C, **options).fit(X, y)
    keep = ~certificate.in_R
    part = SVC(C=C, **options).fit(X[keep], y[keep])
    same = np.allclose(part.decision_function(X), whole.decision_function(X), atol=1e-5)
    low, high = certificate.intercept
    assert same and low <= whole.intercept_[0] + 1e-7 and whole.intercept_[0] - 1e-7 <= high
    print(
        f"C = {C:.2f}: {certificate.in_R.mean():.0%} dropped, intercept in [{low:.2f}, {high:.2f}]"
    )

# %% [markdown]
# ## What it saves
#
# Two solvers of scikit-learn are timed on samples made for the purpose. SVC solves for eight values of C: once with all samples each
# time, once with the samples that the certificate of the previous solution leaves. LinearSVC makes an accurate fit: once of all samples,
# once of the samples that the certificate of a rough fit leaves. The solutions are the same. The times are those of the machine on which
# this notebook was run.

# %%
A, b = make_classification(20_000, 20, n_informative=8, flip_y=0.0, class_sep=1.5, random_state=0)
A = StandardScaler().fit_transform(A)
few = slice(6000)


def path_of_svc(screened):
    """Return the models of a path, and how many samples each has seen."""
    models, kept = [], np.ones(len(b[few]), dtype=bool)
    seen = []
    for C in 1.0 * 1.03 ** np.arange(8):
        if screened and models:
            kept = ~ss.screen_fitted(models[-1], A[few], b[few], C, kept=kept).in_R
        models.append(SVC(C=C, kernel="linear", tol=1e-6).fit(A[few][kept], b[few][kept]))
        seen.append(kept.sum())
    return models, seen


# %%
def accurate_linear_svc(screened):
    """Return an accurate model, and how many samples it has seen."""
    options = {"C": 1.0, "max_iter": 1_000_000, "random_state": 0, "dual": True}
    kept = np.ones(len(b), dtype=bool)
    if screened:
        kept = ~ss.screen_fitted(LinearSVC(tol=1e-2, **options).fit(A, b), A, b).in_R
    return [LinearSVC(tol=1e-8, **options).fit(A[kept], b[kept])], [kept.sum()]


# %% tags=["nbval-ignore-output"]
def seconds_of(function, screened):
    """Return what a function returns, and the processor time it took."""
    begun = time.process_time()
    return *function(screened), time.process_time() - begun


ss.screen_fitted(LinearSVC().fit(A[:100], b[:100]), A[:100], b[:100])  # compiles
times = {}
for name, function in {
    "SVC(kernel='linear')": path_of_svc,
    "LinearSVC()": accurate_linear_svc,
}.items():
    plain, _, seconds = seconds_of(function, False)
    fast, seen, less = seconds_of(function, True)
    times[name] = seconds, less
    for one, two in zip(plain, fast, strict=True):
        assert np.allclose(one.decision_function(A), two.decision_function(A), atol=1e-3)
    share = seen[-1] / (6000 if len(seen) > 1 else len(b))
    print(f"{name}: same decision values; the last fit saw {share:.0%} of the samples")

# %% tags=["nbval-ignore-output"]
for name, (seconds, less) in times.items():
    print(
        f"{name}: {seconds:.2f} s with all samples, {less:.2f} s with certificates: "
        f"{seconds / less:.1f} times faster"
    )

# %% [markdown]
# A certificate saves time where a fit costs much more than the decision values of all samples, and where most samples lie outside the
# margin. It does not where fits are very short, such as those of LIBLINEAR to a low accuracy. With the rbf kernel it mostly does not either:
# LIBSVM shrinks its problem by itself, and its whole fit costs as much as the decision values of all samples.

# %% [markdown]
# ## Anybody's solver
#
# `screen_samples(X, y, w, C)` and `screen_triplets(X, triplets, M, lam)` take arrays from any solver. `screen(problem, x, lam)` takes any
# problem of the library. Samples in L, which are certainly at the bound, can be replaced by a linear term. The solvers of this library take such
# a term, and most other programs do not:

# %% tags=["nbval-ignore-output"]
signs, C0, C = np.where(y == y.max(), 1, -1), 0.1, 0.105
w = LinearSVC(C=C0, loss="hinge", fit_intercept=False, tol=1e-8, max_iter=1_000_000,
              random_state=0).fit(X, y).coef_[0]
certificate = ss.screen_samples(X, y, w, C, C0=C0, screening=("MGB&BT2",))
prob = ss.Problem(ss.Samples(X, signs), ss.Hinge())
reduced = prob.reduce(certificate.in_L, certificate.in_R)
solution, full = (ss.solve(problem, 1 / C, tol=1e-300, rtol=1e-9) for problem in (reduced, prob))
print(
    f"terms left {len(reduced)} of {len(prob)}; objectives differ by less than 1e-8 of their value"
)
assert abs(prob.primal(solution.x, 1 / C) / full.primal - 1) < 1e-8

# %% [markdown]
# ## What is not covered
#
# `gamma="scale"` and `class_weight="balanced"` depend on which samples there are, so to drop some of them changes the problem. `screen_fitted`
# says so, and asks for numbers. `SafeSVC` has both kinds of intercept: by default a free one with a kernel, as `SVC`, and a penalised one without,
# as `LinearSVC`. Its parameter `intercept` chooses.
#
# A bad reference costs screening, and never safety:

# %% tags=["nbval-ignore-output"]
rates = [
    ss.screen_samples(X, y, (1.0 + error) * w, C, C0=C0).rate for error in (0.0, 0.01, 0.1, 1.0)
]
print("screened with a reference off by 0, 1, 10, 100 %:", [f"{rate:.2f}" for rate in rates])
assert rates == sorted(rates, reverse=True)

# %% [markdown]
# Error messages say what was found, and what to do about it:

# %%
for wrong in (
    lambda: ss.SafeSVC().fit(X, np.ones(len(y))),
    lambda: ss.screen_fitted(SVC().fit(X, y), X, y),
):
    try:
        wrong()
    except ValueError as message:
        print(message)
