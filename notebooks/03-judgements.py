# %% [markdown]
# # Judgements of people
#
# Suppose that people compare chairs: "Is the first chair more like the second or like the third?" Answers to such questions are triplets (anchor, closer, farther). Some answers contradict others, some repeat others, and some judges answer at random. In this notebook you learn a metric from answers. You measure how often the metric agrees with new answers, and how often the best possible metric agrees with them. You find out which judges you can believe, and how many answers screening takes out of the problem.
#
# This notebook simulates the judges, so that we know the truth. For answers of real people, replace `X` by your features, and `answers` and `judge` by your answers, and omit the code that uses `truth` or `careless`. The page `docs/how-to/own-triplets.md` has the short form, and shows how to read answers from a file.

# %% tags=["parameters"]
n_things = 150
n_judges = 12
n_answers = 250  # of each judge
seed = 0

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import GroupKFold

import safescreen as ss
from safescreen_book import figures

rng = np.random.default_rng(seed)
X = rng.standard_normal((n_things, 8))
B = rng.standard_normal((2, 8)) * np.array([3.0, 2.0, 1.5, 1.0, 0.0, 0.0, 0.0, 0.0])
truth = B.T @ B  # the metric of the judges: two directions in four of the eight features


def distances(M, triplets):
    """Squared distances from the anchors to the second and the third points."""
    squared = []
    for column in (1, 2):
        D = X[triplets[:, 0]] - X[triplets[:, column]]
        squared.append(np.einsum("ti,ij,tj->t", D, M, D))
    return squared


# %% [markdown]
# ## The answers
#
# A judge gives the right answer with a probability that increases with the ratio of the two distances. If the distances are nearly equal, both answers are equally probable. Three of the judges answer at random.

# %%
careless = np.arange(n_judges) >= n_judges - 3


def answers_to(triplets, judges):
    """Triplets (anchor, closer, farther) as the judges answer."""
    near, far = distances(truth, triplets)
    probability = 1.0 / (1.0 + np.exp(-4.0 * np.log(far / near)))
    probability = np.where(careless[judges], 0.5, probability)
    says_closer = rng.random(len(triplets)) < probability
    return np.where(says_closer[:, None], triplets, triplets[:, [0, 2, 1]])


questions = np.array([rng.choice(n_things, 3, replace=False) for _ in range(n_judges * n_answers)])
judge = np.repeat(np.arange(n_judges), n_answers)
answers = answers_to(questions, judge)

# for a tenth of the questions, another judge gets the same question
again, before = rng.permutation(len(questions))[: 2 * (len(questions) // 10)].reshape(2, -1)
answers[again] = answers_to(questions[before], judge[again])

# %%
different = np.unique(answers, axis=0)
given = {tuple(row) for row in different.tolist()}
opposite = {tuple(row) for row in different[:, [0, 2, 1]].tolist()}
contradicted = given & opposite
print(
    f"{len(answers)} answers of {n_judges} judges; {len(answers) - len(different)} repeat "
    f"another answer, {len(contradicted)} contradict another answer"
)
assert len(contradicted) > 0

# %% [markdown]
# ## Learn from some judges, test with others
#
# We keep all answers, also answers that contradict each other: each answer has its own loss. We choose the $\lambda$ that agrees best with held-out answers. All answers of a judge are held out together, so that no judge's answers are used both to learn a metric and to validate it. We keep the answers of three judges for the final test: two of these judges are careful, and one answers at random.

# %% tags=["nbval-ignore-output"]
test = np.isin(judge, [0, 1, n_judges - 1])
search = ss.TripletMetricCV(ss.TripletMetric(), lams=9, cv=GroupKFold(3))
model = search.fit_triplets(X, answers[~test], groups=judge[~test])


# %%
def agreement(metric, rows, weights=None):
    """Share of answers that the metric agrees with, and half of its 95 % interval."""
    p = metric.score_triplets(X, answers[rows], weights)
    return p, 1.96 * np.sqrt(p * (1.0 - p) / np.count_nonzero(rows))


class Fixed(ss.TripletMetric):
    """A given metric."""

    def of(self, M):
        values, vectors = np.linalg.eigh(M)
        self.components_ = (vectors * np.sqrt(np.maximum(values, 0.0))).T
        self.n_features_in_ = len(M)
        return self


# %% tags=["nbval-ignore-output"]
metrics = {
    "Euclid": Fixed().of(np.eye(8)),
    "learned": model.best_estimator_,
    "true metric": Fixed().of(truth),
}
sincere = test & ~careless[judge]
table = {}
for name, metric in metrics.items():
    table[name] = {}
    for group, rows in (("all judges of the test", test), ("careful judges", sincere)):
        p, half = agreement(metric, rows)
        table[name][group] = f"{p:.3f} ± {half:.3f}"
pd.DataFrame(table).T

# %% [markdown]
# The last row shows the agreement of the true metric. Judges err, so even the true metric does not agree with all answers. Compare the learned metric with this row, not with 1. With real people, compare it with the share of questions to which a second judge gives the same answer.

# %%
learned, _ = agreement(metrics["learned"], sincere)
best, _ = agreement(metrics["true metric"], sincere)
plain, spread = agreement(metrics["Euclid"], sincere)
assert learned > plain + spread
assert learned <= best + spread

# %%
fig, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.2), layout="constrained")
left.semilogx(model.lams_, model.scores_.T, "o", color="0.7", ms=4)
left.semilogx(model.lams_, model.scores_.mean(axis=0), "o-")
left.axvline(model.lam_, color="C3", lw=1)
left.set(xlabel=r"$\lambda$", ylabel="agreement", title="Held-out judges, one dot per fold")
M = model.get_mahalanobis_matrix()
true_share = np.diag(truth) / np.trace(truth)
learned_share = np.diag(M) / np.trace(M)
right.bar(np.arange(8) - 0.2, true_share, 0.4, label="true metric")
right.bar(np.arange(8) + 0.2, learned_share, 0.4, label="learned")
right.set(xlabel="feature", ylabel="share of the diagonal", title="Weights of the features")
right.legend()
figures.show(
    "In the left panel a dot shows the agreement with the held-out judges of a fold at a lambda, "
    "the line connects the means, and the vertical line marks the choice. In the right panel bars "
    "show the share of each feature in the diagonal of the matrix, for the true metric and for "
    f"the learned metric. The largest share in the true metric is {true_share.max():.1f}; the "
    f"learned metric gives the same feature a share of {learned_share[true_share.argmax()]:.1f}."
)

