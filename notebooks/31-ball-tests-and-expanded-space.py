# %% [markdown]
# # Ball tests and the expanded space
#
# If it is certain on which side of the kink the margin of a sample lies at the solution, a program can train the
# support vector machine without this sample. If a ball contains the unknown solution, a formula bounds every margin. This bound is a
# *ball test*. This notebook shows how SSS14 derives such balls: it states conditions on the solution and its total loss,
# in a space with one more dimension.
#
# At the end you will have seen that
#
# * a margin over a ball differs from the margin at the center by at most radius times length;
# * one quadratic and one linear condition on $(w, \xi)$ define a ball for $w$, and a formula says when this ball is empty;
# * the three conditions of SSS14 are strong convexity, a tangent, and one inequality of the hinge;
# * the conditions hold exactly: this notebook checks them in rational numbers, without any tolerance;
# * the tangent condition needs a reference that is exactly optimal, and no program has such a reference. With the dual
#   point of the reference the condition holds for any reference.

# %%
from fractions import Fraction
from itertools import product

import numpy as np
import sympy as sp

import safescreen as ss
from safescreen import svm
from safescreen_book import figures

# %% [markdown]
# ## The idea in a picture
#
# The data are forty points of the plane. A machine is a vector $w$ of two weights, so it is a point of another plane,
# shown in the left panel. A star marks the unknown solution, which lies in the ball. Each sample $z_i$ is the line
# $\langle z_i, w\rangle = 1$ in this panel: machines on one side of the line give the sample a margin above 1, and machines
# on the other side give it a margin below 1. If a line misses the ball, the ball decides its sample. Such a line is orange if
# all margins over the ball are above 1, and blue if they are below 1. The right panel shows the same samples as points.

# %%
rng = np.random.default_rng(7)
y = np.where(np.arange(40) % 2, 1, -1)
X = rng.standard_normal((40, 2)) + 1.1 * y[:, None] * [1.0, 0.6]
samples = ss.Samples(X, y)
C = 0.2
C0 = 0.16
problem = ss.Problem(samples, ss.Hinge())
reference = svm.reference(ss.solve(problem, 1.0 / C0, tol=0.0, rtol=1e-12))
ball = svm.ball_1(samples, C, reference)
found = ss.rules.sphere(problem, ball)
optimum = ss.solve(problem, 1.0 / C, tol=0.0, rtol=1e-12).x
picture = X, y, problem, found

# %%
figure, axes = figures.panels(2, width=10.5, height=3.8)
figures.weight_space(
    X * y[:, None],
    {"ball": ball},
    {"optimum": optimum},
    found,
    ax=axes[0],
    title="weights: one line per sample",
)
figures.samples(X, y, optimum, found, ax=axes[1], title="the same samples, decided by the ball")
undecided = len(y) - found.n_L - found.n_R
figures.show(
    "The left panel is the plane of weights. Each sample is a line, and a disc lies around the "
    "solution. Lines that miss the disc are coloured by the side on which they pass. In the right "
    f"panel the samples are dots: the ball decides {found.n_L} as L and {found.n_R} as R, and "
    f"leaves {undecided} undecided."
)

# %% [markdown]
# The notation is as in [`30-svm-problem`](30-svm-problem.ipynb). With $z_i = y_i x_i$ and the total loss
# $\xi(w) = \sum_i \max\{0, 1 - \langle z_i, w\rangle\}$, the problem is
#
# $$w^\star = \arg\min_w\; \tfrac12\|w\|^2 + C\,\xi(w), \qquad \xi^\star = \xi(w^\star).$$
#
# | assumption | used by |
# |---|---|
# | the hinge is convex | all three conditions |
# | $\tilde\xi \ge \xi(\tilde w)$ | condition 1 |
# | the reference $w_0$ is **exactly** optimal for its $C_0$ | condition 2 |
# | $s \in \{0, 1\}^n$, or $[0, 1]^n$ | condition 3 |
#
# ## Solutions without rounding
#
# Inequalities that can be equalities are hard to check with rounded numbers. But if the data and $C$ are rational, the
# solution is rational too. Once the samples in L and the samples with margin 1 (on the step) are known, a linear system
# gives the dual variables of the samples on the step. The code below reads these two sets from a solution in floating
# point. It solves the system in fractions, and then verifies the optimality conditions exactly. These conditions are
# sufficient, so the function returns *the* solution.

# %%
def total_loss(Z, w):
    return sum(max(Fraction(0), 1 - u) for u in Z @ w)


def exact_optimum(Z, C):
    """Return the solution and a dual point in [0, 1]^n, in fractions; assert their optimality."""
    signs = np.where(np.arange(len(Z)) % 2, 1.0, -1.0)  # any labels will do: z = y x
    problem = ss.Problem(ss.Samples(Z.astype(float) * signs[:, None], signs), ss.Hinge())
    margins = Z.astype(float) @ ss.solve(problem, float(1 / C), tol=0.0, rtol=1e-10).x
    on_step = np.abs(margins - 1.0) < 1e-5
    alpha = np.array([Fraction(int(v)) for v in (margins < 1.0) & ~on_step])
    if on_step.any():
        E = Z[on_step]
        found = sp.Matrix(E @ E.T).LUsolve(sp.Matrix(1 / C - E @ (Z.T @ alpha)))
        alpha[on_step] = [Fraction(int(v.p), int(v.q)) for v in found]
    w = C * (Z.T @ alpha)
    assert all(0 <= a <= 1 for a in alpha)
    assert all(u == 1 or a == (1 if u < 1 else 0) for u, a in zip(Z @ w, alpha, strict=True))
    return w, alpha


