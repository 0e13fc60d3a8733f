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
# | `fraction`, `seed` | share of the instances drawn at random, and the seed | 0.9, five draws |
# | `gamma`, `ratio`, `n_lams` | smoothing; $\lambda_t/\lambda_{t-1}$; how many $\lambda$ at most (0: paper's rule) | 0.05, 0.9 |
# | `rtol`, `tol` | duality gap, relative to the objective and absolute; either suffices | "$10^{-6}$" |
# | `freq` | iterations from one round of dynamic screening to the next | 10 |
# | `methods`, `repeats` | balls; how often each is timed | |

# %% tags=["parameters"]
dataset = "iris"
k = 0
fraction = 0.4
seed = 0
gamma = 0.05
ratio = 0.9
n_lams = 0
rtol = 0.0
tol = 1e-6
freq = 10
methods = "GB,PGB,DGB,RRPB,MGB,BT2,MGB&BT2"
repeats = 1
output_dir = ""

# %%
import matplotlib.pyplot as plt
import numba
import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

import safescreen as ss
from safescreen_book import Recorder, figures
from safescreen_book.protocols import path_runs

record = Recorder(output_dir)
numba.set_num_threads(1)
limits = threadpool_limits(1)
accuracy = {"rtol": rtol, "tol": tol}
names = [name.strip() for name in methods.split(",")]

X, y = path_runs.draw(dataset, fraction, seed)
problem = ss.Problem(
    ss.Triplets.from_labels(X, y, k or path_runs.K_OF_PAPER.get(dataset)), ss.SmoothedHinge(gamma)
)
grid = path_runs.paper_grid(problem, ratio, n_lams, screening=("RRPB", "PGB"), **accuracy)
print(problem.terms)
print(f"{len(grid.lams)} lams from {grid.lams[0]:.1e} to {grid.lams[-1]:.1e}")
print(
    f"outside the quadratic piece at the solutions: {np.mean(grid.removable / len(problem)):.1%} on average"
)

# %% [markdown]
# ## Run
#
# Every method screens with the last solution as its reference before the first iteration, and with the
# iterate every `freq` iterations; RRPB turns into DGB there, since an iterate is a reference for its own
# $\lambda$. The rate is that of STS19 section 7.1: screened triplets over those outside the quadratic piece
# of the loss at the solution. Seconds are processor seconds of one thread.

# %%
options = {"none": {"screening": ()}} | {name: {"screening": (name,)} for name in names}
runs = path_runs.measure(problem, options, grid, repeats=repeats, freq=freq, **accuracy)
frame = runs.frame.assign(dataset=dataset, n_triplets=len(problem), threads=1, seed=seed)
record.table("results", frame)
spread = path_runs.largest_difference(frame)
same = spread <= 2.0 * max(rtol, tol / frame["primal"].min()) + 1e-10
assert same and frame["converged"].all()
print("all methods reach the same objectives:", same)
mean = frame.groupby("method")[["path_rate", "final_rate"]].mean().loc[names]
print(mean.to_string(float_format="{:.2f}".format))

# %% [markdown]
# ## Heat maps: screening while a lam is solved
#
# From left to right $\lambda$ falls, upwards rounds of screening follow one another; white is where the solve
# had ended. The few longest solves (3 %) reach beyond the top.

