"""Which commands there are, what they take, and what they answer a program with."""

import ast
import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest
from typer.core import TyperGroup
from typer.main import get_command

from runlore.cli.main import app
from runlore.ports.operations import Operations
from tests.architecture.source_tree import PACKAGE, SourceFile, dotted, python_files
from tests.surfaces.command_line import Json, Runlore
from tests.surfaces.command_table import TAKEN

# An operation that this surface has no command for, and why.
_REPORTED = "what an agent reports of its own run, event by event, comes from a program"
_READ_HERE = "`runlore learn` reads transcripts where they lie, and the daemon's mining brings them in for it"
WITHOUT_COMMAND = {
    "open_run": _REPORTED,
    "report_hook": _REPORTED,
    "append_events": _REPORTED,
    "add_scratch": _REPORTED,
    "add_artifact": _REPORTED,
    "add_checkpoint": _REPORTED,
    "use_skill": _REPORTED,
    "import_runs": _READ_HERE,
    "transcript_positions": _READ_HERE,
}
# The least that every command takes beside its own.
SHARED = {"--json", "--home", "--url"}

# What the command line may know of the domain: values and their text, none of its rules.
VALUES = """
    access agent.approval audit_feed errors lazy limits policies.policy prompts.projection record
    records records.audit representation run runs.job runs.journal runs.transcript scope session
    skill skills skills.rollout skills.skill_curation suggestion taint text.excerpt text.safe_text
    timestamps worth.effect worth.outcome
"""
VALUE_MODULES = {"runlore.domain", *(f"runlore.domain.{name}" for name in VALUES.split())}
# The few words of a rule that are shown as they are: one function says them, to every surface.
READ_FROM = {
    "runlore.domain.records.radar": {"Finding", "finding_from_plain"},
    "runlore.domain.records.visibility": {"hidden_because"},
    "runlore.domain.rollouts": {"NextStep", "counting", "next_step"},
    "runlore.domain.detectors.match": {"Heuristic"},
    "runlore.domain.detectors.mined": {"Outcome", "Step"},
    "runlore.domain.serialization.codec": {"deserialize", "serialize"},
    "runlore.domain.policies.learning_policy": {"OwnWords"},
    "runlore.domain.policies.policy_fields": {"learning_policy"},
    "runlore.domain.policies.skills_policy": {"SkillCurationPolicy", "skills_policy"},
    "runlore.domain.statements.candidates": {"guess_statement"},
    "runlore.domain.statements.conduct": {"may_stand"},
    "runlore.domain.statements.finding": {"OwnStatement"},
    "runlore.domain.statements.ranks": {"Rank", "confidence_reasons", "rank_of", "sessions_of"},
    "runlore.domain.worth.repeat_rates": {"RateChange"},
    "runlore.domain.worth.repeats": {"Repeat", "Repeats", "find_repeats"},
    "runlore.domain.privacy.redaction": {"redact_text"},
    "runlore.domain.project": {"FolderBinding", "FolderId", "folder_id", "project_name"},
}
BELOW = {
    *("runlore.config.settings", "runlore.daemon", "runlore.daemon.answers", "runlore.daemon.wiring"),
    # A daemon is started, found and ended here.
    *(
        "runlore.api.serve",
        "runlore.console.pages",
        "runlore.daemon.process.daemon_lock",
        "runlore.daemon.operations.access",
        "runlore.daemon.token_file",
        "runlore.daemon.process.server",
        "runlore.daemon.process.sockets",
    ),
    *("runlore.daemon.process.tokens", "runlore.daemon.process.browser_sessions"),
    *("runlore.daemon.process.logs", "runlore.daemon.process.daemon_lock"),
    # Which agents are connected and whom they speak for, and what was learned meanwhile.
    *("runlore.daemon.agents_folder", "runlore.daemon.notifications", "runlore.daemon.process.personas"),
    # A page is written whole or not at all, and a pipe in the place of a file holds nobody up.
    "runlore.atomic_write",
    "runlore.regular_file",
    # Transcripts are read on the machine that the command runs on.
    "runlore.daemon.clock",
    *(
        f"runlore.daemon.mining.{name}"
        for name in (
            "dry_run",
            "proposing",
            "findings",
            "foreign_memories",
            "local_transcripts",
            "cluster",
            "past_decisions",
            "people",
            "source_reader",
            "store_runs",
        )
    ),
    # Folders in which agents look for skills are those of the machine that the command runs on.
    *("runlore.daemon.skills.mounting", "runlore.daemon.skills.file_text"),
    # Connecting an agent changes files of this machine, and asks no daemon.
    "runlore.daemon.connected_agents",
    # The one table of statuses, for the problem documents of `--json`.
    "runlore.api.errors",
    # Agents speak MCP to a command, and to the daemon that it starts; it serves the project of its folder.
    *("runlore.mcp", "runlore.mcp.server", "runlore.mcp.server", "runlore.daemon.calls.working_folders"),
}
RULES = {
    *("TRANSITIONS", "RECORD", "Lifecycle", "Move", "transition", "opening", "made", "moved", "replay"),
    *("RUN", "RunMove", "JOB", "JobMove", "checked_policy", "retry_at", "visible_scopes", "bound"),
    *("SUGGESTION", "SuggestionMove", "SKILL", "SkillMove", "ROLLOUT", "RolloutMove", "ADVANCES"),
    *("APPROVAL", "ApprovalMove"),
}

