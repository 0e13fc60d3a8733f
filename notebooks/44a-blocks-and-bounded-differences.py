# %% [markdown]
# # Three tools: blocks, suprema, bounded differences
#
# A similarity is learned from triplets of a sample and then judged on points that it has not seen. How much
# worse can it be there? Section 4 of HDSL19 answers with a bound, and its proof stands on three lemmas
# about averages over triplets. This notebook proves the three and computes each of them exactly somewhere.
# All three are right. [`44b-complexity-of-atoms`](44b-complexity-of-atoms.ipynb) then looks at the fourth, which is not.
#
# At the end you will have seen that
#
# * an average over all triplets of a sample, which depend on each other, is a mean of averages over
#   independent triplets: an identity, in fractions;
# * a supremum over such averages is at most one over independent triplets, and why a data file that is
#   sorted by class breaks this;
# * a function that no single point can change by much stays close to its mean, and that the width in this
#   statement cannot be divided by $\sqrt2$;
# * how much a single point can change the training risk: a third of what one counts at first sight.

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
# Draw 60 points, one in five of class 1, and count which share of all ordered triplets has its first two
# points from one class and the third from the other. There are $60 \cdot 59 \cdot 58 = 205\,320$ triplets,
# but only 60 independent points. Repeat with new points. The shares have a standard deviation of 0.03. An
# average of 205 320 independent triplets would have 0.0008, one of 20 has 0.08. The truth is near the 20:
# sixty points hold 20 triplets that share no point, and that is what the lemmas below build on.

