# %% [markdown]
# # Features and terms at once
#
# An $\ell_1$ penalty makes most weights of a diagonal metric 0. Screening proves which weights are 0 before the problem is solved, in the same way as it decides triplets. This notebook uses one ball for triplets and features. The two kinds of screening help each other: when triplets are screened, the test for features becomes stronger, and when features are screened, the test for triplets becomes stronger.
#
# At the end you will have seen
#
# * that the midpoint gap bound is a ball for the solution and for all dual variables together;
# * the rule for features that follows from this ball, and an example in which a smaller radius gives a wrong result;
# * why a ball for the solution alone screens no features;
# * rates along a path, the gain of screening triplets and features in turn, and measured seconds.

# %%
import time

import numpy as np
import sympy as sp

import safescreen as ss
from safescreen_book import datasets, figures

# %% [markdown]
# ## The story in a picture
#
# In the figure each row is a triplet of wine, and each column is a feature; 27 of the 40 features are noise. The dark rows and columns are not screened. First the ball of a rough solution decides most triplets. Then the reduced problem decides most features, and without these features more triplets are decided.


# %%
def penalised(X, y, k, penalty):
    """Return the problem of a diagonal metric; a penalty of 1 makes the metric 0."""
    terms = ss.Triplets.from_labels(X, y, k=k, diagonal=True)
    linear = np.full(X.shape[1], -penalty * terms.total()[0].max())
    return ss.Problem(terms, ss.SmoothedHinge(0.05), linear=linear)


def with_noise(name, n_noise, seed=0):
    """Return a data set with columns of noise added to its features."""
    X, y = datasets.load(name, return_X_y=True)
    noise = np.random.default_rng(seed).uniform(size=(len(X), n_noise))
    return np.hstack([X, noise]), y


# %%
def in_turn(prob, x, lam):
    """Screen terms, then features, and so on; yield the remaining terms and features each time."""
    terms = np.arange(len(prob))
    columns = np.arange(prob.cone.d)
    shrinks = True
    while shrinks:
        shrinks = False
        found = ss.rules.sphere(prob, ss.spheres.midpoint_gap_bound(prob, x, lam))
        if found.rate > 0.0:
            shrinks = True
            prob = prob.reduce(found.in_L, found.in_R)
            terms = terms[~(found.in_L | found.in_R)]
        yield terms, columns
        zero = ss.rules.features(prob, x, lam)
        if zero.any():
            shrinks = True
            prob = prob.on_features(~zero)
            x = x[~zero]
            columns = columns[~zero]
        yield terms, columns


# %% tags=["nbval-ignore-output"]
wine = penalised(*with_noise("wine", 27), k=1, penalty=0.15)
lam_wine = 0.02 * wine.lam_max()
rough = ss.solve(wine, lam_wine, rtol=1e-3, screening=()).x
stages = list(in_turn(wine, rough, lam_wine))
fig, axes = figures.panels(3, width=10.0, height=3.4, sharey=True)
said = []
for ax, (rows, columns) in zip(axes, stages[:3], strict=True):
    remaining = np.zeros((len(wine), 40))
    remaining[np.ix_(rows, columns)] = 1.0
    ax.imshow(remaining, aspect="auto", cmap="Blues", vmin=0, vmax=1.2, interpolation="nearest")
    ax.set(title=f"{len(rows)} triplets, {len(columns)} features", xlabel="feature")
    said.append(f"{len(rows)} of {len(wine)} triplets and {len(columns)} features")
axes[0].set_ylabel("triplet")
figures.show(
    "Each panel is a table with a row for each triplet and a column for each feature. The dark "
    f"area shows the triplets and features that remain: {', then '.join(said)}."
)
assert len(stages[2][0]) < len(stages[0][0]) < len(wine)

