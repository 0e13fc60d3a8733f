# %% [markdown]
# # The map: every test, what it needs, and which contains which
#
# The library has families of balls, rules for terms and for features, ranges of $\lambda$, and the tests of two papers on support vector machines. This notebook puts them into one table. The notebook computes the table when it runs, from the functions of the library, the ledger of claims and a list of credits. The table does not contain the screening of atoms ([`46-safe-screening-of-atoms`](46-safe-screening-of-atoms.ipynb)), because its code belongs to this book.
#
# At the end you will have seen
#
# * that only one of all containments between seven balls holds at any point and over every cone, and that GB, PGB and MGB are one ball over the whole space;
# * that more containments hold if the path bound uses the *same* pair as the other balls; each is tested with many digits, and each has a counter-example if one assumption is broken;
# * that the ball that screens most depends on the reference: PGB, MGB and RRPB close to the optimum, and RRPB far from the optimum;
# * the source and the cost of every test, the reason why it is safe in floating point, and the notebook that derives it.

# | ball | name | made of | derived in |
# |---|---|---|---|
# | GB | gradient bound | a point $x$ and its slopes | [`11-gradient-bound`](11-gradient-bound.ipynb) |
# | PGB | projected gradient bound | a point $x$ and its slopes | [`12-projected-gradient-bound`](12-projected-gradient-bound.ipynb) |
# | DGB | duality gap bound | a point $x$ and a dual point $\alpha$ | [`13-duality-gap-bounds`](13-duality-gap-bounds.ipynb) |
# | CDGB | constrained duality gap bound | $\alpha$ and its primal point $x(\alpha)$ | [`13-duality-gap-bounds`](13-duality-gap-bounds.ipynb) |
# | MGB | midpoint gap bound | $x$ and $\alpha$ | [`28-midpoint-gap-bound`](28-midpoint-gap-bound.ipynb) |
# | BT1, BT2 | ball tests 1 and 2 of SSS14 | BT1: a solution for another $C$, and $x$; BT2: any slopes, here the slopes at the center of MGB, over any cone | [`32-ball-tests-1-and-2`](32-ball-tests-1-and-2.ipynb) |
# | RPB, RRPB | path bound; relaxed path bound, for a solution known to within $\varepsilon$ | the solution for another $\lambda_0$ | [`14-path-bounds`](14-path-bounds.ipynb) |

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
# If a ball lies in another ball, it screens every term that the other ball screens. So we ask which ball lies in which. The next cells draw random references over three cones: points near the solution and far from it, and for the path bound a solution for a neighbouring $\lambda_0$. A bright square means that the ball of the row lay in the ball of the column for every reference.

# %%
BALLS = tuple(ss.SPHERES)
CONES = ("matrices", "diagonal metrics", "whole space")


def random_problem(rng, cone):
    """Return a problem of sixteen points: triplets over a cone, or samples over the whole space."""
    X = rng.standard_normal((16, 3))
    y = np.arange(16) % 2
    X[y == 1, 0] += 1.0
    if cone == "whole space":
        terms = ss.Samples(X, 2 * y - 1)
    else:
        terms = ss.Triplets.from_labels(X, y, k=3, diagonal=cone == "diagonal metrics")
    return ss.Problem(terms, ss.SmoothedHinge(rng.choice([0.05, 0.5])))


