# %% [markdown]
# # With scikit-learn
#
# You can use safe screening together with scikit-learn in two ways. The first way is an estimator of this library in a pipeline. The second way is a certificate for a solution of one of *scikit-learn's* solvers: the certificate says which samples you can remove, and the solver then finds the same classifier from fewer samples.

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
# `SafeSVC` solves the support vector machine with the hinge to a certified duality gap. The attribute `dual_gap_` is this gap, and `screening_` lists the samples whose region of the loss is proved.

# %% tags=["nbval-ignore-output"]
pipeline = make_pipeline(StandardScaler(), ss.SafeSVC(tol=1e-6, screening=("MGB",)))
search = GridSearchCV(pipeline, {"safesvc__C": [1e-3, 1e-2, 1e-1, 1.0]}, cv=5)
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
# A grid search solves each fold for each C without a starting point. `SafeSVCCV` follows one path for each fold, and each solution of the path is the starting point for the next C. `SafeSVCCV` has the same attributes for scores, choice and table of results as `GridSearchCV`.
#
# The solutions also give bounds of the validation accuracy. Each solution gives a ball that contains the exact optimum for its C. From the ball we compute an interval for each decision value of the validation points. From the intervals we compute a lower and an upper bound of the accuracy of the exact machine. More accurate solutions give tighter bounds.
#
# The first argument of `SafeSVCCV` is a `SafeSVC` with all parameters except C, as in `SafeSVCCV(ss.SafeSVC(kernel="rbf"))`. `best_estimator_` is a copy of this `SafeSVC` with the chosen C, fitted to all samples.

# %%
Cs = np.geomspace(1e-3, 1e2, 26)
X_scaled = StandardScaler().fit_transform(X)
machine = ss.SafeSVC(tol=1e-6)
model = ss.SafeSVCCV(machine, Cs, cv=5).fit(X_scaled, y)
print(f"C = {model.C_:.3g}, accuracy {model.best_score_:.3f}")

exhaustive = GridSearchCV(machine, {"C": Cs}, cv=5).fit(X_scaled, y)
differences = model.cv_results_["mean_test_score"] - exhaustive.cv_results_["mean_test_score"]
print(f"the grid search chooses C = {exhaustive.best_params_['C']:.3g}")
print("mean scores differ by less than 0.002")
assert np.abs(differences).max() < 0.002

# %% tags=["nbval-ignore-output"]
fig, ax = plt.subplots(figsize=(7, 3), layout="constrained")
rough = ss.SafeSVCCV(ss.SafeSVC(tol=1e-3), Cs, cv=5, refit=False).fit(X_scaled, y)
for tol, search, colour in ((1e-3, rough, "C1"), (1e-6, model, "C0")):
    low, high = search.score_bounds_.mean(axis=1)
    style = {"step": "mid", "alpha": 0.3, "color": colour}
    ax.fill_between(Cs, low, high, label=f"certain at tol = {tol:g}", **style)
ax.semilogx(Cs, model.scores_.mean(axis=0), "k.", label="scores")
ax.axvline(model.C_, color="C3", lw=1)
ax.set(xlabel="C", ylabel="accuracy", title="Bounds of the validation accuracy")
ax.legend(loc="lower right")
wide = np.mean(rough.score_bounds_[1] - rough.score_bounds_[0])
narrow = np.mean(model.score_bounds_[1] - model.score_bounds_[0])
figures.show(
    "Each band shows the bounds of the validation accuracy against C. Dots show the scores, which "
    f"lie inside the bands. On average the bounds are {wide:.1g} apart at a tolerance of {1e-3:g}, "
    f"and {narrow:.1g} apart at {1e-6:g}. The vertical line marks the choice, C = {model.C_:.3g}."
)

# %% tags=["nbval-ignore-output"]
low, high = model.score_bounds_.mean(axis=1)
scores = model.scores_.mean(axis=0)
print(f"average distance of the bounds at tol = 1e-6: {np.mean(high - low):.4f}")
verb = "prove" if model.certified_ else "do not prove"
print(f"the bounds {verb} that C = {model.C_:.3g} has the best mean accuracy")
assert (low <= scores).all() and (scores <= high).all()

