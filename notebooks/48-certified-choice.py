# %% [markdown]
# # A certified choice: every lambda of an interval, every sample left out
#
# To choose $\lambda$ by validation one usually solves for some values and hopes that no value between them is better. For leave-one-out validation one usually solves once for each sample. Balls around solutions replace most of these solves by proofs. A few solutions bound the validation error for *every* $\lambda$ of an interval. One solution bounds the margin that each sample would have if it were left out of the training.
#
# At the end you will have seen
#
# * that two balls, one for each end of an interval of $\lambda$, contain the solutions for the whole interval;
# * bounds of the validation error as a function of $\lambda$, and a $\lambda$ whose error is at most $\varepsilon$ above the smallest error in the interval;
# * a formula, over every cone, that bounds the margin of a term at the solution without this term, and how many leave-one-out decisions the formula makes;
# * that radii 2 % too small give wrong bounds, and which cases rounding leaves undecided.

# %%
import numpy as np
import sympy as sp
from sklearn.model_selection import StratifiedKFold

import safescreen as ss
from safescreen_book import datasets, figures
from safescreen_book.protocols.certified_choice import choose_lam, leave_one_out_bounds


# %%
def machine(name):
    """Return samples with a constant feature, the last class against the others, and the signs."""
    X, y = datasets.load(name, return_X_y=True)
    signs = np.where(y == np.unique(y)[-1], 1.0, -1.0)
    return ss.Samples(np.hstack([X, np.ones((len(X), 1))]), signs), signs


def fold_of(every, loss, test):
    """Return the problem of the training samples with the test samples held out."""
    return ss.HeldOut(ss.Problem(every.select(~test), loss), every.select(test))


loss = ss.SmoothedHinge(0.1)
every, signs = machine("breast-cancer")
test = np.arange(len(every)) % 3 == 0
fold = fold_of(every, loss, test)

# %% [markdown]
# ## The story in a picture
#
# We take the breast-cancer data and a linear machine, and hold out a third of the samples. In the left panel seventeen solutions bound the validation error for every $\lambda$. The line is the error of many more solutions, and it lies inside the band. The right panel uses *one* solution for each $\lambda$. It shows the share of samples whose leave-one-out decision is certain without a refit.

# %%
lams = np.geomspace(0.1, 100.0, 161)
truth = [fold.terms.margins(ss.solve(fold.problem, lam, rtol=1e-9).x) for lam in lams]
errors = np.array([np.mean(margins < 0.0) for margins in truth])
for lam in np.geomspace(0.1, 100.0, 17):
    fold.keep(ss.solve(fold.problem, lam, rtol=1e-6))
band = np.array([fold.error(*ends) for ends in zip(lams[:-1], lams[1:], strict=True)])
whole = ss.Problem(every, loss)
shares = {"right": [], "error": []}
for lam in lams[::8]:
    solution = ss.solve(whole, lam, rtol=1e-8)
    bounds = leave_one_out_bounds(whole, solution.x, lam, solution.alpha)
    shares["right"].append(bounds.are_right.mean())
    shares["error"].append(bounds.are_errors.mean())

# %% tags=["nbval-ignore-output"]
figure, axes = figures.panels(2, width=11.0, height=3.2)
axes[0].stairs(band[:, 1], lams, baseline=band[:, 0], fill=True, alpha=0.4, label="bounds")
axes[0].plot(lams, errors, color="black", linewidth=1, label="solutions")
axes[0].set_ylabel("validation error")
axes[0].set_ylim(0.0, 0.3)
width = np.ptp(band, axis=1)
undecided = 1.0 - np.add(*shares.values())
axes[1].stackplot(lams[::8], *shares.values(), undecided, labels=[*shares, "undecided"])
axes[1].set_ylabel("share of samples")
for ax in axes:
    ax.set_xscale("log")
    ax.set_xlabel("lambda")
    ax.legend()
figures.show(
    "In the left panel a black line shows the validation error against lambda, and a band shows "
    f"the bounds of this error. They differ by {width.min():.3f} to {width.max():.2f}. In the "
    "right panel stacked areas show the shares of samples whose leave-one-out decision is "
    "certainly right, certainly wrong and undecided; the share certainly right is at least "
    f"{np.min(shares['right']):.2f}."
)

