"""What an agent is made of, as data: its words, its tools and its limits."""

from runlore.domain.lazy import dataclass


@dataclass(frozen=True, kw_only=True)
class AgentLimits:
    """Where an agent is stopped, whatever its model wants.

    `seconds_max` is for a whole input, without the time that a person takes to answer; `turn_seconds_max` for
    the model to say nothing, `call_seconds_max` for one command, `answer_seconds_max` for a person.
    """

    turns_max: int
    seconds_max: float
    call_seconds_max: float
    output_chars_max: int
    answer_seconds_max: float
    turn_seconds_max: float = 300.0


@dataclass(frozen=True, kw_only=True)
class AgentProfile:
    """One kind of agent. `tools` are the only ones it is ever given; `instructions` open its prompt.

    An agent without `asks` never waits for a person: what would need one is denied.
    """

    name: str
    instructions: str
    tools: tuple[str, ...]
    limits: AgentLimits
    asks: bool = True
