# %% [markdown]
# # One ball, many names
#
# BT1, DVI, RPB, MGB, BT2, GB, the dome, the linear rule, $C_{\min}$: the papers on triplets and the papers on samples
# name their tests separately, and several names belong to one test. [`26-one-problem-three-cones`](26-one-problem-three-cones.ipynb) writes both groups of
# papers for one problem. This notebook compares the *tests*: which tests are equal, for which input, and which assumption
# the equality needs. The comparison matters in practice, because formulas that are equal for an exact reference differ for
# an inexact one.
#
# At the end you will have seen that
#
# * the DVI test of Wang et al., which is derived in the dual, has the lower bound of BT1 with $\tilde w = w_0$ (SSS14
#   appendix C), for every kernel;
# * equation 34 is for references with $C_0 < C$, as in the paper; with a modulus it is right for $C_0 > C$ as well;
# * BT1 and BT2 are the midpoint gap bounds of two different dual points; GB is a BT2;
# * which balls have the same diameter, and which balls contain others;
# * if the reference is not exact, the "equal" formulas differ and lose the solution, and the midpoint gap bound
#   keeps it.

# %%
import numpy as np
import sympy as sp

import safescreen as ss
from safescreen import rules, spheres, svm
from safescreen_book import datasets, figures

# %% [markdown]
# ## The idea in a picture
#
# The picture shows the plane of weights of forty samples. A star marks the solution for one $C$. The papers have seven
# names for two balls and a dome. From the exact solution $w_0$ for a smaller $C_0$, the DVI test, ball test 1 (BT1), the
# regularization path bound (RPB) and the midpoint gap bound (MGB) have the same ball. Ball test 2 with the slopes at $w_0$ is
# the gradient bound (GB). The dome of SSS13 is the part of a ball around 0 (dashed) that lies beyond a plane
# (dotted).

# %%
forty = np.random.default_rng(7).standard_normal((40, 2))
sides = np.where(np.arange(40) % 2, 1, -1)
forty += 1.1 * sides[:, None] * [1.0, 0.6]
machine = ss.Problem(ss.Samples(forty, sides), ss.Hinge())
C_low = 0.1
C_high = 0.2
low, high = (ss.solve(machine, 1.0 / C, tol=0.0, rtol=1e-12) for C in (C_low, C_high))
slopes = machine.alpha(low.x)
same = [
    svm.ball_1(machine.terms, C_high, svm.reference(low)),
    spheres.path_bound(low.x, 1.0 / C_low, 1.0 / C_high),
]
assert np.allclose(same[0].center, same[1].center, rtol=1e-6)
assert abs(same[0].radius / same[1].radius - 1.0) < 1e-3
second = [
    svm.ball_2(machine.terms, C_high, low.x, slopes),
    spheres.gradient_bound(machine, low.x, 1.0 / C_high),
]
assert np.allclose(second[0].center, second[1].center)
assert abs(second[0].radius / second[1].radius - 1.0) < 1e-6

# %%
figure, ax = figures.panels(1, width=6.4, height=4.8)
drawn = {"DVI = BT1 = RPB = MGB": same[0], "BT2 = GB": second[0]}
marks = {"$w_0$": low.x, "optimum": high.x}
figures.balls(ss.cones.FreeSpace(2), drawn, marks, ax=ax, title="seven names")
ax.set_facecolor("white")
turn = np.linspace(0.0, 2.0 * np.pi, 300)
circle = np.linalg.norm(high.x) * np.array([np.cos(turn), np.sin(turn)])
ax.plot(*circle, "--", color="#555555", linewidth=1.0)
ax.axline(low.x, slope=-low.x[0] / low.x[1], color="#555555", linestyle=":")
ax.plot(0.0, 0.0, "o", color="black", markersize=4)
ax.set(xlim=(-0.1, 1.75), ylim=(-0.45, 1.0))
ratio = second[0].radius / same[0].radius
figures.show(
    "In the plane of weights one disc is the ball of DVI, BT1, RPB and MGB, with the reference on "
    "its circle. The other disc is the ball of BT2 and GB. Both discs contain the optimum. The "
    f"radius of the other disc is {ratio:.2f} times the radius of the first. The dome is the thin "
    "region between a dotted line through the reference and a dashed circle around 0 through the "
    "optimum."
)