# %%
maps = {name: path_runs.dynamic_rates(runs.paths[name], grid.removable, freq) for name in names}
ends = [np.count_nonzero(~np.isnan(rates), axis=0) for rates in maps.values()]
rounds = int(np.quantile(ends, 0.97)) + 1
rows = -(-len(names) // 4)
with plt.rc_context(figures.STYLE):
    figure, axes = plt.subplots(
        rows, 4, figsize=(11.0, 2.6 * rows), layout="constrained", sharey=True, squeeze=False
    )
for place, (ax, name) in enumerate(zip(axes.flat, names, strict=False)):
    figures.rate_map(maps[name], grid.lams, ax=ax, title=name, rounds=rounds)
    if place % 4:
        ax.set_ylabel("")
for ax in axes.flat[len(names) :]:
    ax.set_axis_off()
figure.colorbar(axes[0, 0].collections[0], ax=axes, label="screening rate", fraction=0.02)
record.figure("dynamic", figure)
plt.show()

# %% [markdown]
# ## Before the first iteration, and the time of each lam

# %%
ratios = path_runs.cpu_ratios(frame)
one = frame[frame["repeat"] == 0]
lines = {name: tuple(one[one["method"] == name][["lam", "path_rate"]].to_numpy()[1:].T) for name in names}
figure, axes = figures.panels(2, width=10.0, height=3.7)
labels = {"title": f"{dataset}: before the first iteration", "ylabel": "screening rate"}
figures.lines(lines, ax=axes[0], path=True, share=True, **labels)
smooth = ratios.rolling(5, center=True, min_periods=1).median()
labels = {"title": "time for each lam", "ylabel": "CPU / CPU without screening"}
figures.lines({name: smooth[name] for name in names}, smooth.index, ax=axes[1], path=True, ratio=True, legend=None, **labels)
record.figure("path", figure)
plt.show()

# %% [markdown]
# ## What holds without a clock
#
# Before the first iteration the reference is (nearly) the optimum for the last $\lambda$, where PGB and RRPB
# are the same ball (STS19 Theorem 7) and DGB has twice its radius and holds it (Theorem 8). During the solve
# nothing of the kind is proved; there the ball that profits most from the iterate wins.

# %% tags=["STS19-F7", "nbval-ignore-output"]
rate = mean["path_rate"].to_dict()


def halfway(rates):
    """Mean over lam of the rate in the middle of the solve."""
    ends = [np.flatnonzero(~np.isnan(column))[-1] for column in rates.T]
    return float(np.mean([column[end // 2] for column, end in zip(rates.T, ends, strict=True)]))


during = {name: halfway(maps[name]) for name in names}
for name in names:
    print(
        f"{name:8} before {rate[name]:.2f}   half-way {during[name]:.2f}   in the end {mean.loc[name, 'final_rate']:.2f}"
    )
    assert rate[name] <= mean.loc[name, "final_rate"] + 1e-12 <= 1.0 + 2e-12
    columns = maps[name].T
    assert all((np.diff(column[~np.isnan(column)]) >= 0.0).all() for column in columns), (
        name
    )  # nothing is ever taken back
if {"PGB", "RRPB"} <= rate.keys():
    assert abs(rate["PGB"] - rate["RRPB"]) < 0.03
    print("PGB and RRPB before the first iteration differ by less than 0.03")
    assert during["PGB"] >= during["RRPB"] - 1e-3
    print("PGB screens more than RRPB, or as much, half-way through the solve")
if {"DGB", "RRPB"} <= rate.keys():
    assert rate["DGB"] <= rate["RRPB"] + 1e-3
    print("DGB screens less than RRPB before the first iteration")

# %% [markdown]
# ## The clock

# %% tags=["nbval-ignore-output"]
grouped = frame.groupby(["method", "repeat"])
seconds = grouped["seconds"].sum().groupby("method").median()
iterations = grouped["n_iter"].sum().groupby("method").median()
latter = ratios.iloc[len(ratios) // 2 :].median()
table = mean.assign(
    half_way=during, iterations=iterations, seconds=seconds, ratio=seconds / seconds["none"]
)
table = table.assign(median_ratio=ratios.median(), latter_half=latter)
record.table("table_spheres", table.reset_index())
print(f"none: {seconds['none']:.2f} s, {iterations['none']:.0f} iterations")
print(table.to_string(float_format="{:.3f}".format))

# %% tags=["nbval-ignore-output"]
conclusions = []


def conclude(claim, paper, ours, stands):
    """Note a conclusion and print it."""
    conclusions.append({"claim": claim, "paper": paper, "ours": ours, "stands": bool(stands)})
    print(f"[{'stands' if stands else 'does not stand'}] {claim}\n    paper: {paper}\n    ours:  {ours}")


half = len(grid.lams) // 2
if "GB" in names:
    values = one.loc[one["method"] == "GB", "path_rate"].to_numpy()
    conclude(
        "GB's rate falls from the middle of the path",
        "decreased compared with the other spheres",
        f"{values[1:half].mean():.2f} in the first half, {values[half:].mean():.2f} in the second",
        values[half:].mean() < values[1:half].mean() - 0.05,
    )
if {"PGB", "RRPB", "DGB"} <= rate.keys():
    conclude(
        "before the first iteration PGB and RRPB are alike and DGB is lower",
        "as Theorems 7 and 8 suggest",
        f"PGB {rate['PGB']:.3f}, RRPB {rate['RRPB']:.3f}, DGB {rate['DGB']:.3f}",
        abs(rate["PGB"] - rate["RRPB"]) < 0.03 and rate["DGB"] < rate["RRPB"],
    )
    conclude(
        "while solving, PGB's rate is higher than RRPB's",
        "higher dynamic rate",
        f"half-way {during['PGB']:.3f} and {during['RRPB']:.3f}",
        during["PGB"] > during["RRPB"],
    )
    conclude(
        "PGB is faster than RRPB in the latter half of the path",
        "faster despite its additional product",
        f"median ratio of times {latter['PGB']:.2f} and {latter['RRPB']:.2f}",
        latter["PGB"] < latter["RRPB"],
    )
    least = min((name for name in ("PGB", "DGB", "RRPB")), key=lambda name: 1.0 / ratios[name].median())
    conclude(
        "balls other than GB are more than twice as fast as no screening at most lam",
        "more than twice",
        ", ".join(f"{name} {1.0 / ratios[name].median():.1f}" for name in ("PGB", "DGB", "RRPB"))
        + " times (medians)",
        1.0 / ratios[least].median() > 2.0,
    )
if {"MGB", "PGB"} <= rate.keys():
    conclude(
        "MGB (not in the paper) screens as much as PGB",
        "-",
        f"before {rate['MGB']:.3f} and {rate['PGB']:.3f}, half-way {during['MGB']:.3f} and {during['PGB']:.3f}",
        abs(rate["MGB"] - rate["PGB"]) < 0.03,
    )

# %%
comparison = [
    {"quantity": f"{name}: CPU / CPU without screening", "paper": "below 0.5 but for GB" if name in ("PGB", "DGB", "RRPB") else "-",
     "ours": round(float(table.loc[name, "ratio"]), 3), "note": f"path rate {rate[name]:.3f}, half-way {during[name]:.3f}"}
    for name in names
]  # fmt: skip
record.table("comparison", pd.DataFrame(comparison, columns=["quantity", "paper", "ours", "note"]))
record.summary(timings={"run": round(float(frame["seconds"].sum()), 3)}, conclusions=conclusions)
limits.unregister()
print("rows in the comparison:", len(comparison))

# %% [markdown]
# ## Reading the result
#
# Observed on the embedded sets, on phishing (k = 7, 487550 triplets, one draw, a relative gap of $10^{-6}$) and on a tenth of it, and on
# segment (k = 20, 832000 triplets, one draw, an absolute gap of $10^{-6}$).
#
# * On phishing: before the first iteration PGB 0.72, RRPB 0.71, GB 0.67, DGB 0.41; half-way through the solve PGB 0.79, RRPB 0.75; both
#   orders **stand**. The path takes 0.64 (PGB), 0.67 (MGB), 0.71 (DGB), 0.78 (RRPB) and 0.82 (GB) of the time without screening: not yet
#   twice as fast, **at a relative gap**. The paper prints an absolute one; at that gap, where each $\lambda$ takes many iterations, it **stands**
#   on segment: 0.24 (MGB), 0.25 (PGB), 0.30 (DGB and RRPB), GB 1.05. Phishing has not been run at it.
# * On that tenth: GB 0.69 in the first half of the path and 0.15 in the second; before the first iteration PGB 0.60, RRPB 0.59, DGB 0.31;
#   half-way through the solve PGB 0.73, RRPB 0.66; PGB faster than RRPB in the latter half. All that **stands**. Of the
#   time nothing is gained in the median there, a tenth over the whole path (PGB, MGB), at a relative gap again.
# * The ranking before the first iteration is geometry, and stands: GB decays, DGB trails, PGB, RRPB and MGB
#   coincide.
# * During the solve PGB and MGB overtake RRPB, which falls back to the wider DGB there. How much that is worth
#   depends on how many rounds a solve lasts: with an absolute accuracy of $10^{-6}$ (the defaults here) many,
#   at a relative one few solves live to see their second round.
# * Times are ratios within one run. Where the number of triplets is small, the fixed cost of an iteration (an
#   eigendecomposition, bookkeeping) is what no screening can save, and the ratio says so.
