# %% [markdown]
# # Start here
#
# To learn a metric from triplets is to minimise a sum of very many terms. At the solution most of the
# terms do not matter one by one. Some cost nothing. Others pull with a constant force, so that their sum is
# all that counts. **Safe screening proves which ones these are before the solution is known**, and leaves
# them out. The solution stays the same.
#
# This notebook shows the idea on a problem that is small enough to draw. Then it shows the five lines that
# use the library, and where to go next.

# %% [markdown]
# ## The idea in two minutes
#
# There are three classes of points in the plane. A *triplet* $(i, j, l)$ asks that $x_i$ be closer to
# $x_j$, a point of its own class, than to $x_l$, a point of another class. The metric
# $d_M(x, z)^2 = (x - z)^\top M (x - z)$ is to be learned. The *margin* of a triplet is the difference of the
# two squared distances, which is linear in $M$:
#
# $$\langle H_{ijl}, M\rangle = d_M(x_i, x_l)^2 - d_M(x_i, x_j)^2 .$$
#
# A margin above 1 costs nothing. The smoothed hinge loss says what a smaller one costs. $M$ has to be
# positive semidefinite:
#
# $$\min_{M \succeq 0} \; \sum_{(i,j,l)} \ell(\langle H_{ijl}, M\rangle) + \tfrac{\lambda}{2} \|M\|_F^2 .$$

# %%
import numpy as np

import safescreen as ss
from safescreen_book import figures

rng = np.random.default_rng(2)
centers = np.array([[-1.7, 0.0], [1.7, 0.2], [0.1, 1.9]])
X = np.concatenate([center + rng.standard_normal((6, 2)) * [0.9, 0.3] for center in centers])
y = np.repeat([0, 1, 2], 6)

triplets = ss.Triplets.from_labels(X, y, k=3)
loss = ss.SmoothedHinge(gamma=0.4)
problem = ss.Problem(triplets, loss)
print(triplets)

# %% [markdown]
# Suppose the problem has been solved for some $\lambda_0$, and is now to be solved for a $\lambda$ that is
# 10 % smaller. The old solution $M_0$ and the two numbers $\lambda_0, \lambda$ give a ball that contains the
# new solution (the *path bound*). The smallest and the largest margin over a ball are
#
# $$\langle H, Q\rangle \pm r\,\|H\|_F \qquad (\text{center } Q, \text{ radius } r).$$
#
# If the smallest is above 1, the triplet costs nothing at the new solution: it is in the *zero* part of
# the loss, R. If the largest is still where the loss is a straight line, the triplet pulls with a constant
# force: it is in the *linear* part, L. Nobody has computed the new solution yet.

# %%
lam0 = 0.05 * problem.lam_max()
lam = 0.9 * lam0
old = ss.solve(problem, lam0, rtol=1e-9)

ball = ss.spheres.relaxed_path_bound(old.x, old.eps, lam0, lam)
found = ss.rules.sphere(problem, ball)
print(
    f"proved: {found.n_L} triplets in L, {found.n_R} in R, of {len(problem)} ({found.rate:.0%})"
)

# %% [markdown]
# Now solve the problem, and look where the triplets really are. The screened ones are in colour. This is
# the idea of STS19 Figure 1 with computed points.

# %% tags=["figure:overview"]
new = ss.solve(problem, lam, rtol=1e-9)
margins = triplets.margins(new.x)

figure, axes = figures.panels(3, width=11.0, height=3.3, width_ratios=[1.0, 1.25, 1.25])
span = (-0.35, 2.8)
figures.points_and_metric(X, y, new.x, ax=axes[0], title="three classes, learned metric")
figures.terms_on_loss(
    loss, margins, ax=axes[1], title="before screening: every triplet counts", span=span
)
figures.terms_on_loss(
    loss, margins, found, ax=axes[2], title="after: proved, and left out", span=span
)
figures.show(
    "Left, dots are points of several classes in the plane, and an ellipse is the learned metric. "
    "Middle and right, dots are triplets along the loss, at their margins: "
    f"before screening all are grey; after it {found.n_L} on the falling line and {found.n_R} on "
    "the flat part are coloured, as proved, and left out."
)

# %% [markdown]
# No coloured triplet is on a wrong part of the loss. The problem without the coloured triplets has the same
# solution. A grey triplet is either too close to a corner of the loss to be certain, or it lies between the
# corners, where the loss is curved and the triplet matters.

