# %% [markdown]
# # Kernels: every quantity, its cost, and its rounding
#
# A support vector machine with a kernel is a vector of a space whose vectors have no coordinates that a program could
# store. The program only knows $Q_{ij} = \langle z_i, z_j\rangle = y_i y_j K(x_i, x_j)$. The ball tests and the intersection
# test need norms of centers, radii and margins of centers. This notebook computes all of these from $Q$, counts the
# cost, and bounds the rounding errors.
#
# At the end you will have seen that
#
# * seven identities express the tests by $Q$, and each identity agrees with an explicit feature map;
# * if $Q\alpha_0$ is known, BT1 costs $O(n)$. BT2 and IT cost $O(n)$ more for every $\hat s_i$ that changes. Along
#   a path **the total number of changes hardly depends on the number of steps**;
# * the printed form of $\|m_1 - m_2\|$ is a difference of large numbers that rounding can make negative, and a kernel matrix
#   is positive semidefinite only up to rounding. The library uses coefficients and error bounds instead;
# * the dome test of SSS13 needs only $Q$ too, and decides little with a Gaussian kernel, as its authors
#   found;
# * everything that runs for the linear machine (path, intersection test, screening during the solve) also runs with a
#   kernel, unchanged.

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
# The data are two half moons of 200 points, with a Gaussian kernel. The machine is a vector
# without coordinates, and its boundary in the plane is a curve. Still, the intersection test decides many samples before the training. They are
# coloured in the picture. The test uses only the 200 by 200 numbers $Q_{ij} = \langle z_i, z_j\rangle$.

