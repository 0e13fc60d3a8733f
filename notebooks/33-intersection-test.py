# %% [markdown]
# # The intersection test (IT)
#
# Two different arguments give two balls that contain the solution of a support vector machine. Each ball can screen
# alone. The *intersection test* uses both balls at once: for each sample a formula gives the extreme margins over the
# points that lie in both balls.
#
# At the end you will have seen that
#
# * a ball is a **half-space on a paraboloid**, so the minimum over two balls is a minimum over two half-spaces. SSS14
#   starts with this step (Lemma 10);
# * the formula has three cases, and one question separates them: does the minimiser of one ball lie in the
#   other ball?
# * the root in the third case is real whenever this case occurs, because the balls have a point in common;
# * the test never decides fewer samples than the two balls, on thousands of pairs and along paths, and it never decides a
#   sample on the margin;
# * a program needs care in two special positions. If both balls are *the same* ball, the formula is $0/0$,
#   and either ball alone gives the answer. And **if the reference has no loss, the two balls touch in one point**:
#   then the test knows the solution exactly, and rounding can make a program decide wrongly.

# %%
from fractions import Fraction

import cvxpy as cp
import numpy as np
import sympy as sp

import safescreen as ss
from safescreen_book import datasets, figures

# %% [markdown]
# ## The idea in a picture
#
# The picture shows the plane of weights. The solution lies in both balls, so it lies in the lens. The dashed line is the
# set of weights that give one sample the margin 1. This line cuts both balls, so neither ball can tell on which side of
# the line the solution lies. But the line misses the lens. All margins over the lens are above 1, so the sample is in R,
# and the intersection test decides it.
#
# The least margin over the lens is at the star, or at the lowest point of one ball if this point lies in the
# other ball. These are the three cases of the formula.

# %%
balls = {
    "ball 1": ss.Sphere(np.array([0.0, 0.0]), 1.0),
    "ball 2": ss.Sphere(np.array([1.3, 0.0]), 0.9),
}
(m1, r1), (m2, r2) = ((ball.center, ball.radius) for ball in balls.values())
apart = np.linalg.norm(m2 - m1)
inwards = (apart**2 + r1**2 - r2**2) / (2 * apart)
sideways = np.array([m2[1] - m1[1], m1[0] - m2[0]]) / apart
corner = m1 + inwards / apart * (m2 - m1) + np.sqrt(r1**2 - inwards**2) * sideways
# the line of the sample passes below the corner
sample, below = np.array([0.05, 1.0]), corner - [0.0, 0.09]
level = sample @ below
least = [sample @ ball.center - ball.radius * np.linalg.norm(sample) for ball in balls.values()]
assert max(least) < level < sample @ corner  # neither ball decides, the lens does


# %%
figure, ax = figures.panels(1, width=5.6, height=4.2)
figures.balls(ss.cones.FreeSpace(2), balls, {}, ax=ax, title="a sample that only both balls decide")
ax.set_facecolor("white")
ax.axline(below, slope=-sample[0] / sample[1], color=figures.COLOURS["R"], linestyle="--")
ax.plot(*corner, "*", color="black", markersize=11)
ax.text(2.0, -0.98, "margin 1", color=figures.COLOURS["R"])
ax.set(xlim=(-1.1, 2.6), ylim=(-1.2, 1.2), xticks=[], yticks=[], xlabel="", ylabel="")
figures.show(
    "Discs overlap. The margin of a sample is 1 on the dashed line. The line cuts both discs and "
    "passes below the lens, which is the overlap of the discs. A star marks the lowest corner of "
    "the lens."
)

# %% [markdown]
# ## The claim
#
# The samples are $z_i = y_i x_i$, the loss is the hinge, and $C = 1/\lambda$. R contains the samples with a margin above 1
# at the solution, and L the samples with a margin below 1.
#
# > **Intersection test** (SSS14 Theorem 8). Let the solution lie in the balls $(m_1, r_1)$ and $(m_2, r_2)$, and
# >
# > $$\begin{gathered} \phi = m_1 - m_2,\quad \zeta = \frac{\|\phi\|^2 + r_2^2 - r_1^2}{2\|\phi\|},\quad
# \psi = m_2 + \zeta\frac{\phi}{\|\phi\|}, \\ \kappa = \sqrt{r_2^2 - \zeta^2},\quad
# f_i = \frac{-\langle z_i, \phi\rangle}{\|z_i\|\,\|\phi\|} . \end{gathered}$$
# >
# > The least margin of sample $i$ over the points of both balls is
# >
# > $$\ell_i = \begin{cases} \langle z_i, m_1\rangle - r_1\|z_i\| & f_i < (\zeta - \|\phi\|)/r_1 \\
# \langle z_i, m_2\rangle - r_2\|z_i\| & f_i > \zeta/r_2 \\
# \langle z_i, \psi\rangle - \kappa\|z_i\|\sqrt{1 - f_i^2} & \text{otherwise.}\end{cases}$$
# >
# > The largest margin of sample $i$ is minus the least margin of $-z_i$.

