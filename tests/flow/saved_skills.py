"""Suggestions that pass the gate, skills made of them, and what a test asks of a Runlore about both."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from runlore.domain.records.audit import Act
from runlore.domain.skill import Skill, SkillEvent, SkillState, SuggestionId
from runlore.domain.skills.skill_curation import Curation
from runlore.domain.suggestion import Score, StoredSuggestion, Trigger
from runlore.domain.taint import Provenance
from runlore.flow.skills.curating import apply, look
from runlore.flow.skills.saving import Saving, save
from runlore.flow.skills.suggestion_lock import suggestions_turn
from runlore.ports.skill_files import ReadSkill
from runlore.ports.store import Transaction
from runlore.skill_files.front_matter import read_skill
from tests.domain.skill_curating.drafts import body_of
from tests.flow.telling import Call, call, suggested, suggestion
from tests.world import World

TAINTED = Provenance(untrusted=True, needs_review=True, sources=("https://example.com/setup",))
# What a run may do that is worth a skill, and reads nothing from outside.
DEPLOY = (
    call("docker build -t app ."),
    call("docker push app"),
    call("kubectl apply -f deploy.yaml"),
    call("kubectl rollout status deployment/app"),
)
# One session is enough for what a slip was put right by.
SLIPPED = (call("docker biuld -t app .", 1, "docker: 'biuld' is not a docker command"), DEPLOY[0])
PLAN = (
    call("terraform fmt"),
    call("terraform validate"),
    call("terraform plan -out plan"),
    call("terraform apply plan"),
)


def offered(world: World, name: str, commands: Sequence[Call] = DEPLOY, **fields: Any) -> StoredSuggestion:
    """A suggestion that waits and passes the gate, as if it had been found; `fields` are its own."""
    told = [each.command for each in commands]
    state = {key: fields.pop(key) for key in ("state", "skipped_at", "times_skipped") if key in fields}
    said = suggestion(
        name,
        **{
            "commands": tuple(told),
            "body": body_of(told, note=f"{name}."),
            "trigger": Trigger(topic=told[0].split()[0], actions=("deploy",)),
            "score": Score(points=70),
            **fields,
        },
    )
    return suggested(world, name, suggestion=said, **state)


@contextmanager
def acting(world: World, actor: str = "operator", reason: str = "") -> Iterator[tuple[Transaction, Saving]]:
    """A transaction that has the turn, and who acts in it."""
    with world.parts.store.transaction() as tx:
        suggestions_turn(tx)
        yield tx, Saving(ids=world.ids, act=Act(actor=actor, at=world.clock.now(), reason=reason))


def current(world: World, stored: StoredSuggestion | SuggestionId) -> StoredSuggestion:
    """A suggestion as it is now."""
    suggestion_id = stored.suggestion_id if isinstance(stored, StoredSuggestion) else stored
    with world.parts.store.snapshot() as snapshot:
        return snapshot.suggestions.get(suggestion_id)


def kept(world: World, stored: StoredSuggestion, **fields: Any) -> Skill:
    """Save a suggestion as it is now."""
    with acting(world) as (tx, saving):
        return save(tx, tx.suggestions.get(stored.suggestion_id), saving, **fields)


def saved(world: World, name: str, commands: Sequence[Call] = DEPLOY, **fields: Any) -> Skill:
    """A skill that was made of a suggestion, a moment after the one before."""
    world.clock.advance(seconds=1)
    return kept(world, offered(world, name, commands, **fields), accept_untrusted=True)


def curated(world: World, actor: str = "operator") -> Curation | None:
    """Curate by hand."""
    world.clock.advance(seconds=1)
    with acting(world, actor) as (tx, saving):
        return apply(tx, look(tx, saving.act), saving)


def library(world: World, *states: SkillState) -> dict[str, Skill]:
    """The skills by their names: the active ones unless states are named."""
    asked = frozenset(states or {SkillState.ACTIVE})
    with world.parts.store.snapshot() as snapshot:
        return {skill.name: skill for skill in snapshot.skills.page(limit=200, states=asked)}


def lines(world: World) -> list[SkillEvent]:
    """The log, the oldest first."""
    with world.parts.store.snapshot() as snapshot:
        return list(reversed(snapshot.skills.events(limit=500)))


def told(world: World) -> list[tuple[str, str]]:
    """What the log tells: what happened, and to what."""
    return [(line.kind.value, line.name) for line in lines(world)]


def as_file(text: str, folder: str = "") -> ReadSkill:
    """A SKILL.md as it is read."""
    return read_skill(text, folder=folder)


def without_times(skill: Skill) -> Skill:
    """A skill but for what every write changes."""
    return replace(skill, revision=0, updated_at=skill.created_at, state_actor="")
