"""Suggestions as plain values: as they are stored, as the API gives them, as `learn --json` prints them.

`score` is the number alone, and what makes it up stands in `score_parts`. What is read back is checked like a
stranger's text, and is exactly what was written.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TypeVar, cast

from runlore.domain import limits
from runlore.domain.detectors.match import Heuristic
from runlore.domain.errors import Corrupt, RunloreError
from runlore.domain.record import JsonObject, JsonValue
from runlore.domain.run import RunId
from runlore.domain.session import SessionId
from runlore.domain.storable import is_storable
from runlore.domain.suggestion import (
    Parameter,
    Score,
    ScorePart,
    Suggestion,
    SuggestionEvidence,
    Trigger,
)
from runlore.domain.taint import Provenance
from runlore.domain.timestamps import format_time, parse_time

SCORE_PARTS_MAX = 40
ACTIONS_MAX = 40
EVENT_NUMBERS_MAX = 2 * limits.RUN_STEPS_MAX
# More times than anything is ever seen.
COUNT_MAX = 10**9
TEXT_CHARS_MAX = 32_000

ValueT = TypeVar("ValueT")


def suggestion_to_plain(suggestion: Suggestion) -> dict[str, JsonValue]:
    """The plain form, every field of it."""
    return {
        "name": suggestion.name,
        "heuristic": suggestion.heuristic.value,
        "description": suggestion.description,
        "commands": list(suggestion.commands),
        "trigger": {"topic": suggestion.trigger.topic, "actions": list(suggestion.trigger.actions)},
        "provenance": {
            "untrusted": suggestion.provenance.untrusted,
            "needs_review": suggestion.provenance.needs_review,
            "sources": list(suggestion.provenance.sources),
        },
        "body": suggestion.body,
        "evidence": [_evidence_to_plain(evidence) for evidence in suggestion.evidence],
        "score": suggestion.score.points,
        "score_parts": [{"reason": part.reason, "points": part.points} for part in suggestion.score.parts],
        "parameters": [
            {"name": parameter.name, "examples": list(parameter.examples)}
            for parameter in suggestion.parameters
        ],
        "times": suggestion.times,
        "seen_in_sessions": suggestion.sessions,
        "pattern": suggestion.pattern,
        "enhanced_by": suggestion.enhanced_by,
        "variants": list(suggestion.variants),
    }


def suggestion_from_plain(plain: object) -> Suggestion:
    """Read the plain form; Corrupt (`suggestion.damaged`) names the field that is not as it was written."""
    body = _object(plain, "suggestion")
    if unknown := set(body) - _NAMES:
        raise damaged(f"it has a field {min(unknown)!r:.80}, which is not known")
    trigger = _object(body.get("trigger"), "trigger")
    return Suggestion(
        name=_text(body, "name", limits.SKILL_NAME_CHARS_MAX),
        description=_text(body, "description", limits.SKILL_DESCRIPTION_CHARS_MAX),
        heuristic=_made(body, "heuristic", Heuristic),
        pattern=_text(body, "pattern", limits.SUGGESTION_PATTERN_CHARS_MAX),
        commands=_texts(body, "commands", limits.SUGGESTION_COMMANDS_MAX),
        trigger=Trigger(topic=_text(trigger, "topic"), actions=_texts(trigger, "actions", ACTIONS_MAX)),
        body=_text(body, "body", limits.SKILL_BODY_CHARS_MAX),
        evidence=_list(body, "evidence", _evidence, limits.SUGGESTION_EVIDENCE_MAX),
        provenance=_provenance(body.get("provenance")),
        score=Score(
            points=_number(body, "score", 0, 100),
            parts=_list(body, "score_parts", _score_part, SCORE_PARTS_MAX),
        ),
        parameters=_list(body, "parameters", _parameter, limits.PARAMETERS_MAX),
        times=_number(body, "times", 1, COUNT_MAX),
        sessions=_number(body, "seen_in_sessions", 1, COUNT_MAX),
        enhanced_by=_text(body, "enhanced_by"),
        variants=_texts(body, "variants", limits.SUGGESTION_VARIANTS_MAX),
    )


def damaged(problem: str) -> Corrupt:
    """The error for a suggestion that cannot be read."""
    return Corrupt(
        f"a suggestion is damaged: {problem}",
        code="suggestion.damaged",
        hint="runlore learn finds it again from the sessions that it was made of",
    )


def _evidence_to_plain(evidence: SuggestionEvidence) -> dict[str, JsonValue]:
    return {
        "session_id": evidence.session_id,
        "run_id": evidence.run_id,
        "event_numbers": list(evidence.event_numbers),
        "at": format_time(evidence.at),
        "project": evidence.project,
        "project_name": evidence.project_name,
    }


def _evidence(plain: JsonValue) -> SuggestionEvidence:
    body = _object(plain, "evidence")
    numbers = body.get("event_numbers")
    if not isinstance(numbers, Sequence) or isinstance(numbers, str) or len(numbers) > EVENT_NUMBERS_MAX:
        raise damaged(f"its event_numbers are not a list of at most {EVENT_NUMBERS_MAX}")
    return SuggestionEvidence(
        session_id=SessionId(_text(body, "session_id", limits.ID_CHARS_MAX)),
        run_id=RunId(_text(body, "run_id", limits.ID_CHARS_MAX)),
        event_numbers=tuple(_whole(number, "event_numbers", 0, COUNT_MAX) for number in numbers),
        at=_made(body, "at", _moment),
        project=_text(body, "project"),
        project_name=_checked(body.get("project_name", ""), "project_name", TEXT_CHARS_MAX),
    )


def _score_part(plain: JsonValue) -> ScorePart:
    body = _object(plain, "score_parts")
    return ScorePart(reason=_text(body, "reason"), points=_number(body, "points", -100, 100))


def _parameter(plain: JsonValue) -> Parameter:
    body = _object(plain, "parameters")
    return Parameter(
        name=_text(body, "name"), examples=_texts(body, "examples", limits.PARAMETER_EXAMPLES_MAX)
    )


def _provenance(plain: JsonValue) -> Provenance:
    body = _object(plain, "provenance")
    return Provenance(
        untrusted=_flag(body, "untrusted"),
        needs_review=_flag(body, "needs_review"),
        sources=_texts(body, "sources", limits.TAINT_SOURCES_MAX),
    )


def _moment(text: str) -> datetime:
    moment = parse_time(text)
    if format_time(moment) != text:
        raise ValueError(text)
    return moment


def _object(value: object, name: str) -> JsonObject:
    if not isinstance(value, Mapping):
        raise damaged(f"its {name} is not an object")
    return cast("JsonObject", value)


def _made(body: JsonObject, name: str, make: Callable[[str], ValueT]) -> ValueT:
    try:
        return make(_text(body, name))
    except (ValueError, RunloreError):
        raise damaged(f"its {name} is not a value that it can have") from None


def _text(body: JsonObject, name: str, chars_max: int = TEXT_CHARS_MAX) -> str:
    return _checked(body.get(name), name, chars_max)


def _texts(body: JsonObject, name: str, most: int) -> tuple[str, ...]:
    return _list(body, name, lambda value: _checked(value, name, TEXT_CHARS_MAX), most)


def _checked(value: JsonValue, name: str, chars_max: int) -> str:
    if not isinstance(value, str) or len(value) > chars_max or not is_storable(value):
        raise damaged(f"its {name} is not a text of at most {chars_max} characters")
    return value


def _list(body: JsonObject, name: str, read: Callable[[JsonValue], ValueT], most: int) -> tuple[ValueT, ...]:
    values = body.get(name)
    if not isinstance(values, Sequence) or isinstance(values, str) or len(values) > most:
        raise damaged(f"its {name} are not a list of at most {most}")
    return tuple(map(read, values))


def _flag(body: JsonObject, name: str) -> bool:
    value = body.get(name)
    if not isinstance(value, bool):
        raise damaged(f"its {name} is neither true nor false")
    return value


def _number(body: JsonObject, name: str, least: int, most: int) -> int:
    return _whole(body.get(name), name, least, most)


def _whole(value: JsonValue, name: str, least: int, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise damaged(f"its {name} is not a whole number from {least} to {most}")
    return value


_NAMES = frozenset(
    {
        "name",
        "heuristic",
        "description",
        "commands",
        "trigger",
        "provenance",
        "body",
        "evidence",
        "score",
        "score_parts",
        "parameters",
        "times",
        "seen_in_sessions",
        "pattern",
        "enhanced_by",
        "variants",
    }
)
