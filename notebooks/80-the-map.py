# %% [markdown]
# # The map: every test, what it needs, and which contains which
#
# The library holds families of balls, rules for terms and for features, ranges of $\lambda$, and the tests of two papers on support vector machines.
# Here they stand in one table. It is made when this notebook runs, from the functions of the library, the
# ledger of claims and a list of credits. The screening of atoms in [`46-safe-screening-of-atoms`](46-safe-screening-of-atoms.ipynb) is code of this book and not in the table.
#
# At the end you will have seen
#
# * that of all possible containments between seven balls, taken at any point, one holds over every cone, and that GB, PGB and MGB are
#   one ball over the whole space;
# * that much more holds where the path bound, too, is made of the *same* pair: statements that are each tried with many digits, and each with a counter-example where
#   its assumption is broken;
# * that which ball screens most depends on the reference: close to the optimum PGB, MGB and RRPB, far from it RRPB;
# * for every test its source, its cost, how it holds in floating point, and the notebook that derives and breaks it.

# | ball | name | made of | derived in |
# |---|---|---|---|
# | GB | gradient bound | a point $x$ and its slopes | [`11-gradient-bound`](11-gradient-bound.ipynb) |
# | PGB | projected gradient bound | the same | [`12-projected-gradient-bound`](12-projected-gradient-bound.ipynb) |
# | DGB | duality gap bound | a point $x$ and a dual point $\alpha$ | [`13-duality-gap-bounds`](13-duality-gap-bounds.ipynb) |
# | CDGB | constrained duality gap bound | $\alpha$ and its primal point $x(\alpha)$ | [`13-duality-gap-bounds`](13-duality-gap-bounds.ipynb) |
# | MGB | midpoint gap bound | $x$ and $\alpha$ | [`28-midpoint-gap-bound`](28-midpoint-gap-bound.ipynb) |
# | BT1, BT2 | ball tests 1 and 2 of SSS14 | BT1: a solution for another $C$ and $x$; BT2: any slopes, here those at the center of MGB, for any cone | [`32-ball-tests-1-and-2`](32-ball-tests-1-and-2.ipynb) |
# | RPB, RRPB | path bound, and relaxed: for a solution known to $\varepsilon$ | the solution for another $\lambda_0$ | [`14-path-bounds`](14-path-bounds.ipynb) |

# %%
import itertools

import numpy as np
from IPython.display import Markdown
from mpmath import mp, mpf

import safescreen as ss
from safescreen.spheres.base import BallReference, PathReference
from safescreen.spheres.path import reference_accuracy
from safescreen_book import figures, ledger
from safescreen_book.catalogue import catalogue
from safescreen_book.places import notebooks_folder

# %% [markdown]
# ## The story in a picture
#
# A ball that lies in another ball screens what the other screens, whatever the terms are. So one would like to know which ball lies in
# which. Random references over three cones answer: points near the solution and far from it, with a solution for a
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
    """A point that is off the solution by a factor from a millionth to two, and a path
    reference."""
    lam = problem.lam_max() * 10.0 ** -rng.uniform(0.5, 2.5)
    lam0 = lam * rng.uniform(1.0, 2.0)
    solution = ss.solve(problem, lam0, tol=1e-9)
    eps = reference_accuracy(problem.evaluate(solution.x, lam0, solution.alpha))
    step = rng.standard_normal(np.shape(solution.x))
    step = step + step.T if step.ndim == 2 else step
    size = 10.0 ** rng.uniform(-6.0, 0.3) * np.linalg.norm(solution.x) / np.linalg.norm(step)
    x = problem.cone.project(solution.x + size * step)
    path = PathReference(x0=solution.x, lam0=lam0, eps=eps)
    return BallReference(problem, problem.evaluate(x, lam), path)


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
COUNT = 150
drawn = {cone: list(draws(cone, COUNT)) for cone in CONES}
inside = {cone: np.zeros((len(BALLS), len(BALLS))) for cone in CONES}
smaller = {cone: np.zeros((len(BALLS), len(BALLS))) for cone in CONES}
for cone in CONES:
    for _, reference in drawn[cone]:
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
            ax.text(j, i, f"{table[i, j]:.2f}".replace("1.00", "1"), ha="center", va="center",
                    color=colour, fontsize=8)
        ax.set(title=cone, xticks=range(len(BALLS)), yticks=range(len(BALLS)), yticklabels=BALLS)
        ax.set_xticks(range(len(BALLS)), BALLS, rotation=90)
    figures.show(text)


