"""Suggested skills on the command line: listed, read, skipped, let wait again; strange text shown as text."""

import re
from contextlib import closing
from dataclasses import replace

import pytest
from rich.cells import cell_len

from runlore.domain.run import RunId
from runlore.domain.session import SessionId
from runlore.domain.skill import SuggestionId
from runlore.domain.suggestion import (
    Parameter,
    Score,
    ScorePart,
    StoredSuggestion,
    SuggestionEvidence,
    Trigger,
)
from runlore.domain.taint import TRUSTED, Provenance
from runlore.ports import operations as ops
from runlore.storage.open import open_store
from tests.domain.suggesting.suggested import SUGGESTION
from tests.fakes import START
from tests.surfaces.cli.test_hostile_text import EVERY_TEXT, FAKE_ROW, FRAMES, HOSTILE, assert_harmless
from tests.surfaces.command_line import Runlore
from tests.surfaces.reporting import operations_of
from tests.surfaces.skill_runs import to_import, told_run

pytestmark = pytest.mark.req("SUR-2", "SUR-7")

SKILLS = ("skill", "suggestions")


def learned(runlore: Runlore) -> tuple[StoredSuggestion, ...]:
    """What two runs of another agent suggest, the best first."""
    with operations_of(runlore) as operations:
        operations.import_runs(to_import(told_run(1), told_run(2)))
        found = operations.suggest(ops.SuggestRequest()).new
    return tuple(sorted(found, key=lambda stored: -stored.suggestion.score.points))


def keep(runlore: Runlore, *suggestions: StoredSuggestion) -> None:
    """Suggestions as they stand in the store."""
    runlore.json("status")
    store = open_store(database_url=runlore.database_url, state_root=str(runlore.home))
    with closing(store), store.transaction() as tx:
        for stored in suggestions:
            tx.suggestions.insert(stored)


def hostile(text: str, number: int = 1) -> StoredSuggestion:
    """A suggestion that says nothing else."""
    short = text[:60]
    seen = SuggestionEvidence(
        session_id=SessionId("s"), run_id=RunId(short), event_numbers=(3, 5), at=START, project=short
    )
    said = replace(
        SUGGESTION,
        name=f"{number} {short}",
        description=text[:900],
        pattern=f"{number}",
        commands=(text, "make"),
        trigger=Trigger(topic=text, actions=(text, "build")),
        body=text,
        evidence=(seen,),
        provenance=Provenance(untrusted=True, needs_review=True, sources=(text,)),
        score=Score(points=50, parts=(ScorePart(reason=text, points=-7),)),
        parameters=(Parameter(name=short, examples=(text,)),),
        enhanced_by=text,
    )
    return StoredSuggestion(
        suggestion_id=SuggestionId(f"sug_{number:026}"),
        suggestion=said,
        state_actor=text,
        created_at=START,
        updated_at=START,
    )


def test_the_best_suggestion_comes_first_with_how_often_it_was_seen(embedded: Runlore) -> None:
    found = learned(embedded)

    shown = embedded.text(*SKILLS, "list", columns=200).splitlines()

    assert shown[0].split() == ["NAME", "SEEN", "STATE", "DESCRIPTION"]
    assert [line.split()[0] for line in shown if line[0] != " "][1:] == [
        each.suggestion.name for each in found
    ]
    assert shown[1].split()[1:6] == ["2", "times", "in", "1", "session"]


def test_nothing_to_show_says_where_suggestions_come_from(embedded: Runlore) -> None:
    assert "runlore learn" in embedded.text(*SKILLS, "list")


@pytest.mark.req("SKL-4")
def test_one_suggestion_is_shown_with_its_evidence_and_the_reasons_of_its_score(embedded: Runlore) -> None:
    first = learned(embedded)[0]
    suggestion = first.suggestion

    by_name = embedded.text(*SKILLS, "show", suggestion.name, columns=200)

    assert by_name == embedded.text(*SKILLS, "show", first.suggestion_id, columns=200)
    assert by_name.startswith(f"{suggestion.name}  {first.suggestion_id}\n")
    for text in (
        *suggestion.commands,
        *(evidence.run_id for evidence in suggestion.evidence),
        *(f"{part.points:+d}  {part.reason}" for part in suggestion.score.parts),
        *suggestion.provenance.sources,
        "## Step-by-Step",
    ):
        assert text in by_name
    assert embedded.json(*SKILLS, "show", suggestion.name)["commands"] == list(suggestion.commands)


