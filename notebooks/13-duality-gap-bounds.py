# %% [markdown]
# # The duality gap bounds (DGB and CDGB)
#
# A small duality gap means that a pair of points is nearly optimal. The objective is strongly convex, so the gap also bounds the distance between primal point and solution. This notebook derives balls from the gap.
#
# At the end you will have seen that
#
# * the gap of a pair $(x, \alpha)$ bounds the sum of **two** squared distances from the solution: the squared distance of $x$ and the squared distance of $x(\alpha)$. DGB uses only the distance of $x$. In CDGB the two points are equal, so the radius of CDGB is $\sqrt2$ times smaller for the same gap;
# * the gap as a function of the primal point alone is *twice* as strongly convex as the objective;
# * each of the two balls requires a feasible primal point, and the solution can lie on the ball's surface.

# %%
import numpy as np
import sympy as sp

import safescreen as ss
from safescreen_book import figures

# %% [markdown]
# ## The idea in a picture
#
# The picture shows a problem of one dimension with seven terms. The objective $P$ is strongly convex: it lies above a parabola with the same minimum (dotted). We know $x$ and $P(x)$, but neither the place of the minimum nor the minimal value. A dual point gives a value $D$ that is not above the minimal value. So at $x$ the parabola is at most $P(x) - D$, the gap, above its lowest point. We know the curvature of the parabola. So the solution lies within $\sqrt{2(P - D)/\lambda}$ of $x$ (the bar in the picture).

# %%
# a_t, gamma, lambda
numbers, width, curvature = np.array([3.0, 2.2, 1.4, 0.8, 0.5, -0.4, -0.9]), 0.3, 2.0
line = np.linspace(-0.2, 1.4, 801)
margins = np.outer(line, numbers)
slopes = np.clip((1.0 - margins) / width, 0.0, 1.0)
losses = np.sum(slopes * (1.0 - margins) - width / 2 * slopes**2, axis=1)
values = losses + curvature / 2 * line**2
lowest = line[np.argmin(values)]
at = np.searchsorted(line, lowest + 0.12)
H_plus = max(numbers @ slopes[at], 0.0)
dual = np.sum(slopes[at] - width / 2 * slopes[at] ** 2) - H_plus**2 / (2 * curvature)
radius = np.sqrt(2.0 * (values[at] - dual) / curvature)
assert dual <= values.min() and abs(line[at] - lowest) <= radius

# %%
ax = figures.lines(
    {"objective $P$": values}, line, xlabel="$x$", title="a small gap, a near solution", legend=None
)
ax.plot(line, values.min() + curvature / 2 * (line - lowest) ** 2, ":", color="#333333")
ax.axhline(dual, color="#999999", linewidth=1.0)
bar = [line[at] - radius, line[at] + radius]
ax.plot(bar, [dual - 0.5, dual - 0.5], color=figures.style_of("DGB")["color"], linewidth=4)
ax.plot(line[at], values[at], "o", color="black")
ax.plot(lowest, values.min(), "*", color="black", markersize=11)
ax.annotate("$P(x)$", (line[at], values[at] + 0.25))
ax.annotate("$D$", (-0.18, dual + 0.1))
ax.annotate("DGB", (line[at] + radius + 0.03, dual - 0.6))
ax.set(ylim=(dual - 1.0, dual + 4.0))
figures.show(
    "The solid curve is the objective, and the star marks its minimum. The dotted parabola lies "
    "below the curve and has the same minimum. The dot on the curve is the reference, and the "
    "horizontal line below the minimum is the dual value. The bar at the bottom, centered below "
    "the dot, is DGB. The star is above a point of the bar."
)

# %% [markdown]
# ## The claims
#
# > **Duality gap bound, DGB** (STS19 Theorem 4; STS18 Theorem 3.5). For any $x \in K$ and any $0 \le \alpha \le 1$
# >
# > $$\|x^\star - x\|^2 \le \tfrac{2}{\lambda}\big(P(x) - D(\alpha)\big) .$$
#
# > **Constrained duality gap bound, CDGB** (STS19 Theorem 14, appendix F; STS18 Theorem 3.6). For any $0 \le \alpha \le 1$
# > and $\Gamma \in K^*$ whose $x_\Gamma = (H(\alpha)+\Gamma)/\lambda$ is feasible, $x_\Gamma \in K$, and with
# > $D(\alpha, \Gamma) = \mathbf 1^\top\alpha - \frac\gamma2\|\alpha\|^2 - \frac\lambda2\|x_\Gamma\|^2$,
# >
# > $$\|x^\star - x_\Gamma\|^2 \le \tfrac1\lambda\big(P(x_\Gamma) - D(\alpha, \Gamma)\big) .$$
# >
# > The best $\Gamma$ gives $x_\Gamma = x(\alpha)$, which is always feasible, and $D(\alpha,\Gamma) = D(\alpha)$.
#
# Assumptions: the loss is convex, $K$ is a closed convex cone, $\lambda > 0$. In DGB we may choose $x$ and $\alpha$ independently. In CDGB $x_\Gamma$ is the primal reference and $(\alpha, \Gamma)$ is the dual reference. The primal objective is defined on $K$, so $P(x_\Gamma)$ requires $x_\Gamma \in K$, and the proofs in both papers start with this requirement.
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

# %%
rng = np.random.default_rng(3)
X = rng.standard_normal((12, 2)) * [1.0, 0.6]
X[6:, 0] += 1.2
y = np.repeat([0, 1], 6)

