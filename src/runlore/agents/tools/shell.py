"""Commands in the working folder."""

from dataclasses import dataclass

from runlore.agents.tools.context import (
    OnOutput,
    ToolContext,
    integer_schema,
    number_argument,
    object_schema,
    text_argument,
    text_schema,
)
from runlore.domain import limits
from runlore.domain.agent.agent_profile import AgentLimits
from runlore.domain.agent.conversation import ToolCall, ToolSpec
from runlore.ports.runner import ToolOutcome
from runlore.ports.stopping import Stop
from runlore.ports.workspaces import CONFINED, UNCONFINED, ShellResult, Workspace

NAME = "shell"
_SEES = {
    CONFINED: "It sees the working folder, a temporary folder of its own and the programs of the system, and"
    " nothing else of the machine's files; it may not speak to other programs of the machine.",
    UNCONFINED: "Nothing keeps it inside the working folder: stay there, and touch nothing else.",
}


@dataclass(frozen=True, kw_only=True)
class ShellTool:
    """Runs a command, for as long as one may take and no longer than the run."""

    workspace: Workspace
    limits: AgentLimits
    on_output: OnOutput | None = None

    @property
    def spec(self) -> ToolSpec:
        most = max(1, int(self.limits.call_seconds_max))
        return ToolSpec(
            name=NAME,
            description=(
                "Run a command with bash in the working folder, and read what it prints on both streams"
                " and its exit code. Each call is a shell of its own: no folder, variable or job is kept"
                f" for the next one. Nothing can be typed into it. {_SEES[self.workspace.confinement]} It may"
                " have to be approved by a person: one plain command at a time is approved sooner than a"
                " long line."
            ),
            parameters=object_schema(
                {
                    "command": text_schema(
                        "The command line, as typed into bash.", chars_max=limits.AGENT_COMMAND_CHARS_MAX
                    ),
                    "timeout_seconds": integer_schema(
                        f"How long it may take before it is ended; {most} at most, and where none is given.",
                        most=most,
                    ),
                },
                optional=("timeout_seconds",),
            ),
        )

    def call(self, call: ToolCall, stop: Stop) -> ToolOutcome:
        """Run it. A failed command is an answer, not an error of the tool."""
        seconds = number_argument(call.arguments, "timeout_seconds")
        most = self.limits.call_seconds_max
        timeout_s = most if seconds is None else min(float(seconds), most)
        on_output = self.on_output
        result = self.workspace.run(
            text_argument(call.arguments, "command"),
            timeout_s=timeout_s,
            stop=stop,
            output_chars_max=self.limits.output_chars_max,
            on_output=None if on_output is None else lambda piece: on_output(call.call_id, piece),
        )
        return ToolOutcome(
            output=f"{result.output.rstrip()}\n[{_ending(result, timeout_s)}]".lstrip(),
            is_error=result.exit_code != 0,
            exit_code=result.exit_code,
        )


def shell(given: ToolContext) -> ShellTool | None:
    """The tool, where there is a workspace."""
    if given.workspace is None:
        return None
    return ShellTool(workspace=given.workspace, limits=given.limits, on_output=given.on_output)


def _ending(result: ShellResult, timeout_s: float) -> str:
    if result.timed_out:
        return f"ended after {timeout_s:g} s: its time was over"
    if result.stopped:
        return "ended: the run was stopped"
    if result.exit_code is None:
        return "ended by a signal"
    return f"exit code {result.exit_code}"
