# %% [markdown]
# # Ball tests 1 and 2 (BT1, BT2)
#
# | symbol | what it is |
# |---|---|
# | $P(w;\lambda)$ | $\sum_i \ell(\langle z_i, w\rangle) + \tfrac\lambda2\lVert w\rVert^2$ with $z_i = y_i x_i$, to be minimised; $\lambda = 1/C$, and the papers' objective is $C\,P$ |
# | loss $\ell(u)$ | the hinge, $\max(0, 1-u)$ |
# | cone $K$ | the whole space: nothing to project |
# | $H(\alpha)$ | $\sum_i \alpha_i z_i$ with one $\alpha_i \in [0,1]$ a sample; the papers' dual variables are $a = C\alpha$ |
# | $w(\alpha)$ | $H(\alpha)/\lambda = C\sum_i\alpha_i z_i$; the dual is $D(\alpha;\lambda) = \mathbf 1^\top\alpha - \tfrac1{2\lambda}\lVert H(\alpha)\rVert^2$ |
#
# `31-ball-tests-and-expanded-space` has three conditions that the solution of a support vector machine satisfies.
# One quadratic and one linear condition are a ball; this notebook makes the two balls of SSS14, computes them, and
# finds out what they are good for, and what has to be minded when they are computed in floating point.
#
# At the end you will have seen that
#
# * both theorems are right: in rational numbers, without tolerance, and with solutions on the very surface; the
#   library's balls are these, hold the exact solutions, and decide no sample that stands on the margin;
# * the radii as written are differences of large numbers, and lose all digits just where the ball would be small;
#   the same radii are sums of non-negative numbers;
# * ball 1 asks for a reference that is optimal, and a program has one that is *nearly* so: with the formula as it
#   stands decisions can then be wrong; ball 2 does not care, and ball 1 need not either;
# * ball 2 hardly screens by itself: the zeros and ones keep it large, and its use is the intersection with ball 1.

# %%
from fractions import Fraction

import matplotlib.pyplot as plt
import numpy as np
import sympy as sp

import safescreen as ss
from safescreen import svm
from safescreen_book import datasets, figures
from safescreen_book.protocols.outside import linear_svc

# %% [markdown]
# ## The claims
#
# Notation of `30-svm-problem`: $\xi(w) = \sum_i \max\{0, 1 - \langle z_i, w\rangle\}$, and $w^\star$ minimises
# $\frac12\|w\|^2 + C\xi(w)$. Let $\tilde w$ be any point and $\tilde\xi = \xi(\tilde w)$.
#
# > **Ball test 1** (SSS14 Theorem 6). Let $w_0$ be the solution for another $C_0$, $\xi_0 = \xi(w_0)$. Then
# > $\|w^\star - m_1\| \le r_1$ with
# > $$m_1 = \tfrac12\big(\tilde w + \tfrac{C}{C_0} w_0\big), \qquad
# > r_1^2 = \|m_1\|^2 - \tfrac{C}{C_0}\|w_0\|^2 + C(\tilde\xi - \xi_0).$$
#
# > **Ball test 2** (SSS14 Theorem 7). Let $s \in \{0,1\}^n$, $z_s = \sum_i s_i z_i$. Then
# > $\|w^\star - m_2\| \le r_2$ with
# > $$m_2 = \tfrac12\big(\tilde w + C z_s\big), \qquad r_2^2 = \|m_2\|^2 + C(\tilde\xi - s^\top 1).$$
#
# | assumption | ball 1 | ball 2 |
# |---|---|---|
# | $\tilde\xi$ is the loss of $\tilde w$, over all samples | yes | yes |
# | $w_0$ is exactly optimal for its $C_0$, of which nothing else is asked | yes | |
# | $0 \le s_i \le 1$ (fractions will do) | | yes |
#
# ## Derivation
#
# ### Step 1: two conditions each
#
# Condition 1 of the previous notebook is quadratic, conditions 2 and 3 are linear in $(w^\star, \xi^\star)$:
#
# $$\tfrac1C\|w^\star\|^2 - \tfrac1C\langle\tilde w, w^\star\rangle - \tilde\xi + \xi^\star \le 0, \tag{1}$$
# $$-\tfrac1{C_0}\langle w_0, w^\star\rangle + \tfrac1{C_0}\|w_0\|^2 + \xi_0 \le \xi^\star, \tag{2}$$
# $$-\langle z_s, w^\star\rangle + s^\top 1 \le \xi^\star. \tag{3}$$
#
# In (1) + (2), and in (1) + (3), the unknown $\xi^\star$ drops out. Times $C$:
#
# $$\|w^\star\|^2 - \langle \tilde w + \tfrac{C}{C_0} w_0,\, w^\star\rangle + \tfrac{C}{C_0}\|w_0\|^2 - C(\tilde\xi - \xi_0) \le 0,$$
# $$\|w^\star\|^2 - \langle \tilde w + C z_s,\, w^\star\rangle - C(\tilde\xi - s^\top 1) \le 0.$$
#
# ### Step 2: complete the squares
#
# These are $\|w^\star - m\|^2 - r^2 \le 0$ with the centers and radii of the theorems. Three coordinates for sympy:

# %%
w, wt, w0, zs = (sp.Matrix(sp.symbols(f"{name}1:4", real=True)) for name in ("w", "t", "r", "z"))
C, C0, xt, x0, ones = sp.symbols("C C_0 xi_t xi_0 k", positive=True)

m1, m2 = (wt + C / C0 * w0) / 2, (wt + C * zs) / 2
r1 = m1.dot(m1) - C / C0 * w0.dot(w0) + C * (xt - x0)  # squared radii as printed
r2 = m2.dot(m2) + C * (xt - ones)
first = w.dot(w) - (wt + C / C0 * w0).dot(w) + C / C0 * w0.dot(w0) - C * (xt - x0)
second = w.dot(w) - (wt + C * zs).dot(w) - C * (xt - ones)
rest = [sp.expand(left - ((w - m).dot(w - m) - r)) for left, m, r in ((first, m1, r1), (second, m2, r2))]
print("left sides minus (|w - m|^2 - r^2):", *rest)
assert rest == [0, 0]

# %% [markdown]
# **These are the theorems.**
#
# ### Step 3: the same radii without cancellation
#
# Write $\|\frac12(a + b)\|^2 = \|\frac12(a - b)\|^2 + \langle a, b\rangle$ and sort:
#
# $$r_1^2 = \tfrac14\big\|\tilde w - \tfrac{C}{C_0} w_0\big\|^2
# + C\Big(\tilde\xi - \xi_0 + \tfrac1{C_0}\langle w_0, \tilde w - w_0\rangle\Big), \tag{4}$$
# $$r_2^2 = \tfrac14\big\|\tilde w - C z_s\big\|^2 + C\sum_i\Big(\max\{0, 1-\tilde u_i\} - s_i (1 - \tilde u_i)\Big),
# \qquad \tilde u_i = \langle z_i, \tilde w\rangle. \tag{5}$$
#
# Every term of (5) is non-negative, sample by sample. The bracket in (4) is non-negative because it is condition
# (2) with the feasible point $\tilde w$ in place of $w^\star$, and at an exact reference it is the sum in (5) for
# $s = \alpha_0$, the dual point of the reference.

# %%
one, two = wt - C / C0 * w0, wt - C * zs
rest = [
    sp.expand(r1 - one.dot(one) / 4 - C * (xt - x0 + w0.dot(wt - w0) / C0)),
    sp.expand(r2 - two.dot(two) / 4 - C * (xt - ones + zs.dot(wt))),
]
print("printed squared radii minus (4) and (5):", *rest)
assert rest == [0, 0]

# %% [markdown]
# Two cases to keep in mind. With $\tilde w = w_0$ the bracket vanishes, $m_1 = \frac{C + C_0}{2C_0} w_0$ and
# $r_1 = \frac{|C - C_0|}{2C_0}\|w_0\|$: STS19's path bound RPB (`14-path-bounds`). And if $s$ picks exactly the samples with
# $\tilde u_i < 1$, the sum in (5) vanishes and $r_2 = \frac12\|\tilde w - C z_s\|$: the gradient bound at $\tilde w$.
#
# ## Ten lines of numpy
#
# The printed formulas. They work on floats and, as written, on arrays of fractions.


# %%
def total_loss(Z, w):
    return np.maximum(0, 1 - Z @ w).sum()


def ball_1(Z, C, w0, C0, w):
    """SSS14 equation 16: center and squared radius."""
    m = (w + C / C0 * w0) / 2
    return m, m @ m - C / C0 * (w0 @ w0) + C * (total_loss(Z, w) - total_loss(Z, w0))


def ball_2(Z, C, s, w):
    """SSS14 Theorem 7: center and squared radius."""
    m = (w + C * (s @ Z)) / 2
    return m, m @ m + C * (total_loss(Z, w) - s.sum())


# %% [markdown]
# ## Proof by fractions
#
# For rational data and $C$ the solution is rational. As in the previous notebook, floating point says which
# samples stand on the step, a linear system gives their dual variables, and the optimality conditions are
# verified exactly. The library meets numbers of double precision only; so the data are multiples of $\frac1{16}$ and $C$ is
# such that $1/C$ is a multiple of $\frac1{64}$, and the library's balls can be held against the exact solution of the very
# problem that it is given.


