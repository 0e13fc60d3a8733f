# %% [markdown]
# # An intercept that nothing penalises
#
# A support vector machine predicts the sign of $\langle w, x\rangle + b$. The papers on safe screening leave $b$ out, or
# hide it in a constant feature, where it is penalised like any other weight. LIBSVM and scikit-learn's `SVC` do not: their $b$
# is free. Does safe screening survive that? It does. One condition on dual points is added, and every margin gets
# a second uncertainty, that of $b$.
#
# At the end you will have seen
#
# * why the balls of this book hold for $w$ without a change;
# * that the best $b$ is an order statistic, and how a ball for $w$ becomes an interval for $b$;
# * which printed tests of SSS13 and SSS14 fail if nothing is done about $b$, and what mends them;
# * that one pair of points decides for a whole interval of $\lambda$;
# * that a handful of machines with a penalised intercept, each solved from the last one, finds the one with a free intercept.

# %%
import numpy as np
import sympy as sp
from sklearn.svm import SVC

import safescreen as ss
from safescreen_book import figures

# %% [markdown]
# ## The story in a picture
#
# Two classes on a line, far from 0. A machine without an intercept has its boundary at 0, where no point is. With a free one
# the boundary goes between the classes. Move all points by 10: the machine with a free intercept moves with them, and $w$
# stays what it was.

# %%
X = np.array([[3.0], [3.5], [4.5], [6.0], [6.5], [7.5]])
y = np.array([-1, -1, 1, -1, 1, 1])
free = ss.Problem(ss.FreeIntercept.from_points(X, y), ss.Hinge())
moved = ss.Problem(ss.FreeIntercept.from_points(X + 10.0, y), ss.Hinge())
one = ss.solve(free, 1.0, rtol=1e-10)
other = ss.solve(moved, 1.0, rtol=1e-10)
print("w:", round(one.x[0], 4), "and", round(other.x[0], 4))
print("b:", round(one.intercept, 4), "and", round(other.intercept, 4))
assert abs(one.x[0] - other.x[0]) < 1e-4

# %%
CLASSES = {-1: "tab:blue", 1: "tab:orange"}
figure, ax = figures.panels(1, width=6.0, height=3.0)
for label, name in ((-1, "class -1"), (1, "class +1")):
    points = X[y == label, 0]
    ax.plot(points, 0.0 * points, "o", color=CLASSES[label], markersize=8, zorder=3, label=name)
line = np.linspace(0.0, 8.0, 2)
ax.plot(line, one.x[0] * line + one.intercept, color="black", label="free intercept")
alone = ss.solve(ss.Problem(ss.Samples(X, y), ss.Hinge()), 1.0, rtol=1e-10)
ax.plot(line, alone.x[0] * line, color="gray", linestyle="--", label="no intercept")
ax.axhline(0.0, color="lightgray", zorder=0)
ax.set(xlabel="position of a point", ylabel="decision function")
ax.legend()
figures.show(
    f"Dots are {len(X)} points on a line, from {X.min():g} to {X.max():g}, blue to the left, "
    "orange to the right, one of each on the wrong side. The decision "
    "function with a free intercept crosses 0 among them. The one without an intercept crosses 0 "
    "at the origin."
)

