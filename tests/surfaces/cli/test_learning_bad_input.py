"""What the learning commands refuse: with which exit code, code, sentence and hint, and nothing written."""

from pathlib import Path

import pytest

from tests.surfaces.cli.test_bad_input import SAID_CHARS_MAX, TOKEN, UNKNOWN_IDS, Case
from tests.surfaces.command_line import Runlore

pytestmark = pytest.mark.req("SUR-2", "SUR-7", "LRN-1")


def say(*more: str, text: str = "The shell is fish", kind: str = "fact") -> tuple[str, ...]:
    """The words that make a candidate."""
    return ("learning", "candidates", "create", text, "--kind", kind, *more)


def publish(*more: str, record_id: str = "{waiting}") -> tuple[str, ...]:
    """The words that publish a candidate."""
    return ("learning", "candidates", "publish", record_id, *more)


MATCHING = ("learning", "revoke-matching")
CREATE = ("learning", "candidates", "create", "--kind", "fact")

WRONG_WORDS = [
    Case(say(kind="idea"), 2, "word.unknown", "'idea' is not a kind", "fact, decision"),
    Case(say("--scope", "team:a"), 2, "scope.kind", "'team' is not a scope kind", "project:acme"),
    Case(say("--confidence", "high"), 2, "number.format", "--confidence is 'high'", "digits"),
    Case(say("--metadata", "{"), 2, "json.format", "--metadata is not JSON", "topic_tags"),
    Case(say("--expires-at", "soon"), 2, "time.format", "'soon' is not a time", "2026-11-15"),
    *(
        Case(say("--evidence", text), 2, "evidence.format", "names no evidence", "run=ID,artifact=ID")
        for text in ("", "run", "run=", "url=x", "run=a,run=b", "=x", "run=a,,", " = ", "note=")
    ),
    Case(say("--evidence", "event=x"), 2, "number.format", "the event of --evidence is 'x'", "digits"),
    Case(CREATE, 2, "content.count", "no text was given", "--file PATH"),
    Case(say("--file", "x"), 2, "content.count", "more than one text", "--file PATH"),
    Case((*CREATE, "--file", "missing"), 2, "content.file", "No such file", "path"),
    Case((*CREATE, "--file", "/"), 2, "content.file", "Is a directory", "path"),
    Case(publish("--tier", "gold"), 2, "word.unknown", "'gold' is not a tier", "provisional, active"),
    Case(publish("--sensitivity", "x"), 2, "word.unknown", "'x' is not a sensitivity", "normal, sensitive"),
    Case(publish("--kind", "idea"), 2, "word.unknown", "'idea' is not a kind", "fact"),
    Case(("learning", "list", "--decision", "x"), 2, "word.unknown", "'x' is not a decision", "automatic"),
    Case(("learning", "list", "--tier", "x"), 2, "word.unknown", "'x' is not a tier", "provisional"),
    Case(("learning", "list", "--state", "x"), 2, "word.unknown", "'x' is not a state", "constrained"),
    Case(("learning", "list", "--scope-kind", "x"), 2, "word.unknown", "'x' is not a scope kind", "session"),
    Case(("learning", "list", "--limit", "0"), 2, "limit.range", "the limit is 0", "500"),
    Case(("learning", "list", "--cursor", "!"), 2, "cursor.format", "not one that this list gave", "cursor"),
    Case(("learning", "list", "--as-of", "x"), 2, "time.format", "'x' is not a time", "2026-11-15"),
    Case(("learning", "candidates", "list", "--limit", "x"), 2, "number.format", "--limit is 'x'", "digits"),
    Case(
        ("learning", "feedback", "{active}", "fine", "--run", "r"),
        2,
        "word.unknown",
        "'fine' is not a verdict",
        "wrong, helped",
    ),
    Case(("capture", "backfill", "--since", "x"), 2, "time.format", "'x' is not a time", "2026-11-15"),
    Case(("capture", "backfill", "--limit", "501"), 2, "limit.range", "the limit is 501", "500"),
    Case(("capture", "backfill"), 2, "capture.off", "semantic capture is off", "semantic_candidates"),
    Case(("jobs", "work", "--limit", "0"), 2, "limit.range", "the limit is 0", "500"),
]

WRONG_MOVES = [
    Case(say(kind="run_summary"), 2, "record.run-summary", "run", ""),
    Case(say(text=" "), 2, "record.summary-blank", "the content is blank", "remembered"),
    Case(say(text="x" * 1601), 2, "record.summary-long", "1,601 characters", "shorten"),
    Case(say("--confidence", "101"), 2, "record.confidence", "101", "80"),
    Case(say("--expires-at", "2001-01-01"), 2, "record.expires-at", "in the past", "later"),
    Case(say("--source-run", " "), 2, "candidate.source", "source.run_id is blank", "leave it out"),
    Case(publish(record_id="{rejected}"), 6, "record.move", "{rejected} is tombstoned; confirm", ""),
    Case(
        publish("--content", "It is otherwise", record_id="{active}"),
        6,
        "record.move",
        "{active} is active; confirm",
        "revoke",
    ),
    Case(publish("--kind", "procedure"), 2, "record.kind-change", "procedure", ""),
    Case(publish("--content", " "), 2, "record.summary-blank", "blank", "remembered"),
    Case(publish("--supersedes", "rec_x"), 5, "record.not-found", "rec_x", "memory list"),
    Case(publish("--expected-revision", "7"), 6, "record.revision", "not 7", "read it again"),
    Case(("learning", "candidates", "reject", "{revoked}"), 6, "record.move", "{revoked}", ""),
    Case(("learning", "revoke", "{waiting}"), 6, "record.move", "{waiting} is constrained", "confirm"),
    Case(("learning", "revoke", "{rejected}"), 6, "record.move", "{rejected} is tombstoned", ""),
    Case(("learning", "supersede", "{revoked}", "It is shut"), 6, "record.move", "{revoked}", ""),
    Case(("learning", "supersede", "{active}"), 2, "content.count", "no text was given", "--file"),
    Case(
        ("learning", "supersede", "{active}", "The codename is Danube", "--scope", "project:acme"),
        6,
        "learning.scope",
        "workspace",
        "",
    ),
    Case(("learning", "verify", "{revoked}"), 6, "record.move", "{revoked} is tombstoned", ""),
    Case(
        ("learning", "feedback", "{active}", "wrong", "--run", "none"), 5, "run.not-found", "'none'", "runs"
    ),
    Case(("learning", "get", "{waiting}"), 5, "learning.not-found", "was never published", "candidates get"),
    Case(MATCHING, 2, "learning.filter", "would revoke everything", "name a scope"),
    Case((*MATCHING, "--text", " "), 2, "learning.filter", "would revoke everything", "name a scope"),
    Case((*MATCHING, "--state", "active", "--dry-run"), 2, "learning.filter", "everything", "name a scope"),
    Case((*MATCHING, "--state", "tombstoned", "--kind", "fact"), 2, "learning.filter", "tombstoned", "state"),
]

