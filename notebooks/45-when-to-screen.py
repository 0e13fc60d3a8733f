# %% [markdown]
# # When to screen: counted operations decide
#
# Screening never changes the result, so only its cost decides whether to screen. A pass that removes nearly all terms
# is a loss if hardly an iteration is left. One that removes a third may save many times what it costs. With
# `screening="auto"`, the default of `solve`, `path` and the estimators, the library compares cost and saving. This
# notebook shows how.
#
# At the end you will have seen
#
# * the one inequality that decides, and where its four numbers come from;
# * that it reads no clock: the same input leads to the same decisions wherever it is rounded alike;
# * what it decides on a path where screening pays, on one where it does not, and on samples.

# %%
import numpy as np
from sklearn.datasets import load_iris

import safescreen as ss
from safescreen.solvers.counted import Counted
from safescreen.solvers.trace import iterations_left
from safescreen_book import figures

# %% [markdown]
# ## The idea in a picture
#
# One pass of screening costs as much as two iterations, say, which is about what it costs below. From then on each iteration is cheaper, by the
# share of the work that the pass has removed. So a pass is a debt that later iterations pay back: the larger the share, the sooner. A small share
# never pays within the picture. Whoever has to decide must know two things beforehand: how many iterations are left, and
# how large the share will be. Neither is known, and both can be guessed.

# %%
cost, left = 2.0, np.arange(0, 31)  # in units of an iteration of the whole problem
totals = {"no pass": left.astype(float)}
for share in (0.03, 0.3, 0.9):
    totals[f"a pass that removes {share:.0%}"] = cost + (1.0 - share) * left
labels = {"xlabel": "iterations that are left", "ylabel": "cost of all that is left", "title": "does a pass pay?"}
figures.lines(totals, left, **labels)
figures.show(
    "Cost of all that is left against the number of iterations that are left, in iterations of the whole problem. Without a pass a line through 0. With a pass three lines "
    f"that begin at {cost:.0f}: the one with a share of 90 % crosses the first line at {cost / 0.9:.1f}, that with 30 % at {cost / 0.3:.1f}, that with 3 % not at all."
)
assert cost / 0.03 > left[-1]

# %% [markdown]
# ## The inequality
#
# An iteration costs $W$ operations. A pass of screening costs $S$, and saves the part $s$ of $W$ in each of the $n$
# iterations to come. The library makes the pass if
#
# $$ n\, s\, W \;>\; q\, S, \qquad q = 1.25 . $$
#
# The factor $q$ allows for errors of the guesses by a quarter. Two of the four numbers are counted, two are guessed:
#
# | number | from |
# |---|---|
# | $W$, $S$ | `terms.costs().evaluation`, `terms.costs().screening`: how many pairs, triplets and stored numbers, each with a fixed weight, about the nanoseconds that a machine of today needs for one |
# | $n$ | how fast the gap fell in the second half of the iterations so far; at the start of a new $\lambda$ what the last one took |
# | $s$ | the rate of the last $\lambda$, or the rule on a sample of the terms, evenly spread |
#
# Only the ratio $W/S$ matters, and a machine that is twice as fast is so for both.
#
# <details>
# <summary><b>Symbols</b></summary>
#
# | symbol | what it is |
# |---|---|
# | $P(x;\lambda)$ | $\sum_t \ell(\langle a_t, x\rangle) - \langle c, x\rangle + \tfrac\lambda2\lVert x\rVert^2$, to be minimised over $x \in K$ |
# | $W$ | operations of one iteration that fall with the number of terms |
# | $S$ | operations of one pass of screening: a rule over all terms that are left, and leaving out what it finds |
# | $n$ | iterations that are left until the gap is small enough |
# | $s$ | the part of $W$ that a pass would save in each of them |
#
# </details>

# %%
X, y = load_iris(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)
problem = ss.Problem(ss.Triplets.from_labels(X, y), ss.SmoothedHinge(0.05))
terms = problem.terms
print(f"{len(terms):,} triplets: W = {terms.costs().evaluation / 1e6:.1f}, S = {terms.costs().screening / 1e6:.1f} million operations")
print(f"norms, once: {terms.costs().preparation / 1e6:.1f} million")
W, S, once = terms.costs().evaluation, terms.costs().screening, terms.costs().preparation
print(f"a pass costs as much as {S / W:.1f} iterations, the first one as much as {(S + once) / W:.0f}")
assert 1.5 < S / W < 2.5 and once > S and Counted.profit == 1.25 and Counted.fallen == 0.5 and Counted.budget == 0.02

