# %% [markdown]
# # The support vector machine as a case of the one problem
#
# The papers on samples (SSS13, SSS14) and the papers on triplets (STS18, STS19) write the same problem in different
# letters. This notebook sets the support vector machine up in the book's letters, derives its dual, and says which
# samples can be left out once their place at the solution is known. Nothing is screened yet: the tests come in
# [`31-ball-tests-and-expanded-space`](31-ball-tests-and-expanded-space.ipynb) and [`32-ball-tests-1-and-2`](32-ball-tests-1-and-2.ipynb).
#
# At the end you will have seen that
#
# * a support vector machine without intercept is the problem of the book over the whole space, with $C = 1/\lambda$ and
#   all dual variables divided by $C$;
# * a sample with a margin above 1 has the dual variable 0, one with a margin below 1 has $C$, and screening needs
#   nothing else;
# * a sample known to be on the linear piece leaves the problem too, as part of a fixed vector; the paper prints the
#   formula for it with three slips;
# * a penalised intercept is one more feature, while a free intercept is outside these papers, and why;
# * kernels change nothing but the way inner products are computed.

# %%
import numpy as np
import sympy as sp

import safescreen as ss
from safescreen import svm
from safescreen_book import figures
from safescreen_book.protocols.outside import linear_svc

# %% [markdown]
# ## The idea in a picture
#
# The picture shows forty points of the plane in two classes. The machine looks for a line between them with a wide margin on either side.

# %%
rng = np.random.default_rng(7)
y = np.where(np.arange(40) % 2, 1, -1)
X = rng.standard_normal((40, 2)) + 1.1 * y[:, None] * [1.0, 0.6]
Z = X * y[:, None]

samples = ss.Samples(X, y)
problem = ss.Problem(samples, ss.Hinge())
C = 0.2
lam = 1.0 / C
solution = ss.solve(problem, lam, tol=0.0, rtol=1e-12)
print(problem)
print("w:", np.round(solution.x, 4), " duality gap below 1e-9 (relative 1e-12 asked for)")
assert solution.gap < 1e-9

# %% [markdown]
# Left, the trained machine: the line, its two margins, and each sample in the colour of its place. Right, the number
# that the dual problem gives to each sample. A sample beyond its margin (R) has 0: without it the machine would be the
# same. A sample inside or on the wrong side (L) has 1, wherever exactly it is. Only the two samples that stand on the
# margin have a number between, which is not known beforehand. Whoever knows the places of the other samples knows
# nearly all of the solution.

# %%
margins = samples.margins(solution.x)
on_step = np.abs(margins - 1.0) < 1e-6
category = ss.Screened((margins < 1.0) & ~on_step, (margins > 1.0) & ~on_step)
figure, axes = figures.panels(2, width=10.0, height=3.6)
figures.samples(
    X, y, solution.x, category, ax=axes[0], title="solution, true categories", rest="on the step"
)
axes[1].plot(
    [margins.min(), 1.0, 1.0, margins.max()], [1.0, 1.0, 0.0, 0.0], color="#CCCCCC", zorder=0
)
for key, mask in (("C", on_step), ("L", category.in_L), ("R", category.in_R)):
    axes[1].plot(margins[mask], solution.alpha[mask], "o", color=figures.COLOURS[key], markersize=5)
axes[1].set(xlabel=r"margin $\langle z_i, w^\star\rangle$", ylabel=r"$\alpha^\star_i$")
axes[1].set_title("dual variable against margin", loc="left", fontsize=10)
figures.show(
    f"Left, dots are {len(y)} points of both classes, with the line of the trained machine and "
    f"its margins. Colours tell the category: {category.n_R} lie in R beyond the margins, "
    f"{category.n_L} in L between them or on the wrong side, and {np.count_nonzero(on_step)} on "
    "the margin. Right, dots are their dual variables against their margins: "
    "1 below 1, 0 above 1, and fractions between at 1."
)

