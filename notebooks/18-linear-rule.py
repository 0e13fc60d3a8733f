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
# * the minimum is $\langle H, Q\rangle - r\|H\| \cos(\theta + \varphi)$: the angle $\theta$ says how deep the
#   half-space cuts the ball, and $\varphi$ says where $H$ points;
# * every ball that a solver builds has such a half-space without extra work: the normal is the part of $H(\alpha)$ or of
#   the center that the projection has removed;
# * the three branches of the printed theorem give the same minimum, if $H = aP$ is read with $a \ge 0$, as in the
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
# ## The idea in a picture
#
# The ball around $Q$ contains the solution. All of the cone lies on one side of the plane $\langle P, X\rangle = 0$. So
# the solution is in the shaded cap. Over the ball the margin of a triplet $H$ is smallest at the hollow point, which the
# plane cuts off. Over the cap the margin is smallest at the star, at the edge of the cut. The margin is larger at the
# star than at the hollow point. So the cap decides triplets for R that the ball leaves undecided.
#
# The right panel shows by how much. Over the ball the smallest margin is $r\|H\|$ below the margin of the center. Over
# the cap it is below the margin of the center by a share of $r\|H\|$. The curves show this share against the angle
# $\varphi$ between $H$ and the plane, for five depths $\sin\theta$ of the plane. A deep cut can make the share negative:
# then the smallest margin is *above* the margin of the center.

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
ax = axes[1]
degrees = np.linspace(-90, 90, 361)
for depth in (-0.9, -0.5, 0.0, 0.5, 0.9):
    share = np.cos(np.maximum(np.arcsin(depth) + np.radians(degrees), 0.0))
    ax.plot(degrees, share, color=plt.cm.viridis((depth + 1) / 2.2),
            label=rf"$\sin\theta$ = {depth:.1f}")
ax.axhline(0, color="#CCCCCC", linewidth=0.8)
xlabel = r"$\varphi$: from $H = -|a|P$ to $H = |a|P$, degrees"
ax.set(xlabel=xlabel, title="share of the distance that is left")
ax.set_xticks([-90, -45, 0, 45, 90])
ax.legend(loc="lower left")
figures.show(
    "Left, a horizontal line cuts a disc, and the cap above the line is shaded. A hollow point "
    "marks the smallest margin over the disc, and a star at an end of the cut marks the smallest "
    "margin over the cap. Right, a curve for each depth of the cut shows the share of the distance "
    "against the angle. All curves fall from 1. The curve of the deepest cut falls to "
    f"{share.min():.1f}."
)

