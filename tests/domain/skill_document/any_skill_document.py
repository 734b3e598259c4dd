"""Documents of skills with any text in them: plain, hostile, hidden, and as long as they may be."""

from hypothesis import strategies as st

from runlore.domain import limits
from runlore.domain.skill import Quality, SkillDocument
from runlore.domain.skill_document.reading import OWN_KEYS
from runlore.domain.suggesting.naming import is_reserved
from runlore.domain.taint import Provenance

HOSTILE = (
    *(
        "---",
        "----",
        "\n---\n",
        "...",
        ": ",
        " #",
        "#",
        "- ",
        "? ",
        "| ",
        "> ",
        "!!python/object ",
        "!",
        "&a ",
        "*a",
    ),
    *(
        "%YAML 1.2\n",
        "{{",
        "}}",
        "[",
        "]",
        "{",
        "}",
        ",",
        "@",
        "`",
        "'",
        '"',
        "\\",
        "\\n",
        "\\x41",
        "<<: ",
        "~",
    ),
    *("null", "yes", "1.0", "0x1F", "2026-01-01", "=", "\t", "\n", "\r", "\r\n", "\x07", "\x1b[31m", "\x7f"),
    *(
        "\x80",
        "\x85",
        "\xa0",
        "\xad",
        "\u2028",
        "\u2029",
        "\u200b",
        "\u202e",
        "\u2066",
        "\ufeff",
        "\ufffe",
        "\uffff",
    ),
    *(
        "\ufffd",
        "\ue000",
        "\U000e0041",
        "\U0001f4a5",
        "\U0001f469\u200d\U0001f4bb",
        "\u2764\ufe0f",
        "e\u0301",
    ),
    *("\U0010ffff", "\U0001fffe", "日本", "العربية", "%20", "%", "metadata:", "name: x", " ", "a", "Z9"),
)


def texts(most: int, least: int = 0) -> st.SearchStrategy[str]:
    """Texts that can be stored, up to a number of characters."""
    storable = st.characters(codec="utf-8", exclude_characters="\0")
    pieces = st.lists(st.sampled_from(HOSTILE) | st.text(storable, max_size=8), max_size=12).map("".join)
    long = st.sampled_from(HOSTILE).map(lambda piece: (piece * most)[:most])
    return (
        (pieces | st.text(storable, max_size=60) | long)
        .map(lambda text: text[:most])
        .filter(lambda text: len(text) >= least)
    )


NAMES = st.from_regex(r"[a-z0-9]{1,12}(-[a-z0-9]{1,12}){0,3}", fullmatch=True).filter(
    lambda name: not is_reserved(name)
)
WORDS = st.lists(texts(limits.SKILL_WORD_CHARS_MAX), max_size=6).map(tuple)
KEYS = texts(limits.SKILL_METADATA_KEY_CHARS_MAX, 1).filter(
    lambda key: bool(key.strip()) and key not in OWN_KEYS
)
DOCUMENTS = st.builds(
    SkillDocument,
    name=NAMES,
    description=texts(limits.SKILL_DESCRIPTION_CHARS_MAX, 1).filter(lambda text: bool(text.strip())),
    body=texts(2_000),
    topics=WORDS,
    actions=WORDS,
    version=texts(80),
    author=texts(80),
    quality=st.sampled_from(Quality),
    auto_load=st.booleans(),
    license=texts(80),
    compatibility=texts(limits.SKILL_COMPATIBILITY_CHARS_MAX),
    allowed_tools=texts(80),
    metadata=st.dictionaries(KEYS, texts(300), max_size=4),
)
PROVENANCES = st.builds(
    Provenance,
    untrusted=st.booleans(),
    needs_review=st.booleans(),
    sources=st.lists(texts(200), max_size=3).map(tuple),
)
