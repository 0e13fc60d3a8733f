# %% [markdown]
# # How much larger is the risk on new points?
#
# You train a similarity for $k$ iterations of Frank-Wolfe and know its training risk. What can you say about its risk on new points? HDSL19 gives two bounds. Theorem 1 bounds the difference between the risk and the training risk. Corollary 1 bounds the *excess risk*, the difference between the risk and the smallest possible risk. Both use the bound of the complexity with $\log k$, which is false (see [`44b-complexity-of-atoms`](44b-complexity-of-atoms.ipynb)). The proof of Theorem 1 has another error. This notebook corrects both bounds and compares them with computed risks.
#
# At the end you will have seen
#
# * that at a small scale far more than 5 % of all samples exceed the printed bound of Theorem 1, which allows 5 %, because the loss at 0 is not 0;
# * that the corrected theorem follows in three lines from the lemmas of [`44a-blocks-and-bounded-differences`](44a-blocks-and-bounded-differences.ipynb), and holds at each of four scales in 2000 samples;
# * a distribution with very many features that violates the printed bound of the excess risk, but not the corrected bound;
# * that the corrected bound only falls with $k$, so it gives no reason to stop early.

# %%
import itertools
import math

import numpy as np

import safescreen as ss
from safescreen.hdsl import FrankWolfe, SparseSimilarity
from safescreen_book import figures
from safescreen_book.protocols.hdsl.complexity import Bounds, MonteCarlo, largest_entry, rademacher

loss = ss.SmoothedHinge(gamma=1.0)

# %% [markdown]
# ## The story in a picture
#
# The printed bound of the excess risk is a sum. The training error falls with the number of iterations $k$, and the complexity term grows with $k$. The bound is smallest at some $k$, which would be a reason to stop there. In the corrected bound the complexity term does not depend on $k$.

# %%
iterations = np.unique(np.round(np.logspace(0, 4, 60)).astype(int))
large = Bounds(10**6, 1000, 1.0, 1.0)  # a million points, a thousand features, lam B_X = 1
printed = np.array([large.printed_excess(int(k), 0.05, 1.0) for k in iterations])
corrected = np.array([large.excess(0.05, 16.0 / (k + 4)) for k in iterations])
labels = {"title": "excess risk: two bounds", "xlabel": "iterations k", "ylabel": "bound"}
figures.lines({"corrected": corrected, "printed": printed}, iterations, log="xy", **labels)
best = int(iterations[np.argmin(printed)])
figures.show(
    "Curves show both bounds of the excess risk against the number of iterations, on logarithmic "
    f"axes. The printed bound is smallest at {best} iterations, where it is {printed.min():.2g}; "
    f"at the end it is {printed[-1]:.2g}. The corrected bound falls to {corrected[-1]:.2g}. It is "
    f"at most {max(corrected / printed):.2g} times the printed bound."
)

# %% tags=["HDSL19-C1"]
true_from = next(k for k in range(1, 10) if k**16 >= 1000 * 999)
print(f"n = 10^6, d = 1000, lam B_X = 1: the printed bound is smallest at k = {best}")
print(f"for k >= {true_from} it is larger than the corrected bound")
assert 1 < best < 10**4
assert np.all(np.diff(corrected) < 0.0)
assert np.all((corrected < printed)[iterations >= true_from])