loss = ss.SmoothedHinge(gamma=0.05)
problem = ss.Problem(ss.Triplets.from_labels(X, y, k=3), loss)
lam = 0.1 * problem.lam_max()
solution = ss.solve(problem, lam, tol=1e-11)
x_star, P_star = solution.x, solution.primal
print(problem)

# %% [markdown]
# ## Derivation
#
# ### Step 1: a consequence of strong convexity (STS19 appendix E)
#
# A function $F$ is $m$-strongly convex if $F - \frac m2\|\cdot\|^2$ is convex. If $z^\star$ minimises an $m$-strongly convex $F$ over a convex set, then for every $z$ of the set
#
# $$F(z) \ge F(z^\star) + \tfrac m2\|z - z^\star\|^2 . \tag{1}$$
#
# The proof needs no gradient. Let $z_s = z^\star + s(z - z^\star)$ be a point between $z^\star$ and $z$. Since $F - \frac m2\|\cdot\|^2$ is convex,
#
# $$F(z_s) \le (1-s) F(z^\star) + s F(z) - \tfrac m2 s(1-s)\|z - z^\star\|^2 ,$$
#
# and $F(z^\star) \le F(z_s)$. Subtract $F(z^\star)$, divide by $s$, and let $s \to 0$. sympy checks the identity that gives the last term:

# %%
s, z, w, m = sp.symbols("s z w m", real=True)
blend = (1 - s) * w + s * z
chord = m / 2 * ((1 - s) * w**2 + s * z**2 - blend**2)
print("chord of m/2 |.|^2 minus its value:", sp.factor(chord))
assert sp.simplify(chord - m / 2 * s * (1 - s) * (z - w) ** 2) == 0

# %% [markdown]
# ### Step 2: the primal side
#
# $P$ is a convex function plus $\frac\lambda2\|x\|^2$, so (1) with $m = \lambda$ says
#
# $$P(x) - P(x^\star) \ge \tfrac\lambda2\|x - x^\star\|^2 \qquad (x \in K). \tag{2}$$
#
# We do not know $P(x^\star)$, but by weak duality $P(x^\star) \ge D(\alpha)$. Replace $P(x^\star)$ by $D(\alpha)$, and **DGB is proved**.
#
# ### Step 3: the dual side
#
# Weak duality can be improved. $D(\alpha)$ is itself a minimum, the minimum over $K$ of the Lagrangian
#
# $$\mathcal L(z; \alpha) = -\sum_t \ell^*(-\alpha_t) - \langle H(\alpha), z\rangle + \tfrac\lambda2\|z\|^2 .$$
#
# The minimum is at $z = x(\alpha)$, and $\mathcal L$ is $\lambda$-strongly convex, like $P$. Fenchel's inequality says
# $\mathcal L(z;\alpha) \le P(z)$. So (1) with $z = x^\star$ gives
#
# $$P(x^\star) - D(\alpha) \ge \mathcal L(x^\star;\alpha) - D(\alpha) \ge \tfrac\lambda2\|x(\alpha) - x^\star\|^2 . \tag{3}$$
#
# ### Step 4: the sum of (2) and (3)
#
# $$\boxed{\;P(x) - D(\alpha) \;\ge\; \tfrac\lambda2\|x - x^\star\|^2 + \tfrac\lambda2\|x(\alpha) - x^\star\|^2\;} \tag{4}$$
#
# * Without the second distance, (4) is DGB.
# * Without the first distance, (4) is a ball of the same radius around $x(\alpha)$.
# * For $x = x(\alpha)$, (4) is **CDGB**,
#   $\|x(\alpha) - x^\star\|^2 \le \frac1\lambda\big(P(x(\alpha)) - D(\alpha)\big)$.
# * With both distances, (4) gives the midpoint gap bound MGB, which the exercise derives.
#
# For any other $\Gamma \in K^*$ we use $\mathcal L(z;\alpha) - \langle\Gamma, z\rangle$ in place of $\mathcal L$. The minimum of this function over the whole space is $D(\alpha,\Gamma)$, at $z = x_\Gamma$, and its value at $x^\star$ is at most $P(x^\star)$. So (3) is true for $x_\Gamma$. But (2) for $x = x_\Gamma$ requires $x_\Gamma \in K$. The proof uses the feasibility of $x_\Gamma$ only here.
#
# We compute both sides of (4) for many pairs over three cones. We compute gaps, points and radii from the definitions and compare them with the library's. For one case we know that DGB cannot be smaller: let $\lambda \ge \lambda_{\max}$ and $x = 0$. Then
# $\alpha(0) = \mathbf 1$ is the dual solution, the losses are straight between 0 and $x^\star$, and (2) is an equality.
# So the solution is on the surface of DGB, and the factor $2/\lambda$ of DGB cannot be replaced by CDGB's factor $1/\lambda$.

# %%
def random_problem(kind, gamma, rng):
    n, d = int(rng.integers(8, 15)), int(rng.integers(2, 5))
    X, y = rng.standard_normal((n, d)), np.arange(n) % 2
    X[y == 1] += rng.uniform(0.0, 1.5, d)
    if kind == "support vectors":
        return ss.Problem(ss.Samples(X, 2 * y - 1), ss.SmoothedHinge(gamma))
    diagonal = kind == "diagonal metric"
    return ss.Problem(
        ss.Triplets.from_labels(X, y, k=3, diagonal=diagonal), ss.SmoothedHinge(gamma)
    )


