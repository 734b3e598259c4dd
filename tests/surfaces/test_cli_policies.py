"""Policies on the command line: shown, put whole or field by field, compared, and rolled back."""

import json
from pathlib import Path

import pytest

from tests.surfaces.command_line import Runlore

pytestmark = pytest.mark.req("POL-6", "RUN-8", "OPS-6", "SUR-7")


def test_the_defaults_are_shown_as_what_they_are(runlore: Runlore) -> None:
    shown = runlore.text("policy", "show", "run-memory")

    assert shown.startswith("run-memory: the defaults, which nobody has changed\n")
    assert "  retention_days           30\n" in shown
    assert runlore.json("policy", "show", "run-memory")["revision"] == 0
    assert runlore.items("policy", "history", "run-memory") == []
    assert (
        runlore.text("policy", "history", "retention")
        == "Nobody has changed it: the defaults are in force.\n"
    )


def test_fields_are_set_one_by_one_and_the_difference_is_shown(runlore: Runlore) -> None:
    shown = runlore.text(
        *("policy", "set", "run-memory", "--set", "retention_days=60", "--set", "redact_pii=false"),
        *("--set", "search_visibility=session_only"),
    )

    head, *differences = shown.splitlines()
    assert head.startswith("run-memory: revision 1, ")
    assert head.endswith(", by operator")
    assert [line.split() for line in differences] == [
        ["retention_days", "30", "->", "60"],
        ["redact_pii", "true", "->", "false"],
        ["search_visibility", "learning_scopes", "->", "session_only"],
    ]
    policy = runlore.json("policy", "show", "run-memory")["policy"]
    assert (policy["retention_days"], policy["redact_pii"], policy["budget_tokens"]) == (60, False, 1200)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("policy.toml", "retention_days = 7\n"),
        ("policy.toml", "[run_memory]\nretention_days = 7\n"),
        ("policy.json", '{"retention_days": 7}'),
        ("policy.json", '{"policy": {"retention_days": 7}, "revision": 3}'),
    ],
)
def test_a_file_holds_the_whole_policy(embedded: Runlore, tmp_path: Path, name: str, text: str) -> None:
    embedded.json("policy", "set", "run-memory", "--set", "budget_tokens=50")
    (tmp_path / name).write_text(text)

    policy = embedded.json("policy", "set", "run-memory", str(tmp_path / name))["policy"]

    assert (policy["retention_days"], policy["budget_tokens"]) == (7, 1200)


def test_what_show_prints_can_be_put_again(embedded: Runlore, tmp_path: Path) -> None:
    shown = embedded.json("policy", "show", "retention")
    shown["policy"]["journal_days"] = 90
    (tmp_path / "policy.json").write_text(json.dumps(shown))

    assert (
        embedded.json("policy", "set", "retention", str(tmp_path / "policy.json"))["policy"]
        == shown["policy"]
    )


def test_a_rollback_puts_an_earlier_revision_again(runlore: Runlore) -> None:
    for days in (40, 50):
        runlore.json("policy", "set", "run-memory", "--set", f"retention_days={days}")

    back = runlore.json("policy", "rollback", "run-memory")
    assert (back["revision"], back["policy"]["retention_days"]) == (3, 40)
    first = runlore.json("policy", "rollback", "run-memory", "--to", "2")
    assert (first["revision"], first["policy"]["retention_days"]) == (4, 50)
    revisions = [item["revision"] for item in runlore.items("policy", "history", "run-memory")]
    assert revisions == [4, 3, 2, 1]
    shown = runlore.text("policy", "history", "run-memory")
    assert [line.split() for line in shown.splitlines() if "->" in line] == [
        ["retention_days", "40", "->", "50"],
        ["retention_days", "50", "->", "40"],
        ["retention_days", "40", "->", "50"],
    ]
    assert shown.splitlines()[-8:][1].split() == ["retention_days", "40"]


@pytest.mark.parametrize(
    ("arguments", "code", "named"),
    [
        (("--set", "retention_days=0"), "policy.field", "retention_days"),
        (("--set", "retention_days=soon"), "policy.field", "retention_days"),
        (("--set", "zebra=1"), "policy.field", "zebra"),
        (("--set", "retention_days"), "policy.source", "--set"),
        ((), "policy.source", "--set"),
        (("file.toml", "--set", "retention_days=5"), "policy.source", "--set"),
        (("none.toml",), "policy.file", "none.toml"),
        (("broken.toml",), "policy.file", "broken.toml"),
        (("bytes.toml",), "policy.file", "UTF-8"),
        (("list.json",), "policy.file", "list.json"),
        (("--set", "retention_days=5", "--expected-revision", "7"), "policy.revision", "7"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_refused_policy_changes_nothing_and_names_the_field(
    embedded: Runlore,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    arguments: tuple[str, ...],
    code: str,
    named: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("broken.toml").write_text("retention_days = \n")
    Path("bytes.toml").write_bytes(b"\xff\xfe")
    Path("list.json").write_text("[1, 2]")
    before = embedded.json("policy", "show", "run-memory")

    refused = embedded.fails("policy", "set", "run-memory", *arguments)

    assert (refused.code, named in refused.said) == (code, True), refused.problem
    assert embedded.json("policy", "show", "run-memory") == before


def test_an_unknown_policy_is_named_with_those_there_are(embedded: Runlore) -> None:
    refused = embedded.fails("policy", "show", "zebra")

    assert (refused.code, refused.exit_code) == ("word.unknown", 2)
    assert "run-memory, retention" in refused.said
