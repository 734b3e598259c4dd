"""`config.toml` in the state root: its shape, and its errors with the field named."""

import tomllib
from collections.abc import Iterator
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from runlore.config.server import HOST_DEFAULT, PORT_DEFAULT, PORT_MAX
from runlore.domain import limits
from runlore.domain.errors import Invalid


class ConfigTable(BaseModel):
    """A table of the file: what it does not know is refused, and nothing is converted."""

    model_config = ConfigDict(extra="forbid", strict=True)


class DatabaseTable(ConfigTable):
    """`[database]`: where records are kept."""

    url: str = Field(
        default="",
        description="A postgresql:// address for a team. Empty: the embedded SQLite file in the state root.",
    )


class OpenIdPersonTable(ConfigTable):
    """`[server.openid.people."WHO"]`: somebody who may log in, by what the provider says of them."""

    name: str = Field(
        default="",
        description="The name under which they act, in the history too. Empty: what the claim says.",
    )
    role: Literal["operator", "reader"] = Field(
        default="operator", description="operator decides; reader sees everything and changes nothing."
    )
    scopes: list[str] = Field(
        default_factory=list,
        description="The scopes that they are limited to, such as project:atlas. Empty: no limit.",
    )


class OpenIdTable(ConfigTable):
    """`[server.openid]`: the provider of OpenID Connect that people log in to the console with."""

    issuer: str = Field(
        default="",
        max_length=2_000,
        description="The provider's address, exactly as it names itself, such as https://login.example.org."
        " Empty: none.",
    )
    client_id: str = Field(default="", max_length=256, description="What the provider knows Runlore as.")
    client_secret_env: str = Field(
        default="",
        max_length=128,
        description="The environment variable that holds the client's secret. Empty: a client without one.",
    )
    claim: str = Field(
        default="email",
        pattern=r"^[A-Za-z0-9_:/.-]{1,128}$",
        description="The claim by which people are known, such as sub. An email counts once it is verified.",
    )
    label: str = Field(
        default="",
        max_length=64,
        description="What the button of the login names. Empty: the provider's host.",
    )
    people: dict[str, OpenIdPersonTable] = Field(
        default_factory=dict, max_length=1_000, description="Who may log in, each as a table of its own."
    )


class ServerTable(ConfigTable):
    """`[server]`: where the daemon listens, and whom it listens to."""

    host: str = Field(
        default=HOST_DEFAULT,
        min_length=1,
        description="The address to listen on. Beyond loopback a certificate is needed.",
    )
    port: int = Field(
        default=PORT_DEFAULT, ge=0, le=PORT_MAX, description="The port to listen on; 0 takes a free one."
    )
    tcp: bool = Field(
        default=True,
        description="Whether to listen on host and port at all, beside the unix socket in the state root.",
    )
    tls_certificate: str = Field(
        default="", description="The certificate's file (PEM, with its chain), for TLS on host and port."
    )
    tls_key: str = Field(default="", description="The certificate's private key (PEM).")
    allowed_hosts: list[str] = Field(
        default_factory=list,
        description="Names beside loopback that callers may address it by, such as runlore.example.org.",
    )
    allowed_origins: list[str] = Field(
        default_factory=list,
        description="Web pages that may call it from a browser, such as https://runlore.example.org.",
    )
    openid: OpenIdTable = Field(
        default_factory=OpenIdTable, description="The provider of OpenID Connect that people log in with."
    )


class ProviderTable(ConfigTable):
    """`[models.providers.NAME]`: where models are asked."""

    kind: Literal["openai", "anthropic"] | None = Field(
        default=None,
        description="The protocol: openai (chat completions, also of llama.cpp, vLLM, Ollama) or anthropic.",
    )
    base_url: str = Field(
        default="",
        max_length=2_000,
        description="The address, such as http://127.0.0.1:8080/v1. Empty: that of the kind's own company.",
    )
    api_key_env: str | None = Field(
        default=None,
        max_length=128,
        description="The environment variable that holds its key. Unset: that of the kind where base_url is "
        "empty, else none. Empty: none.",
    )


class ModelsTable(ConfigTable):
    """`[models]`: which models there are, and which one is asked."""

    default: str = Field(
        default="",
        description="The model that is asked where a policy names none, as provider:name, such as"
        " openai:gpt-5-mini. Empty: none, and everything that needs no model works.",
    )
    providers: dict[str, ProviderTable] = Field(
        default_factory=dict,
        max_length=64,
        description="Other providers beside openai and anthropic, each as a table of its own.",
    )


