# %% [markdown]
# # How many similarities are there to choose from?
#
# A learner that chooses among many similarities after seeing the sample finds one that fits the noise. The Rademacher complexity measures how well such a similarity can fit noise. For similarities made of $k$ atoms, HDSL19 bounds the complexity by a number that contains $\log k$ but not the dimension $d$. The printed bound is false, because the learner chooses among all $d(d-1)$ atoms, and not among the $k$ atoms of one matrix.
#
# At the end you will have seen
#
# * how the complexity bounds the difference between the true risk and the training risk (symmetrization), and how the loss is removed from the complexity (contraction); both steps are derived, and checked exactly on small examples;
# * the step at which the printed proof goes wrong, and a bound that holds: it has $\log d(d-1)$ in place of $\log k$, and a quarter of the constant;
# * that the printed bound is false for $k = 1$ in every setting tested, because the bound is then 0;
# * for every $k$ a distribution on which the printed bound is false, with a lower bound of the complexity that is computed exactly.

# %%
import itertools
import math
from fractions import Fraction

import numpy as np
import sympy as sp
from scipy.stats import binom

import safescreen as ss
from safescreen_book import figures
from safescreen_book.protocols.hdsl.complexity import (
    Bounds,
    largest_at_atoms,
    largest_entry,
    rademacher,
)

loss = ss.SmoothedHinge(gamma=1.0)

# %% [markdown]
# ## The story in a picture
#
# Take 30 triplets and give each a random sign $\sigma_i$. A similarity should score a triplet high if its sign is $+1$, and low if its sign is $-1$. There is nothing to learn. The complexity is the expectation of the best mean score of any similarity. The figure shows the complexity for growing dimension $d$ (left) and for growing samples (right). The features are random, and each one occurs twice (twins). The printed bound for one atom is 0. The printed bounds for more atoms do not depend on $d$, but the complexity grows with $d$.


