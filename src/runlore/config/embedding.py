"""Which embedding backends there are: one part of the settings. Keys come from the environment alone."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from runlore.config.endpoints import check_address, check_key_variable, key_in
from runlore.domain import limits
from runlore.domain.errors import Invalid
from runlore.ports.embedder import LOCAL_DIMENSIONS, LOCAL_MODEL, EmbeddingBackend, EmbeddingProvider

if TYPE_CHECKING:
    from runlore.config.file import ConfigFile, EmbeddingTable

TIMEOUT_S = 10.0


@dataclass(frozen=True, kw_only=True)
class EmbeddingSettings:
    """The backend that everything shares, and the one for skills; None: words decide alone.

    Skills have the shared one with the time of a turn, unless they have one of their own.
    """

    shared: EmbeddingBackend | None = None
    skills: EmbeddingBackend | None = None


def read_embedding(file: "ConfigFile | None", environment: Mapping[str, str], path: str) -> EmbeddingSettings:
    """The file's tables, with the keys of the environment."""
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
            raise _wrong(
                f"{name}.provider in {path} is missing",
                'say provider = "http" for a server, or provider = "local" for the model package',
            )
        return None
    if EmbeddingProvider(table.provider) is EmbeddingProvider.LOCAL:
        _check_local(table, name, path)
        return EmbeddingBackend(
            provider=EmbeddingProvider.LOCAL,
            model=LOCAL_MODEL,
            dimensions=table.dimensions,
            timeout_s=timeout_s,
        )
    base_url = check_address(table.base_url, f"{name}.base_url in {path}", _wrong)
    for setting, value in (("base_url", base_url), ("model", table.model.strip())):
        if not value:
            raise _wrong(
                f"{name}.{setting} in {path} is missing",
                'with provider = "http" say both base_url and model',
            )
    check_key_variable(table.api_key_env, base_url, (name, path), _wrong)
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
            raise _wrong(
                f"{name}.{setting} in {path} says something about a server, and the provider is local",
                'leave it out, or say provider = "http"',
            )
    if table.model not in ("", LOCAL_MODEL):
        raise _wrong(
            f"{name}.model in {path} is {table.model[:80]!r}, and the one local model is {LOCAL_MODEL}",
            "leave model out",
        )
    if table.dimensions not in (0, *LOCAL_DIMENSIONS):
        raise _wrong(
            f"{name}.dimensions in {path} is {table.dimensions}, which {LOCAL_MODEL} does not have",
            f"leave it out, or say one of {', '.join(map(str, LOCAL_DIMENSIONS))}",
        )


def _wrong(sentence: str, hint: str) -> Invalid:
    return Invalid(sentence, code="settings.embedding", hint=hint)