@pytest.mark.req("SKL-4")
def test_a_skipped_suggestion_is_out_of_the_list_until_it_is_reset(embedded: Runlore) -> None:
    first, *_ = (stored.suggestion.name for stored in learned(embedded))

    assert embedded.text(*SKILLS, "skip", first).startswith(f"Skipped {first}  sug_")
    assert first not in [each["name"] for each in embedded.items(*SKILLS, "list")]
    assert [each["name"] for each in embedded.items(*SKILLS, "list", "--state", "skipped")] == [first]
    assert "skipped" in embedded.text(*SKILLS, "show", first)
    waiting = len(embedded.items(*SKILLS, "list"))
    assert embedded.json("status")["suggestions"] == {"waiting": waiting, "saved": 0, "skipped": 1}
    assert re.search(rf"suggestions +waiting {waiting}, skipped 1\n", embedded.text("status", "--verbose"))
    assert embedded.text(*SKILLS, "reset", first).startswith(f"Waiting again: {first}  sug_")
    assert first in [each["name"] for each in embedded.items(*SKILLS, "list")]


def test_what_comes_from_outside_is_marked_and_what_does_not_is_not(embedded: Runlore) -> None:
    own = replace(hostile("own"), suggestion=replace(SUGGESTION, name="own", provenance=TRUSTED))
    keep(embedded, own, hostile("strange", 2))

    rows = embedded.text(*SKILLS, "list", columns=200).splitlines()[1:]

    assert sorted((row.split()[0], "from outside" in row) for row in rows) == [("2", True), ("own", False)]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("show", "none"), "suggestion.not-found"),
        (("show", ""), "suggestion.not-found"),
        (("skip", "x" * 5_000), "suggestion.not-found"),
        (("reset", "\udcff"), "suggestion.not-found"),
        (("list", "--state", "tired"), "word.unknown"),
        (("list", "--heuristic", "luck"), "word.unknown"),
        (("list", "--limit", "many"), "number.format"),
        (("list", "--limit", "0"), "limit.range"),
        (("list", "--cursor", "what?"), "cursor.format"),
    ],
)
def test_a_wrong_command_is_told_with_what_to_do(
    embedded: Runlore, words: tuple[str, ...], code: str
) -> None:
    failure = embedded.fails(*SKILLS, *words)

    assert (failure.code, bool(failure.problem["hint"])) == (code, True)


@pytest.mark.req("TNT-4", "SUR-7")
@EVERY_TEXT
@pytest.mark.sampled(every=3)
def test_hostile_text_of_a_suggestion_is_shown_escaped_everywhere(name: str, embedded: Runlore) -> None:
    stored = hostile(HOSTILE[name])
    keep(embedded, stored)
    one = stored.suggestion_id

    for words in (("list",), ("show", one), ("skip", one), ("reset", one)):
        assert_harmless(embedded.text(*SKILLS, *words, columns=80))
    for columns in FRAMES:
        assert_harmless(embedded.text(*SKILLS, "show", one, columns=columns))


@pytest.mark.req("TNT-4", "SUR-7")
@pytest.mark.parametrize("columns", FRAMES)
def test_no_text_of_a_suggestion_looks_like_another_row_or_field(columns: int, embedded: Runlore) -> None:
    keep(embedded, hostile(f"one\n{FAKE_ROW}\n  state  saved\n  score  100\n"))

    shown = embedded.text(*SKILLS, "show", f"sug_{1:026}", columns=columns).splitlines()
    listed = embedded.text(*SKILLS, "list", columns=columns).splitlines()

    assert max(map(cell_len, shown[1:])) <= max(columns, 40)
    assert not [line for line in (*shown, *listed) if line.startswith(FAKE_ROW[:30])]
    told = [line for line in shown[1:] if "saved" in line or "score  100" in line]
    assert told
    assert all(line.startswith(" " * 6) for line in told)
