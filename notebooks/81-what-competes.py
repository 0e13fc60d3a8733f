# %% [markdown]
# # What competes with safe screening, and when safety pays
#
# Three kinds of methods leave out terms without a proof. A **strong rule** guesses from the last solution which terms will not matter. **Adaptive sieving** begins
# with the terms that mattered at the last solution. A **working set** solves for the few terms that seem to matter. All add what turns out to be needed, check at the end, and can
# prove in the end what safe screening proves: that the point is optimal for the whole problem. This notebook races them.
#
# At the end you will have seen
#
# * what the strong rule of the lasso says here, word for word, and five samples for which it errs;
# * why one pass over all terms turns any guess into a certificate;
# * how many terms each method visits along a path of machines and a path of metrics: the guesses visit fewer where the guess is good;
# * what a guess cannot give: decisions that are true before the solve has ended, and for a whole interval of $\lambda$.

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
# Five samples with three features. A sample matters unless its margin $\langle a_t, x\rangle$ exceeds 1. Drawn is $\lambda$ times the margin at the
# solution for $\lambda$, so the threshold is the straight line $c = \lambda$. The strong rule looks at $\lambda_0$ on the right, where samples above the line do not matter, and guesses that this stays so
# for a smaller $\lambda$. One of the five goes below the line.

# %%
FIVE = np.array([[-1.0, 0, -1], [-3, -3, -2], [0, -1, 1], [0, 3, -2], [1, 1, 3]])
LOSS = ss.SmoothedHinge(0.5)


def machine(Z, loss=LOSS):
    """The problem of samples whose rows, labels multiplied in, are Z."""
    signs = np.where(np.arange(len(Z)) % 2, 1.0, -1.0)
    return ss.Problem(ss.Samples(Z * signs[:, None], signs), loss)


five = machine(FIVE)
lams = np.linspace(0.04, 0.125, 45)
scaled = [lam * (FIVE @ ss.solve(five, lam, rtol=1e-12).x) for lam in lams]
curves = {f"sample {t + 1}": row for t, row in enumerate(np.array(scaled).T)}
curves["threshold"] = lams
above = np.array(scaled) > lams[:, None]
figures.lines(curves, lams, xlabel="lam", ylabel="lam times the margin")
figures.show(
    f"Curves show lam times the margin against lam, one for each of {len(FIVE)} samples; the "
    "threshold is "
    "a straight line through 0. Above the threshold are samples "
    f"{' and '.join(str(t + 1) for t in np.flatnonzero(above[-1]))} at the right end, and "
    f"{' and '.join(str(t + 1) for t in np.flatnonzero(above[0]))} at the left end."
)

# %% [markdown]
# ## The claims
#
# Write $c_t(\lambda) = \lambda\langle a_t, x^\star(\lambda)\rangle$. A term is in R, where the loss is flat, if $c_t > \lambda$, and in L, where it is linear, if $c_t < (1 - \gamma)\lambda$.
#
# > **What competes** (NEW-RIVALS). (a) The strong rule of the lasso assumes that $c_t$ moves no faster than $\lambda$. Between
# > $\lambda_0$ and $\lambda < \lambda_0$ it then guesses R for every term with $\langle a_t, x_0\rangle > 1$, and L for those with
# > $\lambda_0\langle a_t, x_0\rangle + \lambda_0 - \lambda < (1 - \gamma)\lambda$. The guess of R can be wrong.
# >
# > (b) Let L and R be any guess, and $x$ the optimum of the problem that it leaves. If each guessed term lies in its
# > region at $x$, then $x$ is the optimum of the whole problem. The converse is false. For any $x$ the gap of the *whole* problem is the certificate, and it costs one pass over all terms.
# >
# > (c) A method that solves what is left, puts back the terms that are not in their region, and begins again ends after finitely many rounds.
#
# | assumption | where it is used |
# |---|---|
# | $\lambda > 0$: one optimum | (b) |
# | terms that were put back are not guessed again | (c) |
# | nothing | the gap of the whole problem bounds the error of any point |
#
# **Why (a).** For the lasso, $c_j$ is the correlation of feature $j$ with the residual, its threshold is $\lambda$, and the strong rule keeps what could reach the threshold if
# $|c_j(\lambda) - c_j(\lambda_0)| \le \lambda_0 - \lambda$. The same step here: a term of R has $c_t(\lambda) \ge \lambda_0\langle a_t, x_0\rangle - (\lambda_0 - \lambda)$, which exceeds $\lambda$ exactly if
# $\langle a_t, x_0\rangle > 1$. So the rule says: who is in R stays in R.
#
# **Why (b).** The gradient of the whole objective at $x$ is that of the smaller one plus $\sum(\text{guessed slope} - \text{slope at } x)\,a_t$ over the guessed terms. If all lie in their regions, the slopes
# agree, and so do the gradients. Whether $x$ is optimal over a cone depends on $x$ and the gradient only. The sum may also vanish because terms cancel, so the converse is false: two opposite samples follow below.
#
# **Why (c).** Each round that does not end it puts back at least one term. When none is outside, the gap of the whole problem is that of what was solved.
#
# <details>
# <summary><b>Symbols</b></summary>
#
# | symbol | meaning |
# |---|---|
# | $a_t$, $\langle a_t, x\rangle$ | a term, its margin |
# | $x_0$, $\lambda_0$ | the solution of the last problem, and its $\lambda$ |
# | $\gamma$ | the smoothing of the hinge |
# | L, R | terms on the linear piece of the loss, on its flat piece |
# | rate | the share of terms that are left out |
#
# </details>


