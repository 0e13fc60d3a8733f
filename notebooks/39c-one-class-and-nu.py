# %% [markdown]
# # One class, and ν in place of C
#
# The machine for one class and the ν-machine seem to be new problems, but they are not. The one-class machine is the problem of this book with a free intercept
# and one more sample. The ν-machine is a machine on a path of λ. So the library screens the two machines without a new estimator or a new formula.
#
# At the end you will have seen
#
# * the one-class machine as a machine of two classes, whose second class is the origin;
# * the same objective as scikit-learn's `OneClassSVM`, and the samples that a ball decides, also from a solution for a different ν;
# * the ν-machine as the machine with the λ at which the slopes sum to νn, compared with scikit-learn's `NuSVC`;
# * bounds of ν from the certain samples at one λ, so that no sum of slopes has to be exact;
# * a machine that is not a problem of this book, and a ball and a rule for it.

# %%
import numpy as np
from scipy.optimize import minimize
from sklearn.svm import NuSVC, OneClassSVM

import safescreen as ss
from safescreen_book import datasets, figures

# %% [markdown]
# ## The claim
#
# > **One class.** Schölkopf et al. (2001) minimise $\frac12\|w\|^2 + \sum_i \max(0, \rho - \langle w, x_i\rangle) - \nu n\rho$ over $w$ and $\rho$. This is the problem with a free
# > intercept $b = -\rho$, $\lambda = 1$, the hinge with threshold 0 and all labels $+1$, and one more sample: the origin, with label $-1$, weight $\nu n$, and a threshold above $\rho^\star$.
# >
# > **ν in place of C.** Let $\alpha^\star(\lambda)$ be the slopes of the machine with a free intercept and the hinge. Up to a factor the ν-machine is the machine at a $\lambda$ with
# > $\sum_i\alpha^\star_i(\lambda) = \nu n$, and this $\lambda$ is equal to $\rho$ of the ν-machine. The sum does not fall as $\lambda$ rises. If $l$ samples are certain to be in L and $r$ samples in R,
# > then $l \le \nu n \le n - r$. Let the classes have $n_+$ and $n_-$ samples. Then $\nu \le 2\min(n_+, n_-)/n$, and for a larger ν the ν-machine does not exist.
#
# The machine with a free intercept minimises $P(w, b) = \sum_i \max(0, 1 - y_i(\langle w, x_i\rangle + b)) + \frac\lambda2\|w\|^2$. Its *slopes* $\alpha_i \in [0, 1]$ are minus the
# slopes of the losses at the margins $y_i(\langle w, x_i\rangle + b)$. A sample is in L if its margin at the solution is below its threshold, which is 1 here, and in R if its margin is above the threshold. A
# star marks quantities at the solution.
#
# | assumption | where it is used |
# |---|---|
# | the hinge | one class and ν; with a smoothed hinge the sample at the origin still has slope 1, and the problem is a smoothed one-class machine |
# | $\rho^\star > 0$ | the ν-machine: $w$ and $b$ are divided by $\rho^\star$ |
#
# Schölkopf, Smola, Williamson and Bartlett (2000) gave ν its meaning: at most νn samples have a loss, and at least νn samples are support vectors. The bound $l \le \nu n \le n - r$ of the claim is this property with counts
# that a ball proves. Crisp and Burges (1999) give conditions for a ν whose solution is not trivial, and Chang and Lin (2001) compare the ν-machine with the machine with $C$. The derivation below is our own, because their texts were not at hand.
#
# ## Derivation
#
# **One class.** The origin has the margin $-b$. Its threshold $h$ is above this margin, so its loss is $\nu n\,(h + b)$. This is a constant plus $\nu n\,b = -\nu n\rho$, the last term of the one-class objective. The loss of every other sample is
# $\max(0, 0 - \langle w, x_i\rangle - b)$. The origin has the weight $\nu n$ and the slope 1. So the slopes balance the classes if $\sum_i\alpha_i = \nu n$, which is the constraint of Schölkopf's dual.
#
# **ν.** The ν-machine minimises $\frac12\|w\|^2 + \sum_i\max(0, \rho - y_i(\langle w,x_i\rangle + b)) - \nu n\rho$. With $w = \rho\tilde w$ and $b = \rho\tilde b$ this objective is $\rho$ times
# $\frac\rho2\|\tilde w\|^2 + \sum_i\max(0, 1 - y_i(\langle \tilde w,x_i\rangle + \tilde b)) - \nu n$. For a fixed $\rho$ its minimum is $\rho\,(P^\star(\rho) - \nu n)$, where $P^\star(\lambda)$ is the minimum of $P$. The derivative of $P^\star$ is
# $\frac12\|\tilde w\|^2$, and $P^\star(\lambda) = D = \sum_i\alpha^\star_i - \frac\lambda2\|\tilde w\|^2$. So the derivative of $\rho\,(P^\star(\rho) - \nu n)$ with respect to $\rho$ is $P^\star + \frac\rho2\|\tilde w\|^2 - \nu n = \sum_i\alpha^\star_i(\rho) - \nu n$.
# This derivative is 0 at the optimum. The function $\rho P^\star(\rho)$ is convex, because it is the minimum over $w$ and $b$ of a function that is convex in $w$, $b$ and $\rho$. So the sum of the slopes does not fall as $\rho$ rises. The slope of a sample is 1 in L,
# 0 in R, and between 0 and 1 otherwise. At the best intercept the slopes of the two classes have the same sum, which is at most $\min(n_+, n_-)$. So
# $\sum_i\alpha^\star_i \le 2\min(n_+, n_-)$. The ν-machine with a larger ν has no minimum: with $w = 0$, and $b = \pm\rho$ for the larger class, its objective is $(2\min(n_+, n_-) - \nu n)\rho$.
#
# ## One class by the library
#
# The data are breast cancer. The features are between 0 and 2, so that the origin lies outside of the samples.