RECORD_FIELDS = [
    *("record_id", "layer", "kind", "state", "state_reason", "scope", "summary", "metadata", "confidence"),
    *("sensitivity", "origin", "created_by", "source", "evidence_refs", "provenance", "publish_tier"),
    *("verification_status", "policy_decision", "policy_actor", "automation_review", "semantic_key"),
    *("proposal", "supersedes", "superseded_by", "duplicate_of", "both_hold", "feedback"),
    *("standing", "created_at", "published_at"),
    *("expires_at", "revalidate_at", "revision"),
]
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
CLI_FILES = [file for file in python_files(PACKAGE) if file.is_in(f"{PACKAGE}/cli")]


def commands(command: Any = None, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every command with the words that call it."""
    command = command or get_command(app)
    if isinstance(command, TyperGroup):
        for name, inner in command.commands.items():
            yield from commands(inner, f"{path} {name}".strip())
    else:
        yield path, command


COMMANDS = dict(commands())
EVERY_COMMAND = pytest.mark.parametrize("path", COMMANDS)


@pytest.mark.req("SUR-2", "SUR-7")
@pytest.mark.parametrize("path", TAKEN)
def test_a_command_keeps_its_name_and_what_it_takes(path: str) -> None:
    parameters = COMMANDS[path].params

    taken = {
        p.metavar if p.param_type_name == "argument" else name
        for p in parameters
        for name in (*p.opts, *p.secondary_opts)
    }
    assert taken >= TAKEN[path]


@pytest.mark.req("SUR-2", "SUR-7")
@EVERY_COMMAND
def test_every_command_takes_json_home_and_url(path: str) -> None:
    assert {name for parameter in COMMANDS[path].params for name in parameter.opts} >= SHARED


@pytest.mark.req("SUR-1")
def test_every_operation_has_a_command_or_a_written_reason() -> None:
    operations = {name for name, _ in inspect.getmembers(Operations, inspect.isfunction) if name[0] != "_"}
    called = {
        name.removeprefix("operations.")
        for file in CLI_FILES
        for node in ast.walk(file.tree)
        if isinstance(node, ast.Call) and (name := dotted(node.func)).startswith("operations.")
    }
    called |= {
        node.name
        for file in CLI_FILES
        for node in ast.walk(file.tree)
        if isinstance(node, ast.FunctionDef)
        and any(isinstance(each, ast.Call) and dotted(each.func) == "asks" for each in node.decorator_list)
    }

    assert operations - called == set(WITHOUT_COMMAND)
    assert called <= operations


@pytest.mark.req("SUR-1")
@pytest.mark.parametrize("file", CLI_FILES, ids=lambda file: file.path)
def test_the_command_line_knows_values_and_no_rules(file: SourceFile) -> None:
    for node in ast.walk(file.tree):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("runlore."):
            continue
        module, names = str(node.module), {alias.name for alias in node.names}
        if module in READ_FROM:
            assert names <= READ_FROM[module]
        else:
            allowed = module in VALUE_MODULES | BELOW or module.startswith(
                ("runlore.cli", "runlore.ports", "runlore.client")
            )
            assert allowed, file.at(node, f"imports {module}")
            assert not names & RULES, file.at(node, f"imports {names & RULES}")


@pytest.mark.req("SUR-1")
@pytest.mark.parametrize("file", CLI_FILES, ids=lambda file: file.path)
def test_the_command_line_decides_nothing_by_what_a_record_is(file: SourceFile) -> None:
    enumerations = (
        *("Kind.", "Layer.", "State.", "StateReason.", "Sensitivity.", "Proposal.", "PublishTier."),
        *("RunStatus.", "MemoryState.", "JobState.", "Role.", "PolicyName.", "SuggestionState."),
        *("SkillState.", "SkillOrigin.", "Quality.", "CurationKind.", "RolloutStatus.", "RolloutKind."),
        *("ApprovalState.", "ApprovalKind."),
    )
    for node in ast.walk(file.tree):
        if isinstance(node, ast.Compare):
            compared = [dotted(side) for side in (node.left, *node.comparators)]
            assert not [name for name in compared if name.startswith(enumerations)], file.at(node, "decides")


@pytest.mark.req("SUR-7")
def test_every_command_that_a_message_names_is_one() -> None:
    groups = {path.rpartition(" ")[0] for path in COMMANDS}
    for file in python_files(PACKAGE):
        for named in re.findall(r"`runlore ([a-z][^`{]*)", file.text):
            words = named.split()
            beginnings = {" ".join(words[:length]) for length in range(1, len(words) + 1)}
            assert beginnings & set(COMMANDS) or " ".join(words) in groups, f"{file.path}: runlore {named}"


@pytest.mark.req("SUR-7")
@EVERY_COMMAND
def test_help_fits_a_terminal_and_is_not_cut(path: str, embedded: Runlore) -> None:
    shown = embedded.text(*path.split(), "--help", columns=80)

    assert shown.startswith(f"Usage: runlore {path} [OPTIONS]")
    # An argument that may be given several times is written so; nothing else ends in dots.
    assert "..." not in shown.replace("PATH...", "PATH").replace("NAME...", "NAME")
    assert not re.search(r"[{}]|<\w+>", shown)
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.req("SUR-7")
@pytest.mark.parametrize("path", sorted({"", *(p.rpartition(" ")[0] for p in COMMANDS)}))
def test_a_group_lists_its_commands_in_whole_sentences(path: str, embedded: Runlore) -> None:
    shown = embedded.text(*path.split(), "-h", columns=80)

    listed = shown.partition("Commands:\n" if path else "Every day:\n")[2]
    assert listed
    assert "..." not in listed


@pytest.mark.req("SUR-7")
@pytest.mark.parametrize("words", [(), ("memory",), ("memory", "review")])
def test_a_group_without_a_command_shows_its_help_and_fails(
    words: tuple[str, ...], embedded: Runlore
) -> None:
    outcome = embedded.run(*words)

    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("Usage: runlore")


@pytest.mark.req("SUR-7")
def test_the_version_is_told_by_a_command_and_by_an_option(embedded: Runlore) -> None:
    version = embedded.json("version")["version"]

    assert embedded.text("version") == embedded.text("--version") == f"runlore {version}\n"
    assert not embedded.home.exists()


@pytest.mark.req("REC-7", "SUR-2")
def test_a_record_is_printed_with_all_its_fields_in_their_order(runlore: Runlore) -> None:
    record = runlore.inspect(runlore.prefer("editor", "vim"))

    assert list(record) == RECORD_FIELDS
    assert record["scope"] == {"kind": "workspace", "id": "default"}
    assert list(record["provenance"]) == ["untrusted", "needs_review", "sources"]
    assert record["feedback"] == {"wrong": 0, "helped": 0}
    assert TIME.fullmatch(record["created_at"])
    assert TIME.fullmatch(record["published_at"])
    assert (record["confidence"], record["origin"], record["revision"]) == (80, "api", 2)


@pytest.mark.req("SUR-2", "LAY-7")
def test_an_act_answers_with_the_record_acted_on(runlore: Runlore) -> None:
    first, second, third = (runlore.propose("editor", value) for value in ("vim", "helix", "emacs"))

    acts = [
        ("review", "confirm", first, "active"),
        ("review", "reject", second, "tombstoned"),
        ("rollback", first, "tombstoned"),
    ]
    for *words, record_id, state in acts:
        answer = runlore.json("memory", *words, record_id)
        assert (answer["record_id"], answer["state"]) == (record_id, state)
        assert set(answer) >= set(RECORD_FIELDS)
    assert runlore.state(third) == "constrained"


@pytest.mark.req("SUR-2")
def test_every_list_has_items_and_a_cursor(runlore: Runlore) -> None:
    record_id = runlore.prefer("editor", "vim")
    lists = [
        ("list",),
        ("search", "editor"),
        ("history", record_id),
        ("states",),
        ("review", "list"),
        ("semantic", "compact"),
        ("procedural", "dedup"),
    ]

    for words in lists:
        answer = runlore.json("memory", *words)
        assert isinstance(answer["items"], list), words
        assert answer["next_cursor"] is None, words


@pytest.mark.req("SUR-2", "LAY-1")
def test_an_item_of_the_review_list_is_the_record_with_what_it_would_supersede(runlore: Runlore) -> None:
    old = runlore.prefer("editor", "vim")
    new = runlore.propose("editor", "helix")

    (item,) = runlore.items("memory", "review", "list")

    assert list(item)[: len(RECORD_FIELDS)] == RECORD_FIELDS
    assert item["record_id"] == new
    assert [record["record_id"] for record in item["would_supersede"]] == [old]
    assert list(item["would_supersede"][0]) == RECORD_FIELDS


@pytest.mark.req("SUR-2")
def test_lists_page_on_without_gaps_or_repeats(runlore: Runlore) -> None:
    made = [runlore.propose(f"key {number}", "value") for number in range(5)]

    for words in (("list", "--state", "constrained"), ("review", "list")):
        found: list[str] = []
        cursor: list[str] = []
        while True:
            page = runlore.json("memory", *words, "--limit", "2", *cursor)
            found += [item["record_id"] for item in page["items"]]
            if page["next_cursor"] is None:
                break
            cursor = ["--cursor", page["next_cursor"]]
        assert found == made[::-1]


@pytest.mark.req("SUR-2")
def test_a_person_gets_the_same_cursor_as_a_program(embedded: Runlore) -> None:
    for number in range(3):
        embedded.propose(f"key {number}", "value")

    page = embedded.json("memory", "review", "list", "--limit", "1")
    shown = embedded.text("memory", "review", "list", "--limit", "1")

    assert shown.splitlines()[-1] == f"There are more: --cursor {page['next_cursor']}"


@pytest.mark.req("SUR-2", "SUR-7")
def test_the_original_names_of_options_work(runlore: Runlore) -> None:
    record_id = runlore.prefer("editor", "vim")

    assert runlore.items("memory", "list", "--status", "active") == runlore.items("memory", "list")
    assert runlore.items("memory", "search", "--query", "editor") == runlore.items(
        "memory", "search", "editor"
    )
    assert runlore.items("memory", "list", "--layer", "profile", "--limit", "1")[0]["record_id"] == record_id
    assert runlore.items("memory", "list", "--layer", "semantic", "--layer", "procedural") == []


@pytest.mark.req("SUR-7")
def test_a_list_for_people_is_a_table(runlore: Runlore) -> None:
    record_id = runlore.prefer("editor", "vim", "--scope", "project:acme")

    header, row = runlore.text("memory", "list").splitlines()

    assert header.split() == ["ID", "LAYER", "KIND", "STATE", "SCOPE", "SUMMARY"]
    assert row.replace("in use", "in-use").split(maxsplit=5) == [
        record_id,
        "profile",
        "preference",
        "in-use",
        "project:acme",
        "editor: vim",
    ]


@pytest.mark.req("SUR-7", "OPS-4")
def test_status_says_where_the_state_lies_and_what_it_holds(runlore: Runlore) -> None:
    runlore.prefer("editor", "vim")
    runlore.propose("shell", "fish")

    status = runlore.json("status")

    assert status["state_root"] == str(runlore.home)
    assert status["store"]["engine"] == ("postgresql" if runlore.database_url else "sqlite")
    assert status["records"]["profile"] == {"constrained": 1, "active": 1, "superseded": 0, "tombstoned": 0}
    assert status["waiting"] == 1
    assert "1 waiting for you" in runlore.text("status")


@pytest.mark.req("REC-5")
def test_the_table_of_moves_is_the_same_for_people_and_programs(embedded: Runlore) -> None:
    rows: list[Json] = embedded.items("memory", "states")
    shown = embedded.text("memory", "states").splitlines()[1:]

    assert len(shown) == len(rows)
    for line, row in zip(shown, rows, strict=True):
        assert line.split()[:3] == [row["from"] or "-", row["move"], row["to"]]


@pytest.mark.req("SUR-7")
def test_a_record_for_people_is_shown_field_by_field(runlore: Runlore) -> None:
    old = runlore.prefer("editor", "vim", "--sensitive")
    record_id = runlore.prefer("editor", "helix", "--expires-at", "2099-01-31", "--sensitive")

    fields = dict(
        line.split(maxsplit=1) for line in runlore.text("memory", "inspect", record_id).splitlines()
    )

    assert fields["record_id"] == record_id
    assert fields["summary"] == "editor: helix"
    assert fields["metadata.reason"] == "they said so"
    assert fields["supersedes"] == old
    assert fields["expires_at"] == "2099-01-31T00:00:00.000Z"
    assert fields["sensitivity"] == "sensitive"
    assert "superseded_by" not in fields
    assert "feedback.wrong" not in fields


@pytest.mark.req("REC-6")
def test_history_tells_who_moved_a_record_when_and_why(runlore: Runlore) -> None:
    record_id = runlore.propose("editor", "vim", reason="said on day one")
    runlore.confirm(record_id, "--reason", "still true")

    proposed, confirmed = runlore.items("memory", "history", record_id)

    assert (proposed["move"], proposed["from_state"], proposed["to_state"]) == (
        "propose",
        None,
        "constrained",
    )
    assert (confirmed["move"], confirmed["actor"]) == ("confirm", "operator")
    assert (proposed["reason"], confirmed["reason"]) == ("said on day one", "still true")
    assert confirmed["changes"]["state"] == "active"
    assert TIME.fullmatch(confirmed["at"])
    header, first, second = runlore.text("memory", "history", record_id).splitlines()
    assert header.split() == ["REV", "AT", "MOVE", "STATE", "ACTOR", "REASON", "CHANGED"]
    assert "said on day one" in first
    assert "constrained -> active" in second


@pytest.mark.req("SUR-2")
def test_an_idempotency_key_makes_a_call_happen_once(runlore: Runlore) -> None:
    key = ("--idempotency-key", "call-1")
    first = runlore.propose("editor", "vim", *key)

    assert runlore.propose("editor", "vim", *key) == first
    assert (
        runlore.fails(
            "memory",
            "profile",
            "propose",
            "--key",
            "editor",
            "--value",
            "vi",
            "--reason",
            "they said so",
            *key,
        ).code
        == "idempotency.reused"
    )
    confirmed = runlore.confirm(first, "--idempotency-key", "call-2")
    assert runlore.confirm(first, "--idempotency-key", "call-2") == confirmed
    assert len(runlore.items("memory", "list")) == 1
