# %% [markdown]
# # Safe in floating point
#
# A theorem about balls and margins is proved for real numbers. A program computes with 53 bits. This notebook follows
# every rounding on the way from the data to the sentence "this term is in R", bounds it, and compares the bounds with
# exact rational arithmetic and with 50 digits, on data chosen to hurt.
#
# At the end you will have seen
#
# * four lines of numpy that look right and certify something false, each with its numbers: a cancelled norm, a duality
#   gap clamped at zero, a margin at its threshold, a NaN;
# * what the library does instead, and that on the same inputs it says "undecided";
# * every rule at thresholds on the exact extremes of its region, to the last bit;
# * the one constant in the chain that is tested and not proved;
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
# interval, and here it reaches a little below the threshold, so the triplet is undecided. A program that rounds center,
# radius and norm gets a slightly different interval, and here it lies above the threshold. The decision is false, and
# there is no message. The library has a bound for the error of each number, and widens the interval by these bounds.
# Its interval holds the exact one, so whatever it decides is true.

# %%
intervals = {"exact": (-0.15, 2.0), "rounded": (0.15, 2.3), "rounded, with its error": (-0.45, 2.9)}
figure, ax = figures.panels(1, width=6.6, height=2.0)
for height, (name, (low, high)) in enumerate(intervals.items()):
    wrong = name == "rounded"
    ax.plot([low, high], [-height] * 2, color=figures.COLOURS["R"] if wrong else "#333333",
            linewidth=5, solid_capstyle="butt")
    ax.text(3.1, -height, f"{name}: {'in R, falsely' if wrong else 'undecided'}", va="center")
ax.axvline(0.0, color="#555555", linestyle="--")
ax.set(xlim=(-1.0, 6.2), ylim=(-2.6, 0.6), yticks=[], xticks=[0.0])
ax.set_title("margins of one triplet over the ball, not to scale", loc="left", fontsize=10)
ax.set_xticklabels(["threshold"])
ax.spines["left"].set_visible(False)
figures.show(
    "Bars lie beside a dashed line, the threshold. The exact interval of margins reaches below "
    "the threshold; the rounded one lies above it, so that a program "
    "decides falsely; the rounded one with its error is longer, contains the exact one and "
    "reaches below the threshold again."
)

# %% [markdown]
# ## The claim
#
# > **Safe in floating point.** Take the numbers in memory (points, thresholds, $\gamma$, $\lambda$) as
# > *exact*, and let $x^\star$ be the exact solution of the problem they state. If a rule puts term $t$
# > into R, then $\langle a_t, x^\star\rangle > \tau_t$ in exact arithmetic; if it puts it into L, then
# > $\langle a_t, x^\star\rangle < \tau_t - \gamma$. "Undecided" is always allowed.
#
# A ball rule looks at four computed numbers: a margin $q$, a norm $n$, a radius $r$, a threshold. It is
# enough that
#
# | computed | has to come with | section |
# |---|---|---|
# | margin $q = \langle a_t, Q\rangle$ | a bound of its error | margins |
# | norm $n \ge \lVert a_t\rVert$ | be an upper bound, but a tight one | norms |
# | radius $r$ | be an upper bound: of a gap, of a split, of the center's own roundings | gap, split |
# | the test $q - r n > \tau$ | cover its own roundings | rule |
#
# Assumptions: IEEE double precision, rounding to nearest; no overflow (points whose squared distances
# could overflow are refused); and, for full metrics only, a stated accuracy of LAPACK's eigenvectors.
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
# With $u = 2^{-53}$ each operation returns its exact result times $1 + \delta$, $|\delta| \le u$. A chain
# of $n$ such factors (or of their inverses) is
#
# $$\prod_{i=1}^n (1 + \delta_i)^{\pm 1} = 1 + \theta_n, \qquad
# |\theta_n| \le \gamma_n = \frac{n u}{1 - n u} .$$
#
# In a dot product of length $n$ each product passes through at most $n$ roundings, in whatever order the
# sum is taken, so its error is at most $\gamma_n \sum |x_k y_k| \le \gamma_n \lVert x\rVert \lVert y\rVert$.
# Both statements about $\gamma_n$ in exact arithmetic, beside the library's function, which has to be an
# upper bound as well:

# %%
u = Fraction(1, 2**53)
for n in (1, 2, 7, 50, 400):
    exact_gamma = n * u / (1 - n * u)
    assert n * u < (1 + u) ** n - 1 + (n == 1) * u**2 and (1 + u) ** n - 1 <= exact_gamma
    assert 1 / (1 - u) ** n - 1 <= exact_gamma <= Fraction(gamma(n))
print(
    "n u is too small, gamma_n is enough, and the computed gamma_n is not smaller: n "
    "= 1, 2, 7, 50, 400"
)

# %% [markdown]
# Python's `Fraction` turns a float into the rational number it is, so errors can be looked at exactly.
# Three kinds of data will follow us: small integers, entries between $10^{-8}$ and $10^8$, and vectors
# that are nearly orthogonal or nearly equal, so that everything cancels.


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
        assert error <= Fraction(gamma(n)) * Fraction(norm_upper(x)) * Fraction(norm_upper(y))
        dots[kind].append(
            (n, float(error) / (norm_upper(x) * norm_upper(y)), error > abs(true) / 2)
        )