# %% [markdown]
# ## The claim
#
# > **One ball, two spaces.** Let the loss be smooth, $\gamma > 0$, and $K$ any closed convex cone. Let $x \in K$, let $\alpha = \alpha(x)$ be minus the slopes of the losses at $x$, and let $r$ be the radius of the midpoint gap bound. Then $\;\lambda\,\big\|\tfrac12(x + x(\alpha)) - x^\star\big\|^2 + \gamma \sum_t w_t(\alpha_t - \alpha^\star_t)^2 \le \lambda r^2$.
# >
# > **The features rule.** Over the non-negative cone, with $H(\alpha) = c + \sum_t w_t\alpha_t a_t$ and $\rho = r\sqrt{\lambda/\gamma}$:
# > if $H_j(\alpha) + \rho\,\sqrt{\sum_t w_t a_{tj}^2} < 0$, then $x^\star_j = 0$.
# > **In turn.** If terms are screened, the sum under the root has fewer summands. If features are screened, the norms $\|a_t\|$ of the terms have fewer summands. Each test stays valid for the problem that the other test has reduced, and its norms are not larger for the reduced problem.
#
# | assumption | where it is used |
# |---|---|
# | the loss is smooth | the dual objective is strongly concave; for the hinge $\rho$ is infinite |
# | $\alpha = \alpha(x)$ | for another $\alpha$, $\rho$ is larger by $\tfrac12\sqrt{\sum_t w_t(\alpha_t - \alpha_t(x))^2}$ |
# | $K$ is the non-negative cone | $[H]_K$ projects each coordinate separately |
#
# An $\ell_1$ penalty $\beta\sum_j x_j$ is the linear term $c = -\beta\mathbf 1$, because $x \ge 0$. So the theory of the linear term covers the penalty: see
# [`26-one-problem-three-cones`](26-one-problem-three-cones.ipynb).
#
# <details>
# <summary><b>Symbols</b></summary>
#
# | symbol | meaning |
# |---|---|
# | $a_t$, $w_t$, $\tau_t$ | a term, its weight, its threshold |
# | $\alpha_t(x)$, $\alpha^\star$ | minus the slope of the loss of term $t$ at $x$; the dual solution |
# | $c$, $\beta$ | the linear term; the $\ell_1$ penalty |
# | $H(\alpha)$, $x(\alpha)$ | $c + \sum_t w_t\alpha_t a_t$, and $[H(\alpha)]_K/\lambda$ |
# | $r$, $\rho$ | radius of MGB, radius of the ball for the slopes |
# | L, R | terms with $\alpha^\star_t = 1$, with $\alpha^\star_t = 0$ |
#
# </details>
#
# ## Derivation
#
# ### The gap bounds four distances
#
# At the optimum $\lambda x^\star = [H^\star]_K$. The primal objective is $\lambda$-strongly convex, and a loss whose slope is
# $1/\gamma$-Lipschitz lies above its tangent by $\frac\gamma2$ times the squared change of the slope. So
# $P(x) - P^\star \ge \frac\lambda2\|x - x^\star\|^2 + \frac\gamma2\sum_t w_t(\alpha_t - \alpha_t^\star)^2$.
#
# The dual objective has $-\frac\gamma2\sum_t w_t\alpha_t^2$, and $\frac12\|[H]_K\|^2$ lies above its tangent by half the squared change of
# $[H]_K$. So $D^\star - D(\alpha) \ge \frac\lambda2\|x(\alpha) - x^\star\|^2 + \frac\gamma2\sum_t w_t(\alpha_t - \alpha_t^\star)^2$.
#
# Add the two inequalities. The sum contains the squared distances of $x$ and $x(\alpha)$ from $x^\star$. The sum of these two squares is twice the squared distance of the midpoint from $x^\star$ plus half the squared distance between $x$ and $x(\alpha)$:

# %%
x_, y_, s_ = sp.symbols("x y s", real=True)
two = (x_ - s_) ** 2 / 2 + (y_ - s_) ** 2 / 2
midpoint = ((x_ + y_) / 2 - s_) ** 2 + (x_ - y_) ** 2 / 4
print("difference of the two sides:", sp.simplify(two - midpoint))
assert sp.simplify(two - midpoint) == 0

# %% [markdown]
# Hence $\mathrm{gap} - \frac\lambda4\|x - x(\alpha)\|^2 \ge \lambda\|\frac12(x + x(\alpha)) - x^\star\|^2 + \gamma\sum_t w_t(\alpha_t - \alpha_t^\star)^2$. By the definition of MGB ([`28-midpoint-gap-bound`](28-midpoint-gap-bound.ipynb)) the left side is $\lambda r^2$.
#
# ### From slopes to features
#
# Since $x^\star_j = \max(H^\star_j, 0)/\lambda$, feature $j$ is 0 exactly if $H^\star_j \le 0$. By the Cauchy-Schwarz inequality
# $H^\star_j - H_j(\alpha) = \sum_t w_t(\alpha^\star_t - \alpha_t)a_{tj} \le \rho\,\sqrt{\sum_t w_t a_{tj}^2}$.
#
# ### In turn
#
# If terms are fixed in $L$ and $R$, the reduced problem has the same form and the same optimum, and its $\alpha$ contains only the remaining terms (STS19 Lemma 1). If features are set to 0 that are 0 at the optimum, the problem in the other coordinates has the same optimum, because the feasible set becomes smaller but still contains the optimum. The claim applies to both reduced problems. Their columns or rows are shorter.
#
# ## The slow version
#
# The next cells compare the rule in plain numpy with the library. The library adds allowances for rounding.


