# %% [markdown]
# # Nearly the best direction
#
# An iteration of Frank-Wolfe searches for the atom with the most negative product with the gradient.
# HDSL19 section 3.2.3 makes the search cheap in two ways: it uses a random *mini-batch* of the
# triplets, or only the atoms of two features. How much worse are these directions?
#
# At the end you will have seen that
#
# * large deviations of an atom's value on a batch are exponentially rare, by Hoeffding's inequality
#   for samples without replacement. The proof has three steps, and we give the constants;
# * Bernstein's bound is narrower on these data. Many triplets have small values of the features of an atom, or none, and
#   that makes the variance small;
# * a bound for *all* atoms at once contains the logarithm of their number, so the deviation depends
#   on $\log d$;
# * with batches of fixed size the error has a guarantee like Proposition 1, but only down to a floor, which is proportional
#   to the deviation. With fixed steps the error remains at the floor. With a line search over all
#   triplets it slowly falls below the floor;
# * the feature heuristic finds the best atom with a probability of at least $2/d$, and for some
#   gradients the probability is exactly $2/d$;
# * on data it finds the best atom far more often;
# * the cost of the heuristic does not depend on $d$, but its progress does: in a million dimensions
#   nearly all features that it draws are empty.

# %%
import itertools
import math
from fractions import Fraction

import numpy as np
import sympy as sp
from scipy import sparse

import safescreen as ss
from safescreen.hdsl import FrankWolfe, nearest_triplets
from safescreen.hdsl.constraints import Constraints
from safescreen.hdsl.forward import exact, heuristic
from safescreen_book import datasets, figures

# %% [markdown]
# ## The idea in a picture
#
# The picture is about the digits and one atom, which couples two pixels. The product of this atom with the gradient is a mean over all triplets (the black line).
# The search for the best atom needs such a mean for each atom. A random batch of $m$ triplets gives a mean that deviates a little.
# The picture shows these means for three sizes of batches, with 2000 batches of each size. Four times as many triplets halve the width of their
# distribution. Large deviations are rare: their share falls exponentially in $m$. A theorem bounds this share.

# %%
images, classes = datasets.load("digits", return_X_y=True)
near = nearest_triplets(images[:400], classes[:400])
x, y, z = images[:400][near.T]
i, j = 20, 44  # two pixels in the middle of the image
products = -(x[:, i] + x[:, j]) * ((y - z)[:, i] + (y - z)[:, j])  # at M = 0 each slope is 1
draw = np.random.default_rng(0)
figure, ax = figures.panels(1, width=6.4, height=3.2)
widths = {}
for m, colour in zip((20, 80, 320), figures.OTHERS, strict=False):
    means = [draw.choice(products, m, replace=False).mean() for _ in range(2000)]
    widths[f"for batches of {m}"] = np.std(means)
    look = {"histtype": "step", "linewidth": 1.5, "color": colour, "label": f"m = {m}"}
    ax.hist(means, bins=60, density=True, **look)
ax.axvline(products.mean(), color="black", linewidth=1.0)
ax.set(xlabel="product of the atom with the gradient of a batch", yticks=[])
ax.set_title(f"one atom, by batches from {len(products)} triplets", loc="left", fontsize=10)
ax.legend()
figures.show(
    f"Outlines are histograms of the means of {len(means)} batches of each size. A line marks the "
    "product over all triplets. The standard deviations of the means are "
    f"{figures.listed(widths, '{:.2f}')}."
)

# %% [markdown]
# ## The claims
#
# Let $G_t = -g_t A_t$ be the gradient of one triplet, with $0 \le g_t \le 1$. A batch consists of $m$ of the $T$ triplets,
# drawn without replacement. (The paper writes $M$ for $m$.)
#
# > **(7)** The probability that $\big|\frac1m \sum_{t \in \text{batch}} \langle B, G_t\rangle - \frac1T
# > \sum_t \langle B, G_t\rangle\big|$ is larger than some constant decreases exponentially with $m$, and
# > convergence guarantees similar to Proposition 1 follow for inexact gradients.
#
# > **Heuristic.** Draw a feature $i$ of $d$; find the best atom on $i$ and any $j$; then find the best atom on
# > this $j$ and any $k$. It "gives good performance in practice".
#
# The constants of (7) are known (Serfling 1974). Let $R$ be the range of the $T$ numbers
# $\langle B, G_t\rangle$ and $\sigma^2$ their variance. Then the deviation $|\cdot|$ of (7) satisfies
#
# $$P(|\cdot| \ge \varepsilon) \le 2 \exp\Big(\frac{-2 m \varepsilon^2}{(1 - \frac{m-1}{T}) R^2}\Big), \qquad
# P(|\cdot| \ge \varepsilon) \le 2 \exp\Big(\frac{-m \varepsilon^2}{2 \sigma^2 + \frac23 R\varepsilon}\Big) .$$
#
# If no entry of an $A_t$ is larger than $B_X$ in absolute value, then
# $|\langle B, A_t\rangle| \le 4 \lambda B_X$ and $R \le 8 \lambda B_X$.
#
# | assumption | needed for |
# |---|---|
# | the batch is drawn uniformly | the mean of the batch is unbiased |
# | the data are bounded | $R$ is finite |
# | the batch and the atom are independent | the bound for one atom; the best atom of the batch depends on the batch |
#
# <details>
# <summary><b>Symbols</b></summary>
#
# | | |
# |---|---|
# | minimise | $f(M) = \frac1T \sum_t \ell(\langle A_t, M\rangle)$ with $A_t = x_t (y_t - z_t)^\top$ |
# | loss | $\ell(u) = 0$ for $u \ge 1$, $\frac12 (1-u)^2$ for $0 \le u \le 1$, $\frac12 - u$ for $u \le 0$ |
# | domain | $M \in D_\lambda = \mathrm{conv} \{\lambda (e_i \pm e_j)(e_i \pm e_j)^\top : i \ne j\}$; its corners are the *atoms* |
# | gradient | $G = -\frac1T \sum_t g_t A_t$ with $g_t = -\ell'(\langle A_t, M\rangle)$ |
# | Frank-Wolfe gap | $g(M) = \max_{\text{atoms } B} \langle G, M - B\rangle \ge f(M) - f^\star$ |
#
# </details>