# %%
X, y = datasets.load("breast-cancer", return_X_y=True)
X = X + 1.0
n = len(X)


def one_class(X, nu, height):
    """Return the one-class machine: the samples, and the origin as the other class."""
    points = np.vstack([X, np.zeros(X.shape[1])])
    signs = np.append(np.ones(len(X)), -1.0)
    weights = np.append(np.ones(len(X)), nu * len(X))
    terms = ss.FreeIntercept.from_points(points, signs, weights=weights)
    return ss.Problem(terms.with_threshold(np.append(np.zeros(len(X)), height)), ss.Hinge())


def read(prob, solution):
    """Return coefficients and intercept. The library adds a constant feature. Its weight is nearly
    0 and belongs to the intercept."""
    return solution.x[:-1], solution.intercept + prob.terms.constant * solution.x[-1]


def objective(w, rho, nu):
    """Return the one-class objective as it is printed."""
    return 0.5 * w @ w + np.maximum(0.0, rho - X @ w).sum() - nu * n * rho


def right_of(margins, screened):
    """Check the decisions about the samples, without the origin, against their margins."""
    slack = 1e-6 * abs(margins).max()
    assert (margins[screened.in_R[:-1]] > -slack).all()
    assert (margins[screened.in_L[:-1]] < slack).all()


# %% tags=["NEW-NU"]
solved = {}
for nu in (0.05, 0.2, 0.5):
    outside = OneClassSVM(kernel="linear", nu=nu, tol=1e-10).fit(X)
    rho = -outside.intercept_[0]
    prob = one_class(X, nu, 2.0 * rho)
    best = ss.solve(prob, 1.0, rtol=1e-11)
    w, b = read(prob, best)
    theirs = objective(outside.coef_.ravel(), rho, nu)
    ours = objective(w, -b, nu)
    assert abs(theirs - ours) < 1e-6 * abs(theirs)
    assert abs(best.alpha[:-1].sum() - nu * n) < 1e-6 * n
    screened = ss.screen(prob, best.x, 1.0, best.alpha)
    assert screened.in_L[-1]
    right_of(X @ outside.coef_.ravel() - rho, screened)
    solved[nu] = prob, best
    n_outside = screened.in_L[:-1].sum()
    n_inside = screened.in_R[:-1].sum()
    print(f"one class, nu {nu}, certain outside {n_outside}, inside {n_inside}, of {n}; ", end="")
    print(f"objectives agree to 1e-6 of {theirs:.5g}")