# %% [markdown]
# ## The claim
#
# The question (STS19 problem P3): how small can $\langle H, X\rangle$ be, if a ball contains the solution and a
# half-space contains the cone?
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
# In appendix K the first branch is the case in which the multiplier of the ball is 0. In this case $H = \beta P$ with
# $\beta \ge 0$. So the theorem means a non-negative $a$, but does not say so.
#
# > **In one formula.** With
#
# $$\sin\theta = \frac{-\langle P, Q\rangle}{r\,\|P\|}, \qquad \sin\varphi = \frac{\langle P, H\rangle}{\|P\|\,\|H\|}, \qquad
# -\tfrac{\pi}{2} \le \theta, \varphi \le \tfrac{\pi}{2},$$
#
# > the minimum is $\langle H, Q\rangle - r\|H\|\cos(\max(\theta + \varphi, 0))$ whenever the plane cuts
# > the ball ($|\langle P, Q\rangle| \le r\|P\|$), whether or not $H$ is parallel to $P$. For a ball inside the
# > half-space the minimum is $\langle H, Q\rangle - r\|H\|$. A ball outside the half-space contradicts the assumptions.
#
# | assumption | used in step |
# |---|---|
# | the solution is in the ball and in the half-space | 1 |
# | ball and half-space have a common point | 3 |
#
# The rule for L needs the maximum, which is minus the minimum for $-H$.
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
# Take any element $A$ of the space and its nearest point $A_+ = [A]_K$ of the cone, and write $A = A_+ - A_-$. (In STS19
# $A_-$ has the opposite sign.) **$P = A_-$ is the normal of a half-space that contains the cone:**
#
# 1. Let $X \in K$. The segment from $A_+$ to $X$ lies in the cone, so none of its points is nearer to $A$ than $A_+$:
#    $\|A_+ + t(X - A_+) - A\|^2 \ge \|A_+ - A\|^2$ for $0 < t \le 1$. Divide by $t$ and let $t \to 0$. The result
#    $\langle A_-, X - A_+\rangle \ge 0$ is a supporting hyperplane at the projection.
# 2. $X = 0$ and $X = 2A_+$ are in the cone as well, so $\langle A_-, A_+\rangle = 0$.
# 3. Hence $\langle A_-, X\rangle \ge 0$ for all $X \in K$, and so for $x^\star \in K$. The sign of $P$ matters: the
#    half-space of $-A_-$ contains only a face of the cone.
#
# A good $A$ is an element that the solver projects anyway.
#
# | ball | $A$ | its plane and its center |
# |---|---|---|
# | GB | its own center $Q$, outside the cone | $\langle P, Q\rangle = -\lVert P\rVert^2$: the plane cuts off the center, $\theta > 0$ |
# | DGB, MGB | $H(\alpha)$, projected for the dual value | $\langle P, x(\alpha)\rangle = 0$, so $\langle P, Q\rangle = \langle P, x\rangle \ge 0$ for DGB and half of $\langle P, x\rangle$ for MGB: $\theta \le 0$ |
# | CDGB | $H(\alpha)$ with the slopes at $x(\alpha)$ | $\langle P, Q\rangle \ge 0$, since $Q$ is in the cone |
# | PGB, RRPB along a path | none: PGB is the ball around the part of GB in the half-space; the center of RRPB is a multiple of a point of $K$ | |
#
# At the optimum $x^\star = [H(\alpha^\star)]_K/\lambda$, so $\langle P, x^\star\rangle = 0$: the plane of
# $H(\alpha^\star)$ touches the solution. The library keeps $P$ in `Sphere.normal`, and `rules.cone_halfspace` uses it.
#
# The next cells test the normals on forty random problems, full and diagonal, with references and dual points that are
# far from optimal. For each ball they compare the normal with the formula. They compute the smallest
# $\langle P, X\rangle / \|P\|\|X\|$ over elements of the cone and the solution, and the depth $\sin\theta$. They count
# the terms that the cut ball decides and the ball does not. They also set thresholds next to the margins of the
# solution. With these they test whether the cut ball contains the solution, and how often the half-space of $-P$ loses
# the solution.

# %%
def contradicted(problem, margins, ball):
    """Decisions of a cut ball that the solution contradicts, with thresholds a little beyond its
    margins."""
    by = 1e-7 * (1.0 + np.abs(margins))
    above = ss.Problem(problem.terms.with_threshold(margins + by), ss.Hinge())
    below = ss.Problem(problem.terms.with_threshold(margins - by), ss.Hinge())
    return ss.rules.cone_halfspace(above, ball).n_R + ss.rules.cone_halfspace(below, ball).n_L


def balls_with_normals(problem, x, lam, alpha):
    """Balls as solvers build them, each with the A that its normal should come from."""
    reference = ss.spheres.base.BallReference(problem, problem.evaluate(x, lam, alpha))
    H = problem.terms.adjoint(alpha)
    at_dual = problem.terms.adjoint(problem.alpha(problem.x_of(alpha, lam)))
    sources = {"GB": 0.5 * (x + H / lam), "DGB": H, "MGB": H, "CDGB": at_dual}
    return {name: (ss.SPHERES[name].build(reference), A) for name, A in sources.items()}


# %%
def random_case(repeat, rng):
    """A small problem over a cone (matrices and diagonals in turn), its lam and solution, and a
    pair (x, alpha) near the solution."""
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
    if small.cone.shape == (d,):
        return np.abs(points)
    return points[:, :, None] * points[:, None, :]