# %% [markdown]
# | here | SSS14 | the book |
# |---|---|---|
# | $m_1, r_1$ | ball 1, from the solution for $C_{ref}$ | MGB of $(w_0, \alpha_0)$, `ss.svm.ball_1` |
# | $m_2, r_2$ | ball 2, from $\hat s$ | MGB of $(w_0, \hat s)$, `ss.svm.ball_2` |
# | $\psi, \kappa$ | | center and radius of the disc that the intersection of the two surfaces bounds |
# | $f_i$ | | cosine of the angle between $z_i$ and $m_2 - m_1$ |
#
# | assumption | where the paper has it |
# |---|---|
# | both balls contain the solution | printed; it implies $r_2^2 \ge \zeta^2$ in the third case (step 4) |
# | the centers differ, $\phi \ne 0$; $r_1, r_2 > 0$, $z_i \ne 0$ | not printed; the divisions need it |

# %% [markdown]
# <details>
# <summary><b>Symbols</b></summary>
#
# | symbol | what it is |
# |---|---|
# | $P(w;\lambda)$ | $\sum_i \ell(\langle z_i, w\rangle) + \tfrac\lambda2\lVert w\rVert^2$ with $z_i = y_i x_i$, to be minimised; $\lambda = 1/C$, and the papers' objective is $C\,P$ |
# | loss $\ell(u)$ | the hinge, $\max(0, 1-u)$ |
# | cone $K$ | the whole space, so nothing is projected |
# | $H(\alpha)$ | $\sum_i \alpha_i z_i$ with one $\alpha_i \in [0,1]$ per sample; the papers' dual variables are $a = C\alpha$ |
# | $w(\alpha)$ | $H(\alpha)/\lambda = C\sum_i\alpha_i z_i$; the dual is $D(\alpha;\lambda) = \mathbf 1^\top\alpha - \tfrac1{2\lambda}\lVert H(\alpha)\rVert^2$ |
#
# </details>

# %% [markdown]
# ## Derivation
#
# This derivation follows the paper and uses Lagrange multipliers. [`19-two-balls`](19-two-balls.ipynb) proves the same bound by a family of balls
# that contain the intersection. The proof by families needs no cases, and the library computes its bound with safe rounding.

# %% [markdown]
# ### Step 1: a ball is a half-space on the paraboloid
#
# Write $\xi$ for $\|w\|^2$. Then $\|w - m\|^2 \le r^2$ is the inequality $\xi \le 2\langle m, w\rangle + r^2 - \|m\|^2$, which is
# linear in $(w, \xi)$. Now relax $\xi = \|w\|^2$ to $\|w\|^2 \le \xi$:
#
# $$\min\ \langle z, w\rangle \quad\text{where}\quad \|w\|^2 \le \xi,\quad
# \xi \le 2\langle m_k, w\rangle + r_k^2 - \|m_k\|^2,\ k = 1, 2 . \tag{1}$$
#
# The relaxation changes no feasible $w$. If $(w, \xi)$ is feasible, then $\|w\|^2 \le \xi \le \dots$, so $w$ lies in both
# balls. If $w$ lies in both balls, then $(w, \|w\|^2)$ is feasible. **Both problems have the same feasible $w$. So a function of $w$ alone
# has the same minimum in both.** (SSS14 Lemma 10. The lemma is short, but because of it the derivation below has only one
# curved constraint, with one multiplier.) For one-dimensional $w$ a ball is an interval:

# %%
figures.expanded_line((0.7, 0.9), (-0.5, 0.9), title="two intervals, one parabola")
figures.show(
    "The parabola is the square of w, and each ball is the region below a straight line. A line "
    "meets the parabola at the ends of its interval. The shaded overlap of the intervals is the "
    "interval of the intersection test."
)

# %% [markdown]
# cvxpy solves both forms, without this argument, on random pairs of balls that meet, in 2 to 6 dimensions.

# %%
rng = np.random.default_rng(33)


def meeting_pair(d, rng):
    """Return two balls whose surfaces meet."""
    m1, m2 = rng.standard_normal((2, d))
    apart, r1 = np.linalg.norm(m1 - m2), rng.uniform(0.3, 2.0)
    lowest = max(abs(apart - r1), 0.05)
    return m1, r1, m2, rng.uniform(lowest, apart + r1)


def two_forms(z, m1, r1, m2, r2):
    """Return the minima over the balls and over paraboloid and planes, and the second minimiser."""
    w, xi = cp.Variable(z.size), cp.Variable()
    balls = [cp.sum_squares(w - m1) <= r1**2, cp.sum_squares(w - m2) <= r2**2]
    planes = [cp.sum_squares(w) <= xi]
    for m, r in ((m1, r1), (m2, r2)):
        planes.append(xi <= 2 * m @ w + r**2 - m @ m)
    over_balls = cp.Problem(cp.Minimize(z @ w), balls).solve(solver="CLARABEL")
    over_planes = cp.Problem(cp.Minimize(z @ w), planes).solve(solver="CLARABEL")
    return over_balls, over_planes, w.value


# %% tags=["SSS14-L10"]
differences, outside = [], 0
for number in range(40):
    z, pair = rng.standard_normal(2 + number % 5), meeting_pair(2 + number % 5, rng)
    first, second, w = two_forms(z, *pair)
    differences.append(abs(first - second) / (np.linalg.norm(z) * (pair[1] + pair[3])))
    outside += any(np.linalg.norm(w - m) > r + 1e-5 for m, r in (pair[:2], pair[2:]))
differing = sum(v >= 1e-6 for v in differences)
print(f"minima that differ by 1e-6 or more of |z| (r1 + r2): {differing} of 40 (allowed: 0)")
print(f"minimisers of the second form outside a ball: {outside} (allowed: 0)")
assert max(differences) < 1e-6 and outside == 0