# %% [markdown]
# ## Sampling without replacement is not worse than with replacement
#
# **Hoeffding 1963**: for a convex function $\varphi$,
# $\mathbb{E}\, \varphi(\text{sum without replacement}) \le \mathbb{E}\, \varphi(\text{sum with replacement})$.
# The proof has two steps. A sample with replacement has some number of distinct elements, which are a smaller
# sample without replacement. Given the distinct elements, the expectation of the sum is $m$ times their
# mean. So by Jensen's inequality the average of $\varphi(\text{sum})$ is at least $\varphi$ of $m$ times
# this mean. Now draw $m$ elements without replacement. Their sum is the average of $m$ times the mean of a subset, over all
# subsets with the given number of elements. A second use of Jensen's inequality gives the
# claim. The cell checks it in exact arithmetic, with all samples listed:

# %%
rng = np.random.default_rng(0)
for T, m in ((4, 2), (5, 3), (6, 4)):
    numbers = [Fraction(int(v)) for v in rng.integers(-9, 10, T)]
    moments = {}
    for name, phi in (
        ("second moment", lambda v: v * v),
        ("third moment around 3", lambda v: abs(v - 3) ** 3),
        ("second moment above 0", lambda v: max(v, 0) ** 2),
    ):
        without = [phi(sum(chosen)) for chosen in itertools.combinations(numbers, m)]
        replaced = [phi(sum(chosen)) for chosen in itertools.product(numbers, repeat=m)]
        moments[name] = sum(without) / len(without), sum(replaced) / len(replaced)
        assert moments[name][0] <= moments[name][1]
    without, replaced = map(float, moments["second moment"])
    print(f"second moment of the sum, T = {T}, m = {m}: {without:8.2f} <= {replaced:8.2f}")

# %% [markdown]
# ## From moments to tails
#
# With $\varphi(v) = e^{sv}$ we may therefore treat the sum as a sum of $m$ independent numbers. A
# number with mean zero and range $R$ has $\log \mathbb{E} e^{sv} \le s^2 R^2/8$ (Hoeffding's lemma,
# derived in notebook [`44a-blocks-and-bounded-differences`](44a-blocks-and-bounded-differences.ipynb)). A number with mean zero,
# variance $\sigma^2$ and $|v| \le R$ has
# $\log \mathbb{E} e^{sv} \le \frac{s^2 \sigma^2/2}{1 - sR/3}$ (Bernstein: compare
# $e^v - 1 - v \le \frac{v^2/2}{1 - v/3}$ term by term, $j! \ge 2 \cdot 3^{j-2}$). Then use Markov's
# inequality and choose the best $s$:

# %%
s, m, R, eps, sigma = sp.symbols("s m R epsilon sigma", positive=True)
hoeffding = m * s**2 * R**2 / 8 - s * m * eps
at = hoeffding.subs(s, sp.solve(sp.diff(hoeffding, s), s)[0])
print("Hoeffding:", sp.simplify(at))
assert sp.simplify(at + 2 * m * eps**2 / R**2) == 0
assert all(math.factorial(j) >= 2 * 3 ** (j - 2) for j in range(2, 60))
choice = eps / (sigma**2 + R * eps / 3)
bernstein = m * s**2 * sigma**2 / (2 * (1 - s * R / 3)) - s * m * eps
at = sp.simplify(bernstein.subs(s, choice))
print("Bernstein:", sp.factor(at))
assert sp.simplify(at + m * eps**2 / (2 * sigma**2 + 2 * R * eps / 3)) == 0

# %% [markdown]
# Serfling's factor $1 - \frac{m-1}{T}$ makes the bound small when the batch contains nearly all triplets.
# Its proof needs a martingale, and we do not derive it. We check the factor with numbers.
#
# ## Data
#
# We use two data sets. The first has 100 images of the digits of scikit-learn; about half of their 64
# pixels are zero. The second is sparse like a text: 100 points, each with 15 of 2000 features. The
# gradients are taken after 30 iterations of a run.

# %%
loss = ss.SmoothedHinge(gamma=1.0)