def pairs(problem, optimum, lam, rng):
    """Pairs (x, alpha); the first are far from optimal, the last are optimal."""
    best = problem.alpha(optimum)
    for mix in (1.0, 0.5, 0.1, 0.01, 0.0):
        H = rng.standard_normal(optimum.shape)
        x = problem.cone.project(H + H.T if H.ndim == 2 else H)
        x *= np.linalg.norm(optimum) / max(np.linalg.norm(x), 1e-12)
        x = mix * x + (1.0 - mix) * optimum
        yield x, problem.alpha(x)
        yield x, np.clip((1.0 - mix) * best + mix * rng.random(best.size), 0.0, 1.0)


def norm2(v):
    return float(np.vdot(v, v))


# %%
def semidefinite(Q):
    """The projection of a matrix. Argument and result are vectors of the entries."""
    d = round(np.sqrt(Q.size))
    values, V = np.linalg.eigh(Q.reshape(d, d))
    return (V * np.maximum(values, 0.0) @ V.T).ravel()


def objective(A, x, lam, gamma):
    """P(x) from the definition. Each row of A is a term, and x is a vector."""
    slope = np.clip((1.0 - A @ x) / gamma, 0.0, 1.0)
    return np.sum(slope * (1.0 - A @ x) - gamma * slope**2 / 2) + lam / 2 * x @ x


def gap_balls(A, x, alpha, lam, gamma, project):
    """DGB and CDGB from the definitions."""
    plus = project(A.T @ alpha)
    dual = alpha.sum() - gamma / 2 * alpha @ alpha - plus @ plus / (2 * lam)
    x_alpha = plus / lam
    gap = objective(A, x, lam, gamma) - dual
    gap_constrained = objective(A, x_alpha, lam, gamma) - dual
    radius = np.sqrt(max(2.0 * gap / lam, 0.0))
    radius_constrained = np.sqrt(max(gap_constrained / lam, 0.0))
    return (x, radius), (x_alpha, radius_constrained)


# %%
projections = {
    "metric": semidefinite,
    "diagonal metric": lambda Q: np.maximum(Q, 0.0),
    "support vectors": lambda Q: Q,
}


def instances(rng, kinds, repeats):
    """Random problems, their terms as rows, a value of lam, and the solution."""
    for kind in kinds:
        for repeat in range(repeats):
            instance = random_problem(kind, (0.05, 0.5)[repeat % 2], rng)
            units = np.eye(len(instance))
            rows = np.array([instance.terms.adjoint(unit).ravel() for unit in units])
            weight = max(instance.lam_max(), 1.0) * rng.choice([2.0, 0.5, 0.1, 0.02])
            yield kind, instance, rows, weight, ss.solve(instance, weight, tol=1e-12, rtol=1e-13)


# %%
def both_distances(x_alpha, reference, best, weight):
    """The right side of (4), and a bound of its error from the accuracy of the solution."""
    first = np.linalg.norm(best.x - reference)
    second = np.linalg.norm(x_alpha - best.x.ravel())
    both = weight / 2 * (first**2 + second**2)
    return both, weight * best.eps * (first + second + best.eps)


def inequality_4(DGB, x_alpha, best, weight):
    """Check (4). Return the distance of the solution in radii, and right side of (4) over gap."""
    distance = np.linalg.norm(best.x - DGB.center)
    assert distance <= DGB.radius + best.eps
    both, error = both_distances(x_alpha, DGB.center, best, weight)
    gap = weight / 2 * DGB.radius**2
    assert both <= gap + error
    if distance <= 1e3 * best.eps:  # the solution is not accurate enough for these ratios
        return 0.0, 0.0
    return distance / DGB.radius, both / gap


# %% tags=["STS19-T4"]
rng = np.random.default_rng(4)
kinds = tuple(projections)
solved = []  # the cells on CDGB use these problems again
used = dict.fromkeys(kinds, 0.0)
largest = dict.fromkeys(kinds, 0.0)
count, apart = 0, 0.0
for kind, instance, rows, weight, best in instances(rng, kinds, 30):
    solved.append((kind, instance, rows, weight, best))
    gamma, project = instance.loss.gamma, projections[kind]
    for reference, alpha in pairs(instance, best.x, weight, rng):
        DGB = ss.spheres.duality_gap_bound(instance, reference, weight, alpha)
        by_numpy = gap_balls(rows, reference.ravel(), alpha, weight, gamma, project)
        (_, radius), (x_alpha, _) = by_numpy
        size = np.linalg.norm(reference) + np.linalg.norm(rows.sum(axis=0)) / weight
        apart = max(apart, abs(DGB.radius - radius) / size)
        assert np.array_equal(DGB.center, reference)
        distance, share = inequality_4(DGB, x_alpha, best, weight)
        largest[kind] = max(largest[kind], distance)
        used[kind] = max(used[kind], share)
        count += 1
print(f"{count} pairs; radii of the library and of numpy differ by less than 1e-5 of the size")
assert apart < 1e-5

# %% tags=["STS19-T4"]
for kind in kinds:
    print(
        f"{kind:16} largest distance {largest[kind]:.2f} radii (bound 1); the right side of (4) is "
        f"at most {100 * used[kind]:.0f} % of the gap"
    )
assert 0.5 < min(used.values())
assert max(used.values()) <= 1.001
assert max(largest.values()) <= 1.0

