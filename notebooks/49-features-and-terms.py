# %% [markdown]
# # Features and terms at once
#
# An $\ell_1$ penalty makes most weights of a diagonal metric 0. Screening finds out which ones before the problem is solved, just as it finds the triplets that do not matter. This notebook proves a feature 0 with the ball that the triplets
# are screened with, and lets the two help each other: fewer triplets prove more features, fewer features prove more triplets.
#
# At the end you will have seen
#
# * that the midpoint gap bound is a ball for the solution and for all dual variables at once;
# * the rule for features that follows from it, and a case in which it needs every percent of its radius;
# * why no ball around the solution alone can do this;
# * rates along a path, what is gained by screening in turn, and measured seconds.

# %%
import time

import numpy as np
import sympy as sp

import safescreen as ss
from safescreen_book import datasets, figures

# %% [markdown]
# ## The story in a picture
#
# Each row is a triplet of wine, each column a feature; 27 of the 40 features are noise. A dark row or column is still in the problem. A
# rough solution decides most triplets. What is left decides most features, and this decides more triplets.


# %%
def penalised(X, y, k, penalty):
    """The problem of a diagonal metric; the penalty is relative to the one that makes it 0."""
    terms = ss.Triplets.from_labels(X, y, k=k, diagonal=True)
    linear = np.full(X.shape[1], -penalty * terms.total()[0].max())
    return ss.Problem(terms, ss.SmoothedHinge(0.05), linear=linear)


def with_noise(name, n_noise, seed=0):
    """A data set with columns of noise added to its features."""
    X, y = datasets.load(name, return_X_y=True)
    noise = np.random.default_rng(seed).uniform(size=(len(X), n_noise))
    return np.hstack([X, noise]), y


# %%
def in_turn(prob, x, lam):
    """Screen terms, then features, and so on; yield which of both are left, while either
    shrinks."""
    terms, columns = np.arange(len(prob)), np.arange(prob.cone.d)
    shrinks = True
    while shrinks:
        shrinks = False
        found = ss.rules.sphere(prob, ss.spheres.midpoint_gap_bound(prob, x, lam))
        if found.rate > 0.0:
            prob, shrinks = prob.reduce(found.in_L, found.in_R), True
            terms = terms[~(found.in_L | found.in_R)]
        yield terms, columns
        zero = ss.rules.features(prob, x, lam)
        if zero.any():
            prob, shrinks = prob.on_features(~zero), True
            x, columns = x[~zero], columns[~zero]
        yield terms, columns


# %% tags=["nbval-ignore-output"]
wine = penalised(*with_noise("wine", 27), k=1, penalty=0.15)
lam_wine = 0.02 * wine.lam_max()
rough = ss.solve(wine, lam_wine, rtol=1e-3, screening=()).x
stages = list(in_turn(wine, rough, lam_wine))
fig, axes = figures.panels(3, width=10.0, height=3.4, sharey=True)
for n, ax in enumerate(axes):
    left = np.zeros((len(wine), 40))
    left[np.ix_(*stages[n])] = 1.0
    ax.imshow(left, aspect="auto", cmap="Blues", vmin=0, vmax=1.2, interpolation="nearest")
    ax.set_title(f"{len(stages[n][0])} triplets, {len(stages[n][1])} features")
    ax.set_xlabel("feature")
axes[0].set_ylabel("triplet")
figures.show(
    "Each panel is a table of triplets by features, in which what is still in the problem is dark: "
    f"{', then '.join(f'{len(rows)} of {len(wine)} triplets and {len(columns)} features' for rows, columns in stages[:3])}."
)
assert len(stages[2][0]) < len(stages[0][0]) < len(wine)

