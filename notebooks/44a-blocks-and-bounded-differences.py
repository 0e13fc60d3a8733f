# %% [markdown]
# # Three tools: blocks, suprema, bounded differences
#
# A program learns a similarity from the triplets of a sample. How much larger can the risk of this similarity be on new points? Section 4 of HDSL19 gives a bound. Its proof uses four lemmas. Three of them are about averages over triplets: this notebook proves them, and checks each one on an example in exact numbers. These three are right. The fourth lemma is false: see [`44b-complexity-of-atoms`](44b-complexity-of-atoms.ipynb).
#
# At the end you will have seen that
#
# * an average over all triplets of a sample, which depend on each other, equals a mean of averages over independent triplets (checked in fractions);
# * the expected supremum of such averages is at most the expected supremum of averages over independent triplets, and the bound fails if the data file is sorted by class;
# * a function that no single point can change by much stays close to its mean, and the width in this statement cannot be divided by $\sqrt2$;
# * a single point can change the training risk by at most a third of what a first count suggests.

# %%
import itertools
import math
from fractions import Fraction

import numpy as np
import sympy as sp
from scipy.stats import binom

from safescreen_book import figures

# %% [markdown]
# ## The story in a picture
#
# Draw 60 points. Each point is of class 1 with probability 1/5, otherwise of class 2. Count the share of all ordered triplets whose first two points are of one class and whose third point is of the other class. There are $60 \cdot 59 \cdot 58 = 205\,320$ triplets, but only 60 independent points. Repeat with new points. The cell below prints the standard deviation of these shares. It also prints the standard deviation of an average over 20 independent triplets. With 205 320 independent triplets the average would have a standard deviation of $\sqrt{0.16 \cdot 0.84 / 205\,320} \approx 0.0008$. The standard deviation of the shares is far above this number. It is nearer to the standard deviation with 20 triplets. Sixty points contain 20 triplets that share no point. The lemmas below compare all triplets with such separate triplets.

# %%
rng = np.random.default_rng(2)
n = 60
draws = 4000
of_class_1 = (rng.uniform(size=(draws, n)) < 0.2).sum(axis=1)
rest = n - of_class_1
shares = of_class_1 * rest * (of_class_1 - 1 + rest - 1) / (n * (n - 1) * (n - 2))
labels = rng.uniform(size=(draws, 20, 3)) < 0.2
of_blocks = ((labels[..., 0] == labels[..., 1]) & (labels[..., 1] != labels[..., 2])).mean(axis=1)

spread_all = np.std(shares)
spread_blocks = np.std(of_blocks)
print(f"all triplets:      mean {np.mean(shares):.3f}, standard deviation {spread_all:.3f}")
print(f"separate triplets: mean {np.mean(of_blocks):.3f}, standard deviation {spread_blocks:.3f}")
assert abs(np.mean(shares) - 0.16) < 0.01
assert 0.3 < spread_all / spread_blocks < 1.0

# %%
edges = np.arange(-0.025, 0.526, 0.05)
middle = 0.5 * (edges[1:] + edges[:-1])
counts = {
    "all triplets of 60 points": np.histogram(shares, edges)[0] / draws,
    "20 triplets without common points": np.histogram(of_blocks, edges)[0] / draws,
}
figures.lines(
    counts,
    middle,
    xlabel="share of triplets with two of one class and one of another",
    ylabel="share of the samples",
    marks=True,
)
figures.show(
    f"Curves show the distribution of the share of such triplets over {draws} samples. "
    f"The mean is {np.mean(shares):.2f}. The standard deviation is {spread_all:.2f} with all "
    f"{n * (n - 1) * (n - 2)} triplets and {spread_blocks:.2f} with separate triplets."
)

# %% [markdown]
# ## The claims
#
# Let $z_1, \dots, z_n$ be points, $m = \lfloor n/3 \rfloor$, and $q$ a function of three points. The
# average over all ordered triplets,
#
# $$U_n(q) = \frac{1}{n(n-1)(n-2)} \sum_{i \ne j \ne k} q(z_i, z_j, z_k) ,$$
#
# is called a *U-statistic*.
#
# > **Lemma 2.** $U_n(q)$ is the mean, over all permutations $\pi$ of the sample, of the average over $m$
# > triplets that share no point, $\frac1m\sum_{i=1}^m q(z_{\pi(i)}, z_{\pi(i+m)}, z_{\pi(i+2m)})$.
#
# > **Lemma 3.** For points drawn independently from one distribution and any set $Q$ of functions,
# >
# > $$\mathbb{E} \sup_{q \in Q} U_n(q) \;\le\; \mathbb{E} \sup_{q \in Q} \frac1m \sum_{i=1}^m q(z_i, z_{i+m}, z_{i+2m}) .$$
#
# > **Lemma 4** (McDiarmid 1989). Let $f$ be a function of $n$ independent arguments that changes by at most
# > $c$ when one of them is exchanged. Then, with probability at least $1 - \delta$,
# > $\;|f - \mathbb{E} f| \le c \sqrt{n \log(2/\delta) / 2}$. On one side, $\log(1/\delta)$ is enough.
#
# | assumption | used in |
# |---|---|
# | none | Lemma 2: it is an identity |
# | points independent, of one distribution | Lemma 3 |
# | arguments independent | Lemma 4 |
# HDSL19 numbers the lemmas in the same way.