# What such a field does stands in docs/policy.md, once.
_SEEDED = (
    "The field of this name of the skills policy, which docs/policy.md explains. It counts until somebody"
    " changes that policy."
)


class EmbeddingTable(ConfigTable):
    """`[embedding]` and `[skills.embedding]`: what makes vectors of texts."""

    provider: Literal["", "http", "local"] = Field(
        default="",
        description="http: a server that speaks OpenAI's embeddings (also llama.cpp, vLLM, Ollama). local:"
        " the model of the extra local-embeddings, on this machine. Empty: none, and words decide alone; for"
        " skills, the shared one.",
    )
    base_url: str = Field(
        default="",
        max_length=2_000,
        description="The server's address, such as http://127.0.0.1:11434/v1.",
    )
    model: str = Field(
        default="",
        max_length=200,
        description="The server's name of the model, such as all-minilm. Of the local ones all-minilm-l6-v2,"
        " or empty for the small one.",
    )
    dimensions: int = Field(
        default=0,
        ge=0,
        le=limits.EMBEDDING_DIMENSIONS_MAX,
        description="How many dimensions to ask for and to expect. 0: as many as the model has.",
    )
    api_key_env: str = Field(
        default="",
        max_length=128,
        description="The environment variable that holds the server's key. Empty: it is asked without one.",
    )
    timeout_seconds: float | None = Field(
        default=None,
        gt=0,
        le=limits.EMBEDDING_TIMEOUT_S_MAX,
        description="How long to wait for vectors. Unset: 10 s. Choosing skills waits 2 s at most, unless"
        " [skills.embedding] says otherwise.",
    )


class AutoSaveTable(ConfigTable):
    """`[skills.auto_save]`: a beginning for that part of the skills policy."""

    enabled: bool | None = Field(default=None, description=_SEEDED)
    require_llm: bool | None = Field(default=None, description=_SEEDED)
    max_per_run: int | None = Field(default=None, description=_SEEDED)


class SkillCurationTable(ConfigTable):
    """`[skills.curation]`: a beginning for that part of the skills policy."""

    staleness_days: int | None = Field(default=None, description=_SEEDED)
    auto_prune: bool | None = Field(default=None, description=_SEEDED)
    auto_curate: bool | None = Field(default=None, description=_SEEDED)
    skip_threshold: int | None = Field(default=None, description=_SEEDED)
    skip_reset_days: int | None = Field(default=None, description=_SEEDED)


class SkillsTable(ConfigTable):
    """`[skills]`: a beginning for the skills policy, and the embedding backend of skills."""

    learn: bool | None = Field(default=None, description=_SEEDED)
    llm_learn: bool | None = Field(default=None, description=_SEEDED)
    llm_curate: bool | None = Field(default=None, description=_SEEDED)
    max_auto_load: int | None = Field(default=None, description=_SEEDED)
    max_lazy_slots: int | None = Field(default=None, description=_SEEDED)
    auto_save: AutoSaveTable = Field(
        default_factory=AutoSaveTable, description="What is saved without a question."
    )
    curation: SkillCurationTable = Field(
        default_factory=SkillCurationTable, description="How drafts are kept from piling up."
    )
    embedding: EmbeddingTable = Field(
        default_factory=EmbeddingTable,
        description="Another embedding backend for choosing skills, in place of the shared one.",
    )


class ApprovalTable(ConfigTable):
    """`[agent.approval]`: which calls of Runlore's own agent a person is asked about."""

    shell: Literal["ask", "allow", "deny"] = Field(
        default="ask", description="What is done with a command that no pattern names: ask, allow or deny."
    )
    writes: Literal["ask", "allow", "deny"] = Field(
        default="allow",
        description="What is done when a file of the working folder is written: ask, allow or deny.",
    )
    allow: list[str] = Field(
        default_factory=list,
        max_length=limits.APPROVAL_PATTERNS_MAX,
        description="Commands that need no approval, such as git status* or make test; a * stands for any"
        " text. A line is allowed where every command in it is, and all of it can be read.",
    )
    deny: list[str] = Field(
        default_factory=list,
        max_length=limits.APPROVAL_PATTERNS_MAX,
        description="Commands that are never run, such as git push*; looked for in everything that a line"
        " runs. It wins over allow.",
    )
    unconfined: Literal["ask", "allow", "deny"] = Field(
        default="ask",
        description="What is done with a command where the system cannot keep it inside the working folder"
        " (Linux before 6.2, macOS): ask about each, deny all, or allow what the other rules allow.",
    )


