# %% [markdown]
# # A similarity made of pairs of features
#
# HDSL19 learns a similarity $x^\top M x'$ in so many dimensions that $M$ as a dense matrix does not fit into memory. This is
# possible because $M$ is a mixture of matrices with four entries, which are called atoms.
#
# At the end you will have seen
#
# * what an atom does to a similarity, and why mixtures of atoms are positive semidefinite without a
#   projection;
# * which matrices are mixtures: the diagonally dominant matrices of trace $2\lambda$ in which no
#   single feature has more than half of the excess;
# * how a sparse matrix between *points* stores a gradient of $d^2$ entries;
# * a training on the digits in which every iterate is feasible and has the same objective as with dense
#   matrices;
# * what mixtures cannot represent.

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
# The pictures show a similarity of the digits, images of 8 by 8 pixels, during the training. The similarity is a matrix $M$
# of 64 by 64 numbers, and each step adds at most one *atom*, which couples two pixels. The first picture shows $M$ after 1,
# 5, 20 and 400 steps, with positive entries in purple. The second picture shows the atoms as lines between the two pixels
# that they join, on the mean image. A purple line raises the similarity of two images if one image has ink at the first
# pixel and the other image at the second pixel. An orange line lowers it.

# %%
images, labels = datasets.load("digits", return_X_y=True)
images = 0.5 * (images + 1.0)
train = images[:300]
near = nearest_triplets(train, labels[:300])
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
steps = ", ".join(name.removeprefix("k = ") for name in growing)
entries = ", ".join(str(similarity.to_sparse().nnz) for similarity in growing.values())
figures.show(
    f"Each panel shows the learned similarity as a matrix of coloured dots, after {steps} steps. "
    f"Of its {64**2} entries {entries} are not 0."
)

# %%
figure, axes = figures.panels(4, width=10.4, height=2.8)
for ax, (name, similarity) in zip(axes, growing.items(), strict=True):
    title = f"{name}: {len(similarity)} atoms"
    figures.pixel_pairs(similarity, (8, 8), train.mean(axis=0).reshape(8, 8), ax=ax, title=title)
atom_counts = ", ".join(str(len(similarity)) for similarity in growing.values())
figures.show(
    f"Each line is an atom. It joins a pair of pixels on the mean of {len(train)} images, after "
    f"{steps} steps. The similarities have {atom_counts} of {64 * 63} possible atoms."
)

# %% [markdown]
# ## The problem
#
# A triplet asks that $x_t$ be more similar to $y_t$ than to $z_t$. With $A_t = x_t (y_t - z_t)^\top$ the
# condition is $\langle A_t, M\rangle = x_t^\top M y_t - x_t^\top M z_t > 0$. The loss is 0 if this value is at least 1.
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
# The loss is the book's smoothed hinge with $\gamma = 1$. It is convex, and its slope is between
# $-1$ and 0. The method works with any other convex and continuously differentiable loss (HDSL19 Remark 1,
# notebook [`41-frank-wolfe-and-away-steps`](41-frank-wolfe-and-away-steps.ipynb)).
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

# %%
loss = ss.SmoothedHinge(gamma=1.0)
print("loss at -1, 0, 1/2, 1, 2:", loss.value([-1.0, 0.0, 0.5, 1.0, 2.0]).tolist())
print("minus its slope:         ", loss.alpha(np.array([-1.0, 0.0, 0.5, 1.0, 2.0])).tolist())

# %% [markdown]
# ## What an atom does
#
# $x^\top (e_i \pm e_j)(e_i \pm e_j)^\top x' = (x_i \pm x_j)(x'_i \pm x'_j) = x_i x'_i + x_j x'_j \pm (x_i x'_j + x_j x'_i)$.
# With either sign an atom raises the similarity of two points that share a feature. Now let one point have feature $i$
# and the other point feature $j$. The sign $+$ raises their similarity, as if the two features were synonyms, and the sign
# $-$ lowers it. The features of the example are words:

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
# Let $w^\pm_{ij}$ be the weights of the atoms, with sum 1. The entries off the diagonal are
# $M_{ij} = \lambda (w^+_{ij} - w^-_{ij})$, and the diagonal is $M_{ii} = \lambda \sum_j (w^+_{ij} + w^-_{ij})$. So
# for every mixture
#
# * the trace is $2 \lambda$, and the absolute entries sum to at most $4 \lambda$;
# * $M_{ii} \ge \sum_{j \ne i} |M_{ij}|$: $M$ is *diagonally dominant*, hence positive semidefinite.
#
# The excess of the diagonal is $r_i = M_{ii} - \sum_{j \ne i} |M_{ij}| \ge 0$. It comes from pairs of
# atoms with opposite signs, since $(P^{(ij)} + N^{(ij)})/2 = \lambda (e_i e_i^\top + e_j e_j^\top)$. Such
# a pair adds equal amounts to the excess of two features. So a vector $r \ge 0$ is a sum of such pairs if and only if
#
# $$r_i \le \sum_{j \ne i} r_j \quad\text{for every } i .$$
#
# (Integers $r_i$ with an even sum are the degrees of a graph with
# multiple edges under the same condition.) Therefore
#
# > $D_\lambda$ is the set of symmetric, diagonally dominant matrices of trace $2\lambda$ in which no
# > $r_i$ is more than half of $\sum_j r_j$.
#
# The paper does not contain this statement. Is it true? A linear program decides whether a matrix is a mixture. We
# apply the linear program and the statement to random matrices near the border of the set.

