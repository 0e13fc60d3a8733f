# %% [markdown]
# # Safe in floating point
#
# A theorem about balls and margins is proved for real numbers. A program computes with 53 bits. This notebook follows
# every rounding from the data to the decision "this term is in R", and bounds its error. It compares the bounds with exact
# rational arithmetic and with 50 digits, on difficult data.
#
# At the end you will have seen
#
# * four lines of numpy that look right and certify something false, each with its numbers: a cancelled norm, a duality
#   gap clamped at zero, a margin at its threshold, and a NaN;
# * what the library does instead, and that it leaves the term undecided on the same inputs;
# * a test of every rule with thresholds at the exact extreme values of its region, to the last bit;
# * the one constant of the error bounds that is tested and not proved;
# * that all this costs next to nothing.

# %%
import types
import warnings
from fractions import Fraction
from math import isqrt

import mpmath
import numpy as np
import sympy as sp
from sklearn.datasets import load_iris

import safescreen as ss
from safescreen import _blocks
from safescreen.cones import PSDCone
from safescreen.rounding import gamma, norm_upper
from safescreen.rules import RULES
from safescreen_book import figures

# %% [markdown]
# ## The idea in a picture
#
# A triplet is in R if all its margins over the ball lie above its threshold. In exact arithmetic these margins are an
# interval. In the picture this interval extends a little below the threshold, so the triplet is undecided. A program that
# rounds center, radius and norm computes a slightly different interval. In the picture this interval lies above the
# threshold. The decision is false, and there is no message. The library has a bound for the error of each number, and
# widens the interval by these bounds. Its interval contains the exact interval, so every decision of the library is true.

# %%
intervals = {"exact": (-0.15, 2.0), "rounded": (0.15, 2.3), "rounded, with its error": (-0.45, 2.9)}
figure, ax = figures.panels(1, width=6.6, height=2.0)
for height, (name, (low, high)) in enumerate(intervals.items()):
    wrong = name == "rounded"
    colour = figures.COLOURS["R"] if wrong else "#333333"
    verdict = "in R, falsely" if wrong else "undecided"
    ax.plot([low, high], [-height] * 2, color=colour, linewidth=5, solid_capstyle="butt")
    ax.text(3.1, -height, f"{name}: {verdict}", va="center")
ax.axvline(0.0, color="#555555", linestyle="--")
ax.set(xlim=(-1.0, 6.2), ylim=(-2.6, 0.6), yticks=[], xticks=[0.0])
ax.set_title("margins of one triplet over the ball, not to scale", loc="left", fontsize=10)
ax.set_xticklabels(["threshold"])
ax.spines["left"].set_visible(False)
figures.show(
    "Bars show intervals of margins, and a dashed line shows the threshold. The exact interval "
    "extends below the threshold. The rounded interval lies above the threshold, so a program "
    "decides falsely. The rounded interval with its error is longer. It contains the exact "
    "interval and extends below the threshold."
)

# %% [markdown]
# ## The claim
#
# > **Safe in floating point.** Regard the numbers in memory (points, thresholds, $\gamma$, $\lambda$) as *exact*, and let
# > $x^\star$ be the exact solution of the problem with these numbers. If a rule puts term $t$ into R, then
# > $\langle a_t, x^\star\rangle > \tau_t$ in exact arithmetic. If a rule puts term $t$ into L, then
# > $\langle a_t, x^\star\rangle < \tau_t - \gamma$. A rule may always leave a term undecided.
#
# A ball rule compares four computed numbers: a margin $q$, a norm $n$, a radius $r$, and a threshold. The following
# conditions are sufficient:
#
# | computed | condition | section |
# |---|---|---|
# | margin $q = \langle a_t, Q\rangle$ | it has a bound of its error | margins |
# | norm $n \ge \lVert a_t\rVert$ | it is an upper bound, but a tight one | norms |
# | radius $r$ | it is an upper bound, and includes the errors of a gap, of a split, and of the center's own roundings | gap, split |
# | the test $q - r n > \tau$ | it allows for its own roundings | rule |
#
# The assumptions are IEEE double precision, rounding to nearest, and no overflow (the library refuses points whose squared
# distances could overflow). Full metrics also need a stated accuracy of LAPACK's eigenvectors.
#
# <details>
# <summary><b>Symbols</b></summary>
#
# | symbol | what it is |
# |---|---|
# | problem | $P(x;\lambda) = \sum_t \ell(\langle a_t, x\rangle) - \langle c, x\rangle + \frac{\lambda}{2}\lVert x\rVert^2$ over $x \in K$ |
# | loss, threshold $\tau$, width $\gamma$ | $\ell(m) = 0$ for $m > \tau$, $(\tau-m)^2/2\gamma$ for $\tau-\gamma \le m \le \tau$, $\tau-m-\gamma/2$ below; $\ell^*(-\alpha) = \frac{\gamma}{2}\alpha^2 - \tau\alpha$ |
# | cone $K$ | symmetric matrices $\succeq 0$, weights $\ge 0$, or the whole space; $H = H_+ - H_-$ with $H_+ = [H]_K$ |
# | dual point | $H(\alpha) = c + \sum_t \alpha_t a_t$, $\ x(\alpha) = [H(\alpha)]_K/\lambda$, $\ 0 \le \alpha \le 1$ |
# | categories | L: $\langle a_t, x^\star\rangle < \tau_t - \gamma$; R: $\langle a_t, x^\star\rangle > \tau_t$ |
#
# </details>
#
# ## Arithmetic with a known error
#
# With $u = 2^{-53}$ each operation returns its exact result times $1 + \delta$, $|\delta| \le u$. A chain of $n$ such
# factors (or of their inverses) is
#
# $$\prod_{i=1}^n (1 + \delta_i)^{\pm 1} = 1 + \theta_n, \qquad
# |\theta_n| \le \gamma_n = \frac{n u}{1 - n u} .$$
#
# In a dot product of length $n$ each product passes through at most $n$ roundings, in whatever order the sum is computed.
# So its error is at most $\gamma_n \sum |x_k y_k| \le \gamma_n \lVert x\rVert \lVert y\rVert$. The next cell tests the
# bound $\gamma_n$ in exact arithmetic. It also tests that the library's function returns an upper bound of $\gamma_n$.

# %%
u = Fraction(1, 2**53)
for n in (1, 2, 7, 50, 400):
    exact_gamma = n * u / (1 - n * u)
    assert n * u < (1 + u) ** n - 1 + (n == 1) * u**2 and (1 + u) ** n - 1 <= exact_gamma
    assert 1 / (1 - u) ** n - 1 <= exact_gamma <= Fraction(gamma(n))
print("n = 1, 2, 7, 50, 400: n u is too small, gamma_n is large enough,")
print("and the computed gamma_n is not smaller")

# %% [markdown]
# Python's `Fraction` converts a float into its exact rational value, so errors can be computed exactly. The notebook uses
# three kinds of data: small integers, entries between $10^{-8}$ and $10^8$, and vectors that are nearly orthogonal or
# nearly equal, so that sums nearly cancel.


# %%
def fractions(x):
    return [Fraction(v) for v in np.ravel(x).tolist()]


def dot(x, y):
    return sum((a * b for a, b in zip(x, y, strict=True)), Fraction(0))


def pair_of_vectors(kind, n, rng):
    if kind == "small integers":
        return rng.integers(-9, 10, n) * 1.0, rng.integers(-9, 10, n) * 1.0
    x = rng.standard_normal(n) * 10.0 ** rng.uniform(-8, 8, n)
    y = rng.standard_normal(n) * 10.0 ** rng.uniform(-8, 8, n)
    if kind == "nearly cancelling":
        x, y = rng.standard_normal(n), rng.standard_normal(n)
        y -= x * (x @ y) / (x @ x)
    return x, y


# %%
KINDS = ("small integers", "badly scaled", "nearly cancelling")
rng, dots = np.random.default_rng(0), {kind: [] for kind in KINDS}
for kind in KINDS:
    for n in np.unique(np.round(np.geomspace(2, 1000, 25)).astype(int)):
        x, y = pair_of_vectors(kind, n, rng)
        true = dot(fractions(x), fractions(y))
        error = abs(Fraction(float(x @ y)) - true)
        size = norm_upper(x) * norm_upper(y)
        assert error <= Fraction(gamma(n)) * Fraction(norm_upper(x)) * Fraction(norm_upper(y))
        dots[kind].append((n, float(error) / size, error > abs(true) / 2))
