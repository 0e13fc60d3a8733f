# %% [markdown]
# # The dome test: screening for a whole interval of C
#
# A support vector machine is trained for two values of $C$. All machines for values of $C$ in
# between lie in a dome, which is a ball cut by a plane. If a sample has a margin above 1
# everywhere in the dome, it influences none of these machines, and a program can drop it before it trains
# them. This was the first safe screening test for support vector machines (SSS13).
#
# At the end you will have seen
#
# * why all solutions between two values of $C$ lie in the dome;
# * the smallest and the largest margin over a dome, in two lines of numpy;
# * that the test decides most samples for every $C$ between 0.1 and 0.2, and that its decisions are right;
# * that the order of the two solutions matters, that inexact solutions need a larger dome, and how much larger the dome
#   must be.

# %%
import itertools

import numpy as np
import sympy as sp

import safescreen as ss
from safescreen import rules, svm
from safescreen_book import figures

# %% [markdown]
# ## The idea in a picture
#
# The data are six hundred points of the plane, 300 in each class. $w_a$ is the solution for $C_a = 0.1$, and $w_b$ the
# solution for $C_b = 0.2$. [`36a-two-forms-of-the-svm`](36a-two-forms-of-the-svm.ipynb) showed that with larger $C$ the solution $w(C)$ gets longer and its
# loss falls. So every $w(C)$ in between is no longer than $w_b$: it lies in the ball around 0 whose surface contains $w_b$.
# Also, $w(C)$ lies beyond the line through $w_a$ that is perpendicular to $w_a$. The dome is the part of the ball beyond
# this line.


# %%
def solve(prob, C, rtol=1e-11):
    return ss.solve(prob, 1.0 / C, tol=0.0, rtol=rtol, screening=())


def total_loss(Z, w):
    return float(np.maximum(1.0 - Z @ w, 0.0).sum())


rng = np.random.default_rng(4)
clouds = [rng.normal(center, np.sqrt(0.75), (300, 2)) for center in ([1.5, 1.5], [-1.5, -1.5])]
X = np.vstack(clouds)
y = np.repeat([1, -1], 300)
Z = y[:, None] * X
toy = ss.Problem(ss.Samples(X, y), ss.Hinge())
C_a, C_b = 0.1, 0.2
a, b = solve(toy, C_a), solve(toy, C_b)

# %% tags=["SSS13-F1"]
between = solve(toy, 0.14).x
points = {"$w_a$": a.x, "$w_b$": b.x, "optimum": between}
figures.domes(a.x, np.linalg.norm(b.x), {}, points, title="C from 0.1 to 0.2")
depth, length = between @ a.x / (a.x @ a.x), np.linalg.norm(between) / np.linalg.norm(b.x)
print("half-space and ball contain the optimum for C = 0.14: ", end="")
print(f"depth {depth:.2f} (at least 1), length {length:.2f} (at most 1)")
assert depth >= 1.0 and length <= 1.0
figures.show(
    "In the plane of weights the dome lies between an arc and a straight edge. The solution w_b is "
    "on the arc, and the solution w_a is on the edge. The solution for a C in between, marked as "
    "the optimum, lies in the dome."
)

