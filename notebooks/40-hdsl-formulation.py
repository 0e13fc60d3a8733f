# %% [markdown]
# # A similarity made of pairs of features
#
# HDSL19 learns a similarity $x^\top M x'$ in so many dimensions that nobody can write $M$ down. It
# can do so because it looks for $M$ in a set of a special shape.
#
# At the end you will have seen
#
# * what an atom does to a similarity, and why mixtures of atoms are positive semidefinite without a
#   projection;
# * exactly which matrices are mixtures: diagonally dominant ones of trace $2\lambda$ in which no
#   single feature has more than half of the excess;
# * how a gradient of $d^2$ entries is stored as a sparse matrix between *points*;
# * a training on the digits in which every iterate is feasible and has the objective that dense
#   matrices give;
# * what these matrices cannot do.

# %%
import itertools

import numpy as np
import sympy as sp
from scipy.optimize import linprog

import safescreen as ss
from safescreen.hdsl import FrankWolfe, NeighborError, SparseSimilarity, nearest_triplets
from safescreen.hdsl.constraints import Constraints
from safescreen.hdsl.forward import exact
from safescreen_book import datasets, figures

# %% [markdown]
# ## The idea in a picture
#
# A similarity of the digits, images of 8 by 8 pixels, while it is learned. It is a matrix $M$ of 64
# by 64 numbers, and each step adds at most one *atom*, which couples two pixels. The upper row shows $M$ after 1, 5, 20 and 400 steps, with positive entries in purple. Below, the same atoms as lines between the two
# pixels that they join, on the mean image: purple if the two pixels count as alike, orange if they
# count against each other. After 400 steps there are 73 atoms, of the 4032 that there could be.

# %%
images, labels = datasets.load("digits", return_X_y=True)
images = 0.5 * (images + 1.0)
train, near = images[:300], nearest_triplets(images[:300], labels[:300])
scale = 10.0
growing = {
    f"k = {k}": FrankWolfe(scale, forward="exact", max_iter=k).fit(train, near).similarity_
    for k in (1, 5, 20, 400)
}

# %%
figure, axes = figures.panels(4, width=10.4, height=2.8)
for ax, (name, similarity) in zip(axes, growing.items(), strict=True):
    M = similarity.to_sparse().toarray()
    ax.imshow(M, cmap="PuOr", vmin=-np.abs(M).max(), vmax=np.abs(M).max(), interpolation="nearest")
    ax.set(xticks=[], yticks=[])
    ax.set_title(name, loc="left")
figures.show(
    "Each panel shows the learned similarity as a matrix of coloured dots, after "
    f"{', '.join(growing)}. "
    "The entries that are not zero are "
    f"{', '.join(str(similarity.to_sparse().nnz) for similarity in growing.values())} of {64**2}."
)
figure, axes = figures.panels(4, width=10.4, height=2.8)
for ax, (name, similarity) in zip(axes, growing.items(), strict=True):
    title = f"{name}: {len(similarity)} atoms"
    figures.pixel_pairs(similarity, (8, 8), train.mean(axis=0).reshape(8, 8), ax=ax, title=title)
figures.show(
    f"Lines join the pairs of pixels that are atoms, over the mean of {len(train)} images, after "
    f"{', '.join(growing)}: "
    f"there are {', '.join(str(len(similarity)) for similarity in growing.values())} atoms."
)

