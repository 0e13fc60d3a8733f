# %% [markdown]
# # Certain to lie in between
#
# A ball can prove that the margin of a term is above the upper threshold (the term is in R), or below the lower threshold (the term is in L). A ball can also prove that the margin lies *between* the two thresholds, where the loss is a parabola. We then say that the term is in C. Such a term cannot be screened, but the formula of its loss at the solution is known. Once a ball has decided for each term whether it is in L, in C or in R, the solution over the whole space is the solution of one linear system.
#
# At the end you will have seen
#
# * two comparisons that put a term in C, with every ball and every rule of the library;
# * that small balls decide every term that is not exactly at a threshold;
# * the solution by one linear system over the whole space and over the non-negative cone, and by a few Newton steps over matrices; the method is derived and compared with the solver;
# * how the method fails if one term or one sign is guessed, and why no ball proves the face of the semidefinite cone;
# * a ball for the slopes, which needs a different radius for each weight;
# * whether a solver becomes faster.

# %%
import time
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np

import safescreen as ss
from safescreen_book import datasets, figures

# %% [markdown]
# ## The story in a picture
#
# The figure shows five samples in the plane. Each sample has two parallel lines: its margin is 1 on the solid line, and $1-\gamma$ on the dashed line. The lines cut the plane into cells, and in each cell the objective is one quadratic function. A smaller ball around the solution crosses fewer lines. If the ball crosses no line, it lies in the cell of the solution, and the solution is the minimum of the quadratic function of this cell.

# %%
X_plane = np.array([[1.6, 0.4], [0.5, 1.5], [-0.9, 1.1], [0.3, 0.5], [-0.2, 0.9]])
y_plane = np.array([1, 1, -1, -1, 1])
plane = ss.Problem(ss.Samples(X_plane, y_plane), ss.SmoothedHinge(0.8))
lam_plane = 0.36
thresholds = (0.2, 1.0)
star = ss.solve(plane, lam_plane, rtol=1e-12).x
U, V = np.meshgrid(np.linspace(-0.2, 1.8, 400), np.linspace(-0.6, 1.4, 400))
margins = (np.stack([U, V], axis=-1) @ X_plane.T) * y_plane
pieces = np.digitize(margins, thresholds)
own_pieces = np.digitize(plane.terms.margins(star), thresholds)
own_cell = (pieces == own_pieces).all(axis=-1)


def crossed_lines(ball):
    """Return how many of the lines the ball crosses."""
    at_center = plane.terms.margins(ball.center)[:, None]
    return (abs(at_center - thresholds) < ball.radius * plane.terms.norms[:, None]).sum()


# %%
fig, axes = plt.subplots(1, 3, figsize=(11, 3.9), sharex=True, sharey=True)
n_crossed = []
lines = {"linestyles": ["--", "-"], "linewidths": 1}
for ax, away in zip(axes, (0.3, 0.1, 0.02), strict=True):
    ball = ss.spheres.midpoint_gap_bound(plane, star + away * np.array([0.6, 0.8]), lam_plane)
    n_crossed.append(crossed_lines(ball))
    ax.contourf(U, V, own_cell, [0.5, 1.5], colors=["tab:green"], alpha=0.25)
    for t in range(5):
        ax.contour(U, V, margins[..., t], thresholds, colors=[figures.OTHERS[t]], **lines)
    ax.add_patch(plt.Circle(ball.center, ball.radius, fill=False, linewidth=2))
    ax.plot(*star, "*", markersize=11, color="black")
    ax.set_title(f"radius {ball.radius:.2f}, lines crossed: {n_crossed[-1]}")
    ax.set(aspect="equal", xlabel="$x_1$", xlim=(-0.2, 1.8), ylim=(-0.6, 1.4))
axes[0].set_ylabel("$x_2$")
assert n_crossed[0] > n_crossed[1] > n_crossed[2] == 0
figures.show(
    f"In each panel {len(X_plane)} pairs of parallel lines cut the plane into cells. A star marks "
    "the solution, and its cell is shaded. A circle shows a ball that contains the solution. The "
    f"circle crosses {n_crossed[0]} lines in the left panel and {n_crossed[1]} in the middle "
    "panel. In the right panel it crosses no line and lies inside the cell."
)

