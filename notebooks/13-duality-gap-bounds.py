# %% [markdown]
# # The duality gap bounds (DGB and CDGB)
#
# A small duality gap means that a pair of points is nearly optimal. The objective is strongly convex, so the gap also
# tells how near the primal point is to the solution. This notebook turns the gap into balls.
#
# At the end you will have seen that
#
# * the gap of a pair $(x, \alpha)$ bounds the sum of **two** squared distances from the solution, that of $x$ and that
#   of $x(\alpha)$. DGB uses one of them. In CDGB the two points are one, which makes the ball smaller by $\sqrt2$ at
#   the same gap;
# * the gap as a function of the primal point alone is *twice* as strongly convex as the objective;
# * each of the two balls needs its primal point to be feasible, and can have the solution on its surface.

# %%
import numpy as np
import sympy as sp

import safescreen as ss
from safescreen_book import figures

# %% [markdown]
# ## The idea in a picture
#
# One dimension and seven terms. The objective $P$ is strongly convex: it lies above a parabola with the same lowest point
# (dotted). We stand at $x$ and know $P(x)$, but not where the lowest point is, nor how low it is. A dual point gives a value $D$ that is
# not above it. So the parabola may rise from its lowest point to our height by at most the gap $P(x) - D$. We know the
# width of the parabola. So the solution lies within $\sqrt{2(P - D)/\lambda}$ of $x$
# (the bar below).

# %%
# a_t, gamma, lambda
numbers, width, curvature = np.array([3.0, 2.2, 1.4, 0.8, 0.5, -0.4, -0.9]), 0.3, 2.0
line = np.linspace(-0.2, 1.4, 801)
slopes = np.clip((1.0 - np.outer(line, numbers)) / width, 0.0, 1.0)
values = (
    np.sum(slopes * (1.0 - np.outer(line, numbers)) - width / 2 * slopes**2, axis=1)
    + curvature / 2 * line**2
)
lowest = line[np.argmin(values)]
at = np.searchsorted(line, lowest + 0.12)
dual = np.sum(slopes[at] - width / 2 * slopes[at] ** 2) - max(numbers @ slopes[at], 0.0) ** 2 / (
    2 * curvature
)
reach = np.sqrt(2.0 * (values[at] - dual) / curvature)
assert dual <= values.min() and abs(line[at] - lowest) <= reach
ax = figures.lines(
    {"objective $P$": values}, line, xlabel="$x$", title="a small gap, a near solution", legend=None
)
ax.plot(line, values.min() + curvature / 2 * (line - lowest) ** 2, ":", color="#333333")
ax.axhline(dual, color="#999999", linewidth=1.0)
ax.plot([line[at] - reach, line[at] + reach], [dual - 0.5] * 2,
        color=figures.style_of("DGB")["color"], linewidth=4)
ax.plot(line[at], values[at], "o", color="black")
ax.plot(lowest, values.min(), "*", color="black", markersize=11)
for text, place in (("$P(x)$", (line[at], values[at] + 0.25)), ("$D$", (-0.18, dual + 0.1)),
                    ("DGB", (line[at] + reach + 0.03, dual - 0.6))):
    ax.annotate(text, place)