# %% [markdown]
# Without the paraboloid the planes alone bound nothing:

# %% tags=["SSS14-L10"]
free = cp.Variable(2), cp.Variable()
unbounded = cp.Problem(cp.Minimize(free[0][0]), [free[1] <= 2 * free[0][0], free[1] <= free[0][1]])
unbounded.solve(solver="CLARABEL")
print("planes without the paraboloid:", unbounded.status)
assert unbounded.status == "unbounded"

# %% [markdown]
# ### Step 2: is one ball enough?
#
# Over ball 1 alone the minimiser is $m_1 - r_1 z/\|z\|$. If it lies inside ball 2, it is the minimiser over both balls. The
# squared distance of this minimiser from $m_2$ is $\|\phi\|^2 + 2 r_1\|\phi\| f + r_1^2$, with $f$ as above. Case 1 says
# that this squared distance is less than $r_2^2$. Case 2 says the same with the balls exchanged.

# %%
p, r1, r2, f = sp.symbols("phi r1 r2 f", positive=True)  # p for the norm of phi
zeta = (p**2 + r2**2 - r1**2) / (2 * p)
inside_2 = p**2 + 2 * r1 * p * f + r1**2 - r2**2  # < 0
inside_1 = p**2 - 2 * r2 * p * f + r2**2 - r1**2  # < 0
assert sp.simplify(inside_2 / (2 * p * r1) - (f - (zeta - p) / r1)) == 0
assert sp.simplify(inside_1 / (2 * p * r2) - (zeta / r2 - f)) == 0
print("minimiser of ball 1 in ball 2:  f <", (zeta - p) / r1)
print("minimiser of ball 2 in ball 1:  f >", zeta / r2)

# %% [markdown]
# ### Step 3: both are needed
#
# In the remaining case the minimum lies on both surfaces. The surfaces intersect in the sphere of center $\psi$ and
# radius $\kappa$ in a hyperplane orthogonal to $\phi$. The difference of the two equations gives the hyperplane, at distance $\zeta$ from
# $m_2$ towards $m_1$, and Pythagoras gives $\kappa$. On this sphere the component of $z$ along $\phi$ contributes a
# constant. The orthogonal component of $z$ has length $\|z\|\sqrt{1 - f^2}$, and the third case follows. Multipliers prove
# that this value is the minimum over the two balls, and not only over the sphere. In (1) let $\mu$ belong to the
# paraboloid and $\nu_1, \nu_2$ to the planes. Stationarity gives $\mu = \nu_1 + \nu_2$ and
# $2\mu w = 2\nu_1 m_1 + 2\nu_2 m_2 - z$. It is enough to look at the plane spanned by $z$ and $\phi$: choose $m_2 = 0$,
# $m_1 = (\|\phi\|, 0)$, $z = (-f, \sqrt{1 - f^2})$.

# %%
# f = sin(theta) with theta between -90 and 90 degrees
theta, kappa, zeta_ = sp.symbols("theta kappa zeta", real=True)
z = sp.Matrix([-sp.sin(theta), sp.cos(theta)])
mu = sp.cos(theta) / (2 * kappa)
nu1 = mu * zeta_ / p - sp.sin(theta) / (2 * p)
nu2 = mu - nu1
w = (2 * nu1 * sp.Matrix([p, 0]) - z) / (2 * mu)
assert sp.simplify(w - sp.Matrix([zeta_, -kappa])) == sp.zeros(2, 1)
assert sp.simplify((z.T * w)[0] - (z[0] * zeta_ - kappa * sp.cos(theta))) == 0
print("the stationary point is psi - kappa * (unit vector of z across phi), on both surfaces")
positive = sp.cos(theta) / (2 * p * kappa)
assert sp.simplify(nu1 - positive * (zeta_ - kappa * sp.tan(theta))) == 0
assert sp.simplify(nu2 - positive * (p - zeta_ + kappa * sp.tan(theta))) == 0
print("nu1 = (zeta - kappa tan(theta)) and nu2 = (phi - zeta + kappa tan(theta)), times", positive)

# %% [markdown]
# The condition $\nu_1 \ge 0$ is $\tan\theta \le \zeta/\kappa$. Here $\zeta$ and $\kappa$ are the legs of a right triangle
# with hypotenuse $r_2$, because $\kappa^2 = r_2^2 - \zeta^2$. So the condition is $f = \sin\theta \le \zeta/r_2$: case 2
# does not apply. The condition $\nu_2 \ge 0$ is $\tan\theta \ge (\zeta - \|\phi\|)/\kappa$. Also
# $\kappa^2 = r_1^2 - (\zeta - \|\phi\|)^2$, so the condition is
# $f \ge (\zeta - \|\phi\|)/r_1$: case 1 does not apply. The problem is convex, so non-negative multipliers prove the
# minimum. The three cases are complete and exclude one another.

