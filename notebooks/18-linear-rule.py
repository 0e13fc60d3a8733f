# %% [markdown]
# # The linear rule: a ball cut by a half-space
#
# A ball alone does not use the cone. A rule that uses all of the cone needs eigenvalues for every triplet. A rule that
# uses *one* supporting half-space of the cone needs an inner product. This notebook finds the extreme values of
# $\langle H, X\rangle$ over a ball and a half-space, in one formula with two angles, and checks the printed theorem
# against it.
#
# At the end you will have seen that
#
# * the answer is $\langle H, Q\rangle - r\|H\| \cos(\theta + \varphi)$: one angle says how deep the cut is, the other
#   where $H$ points;
# * every ball of a solver comes with such a half-space, without extra work: its normal is the part of $H(\alpha)$ or of
#   the center that the projection has removed;
# * the printed theorem has three branches that say the same, once its $H = aP$ is read with $a \ge 0$, as in the
#   paper's proof;
# * the square root by which the third branch divides is positive, except for a ball that only touches the half-space.
#   An optimal reference leads to such a ball.

# %%
from fractions import Fraction

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np
import sympy as sp

import safescreen as ss
from safescreen_book import datasets, figures

plt.rcParams.update(figures.STYLE)


# %% [markdown]
# ## The story in a picture
#
# The ball around $Q$ holds the solution. All of the cone lies on one side of the plane $\langle P, X\rangle = 0$. So the
# solution is in the shaded cap. Over the whole ball the margin of a triplet $H$ is smallest at the hollow point, which
# the plane cuts off. Over the cap it is smallest at the star, at the edge of the cut, and larger. So the cap
# proves more of the decisions that need the smallest margin to be large.
#
# Right: by how much. Over the ball the smallest margin is $r\|H\|$ below the margin of the center. The curves say which share
# of this distance is left, against the angle $\varphi$ between $H$ and the plane, for five depths $\sin\theta$ of the
# plane. A deep cut can make the share negative: the smallest margin is then *above* the margin of the center.

# %%
def draw_cut_ball(ax, th, ph):
    """The ball with center Q, cut by a plane at height sin(th), and a triplet H in the direction
    ph."""
    turn = np.linspace(0, 2 * np.pi, 400)
    ax.plot(np.cos(turn), np.sin(turn), color=figures.OTHERS[1])
    kept = np.linspace(th, np.pi - th, 200)  # p points up, the plane is at height sin(theta)
    ax.fill(np.cos(kept), np.sin(kept), color=figures.OTHERS[1], alpha=0.15, linewidth=0)
    ax.axhline(np.sin(th), color=figures.COLOURS["edge"])
    arrow = {"arrowstyle": "->", "color": "#333333"}
    direction = np.array([np.cos(ph), np.sin(ph)])
    ax.annotate("", direction * 0.75, (0, 0), arrowprops=arrow)
    ax.text(*(direction * 0.8), "$H$")
    ax.plot(*-direction, "o", markerfacecolor="white", color="black")
    ax.plot(-np.cos(th), np.sin(th), "*", color="black", markersize=11)
    ax.plot(0, 0, "+", color=figures.OTHERS[1])
    ax.text(0.06, -0.12, "$Q$")
    ax.text(1.02, np.sin(th) + 0.05, r"$\langle P, X\rangle = 0$", fontsize=8.5)
    ax.set(aspect="equal", title="the cut ball", xticks=[], yticks=[], xlim=(-1.2, 1.7))


# %%
figure, axes = figures.panels(2, height=3.6)
draw_cut_ball(axes[0], np.radians(25), np.radians(35))
ax, degrees = axes[1], np.linspace(-90, 90, 361)
for depth in (-0.9, -0.5, 0.0, 0.5, 0.9):
    share = np.cos(np.maximum(np.arcsin(depth) + np.radians(degrees), 0.0))
    ax.plot(degrees, share, color=plt.cm.viridis((depth + 1) / 2.2),
            label=rf"$\sin\theta$ = {depth:.1f}")
ax.axhline(0, color="#CCCCCC", linewidth=0.8)
ax.set(
    xlabel=r"$\varphi$: from $H = -|a|P$ to $H = |a|P$, degrees",
    title="share of the distance that is left",
)
ax.set_xticks([-90, -45, 0, 45, 90])
ax.legend(loc="lower left")
figures.show(
    "Left, a horizontal line cuts a disc; only the cap above the line is left, and the smallest "
    "margin moves from the lowest point of the disc, hollow, to an "
    "end of the cut, a star. Right, curves show the share of the distance that is left against "
    "the angle, one for each position of the cut. "
    f"They fall from 1, the last one to {share.min():.1f}."
)