ax.set(ylim=(dual - 1.0, dual + 4.0))
figures.show(
    "The objective is a convex curve with a star at its lowest point; below it lies a parabola "
    "with the same lowest point. A dot on the curve is the "
    "reference, and a horizontal line below the lowest point is the dual value. The bar at the "
    "bottom, centered below the dot, is DGB, and the star is above the bar."
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
# Assumptions: the loss is convex, $K$ is a closed convex cone, $\lambda > 0$. In DGB the two points $x$ and $\alpha$
# may be chosen independently of each other. In CDGB $x_\Gamma$ is the primal reference and $(\alpha, \Gamma)$ the dual
# one. The primal objective is defined on $K$, so $P(x_\Gamma)$ presupposes $x_\Gamma \in K$, and the proofs in both
# papers start from it.
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
# ### Step 1: what strong convexity buys (STS19 appendix E)
#
# A function $F$ is $m$-strongly convex if $F - \frac m2\|\cdot\|^2$ is convex. If $z^\star$ minimises such an
# $F$ over a convex set, then for every $z$ of the set
#
# $$F(z) \ge F(z^\star) + \tfrac m2\|z - z^\star\|^2 . \tag{1}$$
#
# No gradient is needed for this. On the way from $z^\star$ to $z$, at $z_s = z^\star + s(z - z^\star)$,
# convexity of $F - \frac m2\|\cdot\|^2$ says
#
# $$F(z_s) \le (1-s) F(z^\star) + s F(z) - \tfrac m2 s(1-s)\|z - z^\star\|^2 ,$$
#
# and $F(z^\star) \le F(z_s)$. Subtract $F(z^\star)$, divide by $s$, let $s \to 0$. The identity behind the
# last term:

# %%
s, z, w, m = sp.symbols("s z w m", real=True)
blend = (1 - s) * w + s * z
chord = m / 2 * ((1 - s) * w**2 + s * z**2 - blend**2)
print("chord of m/2 |.|^2 minus its value:", sp.factor(chord))
assert sp.simplify(chord - m / 2 * s * (1 - s) * (z - w) ** 2) == 0

# %% [markdown]
# ### Step 2: the primal side
#
# $P$ is a convex function plus $\frac\lambda2\|x\|^2$, so $m = \lambda$ and
#
# $$P(x) - P(x^\star) \ge \tfrac\lambda2\|x - x^\star\|^2 \qquad (x \in K). \tag{2}$$
#
# We do not know $P(x^\star)$, but by weak duality it is at least $D(\alpha)$. Put $D(\alpha)$ in its place, and **DGB
# is proved**.
#
# ### Step 3: the dual side
#
# Weak duality gives something away. $D(\alpha)$ is itself a minimum over $K$, of the Lagrangian
#
# $$\mathcal L(z; \alpha) = -\sum_t \ell^*(-\alpha_t) - \langle H(\alpha), z\rangle + \tfrac\lambda2\|z\|^2 ,$$
#
# The minimum is at $z = x(\alpha)$, and $\mathcal L$ is $\lambda$-strongly convex too. Fenchel's inequality says
# $\mathcal L(z;\alpha) \le P(z)$. So (1) with $z = x^\star$ gives
#
# $$P(x^\star) - D(\alpha) \ge \mathcal L(x^\star;\alpha) - D(\alpha) \ge \tfrac\lambda2\|x(\alpha) - x^\star\|^2 . \tag{3}$$
#
# ### Step 4: add the two
#
# $$\boxed{\;P(x) - D(\alpha) \;\ge\; \tfrac\lambda2\|x - x^\star\|^2 + \tfrac\lambda2\|x(\alpha) - x^\star\|^2\;} \tag{4}$$
#
# * forget the second distance: DGB;
# * forget the first: the ball of the same radius around $x(\alpha)$;
# * let both be the same point, $x = x(\alpha)$: **CDGB**,
#   $\|x(\alpha) - x^\star\|^2 \le \frac1\lambda\big(P(x(\alpha)) - D(\alpha)\big)$;
# * keep both: the midpoint gap bound MGB, in the exercise.
#
# With a $\Gamma \in K^*$ that is not the best one, $\mathcal L(z;\alpha) - \langle\Gamma, z\rangle$ takes the place of
# $\mathcal L$: its minimum over the whole space is $D(\alpha,\Gamma)$, at $x_\Gamma$, and at $x^\star$ it is at most
# $P(x^\star)$. So (3) holds for $x_\Gamma$. But (2) for $x = x_\Gamma$ needs $x_\Gamma \in K$. That is where its
# feasibility is used.
#
# Below are both sides of (4) for pairs of all kinds over three cones. Gaps, points and radii are computed from the
# definitions and compared with the library's. Let $\lambda$ be at least $\lambda_{\max}$ and $x = 0$. Then
# $\alpha(0) = \mathbf 1$ is the dual solution, the losses are straight between 0 and $x^\star$, and (2) is an equality.
# So the solution is on the surface of DGB, and DGB cannot have the factor of CDGB.

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
    """References (x, alpha), from none of them optimal to both."""
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
    """The projection of a matrix, given and returned as the vector of its entries."""
    d = round(np.sqrt(Q.size))
    values, V = np.linalg.eigh(Q.reshape(d, d))
    return (V * np.maximum(values, 0.0) @ V.T).ravel()


def objective(A, x, lam, gamma):
    """P(x) from the definition; a row of A is a term, x a vector."""
    slope = np.clip((1.0 - A @ x) / gamma, 0.0, 1.0)
    return np.sum(slope * (1.0 - A @ x) - gamma * slope**2 / 2) + lam / 2 * x @ x


def gap_balls(A, x, alpha, lam, gamma, project):
    """DGB and CDGB from the definitions."""
    plus = project(A.T @ alpha)
    dual = alpha.sum() - gamma / 2 * alpha @ alpha - plus @ plus / (2 * lam)
    gaps = (objective(A, point, lam, gamma) - dual for point in (x, plus / lam))
    wide, narrow = (
        np.sqrt(max(factor * gap / lam, 0.0)) for factor, gap in zip((2.0, 1.0), gaps, strict=True)
    )
    return (x, wide), (plus / lam, narrow)


# %%
projections = {
    "metric": semidefinite,
    "diagonal metric": lambda Q: np.maximum(Q, 0.0),
    "support vectors": lambda Q: Q,
}


def instances(rng, kinds, repeats):
    """Random problems, their terms as rows, a lam, and the solution."""
    for kind in kinds:
        for repeat in range(repeats):
            instance = random_problem(kind, (0.05, 0.5)[repeat % 2], rng)
            rows = np.array(
                [instance.terms.adjoint(unit).ravel() for unit in np.eye(len(instance))]
            )
            weight = max(instance.lam_max(), 1.0) * rng.choice([2.0, 0.5, 0.1, 0.02])
            yield kind, instance, rows, weight, ss.solve(instance, weight, tol=1e-12, rtol=1e-13)


def both_distances(x_alpha, reference, best, weight):
    """What the distances of x and of x(alpha) from the solution take of the gap, and what its
    accuracy allows."""
    distances = np.linalg.norm(best.x - reference), np.linalg.norm(x_alpha - best.x.ravel())
    both = weight / 2 * (distances[0] ** 2 + distances[1] ** 2)
    return both, weight * best.eps * (sum(distances) + best.eps)


# %% tags=["STS19-T4"]
rng = np.random.default_rng(4)
kinds, solved = tuple(projections), []  # what is solved here serves CDGB below
used, largest, count, apart = dict.fromkeys(kinds, 0.0), dict.fromkeys(kinds, 0.0), 0, 0.0
for kind, instance, rows, weight, best in instances(rng, kinds, 30):
    solved.append((kind, instance, rows, weight, best))
    for reference, alpha in pairs(instance, best.x, weight, rng):
        DGB = ss.spheres.duality_gap_bound(instance, reference, weight, alpha)
        (_, radius), (x_alpha, _) = gap_balls(
            rows, reference.ravel(), alpha, weight, instance.loss.gamma, projections[kind]
        )
        gap, size = (
            weight / 2 * DGB.radius**2,
            np.linalg.norm(reference) + np.linalg.norm(rows.sum(axis=0)) / weight,
        )
        apart = max(apart, abs(DGB.radius - radius) / size)
        distance = np.linalg.norm(best.x - DGB.center)
        assert np.array_equal(DGB.center, reference) and distance <= DGB.radius + best.eps
        both, accuracy = both_distances(x_alpha, reference, best, weight)
        assert both <= gap + accuracy
        if distance > 1e3 * best.eps:
            largest[kind] = max(largest[kind], distance / DGB.radius)
            used[kind] = max(used[kind], both / gap)
        count += 1
print(
    f"{count} pairs; radii of the library and of numpy differ by less than 1e-5 of the "
    "size of the problem"
)
for kind in kinds:
    print(
        f"{kind:16} largest distance {largest[kind]:.2f} radii (bound 1); both use up to "
        f"{100 * used[kind]:.0f} % of the gap"
    )
assert apart < 1e-5
assert 0.5 < min(used.values())
assert max(used.values()) <= 1.001
assert max(largest.values()) <= 1.0

# %% [markdown]
# Above $\lambda_{\max}$ the solution is on the surface of the ball around $x = 0$:

# %% tags=["STS19-T4"]
attained = dict.fromkeys(kinds, 1.0)
for kind, instance, *_ in solved:
    above = 1.5 * max(instance.lam_max(), 1.0)
    exact = instance.all_linear() / above
    if np.any(exact):
        origin = ss.spheres.duality_gap_bound(instance, instance.cone.zeros(), above)
        attained[kind] = min(attained[kind], np.linalg.norm(exact) / origin.radius)
for kind, value in attained.items():
    print(f"{kind:16} at 1.5 lam_max from x = 0: {value:.6f} radii in all")
assert 1.0 - 1e-6 < min(attained.values()) and max(attained.values()) <= 1.0

# %% [markdown]
# ### Step 5: the paper's way to CDGB, and the question of the factor
#
# STS19 (appendix F) treats the gap as a function of the primal point alone. For each $x$ it takes the best dual point
# among those that have $x_\Gamma = x$:
#
# $$\begin{gathered} G(x) = P(x) - \max_{\alpha, \Gamma\,:\; x_\Gamma = x} D(\alpha,\Gamma)
# = \sum_t \ell(\langle a_t, x\rangle) + \lambda\|x\|^2 + f(x), \\
# f(x) = \min_{H(\alpha) \preceq_K \lambda x} \sum_t \ell^*(-\alpha_t) , \end{gathered}$$
#
# where $H(\alpha) \preceq_K \lambda x$ says that the difference is in $K^*$. Both objectives contribute
# $\frac\lambda2\|x\|^2$, the dual because of the constraint. The minimum of a convex function over a constraint that is
# jointly convex in $(x, \alpha)$ is convex in $x$, so $f$ is convex, and $G$ is $2\lambda$-**strongly convex** in the
# sense of step 1: $\lambda\|x\|^2 = \frac{2\lambda}2\|x\|^2$. The appendix proves the convexity of the rest and uses
# this factor. $G \ge 0$ and $G(x^\star) = 0$, so (1) says $G(x) \ge \lambda\|x - x^\star\|^2$ on $K$: CDGB again. (The
# appendix takes a subgradient of $G$ at $x^\star$; step 1 shows that none is needed.)
#
# In one dimension we can draw $G$. Then $K$ is a half-line, a term is a number, and the best $\alpha$ with
# $\sum_t a_t\alpha_t \le \lambda x$ is $\alpha_t = \min(1, \max(0, (1 - \mu a_t)/\gamma))$ with one multiplier
# $\mu \ge 0$ found by bisection.

# %%
numbers = np.array([3.0, 2.2, 1.4, 0.8, 0.5, -0.4, -0.9])
gamma = 0.3


def constrained_minimum(x, lam):
    """f(x) of one dimension: min of gamma/2 |alpha|^2 - sum(alpha) over the box with sum(a
    alpha) <= lam x."""
    low, high = 0.0, 1e3
    for _ in range(200):
        mu = 0.0 if numbers.sum() <= lam * x else 0.5 * (low + high)
        alpha = np.clip((1.0 - mu * numbers) / gamma, 0.0, 1.0)
        low, high = (mu, high) if numbers @ alpha > lam * x else (low, mu)
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
for ax, top in zip(axes, (9.0, 0.5), strict=True):
    gap, dual, primal = figures.OTHERS[4], "#999999", figures.OTHERS[0]
    ax.plot(grid, G, color=gap, label="constrained gap $G$")
    ax.plot(grid, simple, color=dual, label=r"gap with $\alpha(x)$")
    ax.plot(grid, P - P.min(), color=primal, label=r"$P - P^\star$")
    ax.plot(grid, lam_line * (grid - best) ** 2, ":", color=gap, label=r"$\lambda |x - x^\star|^2$")
    ax.plot(grid, lam_line / 2 * (grid - best) ** 2, ":", color=primal,
            label=r"$\frac{\lambda}{2} |x - x^\star|^2$")
    ax.set(xlabel="$x$", ylim=(0.0, top))
axes[1].set(xlim=(best - 0.35, best + 0.35))
for ax, title in zip(axes, ("one dimension, seven terms", "the same, nearer"), strict=True):
    ax.set_title(title, loc="left")
axes[0].legend(frameon=False)
figures.show(
    f"Both panels show a problem of one variable and {len(numbers)} terms, the right one nearer. "
    "The constrained gap and the primal error are bowls with the same lowest point. "
    "They lie above their dotted parabolas. The gap with the slopes of x has its "
    "lowest point there too."
)

# %% [markdown]
# The primal error is at least $\frac\lambda2|x - x^\star|^2$, the constrained gap at least twice that, and what is
# left of it after $\lambda x^2$ is convex:

# %%
h = grid[1] - grid[0]
assert np.all(P - P.min() >= lam_line / 2 * (grid - best) ** 2 - 1e-3)
assert np.all(G >= lam_line * (grid - best) ** 2 - 1e-2) and np.all(simple >= P - P.min() - 1e-9)
rest = np.diff(G - lam_line * grid**2, 2) / h**2
print(
    "smallest second difference of G - lam x^2 on the grid: "
    f"{rest.min() + 0.0:.3f} (bound -0.000001)"
)
assert rest.min() > -1e-6

# %% [markdown]
# Above $\lambda_{\max}$ all other parts are straight, and the two curvatures can be read off:

# %%
above = 2.0 * numbers.max() * numbers.sum() / (1.0 - gamma)  # twice lam_max
fine = np.linspace(1.001 * numbers.sum() / above, 0.999 * (1.0 - gamma) / numbers.max(), 21)
P, _, G = curves_1d(above, fine)
curvature = [np.diff(v, 2) / np.diff(fine)[0] ** 2 / above for v in (P, G)]
print(
    f"where all else is straight, curvature over lam: P {curvature[0].mean():.3f}, G "
    f"{curvature[1].mean():.3f}"
)
assert np.allclose(curvature[0], 1.0, atol=1e-5) and np.allclose(curvature[1], 2.0, atol=1e-5)

# %% [markdown]
# So the modulus is $\lambda$ for $P$ and $2\lambda$ for $G$, neither more nor less.
#
# ## The library, and does it match?
#
# We compute the two balls of the small problem by the definitions (`gap_balls` above, seven lines of numpy) and by the
# library.

# %%
i, j, k = problem.terms.index.T
A = np.array(
    [np.outer(v, v) - np.outer(w, w) for v, w in zip(X[i] - X[k], X[i] - X[j], strict=True)]
)
A = A.reshape(len(problem), 4)
x = np.diag([0.3, 0.02])
alpha = problem.alpha(x)
slow = dict(
    zip(("DGB", "CDGB"), gap_balls(A, x.ravel(), alpha, lam, loss.gamma, semidefinite), strict=True)
)
balls = {
    "DGB": ss.spheres.duality_gap_bound(problem, x, lam, alpha),
    "CDGB": ss.spheres.constrained_duality_gap_bound(problem, alpha, lam),
}
for name, ball in balls.items():
    center, radius = slow[name]
    away = np.linalg.norm(x_star - ball.center)
    print(
        f"{name:4} center {np.round(center, 4) + 0.0}, radius {radius:.4f}; the "
        f"solution is at {away:.4f}"
    )
    assert np.allclose(ball.center.ravel(), center, atol=1e-12)
    assert 0.0 <= ball.radius / radius - 1.0 < 1e-9 and away <= ball.radius

# %% [markdown]
# ## Picture
#
# The picture shows the plane through $x$, $x(\alpha)$ and the solution, for two references. Here the solution is well
# inside both balls. It can be on the surface, as shown below.

# %%
figure, axes = figures.panels(2, height=4.0)
nearer = x_star + 0.2 * (x - x_star)
ratios_of = []
for ax, reference, title in ((axes[0], x, "a reference"), (axes[1], nearer, "a better one")):
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
    "Both panels show a plane with the cone shaded. DGB is a disc around the "
    "reference x, CDGB a disc "
    "around x(alpha); both contain the optimum. The radius of CDGB is "
    f"{ratios_of[0]:.2f} times the "
    f"radius of DGB on the left, and {ratios_of[1]:.2f} times on the right, for a better reference."
)