# %% [markdown]
# About $\nu n$ samples are outside, as the theory says. No ball decides the few remaining samples, because they lie on the plane, where the hinge has its kink.
#
# ### From a solution for a different ν
#
# The new ν is $s\nu$ with $s < 1$. Multiply the solution for $\nu$ by $s$: coefficients, intercept and slopes. The new slopes balance the new weight of the origin, and the new coefficients belong to the new slopes. This pair
# gives a ball for the new problem before any solve. Its gap is $s(1-s)\,\Xi$, where $\Xi$ is the total loss of the samples at the old solution. Proof: the old gap is 0, so
# $\|w\|^2 + \Xi + \nu n b = 0$, and the new gap is $s^2\|w\|^2 + s\,\Xi + s^2\nu n b$. The library uses the best intercept for the given coefficients, so its gap is at most $s(1-s)\,\Xi$.
#
# Alternatively the slopes keep their old values. These slopes do not balance the classes of the new problem. So the library moves slopes to their bounds until they balance the classes. It begins with the samples closest to the plane.

# %% tags=["NEW-NU", "nbval-ignore-output"]
prob_old, old = solved[0.5]
w, b = read(prob_old, old)
total = np.maximum(0.0, -(X @ w + b)).sum()
rows = {}
for ratio in (0.99, 0.9, 0.7, 0.4):
    new = one_class(X, 0.5 * ratio, -2.0 * old.intercept)
    best = ss.solve(new, 1.0, rtol=1e-11)
    w, b = read(new, best)
    scaled, unscaled = (np.append(factor * old.alpha[:-1], 1.0) for factor in (ratio, 1.0))
    assert np.linalg.norm(new.x_of(scaled, 1.0) - ratio * old.x) < 1e-6 * np.linalg.norm(old.x)
    assert new.gap(ratio * old.x, 1.0, scaled) < ratio * (1.0 - ratio) * total * (1.0 + 1e-6)
    rows[ratio] = []
    for alpha in (scaled, unscaled):
        screened = ss.screen(new, ratio * old.x, 1.0, alpha)
        right_of(X @ w + b, screened)
        rows[ratio].append(screened.rate)
    print(f"nu from 0.5 to {0.5 * ratio:.3f}, certain before the first iteration: ", end="")
    print(f"slopes scaled {rows[ratio][0]:.0%}, balanced by the library {rows[ratio][1]:.0%}")
assert rows[0.99] > rows[0.9] > [0.0, 0.0]

# %% [markdown]
# As on a path of $\lambda$, a smaller step makes more samples certain. For small steps the slopes that the library balances decide more samples. Most of these slopes are 1, and so are most slopes at the new solution.
#
# ## The ν-machine by the library
#
# A bisection finds the $\lambda$ at which the slopes sum to $\nu n$. scikit-learn divides $w$ and $b$ by $\rho$ too. So its dual coefficients are $\alpha_i/\rho$, and the largest dual coefficient is $1/\rho$, for a sample in L.


# %%
machine = ss.Problem(ss.FreeIntercept.from_points(X, np.where(y == y[0], 1, -1)), ss.Hinge())


def at_nu(nu, rounds=40):
    """Return the solution at the lambda whose slopes sum to nu n, and the last interval of
    lambda."""
    low, high = 1e-4, 1e4
    x = None
    for _ in range(rounds):
        lam = np.sqrt(low * high)
        best = ss.solve(machine, lam, rtol=1e-10, x0=x)
        x = best.x
        if best.alpha.sum() > nu * n:
            high = lam
        else:
            low = lam
    return best, low, high


def screened_at(lam):
    """Return a solution of the machine and the decisions of its ball."""
    best = ss.solve(machine, lam, rtol=1e-10)
    return best, ss.screen(machine, best.x, lam, best.alpha)


