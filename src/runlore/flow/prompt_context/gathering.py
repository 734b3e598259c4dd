"""What an input is given: the learnings it finds and the session's latest runs, packed into its room.

It changes nothing, so a preview and a run that is opened get the same. Whoever opens a run then writes, in
its transaction: `Given.receipt(run_id, at)` with `runs.put_receipt`, `Given.counters` with `counters.add`,
and prunes the pointers of `Given.stale` (RUN-6). In two steps, for run memories
are read with no snapshot open:

    asked = Input(session=session, scopes=scopes, text=text, model=model, prompt_tokens=prompt_tokens)
    found = parts.follower.answer(lambda reading: gather(reading, asked, families=parts.families, now=now))
    answer = given(found, parts.run_memories)
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from hashlib import sha256

from runlore.domain.lazy import dataclass
from runlore.domain.policies.learning_policy import ProjectionPolicy
from runlore.domain.policies.policy import RunMemoryPolicy
from runlore.domain.prompts import rendering, token_budget
from runlore.domain.prompts.injected import RENDERER
from runlore.domain.prompts.projection import (
    Budget,
    LearnedEntry,
    ModelFamily,
    Omission,
    Omitted,
    Projection,
    Receipt,
    ReceiptEntry,
    ReceiptSection,
    Section,
    SectionEntry,
    SectionName,
)
from runlore.domain.prompts.token_budget import (
    FACTOR_NEUTRAL,
    estimate,
    estimated_counter,
    factor_percent,
    family_of,
    reported_counter,
)
from runlore.domain.run import RunId
from runlore.domain.scope import Scope
from runlore.domain.session import Session
from runlore.domain.worth.holdback import is_held_back
from runlore.flow.policies import current_projection, current_run_memory
from runlore.flow.prompt_context.learnings import Learned, select_learnings
from runlore.flow.prompt_context.recovered_runs import (
    RecoveredRuns,
    TrackedRuns,
    list_tracked_runs,
    load_recovered_runs,
)
from runlore.flow.prompt_context.search import SearchSnapshot
from runlore.flow.prompt_context.views import views_of
from runlore.ports.run_memories import RunMemories
from runlore.ports.store import Counters

INJECTED = "run_memory.injected_total"
SKIPPED = "run_memory.skipped_unreadable_total"
RUNS_OMITTED = "run_memory.prompt_limit_omitted_total"
LEARNINGS_OMITTED = "session_memory.prompt_limit_omitted_total"


@dataclass(frozen=True, kw_only=True)
class Input:
    """The input. `scopes` are those that the session sees and the caller reaches, in order of priority.

    `prompt_tokens` is what the caller's prompt costs without the input and without our sections. `run_id`
    is the run that will keep a receipt; without one nothing is held back. Without `recovers` no earlier run
    of the session is told: whoever asks has their conversation.
    """

    session: Session
    scopes: tuple[Scope, ...]
    text: str
    model: str | None = None
    prompt_tokens: int | None = None
    run_id: RunId | None = None
    recovers: bool = True


@dataclass(frozen=True, kw_only=True)
class HoldBack:
    """What a run goes without on purpose; without a run nothing is held back."""

    run_id: RunId | None
    limits: ProjectionPolicy

    @property
    def percent(self) -> int:
        return 0 if self.run_id is None else self.limits.holdback_percent

    @property
    def exempt(self) -> tuple[str, ...]:
        """What is given whatever the lot; nobody is, where there is no lot."""
        return self.limits.never_held_back if self.percent else ()

    def has(self, source_id: str) -> bool:
        run_id, exempt = self.run_id, self.exempt
        return run_id is not None and is_held_back(source_id, run_id, self.percent, exempt=exempt)


@dataclass(frozen=True, kw_only=True)
class PromptContext:
    """What an input is given, and what has to be written where that has an effect.

    Of many learnings that were too many, some are named in the omissions; the others are counted. `skills`
    are the ids of those that it is offered.
    """

    projection: Projection
    unreadable: tuple[RunId, ...] = ()
    expired: tuple[RunId, ...] = ()
    unnamed_omissions: int = 0
    holdback: HoldBack
    skills: tuple[str, ...] = ()

    @property
    def stale(self) -> tuple[RunId, ...]:
        """The runs whose pointers lead to nothing any more: missing, unreadable or too old."""
        return (*self.unreadable, *self.expired)

    @property
    def counters(self) -> dict[str, int]:
        left_out = [omission.section for omission in self.projection.omissions if omission.reason in _LIMITS]
        injected = [
            len(section.entries)
            for section in self.projection.sections
            if section.name is SectionName.RECOVERED_MEMORY
        ]
        amounts = {
            INJECTED: sum(injected),
            SKIPPED: len(self.unreadable),
            RUNS_OMITTED: left_out.count(SectionName.RECOVERED_MEMORY),
            LEARNINGS_OMITTED: left_out.count(SectionName.LEARNED_CONTEXT) + self.unnamed_omissions,
        }
        return {name: amount for name, amount in amounts.items() if amount}

    def offer(self, skills: Sequence[str]) -> "PromptContext":
        held = [each for each in skills if self.holdback.has(each)]
        without = (
            Omission(section=SectionName.SKILLS, source_id=each, reason=Omitted.HELD_BACK) for each in held
        )
        projection = replace(self.projection, omissions=(*self.projection.omissions, *without))
        return replace(self, projection=projection, skills=tuple(each for each in skills if each not in held))

    def receipt(self, run_id: RunId, at: datetime) -> Receipt:
        """What is kept with the run. A learning's text is read again at its revision, a run's is kept."""
        learned = (
            e for s in self.projection.sections if s.name is SectionName.LEARNED_CONTEXT for e in s.entries
        )
        given = {*(entry.source_id for entry in learned), *self.skills}
        return Receipt(
            run_id=run_id,
            at=at,
            renderer=RENDERER,
            sections=tuple(_receipt_section(section) for section in self.projection.sections),
            omissions=self.projection.omissions,
            budget=self.projection.budget,
            holdback_percent=self.holdback.percent,
            never_held_back=tuple(sorted(given.intersection(self.holdback.exempt))),
            skills=self.skills,
        )


_LIMITS = frozenset({Omitted.OVER_ENTRIES, Omitted.OVER_BUDGET, Omitted.OVER_STANDING})


@dataclass(frozen=True, kw_only=True)
class PromptMaterial:
    """What a snapshot says about an input, before run memories are read and anything is packed."""

    learned: Learned
    tracked: TrackedRuns
    budget: Budget
    policy: RunMemoryPolicy
    holdback: HoldBack


def gather(
    reading: SearchSnapshot,
    asked: Input,
    *,
    families: Sequence[ModelFamily],
    now: datetime,
) -> PromptMaterial:
    snapshot = reading.snapshot
    policy, limits = current_run_memory(snapshot), current_projection(snapshot)
    session_id = asked.session.session_id
    return PromptMaterial(
        learned=select_learnings(
            reading,
            asked.text,
            scopes=asked.scopes,
            now=now,
            entries_max=limits.max_entries,
            views=views_of(reading, asked.scopes, now),
        ),
        tracked=list_tracked_runs(snapshot, session_id, policy=policy, now=now)
        if asked.recovers
        else TrackedRuns(session_id=session_id, entries_max=0),
        budget=_open_budget(snapshot.counters, asked, families),
        policy=policy,
        holdback=HoldBack(run_id=asked.run_id, limits=limits),
    )


def assemble_prompt(found: PromptMaterial, run_memories: RunMemories) -> PromptContext:
    runs = load_recovered_runs(found.tracked, run_memories)
    learnings, budget = _pack_learnings(found)
    recovered, budget = _pack_runs(runs, budget, found.policy)
    projection = Projection(
        sections=tuple(part.section for part in (learnings, recovered) if part.section is not None),
        omissions=(*learnings.omissions, *recovered.omissions, *_unreadable(runs.unreadable)),
        budget=budget,
    )
    unnamed = found.learned.omitted - len(found.learned.left_out)
    return PromptContext(
        projection=projection,
        unreadable=runs.unreadable,
        expired=runs.expired,
        unnamed_omissions=unnamed,
        holdback=found.holdback,
    )


def family_factor(counters: Counters, family: ModelFamily | None) -> int:
    """What a family's estimates are multiplied by, learned from what its models reported."""
    if family is None:
        return FACTOR_NEUTRAL
    names = reported_counter(family.name), estimated_counter(family.name)
    values = counters.values("tokens.")
    return factor_percent(values.get(names[0], 0), values.get(names[1], 0))