# %%
def exact_optimum(Z, C):
    """The solution and a dual point in [0, 1]^n, in fractions; proved optimal."""
    signs = np.where(np.arange(len(Z)) % 2, 1.0, -1.0)
    problem = ss.Problem(ss.Samples(Z.astype(float) * signs[:, None], signs), ss.Hinge())
    margins = Z.astype(float) @ ss.solve(problem, float(1 / C), tol=0.0, rtol=1e-10).x
    on_step = np.abs(margins - 1.0) < 1e-5
    alpha = np.array([Fraction(int(v)) for v in (margins < 1.0) & ~on_step])
    if on_step.any():
        E = Z[on_step]
        found = sp.Matrix(E @ E.T).LUsolve(sp.Matrix(1 / C - E @ (Z.T @ alpha)))
        alpha[on_step] = [Fraction(int(v.p), int(v.q)) for v in found]
    w = C * (Z.T @ alpha)
    assert all(0 <= a <= 1 for a in alpha)
    assert all(u == 1 or a == (1 if u < 1 else 0) for u, a in zip(Z @ w, alpha, strict=True))
    return w, alpha


def fractions(values, denominator=16):
    return np.array([Fraction(int(v), denominator) for v in np.ravel(values)]).reshape(np.shape(values))


def exactly(values):
    """The numbers that floats are."""
    return np.array([Fraction(v) for v in np.ravel(values).tolist()]).reshape(np.shape(values))


def nearby(C):
    """A C not above the given one whose 1/C is a multiple of 1/64, and is again what it was when both are rounded."""
    k = int(np.ceil(float(64 / C)))
    while Fraction(1.0 / float(Fraction(64, k))) != Fraction(k, 64):
        k += 1
    return Fraction(64, k)


rng = np.random.default_rng(32)
instances = []
for _ in range(30):
    n, d = int(rng.integers(6, 15)), int(rng.integers(2, 4))
    Z = fractions(rng.integers(-32, 33, (n, d))) + Fraction(1, 2)
    smallest = 1 / max(Z @ Z.sum(axis=0))
    Cs = [nearby(smallest * factor) for factor in (Fraction(1, 2), 2, 3, 30)]
    instances.append((Z, [(C, *exact_optimum(Z, C)) for C in Cs]))


def somewhere(rng, *near):
    """Points to start from: zero, given ones, a multiple of each, and three drawn at random."""
    d = len(near[0])
    yield fractions(np.zeros(d))
    for w in near:
        yield w
        yield w * Fraction(9, 8)
    yield from fractions(rng.integers(-40, 41, (3, d)), 32)


class Tally:
    """What balls of the library do beside the printed ones, on a machine whose solution is exactly known."""

    def __init__(self):
        self.balls = self.surface = self.lost = self.decided = self.on_margin = self.disagree = 0
        self.off = 0.0

    def add(self, Z, w_star, printed, ball, found):
        m, square = printed
        distance = (w_star - m) @ (w_star - m)
        assert distance <= square  # the theorem
        self.balls, self.surface = self.balls + 1, self.surface + (distance == square)
        away, u = w_star - exactly(ball.center), Z @ w_star
        self.lost += away @ away > Fraction(ball.radius) ** 2
        self.on_margin += np.sum(found.in_R & (u <= 1)) + np.sum(found.in_L & (u >= 1))
        self.decided += found.n_R + found.n_L
        middle, reach = (Z @ m).astype(float), float(square) ** 0.5 * np.linalg.norm(Z.astype(float), axis=1)
        clear = np.minimum(abs(middle - reach - 1.0), abs(middle + reach - 1.0)) > 1e-6
        same = (found.in_R == (middle - reach > 1.0)) & (found.in_L == (middle + reach < 1.0))
        self.disagree += np.sum(clear & ~same)
        errors = np.linalg.norm(ball.center - m.astype(float)), abs(ball.radius - float(square) ** 0.5)
        self.off = max(self.off, max(errors) / (1.0 + np.linalg.norm(m.astype(float))))

    def check(self, name):
        assert self.off < 1e-6  # of centers and radii, relative to 1 + |m|
        print(f"{name}: {self.balls} printed balls, in fractions, hold the solution, {self.surface} on their surface")
        print(f"    by the library {self.decided} decisions, {self.on_margin} on the margin or on the wrong side,")
        print(f"    {self.disagree} not as printed, {self.lost} balls without the solution (the bound of each is 0)")
        assert self.on_margin == self.disagree == self.lost == 0


def machine(Z):
    labels = np.where(np.arange(len(Z)) % 2, 1, -1)
    return ss.Samples(Z.astype(float) * labels[:, None], labels)