# %% [markdown]
# ## The claim
#
# > **One ball, two spaces.** Let the loss be smooth, $\gamma > 0$, and $K$ any closed convex cone. Let $x \in K$, $\alpha = \alpha(x)$ the slopes of the losses
# > there, $r$ the radius of the midpoint gap bound. Then $\;\lambda\,\big\|\tfrac12(x + x(\alpha)) - x^\star\big\|^2 + \gamma \sum_t w_t(\alpha_t - \alpha^\star_t)^2 \le \lambda r^2$.
# >
# > **The features rule.** Over the non-negative cone, with $H(\alpha) = c + \sum_t w_t\alpha_t a_t$ and $\rho = r\sqrt{\lambda/\gamma}$:
# > if $H_j(\alpha) + \rho\,\sqrt{\sum_t w_t a_{tj}^2} < 0$, then $x^\star_j = 0$.
# >
# > **In turn.** Terms in $L$ and $R$ leave the sum under the root. Features that are 0 leave the norms $\|a_t\|$ of the terms. Each test
# > stays valid on what the other leaves, and its norms are no larger there.
#
# | assumption | where it is used |
# |---|---|
# | the loss is smooth | the dual objective is strongly concave; for the hinge $\rho$ is infinite |
# | $\alpha = \alpha(x)$ | for another $\alpha$, $\rho$ is longer by $\tfrac12\sqrt{\sum_t w_t(\alpha_t - \alpha_t(x))^2}$ |
# | $K$ is the non-negative cone | $[H]_K$ takes each coordinate by itself |
#
# An $\ell_1$ penalty $\beta\sum_j x_j$ is the linear term $c = -\beta\mathbf 1$, since $x \ge 0$. So it needs no theory of its own: see
# [`26-one-problem-three-cones`](26-one-problem-three-cones.ipynb).
#
# <details>
# <summary><b>Symbols</b></summary>
#
# | symbol | meaning |
# |---|---|
# | $a_t$, $w_t$, $\tau_t$ | a term, its weight, its threshold |
# | $\alpha_t(x)$, $\alpha^\star$ | slope of the loss of term $t$ at $x$; the dual solution |
# | $c$, $\beta$ | the linear term; the $\ell_1$ penalty |
# | $H(\alpha)$, $x(\alpha)$ | $c + \sum_t w_t\alpha_t a_t$, and $[H(\alpha)]_K/\lambda$ |
# | $r$, $\rho$ | radius of MGB, and of the ball for the slopes |
# | L, R | terms with $\alpha^\star_t = 1$, with $\alpha^\star_t = 0$ |
#
# </details>
#
# ## Derivation
#
# ### The gap pays for four distances
#
# At the optimum $\lambda x^\star = [H^\star]_K$. The primal objective is $\lambda$-strongly convex, and a loss whose slope is
# $1/\gamma$-Lipschitz lies above its tangent by $\frac\gamma2$ times the squared change of the slope. So
# $P(x) - P^\star \ge \frac\lambda2\|x - x^\star\|^2 + \frac\gamma2\sum_t w_t(\alpha_t - \alpha_t^\star)^2$.
#
# The dual objective has $-\frac\gamma2\sum_t w_t\alpha_t^2$, and $\frac12\|[H]_K\|^2$ lies above its tangent by half the squared change of
# $[H]_K$. So $D^\star - D(\alpha) \ge \frac\lambda2\|x(\alpha) - x^\star\|^2 + \frac\gamma2\sum_t w_t(\alpha_t - \alpha_t^\star)^2$.
#
# Add them. The squared distances of $x$ and $x(\alpha)$ from $x^\star$ add up to twice the squared distance of their midpoint plus half
# the squared distance between the two:

# %%
x_, y_, s_ = sp.symbols("x y s", real=True)
two = (x_ - s_) ** 2 / 2 + (y_ - s_) ** 2 / 2
midpoint = ((x_ + y_) / 2 - s_) ** 2 + (x_ - y_) ** 2 / 4
print("difference of the two sides:", sp.simplify(two - midpoint))
assert sp.simplify(two - midpoint) == 0

# %% [markdown]
# Hence $\mathrm{gap} - \frac\lambda4\|x - x(\alpha)\|^2 \ge \lambda\|\frac12(x + x(\alpha)) - x^\star\|^2 + \gamma\sum_t w_t(\alpha_t - \alpha_t^\star)^2$. The left side is
# $\lambda r^2$, by the definition of MGB ([`28-midpoint-gap-bound`](28-midpoint-gap-bound.ipynb)).
#
# ### From slopes to features
#
# $x^\star_j = \max(H^\star_j, 0)/\lambda$: feature $j$ is 0 exactly if $H^\star_j \le 0$. By Cauchy and Schwarz
# $H^\star_j - H_j(\alpha) = \sum_t w_t(\alpha^\star_t - \alpha_t)a_{tj} \le \rho\,\sqrt{\sum_t w_t a_{tj}^2}$.
#
# ### In turn
#
# With terms fixed in $L$ and $R$, the reduced problem has the same form and the same optimum, and only the terms that are left are in its
# $\alpha$ (STS19 Lemma 1). With features set to 0 that are 0 at the optimum, the problem in the other coordinates has the
# same optimum: fewer feasible points, one of which was the best. Both are problems of the claim, with shorter columns or shorter rows.
#
# ## Ten lines
#
# We compare the rule in plain numpy with the library. The library adds allowances for rounding.