# %%
def row_of(small, ball, points, star, margins):
    """Smallest cosine between the normal and points of the cone, depth, the number of further
    decisions, the number of wrong ones, and whether -P loses the solution."""
    P, size = ball.normal, np.linalg.norm(ball.normal)
    least = min(np.vdot(P, X) / np.linalg.norm(X) / size for X in (*points, star.x) if X.any())
    depth = -np.vdot(P, ball.center) / size / ball.radius
    cut = ss.rules.cone_halfspace(small, ball)
    by_ball = np.sum(ss.rules.sphere(small, ball).rate * len(small)).round()
    more = cut.n_L + cut.n_R - by_ball
    lost = np.vdot(P, star.x) > 1e-6 * size * np.linalg.norm(star.x)
    return least, depth, more, contradicted(small, margins, ball), lost


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
header = "ball   least <P,X>/|P||X| (bound -1e-9)   deepest sin(theta)   more decided"
print(header + "   contradicted   lost by -P")
for name, (least, depth, more, wrong, lost) in seen.items():
    measured = f"{round(least, 6) + 0.0:24.6f} {round(depth, 2) + 0.0:25.2f}"
    print(f"{name:5} {measured} {more:14.0f} {wrong:14.0f} {lost:8.0f} of 40")
    assert least >= -1e-9 and wrong == 0 < more and depth <= (1.0 + 1e-9 if name == "GB" else 1e-9)
    assert lost > 10

# %% [markdown]
# ## Derivation
#
# Scale $P$ to length one, $p = P/\|P\|$, and write
#
# $$n = \|H\|, \quad s = \langle H, p\rangle = n \sin\varphi, \quad \delta = -\langle p, Q\rangle = r\sin\theta .$$
#
# $\delta$ is the signed distance of the plane from the center, positive when the plane cuts off the center.
#
# ### Step 1: a bound for every multiplier
#
# Let $X$ be in the ball and in the half-space, and let $k \ge 0$. Since $\langle p, X - Q\rangle \ge \delta$,
#
# $$\begin{aligned} \langle H, X\rangle &\ge \langle H, X\rangle - k\big(\langle p, X - Q\rangle - \delta\big)
# = \langle H, Q\rangle + k\delta + \langle H - kp,\, X - Q\rangle \\ &\ge \langle H, Q\rangle + k\delta - r\|H - kp\| . \end{aligned} \tag{1}$$
#
# Safety needs only this weak duality: **any** $k \ge 0$ gives a valid lower bound. The library evaluates (1) at a
# computed $k$ and adds an allowance for every rounding. An inaccurate $k$ makes the bound less tight, but never wrong.
#
# ### Step 2: the best multiplier
#
# $\|H - kp\|^2 = n^2 - 2ks + k^2$, so the right side of (1) is concave in $k$. Its derivative is zero at
# $k^\star = n \sin(\theta + \varphi)/\cos\theta$. sympy confirms this and computes the bound at $k^\star$.

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
print("bound at k* minus <H, Q>:", -n * r * sp.cos(theta + phi))

# %% [markdown]
# If $\theta + \varphi \le 0$, then $k^\star \le 0$. The best admissible multiplier is then $k = 0$, and the half-space
# changes nothing: the bound is $\langle H, Q\rangle - rn$. The factor $\cos(\max(\theta+\varphi, 0))$ covers both cases.
#
# ### Step 3: the bound is attained
#
# Let $k^\star > 0$. The point $X = Q - r (H - k^\star p)/\|H - k^\star p\|$ is on the sphere. It is also on the plane,
# because $\langle p, X - Q\rangle - \delta$ is the derivative that is zero by step 2. So both inequalities in (1) are
# equalities. Now let $k = 0$. The ball's own minimiser $Q - rH/n$ satisfies
# $\langle p, X - Q\rangle = -r\sin\varphi \ge r \sin\theta = \delta$. So (1) with the best $k$ *is* the minimum.
#
# ### Step 4: the printed branches
#
# The second branch has the condition $\langle P, Q - rH/\|H\|\rangle \ge 0$. This is
# $-\sin\theta - \sin\varphi \ge 0$, and so $\theta + \varphi \le 0$, which is our condition. The next cell writes the
# third branch in angles.

