# %% [markdown]
# # Diagonal metrics: the rule with the cone, exactly
#
# A diagonal metric has one weight for each feature, and its cone is the orthant $x \ge 0$. For this cone the extreme
# values of $\langle h, x\rangle$ over a ball *and the cone* have formulas and need no iterations. This notebook derives
# the formulas, and counts the operations of the paper's procedure and of a faster procedure. (Here $\alpha$ and $\beta$
# are the multipliers of the ball and of the cone, as in the paper. They are not dual points.)
#
# At the end you will have seen that
#
# * the two theorems of the paper describe one curve, $x(y) = [q - y h]_+$. Theorem 11 describes the point where the
#   curve leaves the ball, and Theorem 12 describes the limit of a curve that stays in the ball;
# * Algorithm 3 walks along the curve piece by piece in $O(d^2)$ operations. With sorting and running sums the same walk
#   needs $O(d \log d)$ operations;
# * the pieces must be counted from $k = 0$, because the solution is often on the first piece;
# * the library's decision changes exactly where these extreme values pass a threshold.

# %%
import time

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
# There are two features, so the cone is the quarter plane (shaded). The solution lies in the cone and in the ball around
# $q$. Where in the intersection is $\langle h, x\rangle$ smallest? Start at $q$ and walk in the direction $-h$. At the
# edge of the cone one coordinate has become 0. This coordinate stays 0, and the walk continues along the edge. The walk
# ends at the star, where it leaves the ball. Over the ball alone the smallest value is at the hollow point, which is
# outside the cone and on a lower level.
#
# The walk is the curve $x(y) = [q - y h]_+$. The curve consists of straight pieces. A new piece begins when a coordinate
# becomes 0 or stops being 0. This notebook shows how to find the end of the walk.

# %%
q_drawn, h_drawn, r_drawn = np.array([0.9, 0.45]), np.array([0.5, 1.0]), 0.75
y_edge = q_drawn[1] / h_drawn[1]  # where the second coordinate becomes 0
y_end = (np.sqrt(r_drawn**2 - q_drawn[1] ** 2)) / h_drawn[0]  # where the walk leaves the ball
walk = np.maximum(q_drawn - np.outer([0.0, y_edge, y_end], h_drawn), 0.0)
outside = q_drawn - r_drawn * h_drawn / np.linalg.norm(h_drawn)
assert np.isclose(np.linalg.norm(walk[-1] - q_drawn), r_drawn)
assert outside[1] < 0.0
assert h_drawn @ outside < h_drawn @ walk[-1]

# %%
figure, ax = figures.panels(1, width=5.4, height=4.2)
figures.balls(ss.cones.NonNegativeCone(2), {"ball": ss.Sphere(q_drawn, r_drawn)}, {"$q$": q_drawn},
              ax=ax, title="the walk $x(y)$")
ax.plot(*walk.T, color="black", linewidth=2.0)
ax.plot(*walk[-1], "*", color="black", markersize=12)
ax.plot(*outside, "o", color="black", markerfacecolor="white")
for point in (walk[-1], outside):
    ax.axline(point, slope=-h_drawn[0] / h_drawn[1], color="#999999", linestyle="--", linewidth=0.8)
ax.annotate("", (1.75, 1.1), (1.55, 0.7), arrowprops={"arrowstyle": "->"})
ax.text(1.7, 0.85, "$h$")
ax.fill_between([0.0, 1.8], 0.0, 1.3, color=figures.COLOURS["cone"], zorder=-1)
ax.set(xlim=(-0.15, 1.8), ylim=(-0.5, 1.3))
figures.show(
    "A part of a disc around q lies below the shaded quarter plane. A line goes from q down to the "
    "lower edge of the quarter plane, then left along the edge to a star on the rim of the disc. "
    "A hollow point marks the smallest value over the disc alone. It lies below the edge, on a "
    "lower level line."
)

