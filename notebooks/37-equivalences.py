# %% [markdown]
# # One ball, many names
#
# BT1, DVI, RPB, MGB, BT2, GB, the dome, the linear rule, $C_{\min}$: the papers on triplets and those on samples
# named what they found, and several names are for one thing. [`26-one-problem-three-cones`](26-one-problem-three-cones.ipynb) put the two lines of
# papers on one problem. Here the *tests* are put beside each other: what equals what, for which input, and what the
# equality needs. It matters in practice, for formulas that are equal on paper part company when the reference is
# not exact.
#
# At the end you will have seen that
#
# * the DVI test of Wang et al., derived in the dual as they do, has the lower bound of BT1 with $\tilde w = w_0$ (SSS14
#   appendix C), and lives in every kernel;
# * equation 34 is for references with $C_0 < C$, as the paper's are; with one modulus it serves the other way as well;
# * BT1 and BT2, in general, are the midpoint gap bound of two different dual points; GB is a BT2;
# * which balls share a diameter, which contain which;
# * with a reference that is not exact the "equal" formulas lose the solution, and are no longer equal, while the
#   one they come from keeps it.

# %%
import numpy as np
import sympy as sp

import safescreen as ss
from safescreen import rules, spheres, svm
from safescreen_book import datasets, figures

# %% [markdown]
# ## The idea in a picture
#
# The plane of weights of forty samples, and the solution for one $C$ (star). The papers have seven names for what are
# two balls and a dome. From the exact solution $w_0$ for a smaller $C_0$, the DVI test, ball test 1 (BT1), the
# regularization path bound (RPB) and the midpoint gap bound (MGB) are one ball. Ball test 2 with the slopes at $w_0$ is
# the gradient bound (GB). The dome of SSS13 is cut from a ball around 0 (dashed) by a plane (dotted): it is the part of
# this ball beyond the plane.

# %%
forty = np.random.default_rng(7).standard_normal((40, 2))
sides = np.where(np.arange(40) % 2, 1, -1)
forty += 1.1 * sides[:, None] * [1.0, 0.6]
machine, C_low, C_high = ss.Problem(ss.Samples(forty, sides), ss.Hinge()), 0.1, 0.2
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
figure, ax = figures.panels(1, width=6.4, height=4.8)
drawn = {"DVI = BT1 = RPB = MGB": same[0], "BT2 = GB": second[0]}
figures.balls(
    ss.cones.FreeSpace(2), drawn, {"$w_0$": low.x, "optimum": high.x}, ax=ax, title="seven names"
)
ax.set_facecolor("white")
turn = np.linspace(0.0, 2.0 * np.pi, 300)
ax.plot(*(np.linalg.norm(high.x) * np.array([np.cos(turn), np.sin(turn)])), "--", color="#555555",
        linewidth=1.0)
ax.axline(low.x, slope=-low.x[0] / low.x[1], color="#555555", linestyle=":")
ax.plot(0.0, 0.0, "o", color="black", markersize=4)
ax.set(xlim=(-0.1, 1.75), ylim=(-0.45, 1.0))
figures.show(
    "In the plane of weights a disc, the ball of DVI, BT1, RPB and MGB, has the "
    "reference on its rim and "
    "holds the optimum; so does another disc, BT2 and GB, whose radius is "
    f"{second[0].radius / same[0].radius:.2f} times as large. The dome is a thin "
    "slice between a dotted "
    "line through the reference and a dashed circle around 0 through the optimum."
)

