"""What is refused: with which exit code, code, sentence and hint, and with nothing written."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from runlore.cli.failures import EXIT_CODES, report, report_failure
from runlore.domain import errors
from tests.surfaces.command_line import Runlore

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
PASSWORD = "kP9x2mQ7vL4nR8wT3yB6"
SAID_CHARS_MAX = 600
FINDING = {
    "summary": "Atlas plans with a queue",
    "repo_slug": "acme/atlas",
    "source_handle": "hn",
    "source_url": "https://example.org/1",
}


@dataclass(frozen=True)
class Case:
    """A command, and what it is refused with. `{active}` and `{waiting}` stand for two records' ids."""

    words: tuple[str, ...]
    exit_code: int
    code: str
    sentence: str
    hint: str

    def __str__(self) -> str:
        return f"{' '.join(self.words)[:60]} -> {self.code}"


def propose(*more: str, key: str = "shell", value: str = "fish", reason: str = "why") -> tuple[str, ...]:
    """The words of a proposal."""
    return ("memory", "profile", "propose", "--key", key, "--value", value, "--reason", reason, *more)


def episode(*more: str, text: str = "it worked") -> tuple[str, ...]:
    """The words that add an episode."""
    return ("memory", "episode", "add", text, *more)


def radar(**fields: str) -> tuple[str, ...]:
    """The words that take a finding in, field by field."""
    given = {**FINDING, **fields}
    return ("memory", "radar", "add", *(w for n, v in given.items() for w in (f"--{n.replace('_', '-')}", v)))


def nested(depth: int) -> str:
    """An object inside an object, so many levels deep."""
    return '{"a":' * depth + "1" + "}" * depth


LAYERS = "working, episodic, profile, semantic, procedural"
STATES = "constrained, active, superseded, tombstoned"
SCOPES = "session, persona, project, workspace"

WRONG_WORDS = [
    Case(("memory", "list", "--layer", "long"), 2, "word.unknown", "'long' is not a layer", LAYERS),
    Case(("memory", "search", "x", "--layer", ""), 2, "word.unknown", "'' is not a layer", LAYERS),
    Case(("memory", "list", "--kind", "idea"), 2, "word.unknown", "'idea' is not a kind", "fact, decision"),
    Case(("memory", "review", "list", "--kind", "x"), 2, "word.unknown", "'x' is not a kind", "fact"),
    Case(episode("--kind", "party"), 2, "word.unknown", "'party' is not a kind", "experiment"),
    Case(episode("--kind", "fact"), 2, "episode.kind", "fact is not a kind of episode", "failure"),
    Case(episode("--kind", "run_summary"), 2, "episode.kind", "run_summary is not", "experiment"),
    Case(("memory", "list", "--state", "done"), 2, "word.unknown", "'done' is not a state", STATES),
    Case(("memory", "search", "x", "--status", "Active"), 2, "word.unknown", "'Active'", STATES),
    Case(
        ("memory", "list", "--scope", "team:a"),
        2,
        "scope.kind",
        f"'team' is not a scope kind; there are {SCOPES}",
        "project:acme",
    ),
    Case(
        propose("--scope", "workspace:mine"),
        2,
        "scope.workspace-id",
        "always 'default', not 'mine'",
        "--scope workspace",
    ),
    Case(episode("--scope", "workspace:x"), 2, "scope.workspace-id", "always 'default'", "--scope workspace"),
    Case(
        ("memory", "semantic", "compact", "--scope", "workspace:x"),
        2,
        "scope.workspace-id",
        "'x'",
        "workspace",
    ),
    Case(propose("--scope", "project"), 2, "scope.id", "the project scope's id is blank", "project:ID"),
    Case(propose("--scope", "project: a"), 2, "scope.id", "outer white space", "project:ID"),
    Case(
        propose("--scope", "session:" + "a" * 201), 2, "scope.id", "201 characters, more than 200", "shorter"
    ),
    Case(("memory", "list", "--limit", "x"), 2, "number.format", "--limit is 'x'", "digits"),
    Case(("memory", "list", "--limit", "1.5"), 2, "number.format", "--limit is '1.5'", "digits"),
    Case(("memory", "list", "--limit", "9" * 30), 2, "number.format", "not a whole number", "digits"),
    Case(("memory", "list", "--limit", "0"), 2, "limit.range", "the limit is 0, outside 1 to 500", "500"),
    Case(("memory", "review", "list", "--limit", "-1"), 2, "limit.range", "the limit is -1", "500"),
    Case(
        ("memory", "search", "x", "--limit", "51"), 2, "limit.range", "the limit is 51, outside 1 to 50", "50"
    ),
    Case(
        ("memory", "list", "--cursor", "!"), 2, "cursor.format", "not one that this list gave", "next_cursor"
    ),
    Case(
        ("memory", "list", "--cursor", ""), 2, "cursor.format", "not one that this list gave", "next_cursor"
    ),
    Case(
        ("memory", "list", "--as-of", "last week"),
        2,
        "time.format",
        "'last week' is not a time",
        "2026-11-15",
    ),
    Case(
        ("memory", "search", "x", "--as-of", "12:30"), 2, "time.format", "'12:30' is not a time", "2026-11-15"
    ),
    Case(("memory", "inspect", "{active}", "--as-of", "2026-13-01"), 2, "time.format", "not a time", "2026"),
    Case(
        (
            "memory",
            "search",
        ),
        2,
        "query.count",
        "no query was given",
        "memory search",
    ),
    Case(("memory", "search", "a", "--query", "b"), 2, "query.count", "more than one query", "memory search"),
    Case(("memory", "search", "  "), 2, "query.blank", "the query is blank", "look for"),
    Case(("memory", "search", "x" * 4001), 2, "query.long", "4,001 characters, more than 4,000", "words"),
]

