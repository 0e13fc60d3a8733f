# %% [markdown]
# # The intersection test against the dome test
#
# SSS14 Figure 6 compares two tests for a linear support vector machine: the test of two balls (IT, Theorem 8), and the test of a ball and a
# half-space (DT, Theorem 11, from the earlier paper SSS13). Both tests start from the solution at $C_{\text{ref}} = C_a = 10^4\, C_{\min}$.
# The dome test also uses the solution at $C_b = 1.3\, C$. In practice this solution is not known, and the authors call the comparison a bit
# unfair to their own test. They find IT clearly better on B.C.D. and IJCNN1, comparable on PCMAC, and slightly worse on MAGIC.
#
# We run IT and DT with certificates: their regions include the error that the computed solutions may have. We also run three other
# versions of DT. `DT, trusted` treats the computed solutions as exact, as the paper does (this is no proof). `DT, best` has the smallest
# possible dome: its second solution is the one at $C_b = C$, for which the test is to screen. `DT, alone` has no second solution: as on a
# path, its upper bound of $\|w(C)\|$ comes from the ball of the first solution. BT1 uses the first ball of IT alone, and BT2 the second.
#
# The paper names no scaling, and the verdicts depend on it. For the domes of both papers we use the scaling that favours the papers, and
# we chose it after seeing results. The features of data that come unscaled (B.C.D., MAGIC) get mean 0 and variance 1. Rows of term counts
# (PCMAC) get length 1. IJCNN1 stays as LIBSVM distributes it. Runs with another scaling are our own questions.
#
# `safescreen run 64-intersection-against-dome --profile paper` runs it at the paper's size.

# %% [markdown]
# ## Parameters
#
# | name | meaning | paper |
# |---|---|---|
# | `dataset` | data set | breast-cancer, PCMAC, MAGIC, IJCNN1 |
# | `parts` | its parts, put together | |
# | `rows`, `draws`, `seed` | the number of rows drawn at random (0: all, once), the number of draws, and the first seed | IJCNN1: 19 990 |
# | `scaling` | "": as the library loads the set; "unit": rows of length 1; "standard": features of mean 0, variance 1 | not said |
# | `reference` | $C_{\text{ref}}/C_{\min}$ | $10^4$ |
# | `beyond` | $C_b/C$ | 1.3 |
# | `n_ratios` | the number of ratios $C_{\text{ref}}/C$, from 0.5 to 0.95 | |
# | `rtol` | relative duality gap of all solutions | CVX |
# | `repeats` | how often each training is timed | |
# | `output_dir`, `rows_dir` | where files go; the folder of an earlier run, to show its rows without computing any | |

# %% tags=["parameters"]
dataset = "breast-cancer"
parts = "train"
rows = 0
draws = 1
seed = 0
scaling = "standard"
reference = 1.0e4
beyond = 1.3
n_ratios = 10
rtol = 1e-11
repeats = 3
output_dir = ""
rows_dir = ""

# %%
import itertools
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numba
import numpy as np
import pandas as pd
from scipy import sparse
from threadpoolctl import threadpool_limits

import safescreen as ss
from safescreen_book import Recorder, datasets, figures, wording
from safescreen_book.protocols import judging

record = Recorder(output_dir, rows_dir)
print(record.origin())
numba.set_num_threads(1)
limits = threadpool_limits(1)

# %% [markdown]
# ## Data, and the reference
#
# The paper says that $C$ runs over $[0.5\, C_{\text{ref}}, 0.95\, C_{\text{ref}}]$. But the half-space of the dome test contains the
# solutions from $C_a$ on, so the test does not apply for $C < C_a$. The axis of the figure is $C_{\text{ref}}/C$: we let this ratio run from
# 0.5 to 0.95.

# %%
if scaling not in ("", "unit", "standard"):
    raise ValueError(f"scaling: must be '', unit or standard, found {scaling!r}")