def random_reference(rng, problem):
    """Return a reference whose relative distance from the solution is between 1e-6 and 2."""
    lam = problem.lam_max() * 10.0 ** -rng.uniform(0.5, 2.5)
    lam0 = lam * rng.uniform(1.0, 2.0)
    solution = ss.solve(problem, lam0, tol=1e-9)
    eps = reference_accuracy(problem.evaluate(solution.x, lam0, solution.alpha))
    step = rng.standard_normal(np.shape(solution.x))
    step = step + step.T if step.ndim == 2 else step
    distance = 10.0 ** rng.uniform(-6.0, 0.3) * np.linalg.norm(solution.x)
    x = problem.cone.project(solution.x + distance / np.linalg.norm(step) * step)
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
    """Return whether a ball lies in another, up to 1e-7 of the radius."""
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
    """Draw a table for each cone: how often a statement about row and column was true."""
    fig, axes = figures.panels(3, width=11.0, height=3.9, sharey=True)
    for ax, (cone, table) in zip(axes, tables.items(), strict=True):
        ax.imshow(table, cmap="cividis", vmin=0.0, vmax=1.0)
        for i, j in np.ndindex(table.shape):
            colour = "black" if table[i, j] > 0.6 else "white"
            said = f"{table[i, j]:.2f}".replace("1.00", "1")
            ax.text(j, i, said, ha="center", va="center", color=colour, fontsize=8)
        ax.set(title=cone, xticks=range(len(BALLS)), yticks=range(len(BALLS)), yticklabels=BALLS)
        ax.set_xticks(range(len(BALLS)), BALLS, rotation=90)
    figures.show(text)


draw(
    inside,
    f"Each panel is a cone, with a table of {len(BALLS)} rows and columns. The table shows how "
    "often the ball of the row lay in the ball of the column. Over matrices and diagonal metrics "
    "only MGB lay in DGB every time; over the whole space GB, PGB and MGB lay in each other and "
    "in DGB every time.",
)

# %% [markdown]
# ## Which ball contains which
#
# > **Any point.** Take GB, PGB, DGB, CDGB, MGB and BT2 at one point, and RRPB from a solution for another $\lambda_0$. (a) MGB lies in DGB over every cone, and PGB, GB and MGB are one ball over the whole space. (b) The radius of PGB is at most the radius of GB and at most the radius of MGB. The radius of MGB is at most the radius of DGB divided by $\sqrt 2$. (c) For each other ordered pair of these seven balls there is a reference at which the first ball does not lie in the second.
#
# (a) and (b) are theorems; [`28-midpoint-gap-bound`](28-midpoint-gap-bound.ipynb) and [`15-relations-between-spheres`](15-relations-between-spheres.ipynb) prove them. (c) needs one example for each pair and cone, and the table above has these examples. Here RRPB uses a different reference than the other balls, so it contains none of them and lies in none of them every time. The next section uses the *same* reference for all balls, and there RRPB has a fixed place.

# %% tags=["NEW-MAP"]
always = {cone: set() for cone in CONES}
for cone, (i, j) in itertools.product(CONES, itertools.permutations(range(len(BALLS)), 2)):
    if inside[cone][i, j] > 1.0 - 1e-9:
        always[cone].add((BALLS[i], BALLS[j]))
one_ball = ("GB", "PGB", "MGB")
same = {(a, b) for a, b in itertools.permutations(one_ball, 2)}
assert always["matrices"] == always["diagonal metrics"] == {("MGB", "DGB")}
assert always["whole space"] == same | {(name, "DGB") for name in one_ball}
order = [("PGB", "GB"), ("PGB", "MGB"), ("PGB", "DGB"), ("MGB", "DGB")]
for cone, (a, b) in itertools.product(CONES, order):
    assert smaller[cone][BALLS.index(a), BALLS.index(b)] > 1.0 - 1e-9
n_pairs = len(BALLS) * (len(BALLS) - 1)
print(f"{3 * COUNT} references over three cones: over cones one containment of {n_pairs} holds")

# %% [markdown]
# A ball with a smaller radius need not lie in the other ball: PGB is never larger than DGB, but often does not lie in DGB. The next figure shows how often one radius is at most another:

# %%
draw(
    smaller,
    f"Each panel is a cone, with a table of {len(BALLS)} rows and columns. The table shows how "
    "often the radius of the row was at most the radius of the column. PGB was never larger than "
    "GB, MGB and DGB.",
)


