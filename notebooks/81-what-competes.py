# %% [markdown]
# # What competes with safe screening, and when a proof is useful
#
# Three kinds of methods leave out terms without a proof. A **strong rule** guesses from the last solution which terms will lie on a straight piece of the loss. **Adaptive sieving** solves for the terms that lay on the curved piece at the last solution. A **working set** method also solves for the terms nearest to this piece. Each of these methods checks its result, puts back the terms that were wrongly left out, and solves again. At the end all three can prove the same as safe screening: that the point is optimal for the problem with all terms. This notebook compares how much work the methods need.
#
# At the end you will have seen
#
# * the strong rule of the lasso applied to terms, and five samples for which the rule is wrong;
# * why one pass over all terms certifies a point that was found by guesses;
# * how many terms each method visits along a path of machines and a path of metrics: the guesses visit fewer terms where they are good;
# * what a guess cannot give: decisions that are right before the solve has ended, and decisions for an interval of $\lambda$.

# %%
import time
import warnings

import numpy as np
import pandas as pd

import safescreen as ss
from safescreen_book import datasets, figures
from safescreen_book.protocols import path_runs

# %% [markdown]
# ## The story in a picture
#
# There are five samples with three features. A sample has no loss if its margin $\langle a_t, x\rangle$ is above 1. The figure shows $c = \lambda$ times the margin, at the solution for each $\lambda$, so the threshold is the straight line $c = \lambda$. The strong rule uses the solution for $\lambda_0$, at the right end. It guesses that every sample above the line at $\lambda_0$ is above the line for smaller $\lambda$, too. For one sample this guess is wrong.

# %%
FIVE = np.array([[-1.0, 0, -1], [-3, -3, -2], [0, -1, 1], [0, 3, -2], [1, 1, 3]])
LOSS = ss.SmoothedHinge(0.5)


def machine(Z, loss=LOSS):
    """Return the problem of samples whose rows, multiplied by the labels, are Z."""
    signs = np.where(np.arange(len(Z)) % 2, 1.0, -1.0)
    return ss.Problem(ss.Samples(Z * signs[:, None], signs), loss)


five = machine(FIVE)
lams = np.linspace(0.04, 0.125, 45)
scaled = [lam * (FIVE @ ss.solve(five, lam, rtol=1e-12).x) for lam in lams]
scaled = np.array(scaled)
curves = {f"sample {t + 1}": row for t, row in enumerate(scaled.T)}
curves["threshold"] = lams


def above_threshold(k):
    """Return the names of the samples above the threshold at the k-th lam."""
    return " and ".join(str(t + 1) for t in np.flatnonzero(scaled[k] > lams[k]))


figures.lines(curves, lams, xlabel="lam", ylabel="lam times the margin")
figures.show(
    f"Curves show lam times the margin against lam for {len(FIVE)} samples; the threshold is a "
    f"straight line through 0. Samples {above_threshold(-1)} are above the threshold at the right "
    f"end, and samples {above_threshold(0)} at the left end."
)

