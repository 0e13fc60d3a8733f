# %% [markdown]
# # One class, and ν in place of C
#
# The machine for one class and the ν-machine look like other problems. One is the problem of this book with a free intercept and one sample more. The other
# is a point of a path. So the library screens both as it is: with no new estimator, and no new formula.
#
# At the end you will have seen
#
# * the one-class machine as a machine of two classes, whose second class is the origin;
# * the same objective as scikit-learn's `OneClassSVM`, and what a ball decides of its samples, also from another ν;
# * the ν-machine as the machine with the λ at which the slopes sum to νn, beside scikit-learn's `NuSVC`;
# * bounds of ν from what is certain at one λ, so that no sum of slopes has to be exact;
# * a machine that this frame does not carry, and what of the book holds for it all the same.

# %%
import numpy as np
from scipy.optimize import minimize
from sklearn.svm import NuSVC, OneClassSVM

import safescreen as ss
from safescreen_book import datasets, figures

# %% [markdown]
# ## The claim
#
# > **One class.** Schölkopf et al. (2001) minimise $\frac12\|w\|^2 + \sum_i \max(0, \rho - \langle w, x_i\rangle) - \nu n\rho$ over $w$ and $\rho$. It is the problem with a free
# > intercept $b = -\rho$, $\lambda = 1$, the hinge with threshold 0 and all labels $+1$, and one more sample: the origin, with label $-1$, weight $\nu n$, and a threshold above $\rho^\star$.
# >
# > **ν in place of C.** Let $\alpha^\star(\lambda)$ be the slopes of the machine with a free intercept and the hinge. The ν-machine is, up to a factor, the machine at a $\lambda$ with $\sum_i\alpha^\star_i(\lambda) = \nu n$, and that $\lambda$
# > is its $\rho$. The sum does not fall as $\lambda$ rises. If $l$ samples are certain to be in L and $r$ in R, $l \le \nu n \le n - r$. With $n_+$ and $n_-$ samples in the two
# > classes, $\nu \le 2\min(n_+, n_-)/n$: for a larger ν there is no ν-machine.
#
# The machine with a free intercept minimises $P(w, b) = \sum_i \max(0, 1 - y_i(\langle w, x_i\rangle + b)) + \frac\lambda2\|w\|^2$. Its *slopes* $\alpha_i \in [0, 1]$ are minus the
# slopes of the losses at the margins $y_i(\langle w, x_i\rangle + b)$. A sample is in L if its margin at the solution is below its threshold, 1 here, and in R if it is above. A star marks what belongs to the
# solution.
#
# | assumption | where it is used |
# |---|---|
# | the hinge | both; with a smoothed hinge the sample at the origin still has slope 1, and the problem is a smoothed one-class machine |
# | $\rho^\star > 0$ | the ν-machine: $w$ and $b$ are divided by it |
#
# Schölkopf, Smola, Williamson and Bartlett (2000) gave ν its meaning: at most νn samples have a loss, and at least νn are support vectors. The last bound of the claim is this property with counts
# that a ball proves. Crisp and Burges (1999) give conditions for a ν whose solution is not trivial, and Chang and Lin (2001) compare the ν-machine with the machine with $C$. The derivation below is our own, as their texts were not at hand.
#
# ## Derivation
#
# **One class.** The origin has the margin $-b$. Its threshold $h$ lies above, so its loss is $\nu n\,(h + b)$: a constant, and $\nu n\,b = -\nu n\rho$, the linear term in $b$ that is missing. The others cost
# $\max(0, 0 - \langle w, x_i\rangle - b)$. The origin weighs $\nu n$ and has slope 1. So that the slopes balance the classes means $\sum_i\alpha_i = \nu n$, the constraint of Schölkopf's dual.
#
# **ν.** The ν-machine minimises $\frac12\|w\|^2 + \sum_i\max(0, \rho - y_i(\langle w,x_i\rangle + b)) - \nu n\rho$. Put $w = \rho\tilde w$, $b = \rho\tilde b$: this is $\rho$ times
# $\frac\rho2\|\tilde w\|^2 + \sum_i\max(0, 1 - y_i(\langle \tilde w,x_i\rangle + \tilde b)) - \nu n$. For a fixed $\rho$ its minimum is $\rho\,(P^\star(\rho) - \nu n)$, with $P^\star(\lambda)$ the minimum of $P$. The derivative of $P^\star$ is
# $\frac12\|\tilde w\|^2$, and $P^\star(\lambda) = D = \sum_i\alpha^\star_i - \frac\lambda2\|\tilde w\|^2$. So the derivative of this minimum with respect to $\rho$ is $P^\star + \frac\rho2\|\tilde w\|^2 - \nu n = \sum_i\alpha^\star_i(\rho) - \nu n$. It is 0 at the optimum; and $\rho P^\star(\rho)$
# is convex, as a minimum over $w$ and $b$ of a function convex in all three, so the sum does not fall. In L the slope is 1, in R it is 0, elsewhere between. The intercept makes the slopes of both classes sum to the same number, which is at most $\min(n_+, n_-)$. So
# $\sum_i\alpha^\star_i \le 2\min(n_+, n_-)$. The ν-machine with a larger ν has no minimum: with $w = 0$, and $b = \pm\rho$ for the larger class, its objective is $(2\min(n_+, n_-) - \nu n)\rho$.
#
# ## One class by the library
#
# Breast cancer, its features between 0 and 2, so that the origin is outside of the samples.