# %% [markdown]
# `TripletMetricCV` chooses $\lambda$ for metrics in the same way, with `lams` in place of `Cs`. It gives no bounds: the error of nearest neighbours depends on the order of all distances, for which the library has no cheap certificate.
#
# `TripletMetric` learns a distance, and `HDSL` learns a sparse similarity for very many features. All these estimators can be cloned, pickled and used in searches. They accept data frames, and follow the conventions of scikit-learn.

# %% tags=["nbval-ignore-output"]
learner = ss.TripletMetric(k=3, screening=("RRPB", "PGB"))
metric = ss.TripletMetricCV(learner, lams=5, cv=3).fit(X[::3], y[::3])
print(f"lambda = {metric.lam_ / metric.lams_[0]:.2g} lambda_max, accuracy {metric.best_score_:.3f}")
print(f"triplets screened at this lambda: {metric.best_estimator_.screening_.rate:.0%}")

# %% [markdown]
# ## A certificate for another solver
#
# Suppose that LIBLINEAR has fitted a model for one C. Which samples can you remove before the fit for a neighbouring C? The function `screen_fitted` answers this. It bounds the distance of the fitted model from the optimum, including rounding errors, so the model need not be exact. From this bound it derives what is certain about each sample.

# %% tags=["nbval-ignore-output"]
C0, C = 0.1, 0.105
options = {"loss": "hinge", "tol": 1e-8, "max_iter": 1_000_000, "random_state": 0}
first = LinearSVC(C=C0, **options).fit(X, y)
certificate = ss.screen_fitted(first, X, y, C)
print(
    f"certainly without influence (R): {certificate.in_R.mean():.0%}, certainly at the bound (L): "
    f"{certificate.in_L.mean():.0%}"
)
print(
    f"gap {certificate.gap:.2g}, including {certificate.gap_rounding:.0e} for rounding; "
    f"radius of the ball {certificate.balls[0].radius:.2f}"
)
assert certificate.in_R.mean() > 0.5

# %% [markdown]
# The fit without these samples of R has the same decision values:

# %%
keep = ~certificate.in_R
part = LinearSVC(C=C, **options).fit(X[keep], y[keep])
whole = LinearSVC(C=C, **options).fit(X, y)
apart = np.abs(part.decision_function(X) - whole.decision_function(X)).max()
print(f"{keep.sum()} of {len(y)} samples; decision values differ by less than 1e-4")
assert apart < 1e-4

# %% [markdown]
# ## SVC, with its free intercept
#
# LIBSVM has an intercept that is not penalised. The papers do not treat such an intercept, but `screen_fitted` does. If the dual point satisfies $\sum_i y_i \alpha_i = 0$, the ball around $w$ is valid without changes. For a given $w$ the optimal intercept is an order statistic of the numbers $y_i - \langle w, x_i\rangle$. So an interval for each of these numbers gives an interval for the intercept.

# %% tags=["nbval-ignore-output"]
options = {"kernel": "rbf", "gamma": 0.1, "tol": 1e-8}
first = SVC(C=1.0, **options).fit(X, y)
for C in (1.0, 1.02, 1.05):
    certificate = ss.screen_fitted(first, X, y, C)
    whole = SVC(C=C, **options).fit(X, y)
    keep = ~certificate.in_R
    part = SVC(C=C, **options).fit(X[keep], y[keep])
    assert np.allclose(part.decision_function(X), whole.decision_function(X), atol=1e-5)
    low, high = certificate.intercept
    assert low <= whole.intercept_[0] + 1e-7 and whole.intercept_[0] - 1e-7 <= high
    removed = certificate.in_R.mean()
    print(f"C = {C:.2f}: {removed:.0%} removed, intercept in [{low:.2f}, {high:.2f}]")

# %% [markdown]
# ## The time that a certificate saves
#
# We measure the time of two solvers of scikit-learn on random samples. SVC solves for eight values of C: first with all samples for each C, then with the samples that remain after the certificate of the previous solution. LinearSVC makes one accurate fit: first with all samples, then with the samples that remain after the certificate of a rough fit. The decision values are the same with and without certificates. The times are from the machine on which this notebook was run.