# %% [markdown]
# ## The claims
#
# The notation is the same as in [`44b-complexity-of-atoms`](44b-complexity-of-atoms.ipynb). There are $n$ independent points. $L_M$ is the loss of a triplet, $L_S(M)$ its average over the ordered triplets of the sample, and $L(M)$ its expectation. $D^{(k)}$ is the set of convex combinations of at most $k$ of the $N = d(d-1)$ atoms, and $m = \lfloor n/3\rfloor$.
#
# > **As printed.** With probability $1 - \delta$, for every $M$ in $D^{(k)}$ (HDSL19 Theorem 1),
# >
# > $$L(M) - L_S(M) \le 16 \lambda B_X \sqrt{2 \log k / m} + 12 \lambda B_X \sqrt{2 \log(2/\delta) / n} .$$
# > With probability $1 - \delta$, the matrix that Algorithm 3 returns after $k$ iterations has an excess risk of at most (Corollary 1)
# >
# > $$\frac{16 L \lambda^2}{k + 2} + 16 \lambda B_X \sqrt{2 \log k / m} + 20 \lambda B_X \sqrt{\log(4/\delta) / n} .$$
#
# > **Corrected.** With probability $1 - \delta$, for every $M$ in $D$ (first bound), and for the excess risk after $k$ iterations if $k' \ge k/2$ of them are not drop steps (second bound),
# >
# > $$L(M) - L_S(M) \le 4 \lambda B_X \sqrt{2 \log N / m} + (\ell(0) + 4 \lambda B_X) \sqrt{\log(1/\delta) / 2n} ,$$
# >
# > $$\frac{8 L \lambda^2}{k' + 2} + 4 \lambda B_X \sqrt{2 \log N / m} + 8 \lambda B_X \sqrt{2 \log(1/\delta) / n} .$$
#
# | assumption | needed for |
# |---|---|
# | points independent, of one distribution | both |
# | loss non-negative, of slope at most 1, $\ell(0)$ known | both |
# | no entry of $x (x' - x'')^\top$ above $B_X$ | both |
# | loss convex and smooth, exact line search | the first term of the excess risk |
#
# <details>
# <summary><b>Symbols</b></summary>
#
# | symbol | meaning |
# |---|---|
# | $\ell(u)$ | $0$ for $u \ge 1$, $\frac12 (1-u)^2$ for $0 \le u \le 1$, and $\frac12 - u$ for $u \le 0$; $\ell(0) = \frac12$ |
# | $L$ | Lipschitz constant of the gradient of the training risk, the mean of $\lVert A_t\rVert_F^2$ |
# | $\lambda$, $B_X$ | factor of the atoms, largest entry; $\lvert\langle A, M\rangle\rvert \le 4\lambda B_X$ for every $M$ of $D$ |
# | drop step | an away step of Frank-Wolfe that removes an atom |
#
# </details>

# %% [markdown]
# ## Theorem 1: derivation
#
# ### The size of the loss
#
# The paper's inequality (11) says $|L_M| \le 4 \lambda B_X$, because the slope of the loss is at most 1. This inequality is only true if $\ell(0) = 0$. Here $\ell(0) = \frac12$, and
#
# $$0 \le \ell\big(\langle A, M\rangle\big) \le \ell(0) + 4 \lambda B_X .$$

# %%
u = np.linspace(-4.0, 4.0, 801)
assert np.all(loss.value(u) <= loss.value(0.0) + np.abs(u) + 1e-12)
assert np.isclose(loss.value(-4.0), 4.5)
unit = 0.001
print(f"lam B_X = {unit}: (11) bounds the loss by {4 * unit}, and at M = 0 it is {loss.value(0.0)}")
assert loss.value(0.0) > 4 * unit

# %% [markdown]
# ### The three lemmas put together
#
# Let $\Phi(S) = \sup_M [L(M) - L_S(M)]$.
#
# * One point changes $L_S(M)$ by at most $c = (\ell(0) + 4\lambda B_X)/n$, because the point is in at most $(n-1)(n-2)$ admissible triplets (`44a`). So one point changes $\Phi$ by at most $c$.
# * By Lemma 4, on one side, $\Phi \le \mathbb{E}\,\Phi + c\sqrt{n\log(1/\delta)/2}$ with probability $1 - \delta$. This gives the second term.
# * By symmetrization and the bound of the complexity (`44b`), $\mathbb{E}\,\Phi \le 2R \le 4\lambda B_X\sqrt{2\log N/m}$. This gives the first term.
#
# (The paper uses (11), counts all $3(n-1)(n-2)$ triplets of a point, and multiplies by two. So its constant is $c = 24 \lambda B_X / n$. This $c$ is large enough only if $\ell(0) \le 20 \lambda B_X$.)

# %% tags=["HDSL19-T1"]
n = 60
d = 6
m = n // 3
delta = 0.05
for unit in (0.001, 0.1, 1.0):
    bounds = Bounds(n, d, unit / 2.0, 2.0)
    formula = 4.0 * unit * math.sqrt(2.0 * math.log(d * (d - 1)) / m)
    formula += (0.5 + 4.0 * unit) * math.sqrt(math.log(1 / delta) / (2 * n))
    assert np.isclose(bounds.deviation(delta), formula, rtol=1e-12)
    for k in (1, 30):
        formula = 16.0 * math.sqrt(2.0 * math.log(k) / m)
        formula += 12.0 * math.sqrt(2.0 * math.log(2 / delta) / n)
        assert np.isclose(bounds.printed_deviation(k, delta), unit * formula, rtol=1e-12)
print("Bounds.deviation and Bounds.printed_deviation are the two formulas")