for kind in KINDS:
    used = max(Fraction(size) / Fraction(gamma(int(n))) for n, size, _ in dots[kind])
    print(
        f"{kind:18} error, in parts of its bound: at most "
        f"{np.ceil(2 * float(used)) / 2} (allowed 1)"
    )
lost = sum(bad for *_, bad in dots["nearly cancelling"])
assert lost >= 5
print("nearly cancelling: results without one right digit:", min(lost, 5), "or more of",
      len(dots[kind]))

# %% tags=["nbval-ignore-output"]
figure, axes = figures.panels(1, width=5.6, height=3.2)
marks = {}
for kind in KINDS[1:]:
    n, size, _ = zip(*dots[kind], strict=True)
    marks[kind] = n, np.maximum(size, 1e-19)
grid = np.geomspace(2, 1000, 50)
highest = max(
    size / gamma(n)
    for lengths, sizes in marks.values()
    for n, size in zip(lengths, sizes, strict=True)
)
bound = {r"bound $\gamma_n$": (grid, [gamma(n) for n in grid])}
labels = {
    "title": "dot products: error and its bound",
    "xlabel": "length n",
    "ylabel": r"error $/\ (\|x\|\,\|y\|)$",
}
figures.lines(bound, dots=marks, ax=axes, log="xy", **labels)
figures.show(
    "Dots show the error of dot products over the product of the norms against the length, on "
    "logarithmic axes, for badly scaled and nearly cancelling data. "
    f"A line is the bound, which rises from {gamma(2):.0e} to {gamma(1000):.0e}. All dots lie "
    f"below it: the highest is at {highest:.1g} of the bound."
)

# %% [markdown]
# The bound cannot be read off the result: for cancelling vectors *no* digit of the computed dot product is
# right, although the error is as small as promised. That is why each margin carries its own bound. (Small
# integers are exact, and are left out of the picture.)
#
# ## Many columns
#
# $\gamma_n$ holds for every order of a sum, and grows with n. That hurts where a point has 20,000 columns. But a product
# is rounded only by itself and by the additions on its way into the sum, and how many these are depends on the order. The
# library sums a row of more than 1024 numbers in an order of its own. In a block of 1024, products go to 128 sums in turn,
# the *lanes*; lanes are added two by two, and so are blocks:
#
# | a product of a row with m blocks is rounded | times, at most |
# |---|---|
# | by itself | 1 |
# | in its lane, which starts at an exact 0 and gets 8 products | 7 |
# | among the lanes | $\log_2 128 = 7$ |
# | among the blocks | $\lceil\log_2 m\rceil$ |
#
# So the error is at most $\gamma_k \sum |x_j y_j|$ with $k = 15 + \lceil\log_2 m\rceil$, which is 20 for 20,000 columns. BLAS, whose
# order nobody promises, still makes matrices of inner products, in blocks of 256 columns, which the library adds one after
# the other: $k = 255 + m$ for m such blocks.
#
# The compiled loops are Python functions. Run on numbers that count their roundings instead of having a value, they count
# for us, and the counts are the ones that the library charges: one less would be too few.


# %%
class Rounded:
    """A number that only knows how often it was rounded; adding an exact 0 does not round."""

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
dense, csr = (
    as_python(kernel, _total=total)
    for kernel in (_blocks._dense_products, _blocks._sparse_products)
)
for n in (1025, 1024 + 255, 2048, 4096, 5000, 8192):
    out = np.empty(2, dtype=object)
    dense(counting(1, n), counting(1, n), out[:1])
    csr(counting(n), np.arange(n), np.array([0, n]), counting(n), out[1:])
    assert out[0].times == out[1].times <= _blocks.roundings(n)
    assert n % 1024 or out[0].times == _blocks.roundings(n)
    matrix = _blocks.matrix_products(counting(1, n), counting(1, n), np.empty((1, 1), dtype=object))
    assert matrix[0, 0].times == _blocks.matrix_roundings(n)
    print(
        f"{n} columns: a product is rounded {out[0].times} times in a row, {matrix[0, 0].times} "
        "times in a matrix"
    )
lengths = 20_000, 1_000_000
print("charged for a row of 20000 and of a million:", *(_blocks.roundings(n) for n in lengths))

# %% [markdown]
# Does it hold, and does the order matter? The fourth kind is a 1 followed by halves of its last bit. Added one after the
# other, each of them is rounded away.

# %%
rng, n, worst = np.random.default_rng(5), 20_000, 0.0
for kind in (*KINDS, "rounded away"):
    x, y = pair_of_vectors(kind, n, rng) if kind in KINDS else (np.full(n, 2.0**-53), np.ones(n))
    if kind == "rounded away":
        x[0] = 1.0
    true, size = dot(fractions(x), fractions(y)), dot(fractions(np.abs(x)), fractions(np.abs(y)))
    error = abs(Fraction(float(_blocks.row_products(x[None], y)[0])) - true)
    assert error <= Fraction(gamma(_blocks.roundings(n))) * size
one_by_one = abs(Fraction(sum((x * y).tolist())) - true) / size
parts = one_by_one / Fraction(gamma(_blocks.roundings(n)))
print(
    f"in blocks every error is within its bound; one after the other, {int(parts)} times the "
    "bound is lost"
)
assert parts > 900

