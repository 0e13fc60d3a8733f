# %% [markdown]
# # How the balls are related
#
# Seven balls contain the same unknown solution: the gradient bound (GB) and its projection (PGB), the duality gap bound
# (DGB) and its constrained form (CDGB), the midpoint gap bound (MGB), the path bound (RPB) and its relaxed form (RRPB).
# Some of these balls are equal, some contain others, and for some only the radii are ordered. A drawing alone suggests some relations that are false. This notebook proves and checks each relation, and compares the references that the balls need. It draws the balls from computed numbers, in the quarter plane of diagonal metrics and in the cone of $2 \times 2$ matrices.
#
# At the end you will have seen that
#
# * if the reference is the exact solution for $\lambda_0$, then PGB, RPB, RRPB and MGB are *equal*. This ball touches DGB from inside, and its radius is half the radius of DGB;
# * with an inexact reference $r_{\text{PGB}} \le r_{\text{MGB}} \le r_{\text{DGB}}/\sqrt2$;
# * a part of PGB may be outside GB and outside DGB: a smaller radius does not imply inclusion.

# %%
import numpy as np
import sympy as sp

import safescreen as ss
from safescreen.spheres.base import BallReference
from safescreen_book import figures

# %% [markdown]
# ## The picture
#
# We use twelve points of the plane and their triplets. A diagonal metric for these points is a point of the quarter plane $K$ (shaded), so that every ball is a disc. In the left picture the reference $x_0^\star$ is the exact solution for $\lambda_0 = \lambda_1/0.7$. In the right picture the reference is another point $x_0$ nearby. The star is the solution for $\lambda_1$, which all balls must contain. A cross is the center of a ball. The $\varepsilon$ of RRPB is the bound of the distance from $x_0^\star$ that the duality gap of $x_0$ for $\lambda_0$ certifies.

# %%
rng = np.random.default_rng(3)
X = rng.standard_normal((12, 2)) * [1.0, 0.6]
X[6:, 0] += 1.2
y = np.repeat([0, 1], 6)
loss = ss.SmoothedHinge(gamma=0.05)
problem = ss.Problem(ss.Triplets.from_labels(X, y, k=3), loss)
plane = ss.Problem(ss.Triplets.from_labels(X, y, k=3, diagonal=True), loss)


def library_balls(problem, x, alpha, lam):
    """The library's GB, PGB, DGB and MGB from a reference pair, as a solver computes them."""
    reference = BallReference(problem, problem.evaluate(x, lam, alpha))
    return {name: ss.SPHERES[name].build(reference) for name in ("GB", "PGB", "DGB", "MGB")}


# %%
old = 0.1 * plane.lam_max()
new = 0.7 * old
at_old = ss.solve(plane, old, tol=1e-11).x
star = ss.solve(plane, new, tol=1e-11).x
moved = plane.cone.project(at_old + 0.25 * np.linalg.norm(at_old) * np.array([-0.6, 0.8]))

exact = library_balls(plane, at_old, plane.alpha(at_old), new)
rpb_over_dgb = exact["PGB"].radius / exact["DGB"].radius
exact = {"GB": exact["GB"], "DGB": exact["DGB"], "PGB = MGB = RPB": exact["PGB"]}

inexact = library_balls(plane, moved, plane.alpha(moved), new)
eps = ss.spheres.duality_gap_bound(plane, moved, old).radius
inexact["RRPB"] = ss.spheres.relaxed_path_bound(moved, eps, old, new)
inexact["RPB"] = ss.spheres.path_bound(at_old, old, new)
for ball in (*exact.values(), *inexact.values()):
    assert np.linalg.norm(ball.center - star) <= ball.radius

# %%
figure, axes = figures.panels(2, width=10.0, height=5.0)
points = {"$x_0^*$": at_old, "optimum": star}
figures.balls(plane.cone, exact, points, ax=axes[0], title="an exact reference")
points = {"$x_0$": moved, "optimum": star}
figures.balls(plane.cone, inexact, points, ax=axes[1], title="an inexact reference")
figures.show(
    "Discs show the balls in a plane, and each disc contains the optimum. In the left panel the "
    "reference is exact: PGB, MGB and RPB are one disc inside DGB, whose radius is "
    f"{rpb_over_dgb:.2f} times the radius of DGB. In the right panel the reference is inexact: "
    "PGB, MGB and RPB are different discs, MGB lies in DGB, and RPB lies in RRPB."
)


# %% [markdown]
# In the left picture PGB, MGB and RPB are equal. Their radius is half the radius of DGB, and they touch DGB. In the right picture all six balls are different. We draw RPB for comparison, with a center that is a multiple of the exact $x_0^\star$, which a user does not know. The claims say which of these relations are true in general.

# %% [markdown]
# ## The claims
#
# > **PGB = RPB** (STS19 Theorem 7; STS18 Theorem 3.8). Take the solution $x_0^\star$ for $\lambda_0$ as the
# > reference of PGB for $\lambda_1$. There is a subgradient of $P(\cdot;\lambda_1)$ at $x_0^\star$ for which PGB and
# > RPB have the same center and radius.
#
# > **RPB in DGB** (STS19 Theorem 8; STS18 Theorem 3.9). Take the solutions $x_0^\star, \alpha_0^\star$ for $\lambda_0$
# > as the references of DGB for $\lambda_1$. Then $r_{\text{DGB}} = 2\, r_{\text{RPB}}$, and the ball of RPB lies in the ball of DGB.
#
# > **Summary** (STS19 section 3.6 and Table 1). With this reference $r_{\text{GB}} \ge r_{\text{PGB}}$ and DGB $\supseteq$ PGB = RPB = RRPB. For an inexact reference the paper states only $r_{\text{GB}} \ge r_{\text{PGB}}$. In dynamic screening RRPB = DGB. At the solution all radii except the radius of GB are zero; for the hinge this requires a suitable subgradient.

