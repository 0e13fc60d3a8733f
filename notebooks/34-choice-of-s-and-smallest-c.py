# %% [markdown]
# # The choice of s, and the smallest C
#
# The intersection test needs a second ball and a reference. The second ball allows any $\hat s \in \{0, 1\}^n$, and the
# reference is a solution for some other $C$. SSS14 gives both in a few lines: equation (25) chooses $\hat s$, and Lemma 9
# gives a reference without a solve.
#
# At the end you will have seen that
#
# * equation (25) maximises a sum over samples, each summand separately, and the maximiser is **the dual point at the center
#   of ball 1**. The statement about the dual point needs no hinge and no particular $\tilde w$;
# * equation (25) is the *deepest cut at this center*: each $s$ is one plane of the expanded space, and (25) finds the
#   plane that $m_1$ violates most;
# * a bad $s$ is safe, but decides few samples. There is also a better $s$ than (25): the dual point at the center of
#   the lens that (25) leaves. It decides more samples of breast-cancer, and costs one more pair of products with the data;
# * Lemma 9 is true for all data, with $1/0$ read as $\infty$. This value is right if the sum of all $z_i$ is
#   zero;
# * the reference may be the solution for a smaller or for a larger $C$.

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
# Each panel is the plane of weights of forty samples. Ball 1 comes from the solution for a smaller $C_0$ and is the same in
# all panels. Every choice of $s$, with one 0 or 1 for each sample, gives another ball 2. Every ball 2 contains the solution,
# the star. On the left all $s_i$ are 0, and in the middle they are random. In both cases ball 2 contains ball 1, so it
# decides nothing more. On the right is the $\hat s$ of equation (25). Its ball 2 cuts off more than half of ball 1. The
# solution lies in the lens, the small overlap of the two balls.

# %%
forty = np.random.default_rng(7).standard_normal((40, 2))
sides = np.where(np.arange(40) % 2, 1, -1)
forty += 1.1 * sides[:, None] * [1.0, 0.6]
machine = ss.Problem(ss.Samples(forty, sides), ss.Hinge())
C_old = 0.1
C_new = 0.2
old, best = (ss.solve(machine, 1.0 / C, tol=0.0, rtol=1e-12) for C in (C_old, C_new))
chosen = {
    "all $s_i = 0$": np.zeros(40),
    "coins": np.random.default_rng(0).integers(0, 2, 40).astype(float),
    r"$\hat s$ of equation (25)": ss.svm.choose_s(machine.terms, C_new, ss.svm.reference(old)),
}

# %%
wider = []
figure, axes = figures.panels(3, width=10.4, height=3.9)
for ax, (name, s) in zip(axes, chosen.items(), strict=True):
    first = ss.svm.ball_1(machine.terms, C_new, ss.svm.reference(old))
    second = ss.svm.ball_2(machine.terms, C_new, old.x, s)
    wider.append(second.radius / first.radius)
    for ball in (first, second):
        assert np.linalg.norm(best.x - ball.center) <= ball.radius * (1.0 + 1e-9)
    both = {"ball 1": first, "ball 2": second}
    figures.balls(ss.cones.FreeSpace(2), both, {"optimum": best.x}, ax=ax, title=name)
    ax.set_facecolor("white")
limits = np.array([(*ax.get_xlim(), *ax.get_ylim()) for ax in axes])
for ax in axes:
    ax.set(xlim=(limits.min(), limits.max()), ylim=(limits.min(), limits.max()))
ratios = ", ".join(f"{ratio:.1f}" for ratio in wider)
figures.show(
    "Each panel shows the plane of weights, the same disc as ball 1, and another disc as ball 2. "
    "Both discs contain the solution. From left to right, s is zero for all samples, random, and "
    f"the best s. The radius of ball 2 divided by the radius of ball 1 is {ratios}."
)