for kind in KINDS:
    used = max(Fraction(size) / Fraction(gamma(int(n))) for n, size, _ in dots[kind])
    rounded_up = np.ceil(2 * float(used)) / 2
    print(f"{kind:18} error over its bound: at most {rounded_up} (allowed 1)")
lost = sum(bad for *_, bad in dots["nearly cancelling"])
assert lost >= 5
print("nearly cancelling: results without one right digit:", min(lost, 5), "or more of",
      len(dots[kind]))

# %% tags=["nbval-ignore-output"]
figure, axes = figures.panels(1, width=5.6, height=3.2)
marks, shares = {}, []
for kind in KINDS[1:]:
    lengths, sizes, _ = zip(*dots[kind], strict=True)
    marks[kind] = lengths, np.maximum(sizes, 1e-19)
    shares += [size / gamma(n) for n, size in zip(*marks[kind], strict=True)]
grid = np.geomspace(2, 1000, 50)
bound = {r"bound $\gamma_n$": (grid, [gamma(n) for n in grid])}
labels = {
    "title": "dot products: error and its bound",
    "xlabel": "length n",
    "ylabel": r"error $/\ (\|x\|\,\|y\|)$",
}
figures.lines(bound, dots=marks, ax=axes, log="xy", **labels)
figures.show(
    "Dots show the error of dot products, divided by the product of the norms, against the length, "
    "on logarithmic axes, for badly scaled and nearly cancelling data. A line shows the bound, "
    f"which rises from {gamma(2):.0e} to {gamma(1000):.0e}. All dots lie below the line, and the "
    f"highest dot is at {max(shares):.1g} of the bound."
)

# %% [markdown]
# The computed result does not show its error: for nearly cancelling vectors *no* digit of the computed dot product is
# right, although the error is within its bound. For this reason each margin has its own bound. (Dot products of small
# integers are exact, and the picture omits them.)
#
# ## Many columns
#
# The bound $\gamma_n$ is valid for every order of a sum, and grows with $n$. This is a disadvantage for points with
# 20,000 columns. But the error of a product comes from one rounding of its own and from the additions that include it. The
# number of these additions depends on the order of the sum. For a row of more than 1024 numbers the library uses its own order. In a block
# of 1024 numbers, it adds the products to 128 partial sums in turn, the *lanes*. Then it adds the lanes in pairs, and the
# blocks in pairs:
#
# | a product of a row with m blocks is rounded | times, at most |
# |---|---|
# | by itself | 1 |
# | in its lane, which starts at an exact 0 and gets 8 products | 7 |
# | among the lanes | $\log_2 128 = 7$ |
# | among the blocks | $\lceil\log_2 m\rceil$ |
#
# So the error is at most $\gamma_k \sum |x_j y_j|$ with $k = 15 + \lceil\log_2 m\rceil$, which is 20 for 20,000 columns.
# For matrices of inner products the library uses BLAS, and no BLAS promises an order. The library calls BLAS for blocks of
# 256 columns and adds the blocks one after the other: $k = 255 + m$ for $m$ such blocks.
#
# The compiled loops are Python functions. The next cells run these functions on numbers that have no value and count their
# roundings. The counts equal the numbers in the library's bounds, so a smaller number would not be enough.


# %%
class Rounded:
    """A number that only counts its roundings; adding an exact 0 does not round."""

    def __init__(self, times=0):
        self.times = times

    def __mul__(self, other):
        return Rounded(max(self.times, other.times) + 1)

    def __add__(self, other):
        exact_zero = isinstance(other, float) and other == 0.0
        return self if exact_zero else Rounded(max(self.times, other.times) + 1)

    __radd__ = __add__


def counting(*shape):
    return np.array([Rounded() for _ in range(np.prod(shape))], dtype=object).reshape(shape)


def as_python(kernel, **others):
    function = getattr(kernel, "py_func", kernel)
    return types.FunctionType(function.__code__, {**vars(_blocks), **others})


# %% tags=["NEW-FP"]
total = as_python(_blocks._total)
dense = as_python(_blocks._dense_products, _total=total)
csr = as_python(_blocks._sparse_products, _total=total)
for n in (1025, 1024 + 255, 2048, 4096, 5000, 8192):
    out = np.empty(2, dtype=object)
    dense(counting(1, n), counting(1, n), out[:1])
    csr(counting(n), np.arange(n), np.array([0, n]), counting(n), out[1:])
    assert out[0].times == out[1].times <= _blocks.roundings(n)
    assert n % 1024 or out[0].times == _blocks.roundings(n)
    matrix = _blocks.matrix_products(counting(1, n), counting(1, n), np.empty((1, 1), dtype=object))
    in_row, in_matrix = out[0].times, matrix[0, 0].times
    assert in_matrix == _blocks.matrix_roundings(n)
    print(f"{n} columns: a product is rounded {in_row} times in a row, {in_matrix} in a matrix")
lengths = 20_000, 1_000_000
print("roundings in the bound of a row of 20000 and of a million columns:",
      *(_blocks.roundings(n) for n in lengths))

# %% [markdown]
# The next cell tests the bound, and whether the order matters. A fourth kind of data is a 1 followed by halves of its last
# bit. If these numbers are added one after the other, each half is rounded away.

# %%
rng, n = np.random.default_rng(5), 20_000
for kind in (*KINDS, "rounded away"):
    if kind == "rounded away":
        x, y = np.full(n, 2.0**-53), np.ones(n)
        x[0] = 1.0
    else:
        x, y = pair_of_vectors(kind, n, rng)
    true, size = dot(fractions(x), fractions(y)), dot(fractions(np.abs(x)), fractions(np.abs(y)))
    error = abs(Fraction(float(_blocks.row_products(x[None], y)[0])) - true)
    assert error <= Fraction(gamma(_blocks.roundings(n))) * size
one_by_one = abs(Fraction(sum((x * y).tolist())) - true) / size
ratio = one_by_one / Fraction(gamma(_blocks.roundings(n)))
print("in blocks: every error is within its bound")
print(f"one after the other: the error is {int(ratio)} times the bound of the blocks")
assert ratio > 900

# %% [markdown]
# The hinge needs one more idea. Its gap has the term $\alpha_t(m_t - 1)$ above the kink and $(1 - \alpha_t)(1 - m_t)$ below
# the kink. For a support vector machine with many columns most margins at the solution are *at* the kink: $m_t = 1$ up to
# an error $e_t$, and the side of the kink is unknown. So the bound of the gap contains about $e_t$ for each of these
# samples. This sum does not depend on $\lambda$, but the objective, $\frac{\lambda}{2}\lVert x\rVert^2$, falls with $\lambda$.
# However, the gap bound is valid for any $x$. At $(1 + \nu)x$ with $\nu \ge 3 \max e_t$ all these margins are certainly above the
# kink, and their loss is certainly 0. The bound then contains $\alpha_t(\nu + 2e_t)$, and $\sum \alpha_t \le 2P$. So the
# bound is a fixed *part* of the objective.

# %%
X, y = rng.standard_normal((16, 3000)), np.where(np.arange(16) % 2, 1, -1)
wide = ss.Problem(ss.Samples(X, y), ss.Hinge())
elements = [fractions(row) for row in X * y[:, None]]


def exact_hinge_gap(x, alpha, lam):
    """P(x) - D(alpha) of samples, in fractions."""
    x, alpha, lam = fractions(x), fractions(alpha), Fraction(lam)
    H = [dot(alpha, column) for column in zip(*elements, strict=True)]
    loss = sum(max(1 - dot(z, x), Fraction(0)) for z in elements)
    return loss + lam / 2 * dot(x, x) - sum(alpha) + dot(H, H) / (2 * lam)