# %% [markdown]
# ## The claim
#
# Notation of the samples: $C = 1/\lambda$, $z_i = y_i x_i$, $Q_{ij} = \langle z_i, z_j\rangle$,
# $z_\alpha = \sum_i \alpha_i z_i$ with $\alpha \in [0, 1]^n$, $\xi$ the total loss. $(w_0, \alpha_0)$ is the primal
# and dual solution for $C_0$, so $w_0 = C_0 z_{\alpha_0}$. The papers' dual variable is $a = C\alpha$.
#
# > **SSS14 appendix C.** With $\tilde w = w_0$, ball test 1 for $C$ bounds the margins from below by
# >
# > $$\ell_i = \tfrac{C + C_0}{2C_0}\,(Qa_0)_i - \tfrac{C - C_0}{2C_0}\sqrt{a_0^\top Q a_0\; Q_{ii}}, \tag{34}$$
# >
# > which is the DVI test of Wang et al.
#
# ($C_0 < C$ is what SSS14 calls a reference, from its section IV on. For any $C$ the second coefficient is
# $|C - C_0|/2C_0$.) And the whole table, which this
# notebook checks row by row:
#
# | | equals | when |
# |---|---|---|
# | BT1($\tilde w$) | MGB of $(\tilde w, \alpha_0)$ | always, for an exact reference |
# | BT1($w_0$) | DVI, RPB | always, for an exact reference |
# | BT2($\tilde w, s$) | MGB of $(\tilde w, s)$ | always |
# | BT2($\tilde w, s$) | GB at $\tilde w$ | $s = \alpha(\tilde w)$, slopes at $\tilde w$ |
# | BT2($\tilde w, s$) | DGB at $\tilde w$ with half the radius, moved | $s = \alpha(\tilde w)$ |
# | BT1($\tilde w$) | CDGB | $\tilde w = \frac{C}{C_0} w_0$ |
# | Dome | linear rule, center 0 | always |
# | $1/C_{\min}$ | all-linear $\lambda$ | always |
# | IT | rule of MGB($\tilde w, \alpha_0$) and MGB($\tilde w, s$) | always; no triplet paper has it |
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
# ### DVI, in the dual
#
# The dual in the papers' scale, divided by $C$ and written in $\theta = a/C \in [0,1]^n$: minimise
# $\frac C2\|z_\theta\|^2 - \mathbf 1^\top\theta$. The box does not depend on $C$. That is what the dual has over
# the primal here: the solution for one $C$ is a candidate for the other. Two variational inequalities,
#
# $$\langle C z_\theta, z_{\theta_0} - z_\theta\rangle \ge \mathbf 1^\top(\theta_0 - \theta), \qquad
# \langle C_0 z_{\theta_0}, z_\theta - z_{\theta_0}\rangle \ge \mathbf 1^\top(\theta - \theta_0),$$
#
# in whose sum the linear parts cancel:
#
# $$\langle C z_\theta - C_0 z_{\theta_0},\; z_\theta - z_{\theta_0}\rangle \le 0 .$$
#
# With $w = C z_\theta$, $w_0 = C_0 z_{\theta_0}$ it is $\langle w - w_0,\; w - \frac{C}{C_0} w_0\rangle \le 0$: the angle at
# $w$ over the segment from $w_0$ to $\frac{C}{C_0} w_0$ is not acute. **The ball with that diameter** (Thales): center
# $\frac{C + C_0}{2C_0} w_0$, radius $\frac{|C - C_0|}{2C_0}\|w_0\|$. The extreme margins over it, with
# $\langle z_i, w_0\rangle = (Qa_0)_i$ and $\|w_0\|^2 = a_0^\top Q a_0$, are (34) with the modulus.
#
# ### BT1, in the primal
#
# $\|m\|^2 - \frac C{C_0}\|w_0\|^2 + C(\tilde\xi - \xi_0)$ with $m = \frac12(\tilde w + \frac C{C_0} w_0)$. With
# $\tilde w = w_0$ the losses cancel. And in general it is a midpoint gap bound ([`28-midpoint-gap-bound`](28-midpoint-gap-bound.ipynb)): the squared
# radius of MGB is $C(P - D) - \frac14\|\tilde w - Cz_\alpha\|^2$, in which at $\alpha_0$ the optimality for $C_0$
# enters through one number, $\mathbf 1^\top\alpha_0 = \xi_0 + \|w_0\|^2/C_0$:

# %%
C, C0, xi_t, xi0, total_alpha = sp.symbols("C C0 xi_t xi_0 S", positive=True)
w1, w2, u1, u2, v1, v2 = sp.symbols("w1 w2 u1 u2 v1 v2", real=True)
w_t, z_alpha = sp.Matrix([w1, w2]), sp.Matrix([v1, v2])  # w~ and sum alpha_i z_i


def mgb_square(w, z, xi, S):
    """Squared radius of MGB, C (P - D) - |w - C z|^2/4; hinge: P - D = xi + |w|^2/2C - S + C
    |z|^2/2."""
    return C * (xi + w.dot(w) / (2 * C) - S + C * z.dot(z) / 2) - (w - C * z).dot(w - C * z) / 4