# %% [markdown]
# ## The claims
#
# > **Choice of $\hat s$** (SSS14 equation 25). Among all $s \in \{0,1\}^n$,
# > $\hat s_i = 1\{1 - \frac{C + C_0}{2C_0}\langle z_i, w_0\rangle > 0\}$ maximises $\|m_1 - m_2\|^2 - r_2^2$.
#
# > **Smallest C** (SSS14 Lemma 9). Let $C_{\min} = 1/\max_i (Q\mathbf 1)_i$ with $Q_{ij} = \langle z_i, z_j\rangle$. For
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
# $r_2^2 = \|m_2\|^2 + C(\tilde\xi - s^\top\mathbf 1)$, where $\tilde\xi$ is the total hinge loss of $\tilde w$.
#
# <details>
# <summary><b>Symbols</b></summary>
#
# | symbol | what it is |
# |---|---|
# | $P(w;\lambda)$ | $\sum_i \ell(\langle z_i, w\rangle) + \tfrac\lambda2\lVert w\rVert^2$ with $z_i = y_i x_i$, to be minimised; $\lambda = 1/C$, and the papers' objective is $C\,P$ |
# | loss $\ell(u)$ | the hinge, $\max(0, 1-u)$ |
# | cone $K$ | the whole space, so nothing is projected |
# | $H(\alpha)$ | $\sum_i \alpha_i z_i$ with one $\alpha_i \in [0,1]$ for each sample; the papers' dual variables are $a = C\alpha$ |
# | $w(\alpha)$ | $H(\alpha)/\lambda = C\sum_i\alpha_i z_i$; the dual is $D(\alpha;\lambda) = \mathbf 1^\top\alpha - \tfrac1{2\lambda}\lVert H(\alpha)\rVert^2$ |
#
# </details>
#
# ## Derivation
#
# ### Step 1: the criterion is linear in s
#
# In $\|m_1 - m_2\|^2 - r_2^2$ the two $\|m_2\|^2$ cancel, and with them every quadratic term in $s$:
#
# $$\|m_1 - m_2\|^2 - r_2^2 = \|m_1\|^2 - \langle m_1, \tilde w\rangle - C\tilde\xi
# + C\sum_i s_i\,\big(1 - \langle z_i, m_1\rangle\big) . \tag{1}$$
#
# So each $s_i$ is chosen separately: it is 1 where the margin at $m_1$ is below 1. With $\tilde w = w_0$ and an exact
# reference, $m_1 = \frac{C + C_0}{2C_0} w_0$, which gives the printed equation. But (1) is true for any
# $\tilde w$ and any center $m_1$. A linear function on the box $[0,1]^n$ has a maximum at a corner, so fractional
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
# $r_2^2 = \|m_2\|^2 + C(\tilde\xi - \sum_i (\tau_i s_i - \frac\gamma2 s_i^2))$, and the summands in (1) are
# $s_i(\tau_i - \langle z_i, m_1\rangle) - \frac\gamma2 s_i^2$. The maximum of a summand over $[0, 1]$ is the loss at $m_1$,
# written through its conjugate. The maximiser is minus the slope of the loss at $m_1$:
#
# $$\hat s = \alpha(m_1) .$$
#
# **This $\hat s$ is fractional where the loss is curved, and it is (25) when $\gamma = 0$.** The library computes it in `ss.svm.choose_s`.
#
# ### Step 3: what the criterion measures
#
# In the expanded space $(w, \xi)$ ball 2 is one plane: $\xi \ge \sum_i s_i(1 - \langle z_i, w\rangle)$. The plane is valid
# because the total loss is the maximum of the right side over all $s$. The point $m_1$ violates the plane with the largest
# right side most, and (25) chooses this plane. In the space of $w$ the criterion is the *power* of $m_1$ with respect to
# ball 2. Outside ball 2 it is positive, the squared length of a tangent. The two surfaces meet in a sphere that bounds a
# disc. The plane of the disc is at distance
#
# $$\frac{(\|m_1 - m_2\|^2 - r_2^2) + r_1^2}{2\|m_1 - m_2\|} \tag{2}$$
#
# from $m_1$ towards $m_2$. A larger distance leaves a smaller cap of ball 1. Equation (25) maximises the bracket. It does
# not maximise the whole quotient, and it does not minimise the lens. The quotient and the lens also depend on the
# distance of the centers, so neither separates into samples.