# %% tags=["NEW-NU"]
for nu in (0.1, 0.3, 0.6):
    outside = NuSVC(kernel="linear", nu=nu, tol=1e-10).fit(X, machine.terms.signs)
    rho = 1.0 / abs(outside.dual_coef_).max()
    best, low, high = at_nu(nu)
    w, b = outside.coef_.ravel(), outside.intercept_[0]
    total_loss = np.maximum(0.0, 1.0 - machine.terms.signs * (X @ w + b)).sum()
    theirs = rho * (0.5 * rho * w @ w + total_loss - nu * n)
    ours = best.lam * (machine.primal(best.x, best.lam) - nu * n)
    assert abs(theirs - ours) < 1e-6 * abs(theirs)
    least = screened_at(0.98 * low)[1].n_L / n
    most = 1.0 - screened_at(1.02 * high)[1].n_R / n
    assert least <= nu <= most
    print(f"nu {nu}: lambda {best.lam:.4g}, rho of scikit-learn {rho:.4g}; objectives ", end="")
    print(f"agree to 1e-6: {theirs:.4g}; by counts nu is in [{least:.3f}, {most:.3f}]")

# %% [markdown]
# The counts are certain, because the library includes rounding. So an interval that is proved to contain the $\lambda$ of a given $\nu$ needs no exact sum of slopes. What one pair decides for the two ends of this interval, it decides for the ν-machine
# ([`39b-free-intercept`](39b-free-intercept.ipynb)). The exact $\lambda$ is not needed.

# %% tags=["NEW-NU"]
grid = np.geomspace(1e-3, 1e3, 13)
bounds, sums = [], []
for lam in grid:
    best, screened = screened_at(lam)
    bounds.append((screened.n_L / n, 1.0 - screened.n_R / n))
    sums.append(best.alpha.sum() / n)
bounds = np.array(bounds)
assert (bounds[:, 0] <= sums).all()
assert (sums <= bounds[:, 1]).all()
assert (np.diff(sums) >= -1e-6).all()
most = 2.0 * min((machine.terms.signs > 0.0).sum(), (machine.terms.signs < 0.0).sum()) / n
# at the largest lambda all samples of the smaller class are in L
assert max(sums) < most + 1e-6 and abs(sums[-1] - most) < 1e-6

# %%
_, ax = figures.panels(1, width=5.0, height=3.2)
ax.fill_between(grid, *bounds.T, alpha=0.4, label="certain")
ax.semilogx(grid, sums, ".-", label="sum of the slopes / n")
ax.axhline(most, linestyle=":", color="black", label="the largest nu")
ax.set(xlabel=r"$\lambda$", ylabel=r"$\nu$")
ax.legend()
figures.show(
    f"A curve shows nu, the sum of the slopes divided by n. It rises with lambda to {most:.3f}, "
    "where all slopes of the smaller class are 1. A narrow band around the curve shows the bounds "
    "of nu that the certain samples prove."
)

# %% [markdown]
# ## Break it
#
# Let the threshold of the origin be *below* $\rho^\star$. At the solution the loss of the origin is then not on its linear piece, so the solution is not the one-class machine.

# %%
prob, best = solved[0.2]
rho = -best.intercept
low = ss.solve(one_class(X, 0.2, 0.5 * rho), 1.0, rtol=1e-11)
w, b = read(prob, best)
right = objective(w, -b, 0.2)
w, b = read(prob, low)
value = objective(w, -b, 0.2)
too_high = (value - right) / abs(right)
print(f"with a threshold of half of rho the objective is too high by {too_high:.0%} of it")
assert value > right + 0.01 * abs(right)

# %% [markdown]
# ## A machine that is not a problem of this book
#
# A machine that is safe against noise in its features has the loss $\max_{\|u\|\le\kappa}\max(0, 1 - \langle w, z_i + u\rangle) = \max(0, 1 - \langle w, z_i\rangle + \kappa\|w\|)$ (Nguyen, Nguyen and Tran, 2026, screen its samples). This is not a loss of a *linear*
# term, so the library does not have it. But the objective is strongly convex, so the argument of DGB is valid. Let $H = \sum_i\alpha_iz_i$. The minimum of the Lagrangian over $w$ is
#
# $$D(\alpha) = \sum_i\alpha_i - \tfrac1{2\lambda}\Big(\big[\|H\| - \kappa\textstyle\sum_i\alpha_i\big]_+\Big)^2, \qquad w(\alpha) = \tfrac1\lambda\big[\|H\| - \kappa\textstyle\sum_i\alpha_i\big]_+\tfrac{H}{\|H\|},$$
#
# and $m_i(w) = \langle w,z_i\rangle - \kappa\|w\|$ changes by at most $(\|z_i\| + \kappa)\,\|w - w'\|$. So the sphere rule is valid with $\|z_i\| + \kappa$ in place of the norm $\|z_i\|$. The cells check the ball and the rule:


# %%
class Noisy:
    """The machine that is safe against noise of size kappa."""

    def __init__(self, Z, kappa, lam):
        self.Z, self.kappa, self.lam = Z, kappa, lam

    def margins(self, w):
        """Return the margins for the worst noise."""
        return self.Z @ w - self.kappa * np.linalg.norm(w)

    def primal(self, w):
        """Return the objective."""
        return np.maximum(0.0, 1.0 - self.margins(w)).sum() + self.lam / 2 * w @ w

    def point(self, alpha):
        """Return the w of a dual point."""
        H = alpha @ self.Z
        length = np.linalg.norm(H)
        return max(length - self.kappa * alpha.sum(), 0.0) / (self.lam * max(length, 1e-300)) * H

    def dual(self, alpha):
        """Return the dual objective."""
        w = self.point(alpha)
        return alpha.sum() - self.lam / 2 * w @ w

    def radius(self, w, alpha):
        """Return the radius of DGB. An allowance for rounding keeps the gap above 0."""
        gap = max(self.primal(w) - self.dual(alpha), 0.0) + 1e-12 * self.primal(w)
        return np.sqrt(2.0 * gap / self.lam)


# %% [markdown]
# The sphere rule uses the sum $\|z_i\| + \kappa$:


# %%
def decided_by(noisy, w, r):
    """Return the masks of the samples that a ball decides to be in L and in R."""
    norms = np.linalg.norm(noisy.Z, axis=1) + noisy.kappa
    return noisy.margins(w) + r * norms < 1.0, noisy.margins(w) - r * norms > 1.0


def minus_dual(alpha, noisy):
    """Return the function that L-BFGS-B minimises, and its gradient."""
    return -noisy.dual(alpha), noisy.margins(noisy.point(alpha)) - 1.0


def iterates_of(noisy, n):
    """Maximise the dual. Return the dual points of all iterations and the last one."""
    visited = []
    options = {"ftol": 1e-15, "gtol": 1e-10, "maxiter": 2000}
    result = minimize(minus_dual, np.full(n, 0.5), noisy, "L-BFGS-B", jac=True,
                      bounds=[(0, 1)] * n, options=options,
                      callback=lambda alpha: visited.append(alpha.copy()))
    return visited, result.x


# %% tags=["NEW-NU", "nbval-ignore-output"]
decided = 0
for seed in range(20):
    Z = np.random.default_rng(seed).normal(size=(40, 3)) + [0.8, 0.0, 0.0]
    noisy = Noisy(Z, 0.2, 2.0)
    visited, last = iterates_of(noisy, len(Z))
    star = noisy.point(last)
    accuracy = noisy.radius(star, last)
    slack = accuracy * (np.linalg.norm(Z, axis=1) + noisy.kappa)
    for alpha in visited:
        w = noisy.point(alpha)
        r = noisy.radius(w, alpha)
        assert np.linalg.norm(w - star) <= r + accuracy
        in_L, in_R = decided_by(noisy, w, r)
        assert (noisy.margins(star) > 1.0 - slack)[in_R].all()
        assert (noisy.margins(star) < 1.0 + slack)[in_L].all()
        decided += in_R.sum() + in_L.sum()
print(f"noise in the features, 20 random machines: {decided} decisions, none wrong; ", end="")
print("every ball contains the solution")
assert decided > 1000

