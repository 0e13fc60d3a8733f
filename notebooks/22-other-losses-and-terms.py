# %% [markdown]
# # Other losses, other terms: pairs, quadruplets, LMNN, squared hinge
#
# A triplet compares two distances from one point. Some methods compare one distance with a threshold. Others compare two
# distances between four points, pull neighbours together in addition, or square the violations.
# This notebook checks what the proofs of the bounds use of triplets. The result is that the bounds hold for all of these
# methods without a change. The *rules* also need regions in which the loss is exactly flat or exactly straight, and the squared hinge has no straight region.
#
# At the end you will have seen that
#
# * every ball is valid for any convex loss of any linear terms, with thresholds, weights and a linear term, and even for
#   several kinds of terms in one problem;
# * a rule can *discard* a term only if the loss has a region that is exactly flat, and *fold* a term only if the loss has
#   a region that is exactly straight. The squared hinge has no set L, and the logistic loss has neither L nor R;
# * LMNN is the same problem with one more matrix, and screening works on LMNN unchanged.

# %%
import cvxpy as cp
import numpy as np
import sympy as sp

import safescreen as ss
from safescreen_book import datasets, figures

# %% [markdown]
# ## The idea in a picture
#
# The panels show four losses against the margin. In the orange region the loss is exactly 0. A term whose margin is in
# this region at the solution can be *discarded*, because it does not affect the solution. In the blue region the loss is
# exactly straight. A term whose margin is in this region can be *folded* into a fixed linear term. The hinge and the
# smoothed hinge have both regions. The squared hinge has a flat region and no straight region. The logistic loss
# approaches both but has neither, so no term can leave the problem.
#
# The balls need less than the rules. They are valid for any convex loss, and for any terms whose margins are linear.

# %%
margin = np.linspace(-1.5, 3.0, 451)
never = np.zeros(margin.size, dtype=bool)
shapes = {
    "hinge": (ss.Hinge().value(margin), margin < 1.0, margin > 1.0),
    "smoothed hinge": (ss.SmoothedHinge(0.8).value(margin), margin < 0.2, margin > 1.0),
    "squared hinge": (ss.SquaredHinge(1.0).value(margin), never, margin > 1.0),
    "logistic": (np.log1p(np.exp(-margin)), never, never),
}


def mark(ax, value, region, colour, word, align):
    """Draw a region of the loss in colour, with a word above it."""
    if region.any():
        ax.plot(margin[region], value[region], color=colour, linewidth=4)
        place = margin[region].mean(), value[region].mean() + 0.25
        ax.text(*place, word, color=colour, ha=align)


# %%
figure, axes = figures.panels(4, width=10.4, height=2.6, sharey=True)
for ax, (name, (value, straight, flat)) in zip(axes, shapes.items(), strict=True):
    ax.plot(margin, value, color="#333333")
    mark(ax, value, straight, figures.COLOURS["L"], "folded", "left")
    mark(ax, value, flat, figures.COLOURS["R"], "discarded", "center")
    ax.set(xlabel="margin", ylim=(-0.15, 3.2))
    ax.set_title(name, loc="left", fontsize=10)
figures.show(
    "Each panel shows a loss against the margin. For the hinge and the smoothed hinge the falling "
    "line on the left is marked as folded, and the flat line on the right as discarded. For the "
    "squared hinge only the flat line is marked. The logistic loss is a smooth curve without a "
    "mark."
)