# %% [markdown]
# ## Which of the two?
#
# CDGB divides the gap of the pair $(x(\alpha), \alpha)$ by $\lambda$, DGB twice the gap of $(x, \alpha)$. The factor
# favours CDGB, but its gap may be the larger one: $x(\alpha)$ is made from slopes, and they change more abruptly than
# points. We follow two solvers of the same small problem. Left is the projected gradient method, which works on $x$. It
# gets DGB without extra work, and CDGB for one more pass over all triplets. Right is a dual method, which changes one
# $\alpha_t$ at a time and always works at $x(\alpha)$. It gets both balls from the same gap.

# %%
def dual_ascent(A, lam, gamma, n_passes, rng):
    """Coordinate ascent of the dual without a cone, for support vector machines; yields alpha
    after each pass."""
    alpha, w = np.zeros(len(A)), np.zeros(A.shape[1])
    for _ in range(n_passes):
        for t in rng.permutation(len(A)):
            new = alpha[t] + (1.0 - gamma * alpha[t] - A[t] @ w) / (gamma + A[t] @ A[t] / lam)
            new = min(max(new, 0.0), 1.0)
            w += (new - alpha[t]) * A[t] / lam
            alpha[t] = new
        yield alpha.copy()


# %%
visited = []
ss.solve(
    problem, lam, 1e-9, x0=x, screening=(), callback=lambda progress: visited.append(progress.x)
)
machine = ss.Problem(ss.Samples(X, 2 * y - 1), loss)
lam_machine = 0.05 * machine.lam_max()
duals = list(
    dual_ascent((2 * y - 1)[:, None] * X, lam_machine, loss.gamma, 14, np.random.default_rng(0))
)