# %%
def half_moons(n=200, seed=4):
    """Return points of two interleaved half moons, and their labels."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, 1, -1)
    turn = rng.uniform(0, np.pi, n)
    X = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    X[y == 1] = [1.0, 0.35] - X[y == 1]
    return X + 0.17 * rng.standard_normal((n, 2)), y


def boundary(solution, X, y):
    """Return the function whose sign the machine predicts, from the coefficients of the machine."""

    def function(points):
        squares = ((points[:, None, :] - X[None]) ** 2).sum(axis=2)
        return np.exp(-3.0 * squares) @ (solution.x.coef * y)

    return function


# %%
X, y = half_moons()
moons = ss.Problem(ss.KernelSamples.from_points(X, y, "rbf", gamma=3.0), ss.Hinge())
C_new = 250.0 * svm.c_min(moons.terms)
old, star = (ss.solve(moons, 1 / C, tol=1e-6, rtol=1e-11) for C in (0.8 * C_new, C_new))
found = svm.intersection_test(moons.terms, C_new, old)
margin, room = moons.terms.margins(star.x), star.eps * moons.terms.norms
assert np.all((margin + room)[found.in_R] > 1) and np.all((margin - room)[found.in_L] < 1)
figure, ax = figures.panels(1, width=6.6, height=3.8)
title = f"{found.rate:.0%} decided before the training"
figures.samples(X, y, boundary(star, X, y), found, ax=ax, title=title)
figures.show(
    "Dots form interleaved half moons, and the boundary of a machine is a curve between the moons. "
    "The points far from the boundary are coloured, because the test decides them. The points near "
    "the boundary are grey."
)

# %% [markdown]
# ## The claim
#
# The reference is $w_0 = \sum_i a_i z_i$ for $C_0$, with the dual solution $a \in [0, C_0]^n$ in the scale of the
# paper. The centers are $m_1 = \frac{C + C_0}{2C_0} w_0$ and $m_2 = \frac12(w_0 + C\sum_i s_i z_i)$.
#
# > **Kernel form** (SSS14 section IV-D). With $\rho = \frac{C + C_0}{2 C_0}$,
# >
# > $$\|z_i\| = \sqrt{Q_{ii}},\quad \|w_0\| = \sqrt{a^\top Q a},\quad \langle z_i, m_1\rangle = \rho\,(Qa)_i,\quad
# \langle z_i, m_2\rangle = \tfrac12 (Qa)_i + \tfrac C2 (Qs)_i,$$
# >
# > $$\begin{gathered} \|m_1\| = \rho\sqrt{a^\top Q a},\quad \|m_2\| = \tfrac12\sqrt{(a + Cs)^\top Q (a + Cs)}, \\
# \langle m_1, m_2\rangle = \tfrac\rho2\,(a^\top Q a + C\, a^\top Q s) . \end{gathered}$$
#
# > **Cost** (SSS14 Table I). The table is for all $n$ samples with $d_s$ non-zero features each. $\Delta s$ is the change
# > of $\hat s$ since the last $C$:
#
# | | linear | kernel | kernel, with $Qa$ and $Qs$ of the last $C$ |
# |---|---|---|---|
# | BT1 | $O(n d_s)$ | $O(n^2)$ | $O(n)$ |
# | BT2, IT | $O(n d_s)$ | $O(n^2)$ | $O(n \lVert\Delta s\rVert_0)$ |
#
# > **Dome** (SSS13 section 3, "Kernelization"). The bounds of the dome test and the line search for its feasible point
# > need only $\langle z_i, w_a\rangle = (Qa)_i$, $\|z_i\|$ and the norms of $w_a$ and $\hat w$. (The conclusion adds that
# > the test screened few samples with a Gaussian kernel.)
#
# | here | SSS14 | the book and the library |
# |---|---|---|
# | $a$ | $\alpha_{[C_{ref}]}$ | $C_0\,\alpha$, $\alpha \in [0,1]^n$ |
# | $w = \sum_j c_j z_j$ | | `Expansion`: `coef` is $c$, `image` is $Qc$ |
# | $\gamma$ | kernel parameter | kernel parameter here; the smoothing of the loss in other notebooks |
#
# <details>
# <summary><b>Symbols</b></summary>
#
# | symbol | what it is |
# |---|---|
# | $P(w;\lambda)$ | $\sum_i \ell(\langle z_i, w\rangle) + \tfrac\lambda2\lVert w\rVert^2$ with $z_i = y_i\phi(x_i)$, to be minimised; $\lambda = 1/C$, and the papers' objective is $C\,P$ |
# | loss $\ell(u)$ | the hinge, $\max(0, 1-u)$ |
# | cone $K$ | the whole feature space, so nothing is projected |
# | $H(\alpha)$ | $\sum_i \alpha_i z_i$ with one $\alpha_i \in [0,1]$ for each sample, known through $Q_{ij} = \langle z_i, z_j\rangle$; the papers' dual variables are $a = C\alpha$ |
# | $w(\alpha)$ | $H(\alpha)/\lambda = C\sum_i\alpha_i z_i$; the dual is $D(\alpha;\lambda) = \mathbf 1^\top\alpha - \tfrac1{2\lambda}\lVert H(\alpha)\rVert^2$ |
#
# </details>
#
# ## Derivation
#
# ### Step 1: everything is an expansion
#
# The vector $w_0$, both centers and their difference are combinations of the $z_j$. For $u = \sum_j c_j z_j$ and
# $v = \sum_j e_j z_j$,
#
# $$\langle z_i, u\rangle = (Qc)_i, \qquad \langle u, v\rangle = c^\top Q e . \tag{1}$$
#
# The coefficients are $a$ for $w_0$, $\rho a$ for $m_1$, and $\frac12(a + Cs)$ for $m_2$. Inserted into (1), they give the
# seven identities. The total loss needs only margins, $\xi = \sum_i \max(0, 1 - (Qa)_i)$, so (1) gives the radii too.
#
# ### Step 2: two vectors are enough
#
# Every quantity is a function of $g = Qa$ and $h = Qs$: $a^\top Q a = a^\top g$, $a^\top Q s = s^\top g$,
# $s^\top Q s = s^\top h$. All other operations are $O(n)$. A solver stores $g$, its gradient. When $s$ changes, $h$ changes
# by the columns of $Q$ at the changed places, which are $n\|\Delta s\|_0$ numbers. This count proves the table.
#
# ## Ten lines of numpy


# %%
def both_balls(Q, g, h, a, s, C, C0):
    """Return margins of the centers, radii and ||m1 - m2||^2 from g = Qa and h = Qs, as printed."""
    rho, aQa = (C + C0) / (2 * C0), a @ g
    loss, mixed = np.maximum(1 - g, 0).sum(), s @ g
    m2_square = (aQa + 2 * C * mixed + C**2 * (s @ h)) / 4
    m1_square, m1_m2 = rho**2 * aQa, rho / 2 * (aQa + C * mixed)
    r1, r2 = (C - C0) / (2 * C0) * np.sqrt(aQa), np.sqrt(m2_square + C * (loss - s.sum()))
    return rho * g, r1, (g + C * h) / 2, r2, m1_square + m2_square - 2 * m1_m2


# %% [markdown]
# ## Does it match?
#
# The polynomial kernel $(x^\top x' + 1)^2$ in the plane has six features. So a program can compute the same machine
# in two ways: by the features, with coordinates for every vector, and by $Q$. The cells below compare each quantity with
# its value by the features. The first comparison is for the printed formulas in ten lines, the second for the library,
# whose centers are expansions with a `coef` and an `image`.


# %%
def features(X):
    """Return the feature map of (x'z + 1)^2 for points of the plane."""
    x1, x2 = X.T
    root = np.sqrt(2)
    columns = np.ones_like(x1), root * x1, root * x2, x1**2, x2**2, root * x1 * x2
    return np.stack(columns, axis=1)


def explicit_radius(Z, w, s, C):
    """Return the radius of the midpoint gap bound of (w, s), from the features."""
    u = Z @ w
    fenchel = np.sum(np.maximum(1 - u, 0) - s * (1 - u))
    return np.sqrt(np.sum((w - C * s @ Z) ** 2) / 4 + C * fenchel)


# %%
def quadratic_machine(rng):
    """Return thirty samples with a quadratic kernel, by kernel and by features; the solution for a
    C0; and C = 1.25 C0."""
    y = np.where(np.arange(30) % 2, 1, -1)
    X = rng.standard_normal((30, 2)) * 0.8
    X[y == 1] *= 1.8
    Z = y[:, None] * features(X)
    kernel = ss.KernelSamples.from_points(X, y, "polynomial", gamma=1.0, degree=2)
    C0 = svm.c_min(kernel) * 10.0 ** rng.uniform(0.3, 3)
    old = ss.solve(ss.Problem(kernel, ss.Hinge()), 1 / C0, tol=1e-6, rtol=1e-11)
    return X, y, Z, kernel, old, 1.25 * C0, C0


# %% [markdown]
# Each of the next three functions returns the quantities of the claim. The radius $r_1$ of the paper is for an exact
# reference; the library's ball 1 has the radius of the pair $(w_0, \alpha_0)$.


# %%
def quantities_as_printed(Q, a, s, C, C0):
    """Return each quantity by the printed formulas, from Q."""
    rho = (C + C0) / (2 * C0)
    g = Q @ a
    h = Q @ s
    _, r1, _, r2, apart = both_balls(Q, g, h, a, s, C, C0)
    return {
        "Q": Q,
        "|z|": np.sqrt(np.diag(Q)),
        "|w0|": np.sqrt(a @ g),
        "<z, m1>": rho * g,
        "<z, m2>": g / 2 + C / 2 * h,
        "|m1|": rho * np.sqrt(a @ g),
        "|m2|": np.sqrt((a + C * s) @ Q @ (a + C * s)) / 2,
        "<m1, m2>": rho / 2 * (a @ g + C * a @ h),
        "|m1 - m2|": np.sqrt(apart),
        "r1": r1,
        "r2": r2,
    }


# %%
def quantities_of_the_library(kernel, reference, s, C):
    """Return each quantity from the library's kernel samples."""
    one, two = svm.ball_1(kernel, C, reference), svm.ball_2(kernel, C, reference.w, s)
    return {
        "Q": kernel.gram(np.arange(30)),
        "|z|": kernel.norms,
        "|w0|": reference.w.norm(),
        "<z, m1>": kernel.margins(one.center),
        "<z, m2>": kernel.margins(two.center),
        "|m1|": one.center.norm(),
        "|m2|": two.center.norm(),
        "<m1, m2>": kernel.cone.inner(one.center, two.center),
        "|m1 - m2|": (one.center - two.center).norm(),
        "r1 of the pair": one.radius,
        "r2": two.radius,
    }


# %%
def quantities_by_features(Z, a, s, C, C0):
    """Return each quantity from vectors with coordinates."""
    w0 = a @ Z
    m1, m2 = (C + C0) / (2 * C0) * w0, (w0 + C * s @ Z) / 2
    loss = np.maximum(1 - Z @ w0, 0).sum()
    return {
        "Q": Z @ Z.T,
        "|z|": np.linalg.norm(Z, axis=1),
        "|w0|": np.linalg.norm(w0),
        "<z, m1>": Z @ m1,
        "<z, m2>": Z @ m2,
        "|m1|": np.linalg.norm(m1),
        "|m2|": np.linalg.norm(m2),
        "<m1, m2>": m1 @ m2,
        "|m1 - m2|": np.linalg.norm(m1 - m2),
        "r1": np.linalg.norm(m1 - w0),
        "r1 of the pair": explicit_radius(Z, w0, a / C0, C),
        "r2": np.sqrt(m2 @ m2 + C * (loss - s.sum())),
    }


# %%
def same_decisions(test, X, y, kernel, old, a, C, C0):
    """Return whether a test decides the same samples by kernel and by features."""
    plain = ss.Samples(features(X), y)
    one, two = test(kernel, C, old), test(plain, C, svm.Reference(plain.adjoint(a), old.alpha, C0))
    return np.array_equal(one.in_L, two.in_L) and np.array_equal(one.in_R, two.in_R)


# %% tags=["SSS14-DIVD"]
rng = np.random.default_rng(35)
worst, same = 0.0, 0
for _ in range(40):
    X, y, Z, kernel, old, C, C0 = quadratic_machine(rng)
    Q = y[:, None] * ((X @ X.T + 1) ** 2) * y
    a = C0 * old.alpha
    w0 = a @ Z
    s = (1 - (C + C0) / (2 * C0) * (Z @ w0) > 0).astype(float)
    reference = svm.Reference(kernel.adjoint(a), old.alpha, C0)
    explicit = quantities_by_features(Z, a, s, C, C0)
    printed = quantities_as_printed(Q, a, s, C, C0)
    ours = quantities_of_the_library(kernel, reference, s, C)
    for name, value in (*printed.items(), *ours.items()):
        off = np.max(np.abs(value - explicit[name])) / np.max(np.abs(explicit[name]))
        worst = max(worst, off)
    for test in (svm.ball_test_1, svm.intersection_test):
        same += same_decisions(test, X, y, kernel, old, a, C, C0)
assert worst < 1e-8
print(f"{len(explicit)} quantities, printed and library against features: equal to a part in 1e8")
print("the library decides the same samples by kernel and by features:", same, "of 80 tests")
assert same >= 78

# %% [markdown]
# If the bound of a sample is within rounding of 1, the kernel may decide the sample and the features may not. So the
# cell allows two tests that differ.
#
# ### Rounding
#
# An expansion carries a bound of the rounding errors of its image. For points with integer coordinates, a sum of fractions
# gives the exact image. The cell below makes hundreds of updates, sums and multiples, some of which cancel all digits. The
# error of every image stays below its bound, and the norms stay inside their bounds.

# %%
corners = rng.integers(-2, 3, (16, 2)).astype(float)
signs = np.where(np.arange(16) % 2, 1, -1)
made = ss.KernelSamples.from_points(corners, signs, "polynomial", gamma=1.0, degree=2)
matrix = np.round(signs[:, None] * (corners @ corners.T + 1) ** 2 * signs)
Q_exact = [[int(v) for v in row] for row in matrix]


def in_bounds(element):
    """Return the largest error of an image in units of its bound, and whether the norm is inside
    its bounds; both exact."""
    c = [Fraction(v) for v in element.coef]
    true = [sum(q * v for q, v in zip(row, c, strict=True)) for row in Q_exact]
    off = [abs(Fraction(v) - t) for v, t in zip(element.image, true, strict=True)]
    allowed = [Fraction(n) * Fraction(element.error) for n in made.norms]
    used = max(o / bound for o, bound in zip(off, allowed, strict=True))
    square = sum(v * t for v, t in zip(c, true, strict=True))
    low, high = Fraction(element.norm_lower()), Fraction(element.norm_upper())
    return used, low**2 <= square <= high**2


# %% tags=["SSS14-DIVD"]
used = Fraction(0)
inside = True
n_elements = 0
coef = rng.standard_normal(16)
x = made.adjoint(coef)
# each expansion is computed from the last, and differs in one coefficient, large or small
for _ in range(300):
    coef[rng.integers(16)] = rng.standard_normal() * 10.0 ** rng.integers(-8, 9)
    x = made.sum_near(coef, (x,))[0]
    big = 10.0 ** rng.integers(0, 12) * made.adjoint(rng.standard_normal(16))
    worn = (x + big) - big
    for element in (x, worn, (big - x) - big, 1e3 * worn, worn / 1e-3, 1e-7 * (1e9 * x - big)):
        share, right = in_bounds(element)
        used = max(used, share)
        inside = inside and right
        n_elements = n_elements + 1
assert used <= 1 and inside
fresh = made.adjoint(np.ones(16))
assert x.error / x.scale <= 9 * fresh.error / fresh.scale  # errors do not accumulate
print(f"{n_elements} expansions: in fractions no image has an error above its bound,")
print("and no norm is outside its bounds")

# %% [markdown]
# $Q$ includes the labels. With $K$ in place of $Q$ the lengths differ:

# %% tags=["SSS14-DIVD"]
K = Q * y[:, None] * y
print(f"with K for Q: |w0| = {np.sqrt(a @ K @ a):.3f} instead of {np.linalg.norm(w0):.3f}")
assert abs(np.sqrt(a @ K @ a) - np.linalg.norm(w0)) > 0.01


# %% [markdown]
# ## The dome, from Q alone
#
# Let $w_a = \sum_i a_i z_i$ be the solution for $C_a$, and $w_b = \sum_i b_i z_i$ the solution for $C_b$. The bounds of
# [`36b-dome-test`](36b-dome-test.ipynb) need $A = a^\top Q a$,
# $B = b^\top Q b$, $(Qa)_i$ and $Q_{ii}$. The feasible point lies on the segment from $w_a$ to $w_T$. Its coefficients lie
# on the segment from $a$ to $a_T$, and its margins on the segment between the margins of $w_a$ and $w_T$. The cells below use the toy data of
# SSS13, two clouds of 300 points in the plane, with features, with $Q$, and with Gaussian kernels.

# %%
def dome_from_gram(Q, a, b):
    """Return the bounds of all margins over the dome of two solutions, and the distance of the
    margins over the rim from the margin at w_a."""
    g = Q @ a
    A = a @ Q @ a
    B = b @ Q @ b
    n = np.sqrt(np.diag(Q))
    rim = np.sqrt(np.maximum((B - A) / A * (A * n**2 - g**2), 0))
    low = np.where(-g * np.sqrt(B) >= A * n, -np.sqrt(B) * n, g - rim)
    return low, np.where(g * np.sqrt(B) >= A * n, np.sqrt(B) * n, g + rim), rim


def solved(terms, C, rtol=1e-9):
    return ss.solve(ss.Problem(terms, ss.Hinge()), 1 / C, tol=0.0, rtol=rtol, screening=())


# %%
rng = np.random.default_rng(4)
clouds = [rng.normal(center, np.sqrt(0.75), (300, 2)) for center in ([1.5, 1.5], [-1.5, -1.5])]
X = np.vstack(clouds)
y = np.repeat([1, -1], 300)
square = ss.KernelSamples.from_points(X, y, "polynomial", gamma=1.0, degree=2)
plain, Q = ss.Samples(features(X), y), square.gram(np.arange(600))
at_a, at_b, at_T = (solved(square, C) for C in (0.1, 0.15, 10.0))
a, b, a_T = (at.alpha / at.lam for at in (at_a, at_b, at_T))
low, high, rim = dome_from_gram(Q, a, b)

# %% [markdown]
# The formula, the kernel and the features give the same region and the same decisions:

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
# The decisions are right for every tested $C$ between $C_a$ and $C_b$. A margin that is not negative falls by at most the
# distance to the rim (SSS13, "Interpretation"):

# %% tags=["SSS13-D3"]
fallen = 0.0
for C in np.linspace(0.1, 0.15, 9):
    at = solved(square, C)
    margins, slack = square.margins(at.x), at.eps * square.norms
    assert not np.any(at.alpha[by_kernel.in_R]) and np.all(at.alpha[by_kernel.in_L] == 1)
    assert np.all(low - slack <= margins) and np.all(margins <= high + slack)
    ahead = Q @ a >= 0
    fallen = max(fallen, float(np.max(((Q @ a - margins - slack) / rim)[ahead])))
rate = f"{by_kernel.rate:.0%} of 600"
print(f"polynomial kernel: {rate} screened for C in [0.1, 0.15], right at 9 values of C")
print(f"margins fall by at most {fallen:.2f} of the distance to the rim (bound 1)")
assert by_kernel.rate > 0.5 and fallen <= 1

# %% [markdown]
# The next cell compares the line search of the library with a grid, computed from $Q$:

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
print("feasible points by line search: as long as on a grid of 20 001, to a part in 1000")

# %% [markdown]
# The next cell tests the remark on Gaussian kernels. A wider dome decides fewer samples:

# %% tags=["SSS13-D3"]
steps = (0.1, 0.2), (1, 1.3), (1, 10)
print(f"{'kernel':14}" + "".join(f"{f'C {low:g} to {high:g}':>16}" for low, high in steps))
shares = {}
kernels = {"linear": {"kernel": "linear"}}
for gamma in (0.03, 0.5, 5):
    kernels[f"gamma = {gamma}"] = {"kernel": "rbf", "gamma": gamma}
for name, options in kernels.items():
    terms, line = ss.KernelSamples.from_points(X, y, **options), f"{name:14}"
    for C_a, C_b in steps:
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
# **The remark of SSS13 is right**, and the formula says why. The condition $\ell_i > 1$ is
# $(q_i - 1)^2 > (B - A)(\|z_i\|^2 - q_i^2/A)$ with $q_i > 1$. A
# Gaussian kernel has $\|z_i\| = 1$, so all samples are on the unit sphere, and margins are large only if $w$ is
# long. From $C_a$ to $C_b$ many samples contribute to the growth of $w$. So $B - A$ is large, and $q_i - 1$ is small. No
# kernel is excluded: a small step of $C$ screens, and so does a wide Gaussian, which is nearly linear.

# %% [markdown]
# ## What it costs
#
# This section counts operations, not seconds: the columns of $Q$ that a test reads, with $n$ numbers each. Without caches
# (cold) a test computes $Qa$ and $Qs$ from their non-zero entries. With caches (warm) the solver gives $Qa$, and the test
# computes $Qs$ from $Qa$ or from the last $Qs$, and reads the columns that changed. So the table needs three counts along
# a path, in units of $n$: the non-zero entries of $\alpha$, the non-zero entries of $s$, and the changes of $s$.
#
# A counter around the library's only product with $Q$ counts its columns, cold ($w_0$ is made from $a$) and warm
# ($w_0$ is the solver's result). The solver's $w_0$ is $C_0$ times the sum $\sum_i \alpha_{0,i} z_i$, which the solver
# stores. The library computes $\sum_i \hat s_i z_i$ from this sum. Only samples with a fractional weight and samples that
# change sides have different entries in $\hat s$ and $\alpha_0$.


# %%
class Counter:
    """Counter of the columns of Q that a kernel space reads."""

    def __init__(self, space):
        self.space = space
        self.product = space.product
        self.columns = 0
        space.product = self.counted

    def counted(self, used, values, at=None):
        self.columns += used.size
        return self.product(used, values, at)

    def of(self, action, *args):
        """Return the number of columns that a function reads."""
        self.columns = 0
        action(*args)
        return self.columns


# %%
def from_nothing(test, terms, C, old):
    """Run a test after making its reference from the dual variables."""
    test(terms, C, svm.Reference(terms.adjoint(old.C * old.alpha), old.alpha, old.C))


def path_costs(terms, Cs):
    """Return for each step of a path |alpha|_0, |s|_0 and the changes of s; the columns that BT1
    and IT read, cold and then warm; and the number of samples with different s and alpha."""
    prob = ss.Problem(terms, ss.Hinge())
    count = Counter(terms.cone)
    last = None
    rows = []
    for C0, C in zip(Cs[:-1], Cs[1:], strict=True):
        old = svm.reference(ss.solve(prob, 1 / C0, tol=1e-6, rtol=1e-10))
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
sizes = (60, 120, 240, 480)
means = []
steps_of = {}
print("columns of Q, in units of n, mean of 30 steps; last column: all changes of s")
heads = "|a|_0  |s|_0  |ds|_0   BT1 cold  IT cold  BT1 warm  IT warm   sum of ds"
print(f"{'n':>5}  {heads}")
for n in sizes:
    terms = ss.KernelSamples.from_points(X[order[:n]], y[order[:n]], "rbf", gamma=1 / 64)
    rows = path_costs(terms, svm.c_min(terms) * np.geomspace(1.0, 1e3, 32))
    means.append(rows.mean(axis=0))
    row = means[-1] / n
    entries = f"{row[0]:7.2f}{row[1]:7.2f}{row[2]:8.3f}"
    columns = f"{row[3]:11.2f}{row[4]:9.2f}{row[5]:10.2f}{row[6]:9.2f}"
    print(f"{n:5}{entries}{columns}{rows[:, 2].sum() / n:12.2f}")
    if n == 240:
        finest = rows

# %% [markdown]
# ### A finer path costs no more
#
# $\hat s_i$ is 1 where the margin at $m_1$ is below 1. Along a path most margins cross 1 once. So the *whole* path has
# about $n$ changes. A finer path has fewer changes in each step.

# %% tags=["nbval-ignore-output"]
terms = ss.KernelSamples.from_points(X[order[:240]], y[order[:240]], "rbf", gamma=1 / 64)
for steps in (8, 16, 32, 64, 128):
    rows = path_costs(terms, svm.c_min(terms) * np.geomspace(1.0, 1e3, steps + 2))
    steps_of[steps] = rows[:, :3].sum(axis=0) / 240
cold = [nonzero_a + nonzero_s for nonzero_a, nonzero_s, _ in steps_of.values()]
warm = [changes for _, _, changes in steps_of.values()]
labels = {
    "xlabel": "steps of the path",
    "ylabel": "in units of $n^2$",
    "title": "entries of Q that a whole path needs",
}
figures.lines({"IT, cold": cold, "IT, warm": warm}, list(steps_of), log="xy", **labels)
figures.show(
    "Lines show the entries of the kernel matrix that a whole path needs, over n squared, against "
    "the steps of the path, on logarithmic axes. While the steps grow from "
    f"{min(steps_of)} to {max(steps_of)}, the entries change as follows: "
    f"{figures.ends({'cold': cold, 'warm': warm}, '{:.0f}')}."
)

# %% [markdown]
# ### Table I, column by column
#
# Without caches the number of entries read grows like $n^2$. With caches BT1 reads nearly no column, and IT reads at most
# two columns for each sample with different $\hat s$ and $\alpha_0$.

# %% tags=["SSS14-B1"]
means = np.array(means)
slopes = [1 + np.polyfit(np.log(sizes), np.log(means[:, column]), 1)[0] for column in (0, 1, 3, 4)]
for label, slope in zip(("n |a|_0", "n |s|_0", "BT1 cold", "IT cold"), slopes, strict=True):
    print(f"{label:9} grows like n^{slope:.0f}")
    assert 1.5 < slope < 2.5
share = means / np.array(sizes)[:, None]
bt1, it = share[:, 5].max(), share[:, 6].max()
print(f"library, warm, columns a step: BT1 at most {bt1:.2f} n (bound 0.05), IT {it:.2f} n (0.2)")
assert share[:, 5].max() < 0.05 and share[:, 6].max() < 0.2 and share[:, 3:5].min() > 1
assert np.all(finest[:, 6] <= 2 * finest[:, 7])
for steps, (a_0, s_0, changes) in steps_of.items():
    print(f"{steps:4} steps: cold {a_0 + s_0:6.1f} n columns in all, changes of s {changes:.2f} n")
    assert 0.5 < changes < 1.1
assert cold[-1] > 10 * cold[0] and warm[-1] < 2 * warm[0]


# %% [markdown]
# Sparse samples of a linear machine store $d_s$ numbers each. One pass over the data reads $n d_s$ numbers. The library's
# tests need a few passes, and their number does not depend on $n$ and $d_s$:

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
rng = np.random.default_rng(1)
passes = set()
for n, d_s in ((1000, 5), (4000, 5), (1000, 20)):
    seed = int(rng.integers(100))
    X_sparse = sparse.random(n, 500, density=d_s / 500, format="csr", random_state=seed)
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
bt1, it = counts
print(f"linear: passes of n d_s numbers, for all n and d_s: BT1 {bt1} (bound 4), IT {it} (bound 9)")
assert len(passes) == 1 and counts[0] <= 4 and counts[1] <= 9

# %% [markdown]
# ## Everything at once
#
# The samples are two interleaved arcs, and the kernel is Gaussian. On a path of $C$ the intersection test screens before
# each solve, and the midpoint gap bound during it. The left panel of the picture shows the path. The right panel shows the
# machine at one $C$. The samples decided *before* the solve for this $C$ are coloured.

# %%
X, y = half_moons()
arcs = ss.KernelSamples.from_points(X, y, "rbf", gamma=3.0)
prob = ss.Problem(arcs, ss.Hinge())
Cs = svm.c_min(arcs) * np.geomspace(1.0, 1e4, 41)

# %% [markdown]
# The next cell solves the path with each of the three tests, and without any test. All four paths end at the same objective.

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
print("objectives at the end, with each test and without, agree to a part in 1e6")

# %% [markdown]
# The next cell solves for one $C$, and checks what the test decides before this solve:

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
before = {name: rates[-len(steps) :] for name, rates in curves.items()}
labels = {
    "title": "before each solve",
    "xlabel": "$C/C_{min}$",
    "ylabel": "share of samples screened",
}
figures.lines(before, steps, ax=axes[0], log="x", **labels)
title = f"{found.rate:.0%} decided before solving"
figures.samples(X, y, boundary(star, X, y), found, ax=axes[1], title=title)
axes[1].get_legend().remove()
figures.show(
    "In the left panel, curves show the share of samples screened before each solve along a path "
    f"with a kernel: {figures.ends(before)}. In the right panel, dots form interleaved half moons, "
    "and the boundary of the machine is a curve between the moons. The test decides "
    f"{found.rate:.0%} of the samples, which are coloured."
)
assert np.all(curves["IT"][-len(steps) :] >= curves["BT2"][-len(steps) :] - 0.02)

# %% [markdown]
# The left panel shows the jump of IT that [`33-intersection-test`](33-intersection-test.ipynb) predicts. For larger $C$ the
# kernel separates the arcs, so the reference has no loss. Then both balls touch in one point, and IT decides every sample
# that is not a support vector. BT1 alone does not decide these samples.

# %% [markdown]
# ## Break it: squares that are differences
#
# The intersection test needs $\|m_1 - m_2\|$. The printed quantities give it as
# $\|m_1\|^2 + \|m_2\|^2 - 2\langle m_1, m_2\rangle$, and this difference loses its digits when the centers are near. The
# library subtracts the *coefficients*, $\rho a - \frac12(a + Cs)$, so its error is only the error of $Q$. The next cell
# uses references just below $C_{\min}$, where the exact difference is zero or small:

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
    "printed square of the distance: negative in more than 5 of 300 machines, and wrong by more "
    "than 1e-6 of the exact square in more than 30"
)