# %% [markdown]
# ## The claim
#
# > **Safe keeping, and the solution by one system.** Let a ball with center $q$ and radius $r$ contain the solution $x^\star$ of
# > $\min_{x\in K}\sum_t \ell_t(\langle a_t,x\rangle) - \langle c, x\rangle + \frac\lambda2\|x\|^2$ with the smoothed hinge, $\gamma > 0$.
# > (a) If $\langle a_t,q\rangle - r\|a_t\| > \tau_t-\gamma$ and $\langle a_t,q\rangle + r\|a_t\| < \tau_t$, then $0 < \alpha^\star_t < 1$, and term $t$ is in C. If $2r\|a_t\|$ is below the distance between the margin of term $t$ at $x^\star$ and the nearer threshold, the ball proves that the term is in L, in C or in R.
# > (b) If a ball decides all terms, $\alpha^\star$ is 1 on L and 0 on R, and on C it is the only solution of
# >
# > $$\gamma\,\alpha_t + \tfrac1\lambda\big\langle a_t, [H(\alpha)]_K\big\rangle = \tau_t, \qquad t\in C. \tag{1}$$
# > (c) Over the whole space (1) is one linear system. The number of its equations is $|C|$, or the number of features. Over the non-negative cone (1) is a linear system if the signs of $H(\alpha^\star)$ are known. Over matrices (1) is smooth if the signs of the eigenvalues of $H(\alpha^\star)$ are known, and then Newton's method converges quadratically. The ball can prove the signs: each coordinate or eigenvalue of $H$ differs between $q$ and $x^\star$ by at most $\frac r\gamma\|A_C\|^2$.
#
# <details>
# <summary><b>Symbols</b></summary>
#
# | symbol | meaning |
# |---|---|
# | $a_t$, $\tau_t$, $\gamma$ | a term, its threshold, the width of the smoothed hinge |
# | L, C, R | terms with margins below $\tau_t-\gamma$, between the thresholds, and above $\tau_t$ |
# | $\ell_t(u)$ | the loss of a term: $0$ for $u > \tau_t$, $(\tau_t - u)^2/2\gamma$ for $\tau_t-\gamma\le u\le\tau_t$, and $\tau_t - u - \gamma/2$ for $u < \tau_t-\gamma$ |
# | $K$, $[\cdot]_K$ | the cone (semidefinite matrices, vectors $x\ge0$, or the whole space) and the projection onto it |
# | $c$, $\lambda$ | a fixed linear term, here 0; the weight of the regulariser |
# | $\alpha_t$, $\alpha^\star_t$ | minus the slope of a term's loss; the value at the solution |
# | $\alpha_L$, $\alpha_C$ | the entries of $\alpha$ for the terms in L, in C |
# | $H(\alpha)$ | $c + \sum_t\alpha_t a_t$ |
# | $A_C$, $\|A_C\|$, $A_C^*$ | the terms of C as rows of a matrix, its largest singular value, its transpose |
# | MGB | the midpoint gap bound ([`28-midpoint-gap-bound`](28-midpoint-gap-bound.ipynb)): a ball around any point $x$ and its slopes |
#
# </details>
#
# ## Derivation
#
# **(a)** $\langle a_t,q\rangle \pm r\|a_t\|$ are the extremes of $\langle a_t, x\rangle$ over the ball, and $x^\star$ is a point of the ball. Two points of a ball are at most $2r$ apart, so each margin over the ball differs from the margin at $x^\star$ by at most $2r\|a_t\|$. [`47-when-everything-is-decided`](47-when-everything-is-decided.ipynb) has the same argument.
#
# **(b)** At the solution $\lambda x^\star = [H(\alpha^\star)]_K$ with $\alpha^\star_t = -\ell_t'(\langle a_t, x^\star\rangle)$. This slope is 1 on L, 0 on R, and
# $(\tau_t - \langle a_t,x^\star\rangle)/\gamma$ on C, which is (1). The left side of (1) is the gradient of
# $\frac\gamma2\|\alpha_C\|^2 + \frac1{2\lambda}\|[H(\alpha)]_K\|^2$, a strongly convex function of $\alpha_C$. So (1) has exactly one solution. The solution lies in $(0,1)$ without a further condition, because the ball has proved $0 < \alpha^\star_t < 1$ on C.
#
# **(c)** The derivative of the left side is $J = \gamma I + \frac1\lambda A_C\,\Pi\,A_C^*$, where $\Pi$ is the derivative of the projection at $H(\alpha)$. Over the whole space $\Pi = I$. Over the non-negative cone $\Pi$ is a diagonal matrix, with 1 where $H > 0$ and 0 elsewhere; $\Pi$ is constant as long as no sign changes. Over matrices let $H = V\,\mathrm{diag}(h)V'$. Then $\Pi$ maps a symmetric matrix $E$ to $V\big(\Omega\circ V'EV\big)V'$, where $\circ$ multiplies entry by entry, $h^+ = \max(h, 0)$ and $\Omega_{ij} = (h_i^+ - h_j^+)/(h_i - h_j)$; the projection is smooth as long as no eigenvalue is 0. $\Pi$ is symmetric and between 0 and $I$, so the eigenvalues of $J$ are at least $\gamma$. For $x$ in the ball $\alpha_C(x) = (\tau_C - A_C x)/\gamma$, so $H$ is affine on the ball, with slope $-A_C^*A_C/\gamma$. A coordinate of $H$ changes by at most the norm of the change of $H$, and an eigenvalue also changes by at most this norm (Weyl).
#
# ## The test for C with the rules of the library
#
# The rules of the library can test for C. A rule's test for R with the threshold $\tau_t-\gamma$ proves that the margin is above $\tau_t-\gamma$. The rule's test for L, for the hinge with the threshold $\tau_t$, proves that the margin is below $\tau_t$. So every rule can put a term in C, with every ball, and the rounding errors are on the safe side.