# %% [markdown]
# ## The claim
#
# The question (STS19 problem P3): given a ball that holds the solution and a half-space that holds the
# cone, how small can $\langle H, X\rangle$ be?
#
# $$\min_X\ \langle H, X\rangle \quad\text{subject to}\quad \|X - Q\| \le r, \qquad \langle P, X\rangle \ge 0 .$$
#
# > **As printed** (STS19 Theorem 9, STS18 Theorem 3.1). The minimum is
#
# $$\begin{cases} 0 & \text{if } H = aP,\\
# \langle H, Q\rangle - r\|H\| & \text{if } \langle P,\, Q - r H/\|H\| \rangle \ge 0,\\
# \langle H,\, (\beta P - H)/\alpha + Q \rangle & \text{otherwise,}\end{cases}$$
#
# $$\alpha = \sqrt{\frac{\|P\|^2\|H\|^2 - \langle P, H\rangle^2}{r^2\|P\|^2 - \langle P, Q\rangle^2}},\qquad
# \beta = \frac{\langle P, H\rangle - \alpha\langle P, Q\rangle}{\|P\|^2} .$$
#
# In appendix K the first branch stands for a ball whose multiplier is 0, and there $H = \beta P$ with $\beta \ge
# 0$: so its $a$ is meant to be non-negative, which the theorem does not repeat.
#
# > **In one formula.** With
#
# $$\sin\theta = \frac{-\langle P, Q\rangle}{r\,\|P\|}, \qquad \sin\varphi = \frac{\langle P, H\rangle}{\|P\|\,\|H\|}, \qquad
# -\tfrac{\pi}{2} \le \theta, \varphi \le \tfrac{\pi}{2},$$
#
# > the minimum is $\langle H, Q\rangle - r\|H\|\cos(\max(\theta + \varphi, 0))$ whenever the plane cuts
# > the ball ($|\langle P, Q\rangle| \le r\|P\|$), parallel or not. A ball inside the half-space keeps
# > $\langle H, Q\rangle - r\|H\|$; a ball outside is a contradiction.
#
# | assumption | used in step |
# |---|---|
# | the solution is in the ball and in the half-space | 1 |
# | the two have a common point | 3 |
#
# The maximum, which the rule for L needs, is minus the minimum for $-H$.
#
# <details>
# <summary><b>Symbols</b></summary>
#
# | symbol | what it is |
# |---|---|
# | $P(x;\lambda)$ | $\sum_t \ell(\langle a_t, x\rangle) - \langle c, x\rangle + \tfrac\lambda2\lVert x\rVert^2$, to be minimised over $x \in K$; its solution is $x^\star$ |
# | loss $\ell(u)$ | smoothed hinge: $0$ for $u > 1$; $\tfrac{(1-u)^2}{2\gamma}$ for $1-\gamma \le u \le 1$; $1-u-\tfrac\gamma2$ for $u < 1-\gamma$; the hinge for $\gamma \to 0$ |
# | cone $K$ | semidefinite matrices ($x = M$, $a_t = H_{ijl}$), or vectors $x \ge 0$ (diagonal metrics), or the whole space (support vector machines); $[\,\cdot\,]_K$ projects onto it |
# | $H(\alpha)$ | $c + \sum_t \alpha_t a_t$ with one $\alpha_t \in [0,1]$ a term; $\alpha(x)$ has $\alpha_t = -\ell'(\langle a_t, x\rangle)$ |
# | $x(\alpha)$ | $[H(\alpha)]_K/\lambda$; the dual is $D(\alpha;\lambda) = \sum_t (\alpha_t - \tfrac\gamma2\alpha_t^2) - \tfrac1{2\lambda}\lVert[H(\alpha)]_K\rVert^2$ |
#
# </details>

# %% [markdown]
# ## Where the half-space comes from
#
# Take any element $A$ of the space and its nearest point $A_+ = [A]_K$ of the cone; write $A = A_+ - A_-$. (STS19
# writes $A_-$ for what is $-A_-$ here.) **$P = A_-$ is the normal of a half-space that contains the cone:**
#
# 1. For $X \in K$ the segment from $A_+$ to $X$ lies in the cone and cannot come nearer to $A$ than $A_+$:
#    $\|A_+ + t(X - A_+) - A\|^2 \ge \|A_+ - A\|^2$ for $0 < t \le 1$. Divide by $t$, let $t \to 0$:
#    $\langle A_-, X - A_+\rangle \ge 0$, a supporting hyperplane at the projection.
# 2. $X = 0$ and $X = 2A_+$ are in the cone as well: $\langle A_-, A_+\rangle = 0$.
# 3. Hence $\langle A_-, X\rangle \ge 0$ for all $X \in K$, and so for $x^\star \in K$. The sign of $P$ matters: $-A_-$
#    would cut off everything but a face of the cone.
#
# Which $A$ should it be? One that is projected anyway.
#
# | ball | $A$ | its plane and its center |
# |---|---|---|
# | GB | its own center $Q$, outside of the cone | $\langle P, Q\rangle = -\lVert P\rVert^2$: passed the center, $\theta > 0$ |
# | DGB, MGB | $H(\alpha)$, projected for the dual value | $\langle P, x(\alpha)\rangle = 0$, so $\langle P, Q\rangle = \langle P, x\rangle \ge 0$ for DGB and half of it for MGB: $\theta \le 0$ |
# | CDGB | $H(\alpha)$ with the slopes at $x(\alpha)$ | $\langle P, Q\rangle \ge 0$, since $Q$ is in the cone |
# | PGB, RRPB along a path | none: PGB is the ball around what the plane leaves of GB; the path's center is a multiple of a point of $K$ | |
#
# At the optimum $x^\star = [H(\alpha^\star)]_K/\lambda$, so $\langle P, x^\star\rangle = 0$: the plane of $H(\alpha)$
# touches the solution in the end. The library keeps $P$ in `Sphere.normal`, and `rules.cone_halfspace` uses it.
#
# We take forty random problems, full and diagonal, with references and dual points that are far from optimal. For each
# ball we compare the normal with the formula, and compute the least $\langle P, X\rangle / \|P\|\|X\|$ over elements of
# the cone and the solution, and the depth $\sin\theta$. We count what the cut decides beyond the ball. With thresholds
# next to the margins of the solution we test whether the region holds the solution, and how often the region of $-P$
# loses it.