# %%
for lam in (1.0, 1e-3, 1e-6):
    solution = ss.solve(wide, lam, tol=0.0, rtol=1e-11)
    alpha = solution.dual_point.unpack()
    H = wide.terms.adjoint(alpha)
    at_kink = wide.evaluate(H / lam, lam, alpha)
    exact_gap_there = exact_hinge_gap(solution.x, alpha, lam)
    assert solution.converged and 0 <= exact_gap_there <= Fraction(solution.gap)
    power = int(np.floor(np.log10(at_kink.gap / solution.primal)))
    print(f"lam {lam:g}: gap over P above the kinks below 1e-11, at the kinks above 1e{power}")

# %% [markdown]
# ## Margins of triplets
#
# A triplet's margin is a difference of two squared distances, $\langle H_{ijl}, M\rangle = d_{il} - d_{ij}$. The library
# computes each distance once for each pair, as $d_{ij} = (c_i - c_j)'(z_i - z_j)$ with centered points $c_i = x_i - \mu$
# and $Z = CM$. Let $s = \lVert c_i\rVert + \lVert c_j\rVert$ and $w = \lVert c_i - c_j\rVert$. For $\lVert M\rVert = 1$ the
# rounding errors are:
#
# | from | at most |
# |---|---|
# | centering: $c_i$ has an error of $u\lVert c_i\rVert$ (an error of $\mu$ cancels) | $2 w\, u s + u^2 s^2$ |
# | $z_i$, a dot product; the difference $z_i - z_j$ | $w f$, $\quad f = \gamma_d (1+u)\, s + u w$ |
# | the difference $c_i - c_j$ | $u w\,(w + f)$ |
# | the closing dot product | $\gamma_d (1+u)\, w\,(w + f)$ |
#
# The library uses the bound $\gamma_{2d+10}\, s\,(w + 4us)$ for their sum. The sum of the table minus this bound is a
# convex parabola in $w$. So it is negative on $0 \le w \le s$ when it is negative at both ends. For each dimension $d$ this
# is a finite check in exact arithmetic.

# %%
for d in [*range(1, 60), 100, 1000, 10**4, 10**6]:
    g = d * u / (1 - d * u)
    charged = (2 * d + 10) * u / (1 - (2 * d + 10) * u)
    for w in (Fraction(0), Fraction(1)):  # s = 1
        f = g * (1 + u) + u * w
        total = 2 * w * u + u**2 + w * f + u * w * (w + f) + g * (1 + u) * w * (w + f)
        assert total <= charged * (w + 4 * u)
print("the bound is at least the sum of the table, for d = 1 to 59 and 100 to a million")

# %% [markdown]
# The bound is useful because it has the factor $s\,w$ and not $s^2$: the distance of two points close to each other is
# accurate. The next cells compare the library's margins with fractions of the raw, uncentered data. A fourth kind of data
# has its points $10^8$ away from the origin. The cells also test a popular method that computes all distances by one matrix
# product, $x_i'Mx_i + x_j'Mx_j - 2x_i'Mx_j$.


# %%
def points(kind, rng, n=10, d=3):
    y = np.arange(n) % 2
    if kind == "small integers":
        return rng.integers(-4, 5, (n, d)) * 1.0, y
    X = rng.standard_normal((n, d))
    if kind == "badly scaled":
        X *= 10.0 ** rng.uniform(-8, 8, d)
    elif kind == "nearly cancelling":
        X[n // 2 :] = X[: n - n // 2] * (1.0 + 1e-8 * rng.standard_normal((n - n // 2, d)))
    elif kind == "far away":
        X += 1e8
    return X, y


def exact_triplets(X, index):
    """The matrices H_ijl as flat lists of fractions."""
    rows, terms = [fractions(row) for row in X], []
    for i, j, m in index.tolist():
        b, a = ([p - q for p, q in zip(rows[i], rows[k], strict=True)] for k in (m, j))
        H = []
        for p, s in zip(b, a, strict=True):
            H += [p * q - s * t for q, t in zip(b, a, strict=True)]
        terms.append(H)
    return terms


# %%
def compare_margins(X, y, M):
    """Numbers of triplets, of the library's margins within their bound, and of wrong signs of
    expanded squares."""
    terms = ss.Triplets.from_labels(X, y, k=3)
    values, errors = terms.inner_products(M).chunk(0, len(terms))
    gram = X @ M @ X.T
    distance = np.diag(gram)[:, None] + np.diag(gram) - 2 * gram
    i, j, m = terms.index.T
    expanded = distance[i, m] - distance[i, j]
    true = [dot(a, fractions(M)) for a in exact_triplets(X, terms.index)]
    covered = [abs(Fraction(float(q)) - t) <= Fraction(float(e))
               for q, e, t in zip(values, errors, true, strict=True)]
    wrong_sign = [(other > 0) != (t > 0) for other, t in zip(expanded, true, strict=True)]
    return np.array([len(true), sum(covered), sum(wrong_sign)])


# %%
KINDS = (*KINDS, "far away")
rng = np.random.default_rng(1)
for kind in KINDS:
    total = np.zeros(3, dtype=int)
    for _ in range(5):
        X, y = points(kind, rng)
        L = rng.standard_normal((3, 3))
        total += compare_margins(X, y, L @ L.T)
    count, covered, wrong_sign = total
    assert covered == count
    some = f"{min(wrong_sign, 20)} or more" if wrong_sign else "0"
    print(f"{kind:18} within their bound: {covered} of {count};   "
          f"expanded squares of wrong sign: {some}")

# %% [markdown]
# ## Norms
#
# With $b = x_i - x_l$ and $a = x_i - x_j$, so that $H = bb' - aa'$, multiplying out gives
#
# $$\lVert H\rVert^2 = |b|^4 + |a|^4 - 2 (a'b)^2 .$$
#
# The terms of this sum cancel when $a$ and $b$ are nearly equal. These triplets are important: the point of another class
# is hardly farther than the point of the same class. With $p = b - a = x_j - x_l$ and $s = b + a$ nothing cancels, because
# $H = (p s' + s p')/2$:

# %%
a, b = (sp.Matrix(sp.symbols(f"{name}1:4", real=True)) for name in "ab")
p, s = b - a, b + a
H = b * b.T - a * a.T
assert (H - (p * s.T + s * p.T) / 2).expand() == sp.zeros(3, 3)
norm_square = (H.T * H).trace()
two_squares = ((p.T * p)[0] * (s.T * s)[0] + (p.T * s)[0] ** 2) / 2
cancelling = (b.T * b)[0] ** 2 + (a.T * a)[0] ** 2 - 2 * (a.T * b)[0] ** 2
assert sp.expand(two_squares - norm_square) == 0
assert sp.expand(norm_square - cancelling) == 0
print("|H|^2 = (|p|^2 |s|^2 + (p's)^2)/2: a sum of two squares")

# %% [markdown]
# **First unsafe decision.** The next cell has three points, and the distance of two of them is $2^{-29.5}$. The ball of
# matrices has the center $2^{30} I$ and the radius $2^{30}$. The cancelled norm is exactly 0. So for this triplet the ball seems to
# be a point, and its margin 2 is above the threshold 1.

# %%
tiny = 2.0**-30
X = np.array([[0.0, 0.0], [1.0, 0.0], [1.0 + tiny, tiny]])
triplet = ss.Triplets(X, [[0, 1, 2]])
ball = ss.Sphere(2.0**30 * np.eye(2), 2.0**30)

b, a = X[0] - X[2], X[0] - X[1]
cancelled = max((b @ b) ** 2 + (a @ a) ** 2 - 2 * (a @ b) ** 2, 0.0) ** 0.5
q = float(triplet.margins(ball.center)[0])
h = exact_triplets(X, triplet.index)[0]
exact_norm = float(dot(h, h)) ** 0.5

print(f"norm: cancelled {cancelled:.1e}, exact {exact_norm:.3e}, library {triplet.norms[0]:.3e}")
naive, exact = q - ball.radius * cancelled, q - ball.radius * exact_norm
print(f"smallest margin in the ball: naive {naive:.3f}, exact {exact:.3f}")
found = ss.rules.sphere(ss.Problem(triplet, ss.SmoothedHinge(0.05)), ball)
print("naive rule: R;  library:", "R" if found.in_R[0] else "undecided")
assert cancelled == 0.0 and exact < 1.0 < naive
assert not found.in_R[0] and Fraction(float(triplet.norms[0])) ** 2 >= dot(h, h)
assert triplet.norms[0] <= exact_norm * (1 + 1e-6)

# %% [markdown]
# ## The duality gap
#
# The radius of a gap bound is $\sqrt{2(P - D)/\lambda}$. At a good reference $P$ and $D$ are two large numbers that agree
# in all digits. Their computed difference is rounding noise, as often negative as positive. A tempting repair is
# `max(P - D, 0)`. With this repair the radius claims that the reference is *exact*.
#
# The gap is also a sum of non-negative terms, and all of them are 0 at the optimum (Fenchel's inequality with its equality
# case, see [`10-problem-and-duality`](10-problem-and-duality.ipynb)):
#
# $$P(x) - D(\alpha) = \tfrac{\lambda}{2}\lVert x - x(\alpha)\rVert^2 + \langle x, H_-\rangle
#   + \sum_t \big(\ell(m_t) + \ell^*(-\alpha_t) + \alpha_t m_t\big), \quad m_t = \langle a_t, x\rangle .$$
#
# A sum of non-negative numbers is as accurate as its terms. But the terms are computed from $H$, $x$ and $m_t$ with small
# errors. These errors change the gap little, because the gap is flat at the optimum:
#
# * Let $H$ have an error $h$ (of its sum and of its split). As a function of $H$ the gap has the gradient $x(\alpha) - x$,
#   with Lipschitz constant $1/\lambda$. So the gap changes by at most $h \lVert x - x(\alpha)\rVert + h^2/\lambda$.
# * Let a margin have an error $e$, and let $\alpha_t$ belong to the computed margin. The Fenchel term is a smooth function
#   of the margin, and its minimum, 0, is at the computed margin. So the term changes by at most $e^2/2\gamma$ (and at most
#   $e$).
#
# The next cells compare gaps with fractions along the iterations of a solver, on thirty irises with diagonal metrics.

# %%
X, y = load_iris(return_X_y=True)
X, y = X[::5], y[::5]
loss = ss.SmoothedHinge(0.05)
flowers = ss.Problem(ss.Triplets.from_labels(X, y, k=3, diagonal=True), loss)
lam = 0.02 * flowers.lam_max()
exact_terms = [h[:: X.shape[1] + 1] for h in exact_triplets(X, flowers.terms.index)]


def exact_gap(terms, x, alpha, lam, width):
    """P(x) - D(alpha) for the non-negative cone, in fractions."""
    x, alpha, lam, width = fractions(x), fractions(alpha), Fraction(lam), Fraction(width)
    value = lam / 2 * dot(x, x)
    for row, weight in zip(terms, alpha, strict=True):
        slack = 1 - dot(row, x)
        best = min(max(slack / width, Fraction(0)), Fraction(1))
        value += best * (slack - width * best / 2) - weight + width / 2 * weight**2
    H = [dot(alpha, column) for column in zip(*terms, strict=True)]
    return value + sum(max(v, Fraction(0)) ** 2 for v in H) / (2 * lam)


# %% [markdown]
# The next cell solves to the limit of the arithmetic. At every iterate it computes the subtracted gap, the exact gap in
# fractions, and the library's gap.

# %%
visited = []
limits = {"tol": 0.0, "rtol": 1e-30, "max_iter": 32}
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ss.ConvergenceWarning)
    ss.solve(flowers, lam, **limits, screening=(), callback=lambda step: visited.append(step.x))