# %% [markdown]
# ### Step 4: the root is real in the third case
#
# $\kappa^2 = r_2^2 - \zeta^2 = r_1^2 - (\zeta - \|\phi\|)^2$ is negative if the surfaces do not meet, for example if one ball
# is inside the other. Then $|\zeta| > r_2$ and $|\zeta - \|\phi\|| > r_1$. The balls have a common point, so $\|\phi\| \le r_1 + r_2$.
# If $\zeta > r_2$, then $\zeta - \|\phi\| > -r_1$, hence $\zeta - \|\phi\| > r_1$, and case 1 applies to every $z$. If
# $\zeta < -r_2$, case 2 applies to every $z$.
# **The third case never takes the root of a negative number.** The next cell checks pairs of balls with a common point, in fractions:

# %%
rng4, count = np.random.default_rng(4), {"surfaces meet": 0, "touch": 0, "one inside the other": 0}
for _ in range(3000):
    p_, one, two = (Fraction(int(v), 8) for v in rng4.integers(1, 33, 3))
    if p_ > one + two:  # no common point
        continue
    zeta_value = (p_**2 + two**2 - one**2) / (2 * p_)
    # the third case is low <= f <= high, -1 <= f <= 1
    low, high = (zeta_value - p_) / one, zeta_value / two
    square = two**2 - zeta_value**2
    reached = max(low, Fraction(-1)) <= min(high, Fraction(1))
    assert reached == (square >= 0)
    if square < 0:
        count["one inside the other"] += 1
    elif square == 0:
        count["touch"] += 1
    else:
        count["surfaces meet"] += 1
print(f"{sum(count.values())} pairs with a common point; third case with a negative square: 0")
print(count)
assert min(count.values()) > 20

# %% [markdown]
# ## Ten lines of numpy


# %%
def decided(screened):
    """Return the mask of the samples in L or in R."""
    return screened.in_L | screened.in_R


def lower_printed(z, m1, r1, m2, r2):
    """Return the bound of SSS14 equation (20), and the number of its case."""
    phi, n = m1 - m2, np.linalg.norm(z)
    p = np.linalg.norm(phi)
    zeta = (p**2 + r2**2 - r1**2) / (2 * p)
    f = -(z @ phi) / (n * p)
    if f < (zeta - p) / r1:
        return z @ m1 - r1 * n, 1
    if zeta / r2 < f:
        return z @ m2 - r2 * n, 2
    psi, kappa = m2 + zeta * phi / p, np.sqrt(r2**2 - zeta**2)
    return z @ psi - kappa * np.sqrt(n**2 - (z @ phi) ** 2 / p**2), 3


def printed_balls(Z, C, w0, C0, s, w):
    """Return the centers and radii of Theorems 6 and 7."""
    loss, loss0 = (np.maximum(1 - Z @ v, 0).sum() for v in (w, w0))
    m1, m2 = (w + C / C0 * w0) / 2, (w + C * (s @ Z)) / 2
    r1 = np.sqrt(m1 @ m1 - C / C0 * (w0 @ w0) + C * (loss - loss0))
    r2 = np.sqrt(m2 @ m2 + C * (loss - s.sum()))
    return m1, r1, m2, r2


# %% [markdown]
# ## Does it match?
#
# cvxpy computes the minimum, for comparison with the printed formula. The library's rule only says whether a margin is
# above a threshold. So the cell below sets the threshold slightly below and slightly above the printed minimum, and does
# the same for the maximum.

# %%
def right_beside_the_ends(z, pair, low, high, size):
    """Count the right answers of the library for four thresholds, a millionth from the ends."""
    one = ss.Samples(np.vstack([z, z]), [1, -1])
    balls = ss.Sphere(pair[0], pair[1]), ss.Sphere(pair[2], pair[3])
    sharp = 0
    for shift in (-1e-6, 1e-6):
        near_low = ss.Problem(one.with_threshold(low + shift * size), ss.Hinge())
        near_high = ss.Problem(one.with_threshold(high + shift * size), ss.Hinge())
        sharp += int(ss.rules.intersection(near_low, *balls).in_R[0] == (shift < 0))
        sharp += int(ss.rules.intersection(near_high, *balls).in_L[0] == (shift > 0))
    return sharp


# %% tags=["SSS14-T8"]
rng = np.random.default_rng(8)
cases = {1: 0, 2: 0, 3: 0}
worst = 0.0
sharp = 0
for number in range(90):
    d = 2 + number % 4
    z, pair = rng.standard_normal(d), meeting_pair(d, rng)
    pair = pair if number % 2 else (*pair[2:], *pair[:2])
    (low, case), high = lower_printed(z, *pair), -lower_printed(-z, *pair)[0]
    cases[case] += 1
    size = np.linalg.norm(z) * (pair[1] + pair[3])
    if number < 40:
        worst = max(worst, abs(two_forms(z, *pair)[0] - low) / size)
    sharp += right_beside_the_ends(z, pair, low, high, size)
print(f"pairs in each case: {cases}; difference from cvxpy below 1e-6 of |z| (r1 + r2)")
print(f"library: {sharp} of 360 answers right, 1e-6 of |z| (r1 + r2) from the printed ends")
assert worst < 1e-6 and sharp == 360 and min(cases.values()) >= 10

# %% [markdown]
# The bound of the formula is never below the better of the two single bounds, on 20 000 random pairs:

# %% tags=["SSS14-T8"]
smallest = np.inf
for number in range(20_000):
    d = 2 + number % 4
    z, pair = rng.standard_normal(d), meeting_pair(d, rng)
    n = np.linalg.norm(z)
    gain = lower_printed(z, *pair)[0] - max(z @ pair[0] - pair[1] * n, z @ pair[2] - pair[3] * n)
    smallest = min(smallest, gain / (n * (pair[1] + pair[3])))