# %%
alpha = n * sp.cos(phi) / (r * sp.cos(theta))  # the printed square root, for |P| = 1
beta = s + alpha * delta  # <P, Q> = -delta
value = (beta * s - n**2) / alpha  # <H, (beta P - H)/alpha>
beta_error = sp.simplify(sp.expand_trig(beta - k_star))
value_error = sp.simplify(sp.expand_trig(value + n * r * sp.cos(theta + phi)))
assert beta_error == 0
assert value_error == 0
print("printed beta minus k*:", beta_error)
print("third branch minus the bound at k*:", value_error)

# %% [markdown]
# So the second and the third branch are right. The first branch is the case of appendix K in which the multiplier of the
# ball is 0. Then $H = \beta P$ with $\beta \ge 0$, and the value is $\beta\langle P, X\rangle = 0$. For $H = aP$ the
# angle $\varphi$ is $+90°$ ($a > 0$) or $-90°$ ($a < 0$), and our formula gives
#
# | | plane cuts the ball | ball inside the half-space |
# |---|---|---|
# | $a > 0$ | $\langle H, Q\rangle - r n \cos(\theta + 90°) = \langle H, Q\rangle + n\delta = 0$ | $\langle H, Q\rangle - rn > 0$ |
# | $a < 0$ | $\langle H, Q\rangle - rn$ | $\langle H, Q\rangle - rn$ |
#
# So with $a \ge 0$ the printed 0 is the minimum if the plane cuts the ball. If the ball is inside the half-space, 0 is
# *below* the minimum, which is still a valid bound for any threshold. If the second branch is checked before the first,
# the value is exact in both cases.

# %%
for name, angle in {"a > 0": sp.pi / 2, "a < 0": -sp.pi / 2}.items():
    q = -n * sp.sin(angle) * r * sp.sin(theta)  # <H, Q> = n sin(phi) <p, Q>
    free = sp.simplify(q - n * r)
    cut = sp.simplify(q - n * r * sp.cos(theta + angle)) if angle > 0 else free
    print(f"{name}: plane cuts the ball {str(cut):22} ball alone {free}")

# %% [markdown]
# ## Ten lines of numpy
#
# Elements are flat vectors in this section. `minimum` is the rule by the two angles, for a plane at any level $b$.
# `printed` is the theorem with its branches in the printed order and $a \ge 0$. (The fine print explains the argument
# `any_sign`.)


# %%
def minimum(H, Q, r, P, b=0.0):
    """Minimum of <H, X> over the ball and <P, X> >= b, by the two angles."""
    n, length = np.linalg.norm(H), np.linalg.norm(P)
    sin_theta = (b - P @ Q) / (length * r)
    sin_phi = np.clip(P @ H / (length * n), -1.0, 1.0)
    if sin_theta > 1.0:
        return np.nan  # no common point
    if sin_theta + sin_phi <= 0.0 or sin_theta <= -1.0:
        return H @ Q - r * n  # the minimum of the ball alone
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
# cvxpy solves the problem as a cone program. Brute force draws points of the ball, half of them on its surface, and
# keeps the points in the half-space. The instances are of six kinds: $H$ in general position, $H = aP$ with $a > 0$, and
# $H = aP$ with $a < 0$, each with balls that the plane cuts and with balls strictly inside the half-space.

# %%
x_var, center, length = cp.Variable(3), cp.Parameter(3), cp.Parameter(nonneg=True)
slope_H, slope_P = cp.Parameter(3), cp.Parameter(3)
region = [cp.norm(x_var - center) <= length, slope_P @ x_var >= 0]
program = cp.Problem(cp.Minimize(slope_H @ x_var), region)


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
    if not cut:  # move the center into the half-space, farther than r
        Q = Q + (abs(depth) + 1.0) * P / np.linalg.norm(P)
        return H, Q, 0.8 * (P @ Q) / np.linalg.norm(P), P
    return H, Q, abs(depth) * rng.uniform(1.1, 3.0), P


