# %% [markdown]
# # Half-spaces and the midpoint ball
#
# For the lasso there is a region smaller than the midpoint gap bound (MGB): the Hölder dome, a ball cut by a half-space. Can
# other problems have it? Only if the total loss at the solution is known. Where it is not, put together the domes of all its
# possible values: their union is MGB, exactly. So MGB is what is left of the dome. What a cone knows besides can be used better
# than MGB does, and this notebook measures how much that brings: little.
#
# At the end you will have seen
#
# * MGB as the sum of two inequalities, one a ball and one a half-space, and the Hölder dome as the two apart;
# * that the unknown loss value turns the domes back into MGB, proved, and drawn;
# * the same over a cone: the ball of GB with a half-space, which together beat MGB with its half-space;
# * rates of all of them, and where none of it pays.

# %%
import matplotlib.pyplot as plt
import numpy as np
import sympy as sp

import safescreen as ss
from safescreen_book import datasets, figures

# %% [markdown]
# ## The story in a picture
#
# The picture shows a support vector machine in the plane. For each value $v$ of its total loss at the solution there are a ball and a half-space. With a large $v$ the ball is small, and the half-space cuts nothing off. Small $v$: a large ball, of which only a cap is left. The caps of all $v$, dark for small $v$ and light for large, fill the midpoint ball.

# %%
rng = np.random.default_rng(2)
X = rng.normal(size=(14, 2))
y = np.where(rng.random(14) < 0.5, 1, -1)
X += 0.7 * y[:, None]
machine = ss.Problem(ss.Samples(X, y), ss.Hinge())
lam, x = 2.0, np.array([0.2, 0.9])
star = ss.solve(machine, lam, rtol=1e-11)
alpha = np.clip(machine.alpha(x) + 0.1, 0.0, 1.0)


def parts(problem, x, alpha, lam):
    """The loss at x, sum of conjugates at alpha, and H(alpha)."""
    H = problem.terms.adjoint(alpha)
    loss = problem.primal(x, lam) - lam / 2 * np.sum(x * x)
    conjugates = 0.5 * problem.loss.smoothing * np.sum(alpha**2) - np.sum(alpha)
    return loss, conjugates, H


# %%
loss_x, conjugates, H = parts(machine, x, alpha, lam)
figure, ax = figures.panels(1, width=5.2, height=5.0)
ball = ss.spheres.midpoint_gap_bound(machine, x, lam, alpha)
around = ball.radius * np.linspace(-1.6, 1.6, 500)
U, V = np.meshgrid(ball.center[0] + around, ball.center[1] + around)
points = np.stack([U, V], axis=-1)
squares = (points**2).sum(axis=-1)
highest = loss_x + lam * (points @ x - squares)  # inequality (1): v is at most this
lowest = -conjugates - points @ H  # inequality (2): v is at least this
inside = lowest <= highest
values = np.linspace(lowest[inside].min(), highest[inside].max(), 11)[1:-1]
for v, color in zip(values, plt.cm.viridis(np.linspace(0, 0.9, 9)), strict=True):
    dome = (v <= highest) & (v >= lowest)
    ax.contourf(U, V, dome.astype(float), [0.5, 1.5], colors=[color], alpha=0.35)
ax.add_patch(plt.Circle(ball.center, ball.radius, fill=False, linewidth=2, label="midpoint ball"))
ax.plot(*star.x, "*", markersize=12, color="tab:red", label="solution")
ax.set(aspect="equal", xlabel="$x_1$", ylabel="$x_2$")
ax.legend()
figures.show(
    f"A circle is the midpoint ball. In it lie {len(values)} overlapping coloured domes, one for "
    "each value of the loss at the solution, dark for small "
    "values and light for large ones. None reaches beyond the circle. A red star, the solution, "
    "lies inside."
)