# %% [markdown]
# ## Break it: positive semidefinite up to rounding
#
# The linear kernel of 569 samples in 30 dimensions has rank 30, so 539 exact eigenvalues are zero. Some computed
# eigenvalues are negative. A combination of samples along such an eigenvector has a *negative squared length*, and the
# square root in $\|w\|$ is NaN. So `KernelSamples` carries a bound `relative_error`: some positive semidefinite
# kernel agrees with each entry up to this relative error. Every norm that a safety claim uses is an upper or a
# lower bound for this kernel.

# %%
X_c, y_c = datasets.load("breast-cancer", return_X_y=True)
linear = ss.KernelSamples.from_points(X_c, y_c, "linear")
values, vectors = np.linalg.eigh(linear.gram(np.arange(len(linear))))
v = vectors[:, 0]
element = linear.adjoint(v)
bound = linear.cone.relative_error / 2.0**-53
assert np.sum(values < 0) > 100 and -values[0] < 1e-14 * values[-1] and bound < 100
assert values[0] < 0 and element.norm_lower() == 0.0 and element.norm_upper() > np.sqrt(-values[0])
print("more than 100 computed eigenvalues are negative, none below -1e-14 of the largest")
print(f"library: lower bound {element.norm_lower()} of the length of such a combination")
print(f"bound of the error of the entries: {bound:.0f} units of roundoff")

