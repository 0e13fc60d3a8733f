# %% [markdown]
# # Total time of a regularisation path
#
# STS19 Figure 9 (numbers in STS18 Table 4) learns a metric for each $\lambda$ of a decreasing sequence,
# and starts each solve from the previous solution. This notebook measures how much of the time screening saves with each ball.
#
# The paper has the rows `none`, `GB`, `PGB`, `DGB`, `RRPB` and `RRPB+PGB`. We add three rows: the midpoint
# gap bound (`MGB`), the library's default screening (`auto`), and triplets stored as products of two lists
# (`product`). All rows solve the same problems to the same accuracy, in one process with one thread.
#
# The paper iterates until the duality gap is below $10^{-6}$. The authors' program divides the gap by
# the objective, so it stops much earlier. We judge the paper's conclusions with the first rule (`rtol` 0), and report runs with
# the second rule (`tol` 0) in addition.
#
# Run the notebook at another size with `safescreen run 51-path-time --profile paper`, or `papermill
# notebooks/51-path-time.ipynb out.ipynb -p dataset breast-cancer -p k 5`.

# %% [markdown]
# ## Parameters
#
# | name | meaning | paper |
# |---|---|---|
# | `dataset`, `k` | data set; neighbours of the same and of other classes, 0: as in the paper (iris and wine: all) | Table 2 |
# | `fraction`, `draws`, `seed` | share of the instances drawn at random, number of draws, first seed | 0.9, 5 |
# | `gamma` | width of the smoothed hinge | 0.05 |
# | `ratio`, `n_lams` | $\lambda_t / \lambda_{t-1}$; largest number of $\lambda$ (0: the paper's rule) | 0.9 |
# | `rtol`, `tol` | duality gap, relative to the objective and absolute; either suffices | 0, $10^{-6}$ |
# | `repeats` | number of timed runs of each path | |
# | `methods` | rows of the table | |
# | `output_dir`, `rows_dir` | folder of the output files; folder of an earlier run whose rows are shown instead of new ones | |

# %% tags=["parameters"]
dataset = "iris"
k = 0
fraction = 0.9
draws = 2
seed = 0
gamma = 0.05
ratio = 0.6
n_lams = 0
rtol = 0.0
tol = 1e-6
repeats = 1
methods = "none,GB,PGB,DGB,RRPB,RRPB+PGB,MGB,auto,product"
output_dir = ""
rows_dir = ""

# %%
import time

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

BALLS = ("GB", "PGB", "DGB", "RRPB", "RRPB+PGB")  # of the paper
KNOWN = ("none", *BALLS, "MGB", "auto", "product")
names = [name.strip() for name in methods.split(",")]
unknown = sorted(set(names) - set(KNOWN))
if unknown:
    raise ValueError(f"methods: unknown {unknown}, the known ones are {', '.join(KNOWN)}")
neighbours = k or path_runs.K_OF_PAPER.get(dataset)

# %% [markdown]
# ## Data, and the grid of $\lambda$
#
# All methods use the same grid. It starts at the first $\lambda$ of the geometric sequence at which some
# triplet has no loss (the paper's $\lambda_{\max}$). It ends where the loss changes by less than 1 %
# relative to the step of $\lambda$ (the paper's $\lambda_{\min}$). A first path, without timing, computes both ends. It also
# counts the triplets on the linear or the zero piece of the loss at each solution, which are the triplets that
# screening can remove.


# %%
accuracy = {"rtol": rtol, "tol": tol}


def make_problem(X, y, name="none"):
    """Return the problem of a row, with listed triplets or with products."""
    family = ss.ProductTriplets if name == "product" else ss.Triplets.from_labels
    return ss.Problem(family(X, y, neighbours), ss.SmoothedHinge(gamma))


def grid_of(problem, draw):
    """Return the grid of a draw; print its length and the share that can be screened."""
    grid = path_runs.paper_grid(problem, ratio, n_lams, screening=("RRPB", "PGB"), **accuracy)
    share = np.mean(grid.removable / len(problem))
    print(f"draw {draw}: {problem.terms}")
    print(f"        {len(grid.lams)} lams from {grid.lams[0]:.1e} to {grid.lams[-1]:.1e}")
    print(f"        outside the quadratic piece at the solutions: {share:.1%} on average")
    return grid

# %% [markdown]
# ## Run
#
# Each method runs once over the first values of $\lambda$ to compile and to fill caches. Then each method is timed `repeats` times.
# The methods take turns, so that a busy moment of the machine does not slow down only one of them. Seconds
# are CPU seconds of this process with one thread. They do not include reading the data and making the
# triplets. `screening` is the time spent in rules and in reducing the problem.


# %%
def screening_of(name):
    """Return the argument `screening` of a row."""
    if name in ("none", "product"):
        return ()
    return name if name == "auto" else tuple(name.split("+"))