# %% [markdown]
# ## The claim
#
# > **Two balls for an interval.** Let $x \in K$ and $\alpha$ be any primal and dual point. Let $B(\lambda)$ be their midpoint gap ball for
# > $\lambda$. Then for $\lambda_1 < \lambda < \lambda_2$
# >
# > $$B(\lambda) \subseteq B(\lambda_1) \cup B(\lambda_2).$$
# > If both balls $B(\lambda_1)$ and $B(\lambda_2)$ prove the same sign of a held-out margin, the margin has this sign at the solution for every $\lambda$ in between. The counts of these signs bound the validation error over the interval.
# >
# > **Without term $t$.** Let $q$, $r$ be the center and the radius of the midpoint gap ball of $(x, \alpha)$, $D = \|x - x(\alpha)\|$,
# > $E = r^2 - D^2/4$ and $s = w_t\alpha_t\|a_t\|/\lambda$. The margin of term $t$ at the solution without term $t$ lies between
# >
# > $$\langle a_t, q\rangle - \|a_t\|\Big(\frac s2 + \sqrt{\frac{(D + s)^2}4 + E}\Big)\quad\text{and}\quad \langle a_t, q\rangle + r\|a_t\| .$$
# > At an exact solution these two bounds are $m_t - s\|a_t\|$ and $m_t$.
#
# | assumption | where it is used |
# |---|---|
# | the loss is convex and never increases | both |
# | the same $(x, \alpha)$ for both ends | first |
# | $\alpha_t = 0$ is a dual point of the smaller problem: no constraint ties the $\alpha$ together | second; this assumption fails with a free intercept |
#
# <details>
# <summary><b>Symbols</b></summary>
#
# | symbol | meaning |
# |---|---|
# | $a_t$, $w_t$, $m_t$ | a term, its weight, its margin $\langle a_t, x^\star\rangle$ |
# | $x(\alpha)$, $v$ | $[H(\alpha)]_K/\lambda$; $[H(\alpha)]_K/\lambda_0$ for a fixed $\lambda_0$ |
# | $\kappa = \lambda_0/\lambda$ | the parameter of a ball on the path |
# | $e$ | $(\varphi + \langle x, H_-\rangle)/\lambda_0$ with the Fenchel terms $\varphi$ |
# | $h$ | $w_t\alpha_t a_t$, the summand of term $t$ in $H$ |
#
# </details>
#
# ## Derivation
#
# ### An inequality that is linear in $\kappa$
#
# In [`27-gap-ball-ranges`](27-gap-ball-ranges.ipynb) the midpoint gap ball has the center $(x + \kappa v)/2$ and the squared radius $r^2 = \|x - \kappa v\|^2/4 + \kappa e$. A point $z$ is in the ball if $\|z - (x + \kappa v)/2\|^2 - r^2 \le 0$. In this difference the squares of $\kappa$ cancel:

# %%
k, e, z, x, v = sp.symbols("kappa e z x v", real=True)  # one coordinate; a sum over all is the norm
inside = sp.expand((z - (x + k * v) / 2) ** 2 - (x - k * v) ** 2 / 4 - k * e)
print("||z - q||^2 - r^2 =", sp.collect(inside, k))
assert sp.degree(inside, k) == 1
assert sp.expand(inside - ((z**2 - z * x) - k * (z * v - x * v + e))) == 0

# %% [markdown]
# For a fixed $z$ the difference is linear in $\kappa$. If it is at most 0 somewhere between $\kappa_1$ and $\kappa_2$, it is at most 0 at one of the two ends. This proves the first claim. In general one ball alone is not enough. If the reference is the exact solution for one end, the ball of this end is a point, and the ball of the other end contains all solutions of the interval.
#
# ### The dual point without term $t$
#
# Set $\alpha_t = 0$. The dual variables are still between 0 and 1, and $H$ becomes $H - h$. The inequality that gives the midpoint gap bound is
# $\lambda\|z\|^2 - \langle z, \lambda x + H - h\rangle \le \sum_{i\ne t} w_i(\text{loss}_i + \text{loss}^*_i)(x, \alpha) - \langle c, x\rangle$ for the solution $z$ without term $t$. We need only $\langle z, H\rangle \le \langle z, H_+\rangle$, which holds because $z \in K$; a projection of $H - h$ is not needed. With $y = x(\alpha) - h/\lambda$, sympy completes the square:

# %%
lam, Hp, Hm, h, phi = sp.symbols("lambda H_plus H_minus h varphi", real=True)
y = (Hp - h) / lam
# sum of (loss + conjugate) - <c, x>, by the Fenchel terms: varphi - <H - h, x>
right = phi - (Hp - Hm - h) * x
left = lam * z**2 - z * (lam * x + Hp - h)
ball = (z - (x + y) / 2) ** 2 - ((x - y) ** 2 / 4 + (phi + x * Hm) / lam)
assert sp.simplify(ball - (left - right) / lam) == 0
print("the center is (x + y)/2, the squared radius ||x - y||^2/4 + (varphi + <x, H_->)/lambda")

# %% [markdown]
# The last summand is at most the $E$ of the problem with all terms, because the Fenchel term of $t$ is missing, and Fenchel terms are not negative. The distance is $\|x - y\| \le D + s$. The center moves by $h/(2\lambda)$, which lowers the margin of term $t$ by $s\|a_t\|/2$. Together these facts give the lower bound. The lower bound falls as $\|a_t\|$ grows, so we may use an upper bound of the norm.
#
# ### The margin does not rise when its term is left out
#
# Let $x^\star$ and $x^-$ be the solutions with and without term $t$, and let $m^\star$ and $m^-$ be the margins of term $t$ at these solutions. Each solution minimises its own objective. By strong convexity, the other solution has a larger value of this objective, by at least $\frac\lambda2\|x^\star - x^-\|^2$. Add the two inequalities; all terms but $t$ cancel:
#
# $$\lambda\|x^\star - x^-\|^2 \le w_t\,\big(\text{loss}(m^-) - \text{loss}(m^\star)\big).$$
#
# So $\text{loss}(m^-) \ge \text{loss}(m^\star)$. Where $\text{loss}(m^-) > 0$ the loss is strictly decreasing, and $m^- \le m^\star$. If $\text{loss}(m^-) = 0$, both solutions are equal. So a training error is also a leave-one-out error, and the ball of the problem with all terms gives the upper bound. This argument also holds with a free intercept.

# %% [markdown]
# ## The slow version


# %%
def slow_ball(prob, x, alpha, lam):
    """Return center and radius of the midpoint gap bound over the whole space, by definition."""
    Z = np.array([prob.terms.adjoint(row) for row in np.eye(len(prob))])
    m = Z @ x
    fenchel = np.sum(prob.loss.value(m) + prob.loss.conjugate(alpha) + alpha * m)
    y = Z.T @ alpha / lam
    return (x + y) / 2.0, np.sqrt(np.sum((x - y) ** 2) / 4.0 + fenchel / lam)


def slow_bounds(Z, *balls):
    """Return the smallest and the largest margin over some balls."""
    q = np.array([Z @ center for center, _ in balls])
    half_width = np.array([r * np.linalg.norm(Z, axis=1) for _, r in balls])
    return (q - half_width).min(axis=0), (q + half_width).max(axis=0)


# %%
rng = np.random.default_rng(1)
X = rng.normal(size=(30, 4))
y_ = np.where(rng.random(30) < 0.5, -1.0, 1.0)
small = ss.Problem(ss.Samples(X[:20], y_[:20]), ss.SmoothedHinge(0.5))
rough = ss.solve(small, 2.0, rtol=1e-3)
balls = [slow_ball(small, rough.x, rough.alpha, lam) for lam in (1.5, 3.0)]
slow_low, slow_high = slow_bounds(X[20:] * y_[20:, None], *balls)
held_out = ss.HeldOut(small, ss.Samples(X[20:], y_[20:]))
held_out.keep(rough)
library = held_out.margins(1.5, 3.0)
np.testing.assert_allclose(library.low, slow_low, atol=1e-6)
np.testing.assert_allclose(library.high, slow_high, atol=1e-6)
assert (library.low <= slow_low).all()
assert (library.high >= slow_high).all()
print("the bounds of the library equal the slow version up to 1e-6, and are rounded outward")