# %%
def by_hand(prob, A, x, lam):
    """The claim, from the terms written out."""
    gamma = prob.loss.gamma
    alpha = np.clip((1.0 - A @ x) / gamma, 0.0, 1.0)
    H = prob.linear + alpha @ A
    x_alpha = np.maximum(H, 0.0) / lam
    r = np.sqrt(np.sum((x - x_alpha) ** 2) / 4 + x @ np.maximum(-H, 0.0) / lam)
    rho = r * np.sqrt(lam / gamma)
    return H + rho * np.linalg.norm(A, axis=0) < 0.0, rho, alpha


# %%
def random_problem(rng):
    """A small problem whose solution is not 0, its terms written out, a lambda."""
    n, d = int(rng.integers(8, 20)), int(rng.integers(3, 12))
    X, y = rng.standard_normal((n, d)), np.arange(n) % 2
    X[:, 0] += 2.0 * y
    X[:, -1] *= 10.0 ** rng.integers(-3, 3)
    prob = penalised(X, y, k=2, penalty=rng.choice([0.0, 0.1, 0.4]))
    if rng.uniform() < 0.5:
        prob = prob.with_terms(prob.terms, ss.SmoothedHinge(0.5))
    if not prob.lam_max() > 0.0:
        return random_problem(rng)
    A = prob.terms.elements(np.arange(len(prob)))[0]
    return prob, A, prob.lam_max() * 10 ** rng.uniform(-3, -0.5)


def references(best, rng):
    """Points of the cone, from near the solution to far away."""
    yield np.zeros(best.size)
    for part in (1e-6, 1e-4, 1e-3, 1e-2, 0.1):
        yield np.maximum(best * (1.0 + part * rng.standard_normal(best.size)), 0.0)


# %% [markdown]
# Does it match, and does it hold? Random problems with badly scaled columns, and references from near to far. The solution is known to a relative gap of $10^{-11}$: a feature
# is certainly not 0 where its weight exceeds the certified error.

# %% tags=["NEW-ZERO", "nbval-ignore-output"]
rng = np.random.default_rng(0)
n_problems, n_out, n_references, used = 100, 0, 0, 0.0
for _ in range(n_problems):
    prob, A, lam = random_problem(rng)
    best = ss.solve(prob, lam, tol=0.0, rtol=1e-11, screening=())
    for x in references(best.x, rng):
        out, rho, alpha = by_hand(prob, A, x, lam)
        library = ss.rules.features(prob, x, lam)
        off = np.linalg.norm(alpha - best.alpha)
        known = np.linalg.norm(A, axis=1).max() * best.eps / prob.loss.gamma * np.sqrt(len(A))
        assert off <= rho + known
        assert not (library & (best.x > best.eps)).any()
        assert np.count_nonzero(library & ~out) == 0
        n_out += library.sum()
        n_references += 1
        used = max(used, off / rho if known < 1e-3 * rho else 0.0)
print(
    f"{n_problems} problems, {n_references} references: {n_out} features left out, "
    "none with a weight"
)
print(f"the slopes use up to {100 * used:.0f} % of the radius")
assert n_out > 300 and used > 0.5

# %% [markdown]
# ## Broken on purpose: two percent
#
# Is the radius needed? One triplet with $a = (1, -1)$, $\gamma = \lambda = 1$, and a linear term that lifts the second weight a little above 0. With
# $\lambda\gamma$ equal to the square of the first entry, $x$ and $x(\alpha)$ lie on opposite sides of $x^\star$, equally far: the ball of MGB has its center at
# $x^\star$, and the whole radius is left for the slope.

# %% tags=["NEW-ZERO-tight"]
points = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
one = ss.Triplets(points, [[0, 1, 2]], diagonal=True)
tight = ss.Problem(one, ss.SmoothedHinge(1.0), linear=np.array([0.0, 0.5 + 1e-6]))
best = ss.solve(tight, 1.0, rtol=1e-14).x
x = np.array([0.3, 0.0])
A = one.elements(np.array([0]))[0]
out, rho, alpha = by_hand(tight, A, x, 1.0)
H = tight.linear + alpha @ A
for factor in (1.0, 0.98):
    highest = H[1] + factor * rho * np.linalg.norm(A[:, 1])
    says = bool(highest < 0.0)
    print(f"with {factor:.2f} of the radius, the largest H of the second feature is {highest:+.0e}")
    assert says == (factor < 1.0)
