"""`runlore learn`: transcripts in, suggestions out, stored once, read on from where it was left."""

import json
from pathlib import Path

import pytest

from runlore.daemon.mining.dry_run import look_through
from runlore.daemon.mining.findings import AgentRead
from runlore.daemon.mining.local_transcripts import local_transcripts
from runlore.domain.serialization.codec import serialize
from tests.surfaces.command_line import Json, Runlore
from tests.surfaces.transcripts import add_turns, releases, settle, write_session

pytestmark = [pytest.mark.req("INT-1"), pytest.mark.req("SUR-7")]

DOCUMENT = {"sessions", "runs", "lines_skipped", "suggestions"}
SUGGESTION = {
    *("name", "heuristic", "description", "commands", "trigger", "provenance", "body", "evidence", "score"),
}
# What a store adds to a suggestion: its place in the queue.
QUEUED = {
    "suggestion_id",
    "state",
    "state_actor",
    "skipped_at",
    "times_skipped",
    "created_at",
    "updated_at",
    "revision",
}


@pytest.fixture
def sessions(clean_home: Path) -> Path:
    """Three sessions that show one procedure, where Claude Code keeps them."""
    folder = clean_home / ".claude" / "projects" / "-srv-atlas"
    releases(folder)
    return folder


def said(suggestions: list[Json]) -> list[Json]:
    """Suggestions without their place in a queue."""
    return [{name: value for name, value in each.items() if name not in QUEUED} for each in suggestions]


@pytest.mark.req("SKL-4", "SUR-2")
def test_a_dry_run_prints_one_document_and_stores_nothing(embedded: Runlore, sessions: Path) -> None:
    told = embedded.json("learn", "--dry-run")

    assert told.keys() >= DOCUMENT
    assert (told["sessions"], told["runs"], told["lines_skipped"]) == (3, 3, 0)
    assert told["suggestions"]
    for suggestion in told["suggestions"]:
        assert suggestion.keys() >= SUGGESTION
        assert suggestion["trigger"].keys() == {"topic", "actions"}
        assert suggestion["provenance"].keys() == {"untrusted", "needs_review", "sources"}
        assert 0 <= suggestion["score"] <= 100
        for evidence in suggestion["evidence"]:
            assert {"session_id", "run_id", "event_numbers", "at", "project"} <= evidence.keys()
    assert not embedded.home.exists()


def test_what_a_person_sees_names_the_skills_what_was_read_and_what_is_next(
    embedded: Runlore, sessions: Path
) -> None:
    name = embedded.json("learn", "--dry-run")["suggestions"][0]["name"]

    dry = embedded.text("learn", "--dry-run")
    stored = embedded.text("learn")

    for shown in (dry, stored):
        assert name in shown
        assert "3 sessions" in shown
        assert "Claude Code" in shown
        assert "100.00 %" in shown
    assert "nothing was stored" in dry
    assert f"runlore skill suggestions show {name}" in stored
    assert "runlore inbox  asks you about all that waits" in stored
    assert "Stored 3 runs (a run is one request and all that followed).\n" in stored
    assert "Looked through 3 stored sessions: " in stored


@pytest.mark.req("SKL-2")
def test_a_stored_run_suggests_what_a_dry_run_shows(runlore: Runlore, sessions: Path) -> None:
    dry = runlore.json("learn", "--dry-run")

    stored = runlore.json("learn")

    assert said(stored["suggestions"]) == dry["suggestions"]
    assert (stored["sessions"], stored["runs"], stored["stored"]) == (3, 3, 3)
    assert stored["new"] == [each["name"] for each in dry["suggestions"]]


def test_one_process_and_several_tell_the_same(sessions: Path) -> None:
    write_session(sessions, "alone", [("Look at it", [("make check", "ok", 0), ("false", "no", 1)])])
    sources = list(local_transcripts().find([str(sessions)]))

    alone, several = look_through(sources, workers=1), look_through(sources, workers=3)

    assert alone == several
    assert [serialize(each) for each in alone.suggestions]