# %%
lam, a, b, c = sp.symbols("lambda a b c", positive=True)
P = lam * sp.Matrix([[1, 1], [1, 1]])
N = lam * sp.Matrix([[1, -1], [-1, 1]])
assert (P + N) / 2 == lam * sp.eye(2)
assert P.eigenvals() == N.eigenvals() == {2 * lam: 1, 0: 1}


# %% [markdown]
# The two tests are:

# %%
def atoms_of(d, scale):
    """Return the keys (i, j, sign) of all atoms, and the atoms as matrices."""
    keys = [(i, j, sign) for i, j in itertools.combinations(range(d), 2) for sign in (1, -1)]
    e = np.eye(d)
    return keys, scale * np.array([np.outer(e[i] + s * e[j], e[i] + s * e[j]) for i, j, s in keys])


def is_mixture(M, scale):
    """Return whether a linear program finds weights."""
    atoms = atoms_of(len(M), scale)[1]
    upper = np.triu_indices(len(M))
    equations = np.vstack((atoms[:, *upper].T, np.ones(len(atoms))))
    sides = np.append(M[upper], 1.0)
    answer = linprog(np.zeros(len(atoms)), A_eq=equations, b_eq=sides, method="highs")
    return answer.status == 0


def passes(M, scale):
    """Return whether M satisfies the conditions of the statement."""
    r = 2.0 * np.diag(M) - np.abs(M).sum(axis=1)
    has_trace = np.isclose(np.trace(M), 2 * scale)
    return bool(has_trace and r.min() >= -1e-9 and 2 * r.max() <= r.sum() + 1e-9)


# %%
rng = np.random.default_rng(0)
inside = 0
for _ in range(400):
    d = int(rng.integers(3, 6))
    M = rng.normal(size=(d, d)) * (rng.uniform(size=(d, d)) < 0.6) * 0.3
    M = np.triu(M, 1) + np.triu(M, 1).T
    r = np.round(rng.dirichlet(np.full(d, 0.6)), 3) - 0.02 * (rng.uniform() < 0.2)
    M += np.diag(np.abs(M).sum(axis=1) + r)
    scale = np.trace(M) / 2
    assert is_mixture(M, scale) == passes(M, scale)
    inside += passes(M, scale)
print(f"of 400 random symmetric matrices {inside} are mixtures; ", end="")
print("the linear program and the statement agree for each")
assert 100 < inside < 300

# %% [markdown]
# ## The gradient between points
#
# With $g_t = -\ell'(\langle A_t, M\rangle)$, between 0 and 1, the gradient is
#
# $$\nabla f(M) = -\frac1T \sum_t g_t\, x_t (y_t - z_t)^\top = -\frac1T X^\top W X, \qquad
# W = \sum_t g_t\, (e_{x_t} e_{y_t}^\top - e_{x_t} e_{z_t}^\top) .$$
#
# $W$ is $n \times n$ and has at most two entries for each triplet. The product of an atom with the gradient
# is $-\frac{\lambda}{T} p^\top W p$ with $p = X(e_i \pm e_j)$. Up to the factor $-\frac1T$, a row of
# the symmetric gradient is $X^\top (W + W^\top) X e_i$. So the method can compute rows and products when it needs them, and
# it never stores the gradient.
#
# ### Ten lines of numpy

# %%
def dense(X, triplets, M):
    """Return objective and gradient by the definitions, with d x d matrices."""
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
x, y, z = X[triplets.T]
slopes = loss.alpha(np.einsum("ti,ij,tj->t", x, M, y - z))
W = np.zeros((15, 15))
np.add.at(W, (triplets[:, 0], triplets[:, 1]), slopes)
np.add.at(W, (triplets[:, 0], triplets[:, 2]), -slopes)
assert np.allclose(G, -X.T @ W @ X / 40)
print(f"objective {value:.4f}; the gradient has {G.size} entries; ", end="")
print(f"it is -X'WX/T, where W has {np.count_nonzero(W)} entries")

