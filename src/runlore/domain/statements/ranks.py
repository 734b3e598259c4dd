"""How a candidate in the user's own words stands in the review list, and why: what was noted of it."""

from collections.abc import Iterator, Mapping
from enum import StrEnum

from runlore.domain.record import OWN_WORDS, Origin, Record
from runlore.domain.statements.weights import WEIGHTS

_REASONS_SHOWN = 2


class Rank(StrEnum):
    """How a candidate in the user's own words stands in the review list: shown, or folded under the rest."""

    FIRST = "first"
    FOLDED = "folded"


def rank_of(record: Record) -> Rank | None:
    """The rank of a candidate; None where it is not in the user's own words."""
    noted = record.metadata.get(OWN_WORDS) if record.origin is Origin.DAEMON else None
    if not isinstance(noted, Mapping):
        return None
    return Rank.FIRST if noted.get("first") is True else Rank.FOLDED


def sessions_of(record: Record) -> int:
    """In how many sessions a candidate in the user's own words was said."""
    noted = record.metadata.get(OWN_WORDS)
    sessions = noted.get("sessions") if isinstance(noted, Mapping) else None
    return sessions if isinstance(sessions, int) else 1


def confidence_reasons(record: Record, *, with_points: bool = True) -> Iterator[str]:
    """The parts that the confidence of a candidate in the user's own words is made of, in words; of one that
    a model found, which model, and where. `with_points` says how much each counts; without them only what
    speaks for it most is told."""
    noted = record.metadata.get(OWN_WORDS) if rank_of(record) is not None else None
    if isinstance(noted, Mapping) and noted.get("read_by"):
        yield f"was found by {noted['read_by']} where the user says: {noted.get('quote')}"
    parts = noted.get("parts") if isinstance(noted, Mapping) else None
    counted = [
        (points, WEIGHTS[name][1])
        for name, points in (parts.items() if isinstance(parts, Mapping) else ())
        if name in WEIGHTS and isinstance(points, int)
    ]
    if not with_points:
        counted = sorted((each for each in counted if each[0] > 0), reverse=True)[:_REASONS_SHOWN]
    for points, reason in counted:
        yield f"{reason} ({points:+})" if with_points else reason