# %% [markdown]
# ## The problem
#
# Samples $x_i$ with labels $y_i = \pm 1$; write $z_i = y_i x_i$, so that $\langle z_i, w\rangle$ is the *margin*
# of sample $i$: positive where the sign of $\langle x_i, w\rangle$ is right. SSS14 (equation 1) minimises
#
# $$\tfrac12\|w\|^2 + C \sum_i \max\{0,\; 1 - \langle z_i, w\rangle\} .$$
#
# Divided by $C$ this is $P(w; \lambda) = \sum_i \ell(\langle z_i, w\rangle) + \frac\lambda2\|w\|^2$, the problem of
# the [notation](../docs/notation.md) with the hinge for $\ell$, the $z_i$ for terms, no linear term and the whole space for the cone.
#
# | SSS13, SSS14 | here | |
# |---|---|---|
# | $C$ | $1/\lambda$ | regularization parameter |
# | $\mathcal P_{[C]}$, $\mathcal D$ | $C\,P$, $C\,D$ | objectives |
# | $\alpha \in [0, C]^n$ | $C\alpha$, $\alpha \in [0,1]^n$ | dual variables |
# | $w^*_{[C]}$ | $w^\star$ | solution |
# | $\xi$ | $\sum_i \ell(\langle z_i, w\rangle)$ | total loss |
# | $y_i f(x_i)$ | $\langle z_i, w\rangle$ | margin |
# | $Q_{ij} = y_i y_j K(x_i, x_j)$ | $\langle z_i, z_j\rangle$ | |
# | $\mathcal R$, $\mathcal E$, $\mathcal L$ | R, C, L | margin above, at, below 1 |
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

# %% [markdown]
# ## The dual
#
# ### Step 1: the conjugate of the hinge
#
# $\ell^*(-\alpha) = \sup_u\, (-\alpha u - \ell(u))$. The function in the brackets is linear on both sides of the
# kink $u = 1$. It has a finite supremum only if it rises towards the kink from the left and falls to the right,
# and then the supremum is its value there.

# %%
u, a = sp.symbols("u alpha", real=True)
left, right = -a * u - (1 - u), -a * u
print("slope left of the kink: ", sp.diff(left, u))
print("slope right of the kink:", sp.diff(right, u))
print("value at the kink:      ", left.subs(u, 1), "=", right.subs(u, 1))
assert sp.simplify(left.subs(u, 1) + a) == 0 == sp.simplify(right.subs(u, 1) + a)

# %% [markdown]
# So $\ell^*(-\alpha) = -\alpha$ for $0 \le \alpha \le 1$ and infinite elsewhere, and for every margin $u$
#
# $$\ell(u) \;\ge\; \alpha - \alpha u, \qquad 0 \le \alpha \le 1, \tag{1}$$
#
# with equality exactly where $\alpha$ is minus a slope of the hinge: $\alpha = 1$ for $u < 1$, $\alpha = 0$ for
# $u > 1$, any for $u = 1$.
#
# ### Step 2: minimise over the weights
#
# Put (1) into $P$ for every sample. What is left is a quadratic function of $w$, whose smallest value sympy finds
# (two samples, two coordinates; more are more of the same):

# %%
z1, z2 = (sp.Matrix(sp.symbols(f"z{k}1 z{k}2", real=True)) for k in (1, 2))
w = sp.Matrix(sp.symbols("w1 w2", real=True))
a1, a2, weight = sp.symbols("alpha1 alpha2 lambda", positive=True)

lower = a1 * (1 - z1.dot(w)) + a2 * (1 - z2.dot(w)) + weight / 2 * w.dot(w)
at = sp.solve([sp.diff(lower, v) for v in w], list(w), dict=True)[0]
H = a1 * z1 + a2 * z2
assert all(sp.simplify(at[v] - h / weight) == 0 for v, h in zip(w, H, strict=True))
dual = a1 + a2 - H.dot(H) / (2 * weight)
assert sp.simplify(lower.subs(at) - dual) == 0
print(
    "w =",
    "(alpha1 z1 + alpha2 z2)/lambda,  value = alpha1 + alpha2 - |alpha1 z1 + "
    "alpha2 z2|^2/(2 lambda)",
)

