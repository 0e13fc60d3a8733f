# %% [markdown]
# # Active set and screening on fine paths; diagonal metrics
#
# STS19 Tables 3 and 4, "practical efficiency": a fine grid, $\lambda_t = 0.99\,\lambda_{t-1}$, the active set heuristic in
# every row, screening with `RRPB` and ranges of $\lambda$ (Algorithm 2) on top, or with `RRPB+PGB`. Table 3 has full
# metrics, Table 4 diagonal ones on data of higher dimension: `diagonal` chooses.
#
# Added here: no heuristic at all (`none`), screening without ranges, `MGB`, and triplets as products (`product`,
# `product+RRPB`).
#
# Run it at another size with `safescreen run 55-active-set-and-diagonal --profile laptop`.

# %% [markdown]
# ## Parameters
#
# | name | meaning | paper |
# |---|---|---|
# | `dataset`, `k` | data set; neighbours of either kind, 0: the paper's (iris, wine and colon-cancer: all) | Tables 2 and 4 |
# | `diagonal` | a weight for each feature instead of a full matrix | Table 4 |
# | `n_components` | principal components kept, 0: all features | autoencoder: a9a 16, mnist 32 |
# | `fraction`, `n_max`, `seed` | share of the instances, at most so many (0: no limit), and the seed | 0.9, five draws |
# | `gamma`, `ratio`, `n_lams` | smoothing; $\lambda_t/\lambda_{t-1}$; how many $\lambda$ at most (0: paper's rule) | 0.05, 0.99 |
# | `rtol`, `tol` | duality gap, relative to the objective and absolute; either suffices | "$10^{-6}$" |
# | `methods`, `repeats` | rows; how often each is timed | |

# %% tags=["parameters"]
dataset = "iris"
k = 0
diagonal = False
n_components = 0
fraction = 0.4
n_max = 0
seed = 0
gamma = 0.05
ratio = 0.99
n_lams = 300
rtol = 1e-6
tol = 0.0
methods = (
    "none,ActiveSet,ActiveSet+RRPB,ActiveSet+RRPB+PGB,ActiveSet+RRPB (no ranges),"
    "ActiveSet+MGB,RRPB+PGB (no active set),product,product+RRPB"
)
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

X, y = path_runs.draw(dataset, fraction, seed, n_components=n_components, n_max=n_max)
k_used, loss = k or path_runs.K_OF_PAPER.get(dataset), ss.SmoothedHinge(gamma)
problem = ss.Problem(ss.Triplets.from_labels(X, y, k_used, diagonal=diagonal), loss)
products = ss.Problem(ss.ProductTriplets(X, y, k_used, diagonal=diagonal), loss)
OPTIONS = {
    "none": {"screening": ()},
    "ActiveSet": {"screening": (), "active_set": True},
    "ActiveSet+RRPB": {"screening": ("RRPB",), "active_set": True, "ranges": True},
    "ActiveSet+RRPB+PGB": {"screening": ("RRPB", "PGB"), "active_set": True, "ranges": True},
    "ActiveSet+RRPB (no ranges)": {"screening": ("RRPB",), "active_set": True},
    "ActiveSet+MGB": {"screening": ("MGB",), "active_set": True},
    "RRPB+PGB (no active set)": {"screening": ("RRPB", "PGB"), "ranges": True},
    "product": {"prob": products, "screening": ()},
    "product+RRPB": {"prob": products, "screening": ("RRPB",)},
}
unknown = sorted(set(names) - set(OPTIONS))
if unknown:
    raise ValueError(f"methods: unknown {unknown}, the known ones are {', '.join(OPTIONS)}")
grid = path_runs.paper_grid(problem, ratio, n_lams, screening=("RRPB",), ranges=True, **accuracy)
print(problem.terms)
print(
    f"{len(grid.lams)} lams from {grid.lams[0]:.1e} to {grid.lams[-1]:.1e}, the path was ended by:",
    grid.path.stop_reason,
)
print(
    f"outside the quadratic piece at the solutions: {np.mean(grid.removable / len(problem)):.1%} on average"
)

# %% [markdown]
# ## Run
#
# All rows solve the same grid in turns. Seconds are processor seconds of one thread, everything but making the triplets.