# %% [markdown]
# ## The claim
#
# A ball contains the solution $x^\star \ge 0$. How small can $\langle h, x\rangle$ be, where
# $h = \mathrm{diag}(H_{ijl})$? (STS19 problem P4.)
#
# $$\min_x\ h'x \quad\text{subject to}\quad \|x - q\|^2 \le r^2, \qquad x \ge 0 .$$
#
# > Let $\alpha \ge 0$ be the multiplier of the ball.
# >
# > **$\alpha > 0$** (STS19 Theorem 11): $x_k = q_k - h_k/2\alpha$ where $h_k - 2\alpha q_k \le 0$, else
# > $0$; and $\|x - q\|^2 = r^2$.
# >
# > **$\alpha = 0$** (STS19 Theorem 12): $x_k = 0$ where $h_k > 0$, else $\max(q_k, 0)$; and $h \ge 0$.
# >
# > **Algorithm 3** finds the case and $\alpha$ in $O(d^2)$ operations. (The box of the
# > algorithm is not part of the text at hand. This notebook uses the description in appendix N.3.)
#
# | assumption | used in |
# |---|---|
# | ball and orthant have a common point: $\Vert [q]_-\Vert  \le r$ | everything |
# | $\Vert [q]_-\Vert  < r$, so that multipliers exist | the theorems; the values are right without it |
#
# Here $[q]_+ = \max(q, 0)$ and $[q]_- = \max(-q, 0)$. The maximum is minus the minimum for $-h$.
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
# ## Derivation
#
# ### Step 1: stationarity is a projection
#
# The Lagrangian is $h'x - \alpha(r^2 - \|x - q\|^2) - \beta'x$. For a fixed $\alpha > 0$ the coordinates separate: each
# $x_k \ge 0$ minimises $h_k x_k + \alpha (x_k - q_k)^2$. This expression is a parabola with its vertex at $q_k - h_k/2\alpha$. If
# the vertex is negative, the minimiser is 0. With $y = 1/2\alpha$
#
# $$x(y) = [q - y h]_+ . \tag{1}$$
#
# Equation (1) is Theorem 11 in one line: "$h_k - 2\alpha q_k \le 0$" says that the vertex is not negative.

# %%
h_k, q_k, x_k = sp.symbols("h_k q_k x_k", real=True)
alpha = sp.symbols("alpha", positive=True)
parabola = h_k * x_k + alpha * (x_k - q_k) ** 2
vertex = sp.solve(sp.diff(parabola, x_k), x_k)[0]
multiplier = sp.diff(parabola, x_k).subs(x_k, 0)  # beta_k, where x_k = 0
assert sp.simplify(vertex - (q_k - h_k / (2 * alpha))) == 0
assert sp.simplify(multiplier - (h_k - 2 * alpha * q_k)) == 0
print("vertex:", sp.expand(vertex), "   slope at 0, the multiplier beta_k:", multiplier)

# %% [markdown]
# Where $x_k = 0$, the slope $\beta_k = h_k - 2\alpha q_k$ is not negative, as the optimality (KKT) conditions require.
#
# ### Step 2: follow the curve out of the ball
#
# The curve starts at $x(0) = [q]_+$, the point of the cone nearest to $q$. The squared distance of $x(y)$ from $q$ is
#
# $$\varphi(y) = \sum_{k \in S(y)} y^2 h_k^2 + \sum_{k \notin S(y)} q_k^2 , \qquad S(y) = \{k : q_k - y h_k > 0\} . \tag{2}$$
#
# $\varphi$ is continuous. On each piece it is constant or a parabola that rises from its vertex at $y = 0$. So $\varphi$
# **never falls**. A coordinate leaves $S$ (if $h_k > 0$) or enters $S$ (if $h_k < 0$) at most once, at
# $y_k = q_k/h_k$. So the curve has at most $d + 1$ pieces. There are three cases:
#
# 1. $\varphi(0) > r^2$. Then ball and cone have no common point.
# 2. $\varphi(y) = r^2$ for some $y$. Then $x(y)$, $\alpha = 1/2y$ and $\beta$ satisfy every KKT condition, and the
#    problem is convex. This is **Theorem 11**. On the piece that contains the solution
#    $y = \sqrt{(r^2 - \sum_{\notin S} q_k^2) / \sum_S h_k^2}$.
# 3. $\varphi(y) < r^2$ for every $y$. Then no $h_k$ is negative, because a coordinate with negative $h_k$ grows without
#    bound. The limit $x(\infty)$ has the coordinate 0 where $h_k > 0$ and $[q_k]_+$ where $h_k = 0$. This is
#    **Theorem 12**. The value is $h'x = 0$, and no point of the cone has a smaller value when $h \ge 0$.
#
# So both theorems describe the same curve: the theorem for $\alpha = 0$ gives its limit.

