"""What went wrong with a question or a turn of a conversation, in our words: no text of a server, and never
a key.

A server's own words may repeat what it was sent, so all that is told of them is a status and short codes.
"""

import re
from collections.abc import Iterator, Mapping

from pydantic_ai import exceptions as theirs

from runlore.domain import limits
from runlore.models.http import NotStreamed, Redirected, StreamRecording, UnreadableAnswer
from runlore.models.model_choice import late_failure
from runlore.models.structured_answer import no_answer
from runlore.ports.model import ModelFailure, Provider

_GARBLED = (TypeError, ValueError, LookupError, AttributeError, AssertionError)
# Words as in `rate_limit_exceeded`, and nothing that could hold a key.
_CODE = re.compile(r"[a-z]{1,24}(?:_[a-z]{1,24}){0,5}")
_SERVERS_FAULT = 500
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


def failure_of(error: Exception, provider: Provider, name: str) -> ModelFailure:
    asked = f"{provider.name}:{name}"
    if refused := _unreadable_failure(error, provider, asked):
        return refused
    if isinstance(error, theirs.ModelTimeoutError | theirs.ModelRequestTimeout | TimeoutError):
        return late_failure(asked)
    if isinstance(error, theirs.ModelConnectionError):
        return ModelFailure(
            f"the connection to {asked} failed{_phase(error)}",
            code="model.unreachable",
            hint=f"check that {provider.base_url} can be reached from here",
            passes=True,
            is_absent=error.phase == "connect",
        )
    if isinstance(error, theirs.ModelAPIError) and (refusal := _status_failure(error, provider, asked)):
        return refusal
    if isinstance(error, (theirs.UnexpectedModelBehavior, theirs.ModelAPIError, *_GARBLED)):
        # The client libraries trip over an answer that lacks what their protocol promises.
        return no_answer(asked, "it is not in the form of the provider's protocol")
    return ModelFailure(
        f"{asked} could not be asked: {type(error).__name__}",
        code="model.failed",
        hint="check the name of the model, and the kind and the base_url of its provider",
    )


def unusable(error: Exception, provider: Provider) -> ModelFailure:
    return ModelFailure(
        f"no connection to {provider.name} can be set up: {type(error).__name__}",
        code="model.failed",
        hint=f"check {provider.base_url}, and the proxies and SSL_CERT_FILE of the environment",
    )


def refusal(asked: str) -> ModelFailure:
    return ModelFailure(
        f"{asked} declined to answer", code="model.refused", hint="decide by hand, or set another model"
    )


def is_about_the_form(rejection: theirs.ModelRequestRejectedError) -> bool:
    """Whether a server rejected how it was asked, rather than who asks, for what, or how much."""
    specific = (
        theirs.ModelAuthenticationError,
        theirs.ModelNotFoundError,
        theirs.ModelContextWindowExceededError,
    )
    return not isinstance(rejection, specific)


def _unreadable_failure(error: Exception, provider: Provider, asked: str) -> ModelFailure | None:
    for cause in causes(error):
        if isinstance(cause, UnreadableAnswer):
            return no_answer(asked, str(cause))
        if isinstance(cause, Redirected):
            return ModelFailure(
                f"{asked} wants to be asked at another address, which is not followed",
                code="model.failed",
                hint=f"check the base_url {provider.base_url}",
            )
    return None


def _status_failure(error: theirs.ModelAPIError, provider: Provider, asked: str) -> ModelFailure | None:
    why = error_details(error, provider)
    if isinstance(error, theirs.ModelRateLimitError | theirs.ModelQuotaExceededError):
        return _rate_limit_failure(error, asked, why)
    if isinstance(error, theirs.ModelAuthenticationError):
        return ModelFailure(
            f"{asked} does not accept {'the key' if provider.api_key else 'a question without a key'}{why}",
            code="model.key",
            hint=f"check {provider.api_key_env or f'api_key_env of models.providers.{provider.name}'},"
            " and that its key may use this model",
        )
    if isinstance(error, theirs.ModelNotFoundError):
        return ModelFailure(
            f"{provider.name} knows no model {asked.partition(':')[2]!r}{why}",
            code="model.unknown",
            hint=f"check its name, and that {provider.base_url} is the right base_url",
        )
    if isinstance(error, theirs.ModelContextWindowExceededError):
        return ModelFailure(
            f"the question is too long for {asked}{why}",
            code="model.failed",
            hint="set a model with a larger window",
        )
    if isinstance(error, theirs.ModelHTTPError):
        wait = _wait(error)
        return ModelFailure(
            f"{asked} answered with an error{why}",
            code="model.failed",
            hint="try again later; where it goes on, check the model and the base_url of its provider",
            retry_after_s=wait,
            passes=error.status_code >= _SERVERS_FAULT or wait is not None,
        )
    return None


def _rate_limit_failure(error: theirs.ModelAPIError, asked: str, why: str) -> ModelFailure:
    if isinstance(error, theirs.ModelQuotaExceededError):
        return ModelFailure(
            f"the account's credit for {asked} is used up{why}",
            code="model.rate-limited",
            hint="top the account up, or set another model",
        )
    wait = _wait(error)
    return ModelFailure(
        f"{asked} is asked too often{why}",
        code="model.rate-limited",
        hint="try again later" if wait is None else f"try again in {wait:.0f} s",
        retry_after_s=wait,
        passes=True,
    )


def error_details(error: theirs.ModelAPIError, provider: Provider) -> str:
    """What may be told of a server's error, in brackets: its status and its short codes."""
    status = [f"HTTP {error.status_code}"] if isinstance(error, theirs.ModelHTTPError) else []
    codes = (error.provider_error_type, error.provider_error_code)
    short = [
        code for code in codes if isinstance(code, str) and _CODE.fullmatch(code) and code != provider.api_key
    ]
    message = ", ".join([*status, *dict.fromkeys(short)])
    return f" ({message})" if message else ""


def _wait(error: theirs.ModelAPIError) -> float | None:
    wait = error.retry_after
    return None if wait is None or not 0 <= wait <= limits.MODEL_RETRY_AFTER_S_MAX else float(wait)


def _phase(error: theirs.ModelConnectionError) -> str:
    words = {"connect": ": nothing answers there", "read": ": it broke off before the answer was there"}
    return words.get(error.phase or "", "")


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error and what it came of, outermost first."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def turn_failure(error: Exception, provider: Provider, name: str, exchange: StreamRecording) -> ModelFailure:
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
    if isinstance(error, theirs.ModelContextWindowExceededError):
        return True
    if isinstance(error, theirs.ModelHTTPError) and error.status_code == _TOO_LARGE:
        return True
    if not isinstance(error, theirs.ModelRequestRejectedError) or not is_about_the_form(error):
        return False
    message = _error_text(error.body)
    return any(words in message for words in _TOO_LONG)


def _error_text(body: object) -> str:
    inner = body.get("error", body) if isinstance(body, Mapping) else body
    message = [inner.get(name) for name in ("type", "message")] if isinstance(inner, Mapping) else [inner]
    return " ".join(text[:_ERROR_CHARS_READ] for text in message if isinstance(text, str)).lower()


def broke_off(provider: Provider, name: str) -> ModelFailure:
    return ModelFailure(
        f"the connection to {provider.name}:{name} failed: it broke off before the answer was whole",
        code="model.unreachable",
        hint=f"try again; where it goes on, check the server at {provider.base_url}",
        passes=True,
    )


def too_long(asked: str, bytes_max: int) -> ModelFailure:
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