# %% [markdown]
# Above $\lambda_{\max}$ the solution is on the surface of the DGB around $x = 0$:

# %% tags=["STS19-T4"]
attained = dict.fromkeys(kinds, 1.0)
for kind, instance, *_ in solved:
    above = 1.5 * max(instance.lam_max(), 1.0)
    exact = instance.all_linear() / above
    if np.any(exact):
        origin = ss.spheres.duality_gap_bound(instance, instance.cone.zeros(), above)
        attained[kind] = min(attained[kind], np.linalg.norm(exact) / origin.radius)
for kind, value in attained.items():
    print(f"{kind:16} at 1.5 lam_max: at least {value:.6f} radii from x = 0")
assert 1.0 - 1e-6 < min(attained.values()) and max(attained.values()) <= 1.0

# %% [markdown]
# ### Step 5: the paper's proof of CDGB, and its factor
#
# STS19 (appendix F) treats the gap as a function of the primal point alone. For each $x$ the appendix uses the best of the dual points with $x_\Gamma = x$:
#
# $$\begin{gathered} G(x) = P(x) - \max_{\alpha, \Gamma\,:\; x_\Gamma = x} D(\alpha,\Gamma)
# = \sum_t \ell(\langle a_t, x\rangle) + \lambda\|x\|^2 + f(x), \\
# f(x) = \min_{H(\alpha) \preceq_K \lambda x} \sum_t \ell^*(-\alpha_t) , \end{gathered}$$
#
# where $H(\alpha) \preceq_K \lambda x$ means that $\lambda x - H(\alpha)$ is in $K^*$. Both objectives contribute $\frac\lambda2\|x\|^2$; the dual objective does so because of the constraint $x_\Gamma = x$. The function $f$ is convex, because $\ell^*$ is convex and the constraint is jointly convex in $(x, \alpha)$. So $G$ is $2\lambda$-**strongly convex** in the
# sense of step 1: $\lambda\|x\|^2 = \frac{2\lambda}2\|x\|^2$. The appendix proves that $G - \lambda\|\cdot\|^2$ is convex and uses this factor. Since $G \ge 0$ and $G(x^\star) = 0$, (1) says $G(x) \ge \lambda\|x - x^\star\|^2$ on $K$, which is CDGB again. (The appendix uses a subgradient of $G$ at $x^\star$; step 1 shows that the proof needs no subgradient.)
#
# In one dimension we can draw $G$. Then $K$ is a half-line, a term is a number, and the best $\alpha$ with
# $\sum_t a_t\alpha_t \le \lambda x$ is $\alpha_t = \min(1, \max(0, (1 - \mu a_t)/\gamma))$ with one multiplier $\mu \ge 0$, which we compute by bisection.

# %%
numbers = np.array([3.0, 2.2, 1.4, 0.8, 0.5, -0.4, -0.9])
gamma = 0.3


def constrained_minimum(x, lam):
    """f(x) in one dimension: the minimum of gamma/2 |alpha|^2 - sum(alpha) over alpha in [0, 1]
    with sum(a alpha) <= lam x."""
    low, high = 0.0, 1e3
    for _ in range(200):
        mu = 0.0 if numbers.sum() <= lam * x else 0.5 * (low + high)
        alpha = np.clip((1.0 - mu * numbers) / gamma, 0.0, 1.0)
        if numbers @ alpha > lam * x:
            low = mu
        else:
            high = mu
    return gamma / 2 * alpha @ alpha - alpha.sum()


# %%
def value_1d(x, lam):
    slope = np.clip((1.0 - numbers * x) / gamma, 0.0, 1.0)
    return np.sum(slope * (1.0 - numbers * x) - gamma * slope**2 / 2) + lam / 2 * x**2, slope


def curves_1d(lam, grid):
    P, simple, G = [], [], []
    for x in grid:
        primal, slope = value_1d(x, lam)
        dual = slope.sum() - gamma / 2 * slope @ slope - max(numbers @ slope, 0.0) ** 2 / (2 * lam)
        P.append(primal)
        simple.append(primal - dual)
        G.append(primal + lam / 2 * x**2 + constrained_minimum(x, lam))
    return np.array(P), np.array(simple), np.array(G)


lam_line = 2.0
grid = np.linspace(0.0, 1.6, 641)
P, simple, G = curves_1d(lam_line, grid)
best = grid[np.argmin(P)]

# %%
figure, axes = figures.panels(2, height=3.4)
gap, dual, primal = figures.OTHERS[4], "#999999", figures.OTHERS[0]
parabola = lam_line * (grid - best) ** 2
label_1, label_2 = r"$\lambda |x - x^\star|^2$", r"$\frac{\lambda}{2} |x - x^\star|^2$"
for ax, top in zip(axes, (9.0, 0.5), strict=True):
    ax.plot(grid, G, color=gap, label="constrained gap $G$")
    ax.plot(grid, simple, color=dual, label=r"gap with $\alpha(x)$")
    ax.plot(grid, P - P.min(), color=primal, label=r"$P - P^\star$")
    ax.plot(grid, parabola, ":", color=gap, label=label_1)
    ax.plot(grid, parabola / 2, ":", color=primal, label=label_2)
    ax.set(xlabel="$x$", ylim=(0.0, top))