# %% [markdown]
# The library rejects a matrix that is not a kernel up to rounding, because no ball is valid for such a matrix:

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
# With a very large $\gamma$ a Gaussian kernel $K$ is nearly the unit matrix. What are $C_{\min}$ and the solution
# for every $C$, and from which $C$ on can screening decide nothing?
#
# <details>
# <summary><b>Solution</b></summary>
#
# For $Q = I$ the samples are orthogonal and $(Q\mathbf 1)_i = 1$, so $C_{\min} = 1$. For $C \le 1$, $a = C\mathbf 1$ and
# all samples are in L. For $C > 1$, $a = \mathbf 1$ and every margin is exactly 1. So every sample is on the kink, no rule
# can screen a sample, and $w$ is constant. The reference has no loss, so the intersection test knows $w$
# ([`33-intersection-test`](33-intersection-test.ipynb)), but it decides nothing, because no sample is in L or R.
#
# </details>

# %%
alone = ss.KernelSamples(np.eye(60), y_c[:60])
for C in (0.5, 2.0):
    solution = ss.solve(ss.Problem(alone, ss.Hinge()), 1 / C, tol=1e-6, rtol=1e-9)
    found = svm.intersection_test(alone, 1.2 * C, solution)
    values = np.unique(np.round(C * solution.alpha, 6))
    print(f"C = {C}: a = {values}, decided for 1.2 C: {found.rate:.0%}")
