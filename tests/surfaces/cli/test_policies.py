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
    assert runlore.text("policy", "rollback", "run-memory").endswith("It is what revision 2 was.\n")
    again = runlore.json("policy", "show", "run-memory")
    assert (again["revision"], again["policy"]["retention_days"]) == (4, 50)
    assert "nothing has changed" in runlore.text("policy", "rollback", "run-memory", "--to", "2")
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
    assert "learning, run-memory, retention" in refused.said


RULES = """
[[learning.publication.rules]]
name = "facts"
kind = "fact"
action = "publish_active"
"""


def test_a_policy_with_tables_is_shown_under_the_paths_that_set_takes(runlore: Runlore) -> None:
    shown = runlore.text("policy", "show", "learning")

    paths = dict(line.split(maxsplit=1) for line in shown.splitlines()[1:])
    assert paths["publication.default_action"] == "manual_review"
    assert paths["capture.semantic_candidates.max_candidates_per_run"] == "2"
    assert (paths["judge.model"], paths["publication.rules"], paths["judge.enabled"]) == ('""', "[]", "false")
    for path, value in paths.items():
        runlore.json("policy", "set", "learning", "--set", f"{path}={value}")
    policy = runlore.json("policy", "show", "learning")["policy"]
    assert policy == runlore.json("policy", "rollback", "learning", "--to", "0")["policy"]


def test_the_difference_of_inner_fields_is_shown(runlore: Runlore) -> None:
    shown = runlore.text(
        *("policy", "set", "learning", "--set", "publication.default_action=reject"),
        *("--set", "publication.rules[0].action=publish_provisional"),
        *("--set", "publication.rules[0].min_confidence=90", "--set", "judge.model=openai:gpt-5"),
    )

    differences = (line.split("  ->  ") for line in shown.splitlines()[1:])
    assert {(*before.split(), after) for before, after in differences} == {
        ("publication.default_action", "manual_review", "reject"),
        ("publication.rules[0]", "-", 'min_confidence = 90, action = "publish_provisional"'),
        ("judge.model", '""', "openai:gpt-5"),
    }
    again = runlore.text("policy", "set", "learning", "--set", "publication.rules[0].min_confidence=95")
    assert again.splitlines()[1].count("publish_provisional") == 2
    assert "min_confidence = 95" in again
    assert "publication.default_action" not in again
    gone = runlore.text("policy", "set", "learning", "--set", "publication.rules=[]")
    assert gone.splitlines()[1].split()[-2:] == ["->", "-"]


def test_a_quarantined_name_that_no_rule_has_is_pointed_out(embedded: Runlore) -> None:
    quarantine = 'publication.quarantined_rule_names=["fcats"]'
    told = "  'fcats' is quarantined, and no rule has that name\n"

    assert told in embedded.text("policy", "set", "learning", "--set", quarantine)
    assert told in embedded.text("policy", "show", "learning")


@pytest.mark.parametrize(
    "text",
    [
        '[learning]\nmode = "enabled"\n',
        '[learning]\nmode = "enabled"\n[run_memory]\nretention_days = 7\n[skills]\nlearn = true\n',
        '{"learning": {"mode": "enabled"}}',
        'mode = "enabled"\n',
        '{"policy": {"mode": "enabled"}, "expected_revision": 9}',
    ],
)
def test_a_file_may_hold_the_policy_in_a_table_of_its_name(
    embedded: Runlore, tmp_path: Path, text: str
) -> None:
    (tmp_path / "policy").write_text(text)

    assert embedded.json("policy", "set", "learning", str(tmp_path / "policy"))["policy"]["mode"] == "enabled"