def _open_budget(counters: Counters, asked: Input, families: Sequence[ModelFamily]) -> Budget:
    family = family_of(asked.model, families)
    factor = family_factor(counters, family)
    return token_budget.open_budget(
        family,
        prompt_tokens=asked.prompt_tokens or 0,
        input_tokens=estimate(asked.text, factor),
        factor_percent=factor,
    )


@dataclass(frozen=True, kw_only=True)
class _Part:
    section: Section | None
    omissions: tuple[Omission, ...]


def _pack_learnings(material: PromptMaterial) -> tuple[_Part, Budget]:
    """Standing rules first, in their part of the room; then what the input finds, the best first. What is
    held back leaves its place empty: otherwise runs with and without it would differ in more than that."""
    learned, budget, limits = material.learned, material.budget, material.holdback.limits
    name, most = SectionName.LEARNED_CONTEXT, limits.max_entries
    rules = [_learned_entry(each, budget) for each in learned.standing]
    found = [_learned_entry(each, budget) for each in learned.entries]
    frame, room = _frame_cost(name, budget), token_budget.room_for(budget, limits.budget_tokens)
    named = {rule.source_id for rule in rules}
    others = sum(entry.source_id not in named for entry in found)
    first = token_budget.pack_standing(
        [rule.tokens for rule in rules], frame, room, entries_max=most, others=others
    )
    taken = [rules[place] for place in first.taken]
    given = {rule.source_id for rule in taken}
    rest = [entry for entry in found if entry.source_id not in given]
    rest, beyond = rest[: most - len(taken)], rest[most - len(taken) :]
    second = token_budget.pack_what_fits([entry.tokens for entry in rest], first.used or frame, room)
    packed = [rest[place] for place in second.taken]
    held = [entry for entry in packed if not entry.standing and material.holdback.has(entry.source_id)]
    entries = [*taken, *(entry for entry in packed if entry not in held)]
    given = {entry.source_id for entry in entries}
    left_out = {entry.source_id: (Omitted.OVER_BUDGET, entry.tokens) for entry in rest}
    left_out |= {entry.source_id: (Omitted.HELD_BACK, entry.tokens) for entry in held}
    left_out |= dict.fromkeys((*(each.source_id for each in beyond), *learned.left_out), _TOO_MANY)
    left_out |= {rule.source_id: (Omitted.OVER_STANDING, rule.tokens) for rule in rules}
    omissions = [
        Omission(section=name, source_id=source_id, reason=reason, tokens=tokens)
        for source_id, (reason, tokens) in left_out.items()
        if source_id not in given
    ]
    used = (second.used or first.used) - sum(entry.tokens for entry in held) if entries else 0
    spent = token_budget.spend(
        budget,
        name,
        policy_tokens=limits.budget_tokens,
        used=used,
        standing=sum(rule.tokens for rule in taken),
    )
    return _make_part(name, entries, used, omissions), spent