# %% [markdown]
# ## The problem
#
# Triplets say: $x_t$ should be more similar to $y_t$ than to $z_t$. With $A_t = x_t (y_t - z_t)^\top$
# this reads $\langle A_t, M\rangle = x_t^\top M y_t - x_t^\top M z_t > 0$. The loss is 0 from the
# value 1 on.
#
# > $$\min_{M \in D_\lambda} f(M) = \frac1T \sum_t \ell(\langle A_t, M\rangle), \qquad
# > D_\lambda = \mathrm{conv} \{ \lambda (e_i \pm e_j)(e_i \pm e_j)^\top : i \ne j \}$$
# >
# > (HDSL19 problem 4), where $\ell(u)$ is 0 for $u \ge 1$, $\frac12 - u$ for $u \le 0$ and
# > $\frac12 (1-u)^2$ between.
#
# | symbol | paper | code |
# |---|---|---|
# | $\lambda$ | $\lambda$ | `scale` |
# | atom $\lambda (e_i \pm e_j)(e_i \pm e_j)^\top$ | $P_\lambda^{(ij)}$, $N_\lambda^{(ij)}$ | row `(i, j, sign)` of `atoms` |
# | $M$ | $M$ | `SparseSimilarity`: `atoms`, `weights` |
# | $L$ with $M = L^\top L$ | $L^\top$ | `factor()` |
#
# The loss is the smoothed hinge of the rest of the book with $\gamma = 1$: convex, of slope between
# $-1$ and 0. Any other convex and continuously differentiable loss will do as well (HDSL19 Remark 1,
# notebook [`41-frank-wolfe-and-away-steps`](41-frank-wolfe-and-away-steps.ipynb)).
#
# <details>
# <summary><b>Symbols</b></summary>
#
# | | |
# |---|---|
# | minimise | $f(M) = \frac1T \sum_t \ell(\langle A_t, M\rangle)$ with $A_t = x_t (y_t - z_t)^\top$ |
# | loss | $\ell(u) = 0$ for $u \ge 1$, $\frac12 (1-u)^2$ for $0 \le u \le 1$, $\frac12 - u$ below |
# | domain | $M \in D_\lambda = \mathrm{conv} \{\lambda (e_i \pm e_j)(e_i \pm e_j)^\top : i \ne j\}$, its corners are the *atoms* |
# | gradient | $G = -\frac1T \sum_t g_t A_t$ with $g_t = -\ell'(\langle A_t, M\rangle)$ |
# | Frank-Wolfe gap | $g(M) = \max_{\text{atoms } B} \langle G, M - B\rangle \ge f(M) - f^\star$ |
#
# </details>

# %%
loss = ss.SmoothedHinge(gamma=1.0)
print("loss at -1, 0, 1/2, 1, 2:", loss.value([-1.0, 0.0, 0.5, 1.0, 2.0]).tolist())
print("minus its slope:         ", loss.alpha(np.array([-1.0, 0.0, 0.5, 1.0, 2.0])).tolist())

# %% [markdown]
# ## What an atom does
#
# $x^\top (e_i \pm e_j)(e_i \pm e_j)^\top x' = (x_i \pm x_j)(x'_i \pm x'_j) = x_i x'_i + x_j x'_j \pm (x_i x'_j + x_j x'_i)$.
# Both signs raise the similarity of two points that share a feature. The sign $+$ also raises it if
# one point has feature $i$ and the other has feature $j$, as if these were synonyms. The sign $-$
# lowers it then. With words as features:

# %%
words = ["ball", "goal", "vote"]
together = SparseSimilarity(np.array([[0, 1, 1], [1, 2, -1]]), np.array([0.5, 0.5]), 2.0, 3)
print("M =", together.to_sparse().toarray().tolist())
texts = {"ball": [1, 0, 0], "goal": [0, 1, 0], "vote": [0, 0, 1]}
similar = together(np.array(list(texts.values()), float))
for a, b in (("ball", "ball"), ("ball", "goal"), ("goal", "vote"), ("ball", "vote")):
    print(f"similarity of '{a}' and '{b}': {similar[words.index(a), words.index(b)] + 0.0:+.0f}")
assert similar[0, 1] > 0.0 > similar[1, 2]