w_0 = sp.Matrix([u1, u2])
m1 = (w_t + C / C0 * w_0) / 2
bt1 = m1.dot(m1) - C / C0 * w_0.dot(w_0) + C * (xi_t - xi0)
difference = mgb_square(w_t, w_0 / C0, xi_t, xi0 + w_0.dot(w_0) / C0) - bt1
assert sp.simplify(difference) == 0
print("MGB(w~, alpha0) - BT1:", sp.simplify(difference))

# %% [markdown]
# The same for the second ball, and for the reference itself: there BT1 is the ball of DVI.

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
# With the slopes at $\tilde w$ as $s$ the second ball is GB: then $\tilde\xi = S - \langle z_s, \tilde w\rangle$, the
# gradient is $\tilde w - C z_s$, and the radius is half its norm.

# %%
at_slopes = bt2.subs(xi_t, total_alpha - z_alpha.dot(w_t))
gb = (w_t - C * z_alpha).dot(w_t - C * z_alpha) / 4
assert sp.simplify(at_slopes - gb) == 0
print("BT2(w~, s = alpha(w~)) - GB:", sp.simplify(at_slopes - gb))

# %% [markdown]
# Note what the second line does *not* contain: that $s$ is 0 or 1. And the last one: with slopes there is no gap
# but the one between $\tilde w$ and $Cz_s$, so $C(P - D) = \frac12\|\tilde w - Cz_s\|^2$, $r_{\text{DGB}}^2 = \|\tilde w - Cz_s\|^2$:
# GB is half of DGB. (The case of CDGB in the table is $\tilde w = Cz_{\alpha_0}$: then the center is $\tilde w$.)
#
# ## Ten lines of numpy
#
# In the dual only the kernel matrix is seen; the machine may live in any space.


# %%
def dvi(Q, a0, C0, C, modulus=True):
    """Bounds of all margins by SSS14 equation 34, from the kernel matrix and the dual solution."""
    Qa = Q @ a0
    far = (abs(C - C0) if modulus else C - C0) / (2.0 * C0) * np.sqrt(a0 @ Qa * np.diag(Q))
    middle = (C + C0) / (2.0 * C0) * Qa
    return middle - far, middle + far


cells, diagnosis = datasets.load("breast-cancer", return_X_y=True)
kinds = {
    "linear": ss.KernelSamples.from_points(cells, diagnosis, "linear"),
    "RBF": ss.KernelSamples.from_points(cells, diagnosis, "rbf", gamma=0.3 / cells.shape[1]),
    "polynomial": ss.KernelSamples.from_points(
        cells, diagnosis, "polynomial", gamma=1.0 / cells.shape[1]
    ),
}
everything = np.arange(len(cells))


def solve(prob, C, rtol=1e-11):
    return ss.solve(prob, 1.0 / C, tol=0.0, rtol=rtol, screening=())


# %% [markdown]
# ## The library, and does it match?
#
# Three kernels, up and down. `svm.ball_1` gives the ball of BT1, `spheres.path_bound` the RPB of the triplets, `dvi` is
# the function above. The extreme margins over the balls are compared with (34). What is left of a difference comes
# from the accuracy of the reference.

# %%
def off_the_margins(terms, balls, low, high, scale):
    """Largest difference of the margins over balls from given ones, in parts of a radius."""
    worst = 0.0
    for ball in balls:
        q, reach = terms.margins(ball.center), ball.radius * terms.norms
        worst = max(
            worst, np.max(np.abs(q - reach - low) / scale), np.max(np.abs(q + reach - high) / scale)
        )
    return worst


def decided_alike(found, low, high, there):
    """Check the masks of BT1 against the margins of DVI and the solution; return R and L as
    counted by both, DVI first."""
    clear = np.minimum(np.abs(low - 1.0), np.abs(high - 1.0)) > 1e-3
    assert np.array_equal(found.in_R[clear], (low > 1)[clear]) and np.array_equal(
        found.in_L[clear], (high < 1)[clear]
    )
    assert not np.any(there.alpha[found.in_R] > 1e-6) and np.all(there.alpha[found.in_L] > 1 - 1e-6)
    by_both = (low > 1, found.in_R), (high < 1, found.in_L)
    return [f"{np.sum(slow & clear):11d}{np.sum(fast & clear):6d}" for slow, fast in by_both]