def timed(problem, name, lams):
    """Return a path, its processor seconds, and the seconds of its screening."""
    policy = path_runs.TimedPolicy.of(screening_of(name), problem)
    screening = () if policy.policy is None else policy
    options = accuracy | path_runs.algorithm(problem)
    options |= {"keep_masks": False, "extrapolate": False}
    started = time.process_time()
    path = ss.path(problem, lams, screening=screening, **options)
    return path, time.process_time() - started, policy.seconds


# %%
def row_of(name, draw, path, n_terms, removable):
    """Return the row of a path, and its curve."""
    frame = path.to_frame()
    last = [solution.history[-1] for solution in path]  # counts at the end of each solve
    frame["screening_rate"] = [(now.n_L + now.n_R) / n_terms for now in last]
    row = {
        "lams": len(frame),
        "iterations": int(frame["n_iter"].sum()),
        "path_rate": float((frame["path_rate"] / removable)[1:].mean()),
        "final_rate": float((frame["screening_rate"] / removable).mean()),
        "relative_gap": float((frame["gap"] / frame["primal"]).max()),
        "converged": bool(frame["converged"].all()),
        "n_triplets": n_terms,
        "threads": 1,
        "seed": seed + draw,
    }
    frame = frame.drop(columns=["seconds"]).assign(removable=removable)
    return row, frame.assign(dataset=dataset, method=name, draw=draw)


# %% [markdown]
# ## The cost of a pass and of a screening
#
# How much time screening *can* save depends on the cost of a screening compared with the cost of an iteration. One screening tests every triplet
# once and then builds the reduced problem. So we measure the time of one pass (objective and gradient over all triplets) and of one
# screening at six places of a path, and we count the passes.

# %%
def seconds_of(function, times=5):
    """Return the median processor seconds of some calls, and the result of the last call."""
    spans = []
    for _ in range(times):
        started = time.process_time()
        result = function()
        spans.append(time.process_time() - started)
    return float(np.median(spans)), result


def costs_at(problem, before, after):
    """Return the times of a pass and of a screening between one solution and the next."""

    def screen():
        ball = ss.spheres.relaxed_path_bound(before.x, before.eps, before.lam, after.lam)
        found = ss.rules.sphere(problem, ball)
        return problem.reduce(found.in_L, found.in_R)

    full, _ = seconds_of(lambda: problem.evaluate(before.x, after.lam))
    screening, reduced = seconds_of(screen)
    small, _ = seconds_of(lambda: reduced.evaluate(before.x, after.lam))
    return {
        "lam": after.lam,
        "remaining": len(reduced),
        "pass": 1e3 * full,
        "screening": 1e3 * screening,
        "pass on the rest": 1e3 * small,
        "iterations": after.n_iter,
    }


# %%
def costs_of(problem, lams):
    """Return the times of a pass and of a screening at six places of a path."""
    path = ss.path(problem, lams, screening=(), keep_masks=False, extrapolate=False, **accuracy)
    places = np.unique(np.linspace(0, len(path) - 2, 6).astype(int))
    costs = pd.DataFrame([costs_at(problem, path[i], path[i + 1]) for i in places])
    print("milliseconds at six places of the path, RRPB with the sphere rule:")
    print(costs.to_string(index=False, float_format="{:.3g}".format))
    print(f"a pass takes {1e6 * costs['pass'].mean() / len(problem):.1f} ns for each triplet")
    return costs


# %%
def measured_paths(problem, products, grid, draw):
    """Return a row for each timed path, and a row for each lam of its first run."""
    removable = grid.removable / len(problem)
    rows, curves = [], []
    for repeat in range(repeats):
        for name in names:
            target = products if name == "product" else problem
            path, seconds, screening = timed(target, name, grid.lams)
            which = {"dataset": dataset, "method": name, "draw": draw, "repeat": repeat}
            row, curve = row_of(name, draw, path, len(target), removable)
            rows.append(which | {"seconds": seconds, "screening": screening} | row)
            if repeat == 0:
                curves.append(curve)
    return {"results": pd.DataFrame(rows), "per_lam": pd.concat(curves)}

# %%
def of_draw(draw):
    """Return the tables of a draw, the first draw with the times of a pass and a screening."""
    sample = path_runs.draw(dataset, fraction, seed + draw)
    problem, products = make_problem(*sample), make_problem(*sample, "product")
    grid = grid_of(problem, draw)
    tables = {}
    if record.is_cold:
        started = time.process_time()
        for name in names:
            timed(make_problem(*sample, name), name, grid.lams[:12])
        tables["warm_up"] = pd.DataFrame([{"seconds": time.process_time() - started}])
    tables |= measured_paths(problem, products, grid, draw)
    if draw == 0:
        tables["costs"] = costs_of(problem, grid.lams)
    return tables


