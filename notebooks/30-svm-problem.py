# %% [markdown]
# # The support vector machine as a case of the one problem
#
# The papers on samples (SSS13, SSS14) and the papers on triplets (STS18, STS19) write the same problem in different
# letters. This notebook writes the support vector machine in the book's letters, derives its dual, and derives which
# samples a program can leave out once their region at the solution is known. The screening tests follow in
# [`31-ball-tests-and-expanded-space`](31-ball-tests-and-expanded-space.ipynb) and [`32-ball-tests-1-and-2`](32-ball-tests-1-and-2.ipynb).
#
# At the end you will have seen that
#
# * a support vector machine without intercept is the problem of the book over the whole space, with $C = 1/\lambda$ and
#   all dual variables divided by $C$;
# * a sample with a margin above 1 has the dual variable 0, a sample with a margin below 1 has the dual variable $C$, and screening
#   uses only these two facts;
# * a sample known to be on the linear piece leaves the problem too, and adds its vector to a fixed sum; the paper prints the
#   formula for the smaller problem with three slips;
# * a penalised intercept is one more feature, but the proofs of these papers fail for a free intercept;
# * kernels change only the computation of inner products.

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
# The example has forty points of the plane in two classes. The machine finds a line between the classes with a wide margin on both sides.

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
print("w:", np.round(solution.x, 4), " duality gap below 1e-9")
assert solution.gap < 1e-9

# %% [markdown]
# The left panel shows the trained machine: the line, its two margins, and each sample in the colour of its region. The right panel shows the
# dual variable of each sample. A sample in R has a margin above 1 and the dual variable 0: without this sample the machine would be the
# same. A sample in L has a margin below 1 and the dual variable 1, wherever exactly it lies. Only the two samples with the margin 1
# have a dual variable between 0 and 1, which is not known beforehand. So the regions of the other samples determine
# nearly all of the solution.

# %%
margins = samples.margins(solution.x)
on_step = np.abs(margins - 1.0) < 1e-6
category = ss.Screened((margins < 1.0) & ~on_step, (margins > 1.0) & ~on_step)
figure, axes = figures.panels(2, width=10.0, height=3.6)
labels = {"title": "solution, true categories", "rest": "on the step"}
figures.samples(X, y, solution.x, category, ax=axes[0], **labels)
stairs = [margins.min(), 1.0, 1.0, margins.max()], [1.0, 1.0, 0.0, 0.0]
axes[1].plot(*stairs, color="#CCCCCC", zorder=0)
for key, mask in (("C", on_step), ("L", category.in_L), ("R", category.in_R)):
    axes[1].plot(margins[mask], solution.alpha[mask], "o", color=figures.COLOURS[key], markersize=5)
axes[1].set(xlabel=r"margin $\langle z_i, w^\star\rangle$", ylabel=r"$\alpha^\star_i$")
axes[1].set_title("dual variable against margin", loc="left", fontsize=10)
figures.show(
    f"The left panel shows {len(y)} points of both classes, with the line of the trained machine "
    f"and its margins. Colours show the region: {category.n_R} points are in R beyond the margins, "
    f"{category.n_L} are in L between the margins or on the wrong side, and "
    f"{np.count_nonzero(on_step)} are on the margin. The right panel shows their dual variables "
    "against their margins: 1 below margin 1, 0 above margin 1, and fractions at margin 1."
)

# %% [markdown]
# ## The problem
#
# The samples $x_i$ have labels $y_i = \pm 1$. Write $z_i = y_i x_i$, so that $\langle z_i, w\rangle$ is the *margin*
# of sample $i$. The margin is positive if the sign of $\langle x_i, w\rangle$ is right. SSS14 (equation 1) minimises
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
# | cone $K$ | the whole space, without a projection |
# | $H(\alpha)$ | $\sum_i \alpha_i z_i$ with one $\alpha_i \in [0,1]$ for each sample; the papers' dual variables are $a = C\alpha$ |
# | $w(\alpha)$ | $H(\alpha)/\lambda = C\sum_i\alpha_i z_i$; the dual is $D(\alpha;\lambda) = \mathbf 1^\top\alpha - \tfrac1{2\lambda}\lVert H(\alpha)\rVert^2$ |
#
# </details>

