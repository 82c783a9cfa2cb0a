"""Streaming: batches arrive one after another, and new clusters appear on the way."""

import numpy as np

from madbayes import DPMeans

places = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0], [10.0, 10.0]])
generator = np.random.default_rng(1)


def batch(n_places: int) -> np.ndarray:
    """200 rows around the first few places."""
    return places[generator.integers(n_places, size=200)] + generator.normal(size=(200, 2))


# No batch is kept: earlier rows live on as a few hundred weighted points. The penalty is the price against the whole stream:
# what a needless split of 400 rows saves, about 250 here, must not pay, and what a new place saves, thousands, must.
stream = DPMeans(penalty=1000)
counts = []
for n_places in (2, 2, 3, 3, 4, 4):
    stream.partial_fit(batch(n_places))
    counts.append(stream.n_clusters_)
    print(f"batch {len(counts)} from {n_places} places: {stream.n_clusters_} clusters")

# Every place has a centre near it.
distances = stream.transform(places).min(axis=1)
print(f"distance of each place to its centre: {distances.round(2)}")

assert counts == [2, 2, 3, 3, 4, 4]
assert distances.max() < 0.5