# %%
def twins_data(d):
    """Random signs as features, each of them twice; two classes by a fair coin."""

    def draw(n, rng):
        signs = rng.choice([-1.0, 1.0], (n, d // 2))
        return np.repeat(signs, 2, axis=1), rng.integers(0, 2, n)

    return draw


dimensions = (4, 10, 30, 100, 300, 1000)
sizes = (9, 30, 90, 300, 900)
by_d = [rademacher(twins_data(d), 90, 1.0, repeats=30).mean / 2.0 for d in dimensions]
by_n = [rademacher(twins_data(30), n, 1.0, repeats=100).mean / 2.0 for n in sizes]
assert np.all(np.diff(by_d) > 0.0) and np.all(np.diff(by_n) < 0.0)


# %% tags=["nbval-ignore-output"]
def bound_curves(settings):
    bounds = [Bounds(n, d, 1.0, 2.0) for n, d in settings]
    curves = {"corrected, any k": [b.complexity() / 2.0 for b in bounds]}
    for k in (1, 2):
        curves[f"printed, k = {k}"] = [b.printed_complexity(k) / 2.0 for b in bounds]
    return curves


def draw_panel(ax, x, complexities, settings, **labels):
    """Draw the complexities as dots and the bounds as lines; return their first and last values."""
    curves = bound_curves(settings)
    dots = {"Monte Carlo": (x, complexities)}
    ylabel = r"complexity / $\lambda B_X$"
    figures.lines(curves, x, dots=dots, ax=ax, ylabel=ylabel, log="x", **labels)
    return figures.ends({"Monte Carlo": complexities} | curves, "{:.2g}")


figure, axes = figures.panels(2, height=3.6)
by_dimension = [(90, d) for d in dimensions]
by_size = [(n, 30) for n in sizes]
of_d = {"title": "n = 90 points", "xlabel": "dimension d"}
of_n = {"title": "d = 30 features", "xlabel": "number of points n"}
left = draw_panel(axes[0], dimensions, by_d, by_dimension, **of_d)
right = draw_panel(axes[1], sizes, by_n, by_size, **of_n)
figures.show(
    "Dots show the complexity by Monte Carlo; lines show the bounds. The left panel has, from the "
    f"smallest dimension to the largest: {left}. The right panel has, from the fewest points to "
    f"the most: {right}."
)

# %% [markdown]
# ## The claims
#
# Points $z = (x, y)$, with $x \in \mathbb{R}^d$ and a class $y$, are drawn independently. A triplet is
# admissible if $y = y' \ne y''$. For a similarity matrix $M$, $A = x (x' - x'')^\top$ and a loss
# $\ell \ge 0$ of slope at most 1,
#
# $$L_M(z, z', z'') = [\,y = y' \ne y''\,]\;\ell\big(\langle A, M\rangle\big), \qquad L(M) = \mathbb{E}\, L_M ,$$
#
# and $L_S(M)$ is the average of $L_M$ over all ordered triplets of a sample. The *atoms* are
# $\lambda (e_a \pm e_b)(e_a \pm e_b)^\top$ with $a < b$. Their number is $N = d(d-1)$. $D^{(k)}$ is the set of convex combinations of at most $k$ atoms, and $D$ is the convex hull of all atoms.
#
# Let $\sigma_i$ be independent random signs, and $m = \lfloor n/3\rfloor$. The *Rademacher complexity* of the losses of a set of matrices is
#
# $$R = \mathbb{E} \sup_M \frac1m \sum_{i=1}^m \sigma_i\, L_M(z_i, z_{i+m}, z_{i+2m}) .$$
#
# > **As printed** (HDSL19 Lemma 1). On $D^{(k)}$, $\;R \le 8 \lambda B_X \sqrt{2 \log k / m}$.
# > **Corrected.** On $D^{(k)}$, for every $k$, and on $D$: $\;R \le 2 \lambda B_X \sqrt{2 \log N / m}$,
# > with $N = d(d-1)$.
#
# | assumption | needed for |
# |---|---|
# | points independent, of one distribution | symmetrization |
# | loss of slope at most 1 | contraction |
# | no entry of $x (x' - x'')^\top$ is larger than $B_X$ | the length of the vectors in Massart's lemma |
#
# <details>
# <summary><b>Symbols</b></summary>
#
# | symbol | meaning |
# |---|---|
# | $\ell(u)$ | here $0$ for $u \ge 1$, $\frac12 (1-u)^2$ for $0 \le u \le 1$, and $\frac12 - u$ for $u \le 0$; slope at most 1, $\ell(0) = \frac12$ |
# | $\lambda$ | factor of the atoms: an atom has four entries $\pm\lambda$ |
# | $m$ | $\lfloor n/3 \rfloor$, the number of triplets of a sample that share no point |
# | $G$ | $\frac1m \sum_i \sigma_i A_i$ |
#
# The paper states its bound for any norm and its dual norm. The constants above belong to its equation (14), where the norm is the largest entry.
#
# </details>

# %% [markdown]
# ## Derivation, first part: from risks to signs
#
# ### Symmetrization: a second sample
#
# We want $\mathbb{E} \sup_M [L(M) - L_S(M)]$. By Lemma 3 of [`44a-blocks-and-bounded-differences`](44a-blocks-and-bounded-differences.ipynb), applied
# to the functions $L(M) - L_M$, this expectation is at most the expected supremum for separate triplets,
#
# $$\mathbb{E} \sup_M \Big[ L(M) - \frac1m\sum_i L_M(B_i) \Big], \qquad B_i = (z_i, z_{i+m}, z_{i+2m}) .$$
#
# Draw a second sample, with triplets $B_i'$. The true risk is the expectation of its average loss:
# $L(M) = \mathbb{E}' \frac1m\sum_i L_M(B_i')$. The supremum of an expectation is at most the expectation of the supremum, so the expected supremum above is at most
#
# $$\mathbb{E}\,\mathbb{E}' \sup_M \frac1m\sum_i \big[ L_M(B_i') - L_M(B_i) \big] .$$

# %% [markdown]
# ### Symmetrization: signs
#
# Exchange $B_i$ and $B_i'$ for one $i$. Both are independent and have the same distribution, so the expectation does not change. The exchange reverses the sign of the $i$-th bracket. So we may put any signs $\sigma_i$ in front of the brackets, and then take the mean over all signs:
#
# $$\begin{aligned} &\mathbb{E} \sup_M \frac1m\sum_i \sigma_i\big[ L_M(B_i') - L_M(B_i) \big] \\
# &\quad\le \mathbb{E} \sup_M \frac1m\sum_i \sigma_i L_M(B_i') + \mathbb{E} \sup_M \frac1m\sum_i (-\sigma_i) L_M(B_i) . \end{aligned}$$
#
# The signs $-\sigma_i$ are distributed as the signs $\sigma_i$, so each of the two terms is $R$:
#
# > $$\mathbb{E} \sup_M\, [L(M) - L_S(M)] \;\le\; 2R .$$

# %% [markdown]
# ### Does it match?
#
# Take three possible triplets, with probabilities 1/2, 1/3 and 1/6, and a table of functions. The next cell lists all samples of $m$ triplets with all signs, and computes both sides as exact fractions.


# %%
def both_sides(Q, m, weights=(3, 2, 1)):
    """Return E sup [E q - mean of q] and 2 R; each row of Q is a function q."""
    samples = np.array(list(itertools.product(range(3), repeat=m)))
    probability = np.array(weights)[samples].prod(axis=1)
    total = sum(weights) ** m
    expected = Q @ np.array(weights)  # times 6
    deviation = (expected[:, None] * m - 6 * Q[:, samples].sum(axis=2)).max(axis=0)  # times 6 m
    left = Fraction(int(probability @ deviation), 6 * m * total)
    right = Fraction(0)
    for signs in itertools.product((-1, 1), repeat=m):
        best = (Q[:, samples] * np.array(signs)).sum(axis=2).max(axis=0)
        right += Fraction(int(probability @ best), m * total * 2**m)
    return left, 2 * right


rng = np.random.default_rng(0)
for m in (1, 2, 3, 4, 5):
    for n_functions in (1, 2, 20):
        left, right = both_sides(rng.integers(0, 10, (n_functions, 3)), m)
        assert left <= right
    print(f"m = {m}: 20 functions, E sup [risk - mean] {float(left):.4f} <= 2 R {float(right):.4f}")

# %% [markdown]
# ### Contraction: the loss is removed from one coordinate at a time
#
# Fix the sample. Every $M$ gives a vector $u$ with $u_i = \langle A_i, M\rangle$, one coordinate for each
# admissible triplet. (Other triplets have no loss, and do not occur in the sum.) We want to replace $\ell(u_i)$ by $u_i$.
#
# Fix all signs but $\sigma_1$, and let $a(u)$ be the sum over all coordinates but the first. Average over $\sigma_1 = \pm1$, and write the two suprema as one:
#
# $$\tfrac12 \sup_u \big[a(u) + \ell(u_1)\big] + \tfrac12 \sup_v \big[a(v) - \ell(v_1)\big] = \tfrac12 \sup_{u, v} \big[a(u) + a(v) + \ell(u_1) - \ell(v_1)\big] .$$
#
# The slope of $\ell$ is at most 1, so $\ell(u_1) - \ell(v_1) \le |u_1 - v_1|$. As $u$ and $v$ may be exchanged, the supremum with $|u_1 - v_1|$ equals the supremum with $u_1 - v_1$. Split this supremum into two again:
#
# $$\tfrac12 \sup_{u, v} \big[a(u) + a(v) + u_1 - v_1\big] = \tfrac12 \sup_u \big[a(u) + u_1\big] + \tfrac12 \sup_v \big[a(v) - v_1\big] .$$
#
# The loss no longer occurs in the first coordinate. Repeat the argument for the other coordinates:
#
# > $$\mathbb{E}_\sigma \sup_u \sum_i \sigma_i\, \ell(u_i) \;\le\; \mathbb{E}_\sigma \sup_u \sum_i \sigma_i\, u_i .$$
# The derivation has no condition on $\ell(0)$.

# %% [markdown]
# ### Does it match?
#
# The next cell computes the expectation exactly, over all 256 patterns of eight signs. It removes the loss from one coordinate after the other, and the expectation never falls.

# %%
signs = np.array(list(itertools.product((-1.0, 1.0), repeat=8)))
rng = np.random.default_rng(3)
ratios = []
for _ in range(300):
    u = rng.uniform(-3.0, 3.0, (8, 12)) * rng.choice([0.1, 1.0])  # twelve vectors, as columns
    expectations = []
    for n_without in range(9):
        mixed = np.vstack([u[:n_without], loss.value(u[n_without:])])
        expectations.append((signs @ mixed).max(axis=1).mean())
    assert np.all(np.diff(expectations) >= -1e-12)
    ratios.append(expectations[0] / expectations[-1])
print(f"300 sets of vectors, with the loss / without it: {min(ratios):.2f} to {max(ratios):.2f}")
assert max(ratios) <= 1.0 + 1e-12

# %% [markdown]
# ### Break it: a slope of 2
#
# With $2\ell$ in place of $\ell$ the inequality fails for large vectors, because the loss is nearly linear there.

# %%
broken = 0
for _ in range(300):
    u = rng.uniform(-3.0, 3.0, (8, 12))
    broken += (signs @ (2.0 * loss.value(u))).max(axis=1).mean() > (signs @ u).max(axis=1).mean()
print("sets of vectors for which the inequality fails with a loss of slope 2:", broken, "of 300")
assert broken > 100

# %% [markdown]
# ## Derivation, second part: which set is finite
#
# Without the loss, the function under the supremum is *linear* in $M$. A linear function on a convex hull is largest at a corner. So for every $k$
#
# $$\sup_{M \in D^{(k)}} \frac1m \sum_i \sigma_i \langle A_i, M\rangle = \max_{\text{atoms } B} \langle G, B\rangle , \qquad G = \frac1m\sum_i\sigma_i A_i .$$
#
# The printed proof goes wrong here. The proof takes this maximum over the $k$ atoms of one given $M$. But the supremum is over all $M$, so it chooses among all $N$ atoms, and the choice depends on the signs. The number $k$ makes no difference, because the supremum is attained at a single atom. (The pairs $a < b$ with two signs give $N = d(d-1)$ atoms. The paper's $2d(d-1)$ counts each atom twice.)
#
# ### The slow version
#
# This function computes the supremum from the definition, with the atoms as matrices. `largest_at_atoms` computes the same number without forming the atoms.


# %%
def supremum(X, y, sigma, lam, value=lambda u: u):
    """Largest over all atoms of 1/m sum sigma_i value(<A_i, B>)."""
    n, d = X.shape
    m = n // 3
    best = -np.inf
    A = [np.outer(X[i], X[i + m] - X[i + 2 * m]) for i in range(m)]
    admissible = np.array([y[i] == y[i + m] != y[i + 2 * m] for i in range(m)])
    for a, b in itertools.combinations(np.eye(d), 2):
        for e in (a + b, a - b):
            products = np.array([np.vdot(A_i, lam * np.outer(e, e)) for A_i in A])
            best = max(best, np.mean(sigma * admissible * value(products)))
    return best


# %% tags=["HDSL19-L1"]
rng = np.random.default_rng(11)
for _ in range(8):
    X = rng.standard_normal((12, 3))
    y = rng.integers(0, 2, 12)
    sigma = rng.choice([-1.0, 1.0], 4)
    assert np.isclose(
        largest_at_atoms(X, y, sigma, 0.5), supremum(X, y, sigma, 0.5), rtol=1e-12, atol=1e-14
    )
    with_loss = largest_at_atoms(X, y, sigma, 0.5, loss)
    assert np.isclose(with_loss, supremum(X, y, sigma, 0.5, loss.value), rtol=1e-12, atol=1e-14)
print("largest_at_atoms is the supremum by the definition, with the loss and without, in 8 samples")

# %% [markdown]
# No mixture of atoms has a larger value than the best atom. The next cell compares the best atom with 2000 random mixtures:

# %%
rng = np.random.default_rng(4)
X = rng.standard_normal((30, 5))
y = rng.integers(0, 2, 30)
sigma = rng.choice([-1.0, 1.0], 10)
kept = sigma * (y[:10] == y[10:20]) * (y[:10] != y[20:])
G = X[:10].T @ (kept[:, None] * (X[10:20] - X[20:])) / 10
pairs = list(itertools.combinations(np.eye(5), 2))
directions = [a + b for a, b in pairs] + [a - b for a, b in pairs]
atoms = [0.5 * np.outer(e, e) for e in directions]
mixtures = np.tensordot(rng.dirichlet(np.full(len(atoms), 0.3), 2000), atoms, axes=1)
best = largest_at_atoms(X, y, sigma, 0.5)
best_mixture = np.tensordot(mixtures, G).max()
print(f"{len(atoms)} atoms; best atom {best:.4f}, best of 2000 mixtures {best_mixture:.4f}")
assert len(atoms) == 5 * 4
assert best_mixture <= best + 1e-12

# %% [markdown]
# ## Derivation, third part: the bound that holds
#
# ### Massart's lemma
#
# Let $u$ run through $N$ vectors of length at most $r$. For any $s > 0$ the largest of the
# $\langle\sigma, u\rangle$ is at most their soft maximum,
#
# $$\mathbb{E} \max_u \langle\sigma, u\rangle \le \frac1s \log \sum_u \mathbb{E}\, e^{s\langle\sigma, u\rangle} = \frac1s \log \sum_u \prod_i \cosh(s u_i) \le \frac{\log N}{s} + \frac{s r^2}{2} ,$$
#
# because $\cosh v \le e^{v^2/2}$. (Compare the two series, and use $(2j)! \ge 2^j j!$.) The best $s$ is $\sqrt{2\log N}/r$. With this $s$ the bound is $r\sqrt{2 \log N}$.

# %%
s, r, N = sp.symbols("s r N", positive=True)
soft = sp.log(N) / s + s * r**2 / 2
at_best = sp.simplify(soft.subs(s, sp.sqrt(2 * sp.log(N)) / r))
print("soft maximum at the best s:", at_best)
assert sp.simplify(at_best - r * sp.sqrt(2 * sp.log(N))) == 0
assert sp.simplify(sp.diff(soft, s).subs(s, sp.sqrt(2 * sp.log(N)) / r)) == 0
assert all(math.factorial(2 * j) >= 2**j * math.factorial(j) for j in range(60))

# %% [markdown]
# ### The length of the vectors, and how many triplets count
#
# For a given sample, a vector has one coordinate for each of the $m'$ admissible triplets. Each coordinate is at most $4\lambda B_X$, because an atom has four entries $\pm\lambda$. So $r \le 4 \lambda B_X \sqrt{m'}$. (The paper has 8 in place of 4, because it first centres the vectors. This step is not needed.)
#
# A triplet is admissible with probability $p = \sum_c p_c^2 (1 - p_c)$, where $p_c$ are the probabilities
# of the classes. For all classes $p = \sum_c p_c \cdot p_c(1-p_c) \le \frac14$. By Jensen's inequality $\mathbb{E} \sqrt{m'} \le \sqrt{\mathbb{E}\, m'} = \sqrt{p\, m}$. Together these bounds give
#
# $$R \;\le\; \frac1m \cdot 4 \lambda B_X \sqrt{p\,m} \cdot \sqrt{2 \log N} \;\le\; 2 \lambda B_X \sqrt{\frac{2 \log d(d-1)}{m}} .$$

# %% tags=["HDSL19-L1"]
shares = np.random.default_rng(5).dirichlet(np.ones(4), 20000)
assert np.max(np.sum(shares**2 * (1 - shares), axis=1)) <= 0.25
for n, d, unit in ((9, 2, 0.05), (90, 20, 0.5), (300, 64, 5.0)):
    m = n // 3
    bounds = Bounds(n, d, unit / 2.0, 2.0)
    assert np.isclose(bounds.unit, unit)
    assert np.isclose(bounds.complexity(0.09), 0.6 * bounds.complexity())
    assert np.isclose(
        bounds.complexity(), 2.0 * unit * math.sqrt(2.0 * math.log(d * (d - 1)) / m), rtol=1e-12
    )
    for k in (1, 2, 10):
        assert np.isclose(
            bounds.printed_complexity(k), 8.0 * unit * math.sqrt(2.0 * math.log(k) / m)
        )
print("Bounds.complexity and Bounds.printed_complexity are the two formulas")

# %% [markdown]
# ## Does it match? Fifteen settings
#
# Every supremum below is exact; only the mean over samples and signs is estimated. Two numbers bound the complexity for *all* $k$. The lower bound is the complexity of the losses of single atoms, the smallest set. The upper bound is the complexity of the products without loss, by contraction. There are three kinds of data: independent signs, sparse vectors like those of documents, and handwritten digits, which are drawn with replacement.


# %%
def signs_data(d):
    return lambda n, rng: (rng.choice([-1.0, 1.0], (n, d)), rng.integers(0, 2, n))


def sparse_data(d):
    def draw(n, rng):
        present = rng.uniform(size=(n, d)) < 0.1
        return rng.uniform(size=(n, d)) * present, rng.integers(0, 3, n)

    return draw


def digits_data():
    from sklearn.datasets import load_digits

    points, labels = load_digits(return_X_y=True)

    def draw(n, rng):
        rows = rng.integers(0, len(labels), n)
        return points[rows] / 16.0, labels[rows]

    return draw, largest_entry(points / 16.0)


# %%
digits, digits_entry = digits_data()
cases = [
    ("signs", n, d, 0.05, signs_data(d), 2.0)
    for n, d in ((9, 2), (90, 5), (9, 40), (90, 20), (90, 60), (300, 20))
]
cases += [("signs", 90, 20, unit, signs_data(20), 2.0) for unit in (0.5, 5.0)]
cases += [
    ("sparse", n, d, 0.05, sparse_data(d), 1.0) for n, d in ((9, 40), (90, 20), (90, 60), (300, 20))
]
cases += [
    ("digits", n, 64, unit, digits, digits_entry) for n, unit in ((30, 0.05), (90, 0.05), (90, 5.0))
]

# %% [markdown]
# The next cell checks `rademacher` against the definition. Each draw is the mean of two suprema: one for the signs, and one for their negatives.

# %% tags=["HDSL19-L1"]
draws = rademacher(signs_data(3), 12, 0.5, loss=loss, repeats=4, seed=7).draws
rng = np.random.default_rng(7)
for draw in draws:
    X, y = signs_data(3)(12, rng)
    sigma = rng.choice([-1.0, 1.0], 4)
    both = [supremum(X, y, s, 0.5, loss.value) for s in (sigma, -sigma)]
    assert np.isclose(draw, np.mean(both), rtol=1e-12, atol=1e-14)
print(f"{len(draws)} draws of rademacher agree with the definition")

# %% [markdown]
# The next cell prints the table for all settings.

# %% tags=["HDSL19-L1"]
print("all numbers over lam B_X                                printed              corrected")
print("data      n    d  lam B_X   k = 1  any k at most     k = 1    k = 2   k = 10")
for name, n, d, unit, sample, entry in cases:
    lam = unit / entry
    single = rademacher(sample, n, lam, loss=loss, repeats=60)
    products = rademacher(sample, n, lam, repeats=60)
    bounds = Bounds(n, d, lam, entry)
    printed = [bounds.printed_complexity(k) / unit for k in (1, 2, 10)]
    row = f"{single.mean / unit:8.3f} {products.mean / unit:14.3f}"
    row += f"{printed[0]:10.2f} {printed[1]:8.2f} {printed[2]:8.2f}"
    row += f" {bounds.complexity() / unit:13.2f}"
    print(f"{name:7} {n:3} {d:4} {unit:8} {row}")
    # the corrected bound holds for every k
    assert products.mean + 4 * products.error < bounds.complexity()
    # the printed bound is false for k = 1
    assert printed[0] == 0.0 < single.mean - 4 * single.error

# %% [markdown]
# **The printed lemma is false for $k = 1$ in every row**, because its bound is 0 and the complexity is not. The corrected bound is above the column "any k at most" in every row.
#
# ## Larger k
#
# For two atoms and more the printed bound is above the complexities in the table, because its constant is large:
#
# $$8 \sqrt{2 \log k} \ge 2 \sqrt{2 \log d(d-1)} \iff k^{16} \ge d(d-1) ,$$
#
# So the printed bound is true, and weaker than the corrected bound, for $k = 2$ up to $d = 256$ and for $k = 3$ up to $d = 6561$. But for each $k$ the printed bound is false in all dimensions above some limit.
#
# ### The counter-example: twins
#
# On twin features a lower bound of the complexity can be computed *exactly* for any $d$. Features come in identical pairs. Each pair is an independent random sign, and the class is a fair coin, so $B_X = 2$. On a pair of twins the atom $\lambda(e_a + e_b)(e_a + e_b)^\top$ has the product $4\lambda\, x (x' - x'')$ with a triplet, and $x(x' - x'')$ is distributed as the sum of two random signs. So the $d/2$ atoms on twins have independent sums of $2m'$ signs. The largest sum has the distribution function $F^{d/2}$, where $F$ is binomial, and its mean is a finite sum. The loss lowers this bound by at most $p \cdot \frac12 (8\lambda)^2$, because it differs from $\frac12 - u$ by at most a square.


# %%
def twin_complexity(m, d, lam):
    """Lower bound, for any k, of the complexity of the losses on twins, divided by lam B_X."""
    total = 0.0
    sizes = np.arange(1, m + 1)
    for size, weight in zip(sizes, binom.pmf(sizes, m, 0.25), strict=True):
        if weight > 1e-14:
            with np.errstate(divide="ignore"):  # far below the middle F is rounded to 0
                tail = binom.sf(np.arange(2 * size), 2 * size, 0.5)
                not_above = np.exp(0.5 * d * np.log1p(-tail))
            total += weight * (2.0 * np.sum(1.0 - not_above) - 2.0 * size)
    return 4.0 * lam * total / m / (2.0 * lam) - 0.25 * 32.0 * lam**2 / (2.0 * lam)


sampled = rademacher(twins_data(60), 90, 1e-6, repeats=2000)
estimate = sampled.mean / 2e-6
error = sampled.error / 2e-6
exact = twin_complexity(30, 60, 1e-6)
print(f"n = 90, d = 60: all atoms {estimate:.3f} +- {error:.3f}, atoms on twins {exact:.3f}")
assert exact - 4 * error < estimate < 1.2 * exact

# %% [markdown]
# Now let $d$ grow, with 9000 points. The last column of the table says for which $k$ the printed bound fails.

# %%
m = 3000
lam = 1e-6
failed = {}
print("n = 9000, all numbers times 1000")
print("     d    complexity at least   printed k=2    k=3    k=4   corrected")
for d in (1e3, 1e6, 1e12, 1e13, 1e18, 1e19, 1e22):
    value = twin_complexity(m, d, lam)
    bounds = Bounds(3 * m, int(d), lam, 2.0)
    printed = {k: bounds.printed_complexity(k) / bounds.unit for k in (2, 3, 4)}
    failed[d] = [k for k in printed if value > printed[k]]
    row = " ".join(f"{1e3 * number:6.1f}" for number in printed.values())
    note = f"printed fails for k = {failed[d]}" if failed[d] else ""
    print(
        f"{d:8.0e} {1e3 * value:15.1f} {row:>28} "
        f"{1e3 * bounds.complexity() / bounds.unit:10.1f}   {note}"
    )
    assert value < bounds.complexity() / bounds.unit
assert (failed[1e6], failed[1e13], failed[1e22]) == ([], [2], [2, 3, 4])

# %% [markdown]
# If $d$ grows and the sample does not, then in the end some pair of twins agrees with every sign. The complexity tends to $\lambda B_X$. This limit is above the printed bound as soon as $m > 128\log k$. So for every $k$, **a bound that falls with $n$ and does not contain $d$ is false**. The next cell shows this for 1800 points and ten atoms:

# %%
value = twin_complexity(600, 1e300, lam)
bounds = Bounds(1800, 10**300, lam, 2.0)
printed_10 = bounds.printed_complexity(10) / bounds.unit
print(f"n = 1800, d = 1e300: complexity at least {value:.3f}, printed for k = 10 {printed_10:.3f}")
assert 1.0 - 1e-3 < value < 1.0 + 1e-9 and printed_10 < value

# %% [markdown]
# No data set has so many features: the dimensions must be this large because the printed constant 8 is four times as large as necessary. For $k = 1$ the printed bound fails in any dimension.
#
# ## Exercise
#
# How does the complexity change if the domain is the $\ell_1$ ball $\{M : \sum |M_{ab}| \le 4\lambda\}$, which contains $D$? And how does it change for the Frobenius ball of radius $2\lambda$, which also contains $D$?
#
# <details>
# <summary><b>Solution</b></summary>
#
# The $\ell_1$ ball has $2d^2$ corners $B = \pm 4\lambda\, e_a e_b^\top$, and $|\langle A, B\rangle| \le 4 \lambda B_X$ as before. So $R \le 2 \lambda B_X \sqrt{2 \log(2d^2)/m}$, which is hardly larger. The supremum is $4 \lambda \max_{ab} |G_{ab}|$.
#
# On the Frobenius ball the supremum is $2 \lambda \|G\|_F$, which is of the order $\lambda \sqrt{p\,\mathbb{E}\|A\|_F^2/m}$. The norm $\|A\|_F$ can be $d B_X$, so the complexity can grow like $d$. For *sparse* data $\|A\|_F$ is at most $B_X$ times the geometric mean of two numbers, the nonzeros of $x$ and the nonzeros of $x' - x''$. The complexity then grows less.
#
# </details>

# %%
print("   d    atoms    l1 ball   Frobenius ball   (over lam B_X, n = 90, signs)")
ratios = []
for d in (4, 16, 64, 256):
    rng = np.random.default_rng(10)
    values = []
    for _ in range(50):
        X, y = signs_data(d)(90, rng)
        sigma = rng.choice([-1.0, 1.0], 30) * ((y[:30] == y[30:60]) & (y[:30] != y[60:]))
        G = X[:30].T @ (sigma[:, None] * (X[30:60] - X[60:])) / 30
        at_atoms = largest_at_atoms(X, y, sigma, 1.0) / 2.0
        values.append((at_atoms, 2.0 * np.abs(G).max(), np.linalg.norm(G)))
    row = np.mean(values, axis=0)
    ratios.append(row[2] / row[1])
    print(f"{d:4} {row[0]:8.2f} {row[1]:10.2f} {row[2]:16.2f}")
    assert row[0] <= row[1] + 1e-12 <= 2.0 * math.sqrt(2.0 * math.log(2 * d**2) / 30)
assert ratios[-1] > 10.0 * ratios[0]

# %% [markdown]
# For the domain $D$ the complexity grows only like $\sqrt{\log d}$, although its elements are $d \times d$ matrices, and this is so for every $k$. This part of the paper's conclusion is right.
#
# ## Fine print
#
# * **The factor $\frac14$** for the admissible triplets is attained only by two classes of equal size. `Bounds.complexity(admissible=p)` computes the bound for the $p$ of your classes.
# * **$B_X$ must bound the whole distribution**, not only the sample. `largest_entry` computes $B_X$ for finite distributions. For unbounded points the bound says nothing.
# * **The sequence of sets.** The paper lets $k$ run to $2d(d-1)$. There are $d(d-1)$ atoms, and by
#   Carathéodory's theorem $d(d+1)/2$ of them are enough for any $M$ in $D$.
# * **Fairness.** That a formula with $\log k$ is 0 for $k = 1$ may be an oversight. The paper's rate in $n$ is right, and so is its conclusion that the bound need not grow with the number $d^2$ of parameters.
# * **Monte Carlo.** Every comparison above has a margin of four standard errors. The seeds are fixed.
#
# Next: [`44c-risk-of-a-learned-similarity`](44c-risk-of-a-learned-similarity.ipynb).
#
# ## References
#
# * HDSL19: Liu, Bellet, *Escaping the curse of dimensionality in similarity learning: efficient Frank-Wolfe
#   algorithm and generalization bounds*, Neurocomputing 333, 2019: section 4, Lemma 1.
# * Shalev-Shwartz, Ben-David, *Understanding machine learning*, 2014: Lemmas 26.2 and 26.7 to 26.9
#   (symmetrization, convex hulls, Massart, contraction).