# %%
p, q1, q2 = sp.symbols("p q1 q2", positive=True)
zeta = (p**2 + q2**2 - q1**2) / (2 * p)  # from m2 towards m1 to the plane of the disc
difference = sp.simplify(p - zeta - (p**2 - q2**2 + q1**2) / (2 * p))
print("distance from m1 to the plane of the disc minus (2):", difference)
assert difference == 0

# %% [markdown]
# ## Ten lines of numpy


# %%
def best_s_printed(Z, w0, C0, C):
    """Return the s of equation (25)."""
    return (1 - (C + C0) / (2 * C0) * (Z @ w0) > 0).astype(float)


def two_balls(Z, w0, C0, C, S):
    """Return centers and squared radii; each row of `S` is one s."""
    loss = np.maximum(1 - Z @ w0, 0).sum()
    m1, r1_square = (C + C0) / (2 * C0) * w0, ((C - C0) / (2 * C0)) ** 2 * (w0 @ w0)
    m2 = (w0 + C * S @ Z) / 2
    return m1, r1_square, m2, (m2**2).sum(axis=1) + C * (loss - S.sum(axis=1))


# %% [markdown]
# ## Does it match?
#
# The cell below draws 100 machines with 10 samples, and evaluates the criterion at all 1024 corners of the box and at 1000
# points inside it. The library must choose the printed $\hat s$, with the largest criterion. Without a given $s$ the
# intersection test must choose the same $\hat s$.

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
    default = ss.svm.intersection_test(terms, C, old)
    given = ss.svm.intersection_test(terms, C, old, printed)
    same_L = np.array_equal(default.in_L, given.in_L)
    own += same_L and np.array_equal(default.in_R, given.in_R)
print(
    f"equation (25) has the largest criterion in {hits} machines, and the library chooses it in "
    f"{same} of 100"
)
print(f"without a given s the intersection test decides as with (25) in {own} of 100")
assert hits == same == own == 100


# %% [markdown]
# With thresholds, the smoothed hinge and any $\tilde w$, the best $s$ may be fractional. It is the dual point of the
# center. A fine grid in each coordinate gives the same maximiser over the box. The criterion, computed from the library's
# balls, is not larger for any nearby $s$.

# %%
def smoothed_machine(rng):
    """Return rows y x, thresholds, samples, loss, a C, the solution for 0.8 C, and a random w~."""
    y, X = small_machine(rng, 3)
    tau, loss = rng.uniform(0.7, 1.3, 10), ss.SmoothedHinge(0.5)
    terms = ss.Samples(X, y).with_threshold(tau)
    C = ss.svm.c_min(terms, loss) * 10.0 ** rng.uniform(0.3, 2.0)
    old = ss.solve(ss.Problem(terms, loss), 1 / (0.8 * C), rtol=1e-13, tol=1e-13)
    return y[:, None] * X, tau, terms, loss, C, old, rng.standard_normal(3)


def power(s, center, terms, C, feasible, loss):
    """Return the power of a center with respect to ball 2 of s."""
    ball = ss.svm.ball_2(terms, C, feasible, s, loss)
    return np.sum((center - ball.center) ** 2) - ball.radius**2


# %% tags=["SSS14-D25"]
grid = np.linspace(0.0, 1.0, 2001)
fractional = 0
worst = 0.0
for _ in range(50):
    Z, tau, terms, loss, C, old, feasible = smoothed_machine(rng)
    s = ss.svm.choose_s(terms, C, old, feasible)
    middle = 0.5 * (feasible + 1.25 * old.x)  # C/C0 is 1.25
    gains = grid[:, None] * (tau - Z @ middle) - loss.gamma / 2 * grid[:, None] ** 2
    worst = max(worst, np.abs(grid[gains.argmax(axis=0)] - s).max())
    fractional += np.any((s > 0) & (s < 1))
    center = ss.svm.ball_1(terms, C, old, feasible).center
    largest = power(s, center, terms, C, feasible, loss)
    for _ in range(10):
        other = np.clip(s + 0.2 * rng.standard_normal(10), 0, 1)
        assert largest >= power(other, center, terms, C, feasible, loss) - 1e-9 * (1 + abs(largest))