# %%
def decide(prob, ball, rule=ss.rules.sphere):
    """Return the masks of the terms that the ball proves to be in L, in C and in R."""
    found = rule(prob, ball)
    lower = prob.terms.with_threshold(prob.terms.threshold - prob.loss.width)
    above = rule(ss.Problem(lower, ss.Hinge()), ball).in_R
    below = rule(ss.Problem(prob.terms, ss.Hinge()), ball).in_L
    return found.in_L, above & below, found.in_R


def regions_at(prob, x):
    """Return the masks of L, C and R at a point, and each margin's distance from a threshold."""
    tau = prob.terms.threshold
    width = prob.loss.width
    margins = prob.terms.margins(x)
    in_L = margins < tau - width
    in_R = margins > tau
    away = np.minimum(abs(margins - tau), abs(margins - tau + width))
    return (in_L, ~in_L & ~in_R, in_R), away


# %% [markdown]
# We take four problems: triplets with a matrix, triplets with a diagonal metric, samples, and samples with a kernel. A gradient method runs from 0, and we compute MGB at each iterate.


# %%
def random_triplets(y, n, rng):
    """Return random triplets of labelled points."""
    i, j, k = rng.integers(0, len(y), (3, 4 * n))
    good = (i != j) & (y[i] == y[j]) & (y[i] != y[k])
    return np.unique(np.stack([i, j, k], axis=1)[good], axis=0)[:n]


rng = np.random.default_rng(0)
cloud = rng.standard_normal((60, 6))
labels = rng.integers(0, 2, 60)
random_terms = ss.Triplets(cloud, random_triplets(labels, 200, rng), diagonal=True)
wine = datasets.load("wine", return_X_y=True)
cancer = datasets.load("breast-cancer", return_X_y=True)
narrow = ss.SmoothedHinge(0.05)
wide = ss.SmoothedHinge(0.5)
problems = {
    "wine, matrices": ss.Problem(ss.Triplets.from_labels(*wine, k=3), narrow),
    "random, diagonal": ss.Problem(random_terms, wide),
    "cancer, samples": ss.Problem(ss.Samples(*cancer), narrow),
    "cancer, kernel": ss.Problem(ss.KernelSamples.from_points(*cancer, "rbf"), narrow),
}


def iterates(prob, lam, rtol=1e-12):
    """Return the iterates of a gradient method."""
    visited = []
    options = {"tol": 0.0, "rtol": rtol, "max_iter": 5000, "method": "gradient", "screening": ()}
    ss.solve(prob, lam, callback=lambda p: visited.append(p.x), **options)
    return visited


# %%
runs = {}
for name, prob in problems.items():
    lam = 0.05 * prob.lam_max()
    best = ss.solve(prob, lam, tol=0.0, rtol=1e-13, max_iter=5000)
    points = iterates(prob, lam)
    balls = [ss.spheres.midpoint_gap_bound(prob, x, lam) for x in points]
    masks = [decide(prob, ball) for ball in balls]
    undecided = np.array([len(prob) - np.logical_or.reduce(found).sum() for found in masks])
    assert undecided[-1] == 0
    runs[name] = SimpleNamespace(
        prob=prob, lam=lam, best=best, points=points, balls=balls, masks=masks, undecided=undecided
    )

# %% [markdown]
# The next cell compares every decision with the regions at the solution. It also checks (a): where $2r\|a_t\|$ is small enough, the decision must be made (it is *due*).

# %% tags=["NEW-KEEP", "nbval-ignore-output"]
n_kept = n_due = 0
for name, run in runs.items():
    norms = run.prob.terms.norms
    true, away = regions_at(run.prob, run.best.x)
    assert (away > run.best.eps * norms).all()  # no doubt where each term is
    for ball, found in zip(run.balls, run.masks, strict=True):
        for mask, region in zip(found, true, strict=True):
            assert not (mask & ~region).any()  # no decision is wrong
        due = 2.0 * ball.radius * norms < (1.0 - 1e-6) * away
        assert np.logical_or.reduce(found)[due].all()  # (a)
        n_kept += found[1].sum()
        n_due += due.sum()
    first = np.argmin(run.undecided)
    counts = f"{len(run.prob):5} terms, {true[1].sum():3} in C"
    print(f"{name:16} {counts}; all decided in iteration {first} of {len(run.points)}")
due_counts = f"decisions due by the radius: {n_due}, all made"
print(f"terms decided in between, over all iterates: {n_kept}, none wrongly; {due_counts}")
assert n_kept > 1000

# %%
figure, axes = figures.panels(4, width=12.0, height=3.2)
ended = []
for ax, (name, run) in zip(axes, runs.items(), strict=True):
    ended.append(len(run.prob) - (run.masks[-1][0] | run.masks[-1][2]).sum())
    ax.plot([len(run.prob) - (found[0] | found[2]).sum() for found in run.masks], label="L and R")
    ax.plot(run.undecided, label="L, C and R")
    ax.set(yscale="symlog", ylim=(0, 2 * len(run.prob)), title=name, xlabel="iteration")
axes[0].set_ylabel("undecided")
axes[0].legend()
figures.show(
    "Curves show the number of undecided terms against the iteration; each panel is a problem. "
    f"The curves with L and R alone end at {', '.join(str(n) for n in ended)}, the numbers of "
    "terms in C. The curves with L, C and R fall to 0."
)