# %% tags=["SSS14-T6"]
rng, tally = np.random.default_rng(6), Tally()
for Z, solutions in instances:
    terms = machine(Z)
    for C, w_star, _ in solutions:
        for C0, w0, alpha0 in solutions:
            known = svm.Reference(w0.astype(float), alpha0.astype(float), float(C0))
            for w in somewhere(rng, w0, w_star):
                printed, given = ball_1(Z, C, w0, C0, w), (terms, float(C), known, w.astype(float))
                tally.add(Z, w_star, printed, svm.ball_1(*given), svm.ball_test_1(*given))
            m, square = ball_1(Z, C, w0, C0, w0)
            assert square == (C - C0) ** 2 / (4 * C0**2) * (w0 @ w0) and all(m == (C + C0) / (2 * C0) * w0)
            short = svm.ball_1(*given[:3])  # without a point: the reference's own
            assert abs(short.radius - float(square) ** 0.5) <= 1e-6 * (1.0 + short.radius)
            assert np.allclose(short.center, m.astype(float), rtol=1e-12, atol=1e-12)
tally.check("ball 1")
assert tally.surface > 100 and tally.decided > 1000

# %% tags=["SSS14-T7"]
rng, tally, fractional = np.random.default_rng(7), Tally(), Tally()
for Z, solutions in instances:
    terms = machine(Z)
    for C, w_star, alpha in solutions:
        for w in somewhere(rng, w_star):
            by_margin = np.array([Fraction(int(u < 1)) for u in Z @ w])
            ways = [(tally, s) for s in (by_margin, *fractions(rng.integers(0, 2, (3, len(Z))), 1))]
            ways += [(fractional, s) for s in (alpha, *fractions(rng.integers(0, 17, (3, len(Z)))))]
            for into, s in ways:
                given = terms, float(C), w.astype(float), s.astype(float)
                into.add(Z, w_star, ball_2(Z, C, s, w), svm.ball_2(*given), svm.ball_test_2(*given))
            square, gradient = ball_2(Z, C, by_margin, w)[1], w - C * (by_margin @ Z)
            assert square == gradient @ gradient / 4  # the sum in (5) vanishes
tally.check("ball 2")
fractional.check("ball 2, s between 0 and 1")
assert tally.surface > 100 and fractional.decided > 1000

# %% [markdown]
# The comparison is between fractions; there is no tolerance that could hide anything. Solutions on the surface show
# that no smaller radius would do. The library's balls are one: the midpoint gap bound (`28-midpoint-gap-bound`) of $\tilde w$
# and a dual point, which is $s$ for ball 2 and the reference's $\alpha_0$ for ball 1. The radius is computed as in (5), an
# upper bound for every term.
#
# ## Does it match? Breast cancer

# %%
X, y = datasets.load("breast-cancer", return_X_y=True)
samples = ss.Samples(X, y)
problem = ss.Problem(samples, ss.Hinge())
Z = X * y[:, None]
C, C0 = 1.0, 0.8

start = svm.reference(ss.solve(problem, 1.0 / C0, tol=0.0, rtol=1e-12))
s = svm.choose_s(samples, C, start)  # what is best for ball 2 beside ball 1: a later notebook
one, two = svm.ball_1(samples, C, start), svm.ball_2(samples, C, start.w, s)
for name, ball, (m, square) in (
    ("ball 1", one, ball_1(Z, C, start.w, C0, start.w)),
    ("ball 2", two, ball_2(Z, C, s, start.w)),
):
    print(f"{name}: radius {ball.radius:.4f}, by the printed formula {np.sqrt(square):.4f}")
    assert np.linalg.norm(ball.center - m) < 1e-4 and abs(ball.radius / np.sqrt(square) - 1.0) < 1e-4
same = ss.spheres.midpoint_gap_bound(problem, start.w, 1.0 / C, s)
assert np.array_equal(same.center, two.center) and same.radius == two.radius
path = ss.spheres.path_bound(start.w, 1.0 / C0, 1.0 / C)
assert np.linalg.norm(path.center - one.center) < 1e-4 and abs(path.radius / one.radius - 1.0) < 1e-4
print(f"RPB from the same reference: radius {path.radius:.4f}, that of ball 1")

star = ss.solve(problem, 1.0 / C, tol=0.0, rtol=1e-12)
margins, slack = samples.margins(star.x), star.eps * samples.norms
for name, ball in (("ball 1", one), ("ball 2", two)):
    found = ss.rules.sphere(problem, ball)
    assert np.all((margins + slack)[found.in_R] > 1.0) and np.all((margins - slack)[found.in_L] < 1.0)
    assert not star.alpha[found.in_R].any() and np.all(star.alpha[found.in_L] == 1.0)
    away = np.linalg.norm(star.x - ball.center) / ball.radius
    print(
        f"{name}: {found.n_L} in L, {found.n_R} in R of {len(problem)};",
        f"solution at {away:.3f} radii from the center (bound 1)",
    )
    assert away <= 1.0 + star.eps / ball.radius