# %% [markdown]
# ## The claim
#
# > **Screening with a free intercept.** Let $(w^\star, b^\star)$ minimise
# > $P(w, b) = \sum_i c_i\,\ell(y_i(\langle w, x_i\rangle + b)) + \frac\lambda2\|w\|^2$. Let $w$ be any vector, $b$ any number, and
# > $\alpha$ in the box **with** $\sum_i c_i y_i \alpha_i = 0$.
# >
# > (a) The balls DGB, CDGB, MGB and GB of $(w, b, \alpha)$ contain $w^\star$, with the gap $P(w, b) - D(\alpha)$.
# >
# > (b) If $|\langle w^\star - w, x_i\rangle| \le \rho_i$ for all $i$, then every $b^\star$ lies between the best intercepts of
# > the kinks $k_i - \rho_i$ and $k_i + \rho_i$, where $k_i = y_i - \langle w, x_i\rangle$.
# >
# > (c) A sample is in R if $y_i\langle w, x_i\rangle - \rho_i + \min_b y_i b > 1$ over that interval, and in L if
# > $y_i\langle w, x_i\rangle + \rho_i + \max_b y_i b < 1 - \gamma$.
# >
# > (d) Let (c), with the MGB of one pair $(w, b, \alpha)$, put a sample into R for $\lambda_1$ and for $\lambda_2$. Then it is in R for
# > every $\lambda$ between them. The same holds for L.
#
# | assumption | where it is used |
# |---|---|
# | the loss is convex | (a), (b) |
# | $\alpha$ balances the classes | (a), (d) |
# | both classes are there | (b): else no $b$ is best |
# | the two balls come from one pair | (d) |
#
# <details>
# <summary><b>Symbols</b></summary>
#
# | symbol | meaning |
# |---|---|
# | $y_i$, $c_i$ | label, $-1$ or $1$; weight of a sample |
# | $\alpha_i$ | dual variable, between 0 and 1; $w(\alpha) = \frac1\lambda\sum_i c_i\alpha_i y_i x_i$ |
# | $\gamma$ | width of the smoothed hinge, 0 for the hinge |
# | $\lambda$ | $1/C$; the papers' objective is $C\,P$ |
# | kink $k_i$ | the $b$ at which sample $i$ stops to cost something |
# | $\rho_i$ | how far the ball lets $\langle w, x_i\rangle$ move: $r\,\lVert x_i - m\rVert$ for any common $m$ |
# | $s$ | signs of BT2, one of 0 and 1 a sample |
# | L, R | samples that are linear, or cost nothing, at the solution |
#
# </details>

# %% [markdown]
# ## Derivation
#
# ### The intercept is minimised out
#
# $L(w) = \min_b \sum_i c_i\,\ell(y_i(\langle w, x_i\rangle + b))$ is the minimum over one variable of a function that is convex in
# both. So it is convex, and $P(w) = L(w) + \frac\lambda2\|w\|^2$ is strongly convex **in $w$**. In $b$ nothing is: two
# machines may share $w^\star$ and differ in $b$.
#
# ### In the gap, b meets one sum
#
# For numbers $u_i$ and $\alpha_i$, Fenchel's inequality is $\varphi_i = \ell(u_i) + \ell^*(-\alpha_i) + \alpha_i u_i \ge 0$. Put in the
# margins $u_i = y_i(\langle w, x_i\rangle + b)$ and add up. sympy shows what is left for one sample; $h$ stands for
# $c\,\alpha y x$, its part of $\lambda w(\alpha)$.

# %%
w, x, b, lam, alpha, c, yy, value, conj = sp.symbols(
    "w x b lambda alpha c y ell ellstar", real=True
)
h = c * alpha * yy * x
primal = c * value + lam / 2 * w**2
dual = -c * conj - h**2 / (2 * lam)
phi = value + conj + alpha * yy * (w * x + b)
rest = primal - dual - (c * phi + lam / 2 * (w - h / lam) ** 2)
print("P - D - (Fenchel terms + lambda/2 |w - w(alpha)|^2) =", sp.factor(rest))
assert sp.expand(rest + b * c * yy * alpha) == 0

# %% [markdown]
# The difference is $-b\sum_i c_i y_i\alpha_i$. If $\alpha$ balances the classes it is 0, and the gap is the sum of squares and
# Fenchel terms that it was without an intercept. Every ball of this book is proved from that sum, at $w$ and at
# $w^\star$, where $b$ is $b^\star$. So (a) holds, with the same centers and radii.
#
# ### The best intercept is an order statistic
#
# Take the hinge. As a function of $b$, sample $i$ costs $c_i\max(0, y_i(k_i - b))$, with its kink at $k_i$. The slope of the sum
# begins at minus the weight of the positive class and rises by $c_i$ at each kink. So the best $b$ is the kink at which the
# weights of the kinks up to it reach the weight of the positive class.


# %%
def best_intercept(kinks, y, c):
    """The smallest best b for the hinge: a weighted order statistic."""
    order = np.argsort(kinks)
    below = np.cumsum(c[order])
    return kinks[order][np.searchsorted(below, c[y > 0].sum() - 1e-12)]