print("formula below the better ball by more than 1e-9 of |z| (r1 + r2): 0 of 20000 pairs")
assert smallest >= -1e-9


# %% [markdown]
# The next cells run the test on 240 random machines, with points $\tilde w$ and choices $s$ of all kinds. The test decides
# what the printed formula decides, and all that either ball decides. It decides no sample with $0 < \alpha^\star_i < 1$ at
# the solution, and no sample on the wrong side.

# %%
def random_machine(number, rng):
    """Return samples, their rows y x, the problem, a C, and solutions for a smaller C and for C."""
    n, d = int(rng.integers(10, 60)), int(rng.integers(1, 5))
    y_ = np.where(np.arange(n) % 2, 1, -1)
    X_ = rng.standard_normal((n, d)) + rng.uniform(0.0, 1.2) * y_[:, None]
    terms, Z = ss.Samples(X_, y_), X_ * y_[:, None]
    loss = ss.SmoothedHinge((0.0, 0.0, 0.1)[number % 3])
    prob = ss.Problem(terms, loss)
    C_ = ss.svm.c_min(terms, loss) * 10.0 ** rng.uniform(0.2, 3.0)
    old_ = ss.solve(prob, 1 / (rng.uniform(0.5, 0.98) * C_), rtol=1e-12, tol=1e-11)
    star_ = ss.solve(prob, 1 / C_, rtol=1e-12, tol=1e-11)
    return terms, Z, prob, C_, old_, star_


def drawn_point(number, old_, star_, rng):
    """Return w~: the solution or a multiple of w0; None stands for w0, in half of the machines."""
    if number % 4 < 2:
        return None
    factor = rng.uniform(0.9, 1.2)
    return factor * old_.x if number % 2 else star_.x


def drawn_choice(number, best, rng):
    """Return the best s, changed at random in every fifth machine."""
    if number % 5:
        return best
    return np.where(rng.uniform(size=len(best)) < 0.1, 1.0 - best, best)


# %%
def unlike_the_formula(it, Z, C_, old_, s_, w_):
    """Count the decisions that differ from the printed formula's, if its bounds are not near 1."""
    pair = printed_balls(Z, C_, old_.x, 1 / old_.lam, s_, w_)
    with np.errstate(invalid="ignore"):  # balls that touch, see below
        ends = np.array([(lower_printed(z, *pair)[0], -lower_printed(-z, *pair)[0]) for z in Z])
    clear = np.abs(ends - 1.0).min(axis=1) > 1e-5
    return np.sum(clear & ((it.in_R != (ends[:, 0] > 1.0)) | (it.in_L != (ends[:, 1] < 1.0))))


def contradicted(it, terms, star_, gamma):
    """Count the decisions that a margin or a dual variable of the solution contradicts."""
    alpha, margin = star_.alpha, terms.margins(star_.x)
    room = 1e-6 * terms.norms * np.linalg.norm(star_.x)
    wrong = np.sum(it.in_R & ((alpha > 1e-3) | (margin + room <= 1.0)))
    return wrong + np.sum(it.in_L & ((alpha < 1.0 - 1e-3) | (margin - room >= 1.0 - gamma)))


# %% tags=["SSS14-T8"]
names = "decisions", "more than both balls", "not as printed", "on the step", "wrong"
count = dict.fromkeys(names, 0)
for number in range(240):
    terms, Z, prob, C_, old_, star_ = random_machine(number, rng)
    feasible = drawn_point(number, old_, star_, rng)
    w_ = old_.x if feasible is None else feasible
    s_ = drawn_choice(number, ss.svm.choose_s(terms, C_, old_, feasible), rng)
    it = ss.svm.intersection_test(terms, C_, old_, None if number % 5 else s_, feasible)
    one = ss.svm.ball_test_1(terms, C_, old_, feasible)
    both = one | ss.svm.ball_test_2(terms, C_, w_, s_, prob.loss)
    assert np.all(it.in_L >= both.in_L) and np.all(it.in_R >= both.in_R)
    if prob.loss.gamma == 0.0:
        count["not as printed"] += unlike_the_formula(it, Z, C_, old_, s_, w_)
    count["on the step"] += np.sum((star_.alpha > 1e-3) & (star_.alpha < 1.0 - 1e-3))
    count["wrong"] += contradicted(it, terms, star_, prob.loss.gamma)
    count["decisions"] += decided(it).sum()
    count["more than both balls"] += (decided(it) & ~decided(both)).sum()
about, more = round(count["decisions"], -2), round(count["more than both balls"], -1)
others = ", ".join(f"{name} {count[name]}" for name in names[2:])
print(f"240 machines: about {about} decisions, about {more} more than both balls, {others}")
assert count["wrong"] == count["not as printed"] == 0 and count["on the step"] > 100
assert count["more than both balls"] > 50 and count["decisions"] > 1000

# %% [markdown]
# ## Picture
#
# The picture shows a machine in the plane, with a reference for $C/2$. The left panel shows the balls and the lens.
# In the right panel a unit vector $z$ turns through all directions. The third case raises the bound above the better of
# the two single bounds where $z$ points across the line of centers.