# %% [markdown]
# ### The library
#
# `Constraints` stores the points and the pattern of $W$. From the slopes $g$ it computes rows of the gradient and the
# products of atoms with the gradient.

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
print("rows and diagonal of the gradient by the library agree with dense matrices to rounding; ",
      end="")
print(f"the best atom is {best[:3]}, its product with the gradient {products.min():.4f}")

# %% [markdown]
# ## Every iterate is feasible
#
# The data are the digits of scikit-learn: 300 images of 64 pixels. Each image forms triplets with the
# 3 most similar images of the same digit and the 5 most similar images of other digits, 4500 triplets
# in all. After each of the first 59 iterations we check
#
# * that the weights are positive with sum 1;
# * that $M$ is positive semidefinite, and in $D_\lambda$ by the statement above;
# * that $M = L^\top L$;
# * that the solver reports the same objective as dense matrices.

# %%
iterates = {}


def keep(state):
    """Keep the iterate of each iteration."""
    iterates[state.iteration] = state.x


solver = FrankWolfe(scale, forward="exact", max_iter=60, check_every=1)
history = solver.fit(train, near, callback=keep).history_

# %%
lowest = 0.0
x = train[near[:, 0]]
step = train[near[:, 1]] - train[near[:, 2]]
for k in range(1, 60):
    similarity = iterates[k]
    M = similarity.to_sparse().toarray()
    L = similarity.factor().toarray()
    lowest = min(lowest, np.linalg.eigvalsh(M)[0])
    assert similarity.weights.min() > 0.0 and np.isclose(similarity.weights.sum(), 1.0, rtol=1e-14)
    assert passes(M, scale) and np.allclose(L.T @ L, M, atol=1e-13) and len(similarity) <= k + 1
    objective = loss.value(np.sum((x @ M) * step, axis=1)).mean()
    assert np.isclose(objective, history[k].objective, rtol=1e-12)
assert lowest > -1e-13
print("59 iterates are feasible, and no eigenvalue is below -1e-13; ", end="")
print(f"the objective falls from {history[1].objective:.4f} to {history[-1].objective:.4f}")

# %% [markdown]
# An orange line in the second picture lowers the similarity of images with ink at different pixels. Does the learned
# similarity help? We classify 200 other images by their 3 most similar training images, and compare the error with the
# error of the dot product ($M = I$):

# %% tags=["nbval-ignore-output"]
check = NeighborError(train, labels[:300], images[300:500], labels[300:500])
every_atom = np.array(atoms_of(64, 1.0)[0])
weights = np.full(len(every_atom), 1.0 / len(every_atom))
identity = SparseSimilarity(every_atom, weights, 1.0, 64)
assert np.allclose(identity.to_sparse().toarray(), np.eye(64) / 32)
print(f"{'dot product':12} 64 features  error {check(identity):.3f}")
for name, similarity in growing.items():
    print(f"{name:12} {similarity.features.size:2} features  error {check(similarity):.3f}")

# %% tags=["nbval-ignore-output"]
unit = images[:500] / np.linalg.norm(images[:500], axis=1, keepdims=True)
check = NeighborError(unit[:300], labels[:300], unit[300:], labels[300:500])
near_unit = nearest_triplets(unit[:300], labels[:300])
learned = FrankWolfe(300.0, forward="exact", max_iter=100).fit(unit[:300], near_unit).similarity_
print(f"images of unit length: dot product {check(identity):.3f}, learned {check(learned):.3f}")

# %% [markdown]
# On the original images the similarity after the most steps has a smaller error than the dot product. The dot product is bad
# there, because a bright image is similar to every image. On images of unit length the dot product has the smaller error.
# The method is not made for 64 pixels that are nonzero in nearly all images. It is made for thousands of features, where
# each point has only a few nonzero features.

# %% [markdown]
# ## Break it
#
# ### Negative weights
#
# $M$ is positive semidefinite because the weights are not negative. If one weight is
# slightly negative, as a least-squares fit may give, $M$ need not be positive semidefinite.

# %%
e = np.eye(3)
plus = [np.outer(e[i] + e[j], e[i] + e[j]) for i, j in ((0, 1), (1, 2))]
M = 1.05 * plus[0] - 0.05 * plus[1]
eigenvalues = np.linalg.eigvalsh(M)
print("eigenvalues with weights 1.05 and -0.05:", (np.round(eigenvalues, 3) + 0.0).tolist())
assert eigenvalues[0] < -0.01

# %% [markdown]
# ### Matrices of rank one that are no mixtures
#
# The matrix $\begin{pmatrix}1 & 2\\ 2 & 4\end{pmatrix}$ has four entries and rank one, and it is positive semidefinite.
# It is not diagonally dominant, so it is no mixture: an atom combines two features with
# equal weights. The matrix of a *single* feature, $2\lambda e_1 e_1^\top$, is no mixture either, because $r_1$
# would be the total excess.

