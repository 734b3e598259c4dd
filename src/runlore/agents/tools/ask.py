"""Questions to the person whose task it is."""

from runlore.agents.tools.context import RunTool, ToolContext, object_schema, text_argument, text_schema
from runlore.domain import limits
from runlore.domain.agent.conversation import ToolCall, ToolSpec
from runlore.ports.runner import ToolOutcome
from runlore.ports.stopping import Stop

NAME = "ask_user"


def ask_user(given: ToolContext) -> RunTool | None:
    ask = given.ask
    if ask is None:
        return None
    spec = ToolSpec(
        name=NAME,
        description=(
            "Ask the person whose task this is, and wait for the answer. Only for what you can neither"
            " find out nor decide: one clear question, with the choices where there are some."
        ),
        parameters=object_schema(
            {"question": text_schema("The question.", chars_max=limits.AGENT_QUESTION_CHARS_MAX)}
        ),
        waits=True,
    )

    def call(call: ToolCall, stop: Stop) -> ToolOutcome:
        return ToolOutcome(output=ask(text_argument(call.arguments, "question"), stop))

    return RunTool(spec, call)
