# %% [markdown]
# # Screening whole ranges of lambda
#
# STS19 Figure 8 is about ranges of $\lambda$. The reference is a solution for $\lambda_0$. For each triplet it proves an
# interval of $\lambda$ in which the category of the triplet is certain. A map shows the share of the triplets that the
# reference for $\lambda_0$ (horizontal) decides at $\lambda$ (vertical), for references of two accuracies.
#
# The paper draws the ranges of `RRPB`. We add the ranges of the duality gap bound and the midpoint gap bound (`DGB`,
# `MGB`), which need only a feasible point. At the end you will have seen for which $\lambda$ one solution decides triplets,
# how this depends on its accuracy, and a check against the solutions at other $\lambda$.
#
# Run it at another size with `safescreen run 54-ranges --profile laptop`.

# %% [markdown]
# ## Parameters
#
# | name | meaning | paper |
# |---|---|---|
# | `dataset`, `k` | data set; number of targets and of impostors, 0: the paper's (iris and wine: all) | segment, 20 |
# | `fraction`, `draws`, `seed` | share of the instances in a random draw, number of draws, seed | 0.9, 5 |
# | `gamma`, `ratio`, `n_lams` | smoothing; $\lambda_t/\lambda_{t-1}$; how many $\lambda$ at most (0: paper's rule) | 0.05, 0.9 |
# | `accuracies` | duality gaps of the references, absolute, or `relative` to the objective | $10^{-4}$, $10^{-6}$ |
# | `every` | with 6, every sixth $\lambda$ of the path is also a reference for the other balls | |
# | `output_dir`, `rows_dir` | folder for the files; folder of an earlier run, to show its rows without computing | |

# %% tags=["parameters"]
dataset = "iris"
k = 0
fraction = 0.3
draws = 2
seed = 0
gamma = 0.05
ratio = 0.9
n_lams = 0
accuracies = "1e-4,1e-6"
relative = False
every = 6
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
gaps = sorted((float(text) for text in accuracies.split(",")), reverse=True)


def accuracy(gap):
    """Return the options of a path whose solutions have that duality gap."""
    return {"rtol": gap, "tol": 0.0} if relative else {"rtol": 0.0, "tol": gap}


# %%
if record.computes:
    problems = []
    grids = []
    for draw in range(draws):
        X, y = path_runs.draw(dataset, fraction, seed + draw)
        terms = ss.Triplets.from_labels(X, y, k or path_runs.K_OF_PAPER.get(dataset))
        problem = ss.Problem(terms, ss.SmoothedHinge(gamma))
        options = {"screening": ("RRPB", "PGB"), **accuracy(gaps[-1])}
        grid = path_runs.paper_grid(problem, ratio, n_lams, **options)
        problems.append(problem)
        grids.append(grid)
        print(terms)
        print(f"{len(grid.lams)} lams from {grid.lams[0]:.1e} to {grid.lams[-1]:.1e}")

# %% [markdown]
# ## Figure 8: the maps
#
# The cells compute a path for each accuracy and draw, and show the first draw. The rate at $\lambda$ is the paper's: the number of decided triplets,
# divided by the number of triplets outside the quadratic piece at the solution *for* $\lambda$. The code counts intervals by their sorted ends.
# So a column of the map costs one pass over the triplets, and not a pass for each $\lambda$.


# %%
def relaxed_path(problem, reference):
    """Return the ranges of RRPB from a solution."""
    return ss.ranges.relaxed_path(problem, reference.x, reference.eps, reference.lam)


def rates_of(ranges_of_references, grid):
    """Return the rates, with a row for each lam and a column for each reference."""
    columns = [path_runs.range_counts(ranges, grid.lams) for ranges in ranges_of_references]
    return np.column_stack(columns) / grid.removable[:, None]


def as_rows(rates, lams, name, value):
    """Return rates as rows, one for each lam, with a column for the lam0 of each reference."""
    return pd.DataFrame(rates, columns=[f"{lam:.6g}" for lam in lams]).assign(**{name: value})


# %%
def every_third(rates, lams, gap):
    """Return the rates at every third lam from every third reference, with a row for each rate."""
    at = np.arange(0, len(lams), 3)
    frames = [pd.DataFrame({"lam0": lams[j], "lam": lams[at], "rate": rates[at, j]}) for j in at]
    return pd.concat(frames).assign(dataset=dataset, ball="RRPB", gap=gap)