# %% [markdown]
# ## Balls of the same reference
#
# A path screens for $\lambda_1$ with the pair of points that it has computed for $\lambda_0$. So let all balls use one pair $(x_0, \alpha_0)$, and let the $\varepsilon$ of RRPB be the distance that the gap of this pair for $\lambda_0$ certifies. Let $Q$ be the center of GB, let $H = c + \sum_t\alpha_t a_t$, and let $Q_- = [Q]_K - Q$ and $H_- = [H]_K - H$ be the changes by the projection onto the cone. Then more containments hold:
#
# > **One pair.** (1) MGB lies in DGB. (2) MGB lies in RRPB. (3) GB, cut by the half-space $\langle Q_-, z\rangle \ge 0$ of its own center,
# > lies in PGB. (4) GB, cut by $\langle H_-, z\rangle \ge 0$, lies in MGB.
# > **One exact pair.** (5) If $x_0$ and $\alpha_0$ are the solutions for $\lambda_0$, then PGB, MGB and RPB are one ball, and this ball lies in DGB.
# > (6) For samples, let $w_a$ be the solution for $C_a$ and $w_b$ the solution for $C_b > C_a$. Both the RPB from $w_a$ for $C_b$ and the RPB from $w_b$ for $C_a$ contain the solutions for all $C$ between. The intersection of these two balls lies in the dome $\|w\| \le \|w_b\|$, $\langle w_a, w\rangle \ge \|w_a\|^2$.
# > (7) BT1 uses a solution $w_0$ and a feasible point $\tilde w$. If $\tilde w = w_0$, BT1 is RPB.
#
# Each statement is a theorem, and the table below names the notebook that proves it. The next cells search for counter-examples with many digits. They build the problems backwards: first they choose terms, $\lambda_0$ and a dual point, and then the thresholds for which this dual point is optimal. So the solution is exact. The same search is repeated with one assumption broken.

# %%
mp.dps = 50


def exact(values):
    """Return an array with 50 digits."""
    return np.vectorize(mpf, otypes=[object])(values)


def positive_part(h, cone):
    """Return the projection of h onto a cone; matrices are 2 by 2, written as four numbers."""
    if cone == "whole space":
        return h
    if cone == "diagonal metrics":
        return np.array([max(v, mpf(0)) for v in h])
    mean = (h[0] + h[3]) / 2
    half = (h[0] - h[3]) / 2
    off = (h[1] + h[2]) / 2
    spread = mp.sqrt(half**2 + off**2)
    if mean >= spread:
        return h
    share = max(mean + spread, mpf(0)) / (2 * spread)
    return share * np.array([spread + half, off, off, spread - half])


def length(v):
    """Return the Euclidean norm."""
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
        """Return the loss of each term."""
        return np.array([self.loss(max(t, mpf(0))) for t in self.tau - self.A @ x])

    def loss(self, slack):
        """Return the smoothed hinge of a slack that is not negative."""
        if slack >= self.gamma:
            return slack - self.gamma / 2
        return slack * slack / (2 * self.gamma)


# %% [markdown]
# A point and its slopes give six balls. RPB and RRPB use the pair as a reference for $\lambda_0$.


# %%
def balls(problem, x, alpha, lam):
    """Return center and radius of each ball of one pair, by definition; RRPB from lam0 to lam."""
    H = problem.A.T @ alpha
    plus = positive_part(H, problem.cone)
    conjugates = problem.gamma / 2 * alpha**2
    fenchel = np.sum(problem.losses(x) + conjugates - alpha * (problem.tau - problem.A @ x))
    excess = fenchel + x @ (plus - H)  # the gap without its square
    Q = (x + H / lam) / 2
    gb_square = (x - H / lam) @ (x - H / lam) / 4 + fenchel / lam
    center = positive_part(Q, problem.cone)
    apart = length(x - plus / lam)
    apart0 = length(x - plus / problem.lam0)
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
# The next functions measure how far one region extends beyond another, in units of the outer radius plus 1. The result is at most 0 if the first region lies inside the second. A region that is not a ball is represented by many points of its surface. Half of these points are on the edge where two surfaces meet, of ball and half-space or of two balls. Pairs are drawn until no statement is trivial: the solution is not 0, over a cone no half-space has the normal 0, and the two balls for the dome cross. A region that contains the solution is never empty, so each trial has all its points.


