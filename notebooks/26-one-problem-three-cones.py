# %% [markdown]
# # One problem, three cones
#
# Safe triplet screening learns a metric. Safe sample screening trains a support vector machine. The two lines of papers share
# authors, but their formulas differ in letters, in names and in a constant factor. This
# notebook shows that both lines solve one problem, and that several results on metrics *are* results on samples.
#
# At the end you will have seen that
#
# * metric, diagonal metric and support vector machine differ only in the cone, and the same code runs on all
#   three;
# * the path bound RPB of the triplets, ball test 1 of the samples (in the case of a path) and the DVI test of Wang et
#   al. are one ball;
# * the dome test of the samples is the linear rule of the triplets, and it is valid in any cone;
# * the start of the samples' path, $1/C_{\min}$, is the smallest $\lambda$ at which all triplets lie on the linear piece;
# * the radii grow as $\lambda \to 0$ if one reference is kept, and they stay in proportion to the solution if each $\lambda$ takes the solution for the previous
#   $\lambda$ as its reference;
# * kernels do *not* carry over to a cone.

# %%
import numpy as np
import sympy as sp

import safescreen as ss
from safescreen_book import datasets, figures

# %% [markdown]
# ## The idea in a picture
#
# Twelve points of the plane in two classes define three problems: learn a full metric, learn one weight for each feature, find a separating
# line. The first solution is a semidefinite matrix, the second a pair of non-negative numbers, the third any vector. The picture shades these
# three cones (on the left it shows a plane of matrices). The same code builds the balls of all three problems: the gradient
# bound (GB) and the projected gradient bound (PGB) from one evaluation.
#
# Without a cone the two balls are equal. With a cone PGB is much smaller than GB if a large part of GB lies outside the cone.

# %%
points = np.random.default_rng(3).standard_normal((12, 2)) * [1.0, 0.6]
points[6:, 0] += 1.2
halves = np.repeat([0, 1], 6)
asked = {
    "metric": ss.Triplets.from_labels(points, halves, k=3),
    "diagonal metric": ss.Triplets.from_labels(points, halves, k=3, diagonal=True),
    "support vectors": ss.Samples(points, 2 * halves - 1),
}
small = {name: ss.Problem(terms, ss.SmoothedHinge(gamma=0.05)) for name, terms in asked.items()}


# %%
def draw_balls(problem, ax, title):
    """Draw GB and PGB of a point near the optimum, and return the ratio of their radii."""
    lam = 0.1 * problem.lam_max()
    best = ss.solve(problem, lam, tol=1e-11).x
    direction = np.eye(2) if best.ndim == 2 else np.eye(2)[1]
    start = 0.8 * best + 0.2 * np.linalg.norm(best) * direction
    gb = ss.spheres.gradient_bound(problem, start, lam)
    pgb = ss.spheres.projected_gradient_bound(problem, start, lam)
    assert all(np.linalg.norm(ball.center - best) <= ball.radius for ball in (gb, pgb))
    plane = (pgb.center, gb.center, best) if best.ndim == 2 else None
    discs, marks = {"GB": gb, "PGB": pgb}, {"x": start, "optimum": best}
    figures.balls(problem.cone, discs, marks, plane=plane, ax=ax, title=title)
    return pgb.radius / gb.radius


# %%
figure, axes = figures.panels(3, width=10.4, height=3.8)
narrower = {}
for ax, (name, problem) in zip(axes, small.items(), strict=True):
    narrower[name] = draw_balls(problem, ax, name)
figures.show(
    "The panels show planes with the cone shaded: a plane through semidefinite matrices, the "
    "quarter plane of diagonal metrics, and the whole plane of support vectors. The radius of PGB "
    f"divided by the radius of GB is {figures.listed(narrower)}. All discs contain the optimum."
)

# %% [markdown]
# ## The claim
#
# > **One problem.** The three problems are $\min_{x \in K} \sum_t \ell(\langle a_t, x\rangle) - \langle c, x\rangle + \frac\lambda2\|x\|^2$:
#
# | | metric (STS) | diagonal metric (STS19, 6.2) | support vectors (SSS) |
# |---|---|---|---|
# | unknown $x$ | matrix $M$ | weights $m$ | normal $w$ |
# | space, $\langle\cdot,\cdot\rangle$ | symmetric, Frobenius | $\mathbb R^d$ | $\mathbb R^d$, or the space of a kernel |
# | cone $K$ | $M \succeq 0$ | $m \ge 0$ | everything |
# | $[H]_K$ | drop negative eigenvalues | drop negative entries | $H$ |
# | term $a_t$ | $uu^\top - vv^\top$ | $u \circ u - v \circ v$ | $z_i = y_i x_i$ |
# | constant | $\lambda$ | $\lambda$ | $C = 1/\lambda$ |
# | dual variable | $\alpha_t \in [0, 1]$ | $\alpha_t$ | $C\alpha_i \in [0, C]$ |
# | screened | $L$, $R$ | $L$, $R$ | $\mathcal L$, $\mathcal R$ |
#
# with $u = x_i - x_l$, $v = x_i - x_j$. SSS minimizes $\frac12\|w\|^2 + C\,\xi$ with
# $\xi = \sum_i \ell(z_i^\top w)$, which is $C$ times our objective. The factor $C$ does not change $x^\star$, so a ball that contains $x^\star$
# does not depend on this factor.
#
# This notebook uses three problems with real data. Two have random triplets of wine, with four columns of noise added so that
# the cones constrain the solutions. The third has the two classes of breast cancer.
#
# <details>
# <summary><b>Symbols</b></summary>
#
# | symbol | what it is |
# |---|---|
# | problem | $P(x; \lambda) = \sum_t \ell(\langle a_t, x\rangle) - \langle c, x\rangle + \frac\lambda2\Vert x\Vert^2$ over $x \in K$ |
# | loss | smoothed hinge $\ell(u) = \max_{0 \le a \le 1} a(1 - u) - \frac\gamma2 a^2$: 0 for $u > 1$, slope $-1$ for $u < 1 - \gamma$; the hinge for $\gamma = 0$ |
# | cone $K$ | semidefinite matrices (metric), non-negative vectors (diagonal metric), everything (support vectors) |
# | $H(\alpha)$ | $c + \sum_t \alpha_t a_t$, with $0 \le \alpha_t \le 1$ |
# | $x(\alpha)$ | $\frac1\lambda [H(\alpha)]_K$ |
#
# </details>