# %% [markdown]
# ### Break it: the norm without the noise
#
# On the random machines the distance to the solution is much smaller than the radius. In one dimension it can be nearly equal to the radius. Let twenty samples be at $z = -5.9$ and the last sample at $-6.1$, with $\kappa = 1$ and $\lambda = 490$. With slope 1 for
# the twenty samples and slope 0 for the last sample, $w^\star = -20\cdot4.9/490 = -0.2$. There the twenty samples have margin 0.98 and the last sample has margin 1.02, so these slopes are optimal. The reference is $w = 1$, on the other side of 0. Its ball
# contains the solution. With the norm $|z|$ alone, without $\kappa$, the rule puts the last sample in L, but the sample is in R.

# %% tags=["NEW-NU"]
line = Noisy(np.append(np.full(20, -5.9), -6.1)[:, None], 1.0, 490.0)
slopes = np.append(np.ones(20), 0.0)
start = np.array([1.0])
star = line.point(slopes)
r = line.radius(start, slopes)
used = abs(star - start)[0] / r
without = line.margins(start)[-1] + r * 6.1
assert abs(star[0] + 0.2) < 1e-12
assert line.radius(star, slopes) < 1e-4
assert line.margins(star)[-1] > 1.0
assert 0.9 < used < 1.0 and without < 1.0 and not decided_by(line, start, r)[0][-1]
print(f"the solution is at {used:.0%} of the radius from the reference; ", end="")
print(f"the last sample has the margin {line.margins(star)[-1]:.2f} at the solution")
print(f"upper bound of this margin over the ball: {without:.2f} by the norm without ", end="")
print(f"the noise, {without + r:.2f} by the norm with it")

# %% [markdown]
# ## Exercise
#
# Is the ν-machine *without* an intercept a one-class machine?
#
# <details>
# <summary><b>Solution</b></summary>
#
# Yes. It is the one-class machine of the samples $z_i = y_i x_i$, because the two objectives are the same: $\frac12\|w\|^2 + \sum_i\max(0, \rho - \langle w, z_i\rangle) - \nu n\rho$. With a penalised intercept each sample has one more feature, $y_i$. So
# `one_class` gives the problem that the library solves and screens.
#
# </details>
#
# ## Fine print
#
# * **Kernels.** The origin is the zero of the kernel's space, so its row of the kernel matrix is 0. Add this row and column to the matrix, add the constant of the intercept to all entries, and use `ss.KernelSamples`.
# * **λ.** With threshold 0 the solution of the one-class machine is proportional to $1/\lambda$. So only $\nu$ has a path.
# * **The origin among the samples.** Let the origin be a mean of the samples with weights of at most $1/\nu n$. Then $w^\star = 0$ and $\rho^\star = 0$. All margins are equal to the threshold, and no sample can be decided.
# * **What was not used.** Yang et al. (2024) derive a rule for a new ν from the exact solution for the old ν, by variational inequalities.
#
# Literature: B. Schölkopf, A. Smola, R. Williamson, P. Bartlett, *New support vector algorithms*, Neural Computation 12, 2000: the ν-machine and its property (abstract read); C.-C. Chang, C.-J. Lin, *Training ν-support vector classifiers: theory and algorithms*, Neural
# Computation 13, 2001 (abstract read); D. Crisp, C. Burges, *A geometric interpretation of ν-SVM classifiers*, NIPS 1999 (abstract read); B. Schölkopf, J. Platt, J. Shawe-Taylor, A. Smola, R. Williamson, *Estimating the support of a high-dimensional distribution*, Neural
# Computation 13, 2001. This notebook states the two machines as scikit-learn does. Z. Yang, W. Chen, H. Zhang, Y. Xu, L. Shi, J. Zhao, *A safe screening rule with bi-level optimization of ν support vector machine*, 2024 (arXiv 2403.01769): the abstract and the beginning of the introduction were read. Their rule screens the two machines
# before training, along ν; it could not be compared. T.-H. Nguyen, T.-L. Tran, K. T. Nguyen, *Gap Safe screening rules for fast training of robust support vector machines under feature noise*, 2026 (arXiv 2603.25221): the abstract was read. These authors say that they use Lagrangian duality
# in place of Fenchel duality, as above; the formulas here are our own derivation.
