# %% [markdown]
# # Generalization of a similarity learned from atoms
#
# A similarity is fitted to triplets of a sample, and then judged on points it has not seen. How much worse can
# it be there? The answer of section 4 of HDSL19 depends on the number $k$ of atoms of the similarity and not on
# the dimension $d$. This notebook takes the proof apart, lemma by lemma, and puts it together again.
#
# | | |
# |---|---|
# | minimise | $L_S(M) = \frac1T \sum_t \ell(\langle A_t, M\rangle)$ with $A_t = x (x' - x'')^\top$, over the triplets of a sample |
# | loss | $\ell(u) = 0$ for $u \ge 1$, $\frac12 (1-u)^2$ for $0 \le u \le 1$, $\frac12 - u$ below; 1-Lipschitz, $\ell(0) = \frac12$ |
# | domain | $M \in D_\lambda = \mathrm{conv} \{\lambda (e_a \pm e_b)(e_a \pm e_b)^\top : a \ne b\}$, its corners are the *atoms* |
# | gradient | $G = -\frac1T \sum_t g_t A_t$ with $g_t = -\ell'(\langle A_t, M\rangle)$ |
# | Frank-Wolfe gap | $g(M) = \max_{\text{atoms } B} \langle G, M - B\rangle \ge L_S(M) - \min L_S$ |
#
# At the end you will have seen that
#
# * the three tools (a U-statistic is a mean over independent blocks; its supremum is bounded by theirs; bounded
#   differences concentrate) are right, two of them checked with exact arithmetic;
# * the lemma on the Rademacher complexity is not: for $k = 1$ it bounds a positive number by zero, and for
#   *every* $k$ there is a dimension where it is false, because it counts the atoms of one matrix where the
#   supremum chooses among all of them;
# * a correct bound has $\log d(d-1)$ in place of $\log k$, a quarter of the constant, and no $k$;
# * the theorem on deviations fails in any dimension when the scale is small, for another reason: the loss at 0
#   is 1/2, not 0;
# * the excess risk bound survives with the same correction, but no longer speaks for stopping early.

# %%
import itertools
import math
from fractions import Fraction

import matplotlib.pyplot as plt
import numpy as np
import sympy as sp
from scipy.stats import binom

import safescreen as ss
from safescreen.hdsl import FrankWolfe, SparseSimilarity
from safescreen_book import figures
from safescreen_book.protocols.hdsl.complexity import (
    Bounds,
    MonteCarlo,
    largest_at_atoms,
    largest_entry,
    rademacher,
)

loss = ss.SmoothedHinge(gamma=1.0)

# %% [markdown]
# ## The claims
#
# Points $z = (x, y)$, with $x \in \mathbb{R}^d$ and a label $y$, are drawn independently. A triplet is
# *admissible* if $y = y' \ne y''$. With a loss $\ell \ge 0$ that is 1-Lipschitz, here $\ell(u) = 0$ for $u >
# 1$, $\frac12 (1 - u)^2$ between 0 and 1, and $\frac12 - u$ for $u < 0$,
#
# $$L_M(z, z', z'') = [\,y = y' \ne y''\,]\;\ell\big(\langle x (x' - x'')^\top, M\rangle\big), $$
#
# $$L_S(M) = \frac{1}{n(n-1)(n-2)} \sum_{i \ne j \ne k} L_M(z_i, z_j, z_k), \qquad L(M) = \mathbb{E}\, L_M .$$
#
# $M$ is a convex combination of at most $k$ of the *atoms* $\lambda (e_a \pm e_b)(e_a \pm e_b)^\top$: call this
# set $D^{(k)}$, and $D$ the whole convex hull. $B_X$ bounds the entries of $x (x' - x'')^\top$, and $m =
# \lfloor n/3 \rfloor$.
#
# > **As printed.** The Rademacher complexity of the losses of $D^{(k)}$ is at most (HDSL19 Lemma 1)
# >
# > $$8 \lambda B_X \sqrt{2 \log k / m} .$$
# >
# > With probability $1 - \delta$, for every $M$ in $D^{(k)}$ (Theorem 1),
# >
# > $$L(M) - L_S(M) \le 16 \lambda B_X \sqrt{2 \log k / m} + 12 \lambda B_X \sqrt{2 \log(2/\delta) / n} .$$
# >
# > With probability $1 - \delta$, what Algorithm 3 returns after $k$ iterations has an excess risk of at most
# > (Corollary 1)
# >
# > $$\frac{16 L \lambda^2}{k + 2} + 16 \lambda B_X \sqrt{2 \log k / m} + 20 \lambda B_X \sqrt{\log(4/\delta) / n} .$$
#
# > **As it holds.** Let $N = d(d-1)$, the number of atoms. For every $k$, in the same order,
# >
# > $$2 \lambda B_X \sqrt{2 \log N / m} ,$$
# >
# > $$L(M) - L_S(M) \le 4 \lambda B_X \sqrt{2 \log N / m} + (\ell(0) + 4 \lambda B_X) \sqrt{\log(1/\delta) / 2n} ,$$
# >
# > $$\frac{8 L \lambda^2}{k' + 2} + 4 \lambda B_X \sqrt{2 \log N / m} + 8 \lambda B_X \sqrt{2 \log(1/\delta) / n} ,$$
# >
# > where $k' \ge k/2$ counts the iterations that are not drop steps.
#
# (The paper writes $B_X$ and the dual norm for any pair of norms; these are its constants for the largest
# entry, where $\|M\|_1 \le 4\lambda$, its equation 14.)
#
# | assumption | needed for |
# |---|---|
# | points independent, of one distribution | blocks (L2, L3), bounded differences (L4) |
# | loss 1-Lipschitz | contraction (L1) |
# | loss non-negative, $\ell(0)$ known | bounded differences (T1) |
# | entries of $x (x' - x'')^\top$ bounded by $B_X$ | everywhere |
# | loss convex and smooth, exact line search | the optimization part of C1 |

# %% [markdown]
# ## A U-statistic is a mean of means over blocks
#
# $L_S$ is a mean over $n(n-1)(n-2)$ triplets that share points, so they are not independent. Hoeffding's way
# out: shuffle the sample by a permutation $\pi$ and cut it into $m$ triplets $(\pi(i), \pi(i+m), \pi(i+2m))$
# that share nothing. Every ordered triplet occurs at each of the $m$ places in $(n-3)!$ of the permutations, so
# that the mean over all of them gives it the weight
#
# $$\frac{m\,(n-3)!}{m\; n!} = \frac{1}{n(n-1)(n-2)} ,$$
#
# its weight in the U-statistic, also when $n$ is no multiple of 3 and points are left over (HDSL19 Lemma 2). In
# exact arithmetic, over *all* permutations, for a function $q$ without any symmetry:

# %% tags=["HDSL19-L2"]
rng = np.random.default_rng(0)
for n in range(3, 9):
    q = rng.integers(-99, 100, (n, n, n))
    triplets = np.array(list(itertools.permutations(range(n), 3)))
    u_statistic = Fraction(int(q[tuple(triplets.T)].sum()), len(triplets))

    m, shuffled = n // 3, np.array(list(itertools.permutations(range(n))))
    blocks = q[shuffled[:, :m], shuffled[:, m : 2 * m], shuffled[:, 2 * m : 3 * m]]
    mean_of_means = Fraction(int(blocks.sum()), m * math.factorial(n))
    assert mean_of_means == u_statistic
    mean, gap = str(mean_of_means), mean_of_means - u_statistic
    count = len(shuffled)
    print(f"n = {n}: {count:5} permutations, {m} block(s), mean {mean:>8}, difference {gap}")

# %% [markdown]
# ## A supremum over it is at most a supremum over blocks
#
# The supremum of a mean is at most the mean of the suprema, and a shuffled sample of independent points has the
# distribution of the sample itself. So, for any set $Q$ of functions (HDSL19 Lemma 3),
#
# $$\mathbb{E} \sup_{q \in Q} U_n(q) \;\le\; \mathbb{E} \sup_{q \in Q} \frac1m \sum_{i=1}^m q(z_i, z_{i+m}, z_{i+2m}) .$$
#
# With three possible points, of probabilities 1/2, 1/3 and 1/6, all $3^n$ samples can be listed, and both sides
# are exact.

# %% tags=["HDSL19-L3"]
def both_sides(Q, n, weights=(3, 2, 1), order=None):
    """Expected suprema of U-statistic and blocks; `order` rearranges each sample."""
    m, samples = n // 3, np.array(list(itertools.product(range(3), repeat=n)))
    probability = np.array(weights)[samples].prod(axis=1)
    ordered = samples if order is None else order(samples)
    i, j, k = np.array(list(itertools.permutations(range(n), 3))).T
    u_sum = Q[:, samples[:, i], samples[:, j], samples[:, k]].sum(axis=2).max(axis=0)
    thirds = (ordered[:, part * m : (part + 1) * m] for part in range(3))
    block_sum = Q[:, *thirds].sum(axis=2).max(axis=0)
    total = sum(weights) ** n
    of_u, of_blocks = int(probability @ u_sum), int(probability @ block_sum)
    return Fraction(of_u, total * len(i)), Fraction(of_blocks, total * m)

rng = np.random.default_rng(1)
for n in range(3, 8):
    for n_functions in (1, 2, 20):
        left, right = both_sides(rng.integers(-9, 10, (n_functions, 3, 3, 3)), n)
        assert left <= right and (left == right or n_functions > 1)
    both = f"U-statistic {float(left):.4f} <= blocks {float(right):.4f}"
    print(f"n = {n}: 20 functions, {both};  with one function equal")

# %% [markdown]
# With one function both sides are its expectation. With several the blocks, of which there are few, leave more
# room for choice.
#
# ### Break it: a sorted sample
#
# Data files often come sorted by class. The U-statistic does not care, the blocks do. The function that says
# whether a triplet is admissible, on three classes:

# %%
a, b, c = np.meshgrid(*3 * [np.arange(3)], indexing="ij")
admissible = ((a == b) & (b != c)).astype(int)[None]
for name, order in (("as drawn", None), ("sorted", lambda samples: np.sort(samples, axis=1))):
    left, right = both_sides(admissible, 6, order=order)
    print(f"{name:8}  q: U-statistic {float(left):.4f}, blocks {float(right):.4f}")
    assert (left == right) == (order is None)
left, right = both_sides(-admissible, 6, order=order)
print(f"sorted   -q: U-statistic {float(left):.4f} <= blocks {float(right):.4f}?", left <= right)
assert left > right

# %% [markdown]
# ## Bounded differences concentrate
#
# > (HDSL19 Lemma 4, McDiarmid 1989) If exchanging one of $n$ independent arguments changes $f$ by at most $c$,
# > then with probability $1 - \delta$, $|f - \mathbb{E} f| \le c \sqrt{n \log(2/\delta) / 2}$.
#
# Reveal the arguments one by one. The conditional expectations $V_i = \mathbb{E}[f \mid Z_1 \dots Z_i]$ move in
# steps of mean zero that lie, given the past, in an interval of length $c$. Everything hangs on such a step:
# Hoeffding's lemma says $\mathbb{E}\, e^{sV} \le e^{s^2 c^2/8}$. By convexity the worst $V$ sits at the two
# ends; with probability $p$ at the upper one and $h = sc$ the logarithm of its moment is
# $\psi(h) = \log(1 - p + p e^h) - ph$. $\psi(0) = \psi'(0) = 0$, and $\psi'' = t(1 - t)$ for some $t$ in $[0, 1]$, which is at most
# 1/4:
#
# The $n$ steps multiply to $e^{n s^2 c^2/8}$, Markov's inequality gives a tail of $e^{-2\tau^2/nc^2}$ on either
# side, and setting twice that to $\delta$ is the lemma. One side alone needs only $\log(1/\delta)$, which is
# what we shall use.
#
# The constants, exactly: for $f$ = the sum of $n$ signs, $c = 2$, the tails are binomial. Nothing can be taken
# from the exponent: with $n/4$ in place of $n/2$ the statement is false. And independence is needed: if all
# signs are one and the same, the sum is $\pm n$.

# %% tags=["HDSL19-L4"]
h, p, t = sp.symbols("h p t", positive=True)
psi = sp.log(1 - p + p * sp.exp(h)) - p * h
share = p * sp.exp(h) / (1 - p + p * sp.exp(h))
assert psi.subs(h, 0) == 0 and sp.simplify(sp.diff(psi, h).subs(h, 0)) == 0
assert sp.simplify(sp.diff(psi, h, 2) - share * (1 - share)) == 0
assert sp.expand(sp.Rational(1, 4) - t * (1 - t) - (t - sp.Rational(1, 2)) ** 2) == 0

s, c_, n_, tau = sp.symbols("s c n tau", positive=True)
exponent = n_ * s**2 * c_**2 / 8 - s * tau
best = sp.solve(sp.diff(exponent, s), s)[0]
print("best s:", best, "  log of the tail:", sp.simplify(exponent.subs(s, best)))
assert sp.simplify(exponent.subs(s, best) + 2 * tau**2 / (n_ * c_**2)) == 0

levels = 10.0 ** -np.arange(0.5, 12.1, 0.5)


def sum_of_signs_beyond(n, tau):
    """P(|sum of n signs| > tau)."""
    return 2 * binom.sf(np.floor((n + tau) / 2), n, 0.5)


worst = {}
for n in (5, 50, 500, 5000):
    for divisor in (2, 4):
        tails = sum_of_signs_beyond(n, 2.0 * np.sqrt(n * np.log(2.0 / levels) / divisor))
        worst[n, divisor] = np.max(tails / levels)
    lemma, sharper = worst[n, 2], worst[n, 4]
    print(f"n = {n:4}: largest P / delta, lemma {lemma:.3f}, with n/4 {sharper:.3g}")
    assert worst[n, 2] <= 1.0
