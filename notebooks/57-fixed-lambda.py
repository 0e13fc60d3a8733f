# %% [markdown]
# # Dynamic screening at one lambda
#
# STS19 Figure 11 solves for one $\lambda$ at the low end of the range, without a path and without a neighbouring solution. Screening
# decides the fewest triplets there. How much time does dynamic screening (Algorithm 1) save, (a) alone, (b) together with the active set heuristic? This
# heuristic leaves out triplets without loss, and checks all triplets at the end.
#
# The paper's rows are the baseline and balls with the sphere rule. We add the midpoint gap bound
# (`MGB`), two balls at once (`MGB&BT2`) and triplets as products (`product`). The library no longer screens products
# ([`25b-screening-of-pairs`](25b-screening-of-pairs.ipynb)). So a run has no row `product+MGB`, and only records of earlier versions show
# this row.
#
# Run it at another size with `safescreen run 57-fixed-lambda --profile laptop`.

# %% [markdown]
# ## Parameters
#
# | name | meaning | paper |
# |---|---|---|
# | `dataset`, `k` | data set; number of targets and of impostors, 0: the paper's (iris and wine: all) | not said, Table 2 |
# | `fraction`, `draws`, `seed` | share of the instances in a random draw, number of draws, seed | 0.9, 5 |
# | `gamma`, `lam` | width of the smoothed hinge; $\lambda$, 0: the last $\lambda$ of the paper's path | 0.05, $\lambda_{\min}$ |
# | `rtol`, `tol` | duality gap, relative to the objective and absolute; a solve stops when one of the two is reached | 0, $10^{-6}$ |
# | `methods`, `repeats` | rows of the table; number of timed solves for each row | |
# | `output_dir`, `rows_dir` | folder for the files; folder of an earlier run, to show its rows without computing | |

# %% tags=["parameters"]
dataset = "iris"
k = 0
fraction = 0.3
draws = 2
seed = 0
gamma = 0.05
lam = 0.0
rtol = 0.0
tol = 1e-6
methods = "none,GB,PGB,DGB,RRPB+PGB,MGB,MGB&BT2,product,product+MGB"
repeats = 1
output_dir = ""
rows_dir = ""

# %%
import time

import matplotlib.pyplot as plt
import numba
import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

import safescreen as ss
from safescreen_book import Recorder, figures, wording
from safescreen_book.protocols import judging, path_runs

record = Recorder(output_dir, rows_dir)
print(record.origin())
numba.set_num_threads(1)
limits = threadpool_limits(1)
names = [name.strip() for name in methods.split(",")]
if record.computes:
    names = [name for name in names if name != "product+MGB"]
SCREENING = {"none": (), "RRPB+PGB": ("RRPB", "PGB"), "product": ()}


# %%
def last_lam(problem):
    """Return the last lam of the paper's path."""
    grid = path_runs.paper_grid(problem, rtol=1e-5, tol=0.0, screening=("RRPB", "PGB"))
    return float(grid.lams[-1])


def problems_of(draw, share=fraction):
    """Return the problem of a draw, with triplets in a list and as products."""
    k_used = k or path_runs.K_OF_PAPER.get(dataset)
    X, y = path_runs.draw(dataset, share, seed + draw)
    listed = ss.Problem(ss.Triplets.from_labels(X, y, k_used), ss.SmoothedHinge(gamma))
    products = ss.Problem(ss.ProductTriplets(X, y, k_used), ss.SmoothedHinge(gamma))
    return {"list": listed, "product": products}


# %% [markdown]
# ## Run
#
# Every solve starts from $x = 0$. Each method runs without and with the active set. RRPB has no neighbouring solution as reference, so it is equal to
# DGB (STS19 Theorem 6), and `RRPB+PGB` means DGB and PGB. Seconds are processor seconds of one thread.


# %%
def solve(problems, at, name, active):
    """Return the solution of a row and its processor seconds."""
    target = problems["product" if name == "product" else "list"]
    options = {
        "screening": SCREENING.get(name, (name,)),
        "active_set": active,
        **path_runs.algorithm(target),
    }
    started = time.process_time()
    solution = ss.solve(target, at, rtol=rtol, tol=tol, max_iter=100_000, **options)
    return solution, time.process_time() - started


def row_of(solution):
    """Return the columns of a solution; `screened` counts triplets screened during the solve."""
    last = solution.history[-1]
    return {
        "n_iter": solution.n_iter,
        "screened": last.n_L + last.n_R,
        "primal": solution.primal,
        "gap": solution.gap,
        "converged": solution.converged,
    }