# %%
def directions(size, rng, count):
    """Return random unit vectors; over matrices, symmetric ones."""
    steps = rng.standard_normal((count, size))
    if size == 4:
        steps[:, 2] = steps[:, 1]
    return [step / length(step) for step in exact(steps)]


def cap(ball, normal, level, rng, count=20):
    """Return random points of a sphere where <normal, z> >= level, half of them at level."""
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
        side = mp.sqrt(1 - height**2) * across / length(across)
        points.append(center + radius * (height * u + side))
    return points


# %%
def sticks_out(inner, outer):
    """Return how far a ball extends beyond another ball."""
    return (length(inner[0] - outer[0]) + inner[1] - outer[1]) / (1 + outer[1])


def cut_sticks_out(ball, normal, outer, rng):
    """Return how far a ball, cut by the half-space of a normal, extends beyond another ball."""
    if normal is None:
        points = [ball[0] + ball[1] * step for step in directions(len(ball[0]), rng, 20)]
    else:
        points = cap(ball, normal, mpf(0), rng)
    return max((length(z - outer[0]) - outer[1]) / (1 + outer[1]) for z in points)


# %%
def bt1(problem, w, lam):
    """Return the ball of BT1 for C = 1/lam, from the solution for C0 = 1/lam0 and any w."""
    t = problem.lam0 / lam
    center = (w + t * problem.x0) / 2
    losses = np.sum(problem.losses(w)) - np.sum(problem.losses(problem.x0))
    return center, mp.sqrt(center @ center - t * (problem.x0 @ problem.x0) + losses / lam)


def two_balls(w_a, w_b, k=1.5):
    """Return the RPB from w_a for k C_a, and the RPB from w_b for C_b / k."""
    first = (1 + mpf(k)) / 2 * w_a, (mpf(k) - 1) / 2 * length(w_a)
    return first, ((1 + 1 / mpf(k)) / 2 * w_b, (1 - 1 / mpf(k)) / 2 * length(w_b))


def cross(first, second):
    """Return whether the surfaces of two balls have a common circle."""
    return abs(first[1] - second[1]) < length(first[0] - second[0]) < first[1] + second[1]


def beyond_the_dome(w_a, w_b, rng, *, both):
    """Return how far two balls' intersection, or the first ball, extends beyond the dome."""
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
    """Return a point near the solution or far from it, slopes, and a second solution."""
    size = mpf(10.0 ** rng.uniform(-6.0, 0.3))
    noise = exact(rng.standard_normal(problem.x0.shape))
    if problem.cone == "matrices":
        noise = (noise + noise[[0, 2, 1, 3]]) / 2
    x = positive_part(problem.x0 + size * noise, problem.cone)
    slopes = problem.alpha0 + size * exact(rng.standard_normal(5))
    alpha = np.array([min(max(a, mpf(0)), mpf(1)) for a in slopes])
    w_b = problem.x0 * mpf(rng.uniform(1.05, 1.4)) + noise * length(problem.x0) / 20
    return x, alpha, w_b


# %%
def random_trial(cone, rng):
    """Return a problem, a pair with lam, and the normals of two half-spaces, which are not 0."""
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
    """Return how far one of three balls extends beyond another, or PGB beyond DGB."""
    pairs = [*itertools.permutations(("PGB", "MGB", "RPB"), 2), ("PGB", "DGB")]
    return max(sticks_out(of[p], of[q]) for p, q in pairs)


def with_and_without(ball, normal, outer, rng):
    """Return how far a ball extends beyond another, with a half-space and without it."""
    return [cut_sticks_out(ball, chosen, outer, rng) for chosen in (normal, None)]


