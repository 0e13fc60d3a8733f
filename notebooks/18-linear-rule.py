# %% [markdown]
# # The linear rule: a ball cut by a half-space
#
# A ball knows nothing of the cone. Asking for all of the cone costs eigenvalues for every triplet; asking
# for *one* supporting half-space of it costs an inner product. This notebook finds the extreme values of
# $\langle H, X\rangle$ over a ball and a half-space, in one formula with two angles, and checks the
# printed theorem against it.
#
# At the end you will have seen that
#
# * the answer is $\langle H, Q\rangle - r\|H\| \cos(\theta + \varphi)$: one angle says how deep the cut
#   is, the other where $H$ points;
# * the printed theorem has three branches, and **the first one is wrong**: for $H = a P$ it returns 0
#   whatever the ball is. It loses decisions for R and, worse, makes false ones for L. With a single
#   feature *every* triplet takes this branch;
# * the square root that the third branch divides by is always safe, except for a ball that only touches
#   the half-space, which is where an optimal reference leads.

# %%
import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np
import sympy as sp

import safescreen as ss
from safescreen_book import datasets, figures

plt.rcParams.update(figures.STYLE)

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
# > **Corrected.** Drop the first branch. With
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

# %% [markdown]
# ## Where the half-space comes from
#
# Take any symmetric $A$ and split it by the signs of its eigenvalues, $A = A_+ - A_-$ with both parts
# positive semidefinite and $\langle A_+, A_-\rangle = 0$. Two positive semidefinite matrices have a
# non-negative inner product, so $P = A_-$ is the normal of a half-space that contains the whole cone and
# touches it at $A_+$. (STS19 writes $A_-$ for the negative part with its sign, hence $P = -A_-$ there.) A
# good $A$ is the center of the gradient bound: it lies outside of the cone, in the direction from which
# the cone is approached, and projected gradient has projected such a point anyway.

# %%
rng = np.random.default_rng(0)
A = rng.standard_normal((4, 4))
A = A + A.T
plus, P = ss.PSDCone(4).split(A)
inside = [np.vdot(P, B @ B.T) for B in rng.standard_normal((1000, 4, 4))]
print("A = A_plus - P:", np.allclose(A, plus - P), "  orthogonal:", abs(np.vdot(plus, P)) < 1e-12)
print("smallest <P, X> of 1000 matrices of the cone is positive:", min(inside) > 0)
assert min(inside) > 0.0 and abs(np.vdot(plus, P)) < 1e-12

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
# $$\langle H, X\rangle \ \ge\ \langle H, X\rangle - k\big(\langle p, X - Q\rangle - \delta\big)
# = \langle H, Q\rangle + k\delta + \langle H - kp,\, X - Q\rangle \ \ge\ \langle H, Q\rangle + k\delta - r\|H - kp\| . \tag{1}$$
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
print("printed beta is k*:", True, "  printed third branch is -n r cos(theta + phi):", True)

# %% [markdown]
# Both are right. The trouble is the first. Appendix K of STS19 argues: *if* the multiplier $\alpha$ of
# the ball is zero, *then* $H = \beta P$ and the value is 0. True; but the theorem uses the converse. For
# $H = aP$ the angle $\varphi$ is $+90°$ ($a > 0$) or $-90°$ ($a < 0$), and our formula says
#
# | | plane cuts the ball | ball inside the half-space |
# |---|---|---|
# | $a > 0$ | $\langle H, Q\rangle - r n \cos(\theta + 90°) = \langle H, Q\rangle + n\delta = 0$ | $\langle H, Q\rangle - rn > 0$ |
# | $a < 0$ | $\langle H, Q\rangle - rn$ | $\langle H, Q\rangle - rn$ |
#
# The printed 0 is the minimum in one of the four fields.

# %%
a_times_P = {"a > 0": sp.pi / 2, "a < 0": -sp.pi / 2}
for name, angle in a_times_P.items():
    q = -n * sp.sin(angle) * r * sp.sin(theta)  # <H, Q> = n sin(phi) <p, Q>
    free = sp.simplify(q - n * r)
    cut = sp.simplify(q - n * r * sp.cos(theta + angle)) if angle > 0 else free
    print(f"{name}: plane cuts the ball {str(cut):22} ball alone {free}")