assert best[1] > 5e-7 and not ss.rules.features(tight, x, 1.0)[1]

# %% [markdown]
# ## Broken on purpose: a ball around the solution
#
# For triplets a ball around $x^\star$ is enough. For features it is not. A ball that contains $x^\star$ and has a positive radius contains points
# with $x_j > 0$, whatever $j$ is: it bounds $x^\star_j$ from above by a positive number, never by 0. Whoever leaves out the features that are 0 at the center,
# or at which $[\,\cdot\,]_K$ has set them to 0, is soon wrong:

# %% tags=["nbval-ignore-output"]
rng = np.random.default_rng(1)
wrong = {"0 at the reference": 0, "0 at x(alpha)": 0, "the features rule": 0}
for _ in range(40):
    prob, A, lam = random_problem(rng)
    best = ss.solve(prob, lam, tol=0.0, rtol=1e-11, screening=())
    for x in references(best.x, rng):
        e = prob.evaluate(x, lam)
        ball = ss.spheres.midpoint_gap_bound(prob, x, lam)
        assert (ball.center + ball.radius > 0.0).all()
        certain = best.x > best.eps
        wrong["0 at the reference"] += int(np.sum((x == 0.0) & certain))
        wrong["0 at x(alpha)"] += int(np.sum((e.x_alpha == 0.0) & certain))
        wrong["the features rule"] += int(np.sum(ss.rules.features(prob, x, lam) & certain))
print("features thrown out that have a weight:", wrong)
assert wrong["the features rule"] == 0 < min(wrong["0 at the reference"], wrong["0 at x(alpha)"])

# %% [markdown]
# The unprojected $H$ is what carries the information: how far below 0 it is.
#
# ## In turn
#
# Breast cancer, with 200 columns of noise beside its 30 features, and references of falling gap. Three certificates: triplets alone, features alone, and both
# in turn until neither decides more, `screening=("MGB", "features")`.

# %% tags=["NEW-TURN", "nbval-ignore-output"]
cancer = penalised(*with_noise("breast-cancer", 200), k=5, penalty=0.05)
lam_cancer = 0.01 * cancer.lam_max()
exact = ss.solve(cancer, lam_cancer, tol=0.0, rtol=1e-11, screening=())
rows = []
for rtol in (1e-1, 1e-2, 3e-3, 1e-3, 1e-4, 1e-5, 1e-6):
    x = ss.solve(cancer, lam_cancer, rtol=rtol, screening=()).x
    alone = ss.screen(cancer, x, lam_cancer)
    features = ss.rules.features(cancer, x, lam_cancer)
    both = ss.screen(cancer, x, lam_cancer, screening=("MGB", "features"))
    assert not (features & ~both.zero_features).any() and both.rate >= alone.rate
    assert not (both.zero_features & (exact.x > exact.eps)).any()
    rows.append((alone.gap, alone.rate, features.mean(), both.rate, both.zero_features.mean()))
table = np.array(rows)
best_row = table[np.argmax(table[:, 4] - table[:, 2])]
print(
    f"features alone {100 * best_row[2]:.0f} %, in turn {100 * best_row[4]:.0f} % at "
    "the same reference"
)
print(
    f"triplets alone {100 * best_row[1]:.0f} %, in turn {100 * best_row[3]:.0f} % at "
    "the same reference"
)

# %% tags=["nbval-ignore-output"]
fig, axes = figures.panels(2, width=9.0, height=3.2, sharey=True)
names = (("triplets", 1, 3), ("features", 2, 4))
for ax, (name, single, in_turns) in zip(axes, names, strict=True):
    ax.plot(table[:, 0], 100 * table[:, in_turns], "o-", label="in turn", color="tab:blue")
    ax.plot(table[:, 0], 100 * table[:, single], "s--", label="alone", color="tab:orange")
    ax.set_xscale("log")
    ax.invert_xaxis()
    ax.set_title(name)
    ax.set_xlabel("duality gap of the reference")
