"""The in-process indexes behind `ports/index` and `ports/dense`: derived, exact, rebuilt when in doubt.

What needs numpy lives here, the local embedding model apart; what a score is stands in
`domain/search/ranking` and `domain/search/fusion`.
"""

from runlore.recall.dense import DenseVectors, load_stamped, load_vectors
from runlore.recall.index import RankingIndex, Sizes, load_index

__all__ = ["DenseVectors", "RankingIndex", "Sizes", "load_index", "load_stamped", "load_vectors"]