# %% [markdown]
# The hinge asks for more. Its gap has a term $\alpha_t(m_t - 1)$ above the kink and $(1 - \alpha_t)(1 - m_t)$ below. At the solution
# most margins of a machine with many columns are *at* the kink, $m_t = 1$ up to an error $e_t$, on a side that nobody knows, so that
# the gap is charged some $e_t$ for each: a fixed number, where the objective is $\frac{\lambda}{2}\lVert x\rVert^2$ and falls with $\lambda$. But any
# x may be judged. At $(1 + \nu)x$ with $\nu \ge 3 \max e_t$ all these margins are certainly past the kink. The loss there is 0,
# certainly. What is charged is $\alpha_t(\nu + 2e_t)$, and $\sum \alpha_t \le 2P$: a fixed *part* of the objective.

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
    part = int(np.floor(np.log10(at_kink.gap / solution.primal)))
    print(
        f"lam {lam:g}: past the kinks the gap is below 1e-11 of P, at them it is "
        f"above 1e{part} of P"
    )

# %% [markdown]
# ## Margins of triplets
#
# A triplet's margin is a difference of two squared distances, $\langle H_{ijl}, M\rangle = d_{il} - d_{ij}$,
# and a distance is computed once a pair, as $d_{ij} = (c_i - c_j)'(z_i - z_j)$ with centered points
# $c_i = x_i - \mu$ and $Z = CM$. Say $s = \lVert c_i\rVert + \lVert c_j\rVert$ and
# $w = \lVert c_i - c_j\rVert$. The roundings, for $\lVert M\rVert = 1$:
#
# | from | at most |
# |---|---|
# | centering: $c_i$ is off by $u\lVert c_i\rVert$ (an error of $\mu$ drops out) | $2 w\, u s + u^2 s^2$ |
# | $z_i$, a dot product; the difference $z_i - z_j$ | $w f$, $\quad f = \gamma_d (1+u)\, s + u w$ |
# | the difference $c_i - c_j$ | $u w\,(w + f)$ |
# | the closing dot product | $\gamma_d (1+u)\, w\,(w + f)$ |
#
# The library charges $\gamma_{2d+10}\, s\,(w + 4us)$ for the whole. The sum of the table minus this bound
# is a convex parabola in $w$, so it is negative on $0 \le w \le s$ when it is negative at both ends: a
# finite check, in exact arithmetic, for each dimension $d$.

# %%
for d in [*range(1, 60), 100, 1000, 10**4, 10**6]:
    g = d * u / (1 - d * u)
    charged = (2 * d + 10) * u / (1 - (2 * d + 10) * u)
    for w in (Fraction(0), Fraction(1)):  # s = 1
        f = g * (1 + u) + u * w
        total = 2 * w * u + u**2 + w * f + u * w * (w + f) + g * (1 + u) * w * (w + f)
        assert total <= charged * (w + 4 * u)
print("the sum of the table is covered, d = 1 to 59 and up to a million")

# %% [markdown]
# The factor $s\,w$, and not $s^2$, is what makes the bound useful: two points close to each other have an
# accurate distance. Now the library's margins against fractions of the raw, uncentered data. The fourth
# kind has its points $10^8$ away from the origin. Beside it a popular way to get all distances from one
# matrix product, $x_i'Mx_i + x_j'Mx_j - 2x_i'Mx_j$.


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
        terms.append(
            [p * q - s * t for p, s in zip(b, a, strict=True) for q, t in zip(b, a, strict=True)]
        )
    return terms


# %%
KINDS = (*KINDS, "far away")
rng = np.random.default_rng(1)
for kind in KINDS:
    covered = wrong_sign = count = 0
    for _ in range(5):
        X, y = points(kind, rng)
        L = rng.standard_normal((3, 3))
        M = L @ L.T
        terms = ss.Triplets.from_labels(X, y, k=3)
        values, errors = terms.inner_products(M).chunk(0, len(terms))
        gram = X @ M @ X.T
        distance = np.diag(gram)[:, None] + np.diag(gram) - 2 * gram
        i, j, m = terms.index.T
        expanded = distance[i, m] - distance[i, j]
        for a, q, e, other in zip(
            exact_triplets(X, terms.index), values, errors, expanded, strict=True
        ):
            true = dot(a, fractions(M))
            covered += abs(Fraction(float(q)) - true) <= Fraction(float(e))
            wrong_sign += bool((other > 0) != (true > 0))
            count += 1
    assert covered == count
    some = f"{min(wrong_sign, 20)} or more" if wrong_sign else "0"
    print(
        f"{kind:18} within their bound: {covered} of {count};   expanded squares of "
        f"wrong sign: {some}"
    )

# %% [markdown]
# ## Norms
#
# With $b = x_i - x_l$ and $a = x_i - x_j$, so that $H = bb' - aa'$, multiplying out gives
#
# $$\lVert H\rVert^2 = |b|^4 + |a|^4 - 2 (a'b)^2 ,$$
#
# which cancels when $a$ and $b$ are nearly equal, and those are the interesting triplets: the different
# point is hardly farther than the same one. With $p = b - a = x_j - x_l$ and $s = b + a$ nothing cancels,
# because $H = (p s' + s p')/2$:

# %%
a, b = (sp.Matrix(sp.symbols(f"{name}1:4", real=True)) for name in "ab")
p, s = b - a, b + a
H = b * b.T - a * a.T
assert (H - (p * s.T + s * p.T) / 2).expand() == sp.zeros(3, 3)
square = ((p.T * p)[0] * (s.T * s)[0] + (p.T * s)[0] ** 2) / 2
assert sp.expand(square - (H.T * H).trace()) == 0
assert (
    sp.expand((H.T * H).trace() - ((b.T * b)[0] ** 2 + (a.T * a)[0] ** 2 - 2 * (a.T * b)[0] ** 2))
    == 0
)
print("|H|^2 = (|p|^2 |s|^2 + (p's)^2)/2: a sum of two squares")

# %% [markdown]
# **First unsafe decision.** Three points, two of them $2^{-29.5}$ apart, and a ball of matrices around
# $2^{30} I$ with radius $2^{30}$. The cancelled norm is exactly 0, so the ball seems to be a point for
# this triplet, and its margin 2 is above the threshold 1.

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
# The radius of a gap bound is $\sqrt{2(P - D)/\lambda}$. At a good reference $P - D$ is the difference of
# two large numbers that agree in all digits. Subtracting them leaves rounding noise, as often negative as
# not, and the tempting repair `max(P - D, 0)` claims that the reference is *exact*.
#
# The gap is also a sum of terms that are each non-negative and each vanish at the optimum (Fenchel's
# inequality with its equality case, see [`10-problem-and-duality`](10-problem-and-duality.ipynb)):
#
# $$P(x) - D(\alpha) = \tfrac{\lambda}{2}\lVert x - x(\alpha)\rVert^2 + \langle x, H_-\rangle
#   + \sum_t \big(\ell(m_t) + \ell^*(-\alpha_t) + \alpha_t m_t\big), \quad m_t = \langle a_t, x\rangle .$$
#
# A sum of non-negative numbers is as accurate as its terms. What is left is that the terms belong to
# slightly wrong $H$, $x$, $m_t$; and since the gap is flat at the optimum, this costs little:
#
# * $H$ off by $h$ (its sum, and its split): in $H$ the gap has the gradient $x(\alpha) - x$, with Lipschitz
#   constant $1/\lambda$, so at most $h \lVert x - x(\alpha)\rVert + h^2/\lambda$;
# * a margin off by $e$, with $\alpha_t$ that of the computed margin: the Fenchel term is a smooth function of
#   the margin whose minimum, 0, is at the computed one, so at most $e^2/2\gamma$ (and at most $e$).
#
# Along the iterations of a solver, on thirty irises with diagonal metrics, against fractions:

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
# Solve on and on, and compare at every iterate: the subtraction, the exact gap in fractions, and the library's.

# %%
visited = []
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ss.ConvergenceWarning)
    limits = {"tol": 0.0, "rtol": 1e-30, "max_iter": 32}
    ss.solve(
        flowers, lam, **limits, screening=(), callback=lambda progress: visited.append(progress.x)
    )
rows = []
for x in visited:
    e = flowers.evaluate(x, lam)
    rows.append(
        (e.primal - e.dual, float(exact_gap(exact_terms, x, flowers.alpha(x), lam, 0.05)), e.gap)
    )
subtracted, exact, bound = np.array(rows).T
assert np.all(bound >= exact) and np.all(exact >= 0.0) and np.any(subtracted < exact)

# %% [markdown]
# How small does each get? The subtraction ends where the digits of $P$ end, the exact gap does not.

# %%
print("iterates at which the library's gap is below the exact one:", np.sum(bound < exact),
      "(bound 0)")
print("iterates at which the subtracted gap is below the exact one:",
      min(int(np.sum(subtracted < exact)), 3), "or more")
smallest = np.abs(subtracted[subtracted != 0.0]).min()
print(
    f"smallest exact gap below 1e{max(-17, int(np.ceil(np.log10(exact.min() / e.primal))))} P,",
    end=" ",
)
print(
    "smallest |P - D| that is not 0 above "
    f"1e{min(-17, int(np.floor(np.log10(smallest / e.primal))))} P"
)
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
figures.lines(
    curves, ax=axes, title="the gap along a solve", xlabel="iteration", log="y", marks=True
)
figures.show(
    "Curves show the duality gap along a solve, on a logarithmic axis. They are equal at first. "
    "In the end the exact gap is "
    f"{exact[-1]:.0e}, and the sum of the library with its allowance, which stays above it, "
    f"{bound[-1]:.0e}. The subtracted gap has holes where it is zero, and "
    f"its absolute value is {np.nanmin(curves[names[0]]):.0e} or more elsewhere."
)

# %% [markdown]
# Where the dark line is missing the subtraction gave exactly 0, and some of its last points are negative;
# nothing in it tells that the exact gap still falls. The library's gap stops at a floor, its own allowance,
# well below that noise but not at zero: it never claims a radius of 0.
#
# **Second unsafe decision.** Noise of a few units in the last place of $P$ sounds harmless. But the radius
# is its square *root*. Here is a support vector machine with one feature, 4096 samples that sit on the
# linear piece of the loss, and one with $z = 1 + 2^{-24}$. All numbers are sums of a few powers of two, so
# that $P$ and the sums in $D$ are exact; the single rounding is the last subtraction of $D$. The exact
# solution solves one linear equation.

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
print(f"margin of the last sample at the solution: 1 - {missing:.1e}; naive says R: {naive_R[-1]}")
assert P - D == 0.0 and naive_R[-1] and z * x_star < 1

# %% [markdown]
# The library, from the same point: its radius covers the distance of the solution, and the sample stays undecided.

