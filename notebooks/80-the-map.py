# %% [markdown]
# # The map: every test, what it needs, and which contains which
#
# This book holds seven families of balls, four rules for terms and one for features, ranges of $\lambda$, the tests of two papers on support vector machines, and a
# screening of atoms. Here they stand in one table. It is made when this notebook runs, from the functions of the library and from
# the ledger of claims, so nothing in it is kept by hand.
#
# At the end you will have seen
#
# * that of 42 possible containments between seven balls one holds over every cone, and that GB, PGB and MGB are one ball over the whole space;
# * that which ball screens most depends on the reference: close to the optimum PGB, MGB and RRPB, far from it RRPB;
# * for every test its source, its cost, how it holds in floating point, and the notebook that derives and breaks it.

# %%
import itertools

import numpy as np
from IPython.display import Markdown

import safescreen as ss
from safescreen.spheres.base import PathReference, Reference
from safescreen.spheres.path import reference_accuracy
from safescreen_book import figures, ledger
from safescreen_book.catalogue import catalogue
from safescreen_book.places import notebooks_folder

# %% [markdown]
# ## The story in a picture
#
# A ball that lies in another ball screens what the other screens, whatever the terms are. So one would like to know which ball lies in
# which. Two hundred random references over each of three cones answer: points near the solution and far from it, with a solution for a
# neighbouring $\lambda_0$ beside them for the path bound. A bright square means that the ball of the row lay in the ball of
# the column every time.

# %%
BALLS = tuple(ss.SPHERES)
CONES = ("matrices", "diagonal metrics", "whole space")


def random_problem(rng, cone):
    """Sixteen points in two classes: triplets over a cone, or samples over the whole space."""
    X = rng.standard_normal((16, 3))
    y = np.arange(16) % 2
    X[y == 1, 0] += 1.0
    if cone == "whole space":
        terms = ss.Samples(X, 2 * y - 1)
    else:
        terms = ss.Triplets.from_labels(X, y, k=3, diagonal=cone == "diagonal metrics")
    return ss.Problem(terms, ss.SmoothedHinge(rng.choice([0.05, 0.5])))


def random_reference(rng, problem):
    """A point that is off the solution by a factor from a millionth to two, and a path reference."""
    lam = problem.lam_max() * 10.0 ** -rng.uniform(0.5, 2.5)
    lam0 = lam * rng.uniform(1.0, 2.0)
    solution = ss.solve(problem, lam0, tol=1e-9)
    eps = reference_accuracy(problem.evaluate(solution.x, lam0, solution.alpha))
    step = rng.standard_normal(np.shape(solution.x))
    step = step + step.T if step.ndim == 2 else step
    size = 10.0 ** rng.uniform(-6.0, 0.3) * np.linalg.norm(solution.x) / np.linalg.norm(step)
    x = problem.cone.project(solution.x + size * step)
    path = PathReference(x0=solution.x, lam0=lam0, eps=eps)
    return Reference(problem, problem.evaluate(x, lam), path)


# %%
def draws(cone, count, seed=0):
    """Yield a problem and a reference, `count` times."""
    rng = np.random.default_rng(seed)
    while count:
        problem = random_problem(rng, cone)
        if problem.lam_max() > 0.0:
            count -= 1
            yield problem, random_reference(rng, problem)


def lies_in(inner, outer):
    """Whether a ball lies in another, up to a part in ten million of the radius."""
    apart = np.linalg.norm(inner.center - outer.center)
    return apart + inner.radius <= outer.radius * (1.0 + 1e-7)


# %%
COUNT = 200
inside = {cone: np.zeros((len(BALLS), len(BALLS))) for cone in CONES}
smaller = {cone: np.zeros((len(BALLS), len(BALLS))) for cone in CONES}
for cone in CONES:
    for _, reference in draws(cone, COUNT):
        balls = [ss.SPHERES[name].build(reference) for name in BALLS]
        for (i, a), (j, b) in itertools.product(enumerate(balls), repeat=2):
            inside[cone][i, j] += lies_in(a, b) / COUNT
            smaller[cone][i, j] += (a.radius <= b.radius * (1.0 + 1e-7)) / COUNT


# %%
def draw(tables, text):
    """One panel a cone: how often what the row says of the column was true."""
    fig, axes = figures.panels(3, width=11.0, height=3.9, sharey=True)
    for ax, (cone, table) in zip(axes, tables.items(), strict=True):
        ax.imshow(table, cmap="cividis", vmin=0.0, vmax=1.0)
        for i, j in np.ndindex(table.shape):
            colour = "black" if table[i, j] > 0.6 else "white"
            ax.text(j, i, f"{table[i, j]:.2f}".replace("1.00", "1"), ha="center", va="center", color=colour, fontsize=8)
        ax.set(title=cone, xticks=range(len(BALLS)), yticks=range(len(BALLS)), yticklabels=BALLS)
        ax.set_xticks(range(len(BALLS)), BALLS, rotation=90)
    figures.show(text)