# %% tags=["SSS14-AppC"]
print(
    f"{'kernel':12}{'C/C0':>6}{'in R, DVI':>11}{'BT1':>6}{'in L, DVI':>11}{'BT1':>6}{'too high without modulus':>26}"
)
worst, too_high = 0.0, {True: [], False: []}
for name, terms in kinds.items():
    prob, Q = ss.Problem(terms, ss.Hinge()), terms.gram(everything)
    C0_ = 30.0 * svm.c_min(terms)
    at0 = solve(prob, C0_, 1e-11)
    a0 = C0_ * at0.alpha
    for ratio in (1.2, 1.0 / 1.2):
        C_ = ratio * C0_
        there = solve(prob, C_)
        margins = terms.margins(there.x)
        low, high = dvi(Q, a0, C0_, C_)
        printed = dvi(Q, a0, C0_, C_, modulus=False)[0]
        bt1, rpb = svm.ball_1(terms, C_, at0), spheres.path_bound(at0.x, at0.lam, 1.0 / C_)
        worst = max(worst, off_the_margins(terms, (bt1, rpb), low, high, rpb.radius * terms.norms))
        assert np.all(low <= margins + 1e-4) and np.all(margins <= high + 1e-4)
        in_R, in_L = decided_alike(svm.ball_test_1(terms, C_, at0), low, high, there)
        share = float(np.mean(printed > margins + 1e-4))
        print(f"{name:12}{ratio:6.2f}{in_R}{in_L}{share:26.2f}")
        too_high[ratio > 1.0].append(share)
assert worst < 1e-2 and max(too_high[True]) == 0.0 and min(too_high[False]) > 0.5
print("DVI, BT1 and RPB differ by less than 1 % of a radius")

# %% [markdown]
# **The modulus.** For $C > C_0$, the case of the paper, (34) is right as it stands. For $C < C_0$, which the library and `26`
# use when they come from a larger $C$, the minus sign turns into a plus: there the modulus is needed.
#
# ## The rest of the table
#
# The point $\tilde w$ is any feasible one, the data are the same, with features (`Samples`), and $C = 1.3\,C_0$. Each row
# compares a printed formula with the library's ball of another name: the centers and the radii agree to a thousandth of a
# radius.


# %%
def as_printed_1(Z, C, w0, C0, w_t):
    """SSS14 Theorem 6."""

    def loss(w):
        return np.maximum(1.0 - Z @ w, 0.0).sum()

    m = (w_t + C / C0 * w0) / 2
    return ss.Sphere(m, float(np.sqrt(m @ m - C / C0 * (w0 @ w0) + C * (loss(w_t) - loss(w0)))))


def as_printed_2(Z, C, w_t, s):
    """SSS14 Theorem 7."""
    m = (w_t + C * (s @ Z)) / 2
    return ss.Sphere(
        m, float(np.sqrt(m @ m + C * (np.maximum(1.0 - Z @ w_t, 0.0).sum() - s.sum())))
    )


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
mgb, dgb = spheres.midpoint_gap_bound, spheres.duality_gap_bound
half = dgb(prob, w_t, lam, slopes)

# %% tags=["equivalences"]
pairs = {
    "BT1(w~) printed, svm.ball_1": (as_printed_1(Z, C_, at0.x, C0_,
                                                 w_t), svm.ball_1(terms, C_, at0, w_t)),
    "BT1(w~), MGB(w~, alpha0)": (as_printed_1(Z, C_, at0.x, C0_,
                                              w_t), mgb(prob, w_t, lam, at0.alpha)),
    "BT1(w0), RPB": (as_printed_1(Z, C_, at0.x, C0_, at0.x), spheres.path_bound(at0.x, lam0, lam)),
    "BT2(w~, s) printed, svm.ball_2": (as_printed_2(Z, C_, w_t,
                                                    any_s), svm.ball_2(terms, C_, w_t, any_s)),
    "BT2(w~, s), MGB(w~, s)": (as_printed_2(Z, C_, w_t, any_s), mgb(prob, w_t, lam, any_s)),
    "BT2(w~, slopes), GB(w~)": (as_printed_2(Z, C_, w_t,
                                             slopes), spheres.gradient_bound(prob, w_t, lam)),
    "BT2(w~, slopes), DGB/2": (
        as_printed_2(Z, C_, w_t, slopes),
        ss.Sphere(half.center - 0.5 * (w_t - C_ * slopes @ Z), 0.5 * half.radius),
    ),
    "BT1(C/C0 w0), CDGB(alpha0)": (
        as_printed_1(Z, C_, at0.x, C0_, stretched),
        spheres.constrained_duality_gap_bound(prob, at0.alpha, lam),
    ),
}
for name, (one, other) in pairs.items():
    apart = np.linalg.norm(one.center - other.center) / one.radius
    wider = abs(other.radius / one.radius - 1.0)
    assert apart < 1e-3 and wider < 1e-3 and other.contains(optimum.x)
    print(f"{name:32} centers and radii differ by less than 1e-3 radii   radius {one.radius:.3f}")