# %% [markdown]
# ## Which matrices are mixtures
#
# Let $w^\pm_{ij}$ be the weights of the atoms, with sum 1. Off the diagonal
# $M_{ij} = \lambda (w^+_{ij} - w^-_{ij})$, on it $M_{ii} = \lambda \sum_j (w^+_{ij} + w^-_{ij})$. So
# for every mixture
#
# * the trace is $2 \lambda$, and the absolute entries sum to at most $4 \lambda$;
# * $M_{ii} \ge \sum_{j \ne i} |M_{ij}|$: $M$ is *diagonally dominant*, hence positive semidefinite.
#
# The excess of the diagonal, $r_i = M_{ii} - \sum_{j \ne i} |M_{ij}| \ge 0$, comes from pairs of
# atoms with both signs, since $(P^{(ij)} + N^{(ij)})/2 = \lambda (e_i e_i^\top + e_j e_j^\top)$. Such
# a pair adds to the excess of two features at once, in equal parts. The sums of such pairs are all
# $r \ge 0$ with
#
# $$r_i \le \sum_{j \ne i} r_j \quad\text{for every } i ,$$
#
# and no others. (If the $r_i$ are integers with an even sum, they are the degrees of a graph with
# multiple edges under just this condition.) Therefore
#
# > $D_\lambda$ is the set of symmetric, diagonally dominant matrices of trace $2\lambda$ in which no
# > $r_i$ is more than half of $\sum_j r_j$.
#
# The paper does not say this. Is it right? A linear program decides whether a matrix is a mixture. We
# put random matrices near the border to both tests.

# %%
lam, a, b, c = sp.symbols("lambda a b c", positive=True)
P = lam * sp.Matrix([[1, 1], [1, 1]])
N = lam * sp.Matrix([[1, -1], [-1, 1]])
assert (
    (P + N) / 2 == lam * sp.eye(2)
    and P.eigenvals() == {2 * lam: 1, 0: 1}
    and N.eigenvals() == {2 * lam: 1, 0: 1}
)


# %% [markdown]
# These are the two tests:

# %%
def atoms_of(d, scale):
    keys = [(i, j, sign) for i, j in itertools.combinations(range(d), 2) for sign in (1, -1)]
    e = np.eye(d)
    return keys, scale * np.array([np.outer(e[i] + s * e[j], e[i] + s * e[j]) for i, j, s in keys])


def is_mixture(M, scale):
    """By linear programming: are there weights?"""
    atoms = atoms_of(len(M), scale)[1]
    equations = np.vstack((atoms[:, *np.triu_indices(len(M))].T, np.ones(len(atoms))))
    answer = linprog(
        np.zeros(len(atoms)),
        A_eq=equations,
        b_eq=np.append(M[np.triu_indices(len(M))], 1.0),
        method="highs",
    )
    return answer.status == 0


def passes(M, scale):
    """By the characterisation."""
    r = 2.0 * np.diag(M) - np.abs(M).sum(axis=1)
    return bool(
        np.isclose(np.trace(M), 2 * scale) and r.min() >= -1e-9 and 2 * r.max() <= r.sum() + 1e-9
    )


# %%
rng, inside = np.random.default_rng(0), 0
for _ in range(400):
    d = int(rng.integers(3, 6))
    M = rng.normal(size=(d, d)) * (rng.uniform(size=(d, d)) < 0.6) * 0.3
    M = np.triu(M, 1) + np.triu(M, 1).T
    r = np.round(rng.dirichlet(np.full(d, 0.6)), 3) - 0.02 * (rng.uniform() < 0.2)
    M += np.diag(np.abs(M).sum(axis=1) + r)
    scale = np.trace(M) / 2
    assert is_mixture(M, scale) == passes(M, scale)
    inside += passes(M, scale)
print(
    f"400 random symmetric matrices: {inside} are mixtures; "
    "linear program and characterisation always agree"
)
assert 100 < inside < 300