# %%
def strong(margins, lam0, lam, loss):
    """The guess of the strong rule: terms in L, terms in R."""
    in_L = lam0 * margins + lam0 - lam < (1.0 - loss.gamma) * lam
    return in_L, margins > 1.0


def outside(margins, in_L, in_R, loss):
    """Guessed terms that do not lie in their region."""
    return (in_L & (margins > 1.0 - loss.gamma)) | (in_R & (margins < 1.0))


# %% [markdown]
# ### The strong rule errs
#
# On the five samples, with certified distances from the optimum: `eps` bounds $\|x - x^\star\|$, so a margin is known up to `eps` times $\|a_t\|$.

# %% tags=["NEW-RIVALS"]
lam0, lam = 0.125, 0.0625
before, after = (ss.solve(five, each, rtol=1e-13) for each in (lam0, lam))
in_L, in_R = strong(FIVE @ before.x, lam0, lam, LOSS)
norms = np.linalg.norm(FIVE, axis=1)
certain = FIVE @ after.x + after.eps * norms < 1.0
assert np.all(FIVE[in_R] @ before.x - before.eps * norms[in_R] > 1.0)
print(
    f"five samples: {np.sum(in_R)} guessed to stay in R, {np.sum(in_R & certain)} of them wrongly"
)
assert np.sum(in_R & certain) == 1
safe = ss.screen(five, before.x, lam, screening=("MGB",))
assert not (safe.in_R & certain).any()

# %% [markdown]
# ### Terms that cancel
#
# Two opposite samples pull with the same force in opposite directions. Guess R for both: neither is in R, and yet nothing changes.