# %% [markdown]
# Ball 2 decides nothing here, and the solution is almost on its surface. Before asking why, a look at the two.
#
# ## Picture
#
# Forty points of the plane; every sample is a line $\langle z_i, w\rangle = 1$ in the plane of weights, and a
# ball decides it if it misses the line. The dot is the reference $w_0$. Left: a far reference, $C_{\rm ref} =
# C/2$; right: a close one. Ball 1 shrinks to a point with $C_{\rm ref} \to C$, ball 2 does not. But the surface
# of ball 2 runs through the middle of ball 1, near the solution, and takes half of it away.

# %%
rng = np.random.default_rng(7)
labels = np.where(np.arange(40) % 2, 1, -1)
points = rng.standard_normal((40, 2)) + 1.1 * labels[:, None] * [1.0, 0.6]
plane = ss.Samples(points, labels)
small = ss.Problem(plane, ss.Hinge())
optimum = ss.solve(small, 5.0, tol=1e-12).x

figure, axes = figures.panels(2, width=10.5, height=4.2)
for ax, ratio in zip(axes, (0.5, 0.9), strict=True):
    near = svm.reference(ss.solve(small, 5.0 / ratio, tol=1e-12))
    first, second = (
        svm.ball_1(plane, 0.2, near),
        svm.ball_2(plane, 0.2, near.w, svm.choose_s(plane, 0.2, near)),
    )
    both = svm.intersection_test(plane, 0.2, near)
    spheres, marks = {"BT1": first, "BT2": second}, {"optimum": optimum, "": near.w}
    title = rf"$C_{{\rm ref}}/C$ = {ratio}; lines decided by both balls together"
    figures.weight_space(
        points * labels[:, None], spheres, marks, both, ax=ax, title=title, room=0.05
    )
plt.show()

# %% [markdown]
# ## Along the reference
#
# Breast cancer, $C = 1$, references from $C_{\rm ref} = 0.3$ to 0.99. IT is the intersection test (SSS14 Theorem 8,
# `19-two-balls`).

# %%
ratios = np.array([0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.93, 0.96, 0.99])
shares, radii = {"BT1": [], "BT2": [], "IT": []}, {"BT1": [], "BT2": [], "between centers": []}
for ratio in ratios:
    near = svm.reference(ss.solve(problem, 1.0 / (ratio * C), tol=0.0, rtol=1e-10))
    s = svm.choose_s(samples, C, near)
    first, second = svm.ball_1(samples, C, near), svm.ball_2(samples, C, near.w, s)
    tests = (
        ss.rules.sphere(problem, first),
        ss.rules.sphere(problem, second),
        svm.intersection_test(samples, C, near, s),
    )
    for name, found in zip(shares, tests, strict=True):
        shares[name].append(found.rate)
    apart = np.linalg.norm(first.center - second.center)
    for name, value in zip(radii, (first.radius, second.radius, apart), strict=True):
        radii[name].append(value)

figure, axes = figures.panels(2, width=10.0, height=3.2)
labels = {"xlabel": r"$C_{\rm ref}/C$", "ylabel": "share of samples screened"}
figures.lines(shares, ratios, ax=axes[0], title="breast-cancer, C = 1", **labels)
labels["ylabel"] = ""
figures.lines(radii, ratios, ax=axes[1], title="radii, and distance of the centers", log="y", **labels)
plt.show()

# %%
print("C_ref/C  " + "".join(f"{ratio:7.2f}" for ratio in ratios))
for name, values in shares.items():
    print(f"{name:9}" + "".join(f"{value:7.3f}" for value in values))
assert all(it >= max(a, b) for a, b, it in zip(*shares.values(), strict=True))
assert max(shares["BT2"]) < 0.05 < 0.9 < shares["BT1"][-1]
radius_1 = np.array(radii["BT1"]) / ((1.0 - ratios) / (2.0 * ratios))
outside = np.array(radii["between centers"]) > radii["BT2"]
print("center of ball 1 outside ball 2:", outside.sum(), "of", len(ratios), "references")
assert np.all(np.diff(radii["BT1"]) < 0) and np.ptp(radius_1) / radius_1.mean() < 0.5

# %% [markdown]
# The center of ball 1 is outside ball 2, if only just (right panel: two lines that look like one). So less than half of
# ball 1 is left, on the side of the solution, which is what the intersection test gains.
#
# ### What the zeros and ones of ball 2 cost
#
# Put the best possible point into ball 2, $\tilde w = w^\star$, and for $s$ the margins below 1. By (5)
# $r_2 = \frac12\|w^\star - C z_s\| = \frac C2 \|\sum_{\text{step}} (\alpha^\star_i - s_i) z_i\|$: the samples on the step have
# fractional dual variables, and no choice of zeros and ones makes up for them. Allow fractions, and the radius at the
# solution is 0.