# %% [markdown]
# ## Ten lines of numpy
#
# Elements are flat vectors here. `minimum` is the corrected rule, `printed` the theorem as it stands.


# %%
def minimum(H, Q, r, P):
    """Minimum of <H, X> over the ball and <P, X> >= 0, by the two angles."""
    n, length = np.linalg.norm(H), np.linalg.norm(P)
    sin_theta, sin_phi = -(P @ Q) / (length * r), np.clip(P @ H / (length * n), -1.0, 1.0)
    if sin_theta > 1.0:
        return np.nan  # no common point
    if sin_theta + sin_phi <= 0.0:
        return H @ Q - r * n  # the ball alone; so too for every ball inside the half-space
    return H @ Q - r * n * np.cos(np.arcsin(sin_theta) + np.arcsin(sin_phi))


def printed(H, Q, r, P):
    """STS19 Theorem 9 with its three branches in the printed order."""
    PP, HH, PH, PQ = P @ P, H @ H, P @ H, P @ Q
    if np.linalg.norm(H - PH / PP * P) <= 1e-9 * np.sqrt(HH):
        return 0.0
    if PQ - r * PH / np.sqrt(HH) >= 0.0:
        return H @ Q - r * np.sqrt(HH)
    alpha = np.sqrt((PP * HH - PH**2) / (r**2 * PP - PQ**2))
    return H @ ((PH - alpha * PQ) / PP * P - H) / alpha + H @ Q


# %% [markdown]
# ## Does it match? An outside solver and brute force
#
# cvxpy solves the problem as a cone program. Brute force draws points of the ball, half of them on its
# surface, and keeps those in the half-space. The instances come in four kinds: $H$ in general position
# and $H = \pm P$, balls that the plane cuts and balls strictly inside the half-space.

# %%
x_var, center, length = cp.Variable(3), cp.Parameter(3), cp.Parameter(nonneg=True)
slope_H, slope_P = cp.Parameter(3), cp.Parameter(3)
program = cp.Problem(cp.Minimize(slope_H @ x_var), [cp.norm(x_var - center) <= length, slope_P @ x_var >= 0])


def by_cvxpy(H, Q, r, P):
    slope_H.value, center.value, length.value, slope_P.value = H, Q, r, P
    return program.solve(solver="CLARABEL")


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


# %% tags=["STS19-T9"]
rng = np.random.default_rng(18)
print("H           the ball is    true min is   corrected   printed  (of 40 instances right)")
right = {}
for parallel, name in ((0, "in general"), (1, "a P, a > 0"), (-1, "a P, a < 0")):
    for cut in (True, False):
        hits, sampled, zeros = np.zeros(2, dtype=int), 0, 0
        for _ in range(40):
            case = instance(rng, parallel, cut)
            truth = by_cvxpy(*case)
            tolerance = 1e-6 * (1.0 + np.linalg.norm(case[0]) * case[2])
            hits += [abs(f(*case) - truth) < tolerance for f in (minimum, printed)]
            zeros += abs(truth) < tolerance
        for _ in range(3):
            case = instance(rng, parallel, cut)
            reach = np.linalg.norm(case[0]) * case[2]
            excess = (by_brute_force(*case, rng) - minimum(*case)) / reach
            sampled += -1e-12 < excess < 0.05
        assert sampled == 3
        right[parallel, cut] = tuple(int(h) for h in hits)
        where = "cut by plane" if cut else "inside"
        print(f"{name:11} {where:14} {'0' if zeros == 40 else 'not 0':13} {hits[0]:9} {hits[1]:9}")

assert all(corrected == 40 for corrected, _ in right.values())
assert right[0, True][1] == right[0, False][1] == right[1, True][1] == 40
assert right[1, False][1] == right[-1, True][1] == right[-1, False][1] == 0