def rates_of_R(problem, path, grid):
    """Return the rates of R alone: the share that a reference decides among the triplets that are
    in R at the solution for a lam.
    """
    in_R = [np.count_nonzero(problem.terms.margins(s.x) > 1.0) for s in path]
    none = np.full(len(problem), np.nan)
    columns = []
    for reference in path:
        ranges = relaxed_path(problem, reference)
        alone = ss.ranges.Ranges(none, none, ranges.R_low, ranges.R_high)
        columns.append(path_runs.range_counts(alone, grid.lams))
    return np.column_stack(columns) / np.maximum(in_R, 1)[:, None]


# %%
if record.computes:
    maps = []  # for each draw: the rates, by gap
    of_R = []  # for each draw: the rates of R alone, at the smallest gap
    references = []  # for each draw: the path at the smallest gap
    for problem, grid in zip(problems, grids, strict=True):
        of_draw = {}
        for gap in gaps:
            options = {"screening": ("RRPB", "PGB"), "keep_masks": False, **accuracy(gap)}
            path = ss.path(problem, grid.lams, **options, **path_runs.algorithm(problem))
            of_draw[gap] = rates_of((relaxed_path(problem, s) for s in path), grid)
        maps.append(of_draw)
        of_R.append(rates_of_R(problem, path, grid))
        references.append(path)
    lams = grids[0].lams
    first = [every_third(rates, lams, gap) for gap, rates in maps[0].items()]
    record.rows("results", pd.concat(first), digits=6)
    first = [as_rows(rates, lams, "gap", gap) for gap, rates in maps[0].items()]
    record.rows("maps", pd.concat(first), digits=3)
    means = []
    for gap in gaps:
        over_map = np.mean([of_draw[gap].mean() for of_draw in maps])
        diagonal = np.mean([np.diag(of_draw[gap]).mean() for of_draw in maps])
        means.append({"gap": gap, "rate": over_map, "rate at lam0": diagonal})
    record.rows("means", pd.DataFrame(means))

# %%
means = record.read("means")
for row in means.to_dict("records"):
    print(f"gap {row['gap']:.0e}: mean rate over all pairs of lam {row['rate']:.3f}")

maps_of_gap = record.read("maps", optional=True)
if maps_of_gap is None:
    print("An earlier version wrote these rows, for every third lam only: the figure is unchanged.")
else:
    figure, axes = figures.panels(len(gaps), width=4.6 * len(gaps), height=3.9)
    shown = [rates.drop(columns="gap") for _, rates in maps_of_gap.groupby("gap", sort=False)]
    for ax, gap, rates in zip(np.atleast_1d(axes), gaps, shown, strict=True):
        grid_lams = rates.columns.to_numpy(dtype=float)
        options = {"title": f"{dataset}, RRPB, gap {gap:.0e}", "colorbar": gap == gaps[-1]}
        figures.rate_map(rates.to_numpy(), grid_lams, grid_lams, ax=ax, **options)
    record.figure("ranges", figure)
    rate_by_gap = dict(zip(means["gap"].map("{:.0e}".format), means["rate"], strict=True))
    figures.show(
        "Each map shows the screening rate of RRPB for one duality gap of the reference. One axis "
        "is the lambda of the reference, and the other axis is the lambda at which it decides "
        "triplets. On the diagonal the lambdas are equal. The mean rates by gap are "
        f"{figures.listed(rate_by_gap)}."
    )

# %% [markdown]
# ## How far down does one solution decide?
#
# The *reach* of a reference is $\lambda_0$ divided by the lowest $\lambda$ down to which the rate is at least one half (or nine tenths). The
# curve leaves out references whose rate is that high down to the end of the grid.


# %%
def reach(rates, lams, share):
    """Return for each reference lam0 / lam, with the lowest lam down to which the rate is at least
    the share; 1 if the rate is never that high, NaN if it is down to the end."""
    out = np.full(len(lams), np.nan)
    for j in range(len(lams)):
        below = rates[j:, j] >= share
        if not below.all():
            out[j] = lams[j] / lams[j + max(int(np.argmin(below)), 1) - 1]
    return out