# %%
def fractions(values, denominator=16):
    exact = [Fraction(int(v), denominator) for v in np.ravel(values)]
    return np.array(exact).reshape(np.shape(values))


def instance(rng):
    """Return samples whose numbers are multiples of 1/16, and four values of C, from below C_min to
    far beyond it."""
    n, d = int(rng.integers(6, 15)), int(rng.integers(2, 4))
    Z = fractions(rng.integers(-32, 33, (n, d))) + Fraction(1, 2)
    smallest = 1 / max(Z @ Z.sum(axis=0))
    return Z, [smallest * factor for factor in (Fraction(1, 2), 2, 10, 100)]


# %%
rng = np.random.default_rng(31)
instances = []
for _ in range(30):
    Z, Cs = instance(rng)
    instances.append((Z, [(C, *exact_optimum(Z, C)) for C in Cs]))
print("exact solutions:", sum(len(solutions) for _, solutions in instances))
Z, solutions = instances[3]
print("one of them: w =", ", ".join(str(v) for v in solutions[2][1]), " for C =", solutions[2][0])

# %% [markdown]
# ## The range of a margin over a ball
#
# > **Ball test** (SSS14 Lemma 1). Over the ball $\|w - m\| \le r$ the margin $\langle z, w\rangle$ takes exactly
# > the values from $\langle z, m\rangle - r\|z\|$ to $\langle z, m\rangle + r\|z\|$. If the ball contains the solution and
# > the lower end is above 1, the sample is in R. If the ball contains the solution and the upper end is below 1, the
# > sample is in L.
#
# The proof is one line: by Cauchy and Schwarz $|\langle z, w - m\rangle| \le \|z\| \|w - m\|$, with equality for
# $w = m \pm r z / \|z\|$. SSS14 uses a multiplier $\mu$ of the constraint instead. The sympy code repeats its proof, with
# $n$ for $\|z\|$ and $q$ for $\langle z, m\rangle$.
#
# <details>
# <summary><b>Symbols</b></summary>
#
# | symbol | what it is |
# |---|---|
# | $P(w;\lambda)$ | $\sum_i \ell(\langle z_i, w\rangle) + \tfrac\lambda2\lVert w\rVert^2$ with $z_i = y_i x_i$, to be minimised; $\lambda = 1/C$, and the papers' objective is $C\,P$ |
# | loss $\ell(u)$ | the hinge, $\max(0, 1-u)$ |
# | cone $K$ | the whole space, so nothing is projected |
# | $H(\alpha)$ | $\sum_i \alpha_i z_i$ with one $\alpha_i \in [0,1]$ for each sample; the papers' dual variables are $a = C\alpha$ |
# | $w(\alpha)$ | $H(\alpha)/\lambda = C\sum_i\alpha_i z_i$; the dual is $D(\alpha;\lambda) = \mathbf 1^\top\alpha - \tfrac1{2\lambda}\lVert H(\alpha)\rVert^2$ |
#
# </details>

# %%
mu, r, n, q = sp.symbols("mu r n q", positive=True)
# the smallest value over w of <z, w> + mu (|w - m|^2 - r^2)
value = q - mu * r**2 - n**2 / (4 * mu)
best = [root for root in sp.solve(sp.diff(value, mu), mu) if root.is_positive]
print("multiplier:", best[0], "  lower end:", sp.simplify(value.subs(mu, best[0])))
assert sp.simplify(value.subs(mu, best[0]) - (q - n * r)) == 0
# in a ball of radius 0 no multiplier is best, and the bound is still q
assert sp.limit(q - n**2 / (4 * mu), mu, sp.oo) == q

# %% [markdown]
# The next two cells compare ten lines of numpy with the library. The library subtracts a rounding allowance from every
# bound. It accepts one threshold for all samples, or one threshold for each sample.

# %%
def margin_range(Z, m, r):
    middle, reach = Z @ m, r * np.linalg.norm(Z, axis=1)
    return middle - reach, middle + reach


def within_and_reached(Z, m, r, rng):
    """Assert that no margin at 100 points of the ball is outside its bounds, and that margins reach
    both bounds."""
    low, high = margin_range(Z, m, r)
    away = rng.standard_normal((100, len(m)))
    away *= (r * rng.uniform(size=100) ** (1 / len(m)) / np.linalg.norm(away, axis=1))[:, None]
    values = (m + away) @ Z.T
    assert np.all(values >= low - 1e-12) and np.all(values <= high + 1e-12)
    direction = Z / np.maximum(np.linalg.norm(Z, axis=1), 1e-300)[:, None]
    assert np.allclose(np.sum(Z * (m - r * direction), axis=1), low, atol=1e-12)
    assert np.allclose(np.sum(Z * (m + r * direction), axis=1), high, atol=1e-12)