assert abs(svm.c_min(alone) - 1) < 1e-9

# %% [markdown]
# ## Fine print
#
# * **Reading is not computing.** The table counts entries of a stored kernel matrix. If the matrix does not fit in memory,
#   each cold column costs $n$ kernel evaluations, $O(n d)$.
# * **Taken literally** $O(n\|\Delta s\|_0)$ is 0 if nothing changes, and the test still computes $n$ bounds.
# * **SSS13's formulas (15) to (18) and its kernel forms** are lost in the text at hand. [`36b-dome-test`](36b-dome-test.ipynb)
#   derives the bounds of the theorem, and this notebook writes them in kernel form. The paper does not say for which
#   Gaussian widths and data it makes its remark. Its "Interpretation" bounds a change of margin by $\sqrt{(B - A)/A}$ times
#   a factor that is largest for samples perpendicular to $w_a$. This bound is the distance to the rim, for samples with $q_i \ge 0$.
# * **The library's sums.** A vector $w = C \sum_i \alpha_i z_i$ of the library stores the sum $\sum_i \alpha_i z_i$. The
#   library computes the sum for other dual variables from the stored one if few variables differ. The error of an image
#   grows with every update. If it exceeds eight times the error of a fresh product, the library computes the image anew.
# * **Without caches** the papers' $O(n^2)$ is $n(\|\alpha\|_0 + \|s\|_0)$.
#
# ## References
#
# * SSS13: Ogawa, Suzuki, Takeuchi, *Safe Screening of Non-Support Vectors in Pathwise SVM Computation*, ICML 2013:
#   section 3 ("Kernelization", "Interpretation"), and the conclusion.
# * SSS14: Ogawa, Suzuki, Suzumura, Takeuchi, *Safe Sample Screening for Support Vector Machines*, arXiv:1401.6740,
#   2014: sections IV-D and IV-E, Table I.
