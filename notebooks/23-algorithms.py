# %% [markdown]
# # Screening inside a solver, and along a path
#
# A ball and a rule say which triplets can leave the problem. This notebook uses both during the iterations of a
# solver (STS19 Algorithm 1) and from one $\lambda$ to the next (STS19 Algorithm 2), first in plain numpy, then with the
# library.
#
# At the end you will have seen that
#
# * screening is safe at any iterate, so a solver may drop triplets while it runs and still finds the same optimum;
# * a solver gains twice: each iteration becomes cheaper, and a fixed step may become longer;
# * along a path most triplets need no test, because their *range* of $\lambda$ is already known;
# * the gap of the original problem can be larger than the gap of the reduced problem, and enlarged balls prevent this.

# %%
import numpy as np
from sklearn.datasets import load_iris

import safescreen as ss
from safescreen_book import figures

# %% [markdown]
# ## The idea in a picture
#
# The data of this notebook are iris, with 3750 triplets.

# %%
points, labels = load_iris(return_X_y=True)
X = (points - points.mean(axis=0)) / points.std(axis=0)
loss = ss.SmoothedHinge(gamma=0.05)
problem = ss.Problem(ss.Triplets.from_labels(X, labels, k=5), loss)
d = X.shape[1]

i, j, k = problem.terms.index.T
far, near = X[i] - X[k], X[i] - X[j]
A = np.array([np.outer(v, v) - np.outer(w, w) for v, w in zip(far, near, strict=True)])
A = A.reshape(len(problem), d * d)  # a row holds the entries of a triplet's matrix
norms = np.linalg.norm(A, axis=1)
lam_max = problem.lam_max()
print(problem)

# %% [markdown]
# The library solves the problem for one $\lambda$ twice from the start 0: once without screening, and once with a ball
# after every tenth iteration. Each ball certifies more triplets, and these triplets leave the problem at once. Both runs
# find the same optimum, with the same certificate.

# %% tags=["nbval-ignore-output"]
runs_of = {
    name: ss.solve(problem, 0.1 * lam_max, tol=1e-8, screening=screening, method="gradient")
    for name, screening in (("no screening", ()), ("screening", ("PGB",)))
}
apart = np.linalg.norm(runs_of["screening"].x - runs_of["no screening"].x)
assert apart <= runs_of["screening"].eps + runs_of["no screening"].eps
remaining = {name: [h.n_terms for h in run.history] for name, run in runs_of.items()}
gaps = {name: [h.gap for h in run.history] for name, run in runs_of.items()}

figure, axes = figures.panels(2, height=3.0)
figures.lines(remaining, ax=axes[0], title="the problem shrinks", xlabel="iteration",
              ylabel="triplets in the problem")
figures.lines(gaps, ax=axes[1], title="and ends at the same optimum", xlabel="iteration",
              ylabel="duality gap", log="y", legend=None)
figures.show(
    "Left, curves show the number of triplets in the problem against the iteration: "
    f"{figures.ends(remaining, '{:.0f}')}. "
    "Right, curves show the duality gap of each run, on a logarithmic axis: "
    f"{figures.ends(gaps, '{:.1g}')}."
)

# %% [markdown]
# ## The claims
#
# > **Dynamic screening** (STS19 Algorithm 1). Minimise by projected gradient steps
# > $x \leftarrow [x - \eta\nabla\tilde P(x)]_K$. Every `freq` iterations build a ball from the current iterate,
# > find $\hat L$ and $\hat R$ by a rule, and continue with the reduced problem $\tilde P$. **The result is the
# > optimum of the original problem.**
#
# > **A path with ranges** (STS19 Algorithm 2). For $\lambda_0 > \lambda_1 > \dots$: keep the decision of each
# > triplet whose range contains $\lambda_t$, screen the other triplets with the last solution, solve with dynamic screening, and compute
# > ranges from the new solution. **Every solution is the solution of the original problem.**
#
# Both algorithms use three results of other notebooks. Each ball contains $x^\star$. A triplet that is in $L$ or $R$ for
# all points of the ball is in the same region at $x^\star$. The reduced problem has the same $x^\star$
# ([`10-problem-and-duality`](10-problem-and-duality.ipynb)). By the third result, the first two are also true for the
# reduced problem. So a solver can screen as often as it likes.
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
# ## Algorithm 1 in plain numpy
#
# The function `look` computes margins, gradient and gap at a point. A reduced problem has terms `A`, a linear term `c`
# and a constant, as in Lemma 1.


# %%
def project(x):
    values, V = np.linalg.eigh(x.reshape(d, d))
    return (V * np.maximum(values, 0.0) @ V.T).ravel()