# %% [markdown]
# ## Does it hold?
#
# The next cells test the claim on four kinds of problems: samples, samples with a kernel, triplets with matrices, and triplets with diagonal metrics. The problems have three losses, weights, and references from rough to accurate. Each solution inside the interval must lie in one of the two balls of the ends, and its held-out margins must lie within the bounds.


# %%
def random_family(kind, rng):
    """Return the terms and the loss of a small random problem."""
    X = rng.normal(size=(24, 3))
    weights = rng.integers(1, 4, 24) / 2.0
    loss = [ss.Hinge(), ss.SmoothedHinge(0.3), ss.SquaredHinge(0.5)][rng.integers(3)]
    if kind in ("matrices", "diagonal"):
        index = np.array([rng.permutation(24)[:3] for _ in range(24)])
        terms = ss.Triplets(X, index, diagonal=kind == "diagonal", weights=weights)
        return terms, ss.SmoothedHinge(0.3)
    y = np.where(X[:, 0] + rng.normal(0.0, 1.0, 24) > 0.0, 1.0, -1.0)
    y[:2] = [1.0, -1.0]
    if kind == "kernel":
        return ss.KernelSamples.from_points(X, y, "rbf", 0.5, weights=weights), loss
    return ss.Samples(X, y, weights=weights), loss


KINDS = ("samples", "kernel", "matrices", "diagonal")


# %%
def random_interval(kind, rng):
    """Return a problem, held-out terms, a reference and the ends of an interval of lambda."""
    terms, own_loss = random_family(kind, rng)
    train = np.arange(24) < 16
    prob = ss.Problem(terms.select(train), own_loss)
    lam0 = 10.0 ** rng.uniform(-1.0, 1.0)
    ends = lam0 * np.array([rng.uniform(0.5, 1.0), rng.uniform(1.0, 2.0)])
    reference = ss.solve(prob, lam0, rtol=10.0 ** -rng.integers(1, 8))
    return prob, terms.select(~train), reference, ends


def balls_of_interval(prob, reference, ends):
    """Return the midpoint gap balls of a reference for the two ends of an interval."""
    bound = ss.spheres.midpoint_gap_bound
    return [bound(prob, reference.x, end, reference.alpha) for end in ends]


# %% tags=["NEW-INTERVAL"]
rng = np.random.default_rng(2)
n_inside = n_certain = n_alone = 0
for repeat in range(40):
    prob, others, reference, ends = random_interval(KINDS[repeat % 4], rng)
    balls = balls_of_interval(prob, reference, ends)
    held_out = ss.HeldOut(prob, others)
    held_out.keep(reference)
    bounds = held_out.margins(*ends)
    for lam_ in np.geomspace(*ends, 5):
        best = ss.solve(prob, lam_, tol=0.0, rtol=1e-11, max_iter=20000)
        is_in = [prob.cone.norm(best.x - b.center) <= b.radius + best.eps for b in balls]
        error = best.eps * held_out.terms.norms
        margins = held_out.terms.margins(best.x)
        assert any(is_in)
        assert (bounds.low <= margins + error).all()
        assert (bounds.high >= margins - error).all()
        n_inside += 1
        n_alone += sum(is_in) == 1
    n_certain += int(np.sum(bounds.are_right | bounds.are_errors))
assert n_alone > 20
assert n_certain > 100
print(f"{n_inside} solutions inside intervals: in one of two balls, all margins within the bounds")

# %% [markdown]
# Many of these solutions lie in only one of the two balls, so both balls are needed.
#
# ## A $\lambda$ whose error is at most $\varepsilon$ above the smallest error
#
# `choose_lam` divides the interval into cells, and computes a lower bound of the mean error over the folds in each cell. It solves for a $\lambda$ in a cell whose lower bound is more than $\varepsilon$ below the smallest error so far. Before a solve, `choose_lam` tries a primal and dual point that is linear in $1/\lambda$ between the two neighbouring solutions; this *pair* costs one evaluation and no solve. We take three folds, $\lambda$ from 0.01 to 100, and two data sets. For comparison, `SafeSVCCV` computes the $\varepsilon$ that it can prove over the whole range with a grid of the same number of equally spaced values.