# %% [markdown]
# ## The claim
#
# This notebook uses the notation of the notebooks on samples: $C = 1/\lambda$, $z_i = y_i x_i$, $Q_{ij} = \langle z_i, z_j\rangle$,
# $z_\alpha = \sum_i \alpha_i z_i$ with $\alpha \in [0, 1]^n$, and $\xi$ is the total loss. $(w_0, \alpha_0)$ is the primal
# and dual solution for $C_0$, so $w_0 = C_0 z_{\alpha_0}$. The papers' dual variable is $a = C\alpha$.
#
# > **SSS14 appendix C.** With $\tilde w = w_0$, ball test 1 for $C$ bounds the margins from below by
# >
# > $$\ell_i = \tfrac{C + C_0}{2C_0}\,(Qa_0)_i - \tfrac{C - C_0}{2C_0}\sqrt{a_0^\top Q a_0\; Q_{ii}}, \tag{34}$$
# >
# > which is the DVI test of Wang et al.
#
# (From section IV on, a reference of SSS14 has $C_0 < C$. For any $C$ the second coefficient is
# $|C - C_0|/2C_0$.) This notebook checks every row of the following table:
#
# | test | equals | when |
# |---|---|---|
# | BT1($\tilde w$) | MGB of $(\tilde w, \alpha_0)$ | always, for an exact reference |
# | BT1($w_0$) | DVI, RPB | always, for an exact reference |
# | BT2($\tilde w, s$) | MGB of $(\tilde w, s)$ | always |
# | BT2($\tilde w, s$) | GB at $\tilde w$ | $s = \alpha(\tilde w)$, slopes at $\tilde w$ |
# | BT2($\tilde w, s$) | DGB at $\tilde w$ with half the radius, moved | $s = \alpha(\tilde w)$ |
# | BT1($\tilde w$) | CDGB | $\tilde w = \frac{C}{C_0} w_0$ |
# | Dome | linear rule, center 0 | always |
# | $1/C_{\min}$ | all-linear $\lambda$ | always |
# | IT | rule of MGB($\tilde w, \alpha_0$) and MGB($\tilde w, s$) | always; no triplet paper has this rule |
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
# ### DVI, in the dual
#
# Divide the dual in the papers' scale by $C$, and write $\theta = a/C \in [0,1]^n$. The dual minimises
# $\frac C2\|z_\theta\|^2 - \mathbf 1^\top\theta$ over a box that does not depend on $C$. So the dual solution for one $C$ is
# feasible for every other $C$, which gives two variational inequalities,
#
# $$\langle C z_\theta, z_{\theta_0} - z_\theta\rangle \ge \mathbf 1^\top(\theta_0 - \theta), \qquad
# \langle C_0 z_{\theta_0}, z_\theta - z_{\theta_0}\rangle \ge \mathbf 1^\top(\theta - \theta_0),$$
#
# The linear terms cancel in their sum:
#
# $$\langle C z_\theta - C_0 z_{\theta_0},\; z_\theta - z_{\theta_0}\rangle \le 0 .$$
#
# With $w = C z_\theta$, $w_0 = C_0 z_{\theta_0}$ the sum is $\langle w - w_0,\; w - \frac{C}{C_0} w_0\rangle \le 0$: the angle at
# $w$ over the segment from $w_0$ to $\frac{C}{C_0} w_0$ is not acute. By Thales **$w$ lies in the ball with this segment as a diameter**:
# center $\frac{C + C_0}{2C_0} w_0$, radius $\frac{|C - C_0|}{2C_0}\|w_0\|$. With
# $\langle z_i, w_0\rangle = (Qa_0)_i$ and $\|w_0\|^2 = a_0^\top Q a_0$, the extreme margins over this ball are (34) with the modulus.
#
# ### BT1, in the primal
#
# The squared radius of BT1 is $\|m\|^2 - \frac C{C_0}\|w_0\|^2 + C(\tilde\xi - \xi_0)$ with $m = \frac12(\tilde w + \frac C{C_0} w_0)$.
# For $\tilde w = w_0$ the losses cancel. For any $\tilde w$ the ball is a midpoint gap bound ([`28-midpoint-gap-bound`](28-midpoint-gap-bound.ipynb)). The squared
# radius of MGB is $C(P - D) - \frac14\|\tilde w - Cz_\alpha\|^2$. For $\alpha = \alpha_0$ the optimality for $C_0$
# enters it through one number, $\mathbf 1^\top\alpha_0 = \xi_0 + \|w_0\|^2/C_0$:

# %%
C, C0, xi_t, xi0, total_alpha = sp.symbols("C C0 xi_t xi_0 S", positive=True)
w1, w2, u1, u2, v1, v2 = sp.symbols("w1 w2 u1 u2 v1 v2", real=True)
w_t, z_alpha = sp.Matrix([w1, w2]), sp.Matrix([v1, v2])  # w~ and sum alpha_i z_i


