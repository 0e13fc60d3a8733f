# %% [markdown]
# # Certain to lie in between
#
# A ball proves that a term is above its threshold, or below the lower one. It can prove a third thing: that the term lies *between*
# the two, where its loss is a parabola. Nothing can be left out then, but something is known. Once each term is certain in one of the three
# ways, the problem has no cases left: over the whole space the solution is that of one linear system.
#
# At the end you will have seen
#
# * two comparisons more that decide a term in between, with every ball and every rule of the library as it is;
# * that only a term exactly on a threshold stays undecided by small balls;
# * the solution by one linear system over the whole space and over the non-negative cone, and by a few Newton steps over matrices, derived and compared;
# * how it fails when a single term or a sign is guessed, and why a face of the cone of matrices is never known;
# * a ball for the slopes, which needs a radius for each weight, and whether a solver gains by any of it.

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
# Five samples in the plane. Each draws two parallel lines: on the solid one its margin is 1, on the dashed one $1-\gamma$. The lines cut the
# plane into cells, and in each cell the objective is one parabola. As the ball around the solution shrinks, it crosses fewer lines. When it
# crosses none, the cell of the solution is known, and the minimum of its parabola is the solution.

# %%
X_plane = np.array([[1.6, 0.4], [0.5, 1.5], [-0.9, 1.1], [0.3, 0.5], [-0.2, 0.9]])
y_plane = np.array([1, 1, -1, -1, 1])
plane, lam_plane, thresholds = ss.Problem(ss.Samples(X_plane, y_plane),
                                          ss.SmoothedHinge(0.8)), 0.36, (0.2, 1.0)
star = ss.solve(plane, lam_plane, rtol=1e-12).x
U, V = np.meshgrid(np.linspace(-0.2, 1.8, 400), np.linspace(-0.6, 1.4, 400))
margins = (np.stack([U, V], axis=-1) @ X_plane.T) * y_plane
own_cell = (
    np.digitize(margins, thresholds) == np.digitize(plane.terms.margins(star), thresholds)
).all(axis=-1)
fig, axes = plt.subplots(1, 3, figsize=(11, 3.9), sharex=True, sharey=True)
n_crossed = []
for ax, away in zip(axes, (0.3, 0.1, 0.02), strict=True):
    ball = ss.spheres.midpoint_gap_bound(plane, star + away * np.array([0.6, 0.8]), lam_plane)
    at_center = plane.terms.margins(ball.center)[:, None]
    n_crossed.append((abs(at_center - thresholds) < ball.radius * plane.terms.norms[:, None]).sum())
    ax.contourf(U, V, own_cell, [0.5, 1.5], colors=["tab:green"], alpha=0.25)
    for t in range(5):
        ax.contour(U, V, margins[..., t], thresholds, colors=[figures.OTHERS[t]],
                   linestyles=["--", "-"], linewidths=1)
    ax.add_patch(plt.Circle(ball.center, ball.radius, fill=False, linewidth=2))
    ax.plot(*star, "*", markersize=11, color="black")
    ax.set(aspect="equal", title=f"radius {ball.radius:.2f}, lines crossed: {n_crossed[-1]}",
           xlabel="$x_1$", xlim=(-0.2, 1.8), ylim=(-0.6, 1.4))
axes[0].set_ylabel("$x_2$")
assert n_crossed[0] > n_crossed[1] > n_crossed[2] == 0
figures.show(
    f"Each panel shows the plane, cut into cells by {len(X_plane)} pairs of parallel lines. The "
    "cell with a star, the solution, is shaded. A circle near the "
    f"star crosses {n_crossed[0]} of the lines on the left, {n_crossed[1]} in the middle, and "
    "none on the right, where it lies inside of the cell."
)

