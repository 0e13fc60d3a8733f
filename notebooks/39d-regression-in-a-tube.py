# %% [markdown]
# # Regression in a tube
#
# Support vector regression costs nothing inside a tube around the data. It looks like a loss with two kinks. It is two hinges: each sample is two
# samples of a machine, one above the tube and one below, with thresholds of their own. So the library screens regression as it is.
#
# At the end you will have seen
#
# * the ε-insensitive loss as two terms, with a free intercept, and the objective of scikit-learn's `SVR`;
# * what a ball decides of a sample: inside, above, or below; and what each pair of decisions means;
# * what no ball decides: samples on the rim of the tube, and, in a tube of no width, an inside;
# * that one of the two terms of each sample is certain to be in R, and leaves, once the ball is narrower than the tube.

# %%
import numpy as np
from sklearn.svm import SVR

import safescreen as ss
from safescreen_book import figures

# %% [markdown]
# ## The claim
#
# > **Two terms a sample.** For $\varepsilon \ge 0$, $\;\max(0, |y - f| - \varepsilon) = \max(0, (y-\varepsilon) - f) + \max(0, -(y + \varepsilon) + f)$. So
# >
# > $$\min_{w,b}\; \sum_i\max(0, |y_i - \langle w, x_i\rangle - b| - \varepsilon) + \tfrac\lambda2\|w\|^2$$
# >
# > is the problem of this book with the hinge and $2n$ terms: $x_i$ with label $+1$ and threshold $y_i - \varepsilon$, $-x_i$ with label $-1$ and threshold $-(y_i + \varepsilon)$. With SVR's $C$, $\lambda = 1/C$.
# >
# > **Inside, above, below.** Sample $i$ is certain to be inside of the tube if both terms are in R, above it if the first is in L, below it if the second is. A ball with center $q$ and radius $r$ for which $r\|x_i\| < \varepsilon$
# > decides one of the two terms to be in R (without an intercept).
#
# Here $f_i = \langle w, x_i\rangle + b$ is the prediction, $(x_i, y_i)$ are the samples, and $\varepsilon$ is the half width of the tube. A term is in R if its margin at the solution is above its threshold, so
# that it costs nothing, and in L if it is below.
#
# ## Derivation
#
# At most one of the two brackets is positive, since their sum is $-2\varepsilon \le 0$. That is the first line. The hinge with threshold $\tau$ is $\max(0, \tau - u)$, and the margins are $u = f_i$ and $u = -f_i$,
# where the label takes the intercept along. R for both means $f_i > y_i - \varepsilon$ and $f_i < y_i + \varepsilon$. L for the first means $f_i < y_i - \varepsilon$, and then the second is in R.
#
# Over a ball, $f_i$ is within $r\|x_i\|$ of its value $f$ at $q$. If the first term is not in R, $f - r\|x_i\| \le y_i - \varepsilon$. Then $f + r\|x_i\| \le y_i - \varepsilon + 2r\|x_i\| < y_i + \varepsilon$: the second is.
#
# The smoothed hinge makes a smoothed tube in the same way.

# %%
rng = np.random.default_rng(0)
n, eps = 150, 0.1
X = rng.uniform(-1.0, 1.0, (n, 6))
y = X @ np.array([1.0, -0.7, 0.4, 0.0, 0.0, 0.0]) + 0.5 + 0.12 * rng.standard_normal(n)


def tube(X, y, eps, loss):
    """Regression: the terms above the tube, then those below."""
    signs = np.repeat([1.0, -1.0], len(X))
    terms = ss.FreeIntercept.from_points(np.vstack([X, X]), signs)
    return ss.Problem(terms.with_threshold(np.append(y - eps, -y - eps)), loss)


def read(prob, solution):
    """Coefficients and intercept. The library adds a constant feature, whose coefficient, nearly
    0, is part of the intercept."""
    return solution.x[:-1], solution.intercept + prob.terms.constant * solution.x[-1]


def sides(found):
    """Masks of the samples that are certainly inside, above and below."""
    (L_above, L_below), (R_above, R_below) = found.in_L.reshape(2, -1), found.in_R.reshape(2, -1)
    return R_above & R_below, L_above, L_below


# %% [markdown]
# ## The story in a picture
#
# The samples by their prediction at the solution, and what a ball of a rough solution says of them.