# %%
def random_triplets(y, n, rng):
    """Draw roughly n triplets: an anchor, another point of its class, a point of another class."""
    i = rng.integers(0, len(y), 4 * n)
    j, other = rng.integers(0, len(y), (2, 4 * n))
    good = (i != j) & (y[i] == y[j]) & (y[i] != y[other])
    return np.unique(np.stack([i, j, other], axis=1)[good], axis=0)


# %%
rng = np.random.default_rng(0)
wines, kinds_of_wine = datasets.load("wine", return_X_y=True)
noisy = np.hstack([wines, wines.std() * rng.standard_normal((len(wines), 4))])
index = random_triplets(kinds_of_wine, 2500, rng)
loss = ss.SmoothedHinge(gamma=0.05)
cells, diagnosis = datasets.load("breast-cancer", return_X_y=True)
problems = {
    "metric": ss.Problem(ss.Triplets(noisy, index), loss),
    "diagonal metric": ss.Problem(ss.Triplets(noisy, index, diagonal=True), loss),
    "support vectors": ss.Problem(ss.Samples(cells, diagnosis), loss),
}


# %%
def plain(problem, X):
    """Return the terms as rows of a matrix and the projection onto the cone, in plain numpy."""
    kind = type(problem.terms).__name__
    if kind == "Samples":
        return X, lambda h: h
    i, j, other = problem.terms.index.T
    u, v = X[i] - X[other], X[i] - X[j]
    if problem.terms.points.diagonal:
        return u * u - v * v, lambda h: np.maximum(h, 0.0)
    A = (u[:, :, None] * u[:, None, :] - v[:, :, None] * v[:, None, :]).reshape(len(u), -1)

    def project(h):
        values, vectors = np.linalg.eigh(h.reshape(X.shape[1], -1))
        return (vectors * np.maximum(values, 0.0) @ vectors.T).ravel()

    return A, project


data = {"metric": noisy, "diagonal metric": noisy, "support vectors": diagnosis[:, None] * cells}
plains = {name: plain(problem, data[name]) for name, problem in problems.items()}
for name, problem in problems.items():
    print(f"{name:16} {len(problem):5d} terms, {problem.cone}")

# %% [markdown]
# ## Only the cone differs
#
# The next cell gives the vectors $a_t$ of diagonal triplets to the support vector machine as if they were samples.
# At any $m \ge 0$ the two objectives agree up to rounding. The two solutions agree if the solution of the machine
# is non-negative; otherwise the cone of the diagonal metric changes the solution.

# %%
rng = np.random.default_rng(0)
X, labels = rng.standard_normal((14, 3)), np.arange(14) % 2
X[labels == 1, 0] += 2.0
diagonal = ss.Problem(ss.Triplets.from_labels(X, labels, diagonal=True), loss)
i, j, other = diagonal.terms.index.T
a = (X[i] - X[other]) ** 2 - (X[i] - X[j]) ** 2
signs = np.where(np.arange(len(a)) % 2, 1, -1)
machine = ss.Problem(ss.Samples(signs[:, None] * a, signs), loss)

same_at = []
for lam in (30.0, 300.0, 10_000.0):
    m = rng.uniform(0.0, 1.0, 3)
    assert abs(diagonal.primal(m, lam) / machine.primal(m, lam) - 1.0) < 1e-12
    constrained = ss.solve(diagonal, lam, tol=1e-10).x
    free = ss.solve(machine, lam, tol=1e-10).x
    same = np.linalg.norm(constrained - free) < 1e-4
    assert same == bool(free.min() >= 0.0)
    same_at.append(same)
    print(
        f"lam {lam:5.0f}: machine {np.round(free, 4)}, diagonal metric "
        f"{np.round(constrained + 0.0, 4)}"
    )
assert set(same_at) == {True, False}

# %% [markdown]
# ## The start of the path: $1/C_{\min}$ is the all-linear $\lambda$ (SSS14 Lemma 9)
#
# For large $\lambda$ the solution is short, all margins are small and all terms lie on the linear piece. Then $\alpha = 1$
# and $x^\star = \frac1\lambda [c + \sum_t a_t]_K$. This is the solution as long as every margin is at most $1 - \gamma$,
# that is for
#
# $$\lambda \ge \lambda_{\text{all-linear}} = \max_t \frac{\langle a_t, [c + \sum_s a_s]_K\rangle}{1 - \gamma} .$$
#
# Without a cone, and with the hinge, $\langle z_i, \sum_s z_s\rangle = (Q\mathbf 1)_i$ for
# $Q_{is} = z_i^\top z_s$: the all-linear $\lambda$ is $1/C_{\min}$ with SSS14's $C_{\min} = 1/\max_i (Q\mathbf 1)_i$. The library computes it as
# `problem.lam_max()`. (STS19's $\lambda_{\max}$ is a different number: there the largest margin is 1 instead of $1 - \gamma$, and the first triplet enters $R$.)