# %% [markdown]
# ## The claim
#
# > **More general problems** (STS19 section 6.3). For
# >
# > $$\min_{M \succeq O}\ \sum_t w_t\,\ell(\langle M, C_t\rangle - \tau_t + 1) - \langle c, M\rangle +
# \tfrac\lambda2 \|M\|^2$$
# >
# > with convex $\ell$, the bounds GB, PGB, DGB, RPB and RRPB are valid as for triplets. If $\ell$ is a hinge, smoothed
# > hinge or squared hinge, the rules are valid too.
#
# | name | terms $C_t$ | threshold $\tau_t$ | linear term $c$ | in the library |
# |---|---|---|---|---|
# | triplets | $(x_i-x_l)(x_i-x_l)^\top - (x_i-x_j)(x_i-x_j)^\top$ | 1 | | `ss.Triplets` |
# | quadruplets (Law et al.) | $(x_k-x_l)(x_k-x_l)^\top - (x_i-x_j)(x_i-x_j)^\top$ | 1 | | `ss.Quadruplets` |
# | dissimilar pairs (Davis et al.) | $+(x_i-x_l)(x_i-x_l)^\top$ | $L$ | | `ss.Pairs` |
# | similar pairs | $-(x_i-x_j)(x_i-x_j)^\top$ | $-U$ | | `ss.Pairs` |
# | LMNN (Weinberger, Saul) | as triplets | 1 | $-\sum \eta_{ij} (x_i-x_j)(x_i-x_j)^\top$ | `ss.pull` |
# | trace norm | any | any | $-\beta I$ | `linear=` |
#
# The paper has no weights $w_t > 0$. Weights need no new proof.
#
# <details>
# <summary><b>Symbols</b></summary>
#
# | symbol | what it is |
# |---|---|
# | problem | $P(M; \lambda) = \sum_t w_t\,\ell_t(\langle C_t, M\rangle) - \langle c, M\rangle + \frac\lambda2\Vert M\Vert^2$ over $M \in K$ |
# | loss | $\ell_t(u) = \max_{0 \le a \le \bar a} a(\tau_t - u) - \frac\gamma2 a^2$: hinge $\gamma = 0, \bar a = 1$; smoothed $\gamma > 0, \bar a = 1$; squared $\gamma > 0, \bar a = \infty$ |
# | cone $K$ | semidefinite matrices; non-negative vectors for a diagonal metric |
# | $H(\alpha)$ | $c + \sum_t w_t \alpha_t C_t$, with $0 \le \alpha_t \le \bar a$ |
# | $M(\alpha)$ | $\frac1\lambda [H(\alpha)]_K$ |
#
# </details>
#
# ## What the proofs use
#
# The notebooks `11` to `15` have the derivations. The proof of GB uses two facts: the slopes of the loss do not decrease
# (convexity, step 1), and $H(\alpha)$ *is* the sum of the terms times the negative slopes. The proofs of DGB and MGB use
# Fenchel's inequality. The proofs of the path bounds use that the dual objective is concave in $\alpha$. No proof uses
# the form of a term, the shape of the loss between its kinks, or the bound 1 of $\alpha$. So only the conjugates must be
# derived, and the dual is
#
# $$D(\alpha) = -\sum_t w_t\, \ell_t^*(-\alpha_t) - \tfrac1{2\lambda} \|[H(\alpha)]_K\|^2, \qquad
# H(\alpha) = c + \sum_t w_t \alpha_t C_t .$$
#
# With thresholds the sum $\mathbf 1^\top\alpha$ in the dual becomes $\tau^\top\alpha$, as printed. For the squared hinge the bound
# $\alpha \le 1$ disappears. sympy confirms both: each conjugate is the maximum over $u$ of $-\alpha u - \ell(u)$.

# %%
u, a, tau, s = sp.symbols("u alpha tau gamma", positive=True)
squared = (tau - u) ** 2 / (2 * s)  # for u <= tau
peak = sp.solve(sp.diff(-a * u - squared, u), u)[0]
conjugate = sp.expand((-a * u - squared).subs(u, peak))
print("squared hinge with threshold tau: at u =", sp.factor(peak), " loss*(-alpha) =", conjugate)
assert sp.expand(conjugate - (s * a**2 / 2 - tau * a)) == 0
assert sp.simplify(-a * tau - conjugate) == -(s * a**2) / 2  # u = tau is never better

# %% [markdown]
# The conjugate has the formula of the smoothed hinge, $\gamma\alpha^2/2 - \tau\alpha$, but for every $\alpha \ge 0$. (The hinge has
# $\gamma = 0$ and $\alpha \le 1$.) The pull term is a loss too, $\tilde\ell(z) = -z$ with $z = \langle c, M\rangle$. Its
# slope is always $-1$, so its dual variable is always 1, and no rule needs to screen it.
#
# ## Ten lines of numpy
#
# The function `all_balls` covers all cases: terms as rows of `C`, any thresholds, weights and linear term, and the hinge
# (`gamma = 0`), the smoothed hinge or the squared hinge (`cap = inf`). `project` is the projection onto the cone.


# %%
def all_balls(C, tau, w, c, gamma, cap, project, x, lam):
    """Centers and radii of GB, PGB, DGB and MGB at x, from the definitions."""
    margin = C @ x
    alpha = np.clip((tau - margin) / gamma, 0.0, cap) if gamma else (margin < tau).astype(float)
    H = c + C.T @ (w * alpha)
    plus = project(H)
    primal = w @ (alpha * (tau - margin) - gamma * alpha**2 / 2) - c @ x + lam / 2 * x @ x
    gap = primal - w @ (tau * alpha - gamma * alpha**2 / 2) + plus @ plus / (2 * lam)
    Q = (x + H / lam) / 2
    square, P, x_alpha = np.sum((x - H / lam) ** 2) / 4, project(Q), plus / lam
    return {
        "GB": (Q, np.sqrt(square)),
        "PGB": (P, np.sqrt(max(square - np.sum((Q - P) ** 2), 0.0))),
        "DGB": (x, np.sqrt(max(2 * gap / lam, 0.0))),
        "MGB": ((x + x_alpha) / 2, np.sqrt(max(gap / lam - np.sum((x - x_alpha) ** 2) / 4, 0.0))),
    }