def sparse_points(n, d, s, seed, informative=20):
    """Draw points with s entries and two classes. A fifth of the entries are informative features
    of the class."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    rows = np.zeros((n, s), int)
    for i in range(n):
        own = rng.choice(informative // 2, s // 5, replace=False) + y[i] * (informative // 2)
        others = rng.choice(np.arange(informative, d), s - own.size, replace=False)
        rows[i] = np.concatenate((own, others))
    values = rng.uniform(0.2, 1.0, n * s)
    columns = np.sort(rows, axis=1).ravel()
    return sparse.csr_array((values, columns, np.arange(0, n * s + 1, s)), shape=(n, d)), y


def digits(n=100):
    """Return the first images, with values from 0 to 1, and their labels."""
    X, y = datasets.load("digits", return_X_y=True)
    return sparse.csr_array(0.5 * (X[:n] + 1.0)), y[:n]


# %%
class Gradient:
    """The slopes of the triplets at an iterate, and the products of an atom with the gradients of
    the triplets."""

    def __init__(self, X, y, scale, iterations):
        self.X, self.scale = X, scale
        self.triplets = nearest_triplets(X, y)
        self.T = len(self.triplets)
        fitted = FrankWolfe(scale, forward="exact", max_iter=iterations).fit(X, self.triplets)
        self.similarity = fitted.similarity_
        self.slopes = loss.alpha(self.similarity.margins(X, self.triplets))
        x, y, z = (X[self.triplets[:, c]] for c in range(3))
        self.x, self.step = x.tocsc(), (y - z).tocsc()

        self.heaviest = tuple(self.similarity.atoms[np.argmax(self.similarity.weights)].tolist())
        first = int(x[[7]].indices[0])
        second = int((y - z).tocsr()[[7]].indices[0])
        self.other = (first, second, 1) if first != second else (first, second + 1, 1)

    def of(self, atom):
        """Return ``<B, G_t>`` for all triplets."""
        i, j, sign = atom
        at_x = (self.x[:, [i]] + sign * self.x[:, [j]]).toarray().ravel()
        at_step = (self.step[:, [i]] + sign * self.step[:, [j]]).toarray().ravel()
        return -self.scale * self.slopes * at_x * at_step


# %%
sets = {
    "digits": Gradient(*digits(), 1.0, 30),
    "sparse": Gradient(*sparse_points(100, 2000, 15, 1), 3.0, 30),
}
for name, g in sets.items():
    largest_x, largest_step = np.abs(g.x).max(), np.abs(g.step).max()
    values = g.of(g.heaviest)
    assert np.ptp(values) <= 8 * g.scale * largest_x * largest_step
    share = np.mean(values != 0)
    print(f"{name}: {g.T} triplets; for the heaviest atom {share:.0%} of the products are ", end="")
    print(f"not 0, sigma / range {values.std() / np.ptp(values):.3f}")


# %% [markdown]
# ## One atom: Monte Carlo against the bounds
#
# For each data set we use the atom of the largest weight and an atom of two features of a triplet. We draw
# 1500 batches of each of several sizes. `measured` is the deviation that 1 % of the batches exceed.
# The bounds are for the probability $\delta = 0.01$, with the true range and variance. `beyond` is the share of batches with
# a deviation above the bound of Bernstein, and above the bound of Hoeffding.

# %%
def deviations(values, m, repeats, rng):
    """Return |mean of a batch - mean of all| for many batches."""
    keys = rng.random((repeats, values.size))
    if m < values.size:
        chosen = np.argpartition(keys, m - 1, axis=1)[:, :m]
    else:
        chosen = np.tile(np.arange(values.size), (repeats, 1))
    return np.abs(values[chosen].mean(axis=1) - values.mean())


def hoeffding_width(values, m, delta):
    """Return the deviation with probability delta by Hoeffding's bound."""
    return np.ptp(values) * math.sqrt((1 - (m - 1) / values.size) * math.log(2 / delta) / (2 * m))


def bernstein_width(values, m, delta):
    """Return the deviation with probability delta by Bernstein's bound."""
    log, R = math.log(2 / delta), np.ptp(values)
    return R * log / (3 * m) + math.sqrt((R * log / (3 * m)) ** 2 + 2 * values.var() * log / m)


# %% tags=["HDSL19-D3.2.3"]
delta = 0.01
rng = np.random.default_rng(2)
print("set      atom             m  measured  Bernstein  Hoeffding  beyond (allowed 0.01)")
for name, g in sets.items():
    for kind, atom in (("heaviest", g.heaviest), ("another", g.other)):
        values = g.of(atom)
        for m in (10, 50, 250, 1000):
            deviation = deviations(values, m, 1500, rng)
            widths = bernstein_width(values, m, delta), hoeffding_width(values, m, delta)
            beyond = [float(np.mean(deviation >= width)) for width in widths]
            assert max(beyond) <= delta
            numbers = np.quantile(deviation, 1 - delta), *widths
            row = "  ".join(f"{value:8.4f}" for value in numbers)
            print(f"{name:8} {kind:9} {m:8}  {row}    {beyond[0]:.4f} {beyond[1]:.4f}")

# %% [markdown]
# No measured deviation exceeds its bound. Bernstein's bound is smaller in every row, because the
# standard deviation is a small fraction of the range. The word *exponentially* is right: for a fixed $\varepsilon$
# the logarithm of the probability falls at least linearly in $m$.

# %%
g = sets["digits"]
values = g.of(g.heaviest)
level = 1.5 * values.std() / math.sqrt(40)
sizes = (20, 40, 80, 160, 240)
tails = []
for size in sizes:
    tails.append(np.mean(deviations(values, size, 6000, rng) >= level))
    serfling = 1 - (size - 1) / values.size
    assert tails[-1] <= 2 * math.exp(-2 * size * level**2 / (serfling * np.ptp(values) ** 2))
