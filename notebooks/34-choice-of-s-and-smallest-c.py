# %% [markdown]
# # The choice of s, and the smallest C
#
# The intersection test needs two things: a second ball, for which one may choose any $\hat s \in \{0, 1\}^n$, and a
# reference, a solution for some other $C$. SSS14 gives both in a few lines: equation (25) chooses $\hat s$, and Lemma 9
# is a reference that needs no solving.
#
# At the end you will have seen that
#
# * equation (25) is a maximum that separates, sample by sample, and its answer is **the dual point at the center of
#   ball 1**; that form needs no hinge and no particular $\tilde w$;
# * it is the *deepest cut at that center*: each $s$ is one plane of the expanded space, and (25) finds the one that
#   $m_1$ violates most;
# * a bad $s$ is safe, but decides little; and there is a better $s$ than (25). The choice for the center of the lens
#   that (25) has cut decides a quarter more of the samples of breast-cancer, for one more pair of products with the
#   data;
# * Lemma 9 holds for all data, with $1/0$ read as $\infty$: that is the right answer where the sum of all $z_i$ is
#   zero;
# * references may come from above as well as from below.

# %%
import itertools
from fractions import Fraction

import numpy as np
import sympy as sp

import safescreen as ss
from safescreen_book import datasets, figures

# %% [markdown]
# ## The idea in a picture
#
# The plane of weights of forty samples. Ball 1 comes from the solution for a smaller $C_0$ and stays where it is. Every
# choice of $s$, one 0 or 1 a sample, gives another ball 2 that holds the solution (star). On the left all $s_i$ are 0,
# and in the middle they are drawn by tossing coins. In both cases ball 2 contains ball 1, and nothing is gained. On the
# right is the $\hat s$ of equation (25). Its ball 2 cuts off more than half of ball 1, and the solution lies in the
# small lens that the two balls share.

# %%
forty = np.random.default_rng(7).standard_normal((40, 2))
sides = np.where(np.arange(40) % 2, 1, -1)
forty += 1.1 * sides[:, None] * [1.0, 0.6]
machine, C_old, C_new = ss.Problem(ss.Samples(forty, sides), ss.Hinge()), 0.1, 0.2
old, best = (ss.solve(machine, 1.0 / C, tol=0.0, rtol=1e-12) for C in (C_old, C_new))
chosen = {
    "all $s_i = 0$": np.zeros(40),
    "coins": np.random.default_rng(0).integers(0, 2, 40).astype(float),
    r"$\hat s$ of equation (25)": ss.svm.choose_s(machine.terms, C_new, ss.svm.reference(old)),
}
wider = []
figure, axes = figures.panels(3, width=10.4, height=3.9)
for ax, (name, s) in zip(axes, chosen.items(), strict=True):
    both = {
        "ball 1": ss.svm.ball_1(machine.terms, C_new, ss.svm.reference(old)),
        "ball 2": ss.svm.ball_2(machine.terms, C_new, old.x, s),
    }
    wider.append(both["ball 2"].radius / both["ball 1"].radius)
    assert all(
        np.linalg.norm(best.x - ball.center) <= ball.radius * (1.0 + 1e-9) for ball in both.values()
    )
    figures.balls(ss.cones.FreeSpace(2), both, {"optimum": best.x}, ax=ax, title=name)
    ax.set_facecolor("white")
lowest, highest = (
    choose([limit() for ax in axes for limit in (ax.get_xlim, ax.get_ylim)], axis=0)[end]
    for end, choose in enumerate((np.min, np.max))
)
for ax in axes:
    ax.set(xlim=(lowest, highest), ylim=(lowest, highest))
figures.show(
    "Each panel shows the plane of weights with the same disc, ball 1, and another "
    "ball 2, both around "
    "the solution. The radius of ball 2 divided by the radius of ball 1 is "
    f"{', '.join(f'{ratio:.1f}' for ratio in wider)}, from left to right: for all s "
    "zero, for coins, and "
    "for the best s, whose lens with ball 1 holds the solution."
)

