# %% [markdown]
# # Kernels: every quantity, its cost, and its rounding
#
# A support vector machine with a kernel is a vector of a space in which vectors cannot be written down. All that we
# know of the samples is $Q_{ij} = \langle z_i, z_j\rangle = y_i y_j K(x_i, x_j)$. The ball tests and the intersection
# test need norms of centers, radii and margins of centers; this notebook computes all of them from $Q$, counts the
# cost, and bounds the rounding errors.
#
# At the end you will have seen that
#
# * seven identities carry the tests over, and each agrees with an explicit feature map;
# * with $Q\alpha_0$ at hand BT1 costs $O(n)$; BT2 and IT cost $O(n)$ more for every $\hat s_i$ that changes, and along
#   a path **the number of all changes together hardly depends on how fine the path is**;
# * the printed form of $\|m_1 - m_2\|$ is a difference of large numbers that can come out negative, and a kernel matrix
#   is positive semidefinite up to rounding only; the library works with coefficients and error bounds instead;
# * the dome test of SSS13 needs nothing but $Q$ either, and decides little with a Gaussian kernel, as its authors
#   found;
# * everything of the linear machine (path, intersection test, screening during the solve) runs on a kernel unchanged.

# %%
from fractions import Fraction

import numpy as np
from scipy import sparse

import safescreen as ss
from safescreen import svm
from safescreen_book import datasets, figures
from safescreen_book.protocols import pathwise

# %% [markdown]
# ## The idea in a picture
#
# Two half moons of 200 points and a Gaussian kernel. The machine is a vector of a space that cannot be written down,
# and its boundary in the plane is a curve. Still, the intersection test decides many samples before the training
# (coloured). It uses nothing but the 200 by 200 numbers $Q_{ij} = \langle z_i, z_j\rangle$.