options = {"rtol": rtol, "tol": 0.0, "screening": ()}
label = f"{dataset}, {scaling}" if scaling else dataset


def load_parts():
    """Return the parts of the data set, put together."""
    pieces = [datasets.load(dataset, part.strip(), return_X_y=True) for part in parts.split(",")]
    points = [X for X, _ in pieces]
    labels = np.concatenate([y for _, y in pieces])
    if sparse.issparse(points[0]):
        return sparse.csr_array(sparse.vstack(points)), labels
    return np.vstack(points), labels


# %%
class Draw:
    """Rows, their problem, and the reference."""

    def __init__(self, number):
        X = X_all
        self.y = y_all
        if rows:
            X, self.y = datasets.subsample(X_all, y_all, rows / len(y_all), seed + number)
        self.X = SCALINGS[scaling](X) if scaling else X
        self.samples = ss.Samples(self.X, self.y)
        self.problem = ss.Problem(self.samples, ss.Hinge())
        self.C_ref = reference * ss.svm.c_min(self.samples)
        self.start = self.solve(self.C_ref)

    def solve(self, C, **known):
        """Return the solution at C."""
        solution = ss.solve(self.problem, 1.0 / C, **(options | known))
        assert solution.converged
        return solution


# %%
if record.computes:
    from sklearn import preprocessing

    SCALINGS = {"": np.asarray, "unit": preprocessing.normalize, "standard": preprocessing.scale}
    X_all, y_all = load_parts()
    drawn = [Draw(number) for number in range(draws if rows else 1)]
    for draw in drawn:
        size = f"{draw.X.shape[0]} samples, {draw.X.shape[1]} features"
        print(f"{label}: {size}, {np.mean(draw.y > 0):.0%} positive")
        print(f"C_min = {draw.C_ref / reference:.2e}, C_ref = {draw.C_ref:.2e}")

# %% [markdown]
# ## Run
#
# For each $C$ we compute its solution (which decides the categories, and serves `DT, best`), the solution at $C_b$, the tests, and the
# training on the samples that IT or DT keeps. The rate is the figure's: the number of screened samples over the number of samples in R or
# L, which are all samples but those on the margin.
#
# Every decision is compared with the solution. The margin of a decided sample may be on the wrong side of 1 by no more than the accuracy
# of the solution. A sample on the margin, whose dual variable is neither 0 nor 1, may not be screened at all.


# %%
def timed(function):
    """Return the CPU seconds of each repeat of a function, and its result."""
    spans = []
    for _ in range(repeats):
        started = time.process_time()
        result = function()
        spans.append(time.process_time() - started)
    return np.array(spans), result


def norm_of(ball):
    """Return an upper bound of the norm of the points of a ball."""
    return (np.linalg.norm(ball.center) + ball.radius) * (1.0 + 1e-12)


def norm_of_solution(draw, solution):
    """Return an upper bound of the norm of an exact solution, from its computed solution."""
    ball = ss.spheres.midpoint_gap_bound(draw.problem, solution.x, solution.lam, solution.alpha)
    return norm_of(ball)


# %%
def tests_of(draw, C, at_C, at_Cb):
    """Return the tests by name, as functions."""
    samples = draw.samples
    start = draw.start
    at_most = norm_of_solution(draw, at_Cb)
    best = min(norm_of_solution(draw, at_C), at_most)
    alone = norm_of(ss.svm.ball_1(samples, C, start))
    top = ss.Sphere(np.zeros_like(start.x), float(np.linalg.norm(at_Cb.x)))
    s = ss.svm.choose_s(samples, C, start)
    return {
        "IT": lambda: ss.svm.intersection_test(samples, C, start),
        "BT1": lambda: ss.svm.ball_test_1(samples, C, start),
        "BT2": lambda: ss.svm.ball_test_2(samples, C, start.x, s),
        "DT": lambda: ss.svm.dome_test(samples, start, at_most),
        "DT, best": lambda: ss.svm.dome_test(samples, start, best),
        "DT, trusted": lambda: ss.rules.halfspace(
            draw.problem, top, start.x, float(start.x @ start.x)
        ),
        "DT, alone": lambda: ss.svm.dome_test(samples, start, alone),
    }