# %% [markdown]
# The printed formula is right for $H$ in general position and in exactly one of the four parallel fields.
#
# ## What a wrong zero does
#
# In the rules of the paper, R needs a minimum above 1 and L a maximum below $1 - \gamma$.
#
# * **R**: a printed minimum of 0 never passes. Decisions are lost, none is false (with thresholds of
#   one's own, as pairs have them, even that ends: 0 is above a negative threshold).
# * **L**: the maximum is minus the minimum for $-H$, again 0, and $0 < 1 - \gamma$ **always passes**.
#
# How likely is $H = aP$? With several features it takes a coincidence, such as duplicated points. With
# *one* feature every matrix is a multiple of every other. So let us screen one feature: two classes on a
# line, whose triplets are $H = (x_i - x_l)^2 - (x_i - x_j)^2$, numbers.

# %%
rng = np.random.default_rng(1)
X = np.concatenate([rng.normal(0.0, 1.0, 10), rng.normal(2.5, 1.0, 10)])[:, None]
y = np.repeat([0, 1], 10)
loss = ss.SmoothedHinge(gamma=0.05)
problem = ss.Problem(ss.Triplets.from_labels(X, y, k=4), loss)
lam = 0.02 * problem.lam_max()
solution = ss.solve(problem, lam, tol=1e-10)
margins = problem.terms.margins(solution.x)
in_R_truly, in_L_truly = margins > 1.0, margins < 1.0 - loss.gamma
print(f"{len(problem)} triplets of one feature; at the solution {in_L_truly.sum()} are in L, {in_R_truly.sum()} in R")

# %%
ball = ss.spheres.gradient_bound(problem, 0.9 * solution.x, lam)
H_all = problem.terms.elements(np.arange(len(problem)))[0].reshape(-1, 1)
Q, P = ball.center.ravel(), np.ones(1)  # the half-space x >= 0 is the cone itself


def screen(rule):
    """The rule's decisions: maximum below 1 - gamma, minimum above 1."""
    low = np.array([rule(H, Q, ball.radius, P) for H in H_all])
    high = np.array([-rule(-H, Q, ball.radius, P) for H in H_all])
    return high < 1.0 - loss.gamma, low > 1.0


outcome = {}
for name, rule in (("corrected", minimum), ("printed", printed)):
    L, R = screen(rule)
    outcome[name] = L.sum(), R.sum(), (L & ~in_L_truly).sum() + (R & ~in_R_truly).sum()
library = ss.rules.halfspace(problem, ball, P.reshape(1, 1))
outcome["library"] = library.n_L, library.n_R, (library.in_L & ~in_L_truly).sum() + (library.in_R & ~in_R_truly).sum()
print(f"{'':10} {'L':>5} {'R':>5} {'false':>6}")
for name, (n_L, n_R, false) in outcome.items():
    print(f"{name:10} {n_L:5} {n_R:5} {false:6}")
assert outcome["printed"][0] == len(problem) and outcome["printed"][2] == (~in_L_truly).sum() > 0
assert outcome["corrected"] == outcome["library"] and outcome["library"][2] == 0 < outcome["library"][1]

# %% [markdown]
# The printed rule puts **every** triplet into L, among them all that are not. A problem reduced in this
# way has a different solution. Here it is: the metric that solves the falsely reduced problem.

# %%
false_L, false_R = screen(printed)
wrong = problem.all_linear().item() / lam  # all of them on the linear part of the loss
print(f"solution {solution.x.item():.4f}, and after the printed rule {wrong:.4f}")
assert false_L.all() and wrong > 2.0 * solution.x.item()

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
# That exception is not far-fetched. With $A = Q_{GB}$ as the source of $P$, the region shrinks to a point
# exactly when PGB's radius does, $r_{PGB}^2 = r^2 - \|[Q_{GB}]_-\|^2 = r^2 \cos^2\theta$: at the optimum.
# On the way there rounding decides the sign of the difference.

# %%
H, P = np.array([1.0, 0.5, 0.0]), np.array([0.0, 0.0, 2.0])
for excess in (1e-2, 1e-6, 0.0, -1e-6):
    Q, r = np.array([0.3, 0.2, -1.0]), 1.0 + excess
    with np.errstate(all="ignore"):
        value = printed(H, Q, r, P)
    print(f"r - distance to the plane = {excess:6.0e}:  printed {value:8.5f}   by the angles {minimum(H, Q, r, P):8.5f}")
