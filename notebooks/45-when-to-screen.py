# %% [markdown]
# # When to screen
#
# Screening never changes the result, so the only question is whether it saves time. A *pass* tests all remaining terms once. A pass that screens nearly all terms wastes time if the solver needs only one more iteration. A pass that screens a third of the terms may save many times its own cost. This notebook measures when a pass saves more than it costs.
#
# At the end you will have seen
#
# * the inequality that decides, and where its four numbers come from;
# * a path on which screening saves time, and a path on which it does not;
# * that a policy which estimates the unknown numbers gains hardly anything over a rule of one line;
# * the table by which `screening="auto"` chooses.

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
# Suppose that one pass costs as much as two iterations, which is close to the costs measured below. The pass makes each later iteration cheaper, by the share of the terms that it has screened. With a large share a few iterations save the cost of the pass. With a small share the picture ends before the cost is saved.

# %%
cost = 2.0  # of a pass, in iterations over all terms
n_to_come = np.arange(0, 31)
totals = {"no pass": n_to_come.astype(float)}
crossings = {}
for share in (0.03, 0.3, 0.9):
    totals[f"a pass that screens {share:.0%}"] = cost + (1.0 - share) * n_to_come
    crossings[f"with a share of {share:.0%}"] = cost / share
figures.lines(
    totals,
    n_to_come,
    xlabel="number of iterations to come",
    ylabel="cost of pass and iterations",
    title="does a pass save time?",
)
figures.show(
    "Lines show the cost of a pass and of the iterations to come, in iterations over all terms, "
    "against the number of iterations to come. The line without a pass starts at 0. The lines "
    f"with a pass start at {cost:.0f}. They cross the line without a pass after this number of "
    f"iterations: {figures.listed(crossings, '{:.1f}')}; the axis ends at {n_to_come[-1]}."
)
assert cost / 0.03 > n_to_come[-1]

# %% [markdown]
# ## The inequality
#
# An iteration costs $W$. A pass costs $S$ once, and saves the share $s$ of $W$ in each of the $n$ iterations to come. The pass saves time if
#
# $$ n\, s\, W \;>\; S . $$
#
# | number | what it is | who knows it |
# |---|---|---|
# | $W$, $S$ | cost of an iteration, cost of a pass | a clock, beforehand |
# | $n$ | the number of iterations until the gap is small enough | the history, afterwards |
# | $s$ | the share of an iteration that the pass saves | the history, afterwards |
#
# The next cell prints the smallest share $s$ with which a pass of cost $S = 2W$ saves time:

# %%
for n in (2, 5, 10, 20, 50, 100):
    share = 2.0 / n
    needed = f"s > {share:.2f}" if share < 1.0 else "never"
    print(f"{n:4d} iterations to come: {needed}")

# %% [markdown]
# ## What an iteration costs, and what a pass costs
#
# Both visit every term. We time both on iris, with the triplets of $k$ targets and $k$ impostors for each point, and with all triplets. A pass builds the ball, applies the rule to each term, and makes the reduced problem.


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
pass_cost = 2.0  # from here on a pass counts as two iterations over the same triplets

# %% [markdown]
# A pass costs about as much as two iterations. With all triplets nearly all the time is spent on the triplets. With few triplets most of the time is spent on function calls, so an iteration over 1,350 triplets takes hardly longer than an iteration over 150. Then $s$ is close to 0 even if a pass screens nearly all triplets.
#
# ## Policies, and how their work is counted
#
# A policy of the library has one method, `tests(now, then, terms)`. Its arguments are the gap and the iteration number, now and at the last pass. It returns the tests of a pass, or none. The policy `Watched` returns the tests of another policy, and counts the terms that each pass visits.


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
    """Return how many terms all iterations of some solves visited."""
    return sum(sum(point.n_terms for point in solution.history) for solution in solutions)


def looked_at(solutions, policy):
    """Return how many terms the last looks visited; each solve that screens ends with one."""
    if policy is None:
        return 0
    return sum(solution.history[-1].n_terms for solution in solutions)


# %% [markdown]
# ## A policy that estimates the saving
#
# Can a policy apply the inequality? It has to estimate $n$ and $s$. Suppose the gap has fallen from $g'$ to $g$ in $m$ iterations and continues to fall at this rate. Then it falls to $\varepsilon$ in $n = m\,\log(g/\varepsilon) / \log(g'/g)$ more iterations. The radius of a ball is proportional to the square root of the gap. A term stays undecided if its margin is nearer to a threshold than the radius times the norm of the term. So the number of undecided terms falls by about the factor $\sqrt{g/g'}$, and $s = 1 - \sqrt{g/g'}$.


