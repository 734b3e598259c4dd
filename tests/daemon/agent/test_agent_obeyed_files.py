"""What an agent's command does to files that others obey: undone, and asked about once."""

from pathlib import Path

import pytest

from runlore.config.settings import Settings
from runlore.domain import limits
from runlore.domain.agent.approval import ApprovalState
from runlore.domain.agent.approval_rules import ApprovalRules, Stance
from runlore.ports import operations as ops
from tests.flow.agent_world import at_work
from tests.model_server import calls, says

pytestmark = pytest.mark.req("SEC-1")

RULES = ApprovalRules(shell=Stance.ALLOW, writes=Stance.ALLOW)
COMMAND = "echo obey > AGENTS.md; echo fine > notes"


@pytest.mark.parametrize("approve", [True, False])
@pytest.mark.parametrize("tool", ["shell", "write_file"])
def test_a_person_is_asked_once(settings: Settings, disk_path: Path, tool: str, approve: bool) -> None:
    folder = disk_path / "work"
    given = {"command": COMMAND} if tool == "shell" else {"path": "AGENTS.md", "content": "obey\n"}
    with at_work(settings, folder, calls(tool, given), says("Done."), rules=RULES) as work:
        run_id = work.start()
        asked = work.asked(run_id)
        there = (folder / "AGENTS.md").exists()
        work.operator.decide_approval(ops.ApprovalDecision(approval_id=asked.approval_id, approve=approve))
        work.ended(run_id)

        assert not there
        assert "AGENTS.md" in asked.why
        assert "+obey" in str(asked.arguments.get("changes", "+obey"))
        assert (folder / "AGENTS.md").exists() is approve
        assert (folder / "notes").exists() is (tool == "shell")
        decided = ops.ApprovalsRequest(run_id=run_id, states=frozenset(ApprovalState))
        assert len(work.operator.list_approvals(decided).items) == 1
        assert ("denied" in work.outputs(run_id)[0]) is not approve


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("write_file", {"path": "docs/rules.md", "content": "obey\n"}),
        ("edit_file", {"path": "docs/rules.md", "old_text": "kind", "new_text": "obey"}),
        ("write_file", {"path": "tools/x/config", "content": "[core]\n fsmonitor = obey\n"}),
    ],
)
@pytest.mark.parametrize("approve", [True, False])
def test_a_file_that_is_obeyed_for_where_it_is_is_asked_about_too(
    settings: Settings, disk_path: Path, tool: str, given: dict[str, str], approve: bool
) -> None:
    folder = disk_path / "work"
    for name in ("docs", "tools/x/objects", "tools/x/refs"):
        (folder / name).mkdir(parents=True)
    (folder / "tools/x/HEAD").write_text("ref: refs/heads/main\n")
    (folder / "docs/rules.md").write_text("Be kind.\n")
    (folder / "CLAUDE.md").symlink_to("docs/rules.md")
    with at_work(settings, folder, calls(tool, given), says("Done."), rules=RULES) as work:
        run_id = work.start()
        asked = work.asked(run_id)
        path = folder / given["path"]
        was_there = path.exists() and "obey" in path.read_text()
        work.operator.decide_approval(ops.ApprovalDecision(approval_id=asked.approval_id, approve=approve))
        work.ended(run_id)

        assert not was_there
        assert given["path"] in asked.why
        assert (path.exists() and "obey" in path.read_text()) is approve


@pytest.mark.parametrize("approve", [True, False])
def test_a_command_that_leaves_what_nobody_can_look_through_is_asked_about(
    settings: Settings, disk_path: Path, approve: bool
) -> None:
    deep = {"command": f"mkdir -p {'d/' * (limits.OBEYED_DEPTH_MAX + 1)}"}
    with at_work(settings, disk_path / "work", calls("shell", deep), says("Done."), rules=RULES) as work:
        run_id = work.start()
        asked = work.asked(run_id)
        work.operator.decide_approval(ops.ApprovalDecision(approval_id=asked.approval_id, approve=approve))
        work.ended(run_id)

        assert "nobody can tell" in asked.why
        assert "nobody can tell" in work.outputs(run_id)[0]
        assert ("denied" in work.outputs(run_id)[0]) is not approve