# %%
class WithoutPairs(ss.HeldOut):
    """Held-out terms whose bounds use solutions only."""

    def _between(self, below, above, lam):
        return self._known[below][:2]


def folds_of(name, family):
    """Yield three folds of a data set."""
    terms, signs = machine(name)
    for _, test in StratifiedKFold(3).split(signs, signs):
        mask = np.isin(np.arange(len(signs)), test)
        yield family(ss.Problem(terms.select(~mask), loss), terms.select(mask))


def grid_epsilon(name, n_values):
    """Return the epsilon that a grid proves for all values between the ends."""
    X, y = datasets.load(name, return_X_y=True)
    estimator = ss.SafeSVC(kernel="linear", smoothing=0.1, tol=1e-8)
    grid = np.geomspace(0.01, 100.0, n_values)
    search = ss.SafeSVCCV(estimator, grid, cv=3, intervals=8)
    return search.fit(X, y == np.unique(y)[-1]).epsilon_


# %% tags=["NEW-INTERVAL", "nbval-ignore-output"]
for name, epsilon in (("breast-cancer", 0.01), ("iris", 0.01)):
    choice = choose_lam(list(folds_of(name, ss.HeldOut)), 0.01, 100.0, epsilon)
    alone = choose_lam(list(folds_of(name, WithoutPairs)), 0.01, 100.0, epsilon, max_lams=400)
    spaced = grid_epsilon(name, len(choice.lams))
    assert choice.epsilon <= epsilon
    assert alone.epsilon <= epsilon
    assert len(choice.lams) < 0.8 * len(alone.lams)
    folds = list(folds_of(name, ss.HeldOut))
    for lam_ in np.geomspace(0.011, 99.0, 13):
        margins = [f.terms.margins(ss.solve(f.problem, lam_, rtol=1e-8).x) for f in folds]
        each = [np.mean(of_fold < 0.0) for of_fold in margins]
        assert np.mean(each) >= choice.error[1] - choice.epsilon - 1e-12
    print(f"{name}, error {choice.error[1]:.3f}; no error is lower by more than {epsilon}")
    print(f"{name}, solved for {len(choice.lams)} lambdas, without pairs for {len(alone.lams)}")
    print(f"{name}, as many, equally spaced, prove {spaced:.3f}")

# %% [markdown]
# ## One term left out
#
# The next cell compares the bounds with refits. It takes random problems of the four kinds, and solves each problem again without each of its terms.

# %% tags=["NEW-LOO", "nbval-ignore-output"]
rng = np.random.default_rng(3)
n_decided = n_terms = 0
for repeat in range(24):
    terms, own_loss = random_family(KINDS[repeat % 4], rng)
    prob = ss.Problem(terms, own_loss)
    lam_ = 10.0 ** rng.uniform(-0.5, 1.5)
    solution = ss.solve(prob, lam_, rtol=10.0 ** -rng.integers(2, 9))
    bounds = leave_one_out_bounds(prob, solution.x, lam_, solution.alpha)
    for number in range(len(prob)):
        keep = np.arange(len(prob)) != number
        best = ss.solve(ss.Problem(terms.select(keep), own_loss), lam_, tol=0.0, rtol=1e-11)
        margin = terms.margins(best.x)[number]
        error = best.eps * terms.norms[number]
        assert bounds.low[number] - error <= margin <= bounds.high[number] + error
    n_decided += int(np.sum(bounds.are_right | bounds.are_errors))
    n_terms += len(prob)
assert n_decided > 0.3 * n_terms
share = n_decided / n_terms
print(f"{n_terms} refits, none outside its bounds; decided without a refit: {share:.0%}")

# %% [markdown]
# ### How much is decided
#
# The next table shows the share of samples whose leave-one-out decision is certain from one solution, for two data sets, a linear and a kernel machine, and four values of $C = 1/\lambda$. The cell after it also makes all 569 refits of the linear machine on breast-cancer, for one $C$.

