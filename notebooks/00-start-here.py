# %% [markdown]
# # Start here
#
# A metric learned from triplets minimises a sum of very many terms. At the solution most of these terms lie on a straight part of the loss. Some terms have zero loss. For others the loss is linear, so that we need only their sum. **Safe screening proves for many terms on which straight part they lie, before we know the solution**, and takes these terms out of the problem. The solution stays the same.
#
# This notebook shows the idea on a problem that is small enough to draw. Then it shows the five lines of code that use the library, and lists the notebooks to read next.

# %% [markdown]
# ## The idea in two minutes
#
# The data are points of the plane in three classes. A *triplet* $(i, j, l)$ demands that $x_i$ is closer to $x_j$, a point of its own class, than to $x_l$, a point of another class. We want to learn the matrix $M$ of the metric $d_M(x, z)^2 = (x - z)^\top M (x - z)$. The *margin* of a triplet is the difference of its two squared distances, which is linear in $M$:
#
# $$\langle H_{ijl}, M\rangle = d_M(x_i, x_l)^2 - d_M(x_i, x_j)^2 .$$
#
# A triplet with a margin above 1 has zero loss. For smaller margins the smoothed hinge $\ell$ is positive: $\ell(u) = 0$ for $u > 1$, the line $\ell(u) = 1 - u - \gamma/2$ for $u < 1 - \gamma$, and the parabola $\ell(u) = (1 - u)^2/(2\gamma)$ in between. So $\gamma$ is the width of the curved part. We minimise the sum of the losses and a regularizer over all positive semidefinite matrices $M$:
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
# Suppose that we have solved the problem for some $\lambda_0$, and now want to solve it for a $\lambda$ that is 10 % smaller. From the old solution $M_0$ and the numbers $\lambda_0$ and $\lambda$ we compute a ball that contains the new solution (the *path bound*). A solver finds $M_0$ only approximately. So the code takes the *relaxed* path bound, RRPB, which also uses `old.eps`, a bound of the distance from `old.x` to the exact $M_0$. `lam_max` is the smallest $\lambda$ at which all triplets lie on the linear part of the loss. The largest and the smallest margin over a ball are
#
# $$\langle H, Q\rangle \pm r\,\|H\|_F \qquad (\text{center } Q, \text{ radius } r).$$
#
# If the smallest margin is above 1, the triplet has zero loss at the new solution: it is in the *zero* part of the loss, R. If the largest margin is below $1 - \gamma$, where the loss is a straight line, the triplet is in the *linear* part of the loss, L. We know this before we compute the new solution.

# %%
lam0 = 0.05 * problem.lam_max()
lam = 0.9 * lam0
old = ss.solve(problem, lam0, rtol=1e-9)

ball = ss.spheres.relaxed_path_bound(old.x, old.eps, lam0, lam)
found = ss.rules.sphere(problem, ball)
print(f"proved: {found.n_L} triplets in L, {found.n_R} in R, of {len(problem)} ({found.rate:.0%})")

# %% [markdown]
# Now we solve the problem and compute the margins at the new solution. The picture shows the screened triplets in colour. It is Figure 1 of the paper STS19 (Yoshida, Takeuchi and Karasuyama, *Safe Triplet Screening for Distance Metric Learning*, Neural Computation 31, 2019) with computed points.

# %% tags=["figure:overview"]
new = ss.solve(problem, lam, rtol=1e-9)
margins = triplets.margins(new.x)

figure, axes = figures.panels(3, width=11.0, height=3.3, width_ratios=[1.0, 1.25, 1.25])
span = (-0.35, 2.8)
figures.points_and_metric(X, y, new.x, ax=axes[0], title="three classes, learned metric")
title = "before screening: every triplet counts"
figures.terms_on_loss(loss, margins, ax=axes[1], title=title, span=span)
title = "after: proved, and left out"
figures.terms_on_loss(loss, margins, found, ax=axes[2], title=title, span=span)
figures.show(
    "In the left panel dots show points of several classes in the plane, and an ellipse joins the "
    "points that have one learned distance from the mean of all points. In the middle and right panels dots show the triplets on the loss, at their "
    "margins. Before screening (middle) all are grey. After screening (right) colours mark the "
    f"screened triplets: {found.n_L} on the falling line and {found.n_R} on the flat part."
)

# %% [markdown]
# Every coloured triplet is on the part of the loss that the ball has proved. The problem without the coloured triplets has the same solution. The grey triplets are of two kinds. Some are so close to a corner of the loss that the ball does not decide them. The others lie between the corners, where the loss is curved, so they must stay in the problem.

# %% tags=["STS19-F1"]
assert np.all(margins[found.in_L] < 1.0 - loss.gamma) and np.all(margins[found.in_R] > 1.0)

