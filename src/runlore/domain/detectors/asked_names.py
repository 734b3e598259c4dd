"""The name that somebody asks for: "save this as docker-dev", "create skill about rotating keys" (SKL-2).

It stands behind "as" or "about" (or "called", "named"), else behind the phrase and an optional colon. A
quoted name is taken whole, a word with a hyphen in it as it is, and of plain words those up to the first that
no name holds. It becomes a slug, and never is "skill" or "a".
"""

import re
import unicodedata

from runlore.domain import limits

NAME_WORDS_MAX = 4
_READ_CHARS_MAX = 300

_QUOTED = re.compile(
    r"[\s:]{0,3}(?:\"([^\"\n]{1,120})\"|“([^”\n]{1,120})”|'([^'\n]{1,120})'|`([^`\n]{1,120})`)"
)
_MARKER = re.compile(r"(?<![\w-])(as|about|called|named)(?![\w-])[ \t]{0,4}:?", re.IGNORECASE)
_BREAK = re.compile(r"[.!?;,:()\n。！？，；：]|\s[-–—]\s")
_WORD = re.compile(r"[\w][\w.+#@/-]{0,80}")
_NOT_SLUG = re.compile(r"[^a-z0-9]+")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SKIPPED = _words("a an the our my your this that new skill skills called named")
# What no name goes on behind, and none begins with.
_ENDING = _words(
    "and or but so because when whenever if while please thanks thank now then later next for to in into on"
    " at with from of before after by it we i you they is are was were be will would can could should must"
    " has have had soon well possible usual needed long much part always again too also just ok okay cheers"
    " here there how what that which who where why not no yes me us as"
)


def asked_name(behind: str) -> str:
    """The name in what follows the phrase of a request; empty where none is asked for."""
    text = behind[:_READ_CHARS_MAX]
    sentence = _sentence(text)
    for marker in _MARKER.finditer(text, 0, len(sentence)):
        name = _name_at(text, marker.end())
        if name:
            return name
    return _name_behind(text, sentence)


def slug(text: str) -> str:
    """A name that a skill can have; empty where nothing of the text can stand in one."""
    plain = unicodedata.normalize("NFKD", text[:_READ_CHARS_MAX]).encode("ascii", "ignore").decode()
    return _NOT_SLUG.sub("-", plain.lower()).strip("-")[: limits.SKILL_NAME_CHARS_MAX].rstrip("-")


def _sentence(text: str) -> str:
    """Up to the end of the sentence; a dot inside a word ends none."""
    end = re.search(r"[.!?](?:\s|$)|\n|[。！？]", text)
    return text[: end.start()] if end else text


def _name_behind(text: str, sentence: str) -> str:
    """A name directly behind the phrase. Behind a colon a whole statement may stand: then there is none."""
    colon = re.match(r"\s{0,3}:", sentence)
    if quoted := _quoted(text, colon.end() if colon else 0):
        return quoted
    if colon is None:
        return _name_at(text, 0)
    words = [word for word in _WORD.findall(sentence[colon.end() :]) if word.lower() not in _SKIPPED]
    return _name_at(text, colon.end()) if len(words) <= NAME_WORDS_MAX else ""


def _name_at(text: str, at: int) -> str:
    if quoted := _quoted(text, at):
        return quoted
    ended = _BREAK.search(text, at)
    words: list[str] = []
    for found in _WORD.finditer(text, at, ended.start() if ended else len(text)):
        word = found[0].strip(".-/")
        if word.lower() in _SKIPPED:
            continue
        if word.lower() in _ENDING or len(words) == NAME_WORDS_MAX:
            break
        words.append(word)
        if "-" in word or "_" in word:
            break
    return _allowed(slug(" ".join(words)))


def _allowed(name: str) -> str:
    return "" if name in _SKIPPED else name


def _quoted(text: str, at: int) -> str:
    found = _QUOTED.match(text, at)
    if found is None:
        skill = re.compile(r"[\s]{0,3}(?:an? )?skill(?: called| named)?", re.IGNORECASE).match(text, at)
        found = _QUOTED.match(text, skill.end()) if skill else None
    return _allowed(slug(next(filter(None, found.groups()), ""))) if found else ""