# %% [markdown]
# ## The claims
#
# > **Choice of $\hat s$** (SSS14 equation 25). Among all $s \in \{0,1\}^n$,
# > $\hat s_i = 1\{1 - \frac{C + C_0}{2C_0}\langle z_i, w_0\rangle > 0\}$ maximises $\|m_1 - m_2\|^2 - r_2^2$.
#
# > **Smallest C** (SSS14 Lemma 9). Let $C_{\min} = 1/\max_i (Q\mathbf 1)_i$, $Q_{ij} = \langle z_i, z_j\rangle$. For
# > $0 < C \le C_{\min}$ the dual solution is $\alpha = C\mathbf 1$.
#
# | here | SSS14 | the book |
# |---|---|---|
# | $m_1, r_1$; $m_2, r_2$ | balls 1 and 2 | MGB of $(\tilde w, \alpha_0)$ and of $(\tilde w, s)$ |
# | $\alpha_i \in [0, 1]$ | $\alpha_i / C$ | dual variables |
# | $C, C_0$ | $C, C_{ref}$ | $1/\lambda, 1/\lambda_0$ |
# | $z_s$ | $z_{\hat s}$ | $\sum_i s_i z_i = H(s)$ |
#
# Ball 2 ([`28-midpoint-gap-bound`](28-midpoint-gap-bound.ipynb)) has $m_2 = \frac12(\tilde w + C z_s)$ and
# $r_2^2 = \|m_2\|^2 + C(\tilde\xi - s^\top\mathbf 1)$, $\tilde\xi$ the total hinge loss of $\tilde w$.
#
# <details>
# <summary><b>Symbols</b></summary>
#
# | symbol | what it is |
# |---|---|
# | $P(w;\lambda)$ | $\sum_i \ell(\langle z_i, w\rangle) + \tfrac\lambda2\lVert w\rVert^2$ with $z_i = y_i x_i$, to be minimised; $\lambda = 1/C$, and the papers' objective is $C\,P$ |
# | loss $\ell(u)$ | the hinge, $\max(0, 1-u)$ |
# | cone $K$ | the whole space: nothing to project |
# | $H(\alpha)$ | $\sum_i \alpha_i z_i$ with one $\alpha_i \in [0,1]$ a sample; the papers' dual variables are $a = C\alpha$ |
# | $w(\alpha)$ | $H(\alpha)/\lambda = C\sum_i\alpha_i z_i$; the dual is $D(\alpha;\lambda) = \mathbf 1^\top\alpha - \tfrac1{2\lambda}\lVert H(\alpha)\rVert^2$ |
#
# </details>
#
# ## Derivation
#
# ### Step 1: the criterion is linear in s
#
# In $\|m_1 - m_2\|^2 - r_2^2$ the two $\|m_2\|^2$ cancel, and with them all that is quadratic in $s$:
#
# $$\|m_1 - m_2\|^2 - r_2^2 = \|m_1\|^2 - \langle m_1, \tilde w\rangle - C\tilde\xi
# + C\sum_i s_i\,\big(1 - \langle z_i, m_1\rangle\big) . \tag{1}$$
#
# So every $s_i$ is chosen alone, 1 where the margin at $m_1$ is below 1. With $\tilde w = w_0$ and an exact reference
# $m_1 = \frac{C + C_0}{2C_0} w_0$, and that is the printed equation. Nothing in (1) used it, though: it holds for any
# $\tilde w$ and any center $m_1$. A linear function on the box $[0,1]^n$ has its maximum at a corner, so fractional
# $s$ do not help.

# %%
a1, a2, b1, b2, v1, v2, C, xi, s1, s2 = sp.symbols("a1 a2 b1 b2 v1 v2 C xi s1 s2", real=True)
m1, w_feasible = sp.Matrix([a1, a2]), sp.Matrix([b1, b2])
z1, z2 = sp.Matrix([v1, v2]), sp.Matrix([v2 + 1, 3 * v1])  # two samples in the plane
m2 = (w_feasible + C * (s1 * z1 + s2 * z2)) / 2
r2_square = m2.dot(m2) + C * (xi - s1 - s2)
left = (m1 - m2).dot(m1 - m2) - r2_square
right = (
    m1.dot(m1) - m1.dot(w_feasible) - C * xi + C * (s1 * (1 - z1.dot(m1)) + s2 * (1 - z2.dot(m1)))
)
print("criterion minus (1):", sp.expand(left - right))
assert sp.expand(left - right) == 0

# %% [markdown]
# ### Step 2: with a curved loss it is the dual point
#
# For thresholds $\tau_i$ and the smoothed hinge,
# $r_2^2 = \|m_2\|^2 + C(\tilde\xi - \sum_i (\tau_i s_i - \frac\gamma2 s_i^2))$, and the sum in (1) is that of
# $s_i(\tau_i - \langle z_i, m_1\rangle) - \frac\gamma2 s_i^2$. Its maximum over $[0, 1]$ is the definition of the
# loss through its conjugate, and the maximiser is minus the slope of the loss there:
#
# $$\hat s = \alpha(m_1) .$$
#
# **Fractional where the loss is curved, and (25) when $\gamma = 0$.** In the library, `ss.svm.choose_s`.
#
# ### Step 3: what is being maximised
#
# In the expanded space $(w, \xi)$ ball 2 is one plane: $\xi \ge \sum_i s_i(1 - \langle z_i, w\rangle)$, valid because
# the total loss is the maximum of the right side over all $s$. At the point $m_1$ the plane that is violated most is
# the one with the largest right side, and that is (25). In the space of $w$ the criterion is the *power* of $m_1$:
# positive outside of ball 2, where it is the squared tangent. The two surfaces meet in a disc; its plane is at
# distance
#
# $$\frac{(\|m_1 - m_2\|^2 - r_2^2) + r_1^2}{2\|m_1 - m_2\|} \tag{2}$$
#
# from $m_1$ towards $m_2$: the larger, the smaller the cap of ball 1 that is left. (25) maximises the bracket, not
# the whole quotient, and not the lens; for that the distance of the centers would matter, and nothing would separate
# any more.