draw(
    inside,
    f"Each table has {len(BALLS)} rows and columns and shows for a cone how often the ball of the "
    "row lay in the ball of the column. "
    "Only MGB in DGB is 1 over matrices and diagonal metrics; over the whole space GB, PGB and "
    "MGB lie in each other and in DGB.",
)

# %% [markdown]
# ## Who contains whom
#
# > **Any point.** Take GB, PGB, DGB, CDGB, MGB and BT2 at one point, and RRPB from a solution for another $\lambda_0$. MGB lies in DGB over
# > every cone, and PGB, GB and MGB are one ball over the whole space. The radius of PGB is at most those of GB and of MGB, and the radius of
# > MGB at most that of DGB over $\sqrt 2$. Each other ordered pair of these seven balls has a reference where it fails.
#
# The first two sentences are theorems; [`28-midpoint-gap-bound`](28-midpoint-gap-bound.ipynb) and
# [`15-relations-between-spheres`](15-relations-between-spheres.ipynb) prove them. The last one needs one example a pair and cone, which
# the table above has. RRPB is made from another reference than the others here, and so it has no fixed place among them. From the *same*
# reference it has one: the next section.

# %% tags=["NEW-MAP"]
always = {
    cone: {(BALLS[i], BALLS[j]) for i, j in zip(*np.nonzero(t > 1.0 - 1e-9), strict=True) if i != j}
    for cone, t in inside.items()
}
one_ball = ("GB", "PGB", "MGB")
same = {(a, b) for a, b in itertools.permutations(one_ball, 2)}
assert always["matrices"] == always["diagonal metrics"] == {("MGB", "DGB")}
assert always["whole space"] == same | {(name, "DGB") for name in one_ball}
order = [("PGB", "GB"), ("PGB", "MGB"), ("PGB", "DGB"), ("MGB", "DGB")]
for cone, a in itertools.product(CONES, order):
    assert smaller[cone][BALLS.index(a[0]), BALLS.index(a[1])] > 1.0 - 1e-9
print(
    f"{3 * COUNT} references over three cones: over cones one containment of "
    f"{len(BALLS) * (len(BALLS) - 1)} holds"
)

# %% [markdown]
# A smaller radius is no containment: PGB is never larger than DGB, and lies in it only part of the time. How often
# one radius is at most another:

# %%
draw(
    smaller,
    f"Each table has {len(BALLS)} rows and columns and shows for a cone how often the radius of "
    "the row was at most the radius of the column. "
    "PGB is never larger than GB, MGB and DGB.",
)


# %% [markdown]
# ## Balls of the same reference
#
# A path screens for $\lambda_1$ with what it has from $\lambda_0$. So let all balls be made of one pair $(x_0, \alpha_0)$, the RRPB
# with the distance $\varepsilon$ that the gap of this pair for $\lambda_0$ certifies. Write $Q$ for the center of GB, $H = c + \sum_t\alpha_t a_t$, and $Q_- = [Q]_K - Q$, $H_- = [H]_K - H$ for
# what the projection onto the cone adds. Now more is true:
#
# > **One pair.** (1) MGB lies in DGB. (2) MGB lies in RRPB. (3) GB, cut by the half-space $\langle Q_-, z\rangle \ge 0$ of its own center,
# > lies in PGB. (4) GB, cut by $\langle H_-, z\rangle \ge 0$, lies in MGB.
# >
# > **One exact pair.** (5) If $x_0$ and $\alpha_0$ are the solutions for $\lambda_0$, then PGB, MGB and RPB are one ball, and it lies in DGB.
# > (6) For samples, with the solutions $w_a$ for $C_a$ and $w_b$ for $C_b > C_a$: the RPB from $w_a$ for $C_b$ and the RPB from $w_b$ for $C_a$, which hold the solutions for all $C$ between,
# > have their common part in the dome $\|w\| \le \|w_b\|$, $\langle w_a, w\rangle \ge \|w_a\|^2$.
# > (7) BT1 is made of a solution $w_0$ and a feasible point $\tilde w$. With $\tilde w = w_0$ it is RPB.
#
# Each is a theorem of the notebook that the table names. Here a search tries to refute it, with the digits of the next cell. The problems are
# built backwards: terms, $\lambda_0$ and a dual point come first, then the thresholds for which they are optimal. So the solution is
# exact. Beside it stands the same search with one assumption broken.