# %% tags=["nbval-ignore-output"]
prob, lam = tube(X, y, eps, ss.Hinge()), 1.0
best = ss.solve(prob, lam, rtol=1e-11)
rough = ss.solve(prob, lam, rtol=1e-3, screening=())
inside, above, below = sides(ss.screen(prob, rough.x, lam, rough.alpha))
w, b = read(prob, best)
prediction = X @ w + b
_, ax = figures.panels(1, width=6.0, height=3.6)
for mask, label, color in (
    (inside, "inside", figures.OTHERS[-1]),
    (above, "above", figures.COLOURS["L"]),
    (below, "below", figures.COLOURS["R"]),
    (~(inside | above | below), "undecided", "black"),
):
    ax.plot(prediction[mask], y[mask], ".", label=label, color=color)
line = np.array([prediction.min(), prediction.max()])
ax.fill_between(line, line - eps, line + eps, color="lightgray", alpha=0.5, zorder=0)
ax.set(xlabel="prediction", ylabel="y")
ax.legend()
figures.show(
    "Dots are samples at their predictions, and a grey tube lies along the diagonal. "
    f"{inside.sum()} dots in the tube are certain to be inside, {above.sum()} above it and "
    f"{below.sum()} below it are certain too; "
    f"{(~(inside | above | below)).sum()} dots are undecided."
)

# %% [markdown]
# ## Beside scikit-learn
#
# The objective values, and the decisions against the accurate solution. On the rim there are samples that no ball decides: those that hold the tube.

# %% tags=["NEW-TUBE"]
def objective(w, b, lam):
    """The objective as it is printed."""
    return np.maximum(0.0, abs(y - X @ w - b) - eps).sum() + lam / 2 * w @ w


for C in (0.01, 0.1, 1.0):
    lam = 1.0 / C
    outside = SVR(kernel="linear", C=C, epsilon=eps, tol=1e-9).fit(X, y)
    best = ss.solve(prob, lam, rtol=1e-11)
    theirs = objective(outside.coef_.ravel(), outside.intercept_[0], lam)
    w, b = read(prob, best)
    ours = objective(w, b, lam)
    assert ours < (1.0 + 1e-6) * theirs < (1.0 + 1e-4) * ours  # scikit-learn stops earlier
    assert abs(ours - prob.primal(best.x, lam)) < 1e-9 * ours
    residual = y - X @ w - b
    inside, above, below = sides(ss.screen(prob, best.x, lam, best.alpha))
    slack = 1e-6
    assert (abs(residual[inside]) < eps + slack).all()
    assert (residual[above] > eps - slack).all() and (residual[below] < -eps + slack).all()
    left = ~(inside | above | below)
    assert (abs(abs(residual[left]) - eps) < 1e-4).all()  # only samples on the rim are left
    print(
        f"C {C}, inside {inside.sum()}, above {above.sum()}, below {below.sum()}, on the rim "
        f"{left.sum()}; objective {ours:.4f}, that of SVR the same to 1e-4 of it"
    )

# %% [markdown]
# ## While it is solved
#
# Each point on the way makes a ball. The share of terms and of samples that it decides, and of samples of which at least one term is certain to be in R:

# %% tags=["NEW-TUBE", "nbval-ignore-output"]
smooth, lam = tube(X, y, eps, ss.SmoothedHinge(0.02)), 1.0
best = ss.solve(smooth, lam, rtol=1e-12)
w, b = read(smooth, best)
residual, wrong, shares = y - X @ w - b, 0, []
for rtol in 10.0 ** -np.arange(1.0, 9.0):
    point = ss.solve(smooth, lam, tol=0.0, rtol=rtol, screening=())
    found = ss.screen(smooth, point.x, lam, point.alpha)
    inside, above, below = sides(found)
    wrong += (
        (abs(residual[inside]) > eps).sum()
        + (residual[above] < eps).sum()
        + (residual[below] > -eps).sum()
    )
    half = found.in_R.reshape(2, -1).any(axis=0)
    shares.append((found.rate, (inside | above | below).mean(), half.mean()))
shares = np.array(shares)
print(
    f"decisions of eight references, wrong: {wrong}; samples decided at a relative gap of 1e-2 "
    f"and 1e-8: {shares[1, 1]:.0%}, {shares[-1, 1]:.0%}"
)
assert wrong == 0 and shares[-1, 1] > 0.8 and (shares[:, 2] >= shares[:, 1]).all()

without = ss.Problem(
    ss.Samples(np.vstack([X, X]), smooth.terms.signs).with_threshold(smooth.terms.threshold),
    smooth.loss,
)
n_narrow = 0
for rtol in 10.0 ** -np.arange(1.0, 7.0):
    point = ss.solve(without, lam, tol=0.0, rtol=rtol, screening=())
    ball = ss.spheres.midpoint_gap_bound(without, point.x, lam, point.alpha)
    narrow = ball.radius * np.linalg.norm(X, axis=1) < (1.0 - 1e-9) * eps
    assert ss.rules.sphere(without, ball).in_R.reshape(2, -1).any(axis=0)[narrow].all()
    n_narrow += narrow.sum()