# %%
def by_hand(prob, A, x, lam):
    """Apply the features rule by the formulas of the claim; A has the terms as rows."""
    gamma = prob.loss.gamma
    alpha = np.clip((1.0 - A @ x) / gamma, 0.0, 1.0)
    H = prob.linear + alpha @ A
    x_alpha = np.maximum(H, 0.0) / lam
    r = np.sqrt(np.sum((x - x_alpha) ** 2) / 4 + x @ np.maximum(-H, 0.0) / lam)
    rho = r * np.sqrt(lam / gamma)
    return H + rho * np.linalg.norm(A, axis=0) < 0.0, rho, alpha


# %%
def random_problem(rng):
    """Return a small problem whose solution is not 0, the matrix of its terms, and a lambda."""
    n = int(rng.integers(8, 20))
    d = int(rng.integers(3, 12))
    X = rng.standard_normal((n, d))
    y = np.arange(n) % 2
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
    """Yield points of the cone at several distances from the solution."""
    yield np.zeros(best.size)
    for share in (1e-6, 1e-4, 1e-3, 1e-2, 0.1):
        yield np.maximum(best * (1.0 + share * rng.standard_normal(best.size)), 0.0)


# %% [markdown]
# The next cell tests the claim and the library on random problems with badly scaled columns, with references near the solution and far from it. The solution is known to a relative gap of $10^{-11}$. A feature is certainly not 0 if its weight is larger than the certified error.

# %% tags=["NEW-ZERO", "nbval-ignore-output"]
rng = np.random.default_rng(0)
n_problems = 100
n_out = n_references = 0
used = 0.0
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
        if known < 1e-3 * rho:
            used = max(used, off / rho)
counts = f"{n_out} features screened, none with a weight"
print(f"{n_problems} problems, {n_references} references: {counts}")
print(f"the slopes use up to {100 * used:.0f} % of the radius")
assert n_out > 300
assert used > 0.5

# %% [markdown]
# ## Broken on purpose: two percent
#
# Can the radius be smaller? The example has one triplet with $a = (1, -1)$, $\gamma = \lambda = 1$, and a linear term that makes the second weight slightly larger than 0. Since $\lambda\gamma$ is the square of the first entry, $x^\star$ is the midpoint of $x$ and $x(\alpha)$. So the center of MGB is $x^\star$, and the slope uses the full radius.

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
    print(f"with {factor:.2f} of the radius, the largest H of the second feature is {highest:+.0e}")
    assert (highest < 0.0) == (factor < 1.0)
assert best[1] > 5e-7
assert not ss.rules.features(tight, x, 1.0)[1]

# %% [markdown]
# ## Broken on purpose: a ball around the solution
#
# A ball that contains $x^\star$ is enough to screen triplets, but not enough to screen features. If the ball has a positive radius, it contains points with $x_j > 0$ for every $j$. So the ball bounds $x^\star_j$ from above by a positive number, and never by 0. To screen the features that are 0 at the reference, or 0 at $x(\alpha)$, is wrong:

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
print("screened features that have a weight:", wrong)
assert wrong["the features rule"] == 0
assert min(wrong["0 at the reference"], wrong["0 at x(alpha)"]) > 0

# %% [markdown]
# The features rule needs $H$ before the projection, because it needs to know how far $H_j$ is below 0.
#
# ## In turn
#
# We take breast-cancer with 200 columns of noise in addition to its 30 features, and references with falling gaps. The next cell compares three certificates: triplets alone, features alone, and both in turn, with `screening=("MGB", "features")`, until neither test decides more.

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
    assert not (features & ~both.zero_features).any()
    assert both.rate >= alone.rate
    assert not (both.zero_features & (exact.x > exact.eps)).any()
    rows.append((alone.gap, alone.rate, features.mean(), both.rate, both.zero_features.mean()))
