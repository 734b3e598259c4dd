"""Puts the flags on a record: what looks suspicious needs a person, and says why among its sources.

Orders: texts that ask for something to be done once, and state nothing that could be remembered.

A model that is asked what a run taught may hand back what somebody wanted done. Remembered as a fact, an
order would be given again in every later prompt. A habit ("always run the tests") is no order, and what a
person labels outright is taken at their word.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from runlore.domain import limits
from runlore.domain.record import JsonValue, Record
from runlore.domain.suspicion.scan import suspicions
from runlore.domain.taint import Provenance

FLAG = "content: "


def flag_suspicious(record: Record, *, is_own: bool = False) -> Record:
    """The record, tainted where its text or metadata is suspicious; one that is not stays as it is. `is_own`
    where its text is the user's own words."""
    reasons = dict.fromkeys(reason for text in _texts(record) for reason in suspicions(text, is_own=is_own))
    if not reasons:
        return record
    flags = tuple(f"{FLAG}{reason}" for reason in reasons)
    known = tuple(source for source in record.provenance.sources if source not in flags)
    provenance = Provenance(
        untrusted=record.provenance.untrusted,
        needs_review=True,
        # Where there are more sources than are kept, the flags are what must not be lost.
        sources=(*known[: limits.TAINT_SOURCES_MAX - len(flags)], *flags),
    )
    return replace(record, provenance=provenance)


def _texts(record: Record) -> Iterator[str]:
    """Each text once: much of the metadata repeats the summary."""
    yield from dict.fromkeys([record.summary, *_texts_in(record.metadata)])


def _texts_in(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield key
            yield from _texts_in(item)
    elif isinstance(value, Sequence):
        for item in value:
            yield from _texts_in(item)


STATEMENT_CHARS_MAX = 280
STATEMENT_LINES_MAX = 2
# What is done as a rule, and what only sounds so where something is asked for.
_RULE = re.compile(
    r"\b(?:always|never|whenever|usually|by default|prefer(?:s|red)?|in general|generally|as a"
    r" rule|do not|don't|avoid|instead of|rather than)\b",
    re.IGNORECASE,
)
_POLITE = (
    r"(?:(?:chat ?gpt|claude|gemini|copilot|assistant|please|kindly|now|then|next|first|also|and|so|hey|hi|ok"
    r"|okay|just|in a [a-z]+ [a-z]+)[ ,:]+|(?:can|could|would|will) you (?:please )?)*"
)
_TASKS = (
    r"send|transfer|e-?mail|mail|forward|post|publish|upload|download|share|submit|transmit|copy|modify"
    r"|change|update|draft|write|compose|translate|summari[sz]e|rephrase|paraphrase|refine|determine|classify"
    r"|analy[sz]e|get|book|reserve|make (?:an?|the|me)|create|delete|erase|visit|click|open|invite|give|tell"
    r"|show|explain|describe|list|name|find|search|recommend|suggest|include|integrate|enhance|augment"
    r"|replace|substitute|shift|apply|misspell|convert|encode|decode|provide|compare|continue|complete"
    r"|incorporate|execute|insert|embed|add|append|remove|mention|refer|say|print|output|repeat|reply|respond"
    r"|answer|play|pretend|act|imagine|generate|buy|pay|order|cancel|schedule|remind|break down|outline"
    r"|discuss|design|develop|calculate|compute|solve|plan|help|teach|concatenate|look up|render|reverse"
    r"|jumble|scramble|reflect|personify|simulate|you (?:are|will|shall|must|have to|need to|should)|who|what"
    r"|when|where|why|how|which|is|are|do|does|did|can|could|would|will"
)
_TASK = re.compile(rf"^[\W_]*{_POLITE}(?:{_TASKS})\b", re.IGNORECASE)
_QUOTATION = re.compile(r"\"[^\"]*\"|“[^”]*”|'[^']{8,}'")
_SENTENCE_ENDS = re.compile(r"(?<=[.!?？])\s+|\n")
_ABOUT_THE_ANSWER = re.compile(r"\byour (?:reply|response|answer|message|output)\b", re.IGNORECASE)


def is_order(text: str) -> bool:
    """Whether a text asks for something, or is no single statement at all."""
    plain = text.strip()
    if len(plain) > STATEMENT_CHARS_MAX or plain.count("\n") >= STATEMENT_LINES_MAX:
        return True
    # What is quoted is not what the text itself says.
    return any(_asks(sentence.strip()) for sentence in _SENTENCE_ENDS.split(_QUOTATION.sub("", plain)))


def _asks(sentence: str) -> bool:
    if sentence.endswith(("?", "？")):
        return True
    return not _RULE.search(sentence) and bool(_TASK.match(sentence) or _ABOUT_THE_ANSWER.search(sentence))