# %% [markdown]
# ## Does it match? A distribution whose risks are known
#
# To check a bound we need the true risk. Take a distribution on sixteen points, twelve of one class and four of the other. Each point has six random signs as features. Then $L(M)$ is a finite sum over triplets of these points, and $L_S(M)$ is the same sum with different weights. The supremum over atoms is a maximum over a table, in which each row is an admissible triplet and each column is an atom.

# %%
rng = np.random.default_rng(6)
points = rng.choice([-1.0, 1.0], (16, 6))
classes = np.repeat([0, 1], (12, 4))
entry = largest_entry(points)
i, j, k = (index.ravel() for index in np.indices((16, 16, 16)))
admissible = (classes[i] == classes[j]) & (classes[j] != classes[k])
i, j, k = i[admissible], j[admissible], k[admissible]
true_weights = np.full(len(i), 1.0 / 16**3)


def table_of_products(lam):
    """<A_t, B> for every admissible triplet t and every atom B."""
    a, b = np.triu_indices(6, 1)
    along = np.hstack((points[:, a] + points[:, b], points[:, a] - points[:, b]))
    return lam * along[i] * (along[j] - along[k])


def sample_weights(n, rng):
    """Draw n of the sixteen points; return the weights of the triplets in the training risk."""
    counts = np.bincount(rng.integers(0, 16, n), minlength=16).astype(float)
    return counts[i] * (counts[j] - (i == j)) * counts[k] / (n * (n - 1) * (n - 2))


# %% [markdown]
# The next cell checks the weights. It computes the risk of one atom from the definition, on a sample of seven points, and some of these points are equal.

# %%
rows = np.array([0, 0, 3, 5, 12, 12, 15])
counts = np.bincount(rows, minlength=16)
weights = counts[i] * (counts[j] - (i == j)) * counts[k] / (7 * 6 * 5)
slow = 0.0
for a, b, c in itertools.permutations(rows, 3):
    product = 0.5 * points[a, :2].sum() * (points[b] - points[c])[:2].sum()
    slow += (classes[a] == classes[b] != classes[c]) * loss.value(product) / (7 * 6 * 5)
assert np.isclose(slow, weights @ loss.value(table_of_products(0.5)[:, 0]))
fast = weights @ loss.value(table_of_products(0.5)[:, 0])
print(f"training risk: by definition {slow:.4f}, by weights {fast:.4f}")

# %% [markdown]
# ### Two thousand samples at four scales
#
# For each sample of 60 points the next cells compute the largest $L - L_S$ over all atoms. They count the samples in which this number exceeds a bound. The bound allows 5 % of the samples.


# %%
def deviations_at(lam, draws=2000):
    """Return the largest L - L_S of each sample, an estimate of its expectation, and the bounds."""
    rng = np.random.default_rng(7)
    losses = loss.value(table_of_products(lam))
    risk = true_weights @ losses
    drawn = [sample_weights(n, rng) for _ in range(draws)]
    largest = np.array([np.max(risk - weights @ losses) for weights in drawn])
    # the number of admissible triplets varies between samples; subtracting its effect on the risk,
    # which has mean zero, lowers the variance of the estimate
    of_number = loss.value(0.0) * (true_weights.sum() - np.sum(drawn, axis=1))
    bounds = Bounds(n, 6, lam, entry)
    limits = [bounds.printed_deviation(k, delta) for k in (1, 30)] + [bounds.deviation(delta)]
    return largest, MonteCarlo(largest - of_number), limits


def draw_points(n, rng):
    rows = rng.integers(0, 16, n)
    return points[rows], classes[rows]


# %% tags=["HDSL19-T1"]
above = {}
print("          over lam B_X   share of samples above           the bounds")
print("lam B_X  E sup     2R   pr. k=1  pr. k=30  corr.   pr. k=1  pr. k=30    corr.")
for lam in (0.0005, 0.005, 0.05, 0.5):
    largest, mean, limits = deviations_at(lam)
    twice = 2.0 * rademacher(draw_points, n, lam, loss=loss, repeats=200).mean
    above[lam] = [float(np.mean(largest > limit)) for limit in limits]
    unit = lam * entry
    row = f"{unit:7.3f} {mean.mean / unit:6.3f} {twice / unit:6.3f} "
    row += " ".join(f"{share:8.3f}" for share in above[lam]) + " "
    row += " ".join(f"{limit:8.4f}" for limit in limits)
    print(row)
    assert 0.0 < mean.mean - 4 * mean.error and mean.mean < twice  # 0 < E sup <= 2 R
    assert above[lam][2] <= delta  # the corrected bound holds