# %%
X, y = datasets.load("breast-cancer", return_X_y=True)
X = X + 1.0
n = len(X)


def one_class(X, nu, height):
    """The one-class machine: the samples, and the origin as the other class."""
    points, signs = np.vstack([X, np.zeros(X.shape[1])]), np.append(np.ones(len(X)), -1.0)
    terms = ss.FreeIntercept.from_points(
        points, signs, weights=np.append(np.ones(len(X)), nu * len(X))
    )
    return ss.Problem(terms.with_threshold(np.append(np.zeros(len(X)), height)), ss.Hinge())


def read(prob, solution):
    """Coefficients and intercept. The library adds a constant feature, whose coefficient, nearly
    0, is part of the intercept."""
    return solution.x[:-1], solution.intercept + prob.terms.constant * solution.x[-1]


def objective(w, rho, nu):
    """The one-class objective as it is printed."""
    return 0.5 * w @ w + np.maximum(0.0, rho - X @ w).sum() - nu * n * rho


# %% tags=["NEW-NU"]
solved = {}
for nu in (0.05, 0.2, 0.5):
    outside = OneClassSVM(kernel="linear", nu=nu, tol=1e-10).fit(X)
    rho = -outside.intercept_[0]
    prob = one_class(X, nu, 2.0 * rho)
    best = ss.solve(prob, 1.0, rtol=1e-11)
    w, b = read(prob, best)
    values = objective(outside.coef_.ravel(), rho, nu), objective(w, -b, nu)
    found = ss.screen(prob, best.x, 1.0, best.alpha)
    assert abs(values[0] - values[1]) < 1e-6 * abs(values[0]) and found.in_L[-1]
    assert abs(best.alpha[:-1].sum() - nu * n) < 1e-6 * n
    margins = X @ outside.coef_.ravel() - rho
    scale = 1e-6 * abs(margins).max()
    assert (margins[found.in_R[:-1]] > -scale).all() and (margins[found.in_L[:-1]] < scale).all()
    solved[nu] = prob, best
    print(
        f"one class, nu {nu}, certain outside {found.in_L[:-1].sum()}, inside "
        f"{found.in_R[:-1].sum()}, of {n}; objectives agree to 1e-6 of {values[0]:.5g}"
    )