def look(A, c, constant, x, lam, gamma):
    """Margins, gradient and duality gap of the problem with terms A, linear term c and a
    constant."""
    u = A @ x
    alpha = np.clip((1.0 - u) / gamma, 0.0, 1.0)
    H = c + alpha @ A
    primal = np.sum(alpha * (1.0 - u) - gamma * alpha**2 / 2) + constant - c @ x + lam / 2 * x @ x
    dual = alpha.sum() - gamma / 2 * alpha @ alpha + constant - np.sum(project(H) ** 2) / (2 * lam)
    return u, lam * x - H, primal - dual


def safe_step(A, lam, gamma):
    """One over the Lipschitz constant of the gradient."""
    return 1.0 / (lam + (np.linalg.norm(A, 2) ** 2 / gamma if len(A) else 0.0))


# %% [markdown]
# The next cell is the algorithm itself. It uses DGB, the simplest ball: the center is $x$, and the radius is
# $\sqrt{2\,\mathrm{gap}/\lambda}$. With `longer_steps` it recomputes the step after triplets have left the problem.


# %%
def algorithm_1(A, lam, gamma, tol, x, freq=10, screen=True, longer_steps=False):
    """The result x, the status of each triplet (1: L, 2: R), and for each iteration the number
    of triplets in the problem and the gap."""
    c, constant, left = np.zeros(A.shape[1]), 0.0, np.arange(len(A))
    status, step, history = np.zeros(len(A), dtype=int), safe_step(A, lam, gamma), []
    for n in range(100_000):
        u, gradient, gap = look(A[left], c, constant, x, lam, gamma)
        history.append((len(left), gap))
        if gap <= tol:
            break
        if screen and n % freq == 0:
            width = np.sqrt(2.0 * max(gap, 0.0) / lam) * norms[left]
            in_L, in_R = u + width < 1.0 - gamma, u - width > 1.0
            status[left[in_L]] = 1
            status[left[in_R]] = 2
            c += A[left[in_L]].sum(axis=0)
            constant += (1.0 - gamma / 2) * in_L.sum()
            left = left[~in_L & ~in_R]
            step = safe_step(A[left], lam, gamma) if longer_steps else step
        x = project(x - step * gradient)
    return x, status, np.array(history)


# %% tags=["nbval-ignore-output"]
lam = 0.1 * lam_max
tol = 1e-6 * len(problem)
start = np.zeros(d * d)
runs = {
    "no screening": algorithm_1(A, lam, loss.gamma, tol, start, screen=False),
    "screening": algorithm_1(A, lam, loss.gamma, tol, start),
    "longer steps": algorithm_1(A, lam, loss.gamma, tol, start, longer_steps=True),
}
reference = ss.solve(problem, lam, tol=1e-9)
for name, (_, status, history) in runs.items():
    share = 100 * np.mean(status > 0)
    visits = history[:, 0].sum() / len(A)
    work = f"{len(history):4d} iterations, {visits:6.1f} passes over all triplets"
    print(f"{name:17} {work}, {share:4.1f} % screened")

# %% [markdown]
# The run with screening needs the same iterations as the run without. At every iterate the screened triplets were in
# their regions, so the gradient was the same. But the iterations visit far fewer triplets.
#
# The third run shows a second gain. The longest safe gradient step is one over the largest curvature,
# $\lambda + \|A\|^2/\gamma$. A triplet on a straight part of the loss has no curvature. A fixed step must allow for every
# triplet that *could* have curvature. A triplet that is certified to be on a straight part no longer counts.
#
# ## The library, and does it match?
#
# `ss.solve` uses a better step (Barzilai-Borwein) and better balls. The optimum is the same.

# %%
def check_masks(in_L, in_R, margins, unsure, gamma):
    """Assert that all decisions are true at a solution with these margins."""
    assert np.all(margins[in_L] < 1.0 - gamma + unsure[in_L])
    assert np.all(margins[in_R] > 1.0 - unsure[in_R])


# %% tags=["STS19-A1", "nbval-ignore-output"]
library = ss.solve(problem, lam, tol=tol, screening=("RRPB", "PGB"))
margins, unsure = problem.terms.margins(reference.x), reference.eps * problem.terms.norms
print("                  gap of the original problem   screened, all in their regions")
for name, (x, status, _) in runs.items():
    x = x.reshape(d, d)
    gap = problem.gap(problem.cone.project(x), lam)
    assert gap <= tol * (1 + 1e-6)
    assert np.linalg.norm(x - reference.x) <= np.sqrt(2 * tol / lam) + reference.eps
    check_masks(status == 1, status == 2, margins, unsure, loss.gamma)
    print(f"{name:17} {gap / tol:23.2f} tol   {np.sum(status > 0)} triplets")