assert min(above[0.0005][:2]) > delta and max(above[0.05]) == 0.0

# %% [markdown]
# The printed theorem has two errors.
#
# * **Small scales.** At $\lambda B_X = 0.001$ far more than 5 % of the samples exceed the printed bound, for $k = 1$ and also for all 30 atoms. The loss is about $\frac12$ for every $M$, and the average loss varies with the number of admissible triplets. A bound proportional to $\lambda$ cannot be above this variation. The error is inequality (11).
# * **The expectation.** For $k = 1$ the printed proof says $\mathbb{E} \sup \le 2R \le 0$. The expectation is positive in every row. The theorem still holds here for larger $\lambda B_X$, because the second term of its bound is several times larger than necessary.
#
# If $k^{16} \ge d(d-1)$ and $\ell(0) \le 20 \lambda B_X$, the printed theorem follows from the corrected theorem.

# %% [markdown]
# ### Mixtures of atoms
#
# The corrected bound holds for every mixture of atoms, that is for every $M$ in $D$. The next cells search for mixtures with a large $L - L_S$, by ascent from the best atom and from random mixtures. Ascent need not find the largest value. All values that it finds are below the bound.


# %%
def ascend(products, difference, w, steps=25):
    """Maximise difference @ loss(products @ w) over mixtures by Frank-Wolfe steps that improve."""
    best = difference @ loss.value(products @ w)
    for step in range(steps):
        gain = -(difference * loss.alpha(products @ w)) @ products
        target = np.eye(len(w))[np.argmax(gain)]
        trials = [w + g * (target - w) for g in (2.0 / (step + 2), 0.1, 0.02)]
        values = [difference @ loss.value(products @ trial) for trial in trials]
        if max(values) <= best:
            break
        w = trials[int(np.argmax(values))]
        best = max(values)
    return best


# %% tags=["HDSL19-T1"]
rng = np.random.default_rng(8)
products = table_of_products(0.5)
found = []
limit = Bounds(n, 6, 0.5, entry).deviation(delta)
for _ in range(60):
    difference = true_weights - sample_weights(n, rng)
    of_atoms = difference @ loss.value(products)
    starts = [np.eye(30)[np.argmax(of_atoms)], *rng.dirichlet(np.ones(30), 2)]
    found.append(max(ascend(products, difference, w) for w in starts))
    assert found[-1] >= np.max(of_atoms) - 1e-12
values = f"mean {np.mean(found):.3f}, largest {np.max(found):.3f}"
print(f"60 samples, mixtures: {values}, bound {limit:.3f}")
assert np.mean(np.array(found) > limit) <= delta

# %% [markdown]
# ## Corollary 1: derivation
#
# Let $M_k$ be the matrix that Algorithm 3 returns, and $M^\star$ the matrix of $D$ with the smallest risk. Add and subtract the training risks:
#
# $$L(M_k) - L(M^\star) \le \big[ L_S(M_k) - \min_D L_S \big] + \big[ (L - L_S)(M_k) - (L - L_S)(M^\star) \big] .$$
#
# ### The second bracket: generalization
#
# The paper bounds the two halves of this bracket separately. A bound of their difference is smaller. The supremum of the bracket over $M$ in $D$ has expectation at most $2R$, because the half with $M^\star$ has mean zero. The bracket is an average of differences $L_M - L_{M^\star}$, in which $\ell(0)$ **cancels**. Each difference is at most $\|M - M^\star\|_1 B_X \le 8 \lambda B_X$ in absolute value. It can be positive or negative, so one point changes the average by at most $c = 16 \lambda B_X/n$. Lemma 4, on one side, gives the second and third term of the corrected corollary.

# %% [markdown]
# ### The first bracket: training
#
# Proposition 1 of the paper bounds this bracket ([`41-frank-wolfe-and-away-steps`](41-frank-wolfe-and-away-steps.ipynb)). Its proof counts the steps that make progress. An away step of maximal length *drops* an atom, and may lower the objective by almost nothing. An earlier step must have added the atom, so at most half of the $k$ steps are drops: $k' \ge k/2$. As $A_t$ has rank one and $0 \preceq M \preceq 2\lambda I$, half of the printed constant is enough. The bound is $8 L \lambda^2/(k'+2)$, which is never above $16 L \lambda^2/(k+4)$.
#
# The printed proof has one more slip. The method starts with one atom, so after $k$ steps the matrix has up to $k + 1$ atoms. The proof applies Theorem 1 to matrices with at most $k$ atoms.