# %% [markdown]
# ## The dual
#
# ### Step 1: the conjugate of the hinge
#
# $\ell^*(-\alpha) = \sup_u\, (-\alpha u - \ell(u))$. The function in the brackets is linear on both sides of the
# kink $u = 1$. Its supremum is finite only if the function does not fall on the left of the kink and does not rise on the right,
# and then the supremum is the value at the kink.

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
# $u > 1$, and any $\alpha \in [0, 1]$ for $u = 1$.
#
# ### Step 2: minimise over the weights
#
# Insert (1) into $P$ for every sample. The result is a quadratic function of $w$. sympy computes its smallest value
# for two samples and two coordinates; more samples or coordinates only add summands of the same kind:

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
print("w = (alpha1 z1 + alpha2 z2)/lambda")
print("value = alpha1 + alpha2 - |alpha1 z1 + alpha2 z2|^2/(2 lambda)")

# %% [markdown]
# For every $w$ and every $\alpha \in [0, 1]^n$, therefore,
#
# $$P(w; \lambda) \;\ge\; D(\alpha; \lambda) = \sum_i \alpha_i - \tfrac1{2\lambda}\Big\|\sum_i \alpha_i z_i\Big\|^2 .$$
#
# SSS14 equation 2 is this inequality times $C$, with $C\alpha$ for $\alpha$. At the optimum both sides are equal, and
# every inequality of the derivation is an equality:
#
# $$w^\star = C \sum_i \alpha^\star_i z_i, \qquad
# \langle z_i, w^\star\rangle > 1 \Rightarrow \alpha^\star_i = 0, \qquad
# \langle z_i, w^\star\rangle < 1 \Rightarrow \alpha^\star_i = 1. \tag{2}$$
#
# ## Ten lines of numpy
#
# The dual in the paper's scale is a quadratic problem over a box. The function below improves one coordinate after the other. For the whole
# problem `b` is a vector of ones; the reduced problem below has a different `b`.


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
# The next cell compares the numpy solution with the library's solution and with cvxpy's solution of the primal problem, and it compares both objectives. The paper's dual
# variables are $C$ times the library's dual variables.

# %%
import cvxpy as cp

variable = cp.Variable(2)
objective = cp.sum_squares(variable) / 2 + C * cp.sum(cp.pos(1 - Z @ variable))
program = cp.Problem(cp.Minimize(objective))
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
# ## The regions of the samples
#
# Equation (2) is the staircase in the right panel of the first picture: the dual variable is 1 below margin 1, 0 above margin 1, and any number from 0 to 1 on
# the step at margin 1. Two samples are exactly on the step. For points in general position at most $d$ samples can be on the step, because
# each of their margins gives an equation for $w$.

# %%
alpha = solution.alpha
assert np.abs(alpha[category.in_L] - 1.0).max() < 1e-9 and np.abs(alpha[category.in_R]).max() < 1e-9
assert np.linalg.norm(solution.x - C * Z.T @ alpha) < 1e-9
print("L:", category.n_L, " on the step:", on_step.sum(), " R:", category.n_R)
print("dual variables on the step:", np.round(alpha[on_step], 4))

# %% [markdown]
# The literature calls all samples with $\alpha_i > 0$ support vectors. SSS14 uses this name only for the samples on the step,
# because screening can remove samples of L as well as samples of R: **both pieces of the loss are linear, and the dual variable of a sample on a linear piece
# is known beforehand.**
#
# ## The reduced problem
#
# Suppose that some samples are known to be in L and others in R. Fix their dual variables at 1
# and 0. In the primal the samples of R drop out. The samples of L have $\ell(u) = 1 - u$, which gives a constant and a linear term with the vector
# $c = \sum_{\text L} z_i$:
#
# $$P_{\text{red}}(w) = \sum_{\text{rest}} \ell(\langle z_i, w\rangle) - \langle c, w\rangle + |\text L|
# + \tfrac\lambda2\|w\|^2 .$$
#
# The reduced problem has the same solution. Since $1 - u \le \ell(u)$ and $0 \le \ell(u)$, $P_{\text{red}} \le P$ everywhere, with
# equality around $w^\star$. So $w^\star$ is a local minimum of the convex function $P_{\text{red}}$, and therefore its global minimum.

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
print(f"{len(problem)} samples, {in_L.sum()} known to be in L, {in_R.sum()} in R")
print(f"reduced problem of {len(reduced)} samples: same solution within the certified accuracies")