assert library.converged and np.linalg.norm(library.x - reference.x) <= library.eps + reference.eps
found = library.screened
check_masks(found.in_L, found.in_R, margins, unsure, loss.gamma)
assert problem.gap(library.x, lam) <= library.gap * (1 + 1e-9) and library.n_iter < 50
print(f"{'ss.solve':17} {library.gap / tol:23.2f} tol   {library.n_L + library.n_R} triplets")
same = runs["no screening"][2][:, 1][:100], runs["screening"][2][:, 1][:100]
assert np.allclose(*same, rtol=1e-6)
assert 3 * len(runs["longer steps"][2]) < len(runs["screening"][2])

# %% [markdown]
# The next cells solve random problems over three cones, with hinge and smoothed hinge, four ways to screen, and rough and
# fine tolerances. Each solve must find the same optimum as a solve without screening, with no wrong decision.

# %%
def random_problem(kind, smoothing, rng):
    """Fourteen random points in two classes, as triplets or samples."""
    Z, y = rng.standard_normal((14, 3)), np.arange(14) % 2
    Z[y == 1] += rng.uniform(0.0, 1.5, 3)
    if kind == "support vectors":
        return ss.Problem(ss.Samples(Z, 2 * y - 1), ss.SmoothedHinge(smoothing))
    triplets = ss.Triplets.from_labels(Z, y, k=4, diagonal=kind != "metric")
    return ss.Problem(triplets, ss.SmoothedHinge(smoothing))


def as_without_screening(instance, plain, screened):
    """Check a screened solve against a solve without screening: the same optimum, a gap that
    bounds the gap of the original problem, no wrong decision."""
    assert screened.converged and np.linalg.norm(screened.x - plain.x) <= screened.eps + plain.eps
    gap = instance.gap(screened.x, plain.lam, screened.alpha)
    assert gap <= screened.gap * (1 + 1e-9) + 1e-12 * plain.primal
    in_L, in_R = screened.screened.in_L, screened.screened.in_R
    margins, unsure = instance.terms.margins(plain.x), plain.eps * instance.terms.norms
    check_masks(in_L, in_R, margins, unsure, instance.loss.gamma)
    assert np.all(plain.alpha[in_L] > 1.0 - 1e-3) and np.all(plain.alpha[in_R] < 1e-3)


# %% tags=["STS19-A1"]
rng, count, share = np.random.default_rng(23), 0, []
for kind in ("metric", "diagonal metric", "support vectors"):
    for repeat in range(8):
        instance = random_problem(kind, (0.0, 0.05, 0.5)[repeat % 3], rng)
        weight = max(instance.lam_max(), 1.0) * rng.choice([0.5, 0.1])
        plain = ss.solve(instance, weight, tol=1e-9, rtol=1e-9, screening=())
        for screening in (("DGB",), ("GB+halfspace",), ("RRPB", "PGB"), ("MGB",)):
            for rtol in (1e-1, 1e-9):
                settings = {"tol": 1e-9, "rtol": rtol, "screening": screening, "freq": 3}
                screened = ss.solve(instance, weight, **settings)
                as_without_screening(instance, plain, screened)
                share.append(screened.screening_rate)
                count += 1
print(f"{count} random solves over three cones: each finds the same optimum, no decision is wrong")
assert np.mean(share) > 0.3

# %% [markdown]
# CDGB is the ball around $x(\alpha)$, which is not the iterate. The iterate can lie outside this ball. Even then the gap
# that the solver reports must bound the gap of the original problem.

# %% tags=["STS19-A1"]
worst = 0.0
for gamma in (0.05, 0.005):
    sharp = ss.Problem(problem.terms, ss.SmoothedHinge(gamma))
    for weight in lam_max * 0.8 ** np.arange(18, 23):
        for rtol in (0.03, 0.01):
            settings = {"tol": 0.0, "rtol": rtol, "screening": ("CDGB",), "freq": 1}
            for far in (0.3, 1.0, 3.0):
                x0 = far * problem.all_linear() / weight
                rough = ss.solve(sharp, weight, x0=x0, **settings)
                worst = max(worst, sharp.gap(rough.x, weight) / rough.gap)
print("rough solves with CDGB, gap of the original problem over the gap reported:")
print(f"at most {worst:.6f} (bound 1)")
assert worst <= 1.0 + 1e-9

# %% [markdown]
# ## Picture
#
# The panels show the three runs of the ten-line algorithm.

# %% tags=["nbval-ignore-output"]
shown = {name: (np.arange(1, len(history)), history[1:]) for name, (_, _, history) in runs.items()}
gaps = {name: (at, np.maximum(history[:, 1], 1e-9)) for name, (at, history) in shown.items()}
left = {name: (at, history[:, 0]) for name, (at, history) in shown.items()}
iterations = {name: at[-1] for name, (at, _) in gaps.items()}

figure, axes = figures.panels(2, height=3.2)
figures.lines(gaps, ax=axes[0], title="iris, fixed steps", xlabel="iteration",
              ylabel="duality gap", log="xy")