# %%
def half_moons(n=200, seed=4):
    """Points of two interleaved half moons, and their labels."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, 1, -1)
    turn = rng.uniform(0, np.pi, n)
    X = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    X[y == 1] = [1.0, 0.35] - X[y == 1]
    return X + 0.17 * rng.standard_normal((n, 2)), y


def boundary(solution, X, y):
    """The function whose sign the machine predicts, from the coefficients of its expansion."""
    return lambda points: (
        np.exp(-3.0 * ((points[:, None, :] - X[None]) ** 2).sum(axis=2)) @ (solution.x.coef * y)
    )


# %%
X, y = half_moons()
moons = ss.Problem(ss.KernelSamples.from_points(X, y, "rbf", gamma=3.0), ss.Hinge())
C_new = 250.0 * svm.c_min(moons.terms)
old, star = (ss.solve(moons, 1 / C, tol=1e-6, rtol=1e-11) for C in (0.8 * C_new, C_new))
found = svm.intersection_test(moons.terms, C_new, old)
margin, room = moons.terms.margins(star.x), star.eps * moons.terms.norms
assert np.all((margin + room)[found.in_R] > 1) and np.all((margin - room)[found.in_L] < 1)
figure, ax = figures.panels(1, width=6.6, height=3.8)
figures.samples(
    X, y, boundary(star, X, y), found, ax=ax, title=f"{found.rate:.0%} decided before the training"
)
figures.show(
    "Dots form interleaved half moons, with the curved boundary of a machine between them. The "
    "points far inside of their half moon are "
    "coloured, as decided; those near the boundary are grey."
)

# %% [markdown]
# ## The claim
#
# The reference is $w_0 = \sum_i a_i z_i$ for $C_0$, with the dual solution $a \in [0, C_0]^n$ in the scale of the
# paper; $m_1 = \frac{C + C_0}{2C_0} w_0$, $m_2 = \frac12(w_0 + C\sum_i s_i z_i)$.
#
# > **Kernel form** (SSS14 section IV-D). With $\rho = \frac{C + C_0}{2 C_0}$,
# >
# > $$\|z_i\| = \sqrt{Q_{ii}},\quad \|w_0\| = \sqrt{a^\top Q a},\quad \langle z_i, m_1\rangle = \rho\,(Qa)_i,\quad
# \langle z_i, m_2\rangle = \tfrac12 (Qa)_i + \tfrac C2 (Qs)_i,$$
# >
# > $$\begin{gathered} \|m_1\| = \rho\sqrt{a^\top Q a},\quad \|m_2\| = \tfrac12\sqrt{(a + Cs)^\top Q (a + Cs)}, \\
# \langle m_1, m_2\rangle = \tfrac\rho2\,(a^\top Q a + C\, a^\top Q s) . \end{gathered}$$
#
# > **Cost** (SSS14 Table I). For all $n$ samples, $d_s$ non-zero features each, $\Delta s$ the change of $\hat s$
# > since the last $C$:
#
# | | linear | kernel | kernel, with $Qa$ and $Qs$ of the last $C$ |
# |---|---|---|---|
# | BT1 | $O(n d_s)$ | $O(n^2)$ | $O(n)$ |
# | BT2, IT | $O(n d_s)$ | $O(n^2)$ | $O(n \lVert\Delta s\rVert_0)$ |
#
# > **Dome** (SSS13 section 3, "Kernelization"). The bounds of the dome test and the line search for its feasible point
# > need $\langle z_i, w_a\rangle = (Qa)_i$, $\|z_i\|$ and the norms of $w_a$ and $\hat w$ only. (And, in the conclusion: with a
# > Gaussian kernel few samples were screened.)
#
# | here | SSS14 | the book and the library |
# |---|---|---|
# | $a$ | $\alpha_{[C_{ref}]}$ | $C_0\,\alpha$, $\alpha \in [0,1]^n$ |
# | $w = \sum_j c_j z_j$ | | `Expansion`: `coef` is $c$, `image` is $Qc$ |
# | $\gamma$ | kernel parameter | also the smoothing of the loss, elsewhere |
#
# <details>
# <summary><b>Symbols</b></summary>
#
# | symbol | what it is |
# |---|---|
# | $P(w;\lambda)$ | $\sum_i \ell(\langle z_i, w\rangle) + \tfrac\lambda2\lVert w\rVert^2$ with $z_i = y_i\phi(x_i)$, to be minimised; $\lambda = 1/C$, and the papers' objective is $C\,P$ |
# | loss $\ell(u)$ | the hinge, $\max(0, 1-u)$ |
# | cone $K$ | the whole feature space: nothing to project |
# | $H(\alpha)$ | $\sum_i \alpha_i z_i$ with one $\alpha_i \in [0,1]$ a sample, known through $Q_{ij} = \langle z_i, z_j\rangle$; the papers' dual variables are $a = C\alpha$ |
# | $w(\alpha)$ | $H(\alpha)/\lambda = C\sum_i\alpha_i z_i$; the dual is $D(\alpha;\lambda) = \mathbf 1^\top\alpha - \tfrac1{2\lambda}\lVert H(\alpha)\rVert^2$ |
#
# </details>
#
# ## Derivation
#
# ### Step 1: everything is an expansion
#
# $w_0$, both centers and their difference are combinations of the $z_j$. For $u = \sum_j c_j z_j$ and
# $v = \sum_j e_j z_j$,
#
# $$\langle z_i, u\rangle = (Qc)_i, \qquad \langle u, v\rangle = c^\top Q e . \tag{1}$$
#
# The coefficients are $a$ for $w_0$, $\rho a$ for $m_1$, $\frac12(a + Cs)$ for $m_2$. Put them in: these are the
# seven identities. The total loss needs margins only, $\xi = \sum_i \max(0, 1 - (Qa)_i)$, so the radii follow too.
#
# ### Step 2: two vectors are enough
#
# All of it is made of $g = Qa$ and $h = Qs$: $a^\top Q a = a^\top g$, $a^\top Q s = s^\top g$,
# $s^\top Q s = s^\top h$. The rest is $O(n)$. A solver keeps $g$, its gradient. When $s$ changes, $h$ changes by the
# columns of $Q$ at the changed places, $n\|\Delta s\|_0$ numbers. That is the table.
#
# ## Ten lines of numpy


# %%
def both_balls(Q, g, h, a, s, C, C0):
    """Margins of the centers, radii and ||m1 - m2||^2 from g = Qa and h = Qs alone, as printed."""
    rho, aQa = (C + C0) / (2 * C0), a @ g
    loss, mixed = np.maximum(1 - g, 0).sum(), s @ g
    m2_square = (aQa + 2 * C * mixed + C**2 * (s @ h)) / 4
    m1_square, m1_m2 = rho**2 * aQa, rho / 2 * (aQa + C * mixed)
    r1, r2 = (C - C0) / (2 * C0) * np.sqrt(aQa), np.sqrt(m2_square + C * (loss - s.sum()))
    return rho * g, r1, (g + C * h) / 2, r2, m1_square + m2_square - 2 * m1_m2


# %% [markdown]
# ## Does it match?
#
# The polynomial kernel $(x^\top x' + 1)^2$ in the plane has six features. So the same machine can be computed twice: by
# the features, where every vector can be written down, and by $Q$. We compare each quantity with that of the features,
# once as printed, by the ten lines, and once by the library, whose centers are expansions with a `coef` and an `image`.


# %%
def features(X):
    """The map of (x'z + 1)^2 for points of the plane."""
    x1, x2 = X.T
    return np.stack(
        [np.ones_like(x1), np.sqrt(2) * x1, np.sqrt(2) * x2, x1**2, x2**2, np.sqrt(2) * x1 * x2],
        axis=1,
    )


def explicit_ball(Z, w, s, C):
    """Center and radius of the midpoint gap bound of (w, s), vectors written down."""
    u = Z @ w
    fenchel = np.sum(np.maximum(1 - u, 0) - s * (1 - u))
    return (w + C * s @ Z) / 2, np.sqrt(np.sum((w - C * s @ Z) ** 2) / 4 + C * fenchel)


# %%
def quadratic_machine(rng):
    """Thirty samples with a quadratic kernel, by kernel and by features; the solution for a C0,
    and C = 1.25 C0."""
    y = np.where(np.arange(30) % 2, 1, -1)
    X = rng.standard_normal((30, 2)) * 0.8
    X[y == 1] *= 1.8
    Z = y[:, None] * features(X)
    kernel = ss.KernelSamples.from_points(X, y, "polynomial", gamma=1.0, degree=2)
    C0 = svm.c_min(kernel) * 10.0 ** rng.uniform(0.3, 3)
    old = ss.solve(ss.Problem(kernel, ss.Hinge()), 1 / C0, tol=1e-6, rtol=1e-11)
    return X, y, Z, kernel, old, 1.25 * C0, C0


def explicit_quantities(Z, a, C, rho):
    """Both balls by features: w0, m1, the choice s, m2 and r2."""
    w0 = a @ Z
    m1 = rho * w0
    s = (1 - Z @ m1 > 0).astype(float)
    m2 = (w0 + C * s @ Z) / 2
    loss = np.maximum(1 - Z @ w0, 0).sum()
    r2 = np.sqrt(m2 @ m2 + C * (loss - s.sum()))
    return w0, m1, s, m2, r2


# %%
def three_ways(Z, Q, kernel, old, a, C, C0):
    """Each quantity of the table as printed, by the library (None where it has none), and by
    features."""
    rho = 2.25 / 2
    w0, m1, s, m2, r2 = explicit_quantities(Z, a, C, rho)
    _, r1, _, r2_printed, apart = both_balls(Q, Q @ a, Q @ s, a, s, C, C0)[:5]
    at0 = svm.Reference(kernel.adjoint(a), old.alpha, C0)
    ball1, ball2 = svm.ball_1(kernel, C, at0), svm.ball_2(kernel, C, at0.w, s)
    space, pair_radius = kernel.cone, explicit_ball(Z, w0, old.alpha, C)[1]
    return {
        "Q": (Q, kernel.gram(np.arange(30)), Z @ Z.T),
        "|z|": (np.sqrt(np.diag(Q)), kernel.norms, np.linalg.norm(Z, axis=1)),
        "|w0|": (np.sqrt(a @ Q @ a), at0.w.norm(), np.linalg.norm(w0)),
        "<z, m1>": (rho * (Q @ a), kernel.margins(ball1.center), Z @ m1),
        "<z, m2>": ((Q @ a) / 2 + C / 2 * (Q @ s), kernel.margins(ball2.center), Z @ m2),
        "|m1|": (rho * np.sqrt(a @ Q @ a), ball1.center.norm(), np.linalg.norm(m1)),
        "|m2|": (np.sqrt(
            (a + C * s) @ Q @ (a + C * s)) / 2, ball2.center.norm(), np.linalg.norm(m2)),
        "<m1, m2>": (rho / 2 * (a @ Q @ a + C * a @ Q @ s), space.inner(ball1.center,
                                                                        ball2.center), m1 @ m2),
        "|m1 - m2|": (np.sqrt(apart), (ball1.center - ball2.center).norm(),
                      np.linalg.norm(m1 - m2)),
        "r1": (r1, None, np.linalg.norm(m1 - w0)),
        "r1 of the pair": (pair_radius, ball1.radius, pair_radius),
        "r2": (r2_printed, ball2.radius, r2),
    }


# %%
def same_decisions(test, X, y, kernel, old, a, C, C0):
    """Whether a test decides the same samples by kernel and by features."""
    plain = ss.Samples(features(X), y)
    one, two = test(kernel, C, old), test(plain, C, svm.Reference(plain.adjoint(a), old.alpha, C0))
    return np.array_equal(one.in_L, two.in_L) and np.array_equal(one.in_R, two.in_R)


# %% tags=["SSS14-DIVD"]
rng = np.random.default_rng(35)
worst, same = {}, 0
for _ in range(40):
    X, y, Z, kernel, old, C, C0 = quadratic_machine(rng)
    Q = y[:, None] * ((X @ X.T + 1) ** 2) * y
    a = C0 * old.alpha
    w0 = a @ Z
    rows = three_ways(Z, Q, kernel, old, a, C, C0)
    for name, (printed, ours, explicit) in rows.items():
        for column, value in enumerate((printed, ours)):
            if value is not None:
                off = np.max(np.abs(value - explicit)) / np.max(np.abs(explicit))
                worst[name, column] = max(worst.get((name, column), 0.0), off)
    for test in (svm.ball_test_1, svm.intersection_test):
        same += same_decisions(test, X, y, kernel, old, a, C, C0)
assert max(worst.values()) < 1e-8
print(
    f"{len(rows)} quantities as printed and by the library against features: a part in 1e8 at most"
)
print("the library decides the same samples by kernel and by features:", same, "of 80 tests")
assert same >= 78

# %% [markdown]
# ### Rounding
#
# An expansion carries a bound of the rounding errors of its image. For points with integer coordinates the exact image
# is a sum of fractions. After hundreds of updates, sums and multiples, some of which cancel all digits, no image is off by
# more than its bound, and norms are inside of theirs.

# %%
corners = rng.integers(-2, 3, (16, 2)).astype(float)
signs = np.where(np.arange(16) % 2, 1, -1)
made = ss.KernelSamples.from_points(corners, signs, "polynomial", gamma=1.0, degree=2)
Q_exact = [
    [int(v) for v in row]
    for row in np.round(signs[:, None] * (corners @ corners.T + 1) ** 2 * signs)
]


def in_bounds(element):
    """The largest error of an image in units of its bound, and whether the norm is inside its
    bounds; exact."""
    c = [Fraction(v) for v in element.coef]
    true = [sum(q * v for q, v in zip(row, c, strict=True)) for row in Q_exact]
    off = [abs(Fraction(v) - t) for v, t in zip(element.image, true, strict=True)]
    used = max(
        o / (Fraction(n) * Fraction(element.error)) for o, n in zip(off, made.norms, strict=True)
    )
    square = sum(v * t for v, t in zip(c, true, strict=True))
    return used, Fraction(element.norm_lower()) ** 2 <= square <= Fraction(
        element.norm_upper()
    ) ** 2


# %% tags=["SSS14-DIVD"]
used, inside, n_elements = Fraction(0), True, 0
coef = rng.standard_normal(16)
x = made.adjoint(coef)
# each differs from the last in one coefficient, now large, now small, and is computed from it
for _ in range(300):
    coef[rng.integers(16)] = rng.standard_normal() * 10.0 ** rng.integers(-8, 9)
    x = made.sum_near(coef, (x,))[0]
    big = 10.0 ** rng.integers(0, 12) * made.adjoint(rng.standard_normal(16))
    worn = (x + big) - big
    for element in (x, worn, (big - x) - big, 1e3 * worn, worn / 1e-3, 1e-7 * (1e9 * x - big)):
        share, right = in_bounds(element)
        used, inside, n_elements = max(used, share), inside and right, n_elements + 1
assert used <= 1 and inside
fresh = made.adjoint(np.ones(16))
assert x.error / x.scale <= 9 * fresh.error / fresh.scale  # and errors do not pile up
print(
    f"{n_elements} expansions: no error of an image above its bound, no norm outside its bounds, "
    "in fractions"
)

# %% [markdown]
# The labels belong into $Q$. With $K$ in its place every length is another one:

# %% tags=["SSS14-DIVD"]
K = Q * y[:, None] * y
print(f"with K for Q: |w0| = {np.sqrt(a @ K @ a):.3f} instead of {np.linalg.norm(w0):.3f}")
assert abs(np.sqrt(a @ K @ a) - np.linalg.norm(w0)) > 0.01


# %% [markdown]
# (A sample whose bound is within rounding of 1 may be decided by one and not by the other, so a few tests may
# differ.)
#
# ## The dome, from Q alone
#
# $w_a = \sum_i a_i z_i$ for $C_a$ and $w_b = \sum_i b_i z_i$ for $C_b$. The bounds of [`36b-dome-test`](36b-dome-test.ipynb) need $A = a^\top Q a$,
# $B = b^\top Q b$, $(Qa)_i$ and $Q_{ii}$; the feasible point on the segment from $w_a$ to $w_T$ has coefficients on the segment from
# $a$ to $a_T$, and margins likewise. The toy data of SSS13, two clouds of 300 points in the plane, once more by features
# and by $Q$, and with Gaussian kernels.

# %%
def dome_from_gram(Q, a, b):
    """Bounds of all margins over the dome of two solutions, and the rim's distance from the
    margin at w_a."""
    g, A, B, n = Q @ a, a @ Q @ a, b @ Q @ b, np.sqrt(np.diag(Q))
    rim = np.sqrt(np.maximum((B - A) / A * (A * n**2 - g**2), 0))
    low = np.where(-g * np.sqrt(B) >= A * n, -np.sqrt(B) * n, g - rim)
    return low, np.where(g * np.sqrt(B) >= A * n, np.sqrt(B) * n, g + rim), rim


def solved(terms, C, rtol=1e-9):
    return ss.solve(ss.Problem(terms, ss.Hinge()), 1 / C, tol=0.0, rtol=rtol, screening=())


# %%
rng = np.random.default_rng(4)
X = np.vstack(
    [rng.normal(center, np.sqrt(0.75), (300, 2)) for center in ([1.5, 1.5], [-1.5, -1.5])]
)
y = np.repeat([1, -1], 300)
square = ss.KernelSamples.from_points(X, y, "polynomial", gamma=1.0, degree=2)
plain, Q = ss.Samples(features(X), y), square.gram(np.arange(600))
at_a, at_b, at_T = (solved(square, C) for C in (0.1, 0.15, 10.0))
a, b, a_T = (at.alpha / at.lam for at in (at_a, at_b, at_T))
low, high, rim = dome_from_gram(Q, a, b)

# %% [markdown]
# The same region and the same decisions by formula, by kernel and by features:

# %% tags=["SSS13-D3"]
region = svm.dome(square, at_a, at_b)
assert abs(region.offset / (a @ Q @ a) - 1) < 1e-2
assert 0 <= region.ball.radius / np.sqrt(b @ Q @ b) - 1 < 1e-2
by_kernel = svm.dome_test(square, at_a, at_b)
explicit_a, explicit_b = (
    svm.Reference(plain.adjoint(c), at.alpha, 1 / at.lam) for c, at in ((a, at_a), (b, at_b))
)
by_features = svm.dome_test(plain, explicit_a, explicit_b)
clear = np.minimum(np.abs(low - 1), np.abs(high - 1)) > 1e-2
for found in (by_kernel, by_features):
    assert np.array_equal(found.in_R[clear], (low > 1)[clear])
    assert np.array_equal(found.in_L[clear], (high < 1)[clear])
    assert not np.any(found.in_R & (low <= 1)) and not np.any(found.in_L & (high >= 1))

# %% [markdown]
# They are right for every $C$ between, and a margin that is not negative falls by no more than the distance of the rim
# (SSS13, "Interpretation"):

# %% tags=["SSS13-D3"]
fallen = 0.0
for C in np.linspace(0.1, 0.15, 9):
    at = solved(square, C)
    margins, slack = square.margins(at.x), at.eps * square.norms
    assert not np.any(at.alpha[by_kernel.in_R]) and np.all(at.alpha[by_kernel.in_L] == 1)
    assert np.all(low - slack <= margins) and np.all(margins <= high + slack)
    ahead = Q @ a >= 0
    fallen = max(fallen, float(np.max(((Q @ a - margins - slack) / rim)[ahead])))
print(
    f"polynomial kernel: {by_kernel.rate:.0%} of 600 screened for C in [0.1, 0.15], "
    "right at 9 values of C"
)
print(f"margins fall by at most {fallen:.2f} of the distance to the rim (bound 1)")
assert by_kernel.rate > 0.5 and fallen <= 1

# %% [markdown]
# The line search, by kernel and by arithmetic on $Q$:

# %% tags=["SSS13-D3"]
for budget in (0.3, 0.6, 0.9):
    totals = [np.maximum(1 - Q @ c, 0).sum() for c in (a, a_T)]
    s = totals[0] + budget * (totals[1] - totals[0])
    w_hat = pathwise.feasible_between(square, at_a, at_T, s)
    v = np.linspace(0, 1, 20_001)
    first = v[np.argmax(np.maximum(1 - Q @ a - v[:, None] * (Q @ (a_T - a)), 0).sum(axis=1) <= s)]
    c = a + first * (a_T - a)
    assert abs(w_hat.norm() / np.sqrt(c @ Q @ c) - 1) < 1e-3
    assert svm.total_loss(square, w_hat)[1] <= s
print(
    "feasible points by line search: as long as on a grid of 20 001, to a part in 1000, and "
    "within their budget"
)

# %% [markdown]
# The remark on Gaussian kernels: the wider the dome, the less it decides.

# %% tags=["SSS13-D3"]
print(
    f"\n{'kernel':14}"
    + "".join(f"{f'C {low:g} to {high:g}':>16}" for low, high in ((0.1, 0.2), (1, 1.3), (1, 10)))
)
shares = {}
for name, options in {
    "linear": {"kernel": "linear"},
    "gamma = 0.03": {"kernel": "rbf", "gamma": 0.03},
    "gamma = 0.5": {"kernel": "rbf", "gamma": 0.5},
    "gamma = 5": {"kernel": "rbf", "gamma": 5.0},
}.items():
    terms, line = ss.KernelSamples.from_points(X, y, **options), f"{name:14}"
    for C_a, C_b in ((0.1, 0.2), (1, 1.3), (1, 10)):
        one, two = solved(terms, C_a), solved(terms, C_b)
        found = svm.dome_test(terms, one, two)
        assert not np.any(two.alpha[found.in_R]) and np.all(two.alpha[found.in_L] == 1)
        shares[name, C_b] = found.rate
        width = np.sqrt(two.x.norm() ** 2 - one.x.norm() ** 2)
        line += f"{found.rate:10.2f} {f'({width:.1f})':>5}"
    print(line)
print("share screened, in brackets the half-width of the dome")
assert min(shares["linear", C] for C in (0.2, 1.3, 10)) > 0.8
assert max(value for (name, _), value in shares.items() if name != "linear") < 0.5
assert max(value for (name, C), value in shares.items() if name != "linear" and C != 1.3) < 0.02

# %% [markdown]
# **The remark stands**, and the formula says why. $\ell_i > 1$ is $(q_i - 1)^2 > (B - A)(\|z_i\|^2 - q_i^2/A)$ with $q_i > 1$. A
# Gaussian kernel has $\|z_i\| = 1$: all samples are on the unit sphere, margins can only be large if $w$ is
# long, and from $C_a$ to $C_b$ the vector $w$ grows by contributions of many samples. So $B - A$ is large and $q_i - 1$ small. Nothing
# excludes a kernel: a small step of $C$, or a wide Gaussian, which is nearly linear, screens.

# %% [markdown]
# ## What it costs
#
# Operations, not seconds: how many columns of $Q$ are read, $n$ numbers each. Cold, $Qa$ and $Qs$ are computed from their
# non-zero entries; warm, $Qa$ comes from the solver, $Qs$ from $Qa$ or from the last $C$, and the columns that changed are
# read. So the table needs three counts along a path, in units of $n$: of $\alpha$, of $s$, and of the changes of $s$.
#
# The library's columns are counted by putting a counter around its one product with $Q$: cold ($w_0$ made from $a$) and warm
# ($w_0$ as the solver returns it). The solver's $w_0$ is $C_0$ times a sum, $\sum_i \alpha_{0,i} z_i$, which it keeps. The
# library computes $\sum_i \hat s_i z_i$ from that sum: $\hat s$ and $\alpha_0$ differ in the samples with a fractional weight and in
# those that change sides.


# %%
class Counter:
    """Counts the columns of Q that a kernel space reads."""

    def __init__(self, space):
        self.space, self.product, self.columns = space, space.product, 0
        space.product = self.counted

    def counted(self, used, values, at=None):
        self.columns += used.size
        return self.product(used, values, at)

    def of(self, action, *args):
        """Columns that a function reads."""
        self.columns = 0
        action(*args)
        return self.columns


# %%
def from_nothing(test, terms, C, old):
    """A test whose reference is first made from its dual variables."""
    test(terms, C, svm.Reference(terms.adjoint(old.C * old.alpha), old.alpha, old.C))


def path_costs(terms, Cs):
    """For each step of a path: |alpha|_0, |s|_0, changes of s; columns read by the library, BT1
    and IT cold, BT1 and IT warm."""
    prob, count, last, rows = ss.Problem(terms, ss.Hinge()), Counter(terms.cone), None, []
    for C0, C in zip(Cs[:-1], Cs[1:], strict=True):
        solution = ss.solve(prob, 1 / C0, tol=1e-6, rtol=1e-10)
        old = svm.reference(solution)
        warm = [count.of(test, terms, C, old) for test in (svm.ball_test_1, svm.intersection_test)]
        s = svm.choose_s(terms, C, old)
        cold = []
        for test in (svm.ball_test_1, svm.intersection_test):
            cold.append(count.of(from_nothing, test, terms, C, old))
        changes = np.nan if last is None else np.count_nonzero(s != last)
        near = np.count_nonzero(s != old.alpha)
        rows.append((np.count_nonzero(old.alpha), np.count_nonzero(s), changes, *cold, *warm, near))
        last = s
    return np.array(rows)[1:]


# %%
X, y = datasets.load("digits", return_X_y=True)
y = np.where(y % 2 == 1, 1, -1)
order = np.random.default_rng(0).permutation(len(X))
sizes, means, steps_of = (60, 120, 240, 480), [], {}
print("columns of Q, in units of n, mean of 30 steps; last column: changes of s in all")
heads = "|a|_0  |s|_0  |ds|_0   BT1 cold  IT cold  BT1 warm  IT warm   ds in all"
print(f"{'n':>5}  {heads}")
for n in sizes:
    terms = ss.KernelSamples.from_points(X[order[:n]], y[order[:n]], "rbf", gamma=1 / 64)
    rows = path_costs(terms, svm.c_min(terms) * np.geomspace(1.0, 1e3, 32))
    means.append(rows.mean(axis=0))
    row = means[-1] / n
    print(
        f"{n:5}{row[0]:7.2f}{row[1]:7.2f}{row[2]:8.3f}{row[3]:11.2f}{row[4]:9.2f}{row[5]:10.2f}{row[6]:9.2f}{rows[:, 2].sum() / n:12.2f}"
    )
    if n == 240:
        finest = rows

# %% [markdown]
# ### A finer path costs no more
#
# $\hat s_i$ is 1 where the margin at $m_1$ is below 1. Along a path most margins cross 1 once. So the changes of the
# *whole* path are about $n$, and refining the path spreads them thinner.

# %% tags=["nbval-ignore-output"]
terms = ss.KernelSamples.from_points(X[order[:240]], y[order[:240]], "rbf", gamma=1 / 64)
for steps in (8, 16, 32, 64, 128):
    rows = path_costs(terms, svm.c_min(terms) * np.geomspace(1.0, 1e3, steps + 2))
    steps_of[steps] = rows[:, :3].sum(axis=0) / 240
cold, warm = (
    [f(value) for value in steps_of.values()] for f in (lambda v: v[0] + v[1], lambda v: v[2])
)
labels = {
    "xlabel": "steps of the path",
    "ylabel": "in units of $n^2$",
    "title": "entries of Q that a whole path needs",
}
figures.lines({"IT, cold": cold, "IT, warm": warm}, list(steps_of), log="xy", **labels)
figures.show(
    "Lines show the entries of the kernel matrix that a whole path needs, over n squared, against "
    "the steps of the path, on logarithmic axes: "
    f"{figures.ends({'cold': cold, 'warm': warm}, '{:.0f}')}, where the steps grow from "
    f"{min(steps_of)} to {max(steps_of)}."
)

# %% [markdown]
# ### Table I, column by column
#
# Cold, the entries that are read grow like $n^2$. Warm, BT1 reads next to nothing, and IT at most twice the places where
# $\hat s$ and $\alpha_0$ differ.

# %% tags=["SSS14-B1"]
means = np.array(means)
slopes = [1 + np.polyfit(np.log(sizes), np.log(means[:, column]), 1)[0] for column in (0, 1, 3, 4)]
for label, slope in zip(("n |a|_0", "n |s|_0", "BT1 cold", "IT cold"), slopes, strict=True):
    print(f"{label:9} grows like n^{slope:.0f}")
    assert 1.5 < slope < 2.5
share = means / np.array(sizes)[:, None]
print(
    f"library, warm: BT1 at most {share[:, 5].max():.2f} n columns a step (bound 0.05), IT "
    f"{share[:, 6].max():.2f} n (bound 0.2)"
)
assert share[:, 5].max() < 0.05 and share[:, 6].max() < 0.2 and share[:, 3:5].min() > 1
assert np.all(finest[:, 6] <= 2 * finest[:, 7])
for steps, (a_0, s_0, changes) in steps_of.items():
    print(f"{steps:4} steps: cold {a_0 + s_0:6.1f} n columns in all, changes of s {changes:.2f} n")
    assert 0.5 < changes < 1.1
assert cold[-1] > 10 * cold[0] and warm[-1] < 2 * warm[0]


# %% [markdown]
# Linear, sparse samples hold $d_s$ stored numbers each. The library's tests make a few passes over the data, $n d_s$
# numbers a pass, whatever $n$ and $d_s$ are:

# %%
class Passes(ss.Samples):
    """Samples that count products with the data."""

    n_passes = 0

    def _margins(self, x):
        Passes.n_passes += 1
        return super()._margins(x)

    def weighted_sum(self, weights):
        Passes.n_passes += 1
        return super().weighted_sum(weights)


# %% tags=["SSS14-B1"]
rng, passes = np.random.default_rng(1), set()
for n, d_s in ((1000, 5), (4000, 5), (1000, 20)):
    X_sparse = sparse.random(
        n, 500, density=d_s / 500, format="csr", random_state=int(rng.integers(100))
    )
    labels = np.where(np.arange(n) % 2, 1, -1)
    samples, counts = Passes(X_sparse, labels), []
    C0 = 2 * svm.c_min(samples)
    old = ss.solve(ss.Problem(samples, ss.Hinge()), 1 / C0, tol=1e-6, rtol=1e-8)
    for test in (svm.ball_test_1, svm.intersection_test):
        Passes.n_passes = 0
        test(samples, 1.2 * C0, old)
        counts.append(Passes.n_passes)
    passes.add(tuple(counts))
    assert samples.stored == n * d_s
print("linear: passes of n d_s numbers, whatever n and d_s: BT1", counts[0], "(bound 4), IT",
      counts[1], "(bound 9)")
assert len(passes) == 1 and counts[0] <= 4 and counts[1] <= 9

# %% [markdown]
# ## Everything at once
#
# The samples are two interleaved arcs, and the kernel is Gaussian. On a path of $C$ the intersection test screens before
# each solve, and the midpoint gap bound during it. In the picture, left, the path; right, the machine at one $C$, with what
# had been decided *before* solving for it (pale).

# %%
X, y = half_moons()
arcs = ss.KernelSamples.from_points(X, y, "rbf", gamma=3.0)
prob = ss.Problem(arcs, ss.Hinge())
Cs = svm.c_min(arcs) * np.geomspace(1.0, 1e4, 41)

# %% [markdown]
# We run the path with each of the three tests, and without any. All end at the same objective.

# %%
curves, finals = {}, {}
for test in ("BT1", "BT2", "IT"):
    path = svm.path(arcs, Cs, test, screening=("MGB",), rtol=1e-7)
    assert all(solution.converged for solution in path)
    curves[test] = np.array(path.path_rates, dtype=float)
    finals[test] = path[-1]
plain = svm.path(arcs, Cs, None, screening=(), rtol=1e-7)[-1]
values = [prob.primal(last.x, last.lam) for last in (plain, *finals.values())]
assert max(values) / min(values) - 1 < 1e-6
print("objectives at the end, with every test and without, agree to a part in 1e6")

# %% [markdown]
# The machine at one $C$, and what the test decides before it:

# %%
where = 24
old, star = (ss.solve(prob, 1 / C, tol=1e-6, rtol=1e-11) for C in Cs[where - 1 : where + 1])
found = svm.intersection_test(arcs, Cs[where], old)
margin, room = arcs.margins(star.x), star.eps * arcs.norms
assert np.all((margin + room)[found.in_R] > 1) and np.all((margin - room)[found.in_L] < 1)
assert not np.any(star.alpha[found.in_R]) and np.all(star.alpha[found.in_L] == 1)

# %% tags=["nbval-ignore-output"]
figure, axes = figures.panels(2, height=3.8)
steps = Cs[1:] / Cs[0]
labels = {
    "title": "before each solve",
    "xlabel": "$C/C_{min}$",
    "ylabel": "share of samples screened",
}
figures.lines(
    {k: v[-len(steps) :] for k, v in curves.items()}, steps, ax=axes[0], log="x", **labels
)
figures.samples(
    X, y, boundary(star, X, y), found, ax=axes[1], title=f"{found.rate:.0%} decided before solving"
)
axes[1].get_legend().remove()
figures.show(
    "Left, curves show the share screened before each solve along a path with a kernel: "
    f"{figures.ends({k: v[-len(steps) :] for k, v in curves.items()})}. "
    "Right, dots form interleaved half moons with the curved boundary of the machine between them; "
    f"{found.rate:.0%} of the points are coloured as decided."
)
assert np.all(curves["IT"][-len(steps) :] >= curves["BT2"][-len(steps) :] - 0.02)

# %% [markdown]
# On the left, the jump of IT is the one that [`33-intersection-test`](33-intersection-test.ipynb) predicts: from there on the kernel separates the
# arcs, the reference has no loss, both balls touch in one point, and every sample that is not a support vector is
# decided. BT1 alone does not decide them.

# %% [markdown]
# ## Break it: squares that are differences
#
# The intersection test needs $\|m_1 - m_2\|$. The printed quantities give it as
# $\|m_1\|^2 + \|m_2\|^2 - 2\langle m_1, m_2\rangle$, which cancels when the centers are near. The library subtracts the
# *coefficients*, $\rho a - \frac12(a + Cs)$, and the result is as good as $Q$ is. We take references just below
# $C_{\min}$, where the exact difference is zero or small:

# %%
rng = np.random.default_rng(8)
negative = bad = 0
for _ in range(300):
    n = 40
    y_ = np.where(np.arange(n) % 2, 1, -1)
    X_ = rng.standard_normal((n, 3)) + 0.5 * y_[:, None]
    small = ss.KernelSamples.from_points(X_, y_, "rbf", gamma=0.3)
    Q = small.gram(np.arange(n))
    C0 = rng.uniform(0.3, 1.0) * svm.c_min(small)
    C, a = C0 * rng.uniform(1.001, 1.3), np.full(n, C0)
    s = (1 - (C + C0) / (2 * C0) * (Q @ a) > 0).astype(float)
    square = both_balls(Q, Q @ a, Q @ s, a, s, C, C0)[4]
    c = (C + C0) / (2 * C0) * a - (a + C * s) / 2
    exact = max(c @ Q @ c, 0.0)
    negative += square < 0
    bad += abs(square - exact) > 1e-6 * exact
    found = svm.intersection_test(small, C, svm.solution_below_c_min(small, C0))
    alone = svm.ball_test_1(small, C, svm.solution_below_c_min(small, C0))
    assert np.all(found.in_L >= alone.in_L) and not found.in_R.any()
assert negative > 5 and bad > 30
print(
    "printed square of the distance negative in more than 5 of 300, wrong by more than a part in "
    "a million in more than 30"
)

# %% [markdown]
# ## Break it: positive semidefinite up to rounding
#
# The linear kernel of 569 samples in 30 dimensions has rank 30, and 539 eigenvalues that are zero on paper. Computed,
# some are negative. A combination of samples along such an eigenvector has a *negative squared length*, and the
# square root in $\|w\|$ is NaN. `KernelSamples` therefore carries a bound: there is a true, positive semidefinite
# kernel within a part of `relative_error` of each entry, and every norm that a safety claim uses is an upper or a
# lower bound for that kernel.

# %%
X_c, y_c = datasets.load("breast-cancer", return_X_y=True)
linear = ss.KernelSamples.from_points(X_c, y_c, "linear")
values, vectors = np.linalg.eigh(linear.gram(np.arange(len(linear))))
v = vectors[:, 0]
element = linear.adjoint(v)
bound = linear.cone.relative_error / 2.0**-53
assert np.sum(values < 0) > 100 and -values[0] < 1e-14 * values[-1] and bound < 100
assert values[0] < 0 and element.norm_lower() == 0.0 and element.norm_upper() > np.sqrt(-values[0])
print("more than 100 eigenvalues come out negative, none below -1e-14 of the largest")
print(
    f"library: length of such a combination at least {element.norm_lower()}, and at most "
    "something positive"
)
print(f"bound of the error of the entries: {bound:.0f} units of roundoff")

# %% [markdown]
# A matrix that is not a kernel up to rounding is refused, because then the balls prove nothing:

# %%
points = np.random.default_rng(0).standard_normal((30, 2))
sigmoid = np.tanh(points @ points.T - 0.5)
np.fill_diagonal(sigmoid, np.abs(sigmoid).max(axis=0) + 0.1)
print(f"smallest eigenvalue of the sigmoid matrix: {np.linalg.eigvalsh(sigmoid)[0]:.2f}")
refused = ""
try:
    ss.KernelSamples(sigmoid, np.where(np.arange(30) % 2, 1, -1))
except ValueError as error:
    refused = str(error).split(",")[0]
print("refused:", refused)
assert refused

# %% [markdown]
# ## Exercise
#
# A Gaussian kernel with a very large $\gamma$: $K$ is nearly the unit matrix. What are $C_{\min}$ and the solution
# for every $C$, and from which $C$ on does screening have nothing to do?
#
# <details>
# <summary><b>Solution</b></summary>
#
# $Q = I$: the samples are orthogonal, $(Q\mathbf 1)_i = 1$, so $C_{\min} = 1$. Up to there $a = C\mathbf 1$,
# everything in L. Beyond, $a = \mathbf 1$ and every margin is exactly 1: every sample is on the corner, none can be
# screened, and $w$ never changes again. The reference has no loss: the intersection test knows $w$
# ([`33-intersection-test`](33-intersection-test.ipynb)), and decides nothing, for there is nothing to decide.
#
# </details>

# %%
alone = ss.KernelSamples(np.eye(60), y_c[:60])
for C in (0.5, 2.0):
    solution = ss.solve(ss.Problem(alone, ss.Hinge()), 1 / C, tol=1e-6, rtol=1e-9)
    found = svm.intersection_test(alone, 1.2 * C, solution)
    print(
        f"C = {C}: a = {np.unique(np.round(C * solution.alpha, 6))}, decided for 1.2 C: "
        f"{found.rate:.0%}"
    )
assert abs(svm.c_min(alone) - 1) < 1e-9

# %% [markdown]
# ## Fine print
#
# * **Reading is not computing.** The table counts entries of a kernel matrix that is there. Where it does not fit,
#   each cold column costs $n$ kernel evaluations, $O(n d)$.
# * **Taken literally** $O(n\|\Delta s\|_0)$ is 0 where nothing changes, and $n$ bounds are still computed.
# * **SSS13's formulas (15) to (18) and its kernel forms** are lost in the text we work from: the theorem's bounds are
#   derived in [`36b-dome-test`](36b-dome-test.ipynb), and put into kernel form here. Which Gaussian widths and data its remark is
#   about is not said; its "Interpretation", which bounds a change of margin by $\sqrt{(B - A)/A}$ times a factor that is
#   largest across $w_a$, is the rim, for samples with $q_i \ge 0$.
# * **The library's sums.** A vector $w = C \sum_i \alpha_i z_i$ of the library keeps the sum that it is a multiple of. A sum
#   for other dual variables is computed from that one if few of them differ. The error of an image grows with every
#   update, and beyond eight times that of a fresh product it is computed anew.
# * **Without caches on both sides** the papers' $O(n^2)$ is $n(\|\alpha\|_0 + \|s\|_0)$.
#
# ## References
#
# * SSS13: Ogawa, Suzuki, Takeuchi, *Safe Screening of Non-Support Vectors in Pathwise SVM Computation*, ICML 2013:
#   section 3 ("Kernelization", "Interpretation"), and the conclusion.
# * SSS14: Ogawa, Suzuki, Suzumura, Takeuchi, *Safe Sample Screening for Support Vector Machines*, arXiv:1401.6740,
#   2014: sections IV-D and IV-E, Table I.