# %%
def contradicted(problem, margins, ball):
    """Decisions of a cut ball that the solution contradicts, with thresholds a little beyond its
    margins."""
    by = 1e-7 * (1.0 + np.abs(margins))
    R, L = (
        ss.Problem(problem.terms.with_threshold(margins + shift), ss.Hinge()) for shift in (by, -by)
    )
    return ss.rules.cone_halfspace(R, ball).n_R + ss.rules.cone_halfspace(L, ball).n_L


def balls_with_normals(problem, x, lam, alpha):
    """Balls as solvers build them, each with the A that its normal should come from."""
    reference = ss.spheres.base.BallReference(problem, problem.evaluate(x, lam, alpha))
    H, at_dual = (
        problem.terms.adjoint(alpha),
        problem.terms.adjoint(problem.alpha(problem.x_of(alpha, lam))),
    )
    sources = {"GB": 0.5 * (x + H / lam), "DGB": H, "MGB": H, "CDGB": at_dual}
    return {name: (ss.SPHERES[name].build(reference), A) for name, A in sources.items()}


# %%
def random_case(repeat, rng):
    """A small problem over a cone, matrices or diagonals in turn, its lam and solution, and a
    pair (x, alpha) near it."""
    d = 2 + repeat % 2
    X, y = rng.standard_normal((12, d)), np.arange(12) % 2
    X[y == 1] += rng.uniform(0.0, 0.5, d)
    small = ss.Problem(ss.Triplets.from_labels(X, y, k=3, diagonal=d == 3), ss.SmoothedHinge(0.05))
    lam = max(small.lam_max(), 1.0) * rng.choice([0.3, 0.1, 0.03])
    star = ss.solve(small, lam, rtol=1e-12, tol=1e-12)
    alpha = np.clip(star.alpha + 0.3 * rng.standard_normal(len(small)), 0.0, 1.0)
    noise = 0.1 * np.abs(star.x).max() * rng.standard_normal(small.cone.shape)
    x = small.cone.project(star.x + (noise if d == 3 else noise + noise.T))
    return small, lam, star, alpha, x


def points_of_cone(small, rng):
    """Two hundred points of the cone, of rank one or diagonal."""
    d = small.cone.shape[0]
    points = rng.standard_normal((200, d))
    return np.abs(points) if small.cone.shape == (d,) else points[:, :, None] * points[:, None, :]


# %%
def row_of(small, ball, points, star, margins):
    """Least cosine of the normal with points of the cone, depth, how many more are decided, how
    many wrongly, and whether -P loses the solution."""
    P, size = ball.normal, np.linalg.norm(ball.normal)
    least = min(np.vdot(P, X) / np.linalg.norm(X) / size for X in (*points, star.x) if X.any())
    cut, lost = (
        ss.rules.cone_halfspace(small, ball),
        np.vdot(P, star.x) > 1e-6 * size * np.linalg.norm(star.x),
    )
    more = cut.n_L + cut.n_R - np.sum(ss.rules.sphere(small, ball).rate * len(small)).round()
    return (
        least,
        -np.vdot(P, ball.center) / size / ball.radius,
        more,
        contradicted(small, margins, ball),
        lost,
    )


# %% tags=["normals"]
rng = np.random.default_rng(5)
seen = {name: np.array([9.0, -9.0, 0, 0, 0]) for name in ("GB", "DGB", "MGB", "CDGB")}
for repeat in range(40):
    small, lam, star, alpha, x = random_case(repeat, rng)
    points, margins = points_of_cone(small, rng), small.terms.margins(star.x)
    for name, (ball, A) in balls_with_normals(small, x, lam, alpha).items():
        P = ball.normal
        assert np.linalg.norm(P - (small.cone.project(A) - A)) <= 1e-9 * np.linalg.norm(A)
        if np.linalg.norm(P) <= 1e-9 * np.linalg.norm(A):
            continue  # A is in the cone: no half-space
        least, depth, *counts = row_of(small, ball, points, star, margins)
        row = seen[name]
        row[0], row[1] = min(row[0], least), max(row[1], depth)
        row[2:] += counts
print(
    "ball   least <P,X>/|P||X| (bound -1e-9)   deepest sin(theta)   more decided   "
    "contradicted   lost by -P"
)
for name, (least, depth, more, wrong, lost) in seen.items():
    print(
        f"{name:5} {round(least, 6) + 0.0:24.6f} {round(depth, 2) + 0.0:25.2f} {more:14.0f} "
        f"{wrong:14.0f} {lost:8.0f} of 40"
    )
    assert least >= -1e-9 and wrong == 0 < more and depth <= (1.0 + 1e-9 if name == "GB" else 1e-9)
    assert lost > 10

# %% [markdown]
# ## Derivation
#
# Scale $P$ to length one, $p = P/\|P\|$, and write
#
# $$n = \|H\|, \quad s = \langle H, p\rangle = n \sin\varphi, \quad \delta = -\langle p, Q\rangle = r\sin\theta .$$
#
# $\delta$ is how far the plane lies from the center, counted positive when it has passed it.
#
# ### Step 1: a bound for every multiplier
#
# Let $X$ be in both regions and $k \ge 0$. Since $\langle p, X - Q\rangle \ge \delta$,
#
# $$\begin{aligned} \langle H, X\rangle &\ge \langle H, X\rangle - k\big(\langle p, X - Q\rangle - \delta\big)
# = \langle H, Q\rangle + k\delta + \langle H - kp,\, X - Q\rangle \\ &\ge \langle H, Q\rangle + k\delta - r\|H - kp\| . \end{aligned} \tag{1}$$
#
# This is weak duality, and it is all that safety needs: **any** $k \ge 0$ gives a valid lower bound. The
# library evaluates (1) at a computed $k$ with every rounding added, so an inaccurate $k$ costs tightness
# and nothing else.
#
# ### Step 2: the best multiplier
#
# $\|H - kp\|^2 = n^2 - 2ks + k^2$. The right side of (1) is concave in $k$; put its derivative to zero.
# sympy confirms that $k^\star = n \sin(\theta + \varphi)/\cos\theta$ does it, and what the bound is
# there.