# %% [markdown]
# ### The balls
#
# | ball | notebook | center | squared radius |
# |---|---|---|---|
# | GB | [`11-gradient-bound`](11-gradient-bound.ipynb) | $Q = \frac12(x + \frac1\lambda H)$ | $\frac14\lVert x - \frac1\lambda H\rVert^2 + \frac1\lambda\varphi$ |
# | PGB | [`12-projected-gradient-bound`](12-projected-gradient-bound.ipynb) | $[Q]_K$ | $r_{\text{GB}}^2 - \lVert Q - [Q]_K\rVert^2$ |
# | DGB | [`13-duality-gap-bounds`](13-duality-gap-bounds.ipynb) | $x$ | $\frac2\lambda (P(x) - D(\alpha))$ |
# | CDGB | [`13-duality-gap-bounds`](13-duality-gap-bounds.ipynb) | $x(\alpha)$ | $\frac1\lambda (P(x(\alpha)) - D(\alpha))$ |
# | MGB | [`28-midpoint-gap-bound`](28-midpoint-gap-bound.ipynb) | $\frac12(x + x(\alpha))$ | $\frac1\lambda(P(x) - D(\alpha)) - \frac14\lVert x - x(\alpha)\rVert^2$ |
# | RPB | [`14-path-bounds`](14-path-bounds.ipynb) | $\frac{\lambda_0+\lambda_1}{2\lambda_1} x_0$ | $(\lambda_0-\lambda_1)^2 \lVert x_0\rVert^2 / 4\lambda_1^2$ |
# | RRPB | [`14-path-bounds`](14-path-bounds.ipynb) | as RPB | $\big(r_{\text{RPB}} + \max(1, \frac{\lambda_0}{\lambda_1})\,\varepsilon\big)^2$ |
#
# In the table $H = H(\alpha)$ and $x(\alpha) = \frac1\lambda [H]_K$. A path bound has a reference for $\lambda_0$ and is valid for $\lambda_1$, and $\varepsilon$ bounds the distance of $x_0$ from $x_0^\star$. The sum of the terms' Fenchel gaps, $\varphi = \sum_t \big(\ell(\langle a_t, x\rangle) + \ell^*(-\alpha_t) + \alpha_t\langle a_t, x\rangle\big) \ge 0$, is zero when $\alpha = \alpha(x)$.
#
# MGB is in none of the five papers. It is very likely the RYU ball of Tran, Elvira, Dang and Herzet (2023), known for
# sparse regression. This book carries it over to cones, many terms, ranges and rounding.

# %% [markdown]
# <details>
# <summary><b>Symbols</b></summary>
#
# | symbol | what it is |
# |---|---|
# | $P(x;\lambda)$ | $\sum_t \ell(\langle a_t, x\rangle) - \langle c, x\rangle + \tfrac\lambda2\lVert x\rVert^2$, to be minimised over $x \in K$; its solution is $x^\star$ |
# | loss $\ell(u)$ | smoothed hinge: $0$ for $u > 1$; $\tfrac{(1-u)^2}{2\gamma}$ for $1-\gamma \le u \le 1$; $1-u-\tfrac\gamma2$ for $u < 1-\gamma$; the hinge for $\gamma \to 0$ |
# | cone $K$ | semidefinite matrices ($x = M$, $a_t = H_{ijl}$), or vectors $x \ge 0$ (diagonal metrics), or the whole space (support vector machines); $[\,\cdot\,]_K$ projects onto it |
# | $a_t$, $c$ | the terms, and a fixed linear term (0 unless the problem is reduced) |
# | $\ell^*(-\alpha)$ | the conjugate of the loss, $\tfrac\gamma2\alpha^2 - \alpha$ for $0 \le \alpha \le 1$ |
# | $H(\alpha)$ | $c + \sum_t \alpha_t a_t$ with one $\alpha_t \in [0,1]$ per term; $\alpha(x)$ has $\alpha_t = -\ell'(\langle a_t, x\rangle)$ |
# | $Q_-$, $N$ | the vector that a projection adds: $Q_- = [Q]_K - Q$ and $N = [H]_K - H$. Both are in the dual cone: $\langle Q_-, z\rangle \ge 0$ for each $z \in K$, and $\langle Q_-, [Q]_K\rangle = 0$ |
# | $x(\alpha)$ | $[H(\alpha)]_K/\lambda$; the dual is $D(\alpha;\lambda) = \sum_t (\alpha_t - \tfrac\gamma2\alpha_t^2) - \tfrac1{2\lambda}\lVert[H(\alpha)]_K\rVert^2$ |
#
# </details>

# %% [markdown]
# ## The slow version
#
# We compute GB, PGB, DGB, MGB and RPB from the formulas of the table, for any reference pair $(x, \alpha)$, and compare them with the library's balls. With the exact solution for $\lambda_0$ three of the five printed lines have the same center and radius:

# %%
def all_balls(problem, x, alpha, lam):
    """Center and radius of GB, PGB, DGB and MGB by their definitions."""
    H = problem.terms.adjoint(alpha)
    margin = problem.terms.margins(x)
    gamma = problem.loss.gamma
    fenchel = np.sum(problem.loss.value(margin) + gamma * alpha**2 / 2 - alpha + alpha * margin)
    Q = (x + H / lam) / 2
    plus = problem.cone.project(Q)
    x_alpha = problem.cone.project(H) / lam
    gap = max(problem.primal(x, lam) - problem.dual(alpha, lam), 0.0)
    squared_GB = np.sum((x - H / lam) ** 2) / 4 + max(fenchel, 0.0) / lam
    squared_PGB = max(squared_GB - np.sum((Q - plus) ** 2), 0.0)
    squared_MGB = max(gap / lam - np.sum((x - x_alpha) ** 2) / 4, 0.0)
    return {
        "GB": (Q, np.sqrt(squared_GB)),
        "PGB": (plus, np.sqrt(squared_PGB)),
        "DGB": (x, np.sqrt(2 * gap / lam)),
        "MGB": ((x + x_alpha) / 2, np.sqrt(squared_MGB)),
    }