# %%
p, q1, q2 = sp.symbols("p q1 q2", positive=True)
zeta = (p**2 + q2**2 - q1**2) / (2 * p)  # from m2 towards m1 to the plane of the disc
assert sp.simplify(p - zeta - (p**2 - q2**2 + q1**2) / (2 * p)) == 0
print(
    "distance from m1 to the plane of the disc minus (2):",
    sp.simplify(p - zeta - (p**2 - q2**2 + q1**2) / (2 * p)),
)

# %% [markdown]
# ## Ten lines of numpy


# %%
def best_s_printed(Z, w0, C0, C):
    """Equation (25)."""
    return (1 - (C + C0) / (2 * C0) * (Z @ w0) > 0).astype(float)


def two_balls(Z, w0, C0, C, S):
    """Centers and squared radii; `S` holds one s a row."""
    loss = np.maximum(1 - Z @ w0, 0).sum()
    m1, r1_square = (C + C0) / (2 * C0) * w0, ((C - C0) / (2 * C0)) ** 2 * (w0 @ w0)
    m2 = (w0 + C * S @ Z) / 2
    return m1, r1_square, m2, (m2**2).sum(axis=1) + C * (loss - S.sum(axis=1))


# %% [markdown]
# ## Does it match?
#
# On 100 machines with 10 samples we try all 1024 corners of the box and 1000 points inside of it. The library's choice
# must be the printed one, and its criterion the largest. The intersection test must make the same choice when it is given
# no $s$.

# %%
rng = np.random.default_rng(34)
corners = np.array(list(itertools.product((0.0, 1.0), repeat=10)))


def small_machine(rng, d=2):
    y = np.where(np.arange(10) % 2, 1, -1)
    return y, rng.standard_normal((10, d)) + 0.6 * y[:, None]


def criterion(m1, m2, square):
    return ((m1 - m2) ** 2).sum(axis=1) - square


# %% tags=["SSS14-D25"]
hits = same = own = 0
for _ in range(100):
    y, X = small_machine(rng)
    Z, terms = y[:, None] * X, ss.Samples(X, y)
    C0 = ss.svm.c_min(terms) * 10.0 ** rng.uniform(0.2, 2.0)
    C = C0 / rng.uniform(0.3, 0.95)
    old = ss.solve(ss.Problem(terms, ss.Hinge()), 1 / C0, rtol=1e-13, tol=1e-12)
    chosen, printed = ss.svm.choose_s(terms, C, old), best_s_printed(Z, old.x, C0, C)
    same += np.array_equal(chosen, printed)
    S = np.vstack([corners, rng.uniform(0, 1, (1000, 10)), chosen])
    m1, _, m2, square = two_balls(Z, old.x, C0, C, S)
    values = criterion(m1, m2, square)
    hits += values[-1] >= values.max() - 1e-9 * np.abs(values).max()
    left_to_it, told = (
        ss.svm.intersection_test(terms, C, old),
        ss.svm.intersection_test(terms, C, old, printed),
    )
    own += np.array_equal(left_to_it.in_L, told.in_L) and np.array_equal(left_to_it.in_R, told.in_R)
print(
    f"equation (25) has the largest criterion in {hits}, the library chooses it in "
    f"{same} of 100 machines,"
)
print(f"and so does its intersection test when it is given no s: {own} of 100")
assert hits == same == own == 100


# %% [markdown]
# With thresholds, the smoothed hinge and any $\tilde w$ the best $s$ may be fractional. It is the dual point of the
# center: a fine grid in each coordinate finds the same maximum over the box. No other $s$ near it has a larger
# criterion, computed with the library's balls.

# %%
def smoothed_machine(rng):
    """Samples with thresholds, a smoothed hinge, a C, the solution for 0.8 C, and any vector."""
    y, X = small_machine(rng, 3)
    tau, loss = rng.uniform(0.7, 1.3, 10), ss.SmoothedHinge(0.5)
    terms = ss.Samples(X, y).with_threshold(tau)
    C = ss.svm.c_min(terms, loss) * 10.0 ** rng.uniform(0.3, 2.0)
    old = ss.solve(ss.Problem(terms, loss), 1 / (0.8 * C), rtol=1e-13, tol=1e-13)
    return y[:, None] * X, tau, terms, loss, C, old, rng.standard_normal(3)