# %%
y = sp.symbols("y", nonnegative=True)
q_ex, h_ex = sp.Matrix([3, 1, -2]), sp.Matrix([2, 1, -1])
curve = (q_ex - y * h_ex).applyfunc(lambda v: sp.Max(v, 0))
exact = ((curve - q_ex).T * (curve - q_ex))[0]
for low, high in ((0, 1), (1, sp.Rational(3, 2)), (sp.Rational(3, 2), 2), (2, 10)):
    middle = (sp.sympify(low) + high) / 2
    inside = [k for k in range(3) if (q_ex - middle * h_ex)[k] > 0]
    outside_S = [k for k in range(3) if k not in inside]
    phi = sum(y**2 * h_ex[k] ** 2 for k in inside) + sum(q_ex[k] ** 2 for k in outside_S)
    assert all(sp.simplify((exact - phi).subs(y, v)) == 0 for v in (low, middle, high))
    print(f"y from {low} to {high}: phi = {phi}")

# %% [markdown]
# ## Algorithm 3 in plain lines
#
# The paper walks along $\alpha$, through the change points $\alpha_k = h_k/2q_k > 0$ in ascending order. On each interval
# between two change points the algorithm forms the support, solves for $\alpha$, and accepts the result if it lies in the
# interval. Every interval costs $O(d)$, and there are at most $d + 1$ intervals. The code also counts the intervals that
# it visits.

# %%
def algorithm_3(h, q, r):
    """Minimum of h'x over the ball and x >= 0, interval by interval; returns the value, alpha
    and the number of intervals visited."""
    if np.linalg.norm(np.minimum(q, 0.0)) > r:
        return np.nan, np.nan, 0  # ball and cone have no common point
    if np.all(h >= 0.0):  # alpha = 0, Theorem 12
        x = np.where(h > 0.0, 0.0, np.maximum(q, 0.0))
        if np.sum((x - q) ** 2) <= r**2:
            return 0.0, 0.0, 0
    ratio = h[q != 0.0] / (2.0 * q[q != 0.0])
    edges = np.concatenate([[0.0], np.sort(ratio[ratio > 0.0]), [np.inf]])
    for number in range(len(edges) - 1):
        low, high = edges[number], edges[number + 1]
        middle = 0.5 * (low + high) if np.isfinite(high) else 2.0 * low + 1.0
        S = h - 2.0 * middle * q < 0.0  # the support in this interval
        rest = r**2 - np.sum(q[~S] ** 2)
        if rest <= 0.0 or not S.any():
            continue
        alpha = np.linalg.norm(h[S]) / (2.0 * np.sqrt(rest))  # ||x - q||^2 = r^2, Theorem 11
        if low * (1 - 1e-12) <= alpha <= high * (1 + 1e-12):
            return h @ np.where(S, q - h / (2.0 * alpha), 0.0), alpha, number + 1
    return np.nan, np.nan, len(edges) - 1


value, alpha, visits = algorithm_3(np.array([2.0, 1.0, -1.0]), np.array([3.0, 1.0, -2.0]), 3.0)
print(f"value {value:.4f}, alpha {alpha:.4f}, intervals visited {visits}")

# %% [markdown]
# ## The same walk in $O(d \log d)$
#
# From one piece to the next only one coordinate enters or leaves the support. So the two sums of (2) are running sums
# over the sorted change points. The faster procedure sorts once, sums up, finds the piece, and solves.

# %%
def sorted_walk(h, q, r):
    """The same minimum by one sort and two running sums."""
    active = (q > 0.0) | ((q == 0.0) & (h < 0.0))  # S just after y = 0
    change = q * h > 0.0  # coordinates that leave or enter S
    steps = np.sort(q[change] / h[change])
    order = np.flatnonzero(change)[np.argsort(q[change] / h[change])]
    sign = np.where(active[order], -1.0, 1.0)  # leave S or enter it
    hh = np.sum(h[active] ** 2) + np.concatenate([[0.0], np.cumsum(sign * h[order] ** 2)])
    qq = np.sum(q[~active] ** 2) - np.concatenate([[0.0], np.cumsum(sign * q[order] ** 2)])
    if qq[0] > r**2:
        return np.nan
    # phi at the change points never falls
    piece = np.searchsorted(steps**2 * hh[:-1] + qq[:-1], r**2)
    S = active.copy()
    S[order[:piece]] = ~S[order[:piece]]
    if np.sum(h[S] ** 2) == 0.0:
        return 0.0  # the curve has come to its limit: Theorem 12
    y = np.sqrt(max(r**2 - np.sum(q[~S] ** 2), 0.0) / np.sum(h[S] ** 2))
    return h @ np.where(S, q - y * h, 0.0)


print(f"value {sorted_walk(np.array([2.0, 1.0, -1.0]), np.array([3.0, 1.0, -2.0]), 3.0):.4f}")