# %%
mp.dps = 50


def exact(values):
    """An array of 50 digits."""
    return np.vectorize(mpf, otypes=[object])(values)


def positive_part(h, cone):
    """The projection of h onto a cone; matrices are 2 by 2, written as four numbers."""
    if cone == "whole space":
        return h
    if cone == "diagonal metrics":
        return np.array([max(v, mpf(0)) for v in h])
    mean, half, off = (h[0] + h[3]) / 2, (h[0] - h[3]) / 2, (h[1] + h[2]) / 2
    spread = mp.sqrt(half**2 + off**2)
    if mean >= spread:
        return h
    share = max(mean + spread, mpf(0)) / (2 * spread)
    return share * np.array([spread + half, off, off, spread - half])


def length(v):
    """Euclidean norm."""
    return mp.sqrt(max(v @ v, mpf(0)))


# %%
class ExactProblem:
    """Five terms, a lam0, and the exact primal and dual solutions x0, alpha0 for it."""

    def __init__(self, cone, rng):
        self.cone = cone
        self.gamma = mpf(rng.choice([0.0, 0.25]))
        u, v = exact(rng.standard_normal((2, 5, 3 if cone != "matrices" else 2)))
        if cone == "matrices":
            pairs = zip(u, v, strict=True)
            self.A = np.array([(np.outer(p, p) - np.outer(q, q)).ravel() for p, q in pairs])
        else:
            self.A = u if cone == "whole space" else u * u - v * v
        self.lam0 = mpf(10.0 ** rng.uniform(-0.5, 0.5))
        self.alpha0 = exact(np.clip(rng.uniform(-0.5, 1.5, 5), 0.0, 1.0))
        self.x0 = positive_part(self.A.T @ self.alpha0, cone) / self.lam0
        away = exact(rng.exponential(0.3, 5))
        off = np.where(self.alpha0 == 1, away, mpf(0)) - np.where(self.alpha0 == 0, away, mpf(0))
        self.tau = self.A @ self.x0 + self.gamma * self.alpha0 + off

    def losses(self, x):
        """The loss of each term."""
        slack = np.array([max(t, mpf(0)) for t in self.tau - self.A @ x])
        return np.array(
            [s - self.gamma / 2 if s >= self.gamma else s * s / (2 * self.gamma) for s in slack]
        )


# %% [markdown]
# A pair of a point and its slopes makes six balls. RRPB takes the pair as a reference for
# $\lambda_0$.


# %%
def balls(problem, x, alpha, lam):
    """Center and radius of each ball of one pair, by the definitions; RRPB from lam0 to lam."""
    H = problem.A.T @ alpha
    plus = positive_part(H, problem.cone)
    fenchel = np.sum(
        problem.losses(x) + problem.gamma / 2 * alpha**2 - alpha * (problem.tau - problem.A @ x)
    )
    excess = fenchel + x @ (plus - H)  # the gap without its square
    Q = (x + H / lam) / 2
    gb_square = (x - H / lam) @ (x - H / lam) / 4 + fenchel / lam
    center = positive_part(Q, problem.cone)
    apart, apart0 = (length(x - plus / level) for level in (lam, problem.lam0))
    eps = mp.sqrt(apart0**2 + 2 * excess / problem.lam0)
    step = abs(problem.lam0 - lam) / (2 * lam) * length(x)
    later = (problem.lam0 + lam) / (2 * lam) * x
    return {
        "GB": (Q, mp.sqrt(gb_square)),
        "PGB": (center, mp.sqrt(max(gb_square - (Q - center) @ (Q - center), mpf(0)))),
        "DGB": (x, mp.sqrt(apart**2 + 2 * excess / lam)),
        "MGB": ((x + plus / lam) / 2, mp.sqrt(apart**2 / 4 + excess / lam)),
        "RPB": (later, step),
        "RRPB": (later, step + max(mpf(1), problem.lam0 / lam) * eps),
    }