# %% [markdown]
# ## The claim
#
# > **Safe keeping, and its end.** Let a ball with center $q$ and radius $r$ hold the solution $x^\star$ of
# > $\min_{x\in K}\sum_t \ell_t(\langle a_t,x\rangle) - \langle c, x\rangle + \frac\lambda2\|x\|^2$ with the smoothed hinge, $\gamma > 0$.
# >
# > (a) If $\langle a_t,q\rangle - r\|a_t\| > \tau_t-\gamma$ and $\langle a_t,q\rangle + r\|a_t\| < \tau_t$, then $0 < \alpha^\star_t < 1$: term $t$ is in C. A ball decides
# > every term in one of three ways once $2r\|a_t\|$ is below the distance of its margin at $x^\star$ from the nearer threshold.
# >
# > (b) If all terms are decided, $\alpha^\star$ is 1 on L, 0 on R, and on C the only solution of
# >
# > $$\gamma\,\alpha_t + \tfrac1\lambda\big\langle a_t, [H(\alpha)]_K\big\rangle = \tau_t, \qquad t\in C. \tag{1}$$
# >
# > (c) Over the whole space (1) is one linear system of $|C|$ equations, or of as many as there are features. Over the non-negative cone it is
# > one if the signs of $H(\alpha^\star)$ are known; over matrices, if the signs of its eigenvalues are known, it is smooth, and Newton's method converges quadratically. The ball tells
# > the signs: no coordinate or eigenvalue of $H$ at $q$ is farther than $\frac r\gamma\|A_C\|^2$ from that at $x^\star$.
#
# <details>
# <summary><b>Symbols</b></summary>
#
# | symbol | meaning |
# |---|---|
# | $a_t$, $\tau_t$, $\gamma$ | a term, its threshold, the width of the smoothed hinge |
# | L, C, R | terms with margins below $\tau_t-\gamma$, between, and above $\tau_t$ |
# | $\ell_t(u)$ | the loss of a term: $0$ for $u > \tau_t$, $(\tau_t - u)^2/2\gamma$ for $\tau_t-\gamma\le u\le\tau_t$, $\tau_t - u - \gamma/2$ below |
# | $K$, $[\cdot]_K$ | the cone (semidefinite matrices, vectors $x\ge0$, or the whole space) and the projection onto it |
# | $c$, $\lambda$ | a fixed linear term, here 0; the weight of the regulariser |
# | $\alpha_t$, $\alpha^\star_t$ | minus the slope of a term's loss; at the solution |
# | $\alpha_L$, $\alpha_C$ | the entries of the terms in L, in C |
# | $H(\alpha)$ | $c + \sum_t\alpha_t a_t$ |
# | $A_C$, $\|A_C\|$, $A_C^*$ | the terms of C as rows of a matrix, its largest singular value, its transpose |
# | MGB | the midpoint gap bound ([`28-midpoint-gap-bound`](28-midpoint-gap-bound.ipynb)): a ball around any point $x$ and its slopes |
#
# </details>
#
# ## Derivation
#
# **(a)** The two numbers are the extremes of $\langle a_t, x\rangle$ over the ball, and one of its points is $x^\star$. Two points of a ball
# are at most $2r$ apart, so all margins over the ball are within $2r\|a_t\|$ of the one at $x^\star$: the argument of
# [`47-when-everything-is-decided`](47-when-everything-is-decided.ipynb), for both thresholds.
#
# **(b)** At the solution $\lambda x^\star = [H(\alpha^\star)]_K$ with $\alpha^\star_t = -\ell_t'(\langle a_t, x^\star\rangle)$. This slope is 1 on L, 0 on R, and
# $(\tau_t - \langle a_t,x^\star\rangle)/\gamma$ on C, which is (1). The left side of (1) is the gradient of
# $\frac\gamma2\|\alpha_C\|^2 + \frac1{2\lambda}\|[H(\alpha)]_K\|^2$, a strongly convex function of $\alpha_C$. So there is one solution. Nothing asks it to lie in
# $[0,1]$: the ball has promised that it does.
#
# **(c)** The derivative of the left side is $J = \gamma I + \frac1\lambda A_C\,\Pi\,A_C^*$, $\Pi$ the derivative of the projection at $H(\alpha)$. Over the whole space $\Pi = I$. Over the
# non-negative cone it is the diagonal of ones where $H > 0$: constant as long as no sign changes. Over matrices, with $H = V\,\mathrm{diag}(h)V'$,
# it turns a symmetric matrix $E$ into $V\big(\Omega\circ V'EV\big)V'$, where $\circ$ multiplies entry by entry, $h^+ = \max(h, 0)$ and $\Omega_{ij} = (h_i^+ - h_j^+)/(h_i - h_j)$; it is smooth as long as no eigenvalue is 0. $\Pi$ is symmetric and between 0 and $I$, so the eigenvalues of $J$ are at least $\gamma$. For $x$ in
# the ball $\alpha_C(x) = (\tau_C - A_C x)/\gamma$, so $H$ is affine there, with slope $-A_C^*A_C/\gamma$. An entry moves by no more than the norm, and so does an eigenvalue (Weyl).
#
# ## With the library as it is
#
# To prove a margin above $\tau_t-\gamma$, apply the test of a rule for R with the threshold $\tau_t-\gamma$. To prove a margin below $\tau_t$, apply its test for L with the threshold $\tau_t$. So any rule, with any
# ball, decides the third way, and its roundings are on the safe side.


# %%
def decide(prob, ball, rule=ss.rules.sphere):
    """Masks of the terms that are certainly in L, in C and in R."""
    found = rule(prob, ball)
    lower = prob.terms.with_threshold(prob.terms.threshold - prob.loss.width)
    above = rule(ss.Problem(lower, ss.Hinge()), ball).in_R
    below = rule(ss.Problem(prob.terms, ss.Hinge()), ball).in_L
    return found.in_L, above & below, found.in_R


