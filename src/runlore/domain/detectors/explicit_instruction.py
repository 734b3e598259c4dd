"""`explicit-instruction`: the user asks for a skill outright (SKL-2), in words of their own.

The session's commands up to there that worked are its context; without any, what was said becomes a learning
candidate. What the user asks to remember ("remember that ...") becomes one too, each sentence by itself. Of
several instructions in one message the last wins.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from runlore.domain import limits
from runlore.domain.detectors.match import Heuristic, Match, make_occurrence
from runlore.domain.detectors.mined import MinedRun, Outcome, Step, UserRequest
from runlore.domain.lazy import dataclass
from runlore.domain.learning.labels import Labelled
from runlore.domain.learning.own_words import cut_pasted
from runlore.domain.learning.remember_requests import find_remember_requests, kind_of, statements_in
from runlore.domain.record import Kind
from runlore.domain.text.excerpt import excerpt
from runlore.domain.text.inline_spans import code_spans, mask_spans, quotations

NAME_WORDS_MAX = 4
_READ_CHARS_MAX = 300

_QUOTED = re.compile(
    r"[\s:]{0,3}(?:\"([^\"\n]{1,120})\"|“([^”\n]{1,120})”|'([^'\n]{1,120})'|`([^`\n]{1,120})`)"
)
_MARKER = re.compile(r"(?<![\w-])(as|about|called|named)(?![\w-])[ \t]{0,4}:?", re.IGNORECASE)
_BREAK = re.compile(r"[.!?;,:()\n。！？，；：]|\s[-–—]\s")
_WORD = re.compile(r"[\w][\w.+#@/-]{0,80}")
_NOT_SLUG = re.compile(r"[^a-z0-9]+")
PHRASES_MAX = 32
TASK_WORDS_MIN = 3

_PHRASE = re.compile(
    r"(?<![\w-])(?:"
    r"(?P<keep>save|remember) this(?P<skill> as (?:an? )?(?:new )?skill)?"
    r"|(?:save|remember|keep|store) (?:that|it|these(?: steps)?|all (?:of )?this|the (?:above|steps)"
    r"|those steps)"
    r" as (?:an? )?(?:new )?skill"
    r"|save (?:as|to) (?:an? )?(?:new )?skill"
    r"|add (?:an? )(?:new )?skill|make (?:an? )(?:new )?skill|make (?:this|that|it)(?: into)? (?:an? )skill"
    r"|turn (?:this|that|it|these steps) into (?:an? )skill"
    r"|create (?:an? )?(?:new )?skill(?= about\b| from (?:this|that|it)\b| called\b| named\b)"
    r")(?![\w-])",
    re.IGNORECASE,
)
SENTENCE_ENDS = re.compile(r"[.!?](?=\s|$)|[。！？]|\n")
# Who does it, before the phrase: then it is told of and not asked for; but for those who are asked to.
_SUBJECT = re.compile(
    r"(?:^|[\s,;:(])(?:i|we|you|he|she|they|it|who|one|that|which|users?|people|i'?ll|we'?ll|you'?ll"
    r"|they'?ll|it'?ll"
    r"|can|could|may|might|will|would|shall|should|must|did|does|do|has|have|had|is|was|are|were|to"
    r"|not|the|a|an"
    r"|when|if|how|what|whether|always|usually|already|auto)\s*$",
    re.IGNORECASE,
)
_ASKING = re.compile(
    r"(?:^|[\s,;:(])(?:let'?s|let us|we should|we must|you should|you must|(?:can|could|would"
    r"|will) (?:you|we)"
    r"|(?:want|like|need|have|remember|sure|going) (?:you )?to)(?: (?:please|just|also|now|then"
    r"|always))?\s*$",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"(?:\b(?:don'?t|do not|never|not|no need to|shouldn'?t|won'?t|can'?t|cannot|without|stop|didn'?t)"
    r"(?: (?:you|please|just|have to|want to|want you to|need to|yet|even|ever))?)\s*$",
    re.IGNORECASE,
)
_POLITE = re.compile(r"\b(?:can|could|would|will) (?:you|we)\b|\bplease\b", re.IGNORECASE)
_ENDED = re.compile(r"\s*(?:$|[.!?;,:)\n–—-]|[。！？])")
_HOLDS = re.compile(
    r"\s+(?:for (?:later|next|future|the future|me|us|reuse|another|when|other)|as\b|about\b|when\b"
    r"|next time|please"
    r"|in (?:the )?future|so\b|and\b|because\b|too\b|now\b|called\b|named\b|thanks|[\"“'`])",
    re.IGNORECASE,
)
_PROCEDURE = re.compile(
    r"(?:\s+[\w./+-]{1,40}){0,4}?\s+(?:set-?up|procedure|workflow|steps?|process|approach|sequence"
    r"|recipe|technique"
    r"|pattern|trick|flow|commands?|way|method|routine|pipeline|fix|solution|lesson|skill|know-how)\b",
    re.IGNORECASE,
)
_AS_NAME = re.compile(
    r"(?:\s+[\w./+-]{1,40}){1,5}?\s+as\s+(?:an?\s+)?[\"“'`]?([\w./+-]{1,80})", re.IGNORECASE
)
_FILE = re.compile(
    r"(?:\s+[\w./+-]{1,40}){0,2}?\s+(?:files?|documents?|images?|screenshots?|pictures?|pages?|text"
    r"|outputs?|results?"
    r"|data|logs?|reports?|changes?|code|scripts?|configs?|configuration|drafts?|contents?|tables?"
    r"|lists?|json|csv"
    r"|pdf|notes?|urls?|links?|responses?|answers?|branch|commits?|plans?|versions?|snapshots?"
    r"|diagrams?|charts?"
    r"|specs?|patch|diff|model|state|settings?|values?|variables?|queries|query|prompts?)\b",
    re.IGNORECASE,
)
_TO_PLACE = re.compile(
    r"(?:\s+[\w.+-]{1,40}){0,3}?\s+(?:to|in|into|under|at|on)\s+(?!(?:the )?future|my mind|mind|memory)",
    re.IGNORECASE,
)
_FILE_NAME = re.compile(
    r"\s+as\s+(?:an?\s+)?[\"“'`]?[\w.-]*(?:/[\w./-]*|\.[a-z][a-z0-9]{0,4})(?![\w-])", re.IGNORECASE
)
_THING = re.compile(
    r"\s+(?:loaders?|commands?|pickers?|systems?|managers?|registry|files?|folders?|director(?:y"
    r"|ies)|lists?|pages?"
    r"|tests?|menus?|buttons?|options?|flags?|fields?|types?|class|functions?|methods?|parsers?"
    r"|matchers?|stores?"
    r"|panels?|cards?|sections?|trees?|levels?|checks?|search|points?|tags?|icons?|badges?|bars?|filters?)\b",
    re.IGNORECASE,
)


CONTEXT_STEPS_MAX = 20
READ_CHARS_MAX = 8_000
STATEMENT_WORDS_MIN = 3

# Where a statement begins behind a phrase: "remember this: ...", "add a skill. ...".
_BEHIND = re.compile(r"(?: as (?:an? )?skill| for (?:later|next time))?\s*[:.,!\n–—-]\s*")


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


def find_requested_name(behind: str) -> str:
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
    if quoted := _find_quoted(text, colon.end() if colon else 0):
        return quoted
    if colon is None:
        return _name_at(text, 0)
    words = [word for word in _WORD.findall(sentence[colon.end() :]) if word.lower() not in _SKIPPED]
    return _name_at(text, colon.end()) if len(words) <= NAME_WORDS_MAX else ""


def _name_at(text: str, at: int) -> str:
    if quoted := _find_quoted(text, at):
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
    return _allow(slug(" ".join(words)))


def _allow(name: str) -> str:
    return "" if name in _SKIPPED else name


def _find_quoted(text: str, at: int) -> str:
    found = _QUOTED.match(text, at)
    if found is None:
        skill = re.compile(r"[\s]{0,3}(?:an? )?skill(?: called| named)?", re.IGNORECASE).match(text, at)
        found = _QUOTED.match(text, skill.end()) if skill else None
    return _allow(slug(next(filter(None, found.groups()), ""))) if found else ""


@dataclass(frozen=True, kw_only=True)
class Instruction:
    """An instruction to keep something. `start` and `end` are where its phrase stands in the message.

    "I save this" tells of something, "can you save this" asks for it. It is none where it is denied, asked
    about, quoted, or speaks of a file to be saved or of a part of a program. The `name` stands behind "as" or
    "about" (or "called", "named"), else behind the phrase and an optional colon. A quoted name is taken
    whole, a word with a hyphen in it as it is, and of plain words those up to the first that no name holds.

    `closes_task` says that it ends a message that asks for work first.
    """

    start: int
    end: int
    name: str
    closes_task: bool


def has_phrase(own: str) -> bool:
    """Whether a message has any of the phrases, meant or not: most have none, and need no closer look."""
    return _PHRASE.search(own) is not None


def instructions_in(said: str) -> Iterator[Instruction]:
    """The instructions of a message in their order."""
    code = code_spans(said)
    inert = [*code, *quotations(mask_spans(said, code))[0]]
    for count, phrase in enumerate(_PHRASE.finditer(said)):
        if count == PHRASES_MAX:
            return
        if any(start <= phrase.start() < end for start, end in inert):
            continue
        if _is_told(said, phrase) and _is_meant(said, phrase):
            yield Instruction(
                start=phrase.start(),
                end=phrase.end(),
                name=find_requested_name(said[_name_from(phrase) :])
                or find_requested_name(said[phrase.end() :]),
                closes_task=phrase[0].lower().startswith(("save", "turn", "make th", "make it"))
                and len(said[: phrase.start()].split()) >= TASK_WORDS_MIN,
            )


def _name_from(phrase: re.Match[str]) -> int:
    """Where a name may begin: behind the phrase, or with the "as" in it."""
    return phrase.start("skill") if phrase["skill"] else phrase.end()


def _is_told(said: str, phrase: re.Match[str]) -> bool:
    """Whether the phrase tells somebody to do it: nobody else does it, and it is neither denied nor asked."""
    before = said[max(0, phrase.start() - 200) : phrase.start()]
    ends = list(SENTENCE_ENDS.finditer(before))
    clause = before[ends[-1].end() :] if ends else before
    if _DENIED.search(clause):
        return False
    behind = SENTENCE_ENDS.search(said, phrase.end())
    if behind is not None and behind[0] in "?？" and not _POLITE.search(f"{clause}{phrase[0]}"):
        return False
    return _ASKING.search(clause) is not None or _SUBJECT.search(clause) is None


def _is_meant(said: str, phrase: re.Match[str]) -> bool:
    """Whether a skill is meant: what is saved is no file, and what is added no part of a program."""
    rest = _rest(said, phrase.end())
    if "skill" in phrase[0].lower():
        return _THING.match(rest) is None
    if _FILE_NAME.search(rest) or (_FILE.match(rest) and "skill" not in rest.lower()):
        return False
    if _ENDED.match(rest):
        return True
    if _TO_PLACE.match(rest) and "skill" not in rest.lower():
        return False
    return any(form.match(rest) for form in (_HOLDS, _PROCEDURE, _AS_NAME))


def _rest(said: str, at: int) -> str:
    """The rest of the sentence, a dot inside a word being none of its ends."""
    end = SENTENCE_ENDS.search(said, at)
    return said[at : min(end.start() if end else len(said), at + 300)]


def explicit_instruction(session: Sequence[MinedRun]) -> Match | None:
    """The instruction that the last run begins with, with the commands of the session up to there."""
    last = session[-1] if session else None
    if last is None or last.request is None:
        return None
    asked = instruction_in(last.request)
    if asked is None and not find_remember_requests(_own(last.request)):
        return None
    steps = () if asked is None else _context(session, last.request, asked)
    name = "" if asked is None else asked.name
    occurrence = make_occurrence(last, steps)
    pattern = " ; ".join(step.form for step in steps)
    return Match(
        heuristic=Heuristic.EXPLICIT_INSTRUCTION,
        pattern=f"asked for {name} in {last.project}" if name else pattern or f"said in {last.run_id}",
        occurrences=(occurrence,),
        request=last.request,
        asked_name=name,
    )


def candidates_of(match: Match) -> tuple[Labelled, ...]:
    """What to keep of an instruction beside a skill: what the user asks to remember, each sentence by itself.

    Where no command shows a skill, it is else the statement behind the phrase, what was said before it, or
    the instruction with its name; none where it says nothing but the phrase.
    """
    if match.request is None:
        return ()
    own = _own(match.request)
    statements = find_remember_requests(own)
    if statements:
        return tuple(replace(each, text=excerpt(each.text, limits.SUMMARY_CHARS_MAX)) for each in statements)
    asked = instruction_in(match.request)
    if asked is None or any(found.steps for found in match.occurrences):
        return ()
    said = _said_around(own, asked)
    if own[asked.start : asked.end].lower().startswith("remember"):
        return tuple(_asked_to_keep(kind_of(each), each, is_asked=True) for each in statements_in(said))
    return (_asked_to_keep(Kind.PROCEDURE, " ".join(said.split())),) if said else ()


def _asked_to_keep(kind: Kind, text: str, *, is_asked: bool = False) -> Labelled:
    return Labelled(kind=kind, text=excerpt(text, limits.SUMMARY_CHARS_MAX), is_asked=is_asked)


def _said_around(own: str, asked: Instruction) -> str:
    """What was said behind an instruction, or before it; else all of it where it names what is meant."""
    behind = _BEHIND.match(own, asked.end)
    sentences = [own[: asked.start][: _last_end(own[: asked.start])]]
    if behind is not None:
        sentences.insert(0, own[behind.end() :])
    said = next((text for text in sentences if len(text.split()) >= STATEMENT_WORDS_MIN), "")
    return own if not said and (asked.name or asked.closes_task) else said


def _last_end(text: str) -> int:
    """Where the last whole sentence of a text ends; 0 where it has none."""
    return max((found.end() for found in SENTENCE_ENDS.finditer(text)), default=0)


def instruction_in(request: UserRequest) -> Instruction | None:
    """The last instruction to keep something in the user's own words."""
    if not has_phrase(request.own):
        return None
    return max(instructions_in(_own(request)), key=lambda found: found.start, default=None)


def _own(request: UserRequest) -> str:
    """What the user wrote before anything pasted, inline code with its text: a name may stand in it."""
    if len(request.own) != len(request.text):
        return request.own[:READ_CHARS_MAX]
    return cut_pasted(request.text)[:READ_CHARS_MAX]


def _context(session: Sequence[MinedRun], request: UserRequest, asked: Instruction) -> tuple[Step, ...]:
    """The latest commands before the instruction that worked, each once.

    Where the instruction closes a task ("set it up and save this as ..."), they are those of the task.
    """
    before = _latest(step for run in session for step in run.steps if step.number < request.number)
    if before or not asked.closes_task:
        return before
    return _latest(session[-1].steps)


def _latest(steps: Iterable[Step]) -> tuple[Step, ...]:
    worked = [step for step in steps if step.outcome is Outcome.SUCCEEDED and not step.is_looking]
    by_text = {step.text: step for step in worked}
    return tuple(sorted(by_text.values(), key=lambda step: step.number))[-CONTEXT_STEPS_MAX:]