# %%
def forty_cases(parallel, cut, rng):
    """How often the minimum by the angles and both printed values are right, how often the true
    minimum is 0, and how often the printed value with a >= 0 is below the true minimum."""
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
    """In how many of three cases no sampled point is below the minimum and one is near it."""
    sampled = 0
    for _ in range(3):
        case = instance(rng, parallel, cut)
        reach = np.linalg.norm(case[0]) * case[2]
        excess = (by_brute_force(*case, rng) - minimum(*case)) / reach
        sampled += -1e-12 < excess < 0.05
    return sampled


# %% tags=["STS19-T9"]
rng = np.random.default_rng(18)
header = "H           the ball is    true min is   by the angles   printed, a >= 0   below it"
print(header + "   (of 40)")
right = {}
for parallel, name in ((0, "in general"), (1, "a P, a > 0"), (-1, "a P, a < 0")):
    for cut in (True, False):
        hits, zeros, below = forty_cases(parallel, cut, rng)
        assert three_sampled(parallel, cut, rng) == 3
        right[parallel, cut] = tuple(int(h) for h in hits)
        where = "cut by plane" if cut else "inside"
        value = "0" if zeros == 40 else "not 0"
        print(f"{name:11} {where:14} {value:13} {hits[0]:9} {hits[1]:16} {below:12}")
assert all(angles == 40 for angles, _, _ in right.values())
for key, (_, meant, _) in right.items():
    assert meant == (0 if key == (1, False) else 40)


# %% [markdown]
# The minimum by the angles is right in all instances. The printed theorem, read with $a \ge 0$, is right or below the
# minimum. It is below the minimum if the ball lies inside the half-space and $a > 0$. Then the rule can miss a decision
# for R, but it makes no wrong decision.
#
# ### The library
#
# `rules.halfspace` returns decisions and no minima. Thresholds near the extreme values turn its decisions into a
# measurement: the library must decide with a threshold a millionth inside of the extreme value, and must not decide with
# a threshold a millionth beyond it. We test matrices, diagonal metrics and samples, with some terms parallel to $P$, for
# L and R. Some tests use one threshold for all terms, and others use a threshold for each term. The planes have several depths
# and levels.