# %% [markdown]
# ## The gradient between points
#
# With $g_t = -\ell'(\langle A_t, M\rangle)$, between 0 and 1, the gradient is
#
# $$\nabla f(M) = -\frac1T \sum_t g_t\, x_t (y_t - z_t)^\top = -\frac1T X^\top W X, \qquad
# W = \sum_t g_t\, (e_{x_t} e_{y_t}^\top - e_{x_t} e_{z_t}^\top) .$$
#
# $W$ is $n \times n$ and has at most two entries a triplet. The product of an atom with the gradient
# is $-\frac{\lambda}{T} p^\top W p$ with $p = X(e_i \pm e_j)$. Up to the factor $-\frac1T$, a row of
# the symmetric gradient is $X^\top (W + W^\top) X e_i$. So everything that is needed can be computed
# on demand.
#
# ### Ten lines of numpy

# %%
def dense(X, triplets, M):
    """Objective and gradient straight from the definitions, with d x d matrices."""
    x, y, z = X[triplets.T]
    A = x[:, :, None] * (y - z)[:, None, :]
    u = np.einsum("tij,ij->t", A, M)
    return loss.value(u).mean(), -np.einsum("t,tij->ij", loss.alpha(u), A) / len(A)


# %%
rng = np.random.default_rng(1)
X = rng.uniform(size=(15, 8)) * (rng.uniform(size=(15, 8)) < 0.5)
triplets = np.array([rng.choice(15, 3, replace=False) for _ in range(40)])
keys, atoms = atoms_of(8, 2.0)
weights = rng.dirichlet(np.full(len(atoms), 0.1))
M = np.tensordot(weights, atoms, 1)
value, G = dense(X, triplets, M)
slopes = loss.alpha(
    np.einsum("ti,ij,tj->t", X[triplets[:, 0]], M, X[triplets[:, 1]] - X[triplets[:, 2]])
)
W = np.zeros((15, 15))
np.add.at(W, (triplets[:, 0], triplets[:, 1]), slopes)
np.add.at(W, (triplets[:, 0], triplets[:, 2]), -slopes)
assert np.allclose(G, -X.T @ W @ X / 40)
print(
    f"objective {value:.4f}; gradient of {G.size} entries = -X'WX/T with {np.count_nonzero(W)} "
    "entries in W"
)

# %% [markdown]
# ### The library
#
# `Constraints` stores the points and the pattern of $W$. It takes the slopes $g$ and returns rows of
# the gradient and values of atoms.

# %%
constraints = Constraints(X, triplets)
constraints.set_slopes(slopes[constraints.order])
assert np.array_equal(constraints.features, np.arange(8))
assert np.allclose(constraints.diagonal(), -40 * np.diag(G))
for i in range(8):
    assert np.allclose(constraints.row(i), -40 * (G + G.T)[i])
best = exact(constraints)
products = np.einsum("kij,ij->k", atoms, G)
assert keys[np.argmin(products)] == best[:3] and np.isclose(products.min(), -2.0 * best.value / 40)
print(
    f"rows and diagonal of the gradient: equal; best atom {best[:3]}, product "
    f"{products.min():.4f}: "
    "equal"
)

# %% [markdown]
# ## Every iterate is feasible
#
# The data are the digits of scikit-learn: 300 images of 64 pixels. Each image forms triplets with the
# 3 most similar images of the same digit and the 5 most similar images of other digits, 4500 triplets
# in all. After each of the first 59 iterations we check that the weights are positive with sum 1,
# that $M$ is positive semidefinite and in $D_\lambda$ by the characterisation above, that
# $M = L^\top L$, and that the solver reports the objective that dense matrices give.

# %%
lowest, iterates = 0.0, {}
solver = FrankWolfe(scale, forward="exact", max_iter=60, check_every=1)
history = solver.fit(
    train, near, callback=lambda now: iterates.update({now.iteration: now.x})
).history_
x, step = train[near[:, 0]], train[near[:, 1]] - train[near[:, 2]]
for k in range(1, 60):
    similarity = iterates[k]
    M, L = similarity.to_sparse().toarray(), similarity.factor().toarray()
    lowest = min(lowest, np.linalg.eigvalsh(M)[0])
    assert similarity.weights.min() > 0.0 and np.isclose(similarity.weights.sum(), 1.0, rtol=1e-14)
    assert passes(M, scale) and np.allclose(L.T @ L, M, atol=1e-13) and len(similarity) <= k + 1
    assert np.isclose(
        loss.value(np.sum((x @ M) * step, axis=1)).mean(), history[k].objective, rtol=1e-12
    )