# %% tags=["SSS14-L1"]
rng = np.random.default_rng(1)
checked = decided = differ = 0
for number in range(200):
    n, d = int(rng.integers(2, 40)), int(rng.integers(1, 6))
    X, y = rng.standard_normal((n, d)), np.where(np.arange(n) % 2, 1, -1)
    X[0] = 0.0  # a zero sample: both bounds are 0
    Z = X * y[:, None]
    m = rng.standard_normal(d)
    r = rng.choice([0.0, 0.1, 1.0])
    low, high = margin_range(Z, m, r)
    within_and_reached(Z, m, r, rng)
    tau = 1.0 if number % 2 else rng.uniform(0.5, 1.5, n)
    problem = ss.Problem(ss.Samples(X, y).with_threshold(tau), ss.Hinge())
    found = ss.rules.sphere(problem, ss.Sphere(m, r))
    clear = np.minimum(np.abs(low - tau), np.abs(high - tau)) > 1e-9
    differ += np.sum(clear & ((found.in_R != (low > tau)) | (found.in_L != (high < tau))))
    checked, decided = checked + n, decided + found.n_R + found.n_L
print(
    f"{checked} samples over 200 random balls: the margins at 100 points of each ball lie within "
    "the bounds, and both bounds are reached"
)
print(f"the library makes {decided} decisions; {differ} of them differ from the bounds (0 allowed)")
assert differ == 0 and decided > 1000

# %% [markdown]
# The picture at the top shows the same: a line misses the ball exactly if its distance from the center is larger than the
# radius. The check for the forty samples:

# %%
X, y, problem, found = picture

# %% tags=["SSS14-F2"]
# the signed distance of the center from each line
height = (problem.terms.margins(ball.center) - 1.0) / np.linalg.norm(X, axis=1)
assert np.array_equal(found.in_R, height > ball.radius)
assert np.array_equal(found.in_L, height < -ball.radius)
missed = int((abs(height) > ball.radius).sum())
print(f"lines of samples: {len(height)}; lines that miss the ball: {missed}")
assert found.in_R.any() and found.in_L.any() and not (found.in_R | found.in_L).all()

# %% [markdown]
# ### Break it
#
# The lemma needs a ball that contains the solution. A ball without the solution decides samples too, and some decisions
# are wrong. The cell below shrinks the radius step by step. The first line says how far from the center the solution lies:
# as long as the factor is above this distance, the ball contains the solution.

# %%
margins = samples.margins(optimum)
distance = np.linalg.norm(optimum - ball.center) / ball.radius
print(f"distance of the solution from the center, in radii: {distance:.3f} (bound 1)")
for factor in (1.0, 0.5, 0.05):
    low, high = margin_range(X * y[:, None], ball.center, factor * ball.radius)
    wrong_R = np.sum((low > 1.0) & (margins < 1.0 + 1e-9))
    wrong_L = np.sum((high < 1.0) & (margins > 1.0 - 1e-9))
    wrong = wrong_R + wrong_L
    decided = np.sum(low > 1.0) + np.sum(high < 1.0)
    print(f"radius times {factor:4}: decided {decided:2d}, wrongly decided {wrong}")
    assert (wrong == 0) == (factor > distance)

# %% [markdown]
# ## The expanded space
#
# The total loss is the largest of $2^n$ linear functions, because each sample contributes the larger of 0 and
# $1 - \langle z_i, w\rangle$:
#
# $$\xi(w) = \max_{s \in \{0,1\}^n} \sum_i s_i (1 - \langle z_i, w\rangle) .$$
#
# So the support vector machine minimises $\frac12\|w\|^2 + C\xi$ over all $(w, \xi)$ that satisfy
# $2^n$ linear inequalities (SSS14 equation 11). This is the form of the structural machines of Joachims. For six samples
# the code below writes down all 64 inequalities, and cvxpy solves the problem.

# %%
import cvxpy as cp

rng = np.random.default_rng(5)
Z6 = rng.standard_normal((6, 2)) + 0.5
every = np.array(list(product((0.0, 1.0), repeat=6)))
for w in rng.standard_normal((100, 2)):
    assert abs((every @ (1.0 - Z6 @ w)).max() - np.maximum(1.0 - Z6 @ w, 0.0).sum()) < 1e-12

w, xi = cp.Variable(2), cp.Variable()
expanded = cp.Problem(cp.Minimize(cp.sum_squares(w) / 2 + 0.7 * xi), [every @ (1.0 - Z6 @ w) <= xi])
expanded.solve(solver="CLARABEL")
labels = np.array([1, -1] * 3)
direct = ss.solve(
    ss.Problem(ss.Samples(Z6 * labels[:, None], labels), ss.Hinge()), 1.0 / 0.7, tol=1e-12
).x
assert np.linalg.norm(w.value - direct) < 1e-4
print("w from 64 linear constraints:", np.round(w.value, 3) + 0.0)
print("w from the hinge:            ", np.round(direct, 3) + 0.0)

# %% [markdown]
# ## One quadratic and one linear condition are a ball
#
# > **From conditions to a ball** (SSS14 Lemma 2). If $(w, \xi)$ satisfies, with $a_1 > 0$,
# >
# > $$a_1\|w\|^2 + \langle b_1, w\rangle + c_1 + \xi \le 0 \qquad\text{and}\qquad \langle b_2, w\rangle + c_2 \le \xi,$$
# >
# > then $\|w - m\| \le r$ with $m = -\frac{1}{2a_1}(b_1 + b_2)$ and $r^2 = \|m\|^2 - \frac{1}{a_1}(c_1 + c_2)$. Some
# > $(w, \xi)$ satisfies both conditions if and only if $\|b_1 + b_2\|^2 - 4 a_1 (c_1 + c_2) \ge 0$.
#
# The second condition bounds $\xi$ from below, and the first bounds it from above. A value of $\xi$ between the two bounds exists if and only if
#
# $$a_1\|w\|^2 + \langle b_1 + b_2, w\rangle + c_1 + c_2 \le 0, \tag{1}$$
#
# The left side equals $a_1(\|w - m\|^2 - r^2)$. Sympy checks this for three coordinates:

# %%
w3, b1, b2 = (sp.Matrix(sp.symbols(f"{name}1:4", real=True)) for name in ("w", "p", "q"))
a1, c1, c2 = sp.symbols("a1 c1 c2", positive=True)
m = -(b1 + b2) / (2 * a1)
r_squared = m.dot(m) - (c1 + c2) / a1
left = a1 * w3.dot(w3) + (b1 + b2).dot(w3) + c1 + c2
square = sp.expand(left - a1 * ((w3 - m).dot(w3 - m) - r_squared))
discriminant = sp.expand(4 * a1**2 * r_squared - ((b1 + b2).dot(b1 + b2) - 4 * a1 * (c1 + c2)))
print("(1) minus a1 (|w - m|^2 - r^2):", square)
print("4 a1^2 r^2 minus the printed discriminant:", discriminant)
assert square == discriminant == 0

# %% [markdown]
# The derivation proves more than the lemma states. Inequality (1) is an *equivalence*, so the ball is exactly the
# projection of the region on the space of weights. No information about $w$ is lost when $\xi$ is dropped. The paper's
# footnote on emptiness says $r^2 \ge 0$. The next cell tests both "if and only if" statements in fractions:

# %% tags=["SSS14-L2"]
rng = np.random.default_rng(2)
count = {"in": 0, "out": 0, "empty": 0}
for _ in range(2000):
    a1, c1, c2 = Fraction(int(rng.integers(1, 40)), 8), *fractions(rng.integers(-60, 60, 2))
    b1, b2 = fractions(rng.integers(-60, 60, (2, 2)))
    m = -(b1 + b2) / (2 * a1)
    r_squared = m @ m - (c1 + c2) / a1
    assert (r_squared >= 0) == ((b1 + b2) @ (b1 + b2) - 4 * a1 * (c1 + c2) >= 0)
    w = m + fractions(rng.integers(-60, 60, 2))
    possible = b2 @ w + c2 <= -(a1 * w @ w + b1 @ w + c1)  # some xi fits between
    assert possible == ((w - m) @ (w - m) <= r_squared)
    if r_squared < 0:
        count["empty"] += 1
        assert not (b2 @ m + c2 <= -(a1 * m @ m + b1 @ m + c1))  # not even at the center
    elif possible:
        count["in"] += 1
    else:
        count["out"] += 1
print("regions that contain the point:", count["in"])
print("regions without the point:     ", count["out"])
print("empty regions:                 ", count["empty"])

# %% [markdown]
# `svm.ball_2` returns the library's ball for a point and a dual point. The next cell puts conditions 1 and 3, which are
# derived below, into the lemma. The lemma's center and radius are the library's.

# %% tags=["SSS14-L2"]
for _ in range(50):
    weights = rng.standard_normal((9, 2)) + 0.4
    w = rng.standard_normal(2)
    s = rng.uniform(size=9)
    labels, C = np.where(np.arange(9) % 2, 1, -1), 10.0 ** rng.uniform(-1.0, 1.0)
    a1 = 1.0 / C
    b1 = -w / C
    b2 = -s @ weights
    c1, c2 = -np.maximum(1.0 - weights @ w, 0.0).sum(), s.sum()
    m = -(b1 + b2) / (2.0 * a1)
    radius = np.sqrt(m @ m - (c1 + c2) / a1)
    ball = svm.ball_2(ss.Samples(weights * labels[:, None], labels), C, w, s)
    assert np.linalg.norm(ball.center - m) < 1e-9 * (1.0 + radius)
    assert abs(ball.radius / radius - 1.0) < 1e-9
print("50 balls of the library: centers and radii are the lemma's, to a part in 1e9")

# %% [markdown]
# The sign of $a_1$ matters. If $a_1 < 0$, the division of (1) by $a_1$ reverses the inequality, and the region's
# projection is the space *outside* a ball. An empty region is informative too. Conditions that are true of the solution
# never contradict each other, so a negative $r^2$ proves that one of the conditions is false. A section below shows an
# example.
#
# ## Three conditions
#
# ### Condition 1: strong convexity
#
# > (SSS14 Lemma 3) For every $\tilde w$ and $\tilde\xi \ge \xi(\tilde w)$:
# > $\;\frac1C\|w^\star\|^2 - \frac1C\langle\tilde w, w^\star\rangle - \tilde\xi + \xi^\star \le 0 .$
#
# In the expanded space the objective $\frac12\|w\|^2 + C\xi$ is smooth and the feasible set is convex, so at the optimum
# the objective decreases in no feasible direction: $\langle w^\star, \tilde w - w^\star\rangle + C(\tilde\xi - \xi^\star) \ge 0$.
# Divided by $-C$, this inequality is the lemma.
#
# The lemma has a second reading. An objective with the term $\frac12\|w\|^2$ is larger than its minimum by at least
# $\frac12\|\tilde w - w^\star\|^2$. Sympy shows that this inequality is condition 1:

# %%
wt, ws = (sp.Matrix(sp.symbols(f"{name}1:4", real=True)) for name in ("t", "s"))
xt, xs, CC = sp.symbols("xi_t xi_s C", positive=True)
growth = (wt.dot(wt) / 2 + CC * xt) - (ws.dot(ws) / 2 + CC * xs) - (wt - ws).dot(wt - ws) / 2
condition = ws.dot(ws) / CC - wt.dot(ws) / CC - xt + xs
difference = sp.expand(growth + CC * condition)
print("growth beyond the square, plus C times the left side of condition 1:", difference)
assert sp.expand(growth + CC * condition) == 0


# %%
def tally(values):
    violated = sum(v > 0 for v in values)
    return f"{len(values)} checked, violated {violated}, equalities {values.count(0)}"


def condition_1(w_star, xi_star, C, w, xi):
    return w_star @ w_star / C - w @ w_star / C - xi + xi_star


def points(rng, Z, w_star):
    """Yield feasible pairs (w, xi): w is 0, near, far or the solution; xi is xi(w) or larger."""
    near_and_far = w_star / 2, 2 * w_star
    anywhere = fractions(rng.integers(-40, 41, (3, len(w_star))), 32)
    for w in (fractions(np.zeros(len(w_star))), *near_and_far, *anywhere, w_star):
        yield w, total_loss(Z, w) + Fraction(int(rng.integers(0, 2)), 4)


def machine(Z):
    labels = np.where(np.arange(len(Z)) % 2, 1, -1)
    return ss.Problem(ss.Samples(Z.astype(float) * labels[:, None], labels), ss.Hinge())


# %% tags=["SSS14-L3"]
rng = np.random.default_rng(3)
values = []
too_low = 0
off = 0.0
for Z, solutions in instances:
    prob = machine(Z)
    for C, w_star, _ in solutions:
        xi_star, lam = total_loss(Z, w_star), float(1 / C)
        for w, xi in points(rng, Z, w_star):
            values.append(condition_1(w_star, xi_star, C, w, xi))
            # the library's objective
            rise = prob.primal(w.astype(float), lam) - prob.primal(w_star.astype(float), lam)
            rise -= lam / 2 * float((w - w_star) @ (w - w_star))
            exact = float(condition_1(w_star, xi_star, C, w, total_loss(Z, w)))
            off = max(off, abs(rise + exact) / (1.0 + abs(rise)))
            half = total_loss(Z[::2], w)  # the loss of every second sample only
            too_low += condition_1(w_star, xi_star, C, w, half) > 0
assert all(value <= 0 for value in values) and off < 1e-9
print(f"condition 1 in fractions: {tally(values)}; the library's objective agrees, to 1e-9")
print("the same with the loss of every second sample only, violated:", too_low)
assert too_low > 0 and values.count(0) > 100

# %% [markdown]
# Condition 1 is an equality at $\tilde w = w^\star$. It is also an equality below $C_{\min}$, where all samples
# are on the linear piece between $\tilde w$ and $w^\star$. So the condition cannot be tightened. The second printed line is the
# counter-example: a $\tilde\xi$ that omits samples is not feasible, and the condition fails. So a program
# must sum the loss of $\tilde w$ over *all* samples, screened ones included.
#
# ### Condition 2: a tangent at a reference
#
# > (SSS14 Lemma 4) Let $w_0$ be the solution for some other $C_0$, $\xi_0 = \xi(w_0)$. Then
# > $\;-\frac{1}{C_0}\langle w_0, w^\star\rangle + \frac{1}{C_0}\|w_0\|^2 + \xi_0 \le \xi^\star .$
#
# The roles are exchanged: $w_0$ is optimal for $C_0$, and $(w^\star, \xi^\star)$ is a feasible point of *its* problem,
# because the feasible set does not depend on $C$. The objective for $C_0$ decreases in no feasible direction at $w_0$:
# $\langle w_0, w^\star - w_0\rangle + C_0 (\xi^\star - \xi_0) \ge 0$. $C_0$ may be smaller or larger than $C$.

# %%
w0 = sp.Matrix(sp.symbols("r1:4", real=True))
x0, C0_ = sp.symbols("xi_0 C_0", positive=True)
downhill = w0.dot(ws - w0) + C0_ * (xs - x0)
condition = -w0.dot(ws) / C0_ + w0.dot(w0) / C0_ + x0 - xs
difference = sp.expand(downhill + C0_ * condition)
print("slope at the reference towards the solution, plus C0 times condition 2:", difference)
assert difference == 0


# %% tags=["SSS14-L4"]
def condition_2(w_star, xi_star, C0, w0, xi0):
    return -w0 @ w_star / C0 + w0 @ w0 / C0 + xi0 - xi_star


def fenchel(prob, w, alpha):
    """Return the total loss minus its bound (2) by a dual point, as the library computes it."""
    return prob.evaluate(w.astype(float), 1.0, alpha.astype(float)).fenchel


