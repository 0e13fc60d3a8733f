# %% [markdown]
# # Judgements of people
#
# "Is this chair more like that one, or like the third?" Answers to such questions are triplets (anchor, closer,
# farther). Answers contradict each other, and repeat, and some judges answer without looking. In this notebook you learn
# a metric from answers. You measure how often it agrees with answers that it has not seen, and how often any metric
# could. You find out which judges to believe, and how many answers screening leaves out.
#
# The judges here are simulated, so that the truth is known. For answers of people, put your own features in place of
# `X`, and your own answers in place of `answers` and `judge`; leave out what uses `truth` or `careless`. The page
# `docs/how-to/own-triplets.md` has the short form, and shows how to read answers from a file.

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
truth = B.T @ B  # what people see: two directions in four of the eight features


def distances(M, triplets):
    """Squared distances from the anchors to the second and the third points."""
    return [
        np.einsum("ti,ij,tj->t", D, M, D)
        for D in (X[triplets[:, 0]] - X[triplets[:, c]] for c in (1, 2))
    ]


# %% [markdown]
# ## The answers
#
# The more two distances differ, the more probably a judge gives the right answer: nobody can tell distances apart that
# are nearly equal. Three of the judges answer at random.

# %%
careless = np.arange(n_judges) >= n_judges - 3
questions = np.array([rng.choice(n_things, 3, replace=False) for _ in range(n_judges * n_answers)])
judge = np.repeat(np.arange(n_judges), n_answers)
near, far = distances(truth, questions)
clarity = np.log(far / near)
says_closer = rng.random(len(questions)) < np.where(
    careless[judge], 0.5, 1.0 / (1.0 + np.exp(-4.0 * clarity))
)
answers = np.where(says_closer[:, None], questions, questions[:, [0, 2, 1]])

# a tenth of the questions had been asked of another judge before
again, before = rng.permutation(len(questions))[: 2 * (len(questions) // 10)].reshape(2, -1)
asked = questions[before]
near, far = distances(truth, asked)
says_closer = rng.random(len(asked)) < np.where(
    careless[judge[again]], 0.5, 1.0 / (1.0 + np.exp(-4.0 * np.log(far / near)))
)
answers[again] = np.where(says_closer[:, None], asked, asked[:, [0, 2, 1]])

different = np.unique(answers, axis=0)
turned = {tuple(row) for row in different[:, [0, 2, 1]].tolist()} & {
    tuple(row) for row in different.tolist()
}
print(
    f"{len(answers)} answers of {n_judges} judges; {len(answers) - len(different)} repeat "
    f"another, {len(turned)} are contradicted"
)
assert len(turned) > 0

# %% [markdown]
# ## Learn from some, ask the others
#
# No answer is removed. The loss of each answer counts, so two answers that contradict each other pull in opposite
# directions. $\lambda$ is chosen by the agreement with held-out answers. All answers of a judge are held out together, so
# that nobody is tested on what was learned from them. The answers of three judges, two who look and one who does not,
# are kept for the test.

# %% tags=["nbval-ignore-output"]
test = np.isin(judge, [0, 1, n_judges - 1])
model = ss.TripletMetricCV(ss.TripletMetric(), lams=9, cv=GroupKFold(3))
model.fit_triplets(X, answers[~test], groups=judge[~test])


def agreement(metric, rows, weights=None):
    """Agreement with answers, and half of its 95 % interval."""
    p = metric.score_triplets(X, answers[rows], weights)
    return p, 1.96 * np.sqrt(p * (1.0 - p) / np.count_nonzero(rows))


class Fixed(ss.TripletMetric):
    """A given metric."""

    def of(self, M):
        values, vectors = np.linalg.eigh(M)
        self.components_, self.n_features_in_ = (
            (vectors * np.sqrt(np.maximum(values, 0.0))).T,
            len(M),
        )
        return self


metrics = {
    "Euclid": Fixed().of(np.eye(8)),
    "learned": model.best_estimator_,
    "what people see": Fixed().of(truth),
}
sincere = test & ~careless[judge]
table = {}
for name, metric in metrics.items():
    all_, some = agreement(metric, test), agreement(metric, sincere)
    table[name] = {
        "all judges of the test": f"{all_[0]:.3f} ± {all_[1]:.3f}",
        "those who look": f"{some[0]:.3f} ± {some[1]:.3f}",
    }
pd.DataFrame(table).T

# %% [markdown]
# The last row is the most that a metric can reach: judges err, so even the truth does not agree with all answers. Compare
# with that row, not with 1. If the truth is not known, compare with how often a second judge gives the same answer.

# %%
gained, ceiling = (
    agreement(metrics["learned"], sincere)[0],
    agreement(metrics["what people see"], sincere)[0],
)
plain, spread = agreement(metrics["Euclid"], sincere)
assert gained > plain + spread
assert gained <= ceiling + spread

fig, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.2), layout="constrained")
left.semilogx(model.lams_, model.scores_.T, "o", color="0.7", ms=4)
left.semilogx(model.lams_, model.scores_.mean(axis=0), "o-")
left.axvline(model.lam_, color="C3", lw=1)
left.set(xlabel=r"$\lambda$", ylabel="agreement", title="Held-out judges, a point a fold")
M = model.get_mahalanobis_matrix()
shares = [np.diag(A) / np.trace(A) for A in (truth, M)]
right.bar(np.arange(8) - 0.2, shares[0], 0.4, label="what people see")
right.bar(np.arange(8) + 0.2, shares[1], 0.4, label="learned")
right.set(xlabel="feature", ylabel="share of the diagonal", title="What the metric looks at")
right.legend()
figures.show(
    "Left, a dot stands for the agreement with the held-out judges of a fold at a lambda, and a "
    "line joins the means; a vertical line marks the choice. "
    "Right, bars compare the shares of the features in the diagonal of the metric: what people "
    "see beside what was learned. "
    f"The largest of what people see is {shares[0].max():.1f}, and the learned share of that "
    f"feature is {shares[1][shares[0].argmax()]:.1f}."
)
closeness = np.sum(M * truth) / np.linalg.norm(M) / np.linalg.norm(truth)
print(
    f"cosine of the learned matrix and the true one: {closeness:.3f}; of the identity: "
    f"{np.trace(truth) / np.linalg.norm(truth) / np.sqrt(8):.3f}"
)
assert closeness > 0.9