radii = {"metric": {"DGB": [], "CDGB": []}, "machine": {"DGB": [], "CDGB": []}}
for point in visited:
    radii["metric"]["DGB"].append(ss.spheres.duality_gap_bound(problem, point, lam).radius)
    radii["metric"]["CDGB"].append(
        ss.spheres.constrained_duality_gap_bound(problem, problem.alpha(point), lam).radius
    )
for alpha in duals:
    point = machine.x_of(alpha, lam_machine)
    radii["machine"]["DGB"].append(
        ss.spheres.duality_gap_bound(machine, point, lam_machine, alpha).radius
    )
    radii["machine"]["CDGB"].append(
        ss.spheres.constrained_duality_gap_bound(machine, alpha, lam_machine).radius
    )

# %% tags=["nbval-ignore-output"]
figure, axes = figures.panels(2, height=3.2)
titles = {"metric": "metric, projected gradient", "machine": "support vectors, dual ascent"}
for ax, (name, curves) in zip(axes, radii.items(), strict=True):
    figures.lines(
        curves, ax=ax, title=titles[name], xlabel="iteration", ylabel="radius", log="y", marks=True
    )
figures.show(
    "Curves show the radii of DGB and CDGB against the iteration, on a logarithmic axis. "
    f"Left, for a metric: {figures.ends(radii['metric'], '{:.1g}')}. Right, for support vectors: "
    f"{figures.ends(radii['machine'], '{:.1g}')}."
)