# %%
runs = path_runs.measure(
    problem, {name: OPTIONS[name] for name in names}, grid, repeats=repeats, warm=4, **accuracy
)
frame = runs.frame.assign(dataset=dataset, diagonal=diagonal, n_triplets=len(problem), threads=1, seed=seed)
record.table("results", frame)

# %% tags=["STS19-B3", "STS19-B4"]
spread = path_runs.largest_difference(frame)
same = spread <= 2.0 * max(rtol, tol / frame["primal"].min()) + 1e-10
assert same and frame["converged"].all()
print("all rows reach the same objectives:", same)
mean = frame.groupby("method")[["path_rate", "final_rate"]].mean().loc[names]
for name in names:
    assert mean.loc[name, "path_rate"] <= mean.loc[name, "final_rate"] + 1e-12 <= 1.0 + 2e-12
    if mean.loc[name, "final_rate"] > 0.0:
        print(
            f"{name:28} rate before the first iteration {mean.loc[name, 'path_rate']:.2f}, in the end {mean.loc[name, 'final_rate']:.2f}"
        )
screening = [name for name in names if OPTIONS[name]["screening"] and not name.startswith("product")]
assert all(mean.loc[name, "path_rate"] > 0.5 for name in screening)

# A diagonal metric is the full problem with all other entries kept at zero: on one triplet both give one margin.
few = problem.terms.index[:3]
m = np.linspace(0.1, 1.0, X.shape[1])
as_vector, as_matrix = (
    ss.Triplets(X, few, diagonal=d).margins(m if d else np.diag(m)) for d in (True, False)
)
assert np.allclose(as_vector, as_matrix)
print(
    "margins of a diagonal metric are those of the matrix with that diagonal:",
    np.allclose(as_vector, as_matrix),
)

# %% [markdown]
# ## Table
#
# `ratio` is the time over that of the active set alone in the same run; the paper's, from its own seconds, beside it.

# %% tags=["nbval-ignore-output"]
TABLE_3 = pd.DataFrame(
    {
        "ActiveSet": [7989.5, 16352.1, 758.7, 3788.1, 11085.7, 94996.3],
        "ActiveSet+RRPB": [2126.2, 3555.6, 70.1, 871.1, 1431.3, 43174.9],
        "ActiveSet+RRPB+PGB": [2133.2, 3046.9, 72.1, 897.9, 1279.7, 38231.1],
    },
    index=["phishing", "sensit", "a9a", "mnist", "cifar10", "rcv1"],
)
TABLE_4 = pd.DataFrame(
    {
        "ActiveSet": [2485.5, 7005.8, 3149.8, np.nan],
        "ActiveSet+RRPB": [326.7, 593.4, 632.2, 133870.0],
        "ActiveSet+RRPB+PGB": [336.6, 562.4, 628.2, 127123.8],
    },
    index=["usps", "madelon", "colon-cancer", "gisette"],
)
printed = TABLE_4 if diagonal else TABLE_3
paper = printed.loc[dataset] if dataset in printed.index else pd.Series(np.nan, index=printed.columns)
whole = fraction == 0.9 and not n_max and not n_lams
seconds = frame.groupby(["method", "repeat"])["seconds"].sum().groupby("method").median().loc[names]
iterations = frame.groupby(["method", "repeat"])["n_iter"].sum().groupby("method").median().loc[names]
table = pd.DataFrame(
    {"seconds": seconds, "ratio": seconds / seconds.get("ActiveSet", np.nan), "iterations": iterations}
)
table["paper s"] = paper.reindex(names)
table["paper ratio"] = table["paper s"] / paper["ActiveSet"]
table = table.join(mean)
record.table("table_active", table.reset_index())
print(table.to_string(float_format="{:.2f}".format, na_rep="-"))

# %%
figure, axes = figures.panels(2, width=10.5, height=3.6)
figures.bars(
    seconds.to_dict(),
    ax=axes[0],
    title=f"{dataset}{', diagonal' * diagonal}",
    xlabel="CPU seconds of the path",
)
one = frame[frame["repeat"] == 0]
lines = {name: tuple(one[one["method"] == name][["lam", "path_rate"]].to_numpy()[1:].T) for name in screening}
figures.lines(lines, ax=axes[1], title="before the first iteration", ylabel="screening rate", path=True, share=True)
record.figure("active", figure)
plt.show()