# %% tags=["HDSL19-C1"]
bounds = Bounds(60, 6, 0.5, entry)
unit = 0.5 * entry
complexity = math.sqrt(2.0 * math.log(30) / 20)
tail = math.sqrt(2.0 * math.log(20.0) / 60)
by_hand = 0.2 + unit * (4.0 * complexity + 8.0 * tail)
assert np.isclose(bounds.excess(delta, 0.2), by_hand, rtol=1e-12)
L = 3.7
k_ = 10
slow_rate = 16.0 * L * 0.5**2 / (k_ + 2)
second = 16.0 * math.sqrt(2.0 * math.log(k_) / 20) + 20.0 * math.sqrt(math.log(80.0) / 60)
assert np.isclose(bounds.printed_excess(k_, delta, L), slow_rate + unit * second, rtol=1e-12)
print("Bounds.excess and Bounds.printed_excess are the two formulas")

# %% [markdown]
# ## Does it match? A hundred trainings
#
# The library's Frank-Wolfe now trains on samples of the same distribution. It minimises the weighted risk over the distinct triplets. The data has a copy of each of the sixteen points, because a point that was drawn twice can be the second point of its own triplet.

# %%
doubled = np.vstack((points, points))
triplets = np.column_stack((i, j + 16, k))
pairs = np.triu_indices(6, 1)
signs = np.repeat([1, -1], 15)
names = list(zip(*np.tile(pairs, 2).tolist(), signs.tolist(), strict=True))


def mixture_of(similarity):
    """Weights of all atoms in the similarity."""
    w = np.zeros(len(names))
    w[[names.index(tuple(atom)) for atom in similarity.atoms.tolist()]] = similarity.weights
    return w


def train(weights, steps):
    """Return the iterates, as weights of all atoms, and the fitted solver."""
    path = [np.eye(len(names))[0]]
    solver = FrankWolfe(0.5, forward="exact", max_iter=steps, check_every=1)
    start = SparseSimilarity(np.array(names[:1]), np.ones(1), 0.5, 6)
    keep = {"callback": lambda now: path.append(mixture_of(now.x))}
    solver.fit(doubled, triplets, weights=weights, start=start, **keep)
    return path + [path[-1]] * (steps + 1 - len(path)), solver


# %% [markdown]
# ### The smallest risk
#
# The same solver, with the true weights, computes the smallest risk. The duality gap of its last iterate bounds the error. The next cell compares this gap with the definition.


# %% tags=["HDSL19-C1"]
def true_risk(w):
    return true_weights @ loss.value(products @ w)


def gaps_of(solver, weights):
    return weights.sum() * np.array([row.gap for row in solver.history_])


path, solver = train(true_weights, 300)
slope = -(true_weights * loss.alpha(products @ path[-1])) @ products
by_definition = slope @ path[-1] - slope.min()
final_gap = gaps_of(solver, true_weights)[-1]
assert np.isclose(true_weights.sum() * solver.gap_, by_definition, rtol=1e-6, atol=1e-12)
least = true_risk(path[-1]) - final_gap
print(f"smallest risk over D: {least:.4f}, gap below 1e-4")
assert 0.0 <= final_gap < 1e-4

# %% [markdown]
# ### A hundred samples
#
# For every sample and every iteration the next cell computes the training error, $L - L_S$, the excess risk, the number of atoms, and the number of steps that are not drops.

# %%
steps = 40
samples = 100
training, generalization, excess = np.empty((3, samples, steps + 1))
n_atoms, progress = np.empty((2, samples, steps + 1), int)
lipschitz = np.empty(samples)
squares = np.sum(points**2, axis=1)[i] * np.sum((points[j] - points[k]) ** 2, axis=1)  # |A_t|_F^2
rng = np.random.default_rng(9)
for row in range(samples):
    weights = sample_weights(n, rng)
    path, solver = train(weights, steps + 60)
    gaps = gaps_of(solver, weights)
    of_sample = np.array([weights @ loss.value(products @ w) for w in path])
    risks = np.array([true_risk(w) for w in path])[: steps + 1]
    training[row] = of_sample[: steps + 1] - np.max(of_sample[: len(gaps)] - gaps)
    generalization[row] = risks - of_sample[: steps + 1]
    excess[row] = risks - least
    n_atoms[row] = [np.count_nonzero(w) for w in path[: steps + 1]]
    drops = np.zeros(steps, int)
    kinds = [each.step == "drop" for each in solver.history_][:steps]
    drops[: len(kinds)] = kinds
    progress[row] = np.arange(steps + 1) - np.concatenate(([0], np.cumsum(drops)))
    lipschitz[row] = weights @ squares

