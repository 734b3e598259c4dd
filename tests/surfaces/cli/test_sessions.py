"""Sessions, personas and runs on the command line: made, bound, listed, read, ended and forgotten."""

import re
from datetime import timedelta
from pathlib import Path

import pytest

from runlore.domain.run import RunId, RunStatus
from runlore.domain.session import SessionId
from runlore.flow.outcomes import settle_outcomes
from runlore.ports import operations as ops
from tests.surfaces.cli.test_forgetting import at_a_terminal
from tests.surfaces.command_line import Runlore
from tests.surfaces.reporting import operations_of, report, said

pytestmark = pytest.mark.req("SUR-1", "SUR-2", "SUR-7")


@pytest.fixture
def talking(runlore: Runlore) -> Runlore:
    """One with the session `talk`."""
    runlore.json("session", "create", "--id", "talk", "--title", "The failing build")
    return runlore


@pytest.mark.req("JRN-1", "SCO-2")
def test_a_session_is_made_with_what_it_is_bound_to(runlore: Runlore) -> None:
    runlore.json("session", "persona", "put", "ada", "--name", "Ada")
    made = runlore.json(
        *("session", "create", "--id", "talk", "--title", "The build", "--persona", "ada"),
        *("--project", "acme", "--project", "atlas", "--agent", "claude-code"),
    )

    assert (made["session_id"], made["title"], made["agent"]) == ("talk", "The build", "claude-code")
    assert (made["persona_id"], made["project_ids"]) == ("ada", ["acme", "atlas"])
    assert runlore.json("session", "show", "talk") == made
    assert runlore.items("session", "list") == [made]
    listed = runlore.text("session", "list", columns=120)
    assert re.search(r"talk +open +\S+ \S+ UTC +acme, atlas +The build", listed)


def test_a_session_without_an_id_gets_one(runlore: Runlore) -> None:
    said_so = runlore.text("session", "create", "--title", "A talk")

    session_id = runlore.items("session", "list")[0]["session_id"]
    assert said_so == f"Created session {session_id}: A talk\n"


def test_making_a_session_twice_with_one_key_makes_one(runlore: Runlore) -> None:
    call = ("session", "create", "--title", "A talk", "--idempotency-key", "once")

    assert runlore.json(*call)["session_id"] == runlore.json(*call)["session_id"]
    assert len(runlore.items("session", "list")) == 1


@pytest.mark.req("SCO-3")
def test_a_change_keeps_what_it_leaves_out(talking: Runlore) -> None:
    bound = talking.json("session", "change", "talk", "--persona", "ada", "--project", "acme")
    assert (bound["persona_id"], bound["project_ids"], bound["title"]) == (
        "ada",
        ["acme"],
        "The failing build",
    )

    renamed = talking.json("session", "change", "talk", "--title", "Mended")
    assert (renamed["persona_id"], renamed["project_ids"], renamed["title"]) == ("ada", ["acme"], "Mended")

    unbound = talking.json("session", "change", "talk", "--no-persona", "--no-projects")
    assert (unbound["persona_id"], unbound["project_ids"], unbound["title"]) == (None, [], "Mended")


@pytest.mark.req("SCO-4")
def test_a_session_is_restricted_by_a_capability_scope(talking: Runlore) -> None:
    limited = talking.json("session", "change", "talk", "--capability-scope", '{"deny_tools": ["shell*"]}')

    assert limited["capability_scope"] == {"deny_tools": ["shell*"]}
    wrong = talking.fails("session", "change", "talk", "--capability-scope", "shell")
    assert (wrong.code, wrong.exit_code) == ("json.format", 2)
    assert "deny_tools" in wrong.said


@pytest.mark.req("REC-10")
def test_a_stale_revision_changes_no_session(talking: Runlore) -> None:
    talking.json("session", "change", "talk", "--title", "Newer")
    stale = talking.fails("session", "change", "talk", "--title", "Older", "--expected-revision", "1")

    assert stale.exit_code == 6
    assert talking.json("session", "show", "talk")["title"] == "Newer"


@pytest.mark.parametrize(
    "both", [("--persona", "ada", "--no-persona"), ("--project", "acme", "--no-projects")]
)
def test_to_bind_and_to_unbind_at_once_is_refused(talking: Runlore, both: tuple[str, ...]) -> None:
    before = talking.contents()
    refused = talking.fails("session", "change", "talk", *both)

    assert (refused.code, refused.exit_code) == ("usage", 2)
    assert talking.contents() == before