# %% [markdown]
# For every $w$ and every $\alpha \in [0, 1]^n$, therefore,
#
# $$P(w; \lambda) \;\ge\; D(\alpha; \lambda) = \sum_i \alpha_i - \tfrac1{2\lambda}\Big\|\sum_i \alpha_i z_i\Big\|^2 .$$
#
# Times $C$, and with $C\alpha$ for $\alpha$, this is SSS14 equation 2. At the optimum the two are equal, and
# every inequality on the way is an equality:
#
# $$w^\star = C \sum_i \alpha^\star_i z_i, \qquad
# \langle z_i, w^\star\rangle > 1 \Rightarrow \alpha^\star_i = 0, \qquad
# \langle z_i, w^\star\rangle < 1 \Rightarrow \alpha^\star_i = 1. \tag{2}$$
#
# ## Ten lines of numpy
#
# The dual in the paper's scale has a box and a quadratic function: improve one coordinate after the other. `b` is
# there for later; for the whole problem it is a vector of ones.


# %%
def box_quadratic(Q, b, C, sweeps=3000):
    """Minimise a'Qa/2 - b'a over 0 <= a <= C by coordinates."""
    a, Qa = np.zeros(len(b)), np.zeros(len(b))
    for _ in range(sweeps):
        for i in range(len(b)):
            step = min(max(a[i] + (b[i] - Qa[i]) / Q[i, i], 0.0), C) - a[i]
            if step != 0.0:
                Qa += step * Q[i]
                a[i] += step
    return a


Q = Z @ Z.T
slow = box_quadratic(Q, np.ones(40), C)
slow_w = Z.T @ slow
print("w:", np.round(slow_w, 4))

# %% [markdown]
# ## Does it match?
#
# We compare with the library, with cvxpy on the primal problem, and the two objectives with each other. The library's dual
# variables times $C$ are those of the paper.

# %%
import cvxpy as cp

variable = cp.Variable(2)
program = cp.Problem(
    cp.Minimize(cp.sum_squares(variable) / 2 + C * cp.sum(cp.pos(1 - Z @ variable)))
)
program.solve(solver="CLARABEL")

assert np.linalg.norm(slow_w - solution.x) < 1e-6
assert np.linalg.norm(variable.value - solution.x) < 1e-5
assert np.abs(slow - C * solution.alpha).max() < 1e-6
assert abs(program.value - C * problem.primal(solution.x, lam)) < 1e-6
assert abs(problem.primal(solution.x, lam) - problem.dual(solution.alpha, lam)) < 1e-9
print("weights of three solvers:", *(np.round(w, 4) for w in (slow_w, variable.value, solution.x)))
print("C P(w), the paper's objective:", round(C * problem.primal(solution.x, lam), 6))
print("C D(alpha):                   ", round(C * problem.dual(solution.alpha, lam), 6))

# %% [markdown]
# ## Where the samples are
#
# Equation (2) is the staircase of the picture at the top: 1 below the step, 0 above, anything between on it. Two
# samples are exactly on the step. With points in general position no more than $d$ samples can be on it, because each
# of their margins is an equation for $w$.

# %%
alpha = solution.alpha
assert np.abs(alpha[category.in_L] - 1.0).max() < 1e-9 and np.abs(alpha[category.in_R]).max() < 1e-9
assert np.linalg.norm(solution.x - C * Z.T @ alpha) < 1e-9
print("L:", category.n_L, " on the step:", on_step.sum(), " R:", category.n_R)
print("dual variables on the step:", np.round(alpha[on_step], 4))