assert lowest > -1e-13
print(
    "59 iterates: all feasible, no eigenvalue below -1e-13; "
    f"objective {history[1].objective:.4f} to {history[-1].objective:.4f}"
)

# %% [markdown]
# An orange line in the picture at the top says "ink here and not there". Does it help? We compare the
# error of the 3 nearest neighbours by similarity on 400 other images with that of the dot product
# ($M = I$):

# %% tags=["nbval-ignore-output"]
check = NeighborError(train, labels[:300], images[300:500], labels[300:500])
identity = SparseSimilarity(
    np.array([(i, j, s) for i, j in itertools.combinations(range(64), 2) for s in (-1, 1)]),
    np.full(64 * 63, 1 / (64 * 63)),
    1.0,
    64,
)
assert np.allclose(identity.to_sparse().toarray(), np.eye(64) / 32)
errors = {"dot product": check(identity)} | {
    name: check(similarity) for name, similarity in growing.items()
}
for name, similarity in ({"dot product": None} | growing).items():
    used = "64 features" if similarity is None else f"{similarity.features.size} features"
    print(f"{name:12} {used:12} error {errors[name]:.3f}")
unit = images[:500] / np.linalg.norm(images[:500], axis=1, keepdims=True)
check = NeighborError(unit[:300], labels[:300], unit[300:], labels[300:500])
near_unit = nearest_triplets(unit[:300], labels[:300])
learned = FrankWolfe(300.0, forward="exact", max_iter=100).fit(unit[:300], near_unit).similarity_
print(f"images of unit length: dot product {check(identity):.3f}, learned {check(learned):.3f}")

# %% [markdown]
# It helps where the plain dot product is bad, because bright images are similar to everything. If all
# images are scaled to unit length, the dot product is hard to beat. This method is not made for 64
# pixels that are nearly all in use. It is made for thousands of features of which each point has a
# few.

# %% [markdown]
# ## Break it
#
# ### Negative weights
#
# $M$ is positive semidefinite only because the weights are not negative. If one weight may be
# slightly negative, as in a least-squares fit, $M$ is not positive semidefinite any more.

# %%
e = np.eye(3)
plus = [np.outer(e[i] + e[j], e[i] + e[j]) for i, j in ((0, 1), (1, 2))]
M = 1.05 * plus[0] - 0.05 * plus[1]
print(
    "eigenvalues with weights 1.05 and -0.05:", (np.round(np.linalg.eigvalsh(M), 3) + 0.0).tolist()
)
assert np.linalg.eigvalsh(M)[0] < -0.01

# %% [markdown]
# ### Four entries of another shape
#
# The matrix $\begin{pmatrix}1 & 2\\ 2 & 4\end{pmatrix}$ has four entries, is positive semidefinite
# and of rank one. It is not diagonally dominant, so it is no mixture: atoms combine features with
# equal weight only. A *single* feature, $2\lambda e_1 e_1^\top$, is no mixture either, because $r_1$
# would be all of the excess.

# %%
for name, M in (
    ("(1,2)(1,2)'", np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [0.0, 0.0, 0.0]])),
    ("e1 e1'", np.diag([1.0, 0.0, 0.0])),
):
    print(
        f"{name:12} smallest eigenvalue {abs(np.linalg.eigvalsh(M)[0]):.1f}, mixture: "
        f"{is_mixture(M, np.trace(M) / 2)}"
    )
    assert not is_mixture(M, np.trace(M) / 2) and not passes(M, np.trace(M) / 2)

# %% [markdown]
# What does that cost? Let only the first of $d$ features tell classes apart, and let the others be
# noise. Then the best mixture gives half of the trace to partners of feature 1. If it gives a little
# to each of many partners, their noise averages out.