draw(
    inside,
    "Three tables of seven rows and columns, one for each cone: how often the ball of the row lay in that of the column. "
    "Only MGB in DGB is 1 over matrices and diagonal metrics; over the whole space GB, PGB and MGB lie in each other and in DGB.",
)

# %% [markdown]
# ## Who contains whom
#
# > **The order of the balls.** From one reference pair, MGB lies in DGB over every cone, and PGB, GB and MGB are one ball over the
# > whole space. The radius of PGB is at most those of GB and of MGB, and the radius of MGB at most that of DGB over
# > $\sqrt 2$. No other containment holds in general: each other pair of balls has a reference where it fails.
#
# The first two sentences are theorems; [`28-midpoint-gap-bound`](28-midpoint-gap-bound.ipynb) and
# [`15-relations-between-spheres`](15-relations-between-spheres.ipynb) prove them. The last one needs one example a pair and cone, which
# the table above has. RRPB comes from another reference than the others, so nothing contains it or lies in it for certain.

# %% tags=["NEW-MAP"]
always = {cone: {(BALLS[i], BALLS[j]) for i, j in zip(*np.nonzero(t > 1.0 - 1e-9), strict=True) if i != j} for cone, t in inside.items()}
one_ball = ("GB", "PGB", "MGB")
same = {(a, b) for a, b in itertools.permutations(one_ball, 2)}
assert always["matrices"] == always["diagonal metrics"] == {("MGB", "DGB")}
assert always["whole space"] == same | {(name, "DGB") for name in one_ball}
order = [("PGB", "GB"), ("PGB", "MGB"), ("PGB", "DGB"), ("MGB", "DGB")]
for cone, a in itertools.product(CONES, order):
    assert smaller[cone][BALLS.index(a[0]), BALLS.index(a[1])] > 1.0 - 1e-9
print(f"{3 * COUNT} references over three cones: over cones one containment of {len(BALLS) * (len(BALLS) - 1)} holds")

# %% [markdown]
# A smaller radius is no containment: PGB has the smallest radius of those of one reference and lies in DGB only part of the time. How often
# one radius is at most another:

# %%
draw(
    smaller,
    "Three tables of seven rows and columns, one for each cone: how often the radius of the row was at most that of the column. "
    "PGB is never larger than GB, MGB and DGB.",
)


# %% [markdown]
# ## What each ball screens
#
# Containment is rare, so the question that is left is how much each screens. The share of terms that the sphere rule decides, by how far the
# reference is from the solution (the duality gap relative to the objective):

# %%
def shares(cone, count):
    """Relative gaps of references, and the share screened by each ball."""
    gaps, rates = [], []
    for problem, reference in draws(cone, count, seed=1):
        e = reference.evaluation
        gaps.append(e.gap / max(abs(e.primal), 1e-300))
        rates.append([ss.rules.sphere(problem, ss.SPHERES[name].build(reference)).rate for name in BALLS])
    return np.array(gaps), np.array(rates)


# %%
edges = 10.0 ** np.arange(-9.0, 1.1, 2.0)
fig, axes = figures.panels(3, width=11.0, height=3.4, sharey=True)
mean_rates = {}
for ax, cone in zip(axes, CONES, strict=True):
    gaps, rates = shares(cone, 200)
    bins = np.clip(np.digitize(gaps, edges), 1, len(edges) - 1)
    filled = [b for b in range(1, len(edges)) if (bins == b).any()]
    mean_rates[cone] = {b: dict(zip(BALLS, rates[bins == b].mean(axis=0), strict=True)) for b in filled}
    x = [np.sqrt(edges[b - 1] * edges[b]) for b in filled]
    for name, style in zip(BALLS, figures.styles(BALLS), strict=True):
        ax.plot(x, [mean_rates[cone][b][name] for b in filled], label=name, **style)
    ax.set(xscale="log", title=cone, xlabel="relative gap of the reference")
axes[0].set_ylabel("screened")
axes[0].legend(fontsize=8, loc="center right", bbox_to_anchor=(-0.2, 0.5))
figures.show(
    "Three panels, one for each cone: the share of terms screened by seven balls against the relative gap of the reference. "
    "RRPB stays above one half everywhere. MGB, PGB and DGB reach it where the gap is small, in this order, and fall to "
    "almost nothing at a gap of 1. BT2, CDGB and GB stay below one half."
)

