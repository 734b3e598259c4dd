"""The in-process ranking index behind `ports/index`: derived, exact, rebuilt when in doubt.

Everything that needs numpy lives here and nowhere else; what a score is stands in `domain/ranking`.
"""

from runlore.recall.index import RankingIndex, Sizes, load_index

__all__ = ["RankingIndex", "Sizes", "load_index"]