# %% [markdown]
# What is measured is how far one region sticks out of another, in units of the outer radius plus 1: 0 or less if it lies inside. For a region that is
# no ball the farthest of many points of its surface are taken, half of them on the edge where the surfaces of ball and half-space, or of two balls, meet. The pair is drawn anew until each
# statement says something: the solution is not 0, over a cone neither half-space has a normal of 0, and two balls for the dome cross. A region that holds the solution is never
# empty, so each trial has all its points.


# %%
def directions(size, rng, count):
    """Random unit vectors; symmetric where the space is that of matrices."""
    steps = rng.standard_normal((count, size))
    if size == 4:
        steps[:, 2] = steps[:, 1]
    return [step / length(step) for step in exact(steps)]


def cap(ball, normal, level, rng, count=20):
    """Random points of the surface of a ball where <normal, z> >= level, half of them at level."""
    center, radius = ball
    u = normal / length(normal)
    lowest = (level - normal @ center) / (length(normal) * radius)
    assert lowest <= 1  # the half-space meets the ball
    points = []
    for k, step in enumerate(directions(len(center), rng, count)):
        across = step - (step @ u) * u
        height = max(lowest, mpf(-1))
        if k % 2:
            height += (1 - height) * mpf(rng.uniform())
        points.append(
            center + radius * (height * u + mp.sqrt(1 - height**2) * across / length(across))
        )
    return points


# %%
def sticks_out(inner, outer):
    """How far a ball reaches beyond another."""
    return (length(inner[0] - outer[0]) + inner[1] - outer[1]) / (1 + outer[1])


def cut_sticks_out(ball, normal, outer, rng):
    """How far a ball, or its part in the half-space of a normal, reaches beyond another ball."""
    if normal is None:
        points = [ball[0] + ball[1] * step for step in directions(len(ball[0]), rng, 20)]
    else:
        points = cap(ball, normal, mpf(0), rng)
    return max((length(z - outer[0]) - outer[1]) / (1 + outer[1]) for z in points)


# %%
def bt1(problem, w, lam):
    """Ball test 1 of SSS14 for C = 1/lam, from the exact solution for C0 = 1/lam0 and any w."""
    t = problem.lam0 / lam
    center = (w + t * problem.x0) / 2
    losses = np.sum(problem.losses(w)) - np.sum(problem.losses(problem.x0))
    return center, mp.sqrt(center @ center - t * (problem.x0 @ problem.x0) + losses / lam)


def two_balls(w_a, w_b, k=1.5):
    """The RPB from w_a for k C_a, and the RPB from w_b for C_b / k."""
    first = (1 + mpf(k)) / 2 * w_a, (mpf(k) - 1) / 2 * length(w_a)
    return first, ((1 + 1 / mpf(k)) / 2 * w_b, (1 - 1 / mpf(k)) / 2 * length(w_b))


def cross(first, second):
    """Whether the surfaces of two balls have a circle in common."""
    return abs(first[1] - second[1]) < length(first[0] - second[0]) < first[1] + second[1]


def beyond_the_dome(w_a, w_b, rng, *, both):
    """How far two balls in common, or the first alone, reach beyond the dome of w_a and w_b."""
    first, second = two_balls(w_a, w_b)
    if both:
        apart = second[0] - first[0]  # the two surfaces meet where <apart, z> has this level
        level = (first[1] ** 2 - second[1] ** 2 + second[0] @ second[0] - first[0] @ first[0]) / 2
        points = cap(first, apart, level, rng) + cap(second, -apart, -level, rng)
    else:
        points = [first[0] + first[1] * step for step in directions(len(w_a), rng, 20)]
    return max(max(length(z) - length(w_b), (w_a @ w_a - w_a @ z) / length(w_a)) for z in points)