# %%
def wrong(samples, found, solution):
    """Return how many decisions contradict a solution known to its eps, by the margin, or by the
    dual variable of a sample on the margin."""
    margins = samples.margins(solution.x)
    slack = solution.eps * samples.norms
    wrong_R = found.in_R & ((margins <= 1.0 - slack) | (solution.alpha > 1e-3))
    wrong_L = found.in_L & ((margins >= 1.0 + slack) | (solution.alpha < 1.0 - 1e-3))
    return int(np.sum(wrong_R) + np.sum(wrong_L))


def rest_of(draw, C, found):
    """Return the CPU seconds of training on the samples that a test keeps."""
    kept = draw.problem.reduce(found.in_L, found.in_R)
    spans, _ = timed(lambda: ss.solve(kept, 1.0 / C, **options) if len(kept) else None)
    return spans


def decided(found, total):
    """Return how many samples a test puts into R and L, and which share of `total` these are."""
    rate = (found.n_R + found.n_L) / total
    return {"n_R": found.n_R, "n_L": found.n_L, "non_margin": int(total), "rate": rate}


# %% [markdown]
# A place is a draw and a ratio $C_{\text{ref}}/C$. Its rows are a rate for each test, and the seconds of IT and DT in each repeat.


# %%
def of_place(number, ratio, is_cold):
    """Return the rows of the rates, the rows of the seconds, and the number of wrong decisions of
    certified tests, at a place. The first place is cold: all tests run once before, to compile."""
    draw = drawn[number]
    C = draw.C_ref / ratio
    full, at_C = timed(lambda: draw.solve(C))
    tests = tests_of(draw, C, at_C, draw.solve(beyond * C, x0=at_C.x))
    total = np.count_nonzero((at_C.alpha == 0.0) | (at_C.alpha == 1.0))
    at = {"dataset": dataset, "draw": number, "n": len(draw.y), "C": C, "ratio": ratio}
    for test in tests.values() if is_cold else ():
        test()
    rates, spans, n_wrong = [], [], 0
    for name, test in tests.items():
        screening, found = timed(test)
        rates.append({**at, "test": name, **decided(found, total)})
        if name != "DT, trusted":
            n_wrong += wrong(draw.samples, found, at_C)
        if name in ("IT", "DT"):
            seconds = zip(full, screening, rest_of(draw, C, found), strict=True)
            for repeat, each in enumerate(seconds):
                row = {"draw": number, "repeat": repeat, "ratio": ratio, "test": name}
                spans.append(row | dict(zip(("full", "screening", "rest"), each, strict=True)))
    return rates, spans, n_wrong


# %%
if record.computes:
    rates_found = []
    spans_found = []
    n_wrong = 0
    timed(lambda: drawn[0].solve(drawn[0].C_ref))  # compiles
    ratios = np.linspace(0.5, 0.95, n_ratios)
    for number, ratio in itertools.product(range(len(drawn)), ratios):
        of_rates, of_seconds, wrong_here = of_place(number, ratio, is_cold=not rates_found)
        rates_found += of_rates
        spans_found += of_seconds
        n_wrong += wrong_here
    record.rows("results", pd.DataFrame(rates_found))
    record.rows("trainings", pd.DataFrame(spans_found))

# %%
TESTS = ["IT", "DT", "DT, trusted", "DT, best", "DT, alone", "BT1", "BT2"]
results = record.read("results")
trainings = record.read("trainings")
rates_of = results.pivot(index=["draw", "ratio"], columns="test", values="rate")[TESTS]
rates = rates_of.groupby("ratio").mean()
record.table("table_rates", rates.reset_index())
means = ", means over draws:" if results["draw"].nunique() > 1 else ":"
print(f"share of the samples in R or L that is screened, by C_ref/C{means}")
print(rates.to_string(float_format="{:.2f}".format))