# %% tags=["NEW-LOO", "nbval-ignore-output"]
least = 1.0
for name in ("breast-cancer", "iris"):
    X, y = datasets.load(name, return_X_y=True)
    terms, signs = machine(name)
    kernel = ss.KernelSamples.from_points(X, signs, "rbf", 0.5)
    for title, family in (("linear", terms), ("rbf", kernel)):
        prob = ss.Problem(family, loss)
        row = []
        for C in (0.01, 0.1, 1.0, 10.0):
            solution = ss.solve(prob, 1.0 / C, rtol=1e-8)
            bounds = leave_one_out_bounds(prob, solution.x, 1.0 / C, solution.alpha)
            row.append(np.mean(bounds.are_right | bounds.are_errors))
        least = min(least, *row)
        print(f"{name}, {title}, decided " + " ".join(f"{share:.0%}" for share in row))
assert least > 0.75

# %%
solution = ss.solve(whole, 1.0, rtol=1e-8)
bounds = leave_one_out_bounds(whole, solution.x, 1.0, solution.alpha)
refits = np.empty(len(whole))
for number in range(len(whole)):
    others = ss.Problem(whole.terms.select(np.arange(len(whole)) != number), loss)
    refit = ss.solve(others, 1.0, rtol=1e-8)
    refits[number] = whole.terms.margins(refit.x)[number]
low_error, high_error = bounds.error()
error = np.mean(refits < 0.0)
print(f"leave-one-out error {error:.4f}, bounds {low_error:.4f} to {high_error:.4f}")
assert not (bounds.are_right & (refits < 0.0)).any()
assert not (bounds.are_errors & (refits > 0.0)).any()
assert low_error <= error <= high_error

# %% [markdown]
# ## Broken on purpose
#
# **A radius that is 2 % too small.** On most data such a radius gives no wrong result, because the solution is rarely on the surface of the ball. In this example the solution is on the surface. There is one feature, and all terms are in the linear region, so $x^\star = H/\lambda$. The next cell shrinks two balls. The first ball is the ball for the far end of an interval of $\lambda$; its reference is the solution for another $\lambda$. The second ball is the ball without a term, with a reference $x$ that is too large.

# %% tags=["NEW-INTERVAL", "NEW-LOO"]
line = ss.Problem(ss.Samples([[1.0], [2.0], [-1.0]], [1, 1, -1]), ss.SmoothedHinge(0.5))
for factor in (1.0, 0.98):
    ball = ss.spheres.midpoint_gap_bound(line, np.array([4.0 / 16.0]), 32.0)
    begin = ball.center[0] - factor * ball.radius
    holds = 4.0 / 32.0 >= begin  # the solution for 32 is 4/32
    x_ = 0.15
    lam_ = 30.0
    D = x_ - 4.0 / lam_  # x - x(alpha); the Fenchel terms are 0, so E = 0
    s = 2.0 / lam_  # the second term: its norm is 2
    low = 2.0 * ((x_ + 4.0 / lam_) / 2.0 - s / 2.0 - factor * (D + s) / 2.0)
    margin = 2.0 * (4.0 - 2.0) / lam_
    bounded = low <= margin + 1e-12
    print(f"radius times {factor}: left end {begin:.4f}, solution {4.0 / 32.0:.4f}")
    print(f"    margin without the term: lower bound {low:.4f}, exact {margin:.4f}")
    assert holds == bounded == (factor == 1.0)

# %% [markdown]
# **One ball in place of two.** The reference is the solution for $\lambda = 16$, which is one end of the interval. The ball of this end does not contain the solution for $\lambda = 24$:

# %%
reference = ss.solve(line, 16.0, rtol=1e-12)
near = ss.spheres.midpoint_gap_bound(line, reference.x, 16.0)
far = ss.spheres.midpoint_gap_bound(line, reference.x, 32.0)
for end, ball in ((16, near), (32, far)):
    away = abs(4.0 / 24.0 - ball.center[0])
    distance = f"distance of the solution for 24 from the center {away:.3f}"
    print(f"ball of {end}: radius {ball.radius:.3f}, {distance}")
assert not near.contains(np.array([4.0 / 24.0]))
assert far.contains(np.array([4.0 / 24.0]))

