# %% [markdown]
# # How many samples are screened, against the distance of the reference
#
# SSS14 Figure 4 shows the share of samples that ball test 1 (`BT1`), ball test 2 (`BT2`) and the intersection test (`IT`) screen for a support
# vector machine with $C = 10$, when the reference is the solution at a smaller $C_{\mathrm{ref}}$. The figure has four data sets, a linear
# kernel and three widths of the RBF kernel. Before it, this notebook lists the data sets of the paper's Table II, and which of them are at
# hand.
#
# Nothing here depends on a clock or on a draw. The sets are complete, the references are accurate solutions, and the rates are counts. So
# the conclusions are facts, judged for each kernel by the criteria of `conclusions.yml`. Every screened sample is checked against an
# accurate solution.

# %% [markdown]
# ## Parameters
#
# | name | meaning | paper |
# |---|---|---|
# | `dataset`, `part` | data set and its part | D01 to D04 |
# | `kernels` | `linear`, or the numerator of the RBF width $\gamma = \cdot/d$ | linear, 0.1, 1, 10 |
# | `C` | the $C$ of the machine | 10 |
# | `n_references` | the number of values of $C_{\mathrm{ref}}/C$ between 0 and 1 | |
# | `rtol` | relative duality gap of references and solution | |
# | `output_dir`, `rows_dir` | where files go; the folder of an earlier run, to show its rows without computing any | |

# %% tags=["parameters"]
dataset = "breast-cancer"
part = "train"
kernels = "linear,0.1,1,10"
C = 10.0
n_references = 20
rtol = 1e-8
output_dir = ""
rows_dir = ""

# %%
import time
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numba
import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

import safescreen as ss
from safescreen import svm
from safescreen_book import Recorder, datasets, figures, wording
from safescreen_book.protocols import judging

record = Recorder(output_dir, rows_dir)
print(record.origin())
numba.set_num_threads(1)
limits = threadpool_limits(1)
widths = [name.strip() for name in kernels.split(",")]

# %% [markdown]
# ## The data sets
#
# The table has the paper's sizes and the sizes in our registry. Six of the twelve sets are the same at the same size. Of gisette we have
# only the validation rows. news20, acoustic, url and the two sets of kdd are not at hand. For the sizes of the last three the library can
# make up sparse data (`sparse_classification`; the notebook on a single training uses it).

# %%
TABLE = [
    ("D01", "breast-cancer", (569, 30)),
    ("D02", "dna", (2000, 180)),
    ("D03", "digit1", (1500, 241)),
    ("D04", "satimage", (4435, 36)),
    ("D05", "gisette", (6000, 5000)),
    ("D06", "mushrooms", (8124, 112)),
    ("D07", "news20", (19996, 1355191)),
    ("D08", "shuttle", (43500, 9)),
    ("D09", "acoustic", (78832, 50)),
    ("D10", "url", (2396130, 3231961)),
    ("D11", "kdd-a", (8407752, 20216830)),
    ("D12", "kdd-b", (19264097, 29890095)),
]
HERE = {"gisette": "gisette_valid"}
known = datasets.names()


def row_of(number, name, size):
    """Return the row of a data set of the paper."""
    registered = HERE.get(name, name)
    if registered not in known:
        return number, name, *size, "-", "-", "-", "not to be had"
    entry = datasets.info(registered)
    shape = next(iter(entry.parts.values())).shape
    remark = "as in the paper" if shape == size else "validation rows only"
    return number, name, *size, *shape, entry.classes, remark


# %% tags=["SSS14-B2"]
rows = [row_of(*entry) for entry in TABLE]
sets = pd.DataFrame(rows, columns=["", "data set", "n, paper", "d, paper", "n", "d", "classes", ""])
print(sets.to_string(index=False))
here = [row[1] for row in rows if row[-1] == "as in the paper"]
assert here == ["breast-cancer", "dna", "digit1", "satimage", "mushrooms", "shuttle"]
absent = [row[1] for row in rows if row[-1] == "not to be had"]
assert absent == ["news20", "acoustic", "url", "kdd-a", "kdd-b"]

# %% [markdown]
# dna, satimage and shuttle have three, six and seven classes. The paper does not say how it makes two classes of them; here odd class
# numbers form one class and even ones the other. It does not name a scaling either. Sets that LIBSVM's pages scale are used scaled to
# $[-1, 1]$, the others as they are. So the rates on these sets can be compared in kind, not in digits.