def psd(v):
    """Projection of a symmetric matrix, given as a vector of its entries, onto the cone."""
    d = int(np.sqrt(v.size))
    values, vectors = np.linalg.eigh(v.reshape(d, d))
    return ((vectors * np.maximum(values, 0.0)) @ vectors.T).ravel()


# %% [markdown]
# ## Five problems
#
# The next cells build five problems from the same thirty points in two classes.


# %%
def points(rng, n=30, d=3):
    X, y = rng.standard_normal((n, d)), np.arange(n) % 2
    X[y == 1] += rng.uniform(0.5, 2.0, d)
    return X, y


def squares(X, pairs, diagonal=False):
    """The matrices (x_i - x_j)(x_i - x_j)', or their diagonals, as rows."""
    D = X[pairs[:, 0]] - X[pairs[:, 1]]
    return D * D if diagonal else (D[:, :, None] * D[:, None, :]).reshape(len(D), -1)


# %%
def five_problems(rng, loss, diagonal=False, n=30, d=3):
    """Problems by name, each with the plain arrays C, tau, w, c."""
    X, y = points(rng, n, d)
    every = np.array([(i, j) for i in range(n) for j in range(i)])
    equal = y[every[:, 0]] == y[every[:, 1]]
    similar, dissimilar = (
        rows[rng.permutation(len(rows))[:40]] for rows in (every[equal], every[~equal])
    )
    triplets = ss.Triplets.from_labels(X, y, k=2, diagonal=diagonal)
    problems = pair_problems(X, similar, dissimilar, loss, diagonal)
    return problems | triplet_problems(rng, X, triplets, loss, diagonal)


# %%
def pair_problems(X, similar, dissimilar, loss, diagonal):
    """Quadruplets made of similar and dissimilar pairs, and the pairs themselves."""
    S, D = squares(X, similar, diagonal), squares(X, dissimilar, diagonal)
    quadruplets = ss.Quadruplets(X, np.hstack((similar, dissimilar)), diagonal=diagonal)
    pairs = ss.Pairs(X, similar, dissimilar, 1.0, 3.0, diagonal=diagonal)
    ones, zero = np.ones(len(D)), np.zeros(D.shape[1])
    thresholds = np.repeat([3.0, -1.0], [len(D), len(S)])
    weights = np.ones(len(D) + len(S))
    return {
        "quadruplets": (ss.Problem(quadruplets, loss), D - S, ones, ones, zero),
        "pairs": (ss.Problem(pairs, loss), np.vstack((D, -S)), thresholds, weights, zero),
    }


# %%
def triplet_problems(rng, X, triplets, loss, diagonal):
    """Triplets with weights, with targets that are pulled together (LMNN), and with a trace
    norm."""
    ijl, d = triplets.index, X.shape[1]
    H = squares(X, ijl[:, ::2], diagonal) - squares(X, ijl[:, :2], diagonal)
    one, zero = np.ones(len(ijl)), np.zeros(H.shape[1])

    weights = rng.uniform(0.5, 2.0, len(ijl))
    weighted = ss.Problem(ss.Triplets(X, ijl, diagonal=diagonal, weights=weights), loss)

    targets = np.unique(ijl[:, :2], axis=0)
    eta = rng.uniform(0.1, 0.3, len(targets))
    pull = ss.pull(X, targets, weights=eta, diagonal=diagonal)
    lmnn = ss.Problem(triplets, loss, linear=pull)

    beta = 0.3 * np.linalg.norm(H.sum(axis=0).reshape(d, -1), 2)
    trace = -beta * (np.ones(d) if diagonal else np.eye(d))
    trace_norm = ss.Problem(triplets, loss, linear=trace)
    return {
        "weighted triplets": (weighted, H, one, weights, zero),
        "LMNN": (lmnn, H, one, one, -eta @ squares(X, targets, diagonal)),
        "trace norm": (trace_norm, H, one, one, trace.ravel()),
    }


# %%
losses = {
    "hinge": ss.Hinge(),
    "smoothed hinge": ss.SmoothedHinge(0.05),
    "squared hinge": ss.SquaredHinge(0.5),
}
five = five_problems(np.random.default_rng(2), losses["smoothed hinge"])
for name, (problem, *_) in five.items():
    print(f"{name:18} {problem.terms}, lam_max {problem.lam_max():.4g}")

# %% [markdown]
# For the pairs $\lambda_{\max} = \infty$: a similar pair has no loss under a small metric, so at no $\lambda$ are all
# terms linear. (With the squared hinge $\lambda_{\max} = \infty$ for all five problems.) A path can then start at any
# $\lambda$.
#
# ## An outside solver
#
# cvxpy gets the definition of the problem as plain arrays, and must find the same optimum.