def mgb_square(w, z, xi, S):
    """Return the squared radius of MGB, C (P - D) - |w - C z|^2/4, for the hinge."""
    gap = xi + w.dot(w) / (2 * C) - S + C * z.dot(z) / 2  # P - D
    return C * gap - (w - C * z).dot(w - C * z) / 4


w_0 = sp.Matrix([u1, u2])
m1 = (w_t + C / C0 * w_0) / 2
bt1 = m1.dot(m1) - C / C0 * w_0.dot(w_0) + C * (xi_t - xi0)
difference = mgb_square(w_t, w_0 / C0, xi_t, xi0 + w_0.dot(w_0) / C0) - bt1
assert sp.simplify(difference) == 0
print("MGB(w~, alpha0) - BT1:", sp.simplify(difference))

# %% [markdown]
# The next cell checks the second ball, and BT1 at the reference, which has the ball of DVI.

# %%
m2 = (w_t + C * z_alpha) / 2
bt2 = m2.dot(m2) + C * (xi_t - total_alpha)
assert sp.simplify(mgb_square(w_t, z_alpha, xi_t, total_alpha) - bt2) == 0
print("MGB(w~, s) - BT2:", sp.simplify(mgb_square(w_t, z_alpha, xi_t, total_alpha) - bt2))

path_case = bt1.subs({w1: u1, w2: u2, xi_t: xi0}, simultaneous=True)
dvi_square = ((C - C0) / (2 * C0)) ** 2 * w_0.dot(w_0)
assert sp.simplify(path_case - dvi_square) == 0
print("BT1(w0) - DVI:", sp.simplify(path_case - dvi_square))

# %% [markdown]
# If $s$ contains the slopes at $\tilde w$, the second ball is GB: $\tilde\xi = S - \langle z_s, \tilde w\rangle$, the
# gradient is $\tilde w - C z_s$, and the radius is half the norm of the gradient.

# %%
at_slopes = bt2.subs(xi_t, total_alpha - z_alpha.dot(w_t))
gb = (w_t - C * z_alpha).dot(w_t - C * z_alpha) / 4
assert sp.simplify(at_slopes - gb) == 0
print("BT2(w~, s = alpha(w~)) - GB:", sp.simplify(at_slopes - gb))

# %% [markdown]
# The equality of MGB and BT2 does *not* need zeros and ones in $s$. With slopes the only gap
# is the gap between $\tilde w$ and $Cz_s$, so $C(P - D) = \frac12\|\tilde w - Cz_s\|^2$ and
# $r_{\text{DGB}}^2 = \|\tilde w - Cz_s\|^2$. So the radius of GB is half the radius of DGB. (CDGB in the table has
# $\tilde w = Cz_{\alpha_0}$, and its center is $\tilde w$.)
#
# ## Ten lines of numpy
#
# The dual needs only the kernel matrix, so the machine may be in any space.


# %%
def dvi(Q, a0, C0, C, modulus=True):
    """Return bounds of all margins by SSS14 equation 34, from kernel matrix and dual solution."""
    Qa = Q @ a0
    step = abs(C - C0) if modulus else C - C0
    half = step / (2.0 * C0) * np.sqrt(a0 @ Qa * np.diag(Q))
    middle = (C + C0) / (2.0 * C0) * Qa
    return middle - half, middle + half


cells, diagnosis = datasets.load("breast-cancer", return_X_y=True)
from_points = ss.KernelSamples.from_points
width = cells.shape[1]
kinds = {
    "linear": from_points(cells, diagnosis, "linear"),
    "RBF": from_points(cells, diagnosis, "rbf", gamma=0.3 / width),
    "polynomial": from_points(cells, diagnosis, "polynomial", gamma=1.0 / width),
}
everything = np.arange(len(cells))


def solve(prob, C, rtol=1e-11):
    return ss.solve(prob, 1.0 / C, tol=0.0, rtol=rtol, screening=())


# %% [markdown]
# ## The library, and does it match?
#
# The next cells test three kernels, for larger and smaller $C$. `svm.ball_1` returns the ball of BT1, `spheres.path_bound`
# the RPB of the triplets, and `dvi` is the function above. The cells compare the extreme margins over the balls with (34).
# The remaining difference comes from the accuracy of the reference.