# %% tags=["HDSL19-C1", "nbval-ignore-output"]
bounds = Bounds(n, 6, 0.5, entry)
assert np.all(n_atoms <= np.arange(steps + 1) + 1)
assert np.all(2 * progress >= np.arange(steps + 1))
rate = 8.0 * lipschitz[:, None] * 0.5**2 / (progress + 2)
assert np.all(training[:, 1:] <= rate[:, 1:])
print("          drop   training  its     mean    excess   bound of the excess:")
print(" k atoms  steps     error  bound  L - L_S    risk   corrected    printed")
for k_ in (1, 2, 5, 10, 20, 40):
    corrected_k = [bounds.excess(delta, optimization) for optimization in rate[:, k_]]
    printed_k = [bounds.printed_excess(k_, delta, L) for L in lipschitz]
    drops = (k_ - progress[:, k_]).sum()
    row = f"{k_:2} {n_atoms[:, k_].max():5} {drops:6}"
    row += f" {training[:, k_].max():9.4f} {rate[:, k_].min():6.3f}"
    row += f"{generalization[:, k_].mean():9.4f} {excess[:, k_].max():7.4f}"
    row += f" {min(corrected_k):11.3f} {min(printed_k):10.3f}"
    print(row)
    assert np.mean(excess[:, k_] > corrected_k) <= delta

# %% tags=["HDSL19-C1", "nbval-ignore-output"]
early = MonteCarlo(generalization[:, 1])
two_atoms = np.mean(n_atoms[:, 1] == 2)
print(f"after one iteration {two_atoms:.0%} of the solutions have two atoms")
print(f"mean of L - L_S at k = 1: {early.mean:.4f} +- {early.error:.4f}")
assert n_atoms[:, 1].max() == 2
assert early.mean > 4 * early.error

# %% [markdown]
# After one iteration most solutions have two atoms, so they are not in $D^{(1)}$. Drop steps occur. The mean of $L - L_S$ is positive, but the printed proof bounds it by 0. Both bounds are far above the excess risks, which is usual for such bounds at $n = 60$. So no sample violates the printed bound here. Where $k^{16} \ge d(d-1)$ the printed bound follows from the corrected bound.
#
# ## Break it: a planted atom among very many features
#
# The printed bound does not depend on the number of features $d$. So we may choose $d$ as large as we like.
#
# There are two equally likely classes, with labels $y = \pm 1$. Every feature is a sign, and has a twin, a second feature with the same values. The first feature is *planted*: it equals the label, except that its sign is changed with a small probability. The square of its correlation with the label is $\rho^2 = 0.9$. All other features are noise, independent of the label.
#
# The atom of a feature and its twin has the product $4\lambda x (x' - x'')$ with a triplet. One quarter of the triplets are admissible, so the mean over all triplets is $\frac14 \cdot 8\lambda\rho^2$ for the planted feature, and 0 for noise. As $\lambda \to 0$ the loss is $\frac12 - u$. So the risk of the planted atom is lower than the risk of any noise atom by $2\lambda\rho^2 = 0.9\,\lambda B_X$, where $B_X = 2$.
#
# Now train. Among $5 \cdot 2^n$ pairs of noise features, with probability above 99 %, some feature is *equal to the label on the whole sample*. Its atom has the smallest possible training risk. For small $\lambda$ the first step of Frank-Wolfe has length 1 and ends at this atom. The excess risk of the atom is $0.9\,\lambda B_X$. The printed bound for $k = 1$ is $20\lambda B_X\sqrt{\log(4/\delta)/n}$ plus a term of order $\lambda^2$.

# %%
n_points = 9000
delta = 0.05
rho_2 = 0.9
# divided by lam B_X; sqrt(log k) is 0 for k = 1
limit = 20.0 * math.sqrt(math.log(4.0 / delta) / n_points)
no_perfect_noise = math.exp(-5.0)  # (1 - 2^-n)^(5 2^n) is smaller than this number


def training_effect(x, y):
    """Return the mean of x (x' - x'') over the admissible triplets, for a feature x of signs."""
    effect = 0.0
    for label in (-1, 1):
        same = x[y == label]
        other = x[y != label]
        pairs = same.sum() ** 2 - len(same)  # sum of x x' over ordered pairs of different points
        effect += len(other) * pairs - (len(same) - 1) * same.sum() * other.sum()
    numbers = [np.count_nonzero(y == label) for label in (-1, 1)]
    return effect / (numbers[0] * numbers[1] * (len(y) - 2))


