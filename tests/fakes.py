"""Fakes that implement a port: time and ids move when a test says so, models say what it tells them."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from runlore.domain.record import JsonObject, RecordId
from runlore.ports.model import ModelFailure, Question, Reply, TokenUsage

START = datetime(2026, 1, 1, tzinfo=UTC)


class FakeClock:
    """A clock that stands still."""

    def __init__(self, now: datetime = START) -> None:
        self._now = now
        self._elapsed = timedelta()
        self.doubted = timedelta()

    def now(self) -> datetime:
        """The moment that the test has set."""
        return self._now

    def earliest_now(self) -> datetime:
        """The moment that the test has set, but for what it doubts."""
        return self._now - self.doubted

    def doubt(self) -> str:
        """What is said of it."""
        return f"it is {self.doubted} ahead" if self.doubted else ""

    def advance(self, *, milliseconds: int = 0, seconds: int = 0, days: int = 0) -> datetime:
        """Move on, and tell the new moment."""
        passed = timedelta(milliseconds=milliseconds, seconds=seconds, days=days)
        self._elapsed += passed
        return self.set_right(passed)

    def elapsed_s(self) -> float:
        """The seconds that the test has let pass."""
        return self._elapsed.total_seconds()

    def set_right(self, by: timedelta) -> datetime:
        """Tell another moment, as a clock that somebody sets, and tell it; no time has passed."""
        self._now += by
        return self._now


class SequentialIds:
    """`rec_000001`, `rec_000002` and so on."""

    def __init__(self) -> None:
        self._latest = 0

    def record_id(self, now: datetime) -> RecordId:
        """The next id, whatever the time."""
        return RecordId(self.new("rec", now))

    def new(self, prefix: str, now: datetime) -> str:
        """The next id with a prefix, whatever the time."""
        self._latest += 1
        return f"{prefix}_{self._latest:06}"


class ScriptedModels:
    """Models that answer what a test says: an output, a failure, or a function of the question.

    Each thing to say is used once, in order; the last one is said again and again.
    """

    def __init__(self, *says: JsonObject | ModelFailure | Callable[[Question], JsonObject]) -> None:
        self._says = list(says)
        self.questions: list[Question] = []

    @property
    def is_configured(self) -> bool:
        """Whether there is anything to say."""
        return bool(self._says)

    def describe(self) -> JsonObject:
        """What `status` tells."""
        return {}

    def resolve(self, model: str = "") -> str:
        """Any name is good."""
        if not self._says:
            raise ModelFailure("no model is set", code="model.none")
        return model or "test:scripted"

    def ask(self, question: Question) -> Reply:
        """Say what comes next."""
        self.questions.append(question)
        said = self._says[0] if len(self._says) == 1 else self._says.pop(0)
        if isinstance(said, ModelFailure):
            raise said
        output = said(question) if callable(said) else said
        return Reply(
            output=output,
            model=self.resolve(question.model),
            prompt=f"{question.purpose}-1",
            usage=TokenUsage(input_tokens=10, output_tokens=5),
        )

    def close(self) -> None:
        """Nothing is held."""