def regions_at(prob, x):
    """The three masks at a point, and how far each margin is from the nearer threshold."""
    margins, tau, width = prob.terms.margins(x), prob.terms.threshold, prob.loss.width
    in_L, in_R = margins < tau - width, margins > tau
    return (in_L, ~in_L & ~in_R, in_R), np.minimum(abs(margins - tau), abs(margins - tau + width))


# %% [markdown]
# Four problems: matrices, diagonal metrics, samples, samples with a kernel. A gradient method runs from 0, and each of its iterates makes the ball MGB.


# %%
def random_triplets(y, n, rng):
    """Random triplets of labelled points."""
    i, j, k = rng.integers(0, len(y), (3, 4 * n))
    good = (i != j) & (y[i] == y[j]) & (y[i] != y[k])
    return np.unique(np.stack([i, j, k], axis=1)[good], axis=0)[:n]


rng = np.random.default_rng(0)
cloud, labels = rng.standard_normal((60, 6)), rng.integers(0, 2, 60)
wine, cancer = (datasets.load(name, return_X_y=True) for name in ("wine", "breast-cancer"))
narrow, wide = ss.SmoothedHinge(0.05), ss.SmoothedHinge(0.5)
problems = {
    "wine, matrices": ss.Problem(ss.Triplets.from_labels(*wine, k=3), narrow),
    "random, diagonal": ss.Problem(
        ss.Triplets(cloud, random_triplets(labels, 200, rng), diagonal=True), wide
    ),
    "cancer, samples": ss.Problem(ss.Samples(*cancer), narrow),
    "cancer, kernel": ss.Problem(ss.KernelSamples.from_points(*cancer, "rbf"), narrow),
}


def iterates(prob, lam, rtol=1e-12):
    """The points that a gradient method visits."""
    visited = []
    ss.solve(prob, lam, tol=0.0, rtol=rtol, max_iter=5000, method="gradient", screening=(),
             callback=lambda p: visited.append(p.x))
    return visited


# %% tags=["NEW-KEEP", "nbval-ignore-output"]
runs, n_kept, n_due = {}, 0, 0
for name, prob in problems.items():
    lam = 0.05 * prob.lam_max()
    best = ss.solve(prob, lam, tol=0.0, rtol=1e-13, max_iter=5000)
    true, away = regions_at(prob, best.x)
    assert (away > best.eps * prob.terms.norms).all()  # no doubt where each term is
    points = iterates(prob, lam)
    balls = [ss.spheres.midpoint_gap_bound(prob, x, lam) for x in points]
    masks = [decide(prob, ball) for ball in balls]
    for ball, found in zip(balls, masks, strict=True):
        for mask, region in zip(found, true, strict=True):
            assert not (mask & ~region).any()  # no decision is wrong
        due = 2.0 * ball.radius * prob.terms.norms < (1.0 - 1e-6) * away
        assert np.logical_or.reduce(found)[due].all()  # (a)
        n_kept += found[1].sum()
        n_due += due.sum()
    left = np.array([len(prob) - np.logical_or.reduce(found).sum() for found in masks])
    runs[name] = SimpleNamespace(
        prob=prob, lam=lam, best=best, points=points, balls=balls, masks=masks, left=left
    )
    print(
        f"{name:16} {len(prob):5} terms, in between {true[1].sum():3}; all are decided in "
        f"iteration {np.argmin(left)} of {len(points)}"
    )
    assert left[-1] == 0
print(
    f"terms decided in between, over all iterates: {n_kept}, none wrongly; decisions due by the "
    f"radius: {n_due}, all made"
)
assert n_kept > 1000

# %%
figure, axes = figures.panels(4, width=12.0, height=3.2)
ended = []
for ax, (name, run) in zip(axes, runs.items(), strict=True):
    ended.append(len(run.prob) - (run.masks[-1][0] | run.masks[-1][2]).sum())
    ax.plot([len(run.prob) - (found[0] | found[2]).sum() for found in run.masks], label="L and R")
    ax.plot(run.left, label="L, C and R")
    ax.set(yscale="symlog", ylim=(0, 2 * len(run.prob)), title=name, xlabel="iteration")
axes[0].set_ylabel("undecided")
axes[0].legend()
figures.show(
    "Curves show the number of undecided terms against the iteration, a panel for each problem. "
    "With L and R alone they end at "
    f"{', '.join(str(n) for n in ended)}, the numbers of terms in between; with C "
    "too they fall to 0."
)