# %% [markdown]
# ### The dual of the reduced problem
#
# Use (2) with $\alpha$ fixed on L. The samples of L add $C\sum_{j\in\text L} Q_{ij} = y_i d_i$ to the margin of sample $i$,
# with $d_i = C \sum_{j \in \text L} y_j K(x_i, x_j)$. So $d_i$ is the contribution of L to $f(x_i)$. Hence the dual, in the paper's
# scale, is
#
# $$\min_\alpha\; \tfrac12\sum_{i,j} \alpha_i\alpha_j Q_{ij} - \sum_i \alpha_i (1 - y_i d_i), \qquad 0 \le \alpha_i \le C,
# \tag{3}$$
#
# with sums over the samples that are not fixed. SSS14 says the same in section II (the display after equation 4): with R and
# L fixed the problem is smaller, and it needs only $d_i$ of L. Its display differs from (3) by three slips, as the paper's
# equation 2 shows: a maximum in place of the minimum, no factor $\frac12$, and $d_i$ in place of $y_i d_i$. A program
# has to use (3). The next cells correct the three slips one after the other and solve each version with the function above:

# %%
def reduced_dual(Q, y, d, C, solve=box_quadratic):
    """Return the dual variables by three readings of the display; the last reading is (3)."""
    return {
        "minimum": solve(2.0 * Q, 1.0 - d, C),
        "minimum, factor 1/2": solve(Q, 1.0 - d, C),
        "minimum, factor 1/2, y_i d_i": solve(Q, 1.0 - y * d, C),
    }


# %% tags=["SSS14-DII"]
rest = ~(in_L | in_R)
Q_rest, true = Q[np.ix_(rest, rest)], C * alpha[rest]
d = C * (X[rest] @ X[in_L].T) @ y[in_L]
corner = np.full(rest.sum(), C)
at_true, at_corner = (a @ Q_rest @ a - a @ (1.0 - d) for a in (true, corner))
print("value of the display, as printed:", end=" ")
print(f"{at_true:.3f} at the true dual variables, {at_corner:.3f} at the corner C 1")
assert at_corner > at_true  # the true dual variables are not its maximum
for reading, found in reduced_dual(Q_rest, y[rest], d, C).items():
    error = np.abs(found - true).max() / C
    size = "below 1e-6" if error < 1e-6 else f"{error:.3f}"
    print(f"{reading:30} largest error of a dual variable / C: {size}")
    assert (error < 1e-6) == (reading == "minimum, factor 1/2, y_i d_i")

# %% [markdown]
# The next cells solve fifty random machines by each reading, and count the solutions that are right. They also compare (3) with the library's dual of the reduced problem, which
# is minus (3) plus a constant of L.

# %%
y_12 = y[:12]


def random_machine(rng):
    """Return the points of a machine, its C, its solution, and samples known to be in L and R."""
    X_ = rng.standard_normal((12, 3)) + 0.8 * y_12[:, None]
    C_ = 10.0 ** rng.uniform(-1.5, 0.0)
    best = ss.solve(ss.Problem(ss.Samples(X_, y_12), ss.Hinge()), 1.0 / C_, tol=1e-13, rtol=1e-12)
    L_ = (best.alpha == 1.0) & (rng.uniform(size=12) < 0.7)
    R_ = (best.alpha == 0.0) & (rng.uniform(size=12) < 0.7)
    return X_, C_, best, L_, R_


def solve_box(Q, b, C):
    """Solve with fewer sweeps, which is enough for twelve samples."""
    return box_quadratic(Q, b, C, 400)