# %% [markdown]
# The rules are compared by their masks. Here are the printed bounds of IT (SSS14 Theorem 8, three cases) and of the linear
# rule (STS19 Theorem 9, with a level), in plain numpy:

# %%
def theorem_8(Z, m1, r1, m2, r2):
    """Smallest <z, w> over two balls whose surfaces meet: SSS14 Theorem 8, its three cases."""
    phi, n = m1 - m2, np.linalg.norm(Z, axis=1)
    D = np.linalg.norm(phi)
    zeta = (D**2 + r2**2 - r1**2) / (2 * D)
    psi, kappa, s = m2 + zeta * phi / D, np.sqrt(r2**2 - zeta**2), Z @ phi / D
    rim = Z @ psi - kappa * np.sqrt(np.maximum(n**2 - s**2, 0.0))
    return np.where(-s / n < (zeta - D) / r1, Z @ m1 - r1 * n,
                    np.where(-s / n > zeta / r2, Z @ m2 - r2 * n, rim))


def linear_rule(Z, Q, r, p, level):
    """Smallest <z, w> over a ball and <p, w> >= level."""
    p, delta = p / np.linalg.norm(p), (level - p @ Q) / np.linalg.norm(p)
    s, n = Z @ p, np.linalg.norm(Z, axis=1)
    rim = Z @ Q + delta * s - np.sqrt((r**2 - delta**2) * np.maximum(n**2 - s**2, 0.0))
    return np.where(-r * s / n >= delta, Z @ Q - r * n, rim)


# %% [markdown]
# IT decides the same three times: by the printed balls and cases, by the library's test, and by the library's rule for the
# two balls under another name.

# %% tags=["equivalences"]
def alike(found, low, high, at):
    """Masks are those of the bounds (but for a band of 1e-3 around 1, where fewer may be
    decided), and right."""
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
n_it = [
    alike(found, low, high, optimum) for found in (svm.intersection_test(terms, C_, at0), by_mgb)
]
print(f"IT = Theorem 8 of two MGBs: {n_it[0]} and {n_it[1]} decided")
assert min(n_it) > 100

# %% [markdown]
# The dome is the linear rule at the origin. Away from it the linear rule cuts the ball of a later solution by the plane of
# an earlier one.

# %% tags=["equivalences"]
last = solve(prob, 1.2 * C_)
A, B, q, n = at0.x @ at0.x, optimum.x @ optimum.x, Z @ at0.x, np.linalg.norm(Z, axis=1)
rim = np.sqrt((B - A) / A * (A * n**2 - q**2))
low, high = (
    np.where(-q * np.sqrt(B) >= A * n, -np.sqrt(B) * n, q - rim),
    np.where(q * np.sqrt(B) >= A * n, np.sqrt(B) * n, q + rim),
)
zero = np.zeros(30)
assert np.allclose(low, linear_rule(Z, zero, np.sqrt(B), at0.x, A))
assert np.allclose(high, -linear_rule(-Z, zero, np.sqrt(B), at0.x, A))
by_rule = rules.halfspace(prob, ss.Sphere(zero, np.sqrt(B)), at0.x, A)
n_dome = [
    alike(found, low, high, optimum) for found in (svm.dome_test(terms, at0, optimum), by_rule)
]
# the ball of the later solution, cut by the plane of the earlier
cut_ball = spheres.path_bound(last.x, last.lam, lam), at0.x, A
low, high = (
    sign * linear_rule(sign * Z, cut_ball[0].center, cut_ball[0].radius, at0.x, A)
    for sign in (1.0, -1.0)
)
n_cut = alike(rules.halfspace(prob, *cut_ball), low, high, optimum)
print(f"dome = linear rule: {n_dome[0]} and {n_dome[1]} decided; a ball cut: {n_cut}")
assert min(n_dome) > 15 and n_cut > 100

