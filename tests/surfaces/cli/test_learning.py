"""The learning plane on the command line: what people say, see and decide, from a candidate to its end."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from runlore.cli.learning_options import parse_evidence
from runlore.domain.record import EvidenceRef
from tests.surfaces.command_line import Runlore
from tests.surfaces.reporting import report
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.req("SUR-2", "LRN-1")
FACTS = ("--kind", "fact")
CAPTURE = """
mode = "{mode}"
[capture]
semantic_candidates = {{ enabled = true }}
[[publication.rules]]
name = "preferences with evidence"
kind = "preference"
require_evidence = true
action = "publish_active"
"""


def said(runlore: Runlore, text: str, *more: str) -> str:
    """A candidate's id."""
    return str(runlore.json("learning", "candidates", "create", text, *FACTS, *more)["record_id"])


def published(runlore: Runlore, text: str, *more: str) -> str:
    """A learning's id."""
    return str(runlore.json("learning", "candidates", "publish", said(runlore, text), *more)["record_id"])


def fields(shown: str) -> dict[str, str]:
    """What `get` shows, by its names."""
    return dict(re.findall(r"^  ([a-z][a-z._ ]*?)  +(\S.*)$", shown, re.MULTILINE))


def after_a_run(runlore: Runlore, mode: str) -> None:
    """What a run whose request says what its user prefers leaves behind, in a mode of automation."""
    file = runlore.home.parent / "learning.toml"
    file.write_text(CAPTURE.format(mode=mode))
    runlore.json("policy", "set", "learning", str(file))
    runlore.json("session", "create", "--id", "talk")
    report(runlore, "run-1", "Preference: I prefer short answers\nNow mend the build.")
    runlore.json("jobs", "work")


@pytest.mark.req("LRN-2")
def test_the_text_comes_from_an_argument_a_file_or_standard_input(embedded: Runlore, tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("The codename is Atlas ✓\n")
    create = ("learning", "candidates", "create", *FACTS)

    made = [
        embedded.json(*create, "The codename is Atlas ✓"),
        embedded.json(*create, "--file", str(path)),
    ]
    for words in (("-",), ("--file", "-")):
        with path.open("rb") as stdin:
            made.append(json.loads(embedded.forked(*create, *words, "--json", stdin=stdin.fileno()).out))

    assert {record["summary"] for record in made} == {"The codename is Atlas ✓"}
    assert {record["origin"] for record in made} == {"api"}
    assert [record["revision"] for record in made] == [1, 2, 2, 2], "the same waits once"


names = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=9)


@given(
    run=st.none() | names,
    artifact=st.none() | names,
    event=st.none() | st.integers(0, 10**9),
    note=st.none() | st.text(st.characters(codec="utf-8"), min_size=1).filter(str.strip),
)
def test_evidence_is_read_as_it_is_written(
    run: str | None, artifact: str | None, event: int | None, note: str | None
) -> None:
    given = {"run": run, "artifact": artifact, "event": event, "note": note}
    text = ",".join(f"{name}={value}" for name, value in given.items() if value is not None)
    if text:
        expected = EvidenceRef(
            run_id=run, artifact_id=artifact, event_number=event, note=note.strip() if note else None
        )
        assert parse_evidence(text) == expected


@pytest.mark.req("LRN-1", "LRN-13")
def test_a_candidate_is_made_changed_while_it_is_published_and_shown_with_all_that_is_known(
    runlore: Runlore,
) -> None:
    candidate = said(
        runlore,
        "The codename is Atlas",
        *("--evidence", "run=r1,event=3,note=said, twice", "--source-agent", "tester"),
        *("--confidence", "91", "--scope", "project:acme"),
    )
    waiting = fields(runlore.text("learning", "candidates", "get", candidate))
    shown = runlore.text(
        *("learning", "candidates", "publish", candidate, "--content", "The codename is Borea"),
        *("--scope", "workspace", "--kind", "decision", "--confidence", "70", "--tier", "provisional"),
        *("--expires-at", "2100-01-01", "--revalidate-at", "2099-01-01", "--reason", "I looked"),
    )
    known = fields(runlore.text("learning", "get", candidate))

    assert waiting["prompts"] == "not given: waiting for review"
    assert waiting["evidence"] == "run r1, event 3, said, twice"
    assert shown == f"Published {candidate} in the provisional tier: The codename is Borea\n"
    assert known["says"] == "The codename is Borea"
    assert known["prompts"] == "not given: provisional tier"
    assert known["state"] == "in use, provisional tier"
    assert known["decision"] == "manual, by operator"
    assert (known["confidence"], known["source"]) == ("70", "agent tester")
    assert (known["expires"], known["look again"]) == ("2100-01-01 00:00 UTC", "2099-01-01 00:00 UTC")