# %% tags=["SSS14-DII"]
rng = np.random.default_rng(30)
n_right = {"minimum": 0, "minimum, factor 1/2": 0, "minimum, factor 1/2, y_i d_i": 0}
objective = 0.0
for _ in range(50):
    X_, C_, best, L_, R_ = random_machine(rng)
    rest_ = ~(L_ | R_)
    Z_, from_L = (X_ * y_12[:, None])[rest_], C_ * (X_ * y_12[:, None])[L_].sum(axis=0)
    Q_, y_, d_ = Z_ @ Z_.T, y_12[rest_], C_ * (X_[rest_] @ X_[L_].T) @ y_12[L_]
    for reading, a_ in reduced_dual(Q_, y_, d_, C_, solve_box).items():
        error = np.linalg.norm(Z_.T @ a_ + from_L - best.x)
        n_right[reading] += error < 1e-4 * np.linalg.norm(best.x)
    # the library's dual of the reduced problem, and minus (3) plus a constant of L
    a_ = rng.uniform(size=rest_.sum())
    library = C_ * best.problem.reduce(L_, R_).dual(a_, 1.0 / C_)
    three = C_**2 * a_ @ Q_ @ a_ / 2 - C_ * a_ @ (1.0 - y_ * d_)
    constant = C_ * L_.sum() - from_L @ from_L / 2
    objective = max(objective, abs(library + three - constant))
for reading, count in n_right.items():
    print(f"{reading:30} finds the solution of {count} of 50 machines")
assert n_right["minimum, factor 1/2, y_i d_i"] == 50
assert max(n_right["minimum"], n_right["minimum, factor 1/2"]) < 40
assert objective < 1e-9

# %% [markdown]
# ### Programs that take no linear term
#
# LIBLINEAR and LIBSVM solve only problems without $c$. So their input can omit samples of R, but not samples of L. The library judges their
# solutions by the gap of the *whole* problem.

# %%
outside = linear_svc(samples, C, ss.Screened(np.zeros(40, dtype=bool), in_R), tol=1e-8)
assert outside.gap < 1e-6 and np.linalg.norm(outside.w - solution.x) < 1e-3
print(f"input of LIBLINEAR: {outside.n_fed} of {len(problem)} samples")
print("gap of its solution in the whole problem: below 1e-6")

# %% [markdown]
# ## Along the path
#
# As $C$ grows the total loss falls, and usually fewer samples have a margin below 1. For $C \le C_{\min}$ all samples are in L and $w^\star = C\sum_i z_i$
# is known without a solver (SSS14 Lemma 9; the library's `lam_max` is $1/C_{\min}$).

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
# A constant feature of value $s$ gives the intercept $b = s\, w_{d+1}$, penalised by $b^2 / (2 s^2)$. The constant is an
# ordinary feature, so all results of this book apply. But a large $s$ makes all $\|z_i\|$ large, and then every test decides less.
# The next cell moves the points above away from the origin, so that a line through the origin separates them badly.

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
# The intercept tends to the free intercept of LIBSVM as $s$ grows, but the vectors $z_i$ become much longer.
#
# ### Free: not covered by these papers
#
# With a free intercept $b$ the margins are $\langle z_i, w\rangle + y_i b$, and $b$ is not in the regularizer. Go
# through step 2 again: the lower bound now contains $-b \sum_i \alpha_i y_i$, whose smallest value over $b$ is
# $-\infty$ unless $\sum_i \alpha_i y_i = 0$. A dual point that does not satisfy this equation gives no lower bound, and the dual points
# of the tests (all ones at $C_{\min}$, zeros and ones for ball test 2) usually do not satisfy it. Besides, all tests
# build a ball from the strong convexity in $w$. The objective is not strongly convex in $b$, so no ball contains $b$. Notebook
# [`39b-free-intercept`](39b-free-intercept.ipynb) solves both problems.
#
# It is not only the proof that fails: the decisions are wrong too. The next cell computes ball test 1 on the moved points without an intercept,
# and compares its decisions with the solution of LIBSVM, which has a free intercept:

# %%
moved_samples = ss.Samples(moved, y)
moved_problem = ss.Problem(moved_samples, ss.Hinge())
reference = svm.reference(ss.solve(moved_problem, 1.0 / (0.9 * C), tol=0.0, rtol=1e-12))
found = svm.ball_test_1(moved_samples, C, reference)