# %% [markdown]
# The smallest $C$ of the SVM papers is one over the $\lambda$ at which all triplets are linear:

# %% tags=["equivalences"]
largest = (Z @ Z.sum(axis=0)).max()
assert abs(svm.c_min(terms) * prob.lam_max() - 1.0) < 1e-12
assert abs(svm.c_min(terms) * largest - 1.0) < 1e-9
print(
    f"1/C_min = {1.0 / svm.c_min(terms):.1f}, the all-linear lambda {prob.lam_max():.1f}, max (Q "
    f"1)_i = {largest:.1f}"
)

# %% [markdown]
# ### Who contains whom
#
# Equal is not all. For the pair $(\tilde w, \alpha)$ MGB lies in DGB. BT1 and BT2 are such MGBs, for different $\alpha$. In
# general neither contains the other; for a bad $s$ ball 2 contains ball 1 ([`34-choice-of-s-and-smallest-c`](34-choice-of-s-and-smallest-c.ipynb)). The ball of $w_0$
# holds for the whole interval from $C_0$ to $C$. It sticks out of the dome's ball, but its overlap with the ball of $w(C)$ for
# $C_0$ lies inside the dome ([`36c-dome-test-as-printed`](36c-dome-test-as-printed.ipynb)). Shares that each name screens, along $C/C_0$:

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
    "Curves show the share screened on breast cancer against C over the C of the reference: "
    f"{figures.ends(names)}. Means: {figures.listed(names)}."
)

# %% [markdown]
# ## Break it: the reference is not exact
#
# Now $w_0$ and $\alpha_0$ have a relative gap. "$w_0 = C_0 z_{\alpha_0}$" fails, and with it every equality that used it:
#
# * RPB takes $w_0$ and believes it optimal;
# * DVI takes $a_0$, that is $C_0 z_{\alpha_0}$, and believes that optimal;
# * printed BT1 takes $\tilde w = w_0$ with its loss, so its center is RPB's, and so is its radius.
#
# MGB($w_0, \alpha_0$) takes both, believes nothing, and pays with the gap. The distance of the solution for $C$ from the
# center, in radii; above 1 the solution is lost. A dual method (coordinate descent) keeps $w_0 = C_0 z_{\alpha_0}$ at every
# step, and RPB and DVI stay one ball; a primal method (projected gradient) does not:

# %% tags=["nbval-ignore-output"]
print(f"{'method':12}{'asked for':>10}{'C/C0':>7}{'RPB, BT1':>11}{'DVI':>9}{'MGB':>9}{'RRPB':>9}")
lost, n_balls = {"RPB": 0, "DVI": 0, "MGB": 0, "RRPB": 0}, 0
for method, rtol in (("coordinate", 1e-2), ("coordinate", 1e-5), ("gradient", 1e-2), ("gradient",
                                                                                      1e-3)):
    rough = ss.solve(prob, lam0, tol=0.0, rtol=rtol, screening=(), method=method)
    v0 = C0_ * rough.alpha @ Z
    for ratio in (1.01, 1.05, 1.3):
        C_ = ratio * C0_
        w_star = solve(prob, C_, 1e-12).x
        balls = {
            "RPB": spheres.path_bound(rough.x, lam0, 1.0 / C_),
            "DVI": spheres.path_bound(v0, lam0, 1.0 / C_),
            "MGB": svm.ball_1(terms, C_, rough),
            "RRPB": spheres.relaxed_path_bound(rough.x, rough.eps, lam0, 1.0 / C_),
        }
        away = {
            key: np.linalg.norm(w_star - ball.center) / ball.radius for key, ball in balls.items()
        }
        for key, value in away.items():
            lost[key] += value > 1.0 + 1e-6
        n_balls += 1
        print(
            f"{method:12}{rtol:10.0e}{ratio:7.2f}{away['RPB']:11.1f}{away['DVI']:9.1f}"
            f"{away['MGB']:9.1f}{away['RRPB']:9.1f}"
        )
print("of", n_balls, "times, solution lost:", {key: int(value) for key, value in lost.items()})
assert lost["MGB"] == 0 and lost["RRPB"] == 0