# %% tags=["SSS14-D25"]
grid, fractional, worst = np.linspace(0.0, 1.0, 2001), 0, 0.0
for _ in range(50):
    Z, tau, terms, loss, C, old, feasible = smoothed_machine(rng)
    s = ss.svm.choose_s(terms, C, old, feasible)
    first = ss.svm.ball_1(terms, C, old, feasible)

    def power(s, center=first.center, terms=terms, C=C, feasible=feasible, loss=loss):
        ball = ss.svm.ball_2(terms, C, feasible, s, loss)
        return np.sum((center - ball.center) ** 2) - ball.radius**2

    middle = 0.5 * (feasible + 1.25 * old.x)  # C/C0 is 1.25
    gains = grid[:, None] * (tau - Z @ middle) - loss.gamma / 2 * grid[:, None] ** 2
    worst = max(worst, np.abs(grid[gains.argmax(axis=0)] - s).max())
    fractional += np.any((s > 0) & (s < 1))
    others = [power(np.clip(s + 0.2 * rng.standard_normal(10), 0, 1)) for _ in range(10)]
    assert power(s) >= max(others) - 1e-9 * (1 + abs(power(s)))
print(
    f"dual point and grid differ by {worst:.5f} at most (bound: half a step and rounding, "
    f"{0.5 / 2000 + 1e-5:.5f});"
)
print(f"machines with a fractional s: {fractional} of 50")
assert worst <= 0.5 / 2000 + 1e-5 and fractional > 20

# %% [markdown]
# ## Is it the right thing to maximise?
#
# The criterion stands in for what one wants, a small lens; the paper says no more of it. In the plane the area of the
# lens is elementary, and with 10 samples all $s$ can be tried.


# %%
def lens_area(m1, r1_square, m2, r2_square):
    """Area of the common part of two discs, for many second discs."""
    r1, r2 = np.sqrt(r1_square), np.sqrt(np.maximum(r2_square, 0.0))
    p = np.maximum(np.linalg.norm(m1 - m2, axis=1), 1e-300)
    one, two = (p**2 + r1**2 - r2**2) / (2 * p), (p**2 + r2**2 - r1**2) / (2 * p)

    def segment(r, x):
        x = np.clip(x / np.maximum(r, 1e-300), -1, 1)
        return r**2 * (np.arccos(x) - x * np.sqrt(1 - x**2))

    return np.where(
        p <= abs(r1 - r2), np.pi * np.minimum(r1, r2) ** 2, segment(r1, one) + segment(r2, two)
    )


# %%
def lenses(rng):
    """Areas of the lens: smallest over all s, with equation (25), with (25) aimed again, and the
    rank of (25); None without a lens."""
    y, X = small_machine(rng)
    Z, terms = y[:, None] * X, ss.Samples(X, y)
    C0 = ss.svm.c_min(terms) * 10.0 ** rng.uniform(0.2, 2.0)
    C = C0 / rng.uniform(0.3, 0.95)
    old = ss.solve(ss.Problem(terms, ss.Hinge()), 1 / C0, tol=1e-6, rtol=1e-13)
    areas = lens_area(*two_balls(Z, old.x, C0, C, corners))
    s = best_s_printed(Z, old.x, C0, C)
    m1, r1_square, m2, r2_square = two_balls(Z, old.x, C0, C, s[None])
    area = lens_area(m1, r1_square, m2, r2_square)[0]
    p = np.linalg.norm(m1 - m2)
    # a point, or concentric: nothing to compare
    if areas.min() < 1e-6 * np.pi * r1_square or p < 1e-9:
        return None
    psi = m2[0] + (p**2 + r2_square[0] - r1_square) / (2 * p) * (m1 - m2[0]) / p
    second = (1 - Z @ psi > 0).astype(float)
    better = min(area, lens_area(*two_balls(Z, old.x, C0, C, second[None]))[0])
    return areas.min(), area, better, np.mean(areas < area * (1 - 1e-9))


# %%
rng = np.random.default_rng(25)
rows = [row for row in (lenses(rng) for _ in range(200)) if row is not None]
smallest, of_25, of_both, ranks = np.array(rows).T
ratios, again = of_25 / smallest, of_both / smallest
print("machines:", len(ratios))
for label, values in {"equation (25)": ratios, "aimed again (below)": again}.items():
    line = f"median {np.median(values):.2f}, upper decile {np.quantile(values, 0.9):.1f}"
    print(f"area of the lens over the smallest possible, {label:20} {line}")
best, top = np.mean(ratios < 1 + 1e-9), np.mean(np.array(ranks) < 0.05)
print(
    f"(25) is the best of all s in {best:.0%} of the machines, among the best 5 % of "
    f"all s in {top:.0%}"
)
assert np.mean(ratios > 1.01) > 0.05

