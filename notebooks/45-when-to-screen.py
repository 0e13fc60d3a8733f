# %% [markdown]
# # When to screen
#
# Screening never changes the result, so only its cost decides whether to screen. A pass that
# removes nearly all terms is a loss if hardly an iteration is left. One that removes a third may
# save many times what it costs. This notebook measures when a pass pays.
#
# At the end you will have seen
#
# * the one inequality that decides, and where its four numbers come from;
# * a path where screening pays, and one where it does not;
# * that a policy which guesses what it cannot know gains hardly anything over a rule of one line;
# * the table that `screening="auto"` is.

# %%
import math
import time
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from sklearn.datasets import load_iris

import safescreen as ss
from safescreen.solvers.every import Every
from safescreen.solvers.methods import AUTO, check_method, policy_of, solver_of
from safescreen.solvers.reduction import Reduction, reference
from safescreen_book import figures

# %% [markdown]
# ## The idea in a picture
#
# One pass of screening costs as much as two iterations, say, which is about what it costs below.
# From then on each iteration is cheaper, by the share of the terms that the pass has removed. So a
# pass is a debt that later iterations pay back: the larger the share, the sooner. A small share
# never pays within the picture.

# %%
cost, left = 2.0, np.arange(0, 31)  # in iterations of the whole problem
totals = {"no pass": left.astype(float)}
for share in (0.03, 0.3, 0.9):
    totals[f"a pass that removes {share:.0%}"] = cost + (1.0 - share) * left
figures.lines(
    totals,
    left,
    xlabel="iterations that are left",
    ylabel="cost of all that is left",
    title="does a pass pay?",
)
figures.show(
    "Lines show the cost of all that is left against the number of iterations that are left, both "
    "in iterations "
    "of the whole problem. Without a pass the line goes through 0. With a pass the lines begin "
    f"at {cost:.0f} and cross it after so many iterations: "
    f"{figures.listed({f'with a share of {share:.0%}': cost / share for share in (0.03, 0.3, 0.9)}, '{:.1f}')}; the axis ends at {left[-1]}."
)
assert cost / 0.03 > left[-1]

# %% [markdown]
# ## The inequality
#
# An iteration costs $W$. A pass costs $S$ once, and saves the share $s$ of $W$ in each of the $n$
# iterations to come. It pays if
#
# $$ n\, s\, W \;>\; S . $$
#
# | number | what it is | who knows it |
# |---|---|---|
# | $W$, $S$ | cost of an iteration, of a pass | a clock, beforehand |
# | $n$ | how many iterations are left until the gap is small enough | the history, afterwards |
# | $s$ | the share of an iteration that the pass saves | the history, afterwards |
#
# With $S = 2W$ the share has to be this large:

# %%
for n in (2, 5, 10, 20, 50, 100):
    share = 2.0 / n
    print(f"{n:4d} iterations left: " + (f"s > {share:.2f}" if share < 1.0 else "never"))

# %% [markdown]
# ## What an iteration costs, and what a pass costs
#
# Both look at every term. We time them on iris, with the triplets of $k$ neighbours of either kind
# and with all of them. A pass builds the ball, asks the rule, and makes the problem that is left.


# %% tags=["nbval-ignore-output"]
def fastest(task, n=30):
    """Return the least seconds of n runs of a task."""
    seconds = []
    for _ in range(n):
        started = time.perf_counter()
        task()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def costs(problem):
    """Return the seconds of an iteration and of a pass, W and S, near a solution."""
    lam = 0.1 * problem.lam_max()
    near = problem.evaluate(ss.solve(problem, lam, rtol=1e-3, screening=()).x, lam)
    W = fastest(lambda: problem.evaluate(near.x, lam))
    return W, fastest(lambda: Reduction(problem).screen(AUTO, reference(near)))


# %% tags=["nbval-ignore-output"]
X, y = load_iris(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)
loss = ss.SmoothedHinge(0.05)
print("  triplets   iteration        pass   iterations a pass costs")
for k in (1, 3, 10, 30, None):
    problem = ss.Problem(ss.Triplets.from_labels(X, y, k=k), loss)
    W, S = costs(problem)
    print(f"{len(problem):10,}{1e3 * W:9.2f} ms{1e3 * S:9.2f} ms{S / W:10.1f}")