axes[0].set_ylabel("decided, %")
axes[0].legend()
figures.show(
    "Curves show the share of triplets, left, and of features, right, decided against the duality "
    "gap of the reference, which falls to the right: solid in turn, dashed alone. "
    "From left to right, per cent of triplets: "
    f"{figures.ends({'in turn': 100 * table[:, 3], 'alone': 100 * table[:, 1]}, '{:.0f}')}; "
    "of features: "
    f"{figures.ends({'in turn': 100 * table[:, 4], 'alone': 100 * table[:, 2]}, '{:.0f}')}."
)

# %% [markdown]
# ## Along a path
#
# In a solve the rule is asked when the gap has fallen and iterations have paid for it. Features that are certain leave the arrays, and the solver goes on with the
# others. Rates at the end of each solve, relative gap $10^{-6}$:

# %%
lams = cancer.lam_max() * 0.7 ** np.arange(1, 22)
WAYS = {
    "none": (),
    "triplets": ("MGB",),
    "features": ("features",),
    "both": ("MGB", "features"),
}
paths = {name: ss.path(cancer, lams, rtol=1e-6, screening=way) for name, way in WAYS.items()}
reference = ss.path(cancer, lams, rtol=1e-11, screening=())
for solved in paths.values():
    for solution, known in zip(solved, reference, strict=True):
        assert solution.converged
        if solution.zero_features is not None:
            assert (known.x[solution.zero_features] <= known.eps).all()
print("every feature that left is 0 in solutions to 1e-11, at", len(lams), "lambdas")


# %% tags=["nbval-ignore-output"]
def decided(solution):
    last = solution.history[-1]
    return (last.n_L + last.n_R) / solution.n_terms


def zeros(solution):
    return 0.0 if solution.zero_features is None else solution.zero_features.mean()


fig, axes = figures.panels(2, width=9.0, height=3.2, sharey=True)
for name, style in (("triplets", "s--"), ("features", "^:"), ("both", "o-")):
    solved = paths[name]
    axes[0].plot(lams, [100 * decided(s) for s in solved], style, label=name, markersize=4)
    axes[1].plot(lams, [100 * zeros(s) for s in solved], style, label=name, markersize=4)
share = [100 * np.mean(s.x <= s.eps) for s in reference]
axes[1].plot(lams, share, color="black", linewidth=1, label="0 in the solution")
for ax, title in zip(axes, ("triplets decided", "features left out"), strict=True):
    ax.set_xscale("log")
    ax.invert_xaxis()
    ax.set_title(title)
    ax.set_xlabel("lambda")
axes[0].set_ylabel("%")
axes[0].legend(*axes[1].get_legend_handles_labels(), loc="center left", bbox_to_anchor=(0.0, 0.3))
figures.show(
    "Curves show rates along a path, on which lambda falls to the right. Left, means of the "
    "triplets decided, in per cent: "
    f"{figures.listed({name: [100 * decided(s) for s in solved] for name, solved in paths.items()}, '{:.0f}')}. Right, means of the features left out: "
    f"{figures.listed({name: [100 * zeros(s) for s in solved] for name, solved in paths.items()} | {'0 in the solution': share}, '{:.0f}')}."
)

# %% [markdown]
# Features alone jump, because a solve ends as soon as its gap is small enough, and the columns of all triplets are long. With triplets screened too the columns are
# short, and nearly all that is 0 is known to be 0.
#
# ## What it is for
#
# `TripletMetric(diagonal=True, l1=...)` takes the penalty relative to the smallest one at which the metric is 0. With noise in the data, a penalised metric uses few
# features and predicts better.

# %% tags=["nbval-ignore-output"]
X, y = with_noise("breast-cancer", 200)
train = np.arange(len(y)) % 2 == 0
for l1 in (0.0, 0.1, 0.3):
    metric = ss.TripletMetric(diagonal=True, l1=l1).fit(X[train], y[train])
    n_used = np.count_nonzero(metric.components_.any(axis=0))
    score = metric.score(X[~train], y[~train])
    print(f"l1 = {l1}: {n_used} of {X.shape[1]} features, {100 * score:.0f} % right")

# %% [markdown]
# ## Seconds
#
# CPU seconds of a path of five $\lambda$ at one certified relative gap, $10^{-6}$, the best of two runs in turn; and what the four ways cost relative to no screening. The
# larger data sets are read if they are there.