axes[1].set(xlim=(best - 0.35, best + 0.35))
axes[0].set_title("one dimension, seven terms", loc="left")
axes[1].set_title("the same, nearer", loc="left")
axes[0].legend(frameon=False)
figures.show(
    f"Both panels show a problem of one variable and {len(numbers)} terms; the right panel shows "
    "the surroundings of the minimum. The constrained gap and the primal error are convex curves "
    "with the same minimum, and each lies above its dotted parabola. The gap with the slopes at x "
    "has its minimum at the same point."
)

# %% [markdown]
# The primal error is at least $\frac\lambda2|x - x^\star|^2$, the constrained gap is at least $\lambda|x - x^\star|^2$, and $G - \lambda x^2$ is convex:

# %%
h = grid[1] - grid[0]
assert np.all(P - P.min() >= lam_line / 2 * (grid - best) ** 2 - 1e-3)
assert np.all(G >= lam_line * (grid - best) ** 2 - 1e-2)
assert np.all(simple >= P - P.min() - 1e-9)
rest = np.diff(G - lam_line * grid**2, 2) / h**2
print(
    "smallest second difference of G - lam x^2 on the grid: "
    f"{rest.min() + 0.0:.3f} (bound -0.000001)"
)
assert rest.min() > -1e-6

# %% [markdown]
# Above $\lambda_{\max}$ all terms except the quadratic ones are linear in $x$, so second differences give the two curvatures:

# %%
above = 2.0 * numbers.max() * numbers.sum() / (1.0 - gamma)  # twice lam_max
fine = np.linspace(1.001 * numbers.sum() / above, 0.999 * (1.0 - gamma) / numbers.max(), 21)
P, _, G = curves_1d(above, fine)
curvature = [np.diff(v, 2) / np.diff(fine)[0] ** 2 / above for v in (P, G)]
print(
    f"above lam_max, curvature over lam: P {curvature[0].mean():.3f}, G "
    f"{curvature[1].mean():.3f}"
)
assert np.allclose(curvature[0], 1.0, atol=1e-5) and np.allclose(curvature[1], 2.0, atol=1e-5)

# %% [markdown]
# So the modulus of strong convexity is exactly $\lambda$ for $P$ and exactly $2\lambda$ for $G$.
#
# ## Does the library match?
#
# We compute the two balls of the small problem from the definitions (with `gap_balls` above) and with the library.

# %%
i, j, k = problem.terms.index.T
far, near = X[i] - X[k], X[i] - X[j]
A = far[:, :, None] * far[:, None, :] - near[:, :, None] * near[:, None, :]
A = A.reshape(len(problem), 4)
x = np.diag([0.3, 0.02])
alpha = problem.alpha(x)
slow_DGB, slow_CDGB = gap_balls(A, x.ravel(), alpha, lam, loss.gamma, semidefinite)
slow = {"DGB": slow_DGB, "CDGB": slow_CDGB}
balls = {
    "DGB": ss.spheres.duality_gap_bound(problem, x, lam, alpha),
    "CDGB": ss.spheres.constrained_duality_gap_bound(problem, alpha, lam),
}
for name, ball in balls.items():
    center, radius = slow[name]
    away = np.linalg.norm(x_star - ball.center)
    print(
        f"{name:4} center {np.round(center, 4) + 0.0}, radius {radius:.4f}; the distance of the "
        f"solution from the center is {away:.4f}"
    )
    assert np.allclose(ball.center.ravel(), center, atol=1e-12)
    assert 0.0 <= ball.radius / radius - 1.0 < 1e-9 and away <= ball.radius

# %% [markdown]
# ## The two balls in a picture
#
# The picture shows the plane through $x$, $x(\alpha)$ and the solution, for two references. For both references the solution is well inside both balls. For other problems it can be on the surface, as the checks of DGB and CDGB show.

# %%
figure, axes = figures.panels(2, height=4.0)
nearer = x_star + 0.2 * (x - x_star)
ratios_of = []
cases = ((axes[0], x, "a reference"), (axes[1], nearer, "a better reference"))
for ax, reference, title in cases:
    alpha_here = problem.alpha(reference)
    pair = {
        "DGB": ss.spheres.duality_gap_bound(problem, reference, lam, alpha_here),
        "CDGB": ss.spheres.constrained_duality_gap_bound(problem, alpha_here, lam),
    }
    ratios_of.append(pair["CDGB"].radius / pair["DGB"].radius)
    points = {"optimum": x_star, "x": reference, r"$x(\alpha)$": pair["CDGB"].center}
    plane = (reference, pair["CDGB"].center, x_star)
    figures.balls(problem.cone, pair, points, plane=plane, ax=ax, title=title)
figures.show(
    "Both panels show a plane in which the cone is shaded. DGB is the disc around the reference "
    "x, and CDGB is the disc around x(alpha). Both discs contain the optimum. The radius of CDGB "
    f"is {ratios_of[0]:.2f} times the radius of DGB in the left panel, and {ratios_of[1]:.2f} "
    "times in the right panel, for a better reference."
)

# %% [markdown]
# ## Which of the two balls is smaller?
#
# The squared radius of CDGB is the gap of the pair $(x(\alpha), \alpha)$ over $\lambda$. The squared radius of DGB is twice the gap of $(x, \alpha)$ over $\lambda$. The factor is smaller for CDGB, but the gap may be larger: $x(\alpha)$ is computed from slopes, and the slopes may change much when $x$ changes little. We compare the balls along two solvers. The projected gradient method (left) works on $x$. It gets DGB without extra work, and needs one more pass over all triplets for CDGB. The dual method (right) solves a support vector machine on the same points. It changes one $\alpha_t$ at a time and always works at $x(\alpha)$, so it gets both balls from the same gap.