# %% [markdown]
# ## An iterative solver, for comparison
#
# Since $\varphi$ never falls, bisection solves $\varphi(y) = r^2$. Each step costs $O(d)$, and full precision needs about
# 60 steps. (A rule needs fewer steps. It may stop as soon as weak duality decides, like the dual ascent for full metrics
# in [`17-semidefinite-rule`](17-semidefinite-rule.ipynb).)

# %%
def bisection(h, q, r, steps=200):
    """The same minimum by bisection for the multiplier; 0 if the curve never leaves the ball."""

    def phi(y):
        return np.sum((np.maximum(q - y * h, 0.0) - q) ** 2)

    if phi(0.0) > r**2:
        return np.nan
    low, high = 0.0, 1.0
    while phi(high) < r**2:
        low, high = high, 2.0 * high
        if high > 1e12:
            return h @ np.maximum(q - high * h, 0.0)
    for _ in range(steps):
        middle = 0.5 * (low + high)
        if phi(middle) < r**2:
            low = middle
        else:
            high = middle
    return h @ np.maximum(q - low * h, 0.0)


# %% [markdown]
# ## Does it match?
#
# We compare the library, the three procedures above, and cvxpy as an outside solver on random instances of 1 to 8
# features. There are four kinds of instances: $h$ of any sign, $h \ge 0$ with some zeros, integers (with many ties and
# zeros in $q$ and $h$), and balls that barely meet the cone. The library does not return extreme values, so we test it
# with thresholds. A term with $x_i = 0$, $x_l = \sqrt{[h]_+}$ and $x_j = \sqrt{[h]_-}$ has the wanted $h$. If the
# threshold is a millionth inside of the extreme value, the library must decide the term. If the threshold is a millionth
# beyond the extreme value, the library must not decide it. The test covers R (minima) and L (maxima).

# %%
def instance(kind, rng):
    d = int(rng.integers(1, 9))
    h, q = rng.standard_normal((2, d))
    if kind == "h >= 0":
        h = np.abs(h) * (rng.uniform(size=d) < 0.7)
    if kind == "integers":
        h, q = rng.integers(-2, 3, d).astype(float), rng.integers(-2, 3, d).astype(float)
    h[0] += not h.any()
    least = np.linalg.norm(np.minimum(q, 0.0))
    r = least + (0.02 if kind == "shallow" else rng.uniform(0.1, 1.0) * (1.0 + np.linalg.norm(q)))
    return h, q, r


def by_cvxpy(h, q, r):
    x = cp.Variable(h.size, nonneg=True)
    return cp.Problem(cp.Minimize(h @ x), [cp.norm(x - q) <= r]).solve(solver="CLARABEL")


def turns(h, q, r, shift):
    """Number of decisions of the library, for R and L, with thresholds `shift` inside of the
    minimum and of the maximum."""
    points = np.stack([0.0 * h, np.sqrt(np.maximum(-h, 0.0)), np.sqrt(np.maximum(h, 0.0))])
    terms, ball = ss.Triplets(points, [[0, 1, 2]], diagonal=True), ss.Sphere(q, r)
    low, high = algorithm_3(h, q, r)[0], -algorithm_3(-h, q, r)[0]
    R = ss.Problem(terms.with_threshold(float(low - shift)), loss)
    L = ss.Problem(terms.with_threshold(float(high + shift + loss.gamma)), loss)
    return ss.rules.semidefinite(R, ball).n_R + ss.rules.semidefinite(L, ball).n_L


# %%
def optimality(h, q, r, alpha, value, scale):
    """Check the conditions of Theorem 11 if alpha is positive, else the conditions of Theorem
    12."""
    if alpha > 0.0:
        x = np.where(h - 2 * alpha * q <= 0.0, q - h / (2 * alpha), 0.0)
        beta = h + 2 * alpha * (x - q)
        assert abs(np.sum((x - q) ** 2) - r**2) < 1e-9 * (1 + r**2)
        assert x.min() >= 0.0
        assert beta.min() > -1e-9 * np.abs(h).max()
        assert abs(beta @ x) < 1e-9 * scale
    else:
        assert h.min() >= 0.0 and value == 0.0