@pytest.mark.req("JRN-2")
def test_the_end_of_a_session_ends_its_open_runs(talking: Runlore) -> None:
    report(talking, "open-1", "Why does the build fail?", status=None)

    assert talking.json("session", "end", "talk")["ended_at"] is not None
    run = talking.json("session", "run", "show", "open-1")
    assert run["status"] == "interrupted"
    assert re.search(r"talk +ended", talking.text("session", "list"))


@pytest.mark.req("CAP-7")
def test_a_private_session_says_so_and_keeps_nothing(runlore: Runlore) -> None:
    shown = runlore.text("session", "create", "--id", "quiet", "--private", "--title", "Between us")

    assert "It is private: nothing of it is stored." in shown
    assert runlore.json("session", "show", "quiet")["title"] == ""
    view = report(runlore, "hidden", "the password of the safe is swordfish", session="quiet", status=None)
    assert not view.stored
    assert "swordfish" not in str(runlore.contents())


@pytest.mark.req("CAP-7", "SCO-4")
def test_a_persona_is_put_whole(runlore: Runlore) -> None:
    call = ("session", "persona", "put", "ada")
    first = runlore.json(
        *call, "--name", "Ada", "--capability-scope", '{"allow_tools": ["read_*"]}', "--no-capture"
    )
    assert (first["name"], first["capture"]) == ("Ada", False)

    second = runlore.json(*call, "--name", "Ada Lovelace")
    assert (second["capture"], second["revision"]) == (True, first["revision"] + 1)
    assert not second["capability_scope"]
    assert runlore.json("session", "persona", "show", "ada") == second
    assert runlore.items("session", "persona", "list") == [second]
    assert runlore.text(*call, "--name", "A").startswith("Put persona ada at revision 3.")


@pytest.mark.req("JRN-1")
def test_runs_are_listed_newest_first_and_by_status(talking: Runlore) -> None:
    report(talking, "run-1", "Why does the build fail?", said("A stale lock."))
    report(talking, "run-2", "Again?", status=RunStatus.FAILED, error="timed out")
    report(talking, "run-3", "And now?", status=None)

    assert [run["run_id"] for run in talking.items("session", "runs", "talk")] == ["run-3", "run-2", "run-1"]
    failed = talking.items("session", "runs", "talk", "--status", "failed", "--status", "running")
    assert [run["run_id"] for run in failed] == ["run-3", "run-2"]
    assert len(talking.items("session", "runs")) == 3
    shown = talking.text("session", "runs", "talk", columns=100)
    assert re.search(r"run-1 +completed +\S+ \S+ UTC +Why does the build fail\?", shown)
    unknown = talking.fails("session", "runs", "talk", "--status", "done")
    assert (unknown.code, "completed" in unknown.said) == ("word.unknown", True)


@pytest.mark.req("JRN-1")
def test_a_journal_is_read_page_by_page(talking: Runlore) -> None:
    report(talking, "run-1", "Why?", *(said(f"thought {number}") for number in range(5)))
    first = talking.json("session", "journal", "talk", "--limit", "3")
    rest = talking.json("session", "journal", "talk", "--limit", "100", "--cursor", first["next_cursor"])

    numbers = [event["number"] for event in (*first["items"], *rest["items"])]
    assert numbers == list(range(1, len(numbers) + 1))
    of_the_run = talking.items("session", "run", "journal", "run-1")
    assert [event["type"] for event in of_the_run][:2] == ["input", "assistant_message"]
    assert "There are more: --cursor " in talking.text("session", "journal", "talk", "--limit", "3")


@pytest.mark.req("JRN-1")
def test_a_journal_is_shown_in_a_few_words_each(talking: Runlore) -> None:
    report(
        talking,
        "run-1",
        "Why?",
        {"type": "tool_call", "call_id": "1", "name": "shell", "arguments": {"command": "make"}},
        {"type": "tool_result", "call_id": "1", "output": "x" * 5_000, "exit_code": 2},
        said("It failed."),
    )

    shown = talking.text("session", "run", "journal", "run-1", columns=100)

    assert "name: shell" in shown
    assert "It failed." in shown
    assert len(shown) < 3_000
    whole = talking.items("session", "run", "journal", "run-1")
    assert any(event["body"].get("output") == "x" * 5_000 for event in whole)