table = np.array(rows)
at_best = 100 * table[np.argmax(table[:, 4] - table[:, 2])]
print(f"features alone {at_best[2]:.0f} %, in turn {at_best[4]:.0f} % at the same reference")
print(f"triplets alone {at_best[1]:.0f} %, in turn {at_best[3]:.0f} % at the same reference")

# %% tags=["nbval-ignore-output"]
fig, axes = figures.panels(2, width=9.0, height=3.2, sharey=True)
names = (("triplets", 1, 3), ("features", 2, 4))
for ax, (name, single, in_turns) in zip(axes, names, strict=True):
    ax.plot(table[:, 0], 100 * table[:, in_turns], "o-", label="in turn", color="tab:blue")
    ax.plot(table[:, 0], 100 * table[:, single], "s--", label="alone", color="tab:orange")
    ax.set(title=name, xlabel="duality gap of the reference", xscale="log")
    ax.invert_xaxis()
axes[0].set_ylabel("decided, %")
axes[0].legend()
of_triplets = figures.ends({"in turn": 100 * table[:, 3], "alone": 100 * table[:, 1]}, "{:.0f}")
of_features = figures.ends({"in turn": 100 * table[:, 4], "alone": 100 * table[:, 2]}, "{:.0f}")
figures.show(
    "Curves show the share of decided triplets (left panel) and of decided features (right panel) "
    "against the duality gap of the reference, which falls to the right. Solid curves are in turn, "
    "and dashed curves are alone. From the largest gap to the smallest the percentages are, for "
    f"triplets, {of_triplets}; for features, {of_features}."
)

# %% [markdown]
# ## Along a path
#
# During a solve the library applies the features rule when the gap has fallen and the iterations since the last test have taken enough time. It removes the screened features from the arrays, and the solver continues with the other features. The next cells compute the rates at the end of each solve, at a relative gap of $10^{-6}$:

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
print(f"every screened feature is 0 in the solutions to 1e-11, at {len(lams)} lambdas")


# %% tags=["nbval-ignore-output"]
def decided(solution):
    """Return the percentage of decided triplets."""
    last = solution.history[-1]
    return 100 * (last.n_L + last.n_R) / solution.n_terms


def zeros(solution):
    """Return the percentage of screened features."""
    return 0.0 if solution.zero_features is None else 100 * solution.zero_features.mean()


terms_decided = {name: [decided(s) for s in solved] for name, solved in paths.items()}
features_decided = {name: [zeros(s) for s in solved] for name, solved in paths.items()}
are_zero = [100 * np.mean(s.x <= s.eps) for s in reference]

# %% tags=["nbval-ignore-output"]
fig, axes = figures.panels(2, width=9.0, height=3.2, sharey=True)
for name, style in (("triplets", "s--"), ("features", "^:"), ("both", "o-")):
    axes[0].plot(lams, terms_decided[name], style, label=name, markersize=4)
    axes[1].plot(lams, features_decided[name], style, label=name, markersize=4)
axes[1].plot(lams, are_zero, color="black", linewidth=1, label="0 in the solution")
for ax, title in zip(axes, ("triplets decided", "features screened"), strict=True):
    ax.set(title=title, xlabel="lambda", xscale="log")
    ax.invert_xaxis()
axes[0].set_ylabel("%")
axes[0].legend(*axes[1].get_legend_handles_labels(), loc="center left", bbox_to_anchor=(0.0, 0.3))
of_terms = figures.listed(terms_decided, "{:.0f}")
of_features = figures.listed(features_decided | {"0 in the solution": are_zero}, "{:.0f}")
figures.show(
    "Curves show percentages along a path, on which lambda falls to the right. The means of the "
    f"decided triplets in the left panel are {of_terms}. The means of the screened features in the "
    f"right panel are {of_features}."
)

# %% [markdown]
# The curve for features alone jumps, because a solve ends as soon as its gap is small enough, and the columns with all triplets are long. If triplets are screened, too, the columns are short, and the rule screens nearly all features that are 0 in the solution.
#
# ## What it is for
#
# The parameter `l1` of `TripletMetric(diagonal=True, l1=...)` is the penalty divided by the smallest penalty at which the metric is 0. On data with noise a penalised metric uses few features and predicts better.

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
# The next cells measure the CPU seconds of a path of five $\lambda$, each solved to the certified relative gap $10^{-6}$. They take the faster of two runs, and divide the time without screening by the time with each kind of screening. A larger data set is used only if it has been downloaded.


