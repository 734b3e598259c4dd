"""What was asked and what came of it, as a model is told, and the conversations that are stored nowhere."""

import threading
from collections import OrderedDict
from collections.abc import Iterable

from runlore.domain import limits
from runlore.domain.agent.conversation import AssistantSaid, Message, UserSaid
from runlore.domain.prompts.token_budget import estimate
from runlore.domain.session import SessionId
from runlore.domain.text.excerpt import excerpt

Exchange = tuple[str, str]
_SESSIONS_MAX = 64
_UNANSWERED = "(This ended without an answer.)"


def conversation(newest_first: Iterable[Exchange], *, tokens_max: int) -> tuple[Message, ...]:
    """Exchanges as messages; what is older than the first that does not fit is left out. A forgotten one says
    nothing."""
    kept: list[Exchange] = []
    left = tokens_max
    for asked, answered in newest_first:
        if not asked.strip():
            continue
        exchange = shortened_text(asked), shortened_text(answered)
        left -= sum(map(estimate, exchange))
        if left < 0:
            break
        kept.append(exchange)
    messages: list[Message] = []
    for asked, answered in reversed(kept):
        messages += UserSaid(text=asked), AssistantSaid(text=answered)
    return tuple(messages)


class UnstoredConversations:
    """The conversations of sessions of which nothing is stored, while this process lives: a few of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[SessionId, list[Exchange]] = OrderedDict()

    def add(self, session_id: SessionId, asked: str, answered: str) -> None:
        with self._lock:
            exchange = shortened_text(asked), shortened_text(answered) or _UNANSWERED
            told = [*self._kept.pop(session_id, []), exchange]
            self._kept[session_id] = told[-limits.AGENT_HISTORY_RUNS_MAX :]
            while len(self._kept) > _SESSIONS_MAX:
                self._kept.popitem(last=False)

    def of(
        self, session_id: SessionId, *, tokens_max: int = limits.AGENT_HISTORY_TOKENS_MAX
    ) -> tuple[Message, ...]:
        """The conversation so far, as much of its end as so many tokens hold."""
        with self._lock:
            told = list(self._kept.get(session_id, ()))
        return conversation(reversed(told), tokens_max=tokens_max)


def shortened_text(text: str) -> str:
    """As much of a text as is told of an earlier input."""
    return excerpt(text.strip(), limits.AGENT_HISTORY_TEXT_CHARS_MAX)