@pytest.mark.req("JRN-5")
def test_a_journal_is_read_from_its_checkpoint_on(talking: Runlore) -> None:
    report(talking, "run-1", "Why?", said("Because."))
    with operations_of(talking) as operations:
        operations.add_checkpoint(
            ops.NewCheckpoint(session_id=SessionId("talk"), text="so far: a stale lock")
        )
    report(talking, "run-2", "And now?", status=None)

    since = talking.items("session", "journal", "talk", "--since-checkpoint")
    assert since[0]["type"] == "checkpoint"
    assert len(since) < len(talking.items("session", "journal", "talk"))


@pytest.mark.req("LAY-5")
def test_notes_and_artifacts_of_a_run_are_shown(talking: Runlore) -> None:
    report(talking, "run-1", "Why?", status=None)
    with operations_of(talking) as operations:
        operations.add_scratch(ops.NewScratch(run_id=RunId("run-1"), text="plan: look at the lock"))
        kept = operations.add_artifact(
            ops.NewArtifact(run_id=RunId("run-1"), name="diff", text="-stale\n+fresh\n")
        )
    assert kept is not None

    assert "plan: look at the lock" in talking.text("session", "run", "scratch", "run-1")
    assert re.search(
        r"\S+ +\S+ \S+ UTC +14 bytes +diff", talking.text("session", "run", "artifacts", "run-1")
    )
    assert talking.text("session", "run", "artifact", kept.artifact_id) == "-stale\n+fresh\n"
    assert talking.json("session", "run", "artifact", kept.artifact_id)["text"] == "-stale\n+fresh\n"


@pytest.mark.parametrize(
    "call",
    [
        ("session", "show", "none"),
        ("session", "change", "none", "--title", "x"),
        ("session", "end", "none"),
        ("session", "journal", "none"),
        ("session", "context", "none"),
        ("session", "search", "none", "lock"),
        ("session", "preview", "none", "lock"),
        ("session", "runs", "none"),
        ("session", "persona", "show", "none"),
        ("session", "run", "show", "none"),
        ("session", "run", "journal", "none"),
        ("session", "run", "scratch", "none"),
        ("session", "run", "artifacts", "none"),
        ("session", "run", "artifact", "none"),
        ("why", "none"),
        ("memory", "list", "--session", "none"),
        ("memory", "context", "lock", "--session", "none"),
        ("memory", "forget", "none"),
        ("token", "revoke", "none"),
        ("jobs", "retry", "none"),
    ],
    ids=" ".join,
)
def test_an_id_that_names_nothing_is_not_found(embedded: Runlore, call: tuple[str, ...]) -> None:
    refused = embedded.fails(*call)

    assert refused.exit_code == 5, refused.problem
    assert refused.problem["hint"]


def test_empty_lists_say_so(embedded: Runlore) -> None:
    assert embedded.text("session", "list") == "There are no sessions.\n"
    assert embedded.text("session", "persona", "list") == "There are no personas.\n"
    assert embedded.text("session", "runs") == "There are no runs.\n"
    assert embedded.text("jobs", "list") == "There is no background work.\n"


def test_hostile_text_of_a_run_moves_no_cursor(talking: Runlore) -> None:
    hostile = "\x1b[2Jgone\u202eevil\nrun-9  talk  completed"
    report(talking, "run-1", hostile, said(hostile))

    for command in (("runs", "talk"), ("journal", "talk"), ("run", "show", "run-1"), ("context", "talk")):
        shown = talking.text("session", *command, columns=100)
        assert "\x1b" not in shown
        assert "\u202e" not in shown
    # What reads like a row of the table is not one.
    assert not any(line.startswith("run-9") for line in talking.text("session", "runs", "talk").splitlines())


@pytest.mark.req("LRN-12")
def test_a_run_is_forgotten_after_it_was_shown(talking: Runlore) -> None:
    report(talking, "run-1", "tell nobody about swordfish", said("swordfish it is"))
    shown = talking.text("memory", "forget", "run-1", "--dry-run")
    assert re.search(r"Would erase +run-1 +run", shown)
    assert "journal event" in shown
    assert "swordfish" in str(talking.contents())

    done = talking.text("memory", "forget", "run-1", "--yes")

    assert re.search(r"Erased +run-1 +run", done)
    assert "swordfish" not in str(talking.contents())
    assert "(erased)" in talking.text("session", "run", "journal", "run-1")