def test_a_second_run_reads_only_what_is_new(runlore: Runlore, sessions: Path) -> None:
    first = runlore.json("learn")
    second = runlore.json("learn")
    added = add_turns(sessions / "release-1.jsonl", [("And again", [("make check", "ok", 0)])])
    third = runlore.json("learn")

    assert first["bytes"] == sum(path.stat().st_size for path in sessions.iterdir()) - added
    assert (second["bytes"], second["unchanged"], second["stored"]) == (0, 3, 0)
    assert said(second["suggestions"]) == said(first["suggestions"])
    assert second["new"] == []
    assert (third["bytes"], third["unchanged"], third["stored"]) == (added, 2, 1)


def test_a_file_that_was_replaced_is_read_anew_and_nothing_is_stored_twice(
    embedded: Runlore, sessions: Path
) -> None:
    embedded.json("learn")
    path = sessions / "release-0.jsonl"
    told = path.read_text()
    write_session(sessions, "other", [("Something else entirely", [("make other", "ok", 0)])])
    (sessions / "other.jsonl").rename(path)

    replaced = embedded.json("learn")
    path.write_text(told)
    settle(path)
    back = embedded.text("learn")

    assert (replaced["stored"], replaced["known"]) == (1, 0)
    assert "Stored 0 runs (a run is one request and all that followed); 1 more was stored before.\n" in back


def test_what_may_still_be_written_is_left_for_the_next_time(embedded: Runlore, sessions: Path) -> None:
    path = sessions / "release-2.jsonl"
    path.touch()

    first = embedded.json("learn")
    add_turns(path, [("And then", [("make check", "ok", 0)])])
    second = embedded.json("learn")

    assert (first["stored"], first["left"]) == (2, {"unfinished": 1})
    assert (second["stored"], second["left"]) == (2, {})
    assert embedded.json("learn", "--dry-run")["runs"] == 4


def test_since_takes_times_and_whiles_and_leaves_positions_right(embedded: Runlore, sessions: Path) -> None:
    (sessions / "release-0.jsonl").touch()

    assert embedded.json("learn", "--dry-run", "--since", "24h")["files"] == 1
    assert embedded.json("learn", "--dry-run", "--since", "7d")["files"] == 1
    assert embedded.json("learn", "--dry-run", "--since", "2026-10-09")["files"] == 3
    assert embedded.json("learn", "--since", "2026-10-11")["stored"] == 0
    assert embedded.json("learn")["stored"] == 2


@pytest.mark.parametrize("when", ["yesterday", "7x", "-7d", "", "99999999d", "2026-13-01"])
def test_a_while_that_is_none_is_refused(embedded: Runlore, sessions: Path, when: str) -> None:
    failure = embedded.fails("learn", "--dry-run", f"--since={when}")

    assert (failure.exit_code, failure.code) == (2, "time.format")
    assert "7d, 24h" in failure.said


def test_without_any_session_it_says_where_it_looked(embedded: Runlore, clean_home: Path) -> None:
    for words in ((), ("--dry-run",)):
        shown = embedded.text("learn", *words)
        assert "No session of any agent was found" in shown
        assert str(clean_home / ".claude" / "projects") in shown
        assert str(clean_home / ".codex" / "sessions") in shown
    told = embedded.json("learn", "--dry-run")

    assert (told["sessions"], told["runs"], told["suggestions"]) == (0, 0, [])
    (clean_home / "empty").mkdir()
    named = embedded.text("learn", "--dry-run", str(clean_home / "empty"))
    assert f"found in {clean_home / 'empty'}." in named


def test_a_path_that_names_nothing_is_refused(embedded: Runlore, clean_home: Path) -> None:
    for words in ((), ("--dry-run",)):
        failure = embedded.fails("learn", str(clean_home / "nowhere"), *words)
        assert (failure.exit_code, failure.code) == (2, "learn.path")


def test_a_dry_run_asks_no_model(embedded: Runlore) -> None:
    assert embedded.fails("learn", "--dry-run", "--enhance").code == "usage"