rng = np.random.default_rng(0)
for _ in range(200):
    n = int(rng.integers(2, 9))
    labels = np.where(rng.random(n) < 0.5, 1, -1)
    labels[:2] = 1, -1
    kinks, c_ = rng.normal(size=n), rng.choice([0.5, 1.0, 2.0], n)
    cost = np.array([(c_ * np.maximum(0.0, labels * (kinks - at))).sum() for at in kinks])
    at_best = (c_ * np.maximum(0.0, labels * (kinks - best_intercept(kinks, labels, c_)))).sum()
    assert at_best <= cost.min() + 1e-12
print("200 sums of hinges: the order statistic is a best intercept")

# %%
kinks = y - X[:, 0] * one.x[0]
bs = np.linspace(kinks.min() - 0.5, kinks.max() + 0.5, 300)
costs = np.maximum(0.0, y[:, None] * (kinks[:, None] - bs)).sum(axis=0)
figure, ax = figures.panels(1, width=6.0, height=2.8)
ax.plot(bs, costs, color="black", label="total loss")
for k, label in zip(kinks, y, strict=True):
    ax.axvline(k, color=CLASSES[label], linewidth=1.2, linestyle=":")
for label, name in ((-1, "kinks of class -1"), (1, "kinks of class +1")):
    ax.plot([], [], color=CLASSES[label], linewidth=1.2, linestyle=":", label=name)
ax.plot(
    best_intercept(kinks, y, np.ones(6)), costs.min(), "o", color="tab:red", label="best intercept"
)
ax.set(xlabel="intercept b", ylabel="total loss")
ax.legend()
figures.show(
    "The total loss as a function of b is a convex chain of straight pieces, with a bend at each "
    "dotted line, the "
    "kinks, in the colours of the classes. A red dot marks its lowest point, which is at a kink."
)

# %% [markdown]
# ### A ball for w becomes an interval for b
#
# Move one kink up. The slope of the cost at any $b$ then falls or stays, so the best $b$ goes up or stays. If each kink at
# $w^\star$ is in $[k_i - \rho_i,\, k_i + \rho_i]$, the best intercept is between those of the two ends. That is (b), and (c) adds
# the worst of both parts of a margin.
#
# One more thing is free. Add any number to all $\langle w, x_i\rangle$: the interval for $b$ moves by it the other way, and
# no margin changes. So points may be measured from any common $m$, and $\rho_i = r\,\|x_i - m\|$.
#
# ### From two values of lambda to all between them
#
# Write $\nu = 1/\lambda$ and $H = \lambda w(\alpha)$, which does not contain $\lambda$. A point $z$ is in the MGB for $\nu$ if
#
# $$\lVert z - \tfrac12(w + \nu H)\rVert^2 - \tfrac14\lVert w - \nu H\rVert^2 - \nu\varphi
# \;=\; \lVert z\rVert^2 - \langle z, w\rangle + \nu\,\big(\langle H, w\rangle - \langle H, z\rangle - \varphi\big) \;\le\; 0 ,$$
#
# with $\varphi$ the sum of the Fenchel terms of the pair. For a fixed $z$ the left side is a straight line in $\nu$. If it is positive
# at both ends of an interval, it is positive inside. So the ball for any $\lambda$ between $\lambda_1$ and $\lambda_2$ lies in the
# **union** of the balls for these two ([`48-certified-choice`](48-certified-choice.ipynb)). Hence $w^\star_\lambda$ is in one of the two. The
# interval of (b) is made from that ball alone: the best intercepts of fixed $w^\star_\lambda$ do not depend on $\lambda$. So one of the
# two decisions of (c) holds for $\lambda$, and as both say R, the sample is in R. That is (d).

# %%
z_, w_, H_, nu, phi_ = sp.symbols("z w H nu phi", real=True)
line_in_nu = (z_ - (w_ + nu * H_) / 2) ** 2 - (w_ - nu * H_) ** 2 / 4 - nu * phi_
assert sp.expand(line_in_nu - (z_**2 - z_ * w_ + nu * (H_ * w_ - H_ * z_ - phi_))) == 0
print("the slope in nu:", sp.factor(sp.diff(sp.expand(line_in_nu), nu)), "  its second derivative:",
      sp.expand(sp.diff(line_in_nu, nu, 2)))

