# %% [markdown]
# # One problem, three cones
#
# Safe triplet screening learns a metric. Safe sample screening trains a support vector machine. The papers
# share authors and not one formula: other letters, another constant in front, other names. This notebook shows
# that they are one problem, and that several results of one line *are* results of the other.
#
# At the end you will have seen that
#
# * metric, diagonal metric and support vectors differ in the cone, in nothing else, and the same code runs on
#   all three;
# * the path bound RPB of the triplets, ball test 1 of the samples (in the case of a path) and the DVI test of
#   Wang et al. are one ball;
# * the dome test of the samples is the linear rule of the triplets, and holds in any cone;
# * the trivial start of the samples' path, $C_{\min}$, is where the last triplet becomes linear;
# * and what does *not* carry over: kernels.

# %%
import matplotlib.pyplot as plt
import numpy as np
import sympy as sp

import safescreen as ss
from safescreen_book import datasets, figures

# %% [markdown]
# ## The claim
#
# > **One problem.** All of them are $\min_{x \in K} \sum_t \ell(\langle a_t, x\rangle) - \langle c, x\rangle + \frac\lambda2\|x\|^2$:
#
# | | metric (STS) | diagonal metric (STS19, 6.2) | support vectors (SSS) |
# |---|---|---|---|
# | unknown $x$ | matrix $M$ | weights $m$ | normal $w$ |
# | space, $\langle\cdot,\cdot\rangle$ | symmetric, Frobenius | $\mathbb R^d$ | $\mathbb R^d$, or that of a kernel |
# | cone $K$ | $M \succeq 0$ | $m \ge 0$ | everything |
# | $[H]_K$ | drop negative eigenvalues | drop negative entries | $H$ |
# | term $a_t$ | $uu^\top - vv^\top$ | $u \circ u - v \circ v$ | $z_i = y_i x_i$ |
# | constant | $\lambda$ | $\lambda$ | $C = 1/\lambda$ |
# | dual variable | $\alpha_t \in [0, 1]$ | $\alpha_t$ | $C\alpha_i \in [0, C]$ |
# | screened | $L$, $R$ | $L$, $R$ | $\mathcal L$, $\mathcal R$ |
#
# with $u = x_i - x_l$, $v = x_i - x_j$. SSS minimizes $\frac12\|w\|^2 + C\,\xi$,
# $\xi = \sum_i \ell(z_i^\top w)$: $C$ times ours. A ball that contains $x^\star$ knows nothing of such
# constants.
#
# Three problems of real data to carry along: random triplets of wine, with four columns of noise added, so that
# there is something for the cones to forbid; and the two classes of breast cancer.

# %%

def random_triplets(y, n, rng):
    """Anchors, a point of the class of each, a point of another class; drawn at random: roughly n triplets."""
    i = rng.integers(0, len(y), 4 * n)
    j, other = rng.integers(0, len(y), (2, 4 * n))
    good = (i != j) & (y[i] == y[j]) & (y[i] != y[other])
    return np.unique(np.stack([i, j, other], axis=1)[good], axis=0)


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
for name, problem in problems.items():
    print(f"{name:16} {len(problem):5d} terms, {problem.cone}")

# %% [markdown]
# ## Only the cone differs
#
# Take the diagonal triplets and hand their vectors $a_t$ to the support vector machine as if they were samples.
# At any $m \ge 0$ the two objectives agree to rounding. The solutions agree exactly if the machine's own
# solution happens to be non-negative; else the cone makes the difference.

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
    constrained, free = ss.solve(diagonal, lam, tol=1e-10).x, ss.solve(machine, lam, tol=1e-10).x
    same = np.linalg.norm(constrained - free) < 1e-4
    assert same == bool(free.min() >= 0.0)
    same_at.append(same)
    print(f"lam {lam:5.0f}: machine {np.round(free, 4)}  non-negative: {free.min() >= 0.0};  same solution: {same}")
assert set(same_at) == {True, False}

