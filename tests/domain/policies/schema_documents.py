"""Documents made from a JSON schema: what a program would write that knows nothing but the schema."""

from typing import Any

from hypothesis import strategies as st

Schema = dict[str, Any]

# Texts that a schema cannot tell from others and a reader may: blanks, signs that nobody sees, places.
_TEXTS = st.sampled_from(
    ["", "default", "acme", " acme", "  ", "facts", "FACTS", "rule 3", "Rule 12", "a\u202eb", "a\nb", "a\0b"]
)


def documents(schema: Schema) -> st.SearchStrategy[Any]:
    """Values that look like the schema; those that break a condition between fields are still among them."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return st.one_of([_of_type(kind, schema) for kind in kinds])


def _of_type(kind: str, schema: Schema) -> st.SearchStrategy[Any]:
    makers = {
        "null": lambda _: st.none(),
        "boolean": lambda _: st.booleans(),
        "integer": _numbers,
        "string": _texts,
        "array": lambda schema: st.lists(documents(schema["items"]), max_size=min(3, schema["maxItems"])),
        "object": _objects,
    }
    return makers[kind](schema)


def _numbers(schema: Schema) -> st.SearchStrategy[Any]:
    least, most = schema["minimum"], schema["maximum"]
    return st.integers(least, most) | st.sampled_from([least, most, float(least), float(most)])


def _texts(schema: Schema) -> st.SearchStrategy[str]:
    if "pattern" in schema:
        return st.from_regex(str(schema["pattern"]), fullmatch=True).filter(
            lambda text: len(text) <= schema["maxLength"]
        )
    return (_TEXTS | st.text(max_size=8)).filter(lambda text: len(text) >= schema.get("minLength", 0))


def _objects(schema: Schema) -> st.SearchStrategy[Any]:
    needed = set(schema.get("required", ()))
    fields = {name: documents(inner) for name, inner in schema["properties"].items()}
    return st.fixed_dictionaries(
        {name: fields[name] for name in fields if name in needed},
        optional={name: fields[name] for name in fields if name not in needed},
    )