print(
    f"without an intercept, samples with r|x| below the width: {n_narrow}; one term of each is "
    "certain to be in R"
)
assert n_narrow > 200

# %% tags=["nbval-ignore-output"]
_, ax = figures.panels(1, width=5.0, height=3.2)
for values, label in zip(shares.T, ("terms", "samples", "samples with a term in R"), strict=True):
    ax.semilogx(10.0 ** -np.arange(1.0, 9.0), values, ".-", label=label)
ax.invert_xaxis()
ax.set(xlabel="relative gap", ylabel="share decided")
ax.legend()
figures.show(
    "Curves show the share decided against the relative gap, which falls to the right. In the end "
    f"{shares[-1, 0]:.0%} of the terms are decided, both terms of {shares[-1, 1]:.0%} of the "
    f"samples, and a term in R of {shares[-1, 2]:.0%}."
)

# %% [markdown]
# ## Broken on purpose: a tube of no width
#
# With $\varepsilon = 0$ the loss is $|y - f|$. There is no inside: no ball puts both terms in R, and the ball of the claim would need a radius below 0. Above and below are decided as before: this is the regression of least
# absolute deviations, whose samples Wang, Wonka and Ye (2014) screen, to their knowledge as the first.

# %%
median = tube(X, y, 0.0, ss.Hinge())
best = ss.solve(median, 1.0, rtol=1e-11)
inside, above, below = sides(ss.screen(median, best.x, 1.0, best.alpha))
print(
    f"width 0: inside {inside.sum()}, above {above.sum()}, below {below.sum()}, on the line "
    f"{n - above.sum() - below.sum()} of {n}"
)
assert not inside.any() and above.sum() + below.sum() > 0.9 * n

# %% [markdown]
# A negative width is worse: then both brackets can be positive at once, and the two sides of the claim differ.

# %%
f = np.linspace(-1.0, 1.0, 201)
for width in (0.1, 0.0, -0.1):
    one = np.maximum(0.0, abs(f) - width)
    two = np.maximum(0.0, -width - f) + np.maximum(0.0, -width + f)
    print(f"width {width:4}: the two sides agree: {np.allclose(one, two)}")
    assert np.allclose(one, two) == (width >= 0.0)

# %% [markdown]
# ## Exercise
#
# How much more does a pass over $2n$ terms cost than one over $n$ samples?
#
# <details>
# <summary><b>Solution</b></summary>
#
# The inner products of the two terms differ in their sign only, and the library computes both: twice the time and the memory. A family of terms of its own would save that half. Screening does, too: in the end one term
# of each sample is in R and leaves, the claim says, once $r\|x_i\| < \varepsilon$.
#
# </details>
#
# ## Fine print
#
# * **Intercept.** With a free one the bounds of $b$ widen those of $f_i$, and the radius in the claim has to leave room for them.
# * **Kernels.** `ss.FreeIntercept.from_points(..., kernel="rbf")` takes the doubled points; its matrix has four times the entries.
# * **ν-regression** makes the width of the tube a variable, as the ν-machine does with the margin: [`39c-one-class-and-nu`](39c-one-class-and-nu.ipynb).
#
# Literature: H. Drucker, C. Burges, L. Kaufman, A. Smola, V. Vapnik, *Support vector regression machines*, NIPS 1997: the loss, as scikit-learn states it. A. Shibagaki, M. Karasuyama, K. Hatano, I. Takeuchi, ICML 2016 (arXiv 1602.02485), screen samples of a smoothed
# ε-insensitive loss, with one loss of two bends in place of two terms; inside, above and below are their three cases, too. J. Wang, P. Wonka, J. Ye, *Scaling SVM and least absolute deviations via exact data reduction*, ICML 2014, screen
# the case $\varepsilon = 0$ along a path of $C$ (abstract read). C.-C. Chang, C.-J. Lin, *LIBSVM*, ACM TIST 2, 2011: its program solves regression with $2n$ variables, the two terms of this notebook. G. Mialon, A. d'Aspremont, J. Mairal, *Screening data points in empirical risk minimization via
# ellipsoidal regions and safe loss functions*, AISTATS 2020, design losses, for regression too, whose dual solutions are sparse, and screen samples with them (abstract and beginning of the introduction read).