# %%
def progress_of(problem, solutions):
    """Return the number of screened triplets at each look without active set, and the number of
    triplets that can be screened: the triplets outside the quadratic piece at the optimum.
    """
    margins = problem.terms.margins(solutions[names[0]].x)
    removable = np.count_nonzero((margins > 1.0) | (margins < 1.0 - gamma))
    if "MGB" in names:
        screened = solutions["MGB"].screened
        assert not np.any(screened.in_R & (margins <= 1.0))
        assert not np.any(screened.in_L & (margins >= 1.0 - gamma))
    states = []
    for name, solution in solutions.items():
        for state in solution.history:
            n_screened = state.n_L + state.n_R
            row = {"method": name, "iteration": state.iteration, "screened": n_screened}
            states.append(row)
    counts = pd.DataFrame([{"draw": 0, "removable": removable}])
    return {"progress": pd.DataFrame(states), "removable": counts}


# %%
PAIRS = [(name, False) for name in names]
PAIRS += [(name, True) for name in names if name != "product"]


def compile_all(draw, at):
    """Run each method once on half of the instances, so that no measured time includes
    compilation."""
    few = problems_of(draw, fraction / 2)
    for name, active in PAIRS:
        solve(few, at, name, active)


# %%
def of_draw(draw):
    """Return the tables of a draw: a row for each solve, and for the first draw the progress of
    screening.
    """
    problems = problems_of(draw)
    at = lam or last_lam(problems["list"])
    print(f"{problems['list'].terms}, lam = {at:.2e}")
    if record.is_cold:
        compile_all(draw, at)
    labels = {"lam": at, "n_triplets": len(problems["list"]), "threads": 1, "seed": seed}
    rows = []
    solutions = {}
    for repeat in range(repeats):
        for name, active in PAIRS:
            solution, seconds = solve(problems, at, name, active)
            if not active:
                solutions.setdefault(name, solution)
            which = {"dataset": dataset, "method": name, "active_set": active}
            which |= {"draw": draw, "repeat": repeat, "seconds": seconds}
            rows.append(which | row_of(solution) | labels)
    tables = {"results": pd.DataFrame(rows)}
    if draw == 0:
        tables |= progress_of(problems["list"], solutions)
    return tables


# %% [markdown]
# For the first draw the run records the progress of screening. It asserts that every triplet that MGB screens has its category at the optimum.

# %% tags=["STS19-F11"]
if record.computes:
    tables = record.parts(of_draw, draw=range(draws))
    # fifteen digits, because objectives are compared up to their gaps
    record.rows("results", tables["results"], digits=15)
    record.rows("progress", tables["progress"])
    record.rows("removable", tables["removable"])
    assert tables["results"]["converged"].all()
    print("rows, all converged:", len(tables["results"]))

# %% [markdown]
# ## What does not depend on time
#
# All methods have to reach the same optimum. Screening is safe. The active set heuristic is not safe, but it checks all triplets before it
# stops, so it has to reach the same optimum too.

# %% tags=["STS19-F11"]
frame = record.read("results")
removable = int(record.read("removable")["removable"].iloc[0])
same, agreement = path_runs.same_optimum(frame, rtol, tol)
assert same, agreement
print("objectives of the rows of a draw:", agreement)
in_figure = frame[(frame["draw"] == 0) & (frame["repeat"] == 0) & ~frame["active_set"]]
share = (in_figure.set_index("method")["screened"] / removable).to_dict()
for name in names:
    if share[name]:
        print(f"{name:12} has screened {share[name]:.2f} of the triplets that can be screened")
    assert share[name] <= 1.0 + 1e-12

# %% [markdown]
# ## Figure 11: the progress of screening

# %%
def draw_progress(progress):
    """Return the figure of the screened triplets after each iteration, with a line for each
    method."""
    figure, ax = figures.panels(1, width=6.0, height=3.3)
    for name in [name for name in names if name not in ("none", "product")]:
        states = progress[progress["method"] == name]
        style = {"where": "post", "label": name, **figures.style_of(name)}
        ax.step(states["iteration"], states["screened"] / removable, **style)
    title = f"{dataset}, $\\lambda$ = {in_figure['lam'].iloc[0]:.1e}"
    with plt.rc_context(figures.STYLE):
        ax.set(xlabel="iteration", ylabel="screened, of what can be", title=title)
        ax.legend()
    return figure


progress = record.read("progress", optional=True)
if progress is None:
    print("An earlier version wrote these rows, without iterations: the figure is unchanged.")