# %%
def outside(C, tau, w, c, loss, lam):
    """The optimum by cvxpy."""
    d = int(np.sqrt(C.shape[1]))
    M = cp.Variable((d, d), PSD=True)
    slack = cp.pos(tau - C @ cp.vec(M, order="C"))
    if loss.smoothing == 0.0:
        each = slack
    elif loss.cap == 1.0:  # quadratic up to gamma, then linear
        each = cp.huber(slack, loss.smoothing) / (2 * loss.smoothing)
    else:
        each = cp.square(slack) / (2 * loss.smoothing)
    value = cp.sum(cp.multiply(w, each)) - c @ cp.vec(M, order="C") + lam / 2 * cp.sum_squares(M)
    cp.Problem(cp.Minimize(value)).solve(solver=cp.CLARABEL)
    return M.value, float(value.value)


lam = 5.0
for loss in losses.values():
    for problem, C, tau_, w, c in five_problems(np.random.default_rng(2), loss).values():
        M, value = outside(C, tau_, w, c, loss, lam)
        ours = ss.solve(problem, lam, tol=1e-9)
        assert abs(ours.primal - value) < 1e-5 * max(abs(value), 1.0)
        assert np.linalg.norm(ours.x - M) < 1e-3 * max(np.linalg.norm(M), 1e-2)
print("fifteen optima of the library and of cvxpy; relative differences:")
print("matrices at most 1e-3, values at most 1e-5")

# %% [markdown]
# ## Does it match, and is it safe?
#
# The next cells test the five problems with every loss, for full and diagonal metrics and random points. The references
# are zero, random matrices, and rough solutions. At each reference we test three properties:
#
# * the balls of the library equal the balls of the ten lines and contain the solution (for RRPB, from a rough solution
#   for $1.2\lambda$, we use its formula);
# * the decisions of the library follow the definition, which compares $\langle C_t, Q\rangle \mp r\|C_t\|$ with $\tau_t$
#   and $\tau_t - \gamma$, and they are true at the solution;
# * the *reduced problem*, without the decided terms, has the same value at the solution.
#
# The first test sets thresholds very close to the values at which a decision changes. The term is one pair of points at
# distance 2, and the ball has radius $\frac14$ around 1. So the margin is between 3 and 5. As a dissimilar pair the term
# is in R for $L < 3$, and in L for $L > 5 + \gamma$. As a similar pair it is in R for $U > 5$, and in L for
# $U < 3 - \gamma$.


# %%
library = {
    "GB": ss.spheres.gradient_bound,
    "PGB": ss.spheres.projected_gradient_bound,
    "DGB": ss.spheres.duality_gap_bound,
    "MGB": ss.spheres.midpoint_gap_bound,
}


def references(problem, rough, rng):
    yield problem.cone.zeros()
    B = rng.standard_normal(rough.shape)
    yield problem.cone.project(np.linalg.norm(rough) * (B + B.T if B.ndim == 2 else B))
    yield rough


# %%
def scale(problem):
    """A lam near the values at which terms become linear."""
    products = problem.terms.margins(problem.all_linear())
    return max(products.max(), 1.0)


def one_pair(similar, level, loss):
    """The decision of the ball of radius 1/4 around 1 on the pair (-1, 1): L, R, or nothing."""
    X, pair, none = [[-1.0], [1.0]], [[0, 1]], np.empty((0, 2), dtype=int)
    terms = ss.Pairs(X, pair, none, level, 0.0) if similar else ss.Pairs(X, none, pair, 0.0, level)
    found = ss.rules.sphere(ss.Problem(terms, loss), ss.Sphere(np.eye(1), 0.25))
    return "L" * found.n_L + "R" * found.n_R


# %%
def check_decisions(problem, ball, by_hand, C, tau):
    """Assert that the masks of a ball follow the definition; return the masks."""
    (center, _), gamma = by_hand, problem.loss.gamma
    found = ss.rules.sphere(problem, ball)
    q, width = C @ center, ball.radius * np.linalg.norm(C, axis=1)
    low, high = q - width - tau, tau - gamma - q - width
    if not problem.loss.has_linear_region:
        high = np.full_like(high, -np.inf)
    close = 1e-8 * (1.0 + np.abs(q) + width)
    for mask, beyond in ((found.in_R, low), (found.in_L, high)):
        assert np.all(mask[beyond > close]) and not np.any(mask[beyond < -close])
    return found


def check_truth(problem, found, C, tau, best):
    """Assert that the decisions are true at the solution, and that the reduced problem has its
    value."""
    unsure = best.eps * np.linalg.norm(C, axis=1) + 1e-9
    margins, gamma = C @ best.x.ravel(), problem.loss.gamma
    assert np.all((margins > tau - unsure)[found.in_R])
    assert np.all((margins < tau - gamma + unsure)[found.in_L])
    reduced = problem.reduce(found.in_L, found.in_R)
    weights = 1.0 if problem.terms.weights is None else problem.terms.weights
    allowed = 1e-9 * abs(best.primal) + np.sum(weights * unsure)
    assert abs(reduced.primal(best.x, best.lam) - problem.primal(best.x, best.lam)) <= allowed