# %% [markdown]
# So a pass costs as much as about two iterations here. The first pass needs the norm of every triplet and costs far
# more. The part that a pass has to save depends on how many iterations are left:

# %%
left = np.array([2, 5, 10, 20, 50, 100])
needed = Counted.profit * terms.costs().screening / (left * terms.costs().evaluation)
for n, s in zip(left, needed, strict=True):
    print(f"{n:4d} iterations left: s > {s:.2f}" if s < 1.0 else f"{n:4d} iterations left: never")
assert needed[0] > 1.0 > needed[2]

# %% [markdown]
# ## How many iterations are left
#
# A gap that falls by a constant factor an iteration is a line on a logarithmic axis. The library takes the factor from
# the second half of the iterations so far, because the first steps from a good start say little.

# %% tags=["nbval-ignore-output"]
solution = ss.solve(problem, 1e-3 * problem.lam_max(), tol=1e-6, screening=())
history, gaps = solution.history, np.array([h.gap for h in solution.history])
seen = range(6, len(history), 3)
guesses = [iterations_left(history[: k + 1], 0.0, gaps[k], 1e-6) for k in seen]
fig, axes = figures.panels(2)
axes[0].semilogy(gaps, color="C0")
axes[0].set(xlabel="iteration", ylabel="duality gap", title="one solve")
axes[1].plot(list(seen), guesses, "o", label="guessed")
axes[1].plot(list(seen), [len(history) - 1 - k for k in seen], color="k", label="true")
axes[1].set(xlabel="iteration", ylabel="iterations left", title="how many are left")
axes[1].legend()
figures.show(
    "Left, the duality gap of one solve against the iteration, logarithmic: it zigzags at first "
    f"and then falls to {gaps[-1]:.0e}. Right, the iterations left, true, a "
    f"falling line, and guessed, dots: up to {max(guesses):.0f} early on, close to the line at the end."
)

# %% [markdown]
# As long as the gap falls unevenly, the guess may be several times too large. Towards the end it is close. An
# unnecessary pass costs as much as a few iterations, and its decisions remain.
#
# ## A path where screening pays
#
# We solve to an absolute gap of $10^{-6}$, as the papers do, so nearly every $\lambda$ takes several iterations. Each
# solution tells what was decided for its $\lambda$: `solution.decisions`.

# %% tags=["nbval-ignore-output"]
lams = problem.lam_max() * 0.9 ** np.arange(40)
path = ss.path(problem, lams, tol=1e-6)
plain = ss.path(problem, lams, tol=1e-6, screening=())
always = ss.path(problem, lams, tol=1e-6, screening=("MGB",))


def decisions(solutions):
    """Return what was decided along a path."""
    return [decision for solution in solutions for decision in solution.decisions]


def visited(solutions):
    """Return how many terms all iterations looked at."""
    return sum(h.n_terms for solution in solutions for h in solution.history)


print("lam / lam_max   iterations left   part saved   screens")
for decision in decisions(path)[:14]:
    print(f"{decision.lam / lams[0]:13.4f} {decision.left:17.1f} {decision.saved:12.2f}   {decision.screens}")

# %% [markdown]
# A *look* tries the rule on a sample of the terms, to guess $s$. The first $\lambda$ are solved without a look, because
# a look would cost too large a part of the operations so far. The norms, which only screening needs, are compared with
# the saving over all $\lambda$ to come. From there on every $\lambda$ has a pass, and some have another one.

# %% tags=["nbval-ignore-output"]
def cost_always(solutions):
    """Operations of the passes: one over all terms for each lam, later ones over what was left."""
    whole, later = len(solutions), 0.0
    for solution in solutions:
        later += sum(h.n_terms for h in solution.history[10::10]) / len(terms)
    return once + S * (whole + later)


cost_auto = sum(decision.cost for decision in decisions(path) if decision.screens)
costs = {"never": 0.0, "auto": cost_auto, "always": cost_always(always)}
totals = {}
print("in units of an iteration over all triplets:")
print("        iterations   screening   together")
for name, found in (("never", plain), ("auto", path), ("always", always)):
    totals[name] = visited(found) / len(terms) + costs[name] / W
    print(f"{name:7s}{visited(found) / len(terms):11.0f}{costs[name] / W:12.0f}{totals[name]:11.0f}")
