"""The settings: one frozen value, read once from defaults, `config.toml`, environment and flags.

What the file may hold stands in `config/file.py`, which is loaded only when there is a file.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING

from runlore.config.providers import (
    EmbeddingSettings,
    ModelSettings,
    check_model,
    read_embedding,
    read_models,
)
from runlore.config.server import PORT_MAX, ServerSettings
from runlore.domain import limits
from runlore.domain.agent.agent_profile import AgentLimits
from runlore.domain.agent.approval_rules import ApprovalRules, Stance
from runlore.domain.errors import Invalid, Unavailable
from runlore.domain.lazy import LazyModule, dataclass
from runlore.domain.record import JsonObject
from runlore.domain.text.safe_text import hidden_characters

if TYPE_CHECKING:
    from runlore.config import openid
    from runlore.config.file import AgentTable, ApprovalTable, ConfigFile, ServerTable
    from runlore.domain.policies import skills_policy
else:
    openid = LazyModule("runlore.config.openid")
    skills_policy = LazyModule("runlore.domain.policies.skills_policy")

# Signs that stand between commands, or for something else; in a command they are in quotes, or it is none.
_JOINING = frozenset(';|&<>$`\\()"')
_IN_QUOTES = re.compile(r"'[^']*'")


@dataclass(frozen=True, kw_only=True)
class AgentSettings:
    """Its models (empty: the default, and no fallback), its limits (None: the profile's), what its commands
    may read beside the working folder, whether they may speak to other processes, and what a person has
    settled about its calls. It is read from the state root alone, never from a folder that somebody works in:
    whoever writes there would say what may be run."""

    model: str = ""
    fallback_model: str = ""
    turns_max: int | None = None
    seconds_max: float | None = None
    turn_seconds_max: float | None = None
    call_seconds_max: float | None = None
    output_chars_max: int | None = None
    readable: tuple[str, ...] = ()
    local_sockets: bool = False
    approval: ApprovalRules = field(default_factory=ApprovalRules)

    def limits(self, profile: AgentLimits) -> AgentLimits:
        return replace(
            profile,
            turns_max=self.turns_max or profile.turns_max,
            seconds_max=self.seconds_max or profile.seconds_max,
            turn_seconds_max=self.turn_seconds_max or profile.turn_seconds_max,
            call_seconds_max=self.call_seconds_max or profile.call_seconds_max,
            output_chars_max=self.output_chars_max or profile.output_chars_max,
        )


def read_agent(file: "ConfigFile | None", models: ModelSettings, path: str) -> AgentSettings:
    if file is None:
        return AgentSettings()
    table = file.agent
    providers = tuple(provider.name for provider in models.providers)
    return AgentSettings(
        model=check_model(table.model, f"agent.model in {path}", providers),
        fallback_model=check_model(table.fallback_model, f"agent.fallback_model in {path}", providers),
        turns_max=table.turns_max,
        seconds_max=table.seconds_max,
        turn_seconds_max=table.turn_seconds_max,
        call_seconds_max=table.call_seconds_max,
        output_chars_max=table.output_chars_max,
        readable=_folders(table, path),
        local_sockets=table.local_sockets,
        approval=_rules(table.approval, path),
    )


def _folders(table: "AgentTable", path: str) -> tuple[str, ...]:
    state_root = os.path.realpath(os.path.dirname(path))
    return tuple(_folder(written, state_root, path) for written in table.readable)


def _folder(written: str, state_root: str, path: str) -> str:
    folder = os.path.normpath(os.path.expanduser(written)) if written.strip() else ""
    if not os.path.isabs(folder) or len(folder) > limits.PATH_CHARS_MAX or not folder.isprintable():
        raise _wrong(
            f"agent.readable in {path} has {written[:80]!r}, which is no folder's whole path",
            "name folders by their whole paths, or from ~ on",
        )
    real = os.path.realpath(folder)
    if os.path.commonpath([real, state_root]) in (real, state_root):
        raise _wrong(
            f"agent.readable in {path} has {written[:80]!r}, and Runlore's own files lie there",
            f"name folders that neither hold {state_root} nor lie in it",
        )
    return folder


def _rules(table: "ApprovalTable", path: str) -> ApprovalRules:
    return ApprovalRules(
        shell=Stance(table.shell),
        writes=Stance(table.writes),
        unconfined=Stance(table.unconfined),
        allow=_patterns("allow", table.allow, path),
        deny=_patterns("deny", table.deny, path),
    )


def _patterns(name: str, patterns: list[str], path: str) -> tuple[str, ...]:
    for pattern in patterns:
        is_plain = pattern.isprintable() and not hidden_characters(pattern)
        if not pattern or pattern != " ".join(pattern.split()) or not is_plain:
            raise _wrong(
                f"agent.approval.{name} in {path} has {pattern[:80]!r}, which no command can match",
                "write a command with one blank between its words, such as git status*",
            )
        if _JOINING.intersection(_IN_QUOTES.sub("", pattern)):
            raise _wrong(
                f"agent.approval.{name} in {path} has {pattern[:80]!r}, which is more than one plain command",
                "write a pattern for each command of a line, and words with such signs in single quotes",
            )
        if len(pattern) > limits.APPROVAL_PATTERN_CHARS_MAX:
            raise _wrong(
                f"agent.approval.{name} in {path} has a pattern of {len(pattern)} characters",
                f"use at most {limits.APPROVAL_PATTERN_CHARS_MAX}",
            )
    return tuple(dict.fromkeys(patterns))


def _wrong(sentence: str, hint: str) -> Invalid:
    return Invalid(sentence, code="settings.agent", hint=hint)


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
    server = ServerSettings() if table is None else _server_of(table, environment, state_root)
    host, port = environment.get(HOST_VARIABLE), environment.get(PORT_VARIABLE)
    return replace(
        server,
        host=host or server.host,
        port=read_port(port, PORT_VARIABLE) if port else server.port,
    )


def _server_of(table: "ServerTable", environment: Mapping[str, str], state_root: str) -> ServerSettings:
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
        openid=openid.read_openid(table.openid, environment, os.path.join(state_root, CONFIG_NAME)),
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