assert worst[500, 4] > 100.0

rng = np.random.default_rng(2)
n, draws = 60, 4000
first = rng.uniform(size=(draws, n)) < 0.2
sizes = first.sum(axis=1)
rest = n - sizes
fraction = (sizes * (sizes - 1) * rest + rest * (rest - 1) * sizes) / (n * (n - 1) * (n - 2))
expected = 0.2 * 0.8
for delta in (0.5, 0.1, 0.01):
    outside = np.mean(np.abs(fraction - expected) > np.sqrt(math.log(2 / delta) / (2 * n)))
    assert outside <= delta
    print(f"share of admissible triplets, delta {delta:4}: outside in {outside:.4f} of samples")
same_sign = math.sqrt(2 * 100 * math.log(2 / 0.05))
print(f"one sign repeated 100 times: |f| = 100, the lemma would say {same_sign:.1f}")
assert same_sign < 100.0

# %% [markdown]
# ### How much one point changes
#
# The share of admissible triplets above changes by at most $1/n$ when one point is exchanged, and not by $3/n$,
# although a point is in $3(n-1)(n-2)$ ordered triplets. At most $(n-1)(n-2)$ of those can be *admissible*: if
# the others of its class are $a$ and those outside are $b = n - 1 - a$, it is anchor in $ab$, its like in $ab$,
# and the odd one out in at most $b(b-1)$, together $b(2a + b - 1) = b(2(n-1) - b - 1)$, largest for $b = n -
# 1$. All ways to split up to 14 points among up to four classes:
#
# So if $0 \le \ell \le \ell_{\max}$ on the class, $L_S(M)$ changes by at most $c = \ell_{\max}/n$. What is
# $\ell_{\max}$? The paper's (11) says $|L_M| \le B_X \|M\|_1 \le 4 \lambda B_X$ because $\ell$ is 1-Lipschitz.
# That needs $\ell(0) = 0$. Here $\ell(0) = 1/2$, and
#
# $$0 \le \ell \le \ell(0) + 4 \lambda B_X .$$
#
# With (11) and all $3(n-1)(n-2)$ triplets, twice, the paper arrives at $c = 24 \lambda B_X / n$, which is large
# enough only by luck, when $\ell(0) \le 20 \lambda B_X$.

# %%
for n in range(3, 15):
    largest = 0
    for split in itertools.product(range(n + 1), repeat=4):
        if sum(split) == n and split[0] > 0:
            own, others = split[0] - 1, split[1:]
            odd_one_out = sum(size * (size - 1) for size in others)
            largest = max(largest, 2 * own * sum(others) + odd_one_out)
    assert largest == (n - 1) * (n - 2)
print("n = 3 to 14: a point is in (n-1)(n-2) admissible triplets at most, and can be in as many")

unit = 0.001
print(f"lam B_X = {unit}: printed bound of the loss {4 * unit}, loss(0) = {loss.value(0.0)}")
assert loss.value(0.0) > 4 * unit
u = np.linspace(-4.0, 4.0, 801)
assert np.all(loss.value(u) <= loss.value(0.0) + np.abs(u) + 1e-12)
assert np.isclose(loss.value(-4.0), 4.5)

# %% [markdown]
# ## From risk to Rademacher complexity
#
# Two steps are standard and printed correctly. *Symmetrization*: compare the blocks with those of a second
# sample, exchange the two at random by signs $\sigma_i$, and
#
# $$\mathbb{E} \sup_M [L(M) - L_S(M)] \le 2 R, \qquad
# R = \mathbb{E} \sup_M \frac1m \sum_{i=1}^m \sigma_i L_M(z_i, z_{i+m}, z_{i+2m}) .$$
#
# *Contraction*: a 1-Lipschitz loss can be left out, $\mathbb{E}_\sigma \sup_u \sum \sigma_i \ell(u_i) \le
# \mathbb{E}_\sigma \sup_u \sum \sigma_i u_i$. Unlike (11) this needs no $\ell(0) = 0$. Over all 256 patterns of
# eight signs, exactly:
#
# ## Which set is finite
#
# Without the loss, the supremum is over a *linear* function of $M$, and over a convex hull that is attained at
# an atom:
#
# $$\sup_{M \in D^{(k)}} \frac1m \sum_i \sigma_i \langle A_i, M\rangle =
# \max_{\text{atoms } B} \frac1m \sum_i \sigma_i \langle A_i, B\rangle \qquad\text{for every } k . $$
#
# Here is the flaw of the printed proof: it takes this maximum over *the* $k$ atoms that $M$ is made of. But the
# supremum is over $M$, so it chooses them, after having seen the signs, among all $N$. Nor does $k$ make a
# difference: one atom does as well as many. The pairs $a < b$ with two signs make
# $N = 2 \cdot \frac{d(d-1)}{2} = d(d-1)$ (the paper's $2d(d-1)$ counts each twice).
#
# In ten lines of numpy, from the definition; `largest_at_atoms` finds the same without forming a matrix for each
# atom, and 2000 random mixtures of atoms do not exceed it:

# %%
signs = np.array(list(itertools.product((-1.0, 1.0), repeat=8)))
rng = np.random.default_rng(3)
ratios = []
for _ in range(300):
    vectors = rng.uniform(-3.0, 3.0, (8, 12)) * rng.choice([0.1, 1.0])
    with_loss = (signs @ loss.value(vectors)).max(axis=1).mean()
    ratios.append(with_loss / (signs @ vectors).max(axis=1).mean())
assert max(ratios) <= 1.0 + 1e-12
print(f"with the loss / without it, 300 sets of vectors: {min(ratios):.2f} to {max(ratios):.2f}")

def supremum(X, y, sigma, lam, value=lambda u: u):
    """Largest over all atoms of 1/m sum sigma_i value(<A_i, B>), the atoms as matrices."""
    n, d = X.shape
    m, best = n // 3, -np.inf
    A = [np.outer(X[i], X[i + m] - X[i + 2 * m]) for i in range(m)]
    kept = np.array([y[i] == y[i + m] != y[i + 2 * m] for i in range(m)])
    for a, b in itertools.combinations(range(d), 2):
        for e in (np.eye(d)[a] + np.eye(d)[b], np.eye(d)[a] - np.eye(d)[b]):
            products = np.array([np.vdot(A_i, lam * np.outer(e, e)) for A_i in A])
            best = max(best, np.mean(sigma * kept * value(products)))
    return best


rng = np.random.default_rng(4)
X, y = rng.standard_normal((30, 5)), rng.integers(0, 2, 30)
sigma = rng.choice([-1.0, 1.0], 10)
slow = supremum(X, y, sigma, 0.5), supremum(X, y, sigma, 0.5, loss.value)
print(f"largest sum of products {slow[0]:.4f}, of losses {slow[1]:.4f}")