# %% [markdown]
# ## The claims
#
# > **Enclosure** (SSS13 Lemma 1). Let $w_a$ be the solution for the budget $s_a$, and let $\hat w$ be any
# > vector with $\xi(\hat w) \le s_b \le s_a$. Then for every budget $s$ between $s_b$ and $s_a$
# >
# > $$\langle w_a,\, w(s)\rangle \ge \|w_a\|^2, \qquad \|w(s)\| \le \|\hat w\| .$$
#
# > **Dome test** (SSS13 Theorem 2). Let $A = \|w_a\|^2$, $B = \|\hat w\|^2$ and
# > $q = \langle z, w_a\rangle$. The smallest margin of a sample $z$ over the dome is
# >
# > $$\ell(z) = \begin{cases} -\sqrt B\,\|z\| & \text{if } -q/\|z\| \ge A/\sqrt B, \\
# q - \sqrt{\tfrac{B - A}{A}\big(A\|z\|^2 - q^2\big)} & \text{otherwise,} \end{cases}$$
# >
# > and the largest margin is $u(z) = -\ell(-z)$. If $\ell(z) > 1$, the sample is in R for every such budget: it
# > influences none of these machines. If $u(z) < 1$, the sample is in L for every such budget: its multiplier is at its
# > bound.
#
# | assumption | where it is used |
# |---|---|
# | the loss is convex | the half-space |
# | $w_a$ is *optimal* for $s_a$ | the half-space |
# | $\hat w$ stays within the budget $s_b$; it need not be optimal | the ball |
# | $s_b \le s_a$, that is $C_a \le C_b$ | half-space and ball |
#
# With $\hat w = w_b$, the solution for $C_b$, both statements are true for every $C$ in $[C_a, C_b]$.
#
# <details>
# <summary><b>Symbols</b></summary>
#
# | symbol | meaning |
# |---|---|
# | $z_i = y_i x_i$ | a sample with its label multiplied in; $\langle z_i, w\rangle$ is its margin |
# | $\xi(w) = \sum_i \max(0, 1 - \langle z_i, w\rangle)$ | total loss |
# | $w(C)$ | minimises $\frac12\lVert w\rVert^2 + C\,\xi(w)$; $C = 1/\lambda$ in the rest of the book |
# | $w(s)$ | minimises $\frac12\lVert w\rVert^2$ subject to $\xi(w) \le s$; it is $w(C)$ for $s = \xi(w(C))$ |
# | $\alpha$ | dual point, one number in $[0, 1]$ for each sample; $w(C) = C\sum_i\alpha_i z_i$ |
# | L, R | samples with margin below 1 ($\alpha_i = 1$) and above 1 ($\alpha_i = 0$) at the solution |
#
# </details>

# %% [markdown]
# ## Derivation
#
# ### The half-space
#
# Call a vector a candidate if its loss is at most $s_a$. The solution $w(s)$ satisfies $\xi(w(s)) \le s \le s_a$, so it is
# a candidate. The candidates form a convex set, and $w_a$ is the shortest candidate. So no step from $w_a$ toward another
# candidate makes the vector shorter. The gradient of $\frac12\|w\|^2$ is $w$, so
# $\langle w_a, w(s) - w_a\rangle \ge 0$.
#
# ### The ball
#
# The vector $\hat w$ satisfies $\xi(\hat w) \le s_b \le s$, so its loss is within the budget $s$. No vector within this
# budget is shorter than the solution: $\|w(s)\| \le \|\hat w\|$.
#
# The two proofs differ in their assumptions. The half-space needs an optimal $w_a$. The ball needs no optimality of
# $\hat w$.


# %% tags=["SSS13-L1"]
def random_machine(rng):
    """Return the rows z, a machine of twenty samples, and two values of C."""
    Z, y = rng.standard_normal((20, 3)) + [0.7, 0.0, 0.0], np.where(np.arange(20) % 2, -1, 1)
    prob = ss.Problem(ss.Samples(Z * y[:, None], y), ss.Hinge())
    C_a = svm.c_min(prob.terms) * 10.0 ** rng.uniform(0.0, 2.0)
    return Z, prob, C_a, C_a * 10.0 ** rng.uniform(0.1, 1.0)


rng = np.random.default_rng(1)
n_checked = 0
for _ in range(40):
    Z_, prob, C_a_, C_b_ = random_machine(rng)
    solutions = [solve(prob, C).x for C in np.geomspace(C_a_, C_b_, 5)]
    w_a = solutions[0]
    w_b = solutions[-1]
    far = solve(prob, 10 * C_b_).x
    for _ in range(20):  # random points beyond w_b with at most the loss of w_b
        w_hat = w_b + rng.uniform(0.0, 2.0, 3) * (far - w_b)
        if total_loss(Z_, w_hat) <= total_loss(Z_, w_b):
            for w in solutions:
                assert w_a @ w >= w_a @ w_a * (1 - 1e-4)
                assert np.linalg.norm(w) <= np.linalg.norm(w_hat) * (1 + 1e-4)
                n_checked += 1