# %% [markdown]
# ## The slow version
#
# The midpoint gap bound for $(w, b, \alpha)$, the interval, and the rule: all of it for the hinge.


# %%
def screen(X, y, w, b, alpha, lam):
    """Masks (in L, in R), radius and interval of b, for the hinge; alpha has to balance the
    classes."""
    w_alpha = (alpha * y) @ X / lam
    margins = y * (X @ w + b)
    gap = (
        np.maximum(0.0, 1.0 - margins).sum()
        + lam / 2 * w @ w
        - alpha.sum()
        + lam / 2 * w_alpha @ w_alpha
    )
    center = (w + w_alpha) / 2
    r = np.sqrt(max(gap, 0.0) / lam - (w - w_alpha) @ (w - w_alpha) / 4)
    f, rho = X @ center, r * np.linalg.norm(X - X.mean(axis=0), axis=1)
    ones = np.ones(len(y))
    low = best_intercept(y - f - rho, y, ones)
    high = -best_intercept(-(y - f + rho), -y, ones)  # the largest one, seen from the other side
    least = y * f - rho + np.where(y > 0, low, -high)
    most = y * f + rho + np.where(y > 0, high, -low)
    return most < 1.0, least > 1.0, r, (low, high)


# %% [markdown]
# ## The library
#
# `FreeIntercept` is a family of terms like any other. It chooses $b$ for each $w$, moves a dual point until it balances the
# classes, and hands the rules thresholds that hold for every $b$ of the interval. Paths, dynamic screening and reduced
# problems work as they do elsewhere. Does it match?


# %% tags=["nbval-ignore-output"]
def instance(rng, n=40):
    y = np.where(rng.random(n) < 0.35, 1, -1)
    y[:2] = 1, -1
    return rng.normal(size=(n, 3)) + 0.8 * y[:, None] + 4.0, y


X_, y_ = instance(np.random.default_rng(1))
terms = ss.FreeIntercept.from_points(X_, y_)
problem = ss.Problem(terms, ss.Hinge())
rough = ss.solve(problem, 2.0, rtol=1e-3, screening=())
b_rough = (
    rough.intercept + terms.constant * rough.x[-1]
)  # of w alone: x has a constant feature, too
naive = screen(X_, y_, rough.x[:-1], b_rough, rough.alpha, 2.0)
ours = ss.screen(problem, rough.x, 2.0, rough.alpha)
print(
    "decided by definition:",
    naive[0].sum() + naive[1].sum(),
    "  by the library:",
    ours.n_L + ours.n_R,
)
assert (ours.in_R <= naive[1]).all() and (ours.in_L <= naive[0]).all() and ours.rate > 0.3
low, high = terms.intercepts(ours.balls[0], ss.Hinge())
assert low <= naive[3][0] <= naive[3][1] <= high

# %% [markdown]
# The library measures points from their mean as well, and decides as many here.
#
# ### Does it match scikit-learn?

# %% tags=["nbval-ignore-output"]
theirs = SVC(kernel="linear", C=0.5, tol=1e-9).fit(X_, y_)
exact = ss.solve(problem, 2.0, rtol=1e-11)
print("b:", round(float(theirs.intercept_[0]), 5), round(exact.intercept, 5))
print("w agrees to 1e-5:", np.allclose(theirs.coef_[0], exact.x[:-1], atol=1e-5))
assert np.allclose(theirs.coef_[0], exact.x[:-1], atol=1e-5)
assert abs(theirs.intercept_[0] - exact.intercept) < 1e-5

# %% [markdown]
# ## The claim, tried
#
# Sixty problems, linear and with a kernel, three losses, references from good to bad. Every ball has to hold the solution,
# every interval the intercept, and every decision has to be right.


# %%
def random_problem(rng, k):
    X, y = instance(rng, 30)
    loss = (ss.Hinge(), ss.SmoothedHinge(0.5), ss.SquaredHinge(0.5))[k % 3]
    kernel = ("linear", "rbf")[k % 2]
    weights = rng.choice([0.5, 1.0, 2.0], 30)
    return ss.Problem(ss.FreeIntercept.from_points(X, y, kernel, 0.2, weights=weights), loss), y