# %%
toy_rng = np.random.default_rng(6)
y = np.where(np.arange(60) % 2, 1, -1)
X = toy_rng.standard_normal((60, 2)) + 0.9 * y[:, None]
toy = ss.Problem(ss.Samples(X, y), ss.Hinge())
C, C0 = 0.2, 0.1
old, star = (ss.solve(toy, 1 / c, tol=1e-6, rtol=1e-12) for c in (C0, C))
first = ss.svm.ball_1(toy.terms, C, old)
second = ss.svm.ball_2(toy.terms, C, old.x, ss.svm.choose_s(toy.terms, C, old))
pair = first.center, first.radius, second.center, second.radius
turn = np.linspace(0.0, 2 * np.pi, 361)
round_ = np.array([np.cos(turn), np.sin(turn)]).T
curves = {
    "BT1": round_ @ pair[0] - pair[1],
    "BT2": round_ @ pair[2] - pair[3],
    "IT": [lower_printed(z, *pair)[0] for z in round_],
}
assert np.all(curves["IT"] >= np.maximum(curves["BT1"], curves["BT2"]) - 1e-12)

# %%
figure, axes = figures.panels(2, height=3.9)
figures.balls(
    toy.cone,
    {"BT1": first, "BT2": second},
    {"optimum": star.x, "$w_0$": old.x},
    ax=axes[0],
    title="two balls",
)
gain = np.asarray(curves["IT"]) - np.maximum(curves["BT1"], curves["BT2"])
figures.lines(
    curves,
    np.degrees(turn),
    ax=axes[1],
    title="least margin of a unit vector",
    xlabel="its angle, degrees",
    ylabel="lower bound",
)
figures.show(
    "In the left panel the discs of BT1 and BT2 overlap, and the optimum lies in the overlap. In "
    "the right panel, curves show the lower bound of a margin against the direction of a unit "
    "vector. The bound of the intersection is nowhere below the others. It exceeds the larger of "
    f"the others most at {np.degrees(turn)[gain.argmax()]:.0f} degrees, by {gain.max():.2f}."
)

# %% [markdown]
# ## Along breast-cancer
#
# The references are solutions for $0.3\,C$ to $0.98\,C$. In floating point the third case has rounding errors of its own,
# so the library first applies the two single balls.

# %% tags=["SSS14-T8"]
X, y = datasets.load("breast-cancer", return_X_y=True)
cancer = ss.Problem(ss.Samples(X, y), ss.Hinge())
C = 10.0
shares, found = np.linspace(0.3, 0.98, 35), {"BT1": [], "BT2": [], "IT": []}
solution = ss.solve(cancer, 1 / C, tol=1e-6, rtol=1e-10)
margin, room = cancer.terms.margins(solution.x), solution.eps * cancer.terms.norms
for share in shares:
    old = ss.solve(cancer, 1 / (share * C), tol=1e-6, rtol=1e-10)
    s = ss.svm.choose_s(cancer.terms, C, old)
    results = (
        ss.svm.ball_test_1(cancer.terms, C, old),
        ss.svm.ball_test_2(cancer.terms, C, old.x, s),
        ss.svm.intersection_test(cancer.terms, C, old),
    )
    assert np.all(decided(results[2]) >= decided(results[0] | results[1]))
    assert np.all((margin + room)[results[2].in_R] > 1)
    assert np.all((margin - room)[results[2].in_L] < 1)
    assert np.all(solution.alpha[results[2].in_R] < 1e-3)
    assert np.all(solution.alpha[results[2].in_L] > 1 - 1e-3)
    for name, result in zip(found, results, strict=True):
        found[name].append(result.rate)

# %%
labels = {"xlabel": "$C_{ref}/C$", "ylabel": "share of samples screened"}
figures.lines(found, shares, title="breast-cancer, C = 10", **labels)
more = max(np.subtract(found["IT"], found["BT1"]))
figures.show(
    "Curves show the share of breast-cancer samples screened against C_ref over C: "
    f"{figures.ends(found)}. The intersection screens at most {more:.2f} more than BT1."
)
for share in (0.5, 0.9):
    rates = {name: np.interp(share, shares, values) for name, values in found.items()}
    row = {name: round(float(rate), 2) for name, rate in rates.items()}
    print(f"C_ref/C = {share}:", row)

# %% [markdown]
# Ball 2 alone decides nothing here, but it improves BT1: a large ball that cuts off a piece of the small ball helps.
#
# ## A special position: the same ball twice
#
# Suppose that at the reference every sample is in L or in R, none on the step, and that no sample changes sides on the way
# to $m_1$. Then $\hat s = \alpha_0$, and both tests have the same ball: $\phi = 0$. The formula divides by $\|\phi\|$, so it
# does not include this case. The completed formula uses the bounds of either ball alone. The example has two samples on a
# line, $z = (1, \frac34)$ with $C_{\min} = \frac47$, for $C_{ref} = \frac32$ and $C = \frac{27}{16}$. Binary fractions
# represent all numbers of the example exactly:

# %% tags=["SSS14-T8", "same-ball"]
Z = np.array([[1.0], [0.75]])
C0 = 1.5
C = 1.6875
pair_of = ss.Samples(Z * [[1.0], [-1.0]], [1, -1])
alpha0 = np.array([0.0, 1.0])
w0 = C0 * alpha0 @ Z
# alpha0 is optimal, and C0 is above C_min
assert (Z @ w0)[0] > 1 > (Z @ w0)[1] and C0 > ss.svm.c_min(pair_of)
s = (1 - (C + C0) / (2 * C0) * (Z @ w0) > 0).astype(float)
m1, r1, m2, r2 = printed_balls(Z, C, w0, C0, s, w0)
with np.errstate(all="ignore"):
    printed = [float(lower_printed(z, m1, r1, m2, r2)[0]) for z in Z]