reduced = problem.reduce(found.in_L, found.in_R)
again = ss.solve(reduced, lam, rtol=1e-9, screening=())
assert np.linalg.norm(again.x - new.x) <= again.eps + new.eps
print(f"{len(reduced)} triplets instead of {len(problem)}, the same M:")
print(np.round(again.x, 4))

# %% [markdown]
# On a path of decreasing $\lambda$ every solution screens triplets for the next $\lambda$. The iterates of each solve screen more triplets, by the projected gradient bound, PGB, a ball around a point that is computed from the iterate and the gradient there ([glossary](../docs/glossary.md)):

# %%
lams = problem.lam_max() * 0.9 ** np.arange(60)
path = ss.path(problem, lams, rtol=1e-6, screening=("RRPB", "PGB"))
assert all(solution.converged for solution in path)
figures.shares(path, title="what is known at the end of each solve")
figures.show(
    "Stacked areas show shares of the triplets along the path, on which lambda decreases to the "
    "right: triplets proved to be on the falling line (L), undecided triplets, and triplets "
    "proved to be on the flat part (R)."
)

# %% [markdown]
# ## In your own code
#
# Five lines are enough. The solver stops when the duality gap is at most `tol`, in units of the objective; `rtol` is a limit relative to the objective. `screening` names the balls that the solver uses, and `screening=()` switches screening off. Without this argument the library screens triplets that are in a list. The returned gap is an upper bound that includes rounding errors.

# %% tags=["nbval-ignore-output"]
triplets = ss.Triplets.from_labels(X, y, k=3)
problem = ss.Problem(triplets, ss.SmoothedHinge(gamma=0.05))
lam = 0.05 * problem.lam_max()
solution = ss.solve(problem, lam, tol=1e-6, screening=("RRPB", "PGB"))
assert solution.converged and solution.gap <= 1e-6
print(f"of {len(problem)} triplets screened: {solution.n_L} in L, {solution.n_R} in R")

# %% [markdown]
# Other problems differ in one of these lines. To replace what stands in the left column, write what stands in the right column:
#
# | to replace | write |
# |---|---|
# | one $\lambda$ | `ss.path(problem, ratio=0.9)`: many $\lambda$; each solution starts and screens the next solve |
# | listed triplets | `ss.ProductTriplets(X, y)`: all triplets without a list, if they are very many |
# | a full matrix | `ss.Triplets.from_labels(X, y, diagonal=True)`: non-negative weights of the features |
# | triplets | `ss.Samples(X, y)`: a linear support vector machine without intercept, labels -1 and +1 |
# | samples without intercept | `ss.FreeIntercept.from_points(X, y)`: with an intercept that is not penalised |
# | samples | `ss.KernelSamples.from_points(X, y, "rbf")`: the same with a kernel |
# | the smoothed hinge | `ss.Hinge()` |
# | all five lines | `ss.TripletMetric()`, `ss.SafeSVC()`, or `ss.HDSL()`, which learns a sparse similarity: estimators with the conventions of scikit-learn |

# %% [markdown]
# ## Where to go next
#
# | you want to | go to |
# |---|---|
# | use your own table | [`01-your-own-data`](01-your-own-data.ipynb) |
# | work with scikit-learn | [`02-with-scikit-learn`](02-with-scikit-learn.ipynb) |
# | learn from judgements of people | [`03-judgements`](03-judgements.ipynb) |
# | see how a theorem is derived and checked | [`11-gradient-bound`](11-gradient-bound.ipynb), then [all theorems](../docs/book/theorems.md) |
# | compare an experiment with the paper | [`51-path-time`](51-path-time.ipynb), then [all experiments](../docs/book/experiments.md) |
# | see every test in one table | [`80-the-map`](80-the-map.ipynb) |
# | read the verdict on each claim | [`90-report`](90-report.ipynb), then [the ledger](../docs/claims.md) |
# | look up a symbol or a word | [notation](../docs/notation.md), [glossary](../docs/glossary.md) |
# | run or change something | [commands and folders](../docs/commands.md) |
#
# ## What is not covered
#
# * Losses without a zero or a linear piece, such as the logistic loss. A rule cannot screen terms with such a loss.
# * Problems without the squared norm. All balls use its strong convexity. You may add a trace norm, because it is a linear term over the semidefinite cone.
# * Ranges of $\lambda$ for a support vector machine with a free intercept.
# * What our runs could not judge. `safescreen claims` prints the verdict on each statement, table and figure of the papers: *verified*, *misprint* (true, printed with a slip), *corrected*, *reproduced*, *differs*, or *partial* (rows are missing, or a conclusion is undecided). [Claims](../docs/claims.md) defines these words.
