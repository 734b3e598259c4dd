"""The ranking index: derived from the records, exact, and rebuilt by its owner whenever in doubt."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from runlore.domain.lazy import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runlore.domain.record import Record, RecordId
    from runlore.domain.search.ranking import Collection, RankFilter
    from runlore.domain.skill_matching import SkillMatch


class SkillSearch(Protocol):
    """Finds the skills that a request brings in. Never changes; many threads may ask it."""

    def match(self, query: str, *, limit: int) -> tuple[SkillMatch, ...]:
        """The best `limit` skills for a query, exactly as `domain.skill_matching.best_matches` has them."""

    def __len__(self) -> int:
        """How many skills it holds."""


@dataclass(frozen=True, kw_only=True)
class Overlay:
    """Another time's versions: the hidden ids are left out, and these records take part instead."""

    hidden: frozenset[RecordId] = frozenset()
    records: tuple[Record, ...] = ()


NO_OVERLAY = Overlay()


class Hit(NamedTuple):
    """A record that matches. `total` equals `Score.total` of `score_of` on that record, exactly, and what its
    `neighbours` in its session add."""

    record_id: RecordId
    total: int
    revision: int
    neighbours: int = 0


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """The best hits first, and the filtered set that their scores are relative to."""

    hits: tuple[Hit, ...]
    collection: Collection


class Searchable(Protocol):
    """Finds the best records for a query."""

    def search(
        self,
        query: str,
        *,
        where: RankFilter,
        limit: int,
        overlay: Overlay = NO_OVERLAY,
        relative_to: Collection | None = None,
    ) -> Ranking:
        """The best `limit` records of the filtered set: by `score_of`, then the newest, then by id. The best
        50 are then put in order with what those beside them in their sessions add (`neighbour_points`).

        With `relative_to`, scores are relative to that collection, as where two indexes share one scale.
        """

    def passing(self, where: RankFilter) -> frozenset[RecordId]:
        """Every record of the filtered set; the same object again while nothing has changed."""


class Index(Searchable, Protocol):
    """Finds the best records for a query. Many threads may search beside one that applies changes."""

    def freeze(self) -> Searchable:
        """The index as it is now, whatever is applied to it later."""

    def apply(self, records: Iterable[Record]) -> None:
        """Insert the records, each in place of the version held. An older revision than that is ignored."""

    def erase(self, record_ids: Iterable[RecordId]) -> None:
        """Remove every version of these records and every word that only they had, in memory and from what is
        saved afterwards. A file that was saved before still holds them until it is saved again."""

    def save(self, path: str, stamp: str) -> None:
        """Write a snapshot aside and put it in place at once, with the owner's stamp for what it covers."""

    def __len__(self) -> int: ...