# %% [markdown]
# In the literature all samples with $\alpha_i > 0$ are called support vectors. SSS14 means those on the step only,
# because for screening L is as good as R: **both pieces of the loss are linear, and a sample on a linear piece
# pulls with a force that is known beforehand.**
#
# ## The reduced problem
#
# Suppose we know of some samples that they are in L, of others that they are in R. Fix their dual variables at 1
# and 0. In the primal: R drops out, and $\ell(u) = 1 - u$ for L, a constant and a linear term with the vector
# $c = \sum_{\text L} z_i$:
#
# $$P_{\text{red}}(w) = \sum_{\text{rest}} \ell(\langle z_i, w\rangle) - \langle c, w\rangle + |\text L|
# + \tfrac\lambda2\|w\|^2 .$$
#
# It has the same solution: $P_{\text{red}} \le P$ everywhere, since $1 - u \le \ell(u)$ and $0 \le \ell(u)$, with
# equality around $w^\star$; a convex function has one basin.

# %%
rng = np.random.default_rng(0)
known = rng.uniform(size=40) < 0.7
in_L, in_R = category.in_L & known, category.in_R & known
reduced = problem.reduce(in_L, in_R)
small = ss.solve(reduced, lam, tol=0.0, rtol=1e-12)

assert np.linalg.norm(small.x - solution.x) <= small.eps + solution.eps
assert abs(reduced.primal(small.x, lam) - problem.primal(solution.x, lam)) < 1e-9
for point in rng.standard_normal((1000, 2)):
    assert reduced.primal(point, lam) <= problem.primal(point, lam) + 1e-9
print(
    f"{len(problem)} samples, {in_L.sum()} known to be in L, {in_R.sum()} in R;",
    f"{len(reduced)} left: same solution",
)

# %% [markdown]
# ### The dual of the reduced problem
#
# From (2) with $\alpha$ fixed on L: what L does to the margin of sample $i$ is $C\sum_{j\in\text L} Q_{ij} = y_i d_i$
# with $d_i = C \sum_{j \in \text L} y_j K(x_i, x_j)$, the value of L's part of $f$ at $x_i$. Hence, in the paper's
# scale,
#
# $$\min_\alpha\; \tfrac12\sum_{i,j} \alpha_i\alpha_j Q_{ij} - \sum_i \alpha_i (1 - y_i d_i), \qquad 0 \le \alpha_i \le C,
# \tag{3}$$
#
# sums over the samples that are left. That is what SSS14 says in section II (the display after equation 4): with R and
# L fixed a smaller problem is left, and $d_i$ is all that is needed of L. Its display is (3) but for three slips, which
# its own equation 2 shows: it has a maximum for the minimum, no factor $\frac12$, and $d_i$ for $y_i d_i$. A program
# has to use (3). Here is what the solver above finds when we correct the three slips one after the other:

# %%
def reduced_dual(Q, y, d, C, solve=box_quadratic):
    """Dual variables by three readings, the last one (3)."""
    return {
        "minimum": solve(2.0 * Q, 1.0 - d, C),
        "minimum, factor 1/2": solve(Q, 1.0 - d, C),
        "minimum, factor 1/2, y_i d_i": solve(Q, 1.0 - y * d, C),
    }


# %% tags=["SSS14-DII"]
rest = ~(in_L | in_R)
Q_rest, true = Q[np.ix_(rest, rest)], C * alpha[rest]
d = C * (X[rest] @ X[in_L].T) @ y[in_L]
value = lambda a: a @ Q_rest @ a - a @ (1.0 - d)  # noqa: E731
print(
    f"display at the true dual variables {value(true):.3f}, at the corner C 1 "
    f"{value(np.full(rest.sum(), C)):.3f}"
)
assert value(np.full(rest.sum(), C)) > value(true)  # they are not its maximum
for reading, found in reduced_dual(Q_rest, y[rest], d, C).items():
    error = np.abs(found - true).max() / C
    size = "below 1e-6" if error < 1e-6 else f"{error:.3f}"
    print(f"{reading:30} largest error of a dual variable / C: {size}")
    assert (error < 1e-6) == (reading == "minimum, factor 1/2, y_i d_i")

# %% [markdown]
# Fifty random machines: which reading finds the solution? The library's dual of the reduced problem is minus (3), up
# to what L brings by itself.