# %%
def compare(kind, rng):
    """Compare all procedures on 250 instances; return the largest differences from Algorithm 3 of
    our own procedures and of cvxpy, the decisions (inside, beyond), and alpha and visits of each
    instance."""
    own, outside = 0.0, 0.0
    decided = np.zeros(2, dtype=int)
    alphas, visited = [], []
    for number in range(250):
        h, q, r = instance(kind, rng)
        value, alpha, visits = algorithm_3(h, q, r)
        scale = np.linalg.norm(h) * (np.linalg.norm(q) + r)
        others = sorted_walk(h, q, r), bisection(h, q, r)
        own = max(own, *(abs(other - value) / scale for other in others))
        if number < 30:
            outside = max(outside, abs(by_cvxpy(h, q, r) - value) / scale)
        optimality(h, q, r, alpha, value, scale)
        alphas.append(alpha)
        visited.append(visits)
        if number < 100:
            decided += turns(h, q, r, 1e-6 * scale), turns(h, q, r, -1e-6 * scale)
    return own, outside, decided, np.array(alphas), np.array(visited)


# %% tags=["STS19-T11", "STS19-T12", "STS19-A3"]
rng, loss = np.random.default_rng(21), ss.SmoothedHinge(gamma=0.05)
print("                      largest difference (bound 1e-6)     library decides")
print("kind       alpha > 0  alpha = 0   own      cvxpy          inside    beyond")
counts, in_first, in_later = {}, 0, 0
for kind in ("any sign", "h >= 0", "integers", "shallow"):
    own, outside, (inside, beyond), alphas, visited = compare(kind, rng)
    positive, zero = np.sum(alphas > 0.0), np.sum(alphas == 0.0)
    in_first += np.sum((alphas > 0.0) & (visited == 1))
    in_later += np.sum((alphas > 0.0) & (visited > 1))
    counts[kind] = positive, zero
    differences = f"{max(own, 1e-9):7.0e} {max(outside, 1e-6 / 2):10.0e}"
    turned = f"{inside:12} of 200 {beyond:4} of 200"
    print(f"{kind:10} {positive:9} {zero:10} {differences} {turned}")
    assert own < 1e-6 and outside < 1e-6 and positive + zero == 250 and (inside, beyond) == (200, 0)
assert counts["h >= 0"][1] > 20 and min(positive for positive, _ in counts.values()) > 20

# %% [markdown]
# ### Where the numbering starts
#
# Appendix N.3 sets $\alpha_0 := 0$, calls the support on $(\alpha_k, \alpha_{k+1})$ $S_k$, and says that the solution has
# one of the supports $S_k$, with $k$ from 1. The piece between $\alpha_0$ and $\alpha_1$ has the support $S_0$, and the
# solution is often on this piece. So $k$ must start from 0, as in STS18. The paper defines $\alpha_0$ for this purpose.

# %%
print(
    f"alpha > 0 in {in_first + in_later} of 1000 instances; support S_0 in {in_first} of them, a "
    f"later one in {in_later}"
)
h, q, r = np.array([1.0, -1.0]), np.array([0.5, 0.5]), 2.0
value, alpha, visits = algorithm_3(h, q, r)
change_point = np.min(np.abs(h / (2 * q)))
print("an example:")
print(f"alpha = {alpha:.4f}, first change point {change_point:.4f}, minimum {value:.4f}")
assert in_first > 100 and visits == 1 and np.isclose(value, by_cvxpy(h, q, r), atol=1e-6)

# %% [markdown]
# ## The library
#
# `rules.semidefinite` works with the cone of the problem. For a diagonal metric it uses a variant of the sorted walk. It
# computes no minima. It computes how far the points of the cone *beyond the threshold* are from $q$, and decides a term
# if this distance is larger than $r$. This test is equivalent to the comparison of the extreme value with the threshold, and weak duality makes it safe in
# floating point. The rule must make the same decisions as the exact minima.

# %%
def decisions(problem, ball, minimum):
    """Masks (L, R) of the rule that computes extreme values by `minimum(h, q, r)`."""
    H = problem.terms.elements(np.arange(len(problem)))[0]
    low = np.array([minimum(h, ball.center, ball.radius) for h in H])
    high = np.array([-minimum(-h, ball.center, ball.radius) for h in H])
    return high < 1.0 - problem.loss.gamma, low > 1.0


# %%
data = datasets.load("iris")
rng = np.random.default_rng(5)


def references(star, rng):
    """Three points of the cone, at different distances from the solution."""
    noisy = star + 0.2 * star.max() * rng.standard_normal(4)
    return 0.9 * star, 0.5 * star, np.maximum(noisy, 0.0)