# %%
hinge = ss.Problem(ss.Samples(cells, diagnosis), ss.Hinge())
Z = diagnosis[:, None] * cells
C_min = 1.0 / (Z @ Z.T).sum(axis=1).max()
print("C_min times lam_max():", round(C_min * hinge.lam_max(), 9))
assert abs(C_min * hinge.lam_max() - 1.0) < 1e-9

# %% [markdown]
# Just above the all-linear $\lambda$ the closed form is the solution; just below it, some term has left the linear piece:

# %%
for name, problem in problems.items():
    edge = problem.lam_max()
    above, below = (ss.solve(problem, f * edge, tol=0.0, rtol=1e-12) for f in (1.001, 0.98))
    closed_form = problem.all_linear() / (1.001 * edge)
    assert np.all(problem.alpha(closed_form) == 1.0) and problem.alpha(below.x).min() < 1.0
    error = np.linalg.norm(above.x - closed_form) / np.linalg.norm(closed_form)
    assert error < 1e-4
    last = np.min(problem.alpha(below.x))
    print(
        f"{name:16} above: the closed form differs from the solution by less than 1e-4;  below: "
        f"smallest alpha {last:.2f}"
    )

# %% [markdown]
# ## RPB = ball test 1 = DVI
#
# ### Ball test 1 (SSS14 Theorem 6)
#
# Ball test 1 uses a feasible $\tilde w$ with loss $\tilde\xi$, and the solution $w_0^\star$ with loss $\xi_0^\star$ for
# $C_0$. Its ball has the center $m = \frac12(\tilde w + \frac{C}{C_0} w_0^\star)$ and the squared radius
# $r^2 = \|m\|^2 - \frac{C}{C_0}\|w_0^\star\|^2 + C(\tilde\xi - \xi_0^\star)$. On a path the feasible point is $\tilde w = w_0^\star$. Then the losses cancel. The next cell
# sets $C = 1/\lambda_1$, $C_0 = 1/\lambda_0$ and compares the ball with RPB:

# %%
C, C0, l0, l1 = sp.symbols("C C0 lambda0 lambda1", positive=True)
w1, w2 = sp.symbols("w1 w2", real=True)
w0 = sp.Matrix([w1, w2])
m = (w0 + C / C0 * w0) / 2
r_squared = m.dot(m) - C / C0 * w0.dot(w0)
in_lambda = {C: 1 / l1, C0: 1 / l0}
rpb_center = (l0 + l1) / (2 * l1) * w0
rpb_squared = ((l0 - l1) / (2 * l1)) ** 2 * w0.dot(w0)
center_off = sp.simplify(m.subs(in_lambda) - rpb_center)
squared_off = sp.simplify(r_squared.subs(in_lambda) - rpb_squared)
print("ball test 1 with w~ = w0* minus RPB")
print(f"    center {list(center_off)}  squared radius {squared_off}")
assert center_off == sp.zeros(2, 1)
assert squared_off == 0

# %% [markdown]
# ### The DVI test (Wang, Wonka, Ye 2014; SSS14 equation 34)
#
# DVI stands for "dual variational inequality". Each of two dual solutions is optimal for its own $C$ and feasible
# for the other $C$. This gives two inequalities, and their sum is
#
# $$\langle C_0 Z^\top\theta_0 - C Z^\top\theta,\; Z^\top(\theta - \theta_0)\rangle \ge 0 \qquad (\theta = \alpha) .$$
#
# The sum describes a ball for $Z^\top\theta$, and $w = C Z^\top\theta$. The proof of RPB in appendix
# G of STS19 ([`14-path-bounds`](14-path-bounds.ipynb)) is the same proof with the multiplier of the cone added. The lower bound of a margin needs only the kernel matrix $Q$ and
# the dual solution $a = C_0\theta_0$:
#
# $$\ell_i = \tfrac{C + C_0}{2 C_0} (Q a)_i - \tfrac{|C - C_0|}{2 C_0} \sqrt{a^\top Q a\;\, Q_{ii}} .$$
#
# ## Both tests in plain numpy


# %%
def ball_test_1(w_tilde, xi_tilde, w0, xi0, C0, C):
    """Return center and radius of SSS14 Theorem 6, in the paper's letters."""
    m = (w_tilde + C / C0 * w0) / 2
    r_squared = m @ m - C / C0 * w0 @ w0 + C * (xi_tilde - xi0)
    return m, np.sqrt(max(r_squared, 0.0))


def dvi(Q, a, C0, C):
    """Return the bounds of the margins by SSS14 equation 34, for the dual solution 0 <= a <= C0."""
    middle = (C + C0) / (2 * C0) * (Q @ a)
    half_width = abs(C - C0) / (2 * C0) * np.sqrt(a @ Q @ a * np.diag(Q))
    return middle - half_width, middle + half_width