# %% tags=["SSS14-DII"]
rng, objective = np.random.default_rng(30), 0.0
found_ = dict.fromkeys(reduced_dual(Q_rest, y[rest], d, C, lambda *_: None), 0)
for _ in range(50):
    X_ = rng.standard_normal((12, 3)) + 0.8 * y[:12, None]
    Z_, C_ = X_ * y[:12, None], 10.0 ** rng.uniform(-1.5, 0.0)
    whole = ss.Problem(ss.Samples(X_, y[:12]), ss.Hinge())
    best = ss.solve(whole, 1.0 / C_, tol=1e-13, rtol=1e-12)
    L_, R_ = ((best.alpha == end) & (rng.uniform(size=12) < 0.7) for end in (1.0, 0.0))
    left = ~(L_ | R_)
    d_ = C_ * (X_[left] @ X_[L_].T) @ y[:12][L_]
    for reading, a_ in reduced_dual(
        Z_[left] @ Z_[left].T, y[:12][left], d_, C_, lambda *q: box_quadratic(*q, 400)
    ).items():
        w_ = Z_[left].T @ a_ + C_ * Z_[L_].sum(axis=0)
        found_[reading] += np.linalg.norm(w_ - best.x) < 1e-4 * np.linalg.norm(best.x)
    # the library's dual of the reduced problem is minus (3), up to what L brings by itself
    a_ = rng.uniform(size=left.sum())
    value, own = C_ * whole.reduce(L_, R_).dual(a_, 1.0 / C_), C_ * Z_[L_].sum(axis=0)
    three = C_**2 * a_ @ (Z_[left] @ Z_[left].T) @ a_ / 2 - C_ * a_ @ (1.0 - y[:12][left] * d_)
    objective = max(objective, abs(value + three - C_ * L_.sum() + own @ own / 2))
for reading, count in found_.items():
    print(f"{reading:30} finds the solution of {count} of 50 machines")
assert found_["minimum, factor 1/2, y_i d_i"] == 50
assert max(list(found_.values())[:2]) < 40
assert objective < 1e-9

# %% [markdown]
# ### Programs that take no linear term
#
# LIBLINEAR and LIBSVM solve the problem without $c$. They can do without R, but not without L. The library judges their
# solutions by the gap of the *whole* problem.

# %%
outside = linear_svc(samples, C, ss.Screened(np.zeros(40, dtype=bool), in_R), tol=1e-8)
assert outside.gap < 1e-6 and np.linalg.norm(outside.w - solution.x) < 1e-3
print(
    f"LIBLINEAR was given {outside.n_fed} samples of {len(problem)}; gap of the whole "
    "problem below 1e-6"
)

# %% [markdown]
# ## Along the path
#
# As $C$ grows the total loss falls, and mostly fewer samples keep a margin below 1. Up to $C_{\min}$ all are in L and $w^\star = C\sum_i z_i$
# without solving anything (SSS14 Lemma 9; the library's `lam_max` is $1/C_{\min}$).

# %%
C_min = svm.c_min(samples)
print("    C/C_min     L  step    R")
for factor in (0.5, 1.0, 3.0, 10.0, 100.0, 1000.0):
    s = ss.solve(problem, 1.0 / (factor * C_min), tol=0.0, rtol=1e-11)
    m = samples.margins(s.x)
    step = np.abs(m - 1.0) < 1e-6
    print(
        f"{factor:11.1f} {np.sum((m < 1) & ~step):5d} {step.sum():5d} {np.sum((m > 1) & ~step):4d}"
    )
    if factor <= 1.0:
        assert np.linalg.norm(s.x - factor * C_min * Z.sum(axis=0)) < 1e-7
        assert np.all(m <= 1.0 + 1e-7)
assert abs(C_min - 1.0 / (Z @ Z.sum(axis=0)).max()) < 1e-12

# %% [markdown]
# ## Intercept
#
# ### Penalised: one more feature
#
# A constant feature of value $s$ gives the intercept $b = s\, w_{d+1}$, penalised by $b^2 / (2 s^2)$. It is an ordinary
# feature, so everything in this book holds. But with a large $s$ all $\|z_i\|$ are large, and every test decides less.
# The points below are those above, moved away from the origin, where a line through the origin separates them badly.