passes = sum(decision.screens for decision in decisions(path))
n_screened = sum(any(decision.screens for decision in solution.decisions) for solution in path)
print(f"passes of auto: {passes}, for {n_screened} of {len(lams)} lam")
for one, two in zip(path, plain, strict=True):
    assert np.linalg.norm(one.x - two.x) <= one.eps + two.eps

# %% [markdown]
# With the passes counted, `auto` still needs less than half as much as no screening, though most of what it needs is screening now. Screening at every
# $\lambda$ needs less again here. `auto` solves the first $\lambda$ without screening, because it does not know yet that screening pays.

# %% tags=["nbval-ignore-output"]
fig, axes = figures.panels(2)
axes[0].semilogx(lams, [s.screening_rate for s in always], color="C1", label="always")
axes[0].semilogx(lams, [s.screening_rate for s in path], "o", ms=3, color="C0", label="auto")
axes[0].set(xlabel=r"$\lambda$", ylabel="part screened", title="what is screened")
axes[0].legend()
axes[1].loglog(lams, np.maximum([s.n_iter for s in plain], 1), color="k", label="never")
axes[1].loglog(lams, np.maximum([s.n_iter for s in path], 1), "o", ms=3, color="C0", label="auto")
axes[1].set(xlabel=r"$\lambda$", ylabel="iterations", title="how long it takes")
axes[1].legend()
for ax in axes:
    ax.invert_xaxis()
figures.show(
    "Along a path. Left, the part screened: always, near 1; auto, none for the largest "
    f"lambdas and then at least {min(s.screening_rate for s in path if s.screening_rate):.2f}. Right, the iterations of each solve, up to "
    f"{max(s.n_iter for s in plain)} without screening; with auto they differ by {max(abs(a.n_iter - b.n_iter) for a, b in zip(path, plain, strict=True))} at most."
)

# %% [markdown]
# ## A path where it does not
#
# Here are the same data with few triplets. An iteration costs less than the call of a rule.

# %%
small = ss.Problem(ss.Triplets.from_labels(X, y, k=3), ss.SmoothedHinge(0.05))
looks = decisions(ss.path(small, small.lam_max() * 0.9 ** np.arange(60), tol=1e-6))
print(f"{len(small)} triplets, W = {small.terms.costs().evaluation / 1e3:.0f} thousand operations: {len(looks)} looks")
assert not any(decision.screens for decision in looks)

# %% [markdown]
# ## Samples, and the same decisions again
#
# For support vector machines an iteration is a sweep of coordinate descent, and a pass costs one product with the data.
# The inequality is the same.

# %% tags=["nbval-ignore-output"]
rng = np.random.default_rng(0)
Z = rng.standard_normal((40_000, 20)) + 0.5 * (np.arange(40_000) % 2)[:, None]
svm = ss.Problem(ss.Samples(Z, 2 * (np.arange(40_000) % 2) - 1), ss.Hinge())
taken = []
for _ in range(2):
    found = ss.path(svm, svm.lam_max() * 0.5 ** np.arange(1, 15), tol=0.0, rtol=1e-9)
    taken.append(decisions(found))
for decision in taken[0]:
    print(f"C = {1 / decision.lam:.5f}: {decision.left:4.1f} sweeps left, saves {decision.saved:.2f}, screens: {decision.screens}")
assert taken[0] == taken[1] and any(decision.screens for decision in taken[0])

# %% [markdown]
# ## Exercise
#
# A pass now finds the part $s$ of the terms. A pass after $m$ more iterations finds $s' > s$, but then only $n - m$
# iterations are left. When is it better to wait?
#
# <details><summary>Solution</summary>
#
# $(n-m)\,s' W > n\,s W$, so $s'/s > n/(n-m)$. If $s$ is near 1, as after the solution for the last $\lambda$, it is
# never better. If the solver starts from zero, $s$ is near 0 until the ball is small, and it is better to wait. The
# policy looks again each time the gap has halved.
#
# </details>
#
# ## Fine print
#
# A look at a sample costs something too. The library takes it only if its cost is small beside the possible saving. All
# looks that led to no pass stay together below 2 % of the operations done so far. A user who knows better names the
# balls, as in `screening=("MGB",)` for the midpoint gap bound. With `()` the library never screens.
#
# Next: [`23-algorithms`](23-algorithms.ipynb) for the solver, [`28-midpoint-gap-bound`](28-midpoint-gap-bound.ipynb)
# for the ball, [`00-start-here`](00-start-here.ipynb) for everything.
