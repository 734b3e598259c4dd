"""The texts that a skill's front matter comes to, decoded as an agent's reader decodes them.

YAML has codes for every character and joins lines: what a file says need not stand in it as such.
"""

from collections.abc import Iterator

from runlore.domain.skill import SkillDocument


def front_texts(document: SkillDocument) -> Iterator[str]:
    """Every text of a document but its body; the words of its trigger one by one, and as they are read."""
    yield document.description
    yield from (document.version, document.author, document.license)
    yield from (document.compatibility, document.allowed_tools)
    for words in (document.topics, document.actions):
        yield from words
        yield " ".join(words)
    for key, text in document.metadata.items():
        yield key
        yield text