# %% [markdown]
# So (25) is good, and there is room above it.
#
# ## Aim again
#
# Step 3 says what (25) is: the deepest cut *at the point $m_1$*. After the cut the solution is known to be in the
# lens, and $m_1$ is not its middle any more; the center $\psi$ of the disc is. So choose **the deepest cut at
# $\psi$**: $s' = \alpha(\psi)$. That is how cutting-plane methods go on, and it costs what the first cut costs, one
# product with the data for the margins at $\psi$ and one for $z_{s'}$. Every $s$ is valid, so both tests may be used,
# one after the other.
#
# Where does it end? All planes together say $\xi \ge$ total loss, so that the limit of all cuts is
#
# $$\big\{w : \langle w, w - \tilde w\rangle + C\big(\xi(w) - \tilde\xi\big) \le 0\big\}, \qquad
# \xi(w) = \sum_i \max(0, 1 - \langle z_i, w\rangle),$$
#
# which is the first optimality condition, with nothing given away. The smallest ball 2 over all $s$ is a quadratic program, a
# support vector machine again, so there is a price at the end. (It need not be the smallest ball around this set.)


# %%
def lens_center(ball1, ball2):
    """Center of the disc in which the surfaces of two balls meet."""
    phi = ball1.center - ball2.center
    p = np.linalg.norm(phi)
    return (
        ball2.center + (p**2 + ball2.radius**2 - ball1.radius**2) / (2 * p) * phi / p
        if p > 0
        else ball1.center
    )


def aimed(prob, C, old, times):
    """What ball 1 with `times` second balls decides, each aimed at the last lens."""
    first = ss.svm.ball_1(prob.terms, C, old)
    target, found, rates = first.center, ss.rules.sphere(prob, first), []
    for _ in range(times):
        second = ss.svm.ball_2(prob.terms, C, old.x, prob.alpha(target))
        found = found | ss.rules.intersection(prob, first, second)
        target = lens_center(first, second)
        rates.append(found.rate)
    return found, rates


# %% [markdown]
# On breast-cancer with every reference from $0.3\,C$ to $0.98\,C$: the choices $s = 0$ (no information: the ball over
# the segment from 0 to $\tilde w$, enlarged by the loss), $s = 1$, coins, the categories at the reference itself
# $1\{\langle z_i, w_0\rangle < 1\}$, equation (25), and (25) aimed again once and four times. Every decision is held
# against the solution.

# %%
labels = ("BT1", "s = 0", "s = 1", "coins", "categories at w0", "IT", "aimed again",
          "four times again")


def eight_tests(old, C, rng):
    """The tests of the labels, in their order."""
    n = len(cancer)
    guesses = (
        np.zeros(n),
        np.ones(n),
        rng.integers(0, 2, n).astype(float),
        (cancer.terms.margins(old.x) < 1).astype(float),
    )
    tests = [ss.svm.ball_test_1(cancer.terms, C, old)]
    tests += [ss.svm.intersection_test(cancer.terms, C, old, s) for s in (*guesses, None)]
    tests += [aimed(cancer, C, old, times)[0] for times in (2, 5)]
    return tests


# %% tags=["SSS14-D25"]
X, y = datasets.load("breast-cancer", return_X_y=True)
cancer = ss.Problem(ss.Samples(X, y), ss.Hinge())
c_min = ss.svm.c_min(cancer.terms)
C = 1e4 * c_min
star = ss.solve(cancer, 1 / C, tol=1e-6, rtol=1e-11)
margin, room = cancer.terms.margins(star.x), star.eps * cancer.terms.norms
shares, rng = np.linspace(0.3, 0.98, 35), np.random.default_rng(0)
curves = {label: [] for label in labels}
for share in shares:
    old = ss.solve(cancer, 1 / (share * C), tol=1e-6, rtol=1e-10)
    for label, found in zip(labels, eight_tests(old, C, rng), strict=True):
        assert np.all((margin + room)[found.in_R] > 1) and np.all((margin - room)[found.in_L] < 1)
        assert np.all(star.alpha[found.in_R] < 1e-3) and np.all(star.alpha[found.in_L] > 1 - 1e-3)
        curves[label].append(found.rate)

# %% tags=["nbval-ignore-output"]
title, axis = (
    "breast-cancer, $C = 10^4 C_{min}$",
    {"xlabel": "$C_{ref}/C$", "ylabel": "share of samples screened"},
)
figures.lines(curves, shares, title=title, legend="right", marks="apart", **axis)
figures.show(
    "Curves show the share of samples screened by the intersection test against "
    "C_ref over C, one for "
    "each choice of s; marks show curves that lie over each other. Means: "
    f"{figures.listed(curves)}."
)

# %% tags=["SSS14-D25", "nbval-ignore-output"]
mean = {label: np.mean(values) for label, values in curves.items()}
for label, value in mean.items():
    print(f"{label:20} {value:.2f}")
assert mean["IT"] > mean["BT1"] + 0.01 and mean["aimed again"] > mean["IT"] + 0.05
assert all(mean[label] < mean["IT"] for label in ("s = 0", "s = 1", "coins"))