# %%
A, b = make_classification(20_000, 20, n_informative=8, flip_y=0.0, class_sep=1.5, random_state=0)
A = StandardScaler().fit_transform(A)
few = slice(6000)


def path_of_svc(screened):
    """Return the models of a path, and how many samples each has seen."""
    models = []
    seen = []
    kept = np.ones(len(b[few]), dtype=bool)
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
functions = {"SVC(kernel='linear')": path_of_svc, "LinearSVC()": accurate_linear_svc}
times = {}
for name, function in functions.items():
    plain, _, seconds = seconds_of(function, False)
    fast, seen, less = seconds_of(function, True)
    times[name] = seconds, less
    for one, two in zip(plain, fast, strict=True):
        assert np.allclose(one.decision_function(A), two.decision_function(A), atol=1e-3)
    share = seen[-1] / (6000 if len(seen) > 1 else len(b))
    print(f"{name}: the last fit used {share:.0%} of the samples; same decision values")

# %% tags=["nbval-ignore-output"]
for name, (seconds, less) in times.items():
    print(
        f"{name}: {seconds:.2f} s with all samples, {less:.2f} s with certificates, ratio "
        f"{seconds / less:.1f}"
    )

# %% [markdown]
# A certificate saves time if a fit takes much longer than the decision values of all samples, and if most samples lie outside the margin. It does not save time for very short fits, such as the fits of LIBLINEAR to a low accuracy. With the rbf kernel a certificate usually saves no time either: LIBSVM shrinks its problem by itself, and its fit takes about as long as the decision values of all samples.

# %% [markdown]
# ## Any other solver
#
# `screen_samples(X, y, w, C)` and `screen_triplets(X, triplets, M, lam)` accept arrays from any solver. `screen(problem, x, lam)` accepts any problem of the library. You can replace the samples in L, which are certainly at the bound, by a linear term. The solvers of this library accept such a term, but most other programs do not:

# %% tags=["nbval-ignore-output"]
signs = np.where(y == y.max(), 1, -1)
C0, C = 0.1, 0.105
options = {"loss": "hinge", "tol": 1e-8, "max_iter": 1_000_000, "random_state": 0}
w = LinearSVC(C=C0, fit_intercept=False, **options).fit(X, y).coef_[0]
certificate = ss.screen_samples(X, y, w, C, C0=C0, screening=("MGB&BT2",))
prob = ss.Problem(ss.Samples(X, signs), ss.Hinge())
reduced = prob.reduce(certificate.in_L, certificate.in_R)
solution = ss.solve(reduced, 1 / C, tol=1e-300, rtol=1e-9)
full = ss.solve(prob, 1 / C, tol=1e-300, rtol=1e-9)
print(f"{len(reduced)} of {len(prob)} terms remain")
print("the objectives differ by less than 1e-8 of their value")
assert abs(prob.primal(solution.x, 1 / C) / full.primal - 1) < 1e-8

# %% [markdown]
# ## What is not covered
#
# `gamma="scale"` and `class_weight="balanced"` depend on the samples, so the problem changes if you remove samples. In these cases `screen_fitted` raises an error that asks for numbers. `SafeSVC` has both kinds of intercept, and its parameter `intercept` chooses one. By default the intercept is free with a kernel, as in `SVC`, and penalised without a kernel, as in `LinearSVC`.
#
# With a bad reference the certificate is still correct, but it screens fewer samples:

# %% tags=["nbval-ignore-output"]
rates = []
for error in (0.0, 0.01, 0.1, 1.0):
    rates.append(ss.screen_samples(X, y, (1.0 + error) * w, C, C0=C0).rate)
    print(f"reference with an error of {error:.0%}: share screened {rates[-1]:.2f}")
assert rates == sorted(rates, reverse=True)

# %% [markdown]
# The library's error messages say what is wrong, and what you can do:

# %%
mistakes = (
    lambda: ss.SafeSVC().fit(X, np.ones(len(y))),
    lambda: ss.screen_fitted(SVC().fit(X, y), X, y),
)
for wrong in mistakes:
    try:
        wrong()
    except ValueError as message:
        print(message)