# %%
def off_the_margins(terms, balls, low, high, scale):
    """Return the largest difference between the margins over balls and given ones, over a scale."""
    worst = 0.0
    for ball in balls:
        middle, half = terms.margins(ball.center), ball.radius * terms.norms
        off_low = np.max(np.abs(middle - half - low) / scale)
        off_high = np.max(np.abs(middle + half - high) / scale)
        worst = max(worst, off_low, off_high)
    return worst


def decided_alike(found, low, high, solution):
    """Assert that the masks of BT1 agree with the margins of DVI and the solution; return the
    counts of R and L by both, DVI first."""
    clear = np.minimum(np.abs(low - 1.0), np.abs(high - 1.0)) > 1e-3
    assert np.array_equal(found.in_R[clear], (low > 1)[clear])
    assert np.array_equal(found.in_L[clear], (high < 1)[clear])
    assert not np.any(solution.alpha[found.in_R] > 1e-6)
    assert np.all(solution.alpha[found.in_L] > 1 - 1e-6)
    in_R = f"{np.sum((low > 1) & clear):11d}{np.sum(found.in_R & clear):6d}"
    in_L = f"{np.sum((high < 1) & clear):11d}{np.sum(found.in_L & clear):6d}"
    return in_R, in_L


# %% tags=["SSS14-AppC"]
heads = f"{'kernel':12}{'C/C0':>6}{'in R, DVI':>11}{'BT1':>6}{'in L, DVI':>11}{'BT1':>6}"
print(f"{heads}{'too high without modulus':>26}")
worst, too_high = 0.0, {True: [], False: []}
for name, terms in kinds.items():
    prob, Q = ss.Problem(terms, ss.Hinge()), terms.gram(everything)
    C0_ = 30.0 * svm.c_min(terms)
    at0 = solve(prob, C0_, 1e-11)
    a0 = C0_ * at0.alpha
    for ratio in (1.2, 1.0 / 1.2):
        C_ = ratio * C0_
        solution = solve(prob, C_)
        margins = terms.margins(solution.x)
        low, high = dvi(Q, a0, C0_, C_)
        printed = dvi(Q, a0, C0_, C_, modulus=False)[0]
        bt1, rpb = svm.ball_1(terms, C_, at0), spheres.path_bound(at0.x, at0.lam, 1.0 / C_)
        worst = max(worst, off_the_margins(terms, (bt1, rpb), low, high, rpb.radius * terms.norms))
        assert np.all(low <= margins + 1e-4) and np.all(margins <= high + 1e-4)
        in_R, in_L = decided_alike(svm.ball_test_1(terms, C_, at0), low, high, solution)
        share = float(np.mean(printed > margins + 1e-4))
        print(f"{name:12}{ratio:6.2f}{in_R}{in_L}{share:26.2f}")
        too_high[ratio > 1.0].append(share)
assert worst < 1e-2 and max(too_high[True]) == 0.0 and min(too_high[False]) > 0.5
print("DVI, BT1 and RPB differ by less than 1 % of a radius")

# %% [markdown]
# **The modulus.** For $C > C_0$, the case of the paper, (34) is right as printed. For $C < C_0$ the sign of $C - C_0$ changes,
# so the formula needs the modulus. The library and [`26-one-problem-three-cones`](26-one-problem-three-cones.ipynb) use this case when the reference is for a larger $C$.
#
# ## The remaining rows of the table
#
# $\tilde w$ is any feasible point, the data are the same with features (`Samples`), and $C = 1.3\,C_0$. Each row
# compares a printed formula with the library's ball of another name. The centers and the radii agree to a thousandth of a
# radius.


# %%
def total_loss(Z, w):
    return np.maximum(1.0 - Z @ w, 0.0).sum()


def as_printed_1(Z, C, w0, C0, w_t):
    """Return the ball of SSS14 Theorem 6."""
    m = (w_t + C / C0 * w0) / 2
    square = m @ m - C / C0 * (w0 @ w0) + C * (total_loss(Z, w_t) - total_loss(Z, w0))
    return ss.Sphere(m, float(np.sqrt(square)))


def as_printed_2(Z, C, w_t, s):
    """Return the ball of SSS14 Theorem 7."""
    m = (w_t + C * (s @ Z)) / 2
    return ss.Sphere(m, float(np.sqrt(m @ m + C * (total_loss(Z, w_t) - s.sum()))))