if record.computes:
    curves = []
    for gap, rates in maps[0].items():
        for share in (0.5, 0.9):
            curve = {"lam0": lams, "reach": reach(rates, lams, share)}
            curves.append(pd.DataFrame(curve).assign(gap=gap, share=share))
    record.rows("reach", pd.concat(curves))


# %%
def steps_both_ways(rates, share):
    """Return for how many steps below and above each reference the rate is at least the share."""
    out = np.zeros(rates.shape[1])
    for j in range(rates.shape[1]):
        for way in (rates[j + 1 :, j], rates[:j, j][::-1]):
            missed = np.flatnonzero(way < share)
            out[j] += missed[0] if len(missed) else len(way)
    return out


# %%
def draw_reach(curves):
    """Return the figure of the reach of each reference, with a line for each gap and share."""
    colours = {0.5: figures.OTHERS[0], 0.9: figures.OTHERS[4]}
    # a thin line is drawn over a thick one, because lines may coincide
    widths = dict(zip(gaps, np.linspace(5.0, 1.4, len(gaps)), strict=True))
    figure, ax = figures.panels(1, width=5.6, height=3.3)
    for (gap, share), curve in curves.groupby(["gap", "share"], sort=False):
        style = {"color": colours[share], "linewidth": widths[gap]}
        style["alpha"] = 1.0 if gap == gaps[-1] else 0.35
        label = f"rate above {share}, gap {gap:.0e}"
        ax.plot(curve["lam0"], curve["reach"], label=label, **style)
    with plt.rc_context(figures.STYLE):
        ax.set(
            xscale="log",
            xlabel=r"$\lambda_0$",
            ylabel=r"$\lambda_0$ / lowest $\lambda$",
            title=f"{dataset}: reach of a range",
        )
        ax.legend()
    ax.invert_xaxis()
    return figure


# %%
curves = record.read("reach", optional=True)
if curves is None:
    print("An earlier version wrote these rows, without the reach: the figure is unchanged.")
else:
    record.figure("reach", draw_reach(curves))
    reach_of = {
        f"above {share}, gap {gap:.0e}": part["reach"]
        for (gap, share), part in curves.groupby(["gap", "share"])
    }
    figures.show(
        "Curves show the reach of a reference against its lambda, with a curve for each share and "
        "duality gap. The curves of the smallest gap have the full colour. The means are, "
        f"{figures.listed(reach_of)}."
    )

# %% [markdown]
# ## What we check
#
# 1. **Safe.** At every tenth $\lambda$ of the grid the solution tells the categories of all triplets. A decided triplet must
#    have the category that its range says. The check uses the solutions with the smallest gap, and
#    makes no allowance for errors.
# 2. **Near the reference** nearly all triplets are decided. The diagonal of the map is (almost) the rate of RRPB at
#    $\lambda_0$.
# 3. **A more accurate reference** decides at least as many triplets.

# %% tags=["STS19-F8"]
def categories_claimed(problem, path):
    """Return how many categories the ranges claim at every tenth lam, and how many wrongly."""
    claims = 0
    errors = 0
    for reference in path[::10]:
        ranges = relaxed_path(problem, reference)
        for other in path[::10]:
            margins = problem.terms.margins(other.x)
            claimed = ranges.at(other.lam)
            errors += np.count_nonzero(claimed.in_R & (margins <= 1.0))
            errors += np.count_nonzero(claimed.in_L & (margins >= 1.0 - gamma))
            claims += np.count_nonzero(claimed.in_L) + np.count_nonzero(claimed.in_R)
    return claims, errors


if record.computes:
    checked, wrong = categories_claimed(problems[0], references[0])
    print(f"wrong categories: {wrong} of {checked} that the ranges claim at other lams")
    assert wrong == 0 < checked
    note = f"{checked} categories claimed at other lam, {wrong} wrong"
    record.rows("facts", pd.DataFrame([{"fact": "safe", "holds": wrong == 0, "note": note}]))

# %% tags=["STS19-F8"]
safe = record.read("facts").set_index("fact").loc["safe"]
assert safe["holds"], safe["note"]
for row in means.to_dict("records"):
    print(f"gap {row['gap']:.0e}: mean on the diagonal {row['rate at lam0']:.3f}, ", end="")
    print(f"on the map {row['rate']:.3f}")