# %% [markdown]
# No decision of a certified test may contradict the solutions. Two orders do not depend on the data: IT screens every sample that BT1 or BT2
# screens, and a dome with a smaller upper bound screens no fewer samples.

# %%
if record.computes:
    assert n_wrong == 0
    note = f"{n_wrong} decisions contradict the solutions"
    fact = {"fact": "safe", "holds": n_wrong == 0, "note": note}
    record.rows("facts", pd.DataFrame([fact]))
    print(f"decisions of certified tests that contradict the solutions: {n_wrong}")
nested = bool((rates_of["IT"] >= rates_of[["BT1", "BT2"]].max(axis=1)).all())
assert nested
assert (rates_of["DT, best"] >= rates_of["DT"]).all()
print("IT screens at least what BT1 and BT2 screen")
print("DT with C_b = C screens at least what DT with a larger C_b screens")

# %% [markdown]
# ## As Figure 6 of the paper: share screened by the intersection test and the dome test
#
# The upper panel has the rates, also of the versions of DT that the paper does not draw. The bars below show how many of the screened
# samples are in R and in L.


# %%
def draw_bars(ax, name):
    """Draw the shares of R and L that a test screens in the first draw."""
    chosen = results[(results["test"] == name) & (results["draw"] == 0)]
    share_R = chosen["n_R"] / chosen["non_margin"]
    share_L = chosen["n_L"] / chosen["non_margin"]
    width = 0.36 / n_ratios
    of_L = {"color": figures.COLOURS["L"], "label": "linear part, L"}
    ax.bar(chosen["ratio"], share_R, width, color=figures.COLOURS["R"], label="zero part, R")
    ax.bar(chosen["ratio"], share_L, width, bottom=share_R, **of_L)
    ax.set(xlabel=r"$C_{\mathrm{ref}}/C$", title=name, ylim=(-0.02, 1.02))


# %%
places = [["rates", "rates"], ["IT", "DT"]]
options_of = {"figsize": (7.0, 6.4), "layout": "constrained", "height_ratios": [1.3, 1.0]}
curves = {name: rates[name] for name in TESTS}
labels = {"xlabel": r"$C_{\mathrm{ref}}/C$", "ylabel": "share of R and L screened", "title": label}
with plt.rc_context(figures.STYLE):
    figure, axes = plt.subplot_mosaic(places, **options_of)
    draw_bars(axes["IT"], "IT")
    draw_bars(axes["DT"], "DT")
    axes["DT"].legend(loc="upper left")
upper = {"ax": axes["rates"], "share": True, "legend": "right", "marks": "apart"}
figures.lines(curves, rates.index, **upper, **labels)
record.figure("rates", figure)
figures.show(
    "In the upper panel, curves show the share of the samples in R and L that each test screens, "
    f"against C_ref over C, with means {figures.listed(curves)}. In the lower panels, bars show "
    "what IT and DT screen at each C, with R below and L on top."
)

# %% [markdown]
# ## How exact must the references be?
#
# Both tests are made for exact solutions. The library enlarges their regions by the possible error of an inexact solution, which is the
# root of its gap. This enlargement is a small part of the radius of a ball. In a dome it counts against the distance of the half-space
# from the top, $\|w_b\| - \|w_a\|$, which can be short. The table has the rates at $C_{\text{ref}}/C = 0.9$ for references with different
# relative gaps.


# %%
def at_gap(draw, C, goal):
    """Return the rates of IT and DT from solutions of a relative gap."""
    rough = draw.solve(draw.C_ref, rtol=goal)
    far = draw.solve(beyond * C, rtol=goal)
    it = ss.svm.intersection_test(draw.samples, C, rough)
    dt = ss.svm.dome_test(draw.samples, rough, far)
    return {"relative gap": goal, "IT": it.rate, "DT": dt.rate}