# %%
metric, vectors = (np.array(list(r.values())) for r in radii.values())
ratio = metric[0] / metric[1]
print(
    f"projected gradient: DGB over CDGB between {ratio.min():.1f} and {ratio[:12].max():.1f}: "
    "neither is always smaller"
)
assert ratio.min() < 0.9 and ratio[:12].max() > 1.1
ratios = vectors[0][:8] / vectors[1][:8]
print("dual ascent: DGB over CDGB, the first eight passes:", np.round(ratios, 3))
assert np.allclose(ratios, np.sqrt(2.0), rtol=1e-3) and max(metric[:, -1]) < 1e-3


# %% [markdown]
# ## CDGB over three cones
#
# On the same problems and pairs we compare the library's ball of $(x(\alpha), \alpha)$ with the definitions. Then we
# take another $\Gamma = H_- + E$ with $E \in K$, for which $x_\Gamma = x(\alpha) + E/\lambda$ is feasible and $D$ is
# lower.
#
# **Can the solution be on the surface?** Take one term $a = 1$ on the half-line, the hinge and $\lambda = 1$. The
# solution is $x^\star = 1$, at the kink, with $\alpha^\star = 1$. For any $\alpha = s$ between 0 and 1,
# $x(\alpha) = s$, and the gap is $(1-s) + \frac{s^2}2 - \big(s - \frac{s^2}2\big) = (1-s)^2$: the squared distance from
# the solution. So the solution is on the surface of CDGB for every $s$.