# %%
r, n = sp.symbols("r n", positive=True)
theta, phi, k = sp.symbols("theta phi k", real=True)
s, delta = n * sp.sin(phi), r * sp.sin(theta)

k_star = n * sp.sin(theta + phi) / sp.cos(theta)
length = n * sp.cos(phi) / sp.cos(theta)  # |H - k p| at k_star: cos(theta), cos(phi) > 0
slope = delta - r * (k_star - s) / length
bound = k_star * delta - r * length

assert sp.simplify(sp.expand_trig(k_star**2 - 2 * k_star * s + n**2 - length**2)) == 0
assert sp.simplify(sp.expand_trig(slope)) == 0
assert sp.simplify(sp.expand_trig(bound + n * r * sp.cos(theta + phi))) == 0
print("slope at k*:", sp.simplify(sp.expand_trig(slope)))
print("bound at k*, beyond <H, Q>:", -n * r * sp.cos(theta + phi))

# %% [markdown]
# If $\theta + \varphi \le 0$, then $k^\star \le 0$ is not allowed, the best admissible multiplier is $k =
# 0$ and the half-space changes nothing: $\langle H, Q\rangle - rn$. The two together are
# $\cos(\max(\theta+\varphi, 0))$.
#
# ### Step 3: the bound is attained
#
# For $k^\star > 0$ the point $X = Q - r (H - k^\star p)/\|H - k^\star p\|$ is on the sphere; it is on the
# plane as well, because $\langle p, X - Q\rangle - \delta$ is the slope that step 2 put to zero. Both
# inequalities in (1) are then equalities. For $k = 0$ the ball's own minimiser $Q - rH/n$ satisfies
# $\langle p, X - Q\rangle = -r\sin\varphi \ge r \sin\theta = \delta$. So (1) at its best $k$ *is* the
# minimum.
#
# ### Step 4: the printed branches
#
# The second branch asks for $\langle P, Q - rH/\|H\|\rangle \ge 0$, that is $-\sin\theta - \sin\varphi
# \ge 0$, that is $\theta + \varphi \le 0$: the same. The third branch, in angles:

# %%
alpha = n * sp.cos(phi) / (r * sp.cos(theta))  # the printed square root, for |P| = 1
beta = s + alpha * delta  # <P, Q> = -delta
value = (beta * s - n**2) / alpha  # <H, (beta P - H)/alpha>
assert sp.simplify(sp.expand_trig(beta - k_star)) == 0
assert sp.simplify(sp.expand_trig(value + n * r * sp.cos(theta + phi))) == 0
print(
    "printed beta less k*:",
    sp.simplify(sp.expand_trig(beta - k_star)),
    "  third branch less -n r cos(theta + phi):",
    sp.simplify(sp.expand_trig(value + n * r * sp.cos(theta + phi))),
)

# %% [markdown]
# Both are right. The first branch is the case of appendix K in which the multiplier of the ball is 0: then $H =
# \beta P$ with $\beta \ge 0$ and the value is $\beta\langle P, X\rangle = 0$. For $H = aP$ the angle $\varphi$ is
# $+90°$ ($a > 0$) or $-90°$ ($a < 0$), and our formula says
#
# | | plane cuts the ball | ball inside the half-space |
# |---|---|---|
# | $a > 0$ | $\langle H, Q\rangle - r n \cos(\theta + 90°) = \langle H, Q\rangle + n\delta = 0$ | $\langle H, Q\rangle - rn > 0$ |
# | $a < 0$ | $\langle H, Q\rangle - rn$ | $\langle H, Q\rangle - rn$ |
#
# So with $a \ge 0$ the printed 0 is the minimum where the plane cuts the ball, and *below* the minimum where it does
# not: a valid bound in any case, for any threshold. If the second branch is asked first, even that is exact.

# %%
for name, angle in {"a > 0": sp.pi / 2, "a < 0": -sp.pi / 2}.items():
    q = -n * sp.sin(angle) * r * sp.sin(theta)  # <H, Q> = n sin(phi) <p, Q>
    free = sp.simplify(q - n * r)
    cut = sp.simplify(q - n * r * sp.cos(theta + angle)) if angle > 0 else free
    print(f"{name}: plane cuts the ball {str(cut):22} ball alone {free}")

# %% [markdown]
# ## Ten lines of numpy
#
# Elements are flat vectors here. `minimum` is the rule by the two angles, for a plane at any level $b$; `printed` the
# theorem with its branches in the printed order and $a \ge 0$. (The last argument is for the fine print.)


# %%
def minimum(H, Q, r, P, b=0.0):
    """Minimum of <H, X> over the ball and <P, X> >= b, by the two angles."""
    n, length = np.linalg.norm(H), np.linalg.norm(P)
    sin_theta, sin_phi = (b - P @ Q) / (length * r), np.clip(P @ H / (length * n), -1.0, 1.0)
    if sin_theta > 1.0:
        return np.nan  # no common point
    if sin_theta + sin_phi <= 0.0 or sin_theta <= -1.0:
        return H @ Q - r * n  # the ball alone; so too for every ball inside the half-space
    return H @ Q - r * n * np.cos(np.arcsin(sin_theta) + np.arcsin(sin_phi))