C0_, C_ = 3.0 * C_min, 4.0 * C_min
at0 = ss.solve(hinge, 1 / C0_, tol=0.0, rtol=1e-11)
w0_, xi0_ = at0.x, np.maximum(1 - Z @ at0.x, 0.0).sum()
center, radius = ball_test_1(w0_, xi0_, w0_, xi0_, C0_, C_)
low, high = dvi(Z @ Z.T, C0_ * at0.alpha, C0_, C_)

# %% [markdown]
# ## The library, and does it match?
#
# Ball test 1 and RPB are the same ball. The DVI bounds are the extreme margins over this ball, as exactly as the dual
# solution reproduces the primal solution.

# %%
rpb = ss.spheres.path_bound(w0_, 1 / C0_, 1 / C_)
found = ss.rules.sphere(hinge, rpb)
middle, half_width = Z @ rpb.center, rpb.radius * np.linalg.norm(Z, axis=1)
low_off, high_off = low - (middle - half_width), high - (middle + half_width)
off = max(np.max(np.abs(low_off)), np.max(np.abs(high_off)))
print(f"ball test 1: radius {radius:.4f};  RPB: radius {rpb.radius:.4f}")
print(f"DVI: {np.sum(low > 1)} lower bounds above 1;  sphere rule: {found.n_R} in R")
print(
    "bounds of the margins by DVI and by RPB differ by less than 0.01; the bounds lie between "
    f"{low.min():.2f} and {high.max():.2f}"
)
assert np.linalg.norm(rpb.center - center) < 1e-12
assert abs(rpb.radius / radius - 1.0) < 1e-9
assert off < 1e-2
decided = np.abs(low - 1) > 1e-2
assert np.array_equal((low > 1)[decided], found.in_R[decided])

# %% [markdown]
# ## The dome test is the linear rule
#
# SSS13 uses the solutions for $C_a$ and $C_b > C_a$ and screens for every $C$ between them. Two facts are true in any cone:
#
# * *A ball around 0.* $\|x^\star\|$ does not fall as $C$ grows, so $\|x^\star\| \le \|x_b^\star\|$.
# * *A half-space.* The loss $F = \sum_t \ell_t - \langle c, \cdot\rangle$ does not grow with $C$, so
#   $F(x^\star) \le F(x_a^\star)$. The optimality of $x_a^\star$ says
#   $\lambda_a\langle x_a^\star, x - x_a^\star\rangle \ge F(x_a^\star) - F(x)$ for feasible $x$. So
#   $\langle x_a^\star, x^\star\rangle \ge \|x_a^\star\|^2$.
#
# The "dome" is the part of this ball behind this plane. STS19's linear rule (Theorem 9) computes the extreme value of a linear function
# over a ball cut by a plane, and `rules.halfspace` computes it for any center and offset. SSS14's Theorem 11 is the
# case $Q = 0$, $P = w_a$, $b = \|w_a\|^2$. The function below uses $\gamma = \frac12\|w\|^2$, as SSS13 does:


# %%
def dome(Z, w_a, norm_b):
    """Return the bounds of the margins over {|w| <= norm_b, <w_a, w> >= |w_a|^2}.

    The formulas are SSS14 Theorem 11 with gamma = |w|^2/2.
    """
    s, n = Z @ w_a, np.linalg.norm(Z, axis=1)
    g_a, g_b = w_a @ w_a / 2, norm_b**2 / 2
    root = np.sqrt(np.maximum((g_b - g_a) / g_a * (2 * g_a * n**2 - s**2), 0.0))
    limit = np.sqrt(2) * g_a / np.sqrt(g_b) * n
    lower = np.where(-s >= limit, -np.sqrt(2 * g_b) * n, s - root)
    upper = np.where(s >= limit, np.sqrt(2 * g_b) * n, s + root)
    return lower, upper


# %%
at_a, at_b = (ss.solve(hinge, 1 / C, tol=0.0, rtol=1e-10).x for C in (3 * C_min, 4 * C_min))
dome_low, dome_high = dome(Z, at_a, np.linalg.norm(at_b))
cap = ss.Sphere(np.zeros_like(at_a), np.linalg.norm(at_b))
by_rule = ss.rules.halfspace(hinge, cap, at_a, at_a @ at_a)
clear = (np.abs(dome_low - 1) > 1e-6) & (np.abs(dome_high - 1) > 1e-6)
assert np.array_equal((dome_low > 1)[clear], by_rule.in_R[clear])
assert np.array_equal((dome_high < 1)[clear], by_rule.in_L[clear])
print(
    f"dome test: {np.sum(dome_low > 1)} in R, {np.sum(dome_high < 1)} in L;  linear rule: "
    f"{by_rule.n_R} in R, {by_rule.n_L} in L"
)
assert by_rule.n_L + by_rule.n_R > 0

# %% [markdown]
# ## All tests on all three problems
#
# The functions below do not distinguish triplets and samples. They check on each of the three problems the closed form of the start, the
# path bound, ball test 1 (also for another feasible point), the dome by the functions for samples, every
# ball, and the intersection of two balls. The values come from the library and, a second time, from the terms written out in numpy. The
# last check is the safety of every decision, with a solution that is known to $\varepsilon$: a term in R is wrong if its margin
# at every point within $\varepsilon$ is below 1.