rows = []
for x in visited:
    e = flowers.evaluate(x, lam)
    in_fractions = float(exact_gap(exact_terms, x, flowers.alpha(x), lam, 0.05))
    rows.append((e.primal - e.dual, in_fractions, e.gap))
subtracted, exact, bound = np.array(rows).T
assert np.all(bound >= exact) and np.all(exact >= 0.0) and np.any(subtracted < exact)

# %% [markdown]
# How small does each gap become? The digits of $P$ limit the subtracted gap, and do not limit the exact gap.

# %%
below = int(np.sum(subtracted < exact))
print("iterates at which the library's gap is below the exact gap:", np.sum(bound < exact),
      "(bound 0)")
print("iterates at which the subtracted gap is below the exact gap:", min(below, 3), "or more")
smallest = np.abs(subtracted[subtracted != 0.0]).min()
exact_power = max(-17, int(np.ceil(np.log10(exact.min() / e.primal))))
subtracted_power = min(-17, int(np.floor(np.log10(smallest / e.primal))))
print(f"smallest exact gap: below 1e{exact_power} P")
print(f"smallest |P - D| that is not 0: above 1e{subtracted_power} P")
# a difference of two floats near P is a multiple of half their last bit
assert smallest > 1e-17 * e.primal

# %% tags=["nbval-ignore-output"]
curves = {
    "P - D subtracted (absolute value)": np.where(subtracted == 0.0, np.nan, np.abs(subtracted)),
    "exact gap": np.maximum(exact, 1e-40),
    "library: sum and allowance": bound,
}
names = list(curves)
figure, axes = figures.panels(1, width=6.4, height=3.4)
title = "the gap along a solve"
figures.lines(curves, ax=axes, title=title, xlabel="iteration", log="y", marks=True)
figures.show(
    "Curves show the duality gap along a solve, on a logarithmic axis. The curves are equal at "
    f"first. In the end the exact gap is {exact[-1]:.0e}. The library's sum with its allowance "
    f"stays above the exact gap and ends at {bound[-1]:.0e}. The curve of the subtracted gap has "
    "holes where this gap is zero, and elsewhere its absolute value is "
    f"{np.nanmin(curves[names[0]]):.0e} or more."
)

# %% [markdown]
# Where the dark curve has a hole, the subtraction gave exactly 0. Some of its last points are negative. The subtracted gap
# does not show that the exact gap still falls. The library's gap does not fall below its own allowance. This allowance is
# far below the rounding noise of the subtraction but not zero, so the library never claims a radius of 0.
#
# **Second unsafe decision.** A noise of a few units in the last place of $P$ seems harmless. But the radius is the square
# *root* of the gap. The next cell has a support vector machine with one feature. 4096 samples lie on the linear piece of
# the loss, and one sample has $z = 1 + 2^{-24}$. All numbers are sums of a few powers of two, so $P$ and the sums in $D$
# are exact. The only rounding is the last subtraction of $D$. The exact solution solves one linear equation.

# %%
zeta = 2.0**-24
Z = np.append(np.full(4096, 2.0**-12 * (1.0 - 2.0**-23)), 1.0 + zeta)
x, lam, width = 1.0, 1.0, 0.5

margin = Z * x
alpha = np.clip((1.0 - margin) / width, 0.0, 1.0)
P = np.sum(alpha * (1.0 - margin - width / 2 * alpha)) + lam / 2 * x**2
D = np.sum(alpha) - width / 2 * np.sum(alpha**2) - np.sum(alpha * Z) ** 2 / (2 * lam)
radius = np.sqrt(2 * max(P - D, 0.0) / lam)
naive_R = margin - radius * np.abs(Z) > 1.0

h, z = 4096 * Fraction(Z[0]), Fraction(Z[-1])
x_star = (h + 2 * z) / (1 + 2 * z * z)  # lam x = h + z alpha, alpha = 2 (1 - z x)
true_gap = (1 - h) ** 2 / 2
assert all(Fraction(v) * x_star < Fraction(1, 2) for v in Z[:-1])
assert Fraction(1, 2) < z * x_star < 1

# %%
print(f"P - D computed: {P - D:.1f}, exactly: {float(true_gap):.2e}; P is {P:.1f}")
print(f"radius: clamped {radius:.1f}, needed {float(2 * true_gap) ** 0.5:.2e}")
missing = float(1 - z * x_star)
print(f"margin of the last sample at the solution: 1 - {missing:.1e}, so it is not in R")
print(f"the naive rule puts into R: {np.sum(naive_R)} sample")
assert P - D == 0.0 and naive_R[-1] and z * x_star < 1

# %% [markdown]
# The next cell computes the library's radius at the same point. This radius is at least the distance of the solution, and
# the library leaves the sample undecided.

