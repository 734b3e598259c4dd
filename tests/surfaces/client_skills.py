"""Skills learned from transcripts, over HTTP beside the same from inside."""

from dataclasses import replace
from typing import Any

from runlore.domain.detectors.match import Heuristic
from runlore.domain.suggestion import SuggestionId, SuggestionState
from runlore.domain.transcript import Position
from runlore.ports import operations as ops
from tests.surfaces.client_both import Both
from tests.surfaces.skill_runs import SOURCE, to_import, told_run


def skills(both: Both) -> None:
    """Runs brought in, what they suggest, and what is decided about it."""
    once = to_import(told_run(1), told_run(2), idempotency_key="k/é")
    brought = both.do("import_runs", once)
    assert (brought.stored, brought.known, brought.sessions) == (2, 0, 1)
    assert both.read("import_runs", once) == brought
    assert both.read("import_runs", replace(once, idempotency_key=None)).known == 2
    unsure = told_run(3, is_whole=False, title="Releases ✓", branch="main", model="m", agent_version="2")
    assert both.read("import_runs", to_import(unsure)).stored == 0
    told = both.read("transcript_positions", [SOURCE, "none", "", "\0", "é" * 900])
    assert told == {SOURCE: Position(offset=200, line=2, fingerprint="f", carried={"runs": 2})}
    watched: list[tuple[int, int]] = []
    found = both.do("suggest", ops.SuggestRequest(enhance=True), progress=lambda *done: watched.append(done))
    assert watched[-1] == (1, 1)
    assert (found.runs, found.sessions, found.seen_again) == (2, 1, 0)
    suggestions(both, found)
    assert both.read("suggest", ops.SuggestRequest()).new == ()


def suggestions(both: Both, found: ops.SuggestAnswer) -> None:
    """What was suggested, listed and decided on."""
    first, other = found.new
    waiting = both.read("list_suggestions", ops.SuggestionsRequest())
    assert set(waiting.items) == {first, other}
    page = both.read("list_suggestions", ops.SuggestionsRequest(limit=1))
    rest = both.read("list_suggestions", ops.SuggestionsRequest(limit=1, cursor=page.next_cursor))
    assert (*page.items, *rest.items, rest.next_cursor) == (*waiting.items, None)
    skipped = both.do("skip_suggestion", first.suggestion_id)
    assert (skipped.state, skipped.state_actor) == (SuggestionState.SKIPPED, "operator")
    for states, heuristics in (
        ({SuggestionState.SKIPPED}, set()),
        (set(SuggestionState), {first.suggestion.heuristic}),
        (set(SuggestionState), {Heuristic.CROSS_SESSION, Heuristic.USER_CORRECTION}),
    ):
        asked = ops.SuggestionsRequest(states=frozenset(states), heuristics=frozenset(heuristics))
        assert both.read("list_suggestions", asked).items == (() if len(heuristics) > 1 else (skipped,))
    assert both.read("get_suggestion", first.suggestion_id) == skipped
    assert both.read("get_suggestion", first.suggestion.name) == skipped
    assert both.do("reset_suggestion", first.suggestion_id).state is SuggestionState.WAITING


def skill_mistakes() -> tuple[tuple[str, Any], ...]:
    """Calls about skills that are refused."""
    return (
        *(("get_suggestion", name) for name in ("none", "", "\0", "\udcff", "x" * 5_000, "a/b c%2F..")),
        ("skip_suggestion", SuggestionId("none")),
        ("reset_suggestion", SuggestionId("")),
        ("list_suggestions", ops.SuggestionsRequest(limit=0)),
        ("list_suggestions", ops.SuggestionsRequest(cursor="what?")),
        ("import_runs", to_import(source=" ")),
        ("import_runs", to_import(told_run(1, commands=(), events=()))),
        ("transcript_positions", ["x"] * 10_001),
        ("suggest", ops.SuggestRequest(idempotency_key=" ")),
    )