# %%
def every_way(problem, first, cap, offset, lam0, lam1):
    """Return the decisions of each ball, of the dome and of their intersections, by name."""
    x, spheres, rules = first.x, ss.spheres, ss.rules
    rrpb = spheres.relaxed_path_bound(x, first.eps, lam0, lam1)
    mgb = spheres.midpoint_gap_bound(problem, x, lam1)
    return {
        "GB": rules.sphere(problem, spheres.gradient_bound(problem, x, lam1)),
        "PGB": rules.sphere(problem, spheres.projected_gradient_bound(problem, x, lam1)),
        "DGB": rules.sphere(problem, spheres.duality_gap_bound(problem, x, lam1)),
        "MGB": rules.sphere(problem, mgb),
        "RPB, BT1, DVI": rules.sphere(problem, rrpb),
        "dome": rules.halfspace(problem, cap, x, offset),
        "RRPB and dome's ball": rules.intersection(problem, rrpb, cap),
        "RRPB, dome's plane": rules.halfspace(problem, rrpb, x, offset),
    }


# %%
def count_wrong(problem, screened, truth):
    """Return how many decisions contradict a solution that is known to its accuracy."""
    margins, room = problem.terms.margins(truth.x), truth.eps * problem.terms.norms
    below, above = margins + room < 1, margins - room > 1 - problem.loss.gamma
    return int(np.sum(screened.in_R & below) + np.sum(screened.in_L & above))


def one_step(problem, fraction=0.05, step=0.9):
    """Screen one step of a path by all tests, and return their decisions with the solution."""
    lam0 = fraction * problem.lam_max()
    lam1 = step * lam0
    first, truth = (ss.solve(problem, lam, tol=0.0, rtol=1e-12) for lam in (lam0, lam1))
    last = ss.solve(problem, 0.95 * lam1, tol=0.0, rtol=1e-12)
    cap = ss.Sphere(problem.cone.zeros(), np.linalg.norm(last.x) + last.eps)
    offset = np.vdot(first.x, first.x) - 3 * first.eps * cap.radius
    for solution in (first, truth):  # the two facts of the dome
        assert np.linalg.norm(solution.x) <= cap.radius
        assert np.vdot(first.x, solution.x) >= offset
    return every_way(problem, first, cap, offset, lam0, lam1), truth


# %% [markdown]
# The next three functions compare the library with the terms written out:


# %%
def same_problem(problem, A, project, x, lam0):
    """Compare norms, margins, objective, dual value, gap and C_min."""
    gamma, element = loss.gamma, x.reshape(problem.cone.zeros().shape)
    slope = np.clip((1.0 - A @ x) / gamma, 0.0, 1.0)
    primal = slope @ (1.0 - A @ x) - gamma / 2 * slope @ slope + lam0 / 2 * x @ x
    H = project(A.T @ slope)
    dual = slope.sum() - gamma / 2 * slope @ slope - H @ H / (2 * lam0)
    norms = np.linalg.norm(A, axis=1)
    assert np.allclose(problem.terms.norms, norms, rtol=1e-10)
    assert np.allclose(problem.terms.margins(element), A @ x, rtol=1e-9, atol=1e-9)
    assert abs(problem.primal(element, lam0) / primal - 1) < 1e-9
    assert abs(problem.dual(slope, lam0) - dual) < 1e-9 * abs(primal)
    assert abs(problem.gap(element, lam0) / (primal - dual) - 1) < 1e-7
    C_first = (1 - gamma) / np.max(A @ project(A.sum(axis=0)))
    assert abs(C_first * problem.lam_max() - 1) < 1e-9
    assert abs(ss.svm.c_min(problem.terms, loss) / C_first - 1) < 1e-9


# %%
def same_ball_1(problem, A, reference, lam0):
    """Compare ball test 1 of SSS14 with `svm.ball_1`, for two feasible points, and with RPB."""
    C0_, C_ = 1 / lam0, 1 / (0.9 * lam0)
    x = reference.x.ravel()
    xi0 = loss.value(A @ x).sum()
    rpb = ss.spheres.path_bound(reference.x, lam0, 0.9 * lam0)
    for feasible in (x, 0.8 * x):
        xi = loss.value(A @ feasible).sum()
        center, radius = ball_test_1(feasible, xi, x, xi0, C0_, C_)
        ball = ss.svm.ball_1(problem.terms, C_, reference, feasible.reshape(reference.x.shape))
        assert np.linalg.norm(ball.center.ravel() - center) < 1e-4 * radius
        assert abs(ball.radius / radius - 1) < 1e-4
        if feasible is x:
            assert np.linalg.norm(rpb.center.ravel() - center) < 1e-12 * np.linalg.norm(center)
            assert abs(rpb.radius / radius - 1) < 1e-6


# %%
def agree(mask, beyond, close):
    """Return whether a mask is `beyond > 0`, without regard to entries closer to 0 than `close`."""
    return bool(np.all(mask[beyond > close]) and not np.any(mask[beyond < -close]))


def same_dome(problem, A, reference):
    """Compare the dome with the linear rule over a ball around 0."""
    x, gamma = reference.x.ravel(), loss.gamma
    big = 1.1 * np.linalg.norm(x)
    low, high = dome(A, x, big)
    rule = ss.rules.halfspace(problem, ss.Sphere(problem.cone.zeros(), big), reference.x, x @ x)
    assert agree(rule.in_R, low - 1, 1e-6) and agree(rule.in_L, 1 - gamma - high, 1e-6)
    # svm.dome_test moves its plane by the accuracy of the reference
    moved = ss.svm.dome_test(problem.terms, reference, big)
    assert not np.any((moved.in_R & ~rule.in_R) | (moved.in_L & ~rule.in_L))
    assert moved.rate > rule.rate - 0.02