# %% tags=["STS19-A3"]
agree = gained = total = false = 0
for k in (2, 4):
    terms = ss.Triplets.from_labels(data.X[::3], data.y[::3], k=k, diagonal=True)
    problem = ss.Problem(terms, loss)
    for fraction in (0.3, 0.03):
        lam = fraction * problem.lam_max()
        star = ss.solve(problem, lam, rtol=1e-10, tol=0.0).x
        margins = problem.terms.margins(star)
        for near in references(star, rng):
            ball = ss.spheres.gradient_bound(problem, near, lam)
            L, R = decisions(problem, ball, sorted_walk)
            found, plain = ss.rules.semidefinite(problem, ball), ss.rules.sphere(problem, ball)
            agree += np.count_nonzero((found.in_L == L) & (found.in_R == R))
            gained += found.n_L + found.n_R - plain.n_L - plain.n_R
            total += len(problem)
            false += np.count_nonzero(found.in_R & (margins <= 1.0))
            false += np.count_nonzero(found.in_L & (margins >= 0.95))
print(f"{total} triplets: library and exact extreme values differ on {total - agree}")
print(f"false decisions {false}, decisions that the sphere rule does not make {gained}")
assert agree == total and gained > 0 and false == 0

# %% [markdown]
# ## Picture
#
# The left panel shows the squared distance $\varphi(y)$ along two curves with eight features, their change points, and
# $r^2$. One curve leaves the ball (Theorem 11), and the other never leaves it (Theorem 12). The right panel counts the
# coordinates that each method reads. Algorithm 3 reads all $d$ coordinates for every interval that it visits. The sorted
# walk makes about $d\log_2 d$ comparisons. Bisection makes some 60 passes.

# %%
def draw_distances(ax, rng, level=5.0):
    """The squared distance of x(y) from q for slopes h of either sign and for positive slopes,
    the change points as dots, and r^2."""
    h, q = rng.uniform(0.3, 1.0, (2, 8))
    q[-1] *= -1.0
    mixed = h * np.where(np.arange(8) < 5, 1, -1)
    grid = np.linspace(0.0, 2.5, 500)

    def distance(y, slopes):
        return np.sum((np.maximum(q - np.outer(y, slopes), 0.0) - q) ** 2, axis=1)

    curves = {"$h$ of either sign": (mixed, figures.OTHERS[1]), "$h > 0$": (h, figures.OTHERS[4])}
    for label, (slopes, colour) in curves.items():
        breaks = (q / slopes)[q * slopes > 0]
        ax.plot(grid, distance(grid, slopes), "-", color=colour, label=label)
        ax.plot(breaks, distance(breaks, slopes), "o", color=colour, markersize=4)
    ax.axhline(level, color=figures.COLOURS["edge"])
    ax.text(2.4, level * 1.03, "$r^2$")
    ax.legend()
    ax.set(xlim=(0.0, 2.5), ylim=(0.0, 8.0))
    ax.set(xlabel=r"$y = 1/2\alpha$", title=r"squared distance of $x(y) = [q - yh]_+$ from $q$")


# %%
def coordinates_touched(d, rng):
    """Coordinates that Algorithm 3 reads, a mean over twenty random triplets with d features."""
    visits = []
    for _ in range(20):
        h, q = rng.standard_normal((2, d))
        r = np.linalg.norm(np.minimum(q, 0.0)) + 0.25 * np.sqrt(d)
        visits.append(d * algorithm_3(h, q, r)[2])
    return np.mean(visits)


# %%
rng = np.random.default_rng(8)
figure, axes = figures.panels(2, height=3.2)
draw_distances(axes[0], rng)
sizes = np.array([4, 16, 64, 256, 1024])
touched = [coordinates_touched(d, rng) for d in sizes]
counted = {
    "Algorithm 3": touched,
    r"sorted walk, $d\,\log_2 d$": sizes * np.log2(sizes),
    "bisection, 60 passes": 60 * sizes,
}
title = "coordinates touched for one triplet"
figures.lines(counted, sizes, ax=axes[1], title=title, xlabel="features $d$", log="xy", marks=True)
figures.show(
    "Left, curves show the squared distance of x(y) from q against y. For h of either sign the "
    "distance grows without bound and crosses the level r squared. For positive h it approaches a "
    "level below r squared. Right, lines show the coordinates read against the number of features, "
    f"on logarithmic axes: {figures.ends(counted, '{:.0f}')}."
)

# %%
exponent = np.polyfit(np.log(sizes[1:]), np.log(touched[1:]), 1)[0]
print("Algorithm 3 grows as d to the power of", round(float(exponent), 1))
assert 1.8 < exponent < 2.2