bound = 0.5 / 2000 + 1e-5  # half a step of the grid, and rounding
print(f"dual point and grid differ by {worst:.5f} at most (bound {bound:.5f})")
print(f"machines with a fractional s: {fractional} of 50")
assert worst <= bound and fractional > 20

# %% [markdown]
# ## Does the criterion find a small lens?
#
# The aim is a small lens, and the criterion is a substitute for its size. The paper gives no further reason for the
# criterion. In the plane the area of
# the lens has a simple formula, and with 10 samples a program can try all $s$.


# %%
def lens_area(m1, r1_square, m2, r2_square):
    """Return the area of the overlap of two discs, for many second discs."""
    r1, r2 = np.sqrt(r1_square), np.sqrt(np.maximum(r2_square, 0.0))
    p = np.maximum(np.linalg.norm(m1 - m2, axis=1), 1e-300)
    one, two = (p**2 + r1**2 - r2**2) / (2 * p), (p**2 + r2**2 - r1**2) / (2 * p)

    def segment(r, x):
        x = np.clip(x / np.maximum(r, 1e-300), -1, 1)
        return r**2 * (np.arccos(x) - x * np.sqrt(1 - x**2))

    apart = segment(r1, one) + segment(r2, two)
    return np.where(p <= abs(r1 - r2), np.pi * np.minimum(r1, r2) ** 2, apart)


# %%
def lenses(rng):
    """Return areas of the lens: the smallest over all s, the area with (25), and the better of this
    area and the one with (25) aimed again. Then comes the share of s with a smaller area than (25).
    Without a lens the result is None."""
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
    if areas.min() < 1e-6 * np.pi * r1_square or p < 1e-9:
        return None  # the lens is a point, or the balls are concentric
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
print(f"(25) is the best of all s in {best:.0%} of the machines, among the best 5 % in {top:.0%}")
assert np.mean(ratios > 1.01) > 0.05

# %% [markdown]
# So (25) is good, and a better choice is possible.
#
# ## Aim again
#
# By step 3, (25) is the deepest cut *at the point $m_1$*. After the cut the solution is known to be in the
# lens. The center of the lens is no longer $m_1$, but the center $\psi$ of the disc. So choose **the deepest cut at
# $\psi$**: $s' = \alpha(\psi)$. Cutting-plane methods continue in the same way. The second cut costs as much as the first:
# one product with the data for the margins at $\psi$, and one product for $z_{s'}$. Every $s$ is valid, so a program may
# apply both tests, one after the other.
#
# What is the limit of many cuts? All planes together say that $\xi$ is at least the total loss, so the limit is
#
# $$\big\{w : \langle w, w - \tilde w\rangle + C\big(\xi(w) - \tilde\xi\big) \le 0\big\}, \qquad
# \xi(w) = \sum_i \max(0, 1 - \langle z_i, w\rangle),$$
#
# This set is the first optimality condition without any relaxation. The smallest ball 2 over all $s$ is a quadratic
# program, and this program is again a support vector machine. So the smallest ball 2 costs as much as a solve. (The smallest ball 2 need not be the smallest ball around the set.)


# %%
def lens_center(ball1, ball2):
    """Return the center of the disc that the surfaces of two balls have in common."""
    phi = ball1.center - ball2.center
    p = np.linalg.norm(phi)
    if p == 0:
        return ball1.center
    return ball2.center + (p**2 + ball2.radius**2 - ball1.radius**2) / (2 * p) * phi / p


def aimed(prob, C, old, times):
    """Return what ball 1 decides with `times` second balls, each aimed at the last lens; rates."""
    first = ss.svm.ball_1(prob.terms, C, old)
    target = first.center
    found = ss.rules.sphere(prob, first)
    rates = []
    for _ in range(times):
        second = ss.svm.ball_2(prob.terms, C, old.x, prob.alpha(target))
        found = found | ss.rules.intersection(prob, first, second)
        target = lens_center(first, second)
        rates.append(found.rate)
    return found, rates