# %% [markdown]
# About $\nu n$ samples are outside, as they should be. The few that are left lie on the plane: no ball decides them, since the hinge has its kink there.
#
# ### From another ν
#
# The new ν is $s\nu$ with $s < 1$. Multiply a solution by $s$: coefficients, intercept and slopes. The slopes balance the new weight of the origin, and the coefficients are those that belong to the slopes. This pair
# makes a ball for the new problem, before anything is solved. Its gap is $s(1-s)$ times the total loss $\Xi$ of the samples at the solution. For the old gap is 0, which says
# $\|w\|^2 + \Xi + \nu n b = 0$, and the new one is $s^2\|w\|^2 + s\,\Xi + s^2\nu n b$. The library takes the best intercept for given coefficients, so its gap is at most that.
#
# One can also leave the slopes as they are. They do not balance the new problem, and the library moves those to their bounds whose samples are closest to the plane, until they do.

# %% tags=["NEW-NU", "nbval-ignore-output"]
prob_old, old = solved[0.5]
w, b = read(prob_old, old)
total = np.maximum(0.0, -(X @ w + b)).sum()
rows = {}
for ratio in (0.99, 0.9, 0.7, 0.4):
    new = one_class(X, 0.5 * ratio, -2.0 * old.intercept)
    best = ss.solve(new, 1.0, rtol=1e-11)
    w, b = read(new, best)
    margins = X @ w + b
    slack = 1e-6 * abs(margins).max()
    scaled, as_it_is = (np.append(factor * old.alpha[:-1], 1.0) for factor in (ratio, 1.0))
    assert np.linalg.norm(new.x_of(scaled, 1.0) - ratio * old.x) < 1e-6 * np.linalg.norm(old.x)
    assert new.gap(ratio * old.x, 1.0, scaled) < ratio * (1.0 - ratio) * total * (1.0 + 1e-6)
    rows[ratio] = []
    for alpha in (scaled, as_it_is):
        found = ss.screen(new, ratio * old.x, 1.0, alpha)
        assert (margins[found.in_R[:-1]] > -slack).all()
        assert (margins[found.in_L[:-1]] < slack).all()
        rows[ratio].append(found.rate)
    print(
        f"nu from 0.5 to {0.5 * ratio:.3f}, certain before the first iteration: slopes scaled "
        f"{rows[ratio][0]:.0%}, balanced by the library {rows[ratio][1]:.0%}"
    )
assert rows[0.99] > rows[0.9] > [0.0, 0.0]

# %% [markdown]
# As on a path of $\lambda$, the smaller the step, the more is certain. For small steps the library's way decides more: most slopes stay 1, as they are at the new solution.
#
# ## The ν-machine by the library
#
# Bisection for the $\lambda$ at which the slopes sum to $\nu n$. scikit-learn divides $w$ and $b$ by $\rho$, too, so its dual coefficients are $\alpha_i/\rho$, and the largest, of a sample in L, is $1/\rho$.


# %%
machine = ss.Problem(ss.FreeIntercept.from_points(X, np.where(y == y[0], 1, -1)), ss.Hinge())


def at_nu(nu, rounds=40):
    """The solution at the lambda whose slopes sum to nu n, and the last interval of lambda."""
    low, high, x = 1e-4, 1e4, None
    for _ in range(rounds):
        lam = np.sqrt(low * high)
        best = ss.solve(machine, lam, rtol=1e-10, x0=x)
        x = best.x
        low, high = (low, lam) if best.alpha.sum() > nu * n else (lam, high)
    return best, low, high


