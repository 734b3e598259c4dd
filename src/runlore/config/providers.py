"""Which models there are: one frozen part of the settings. Keys come from the environment alone.

A key goes to the address that it was meant for: a provider with an address of its own gets one only where
`api_key_env` names it, and over plain http only on this machine.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from runlore.config.endpoints import check_address, check_key_variable, key_in
from runlore.domain import limits
from runlore.domain.errors import Invalid
from runlore.ports.model import Provider, ProviderKind

if TYPE_CHECKING:
    from runlore.config.file import ModelsTable, ProviderTable

MODEL_VARIABLE = "RUNLORE_MODEL"
BUILT_IN = (
    Provider(
        name="openai",
        kind=ProviderKind.OPENAI,
        base_url="https://api.openai.com/v1",
        api_key_env="OPENAI_API_KEY",
    ),
    Provider(
        name="anthropic",
        kind=ProviderKind.ANTHROPIC,
        base_url="https://api.anthropic.com",
        api_key_env="ANTHROPIC_API_KEY",
    ),
)
_BY_KIND = {provider.kind: provider for provider in BUILT_IN}
_BY_NAME = {provider.name: provider for provider in BUILT_IN}
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")


@dataclass(frozen=True, kw_only=True)
class ModelSettings:
    """The model that is asked where a policy names none (empty: none), and the providers by their names."""

    default: str = ""
    providers: tuple[Provider, ...] = BUILT_IN


def read_models(table: "ModelsTable | None", environment: Mapping[str, str], path: str) -> ModelSettings:
    """The file's table, with the keys and the default model of the environment."""
    tables = {} if table is None else table.providers
    providers = {**_BY_NAME, **{name: _provider(name, tables[name], path) for name in tables}}
    chosen, named = environment.get(MODEL_VARIABLE, "").strip(), MODEL_VARIABLE
    if not chosen and table is not None:
        chosen, named = table.default, f"models.default in {path}"
    return ModelSettings(
        default=check_model(chosen, named, tuple(providers)),
        providers=tuple(_with_key(provider, environment) for provider in providers.values()),
    )


def check_model(text: str, where: str, providers: Sequence[str]) -> str:
    """The whole name of a model, whose provider is one of these; empty is none."""
    if not text:
        return ""
    provider, colon, name = text.partition(":")
    if not (colon and name) or len(text) > limits.MODEL_CHARS_MAX or not text.isprintable():
        raise _wrong(
            f"{where} is {text[:80]!r}, which names no model",
            "write provider:name, such as openai:gpt-5-mini",
        )
    if provider not in providers:
        raise _wrong(
            f"{where} names the provider {provider[:80]!r}, which is not there",
            f"there are: {', '.join(providers)}; add others as [models.providers.NAME] to config.toml",
        )
    return text


def _provider(name: str, table: "ProviderTable", path: str) -> Provider:
    where = f"models.providers.{name}"
    if not _NAME.fullmatch(name):
        raise _wrong(
            f"{where[:80]!r} in {path} has a name that no model can be named by",
            "use up to 32 lower-case letters, digits, - and _",
        )
    if table.kind is None and name not in _BY_NAME:
        raise _wrong(
            f"{where}.kind in {path} is missing",
            'say kind = "openai" or kind = "anthropic", the protocol that it speaks',
        )
    kind = _BY_NAME[name].kind if table.kind is None else ProviderKind(table.kind)
    standard = _BY_KIND[kind]
    base_url = check_address(table.base_url, f"{where}.base_url in {path}", _wrong) or standard.base_url
    is_own = base_url != standard.base_url
    variable = table.api_key_env
    if variable is None:
        variable = "" if is_own else standard.api_key_env
    check_key_variable(variable, base_url, (where, path), _wrong)
    return Provider(name=name, kind=kind, base_url=base_url, api_key_env=variable, own_address=is_own)


def _with_key(provider: Provider, environment: Mapping[str, str]) -> Provider:
    return replace(provider, api_key=key_in(environment, provider.api_key_env))


def _wrong(sentence: str, hint: str) -> Invalid:
    return Invalid(sentence, code="settings.models", hint=hint)