def path_ball(x0, lam0, lam1, eps=0.0):
    radius = abs(lam0 - lam1) / (2 * lam1) * np.linalg.norm(x0) + max(1.0, lam0 / lam1) * eps
    return (lam0 + lam1) / (2 * lam1) * x0, radius


# %%
lam0 = 0.1 * problem.lam_max()
lam1 = 0.7 * lam0
x0 = ss.solve(problem, lam0, tol=1e-11).x
x1 = ss.solve(problem, lam1, tol=1e-11).x
slow = all_balls(problem, x0, problem.alpha(x0), lam1)
slow["RPB"] = path_ball(x0, lam0, lam1)
library = library_balls(problem, x0, problem.alpha(x0), lam1)
library["RPB"] = ss.spheres.path_bound(x0, lam0, lam1)
print("reference: the solution for lam0; lam1 = 0.7 lam0")
for name, (center, radius) in slow.items():
    print(
        f"{name:4} center {np.round(center + 0.0, 3).tolist()}  radius {radius:.4f}   library "
        f"{library[name].radius:.4f}"
    )
    assert np.linalg.norm(library[name].center - center) < 1e-9
    assert abs(library[name].radius / radius - 1.0) < 1e-9

# %% [markdown]
# ## Derivation: PGB = RPB (STS19 appendix I)
#
# Let $H_0 = H(\alpha_0^\star)$ and $N_0 = [H_0]_K - H_0$, so that $H_0 = \lambda_0 x_0^\star - N_0$ and
# $\langle x_0^\star, N_0\rangle = 0$. The dual solution is a vector of slopes at $x_0^\star$, so
# $g = \lambda_1 x_0^\star - H_0$ is a subgradient for $\lambda_1$. The center of GB is
#
# $$Q = x_0^\star - \tfrac{g}{2\lambda_1} = \tfrac{\lambda_0+\lambda_1}{2\lambda_1}\, x_0^\star - \tfrac{1}{2\lambda_1} N_0 .$$
#
# The first part is in the cone, the second part is in the polar cone, and the parts are orthogonal. So this sum *is* Moreau's decomposition of $Q$, and $[Q]_K = \frac{\lambda_0+\lambda_1}{2\lambda_1} x_0^\star$. Also $\|g\|^2 = (\lambda_0 - \lambda_1)^2\|x_0^\star\|^2 + \|N_0\|^2$, and the projection subtracts exactly $\|N_0\|^2$. sympy checks both statements for a rank-one $x_0^\star = p p^\top$ and $N_0 = s\, q q^\top$ with $q \perp p$:

# %%
p1, p2 = sp.symbols("p1 p2", real=True)
l0, l1, s = sp.symbols("lambda0 lambda1 s", positive=True)
p = sp.Matrix([p1, p2])
q = sp.Matrix([-p2, p1])
M0 = p * p.T
N0 = s * q * q.T


def inner(A, B):
    return sp.expand((A.T * B).trace())


g = l1 * M0 - (l0 * M0 - N0)
Q = M0 - g / (2 * l1)
minus = N0 / (2 * l1)
r_pgb_squared = inner(g, g) / (4 * l1**2) - inner(minus, minus)
assert inner(M0, N0) == 0
assert sp.simplify(Q + minus - (l0 + l1) / (2 * l1) * M0) == sp.zeros(2)
difference = sp.simplify(r_pgb_squared - ((l0 - l1) / (2 * l1)) ** 2 * inner(M0, M0))
print("[Q]_K is the center of RPB, and the squared radii differ by", difference)
assert difference == 0

# %% [markdown]
# A similar argument applies to MGB. For $\lambda_1$ the point $x(\alpha_0^\star)$ is $\frac1{\lambda_1}[H_0]_K = \frac{\lambda_0}{\lambda_1} x_0^\star$. The midpoint of $x(\alpha_0^\star)$ and $x_0^\star$ is the center of RPB. With the gap of the next section the squared radius of MGB is $\frac14\|x_0^\star - x(\alpha_0^\star)\|^2$, which is also the squared radius of RPB.

# %% [markdown]
# ## Derivation: the radius of DGB is twice the radius of RPB (STS19 appendix J)
#
# The gap is a sum of three non-negative terms:
#
# $$P(x;\lambda) - D(\alpha;\lambda) = \tfrac\lambda2\, \|x - x(\alpha)\|^2 + \langle x, N\rangle + \varphi .$$
#
# At $(x_0^\star, \alpha_0^\star)$ the last two terms are zero for $\lambda_0$, and hence **for every** $\lambda$, because they do not depend on $\lambda$. Only the first term remains. For $\lambda_1$ we have $x(\alpha_0^\star) = \frac{\lambda_0}{\lambda_1}x_0^\star$, so
#
# $$P(x_0^\star;\lambda_1) - D(\alpha_0^\star;\lambda_1) = \tfrac{(\lambda_0-\lambda_1)^2}{2\lambda_1} \|x_0^\star\|^2,
# \qquad r_{\text{DGB}} = \tfrac{|\lambda_0-\lambda_1|}{\lambda_1}\|x_0^\star\| = 2\,r_{\text{RPB}} .$$
#
# The distance of the centers $x_0^\star$ and $\frac{\lambda_0+\lambda_1}{2\lambda_1}x_0^\star$ is $r_{\text{RPB}}$. So RPB lies inside DGB, the center of DGB is on the surface of RPB, and the two balls touch at the far end $\frac{\lambda_0}{\lambda_1}x_0^\star$ of RPB's diameter. We first check the identity for the gap, at an arbitrary pair:

# %%
x = problem.cone.project(x0 + 0.1 * np.array([[1.0, -0.5], [-0.5, 0.2]]))
alpha = np.random.default_rng(0).uniform(0.0, 1.0, len(problem))
H = problem.terms.adjoint(alpha)
margin = problem.terms.margins(x)
plus = problem.cone.project(H)
phi = np.sum(problem.loss.value(margin) + 0.05 * alpha**2 / 2 - alpha + alpha * margin)
three = lam1 / 2 * np.sum((x - plus / lam1) ** 2), np.vdot(x, plus - H), phi
gap = problem.primal(x, lam1) - problem.dual(alpha, lam1)
print("gap", round(float(gap), 4), " = ", " + ".join(f"{v:.4f}" for v in three))
assert abs(gap - sum(three)) < 1e-10 * gap and min(three) >= 0.0

# %% [markdown]
# ## The two theorems over three cones
#
# We draw random problems with a full metric, a diagonal metric and samples; the loss of every third problem is the hinge. We solve each problem for $\lambda_0$ to a relative gap of $10^{-14}$ ($10^{-13}$ for the hinge). We use the solver's dual solution, which for the hinge is *not* a function of $x$, and the library's balls. Differences are in units of $r_{\text{RPB}}$. They are not zero because the reference is not exact.

# %%
def random_problem(kind, gamma, rng):
    n, d = int(rng.integers(8, 15)), int(rng.integers(2, 5))
    X, y = rng.standard_normal((n, d)), np.arange(n) % 2
    X[y == 1] += rng.uniform(0.0, 1.5, d)
    if kind == "support vectors":
        return ss.Problem(ss.Samples(X, 2 * y - 1), ss.SmoothedHinge(gamma))
    triplets = ss.Triplets.from_labels(X, y, k=3, diagonal=kind == "diagonal metric")
    return ss.Problem(triplets, ss.SmoothedHinge(gamma))


# %%
rng = np.random.default_rng(5)
solved = []
for kind in ("metric", "diagonal metric", "support vectors"):
    for repeat in range(30):
        gamma = (0.0, 0.05, 0.5)[repeat % 3]
        instance = random_problem(kind, gamma, rng)
        a = max(instance.lam_max(), 1.0) * rng.choice([0.5, 0.1, 0.02])
        b = a * rng.choice([0.5, 0.9, 1.5])
        rtol = 1e-13 if gamma == 0.0 else 1e-14
        at = ss.solve(instance, a, rtol=rtol, tol=1e-14, screening=("RRPB", "PGB"))
        if np.linalg.norm(at.x) > 0.0:
            solved.append((kind, instance, at, a, b))
n_hinge = sum(instance.loss.gamma == 0.0 for _, instance, *_ in solved)
print("problems:", len(solved), " of them with the hinge:", n_hinge)

# %% tags=["STS19-T7"]
allowed = {"smoothed hinge": 1e-4, "hinge": 1e-3}


def loss_of(instance):
    return "hinge" if instance.loss.gamma == 0.0 else "smoothed hinge"


worst = {}
for _, instance, at, a, b in solved:
    rpb = ss.spheres.path_bound(at.x, a, b)
    for name, ball in library_balls(instance, at.x, at.alpha, b).items():
        key = name, loss_of(instance)
        centers_apart = np.linalg.norm(ball.center - rpb.center)
        radii_apart = abs(ball.radius - rpb.radius)
        worst[key] = max(worst.get(key, 0.0), max(centers_apart, radii_apart) / rpb.radius)
for name in ("PGB", "MGB"):
    for kind, bound in allowed.items():
        print(
            f"{name} against RPB, {kind:14}: centers and radii differ by less than "
            f"{bound:g} of the radius"
        )
        assert worst[name, kind] < bound
assert worst["GB", "smoothed hinge"] > 0.5 and worst["DGB", "smoothed hinge"] > 0.5

# %% tags=["STS19-T8"]
twice = dict.fromkeys(allowed, 0.0)
inside = dict.fromkeys(allowed, 0.0)
for _, instance, at, a, b in solved:
    rpb = ss.spheres.path_bound(at.x, a, b)
    dgb = library_balls(instance, at.x, at.alpha, b)["DGB"]
    kind = loss_of(instance)
    farthest = np.linalg.norm(dgb.center - rpb.center) + rpb.radius
    twice[kind] = max(twice[kind], abs(dgb.radius / (2.0 * rpb.radius) - 1.0))
    # this is 0 if RPB lies inside DGB and touches it
    inside[kind] = max(inside[kind], abs(farthest / dgb.radius - 1.0))
for kind, bound in allowed.items():
    print(f"{kind}: |r_DGB / (2 r_RPB) - 1| is below {bound:g}")
    print(f"{kind}: distance of RPB's far end from the surface of DGB is below {bound:g} r_DGB")
    assert max(twice[kind], inside[kind]) < bound

# %% [markdown]
# ### "There is a subgradient"
#
# Theorem 7 claims only that a suitable subgradient exists. With the smoothed hinge there is only one subgradient. With the hinge a term with margin 1 can have any slope in $[-1, 0]$, and $\alpha(x)$ is an arbitrary choice of 0 or 1. With $\alpha(x)$ PGB is not RPB, and the radius of PGB can be large:

# %%
ratios = {"dual solution": [], "alpha(x)": []}
for _, instance, at, a, b in solved:
    if instance.loss.gamma == 0.0:
        radius = ss.spheres.path_bound(at.x, a, b).radius
        by_solution = library_balls(instance, at.x, at.alpha, b)["PGB"]
        by_point = library_balls(instance, at.x, instance.alpha(at.x), b)["PGB"]
        ratios["dual solution"].append(by_solution.radius / radius)
        ratios["alpha(x)"].append(by_point.radius / radius)
