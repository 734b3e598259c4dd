"""What the fields of a policy may be, for the reference pages: as JSON schema and in words."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from runlore.domain import limits
from runlore.domain.policies.learning_policy import Action
from runlore.domain.policies.policy import PolicyName, RetentionPolicy, RunMemoryPolicy
from runlore.domain.policies.policy_fields import LEARNING, PROMPT_KIND_NAMES, RULE
from runlore.domain.policies.policy_shapes import (
    MODEL,
    Flag,
    Many,
    ModelName,
    PolicyField,
    RuleName,
    ScopeIdText,
    Table,
    ValueShape,
    Whole,
    WordChoice,
)
from runlore.domain.policies.skills_policy import SKILLS
from runlore.domain.record import JsonValue
from runlore.domain.scope import WORKSPACE_ID, ScopeKind
from scripts.policies_page import plain_schema

NOT_IN_THE_SCHEMA = (
    "rule names, and quarantined names, are different also when case is ignored",
    "a name is one line without hidden characters, and has no white space around it",
    "a name does not read like the place of a rule, such as `rule 3`",
    "a scope's id is not blank and has no white space around it",
    "no text holds a NUL character or half of a surrogate pair",
    "a whole number is written without a decimal point",
)
# What needs several fields of a rule, as far as a schema can say it.
_RULE_CROSS: list[JsonValue] = [
    {
        "if": {"required": ["action"], "properties": {"action": {"const": Action.PUBLISH_ACTIVE.value}}},
        "then": {"required": ["kind"], "properties": {"kind": {"enum": PROMPT_KIND_NAMES}}},
    },
    {
        "if": {"required": ["scope_id"], "properties": {"scope_id": {"minLength": 1}}},
        "then": {"required": ["scope_kind"], "properties": {"scope_kind": {"type": "string"}}},
    },
    {
        "if": {
            "required": ["scope_kind"],
            "properties": {"scope_kind": {"const": ScopeKind.WORKSPACE.value}},
        },
        "then": {"properties": {"scope_id": {"enum": ["", WORKSPACE_ID]}}},
    },
]


def learning_policy_schema() -> dict[str, JsonValue]:
    """The JSON schema of the document. A few rules are beyond it; `NOT_IN_THE_SCHEMA` names them."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Runlore's learning policy",
        "description": "What is captured, what automation may do with candidates, and what prompts get.",
        **schema_of(LEARNING),
    }


def policy_schemas() -> dict[str, JsonValue]:
    """What the console's forms say of the fields of each policy."""
    return {
        PolicyName.LEARNING: schema_of(LEARNING),
        PolicyName.SKILLS: schema_of(SKILLS),
        PolicyName.RUN_MEMORY: plain_schema(RunMemoryPolicy()),
        PolicyName.RETENTION: plain_schema(RetentionPolicy()),
    }


def schema_of(shape: ValueShape) -> dict[str, JsonValue]:
    return _SCHEMAS[type(shape)](shape)


def _schema_of_table(table: Table[Any]) -> dict[str, JsonValue]:
    defaults = defaults_of(table)
    properties: dict[str, JsonValue] = {
        field.name: {
            "description": field.about,
            **schema_of(field.shape),
            **({} if isinstance(field.shape, Table) or field.required else {"default": defaults[field.name]}),
        }
        for field in table.fields
    }
    needed: list[JsonValue] = [field.name for field in table.fields if field.required]
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
        **({"required": needed} if needed else {}),
        **({"allOf": _RULE_CROSS} if table is RULE else {}),
    }


def describe(shape: ValueShape) -> str:
    """Which values there are, in words."""
    return _WORDS[type(shape)](shape)


def defaults_of(table: Table[Any]) -> Mapping[str, JsonValue]:
    """What each field is where it is left out; nothing for one that has to be given."""
    needed = {field.name: field.shape for field in table.fields if field.required}
    first = {name: shape.words[0] for name, shape in needed.items() if isinstance(shape, WordChoice)}
    made = table.made(**first)
    return {
        field.name: field.shape.plain(getattr(made, field.name))
        for field in table.fields
        if field.name not in needed
    }


def walk_fields(table: Table[Any], path: str = "") -> Iterator[tuple[str, PolicyField, JsonValue]]:
    """Every field under its path, those of inner tables too, with its default."""
    defaults = defaults_of(table)
    for field in table.fields:
        inner = f"{path}.{field.name}" if path else field.name
        if isinstance(field.shape, Table):
            yield from walk_fields(field.shape, inner)
            continue
        yield inner, field, defaults.get(field.name)
        if isinstance(field.shape, Many) and isinstance(field.shape.shape, Table):
            yield from walk_fields(field.shape.shape, f"{inner}[]")


_SCHEMAS: Mapping[type, Callable[[Any], dict[str, JsonValue]]] = {
    Flag: lambda _: {"type": "boolean"},
    Whole: lambda shape: {
        "type": ["integer", "null"] if shape.optional else "integer",
        "minimum": shape.least,
        "maximum": shape.most,
    },
    WordChoice: lambda shape: {
        "enum": [*(word.value for word in shape.words), *([None] if shape.optional else [])]
    },
    RuleName: lambda shape: {
        "type": "string",
        "minLength": 0 if shape.blank else 1,
        "maxLength": limits.RULE_NAME_CHARS_MAX,
    },
    ScopeIdText: lambda _: {"type": "string", "maxLength": limits.ID_CHARS_MAX},
    ModelName: lambda _: {
        "type": "string",
        "maxLength": limits.MODEL_CHARS_MAX,
        "pattern": f"^{MODEL}$",
    },
    Many: lambda shape: {"type": "array", "maxItems": shape.most, "items": schema_of(shape.shape)},
    Table: _schema_of_table,
}
_WORDS: Mapping[type, Callable[[Any], str]] = {
    Flag: lambda _: "`true` or `false`",
    Whole: lambda shape: f"a whole number from {shape.least:,} to {shape.most:,}",
    WordChoice: lambda shape: ", ".join(f"`{word}`" for word in shape.words),
    RuleName: lambda _: f"one line of at most {limits.RULE_NAME_CHARS_MAX} characters",
    ScopeIdText: lambda _: f"an id of at most {limits.ID_CHARS_MAX} characters",
    ModelName: lambda _: "empty, or `provider:name`",
    Many: lambda shape: f"a list of at most {shape.most} {shape.things}",
    Table: lambda _: "a table",
}