# %%
def random_pair(problem, rng):
    """A point near or far from the solution, its slopes, and a second solution for the dome."""
    size, shape = mpf(10.0 ** rng.uniform(-6.0, 0.3)), problem.x0.shape
    noise = exact(rng.standard_normal(shape))
    if problem.cone == "matrices":
        noise = (noise + noise[[0, 2, 1, 3]]) / 2
    x = positive_part(problem.x0 + size * noise, problem.cone)
    slopes = problem.alpha0 + size * exact(rng.standard_normal(5))
    alpha = np.array([min(max(a, mpf(0)), mpf(1)) for a in slopes])
    w_b = problem.x0 * mpf(rng.uniform(1.05, 1.4)) + noise * length(problem.x0) / 20
    return x, alpha, w_b


# %%
def random_trial(cone, rng):
    """A problem, a pair with lam, and the normals of its two half-spaces: none of them is 0."""
    while True:
        problem = ExactProblem(cone, rng)
        x, alpha, w_b = random_pair(problem, rng)
        lam = problem.lam0 * mpf(rng.choice([0.4, 0.8, 1.3]))
        H = problem.A.T @ alpha
        H_minus, Q_minus = (positive_part(h, cone) - h for h in (H, (x + H / lam) / 2))
        tiny = mpf(10) ** -10
        has_normals = cone == "whole space" or min(length(H_minus), length(Q_minus)) > tiny
        is_large = length(problem.x0) > mpf(10) ** -3
        if is_large and has_normals and cross(*two_balls(problem.x0, w_b)):
            return problem, (x, alpha, lam), w_b, (H_minus, Q_minus)


def differ(of):
    """How far one of three balls sticks out of another, or PGB of DGB."""
    pairs = [*itertools.permutations(("PGB", "MGB", "RPB"), 2), ("PGB", "DGB")]
    return max(sticks_out(of[p], of[q]) for p, q in pairs)


def with_and_without(ball, normal, outer, rng):
    """How far a ball reaches beyond another, with a half-space and without it."""
    return [cut_sticks_out(ball, chosen, outer, rng) for chosen in (normal, None)]


# %%
def statements(cone, rng):
    """How far each statement fails for one random pair, as it is and with an assumption broken."""
    problem, (x, alpha, lam), w_b, (H_minus, Q_minus) = random_trial(cone, rng)
    of = balls(problem, x, alpha, lam)
    of_other = balls(problem, x, exact(rng.uniform(0.0, 1.0, 5)), lam)
    at = balls(problem, problem.x0, problem.alpha0, lam)
    short = of["RRPB"][0], of["RPB"][1] + max(mpf(1), problem.lam0 / lam) * length(x - problem.x0)
    found = {
        "MGB in DGB": (sticks_out(of["MGB"], of["DGB"]), sticks_out(of["MGB"], of_other["DGB"])),
        "MGB in RRPB": (sticks_out(of["MGB"], of["RRPB"]), sticks_out(of["MGB"], short)),
        "PGB = MGB = RPB, in DGB": [differ(at), differ(of)],
    }
    if cone != "whole space":
        found["GB and its half-space in PGB"] = with_and_without(of["GB"], Q_minus, of["PGB"], rng)
        found["GB and half-space in MGB"] = with_and_without(of["GB"], H_minus, of["MGB"], rng)
        return found
    found["two balls in the dome"] = [
        beyond_the_dome(problem.x0, w_b, rng, both=both) for both in (True, False)
    ]
    tests = [bt1(problem, w, lam) for w in (problem.x0, x)]
    found["BT1 = RPB"] = [
        max(sticks_out(ball, at["RPB"]), sticks_out(at["RPB"], ball)) for ball in tests
    ]
    return found


