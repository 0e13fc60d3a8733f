# %% [markdown]
# # Regression in a tube
#
# In support vector regression a sample inside a tube around the prediction has no loss. The loss has two kinks, and it is the sum of two hinges. So each sample is a pair of
# terms, one for each side of the tube, and each term has its own threshold. The library screens these terms without a change.
#
# At the end you will have seen
#
# * the ε-insensitive loss as two terms, with a free intercept, and the objective of scikit-learn's `SVR`;
# * what a ball decides about a sample: inside, above or below the tube; and what each pair of decisions means;
# * what no ball decides: samples on the rim of the tube, and, in a tube of width 0, samples inside;
# * that one of the two terms of each sample is certain to be in R once the ball is narrower than the tube.

# %%
import numpy as np
from sklearn.svm import SVR

import safescreen as ss
from safescreen_book import figures

# %% [markdown]
# ## The claim
#
# > **Two terms for each sample.** For $\varepsilon \ge 0$, $\;\max(0, |y - f| - \varepsilon) = \max(0, (y-\varepsilon) - f) + \max(0, -(y + \varepsilon) + f)$. So
# >
# > $$\min_{w,b}\; \sum_i\max(0, |y_i - \langle w, x_i\rangle - b| - \varepsilon) + \tfrac\lambda2\|w\|^2$$
# >
# > is the problem of this book with the hinge and $2n$ terms. The first term of a sample is $x_i$ with label $+1$ and threshold $y_i - \varepsilon$. The second term is $-x_i$ with label $-1$ and threshold $-(y_i + \varepsilon)$. In terms of SVR's $C$,
# > $\lambda = 1/C$.
# >
# > **Inside, above, below.** Sample $i$ is certain to be inside the tube if its two terms are in R, above the tube if the first term is in L, and below the tube if the second term is in L. A ball with radius $r$ and $r\|x_i\| < \varepsilon$
# > decides that one of the two terms is in R (without an intercept).
#
# Here $f_i = \langle w, x_i\rangle + b$ is the prediction, $(x_i, y_i)$ are the samples, and $\varepsilon$ is the half width of the tube. A term is in R, and costs nothing, if its margin at the solution is above its threshold. It is in L if its margin is
# below its threshold.
#
# ## Derivation
#
# The sum of the two brackets is $-2\varepsilon \le 0$, so at most one bracket is positive. This proves the first equation. The hinge with threshold $\tau$ is $\max(0, \tau - u)$, and the margins are $u = f_i$ and $u = -f_i$, because the label $-1$ changes the sign
# of the intercept too. If the two terms are in R, then $f_i > y_i - \varepsilon$ and $f_i < y_i + \varepsilon$. If the first term is in L, then $f_i < y_i - \varepsilon$, and the second term is in R.
#
# Let $f$ be the prediction at the center of a ball. On the ball, $f_i$ differs from its value $f$ at the center by at most $r\|x_i\|$. If the ball does not put the first term in R, then $f - r\|x_i\| \le y_i - \varepsilon$. Hence
# $f + r\|x_i\| \le y_i - \varepsilon + 2r\|x_i\| < y_i + \varepsilon$, so the ball puts the second term in R.
#
# In the same way two smoothed hinges make a smoothed tube.

# %%
rng = np.random.default_rng(0)
n, eps = 150, 0.1
X = rng.uniform(-1.0, 1.0, (n, 6))
y = X @ np.array([1.0, -0.7, 0.4, 0.0, 0.0, 0.0]) + 0.5 + 0.12 * rng.standard_normal(n)


def tube(X, y, eps, loss):
    """Return the regression problem: the first terms of all samples, then the second terms."""
    signs = np.repeat([1.0, -1.0], len(X))
    terms = ss.FreeIntercept.from_points(np.vstack([X, X]), signs)
    return ss.Problem(terms.with_threshold(np.append(y - eps, -y - eps)), loss)


def read(prob, solution):
    """Return coefficients and intercept. The library adds a constant feature. Its weight is nearly
    0 and belongs to the intercept."""
    return solution.x[:-1], solution.intercept + prob.terms.constant * solution.x[-1]