# %% [markdown]
# Some curves of the figure rise where an iterate has a larger gap than the iterate before, because each ball is used alone. A solver would keep the decisions of earlier balls.
#
# ## One system
#
# We now take the first ball that decides all terms and signs, and solve equation (1). The code needs only margins and weighted sums, which all families of terms have. Newton's method starts at the slopes of the center.


# %%
def unit(prob, t):
    """Return slopes that are 1 for one term and 0 for all others."""
    return np.where(np.arange(len(prob)) == t, 1.0, 0.0)


def moved(prob, H, E):
    """Return the derivative of the projection at H, applied to E."""
    if isinstance(prob.cone, ss.NonNegativeCone):
        return np.where(H > 0.0, E, 0.0)
    if not isinstance(prob.cone, ss.PSDCone):
        return E
    h, V = np.linalg.eigh(H)
    steps = h[:, None] - h[None, :]
    rises = np.maximum(h, 0.0)[:, None] - np.maximum(h, 0.0)[None, :]
    omega = np.where(steps == 0.0, h > 0.0, rises / np.where(steps == 0.0, 1.0, steps))
    return V @ (omega * (V.T @ E @ V)) @ V.T


# %%
def finish(prob, lam, in_L, in_C, start, steps):
    """Return slopes after some Newton steps for (1), and the largest residual before each step."""
    alpha = np.where(in_C, start, 1.0 * in_L)
    members = np.flatnonzero(in_C)
    residuals = []
    directions = [prob.terms.adjoint(unit(prob, t)) for t in members]
    for _ in range(steps):
        H = prob.terms.adjoint(alpha)
        x = prob.cone.project(H) / lam
        residual = (prob.terms.threshold - prob.loss.width * alpha - prob.terms.margins(x))[members]
        J = [prob.terms.margins(moved(prob, H, E))[members] / lam for E in directions]
        J = np.array(J).T + prob.loss.width * np.eye(len(members))
        alpha[members] += np.linalg.solve(J, residual)
        residuals.append(abs(residual).max(initial=0.0))
    return alpha, residuals


def newton_steps(prob):
    """Return the number of Newton steps: one where (1) is linear."""
    return 3 if isinstance(prob.cone, ss.PSDCone) else 1


# %% [markdown]
# One Newton step is enough where (1) is linear. Over the non-negative cone (1) is linear if each coordinate of $H$ has the same sign at the center of the ball and at the solution. The *displacement* of a coordinate or an eigenvalue is its change between the center and the solution. The ball bounds this displacement.


# %%
def sizes_of_H(prob, H):
    """Return the coordinates or eigenvalues of H; over the whole space no sign matters."""
    if isinstance(prob.cone, ss.PSDCone):
        return np.linalg.eigvalsh(H)
    return H if isinstance(prob.cone, ss.NonNegativeCone) else np.array([np.inf])


def sizes_at(prob, x):
    """Return the coordinates or eigenvalues of H at a point."""
    return sizes_of_H(prob, prob.terms.adjoint(prob.alpha(x)))


def gram(prob, in_C):
    """Return the products of all pairs of terms in C."""
    members = np.flatnonzero(in_C)
    sums = [prob.terms.adjoint(unit(prob, t)) for t in members]
    return np.array([prob.terms.margins(a)[members] for a in sums])


def displacement(prob, ball, in_C):
    """Return the largest displacement that (c) allows for a coordinate or an eigenvalue of H."""
    return ball.radius / prob.loss.width * np.linalg.eigvalsh(gram(prob, in_C))[-1]


def signs_are_known(prob, ball, in_C):
    """Return whether all coordinates or eigenvalues are farther from 0 than their displacement."""
    return (abs(sizes_at(prob, ball.center)) > displacement(prob, ball, in_C)).all()


# %% tags=["NEW-KEEP", "nbval-ignore-output"]
for name, run in runs.items():
    prob = run.prob
    lam = run.lam
    k = np.argmin(run.undecided)
    while not signs_are_known(prob, run.balls[k], run.masks[k][1]):
        k += 1
    in_L, in_C, _ = run.masks[k]
    center = run.balls[k].center
    steps = newton_steps(prob)
    alpha, _ = finish(prob, lam, in_L, in_C, prob.alpha(center), steps)
    end = prob.evaluate(prob.x_of(alpha, lam), lam, alpha)
    true_sizes = sizes_of_H(prob, prob.terms.adjoint(alpha))
    sizes = sizes_at(prob, center)
    assert 0.0 < alpha[in_C].min()
    assert alpha[in_C].max() < 1.0
    assert ((sizes > 0) == (true_sizes > 0)).all()
    assert end.gap < 1e-13 * end.primal
    signs = ""
    if not np.isinf(sizes).any():
        signs = f"; {(sizes > 0).sum()} of {sizes.size} signs of H are +, known in iteration {k}"
    system = f"{in_C.sum()} equations, Newton steps: {steps}"
    print(f"{name}: {system}, relative gap below 1e-13{signs}")

