# %% [markdown]
# # Start here
#
# To learn a metric from triplets is to minimise a sum of very many terms. At the solution most of the
# terms do not matter one by one. Some cost nothing. Others pull with a constant force, so that their sum is
# all that counts. **Safe screening proves which ones these are before the solution is known**, and leaves
# them out. The solution stays the same.
#
# This notebook shows the idea on a problem that is small enough to draw. Then it shows how to use the
# library, the notation, and the plan of the book.

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
    "Left, dots are points of several classes in the plane, and an ellipse is the learned metric. Middle and right, dots are triplets along the loss, at their margins: "
    f"before screening all are grey; after it {found.n_L} on the falling line and {found.n_R} on the flat part are coloured, as proved, and left out."
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
path = ss.path(problem, problem.lam_max() * 0.9 ** np.arange(60), rtol=1e-6, screening=("RRPB", "PGB"))
assert all(solution.converged for solution in path)
figures.shares(path, title="what is known at the end of each solve")
figures.show(
    "Stacked areas show the shares of the triplets along the path, on which lambda falls to the right: "
    "those proved to be on the falling line (L), the undecided ones, and those proved to be on the flat part (R)."
)

# %% [markdown]
# ## In your own code
#
# Five lines are enough. `tol` is the duality gap to reach, in units of the objective; `rtol` is the same
# relative to the objective. `screening` names the balls, and `()` names none. If it is left out, the
# library decides by what a ball costs and what it saves. The gap that is returned is an upper bound that
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
#
# ## Notation
#
# The library treats one problem, with $x$ a matrix or a vector in a cone $K$ and terms $a_t$:
#
# $$P(x; \lambda) = \sum_t \ell(\langle a_t, x\rangle) - \langle c, x\rangle + \tfrac{\lambda}{2}\|x\|^2, \qquad x \in K .$$
#
# The papers have letters of their own. In the table `M` is `solution.x`, and `T` is the number of triplets.
# The cell below it evaluates every entry of the column *code*, and compares its shape with the column
# *shape*. The papers are STS19 (triplets), SSS13 and SSS14 (samples) and HDSL19 (similarities);
# `CITATION.cff` has the full references.
#
# | symbol | paper | code | shape | meaning |
# |---|---|---|---|---|
# | $x_1, \dots, x_n$ | STS19 sec. 2.1 | `X` | (n, d) | points, one a row |
# | $(i, j, l)$ | STS19 sec. 2.1 | `triplets.index` | (T, 3) | anchor, same class, other class |
# | $\vert\mathcal{T}\vert$ | STS19 sec. 2.1 | `len(problem)` | number | number of triplets, of terms |
# | $M$, $w$; here $x$ | STS19 Primal; SSS14 eq. 1 | `solution.x` | (d, d) | metric; weights: `(d,)` |
# | $M \succeq O$; here $K$ | STS19 Primal | `problem.cone` |  | semidefinite, non-negative, or all |
# | $\Vert H_{ijl}\Vert_F$ | STS19 eq. 4.1 | `triplets.norms` | (T,) | norms of the terms, rounded up |
# | $\langle H_{ijl}, M\rangle$ | STS19 sec. 2.1 | `triplets.margins(M)` | (T,) | margins |
# | $\tau$; 1 in the papers | STS19 sec. 6.3 | `triplets.threshold` | number | margin from which on a term costs nothing |
# | $\ell$ | STS19 eq. 2.3 | `loss.value(0.5)` | number | smoothed hinge |
# | $\gamma$ | STS19 eq. 2.3 | `loss.gamma` | number | width of its curved part; 0: hinge |
# | $\lambda$; $1/C$ | STS19 Primal; SSS14 eq. 1 | `lam` | number | weight of the regularizer |
# | $P_\lambda(M)$ | STS19 Primal | `problem.primal(M, lam)` | number | objective |
# | $\alpha$; $\alpha_{SVM} / C$ | STS19 eq. 2.6 | `problem.alpha(M)` | (T,) | dual point $-\ell'$, in [0, 1] |
# | $\sum_t \alpha_t H_t$ | STS19 eq. 2.4 | `triplets.adjoint(alpha)` | (d, d) | here $H(\alpha)$, plus $c$ |
# | $[\,\cdot\,]_+$; here $[\,\cdot\,]_K$ | STS19 sec. 1.1 | `problem.cone.project(H)` | (d, d) | projection |
# | $M_\lambda(\alpha)$ | STS19 Dual2 | `problem.x_of(alpha, lam)` | (d, d) | primal point of a dual one |
# | $D_\lambda(\alpha)$ | STS19 Dual2 | `problem.dual(alpha, lam)` | number | dual objective |
# | $P - D$ | STS19 Theorem 4 | `problem.gap(M, lam)` | number | duality gap, an upper bound |
# | $\epsilon$ | STS19 eq. 3.2 | `solution.eps` | number | bound of the distance to the solution |
# | $\lambda_{\max}$; $1/C_{\min}$ | SSS14 Lemma 9 | `problem.lam_max()` | number | from here on all terms are in L |
# | $\hat{\mathcal{L}}$ | STS19 sec. 2.3 | `found.in_L` | (T,) | certified to be in the linear part |
# | $\hat{\mathcal{R}}$; non-SVs | STS19 sec. 2.3 | `found.in_R` | (T,) | certified to be in the zero part |
# | reduced problem | STS19 Lemma 1 | `problem.reduce(found.in_L, found.in_R)` |  | same solution |
# | $Q$ | STS19 sec. 3 | `ball.center` | (d, d) | center of a ball with the solution |
# | $r$ | STS19 sec. 3 | `ball.radius` | number | its radius, rounded up |
# | GB | STS19 Theorem 1 | `ss.spheres.gradient_bound` |  | gradient bound |
# | PGB | STS19 Theorem 2 | `ss.spheres.projected_gradient_bound` |  | projected gradient bound |
# | DGB | STS19 Theorem 4 | `ss.spheres.duality_gap_bound` |  | duality gap bound |
# | CDGB | STS19 App. F | `ss.spheres.constrained_duality_gap_bound` |  | the same at $x(\alpha)$ |
# | RPB; BT1 | STS19 Theorem 5; SSS14 Theorem 6 | `ss.spheres.path_bound` |  | path bound |
# | RRPB | STS19 Theorem 6 | `ss.spheres.relaxed_path_bound` |  | path bound, inexact reference |
# | MGB | [`28-midpoint-gap-bound`](28-midpoint-gap-bound.ipynb) | `ss.spheres.midpoint_gap_bound` |  | midpoint gap bound, known in sparse regression |
# | sphere rule | STS19 sec. 4.1; SSS14 Lemma 1 | `ss.rules.sphere` |  | over a ball |
# | linear rule; dome | STS19 Theorem 9; SSS14 Theorem 11 | `ss.rules.halfspace` |  | ball and half-space |
# | semidefinite rule | STS19 sec. 4.2 | `ss.rules.semidefinite` |  | ball and cone |
# | intersection test | SSS14 Theorem 8 | `ss.rules.intersection` |  | two balls |
# | BT1, BT2 | SSS14 Theorems 6, 7 | `ss.svm.ball_test_1` |  | tests with a reference solution, in C |
# | $\hat s$ | SSS14 eq. 25 | `ss.svm.choose_s` |  | slopes for the second ball |
# | $C_{\min}$ | SSS14 Lemma 9 | `ss.svm.c_min` |  | up to here all samples are in L |
# | $\varepsilon$-path | SSS14 App. D | `ss.svm.eps_path` |  | as few C as a given accuracy allows |
# | $s$-form | SSS13 sec. 2 | `ss.svm.total_loss` |  | the total loss is bounded by s, not weighed by C |
# | $\mathcal{D}_\lambda$, Frank-Wolfe | HDSL19 sec. 3 | `ss.hdsl.FrankWolfe` |  | sparse similarities from four-entry atoms |
# | range of $\lambda$ | STS19 Theorem 10 | `ss.ranges.relaxed_path` |  | where a term stays certain |
# | dynamic screening | STS19 Algorithm 1 | `ss.solve` |  | one $\lambda$ |
# | path | STS19 Algorithm 2 | `ss.path` |  | decreasing $\lambda$ |