# %% tags=["nbval-ignore-output"]
Z = np.array([[2.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
alike = machine(Z)
pair = np.array([False, True, True])
without = ss.solve(alike.reduce(~pair & False, pair), 1.0, rtol=1e-13)
print("margins of the pair:", (Z[pair] @ without.x).tolist(),
      " gap of the whole problem at that point:", end=" ")
print(f"{alike.gap(without.x, 1.0):.0e}")
assert alike.gap(without.x, 1.0) < 1e-12 and np.all(Z[pair] @ without.x < 1.0)

# %% [markdown]
# ## The rivals
#
# Each method is a choice of what to guess first, and shares the loop of (c): solve what is left, look at all terms, put back. The loop counts **visits**: each iteration visits each term that is left, and each look at all
# terms visits them all. A method's solves end at a tenth of the gap that the whole problem is to reach.
#
# * **none**: no guess.
# * **safe**: MGB before the first iteration, from the last solution, and MGB while the solver runs. Nothing is ever put back.
# * **strong**: the guess of (a), at the first $\lambda$ of a path nothing.
# * **sieving**: the terms on the curved piece at the starting point. The others are fixed where they are. This is the plan of adaptive sieving.
# * **working set**: the terms on the curved piece at the starting point, and as many again of those that are nearest to it, measured by the distance of the margin from its threshold over $\|a_t\|$. In each further round the set
#   doubles. This is the plan of Blitz and Celer.
# * **strong, then safe**: the guess of (a), and MGB while the solver runs on what it leaves.

# %%
INNER = {"max_iter": 100_000, "freq": 10}


def visits(solution):
    """Terms visited by the iterations of a solve, and by the points that were judged."""
    history = solution.history
    steps = np.diff([entry.iteration for entry in history])
    left = np.array([entry.n_terms for entry in history])
    return int(np.sum(steps * left[:-1]) + np.sum(left))


def nearest(prob, margins, size):
    """Guess all terms but `size` of those nearest to the curved piece of the loss."""
    low = 1.0 - prob.loss.gamma
    apart = np.maximum(np.maximum(low - margins, margins - 1.0), 0.0) / prob.terms.norms
    keep = np.zeros(len(prob), dtype=bool)
    keep[np.argsort(apart, kind="stable")[:size]] = True
    return ~keep & (margins < low), ~keep & (margins > 1.0)


# %%
def guess(method, prob, margins, lam0, lam):
    """The first guess of a method, and the size of its working set."""
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
    """The dual point of all terms: 1 in L, 0 in R, and alpha for those that are left."""
    whole = in_L.astype(float)
    whole[~(in_L | in_R)] = alpha
    return whole


def solved_by_guess(method, prob, x, lam0, lam, rtol, inner):
    """Solve by a guess, a check and repairs; what it took."""
    margins = prob.terms.margins(x)
    in_L, in_R, size = guess(method, prob, margins, lam0, lam)
    took = {"visits": len(prob), "rounds": 0, "wrong": 0}
    options = INNER | {"screening": ("MGB",) if "safe" in method else (), "method": inner}
    while True:
        part = ss.solve(prob.reduce(in_L, in_R), lam, rtol=0.1 * rtol, x0=x, **options)
        x, margins = part.x, prob.terms.margins(part.x)
        gap, value = prob.gap(x, lam, of_all_terms(in_L, in_R, part.alpha)), prob.primal(x, lam)
        took["visits"] += visits(part) + len(prob)
        took["rounds"] += 1
        wrong = outside(margins, in_L, in_R, prob.loss)
        took["wrong"] += int(wrong.sum())
        if gap <= rtol * value:
            return x, gap, took
        size *= 2
        more_L, more_R = nearest(prob, margins, size) if size else (in_L, in_R)
        in_L, in_R = in_L & more_L & ~wrong, in_R & more_R & ~wrong


# %%
def solved_safely(prob, x, lam, rtol, inner, method="safe"):
    """Solve with MGB before the first iteration and while the solver runs, or with neither."""
    screening = ("MGB",) if method == "safe" else ()
    first = ss.screen(prob, x, lam, screening=screening) if screening else None
    part = prob if first is None else prob.reduce(first.in_L, first.in_R)
    solution = ss.solve(
        part, lam, rtol=0.1 * rtol, x0=x, screening=screening, method=inner, **INNER
    )
    alpha = (
        solution.alpha if first is None else of_all_terms(first.in_L, first.in_R, solution.alpha)
    )
    gap = prob.gap(solution.x, lam, alpha)
    n_looks = len(prob) * (1 + (first is not None))
    return solution.x, gap, {"visits": visits(solution) + n_looks, "rounds": 1, "wrong": 0}


# %% [markdown]
# ### All end at the same optimum, and only guesses err
#
# Random machines and random metrics, three steps of $\lambda$ each. For two points with gaps $g_1$ and $g_2$ of the whole problem, $\|x_1 - x_2\| \le \sqrt{2g_1/\lambda} + \sqrt{2g_2/\lambda}$. A safe decision is compared with the margins at the best
# point, up to its distance from the optimum.


# %%
def random_case(rng):
    """A machine, or triplets of points in two classes, with the solver for it."""
    if rng.uniform() < 0.7:
        d = int(rng.integers(2, 8))
        return machine(rng.standard_normal((int(rng.integers(20, 80)), d)) + 0.5), "unshrunk"
    X = rng.standard_normal((14, 3))
    y = np.arange(14) % 2
    X[y == 1, 0] += 1.5
    return ss.Problem(ss.Triplets.from_labels(X, y, k=3), ss.SmoothedHinge(0.3)), "gradient"


def safe_and_right(prob, x, lam, best):
    """How many terms MGB decides from x; fails if one decision is wrong."""
    found = ss.screen(prob, x, lam, screening=("MGB",))
    margins = prob.terms.margins(best.x)
    room = best.eps * prob.terms.norms + 1e-9
    assert np.all(margins[found.in_R] > 1.0 - room[found.in_R])
    assert np.all(margins[found.in_L] < 1.0 - prob.loss.gamma + room[found.in_L])
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
        n_guessed += sum(
            mask.sum() for mask in strong(prob.terms.margins(x0), lam0, lam, prob.loss)
        )
        for method in wrong:
            x, gap, took = solved_by_guess(method, prob, x0, lam0, lam, 1e-7, inner)
            wrong[method] += took["wrong"]
            n_solves += 1
            assert prob.cone.norm(x - best.x) <= np.sqrt(2.0 * gap / lam) + best.eps
print(f"{n_solves} solves by guesses end within their gaps of the optimum")
print(
    f"the strong rule guesses {n_guessed} terms, {wrong['strong']} wrongly; MGB decides {n_safe}, "
    "none wrongly"
)
print(
    f"working sets leave out {wrong['working set']} terms wrongly at first, sieving "
    f"{wrong['sieving']}; all are put back"
)
assert wrong["sieving"] > wrong["working set"] > 0 and n_safe > 1000

# %% [markdown]
# **Broken on purpose.** Without the check, the strong rule returns points that are not optimal, and only the gap of the *whole* problem tells. The gap of what the guess leaves is small in any case:

# %% tags=["nbval-ignore-output"]
in_L, in_R = strong(FIVE @ before.x, lam0 := 0.125, lam := 0.0625, LOSS)
unchecked = ss.solve(five.reduce(in_L, in_R), lam, rtol=1e-12)
whole = five.gap(unchecked.x, lam)
print(f"gap of what is left {unchecked.gap:.0e}, of the whole problem {whole:.0e}")
assert unchecked.gap < 1e-9 < 1e-6 < whole

# %% [markdown]
# ## The race
#
# Two paths: machines on breast-cancer for 30 values of $C = 1/\lambda$, and metrics from the triplets of wine for 25 values of $\lambda$. All methods use the same solver, all $\lambda$ end at a relative gap of $10^{-6}$ of the whole problem,
# and each solution starts the next one. The machines are solved by coordinate descent without shrinking, the metrics by projected gradient steps.

# %%
METHODS = ("none", "safe", "strong", "working set", "sieving", "strong, then safe")


def race(prob, lams, inner, method, rtol=1e-6):
    """Solve a path by one method; a row a lam."""
    x, lam0, rows = prob.cone.zeros(), None, []
    for lam in lams:
        started = time.process_time()
        if method in ("none", "safe"):
            x, gap, took = solved_safely(prob, x, lam, rtol, inner, method)
        else:
            x, gap, took = solved_by_guess(method, prob, x, lam0, lam, rtol, inner)
        seconds = time.process_time() - started
        rows.append({"method": method, "lam": lam, "gap": gap, "seconds": seconds, **took})
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
races = {
    name: pd.DataFrame([row for method in METHODS for row in race(*path, method)])
    for name, path in PATHS.items()
}


# %% tags=["NEW-RIVALS", "nbval-ignore-output"]
def totals(rows):
    """Visits, rounds and wrong guesses of each method over a path."""
    return rows.groupby("method", sort=False)[["visits", "rounds", "wrong"]].sum()


for name, rows in races.items():
    table = totals(rows)
    share = table["visits"] / table["visits"]["none"]
    print(f"visits along the path of {name}, of those of none:", figures.listed(share.to_dict()))
    print(
        f"   {len(PATHS[name][0])} terms; rounds:",
        figures.listed(table["rounds"].to_dict(), "{:.0f}"),
    )
    print("   wrong guesses:", figures.listed(table["wrong"].to_dict(), "{:.0f}"))
    assert (table["wrong"][["none", "safe"]] == 0).all() and table["wrong"]["working set"] > 0

# %% tags=["nbval-ignore-output"]
figure, axes = figures.panels(2, width=8.0, height=3.4, sharey=True)
shares, labels = {}, {"xlabel": "lam", "ylabel": "visits / those without screening"}
for ax, (name, rows) in zip(axes, races.items(), strict=True):
    by_lam = rows.pivot(index="lam", columns="method", values="visits")[list(METHODS)]
    by_lam = by_lam.sort_index(ascending=False)
    lines = {method: by_lam[method] / by_lam["none"] for method in METHODS[1:]}
    shares[name] = {method: line.mean() for method, line in lines.items()}
    figures.lines(lines, by_lam.index.to_numpy(), ax=ax, title=name, path=True, ratio=True,
                  marks="apart", **labels)
listed = "; ".join(f"{name}: {figures.listed(values)}" for name, values in shares.items())
figures.show(
    "Curves show the visits of each method over the visits without screening, along each path, on "
    "a logarithmic axis. Means: "
    f"{listed}."
)

# %% [markdown]
# Here are the CPU seconds of this run. A look at all terms costs more than a visit, and each round begins a solve anew:

# %% tags=["nbval-ignore-output"]
for name, rows in races.items():
    seconds = rows.groupby("method", sort=False)["seconds"].sum()
    print(f"{name}: seconds, of none:", figures.listed((seconds / seconds["none"]).to_dict()))
    prob, lams, inner = PATHS[name]
    for screening in ("auto", ()):
        started = time.process_time()
        path = ss.path(prob, lams, rtol=1e-6, screening=screening, method=inner)
        used = (time.process_time() - started) / seconds["none"]
        assert all(solution.converged for solution in path)
        print(f"   ss.path(screening={screening!r}): {used:.2f}")

# %% [markdown]
# **What is found.** A good guess leaves out more than any proof can, because it may be wrong: along these paths all guesses visit fewer terms than safe screening does, many fewer for the machines, hardly
# fewer for the metrics. The strong rule was wrong for a handful of terms and paid with a few more solves. The working set and sieving begin with few terms and are wrong about many; sieving needs about two
# rounds for each $\lambda$. The fewest visits has the strong rule with a proof inside: the guess leaves out at once what the ball would find only near the end. In seconds the order is another, because each round begins anew.
#
# ## Better points by extrapolation
#
# Celer gets its certificates earlier: it extrapolates the last iterates of coordinate descent to where they tend, and takes the gap there. The same for the machines at $C = 1$, with the last seven iterates, combined so that their six steps, combined alike, are shortest:


# %%
def extrapolated(points):
    """The combination of points whose steps, combined alike, are shortest."""
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
last = [machines.gap(x, 1.0) for x in points[6:]]
ahead = [
    machines.gap(extrapolated(np.array(points[k - 6 : k + 1])), 1.0) for k in range(6, len(points))
]
gain = np.array(last) / np.array(ahead)

# %% tags=["nbval-ignore-output"]
print(
    f"gap of the last sweep over the extrapolated one: median {np.median(gain):.2g}, largest "
    f"{gain.max():.2g}"
)
print(f"the extrapolated point is better after {np.mean(gain > 1.0):.0%} of the sweeps")

# %% [markdown]
# The idea carries over: for one more look at all terms the certificate often improves by a factor. What is better is the point, so safe screening and the guesses gain alike.
#
# ## What a guess cannot give
#
# **Decisions before the end.** Stop the machines at a relative gap of 3 %. Each term of the point found lies in some region, and one may read off L and R. Some of these readings are wrong. What the ball decides at the same point is right:

# %% tags=["NEW-RIVALS", "nbval-ignore-output"]
read = proved = misread = 0
for C in np.geomspace(0.05, 5.0, 12):
    rough = ss.solve(machines, 1.0 / C, rtol=0.03, screening=(), method="unshrunk")
    best = ss.solve(machines, 1.0 / C, rtol=1e-12)
    margins, true = machines.terms.margins(rough.x), machines.terms.margins(best.x)
    found = ss.screen(machines, rough.x, 1.0 / C, screening=("MGB",))
    room = best.eps * machines.terms.norms
    read += np.sum((margins < 0.5) | (margins > 1.0))
    misread += np.sum((margins < 0.5) & (true > 0.5 + room)) + np.sum(
        (margins > 1.0) & (true < 1.0 - room)
    )
    proved += found.n_L + found.n_R
    assert not np.any(found.in_R & (true < 1.0 - room))
    assert not np.any(found.in_L & (true > 0.5 + room))
print(
    f"at 12 rough solutions: {read} regions read off, {misread} of them wrong; {proved} "
    "proved, none wrong"
)
assert 0 < misread < read and proved > 0

# %% [markdown]
# **A whole interval.** The balls of the two ends of an interval of $\lambda$, from one point, hold the solutions for all of it ([`48-certified-choice`](48-certified-choice.ipynb)). What both decide is certain for each $\lambda$ between. The strong rule would
# have to be checked by a solve for each:

# %%
top = 1.0
start = ss.solve(machines, top, rtol=1e-9)
for factor in (0.97, 0.9, 0.7):
    ends = [
        ss.screen(machines, start.x, lam, start.alpha, screening=("MGB",))
        for lam in (top, factor * top)
    ]
    both = ss.Screened(ends[0].in_L & ends[1].in_L, ends[0].in_R & ends[1].in_R)
    for lam in np.linspace(factor, 1.0, 7) * top:
        between = ss.solve(machines, lam, rtol=1e-11)
        true, room = machines.terms.margins(between.x), between.eps * machines.terms.norms
        assert np.all(true[both.in_R] > 1.0 - room[both.in_R])
        assert np.all(true[both.in_L] < 0.5 + room[both.in_L])
    print(
        f"lam from {factor} to 1: {both.n_L + both.n_R} of {len(machines)} terms are "
        "certain for all of it"
    )

# %% [markdown]
# ## When safety pays
#
# | you want | take |
# |---|---|
# | one solution, or a path, as fast as can be | for machines a guess with a check: fewer visits, the same certificate in the end; for these metrics no method beat solving without screening |
# | to know which terms matter, and be right | safe screening: a reading off an approximate solution is wrong for some |
# | to stop early, and keep what has been decided | safe screening |
# | all $\lambda$ of an interval, changed weights, left-out terms | safe screening: one point proves it for all of them, see [`29b`](29b-when-the-problem-changes.ipynb) and [`48`](48-certified-choice.ipynb) |
# | terms that cost much to look at, or to store | safe screening: what has gone need not be kept for a check |
#
# The library has both: `method="coordinate"`, the default for machines, shrinks, which is a guess that the gap of the whole problem checks in the end; kernel machines have working sets; `active_set=True` is one for triplets.
# By default screening goes on top for lists of triplets, pairs and quadruplets ([`45-when-to-screen`](45-when-to-screen.ipynb)).
#
# ## Exercise
#
# Can the strong rule err for a problem with one feature?
#
# <details>
# <summary><b>Solution</b></summary>
#
# Not for R. With one feature all margins are multiples of one number $x$. A smaller $\lambda$ never makes the penalty $\frac12x^2$ of the solution smaller, and the solution never changes its sign, for the sign is that of
# minus the slope of the sum of losses at 0. So a margin above 1 stays there.
#
# </details>
#
# ## Fine print
#
# * **Which strong rule.** The paper's is for features of the lasso. The one here is its step of proof with terms in the place of features. Others could be made, for example from a path bound with a smaller radius.
# * **Visits** are not operations: a step of the gradient method over triplets costs $d$ or $d^2$ a visit, and a look at all terms needs the margins only.
# * **The working set** here starts from the curved terms of the last solution and doubles. Blitz and Celer choose by the distance to a better dual point, and the size by a model of progress.
#
# ## References
#
# * R. Tibshirani et al., *Strong rules for discarding predictors in lasso-type problems*, J. R. Stat. Soc. B 74 (2012): summary and introduction could be read.
# * Y. Yuan, M. Lin, D. Sun, K.-C. Toh, *Adaptive sieving*, arXiv 2306.17369: abstract and introduction could be read.
# * M. Massias, A. Gramfort, J. Salmon, *Celer: a fast solver for the lasso with dual extrapolation*, ICML 2018: the description of the package could be read, the paper could not.
# * T. Johnson, C. Guestrin, *Blitz*, ICML 2015, could not be read. The plan of a working set is told here as the others tell it.
