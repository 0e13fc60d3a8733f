# %% [markdown]
# # Dynamic screening at one lambda
#
# STS19 Figure 11 has no path and no neighbouring solution: it solves for one $\lambda$ at the low end of the range, where screening finds least. What does dynamic screening (Algorithm 1) save there, (a) by itself, (b) together with the
# active set heuristic, which leaves out triplets without loss and confirms at the end?
#
# Rows of the paper are the baseline and balls with the sphere rule. Added here: the midpoint gap bound
# (`MGB`), two balls at once (`MGB&BT2`) and triplets as products (`product`). The row `product+MGB` is drawn from
# records of the versions that screened products; a run leaves it out, because products are not screened any more
# ([`25b-screening-of-pairs`](25b-screening-of-pairs.ipynb)).
#
# Run it at another size with `safescreen run 57-fixed-lambda --profile laptop`.

# %% [markdown]
# ## Parameters
#
# | name | meaning | paper |
# |---|---|---|
# | `dataset`, `k` | data set; neighbours of either kind, 0: the paper's (iris and wine: all) | not said, Table 2 |
# | `fraction`, `draws`, `seed` | share of the instances drawn at random, how often, and the seed | 0.9, 5 |
# | `gamma`, `lam` | width of the smoothed hinge; $\lambda$, 0: the last of the paper's path | 0.05, $\lambda_{\min}$ |
# | `rtol`, `tol` | duality gap, relative to the objective and absolute; either suffices | 0, $10^{-6}$ |
# | `methods`, `repeats` | rows; how often each is timed | |
# | `output_dir`, `rows_dir` | where files go; the folder of an earlier run, to show its rows without computing any | |

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
    """Return the problem of a draw, with triplets listed and as products."""
    k_used = k or path_runs.K_OF_PAPER.get(dataset)
    X, y = path_runs.draw(dataset, share, seed + draw)
    listed = ss.Problem(ss.Triplets.from_labels(X, y, k_used), ss.SmoothedHinge(gamma))
    products = ss.Problem(ss.ProductTriplets(X, y, k_used), ss.SmoothedHinge(gamma))
    return {"list": listed, "product": products}


# %% [markdown]
# ## Run
#
# Every solve starts from $x = 0$. Each method runs without and with the active set. RRPB has no neighbouring solution to start from and is
# DGB here (STS19 Theorem 6), so that `RRPB+PGB` means DGB and PGB. Seconds are processor seconds of one thread.


# %%
def solve(problems, at, name, active):
    """Return the solution of a row and the processor seconds it took."""
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
    """Return the columns of a solution; `screened` counts what has left during the solve."""
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
    """Return how screening proceeds without active set, and how many triplets can be screened:
    those outside the quadratic piece at the optimum.
    """
    margins = problem.terms.margins(solutions[names[0]].x)
    removable = np.count_nonzero((margins > 1.0) | (margins < 1.0 - gamma))
    if "MGB" in names:
        kept = solutions["MGB"].screened
        assert not np.any(kept.in_R & (margins <= 1.0))
        assert not np.any(kept.in_L & (margins >= 1.0 - gamma))
    states = [
        {"method": name, "iteration": state.iteration, "screened": state.n_L + state.n_R}
        for name, solution in solutions.items()
        for state in solution.history
    ]
    counts = pd.DataFrame([{"draw": 0, "removable": removable}])
    return {"progress": pd.DataFrame(states), "removable": counts}


# %%
PAIRS = [(name, False) for name in names]
PAIRS += [(name, True) for name in names if name != "product"]


def compile_all(draw, at):
    """Call everything once on half of the rows, so that no clock sees its compilation."""
    few = problems_of(draw, fraction / 2)
    for name, active in PAIRS:
        solve(few, at, name, active)