# %%
terms = ss.Samples(cells, diagnosis)
prob, Z = ss.Problem(terms, ss.Hinge()), diagnosis[:, None] * cells
C0_ = 30.0 * svm.c_min(terms)
C_ = 1.3 * C0_
at0, optimum = solve(prob, C0_, 1e-11), solve(prob, C_, 1e-12)
rng = np.random.default_rng(0)
w_t = at0.x + 0.1 * np.linalg.norm(at0.x) / np.sqrt(30) * rng.standard_normal(30)
any_s, slopes = rng.uniform(0.0, 1.0, len(Z)), prob.alpha(w_t)
stretched = C_ / C0_ * at0.x
lam0, lam = 1.0 / C0_, 1.0 / C_
mgb = spheres.midpoint_gap_bound
double = spheres.duality_gap_bound(prob, w_t, lam, slopes)
half_dgb = ss.Sphere(double.center - 0.5 * (w_t - C_ * slopes @ Z), 0.5 * double.radius)

# %% tags=["equivalences"]
bt1 = as_printed_1(Z, C_, at0.x, C0_, w_t)
bt1_reference = as_printed_1(Z, C_, at0.x, C0_, at0.x)
bt1_stretched = as_printed_1(Z, C_, at0.x, C0_, stretched)
bt2, bt2_slopes = as_printed_2(Z, C_, w_t, any_s), as_printed_2(Z, C_, w_t, slopes)
cdgb = spheres.constrained_duality_gap_bound(prob, at0.alpha, lam)
pairs = {
    "BT1(w~) printed, svm.ball_1": (bt1, svm.ball_1(terms, C_, at0, w_t)),
    "BT1(w~), MGB(w~, alpha0)": (bt1, mgb(prob, w_t, lam, at0.alpha)),
    "BT1(w0), RPB": (bt1_reference, spheres.path_bound(at0.x, lam0, lam)),
    "BT2(w~, s) printed, svm.ball_2": (bt2, svm.ball_2(terms, C_, w_t, any_s)),
    "BT2(w~, s), MGB(w~, s)": (bt2, mgb(prob, w_t, lam, any_s)),
    "BT2(w~, slopes), GB(w~)": (bt2_slopes, spheres.gradient_bound(prob, w_t, lam)),
    "BT2(w~, slopes), DGB/2": (bt2_slopes, half_dgb),
    "BT1(C/C0 w0), CDGB(alpha0)": (bt1_stretched, cdgb),
}
for name, (one, other) in pairs.items():
    apart = np.linalg.norm(one.center - other.center) / one.radius
    wider = abs(other.radius / one.radius - 1.0)
    assert apart < 1e-3 and wider < 1e-3 and other.contains(optimum.x)
    print(f"{name:32} centers and radii differ by less than 1e-3 radii   radius {one.radius:.3f}")


# %% [markdown]
# The masks of the rules are compared too. The next cell has the printed bounds of IT (SSS14 Theorem 8, three cases) and of
# the linear rule (STS19 Theorem 9, for a half-space at any offset), in plain numpy:

# %%
def theorem_8(Z, m1, r1, m2, r2):
    """Return the smallest <z, w> over two balls whose surfaces meet, by SSS14 Theorem 8."""
    phi, n = m1 - m2, np.linalg.norm(Z, axis=1)
    D = np.linalg.norm(phi)
    zeta = (D**2 + r2**2 - r1**2) / (2 * D)
    psi = m2 + zeta * phi / D
    kappa = np.sqrt(r2**2 - zeta**2)
    s = Z @ phi / D
    rim = Z @ psi - kappa * np.sqrt(np.maximum(n**2 - s**2, 0.0))
    rim_or_second = np.where(-s / n > zeta / r2, Z @ m2 - r2 * n, rim)
    return np.where(-s / n < (zeta - D) / r1, Z @ m1 - r1 * n, rim_or_second)


def linear_rule(Z, Q, r, p, level):
    """Return the smallest <z, w> over a ball and <p, w> >= level."""
    p, delta = p / np.linalg.norm(p), (level - p @ Q) / np.linalg.norm(p)
    s, n = Z @ p, np.linalg.norm(Z, axis=1)
    rim = Z @ Q + delta * s - np.sqrt((r**2 - delta**2) * np.maximum(n**2 - s**2, 0.0))
    return np.where(-r * s / n >= delta, Z @ Q - r * n, rim)


# %% [markdown]
# Three computations of IT decide the same samples: the printed balls and cases, the library's test, and the library's rule
# for two midpoint gap bounds.