# %%
def statements(cone, rng):
    """Return how far each statement fails for a random pair, with and without its assumption."""
    problem, (x, alpha, lam), w_b, (H_minus, Q_minus) = random_trial(cone, rng)
    of = balls(problem, x, alpha, lam)
    of_other = balls(problem, x, exact(rng.uniform(0.0, 1.0, 5)), lam)
    at = balls(problem, problem.x0, problem.alpha0, lam)
    short = of["RRPB"][0], of["RPB"][1] + max(mpf(1), problem.lam0 / lam) * length(x - problem.x0)
    result = {
        "MGB in DGB": (sticks_out(of["MGB"], of["DGB"]), sticks_out(of["MGB"], of_other["DGB"])),
        "MGB in RRPB": (sticks_out(of["MGB"], of["RRPB"]), sticks_out(of["MGB"], short)),
        "PGB = MGB = RPB, in DGB": [differ(at), differ(of)],
    }
    if cone != "whole space":
        result["GB and its half-space in PGB"] = with_and_without(of["GB"], Q_minus, of["PGB"], rng)
        result["GB and half-space in MGB"] = with_and_without(of["GB"], H_minus, of["MGB"], rng)
        return result
    of_both = beyond_the_dome(problem.x0, w_b, rng, both=True)
    of_first = beyond_the_dome(problem.x0, w_b, rng, both=False)
    result["two balls in the dome"] = [of_both, of_first]
    tests = [bt1(problem, w, lam) for w in (problem.x0, x)]
    rpb = at["RPB"]
    result["BT1 = RPB"] = [max(sticks_out(ball, rpb), sticks_out(rpb, ball)) for ball in tests]
    return result