# %%
cosine = np.sum(M * truth) / np.linalg.norm(M) / np.linalg.norm(truth)
identity = np.trace(truth) / np.linalg.norm(truth) / np.sqrt(8)
print(f"cosine with the true matrix: learned matrix {cosine:.3f}, identity {identity:.3f}")
assert cosine > 0.9

# %% [markdown]
# ## Which judges to believe
#
# A judge who answers at random agrees with about half of the answers of the other judges. So we learn a metric from the answers of all *other* judges, and compute how often the judge agrees with this metric. The weight of the judge is the agreement minus one half, or 0 if the interval of the agreement contains one half. Then we learn a metric from all answers with these weights.

# %% tags=["nbval-ignore-output"]
lam = model.lam_
trust = np.zeros(n_judges)
for j in np.unique(judge[~test]):
    others = ss.TripletMetric(lam=lam).fit_triplets(X, answers[~test & (judge != j)])
    p, half = agreement(others, judge == j)
    if p - half > 0.5:
        trust[j] = p - 0.5
    remark = "   (answers at random)" if careless[j] else ""
    print(f"judge {j:2d}: {p:.3f} ± {half:.3f}  weight {trust[j]:.2f}{remark}")
known = np.unique(judge[~test])
assert trust[known[careless[known]]].max() < trust[known[~careless[known]]].min()

weights = trust[judge[~test]] / trust.max()
weighted = ss.TripletMetric(lam=lam).fit_triplets(X, answers[~test], triplet_weight=weights)
for name, metric in {"equal weights": model.best_estimator_, "these weights": weighted}.items():
    p, half = agreement(metric, sincere)
    print(f"{name}: agreement {p:.3f} ± {half:.3f}")

# %% [markdown]
# The weights change the agreement little, because random answers cancel each other. They would change it more if careless judges always chose the first of the two things.
#
# ## Which answers screening takes out
#
# An answer with a large loss is in the linear region. An answer with a large margin is in the zero region. Screening proves for many answers in which region they are, and takes these answers out of the problem. The optimum stays the same.

# %% tags=["nbval-ignore-output"]
problem = ss.Problem(ss.Triplets(X, answers[~test]), ss.SmoothedHinge(0.05))
for part in (0.3, 0.03, 0.003):
    s = ss.solve(problem, part * problem.lam_max(), tol=0.0, rtol=1e-6, screening=("MGB",))
    found = ss.screen_triplets(X, answers[~test], s.x, s.lam)
    print(
        f"lambda = {part:5} lambda_max: {found.in_L.mean():4.0%} linear, {found.in_R.mean():4.0%} "
        f"zero of {len(problem)} answers"
    )
    assert found.in_L.any() and not (found.in_L & found.in_R).any()

# %% [markdown]
# ## When something is wrong
#
# The library's error messages say which argument is wrong.

# %%
no_weight = np.zeros(len(answers))
plain_metric = ss.TripletMetric()
mistakes = {
    "a row that does not exist": lambda: plain_metric.fit_triplets(X, [[0, 1, n_things]]),
    "an anchor compared with itself": lambda: plain_metric.fit_triplets(X, [[0, 0, 1]]),
    "all weights are 0": lambda: plain_metric.fit_triplets(X, answers, triplet_weight=no_weight),
    "predict": lambda: weighted.predict(X),
}
for mistake, run in mistakes.items():
    try:
        run()
    except (ValueError, AttributeError) as message:
        print(f"{mistake}: {message}\n")