# %% tags=["NEW-ONE"]
results = {}
wrong = decisions = 0
for name, problem in problems.items():
    A, project = plains[name]
    total = project(A.sum(axis=0))
    x = 1e-3 * project(total + 0.3 * np.linalg.norm(total) * rng.standard_normal(len(total)))
    lam0 = 0.2 * problem.lam_max()
    same_problem(problem, A, project, x, lam0)
    reference = ss.solve(problem, lam0, tol=0.0, rtol=1e-12)
    same_ball_1(problem, A, reference, lam0)
    same_dome(problem, A, reference)
    by_test, truth = one_step(problem)
    results[name] = {test: screened.rate for test, screened in by_test.items()}
    for screened in by_test.values():
        wrong += count_wrong(problem, screened, truth)
        decisions += screened.n_L + screened.n_R
width = max(len(name) for name in results["metric"])
print(f"{'share screened':{width}}" + "".join(f"{name:>18}" for name in results))
for key in results["metric"]:
    print(f"{key:{width}}" + "".join(f"{row[key]:18.2f}" for row in results.values()))
print(f"wrong decisions: {wrong} of {decisions / 1000:.0f} thousand")
assert wrong == 0
assert np.ptp([results["support vectors"][key] for key in ("GB", "PGB", "MGB")]) < 0.01
assert results["metric"]["GB"] < results["metric"]["PGB"]

# %% [markdown]
# Without a cone, GB, PGB, MGB and the path balls coincide (last column), because they differ only in how they treat the part of
# $H$ that the cone removes. With a cone GB screens fewer terms than PGB, which is why the triplet papers project. The last two rows combine
# the path ball of the triplets with the ball or the plane of the samples' dome.
#
# ## Picture
#
# The picture shows the share of terms that is screened before the first iteration, along a path with steps of 15 % and references of
# relative gap $10^{-4}$. The same loop treats each problem.

# %% tags=["nbval-ignore-output"]
relative = 0.85 ** np.arange(1, 16)


def shares_along(problem):
    """Return the share screened at each lam, with three balls around the previous solution."""
    share, x = {"DGB": [], "RRPB": [], "MGB": []}, None
    for lam0 in problem.lam_max() * relative:
        solution = ss.solve(problem, lam0, tol=0.0, rtol=1e-4, x0=x, screening=())
        x, lam1 = solution.x, 0.85 * lam0
        balls = {
            "DGB": ss.spheres.duality_gap_bound(problem, x, lam1),
            "RRPB": ss.spheres.relaxed_path_bound(x, solution.eps, lam0, lam1),
            "MGB": ss.spheres.midpoint_gap_bound(problem, x, lam1),
        }
        for key, ball in balls.items():
            share[key].append(ss.rules.sphere(problem, ball).rate)
    return share


# %% tags=["nbval-ignore-output"]
figure, axes = figures.panels(3, width=10.5, height=3.2)
labels = {
    "xlabel": r"$\lambda$ as a fraction of the all-linear one",
    "ylabel": "share of terms screened",
}
means = []
for ax, (name, problem) in zip(axes, problems.items(), strict=True):
    share = shares_along(problem)
    means.append(f"{name}: {figures.listed(share)}")
    figures.lines(share, 0.85 * relative, ax=ax, title=name, path=True, share=True, **labels)
figures.show(
    "Curves show the share of the terms that is screened along a path. Lambda falls to the right, "
    f"and each panel shows one problem. Means: {'. '.join(means)}."
)

# %% [markdown]
# ## As $\lambda \to 0$
#
# STS19 remarks in section 7.2 that for fixed $a, b, c$ the radius $r^2 = a + b/\lambda + c/\lambda^2$ of GB, DGB, RPB
# and RRPB tends to infinity with $1/\lambda$, and that the radius of PGB was observed to do the same. Both remarks are right in any cone, and
# the rate of PGB can be derived as well. For one reference $(x, \alpha)$ from $\lambda_0$ that is kept for all $\lambda$,
# the center $Q_{\text{GB}} = \frac12(x + \frac1\lambda H)$ approaches $\frac{1}{2\lambda}H$, and the limits are
#
# | ball | GB | PGB, MGB | DGB | RPB | RRPB |
# |---|---|---|---|---|---|
# | limit of $\lambda r$ | $\frac12\Vert H\Vert$ | $\frac12\Vert[H]_K\Vert$ | $\Vert[H]_K\Vert$ | $\frac12\lambda_0\Vert x_0\Vert$ | $\lambda_0(\frac12\Vert x_0\Vert + \varepsilon)$ |
#
# (If $[H]_K = 0$ the limits of PGB, MGB and DGB are 0, and their radii grow more slowly or not at all.) The table is about a reference that is *kept*.
# On a path each $\lambda$ takes the solution for the previous $\lambda_0 = \lambda/\rho$. Then RPB has the radius
# $r = \frac{1-\rho}{2\rho}\|x_0\|$ at every $\lambda$, a fixed share of the solution's length, and this length
# stays finite if the total loss has a smallest value at a finite point of the cone. But the radius of RRPB also includes
# $\varepsilon = \sqrt{2g/\lambda_0}$, and with an *absolute* gap $g$ this grows without bound. So
# the share screened along a path need not vanish as $\lambda$ falls, if the absolute gap of the solutions falls with
# $\lambda$.