# %% [markdown]
# ## One system
#
# A curve of the figure jumps up where an iterate is worse than the one before, because each ball is judged alone. What an earlier ball has decided stays decided.
#
# From the first ball that decides all terms and signs we solve equation (1), with margins and weighted sums, which all families of terms offer. Newton's method begins at the
# slopes of the center.


# %%
def unit(prob, t):
    """The slopes that are 1 for one term."""
    return np.where(np.arange(len(prob)) == t, 1.0, 0.0)


def moved(prob, H, E):
    """The derivative of the projection at H, applied to E."""
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
    """Slopes after some Newton steps for (1), and the largest residual before each of them."""
    alpha, members, residuals = np.where(in_C, start, 1.0 * in_L), np.flatnonzero(in_C), []
    directions = [prob.terms.adjoint(unit(prob, t)) for t in members]
    for _ in range(steps):
        H = prob.terms.adjoint(alpha)
        x = prob.cone.project(H) / lam
        residual = (prob.terms.threshold - prob.loss.width * alpha - prob.terms.margins(x))[members]
        J = [prob.terms.margins(moved(prob, H, E))[members] / lam for E in directions]
        alpha[members] += np.linalg.solve(
            np.array(J).T + prob.loss.width * np.eye(len(members)), residual
        )
        residuals.append(abs(residual).max(initial=0.0))
    return alpha, residuals


def newton_steps(prob):
    """How many Newton steps we make: one where (1) is linear."""
    return 3 if isinstance(prob.cone, ss.PSDCone) else 1


# %% [markdown]
# One Newton step is enough where (1) is linear. That is so while the coordinates or eigenvalues of
# $H$ keep their signs. The ball bounds how far each of them is displaced between its center and the
# solution.


# %%
def sizes_of_H(prob, H):
    """What has to keep its sign: coordinates or eigenvalues; nothing over the whole space."""
    if isinstance(prob.cone, ss.PSDCone):
        return np.linalg.eigvalsh(H)
    return H if isinstance(prob.cone, ss.NonNegativeCone) else np.array([np.inf])


def sizes_at(prob, x):
    """The same at a point."""
    return sizes_of_H(prob, prob.terms.adjoint(prob.alpha(x)))


def gram(prob, in_C):
    """The products of all pairs of terms in C."""
    members = np.flatnonzero(in_C)
    return np.array(
        [prob.terms.margins(prob.terms.adjoint(unit(prob, t)))[members] for t in members]
    )


def displacement(prob, ball, in_C):
    """How far a coordinate or an eigenvalue of H at the solution may be from that at the center."""
    return ball.radius / prob.loss.width * np.linalg.eigvalsh(gram(prob, in_C))[-1]


def signs_are_known(prob, ball, in_C):
    """Whether everything that has to keep its sign is farther from 0 than it may be displaced."""
    return (abs(sizes_at(prob, ball.center)) > displacement(prob, ball, in_C)).all()


# %% tags=["NEW-KEEP", "nbval-ignore-output"]
for name, run in runs.items():
    prob, lam = run.prob, run.lam
    k = np.argmin(run.left)
    while not signs_are_known(prob, run.balls[k], run.masks[k][1]):
        k += 1
    (in_L, in_C, _), center = run.masks[k], run.balls[k].center
    steps = newton_steps(prob)
    alpha, _ = finish(prob, lam, in_L, in_C, prob.alpha(center), steps)
    end = prob.evaluate(prob.x_of(alpha, lam), lam, alpha)
    true_sizes = sizes_of_H(prob, prob.terms.adjoint(alpha))
    sizes = sizes_at(prob, center)
    assert 0.0 < alpha[in_C].min()
    assert alpha[in_C].max() < 1.0
    assert ((sizes > 0) == (true_sizes > 0)).all()
    assert end.gap < 1e-13 * end.primal
    signs = "" if np.isinf(sizes).any(
    ) else f"; {(sizes > 0).sum()} of {sizes.size} signs of H are +, known in iteration {k}"
    print(
        f"{name}: {in_C.sum()} equations, {steps} Newton step{'s' if steps > 1 else ''}, relative "
        f"gap below 1e-13{signs}"
    )

# %% [markdown]
# The gap is the library's certificate, roundings included. It knows nothing of the ball.
#
# ### The worst ball
#
# These balls are small: their centers have the right signs long before they know them, and one step ends close to the solution. So we make balls as bad as (a) allows. The center is
# $x^\star$ moved in the direction in which $H$ moves most, the one that belongs to the largest singular value of $A_C$. The radius is this distance, just below the one at which a term is no longer decided.
# Then no sign of (c) moves farther than it says, and over matrices one Newton step is too few.