def n_right(problem, y, lam, best, reference):
    """Check one reference; return how many samples it decides."""
    found = ss.screen(problem, reference, lam)
    center = found.balls[0].center
    away = problem.cone.norm(best.x - center)
    assert away <= found.balls[0].radius + best.eps
    low, high = problem.terms.intercepts(found.balls[0], problem.loss)
    inexact = 3.0 * best.eps * problem.terms.norms.max()
    assert low - inexact <= best.intercept <= high + inexact
    margins = problem.terms.margins(best.x) + y * best.intercept
    assert (margins[found.in_R] > 1.0 - inexact).all()
    assert not found.n_L or (margins[found.in_L] < 1.0 - problem.loss.width + inexact).all()
    return found.n_L + found.n_R


# %% tags=["NEW-FREE"]
rng, decided, tried = np.random.default_rng(3), 0, 0
for k in range(60):
    problem, y_ = random_problem(rng, k)
    lam_ = 10.0 ** rng.uniform(-1.0, 1.0)
    best = ss.solve(problem, lam_, rtol=1e-9, screening=())
    for factor in (1.0, 0.999, 0.97):
        decided += n_right(problem, y_, lam_, best, factor * best.x)
        tried += len(y_)
    assert abs(problem.terms.residual(best.alpha)[0]) < 1e-12
print(
    "180 references of 60 problems: all balls, intervals and decisions hold; decided:",
    decided > 1500,
)
assert 1500 < decided < tried

# %% [markdown]
# ### Ranges of lambda
#
# Claim (d) is a range without a formula: test the ends, and know what is between. One rough pair for $\lambda_0$, the two ends
# $\lambda_0/2$ and $2\lambda_0$ or nearer, and problems solved inside.


# %%
def between(problem, x, alpha, lam1, lam2):
    """What one pair decides for every lam from lam1 to lam2, and the two balls that say so."""
    balls = [ss.spheres.midpoint_gap_bound(problem, x, lam, alpha) for lam in (lam1, lam2)]
    one, other = (ss.rules.sphere(problem, ball) for ball in balls)
    return ss.Screened(one.in_L & other.in_L, one.in_R & other.in_R), balls


# %% tags=["NEW-FREE", "nbval-ignore-output"]
rng, checked, n_alone, n_stale = np.random.default_rng(5), 0, 0, 0
n_pairs, n_solved, n_wrong = 36, 0, 0
for k in range(n_pairs):
    problem, y_ = random_problem(rng, k)
    lam0 = 10.0 ** rng.uniform(-1.0, 1.0)
    step = rng.choice([1.1, 1.4, 2.0])
    reference = ss.solve(problem, lam0, rtol=10.0 ** -rng.uniform(2.0, 6.0), screening=())
    known, balls = between(problem, reference.x, reference.alpha, lam0 / step, lam0 * step)
    at_start = ss.screen(problem, reference.x, lam0, reference.alpha)
    for lam_ in lam0 * step ** np.array([-1.0, -0.5, -0.1, 0.4, 0.9]):
        best = ss.solve(problem, lam_, rtol=1e-9, screening=())
        held = [problem.cone.norm(best.x - ball.center) <= ball.radius + best.eps for ball in balls]
        assert any(held)
        n_alone += sum(held) == 1
        inexact = 3.0 * best.eps * problem.terms.norms.max()
        margins = problem.terms.margins(best.x) + y_ * best.intercept
        in_R = margins > 1.0 - inexact
        in_L = margins < 1.0 - problem.loss.width + inexact
        n_wrong += np.count_nonzero(known.in_R & ~in_R) + np.count_nonzero(known.in_L & ~in_L)
        n_solved += 1
        checked += known.n_L + known.n_R
        n_stale += np.count_nonzero(at_start.in_R & ~in_R) + np.count_nonzero(at_start.in_L & ~in_L)
assert n_wrong == 0 and checked > 1000 and n_stale > 0 and n_alone > 0
print(
    f"{n_pairs} pairs, {n_solved} problems solved inside their ranges: {checked} decisions, "
    f"{n_wrong} wrong"
)
print(f"every solution lies in one of the two balls, {n_alone} of them in one only")
print(f"decisions of the starting lambda alone, kept for the others: {n_stale} wrong")