# %% [markdown]
# ## The claims
#
# Write $c_t(\lambda) = \lambda\langle a_t, x^\star(\lambda)\rangle$. A term is in R, where the loss is 0, if $c_t > \lambda$, and in L, where the loss is linear, if $c_t < (1 - \gamma)\lambda$.
#
# > **What competes** (NEW-RIVALS). (a) The strong rule of the lasso assumes that $c_t$ changes by at most the change of $\lambda$. For $\lambda < \lambda_0$ the rule then guesses R for every term with $\langle a_t, x_0\rangle > 1$, and L for every term with $\lambda_0\langle a_t, x_0\rangle + \lambda_0 - \lambda < (1 - \gamma)\lambda$. The guess of R can be wrong.
# > (b) Let L and R be any guess, and $x$ the optimum of the reduced problem. If each guessed term lies in its region at $x$, then $x$ is the optimum of the whole problem, the problem with all terms. The converse is false. For any $x$ the gap of the *whole* problem is a certificate, and it costs one pass over all terms.
# > (c) Consider a method that solves the reduced problem, puts back the terms that are not in their guessed region, and repeats both steps. It ends after finitely many rounds.
#
# | assumption | where it is used |
# |---|---|
# | $\lambda > 0$, so there is one optimum | (b) |
# | no term that was put back is guessed again | (c) |
# | none | the gap of the whole problem bounds the error of any point |
#
# **Why (a).** For the lasso, $c_j$ is the correlation of feature $j$ with the residual, the threshold is $\lambda$, and the strong rule keeps each feature that can reach the threshold under the assumption $|c_j(\lambda) - c_j(\lambda_0)| \le \lambda_0 - \lambda$. The same assumption for terms gives $c_t(\lambda) \ge \lambda_0\langle a_t, x_0\rangle - (\lambda_0 - \lambda)$. The right side is above $\lambda$ exactly if $\langle a_t, x_0\rangle > 1$. So the rule guesses that every term in R stays in R.
#
# **Why (b).** The two objectives, of the whole and of the reduced problem, have gradients at $x$ that differ by the sum of $(\text{guessed slope} - \text{slope at } x)\,a_t$ over the guessed terms. If all guessed terms lie in their regions, the slopes agree, and so the gradients agree. Whether $x$ is optimal over a cone depends only on $x$ and the gradient. The sum may also be 0 because terms cancel, so the converse is false. The two opposite samples below are an example.
#
# **Why (c).** Each round but the last puts back at least one term. If no guessed term is outside its region, the gap of the whole problem equals the gap of the reduced problem.
#
# <details>
# <summary><b>Symbols</b></summary>
#
# | symbol | meaning |
# |---|---|
# | $a_t$, $\langle a_t, x\rangle$ | a term, its margin |
# | $x_0$, $\lambda_0$ | the solution of the last problem, and its $\lambda$ |
# | $\gamma$ | the smoothing of the hinge |
# | L, R | terms in the linear region of the loss, in its zero region |
#
# </details>


# %%
def strong(margins, lam0, lam, loss):
    """Return the guess of the strong rule: terms in L, terms in R."""
    in_L = lam0 * margins + lam0 - lam < (1.0 - loss.gamma) * lam
    return in_L, margins > 1.0


def outside(margins, in_L, in_R, loss):
    """Return the guessed terms that do not lie in their region."""
    return (in_L & (margins > 1.0 - loss.gamma)) | (in_R & (margins < 1.0))


# %% [markdown]
# ### The strong rule can be wrong
#
# The next cell applies the strong rule to the five samples. The certified distance `eps` bounds $\|x - x^\star\|$, so the error of a margin is at most `eps` times $\|a_t\|$.

# %% tags=["NEW-RIVALS"]
lam0 = 0.125
lam = 0.0625
before = ss.solve(five, lam0, rtol=1e-13)
after = ss.solve(five, lam, rtol=1e-13)
in_L, in_R = strong(FIVE @ before.x, lam0, lam, LOSS)
norms = np.linalg.norm(FIVE, axis=1)
certain = FIVE @ after.x + after.eps * norms < 1.0
assert np.all(FIVE[in_R] @ before.x - before.eps * norms[in_R] > 1.0)
n_wrong = np.sum(in_R & certain)
print(f"five samples: {np.sum(in_R)} guessed to stay in R, {n_wrong} of them wrongly")
assert n_wrong == 1
safe = ss.screen(five, before.x, lam, screening=("MGB",))
assert not (safe.in_R & certain).any()

# %% [markdown]
# ### Terms that cancel
#
# Two opposite samples have the same slope at the solution, and their contributions to the gradient cancel. Guess R for both. Neither sample is in R, but the solution does not change.