# %% [markdown]
# ## Where the path begins: $C_{\min}$ is the all-linear $\lambda$ (SSS14 Lemma 9)
#
# For large $\lambda$ the solution is short, all margins are small, all terms on the linear piece: $\alpha = 1$,
# and then $x^\star = \frac1\lambda [c + \sum_t a_t]_K$. It stays so while every margin is at most $1 - \gamma$,
# that is for
#
# $$\lambda \ge \lambda_{\text{all-linear}} = \max_t \frac{\langle a_t, [c + \sum_s a_s]_K\rangle}{1 - \gamma} .$$
#
# Without a cone, and with the hinge, $\langle z_i, \sum_s z_s\rangle = (Q\mathbf 1)_i$ for
# $Q_{is} = z_i^\top z_s$: this is $1/C_{\min}$ with SSS14's $C_{\min} = 1/\max_i (Q\mathbf 1)_i$. It is
# `problem.lam_max()` here. (STS19's $\lambda_{\max}$ is another number: where the first triplet reaches $R$,
# margin 1 instead of $1 - \gamma$.)

# %%
hinge = ss.Problem(ss.Samples(cells, diagnosis), ss.Hinge())
Z = diagnosis[:, None] * cells
C_min = 1.0 / (Z @ Z.T).sum(axis=1).max()
print("C_min times lam_max():", round(C_min * hinge.lam_max(), 9))
assert abs(C_min * hinge.lam_max() - 1.0) < 1e-9

for name, problem in problems.items():
    edge = problem.lam_max()
    above, below = (ss.solve(problem, f * edge, tol=0.0, rtol=1e-12) for f in (1.001, 0.98))
    closed_form = problem.all_linear() / (1.001 * edge)
    assert np.all(problem.alpha(closed_form) == 1.0) and problem.alpha(below.x).min() < 1.0
    error = np.linalg.norm(above.x - closed_form) / np.linalg.norm(closed_form)
    assert error < 1e-4
    print(f"{name:16} above: all linear, the closed form is the solution: {error < 1e-4};  below: some are not")

# %% [markdown]
# ## RPB = ball test 1 = DVI
#
# ### Ball test 1 (SSS14 Theorem 6)
#
# It is made of a feasible $\tilde w$ with loss $\tilde\xi$ and the solution $w_0^\star$, $\xi_0^\star$ for
# $C_0$: center $m = \frac12(\tilde w + \frac{C}{C_0} w_0^\star)$ and
# $r^2 = \|m\|^2 - \frac{C}{C_0}\|w_0^\star\|^2 + C(\tilde\xi - \xi_0^\star)$. On a path $\tilde w = w_0^\star$
# is what one has. Then the losses cancel, and with $C = 1/\lambda_1$, $C_0 = 1/\lambda_0$:

# %%
C, C0, l0, l1 = sp.symbols("C C0 lambda0 lambda1", positive=True)
w1, w2 = sp.symbols("w1 w2", real=True)
w0 = sp.Matrix([w1, w2])
m = (w0 + C / C0 * w0) / 2
r_squared = m.dot(m) - C / C0 * w0.dot(w0)
in_lambda = {C: 1 / l1, C0: 1 / l0}
rpb_center, rpb_squared = (l0 + l1) / (2 * l1) * w0, ((l0 - l1) / (2 * l1)) ** 2 * w0.dot(w0)
assert sp.simplify(m.subs(in_lambda) - rpb_center) == sp.zeros(2, 1)
assert sp.simplify(r_squared.subs(in_lambda) - rpb_squared) == 0
print("ball test 1 with w~ = w0* minus RPB: center", list(sp.simplify(m.subs(in_lambda) - rpb_center)), " squared radius", end=" ")
print(sp.simplify(r_squared.subs(in_lambda) - rpb_squared))

# %% [markdown]
# ### The DVI test (Wang, Wonka, Ye 2014; SSS14 equation 34)
#
# DVI stands for "dual variational inequality". Two dual solutions, each optimal for its own $C$ and feasible
# for the other, two inequalities, added:
#
# $$\langle C_0 Z^\top\theta_0 - C Z^\top\theta,\; Z^\top(\theta - \theta_0)\rangle \ge 0 \qquad (\theta = \alpha) .$$
#
# This is a ball for $Z^\top\theta$, and $w = C Z^\top\theta$. It is word for word the proof of RPB in appendix
# G of STS19 (`14-path-bounds`), which adds the multiplier of the cone. In terms of the kernel matrix $Q$ and
# the dual solution $a = C_0\theta_0$ alone, the lower bound of a margin is
#
# $$\ell_i = \tfrac{C + C_0}{2 C_0} (Q a)_i - \tfrac{|C - C_0|}{2 C_0} \sqrt{a^\top Q a\;\, Q_{ii}} .$$
#
# SSS14 prints $C - C_0$ without the modulus: right on its path, where $C$ grows, and too optimistic the other
# way round.
#
# ## Ten lines of numpy