def sides(screened):
    """Return the masks of the samples that are certainly inside, above and below the tube."""
    L_above, L_below = screened.in_L.reshape(2, -1)
    R_above, R_below = screened.in_R.reshape(2, -1)
    return R_above & R_below, L_above, L_below


# %% [markdown]
# ## The idea in a picture
#
# The picture shows the samples at their predictions by the solution, and what the ball of a rough solution decides about them.

# %% tags=["nbval-ignore-output"]
prob = tube(X, y, eps, ss.Hinge())
lam = 1.0
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
    "Dots are samples at their predictions, and a grey tube lies along the diagonal. The ball "
    f"decides that {inside.sum()} samples are inside the tube, {above.sum()} above it and "
    f"{below.sum()} below it; {(~(inside | above | below)).sum()} samples are undecided."
)

# %% [markdown]
# ## Does it match scikit-learn?
#
# The cell compares the objective values of the library and of `SVR`, and the decisions with the accurate solution. No ball decides the samples on the rim of the tube, whose dual variables may be between 0 and 1.

# %% tags=["NEW-TUBE"]
def objective(w, b, lam):
    """Return the objective as it is printed."""
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
    undecided = ~(inside | above | below)
    assert (abs(abs(residual[undecided]) - eps) < 1e-4).all()  # these samples are on the rim
    print(f"C {C}, inside {inside.sum()}, above {above.sum()}, below {below.sum()}, ", end="")
    print(f"on the rim {undecided.sum()}; objective {ours:.4f}, by SVR the same to 1e-4 of it")

# %% [markdown]
# ## During a solve
#
# Each iterate gives a ball. The cell computes three shares for balls from rough to accurate solutions: the terms that the ball decides, the samples that it decides, and the samples with at least one term that is certain to be in R. The loss is smoothed.

# %% tags=["NEW-TUBE", "nbval-ignore-output"]
smooth = tube(X, y, eps, ss.SmoothedHinge(0.02))
lam = 1.0
best = ss.solve(smooth, lam, rtol=1e-12)
w, b = read(smooth, best)
residual = y - X @ w - b
wrong = 0
shares = []
for rtol in 10.0 ** -np.arange(1.0, 9.0):
    point = ss.solve(smooth, lam, tol=0.0, rtol=rtol, screening=())
    screened = ss.screen(smooth, point.x, lam, point.alpha)
    inside, above, below = sides(screened)
    wrong += (abs(residual[inside]) > eps).sum()
    wrong += (residual[above] < eps).sum() + (residual[below] > -eps).sum()
    one_in_R = screened.in_R.reshape(2, -1).any(axis=0)
    shares.append((screened.rate, (inside | above | below).mean(), one_in_R.mean()))
shares = np.array(shares)
print(f"decisions of eight references, wrong: {wrong}; samples decided at a relative gap ", end="")
print(f"of 1e-2 and 1e-8: {shares[1, 1]:.0%}, {shares[-1, 1]:.0%}")
assert wrong == 0 and shares[-1, 1] > 0.8 and (shares[:, 2] >= shares[:, 1]).all()

# %% [markdown]
# Without an intercept the claim says for which samples a ball puts one term in R:

# %% tags=["NEW-TUBE", "nbval-ignore-output"]
terms = ss.Samples(np.vstack([X, X]), smooth.terms.signs)
without = ss.Problem(terms.with_threshold(smooth.terms.threshold), smooth.loss)
n_narrow = 0
for rtol in 10.0 ** -np.arange(1.0, 7.0):
    point = ss.solve(without, lam, tol=0.0, rtol=rtol, screening=())
    ball = ss.spheres.midpoint_gap_bound(without, point.x, lam, point.alpha)
    narrow = ball.radius * np.linalg.norm(X, axis=1) < (1.0 - 1e-9) * eps
    assert ss.rules.sphere(without, ball).in_R.reshape(2, -1).any(axis=0)[narrow].all()
    n_narrow += narrow.sum()
print(f"without an intercept, samples with r|x| below the half width: {n_narrow}; ", end="")
print("the ball puts a term of each of them in R")
assert n_narrow > 200