# %% [markdown]
# The paper remarks that for larger $d$ an iterative method can be faster than the analytic method. This is right for the
# $O(d^2)$ procedure, but not for the $O(d\log d)$ procedure. The measured seconds agree:

# %% tags=["nbval-ignore-output"]
for d in (16, 256, 2048):
    h, q = rng.standard_normal((2, d))
    r = np.linalg.norm(np.minimum(q, 0.0)) + 0.25 * np.sqrt(d)
    row = []
    for method in (algorithm_3, sorted_walk, bisection):
        start = time.perf_counter()
        for _ in range(5):
            method(h, q, r)
        row.append((time.perf_counter() - start) / 5 * 1e3)
    paper, walk, bisected = row
    print(f"d = {d:5}: Algorithm 3 {paper:8.2f} ms, sorted walk {walk:6.2f} ms, "
          f"bisection {bisected:6.2f} ms")

# %% [markdown]
# ## Break it
#
# ### A ball that only touches the cone
#
# At $r = \|[q]_-\|$ the only common point is $[q]_+$. The minimum is $h'[q]_+$, but there is *no* multiplier: $y = 0$
# would be $\alpha = \infty$. The theorems begin with "if the optimal dual variable", so they say nothing about this case.
# The sorted walk gives the right value. For a smaller radius ball and cone have no common point.

# %%
h, q = np.array([1.0, -2.0, 0.5]), np.array([0.6, -3.0, 0.4])
for r in (3.0 + 1e-3, 3.0, 3.0 - 1e-3):
    paper, walk = algorithm_3(h, q, r)[0], sorted_walk(h, q, r)
    print(f"r = {r:.3f}: Algorithm 3 {paper:7.4f},  sorted walk {walk:7.4f}")
assert np.isclose(sorted_walk(h, q, 3.0), h @ np.maximum(q, 0.0))
assert np.isnan(sorted_walk(h, q, 2.999))

# %% [markdown]
# ### $r$ for $r^2$
#
# In $\varphi(y) = r^2$ the radius is squared. Without the square the result depends on the units of the data. A ball of radius $\sqrt r$ is too
# large for $r < 1$, so decisions are lost. It is too small for $r > 1$, so decisions can be false. We show this on iris
# with a diagonal metric and a gradient bound from half-way to the solution, in the usual units and in two other units.
# ($\lambda$ changes with the units, so the problem and the right decisions are the same.)

# %%
def rule_without_square(h, q, r):
    return sorted_walk(h, q, np.sqrt(r))


def counts_of(problem, ball, rule, margins):
    """Numbers of terms that a rule puts into L and into R, and the number of false decisions."""
    L, R = decisions(problem, ball, rule)
    false = np.count_nonzero(L & (margins >= 1.0 - loss.gamma))
    false += np.count_nonzero(R & (margins <= 1.0))
    return int(L.sum()), int(R.sum()), false


outcome = {}
print("units  radius      r^2: L    R  false          r: L    R  false")
for unit in (0.1, 1.0, 30.0):
    terms = ss.Triplets.from_labels(data.X[::2] / unit, data.y[::2], k=3, diagonal=True)
    problem = ss.Problem(terms, loss)
    lam = 0.05 * problem.lam_max()
    star = ss.solve(problem, lam, rtol=1e-10, tol=0.0).x
    margins = problem.terms.margins(star)
    ball = ss.spheres.gradient_bound(problem, 0.5 * star, lam)
    right, wrong = (counts_of(problem, ball, rule, margins)
                    for rule in (sorted_walk, rule_without_square))
    outcome[unit] = right, wrong
    side = "below 1" if ball.radius < 1.0 else "above 1"
    print(f"{unit:5}  {side} {right[0]:10} {right[1]:4} {right[2]:6} {wrong[0]:13} {wrong[1]:4} "
          f"{wrong[2]:6}")
assert outcome[0.1][0] == outcome[1.0][0] == outcome[30.0][0] and outcome[1.0][0][2] == 0
assert outcome[30.0][1][2] > 0 and sum(outcome[0.1][1][:2]) < sum(outcome[0.1][0][:2])