values, off = [], 0.0
for Z, solutions in instances:
    prob = machine(Z)
    for (_, w_star, _), (C0, w0, alpha0) in product(solutions, repeat=2):
        value = condition_2(w_star, total_loss(Z, w_star), C0, w0, total_loss(Z, w0))
        values.append(value)
        loss_above = fenchel(prob, w_star, alpha0)
        off = max(off, abs(loss_above + float(value)) / (1.0 - float(value)))
        # the reference's dual point gives the same condition
        assert np.all(w0 / C0 == Z.T @ alpha0)
        assert w0 @ w0 / C0 + total_loss(Z, w0) == alpha0.sum()
assert all(value <= 0 for value in values) and off < 1e-9
print(f"condition 2 in fractions, pairs of C and C0: {tally(values)}; the library agrees, to 1e-9")

# %% [markdown]
# ### Condition 3: one of the inequalities
#
# > (SSS14 Lemma 5) For every $s \in \{0, 1\}^n$, with $z_s = \sum_i s_i z_i$:
# > $\;-\langle z_s, w^\star\rangle + s^\top 1 \le \xi^\star .$
#
# Condition 3 is one of the $2^n$ constraints, so it needs no proof. For a single sample it reads
# $s_i (1 - u) \le \max\{0, 1 - u\}$. This inequality is true for **every** $s_i \in [0, 1]$, and for no other number.

# %% tags=["SSS14-L5"]
u, s = np.linspace(-2.0, 4.0, 601), np.linspace(-0.5, 1.5, 201)
holds = np.array([np.all(v * (1.0 - u) <= np.maximum(1.0 - u, 0.0) + 1e-12) for v in s])
assert np.array_equal(holds, (s >= -1e-12) & (s <= 1.0 + 1e-12))
lowest, highest = s[holds].min() + 0.0, s[holds].max()
print(f"factors for which the inequality is true: from {lowest:.2f} to {highest:.2f}")


# %%
def condition_3(Z, w_star, xi_star, s):
    return -(Z.T @ s) @ w_star + s.sum() - xi_star


# %% tags=["SSS14-L5"]
rng = np.random.default_rng(4)
binary = []
fractional = []
beyond = 0
off = 0.0
for Z, solutions in instances:
    prob = machine(Z)
    for _, w_star, alpha in solutions:
        xi_star, n = total_loss(Z, w_star), len(Z)
        below = np.array([Fraction(int(u < 1)) for u in Z @ w_star])
        corners = [below, *fractions(rng.integers(0, 2, (5, n)), 1)]
        inside = [alpha, *fractions(rng.integers(0, 17, (5, n)))]
        binary += [condition_3(Z, w_star, xi_star, s) for s in corners]
        fractional += [condition_3(Z, w_star, xi_star, s) for s in inside]
        for s in corners + inside:
            value = float(condition_3(Z, w_star, xi_star, s))
            off = max(off, abs(fenchel(prob, w_star, s) + value) / (1.0 - value))
        beyond += condition_3(Z, w_star, xi_star, 2 * below) > 0
        beyond += condition_3(Z, w_star, xi_star, below - fractions(Z @ w_star > 1, 1)) > 0
assert all(value <= 0 for value in binary + fractional)
print(f"condition 3 in fractions, s binary: {tally(binary)}")
print(f"s between 0 and 1:                  {tally(fractional)}; the library agrees, to 1e-9")
assert off < 1e-9
print("s with entries 2 or -1, violated:  ", beyond)
assert beyond > 0 and binary.count(0) > 100 and fractional.count(0) > 100

# %% [markdown]
# ### Two of the three are one
#
# The check of condition 2 showed a relation to condition 3. At an exact reference
# $w_0/C_0 = \sum_i \alpha_{0,i} z_i$. Also $\|w_0\|^2/C_0 + \xi_0 = \sum_i\alpha_{0,i}$, because the primal and the dual
# objective are equal. With these two equations **condition 2 is condition 3 with $s = \alpha_0$**, the dual point of the
# reference. So the paper's two linear conditions are one condition, which is true for any point of $[0, 1]^n$. It is
# Fenchel's inequality for the hinge:
#
# $$\xi^\star \;\ge\; \sum_i \alpha_i - \Big\langle \sum_i \alpha_i z_i,\; w^\star \Big\rangle, \qquad \alpha \in [0, 1]^n . \tag{2}$$
#
# ## A reference that is not exact
#
# The lemma assumes an optimal reference, and solvers stop earlier. What happens if $w_0$ is optimal only up to a gap? Condition (2)
# stays true, because it allows any $\alpha$. The printed condition 2 uses $w_0$ and $\xi_0$ in place of the dual point, and
# for an inexact reference they give another condition. The printed condition then claims more than (2), by
#
# $$\Big(\tfrac{1}{C_0}\|w_0\|^2 + \xi_0 - \sum_i\alpha_i\Big)
# - \Big\langle \tfrac{1}{C_0} w_0 - \sum_i\alpha_i z_i,\; w^\star\Big\rangle ;$$
#
# If $w_0 = C_0\sum_i \alpha_i z_i$, as at the end of a dual solver, this excess is $\frac{1}{C_0}\|w_0\|^2 +
# \xi_0 - \sum_i\alpha_i$, the duality gap of the reference. The cells below use references of three accuracies, for
# $C_0 = 0.99\,C$. They read the binary numbers of these references as exact fractions. They count a printed condition as
# violated if it exceeds $\xi^\star$ by more than $10^{-9}$ of $\xi^\star$, and condition (2) if it exceeds $\xi^\star$ at all.