# %% [markdown]
# ## Whom to believe
#
# A judge who answers at random agrees with half of the answers of the others. So learn a metric from the answers of
# all *other* judges, and compute how often the judge agrees with it. That gives the weight of the judge; it is 0 if the
# interval of the agreement reaches one half. Then learn a metric from all answers with these weights.

# %% tags=["nbval-ignore-output"]
lam = model.lam_
trust = np.zeros(n_judges)
for j in np.unique(judge[~test]):
    others = ss.TripletMetric(lam=lam).fit_triplets(X, answers[~test & (judge != j)])
    p, half = agreement(others, judge == j)
    trust[j] = max(p - 0.5, 0.0) if p - half > 0.5 else 0.0
    print(
        f"judge {j:2d}: {p:.3f} ± {half:.3f}  weight "
        f"{trust[j]:.2f}{'   (answers at random)' if careless[j] else ''}"
    )
known = np.unique(judge[~test])
assert trust[known[careless[known]]].max() < trust[known[~careless[known]]].min()

weights = trust[judge[~test]] / trust.max()
weighted = ss.TripletMetric(lam=lam).fit_triplets(X, answers[~test], triplet_weight=weights)
for name, metric in {"all alike": model.best_estimator_, "by trust": weighted}.items():
    p, half = agreement(metric, sincere)
    print(f"{name:9s}: agreement {p:.3f} ± {half:.3f}")

# %% [markdown]
# The weights change little here, because random answers cancel each other. They would matter if careless judges
# always took the first of the two.
#
# ## What never had to be looked at
#
# An answer with a large loss is in the linear region. An answer that the metric agrees with by a large margin is in the
# zero region. Screening proves both, and leaves these answers out. The optimum stays the same.

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
# ## Mistakes

# %%
mistakes = {
    "a row that is not there": lambda: ss.TripletMetric().fit_triplets(X, [[0, 1, n_things]]),
    "an anchor like itself": lambda: ss.TripletMetric().fit_triplets(X, [[0, 0, 1]]),
    "no judge is believed": lambda: ss.TripletMetric().fit_triplets(
        X, answers, triplet_weight=np.zeros(len(answers))
    ),
    "predict": lambda: weighted.predict(X),
}
for mistake, run in mistakes.items():
    try:
        run()
    except (ValueError, AttributeError) as message:
        print(f"{mistake}: {message}\n")
