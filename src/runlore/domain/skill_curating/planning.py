"""What curation would do with the drafts, as a pure function (SKL-9).

In this order: what was skipped to the threshold goes; of drafts with the same body the oldest stays; drafts
that are about the same are merged into the oldest; what is stale goes, where the policy says so. Only
drafts are ever touched, and a tainted one never meets one that is not. Planning again on what comes of it
plans nothing.

A draft joins others where it is about the same as one of them, and has something in common with all: a
chain of drafts of which each is like the next one ends where its ends have nothing to do with each other.

Two are about the same where they share two topic keywords, two of the things that they run, and half of all
that they run: keywords in common say little, as two skills for `docker build` may do quite different things
with it. What every project does with every change does not count, and a command that says what it does by
its values (`psql`, `docker run`, `curl`) is the same only with the same values. What puts a failure right
is never related to a procedure. Words that a model has chosen decide nothing.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime, timedelta
from functools import cache
from hashlib import blake2b
from itertools import islice

from runlore.domain.detectors.mined import CommandKind, StepCommand
from runlore.domain.lazy import dataclass
from runlore.domain.policies.skills_policy import SkillCurationPolicy
from runlore.domain.records.audit import Act
from runlore.domain.skill import Skill, SkillId, SkillMove
from runlore.domain.skill_curating.merging import BodyPart, MergedSize, is_suspicious, merge_skills, parts_of
from runlore.domain.skills.skill_curation import (
    NOTHING_PUT_BACK,
    CurationAction,
    CurationKind,
    CurationPlan,
    PutBack,
)
from runlore.domain.skills.skill_keywords import commands_in, words_of
from runlore.domain.skills.skips import Skip, is_suppressed
from runlore.domain.suggesting.fragments import sections_of
from runlore.domain.suggesting.known_commands import STEPS
from runlore.domain.suggesting.purposes import is_everyday, is_passing

KEYWORDS_MIN = 2
SHARED_RUNS_MIN = 2
# Lists and code; what else stands among the steps only speaks of them.
_STEP = re.compile(r"^\s*(?:[-*+]|\d{1,3}[.)])\s|^\s*(?:`{3,}|~{3,})")
_BEFORE_AFTER = re.compile(r"^\|\s*Before\s*\|\s*After\s*\|\s*$")
# What is done with them is told by what they are given.
_BY_VALUES = frozenset(
    (
        *("", "run", "query", "connect", "request", "copy", "move", "remove", "convert"),
        *("install", "update", "create", "change", "download", "debug"),
    )
)


@dataclass(frozen=True, kw_only=True)
class Doing:
    """What the steps of one part run: `runs` is each command without flags and passing values, `words` their
    topic keywords. Where it is one command, `text` is that as it is written."""

    runs: frozenset[str]
    words: frozenset[str]
    text: str = ""
    is_fix: bool = False


def doings_of(body: str) -> tuple[Doing, ...]:
    """What each part of a body does; parts that do nothing that could be compared are left out."""
    found = dict.fromkeys(map(_doing, parts_of(body)))
    return tuple(doing for doing in found if doing.runs)


def is_alike(one: Doing, other: Doing) -> bool:
    """Whether two parts are about the same: two keywords, two runs, and half of all that they run. One
    command alone has to be the same to the letter."""
    if one.is_fix != other.is_fix or len(shared_words(one, other)) < KEYWORDS_MIN:
        return False
    shared = len(one.runs & other.runs)
    if shared < SHARED_RUNS_MIN:
        return bool(one.text) and one.text == other.text
    return 2 * shared >= len(one.runs | other.runs)


def runs_needed(doing: Doing) -> int:
    """How many of its runs anything has to share to be about the same."""
    return max(min(SHARED_RUNS_MIN, len(doing.runs)), (len(doing.runs) + 1) // 2)


def is_near(one: Doing, other: Doing) -> bool:
    """Whether two parts may stand in one skill when others join them: they have something in common."""
    return one.is_fix == other.is_fix and not one.runs.isdisjoint(other.runs)


def shared_words(one: Doing, other: Doing) -> frozenset[str]:
    """The topic keywords that two parts share."""
    return one.words & other.words


def keywords_shared(ones: Iterable[Doing], others: Sequence[Doing]) -> tuple[str, ...]:
    """The topic keywords by which two bodies are about the same, in order; none where they are not."""
    found = {
        word for one in ones for other in others if is_alike(one, other) for word in shared_words(one, other)
    }
    return tuple(sorted(found))


def _doing(part: BodyPart) -> Doing:
    texts = [
        "\n".join(section.lines) for section in part.sections if section.title.casefold() == STEPS.casefold()
    ]
    is_fix = any(_BEFORE_AFTER.match(line) for text in texts for line in text.split("\n"))
    commands = [command for text in texts for command in commands_in(_code_of(text)) if _counts(command)]
    before = [command for text in texts for command in commands_in(_find_failed(text))]
    runs = frozenset([*map(_run, commands), *(f"not {_run(command)}" for command in before)])
    return Doing(
        runs=runs,
        words=frozenset(word for command in (*commands, *before) for word in words_of(command)),
        text=" ; ".join(sorted({command.text for command in commands})) if len(runs) == 1 else "",
        is_fix=is_fix,
    )


def _code_of(text: str) -> list[str]:
    lines, is_block = list[str](), False
    for line in text.split("\n"):
        found = _STEP.match(line)
        is_fence = found is not None and found[0].strip()[:1] in "`~"
        if is_block or found is not None:
            lines.append(line)
        is_block = is_block != is_fence
    return [code for section in sections_of("\n".join(lines)) for code in section.ordered]


def _find_failed(text: str) -> list[str]:
    """What failed before, where the steps put a failure right: the first cell of the table."""
    return [cell for section in sections_of(text) for cell in section.cells[:1]]


def _counts(command: StepCommand) -> bool:
    return command.kind is CommandKind.WORK and not is_passing(command) and not is_everyday(command)


def _run(command: StepCommand) -> str:
    words = [word for word in command.form.split() if not word.startswith("-")]
    if command.verb in _BY_VALUES:
        words += command.values
    return " ".join((command.verb, *words))


DoingsIn = Callable[[str], tuple[Doing, ...]]
# With how many groups a draft is tried, of those that it is about the same as.
JOINS_TRIED_MAX = 32
# How many of the groups that share one of its runs are looked at for these.
GROUPS_LOOKED_AT_MAX = 256
_NAMED_WORDS_MAX = 6


@dataclass(frozen=True, kw_only=True)
class SkillFamily:
    """Drafts that belong together, the oldest first. `twins` are those whose body another one has."""

    members: tuple[Skill, ...]
    twins: Mapping[SkillId, Skill] = field(default_factory=dict)


def families_of(
    drafts: Sequence[Skill], doings_in: DoingsIn = doings_of, apart: Iterable[Collection[SkillId]] = ()
) -> tuple[SkillFamily, ...]:
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
            SkillFamily(
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
        self.places = sorted((*self.places, *other.places))
        self.doings.update(other.doings)
        self.size = self.size.join(other.size)
        self.apart |= other.apart
        self.keys.update(other.keys)


def _groups(
    twins: Sequence[Sequence[Skill]], doings_in: DoingsIn, apart: _Apart
) -> Iterator[list[Sequence[Skill]]]:
    """The drafts of different bodies, those together that are to be merged."""
    doings_of_each = [doings_in(skills[0].document.body) for skills in twins]
    rarest = _rarest(doing for doings in doings_of_each for doing in doings)
    groups: dict[int, _Group] = {}
    roomy: dict[_Key, dict[int, None]] = defaultdict(dict)
    for place, (skills, doings) in enumerate(zip(twins, doings_of_each, strict=True)):
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
    different = dict.fromkeys(doings)
    often = Counter(run for doing in different for run in doing.runs)
    found = {}
    for doing in different:
        runs = sorted(doing.runs, key=lambda run: (often[run], run))
        found[doing] = runs[: len(runs) - runs_needed(doing) + 1]
    return found


def plan_curation(
    skills: Iterable[Skill],
    *,
    skips: Mapping[str, Skip],
    policy: SkillCurationPolicy,
    act: Act,
    put_back: PutBack = NOTHING_PUT_BACK,
) -> CurationPlan:
    """What would be done with skills. `skips` are those of the patterns that skills were learned from, and
    what was put back is left as it is.

    Whether it is done by itself is the caller's to ask of `auto_curate`.
    """
    drafts = {skill.skill_id: skill for skill in sorted(filter(is_curated, skills), key=age)}
    planning = _Planning(
        skips=skips,
        policy=policy,
        act=act,
        put_back=put_back,
        now=dict(drafts),
        doings_in=cache(doings_of),
    )
    # What was merged may be about the same as another one by now, or what did not fit may fit.
    while planning.step():
        pass
    touched = [skill_id for skill_id, skill in drafts.items() if planning.now[skill_id] != skill]
    return CurationPlan(
        actions=tuple(planning.actions),
        before=tuple(drafts[skill_id] for skill_id in touched),
        after=tuple(
            replace(planning.now[skill_id], revision=drafts[skill_id].revision + 1) for skill_id in touched
        ),
    )


def is_curated(skill: Skill) -> bool:
    """Whether curation may touch a skill: a draft that nobody has written in."""
    return skill.is_draft and not skill.text


def age(skill: Skill) -> tuple[datetime, SkillId]:
    return skill.created_at, skill.skill_id


@dataclass(kw_only=True)
class _Planning:
    skips: Mapping[str, Skip]
    policy: SkillCurationPolicy
    act: Act
    put_back: PutBack
    now: dict[SkillId, Skill]
    doings_in: DoingsIn
    actions: list[CurationAction] = field(default_factory=list)
    unfit: set[tuple[SkillId, ...]] = field(default_factory=set)

    def step(self) -> bool:
        """Do once what there is to do; False where that is nothing."""
        done = len(self.actions)
        for skill in self._list_curated():
            if skip := self._find_skip(skill):
                times = "once" if skip.times == 1 else f"{skip.times} times"
                self._delete(
                    skill, CurationKind.SKIPPED, f"it was skipped {times}, last on {skip.at:%Y-%m-%d}"
                )
        for family in families_of(self._list_curated(), self.doings_in, self.put_back.apart):
            if self.policy.auto_prune and all(map(self._is_stale, family.members)):
                self._prune(family)
            elif len(family.members) > 1:
                self._unite(family)
        return len(self.actions) > done

    def _list_curated(self) -> list[Skill]:
        return [skill for skill in self.now.values() if is_curated(skill)]

    def _find_skip(self, skill: Skill) -> Skip | None:
        """The latest skip of a draft of which all that it was learned from is suppressed."""
        if skill.skill_id in self.put_back.there:
            return None
        found = [self.skips.get(each.pattern) for each in skill.learned_from]
        skips = [skip for skip in found if skip and is_suppressed(skip, self.policy, self.act.at)]
        return max(skips, key=lambda skip: skip.at) if skips and len(skips) == len(found) else None

    def _is_stale(self, skill: Skill) -> bool:
        """Whether it was neither used nor written anew for long, nor put back."""
        if skill.skill_id in self.put_back.there:
            return False
        since = max(skill.usage.last_used_at or skill.created_at, skill.updated_at)
        return self.act.at - since > timedelta(days=self.policy.staleness_days)

    def _prune(self, family: SkillFamily) -> None:
        for skill in family.members:
            self._delete(
                skill, CurationKind.PRUNE, f"it was not used for more than {self.policy.staleness_days} days"
            )

    def _delete(self, skill: Skill, kind: CurationKind, reason: str) -> None:
        self.actions.append(
            CurationAction(kind=kind, gone=skill.skill_id, gone_name=skill.name, reason=reason)
        )
        self.now[skill.skill_id] = self._move(skill, SkillMove.DELETE)

    def _unite(self, family: SkillFamily) -> None:
        kept, *gone = family.members
        ids = tuple(skill.skill_id for skill in family.members)
        merged = merge_skills(family.members)
        if ids in self.unfit or is_suspicious(merged):
            self.unfit.add(ids)
            return
        for skill in gone:
            kind = CurationKind.DROP if skill.skill_id in family.twins else CurationKind.MERGE
            self.actions.append(
                CurationAction(
                    kind=kind,
                    gone=skill.skill_id,
                    gone_name=skill.name,
                    kept=kept.skill_id,
                    kept_name=kept.name,
                    reason=self._reason(skill, family),
                )
            )
            moved = self._move(skill, SkillMove.MERGE)
            self.now[skill.skill_id] = replace(moved, merged_into=kept.skill_id)
        self.now[kept.skill_id] = self._move(merged, SkillMove.REWRITE)

    def _reason(self, skill: Skill, family: SkillFamily) -> str:
        if skill.skill_id in family.twins:
            return f"its text is that of {family.twins[skill.skill_id].name}"
        mine = self.doings_in(skill.document.body)
        for other in family.members:
            words = keywords_shared(mine, self.doings_in(other.document.body))
            if words and other is not skill:
                named = ", ".join(words[:_NAMED_WORDS_MAX])
                return f"it shares {named} with {other.name}, and half of what they run"
        return "it is about the same"

    def _move(self, skill: Skill, move: SkillMove) -> Skill:
        return skill.apply_move(move, at=self.act.at, actor=self.act.actor)