figures.lines(left, ax=axes[1], title="the problem shrinks", xlabel="iteration",
              ylabel="triplets left", log="x", legend=None)
figures.show(
    "Left, curves show the duality gap against the iteration, on logarithmic axes: "
    f"{figures.ends(gaps, '{:.1g}')}. "
    f"The numbers of iterations are {figures.listed(iterations, '{:.0f}')}. "
    "Right, curves show the number of triplets in the problem: "
    f"{figures.ends(left, '{:.0f}')}."
)

# %% [markdown]
# The gaps of the first two runs coincide. In the third run fewer triplets allow longer steps, longer steps bring the
# iterate nearer to the optimum, and a nearer iterate screens more triplets.
#
# ## Algorithm 2 in plain numpy
#
# The relaxed path bound (RRPB) uses a solution $x_0$ for $\lambda_0$ with accuracy $\varepsilon$, and gives a ball for
# any $\lambda$. Let $\lambda \le \lambda_0$, $h = \langle a, x_0\rangle$, $n = \|a\|$ and $m = \|x_0\|$. The rule for
# $R$ is
#
# $$\frac{\lambda_0+\lambda}{2\lambda} h - n\Big(\frac{\lambda_0-\lambda}{2\lambda} m + \frac{\lambda_0}{\lambda}\varepsilon\Big) > 1
# \iff \lambda\,(h + nm - 2) > \lambda_0\,(nm - h + 2n\varepsilon) .$$
#
# So there is a $\lambda_A$ such that the triplet is certain to be in $R$ for all $\lambda$ between $\lambda_A$ and
# $\lambda_0$ (STS19 Theorem 10). The same formula with $-h$ and $-(1-\gamma)$ in place of $h$ and $1$ gives the range for
# $L$. On a decreasing path only the lower end of a range matters: while $\lambda$ is above it, the path **computes
# nothing for this triplet**.


# %%
def lower_ends(h, n, m, eps, lam0, level):
    """Lower ends of the lam for which the rule h > level of RRPB holds; inf if the rule does not
    hold at lam0."""
    bottom = h + n * m - 2.0 * level
    ends = lam0 * (n * m - h + 2.0 * n * eps) / np.where(bottom > 0.0, bottom, 1.0)
    return np.where((bottom > 0.0) & (h - n * eps > level), ends, np.inf)


# %%
def categories(A, x, lam0, lam, gamma, eps, norms):
    """The status of triplets at lam (1: L, 2: R, 0: undecided), and the lower ends of their
    ranges, from a solution x for lam0."""
    h, m = A @ x, np.linalg.norm(x)
    L_end = lower_ends(-h, norms, m, eps, lam0, -(1.0 - gamma))
    R_end = lower_ends(h, norms, m, eps, lam0, 1.0)
    status = np.where(L_end < lam, 1, 0)
    status[(R_end < lam) & (status == 0)] = 2
    return status, np.minimum(L_end, R_end)


# %%
def algorithm_2(A, lams, gamma, tol):
    """Solutions along a path, and for each lam the shares of triplets in their old range and of
    triplets decided before the first step."""
    x, status, until = np.zeros(A.shape[1]), np.zeros(len(A), dtype=int), np.full(len(A), np.inf)
    solutions, rows = [], []
    for t, lam in enumerate(lams):
        over = until >= lam  # triplets outside their range
        if t > 0:
            lam0 = lams[t - 1]
            eps = 2.0 * np.sqrt(2.0 * tol / lam0)  # accuracy of x, and enlargement
            status[over], until[over] = categories(A[over], x, lam0, lam, gamma, eps, norms[over])
        c, constant = A[status == 1].sum(axis=0), (1.0 - gamma / 2) * np.sum(status == 1)
        left = A[status == 0]
        step = safe_step(left, lam, gamma)
        while (state := look(left, c, constant, x, lam, gamma))[2] > tol:
            x = project(x - step * state[1])
        solutions.append(x)
        rows.append((np.mean(~over), np.mean(status > 0)))
    return np.array(solutions), np.array(rows)


# %% tags=["nbval-ignore-output"]
lams = lam_max * 0.9 ** np.arange(0, 36)
plain_path, rows = algorithm_2(A, lams, loss.gamma, tol)
in_range, certain = 100 * rows[1:].mean(axis=0)
print(f"{len(lams)} values of lambda; on average {in_range:.0f} % of the triplets need no test,")
print(f"{certain:.0f} % are certain before the first step")

