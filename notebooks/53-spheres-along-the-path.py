# %% [markdown]
# # Spheres along the path
#
# STS19 Figure 7: all balls with the sphere rule on one data set. Heat maps show how the share of screened
# triplets grows **while** each $\lambda$ is solved (dynamic screening, a round every 10 iterations); curves
# show what was screened **before** the first iteration, and the processor time against no screening.
#
# The paper's balls are `GB`, `PGB`, `DGB` and `RRPB`. Added here: the midpoint gap bound (`MGB`), the same
# with slopes taken at its own center (`BT2`), and the points common to both (`MGB&BT2`). At the end you will
# have seen which ball is best before the first iteration, which during the solve, and what each costs.
#
# Run it at another size with `safescreen run 53-spheres-along-the-path --profile laptop`.

# %% [markdown]
# ## Parameters
#
# | name | meaning | paper |
# |---|---|---|
# | `dataset`, `k` | data set; neighbours of either kind, 0: the paper's (iris and wine: all) | phishing, 7 |
# | `fraction`, `draws`, `seed` | share of the instances drawn at random, how often, and the seed | 0.9, 5 |
# | `gamma`, `ratio`, `n_lams` | smoothing; $\lambda_t/\lambda_{t-1}$; how many $\lambda$ at most (0: paper's rule) | 0.05, 0.9 |
# | `rtol`, `tol` | duality gap, relative to the objective and absolute; either suffices | 0, $10^{-6}$ |
# | `freq` | iterations from one round of dynamic screening to the next | 10 |
# | `methods` | balls | |
# | `output_dir`, `rows_dir` | where files go; the folder of an earlier run, to show its rows without computing any | |

# %% tags=["parameters"]
dataset = "iris"
k = 0
fraction = 0.3
draws = 2
seed = 0
gamma = 0.05
ratio = 0.8
n_lams = 0
rtol = 0.0
tol = 1e-6
freq = 10
methods = "GB,PGB,DGB,RRPB,MGB,BT2,MGB&BT2"
output_dir = ""
rows_dir = ""

# %%
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
accuracy = {"rtol": rtol, "tol": tol}
names = [name.strip() for name in methods.split(",")]

# %% [markdown]
# ## Run
#
# Every method screens with the last solution as its reference before the first iteration, and with the
# iterate every `freq` iterations; RRPB turns into DGB there, since an iterate is a reference for its own
# $\lambda$. The rate is that of STS19 section 7.1: screened triplets over those outside the quadratic piece
# of the loss at the solution. Seconds are processor seconds of one thread.


# %%
def rounds_of(path, grid):
    """Return the screening rate after each round of screening, a row a round and lam."""
    rates = pd.DataFrame(path_runs.dynamic_rates(path, grid.removable, freq), columns=grid.lams)
    rates = rates.rename_axis("round").reset_index()
    return rates.melt("round", var_name="lam", value_name="rate").dropna()


