# %% [markdown]
# # Data sets, triplets and the range of lambda
#
# STS19 Table 2: how many triplets each data set has, the first $\lambda$ of its path and the last. All three can be
# computed, and two of them tell something the text does not: which instances "90 %" are, and whether our data
# are the authors' data.
#
# At the end you will have seen the table again, measured, with the paper's numbers beside it.
#
# Run it at another size with `safescreen run 50-data-and-lambda-range --profile laptop`.

# %% [markdown]
# ## Parameters
#
# | name | meaning | paper |
# |---|---|---|
# | `dataset` | data sets, with commas between them | ten |
# | `fraction`, `draws`, `seed` | share of the instances drawn at random, how often, and the seed | 0.9, 5 |
# | `gamma`, `ratio` | width of the smoothed hinge; $\lambda_t/\lambda_{t-1}$ | 0.05, 0.9 |
# | `rtol` | duality gap relative to the objective | "$10^{-6}$" |
# | `n_components` | principal components kept, 0: all features | 16 (a9a), 32 (mnist), by an autoencoder |

# %% tags=["parameters"]
dataset = "iris"
fraction = 0.9
draws = 2
seed = 0
gamma = 0.05
ratio = 0.9
rtol = 1e-6
n_components = 0
output_dir = ""

# %%
import math
import time

import matplotlib.pyplot as plt
import numba
import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

import safescreen as ss
from safescreen_book import Recorder, datasets, figures
from safescreen_book.protocols import path_runs

record = Recorder(output_dir)
numba.set_num_threads(1)
limits = threadpool_limits(1)
chosen = [name.strip() for name in dataset.split(",")]

# %% [markdown]
# The numbers printed in the paper: dimension, instances, classes, k (0: all), triplets, largest and smallest $\lambda$.

# %%
COLUMNS = ["d", "n", "classes", "k", "triplets", "lam_max", "lam_min"]
PAPER = pd.DataFrame(
    {
        "iris": [4, 150, 3, 0, 546668, 1.3e7, 2.3e1],
        "wine": [13, 178, 3, 0, 910224, 2.0e7, 5.1e1],
        "segment": [19, 2310, 7, 20, 832000, 2.5e6, 4.2e0],
        "satimage": [36, 4435, 6, 15, 898200, 1.0e7, 8.8e0],
        "phishing": [68, 11055, 2, 7, 487550, 5.0e3, 2.0e-1],
        "sensit": [100, 78823, 3, 3, 638469, 1.0e4, 2.9e0],
        "a9a": [16, 32561, 2, 5, 732625, 1.2e5, 3.1e2],
        "mnist": [32, 60000, 10, 5, 1350025, 7.0e3, 9.6e-1],
        "cifar10": [200, 50000, 10, 2, 180004, 2.0e3, 3.3e1],
        "rcv1": [200, 15564, 53, 3, 126018, 3.0e2, 6.0e-4],
    },
    index=COLUMNS,
).T
print(PAPER.to_string(float_format="{:.6g}".format))

# %% [markdown]
# ## Which instances are 90 %?
#
# With k neighbours of either kind every instance has $k^2$ triplets (as long as its class has more than k members), so
# that the number of triplets tells the number of instances. All of the paper's sets fit one rule: $\lfloor 0.9 n \rfloor + 1$.
# For iris, where all triplets are used, the classes of $\lfloor 135 \rfloor + 1 = 136$ instances, split evenly, give its
# number up to the chance of the draw.

# %% tags=["STS19-B2"]
listed = PAPER[PAPER["k"] > 0]
instances = listed["triplets"] / listed["k"] ** 2
rule = np.floor(0.9 * listed["n"]) + 1.0
fits = instances == rule
print(
    pd.DataFrame({"triplets / k^2": instances, "floor(0.9 n) + 1": rule, "equal": fits}).to_string(
        float_format="{:.6g}".format
    )
)
assert (
    fits.drop("rcv1").all() and abs(instances["rcv1"] / rule["rcv1"] - 1.0) < 1e-3
)  # rcv1 has classes of fewer than k + 1
sizes = 45, 45, 46
even = sum(n * (n - 1) * (136 - n) for n in sizes)
print("iris, 136 instances in classes of 45, 45 and 46:", even, "triplets")
print("the paper's mean of five draws:", int(PAPER.loc["iris", "triplets"]))
assert abs(even - PAPER.loc["iris", "triplets"]) < 20

# %% [markdown]
# ## Triplets and both ends of the path, measured
#
# The path starts at the first $\lambda$ of a geometric sequence at which some triplet is on the zero piece of the loss, and
# ends where the loss changes by less than 1 % relative to the step of $\lambda$. The sequence here starts at the smallest
# $\lambda$ for which all triplets are known to be on the linear piece; the paper's start is "sufficiently large", so that the
# two may differ by a step of 0.9.