def test_what_no_reader_knows_is_named_and_not_a_failure(embedded: Runlore, sessions: Path) -> None:
    (sessions / "cursor.jsonl").write_text('{"role": "user", "message": {"content": "hello"}}\n')
    (sessions / "noise.jsonl").write_bytes(bytes(range(256)) * 40)

    told = embedded.json("learn", "--dry-run")
    shown = embedded.text("learn", "--dry-run")

    assert told["sessions"] == 3
    assert {Path(each["path"]).name: each["looks_like"] for each in told["unsupported"]} == {
        "cursor.jsonl": "Cursor",
        "noise.jsonl": "",
    }
    assert "1 file that looks like Cursor" in shown
    assert "noise.jsonl" in shown


def test_lines_that_are_not_understood_are_counted_by_reason(embedded: Runlore, sessions: Path) -> None:
    path = sessions / "release-0.jsonl"
    path.write_text(path.read_text() + "not JSON at all\n" + '{"type": 7}\n')

    told = embedded.json("learn", "--dry-run")

    assert told["lines_skipped"] >= 1
    agent = told["agents"][0]
    assert sum(agent["skipped"].values()) == agent["lines_skipped"] == told["lines_skipped"]
    shown = embedded.text("learn", "--dry-run")
    assert next(iter(agent["skipped"])) in shown
    assert "100.00 %" not in shown


def test_one_line_in_a_million_is_not_all_of_them() -> None:
    assert AgentRead(agent="codex", lines=1_000_000, skipped={"not JSON": 1}).understood_text == "99.99 %"
    assert AgentRead(agent="codex", lines=3, skipped={"not JSON": 3}).understood_text == "0.00 %"
    assert AgentRead(agent="codex").understood_text == "100.00 %"


@pytest.mark.req("CAP-7")
def test_a_folder_that_says_no_is_not_learned_from(embedded: Runlore, clean_home: Path) -> None:
    project = clean_home / "secret-project"
    project.mkdir()
    (project / ".runlore.toml").write_text("capture = false\n")
    transcripts = clean_home / "told"
    write_session(transcripts, "quiet", [("Do it", [("make build", "ok", 0)])], cwd=str(project))

    dry = embedded.json("learn", str(transcripts), "--dry-run")
    stored = embedded.json("learn", str(transcripts))

    assert dry["left"] == stored["left"] == {"folder": 1}
    assert (dry["runs"], stored["stored"]) == (0, 0)


@pytest.mark.req("SKL-4")
def test_no_secret_of_a_transcript_is_told_or_stored(embedded: Runlore, clean_home: Path) -> None:
    secret = "ghp_" + "k3J9x" * 7 + "Q"
    folder = clean_home / "told"
    for number in range(3):
        calls = [
            (f"export TOKEN={secret} && make deploy", "ok", 0),
            ("make check", f"token {secret}", 0),
            ("make publish", "ok", 0),
        ]
        write_session(folder, f"s{number}", [("Deploy", calls)])

    dry = json.dumps(embedded.json("learn", str(folder), "--dry-run"))
    stored = json.dumps(embedded.json("learn", str(folder)))

    assert secret not in dry + stored + str(embedded.contents())


@pytest.mark.req("SKL-4")
def test_a_project_is_told_by_a_name_that_people_know(embedded: Runlore, sessions: Path) -> None:
    stored = embedded.json("learn")["suggestions"]
    dry = embedded.json("learn", "--dry-run")["suggestions"]

    for suggestion in (*stored, *dry):
        assert "in `atlas`" in suggestion["body"] + suggestion["description"]
        assert {each["project_name"] for each in suggestion["evidence"]} == {"atlas"}
        assert "folder-" not in suggestion["body"] + suggestion["description"]
    shown = embedded.text("skill", "suggestions", "show", stored[0]["name"])
    assert "in atlas" in shown
    assert "folder-" not in shown


@pytest.mark.parametrize("options", [("--dry-run",), ()], ids=["dry run", "stored"])
def test_a_report_of_nothing_is_written_and_told(
    embedded: Runlore, clean_home: Path, options: tuple[str, ...]
) -> None:
    report = clean_home / "nothing.html"
    shown = embedded.text("learn", *options, "--report", str(report), columns=300)
    assert "No session of any agent was found" in shown
    assert f"The report is in {report}" in shown
    assert report.exists()