print("about 500 feasible points in 40 machines: five solutions satisfy both conditions for each")
assert n_checked > 2000

# %% [markdown]
# ### The smallest margin over a dome
#
# Minimise $\langle z, w\rangle$ over the dome. Over the ball alone the minimum is at
# $-\sqrt B\, z/\|z\|$, the point of the ball farthest in the direction of $-z$.
#
# *Case 1.* This point lies in the half-space. Then it is the minimum. The condition for this case is
# $\langle w_a, -\sqrt B\, z/\|z\|\rangle = -\sqrt B\, q/\|z\| \ge A$, and the value is $-\sqrt B\,\|z\|$.
#
# *Case 2.* This point lies outside the half-space. Then the minimum lies on the rim, where sphere and plane meet: $\|w\|^2 = B$ and
# $\langle w_a, w\rangle = A$. A point of the rim is $w = w_a + v$ with $v \perp w_a$ and $\|v\|^2 = B - A$.
# Only the component of $z$ perpendicular to $w_a$ contributes to $\langle z, v\rangle$, and its squared length is $\|z\|^2 - q^2/A$.
# The minimum has $v$ opposite to this component:
#
# $$\min = q - \sqrt{(B - A)\,(\|z\|^2 - q^2/A)},$$
#
# which is the second line of the claim. Sympy gives the same value in the plane:

# %%
A, B, q, p, t = sp.symbols("A B q p t", positive=True)
z = sp.Matrix([q / sp.sqrt(A), p])  # w_a = (sqrt A, 0), so <z, w_a> = q; p is perpendicular to w_a
rim = sp.Matrix([sp.sqrt(A), -sp.sqrt(B - A)])
claimed = q - sp.sqrt((B - A) / A * (A * z.dot(z) - q**2))
assert sp.simplify(rim.dot(rim) - B) == 0 and sp.simplify(z.dot(rim) - claimed) == 0
print("value on the rim:", sp.simplify(z.dot(rim)))

# %% [markdown]
# The values of the two cases agree on their common boundary. There $z$ points from the rim to 0,
# $z = -t\,(\sqrt A, -\sqrt{B - A})$.

# %%
boundary = {q: -t * A, p: t * sp.sqrt(B - A)}
case_1 = sp.simplify((-sp.sqrt(B) * sp.sqrt(z.dot(z))).subs(boundary))
case_2 = sp.simplify(z.dot(rim).subs(boundary))
print("on the boundary, case 1:", case_1, "  case 2:", case_2)
assert sp.simplify(case_1 - case_2) == 0

# %% [markdown]
# ## The slow version
#
# The first function returns the two bounds for all samples, the rows of $Z$. The second is SSS13's Algorithm 1, sample by
# sample. The algorithm tries R only if the margin at $w_a$ is above 1. This condition loses no sample, because $w_a$ lies in
# the dome and so $\ell \le \langle z, w_a\rangle$.


# %%
def dome_bounds(Z, w_a, B):
    """Return the smallest and largest <z, w> over |w|^2 <= B, <w_a, w> >= |w_a|^2, for rows z."""
    A = w_a @ w_a
    q = Z @ w_a
    n = np.linalg.norm(Z, axis=1)
    root = np.sqrt(np.maximum((B - A) / A * (A * n**2 - q**2), 0.0))
    low = np.where(-q * np.sqrt(B) >= A * n, -np.sqrt(B) * n, q - root)
    high = np.where(q * np.sqrt(B) >= A * n, np.sqrt(B) * n, q + root)
    return low, high