# %%
def with_another_multiplier(kind, instance, ball, alpha, weight, best, rng):
    """A feasible x_Gamma, for Gamma = H_- + E with E in the cone, and the radius of its gap."""
    E = rng.standard_normal(best.x.shape)
    E = (
        instance.cone.project(E + E.T if E.ndim == 2 else E)
        if kind != "support vectors"
        else 0.0 * E
    )
    x_Gamma = ball.center + E * rng.uniform(0.0, 0.5) * np.linalg.norm(best.x)
    D_Gamma = instance.dual(alpha, weight) - weight / 2 * (norm2(x_Gamma) - norm2(ball.center))
    radius = np.sqrt(max(instance.primal(x_Gamma, weight) - D_Gamma, 0.0) / weight)
    return x_Gamma, radius


# %% tags=["STS19-T14"]
rng = np.random.default_rng(14)
held, apart, position = 0, 0.0, dict.fromkeys(kinds, 0.0)
for kind, instance, rows, weight, best in solved:
    for reference, alpha in pairs(instance, best.x, weight, rng):
        ball = ss.spheres.constrained_duality_gap_bound(instance, alpha, weight)
        _, (center, radius) = gap_balls(
            rows, reference.ravel(), alpha, weight, instance.loss.gamma, projections[kind]
        )
        size = np.linalg.norm(best.x) + np.linalg.norm(rows.sum(axis=0)) / weight
        apart = max(
            apart,
            np.linalg.norm(ball.center.ravel() - center) / size,
            abs(ball.radius - radius) / size,
        )
        distance = np.linalg.norm(best.x - ball.center)
        assert distance <= ball.radius + best.eps
        if distance > 1e3 * best.eps:
            position[kind] = max(position[kind], distance / ball.radius)
        x_Gamma, radius = with_another_multiplier(kind, instance, ball, alpha, weight, best, rng)
        assert np.linalg.norm(best.x - x_Gamma) <= radius + best.eps + 1e-6 * np.linalg.norm(best.x)
        held += 2