# %%
labels = np.where(np.arange(4097) % 2, 1, -1)
machine = ss.Problem(ss.Samples((labels * Z)[:, None], labels), ss.SmoothedHinge(width))
safe = ss.spheres.duality_gap_bound(machine, np.array([1.0]), lam)
found = ss.rules.sphere(machine, safe)
assert not found.in_R[-1] and Fraction(safe.radius) ** 2 >= 2 * true_gap
ratio = int(safe.radius / float(1 - x_star))
print(f"library: the radius is at least {ratio} times the distance of the solution")
print(f"samples in L: {found.n_L}, in R: {found.n_R} (the last sample is undecided)")
assert Fraction(safe.radius) >= 1 - x_star
assert not found.in_R[-1] and not found.in_L[-1]

# %% [markdown]
# At the solution the last sample has a positive loss, and the naive rule certified that its loss is 0. Half a unit in the
# last place of $P$ corresponds to a radius of about $\sqrt{u P/\lambda}$, which is $10^{-7}$ here. With half a billion
# triplets and $P/\lambda = 10^{9}$ the radius is $3 \cdot 10^{-4}$, which is larger than many useful radii.
#
# ## The split of the cone
#
# For non-negative weights and for the whole space $H_+$ and $H_-$ are exact. For matrices the library computes them by an
# eigendecomposition. LAPACK's eigendecomposition is backward stable: the computed result is nearly exact for $H + E$ with
# $\lVert E\rVert \le p(d)\, u \lVert H\rVert$. Projections do not expand distances, so both parts are as accurate.
# LAPACK's documentation calls $p(d)$ a modest polynomial and does not state it. The library uses $16\,d$.
#
# **This constant is tested, not proved.** The next cell tests it against 50 digits, with eigenvalues spread over 14 orders
# of magnitude, differences of rank-one matrices, and matrices as large as $10^{20}$ and as small as $10^{-20}$.

# %%
mpmath.mp.dps = 50


def exact_positive_part(H):
    """[H]_+ in 50 digits."""
    values, vectors = mpmath.eigsy(mpmath.matrix(H.tolist()))
    d = H.shape[0]
    total = mpmath.matrix(d, d)
    for k in range(d):
        total += max(values[k], 0) * vectors[:, k] * vectors[:, k].T
    return total


rng, worst = np.random.default_rng(2), 0.0
for trial in range(60):
    d = int(rng.integers(2, 8))
    Q = np.linalg.qr(rng.standard_normal((d, d)))[0]
    values = rng.standard_normal(d) * 10.0 ** rng.integers(-12, 3, d)
    near = Q[0] + 1e-7 * Q[1]
    H = (Q * values @ Q.T, np.outer(Q[0], Q[0]) - np.outer(near, near), Q + Q.T)[trial % 3]
    H = 0.5 * (H + H.T) * 10.0 ** (20 * (trial % 5 - 2) / 2)
    cone = PSDCone(d)
    error = mpmath.norm(mpmath.matrix(cone.split(H)[0].tolist()) - exact_positive_part(H))
    worst = max(worst, float(error / cone.split_error(H)))
rounded_up = np.ceil(4 * worst) / 4
print(f"60 matrices, largest error over its bound: at most {rounded_up} (allowed 1)")
assert worst <= 1.0


# %% [markdown]
# With this one assumption the gap of a full metric has an upper bound too. The next cells test near-optimal and other
# points $x$, with $\alpha(x)$, on the four kinds of data. They compute the gap from its definition in 50 digits.

# %%
def high_gap(terms, x, alpha, weight):
    """The duality gap of a matrix problem in 50 digits; x is replaced by its nearest point of
    the cone."""
    width, weight = mpmath.mpf(0.05), mpmath.mpf(weight)
    z = exact_positive_part(x)
    value = weight / 2 * mpmath.norm(z) ** 2
    H = mpmath.matrix(3, 3)
    for h, alpha_t in zip(terms, map(mpmath.mpf, alpha.tolist()), strict=True):
        slack = 1 - mpmath.fsum(p * q for p, q in zip(h, z, strict=True))
        slope = min(max(slack / width, 0), 1)
        value += slope * (slack - width * slope / 2)  # the loss
        value += width / 2 * alpha_t**2 - alpha_t  # minus the term of the dual objective
        H += alpha_t * mpmath.matrix([h[:3], h[3:6], h[6:]])
    size = mpmath.norm(H)
    if size > 0:
        values = mpmath.eigsy(H / size, eigvals_only=True)
        value += size**2 * mpmath.fsum(max(v, 0) ** 2 for v in values) / (2 * weight)
    return value


# %%
rng = np.random.default_rng(3)
checked = 0
for kind in KINDS:
    X, y = points(kind, rng, n=8)
    problem = ss.Problem(ss.Triplets.from_labels(X, y, k=2), loss)
    weight = 0.1 * (problem.lam_max() or float(np.linalg.norm(problem.terms.norms)))
    best = ss.solve(problem, weight, tol=0.0, rtol=1e-6).x
    elements = exact_triplets(X, problem.terms.index)
    terms = [[mpmath.mpf(v.numerator) / v.denominator for v in h] for h in elements]
    for x in (best, np.zeros((3, 3)), np.eye(3) * np.linalg.norm(best)):
        alpha = problem.alpha(x)
        assert problem.evaluate(x, weight, alpha).gap >= high_gap(terms, x, alpha, weight)
        checked += 1
print("gaps at least as large as in 50 digits:", checked, "of", checked)

# %% [markdown]
# ## The rule itself
#
# Given $q$ with its error $e$, $n$ and $r$, the rule must make its test with floats. The test is
#
# $$\mathrm{fl}(q - S) > \tau, \qquad
# S = \mathrm{fl}\big(e + r n + 8u\,(|q| + e + rn + |\tau| + \gamma)\big) .$$
#
# The comparison needs no allowance. Rounding is monotone, so $q - S \le \tau$ would give
# $\mathrm{fl}(q - S) \le \mathrm{fl}(\tau) = \tau$. Thus a strict inequality between floats is a strict inequality between
# the exact numbers. The sum $e + rn$ has two roundings, and the $8u$ terms exceed their errors. The $8u$ terms also exceed
# the error of the rounding in $\tau - \gamma$, which is at most $u|\tau - \gamma|$. This completes the proof.
#
# ## Every rule, at its own threshold
#
# The other rules need the minimum over smaller regions. With $s = \langle a, P\rangle$, $n = \lVert a\rVert$:
#
# | region | minimum of $\langle a, x\rangle$ |
# |---|---|
# | ball | $q - r n$ |
# | ball and half-space $\langle P, x - Q\rangle \ge \Delta$ | $q - rn$, or $\big(q\lVert P\rVert^2 + \Delta s - \sqrt{(r^2\lVert P\rVert^2 - \Delta^2)(n^2\lVert P\rVert^2 - s^2)}\big)/\lVert P\rVert^2$ |
# | two balls, centers $D$ apart, $G = D^2 + r_2^2 - r_1^2$ | the minimum over one ball, or $\big(2D^2 q_2 + G(q_1 - q_2) - \sqrt{(4D^2r_2^2 - G^2)(n^2D^2 - (q_1 - q_2)^2)}\big)/2D^2$ |
# | ball and cone | $\langle a, x\rangle$ at $x = [Q - ta]_K$, $\lVert x - Q\rVert = r$ |
#
# The library evaluates each minimum as a *dual* value: $q + k\delta - r\lVert a - kp\rVert$ for the half-space, the bound
# of a mixture for two balls, and $2yC + \lVert Q\rVert^2 - \lVert [Q + ya]_K\rVert^2$ for the cone. These values are valid for every multiplier
# $k, y \ge 0$. So the rounding of the multiplier does not matter. The library allows only for the rounding of the value at
# this multiplier.
#
# **Third unsafe decision, and the check.** Each triplet gets its own threshold: the exact minimum, rounded to a float and
# moved by $-1$ to $3$ units in the last place to the wrong side. (One in four thresholds is moved by $10^{-6}$ of the scale
# to the right side, to test that the library does decide.) The first three minima are $(N - \sqrt W)/D$ with rational
# $N, W, D$. So the right answer needs no root: the minimum is above $\tau$ when $N - \tau D > 0$ and
# $(N - \tau D)^2 > W$. For a cone one point proves a decision wrong. The point $x$ is computed from floats ($LL'$ with a
# computed $L$), and $r$ is a float that is at least the distance of $x$ from $Q$. If a rule claims a minimum above
# $\tau \ge \langle a, x\rangle$, it is wrong. The naive rules are the same formulas without error bounds.