# %%
labels = np.where(np.arange(4097) % 2, 1, -1)
machine = ss.Problem(ss.Samples((labels * Z)[:, None], labels), ss.SmoothedHinge(width))
safe = ss.spheres.duality_gap_bound(machine, np.array([1.0]), lam)
found = ss.rules.sphere(machine, safe)
assert not found.in_R[-1] and Fraction(safe.radius) ** 2 >= 2 * true_gap
covers, undecided = Fraction(safe.radius) >= 1 - x_star, not (found.in_R[-1] or found.in_L[-1])
print(
    f"library: radius at least {int(safe.radius / float(1 - x_star))} times the "
    "distance of the solution,",
    end=" ",
)
print(f"last sample {'undecided' if undecided else 'decided'}, in L: {found.n_L}")
assert covers and undecided

# %% [markdown]
# The sample costs something at the solution and was certified to cost nothing. Half a unit in the last
# place of $P$ hides a radius of $\sqrt{u P/\lambda}$ or so: $10^{-7}$ here; with half a billion triplets
# and $P/\lambda = 10^{9}$ it is $3 \cdot 10^{-4}$, more than many radii one wants to screen with.
#
# ## The split of the cone
#
# For non-negative weights and for the whole space $H_+$ and $H_-$ are exact. For matrices they come from
# an eigendecomposition. LAPACK's is backward stable: the computed one is nearly that of $H + E$ with
# $\lVert E\rVert \le p(d)\, u \lVert H\rVert$, and projections do not expand distances, so both parts are as
# accurate. Its documentation calls $p(d)$ a modest polynomial and does not give it; the library takes
# $16\,d$.
#
# **This constant is tested, not proved.** Against 50 digits, with eigenvalues spread over 14 orders of
# magnitude, rank-one differences, and matrices as large as $10^{20}$ and as small as $10^{-20}$:

# %%
mpmath.mp.dps = 50


def exact_positive_part(H):
    """[H]_+ in 50 digits."""
    values, vectors = mpmath.eigsy(mpmath.matrix(H.tolist()))
    d = H.shape[0]
    return mpmath.matrix(d, d) + sum(
        (max(values[k], 0) * vectors[:, k] * vectors[:, k].T for k in range(d)), mpmath.matrix(d, d)
    )


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
print(
    "largest error of 60 matrices, in parts of the bound: at most "
    f"{np.ceil(4 * worst) / 4} (allowed 1)"
)
assert worst <= 1.0


# %% [markdown]
# With that one assumption the gap of a full metric has an upper bound too. Random pairs $(x, \alpha)$ and
# near-optimal ones, on the four kinds of data, the gap from its definition in 50 digits:

# %%
def high_gap(terms, x, alpha, weight):
    """The duality gap of a matrix problem in 50 digits; x counts as its nearest point of the
    cone."""
    width = mpmath.mpf(0.05)
    z = exact_positive_part(x)
    value = weight / mpmath.mpf(2) * mpmath.norm(z) ** 2
    H = mpmath.matrix(3, 3)
    for h, weight_t in zip(terms, alpha.tolist(), strict=True):
        slack = 1 - mpmath.fsum(p * q for p, q in zip(h, z, strict=True))
        slope = min(max(slack / width, 0), 1)
        value += (
            slope * (slack - width * slope / 2) - weight_t + width / 2 * mpmath.mpf(weight_t) ** 2
        )
        H += mpmath.mpf(weight_t) * mpmath.matrix([h[:3], h[3:6], h[6:]])
    size = mpmath.norm(H)
    if size > 0:
        values = mpmath.eigsy(H / size, eigvals_only=True)
        value += size**2 * mpmath.fsum(max(v, 0) ** 2 for v in values) / (2 * mpmath.mpf(weight))
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
# Now $q$ with its error $e$, $n$ and $r$ are given, and the test is to be made with floats. It reads
#
# $$\mathrm{fl}(q - S) > \tau, \qquad
# S = \mathrm{fl}\big(e + r n + 8u\,(|q| + e + rn + |\tau| + \gamma)\big) .$$
#
# The comparison costs nothing: rounding is monotone, so $q - S \le \tau$ would give
# $\mathrm{fl}(q - S) \le \mathrm{fl}(\tau) = \tau$. A strict inequality between floats is thus a strict
# inequality between the exact numbers. The sum $e + rn$ is computed with two roundings, and the $8u$ terms
# more than make up for them, and for the one in $\tau - \gamma$, whose size is at most
# $u|\tau - \gamma|$. That is the whole proof.
#
# ## Every rule, at its own threshold
#
# The other rules ask for the minimum over smaller regions. With $s = \langle a, P\rangle$, $n = \lVert a\rVert$:
#
# | region | minimum of $\langle a, x\rangle$ |
# |---|---|
# | ball | $q - r n$ |
# | ball and half-space $\langle P, x - Q\rangle \ge \Delta$ | $q - rn$, or $\big(q\lVert P\rVert^2 + \Delta s - \sqrt{(r^2\lVert P\rVert^2 - \Delta^2)(n^2\lVert P\rVert^2 - s^2)}\big)/\lVert P\rVert^2$ |
# | two balls, centers $D$ apart, $G = D^2 + r_2^2 - r_1^2$ | that of one ball, or $\big(2D^2 q_2 + G(q_1 - q_2) - \sqrt{(4D^2r_2^2 - G^2)(n^2D^2 - (q_1 - q_2)^2)}\big)/2D^2$ |
# | ball and cone | $\langle a, x\rangle$ at $x = [Q - ta]_K$, $\lVert x - Q\rVert = r$ |
#
# The library evaluates each as a *dual* value, $q + k\delta - r\lVert a - kp\rVert$, the ball of a mixture of two
# balls, $2yC + \lVert Q\rVert^2 - \lVert [Q + ya]_K\rVert^2$: valid for every multiplier $k, y \ge 0$, so that the
# rounding of the multiplier does not matter, and only that of the value at it has to be allowed for.
#
# **Third unsafe decision, and the check.** Each triplet gets a threshold of its own, on the exact minimum,
# rounded to a float and moved by $-1$ to $3$ units in the last place to the wrong side: a hit to the last bit.
# (One in four is moved by $10^{-6}$ of the scale to the right side, to see that the library does decide.)
# The first three minima are $(N - \sqrt W)/D$ with rational $N, W, D$, so the right answer needs no root: it
# is above $\tau$ when $N - \tau D > 0$ and $(N - \tau D)^2 > W$. For a cone one point proves a rule wrong:
# $x$ is made from floats ($LL'$ with a computed $L$), $r$ is a float at or above its distance from $Q$, and
# whoever claims a minimum above $\tau \ge \langle a, x\rangle$ errs. The naive rules are the same formulas
# without error bounds.