# %%
if record.computes:
    X, y = datasets.load(dataset, part, return_X_y=True)
    y = datasets.two_classes(y)
    n, d = X.shape
    if (dataset, part) == ("breast-cancer", "train"):  # read, not only listed
        assert (n, d) == (569, 30)
    print(f"{dataset}: {n} samples, {d} features, {np.mean(y > 0):.0%} of them positive")

# %% [markdown]
# ## References and tests
#
# The references are accurate solutions of one path with warm starts up to $C$. The rate is the paper's: the number of samples screened, as L
# or as R, over the number of samples in L or R at the solution. The other samples are support vectors on the margin, which no test can
# screen. The solution's own midpoint gap bound certifies L and R.
#
# The dual point $s$ of the second ball is the one that separates the two balls most (SSS14 equation 25). `BT2` uses this second ball alone.


# %%
def accurate_path(prob):
    """Return the solutions at each reference, and at C."""
    # rounding of the kernel matrix may prevent the last digits of the gap
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ss.ConvergenceWarning)
        path = svm.path(prob.terms, np.append(fractions, 1.0) * C, rtol=rtol)
    assert max(s.gap / s.primal for s in path) <= 1e-6
    return path


def tests_of(terms, before):
    """Return the results of the three tests with one reference, by name."""
    s = svm.choose_s(terms, C, before)
    return {
        "BT1": svm.ball_test_1(terms, C, before),
        "BT2": svm.ball_test_2(terms, C, before.x, s),
        "IT": svm.intersection_test(terms, C, before),
    }


# %%
def check(screened, truth, both, solution):
    """Check that no decision of a test is wrong, and that the intersection test makes all of
    them."""
    assert not (screened.in_L & truth.in_R).any(), "not safe"
    assert not (screened.in_R & truth.in_L).any(), "not safe"
    margin_in_R = screened.in_R & ~truth.in_R & (solution.alpha > 1e-3)
    margin_in_L = screened.in_L & ~truth.in_L & (solution.alpha < 1 - 1e-3)
    assert not (margin_in_R | margin_in_L).any(), "on the margin"
    assert not (screened.in_L & ~both.in_L).any()
    assert not (screened.in_R & ~both.in_R).any()


# %%
fractions = np.linspace(0.0, 1.0, n_references + 1)[1:]
fractions[-1] = 0.99


def samples_of(width):
    """Return the name of a kernel and the samples with it."""
    if width == "linear":
        return "linear", ss.Samples(X, y)
    return f"RBF {width}/d", ss.KernelSamples.from_points(X, y, "rbf", float(width) / d)


# %%
def rates_of(width):
    """Return the rows of a kernel, one for each reference and test; check that all are safe."""
    name, terms = samples_of(width)
    prob = ss.Problem(terms, ss.Hinge())
    path = accurate_path(prob)
    solution = path[-1]
    ball = ss.spheres.midpoint_gap_bound(prob, solution.x, solution.lam, solution.alpha)
    truth = ss.rules.sphere(prob, ball)
    rows = []
    for fraction, before in zip(fractions, path, strict=False):
        found = tests_of(terms, before)
        removable = int(np.sum(truth.in_L | truth.in_R | found["IT"].in_L | found["IT"].in_R))
        for test, screened in found.items():
            check(screened, truth, found["IT"], solution)
            counts = {"n_L": screened.n_L, "n_R": screened.n_R, "removable": removable}
            rate = (screened.n_L + screened.n_R) / max(removable, 1)
            which = {"dataset": dataset, "kernel": name, "C_ref/C": fraction, "test": test}
            rows.append(which | {"rate": rate} | counts)
    return rows


# %%
if record.computes:
    computed = []
    started = time.process_time()
    for width in widths:
        computed += rates_of(width)
    seconds = time.process_time() - started
    record.rows("results", pd.DataFrame(computed))
    record.rows("set", pd.DataFrame([{"dataset": dataset, "n": n, "d": d, "seconds": seconds}]))
    fact = {"fact": "safe", "holds": True, "note": "asserted of every test"}
    record.rows("facts", pd.DataFrame([fact]))
    print(f"tests: {len(computed)}, unsafe decisions: 0, screened samples on the margin: 0")
    print("IT screens every sample that BT1 or BT2 screens")

