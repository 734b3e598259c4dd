"""Which provider is asked for a model that is named, or for the default one."""

from collections.abc import Callable, Sequence
from importlib.util import find_spec

from runlore.domain import limits
from runlore.ports.model import ModelFailure, Provider, ProviderKind

# What settings that were changed since they were read may mend.
_UNSET = frozenset({"model.none", "model.unknown"})


def _never(_model: str) -> bool:
    return False


class ModelChoice:
    """The default model and the providers of the settings. `is_set_by_now` tells whether the settings, read
    anew, have a model that is not known here."""

    def __init__(
        self,
        *,
        default: str = "",
        providers: Sequence[Provider] = (),
        is_set_by_now: Callable[[str], bool] = _never,
    ) -> None:
        self.default = default
        self.providers = {provider.name: provider for provider in providers}
        self._is_set_by_now = is_set_by_now

    def find(self, model: str = "") -> tuple[Provider, str]:
        try:
            return self._find_known(model)
        except ModelFailure as failure:
            if failure.code not in _UNSET or not self._is_set_by_now(model):
                raise
            raise ModelFailure(
                f"{failure.sentence}: the settings have it by now, and were read before",
                code=failure.code,
                hint="end Runlore and start it again: it reads its settings when it starts",
            ) from None

    def _find_known(self, model: str) -> tuple[Provider, str]:
        chosen = model or self.default
        if not chosen:
            raise ModelFailure(
                "no model is set",
                code="model.none",
                hint='set RUNLORE_MODEL, or default = "provider:name" under [models] in config.toml; a daemon'
                " that runs reads that at its next start",
            )
        provider_name, _, name = chosen.partition(":")
        provider = self.providers.get(provider_name)
        if provider is None or not name:
            raise ModelFailure(
                f"{chosen[: limits.MODEL_CHARS_MAX]!r} names no model that is set up here",
                code="model.unknown",
                hint=f"write provider:name; there are the providers {', '.join(self.providers) or 'none'}",
            )
        if provider.api_key_env and not provider.api_key:
            raise ModelFailure(
                f"there is no key for {provider.name}: {provider.api_key_env} is not set, or holds no key",
                code="model.key",
                hint=f"set {provider.api_key_env} in the environment of Runlore, then start it again",
            )
        if provider.kind is not ProviderKind.PROGRAM and find_spec("pydantic_ai") is None:
            raise ModelFailure(
                f"{provider.name} cannot be asked: Runlore was installed without the libraries for it",
                code="model.libraries",
                hint="`make up` brings them along; else add pydantic-ai-slim[anthropic,openai] with what"
                " installed Runlore: pip install, pipx inject runlore, or uv tool install --with;"
                " agent:claude-code and agent:codex need none",
            )
        return provider, name


def late_failure(asked: str) -> ModelFailure:
    return ModelFailure(
        f"{asked} did not answer in time",
        code="model.timeout",
        hint="try again later, or raise the timeout_s of the policy",
        passes=True,
    )


def closing_failure() -> ModelFailure:
    return ModelFailure("Runlore is being closed", code="model.failed", hint="ask again once it runs")