def algorithm_1(Z, w_a, w_hat):
    in_L, in_R = np.zeros(len(Z), dtype=bool), np.zeros(len(Z), dtype=bool)
    for i, z in enumerate(Z):
        low, high = dome_bounds(z[None], w_a, w_hat @ w_hat)
        in_R[i] = z @ w_a > 1.0 and low[0] > 1.0
        in_L[i] = high[0] < 1.0
    return in_L, in_R


low, high = dome_bounds(Z, a.x, b.x @ b.x)
slow_L, slow_R = algorithm_1(Z, a.x, b.x)
print("decided for every C in [0.1, 0.2]:", slow_L.sum(), "in L,", slow_R.sum(), "in R, of 600")

# %% [markdown]
# ### Samples as lines
#
# A sample is the line $\langle z, w\rangle = 1$ in the plane of weights. If the line misses the dome, all solutions lie on one side of
# it, and the test decides the sample. The picture shows samples whose lines cross its frame.

# %%
def place(lower, upper):
    if lower > 1.0:
        return "R"
    return "L" if upper < 1.0 else "undecided"


points = {"$w_a$": a.x, "$w_b$": b.x}
ax = figures.domes(a.x, np.linalg.norm(b.x), {}, points, title="samples as lines")
xlim, ylim = ax.get_xlim(), ax.get_ylim()
corners = np.array(list(itertools.product(xlim, ylim)))
shown = np.flatnonzero((Z @ corners.T).min(axis=1) < 1.0)
shown = shown[(Z[shown] @ corners.T).max(axis=1) > 1.0][:60]
colours = {"R": figures.COLOURS["R"], "L": figures.COLOURS["L"], "undecided": "#999999"}
places = list(map(place, low[shown], high[shown]))
for z, name in zip(Z[shown], places, strict=True):
    at = z / (z @ z) + np.outer([-9.0, 9.0], [-z[1], z[0]])
    ax.plot(*at.T, color=colours[name], linewidth=0.8, zorder=0)
for name in sorted(set(places)):
    ax.plot([], [], color=colours[name], label=name)
ax.set(xlim=xlim, ylim=ylim)
ax.legend()
figures.show(
    "The dome lies in the plane of weights, and samples are straight lines. The lines of "
    f"{places.count('R')} samples in R and {places.count('L')} in L miss the dome. The lines of "
    f"{places.count('undecided')} undecided samples cut the dome."
)

# %% [markdown]
# The next cell compares the decisions with the margins at many points of the dome's arc.

# %% tags=["SSS13-F2"]
angles = np.linspace(0.0, 2.0 * np.pi, 20_001)
rim = np.linalg.norm(b.x) * np.array([np.cos(angles), np.sin(angles)])
margins_of_dome = Z[shown] @ rim[:, a.x @ rim >= a.x @ a.x]
misses = (margins_of_dome.min(axis=1) > 1.0) | (margins_of_dome.max(axis=1) < 1.0)
wrongly = int((misses != (slow_L | slow_R)[shown]).sum())
print("lines drawn:", len(shown), " that miss the dome:", misses.sum(), " wrong:", wrongly)
assert wrongly == 0 and 0 < misses.sum() < len(shown)

# %% [markdown]
# ## Does it match?
#
# *The formula gives the extreme margins.* In the plane the dome's edge is an arc. The next cell compares the formula with
# many points of the arc.

# %% tags=["SSS13-T2"]
angle = np.linspace(0.0, 2.0 * np.pi, 40_001)
circle = np.linalg.norm(b.x) * np.array([np.cos(angle), np.sin(angle)])
edge = circle[:, a.x @ circle >= a.x @ a.x]
off_low = np.max(np.abs(low - (Z @ edge).min(axis=1)))
off_high = np.max(np.abs(high - (Z @ edge).max(axis=1)))
print("formula and points of the edge differ by less than 2e-3")
assert max(off_low, off_high) < 2e-3