# %%
def dual_ascent(A, lam, gamma, n_passes, rng):
    """Coordinate ascent on the dual of a support vector machine (no cone). Yields alpha after
    each pass."""
    alpha = np.zeros(len(A))
    w = np.zeros(A.shape[1])
    for _ in range(n_passes):
        for t in rng.permutation(len(A)):
            new = alpha[t] + (1.0 - gamma * alpha[t] - A[t] @ w) / (gamma + A[t] @ A[t] / lam)
            new = min(max(new, 0.0), 1.0)
            w += (new - alpha[t]) * A[t] / lam
            alpha[t] = new
        yield alpha.copy()


# %%
visited = []
remember = {"callback": lambda progress: visited.append(progress.x)}
ss.solve(problem, lam, 1e-9, x0=x, screening=(), **remember)
signs = 2 * y - 1
machine = ss.Problem(ss.Samples(X, signs), loss)
lam_machine = 0.05 * machine.lam_max()
ascent = dual_ascent(signs[:, None] * X, lam_machine, loss.gamma, 14, np.random.default_rng(0))
duals = list(ascent)


# %%
def radii_of_pairs(problem, lam, pairs):
    """Radii of DGB and CDGB for each pair (x, alpha)."""
    radii = {"DGB": [], "CDGB": []}
    for point, alpha in pairs:
        DGB = ss.spheres.duality_gap_bound(problem, point, lam, alpha)
        CDGB = ss.spheres.constrained_duality_gap_bound(problem, alpha, lam)
        radii["DGB"].append(DGB.radius)
        radii["CDGB"].append(CDGB.radius)
    return radii


primal_pairs = [(point, problem.alpha(point)) for point in visited]
dual_pairs = [(machine.x_of(alpha, lam_machine), alpha) for alpha in duals]
radii = {
    "metric": radii_of_pairs(problem, lam, primal_pairs),
    "machine": radii_of_pairs(machine, lam_machine, dual_pairs),
}

# %% tags=["nbval-ignore-output"]
figure, axes = figures.panels(2, height=3.2)
titles = {"metric": "metric, projected gradient", "machine": "support vectors, dual ascent"}
for ax, (name, curves) in zip(axes, radii.items(), strict=True):
    figures.lines(
        curves, ax=ax, title=titles[name], xlabel="iteration", ylabel="radius", log="y", marks=True
    )
figures.show(
    "Curves show the radii of DGB and CDGB against the iteration, on a logarithmic axis. The left "
    f"panel is for a metric: {figures.ends(radii['metric'], '{:.1g}')}. The right panel is for "
    f"support vectors: {figures.ends(radii['machine'], '{:.1g}')}."
)

# %%
metric, vectors = (np.array(list(r.values())) for r in radii.values())
ratio = metric[0] / metric[1]
print(
    "projected gradient: radius of DGB over radius of CDGB between "
    f"{ratio.min():.1f} and {ratio[:12].max():.1f}"
)
assert ratio.min() < 0.9 and ratio[:12].max() > 1.1
ratios = vectors[0][:8] / vectors[1][:8]
print("dual ascent: the same ratio in the first eight passes:", np.round(ratios, 3))
assert np.allclose(ratios, np.sqrt(2.0), rtol=1e-3) and max(metric[:, -1]) < 1e-3


# %% [markdown]
# ## CDGB over three cones
#
# We compare the library's CDGB of $(x(\alpha), \alpha)$ with the definitions, for the problems and pairs of the check of (4). Then we use another multiplier $\Gamma = H_- + E$ with $E \in K$. For this $\Gamma$ the point $x_\Gamma = x(\alpha) + E/\lambda$ is feasible, and $D$ is lower.
#
# **Can the solution be on the surface?** Take one term $a = 1$ on the half-line, the hinge and $\lambda = 1$. The
# solution is $x^\star = 1$, at the kink, with $\alpha^\star = 1$. For any $\alpha = s$ between 0 and 1 we have $x(\alpha) = s$. The gap is $(1-s) + \frac{s^2}2 - \big(s - \frac{s^2}2\big) = (1-s)^2$, which is the squared distance of $x(\alpha)$ from the solution. So the solution is on the surface of CDGB for every $s$.

# %%
def with_another_multiplier(kind, instance, ball, alpha, weight, best, rng):
    """A feasible x_Gamma for Gamma = H_- + E with E in the cone, and the radius of its CDGB."""
    E = rng.standard_normal(best.x.shape)
    if kind == "support vectors":
        E = 0.0 * E
    else:
        E = instance.cone.project(E + E.T if E.ndim == 2 else E)
    x_Gamma = ball.center + E * rng.uniform(0.0, 0.5) * np.linalg.norm(best.x)
    D_Gamma = instance.dual(alpha, weight) - weight / 2 * (norm2(x_Gamma) - norm2(ball.center))
    radius = np.sqrt(max(instance.primal(x_Gamma, weight) - D_Gamma, 0.0) / weight)
    return x_Gamma, radius