class AgentTable(ConfigTable):
    """`[agent]`: Runlore's own agent."""

    model: str = Field(
        default="",
        description="The model that works through tasks, as provider:name. Empty: the default of [models].",
    )
    fallback_model: str = Field(
        default="",
        description="The model that goes on where the first one cannot be asked. Empty: none.",
    )
    turns_max: int | None = Field(
        default=None,
        ge=1,
        le=limits.AGENT_TURNS_MAX,
        description="How many answers of its model a task may take. Unset: as the agent's profile says.",
    )
    seconds_max: float | None = Field(
        default=None,
        gt=0,
        le=limits.AGENT_SECONDS_MAX,
        description="How long a task may take, without the time that a person takes to answer. Unset: as the"
        " agent's profile says.",
    )
    turn_seconds_max: float | None = Field(
        default=None,
        gt=0,
        le=limits.AGENT_SECONDS_MAX,
        description="How long nothing may come of its model's answer. Unset: as the agent's profile says.",
    )
    call_seconds_max: float | None = Field(
        default=None,
        gt=0,
        le=limits.AGENT_SECONDS_MAX,
        description="How long one command may take. Unset: as the agent's profile says.",
    )
    output_chars_max: int | None = Field(
        default=None,
        ge=limits.AGENT_OUTPUT_CHARS_MIN,
        le=limits.AGENT_OUTPUT_CHARS_MAX,
        description="How much of a tool's output its model reads: the beginning and the end of what is"
        " longer. Unset: as the agent's profile says.",
    )
    readable: list[str] = Field(
        default_factory=list,
        max_length=limits.AGENT_FOLDERS_MAX,
        description="Folders beside the working folder and those of the system that commands may read, such"
        " as ~/.cache/pip.",
    )
    local_sockets: bool = Field(
        default=False,
        description="Whether commands may use sockets of this machine that are none of the internet's. To"
        " whom they speak so (a container engine, the user's bus, a key agent) does what they may not.",
    )
    approval: ApprovalTable = Field(
        default_factory=ApprovalTable, description="Which of its calls a person is asked about."
    )


class ConfigFile(ConfigTable):
    """The whole file. Unknown keys are errors."""

    model_config = ConfigDict(title="Runlore config.toml")

    database: DatabaseTable = Field(default_factory=DatabaseTable, description="Where records are kept.")
    server: ServerTable = Field(
        default_factory=ServerTable, description="Where the daemon listens, and whom it listens to."
    )
    models: ModelsTable = Field(
        default_factory=ModelsTable, description="Which models there are, and which one is asked."
    )
    embedding: EmbeddingTable = Field(
        default_factory=EmbeddingTable, description="What makes vectors of texts, for learnings and skills."
    )
    skills: SkillsTable = Field(
        default_factory=SkillsTable,
        description="The beginnings of the skills policy, and what skills have of their own.",
    )
    agent: AgentTable = Field(default_factory=AgentTable, description="Runlore's own agent.")


def parse_config(path: str, text: bytes) -> ConfigFile:
    try:
        return ConfigFile.model_validate(tomllib.loads(text.decode()))
    except UnicodeDecodeError:
        raise Invalid(
            f"{path} is not a text in UTF-8", code="settings.file", hint="write it again with a text editor"
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise Invalid(
            f"{path} is not TOML: {error}", code="settings.file", hint="mend the line it names"
        ) from None
    except ValidationError as error:
        raise _breach(path, error) from None


def config_schema() -> dict[str, object]:
    return ConfigFile.model_json_schema()


def _breach(path: str, error: ValidationError) -> Invalid:
    first = error.errors()[0]
    name = ".".join(str(part) for part in first["loc"])
    problem = "is not a setting" if first["type"] == "extra_forbidden" else f"is wrong: {first['msg']}"
    allowed = first.get("ctx", {}).get("expected")
    said = f"say one of {allowed}" if allowed else f"there are: {', '.join(_names(ConfigFile))}"
    return Invalid(
        f"{name} in {path} {problem}", code="settings.field", hint=f"{said}; docs/settings.md explains them"
    )


def _names(table: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, field in table.model_fields.items():
        inner = field.annotation
        # A table of tables, such as the providers: each has a name, and all have the same settings.
        named = [part for part in get_args(inner) if isinstance(part, type) and issubclass(part, BaseModel)]
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from _names(inner, f"{prefix}{name}.")
        elif named:
            yield from _names(named[0], f"{prefix}{name}.NAME.")
        else:
            yield f"{prefix}{name}"
