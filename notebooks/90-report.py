# %% [markdown]
# # What has been run, and what stands
#
# Every experiment of the book is a notebook that `safescreen run` executes with the parameters of `experiments.yml`, at one of the sizes
# `smoke`, `laptop` and `paper`; what it leaves is in `outputs/<profile>/<experiment>/<run>/`. To see it:
#
#     safescreen list                        # what is complete, confirmed, historic, changed, failed or not run
#     safescreen report --profile laptop     # the figures, the papers' numbers beside ours, what did not run and why
#     safescreen site                        # all of that for every size, with this book, the ledger and the reference
#
# The last two say which page to open in a browser. A result of `smoke` or `laptop` is complete while nothing it depends on has
# changed: its notebook, its parameters, the library, its data. A record, which is a result of `paper`, is kept when code changes: a replay
# confirms it, or it is historic. It is changed when its parameters are no longer those that are asked for.
#
# ## Claims
#
# Every numbered statement, algorithm, table and figure of the papers is a line of `claims.yml`, the ledger, which `safescreen claims` prints.
#
# | status | meaning |
# |---|---|
# | open | nothing here yet |
# | verified | derived, and checked numerically |
# | misprint | true, but printed with a slip that the evidence names |
# | corrected | false as printed in any fair reading, true after the correction that the evidence states |
# | refuted | false, and no correction is known; the notebook holds a counter-example |
# | reproduced | all of the paper's conclusions stand, our numbers beside the paper's |
# | differs | a main conclusion does not stand; the evidence states the cause |
# | partial | rows are missing, which are named, or a conclusion is undecided |

# %%
from safescreen_book import ledger, places, verdicts, wording

folder = places.notebooks_folder()
claims = ledger.load_claims(folder)
print(f"{'':8}" + "".join(f"{status:>12}" for status in ledger.STATUSES))
for paper, row in ledger.counts(claims).items():
    print(f"{paper:8}" + "".join(f"{row[status] or '-':>12}" for status in ledger.STATUSES))

# %% [markdown]
# ## What the runs say
#
# Tables and figures are judged by runs at the paper's size, whose results are committed in `outputs/paper/`: each conclusion of the paper
# by a rule with a history (`conclusions.yml`), for each data set; it stands if most of them agree with the paper's own values. The status of
# an item follows from these rows.

# %%
rows = ledger.judged(folder)
summary = verdicts.summarize(rows[rows["whose"] == "paper"])
for paper, found in ledger.stands(claims, rows).items():
    print(f"{paper:8}{wording.counts(found.elements()) if found else 'no conclusions of runs'}")
for row in summary.itertuples():
    print(f"{row.claim:11} {row.verdict:10} {f'{row.agree} of {row.of}':8} {row.conclusion}")

# %% [markdown]
# Behind each line are runs, one or more a data set, and each says in a sentence what it found. Here are those of one figure. A run at the
# size of a laptop says the same sentences, but two draws decide little: many of its conclusions are undecided, which is no failure.

# %%
of_figure = rows[(rows["claim"] == "STS19-F9") & (rows["whose"] == "paper")]
print(*wording.sentences(of_figure.to_dict("records")), sep="\n")

# %% [markdown]
# No status is believed without a cell: each claim that is not open names a notebook, and there a code cell
# tagged with its id, which ran without error and would fail if the claim failed.

# %%
wrong = list(ledger.problems(claims, folder))
assert not wrong, wrong
print("every claim that is not open has an executed cell that asserts it:", not wrong)
