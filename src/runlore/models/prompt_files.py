"""The prompts: one file for each purpose and version, and how a question's document is put beside them.

A released file never changes; a better prompt is a new file with the next number. The document is a
stranger's text: it is sent as one line of JSON between two marks that nothing inside it can write.
"""

import re
from functools import cache
from importlib import resources

import orjson

from runlore.domain.record import JsonObject, JsonValue
from runlore.ports.model import ModelPurpose

# The version of each purpose that is asked with now.
CURRENT = {
    ModelPurpose.EXTRACTION: "extraction-2",
    ModelPurpose.JUDGE: "judge-1",
    ModelPurpose.ENHANCEMENT: "enhancement-1",
    ModelPurpose.CURATION: "curation-1",
    ModelPurpose.READING: "reading-5",
}
OPENING, CLOSING = "<data>", "</data>"
_FOLDER = "prompts"
# What could write a mark, end a line, or hide: control and format characters, separators, tags, private use.
_MARKING = re.compile(
    "[<>\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ue000-\uf8ff\ufe00-\ufe0f\U000e0000-\U000e0fff\U000f0000-\U0010ffff]"
)


@cache
def load_prompt(version: str) -> str:
    return resources.files(__package__).joinpath(_FOLDER, f"{version}.md").read_text(encoding="utf-8")


def render_document(document: JsonObject) -> str:
    """A document as one line of JSON between its marks; TypeError where it is no JSON."""
    plain = orjson.dumps(document).decode()
    return f"{OPENING}\n{_MARKING.sub(_escape, plain)}\n{CLOSING}"


def chat_request(version: str, document: JsonObject, schema: JsonObject) -> dict[str, JsonValue]:
    """A question as anyone can send it: the body of a chat completion. Providers want other words around the
    same instructions, text and schema."""
    return {
        "prompt": version,
        "messages": [
            {"role": "system", "content": load_prompt(version)},
            {"role": "user", "content": render_document(document)},
        ],
        "response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": dict(schema)}},
    }


def _escape(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