fast = largest_at_atoms(X, y, sigma, 0.5), largest_at_atoms(X, y, sigma, 0.5, loss)
assert np.allclose(slow, fast, rtol=1e-12)
kept = sigma * (y[:10] == y[10:20]) * (y[:10] != y[20:])
G = X[:10].T @ (kept[:, None] * (X[10:20] - X[20:])) / 10
atoms = [
    0.5 * np.outer(e, e) for a, b in itertools.combinations(np.eye(5), 2) for e in (a + b, a - b)
]
mixtures = np.tensordot(rng.dirichlet(np.full(len(atoms), 0.3), 2000), atoms, axes=1)
assert len(atoms) == 5 * 4 and np.tensordot(mixtures, G).max() <= fast[0] + 1e-12
print(f"slow and fast agree; {len(atoms)} atoms for d = 5; no mixture is above the best atom")

# %% [markdown]
# ## The bound that holds
#
# **Massart's lemma.** For $N$ vectors $u$ of length at most $r$, and any $s > 0$, the largest is at most the
# soft maximum,
#
# $$\mathbb{E} \max_u \langle\sigma, u\rangle \le \frac1s \log \sum_u \prod_i \cosh(s u_i) \le \frac1s \log\big(N e^{s^2 r^2/2}\big)
# = \frac{\log N}{s} + \frac{s r^2}{2} ,$$
#
# because $\cosh v \le e^{v^2/2}$ (compare the series: $(2j)! \ge 2^j j!$). The best $s$ gives $r\sqrt{2 \log
# N}$.
#
# **Length.** Given the sample, one coordinate for each of the $m'$ admissible blocks, each at most $\lambda
# \cdot 4 B_X$: an atom has four entries $\pm\lambda$. So $r \le 4 \lambda B_X \sqrt{m'}$. (The paper has 8; it
# centres the vectors first, which is not needed.)
#
# **Admissible blocks.** $\mathbb{E} \sqrt{m'} \le \sqrt{\mathbb{E}\, m'} = \sqrt{p\, m}$, where $p = \sum_c
# p_c^2 (1 - p_c)$ is the probability of an admissible triplet. It is $\sum_c p_c \cdot p_c(1-p_c) \le \frac14$,
# whatever the classes. Together
#
# $$R \;\le\; \frac1m \cdot 4 \lambda B_X \sqrt{p\,m} \cdot \sqrt{2 \log N} \;\le\; 2 \lambda B_X \sqrt{\frac{2 \log d(d-1)}{m}} .$$

# %%
s, r, N = sp.symbols("s r N", positive=True)
soft = sp.log(N) / s + s * r**2 / 2
at = soft.subs(s, sp.sqrt(2 * sp.log(N)) / r)
assert sp.simplify(at - r * sp.sqrt(2 * sp.log(N))) == 0
assert all(math.factorial(2 * j) >= 2**j * math.factorial(j) for j in range(60))
shares = np.random.default_rng(5).dirichlet(np.ones(4), 20000)
largest_p = float(np.max(np.sum(shares**2 * (1 - shares), axis=1)))
assert largest_p <= 0.25
print("soft maximum at the best s:", sp.simplify(at))

# %% [markdown]
# ## Against Monte Carlo
#
# Every supremum below is exact, only the mean over samples and signs is estimated. Two numbers bracket the
# complexity for *all* $k$: that of the losses of single atoms ($k = 1$, the smallest set), and that of the
# products without loss (by contraction above all of them). Three kinds of data: independent signs, sparse
# vectors like those of documents, and the digits of scikit-learn, drawn with replacement. All in units of
# $\lambda B_X$. The suprema are compared with the definition above, the bounds with their formulas.

# %% tags=["HDSL19-L1"]
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


digits, digits_entry = digits_data()
sizes = ((9, 40), (90, 20), (90, 60), (300, 20))
cases = [("signs", n, d, 0.05, signs_data(d), 2.0) for n, d in ((9, 2), (90, 5), *sizes)]
cases += [("signs", 90, 20, unit, signs_data(20), 2.0) for unit in (0.5, 5.0)]
cases += [("sparse", n, d, 0.05, sparse_data(d), 1.0) for n, d in sizes]
for n, unit in ((30, 0.05), (90, 0.05), (90, 5.0)):
    cases.append(("digits", n, 64, unit, digits, digits_entry))

rng = np.random.default_rng(11)
for _ in range(8):  # suprema and complexity by the definition
    X, y, sigma = rng.standard_normal((12, 3)), rng.integers(0, 2, 12), rng.choice([-1.0, 1.0], 4)
    for value in (None, loss):
        slow = supremum(X, y, sigma, 0.5, *(() if value is None else (value.value,)))
        assert np.isclose(largest_at_atoms(X, y, sigma, 0.5, value), slow, rtol=1e-12, atol=1e-14)
draws = rademacher(signs_data(3), 12, 0.5, loss=loss, repeats=4, seed=7).draws
rng = np.random.default_rng(7)
for draw in draws:
    X, y = signs_data(3)(12, rng)
    sigma = rng.choice([-1.0, 1.0], 4)
    both = [supremum(X, y, s, 0.5, loss.value) for s in (sigma, -sigma)]
    assert np.isclose(draw, np.mean(both), rtol=1e-12, atol=1e-14)
print("data      n    d  lam B_X   k = 1  any k at most  printed k=1    k=2   k=10   corrected")
for name, n, d, unit, sample, B in cases:
    lam = unit / B
    one = rademacher(sample, n, lam, loss=loss, repeats=150)
    products = rademacher(sample, n, lam, repeats=150)
    bounds = Bounds(n, d, lam, B)
    printed = [bounds.printed_complexity(k) / bounds.unit for k in (1, 2, 10)]
    low, high = one.mean / bounds.unit, products.mean / bounds.unit
    holds = bounds.complexity() / bounds.unit
    m = n // 3
    assert np.isclose(holds, 2.0 * math.sqrt(2.0 * math.log(d * (d - 1)) / m), rtol=1e-12)
    assert np.isclose(bounds.complexity(0.09) / bounds.unit, 0.6 * holds, rtol=1e-12)
    assert np.allclose(printed, [8.0 * math.sqrt(2.0 * math.log(k) / m) for k in (1, 2, 10)])
    assert np.isclose(bounds.unit, lam * B, rtol=1e-12)
    three = f"{printed[0]:14.2f} {printed[1]:7.2f} {printed[2]:6.2f}"
    row = f"{low:8.3f} {high:12.3f} {three} {holds:10.2f}"
    print(f"{name:7} {n:3} {d:4} {unit:8} {row}")
    assert high + 4 * products.error / bounds.unit < holds  # corrected: for every k
    assert printed[0] == 0.0 < low - 4 * one.error / bounds.unit  # printed: false for k = 1

