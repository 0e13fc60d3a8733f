# %% [markdown]
# # The hinge without smoothing
#
# STS19 Figure 10: `PGB` with the sphere rule when the loss is the plain hinge ($\gamma = 0$): a heat map of
# dynamic screening, the rate before the first iteration, and the time of each $\lambda$ against no screening.
#
# With a kink in the loss the gradient bound needs a subgradient, and which one decides whether the ball shrinks at
# all (STS19 Theorem 3). Added here: `DGB`, `RRPB`, `MGB` and `MGB&BT2`, and a look at the subgradient that one would
# take first, which fails.
#
# Run it at another size with `safescreen run 56-hinge --profile laptop`.

# %% [markdown]
# ## Parameters
#
# | name | meaning | paper |
# |---|---|---|
# | `dataset`, `k` | data set; neighbours of either kind, 0: the paper's (iris and wine: all) | segment, 20 |
# | `fraction`, `draws`, `seed` | share of the instances drawn at random, how often, and the seed | 0.9, 5 |
# | `ratio`, `n_lams` | $\lambda_t/\lambda_{t-1}$; how many $\lambda$ at most (0: paper's rule) | 0.9 |
# | `rtol`, `tol` | duality gap, relative to the objective and absolute; either suffices | 0, $10^{-6}$ |
# | `methods` | balls | PGB |
# | `output_dir`, `rows_dir` | where files go; the folder of an earlier run, to show its rows without computing any | |

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
# Gradients of the hinge do not bring the gap to zero. The solver therefore works on the dual with a proximal term
# around the last dual point: that is a smoothed hinge with a threshold for each triplet, solved by the projected
# gradient as before, and every pair of points on the way has a gap of the hinge problem itself. Screening follows
# each of these rounds, with the dual point as the subgradient. At small $\lambda$, where gradient steps are slow, interior-point
# steps take over. Baseline and balls use the same solver.

# %% tags=["nbval-ignore-output"]
def of_draw(draw):
    """Return the tables of a draw: rows of each method and lam, and of the first draw the rates
    while solving."""
    problem = problem_of(draw)
    grid = path_runs.paper_grid(problem, ratio, n_lams, screening=("RRPB", "PGB"), **accuracy)
    print(problem.terms)
    print(f"{len(grid.lams)} lams from {grid.lams[0]:.1e} to {grid.lams[-1]:.1e}")
    options = {"none": {"screening": ()}} | {name: {"screening": (name,)} for name in names}
    measured = path_runs.measure(
        problem, options, grid, warm=3 if record.is_cold else 0, **accuracy
    )
    frame = measured.frame.drop(columns="repeat").assign(draw=draw, n_triplets=len(problem))
    tables = {"results": frame}
    if draw == 0:
        rates = path_runs.dynamic_rates(measured.paths[shown], grid.removable)
        tables["dynamic"] = pd.DataFrame(
            rates.T, index=pd.Index(grid.lams, name="lam")
        ).reset_index()
    return tables


if record.computes:
    tables = record.parts(of_draw, draw=range(draws))
    results = tables["results"].assign(dataset=dataset, seed=seed)
    record.rows("results", results)
    same, agreement = path_runs.same_optimum(results, rtol, tol)
    record.rows("dynamic", tables["dynamic"], digits=4)

# %% tags=["nbval-ignore-output"]
frame = record.read("results")
rates = frame.groupby(["draw", "method"])[["path_rate", "final_rate"]].mean().unstack()
mean = frame.groupby("method")[["path_rate", "final_rate"]].mean().loc[names]
print(mean.to_string(float_format="{:.2f}".format))

# %% [markdown]
# ## Figure 10

# %% tags=["nbval-ignore-output"]
one = frame[frame["draw"] == 0]
ratios = path_runs.cpu_ratios(one)
smooth = ratios.rolling(5, center=True, min_periods=1).median()
dynamic = record.read("dynamic", optional=True)
n_panels = 2 if dynamic is None else 3
figure, axes = figures.panels(n_panels, width=3.7 * n_panels, height=3.4)
seen = ""
if dynamic is not None:
    dynamic = dynamic.set_index("lam")
    figures.rate_map(dynamic.to_numpy().T, dynamic.index, ax=axes[0],
                     title=f"{dataset}, hinge: {shown} while solving", colorbar=True)
    seen = f"A map on the left shows the screening rate of {shown} while solving, rounds of screening upwards. "
lines = {
    name: tuple(one[one["method"] == name][["lam", "path_rate"]].to_numpy()[1:].T) for name in names
}
figures.lines(lines, ax=axes[-2], title="before the first iteration", ylabel="screening rate",
              path=True, share=True)
labels = {"title": "time for each lam", "ylabel": "CPU / CPU without screening"}
figures.lines({name: smooth[name]
               for name in names}, smooth.index, ax=axes[-1], path=True, ratio=True, legend=None,
              **labels)
if dynamic is None:
    print(
        "These rows come from a version that kept no map of the rate while solving: the figure of "
        "the record stays as it was."
    )
else:
    record.figure("hinge", figure)