# %%
SAME = {  # what is proved: the notebook, and the assumption that is broken beside it
    "MGB in DGB": ("28-midpoint-gap-bound", "DGB has another dual point"),
    "MGB in RRPB": ("28-midpoint-gap-bound", "RRPB has the true distance for its eps"),
    "GB and its half-space in PGB": ("15-relations-between-spheres", "no half-space"),
    "GB and half-space in MGB": ("28c-half-spaces-and-the-midpoint-ball", "no half-space"),
    "PGB = MGB = RPB, in DGB": ("15-relations-between-spheres", "the reference is not exact"),
    "two balls in the dome": ("36c-dome-test-as-printed", "the ball from $w_a$ alone"),
    "BT1 = RPB": ("37-equivalences", "another feasible point"),
}
PAIRS = 60
tried, refuted, broken = ({name: 0 for name in SAME} for _ in range(3))
for cone in CONES:
    rng = np.random.default_rng(12)
    for _ in range(PAIRS):
        for name, (as_it_is, without) in statements(cone, rng).items():
            tried[name] += 1
            refuted[name] += as_it_is > mpf(10) ** -20
            broken[name] += without > mpf(10) ** -6

# %% tags=["NEW-MAP"]
assert sorted(
    tried.values()) == [PAIRS, PAIRS, 2 * PAIRS, 2 * PAIRS, 3 * PAIRS, 3 * PAIRS, 3 * PAIRS]
assert not any(refuted.values()) and min(broken.values()) > 0
print(
    f"{sum(tried.values())} trials of {len(SAME)} statements in {mp.dps} digits: "
    f"{sum(refuted.values())} counter-examples"
)
print(
    f"with an assumption broken: {sum(broken.values())} counter-examples, at least "
    f"{min(broken.values())} for each statement"
)
lines = [
    "| for the same reference | proved in | trials | it fails | broken assumption | it fails |",
    "|---|---|---|---|---|---|",
]
for name, (notebook, assumption) in SAME.items():
    lines.append(
        f"| {name} | [{notebook}]({notebook}.ipynb) | {tried[name]} | {refuted[name]} | "
        f"{assumption} | {broken[name]} |"
    )
Markdown("\n".join(lines))

# %% [markdown]
# So a path that has RRPB from its last solution loses nothing by taking MGB of the same pair: it lies inside. And at an exact solution there is
# nothing left to choose between PGB, MGB and RPB.
#
# ## What each ball screens
#
# Containment is rare, so the question that is left is how much each screens. The share of terms that the sphere rule decides, by how far the
# reference is from the solution (the duality gap relative to the objective):

# %%
def shares(pairs):
    """Relative gaps of references, and the share screened by each ball."""
    gaps, rates = [], []
    for problem, reference in pairs:
        e = reference.evaluation
        gaps.append(e.gap / max(abs(e.primal), 1e-300))
        rates.append(
            [ss.rules.sphere(problem, ss.SPHERES[name].build(reference)).rate for name in BALLS]
        )
    return np.array(gaps), np.array(rates)


# %%
edges = 10.0 ** np.arange(-9.0, 1.1, 2.0)
mean_rates = {}
for cone in CONES:
    gaps, rates = shares(drawn[cone])
    bins = np.clip(np.digitize(gaps, edges), 1, len(edges) - 1)
    mean_rates[cone] = {
        b: dict(zip(BALLS, rates[bins == b].mean(axis=0), strict=True))
        for b in range(1, len(edges))
        if (bins == b).any()
    }
ends = {
    name: [[mean_rates[cone][end(mean_rates[cone])][name] for cone in CONES] for end in (min, max)]
    for name in BALLS
}
assert all(
    a > b for small in ("BT2", "CDGB") for a, b in zip(ends["MGB"][0], ends[small][0], strict=True)
)
mgb, dgb = (ends[name][0] + ends[name][1] for name in ("MGB", "DGB"))
assert all(a >= b for a, b in zip(mgb, dgb, strict=True))