slope = np.polyfit(sizes, np.log(np.maximum(tails, 1e-4)), 1)[0]
print(f"P(deviation >= eps) for m = {sizes}:", " ".join(f"{tail:.4f}" for tail in tails))
print(f"slope of its logarithm in m: {slope:.4f}; ", end="")
print(f"slope of Hoeffding's bound {-2 * level**2 / np.ptp(values) ** 2:.4f}")
assert slope < 0.0

# %% [markdown]
# A batch of all triplets has no deviation *without replacement*. With replacement its deviation is larger than Serfling's
# factor allows:

# %% tags=["nbval-ignore-output"]
T = values.size
indices = rng.integers(0, T, (1500, T))
with_replacement = np.abs(values[indices].mean(axis=1) - values.mean())
largest = np.quantile(with_replacement, 0.99)
bound = hoeffding_width(values, T, delta)
print("deviation of a batch with m = T: without replacement below 1e-12; ", end="")
print(f"with replacement {largest:.4f}, above the bound {bound:.4f}")
assert deviations(values, T, 3, rng).max() < 1e-12
assert largest > bound


# %% [markdown]
# ## All atoms at once
#
# The atom that a batch chooses depends on the batch, so the bound for a fixed atom does not apply to it.
# A bound for $N$ atoms at once needs $\delta/N$ in place of $\delta$, so $\log(2/\delta)$ becomes
# $\log(2N/\delta)$. Here $N = d(d-1)$, or the number of atoms with a feature of some triplet. So the bound depends on $d$,
# as a logarithm. Let $\hat B$ be the best atom on the batch, $\hat G$ the gradient on the batch, and $B^\star$ the best atom.
# The bound for $\hat B$ and the bound for $B^\star$ give
#
# $$\langle \hat B, G\rangle \le \langle \hat B, \hat G\rangle + \varepsilon
# \le \langle B^\star, \hat G\rangle + \varepsilon \le \langle B^\star, G\rangle + 2 \varepsilon .$$
#
# The library draws the batch before any other random number. So we can draw the same batch again and compute
# with dense matrices. In 20 first steps from the same matrix, the library must report the gap on its
# batch. For a batch of all triplets it must report the gap on all triplets.

# %%
def all_products(g, batch):
    """Return <B, G> of all atoms by the triplets of a batch, with a row for each sign."""
    x, step = g.x.tocsr()[batch].toarray(), g.step.tocsr()[batch].toarray()
    G = -x.T @ (g.slopes[batch, None] * step) / len(batch)
    diagonal = np.diag(G)[:, None] + np.diag(G)[None, :]
    cross = G + G.T
    upper = np.triu_indices(len(G), 1)
    return g.scale * np.stack(((diagonal + cross)[upper], (diagonal - cross)[upper]))


# %% tags=["HDSL19-D3.2.3", "batches"]
g = sets["digits"]
rng = np.random.default_rng(4)
full = all_products(g, np.arange(g.T))
print(f"digits: {full.size} atoms, best value {full.min():.4f}")
u = g.similarity.margins(g.X, g.triplets)
for seed in range(20):
    m = g.T if seed == 0 else 50 * seed
    batch = np.random.default_rng(seed).choice(g.T, m, replace=False, shuffle=False)
    first = FrankWolfe(g.scale, forward="exact", batch=m, max_iter=1, random_state=seed)
    first.fit(g.X, g.triplets, start=g.similarity)
    by_definition = -g.slopes[batch] @ u[batch] / m - all_products(g, batch).min()
    assert np.isclose(first.history_[0].gap, by_definition, rtol=1e-9, atol=1e-12)
gap = -g.slopes @ u / g.T - full.min()
first = FrankWolfe(g.scale, forward="exact", batch=g.T, max_iter=1)
first.fit(g.X, g.triplets, start=g.similarity)
assert abs(gap - first.history_[0].gap) < 1e-12
print(f"gap {gap:.6f}, and the same to 1e-12 on a batch of all triplets; 20 batches agree")

# %% [markdown]
# The best atom of a batch may be worse than the best atom. The difference of their values is at most twice the largest
# deviation:

# %% tags=["HDSL19-D3.2.3", "batches"]
ranges = 8 * g.scale * np.abs(g.x).max() * np.abs(g.step).max()
print(f"{'m':>4}   largest deviation (95 %)   Hoeffding for all   ", end="")
print("loss of the batch's atom (95 %)   twice the deviation")
losses = {}
for m in (20, 80, 320, 1280):
    worst, lost = [], []
    for _ in range(60):
        on_batch = all_products(g, rng.choice(g.T, m, replace=False))
        worst.append(np.abs(on_batch - full).max())
        lost.append(full.ravel()[np.argmin(on_batch)] - full.min())
        assert lost[-1] <= 2 * worst[-1]
    width = ranges * math.sqrt((1 - (m - 1) / g.T) * math.log(2 * full.size / 0.05) / (2 * m))
    losses[m] = np.quantile(worst, 0.95), width, np.quantile(lost, 0.95)
    assert losses[m][0] <= width
    print(f"{m:5} {losses[m][0]:15.4f} {width:23.4f} {losses[m][2]:22.4f} {2 * losses[m][0]:27.4f}")