price = 2.0  # what a pass counts as from here on, in iterations over the same triplets

# %% [markdown]
# A pass costs as much as about two iterations. With all triplets the time is that of
# looking at triplets. With few it is that of calling functions, and 150 triplets take nearly as
# long as 1,350. There $s$ is close to 0, however many triplets a pass removes.
#
# ## Policies, and how their work is counted
#
# A policy of the library has one method, `tests(now, then, terms)`: it gets gap and iteration of
# now and of the last pass, and returns the tests of a pass, or none. This one passes on what
# another one says, and writes down how many terms each pass looks at.


# %%
class Watched:
    """A policy that leaves all decisions to another one and counts the terms of its passes."""

    def __init__(self, policy):
        self.policy = policy
        self.sizes = []

    def tests(self, now, then, terms):
        tests = self.policy.tests(now, then, terms)
        if tests:
            self.sizes.append(len(terms))
        return tests


def visited(solutions):
    """Return how many terms all iterations of some solves looked at."""
    return sum(point.n_terms for solution in solutions for point in solution.history)


def looked_at(solutions):
    """Return how many terms the last looks had, of which each solve makes one, whoever screens."""
    return sum(solution.history[-1].n_terms for solution in solutions)


# %% [markdown]
# ## A policy that counts
#
# Can the inequality decide by itself? Two of its numbers have to be guessed. If the gap has fallen
# from $g'$ to $g$ in $m$ iterations and goes on like that, it needs
# $n = m\,\log(g/\varepsilon) / \log(g'/g)$ more to fall to $\varepsilon$. The radius of a ball is
# the root of the gap, up to a factor. Terms whose margin is within that of a threshold stay
# undecided, so about $\sqrt{g/g'}$ of the undecided terms will still be: $s = 1 - \sqrt{g/g'}$.


# %%
@dataclass(frozen=True)
class Counting:
    """Screen when the guessed saving is more than the price of a pass, in iterations."""

    use: tuple
    goal: float
    price: float

    def tests(self, now, then, terms):
        if math.isinf(then.gap):  # nothing has been screened yet
            return self.use
        n_since = now.n_iter - (then.n_iter or 0)
        if n_since == 0 or not self.goal < now.gap < then.gap:
            return ()
        n_left = n_since * math.log(now.gap / self.goal) / math.log(then.gap / now.gap)
        share = 1.0 - math.sqrt(now.gap / then.gap)
        return self.use if n_left * share > self.price else ()


# %% [markdown]
# ## A path where screening pays
#
# All triplets of iris, 40 values of $\lambda$, and an absolute gap of $10^{-6}$, as in the papers,
# so nearly every $\lambda$ takes several iterations. We take four policies. All of them screen with
# the midpoint gap bound (MGB), and before the first iteration of a $\lambda$ too. `auto` is that of
# the library, which screens each time the gap has fallen to a tenth and ten iterations have passed.


# %% tags=["nbval-ignore-output"]
def of_auto(problem):
    """Return the policy that "auto" stands for."""
    return policy_of("auto", problem, solver_of(check_method("auto", problem), problem))


def run(problem, lams, policy, **options):
    """Return a path, how many terms the passes up to each lam looked at, and the seconds."""
    watched = Watched(policy)
    options["screening"] = () if policy is None else watched
    sums = []
    started = time.process_time()
    solutions = ss.path(
        problem, lams, callback=lambda progress: sums.append(sum(watched.sizes)), **options
    )
    return solutions, np.array(sums), time.process_time() - started


# %% tags=["nbval-ignore-output"]
policies = {
    "never": None,
    "auto": of_auto(problem),
    "always": Every(AUTO, 1),
    "counting": Counting(AUTO, 1e-6, price),
}
lams = problem.lam_max() * 0.9 ** np.arange(40)
run(problem, lams[:3], policies["auto"], tol=1e-6)  # compiles
runs = {name: run(problem, lams, policy, tol=1e-6) for name, policy in policies.items()}

