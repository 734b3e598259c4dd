"""Hold-back: what would have been given to a run is left out of a share of runs, so that both can be
compared.

A public hash of record and run decides. Whoever has a receipt can compute it again, and nobody can choose it
after the run.
"""

from collections.abc import Collection
from hashlib import blake2b

from runlore.domain.run import RunId

# It is public: it only keeps these numbers apart from other hashes of the same names.
_KEY = b"runlore.holdback"
PERCENT_MAX = 50


def is_held_back(source_id: str, run_id: RunId, percent: int, *, exempt: Collection[str] = ()) -> bool:
    """Whether a run goes without a record or a skill that it would have been given."""
    if not percent or source_id in exempt:
        return False
    return draw(source_id, run_id) < percent * 100


def draw(source_id: str, run_id: RunId) -> int:
    """The number of a record and a run, below 10,000. Below a hundred times the percentage is held back."""
    hashed = blake2b(f"{source_id}\n{run_id}".encode(), key=_KEY, digest_size=8).digest()
    return int.from_bytes(hashed) % 10_000