WRONG_CONTENT = [
    Case(episode(text=" \n "), 2, "record.summary-blank", "the content is blank", "remembered"),
    Case(episode(text="x" * 1601), 2, "record.summary-long", "1,601 characters, more than 1,600", "shorten"),
    Case(propose(value="x" * 1594), 2, "record.summary-long", "1,601 characters", "shorten"),
    Case(propose(value=""), 2, "profile.value", "the value of a profile proposal is blank", "--value"),
    Case(propose(key=" "), 2, "profile.key", "the key of a profile proposal is blank", "--key"),
    Case(propose(reason="\t"), 2, "profile.reason", "the reason of a profile proposal is blank", "--reason"),
    Case(propose(key="k" * 201), 2, "profile.key", "201 characters, more than 200", "a word or two"),
    Case(propose(reason="y" * 1001), 2, "reason.long", "1,001 characters, more than 1,000", "shorten"),
    Case(propose("--confidence", "101"), 2, "record.confidence", "101", "80"),
    Case(propose("--confidence", "high"), 2, "number.format", "--confidence is 'high'", "digits"),
    Case(propose("--expires-at", "2001-01-01"), 2, "record.expires-at", "in the past", "later"),
    Case(propose("--idempotency-key", " "), 2, "idempotency.key", "is blank", "random"),
    Case(
        ("memory", "review", "confirm", "{waiting}", "--summary", " "),
        2,
        "record.summary-blank",
        "blank",
        "remembered",
    ),
    Case(
        ("memory", "review", "confirm", "{waiting}", "--summary", "x" * 1601),
        2,
        "record.summary-long",
        "1,601",
        "shorten",
    ),
    Case(episode("--metadata", "{"), 2, "json.format", "--metadata is not JSON", "--metadata '{"),
    Case(episode("--metadata", "[1]"), 2, "json.format", "not an object", "--metadata '{"),
    Case(episode("--metadata", nested(7)), 2, "record.metadata-depth", "more than 6 levels", "flatten"),
    Case(episode("--metadata", nested(2000)), 2, "json.format", "--metadata is not JSON", "--metadata '{"),
    Case(
        episode("--metadata", json.dumps({"a": "x" * 40_000})),
        2,
        "record.metadata-size",
        "40,0",
        "evidence_refs",
    ),
    Case(episode("--metadata", '{"a": "\\u0000"}'), 2, "text.characters", "NUL", "remove"),
    Case(radar(summary=" "), 2, "radar.finding", "finding.summary must be a text", "repo_slug"),
    Case(radar(repo_slug=""), 2, "radar.finding", "finding.repo_slug must be a text", "repo_slug"),
    Case(radar(source_handle=""), 2, "radar.finding", "finding.source_handle", "source_handle"),
    Case(radar(source_url=""), 2, "radar.finding", "finding.source_url", "source_url"),
    Case(radar(confidence="101"), 2, "radar.finding", "finding.confidence", "confidence"),
    Case(radar(topic_tag=" "), 2, "radar.finding", "finding.topic_tags", "topic_tags"),
    Case(radar(evidence_ref=""), 2, "radar.finding", "finding.evidence_refs", "evidence_refs"),
    Case(radar(summary="x" * 1601), 2, "record.summary-long", "1,601", "shorten"),
    Case(("memory", "radar", "add"), 2, "radar.finding", "finding.summary", "summary"),
    Case(
        (*radar(), "--file", "x.json"),
        2,
        "radar.file",
        "a file of findings and the fields of one",
        "--file alone",
    ),
    Case(("memory", "radar", "add", "--file", "missing.json"), 2, "radar.file", "No such file", "path"),
    Case(("memory", "radar", "add", "--file", "/"), 2, "radar.file", "Is a directory", "path"),
]

