"""Forgetting: what is shown before, asked, erased, and left behind."""

import json
import os
import pty
import select
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.surfaces.command_line import PROGRAM, TIMEOUT_S, Runlore

WORD = "zorgblat"
TEXT = f"The {WORD} password hint is kept by Dana"
QUEUE = ("--topic-tag", "queue", "--topic-tag", "agents")


@dataclass(frozen=True, kw_only=True)
class Terminal:
    """What a person at a terminal was shown, and how the command ended."""

    code: int
    shown: str


def at_a_terminal(runlore: Runlore, *arguments: str, answer: bytes) -> Terminal:
    """A command run by a person who answers its one question."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [PROGRAM, *arguments],
        env={**os.environ, **runlore.environment, "TERM": "dumb", "COLUMNS": "200"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    try:
        shown = read_until(ours, b"Erase? [y/N]: ")
        os.write(ours, answer)
        shown += read_until(ours, None)
        return Terminal(code=process.wait(TIMEOUT_S), shown=shown.decode().replace("\r\n", "\n"))
    finally:
        process.kill()
        process.wait(TIMEOUT_S)
        os.close(ours)


def read_until(terminal: int, end: bytes | None) -> bytes:
    """What is written up to a prompt, or up to the end."""
    shown, deadline = b"", time.monotonic() + TIMEOUT_S
    while time.monotonic() < deadline and not (end and shown.endswith(end)):
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                chunk = os.read(terminal, 4096)
            except OSError:
                chunk = b""
            if not chunk:
                break
            shown += chunk
    return shown


def holds(folder: Path, text: str) -> list[str]:
    """The files below a folder that hold a text."""
    return [str(file) for file in folder.rglob("*") if file.is_file() and text.encode() in file.read_bytes()]


@pytest.mark.req("LRN-12")
def test_a_program_forgets_without_being_asked(runlore: Runlore) -> None:
    record_id = runlore.learn(TEXT)

    receipt = runlore.json("memory", "forget", record_id, "--reason", "asked by Dana", "--yes")

    (tombstone,) = receipt["records"]
    assert (receipt["dry_run"], receipt["exports_left"]) == (False, [])
    assert receipt["forgotten_at"]
    assert (tombstone["record_id"], tombstone["state"]) == (record_id, "tombstoned")
    assert (tombstone["state_reason"], tombstone["summary"], tombstone["metadata"]) == ("forgotten", "", {})
    assert runlore.inspect(record_id)["summary"] == ""


@pytest.mark.req("LRN-12")
def test_no_row_holds_what_was_forgotten(runlore: Runlore) -> None:
    record_id = runlore.learn(TEXT, "--topic-tag", WORD)
    adopted = runlore.json("memory", "radar", "adopt", record_id)["procedure"]["record_id"]
    assert WORD in json.dumps(runlore.contents())

    receipt = runlore.json("memory", "forget", record_id, "--yes")

    assert {record["record_id"] for record in receipt["records"]} >= {record_id, adopted}
    assert WORD not in json.dumps(runlore.contents())
    moves = [event["move"] for event in runlore.items("memory", "history", record_id)]
    assert moves == ["propose", "confirm", "forget"]
    assert runlore.items("memory", "search", WORD, "--include-stale") == []


@pytest.mark.req("LRN-12")
def test_no_file_of_the_state_root_holds_a_byte_of_what_was_forgotten(
    embedded: Runlore, tmp_path: Path
) -> None:
    source = {"repo_slug": "a/b", "source_handle": "h", "source_url": "https://u"}
    findings = [{**source, "summary": f"Finding number {number}"} for number in range(300)]
    file = tmp_path / "findings.json"
    file.write_text(json.dumps([*findings, {**source, "summary": TEXT}]))
    record_id = embedded.items("memory", "radar", "add", "--file", str(file))[-1]["record_id"]
    assert embedded.items("memory", "search", WORD, "--include-stale")
    assert list(embedded.home.glob("index/*"))
    assert holds(embedded.home, WORD)

    embedded.json("memory", "forget", record_id, "--yes")

    assert holds(embedded.home, WORD) == []
    assert embedded.items("memory", "search", "finding number 7", "--include-stale")
    assert holds(embedded.home, WORD) == []


@pytest.mark.req("LRN-12")
def test_what_was_made_of_a_record_is_forgotten_with_it(runlore: Runlore) -> None:
    secret = runlore.learn(f"Atlas agents take {WORD} tasks from a queue", *QUEUE)
    kept = runlore.learn("Atlas agents take their tasks from one queue", *QUEUE)
    (summary,) = runlore.json("memory", "semantic", "compact", "--create-proposals")["records"]
    runlore.confirm(summary["record_id"])

    shown = runlore.json("memory", "forget", secret, "--dry-run")
    before = runlore.contents()
    receipt = runlore.json("memory", "forget", secret, "--yes")

    assert {record["record_id"] for record in shown["records"]} == {secret, summary["record_id"]}
    assert {record["record_id"] for record in receipt["records"]} == {secret, summary["record_id"]}
    assert WORD in json.dumps(before)
    assert WORD not in json.dumps(runlore.contents())
    assert runlore.inspect(kept)["summary"] == "Atlas agents take their tasks from one queue"


@pytest.mark.req("LRN-12")
def test_a_dry_run_shows_and_changes_nothing(runlore: Runlore) -> None:
    record_id = runlore.learn(TEXT)
    before = runlore.contents()

    shown = runlore.text("memory", "forget", record_id, "--dry-run")

    assert shown == f"Would erase  {record_id}  {TEXT}\n"
    assert runlore.json("memory", "forget", record_id, "--dry-run")["dry_run"] is True
    assert runlore.contents() == before


@pytest.mark.req("LRN-12")
def test_exports_that_still_hold_it_are_named(runlore: Runlore) -> None:
    other = runlore.json("memory", "export")["path"]
    record_id = runlore.learn(TEXT)
    path = runlore.json("memory", "export")["path"]

    shown = runlore.text("memory", "forget", record_id, "--yes")

    assert f"An export still holds it; delete it yourself: {path}" in shown
    assert other not in shown
    assert runlore.json("memory", "forget", record_id, "--yes")["exports_left"] == [path]
    os.unlink(path)
    assert runlore.json("memory", "forget", record_id, "--yes")["exports_left"] == []


@pytest.mark.req("LRN-12")
def test_what_is_forgotten_already_stays_as_it_is(runlore: Runlore) -> None:
    record_id = runlore.learn(TEXT)
    runlore.json("memory", "forget", record_id, "--yes")
    before = runlore.contents()

    assert runlore.text("memory", "forget", record_id, "--yes") == "There is nothing left to erase.\n"
    assert runlore.contents() == before


@pytest.mark.req("LRN-12", "LRN-8")
@pytest.mark.parametrize("state", ["constrained", "active", "superseded", "tombstoned"])
def test_a_record_in_any_state_can_be_forgotten(state: str, runlore: Runlore) -> None:
    record_id = runlore.propose("editor", WORD)
    if state != "constrained":
        runlore.confirm(record_id)
    if state == "superseded":
        runlore.prefer("editor", "vim")
    if state == "tombstoned":
        runlore.json("memory", "rollback", record_id)
    assert runlore.inspect(record_id)["state"] == state

    runlore.json("memory", "forget", record_id, "--yes")

    assert runlore.state(record_id) == "tombstoned forgotten"
    assert WORD not in json.dumps(runlore.contents())


@pytest.mark.req("LRN-12")
def test_a_person_is_shown_what_goes_and_can_say_no(embedded: Runlore) -> None:
    record_id = embedded.learn(TEXT)
    before = embedded.contents()

    refused = at_a_terminal(embedded, "memory", "forget", record_id, answer=b"n\n")

    assert refused.code == 1
    assert f"Would erase  {record_id}  {TEXT}\n" in refused.shown
    assert "This cannot be undone. Erase? [y/N]: " in refused.shown
    assert refused.shown.endswith("Stopped; nothing was changed.\n")
    assert embedded.contents() == before


@pytest.mark.req("LRN-12")
def test_a_person_who_says_yes_gets_the_receipt(embedded: Runlore) -> None:
    record_id = embedded.learn(TEXT)

    done = at_a_terminal(embedded, "memory", "forget", record_id, answer=b"y\n")

    assert done.code == 0
    assert done.shown.endswith(f"\nErased  {record_id}  fact\n")
    assert embedded.state(record_id) == "tombstoned forgotten"


@pytest.mark.req("LRN-12", "LRN-9")
def test_nothing_is_taken_away_for_good_where_nobody_says_yes(runlore: Runlore) -> None:
    record_id = runlore.learn(TEXT)
    before = runlore.contents()

    for words in (
        ("memory", "forget", record_id),
        ("learning", "revoke-matching", "--text", WORD),
    ):
        refused = runlore.fails(*words)
        assert (refused.code, refused.exit_code) == ("command.unconfirmed", 2)
        assert "--yes" in refused.problem["hint"]
    assert runlore.contents() == before


@pytest.mark.req("LRN-12")
def test_yes_asks_nothing(embedded: Runlore) -> None:
    record_id = embedded.learn(TEXT)

    done = at_a_terminal(embedded, "memory", "forget", record_id, "--yes", answer=b"")

    assert (done.code, done.shown) == (0, f"Erased  {record_id}  fact\n")