# %% [markdown]
# Bad choices fall back to BT1, never below it, and never to anything false. The categories of $w_0$ itself are sometimes
# better than (25), sometimes worse. **Aiming once more is the largest step of all**; a third and fourth time add little
# here, more on digits. Four data sets, references at $0.8\,C$ and $0.9\,C$:

# %% tags=["nbval-ignore-output"]
print(f"{'':16}{'C/C_min':>8}{'C_ref/C':>9}{'BT1':>7}{'IT':>7}{'again':>7}{'4 more':>8}")
gains = []
for name in ("breast-cancer", "digits", "wine", "iris"):
    X_, y_ = datasets.load(name, return_X_y=True)
    positive = {"breast-cancer": y_ > 0, "digits": y_ % 2 == 1}.get(name, y_ == y_.max())
    two = np.where(positive, 1, -1)
    prob = ss.Problem(ss.Samples(X_, two), ss.Hinge())
    for factor, share in ((100, 0.8), (10_000, 0.8), (10_000, 0.9)):
        C = factor * ss.svm.c_min(prob.terms)
        old = ss.solve(prob, 1 / (share * C), tol=1e-6, rtol=1e-10)
        one, rates = ss.svm.ball_test_1(prob.terms, C, old).rate, aimed(prob, C, old, 5)[1]
        gains.append((rates[0] - one, rates[1] - rates[0]))
        print(
            f"{name:16}{factor:8}{share:9}{one:7.2f}{rates[0]:7.2f}{rates[1]:7.2f}{rates[4]:8.2f}"
        )
gains = np.array(gains)
print(
    f"mean gain of IT over BT1: {gains[:, 0].mean():.2f};  of aiming again over IT: "
    f"{gains[:, 1].mean():.2f}"
)
assert np.all(gains >= 0)


# %% [markdown]
# ## The smallest C
#
# $\alpha = C\mathbf 1$ is optimal (all samples are in L or at the kink) if no margin of $w = C\sum_j z_j$ is above
# 1: $C\,(Q\mathbf 1)_i \le 1$ for all $i$. That is the lemma, if the maximum is not negative, which the paper infers from
#
# $$\frac1n\sum_i (Q\mathbf 1)_i = \frac1n \Big\|\sum_j z_j\Big\|^2 \ge 0 . \tag{3}$$
#
# If the maximum is positive, so is $C_{\min}$. If it is 0, then so is the mean, hence $\sum_j z_j = 0$: all margins of
# $C\sum_j z_j = 0$ are $0 < 1$ for every $C$, the machine learns nothing, ever, and $1/0 = \infty$ is what $C_{\min}$ has
# to be. The lemma holds for all data.
#
# *The* solution? Let $\alpha = C\mathbf 1 - \delta$ be another one, $\delta \ge 0$. The optimal $w$ is unique, so
# $\sum_i \delta_i z_i = 0$; the dual values agree, so $\mathbf 1^\top\delta = 0$; hence $\delta = 0$.
#
# The same with thresholds and the smoothed hinge, where L begins at $\tau_i - \gamma$:
# $C_{\min} = 1/\max_i (Q\mathbf 1)_i/(\tau_i - \gamma)$.

# %%
def random_machine(number, rng):
    """Random samples, their rows y x, a loss, thresholds, and C_min by the formula; row sums of
    Q checked."""
    n, d = int(rng.integers(2, 40)), int(rng.integers(1, 6))
    y = np.where(np.arange(n) % 2, 1, -1)
    X = rng.standard_normal((n, d)) + rng.uniform(0, 1) * y[:, None]
    gamma, tau = (0.0, 0.3)[number % 2], 1.0 if number % 4 < 2 else rng.uniform(0.8, 1.2, n)
    Z, terms, loss = y[:, None] * X, ss.Samples(X, y).with_threshold(tau), ss.SmoothedHinge(gamma)
    row_sums, total = Z @ Z.sum(axis=0), Z.sum(axis=0)
    assert row_sums.max() >= row_sums.mean() > 0 and np.isclose(row_sums.mean(), total @ total / n)
    c_min = 1 / (row_sums / (tau - gamma)).max()
    return Z, terms, loss, tau, c_min


def closed_form(prob, Z, C, tau, n):
    """Whether solution_below_c_min gives C sum z, with a gap of 0 and all margins in the linear
    part."""
    total, loss = Z.sum(axis=0), prob.loss
    closed = ss.svm.solution_below_c_min(prob.terms, C, loss)
    gap = prob.primal(closed.w, 1 / C) - prob.dual(closed.alpha, 1 / C)
    assert closed.C == C
    assert closed.loss == loss
    assert np.all(closed.alpha == 1)
    assert np.allclose(closed.w, C * total, rtol=1e-12)
    return gap <= 1e-12 * n and np.all(Z @ closed.w <= (tau - loss.gamma) * (1 + 1e-12))