# %% tags=["nbval-ignore-output"]
T = len(problem)
print(f"in looks at {T:,} triplets; together: a pass counts as {price:.0f} iterations")
print("           iterations   passes   last looks   together   seconds")
for name, (path, passes, seconds) in runs.items():
    parts = np.array([visited(path), passes[-1], looked_at(path)]) / T
    together = parts @ [1.0, price, price]
    print(f"{name:9}{parts[0]:12.1f}{parts[1]:9.1f}{parts[2]:13.1f}{together:11.0f}{seconds:10.2f}")

# %% [markdown]
# The iterations of `auto` look at a thirtieth of the triplets that those of `never` look at. Nearly
# all that is left is the first pass of each $\lambda$, which looks at every triplet. `always` has
# more passes, over few terms, and `counting` has fewer. In the sum these three differ by little:
# the first pass of a $\lambda$ decides nearly everything, and later ones look only at what it has
# left. So the library guesses nothing.
#
# Whoever screens, the solutions are the same:

# %%
plain = runs["never"][0]
for name, (path, *_) in runs.items():
    for one, two in zip(path, plain, strict=True):
        assert np.linalg.norm(one.x - two.x) <= one.eps + two.eps, name
    assert all(solution.gap <= 1e-6 for solution in path)
print("all solutions agree within their bounds")


# %% [markdown]
# The debt of the first picture, along the path: each policy pays its passes at each $\lambda$, and
# `never` pays at each iteration.


# %% tags=["nbval-ignore-output"]
def spent(name):
    """Return the visits of iterations and passes up to each lam, a pass at its price."""
    path, passes, _ = runs[name]
    each = [visited([solution]) + price * looked_at([solution]) for solution in path]
    return (np.cumsum(each) + price * passes) / T


figures.lines(
    {name: spent(name) for name in ("never", "always", "counting", "auto")},
    lams,
    path=True,
    ylabel="cost so far, in iterations",
    title="iris, all triplets",
)
ends = {name: spent(name)[-1] for name in runs}
figures.show(
    "Curves show the cost of iterations and passes so far along a path, in iterations over all "
    "triplets. In the end they are at "
    f"{figures.listed(ends, '{:.0f}')}."
)

# %% [markdown]
# ## A path where it does not
#
# The same data with few triplets. Passes remove as large a part of them. But an iteration takes
# nearly as long without them, so nothing pays for the passes. Here the clock has to judge, because
# looks at terms are not what takes the time.

# %% tags=["nbval-ignore-output"]
small = ss.Problem(ss.Triplets.from_labels(X, y, k=1), loss)
small_lams = small.lam_max() * 0.9 ** np.arange(40)
print(f"{len(small)} triplets   looks of iterations   seconds, the least of five")
for name, policy in (("never", None), ("auto", of_auto(small))):
    tries = [run(small, small_lams, policy, tol=1e-6) for _ in range(5)]
    share = visited(tries[0][0]) / len(small)
    print(f"{name:12}{share:22.1f}{min(seconds for *_, seconds in tries):20.3f}")

# %% [markdown]
# The library screens here all the same. It loses milliseconds by this. A rule that avoids the loss
# would have to be explained.
#
# ## Samples: sweeps leave the same out
#
# A support vector machine is solved by sweeps over the samples. A sweep leaves out samples whose
# dual variable is at a bound and wants to stay there (*shrinking*). That is a guess, which the
# solver takes back where it was wrong, and it costs nothing. We count the visits of samples with
# and without shrinking (`unshrunk`), with and without MGB, in visits of all samples.


# %%
def swept(solution):
    """Return how many samples the sweeps of a solve visited; an iteration is a visit to each."""
    history = solution.history
    visits = history[0].iteration * history[0].n_terms
    for before, after in pairwise(history):
        visits += (after.iteration - before.iteration) * after.n_terms
    return visits


rng = np.random.default_rng(0)
signs = 2 * (np.arange(10_000) % 2) - 1
Z = rng.standard_normal((10_000, 20)) + 0.25 * signs[:, None]
svm = ss.Problem(ss.Samples(Z, signs), ss.Hinge())
svm_lams = svm.lam_max() * 0.5 ** np.arange(1, 15)