# %% [markdown]
# ### Theorem 12 without its condition
#
# The point of Theorem 12 can be computed whether or not $\alpha = 0$. Suppose $h \ge 0$ and the point lies outside the
# ball. Then the minimum is larger than 0, and a rule that uses 0 loses decisions. Now suppose some $h_k < 0$. Then the
# minimum is smaller than the value at this point, and a rule that uses this value is unsafe. The rule for L is an
# example. It needs the maximum of $h'x$, which is minus the minimum for $-h$. At the point of Theorem 12 $h'x$ is below
# the threshold $1 - \gamma$, and the maximum is above the threshold.

# %%
h, q, r = np.array([1.0, 0.5]), np.array([2.0, 4.0]), 1.0
print(f"point outside the ball: value 0, minimum {sorted_walk(h, q, r):.2f}")
assert sorted_walk(h, q, r) > 1.0

# %%
h, q, r = np.array([-1.0, 0.5]), np.array([0.2, 1.5]), 1.0
x_12 = np.where(-h > 0.0, 0.0, np.maximum(q, 0.0))  # Theorem 12's point for -h
largest = -sorted_walk(-h, q, r)
print(f"h'x at the point of Theorem 12: {h @ x_12:.2f}")
print(f"threshold {1.0 - loss.gamma:.2f}, maximum of h'x {largest:.2f}")
assert h @ x_12 < 1.0 - loss.gamma < largest

# %% [markdown]
# ## Exercise
#
# A rule only needs to know whether an extreme value is beyond a threshold, and not the value itself. Show that for any
# $y \ge 0$ the number
#
# $$g(y) = 2y + \|q\|^2 - \|[q + y h]_+\|^2$$
#
# is a lower bound of the squared distance between $q$ and the points of the cone with $h'x \ge 1$. What does
# $g(y) > r^2$ prove, and for which category?
#
# <details>
# <summary><b>Solution</b></summary>
#
# Let $x \ge 0$ with $h'x \ge 1$, and $y \ge 0$. Then
# $\|x - q\|^2 \ge \|x - q\|^2 + 2y(1 - h'x) = \|x - (q + yh)\|^2 + 2y + \|q\|^2 - \|q + yh\|^2$. Over $x \ge 0$ the
# first term is at least $\|[q + yh]_-\|^2$, and $\|v\|^2 - \|[v]_-\|^2 = \|[v]_+\|^2$. So the right side is at least
# $g(y)$. If $g(y) > r^2$ for a single $y$, no point of ball and cone has $h'x \ge 1$. With $1 - \gamma$ in place of 1
# this certifies L. With $-h$ and $-1$ it certifies R. The library evaluates this dual function for diagonal and for full
# metrics.
#
# </details>

# %%
rng, least = np.random.default_rng(6), np.inf
for _ in range(300):
    h, q = rng.standard_normal((2, 5))
    x = np.maximum(rng.standard_normal(5), 0.0)
    y = rng.uniform(0.0, 3.0)
    if h @ x >= 1.0:
        g = 2 * y + q @ q - np.sum(np.maximum(q + y * h, 0.0) ** 2)
        least = min(least, np.sum((x - q) ** 2) - g)
print(f"300 samples: squared distance minus g(y) is {least:.2f} or more (bound 0)")
assert least >= -1e-9

# %% [markdown]
# ## Fine print
#
# * **Cost.** The rule costs $O(d\log d)$ for each triplet. The library applies it only to triplets that the sphere rule
#   leaves undecided and that the point $[q]_+$ does not refute. The rule needs $h$ itself, $d$ numbers for each triplet.
# * **Running sums lose digits** when coordinates leave the support. The code above recomputes the two sums for the piece
#   that it has chosen. The library refines $y$ and evaluates the dual value with rounding allowances.
# * **Ties and zeros.** A coordinate with $q_k = 0$ never changes. For $h_k > 0$ it is outside the support for every $y$,
#   and for $h_k < 0$ it is in the support for every $y > 0$. Equal change points make intervals of length 0, which
#   contain a single $\alpha$. There $x$ is the same from both neighbouring intervals.
# * **In print.** STS19's appendix N calls the theorems 12 and 13. Its "$k = 1, \dots, d'$" must be read with $k$ from 0.
#   Read literally, no piece contains the solution of the instances counted above under $S_0$. STS18's appendix B has
#   $\|x - q\|^2 = r$ in one line. This is a slip for $r^2$: its conditions (15) and STS19 have $r^2$.
#
# ## References
#
# * STS19: Yoshida, Takeuchi, Karasuyama, *Safe Triplet Screening for Distance Metric Learning*, Neural Computation 31,
#   2019: section 6.2, Theorems 11 and 12, appendix N, Algorithm 3.
# * STS18: the same authors, KDD 2018: appendix B.