print(
    f"{held} balls hold the solution; the library and numpy differ by less than 1e-5 of the size "
    "of the problem"
)
print("largest distance in radii:",
      ", ".join(f"{kind} {value:.2f}" for kind, value in position.items()), "(bound 1)")
assert apart < 1e-5 and max(position.values()) <= 1.0

# %% [markdown]
# With one term, on the line and on the half-line, the solution is on the surface for every $s$:

# %% tags=["STS19-T14"]
surface = []
for terms in (
    ss.Samples(np.array([[1.0], [0.0]]), [1, -1]),
    ss.Triplets(np.array([[0.0], [0.0], [1.0]]), [[0, 1, 2]], diagonal=True),
):
    one_term = ss.Problem(terms, ss.Hinge())  # a = 1; the sample of zeros only adds a constant
    for s in np.linspace(0.0, 0.95, 20):
        ball = ss.spheres.constrained_duality_gap_bound(
            one_term, np.append(s, np.ones(len(terms) - 1)), 1.0
        )
        surface.append(abs(1.0 - ball.center[0]) / ball.radius)
print(f"one term, {len(surface)} dual points: distance {min(surface):.6f} to {max(surface):.6f}")
assert 1.0 - 1e-6 < min(surface) <= max(surface) <= 1.0


# %% [markdown]
# ## Break it
#
# ### A primal point that is not feasible
#
# $x_\Gamma$ has to be in the cone. Take $\Gamma = O$, and for $\alpha$ the maximiser of $D(\alpha, O)$. That is the
# dual of the problem **without the constraint**; its solution $M_u = H(\alpha)/\lambda$ is not a metric, because it has
# a negative eigenvalue. By strong duality of that other problem $P(M_u) = D(\alpha, O)$. So the "gap" is zero, yet our
# solution is elsewhere. The proof breaks because $x^\star$ minimises $G$ **over the cone**: to compare it with
# $x_\Gamma$, $x_\Gamma$ has to be in the cone. DGB asks for $x \in K$ for the same reason: $P(M_u)$ is *below* the
# optimum, so the "gap" with a good dual point is negative. How often does this happen on the random metric problems
# from above?

# %%
def unconstrained(rows, weight, loss):
    """The same terms in the whole space: solution, and P minus D there for Gamma = O."""
    signs = np.where(np.arange(len(rows)) % 2 == 0, 1, -1)
    other = ss.Problem(ss.Samples(signs[:, None] * rows, signs), loss)
    x_u = ss.solve(other, weight, tol=1e-11, rtol=1e-12).x
    alpha = other.alpha(x_u)
    x_Gamma = rows.T @ alpha / weight
    dual = alpha.sum() - loss.gamma / 2 * alpha @ alpha - weight / 2 * x_Gamma @ x_Gamma
    return x_Gamma, objective(rows, x_Gamma, weight, loss.gamma) - dual


# %%
M_u, no_gap = unconstrained(A, lam, loss)
distance, below = np.linalg.norm(x_star.ravel() - M_u), problem.dual(problem.alpha(x_star), lam)
P_u = objective(A, M_u, lam, loss.gamma)
print("eigenvalues of M_u:", np.round(np.linalg.eigvalsh(M_u.reshape(2, 2)), 4))
print(f"'radius' below 1e-4, distance of the solution {distance:.4f}")
print(f"P(M_u) = {P_u:.4f}, optimum {P_star:.4f}, 'gap' with the dual solution {P_u - below:.4f}")
assert abs(no_gap / lam) < 1e-8 and distance > 0.05 and P_u < below
missed, infeasible = 0, 0
for kind, instance, rows, weight, best in solved:
    if kind == "metric":
        x_Gamma, gap = unconstrained(rows, weight, instance.loss)
        infeasible += instance.cone.violation(
            x_Gamma.reshape(best.x.shape)
        ) > 0.01 * np.linalg.norm(x_Gamma)
        away = np.linalg.norm(best.x.ravel() - x_Gamma)
        missed += away > np.sqrt(max(gap, 0.0) / weight) + 0.01 * np.linalg.norm(x_Gamma)