_TOO_MANY = (Omitted.OVER_ENTRIES, 0)


def _learned_entry(entry: LearnedEntry, budget: Budget) -> SectionEntry:
    text = rendering.render_learning(entry)
    return SectionEntry(
        source_id=entry.record_id,
        revision=entry.revision,
        score=entry.score,
        tokens=_cost(text, budget),
        text=text,
        standing=entry.standing,
    )


def _pack_runs(runs: RecoveredRuns, budget: Budget, policy: RunMemoryPolicy) -> tuple[_Part, Budget]:
    name = SectionName.RECOVERED_MEMORY
    outside = runs.outside
    texts = [(one.run_id, rendering.render_run(one, outside.get(one.run_id, ()))) for one in runs.entries]
    told = [SectionEntry(source_id=run_id, tokens=_cost(text, budget), text=text) for run_id, text in texts]
    room = token_budget.room_for(budget, policy.budget_tokens)
    packed = token_budget.pack_newest([entry.tokens for entry in told], _frame_cost(name, budget), room)
    omissions = [
        Omission(section=name, source_id=entry.source_id, reason=Omitted.OVER_BUDGET, tokens=entry.tokens)
        for place, entry in enumerate(told)
        if place not in packed.taken
    ]
    omissions += [
        Omission(section=name, source_id=run_id, reason=Omitted.OVER_ENTRIES) for run_id in runs.left_out
    ]
    spent = token_budget.spend(budget, name, policy_tokens=policy.budget_tokens, used=packed.used)
    return _make_part(name, [told[place] for place in packed.taken], packed.used, omissions), spent


def _cost(text: str, budget: Budget) -> int:
    """What an entry costs, with the line end behind it."""
    return estimate(f"{text}\n", budget.factor_percent)


def _frame_cost(name: SectionName, budget: Budget) -> int:
    return estimate(rendering.frame(name), budget.factor_percent)


def _make_part(
    name: SectionName, entries: Sequence[SectionEntry], used: int, omissions: Sequence[Omission]
) -> _Part:
    section = Section(
        name=name,
        text=rendering.section(name, [entry.text for entry in entries]),
        tokens=used,
        entries=tuple(entries),
        truncated=bool(omissions),
    )
    return _Part(section=section if entries else None, omissions=tuple(omissions))


def _unreadable(run_ids: Sequence[RunId]) -> tuple[Omission, ...]:
    name = SectionName.RECOVERED_MEMORY
    return tuple(Omission(section=name, source_id=run_id, reason=Omitted.UNREADABLE) for run_id in run_ids)


def digest_of(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _receipt_section(section: Section) -> ReceiptSection:
    keeps_text = section.name is SectionName.RECOVERED_MEMORY
    return ReceiptSection(
        name=section.name,
        tokens=section.tokens,
        truncated=section.truncated,
        digest=digest_of(section.text),
        entries=tuple(
            ReceiptEntry(
                source_id=entry.source_id,
                revision=entry.revision,
                score=entry.score,
                tokens=entry.tokens,
                text=entry.text if keeps_text else None,
                standing=entry.standing,
            )
            for entry in section.entries
        ),
    )