# %%
def claims_of_rough_references(rtol):
    """Return a row for each instance and C: what the printed condition 2 and what condition (2)
    claim beyond the true total loss, and this loss."""
    rows = []
    for Z, solutions in instances:
        for C, w_star, _ in solutions:
            C0 = C * Fraction(99, 100)
            settings = {"tol": 0.0, "rtol": rtol, "method": "coordinate", "screening": ()}
            rough = ss.solve(machine(Z), float(1 / C0), **settings)
            w0 = np.array([Fraction(v) for v in rough.x.tolist()])
            alpha0 = np.array([Fraction(v) for v in rough.alpha.tolist()])
            xi_star = total_loss(Z, w_star)
            printed = condition_2(w_star, xi_star, C0, w0, total_loss(Z, w0))
            rows.append((printed, condition_3(Z, w_star, xi_star, alpha0), xi_star))
    return rows


# %% tags=["nbval-ignore-output"]
print("relative gap   printed condition 2 violated   condition (2) violated       of")
worst = None
for rtol in (1e-1, 1e-2, 1e-4):
    rows = claims_of_rough_references(rtol)
    printed = sum(value > xi_star / 10**9 for value, _, xi_star in rows)
    mended = sum(right > 0 for _, right, _ in rows)
    print(f"{rtol:12.0e} {printed:30d} {mended:24d} {len(rows):8d}")
    assert mended == 0
    assert printed > 0 or rtol < 1e-3
    worst = max(rows + [worst or rows[0]], key=lambda row: row[0])

# %% [markdown]
# The row with the largest violation:

# %% tags=["nbval-ignore-output"]
value, right, xi_star = (float(v) for v in worst)
print(f"the printed condition 2 claims a total loss of at least {xi_star + value:.4f}")
print(f"the true total loss of the solution is                  {xi_star:.4f}")
print(f"with the dual point of the same reference: at least     {xi_star + right:.4f}")

# %% [markdown]
# The lemma itself is right, but programs have no exact reference. **The library never uses condition 2. It computes (2)
# with the dual point of the given reference.** At an exact reference (2) and condition 2 are the same.
#
# ## Picture
#
# The picture shows seven samples on a line, so that the space of $(w, \xi)$ is a plane. The feasible set lies above the
# total loss. Condition 1 puts the solution below the parabola, and condition 2 puts it above the straight line. The bar at
# the bottom is the projection of the region between parabola and line. This projection is the ball. On the right the
# reference is not optimal. Its printed line passes *above* the solution, so the region and the ball do not contain the
# solution. The line of its dual point stays below the solution.

# %%
z = np.array([1.9, 1.4, 0.9, 0.6, 0.35, -0.4, -0.9])
labels = np.array([1, -1, 1, -1, 1, -1, 1])
line = ss.Samples(z[:, None] * labels[:, None], labels)
C, C0 = 0.5, 0.3
on_line = ss.Problem(line, ss.Hinge())
star, exact = (ss.solve(on_line, 1.0 / c, tol=1e-12) for c in (C, C0))


def loss_at(w):
    return np.maximum(1.0 - z * w, 0.0).sum()


def tangent(w0):
    return -w0 / C0, w0**2 / C0 + loss_at(w0)


# %%
wrong_w = exact.x[0] + 0.25
alpha = np.clip(np.where(z * wrong_w < 1.0, 1.0, 0.0), 0.0, 1.0)
lines = {"printed condition 2": tangent(wrong_w), "its dual point": (-(alpha @ z), alpha.sum())}
best = star.x[0], loss_at(star.x[0])
feasible = 0.47, loss_at(0.47)

# %%
figure, axes = figures.panels(2, width=11.5, height=3.4)
for ax, title, drawn in (
    (axes[0], "exact reference", {"condition 2": tangent(exact.x[0])}),
    (axes[1], "reference off by 0.25", lines),
):
    figures.expanded_space(z, C, feasible, drawn, best, span=(-0.3, 1.6), ax=ax, title=title)
axes[0].get_legend().remove()
figures.show(
    "Both panels show the plane of a weight and its total loss. The shaded region lies above the "
    "total loss. A parabola and a line bound the optimum, which is a point of this region. In the "
    "left panel the reference is exact, and the optimum satisfies both conditions. In the right "
    "panel the reference is not optimal: the printed line passes on the wrong side of the optimum, "
    "and the line of the dual point does not."
)

# %% [markdown]
# The next cell prints what the lines claim of the total loss at the solution, and the true total loss:

# %% tags=["SSS14-F3"]
for name, (slope, height) in {"exact": tangent(exact.x[0]), **lines}.items():
    claimed = slope * best[0] + height
    print(f"{name:20} claims a total loss of at least {claimed:.3f}; the true one is {best[1]:.3f}")
assert lines["printed condition 2"][0] * best[0] + lines["printed condition 2"][1] > best[1] + 0.01
assert lines["its dual point"][0] * best[0] + lines["its dual point"][1] <= best[1]


# %% [markdown]
# The printed conditions also give a ball:

# %% tags=["SSS14-F3"]
def printed_ball(w):
    """Return the center and the squared radius of the ball from condition 1 at w and condition 2 as
    printed, with the reference that is not optimal."""
    m = 0.5 * (w + C / C0 * wrong_w)
    return m, m**2 - C / C0 * wrong_w**2 + C * (loss_at(w) - loss_at(wrong_w))