@pytest.mark.req("CAP-7")
def test_while_capture_is_paused_it_says_so_and_suggests_nothing(embedded: Runlore, sessions: Path) -> None:
    embedded.text("capture", "pause")
    told = embedded.json("learn", str(sessions))
    assert (told["paused"], told["stored"], told["suggestions"], told["new"]) == (True, 0, [], [])
    assert "Capture is paused: nothing new is stored or suggested." in embedded.text("learn", str(sessions))
    embedded.text("capture", "resume")
    told = embedded.json("learn", str(sessions))
    assert (told["paused"], bool(told["new"])) == (False, True)


@pytest.mark.req("CAP-10")
def test_what_is_too_old_for_a_run_memory_teaches_its_project_and_is_told(
    embedded: Runlore, clean_home: Path
) -> None:
    folder = clean_home / ".claude" / "projects" / "-srv-atlas"
    write_session(folder, "first", [("Remember that I deploy on Fridays", [])])
    dry = embedded.json("learn", "--dry-run")
    assert "1 run ended before the time that run memories" in embedded.text("learn", "--dry-run")
    told = embedded.json("learn")
    write_session(folder, "second", [("Please remember: the staging port is 5433", [])])
    text = embedded.text("learn")
    candidates = embedded.json("learning", "candidates", "list")["items"]

    assert (told["stored"], told["beyond_retention"], told["candidates"]) == (1, 1, 1)
    assert dry["beyond_retention"] == 1
    assert "1 run ended before the time that run memories are kept for" in text
    assert {(each["kind"], each["summary"]) for each in candidates} == {
        ("preference", "I deploy on Fridays"),
        ("fact", "the staging port is 5433"),
    }
    # A wish is the user's, wherever they work; how things are belongs to the project.
    assert {each["kind"]: each["scope"]["kind"] for each in candidates} == {
        "preference": "workspace",
        "fact": "project",
    }


@pytest.mark.req("SUR-7")
def test_lists_for_people_name_a_project_and_documents_its_id(embedded: Runlore, clean_home: Path) -> None:
    folder = clean_home / ".claude" / "projects" / "-srv-atlas"
    write_session(folder, "first", [("Please remember: the staging port is 5433", [])])
    embedded.json("learn")
    (waiting,) = embedded.json("memory", "review", "list")["items"]
    for waits in (("memory", "review", "list"), ("learning", "candidates", "list")):
        assert "project atlas" in (shown := embedded.text(*waits, columns=200))
        assert "folder-" not in shown
    embedded.json("memory", "review", "confirm", waiting["record_id"])
    for words in [("memory", "list"), ("learning", "list")]:
        assert "project atlas" in embedded.text(*words, columns=200)
        (told,) = embedded.json(*words)["items"]
        assert told["scope"]["id"].startswith("folder-")


def test_a_dry_run_leaves_alone_what_a_storing_run_does_and_both_say_until_when(
    embedded: Runlore, sessions: Path
) -> None:
    for path in sessions.iterdir():
        path.touch()

    dry, stored = embedded.json("learn", "--dry-run"), embedded.json("learn")

    for told in (dry, stored):
        assert (told["left"], told["suggestions"], told["runs"]) == ({"unfinished": 3}, [], 0)
        assert told["settles_at"] is not None
    assert "read from 20" in embedded.text("learn", "--dry-run")


@pytest.mark.req("SKL-6")
@pytest.mark.parametrize("decision", ["saved", "skipped"])
def test_what_was_decided_before_is_told_alike_and_waits_for_nobody(
    embedded: Runlore, sessions: Path, decision: str
) -> None:
    name = embedded.json("learn")["suggestions"][0]["name"]
    if decision == "saved":
        embedded.json("skill", "save", name, "--name", "ship-it", "--accept-untrusted")
    else:
        embedded.json("skill", "skip", name)

    # What has come since counts with it, whether it is stored or only looked at.
    releases(sessions, 5)
    shown = embedded.text("learn", "--dry-run")
    dry, stored = embedded.json("learn", "--dry-run"), embedded.json("learn")
    assert [line for line in shown.splitlines() if "Left alone" in line] == [
        line for line in embedded.text("learn").splitlines() if "Left alone" in line
    ]

    assert dry["decided"] == stored["decided"]
    (told,) = dry["decided"]
    assert (told["name"], told["state"]) == (name, decision)
    assert said(dry["suggestions"]) == said(stored["suggestions"]) == []
    assert "puts these into the review queue" not in shown
    if decision == "saved":
        assert f"Left alone: {name}, already saved as ship-it (seen 5 times in 5 sessions)." in shown
    else:
        assert told["until"] is not None
        assert f"Left alone: {name}, skipped until 20" in shown