# %%
def quantities_of(tables):
    """Return the quantities that explain how much time screening can save."""
    measured, mean = tables["results"], tables["costs"].mean()
    plain = measured[measured["method"] == "none"]
    passes = 1e3 * plain["seconds"].mean() / plain["lams"].mean() / mean["pass"]
    reduced = mean["screening"] + passes * mean["pass on the rest"]
    return {
        "seconds of compilation and warm-up": tables["warm_up"]["seconds"].sum(),
        "passes a lam without screening": passes,
        "passes in the time of a screening": mean["screening"] / mean["pass"],
        "factor that one screening a lam should save": passes * mean["pass"] / reduced,
    }


if record.computes:
    tables = record.parts(of_draw, draw=range(draws))
    measured = tables["results"]
    record.rows("results", measured)
    # objectives are compared up to their gaps
    record.rows("per_lam", tables["per_lam"], digits=15)
    quantities = quantities_of(tables).items()
    record.rows("costs", pd.DataFrame(quantities, columns=["quantity", "value"]))

# %%
if record.computes:
    print(f"paths that converged: {measured['converged'].sum()} of {len(measured)}")

# %% [markdown]
# ## Table
#
# The rates are defined as in the paper: screened triplets divided by the triplets outside the quadratic piece of the loss. `path_rate` is the mean rate over the path before the first
# iteration, and `final_rate` is the mean rate at the end of a solve. `factor` is the time of `none` divided by the time of the
# row, **within one draw**, as a geometric mean over draws. The columns of the paper are its factor, its seconds and its seconds of screening,
# all from the paper's machine.

# %%
printed = judging.load().printed["STS18 Table 4"]
results = record.read("results")
per_lam = record.read("per_lam")
costs = record.read("costs").set_index("quantity")["value"]
warm_up = costs["seconds of compilation and warm-up"]

paper = pd.Series(printed["seconds"].get(dataset, {}), dtype=float).reindex(names)
paper_part = pd.Series(printed["screening"].get(dataset, {}), dtype=float).reindex(names)
by_draw = {"index": "draw", "columns": "method"}
seconds = results.pivot_table(**by_draw, values="seconds", aggfunc="median")[names]
grouped = results.groupby("method", sort=False)
table = grouped[["seconds", "screening", "iterations", "path_rate", "final_rate"]].median()
table.insert(1, "factor", np.exp(-np.log(seconds.div(seconds["none"], axis=0)).mean()))
table.insert(2, "factor of the paper", paper["none"] / paper)
table.insert(4, "paper's seconds", paper)
table.insert(5, "paper's screening", paper_part)
record.table("table_time", table.reset_index())

formats = {"seconds": "{:.3f}".format, "iterations": "{:.0f}".format}
print(table.to_string(formatters=formats, float_format="{:.2f}".format, na_rep="-"))
print(f"compilation and warm-up: {warm_up:.1f} s")

# %% [markdown]
# ## Figure 9: the time of a path
#
# Each bar is the time of a path. The black bar inside is the time of screening; the rest is optimisation.

# %%
figure, axes = figures.panels(2, width=9.5, height=3.6)
sides = [
    (f"{dataset}: ours", table["seconds"], table["screening"]),
    (f"{dataset}: paper, its machine", paper.dropna(), paper_part.dropna()),
]
for ax, (title, values, part) in zip(axes, sides, strict=True):
    if values.empty:
        ax.set_axis_off()
        continue
    figures.bars(values.to_dict(), ax=ax, title=title, xlabel="CPU seconds of the path")
    dark = ax.barh(range(len(values)), part, height=0.25, color="black")
figure.legend([dark], ["seconds of screening"], loc="outside lower center")
record.figure("seconds", figure)
figures.show(
    "Bars show the CPU seconds of a path with each method: ours in the left panel, the paper's in "
    "the right panel. The black bar inside shows the seconds of screening. "
    f"Ours: {figures.listed(table['seconds'].to_dict())}. Paper: "
    f"{figures.listed(paper.dropna().to_dict()) or 'none for these data'}."
)

# %% [markdown]
# ## Screening rates along the path

# %%
first = per_lam[per_lam["draw"] == 0]
shown = [name for name in names if name not in ("none", "product")]
figure, axes = figures.panels(2, width=8.0, height=3.4, sharey=True)
panels = {
    "path_rate": "screened before the first iteration",
    "screening_rate": "screened in the end",
}
for ax, (column, title) in zip(axes, panels.items(), strict=True):
    start = int(column == "path_rate")  # the first lam has no solution before it
    lines = {}
    for name in shown:
        curve = first[first["method"] == name].iloc[start:]
        lines[name] = curve["lam"].to_numpy(), (curve[column] / curve["removable"]).to_numpy()
    figures.lines(lines, ax=ax, title=f"{dataset}: {title}", path=True, share=True, marks="apart")