# %%
def seconds(prob, lams):
    """CPU seconds of each way, the best of two."""
    ways = {**WAYS, "auto": "auto"}
    times = {name: [] for name in ways}
    for _ in range(2):
        for name, way in ways.items():
            began = time.process_time()
            solved = ss.path(prob, lams, rtol=1e-6, screening=way)
            times[name].append(time.process_time() - began)
            assert all(s.gap <= 1e-6 * s.primal for s in solved)
    return {name: min(values) for name, values in times.items()}


# %% tags=["nbval-ignore-output"]
SETS = {  # columns of noise, rows at most, neighbours
    "breast-cancer": (200, 569, 5),
    "colon-cancer": (0, 62, 10),
    "madelon": (0, 1000, 3),
    "gisette_valid": (0, 100, 3),
}
for name, (n_noise, n_rows, k) in SETS.items():
    if not datasets.available(name):
        print(f"{name}: not here")
        continue
    X, y = with_noise(name, n_noise)
    prob = penalised(X[:n_rows], y[:n_rows], k=k, penalty=0.1)
    taken = seconds(prob, prob.lam_max() * 0.25 ** np.arange(1, 6))
    base = taken.pop("none")
    text = ", ".join(f"{way} {base / t:.2f}" for way, t in taken.items())
    print(f"{name:14} d = {prob.cone.d:5}: {base:6.2f} s without; times as fast: {text}")

# %% [markdown]
# Leaving features out pays where they are many and nearly all are 0. Triplets of a diagonal metric cost next to nothing once their pairs are known, so screening them
# saves little here, and both together are not always faster than features alone. `screening="auto"` asks for features where the problem has a linear term.
#
# ## Exercise
#
# For a loss that is not smooth, $\rho$ is infinite. Which bound of $H^\star_j$ still holds once a ball has decided some terms?
#
# <details>
# <summary><b>Solution</b></summary>
#
# $\alpha^\star_t \in [0, 1]$ for the terms that are left: $H^\star_j \le c_j + \sum_{t \in L} w_t a_{tj} + \sum_{t \text{ left}} w_t\max(a_{tj}, 0)$. If that is not positive, feature $j$ is 0. It
# needs no smoothness, and it is useful only when few terms are left.
#
# </details>
#
# ## Fine print
#
# * A solve enlarges $\rho$ by what the slopes at an accepted solution may be off. Then $H_j \le 0$ there too for features that left, and the gap in the remaining coordinates is that of the whole problem. It is certified on the whole problem at the end in any case.
# * The balls are built anew on what is left, from the same $x$ without the features that left. Their radius is usually smaller, and nothing says that it always is. Decisions add up in any case.
# * $H_j$, $\rho$ and the norms are upper bounds with roundings. The error of $H$ is bounded in norm: one column that is larger than the others by many powers of ten hides what is known of the small ones. Undecided is safe.
# * A sparse support vector machine with $\frac\lambda2\|w\|^2 + \beta\|w\|_1$ is the same problem over the non-negative cone, with $w = x^+ - x^-$ and the terms $(z_i, -z_i)$.
#
# Literature: A. Shibagaki, M. Karasuyama, K. Hatano, I. Takeuchi, *Simultaneous safe screening of features and samples in doubly sparse modeling*, ICML 2016 (arXiv 1602.02485), read without its appendix. It was first: features by a ball for the slopes and samples by a
# ball for the weights, both from the gap, in turn, and the proof that each helps the other (Theorems 2 and 3); it also keeps both, see [`47b-safe-keeping`](47b-safe-keeping.ipynb). Its penalty is $\frac\lambda2\|w\|^2 + \beta\|w\|_1$ with both signs of a weight. With sums
# in place of means its radii are $\sqrt{2\,\mathrm{gap}/\lambda}$ and $\sqrt{2\,\mathrm{gap}/\gamma}$. Here $\rho = r\sqrt{\lambda/\gamma} \le \sqrt{\mathrm{gap}/\gamma}$, shorter by $\sqrt2$ at least, since both objectives pay for the slopes. It cuts its two
# balls by what is known, where this notebook builds new ones. B. Hong, W. Zhang, W. Liu, J. Ye, D. Cai, X. He, J. Wang, *Scaling up sparse support vector machines by simultaneous feature and sample reduction*, arXiv 1607.06996: features and samples
# at once for the sparse support vector machine, each test helped by the other. Its abstract and the beginning of its introduction could be read, its theorems and proofs could not: whether its balls are the ones
# derived here is open, and no comparison with them is made.