# %% [markdown]
# **The printed lemma is false for $k = 1$ in every row:** it says 0. The corrected bound is above the second
# column in every row, hence above the complexity for every $k$.
#
# ### Larger k
#
# For two atoms and more the printed bound is above the numbers in the table. That is the work of its constant:
#
# $$8 \sqrt{2 \log k} \ge 2 \sqrt{2 \log d(d-1)} \iff k^{16} \ge d(d-1) ,$$
#
# so it is true (and weaker than the corrected one) for $k = 2$ up to $d = 256$, for $k = 3$ up to $d = 6561$.
# But it is not independent of $d$: for each $k$ it fails from some dimension on. Here is a distribution for
# which the complexity can be computed *exactly*, however large $d$ is. Features come as identical twins, each
# pair of twins an independent sign, labels are fair coins: $B_X = 2$. On a pair of twins an atom gives $4
# \lambda\, x (x' - x'')$, and $x(x' - x'')$ is distributed as the sum of two signs. So the $d/2$ atoms on twins
# are independent sums of $2m'$ signs, the largest of them has the distribution function $F^{d/2}$ with $F$
# binomial, and the expected largest, a lower bound of the complexity, is a finite sum. The loss costs at most
# $p \cdot \frac12 (8\lambda)^2$: it is $\frac12 - u$ except for a square.

# %%
def twin_complexity(m, d, lam):
    """Lower bound of the complexity of the losses on twins, any k, in units of lam B_X."""
    total, sizes = 0.0, np.arange(1, m + 1)
    for size, weight in zip(sizes, binom.pmf(sizes, m, 0.25), strict=True):
        if weight > 1e-14:
            with np.errstate(divide="ignore"):  # far below the middle F is zero to rounding
                tail = binom.sf(np.arange(2 * size), 2 * size, 0.5)
                not_above = np.exp(0.5 * d * np.log1p(-tail))
            total += weight * (2.0 * np.sum(1.0 - not_above) - 2.0 * size)
    return 4.0 * lam * total / m / (2.0 * lam) - 0.25 * 32.0 * lam**2 / (2.0 * lam)