largest = max(ratios["dual solution"])
print(f"hinge, r_PGB / r_RPB: with the dual solution at most {largest:.2f} (bound 1.001)")
print("hinge, r_PGB / r_RPB: with alpha(x) the largest ratio is above 1.5")
assert max(ratios["dual solution"]) < 1.001 and max(ratios["alpha(x)"]) > 1.5

# %% [markdown]
# ## In three dimensions (STS19 Figure 2, from numbers)
#
# A symmetric $2 \times 2$ matrix has three coordinates: $\frac{1}{\sqrt2}(M_{11} - M_{22})$, $\sqrt2 M_{12}$ and, upwards, $\frac{1}{\sqrt2}(M_{11} + M_{22})$. In these coordinates the Frobenius norm is the ordinary length, and the positive semidefinite matrices are an upright circular cone. The metrics of rank one are the surface of the cone. The solution (star) has rank one.
#
# Picture (a) shows GB and PGB. The plane touches the cone; it is the boundary of the half-space $\langle Q_-, M\rangle \ge 0$, which contains the cone. Picture (b) shows DGB and MGB. Picture (c) shows RPB inside DGB, for an exact reference. Picture (d) shows RPB, and RRPB for an inexact reference whose true distance from $x_0^\star$ is $\varepsilon$.

# %%
def balls_in_space(new, x, near):
    """The balls for lambda = new: of a reference x, of the exact x0, and of a point near x0."""
    eps = np.linalg.norm(near - x0)
    return {
        "GB": ss.spheres.gradient_bound(problem, x, new),
        "PGB": ss.spheres.projected_gradient_bound(problem, x, new),
        "DGB": ss.spheres.duality_gap_bound(problem, x, new),
        "MGB": ss.spheres.midpoint_gap_bound(problem, x, new),
        "RPB": ss.spheres.path_bound(x0, lam0, new),
        "RRPB": ss.spheres.relaxed_path_bound(near, eps, lam0, new),
        "exact DGB": ss.spheres.duality_gap_bound(problem, x0, new),
    }


def views(b, optimum, x, near):
    """The four pairs of balls, their marked points, and their titles."""
    at_x = {"optimum": optimum, "x": x}
    at_exact = {"optimum": optimum, "$x_0^*$": x0}
    at_near = {"optimum": optimum, "$x_0$": near}
    exact = {"DGB": b["exact DGB"], "PGB = RPB": b["RPB"]}
    return (
        ({"GB": b["GB"], "PGB": b["PGB"]}, at_x, "(a) any reference"),
        ({"DGB": b["DGB"], "MGB": b["MGB"]}, at_x, "(b) any reference"),
        (exact, at_exact, "(c) exact reference"),
        ({"RRPB": b["RRPB"], "RPB": b["RPB"]}, at_near, "(d) inexact reference"),
    )


# %%
def pictures(lam, position):
    """Draw the balls for lam (in units of lam0). At position 0 the reference is the solution for
    lam0, at position 1 it is a multiple of the identity."""
    new = lam * lam0
    optimum = ss.solve(problem, new, tol=1e-10).x
    x = (1.0 - position) * x0 + position * 0.15 * np.eye(2)
    near = (1.0 - 0.1 * position) * x0 + 0.1 * position * 0.15 * np.eye(2)
    drawn = balls_in_space(new, x, near)
    _, axes = figures.scenes(2, 2, 9.4, 8.4)
    normals = (drawn["GB"].normal, None, None, None)
    for ax, normal, view in zip(axes, normals, views(drawn, optimum, x, near), strict=True):
        pair, points, title = view
        figures.cone_scene(pair, points, normal=normal, ax=ax, title=title)
    figures.show(
        "Each view shows the cone of semidefinite matrices with a pair of balls: (a) GB, whose "
        "center lies outside the cone, and PGB, whose center lies on the plane that touches the "
        "cone; (b) MGB inside DGB; (c) RPB inside DGB, for an exact reference; (d) RPB inside "
        "RRPB. A star marks the optimum, which is in every ball."
    )
    return optimum, drawn


# %% tags=["STS19-F2"]
optimum, drawn = pictures(lam=0.7, position=0.35)
del drawn["exact DGB"]
edge = figures.coordinates(optimum)
for name, ball in drawn.items():
    assert np.linalg.norm(edge - figures.coordinates(ball.center)) <= ball.radius, name
assert abs(edge[2] - np.hypot(edge[0], edge[1])) < 1e-6  # the star is on the surface of the cone
# (a) the center of GB is outside the cone
assert not ss.PSDCone(2).violation(drawn["GB"].center) < 1e-3
# the plane separates the center of GB from the optimum
assert np.vdot(drawn["GB"].normal, drawn["GB"].center) < 0.0 <= np.vdot(drawn["GB"].normal, optimum)
away = np.linalg.norm(drawn["DGB"].center - drawn["MGB"].center)
assert away + drawn["MGB"].radius <= drawn["DGB"].radius  # (b)
away = np.linalg.norm(drawn["RRPB"].center - drawn["RPB"].center)
assert away + drawn["RPB"].radius <= drawn["RRPB"].radius  # (d)
print(f"the optimum is in each of {len(drawn)} balls and on the surface of the cone")
print("radii:", "  ".join(f"{name} {ball.radius:.3f}" for name, ball in drawn.items()))

# %% [markdown]
# In JupyterLab the next cell shows sliders for $\lambda_1/\lambda_0$ and for the position of the reference. Without a browser the cell shows one more static picture, for a reference close to the exact solution.