# %% [markdown]
# RRPB rests on the solution for $\lambda_0$ and does not see how far the reference is. PGB and MGB screen about the same and more than DGB.
# BT2 and CDGB rest on $x(\alpha)$, which may be far from the solution when $x$ is near; over a cone GB does not shrink to a point.

# %%
for cone, b in itertools.product(CONES, (1, len(edges) - 1)):
    if b in mean_rates[cone]:
        print(f"{cone:17} gap about {np.sqrt(edges[b - 1] * edges[b]):.0e}: {figures.listed(mean_rates[cone][b])}")

# %% [markdown]
# ## What a rule adds to a ball
#
# A rule knows more of the solution than that it lies in a ball, and decides what the sphere rule decides and more. Here for MGB and
# matrices: the half-space of the cone, and the cone itself.

# %%
added = {name: 0 for name in ss.rules.RULES}
terms = 0
for problem, reference in draws("matrices", 40, seed=2):
    ball = ss.SPHERES["MGB"].build(reference)
    masks = {name: rule(problem, ball) for name, rule in ss.rules.RULES.items()}
    for name, mask in masks.items():
        added[name] += mask.n_L + mask.n_R
        assert not (masks["sphere"].in_R & ~mask.in_R).any() and not (masks["sphere"].in_L & ~mask.in_L).any()
    terms += len(problem)
print(f"of {terms} triplets:", figures.listed({name: count / terms for name, count in added.items()}, "{:.4f}"))
assert added["sphere"] <= added["halfspace"] <= added["semidefinite"]

# %% [markdown]
# ## The table
#
# One row a function. *Takes* are its parameters: `x` is any point of the cone, `alpha` any dual point, `x0` a solution for another
# $\lambda_0$, known up to `eps`. *Claims* are those of the ledger that are about it, with what became of them and where. Costs are beyond those of the
# arguments.

# %%
entries = catalogue()
claims = ledger.load_claims(notebooks_folder())
about = {name: [claim for claim in claims if name in claim.about] for name in entries}


def cell(text):
    """Text of a docstring for a table."""
    text = text.replace(":func:", "").replace("``", "`").replace("~safescreen.", "")
    return text.replace("|", "\\|")


def row(entry):
    """One row of the table."""
    found = [f"[{c.id}]({c.notebook}.ipynb) {c.status}" for c in about[entry.name]]
    floating = entry.rounding.removeprefix("Safe in floating point").lstrip(": ")
    texts = (f"`{entry.name}`", ", ".join(entry.takes), ", ".join(entry.sources) or "this book", entry.cost, floating)
    return "| " + " | ".join([*map(cell, texts), ", ".join(found)]) + " |"


def table(kind):
    """All entries of a kind."""
    lines = ["| test | takes | source | cost | in floating point | claims |", "|---|---|---|---|---|---|"]
    return Markdown("\n".join(lines + [row(entry) for entry in entries.values() if entry.kind == kind]))


# %% [markdown]
# ### Regions that hold the solution

# %%
table("region")

# %% [markdown]
# ### Rules: from a region to terms that are certain

# %%
table("rule")

# %% [markdown]
# ### Ranges of $\lambda$ over which a term is certain

# %%
table("ranges")

# %% [markdown]
# ### From a region to margins of terms that are held out or left out

# %%
table("held-out")

# %% [markdown]
# Every test has a claim, and no claim about a test is refuted. A solver takes every ball by its name in `screening`, with every rule:

# %%
assert all(about.values())
assert not any(claim.status in ("open", "refuted") for found in about.values() for claim in found)
names = [f"{ball}+{rule}" for ball in ss.SPHERES for rule in ss.rules.RULES]
problem = random_problem(np.random.default_rng(3), "matrices")
lam = 0.1 * problem.lam_max()
assert all(ss.solve(problem, lam, screening=name).converged for name in names)
print(f"{len(names)} combinations: {', '.join(names)}")

# %% [markdown]
# ## Which to take
#
# `screening="auto"`, the default, weighs what a test costs against what it saves ([`45-when-to-screen`](45-when-to-screen.ipynb)).
# Fixed choices that did well:
#
# * **A path**: RRPB from the last $\lambda$ before the first iteration, then MGB while the solver runs. MGB costs nothing beyond what the solver has
#   evaluated already.
# * **One $\lambda$, no reference**: MGB. PGB screens about as much and costs a projection.
# * **Someone else's solution**: `ss.screen`, which builds MGB and DGB around any point.
# * **A rule beyond the sphere rule** decides a few terms in a hundred more here, and the share falls with more dimensions and better
#   references ([`52-bounds-and-rules`](52-bounds-and-rules.ipynb)); the semidefinite rule costs an eigendecomposition for each undecided term.
# * **GB and CDGB** are for the theory. Over a cone GB does not shrink to a point, and CDGB is MGB at another point.