# %%
def at_most(G, square, B):
    """Whether G sqrt(square) <= B."""
    if G <= 0:
        return B >= 0 or B * B <= G * G * square
    return B >= 0 and B * B >= G * G * square


def over_ball(q, nn, r):
    return q, r * r * nn, Fraction(1)


def over_halfspace(q, nn, r, s, delta, PP):
    if at_most(delta, nn, -r * s) or delta <= 0 and delta**2 >= r * r * PP:
        return over_ball(q, nn, r)
    return q * PP + delta * s, (r * r * PP - delta**2) * (nn * PP - s * s), PP


def over_two_balls(q1, nn, r1, q2, r2, DD):
    A, G = q1 - q2, DD + r2 * r2 - r1 * r1
    if at_most(DD + r1 * r1 - r2 * r2, nn, 2 * r1 * A):
        return over_ball(q1, nn, r1)
    if at_most(G, nn, -2 * r2 * A):
        return over_ball(q2, nn, r2)
    return 2 * DD * q2 + G * A, (4 * DD * r2 * r2 - G * G) * (nn * DD - A * A), 2 * DD


# %%
def above(end, tau):
    left = end[0] - tau * end[2]
    return left > 0 and left**2 > end[1]


def nearest(end):
    N, W, D = end
    shift = 4 ** (300 + W.denominator.bit_length())
    return float((N - Fraction(isqrt(int(W * shift)), isqrt(shift))) / D)


# %%
def symmetric(kind, d):
    if kind == "small integers":
        A = rng.integers(-2, 3, (d, d)) * 1.0
    else:
        A = rng.standard_normal((d, d))
    return A + A.T


def judge(name, rule, terms, side, ends, naive, scale):
    """Count decisions with thresholds around the minima of all terms (side 1), or around their
    maxima, with signs reversed (side -1)."""
    level = np.array([nearest(end) for end in ends])
    level += rng.integers(-1, 4, len(ends)) * np.spacing(np.abs(level))
    level -= np.where(rng.random(len(ends)) < 0.25, 1e-6 * scale, 0.0)
    found = rule(ss.Problem(terms.with_threshold(side * level), ss.Hinge()))
    decided = found.in_R if side > 0 else found.in_L
    right = np.array([above(end, Fraction(float(v))) for end, v in zip(ends, level, strict=True)])
    counts = len(ends), np.sum(decided), np.sum(decided & ~right), np.sum(naive(level) & ~right)
    tally[name] += np.array(counts, dtype=int)


# %%
def naive_minima(A, first, second, plane):
    """Minima over a ball, over its part in a half-space, and over two balls, by the formulas
    without an error bound."""
    (Q, r), (Q2, r2), (P, b) = first, second, plane
    q, q2 = A @ Q.ravel(), A @ Q2.ravel()
    s, n = A @ P.ravel() / np.linalg.norm(P), np.linalg.norm(A, axis=1)
    h, D = (b - np.vdot(P, Q)) / np.linalg.norm(P), np.linalg.norm(Q - Q2)
    z = (D * D + r2 * r2 - r * r) / (2 * D)
    with np.errstate(invalid="ignore"):
        cut = q + h * s - np.sqrt(r * r - h * h) * np.sqrt(n * n - s * s)
        across = np.sqrt(n * n - ((q - q2) / D) ** 2)
        lens = q2 + z / D * (q - q2) - np.sqrt(r2 * r2 - z * z) * across
    return q - r * n, cut, lens


# %%
def exact_minima(rows, side, first, second, plane):
    """The same minima in fractions, in the form that `above` takes."""
    (Q, r), (Q2, r2), (P, b) = (
        (fractions(v), Fraction(size)) for v, size in (first, second, plane)
    )
    apart = [v - w for v, w in zip(Q, Q2, strict=True)]
    delta, PP, DD = b - dot(P, Q), dot(P, P), dot(apart, apart)
    products = [[side * dot(a, v) for a in rows] for v in (Q, Q2, P)]
    terms = list(zip(*products, [dot(a, a) for a in rows], strict=True))
    return (
        [over_ball(q, nn, r) for q, _, _, nn in terms],
        [over_halfspace(q, nn, r, s, delta, PP) for q, _, s, nn in terms],
        [over_two_balls(q, nn, r, q2, r2, DD) for q, q2, _, nn in terms],
    )


# %%
def three_regions(terms, rows, side, kind):
    """Judge the rules for a ball, for a ball and a half-space, and for two balls, on a random
    case."""
    Q, P, step = (symmetric(kind, 3) for _ in range(3))
    if not (P.any() and step.any()):
        return
    r, share = float(rng.choice([0.25, 3.0, 1e-3])), float(rng.choice([0.4, 0.9, 1.2]))
    b = float(np.vdot(P, Q) + rng.choice([-0.6, 0.0, 0.4, 0.96]) * r * np.linalg.norm(P))
    Q2, r2 = Q + step * (r / np.linalg.norm(step)), share * r
    regions = (Q, r), (Q2, r2), (P, b)
    first, second = ss.Sphere(Q, r), ss.Sphere(Q2, r2)
    rules = {
        "ball": lambda problem: ss.rules.sphere(problem, first),
        "ball and half-space": lambda problem: ss.rules.halfspace(problem, first, P, b),
        "two balls": lambda problem: ss.rules.intersection(problem, first, second),
    }
    A = side * np.array([[float(v) for v in a] for a in rows])
    scale = terms.norms * (np.linalg.norm(Q) + r) + terms.same_pairs.largest * np.linalg.norm(Q)
    ends, minima = exact_minima(rows, side, *regions), naive_minima(A, *regions)
    for (name, rule), exact, naive in zip(rules.items(), ends, minima, strict=True):
        judge(name, rule, terms, side, exact, lambda level, naive=naive: naive > level, scale)


# %%
def point_of_cone(Q, a, t, diagonal):
    """A point of the cone near the projection of Q - t a, in fractions."""
    if diagonal:
        steps = zip(fractions(Q), fractions(a), strict=True)
        return [max(v - Fraction(t) * w, Fraction(0)) for v, w in steps]
    values, vectors = np.linalg.eigh(Q - t * a)
    L = [fractions(v) for v in vectors * np.sqrt(np.maximum(values, 0.0))]
    return [dot(v, w) for v in L for w in L]


def touching_radius(Q, a, t, row, diagonal):
    """A radius with which the ball just contains a point of the cone near the projection of
    Q - t a, and the exact margin of the triplet at this point."""
    x = point_of_cone(Q, a, t, diagonal)
    apart = [v - w for v, w in zip(x, fractions(Q), strict=True)]
    square = dot(apart, apart)
    r = -nearest((Fraction(0), square, Fraction(1)))
    while Fraction(r) ** 2 < square:
        r = float(np.nextafter(r, np.inf))
    return r, dot(row, x)


# %%
def cone(terms, row, side, diagonal):
    """Judge the rule for ball and cone on one triplet, repeated eight times, with thresholds at
    its margin at a point of ball and cone."""
    a = side * np.array([float(v) for v in row]).reshape(terms.cone.shape)
    B = symmetric("small integers", 3)
    Q = rng.integers(-1, 5, 3) * 1.0 if diagonal else B @ B + rng.choice([0.0, 0.1]) * B
    t = float(rng.choice([1e-2, 0.3])) * (np.linalg.norm(Q) + 1.0) / np.linalg.norm(a)
    r, value = touching_radius(Q, a, t, row, diagonal)
    dual = np.linalg.norm(Q) ** 2 - np.linalg.norm(terms.cone.project(Q - t * a)) ** 2
    end, ball = (side * value, Fraction(0), Fraction(1)), ss.Sphere(Q, r)
    scale = (np.linalg.norm(a) + terms.same_pairs.largest) * (np.linalg.norm(Q) + r)
    name = "ball and weights" if diagonal else "ball and matrices"

    def rule(problem):
        return ss.rules.semidefinite(problem, ball)

    def naive(level):
        return dual - 2 * t * level > r * r

    judge(name, rule, terms, side, [end] * 8, naive, scale)