# %% tags=["nbval-ignore-output"]
values = figures.sliders(lambda lam, position: pictures(lam, position) and None,
                         lam=(0.3, 0.99, 0.6), position=(0.0, 1.0, 0.05))


# %% [markdown]
# ## With an inexact reference
#
# For an inexact reference the paper states $r_{\text{GB}} \ge r_{\text{PGB}}$. With MGB we can say more. For *any* feasible $x$ and any dual point, with the same pair as reference of all balls,
#
# $$r_{\text{PGB}} \le \min(r_{\text{GB}},\, r_{\text{MGB}}), \qquad \text{MGB} \subseteq \text{DGB},
# \qquad r_{\text{MGB}} \le \tfrac{1}{\sqrt2}\, r_{\text{DGB}}, \qquad \text{MGB} \subseteq \text{RRPB}$$
#
# Notebook [`28-midpoint-gap-bound`](28-midpoint-gap-bound.ipynb) has the proofs. The first inequality is true because the centers of PGB and MGB are the center of GB plus an element of the dual cone, and PGB uses the best element. So the radius of PGB is at most $r_{\text{DGB}}/\sqrt2$ as well. The intersection of GB and its half-space is contained in PGB: since
# $\langle Q, Q_-\rangle = -\|Q_-\|^2$, a point $z$ with $\langle Q_-, z\rangle \ge 0$ has
#
# $$\|z - [Q]_K\|^2 = \|z - Q\|^2 - 2\langle z, Q_-\rangle - \|Q_-\|^2 \le \|z - Q\|^2 - \|Q_-\|^2 .$$
#
# Which ball contains which other ball? We test random references near the solution and far from it. The table says whether the ball of the row lies *always*, *sometimes* or *never* inside the ball of the column.

# %%
def near_and_far(solved, rng):
    """Twelve references for each problem, near the solution and far from it."""
    for _, instance, at, a, b in solved:
        for share in 10.0 ** rng.uniform(-3, 0.3, 12):
            H = rng.standard_normal(at.x.shape)
            H = H + H.T if H.ndim == 2 else H
            size = np.linalg.norm(at.x)
            yield instance, instance.cone.project(at.x + share * size * H / np.linalg.norm(H)), a, b


def contained(of, names):
    """A table of 0 and 1: whether the ball of the row lies in the ball of the column."""
    tolerance = 1e-6 * of["DGB"][1]
    table = np.zeros((len(names), len(names)))
    for i, row in enumerate(names):
        for j, column in enumerate(names):
            farthest = np.linalg.norm(of[row][0] - of[column][0]) + of[row][1]
            table[i, j] = farthest <= of[column][1] + tolerance
    return table


def in_words(count, total):
    """'always', 'sometimes' or 'never'."""
    if count == 0:
        return "never"
    return "always" if count == total else "sometimes"


# %%
rng = np.random.default_rng(8)
names = ("GB", "PGB", "DGB", "MGB", "RRPB")
inside = np.zeros((5, 5))
total = 0
worst_ratio = {"PGB/GB": 0.0, "PGB/MGB": 0.0, "MGB/DGB": 0.0}
for instance, x, a, b in near_and_far(solved, rng):
    alpha = instance.alpha(x)
    of = all_balls(instance, x, alpha, b)
    of["RRPB"] = path_ball(x, a, b, all_balls(instance, x, alpha, a)["DGB"][1])
    inside += contained(of, names)
    total += 1
    for key in worst_ratio:
        one, other = key.split("/")
        worst_ratio[key] = max(worst_ratio[key], of[one][1] / of[other][1])

# %%
print(f"{total} references")
print("inside:  " + "".join(f"{name:>10}" for name in names))
for i, name in enumerate(names):
    words = [in_words(count, total) for count in inside[i]]
    words[i] = "-"
    print(f"{name:9}" + "".join(f"{word:>10}" for word in words))
for key, value in worst_ratio.items():
    print(f"largest r_{key.replace('/', ' / r_')}: {value:.3f}")
GB, PGB, DGB, MGB, RRPB = range(5)
assert total >= 900
assert inside[MGB, DGB] == inside[MGB, RRPB] == total
assert worst_ratio["PGB/GB"] <= 1.0 + 1e-9 and worst_ratio["PGB/MGB"] <= 1.0 + 1e-6
assert worst_ratio["MGB/DGB"] <= np.sqrt(0.5) + 1e-6
assert inside[PGB, DGB] < total and inside[PGB, GB] < total

# %% [markdown]
# ## Break it: a smaller ball need not lie inside
#
# A part of PGB is sometimes outside GB (the exercise shows when) or outside DGB. The smallest example for DGB is a half-line: one term $a = -1$, the cone $x \ge 0$, $\lambda = 1$, and the reference $x = 1$. The solution is 0. GB and PGB are the interval $[-1, 1]$ around $Q = 0$. The center of DGB is 1. PGB extends further to the left than DGB, and DGB extends further to the right than PGB. So neither ball contains the other, and their intersection is smaller than both.

# %%
triplet = ss.Triplets(np.array([[0.0], [1.0], [0.0]]), [[0, 1, 2]], diagonal=True)
line = ss.Problem(triplet, ss.SmoothedHinge(0.05))
one = np.ones(1)
intervals = {}
for name, (center, radius) in all_balls(line, one, line.alpha(one), 1.0).items():
    low, high = float(center[0] - radius), float(center[0] + radius)
    intervals[name] = low, high
    print(f"{name:4} [{low:6.3f}, {high:6.3f}]")
assert intervals["PGB"][0] < intervals["DGB"][0] and intervals["PGB"][1] < intervals["DGB"][1]
assert intervals["MGB"][0] >= intervals["DGB"][0] - 1e-9
assert intervals["MGB"][1] <= intervals["DGB"][1]