# %%
def random_problem(cone, rng):
    """A small problem with terms in all three regions."""
    X, y = rng.standard_normal((14, 3)), rng.integers(0, 2, 14)
    y[:4] = 0, 0, 1, 1
    if cone == "whole space":
        return ss.Problem(ss.Samples(X, 2 * y - 1), wide)
    terms = ss.Triplets(X, random_triplets(y, 25, rng), diagonal=cone == "diagonal")
    return ss.Problem(terms, wide)


def worst_ball(prob, best):
    """A ball that decides all terms, with the solution on its surface where H differs most from
    its value at the center."""
    (_, in_C, _), away = regions_at(prob, best.x)
    slopes = np.zeros(len(prob))
    slopes[in_C] = np.linalg.eigh(gram(prob, in_C))[1][:, -1]
    direction = prob.terms.adjoint(slopes)
    radius = 0.499 * (away / prob.terms.norms).min()
    return ss.Sphere(best.x + radius / np.linalg.norm(direction) * direction, radius + best.eps)


# %% tags=["NEW-KEEP", "nbval-ignore-output"]
rng = np.random.default_rng(1)
for cone in ("matrices", "diagonal", "whole space"):
    shares, after_one, after_all = [], [], []
    for _ in range(12):
        prob = random_problem(cone, rng)
        lam = rng.uniform(0.05, 0.4) * prob.lam_max()
        best = ss.solve(prob, lam, tol=0.0, rtol=1e-13, max_iter=5000)
        ball = worst_ball(prob, best)
        in_L, in_C, in_R = decide(prob, ball)
        assert (in_L | in_C | in_R).all()
        if cone != "whole space":
            moved_by = abs(sizes_at(prob, ball.center) - sizes_at(prob, best.x)).max()
            shares.append(moved_by / displacement(prob, ball, in_C))
        if signs_are_known(prob, ball, in_C):
            _, residuals = finish(
                prob, lam, in_L, in_C, prob.alpha(ball.center), 1 + newton_steps(prob)
            )
            after_one.append(residuals[1])
            after_all.append(residuals[-1])
    assert max(shares, default=1.0) < 1.0 + 1e-6
    assert max(after_all) < 1e-9 and (cone != "matrices" or max(after_one) > 1e-9)
    used = f"up to {max(shares):.1%} of the displacement is used; " if shares else ""
    print(f"{cone}: {used}signs known in {len(after_all)} of 12")
    print(
        f"   largest residual of (1) after one Newton step {max(after_one):.0e}, after "
        f"{newton_steps(prob)} {max(after_all):.0e}"
    )

# %% [markdown]
# ## Broken on purpose: signs read off the center
#
# Two triplets over the non-negative cone with $a_1 = (1, 1)$, $a_2 = (-1, 1)$, and a ball that decides both. The first coordinate of $H$ is $\alpha_1 - \alpha_2$. It is positive at the solution and negative at
# the center, and it uses all of the displacement of (c). So the signs are not known. A step with those of the center ends elsewhere.

# %% tags=["NEW-KEEP"]
corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 0.0]])
pair = ss.Triplets(corners, [[0, 4, 3], [0, 1, 2]], diagonal=True).with_threshold(
    np.array([1.0, 0.9])
)
two_terms, lam = ss.Problem(pair, wide), 2.0
best = ss.solve(two_terms, lam, tol=0.0, rtol=1e-14)
ball = ss.Sphere(best.x + np.array([0.05, 0.0]), 0.05 + best.eps)
in_L, in_C, _ = decide(two_terms, ball)
sizes, true_sizes = sizes_at(two_terms, ball.center), sizes_at(two_terms, best.x)
used = abs(sizes - true_sizes).max() / displacement(two_terms, ball, in_C)
assert in_C.all() and sizes[0] < 0.0 < true_sizes[0]
assert abs(used - 1.0) < 1e-6 and not signs_are_known(two_terms, ball, in_C)
alpha, _ = finish(two_terms, lam, in_L, in_C, two_terms.alpha(ball.center), newton_steps(two_terms))
excess = two_terms.primal(two_terms.x_of(alpha, lam), lam) / best.primal - 1.0
print(
    f"H_1 is {sizes[0]:.3f} at the center and {true_sizes[0]:.3f} at the solution: {used:.0%} of "
    "the displacement is used"
)
print(f"one step with the signs of the center: the objective is {excess:.1%} too high")
assert excess > 1e-3

# %% [markdown]
# ## Broken on purpose: a guess in place of a proof
#
# Any point has regions. Take those of each iterate for the regions of the solution, and solve (1): small random problems over three cones, with and without the proof.