# %%
def at_most(G, square, B):
    """Whether G sqrt(square) <= B."""
    return B >= 0 or B * B <= G * G * square if G <= 0 else B >= 0 and B * B >= G * G * square


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
    A = (
        rng.integers(-2, 3, (d, d)) * 1.0
        if kind == "small integers"
        else rng.standard_normal((d, d))
    )
    return A + A.T


def judge(name, rule, terms, side, ends, naive, scale):
    """Thresholds around the minima of all terms (side 1) or, the whole test turned over, their
    maxima (side -1)."""
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
    q, q2, s, n = (
        A @ Q.ravel(),
        A @ Q2.ravel(),
        A @ P.ravel() / np.linalg.norm(P),
        np.linalg.norm(A, axis=1),
    )
    h, D = (b - np.vdot(P, Q)) / np.linalg.norm(P), np.linalg.norm(Q - Q2)
    z = (D * D + r2 * r2 - r * r) / (2 * D)
    with np.errstate(invalid="ignore"):
        cut = q + h * s - np.sqrt(r * r - h * h) * np.sqrt(n * n - s * s)
        lens = (
            q2 + z / D * (q - q2) - np.sqrt(r2 * r2 - z * z) * np.sqrt(n * n - ((q - q2) / D) ** 2)
        )
    return q - r * n, cut, lens