(m, square), (_, none) = printed_ball(feasible[0]), printed_ball(0.55)
low, high = m - np.sqrt(square), m + np.sqrt(square)
print(f"printed ball from {low:.3f} to {high:.3f}; the solution is {best[0]:.3f}")
print(f"from the better point w~ = 0.55 the squared radius is {none:.3f}: the ball is empty")
assert m - np.sqrt(square) > best[0] + 0.01 and none < 0.0

# %% [markdown]
# ## From here to the tests
#
# Condition 1 with condition 2 is ball test 1, and condition 1 with condition 3 is ball test 2:
# [`32-ball-tests-1-and-2`](32-ball-tests-1-and-2.ipynb). Both linear conditions are (2), so both balls are the midpoint gap bound
# ([`28-midpoint-gap-bound`](28-midpoint-gap-bound.ipynb)) of $\tilde w$ and a dual point, over the whole space.

# %%
C, alpha = 0.2, np.random.default_rng(8).uniform(size=40)
z_alpha, xi = samples.adjoint(alpha), np.maximum(1.0 - samples.margins(reference.w), 0.0).sum()
# condition 1 at the reference and condition (2), in the letters of Lemma 2
a1 = 1.0 / C
b1 = -reference.w / C
c1 = -xi
b2, c2 = -z_alpha, alpha.sum()
center = -(b1 + b2) / (2.0 * a1)
radius = np.sqrt(center @ center - (c1 + c2) / a1)
ball = ss.spheres.midpoint_gap_bound(problem, reference.w, 1.0 / C, alpha)
assert np.linalg.norm(ball.center - center) < 1e-12 and 0.0 <= ball.radius / radius - 1.0 < 1e-9
print(
    f"Lemma 2: center {np.round(center, 4)}, radius {radius:.4f}; midpoint gap bound: "
    f"{np.round(ball.center, 4)}, {ball.radius:.4f}"
)

# %% [markdown]
# ## Exercise
#
# Two linear conditions, with $\alpha$ and with $\beta$, can be mixed: $(1 - t)\alpha + t\beta$ is a dual point too. Where is the
# center of the mixed ball? Does the mixed ball contain the intersection of the two balls? Does the union of the two balls contain the mixed ball? Can
# its radius be smaller than both radii?
#
# <details>
# <summary><b>Solution</b></summary>
#
# Inequality (1) is linear in $b_2$ and $c_2$, so the mixed inequality is the mixture of the two inequalities. The mixed
# ball has the center $(1-t) m_\alpha + t m_\beta$. It contains every point that satisfies both inequalities, and no point
# that violates both. So intersection $\subseteq$ mixed ball $\subseteq$ union. Its squared radius is
# $(1-t) r_\alpha^2 + t r_\beta^2 - t(1-t)\|m_\alpha - m_\beta\|^2$, which is smaller than both squared radii if the centers
# are far apart. The intersection test uses all mixtures at once ([`19-two-balls`](19-two-balls.ipynb)).
#
# </details>

# %%
rng = np.random.default_rng(9)
mixed_is_smaller = 0
for _ in range(200):
    w = rng.standard_normal(2)
    a, b = rng.integers(0, 2, (2, 40)).astype(float)
    t = rng.uniform()
    one, two, mix = (
        ss.spheres.midpoint_gap_bound(problem, w, 5.0, v) for v in (a, b, (1 - t) * a + t * b)
    )
    expected = (
        (1 - t) * one.radius**2
        + t * two.radius**2
        - t * (1 - t) * np.sum((one.center - two.center) ** 2)
    )
    assert abs(mix.radius**2 - expected) < 1e-9
    mixed_is_smaller += mix.radius < min(one.radius, two.radius)
    for point in one.center + one.radius * rng.uniform(-1.5, 1.5, (50, 2)):
        both = one.contains(point) and two.contains(point)
        assert mix.contains(point) or not both
        assert one.contains(point) or two.contains(point) or not mix.contains(point)
print("mixed balls smaller than both:", mixed_is_smaller, "of 200")

# %% [markdown]
# ## Fine print
#
# * **Cost.** A ball test needs the margins at the center and the norms $\|z_i\|$, which are computed once. It costs $O(nd)$,
#   or $O(n)$ if the margins of $\tilde w$ and of $\sum_i\alpha_i z_i$ are known.
# * **Non-empty.** Lemma 2 assumes a region that is not empty. The region of true conditions is never empty, because it
#   contains $(w^\star, \xi^\star)$. For conditions with errors the squared radius can be negative.
# * **Smoothed hinge.** Condition (2) becomes Fenchel's inequality: $-\ell^*(-\alpha_i) = \alpha_i - \frac\gamma2\alpha_i^2$
#   replaces $\alpha_i$. Condition 1 does not change.
# * **Rounding.** The library's radius is an upper bound of the exact radius, and its test allows for rounding in every margin.
#
# ## References
#
# * SSS14: Ogawa, Suzuki, Suzumura, Takeuchi, *Safe Sample Screening for Support Vector Machines*, arXiv 2014: Lemmas 1 to 5,
#   proofs in appendix A, figure 3.
# * Joachims, *Training Linear SVMs in Linear Time*, KDD 2006: the form with $2^n$ constraints.