# %%
@dataclass(frozen=True)
class Counting:
    """Screen when the estimated saving is larger than the cost of a pass, in iterations."""

    use: tuple
    goal: float
    pass_cost: float

    def tests(self, now, then, terms):
        if math.isinf(then.gap):  # nothing has been screened yet
            return self.use
        n_since = now.n_iter - (then.n_iter or 0)
        if n_since == 0 or not self.goal < now.gap < then.gap:
            return ()
        n_left = n_since * math.log(now.gap / self.goal) / math.log(then.gap / now.gap)
        share = 1.0 - math.sqrt(now.gap / then.gap)
        return self.use if n_left * share > self.pass_cost else ()


# %% [markdown]
# ## A path on which screening saves time
#
# We solve for 40 values of $\lambda$ with all triplets of iris, to an absolute gap of $10^{-6}$, as in the papers. With this gap nearly every $\lambda$ takes several iterations. We compare no screening (`never`) with three policies. All three screen with the midpoint gap bound (MGB), and make their first pass before the first iteration of each $\lambda$. `always` makes a pass at every iteration, and `counting` is the policy above. `auto` is the policy of the library: it makes another pass each time the gap has fallen to a tenth and ten iterations have passed.


# %% tags=["nbval-ignore-output"]
def of_auto(problem):
    """Return the policy that "auto" stands for."""
    return policy_of("auto", problem, solver_of(check_method("auto", problem), problem))


def run(problem, lams, policy, **options):
    """Return a path, how many terms the passes up to each lam visited, and the seconds."""
    watched = Watched(policy)
    sums = []
    options["screening"] = () if policy is None else watched
    options["callback"] = lambda progress: sums.append(sum(watched.sizes))
    started = time.process_time()
    solutions = ss.path(problem, lams, **options)
    return solutions, np.array(sums), time.process_time() - started


# %% tags=["nbval-ignore-output"]
policies = {
    "never": None,
    "auto": of_auto(problem),
    "always": Every(AUTO, 1),
    "counting": Counting(AUTO, 1e-6, pass_cost),
}
lams = problem.lam_max() * 0.9 ** np.arange(40)
run(problem, lams[:3], policies["auto"], tol=1e-6)  # compiles
runs = {name: run(problem, lams, policy, tol=1e-6) for name, policy in policies.items()}

# %% tags=["nbval-ignore-output"]
T = len(problem)
print(f"in visits of all {T:,} triplets; together: a pass counts as {pass_cost:.0f} iterations")
print("           iterations   passes   last looks   together   seconds")
for name, (path, passes, seconds) in runs.items():
    parts = np.array([visited(path), passes[-1], looked_at(path, policies[name])]) / T
    together = parts @ [1.0, pass_cost, pass_cost]
    print(f"{name:9}{parts[0]:12.1f}{parts[1]:9.1f}{parts[2]:13.1f}{together:11.0f}{seconds:10.2f}")

# %% [markdown]
# The iterations of `auto` visit far fewer triplets than the iterations of `never`. Most of the remaining cost of `auto` is the first pass of each $\lambda$, which visits every triplet. `always` makes more passes, each over few terms, and `counting` makes fewer passes. The total costs of these three policies differ by little, because the first pass of a $\lambda$ decides nearly all terms and later passes visit only the undecided terms. So the library estimates nothing.
#
# The solutions are the same for all policies:

# %%
plain = runs["never"][0]
for name, (path, *_) in runs.items():
    for one, two in zip(path, plain, strict=True):
        assert np.linalg.norm(one.x - two.x) <= one.eps + two.eps, name
    assert all(solution.gap <= 1e-6 for solution in path)
print(f"{len(plain)} solutions of each policy: all distances are within the error bounds")


# %% [markdown]
# The next figure shows how the cost of each policy grows along the path.


# %% tags=["nbval-ignore-output"]
def spent(name):
    """Return the cost of iterations, passes and last looks up to each lam."""
    path, passes, _ = runs[name]
    iterations = np.cumsum([visited([solution]) for solution in path])
    looks = np.cumsum([looked_at([solution], policies[name]) for solution in path])
    return (iterations + pass_cost * (passes + looks)) / T


figures.lines(
    {name: spent(name) for name in ("never", "always", "counting", "auto")},
    lams,
    path=True,
    ylabel="cost so far, in iterations",
    title="iris, all triplets",
)
ends = {name: spent(name)[-1] for name in runs}
figures.show(
    "Curves show the cost of iterations and passes up to each lambda of a path, in iterations over "
    f"all triplets. At the end of the path the costs are {figures.listed(ends, '{:.0f}')}."
)

