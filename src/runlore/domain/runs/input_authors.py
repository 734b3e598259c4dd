"""Whose words the input of a run is, where it is not the user's: another agent's, or the text of a task.

Such an input says what was asked for, but nobody gave an instruction with it or corrected anything. What
another agent says may be what it has read somewhere.
"""

from collections.abc import Mapping

from runlore.domain.record import JsonObject

WORDS_OF = "words_of"
"""The name in the metadata of an input that says so."""

ANOTHER_AGENT = "another agent"
TASK = "a task"


def words_of(body: JsonObject) -> str:
    """Whose words an input is; empty where they are the user's."""
    metadata = body.get("metadata")
    said = metadata.get(WORDS_OF) if isinstance(metadata, Mapping) else None
    return said if isinstance(said, str) else ""