# %% tags=["NEW-NU"]
for nu in (0.1, 0.3, 0.6):
    outside = NuSVC(kernel="linear", nu=nu, tol=1e-10).fit(X, machine.terms.signs)
    rho = 1.0 / abs(outside.dual_coef_).max()
    best, low, high = at_nu(nu)
    w, b = outside.coef_.ravel(), outside.intercept_[0]
    theirs = 0.5 * rho * w @ w + np.maximum(0.0, 1.0 - machine.terms.signs * (X @ w + b)).sum()
    ours = machine.primal(best.x, best.lam)
    values = rho * (theirs - nu * n), best.lam * (ours - nu * n)
    assert abs(values[0] - values[1]) < 1e-6 * abs(values[0])
    certain = [
        ss.screen(machine, s.x, s.lam, s.alpha)
        for s in (ss.solve(machine, lam, rtol=1e-10) for lam in (0.98 * low, 1.02 * high))
    ]
    least, most = certain[0].n_L / n, 1.0 - certain[1].n_R / n
    assert least <= nu <= most
    print(
        f"nu {nu}: lambda {best.lam:.4g}, rho of scikit-learn {rho:.4g}; objectives agree to "
        f"1e-6: {values[0]:.4g}; by counts nu is in [{least:.3f}, {most:.3f}]"
    )

# %% [markdown]
# The counts are certain, roundings included. So a range of $\lambda$ with a given $\nu$ in it is certain as well, and what one pair decides for both of its ends it decides for the ν-machine
# ([`39b-free-intercept`](39b-free-intercept.ipynb)): $\lambda$ need not be known.

# %% tags=["NEW-NU"]
grid = np.geomspace(1e-3, 1e3, 13)
bounds, sums = [], []
for lam in grid:
    best = ss.solve(machine, lam, rtol=1e-10)
    found = ss.screen(machine, best.x, lam, best.alpha)
    bounds.append((found.n_L / n, 1.0 - found.n_R / n))
    sums.append(best.alpha.sum() / n)
bounds = np.array(bounds)
assert (bounds[:, 0] <= sums).all()
assert (sums <= bounds[:, 1]).all()
assert (np.diff(sums) >= -1e-6).all()
most = 2.0 * min((machine.terms.signs > 0.0).sum(), (machine.terms.signs < 0.0).sum()) / n
# at the largest lambda all of the smaller class is in L
assert max(sums) < most + 1e-6 and abs(sums[-1] - most) < 1e-6
_, ax = figures.panels(1, width=5.0, height=3.2)
ax.fill_between(grid, *bounds.T, alpha=0.4, label="certain")
ax.semilogx(grid, sums, ".-", label="sum of the slopes / n")
ax.axhline(most, linestyle=":", color="black", label="the largest nu")
ax.set(xlabel=r"$\lambda$", ylabel=r"$\nu$")
ax.legend()
figures.show(
    f"A curve shows nu, the sum of the slopes over n: it rises with lambda to {most:.3f}, where "
    "all slopes of the smaller class are 1. "
    "A narrow band around it is what the certain samples prove."
)

# %% [markdown]
# ## Broken on purpose
#
# A threshold of the origin *below* $\rho^\star$: its loss is no longer a line at the solution, and the machine is another one.

# %%
prob, best = solved[0.2]
rho = -best.intercept
low = ss.solve(one_class(X, 0.2, 0.5 * rho), 1.0, rtol=1e-11)
value, right = (objective(w, -b, 0.2) for w, b in (read(prob, low), read(prob, best)))
print(
    f"objective with a threshold of half of rho: {(value - right) / abs(right):.0%} of it too high"
)
assert value > right + 0.01 * abs(right)