# %%
def ball_test_1(w_tilde, xi_tilde, w0, xi0, C0, C):
    """SSS14 Theorem 6, in its own letters."""
    m = (w_tilde + C / C0 * w0) / 2
    return m, np.sqrt(max(m @ m - C / C0 * w0 @ w0 + C * (xi_tilde - xi0), 0.0))


def dvi(Q, a, C0, C):
    """Bounds of the margins by SSS14 equation 34, from the kernel matrix and the dual solution (0 <= a <= C0)."""
    middle = (C + C0) / (2 * C0) * (Q @ a)
    reach = abs(C - C0) / (2 * C0) * np.sqrt(a @ Q @ a * np.diag(Q))
    return middle - reach, middle + reach


C0_, C_ = 3.0 * C_min, 4.0 * C_min
at0 = ss.solve(hinge, 1 / C0_, tol=0.0, rtol=1e-11)
w0_, xi0_ = at0.x, np.maximum(1 - Z @ at0.x, 0.0).sum()
center, radius = ball_test_1(w0_, xi0_, w0_, xi0_, C0_, C_)
low, high = dvi(Z @ Z.T, C0_ * at0.alpha, C0_, C_)
print("ball test 1: radius", round(float(radius), 4), "   DVI: samples with lower bound above 1:", int(np.sum(low > 1)))

# %% [markdown]
# ## The library

# %%
rpb = ss.spheres.path_bound(w0_, 1 / C0_, 1 / C_)
found = ss.rules.sphere(hinge, rpb)
print("RPB        : radius", round(rpb.radius, 4), "   sphere rule: samples in R:", found.n_R)

# %% [markdown]
# ## Does it match?
#
# Ball test 1 and RPB are the same ball. The DVI bounds are the extreme margins over it, as exactly as the dual
# solution reproduces the primal one.

# %%
assert np.linalg.norm(rpb.center - center) < 1e-12 and abs(rpb.radius / radius - 1.0) < 1e-9
q, n = Z @ rpb.center, np.linalg.norm(Z, axis=1)
assert np.max(np.abs(low - (q - rpb.radius * n))) < 1e-2 and np.max(np.abs(high - (q + rpb.radius * n))) < 1e-2
decided = np.abs(low - 1) > 1e-2
assert np.array_equal((low > 1)[decided], found.in_R[decided])
print("ball test 1 is RPB; DVI bounds the margins by the same numbers and decides the same")

# %% [markdown]
# ## The dome test is the linear rule
#
# SSS13 screens with two solutions, for $C_a < C_b$, every $C$ between them. Two facts, both true in any cone:
#
# * *A ball around 0.* $\|x^\star\|$ does not fall as $C$ grows, so $\|x^\star\| \le \|x_b^\star\|$.
# * *A half-space.* The loss $F = \sum_t \ell_t - \langle c, \cdot\rangle$ does not grow with $C$,
#   $F(x^\star) \le F(x_a^\star)$, and the optimality of $x_a^\star$ says
#   $\lambda_a\langle x_a^\star, x - x_a^\star\rangle \ge F(x_a^\star) - F(x)$ for feasible $x$. So
#   $\langle x_a^\star, x^\star\rangle \ge \|x_a^\star\|^2$.
#
# A ball cut by a plane: the "dome". STS19's linear rule (Theorem 9) is the extreme value of a linear function
# over a ball cut by a plane, and `rules.halfspace` does it for any center and offset. SSS14's Theorem 11 is its
# case $Q = 0$, $P = w_a$, $b = \|w_a\|^2$. With $\gamma = \frac12\|w\|^2$, as SSS13 has it:


# %%
def dome(Z, w_a, norm_b):
    """Bounds of the margins over {|w| <= norm_b, <w_a, w> >= |w_a|^2}; SSS14 Theorem 11 with gamma = |w|^2/2."""
    s, n, g_a, g_b = Z @ w_a, np.linalg.norm(Z, axis=1), w_a @ w_a / 2, norm_b**2 / 2
    root = np.sqrt(np.maximum((g_b - g_a) / g_a * (2 * g_a * n**2 - s**2), 0.0))
    limit = np.sqrt(2) * g_a / np.sqrt(g_b) * n
    return np.where(-s >= limit, -np.sqrt(2 * g_b) * n, s - root), np.where(s >= limit, np.sqrt(2 * g_b) * n, s + root)