# %% [markdown]
# ## The claim
#
# > **The dome and the midpoint ball.** Let $v = \sum_t \ell_t(\langle a_t, x^\star\rangle)$ be the total loss at the solution of
# > $\min_x \sum_t \ell_t(\langle a_t, x\rangle) + \frac\lambda2\|x\|^2$, $x$ any point with total loss $L(x)$, and $\alpha$ a dual point.
# >
# > (a) $x^\star$ is in the dome $\mathcal D_v$: the ball $\lambda\langle z, z - x\rangle \le L(x) - v$, cut by the half-space
# > $\langle H(\alpha), z\rangle \ge -\sum_t\ell_t^*(-\alpha_t) - v$.
# >
# > (b) $\bigcup_v \mathcal D_v$ is the midpoint ball MGB.
# >
# > (c) For a problem whose loss is 0 or infinite, $v = 0$ is known. For the dual of the lasso $\mathcal D_0$ is the Hölder dome.
# >
# > (d) Over a cone, the ball of (b) without a projection, which is GB for any dual point, cut by $\langle H_-, z\rangle \ge 0$, lies in MGB cut by the same half-space.
#
# <details>
# <summary><b>Symbols</b></summary>
#
# | symbol | meaning |
# |---|---|
# | $\ell_t$, $\ell_t^*$ | loss of a term, its conjugate |
# | $H(\alpha)$, $H_-$ | $\sum_t \alpha_t a_t$; what the projection onto the cone adds to it |
# | $x(\alpha)$ | $\frac1\lambda$ times the projection of $H(\alpha)$ |
# | $v$ | the total loss at the solution, which nobody knows |
# | DGB, GB, PGB, MGB | the duality gap, gradient, projected gradient and midpoint gap bounds |
#
# </details>
#
# ## Derivation
#
# ### (a) Two inequalities
#
# These are steps 1 and 2 of [`28-midpoint-gap-bound`](28-midpoint-gap-bound.ipynb), without adding them up. At the solution no direction goes down, and $L$ is convex:
#
# $$L(x) - v + \lambda\langle x^\star, x - x^\star\rangle \ge 0 . \tag{1}$$
#
# Fenchel's inequality at $\langle a_t, x^\star\rangle$, summed over the terms:
#
# $$v \ge -\sum_t\ell_t^*(-\alpha_t) - \langle H(\alpha), x^\star\rangle . \tag{2}$$
#
# ### (b) The unknown value drops out
#
# A point $z$ is in some $\mathcal D_v$ exactly if a number $v$ fits between the two: if
# $-\sum_t\ell_t^*(-\alpha_t) - \langle H, z\rangle \le L(x) + \lambda\langle z, x - z\rangle$. sympy compares that with the ball of MGB.

# %%
z, xs, h, lam_, L, C = sp.symbols("z x h lambda L C", real=True)  # h is H(alpha), C the conjugates
between = L + lam_ * z * (xs - z) - (-C - h * z)  # at least 0: some v fits
gap = L + lam_ / 2 * xs**2 + C + h**2 / (2 * lam_)
midpoint = gap / lam_ - (xs - h / lam_) ** 2 / 4 - (z - (xs + h / lam_) / 2) ** 2
print(
    "room for v, divided by lambda, less the room in MGB:", sp.simplify(between / lam_ - midpoint)
)
assert sp.simplify(between / lam_ - midpoint) == 0

# %% [markdown]
# So nothing is lost in adding (1) and (2), as long as $v$ is unknown. Ten thousand points say the same of the library's ball:

# %% tags=["NEW-HALF"]
clouds = []
for seed in range(20):
    rng = np.random.default_rng(seed)
    point = star.x + rng.normal(size=2)
    dual = np.clip(machine.alpha(point) + 0.3 * rng.random(14), 0.0, 1.0)
    loss_x, conjugates, H = parts(machine, point, dual, lam)
    ball = ss.spheres.midpoint_gap_bound(machine, point, lam, dual)
    cloud = ball.center + 1.5 * ball.radius * rng.uniform(-1.0, 1.0, (500, 2))
    room = loss_x + lam * ((cloud @ point) - (cloud**2).sum(axis=1)) + conjugates + cloud @ H
    inside = np.linalg.norm(cloud - ball.center, axis=1) <= ball.radius
    assert (inside == (room >= 0.0)).all()
    clouds.append(inside)
    value = machine.primal(star.x, lam) - lam / 2 * star.x @ star.x
    assert lam * star.x @ (star.x - point) <= loss_x - value + 1e-9
    assert H @ star.x >= -conjugates - value - 1e-9
print("in some dome and in the midpoint ball: the same", np.size(clouds), "answers")
assert 0.2 < np.mean(clouds) < 0.8