# %%
rows, making = [], []
for name in chosen:
    info = datasets.info(name)
    k = path_runs.K_OF_PAPER.get(name, 15 if name in ("breast-cancer", "digits") else None)
    for draw in range(draws):
        X, y = path_runs.draw(name, fraction, seed + draw, n_components=n_components)
        started = time.process_time()
        problem = ss.Problem(ss.Triplets.from_labels(X, y, k), ss.SmoothedHinge(gamma))
        made = time.process_time() - started
        grid = path_runs.paper_grid(problem, ratio, rtol=rtol, tol=0.0, screening=("RRPB", "PGB"))
        rows.append(
            {
                "dataset": name, "draw": draw, "d": X.shape[1], "n": next(iter(info.parts.values())).shape[0], "drawn": len(y),
                "classes": len(np.unique(y)), "k": k or 0, "triplets": len(problem), "all_linear_from": grid.path.lams[0],
                "lam_max": grid.lams[0], "lam_min": grid.lams[-1], "lams": len(grid.lams),
                "removable": float(np.mean(grid.removable / len(problem))), "seed": seed + draw,
            }
        )  # fmt: skip
        making.append((name, draw, made, time.process_time() - started))
results = pd.DataFrame(rows)
record.table("results", results)
mean = results.groupby("dataset", sort=False).mean(numeric_only=True)
shown = mean[["d", "n", "drawn", "classes", "k", "triplets", "lam_max", "lam_min", "lams", "removable"]]
record.table("table_data", shown.reset_index())
print(shown.to_string(float_format="{:.3g}".format))

# %% [markdown]
# ## Beside the paper

# %%
comparison, conclusions, ends = [], [], {}
for name in chosen:
    if name not in PAPER.index:
        continue
    ours, paper = mean.loc[name], PAPER.loc[name]
    ends[name] = {end: float(ours[end] / paper[end]) for end in ("triplets", "lam_max", "lam_min")}
    reduced = n_components > 0
    print(
        f"{name}: triplets x {ends[name]['triplets']:.3f}, lam_max x {ends[name]['lam_max']:.1f}, lam_min x {ends[name]['lam_min']:.1f}"
    )
    for end in ("triplets", "lam_max", "lam_min"):
        note = f"ratio {ends[name][end]:.3f}" + (
            ", principal components in place of the autoencoder" if reduced else ""
        )
        comparison.append(
            {
                "quantity": f"{name}: {end}",
                "paper": float(paper[end]),
                "ours": float(f"{ours[end]:.6g}"),
                "note": note,
            }
        )
    if paper["k"] > 0:
        assert ours["triplets"] == paper["triplets"], name
    else:
        assert abs(ends[name]["triplets"] - 1.0) < 0.03, name
    steps = max(abs(math.log(ends[name][end]) / math.log(ratio)) for end in ("lam_max", "lam_min"))
    conclusions.append(
        {
            "claim": f"{name}: number of triplets, both ends of the path",
            "paper": f"{paper['triplets']:.0f}, {paper['lam_max']:.1e}, {paper['lam_min']:.1e}",
            "ours": f"{ours['triplets']:.0f}, {ours['lam_max']:.1e}, {ours['lam_min']:.1e}",
            "stands": bool(steps < 4.0),
        }
    )
    if not reduced:
        assert steps < 8.0, (name, steps)  # within a factor of 2.3 over seven orders of magnitude
record.table("comparison", pd.DataFrame(comparison, columns=["quantity", "paper", "ours", "note"]))
record.summary(conclusions=conclusions, timings={"run": round(sum(total for *_, total in making), 3)})

# %%
figure, ax = figures.panels(1, width=7.0, height=1.6 + 0.4 * len(chosen))
for height, name in enumerate(chosen):
    ax.plot(
        mean.loc[name, ["lam_min", "lam_max"]],
        [height, height],
        color="black",
        linewidth=4,
        label="ours" * (height == 0),
    )
    if name in PAPER.index:
        ends_of_paper = PAPER.loc[name, ["lam_min", "lam_max"]].to_numpy(dtype=float)
        ax.plot(
            ends_of_paper,
            [height + 0.22] * 2,
            color="#999999",
            linewidth=2,
            label="paper" * (height == 0),
        )
ax.set(xscale="log", xlabel=r"$\lambda$", title="range of the path", ylim=(-0.6, len(chosen) - 0.3))
ax.set_yticks(range(len(chosen)), chosen)
ax.invert_xaxis()
ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
record.figure("lambda", figure)
plt.show()

# %% tags=["nbval-ignore-output"]
for name, draw, made, total in making:
    print(f"{name}, draw {draw}: triplets made in {made:.2f} CPU seconds, grid found in {total - made:.2f}")
limits.unregister()

# %% [markdown]
# ## Reading the result
#
# * **Stands:** with the rule above the numbers of triplets are the paper's to the last digit (segment 832000, satimage 898200, phishing
#   487550), and both ends of the path are within about two steps of the grid: at the paper's size, one draw, segment 2.7e6 to 4.1 (paper 2.5e6
#   to 4.2), satimage 1.2e7 to 8.3 (1.0e7 to 8.8), phishing 5.4e3 to 0.22 (5.0e3 to 0.20). So these are the authors' data.
# * iris agrees up to the draw; its path ends a few steps later than the paper's.
#
# ## Fine print
#
# * sensit, cifar10 and rcv1 are not at hand. a9a and mnist were reduced by an autoencoder whose training the paper does not
#   describe; the run of that name takes as many principal components (centered, not scaled), which gives the same number of
#   triplets and another range of $\lambda$: `lam_max` has the fourth power of the scale of the features.
# * breast-cancer and digits are not in the paper; k = 15 is used.
# * "removable" is the mean share of triplets outside the quadratic piece at the solutions, the most any screening can take away.