if record.computes:
    C = drawn[0].C_ref / 0.9
    goals = [goal for goal in dict.fromkeys((1e-4, 1e-6, 1e-8, rtol)) if goal >= rtol]
    record.rows("accuracy", pd.DataFrame([at_gap(drawn[0], C, goal) for goal in goals]))
accuracy = record.read("accuracy")
record.table("table_accuracy", accuracy)
formats = {"formatters": {"relative gap": "{:.0e}".format}, "float_format": "{:.3f}".format}
print("share of all samples screened:")
print(accuracy.to_string(index=False, **formats))

# %% [markdown]
# ## Time
#
# The table has the CPU seconds of training on all samples, of the test, and of the test and the training on the samples that it keeps.
# Solves are cold starts of the library's solver without screening. The solution at $C_b$ is not timed. The paper's curves are for CVX, a
# general interior-point program that is slower by orders of magnitude. So the paper's gains depend on the share of samples that the test
# keeps, and ours also on the cost of the test.

# %%
SPANS = ["full", "screening", "rest"]
cost = trainings.groupby(["draw", "repeat", "test"])[SPANS].sum()  # over the ratios
speedup = (cost["full"] / (cost["screening"] + cost["rest"])).unstack()
with_test = trainings.assign(after=trainings["screening"] + trainings["rest"])
median = with_test.groupby(["ratio", "test"])[["full", "screening", "after"]].median()
print(median.unstack().to_string(float_format="{:.4f}".format))
print("\ngain over all ratios:", speedup.mean().round(2).to_dict())

# %% [markdown]
# ## Conclusions
#
# Rules and their histories are in `conclusions.yml`. The paper compares in words, by its pictures. We read its three words as one scale of
# the difference of mean rates over the ratios: *comparable* up to 0.05, *slightly* from 0.05 to 0.2, *clearly* above 0.2. Where rows are
# drawn, each draw gives a value, and a 95 % interval judges them. On a complete set nothing is random, and the same criterion is a fact.
#
# The paper's dome trusts its solutions, so the paper's words are judged by `DT, trusted`. "Poor" means less than half of what IT screens,
# and is judged where the paper calls IT better. Our PCMAC is split into words in another way than the paper's, so its conclusions are our
# own questions.

# %% tags=["SSS14-F6"]
certified = results[results["test"] != "DT, trusted"]
n_checked = int((certified["n_L"] + certified["n_R"]).sum())
safe = record.read("facts").set_index("fact").loc["safe", "holds"]
assert safe and n_checked > 0  # no decision of IT, or of a certified dome, against the solutions
mean = rates_of.groupby("draw").mean()
print("mean rate: " + "; ".join(f"{name} {mean[name].mean():.2f}" for name in rates))

# %% [markdown]
# The cell has the paper's word for each set, the scaling in which we read it, and the bound of each word.


# %%
PAPER = {
    "breast-cancer": "better",
    "pcmac_20news": "comparable",
    "pcmac_asu": "comparable",
    "magic": "worse",
    "ijcnn1": "better",
}
READING = {"breast-cancer": "standard", "magic": "standard", "ijcnn1": ""}  # PCMAC: "unit"
BOUNDS = {"better": 0.2, "comparable": -0.05, "worse": 0.0, "poor": 0.0}
ASKED = {
    "better": "more than 0.2 above",
    "comparable": "at most 0.05 apart",
    "worse": "from 0.05 to 0.2 below",
}
paper = PAPER.get(dataset, "-")


def number_of(word, gain):
    """Return the number that is above the bound of a word if the word is right."""
    if word == "better":
        return gain
    if word == "comparable":
        return -gain.abs()
    return np.minimum(-gain - 0.05, 0.2 + gain)  # how far inside of 0.05 to 0.2


# %%
def measured(name):
    """Return the number by which a dome is compared with IT in the paper's word, and a note."""
    gain = mean["IT"] - mean[name]
    means = f"mean rates {mean['IT'].mean():.2f} and {mean[name].mean():.2f}"
    note = f"{means}, a difference of {gain.mean():+.3f}; asked: {ASKED[paper]}"
    return number_of(paper, gain), note