def printed(H, Q, r, P, any_sign=False):
    """STS19 Theorem 9 with its three branches in the printed order, a >= 0."""
    PP, HH, PH, PQ = P @ P, H @ H, P @ H, P @ Q
    if np.linalg.norm(H - PH / PP * P) <= 1e-9 * np.sqrt(HH) and (PH >= 0.0 or any_sign):
        return 0.0
    if PQ - r * PH / np.sqrt(HH) >= 0.0:
        return H @ Q - r * np.sqrt(HH)
    alpha = np.sqrt((PP * HH - PH**2) / (r**2 * PP - PQ**2))
    return H @ ((PH - alpha * PQ) / PP * P - H) / alpha + H @ Q


# %% [markdown]
# ## Does it match? An outside solver and brute force
#
# cvxpy solves the problem as a cone program. Brute force draws points of the ball, half of them on its
# surface, and keeps those in the half-space. The instances come in kinds: $H$ in general position and $H = \pm P$,
# balls that the plane cuts and balls strictly inside the half-space.

# %%
x_var, center, length = cp.Variable(3), cp.Parameter(3), cp.Parameter(nonneg=True)
slope_H, slope_P = cp.Parameter(3), cp.Parameter(3)
program = cp.Problem(
    cp.Minimize(slope_H @ x_var), [cp.norm(x_var - center) <= length, slope_P @ x_var >= 0]
)


def by_cvxpy(H, Q, r, P):
    slope_H.value, center.value, length.value, slope_P.value = H, Q, r, P
    return program.solve(solver="CLARABEL")


# %%
def by_brute_force(H, Q, r, P, rng, size=200_000):
    step = rng.standard_normal((size, 3))
    step /= np.linalg.norm(step, axis=1, keepdims=True)
    step[::2] *= rng.uniform(0.0, 1.0, (len(step[::2]), 1))
    points = Q + r * step
    return np.min(points[points @ P >= 0.0] @ H)


def instance(rng, parallel, cut):
    P, Q = rng.standard_normal((2, 3))
    H = parallel * rng.uniform(0.5, 3.0) * P if parallel else rng.standard_normal(3)
    depth = P @ Q / np.linalg.norm(P)
    if not cut:  # move the center into the half-space, further than r
        Q = Q + (abs(depth) + 1.0) * P / np.linalg.norm(P)
        return H, Q, 0.8 * (P @ Q) / np.linalg.norm(P), P
    return H, Q, abs(depth) * rng.uniform(1.1, 3.0), P


# %%
def forty_cases(parallel, cut, rng):
    """How often the minimum by the angles and both printed ones are right, how often the true
    one is 0, and the printed one below it."""
    hits, zeros, below = np.zeros(3, dtype=int), 0, 0
    for _ in range(40):
        case = instance(rng, parallel, cut)
        truth = by_cvxpy(*case)
        tolerance = 1e-6 * (1.0 + np.linalg.norm(case[0]) * case[2])
        values = minimum(*case), printed(*case), printed(*case, any_sign=True)
        hits += [abs(value - truth) < tolerance for value in values]
        below += values[1] < truth - tolerance
        zeros += abs(truth) < tolerance
        assert values[1] < truth + tolerance  # never above: a valid bound
    return hits, zeros, below


def three_sampled(parallel, cut, rng):
    """How often of three no sampled point is below the minimum and one comes near it."""
    sampled = 0
    for _ in range(3):
        case = instance(rng, parallel, cut)
        reach = np.linalg.norm(case[0]) * case[2]
        excess = (by_brute_force(*case, rng) - minimum(*case)) / reach
        sampled += -1e-12 < excess < 0.05
    return sampled


# %% tags=["STS19-T9"]
rng = np.random.default_rng(18)
print(
    "H           the ball is    true min is   by the angles   printed, a >= 0   below it   (of 40)"
)
right = {}
for parallel, name in ((0, "in general"), (1, "a P, a > 0"), (-1, "a P, a < 0")):
    for cut in (True, False):
        hits, zeros, below = forty_cases(parallel, cut, rng)
        assert three_sampled(parallel, cut, rng) == 3
        right[parallel, cut] = tuple(int(h) for h in hits)
        where = "cut by plane" if cut else "inside"
        print(
            f"{name:11} {where:14} {'0' if zeros == 40 else 'not 0':13} {hits[0]:9} "
            f"{hits[1]:16} {below:12}"
        )
assert all(angles == 40 for angles, _, _ in right.values())
assert all(meant == (40 if key != (1, False) else 0) for key, (_, meant, _) in right.items())


# %% [markdown]
# ### The library
#
# `rules.halfspace` decides and does not report minima. Thresholds turn its decisions into a measurement: a millionth
# inside of the extreme value it must decide, and a millionth beyond it must not. Matrices, diagonal metrics and samples
# are tried, terms parallel to $P$ among them, for L and R, with thresholds shared or not, and planes of several depths
# and levels.

# %%
def terms_of(kind, P, rng):
    """Terms of a kind as flat rows; where the space allows it the first two are parallel to P."""
    X, y = rng.standard_normal((10, 2 if kind == "full" else 3)), np.arange(10) % 2
    if kind == "samples":
        X[0], X[1] = 2.0 * P, P
        terms = ss.Samples(X, 2 * y - 1)
    else:
        terms = ss.Triplets.from_labels(X, y, k=2, diagonal=kind == "diagonal")
    return terms, terms.elements(np.arange(len(terms)))[0].reshape(len(terms), -1)