# %% [markdown]
# **A free intercept.** With a free intercept the dual variables must satisfy $\sum_i w_i y_i\alpha_i = 0$. If only $\alpha_t$ is set to 0, the sum is no longer 0, so the dual point is not feasible, and the formula of the claim is false. The next example has four samples, and leaves out the third:

# %%
points = np.array([[0.0], [1.0], [1.2], [2.0]])
labels = np.array([-1.0, -1.0, 1.0, 1.0])
free = ss.Problem(ss.FreeIntercept.from_points(points, labels), ss.SmoothedHinge(0.1))
solution = ss.solve(free, 2.0, rtol=1e-10)
margin = free.terms.margins(solution.x)[2] + labels[2] * solution.intercept
others = ss.Problem(free.terms.select(np.arange(4) != 2), free.loss)
refit = ss.solve(others, 2.0, rtol=1e-10)
after = free.terms.margins(refit.x)[2] + labels[2] * refit.intercept
printed = margin - solution.alpha[2] * 1.2**2 / 2.0
known = leave_one_out_bounds(free, solution.x, 2.0, solution.alpha)
print(f"margin {margin:.3f}; without its sample {after:.3f}; by the formula at least {printed:.3f}")
print(f"bounds of the library: {known.low[2]} to {known.high[2]:.3f}")
assert after < printed
assert known.low[2] <= after <= known.high[2]

# %% [markdown]
# With a free intercept the bounds of the library are weaker. They say only that the margin of a sample above its threshold does not change, and that the margin of any other sample does not rise.
#
# ## Which margins rounding leaves undecided
#
# A margin of exactly 0 is undecided at any gap. A margin is also undecided if it is nearer to 0 than the allowance for rounding:

# %%
tiny = ss.HeldOut(line, ss.Samples([[1e-9], [0.0], [1.0]], [1, -1, 1]))
tiny.keep(ss.solve(line, 30.0, rtol=1e-13))
bounds = tiny.margins(29.0, 31.0)
low_error, high_error = tiny.error(29.0, 31.0)
print("samples certainly right:", np.flatnonzero(bounds.are_right))
print("samples certainly wrong:", np.flatnonzero(bounds.are_errors))
print(f"bounds of the error: {low_error:.3f} to {high_error:.3f}")
assert bounds.are_right.tolist() == [True, False, True]
assert (low_error, high_error) == (0.0, 1 / 3)

# %% [markdown]
# The margin of sample 0 is tiny and certain, because the norm of this sample is tiny, too. The margin of sample 1 is 0 for every $\lambda$.
#
# ## Exercise
#
# Take an exact solution of a support vector machine. Which samples can be leave-one-out errors although they are right in training?
#
# <details>
# <summary><b>Solution</b></summary>
#
# Only samples with $0 < m_t < w_t\alpha_t\|a_t\|^2/\lambda$ can. A sample with $\alpha_t = 0$ cannot, because its margin does not change.
#
# </details>
#
# ## Fine print
#
# * For several classes, or with a free intercept, `SafeSVCCV` bounds each decision value over both balls, together with the intercept, and compares the intervals.
# * The library does not certify the error of a $k$-nearest-neighbour classifier, because this error depends on the order of all distances. `TripletMetricCV` certifies the agreement with held-out judgements.
# * `choose_lam` with $\varepsilon = 0$ need not end. If two held-out margins change their signs at the same $\lambda$, no cell around this $\lambda$ is decided.
# * The mean error over the folds is rounded once. Rounding never makes the larger of two means the smaller one, so the comparisons stay right.
#
# Literature: A. Shibagaki, Y. Suzuki, M. Karasuyama, I. Takeuchi, *Regularization path of cross-validation error lower bounds*, NIPS 2015
# (arXiv 1502.02344): bounds of the validation error over intervals, and a parameter that is the best up to $\varepsilon$. S. Okumura, Y. Suzuki,
# I. Takeuchi, *Quick sensitivity analysis for incremental data modification and its application to leave-one-out CV in linear classification problems*,
# KDD 2015 (arXiv 1504.02870): bounds without refits after samples have been removed. We could read only the abstracts and the beginnings of the introductions of both papers, and not their theorems and algorithms. The derivations, the balls and the search are our own, and may differ from the papers.