# %% [markdown]
# Why is `eps` twice the accuracy? RRPB needs $\|x - x^\star_0\| \le \sqrt{2\,\mathrm{tol}/\lambda_0}$. This bound follows
# from the gap of the reduced problem, because the reduced problem has the same optimum. The second
# $\sqrt{2\,\mathrm{tol}/\lambda_0}$ is the enlargement (see "Why the balls are enlarged"). RRPB multiplies it by
# $\lambda_0/\lambda$, and
# $\frac{\lambda_0}\lambda \sqrt{2\,\mathrm{tol}/\lambda_0} \ge \sqrt{2\,\mathrm{tol}/\lambda}$.
#
# ### Does it match?

# %% tags=["STS19-A2", "nbval-ignore-output"]
library_path = ss.path(problem, lams, tol=tol, screening=("RRPB", "PGB"), ranges=True)
without = ss.path(problem, lams, tol=1e-9, screening=())
for plain, mine, best in zip(plain_path, library_path, without, strict=True):
    plain = plain.reshape(d, d)
    assert mine.converged and problem.gap(problem.cone.project(plain), best.lam) <= tol * (1 + 1e-6)
    assert np.linalg.norm(plain - best.x) <= np.sqrt(2 * tol / best.lam) + best.eps
    assert np.linalg.norm(mine.x - best.x) <= mine.eps + best.eps
    margins, unsure = problem.terms.margins(best.x), best.eps * problem.terms.norms
    check_masks(mine.screened.in_L, mine.screened.in_R, margins, unsure, loss.gamma)
print("plain numpy, ss.path(ranges=True), and a path without screening:")
print(f"{len(lams)} solutions agree within their accuracy")
rate = np.mean([solution.screening_rate for solution in library_path[1:]])
assert rate > 0.9
print(f"screened by the library at the end of each solve: {100 * rate:.0f} % on average")

# %% [markdown]
# The next cells compute rough paths, with and without ranges, and compare their decisions with the exact solutions.

# %%
def errors_of(rough, exact, gamma, sharp):
    """Wrong decisions of a rough path, all its decisions, and the largest ratio of the gap of the
    original problem to the gap reported."""
    wrong, decided, excess = 0, 0, 0.0
    for solution, best in zip(rough, exact, strict=True):
        margins, unsure = sharp.terms.margins(best.x), best.eps * norms
        masks = solution.screened
        wrong += np.sum((margins > 1.0 - gamma + unsure)[masks.in_L])
        wrong += np.sum((margins < 1.0 - unsure)[masks.in_R])
        decided += masks.n_L + masks.n_R
        excess = max(excess, sharp.gap(solution.x, solution.lam) / solution.gap)
    return wrong, decided, excess


# %% tags=["STS19-A2", "nbval-ignore-output"]
results = []
for gamma in (0.05, 0.005):
    sharp = ss.Problem(problem.terms, ss.SmoothedHinge(gamma))
    near = 0.3 * lam_max * 0.9 ** np.arange(20)
    exact = ss.path(sharp, near, tol=1e-9, screening=())
    for rtol in (1e-1, 1e-2, 1e-3):
        for ranges in (False, True):
            settings = {"tol": 0.0, "rtol": rtol, "screening": ("RRPB", "PGB")}
            rough = ss.path(sharp, near, ranges=ranges, **settings)
            results.append(errors_of(rough, exact, gamma, sharp))
wrong = sum(row[0] for row in results)
decided = sum(row[1] for row in results)
excess = max(row[2] for row in results)
print("rough paths, relative gaps from 0.1 to 0.001, with and without ranges:")
print(f"{decided} decisions, {wrong} wrong")
print(f"gap of the original problem over the gap reported: at most {excess:.6f} (bound 1)")
assert wrong == 0 and decided > 100_000 and excess <= 1.0 + 1e-9

# %% [markdown]
# The next cell compares the lower ends of the library with the plain formula.

# %% tags=["STS19-A2", "nbval-ignore-output"]
middle = without[10]
known = ss.ranges.relaxed_path(problem, middle.x, 1e-3, middle.lam)
h, m = problem.terms.margins(middle.x), np.linalg.norm(middle.x)
L_ends = lower_ends(-h, norms, m, 1e-3, middle.lam, -(1.0 - loss.gamma))
R_ends = lower_ends(h, norms, m, 1e-3, middle.lam, 1.0)
for name, low, ends in (("L", known.L_low, L_ends), ("R", known.R_low, R_ends)):
    some = np.isfinite(low)
    assert np.array_equal(some, np.isfinite(ends))
    largest = np.max(np.abs(low[some] / ends[some] - 1.0))
    assert largest <= 1e-9
    print(f"lower ends for {name}: {np.sum(some)} triplets, relative difference below 1e-9")
assert rows[1:, 0].mean() > 0.5 and rows[1:, 1].mean() > 0.8


