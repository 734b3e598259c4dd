"""The context of a task: the best profile, procedural and semantic records for a goal.

Only what a prompt may see, procedures included. Retrieval grants no permission.
"""

from datetime import datetime

from runlore.domain.prompts.selection import shadowed_by
from runlore.domain.record import Layer, State
from runlore.domain.records.visibility import hidden_from_planning
from runlore.domain.scope import Scope
from runlore.domain.search.ranking import RankFilter
from runlore.flow.prompt_context.overruling import find_overruled
from runlore.flow.prompt_context.search import FoundRecord, SearchSnapshot

# So many hits are looked at for those that may be seen, and then once as many more.
_RANKED_FIRST, _RANKED_MAX = 32, 512


def best_for_goal(
    reading: SearchSnapshot,
    goal: str,
    layer: Layer,
    *,
    scopes: frozenset[Scope] | None,
    limit: int,
    now: datetime,
    in_session: bool = False,
) -> tuple[FoundRecord, ...]:
    """The best records of a layer for a goal; `in_session` the scopes are those that one session sees."""
    where = RankFilter(
        layers=frozenset({layer}),
        states=frozenset({State.ACTIVE}),
        scopes=scopes,
        include_sensitive=False,
        now=now,
    )
    asked = _RANKED_FIRST
    while True:
        found = reading.search(goal, where=where, limit=asked)
        shadowed = shadowed_by((each.record for each in found), now)
        seen_together = tuple(scopes or ()) if in_session else ()
        lost = find_overruled(reading, (each.record for each in found), seen_together, now)
        seen = [
            each
            for each in found
            if hidden_from_planning(each.record, now, shadowed=shadowed, overruled=lost) is None
        ]
        if len(seen) >= limit or len(found) < asked or asked >= _RANKED_MAX:
            return tuple(seen[:limit])
        asked *= 4