# %% [markdown]
# ## Properties of the balls (STS19 Table 1)
#
# We answer three questions about each ball by experiments on the random problems of the two theorems.
#
# 1. *Radius convergence*: what is the radius when the reference is the solution ($\lambda_0 = \lambda_1$)? The radius of GB is half the distance from $H/\lambda$ to the cone. It is zero if the constraint is inactive, and positive if the constraint is active.
# 2. *Dynamic screening*: can a solver compute the ball from its current iterate?
# 3. *Exact reference*: does the ball contain the solution when the reference is inexact?
#
# We use the library's balls. For the last two questions we use inexact references at the same $\lambda$, and also compare the balls with their definitions. The RPB of such a reference has radius 0 and never contains the solution, so the paper's entry for RPB is "not applicable". The radii at the solution are limited by the accuracy of the computed solution: a radius is about the square root of the gap.

# %%
def row_of(instance, x, alpha, lam):
    of = library_balls(instance, x, alpha, lam)
    of["CDGB"] = ss.spheres.constrained_duality_gap_bound(instance, alpha, lam)
    of["RPB"] = ss.spheres.path_bound(x, lam, lam)
    of["RRPB"] = ss.spheres.relaxed_path_bound(x, of["DGB"].radius, lam, lam)
    return of


def definitions(instance, x, alpha, lam):
    of = all_balls(instance, x, alpha, lam)
    x_alpha = instance.x_of(alpha, lam)
    gap = max(instance.primal(x_alpha, lam) - instance.dual(alpha, lam), 0.0)
    of["CDGB"] = x_alpha, np.sqrt(gap / lam)
    of["RPB"] = path_ball(x, lam, lam)
    of["RRPB"] = path_ball(x, lam, lam, of["DGB"][1])
    return of


# %%
def at_the_optimum(solved):
    """Largest radius of each ball for each loss, over the norm of the solution. Also the largest
    difference between GB's radius and half the distance of H/lam from the cone."""
    radii = {}
    stays = 0.0
    for _, instance, at, a, _ in solved:
        for name, ball in row_of(instance, at.x, at.alpha, a).items():
            key = name, loss_of(instance)
            radii[key] = max(radii.get(key, 0.0), ball.radius / np.linalg.norm(at.x))
            if name == "GB":  # half the distance of H/lam from the cone
                half = np.linalg.norm(instance.evaluate(at.x, a, at.alpha).minus) / (2.0 * a)
                stays = max(stays, abs(ball.radius - half) / np.linalg.norm(at.x))
    return radii, stays


# %%
def at_rough_references(solved):
    """How often each ball loses the solution, its largest difference from the definition, and the
    number of references."""
    missed, apart = {}, {}
    n_rough = 0
    for _, instance, at, a, _ in solved:
        rough = ss.solve(instance, a, tol=0.0, rtol=1e-2, screening=())
        if np.linalg.norm(rough.x - at.x) < 1e-3 * np.linalg.norm(at.x):
            continue
        n_rough += 1
        truth = definitions(instance, rough.x, rough.alpha, a)
        for name, ball in row_of(instance, rough.x, rough.alpha, a).items():
            center, radius = truth[name]
            away = max(np.linalg.norm(ball.center - center), abs(ball.radius - radius))
            apart[name] = max(apart.get(name, 0.0), away / truth["DGB"][1])
            lost = np.linalg.norm(at.x - ball.center) > ball.radius + at.eps
            missed[name] = missed.get(name, 0) + lost
    return missed, apart, n_rough


# %% tags=["STS19-B1"]
at_optimum, stays = at_the_optimum(solved)
missed, apart, n_rough = at_rough_references(solved)
bounds = {(name, kind): 1e-4 for name in missed for kind in allowed} | {("CDGB", "hinge"): 0.05}
needs = dict.fromkeys(("GB", "PGB", "RPB"), "primal")
print("largest radius / |x*| at the solution:")
lost = "loses the solution, inexact references"
print(f"{'ball':6}{'smoothed hinge':>15}{'hinge':>15}{'reference':>14}{lost:>41}")
for name in ("GB", "PGB", "DGB", "CDGB", "MGB", "RPB", "RRPB"):
    sizes = [at_optimum[name, kind] for kind in allowed]
    if name == "GB":
        first = [f"{sizes[0]:.0f}", "above 1"]
        assert min(sizes) > 1.0 and stays < 1e-3
    else:
        limits = [bounds[name, kind] for kind in allowed]
        first = [f"below {limit:g}" for limit in limits]
        assert all(size < limit for size, limit in zip(sizes, limits, strict=True))
    need, percent = needs.get(name, "primal/dual"), 100 * missed[name] / n_rough
    print(f"{name:6}{first[0]:>15}{first[1]:>15}{need:>14}{percent:>39.0f} %")
print("library and definitions at inexact references: less than 2e-4 of r_DGB apart")
assert max(apart.values()) < 2e-4
assert n_rough > 20 and missed.pop("RPB") == n_rough and not any(missed.values())

# %% [markdown]
# The paper's table is correct, and MGB has the same properties as DGB. Footnote (a) of the paper says that PGB needs a suitable subgradient for the hinge. In the same way DGB, CDGB and MGB need a suitable dual point, which the paper regards as part of *their* reference. For the hinge the radius of CDGB converges most slowly: at $x(\alpha)$ the objective has kinks, so the gap may be proportional to the distance from the solution, and not to the squared distance.
#
# ### Radii during a solve and along a path
#
# The left panel shows the radii at the iterates of projected gradient. In the right panel the reference is the exact solution for $\lambda_0$, and $\lambda_1$ varies. In the right panel the curves of PGB, MGB and RPB are equal, the radius of DGB is twice as large, and the radius of GB does not go to zero.