def turning(terms, region, extremes, mask, inside, scale):
    """Numbers of terms decided with thresholds a millionth inside the extremes and beyond them."""
    up = loss.gamma * (mask == "in_L")
    decided = []
    for shift in (inside * 1e-6, -inside * 1e-6):
        at = ss.Problem(terms.with_threshold(extremes + up + shift * scale), loss)
        decided.append(getattr(ss.rules.halfspace(at, *region), mask).sum())
    return decided


# %%
def like_the_inequalities(terms, region, lows, highs, scale):
    """Check the masks for thresholds between two extremes, and for a half-space that misses the
    ball; return how many thresholds."""
    ball, P, b = region
    ends = np.sort(np.concatenate([lows, highs, highs + loss.gamma]))
    shared = 0
    for tau in 0.5 * (ends[1:] + ends[:-1])[np.diff(ends) > 3e-6 * scale.max()]:
        found = ss.rules.halfspace(ss.Problem(terms.with_threshold(tau), loss), *region)
        assert np.array_equal(found.in_R, lows > tau)
        assert np.array_equal(found.in_L, highs < tau - loss.gamma)
        shared += 1
    missed = ss.Problem(terms.with_threshold(lows[0]), loss)
    # no common point
    beside = ss.rules.halfspace(missed, ball, P, b + 2.0 * ball.radius * np.linalg.norm(P))
    assert np.array_equal(beside.in_R, ss.rules.sphere(missed, ball).in_R)
    return shared


# %% tags=["STS19-T9"]
loss, turned, n_terms, shared = ss.SmoothedHinge(gamma=0.05), np.zeros(2, dtype=int), 0, 0
for kind, shape in (("full", (2, 2)), ("diagonal", (3,)), ("samples", (3,))):
    for level in (-0.8, -0.3, 0.0, 0.5, 0.95):
        Q, P = rng.standard_normal((2, *shape))
        Q, P = (Q + Q.T, 7.0 * (P + P.T)) if kind == "full" else (Q, 7.0 * P)
        r = rng.uniform(0.5, 1.5)
        b = np.vdot(P, Q) + level * r * np.linalg.norm(P)
        terms, rows = terms_of(kind, P, rng)
        lows = np.array([minimum(H, Q.ravel(), r, P.ravel(), b) for H in rows])
        highs = -np.array([minimum(-H, Q.ravel(), r, P.ravel(), b) for H in rows])
        scale = 1.0 + np.linalg.norm(rows, axis=1) * (r + np.linalg.norm(Q))
        region = ss.Sphere(Q, r), P, b
        turned += turning(terms, region, lows, "in_R", -1.0, scale)
        turned += turning(terms, region, highs, "in_L", 1.0, scale)
        n_terms += 2 * len(terms)
        shared += like_the_inequalities(terms, region, lows, highs, scale)
print(
    f"library: decided a millionth inside {turned[0]} of {n_terms}, a millionth beyond "
    f"{turned[1]} of {n_terms};",
    end=" ",
)
print(f"masks equal at {shared} shared thresholds")
assert turned[0] == n_terms and turned[1] == 0


# %% [markdown]
# ### The last bit
#
# With $r = 5$ and a plane at distance 3 the corners of the cut are 4 away. So the extreme values for integers are
# integers, too large for double precision to hold exactly. Thresholds within three units in the last place of them may
# stay undecided, and none may be decided wrongly.

# %%
def integer_case(level, mask, sign, Q, m, u):
    """Samples whose extreme over the cut ball is an integer, the cut ball, the integers, and
    what plain numpy computes."""
    rows, labels = np.stack([-sign * u, m], axis=1), np.tile([1.0, -1.0], 8)
    exact = [
        int(a) * (int(Q[0]) + level) + int(b) * int(Q[1]) + sign * 4 * abs(int(b)) for a, b in rows
    ]
    computed = rows @ (Q + [level, 0.0]) + sign * 4.0 * np.abs(rows[:, 1])
    ball = ss.Sphere(Q.astype(float), 5.0)
    region = ball, np.array([1.0, 0.0]), float(Q[0] + level)
    return ss.Samples(rows * labels[:, None], labels), region, exact, computed


# %% tags=["STS19-T9"]
false = plain = 0
for level in (3, -3) * 40:
    Q, m = (
        rng.integers(-(1 << 33), 1 << 33, 2),
        4 * rng.integers(1 << 20, 1 << 28, 16) * rng.choice([-1, 1], 16),
    )
    u = (
        (rng.uniform(-0.7, 0.7, 16) * np.abs(m)).astype(int)
        if level > 0
        else 3 * np.abs(m) // 4 + rng.integers(1, 512, 16)
    )
    for mask, sign in (("in_R", -1), ("in_L", 1)):
        terms, region, exact, computed = integer_case(level, mask, sign, Q, m, u)
        for ulps in range(-3, 4):
            tau = np.array(exact, dtype=float)
            tau += ulps * np.spacing(np.abs(tau))
            wrong = np.array(
                [sign * (Fraction(float(t)) - e) <= 0 for t, e in zip(tau, exact, strict=True)]
            )
            found = ss.rules.halfspace(ss.Problem(terms.with_threshold(tau), ss.Hinge()), *region)
            false, plain = (
                false + np.sum(getattr(found, mask) & wrong),
                plain + np.sum((sign * (tau - computed) > 0) & wrong),
            )