# %%
def terms_of(kind, P, rng):
    """Terms of a kind, and their elements as flat rows; the first two samples are parallel to
    P."""
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
    ball; return the number of thresholds."""
    ball, P, b = region
    ends = np.sort(np.concatenate([lows, highs, highs + loss.gamma]))
    shared = 0
    for tau in 0.5 * (ends[1:] + ends[:-1])[np.diff(ends) > 3e-6 * scale.max()]:
        found = ss.rules.halfspace(ss.Problem(terms.with_threshold(tau), loss), *region)
        assert np.array_equal(found.in_R, lows > tau)
        assert np.array_equal(found.in_L, highs < tau - loss.gamma)
        shared += 1
    at = ss.Problem(terms.with_threshold(lows[0]), loss)
    no_common_point = b + 2.0 * ball.radius * np.linalg.norm(P)
    missed = ss.rules.halfspace(at, ball, P, no_common_point)
    assert np.array_equal(missed.in_R, ss.rules.sphere(at, ball).in_R)
    return shared


# %% tags=["STS19-T9"]
loss = ss.SmoothedHinge(gamma=0.05)
turned = np.zeros(2, dtype=int)
n_terms = shared = 0
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
print(f"the library decides a millionth inside {turned[0]} of {n_terms} terms")
print(f"the library decides a millionth beyond {turned[1]} of {n_terms} terms")
print(f"masks equal the inequalities at {shared} shared thresholds")
assert turned[0] == n_terms and turned[1] == 0


# %% [markdown]
# ### The last bit
#
# Let $r = 5$, and let the plane be at distance 3 from the center. The cut is then a disc of radius 4. So the extreme
# values for integers are integers, and these are too large for double precision to represent exactly. We set thresholds
# within three units in the last place of the extreme values. The library may leave such a threshold undecided, but it
# must decide none wrongly.

# %%
def integer_rows(level, rng):
    """An integer center and sixteen integer rows (u, m) whose minimiser is on the cut."""
    Q = rng.integers(-(1 << 33), 1 << 33, 2)
    m = 4 * rng.integers(1 << 20, 1 << 28, 16) * rng.choice([-1, 1], 16)
    if level > 0:
        u = (rng.uniform(-0.7, 0.7, 16) * np.abs(m)).astype(int)
    else:
        u = 3 * np.abs(m) // 4 + rng.integers(1, 512, 16)
    return Q, m, u


def integer_case(level, sign, Q, m, u):
    """Samples whose extreme over the cut ball is an integer, the cut ball, the integers, and
    the values that plain numpy computes."""
    rows, labels = np.stack([-sign * u, m], axis=1), np.tile([1.0, -1.0], 8)
    exact = [
        int(a) * (int(Q[0]) + level) + int(b) * int(Q[1]) + sign * 4 * abs(int(b)) for a, b in rows
    ]
    computed = rows @ (Q + [level, 0.0]) + sign * 4.0 * np.abs(rows[:, 1])
    ball = ss.Sphere(Q.astype(float), 5.0)
    region = ball, np.array([1.0, 0.0]), float(Q[0] + level)
    return ss.Samples(rows * labels[:, None], labels), region, exact, computed


# %%
def wrong_at_the_last_bit(level, mask, sign, Q, m, u):
    """Wrong decisions of the library and of plain numpy, with thresholds within three units in
    the last place."""
    terms, region, exact, computed = integer_case(level, sign, Q, m, u)
    by_library = by_numpy = 0
    for ulps in range(-3, 4):
        tau = np.array(exact, dtype=float)
        tau += ulps * np.spacing(np.abs(tau))
        above = [sign * (Fraction(float(t)) - e) for t, e in zip(tau, exact, strict=True)]
        wrong = np.array([excess <= 0 for excess in above])
        found = ss.rules.halfspace(ss.Problem(terms.with_threshold(tau), ss.Hinge()), *region)
        by_library += np.sum(getattr(found, mask) & wrong)
        by_numpy += np.sum((sign * (tau - computed) > 0) & wrong)
    return by_library, by_numpy


# %% tags=["STS19-T9"]
false = plain = 0
for level in (3, -3) * 40:
    case = integer_rows(level, rng)
    for mask, sign in (("in_R", -1), ("in_L", 1)):
        by_library, by_numpy = wrong_at_the_last_bit(level, mask, sign, *case)
        false += by_library
        plain += by_numpy
at_least = "more than 100" if plain > 100 else plain
print(f"wrong decisions at 17920 thresholds: plain numpy {at_least}, library {false}")
assert false == 0 and plain > 100

# %% [markdown]
# ## One feature
#
# How likely is $H = aP$? With several features it happens only by coincidence, for example for duplicated points. With
# *one* feature every matrix is a multiple of every other matrix. The next example has two classes on a line, and its
# triplets are numbers, $H = (x_i - x_l)^2 - (x_i - x_j)^2$.

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
    """Decisions by the rule: L if the maximum is below 1 - gamma, R if the minimum is above 1."""
    low = np.array([rule(H, Q, ball.radius, P) for H in H_all])
    high = np.array([-rule(-H, Q, ball.radius, P) for H in H_all])
    return high < 1.0 - loss.gamma, low > 1.0


# %%
library, outcome = ss.rules.halfspace(problem, ball, P.reshape(1, 1)), {}
found = {
    "by the angles": screen(minimum),
    "library": (library.in_L, library.in_R),
    "printed, a >= 0": screen(printed),
    "printed, any a": screen(lambda *case: printed(*case, any_sign=True)),
}
truly_L, truly_R = margins < 1.0 - loss.gamma, margins > 1.0
print(f"{len(problem)} triplets: at the solution L {truly_L.sum()}, R {truly_R.sum()}")
print(f"{'':18} {'L':>5} {'R':>5} {'false':>6}")
for name, (L, R) in found.items():
    false = np.sum(L & ~truly_L) + np.sum(R & ~truly_R)
    outcome[name] = int(L.sum()), int(R.sum()), int(false)
    print("{:18} {:5} {:5} {:6}".format(name, *outcome[name]))
assert outcome["by the angles"] == outcome["library"]
assert outcome["library"][2] == 0 < outcome["library"][1]
assert outcome["printed, a >= 0"][2] == 0 < outcome["printed, any a"][2]

# %% [markdown]
# ## The condition under the square root
#
# The third branch divides by the square root of $r^2\|P\|^2 - \langle P, Q\rangle^2 = r^2\|P\|^2\cos^2\theta$. Is this
# difference positive whenever the third branch applies? The third branch applies if $\theta + \varphi > 0$, hence
# $\sin\theta > -\sin\varphi \ge -1$. So a ball strictly inside the half-space never enters this branch. In the opposite
# case, $\sin\theta \ge 1$, ball and half-space have at most one common point. So
#
# > the condition $r^2\|P\|^2 > \langle P, Q\rangle^2$ holds in the third branch **if and only if the
# > intersection of ball and half-space has an interior**.
#
# The exception occurs. Let $A = Q_{GB}$ be the source of $P$. The intersection becomes a point exactly when PGB's radius
# becomes 0, since $r_{PGB}^2 = r^2 - \|[Q_{GB}]_-\|^2 = r^2 \cos^2\theta$. This happens at the optimum. Near the optimum
# rounding decides the sign of the difference.

# %%
H, P = np.array([1.0, 0.5, 0.0]), np.array([0.0, 0.0, 2.0])
Q = np.array([0.3, 0.2, -1.0])
print("r - distance to the plane    printed    by the angles")
for excess in (1e-2, 1e-6, 0.0, -1e-6):
    with np.errstate(all="ignore"):
        value = printed(H, Q, 1.0 + excess, P)
    print(f"{excess:14.0e} {value:20.5f} {minimum(H, Q, 1.0 + excess, P):13.5f}")
with np.errstate(all="ignore"):
    assert not np.isfinite(printed(H, Q, 1.0, P))
assert np.isclose(minimum(H, Q, 1.0, P), H @ [0.3, 0.2, 0.0])

# %% [markdown]
# A ball that touches the half-space (third line) has a single common point with the half-space, where
# $\langle H, X\rangle = 0.4$. The formula with the angles gives this value, and the printed quotient does not. A ball
# outside the half-space (last line) cannot contain the solution. The value is NaN, and a rule must decide nothing by a
# NaN. The library uses the ball alone in both cases. This loses some decisions and is never wrong.

# %% [markdown]
# ## What it screens
#
# We follow a path of wine with ratio 0.9. At a few values of $\lambda$ we build the gradient bound from the solution for
# the previous $\lambda$. We screen with this ball alone, with the ball cut by its own half-space, and with the
# intersection of ball and cone. PGB is a ball around the cut ball, so the cut ball screens at least as many terms as
# PGB.

# %% tags=["nbval-ignore-output"]
wine = datasets.load("wine")
real = ss.Problem(ss.Triplets.from_labels(wine.X, wine.y, k=5), loss)
lams = real.lam_max() * 0.9 ** np.arange(13, 62, 12)
table = []
for lam1 in lams:
    x0 = ss.solve(real, lam1 / 0.9, rtol=1e-5, screening=("RRPB", "PGB")).x
    gb = ss.spheres.gradient_bound(real, x0, lam1)
    pgb = ss.spheres.projected_gradient_bound(real, x0, lam1)
    plain = ss.rules.sphere(real, gb)
    projected = ss.rules.sphere(real, pgb)
    cut = ss.rules.cone_halfspace(real, gb)
    full = ss.rules.semidefinite(real, gb)
    table.append([plain.rate, projected.rate, cut.rate, full.rate])
    assert np.all(cut.in_R >= plain.in_R) and np.all(cut.in_L >= plain.in_L)
    assert table[-1][1] <= table[-1][2] + 1e-9 and table[-1][2] <= table[-1][3]
print("lam/lam_max    GB    PGB  GB+half-space  GB+cone")
for lam1, (a, b, c, d) in zip(lams / real.lam_max(), table, strict=True):
    print(f"{lam1:11.3f}  {a:.3f}  {b:.3f}  {c:13.3f}  {d:7.3f}")
assert table[-1][2] > table[-1][0] + 0.02

# %% [markdown]
# As $\lambda$ falls, the cone constraint becomes active, and the half-space screens more than the ball alone. PGB has
# nearly all of this gain, with one margin for each triplet in place of two. The half-space has nearly all of the gain
# of the cone.
#
# ## Exercise
#
# The derivation does not need a plane through 0: for $\langle P, X\rangle \ge b$ only $\delta$ changes, to
# $\delta = b/\|P\| - \langle p, Q\rangle$. For a support vector machine, the ball of radius $R$ around 0 and the
# half-space $\langle w_a, w\rangle \ge \|w_a\|^2$ form such a region (the *dome*). What is the minimum of
# $\langle z, w\rangle$ over the dome?
#
# <details>
# <summary><b>Solution</b></summary>
#
# $Q = 0$ and $\delta = \|w_a\|$, so $\sin\theta = \|w_a\|/R$ and $\sin\varphi = \langle z, w_a\rangle/(\|z\|\|w_a\|)$.
# The minimum is $-R\|z\|\cos(\max(\theta + \varphi, 0))$. For $\theta + \varphi > 0$ this equals
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
    length, size = np.linalg.norm(w_a), np.linalg.norm(z)
    R = length * rng.uniform(1.05, 2.0)
    angle = np.arcsin(length / R) + np.arcsin(z @ w_a / size / length)
    dome = -R * size * np.cos(max(angle, 0.0))
    worst = max(worst, abs(dome - minimum(z, np.zeros(3), R, w_a, w_a @ w_a)))
    if angle > 0:
        across = np.sqrt(max(z @ z - (z @ w_a) ** 2 / (w_a @ w_a), 0.0))
        assert np.isclose(dome, z @ w_a - np.sqrt(R**2 - w_a @ w_a) * across)
    else:
        assert np.isclose(dome, -R * size)
largest = f"{max(worst, 1e-12):.0e} or less (bound 1e-9)"
print("largest difference of dome test and linear rule, 200 instances:", largest)
assert worst < 1e-9

# %% [markdown]
# ## Fine print
#
# * **Cost.** The rule needs two margins for each triplet, $\langle H, Q\rangle$ and $\langle H, P\rangle$, and two
#   square roots. Each margin is one subtraction of two pair distances. One eigendecomposition gives $P$.
# * **Rounding.** The library computes no inverse sine. It computes $k^\star$ roughly and evaluates (1) there, with error
#   bounds for both margins, for $\delta$ and for $\|H - kp\|$. A computed normal is in the dual cone only up to
#   rounding, and `cone_halfspace` moves the plane outward by this error.
# * **Parallel terms need no branch.** At $\varphi = \pm 90°$ the formula and the code are continuous. In floating point
#   $\|H - kp\|$ cancels there. So the library's bound is sharp to about $10^{-7} r\|H\|$ instead of
#   $10^{-15} r\|H\|$. It is still safe.
# * **The sign of $a$.** Theorem 9 prints "$H = aP$, where $a$ is a constant". Appendix K, headed "proof of Theorem 10",
#   has $H = \beta P$, $\beta \ge 0$. If $a$ may have any sign, the first branch returns 0 for $H = -|a|P$ too, although
#   the minimum is $\langle H, Q\rangle - r\|H\|$. The last line of the example with one feature shows the false
#   decisions. In the paper's experiments $d$ is at least 4, and $H = aP$ occurs only by coincidence.
#
# ## References
#
# * STS19: Yoshida, Takeuchi, Karasuyama, *Safe Triplet Screening for Distance Metric Learning*, Neural
#   Computation 31, 2019: section 4.3, Theorem 9, proof in appendix K (there headed "Theorem 10").
# * STS18: the same authors, KDD 2018: Theorem 3.1, appendix C.
# * SSS13, SSS14: Ogawa, Suzuki, Takeuchi and coauthors treat the same region for support vector machines.