# %% [markdown]
# The last line is the counter-example: the decisions for $\lambda_0$ alone do not last. A range of a single sample needs a search: its
# ends are the farthest $\lambda$ on either side for which the test still decides.
#
# ## What becomes of the tests of SSS13 and SSS14
#
# Both papers leave the intercept out. Put $L(w)$ for their total loss. They use only that it is convex.
#
# | test | the region for $w^\star$ | the margin |
# |---|---|---|
# | Dome Test | unchanged: from the convexity of $L$ and the two solutions | needs the interval of $b$ over the dome |
# | Ball Test 1 | unchanged, with the losses at the best intercepts | needs the interval of $b$ over the ball |
# | Ball Test 2 | $z_s = \sum_i s_i z_i$ is a slope of $L$ only if $\sum_i s_i y_i = 0$; fractions of $s$ make it so | the same |
# | Intersection Test | that of its two balls | the smaller of the two intervals |
#
# Ball Test 2 as printed sets $s_i$ to 0 or 1 by the sign of a margin. Nothing balances that. Take it as it is, and the ball
# loses the solution:


# %%
def ball_2(X, y, w, b, s, lam):
    """Center and squared radius of Ball Test 2 from a point and any s."""
    w_s = (s * y) @ X / lam
    slack = 1.0 - y * (X @ w + b)
    fenchel = np.maximum(0.0, slack).sum() - s @ slack
    return (w + w_s) / 2, (w - w_s) @ (w - w_s) / 4 + fenchel / lam


X_, y_ = instance(np.random.default_rng(1))
w_star, point = exact.x[:-1], 0.9 * exact.x[:-1]
b_point = best_intercept(y_ - X_ @ point, y_, np.ones(40))
outside = {}
for name, shift in (("as it is", 0.5), ("balanced", 0.0)):
    s = (y_ * (X_ @ point + b_point + shift) < 1.0).astype(float)
    if name == "balanced":
        s = terms.balanced(s, np.append(point, 0.0), ss.Hinge())
    center, square = ball_2(X_, y_, point, b_point, s, 2.0)
    outside[name] = np.linalg.norm(w_star - center) > np.sqrt(max(square, 0.0)) + 1e-6
    print(f"s {name}: sum of s y = {s @ y_:5.2f}, solution outside the ball: {outside[name]}")
assert outside == {"as it is": True, "balanced": False}

# %% [markdown]
# ## Broken on purpose
#
# ### The intercept left out
#
# Take the ball for $w^\star$, which is right, and the margins as the papers print them, without $b$. Samples are thrown away
# that matter. With the interval none is:

# %%
n_wrong = n_right_ones = 0
for seed in range(20):
    Xs, ys = instance(np.random.default_rng(seed), 30)
    posed = ss.Problem(ss.FreeIntercept.from_points(Xs, ys), ss.Hinge())
    best = ss.solve(posed, 0.5, rtol=1e-11)
    certificate = ss.screen(posed, 0.99 * best.x, 0.5, best.alpha)
    ball = certificate.balls[0]
    matters = posed.terms.margins(best.x) + ys * best.intercept < 1.0 - 1e-6
    without_b = posed.terms.margins(ball.center) - ball.radius * posed.terms.norms > 1.0
    n_wrong += (without_b & matters).sum()
    n_right_ones += certificate.n_R
    assert not (certificate.in_R & matters).any()
print("thrown away and needed, without b:", n_wrong > 20, "  with its interval: never")
assert n_wrong > 20 and n_right_ones > 200

# %% [markdown]
# ### A dual point that does not balance the classes
#
# Then $D(\alpha)$ is no lower bound: $-b\sum_i c_i y_i\alpha_i$ may be as low as it likes. The "gap" can even be negative.

# %%
no_b = ss.solve(ss.Problem(ss.Samples(X_, y_), ss.Hinge()), 2.0, rtol=1e-10)
print(
    "dual value of a point that balances nothing, above the free optimum:",
    no_b.primal > exact.primal,
)
assert no_b.primal - no_b.gap > exact.primal

