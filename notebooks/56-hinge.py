# %% [markdown]
# # The hinge without smoothing
#
# STS19 Figure 10 shows `PGB` with the sphere rule for the plain hinge ($\gamma = 0$): a heat map of
# dynamic screening, the rate before the first iteration, and the time for each $\lambda$ compared with no screening.
#
# The hinge has a kink, so the gradient bound needs a subgradient. The choice of the subgradient decides whether the radius
# goes to 0 (STS19 Theorem 3). We add the balls `DGB`, `RRPB`, `MGB` and `MGB&BT2`, and we show that the most obvious
# subgradient fails.
#
# Run it at another size with `safescreen run 56-hinge --profile laptop`.

# %% [markdown]
# ## Parameters
#
# | name | meaning | paper |
# |---|---|---|
# | `dataset`, `k` | data set; number of targets and of impostors, 0: the paper's (iris and wine: all) | segment, 20 |
# | `fraction`, `draws`, `seed` | share of the instances in a random draw, number of draws, seed | 0.9, 5 |
# | `ratio`, `n_lams` | $\lambda_t/\lambda_{t-1}$; largest number of $\lambda$ (0: paper's rule) | 0.9 |
# | `rtol`, `tol` | duality gap, relative to the objective and absolute; a solve stops when one of the two is reached | 0, $10^{-6}$ |
# | `methods` | balls | PGB |
# | `output_dir`, `rows_dir` | folder for the files; folder of an earlier run, to show its rows without computing | |

# %% tags=["parameters"]
dataset = "iris"
k = 0
fraction = 0.2
draws = 2
seed = 0
ratio = 0.8
n_lams = 14
rtol = 0.0
tol = 1e-6
methods = "PGB,DGB,RRPB,MGB,MGB&BT2"
output_dir = ""
rows_dir = ""

# %%
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
shown = "PGB" if "PGB" in names else names[0]


def problem_of(draw):
    """Return the problem of a draw."""
    X, y = path_runs.draw(dataset, fraction, seed + draw)
    triplets = ss.Triplets.from_labels(X, y, k or path_runs.K_OF_PAPER.get(dataset))
    return ss.Problem(triplets, ss.Hinge())

# %% [markdown]
# ## Run
#
# Gradient steps on the hinge do not bring the gap to zero. So the solver adds a proximal term around the last dual point to the
# dual problem. This is the problem of a smoothed hinge with a threshold for each triplet, which the projected
# gradient solves. Every pair of iterates has a gap of the hinge problem. The library screens after
# each round, with the dual point as the subgradient. At small $\lambda$ gradient steps are slow, and the solver uses
# interior-point steps. The baseline and all balls use the same solver.

# %%
def of_draw(draw):
    """Return the tables of a draw: the rows of each method and lam, and for the first draw the
    rates during the solves."""
    problem = problem_of(draw)
    grid = path_runs.paper_grid(problem, ratio, n_lams, screening=("RRPB", "PGB"), **accuracy)
    print(problem.terms)
    print(f"{len(grid.lams)} lams from {grid.lams[0]:.1e} to {grid.lams[-1]:.1e}")
    options = {"none": {"screening": ()}} | {name: {"screening": (name,)} for name in names}
    warm = 3 if record.is_cold else 0
    measured = path_runs.measure(problem, options, grid, warm=warm, **accuracy)
    frame = measured.frame.drop(columns="repeat").assign(draw=draw, n_triplets=len(problem))
    tables = {"results": frame}
    if draw == 0:
        rates = path_runs.dynamic_rates(measured.paths[shown], grid.removable)
        by_lam = pd.DataFrame(rates.T, index=pd.Index(grid.lams, name="lam"))
        tables["dynamic"] = by_lam.reset_index()
    return tables


# %%
if record.computes:
    tables = record.parts(of_draw, draw=range(draws))
    results = tables["results"].assign(dataset=dataset, seed=seed)
    record.rows("results", results)
    same, agreement = path_runs.same_optimum(results, rtol, tol)
    record.rows("dynamic", tables["dynamic"], digits=4)