def twins_data(d):
    def draw(n, rng):
        single, labels = signs_data(d // 2)(n, rng)
        return np.repeat(single, 2, axis=1), labels

    return draw


found, exact = rademacher(twins_data(60), 90, 1e-6, repeats=2000), twin_complexity(30, 60, 1e-6)
estimate, error = found.mean / 2e-6, found.error / 2e-6
print(f"n = 90, d = 60: all atoms {estimate:.3f} +- {error:.3f}, twins, exact, {exact:.3f}")
assert exact - 4 * error < estimate < 1.2 * exact

m, lam = 3000, 1e-6
print(f"\nn = {3 * m}, numbers times 1000")
print("     d    complexity at least   printed k=2    k=3    k=4   corrected")
failed = {}
for d in (1e3, 1e6, 1e12, 1e13, 1e18, 1e19, 1e22):
    value, bounds = twin_complexity(m, d, lam), Bounds(3 * m, int(d), lam, 2.0)
    printed = {k: bounds.printed_complexity(k) / bounds.unit for k in (2, 3, 4)}
    failed[d] = [k for k in printed if value > printed[k]]
    row = " ".join(f"{1e3 * number:6.1f}" for number in printed.values())
    holds = bounds.complexity() / bounds.unit
    note = f"printed fails for k = {failed[d]}" if failed[d] else ""
    print(f"{d:8.0e} {1e3 * value:15.1f} {row:>28} {1e3 * holds:10.1f}   {note}")
    assert value < holds
value, bounds = twin_complexity(600, 1e300, lam), Bounds(1800, 10**300, lam, 2.0)
ten = bounds.printed_complexity(10) / bounds.unit
print(f"\nn = 1800, d = 1e300: at least {value:.3f}, printed k=10 {ten:.3f}")
assert 1.0 - 1e-3 < value < 1.0 + 1e-9 and ten < value
assert (failed[1e6], failed[1e13], failed[1e22]) == ([], [2], [2, 3, 4])

# %% [markdown]
# So **no bound without $d$ that falls with $n$ can be true**, for any $k$: when $d$ grows there is, in the end, a pair
# of features that has followed every sign, and the complexity tends to $\lambda B_X$, above the printed bound as
# soon as $m > 128 \log k$. The dimensions needed for $k \ge 2$ are beyond use, because the constant 8 is four times
# what it must be. For $k = 1$ any dimension will do.
#
# ## Picture
#
# Left: the complexity grows with the dimension, like $\sqrt{\log d}$, and the printed bounds (dashed) do not.
# Right: the rate in $n$ is the right one.

# %%
dimensions, sizes = (4, 10, 30, 100, 300, 1000), (9, 30, 90, 300, 900)
by_d = [rademacher(twins_data(d), 90, 1.0, repeats=60).mean / 2.0 for d in dimensions]
by_n = [rademacher(twins_data(30), n, 1.0, repeats=200).mean / 2.0 for n in sizes]
assert np.all(np.diff(by_d) > 0.0) and np.all(np.diff(by_n) < 0.0)


def both_bounds(settings):
    all_bounds = [Bounds(n, d, 1.0, 2.0) for n, d in settings]
    curves = {"corrected, any k": [b.complexity() / 2.0 for b in all_bounds]}
    for k in (1, 2):
        curves[f"printed, k = {k}"] = [b.printed_complexity(k) / 2.0 for b in all_bounds]
    return curves


figure, axes = figures.panels(2, height=3.6)
options = {"ylabel": r"complexity / $\lambda B_X$", "log": "x"}
by_dimension = by_d, [(90, d) for d in dimensions], "dimension d", "n = 90, twin features"
by_size = by_n, [(n, 30) for n in sizes], "sample size n", "d = 30, twin features"
for ax, x, (values, settings, xlabel, title) in zip(
    axes, (dimensions, sizes), (by_dimension, by_size), strict=True
):
    labels = {"title": title, "xlabel": xlabel, **options}
    curves = both_bounds(settings)
    figures.lines(curves, x, dots={"Monte Carlo": (x, values)}, ax=ax, **labels)
plt.show()

# %% [markdown]
# ## Deviations
#
# Put together: $\Phi(S) = \sup_M [L(M) - L_S(M)]$ changes by at most $c = (\ell(0) + 4 \lambda B_X)/n$ with one
# point, its expectation is at most $2R$, and Lemma 4, one-sided, gives the corrected theorem.
#
# To compare we need true risks. Take a distribution on sixteen points, with twelve in one class: then $L(M)$ is
# a finite sum, $L_S(M)$ is one with other weights, and the supremum over atoms is a matrix product and a
# maximum.

# %% tags=["HDSL19-T1"]
class Population:
    """Points drawn with equal probability; products of triplets with all atoms."""

    def __init__(self, X, y, lam):
        size, d = X.shape
        i, j, k = (index.ravel() for index in np.indices((size, size, size)))
        keep = (y[i] == y[j]) & (y[j] != y[k])
        self.X, self.y, self.lam, self.size, self.d = X, y, lam, size, d
        self.i, self.j, self.k = i[keep], j[keep], k[keep]
        a, b = np.triu_indices(d, 1)
        along = np.hstack((X[:, a] + X[:, b], X[:, a] - X[:, b]))
        steps = X[self.j] - X[self.k]
        self.products = lam * along[self.i] * (along[self.j] - along[self.k])
        self.squares = np.sum(X**2, axis=1)[self.i] * np.sum(steps**2, axis=1)
        self.weights = np.full(len(self.i), 1.0 / size**3)

    def sample_weights(self, n, rng):
        """Draw a sample; return the weights of the triplets in its risk."""
        rows = rng.integers(0, self.size, n)
        counts = np.bincount(rows, minlength=self.size).astype(float)
        pairs = counts[self.i] * (counts[self.j] - (self.i == self.j))
        return pairs * counts[self.k] / (n * (n - 1) * (n - 2))

    def draw(self, n, rng):
        rows = rng.integers(0, self.size, n)
        return self.X[rows], self.y[rows]


rng = np.random.default_rng(6)
points, labels = rng.choice([-1.0, 1.0], (16, 6)), np.repeat([0, 1], (12, 4))
entry = largest_entry(points)
population = Population(points, labels, 0.5)

rows = np.array([0, 0, 3, 5, 12, 12, 15])  # a sample, by weights and by definition
counts = np.bincount(rows, minlength=16)
pairs = counts[population.i] * (counts[population.j] - (population.i == population.j))
weights = pairs * counts[population.k] / (7 * 6 * 5)
slow = 0.0
for a, b, c in itertools.permutations(rows, 3):
    product = 0.5 * points[a, :2].sum() * (points[b] - points[c])[:2].sum()
    slow += (labels[a] == labels[b] != labels[c]) * loss.value(product) / (7 * 6 * 5)
assert np.isclose(slow, weights @ loss.value(population.products[:, 0]))
print("risk of one atom on seven points, by definition and by weights:", round(float(slow), 4))

n, delta, draws = 60, 0.05, 2000
print("          over lam B_X   share of samples above         the bounds")
print("lam B_X  E sup     2R     k=1   k=30  corrected       k=1     k=30  corrected")
above = {}
for lam in (0.0005, 0.005, 0.05, 0.5):
    rng, crowd = np.random.default_rng(7), Population(points, labels, lam)
    losses = loss.value(crowd.products)
    risk = crowd.weights @ losses
    drawn = [crowd.sample_weights(n, rng) for _ in range(draws)]
    deviations = np.array([np.max(risk - weights @ losses) for weights in drawn])
    shares = np.sum(drawn, axis=1)  # of admissible triplets
    baseline = loss.value(0.0) * (crowd.weights.sum() - shares)  # mean zero, less variance
    twice = 2.0 * rademacher(crowd.draw, n, lam, loss=loss, repeats=200).mean
    bounds = Bounds(n, 6, lam, entry)
    limits = [bounds.printed_deviation(k, delta) for k in (1, 30)] + [bounds.deviation(delta)]
    tail = math.sqrt(2.0 * math.log(6 * 5) / 20)  # n = 60, d = 6, delta = 0.05
    formula = 4.0 * bounds.unit * tail + (0.5 + 4.0 * bounds.unit) * math.sqrt(math.log(20.0) / 120)
    assert np.isclose(limits[2], formula, rtol=1e-12)
    for k, limit in zip((1, 30), limits, strict=False):
        formula = 16.0 * math.sqrt(2.0 * math.log(k) / 20) + 12.0 * math.sqrt(2.0 * math.log(40.0) / 60)
        assert np.isclose(limit, bounds.unit * formula, rtol=1e-12)
    above[lam] = [float(np.mean(deviations > limit)) for limit in limits]
    mean = MonteCarlo(deviations - baseline)
    assert 0.0 < mean.mean - 4 * mean.error and mean.mean < twice
    assert above[lam][2] <= delta
    shown = " ".join(f"{limit:8.4f}" for limit in limits)
    shares = f"{above[lam][0]:7.3f} {above[lam][1]:6.3f} {above[lam][2]:10.3f}"
    left = f"{bounds.unit:7.3f} {mean.mean / bounds.unit:6.3f} {twice / bounds.unit:6.3f}"
    print(f"{left} {shares}  {shown}")
assert min(above[0.0005][:2]) > delta and max(above[0.05]) == 0.0

# %% [markdown]
# Two things go wrong, for two reasons.
#
# * **Small scales.** At $\lambda B_X = 0.001$ the printed bound is exceeded far more often than in the allowed
#   5 % of samples, in six dimensions, for $k = 1$ and for all the atoms there are. The loss is about 1/2 for
#   every $M$, and its mean varies with the number of admissible triplets, which no bound proportional to
#   $\lambda$ can cover. This is (11).
# * **The expectation.** For $k = 1$ the printed proof says $\mathbb{E} \sup \le 2R \le 0$. It is positive in
#   every row. The statement itself does not break there for $\lambda B_X$ of ordinary size, because its second
#   term is several times what it must be.
#
# When $k^{16} \ge d(d-1)$ and $\ell(0) \le 20 \lambda B_X$ the printed theorem follows from the corrected one,
# so it is true there. Mixtures of atoms, by ascent from random starts (which finds large values, not the
# supremum), stay below the corrected bound too:

# %%
def ascend(gain, value_at, w, steps=25):
    """Frank-Wolfe ascent over the simplex, accepting only what is better."""
    best = value_at(w)
    for step in range(steps):
        target = np.eye(len(w))[np.argmax(gain(w))]
        trial = max((w + g * (target - w) for g in (2.0 / (step + 2), 0.1, 0.02)), key=value_at)
        if value_at(trial) <= best:
            break
        w, best = trial, value_at(trial)
    return best


rng, n_atoms = np.random.default_rng(8), population.products.shape[1]
losses, found = loss.value(population.products), []
limit = Bounds(n, 6, population.lam, entry).deviation(delta)
for _ in range(60):
    difference = population.weights - population.sample_weights(n, rng)

    def value_at(w, v=difference):
        return v @ loss.value(population.products @ w)

    def gain(w, v=difference):
        return -(v * loss.alpha(population.products @ w)) @ population.products

    best_atom = np.eye(n_atoms)[np.argmax(difference @ losses)]
    starts = [best_atom, *rng.dirichlet(np.ones(n_atoms), 2)]
    found.append(max(ascend(gain, value_at, w) for w in starts))
    assert found[-1] >= np.max(difference @ losses) - 1e-12
print(f"mixtures: mean {np.mean(found):.3f}, largest {np.max(found):.3f}, bound {limit:.3f}")
assert np.mean(np.array(found) > limit) <= delta

# %% [markdown]
# ## Excess risk
#
# Let $M_k$ be what Algorithm 3 returns, $M^\star$ the minimizer of the risk over $D$, and insert training
# risks:
#
# $$L(M_k) - L(M^\star) \le \big[ L_S(M_k) - \min_D L_S \big] + \big[ (L - L_S)(M_k) - (L - L_S)(M^\star) \big] .$$
#
# The first bracket is the optimization error, the second that of generalization. The paper bounds its two halves one
# by one. Together they are better: the supremum over $M$ of the second bracket has the same expectation bound $2R$
# (its second half has mean zero), and its losses $L_M - L_{M^\star}$ are at most $\|M - M^\star\|_1 B_X \le 8
# \lambda B_X$ in size. Here $\ell(0)$ **cancels**. One point changes $(n-1)(n-2)$ terms before and as many after:
# $c = 16 \lambda B_X/n$, one use of Lemma 4, and the second and third term of the corrected corollary are there.
#
# The first term is Proposition 1 of the paper. Two atoms have the squared distance at most $8 \lambda^2$, which
# makes $2 L \cdot 8 \lambda^2/(k+2)$. But the proof of that rate counts steps that make progress. An away step
# that runs into its limit $\gamma_{\max}$ *drops* an atom and may gain next to nothing. Every drop needs an
# earlier step that brought the atom in, so at least half of $k$ steps, $k' \ge k/2$, are others. As $A_t$ has rank
# one and $0 \preceq M \preceq 2 \lambda I$, half of the constant is enough (notebook
# `41-frank-wolfe-and-away-steps`): $8 L \lambda^2/(k'+2)$, which is never above $16 L \lambda^2/(k+4)$. Finally,
# $M_k$ starts at one atom and so has up to $k + 1$, not $k$: the printed proof applies Theorem 1 to the wrong set.
#
# The library minimises the weighted risk of the distinct triplets; each of the sixteen points stands there
# twice, because a point that was drawn twice is a partner of itself. Its gap at the end is evaluated from the
# definition.

# %% tags=["HDSL19-C1"]
doubled = np.vstack((points, points))
triplets = np.column_stack((population.i, population.j + 16, population.k))
a, b = np.triu_indices(6, 1)
names = list(zip(*np.tile((a, b), 2).tolist(), np.repeat([1, -1], 15).tolist(), strict=True))


def by_atom(similarity):
    w = np.zeros(len(names))
    w[[names.index(tuple(atom)) for atom in similarity.atoms.tolist()]] = similarity.weights
    return w


def trained(weights, steps):
    """Iterates of Algorithm 3 as weights of atoms, their gaps, and which steps were drop steps."""
    path = [np.eye(len(names))[0]]
    solver = FrankWolfe(population.lam, forward="exact", max_iter=steps, check_every=1)
    first = SparseSimilarity(np.array(names[:1]), np.ones(1), population.lam, 6)
    solver.fit(
        doubled, triplets, weights=weights, start=first, callback=lambda now: path.append(by_atom(now.x))
    )
    slope = -(weights * loss.alpha(population.products @ path[-1])) @ population.products
    by_definition = slope @ path[-1] - slope.min()
    assert np.isclose(weights.sum() * solver.gap_, by_definition, rtol=1e-6, atol=1e-12)
    path += [path[-1]] * (steps + 1 - len(path))
    gaps = weights.sum() * np.array([row.gap for row in solver.history_])
    drops = np.zeros(steps, bool)
    drops[: len(gaps)] = [row.step == "drop" for row in solver.history_]
    return path, gaps, drops

true_path, true_gaps, _ = trained(population.weights, 300)


def true_risk(w):
    return population.weights @ loss.value(population.products @ w)


least = true_risk(true_path[-1]) - true_gaps[-1]
print(f"smallest risk over D: {least:.4f}, known to {true_gaps[-1]:.4f} (allowed 0.0001)")
assert 0.0 <= true_gaps[-1] < 1e-4

rng, steps, samples = np.random.default_rng(9), 40, 100
excess, training, generalization = np.empty((3, samples, steps + 1))
count, progress = np.empty((2, samples, steps + 1), int)
lipschitz = np.empty(samples)
for row in range(samples):
    weights = population.sample_weights(n, rng)
    path, gaps, drops = trained(weights, steps + 60)
    train = np.array([weights @ loss.value(population.products @ w) for w in path])
    risks = np.array([true_risk(w) for w in path])
    lowest = np.max(train[: len(gaps)] - gaps)
    excess[row], training[row] = risks[: steps + 1] - least, train[: steps + 1] - lowest
    generalization[row] = (risks - train)[: steps + 1]
    count[row] = [np.count_nonzero(w) for w in path[: steps + 1]]
    progress[row] = np.arange(steps + 1) - np.concatenate(([0], np.cumsum(drops[:steps])))
    lipschitz[row] = weights @ population.squares

bounds = Bounds(n, 6, population.lam, entry)
assert np.all(count <= np.arange(steps + 1) + 1) and np.all(2 * progress >= np.arange(steps + 1))
rate = 8.0 * lipschitz[:, None] * population.lam**2 / (progress + 2)
assert np.all(training[:, 1:] <= rate[:, 1:])
print("          drop    training   its      mean     excess   bound:")
print(" k atoms  steps   error      bound    L - L_S  risk     corrected   printed")
for k in (1, 2, 5, 10, 20, 40):
    of_k = [bounds.excess(delta, bound) for bound in rate[:, k]]
    printed = [bounds.printed_excess(k, delta, L) for L in lipschitz]
    assert np.mean(excess[:, k] > of_k) <= delta
    unit, N = population.lam * entry, 6 * 5
    complexity = math.sqrt(2.0 * math.log(N) / 20)
    terms = 4.0 * complexity + 8.0 * math.sqrt(2.0 * math.log(20.0) / 60)
    assert np.allclose(of_k, rate[:, k] + unit * terms, rtol=1e-12)
    terms = 16.0 * math.sqrt(2.0 * math.log(k) / 20) + 20.0 * math.sqrt(math.log(80.0) / 60)
    slow = 16.0 * lipschitz * population.lam**2 / (k + 2)
    assert np.allclose(printed, slow + unit * terms, rtol=1e-12)
    shown = f"{training[:, k].max():8.4f} {rate[:, k].min():8.3f}"
    shown += f" {generalization[:, k].mean():10.4f}"
    shown += f" {excess[:, k].max():8.4f} {min(of_k):11.3f} {min(printed):9.3f}"
    print(f"{k:2} {count[:, k].max():5} {(k - progress[:, k]).sum():6} {shown}")
early = MonteCarlo(generalization[:, 1])
assert count[:, 1].max() == 2 and early.mean > 4 * early.error
share = np.mean(count[:, 1] == 2)
print(f"\nafter one iteration: {share:.2f} of the solutions have two atoms")
print(f"mean of L - L_S after one iteration: {early.mean:.4f} +- {early.error:.4f}")

# %% [markdown]
# The solution after one iteration has two atoms, outside of $D^{(1)}$; drop steps occur; and the mean of $L -
# L_S$ after one iteration is positive where the printed proof bounds it by $2R \le 0$. In numbers both bounds
# are far above what happens, as bounds of this kind are at $n = 60$: the printed corollary, which stands on Lemma
# 1, is not violated here, and where $k^{16} \ge d(d-1)$ it follows from the corrected one, drop steps or not.
#
# ### What is left of the argument for stopping early
#
# The printed bound falls and rises with $k$: its best $k$ is a number of iterations to stop at. The corrected
# bound only falls. Where the printed one is true, it is larger.

# %%
iterations = np.unique(np.round(np.logspace(0, 4, 60)).astype(int))
large = Bounds(10**6, 1000, 1.0, 1.0)
printed = np.array([large.printed_excess(int(k), 0.05, 1.0) for k in iterations])
corrected = np.array([large.excess(0.05, 16.0 / (k + 4)) for k in iterations])
true_from = next(k for k in range(1, 10) if k**16 >= 1000 * 999)
best = int(iterations[np.argmin(printed)])
print(f"n = 10^6, d = 1000, lam B_X = 1, L = 1: printed bound smallest at k = {best},")
print(f"and above the corrected one from k = {true_from} on")
assert 1 < best < 10**4 and np.all(np.diff(corrected) < 0.0)
assert np.all((corrected < printed)[iterations >= true_from])
curves = {"corrected": corrected, "printed": printed}
labels = {"title": "excess risk bounds", "xlabel": "iterations k", "ylabel": "bound"}
figures.lines(curves, iterations, log="xy", **labels)
plt.show()

# %% [markdown]
# That early stopping helps in practice is a fact of experience, which this bound does not explain: with a
# linear loss all sets $D^{(k)}$ have one and the same complexity. What the domain $D$ itself buys is not in
# doubt: $\sqrt{\log d}$ in a class of $d \times d$ matrices, for every $k$, and this is the part of the paper's
# conclusion that stands.
#
# ## Exercise
#
# How does the complexity change if the domain is the $\ell_1$ ball $\{M : \sum |M_{ab}| \le 4\lambda\}$, which
# contains $D$? Is anything lost for the richer class? And the Frobenius ball of radius $2\lambda$, which
# contains $D$ too?
#
# <details>
# <summary><b>Solution</b></summary>
#
# The vertices of the $\ell_1$ ball are $\pm 4\lambda\, e_a e_b^\top$, $2d^2$ of them, with $|\langle A,
# B\rangle| \le 4 \lambda B_X$ as before: $R \le 2 \lambda B_X \sqrt{2 \log(2d^2)/m}$, hardly more. The supremum
# is $4 \lambda \max_{ab} |G_{ab}|$ with $G = \frac1m \sum \sigma_i A_i$.
#
# On the Frobenius ball it is $2 \lambda \|G\|_F$, of the order $\lambda \sqrt{p\,\mathbb{E}\|A\|_F^2/m}$, and
# $\|A\|_F$ can be $d B_X$: the complexity grows like $d$. For *sparse* data $\|A\|_F$ is at most $B_X$ times the
# geometric mean of the numbers of nonzeros of $x$ and of $x' - x''$, and the difference is smaller.
#
# </details>

# %%
print("   d    atoms    l1 ball   Frobenius ball   (over lam B_X, n = 90, signs)")
ratios = []
for d in (4, 16, 64, 256):
    rng, values = np.random.default_rng(10), []
    for _ in range(50):
        X, y = signs_data(d)(90, rng)
        sigma = rng.choice([-1.0, 1.0], 30) * ((y[:30] == y[30:60]) & (y[:30] != y[60:]))
        G = X[:30].T @ (sigma[:, None] * (X[30:60] - X[60:])) / 30
        values.append(
            (largest_at_atoms(X, y, sigma, 1.0) / 2.0, 2.0 * np.abs(G).max(), np.linalg.norm(G))
        )
    row = np.mean(values, axis=0)
    ratios.append(row[2] / row[1])
    print(f"{d:4} {row[0]:8.2f} {row[1]:10.2f} {row[2]:16.2f}")
    assert row[0] <= row[1] + 1e-12 <= 2.0 * math.sqrt(2.0 * math.log(2 * d**2) / 30)
assert ratios[-1] > 10.0 * ratios[0]

# %% [markdown]
# ## Fine print
#
# * **Constants.** $\frac14$ for the admissible triplets is attained by two classes of equal size only;
#   `Bounds.complexity(admissible=p)` takes the $p$ of your classes.
# * **$B_X$ must bound the whole support**, not the sample; `largest_entry` is for finite distributions. For
#   unbounded points the bounds say nothing.
# * **Hoeffding for a single $M$.** The printed proof of the corollary uses Hoeffding's inequality with $n$ for
#   $L_S(M^\star)$, which is a mean over $\lfloor n/3\rfloor$ independent blocks. Here the result happens to be
#   right: among the six orders of three points at most two are admissible, so the symmetrized loss has a third
#   of the range.
# * **Sequence of sets.** The paper lets $k$ run to $2d(d-1)$. There are $d(d-1)$ atoms, and by Carathéodory's
#   theorem $d(d+1)/2$ of them are enough for any $M$ in $D$.
# * **Monte Carlo.** Every comparison above leaves four standard errors; the seeds are fixed.
# * **Subsampled triplets** (the paper's Remark 2): $M = O(n)$ terms drawn from the $O(n^3)$ keep the rate
#   $1/\sqrt n$ by the results of Clémençon, Colin and Bellet (2016) on incomplete U-statistics. It is not derived
#   here; one would add their sampling error to either bracket above.
#
# ## References
#
# * HDSL19: Liu, Bellet, *Escaping the curse of dimensionality in similarity learning: efficient Frank-Wolfe
#   algorithm and generalization bounds*, Neurocomputing 333, 2019: section 4, appendices A to D.
# * Hoeffding, *A class of statistics with asymptotically normal distribution*, Annals of Mathematical
#   Statistics 19, 1948.
# * McDiarmid, *On the method of bounded differences*, Surveys in Combinatorics 141, 1989.
# * Clémençon, Lugosi, Vayatis, *Ranking and empirical minimization of U-statistics*, Annals of Statistics 36,
#   2008.
# * Clémençon, Colin, Bellet, *Scaling-up empirical risk minimization: optimization of incomplete U-statistics*,
#   JMLR 17, 2016.
# * Shalev-Shwartz, Ben-David, *Understanding machine learning*, 2014: Lemmas 26.7 to 26.9 (convex hulls,
#   Massart, contraction).
# * Lacoste-Julien, Jaggi, *On the global linear convergence of Frank-Wolfe optimization variants*, NIPS 2015:
#   how drop steps are counted.
