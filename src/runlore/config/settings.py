"""The settings: one frozen value, read once from defaults, `config.toml`, environment and flags.

What the file may hold stands in `config/file.py`, which is loaded only when there is a file.
"""

import os
from collections.abc import Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING

from runlore.config.agent import AgentSettings, read_agent
from runlore.config.providers import EmbeddingSettings, ModelSettings, read_embedding, read_models
from runlore.config.server import PORT_MAX, ServerSettings
from runlore.domain.errors import Invalid, Unavailable
from runlore.domain.lazy import LazyModule, dataclass
from runlore.domain.record import JsonObject

if TYPE_CHECKING:
    from runlore.config.file import ConfigFile, ServerTable
    from runlore.domain.policies import skills_policy
else:
    skills_policy = LazyModule("runlore.domain.policies.skills_policy")

HOME_VARIABLE = "RUNLORE_HOME"
DATABASE_VARIABLE = "RUNLORE_DATABASE_URL"
HOST_VARIABLE = "RUNLORE_HOST"
PORT_VARIABLE = "RUNLORE_PORT"
URL_VARIABLE = "RUNLORE_URL"
TOKEN_VARIABLE = "RUNLORE_TOKEN"
CONFIG_NAME = "config.toml"
_CONFIG_BYTES_MAX = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Everything that can be set, with nothing left to look up.

    `skills` is what the file says of the skills policy. `url` names a Runlore elsewhere, which is then called
    with `token` in place of this state root.
    """

    state_root: str
    database_url: str | None = None
    server: ServerSettings = field(default_factory=ServerSettings)
    models: ModelSettings = field(default_factory=ModelSettings)
    embedding: EmbeddingSettings = field(default_factory=EmbeddingSettings)
    skills: JsonObject = field(default_factory=dict)
    agent: AgentSettings = field(default_factory=AgentSettings)
    url: str | None = None
    token: str | None = field(default=None, repr=False)


def read_settings(*, home: str | None, environment: Mapping[str, str]) -> Settings:
    """Flags over environment over `config.toml` over defaults."""
    state_root = state_root_of(home, environment)
    path = os.path.join(state_root, CONFIG_NAME)
    file = _load_config_file(path)
    models = read_models(file.models if file else None, environment, path)
    return Settings(
        state_root=state_root,
        database_url=environment.get(DATABASE_VARIABLE) or (file.database.url if file else None) or None,
        server=_server(file.server if file else None, environment, state_root),
        models=models,
        embedding=read_embedding(file, environment, path),
        skills=read_skills(file, path),
        agent=read_agent(file, models, path),
        url=environment.get(URL_VARIABLE) or None,
        token=environment.get(TOKEN_VARIABLE) or None,
    )


def read_port(text: str, name: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(PORT_MAX)) and int(text) <= PORT_MAX):
        raise Invalid(
            f"{name} is {text[:80]!r}, which is not a port",
            code="settings.port",
            hint=f"give a number from 0 to {PORT_MAX}; 0 takes a free port",
        )
    return int(text)


def _server(table: "ServerTable | None", environment: Mapping[str, str], state_root: str) -> ServerSettings:
    server = ServerSettings() if table is None else _server_of(table, state_root)
    host, port = environment.get(HOST_VARIABLE), environment.get(PORT_VARIABLE)
    return replace(
        server,
        host=host or server.host,
        port=read_port(port, PORT_VARIABLE) if port else server.port,
    )


def _server_of(table: "ServerTable", state_root: str) -> ServerSettings:
    """The file's table. Files that it names lie beside it unless their whole path is given."""
    certificate, key = (
        os.path.join(state_root, os.path.expanduser(path)) if path else None
        for path in (table.tls_certificate, table.tls_key)
    )
    return ServerSettings(
        host=table.host,
        port=table.port,
        tcp=table.tcp,
        tls_certificate=certificate,
        tls_key=key,
        allowed_hosts=tuple(table.allowed_hosts),
        allowed_origins=tuple(table.allowed_origins),
    )


def state_root_of(home: str | None, environment: Mapping[str, str]) -> str:
    """Where the state lies, whatever its file of settings says."""
    if home is not None and not home.strip():
        # An unset variable in a script: falling back to another state root would surprise.
        raise Invalid("--home is blank", code="settings.home", hint="name a folder, or leave --home out")
    chosen = home or environment.get(HOME_VARIABLE)
    if not chosen:
        user_home = environment.get("HOME")
        if not user_home:
            raise Invalid(
                "neither RUNLORE_HOME nor HOME is set, so there is no place for the state root",
                code="settings.home",
                hint="set RUNLORE_HOME, or give --home",
            )
        chosen = os.path.join(user_home, ".runlore")
    if "\0" in chosen:
        raise Invalid(
            "the state root's path holds a NUL character", code="settings.home", hint="name another folder"
        )
    return os.path.abspath(os.path.expanduser(chosen))


def _load_config_file(path: str) -> "ConfigFile | None":
    try:
        with open(path, "rb") as file:
            text = file.read(_CONFIG_BYTES_MAX + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Unavailable(
            f"{path} cannot be read: {error.strerror}",
            code="settings.file",
            hint="make it a file that this user can read, or move it away",
        ) from error
    if len(text) > _CONFIG_BYTES_MAX:
        raise Invalid(f"{path} is larger than 1 MiB", code="settings.file", hint="it is not a settings file")
    from runlore.config.file import parse_config

    return parse_config(path, text)


def read_skills(file: "ConfigFile | None", path: str) -> JsonObject:
    """The fields that the file has, as a document of the policy; Invalid names one that is wrong."""
    if file is None:
        return {}
    document: JsonObject = file.skills.model_dump(
        exclude={"embedding"}, exclude_none=True, exclude_defaults=True
    )
    try:
        skills_policy.skills_policy(document)
    except Invalid as error:
        raise Invalid(
            f"[skills] in {path}: {error.sentence}", code="settings.skills", hint=error.hint
        ) from None
    return document