# %%
alpha = star.alpha
step = (alpha > 1e-6) & (alpha < 1.0 - 1e-6)
choices = {
    "s = 1 where the margin is below 1": ((samples.margins(star.x) < 1.0) & ~step).astype(float),
    "s = dual point, rounded": np.round(alpha),
    "s = dual point": alpha,
}
print(f"{step.sum()} samples on the step; |w*| = {np.linalg.norm(star.x):.2f}")
for name, s in choices.items():
    ball = svm.ball_2(samples, C, star.x, s)
    expected = 0.5 * C * np.linalg.norm(Z.T @ (alpha - s))
    print(f"{name:35} radius {ball.radius:6.3f}, screens {ss.rules.sphere(problem, ball).rate:.3f}")
    if name != "s = dual point":
        assert ball.radius > 1.0
    if name.startswith("s = 1"):
        assert abs(ball.radius / expected - 1.0) < 1e-3
    else:
        assert ball.radius >= expected

# %% [markdown]
# ## Break it: digits
#
# The printed $r_1^2$ for $\tilde w = w_0$ is $\frac{(C-C_0)^2}{4C_0^2}\|w_0\|^2$, computed as a difference of numbers of
# the size of $\|w_0\|^2$. With $C = (1 + \delta) C_0$ it is $\frac14\delta^2\|w_0\|^2$, so of the 16 digits of a float
# $2\log_{10}\frac1\delta$ go. *True* below is the exact value of the printed formula for the very floats that go in, in
# fractions: only rounding is left to be blamed. The last column is the radius of (4), in floats.

# %% tags=["nbval-ignore-output"]
C0 = 1.0
w0 = ss.solve(problem, 1.0 / C0, tol=0.0, rtol=1e-11).x
w0_exact = exactly(w0)
length = w0_exact @ w0_exact
lost = []
print("  delta   true radius   printed radius   digits left   radius by (4)")
for k in range(1, 11):
    C = C0 * (1.0 + 10.0**-k)
    rho = Fraction(C) / Fraction(C0)
    true = float((rho - 1) ** 2 * length / 4) ** 0.5
    square = ball_1(Z, C, w0, C0, w0)[1]
    summed = 0.5 * np.linalg.norm(w0 - C / C0 * w0)
    error = abs(square - true**2) / true**2
    digits = max(0, int(-np.log10(max(error, 1e-16))))
    lost.append(digits)
    shown = "imaginary" if square < 0 else "0 or rubbish" if digits == 0 else f"{np.sqrt(square):.2e}"
    print(f"{10.0**-k:7.0e} {true:13.2e} {shown:>16} {digits:13d} {summed:15.2e}")
    assert abs(summed / true - 1.0) < 1e-5
assert lost[0] >= 12 and lost[5] <= 7 and max(lost[7:]) == 0

# %% [markdown]
# A radius that has come out too small is not merely inaccurate, it is unsafe, and one that is imaginary screens nothing
# or, clipped to 0, everything. The library computes (4), (5) and adds a bound of what rounding may have done: its
# radius is never below the true one. Here with references drawn around the solution, against exact fractions:

# %%
rng = np.random.default_rng(10)
too_small, excess = 0, []
for _ in range(200):
    n, d = 12, 3
    small_Z = rng.standard_normal((n, d)) + 0.3
    signs = np.where(np.arange(n) % 2, 1, -1)
    w, s = rng.standard_normal(d), rng.integers(0, 2, n).astype(float)
    if rng.uniform() < 0.5:  # a ball of nearly no radius
        s = (small_Z @ w < 1.0).astype(float)
        w_next = 0.7 * (small_Z.T @ s)
        w, s = w_next, (small_Z @ w_next < 1.0).astype(float)
    ball = svm.ball_2(ss.Samples(small_Z * signs[:, None], signs), 0.7, w, s)
    exact = [exactly(a) for a in (small_Z, s, w)]
    C_exact = 1 / Fraction(1.0 / 0.7)
    square = ball_2(exact[0], C_exact, exact[1], exact[2])[1]
    too_small += Fraction(ball.radius) ** 2 < square
    excess.append(ball.radius - float(square) ** 0.5)
print(f"library's radius below the exact one: {too_small} of 200 (bound 0)")
print(f"excess of 1e-6 or more: {sum(e >= 1e-6 for e in excess)} (bound 0)")
assert too_small == 0 and max(excess) < 1e-6

# %% [markdown]
# ## Break it: a reference that is not exact
#
# Theorem 6 asks for *the* solution $w_0$, and is right about it. Solvers return something near it. With a relative duality gap of $\eta$ the
# reference is off by up to $\sqrt{2\eta P/\lambda}$, while $r_1$ is proportional to $|C - C_0|$: the closer the reference,
# the more it screens, the more of it is wrong. First small problems in fractions, where "wrong" can be
# proved: a sample is put into R although its exact margin is at most 1, or into L although it is at least 1.