WRONG_MOVES = [
    Case(
        ("memory", "review", "reject", "{active}"), 6, "record.move", "{active} is active; reject", "rollback"
    ),
    Case(
        ("memory", "rollback", "{waiting}"), 6, "record.move", "{waiting} is constrained; rollback", "confirm"
    ),
    Case(("memory", "restore", "{active}"), 6, "record.move", "{active} is active; restore", "rollback"),
    Case(("memory", "restore", "{waiting}"), 6, "record.move", "{waiting} is constrained", "confirm"),
    Case(
        ("memory", "rollback", "{episode}"),
        6,
        "record.layer-move",
        "{episode} is active in the episodic layer",
        "profile",
    ),
    Case(
        ("memory", "radar", "adopt", "{active}"),
        2,
        "radar.not-a-finding",
        "{active} is not a radar finding",
        "radar add",
    ),
    Case(
        ("memory", "radar", "undo", "{active}"), 2, "radar.not-a-finding", "not a radar finding", "radar add"
    ),
    Case(
        ("memory", "review", "confirm", "{waiting}", "--supersedes", "{episode}"),
        6,
        "review.supersedes",
        "experiment, not a preference",
        "same scope and kind",
    ),
    Case(
        ("memory", "review", "confirm", "{waiting}", "--supersedes", "rec_x"),
        5,
        "record.not-found",
        "rec_x",
        "memory list",
    ),
    *(
        Case((*words, "--expected-revision", "7"), 6, "record.revision", "not 7", "read it again")
        for words in (
            ("memory", "review", "confirm", "{waiting}"),
            ("memory", "review", "reject", "{waiting}"),
            ("memory", "rollback", "{active}"),
            ("memory", "restore", "{active}"),
            ("memory", "forget", "{active}", "--yes"),
            ("memory", "forget", "{active}", "--dry-run"),
        )
    ),
    Case(
        ("memory", "rollback", "{active}", "--expected-revision", "new"),
        2,
        "number.format",
        "'new'",
        "digits",
    ),
]