# %%
families = {
    "GB": ss.spheres.gradient_bound,
    "PGB": ss.spheres.projected_gradient_bound,
    "MGB": ss.spheres.midpoint_gap_bound,
    "DGB": ss.spheres.duality_gap_bound,
}


def limits_of(name, x0, eps, lam0):
    """Return the limit of lam r for each ball, by the table."""
    A, project = plains[name]
    size = np.linalg.norm(x0)
    H = A.T @ np.clip((1.0 - A @ x0.ravel()) / loss.gamma, 0.0, 1.0)
    plus = np.linalg.norm(project(H))
    limits = {"GB": np.linalg.norm(H) / 2, "PGB": plus / 2, "MGB": plus / 2, "DGB": plus}
    return limits | {"RPB": lam0 * size / 2, "RRPB": lam0 * (size / 2 + eps)}


# %%
def kept_reference(name, problem):
    """Print lam times the radius over its limit, as lam falls, for each ball of one reference.

    For the smallest lam the ratio must be 1 within 0.001.
    """
    lam0 = 0.1 * problem.lam_max()
    x0 = 1.02 * ss.solve(problem, lam0, tol=0.0, rtol=1e-11).x  # not quite the solution
    eps = ss.spheres.duality_gap_bound(problem, x0, lam0).radius
    limits = limits_of(name, x0, eps, lam0)
    print(
        f"{name}\n  lam r over its limit, kept reference   "
        + "".join(f"{key:>7}" for key in limits)
    )
    for lam in lam0 * 10.0 ** -np.array([1, 3, 6]):
        radii = {key: bound(problem, x0, lam).radius for key, bound in families.items()}
        radii["RPB"] = ss.spheres.path_bound(x0, lam0, lam).radius
        radii["RRPB"] = ss.spheres.relaxed_path_bound(x0, eps, lam0, lam).radius
        print(
            f"  lam = {lam / lam0:.0e} lam0                      "
            + "".join(f"{lam * radii[key] / limits[key]:7.3f}" for key in limits)
        )
    assert all(abs(lam * radii[key] / limits[key] - 1) < 1e-3 for key in limits)


# %%
def along_a_path(problem, powers, rho):
    """Return for each lam a relative radius, and the shares screened with three balls.

    The radius is the radius of MGB over the norm of its reference, the solution for lam / rho. The
    balls are MGB of one kept reference, MGB of the solution for lam / rho, and RRPB of the same
    solution as if its gap were a fixed number.
    """
    kept = ss.solve(problem, 0.1 * problem.lam_max(), tol=0.0, rtol=1e-12)
    gap = 1e-3 * kept.primal
    x, rows = None, []
    for lam in problem.lam_max() * 10.0**-powers:
        x = ss.solve(problem, lam / rho, tol=0.0, rtol=1e-11, x0=x, screening=("MGB",)).x
        far = ss.spheres.midpoint_gap_bound(problem, kept.x, lam)
        near = ss.spheres.midpoint_gap_bound(problem, x, lam)
        rough = ss.spheres.relaxed_path_bound(x, np.sqrt(2 * gap * rho / lam), lam / rho, lam)
        rates = [ss.rules.sphere(problem, ball).rate for ball in (far, near, rough)]
        rows.append([near.radius / np.linalg.norm(x), *rates])
    return np.array(rows).T


# %% tags=["STS19-D7.2"]
powers, rho = np.arange(1, 6), 0.9
for name, problem in problems.items():
    kept_reference(name, problem)
    rows = along_a_path(problem, powers, rho)
    words = (
        "radius over |x0|, reference of lam/0.9",
        "share screened, kept reference",
        "  reference of lam/0.9",
        "  reference of lam/0.9, absolute gap",
    )
    print(
        "  lam over the all-linear one            " + "".join(f"{10.0**-k:>7.0e}" for k in powers)
    )
    for what, row in zip(words, rows, strict=True):
        print(f"  {what:39}" + "".join(f"{value:7.2f}" for value in row))
    assert np.all(np.abs(rows[0] / ((1 - rho) / (2 * rho)) - 1) < 0.02)
    assert np.all(rows[1, 2:] < 0.01) and np.all(rows[2] > 0.4) and rows[3, -1] < 0.1 < rows[3, 0]

# %% [markdown]
# ## Break it: what does not carry over
#
# ### Kernels
#
# $w^\star = C\sum_i \alpha_i z_i$ lies in the span of the samples, so all formulas can be written with $Q$. With
# a cone $x^\star = \frac1\lambda[\sum_t \alpha_t a_t]_K$, and the projection leaves the span. The next cell prints the distance of
# the solution from the span of the terms, relative to the norm of the solution, for few points in a higher dimension:

# %%
rng = np.random.default_rng(1)
X6, labels6 = rng.standard_normal((6, 8)), np.array([0, 0, 0, 1, 1, 1])
few = {
    "metric": ss.Problem(ss.Triplets.from_labels(X6, labels6, k=1), loss),
    "support vectors": ss.Problem(ss.Samples(X6, 2 * labels6 - 1), loss),
}
spans = {"metric": plain(few["metric"], X6)[0], "support vectors": X6}
for name, problem in few.items():
    x = ss.solve(problem, 0.5 * problem.lam_max(), tol=0.0, rtol=1e-12).x.ravel()
    coefficients = np.linalg.lstsq(spans[name].T, x, rcond=None)[0]
    outside = np.linalg.norm(x - spans[name].T @ coefficients) / np.linalg.norm(x)
    print(f"{name:16} outside the span of its terms: {outside:.2f}")
    assert (outside > 0.1) == (name == "metric")