# %% [markdown]
# How often does training choose the noise feature that is equal to the label, and not the planted feature?

# %% tags=["HDSL19-C1"]
rng = np.random.default_rng(10)
chosen = 0
for _ in range(200):
    y = rng.choice([-1, 1], n_points)
    planted = np.where(rng.random(n_points) < 0.5 * (1.0 + math.sqrt(rho_2)), y, -y)
    perfect = training_effect(y, y)  # noise that is equal to the label here
    assert perfect == 2.0  # the largest value that x (x' - x'') can have
    chosen += training_effect(planted, y) < perfect
share = chosen / 200 * (1.0 - no_perfect_noise)
compared = f"printed bound {limit:.2f} lam B_X, excess risk {rho_2:.2f} lam B_X"
print(f"n = {n_points}, k = 1, delta = {delta:.0%}: {compared}")
print(f"probability of that excess at least {share:.2f}, where {delta:.2f} is allowed")
assert limit < rho_2 and share > delta

# %% [markdown]
# The corrected bound is larger than the excess risk here. So the example does not violate the corrected bound, but the bound is too large to be useful:

# %% tags=["HDSL19-C1"]
d_log10 = math.log10(4 * 5) + n_points * math.log10(2.0)
corrected = 4.0 * math.sqrt(2.0 * 2.0 * d_log10 * math.log(10.0) / (n_points // 3))
print(f"d has {d_log10:.0f} digits; the corrected bound is above {corrected:.1f} lam B_X")
assert corrected > rho_2

# %% [markdown]
# So Corollary 1 is false as printed, because the excess risk depends on $d$ (through $\log d$). The first term of the printed bound does not change this. The Lipschitz constant $L$ is large here, but the term is proportional to $\lambda^2$, and $\lambda$ may be as small as we like.
#
# ## Remark 2: a few of the triplets are enough
#
# HDSL19 Remark 2 trains on only $M$ of the $O(n^3)$ terms, drawn at random. It says that $M = O(n)$ terms keep the rate $1/\sqrt n$. This section gives the argument with constants.
#
# For a given sample the terms are a finite population with mean $L_S(M)$, and the drawn terms are a random sample of this population. Hoeffding compares a sum of draws without replacement with a sum of draws with replacement: the expectation of a convex function of the sum is never larger without replacement. So symmetrization and the bound of the complexity hold with $M$ draws in place of the $m$ blocks, and Lemma 4 holds with $c = (\ell(0) + 4\lambda B_X)/M$. A drawn term is admissible with probability $p$, the share of admissible triplets in the sample. This share is at most $\frac n{4(n-1)}$, whereas Theorem 1 has $\frac14$. The result is
#
# $$L_S(M) - L_{\text{drawn}}(M) \le 8\lambda B_X\sqrt{2p\log N/M} + (\ell(0) + 4\lambda B_X)\sqrt{\log(1/\delta)/2M}.$$
#
# With $M \ge \lfloor n/3\rfloor$ terms, the first part of this bound is at most $\sqrt{n/(n-1)}$ times the first term of Theorem 1. With $M = n$ the second part equals the second term of Theorem 1. This proves the remark for Theorem 1. For Corollary 1 the argument is used twice, once for each of the two training risks in the first bracket.


# %%
def complexity_part(unit, p, n_atoms, n_terms):
    """First part of the bound: twice the complexity if a share p of the draws is admissible."""
    return 8.0 * unit * math.sqrt(2.0 * p * math.log(n_atoms) / n_terms)


# %% tags=["HDSL19-R2"]
losses = loss.value(table_of_products(0.5))
# the last row stands for all triplets that are not admissible
losses = np.vstack([losses, np.zeros(losses.shape[1])])
rng = np.random.default_rng(11)
means = []
for n_terms in (20, 60, 240):
    largest = []
    bounds = []
    for _ in range(300):
        weights = sample_weights(60, rng)
        p = weights.sum()
        share = np.append(weights, 1.0 - p)
        drawn = rng.choice(len(share), n_terms, p=share)
        largest.append(np.max(share @ losses - losses[drawn].mean(axis=0)))
        bound = complexity_part(unit, p, 30, n_terms)
        bounds.append(bound + (0.5 + 4.0 * unit) * math.sqrt(math.log(1 / delta) / (2 * n_terms)))
        assert p <= 60 / (4 * 59)
    above = float(np.mean(np.array(largest) > bounds))
    values = f"mean of the largest deviation {np.mean(largest):.3f}, bound {np.mean(bounds):.3f}"
    print(f"{n_terms:4} terms: {values}, exceeded in {above:.1%} of 300 draws")
    assert above <= delta and np.mean(largest) > 0.0
    means.append(np.mean(largest))
assert means[2] < 0.5 * means[0]  # the bound falls by the factor sqrt(12)

# %% [markdown]
# This trial shows that the bound holds, and how the deviation falls with the number of terms. It does not test the constant, because the bound is many times larger than the deviation. The next cell uses losses for which the constant is needed. The products of admissible terms have the largest possible size, $\pm 4\lambda B_X$, with signs that are independent from atom to atom; all other products are 0. Twice the complexity is then close to the first part of the bound, for every share $p$:

# %% tags=["HDSL19-R2"]
rng = np.random.default_rng(12)
n_atoms = 2000
n_terms = 400
for p in (1.0, 0.25, 0.04):
    largest = []
    for _ in range(100):
        n_admissible = rng.binomial(n_terms, p)
        sums = 2.0 * rng.binomial(n_admissible, 0.5, n_atoms) - n_admissible
        largest.append(4.0 * unit * sums.max() / n_terms)
    used = 2.0 * np.mean(largest) / complexity_part(unit, p, n_atoms, n_terms)
    print(f"share of admissible terms {p:.2f}: twice the complexity / first part = {used:.2f}")
    assert 0.8 < used < 1.0

# %% [markdown]
# ## The argument for stopping early
#
# In the first picture the printed bound is smallest at some $k$, but the corrected bound only falls. Stopping early may still help in practice. The corrected bound does not explain why, because with a linear loss all sets $D^{(k)}$ have the same complexity.
#
# ## Exercise
#
# How many points does the corrected Theorem 1 need to prove $L(M) - L_S(M) \le 0.1$ with probability 0.95, for $\lambda B_X = 0.1$ and $d = 1000$? How many does it need for $d = 10^6$?
#
# <details>
# <summary><b>Solution</b></summary>
#
# Both terms fall like $1/\sqrt n$, so one evaluation at any $n_0$ is enough: $n \approx n_0\,(\text{bound at } n_0/0.1)^2$. A thousand times as many features double $\log d(d-1)$. The next cell prints the numbers of points.
#
# </details>

# %%
for d_ in (1000, 10**6):
    needed = 3
    while Bounds(needed, d_, 0.1, 1.0).deviation(0.05) > 0.1:
        needed = math.ceil(1.01 * needed)
    print(f"d = {d_:7}: about {round(needed, -2)} points")
    assert Bounds(needed, d_, 0.1, 1.0).deviation(0.05) <= 0.1
    assert Bounds(needed // 2, d_, 0.1, 1.0).deviation(0.05) > 0.1

# %% [markdown]
# ## Fine print
#
# * **Hoeffding for a single $M$.** The printed proof of the corollary uses Hoeffding's inequality with $n$
#   for $L_S(M^\star)$, but $L_S(M^\star)$ is a mean of averages over only $\lfloor n/3\rfloor$ independent triplets. The result is still right: at most two of the six orders of three points are admissible, so the symmetrized loss has a third of the range.
# * **Subsampled triplets** (the paper's Remark 2) are drawn with replacement above. By Hoeffding's comparison the expected deviation is not larger without replacement. The paper refers to Clémençon, Colin and Bellet (2016), whose results are for general U-statistics.
# * **Fairness.** For a loss with $\ell(0) = 0$ inequality (11) is right. With $k^{16} \ge d(d-1)$ and
#   $\lambda B_X \ge 1/40$, which the paper uses, the printed bound follows from the corrected bound.
# * **Monte Carlo.** Comparisons have a margin of four standard errors. The seeds are fixed.
#
# ## References
#
# * HDSL19: Liu, Bellet, *Escaping the curse of dimensionality in similarity learning: efficient Frank-Wolfe
#   algorithm and generalization bounds*, Neurocomputing 333, 2019: section 4, Theorem 1, Corollary 1,
#   appendix D.
# * Clémençon, Colin, Bellet, *Scaling-up empirical risk minimization: optimization of incomplete
#   U-statistics*, JMLR 17, 2016.
# * Lacoste-Julien, Jaggi, *On the global linear convergence of Frank-Wolfe optimization variants*, NIPS
#   2015: how drop steps are counted.
