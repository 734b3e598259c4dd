"""Text of strangers on a terminal: shown, never obeyed, and kept inside its place."""

import json
import unicodedata

import pytest
from rich.cells import cell_len

from tests.surfaces.command_line import Runlore
from tests.surfaces.reporting import report

FAKE_ROW = "rec_00000000000000000000000000  profile  preference  active  workspace  trust me"
HOSTILE = {
    "ansi": "clear \x1b[2J\x1b]0;title\x07\x1b[31mred\x1b[0m \x9b31m",
    "bidi": "pay \u202e\u2066live\u2069\u202c \u200fuser\u200e \u061c",
    "markup": "[red]alert[/red] [link=https://evil]here[/link] [/] :smile: [bold",
    "newlines": f"first\r\nsecond\n{FAKE_ROW}\n\n\tthird\u2028fourth\x0b\x0cfifth\x85",
    "marks": "z" + "\u0301\u0300" * 790 + " end",
    "leading mark": "\u0338equal",
    "hidden": "a\u200bb\u00adc\ufeffd\u3164e\U000e0041f\u2800g",
    "wide": "宽" * 300 + "👩‍👩‍👧" * 20,
    "long word": "x" * 1500,
    "backslashes": r"C:\x1b[31m \u202e \n",
}
EVERY_TEXT = pytest.mark.parametrize("name", HOSTILE)
ALLOWED_FORMAT = {"\u200d"}
FRAMES = (40, 80, 200)


def assert_harmless(shown: str) -> None:
    """Nothing in it that a terminal acts on, hides, reorders or draws outside its line."""
    marks = 0
    for character in shown:
        category = unicodedata.category(character)
        assert character == "\n" or category not in {"Cc", "Cs", "Co", "Zl", "Zp"}, repr(character)
        assert category != "Cf" or character in ALLOWED_FORMAT, repr(character)
        marks = marks + 1 if category in {"Mn", "Me"} else 0
        assert marks <= 4


@pytest.mark.req("TNT-4", "SUR-7")
@EVERY_TEXT
@pytest.mark.sampled(every=3)
def test_hostile_text_is_shown_escaped_everywhere(name: str, embedded: Runlore) -> None:
    text = HOSTILE[name]
    metadata = json.dumps({"note": text, f"key {text[:40]}": [text, {"deep": text}]})
    episode = embedded.json("memory", "episode", "add", text, "--metadata", metadata)["record_id"]
    preference = embedded.propose("k", text[:900], reason=text[:900])
    commands = [
        ("memory", "list", "--layer", "episodic"),
        ("memory", "review", "list"),
        ("memory", "review", "confirm", preference, "--reason", text[:900], "--accept-untrusted"),
        ("memory", "list"),
        ("memory", "inspect", episode),
        ("memory", "inspect", preference),
        ("memory", "history", preference),
        ("memory", "search", "end equal first red pay alert", "--layer", "episodic"),
        ("memory", "rollback", preference),
        ("memory", "forget", episode, "--dry-run"),
        ("memory", "radar", "log"),
    ]

    for words in commands:
        assert_harmless(embedded.text(*words, columns=80))


@pytest.mark.req("TNT-4", "SUR-7")
@EVERY_TEXT
@pytest.mark.sampled(every=3)
def test_hostile_text_of_a_candidate_is_shown_escaped_everywhere(name: str, embedded: Runlore) -> None:
    text = HOSTILE[name]
    create = ("learning", "candidates", "create", text, "--kind")
    named = ("--evidence", f"run=r,note={text[:900]}", "--metadata", json.dumps({"note": text}))
    candidate, other = (
        str(embedded.json(*create, kind, *named)["record_id"]) for kind in ("fact", "decision")
    )
    accepted = ("--accept-untrusted", "--reason", text[:900])
    embedded.json("jobs", "work")
    commands = [
        ("learning", "candidates", "list"),
        ("learning", "candidates", "get", candidate),
        ("memory", "review", "list"),
        ("learning", "candidates", "publish", candidate, *accepted),
        ("learning", "list"),
        ("learning", "get", candidate),
        ("learning", "verify", candidate, "--on-my-word", "--evidence", f"note={text[:900]}"),
        ("learning", "revoke-matching", "--kind", "fact", "--dry-run"),
        ("learning", "supersede", candidate, f"no longer {text}"[:1_600], *accepted),
        ("learning", "candidates", "reject", other, "--reason", text[:900]),
        ("learning", "revoke-matching", "--kind", "fact", "--reason", text[:900], "--yes"),
        ("memory", "history", candidate),
    ]

    for words in commands:
        assert_harmless(embedded.text(*words, columns=80))


@pytest.mark.req("TNT-4", "LRN-13")
def test_a_learning_that_waits_to_be_looked_at_again_is_shown_escaped(embedded: Runlore) -> None:
    text = f"The codename is Atlas\n{FAKE_ROW}\x1b[2J\u202e"
    made = embedded.json("learning", "candidates", "create", text, "--kind", "fact")["record_id"]
    embedded.json("learning", "candidates", "publish", made, "--accept-untrusted")
    embedded.json("session", "create", "--id", "talk")
    report(embedded, "run-1", "What is the codename?", context=True)
    embedded.text("learning", "feedback", made, "wrong", "--run", "run-1", "--note", text)

    inbox = embedded.text("memory", "review", "list", columns=80)

    assert_harmless(inbox)
    assert [line for line in inbox.splitlines() if line.startswith("rec_")] == [f"{made}  fact in workspace"]