@pytest.mark.req("LRN-4", "PRJ-4")
def test_a_learning_says_the_reason_that_the_memory_context_says(runlore: Runlore) -> None:
    runlore.json("session", "create", "--id", "talk")
    ids = [
        published(runlore, "The codename is Atlas"),
        published(runlore, "The codename of the tool is Borea", "--tier", "provisional"),
        published(runlore, "The codename of the plan is Caldera", "--sensitivity", "sensitive"),
        said(runlore, "The codename of the river is Danube"),
    ]
    context = runlore.json("session", "context", "talk", "codename")
    hidden = {entry["record_id"]: f"not given: {entry['reason']}" for entry in context["hidden"]}
    entries = [entry["record_id"] for entry in context["learned_context"]["entries"]]

    told = {
        record_id: fields(runlore.text("learning", *words, record_id))["prompts"]
        for record_id, words in zip(ids, [*[("get",)] * 3, ("candidates", "get")], strict=True)
    }

    assert entries == [ids[0]]
    assert told.pop(ids[0]) == "given to prompts that are about it"
    assert told == hidden


@pytest.mark.req("POL-1", "CAP-3")
def test_automation_tells_what_it_would_do_in_the_inbox_and_with_the_candidate(runlore: Runlore) -> None:
    after_a_run(runlore, "shadow")
    (candidate,) = runlore.items("learning", "candidates", "list")
    inbox = runlore.text("memory", "review", "list")
    shown = fields(runlore.text("learning", "candidates", "get", candidate["record_id"]))
    listed = runlore.text("learning", "candidates", "list")

    review = candidate["automation_review"]
    assert (candidate["state"], review["mode"], review["action"]) == (
        "constrained",
        "shadow",
        "publish_active",
    )
    expected = "publish_active in shadow mode (policy revision 1): rule 'preferences with evidence' says"
    assert shown["automation"].startswith(expected)
    assert f"  automation: {expected}" in inbox
    assert "publish_active" in listed
    assert shown["evidence"].startswith("run run-1")


@pytest.mark.req("POL-1", "POL-9", "PRJ-1")
def test_what_the_policy_publishes_reaches_prompts_and_is_found_by_its_rule(runlore: Runlore) -> None:
    after_a_run(runlore, "enabled")

    (learning,) = runlore.items("learning", "list", "--rule", "preferences with evidence")
    shown = fields(runlore.text("learning", "get", learning["record_id"]))
    context = runlore.json("session", "context", "talk", "short answers")

    assert (learning["policy_decision"], learning["verification_status"]) == ("automatic", "verified")
    assert shown["decision"] == "automatic, by daemon"
    assert shown["prompts"] == "given to prompts that are about it"
    entries = context["learned_context"]["entries"]
    assert [entry["record_id"] for entry in entries] == [learning["record_id"]]
    assert runlore.items("learning", "list", "--actor", "daemon", "--decision", "automatic") == [learning]


@pytest.mark.req("LRN-13")
def test_what_a_run_calls_wrong_is_first_in_the_inbox_with_what_can_be_done(runlore: Runlore) -> None:
    learning = published(runlore, "The codename is Atlas")
    waiting = said(runlore, "The office is open")
    runlore.json("session", "create", "--id", "talk")
    report(runlore, "run-1", "What is the codename?", context=True)

    noted = runlore.text("learning", "feedback", learning, "wrong", "--run", "run-1", "--note", "it is Borea")
    inbox = runlore.text("memory", "review", "list")
    kept = runlore.text("learning", "verify", learning, "--on-my-word")
    after = runlore.items("memory", "review", "list")

    assert noted.startswith(f"Noted for {learning}: 1 wrong, 0 helped.")
    assert inbox.startswith(f"{learning}  fact in workspace\n")
    assert "  published, and called wrong in 1 run\n" in inbox
    assert "  published, and due for revalidation since " in inbox
    assert f"  `runlore learning revoke {learning}` takes it back\n" in inbox
    assert "NOW" not in inbox.partition(waiting)[0]
    assert kept.startswith(f"{learning} is ")
    assert [item["record_id"] for item in after] == [waiting]
    assert fields(runlore.text("learning", "get", learning))["feedback"] == "1 wrong, 0 helped"


@pytest.mark.req("LRN-9")
def test_what_would_be_revoked_is_shown_and_then_revoked(runlore: Runlore) -> None:
    ids = [published(runlore, f"Deploys wait for {name}") for name in ("ada", "bob")]
    kept = published(runlore, "The codename is Atlas")
    matching = ("learning", "revoke-matching", "--text", "deploys")
    before = runlore.contents()

    shown = runlore.text(*matching, "--dry-run")
    assert runlore.contents() == before
    done = runlore.text(*matching, "--reason", "both left", "--yes")

    assert re.findall("Would revoke +(rec_[^ ]+)", shown) == ids[::-1]
    assert re.findall("Revoked +(rec_[^ ]+)", done) == ids[::-1]
    assert runlore.text(*matching) == "No active learning matches.\n"
    assert [runlore.state(record_id) for record_id in (*ids, kept)] == [
        "tombstoned revoked",
        "tombstoned revoked",
        "active",
    ]