# %%
from sklearn.svm import SVC

moved = X + [3.0, 2.0]
print("scale of the constant     intercept     errors of 40     mean length of z_i")
for scale in (0.0, 1.0, 10.0, 100.0):
    wide = moved if scale == 0.0 else svm.add_intercept(moved, scale)
    s = ss.solve(ss.Problem(ss.Samples(wide, y), ss.Hinge()), lam, tol=0.0, rtol=1e-9)
    b = 0.0 if scale == 0.0 else scale * s.x[-1]
    print(
        f"{scale:21.0f} {b:13.3f} {np.sum(y * (wide @ s.x) <= 0):16d}",
        f"{s.problem.terms.norms.mean():21.1f}",
    )
free = SVC(C=C, kernel="linear", tol=1e-9).fit(moved, y)
print(f"{'free':>21} {free.intercept_[0]:13.3f} {np.sum(y != free.predict(moved)):16d}")

# %% [markdown]
# The intercept tends to the free one of LIBSVM, while the samples become three and thirty times as long.
#
# ### Free: not covered by these papers
#
# With a free intercept $b$ the margins are $\langle z_i, w\rangle + y_i b$, and $b$ is not in the regularizer. Go
# through step 2 again: the lower bound now contains $-b \sum_i \alpha_i y_i$, whose smallest value over $b$ is
# $-\infty$ unless $\sum_i \alpha_i y_i = 0$. A dual point that does not obey this equation proves nothing, and
# the dual points of the tests (all ones at $C_{\min}$, zeros and ones for ball test 2) in general do not. Besides, all tests
# find a ball from the strong convexity in $w$; in the direction of $b$ there is none, so no ball holds $b$. Notebook
# [`39b-free-intercept`](39b-free-intercept.ipynb) mends both.
#
# It is not only that the proof fails. We compute ball test 1 on the moved points without an intercept,
# and compare it with the solution of LIBSVM, which has a free intercept:

# %%
moved_samples = ss.Samples(moved, y)
reference = svm.reference(
    ss.solve(ss.Problem(moved_samples, ss.Hinge()), 1.0 / (0.9 * C), tol=0.0, rtol=1e-12)
)
found = svm.ball_test_1(moved_samples, C, reference)

free_margins = y * free.decision_function(moved)
wrong = (found.in_R & (free_margins < 1.0 - 1e-6)) | (found.in_L & (free_margins > 1.0 + 1e-6))
own = moved_samples.margins(
    ss.solve(ss.Problem(moved_samples, ss.Hinge()), lam, tol=0.0, rtol=1e-12).x
)
not_right = (found.in_R & (own <= 1.0)) | (found.in_L & (own >= 1.0))
print(f"decided: {found.n_L} in L, {found.n_R} in R")
print("wrong for the problem without intercept:", int(not_right.sum()), "(bound 0)")
print("wrong for the problem with a free one:  ", int(wrong.sum()))
assert not not_right.any() and wrong.sum() > 0

# %% [markdown]
# ## Kernels
#
# Nothing above needs the coordinates of $w$: an element of the space is $\sum_j \beta_j z_j$, its margins are
# $Q\beta$. `KernelSamples` is a family of terms like any other, its elements carry their coefficients and margins.

# %%
machine = ss.Problem(ss.KernelSamples.from_points(X, y, "rbf", gamma=0.5), ss.Hinge())
curved = ss.solve(machine, lam, tol=0.0, rtol=1e-10)
print("training errors:", int(np.sum(machine.terms.margins(curved.x) <= 0)), " gap below 1e-7")
assert curved.gap < 1e-7

K = np.exp(-0.5 * np.sum((X[:, None] - X[None]) ** 2, axis=2))
by_hand = box_quadratic(K * np.outer(y, y), np.ones(40), C)
assert np.abs(by_hand - C * curved.alpha).max() < 1e-5
linear = ss.solve(ss.Problem(ss.KernelSamples(X @ X.T, y), ss.Hinge()), lam, tol=0.0, rtol=1e-12)
assert np.abs(linear.problem.terms.margins(linear.x) - margins).max() < 1e-8
print(
    "the ten lines of numpy find the same dual variables to 1e-5, a linear kernel the linear "
    "machine's margins to 1e-8"
)

