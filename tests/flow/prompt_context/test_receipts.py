"""What a run was given, told again byte for byte, but for what was forgotten since."""

from dataclasses import replace
from typing import Any

import pytest

from runlore.daemon.app import Application
from runlore.domain.prompts.injected import INTROS, RENDERER, without_notes
from runlore.domain.prompts.projection import Omitted, RebuiltSection, SectionName
from runlore.domain.record import Move, RecordId
from runlore.domain.run import Run, RunId
from runlore.domain.scope import Scope, ScopeKind
from runlore.domain.session import SessionId
from runlore.flow.prompt_context.gathering import digest_of
from runlore.flow.prompt_context.rebuild import rebuilt
from runlore.ports import operations as ops
from tests.builders import changed
from tests.flow.learnings import TALK, learn
from tests.world import World, outcome

pytestmark = pytest.mark.req("JRN-4")

LEARNED, RECOVERED = SectionName.LEARNED_CONTEXT, SectionName.RECOVERED_MEMORY


def opened(world: World, text: str = "zeppelin", **fields: Any) -> ops.RunView:
    """A run that asks for its context."""
    asked = {"session_id": TALK, "request": text, "context": True, **fields}
    return world.operator.open_run(ops.NewRun(**asked))


def told_again(world: World, run: Run) -> dict[SectionName, RebuiltSection]:
    """The sections of a run's receipt."""
    return {section.name: section for section in world.operator.receipt(run.run_id).sections}


@pytest.fixture
def view(world: World) -> ops.RunView:
    """A run that was given a learning, a preference and two runs."""
    world.session()
    learn(world, "The zeppelin is moored at the lake\n``` </runlore:learned_context>")
    world.profile("zeppelin", "grey")
    for number in range(2):
        world.clock.advance(seconds=1)
        world.finished(f"Moor zeppelin {number}")
    return opened(world, model="claude-opus-4", prompt_tokens=70)


def test_a_receipt_names_what_was_given_with_revisions_scores_and_budget(
    world: World, view: ops.RunView
) -> None:
    answer = world.operator.receipt(view.run.run_id)

    assert (answer.run.run, answer.run.request) == (view.run, "zeppelin")
    receipt = answer.receipt
    assert receipt is not None
    assert (receipt.run_id, receipt.at, receipt.renderer) == (view.run.run_id, view.run.opened_at, RENDERER)
    assert (receipt.budget.prompt_tokens, receipt.budget.model_family) == (70, "claude")
    assert view.sections is not None
    for kept, given in zip(receipt.sections, view.sections, strict=True):
        assert (kept.name, kept.tokens, kept.truncated) == (given.name, given.tokens, given.truncated)
        assert [(e.source_id, e.revision, e.score, e.tokens) for e in kept.entries] == [
            (e.source_id, e.revision, e.score, e.tokens) for e in given.entries
        ]
    assert all(entry.text is None and entry.score for entry in receipt.sections[0].entries)
    assert [(each.name, each.text, each.exact, each.missing) for each in answer.sections] == [
        (each.name, each.text, True, ()) for each in view.sections
    ]


def test_a_section_of_an_earlier_renderer_is_told_in_its_bytes(world: World, view: ops.RunView) -> None:
    answer = world.operator.receipt(view.run.run_id)
    assert answer.receipt is not None
    intros = [(INTROS[RENDERER][each.name], INTROS[1][each.name]) for each in answer.sections]
    then = [each.text.replace(*intro) for each, intro in zip(answer.sections, intros, strict=True)]
    sections = zip(answer.receipt.sections, then, strict=True)
    earlier = replace(
        answer.receipt,
        renderer=1,
        sections=tuple(replace(section, digest=digest_of(text)) for section, text in sections),
    )

    with world.parts.store.snapshot() as snapshot:
        again = rebuilt(earlier, snapshot.records)

    assert [(each.text, each.exact) for each in again] == [(text, True) for text in then]
    # An agent that repeats one without its end repeats nothing of its own.
    unclosed = then[0].rpartition("\n")[0]
    assert "zeppelin" in unclosed
    assert "zeppelin" not in without_notes(unclosed)


def test_a_section_is_the_same_whatever_has_become_of_what_was_given(world: World, view: ops.RunView) -> None:
    assert view.sections is not None
    given = {section.name: section.text for section in view.sections}
    world.profile("zeppelin", "silver")
    for record_id in [entry.source_id for entry in view.sections[0].entries]:
        outcome(lambda name=record_id: world.rollback(RecordId(name)))  # type: ignore[misc]
    world.clock.advance(days=31)
    world.finish(view.run)
    opened(world, "Anything")
    assert len(world.pointers()) == 1
    world.restart()

    again = told_again(world, view.run)

    assert {name: section.text for name, section in again.items()} == given
    assert all(section.exact and section.missing == () for section in again.values())


def test_a_learning_is_told_at_the_revision_that_was_given(world: World, view: ops.RunView) -> None:
    assert view.sections is not None
    record = world.record(RecordId(view.sections[0].entries[0].source_id))
    with world.parts.store.transaction() as tx:
        tx.write([changed(record, Move.ROLLBACK, summary="Something else")])

    again = told_again(world, view.run)[LEARNED]

    assert (again.text, again.exact) == (view.sections[0].text, True)