# %%
def draw_algorithm_2(ax, lams, rows):
    """Shares of the triplets along the path: in their range, tested and certain, in the solver's
    problem."""
    old, certain = rows[:, 0], rows[:, 1]
    colours = figures.METHODS["ranges"]["color"], figures.COLOURS["plain"], "#E4E4E4"
    labels = "in their range, no test", "tested and certain", "in the solver's problem"
    ax.stackplot(lams, old, certain - old, 1.0 - certain, colors=colours, labels=labels,
                 linewidth=0)
    ax.set(xscale="log", xlabel=r"$\lambda$, from large to small", ylabel="share of triplets")
    ax.set_ylim(0, 1)
    ax.set_title("plain Algorithm 2", loc="left", fontsize=10)
    ax.tick_params(axis="x", which="minor", labelbottom=False)
    ax.set_xlim(lams[0], lams[-1])
    ax.legend(loc="lower right", frameon=True)


# %% tags=["nbval-ignore-output"]
figure, axes = figures.panels(2, height=3.2)
draw_algorithm_2(axes[0], lams[1:], rows[1:])
figures.shares(library_path, ax=axes[1], title="library, after solving")
first, last = library_path[0], library_path[-1]
figures.show(
    "Stacked areas show shares of the triplets along the path. Left, for Algorithm 2, the areas "
    "are the triplets in their range, the triplets that are tested and certain, and the triplets "
    "in the solver's problem. Right, for the library after solving, the share in L goes from "
    f"{first.n_L / len(first.problem):.1f} to {last.n_L / len(last.problem):.1f}, and the share "
    f"in R goes from {first.n_R / len(first.problem):.1f} to {last.n_R / len(last.problem):.1f}. "
    "The strip between these areas is undecided."
)

# %% [markdown]
# (Without the enlargement, and from exact solutions, the decided shares would be a little larger. The next section shows
# what the enlargement is for.)
#
# ## Why the balls are enlarged
#
# A solver that works on the reduced problem computes only the reduced gap. This can go wrong (STS19 Figure 5). Suppose
# the ball of an *earlier* reference put a triplet into $R$. Later the solver stops at an $x$ that is near enough to
# $x^\star$ for the tolerance, but outside this ball, and there $\langle a_t, x\rangle < 1$. At $x$ the triplet has a
# positive loss, and the reduced objective does not contain it. So **the gap of the original problem is larger than the
# tolerance.**
#
# The remedy is to enlarge every ball by $\sqrt{2\,\mathrm{tol}/\lambda}$. If the reduced gap at $x$ is at most tol, then
# $x$ lies within this distance of $x^\star$ (DGB, for the reduced problem). So $x$ is in the enlarged ball, and all
# screened triplets are in their regions **at $x$**. Then $\tilde P(x) = P(x)$, and the reduced gap *is* the gap of the
# original problem. The solver does not need to visit the screened triplets.
#
# The next cells test this. A good solution for $\lambda/0.9$ screens by RRPB. Then we solve the reduced problem to a
# tolerance relative to the objective, from the old solution and from zero.


# %%
def screened_by_hand(instance, before, lam, enlargement):
    """Masks of RRPB, with an enlarged radius, from the solution for an earlier lam."""
    ball = ss.spheres.relaxed_path_bound(before.x, before.eps, before.lam, lam)
    width = (ball.radius + enlargement) * norms
    u = A @ ball.center.ravel()
    return u + width < 1.0 - instance.loss.gamma, u - width > 1.0


def stop_and_compare(gamma, relative, enlarge):
    """Largest gap of the original problem over the tolerance, how often this ratio exceeds 1,
    and the mean share screened."""
    instance, ratios, shares = ss.Problem(problem.terms, ss.SmoothedHinge(gamma)), [], []
    for factor in 0.8 ** np.arange(2, 14, 2):
        lam = factor * lam_max
        before = ss.solve(instance, lam / 0.9, rtol=1e-9)
        tol = relative * before.primal
        enlargement = np.sqrt(2.0 * tol / lam) if enlarge else 0.0
        in_L, in_R = screened_by_hand(instance, before, lam, enlargement)
        left, c, constant = A[~in_L & ~in_R], A[in_L].sum(axis=0), (1.0 - gamma / 2) * in_L.sum()
        step = safe_step(left, lam, gamma)
        shares.append(np.mean(in_L | in_R))
        for x in (before.x.ravel(), np.zeros(d * d)):
            while (state := look(left, c, constant, x, lam, gamma))[2] > tol:
                x = project(x - step * state[1])
            ratios.append(look(A, np.zeros(d * d), 0.0, x, lam, gamma)[2] / tol)
    return max(ratios), sum(r > 1.0 + 1e-6 for r in ratios), np.mean(shares)