def half_way_of(rounds):
    """Return the mean over lam of the rate half-way through the rounds of its solve."""
    solves = [rates.to_numpy() for _, rates in rounds.groupby("lam")["rate"]]
    return float(np.mean([rates[(len(rates) - 1) // 2] for rates in solves]))


# %%
def of_draw(draw):
    """Return the tables of a draw: rows of each method and lam, rates half-way through the solves,
    and of the first draw all rounds.
    """
    X, y = path_runs.draw(dataset, fraction, seed + draw)
    terms = ss.Triplets.from_labels(X, y, k or path_runs.K_OF_PAPER.get(dataset))
    problem = ss.Problem(terms, ss.SmoothedHinge(gamma))
    grid = path_runs.paper_grid(problem, ratio, n_lams, screening=("RRPB", "PGB"), **accuracy)
    print(terms)
    print(f"{len(grid.lams)} lams from {grid.lams[0]:.1e} to {grid.lams[-1]:.1e}")
    options = {"none": {"screening": ()}} | {name: {"screening": (name,)} for name in names}
    warm = 8 if record.is_cold else 0
    measured = path_runs.measure(problem, options, grid, freq=freq, warm=warm, **accuracy)
    rounds = {name: rounds_of(measured.paths[name], grid) for name in names}
    half_way = [
        {"draw": draw, "method": name, "half_way": half_way_of(of)} for name, of in rounds.items()
    ]
    results = measured.frame.assign(draw=draw, n_triplets=len(problem))
    tables = {"results": results, "half_way": pd.DataFrame(half_way)}
    if draw == 0:
        tables["dynamic"] = pd.concat([of.assign(method=name) for name, of in rounds.items()])
    return tables


# %% tags=["nbval-ignore-output"]
if record.computes:
    tables = record.parts(of_draw, draw=range(draws))
    frame = tables["results"].assign(dataset=dataset, threads=1, seed=seed)
    record.rows("results", frame, digits=15)  # objectives are compared up to their gaps
    record.rows("half_way", tables["half_way"])
    record.rows("dynamic", tables["dynamic"], digits=6)

# %% tags=["nbval-ignore-output"]
frame = record.read("results")
frames = [one for _, one in frame.groupby("draw")]
same, agreement = path_runs.same_optimum(frame, rtol, tol)
print("all methods reach the same objectives:", same)
rate = frame.groupby(["draw", "method"])["path_rate"].mean().unstack()[names]
# older rows have no draws here: the means, and the deviation of the difference that is judged
half_way = record.read("half_way")
during = half_way.pivot(index="draw", columns="method", values="half_way")[names]
final = frame.groupby(["draw", "method"])["final_rate"].mean().unstack()[names]
mean = pd.DataFrame({"before": rate.mean(), "half-way": during.mean(), "in the end": final.mean()})
print(mean.to_string(float_format="{:.2f}".format))

# %% [markdown]
# ## Figure 7: screening while a lam is solved
#
# From left to right $\lambda$ falls, upwards rounds of screening follow one another; white is where the solve
# had ended. The few longest solves (3 %) reach beyond the top.

# %%
def draw_maps(maps):
    """Return the figure of the maps, a panel a ball."""
    ends = [rates.notna().sum().to_numpy() for rates in maps.values()]
    rounds = int(np.quantile(ends, 0.97)) + 1
    rows = -(-len(maps) // 4)
    options = {"layout": "constrained", "sharey": True, "squeeze": False}
    with plt.rc_context(figures.STYLE):
        figure, axes = plt.subplots(rows, 4, figsize=(11.0, 2.6 * rows), **options)
    for place, (ax, (name, rates)) in enumerate(zip(axes.flat, maps.items(), strict=False)):
        lams = rates.columns.to_numpy()
        figures.rate_map(rates.to_numpy(), lams, ax=ax, title=name, rounds=rounds)
        if place % 4:
            ax.set_ylabel("")
    for ax in axes.flat[len(maps) :]:
        ax.set_axis_off()
    figure.colorbar(axes[0, 0].collections[0], ax=axes, label="screening rate", fraction=0.02)
    return figure


# %% tags=["nbval-ignore-output"]
dynamic = record.read("dynamic", optional=True)
if dynamic is None:
    print("These rows come from a version that kept none of the maps: the figure stays as it was.")
else:
    maps = {}
    for name in names:
        rounds = dynamic[dynamic["method"] == name]
        rates = rounds.pivot(index="round", columns="lam", values="rate")
        maps[name] = rates.sort_index(axis=1, ascending=False)
    record.figure("dynamic", draw_maps(maps))
    figures.show(
        "Each map shows the screening rate of a method while solving: lambda falls to the right, "
        "rounds of screening go upwards, yellow is a rate of 1 and dark blue a rate of 0, white "
        "is where a solve had ended. Mean rates: "
        f"{figures.listed({name: rates.to_numpy() for name, rates in maps.items()})}."
    )

# %% [markdown]
# ## Figure 7: before the first iteration, and the time of each lam

# %% tags=["nbval-ignore-output"]
one = frames[0]
lines = {}
for name in names:
    curve = one[one["method"] == name].iloc[1:]  # the first lam has no solution before it
    lines[name] = curve["lam"].to_numpy(), curve["path_rate"].to_numpy()
ratios = path_runs.cpu_ratios(one)
figure, axes = figures.panels(2, width=10.0, height=3.7)
labels = {"title": f"{dataset}: before the first iteration", "ylabel": "screening rate"}
figures.lines(lines, ax=axes[0], path=True, share=True, **labels)
smooth = ratios.rolling(5, center=True, min_periods=1).median()
labels = {"title": "time for each lam", "ylabel": "CPU / CPU without screening"}
figures.lines({name: smooth[name]
               for name in names}, smooth.index, ax=axes[1], path=True, ratio=True, legend=None,
              **labels)
record.figure("path", figure)
figures.show(
    "Curves show the methods against lambda, which falls to the right: on the left "
    "the screening rate "
    "before the first iteration, on the right the time of each lambda over the time "
    "without screening. "
    f"Mean rates: {figures.listed(lines)}."
)

# %% [markdown]
# ## What holds without a clock
#
# Before the first iteration the reference is (nearly) the optimum for the last $\lambda$, where PGB and RRPB
# are the same ball (STS19 Theorem 7) and DGB has twice its radius and holds it (Theorem 8). During the solve
# nothing of the kind is proved; there the ball that profits most from the iterate wins. It is asserted that all methods end with the same
# objectives, that nothing is taken back, and that nothing is screened that cannot be. The rates are found, and not asserted.

# %% tags=["STS19-F7", "nbval-ignore-output"]
assert same, agreement
for name in names:
    assert (rate[name] <= final[name] + 1e-12).all() and final[name].max() <= 1.0 + 1e-12
if dynamic is not None:
    later = dynamic.groupby(["method", "lam"])["rate"].diff().dropna()
    assert (later >= 0.0).all()  # nothing is ever taken back
if {"PGB", "RRPB"} <= set(names):
    apart = (rate["PGB"] - rate["RRPB"]).abs().max()
    print(
        f"PGB and RRPB: rates before the first iteration differ by {apart:.4f} at most, over draws"
    )
    print(
        f"half-way, in the mean over draws: PGB {during['PGB'].mean():.4f}, RRPB "
        f"{during['RRPB'].mean():.4f}"
    )
if {"DGB", "RRPB"} <= set(names):
    less = (rate["DGB"] < rate["RRPB"]).sum()
    print(f"before the first iteration DGB screens less than RRPB in {less} of {len(rate)} draws")

# %% [markdown]
# ## Conclusions
#
# Rules and their histories are in `conclusions.yml`. Each draw gives a value. A conclusion is undecided where the 95 % interval of their mean, by Student, covers the bound. Times are ratios within a draw. Section 7.2 speaks of "more than twice as fast for most values of $\lambda$": the
# median over $\lambda$. RRPB is said to need less time than PGB, and PGB less in the latter half of the path: so the first
# sentence is judged in the first half. Only phishing at 90 % on its grid is the paper's figure: elsewhere all rows are our own.

# %% tags=["nbval-ignore-output"]
by_lam = [path_runs.cpu_ratios(one) for one in frames]
median = pd.DataFrame([one.median() for one in by_lam])
first = pd.DataFrame([one.iloc[: len(one) // 2].median() for one in by_lam])
latter = pd.DataFrame([one.iloc[len(one) // 2 :].median() for one in by_lam])
total = frame.groupby(["draw", "method"])["seconds"].sum().unstack()
table = mean.assign(
    ratio=(total[names].div(total["none"], axis=0)).mean(),
    median_ratio=median.mean(),
    latter_half=latter.mean(),
)
record.table("table_spheres", table.reset_index())
print(table.to_string(float_format="{:.3f}".format))


# %%
def halves(name, column):
    """Return the means of a column in the halves of the path, but its first lam, a row a draw."""
    paths = [one.loc[one["method"] == name, column].to_numpy()[1:] for one in frames]
    return np.array([[part.mean() for part in np.array_split(values, 2)] for values in paths])


# %%
iterations = np.divide(*halves("none", "n_iter").T[::-1])
tables = {
    "falls": {name: -np.diff(halves(name, "path_rate")).ravel() for name in names},
    "rates": rate,
    "rates half-way": during,
    "first half": first,
    "latter half": latter,
    "median factors": 1.0 / median,
    "values": {"iterations": iterations},
}
if {"PGB", "RRPB"} <= set(names):
    tables["values"]["PGB and RRPB apart"] = (rate["PGB"] - rate["RRPB"]).abs()

# %% tags=["nbval-ignore-output"]
as_printed = (dataset, k, fraction, gamma, ratio, n_lams, freq) == (
    "phishing",
    0,
    0.9,
    0.05,
    0.9,
    0,
    10,
)
whose = path_runs.whose(as_printed, rtol, tol)
conclusions = judging.judge(
    "53-spheres-along-the-path", dataset, tables, facts={"optimum": (same, agreement)}, whose=whose
)
record.table("conclusions", conclusions)
print(*wording.sentences(conclusions.to_dict("records")), sep="\n")

# %%
comparison = [
    {"quantity": f"{name}: CPU / CPU without screening", "paper": "below 0.5" if name in ("PGB", "DGB", "RRPB") else "-",
     "ours": round(float(table.loc[name, "ratio"]), 3), "note": f"rate before {rate[name].mean():.3f}, half-way {during[name].mean():.3f}"}
    for name in names
]  # fmt: skip
record.table("comparison", pd.DataFrame(comparison, columns=["quantity", "paper", "ours", "note"]))
record.summary(timings={"run": round(float(frame["seconds"].sum()), 3)})
limits.unregister()
print("rows in the comparison:", len(comparison))