else:
    record.figure("progress", draw_progress(progress))
    shares = progress.groupby("method", sort=False)["screened"].max() / removable
    shares = shares.drop(["none", "product"], errors="ignore")
    figures.show(
        "Staircases show the share of the triplets that each method has screened against the "
        f"iteration of a solve. The shares at the end are {figures.listed(shares)}."
    )

# %% [markdown]
# ## Figure 11: times

# %%
median = frame.groupby(["method", "active_set"])["seconds"].median().unstack().loc[names]
iterations = frame.groupby(["method", "active_set"])["n_iter"].median().unstack().loc[names]
columns = {"seconds": median[False], "with active set": median[True]}
columns |= {"iterations": iterations[False], "rate": pd.Series(share)}
table = pd.DataFrame(columns)
record.table("table_fixed", table.reset_index(names="method"))
print(table.to_string(float_format="{:.3f}".format, na_rep="-"))

# %%
figure, axes = figures.panels(2, width=9.5, height=3.3)
labels = {"xlabel": "CPU seconds", "number": "{:.3f}"}
alone = median[False].to_dict()
with_set = {"none, no active set": median.loc["none", False]} | median[True].dropna().to_dict()
figures.bars(alone, ax=axes[0], title=f"{dataset} (a) dynamic screening", **labels)
figures.bars(with_set, ax=axes[1], title="(b) with the active set", **labels)
record.figure("seconds", figure)
figures.show(
    "Bars show CPU seconds. Left, they are for dynamic screening alone: "
    f"{figures.listed(alone, '{:.3f}')}. Right, they are for screening with the active set: "
    f"{figures.listed(with_set, '{:.3f}')}."
)

# %% [markdown]
# ## Conclusions
#
# The file `conclusions.yml` has the rules and their histories. We compute ratios within a draw. A conclusion is undecided if the 95 % interval of the mean of their logarithms, by Student, covers 1. The ball of the paper's conclusions is PGB, because its section 7.1 recommends PGB; we choose no ball by its time. The paper does not name the
# data of the figure. We count the data sets of its Table 2, at 90 % and the last $\lambda$ of the path, as the paper's.

# %%
balls = [name for name in names if name != "none" and not name.startswith("product")]
groups = {"index": "draw", "columns": ["method", "active_set"], "values": "seconds"}
each = frame.pivot_table(aggfunc="median", **groups)
each.columns = [f"{name}, active set" if active_set else name for name, active_set in each.columns]
of_paper = dataset in ("iris", "wine", "segment", "satimage", "phishing")
as_printed = of_paper and (k, fraction, gamma, lam) == (0, 0.9, 0.05, 0.0)
whose = path_runs.whose(as_printed, rtol, tol)
options = {"facts": {"optimum": (same, agreement)}, "whose": whose}
conclusions = judging.judge("57-fixed-lambda", dataset, {"seconds": each}, **options)
record.table("conclusions", conclusions)
print(*wording.sentences(conclusions.to_dict("records")), sep="\n")

# %% [markdown]
# ### Does the factor of the two together equal the product of their factors?

# %%
columns = {
    "PGB alone": "PGB",
    "the active set alone": "none, active set",
    "the two together": "PGB, active set",
}
if {"none", *columns.values()} <= set(each.columns):
    factor = {
        text: float(np.exp(np.log(each["none"] / each[column]).mean()))
        for text, column in columns.items()
    }
    factors = ", ".join(f"{text} {value:.1f} times" for text, value in factor.items())
    expected = factor["PGB alone"] * factor["the active set alone"]
    print(f"Faster than the baseline: {factors}. ", end="")
    print(f"The product of the first two factors is {expected:.1f}.")

# %%
comparison = []
relative = median / median.loc["none"]
for name in balls:
    row = {"quantity": f"{name}: time / time of none", "paper": "below 1"}
    row["ours"] = round(float(relative.loc[name, False]), 3)
    row["note"] = f"with the active set {relative.loc[name, True]:.3f} of the active set alone"
    comparison.append(row)
record.table("comparison", pd.DataFrame(comparison, columns=["quantity", "paper", "ours", "note"]))
record.summary(timings={"run": round(float(frame["seconds"].sum()), 3)})
limits.unregister()
print("rows in the comparison:", len(comparison))

# %% [markdown]
# ## Reading the result
#
# The active set and screening leave out different triplets. The active set guesses which triplets have no loss. Screening
# proves which triplets have no loss **or** are on the linear piece. A triplet without loss can be left out only once, so the factor of the two together need
# not reach the product of the two factors. At the optimum
# the radius of every ball but GB is 0. So the staircase of such a ball begins near 0 and climbs when the iterates come close to the optimum. The radius of GB at the optimum is the norm of
# the gradient, which is not 0 on the border of the cone. The paper does not name its data.