# %% tags=["NEW-KEEP", "nbval-ignore-output"]
guessed = wrong = exposed = proved = 0
rng = np.random.default_rng(1)
for cone in ("matrices", "diagonal", "whole space"):
    for _ in range(12):
        prob = random_problem(cone, rng)
        lam = rng.uniform(0.05, 0.4) * prob.lam_max()
        best = ss.solve(prob, lam, tol=0.0, rtol=1e-13, max_iter=5000)
        for x in iterates(prob, lam)[1:]:
            (in_L, in_C, in_R), _ = regions_at(prob, x)
            certain = decide(prob, ss.spheres.midpoint_gap_bound(prob, x, lam))
            alpha, _ = finish(prob, lam, in_L, in_C, prob.alpha(x), 12)
            end = prob.cone.project(prob.terms.adjoint(alpha)) / lam
            is_wrong = not np.linalg.norm(end - best.x) <= 1e-6 * np.linalg.norm(best.x) + best.eps
            own = regions_at(prob, end)[0]
            guessed, wrong = guessed + 1, wrong + is_wrong
            exposed += is_wrong and any(
                (a != b).any() for a, b in zip(own, (in_L, in_C, in_R), strict=True)
            )
            if np.logical_or.reduce(certain).all():
                proved += 1
                assert not is_wrong
print(
    f"regions read off {guessed} iterates: {wrong} lead to another point than the solution; of "
    f"{proved} that the ball proves, none does"
)
print(
    f"the wrong ones give themselves away: {exposed} of {wrong} answers have margins in other "
    "regions than was said"
)
assert guessed > wrong > 0 and exposed == wrong

# %% [markdown]
# The second line is a proof of its own: an answer whose margins lie where (1) supposes them satisfies all conditions of optimality. So a solver may guess, solve and look. What the ball adds is that the
# guess is right before anything is solved.
#
# ## The face of a matrix is not known
#
# Over the non-negative cone the signs of $H$ name the features that are 0: the face of the cone in which the solution lies. Over matrices the signs of
# eigenvalues give the *rank* of the solution and no more: near each matrix there are others of the same rank with another range. Restrict the problem to the range of a certified
# center, and the best matrix there is not the solution:

# %% tags=["nbval-ignore-output"]
run = runs["wine, matrices"]
prob, lam, best, center = run.prob, run.lam, run.best, run.balls[np.argmin(run.left)].center
h, V = np.linalg.eigh(prob.terms.adjoint(prob.alpha(center)))
basis = V[:, h > 0.0]
inner = ss.Problem(ss.Triplets(wine[0] @ basis, ss.Triplets.from_labels(*wine, k=3).index), narrow)
restricted = ss.solve(inner, lam, tol=0.0, rtol=1e-13, max_iter=5000)
lifted = basis @ restricted.x @ basis.T
excess = prob.primal(lifted, lam) / best.primal - 1.0
rank = np.linalg.matrix_rank(best.x, tol=1e-9 * np.linalg.norm(best.x))
print(
    f"rank by the ball {basis.shape[1]}, rank of the solution {rank}; objective of the best "
    f"matrix in the range of the center: too high by {excess:.0e} of it"
)
assert rank == basis.shape[1] and excess > 1e-13

# %% [markdown]
# ## Two balls that keep
#
# Shibagaki, Karasuyama, Hatano and Takeuchi (2016), who named this, keep samples by a ball for the slopes: $\rho < \alpha_t < 1 - \rho$. With MGB,
# $\gamma\sum_t w_t(\alpha_t - \alpha^\star_t)^2 \le \lambda r^2$ at $\alpha = \alpha(x)$, where $w_t$ is the weight of a term ([`49-features-and-terms`](49-features-and-terms.ipynb)). So a term has the radius
# $\rho_t = r\sqrt{\lambda/(\gamma w_t)}$. In margins that is a half width of $\gamma\rho_t = r\sqrt{\lambda\gamma/w_t}$, in place of $r\|a_t\|$. The ball of slopes is the narrower one where
# $w_t\|a_t\|^2 > \lambda\gamma$. Its center is $\alpha(x)$, not the slopes at the center of MGB, so neither decides all that the other does. Here all weights are 1:


# %%
def kept_by_slopes(prob, x, lam, radius):
    """Terms that the ball of slopes proves to be in C, from the radius of MGB at x."""
    alpha = prob.alpha(x)
    weights = 1.0 if prob.terms.weights is None else prob.terms.weights
    rho = radius * np.sqrt(lam / prob.loss.width / weights)
    return (rho < alpha) & (alpha < 1.0 - rho)