# %% [markdown]
# The next cells use breast-cancer, with every reference from $0.3\,C$ to $0.98\,C$, and these choices of $s$:
#
# * $s = 0$, which uses no information: its ball has the segment from 0 to $\tilde w$ as a diameter, enlarged by the loss;
# * $s = 1$;
# * random zeros and ones;
# * the categories at the reference, $1\{\langle z_i, w_0\rangle < 1\}$;
# * equation (25);
# * (25) aimed again once, and aimed again four times.
#
# The cells check every decision against the solution.

# %%
labels = ("BT1", "s = 0", "s = 1", "coins", "categories at w0", "IT")
labels += ("aimed again", "four times again")


def eight_tests(old, C, rng):
    """Return the decisions of the tests, in the order of the labels."""
    n = len(cancer)
    coins = rng.integers(0, 2, n).astype(float)
    categories = (cancer.terms.margins(old.x) < 1).astype(float)
    guesses = np.zeros(n), np.ones(n), coins, categories
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
        assert np.all((margin + room)[found.in_R] > 1)
        assert np.all((margin - room)[found.in_L] < 1)
        assert np.all(star.alpha[found.in_R] < 1e-3)
        assert np.all(star.alpha[found.in_L] > 1 - 1e-3)
        curves[label].append(found.rate)

# %% tags=["nbval-ignore-output"]
title = "breast-cancer, $C = 10^4 C_{min}$"
axis = {"xlabel": "$C_{ref}/C$", "ylabel": "share of samples screened"}
figures.lines(curves, shares, title=title, legend="right", marks="apart", **axis)
figures.show(
    "Curves show the share of samples that the intersection test screens against C_ref over C, one "
    "curve for each choice of s. Marks distinguish curves that coincide. The means are "
    f"{figures.listed(curves)}."
)

# %% tags=["SSS14-D25", "nbval-ignore-output"]
mean = {label: np.mean(values) for label, values in curves.items()}
for label, value in mean.items():
    print(f"{label:20} {value:.2f}")
assert mean["IT"] > mean["BT1"] + 0.01 and mean["aimed again"] > mean["IT"] + 0.05
assert all(mean[label] < mean["IT"] for label in ("s = 0", "s = 1", "coins"))

# %% [markdown]
# With a bad choice the intersection test decides as much as BT1 or more, and never decides wrongly. The categories of $w_0$
# are sometimes better than (25), and sometimes worse. **Aiming once more adds more than any other change of $s$.** Further
# aims add little on breast-cancer, and more on digits. The next table has four data sets, with references at $0.8\,C$ and $0.9\,C$:

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
        one = ss.svm.ball_test_1(prob.terms, C, old).rate
        rates = aimed(prob, C, old, 5)[1]
        gains.append((rates[0] - one, rates[1] - rates[0]))
        aims = f"{rates[0]:7.2f}{rates[1]:7.2f}{rates[4]:8.2f}"
        print(f"{name:16}{factor:8}{share:9}{one:7.2f}{aims}")
gains = np.array(gains)
print(f"mean gain of IT over BT1:              {gains[:, 0].mean():.2f}")
print(f"mean gain of one more aim over one IT: {gains[:, 1].mean():.2f}")
assert np.all(gains >= 0)


# %% [markdown]
# ## The smallest C
#
# The dual point $\alpha = C\mathbf 1$ is optimal (all samples are in L or on the kink) if no margin of $w = C\sum_j z_j$
# is above 1: $C\,(Q\mathbf 1)_i \le 1$ for all $i$. This is the lemma if the maximum is not negative. The paper infers that it is not negative from
#
# $$\frac1n\sum_i (Q\mathbf 1)_i = \frac1n \Big\|\sum_j z_j\Big\|^2 \ge 0 . \tag{3}$$
#
# If the maximum is positive, $C_{\min}$ is positive. If the maximum is 0, the mean is 0 too, hence $\sum_j z_j = 0$. Then
# all margins of $C\sum_j z_j = 0$ are $0 < 1$, so $w = 0$ is the solution for every $C$, and $C_{\min} = 1/0 = \infty$ is
# the right value. So the lemma is true for all data.
#
# Is it *the* solution? Let $\alpha = C\mathbf 1 - \delta$ with $\delta \ge 0$ be another one. The optimal $w$ is unique, so
# $\sum_i \delta_i z_i = 0$. The dual values agree, so $\mathbf 1^\top\delta = 0$, hence $\delta = 0$.
#
# With thresholds and the smoothed hinge L begins at $\tau_i - \gamma$, and the same argument gives
# $C_{\min} = 1/\max_i (Q\mathbf 1)_i/(\tau_i - \gamma)$.