# %% tags=["STS19-F1"]
assert np.all(margins[found.in_L] < 1.0 - loss.gamma) and np.all(margins[found.in_R] > 1.0)

reduced = problem.reduce(found.in_L, found.in_R)
again = ss.solve(reduced, lam, rtol=1e-9, screening=())
assert np.linalg.norm(again.x - new.x) <= again.eps + new.eps
print(f"{len(reduced)} triplets instead of {len(problem)}, the same M:")
print(np.round(again.x, 4))

# %% [markdown]
# On a path of decreasing $\lambda$ every solution screens triplets for the next $\lambda$. During each solve
# the iterates screen more of them:

# %%
path = ss.path(
    problem, problem.lam_max() * 0.9 ** np.arange(60), rtol=1e-6, screening=("RRPB", "PGB")
)
assert all(solution.converged for solution in path)
figures.shares(path, title="what is known at the end of each solve")
figures.show(
    "Stacked areas show the shares of the triplets along the path, on which lambda "
    "falls to the right: "
    "those proved to be on the falling line (L), the undecided ones, and those proved to be on "
    "the flat part (R)."
)

# %% [markdown]
# ## In your own code
#
# Five lines are enough. `tol` is the duality gap to reach, in units of the objective; `rtol` is the gap
# relative to the objective. `screening` names the balls, and `()` names none. If it is left out, the
# library screens triplets that are in a list. The returned gap is an upper bound that
# includes rounding.

# %% tags=["nbval-ignore-output"]
triplets = ss.Triplets.from_labels(X, y, k=3)
problem = ss.Problem(triplets, ss.SmoothedHinge(gamma=0.05))
lam = 0.05 * problem.lam_max()
solution = ss.solve(problem, lam, tol=1e-6, screening=("RRPB", "PGB"))
assert solution.converged and solution.gap <= 1e-6
print(f"of {len(problem)} triplets screened: {solution.n_L} in L, {solution.n_R} in R")

# %% [markdown]
# | instead of | write |
# |---|---|
# | one $\lambda$ | `ss.path(problem, ratio=0.9)`: warm starts, screening from solution to solution |
# | listed triplets | `ss.ProductTriplets(X, y)`: all triplets without listing them, if there are very many |
# | a full matrix | `ss.Triplets.from_labels(X, y, diagonal=True)`: non-negative weights of the features |
# | triplets | `ss.Samples(X, y)`: a linear support vector machine without intercept, labels -1 and +1 |
# | samples without intercept | `ss.FreeIntercept.from_points(X, y)`: with an intercept that nothing penalises |
# | samples | `ss.KernelSamples.from_points(X, y, "rbf")`: the same with a kernel |
# | a solver | `ss.TripletMetric()`, `ss.SafeSVC()`, `ss.HDSL()`: estimators with the conventions of scikit-learn |
# | the smoothed hinge | `ss.Hinge()` |

# %% [markdown]
# ## Where to go
#
# | you want to | go to |
# |---|---|
# | use your own table | [`01-your-own-data`](01-your-own-data.ipynb) |
# | work with scikit-learn | [`02-with-scikit-learn`](02-with-scikit-learn.ipynb) |
# | learn from judgements of people | [`03-judgements`](03-judgements.ipynb) |
# | see how a theorem is derived and checked | [`11-gradient-bound`](11-gradient-bound.ipynb), then [all theorems](../docs/book/theorems.md) |
# | see an experiment beside the paper | [`51-path-time`](51-path-time.ipynb), then [all experiments](../docs/book/experiments.md) |
# | see every test in one table | [`80-the-map`](80-the-map.ipynb) |
# | read what became of each claim | [`90-report`](90-report.ipynb), then [the ledger](../docs/claims.md) |
# | look up a symbol or a word | [notation](../docs/notation.md), [glossary](../docs/glossary.md) |
# | run or change something | [commands and folders](../docs/commands.md) |
#
# ## What is not covered
#
# * Losses without a zero or a linear piece, such as the logistic loss. With them there is nothing to screen.
# * Problems without the squared norm. All balls come from its strong convexity. A trace norm may be added,
#   because over the semidefinite cone it is a linear term.
# * Ranges of $\lambda$ for a support vector machine with a free intercept.
# * Claims that are still `open` in `claims.yml`. `safescreen claims` prints them.