# %% [markdown]
# ## Exercise
#
# Take a free intercept after all, and a dual point that *does* obey $\sum_i \alpha_i y_i = 0$. Show that the ball
#
# $$\Big\|w^\star - \tfrac12\big(\tilde w + C \sum_i \alpha_i z_i\big)\Big\|^2 \le
# \tfrac14\Big\|\tilde w + C\sum_i \alpha_i z_i\Big\|^2 + C\Big(\tilde\xi - \sum_i\alpha_i\Big)$$
#
# holds $w^\star$ for any $\tilde w$ and any intercept $\tilde b$, $\tilde\xi$ being their total loss. Why is that
# still no test?
#
# <details>
# <summary><b>Solution</b></summary>
#
# No direction goes down at $(w^\star, b^\star)$:
# $\xi(\tilde w, \tilde b) - \xi^\star + \lambda\langle w^\star, \tilde w - w^\star\rangle \ge 0$, the intercept
# being absent from the regularizer. By (1), $\xi^\star \ge \sum_i \alpha_i (1 - \langle z_i, w^\star\rangle - y_i b^\star)$,
# where $b^\star$ drops out. Add the two and complete the square in $w^\star$.
#
# The margin of a sample is $\langle z_i, w^\star\rangle + y_i b^\star$, and the ball says nothing of $b^\star$. An
# interval for $b^\star$ would be needed as well.
#
# </details>

# %%
rng = np.random.default_rng(2)
dual = np.zeros(40)
dual[free.support_] = np.abs(free.dual_coef_[0]) / C
shares = []
for _ in range(500):
    a = np.clip(dual + rng.uniform(0.0, 1.0) * rng.standard_normal(40), 0.0, 1.0)
    for sign in (1, -1):  # scale the larger side down until both sums are equal
        a[y == sign] *= min(1.0, a[y == -sign].sum() / a[y == sign].sum())
    guess_w, guess_b = (
        free.coef_[0] + rng.standard_normal(2),
        free.intercept_[0] + rng.standard_normal(),
    )
    loss = np.maximum(1.0 - y * (moved @ guess_w + guess_b), 0.0).sum()
    center = 0.5 * (guess_w + C * (moved * y[:, None]).T @ a)
    radius = np.sqrt(center @ center + C * (loss - a.sum()))
    shares.append(np.linalg.norm(free.coef_[0] - center) / radius)
assert max(shares) <= 1.0 + 1e-6
print(f"500 balls, largest distance of the solution in radii: {max(shares):.3f} (bound 1)")

# %% [markdown]
# ## Fine print
#
# * **Scale.** Objectives and gaps of the library are those of the papers divided by $C$. A relative gap is the same
#   in both.
# * **Uniqueness.** $w^\star$ is unique. The dual variables on the step need not be, if more samples stand on it than
#   there are dimensions; tests never use more than that some dual point exists.
# * **Exactly 1.** A sample with margin 1 is in none of the two sets, and no test may decide it. All tests compare
#   strictly, with an allowance for rounding.
# * **Other losses.** The smoothed hinge, weights and thresholds of samples, the squared hinge: [`22-other-losses-and-terms`](22-other-losses-and-terms.ipynb).
#   All of `svm` works for them too.
#
# ## References
#
# * SSS14: Ogawa, Suzuki, Suzumura, Takeuchi, *Safe Sample Screening for Support Vector Machines*, arXiv 2014,
#   section II.
# * SSS13: Ogawa, Suzuki, Takeuchi, *Safe Screening of Non-Support Vectors in Pathwise SVM Computation*, ICML 2013,
#   section 2.
# * Hsieh, Chang, Lin, Keerthi, Sundararajan, *A Dual Coordinate Descent Method for Large-scale Linear SVM*, ICML 2008.