with np.errstate(all="ignore"):
    assert not np.isfinite(printed(H, np.array([0.3, 0.2, -1.0]), 1.0, P))
assert np.isclose(minimum(H, np.array([0.3, 0.2, -1.0]), 1.0, P), H @ [0.3, 0.2, 0.0])

# %% [markdown]
# A ball that touches the half-space (third line) leaves a single point, where $\langle H, X\rangle =
# 0.4$: the angles find it, the printed quotient does not. A ball that misses the half-space (last line)
# cannot hold the solution: NaN, and a NaN must screen nothing. The library falls back to the ball alone
# in both cases, which costs a little and is never wrong.

# %% [markdown]
# ## The library
#
# `rules.halfspace` decides, it does not report minima. But thresholds of one's own turn decisions into a
# measurement: a term must be put into R by a threshold a little below its minimum and must not be by one
# a little above. All matrices are $2 \times 2$ again; half of the triplets are made parallel to $P$ by
# duplicating points.

# %%
rng = np.random.default_rng(4)
sharp, blunt, parallels, tried = 0, 0, 0, 0
for _ in range(80):
    X3 = rng.standard_normal((3, 2))
    index = [[0, 1, 2]]
    flat = bool(rng.integers(2))
    if flat:
        X3[1] = X3[0]  # the same point twice: H = u u'
    terms = ss.Triplets(X3, index)
    H = terms.elements(np.array([0]))[0][0]
    B = rng.standard_normal((2, 2))
    P = rng.choice([0.7, -0.7]) * H if flat else B + B.T
    Q = rng.standard_normal((2, 2))
    Q = Q + Q.T
    radius = 1.0 + abs(np.vdot(P, Q)) / np.linalg.norm(P) * rng.uniform(0.3, 2.0)
    lowest = minimum(H.ravel(), Q.ravel(), radius, P.ravel())
    if np.isnan(lowest):
        continue
    parallels, tried = parallels + flat, tried + 1
    for shift in (-1e-6, 1e-6):
        at = ss.Problem(terms.with_threshold(lowest + shift * (1.0 + radius * terms.norms[0])), ss.Hinge())
        decided = ss.rules.halfspace(at, ss.Sphere(Q, radius), P).in_R[0]
        sharp, blunt = sharp + (shift < 0 and decided), blunt + (shift > 0 and decided)
print(f"decided just below the minimum: {sharp} of {tried}, just above: {blunt};  parallel cases: {parallels}")
assert blunt == 0 and sharp == tried and parallels >= 20

# %% [markdown]
# ## Picture
#
# Everything happens in the plane through $Q$ that is spanned by $p$ and $H$. Left: the plane has passed
# the center ($\theta > 0$). The minimum moves from the ball's own minimiser (hollow) to the edge of the
# cut. Right: $\cos(\max(\theta + \varphi, 0))$, the share of the ball's slack $r\|H\|$ that is left,
# against the direction of $H$, for cuts of several depths; a deep cut can make the slack negative: the
# minimum is *above* the value at the center.

# %%
figure, axes = figures.panels(2, height=3.6)
ax, th, ph = axes[0], np.radians(25), np.radians(35)
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
ax, degrees = axes[1], np.linspace(-90, 90, 361)
for depth in (-0.9, -0.5, 0.0, 0.5, 0.9):
    share = np.cos(np.maximum(np.arcsin(depth) + np.radians(degrees), 0.0))
    ax.plot(degrees, share, color=plt.cm.viridis((depth + 1) / 2.2), label=rf"$\sin\theta$ = {depth:.1f}")
ax.axhline(0, color="#CCCCCC", linewidth=0.8)
ax.set(xlabel=r"$\varphi$: from $H = -|a|P$ to $H = |a|P$, degrees", title="share of the slack that is left")
ax.set_xticks([-90, -45, 0, 45, 90])
ax.legend(loc="lower left")
plt.show()

# %% [markdown]
# ## What it screens
#
# On wine, at a few values of $\lambda$, from the solution for the previous $\lambda$ of a path with ratio
# 0.9: the gradient bound alone, cut by its own half-space, and intersected with the whole cone. PGB is a
# ball around the cut ball, so the cut ball screens at least as much.

