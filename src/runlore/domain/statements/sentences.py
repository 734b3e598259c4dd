"""The sentences of a message that may be the user's own words, and how the message looks around them.

What was pasted or quoted is left out, and so is a message that a program wrote in the user's place: a role
for an agent, a plan that is handed over, the text of a hook.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from runlore.domain.learning.own_words import cut_pasted
from runlore.domain.statements.user_messages import UserMessage
from runlore.domain.text.inline_spans import code_spans, mask_spans, quotations

SENTENCES_MAX = 200
SENTENCE_CHARS_MAX = 600
_READ_CHARS_MAX = 32_000

_ENDS = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])\s*|\n+|(?<=\w)\.{2,}\s*|(?<=[a-z0-9)])\.(?=[A-Z][a-z])")
_STEPS = re.compile(
    r"(?:^|(?<=[.!?] ))[^\n.!?]{3,200}:[ \t]*\n+(?:[ \t]*\d{1,2}[.)][ \t]+[^\n]{1,200}(?:\n|$)){2,12}",
    re.MULTILINE,
)
_EDGES = " \t\r-*•#"
_SLASH_COMMAND = re.compile(r"\s*/[A-Za-z][\w:.-]{0,80}(?:\s+|$)")
# A line of a terminal or of a log.
_PRINTED = re.compile(r"\s*(?:[❯$%›»]\s|>>> |=== |--- |\[[\w:./-]{1,40}\]\s|[✓✔✗✘×⏺⎿●└├│])")
_MASKED = re.compile(r"\bx{3,}\b")
_LETTER = re.compile(r"[^\W\d_]")
_WRITTEN_BY_PROGRAM = re.compile(
    r"\s*(?:you are an? |you're an? |act as an? |implement the following plan|your task is|# |## |---"
    r"|base directory for this skill|operation stopped by hook|please analy[sz]e this codebase|<\w"
    r"|review the (?:current )?(?:code )?changes (?:against|\(staged))",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class MessageSentence:
    """One sentence: its words as they were written, and in lower case with code and quotations blanked out.
    `place` is its number in the message, which has `message_chars` characters and `message_lines` lines."""

    text: str
    plain: str
    place: int
    message_chars: int
    message_lines: int


def own_text(said: str) -> str:
    """What of a message is surely the user's own: nothing where a program wrote it, else what stands before
    anything pasted, without the name of a slash command. Of a very long message the beginning is read."""
    if _WRITTEN_BY_PROGRAM.match(said):
        return ""
    own = cut_pasted(said[:_READ_CHARS_MAX])
    return _SLASH_COMMAND.sub("", own, count=1) if own.lstrip()[:1] == "/" else own


def sentences_of(said: UserMessage) -> tuple[MessageSentence, ...]:
    """The sentences of a message, in order."""
    parts = [part.strip(_EDGES) for part in _split(own_text(said.text))]
    kept = [part for part in parts if _is_said(part)]
    return tuple(
        MessageSentence(
            text=" ".join(part.split()),
            plain=_plain(part),
            place=place,
            message_chars=len(said.text),
            message_lines=said.text.count("\n") + 1,
        )
        for place, part in enumerate(kept[:SENTENCES_MAX])
    )


def _split(own: str) -> Iterator[str]:
    """The sentences. Numbered steps are one with the line above them that says what they are for."""
    place = 0
    for steps in _STEPS.finditer(own):
        yield from _ENDS.split(own[place : steps.start()])
        yield steps[0]
        place = steps.end()
    yield from _ENDS.split(own[place:])


def sentence_of(text: str) -> MessageSentence:
    """One sentence, as a message of its own."""
    return MessageSentence(text=text, plain=_plain(text), place=0, message_chars=len(text), message_lines=1)


def _is_said(part: str) -> bool:
    return len(part) <= SENTENCE_CHARS_MAX and not _PRINTED.match(part) and _LETTER.search(part) is not None


def _plain(part: str) -> str:
    """In lower case, with a sign in place of what is code or quoted."""
    straight = part.replace("’", "'").replace("‘", "'")
    code = code_spans(straight)
    outside = mask_spans(straight, code)
    unquoted = mask_spans(outside, quotations(outside)[0]).lower()
    return " ".join(_MASKED.sub("#", unquoted).split())