# %% tags=["SSS14-L9"]
rng = np.random.default_rng(9)
count = dict.fromkeys(("C_min as by the formula", "solver finds C sum z", "gap 0", "gap 1 % beyond",
                       "beyond refused"), 0)
for number in range(200):
    Z, terms, loss, tau, c_min = random_machine(number, rng)
    n, total, prob = len(Z), Z.sum(axis=0), ss.Problem(terms, loss)
    count["C_min as by the formula"] += abs(ss.svm.c_min(terms, loss) / c_min - 1) < 1e-12
    solved, exact = [], []
    for C in (0.3 * c_min, 0.999999 * c_min, ss.svm.c_min(terms, loss)):
        at = ss.solve(prob, 1 / C, rtol=1e-13, tol=1e-14)
        solved.append(np.linalg.norm(at.x - C * total) < 1e-5 * np.linalg.norm(C * total))
        exact.append(closed_form(prob, Z, C, tau, n))
    count["solver finds C sum z"] += all(solved)
    count["gap 0"] += all(exact)
    C = 1.01 * c_min  # beyond it, alpha = 1 is not optimal any more
    gap = prob.primal(C * total, 1 / C) - prob.dual(np.ones(n), 1 / C)
    count["gap 1 % beyond"] += gap > 1e-9 * n
    try:
        ss.svm.solution_below_c_min(terms, C, loss)
    except ValueError:
        count["beyond refused"] += 1
print(", ".join(f"{name}: {value}" for name, value in count.items()), "of 200")
assert set(count.values()) == {200}

# %% [markdown]
# With each sample once in each class the vectors $z_i$ sum to 0, and so does the solution for every $C$:

# %% tags=["SSS14-L9"]
# each sample once in each class: sum z = 0
X = np.array([[1.0, 2.0], [1.0, 2.0], [-0.5, 1.0], [-0.5, 1.0]])
terms, Z = ss.Samples(X, [1, -1, 1, -1]), X * [[1], [-1], [1], [-1]]
with np.errstate(divide="ignore"):
    print("sum z = 0: printed C_min", 1 / np.max(Z @ Z.T @ np.ones(4)), "  library",
          ss.svm.c_min(terms))
assert ss.svm.c_min(terms) == np.inf
for C in (1.0, 1e6):
    closed, prob = ss.svm.solution_below_c_min(terms, C), ss.Problem(terms, ss.Hinge())
    gap = prob.primal(closed.w, 1 / C) - prob.dual(closed.alpha, 1 / C)
    print(f"C = {C:g}: w = {closed.w}, alpha = {closed.alpha}, duality gap {gap:g}")
    assert np.all(closed.w == 0) and np.all(closed.alpha == 1) and gap == 0.0

# %% [markdown]
# ### In floating point
#
# Decimal data in one dimension whose sum is zero on paper: as stored, the sum is not zero, (3) holds and the maximum is
# positive; computed it may be 0 all the same.

# %%
for z in ((0.1, 0.2, -0.3), (0.1, 1.5, -1.6)):
    computed = max(sum(u * v for v in z) for u in z)
    exact = max(Fraction(u) * sum(map(Fraction, z)) for u in z)
    print(
        f"{z}: largest row sum {float(exact):.1e} as stored, {computed:.1e} as computed "
        "(bound of both 1e-15)"
    )
    assert 0 < exact < 1e-15 and abs(computed) < 1e-15


# %% [markdown]
# ## Where references come from
#
# Three sources: $C_{\min}$, for nothing; the last solution of a path; a solution for a *larger* $C$, if there is one
# from elsewhere. The printed tests of section IV speak of $C_{ref} < C$; ball 1 holds on both sides, with
# $r_1 = \frac{|C - C_0|}{2C_0}\|w_0\|$.

# %%
def three_tests(C, star, shares):
    """Share screened from each reference by BT1, IT and IT aimed again; every decision is held
    against the solution."""
    margin, room = cancer.terms.margins(star.x), star.eps * cancer.terms.norms
    curves = {"BT1": [], "IT": [], "aimed again": []}
    for share in shares:
        old = ss.solve(cancer, 1 / (share * C), tol=1e-6, rtol=1e-10)
        tests = (
            ss.svm.ball_test_1(cancer.terms, C, old),
            ss.svm.intersection_test(cancer.terms, C, old),
            aimed(cancer, C, old, 2)[0],
        )
        for name, found in zip(curves, tests, strict=True):
            assert np.all((margin + room)[found.in_R] > 1)
            assert np.all((margin - room)[found.in_L] < 1)
            assert np.all(star.alpha[found.in_R] < 1e-3)
            assert np.all(star.alpha[found.in_L] > 1 - 1e-3)
            curves[name].append(found.rate)
    return curves