# %%
frame = record.read("results")
rates = frame.groupby(["draw", "method"])[["path_rate", "final_rate"]].mean().unstack()
mean = frame.groupby("method")[["path_rate", "final_rate"]].mean().loc[names]
print(mean.to_string(float_format="{:.2f}".format))

# %% [markdown]
# ## Figure 10

# %%
one = frame[frame["draw"] == 0]
ratios = path_runs.cpu_ratios(one)
smooth = ratios.rolling(5, center=True, min_periods=1).median()
dynamic = record.read("dynamic", optional=True)
dynamic = record.read("dynamic", optional=True)
lines = {
    name: tuple(one[one["method"] == name][["lam", "path_rate"]].to_numpy()[1:].T) for name in names
}
times = {name: smooth[name] for name in names}

# %%
n_panels = 2 if dynamic is None else 3
figure, axes = figures.panels(n_panels, width=3.7 * n_panels, height=3.4)
labels = {"title": "before the first iteration", "ylabel": "screening rate"}
figures.lines(lines, ax=axes[-2], path=True, share=True, **labels)
labels = {"title": "time for each lam", "ylabel": "CPU / CPU without screening"}
figures.lines(times, smooth.index, ax=axes[-1], path=True, ratio=True, legend=None, **labels)
of_map = ""
if dynamic is None:
    print("An earlier version wrote these rows, without a map of the rate during the solves.")
    print("The figure of the record is unchanged.")
else:
    dynamic = dynamic.set_index("lam")
    figures.rate_map(dynamic.to_numpy().T, dynamic.index, ax=axes[0],
                     title=f"{dataset}, hinge: {shown} while solving", colorbar=True)
    of_map = f"A map on the left shows the rate of {shown} during the solves, with rounds upwards. "
    record.figure("hinge", figure)
figures.show(
    f"Lambda falls to the right. {of_map}Curves show the screening rate before the first "
    "iteration, and, on the right, the time for each lambda divided by the time without "
    f"screening. The mean rates before the first iteration are {figures.listed(lines)}."
)

# %% [markdown]
# ## The subgradient that fails
#
# At the optimum of the hinge some margins are exactly on the kink, where the dual variable is between 0 and 1. With the
# dual optimum as the subgradient the radius of PGB at the optimum is 0 (STS19 Theorem 3). With the subgradient
# $\alpha(x)$, which is 0 or 1 on the kink, the radius is not 0, however accurate $x$ may be. The cell solves the last
# $\lambda$ to relative gaps of $10^{-4}$, $10^{-7}$ and $10^{-11}$.


# %%
def pgb(e):
    """Return the radius of PGB from an evaluated point, divided by the norm of x."""
    gradient = e.lam * e.x - e.H
    Q = e.x - gradient / (2.0 * e.lam)
    outside = np.linalg.norm(Q - problem.cone.project(Q))
    square = np.linalg.norm(gradient) ** 2 / (4.0 * e.lam**2) - outside**2
    return float(np.sqrt(max(square, 0.0)) / np.linalg.norm(e.x))


# %%
if record.computes:
    problem = problem_of(0)
    lam = float(results.loc[results["draw"] == 0, "lam"].min())
    radii = []
    for accurate in (1e-4, 1e-7, 1e-11):
        middle = ss.solve(problem, lam, rtol=accurate, tol=0.0, screening=(shown,))
        with_dual = pgb(problem.evaluate(middle.x, lam, middle.alpha))
        with_slopes = pgb(problem.evaluate(middle.x, lam))
        radii.append((with_dual, with_slopes))
        print(f"gap {accurate:.0e}: radius of PGB with the dual point {with_dual:.0e}, ", end="")
        print(f"with 0 or 1 {with_slopes:.0e}")
    fractional = int(np.sum((middle.alpha > 1e-9) & (middle.alpha < 1.0 - 1e-9)))
    print("triplets on the kink with a dual variable between 0 and 1:", fractional)
    with_dual, with_slopes = radii[-1]
    vanishes = with_dual < 1e-2 * radii[0][0]
    stays = fractional >= 1 and with_slopes > 3.0 * with_dual
    note = f"radii at a gap of 1e-11: {with_dual:.1e} and {with_slopes:.1e} of the norm, "
    note += f"{fractional} triplets on the kink"
    facts = [
        {"fact": "kink", "holds": vanishes and stays, "note": note},
        {"fact": "optimum", "holds": same, "note": agreement},
    ]
    record.rows("facts", pd.DataFrame(facts))