at_a, at_b = (ss.solve(hinge, 1 / C, tol=0.0, rtol=1e-10).x for C in (3 * C_min, 4 * C_min))
dome_low, dome_high = dome(Z, at_a, np.linalg.norm(at_b))
cap = ss.Sphere(np.zeros_like(at_a), np.linalg.norm(at_b))
by_rule = ss.rules.halfspace(hinge, cap, at_a, at_a @ at_a)
clear = (np.abs(dome_low - 1) > 1e-6) & (np.abs(dome_high - 1) > 1e-6)
assert np.array_equal((dome_low > 1)[clear], by_rule.in_R[clear]) and np.array_equal((dome_high < 1)[clear], by_rule.in_L[clear])
print(f"dome test: {np.sum(dome_low > 1)} in R, {np.sum(dome_high < 1)} in L;  linear rule: {by_rule.n_R} in R, {by_rule.n_L} in L")
assert by_rule.n_L + by_rule.n_R > 0

# %% [markdown]
# SSS14 prints the theorem with $\gamma = \|w\|^2$. Half of its formulas want that (the root), the other half
# want $\gamma = \frac12\|w\|^2$ (the factors $\sqrt2$ beside it). Taken at its word the upper bound is *below*
# margins that the dome contains:

# %%
wa, norm_b, z_ = np.array([1.0, 0.0]), 1.25, np.array([[1.0, 0.15]])
angle = np.linspace(-np.arccos(0.8), np.arccos(0.8), 2001)
points = norm_b * np.stack([np.cos(angle), np.sin(angle)])
assert np.all(wa @ points >= wa @ wa - 1e-12)
true_high = (z_ @ points).max()
s_, n_ = (z_ @ wa)[0], np.linalg.norm(z_)
g_a, g_b = 1.0, norm_b**2
printed = np.sqrt(2 * g_b) * n_ if s_ / n_ >= np.sqrt(2) * g_a / np.sqrt(g_b) else s_ + np.sqrt((g_b - g_a) / g_a * (g_a * n_**2 - s_**2))
ours = dome(z_, wa, norm_b)[1][0]
print(f"largest margin in the dome {true_high:.4f};  printed bound {printed:.4f};  with gamma = |w|^2/2: {ours:.4f}")
assert printed < true_high - 0.05 and abs(ours - true_high) < 1e-5

# %% [markdown]
# ## All of it, on all three
#
# Now one function, without a word about triplets or samples, applied to the three problems: the closed form of
# the start; the path bound; every ball; the dome; the intersection of two balls; the safety of every decision
# against a solution of relative gap $10^{-12}$. A decision is checked where the true margin is more than
# $10^{-5}$ away from the threshold.


# %%
def tour(problem, fraction=0.05, step=0.9):
    """Screen one step of a path in every way there is; return the share screened by each, and the number of wrong decisions."""
    lam0 = fraction * problem.lam_max()
    lam1 = step * lam0
    first, truth = (ss.solve(problem, lam, tol=0.0, rtol=1e-12) for lam in (lam0, lam1))
    last = ss.solve(problem, 0.95 * lam1, tol=0.0, rtol=1e-12)
    x, spheres, rules = first.x, ss.spheres, ss.rules
    rrpb, mgb = spheres.relaxed_path_bound(x, first.eps, lam0, lam1), spheres.midpoint_gap_bound(problem, x, lam1)
    cap = ss.Sphere(problem.cone.zeros(), np.linalg.norm(last.x) + last.eps)
    offset = np.vdot(x, x) - 3 * first.eps * cap.radius
    found = {
        "GB": rules.sphere(problem, spheres.gradient_bound(problem, x, lam1)),
        "PGB": rules.sphere(problem, spheres.projected_gradient_bound(problem, x, lam1)),
        "DGB": rules.sphere(problem, spheres.duality_gap_bound(problem, x, lam1)),
        "MGB": rules.sphere(problem, mgb),
        "RPB, BT1, DVI": rules.sphere(problem, rrpb),
        "dome": rules.halfspace(problem, cap, x, offset),
        "RRPB and dome's ball": rules.intersection(problem, rrpb, cap),
        "RRPB, dome's plane": rules.halfspace(problem, rrpb, x, offset),
    }
    margin = problem.terms.margins(truth.x)
    wrong = sum(np.sum(f.in_R & (margin < 1 - 1e-5)) + np.sum(f.in_L & (margin > 1 - problem.loss.gamma + 1e-5)) for f in found.values())
    for at in (first, truth):  # the two facts of the dome
        assert np.linalg.norm(at.x) <= cap.radius and np.vdot(x, at.x) >= offset
    return {name: f.rate for name, f in found.items()}, int(wrong)