# %% [markdown]
# The dual optimum of the machine *without* an intercept is such a point: in the box, and higher than the optimum of the
# machine with one.
#
# ## How it is solved
#
# The proximal point method (Rockafellar 1976) penalises how far $b$ goes from the last one,
#
# $$b_{k+1} = \arg\min_b \Big( \min_w P(w, b) + \tfrac\tau2 (b - b_k)^2 \Big).$$
#
# That is the machine with a penalised intercept and the thresholds $1 - y_i b_k$, which any solver of this book solves. Its
# dual point has the residual $s = \sum_i c_i y_i \alpha_i = \tau\,(b_{k+1} - b_k)$, which is the slope of
# $\min_w P(w, b)$ at $b_{k+1}$, up to its sign. It falls as $b$ grows, and the line through the last two points finds its root.

# %% tags=["nbval-ignore-output"]
lam_, b_k, track = 2.0, 0.0, []
b_star = exact.intercept + terms.constant * exact.x[-1]
for _ in range(6):
    penalised = ss.Problem(terms.penalised(b_k), ss.Hinge())
    machine = ss.solve(penalised, lam_, rtol=1e-12)
    s = terms.residual(machine.alpha)[0]
    b_next = b_k + terms.constant**2 * s / lam_
    track.append((b_next, s))
    b_k = b_next
    if len(track) > 1:
        (b0, s0), (b1, s1) = track[-2:]
        b_k = b1 if s0 == s1 else b1 - s1 * (b1 - b0) / (s1 - s0)
for k, (b_next, _) in enumerate(track):
    print(f"round {k + 1}: |b - b*| = {abs(b_next - b_star):.1e}")
assert abs(track[-1][0] - b_star) < 1e-4 < abs(track[1][0] - b_star)

# %% [markdown]
# ## Exercise
#
# All samples of a machine have the same weight, and at its solution no sample is on the margin. Show that the best
# intercepts are an interval, and say which samples are its ends.
#
# <details>
# <summary><b>Solution</b></summary>
#
# No sample on the margin means that every $\alpha_i$ is 0 or 1. The classes are balanced, so as many positive as
# negative samples are in L. At such a $b$ the slope of the cost is 0: it is flat up to the next kink on both sides. The upper
# end is the smallest kink above $b$: a positive sample of L or a negative one of R. The lower end is the largest kink below: a
# negative sample of L or a positive one of R. `SVC` and this library take the middle.
#
# </details>

# %%
small = SVC(kernel="linear", C=1e-3, tol=1e-10).fit(
    np.array([[-2.0], [-1.0], [1.0], [2.0]]) + 3.0, [0, 0, 1, 1]
)
samples = ss.FreeIntercept.from_points(
    np.array([[-2.0], [-1.0], [1.0], [2.0]]) + 3.0, [-1, -1, 1, 1]
)
flat = ss.solve(ss.Problem(samples, ss.Hinge()), 1e3, rtol=1e-10)
print("the middle:", round(float(small.intercept_[0]), 6), round(flat.intercept, 6))
assert abs(small.intercept_[0] - flat.intercept) < 1e-9

# %% [markdown]
# ## Fine print
#
# * In floating point $\sum_i c_i y_i\alpha_i$ is not 0 but some $\varepsilon$. There is a point that balances exactly and differs from
#   $\alpha$ by $\varepsilon$ in all: variables can go on to their bounds until the sum is 0. The gap that the library certifies is
#   that point's: $\varepsilon$ times the largest $|1 - u_i|$ for its Fenchel terms, $\varepsilon\max_i\|x_i\|$ for $\lambda w(\alpha)$. No bound of $|b|$
#   is needed.
# * The ends of the interval are not trusted either. At each the slope of the cost is summed up directly, with its rounding, and
#   the end is moved out until the sign is certain.
# * `ss.ranges` has formulas for the ends of ranges, and takes no free intercept: how the interval of $b$ changes with $\lambda$ has no
#   formula. Claim (d) needs none, and costs two tests for an interval.
#
# Literature: R. T. Rockafellar, *Monotone operators and the proximal point algorithm*, SIAM J. Control Optim. 14, 1976. SSS13, SSS14:
# [`36b-dome-test`](36b-dome-test.ipynb), [`32-ball-tests-1-and-2`](32-ball-tests-1-and-2.ipynb), [`33-intersection-test`](33-intersection-test.ipynb). MGB: [`28-midpoint-gap-bound`](28-midpoint-gap-bound.ipynb).