# %%
def compare(problem, ball, by_hand, C, tau, best):
    """Assert that a ball equals the ball by hand and contains the solution, and check its
    decisions; return their numbers in L and in R, and the distance of the solution in radii."""
    center, radius = by_hand
    size = np.linalg.norm(center) + np.linalg.norm(best.x)
    assert np.linalg.norm(ball.center.ravel() - center) <= 1e-9 * size
    # rounding changes the square of the radius
    assert radius**2 - 1e-13 * size**2 <= ball.radius**2 and ball.radius - radius <= 1e-6 * size
    distance = np.linalg.norm(best.x - ball.center)
    assert distance <= ball.radius + best.eps
    found = check_decisions(problem, ball, by_hand, C, tau)
    check_truth(problem, found, C, tau, best)
    return np.array([found.n_L, found.n_R]), distance / (ball.radius + best.eps)


# %% tags=["STS19-D6.3"]
quarter, tiny = ss.SmoothedHinge(0.25), 1e-9
for similar, ends in ((False, ("R", 3.0, "", 5.25, "L")), (True, ("L", 2.75, "", 5.0, "R"))):
    below, first, between, second, above = ends
    for level in (0.0, first - tiny):
        assert one_pair(similar, level, quarter) == below
    for level in (first, first + tiny, 4.0, second - tiny, second):
        assert one_pair(similar, level, quarter) == between
    for level in (second + tiny, 9.0):
        assert one_pair(similar, level, quarter) == above
    name = "similar, U" if similar else "dissimilar, L"
    decided = f"{below} below {first}, {above} above {second}"
    print(f"gamma 0.25, {name}: {decided}, undecided at both and between")
assert one_pair(False, 9.0, ss.SquaredHinge(0.25)) == ""
assert one_pair(False, 3.0 - tiny, ss.SquaredHinge(0.25)) == "R"


# %% [markdown]
# The next cells apply the three tests to the five problems.

# %%
def balls_and_definitions(problem, arrays, loss, project, best, rough, before, rng):
    """Yield balls of the library, each with center and radius by hand; check that CDGB contains
    the solution."""
    (C, tau_, w, c), weight = arrays, best.lam
    for x in references(problem, rough.x, rng):
        cdgb = ss.spheres.constrained_duality_gap_bound(problem, problem.alpha(x), weight)
        assert np.linalg.norm(best.x - cdgb.center) <= cdgb.radius + best.eps
        by_hand = all_balls(C, tau_, w, c, loss.smoothing, loss.cap, project, x.ravel(), weight)
        for key, bound in library.items():
            yield bound(problem, x, weight), by_hand[key]
        radius = 0.1 * np.linalg.norm(before.x) + 1.2 * before.eps
        ball = ss.spheres.relaxed_path_bound(before.x, before.eps, 1.2 * weight, weight)
        yield ball, (1.1 * before.x.ravel(), radius)


def judged(problem, arrays, loss, diagonal, rng):
    """Yield the checked results for each ball: its decisions in L and in R, and the distance of
    the solution in radii."""
    project = (lambda h: np.maximum(h, 0.0)) if diagonal else psd
    weight = scale(problem) * rng.choice([0.1, 0.02])
    best = ss.solve(problem, weight, tol=1e-9, rtol=1e-12)
    rough = ss.solve(problem, weight, tol=0.0, rtol=1e-3, screening=())
    before = ss.solve(problem, 1.2 * weight, tol=0.0, rtol=1e-4, screening=())
    pairs = balls_and_definitions(problem, arrays, loss, project, best, rough, before, rng)
    for ball, expected in pairs:
        yield compare(problem, ball, expected, arrays[0], arrays[1], best)


# %% tags=["STS19-D6.3", "nbval-ignore-output"]
rng = np.random.default_rng(63)
balls, largest = 0, 0.0
table = {(name, kind): np.zeros(2, dtype=int) for name in five for kind in losses}
for kind, loss in losses.items():
    for repeat in range(4):
        diagonal = bool(repeat % 2)
        for name, (problem, *arrays) in five_problems(rng, loss, diagonal=diagonal, n=16).items():
            for decided, share in judged(problem, arrays, loss, diagonal, rng):
                table[name, kind] += decided
                largest = max(largest, share)
                balls += 1
print(f"{balls} balls equal their definitions and contain the solution")
print(f"largest distance of the solution from a center: {largest:.3f} radii (bound 1)")
print("decisions (L, R); all follow the definition and are true:")
print(f"{'':18}" + "".join(f"{kind:>20}" for kind in losses))
for name in five:
    row = [table[name, kind] for kind in losses]
    print(f"{name:18}" + "".join(f"{str(tuple(map(int, pair))):>20}" for pair in row))