# %%
skewed = np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [0.0, 0.0, 0.0]])
single = np.diag([1.0, 0.0, 0.0])
for name, M in (("(1,2)(1,2)'", skewed), ("e1 e1'", single)):
    assert not is_mixture(M, np.trace(M) / 2) and not passes(M, np.trace(M) / 2)
    print(f"{name:12} smallest eigenvalue {abs(np.linalg.eigvalsh(M)[0]):.1f}, and no mixture")

# %% [markdown]
# How much larger is the objective because of this? Let only the first of $d$ features tell the classes apart, and let the
# other features be noise. At least half of the trace of a mixture belongs to partners of feature 1. A mixture with many
# partners gives each partner a small weight, and their noise averages out.

# %%
rng = np.random.default_rng(3)
y = np.arange(60) % 2
noisy = rng.normal(0.0, 0.5, (60, 10))
noisy[:, 0] = np.where(y == 1, 1.0, -1.0) + rng.normal(0.0, 0.3, 60)
noisy_triplets = nearest_triplets(noisy, y, 3, 5)
best = FrankWolfe(0.5, forward="exact", max_iter=2000, tol=1e-6).fit(noisy, noisy_triplets)
of_best = best.history_[-1].objective
of_single = dense(noisy, noisy_triplets, np.diag([1.0] + [0.0] * 9))[0]
M = best.similarity_.to_sparse().toarray()
share = M[0, 0] / np.trace(M)
n_partners = len(best.similarity_.features) - 1
print(f"share of the trace on feature 1: {share:.2f}; it has {n_partners} partners")
print(f"objective of the best mixture {of_best:.4f}; ", end="")
print(f"of the single feature with the same trace {of_single:.4f}")
assert share <= 0.5 + 1e-9 and of_single < of_best

# %% [markdown]
# ## Exercise
#
# Add the atoms $2 \lambda\, e_i e_i^\top$ (up to scale, the case $i = j$). What is the new set of mixtures? Do the trace, the
# rank and the number of entries after $k$ steps change?
#
# <details>
# <summary><b>Solution</b></summary>
#
# The new set consists of all symmetric diagonally dominant matrices of trace $2\lambda$. The condition on the $r_i$
# disappears, because a new atom adds to a single $r_i$. (It is known that the old and the new atoms are exactly the extreme
# rays of the cone of diagonally dominant matrices with non-negative
# diagonal.) A new atom has the same trace, rank one and a single entry, so trace, rank and number of entries do not grow.
# The paper leaves the new atoms out, and we follow it.
#
# </details>

# %%
M = np.diag([1.0, 0.2, 0.1])
new_atoms = [2 * 0.65 * np.outer(v, v) for v in np.eye(3)]
with_singles = np.concatenate((atoms_of(3, 0.65)[1], new_atoms))
equations = np.vstack((with_singles.reshape(9, 9).T, np.ones(9)))
answer = linprog(np.zeros(9), A_eq=equations, b_eq=np.append(M.ravel(), 1.0), method="highs")
assert not is_mixture(M, 0.65) and answer.status == 0
print("diag(1, 0.2, 0.1) is no mixture of the old atoms, and is a mixture of all atoms")

# %% [markdown]
# ## Fine print
#
# * **Symmetry.** $M$ is symmetric and $A_t$ is not, so only $A_t + A_t^\top$ matters. In the formulas the gradient $G$ is
#   not symmetric; the library's rows are the rows of $G + G^\top$.
# * **Sizes.** A mixture of $k$ atoms has at most $4k$ entries, $2k$ features and rank $k$. `factor()`
#   returns the map to $k$ dimensions in which the similarities are dot products.
# * **Scale.** $\lambda$ regularises: with a small $\lambda$ no margin reaches 1. The paper chooses $\lambda$ and the number of
#   iterations by validation.
# * **Further notebooks.** The choice of the atoms: [`41-frank-wolfe-and-away-steps`](41-frank-wolfe-and-away-steps.ipynb). The cost:
#   [`42-hdsl-cost`](42-hdsl-cost.ipynb). Approximate choices: [`43-hdsl-forward-directions`](43-hdsl-forward-directions.ipynb). Similarities of
#   new points: [`44c-risk-of-a-learned-similarity`](44c-risk-of-a-learned-similarity.ipynb).
#
# ## References
#
# * HDSL19: Liu, Bellet, *Escaping the curse of dimensionality in similarity learning*, Neurocomputing
#   333, 2019: section 3.1.
# * Jaggi, *Sparse convex optimization methods for machine learning*, PhD thesis, ETH Zurich 2011: the
#   atoms.
# * Barker, Carlson, *Cones of diagonally dominant matrices*, Pacific Journal of Mathematics 57, 1975:
#   extreme rays.