# %%
rng = np.random.default_rng(3)
y = np.arange(60) % 2
noisy = rng.normal(0.0, 0.5, (60, 10))
noisy[:, 0] = np.where(y == 1, 1.0, -1.0) + rng.normal(0.0, 0.3, 60)
best = FrankWolfe(0.5, forward="exact", max_iter=2000, tol=1e-6).fit(
    noisy, nearest_triplets(noisy, y, 3, 5)
)
M, pure = best.similarity_.to_sparse().toarray(), np.diag([1.0] + [0.0] * 9)
single = dense(noisy, nearest_triplets(noisy, y, 3, 5), pure)[0]
print(
    f"share of the trace on feature 1: {M[0, 0] / np.trace(M):.2f}; "
    f"partners {len(best.similarity_.features) - 1}"
)
print(
    f"objective {best.history_[-1].objective:.4f}, "
    f"of the single feature with the same trace {single:.4f}"
)
assert M[0, 0] / np.trace(M) <= 0.5 + 1e-9 and single < best.history_[-1].objective

# %% [markdown]
# ## Exercise
#
# Add the atoms $2 \lambda\, e_i e_i^\top$ (up to scale, the case $i = j$). Which set do you get, and
# do trace, rank and number of entries after $k$ steps change?
#
# <details>
# <summary><b>Solution</b></summary>
#
# You get all symmetric diagonally dominant matrices of trace $2\lambda$. The condition on the $r_i$
# disappears, because a new atom adds to a single $r_i$. (It is known that these atoms and the old
# ones are exactly the extreme rays of the cone of diagonally dominant matrices with non-negative
# diagonal.) The new atoms have the same trace, rank one and a single entry, so no number gets larger.
# The paper leaves them out, and we follow it.
#
# </details>

# %%
M = np.diag([1.0, 0.2, 0.1])
with_singles = np.concatenate(
    (atoms_of(3, 0.65)[1], [2 * 0.65 * np.outer(v, v) for v in np.eye(3)])
)
equations = np.vstack((with_singles.reshape(9, 9).T, np.ones(9)))
answer = linprog(np.zeros(9), A_eq=equations, b_eq=np.append(M.ravel(), 1.0), method="highs")
print(
    "diag(1, 0.2, 0.1): mixture of pairs",
    is_mixture(M, 0.65),
    " with single features",
    answer.status == 0,
)
assert not is_mixture(M, 0.65) and answer.status == 0

# %% [markdown]
# ## Fine print
#
# * **Symmetry.** $M$ is symmetric and $A_t$ is not, so only $A_t + A_t^\top$ matters. The formulas
#   keep the gradient $G$ unsymmetric; the rows are those of $G + G^\top$.
# * **Sizes.** A mixture of $k$ atoms has at most $4k$ entries, $2k$ features and rank $k$. `factor()`
#   returns the map to $k$ dimensions in which the similarities are dot products.
# * **Scale.** $\lambda$ regularises: with a small one no margin reaches 1. The paper chooses it by
#   validation, as it does the number of iterations.
# * **Where it leads.** How the atoms are found: [`41-frank-wolfe-and-away-steps`](41-frank-wolfe-and-away-steps.ipynb). What that costs:
#   [`42-hdsl-cost`](42-hdsl-cost.ipynb). Approximations: [`43-hdsl-forward-directions`](43-hdsl-forward-directions.ipynb). New points:
#   [`44c-risk-of-a-learned-similarity`](44c-risk-of-a-learned-similarity.ipynb).
#
# ## References
#
# * HDSL19: Liu, Bellet, *Escaping the curse of dimensionality in similarity learning*, Neurocomputing
#   333, 2019: section 3.1.
# * Jaggi, *Sparse convex optimization methods for machine learning*, PhD thesis, ETH Zurich 2011: the
#   atoms.
# * Barker, Carlson, *Cones of diagonally dominant matrices*, Pacific Journal of Mathematics 57, 1975:
#   extreme rays.