# %% [markdown]
# ## Not in the paper: other balls
#
# DGB and MGB have ranges too. (STS19 section 6.1 and appendix L give the form; the range of MGB follows in the same way.) The
# balls are compared at the same references.

# %%
if record.computes:
    problem = problems[0]
    few = references[0][::every]
    of_solutions = max(s.gap for s in references[0])  # absolute
    gap_balls = {"DGB": ss.ranges.duality_gap, "MGB": ss.ranges.midpoint_gap}
    others = {"RRPB": rates_of([relaxed_path(problem, s) for s in few], grids[0])}
    for name, ranges_of in gap_balls.items():
        ranges = [ranges_of(problem, s.x, s.lam, accuracy=of_solutions) for s in few]
        others[name] = rates_of(ranges, grids[0])
    print({name: round(float(rates.mean()), 3) for name, rates in others.items()})
    assert others["DGB"].mean() <= others["MGB"].mean() + 1e-3
    rows = [as_rows(rates, lams[::every], "ball", name) for name, rates in others.items()]
    record.rows("other_balls", pd.concat(rows).assign(lam=np.tile(lams, len(rows))), digits=6)

# %%
balls = record.read("other_balls", optional=True)
if balls is None:
    print("An earlier version wrote these rows, without these maps: the figure is unchanged.")
else:
    figure, axes = figures.panels(3, width=11.0, height=3.6)
    means_of_balls = {}
    for ax, (name, rates) in zip(axes, balls.groupby("ball", sort=False), strict=True):
        rates = rates.set_index("lam").drop(columns="ball")
        places = rates.columns.to_numpy(dtype=float)
        options = {"title": name, "colorbar": name == "MGB"}
        figures.rate_map(rates.to_numpy(), places, rates.index.to_numpy(), ax=ax, **options)
        means_of_balls[name] = rates.to_numpy()
    record.figure("other_balls", figure)
    figures.show(
        "Each map shows the screening rate of a ball. One axis is the lambda of the reference, and "
        "the other axis is the lambda at which it decides triplets. Yellow is a rate of 1, and "
        f"dark blue a rate of 0. The mean rates are {figures.listed(means_of_balls)}."
    )

# %% [markdown]
# ## Conclusions
#
# The file `conclusions.yml` has the rules and their histories. Each draw gives a value. A conclusion is undecided if the 95 % interval of the mean over draws, by Student, covers the bound.
# The paper's section 7.2 gives no numbers, so we had to choose bounds.
#
# * "A wide range can be screened": at two thirds of $\lambda_0$ (four steps of the path) the rate is still at least one half, as a geometric mean over
#   the references.
# * "Particularly for small values of $\lambda$": this reach is larger in the half of the references with the smaller $\lambda_0$.
# * "A high screening rate when $\lambda$ approaches $\lambda_0$": one step of the path below the reference the rate is above 0.8, in each
#   half of the references.
#
# These three conclusions count the triplets in L and in R, as section 6.1 does. The authors' program also computes the two ranges. Two
# questions are ours. Is the range of R alone, which is the range of Theorem 10, wider for small
# $\lambda$, in steps of the path below and above the reference? And does it take less time to compute all ranges of a reference than to
# evaluate the rules that the ranges replace, as long as the rate is at least nine tenths?


# %%
def seconds_of(work, times=5):
    """Return the mean processor seconds of some calls."""
    started = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - started) / times


def screen_next(problem, s):
    """Screen the next lam of the path by the rule, from a solution."""
    ball = ss.spheres.relaxed_path_bound(s.x, s.eps, s.lam, ratio * s.lam)
    return ss.rules.sphere(problem, ball)