# %%
rng = np.random.default_rng(2)
n, draws = 60, 4000
of_class_1 = (rng.uniform(size=(draws, n)) < 0.2).sum(axis=1)
rest = n - of_class_1
shares = of_class_1 * rest * (of_class_1 - 1 + rest - 1) / (n * (n - 1) * (n - 2))
labels = rng.uniform(size=(draws, 20, 3)) < 0.2
of_blocks = ((labels[..., 0] == labels[..., 1]) & (labels[..., 1] != labels[..., 2])).mean(axis=1)

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
    ylabel="part of the samples",
    marks=True,
)
spread = np.std(shares), np.std(of_blocks)
print(
    f"mean {np.mean(shares):.3f} and {np.mean(of_blocks):.3f}; standard deviation {spread[0]:.3f} "
    f"and {spread[1]:.3f}"
)
assert abs(np.mean(shares) - 0.16) < 0.01 and 0.3 < spread[0] / spread[1] < 1.0
figures.show(
    f"Curves show how the share of such triplets is distributed over {draws} "
    "samples, around the mean "
    f"{np.mean(shares):.2f}. The standard deviation is {spread[0]:.2f} with all "
    f"{n * (n - 1) * (n - 2)} "
    f"triplets and {spread[1]:.2f} with separate triplets."
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
#
# The numbers are those of HDSL19.

# %% [markdown]
# ## Lemma 2: counting permutations
#
# Fix an ordered triplet $(i, j, k)$ and one of the $m$ places of the average. In how many of the $n!$
# permutations does the triplet stand there? Three values are fixed, the other $n - 3$ are free: $(n-3)!$.
# So the mean over all permutations gives every triplet the same weight,
#
# $$\frac{m\,(n-3)!}{m\; n!} = \frac{1}{n(n-1)(n-2)} ,$$
#
# which is its weight in $U_n$. This holds when $n$ is no multiple of 3, too: the points left over are
# others for each permutation.
#
# In exact arithmetic, over *all* permutations, with a function $q$ without any symmetry, a table of random
# integers:

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
    print(f"n = {n}: {len(shuffled):5} permutations, {m} block(s), both {mean_of_means!s:>8}")

# %% [markdown]
# ## Lemma 3: a supremum of a mean is at most the mean of the suprema
#
# Take Lemma 2 and a supremum over $Q$ on both sides. For every permutation the best function for the mean
# does no better than the best function for that permutation alone:
#
# $$\sup_q U_n(q) \le \text{mean over } \pi \text{ of } \sup_q \frac1m\sum_i q(z_{\pi(i)}, z_{\pi(i+m)}, z_{\pi(i+2m)}) .$$
#
# Now take expectations. The points are independent and of one distribution, so a shuffled sample has the
# distribution of the sample itself, and all permutations have the same expectation. That is the lemma.
#
# With three possible points, of probability 1/2, 1/3 and 1/6, all $3^n$ samples can be listed, and both
# sides are exact fractions.


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
    print(
        f"n = {n}: 20 functions, {float(left):.4f} <= {float(right):.4f};  with one function both "
        "sides are equal"
    )

# %% [markdown]
# With one function both sides are its expectation. With several, the few blocks leave more room for choice.
#
# ### Break it: a sorted sample
#
# Data files often come sorted by class. The U-statistic does not care about the order; the blocks do. Take
# the function that says whether a triplet has two points of one class and one of another, on three classes:

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
# ## Lemma 4: a step at a time
#
# Reveal the arguments one by one. The conditional expectation of $f$ starts at $\mathbb{E} f$, ends at $f$,
# and takes $n$ steps. Given what has been revealed, a step $V$ has mean zero and lies in an interval of
# length $c$.
#
# ### Hoeffding's lemma for one step
#
# *Claim:* $\mathbb{E}\, e^{sV} \le e^{s^2 c^2/8}$. As $e^{sV}$ is convex in $V$, the worst $V$ sits at the
# two ends of its interval only. Let it be at the upper end with probability $p$, and $h = sc$. Then the
# logarithm of its moment is $\psi(h) = \log(1 - p + p e^h) - ph$.
#
# Sympy: $\psi(0) = \psi'(0) = 0$, and $\psi'' = t(1 - t)$ with $t = p e^h/(1 - p + p e^h)$ between 0 and 1.
# So $\psi'' \le \frac14$, and $\psi(h) \le h^2/8$.

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
# The $n$ steps multiply: $\mathbb{E}\, e^{s(f - \mathbb{E}f)} \le e^{n s^2 c^2/8}$. Markov's inequality
# bounds the probability that $f$ exceeds its mean by $\tau$ by $e^{n s^2 c^2/8 - s\tau}$ for every $s > 0$.
# The best $s$ gives $e^{-2\tau^2/(nc^2)}$. Set it to $\delta$ for one side; set twice that to $\delta$ for
# both.

# %% tags=["HDSL19-L4"]
s, c_, n_, tau = sp.symbols("s c n tau", positive=True)
exponent = n_ * s**2 * c_**2 / 8 - s * tau
best = sp.solve(sp.diff(exponent, s), s)[0]
print("best s:", best, "  logarithm of the tail:", sp.simplify(exponent.subs(s, best)))
assert sp.simplify(exponent.subs(s, best) + 2 * tau**2 / (n_ * c_**2)) == 0

# %% [markdown]
# ### Does it match? Sums of signs
#
# For the sum of $n$ signs $c = 2$, and the tails are binomial: exact numbers. The lemma allows a
# probability of $\delta$; the table shows the largest $P/\delta$ over 24 values of $\delta$ down to
# $10^{-12}$. With $n/4$ in place of $n/2$ the statement would be false by a factor of thousands.

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
#
# There the lemma holds with $c = 1/n$ (the next section says why).

# %% tags=["HDSL19-L4"]
expected = 0.2 * 0.8
for delta in (0.5, 0.1, 0.01):
    outside = np.mean(np.abs(shares - expected) > np.sqrt(math.log(2 / delta) / (2 * 60)))
    print(f"share of triplets, delta {delta:4}: outside in {outside:.4f} of the samples")
    assert outside <= delta
print(
    f"{len(shares)} random sets of 60 points: none of the three levels is exceeded more often "
    "than promised"
)

# %% [markdown]
# ### Break it: arguments that are not independent
#
# Let all 100 signs be one and the same sign. The sum is $\pm100$, always, and the lemma would promise 27.

# %%
promised = math.sqrt(2 * 100 * math.log(2 / 0.05))
print(f"|f| = 100 with certainty, promised with probability 0.95: at most {promised:.1f}")
assert promised < 100.0

# %% [markdown]
# ## How much one point can change the training risk
#
# A triplet is *admissible* if its first two points are of one class and the third of another. The others
# have no loss. A point takes part in $3(n-1)(n-2)$ of the ordered triplets, but in how many admissible
# ones?
#
# Let $a$ of the other points share its class and $b = n - 1 - a$ not. As the first point it is in $ab$
# admissible triplets, as the second in $ab$, and as the third in at most $b(b-1)$. Together
# $b(2a + b - 1) = b\,(2(n-1) - b - 1)$, which is largest for $b = n - 1$: $(n-1)(n-2)$.
#
# So if the loss lies between 0 and $\ell_{\max}$, one point changes the training risk by at most
# $c = \ell_{\max}/n$. For every way to split up to 14 points among up to four classes:

# %%
for n in range(3, 15):
    largest = 0
    for split in itertools.product(range(n + 1), repeat=4):
        if sum(split) == n and split[0] > 0:
            own, others = split[0] - 1, split[1:]
            as_third = sum(size * (size - 1) for size in others)
            largest = max(largest, 2 * own * sum(others) + as_third)
    assert largest == (n - 1) * (n - 2)
print("n = 3 to 14: a point is in at most (n-1)(n-2) admissible triplets, and can be in as many")

# %% [markdown]
# ## Exercise
#
# Lemma 2 shows why 20 separate triplets are a fair picture of 60 points. Is the average over *all* triplets
# ever further from its mean, in the sense of a larger variance, than the average over the $m$ blocks?
#
# <details>
# <summary><b>Solution</b></summary>
#
# No. By Lemma 2 $U_n$ is a mean of averages over blocks, one a permutation, and all of them have the same
# variance. The variance of a mean of variables of equal variance is at most that variance (it would be
# equal if all were the same variable). In the picture the standard deviations are 0.03 and 0.08.
#
# </details>

# %%
for p in (0.1, 0.2, 0.5):
    first = (np.random.default_rng(3).uniform(size=(20_000, 30)) < p).sum(axis=1)
    second = 30 - first
    all_triplets = first * second * 28 / (30 * 29 * 28)
    admissible_share = p * (1 - p)
    assert np.var(all_triplets) < admissible_share * (1 - admissible_share) / 10
print("variance of the U-statistic below that of ten blocks, three distributions of two classes")

# %% [markdown]
# ## Fine print
#
# * **What the paper counts.** HDSL19 takes all $3(n-1)(n-2)$ triplets of a point, and not only the
#   admissible ones. That is correct and three times as much.
# * **Seeds** are fixed, and every comparison with random numbers leaves room.
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
