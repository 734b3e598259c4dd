"""Models: one question with a schema for its answer, whoever answers it."""

from dataclasses import field
from enum import StrEnum
from typing import Protocol

from runlore.domain.errors import Unavailable
from runlore.domain.lazy import dataclass
from runlore.domain.record import JsonObject


class ModelPurpose(StrEnum):
    """What a model is asked for. Each has its own prompt and its own budget."""

    EXTRACTION = "extraction"
    JUDGE = "judge"
    ENHANCEMENT = "enhancement"
    CURATION = "curation"
    READING = "reading"


class ProviderKind(StrEnum):
    """Which protocol a provider speaks: OpenAI's chat completions or Anthropic's messages. A program of an
    agent that is installed here is asked by starting it."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    PROGRAM = "program"


@dataclass(frozen=True, kw_only=True)
class Provider:
    """Where models are asked: the protocol, the address, and the variable that its key was read from.

    Without `api_key_env` it is asked without a key. `own_address` tells that somebody has set the address.
    """

    name: str
    kind: ProviderKind
    base_url: str
    api_key_env: str = ""
    api_key: str = field(default="", repr=False)
    own_address: bool = False


@dataclass(frozen=True, kw_only=True)
class Question:
    """What to ask: `document` is data for the prompt of this purpose, never an instruction.

    `model` is `provider:name`; empty takes the configured default.
    """

    purpose: ModelPurpose
    document: JsonObject
    schema: JsonObject
    model: str = ""
    timeout_s: float = 15.0


@dataclass(frozen=True, kw_only=True)
class TokenUsage:
    """What an answer took. The cost is in millionths of a US dollar, None where the price is not known."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost_micro_usd: int | None = None


@dataclass(frozen=True, kw_only=True)
class Reply:
    """A model's answer, valid by the question's schema; which model and which prompt version gave it."""

    output: JsonObject
    model: str
    prompt: str
    usage: TokenUsage


class ModelFailure(Unavailable):
    """A model could not be asked, or did not answer as it should. `usage` is what it took all the same.

    One that `passes` may be over in a moment: the same can be asked again. `retry_after_s` is how long the
    server wants to be left alone, where it says so. Where `is_absent`, nothing answers at its address.
    """

    def __init__(
        self,
        sentence: str,
        *,
        code: str,
        hint: str = "",
        usage: TokenUsage | None = None,
        retry_after_s: float | None = None,
        passes: bool = False,
        is_absent: bool = False,
    ) -> None:
        super().__init__(sentence, code=code, hint=hint)
        self.usage = TokenUsage() if usage is None else usage
        self.retry_after_s = retry_after_s
        self.passes = passes
        self.is_absent = is_absent


class Models(Protocol):
    """The configured models. Every failure is a ModelFailure with a code `model.*` and one clear line."""

    @property
    def is_configured(self) -> bool: ...

    def describe(self) -> JsonObject:
        """What `status` and `doctor` tell: the default model, the providers, which keys are set; no key."""

    def resolve(self, model: str = "") -> str:
        """The whole name of the model that would be asked, found out without asking it; empty is the default.

        ModelFailure: `model.none`, `model.unknown` (no such provider), `model.key` (its variable is not set),
        `model.program` (it is not installed), `model.libraries` (nor is what asks over HTTP).
        """

    def ask(self, question: Question) -> Reply:
        """Ask, within the question's time. ModelFailure: `model.none` (nothing configured), `model.unknown`
        (no such provider or model), `model.key` (no or a wrong key; names the variable), `model.question`
        (too long to be asked), `model.timeout`, `model.unreachable`, `model.rate-limited`, `model.refused`
        (it declined), `model.answer` (not what the schema asks for), `model.failed` (any other answer of the
        server).
        """

    def close(self) -> None: ...