@pytest.mark.req("LRN-9", "SUR-7")
def test_on_a_terminal_it_shows_what_would_be_revoked_and_asks(embedded: Runlore) -> None:
    learning = published(embedded, "Deploys wait for ada")
    answers = {}
    for answer, words in (("n", ()), ("y", ("--reason", "left"))):
        done = subprocess.run(
            [
                *("script", "--quiet", "--return", "--command"),
                f"runlore learning revoke-matching --text deploys {' '.join(words)}",
                "/dev/null",
            ],
            input=f"{answer}\n",
            env=_environment(embedded),
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        answers[answer] = (done.returncode, done.stdout, embedded.state(learning))

    assert "Would revoke" in answers["n"][1]
    assert (answers["n"][0], answers["n"][2]) == (1, "active")
    assert (answers["y"][0], answers["y"][2]) == (0, "tombstoned revoked")


def _environment(runlore: Runlore) -> dict[str, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.defpath}"
    return {**runlore.environment, "PATH": path, "HOME": str(runlore.home.parent), "TERM": "dumb"}


@pytest.mark.req("SUR-7")
@pytest.mark.parametrize("columns", [40, 80, 100, 200])
def test_lists_fit_the_terminal_with_every_id_in_one_piece(columns: int, embedded: Runlore) -> None:
    long = "The build of the archive takes " + "very " * 60 + "long"
    learnings = [published(embedded, "The codename is Atlas"), published(embedded, long)]
    candidate = said(embedded, "Releases are cut on mondays", "--scope", "project:acme")
    shown = {
        ("learning", "list"): learnings,
        ("learning", "candidates", "list"): [candidate],
        ("learning", "get", learnings[1]): [learnings[1]],
        ("learning", "revoke-matching", "--kind", "fact", "--dry-run"): learnings,
    }

    for words, ids in shown.items():
        lines = embedded.text(*words, columns=columns).splitlines()
        for record_id in ids:
            assert any(record_id in line for line in lines), (words, record_id)
        assert max(map(cell_len, lines)) <= max(columns, 60), words
    assert "…" in embedded.text("learning", "list", columns=columns), "a long text is cut in a list"


@pytest.mark.req("POL-10")
def test_work_and_belated_capture_are_told_in_words(runlore: Runlore) -> None:
    runlore.json("session", "create", "--id", "talk")
    report(runlore, "run-1", "Decision: we deploy on mondays")
    runlore.json("jobs", "work")
    refused = runlore.fails("capture", "backfill", "--dry-run")
    runlore.json("policy", "set", "learning", "--set", 'capture={"semantic_candidates":{"enabled":true}}')

    shown = runlore.text("capture", "backfill", "--session", "talk", "--since", "2001-01-01", "--dry-run")
    nothing = runlore.text("capture", "backfill", "--since", "2100-01-01")
    done = runlore.text("capture", "backfill")
    worked = runlore.text("jobs", "work")

    assert (refused.exit_code, refused.code) == (2, "capture.off")
    assert shown == "1 run would be captured:\n  run-1\n"
    assert nothing == "No run was left out that could be captured now.\n"
    assert done == "1 run will be captured:\n  run-1\n"
    assert re.fullmatch(r"Did \d+ jobs?; \d+ waits?\.\n", worked), worked
    assert [item["summary"] for item in runlore.items("learning", "candidates", "list")] == [
        "we deploy on mondays"
    ]
    assert runlore.text("capture", "backfill") == nothing


@pytest.mark.req("OPS-9")
def test_run_memories_are_deleted_by_a_command_of_its_own_and_only_on_a_yes(runlore: Runlore) -> None:
    runlore.json("session", "create", "--id", "talk")
    report(runlore, "run-1", "Decision: we deploy on mondays")
    switched = runlore.text("policy", "set", "run-memory", "--set", "enabled=false")
    assert "what is stored stays" in " ".join(switched.split())

    shown = runlore.text("capture", "delete-memories", "--dry-run")
    refused = runlore.fails("capture", "delete-memories")
    done = runlore.text("capture", "delete-memories", "--yes")

    assert shown == "Would delete 1 run memory of 1 session.\n"
    assert (refused.exit_code, refused.code) == (2, "run-memory.unconfirmed")
    assert done == "Deleted 1 run memory of 1 session.\n"
    assert runlore.text("capture", "delete-memories", "--yes") == "Nothing is remembered of runs there.\n"