# %% tags=["nbval-ignore-output"]
sizes = list(losses)
measured = {
    "largest of all atoms": [losses[m][0] for m in sizes],
    "loss of the batch's atom": [max(losses[m][2], 1e-4) for m in sizes],
}
dots = {name: (sizes, values) for name, values in measured.items()}
bounds = {"Hoeffding, all atoms": [losses[m][1] for m in sizes]}
labels = {"xlabel": "size m of the batch", "ylabel": "deviation"}
title = "digits: deviation of a batch"
figures.lines(bounds, sizes, dots=dots, log="xy", title=title, **labels)
times = min(np.divide(bounds["Hoeffding, all atoms"], measured["largest of all atoms"]))
figures.show(
    "On logarithmic axes, a line shows Hoeffding's bound of the deviation of a batch from the "
    "gradient, against the size of the batch. Dots show the largest deviation of all atoms, and "
    "by how much the batch's atom is worse than the best atom. The bound is at least "
    f"{times:.0f} times the largest deviation."
)
slope = np.polyfit(np.log(sizes[:3]), np.log([losses[m][0] for m in sizes[:3]]), 1)[0]
print(f"exponent of the largest deviation in m, 20 to 320: {slope:.2f} (expected -1/2)")
assert -0.65 < slope < -0.4

# %% [markdown]
# The bound grows like $\sqrt{\log d}$. It is true, but much larger than the measured deviations, because
# it uses a bound $R \le 8\lambda B_X$ of the range for all atoms.
#
# ## Convergence with batches of fixed size
#
# A direction from a batch is worse than the best direction by at most $2\varepsilon$. The recursion of notebook
# [`41-frank-wolfe-and-away-steps`](41-frank-wolfe-and-away-steps.ipynb) becomes
# $h \leftarrow (1 - \gamma) h + 2 \gamma \varepsilon + \frac12 \gamma^2 C$ with $\gamma = 2/(k+2)$.

# %%
k, C, floor = sp.symbols("k C floor", positive=True)
gamma = 2 / (k + 2)
step = (1 - gamma) * (floor + 2 * C / (k + 2)) + gamma * floor + gamma**2 * C / 2
difference = sp.simplify(floor + 2 * C / (k + 3) - step)
print("floor + 2C/(k+3) minus the bound after the step:", sp.factor(difference))
assert sp.simplify(difference - 2 * C / ((k + 2) ** 2 * (k + 3))) == 0

# %% [markdown]
# So the guarantee is $f(M_k) - f^\star \le 2\varepsilon + \frac{2C}{k+2}$, with a **floor** of
# $2 \varepsilon \sim \lambda B_X \sqrt{\log d / m}$. The results that the paper cites have the rate $1/k$
# if the error of the directions falls like $1/k$. Batches then need $m \sim k^2 \log d$ triplets, which are all
# triplets for $k \sim \sqrt T$. If the error of the directions does not fall, as with batches of fixed size, these results
# have the same floor. So the guarantee is *similar* to Proposition 1, as the paper says. Does the error really remain at the
# floor? We use steps of size $2/(k+2)$ and batches of fixed size on the digits. (`floor` is the mean of
# $\langle \hat B - B^\star, G\rangle$ at the optimum: by how much the batch's atom is worse there.)

# %%
def fixed_steps(g, m, steps, rng, at):
    """Frank-Wolfe with batches and steps 2/(k+2). Return the objectives at the iterations `at`."""
    x, step, d = g.x.toarray(), g.step.toarray(), g.X.shape[1]
    M = np.zeros((d, d))
    upper = np.triu_indices(d, 1)
    values = []
    for k_ in range(steps):
        batch = slice(None) if m is None else rng.choice(g.T, m, replace=False)
        slopes_ = loss.alpha(np.sum((x[batch] @ M) * step[batch], axis=1))
        G = x[batch].T @ (slopes_[:, None] * step[batch])
        cross = G + G.T
        best_pair = np.argmax((np.diag(G)[:, None] + np.diag(G) + np.abs(cross))[upper])
        i_, j_ = upper[0][best_pair], upper[1][best_pair]
        e = np.zeros(d)
        e[i_], e[j_] = 1.0, np.sign(cross[i_, j_]) or 1.0
        M += 2.0 / (k_ + 2) * (g.scale * np.outer(e, e) - M)
        if k_ + 1 in at:
            values.append(loss.value(np.sum((x @ M) * step, axis=1)).mean())
    return np.array(values)


# %% tags=["HDSL19-D3.2.3", "nbval-ignore-output"]
g = sets["digits"]
optimal = FrankWolfe(g.scale, forward="exact", max_iter=400).fit(g.X, g.triplets)
lower = max(row.objective - row.gap for row in optimal.history_)
at_optimum = Gradient(*digits(), 1.0, 400)
products = all_products(at_optimum, np.arange(g.T))
rng = np.random.default_rng(6)


def floor_of(m):
    """Return the mean of <B^ - B*, G> at the optimum, over 60 batches of m triplets."""
    values = []
    for _ in range(60):
        on_batch = all_products(at_optimum, rng.choice(g.T, m, replace=False))
        values.append(products.ravel()[np.argmin(on_batch)])
    return np.mean(values) - products.min()


at = (10, 30, 100, 300, 1000)
errors = {}
for m in (None, 200, 50, 10):
    errors[m] = fixed_steps(g, m, 1000 if m else 300, rng, at) - lower
    lost = floor_of(m) if m else 0.0
    iterations = ", ".join(map(str, at[: len(errors[m])]))
    print(f"m = {m or g.T:5}: error after {iterations}: ", end="")
    print(f"{np.round(errors[m], 4).tolist()}   floor {lost:.4f}")