# %% [markdown]
# So "BT1 = DVI = RPB" is a statement about exact solutions, which no solver returns. Of the four names, the one to
# compute with is MGB, which is very likely the ball known in sparse regression as RYU (Tran, Elvira, Dang and Herzet).
#
# ### Slopes, not any s
#
# BT2 = GB needs $s$ to be slopes at $\tilde w$. With the slopes of *another* point the formula of GB, $r =
# \frac12\|\tilde w - Cz_s\|$, is too short by the Fenchel gaps, and loses the solution; BT2 has them:

# %%
far = prob.alpha(4.0 * at0.x)
gap_like = 0.5 * np.linalg.norm(w_t - 1.3 * C0_ * far @ Z)
ball = as_printed_2(Z, 1.3 * C0_, w_t, far)
distance = np.linalg.norm(ball.center - optimum.x)
print(
    f"slopes of another point: formula of GB {gap_like:.3f}, BT2 {ball.radius:.3f}; distance of "
    f"the solution {distance:.3f}"
)
assert gap_like < distance <= ball.radius

# %% [markdown]
# ## Exercise
#
# A third ball from the same reference: DVI the other way round. Let $w_b$ be the solution for $C_b > C$. What is the
# diameter of its ball for $C$, and what do the balls of $w_a$ and $w_b$ have in common as $C_a, C_b \to C$?
#
# <details>
# <summary><b>Solution</b></summary>
#
# From $\frac{C}{C_b} w_b$ to $w_b$. Both balls shrink to the point $w(C)$, with radii proportional to $|C - C_a|$ and
# $|C_b - C|$. If the path is a straight ray there, $w(C) = \frac{C}{C_a} w_a = \frac{C}{C_b} w_b$, one ball ends in
# $w(C)$ and the other begins in it: they touch in the solution and nowhere else. If the solution does not move, $w_a = w(C) = w_b$, they touch there again, the other way round. In general what they have in common is a lens,
# as thick as the path is bent.
#
# </details>

# %%
C_a, C_b = C0_, 1.2 * C0_
first, second = solve(prob, C_a, 1e-12), solve(prob, C_b, 1e-12)
C = np.sqrt(C_a * C_b)
from_a, from_b = (spheres.path_bound(s.x, s.lam, 1.0 / C) for s in (first, second))
ends = (C / C_b * second.x, second.x)
assert (
    np.linalg.norm(from_b.center - sum(ends) / 2) < 1e-9
    and abs(from_b.radius - np.linalg.norm(ends[1] - ends[0]) / 2) < 1e-9
)
lens, one = rules.intersection(prob, from_a, from_b), rules.sphere(prob, from_a)
other = rules.sphere(prob, from_b)
print(
    f"two references: ball of the first {one.rate:.2f}, of the second {other.rate:.2f}, both "
    f"{lens.rate:.2f}"
)
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
#   identity; MGB has it. The DVI argument in the dual works unchanged when the box does not depend on $C$.
# * **Rounding.** Printed radii are differences of large numbers ($C\tilde\xi$ against $C\,\mathbf 1^\top s$); the library adds
#   non-negative ones. Near the optimum the printed ones lose every digit.
# * **Equation 34, taken literally for $C < C_0$**, is above nearly every margin (last column of the first table); the paper never
#   uses it there.
# * **Wang et al.** state their test for least absolute deviations as well: another loss, the same ball.
# * **Cones.** All of this without a cone. With one, GB and MGB part, and PGB appears ([`15-relations-between-spheres`](15-relations-between-spheres.ipynb)).
#
# ## References
#
# * SSS14: Ogawa, Suzuki, Suzumura, Takeuchi, *Safe Sample Screening for Support Vector Machines*, 2014: Theorems
#   6, 7, 8, 11, Lemma 9, equations 25 and 34, appendix C.
# * Wang, Wonka, Ye, *Scaling SVM and Least Absolute Deviations via Exact Data Reduction*, ICML 2014.
# * Tran, Elvira, Dang, Herzet, *One to beat them all: "RYU" - a unifying framework for the construction of safe balls*,
#   arXiv:2312.00640, 2023.
# * STS19: Yoshida, Takeuchi, Karasuyama, Neural Computation 31, 2019: Theorems 1, 4, 5, 9, 14.