# %% tags=["nbval-ignore-output"]
print("relative gap     printed ball 1:             with the dual point:       of")
print("of reference   solution lost  wrong        solution lost  wrong     balls  samples")
unsafe = {}
for rtol in (1e-1, 1e-2, 1e-3, 1e-10):
    lost, wrong, lost_too, wrong_too, n_balls, total = 0, 0, 0, 0, 0, 0
    for Z_, solutions in instances:
        terms = machine(Z_)
        for C, w_star, _ in solutions:
            weight = 1.0 / float(C * Fraction(99, 100))
            rough = svm.reference(
                ss.solve(
                    ss.Problem(terms, ss.Hinge()),
                    weight,
                    tol=0.0,
                    rtol=rtol,
                    method="coordinate",
                    screening=(),
                )
            )
            w0, C0 = exactly(rough.w), Fraction(rough.C)
            m, square = ball_1(Z_, C, w0, C0, w0)
            lost += (w_star - m) @ (w_star - m) > square * Fraction(1000001, 1000000)
            u, middle = Z_ @ w_star, Z_ @ m
            reach = square * np.sum(Z_ * Z_, axis=1)
            in_R = (middle > 1) & ((middle - 1) ** 2 > reach)
            in_L = (middle < 1) & ((1 - middle) ** 2 > reach)
            wrong += np.sum(in_R & (u <= 1)) + np.sum(in_L & (u >= 1))
            ball = svm.ball_1(terms, float(C), rough)
            found = ss.rules.sphere(ss.Problem(terms, ss.Hinge()), ball)
            away = w_star - exactly(ball.center)
            lost_too += away @ away > Fraction(ball.radius) ** 2
            wrong_too += np.sum(found.in_R & (u <= 1)) + np.sum(found.in_L & (u >= 1))
            n_balls, total = n_balls + 1, total + len(Z_)
    unsafe[rtol] = wrong
    print(f"{rtol:8.0e} {lost:19d} {wrong:6d} {lost_too:20d} {wrong_too:6d} {n_balls:9d} {total:8d}")
    assert lost_too == wrong_too == 0
assert min(unsafe[1e-1], unsafe[1e-2], unsafe[1e-3]) > 3

# %% [markdown]
# In the last row it comes down to the last digit: a sample stands exactly on the step, with a dual variable of 0.03, and
# is parallel to the solution, so that the bound of its margin at an exact reference is exactly 1. Accurate references
# make mistakes rare, they do not make them impossible.
#
# The remedy costs nothing. Use the reference's *dual* point, $C\sum_i\alpha_{0,i} z_i$ for $\frac{C}{C_0} w_0$ and
# $\sum_i \alpha_{0,i}$ for $\xi_0 + \frac1{C_0}\|w_0\|^2$: this is ball 2 with fractional $s$, which never asked for
# optimality. At an exact reference nothing changes.
#
# Now data of the papers: breast cancer, references from LIBLINEAR and from the library's coordinate descent, $C$ a little
# larger than $C_{\rm ref}$. LIBLINEAR stops where no dual variable violates optimality by more than its tolerance;
# 0.1 is the default of the program. A decision counts as wrong if the solution at $10^{-12}$ contradicts it by more
# than its own error bound.

# %% tags=["nbval-ignore-output"]
C_min = svm.c_min(samples)


def mistakes(in_L, in_R, star):
    u, slack = samples.margins(star.x), star.eps * samples.norms
    return int(np.sum(in_R & (u + slack <= 1.0)) + np.sum(in_L & (u - slack >= 1.0)))


def solver_reference(kind, C0):
    if kind.startswith("LIBLINEAR"):
        return linear_svc(samples, C0, tol=float(kind.split()[-1]))
    return svm.reference(
        ss.solve(
            problem, 1.0 / C0, tol=0.0, rtol=float(kind.split()[-1]), method="coordinate", screening=()
        )
    )


kinds = [f"LIBLINEAR, tolerance {tol}" for tol in ("0.1", "0.01")]
kinds += [f"coordinates, gap {rtol}" for rtol in ("0.01", "0.001", "1e-06")]
print("decisions (wrong ones)        printed ball 1                          with the dual point")
print(
    "C/C_ref                       1.001       1.003       1.01            1.001       1.003       1.01"
)
totals = {}
for kind in kinds:
    cells = [[], []]
    for factor in (1.001, 1.003, 1.01):
        decided = np.zeros((2, 2), dtype=int)
        for multiple in (10.0, 100.0, 1000.0):
            C0 = multiple * C_min
            C = factor * C0
            near = solver_reference(kind, C0)
            star = ss.solve(problem, 1.0 / C, tol=0.0, rtol=1e-12)
            m, square = ball_1(Z, C, near.w, C0, near.w)
            middle, reach = Z @ m, np.sqrt(square) * np.linalg.norm(Z, axis=1)
            found = svm.ball_test_1(samples, C, near)
            for row, (in_L, in_R) in enumerate(
                ((middle + reach < 1.0, middle - reach > 1.0), (found.in_L, found.in_R))
            ):
                decided[row] += np.sum(in_L | in_R), mistakes(in_L, in_R, star)
        for row in range(2):
            cells[row].append(f"{decided[row, 0]:5d} ({decided[row, 1]:2d}) ")
        totals[kind] = totals.get(kind, 0) + decided[:, 1]
    print(f"{kind:27}" + "  ".join(cells[0]) + "      " + "  ".join(cells[1]).rstrip())
