"""Which models and embedding backends there are: two frozen parts of the settings.

Keys come from the environment alone, and never stand in a file or in an address. A key goes to the address
that it was meant for: a provider with an address of its own gets one only where `api_key_env` names it, and
over plain http only on this machine.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urlsplit

from runlore.domain import limits
from runlore.domain.errors import Invalid
from runlore.domain.lazy import dataclass
from runlore.ports.embedder import LOCAL_MODELS, EmbeddingBackend, EmbeddingProvider
from runlore.ports.model import Provider, ProviderKind

if TYPE_CHECKING:
    from runlore.config.file import ConfigFile, EmbeddingTable, ModelsTable, ProviderTable

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
# The agents that are installed here, asked by starting their programs.
AGENT_PROGRAMS = Provider(name="agent", kind=ProviderKind.PROGRAM, base_url="")
_BY_KIND = {provider.kind: provider for provider in BUILT_IN}
_BY_NAME = {provider.name: provider for provider in BUILT_IN}
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")
# Makes the error of whoever checks, from a sentence and a hint.
Wrong: TypeAlias = Callable[[str, str], Invalid]

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_KEY_CHARS_MAX = 4_096
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
TIMEOUT_S = 10.0


@dataclass(frozen=True, kw_only=True)
class ModelSettings:
    """The model that is asked where a policy names none (empty: none), and the providers by their names."""

    default: str = ""
    providers: tuple[Provider, ...] = (*BUILT_IN, AGENT_PROGRAMS)


def read_models(table: "ModelsTable | None", environment: Mapping[str, str], path: str) -> ModelSettings:
    tables = {} if table is None else table.providers
    own = {name: _provider(name, tables[name], path) for name in tables}
    providers = {**_BY_NAME, AGENT_PROGRAMS.name: AGENT_PROGRAMS, **own}
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
    if name == AGENT_PROGRAMS.name:
        raise _wrong(
            f"{where} in {path} takes the name under which programs of agents are asked",
            "choose another name",
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


def is_loopback(address: str) -> bool:
    return urlsplit(address).hostname in _LOOPBACK


def check_address(text: str, where: str, wrong: Wrong) -> str:
    """An address without a slash at its end; empty where none is given."""
    if not text:
        return ""
    hint = "give an address such as http://127.0.0.1:8080/v1; a key never stands in it"
    try:
        parts = urlsplit(text)
        is_plain = not (parts.query or parts.fragment or parts.username or parts.password)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise wrong(f"{where} is not an address", hint) from None
    if not (is_plain and is_usable and text.isascii() and text.isprintable() and " " not in text):
        raise wrong(f"{where} is not an address", hint)
    return text.rstrip("/")


def check_key_variable(variable: str, base_url: str, where: tuple[str, str], wrong: Wrong) -> None:
    """Refuse what is no variable, and a key on its way in the clear. `where` is the table and the file."""
    table, path = where
    if variable and not _VARIABLE.fullmatch(variable):
        # Whoever writes a key here by mistake does not find it in an error.
        raise wrong(
            f"{table}.api_key_env in {path} is not the name of an environment variable",
            "name the variable that holds the key, such as OPENAI_API_KEY; the key itself never stands here",
        )
    if variable and urlsplit(base_url).scheme == "http" and not is_loopback(base_url):
        raise wrong(
            f"{table}.base_url in {path} would send a key over plain http",
            "use https beyond this machine, or a server that needs no key",
        )


def key_in(environment: Mapping[str, str], variable: str) -> str:
    key = environment.get(variable, "").strip() if variable else ""
    is_key = len(key) <= _KEY_CHARS_MAX and key.isascii() and key.isprintable() and " " not in key
    return key if is_key else ""


@dataclass(frozen=True, kw_only=True)
class EmbeddingSettings:
    """The backend that everything shares, and the one for skills; None: words decide alone.

    Skills have the shared one with the time of a turn, unless they have one of their own.
    """

    shared: EmbeddingBackend | None = None
    skills: EmbeddingBackend | None = None


def read_embedding(file: "ConfigFile | None", environment: Mapping[str, str], path: str) -> EmbeddingSettings:
    if file is None:
        return EmbeddingSettings()
    shared = _backend(file.embedding, "embedding", environment, path)
    own = _backend(file.skills.embedding, "skills.embedding", environment, path)
    if own is not None:
        written = file.skills.embedding.timeout_seconds
        turn_s = limits.EMBEDDING_TURN_TIMEOUT_S if written is None else written
        return EmbeddingSettings(shared=shared, skills=replace(own, timeout_s=turn_s))
    if shared is None:
        return EmbeddingSettings()
    turn_s = min(shared.timeout_s, limits.EMBEDDING_TURN_TIMEOUT_S)
    return EmbeddingSettings(shared=shared, skills=replace(shared, timeout_s=turn_s))


def _backend(
    table: "EmbeddingTable", name: str, environment: Mapping[str, str], path: str
) -> EmbeddingBackend | None:
    timeout_s = TIMEOUT_S if table.timeout_seconds is None else table.timeout_seconds
    if not table.provider:
        if table.model_fields_set - {"provider"}:
            raise _wrong_embedding(
                f"{name}.provider in {path} is missing",
                'say provider = "http" for a server, or provider = "local" for the model package',
            )
        return None
    if EmbeddingProvider(table.provider) is EmbeddingProvider.LOCAL:
        _check_local(table, name, path)
        return EmbeddingBackend(
            provider=EmbeddingProvider.LOCAL,
            model=table.model or next(iter(LOCAL_MODELS)),
            dimensions=table.dimensions,
            timeout_s=timeout_s,
        )
    base_url = check_address(table.base_url, f"{name}.base_url in {path}", _wrong_embedding)
    for setting, value in (("base_url", base_url), ("model", table.model.strip())):
        if not value:
            raise _wrong_embedding(
                f"{name}.{setting} in {path} is missing",
                'with provider = "http" say both base_url and model',
            )
    check_key_variable(table.api_key_env, base_url, (name, path), _wrong_embedding)
    return EmbeddingBackend(
        provider=EmbeddingProvider.HTTP,
        base_url=base_url,
        model=table.model.strip(),
        dimensions=table.dimensions,
        api_key_env=table.api_key_env,
        api_key=key_in(environment, table.api_key_env),
        timeout_s=timeout_s,
    )


def _check_local(table: "EmbeddingTable", name: str, path: str) -> None:
    """Refuse what would have no effect, and a model that is not there."""
    for setting, value in (("base_url", table.base_url), ("api_key_env", table.api_key_env)):
        if value:
            raise _wrong_embedding(
                f"{name}.{setting} in {path} says something about a server, and the provider is local",
                'leave it out, or say provider = "http"',
            )
    model = table.model or next(iter(LOCAL_MODELS))
    if model not in LOCAL_MODELS:
        raise _wrong_embedding(
            f"{name}.model in {path} is {model[:80]!r}, which is no local model",
            f"leave it out, or say one of {', '.join(LOCAL_MODELS)}",
        )
    if table.dimensions not in (0, *LOCAL_MODELS[model]):
        raise _wrong_embedding(
            f"{name}.dimensions in {path} is {table.dimensions}, which {model} does not have",
            f"leave it out, or say one of {', '.join(map(str, LOCAL_MODELS[model]))}",
        )


def _wrong_embedding(sentence: str, hint: str) -> Invalid:
    return Invalid(sentence, code="settings.embedding", hint=hint)