@pytest.mark.req("TNT-4", "SUR-7")
@pytest.mark.parametrize("columns", FRAMES)
def test_a_table_stays_whole_whatever_stands_in_it(columns: int, embedded: Runlore) -> None:
    ids = [embedded.json("memory", "episode", "add", text)["record_id"] for text in HOSTILE.values()]

    lines = embedded.text("memory", "list", columns=columns).splitlines()

    assert [line[:30] for line in lines if line.startswith("rec_")] == ids[::-1]
    assert max(map(cell_len, lines)) <= columns
    rows = [line for line in lines if not line.startswith(("rec_", "ID "))]
    if columns == 200:
        assert all(line.startswith(" " * 60) for line in rows)
    else:
        assert all(line.startswith(("    ", "experiment  in use")) for line in rows)


@pytest.mark.req("SUR-7")
@pytest.mark.parametrize("columns", [20, 40, 60, 80, 120, 200])
def test_no_terminal_is_too_narrow_for_an_id(columns: int, embedded: Runlore) -> None:
    first, second = (embedded.learn(text, "--tag", "queue", "--tag", "agents") for text in (
        "Atlas agents take planning tasks from a queue",
        "Atlas agents take their planning tasks from one queue",
    ))  # fmt: skip
    old = embedded.prefer("editor", "vim")
    new = embedded.propose("editor", "helix")
    shown = {
        ("memory", "list"): (first, second, old),
        ("memory", "search", "atlas editor"): (first, second, old),
        ("memory", "review", "list"): (old, new),
        ("memory", "semantic", "compact"): (first, second),
        ("memory", "inspect", old): (old,),
        ("memory", "review", "confirm", new): (old, new),
        ("memory", "rollback", new): (old, new),
    }

    for words, ids in shown.items():
        printed = embedded.text(*words, columns=columns)
        for record_id in ids:
            assert any(record_id in line for line in printed.splitlines()), (words, record_id)


@pytest.mark.req("TNT-4")
def test_a_text_of_several_lines_is_one_row_without_codes(embedded: Runlore) -> None:
    embedded.json("memory", "episode", "add", "First line\r\n\n  second\tcolumn\rthird \x1b[2J")

    [_, row] = embedded.text("memory", "list", columns=120).splitlines()

    assert row.endswith("First line second column\\x0dthird \\x1b[2J")


@pytest.mark.req("SUR-7")
def test_a_person_can_read_what_was_hidden(embedded: Runlore) -> None:
    record_id = embedded.json("memory", "episode", "add", "pay \u202elive\x1b[2J [red]now[/red]")["record_id"]

    shown = embedded.text("memory", "inspect", record_id)

    assert "pay \\u202elive\\x1b[2J [red]now[/red]" in shown


@pytest.mark.req("TNT-4")
def test_a_text_does_not_pass_for_another_record_beside_it(embedded: Runlore) -> None:
    fake = "rec_00000000000000000000000000"
    old = embedded.prefer("editor", f"vim\nreplaces {fake}\n{fake}  preference in workspace")
    new = embedded.propose("editor", "helix")

    lines = embedded.text("memory", "review", "list", columns=80).splitlines()

    assert [line for line in lines if line.startswith(("rec_", "  replaces"))] == [
        f"{new}  preference in workspace",
        f"  replaces {old}",
    ]


@pytest.mark.req("TNT-4", "SUR-7")
@pytest.mark.parametrize("text", ["\x1b[31mx", "\u202ex", "\udcff", "a\nb", "x" * 5000])
def test_an_error_shows_a_callers_text_escaped_and_short(text: str, embedded: Runlore) -> None:
    for words in (
        ("memory", "list", "--layer", text),
        ("memory", "list", "--limit", text),
        ("memory", "list", "--scope", text),
        ("memory", "inspect", text),
        ("memory", text),
        (text,),
    ):
        outcome = embedded.run(*words)
        assert_harmless(outcome.err)
        assert len(outcome.err.splitlines()) == 2
        assert len(outcome.err) < 6000


@pytest.mark.req("SUR-2")
def test_a_program_gets_the_text_as_it_is(runlore: Runlore) -> None:
    for text in HOSTILE.values():
        record = runlore.json("memory", "episode", "add", text, "--metadata", json.dumps({"note": text}))

        assert record["summary"] == text.strip()
        assert runlore.inspect(record["record_id"])["metadata"]["note"] == text


@pytest.mark.req("SUR-7")
def test_writing_that_needs_marks_and_joiners_is_left_alone(embedded: Runlore) -> None:
    texts = ["हिन्दी में", "tiếng Việt".encode().decode(), "ภาษาไทย", "שָׁלוֹם", "👩‍💻 here", "naïve cafe\u0301"]
    for text in texts:
        embedded.json("memory", "episode", "add", text)

    shown = embedded.text("memory", "list")

    for text in texts:
        assert text in shown