# %% tags=["STS19-F10"]
assert (mean["path_rate"] <= mean["final_rate"] + 1e-12).all()
assert mean["final_rate"].max() <= 1.0 + 1e-12
facts = record.read("facts").set_index("fact")
print("objectives of all methods:", facts.loc["optimum", "note"])
print("PGB with the dual point, and with 0 or 1 on the kink:", facts.loc["kink", "note"])
print(f"at the end of a solve {shown} has screened {mean.loc[shown, 'final_rate']:.2f} ", end="")
print("of the triplets outside the kink")

# %% [markdown]
# ## Conclusions
#
# The file `conclusions.yml` has the rules and their histories. Each draw gives a value. A conclusion is undecided if the 95 % interval of the mean over draws, by Student, covers the bound. Section 7.4.1 gives no numbers. We ask that a "high" rate be above 0.8, and that PGB make the path "substantially" faster,
# by a factor above 1.5 within a draw. Only segment at 90 % is the paper's figure. On other data all rows are our own.

# %%
total = frame.groupby(["draw", "method"])["seconds"].sum().unstack()
factor = total[["none"]].to_numpy() / total[names]
median = pd.DataFrame([path_runs.cpu_ratios(of).median() for _, of in frame.groupby("draw")])
iterations = frame.groupby(["draw", "method"])["n_iter"].sum().groupby("method").median()
table = mean.assign(iterations=iterations, seconds=total.median(), ratio=(1.0 / factor).mean(),
                    median_ratio=median.mean())
record.table("table_hinge", table.reset_index())
print(f"none: {total['none'].median():.2f} s, {iterations['none']:.0f} iterations")
print(table.to_string(float_format="{:.3f}".format))

tables = {"path_rate": rates["path_rate"], "final_rate": rates["final_rate"], "seconds": total}
as_printed = (dataset, k, fraction, ratio, n_lams) == ("segment", 0, 0.9, 0.9, 0)
whose = path_runs.whose(as_printed, rtol, tol)
facts = judging.told(facts.reset_index())
conclusions = judging.judge("56-hinge", dataset, tables, facts=facts, whose=whose)
record.table("conclusions", conclusions)
print(*wording.sentences(conclusions.to_dict("records")), sep="\n")

# %%
comparison = []
for name in names:
    row = {"quantity": f"{name}: CPU / CPU without screening"}
    row["paper"] = "improved" if name == "PGB" else "-"
    row["ours"] = round(float(table.loc[name, "ratio"]), 3)
    row["note"] = f"path rate {mean.loc[name, 'path_rate']:.3f}"
    comparison.append(row)
record.table("comparison", pd.DataFrame(comparison, columns=["quantity", "paper", "ours", "note"]))
record.summary(timings={"run": round(float(frame["seconds"].sum()), 3)})
limits.unregister()
print("rows in the comparison:", len(comparison))

# %% [markdown]
# ## Reading the result
#
# With the hinge every triplet with a margin off the kink can be screened. Our times cannot be compared with the paper's times. The paper does not say how its
# gradient method reaches the gap in spite of the kink, and a plain gradient method does not reach it. Our baseline is the proximal method without
# screening. With the dual point the radius of PGB goes to zero with the gap. With 0 or 1 on the kink the radius soon stops falling, however
# accurate the solution is. At a gap of 10⁻¹¹ it is orders of magnitude larger than with the dual point.