# %% [markdown]
# ## Lemma 2: counting permutations
#
# Fix an ordered triplet $(i, j, k)$ and one of the $m$ blocks of the average. How many of the $n!$ permutations put the triplet into this block? Three values are fixed, and the other $n - 3$ values are free, so the answer is $(n-3)!$. The mean over all permutations therefore gives every triplet the same weight,
#
# $$\frac{m\,(n-3)!}{m\; n!} = \frac{1}{n(n-1)(n-2)} ,$$
#
# which is its weight in $U_n$. The identity also holds if $n$ is no multiple of 3: each permutation then omits one or two points, and not always the same ones.
#
# The next cell compares the two sides in exact arithmetic, over *all* permutations. Its function $q$ is a table of random integers and has no symmetry:

# %% tags=["HDSL19-L2"]
rng = np.random.default_rng(0)
for n in range(3, 9):
    q = rng.integers(-99, 100, (n, n, n))
    triplets = np.array(list(itertools.permutations(range(n), 3)))
    u_statistic = Fraction(int(q[tuple(triplets.T)].sum()), len(triplets))

    m = n // 3
    shuffled = np.array(list(itertools.permutations(range(n))))
    blocks = q[shuffled[:, :m], shuffled[:, m : 2 * m], shuffled[:, 2 * m : 3 * m]]
    mean_of_means = Fraction(int(blocks.sum()), m * math.factorial(n))
    assert mean_of_means == u_statistic
    print(f"n = {n}: {len(shuffled):5} permutations, {m} block(s), both {mean_of_means!s:>8}")

# %% [markdown]
# ## Lemma 3: a supremum of a mean is at most the mean of the suprema
#
# Take the supremum over $Q$ on both sides of Lemma 2. In every permutation the function that is best for the mean gives at most the value of the function that is best for this permutation alone:
#
# $$\sup_q U_n(q) \le \text{mean over } \pi \text{ of } \sup_q \frac1m\sum_i q(z_{\pi(i)}, z_{\pi(i+m)}, z_{\pi(i+2m)}) .$$
#
# Now take expectations. The points are independent and have one distribution, so a shuffled sample has the same distribution as the sample itself. All permutations therefore have the same expectation, which proves the lemma.
#
# A distribution on three points, with probabilities 1/2, 1/3 and 1/6, has $3^n$ samples. The next cell lists all of them and computes both sides as exact fractions.


# %%
def both_sides(Q, n, weights=(3, 2, 1), order=None):
    """Expected suprema of the U-statistic and of the blocks; `order` rearranges each sample."""
    m = n // 3
    samples = np.array(list(itertools.product(range(3), repeat=n)))
    probability = np.array(weights)[samples].prod(axis=1)
    ordered = samples if order is None else order(samples)
    i, j, k = np.array(list(itertools.permutations(range(n), 3))).T
    u_sum = Q[:, samples[:, i], samples[:, j], samples[:, k]].sum(axis=2).max(axis=0)
    thirds = (ordered[:, part * m : (part + 1) * m] for part in range(3))
    block_sum = Q[:, *thirds].sum(axis=2).max(axis=0)
    total = sum(weights) ** n
    of_u = int(probability @ u_sum)
    of_blocks = int(probability @ block_sum)
    return Fraction(of_u, total * len(i)), Fraction(of_blocks, total * m)


# %% tags=["HDSL19-L3"]
rng = np.random.default_rng(1)
for n in range(3, 8):
    for n_functions in (1, 2, 20):
        left, right = both_sides(rng.integers(-9, 10, (n_functions, 3, 3, 3)), n)
        assert left <= right and (left == right or n_functions > 1)
    print(f"n = {n}: 20 functions, {float(left):.4f} <= {float(right):.4f}")

# %% [markdown]
# With one function both sides are equal to its expectation (asserted above). With several functions the right side is larger, because an average over few blocks varies more, and so its largest value is higher.
#
# ### Break it: a sorted sample
#
# Many data files are sorted by class. The order changes the blocks, but not the U-statistic. Take three classes, and the function $q$ that is 1 if the first two points of a triplet are of one class and the third is of another, and 0 otherwise:

# %%
a, b, c = np.meshgrid(*3 * [np.arange(3)], indexing="ij")
admissible = ((a == b) & (b != c)).astype(int)[None]
for name, order in (("as drawn", None), ("sorted", lambda samples: np.sort(samples, axis=1))):
    left, right = both_sides(admissible, 6, order=order)
    print(f"{name:8}  q: U-statistic {float(left):.4f}, blocks {float(right):.4f}")
    assert (left == right) == (order is None)
left, right = both_sides(-admissible, 6, order=order)
print(f"sorted   -q: U-statistic {float(left):.4f}, blocks {float(right):.4f}: not a bound")
assert left > right

# %% [markdown]
# ## Lemma 4: one argument at a time
#
# Reveal the arguments one by one. The conditional expectation of $f$ starts at $\mathbb{E} f$, ends at $f$,
# and takes $n$ steps. Given what has been revealed, a step $V$ has mean zero and lies in an interval of
# length $c$.
#
# ### Hoeffding's lemma for one step
#
# *Claim:* $\mathbb{E}\, e^{sV} \le e^{s^2 c^2/8}$. The function $e^{sV}$ is convex in $V$, so the expectation is largest for a $V$ that takes only the two ends of its interval as values. Let $p$ be the probability of the upper end, and let $h = sc$. Then the logarithm of $\mathbb{E}\, e^{sV}$ is $\psi(h) = \log(1 - p + p e^h) - ph$.
#
# Sympy confirms that $\psi(0) = \psi'(0) = 0$ and $\psi'' = t(1 - t)$, where $t = p e^h/(1 - p + p e^h)$ lies between 0 and 1. So $\psi'' \le \frac14$, and therefore $\psi(h) \le h^2/8$.

# %% tags=["HDSL19-L4"]
h, p, t = sp.symbols("h p t", positive=True)
psi = sp.log(1 - p + p * sp.exp(h)) - p * h
share = p * sp.exp(h) / (1 - p + p * sp.exp(h))
assert psi.subs(h, 0) == 0 and sp.simplify(sp.diff(psi, h).subs(h, 0)) == 0
assert sp.simplify(sp.diff(psi, h, 2) - share * (1 - share)) == 0
assert sp.expand(sp.Rational(1, 4) - t * (1 - t) - (t - sp.Rational(1, 2)) ** 2) == 0
print("psi(0) = psi'(0) = 0, psi'' = t (1 - t) = 1/4 - (t - 1/2)^2")

# %% [markdown]
# ### All steps together
#
# The bounds of the $n$ steps are multiplied: $\mathbb{E}\, e^{s(f - \mathbb{E}f)} \le e^{n s^2 c^2/8}$. By Markov's inequality the probability that $f$ exceeds its mean by $\tau$ is at most $e^{n s^2 c^2/8 - s\tau}$, for every $s > 0$. The best $s$ gives $e^{-2\tau^2/(nc^2)}$. For a one-sided bound set $\delta = e^{-2\tau^2/(nc^2)}$; for a two-sided bound set $\delta = 2 e^{-2\tau^2/(nc^2)}$.

# %% tags=["HDSL19-L4"]
s, c_, n_, tau = sp.symbols("s c n tau", positive=True)
exponent = n_ * s**2 * c_**2 / 8 - s * tau
best = sp.solve(sp.diff(exponent, s), s)[0]
print("best s:", best, "  logarithm of the tail:", sp.simplify(exponent.subs(s, best)))
assert sp.simplify(exponent.subs(s, best) + 2 * tau**2 / (n_ * c_**2)) == 0

# %% [markdown]
# ### Does it match? Sums of signs
#
# For a sum of $n$ signs $c = 2$, and the exact tail probability $P$ is binomial. The lemma says that $P \le \delta$. The table shows the largest $P/\delta$ over 24 values of $\delta$ down to $10^{-12}$. With $n/4$ in place of $n/2$ the statement would be false: for large $n$ the ratio $P/\delta$ is far above 1.

# %% tags=["HDSL19-L4"]
levels = 10.0 ** -np.arange(0.5, 12.1, 0.5)


def sum_of_signs_beyond(n, tau):
    """P(|sum of n signs| > tau)."""
    return 2 * binom.sf(np.floor((n + tau) / 2), n, 0.5)