for (_, kind), (in_L, in_R) in table.items():
    assert in_R > 0 and (in_L > 0) == (kind != "squared hinge")

# %% [markdown]
# With the squared hinge no term is ever in L. The quadratic part of this loss has no end, so the dual variable of a term
# with a positive loss is not fixed. For the squared hinge the paper has rules for R alone.
#
# ### All kinds of terms in one problem
#
# The paper notes that losses of pairs, triplets and quadruplets can be mixed. The next cell stacks the arrays of three
# problems, and the ten lines work without a change. cvxpy computes the optimum.

# %%
three = five_problems(np.random.default_rng(7), losses["smoothed hinge"])
parts = [three[name][1:4] for name in ("pairs", "weighted triplets", "quadruplets")]
C, tau_, w = (np.concatenate(columns) for columns in zip(*parts, strict=True))
c = three["LMNN"][4]
M, _ = outside(C, tau_, w, c, losses["smoothed hinge"], 20.0)
best = psd(M.ravel())
at_best = C @ best
for quality in (0.5, 0.95, 1.0):
    balls_here = all_balls(C, tau_, w, c, 0.05, 1.0, psd, quality * best, 20.0)
    counts = {}
    for name, (Q, r) in balls_here.items():
        assert np.linalg.norm(best - Q) <= r + 1e-4
        width = (r + 1e-4) * np.linalg.norm(C, axis=1)
        in_R, in_L = C @ Q - width > tau_, C @ Q + width < tau_ - 0.05
        assert np.all(at_best[in_R] > tau_[in_R])
        assert np.all(at_best[in_L] < tau_[in_L] - 0.05)
        counts[name] = int(in_R.sum() + in_L.sum())
    print(f"{len(C)} terms, reference {quality} M*: decided", counts)
assert min(counts.values()) > 0

# %% [markdown]
# ## What is screened
#
# The next cell solves the five problems again, with more points and the smoothed hinge, on a short path with steps of
# 10 %. The default rules screen before each problem and while it is solved.

# %% tags=["nbval-ignore-output"]
crowd = five_problems(np.random.default_rng(5), losses["smoothed hinge"], n=60, d=4)
for name, (problem, *_) in crowd.items():
    lams = 0.3 * scale(problem) * 0.9 ** np.arange(12)
    last = ss.path(problem, lams=lams, tol=1e-6, screening=("RRPB", "PGB"))[-1]
    end = last.history[-1]
    margins = problem.terms.margins(ss.solve(problem, last.lam, tol=1e-10).x)
    tau_ = problem.terms.threshold
    possible = np.mean((margins > tau_) | (margins < tau_ - 0.05))
    share = (end.n_L + end.n_R) / len(problem)
    print(f"{name:18} {len(problem):4} terms: {share:4.0%} screened, {possible:4.0%} possible")
    assert 0.5 < share <= possible

# %% [markdown]
# ## Break it
#
# ### A threshold is not a detail
#
# The rule compares with $\tau_t$. A rule that uses the triplets' threshold 1 for pairs decides wrongly in both
# directions, here even from a very good reference.

# %%
problem, C, tau_, w, c = five["pairs"]
best = ss.solve(problem, lam, tol=1e-11)
ball = ss.spheres.duality_gap_bound(problem, best.x, lam)
q, width = problem.terms.margins(ball.center), ball.radius * problem.terms.norms
for name, threshold in (("1 for all", np.ones(len(q))), ("their own", tau_)):
    in_R, in_L = q - width > threshold, q + width < threshold - 0.05
    false = np.sum(in_R & (q < tau_ - 1e-6)) + np.sum(in_L & (q > tau_ - 0.05 + 1e-6))
    print(f"thresholds {name}: {in_R.sum()} in R, {in_L.sum()} in L, wrong {false}")
    assert (false > 0) == (name == "1 for all")

# %% [markdown]
# ### The squared hinge has no L
#
# The next cell folds terms of the squared hinge into the linear term, as if the slope were constant below $1 - \gamma$.
# The reduced problem then has another optimum. The library refuses to do this.

# %%
squared = five_problems(np.random.default_rng(2), losses["squared hinge"])
problem, C, tau_, w, c = squared["LMNN"]
best = ss.solve(problem, lam, tol=1e-10)
wrong_L = problem.terms.margins(best.x) < 0.5
c_folded = c + C[wrong_L].sum(axis=0)
M, _ = outside(C[~wrong_L], tau_[~wrong_L], w[~wrong_L], c_folded, losses["squared hinge"], lam)
moved = np.linalg.norm(M - best.x) / np.linalg.norm(best.x)
print(f"{wrong_L.sum()} terms folded, the optimum moves by {moved:.1f} times its norm")
try:
    problem.reduce(wrong_L, np.zeros(len(problem), dtype=bool))