# %% tags=["equivalences"]
def alike(found, low, high, at):
    """Assert that masks agree with bounds (within 1e-3 of 1 a rule may decide fewer samples) and
    with a solution; return the number of decisions."""
    sure = np.minimum(np.abs(low - 1.0), np.abs(high - 1.0)) > 1e-3
    assert np.array_equal(found.in_R[sure], (low > 1.0)[sure])
    assert np.array_equal(found.in_L[sure], (high < 1.0)[sure])
    assert not np.any(at.alpha[found.in_R] > 1e-6) and np.all(at.alpha[found.in_L] > 1.0 - 1e-6)
    return found.n_L + found.n_R


s_hat = (1.0 - (C_ + C0_) / (2.0 * C0_) * (Z @ at0.x) > 0.0).astype(float)
one, two = as_printed_1(Z, C_, at0.x, C0_, at0.x), as_printed_2(Z, C_, at0.x, s_hat)
regions = one.center, one.radius, two.center, two.radius
low, high = theorem_8(Z, *regions), -theorem_8(-Z, *regions)
by_mgb = rules.intersection(prob, mgb(prob, at0.x, lam, at0.alpha), mgb(prob, at0.x, lam, s_hat))
by_svm = svm.intersection_test(terms, C_, at0)
n_it = [alike(found, low, high, optimum) for found in (by_svm, by_mgb)]
print(f"IT = Theorem 8 of two MGBs: {n_it[0]} and {n_it[1]} decided")
assert min(n_it) > 100

# %% [markdown]
# The dome test is the linear rule with center 0. With another center the linear rule cuts the ball of a later solution by
# the plane of an earlier one.

# %% tags=["equivalences"]
last = solve(prob, 1.2 * C_)
A = at0.x @ at0.x
B = optimum.x @ optimum.x
q = Z @ at0.x
n = np.linalg.norm(Z, axis=1)
rim = np.sqrt((B - A) / A * (A * n**2 - q**2))
low = np.where(-q * np.sqrt(B) >= A * n, -np.sqrt(B) * n, q - rim)
high = np.where(q * np.sqrt(B) >= A * n, np.sqrt(B) * n, q + rim)
zero = np.zeros(30)
assert np.allclose(low, linear_rule(Z, zero, np.sqrt(B), at0.x, A))
assert np.allclose(high, -linear_rule(-Z, zero, np.sqrt(B), at0.x, A))
by_rule = rules.halfspace(prob, ss.Sphere(zero, np.sqrt(B)), at0.x, A)
by_dome = svm.dome_test(terms, at0, optimum)
n_dome = [alike(found, low, high, optimum) for found in (by_dome, by_rule)]
# the ball of the later solution, cut by the plane of the earlier one
later = spheres.path_bound(last.x, last.lam, lam)
low = linear_rule(Z, later.center, later.radius, at0.x, A)
high = -linear_rule(-Z, later.center, later.radius, at0.x, A)
n_cut = alike(rules.halfspace(prob, later, at0.x, A), low, high, optimum)
print(f"dome = linear rule: {n_dome[0]} and {n_dome[1]} decided; cut ball: {n_cut}")
assert min(n_dome) > 15 and n_cut > 100

# %% [markdown]
# The smallest $C$ of the papers on samples is one over the $\lambda$ at which all terms are linear:

# %% tags=["equivalences"]
largest = (Z @ Z.sum(axis=0)).max()
assert abs(svm.c_min(terms) * prob.lam_max() - 1.0) < 1e-12
assert abs(svm.c_min(terms) * largest - 1.0) < 1e-9
print(f"1/C_min = {1.0 / svm.c_min(terms):.1f}")
print(f"all-linear lambda = {prob.lam_max():.1f}")
print(f"max (Q 1)_i = {largest:.1f}")

# %% [markdown]
# ### Which ball contains which
#
# For the pair $(\tilde w, \alpha)$ MGB lies in DGB. BT1 and BT2 are MGBs for different $\alpha$. In
# general neither of the two contains the other, but for a bad $s$ ball 2 contains ball 1 ([`34-choice-of-s-and-smallest-c`](34-choice-of-s-and-smallest-c.ipynb)). The ball of $w_0$
# contains the solutions for the whole interval from $C_0$ to $C$. It is not inside the dome, but its overlap with the ball of $w(C)$ for
# $C_0$ lies inside the dome ([`36c-dome-test-as-printed`](36c-dome-test-as-printed.ipynb)). The next picture shows the share that each test screens, along $C/C_0$:

# %% tags=["nbval-ignore-output"]
steps = np.geomspace(1.02, 2.5, 12)
names = {
    "BT1 = DVI = RPB = MGB": [],
    "BT2, s from the center of BT1": [],
    "IT": [],
    "DT, with the solution for C": [],
}
for ratio in steps:
    C = ratio * C0_
    it, bt1 = svm.intersection_test(terms, C, at0), svm.ball_test_1(terms, C, at0)
    bt2 = svm.ball_test_2(terms, C, at0.x, svm.choose_s(terms, C, at0))
    dome_found = svm.dome_test(terms, at0, solve(prob, C, 1e-9))
    for key, found in zip(names, (bt1, bt2, it, dome_found), strict=True):
        names[key].append(found.rate)
    assert np.all(it.in_R >= bt1.in_R | bt2.in_R) and np.all(it.in_L >= bt1.in_L | bt2.in_L)
shares = {key: (steps, value) for key, value in names.items()}
figures.lines(shares, xlabel="$C/C_0$", ylabel="share screened", title="breast cancer")
figures.show(
    "Curves show the share of breast-cancer samples screened against C over the C of the "
    f"reference: {figures.ends(names)}. The means are {figures.listed(names)}."
)

# %% [markdown]
# ## Break it: the reference is not exact
#
# Now $w_0$ and $\alpha_0$ have a relative gap. The equation $w_0 = C_0 z_{\alpha_0}$ can fail, and with it every equality that uses it:
#
# * RPB uses $w_0$ as if it were optimal;
# * DVI uses $a_0$, that is $C_0 z_{\alpha_0}$, as if it were optimal;
# * the printed BT1 uses $\tilde w = w_0$ with its loss, so its center and its radius are RPB's.
#
# MGB($w_0, \alpha_0$) uses both points, assumes no optimality, and adds the gap to its radius. The table shows the distance
# of the solution for $C$ from the center, in radii. Above 1 the ball does not contain the solution. A dual method (coordinate descent) keeps $w_0 = C_0 z_{\alpha_0}$ at every
# step, so RPB and DVI remain one ball. With a primal method (projected gradient) they differ:

# %%
def four_balls(rough, C):
    """Return the balls for C that four names give for a reference that is not exact."""
    v0 = C0_ * rough.alpha @ Z
    return {
        "RPB": spheres.path_bound(rough.x, lam0, 1.0 / C),
        "DVI": spheres.path_bound(v0, lam0, 1.0 / C),
        "MGB": svm.ball_1(terms, C, rough),
        "RRPB": spheres.relaxed_path_bound(rough.x, rough.eps, lam0, 1.0 / C),
    }


# %% tags=["nbval-ignore-output"]
print(f"{'method':12}{'asked for':>10}{'C/C0':>7}{'RPB, BT1':>11}{'DVI':>9}{'MGB':>9}{'RRPB':>9}")
lost, n_balls = {"RPB": 0, "DVI": 0, "MGB": 0, "RRPB": 0}, 0
accuracies = ("coordinate", 1e-2), ("coordinate", 1e-5), ("gradient", 1e-2), ("gradient", 1e-3)
for method, rtol in accuracies:
    rough = ss.solve(prob, lam0, tol=0.0, rtol=rtol, screening=(), method=method)
    for ratio in (1.01, 1.05, 1.3):
        C_ = ratio * C0_
        w_star = solve(prob, C_, 1e-12).x
        away = {}
        for name, ball in four_balls(rough, C_).items():
            away[name] = np.linalg.norm(w_star - ball.center) / ball.radius
            lost[name] += int(away[name] > 1.0 + 1e-6)
        n_balls += 1
        row = "".join(f"{away[name]:9.1f}" for name in ("DVI", "MGB", "RRPB"))
        print(f"{method:12}{rtol:10.0e}{ratio:7.2f}{away['RPB']:11.1f}{row}")
print("of", n_balls, "times, solution lost:", lost)
assert lost["MGB"] == 0 and lost["RRPB"] == 0

# %% [markdown]
# So "BT1 = DVI = RPB" is a statement about exact solutions, which no solver returns. Of the four balls, a program should
# use MGB. MGB is very likely the ball known in sparse regression as RYU (Tran, Elvira, Dang and Herzet).
#
# ### Slopes, not any s
#
# BT2 = GB needs slopes at $\tilde w$ as $s$. With the slopes of *another* point the radius of GB, $r =
# \frac12\|\tilde w - Cz_s\|$, omits the Fenchel terms. It is too small, and the ball loses the solution. The radius of BT2
# includes the Fenchel terms:

# %%
far = prob.alpha(4.0 * at0.x)
gap_like = 0.5 * np.linalg.norm(w_t - 1.3 * C0_ * far @ Z)
ball = as_printed_2(Z, 1.3 * C0_, w_t, far)
distance = np.linalg.norm(ball.center - optimum.x)
print(f"slopes of another point: radius of GB {gap_like:.3f}, radius of BT2 {ball.radius:.3f}")
print(f"distance of the solution from the center: {distance:.3f}")
assert gap_like < distance <= ball.radius

# %% [markdown]
# ## Exercise
#
# The same reference gives a third ball if the roles in DVI are exchanged. Let $w_b$ be the solution for $C_b > C$. What is the
# diameter of its ball for $C$, and how do the balls of $w_a$ and $w_b$ overlap as $C_a, C_b \to C$?
#
# <details>
# <summary><b>Solution</b></summary>
#
# The diameter is the segment from $\frac{C}{C_b} w_b$ to $w_b$. Both balls shrink to the point $w(C)$, with radii proportional to $|C - C_a|$ and
# $|C_b - C|$. If the path is a straight ray near $C$, $w(C) = \frac{C}{C_a} w_a = \frac{C}{C_b} w_b$. Then one ball ends in
# $w(C)$ and the other begins in $w(C)$, so the balls touch only in the solution. If the solution is constant, $w_a = w(C) = w_b$, the
# balls also touch only in the solution. In general they overlap in a lens, which is thicker for a more curved path.
#
# </details>

# %%
C_a, C_b = C0_, 1.2 * C0_
first, second = solve(prob, C_a, 1e-12), solve(prob, C_b, 1e-12)
C = np.sqrt(C_a * C_b)
from_a, from_b = (spheres.path_bound(s.x, s.lam, 1.0 / C) for s in (first, second))
ends = (C / C_b * second.x, second.x)
assert np.linalg.norm(from_b.center - sum(ends) / 2) < 1e-9
assert abs(from_b.radius - np.linalg.norm(ends[1] - ends[0]) / 2) < 1e-9
lens = rules.intersection(prob, from_a, from_b)
one, other = rules.sphere(prob, from_a), rules.sphere(prob, from_b)
print(f"share screened: first ball {one.rate:.2f}, second ball {other.rate:.2f}")
print(f"share screened: intersection test {lens.rate:.2f}")
assert lens.rate > one.rate
# a straight ray: below C_min
C_a, C_b = 0.5 * svm.c_min(terms), svm.c_min(terms)
C = 0.7 * C_b
ends = (svm.solution_below_c_min(terms, at) for at in (C_a, C_b))
from_a, from_b = (spheres.path_bound(s.w, 1.0 / s.C, 1.0 / C) for s in ends)
gap = np.linalg.norm(from_a.center - from_b.center) / (from_a.radius + from_b.radius)
print("on a straight ray, distance of the centers over the sum of the radii:", round(float(gap), 6))
assert abs(gap - 1.0) < 1e-9

# %% [markdown]
# ## Fine print
#
# * **Other losses.** With the smoothed hinge $\mathbf 1^\top\alpha$ becomes $\mathbf 1^\top\alpha - \frac\gamma2\|\alpha\|^2$ in every
#   identity, and MGB includes this term. The argument for DVI in the dual does not change if the box does not depend on $C$.
# * **Rounding.** Printed radii are differences of large numbers ($C\tilde\xi$ and $C\,\mathbf 1^\top s$). Near the optimum
#   these differences lose every digit. The library adds non-negative numbers instead.
# * **Equation 34, read literally for $C < C_0$**, is above nearly every margin (last column of the first table). The paper never
#   uses it for $C < C_0$.
# * **Wang et al.** also state their test for least absolute deviations, which is another loss with the same ball.
# * **Cones.** This notebook has no cone. With a cone GB and MGB differ, and PGB is a third ball ([`15-relations-between-spheres`](15-relations-between-spheres.ipynb)).
#
# ## References
#
# * SSS14: Ogawa, Suzuki, Suzumura, Takeuchi, *Safe Sample Screening for Support Vector Machines*, 2014: Theorems
#   6, 7, 8, 11, Lemma 9, equations 25 and 34, appendix C.
# * Wang, Wonka, Ye, *Scaling SVM and Least Absolute Deviations via Exact Data Reduction*, ICML 2014.
# * Tran, Elvira, Dang, Herzet, *One to beat them all: "RYU" - a unifying framework for the construction of safe balls*,
#   arXiv:2312.00640, 2023.
# * STS19: Yoshida, Takeuchi, Karasuyama, Neural Computation 31, 2019: Theorems 1, 4, 5, 9, 14.