# %% [markdown]
# The gap is the library's certificate, and includes rounding errors. It does not depend on the ball.
#
# ### The worst ball
#
# The balls above are small. Their centers have the right signs long before the ball proves the signs, and one Newton step ends close to the solution. So we now make balls that are as bad as (a) allows. The center is $x^\star$ moved in the direction in which $H$ changes most, which belongs to the largest singular value of $A_C$. The radius is the length of this move, and is just small enough that the ball decides all terms. The displacements then use nearly all of the bound of (c), but never more. Over matrices one Newton step is not enough.


# %%
def random_problem(cone, rng):
    """Return a small random problem."""
    X = rng.standard_normal((14, 3))
    y = rng.integers(0, 2, 14)
    y[:4] = [0, 0, 1, 1]
    if cone == "whole space":
        return ss.Problem(ss.Samples(X, 2 * y - 1), wide)
    terms = ss.Triplets(X, random_triplets(y, 25, rng), diagonal=cone == "diagonal")
    return ss.Problem(terms, wide)


def worst_ball(prob, best):
    """Return a ball that decides all terms and has the solution on its surface, where H differs
    most from H at the center."""
    (_, in_C, _), away = regions_at(prob, best.x)
    slopes = np.zeros(len(prob))
    slopes[in_C] = np.linalg.eigh(gram(prob, in_C))[1][:, -1]
    direction = prob.terms.adjoint(slopes)
    radius = 0.499 * (away / prob.terms.norms).min()
    return ss.Sphere(best.x + radius / np.linalg.norm(direction) * direction, radius + best.eps)


# %%
def trial_of_worst_ball(cone, rng):
    """Return the share of the displacement that is used, and the residuals if signs are known."""
    prob = random_problem(cone, rng)
    lam = rng.uniform(0.05, 0.4) * prob.lam_max()
    best = ss.solve(prob, lam, tol=0.0, rtol=1e-13, max_iter=5000)
    ball = worst_ball(prob, best)
    in_L, in_C, in_R = decide(prob, ball)
    assert (in_L | in_C | in_R).all()
    share = 0.0
    residuals = None
    if cone != "whole space":
        moved_by = abs(sizes_at(prob, ball.center) - sizes_at(prob, best.x)).max()
        share = moved_by / displacement(prob, ball, in_C)
    if signs_are_known(prob, ball, in_C):
        start = prob.alpha(ball.center)
        _, residuals = finish(prob, lam, in_L, in_C, start, 1 + newton_steps(prob))
    return share, residuals


# %% tags=["NEW-KEEP", "nbval-ignore-output"]
rng = np.random.default_rng(1)
for cone in ("matrices", "diagonal", "whole space"):
    trials = [trial_of_worst_ball(cone, rng) for _ in range(12)]
    share = max(used for used, _ in trials)
    known = [residuals for _, residuals in trials if residuals is not None]
    after_one = max(residuals[1] for residuals in known)
    after_all = max(residuals[-1] for residuals in known)
    assert share < 1.0 + 1e-6
    assert after_all < 1e-9
    assert cone != "matrices" or after_one > 1e-9
    print(f"{cone}: signs known in {len(known)} of 12")
    if cone != "whole space":
        print(f"   up to {share:.1%} of the bound of the displacement is used")
    print(f"   largest residual of (1) after one Newton step {after_one:.0e}")
    print(f"   after all {len(known[0]) - 1} steps {after_all:.0e}")

# %% [markdown]
# ## Broken on purpose: the signs of the center
#
# The example has two triplets over the non-negative cone, with $a_1 = (1, 1)$ and $a_2 = (-1, 1)$, and a ball that decides both. The first coordinate of $H$ is $\alpha_1 - \alpha_2$. This coordinate is positive at the solution and negative at the center, and its displacement equals the bound of (c). So the signs are not known. A Newton step with the signs of the center does not end at the solution.

# %% tags=["NEW-KEEP"]
corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 0.0]])
pair = ss.Triplets(corners, [[0, 4, 3], [0, 1, 2]], diagonal=True)
two_terms = ss.Problem(pair.with_threshold(np.array([1.0, 0.9])), wide)
lam = 2.0
best = ss.solve(two_terms, lam, tol=0.0, rtol=1e-14)
ball = ss.Sphere(best.x + np.array([0.05, 0.0]), 0.05 + best.eps)
in_L, in_C, _ = decide(two_terms, ball)
sizes = sizes_at(two_terms, ball.center)
true_sizes = sizes_at(two_terms, best.x)
used = abs(sizes - true_sizes).max() / displacement(two_terms, ball, in_C)
assert in_C.all()
assert sizes[0] < 0.0 < true_sizes[0]
assert abs(used - 1.0) < 1e-6
assert not signs_are_known(two_terms, ball, in_C)

alpha = two_terms.alpha(ball.center)
alpha, _ = finish(two_terms, lam, in_L, in_C, alpha, newton_steps(two_terms))
excess = two_terms.primal(two_terms.x_of(alpha, lam), lam) / best.primal - 1.0
print(f"H_1 is {sizes[0]:.3f} at the center and {true_sizes[0]:.3f} at the solution")
print(f"displacement divided by its bound: {used:.2f}")
print(f"one step with the signs of the center: the objective is {excess:.1%} too high")
assert excess > 1e-3