@pytest.mark.req("LRN-12")
def test_a_session_is_forgotten_with_all_of_its_runs(talking: Runlore) -> None:
    report(talking, "run-1", "about swordfish", said("yes"))
    report(talking, "run-2", "more about swordfish", said("no"))

    answer = talking.json("memory", "forget", "talk", "--yes")

    assert (answer["sessions"], sorted(answer["runs"])) == (["talk"], ["run-1", "run-2"])
    assert "swordfish" not in str(talking.contents())
    assert re.search("talk +forgotten", talking.text("session", "list"))


@pytest.mark.req("LRN-12")
def test_a_person_is_shown_a_run_and_asked_before_it_is_erased(talking: Runlore) -> None:
    report(talking, "run-1", "about swordfish", said("yes"))

    kept = at_a_terminal(talking, "memory", "forget", "run-1", answer=b"n\n")
    assert "Would erase  run-1" in kept.shown
    assert "Stopped; nothing was changed." in kept.shown
    assert "swordfish" in str(talking.contents())

    erased = at_a_terminal(talking, "memory", "forget", "run-1", answer=b"y\n")
    assert erased.code == 0
    assert "swordfish" not in str(talking.contents())


@pytest.mark.req("SCO-2")
def test_with_a_session_records_are_those_that_it_sees(talking: Runlore) -> None:
    seen = talking.prefer("editor", "vim", "--scope", "project:acme")
    hidden = talking.prefer("editor", "emacs", "--scope", "project:other")
    waiting = talking.propose("tabs", "two", "--scope", "project:other")
    talking.json("session", "change", "talk", "--project", "acme")
    of_talk = ("--session", "talk")

    assert [item["record_id"] for item in talking.items("memory", "list", *of_talk)] == [seen]
    assert [item["record_id"] for item in talking.items("memory", "search", "editor", *of_talk)] == [seen]
    assert talking.json("memory", "inspect", seen, *of_talk)["record_id"] == seen
    assert len(talking.items("memory", "history", seen, *of_talk)) == 2
    assert talking.fails("memory", "inspect", hidden, *of_talk).exit_code == 5
    assert talking.fails("memory", "history", hidden, *of_talk).exit_code == 5
    assert waiting not in {item["record_id"] for item in talking.items("memory", "review", "list", *of_talk)}
    assert waiting in {item["record_id"] for item in talking.items("memory", "review", "list")}
    # What it sees is what its binding says at the time.
    talking.json("session", "change", "talk", "--no-projects")
    assert talking.items("memory", "list", *of_talk) == []


@pytest.mark.req("SCO-5")
def test_what_a_project_file_says_without_meaning_anything_is_told_by_each_that_reads_it(
    embedded: Runlore, tmp_path: Path
) -> None:
    for words in (("folder", "show"), ("folder", "bind"), ("session", "create", "--working-folder")):
        folder = tmp_path / "-".join(words)
        folder.mkdir()
        (folder / ".runlore.toml").write_text('project = "atlas"\ncolour = "blue"\n')

        assert "has keys that mean nothing: 'colour'" in " ".join(
            embedded.run(*words, str(folder)).err.split()
        )


@pytest.mark.req("VAL-3", "INT-4")
def test_a_program_ends_its_run_and_says_how_it_went(talking: Runlore) -> None:
    for name in ("first", "second", "third"):
        report(talking, name, "Mend the build", status=None, context=True)
    assert "known a day after it has ended" in talking.text("session", "run", "show", "first")

    ended = talking.json("session", "run", "finish", "first", "--outcome", "bad", "--error", "no compiler")
    assert (ended["status"], ended["error"]) == ("completed", "no compiler")
    shown = talking.text("session", "run", "show", "first")
    assert re.search(r"outcome +bad, as somebody said\n", shown)
    told = talking.text("session", "run", "finish", "second", "--status", "failed")
    assert told == "Run second is failed\n"
    # The same again, as after a lost answer; and what is no outcome.
    assert talking.text("session", "run", "finish", "second", "--status", "failed") == told
    refused = talking.fails("session", "run", "finish", "third", "--outcome", "great")
    assert "good, bad" in str(refused)

    with operations_of(talking) as operations:
        parts = operations.parts  # type: ignore[attr-defined]
        assert settle_outcomes(parts.store, parts.clock.now() + timedelta(days=2), limit=9) == 2
    assert "as somebody said" in talking.text("session", "run", "show", "first")
    assert "40 of 100 points: status -60" in talking.text("session", "run", "show", "second")
    assert talking.json("session", "run", "show", "second")["outcome"]["signs"] == {"status": 60}