# %% [markdown]
# *In more dimensions* the edge is not a curve. Weak duality gives another check: for every $k \ge 0$
#
# $$\langle z, w\rangle = \langle z - k w_a, w\rangle + k \langle w_a, w\rangle \ge -\sqrt B\,\|z - k w_a\| + k A ,$$
#
# So the right side is a lower bound of the minimum, and it equals the minimum for the best $k$.

# %% tags=["SSS13-T2"]
rng = np.random.default_rng(2)
worst = 0.0
k = np.concatenate([[0.0], np.geomspace(1e-4, 1e3, 4000)])[:, None]
for _ in range(200):
    w_a, z_ = rng.standard_normal((2, int(rng.integers(2, 6))))
    B_ = w_a @ w_a * rng.uniform(1.0, 4.0)
    by_formula = dome_bounds(z_[None], w_a, B_)[0][0]
    by_duality = np.max(k[:, 0] * (w_a @ w_a) - np.sqrt(B_) * np.linalg.norm(z_ - k * w_a, axis=1))
    assert by_formula >= by_duality - 1e-9
    worst = max(worst, (by_formula - by_duality) / np.linalg.norm(z_))
print("200 random domes in 2 to 5 dimensions: above the dual bound by less than 1e-3 |z|")
assert worst < 1e-3

# %% [markdown]
# ## The library call
#
# `svm.dome` returns the region, and `svm.dome_test` screens with it. `svm.safe_screening` screens with a
# feasible $\hat w$ in place of $w_b$. The library decides what the slow version decides, except for samples
# within $10^{-3}$ of the threshold, where the accuracy of the two solutions matters.


# %% tags=["SSS13-T2", "SSS13-A1"]
def alike(screened, low, high, band):
    """Return whether masks agree with bounds; if a bound is within a band around 1, the sample may
    be undecided."""
    sure = np.minimum(np.abs(low - 1.0), np.abs(high - 1.0)) > band
    same_R = np.array_equal(screened.in_R[sure], low[sure] > 1.0)
    same_L = np.array_equal(screened.in_L[sure], high[sure] < 1.0)
    unproved = screened.in_R & (low <= 1.0) | screened.in_L & (high >= 1.0)
    return same_R and same_L and not np.any(unproved)


found = svm.dome_test(toy.terms, a, b)
longer = 1.1 * b.x  # feasible too: its loss is below the loss of w_a, and it is longer than w_b
assert np.array_equal(slow_R, low > 1.0) and np.array_equal(slow_L, high < 1.0)
assert alike(found, low, high, 1e-3)
assert alike(svm.safe_screening(toy.terms, a, b.x), low, high, 1e-4)
assert alike(svm.safe_screening(toy.terms, a, longer), *dome_bounds(Z, a.x, longer @ longer), 1e-4)
print(f"svm.dome_test decides {found.rate:.0%} of the samples")
print("svm.dome_test and svm.safe_screening decide as the formula does")
assert found.rate > 0.5

# %% [markdown]
# *The decisions are right.* The next cell trains forty machines on all samples, for values of $C$ between $C_a$ and $C_b$, and
# counts the samples that contradict the test.


# %% tags=["SSS13-T2"]
def contradictions(screened, at):
    """Count the decisions that a solution contradicts, by a margin or by a dual variable."""
    margins, alpha = at.problem.terms.margins(at.x), at.alpha
    in_R = screened.in_R & ((margins < 1.0 - 1e-6) | (alpha > 1e-6))
    in_L = screened.in_L & ((margins > 1.0 + 1e-6) | (alpha < 1.0 - 1e-6))
    return int(np.sum(in_R) + np.sum(in_L))


n_wrong = 0
for C in np.linspace(C_a, C_b, 40):
    at = solve(toy, C)
    n_wrong += contradictions(found, at) + contradictions(ss.Screened(slow_L, slow_R), at)
    margins = toy.terms.margins(at.x)
    assert np.all(low <= margins + 1e-6) and np.all(margins <= high + 1e-6)
print("contradictions at 40 values of C:", n_wrong)
assert n_wrong == 0