SECRETS = [
    say(text=f"push with {TOKEN}"),
    say("--metadata", f'{{"note": "{TOKEN}"}}'),
    say("--evidence", f"note={TOKEN}"),
    say("--source-agent", TOKEN),
    publish("--content", TOKEN),
    publish("--reason", TOKEN),
    ("learning", "candidates", "reject", "{waiting}", "--reason", TOKEN),
    ("learning", "revoke", "{active}", "--reason", TOKEN),
    ("learning", "supersede", "{active}", TOKEN),
    ("learning", "verify", "{active}", "--on-my-word", "--reason", TOKEN),
    (*MATCHING, "--kind", "fact", "--reason", TOKEN, "--yes"),
]
ID_COMMANDS = [
    (("learning", "candidates", "get"), ()),
    (("learning", "candidates", "publish"), ()),
    (("learning", "candidates", "reject"), ()),
    (("learning", "get"), ()),
    (("learning", "revoke"), ()),
    (("learning", "supersede"), ("It is so",)),
    (("learning", "verify"), ()),
]


@pytest.fixture
def ids(runlore: Runlore) -> dict[str, str]:
    """A candidate and a learning, and one of each that has ended."""

    def said(text: str) -> str:
        return str(runlore.json(*say(text=text))["record_id"])

    def published(text: str) -> str:
        return str(runlore.json(*publish(record_id=said(text)))["record_id"])

    found = {
        "waiting": said("The pager is less"),
        "rejected": said("The editor is ed"),
        "active": published("The codename is Borea"),
        "revoked": published("The office is open"),
    }
    runlore.json("learning", "candidates", "reject", found["rejected"])
    runlore.json("learning", "revoke", found["revoked"])
    runlore.json("jobs", "work")
    return found


def filled(words: tuple[str, ...], ids: dict[str, str]) -> list[str]:
    """The words with the ids in their places."""
    return [ids.get(word[1:-1], word) if word.startswith("{") else word for word in words]


@pytest.mark.req("LRN-7", "LRN-9", "LRN-13", "REC-5")
@pytest.mark.parametrize("cases", [WRONG_WORDS, WRONG_MOVES], ids=["words", "moves"])
def test_bad_input_is_refused_and_nothing_is_written(
    cases: list[Case], runlore: Runlore, ids: dict[str, str]
) -> None:
    before = runlore.contents()

    for case in cases:
        failure = runlore.fails(*filled(case.words, ids))
        sentence = case.sentence.format(**ids)

        assert (failure.exit_code, failure.code) == (case.exit_code, case.code), case
        assert sentence in failure.problem["detail"], case
        assert case.hint in failure.problem["hint"], case
        assert failure.problem["hint"], case
        assert len(failure.said) < SAID_CHARS_MAX, case
        assert runlore.contents() == before, case


@pytest.mark.req("LRN-8")
def test_a_secret_is_refused_and_not_repeated(runlore: Runlore, ids: dict[str, str]) -> None:
    before = runlore.contents()

    for words in SECRETS:
        failure, shown = runlore.fails(*filled(words, ids)), runlore.run(*filled(words, ids))

        assert (failure.exit_code, failure.code) == (2, "guard.secret"), words
        assert TOKEN not in failure.said + shown.out + shown.err, words
        assert runlore.contents() == before, words


def test_an_id_that_names_nothing_is_not_found_whatever_its_form(
    runlore: Runlore, ids: dict[str, str]
) -> None:
    before = runlore.contents()

    for words, more in ID_COMMANDS:
        for record_id in UNKNOWN_IDS:
            failure = runlore.fails(*words, record_id, *more)

            assert (failure.exit_code, failure.code) == (5, "record.not-found"), (words, record_id[:20])
            assert len(failure.said) < SAID_CHARS_MAX
    assert ids["waiting"]
    assert runlore.contents() == before


def test_a_text_that_is_none_is_refused_before_anything_is_asked(embedded: Runlore, tmp_path: Path) -> None:
    binary, endless = tmp_path / "binary", tmp_path / "endless"
    binary.write_bytes(b"\xff\xfe\x00")
    endless.write_bytes(b"x" * (1 << 20) + b"y")

    for path, sentence in ((binary, "is not a text in UTF-8"), (endless, "is larger than 1 MiB")):
        failure = embedded.fails(*CREATE, "--file", str(path))
        assert (failure.exit_code, failure.code) == (2, "content.file")
        assert sentence in failure.problem["detail"]
    assert not embedded.home.exists()