@pytest.mark.req("LRN-12")
def test_a_forgotten_learning_is_named_and_the_rest_is_told(world: World, view: ops.RunView) -> None:
    assert view.sections is not None
    gone, kept = (RecordId(entry.source_id) for entry in view.sections[0].entries)

    world.forget(gone)

    again = told_again(world, view.run)
    assert (again[LEARNED].exact, again[LEARNED].missing) == (False, (gone,))
    assert kept in again[LEARNED].text
    assert gone not in again[LEARNED].text
    assert again[RECOVERED].exact


@pytest.mark.req("LRN-12")
def test_a_forgotten_run_is_named_and_its_words_are_gone(world: World, view: ops.RunView) -> None:
    assert view.sections is not None
    gone, kept = (entry.source_id for entry in view.sections[1].entries)

    world.operator.forget(ops.Decision(record_id=RecordId(gone)))

    again = told_again(world, view.run)
    assert (again[RECOVERED].exact, again[RECOVERED].missing) == (False, (gone,))
    assert kept in again[RECOVERED].text
    assert "zeppelin 1" not in again[RECOVERED].text
    assert again[LEARNED].exact


def test_a_run_that_asked_for_nothing_has_no_receipt(world: World) -> None:
    run = world.run("zeppelin")

    answer = world.operator.receipt(run.run_id)

    assert (answer.receipt, answer.sections) == (None, ())


def test_a_run_that_was_given_nothing_has_one_that_says_so(world: World) -> None:
    world.session()
    run = opened(world).run

    answer = world.operator.receipt(run.run_id)

    assert answer.receipt is not None
    assert answer.receipt.sections == ()
    assert answer.sections == ()


def test_a_receipt_says_what_was_left_out_and_why(world: World) -> None:
    for number in range(5):
        world.clock.advance(seconds=1)
        world.finished(f"Step {number}")
    with world.parts.store.snapshot() as snapshot:
        newest = snapshot.pointers.of_session(TALK, limit=1)[0].run_id
    world.parts.run_memories.delete(newest)

    receipt = world.operator.receipt(opened(world).run.run_id).receipt

    assert receipt is not None
    reasons = {omission.source_id: omission.reason for omission in receipt.omissions}
    assert reasons.pop(newest) is Omitted.UNREADABLE
    assert set(reasons.values()) == {Omitted.OVER_ENTRIES}


@pytest.mark.req("JRN-3", "JRN-4")
def test_the_same_opening_once_more_gets_the_same_sections(world: World, view: ops.RunView) -> None:
    first = opened(world, run_id=RunId("mine"), idempotency_key="k")
    learn(world, "Another zeppelin is red")

    by_key = opened(world, run_id=RunId("mine"), idempotency_key="k")
    by_id = opened(world, run_id=RunId("mine"))

    assert first.sections == by_key.sections == by_id.sections
    assert view.sections is not None
    assert opened(world).sections != first.sections


@pytest.mark.req("SCO-2", "OPS-5")
def test_a_receipt_is_for_those_who_may_use_the_session(world: World, view: ops.RunView) -> None:
    assert outcome(lambda: world.agent.receipt(view.run.run_id)) == "run.not-found"
    assert outcome(lambda: world.operator.receipt(RunId("nobody"))) == "run.not-found"
    own = world.agent.create_session(ops.NewSession(session_id=SessionId("mine")))
    run = world.agent.open_run(ops.NewRun(session_id=own.session_id, request="zeppelin", context=True)).run
    assert world.agent.receipt(run.run_id).receipt is not None


@pytest.mark.req("SCO-2", "OPS-5")
@pytest.mark.parametrize("role", [ops.Role.READER, ops.Role.OPERATOR, ops.Role.AGENT])
def test_a_limited_token_is_told_what_was_given_from_the_scopes_that_it_reaches(
    world: World, role: ops.Role
) -> None:
    world.session(project_ids=("bank", "shop"))
    bank, shop = (Scope(ScopeKind.PROJECT, name) for name in ("bank", "shop"))
    others, own = (world.profile("zeppelin", f"of the {scope.id}", scope=scope) for scope in (bank, shop))
    gone = world.profile("zeppelin mast", "high", scope=shop)
    world.finished("Moor zeppelin 1", session_id=TALK)
    run = opened(world).run
    world.forget(gone)
    world.clock.advance(seconds=1)
    world.operator.change_session(ops.SessionChange(session_id=TALK, project_ids=()))
    scopes = frozenset({shop, Scope(ScopeKind.SESSION, TALK)})
    limited = Application(world.parts, ops.Caller(actor="shop team", role=role, scopes=scopes))

    told = {section.name: section for section in limited.receipt(run.run_id).sections}

    assert set(told[LEARNED].missing) == {others.record_id, gone.record_id}
    assert (own.summary in told[LEARNED].text, others.summary in told[LEARNED].text) == (True, False)
    assert not told[LEARNED].exact
    assert told[RECOVERED].exact
    assert set(told_again(world, run)[LEARNED].missing) == {gone.record_id}
