# %% [markdown]
# # What has been run, and what stands
#
# Every experiment of the book is a notebook that `safescreen run` executes with the parameters of
# `experiments.yml`; what it leaves is in `outputs/<profile>/<experiment>/<run>/`. Every numbered statement
# of the papers is a line of `claims.yml`. This notebook reads both and says where things are. The report
# with the figures, the papers' numbers beside ours and links into the notebooks is made by
#
#     safescreen report --profile laptop

# %% tags=["parameters"]
profile = "laptop"

# %%
from safescreen_book import ledger as claims
from safescreen_book import places
from safescreen_book.runner import batch as runner
from safescreen_book.runner.loading import load_manifest

folder = places.notebooks_folder()
ledger = claims.load_claims(folder)
manifest = load_manifest(folder, [claim.id for claim in ledger])
print(f"{len(ledger)} claims by {len({claim.paper for claim in ledger})} sources")

# %% [markdown]
# ## Experiments
#
# A run is `complete` while nothing it depends on has changed (its notebook, its parameters, the library, its
# data), `out of date` after a change, `failed` when its last attempt stopped; an older result stays readable
# either way. The table depends on what was run on this machine.

# %% tags=["nbval-ignore-output"]
plans = runner.plan(manifest, manifest.select([], profile), profile, places.outputs_folder())
for item in plans:
    seconds = f"{item.state.result['seconds']['wall']:8.1f} s" if item.state.result else ""
    print(f"{item.run!s:32} {item.status:14} {seconds}".rstrip())

# %% [markdown]
# ## Claims
#
# | status | meaning |
# |---|---|
# | open | nothing here yet |
# | verified | derived, and checked numerically |
# | corrected | true after the correction that the evidence states |
# | refuted | the notebook holds a counter-example |
# | reproduced | an experiment with the same conclusion, our numbers beside the paper's |
# | partial | the evidence says what is missing |

# %% tags=["nbval-ignore-output"]
print(f"{'':8}" + "".join(f"{status:>12}" for status in claims.STATUSES))
for paper, row in claims.counts(ledger).items():
    print(f"{paper:8}" + "".join(f"{row[status] or '-':>12}" for status in claims.STATUSES))

# %% tags=["nbval-ignore-output"]
for claim in ledger:
    if claim.status != "open":
        print(f"{claim.id:12} {claim.status:11} {claim.notebook:24} {claim.evidence}")

# %% [markdown]
# No status is believed without a cell: each claim that is not open names a notebook, and there a code cell
# tagged with its id, which ran without error and would fail if the claim failed.

# %%
wrong = list(claims.problems(ledger, folder))
assert not wrong, wrong
print("every claim that is not open has an executed cell that asserts it:", not wrong)