for m in (10, 50):
    assert errors[m][-1] > 0.3 * errors[m][-2] > 0.0 and errors[m][-1] > 3 * errors[None][-1]

# %% [markdown]
# With all triplets the error continues to fall. With batches it stops falling. The next runs use the line
# search over *all* triplets, as the paper and the library do, with 300 images and 400 iterations. An iteration is idle if
# the line search returns 0.

# %% tags=["nbval-ignore-output"]
X, y = digits(300)
triplets = nearest_triplets(X, y)
runs = {}
for m in (None, 1000, 100, 10):
    solver = FrankWolfe(1.0, forward="exact", batch=m, max_iter=400)
    runs["all triplets" if m is None else f"m = {m}"] = solver.fit(X, triplets)
best = max(row.objective - row.gap for row in runs["all triplets"].history_)
print("batch          error after 100 and 400 iterations   exact gap   idle iterations")
final = {}
for name, run in runs.items():
    f = np.array([row.objective for row in run.history_]) - best
    final[name] = f[-1]
    excess = loss.value(run.similarity_.margins(X, triplets)).mean() - best
    assert -1e-12 <= excess <= run.gap_ + 1e-12
    idle = np.mean([row.step == "none" for row in run.history_])
    assert (idle > 1 / 3) == (name != "all triplets")
    after_100 = f[min(100, len(f) - 1)]
    print(f"{name:14} {after_100:17.4f} {f[-1]:9.4f} {run.gap_:19.4f} {idle:13.0%}")
assert final["m = 10"] > final["m = 100"] > final["m = 1000"] > final["all triplets"] >= 0.0

# %% tags=["nbval-ignore-output"]
named = {}
for name, run in runs.items():
    error = [max(row.objective - best, 1e-7) for row in run.history_[1:]]
    named[name] = np.arange(1, len(run.history_)), error
title = "digits: batches of fixed size, line search over all triplets"
figures.lines(named, log="xy", xlabel="iteration", ylabel="error", title=title)
last = {name: numbers[-1] for name, (numbers, _) in named.items()}
figures.show(
    "Curves show the error against the iteration, on logarithmic axes, for batches of several "
    f"sizes and for all triplets: {figures.ends(named, '{:.1g}')}. The numbers of iterations are "
    f"{figures.listed(last, '{:.0f}')}."
)


# %% [markdown]
# With the line search over all triplets a bad direction does no harm: the step has size 0, the
# objective never rises, and the next iteration draws another batch. So the error falls below the
# floor, but a growing share of the iterations is idle. Neither this book nor the paper proves a rate for
# this search. It may be enough, because training usually stops early.
#
# ## The feature heuristic finds the best atom with a probability of at least 2/d
#
# Let $(i, j)$ be the best atom. If the heuristic draws the feature $i$, the best partner of $i$ is $j$, because no atom
# is better than $(i, j)$, and the best partner of $j$ is $i$. The same is true if it draws $j$. So two
# of the $d$ possible draws find the best atom for certain, if there are no ties.
#
# The first feature determines the atom that the heuristic finds. So we can compute the probability of the best atom, and the
# mean value of the atom, without random draws. The function uses plain numpy and the dense gradient:

# %%
def from_every_feature(G):
    """Return the value of the heuristic's atom for every first feature, and the best value of all
    atoms, in units of scale."""
    diagonal, cross = -np.diag(G), np.abs(G + G.T)
    values = diagonal[:, None] + diagonal[None, :] + cross
    np.fill_diagonal(values, -np.inf)
    partner = values.argmax(axis=1)
    return values[partner, values.argmax(axis=1)[partner]], values.max()


class Every:
    """Replaces a random generator, and draws the given feature of all d."""

    def __init__(self, feature, d):
        self.feature, self.d = feature, d

    def integers(self, high):
        assert high == self.d
        return self.feature

# %% [markdown]
# ## How often does the heuristic find the best atom?
#
# We follow a run with exact directions. At each iterate we compute the share of first features from
# which the heuristic finds the best atom. We also compute the slope of its direction, divided by the slope of the best
# direction (the Frank-Wolfe gap), and average over the first features. A slope counts as 0 if the objective does not fall
# in this direction. The library must find the same value from every first feature.

# %%
def along_run(g, iterations, every):
    """Return the share of best atoms and the mean relative slope at some iterates of an exact
    run."""
    x, step, d = g.x.toarray(), g.step.toarray(), g.X.shape[1]
    at = list(range(0, iterations, every))
    shares, ratios = [], []
    for k_ in at:
        run = FrankWolfe(g.scale, forward="exact", max_iter=max(k_, 1)).fit(g.X, g.triplets)
        u = run.similarity_.margins(g.X, g.triplets)
        slopes_ = loss.alpha(u)
        values, best_value = from_every_feature(-x.T @ (slopes_[:, None] * step) / g.T)
        constraints = Constraints(g.X, g.triplets)
        constraints.set_slopes(slopes_[constraints.order])
        fast = [heuristic(constraints, Every(feature, d)).value for feature in range(d)]
        assert np.allclose(values, np.array(fast) / g.T, rtol=1e-9, atol=1e-12)
        assert np.isclose(best_value, exact(constraints).value / g.T, rtol=1e-9)
        is_best = np.isclose(values, best_value, rtol=1e-9)
        assert np.count_nonzero(is_best) >= 2
        shares.append(np.mean(is_best))
        current = float(slopes_ @ u) / g.T
        slopes_found = np.maximum(g.scale * values - current, 0.0)
        ratios.append(np.mean(slopes_found) / (g.scale * best_value - current))
    return at, np.array(shares), np.array(ratios)


