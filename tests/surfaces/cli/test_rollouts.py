"""`runlore skill rollout`: from a procedure to a skill on the command line, with what each step shows."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.model_server import ModelServer, Received, Reply, calls, hangs, model_server, says
from tests.surfaces.agent_runs import MARKER, Working, obedient
from tests.surfaces.at_terminal import CTRL_C, here
from tests.surfaces.command_line import Json, Runlore

pytestmark = pytest.mark.req("ROL-13", "SUR-7")


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A model that does what it is told."""
    with model_server(obedient) as made:
        yield made


@pytest.fixture
def working(clean_home: Path, server: ModelServer) -> Working:
    """A Runlore with that model."""
    return Working(clean_home / "runlore", server)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder to try skills in."""
    folder = tmp_path / "place"
    folder.mkdir()
    return folder


def procedure(
    runlore: Runlore, text: str = "Run the tests, then tag the commit", kind: str = "procedure"
) -> str:
    """The id of something that was published."""
    made = runlore.json("learning", "candidates", "create", text, "--kind", kind)
    return str(runlore.json("learning", "candidates", "publish", made["record_id"])["record_id"])


def rollout(runlore: Runlore, *words: str) -> Json:
    """A step that succeeds, with what it answers a program."""
    return runlore.json("skill", "rollout", *words)


@pytest.mark.req("ROL-2", "ROL-3", "ROL-4", "ROL-7", "ROL-8")
def test_a_procedure_becomes_a_skill_step_by_step(working: Working, place: Path) -> None:
    learning = procedure(working)
    canary = working.json("session", "create", "--working-folder", str(place))["session_id"]

    draft = rollout(working, "start", learning, "release-it", "--description", "Releases it.")
    proved = rollout(
        working, "trial", "release-it", "Release 1.2", "--folder", str(place), "--record", MARKER
    )
    verified = rollout(working, "advance", "release-it", "verified")
    shown = rollout(working, "advance", "release-it", "canary", "--session", canary)
    tried = rollout(working, "trial", "release-it", "Release 1.3", "--session", canary)
    run_id = tried["run"]["run_id"]
    rollout(working, "record", "release-it", run_id, "--kind", "canary", "--marker", MARKER)
    active = rollout(working, "advance", "release-it", "active")
    names = [skill["name"] for skill in working.items("skill", "list")]
    revoked = rollout(working, "revoke", "release-it", "--reason", "it broke")
    gone = working.items("skill", "list")
    back = rollout(working, "rollback", "release-it")

    assert draft["instructions"] == "Run the tests, then tag the commit"
    assert [each["status"] for each in (draft, proved, verified, shown, active, revoked, back)] == [
        *("draft", "draft", "verified", "canary", "active", "revoked", "active"),
    ]
    assert (shown["canary"]["sessions"], proved["evidence"][0]["success"]) == ([canary], True)
    assert (tried["final_output"].endswith(MARKER), names, gone) == (True, ["release-it"], [])
    assert rollout(working, "status", "release-it") == back
    history = working.items("skill", "rollout", "history", "release-it")
    assert (history[0]["skill"], history[-1]["skill"]) == (draft, back)
    assert [each["skill_name"] for each in working.items("skill", "rollout", "status")] == ["release-it"]


def test_each_step_tells_a_person_where_it_stands_and_what_comes_next(working: Working, place: Path) -> None:
    learning = procedure(working)
    run = working.text
    started = run(
        *("skill", "rollout", "start", learning, "release-it", "Do it", "--allow-tool", "shell"),
        *("--block-tool", "scratch", "--version", "2.0.0"),
    )
    tried = working.run("skill", "rollout", "trial", "release-it", "Go", "--folder", str(place))
    recorded = working.run(
        *("skill", "rollout", "trial", "release-it", "Go", "--folder", str(place), "--record", MARKER)
    )
    moved = run("skill", "rollout", "advance", "release-it", "verified")
    shared = run("skill", "rollout", "advance", "release-it", "canary", "--share", "25")
    listed = run("skill", "rollout", "status")
    whole = run("skill", "rollout", "status", "release-it")
    history = run("skill", "rollout", "history", "release-it")
    some = working.json("skill", "rollout", "history", "release-it", "--limit", "3")
    rest = run("skill", "rollout", "history", "release-it", "--cursor", some["next_cursor"])
    revoked = run("skill", "rollout", "revoke", "release-it", "--reason", "it broke ✓")

    assert "release-it is draft" in started
    assert all(word in started for word in (learning, "fork, profile verification", "shell", "scratch"))
    assert "What next: runlore skill rollout trial release-it INPUT --record MARKER" in started
    assert (tried.code, MARKER in tried.out) == (0, True)
    assert "To record it: runlore skill rollout record release-it run_" in tried.err
    assert "Recorded a verification of release-it by run_" in recorded.out
    assert ": success\nWhat next: runlore skill rollout advance release-it verified\n" in recorded.out
    assert "release-it is verified\nWhat next: runlore skill rollout advance release-it canary" in moved
    assert "Seen by: 25% of all sessions" in shared
    assert "What next: runlore skill rollout trial release-it INPUT --session ID --kind canary" in shared
    assert "1 good, 0 bad" in listed
    assert all(word in whole for word in ("2.0.0", "Do it", "verification went well", "Evidence:"))
    assert [line.split()[4] for line in history.splitlines()[1:]] == ["draft", "draft", "verified", "canary"]
    assert ([each["number"] for each in some["items"]], rest.split()[-4:-3]) == ([1, 2, 3], ["canary"])
    begin = f"To begin again: runlore skill rollout start {learning} release-it\n"
    assert f"release-it is revoked: it broke ✓\n{begin}" in revoked


def test_instructions_come_from_words_a_file_or_the_procedure(working: Working, tmp_path: Path) -> None:
    learning, file = procedure(working), tmp_path / "words.md"
    file.write_text("From a file ✓\n")

    assert rollout(working, "start", learning, "two")["instructions"] == "Run the tests, then tag the commit"
    assert rollout(working, "start", learning, "two", "In words")["instructions"] == "In words"
    assert rollout(working, "start", learning, "two", "--file", str(file))["instructions"] == "From a file ✓"
    again = rollout(working, "start", learning, "two", "--description", "Other.")
    assert (again["instructions"], again["description"]) == ("From a file ✓", "Other.")
    assert working.fails("skill", "rollout", "start", learning, "x", "a", "--file", str(file)).exit_code == 2
    assert working.fails("skill", "rollout", "start", "none", "x").code == "record.not-found"


def test_what_is_promoted_again_keeps_what_is_left_out(working: Working) -> None:
    learning = procedure(working)
    first = rollout(
        *(working, "start", learning, "one", "In words", "--description", "It does.", "--model", "m"),
        *("--provider", "test", "--fallback-model", "test:other", "--when-to-use", "On Mondays"),
    )

    again = rollout(working, "start", learning, "one", "In other words")

    assert again["definition_fingerprint"] != first["definition_fingerprint"]
    kept = {name: first[name] for name in ("description", "when_to_use", "runtime", "version")}
    assert {name: again[name] for name in kept} == kept


def test_tools_are_named_kept_and_cleared(working: Working) -> None:
    learning = procedure(working)
    start = ("start", learning, "one", "In words")

    told = [
        rollout(working, *start, *words)["runtime"]
        for words in (
            ("--allow-tool", "shell", "--allow-tool", "read_file", "--block-tool", "scratch"),
            (),
            ("--allow-tool", "", "--block-tool", ""),
        )
    ]

    assert told[0] == told[1]
    assert [(each["allowed_tools"], each["blocked_tools"]) for each in told] == [
        *([(["shell", "read_file"], ["scratch"])] * 2),
        ([], []),
    ]


MISTAKES: list[tuple[tuple[str, ...], int, str | None]] = [
    (("status", "none"), 5, "promoted.not-found"),
    (("history", "none"), 5, "promoted.not-found"),
    (("history", "one", "--limit", "0"), 2, "limit.range"),
    (("history", "one", "--cursor", "what?"), 2, "cursor.format"),
    (("revoke", "none"), 5, "promoted.not-found"),
    (("rollback", "one"), 6, "promoted.no-snapshot"),
    (("advance", "one", "active"), 6, None),
    (("advance", "one", "nowhere"), 2, "word.unknown"),
    (("advance", "one", "canary", "--share", "x"), 2, "number.format"),
    (("advance", "one", "draft", "--expected-revision", "9"), 6, "promoted.moved"),
    (("trial", "none", "Go"), 5, "promoted.not-found"),
    (("trial", "one", "Go", "--session", "s", "--folder", "."), 2, "usage"),
    (("trial", "one", "Go", "--session", "none"), 5, "session.not-found"),
    (("trial", "one", "Go", "--record", "x", "--kind", "what"), 2, "word.unknown"),
    (("trial", "one", "Go", "--kind", "canary"), 2, "usage"),
    (("record", "one", "none", "--marker", "abc"), 5, "run.not-found"),
    (("record", "one", "none"), 2, "usage"),
    (("start", "none", "x", "words"), 5, "record.not-found"),
    (("status", "--status", "what"), 2, "word.unknown"),
]


def test_a_mistake_is_told_with_its_code(working: Working) -> None:
    rollout(working, "start", procedure(working), "one", "In words")
    before = working.contents()["tables"]

    for words, exit_code, code in MISTAKES:
        failure = working.fails("skill", "rollout", *words)

        assert (failure.exit_code, code in (None, failure.code)) == (exit_code, True), (words, failure)
        assert failure.said
    assert working.contents()["tables"] == before


@pytest.mark.req("ROL-1")
def test_only_a_published_procedure_is_promoted(working: Working) -> None:
    fact = procedure(working, "The codename is Atlas", kind="fact")
    waiting = working.json("learning", "candidates", "create", "Tag it", "--kind", "procedure")["record_id"]

    for learning in (fact, waiting):
        failure = working.fails("skill", "rollout", "start", learning, "one", "In words")
        assert failure.exit_code in (2, 6), failure
    assert working.items("skill", "rollout", "status") == []


@pytest.mark.req("ROL-6")
def test_a_trial_that_does_not_say_the_marker_proves_nothing(working: Working, place: Path) -> None:
    rollout(working, "start", procedure(working), "one", "In words")

    failure = working.fails(
        *("skill", "rollout", "trial", "one", "Go", "--folder", str(place), "--record", "never said")
    )

    assert failure.exit_code in (2, 6)
    assert rollout(working, "status", "one")["evidence"] == []


def in_canary(runlore: Runlore, place: Path) -> str:
    """A session that sees the skill `one` as a canary."""
    session = str(runlore.json("session", "create", "--working-folder", str(place))["session_id"])
    rollout(runlore, "start", procedure(runlore), "one", "In words")
    rollout(runlore, "trial", "one", "Go", "--folder", str(place), "--record", MARKER)
    rollout(runlore, "advance", "one", "verified")
    rollout(runlore, "advance", "one", "canary", "--session", session)
    return session


@pytest.mark.req("ROL-4", "ROL-6")
def test_a_canary_that_fails_is_told_kept_and_ends_with_a_code(working: Working, place: Path) -> None:
    session = in_canary(working, place)
    words = ("skill", "rollout", "trial", "one", "Go", "--session", session, "--kind", "canary", "--record")

    bad = working.run(*words, "never said")

    assert bad.code == 1
    assert "Recorded a canary of one by run_" in bad.out
    assert (
        f": failure\nWhat next: runlore skill rollout start {learning_of(working)} one OTHER_WORDS\n"
        in bad.out
    )
    assert working.run(*words, MARKER).code == 0
    assert working.fails("skill", "rollout", "advance", "one", "active").code == "promoted.failed"


def learning_of(runlore: Runlore) -> str:
    """What the skill `one` was made of."""
    return str(rollout(runlore, "status", "one")["source_record_id"])


@pytest.mark.req("ROL-6")
def test_a_trial_that_somebody_stops_is_no_evidence(clean_home: Path, place: Path) -> None:
    def slow_at_last(received: Received) -> Reply:
        said = received.conversation
        if "stop me" not in str(said[0]):
            return obedient(received)
        return hangs() if len(said) > 1 else says("I begin. ") + calls("list_skills")

    with model_server(slow_at_last) as server:
        working = Working(clean_home / "runlore", server)
        session = in_canary(working, place)
        before = rollout(working, "status", "one")
        seen = here(
            *(working, "skill", "rollout", "trial", "one", "stop me", "--session", session),
            *("--kind", "canary", "--record", MARKER),
            then=CTRL_C,
        )

    assert seen.code == 130
    assert "The run was cancelled" in seen.text
    assert "Recorded" not in seen.text
    assert rollout(working, "status", "one") == before


@pytest.mark.req("AGT-3")
def test_without_a_model_nothing_can_be_tried_and_all_else_works(embedded: Runlore, place: Path) -> None:
    rollout(embedded, "start", procedure(embedded), "one", "In words")

    failure = embedded.fails("skill", "rollout", "trial", "one", "Go", "--folder", str(place))

    assert (failure.exit_code, failure.code) == (3, "model.none")
    assert rollout(embedded, "revoke", "one")["status"] == "revoked"
