"""What an agent's command does to files that others obey: undone, and asked about once."""

from pathlib import Path

import pytest

from runlore.config.settings import Settings
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