# %% tags=["STS19-T14"]
rng = np.random.default_rng(14)
held, apart = 0, 0.0
position = dict.fromkeys(kinds, 0.0)
for kind, instance, rows, weight, best in solved:
    gamma, project = instance.loss.gamma, projections[kind]
    size = np.linalg.norm(best.x) + np.linalg.norm(rows.sum(axis=0)) / weight
    for reference, alpha in pairs(instance, best.x, weight, rng):
        ball = ss.spheres.constrained_duality_gap_bound(instance, alpha, weight)
        by_numpy = gap_balls(rows, reference.ravel(), alpha, weight, gamma, project)
        center, radius = by_numpy[1]
        apart = max(apart, np.linalg.norm(ball.center.ravel() - center) / size)
        apart = max(apart, abs(ball.radius - radius) / size)
        distance = np.linalg.norm(best.x - ball.center)
        assert distance <= ball.radius + best.eps
        if distance > 1e3 * best.eps:
            position[kind] = max(position[kind], distance / ball.radius)
        x_Gamma, radius = with_another_multiplier(kind, instance, ball, alpha, weight, best, rng)
        assert np.linalg.norm(best.x - x_Gamma) <= radius + best.eps + 1e-6 * np.linalg.norm(best.x)
        held += 2
print(f"{held} balls contain the solution")
print("the library and numpy differ by less than 1e-5 of the size of the problem")
for kind, value in position.items():
    print(f"{kind:16} largest distance {value:.2f} radii (bound 1)")
assert apart < 1e-5 and max(position.values()) <= 1.0

# %% [markdown]
# With one term the solution is on the surface for every $s$, on the line and on the half-line:

# %% tags=["STS19-T14"]
surface = []
for terms in (
    ss.Samples(np.array([[1.0], [0.0]]), [1, -1]),
    ss.Triplets(np.array([[0.0], [0.0], [1.0]]), [[0, 1, 2]], diagonal=True),
):
    one_term = ss.Problem(terms, ss.Hinge())  # a = 1; the sample of zeros only adds a constant
    for s in np.linspace(0.0, 0.95, 20):
        alpha = np.append(s, np.ones(len(terms) - 1))
        ball = ss.spheres.constrained_duality_gap_bound(one_term, alpha, 1.0)
        surface.append(abs(1.0 - ball.center[0]) / ball.radius)
extremes = f"{min(surface):.6f} to {max(surface):.6f}"
print(f"one term, {len(surface)} dual points: distance {extremes} radii")
assert 1.0 - 1e-6 < min(surface) <= max(surface) <= 1.0


# %% [markdown]
# ## Break it
#
# ### A primal point that is not feasible
#
# CDGB requires that $x_\Gamma$ is in the cone. To break this, take $\Gamma = O$, and as $\alpha$ the maximiser of $D(\alpha, O)$. Then $D(\alpha, O)$ is the dual objective of the problem **without the constraint**. The solution $M_u = H(\alpha)/\lambda$ of the unconstrained problem is not a metric, because it has a negative eigenvalue. By strong duality of the unconstrained problem $P(M_u) = D(\alpha, O)$. So the "gap" is zero, although $M_u \ne x^\star$. The proof fails because $x^\star$ minimises $G$ only **over the cone**, and $x_\Gamma$ is not in the cone. DGB requires $x \in K$ for the same reason: $P(M_u)$ is *below* the optimum, so the "gap" of $M_u$ and a good dual point is negative. The second cell counts how often this happens in the random metric problems.

# %%
def unconstrained(rows, weight, loss):
    """The solution for the same terms without a cone, and P minus D at it for Gamma = O."""
    signs = np.where(np.arange(len(rows)) % 2 == 0, 1, -1)
    other = ss.Problem(ss.Samples(signs[:, None] * rows, signs), loss)
    x_u = ss.solve(other, weight, tol=1e-11, rtol=1e-12).x
    alpha = other.alpha(x_u)
    x_Gamma = rows.T @ alpha / weight
    dual = alpha.sum() - loss.gamma / 2 * alpha @ alpha - weight / 2 * x_Gamma @ x_Gamma
    return x_Gamma, objective(rows, x_Gamma, weight, loss.gamma) - dual


# %%
M_u, no_gap = unconstrained(A, lam, loss)
distance = np.linalg.norm(x_star.ravel() - M_u)
below = problem.dual(problem.alpha(x_star), lam)
P_u = objective(A, M_u, lam, loss.gamma)
print("eigenvalues of M_u:", np.round(np.linalg.eigvalsh(M_u.reshape(2, 2)), 4))
print(f"'radius' below 1e-4, distance of the solution {distance:.4f}")
print(f"P(M_u) = {P_u:.4f}, optimum {P_star:.4f}, 'gap' with the dual solution {P_u - below:.4f}")
assert abs(no_gap / lam) < 1e-8 and distance > 0.05 and P_u < below
M_u = M_u.reshape(2, 2)
try:
    ss.spheres.duality_gap_bound(problem, 0.5 * (M_u + M_u.T), lam)
except ValueError as error:
    print("the library refuses:", str(error).split(", found")[0])

# %%
missed = infeasible = 0
for kind, instance, rows, weight, best in solved:
    if kind == "metric":
        x_Gamma, gap = unconstrained(rows, weight, instance.loss)
        margin = 0.01 * np.linalg.norm(x_Gamma)
        infeasible += instance.cone.violation(x_Gamma.reshape(best.x.shape)) > margin
        away = np.linalg.norm(best.x.ravel() - x_Gamma)
        missed += away > np.sqrt(max(gap, 0.0) / weight) + margin
print(
    f"M_u is infeasible in {infeasible} of 30 metric problems, and the solution is outside the "
    f"'ball' in {missed} of these"
)
assert missed == infeasible > 15