# %%
def seconds(prob, lams):
    """Return the CPU seconds of each kind of screening, the faster of two runs."""
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
SETS = {  # columns of noise, largest number of rows, neighbours
    "breast-cancer": (200, 569, 5),
    "colon-cancer": (0, 62, 10),
    "madelon": (0, 1000, 3),
    "gisette_valid": (0, 100, 3),
}
for name, (n_noise, n_rows, k) in SETS.items():
    if not datasets.available(name):
        print(f"{name}: not downloaded")
        continue
    X, y = with_noise(name, n_noise)
    prob = penalised(X[:n_rows], y[:n_rows], k=k, penalty=0.1)
    taken = seconds(prob, prob.lam_max() * 0.25 ** np.arange(1, 6))
    base = taken.pop("none")
    text = ", ".join(f"{way} {base / t:.2f}" for way, t in taken.items())
    print(f"{name:14} d = {prob.cone.d:5}: {base:6.2f} s without; times as fast: {text}")

# %% [markdown]
# Screening features saves time if there are many features and nearly all of them are 0. With a diagonal metric the triplets take little time, so screening triplets saves little, and screening both is not always faster than screening features alone. `screening="auto"` screens features if the problem has a linear term.
#
# ## Exercise
#
# For a loss that is not smooth, $\rho$ is infinite. Which upper bound of $H^\star_j$ still holds when a ball has decided some terms?
#
# <details>
# <summary><b>Solution</b></summary>
#
# For the undecided terms $\alpha^\star_t \in [0, 1]$, so $H^\star_j \le c_j + \sum_{t \in L} w_t a_{tj} + \sum_{t \text{ undecided}} w_t\max(a_{tj}, 0)$. If this bound is not positive, feature $j$ is 0. The bound needs no smoothness, but it is useful only if few terms are undecided.
#
# </details>
#
# ## Fine print
#
# * A solve adds to $\rho$ the largest possible error of the slopes at an accepted solution. Then $H_j \le 0$ also at the accepted solution for every screened feature, and the gap in the remaining coordinates is the gap of the original problem. At the end the library certifies the gap of the original problem.
# * After each reduction the balls are computed again, from the same $x$ without the screened features. The new radius is usually smaller, but there is no proof that it always is. Earlier decisions stay valid.
# * $H_j$, $\rho$ and the norms are upper bounds that include rounding. The rounding error of $H$ is bounded in norm. So if one column is larger than the others by many powers of ten, the features of the small columns may stay undecided, which is safe.
# * A sparse support vector machine with $\frac\lambda2\|w\|^2 + \beta\|w\|_1$ is the same problem over the non-negative cone, with $w = x^+ - x^-$ and the terms $(z_i, -z_i)$.
#
# Literature: A. Shibagaki, M. Karasuyama, K. Hatano, I. Takeuchi, *Simultaneous safe screening of features and samples in doubly sparse modeling*, ICML 2016 (arXiv 1602.02485), read without its appendix. This paper was the first to screen features by a ball for the slopes and samples by a ball for the weights, both from the gap, in turn, and to prove that each kind of screening helps the other (Theorems 2 and 3). It also keeps features and samples, see [`47b-safe-keeping`](47b-safe-keeping.ipynb). Its penalty is $\frac\lambda2\|w\|^2 + \beta\|w\|_1$ with both signs of a weight. With sums
# in place of means its radii are $\sqrt{2\,\mathrm{gap}/\lambda}$ and $\sqrt{2\,\mathrm{gap}/\gamma}$. Here $\rho = r\sqrt{\lambda/\gamma} \le \sqrt{\mathrm{gap}/\gamma}$, smaller at least by the factor $\sqrt2$, because the slopes occur in the inequalities of both objectives. The paper intersects its two balls with the known facts, whereas this notebook computes new balls. B. Hong, W. Zhang, W. Liu, J. Ye, D. Cai, X. He, J. Wang, *Scaling up sparse support vector machines by simultaneous feature and sample reduction*, arXiv 1607.06996: features and samples are screened together for the sparse support vector machine, and each test helps the other. We could read the abstract and the beginning of the introduction, but not the theorems and proofs. So we do not know whether its balls are the balls derived here, and we make no comparison.
