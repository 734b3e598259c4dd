"""Drafts that belong together: those with the same body, and those that are about the same and fit into one.

A draft joins others where it is about the same as one of them, and has something in common with all: a chain
of drafts of which each is like the next one ends where its ends have nothing to do with each other.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from hashlib import blake2b
from itertools import islice

from runlore.domain.lazy import dataclass
from runlore.domain.skill import Skill, SkillId
from runlore.domain.skill_curating.merging import MergedSize
from runlore.domain.skill_curating.relations import Doing, doings_of, is_alike, is_near, runs_needed

DoingsIn = Callable[[str], tuple[Doing, ...]]
# With how many groups a draft is tried, of those that it is about the same as.
JOINS_TRIED_MAX = 32
# How many of the groups that share one of its runs are looked at for these.
GROUPS_LOOKED_AT_MAX = 256


@dataclass(frozen=True, kw_only=True)
class Family:
    """Drafts that belong together, the oldest first. `twins` are those whose body another one has."""

    members: tuple[Skill, ...]
    twins: Mapping[SkillId, Skill] = field(default_factory=dict)


def families_of(
    drafts: Sequence[Skill], doings_in: DoingsIn = doings_of, apart: Iterable[Collection[SkillId]] = ()
) -> tuple[Family, ...]:
    """Every draft in its family, which may be itself alone. They are given, and answered, oldest first. No
    two that stand in one collection of `apart` are in one family."""
    order = {skill.skill_id: place for place, skill in enumerate(drafts)}
    kept_apart: dict[SkillId, set[int]] = defaultdict(set)
    for number, each in enumerate(apart):
        for skill_id in each:
            kept_apart[skill_id].add(number)
    # By the oldest of each, as what joins what depends on it.
    twins = sorted(_twins(drafts, kept_apart), key=lambda each: order[each[0].skill_id])
    found = []
    for group in _groups(twins, doings_in, kept_apart):
        members = sorted((skill for alike in group for skill in alike), key=lambda each: order[each.skill_id])
        found.append(
            Family(
                members=tuple(members),
                twins={skill.skill_id: first for first, *others in group for skill in others},
            )
        )
    return tuple(sorted(found, key=lambda family: order[family.members[0].skill_id]))


# For each draft the numbers of the collections that it stands in: two with one in common are kept apart.
_Apart = Mapping[SkillId, set[int]]
_Key = tuple[bool, str]


def _twins(drafts: Iterable[Skill], apart: _Apart) -> list[list[Skill]]:
    """The drafts, those together that have the same body and are not kept apart."""
    found: dict[tuple[bool, bytes], list[list[Skill]]] = defaultdict(list)
    for skill in drafts:
        body = blake2b(skill.document.body.encode(), digest_size=16).digest()
        alike = found[skill.provenance.tainted, body]
        own = apart.get(skill.skill_id, set())
        for twins in alike:
            if not own or own.isdisjoint(_numbers(twins, apart)):
                twins.append(skill)
                break
        else:
            alike.append([skill])
    return [twins for alike in found.values() for twins in alike]


def _numbers(skills: Iterable[Skill], apart: _Apart) -> set[int]:
    return {number for skill in skills for number in apart.get(skill.skill_id, ())}


@dataclass(kw_only=True)
class _Group:
    """Drafts that are to be merged, by their places, with what their size is told by."""

    places: list[int]
    doings: dict[Doing, None]
    size: MergedSize
    apart: set[int]
    keys: dict[_Key, None]

    def is_about(self, other: "_Group") -> bool:
        """Whether something of both is about the same."""
        return any(is_alike(doing, another) for doing in other.doings for another in self.doings)

    def takes(self, other: "_Group") -> bool:
        """Whether another group has something in common with all of this one, and there is room for it."""
        if not self.apart.isdisjoint(other.apart) or not self.size.has_room_for(other.size):
            return False
        return all(is_near(doing, another) for doing in self.doings for another in other.doings)

    def take(self, other: "_Group") -> None:
        """Take another group in."""
        self.places = sorted((*self.places, *other.places))
        self.doings.update(other.doings)
        self.size = self.size.joined(other.size)
        self.apart |= other.apart
        self.keys.update(other.keys)


def _groups(
    twins: Sequence[Sequence[Skill]], doings_in: DoingsIn, apart: _Apart
) -> Iterator[list[Sequence[Skill]]]:
    """The drafts of different bodies, those together that are to be merged."""
    told = [doings_in(skills[0].document.body) for skills in twins]
    rarest = _rarest(doing for doings in told for doing in doings)
    groups: dict[int, _Group] = {}
    roomy: dict[_Key, dict[int, None]] = defaultdict(dict)
    for place, (skills, doings) in enumerate(zip(twins, told, strict=True)):
        is_tainted = skills[0].provenance.tainted
        own = _Group(
            places=[place],
            doings=dict.fromkeys(doings),
            size=MergedSize.of(skills[0].document),
            apart=_numbers(skills, apart),
            keys={(is_tainted, run): None for doing in doings for run in rarest[doing]},
        )
        for other in _candidates(own, [roomy[key] for key in own.keys], groups):
            if (found := groups[other]).takes(own):
                _forget(roomy, other, found)
                del groups[other]
                found.take(own)
                own = found
        first = own.places[0]
        groups[first] = own
        # A full one would only stand in the way of those that have room.
        if not own.size.is_full:
            for key in own.keys:
                roomy[key][first] = None
    yield from ([twins[place] for place in groups[first].places] for first in sorted(groups))


def _candidates(own: _Group, roomy: Iterable[dict[int, None]], groups: Mapping[int, _Group]) -> list[int]:
    """The groups that a draft is tried with, the newest first: older ones are more often nearly full."""
    looked_at = {first for each in roomy for first in islice(reversed(each), GROUPS_LOOKED_AT_MAX)}
    alike = (first for first in sorted(looked_at, reverse=True) if groups[first].is_about(own))
    return list(islice(alike, JOINS_TRIED_MAX)) if not own.size.is_full else []


def _forget(roomy: Mapping[_Key, dict[int, None]], first: int, group: _Group) -> None:
    for key in group.keys:
        roomy[key].pop(first, None)


def _rarest(doings: Iterable[Doing]) -> dict[Doing, list[str]]:
    """Of all that each runs, the rarest: two that share none of these cannot share half."""
    told = dict.fromkeys(doings)
    often = Counter(run for doing in told for run in doing.runs)
    found = {}
    for doing in told:
        runs = sorted(doing.runs, key=lambda run: (often[run], run))
        found[doing] = runs[: len(runs) - runs_needed(doing) + 1]
    return found