# %% [markdown]
# ### A smaller gap without extra work
#
# Theorem 4 is true for the gap of any problem with the same solution. When we know that some triplets are in $L$ or $R$, we may take these triplets out of the problem. The reduced problem has the same solution, and for the same dual point its gap is never larger (notebook [`10-problem-and-duality`](10-problem-and-duality.ipynb)). So the DGB of the reduced problem contains $x^\star$ and has the same center. In this example its radius is smaller.

# %%
u = problem.terms.margins(x_star)
known = ss.rules.sphere(problem, ss.spheres.duality_gap_bound(problem, nearer, lam))
reduced = problem.reduce(known.in_L, known.in_R)
far = 2.0 * x_star  # at this point some of the known triplets are not in their regions
whole_ball = ss.spheres.duality_gap_bound(problem, far, lam)
reduced_ball = ss.spheres.duality_gap_bound(reduced, far, lam)
print(
    f"{known.n_L + known.n_R} of {len(problem)} triplets known: radius {whole_ball.radius:.4f}, "
    f"with the reduced problem {reduced_ball.radius:.4f}"
)
assert reduced_ball.radius < whole_ball.radius and reduced_ball.contains(x_star)

# %% [markdown]
# ## Exercise
#
# Keep both distances in (4) and complete the square. Which ball do you get? Show that this ball lies inside DGB, and that its radius is at most the radius of DGB over $\sqrt2$.
#
# <details>
# <summary><b>Solution</b></summary>
#
# With $q = \frac12\big(x + x(\alpha)\big)$ the parallelogram law says
# $\|x - x^\star\|^2 + \|x(\alpha) - x^\star\|^2 = 2\|q - x^\star\|^2 + \frac12\|x - x(\alpha)\|^2$. So
#
# $$\|x^\star - q\|^2 \le r^2 = \tfrac1\lambda\big(P(x) - D(\alpha)\big) - \tfrac14\|x - x(\alpha)\|^2 ,$$
#
# the **midpoint gap bound** MGB ([`28-midpoint-gap-bound`](28-midpoint-gap-bound.ipynb); very likely the RYU ball of Tran, Elvira, Dang and Herzet,
# arXiv 2312.00640, for sparse regression). Let $2\rho^2 = \frac2\lambda(P - D)$ be the squared radius of DGB and
# $\delta = \frac12\|x - x(\alpha)\|$ the distance of the two centers. Then $r^2 = \rho^2 - \delta^2$, so $r \le \rho$,
# and $\rho$ is DGB's radius over $\sqrt2$. Also $(r + \delta)^2 \le 2(r^2 + \delta^2) = 2\rho^2$, so MGB lies inside DGB.
#
# </details>

# %%
o, a, b = sp.symbols("o a b", real=True)  # one coordinate of solution, x and x(alpha)
q = (a + b) / 2
assert sp.expand((a - o) ** 2 + (b - o) ** 2 - 2 * (q - o) ** 2 - (a - b) ** 2 / 2) == 0

alpha = problem.alpha(x)
MGB = ss.spheres.midpoint_gap_bound(problem, x, lam, alpha)
DGB = balls["DGB"]
delta = np.linalg.norm(MGB.center - DGB.center)
print(f"MGB: radius {MGB.radius:.4f} at distance {delta:.4f} from x; DGB: radius {DGB.radius:.4f}")
assert np.isclose(MGB.radius**2, DGB.radius**2 / 2 - delta**2, rtol=1e-9)
assert MGB.radius + delta <= DGB.radius and MGB.contains(x_star)

# %% [markdown]
# ## Fine print
#
# * **Cost.** DGB needs only the gap, which a solver computes anyway in order to stop. CDGB needs the primal objective at $x(\alpha)$; for a primal solver this is one more pass over all triplets. The radius of MGB is also at least $\sqrt2$ times smaller than the radius of DGB, and MGB does not need this pass.
# * **Rounding.** Near the solution the gap is a difference of two large numbers. The library computes it as a sum of
#   non-negative parts plus a bound of its rounding errors, so the radius is not too small. It never replaces a negative
#   computed gap by zero.
# * **The best possible dual point** is not $\alpha(x)$. A dual point with a larger $D$ gives a smaller DGB.
# * **Feasibility in the wording.** The displayed statements of STS19 Theorem 14 and STS18 Theorem 3.6 require only that $\alpha$ and $\Gamma$ are feasible. The text around these statements also requires that $M_\lambda(\alpha,\Gamma)$ is feasible: both papers introduce the bound for pairs of a primal and a dual *reference solution*, and both proofs begin with
#   $M_\lambda(\alpha,\Gamma) \succeq O$. Every use of the bound eliminates $\Gamma$, and then
#   $M_\lambda(\alpha,\Gamma)$ is feasible by construction.
#
# ## References
#
# * STS19: Yoshida, Takeuchi, Karasuyama, *Safe Triplet Screening for Distance Metric Learning*, Neural Computation 31,
#   2019: section 3.3, Theorem 4, proof in appendix E (there headed "Theorem 5 (DGB)"), Theorem 14 in appendix F.
# * STS18: the same authors, KDD 2018: Theorems 3.5 and 3.6.
# * The constrained bound for support vector machines: Zimmert, de Witt, Kerg, Kloft, *Safe screening for support vector
#   machines*, NIPS 2015 workshop on optimization in machine learning.