# %% [markdown]
# ### The dome has an order
#
# The dome needs $C_a < C < C_b$. With the roles exchanged (the plane of the larger $C$, the ball of the smaller $C$) both inequalities
# turn around, and the dome does not contain the solution.

# %%
def along(x, normal):
    """Return <normal, x> / |normal|^2, which is at least 1 behind the plane of the dome."""
    return np.vdot(normal, x) / np.vdot(normal, normal)


for name, problem in problems.items():
    lam = 0.2 * problem.lam_max()
    small_C, here, large_C = (
        ss.solve(problem, f * lam, tol=0.0, rtol=1e-12).x for f in (1.2, 1.0, 0.8)
    )
    norm, norm_large, norm_small = (np.linalg.norm(x) for x in (here, large_C, small_C))
    plane, plane_exchanged = along(here, small_C), along(here, large_C)
    print(
        f"{name:16} norm {norm:.4f} <= {norm_large:.4f}, exchanged {norm_small:.4f};  plane "
        f"{plane:.3f} >= 1, exchanged {plane_exchanged:.3f}"
    )
    assert norm <= norm_large and plane >= 1
    assert norm > norm_small and plane_exchanged < 1

# %% [markdown]
# ## Exercise
#
# SSS14 does not have DGB. Write DGB in the letters of SSS14, from $P$ and $D$ with $C = 1/\lambda$ and $a = C\alpha$, and
# compare it with the library.
#
# <details>
# <summary><b>Solution</b></summary>
#
# $\lambda^{-1}(P - D) = \frac12\|w\|^2 + C\xi(w) - \mathbf 1^\top a + \frac12 a^\top Q a$, so the ball is
# $\|w^\star - w\|^2 \le \|w\|^2 + 2C\,\xi(w) - 2\,\mathbf 1^\top a + a^\top Q a$, for any $w$ and any
# $0 \le a \le C$.
#
# </details>

# %%
Q = Z @ Z.T
w_ = 0.8 * w0_
alpha_ = (Z @ w_ < 1).astype(float)
a_ = C_ * alpha_
square = w_ @ w_ + 2 * C_ * np.maximum(1 - Z @ w_, 0).sum() - 2 * a_.sum() + a_ @ Q @ a_
dgb = ss.spheres.duality_gap_bound(hinge, w_, 1 / C_, alpha_)
print(f"radius in the letters of SSS14: {np.sqrt(square):.4f}   library: {dgb.radius:.4f}")
assert abs(np.sqrt(square) / dgb.radius - 1.0) < 1e-8

# %% [markdown]
# ## Fine print
#
# * **Equation 34 of SSS14** has $C - C_0$ where DVI above has $|C - C_0|$. Section IV assumes $C_0 < C$, and then
#   both expressions are the same.
# * **Theorem 11 of SSS14** is the dome above with $\gamma = \frac12\|w\|^2$. The paper prints $\gamma = \|w\|^2$, and
#   [`36c-dome-test-as-printed`](36c-dome-test-as-printed.ipynb) derives which factors of the theorem need which $\gamma$.
# * **Figures 1, 3 and 4 of STS19** draw ideas that notebooks compute. Figure 1 shows the triplets on the
#   two straight pieces of the loss, as the first picture of [`00-start-here`](00-start-here.ipynb) does. Figure 3 shows the sphere rule,
#   as [`16-sphere-rule`](16-sphere-rule.ipynb) does. Figure 4 shows a half-space that contains the cone; [`18-linear-rule`](18-linear-rule.ipynb) computes its normal.
# * **Losses.** SSS uses the hinge, STS the smoothed hinge. All statements of this notebook are true for both losses. The regions $L$
#   and $R$ of the hinge ($\gamma = 0$) meet at margin 1.
# * **No intercept.** The machine has no intercept. A constant column (SSS14, footnote 1) gives a penalized intercept.
# * **More cases of the same problem**: quadruplets and pairs (other $a_t$, other thresholds), LMNN (a linear
#   term $c$), reduced problems (a linear term again).
# * **Dome in practice.** The dome needs a solution for a larger $C$, which a path has not computed yet. The code above widens the offset and
#   the radius by the accuracy of the two solutions, since no computed solution is exact.
# * **Monotonicity** of $\|x^\star\|$ and $F(x^\star)$ in $C$: add the two optimality inequalities of two values
#   of $\lambda$; the proof does not use the cone.
#
# ## References
#
# * STS19: Yoshida, Takeuchi, Karasuyama, Neural Computation 31, 2019: Theorems 5 and 9, sections 2 and 6.2,
#   appendix G.
# * SSS14: Ogawa, Suzuki, Suzumura, Takeuchi, *Safe Sample Screening for Support Vector Machines*, 2014:
#   Theorems 6 and 11, Lemma 9, equation 34, appendices B and C.
# * SSS13: Ogawa, Suzuki, Takeuchi, *Safe Screening of Non-Support Vectors in Pathwise SVM Computation*, ICML
#   2013.
# * Wang, Wonka, Ye, *Scaling SVM and Least Absolute Deviations via Exact Data Reduction*, ICML 2014.