# %% tags=["nbval-ignore-output"]
machines = {}
print("method       screening   sweeps   passes   seconds")
for method in ("unshrunk", "coordinate"):
    options = {"method": method, "tol": 0.0, "rtol": 1e-6}
    for name in ((), ("MGB",)):
        policy = policy_of(name, svm, solver_of(method, svm))
        path, passes, seconds = run(svm, svm_lams, policy, **options)
        machines[method, name] = path
        work = sum(map(swept, path)) / len(svm)
        n_passes = passes[-1] / len(svm)
        told = "MGB" if name else "none"
        print(f"{method:12} {told:9}{work:9.0f}{n_passes:9.0f}{seconds:10.2f}")

# %% [markdown]
# Without shrinking, screening saves most sweeps. With shrinking most of them are gone already, and
# what screening saves on top is about what its passes cost. So the library screens no samples
# during a solve.
#
# Shrinking proves nothing. What is proved is known in the end all the same: every solve ends with
# one look with the ball of its solution. It needs no other pass before it:

# %% tags=["nbval-ignore-output"]
never, screened = machines["coordinate", ()], machines["coordinate", ("MGB",)]
print("part of the samples that is certain in the end: no screening, MGB")
for one, two in list(zip(never, screened, strict=True))[::4]:
    print(f"  lam = {one.lam:8.2g}: {one.screening_rate:.3f}, {two.screening_rate:.3f}")
for one, two in zip(never, screened, strict=True):
    assert np.linalg.norm(one.x - two.x) <= one.eps + two.eps
    assert not (one.screened.in_L & two.screened.in_R).any()
    assert not (one.screened.in_R & two.screened.in_L).any()

# %% [markdown]
# ## The table that "auto" is
#
# So `screening="auto"` is a table by kind of term, with nothing to guess. This is what the library
# takes:

# %%
labels = np.where(y == 0, -1, 1)
pairs = [[0, 1], [0, 60], [1, 70]]
kinds = {
    "Triplets": (ss.Triplets.from_labels(X, y, k=2), loss),
    "Pairs": (ss.Pairs(X, similar=pairs[:1], dissimilar=pairs[1:], upper=1.0, lower=2.0), loss),
    "Quadruplets": (ss.Quadruplets(X, [[0, 1, 0, 60], [1, 2, 1, 70]]), loss),
    "ProductTriplets": (ss.ProductTriplets(X, y), loss),
    "Samples": (ss.Samples(X, labels), ss.Hinge()),
    "FreeIntercept": (ss.FreeIntercept.from_points(X, labels), ss.Hinge()),
    "KernelSamples": (ss.KernelSamples.from_points(X, labels, "rbf", gamma=1.0), ss.Hinge()),
}
for kind, (terms, a_loss) in kinds.items():
    policy = of_auto(ss.Problem(terms, a_loss))
    told = "none"
    if policy is not None:
        (test,) = policy.use
        told = f"{test.spheres[0].title}, when the gap has fallen to {policy.factor:g}"
    print(f"{kind:16} {told}")

# %% [markdown]
# ## Exercise
#
# A pass now finds the share $s$ of the terms. A pass after $m$ more iterations finds $s' > s$, but
# then only $n - m$ iterations are left. When is it better to wait?
#
# <details><summary>Solution</summary>
#
# $(n-m)\,s' W > n\,s W$, so $s'/s > n/(n-m)$. If $s$ is near 1, as with the solution for the last
# $\lambda$ as a reference, it is never better. If the solver starts from zero, $s$ is near 0 until
# the ball is small, and it is better to wait. The library does both: it screens before the first
# iteration of a $\lambda$, and again each time the gap has fallen to a tenth and ten iterations have
# passed.
#
# </details>
#
# ## Fine print
#
# * **Who knows better** names balls, as in `screening=("MGB",)`, or passes a policy: an object with
#   `tests(now, then, terms)` such as `Counting` above. With `()` the library screens nothing during
#   a solve, and looks once at the end.
# * **A guess of $n$** is good only where the gap falls evenly, and one of $s$ only where margins
#   are spread evenly around the thresholds.
# * **Products** cannot be screened: [`25b-screening-of-pairs`](25b-screening-of-pairs.ipynb) shows
#   what it would cost.
#
# Next: [`23-algorithms`](23-algorithms.ipynb) for the solver,
# [`28-midpoint-gap-bound`](28-midpoint-gap-bound.ipynb) for the ball,
# [theorems](../docs/book/theorems.md) for all notebooks.