# %%
def random_machine(number, rng):
    """Return random samples as rows y x and as terms, a loss, thresholds, and C_min by the formula;
    assert that row sums of Q are as in (3)."""
    n, d = int(rng.integers(2, 40)), int(rng.integers(1, 6))
    y = np.where(np.arange(n) % 2, 1, -1)
    X = rng.standard_normal((n, d)) + rng.uniform(0, 1) * y[:, None]
    gamma = (0.0, 0.3)[number % 2]
    tau = 1.0 if number % 4 < 2 else rng.uniform(0.8, 1.2, n)
    Z, terms, loss = y[:, None] * X, ss.Samples(X, y).with_threshold(tau), ss.SmoothedHinge(gamma)
    row_sums, total = Z @ Z.sum(axis=0), Z.sum(axis=0)
    assert row_sums.max() >= row_sums.mean() > 0 and np.isclose(row_sums.mean(), total @ total / n)
    c_min = 1 / (row_sums / (tau - gamma)).max()
    return Z, terms, loss, tau, c_min


def closed_form(prob, Z, C, tau, n):
    """Assert that solution_below_c_min gives C sum z; return whether its gap is 0 and all margins
    are in the linear region."""
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
names = ["C_min as by the formula", "solver finds C sum z"]
names += ["gap 0", "gap 1 % beyond", "beyond refused"]
count = dict.fromkeys(names, 0)
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
    C = 1.01 * c_min  # alpha = 1 is no longer optimal for this C
    gap = prob.primal(C * total, 1 / C) - prob.dual(np.ones(n), 1 / C)
    count["gap 1 % beyond"] += gap > 1e-9 * n
    try:
        ss.svm.solution_below_c_min(terms, C, loss)
    except ValueError:
        count["beyond refused"] += 1
print(", ".join(f"{name}: {value}" for name, value in count.items()), "of 200")
assert set(count.values()) == {200}

# %% [markdown]
# If the data contain each sample once in each class, the vectors $z_i$ sum to 0, and the solution is 0 for every $C$:

# %% tags=["SSS14-L9"]
X = np.array([[1.0, 2.0], [1.0, 2.0], [-0.5, 1.0], [-0.5, 1.0]])
terms, Z = ss.Samples(X, [1, -1, 1, -1]), X * [[1], [-1], [1], [-1]]
with np.errstate(divide="ignore"):
    printed = 1 / np.max(Z @ Z.T @ np.ones(4))
print("sum z = 0: printed C_min", printed, "  library", ss.svm.c_min(terms))
assert ss.svm.c_min(terms) == np.inf
for C in (1.0, 1e6):
    closed, prob = ss.svm.solution_below_c_min(terms, C), ss.Problem(terms, ss.Hinge())
    gap = prob.primal(closed.w, 1 / C) - prob.dual(closed.alpha, 1 / C)
    print(f"C = {C:g}: w = {closed.w}, alpha = {closed.alpha}, duality gap {gap:g}")
    assert np.all(closed.w == 0) and np.all(closed.alpha == 1) and gap == 0.0

# %% [markdown]
# ### In floating point
#
# The next cell has decimal data in one dimension whose sum is zero. The sum of the stored binary numbers is not zero, so
# by (3) the maximum is positive. The computed maximum may still be 0.

# %%
for z in ((0.1, 0.2, -0.3), (0.1, 1.5, -1.6)):
    computed = max(sum(u * v for v in z) for u in z)
    exact = max(Fraction(u) * sum(map(Fraction, z)) for u in z)
    print(f"{z}: largest row sum {float(exact):.1e} as stored, {computed:.1e} as computed")
    assert 0 < exact < 1e-15 and abs(computed) < 1e-15