# %% tags=["nbval-ignore-output"]
table = {}
print("tolerance  gamma   balls      stops too early  gap / tolerance   screened")
for gamma in (0.05, 0.005):
    for relative in (1e-2, 1e-4, 1e-6):
        for enlarge in (False, True):
            worst, early, share = stop_and_compare(gamma, relative, enlarge)
            table[gamma, relative, enlarge] = worst
            kind = "enlarged" if enlarge else "as proved"
            results = f"{early:6d} of 12       at most {worst:4.1f}      {100 * share:3.0f} %"
            print(f"{relative:8.0e}   {gamma:5}   {kind:9}  {results}")
assert all(worst <= 1.0 + 1e-6 for (_, _, enlarge), worst in table.items() if enlarge)
assert table[0.05, 1e-2, False] > 1.2 and table[0.005, 1e-2, False] > 3.0

# %% [markdown]
# With a rough tolerance and balls as proved, the solver stops too early. The excess of the gap grows as $\gamma$ becomes
# smaller. With enlarged balls the gap never exceeds the tolerance. The last column shows the cost of the enlargement: the
# share of screened triplets falls a lot for a rough tolerance, and hardly at all for a fine tolerance. On these data a
# fine tolerance does no harm without the enlargement either. But only the enlargement proves this.
#
# The library enlarges every ball and reports `Solution.gap` for the original problem. In rare cases
# the gap at the end of a solve needs a larger enlargement than the library used. Then the library evaluates the original
# problem once more, and continues if necessary.

# %% tags=["nbval-ignore-output"]
tolerance = 1e-2 * len(problem)
rough = ss.path(problem, lams, tol=tolerance, ranges=True, screening=("RRPB", "PGB"))
worst = max(problem.gap(s.x, s.lam) / tolerance for s in rough)
print("ss.path at a rough tolerance, largest gap of the original problem over the tolerance:")
print(f"{worst:.2f} (bound 1)")
assert worst <= 1.0 + 1e-9

# %% [markdown]
# ## Fewer iterations at small lambda
#
# Most of a path's iterations are in its last fifth, where the problem is badly conditioned. Newton steps need fewer
# iterations there. The optimality condition $x = [H(\alpha(x))]_K/\lambda$ is piecewise smooth. A semismooth Newton step
# solves one linear system, and its matrix needs only the terms *on the curved piece* $C$ of the loss. The library solves
# the system by conjugate gradients between gradient steps (`method="semismooth"`). Does this save time?

# %% tags=["nbval-ignore-output"]
small = lam_max * np.geomspace(1e-3, 1e-7, 9)
counts = {}
for method in ("gradient", "semismooth"):
    path = ss.path(problem, small, tol=0.0, rtol=1e-8, method=method, screening=())
    assert all(s.converged for s in path)
    counts[method] = [s.n_iter for s in path]
    listed = " ".join(f"{n:4d}" for n in counts[method])
    print(f"{method:11s} {listed}  iterations for each lambda")
assert sum(counts["semismooth"]) < sum(counts["gradient"])

# %% [markdown]
# Newton steps save iterations, but not always seconds: a Newton step needs dozens of products over $C$, and each product
# costs about as much as a gradient. `make bench BENCH="-k newton"` measures paths of 20 small $\lambda$. `method="auto"`
# takes Newton steps only for full matrices of at most 1,000 coordinates, and only where it expects them to cost less than
# the gradient steps that they replace. Where both kinds of steps are slow, it changes to interior-point steps, and a path keeps them while they are cheap.
#
# The **hinge** is different. The library solves its dual by a method of multipliers, and each step of this method is a
# smoothed problem of some width. These widths are small. At small $\lambda$ gradient steps alone can fail to attain the
# required gap. `method="auto"` starts with gradient steps and changes to interior-point steps. Two more settings matter: the width must grow with $1/\lambda$, and a
# start from zero needs a hundred times larger widths, which then decrease.

# %% tags=["nbval-ignore-output"]
kinked = ss.Problem(problem.terms, ss.Hinge())
for lam in (0.1, 0.01):
    s = ss.solve(kinked, lam, tol=0.0, rtol=1e-6)
    relative_gap = s.gap / s.primal
    print(f"hinge, lambda = {lam}: {s.n_iter} iterations to a relative gap of {relative_gap:.1e}")
    assert s.converged and s.n_iter < 2000

# %% [markdown]
# ## Break it
#
# ### Predict instead of prove
#
# Use a ball with radius zero, which predicts that each triplet stays in its region at the current iterate. At $x = 0$ all
# margins are zero, so the rule puts all triplets into L. The algorithm then solves a problem in which all terms are
# linear, although they are not linear for this $\lambda$. The gap of the reduced problem is zero up to rounding.

# %% tags=["nbval-ignore-output"]
predicted = ss.rules.sphere(problem, ss.Sphere(problem.cone.zeros(), 0.0))
reduced = problem.reduce(predicted.in_L, predicted.in_R)
answer = reduced.all_linear() / lam
true_gap = problem.gap(answer, lam)
print(f"predicted to be in L: {predicted.n_L} of {len(problem)} triplets")
print(f"gap of the reduced problem: {reduced.gap(answer, lam):.6f}")
print(f"gap of the original problem over P: {true_gap / reference.primal:.1f}")
assert predicted.n_L == len(problem) and true_gap > reference.primal