# %% [markdown]
# ## Broken on purpose: a guess in place of a proof
#
# Every point has regions L, C and R. The next cell takes the regions of each iterate as a guess of the regions of the solution, and solves (1). It does so for small random problems over three cones, and counts how often the result is wrong, with a ball that proves the regions and without a proof.


# %%
def guess_at(prob, lam, best, x):
    """Solve (1) with the regions of x. Return whether the result is wrong, whether its regions
    differ from the regions of x, and whether a ball at x proves these regions."""
    regions, _ = regions_at(prob, x)
    certain = decide(prob, ss.spheres.midpoint_gap_bound(prob, x, lam))
    alpha, _ = finish(prob, lam, *regions[:2], prob.alpha(x), 12)
    end = prob.cone.project(prob.terms.adjoint(alpha)) / lam
    is_right = np.linalg.norm(end - best.x) <= 1e-6 * np.linalg.norm(best.x) + best.eps
    own, _ = regions_at(prob, end)
    differs = not np.array_equal(own, regions)
    return not is_right, differs, np.logical_or.reduce(certain).all()


# %% tags=["NEW-KEEP", "nbval-ignore-output"]
guesses = []
rng = np.random.default_rng(1)
for cone in ("matrices", "diagonal", "whole space"):
    for _ in range(12):
        prob = random_problem(cone, rng)
        lam = rng.uniform(0.05, 0.4) * prob.lam_max()
        best = ss.solve(prob, lam, tol=0.0, rtol=1e-13, max_iter=5000)
        guesses += [guess_at(prob, lam, best, x) for x in iterates(prob, lam)[1:]]
is_wrong, differs, is_proved = np.array(guesses).T
n_wrong = is_wrong.sum()
assert not (is_wrong & is_proved).any()
by_guess = f"{n_wrong} lead to another point than the solution"
by_proof = f"of {is_proved.sum()} that the ball proves, none does"
print(f"regions read off {len(guesses)} iterates: {by_guess}; {by_proof}")
exposed = (is_wrong & differs).sum()
print(f"wrong results whose margins are in other regions than assumed: {exposed} of {n_wrong}")
assert len(guesses) > n_wrong > 0
assert exposed == n_wrong

# %% [markdown]
# The second line has a reason: a result whose margins are in the regions that (1) assumes satisfies all conditions of optimality. So a solver may guess the regions, solve (1) and check the regions of the result. With a ball the regions are known to be right before (1) is solved.
#
# ## The face of a matrix is not known
#
# Over the non-negative cone the signs of $H$ show which features are 0, and so they show the face of the cone that contains the solution. Over matrices the signs of the eigenvalues show only the *rank* of the solution: near each matrix there are matrices with the same rank and a different range. The next cell restricts the problem to the range of a certified center. The best matrix of the restricted problem is not the solution:

# %% tags=["nbval-ignore-output"]
run = runs["wine, matrices"]
prob = run.prob
best = run.best.x
center = run.balls[np.argmin(run.undecided)].center
h, V = np.linalg.eigh(prob.terms.adjoint(prob.alpha(center)))
basis = V[:, h > 0.0]
rank = np.linalg.matrix_rank(best, tol=1e-9 * np.linalg.norm(best))
print(f"rank by the ball {basis.shape[1]}, rank of the solution {rank}")
assert rank == basis.shape[1]

terms = ss.Triplets(wine[0] @ basis, ss.Triplets.from_labels(*wine, k=3).index)
restricted = ss.solve(ss.Problem(terms, narrow), run.lam, tol=0.0, rtol=1e-13, max_iter=5000)
lifted = basis @ restricted.x @ basis.T
excess = prob.primal(lifted, run.lam) / run.best.primal - 1.0
print(f"relative excess of the objective in the range of the center: {excess:.0e}")
assert excess > 1e-13

# %% [markdown]
# ## A ball for x and a ball for the slopes
#
# Shibagaki, Karasuyama, Hatano and Takeuchi (2016) introduced the name *safe keeping*. They keep samples by a ball for the slopes: $\rho < \alpha_t < 1 - \rho$. With MGB,
# $\gamma\sum_t w_t(\alpha_t - \alpha^\star_t)^2 \le \lambda r^2$ at $\alpha = \alpha(x)$, where $w_t$ is the weight of a term ([`49-features-and-terms`](49-features-and-terms.ipynb)). So a term has the radius
# $\rho_t = r\sqrt{\lambda/(\gamma w_t)}$. In margins this is a half-width of $\gamma\rho_t = r\sqrt{\lambda\gamma/w_t}$, compared with $r\|a_t\|$ for MGB. The ball of the slopes is narrower where $w_t\|a_t\|^2 > \lambda\gamma$. The center of this ball is $\alpha(x)$, and not the slopes at the center of MGB, so neither ball decides every term that the other ball decides. In the next cells all weights are 1:


# %%
def kept_by_slopes(prob, x, lam, radius):
    """Return the terms that the ball of slopes proves to be in C; radius belongs to MGB at x."""
    alpha = prob.alpha(x)
    weights = 1.0 if prob.terms.weights is None else prob.terms.weights
    rho = radius * np.sqrt(lam / prob.loss.width / weights)
    return (rho < alpha) & (alpha < 1.0 - rho)