# %% tags=["NEW-FP"]
REGIONS = ("ball", "ball and half-space", "two balls", "ball and weights", "ball and matrices")
tally, rng = {name: np.zeros(4, dtype=int) for name in REGIONS}, np.random.default_rng(4)
for trial in range(48):
    kind, side = KINDS[trial % 4], 1 if trial % 8 < 4 else -1
    X, y = points(kind, rng)
    full = ss.Triplets.from_labels(X, y, k=2)
    rows = exact_triplets(X, full.index)
    three_regions(full, rows, side, kind)
    for t in (t for t in rng.permutation(len(rows))[:4] if any(rows[t])):
        again = np.tile(full.index[t], (8, 1))
        cone(ss.Triplets(X, again), rows[t], side, False)
        if any(rows[t][::4]):
            cone(ss.Triplets(X, again, diagonal=True), rows[t][::4], side, True)
for name, (tests, decided, wrong, naive) in tally.items():
    assert wrong == 0 and decided > tests / 8 and naive > 20
    library = f"library wrong {wrong} (at most 0), decides more than {tests // 8}"
    print(f"{name:20} {tests} thresholds: {library};  naive wrong more than 20 times")

# %% [markdown]
# For thresholds within a few units in the last place of the exact extreme value, on the wrong side, the library leaves
# every term undecided, as it should. The naive rules decide some of these terms, and are wrong dozens of times.
# (`make exhaustive` runs this test for millions of thresholds, and also with samples, kernels, ranges of $\lambda$, blocks
# and domes.)
#
# A sign matters here as well. The library computes a multiplier $y$ by a secant method. Rounding may make $y$ slightly
# negative when the best multiplier is 0. Weak duality needs $y \ge 0$. The allowances need it too: they are multiples of
# $y$, and with $y < 0$ they would make the bound *less* careful. The library discards such a $y$.
#
# ## What is not a number
#
# **Fourth unsafe decision.** The square root of a negative gap is a NaN, and every comparison with a NaN is false. A rule
# with the test `q - r*n > tau` therefore decides nothing. But a rule that tests for "undecided" and negates the answer
# decides *everything*. If something is broken, the library's bounds are NaN and not 0, and its rules use only the first
# form of the test.

# %%
q, n, tau = np.array([3.0, 0.2, 0.9]), np.ones(3), 1.0
with np.errstate(invalid="ignore"):
    r = np.sqrt(np.float64(-1e-17))
in_R = q - r * n > tau
undecided = q - r * n <= tau
print("terms in R by the test for R:", np.sum(in_R), "of 3")
print("terms in R by the negated test for undecided:", np.sum(~undecided), "of 3")
decided = 0
for rule in RULES.values():
    for bad in (np.nan, np.inf):
        decided += rule(flowers, ss.Sphere(visited[-1], bad)).rate
print(f"share decided by the rules of the library with a radius of NaN or infinity: {decided}")
assert decided == 0.0

# %% [markdown]
# ## From raw points to masks
#
# The last test follows the computation from raw points to masks without its intermediate results. On a line, triplets are
# numbers $h = (x_i - x_l)^2 - (x_i - x_j)^2$. The exact solution is the root of an increasing, piecewise linear function,
# which a few lines of fractions compute. To make the test hard, we set the threshold of every triplet to the float nearest
# to its margin at the solution, or within $\pm 4$ units in the last place of this float. So a rounding is enough to put a
# triplet into the wrong category. The references are floats near the solution. We test all balls and all rules.


# %%
def slope(x, h, tau, lam, width):
    """lam x - sum alpha_t(h_t x) h_t, in fractions."""
    slacks = [(t - a * x) / width for a, t in zip(h, tau, strict=True)]
    alpha = [min(max(slack, Fraction(0)), Fraction(1)) for slack in slacks]
    return lam * x - dot(alpha, h)


def positive_kinks(h, tau, width):
    """The positive x at which the slope has a kink, sorted."""
    kinks = set()
    for a, t in zip(h, tau, strict=True):
        if a:
            kinks |= {t / a, (t - width) / a}
    return sorted(x for x in kinks if x > 0)


# %%
def exact_optimum(h, tau, lam, width):
    """The root of the slope on x >= 0, in fractions."""
    problem = h, tau, lam, width
    if slope(Fraction(0), *problem) >= 0:
        return Fraction(0)
    kinks = positive_kinks(h, tau, width)
    low, high = 0, len(kinks)  # the root is below kinks[high] and not below kinks[low - 1]
    while low < high:
        middle = (low + high) // 2
        if slope(kinks[middle], *problem) > 0:
            high = middle
        else:
            low = middle + 1
    left = kinks[low - 1] if low else Fraction(0)
    right = kinks[low] if low < len(kinks) else left + 1
    middle = (left + right) / 2
    at_left, at_middle = slope(left, *problem), slope(middle, *problem)
    return left - at_left * (middle - left) / (at_middle - at_left)


# %% tags=["NEW-FP-chain"]
rng, one = np.random.default_rng(6), Fraction(1)
h = [Fraction(int(v)) for v in rng.integers(-9, 10, 12)]
x = exact_optimum(h, [one] * 12, one * 3, one / 2)
kkt = 3 * x - dot([min(max((1 - a * x) * 2, Fraction(0)), one) for a in h], h)
assert x > 0 and kkt == 0
print("an exact optimum:", x, "  its slope:", kkt)


# %% [markdown]
# Two functions make the random problems, with their optimum in fractions, and the decisions of plain numpy without any
# error bound.

# %%
def line_problem(kind, diagonal, rng, n=12):
    """A problem on a line, its lam, its optimum in fractions, and the triplets h."""
    X, y = points(kind, rng, n=n, d=1)
    terms = ss.Triplets.from_labels(X, y, k=3, diagonal=diagonal)
    h = [row[0] for row in exact_triplets(X, terms.index)]
    size = max(float(max(abs(v) for v in h)), 1e-30)
    lam, width = float(2.0 ** np.round(np.log2(size * size * 3))), 0.25
    start = exact_optimum(h, [one] * len(h), Fraction(lam), Fraction(width))
    tau = np.array([float(v * start) for v in h]) + width * rng.integers(0, 2, len(h))
    tau += rng.integers(-4, 5, tau.size) * np.spacing(np.abs(tau))
    problem = ss.Problem(terms.with_threshold(tau), ss.SmoothedHinge(width))
    return problem, lam, exact_optimum(h, fractions(tau), Fraction(lam), Fraction(width)), h


def naive_masks(problem, x, lam, h):
    """The decisions of the duality gap bound without any error bound."""
    a, tau, width = np.array([float(v) for v in h]), problem.terms.threshold, problem.loss.gamma
    alpha = np.clip((tau - a * x) / width, 0.0, 1.0)
    P = np.sum(alpha * (tau - a * x) - width / 2 * alpha**2) + lam / 2 * x * x
    D = tau @ alpha - width / 2 * alpha @ alpha - max(a @ alpha, 0.0) ** 2 / (2 * lam)
    r = np.sqrt(2 * max(P - D, 0.0) / lam)
    return a * x + r * np.abs(a) < tau - width, a * x - r * np.abs(a) > tau


# %%
def truly(problem, x_star, h):
    """Masks of L and R at the exact optimum."""
    tau = [Fraction(t) for t in problem.terms.threshold]
    width = Fraction(problem.loss.gamma)
    truly_L = np.array([a * x_star < t - width for a, t in zip(h, tau, strict=True)])
    truly_R = np.array([a * x_star > t for a, t in zip(h, tau, strict=True)])
    return truly_L, truly_R


def library_balls(problem, x, lam, before, eps):
    """Five balls of the library: four from the point x, and RRPB from a reference for 2 lam."""
    point = np.full(problem.cone.shape, x)
    return [
        ss.spheres.gradient_bound(problem, point, lam),
        ss.spheres.projected_gradient_bound(problem, point, lam),
        ss.spheres.duality_gap_bound(problem, point, lam),
        ss.spheres.midpoint_gap_bound(problem, point, lam),
        ss.spheres.relaxed_path_bound(before, eps, 2 * lam, lam),
    ]