# %% [markdown]
# ## A path on which screening saves no time
#
# We take the same data with few triplets. The passes screen most of the triplets here, too. But an iteration over the remaining triplets takes nearly as long as before, so the passes save no time. We compare seconds here, because the visits of terms take only a small part of the time.

# %% tags=["nbval-ignore-output"]
small = ss.Problem(ss.Triplets.from_labels(X, y, k=1), loss)
small_lams = small.lam_max() * 0.9 ** np.arange(40)
print(f"{len(small)} triplets   visits of iterations  seconds, the least of five")
for name, policy in (("never", None), ("auto", of_auto(small))):
    tries = [run(small, small_lams, policy, tol=1e-6) for _ in range(5)]
    share = visited(tries[0][0]) / len(small)
    print(f"{name:12}{share:22.1f}{min(seconds for *_, seconds in tries):20.3f}")

# %% [markdown]
# The library still screens such problems. This costs milliseconds. Avoiding the cost would need another rule, and a reader would have to learn it.
#
# ## Samples: shrinking leaves out nearly the same samples
#
# The library solves a support vector machine by sweeps over the samples. A sweep leaves out each sample whose dual variable is at a bound and would stay there (*shrinking*). Shrinking is a guess without a proof, it costs nothing, and the solver corrects it where it was wrong. We count the visits of samples with shrinking (`coordinate`) and without it (`unshrunk`), each with and without MGB. The unit is one visit of every sample.


# %%
def swept(solution):
    """Return how many samples the sweeps of a solve visited; an iteration is one sweep."""
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
# Without shrinking, screening saves most of the visits. Shrinking alone saves most visits as well, and then screening saves about as many visits as its passes cost. So the library screens no samples during a solve.
#
# Shrinking proves nothing. But one look with the ball of the solution proves which samples are in L and in R. With `"auto"` the library makes this look at the end of each solve; `ss.screen` makes the look for any solution. The look needs no earlier pass:

# %% tags=["nbval-ignore-output"]
never = machines["coordinate", ()]
screened = machines["coordinate", ("MGB",)]
print("share of the samples that are certain at the end: no screening, MGB")
looks = [ss.screen(svm, one.x, one.lam, one.alpha) for one in never]
for look, two in list(zip(looks, screened, strict=True))[::4]:
    print(f"  lam = {two.lam:8.2g}: {look.rate:.3f}, {two.screening_rate:.3f}")
for look, one, two in zip(looks, never, screened, strict=True):
    assert np.linalg.norm(one.x - two.x) <= one.eps + two.eps
    assert not (look.in_L & two.screened.in_R).any()
    assert not (look.in_R & two.screened.in_L).any()

# %% [markdown]
# ## The table of "auto"
#
# So `screening="auto"` chooses by the kind of term, from a table, and estimates nothing. The next cell prints this table:

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
# A pass now screens the share $s$ of the terms. A pass after $m$ more iterations screens the larger share $s' > s$, but then only $n - m$ iterations are to come. When is it better to wait?
#
# <details><summary>Solution</summary>
#
# It is better to wait if $(n-m)\,s' W > n\,s W$, that is if $s'/s > n/(n-m)$. If $s$ is near 1, waiting is hardly ever better. An example is a path, where the reference is the solution for the last $\lambda$. If the solver starts from zero, $s$ is near 0 until the ball is small, and waiting is better. The library covers both cases: it screens before the first iteration of a $\lambda$, and again each time the gap has fallen to a tenth and ten iterations have passed.
#
# </details>
#
# ## Fine print
#
# * **Your own choice.** You can name balls, as in `screening=("MGB",)`, or give a policy: an object with the method `tests(now, then, terms)`, such as `Counting` above. With `()` the library screens nothing during a solve, and makes no look at the end.
# * **Estimates.** The estimate of $n$ is good only if the gap falls at an even rate. The estimate of $s$ is good only if the margins are spread evenly around the thresholds.
# * **Products.** The library cannot screen products: [`25b-screening-of-pairs`](25b-screening-of-pairs.ipynb) shows what such screening would cost.
#
# Next: [`23-algorithms`](23-algorithms.ipynb) for the solver,
# [`28-midpoint-gap-bound`](28-midpoint-gap-bound.ipynb) for the ball,
# [theorems](../docs/book/theorems.md) for all notebooks.
