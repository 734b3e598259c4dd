"""Questions to the person whose task it is."""

from dataclasses import dataclass

from runlore.agents.tools.context import Ask, ToolContext, object_schema, text_argument, text_schema
from runlore.domain import limits
from runlore.domain.agent.conversation import ToolCall, ToolSpec
from runlore.ports.runner import ToolOutcome
from runlore.ports.stopping import Stop

NAME = "ask_user"


@dataclass(frozen=True, kw_only=True)
class AskUser:
    """Asks, and waits for the answer."""

    ask: Ask

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(
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

    def call(self, call: ToolCall, stop: Stop) -> ToolOutcome:
        return ToolOutcome(output=self.ask(text_argument(call.arguments, "question"), stop))


def ask_user(given: ToolContext) -> AskUser | None:
    return None if given.ask is None else AskUser(ask=given.ask)