free_margins = y * free.decision_function(moved)
wrong = (found.in_R & (free_margins < 1.0 - 1e-6)) | (found.in_L & (free_margins > 1.0 + 1e-6))
own = moved_samples.margins(ss.solve(moved_problem, lam, tol=0.0, rtol=1e-12).x)
not_right = (found.in_R & (own <= 1.0)) | (found.in_L & (own >= 1.0))
print(f"decided: {found.n_L} in L, {found.n_R} in R")
print("wrong for the problem without intercept:     ", int(not_right.sum()), "(bound 0)")
print("wrong for the problem with a free intercept: ", int(wrong.sum()))
assert not not_right.any() and wrong.sum() > 0

# %% [markdown]
# ## Kernels
#
# No formula above needs the coordinates of $w$: an element of the space is $\sum_j \beta_j z_j$, and its margins are
# $Q\beta$. `KernelSamples` is a family of terms whose elements store their coefficients and margins.

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
print("dual variables of numpy and of the library differ by less than 1e-5")
print("margins with a linear kernel and with features differ by less than 1e-8")

# %% [markdown]
# ## Exercise
#
# Take a free intercept and a dual point that *does* satisfy $\sum_i \alpha_i y_i = 0$. Show that the ball
#
# $$\Big\|w^\star - \tfrac12\big(\tilde w + C \sum_i \alpha_i z_i\big)\Big\|^2 \le
# \tfrac14\Big\|\tilde w + C\sum_i \alpha_i z_i\Big\|^2 + C\Big(\tilde\xi - \sum_i\alpha_i\Big)$$
#
# contains $w^\star$ for any $\tilde w$ and any intercept $\tilde b$, where $\tilde\xi$ is the total loss of $\tilde w$ and $\tilde b$. Why does this ball
# not give a screening test?
#
# <details>
# <summary><b>Solution</b></summary>
#
# The objective falls in no direction at $(w^\star, b^\star)$:
# $\xi(\tilde w, \tilde b) - \xi^\star + \lambda\langle w^\star, \tilde w - w^\star\rangle \ge 0$, because the regularizer does not contain the intercept.
# By (1), $\xi^\star \ge \sum_i \alpha_i (1 - \langle z_i, w^\star\rangle - y_i b^\star)$,
# where $b^\star$ drops out. Add the two inequalities and complete the square in $w^\star$.
#
# The margin of a sample is $\langle z_i, w^\star\rangle + y_i b^\star$, and the ball does not bound $b^\star$. A test also needs an
# interval for $b^\star$.
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
    guess_w = free.coef_[0] + rng.standard_normal(2)
    guess_b = free.intercept_[0] + rng.standard_normal()
    loss = np.maximum(1.0 - y * (moved @ guess_w + guess_b), 0.0).sum()
    center = 0.5 * (guess_w + C * (moved * y[:, None]).T @ a)
    radius = np.sqrt(center @ center + C * (loss - a.sum()))
    shares.append(np.linalg.norm(free.coef_[0] - center) / radius)
assert max(shares) <= 1.0 + 1e-6
print(
    f"{len(shares)} balls: largest distance of the solution from the center in radii "
    f"{max(shares):.3f} (bound 1)"
)

# %% [markdown]
# ## Fine print
#
# * **Scale.** The objectives and gaps of the library are the objectives and gaps of the papers divided by $C$. Relative gaps are equal.
# * **Uniqueness.** $w^\star$ is unique. The dual variables on the step need not be unique if more samples are on the step than there are
#   dimensions. The tests use only that some dual solution exists.
# * **Exactly 1.** A sample with margin 1 is neither in L nor in R, and no test may decide it. All tests compare
#   strictly, with an allowance for rounding.
# * **Other losses.** [`22-other-losses-and-terms`](22-other-losses-and-terms.ipynb) treats the smoothed hinge, the squared hinge, and weights and thresholds of samples.
#   All functions of `svm` work for them too.
#
# ## References
#
# * SSS14: Ogawa, Suzuki, Suzumura, Takeuchi, *Safe Sample Screening for Support Vector Machines*, arXiv 2014,
#   section II.
# * SSS13: Ogawa, Suzuki, Takeuchi, *Safe Screening of Non-Support Vectors in Pathwise SVM Computation*, ICML 2013,
#   section 2.
# * Hsieh, Chang, Lin, Keerthi, Sundararajan, *A Dual Coordinate Descent Method for Large-scale Linear SVM*, ICML 2008.