for n in (5, 50, 500, 5000):
    worst = {}
    for divisor in (2, 4):
        tails = sum_of_signs_beyond(n, 2.0 * np.sqrt(n * np.log(2.0 / levels) / divisor))
        worst[divisor] = np.max(tails / levels)
    print(f"n = {n:4}: largest P / delta, with n/2 {worst[2]:.3f}, with n/4 {worst[4]:.3g}")
    assert worst[2] <= 1.0 and (n < 500 or worst[4] > 100.0)

# %% [markdown]
# ### Does it match? The shares of the first picture
# For these shares the lemma holds with $c = 1/n$. The section after the next one derives this $c$.

# %% tags=["HDSL19-L4"]
expected = 0.2 * 0.8
for delta in (0.5, 0.1, 0.01):
    outside = np.mean(np.abs(shares - expected) > np.sqrt(math.log(2 / delta) / (2 * 60)))
    print(f"share of triplets, delta {delta:4}: outside in {outside:.4f} of the samples")
    assert outside <= delta
print(f"{len(shares)} random sets of 60 points: at all three levels the share outside is <= delta")

# %% [markdown]
# ### Break it: arguments that are not independent
#
# Let one random sign be repeated 100 times. The sum is then always $\pm100$. The lemma would allow at most the number below.

# %%
promised = math.sqrt(2 * 100 * math.log(2 / 0.05))
print(f"|f| = 100 always; the lemma would allow at most {promised:.1f} with probability 0.95")
assert promised < 100.0

# %% [markdown]
# ## How much one point can change the training risk
#
# A triplet is *admissible* if its first two points are of one class and its third point is of another. A triplet that is not admissible has no loss. A point is in $3(n-1)(n-2)$ of the ordered triplets. In how many admissible triplets can it be?
#
# Let $a$ of the other points be of the same class, and $b = n - 1 - a$ of other classes. The point is the first one of $ab$ admissible triplets, the second one of $ab$, and the third one of at most $b(b-1)$. The sum is $b(2a + b - 1) = b\,(2(n-1) - b - 1)$. It is largest for $b = n - 1$, where it equals $(n-1)(n-2)$.
#
# So if the loss lies between 0 and $\ell_{\max}$, one point changes the training risk by at most $c = \ell_{\max}/n$. The next cell checks the count for every way to split up to 14 points among up to four classes:

# %%
for n in range(3, 15):
    largest = 0
    for split in itertools.product(range(n + 1), repeat=4):
        if sum(split) == n and split[0] > 0:
            own = split[0] - 1
            others = split[1:]
            as_third = sum(size * (size - 1) for size in others)
            largest = max(largest, 2 * own * sum(others) + as_third)
    assert largest == (n - 1) * (n - 2)
print("n = 3 to 14: the largest number of admissible triplets of a point is (n-1)(n-2)")

# %% [markdown]
# ## Exercise
#
# Lemma 2 expresses the average over all triplets of 60 points by averages over 20 separate triplets. Can the average over *all* triplets have a larger variance than the average over the $m$ blocks?
#
# <details>
# <summary><b>Solution</b></summary>
#
# No. By Lemma 2, $U_n$ is a mean of averages over blocks, with one average for each permutation. All these averages have the same variance. The mean of several variables with equal variance has at most this variance (and exactly this variance only if all variables are equal). The first cell of this notebook prints both standard deviations.
#
# </details>

# %%
for p in (0.1, 0.2, 0.5):
    first = (np.random.default_rng(3).uniform(size=(20_000, 30)) < p).sum(axis=1)
    second = 30 - first
    all_triplets = first * second * 28 / (30 * 29 * 28)
    admissible_share = p * (1 - p)
    assert np.var(all_triplets) < admissible_share * (1 - admissible_share) / 10
print("in all three distributions the U-statistic has a smaller variance than a mean of ten blocks")

# %% [markdown]
# ## Fine print
#
# * **What the paper counts.** HDSL19 counts all $3(n-1)(n-2)$ triplets of a point, admissible or not. The bound with this count is correct, and $c$ is three times as large.
# * **Seeds** are fixed, and every comparison with random numbers has a wide margin.
#
# Next: [`44b-complexity-of-atoms`](44b-complexity-of-atoms.ipynb).
#
# ## References
#
# * HDSL19: Liu, Bellet, *Escaping the curse of dimensionality in similarity learning: efficient Frank-Wolfe
#   algorithm and generalization bounds*, Neurocomputing 333, 2019: section 4, Lemmas 2 to 4, appendices.
# * Hoeffding, *A class of statistics with asymptotically normal distribution*, Annals of Mathematical
#   Statistics 19, 1948.
# * McDiarmid, *On the method of bounded differences*, Surveys in Combinatorics 141, 1989.
# * Clémençon, Lugosi, Vayatis, *Ranking and empirical minimization of U-statistics*, Annals of Statistics
#   36, 2008.