# Sessions, each with what its user asks, run by run.
TALKS: dict[str, dict[str, list[str]]] = {
    "nothing": {"a": ["Fix the build"]},
    "remember": {"a": ["Remember that I deploy on Fridays", "Please remember: the staging port is 5433"]},
    "errand": {"a": ["Remember to buy milk", "Always run the linter before you push."]},
    "said twice": {"a": ["I prefer tabs over spaces."], "b": ["I prefer tabs over spaces."]},
    "recurring": {
        name: [text]
        for name, text in zip(
            "abc",
            (
                "Please check that the commit compiles.",
                "Can you see that the commit compiles?",
                "The commit has to compile before the push.",
            ),
            strict=True,
        )
    },
    "the same thrice": {name: ["Always bump the minor version."] for name in "abc"},
    "label": {"a": ["Fact: the codename is Atlas", "We use pnpm here, not npm."]},
    "skill": {"a": ["Save this as a skill: restart the worker, then the web server, then look at the log."]},
    "secret": {"a": ["Always use the token ghp_16C7e42F292c6912E7710c838347Ae178B4a to push."]},
    "many": {
        "a": ["Never push to main directly. Don't use mocks in tests. Make sure every test has a name."]
    },
}


@pytest.mark.req("CAP-8", "SKL-4")
@pytest.mark.parametrize("semantic", [False, True])
def test_a_dry_run_lists_exactly_what_learning_right_after_it_proposes(
    embedded: Runlore, clean_home: Path, semantic: bool
) -> None:
    def proposed() -> dict[str, tuple[object, ...]]:
        states = ("--state", "constrained", "--state", "tombstoned", "--limit", "200")
        found = embedded.json("learning", "candidates", "list", *states)["items"]
        return {
            each["record_id"]: (each["kind"], each["summary"], each["scope"]["kind"], each["confidence"])
            for each in found
            if each.get("proposal") is None and each["kind"] != "run_summary"
        }

    folder = clean_home / ".claude" / "projects" / "-srv-atlas"
    policy = clean_home / "policy.json"
    policy.write_text(json.dumps({"capture": {"semantic_candidates": {"enabled": semantic}}}))
    embedded.json("policy", "set", "learning", str(policy))
    before: dict[str, tuple[object, ...]] = {}
    listed: set[str] = set()
    for name, talk in TALKS.items():
        for session, asked in talk.items():
            write_session(folder, f"{name} {session}".replace(" ", "-"), [(text, []) for text in asked])

        dry = embedded.json("learn", "--dry-run")["statements"]
        told = embedded.json("learn")

        after = proposed()
        new = [said for record_id, said in after.items() if record_id not in before]
        shown = [tuple(each[part] for part in ("kind", "text", "scope", "confidence")) for each in dry]
        assert sorted(shown) == sorted(new), name
        own = [said for said in new if said[0] != "procedure"]
        assert told["statements"] == len(own), "a procedure is no sentence of the user's"
        assert told["first_statement"] in [said[1] for said in (*new, ("", ""))], name
        assert all(each["why"] for each in dry if each["kind"] != "procedure" and not semantic), name
        before, listed = after, listed | {name for _ in new}
    assert listed == set(TALKS) - {"nothing", "secret"}
    # What waits is not listed again, nor is what was turned down, though another session says it.
    rejected = next(record_id for record_id, said in before.items() if "tabs" in str(said[1]))
    embedded.json("memory", "review", "reject", rejected)
    write_session(folder, "again", [("I prefer tabs over spaces.", []), ("Don't use mocks in tests.", [])])
    assert embedded.json("learn", "--dry-run")["statements"] == []
    embedded.json("learn")
    assert proposed().keys() == before.keys()