SECRETS = [
    propose(value=TOKEN),
    propose(key=TOKEN),
    propose(reason=f"from {TOKEN}"),
    episode(text=f"pushed with {TOKEN}"),
    episode("--metadata", json.dumps({"deep": {"token": TOKEN}})),
    episode("--metadata", json.dumps({TOKEN: 1})),
    episode("--metadata", json.dumps({"clientSecret": PASSWORD})),
    radar(summary=f"use {TOKEN}"),
    radar(source_handle=TOKEN),
    radar(source_url=f"https://me:{TOKEN}@example.org/"),
    radar(topic_tag=TOKEN),
    radar(evidence_ref=TOKEN),
    ("memory", "review", "confirm", "{waiting}", "--summary", f"shell: {TOKEN}"),
    ("memory", "review", "confirm", "{waiting}", "--reason", TOKEN),
    ("memory", "review", "reject", "{waiting}", "--reason", TOKEN),
    ("memory", "rollback", "{active}", "--reason", TOKEN),
    ("memory", "forget", "{active}", "--reason", TOKEN, "--yes"),
]

UNKNOWN_IDS = [
    "rec_00000000000000000000000000",
    "x",
    "",
    "a b",
    "\0",
    "\udcff",
    "x" * 10_000,
    "中",
    "%",
    "'--",
]
ID_COMMANDS = [
    ("inspect",),
    ("history",),
    ("review", "confirm"),
    ("review", "reject"),
    ("rollback",),
    ("restore",),
    ("forget",),
    ("radar", "adopt"),
    ("radar", "undo"),
    ("review", "confirm", "{waiting}", "--supersedes"),
]

WRONG_USE = [
    (("recall",), "no such command 'recall'", "`runlore --help`"),
    (("memory", "lst"), "no such command 'lst'. Did you mean 'list'?", "`runlore memory --help`"),
    (("memory", "list", "--colour"), "no such option: --colour", "`runlore memory list --help`"),
    (("memory", "list", "more"), "unexpected extra argument", "`runlore memory list --help`"),
    (("memory", "inspect"), "missing argument 'ID'", "`runlore memory inspect --help`"),
    (("memory", "profile", "propose", "--key", "a"), "missing option '--value'", "`runlore memory profile"),
    (("memory", "list", "\x1b[31m"), "unexpected extra argument", "`runlore memory list --help`"),
]


@pytest.fixture
def ids(runlore: Runlore) -> dict[str, str]:
    """An active record, one that waits for review and an episode."""
    return {
        "active": runlore.prefer("editor", "vim"),
        "waiting": runlore.propose("pager", "less"),
        "episode": runlore.json(*episode())["record_id"],
    }


@pytest.mark.req("SUR-2", "SUR-7", "REC-8", "REC-10", "SCO-1", "LAY-1", "LAY-6")
@pytest.mark.parametrize(
    "cases", [WRONG_WORDS, WRONG_CONTENT, WRONG_MOVES], ids=["words", "content", "moves"]
)
def test_bad_input_is_refused_and_nothing_is_written(
    cases: list[Case], runlore: Runlore, ids: dict[str, str]
) -> None:
    before = runlore.contents()

    for case in cases:
        failure = runlore.fails(*(_filled(word, ids) for word in case.words))

        assert (failure.exit_code, failure.code) == (case.exit_code, case.code), case
        assert _filled(case.sentence, ids) in failure.problem["detail"], case
        assert case.hint in failure.problem["hint"], case
        assert len(failure.said) < SAID_CHARS_MAX, case
        assert runlore.contents() == before, case


@pytest.mark.req("LRN-8")
def test_a_secret_is_refused_and_not_repeated(runlore: Runlore, ids: dict[str, str]) -> None:
    before = runlore.contents()

    for words in SECRETS:
        filled = [_filled(word, ids) for word in words]
        failure, shown = runlore.fails(*filled), runlore.run(*filled)

        assert (failure.exit_code, failure.code) == (2, "guard.secret"), words
        assert "looks like it holds a secret" in failure.said, words
        for secret in (TOKEN, PASSWORD):
            assert secret not in failure.said + shown.out + shown.err, words
        assert runlore.contents() == before, words