# %% tags=["NEW-KEEP", "nbval-ignore-output"]
rows = {}
for name, run in runs.items():
    (_, true, _), _ = regions_at(run.prob, run.best.x)
    scale = run.lam * run.prob.loss.width
    longer = (run.prob.terms.norms**2 > scale)[true].mean()
    by_x = np.array([found[1] for found in run.masks])
    radii = [ball.radius for ball in run.balls]
    at_each = zip(run.points, radii, strict=True)
    by_slopes = np.array([kept_by_slopes(run.prob, x, run.lam, r) for x, r in at_each])
    assert not (by_slopes & ~true).any()
    shares = [np.mean(kept) / true.mean() for kept in (by_x, by_slopes, by_x | by_slopes)]
    rows[name] = [longer, *shares]
print("share of the terms in C that are kept, mean over the iterates")
print(f"{'':16} {'|a|^2 > lam gamma':>18} {'by x':>6} {'by slopes':>10} {'by either':>10}")
for name, (longer, *kept) in rows.items():
    print(f"{name:16} {longer:18.2f} {kept[0]:6.2f} {kept[1]:10.2f} {kept[2]:10.2f}")

# %% [markdown]
# ### Broken on purpose: one radius for all weights
#
# The example has one sample $a = 1$ of weight $w$, with $\lambda\gamma = w$ and a threshold $\tau$ just below 0. (The library requires a second class, so there is a second sample at the origin, which is always in R.) The solution is $x^\star = 0$ with slope 0, so the sample is in R. At $x = \tau - 0.4\gamma$ the slope is 0.4. The midpoint of $x$ and $x(\alpha)$ is $x^\star$, up to the small threshold. So the slope uses all of the radius, and $\rho_t$ is 0.4 for every weight. The radius $r\sqrt{\lambda/\gamma}$, without the weight, is $0.4\sqrt w$. For a weight below 1 this radius is too small, and it keeps a sample that is in R.

# %% tags=["NEW-KEEP"]
for weight in (0.25, 1.0, 4.0):
    sample = ss.Samples([[1.0], [0.0]], [1, -1], weights=[weight, 1.0])
    prob = ss.Problem(sample.with_threshold(np.array([-1e-6, -1.0])), wide)
    lam = weight / wide.width
    x = np.array([-1e-6 - 0.4 * wide.width])
    assert prob.terms.margins(ss.solve(prob, lam, tol=1e-14).x)[0] > -1e-6  # in R
    radius = ss.spheres.midpoint_gap_bound(prob, x, lam).radius
    alpha = prob.alpha(x)[0]
    rho = radius * np.sqrt(lam / wide.width)
    rho_t = rho / np.sqrt(weight)
    wrong = bool(rho < alpha < 1.0 - rho)
    own = kept_by_slopes(prob, x, lam, radius)[0]
    said = {True: "kept, wrongly", False: "not kept"}
    by_one = f"one radius for all weights, {rho:.2f}: {said[wrong]}"
    print(f"weight {weight:4}, slope {alpha:.2f}; {by_one}; rho_t = {rho_t:.2f}: {said[own]}")
    assert wrong == (weight < 1.0)
    assert not own
    assert kept_by_slopes(prob, x, lam, 0.98 * radius)[0]

# %% [markdown]
# With $0.98\,\rho_t$ each of the three samples is wrongly kept, so the radius cannot be smaller. The next cell tests the two radii on four samples with random weights, at points around the solution:


# %%
def weighted_samples(rng):
    """Return a problem of four samples with random weights."""
    points = rng.standard_normal((4, 2))
    weights = rng.choice([0.05, 0.2, 1.0], 4)
    return ss.Problem(ss.Samples(points, [1, -1, 1, -1], weights=weights), wide)


# %% tags=["NEW-KEEP", "nbval-ignore-output"]
rng = np.random.default_rng(2)
n_one = n_wrong = n_own = 0
for _ in range(100):
    prob = weighted_samples(rng)
    lam = 10.0 ** rng.uniform(-1.5, 0.5)
    best = ss.solve(prob, lam, rtol=1e-12)
    (_, in_C, _), away = regions_at(prob, best.x)
    out = ~in_C & (away > best.eps * prob.terms.norms)
    for _ in range(20):
        x = best.x + 10.0 ** rng.uniform(-2.0, 0.3) * rng.standard_normal(2)
        radius = ss.spheres.midpoint_gap_bound(prob, x, lam).radius
        alpha = prob.alpha(x)
        rho = radius * np.sqrt(lam / wide.width)
        by_one = (rho < alpha) & (alpha < 1.0 - rho)
        by_own = kept_by_slopes(prob, x, lam, radius)
        assert not (by_own & out).any()
        n_own += by_own.sum()
        n_one += by_one.sum()
        n_wrong += (by_one & out).sum()
by_one = f"with one radius for all: {n_one}, {n_wrong} of them wrongly"
print(f"kept with a radius for each weight: {n_own}, none wrongly; {by_one}")
assert n_own > 300
assert n_wrong > 0