# %%
def of_draw(draw):
    """Return the tables of a draw: a row for each solve, and of the first draw how screening
    proceeds.
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
# Of the first draw it is kept how screening proceeds, and it is asserted that every triplet screened with MGB has the category of the optimum.

# %% tags=["STS19-F11", "nbval-ignore-output"]
if record.computes:
    tables = record.parts(of_draw, draw=range(draws))
    # objectives are compared up to their gaps
    record.rows("results", tables["results"], digits=15)
    record.rows("progress", tables["progress"])
    record.rows("removable", tables["removable"])
    assert tables["results"]["converged"].all()
    print("rows, all converged:", len(tables["results"]))

# %% [markdown]
# ## What holds without a clock
#
# All methods have to reach the same optimum. What is screened is safe; and the active set, which is not, is only trusted after
# a check of all triplets, so that it ends with the same optimum too.

# %% tags=["STS19-F11", "nbval-ignore-output"]
frame = record.read("results")
removable = int(record.read("removable")["removable"].iloc[0])
same, agreement = path_runs.same_optimum(frame, rtol, tol)
assert same, agreement
print("same objective for all rows:", same)
in_figure = frame[(frame["draw"] == 0) & (frame["repeat"] == 0) & ~frame["active_set"]]
share = (in_figure.set_index("method")["screened"] / removable).to_dict()
for name in names:
    if share[name]:
        print(f"{name:12} screened in the end, of what can be: {share[name]:.2f}")
    assert share[name] <= 1.0 + 1e-12

# %% [markdown]
# ## Figure 11: how screening proceeds

# %% tags=["nbval-ignore-output"]
def draw_progress(progress):
    """Return the figure of what is screened after each iteration, a line a row."""
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
    print("These rows come from a version that kept no iterations: the figure stays as it was.")
else:
    record.figure("progress", draw_progress(progress))
    figures.show(
        "Staircases show the share screened with each method against the iteration of a solve. "
        "Shares in the "
        "end: "
        f"{figures.listed((progress.groupby('method', sort=False)['screened'].max() / removable).drop(['none', 'product'], errors='ignore'))}."
    )

# %% [markdown]
# ## Figure 11: the clock

# %% tags=["nbval-ignore-output"]
median = frame.groupby(["method", "active_set"])["seconds"].median().unstack().loc[names]
iterations = frame.groupby(["method", "active_set"])["n_iter"].median().unstack().loc[names]
table = pd.DataFrame(
    {
        "seconds": median[False],
        "with active set": median[True],
        "iterations": iterations[False],
        "rate": pd.Series(share),
    }
)
record.table("table_fixed", table.reset_index(names="method"))
print(table.to_string(float_format="{:.3f}".format, na_rep="-"))

# %% tags=["nbval-ignore-output"]
figure, axes = figures.panels(2, width=9.5, height=3.3)
figures.bars(
    median[False].to_dict(),
    ax=axes[0],
    title=f"{dataset} (a) dynamic screening",
    xlabel="CPU seconds",
    number="{:.3f}",
)
both = {"none, no active set": median.loc["none", False]} | median[True].dropna().to_dict()
figures.bars(
    both, ax=axes[1], title="(b) with the active set", xlabel="CPU seconds", number="{:.3f}"
)
record.figure("seconds", figure)
figures.show(
    "Bars show CPU seconds. Left, they are for dynamic screening alone: "
    f"{figures.listed(median[False].to_dict(), '{:.3f}')}. Right, they are for screening with the "
    f"active set: {figures.listed(both, '{:.3f}')}."
)

# %% [markdown]
# ## Conclusions
#
# Rules and their histories are in `conclusions.yml`. We take ratios within a draw. A conclusion is undecided where the 95 % interval of the mean of their logarithms, by Student, covers 1. The ball of the paper's rows is PGB, which its section 7.1 recommends; nothing is chosen by its time. The paper does not name the
# data of the figure: those of its Table 2 count, at 90 % and the last $\lambda$ of the path.

# %% tags=["nbval-ignore-output"]
balls = [name for name in names if name != "none" and not name.startswith("product")]
each = frame.pivot_table(
    index="draw", columns=["method", "active_set"], values="seconds", aggfunc="median"
)
each.columns = [f"{name}, active set" if active_set else name for name, active_set in each.columns]
as_printed = dataset in ("iris", "wine", "segment", "satimage",
                         "phishing") and (k, fraction, gamma, lam) == (0, 0.9, 0.05, 0.0)
whose = path_runs.whose(as_printed, rtol, tol)
conclusions = judging.judge(
    "57-fixed-lambda", dataset, {"seconds": each}, facts={"optimum": (same, agreement)}, whose=whose
)
record.table("conclusions", conclusions)
print(*wording.sentences(conclusions.to_dict("records")), sep="\n")

# %% [markdown]
# ### Do the gains multiply?

# %%
if {"none", "none, active set", "PGB", "PGB, active set"} <= set(each.columns):
    columns = {
        "PGB alone": "PGB",
        "the active set alone": "none, active set",
        "both together": "PGB, active set",
    }
    gain = {
        text: float(np.exp(np.log(each["none"] / each[column]).mean()))
        for text, column in columns.items()
    }
    factors = ", ".join(f"{text} {factor:.1f} times" for text, factor in gain.items())
    expected = gain["PGB alone"] * gain["the active set alone"]
    print(
        f"Times faster than without either: {factors}. The product of the first two is "
        f"{expected:.1f}."
    )

# %%
comparison = [
    {"quantity": f"{name}: time / time of none", "paper": "below 1",
     "ours": round(float(median.loc[name, False] / median.loc["none", False]), 3),
     "note": f"with the active set {median.loc[name, True] / median.loc['none', True]:.3f} of the "
             "active set alone"}
    for name in balls
]  # fmt: skip
record.table("comparison", pd.DataFrame(comparison, columns=["quantity", "paper", "ours", "note"]))
record.summary(timings={"run": round(float(frame["seconds"].sum()), 3)})
limits.unregister()
print("rows in the comparison:", len(comparison))

# %% [markdown]
# ## Reading the result
#
# The active set and screening remove different things: the first guesses which triplets have no loss, the
# second proves which have none **or** are on the linear piece. Either leaves the triplets that matter, so what one saves the other
# cannot save again: the printed factor of both together is to be read beside the product of the two. At the optimum
# the radius of every ball but GB is 0, so that its staircase begins near 0 and climbs when the iterates come near. GB's radius stays the norm of
# the gradient, which is not 0 on the border of the cone. The paper does not name its data.