# %% tags=["HDSL19-D3.2.3", "heuristic", "nbval-ignore-output"]
sparse_small = Gradient(*sparse_points(200, 500, 15, 2), 3.0, 1)
along = {
    "digits, d = 64": along_run(sets["digits"], 31, 5),
    "sparse, d = 500": along_run(sparse_small, 31, 5),
}
for name, d in (("digits, d = 64", 64), ("sparse, d = 500", 500)):
    _, shares, ratios = along[name]
    print(f"{name:16} best atom from {shares.mean():.0%} of the features (2/d = {2 / d:.1%}); ",
          end="")
    print(f"mean slope / best {ratios.mean():.2f}")
    assert shares.mean() > 4 * 2 / d

# %% tags=["nbval-ignore-output"]
figure, axes = figures.panels(2, height=3.2)
for ax, which, title in (
    (axes[0], 1, "share of features that lead to the best atom"),
    (axes[1], 2, "mean slope found / best"),
):
    named = {name: (row[0], row[which]) for name, row in along.items()}
    figures.lines(named, ax=ax, marks=True, xlabel="iteration", title=title)
    ax.set_ylim(-0.02, 1.05)
ends = [figures.ends({name: row[which] for name, row in along.items()}) for which in (1, 2)]
figures.show(
    "Left, curves show the share of features from which the heuristic finds the best atom, "
    f"against the iteration: {ends[0]}. Right, curves show the mean slope of its directions, "
    f"divided by the slope of the best direction: {ends[1]}."
)

# %% [markdown]
# Far more than two features lead to the best atom, and on average over the run the slope of the heuristic's direction is at
# least half of the best slope. If the heuristic misses the best atom it chooses another good atom, and it may find the best
# atom later.
#
# ## Exactly 2/d
#
# Some gradients attain the lower bound. In the example one triplet joins the features 0 and 1 and gives the
# best atom, of value 3. Another triplet makes feature 2 attractive *by itself*. Every feature but 0
# and 1 has feature 2 as its best partner. The best partner of feature 2 is feature 3, and the value of this atom is 1.5.
#
# In $10^5$ dimensions the training does not find the best atom in 1000 iterations, unless it begins
# with this atom. The gaps that the heuristic reports fall to 0, as if the training converged. The exact gap `gap_`,
# computed at the end, is not 0. Only the first four features have entries, so we can compute the gap by the
# definition on six features.

# %%
def decoy(d):
    """Return the points of the example in d dimensions, and its two triplets."""
    e = sparse.eye_array(d, format="csr")[:4]
    nothing = sparse.csr_array((1, d))
    rows = e[[0]], 3.0 * e[[1]], e[[2]], 1.4 * e[[2]] + 0.1 * e[[3]], nothing
    points = sparse.csr_array(sparse.vstack(rows, format="csr"))
    return points, np.array([[0, 1, 4], [2, 3, 4]])


# %% tags=["HDSL19-D3.2.3", "decoy"]
print("    d   best from    other value / best")
for d in (10, 100, 1000):
    X_, triplets_ = decoy(d)
    x, near, far = (X_.toarray()[column] for column in triplets_.T)
    values, best_value = from_every_feature(-np.einsum("ti,tj->ij", x, near - far))
    hits = np.isclose(values, best_value)
    constraints = Constraints(X_, triplets_)
    constraints.set_slopes(np.ones(2))
    fast = [heuristic(constraints, Every(feature, d)).value for feature in range(d)]
    assert np.allclose(fast, values)
    assert np.array_equal(np.flatnonzero(hits), [0, 1]) and np.allclose(values[~hits], 1.5)
    other = values[~hits].max() / best_value
    print(f"{d:5} {np.count_nonzero(hits):6} of {d:4} {other:12.2f}")

# %% [markdown]
# The cell runs the heuristic with six random seeds, and prints the last gap that the heuristic reports and the exact gap:

# %% tags=["HDSL19-D3.2.3", "decoy"]
X_, triplets_ = decoy(10**5)
known = FrankWolfe(0.2, forward="exact", max_iter=1000, tol=1e-9).fit(X_, triplets_)
best_objective = known.history_[-1].objective
print(f"exact directions: objective {best_objective:.4f} after {known.n_iter_} ", end="")
print("iterations; heuristic, 1000 iterations:")
missed = 0
x, near, far = (X_[triplets_[:, c], :6].toarray() for c in range(3))
for seed in range(6):
    run = FrankWolfe(0.2, forward="heuristic", max_iter=1000, random_state=seed).fit(X_, triplets_)
    last = run.history_[-1]
    u = run.similarity_.margins(X_, triplets_)
    G = -np.einsum("t,ti,tj->ij", loss.alpha(u), x, near - far) / 2
    by_definition = 0.2 * from_every_feature(G)[1] - loss.alpha(u) @ u / 2
    assert np.isclose(run.gap_, by_definition, rtol=1e-9, atol=1e-12)
    assert run.gap_ >= last.objective - best_objective - 1e-9
    print(f"  seed {seed}: objective {last.objective:.4f}, ", end="")
    print(f"reported gap {max(last.gap, 0.0):.4f}, exact gap {max(run.gap_, 0.0):.4f}")
    missed += last.objective > best_objective + 0.02 and last.gap < 1e-3 and run.gap_ > 0.02