# %%
fig, axes = figures.panels(3, width=11.0, height=3.4, sharey=True)
for ax, cone in zip(axes, CONES, strict=True):
    x = [np.sqrt(edges[b - 1] * edges[b]) for b in mean_rates[cone]]
    for name, style in zip(BALLS, figures.styles(BALLS), strict=True):
        width = {"GB": 4.5, "PGB": 3.0}.get(name, 1.5)  # they lie below MGB where all agree
        means = [rates[name] for rates in mean_rates[cone].values()]
        ax.plot(x, means, label=name, linewidth=width, **style)
    ax.set(xscale="log", title=cone, xlabel="relative gap of the reference")
axes[0].set_ylabel("screened")
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(BALLS))
lowest = min(rates["RRPB"] for table in mean_rates.values() for rates in table.values())
figures.show(
    f"Curves show the share of terms screened by {len(BALLS)} balls against the relative gap of "
    f"the reference, a panel for each cone. RRPB is never below {lowest:.2f}. At the smallest gaps "
    f"MGB decides at least {min(ends['MGB'][0]):.2f} and DGB {min(ends['DGB'][0]):.2f}, at the "
    f"largest MGB at most {max(ends['MGB'][1]):.2f} and DGB {max(ends['DGB'][1]):.2f}. BT2 and "
    "CDGB decide less than MGB at the smallest gaps."
)

# %% [markdown]
# RRPB rests on the solution for $\lambda_0$ and does not see how far the reference is. PGB and MGB screen about the same and more than DGB.
# BT2 and CDGB rest on $x(\alpha)$, which may be far from the solution when $x$ is near; over a cone GB does not shrink to a point.

# %% tags=["nbval-ignore-output"]
for cone, end in itertools.product(CONES, (min, max)):
    b = end(mean_rates[cone])
    print(
        f"{cone}, gap about {np.sqrt(edges[b - 1] * edges[b]):.0e}: "
        f"{figures.listed(mean_rates[cone][b])}"
    )

# %% [markdown]
# ## What a rule adds to a ball
#
# A rule knows more of the solution than that it lies in a ball, and decides what the sphere rule decides and more. Here we do it for MGB and matrices, with the half-space of the cone, and with the cone itself.

# %% tags=["nbval-ignore-output"]
added = {name: 0 for name in ss.rules.RULES}
terms = 0
for problem, reference in draws("matrices", 40, seed=2):
    ball = ss.SPHERES["MGB"].build(reference)
    masks = {name: rule(problem, ball) for name, rule in ss.rules.RULES.items()}
    for name, mask in masks.items():
        added[name] += mask.n_L + mask.n_R
        assert not (masks["sphere"].in_R & ~mask.in_R).any()
        assert not (masks["sphere"].in_L & ~mask.in_L).any()
    terms += len(problem)
print(
    f"of {terms} triplets:",
    figures.listed({name: count / terms for name, count in added.items()}, "{:.4f}"),
)
assert (
    added["sphere"] <= added["halfspace"] <= added["semidefinite"] <= added["sphere"] + 0.1 * terms
)

# %% [markdown]
# ## The table
#
# One row a function, with its parameters: `x` is any point of the cone, `alpha` any dual point, `x0` a solution for another
# $\lambda_0$, known up to `eps`. *Papers* are the places in the five papers of this book. *Who first* names earlier work by others that we know of,
# and *ours* what this book adds; both are short, and the notebooks say more. Costs are beyond those of the
# arguments. *Claims* are those of the ledger that are about it, by what became of them, and lead to the notebooks. Below a table stands how each of its tests holds in floating point.

# %%
entries = catalogue()
claims = ledger.load_claims(notebooks_folder())
about = {name: [claim for claim in claims if name in claim.about] for name in entries}


def plain(text):
    """Text of a docstring as Markdown."""
    return text.replace(":func:", "").replace(":mod:", "").replace("``",
                                                                   "`").replace("~safescreen.", "")


def cell(text):
    """The same for a table."""
    return plain(text).replace("|", "\\|")