# %% tags=["NEW-ONE"]
results = {}
for name, problem in problems.items():
    results[name], wrong = tour(problem)
    assert wrong == 0
    # RPB is ball test 1 in every cone: the same formula, losses of the same point cancelling
    lam0, lam1 = 0.2 * problem.lam_max(), 0.18 * problem.lam_max()
    x = ss.solve(problem, lam0, tol=0.0, rtol=1e-12).x
    center, radius = ball_test_1(x.ravel(), 1.0, x.ravel(), 1.0, 1 / lam0, 1 / lam1)
    rpb = ss.spheres.path_bound(x, lam0, lam1)
    assert np.linalg.norm(rpb.center.ravel() - center) < 1e-12 * np.linalg.norm(center) and abs(rpb.radius / radius - 1) < 1e-9
    # C_min: all terms linear from lam_max() on, not before
    start = problem.all_linear() / problem.lam_max()
    assert problem.terms.margins(start).max() <= 1 - loss.gamma + 1e-9 < problem.terms.margins(start / 0.99).max()
    # the dome is the linear rule with center 0
    A_norm, s = problem.terms.norms, problem.terms.margins(x)
    big = 1.1 * np.linalg.norm(x)
    root = np.sqrt(np.maximum((big**2 - np.vdot(x, x)) * (A_norm**2 - s**2 / np.vdot(x, x)), 0.0))
    low = np.where(-s * big >= np.vdot(x, x) * A_norm, -big * A_norm, s - root)
    rule = ss.rules.halfspace(problem, ss.Sphere(problem.cone.zeros(), big), x, np.vdot(x, x))
    clear = np.abs(low - 1) > 1e-6
    assert np.array_equal((low > 1)[clear], rule.in_R[clear])
width = max(len(name) for name in results["metric"])
print(f"{'share screened':{width}}" + "".join(f"{name:>18}" for name in results))
for key in results["metric"]:
    print(f"{key:{width}}" + "".join(f"{row[key]:18.2f}" for row in results.values()))
print("wrong decisions: 0")
assert len(set(np.round([results["support vectors"][key] for key in ("GB", "PGB", "MGB")], 2))) == 1
assert results["metric"]["GB"] < results["metric"]["PGB"]

# %% [markdown]
# Without a cone, GB, PGB, MGB and the path balls coincide (last column): they differ only in how they treat the
# part of $H$ that the cone removes. With a cone GB falls behind, which is why the triplet papers project. The
# last rows are made from both lines of papers: the ball of the triplets' path with the ball or the plane of the
# samples' dome.
#
# ## Picture
#
# The share of terms that is screened before the first iteration, along a path with steps of 15 %, references of
# relative gap $10^{-4}$: the same loop for each problem.

# %%
figure, axes = figures.panels(3, width=10.5, height=3.2)
for ax, (name, problem) in zip(axes, problems.items(), strict=True):
    relative, x = 0.85 ** np.arange(1, 16), None
    share = {"DGB": [], "RRPB": [], "MGB": []}
    for lam0 in problem.lam_max() * relative:
        at = ss.solve(problem, lam0, tol=0.0, rtol=1e-4, x0=x, screening=())
        x, lam1 = at.x, 0.85 * lam0
        share["DGB"].append(ss.rules.sphere(problem, ss.spheres.duality_gap_bound(problem, x, lam1)).rate)
        share["RRPB"].append(ss.rules.sphere(problem, ss.spheres.relaxed_path_bound(x, at.eps, lam0, lam1)).rate)
        share["MGB"].append(ss.rules.sphere(problem, ss.spheres.midpoint_gap_bound(problem, x, lam1)).rate)
    labels = {"xlabel": r"$\lambda$ as a fraction of the all-linear one", "ylabel": "share of terms screened"}
    figures.lines(share, 0.85 * relative, ax=ax, title=name, path=True, share=True, **labels)
plt.show()

# %% [markdown]
# ## Break it: what does not carry over
#
# ### Kernels
#
# $w^\star = C\sum_i \alpha_i z_i$ lies in the span of the samples, so everything can be written with $Q$. With
# a cone $x^\star = \frac1\lambda[\sum_t \alpha_t a_t]_K$, and the projection leaves the span. The distance of
# the solution from the span of the terms, relative to its norm, for few points in a higher dimension:

# %%
rng = np.random.default_rng(1)
X6, labels6 = rng.standard_normal((6, 8)), np.array([0, 0, 0, 1, 1, 1])
few = {
    "metric": ss.Problem(ss.Triplets.from_labels(X6, labels6, k=1), loss),
    "support vectors": ss.Problem(ss.Samples(X6, 2 * labels6 - 1), loss),
}
i, j, other = few["metric"].terms.index.T
spans = {
    "metric": np.array([np.outer(p, p) - np.outer(q, q) for p, q in zip(X6[i] - X6[other], X6[i] - X6[j], strict=True)]).reshape(-1, 64),
    "support vectors": X6,
}
for name, problem in few.items():
    x = ss.solve(problem, 0.5 * problem.lam_max(), tol=0.0, rtol=1e-12).x.ravel()
    coefficients = np.linalg.lstsq(spans[name].T, x, rcond=None)[0]
    outside = np.linalg.norm(x - spans[name].T @ coefficients) / np.linalg.norm(x)
    print(f"{name:16} outside the span of its terms: {outside:.2f}")
    assert (outside > 0.1) == (name == "metric")

# %% [markdown]
# ### The dome has an order
#
# $C_a < C < C_b$. With the roles exchanged (the plane of the larger $C$, the ball of the smaller) both facts
# turn around, and the solution is lost.

# %%
for name, problem in problems.items():
    lam = 0.2 * problem.lam_max()
    small_C, here, large_C = (ss.solve(problem, f * lam, tol=0.0, rtol=1e-12).x for f in (1.2, 1.0, 0.8))
    right = np.linalg.norm(here) <= np.linalg.norm(large_C) and np.vdot(small_C, here) >= np.vdot(small_C, small_C)
    swapped = np.linalg.norm(here) <= np.linalg.norm(small_C) or np.vdot(large_C, here) >= np.vdot(large_C, large_C)
    print(f"{name:16} solution in the dome: {right};  in either part of the exchanged one: {swapped}")
    assert right and not swapped

# %% [markdown]
# ### The modulus in DVI
#
# Equation 34 as printed, with $C - C_0 < 0$: the "lower" bound lies above the "upper" one, and above the true
# margins.

# %%
at_large = ss.solve(hinge, 1 / C_, tol=0.0, rtol=1e-9)
Q = Z @ Z.T
a_ = C_ * at_large.alpha
printed = (C0_ + C_) / (2 * C_) * (Q @ a_) - (C0_ - C_) / (2 * C_) * np.sqrt(a_ @ Q @ a_ * np.diag(Q))
above = np.mean(printed > Z @ at0.x)
print("going back from C to C0, share of samples whose printed lower bound is above the margin:", round(float(above), 2))
assert above > 0.9 and np.all(dvi(Q, a_, C_, C0_)[0] <= Z @ at0.x + 1e-2)

# %% [markdown]
# ## Exercise
#
# SSS14 does not have DGB. Write it in its letters, from $P$ and $D$ with $C = 1/\lambda$ and $a = C\alpha$, and
# check it against the library.
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
w_ = 0.8 * w0_
alpha_ = (Z @ w_ < 1).astype(float)
a_ = C_ * alpha_
square = w_ @ w_ + 2 * C_ * np.maximum(1 - Z @ w_, 0).sum() - 2 * a_.sum() + a_ @ Q @ a_
dgb = ss.spheres.duality_gap_bound(hinge, w_, 1 / C_, alpha_)
print("radius in the letters of SSS14:", round(float(np.sqrt(square)), 4), "  library:", round(dgb.radius, 4))
assert abs(np.sqrt(square) / dgb.radius - 1.0) < 1e-8

# %% [markdown]
# ## Fine print
#
# * **Losses.** SSS uses the hinge, STS the smoothed hinge; all statements here are for either. The hinge's $L$
#   and $R$ meet at margin 1 ($\gamma = 0$).
# * **No intercept.** The samples have none (SSS14, footnote 1: a constant column, which is then penalized).
# * **More cases of the same problem**: quadruplets and pairs (other $a_t$, other thresholds), LMNN (a linear
#   term $c$), reduced problems (a linear term again).
# * **Dome in practice.** It needs a solution for a larger $C$, which a path has not reached yet; the offset and
#   the radius above are widened by the accuracy of the solutions used, since exact ones do not exist.
# * **Monotonicity** of $\|x^\star\|$ and $F(x^\star)$ in $C$: add the two optimality inequalities of two values
#   of $\lambda$; no cone is mentioned.
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