# %% [markdown]
# ## What the frame does not carry
#
# A machine that is safe against noise in its features has the loss $\max_{\|u\|\le\kappa}\max(0, 1 - \langle w, z_i + u\rangle) = \max(0, 1 - \langle w, z_i\rangle + \kappa\|w\|)$ (Nguyen, Nguyen and Tran, 2026, screen it). That is no loss of a *linear* term, so it is not in
# this library. The argument of DGB holds all the same: the objective is strongly convex. The minimum of the Lagrangian over $w$, with $H = \sum_i\alpha_iz_i$, is
#
# $$D(\alpha) = \sum_i\alpha_i - \tfrac1{2\lambda}\Big(\big[\|H\| - \kappa\textstyle\sum_i\alpha_i\big]_+\Big)^2, \qquad w(\alpha) = \tfrac1\lambda\big[\|H\| - \kappa\textstyle\sum_i\alpha_i\big]_+\tfrac{H}{\|H\|},$$
#
# and $m_i(w) = \langle w,z_i\rangle - \kappa\|w\|$ changes by at most $(\|z_i\| + \kappa)\,\|w - w'\|$. So the sphere rule holds with the norm $\|z_i\| + \kappa$. The check:


# %%
class Noisy:
    """The machine that is safe against noise of size kappa."""

    def __init__(self, Z, kappa, lam):
        self.Z, self.kappa, self.lam = Z, kappa, lam

    def margins(self, w):
        """Margins for the worst noise."""
        return self.Z @ w - self.kappa * np.linalg.norm(w)

    def primal(self, w):
        """The objective."""
        return np.maximum(0.0, 1.0 - self.margins(w)).sum() + self.lam / 2 * w @ w

    def point(self, alpha):
        """The w of a dual point."""
        H = alpha @ self.Z
        length = np.linalg.norm(H)
        return max(length - self.kappa * alpha.sum(), 0.0) / (self.lam * max(length, 1e-300)) * H

    def dual(self, alpha):
        """The dual objective."""
        w = self.point(alpha)
        return alpha.sum() - self.lam / 2 * w @ w

    def radius(self, w, alpha):
        """Radius of DGB; an allowance for rounding keeps the gap above 0."""
        gap = max(self.primal(w) - self.dual(alpha), 0.0) + 1e-12 * self.primal(w)
        return np.sqrt(2.0 * gap / self.lam)


# %% [markdown]
# The sphere rule takes the longer norm:


# %%
def decided_by(noisy, w, r):
    """Masks of the samples certain in L and in R, by a ball."""
    norms = np.linalg.norm(noisy.Z, axis=1) + noisy.kappa
    return noisy.margins(w) + r * norms < 1.0, noisy.margins(w) - r * norms > 1.0


# %% tags=["NEW-NU", "nbval-ignore-output"]
def minus_dual(alpha, noisy):
    """What L-BFGS-B minimises, with its slope."""
    return -noisy.dual(alpha), noisy.margins(noisy.point(alpha)) - 1.0


decided = 0
for seed in range(20):
    noisy = Noisy(np.random.default_rng(seed).normal(size=(40, 3)) + [0.8, 0.0, 0.0], 0.2, 2.0)
    visited, options = [], {"ftol": 1e-15, "gtol": 1e-10, "maxiter": 2000}
    result = minimize(minus_dual, np.full(40, 0.5), noisy, "L-BFGS-B", jac=True,
                      bounds=[(0, 1)] * 40, options=options,
                      callback=lambda alpha, visited=visited: visited.append(alpha.copy()))
    star = noisy.point(result.x)
    accuracy = noisy.radius(star, result.x)
    slack = accuracy * (np.linalg.norm(noisy.Z, axis=1) + noisy.kappa)
    for alpha in visited:
        w = noisy.point(alpha)
        r = noisy.radius(w, alpha)
        assert np.linalg.norm(w - star) <= r + accuracy
        in_L, in_R = decided_by(noisy, w, r)
        assert (noisy.margins(star) > 1.0 - slack)[in_R].all()
        assert (noisy.margins(star) < 1.0 + slack)[in_L].all()
        decided += in_R.sum() + in_L.sum()
print(
    f"noise in the features, 20 random machines: {decided} decisions, none wrong; the ball holds "
    "the solution each time"
)
assert decided > 1000