# %%
SAME = {  # statement: the notebook with the proof, and how an assumption is broken
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
assert sorted(tried[name] / PAIRS for name in SAME) == [1, 1, 2, 2, 3, 3, 3]
assert not any(refuted.values())
assert min(broken.values()) > 0
n_trials = sum(tried.values())
n_refuted = sum(refuted.values())
trials = f"{n_trials} trials of {len(SAME)} statements in {mp.dps} digits"
print(f"{trials}: {n_refuted} counter-examples")
counts = f"{sum(broken.values())} counter-examples, at least {min(broken.values())}"
print(f"with an assumption broken: {counts} for each statement")

# %%
lines = [
    "| for the same reference | proved in | trials | it fails | broken assumption | it fails |",
    "|---|---|---|---|---|---|",
]
for name, (notebook, assumption) in SAME.items():
    proof = f"[{notebook}]({notebook}.ipynb)"
    as_it_is = f"| {name} | {proof} | {tried[name]} | {refuted[name]} |"
    lines.append(f"{as_it_is} {assumption} | {broken[name]} |")
Markdown("\n".join(lines))

# %% [markdown]
# A path can replace the RRPB of its last solution by the MGB of the same pair, and screens at least as many terms, because MGB lies in RRPB. At an exact solution PGB, MGB and RPB are the same ball.
#
# ## What each ball screens
#
# Few balls contain each other, so we measure how much each ball screens. The next figure shows the share of terms that the sphere rule decides, against the duality gap of the reference divided by the objective:


# %%
def shares(pairs):
    """Return the relative gaps of references, and the share screened by each ball."""
    gaps = []
    rates = []
    for problem, reference in pairs:
        e = reference.evaluation
        gaps.append(e.gap / max(abs(e.primal), 1e-300))
        balls_here = [ss.SPHERES[name].build(reference) for name in BALLS]
        rates.append([ss.rules.sphere(problem, ball).rate for ball in balls_here])
    return np.array(gaps), np.array(rates)


# %%
edges = 10.0 ** np.arange(-9.0, 1.1, 2.0)
mean_rates = {}
for cone in CONES:
    gaps, rates = shares(drawn[cone])
    bins = np.clip(np.digitize(gaps, edges), 1, len(edges) - 1)
    mean_rates[cone] = {}
    for b in np.unique(bins).tolist():
        means = rates[bins == b].mean(axis=0)
        mean_rates[cone][b] = dict(zip(BALLS, means, strict=True))

# %%
smallest = {}  # the share that each ball screens over each cone, at the smallest gaps
largest = {}  # at the largest gaps
for name in BALLS:
    smallest[name] = np.array([mean_rates[cone][min(mean_rates[cone])][name] for cone in CONES])
    largest[name] = np.array([mean_rates[cone][max(mean_rates[cone])][name] for cone in CONES])
assert (smallest["MGB"] > smallest["BT2"]).all()
assert (smallest["MGB"] > smallest["CDGB"]).all()
assert (smallest["MGB"] >= smallest["DGB"]).all()
assert (largest["MGB"] >= largest["DGB"]).all()

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
all_rates = itertools.chain.from_iterable(table.values() for table in mean_rates.values())
lowest = min(rates["RRPB"] for rates in all_rates)
figures.show(
    f"Curves show the share of terms screened by {len(BALLS)} balls against the relative gap of "
    f"the reference; each panel is a cone. RRPB is never below {lowest:.2f}. At the smallest gaps "
    f"MGB decides at least {smallest['MGB'].min():.2f} and DGB at least "
    f"{smallest['DGB'].min():.2f}. At the largest gaps MGB decides at most "
    f"{largest['MGB'].max():.2f} and DGB at most {largest['DGB'].max():.2f}. BT2 and CDGB decide "
    "less than MGB at the smallest gaps."
)

# %% [markdown]
# RRPB uses the solution for $\lambda_0$ and not the point $x$, so it screens many terms even if $x$ is far from the solution. PGB and MGB screen about the same share, and at least as much as DGB. BT2 and CDGB use $x(\alpha)$, which may be far from the solution although $x$ is near. Over a cone GB does not shrink to a point.

# %% tags=["nbval-ignore-output"]
for cone, end in itertools.product(CONES, (min, max)):
    b = end(mean_rates[cone])
    gap = np.sqrt(edges[b - 1] * edges[b])
    print(f"{cone}, gap about {gap:.0e}: {figures.listed(mean_rates[cone][b])}")

# %% [markdown]
# ## What a rule adds to a ball
#
# A rule other than the sphere rule uses a second fact about the solution, in addition to the ball. It decides every term that the sphere rule decides, and some more. The next cell measures the difference for MGB over matrices, with the half-space of the cone and with the cone itself.

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
decided = {name: count / terms for name, count in added.items()}
print(f"shares of {terms} triplets that are decided: {figures.listed(decided, '{:.4f}')}")
assert decided["sphere"] <= decided["halfspace"] <= decided["semidefinite"]
assert decided["semidefinite"] <= decided["sphere"] + 0.1

# %% [markdown]
# ## The table
#
# Each row of the tables is a function with its parameters: `x` is any point of the cone, `alpha` any dual point, and `x0` a solution for another $\lambda_0$, known to within `eps`. The column *papers* has the places in the five papers of this book. The column *who first* names earlier work by others, as far as we know it, and the column *ours* says what this book adds; the notebooks say more. The column *cost* does not include the cost of the arguments. The column *claims* lists the claims of the ledger about the function, by their status, with links to the notebooks. The list below each table says why each test is safe in floating point.

# %%
entries = catalogue()
claims = ledger.load_claims(notebooks_folder())
about = {name: [claim for claim in claims if name in claim.about] for name in entries}


def plain(text):
    """Return the text of a docstring as Markdown."""
    for role in (":func:", ":mod:", "~safescreen."):
        text = text.replace(role, "")
    return text.replace("``", "`")


def cell(text):
    """Return the text of a docstring for the cell of a table."""
    return plain(text).replace("|", "\\|")


# %%
def row(entry):
    """Return the row of a function."""
    by_status = {}
    for claim in about[entry.name]:
        by_status.setdefault(claim.status, []).append(f"[{claim.id}]({claim.notebook}.ipynb)")
    statuses = "; ".join(f"{status}: {', '.join(ids)}" for status, ids in by_status.items())
    test = f"`{entry.name}` ({', '.join(entry.takes)})"
    texts = (test, ", ".join(entry.sources), entry.first, entry.ours, entry.cost)
    return "| " + " | ".join([*map(cell, texts), statuses]) + " |"


def floating(entry):
    """Return a line that says why the test of a function is safe in floating point."""
    reason = entry.rounding.removeprefix("Safe in floating point").lstrip(":, ")
    return f"* `{entry.name}`: {plain(reason)}"


def table(kind):
    """Return the rows of all functions of a kind, and the list below them."""
    of_kind = [entry for entry in entries.values() if entry.kind == kind]
    head = ["| test | papers | who first | ours | cost | claims |", "|---|---|---|---|---|---|"]
    below = ["", "In floating point:", "", *map(floating, of_kind)]
    return Markdown("\n".join([*head, *map(row, of_kind), *below]))


# %% [markdown]
# ### Regions that contain the solution

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
# ### From a region to bounds of margins of held-out or left-out terms

# %%
table("held-out")

# %% [markdown]
# ### With a free intercept
#
# An intercept $b$ that the objective does not penalise changes the tests in three places. [`39b-free-intercept`](39b-free-intercept.ipynb) derives these changes.
#
# | what | without | with a free intercept |
# |---|---|---|
# | the balls | contain the solution | contain $w^\star$; the dual point has to balance the classes, $\sum_i c_i y_i\alpha_i = 0$ |
# | bounds of $b$ | not needed | two order statistics of the kinks, `FreeIntercept.intercepts(ball, loss)`, $O(n\log n)$; both include the rounding of the sum that is the slope of the objective in $b$ |
# | the rules | bound the margin over the ball | bound the margin over the ball, with the least favourable $b$ of these bounds |
# | ranges of $\lambda$ | have formulas for their ends | a decision of one pair for two $\lambda$ is certain for all $\lambda$ between |
#
# The next cell tests each ball and its bounds of $b$ on random problems:

# %% tags=["NEW-MAP"]
rng = np.random.default_rng(4)
n_bounds = 0
for _ in range(12):
    X = rng.standard_normal((24, 3)) + 3.0
    y = np.where(X[:, 0] + rng.standard_normal(24) > 3.0, 1, -1)
    y[:2] = [1, -1]
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
print(f"{n_bounds} balls with a free intercept contain the solution, and their bounds contain b")

# %% [markdown]
# Every test has at least one claim, and no claim about a test is open or refuted. The argument `screening` accepts the name of every ball, combined with every rule:

# %%
assert all(about.values())
for claim in itertools.chain(*about.values()):
    assert claim.status not in ("open", "refuted")
names = [f"{ball}+{rule}" for ball, rule in itertools.product(ss.SPHERES, ss.rules.RULES)]
problem = random_problem(np.random.default_rng(3), "matrices")
lam = 0.1 * problem.lam_max()
assert all(ss.solve(problem, lam, screening=name).converged for name in names)
print(f"{len(names)} combinations: {', '.join(names)}")

# %% [markdown]
# ## Which ball to choose
#
# `screening="auto"`, the default, screens listed triplets, pairs and quadruplets with MGB, and no other terms ([`45-when-to-screen`](45-when-to-screen.ipynb)). If you choose balls yourself:
#
# * **For a path**, use RRPB from the last $\lambda$ before the first iteration, then MGB during the solve. The solver has already evaluated the parts of MGB; the rule computes one margin per term at the center of MGB.
# * **For one $\lambda$ without a reference**, use MGB. PGB screens about as much, but costs a projection.
# * **For a solution of another program**, use `ss.screen`, which builds MGB around any point.
# * **Rules other than the sphere rule** decide more, by the shares printed above. The gain is smaller with more dimensions and with better references ([`52-bounds-and-rules`](52-bounds-and-rules.ipynb)). The semidefinite rule costs an eigendecomposition for each undecided term.
# * **GB and CDGB** are useful for the theory. Over a cone GB does not shrink to a point, and CDGB is MGB at another point.