def exact_minima(rows, side, first, second, plane):
    """The same minima in fractions, as `above` takes them."""
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
    """Judge the rules of a ball, of a ball and a half-space, and of two balls, on one random
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
def touching_radius(Q, a, t, row, diagonal):
    """A radius with which the ball just holds the projection of Q - t a on the cone, and the
    exact value of the triplet there."""
    if diagonal:
        x = [
            max(v - Fraction(t) * w, Fraction(0))
            for v, w in zip(fractions(Q), fractions(a), strict=True)
        ]
    else:
        values, vectors = np.linalg.eigh(Q - t * a)
        L = [fractions(v) for v in vectors * np.sqrt(np.maximum(values, 0.0))]
        x = [dot(v, w) for v in L for w in L]
    apart = [v - w for v, w in zip(x, fractions(Q), strict=True)]
    square = dot(apart, apart)
    r = -nearest((Fraction(0), square, Fraction(1)))
    while Fraction(r) ** 2 < square:
        r = float(np.nextafter(r, np.inf))
    return r, dot(row, x)


# %%
def cone(terms, row, side, diagonal):
    """One triplet, eight times, with thresholds at its value at a point of ball and cone."""
    a = side * np.array([float(v) for v in row]).reshape(terms.cone.shape)
    B = symmetric("small integers", 3)
    Q = rng.integers(-1, 5, 3) * 1.0 if diagonal else B @ B + rng.choice([0.0, 0.1]) * B
    t = float(rng.choice([1e-2, 0.3])) * (np.linalg.norm(Q) + 1.0) / np.linalg.norm(a)
    r, value = touching_radius(Q, a, t, row, diagonal)
    dual = np.linalg.norm(Q) ** 2 - np.linalg.norm(terms.cone.project(Q - t * a)) ** 2
    end, ball = (side * value, Fraction(0), Fraction(1)), ss.Sphere(Q, r)
    scale = (np.linalg.norm(a) + terms.same_pairs.largest) * (np.linalg.norm(Q) + r)
    name = "ball and weights" if diagonal else "ball and matrices"
    rule, naive = (
        lambda problem: ss.rules.semidefinite(problem, ball),
        lambda level: dual - 2 * t * level > r * r,
    )
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
    print(
        f"{name:20} {tests} thresholds: library wrong {wrong} (at most 0), decides more than "
        f"{tests // 8};  naive wrong more than 20 times"
    )

# %% [markdown]
# At the exact extreme and within a few units in the last place behind it the library leaves everything
# undecided, as it should. The naive rules decide, and are wrong dozens of times. (`make exhaustive` does the
# same for millions of thresholds, with samples, kernels, ranges of $\lambda$, blocks and domes too.)
#
# One sign decides here as well. A multiplier $y$ is found by a secant, and its rounding may leave it a little
# below 0 where the best one is 0. Weak duality needs $y \ge 0$, and so do the allowances: they are multiples of
# $y$, and below 0 each of them would *help* the claim. The library drops such a $y$.
#
# ## What is not a number
#
# **Fourth unsafe decision.** A negative gap under a root is a NaN. Every comparison with it is false, so a
# rule that asks `q - r*n > tau` screens nothing, but one that asks for the opposite and negates screens
# *everything*. The library's bounds turn NaN instead of 0 when something is broken, and the rules ask the
# first way only.

# %%
q, n, tau = np.array([3.0, 0.2, 0.9]), np.ones(3), 1.0
with np.errstate(invalid="ignore"):
    r = np.sqrt(np.float64(-1e-17))
undecided = q - r * n <= tau
print("asked for R:             ", (q - r * n > tau).tolist())
print("asked for undecided, not:", (~undecided).tolist())
for rule in RULES.values():
    for bad in (np.nan, np.inf):
        assert rule(flowers, ss.Sphere(visited[-1], bad)).rate == 0.0
print("no rule of the library screens anything with a radius that is NaN or infinite")

# %% [markdown]
# ## The whole chain
#
# From raw points to masks, without looking inside. On a line, triplets are numbers
# $h = (x_i - x_l)^2 - (x_i - x_j)^2$, and the exact solution is the root of an increasing, piecewise linear
# function: a few lines of fractions. To make it hard, the thresholds of all triplets are put at (or within
# $\pm 4$ units of) the float nearest to the solution's own margins, so that every triplet is within a
# rounding of a category it does not belong to. The references are floats next to the solution; all
# spheres, all rules.


# %%
def exact_optimum(h, tau, lam, width):
    """Root of lam x - sum alpha_t(h_t x) h_t on x >= 0, all fractions."""

    def slope(x):
        alpha = [
            min(max((t - a * x) / width, Fraction(0)), Fraction(1))
            for a, t in zip(h, tau, strict=True)
        ]
        return lam * x - dot(alpha, h)

    if slope(Fraction(0)) >= 0:
        return Fraction(0)
    edges = sorted(
        {e for a, t in zip(h, tau, strict=True) if a for e in (t / a, (t - width) / a) if e > 0}
    )
    low, high = 0, len(edges)  # the root is below edges[high] and not below edges[low - 1]
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if slope(edges[middle]) > 0 else (middle + 1, high)
    left = edges[low - 1] if low else Fraction(0)
    right = edges[low] if low < len(edges) else left + 1
    middle = (left + right) / 2
    return left - slope(left) * (middle - left) / (slope(middle) - slope(left))


# %% tags=["NEW-FP-chain"]
rng, one = np.random.default_rng(6), Fraction(1)
h = [Fraction(int(v)) for v in rng.integers(-9, 10, 12)]
x = exact_optimum(h, [one] * 12, one * 3, one / 2)
kkt = 3 * x - dot([min(max((1 - a * x) * 2, Fraction(0)), one) for a in h], h)
assert x > 0 and kkt == 0
print("an exact optimum:", x, "  its slope:", kkt)


# %% [markdown]
# Two functions make the random problems, with their optimum in fractions, and the decisions of plain numpy, without one
# error bound.

# %%
def line_problem(kind, diagonal, rng, n=12):
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
    """The duality gap bound and its rule without one error bound."""
    a, tau, width = np.array([float(v) for v in h]), problem.terms.threshold, problem.loss.gamma
    alpha = np.clip((tau - a * x) / width, 0.0, 1.0)
    P = np.sum(alpha * (tau - a * x) - width / 2 * alpha**2) + lam / 2 * x * x
    D = tau @ alpha - width / 2 * alpha @ alpha - max(a @ alpha, 0.0) ** 2 / (2 * lam)
    r = np.sqrt(2 * max(P - D, 0.0) / lam)
    return a * x + r * np.abs(a) < tau - width, a * x - r * np.abs(a) > tau


# %%
def truly(problem, x_star, h):
    """Masks of L and R at the exact optimum."""
    limits = [
        (Fraction(t) - Fraction(problem.loss.gamma), Fraction(t)) for t in problem.terms.threshold
    ]
    truly_L = np.array([a * x_star < low for a, (low, _) in zip(h, limits, strict=True)])
    truly_R = np.array([a * x_star > high for a, (_, high) in zip(h, limits, strict=True)])
    return truly_L, truly_R


def library_balls(problem, x, lam, before, eps):
    """Five balls of the library, four of a point and RRPB from a reference for 2 lam."""
    point = np.full(problem.cone.shape, x)
    return [
        ss.spheres.gradient_bound(problem, point, lam),
        ss.spheres.projected_gradient_bound(problem, point, lam),
        ss.spheres.duality_gap_bound(problem, point, lam),
        ss.spheres.midpoint_gap_bound(problem, point, lam),
        ss.spheres.relaxed_path_bound(before, eps, 2 * lam, lam),
    ]


# %% tags=["NEW-FP-chain"]
rng = np.random.default_rng(7)
counts = dict.fromkeys(("problems", "masks", "naive wrong", "library wrong", "library right"), 0)
for trial in range(48):
    problem, lam, x_star, h = line_problem(KINDS[trial % 4], bool(trial % 8 < 4), rng)
    truly_L, truly_R = truly(problem, x_star, h)
    counts["problems"] += 1
    near = float(x_star)
    x0 = exact_optimum(
        h, fractions(problem.terms.threshold), Fraction(2 * lam), Fraction(problem.loss.gamma)
    )
    before = np.full(problem.cone.shape, float(x0))
    eps = np.nextafter(abs(float(Fraction(float(x0)) - x0)), 1.0)
    for x in (near, np.nextafter(near,
                                 np.inf), near * (1 + 1e-8), near * (1 - 1e-12), 0.5 * near, 0.0):
        for ball in library_balls(problem, x, lam, before, eps):
            distance = abs(Fraction(float(ball.center.ravel()[0])) - x_star)
            assert distance <= Fraction(ball.radius), ball.name
            for name in ("sphere", "halfspace", "semidefinite"):
                found = RULES[name](problem, ball)
                counts["masks"] += 1
                counts["library wrong"] += int(
                    np.sum(found.in_L & ~truly_L) + np.sum(found.in_R & ~truly_R)
                )
                counts["library right"] += found.n_L + found.n_R
        in_L, in_R = naive_masks(problem, x, lam, h)
        counts["naive wrong"] += int(np.sum(in_L & ~truly_L) + np.sum(in_R & ~truly_R))
print(
    f"{counts['problems']} problems, {counts['masks']} pairs of masks, against the exact optimum:"
)
print(
    f"library wrong: {counts['library wrong']} (allowed 0);   naive wrong: "
    f"{min(counts['naive wrong'], 50)} times or more"
)
assert counts["library wrong"] == 0
assert counts["naive wrong"] >= 50
assert counts["library right"] > 1000

# %% [markdown]
# ## What it costs
#
# It takes the time of one more array, which holds the errors of the margins. Each error is a scale of the pair times a number. To
# count the lost decisions we take a path over all of iris. At each solution the library screens, and so does the naive
# rule with the computed radius $\sqrt{2(P-D)/\lambda}$.

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
print(
    f"decisions on the path, in thousands: {naive / 1000:.0f};  lost to safety: at "
    f"most {lost} in 10000"
)

# %% [markdown]
# ## Two more ways to lose
#
# * **Reduced problems.** When screened triplets are added to the linear term $c$ in many small steps, and
#   some are taken out again, the rounding errors of all steps add up. The library counts, for each pair of
#   points, *how many* triplets of L it is in, an exact integer, and makes $c$ anew from these counts; its
#   error bound travels with it.
# * **The compiler.** With one version of numba, on one kind of processor, a compiled loop that set two
#   arrays under a condition lost some of the stores, a lost flag that no error analysis foresees. The
#   library therefore forbids that instruction set (AVX-512), and a test runs the loop in question.
#
# ## Exercise
#
# Let $q$, $A$, $B$, $S = \mathrm{fl}(A + B)$ and $\tau$ be floats, $A$ and $B$ upper bounds of the two things
# that can go wrong, and suppose $S \ge A + B$. Four colleagues write the test for R as
#
# 1. `q - S > tau`, 2. `q > tau + S`, 3. `q - tau > S`, 4. `q - A - B > tau`.
#
# Which of them can be true although $q - A - B \le \tau$?
#
# <details>
# <summary><b>Solution</b></summary>
#
# Only the last. In 1 to 3 a single operation is rounded, and what it is compared with is a float, so
# monotone rounding applies: for 2, $q \le \tau + S$ gives $q = \mathrm{fl}(q) \le \mathrm{fl}(\tau + S)$; for
# 3, $q - \tau \le S$ gives $\mathrm{fl}(q - \tau) \le S$. In 4 two subtractions are rounded one after the
# other, and both may round up: $q = 1 + 2^{-51}$, $A = B = 2^{-53}$ lie just so that each time the nearest
# even neighbour is $q$ itself.
#
# </details>

# %%
q, A, B, tau = 1 + 2.0**-51, 2.0**-53, 2.0**-53, 1 + 2.0**-52
S = A + B
exact_side = Fraction(q) - Fraction(A) - Fraction(B) > Fraction(tau)
forms = [q - S > tau, q > tau + S, q - tau > S, q - A - B > tau]
print("exactly:", exact_side, "  the four tests:", forms)
assert not exact_side and forms == [False, False, False, True]

# %% [markdown]
# ## Fine print
#
# * **What is not proved.** We take the constant $16\,d$ for the backward error of LAPACK's symmetric eigensolver without a proof.
#   It is tested here and in `tests/safety`, and is several times what is seen. Diagonal metrics and support
#   vector machines do not need it.
# * **What "exact data" means.** The floats in memory. If the points are measurements rounded to three
#   digits, the certificate speaks of the rounded ones.
# * **Feasible references.** A computed positive part may be outside the cone by a rounding. Bounds that
#   assume $x \in K$ are applied to its projection, and grow by the distance.
# * **Fused operations** ($ab + c$ with one rounding) only remove roundings. **Underflow** is covered by
#   tiny absolute terms in each bound. Reassociation by the compiler (`fastmath`) is refused, because it
#   may change which number is compared.
# * **Others.** Dantas and Gribonval (2019) keep tests for the lasso safe when the matrix is an approximation with known
#   errors (abstract read). Rounding is an approximation of this kind. Their errors are large and bought for speed; here each operation's error is followed.
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
