"""The features of pictures of a table as pictures, and which of four pictures has which.

Broderick et al. (2013), Figure 2: a base that every picture has, and a feature for each object, added or taken away.
"""

import matplotlib.pyplot as plt
import numpy as np
from common import Experiment, principal_components, tabletop_pictures
from madbayes import BPMeans
from madbayes.metrics import match_features

experiment = Experiment(__file__, "MAD-Bayes, Figure 2: the features as pictures")
PENALTY = 20.0 if not experiment.quick else 0.3
pictures, truth, names = tabletop_pictures(experiment)
names = [name.replace("_", " ") for name in names]
X, axes = principal_components(pictures)
model = BPMeans(penalty=PENALTY, n_jobs=1).fit(X)
# Back to pixels; the mean of the pictures is part of the base, the feature that all have.
features = (model.components_ @ axes * np.sqrt(len(X) - 1)).reshape(-1, *pictures.shape[1:])
base = int(model.allocation_.sum(axis=0).argmax())
features[base] += pictures.mean(axis=0)
others = [k for k in range(len(features)) if k != base]
# The paper's base has the Klein bottle and the bill, which two of its features take away; two add what it has not.
PAPER = {"base": "base", "klein bottle": "taken away", "bill": "taken away", "handaxe": "added", "cell phone": "added"}


def run(feature):
    """The object that is there where the feature is, or is not."""
    bits = model.allocation_[:, feature]
    if feature == base:
        return [{"pictures": bits.sum(), "object": "base", "sign": "", "right": ""}]
    agreement = np.array([np.mean(bits == there) for there in truth.T])
    best = int(np.argmax(np.abs(agreement - 0.5)))
    sign = "added" if agreement[best] > 0.5 else "taken away"
    right = max(agreement[best], 1 - agreement[best])
    return [{"pictures": bits.sum(), "object": names[best], "sign": sign, "right": right}]


rows = experiment.runs([{"feature": k} for k in [base, *others]], run)
matching = match_features(np.column_stack([np.ones(len(X)), truth]), model.allocation_, complements=True)
there = [row["object"] for row in rows if row["sign"] == "taken away"]
experiment.say(
    f"One start, penalty {PENALTY:g}: {model.n_components_} features, sum of squares {model.reconstruction_err_:.1f}. "
    "Bits that agree with what lies on the table, an object added or taken away being the same where there is a base: "
    f"{matching.equal_bits:.1%}. The base has what others take away: {', '.join(there)} (paper: Klein bottle and bill)."
)
experiment.table(
    ["feature", "pictures", "object", "added or taken away", "pictures where it is right", "paper"],
    [
        [i, row["pictures"], row["object"], row["sign"], f"{row['right']:.0%}" if row["sign"] else "",
         PAPER.get(row["object"], "")]
        for i, row in enumerate(rows)
    ],
)  # fmt: skip
# Four pictures with as many different combinations.
shown = np.unique(model.allocation_[:, others].astype(int), axis=0, return_index=True)[1]
shown = np.sort(shown[np.linspace(0, len(shown) - 1, min(4, len(shown))).astype(int)])
across = max(len(shown), 1 + len(others))
figure, grid = plt.subplots(2, across, figsize=(2.4 * across, 4.4))
for axis in grid.flat:
    axis.set_axis_off()
for axis, n in zip(grid[0], shown, strict=False):
    axis.imshow(pictures[n])
    has = "".join(f", {i + 1}" for i, k in enumerate(others) if model.allocation_[n, k])
    axis.set_title(f"has 0{has}", fontsize="small")
for i, (axis, k, row) in enumerate(zip(grid[1], [base, *others], rows, strict=False)):
    axis.imshow(np.clip(features[k] if features[k].sum() >= 0 else -features[k], 0, 1))
    axis.set_title(f"{i}: {row['object']}{', ' if row['sign'] else ''}{row['sign']}", fontsize="small")
experiment.picture(figure, "madbayes_figure2", "Four pictures with the features they have, and the features")
experiment.finish()