# %% tags=["nbval-ignore-output"]
visited = []
remember = {"callback": lambda progress: visited.append(progress.x)}
ss.solve(problem, lam1, 1e-9, x0=0.3 * np.eye(2), screening=(), **remember)
along = [row_of(problem, z, problem.alpha(z), lam1) for z in visited[:40]]
dynamic = {}
for name in ("GB", "PGB", "DGB", "CDGB", "MGB"):
    dynamic[name] = [max(row[name].radius, 1e-8) for row in along]

shares = np.linspace(0.5, 1.0, 30)
radii = {name: [] for name in ("GB", "DGB", "PGB", "MGB", "RPB")}
for f in shares:
    of = library_balls(problem, x0, problem.alpha(x0), f * lam0)
    of["RPB"] = ss.spheres.path_bound(x0, lam0, f * lam0)
    for name, values in radii.items():
        values.append(of[name].radius)

# %% tags=["nbval-ignore-output"]
figure, axes = figures.panels(2, height=3.4)
labels = {"xlabel": "iteration", "ylabel": "radius", "title": "dynamic"}
figures.lines(dynamic, ax=axes[0], log="y", **labels)
xlabel, title = r"$\lambda_1/\lambda_0$", "path, exact reference"
figures.lines(radii, shares, ax=axes[1], xlabel=xlabel, ylabel="radius", title=title)
axes[1].set_ylim(0.0, None)
axes[1].invert_xaxis()
last = {name: ball.radius for name, ball in along[-1].items()}
farthest = {name: radius[0] for name, radius in radii.items()}
figures.show(
    "The curves in the left panel show radii during a solve, on a logarithmic axis: GB ends at "
    f"{last['GB']:.2f}, DGB at {last['DGB']:.0e} and MGB at {last['MGB']:.0e}. The curves in the "
    "right panel show radii along a path from an exact reference. At the right end, where lambda "
    f"is farthest from the reference, the radii are {figures.listed(farthest)}."
)
assert max(last["MGB"], last["PGB"]) < last["DGB"] < 0.01 * last["GB"]

# %% [markdown]
# ## How many triplets each ball screens
#
# The next cell prints the share of triplets that each ball screens at $\lambda_1$ with the exact reference. Equal balls screen the same triplets. DGB screens fewer, because its radius is twice as large.

# %%
rate = {name: ss.rules.sphere(problem, ball).rate for name, ball in library.items()}
print("  ".join(f"{name} {value:.2f}" for name, value in rate.items()))
assert rate["PGB"] == rate["MGB"] == rate["RPB"] >= rate["DGB"]

# %% [markdown]
# ## Exercise
#
# Picture (a) suggests that PGB lies inside GB. When is this true?
#
# <details>
# <summary><b>Solution</b></summary>
#
# The distance of the centers is $m = \|Q - [Q]_K\|$, and $r_{\text{PGB}} = \sqrt{r_{\text{GB}}^2 - m^2}$. Write $r = r_{\text{GB}}$. PGB lies inside GB when $m + \sqrt{r^2 - m^2} \le r$. The square of $\sqrt{r^2 - m^2} \le r - m$ gives $m\,(r - m) \le 0$. This is true only if $m = 0$ (the center is in the cone and the balls are equal) or $m = r$ (PGB is a point). Otherwise a part of PGB is outside GB, on the side of the cone. But the intersection of GB and the half-space always lies in PGB, as shown in the section on inexact references. The plane cuts GB in a circle that is a great circle of PGB, because the plane contains $[Q]_K$.
#
# </details>

# %%
farthest = []
for _, instance, at, _, b in solved[:30]:
    x = instance.cone.project(0.7 * at.x)
    of = all_balls(instance, x, instance.alpha(x), b)
    m = np.linalg.norm(of["GB"][0] - of["PGB"][0])
    if 1e-3 * of["GB"][1] < m < 0.999 * of["GB"][1]:
        farthest.append((m + of["PGB"][1]) / of["GB"][1])
print(
    f"{len(farthest)} references: largest distance of a point of PGB from the center of GB is "
    f"{min(farthest):.3f} to {max(farthest):.3f} radii of GB"
)
assert min(farthest) > 1.0

# %% [markdown]
# ## Fine print
#
# * **Numbering.** Section 3.6 of STS19 refers to its Theorems 7 and 8 as "theorems 8 and 9"; the headings of the appendices are shifted by one in the same way.
# * **DGB $\supseteq$ PGB** in the summary is a statement about exact references only. The table of inclusions shows that it is not always true for inexact references. MGB $\subseteq$ DGB is true for all references.
# * **RRPB = RPB** in the summary assumes $\varepsilon = 0$. For $\varepsilon > 0$, RRPB has a larger radius than PGB and MGB of the same pair: in PGB and MGB the error enters under a root, $\sqrt{r^2 + \text{small}}$, and in RRPB it is added.
# * **Experiments** agree with the paper: on a path PGB and RRPB screen about the same share, and DGB screens less (STS19 section 7; [`51-path-time`](51-path-time.ipynb)).
# * **The dual point of DGB.** $r_{\text{DGB}} = 2\,r_{\text{RPB}}$ requires the *dual* solution in DGB. With another dual point DGB has the same center and a larger radius, and still contains RPB.
#
# ## References
#
# * STS19: Yoshida, Takeuchi, Karasuyama, *Safe Triplet Screening for Distance Metric Learning*, Neural Computation 31,
#   2019: section 3.6, Figure 2, Table 1, Theorems 7 and 8, proofs in appendices I and J.
# * STS18: the same authors, KDD 2018: Theorems 3.8 and 3.9.
# * Tran, Elvira, Dang, Herzet, *One to beat them all: "RYU" - a unifying framework for the construction of safe balls*,
#   arXiv 2312.00640, 2023.