# %% [markdown]
# ### (c) The lasso
#
# The dual of $\min_\beta \frac12\|y - X\beta\|^2 + \mu\|\beta\|_1$ asks for the point $\theta$ nearest to $y$ with
# $|\langle x_j, \theta\rangle| \le \mu$. Each feature is two terms whose loss is 0 where that holds and infinite elsewhere. At the solution, and at every
# feasible $\theta$, the loss is 0: $v$ is known. (1) is the ball with the diameter from $\theta$ to $y$, (2) is
# $\langle X\beta, z\rangle \le \mu\|\beta\|_1$, which is Hölder's inequality. Together: the dome of Tran, Elvira, Herzet and Dang (2022).
#
# It is also the region of Dynamic Sasvi (Yamada and Yamada, 2021). That paper starts from the duality of Fenchel and Rockafellar, which offers two inequalities. The dual objective
# $D(z) = \langle y, z\rangle - \frac12\|z\|^2$ is strongly concave. Let $z$ be its feasible maximiser: then $D(z) \ge D(\theta) + \frac12\|z - \theta\|^2$. Since $D$ is quadratic, this is
# $\langle y - z, z - \theta\rangle \ge 0$, the ball of (1) and not only a ball of Gap Safe. Fenchel's inequality for $\mu\|\cdot\|_1$ at any $\beta$ is (2). Sasvi (Liu et al., 2014) is
# the case of an exact $\beta$ for another $\mu_0$, scaled: both are checked below.
# DGB is the Gap Safe sphere ([`47-when-everything-is-decided`](47-when-everything-is-decided.ipynb)), MGB the sum of the two.


# %%
def largest_over_dome(a, center, radius, normal, level):
    """max <a, z> over |z - center| <= radius, <normal, z> <= level, one for each row a."""
    n = np.linalg.norm(normal)
    depth = (level - normal @ center) / n
    s, norms = a @ normal / n, np.linalg.norm(a, axis=1)
    free = a @ center + radius * norms
    if not abs(depth) < radius:
        return free
    cut = (
        a @ center
        + depth * s
        + np.sqrt(radius**2 - depth**2) * np.sqrt(np.maximum(norms**2 - s**2, 0))
    )
    return np.where(radius * s <= depth * norms, free, cut)


# %%
rng = np.random.default_rng(0)
X_, mu = rng.normal(size=(30, 80)), 8.0
y_ = X_[:, :4] @ np.array([2.0, -1.5, 1.0, 1.0]) + 0.1 * rng.normal(size=30)
both = np.vstack([X_.T, -X_.T])


def regions(beta):
    """Largest inner products of all terms over the three regions, from a point of the lasso."""
    rest = y_ - X_ @ beta
    theta = rest * min(1.0, mu / np.abs(X_.T @ rest).max())
    weight = np.abs(beta).sum()
    gap = max(0.5 * rest @ rest + mu * weight - y_ @ theta + 0.5 * theta @ theta, 0.0)
    apart = theta - rest  # x and x(alpha) of the claim
    radii = np.sqrt(2.0 * gap), np.sqrt(max(gap - apart @ apart / 4, 0.0))
    norms = np.linalg.norm(both, axis=1)
    half = np.linalg.norm(theta - y_) / 2
    dome = both @ (theta + y_) / 2 + half * norms
    if beta.any():
        dome = largest_over_dome(both, (theta + y_) / 2, half, X_ @ beta, mu * weight)
    return both @ theta + radii[0] * norms, both @ (theta + rest) / 2 + radii[1] * norms, dome


# %%
beta, step, rows = np.zeros(80), 1.0 / np.linalg.norm(X_, 2) ** 2, []
for _ in range(60):
    dgb, mgb, dome = regions(beta)
    assert (dome <= mgb + 1e-9).all() and (mgb <= dgb + 1e-9).all()
    rows.append([(np.maximum(most[:80], most[80:]) < mu).mean() for most in (dgb, mgb, dome)])
    beta = beta + step * (X_.T @ (y_ - X_ @ beta))
    beta = np.sign(beta) * np.maximum(np.abs(beta) - step * mu, 0.0)
means = np.mean(rows, axis=0)
print(
    "features left out, mean over 60 iterations: DGB {:.2f}   MGB {:.2f}   dome {:.2f}".format(
        *means
    )
)
assert means[2] > means[1] > means[0]

# %% [markdown]
# The dome is best, and MGB is between it and DGB, in every iteration and for every feature. The two readings of its inequalities, the second for Sasvi, whose half-space is
# $\langle \frac y{\mu_0} - \theta_0, z - \theta_0\rangle \le 0$ with the exact $\theta_0 = (y - X\beta)/\mu_0$ and $z$ scaled by $\mu$:

# %% tags=["NEW-HALF"]
Y, Z, T = sp.symbols("y z theta", real=True)
strongly = (Y * Z - Z**2 / 2) - (Y * T - T**2 / 2) - (Z - T) ** 2 / 2
print("strong concavity less the ball of (1):", sp.simplify(strongly - (Y - Z) * (Z - T)))
assert sp.simplify(strongly - (Y - Z) * (Z - T)) == 0