# %% tags=["nbval-ignore-output"]
Z = np.array([[2.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
alike = machine(Z)
pair = np.array([False, True, True])
without = ss.solve(alike.reduce(np.zeros(3, dtype=bool), pair), 1.0, rtol=1e-13)
margins = Z[pair] @ without.x
gap = alike.gap(without.x, 1.0)
print(f"largest margin of the pair {margins.max():.3f}, gap of the whole problem {gap:.0e}")
assert gap < 1e-12
assert np.all(margins < 1.0)

# %% [markdown]
# ## The methods
#
# The methods differ in their first guess, and share the loop of (c): solve the reduced problem, test all terms, put terms back. We count **visits**. Each iteration visits every term of the reduced problem, and each test of all terms visits every term of the whole problem. Each solve of a reduced problem ends at a tenth of the gap that is required for the whole problem.
#
# * **none** makes no guess.
# * **safe** screens with MGB, from the last solution before the first iteration, and again during the solve. It never puts back a term.
# * **strong** makes the guess of (a). At the first $\lambda$ of a path it makes no guess.
# * **sieving** solves for the terms on the curved piece at the starting point, and guesses that the other terms stay in their regions. Adaptive sieving works in this way.
# * **working set** solves for the terms on the curved piece at the starting point, and for the same number of other terms, which are nearest to the curved piece. The distance is the distance of the margin from the threshold divided by $\|a_t\|$. In each further round the set is twice as large. Blitz and Celer work in this way.
# * **strong, then safe** makes the guess of (a), and screens the reduced problem with MGB during the solve.

# %%
INNER = {"max_iter": 100_000, "freq": 10}


def visits(solution):
    """Return how many terms the iterations of a solve and the computations of the gap visited."""
    history = solution.history
    steps = np.diff([entry.iteration for entry in history])
    n_terms = np.array([entry.n_terms for entry in history])
    return int(np.sum(steps * n_terms[:-1]) + np.sum(n_terms))


def nearest(prob, margins, size):
    """Guess the regions of all terms but the `size` terms nearest to the curved piece."""
    low = 1.0 - prob.loss.gamma
    apart = np.maximum(np.maximum(low - margins, margins - 1.0), 0.0) / prob.terms.norms
    keep = np.zeros(len(prob), dtype=bool)
    keep[np.argsort(apart, kind="stable")[:size]] = True
    return ~keep & (margins < low), ~keep & (margins > 1.0)


# %%
def guess(method, prob, margins, lam0, lam):
    """Return the first guess of a method, and the size of its working set."""
    nothing = np.zeros(len(prob), dtype=bool)
    if method.startswith("strong") and lam0 is not None:
        return *strong(margins, lam0, lam, prob.loss), 0
    n_curved = int(np.sum((margins >= 1.0 - prob.loss.gamma) & (margins <= 1.0)))
    if method == "sieving":
        return *nearest(prob, margins, n_curved), 0
    if method == "working set":
        size = max(2 * n_curved, 20)
        return *nearest(prob, margins, size), size
    return nothing, nothing, 0


# %%
def of_all_terms(in_L, in_R, alpha):
    """Return the dual point of all terms: 1 in L, 0 in R, and alpha for the other terms."""
    whole = in_L.astype(float)
    whole[~(in_L | in_R)] = alpha
    return whole


# %%
def solved_by_guess(method, prob, x, lam0, lam, rtol, inner):
    """Solve by a guess, checks and repairs; return x, its gap, and the work."""
    margins = prob.terms.margins(x)
    in_L, in_R, size = guess(method, prob, margins, lam0, lam)
    work = {"visits": len(prob), "rounds": 0, "wrong": 0}
    options = INNER | {"screening": ("MGB",) if "safe" in method else (), "method": inner}
    while True:
        solution = ss.solve(prob.reduce(in_L, in_R), lam, rtol=0.1 * rtol, x0=x, **options)
        x = solution.x
        margins = prob.terms.margins(x)
        gap = prob.gap(x, lam, of_all_terms(in_L, in_R, solution.alpha))
        wrong = outside(margins, in_L, in_R, prob.loss)
        work["visits"] += visits(solution) + len(prob)
        work["rounds"] += 1
        work["wrong"] += int(wrong.sum())
        if gap <= rtol * prob.primal(x, lam):
            return x, gap, work
        if size:
            size *= 2
            far_L, far_R = nearest(prob, margins, size)
            in_L = in_L & far_L
            in_R = in_R & far_R
        in_L = in_L & ~wrong
        in_R = in_R & ~wrong


# %%
def solved_plainly(prob, x, lam, rtol, inner):
    """Solve without screening; return x, its gap, and the work."""
    solution = ss.solve(prob, lam, rtol=0.1 * rtol, x0=x, screening=(), method=inner, **INNER)
    gap = prob.gap(solution.x, lam, solution.alpha)
    return solution.x, gap, {"visits": visits(solution) + len(prob), "rounds": 1, "wrong": 0}


def solved_safely(prob, x, lam, rtol, inner):
    """Solve with MGB before the first iteration and during the solve; return the same."""
    first = ss.screen(prob, x, lam, screening=("MGB",))
    options = INNER | {"screening": ("MGB",), "method": inner}
    reduced = prob.reduce(first.in_L, first.in_R)
    solution = ss.solve(reduced, lam, rtol=0.1 * rtol, x0=x, **options)
    gap = prob.gap(solution.x, lam, of_all_terms(first.in_L, first.in_R, solution.alpha))
    return solution.x, gap, {"visits": visits(solution) + 2 * len(prob), "rounds": 1, "wrong": 0}


# %% [markdown]
# ### All methods end at the same optimum, and only guesses are wrong
#
# The next cells compare the methods on random machines and random metrics, with three steps of $\lambda$ for each problem. Two points with gaps $g_1$ and $g_2$ of the whole problem must satisfy $\|x_1 - x_2\| \le \sqrt{2g_1/\lambda} + \sqrt{2g_2/\lambda}$. Every decision of MGB is compared with the margins at an accurate solution, up to the certified error of this solution.


# %%
def random_case(rng):
    """Return a problem, of samples or of triplets, and the name of its solver."""
    if rng.uniform() < 0.7:
        d = int(rng.integers(2, 8))
        n = int(rng.integers(20, 80))
        return machine(rng.standard_normal((n, d)) + 0.5), "unshrunk"
    X = rng.standard_normal((14, 3))
    y = np.arange(14) % 2
    X[y == 1, 0] += 1.5
    return ss.Problem(ss.Triplets.from_labels(X, y, k=3), ss.SmoothedHinge(0.3)), "gradient"


def safe_and_right(prob, x, lam, best):
    """Return how many terms MGB decides from x; fail if one decision is wrong."""
    found = ss.screen(prob, x, lam, screening=("MGB",))
    margins = prob.terms.margins(best.x)
    error = best.eps * prob.terms.norms + 1e-9
    assert np.all(margins[found.in_R] > 1.0 - error[found.in_R])
    assert np.all(margins[found.in_L] < 1.0 - prob.loss.gamma + error[found.in_L])
    return found.n_L + found.n_R


# %% tags=["NEW-RIVALS", "nbval-ignore-output"]
rng = np.random.default_rng(0)
wrong = dict.fromkeys(("strong", "working set", "sieving"), 0)
n_guessed = n_safe = n_solves = 0
for _ in range(60):
    prob, inner = random_case(rng)
    lam0 = 0.3 * prob.lam_max()
    x0 = ss.solve(prob, lam0, rtol=1e-10).x
    for ratio in (0.9, 0.5, 0.1):
        lam = ratio * lam0
        best = ss.solve(prob, lam, rtol=1e-12)
        n_safe += safe_and_right(prob, x0, lam, best)
        n_guessed += np.sum(strong(prob.terms.margins(x0), lam0, lam, prob.loss))
        for method in wrong:
            x, gap, work = solved_by_guess(method, prob, x0, lam0, lam, 1e-7, inner)
            wrong[method] += work["wrong"]
            n_solves += 1
            assert prob.cone.norm(x - best.x) <= np.sqrt(2.0 * gap / lam) + best.eps

# %% tags=["NEW-RIVALS", "nbval-ignore-output"]
print(f"{n_solves} solves by guesses end within their gaps of the optimum")
by_rule = f"the strong rule guesses {n_guessed} terms, {wrong['strong']} wrongly"
print(f"{by_rule}; MGB decides {n_safe}, none wrongly")
counts = f"working sets {wrong['working set']}, sieving {wrong['sieving']}"
print(f"terms wrongly left out at first: {counts}; all are put back")
assert wrong["sieving"] > wrong["working set"] > 0
assert n_safe > 1000

# %% [markdown]
# **Broken on purpose.** Without the check the strong rule may return a point that is not optimal. Only the gap of the *whole* problem shows the error, because the gap of the reduced problem is small:

# %% tags=["nbval-ignore-output"]
in_L, in_R = strong(FIVE @ before.x, 0.125, 0.0625, LOSS)
unchecked = ss.solve(five.reduce(in_L, in_R), 0.0625, rtol=1e-12)
whole = five.gap(unchecked.x, 0.0625)
print(f"gap of the reduced problem {unchecked.gap:.0e}, of the whole problem {whole:.0e}")
assert unchecked.gap < 1e-9
assert whole > 1e-6

# %% [markdown]
# ## The work along two paths
#
# The first path is machines on breast-cancer for 30 values of $C = 1/\lambda$. The second path is metrics from the triplets of wine for 25 values of $\lambda$. Coordinate descent without shrinking solves the machines, and projected gradient steps solve the metrics. All methods use these solvers. Each solve ends at a relative gap of $10^{-6}$ of the whole problem, and each solution is the start of the next solve.

# %%
METHODS = ("none", "safe", "strong", "working set", "sieving", "strong, then safe")


def race(prob, lams, inner, method, rtol=1e-6):
    """Solve a path by one method; return a row for each lam."""
    x = prob.cone.zeros()
    lam0 = None
    rows = []
    for lam in lams:
        started = time.process_time()
        if method == "none":
            x, gap, work = solved_plainly(prob, x, lam, rtol, inner)
        elif method == "safe":
            x, gap, work = solved_safely(prob, x, lam, rtol, inner)
        else:
            x, gap, work = solved_by_guess(method, prob, x, lam0, lam, rtol, inner)
        seconds = time.process_time() - started
        rows.append({"method": method, "lam": lam, "gap": gap, "seconds": seconds, **work})
        assert gap <= rtol * prob.primal(x, lam)
        lam0 = lam
    return rows


# %%
X, y = datasets.load("breast-cancer", return_X_y=True)
machines = ss.Problem(ss.Samples(X, np.where(y == np.unique(y)[1], 1, -1)), LOSS)
X, y = path_runs.draw("wine")
metrics = ss.Problem(ss.Triplets.from_labels(X, y, k=5), ss.SmoothedHinge(0.05))
PATHS = {
    "machines": (machines, 1.0 / np.geomspace(0.01, 10.0, 30), "unshrunk"),
    "metrics": (metrics, metrics.lam_max() * 0.7 ** np.arange(1, 26), "gradient"),
}
races = {}
for name, path in PATHS.items():
    races[name] = pd.concat([pd.DataFrame(race(*path, method)) for method in METHODS])


# %% tags=["NEW-RIVALS", "nbval-ignore-output"]
def totals(rows):
    """Return the visits, rounds and wrong guesses of each method over a path."""
    return rows.groupby("method", sort=False)[["visits", "rounds", "wrong"]].sum()


for name, rows in races.items():
    table = totals(rows)
    share = table["visits"] / table["visits"]["none"]
    shares = figures.listed(share.to_dict())
    print(f"visits along the path of {name}, divided by the visits of none: {shares}")
    rounds = figures.listed(table["rounds"].to_dict(), "{:.0f}")
    print(f"   {len(PATHS[name][0])} terms; rounds: {rounds}")
    print("   wrong guesses:", figures.listed(table["wrong"].to_dict(), "{:.0f}"))
    assert (table["wrong"][["none", "safe"]] == 0).all()
    assert table["wrong"]["working set"] > 0

# %% tags=["nbval-ignore-output"]
figure, axes = figures.panels(2, width=8.0, height=3.4, sharey=True)
shares = {}
style = {"path": True, "ratio": True, "marks": "apart"}
labels = {"xlabel": "lam", "ylabel": "visits / visits without screening"}
for ax, (name, rows) in zip(axes, races.items(), strict=True):
    by_lam = rows.pivot(index="lam", columns="method", values="visits")[list(METHODS)]
    by_lam = by_lam.sort_index(ascending=False)
    lines = {method: by_lam[method] / by_lam["none"] for method in METHODS[1:]}
    shares[name] = {method: line.mean() for method, line in lines.items()}
    figures.lines(lines, by_lam.index.to_numpy(), ax=ax, title=name, **style, **labels)
listed = "; ".join(f"{name}: {figures.listed(values)}" for name, values in shares.items())
figures.show(
    "Curves show the visits of each method divided by the visits without screening, along each "
    f"path, on a logarithmic axis. The means are, for {listed}."
)

# %% [markdown]
# The next cell prints the CPU seconds of this run, divided by the seconds without screening. A test of all terms takes longer than the same number of visits, and each round starts a new solve:

# %% tags=["nbval-ignore-output"]
for name, rows in races.items():
    seconds = rows.groupby("method", sort=False)["seconds"].sum()
    ratios = figures.listed((seconds / seconds["none"]).to_dict())
    print(f"{name}: seconds divided by the seconds of none: {ratios}")
    prob, lams, inner = PATHS[name]
    for screening in ("auto", ()):
        started = time.process_time()
        path = ss.path(prob, lams, rtol=1e-6, screening=screening, method=inner)
        used = (time.process_time() - started) / seconds["none"]
        assert all(solution.converged for solution in path)
        print(f"   ss.path(screening={screening!r}): {used:.2f}")

# %% [markdown]
# **Results.** A good guess leaves out more terms than a proof, because a guess may be wrong. Along these paths all guesses visit fewer terms than safe screening: many fewer for the machines, and hardly fewer for the metrics. The strong rule was wrong for a few terms, and needed a few more solves. The working set and sieving start with few terms, and are wrong about many; sieving needs about two rounds for each $\lambda$. The strong rule followed by MGB needs the fewest visits: its guess leaves out at the start the terms that the ball decides only near the end of a solve. The order by seconds differs from the order by visits, because each round starts a new solve.
#
# ## Better points by extrapolation
#
# Celer reaches a small gap earlier. It extrapolates the last iterates of coordinate descent towards their limit, and computes the gap at the extrapolated point. The next cells do the same for the machines at $C = 1$, with the last seven iterates. The weights of the combination minimise the norm of the same combination of the six steps:


# %%
def extrapolated(points):
    """Return the combination of points for which the same combination of steps is shortest."""
    steps = np.diff(points, axis=0)
    gram = steps @ steps.T
    gram += 1e-12 * np.trace(gram) * np.eye(len(gram))
    weights = np.linalg.solve(gram, np.ones(len(gram)))
    return (weights / weights.sum()) @ points[1:]


solve_options = {"rtol": 1e-15, "screening": (), "method": "unshrunk"}
points = []
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ss.ConvergenceWarning)
    for sweeps in range(1, 61):
        points.append(ss.solve(machines, 1.0, max_iter=sweeps, **solve_options).x)
gain = []
for k in range(6, len(points)):
    ahead = extrapolated(np.array(points[k - 6 : k + 1]))
    gain.append(machines.gap(points[k], 1.0) / machines.gap(ahead, 1.0))

# %% tags=["nbval-ignore-output"]
median = np.median(gain)
print(f"gap divided by the extrapolated gap: median {median:.2g}, largest {np.max(gain):.2g}")
share = np.mean(np.array(gain) > 1.0)
print(f"the extrapolated point has the smaller gap after {share:.0%} of the sweeps")

# %% [markdown]
# The idea also works here: at the cost of one more pass over all terms, the gap is often several times smaller. The extrapolated point itself is better, so safe screening and the guesses gain in the same way.
#
# ## What a guess cannot give
#
# **Decisions before the end.** Stop the solves of the machines at a relative gap of 3 %. Each term lies in some region at the rough solution, and one can take this region as a guess. Some of these guesses are wrong. All decisions of the ball at the same point are right:

# %% tags=["NEW-RIVALS", "nbval-ignore-output"]
read = proved = misread = 0
for C in np.geomspace(0.05, 5.0, 12):
    rough = ss.solve(machines, 1.0 / C, rtol=0.03, screening=(), method="unshrunk")
    best = ss.solve(machines, 1.0 / C, rtol=1e-12)
    found = ss.screen(machines, rough.x, 1.0 / C, screening=("MGB",))
    margins = machines.terms.margins(rough.x)
    true = machines.terms.margins(best.x)
    error = best.eps * machines.terms.norms
    not_L = true > 0.5 + error
    not_R = true < 1.0 - error
    read += np.sum((margins < 0.5) | (margins > 1.0))
    misread += np.sum((margins < 0.5) & not_L) + np.sum((margins > 1.0) & not_R)
    proved += found.n_L + found.n_R
    assert not np.any(found.in_R & not_R)
    assert not np.any(found.in_L & not_L)
guesses = f"{read} regions guessed, {misread} of them wrong"
print(f"at 12 rough solutions: {guesses}; {proved} proved, none wrong")
assert 0 < misread < read
assert proved > 0

# %% [markdown]
# **An interval of $\lambda$.** Take the balls of one point for the two ends of an interval of $\lambda$. Together they contain the solutions for all $\lambda$ of the interval ([`48-certified-choice`](48-certified-choice.ipynb)). A decision that both balls make is certain for each $\lambda$ between. A guess of the strong rule would need a solve for each $\lambda$ as a check:

# %%
top = 1.0
start = ss.solve(machines, top, rtol=1e-9)
for factor in (0.97, 0.9, 0.7):
    upper = ss.screen(machines, start.x, top, start.alpha, screening=("MGB",))
    lower = ss.screen(machines, start.x, factor * top, start.alpha, screening=("MGB",))
    both = ss.Screened(upper.in_L & lower.in_L, upper.in_R & lower.in_R)
    for lam in np.linspace(factor, 1.0, 7) * top:
        between = ss.solve(machines, lam, rtol=1e-11)
        true = machines.terms.margins(between.x)
        error = between.eps * machines.terms.norms
        assert np.all(true[both.in_R] > 1.0 - error[both.in_R])
        assert np.all(true[both.in_L] < 0.5 + error[both.in_L])
    share = f"{both.n_L + both.n_R} of {len(machines)} terms"
    print(f"lam from {factor} to 1: {share} are certain for all lam of the interval")

# %% [markdown]
# ## When a proof is useful
#
# | you want | use |
# |---|---|
# | one solution or a path, as fast as possible | for machines a guess with a check: it needs fewer visits, and the certificate at the end is the same; for these metrics no method was faster than solving without screening |
# | to know for certain which terms are in L or in R | safe screening: regions guessed from an approximate solution are wrong for some terms |
# | to stop early, and to use the decisions made so far | safe screening |
# | decisions for all $\lambda$ of an interval, for changed weights, for left-out terms | safe screening: one point gives a proof for all of them, see [`29b`](29b-when-the-problem-changes.ipynb) and [`48`](48-certified-choice.ipynb) |
# | terms that take long to visit, or much memory | safe screening: screened terms are not needed for a check |
#
# The library has guesses and safe screening. The default method for machines, `method="coordinate"`, uses shrinking, a guess that the gap of the whole problem checks at the end. Kernel machines use working sets, and triplets use a working set with `active_set=True`. By default the library also screens lists of triplets, pairs and quadruplets ([`45-when-to-screen`](45-when-to-screen.ipynb)).
#
# ## Exercise
#
# Can the strong rule be wrong for a problem with one feature?
#
# <details>
# <summary><b>Solution</b></summary>
#
# Its guesses of R cannot be wrong. With one feature all margins are multiples of one number $x$. A smaller $\lambda$ never makes $\frac12x^2$ smaller at the solution. The solution never changes its sign, because its sign is the sign of minus the slope, at 0, of the sum of losses. So a margin above 1 stays above 1.
#
# </details>
#
# ## Fine print
#
# * **Which strong rule.** The strong rule of the paper is for features of the lasso. The rule here makes the same assumption for terms in place of features. Other strong rules are possible, for example from a path bound with a smaller radius.
# * **Visits** are not operations. A step of the gradient method over triplets costs $d$ or $d^2$ operations for each visit, and a test of all terms needs only the margins.
# * **The working set** here starts with the terms on the curved piece at the last solution, and its size doubles. Blitz and Celer choose the terms by the distance to a better dual point, and the size by a model of progress.
#
# ## References
#
# * R. Tibshirani et al., *Strong rules for discarding predictors in lasso-type problems*, J. R. Stat. Soc. B 74 (2012). We could read the summary and the introduction.
# * Y. Yuan, M. Lin, D. Sun, K.-C. Toh, *Adaptive sieving*, arXiv 2306.17369. We could read the abstract and the introduction.
# * M. Massias, A. Gramfort, J. Salmon, *Celer: a fast solver for the lasso with dual extrapolation*, ICML 2018. We could read the description of the package, but not the paper.
# * T. Johnson, C. Guestrin, *Blitz*, ICML 2015. We could not read this paper; its working set is described here as other papers describe it.