assert missed >= 3

# %% [markdown]
# ## Empty features
#
# The paper draws the first feature from all $d$. In very many dimensions most features do not occur
# in any triplet. From such a feature the first round of the heuristic finds the best
# *diagonal* entry, which is always the same, and the second round finds its best partner. So all
# empty features lead to the same atom. The cell uses the sparse data set, and the same points with additional empty
# features. Cost and gradient are the same, and the progress differs.

# %% tags=["HDSL19-D3.2.3", "nbval-ignore-output"]
X_, y_ = sparse_points(200, 500, 15, 2)
near = nearest_triplets(X_, y_)
reference = FrankWolfe(3.0, forward="exact", max_iter=1500).fit(X_, near)
lower = max(row.objective - row.gap for row in reference.history_)
progress = {}
for d in (500, 10_000, 1_000_000):
    padded = sparse.csr_array((X_.data, X_.indices, X_.indptr), shape=(200, d))
    errors = []
    for seed in range(5):
        run = FrankWolfe(3.0, max_iter=400, random_state=seed).fit(padded, near)
        errors.append([row.objective - lower for row in run.history_])
    progress[d] = np.mean(errors, axis=0)
    share = np.unique(X_.indices).size / d
    print(f"d = {d:8}: {share:8.3%} of the features occur; ", end="")
    print(f"error after 100 and 400 iterations {progress[d][100]:.4f} {progress[d][-1]:.4f}")
assert progress[10**6][-1] > 1.5 * progress[500][-1]

# %% tags=["nbval-ignore-output"]
named = {f"d = {d}": (np.arange(1, 400), values[1:]) for d, values in progress.items()}
exact_error = [max(row.objective - lower, 1e-9) for row in reference.history_[1:400]]
named["exact direction"] = np.arange(1, 400), exact_error
title = "the same points, with empty features added"
figures.lines(named, log="xy", xlabel="iteration", ylabel="error", title=title)
figures.show(
    "Curves show the error against the iteration, on logarithmic axes. They belong to the "
    "heuristic in several dimensions and to the exact direction, for the same points: "
    f"{figures.ends(named, '{:.1g}')}."
)


# %% [markdown]
# So with the heuristic the cost of an iteration does not depend on $d$, but its progress does. (The
# paper states its rate for exact directions.) The remedy is to draw the first feature among the features that
# occur: leave out empty columns before the training.
#
# ## Exercise
#
# The heuristic makes two rounds. How much better is the atom after a third round, or after more rounds until nothing changes?
# Can more rounds raise the probability $2/d$ on the example with feature 2?
#
# <details>
# <summary><b>Solution</b></summary>
#
# Each round moves to the best partner of the last feature, so the values never fall. The rounds end
# at two features that are each other's best partner. In the example (2, 3) is such a pair, so
# more rounds do not help. More first features help: with $r$ first features the probability is $1 - (1 - 2/d)^r$.
# On the gradient of the digits the third round changes little, as the cell shows.
#
# </details>

# %%
def rounds(G, number):
    """Return the values of the atoms after some rounds from every first feature, and the best
    value."""
    diagonal = -np.diag(G)
    values = diagonal[:, None] + diagonal[None, :] + np.abs(G + G.T)
    np.fill_diagonal(values, -np.inf)
    at = np.arange(len(G))
    for _ in range(number):
        before, at = at, values.argmax(axis=1)[at]
    return values[before, at], values.max()


g = sets["digits"]
G = -g.x.toarray().T @ (g.slopes[:, None] * g.step.toarray()) / g.T
shares = []
for number in (1, 2, 3, 6):
    values, best_value = rounds(G, number)
    shares.append(np.mean(np.isclose(values, best_value)))
    print(f"after round {number}: best atom from {shares[-1]:.0%} of the features, ", end="")
    print(f"mean value / best {np.mean(values) / best_value:.3f}")
two_rounds = np.mean(np.isclose(from_every_feature(G)[0], best_value))
assert np.all(np.diff(shares) >= 0.0) and np.isclose(shares[1], two_rounds)

# %% [markdown]
# ## Fine print
#
# * **Away directions** are estimated on the batch too, and their error counts like $\varepsilon$.
#   The line search uses all triplets, in the paper and here.
# * **Drop steps.** At most half of the iterations are drop steps, as with exact directions, and the
#   floor is the same.
# * **Ties.** The probability of at least $2/d$ needs a unique best partner; among equally good partners the library chooses
#   the first.
# * **$\sigma$ is not known** beforehand. Bardenet and Maillard give a bound with the variance of the
#   batch.
# * **Triplets that share points** are allowed, because the $T$ numbers are fixed and only the batch
#   is random.
#
# ## References
#
# * HDSL19: Liu, Bellet, *Escaping the curse of dimensionality in similarity learning*, Neurocomputing
#   333, 2019: section 3.2.3.
# * Hoeffding, *Probability inequalities for sums of bounded random variables*, JASA 58, 1963: section
#   6 for samples without replacement.
# * Serfling, *Probability inequalities for the sum in sampling without replacement*, Annals of
#   Statistics 2, 1974.
# * Bardenet, Maillard, *Concentration inequalities for sampling without replacement*, Bernoulli 21,
#   2015.
# * Jaggi, *Revisiting Frank-Wolfe*, ICML 2013; Freund, Grigas, *New analysis and results for the
#   Frank-Wolfe method*, Mathematical Programming 155, 2016: inexact directions.