# %% [markdown]
# ## Break it: the roles exchanged
#
# The half-space belongs to the solution for the *smaller* $C$, and the ball to the solution for the larger $C$. With
# exchanged roles most solutions in between violate both conditions. (The theorem in SSS13 opens with $s_a < s_b$, and the
# interval $[s_b, s_a]$ would then be empty. The paper's Lemma 1 and all other statements have $s_a > s_b$, and the
# theorem means this order.)

# %% tags=["SSS13-L1"]
rng = np.random.default_rng(1)
lost = 0
for _ in range(40):
    Z_, prob, C_a_, C_b_ = random_machine(rng)
    w_a, *inside, w_b = [solve(prob, C).x for C in np.geomspace(C_a_, C_b_, 5)]
    for w in inside:
        below = w_b @ w < w_b @ w_b * (1 - 1e-4)
        lost += below and np.linalg.norm(w) > np.linalg.norm(w_a) * (1 + 1e-4)
print("solutions that break both conditions of the exchanged dome:", lost, "of 120")
assert lost > 60

# %% [markdown]
# ## Break it: solutions that are not exact
#
# A solver stops before it reaches the exact solution. Then its $w_a$ is not the shortest vector with its loss, and its
# $w_b$ may be shorter than the exact one. The next cells train sixty small
# machines to a relative gap of $10^{-2}$ and screen twice: once as if the rough solutions were exact, and once with the
# library, which includes the gaps.


# %%
def clouds(seed):
    rng = np.random.default_rng(seed)
    labels = np.where(np.arange(30) % 2, 1, -1)
    X = rng.standard_normal((30, 2)) + 0.8 * labels[:, None]
    return ss.Problem(ss.Samples(X, labels), ss.Hinge())


names = ["outside the half-space", "outside the ball"]
names += ["wrong decisions", "wrong decisions of the library"]
count, n_decided = dict.fromkeys(names, 0), 0
for seed in range(60):
    prob = clouds(seed)
    C = (3 + seed % 5 * 4) * svm.c_min(prob.terms)
    rough_a, rough_b = solve(prob, C, 1e-2), solve(prob, 1.01 * C, 1e-2)
    ball = ss.Sphere(np.zeros(2), np.linalg.norm(rough_b.x))
    as_if_exact = rules.halfspace(prob, ball, rough_a.x, rough_a.x @ rough_a.x)
    by_library = svm.dome_test(prob.terms, rough_a, rough_b)
    for at in (solve(prob, C_, 1e-12) for C_ in np.linspace(C, 1.01 * C, 4)):
        count[names[0]] += rough_a.x @ at.x < rough_a.x @ rough_a.x * (1 - 1e-6)
        count[names[1]] += np.linalg.norm(at.x) > ball.radius * (1 + 1e-6)
        count[names[2]] += contradictions(as_if_exact, at)
        count[names[3]] += contradictions(by_library, at)
        n_decided += by_library.n_L + by_library.n_R

# %% tags=["nbval-ignore-output"]
for name, value in count.items():
    print(f"{name:32} {int(value):4}")
print("decisions of the library           more than 1000")
assert count[names[3]] == 0 and n_decided > 1000

# %% [markdown]
# ### How far the half-space must move
#
# The exact solution $u$ for $C_a$ is unknown, but it lies within $\varepsilon$ of a known $c$, in the ball of
# the midpoint gap bound ([`28-midpoint-gap-bound`](28-midpoint-gap-bound.ipynb)). The half-space $\langle u, w - u\rangle \ge 0$
# is also $\|u - \frac12 w\| \le \frac12\|w\|$: the vector $u$ lies in the ball with the segment from 0 to
# $w$ as a diameter. So $c$ lies in this ball enlarged by $\varepsilon$,
# $\|c - \frac12 w\| \le \frac12\|w\| + \varepsilon$. Squared, this is
#
# > $$\langle c, w\rangle \;\ge\; \|c\|^2 - \varepsilon(\varepsilon + \|w\|) \;\ge\; \|c\|^2 - \varepsilon(\varepsilon + R) .$$
#
# Here $R$ bounds the length of the solutions: $R = \|c_b\| + \varepsilon_b$, from the ball of the other
# solution.
#
# No smaller shift is right for all $u$. The next cell moves $u$ around the circle of radius $\varepsilon$ around $c$. For
# each $u$ it computes the two vectors $w$ of length $R$ with $\langle u, w - u\rangle = 0$:

# %%
c = np.array([2.0, 0.0])
eps = 0.5
R = 5.0
turn = np.linspace(0.0, 2 * np.pi, 20_001)
u = c[:, None] + eps * np.array([np.cos(turn), np.sin(turn)])
across = np.array([-u[1], u[0]]) / np.linalg.norm(u, axis=0)
sides = [u + sign * np.sqrt(R**2 - (u * u).sum(axis=0)) * across for sign in (-1, 1)]
for w in sides:
    assert np.allclose((u * (w - u)).sum(axis=0), 0.0) and np.allclose(np.linalg.norm(w, axis=0), R)
least = min((c @ w).min() for w in sides)
print(f"smallest <c, w>: {least:.4f}   |c|^2 - eps (eps + R): {c @ c - eps * (eps + R):.4f}")
assert abs(least - (c @ c - eps * (eps + R))) < 1e-4

# %% [markdown]
# ### The library's region
#
# The next cells call `svm.dome` for pairs of solutions of three qualities. The normal of the region is $c$, its offset is
# the shifted offset, and its radius is $R$. (Rounding may only lower the offset and raise the radius.) All solutions
# in between lie inside the region. Without the shift, many solutions would lie outside.


# %% tags=["SSS13-L1"]
def pair_ball(Z, w, alpha, C):
    """Return center and radius of the midpoint gap bound of a pair (w, alpha) at C."""
    v = C * alpha @ Z
    fenchel = np.sum(np.maximum(1.0 - Z @ w, 0.0) - alpha * (1.0 - Z @ w))
    return (w + v) / 2, np.sqrt((w - v) @ (w - v) / 4 + C * fenchel)


def roughened(solution, change, rng):
    """Return a pair (w, alpha) near a solution, like the result of a solver that stops early."""
    moved = solution.alpha + change * rng.uniform(-0.1, 0.1, solution.alpha.size)
    alpha = np.clip(moved, 0.0, 1.0)
    return svm.Reference((1.0 + change) * solution.x, alpha, 1 / solution.lam)


def assert_region_is_the_formula(region, Z, rough_a, rough_b):
    """Assert that normal, offset and radius of a region agree with the formula."""
    c, eps = pair_ball(Z, rough_a.w, rough_a.alpha, rough_a.C)
    c_b, eps_b = pair_ball(Z, rough_b.w, rough_b.alpha, rough_b.C)
    R, scale = np.linalg.norm(c_b) + eps_b, c @ c + eps * (eps + np.linalg.norm(c_b) + eps_b)
    assert np.linalg.norm(region.normal - c) < 1e-9 * np.linalg.norm(c)
    assert -1e-6 * scale < region.offset - (c @ c - eps * (eps + R)) <= 1e-12 * scale
    assert -1e-12 < region.ball.radius / R - 1 < 1e-6 and not np.any(region.ball.center)


# %% tags=["SSS13-L1"]
rng = np.random.default_rng(1)
n_inside = 0
lost = np.zeros(2, dtype=int)
for _ in range(40):
    Z_, prob, C_a_, C_b_ = random_machine(rng)
    solutions = [solve(prob, C) for C in np.geomspace(C_a_, C_b_, 5)]
    for change in (0.0, 0.01, 0.1):
        rough_a = roughened(solutions[0], change, rng)
        rough_b = roughened(solutions[-1], -change, rng)
        region = svm.dome(prob.terms, rough_a, rough_b)
        assert_region_is_the_formula(region, Z_, rough_a, rough_b)
        c, c_b = region.normal, pair_ball(Z_, rough_b.w, rough_b.alpha, C_b_)[0]
        for at in solutions:
            assert region.normal @ at.x >= region.offset - at.eps * np.linalg.norm(region.normal)
            assert np.linalg.norm(at.x) <= region.ball.radius + at.eps
            lost[0] += c @ at.x < c @ c - at.eps * np.linalg.norm(c) - 1e-9
            lost[1] += np.linalg.norm(at.x) > np.linalg.norm(c_b) + at.eps + 1e-9
            n_inside += 1