except ValueError as error:
    print("the library refuses:", str(error).split(";")[0])
assert moved > 0.05

# %% [markdown]
# ### A loss without flat regions: bounds but no rules
#
# The logistic loss $\log(1 + e^{1-u})$ is convex, so GB is valid. In the next cell the optimum is always inside GB. But
# the slope of the loss is never exactly zero. So *every* term affects every optimum, and no term can be screened.

# %%
problem, C, tau_, w, c = five["quadruplets"]


def slopes(x):
    return 1.0 / (1.0 + np.exp(np.clip(C @ x - 1.0, -500.0, 500.0)))


x, worst, rng = np.zeros(C.shape[1]), 0.0, np.random.default_rng(1)
smoothness = lam + 0.25 * np.linalg.norm(C, 2) ** 2
for _ in range(20000):  # projected gradient
    x = psd(x - (lam * x - C.T @ slopes(x)) / smoothness)
for _ in range(200):
    B = rng.standard_normal((3, 3))
    start = psd((B + B.T).ravel())
    g = (lam * start - C.T @ slopes(start)) / (2 * lam)
    worst = max(worst, np.linalg.norm(x - start + g) / np.linalg.norm(g))
slope = slopes(x)
print(f"logistic loss, 200 references: largest distance {worst:.3f} radii")
print("dual variables that are exactly 0:", np.sum(slope == 0))
assert worst <= 1.0 + 1e-6 and np.all(slope > 0)

# %% [markdown]
# ### A loss that is not convex: not even bounds
#
# The ramp $\min(1, [1 - u]_+)$ is flat on both sides, so terms on both sides could be screened. But consider one term
# with $a = 1$, $\lambda = 0.1$ and no constraint. At $x = -0.5$ the ramp is flat, and GB is the interval $[-0.5, 0]$.
# The optimum is outside this interval.

# %%
grid = np.linspace(-3.0, 3.0, 60001)
objective = np.minimum(1.0, np.maximum(0.0, 1.0 - grid)) + 0.05 * grid**2
optimum = grid[np.argmin(objective)]
low, high = -0.5 + 0.25 - 0.25, -0.5 + 0.25 + 0.25
print(f"ball [{low}, {high}], optimum {optimum:.3f}")
assert not low <= optimum <= high

# %% [markdown]
# ## LMNN on iris and wine
#
# Large margin nearest neighbours (LMNN) uses the hinge loss. It pulls the five target neighbours of every point towards
# the point, and pushes the five nearest points of other classes away. We learn the metric on four fifths of the points.
# The error is the error of the 3-nearest-neighbour classifier on the remaining points, over five folds. It serves as a
# sanity check and not as a benchmark.


# %%
def knn_error(train, y_train, test, y_test, k=3):
    distance = np.sum((test[:, None] - train[None]) ** 2, axis=2)
    near = np.argsort(distance, axis=1, kind="stable")[:, :k]
    votes = np.array([np.bincount(y_train[row]).argmax() for row in near])
    return np.mean(votes != y_test)


def lmnn(X, y, pull, factor=1e-3):
    """The solution, its problem, and the map into the space of the metric."""
    triplets = ss.Triplets.from_labels(X, y, k=5)
    targets = np.unique(triplets.index[:, :2], axis=0)
    linear = ss.pull(X, targets, weights=np.full(len(targets), pull)) if pull else None
    problem = ss.Problem(triplets, ss.Hinge(), linear=linear)
    weight = factor * ss.Problem(triplets, ss.Hinge()).lam_max()
    solution = ss.solve(problem, weight, tol=0.0, rtol=1e-6, screening=("RRPB", "PGB"))
    values, vectors = np.linalg.eigh(solution.x)
    return solution, problem, (vectors * np.sqrt(np.maximum(values, 0.0)))[:, ::-1]


# %% tags=["nbval-ignore-output"]
settings = {"Euclidean": None, "no pull": 0.0, "pull 1": 1.0, "pull 5": 5.0}


def fold_errors(X, y, pull):
    """Error of each of five folds, and the share of terms screened in each solve."""
    folds = np.random.default_rng(0).permutation(len(y)) % 5
    errors, decided = [], []
    for fold in range(5):
        train, test = folds != fold, folds == fold
        T = np.eye(X.shape[1])
        if pull is not None:
            solution, problem, T = lmnn(X[train], y[train], pull)
            end = solution.history[-1]
            decided.append((end.n_L + end.n_R) / len(problem))
        errors.append(knn_error(X[train] @ T, y[train], X[test] @ T, y[test]))
    return errors, decided