def measured_poor():
    """Return by how much half of IT's rate is above the dome's at the largest ratio, and a note."""
    nearest = rates.index.max()
    last = rates_of.xs(nearest, level="ratio")
    trusted = f"{last['DT, trusted'].mean():.2f} and IT {last['IT'].mean():.2f}"
    note = f"at {nearest:g}: {trusted}; with C_b = C {last['DT, best'].mean():.2f}"
    return 0.5 * last["IT"] - last["DT, trusted"], note


measures = {}  # for each word a number that has to be above its bound, and a note
if paper in ASKED:
    measures[paper] = measured("DT, trusted")
    measures[f"{paper}-certified"] = measured("DT")
if paper == "better":
    measures["poor"] = measured_poor()

# %%
facts = {
    "nested": (nested, "at every ratio"),
    "safe": (safe, f"{n_checked} decisions of certified tests"),
}
values = {}
for word, (number, note) in measures.items():
    if rows:  # judged by the interval over draws
        values[word] = number
    else:  # one complete set: a fact
        facts[word] = number.mean() > BOUNDS[word.partition("-")[0]], note
is_reading = READING.get(dataset) == scaling and reference == 1e4
is_paper = is_reading and bool(rows) == (dataset == "ijcnn1")
conclusions = judging.judge(
    "64-intersection-against-dome",
    f"{label}, {rows} rows" if rows else label,
    {"values": values, "speedup": speedup},
    facts=facts,
    whose="paper" if is_paper else "own",
    counted="draws" if rows else "repeats",
    words={f"note_of_{word.replace('-', '_')}": note for word, (_, note) in measures.items()},
)

# %%
record.table("conclusions", conclusions)
comparison = conclusions[conclusions["conclusion"].str.startswith("the ")]
columns = {"quantity": comparison["conclusion"], "paper": paper, "ours": comparison["verdict"]}
comparison = comparison.assign(**columns)
record.table("comparison", comparison[["quantity", "paper", "ours", "note"]])
spent = float(trainings[SPANS].sum().sum())
record.summary(timings={"run": round(spent, 3)})
limits.unregister()
print(*wording.sentences(conclusions.to_dict("records")), sep="\n")

# %% [markdown]
# ## Reading the result
#
# The table has the mean rates over the ratios in all records: of IT, of DT with trusted solutions, of DT certified, and the difference of
# the first two.

# %%
rates_by_record = {}
for file in sorted(Path("../outputs/paper/64-intersection-against-dome").glob("*/results.csv")):
    rates_by_record[file.parent.name] = pd.read_csv(file).groupby("test")["rate"].mean()
if rates_by_record:
    by_record = pd.DataFrame(rates_by_record).T[["IT", "DT, trusted", "DT"]]
    by_record["IT over trusted"] = (by_record["IT"] - by_record["DT, trusted"]).round(2) + 0.0
    print(by_record.to_string(float_format="{:.2f}".format))

# %% [markdown]
# * **Agrees:** the four words of the paper, with our reading of the scaling that the paper does not print. With features in $[-1, 1]$ the
#   verdict on MAGIC changes, and with raw counts the verdict on PCMAC. MAGIC's difference is slight on the scale above; with a limit of 0.1
#   in place of 0.2 it would not be.
# * **What decides** is the growth of the length of $w$ from $C_a$ to $C_b$. Where the solution hardly grows (separable data, small errors),
#   a dome is thin and screens as much as two balls. Where the solution grows, as for breast-cancer, the dome is nearly a complete ball.
# * **Exactness.** On PCMAC the trusted dome needs more digits of the two lengths than a solver has. The certified dome screens less, and
#   its rate falls as the solutions become looser. IT screens more than the dome from loose solutions.
# * **PCMAC** is not the paper's file (1946 rows and 7511 features), so its row is ours.