@pytest.mark.req("SUR-7")
def test_an_id_that_names_nothing_is_not_found_whatever_its_form(
    runlore: Runlore, ids: dict[str, str]
) -> None:
    before = runlore.contents()

    for words in ID_COMMANDS:
        for record_id in UNKNOWN_IDS:
            failure = runlore.fails("memory", *(_filled(word, ids) for word in words), record_id)

            assert (failure.exit_code, failure.code) == (5, "record.not-found"), (words, record_id[:20])
            assert failure.problem["status"] == 404
            assert "memory list` shows the ids" in failure.problem["hint"]
            assert len(failure.said) < SAID_CHARS_MAX
    assert runlore.contents() == before


@pytest.mark.req("SUR-7")
@pytest.mark.parametrize(("words", "sentence", "hint"), WRONG_USE)
def test_words_that_make_no_command_are_invalid(
    words: tuple[str, ...], sentence: str, hint: str, embedded: Runlore
) -> None:
    failure, shown = embedded.fails(*words), embedded.run(*words)

    assert (failure.exit_code, failure.code) == (2, "usage")
    assert sentence in failure.problem["detail"]
    assert hint in failure.problem["hint"]
    assert shown.err.startswith("error: ")
    assert "\x1b" not in shown.err
    assert not embedded.home.exists()


@pytest.mark.req("SUR-2", "SUR-7")
def test_a_person_reads_a_sentence_its_code_and_a_hint(embedded: Runlore) -> None:
    record_id = embedded.prefer("editor", "vim")

    outcome = embedded.run("memory", "review", "reject", record_id)

    assert (outcome.code, outcome.out) == (6, "")
    error, hint = outcome.err.splitlines()
    assert error == f"error: record {record_id} is active; reject is not possible from there [record.move]"
    assert hint == "hint: from active these moves are possible: supersede, rollback, revoke, forget"


@pytest.mark.req("SUR-2")
def test_a_program_reads_the_problem_document(embedded: Runlore) -> None:
    failure = embedded.fails("memory", "inspect", "rec_1")

    assert list(failure.problem) == ["type", "title", "status", "code", "detail", "hint"]
    assert failure.problem["type"] == "urn:runlore:error:record.not-found"
    assert (failure.problem["title"], failure.problem["status"]) == ("Not found", 404)


@pytest.mark.req("SUR-7")
@pytest.mark.parametrize(
    ("kind", "exit_code", "status"),
    [
        (errors.Invalid, 2, 422),
        (errors.Refused, 2, 422),
        (errors.Unavailable, 3, 503),
        (errors.Denied, 4, 403),
        (errors.NotFound, 5, 404),
        (errors.Conflict, 6, 409),
        (errors.Corrupt, 1, 500),
        (errors.RunloreError, 1, 500),
    ],
)
def test_each_class_of_error_has_its_exit_code_and_status(
    kind: type[errors.RunloreError], exit_code: int, status: int, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert report(kind("it failed", code="a.b", hint="try"), as_json=True) == exit_code
    assert json.loads(capsysbinary.readouterr().err)["status"] == status


@pytest.mark.req("SUR-2", "SUR-7")
def test_what_nobody_foresaw_is_reported_as_a_mistake_of_runlore(
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    assert report_failure(ZeroDivisionError("by nothing"), as_json=True) == 1
    problem = json.loads(capsysbinary.readouterr().err)
    assert (problem["code"], problem["status"]) == ("internal", 500)
    assert "ZeroDivisionError: by nothing" in problem["detail"]
    assert report_failure(ZeroDivisionError("by nothing"), as_json=False) == 1
    assert b"ZeroDivisionError: by nothing" in capsysbinary.readouterr().err


@pytest.mark.req("SUR-7")
def test_no_class_of_error_is_without_an_exit_code() -> None:
    classes: set[Any] = {errors.RunloreError, *errors.RunloreError.__subclasses__()}

    assert {kind for kind, _ in EXIT_CODES} == classes


def _filled(text: str, ids: dict[str, str]) -> str:
    for name, record_id in ids.items():
        text = text.replace(f"{{{name}}}", record_id)
    return text