# %%
wine = datasets.load("wine")
real = ss.Problem(ss.Triplets.from_labels(wine.X, wine.y, k=5), loss)
lams = real.lam_max() * 0.9 ** np.arange(13, 62, 12)
table = []
for lam1 in lams:
    x0 = ss.solve(real, lam1 / 0.9, rtol=1e-5).x
    gb, pgb = (bound(real, x0, lam1) for bound in (ss.spheres.gradient_bound, ss.spheres.projected_gradient_bound))
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
# As $\lambda$ falls the cone constraint begins to bind and the half-space to matter. Nearly all of its
# gain is in PGB already, which needs one margin a triplet and not two; nearly all that the cone could
# give is in the half-space.
#
# ## Exercise
#
# Nothing in the derivation needs the plane to pass through 0: for $\langle P, X\rangle \ge b$ only
# $\delta$ changes, $\delta = b/\|P\| - \langle p, Q\rangle$. A support vector machine offers such a
# region: the ball of radius $R$ around 0 and the half-space $\langle w_a, w\rangle \ge \|w_a\|^2$ (the
# *dome*). What is the minimum of $\langle z, w\rangle$ over it?
#
# <details>
# <summary><b>Solution</b></summary>
#
# $Q = 0$ and $\delta = \|w_a\|$, so $\sin\theta = \|w_a\|/R$ and $\sin\varphi = \langle z,
# w_a\rangle/(\|z\|\|w_a\|)$. The minimum is $-R\|z\|\cos(\max(\theta + \varphi, 0))$; written out for
# $\theta + \varphi > 0$
#
# $$\langle z, w_a\rangle - \sqrt{R^2 - \|w_a\|^2}\,\sqrt{\|z\|^2 - \langle z, w_a\rangle^2/\|w_a\|^2} .$$
#
# This is the Dome Test of SSS14: the linear rule for triplets and the dome test for samples are one rule.
#
# </details>

# %%
rng = np.random.default_rng(2)
for _ in range(200):
    z, w_a = rng.standard_normal((2, 3))
    R = np.linalg.norm(w_a) * rng.uniform(1.05, 2.0)
    angle = np.arcsin(np.linalg.norm(w_a) / R) + np.arcsin(z @ w_a / np.linalg.norm(z) / np.linalg.norm(w_a))
    dome = -R * np.linalg.norm(z) * np.cos(max(angle, 0.0))
    if angle > 0:
        across = np.sqrt(max(z @ z - (z @ w_a) ** 2 / (w_a @ w_a), 0.0))
        assert np.isclose(dome, z @ w_a - np.sqrt(R**2 - w_a @ w_a) * across)
    else:
        assert np.isclose(dome, -R * np.linalg.norm(z))
print("the dome test is the linear rule with an offset")

# %% [markdown]
# ## Fine print
#
# * **Cost.** Two margins a triplet, $\langle H, Q\rangle$ and $\langle H, P\rangle$, each one subtraction
#   of two pair distances, and two square roots. No eigenvalue beyond the one split that gives $P$.
# * **Rounding.** The library never takes the inverse sine of anything: it computes $k^\star$ roughly and
#   evaluates (1) there, with error bounds for both margins, for $\delta$ and for $\|H - kp\|$. A computed
#   normal is in the dual cone only up to rounding; `cone_halfspace` moves the plane outward by as much.
# * **Parallel terms need no branch.** At $\varphi = \pm 90°$ formula and code are continuous. In floating
#   point $\|H - kp\|$ cancels there, so that the library's bound is sharp to about $10^{-7} r\|H\|$
#   instead of $10^{-15}$, on the safe side.
# * **In the paper's experiments** $d$ is at least 4 and the branch is met by coincidence only, so its
#   results need not be affected.
#
# ## References
#
# * STS19: Yoshida, Takeuchi, Karasuyama, *Safe Triplet Screening for Distance Metric Learning*, Neural
#   Computation 31, 2019: section 4.3, Theorem 9, proof in appendix K (there headed "Theorem 10").
# * STS18: the same authors, KDD 2018: Theorem 3.1, appendix C.
# * SSS13, SSS14: Ogawa, Suzuki, Takeuchi and coauthors, the same region for support vector machines.