# %% tags=["SSS14-F4"]
results = record.read("results")
of_set = record.read("set").loc[0]
n = int(of_set["n"])
d = int(of_set["d"])
by_test = results.pivot(index=["kernel", "C_ref/C"], columns="test", values="rate")
assert (results["rate"] <= 1.0).all()
assert (by_test["IT"] >= by_test[["BT1", "BT2"]].max(axis=1)).all()
print(f"{dataset}: {n} x {d}, {len(results)} rates, none above 1")
print("the rate of IT is nowhere below the rates of BT1 and BT2")

# %% [markdown]
# ### As Figure 4 of the paper: rates of the three tests, a panel for each kernel

# %%
names = list(dict.fromkeys(results["kernel"]))
rows_and_columns = -(-len(names) // 2), min(2, len(names))
options = {"figsize": (3.5 * rows_and_columns[1], 2.7 * rows_and_columns[0])}
options |= {"layout": "constrained", "sharey": True, "squeeze": False}
with plt.rc_context(figures.STYLE):
    figure, axes = plt.subplots(*rows_and_columns, **options)
for ax, name in zip(axes.flat, names, strict=False):
    is_first = ax is axes.flat[0]
    lines = {}
    for test, of_test in results[results["kernel"] == name].groupby("test", sort=False):
        lines[test] = (of_test["C_ref/C"], of_test["rate"])
    labels = {"title": f"{dataset}: {name}", "xlabel": r"$C_{\mathrm{ref}}/C$"}
    labels |= {"ylabel": "rate" if is_first else "", "legend": "best" if is_first else None}
    figures.lines(lines, ax=ax, share=True, marks=True, **labels)
for ax in axes.flat[len(names) :]:
    ax.set_axis_off()
mean_rates = results.groupby("test", sort=False)["rate"].mean()
record.figure("rates", figure)
figures.show(
    "Curves show the screening rates of the tests against C_ref over C. Each kernel has a panel. "
    f"Mean rates: {figures.listed(mean_rates)}."
)

# %% [markdown]
# The table has the same rates at a few references.

# %%
fractions = results["C_ref/C"].unique()
places = fractions[[np.argmin(np.abs(fractions - f)) for f in (0.25, 0.5, 0.75, 0.9, 0.99)]]
at_places = results[results["C_ref/C"].isin(places)]
by_kernel = {"index": ["kernel", "test"], "columns": "C_ref/C", "values": "rate"}
table = at_places.pivot_table(**by_kernel, sort=False)
record.table("table_rates", table.reset_index().rename(columns=str))
print(table.to_string(float_format="{:.2f}".format))
on_margin = 1.0 - results.groupby("kernel", sort=False)["removable"].max() / n
print("\nshare of samples on the margin, which no test can screen")
print(on_margin.to_string(float_format="{:.2f}".format))

# %% [markdown]
# ## Conclusions
#
# Each kernel has a row. We read "always higher" as never lower, and higher somewhere: where all tests screen nothing, or everything, no test
# is higher. We read "in most cases" as follows: of the steps to the next nearer reference that change a rate, at most a tenth lower it.
# The paper's four panels are breast-cancer, dna, digit1 and satimage. For its other sets the paper says that the tests behave alike.

# %%
by_reference = {"index": ["kernel", "C_ref/C"], "columns": "test", "values": "rate"}
wide = results.pivot_table(**by_reference, sort=False)[["BT1", "BT2", "IT"]]
safe = judging.told(record.read("facts"))["safe"][0]
size = next((size for _, name, size in TABLE if name == dataset), None)
whose = {"sets": "paper", "panel": "paper" if dataset in here[:4] and C == 10.0 else "own"}
facts = {}
if size:
    facts["size"] = (n, d) == size, f"{n} x {d}, in the paper {size[0]} x {size[1]}"
frames = [judging.judge("61-svm-screening-rates", dataset, {}, facts=facts, whose=whose)]


# %%
def facts_of(rate):
    """Return what the rates of a kernel show, and a note on each fact."""
    best = rate[["BT1", "BT2"]].max(axis=1)
    never = bool((rate["IT"] >= best).all())
    more = int((rate["IT"] > best).sum())
    gain = float((rate["IT"] - best).max())
    steps = rate.diff().iloc[1:]
    falls = int((steps < 0.0).sum().sum())
    moves = int((steps != 0.0).sum().sum())
    largest = max(0.0, -float(steps.min().min()))
    second = int((rate["BT2"] > rate["BT1"]).sum())
    higher = f"higher at {more} of {len(rate)} references, by up to {gain:.2f}"
    falling = f"{falls} of {moves} steps fall, the largest by {largest:.2f}"
    return {
        "more": (never and more > 0, higher),
        "rise": (falls <= 0.1 * moves, falling),
        "safe": (safe, f"{len(rate)} references, three tests, samples on the margin included"),
        "second": (second < len(rate), f"better at {second}"),
    }


# %%
def compared(name, row):
    """Return the row of a conclusion in the comparison."""
    paper = "yes" if row.whose == "paper" else "-"
    quantity = f"{name}: {row.conclusion}"
    return {"quantity": quantity, "paper": paper, "ours": row.verdict, "note": row.note}


ALIKE = (
    "the intersection test above either ball test somewhere and below neither, rates "
    "rising with the reference"
)
comparison = []
for name, rate in wide.groupby("kernel", sort=False):
    facts = facts_of(rate)
    if dataset in here[4:] and C == 10.0:
        facts["alike"] = facts["more"][0] and facts["rise"][0], ALIKE
    of = f"{dataset}, {name}"
    frames.append(judging.judge("61-svm-screening-rates", of, {}, facts=facts, whose=whose))
    comparison += [compared(name, row) for row in frames[-1].itertuples()]

# %%
conclusions = pd.concat(frames, ignore_index=True)
record.table("conclusions", conclusions)
record.table("comparison", pd.DataFrame(comparison, columns=["quantity", "paper", "ours", "note"]))
record.summary(timings={"run": round(float(of_set["seconds"]), 3)})
limits.unregister()
print(*wording.sentences(conclusions.to_dict("records")), sep="\n")

# %% [markdown]
# ## Reading the result
#
# The table describes the committed runs (`paper` profile, complete sets, four kernels each, $C = 10$). For each set it has the number of steps
# to a nearer reference, and at how many of them the rate of each test falls. Then it has the number of references, at how many of them the
# intersection test is strictly above the better of its two balls, the largest difference, and at how many ball test 2 is above ball test 1.


# %%
def read(file):
    """Return the row of a committed run."""
    rates = pd.read_csv(file).pivot(index=["kernel", "C_ref/C"], columns="test", values="rate")
    steps = rates.groupby("kernel").diff().dropna()
    gain = rates["IT"] - rates[["BT1", "BT2"]].max(axis=1)
    row = {"steps": len(steps)}
    row |= {f"{test} falls": int((steps[test] < 0.0).sum()) for test in ("BT1", "BT2", "IT")}
    row |= {"references": len(rates), "IT above": int((gain > 0.0).sum())}
    return row | {"by up to": gain.max(), "BT2 above": int((rates["BT2"] > rates["BT1"]).sum())}


files = sorted(Path("../outputs/paper/61-svm-screening-rates").glob("*/results.csv"))
committed = {file.parent.name: read(file) for file in files}
if committed:
    print(pd.DataFrame.from_dict(committed, orient="index").to_string(float_format="%.2f"))

# %% [markdown]
# * **Stands on the paper's four sets** (breast-cancer, dna, digit1, satimage): the tests screen more when the reference is nearer, and the
#   intersection test is never below the better of its two balls. We read "always higher" as never lower, because all three tests screen
#   nothing far from the solution. The rates rise in most panels. They do not with the kernel $0.1/d$ on breast-cancer, where ball test 2 and
#   the intersection test fall often, and on dna, where few steps change a rate and the intersection test falls in some of them.
# * **Ball test 2 alone screens few samples.** The column `BT2 above` counts where it screens more than ball test 1. Its use is in the
#   intersection. The intersection test gains most at middling distances, where the first ball is already large and the second still cuts it.
# * **The difference of 1.00 on dna:** with the narrowest kernel the machine has no loss from some $C_{\mathrm{ref}}$ on. Then the two balls
#   touch in one point, and the solution does not change any more. The intersection test proves this, while ball test 1 still screens
#   nothing.
# * **Near references.** The paths of the papers step by some per cent, so $C_{\mathrm{ref}}/C$ is about 0.9 or more. There, at the right end
#   of the figures, the tests screen most of the samples that can be screened.
# * **Fine print.** The paper divides by the samples outside the margin according to its solver. Here the solution certifies these samples. A
#   sample that the solution's own bound does not decide counts only if a test decides it.