mu_0, exact_beta = 1.3 * mu, np.zeros(80)
for _ in range(20000):
    exact_beta = exact_beta + step * (X_.T @ (y_ - X_ @ exact_beta))
    exact_beta = np.sign(exact_beta) * np.maximum(np.abs(exact_beta) - step * mu_0, 0.0)
theta_0 = (y_ - X_ @ exact_beta) / mu_0
theta = mu * theta_0  # feasible for mu
# around a point of both planes
cloud = theta + 0.1 * np.random.default_rng(1).normal(size=(4000, 30))
sasvi = (cloud / mu - theta_0) @ (y_ / mu_0 - theta_0) <= 0.0
dome = cloud @ (X_ @ exact_beta) <= mu * np.abs(exact_beta).sum()
print(
    f"points in the half-space of Sasvi: {sasvi.sum()}, in that of the dome: {dome.sum()}, in one "
    f"only: {(sasvi != dome).sum()}"
)
assert (sasvi == dome).all() and 1000 < dome.sum() < 3000

# %% [markdown]
# So the three are one region. Sasvi came first, with exact solutions; Dynamic Sasvi takes any reference.
#
# ### (d) Over a cone
#
# A cone adds a third inequality: $\langle z, H_-\rangle \ge 0$ for all of its points. MGB adds that up with the others too, with factor 1. Keep it apart,
# and (1) and (2) give the ball of (b) around $\frac12(x + \frac1\lambda H)$, without a projection. That is the ball of GB, for any dual point (equation 4 of
# [`11-gradient-bound`](11-gradient-bound.ipynb)). If $z$ is in it and in the half-space, it is in MGB, since the room of GB and a number $\ge 0$ add up to the room of MGB:

# %%
minus = sp.symbols("m", real=True)  # H_-: lambda x(alpha) = h + m, and <h + m, m> = 0
projected = L + lam_ / 2 * xs**2 + C + (h + minus) ** 2 / (2 * lam_)
room_mgb = (
    projected / lam_ - (xs - (h + minus) / lam_) ** 2 / 4 - (z - (xs + (h + minus) / lam_) / 2) ** 2
)
print("room of MGB less that of GB, times lambda:", sp.simplify(lam_ * room_mgb - between))
assert sp.simplify(lam_ * room_mgb - between - minus * z) == 0

# %% [markdown]
# The largest margin over GB with the half-space is the smallest one over the balls with factor $k \ge 0$ in place of 1. MGB with the half-space takes $k \ge 1$. How much
# is between 0 and 1? Triplets of iris and wine, wine with four columns of noise, and random ones, at references from good to bad: solutions
# for $\lambda/0.9$, made shorter by 0.2, 3 and 10 percent:


# %%
def random_triplets(y, n, rng):
    i, j, k = rng.integers(0, len(y), (3, 4 * n))
    good = (i != j) & (y[i] == y[j]) & (y[i] != y[k])
    return np.unique(np.stack([i, j, k], axis=1)[good], axis=0)


def balls_and_normal(problem, x, lam):
    """MGB and GB with the slopes at x, and H_-, the normal of the half-space."""
    mgb, gb = (
        build(problem, x, lam)
        for build in (ss.spheres.midpoint_gap_bound, ss.spheres.gradient_bound)
    )
    return mgb, gb, problem.evaluate(x, lam).minus


# %%
loss = ss.SmoothedHinge(0.05)
iris, wine = (datasets.load(name, return_X_y=True) for name in ("iris", "wine"))
rng = np.random.default_rng(0)
noisy = np.hstack([wine[0], wine[0].std() * rng.standard_normal((178, 4))])
cloud, labels = rng.standard_normal((60, 8)), rng.integers(0, 2, 60)
problems = {
    "iris": ss.Problem(ss.Triplets.from_labels(*iris, k=5), loss),
    "wine": ss.Problem(ss.Triplets.from_labels(*wine, k=5), loss),
    "noisy wine": ss.Problem(ss.Triplets(noisy, random_triplets(wine[1], 2500, rng)), loss),
    "random": ss.Problem(ss.Triplets(cloud, random_triplets(labels, 2500, rng)), loss),
}


def rates(problem, x, lam):
    """Shares of the terms that are screened, by name of the region."""
    mgb, gb, minus = balls_and_normal(problem, x, lam)
    return {
        "MGB": ss.rules.sphere(problem, mgb).rate,
        "MGB, half-space": ss.rules.halfspace(problem, mgb, minus).rate,
        "GB, half-space": ss.rules.halfspace(problem, gb, minus).rate,
    }