# %%
def measures(problem, grid, of_draw, path, rates_in_R):
    """Return the numbers of a draw that the conclusions need."""
    rates = of_draw[gaps[-1]]
    steps = steps_both_ways(rates_in_R, 0.5)
    half = len(grid.lams) // 2
    logs = np.log(reach(rates, grid.lams, 0.5))
    logs_of_most = np.log(reach(rates, grid.lams, 0.9))
    next_lam = np.diag(rates, -1)  # one step below each reference
    middle = path[len(path) // 2]
    rule = seconds_of(lambda: screen_next(problem, middle))
    return {
        "reach": np.exp(np.nanmean(logs)),
        "of large": np.exp(np.nanmean(logs[:half])),
        "of small": np.exp(np.nanmean(logs[half:])),
        "steps of R, large": steps[:half].mean(),
        "steps of R, small": steps[half:].mean(),
        "next lam": min(next_lam[:half].mean(), next_lam[half:].mean()),
        "gain": rates.mean() / of_draw[gaps[0]].mean(),
        "steps": np.nanmean(logs_of_most) / -np.log(ratio),
        "price in rules": seconds_of(lambda: relaxed_path(problem, middle)) / rule,
    }


# %%
if record.computes:
    of_draws = zip(problems, grids, maps, references, of_R, strict=True)
    measured = pd.DataFrame([measures(*of_draw) for of_draw in of_draws])
    record.rows("measures", measured.assign(draw=range(draws)))

# %%
table = record.read("measures")
record.table("table_ranges", table)
print(table.to_string(float_format="{:.3f}".format))

values = table.drop(columns="draw").to_dict("series")
of_large, of_small = table["of large"].mean(), table["of small"].mean()
words = {"halves": f"{of_large:.2g} times for large lam, {of_small:.2g} times for small"}
if "steps of R, small" in table:
    small, large = table["steps of R, small"], table["steps of R, large"]
    values["steps of R, small over large"] = small / large
    words["steps"] = f"{small.mean():.1f} and {large.mean():.1f} steps"
if len(gaps) == 1:
    del values["gain"]
whose = "own"
if (dataset, fraction) == ("segment", 0.9):
    whose = "program" if relative else "paper"
facts = {"safe": (safe["holds"], safe["note"])}
options = {"facts": facts, "words": words, "whose": whose}
conclusions = judging.judge("54-ranges", dataset, {"values": values}, **options)
record.table("conclusions", conclusions)
print(*wording.sentences(conclusions.to_dict("records")), sep="\n")

# %%
comparison = [
    {
        "quantity": f"mean rate over the map, gap {row['gap']:.0e}",
        "paper": "map",
        "ours": round(row["rate"], 3),
        "note": f"on the diagonal {row['rate at lam0']:.3f}",
    }
    for row in means.to_dict("records")
]
record.table("comparison", pd.DataFrame(comparison, columns=["quantity", "paper", "ours", "note"]))
limits.unregister()
print("rows in the comparison:", len(comparison))

# %% [markdown]
# ## Reading the result
#
# Near the diagonal nearly all triplets are decided, for every $\lambda_0$. The reach depends on
# $\lambda_0$. The paper finds wider ranges for small $\lambda$. On segment the ranges are wider for large $\lambda$, because there
# $\|M\|\,\|H\|$ is small compared with the threshold, and a triplet in L remains in L for many steps. The range of R alone is wider for small $\lambda$. The
# paper's sentence and our result would agree if "small" referred to $-\log_{10}\lambda$, the axis of the paper's other figures. The result may differ on
# small data sets (iris): the table of conclusions shows the result of the current data set.
#
# The gap enters through $\varepsilon = \sqrt{2\,\mathrm{gap}/\lambda_0}$: a hundred times larger gap makes $\varepsilon$ ten times as large. The gap matters if
# $\lambda_0$ is small and $\varepsilon$ is not small compared with $\|x_0\|$. An absolute gap of $10^{-4}$ is so small compared with
# objectives of thousands that the two maps hardly differ. With gaps relative to the objective the maps differ, especially for small $\lambda_0$. The
# parameter `relative` shows this.
#
# The ranges of RRPB do not need the objective at the new $\lambda$, so a reduced problem suffices to compute them. The ranges of DGB and MGB
# must be enlarged by the accuracy of the later solutions (STS19 section 6.1.2). The argument `accuracy` above does this. On segment the ranges of MGB are as wide
# as the ranges of RRPB, and the ranges of DGB are narrower. On finer grids (ratio 0.99) ranges save time, see [`55-active-set-and-diagonal`](55-active-set-and-diagonal.ipynb).