print("bound of both: 1e-15")


# %% [markdown]
# ## Where references come from
#
# There are three sources: the solution at $C_{\min}$, which needs no solve; the last solution of a path; and a solution for
# a *larger* $C$, if one is known. Section IV of the paper prints its tests for $C_{ref} < C$. Ball 1 is valid for smaller
# and larger $C_{ref}$, with $r_1 = \frac{|C - C_0|}{2C_0}\|w_0\|$.

# %%
def three_tests(C, star, shares):
    """Return the shares that BT1, IT and IT aimed again screen from each reference; check every
    decision against the solution."""
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
    "Curves show the share of samples screened against C_ref over C, below and above 1. Each panel "
    f"has one C. The means are {', then '.join(means)}."
)

# %% [markdown]
# The rate falls on both sides as the reference moves away, and more slowly for references above $C$. By the formula,
# $r_1/\|w_0\| = \frac12|C/C_0 - 1|$ is $0.125$ for $C_0 = 0.8\,C$ and $0.1$ for $C_0 = 1.25\,C$, and is never more than
# $\frac12$ for $C_0 > C$. The next cell shows how far the reference at $C_{\min}$, which needs no solve, decides samples:

# %% tags=["nbval-ignore-output"]
for factor in (1.05, 1.1, 1.25, 1.5, 2.0, 4.0):
    C = factor * ss.svm.c_min(cancer.terms)
    start = ss.svm.solution_below_c_min(cancer.terms, ss.svm.c_min(cancer.terms))
    found = ss.svm.intersection_test(cancer.terms, C, start)
    print(f"C = {factor:4} C_min, reference at C_min: {found.rate:.2f} decided")

# %% [markdown]
# ## Exercise
#
# $\hat s$ depends on $C$. Can $\|m_1 - m_2\|^2 - r_2^2$ be negative at $\hat s$, and what does the test decide then?
#
# <details>
# <summary><b>Solution</b></summary>
#
# Put $\hat s$ into (1). The sum is the total loss at $m_1$, so the criterion is
# $\langle m_1, m_1 - \tilde w\rangle + C(\xi(m_1) - \tilde\xi)$. This is the left side of the limit set above, at $m_1$.
# If it is negative, $m_1$ satisfies all planes, and no $s$ cuts off the center. The test is still valid and may still cut,
# but not beyond the center. The cell below counts such machines, and checks the identity for every machine.
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
    loss_rise = np.maximum(1 - Z @ m1, 0).sum() - np.maximum(1 - Z @ w0, 0).sum()
    by_loss = m1 @ (m1 - w0) + C * loss_rise
    assert abs(value - by_loss) <= 1e-9 * (1 + abs(value))
    negative += value < -1e-9
print(f"criterion negative in {negative} of 300")

# %% [markdown]
# ## Fine print
#
# * **Ties.** If the margin at $m_1$ is exactly 1, both values of $s_i$ are maximisers.
# * **Along a path** `ss.path(..., screening=("MGB&BT2",))` builds both balls from the last solution. It does not aim
#   again. The loop above does, and all functions in it are public.
# * **Rounding.** The library computes $\hat s$ and $C_{\min}$ in plain floating point. A wrong choice of $\hat s$ costs
#   rate, not safety. The library treats the reference from $C_{\min}$ like any other reference, by its gap.
# * **Two misprints.** The sentence before (25) writes the intersection of the balls as a union. The proof of Lemma 9 writes
#   $f(x_i)$ for $y_i f(x_i)$. No result depends on either misprint.
#
# ## References
#
# * SSS14: Ogawa, Suzuki, Suzumura, Takeuchi, *Safe Sample Screening for Support Vector Machines*, arXiv:1401.6740,
#   2014: sections IV-A to IV-C, equation (25), Lemma 9 with its proof in appendix A.
# * Cutting planes at centers: Levin, *On an algorithm for the minimization of convex functions*, Soviet Mathematics
#   Doklady 6, 1965.