print(
    "at the last bit, 17920 thresholds: wrong decisions: plain numpy "
    f"{'more than 100' if plain > 100 else plain}, library {false}"
)
assert false == 0 and plain > 100

# %% [markdown]
# By the angles all are right; the printed theorem, read with $a \ge 0$, is right or below the minimum. Where it is
# below, a ball wholly inside the half-space, a decision for R can be lost and none can be wrong.
#
# ## One feature
#
# How likely is $H = aP$? With several features it takes a coincidence, such as duplicated points. With *one* feature
# every matrix is a multiple of every other: two classes on a line, whose triplets are numbers, $H = (x_i - x_l)^2 -
# (x_i - x_j)^2$.

# %%
rng = np.random.default_rng(1)
X = np.concatenate([rng.normal(0.0, 1.0, 10), rng.normal(2.5, 1.0, 10)])[:, None]
problem = ss.Problem(ss.Triplets.from_labels(X, np.repeat([0, 1], 10), k=4), loss)
lam = 0.02 * problem.lam_max()
solution = ss.solve(problem, lam, tol=1e-10)
margins = problem.terms.margins(solution.x)
ball = ss.spheres.gradient_bound(problem, 0.9 * solution.x, lam)
H_all = problem.terms.elements(np.arange(len(problem)))[0].reshape(-1, 1)
Q, P = ball.center.ravel(), np.ones(1)  # the half-space x >= 0 is the cone itself


def screen(rule):
    """The rule's decisions: maximum below 1 - gamma, minimum above 1."""
    low = np.array([rule(H, Q, ball.radius, P) for H in H_all])
    high = np.array([-rule(-H, Q, ball.radius, P) for H in H_all])
    return high < 1.0 - loss.gamma, low > 1.0


# %%
library, outcome = ss.rules.halfspace(problem, ball, P.reshape(1, 1)), {}
found = {
    "by the angles": screen(minimum),
    "library": (library.in_L, library.in_R),
    "printed, a >= 0": screen(printed),
}
found["(taken literally)"] = screen(lambda *case: printed(*case, any_sign=True))
print(
    f"{len(problem)} triplets: at the solution L {np.sum(margins < 1.0 - loss.gamma)}, R "
    f"{np.sum(margins > 1.0)}"
)
print(f"{'':18} {'L':>5} {'R':>5} {'false':>6}")
for name, (L, R) in found.items():
    outcome[name] = (
        int(L.sum()),
        int(R.sum()),
        int(np.sum(L & (margins >= 1.0 - loss.gamma)) + np.sum(R & (margins <= 1.0))),
    )
    print("{:18} {:5} {:5} {:6}".format(name, *outcome[name]))
assert outcome["by the angles"] == outcome["library"]
assert outcome["library"][2] == 0 < outcome["library"][1]
assert outcome["printed, a >= 0"][2] == 0 < outcome["(taken literally)"][2]

# %% [markdown]
# ## The condition under the square root
#
# The third branch divides by $r^2\|P\|^2 - \langle P, Q\rangle^2 = r^2\|P\|^2\cos^2\theta$. Is it
# positive whenever the branch is taken? The branch means $\theta + \varphi > 0$, hence $\sin\theta >
# -\sin\varphi \ge -1$: a ball well inside the half-space never comes here. On the other side $\sin\theta
# \ge 1$ means that ball and half-space have at most one common point. So
#
# > the condition $r^2\|P\|^2 > \langle P, Q\rangle^2$ holds in the third branch **if and only if the
# > region has an interior**.
#
# The exception is met: with $A = Q_{GB}$ as the source of $P$, the region shrinks to a point
# exactly when PGB's radius does, $r_{PGB}^2 = r^2 - \|[Q_{GB}]_-\|^2 = r^2 \cos^2\theta$: at the optimum.
# On the way there rounding decides the sign of the difference.

# %%
H, P = np.array([1.0, 0.5, 0.0]), np.array([0.0, 0.0, 2.0])
for excess in (1e-2, 1e-6, 0.0, -1e-6):
    Q, r = np.array([0.3, 0.2, -1.0]), 1.0 + excess
    with np.errstate(all="ignore"):
        value = printed(H, Q, r, P)
    print(
        f"r - distance to the plane = {excess:6.0e}:  printed {value:8.5f}   by the angles "
        f"{minimum(H, Q, r, P):8.5f}"
    )
with np.errstate(all="ignore"):
    assert not np.isfinite(printed(H, np.array([0.3, 0.2, -1.0]), 1.0, P))
assert np.isclose(minimum(H, np.array([0.3, 0.2, -1.0]), 1.0, P), H @ [0.3, 0.2, 0.0])

# %% [markdown]
# A ball that touches the half-space (third line) leaves a single point, where $\langle H, X\rangle =
# 0.4$: the angles find it, the printed quotient does not. A ball that misses the half-space (last line)
# cannot hold the solution: NaN, and a NaN must screen nothing. The library falls back to the ball alone
# in both cases, which costs a little and is never wrong.

# %% [markdown]
# ## What it screens
#
# On wine, at a few values of $\lambda$, from the solution for the previous $\lambda$ of a path with ratio
# 0.9: the gradient bound alone, cut by its own half-space, and intersected with the whole cone. PGB is a
# ball around the cut ball, so the cut ball screens at least as much.