# %%
import re

from safescreen_book import places

text = (places.notebooks_folder() / "00-start-here.py").read_text(encoding="utf-8")
table = re.findall(
    r"^# \|.*\| `(.+)` \| (.*) \| .+ \|$", text[text.index("# ## Notation") :], flags=re.M
)

M, alpha, lam = solution.x, problem.alpha(solution.x), solution.lam
H = triplets.adjoint(alpha)
ball = ss.spheres.duality_gap_bound(problem, M, lam)
found = ss.rules.sphere(problem, ball)
sizes = {"n": len(X), "d": X.shape[1], "T": len(problem), "number": ()}

for code, shape in table:
    value = eval(code)
    assert not shape or np.shape(value) == eval(shape, dict(sizes)), code
print("entries of the table that exist and have their shape:", len(table))

# %% [markdown]
# ## The book
#
# | notebooks | what they are | the model |
# |---|---|---|
# | `0x` | this one; your own data; with scikit-learn; judgements of people | |
# | `1x` to `4x` | one theorem each: claim, derivation, check, picture, counter-example | [`11-gradient-bound`](11-gradient-bound.ipynb) |
# | `5x` to `7x` | one experiment of a paper each, our numbers beside the paper's | [`51-path-time`](51-path-time.ipynb) |
# | `8x` | the map: every test in one table; what competes; what does not fit | [`80-the-map`](80-the-map.ipynb) |
# | `9x` | what has been run, and the ledger of claims | [`90-report`](90-report.ipynb) |
#
# Here are all of them, in an order in which they can be read:
#
# | | |
# |---|---|
# | the problem | [`10-problem-and-duality`](10-problem-and-duality.ipynb), [`26-one-problem-three-cones`](26-one-problem-three-cones.ipynb) |
# | where the solution is | [`11-gradient-bound`](11-gradient-bound.ipynb), [`12-projected-gradient-bound`](12-projected-gradient-bound.ipynb), [`13-duality-gap-bounds`](13-duality-gap-bounds.ipynb), [`14-path-bounds`](14-path-bounds.ipynb), [`15-relations-between-spheres`](15-relations-between-spheres.ipynb), [`28-midpoint-gap-bound`](28-midpoint-gap-bound.ipynb), [`28b-midpoint-gap-bound-at-work`](28b-midpoint-gap-bound-at-work.ipynb), [`28c-half-spaces-and-the-midpoint-ball`](28c-half-spaces-and-the-midpoint-ball.ipynb) |
# | what a ball says of a term | [`16-sphere-rule`](16-sphere-rule.ipynb), [`17-semidefinite-rule`](17-semidefinite-rule.ipynb), [`18-linear-rule`](18-linear-rule.ipynb), [`19-two-balls`](19-two-balls.ipynb), [`21-diagonal-metrics`](21-diagonal-metrics.ipynb), [`47-when-everything-is-decided`](47-when-everything-is-decided.ipynb), [`47b-safe-keeping`](47b-safe-keeping.ipynb), [`49-features-and-terms`](49-features-and-terms.ipynb), [`80-the-map`](80-the-map.ipynb) |
# | along the path | [`20-ranges`](20-ranges.ipynb), [`27-gap-ball-ranges`](27-gap-ball-ranges.ipynb), [`29-ranges-on-reduced-problems`](29-ranges-on-reduced-problems.ipynb), [`29b-when-the-problem-changes`](29b-when-the-problem-changes.ipynb), [`23-algorithms`](23-algorithms.ipynb), [`45-when-to-screen`](45-when-to-screen.ipynb), [`48-certified-choice`](48-certified-choice.ipynb), [`81-what-competes`](81-what-competes.ipynb) |
# | other losses and terms, many terms, rounding | [`22-other-losses-and-terms`](22-other-losses-and-terms.ipynb), [`25-product-triplets`](25-product-triplets.ipynb), [`25b-screening-of-pairs`](25b-screening-of-pairs.ipynb), [`24-floating-point`](24-floating-point.ipynb), [`82-what-does-not-fit`](82-what-does-not-fit.ipynb) |
# | support vector machines | [`30-svm-problem`](30-svm-problem.ipynb), [`31-ball-tests-and-expanded-space`](31-ball-tests-and-expanded-space.ipynb), [`32-ball-tests-1-and-2`](32-ball-tests-1-and-2.ipynb), [`33-intersection-test`](33-intersection-test.ipynb), [`34-choice-of-s-and-smallest-c`](34-choice-of-s-and-smallest-c.ipynb), [`35-kernels`](35-kernels.ipynb), [`36a-two-forms-of-the-svm`](36a-two-forms-of-the-svm.ipynb), [`36b-dome-test`](36b-dome-test.ipynb), [`36c-dome-test-as-printed`](36c-dome-test-as-printed.ipynb), [`36d-path-of-the-s-form`](36d-path-of-the-s-form.ipynb), [`37-equivalences`](37-equivalences.ipynb), [`38-approximation-paths`](38-approximation-paths.ipynb), [`39-dynamic-svm`](39-dynamic-svm.ipynb), [`39b-free-intercept`](39b-free-intercept.ipynb), [`39c-one-class-and-nu`](39c-one-class-and-nu.ipynb), [`39d-regression-in-a-tube`](39d-regression-in-a-tube.ipynb) |
# | similarities in a million dimensions | [`40-hdsl-formulation`](40-hdsl-formulation.ipynb), [`41-frank-wolfe-and-away-steps`](41-frank-wolfe-and-away-steps.ipynb), [`42-hdsl-cost`](42-hdsl-cost.ipynb), [`43-hdsl-forward-directions`](43-hdsl-forward-directions.ipynb), [`44a-blocks-and-bounded-differences`](44a-blocks-and-bounded-differences.ipynb), [`44b-complexity-of-atoms`](44b-complexity-of-atoms.ipynb), [`44c-risk-of-a-learned-similarity`](44c-risk-of-a-learned-similarity.ipynb), [`46-safe-screening-of-atoms`](46-safe-screening-of-atoms.ipynb) |
# | experiments: triplets | [`50-data-and-lambda-range`](50-data-and-lambda-range.ipynb), [`51-path-time`](51-path-time.ipynb), [`52-bounds-and-rules`](52-bounds-and-rules.ipynb), [`53-spheres-along-the-path`](53-spheres-along-the-path.ipynb), [`54-ranges`](54-ranges.ipynb), [`55-active-set-and-diagonal`](55-active-set-and-diagonal.ipynb), [`56-hinge`](56-hinge.ipynb), [`57-fixed-lambda`](57-fixed-lambda.ipynb), [`58-number-of-triplets`](58-number-of-triplets.ipynb), [`59-other-software`](59-other-software.ipynb), [`66-all-triplets`](66-all-triplets.ipynb) |
# | experiments: samples | [`60-svm-toys`](60-svm-toys.ipynb), [`61-svm-screening-rates`](61-svm-screening-rates.ipynb), [`62-svm-single-training`](62-svm-single-training.ipynb), [`63-svm-path-time`](63-svm-path-time.ipynb), [`64-intersection-against-dome`](64-intersection-against-dome.ipynb), [`65-svm-pathwise-s-form`](65-svm-pathwise-s-form.ipynb) |
# | experiments: sparse similarities | [`70-similarity-recovery`](70-similarity-recovery.ipynb), [`71-link-prediction`](71-link-prediction.ipynb), [`72-sparse-text`](72-sparse-text.ipynb) |
#
# The last three rows are the experiments of the triplet papers, of the sample papers and of the Frank-Wolfe
# paper. Two notebooks in them belong to no paper: `59` compares with other software, and `66` takes all triplets
# at once. To use the library on your own data, begin with [`01-your-own-data`](01-your-own-data.ipynb),
# [`02-with-scikit-learn`](02-with-scikit-learn.ipynb) or [`03-judgements`](03-judgements.ipynb).
#
# Every `NAME.ipynb` is made from the `NAME.py` beside it, and holds its outputs. `claims.yml` is the ledger: it
# lists every theorem, algorithm, table and figure of the papers, and says what became of it here. A claim that is
# not `open` names a notebook cell that would fail if the claim failed. `experiments.yml` lists the experiments
# that can be run, and their sizes.
#
# ## What runs where
#
# | you want to | do |
# |---|---|
# | read | open the notebooks anywhere; they hold their outputs |
# | try something | `make lab`: JupyterLab with everything installed |
# | run an experiment at another size | `papermill notebooks/51-path-time.ipynb out.ipynb -p fraction 0.9`, half a minute |
# | run all experiments | `make reproduce`, or `safescreen run --profile smoke --report` |
# | run them on many machines | `safescreen run --profile paper --scheduler tcp://host:8786`, with a Dask cluster |
# | send the book to somebody | `make site`: notebooks, results, ledger and reference as linked pages |
# | check everything | `make test`: unit tests, every notebook compared with its committed outputs |
# | change a notebook | edit `NAME.py` (or the paired `.ipynb` in JupyterLab), then `make notebooks` |
# | use the solver | `import safescreen as ss`, as above |
#
# ## What is not covered
#
# * Losses without a zero or a linear piece, such as the logistic loss. With them there is nothing to screen.
# * Problems without the squared norm. All balls come from the strong convexity that it brings. A trace norm
#   may be added to it, because over the semidefinite cone it is a linear term.
# * Ranges of $\lambda$ for a support vector machine with a free intercept.
# * Claims that are still `open` in `claims.yml`. `safescreen claims` prints them.