print(
    f"M_u infeasible in {infeasible} of 30 metric problems, the solution outside the 'ball' in "
    f"{missed} of them"
)
assert missed == infeasible > 15
try:
    ss.spheres.duality_gap_bound(problem, 0.5 * (M_u.reshape(2, 2) + M_u.reshape(2, 2).T), lam)
except ValueError as error:
    print("the library refuses:", str(error).split(", found")[0])

# %% [markdown]
# ### A smaller gap without extra work
#
# Theorem 4 holds for the gap of any problem with the same solution. Triplets that are known to be in $L$ or $R$ may be
# taken out of the problem. The reduced problem has the same solution, and for the same dual point its gap is never
# larger (notebook [`10-problem-and-duality`](10-problem-and-duality.ipynb)). So its DGB holds $x^\star$ and has the same center. Here it is smaller.

# %%
u = problem.terms.margins(x_star)
known = ss.rules.sphere(problem, ss.spheres.duality_gap_bound(problem, nearer, lam))
reduced = problem.reduce(known.in_L, known.in_R)
far = 2.0 * x_star  # here some of the known triplets are not in their regions
whole_ball = ss.spheres.duality_gap_bound(problem, far, lam)
reduced_ball = ss.spheres.duality_gap_bound(reduced, far, lam)
print(
    f"{known.n_L + known.n_R} of {len(problem)} triplets known: radius {whole_ball.radius:.4f} -> "
    f"{reduced_ball.radius:.4f}"
)
assert reduced_ball.radius < whole_ball.radius and reduced_ball.contains(x_star)

# %% [markdown]
# ## Exercise
#
# Keep both distances in (4) and complete the square. Which ball do you get? Show that it lies inside DGB, and that its
# radius is at most $1/\sqrt2$ of DGB's.
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
# which is DGB's radius over $\sqrt2$; and $(r + \delta)^2 \le 2(r^2 + \delta^2) = 2\rho^2$, which says that MGB lies
# inside DGB.
#
# </details>

# %%
o, a, b = sp.symbols("o a b", real=True)  # solution, x and x(alpha), a coordinate of each
q = (a + b) / 2
assert sp.expand((a - o) ** 2 + (b - o) ** 2 - 2 * (q - o) ** 2 - (a - b) ** 2 / 2) == 0

alpha = problem.alpha(x)
MGB, DGB = ss.spheres.midpoint_gap_bound(problem, x, lam, alpha), balls["DGB"]
delta = np.linalg.norm(MGB.center - DGB.center)
print(f"MGB: radius {MGB.radius:.4f} at distance {delta:.4f} from x; DGB: radius {DGB.radius:.4f}")
assert np.isclose(MGB.radius**2, DGB.radius**2 / 2 - delta**2, rtol=1e-9)
assert MGB.radius + delta <= DGB.radius and MGB.contains(x_star)

# %% [markdown]
# ## Fine print
#
# * **Cost.** DGB needs nothing but the gap, which a solver computes for stopping anyway. CDGB needs the primal
#   objective at $x(\alpha)$, which is one more pass over all triplets for a primal solver. MGB is smaller than DGB by
#   at least $\sqrt2$ as well, and does not need that pass.
# * **Rounding.** Near the solution the gap is a difference of two large numbers. The library computes it as a sum of
#   non-negative parts plus a bound of its rounding errors, so the radius is not too small. It never replaces a negative
#   computed gap by zero.
# * **The best possible dual point** is not $\alpha(x)$. Any method that raises $D$ shrinks all these balls.
# * **Feasibility in the wording.** The displayed statements of STS19 Theorem 14 and STS18 Theorem 3.6 name the
#   feasibility of $\alpha$ and $\Gamma$ only. The text around them has that of $M_\lambda(\alpha,\Gamma)$: both papers
#   introduce the bound for pairs of a primal and a dual *reference solution*, and both proofs begin with
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