# %% tags=["nbval-ignore-output"]
figure, axes = figures.panels(2, height=3.4)
means = []
for ax, factor in zip(axes, (100, 10_000), strict=True):
    C = factor * ss.svm.c_min(cancer.terms)
    star = ss.solve(cancer, 1 / C, tol=1e-6, rtol=1e-11)
    shares = np.concatenate([np.linspace(0.3, 0.98, 18), np.linspace(1.02, 2.0, 18)])
    curves = three_tests(C, star, shares)
    means.append(figures.listed(curves))
    figures.lines(curves, shares, ax=ax, title=f"breast-cancer, C = {factor} $C_{{min}}$", **axis)
    low, high = (np.interp(value, shares, curves["IT"]) for value in (0.8, 1.25))
    print(f"C = {factor} C_min, IT: {low:.2f} from C_ref = 0.8 C, {high:.2f} from C_ref = 1.25 C")
figures.show(
    "Curves show the share of samples screened against C_ref over C, below and above "
    "1, a panel for each "
    f"C. Means: {'. '.join(means)}."
)

# %% [markdown]
# The rate falls on both sides as the reference moves away, from above more slowly: $r_1/\|w_0\| = \frac12|C/C_0 - 1|$
# is $0.125$ for $C_0 = 0.8\,C$ and $0.1$ for $1.25\,C$, and never more than $\frac12$ from above. The reference that
# costs nothing, at $C_{\min}$, serves for a factor of two or so:

# %% tags=["nbval-ignore-output"]
for factor in (1.05, 1.1, 1.25, 1.5, 2.0, 4.0):
    C = factor * ss.svm.c_min(cancer.terms)
    start = ss.svm.solution_below_c_min(cancer.terms, ss.svm.c_min(cancer.terms))
    found = ss.svm.intersection_test(cancer.terms, C, start)
    print(f"C = {factor:4} C_min, reference at C_min: {found.rate:.2f} decided")

# %% [markdown]
# ## Exercise
#
# $\hat s$ depends on $C$. Can $\|m_1 - m_2\|^2 - r_2^2$ be negative at $\hat s$, and what is the test worth then?
#
# <details>
# <summary><b>Solution</b></summary>
#
# Put $\hat s$ into (1): the sum is the total loss at $m_1$, so the criterion is
# $\langle m_1, m_1 - \tilde w\rangle + C(\xi(m_1) - \tilde\xi)$, the left side of the limit region above, at $m_1$.
# Negative: $m_1$ itself satisfies all planes, and no $s$ cuts the center off. That happens in one of ten machines below. The test is still valid and may still cut, though not beyond the center. The identity is checked for every
# machine.
#
# </details>

# %%
rng = np.random.default_rng(1)
negative = 0
for _ in range(300):
    y, X = small_machine(rng)
    Z, terms = y[:, None] * X, ss.Samples(X, y)
    C0 = ss.svm.c_min(terms) * 10.0 ** rng.uniform(0.2, 2.0)
    C = C0 / rng.uniform(0.3, 0.95)
    w0 = ss.solve(ss.Problem(terms, ss.Hinge()), 1 / C0, tol=1e-6, rtol=1e-12).x
    m1, _, m2, square = two_balls(Z, w0, C0, C, best_s_printed(Z, w0, C0, C)[None])
    value = criterion(m1, m2, square)[0]
    by_loss = m1 @ (m1 - w0) + C * (
        np.maximum(1 - Z @ m1, 0).sum() - np.maximum(1 - Z @ w0, 0).sum()
    )
    assert abs(value - by_loss) <= 1e-9 * (1 + abs(value))
    negative += value < -1e-9
print(f"criterion negative in {negative} of 300")

# %% [markdown]
# ## Fine print
#
# * **Ties.** Where the margin at $m_1$ is exactly 1 either value of $s_i$ is a maximiser.
# * **Along a path** `ss.path(..., screening=("MGB&BT2",))` builds both balls from the last solution. A second aim is
#   not part of it: write the loop above, all parts of which are public.
# * **Rounding.** $\hat s$ is chosen in plain floating point, a wrong choice costs rate and not safety. So does
#   $C_{\min}$: the reference it gives is treated like any other, by its gap.
# * **Two misprints.** The sentence before (25) writes the intersection of the balls as a union, and the proof of Lemma 9
#   $f(x_i)$ for $y_i f(x_i)$; nothing depends on either.
#
# ## References
#
# * SSS14: Ogawa, Suzuki, Suzumura, Takeuchi, *Safe Sample Screening for Support Vector Machines*, arXiv:1401.6740,
#   2014: sections IV-A to IV-C, equation (25), Lemma 9 with its proof in appendix A.
# * Cutting planes at centers: Levin, *On an algorithm for the minimization of convex functions*, Soviet Mathematics
#   Doklady 6, 1965.