# %% tags=["NEW-KEEP", "nbval-ignore-output"]
rows = {}
for name, run in runs.items():
    true, scale = regions_at(run.prob, run.best.x)[0][1], run.lam * run.prob.loss.width
    by_x = [found[1] for found in run.masks]
    by_slopes = [
        kept_by_slopes(run.prob, x, run.lam, ball.radius)
        for x, ball in zip(run.points, run.balls, strict=True)
    ]
    assert not (np.array(by_slopes) & ~true).any()
    kept = by_x, by_slopes, np.array(by_x) | by_slopes
    rows[name] = [
        (run.prob.terms.norms**2 > scale)[true].mean(),
        *(np.mean(masks) / true.mean() for masks in kept),
    ]
print("share of the terms in between that are kept, mean over the iterates")
print(f"{'':16} {'|a|^2 > lam gamma':>18} {'by x':>6} {'by slopes':>10} {'by either':>10}")
for name, (longer, *kept) in rows.items():
    print(f"{name:16} {longer:18.2f} {kept[0]:6.2f} {kept[1]:10.2f} {kept[2]:10.2f}")

# %% [markdown]
# ### Broken on purpose: one radius for all weights
#
# One sample $a = 1$ of weight $w$, with $\lambda\gamma = w$ and a threshold $\tau$ just below 0. (A second sample at the origin, in R everywhere, makes the second class that the library asks for.) The solution is $x^\star = 0$ with slope 0: the sample is in R. At $x = \tau - 0.4\gamma$ the slope is 0.4. The midpoint of
# $x$ and $x(\alpha)$ is $x^\star$, but for the threshold, so the whole radius is left for the slope, and $\rho_t$ is 0.4, whatever the weight. The radius $r\sqrt{\lambda/\gamma}$ is $0.4\sqrt w$: below weight 1 it keeps a sample that is in R.

# %% tags=["NEW-KEEP"]
for weight in (0.25, 1.0, 4.0):
    sample = ss.Samples([[1.0], [0.0]], [1, -1], weights=[weight, 1.0]).with_threshold(
        np.array([-1e-6, -1.0])
    )
    prob, lam, x = ss.Problem(sample,
                              wide), weight / wide.width, np.array([-1e-6 - 0.4 * wide.width])
    assert prob.terms.margins(ss.solve(prob, lam, tol=1e-14).x)[0] > -1e-6  # in R
    radius = ss.spheres.midpoint_gap_bound(prob, x, lam).radius
    rho, alpha = radius * np.sqrt(lam / wide.width), prob.alpha(x)[0]
    wrong = bool(rho < alpha < 1.0 - rho)
    told = {True: "kept, wrongly", False: "not kept"}
    own = kept_by_slopes(prob, x, lam, radius)[0]
    print(
        f"weight {weight:4}: slope {alpha:.2f}; by {rho:.2f}, one radius for all weights: "
        f"{told[wrong]}; by {rho / np.sqrt(weight):.2f}, its own: {told[own]}"
    )
    assert wrong == (weight < 1.0) and not own and kept_by_slopes(prob, x, lam, 0.98 * radius)[0]

# %% [markdown]
# With 2 % less than $\rho_t$ each of the three is kept, wrongly: the radius cannot be smaller. Four samples with random weights, and points around the solution, say the same:

# %% tags=["NEW-KEEP", "nbval-ignore-output"]
rng = np.random.default_rng(2)
n_one = n_wrong = n_own = 0
for _ in range(100):
    sample = ss.Samples(
        rng.standard_normal((4, 2)), [1, -1, 1, -1], weights=rng.choice([0.05, 0.2, 1.0], 4)
    )
    prob, lam = ss.Problem(sample, wide), 10.0 ** rng.uniform(-1.5, 0.5)
    best = ss.solve(prob, lam, rtol=1e-12)
    (_, in_C, _), away = regions_at(prob, best.x)
    out = ~in_C & (away > best.eps * sample.norms)
    for _ in range(20):
        x = best.x + 10.0 ** rng.uniform(-2.0, 0.3) * rng.standard_normal(2)
        radius = ss.spheres.midpoint_gap_bound(prob, x, lam).radius
        by_own, alpha, rho = (
            kept_by_slopes(prob, x, lam, radius),
            prob.alpha(x),
            radius * np.sqrt(lam / wide.width),
        )
        by_one = (rho < alpha) & (alpha < 1.0 - rho)
        assert not (by_own & out).any()
        n_own, n_one, n_wrong = n_own + by_own.sum(), n_one + by_one.sum(), n_wrong + (by_one
                                                                                       & out).sum()
print(
    f"kept with a radius for each weight: {n_own}, none wrongly; with one radius for all: "
    f"{n_one}, {n_wrong} of them wrongly"
)
assert n_own > 300 and n_wrong > 0

# %% [markdown]
# ## Does a solver gain?
#
# Once all is decided, one system replaces the iterations that are left. But a Newton method solves such a system in every step, from guessed regions, and its
# last step is this one. Three iterations of the gradient method: from which on its regions are those of the solution (a Newton step from there is the last), from which on the ball
# knows them, and the last one, at a relative gap of $10^{-12}$.