# %% tags=["nbval-ignore-output"]
wine = datasets.load("wine")
real = ss.Problem(ss.Triplets.from_labels(wine.X, wine.y, k=5), loss)
lams = real.lam_max() * 0.9 ** np.arange(13, 62, 12)
table = []
for lam1 in lams:
    x0 = ss.solve(real, lam1 / 0.9, rtol=1e-5, screening=("RRPB", "PGB")).x
    gb, pgb = (
        bound(real, x0, lam1)
        for bound in (ss.spheres.gradient_bound, ss.spheres.projected_gradient_bound)
    )
    found = [
        ss.rules.sphere(real, gb),
        ss.rules.sphere(real, pgb),
        ss.rules.cone_halfspace(real, gb),
        ss.rules.semidefinite(real, gb),
    ]
    table.append([f.rate for f in found])
    assert np.all(found[2].in_R >= found[0].in_R) and np.all(found[2].in_L >= found[0].in_L)
    assert table[-1][1] <= table[-1][2] + 1e-9 and table[-1][2] <= table[-1][3]
print("lam/lam_max    GB    PGB  GB+half-space  GB+cone")
for lam1, (a, b, c, d) in zip(lams / real.lam_max(), table, strict=True):
    print(f"{lam1:11.3f}  {a:.3f}  {b:.3f}  {c:13.3f}  {d:7.3f}")
assert table[-1][2] > table[-1][0] + 0.02

# %% [markdown]
# As $\lambda$ falls, the cone constraint becomes active, and the half-space begins to gain. PGB has nearly all of this
# gain already, and needs one margin a triplet in place of two. And the half-space has nearly all that the whole cone
# could gain.
#
# ## Exercise
#
# Nothing in the derivation needs the plane to pass through 0: for $\langle P, X\rangle \ge b$ only $\delta$ changes,
# $\delta = b/\|P\| - \langle p, Q\rangle$. A support vector machine offers such a region: the ball of radius $R$ around
# 0 and the half-space $\langle w_a, w\rangle \ge \|w_a\|^2$ (the *dome*). What is the minimum of $\langle z, w\rangle$
# over it?
#
# <details>
# <summary><b>Solution</b></summary>
#
# $Q = 0$ and $\delta = \|w_a\|$, so $\sin\theta = \|w_a\|/R$ and $\sin\varphi = \langle z, w_a\rangle/(\|z\|\|w_a\|)$.
# The minimum is $-R\|z\|\cos(\max(\theta + \varphi, 0))$; written out for $\theta + \varphi > 0$
#
# $$\langle z, w_a\rangle - \sqrt{R^2 - \|w_a\|^2}\,\sqrt{\|z\|^2 - \langle z, w_a\rangle^2/\|w_a\|^2} .$$
#
# This is the Dome Test of SSS14: the linear rule for triplets and the dome test for samples are one rule.
#
# </details>

# %%
rng, worst = np.random.default_rng(2), 0.0
for _ in range(200):
    z, w_a = rng.standard_normal((2, 3))
    R = np.linalg.norm(w_a) * rng.uniform(1.05, 2.0)
    angle = np.arcsin(np.linalg.norm(w_a) / R) + np.arcsin(
        z @ w_a / np.linalg.norm(z) / np.linalg.norm(w_a)
    )
    dome = -R * np.linalg.norm(z) * np.cos(max(angle, 0.0))
    worst = max(worst, abs(dome - minimum(z, np.zeros(3), R, w_a, w_a @ w_a)))
    if angle > 0:
        across = np.sqrt(max(z @ z - (z @ w_a) ** 2 / (w_a @ w_a), 0.0))
        assert np.isclose(dome, z @ w_a - np.sqrt(R**2 - w_a @ w_a) * across)
    else:
        assert np.isclose(dome, -R * np.linalg.norm(z))
print(
    f"dome test and linear rule with an offset, 200 instances: {max(worst, 1e-12):.0e} apart or "
    "less (bound 1e-9)"
)
assert worst < 1e-9

# %% [markdown]
# ## Fine print
#
# * **Cost.** Two margins a triplet, $\langle H, Q\rangle$ and $\langle H, P\rangle$, each one subtraction
#   of two pair distances, and two square roots. It needs one eigendecomposition, the one that gives $P$.
# * **Rounding.** The library never takes the inverse sine of anything: it computes $k^\star$ roughly and
#   evaluates (1) there, with error bounds for both margins, for $\delta$ and for $\|H - kp\|$. A computed
#   normal is in the dual cone only up to rounding; `cone_halfspace` moves the plane outward by as much.
# * **Parallel terms need no branch.** At $\varphi = \pm 90°$ formula and code are continuous. In floating
#   point $\|H - kp\|$ cancels there, so that the library's bound is sharp to about $10^{-7} r\|H\|$
#   instead of $10^{-15}$, on the safe side.
# * **The sign of $a$.** Theorem 9 prints "$H = aP$, where $a$ is a constant", and appendix K, headed "proof of
#   Theorem 10", has $H = \beta P$, $\beta \ge 0$. Taken literally, with $a$ of any sign, the branch would return 0
#   for $H = -|a|P$ too, where the minimum is $\langle H, Q\rangle - r\|H\|$: the last line of the example with one
#   feature. In the paper's experiments $d$ is at least 4 and the branch is met by coincidence only.
#
# ## References
#
# * STS19: Yoshida, Takeuchi, Karasuyama, *Safe Triplet Screening for Distance Metric Learning*, Neural
#   Computation 31, 2019: section 4.3, Theorem 9, proof in appendix K (there headed "Theorem 10").
# * STS18: the same authors, KDD 2018: Theorem 3.1, appendix C.
# * SSS13, SSS14: Ogawa, Suzuki, Takeuchi and coauthors, the same region for support vector machines.