reference = ss.svm.Reference(w0, alpha0, C0)
one, both = (test(pair_of, C, reference) for test in (ss.svm.ball_test_1, ss.svm.intersection_test))
print("margins at the reference:", Z @ w0, "  s:", s)
print("|phi|:", np.linalg.norm(m1 - m2), "  r1 - r2:", r1 - r2)
print("formula with |phi| = 0:", printed)
for name, found in {"ball test 1": one, "intersection test of the library": both}.items():
    print(f"{name}: {found.n_R} sample in R (the first), {found.n_L} in L (the second)")
    assert found.in_R.tolist() == [True, False] and found.in_L.tolist() == [False, True]
assert np.array_equal(m1, m2) and r1 == r2 and np.all(np.isnan(printed))

# %% [markdown]
# A program that evaluates the printed formula gets NaN. Every comparison with NaN is false, so the program screens
# nothing, which is safe but useless. (Below $C_{\min}$ the formula always gives NaN, but section IV-A of the paper needs
# no test below $C_{\min}$.) If the centers agree, the library returns what either ball alone decides.
#
# ## A special position: the balls touch
#
# Suppose that the reference has **no loss**: all margins are at least 1, as at the end of every path over separable
# data. Choose $\tilde w = w_0$ and $C = \rho C_0 > C_0$. The center $m_1 = \frac{1+\rho}2 w_0$ has margins above 1, so
# $\hat s = 0$. The segment from $w_0$ to $\rho w_0$ is a diameter of ball 1, and the segment from $0$ to $w_0$ is a
# diameter of ball 2. The balls touch at $w_0$, and have no other common point. **So the test proves that $w^\star = w_0$ for all $C > C_0$.**

# %%
rho, a = sp.symbols("rho a", positive=True)  # a is the norm of w0
m1_ = (1 + rho) / 2 * a
r1_ = (rho - 1) / 2 * a
m2_ = a / 2
r2_ = a / 2
phi_ = m1_ - m2_
zeta_ = sp.simplify((phi_**2 + r2_**2 - r1_**2) / (2 * phi_))
kappa_square, apart = sp.simplify(r2_**2 - zeta_**2), sp.simplify(phi_ - r1_ - r2_)
print("distance of centers - r1 - r2 =", apart)
print("psi =", sp.simplify(m2_ + zeta_), "  kappa^2 =", kappa_square)
assert kappa_square == 0 and apart == 0


# %% [markdown]
# The formula is correct and exact in this case too. But $\kappa^2$ is 0, so its computed value is a rounding error of
# either sign. If the computed value is negative, the bound is NaN. If a program replaces it by $\max(\kappa^2, 0)$, the
# bound is the computed $\langle z_i, w_0\rangle$, which for a *support vector* is 1 up to the last digit. If the last
# digit makes it $1 + 2^{-52}$, the rule decides R, and the program drops a sample that determines the solution.
#
# The next cells draw two thousand machines in ten dimensions with one support vector $z_1$. Everything about these
# machines is known: $w_0 = z_1/\|z_1\|^2$, and the other margins are larger.

# %%
def touching_machine(rng):
    """Return a support vector and five samples with margins of 1.5 and more, with w0, C0 and C."""
    z1 = rng.standard_normal(10)
    w0 = z1 / (z1 @ z1)
    others = rng.standard_normal((5, 10))
    others += ((1.5 + rng.exponential(1.0, 5)) - others @ w0)[:, None] * z1
    C0 = 4.0 / (z1 @ z1)
    return np.vstack([z1, others]), w0, C0, C0 * rng.uniform(1.05, 1.5)


def by_formula(Z, m1, r1, m2, r2):
    """Return the lower bounds as printed, and with 0 in place of a negative square."""
    phi = m1 - m2
    p_ = np.linalg.norm(phi)
    zeta_value = (p_**2 + r2**2 - r1**2) / (2 * p_)
    square = r2**2 - zeta_value**2
    with np.errstate(invalid="ignore"):
        bound = np.array([lower_printed(v, m1, r1, m2, r2)[0] for v in Z])
        across = np.sqrt(np.maximum((Z**2).sum(axis=1) - (Z @ phi / p_) ** 2, 0.0))
    mended = Z @ (m2 + zeta_value * phi / p_) - np.sqrt(max(square, 0.0)) * across
    return bound, mended


# %% tags=["SSS14-T8", "touching"]
machines = [touching_machine(rng) for _ in range(2000)]
count = {"NaN": 0, "support vector in R": 0, "NaN, mended": 0, "support vector in R, mended": 0}
for Z, w0, C0, C in machines:
    m1, r1 = (C + C0) / (2 * C0) * w0, (C - C0) / (2 * C0) * np.linalg.norm(w0)
    m2, r2 = 0.5 * w0, 0.5 * np.linalg.norm(w0)
    bound, mended = by_formula(Z, m1, r1, m2, r2)
    count["NaN"] += bool(np.isnan(bound).any())
    count["support vector in R"] += bool(bound[0] > 1)
    count["NaN, mended"] += bool(np.isnan(mended).any())
    count["support vector in R, mended"] += bool(mended[0] > 1)