@pytest.mark.req("POL-5")
@pytest.mark.parametrize(
    ("text", "code", "named"),
    [
        ('mode = "enabled"\n[learning.judge]\nenabled = true\n', "policy.file", "'mode'"),
        ('{"policy": {}, "mode": "enabled"}', "policy.file", "'mode'"),
        ("learning = 3\n", "policy.field", "'learning'"),
        ('[publication]\ndefault_action = "publish_active"\n', "policy.field", "publication.default_action"),
        ("a = " + "[" * 5_000, "policy.file", "neither TOML"),
        ("[judge]\ntimeout_s = 15.0\n", "policy.field", "judge.timeout_s"),
        ("[judge]\nmodel = 2026-01-01\n", "policy.field", "judge.model"),
    ],
)
def test_a_file_that_would_be_half_understood_is_refused(
    embedded: Runlore, tmp_path: Path, *, text: str, code: str, named: str
) -> None:
    (tmp_path / "policy").write_text(text)

    for verb in (("set", "learning"), ("test",)):
        refused = embedded.fails("policy", *verb, str(tmp_path / "policy"))
        assert (refused.code, refused.exit_code) == (code, 2)
        assert named in refused.said
    assert embedded.json("policy", "show", "learning")["revision"] == 0


@pytest.mark.parametrize(
    "path", ["publication.rules[1].action", "mode.x", "publication.rules.x", "a..b", ".", "a[x]", "[0]", "a["]
)
def test_a_path_that_leads_nowhere_sets_no_field(embedded: Runlore, path: str) -> None:
    refused = embedded.fails("policy", "set", "learning", "--set", f"{path}=1")

    assert refused.code == "policy.source"


@pytest.mark.req("POL-11")
def test_a_trial_shows_both_policies_side_by_side_and_changes_nothing(
    runlore: Runlore, tmp_path: Path
) -> None:
    (tmp_path / "policy.toml").write_text(RULES)
    created = runlore.json(*("learning", "candidates", "create", "--kind", "fact", "The codename is Atlas"))

    shown = runlore.text("policy", "test", str(tmp_path / "policy.toml"))
    plain = runlore.json("policy", "test", "learning", str(tmp_path / "policy.toml"))

    assert "What waits:" in shown
    assert "What was decided lately, as if it still waited: nothing." in shown
    row = next(line for line in shown.splitlines() if created["record_id"] in line).split()
    assert row[3:5] == ["manual_review", "publish_provisional"]
    assert "1 of 1 candidate would end differently than under the defaults." in shown
    item = plain["items"][0]
    assert (item["present"]["action"], item["tried"]["rule"], item["differs"]) == (
        *("manual_review", "facts"),
        True,
    )
    assert runlore.json("policy", "show", "learning")["revision"] == 0


@pytest.mark.req("POL-11")
def test_fields_of_the_policy_in_force_can_be_tried(embedded: Runlore) -> None:
    embedded.json(*("learning", "candidates", "create", "--kind", "fact", "The codename is Atlas"))

    tried = embedded.items("policy", "test", "--set", "publication.default_action=reject", "--limit", "1")
    same = embedded.items("policy", "test", "learning", "--set", "judge.enabled=true")

    assert (tried[0]["tried"]["action"], tried[0]["tried"]["judged"]) == ("reject", False)
    assert not same[0]["differs"]


@pytest.mark.req("POL-11")
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ((), "policy.source"),
        (("learning", "a", "b"), "policy.source"),
        (("learning", "file", "--set", "mode=enabled"), "policy.source"),
        (("zebra", "file"), "word.unknown"),
        (("none.toml",), "policy.file"),
        (("run-memory", "--set", "enabled=true"), "policy.trial"),
        (("--set", "mode=enabled", "--limit", "0"), "limit.range"),
        (("--set", "mode=enabled", "--limit", "x"), "number.format"),
        (("--set", "zebra=1"), "policy.field"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_trial_that_cannot_be_says_why(embedded: Runlore, arguments: tuple[str, ...], code: str) -> None:
    refused = embedded.fails("policy", "test", *arguments)

    assert (refused.code, refused.exit_code) == (code, 2)