# %%
def reference_for_twice(problem, lam, h):
    """The optimum for 2 lam as floats, and a bound of its rounding error."""
    tau, width = fractions(problem.terms.threshold), Fraction(problem.loss.gamma)
    x0 = exact_optimum(h, tau, Fraction(2 * lam), width)
    eps = np.nextafter(abs(float(Fraction(float(x0)) - x0)), 1.0)
    return np.full(problem.cone.shape, float(x0)), eps


def check_ball(problem, ball, x_star, in_L, in_R):
    """Assert that a ball contains the optimum; return the numbers of pairs of masks, of wrong
    decisions and of decisions of three rules."""
    distance = abs(Fraction(float(ball.center.ravel()[0])) - x_star)
    assert distance <= Fraction(ball.radius), ball.name
    counts = np.zeros(3, dtype=int)
    for name in ("sphere", "halfspace", "semidefinite"):
        found = RULES[name](problem, ball)
        wrong = np.sum(found.in_L & ~in_L) + np.sum(found.in_R & ~in_R)
        counts += 1, wrong, found.n_L + found.n_R
    return counts


# %% tags=["NEW-FP-chain"]
rng, n_problems, naive_wrong = np.random.default_rng(7), 0, 0
counts = np.zeros(3, dtype=int)
for trial in range(48):
    problem, lam, x_star, h = line_problem(KINDS[trial % 4], bool(trial % 8 < 4), rng)
    truly_L, truly_R = truly(problem, x_star, h)
    before, eps = reference_for_twice(problem, lam, h)
    n_problems += 1
    near = float(x_star)
    next_float = np.nextafter(near, np.inf)
    for x in (near, next_float, near * (1 + 1e-8), near * (1 - 1e-12), 0.5 * near, 0.0):
        for ball in library_balls(problem, x, lam, before, eps):
            counts += check_ball(problem, ball, x_star, truly_L, truly_R)
        in_L, in_R = naive_masks(problem, x, lam, h)
        naive_wrong += np.sum(in_L & ~truly_L) + np.sum(in_R & ~truly_R)
masks, library_wrong, decided = counts
print(f"{n_problems} problems, {masks} pairs of masks, compared with the exact optimum:")
print(f"library wrong: {library_wrong} (allowed 0);   naive wrong: {min(naive_wrong, 50)} or more")
assert library_wrong == 0
assert naive_wrong >= 50
assert decided - library_wrong > 1000

# %% [markdown]
# ## What it costs
#
# The error bounds need the time for one more array, which contains the errors of the margins. Each error is the scale of
# the pair times a number. To count the lost decisions we compute a path of all of iris. At each solution we screen with
# the library, and with the naive rule and the computed radius $\sqrt{2(P-D)/\lambda}$.

# %%
X, y = load_iris(return_X_y=True)
iris = ss.Problem(ss.Triplets.from_labels(X, y, k=5), loss)
lams = 0.2 * iris.lam_max() * 0.8 ** np.arange(12)
safe = naive = 0
for solution in ss.path(iris, lams, tol=0.0, rtol=1e-6):
    e = iris.evaluate(solution.x, solution.lam)
    radius = np.sqrt(2 * (e.primal - e.dual) / solution.lam)
    margin = iris.terms.margins(solution.x)
    naive += int(np.sum(np.abs(margin - 0.975) - radius * iris.terms.norms > 0.025))
    inside = np.abs(margin - 0.975) < 0.025
    naive += int(np.sum(inside & (margin + radius * iris.terms.norms < 0.95)))
    found = ss.rules.sphere(iris, ss.spheres.duality_gap_bound(iris, solution.x, solution.lam))
    safe += found.n_L + found.n_R
lost = max(1, int(np.ceil(1e4 * (naive - safe) / naive)))
print(f"decisions of the naive rule on the path, in thousands: {naive / 1000:.0f}")
print(f"decisions that the library does not make: at most {lost} in 10000")

# %% [markdown]
# ## Two more sources of error
#
# * **Reduced problems.** Suppose screened triplets are added to the linear term $c$ in many small steps, and some are
#   removed again. Then the rounding errors of all steps add up. For each pair of points, the library counts *how many*
#   triplets of L contain it, which is an exact integer. It recomputes $c$ from these counts, and stores an error bound with
#   $c$.
# * **The compiler.** With one version of numba, on one kind of processor, a compiled loop lost some stores when it set two
#   arrays under a condition. No error analysis includes a lost flag. Therefore the library forbids this instruction set
#   (AVX-512), and a test runs this loop.
#
# ## Exercise
#
# Let $q$, $A$, $B$, $S = \mathrm{fl}(A + B)$ and $\tau$ be floats. $A$ and $B$ are upper bounds of two errors, and
# $S \ge A + B$. Four colleagues write the test for R as
#
# 1. `q - S > tau`, 2. `q > tau + S`, 3. `q - tau > S`, 4. `q - A - B > tau`.
#
# Which of these tests can be true although $q - A - B \le \tau$?
#
# <details>
# <summary><b>Solution</b></summary>
#
# Only the last test. Each of the tests 1 to 3 rounds a single operation and compares the result with a float, so monotone
# rounding applies. For test 2, $q \le \tau + S$ gives $q = \mathrm{fl}(q) \le \mathrm{fl}(\tau + S)$. For test 3,
# $q - \tau \le S$ gives $\mathrm{fl}(q - \tau) \le S$. Test 4 rounds two subtractions one after the other, and both may
# round up. For $q = 1 + 2^{-51}$ and $A = B = 2^{-53}$ the nearest even neighbour is $q$ itself both times.
#
# </details>

# %%
q, A, B, tau = 1 + 2.0**-51, 2.0**-53, 2.0**-53, 1 + 2.0**-52
S = A + B
excess = Fraction(q) - Fraction(A) - Fraction(B) - Fraction(tau)
forms = {"1": q - S > tau, "2": q > tau + S, "3": q - tau > S, "4": q - A - B > tau}
passed = ", ".join(name for name, true in forms.items() if true)
print(f"exactly: q - A - B - tau = {float(excess):.0f}, which is not above 0")
print("tests that put the term into R:", passed)
assert excess <= 0 and passed == "4"

# %% [markdown]
# ## Fine print
#
# * **What is not proved.** We assume the constant $16\,d$ for the backward error of LAPACK's symmetric eigensolver without
#   a proof. This notebook and `tests/safety` test it, and it is several times the largest error in these tests. Diagonal
#   metrics and support vector machines do not need it.
# * **What "exact data" means.** Exact data are the floats in memory. If the points are measurements rounded to three
#   digits, the certificate is valid for the rounded measurements.
# * **Feasible references.** A computed positive part may be outside the cone by a rounding error. The library applies bounds
#   that assume $x \in K$ to the projection of $x$, and enlarges them by the distance
#   of $x$ from its projection.
# * **Fused operations** ($ab + c$ with one rounding) only remove roundings. Tiny absolute terms in each bound allow for
#   **underflow**. The library refuses reassociation by the compiler (`fastmath`), because it may change which numbers are
#   compared.
# * **Others.** Dantas and Gribonval (2019) keep tests for the lasso safe when the matrix is an approximation with known
#   errors (abstract read). Rounding is an approximation of this kind. Their errors are large and make the method faster.
#   This notebook follows the error of each operation.
# * **Product triplets** have roundings of their own, see [`25-product-triplets`](25-product-triplets.ipynb).
#
# ## References
#
# * Higham, *Accuracy and Stability of Numerical Algorithms*, 2nd edition, SIAM 2002: chapters 2 and 3
#   ($\gamma_n$, dot products in any order).
# * Anderson et al., *LAPACK Users' Guide*, 3rd edition, SIAM 1999, section 4.7 (symmetric eigenproblem).
# * Dantas, Gribonval, *Stable safe screening and structured dictionaries for faster $\ell_1$ regularization*, IEEE Trans.
#   Signal Processing 67, 2019 (arXiv 1812.06635).
# * STS19: Yoshida, Takeuchi, Karasuyama, *Safe Triplet Screening for Distance Metric Learning*, Neural
#   Computation 31, 2019: the bounds and rules, for real numbers.
