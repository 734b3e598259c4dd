"""What went wrong with a turn of a conversation, in our words, where it differs from a single question."""

from collections.abc import Mapping

from pydantic_ai import exceptions as theirs

from runlore.models.failures import causes, error_details, failure_of, is_about_the_form
from runlore.models.http import UnreadableAnswer
from runlore.models.stream_recording import NotStreamed, StreamRecording
from runlore.ports.model import ModelFailure, Provider

_HINTS = {
    "model.timeout": "try again later, or raise turn_seconds_max under [agent] in config.toml",
    "model.answer": "try again later, or set another model",
    "model.refused": "say it in other words, or set another model",
}
_TOO_LARGE = 413
# How servers say that a conversation is too long, where the client library does not know it: llama.cpp,
# LM Studio, Gemini, Mistral, and Anthropic of an answer that would not fit behind it. They are looked for,
# and never repeated.
_TOO_LONG = (
    "exceed_context_size",
    "exceeds the available context size",
    "context length",
    "context window",
    "context limit",
    "context overflows",
    "prompt is too long",
    "input is too long",
    "input token count",
    "too large for model",
)
_ERROR_CHARS_READ = 10_000


def turn_failure(error: Exception, provider: Provider, name: str, exchange: StreamRecording) -> ModelFailure:
    """The failure that an error of the client library means for a turn."""
    asked = f"{provider.name}:{name}"
    if any(isinstance(cause, NotStreamed) for cause in causes(error)):
        return ModelFailure(
            f"{asked} does not stream its answer, although it was asked to",
            code="model.failed",
            hint="set a model whose server streams chat answers; Runlore's agent cannot do without",
        )
    if isinstance(error, theirs.ModelAPIError) and (rejected := _rejection(error, provider, asked)):
        return rejected
    failure = failure_of(error, provider, name)
    if failure.code == "model.answer" and not any(
        isinstance(cause, UnreadableAnswer) for cause in causes(error)
    ):
        if isinstance(error, theirs.ModelAPIError) and error.in_stream:
            return ModelFailure(
                f"{asked} ended its answer with an error{error_details(error, provider)}",
                code="model.failed",
                hint="try again later, or set another model",
                passes=True,
            )
        if exchange.is_broken_off:
            return broke_off(provider, name)
    return in_conversation(failure)


def _rejection(error: theirs.ModelAPIError, provider: Provider, asked: str) -> ModelFailure | None:
    if is_too_long(error):
        return ModelFailure(
            f"the conversation is too long for {asked}{error_details(error, provider)}",
            code="model.question",
            hint="begin a new session, or set a model with a larger window",
        )
    if not isinstance(error, theirs.ModelRequestRejectedError) or not is_about_the_form(error):
        return None
    return ModelFailure(
        f"{asked} rejected the conversation{error_details(error, provider)}",
        code="model.failed",
        hint="set a model that can call tools and whose server streams its answers",
    )


def is_too_long(error: theirs.ModelAPIError) -> bool:
    """Whether a server says that a conversation is too long for its model."""
    if isinstance(error, theirs.ModelContextWindowExceededError):
        return True
    if isinstance(error, theirs.ModelHTTPError) and error.status_code == _TOO_LARGE:
        return True
    if not isinstance(error, theirs.ModelRequestRejectedError) or not is_about_the_form(error):
        return False
    told = _error_text(error.body)
    return any(words in told for words in _TOO_LONG)


def _error_text(body: object) -> str:
    """What a server says of its error, to be searched and nothing else."""
    inner = body.get("error", body) if isinstance(body, Mapping) else body
    told = [inner.get(name) for name in ("type", "message")] if isinstance(inner, Mapping) else [inner]
    return " ".join(text[:_ERROR_CHARS_READ] for text in told if isinstance(text, str)).lower()


def broke_off(provider: Provider, name: str) -> ModelFailure:
    """The stream has ended before what the model said was whole."""
    return ModelFailure(
        f"the connection to {provider.name}:{name} failed: it broke off before the answer was whole",
        code="model.unreachable",
        hint=f"try again; where it goes on, check the server at {provider.base_url}",
        passes=True,
    )


def too_long(asked: str, bytes_max: int) -> ModelFailure:
    """There is more to send than is ever sent."""
    return ModelFailure(
        f"the conversation with {asked} is longer than {bytes_max} bytes",
        code="model.question",
        hint="begin a new session",
    )


def in_conversation(failure: ModelFailure) -> ModelFailure:
    """A failure of a question, with what to do about it in a conversation."""
    return ModelFailure(
        failure.sentence,
        code=failure.code,
        hint=_HINTS.get(failure.code, failure.hint),
        usage=failure.usage,
        retry_after_s=failure.retry_after_s,
        passes=failure.passes,
        is_absent=failure.is_absent,
    )