# %% tags=["nbval-ignore-output"]
_, ax = figures.panels(1, width=5.0, height=3.2)
for values, label in zip(shares.T, ("terms", "samples", "samples with a term in R"), strict=True):
    ax.semilogx(10.0 ** -np.arange(1.0, 9.0), values, ".-", label=label)
ax.invert_xaxis()
ax.set(xlabel="relative gap", ylabel="share decided")
ax.legend()
figures.show(
    "Curves show shares against the relative gap, which falls to the right. At the smallest "
    f"gap the ball decides {shares[-1, 0]:.0%} of the terms and {shares[-1, 1]:.0%} of the "
    f"samples, and {shares[-1, 2]:.0%} of the samples have a term in R."
)

# %% [markdown]
# ## Break it: a tube of width 0
#
# With $\varepsilon = 0$ the loss is $|y - f|$. No sample can be inside: no ball puts the two terms of a sample in R, and the ball of the claim would need a radius below 0. A ball can still decide that a sample is above or below. This is the
# regression of least absolute deviations. Wang, Wonka and Ye (2014) screen its samples, to their knowledge as the first.

# %%
median = tube(X, y, 0.0, ss.Hinge())
best = ss.solve(median, 1.0, rtol=1e-11)
inside, above, below = sides(ss.screen(median, best.x, 1.0, best.alpha))
n_sides = above.sum() + below.sum()
print(f"width 0: inside {inside.sum()}, above {above.sum()}, below {below.sum()}, ", end="")
print(f"undecided {n - n_sides} of {n}")
assert not inside.any() and n_sides > 0.9 * n

# %% [markdown]
# With a negative width the two brackets can be positive at once. Then the two sides of the first equation differ.

# %%
f = np.linspace(-1.0, 1.0, 201)
for width in (0.1, 0.0, -0.1):
    one = np.maximum(0.0, abs(f) - width)
    two = np.maximum(0.0, -width - f) + np.maximum(0.0, -width + f)
    print(f"half width {width:4}: largest difference of the two sides {abs(one - two).max():.2f}")
    assert np.allclose(one, two) == (width >= 0.0)

# %% [markdown]
# ## Exercise
#
# How much more does a pass over $2n$ terms cost than one over $n$ samples?
#
# <details>
# <summary><b>Solution</b></summary>
#
# It costs twice the time and the memory. The inner products of the two terms of a sample differ only in their sign, but the library computes both products. A special family of terms could save half of the cost. Screening saves half of it too: once
# $r\|x_i\| < \varepsilon$, one term of the sample is in R, and the solver leaves it out.
#
# </details>
#
# ## Fine print
#
# * **Intercept.** With a free intercept the interval of $b$ widens the interval of $f_i$. Then the claim about $r\|x_i\| < \varepsilon$ needs a smaller radius.
# * **Kernels.** `ss.FreeIntercept.from_points(..., kernel="rbf")` accepts the doubled points; its matrix has four times the entries.
# * **ν-regression.** The width of the tube is a variable in ν-regression, as the margin is in the ν-machine ([`39c-one-class-and-nu`](39c-one-class-and-nu.ipynb)).
#
# Literature: H. Drucker, C. Burges, L. Kaufman, A. Smola, V. Vapnik, *Support vector regression machines*, NIPS 1997: the loss, as scikit-learn states it. A. Shibagaki, M. Karasuyama, K. Hatano, I. Takeuchi, ICML 2016 (arXiv 1602.02485), screen samples of a smoothed
# ε-insensitive loss. They use one loss with two bends in place of two terms; their three cases are also inside, above and below. J. Wang, P. Wonka, J. Ye, *Scaling SVM and least absolute deviations via exact data reduction*, ICML 2014, screen
# the case $\varepsilon = 0$ along a path of $C$ (abstract read). C.-C. Chang, C.-J. Lin, *LIBSVM*, ACM TIST 2, 2011: their program solves regression with $2n$ variables, one for each term of this notebook. G. Mialon, A. d'Aspremont, J. Mairal, *Screening data points in empirical risk minimization via
# ellipsoidal regions and safe loss functions*, AISTATS 2020, design losses whose dual solutions are sparse, for regression too, and screen samples with them (abstract and beginning of the introduction read).