print("solutions inside the library's region:", n_inside, "of 600")
print("without the shift: outside the half-space more than 50, outside the ball more than 20")
assert n_inside == 600 and lost[0] > 50 and lost[1] > 20

# %% [markdown]
# ## Exercise
#
# Suppose that $\hat w$ is unknown, and only $w_a$ and its $C_a$ are known. How long can $w(C)$ be for $C \le C_b$? Does the
# dome with this radius decide more than ball test 1? (Hint: by the exercise of [`36a-two-forms-of-the-svm`](36a-two-forms-of-the-svm.ipynb), $\|w(C)\|/C$
# does not grow.)
#
# <details>
# <summary><b>Solution</b></summary>
#
# $\|w(C)\| \le \frac{C}{C_a}\|w_a\| \le R = \frac{C_b}{C_a}\|w_a\|$. The dome with this radius never decides more
# than ball test 1 ([`32-ball-tests-1-and-2`](32-ball-tests-1-and-2.ipynb)). From $w_a$ and $C_a$ ball test 1 has the ball with
# the segment from $w_a$ to $\frac{C_b}{C_a} w_a$ as a diameter, and this ball lies inside the dome.
#
# </details>

# %%
R = C_b / C_a * np.linalg.norm(a.x)
dome_alone = svm.dome_test(toy.terms, a, float(R) * (1 + 1e-6))
by_ball = rules.sphere(toy, svm.ball_1(toy.terms, C_b, a))
print(f"from w_a alone, C from 0.1 to 0.2: dome {dome_alone.rate:.0%}, ball {by_ball.rate:.0%}")
assert np.linalg.norm(b.x) <= R
assert np.all(by_ball.in_R >= dome_alone.in_R) and np.all(by_ball.in_L >= dome_alone.in_L)

# %% [markdown]
# ## Fine print
#
# * **Use.** The library passes the region to `rules.halfspace`, the linear rule of the triplets
#   ([`18-linear-rule`](18-linear-rule.ipynb)). [`26-one-problem-three-cones`](26-one-problem-three-cones.ipynb) has a dome of metrics. [`36d-path-of-the-s-form`](36d-path-of-the-s-form.ipynb)
#   screens a whole path of $C$ with domes.
# * **$w_a = 0$.** If the two classes balance, $w_a$ can be 0. Then the half-space is the whole space, and the
#   dome is the ball.
# * **The width of the dome shrinks slowly.** It is $\sqrt{(B - A)/A}$, which is proportional to the *square root* of
#   the step. [`36c-dome-test-as-printed`](36c-dome-test-as-printed.ipynb) shows two balls from the same solutions that shrink
#   proportionally to the step.
# * **Rounding.** The library lowers the offset and raises the radius by bounds of all rounding errors in them.
#   The rule is safe by weak duality ([`24-floating-point`](24-floating-point.ipynb)).
# * **What was not at hand.** Formulas (15) to (18) of SSS13 and their proof are in a supplement that was not at hand.
#   The derivation is ours.
#
# Next: [`36c-dome-test-as-printed`](36c-dome-test-as-printed.ipynb).
#
# ## References
#
# * SSS13: Ogawa, Suzuki, Takeuchi, *Safe Screening of Non-Support Vectors in Pathwise SVM Computation*,
#   ICML 2013: Lemma 1, Theorem 2, Algorithm 1, Figure 1.