# %% tags=["nbval-ignore-output"]
print(f"{'':16} {'right':>6} {'proved':>7} {'last':>5}   steps of the default method")
for name, run in runs.items():
    true = regions_at(run.prob, run.best.x)[0]
    right = [
        all((a == b).all() for a, b in zip(regions_at(run.prob, x)[0], true, strict=True))
        for x in run.points
    ]
    solution = ss.solve(run.prob, run.lam, tol=0.0, rtol=1e-12, screening=())
    print(
        f"{name:16} {right.index(True):6} {np.argmin(run.left):7} {len(run.points) - 1:5}   "
        f"{solution.n_iter:27}"
    )
    assert right.index(True) <= np.argmin(run.left) < len(run.points)

# %% tags=["nbval-ignore-output"]
def milliseconds(function, *arguments, **options):
    """CPU time of a call."""
    begin = time.process_time()
    function(*arguments, **options)
    return 1e3 * (time.process_time() - begin)


accurate = {"tol": 0.0, "rtol": 1e-12, "screening": ()}
for name, run in runs.items():
    k, steps = np.argmin(run.left), newton_steps(run.prob)
    start = run.prob.alpha(run.balls[k].center)
    by_gradient = milliseconds(
        ss.solve, run.prob, run.lam, method="gradient", max_iter=5000, **accurate
    )
    by_default = milliseconds(ss.solve, run.prob, run.lam, **accurate)
    to_decide = milliseconds(decide, run.prob, run.balls[k])
    to_finish = milliseconds(finish, run.prob, run.lam, *run.masks[k][:2], start, steps)
    print(
        f"{name:16} CPU ms: gradient {by_gradient:6.1f}   default {by_default:6.1f}   to decide "
        f"once {to_decide:6.2f}   to finish {to_finish:6.1f}"
    )

# %% [markdown]
# **Verdict.** The proof comes a few iterations after the guess has become right, and well before the last iteration of a gradient method. A Newton method needs no proof: its answer is checked by a gap. A solver gains nothing by the third
# way, so the library decides two. What is gained is knowledge: which terms hold the margin for certain, the rank of a metric, and a solution in closed form.
#
# ## Exercise
#
# For which $\lambda$ beside the given one does the closed form hold? Take samples, and all terms decided.
#
# <details>
# <summary><b>Solution</b></summary>
#
# Two balls from the same pair, for the ends of an interval of $\lambda$, hold the solutions of the whole interval ([`48-certified-choice`](48-certified-choice.ipynb)). If both decide all terms, and alike, the regions
# are the same everywhere between. There $x^\star(\lambda) = (\lambda I + A_C^*A_C/\gamma)^{-1}b$ with $b = c + \sum_{t\in L}a_t + A_C^*\tau_C/\gamma$: a rational curve, of which one eigendecomposition gives all points.
#
# </details>
#
# ## Fine print
#
# * The hinge, $\gamma = 0$, has no terms certain to be in between: the interval is one point. Its support vectors stay undecided by any ball.
# * With weights, $H(\alpha) = c + \sum_t w_t\alpha_t a_t$, and (1) stays as it is. The rows of $A_C$ are then $\sqrt{w_t}\,a_t$. A free intercept adds one unknown and one equation, $\sum_t y_t\alpha_t = 0$.
# * The lower threshold $\tau_t - \gamma$ is rounded once, as in the rules of the library.
#
# Literature: A. Shibagaki, M. Karasuyama, K. Hatano, I. Takeuchi, *Simultaneous safe screening of features and samples in doubly sparse modeling*, ICML 2016 (arXiv 1602.02485), read without its appendix: the
# name, features kept by the ball for $x$ (their Theorem 4), samples by the ball for the slopes (Theorem 5), both from the gap; samples by the ball for $x$ are announced there for the appendix. They use it to leave out tests and to stop screening. The
# system, the cones, the signs of $H$ and the comparison of the two balls are worked out here. Certainty of another piece than the usual one is known of other problems:
# T. Guyard, C. Herzet, C. Elvira, *Screen & Relax*, ICASSP 2022 (arXiv 2110.07281), find entries of an elastic net that are certainly not zero, and solve a linear system once the support is known; C. Elvira, C. Herzet,
# *Safe squeezing for antisparse coding*, IEEE Trans. Signal Processing 2020, find entries that are certainly at the largest size. Of both the abstract or the introduction was read. D. Sun, J. Han, *Newton and quasi-Newton methods for a class of nonsmooth equations and related problems*, SIAM J. Optim. 7, 1997, from
# which only the result is taken: Newton's method ends after finitely many steps where the pieces are linear.