# %% [markdown]
# ### Broken on purpose: the norm without the noise
#
# The random machines use little of the radius and of the norm. In one dimension nearly all is used: twenty samples at $z = -5.9$, one at $-6.1$, $\kappa = 1$, and $\lambda = 490$. With slope 1 for the twenty and 0 for the one,
# $w^\star = -20\cdot4.9/490 = -0.2$, where the twenty have margin 0.98 and the one has 1.02: these slopes are optimal. From $w = 1$ the solution lies on the other side of 0. The ball holds it, and the norm $|z|$ without
# $\kappa$ says that the one sample is in L. It is in R.

# %% tags=["NEW-NU"]
line = Noisy(np.append(np.full(20, -5.9), -6.1)[:, None], 1.0, 490.0)
slopes, start = np.append(np.ones(20), 0.0), np.array([1.0])
star, r = line.point(slopes), line.radius(start, slopes)
used = abs(star - start)[0] / r
without = line.margins(start)[-1] + r * 6.1
assert abs(star[0] + 0.2) < 1e-12
assert line.radius(star, slopes) < 1e-4
assert line.margins(star)[-1] > 1.0
assert 0.9 < used < 1.0 and without < 1.0 and not decided_by(line, start, r)[0][-1]
print(
    f"the solution is at {used:.0%} of the radius; the last sample has margin "
    f"{line.margins(star)[-1]:.2f} there"
)
print(
    f"the ball bounds this margin by {without:.2f} without the noise in the norm, and by "
    f"{without + r:.2f} with it"
)

# %% [markdown]
# ## Exercise
#
# Is the ν-machine *without* an intercept a one-class machine?
#
# <details>
# <summary><b>Solution</b></summary>
#
# Yes, of the samples $z_i = y_i x_i$: $\frac12\|w\|^2 + \sum_i\max(0, \rho - \langle w, z_i\rangle) - \nu n\rho$ is the same objective. With a penalised intercept the samples have one more feature, $y_i$. So `one_class` solves and screens it, too.
#
# </details>
#
# ## Fine print
#
# * **Kernels.** The origin is the zero of the space, so its row of the kernel matrix is 0: `ss.KernelSamples` of the matrix with one more row and column, and the constant of the intercept added.
# * **λ.** With threshold 0 all of the one-class machine is proportional to $1/\lambda$. So $\nu$ is the only path there is.
# * **One class in the middle.** Where the origin is a mean of the samples with weights of at most $1/\nu n$, $w^\star = 0$ and $\rho^\star = 0$: all margins are on the threshold, and nothing is decided.
# * **What was not used.** A rule for a new ν from the exact solution of the old one, by variational inequalities, is the subject of Yang et al. (2024).
#
# Literature: B. Schölkopf, A. Smola, R. Williamson, P. Bartlett, *New support vector algorithms*, Neural Computation 12, 2000: the ν-machine and its property (abstract read); C.-C. Chang, C.-J. Lin, *Training ν-support vector classifiers: theory and algorithms*, Neural
# Computation 13, 2001 (abstract read); D. Crisp, C. Burges, *A geometric interpretation of ν-SVM classifiers*, NIPS 1999 (abstract read); B. Schölkopf, J. Platt, J. Shawe-Taylor, A. Smola, R. Williamson, *Estimating the support of a high-dimensional distribution*, Neural
# Computation 13, 2001. The two machines are taken as scikit-learn states them. Z. Yang, W. Chen, H. Zhang, Y. Xu, L. Shi, J. Zhao, *A safe screening rule with bi-level optimization of ν support vector machine*, 2024 (arXiv 2403.01769): the abstract and the beginning of the introduction were read. It screens both machines
# before training, along ν; its rule could not be compared. T.-H. Nguyen, T.-L. Tran, K. T. Nguyen, *Gap Safe screening rules for fast training of robust support vector machines under feature noise*, 2026 (arXiv 2603.25221): the abstract was read. They say that Lagrangian duality is
# used in place of Fenchel's, as above; the formulas here are our own derivation.