# %% [markdown]
# ### Keep a triplet beyond its range
#
# "Once screened, always screened" is true only while $\lambda$ stays the same. Along a path most triplets move from $L$
# through $C$ to $R$. The next cell uses the categories of one $\lambda$ near the start of the path for the last
# $\lambda$.

# %% tags=["nbval-ignore-output"]
first, last = without[4], without[-1]
at_first, at_last = problem.terms.margins(first.x), problem.terms.margins(last.x)
kept_L, kept_R = at_first < 1.0 - loss.gamma - 1e-3, at_first > 1.0 + 1e-3
moved_L = np.sum(kept_L & (at_last > 1.0 - loss.gamma))
moved_R = np.sum(kept_R & (at_last < 1.0))
stale = ss.solve(problem.reduce(kept_L, kept_R), last.lam, tol=tol)
true_gap = problem.gap(stale.x, last.lam)
print(f"from lambda = {first.lam / lam_max:.2f} to {last.lam / lam_max:.3f} of lam_max")
print(f"{moved_L} triplets have left L, {moved_R} have left R")
print(f"with the old categories: gap of the original problem over P {true_gap / last.primal:.2f}")
assert moved_L > 100 and true_gap > 0.1 * last.primal

# %% [markdown]
# ## Exercise
#
# What does Algorithm 1 do when it has screened *all* triplets? How many more iterations does it need, and with which
# step?
#
# <details>
# <summary><b>Solution</b></summary>
#
# The reduced problem is $\frac\lambda2\|x\|^2 - \langle c, x\rangle$ plus a constant, with $c = \sum_{\hat L} a_t$. Its
# curvature is $\lambda$. With the step $1/\lambda$ one iteration gives
# $[x - (\lambda x - c)/\lambda]_K = [c]_K/\lambda$, which is exactly the solution. So the algorithm needs one iteration
# if it recomputes the step. With the old step it needs as many iterations as before, but each is nearly free. A library
# should use the formula.
#
# This case is not rare: for every $\lambda \ge \lambda_{\max}$ all triplets are screened in the end.
#
# </details>

# %%
above = 1.2 * lam_max
x, status, history = algorithm_1(A, above, loss.gamma, tol, start, longer_steps=True)
empty = int(np.flatnonzero(history[:, 0] == 0)[0])
print(f"triplets in L: {np.sum(status == 1)} of {len(A)}")
print(f"iterations without a triplet in the problem: {len(history) - empty}")
assert np.allclose(x, problem.all_linear().ravel() / above, rtol=1e-9, atol=1e-12)
assert len(history) - empty == 1

# %% [markdown]
# ## Fine print
#
# * **Which balls?** All balls are safe. The plain version uses DGB, the simplest ball. By default
#   the library uses RRPB before the first iteration, where RRPB is the path bound. During the iterations it uses RRPB and
#   PGB, and RRPB becomes DGB.
# * **How often?** A rule costs about as much as a gradient. With `freq=10` screening needs a tenth of the work. When
#   nearly all triplets are screened, the frequency matters little.
# * **Active sets** (`active_set=True`) are an additional heuristic: the solver visits only triplets with a positive loss,
#   and checks the other triplets from time to time. Screening reduces the number of triplets to check.
# * **The end of a path.** Without given `lams`, a path starts at $\lambda_{\max}$, goes down by `ratio`, and stops when
#   the loss changes by less than 1 % per relative step of $\lambda$, as in STS19 section 7.
# * **Ranges of other bounds** (GB, DGB) from the original problem are valid without enlargement. Ranges from a *reduced*
#   problem need the enlarged radius (STS19 section 6.1.2), because the reduced gap does not contain the screened triplets
#   at another $\lambda$. RRPB uses only the accuracy of its reference, and needs no enlargement for this.
# * **Not at hand.** The boxes of Algorithms 1 and 2 are pictures, and the text that we worked from does not contain them.
#   We wrote both algorithms from the prose around the boxes.
#
# ## References
#
# * STS19: Yoshida, Takeuchi, Karasuyama, *Safe Triplet Screening for Distance Metric Learning*, Neural
#   Computation 31, 2019: section 5 with Algorithm 1, section 6.1 with Algorithm 2 and Figure 5, Theorem 10.
# * Steps: Barzilai, Borwein, *Two-point step size gradient methods*, IMA J. Numer. Anal. 8, 1988.
# * Active sets for metric learning: Weinberger, Saul, *Distance metric learning for large margin nearest
#   neighbor classification*, JMLR 10, 2009.