# %% tags=["NEW-HALF"]
table = {}
for name, problem in problems.items():
    found = []
    for part in (0.3, 0.05, 0.005):
        lam = part * problem.lam_max()
        best = ss.solve(problem, lam, rtol=1e-8)
        known = ss.solve(problem, lam / 0.9, tol=0.0, rtol=1e-11, screening=()).x
        for shortened in (0.9, 0.97, 0.998):
            x = shortened * known
            _, gb, minus = balls_and_normal(problem, x, lam)
            assert problem.cone.norm(best.x - gb.center) <= gb.radius + best.eps
            assert np.sum(minus * best.x) >= -1e-9 * np.linalg.norm(minus) * np.linalg.norm(best.x)
            found.append(rates(problem, x, lam))
            ordered = list(found[-1].values())
            assert ordered[0] <= ordered[1] <= ordered[2] + 1e-12
    table[name] = {key: np.mean([row[key] for row in found]) for key in found[0]}
print("mean share screened  " + "".join(f"{key:>17}" for key in table["iris"]))
for name, row in table.items():
    print(f"{name:21}" + "".join(f"{value:17.4f}" for value in row.values()))

# %% tags=["nbval-ignore-output"]
beyond = {name: 1000.0 * (row["GB, half-space"] - row["MGB"]) for name, row in table.items()}
figures.bars(
    beyond,
    xlabel="terms in a thousand, screened beyond MGB",
    number="{:.1f}",
)
figures.show(
    "Bars show the terms per mille that GB with the half-space screens beyond MGB, one for each "
    f"problem: {figures.listed(beyond, '{:.1f}')}."
)

# %% [markdown]
# **Verdict.** The order of the claim holds everywhere. On real data the half-space decides less than one more term in a thousand. On random triplets, where the cone matters most, it decides two. STS19 cuts
# GB by the half-space of another normal, $Q_-$ in place of $H_-$. The linear rule costs a second margin of each term. So none of it becomes a
# default: MGB with the sphere rule stays.
#
# ## Broken on purpose
#
# The dome of (a) needs the true $v$. Take the loss at the reference for it, $v = L(x)$: easy to have, and wrong. The solution is thrown out.

# %%
lam, outside = 2.0, 0
for seed in range(20):
    point = star.x + np.random.default_rng(seed).normal(size=2)
    loss_x, conjugates, H = parts(machine, point, machine.alpha(point), lam)
    outside += lam * star.x @ (star.x - point) > 1e-9  # the ball with v = L(x)
print("of 20 references, solutions outside of the ball of the wrong v:", outside)
assert outside > 3

# %% [markdown]
# ## Exercise
#
# Losses are never negative, so $v \ge 0$. Which ball does that give, and when is it smaller than MGB?
#
# <details>
# <summary><b>Solution</b></summary>
#
# (1) with $v \ge 0$: $\lambda\langle z, z - x\rangle \le L(x)$, the ball around $x/2$ with squared radius $\|x\|^2/4 + L(x)/\lambda$. It knows nothing of the dual point. It can be
# smaller than MGB when $\|x\|^2/4 + L(x)/\lambda$ is below the squared radius of MGB: for $\lambda$ so small that the solution has next to no loss, as in a separable machine.
#
# </details>
#
# ## Fine print
#
# * (b) holds for any linear term: it moves $v$ by $\langle c, x^\star\rangle$ on both sides.
# * The regions of this notebook are computed without allowances for rounding, and are used for rates only. What `ss.solve` uses has them.
#
# Literature: J. Liu, Z. Zhao, J. Wang, J. Ye, *Safe screening with variational inequalities and its application to Lasso*, ICML 2014: its half-space and ball were taken from a public program for it. H. Yamada, M. Yamada, *Dynamic
# Sasvi: strong safe screening for norm-regularized least squares*, NeurIPS 2021 (arXiv 2102.03780): the abstract was read, and a public program that names it, for another norm, with this ball and this half-space; the
# theorems were not at hand. T.-L. Tran, C. Elvira, H.-P. Dang, C. Herzet, *Beyond GAP screening for Lasso by exploiting new dual cutting half-spaces*, 2022 (arXiv 2203.00987): abstract and introduction were
# read; the dome is derived here from Hölder's inequality, after which it is named. The same authors, *One to beat them all: "RYU"*, 2023 (arXiv 2312.00640): the abstract and the problem, $f(Ax) + g(x)$ with $f$ smooth, were read, the
# theorem was not at hand. What (b) says of it: a ball made of (1) and (2) alone holds every $\mathcal D_v$, so it holds MGB. None of this kind is smaller, and the abstract says that RYU is as small as any before it. Hence "very likely".