def coarsely(n):
    if n == 0:
        return "0"
    return "more than 20" if n > 20 else "up to 20"


for name, n in count.items():
    print(f"formula in floating point, {name}:".ljust(55), f"{coarsely(n)} of 2000")
assert count["NaN"] > 20
assert count["support vector in R, mended"] > 20

# %% [markdown]
# The library's test on every tenth of these machines:

# %% tags=["SSS14-T8", "touching"]
wrong, five_decided = 0, 0
labels = np.where(np.arange(6) % 2, 1.0, -1.0)
for Z, w0, C0, C in machines[::10]:
    alpha = np.array([1 / (Z[0] @ Z[0]) / C0, 0, 0, 0, 0, 0])
    samples = ss.Samples(labels[:, None] * Z, labels)
    library = ss.svm.intersection_test(samples, C, ss.svm.Reference(w0, alpha, C0))
    wrong += bool(decided(library)[0])
    five_decided += library.n_R == 5
print(f"library: the support vector is decided in {wrong} of 200 machines (allowed: 0)")
print(f"library: the five other samples are decided in {five_decided} of 200 machines")
assert wrong == 0
assert five_decided == 200

# %% [markdown]
# The library leaves the support vector undecided and decides all other samples. It evaluates the bound of *one* ball of the
# family and adds every rounding error. So its $\kappa$ is about $10^{-8}\|w_0\|$ instead of 0.
#
# Without the support vector the machine has another solution:

# %%
Z = np.array([[1.0, 0.0], [3.0, 2.0], [2.0, -0.5]])
labels = np.array([1, -1, 1])
whole = ss.Problem(ss.Samples(Z * labels[:, None], labels), ss.Hinge())
rest = ss.Problem(ss.Samples(Z[1:] * labels[1:, None], labels[1:]), ss.Hinge())
with_all, without = (ss.solve(prob, 0.1, tol=1e-6, rtol=1e-10).x for prob in (whole, rest))
print("w with all samples:          ", np.round(with_all, 3))
print("w without the support vector:", np.round(without, 3))
assert np.linalg.norm(with_all - without) > 0.1

# %% [markdown]
# ## Exercise
#
# A path runs over separable data. From which $C$ does IT decide every sample that is not a support vector, and what does BT1
# decide then? Try it with the toy data below before you read the solution.
#
# <details>
# <summary><b>Solution</b></summary>
#
# Let $C_0$ be the smallest $C$ at which no sample has loss (the largest $\beta_i$ of the machine of largest margin,
# $w = \sum_i \beta_i z_i$). With this reference IT is exact for **every** $C > C_0$, because the lens is a point. Ball 1
# grows with $C$: its radius is $\frac{C - C_0}{2C_0}\|w_0\|$, so BT1 decides fewer samples for larger $C$. (A reference
# that moves along makes BT1 decide again, but no further solve is needed.)
#
# </details>

# %%
gap_rng = np.random.default_rng(2)
y = np.where(np.arange(40) % 2, 1, -1)
X = gap_rng.standard_normal((40, 2)) + 3.0 * y[:, None] * np.array([1.0, 0.5])
separable = ss.Samples(X, y)
at = ss.solve(ss.Problem(separable, ss.Hinge()), 1 / 10.0, tol=1e-12, rtol=1e-13)
z_margins = separable.margins(at.x)
support = np.abs(z_margins - 1) < 1e-6
assert z_margins.min() > 1 - 1e-9
for factor in (1.1, 2.0, 10.0, 100.0):
    one = ss.svm.ball_test_1(separable, 10.0 * factor, at)
    both = ss.svm.intersection_test(separable, 10.0 * factor, at)
    assert not decided(both)[support].any()
    undecided = [40 - np.count_nonzero(decided(found)) for found in (one, both)]
    print(f"C = {factor:5} C_ref, undecided: BT1 {undecided[0]:2}   IT {undecided[1]:2}")
print(f"support vectors: {support.sum()}")

# %% [markdown]
# ## Fine print
#
# * **Cost.** The test needs two margins and a few square roots for each sample, as do the two ball tests together. Notebook
#   [`35-kernels`](35-kernels.ipynb) counts operations.
# * **The printed theorem** is right wherever its divisions are defined: $\phi \neq 0$, $r_1, r_2 > 0$, $z_i \neq 0$. A ball
#   of radius 0 is its center, and a zero sample has margin 0. The ledger calls the theorem *verified*.
# * **A program** that computes $\kappa$ before it chooses a case takes the root of a negative number for nested balls. This
#   is harmless, because the other two cases do not use $\kappa$.
# * **Balls without a common point** cannot both contain the solution. If rounding separates the balls, the library decides
#   no sample on which the balls disagree.
# * [`19-two-balls`](19-two-balls.ipynb) treats triplets, metrics and the proof by families of balls.
#   [`34-choice-of-s-and-smallest-c`](34-choice-of-s-and-smallest-c.ipynb) shows how to choose $\hat s$.
#
# ## References
#
# * SSS14: Ogawa, Suzuki, Suzumura, Takeuchi, *Safe Sample Screening for Support Vector Machines*, arXiv:1401.6740,
#   2014: section III-D, Theorem 8, equations (20) and (24), proof in appendix A with Lemma 10.