for name in ("iris", "wine"):
    X, y = datasets.load(name, return_X_y=True)
    y = np.unique(y, return_inverse=True)[1]
    errors = {}
    for label, pull in settings.items():
        each, decided = fold_errors(X, y, pull)
        errors[label] = np.mean(each)
        share = f", screened while solving {np.mean(decided):4.0%}" if decided else ""
        print(f"{name} {label:10} error {errors[label]:5.1%}{share}")
    assert min(errors["pull 1"], errors["pull 5"]) <= errors["Euclidean"] + 0.01

# %% [markdown]
# On these two data sets the Euclidean metric already has a small error, so a learned metric can gain little. The error of
# iris does not change by more than one flower, and the error of wine becomes smaller. The solver works only on the few
# triplets that screening leaves.
#
# The effect of the pull term is visible in the space of the metric. The panels show the two leading directions of wine,
# before and after learning. The pull term also lowers the rank, because it acts as a trace norm: $-c$ is positive
# semidefinite.

# %%
figure, axes = figures.panels(3, height=3.2)
centred = X - X.mean(axis=0)
leading = np.linalg.svd(centred, full_matrices=False)[2][:2].T
figures.points_and_metric(centred @ leading, y, ax=axes[0], title="wine, principal components")
for ax, pull in zip(axes[1:], (0.0, 5.0), strict=True):
    solution, _, T = lmnn(X, y, pull)
    values = np.linalg.eigvalsh(solution.x)
    rank = int(np.sum(values > 1e-4 * values.max()))
    title = f"learned, pull {pull:.0f}: rank {rank}"
    figures.points_and_metric(centred @ T[:, :2], y, ax=ax, title=title)
    print(f"pull {pull:.0f}: rank {rank} of {len(values)}")
figures.show(
    f"Each panel shows wine in the plane, with a mark for each of its {len(np.unique(y))} classes. "
    "From left to right, the axes are the principal components, the leading directions of the "
    "metric learned without the pull term, and the leading directions of the metric learned with "
    "the pull term. The titles show the ranks of the metrics."
)

# %% [markdown]
# ## Exercise
#
# The trace norm penalty $\beta \operatorname{tr} M$ is the linear term $c = -\beta I$. For which $\beta$ is the solution
# $M^\star = O$? Does the answer depend on $\lambda$? (All terms have threshold 1, and the loss is the smoothed hinge with
# $\gamma < 1$.)
#
# <details>
# <summary><b>Solution</b></summary>
#
# At $M = O$ all margins are 0 and so below $1 - \gamma$. Hence $\alpha = \mathbf 1$. $O$ is the solution if
# $x(\alpha) = [H(\mathbf 1)]_+/\lambda = O$, which means that $\sum_t C_t - \beta I$ has no positive eigenvalue. So
# $M^\star = O$ if $\beta$ is at least the largest eigenvalue of $\sum_t C_t$, for every $\lambda$. For a smaller $\beta$
# the projection is not zero, and $O$ is not the solution.
#
# </details>

# %%
triplets = ss.Triplets.from_labels(*points(np.random.default_rng(2)), k=2)
total = triplets.adjoint(np.ones(len(triplets)))
edge = np.linalg.eigvalsh(total)[-1]
for factor in (0.9, 1.1):
    for weight in (0.1, 100.0):
        problem = ss.Problem(triplets, ss.SmoothedHinge(0.05), linear=-factor * edge * np.eye(3))
        size = np.linalg.norm(ss.solve(problem, weight, tol=1e-10).x)
        print(f"beta = {factor} largest eigenvalues, lam = {weight:5}: |M*| = {size:.3f}")
        assert (size < 1e-4) == (factor > 1.0)

# %% [markdown]
# ## Fine print
#
# * **Cost.** Quadruplets and pairs share point pairs just as triplets do: the library computes one distance for each
#   point pair and one subtraction for each term. A term of `Pairs` is a difference whose second pair is one point twice.
#   A linear term costs an addition of two matrices.
# * **Rounding.** The library treats thresholds, weights and the array $c$ as exact. A certificate is valid for the
#   numbers as given.
# * **The hinge.** At its kink every $\alpha \in [0, 1]$ is a negative slope. A formula must choose one of them, which
#   makes the gap bounds loose. During a solve the library uses the better dual point of the solver.
# * **Reduction.** Folding a term of weight $w$ adds $w\,C_t$ to $c$ and $w(\tau_t - \gamma/2)$ to a constant.
#
# ## References
#
# * STS19: Yoshida, Takeuchi, Karasuyama, *Safe Triplet Screening for Distance Metric Learning*, Neural Computation 31,
#   2019: section 6.3.
# * Weinberger, Saul, *Distance Metric Learning for Large Margin Nearest Neighbor Classification*, JMLR 10, 2009.
# * Davis, Kulis, Jain, Sra, Dhillon, *Information-Theoretic Metric Learning*, ICML 2007.
# * Law, Thome, Cord, *Quadruplet-Wise Image Similarity Learning*, ICCV 2013.