# %% tags=["nbval-ignore-output"]
conclusions = []
base = seconds.get("ActiveSet", np.nan)
rows = [name for name in ("ActiveSet+RRPB", "ActiveSet+RRPB+PGB") if name in names]
if rows and np.isfinite(base):
    best = min(rows, key=lambda name: seconds[name])
    known = paper.notna().all()
    paper_best = (
        f"{paper['ActiveSet'] / paper[rows].min():.1f} times faster"
        if known
        else "2.2 to 12 times faster (other data)"
    )
    target = 0.9 * paper["ActiveSet"] / paper[rows].min() if known else 2.0
    conclusions.append(
        {
            "claim": "screening makes the active set method faster",
            "paper": paper_best,
            "ours": f"{base / seconds[best]:.2f} times faster ({best})",
            "stands": bool(base / seconds[best] >= target),
        }
    )
if len(rows) == 2:
    conclusions.append(
        {
            "claim": "a second ball (PGB) changes the time little",
            "paper": "within 15 %",
            "ours": f"time x {seconds['ActiveSet+RRPB+PGB'] / seconds['ActiveSet+RRPB']:.2f}",
            "stands": bool(0.85 < seconds["ActiveSet+RRPB+PGB"] / seconds["ActiveSet+RRPB"] < 1.15),
        }
    )
if rows and whole and paper.notna().all():
    factor = float(paper[rows].min() / seconds[rows].min())
    conclusions.append(
        {
            "claim": "path total against the paper's best figure (other machine, other code)",
            "paper": f"{paper[rows].min():.1f} s",
            "ours": f"{seconds[rows].min():.1f} s, {factor:.0f} times below",
            "stands": factor > 1.0,
        }
    )
listed = float(seconds[[name for name in names if not name.startswith("product")]].min())
if "product" in names and rows:
    conclusions.append(
        {
            "claim": "triplets as products (not in the paper) beat any screening of listed ones",
            "paper": "-",
            "ours": f"product {seconds['product']:.2f} s, best of the others {listed:.2f} s",
            "stands": bool(seconds["product"] < listed),
        }
    )
for item in conclusions:
    print(f"[{'stands' if item['stands'] else 'does not stand'}] {item['claim']}: {item['ours']}")

# %%
comparison = [
    {
        "quantity": f"{name}: time / time of ActiveSet",
        "paper": "-"
        if pd.isna(table.loc[name, "paper ratio"])
        else round(float(table.loc[name, "paper ratio"]), 3),
        "ours": round(float(table.loc[name, "ratio"]), 3),
        "note": f"ours {seconds[name]:.2f} s, paper {table.loc[name, 'paper s']:.1f} s".replace(
            ", paper nan s", ""
        ),
    }
    for name in names
]
record.table("comparison", pd.DataFrame(comparison, columns=["quantity", "paper", "ours", "note"]))
record.summary(timings={"run": round(float(frame["seconds"].sum()), 3)}, conclusions=conclusions)
limits.unregister()
print("rows in the comparison:", len(comparison))

# %% [markdown]
# ## Reading the result
#
# Observed on the embedded sets only. Of the paper's, colon-cancer was stopped after five minutes on a busy machine and the others were not
# started; their runs are in the manifest.
#
# * On a fine grid the last solution is an excellent reference: nearly everything is decided before the first iteration, and a
#   $\lambda$ takes an iteration or two. What is left to save is the one pass that confirms optimality, and a
#   screening costs about as much as that pass. So at a relative accuracy the factor of the paper does not come back,
#   for the same reason as with single paths: its passes are dear, these are cheap.
# * Ranges do help here, because a rule for every $\lambda$ is the larger part of the work: compare the rows with and
#   without them.
# * sensit, cifar10 and rcv1 are not at hand; a9a and mnist are reduced to principal components and not by an autoencoder;
#   of gisette only the validation part (1000 instances) is, so that its row cannot be compared with the paper's.