# %% [markdown]
# ## Does a solver become faster?
#
# Once a ball has decided all terms, one system replaces the remaining iterations. But a Newton method solves such a system in every step, from guessed regions, and its last step solves the system with the right regions. The next table shows three iterations of the gradient method. *Right* is the first iteration whose regions are the regions of the solution, so that a Newton step from this iterate ends at the solution. *Proved* is the first iteration at which the ball proves the regions. *Last* is the last iteration, at a relative gap of $10^{-12}$.

# %% tags=["nbval-ignore-output"]
print(f"{'':16} {'right':>6} {'proved':>7} {'last':>5}   steps of the default method")
for name, run in runs.items():
    true, _ = regions_at(run.prob, run.best.x)
    is_right = [np.array_equal(regions_at(run.prob, x)[0], true) for x in run.points]
    right = is_right.index(True)
    proved = np.argmin(run.undecided)
    last = len(run.points) - 1
    solution = ss.solve(run.prob, run.lam, tol=0.0, rtol=1e-12, screening=())
    print(f"{name:16} {right:6} {proved:7} {last:5}   {solution.n_iter:27}")
    assert right <= proved <= last


# %% tags=["nbval-ignore-output"]
def milliseconds(function, *arguments, **options):
    """Return the CPU time of a call."""
    begin = time.process_time()
    function(*arguments, **options)
    return 1e3 * (time.process_time() - begin)


accurate = {"tol": 0.0, "rtol": 1e-12, "screening": ()}
for name, run in runs.items():
    prob = run.prob
    k = np.argmin(run.undecided)
    start = prob.alpha(run.balls[k].center)
    in_L, in_C, _ = run.masks[k]
    gradient = {"method": "gradient", "max_iter": 5000} | accurate
    by_gradient = milliseconds(ss.solve, prob, run.lam, **gradient)
    by_default = milliseconds(ss.solve, prob, run.lam, **accurate)
    to_decide = milliseconds(decide, prob, run.balls[k])
    to_finish = milliseconds(finish, prob, run.lam, in_L, in_C, start, newton_steps(prob))
    solves = f"gradient {by_gradient:6.1f}   default {by_default:6.1f}"
    print(f"{name:16} CPU ms: {solves}   one test {to_decide:6.2f}   system {to_finish:6.1f}")

# %% [markdown]
# **Verdict.** The ball proves the regions a few iterations after the iterate has the right regions, and well before the last iteration of a gradient method. A Newton method needs no proof of the regions, because a gap certifies its result. A test for C makes no solver faster, so the library tests only for L and R. The test for C gives information: the terms that certainly lie between the thresholds, the rank of a metric, and a solution in closed form.
#
# ## Exercise
#
# For which other $\lambda$ does the closed form hold? Take samples, and a ball that decides all terms.
#
# <details>
# <summary><b>Solution</b></summary>
#
# Take two balls from the same primal and dual point, for the two ends of an interval of $\lambda$. Together these balls contain the solutions for all $\lambda$ of the interval ([`48-certified-choice`](48-certified-choice.ipynb)). If both balls decide all terms in the same way, the regions are the same for every $\lambda$ of the interval. On this interval $x^\star(\lambda) = (\lambda I + A_C^*A_C/\gamma)^{-1}b$ with $b = c + \sum_{t\in L}a_t + A_C^*\tau_C/\gamma$. One eigendecomposition gives this curve for all $\lambda$.
#
# </details>
#
# ## Fine print
#
# * With the hinge, $\gamma = 0$, no ball puts a term in C, because the interval between the thresholds is one point. No ball decides the samples at the threshold.
# * With weights, $H(\alpha) = c + \sum_t w_t\alpha_t a_t$, and (1) does not change. The rows of $A_C$ are then $\sqrt{w_t}\,a_t$. A free intercept adds one unknown and one equation, $\sum_t y_t\alpha_t = 0$.
# * The lower threshold $\tau_t - \gamma$ is rounded once, as in the rules of the library.
#
# Literature: A. Shibagaki, M. Karasuyama, K. Hatano, I. Takeuchi, *Simultaneous safe screening of features and samples in doubly sparse modeling*, ICML 2016 (arXiv 1602.02485), read without its appendix. The paper introduces the name. It keeps features by the ball for $x$ (Theorem 4) and samples by the ball for the slopes (Theorem 5), both from the gap; it refers to its appendix for samples kept by the ball for $x$. The authors use safe keeping to omit tests and to stop screening. The system, the cones, the signs of $H$ and the comparison of the two balls are ours. Other papers prove similar facts for other problems:
# T. Guyard, C. Herzet, C. Elvira, *Screen & Relax*, ICASSP 2022 (arXiv 2110.07281), find entries of an elastic net that are certainly not zero, and solve a linear system once the support is known; C. Elvira, C. Herzet,
# *Safe squeezing for antisparse coding*, IEEE Trans. Signal Processing 2020, find entries that are certainly at the largest size. We read only the abstract or the introduction of these two papers. D. Sun, J. Han, *Newton and quasi-Newton methods for a class of nonsmooth equations and related problems*, SIAM J. Optim. 7, 1997: we use only their result that Newton's method ends after finitely many steps where the pieces are linear.