def row(entry):
    """One row of the table."""
    by_status = {}
    for claim in about[entry.name]:
        by_status.setdefault(claim.status, []).append(f"[{claim.id}]({claim.notebook}.ipynb)")
    found = "; ".join(f"{status}: {', '.join(ids)}" for status, ids in by_status.items())
    test = f"`{entry.name}` ({', '.join(entry.takes)})"
    texts = (test, ", ".join(entry.sources), entry.first, entry.ours, entry.cost)
    return "| " + " | ".join([*map(cell, texts), found]) + " |"


def table(kind):
    """All entries of a kind, and below them how each holds in floating point."""
    of_kind = [entry for entry in entries.values() if entry.kind == kind]
    head = ["| test | papers | who first | ours | cost | claims |", "|---|---|---|---|---|---|"]
    floating = [
        f"* `{entry.name}`: "
        f"{plain(entry.rounding.removeprefix('Safe in floating point').lstrip(':, '))}"
        for entry in of_kind
    ]
    return Markdown("\n".join([*head, *map(row, of_kind), "", "In floating point:", "", *floating]))


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
# ### With a free intercept
#
# An intercept $b$ that nothing penalises changes what a test says in three places. [`39b-free-intercept`](39b-free-intercept.ipynb) derives them.
#
# | what | without | with a free intercept |
# |---|---|---|
# | the balls | for the solution | the same, for $w^\star$; the dual point has to balance the classes, $\sum_i c_i y_i\alpha_i = 0$ |
# | bounds of $b$ | | between two order statistics of the kinks, `FreeIntercept.intercepts(ball, loss)`, $O(n\log n)$; the slope of the cost is summed with its rounding at both ends |
# | the rules | over the ball | over the ball, with the least favourable $b$ of these bounds |
# | ranges of $\lambda$ | formulas for their ends | what one pair decides for two $\lambda$ is certain between them |
#
# Each ball, and the bounds of $b$ that belong to it, on random problems:

# %% tags=["NEW-MAP"]
rng, n_bounds = np.random.default_rng(4), 0
for _ in range(12):
    X = rng.standard_normal((24, 3)) + 3.0
    y = np.where(X[:, 0] + rng.standard_normal(24) > 3.0, 1, -1)
    y[:2] = 1, -1
    free = ss.Problem(ss.FreeIntercept.from_points(X, y), ss.SmoothedHinge(0.25))
    lam = 10.0 ** rng.uniform(-0.5, 1.0)
    best = ss.solve(free, lam, rtol=1e-10, screening=())
    near = BallReference(free, free.evaluate(rng.uniform(0.9, 1.0) * best.x, lam))
    for name in BALLS:
        if name == "BT2":  # its slopes do not balance the classes
            continue
        ball = ss.SPHERES[name].build(near)
        low, high = free.terms.intercepts(ball, free.loss)
        assert np.linalg.norm(best.x - ball.center) <= ball.radius + best.eps, name
        off = 3.0 * best.eps * free.terms.norms.max()
        assert low - off <= best.intercept <= high + off, name
        n_bounds += 1
print(f"{n_bounds} balls with a free intercept hold the solution, and their bounds hold b")

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
# `screening="auto"`, the default, screens listed triplets, pairs and quadruplets with MGB, and no other terms ([`45-when-to-screen`](45-when-to-screen.ipynb)).
# Fixed choices that did well:
#
# * **A path**: RRPB from the last $\lambda$ before the first iteration, then MGB while the solver runs. The solver has evaluated all that
#   MGB is made of; the rule computes one margin per term at its center.
# * **One $\lambda$, no reference**: MGB. PGB screens about as much and costs a projection.
# * **Someone else's solution**: `ss.screen`, which builds MGB and DGB around any point.
# * **A rule beyond the sphere rule** decides more, by the shares printed above, and the gain falls with more dimensions and better
#   references ([`52-bounds-and-rules`](52-bounds-and-rules.ipynb)); the semidefinite rule costs an eigendecomposition for each undecided term.
# * **GB and CDGB** are for the theory. Over a cone GB does not shrink to a point, and CDGB is MGB at another point.