print("each cell: C_ref = 10, 100 and 1000 C_min,", 3 * len(problem), "samples in all")
assert all(mended == 0 for _, mended in totals.values())
assert totals["coordinates, gap 0.01"][0] > 0 and totals["coordinates, gap 1e-06"][0] == 0
assert totals["LIBLINEAR, tolerance 0.1"][0] + totals["LIBLINEAR, tolerance 0.01"][0] > 0

# %% [markdown]
# With rough references the printed ball decides more, and some of it wrongly; a wrongly dropped sample changes the
# solution without any sign. With the dual point fewer are decided, and none wrongly; as the reference gets accurate the
# two come together.
#
# ### The loss must be of all samples
#
# For both balls $\tilde\xi$ is the loss of $\tilde w$ on the whole data set. Leaving out the samples of a held-out half gives
# balls for another problem:

# %%
missed = 0
for Z_, solutions in instances:
    for C, w_star, _ in solutions:
        w, s = w_star * Fraction(3, 4), np.array([Fraction(int(u < 1)) for u in Z_ @ w_star])
        m = (w + C * (s @ Z_)) / 2
        square = m @ m + C * (total_loss(Z_[::2], w) - s.sum())
        missed += (w_star - m) @ (w_star - m) > square
print("ball 2 with the loss of every second sample, solution lost:", missed, "of", 4 * len(instances))
assert missed > 50

# %% [markdown]
# ## Exercise
#
# With $\tilde w = w_0$ exact, for which $C \ge C_0$ does ball test 1 keep sample $i$ in R? Write $q = \langle z_i, w_0\rangle$
# and $k = \|z_i\|\|w_0\|$.
#
# <details>
# <summary><b>Solution</b></summary>
#
# $\frac{C + C_0}{2 C_0} q - \frac{C - C_0}{2 C_0} k > 1$ is linear in $C$: $C (q - k) > C_0 (2 - q - k)$. By Cauchy and
# Schwarz $q \le k$, so $C < C_0 \frac{q + k - 2}{k - q}$, and for $q = k$ for ever if $q > 1$. This is the range of
# STS19 Theorem 10 (`20-ranges`) with an exact reference: one sort, and it is known when each sample has to be looked at again.
#
# </details>

# %%
C0 = 1.0
near = svm.reference(ss.solve(problem, 1.0 / C0, tol=0.0, rtol=1e-12))
q, k = samples.margins(near.w), samples.norms * np.linalg.norm(near.w)
in_R = q > 1.0 + 1e-3
until = C0 * (q + k - 2.0)[in_R] / (k - q)[in_R]
for C in (1.05, 1.2, 1.5, 2.0):
    found = svm.ball_test_1(samples, C, near).in_R[in_R]
    clear = np.abs(until - C) > 1e-3
    assert np.array_equal(found[clear], until[clear] > C)
    print(
        f"C/C_ref = {C:4}: {found.sum():3d} of {in_R.sum()} samples of R still certain, as by the formula"
    )

# %% [markdown]
# ## Fine print
#
# * **Cost.** With $\tilde w = w_0$ and the margins of $w_0$ at hand, ball test 1 is $O(n)$ for every further $C$. Ball
#   test 2 needs $z_s$ and its margins, $O(nd)$, or with a kernel $O(n)$ for every entry of $s$ that has changed.
# * **$C$ smaller than $C_0$** is as good as larger: neither theorem asks.
# * **Other losses and terms.** Fractional $s$, the conjugate $\alpha - \frac\gamma2\alpha^2$ of the smoothed hinge, weights,
#   thresholds, linear terms of reduced problems: all are in the midpoint gap bound.
# * **In a solver** ball 1 goes by the name of MGB, ball 2 by BT2, both together `"MGB&BT2"`.
#
# ## References
#
# * SSS14: Ogawa, Suzuki, Suzumura, Takeuchi, *Safe Sample Screening for Support Vector Machines*, arXiv 2014: Theorems 6
#   and 7, section III-C.
# * STS19: Yoshida, Takeuchi, Karasuyama, *Safe Triplet Screening for Distance Metric Learning*, Neural Computation 31,
#   2019: Theorem 5 (RPB).
# * Wang, Wonka, Ye, *Scaling SVM and Least Absolute Deviations via Exact Data Reduction*, ICML 2014: the DVI test, which is ball
#   test 1 with $\tilde w = w_0$.