axes[0].set_ylabel("rate")
record.figure("rates", figure)
figures.show(
    "Curves show the screening rates of the methods against lambda, which falls to the right. The "
    "left panel shows the rates before the first iteration, the right panel the rates at the end "
    f"of each solve. Means along the path at the end: {figures.listed(lines)}."
)

# %% [markdown]
# ## Results that do not depend on seconds
#
# The next cell asserts three facts. At every $\lambda$ all methods reach the same objective, up to the required gap. The rate at the end of a solve
# is not below the rate before its first iteration. No rate is above 1. The cell also prints the order of the balls, which it does not assert. In the paper
# DGB screens less before the first iteration than PGB and RRPB, which are the same ball at the exact optimum (STS19 Theorem 7).

# %% tags=["STS19-F9"]
same, agreement = path_runs.same_optimum(per_lam, rtol, tol)
print("objectives of all methods:", agreement)
assert same, agreement

rate = grouped["path_rate"].mean().to_dict()
final = grouped["final_rate"].mean().to_dict()
for name in [name for name in names if name in ("none", *BALLS, "MGB")]:
    print(f"{name:9} mean rate: path {rate[name]:.2f}, final {final[name]:.2f}")
assert (per_lam["path_rate"] <= per_lam["screening_rate"] + 1e-12).all()
assert max(final.values()) <= 1.0 + 1e-12

ranks = sorted((name for name in (*BALLS, "MGB") if name in rate), key=rate.get)
ordered = ", ".join(f"{name} {rate[name]:.3f}" for name in ranks)
print("rates before the first iteration, from the lowest to the highest:", ordered)

# %% [markdown]
# ## Conclusions
#
# `conclusions.yml` has the rules and their histories. All ratios of seconds are ratios within a draw. The interval is Student's 95 % interval for the mean of
# their logarithms over draws. A bound inside the interval, or within 3 % of it, means undecided, because seconds on a busy machine change by
# as much from run to run. The method that a row is compared with is the same for all draws. The paper's value
# is the ratio of the paper's seconds. The paper says that RRPB and PGB together need the least time on four of the
# six data sets, and that two rules can improve the rate and need more computations (section 7.2). Its figure shows that GB saves the
# least time. Conclusions about data sets that are not in the paper, and of runs with another fraction or grid, count as ours.

# %%
setup, setup_of_paper = (k, fraction, gamma, ratio, n_lams), (0, 0.9, 0.05, 0.9, 0)
as_printed = dataset in printed["seconds"] and setup == setup_of_paper
tables = {
    "seconds": seconds,
    "final_rate": results.pivot_table(**by_draw, values="final_rate"),
    "screening": results.pivot_table(**by_draw, values="screening", aggfunc="median"),
}
facts = {"optimum": (same, agreement)}
whose = path_runs.whose(as_printed, rtol, tol)
conclusions = judging.judge("51-path-time", dataset, tables, facts=facts, whose=whose)
record.table("conclusions", conclusions)
print(*wording.sentences(conclusions.to_dict("records")), sep="\n")

# %%
passes = costs["passes a lam without screening"]
one_screening = costs["passes in the time of a screening"]
expected = costs["factor that one screening a lam should save"]
explanation = (
    f"Without screening a lam takes the time of {passes:.1f} passes here, and one screening takes "
    f"the time of {one_screening:.1f} passes. Screening once for each lam should then make the "
    f"path about {expected:.1f} times faster. Cheaper passes would make this factor smaller, "
    "because screening can save only the time of passes."
)
print(explanation)

# %%
def compared(name):
    """Return the two rows that compare a ball with the paper."""
    ours = table.loc[name]
    quantities = {
        "time of none / time": (paper["none"] / paper[name], ours["factor"]),
        "screening / time": (paper_part[name] / paper[name], ours["screening"] / ours["seconds"]),
    }
    note = (
        f"paper {paper[name]:.1f} s on its machine, {paper_part[name]:.1f} s of them screening; "
        f"ours {ours['seconds']:.3f} s and {ours['screening']:.3f} s"
    )
    rows = []
    for quantity, (of_paper, of_ours) in quantities.items():
        numbers = {"paper": round(float(of_paper), 3), "ours": round(float(of_ours), 3)}
        rows.append({"quantity": f"{name}: {quantity}", **numbers, "note": note})
    return rows


# %%
comparison = []
for name in BALLS:
    if {"none", name} <= set(names) and np.isfinite(paper[name]):
        comparison += compared(name)
record.table("comparison", pd.DataFrame(comparison, columns=["quantity", "paper", "ours", "note"]))
timings = {"compile": round(float(warm_up), 3), "run": round(float(results["seconds"].sum()), 3)}
record.summary(timings=timings, explanation=[explanation])
limits.unregister()
print("rows in the comparison:", len(comparison))