figures.show(
    "Lambda falls to the right. Curves show the rate before the first iteration, and beside it "
    "the time of each lambda over the "
    f"time without screening. {seen}Mean rates before the first iteration: {figures.listed(lines)}."
)

# %% [markdown]
# ## What holds without a clock, and the subgradient that fails
#
# At the optimum of the hinge some margins sit exactly on the kink, where the dual variable is fractional. With the
# dual optimum as the subgradient PGB's radius is 0 there (STS19 Theorem 3). With the one that $\alpha(x)$ gives,
# 0 or 1 on the kink, it is not, however accurate $x$ may be: below, the last $\lambda$ is
# solved to a relative gap of $10^{-4}$, $10^{-7}$ and $10^{-11}$.


# %%
def pgb(e):
    """Radius of PGB from an evaluated point, relative to the norm of x."""
    gradient = e.lam * e.x - e.H
    Q = e.x - gradient / (2.0 * e.lam)
    outside = np.linalg.norm(Q - problem.cone.project(Q))
    return float(
        np.sqrt(max(np.linalg.norm(gradient) ** 2 / (4.0 * e.lam**2) - outside**2, 0.0))
        / np.linalg.norm(e.x)
    )


# %% tags=["nbval-ignore-output"]
if record.computes:
    problem, lam = problem_of(0), float(results.loc[results["draw"] == 0, "lam"].min())
    radii = []
    for accurate in (1e-4, 1e-7, 1e-11):
        middle = ss.solve(problem, lam, rtol=accurate, tol=0.0, screening=(shown,))
        with_dual = pgb(problem.evaluate(middle.x, lam, middle.alpha))
        rough = pgb(problem.evaluate(middle.x, lam))
        radii.append((with_dual, rough))
        print(
            f"gap {accurate:.0e}: radius of PGB with the dual point {with_dual:.0e}, with "
            f"0 or 1 {rough:.0e}"
        )
    fractional = int(np.sum((middle.alpha > 1e-9) & (middle.alpha < 1.0 - 1e-9)))
    print("triplets on the kink with a fractional dual variable:", fractional)
    vanishes = radii[-1][0] < 1e-2 * radii[0][0]
    stays = fractional >= 1 and radii[-1][1] > 3.0 * radii[-1][0]
    note = f"radii at a gap of 1e-11: {radii[-1][0]:.1e} and {radii[-1][1]:.1e} of the norm, {fractional} triplets on the kink"
    facts = [
        {"fact": "kink", "holds": vanishes and stays, "note": note},
        {"fact": "optimum", "holds": same, "note": agreement},
    ]
    record.rows("facts", pd.DataFrame(facts))

# %% tags=["STS19-F10", "nbval-ignore-output"]
assert (mean["path_rate"] <= mean["final_rate"] + 1e-12).all()
assert mean["final_rate"].max() <= 1.0 + 1e-12
facts = record.read("facts").set_index("fact")
kink, optimum = facts.loc["kink"], facts.loc["optimum"]
print("all methods reach the gap, and the same objectives:", bool(optimum["holds"]))
print(
    "with the dual point the radius vanishes, with 0 or 1 on the kink it does not:",
    bool(kink["holds"]),
)
print(f"{shown} screens {mean.loc[shown, 'final_rate']:.2f} of what can be screened, in the end")

# %% [markdown]
# ## Conclusions
#
# Rules and their histories are in `conclusions.yml`. Each draw gives a value. A conclusion is undecided where the 95 % interval of their mean, by Student, covers the bound. Section 7.4.1 gives no numbers: "high" is read as above 0.8, "substantially" as a factor above 1.5, ratio within a draw. Only
# segment at 90 % is the paper's figure: on other data all rows are our own.

# %% tags=["nbval-ignore-output"]
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
whose = path_runs.whose(
    (dataset, k, fraction, ratio, n_lams) == ("segment", 0, 0.9, 0.9, 0), rtol, tol
)
facts = judging.told(facts.reset_index())
conclusions = judging.judge("56-hinge", dataset, tables, facts=facts, whose=whose)
record.table("conclusions", conclusions)
print(*wording.sentences(conclusions.to_dict("records")), sep="\n")

# %%
comparison = [
    {"quantity": f"{name}: CPU / CPU without screening", "paper": "improved" if name == "PGB" else "-",
     "ours": round(float(table.loc[name, "ratio"]), 3), "note": f"path rate {mean.loc[name, 'path_rate']:.3f}"}
    for name in names
]  # fmt: skip
record.table("comparison", pd.DataFrame(comparison, columns=["quantity", "paper", "ours", "note"]))
record.summary(timings={"run": round(float(frame["seconds"].sum()), 3)})
limits.unregister()
print("rows in the comparison:", len(comparison))

# %% [markdown]
# ## Reading the result
#
# With the hinge all triplets but those on the kink can be screened. Times are not the paper's kind of time: it does not say how its
# gradient method reaches the gap with a kink, and a plain gradient does not; the baseline here is the same proximal method without
# screening. The radius of PGB with the dual point falls with the gap towards zero; with 0 or 1 on the kink it soon stops falling, however
# accurate the solution: at a gap of 10⁻¹¹ it is orders of magnitude larger.
