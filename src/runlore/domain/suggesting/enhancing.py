"""Enhancement (SKL-5): what a model is asked to improve of a suggestion, and which of its answers are kept.

The answer is a stranger's text. It may say the same better; it may not add anything to be run, opened or
obeyed. An answer that fails one check is dropped whole, and the heuristic's own words stay.

What a sentence about a suggestion may not bring: a program, a flag, a file or an address that it has not.

A sentence is read as it is shown: letters of other widths and scripts, marks on letters and emphasis inside
a word are taken off first. A program's name may be a plain word; with an argument it is a command.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from runlore.domain import limits
from runlore.domain.detectors.match import Heuristic
from runlore.domain.guard import first_secret
from runlore.domain.privacy.redaction import redact_text
from runlore.domain.record import JsonObject, JsonValue
from runlore.domain.shell.program_forms import FORMS
from runlore.domain.suggesting.fragments import MarkdownSection, sections_of
from runlore.domain.suggesting.known_commands import STEPS, KnownCommands
from runlore.domain.suggesting.naming import is_reserved, is_valid_name
from runlore.domain.suggestion import Suggestion, Trigger
from runlore.domain.suspicion import suspicions
from runlore.domain.suspicion.scan import latin
from runlore.domain.text.safe_text import hidden_characters, is_storable

_MARKUP = re.compile(r"\]\(|\]:|\]\[|&#|&\w{2,8};|`|\\")
_ANGLE = re.compile(r"<([^<>]{0,60})(>?)")
# Elements of HTML that would do something where they are not shown as text, whatever a parameter is called.
_ELEMENTS = frozenset(
    ("a", "audio", "base", "body", "br", "button", "code", "details", "dialog", "div", "embed", "form",
     "frame", "head", "hr", "html", "iframe", "img", "input", "link", "math", "meta", "object", "p", "pre",
     "script", "select", "slot", "source", "span", "style", "svg", "table", "template", "textarea", "title",
     "video")
)  # fmt: skip
_SHELL_LIKE = re.compile(
    r"^-{1,2}[A-Za-z][\w-]*(?:=|$)|:[/\\]|^(?:/|\./|\.\./|~/|\\\\)[^\s]|[$][({A-Za-z_]|^[>|&]{1,2}$"
    r"|\|\||&&|>>|^www\.|@"
    # A host, a file: what has a dot inside, and no number is.
    r"|[^\W_]\.[^\W\d_]{2,}|^\d{1,3}(?:\.\d{1,3}){3}\b|^[A-Za-z][\w.-]{0,60}:\d{2,5}\b"
)
_DOTTED_NAMES = frozenset({"node.js", "vue.js", "next.js"})
_FLAG = re.compile(r"^-{1,2}[A-Za-z0-9]")
# What very many programs can do.
_SUBCOMMANDS = frozenset(
    ("add", "apply", "build", "clean", "clone", "delete", "deploy", "exec", "get", "init", "install",
     "publish", "pull", "push", "release", "remove", "reset", "restart", "rm", "run", "start", "stop", "test",
     "uninstall", "update", "upgrade")
)  # fmt: skip
# Of so many words behind a program's name one may be its flag.
_FLAG_WITHIN = 4
# Names of programs that are words of English too, in the order of the alphabet.
_WORDS_TOO = frozenset(
    ("at", "bat", "bundle", "cat", "convert", "cut", "date", "diff", "docker", "express", "file", "find",
     "fly", "format", "go", "head", "host", "install", "job", "join", "just", "kill", "last", "less", "look",
     "make", "man", "mix",
     "more", "move", "nice", "node", "open", "patch", "poetry", "python", "read", "rush", "screen", "script",
     "service", "set", "sort", "source", "split", "stack", "strings", "sync", "tail", "task", "tee", "test",
     "time", "timeout", "top", "touch", "tree", "type", "watch", "which", "who", "write", "yes")
)  # fmt: skip
# What a shell does itself.
_BUILTINS = frozenset({"eval", "exec", "sudo", "doas", "nohup", "xargs", "chroot", "dd", "mkfs", "crontab"})
_EDGES = ".,;:!?()[]{}\"'*_“”‘’…"
_LISTED = re.compile(r"^[\s>]*(?:(?:[-*+]|\d{1,3}[.)])\s+)?")
_TABLE_SIGNS = frozenset("|-:")
SECTIONS = ("Overview", STEPS, "Common Pitfalls", "Verification")
ACTIONS_MAX = 12
KEYWORD_CHARS_MAX = 40
BEFORE_AFTER = re.compile(r"^\|\s*Before\s*\|\s*After\s*\|\s*$", re.MULTILINE)

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "description": "1 to 64 of a-z, 0-9 and single hyphens"},
        "description": {"type": "string", "description": "what it does and when to use it, at most 1024"},
        "topic": {"type": "string", "description": "the one word that it is about"},
        "actions": {"type": "array", "items": {"type": "string"}, "description": "the verbs"},
        "body": {"type": "string", "description": "Markdown with the four sections"},
    },
    "required": ["name", "description", "topic", "actions", "body"],
    "additionalProperties": False,
}


class OwnSentences:
    """The words of a suggestion, and what a sentence about it has beside them."""

    def __init__(self, suggestion: Suggestion, known: KnownCommands) -> None:
        texts = (suggestion.body, suggestion.description, suggestion.name.replace("-", " "))
        self._known = known
        self._words = known.words | {
            word.strip(_EDGES) for text in texts for word in text.replace("`", " ").split()
        }
        self._placeholders = {word for word in known.words if word.startswith("<") and word.endswith(">")}

    def has_markup(self, line: str) -> bool:
        """Whether a line has an element, a link or a sign that would be shown as another."""
        shown = unicodedata.normalize("NFKC", line)
        if _MARKUP.search(shown):
            return True
        return any(
            found[0] not in self._placeholders or found[1].lower() in _ELEMENTS
            for found in _ANGLE.finditer(shown)
        )

    def gains(self, line: str) -> bool:
        """Whether a line names something of a shell that the suggestion has not."""
        words = [word for word in (each.strip(_EDGES) for each in line.split()) if word]
        if any(map(self._is_gained, words)):
            return True
        shown = [word for word in (each.strip(_EDGES) for each in _as_shown(line).split()) if word]
        return (shown != words and any(map(self._is_gained, shown))) or any(self._has_arguments(shown))

    def is_command(self, line: str) -> bool:
        """Whether a line that stands alone reads as a command, and is none of the suggestion's."""
        text = _as_shown(_LISTED.sub("", line, count=1)).strip()
        words = text.split()
        if len(words) < 2 or text[-1] in ".!?:;,":
            return False
        is_program = words[0] in FORMS or words[0] in _BUILTINS or words[0] in self._known.programs
        return is_program and not self._known.is_known(text, is_step=False)

    def _is_gained(self, word: str) -> bool:
        if word in self._words or word.lower() in self._words:
            return False
        if set(word) <= _TABLE_SIGNS or word.lower() in _DOTTED_NAMES:
            # A table's own lines, or a name that people write so.
            return False
        if _SHELL_LIKE.search(word):
            return True
        return (word in FORMS and word not in _WORDS_TOO) or word in _BUILTINS

    def _has_arguments(self, words: Sequence[str]) -> Iterator[bool]:
        """For each program among the words whether what stands behind it is no argument of its own."""
        for place, word in enumerate(words[:-1]):
            program = word.lower()
            form = FORMS.get(program)
            if form is None and program not in self._known.programs:
                continue
            own = self._known.arguments(program)
            follower = words[place + 1]
            if form is not None and follower not in own:
                yield follower in form.values_of or follower in form.nested
                yield word == program and bool(form.subcommands) and follower in _SUBCOMMANDS
            behind = words[place + 1 : place + 1 + _FLAG_WITHIN]
            yield any(_FLAG.match(each) and each not in own for each in behind)


def _as_shown(line: str) -> str:
    """A line as a person reads it."""
    plain = unicodedata.normalize("NFKD", line.replace("*", "").replace("~~", ""))
    bare = "".join(sign for sign in plain if not unicodedata.combining(sign))
    return latin(unicodedata.normalize("NFKC", bare))


class Unfit(StrEnum):
    """Why an answer was dropped."""

    UNREADABLE = "unreadable"
    NAME = "name"
    TAKEN = "name-taken"
    LENGTH = "length"
    KEYWORDS = "keywords"
    SECTIONS = "sections"
    COMMAND = "command"
    STEPS = "steps"
    PROSE = "prose"
    MARKUP = "markup"
    HIDDEN = "hidden-characters"
    SUSPICIOUS = "suspicious"
    SECRET = "secret"


@dataclass(frozen=True, kw_only=True)
class Enhanced:
    """The suggestion with a model's words, or as it was with the reason why they were dropped."""

    suggestion: Suggestion
    dropped: Unfit | None = None


@dataclass(frozen=True, kw_only=True)
class _Answer:
    name: str
    description: str
    topic: str
    actions: tuple[str, ...]
    body: str

    @property
    def texts(self) -> tuple[str, ...]:
        return self.name, self.description, self.topic, *self.actions, self.body


def document(suggestion: Suggestion) -> JsonObject:
    """What a model is shown of a suggestion: its own words, redacted, and nothing of the transcript."""
    return {
        "name": suggestion.name,
        "name_is_fixed": _is_fixed(suggestion),
        "heuristic": suggestion.heuristic.value,
        "description": redact_text(suggestion.description).text,
        "topic": suggestion.trigger.topic,
        "actions": list(suggestion.trigger.actions),
        "commands": [redact_text(command).text for command in suggestion.commands],
        "parameters": [
            {
                "name": parameter.name,
                "examples": [redact_text(example).text for example in parameter.examples],
            }
            for parameter in suggestion.parameters
        ],
        "body": redact_text(suggestion.body).text,
    }


def apply_enhancement(
    suggestion: Suggestion, output: JsonObject, *, taken: frozenset[str], enhanced_by: str
) -> Enhanced:
    """The suggestion with what a model made of its words. `taken` are the names that others have.

    Heuristic, pattern, commands, parameters, evidence, provenance and score are never a model's to change.
    """
    answer = _read(output)
    if answer is None:
        return Enhanced(suggestion=suggestion, dropped=Unfit.UNREADABLE)
    reason = unfit_because(suggestion, answer, taken=taken)
    if reason is not None:
        return Enhanced(suggestion=suggestion, dropped=reason)
    better = replace(
        suggestion,
        name=answer.name,
        description=answer.description,
        trigger=Trigger(topic=answer.topic, actions=answer.actions),
        body=answer.body,
        enhanced_by=enhanced_by,
    )
    return Enhanced(suggestion=better)


def unfit_because(suggestion: Suggestion, answer: _Answer, *, taken: frozenset[str]) -> Unfit | None:
    """The first check that an answer fails; None where it can be kept."""
    return next(_reasons(suggestion, answer, taken), None)


def _reasons(suggestion: Suggestion, answer: _Answer, taken: frozenset[str]) -> Iterator[Unfit]:
    is_usable = is_valid_name(answer.name) and not is_reserved(answer.name)
    if not is_usable or (_is_fixed(suggestion) and answer.name != suggestion.name):
        yield Unfit.NAME
    if answer.name in taken and answer.name != suggestion.name:
        yield Unfit.TAKEN
    if not _has_room(answer):
        yield Unfit.LENGTH
    if not all(map(_is_keyword, (answer.topic, *answer.actions))):
        yield Unfit.KEYWORDS
    if any(hidden_characters(text) for text in answer.texts) or "\r" in answer.body:
        yield Unfit.HIDDEN
    if any(first_secret(text) for text in answer.texts):
        yield Unfit.SECRET
    # Where what was observed is suspicious already, a person reads it anyway; a model may not add to it.
    known = {reason for text in (suggestion.description, suggestion.body) for reason in suspicions(text)}
    if any(reason not in known for text in answer.texts for reason in suspicions(text)):
        yield Unfit.SUSPICIOUS
    sections = sections_of(answer.body)
    if not _is_complete(suggestion, answer.body, sections):
        yield Unfit.SECTIONS
    yield from _find_gained(suggestion, answer, sections)


def _find_gained(
    suggestion: Suggestion, answer: _Answer, sections: Sequence[MarkdownSection]
) -> Iterator[Unfit]:
    """What an answer has that the suggestion has not, or has in another order."""
    known = KnownCommands(suggestion)
    own = OwnSentences(suggestion, known)
    told = (*sections, *sections_of(answer.description))
    for section in told:
        # A table compares; what stands in the lines and blocks of the steps is to be run.
        run = section.ordered if section.title == STEPS else ()
        if not all(known.is_known(code, is_step=True) for code in run):
            yield Unfit.COMMAND
        if not all(known.is_known(code, is_step=False) for code in section.all_code if code not in run):
            yield Unfit.COMMAND
        if not all(map(_is_remark, _comments(section, known))):
            yield Unfit.COMMAND
    if not all(known.is_in_order(section.ordered) for section in sections if section.title == STEPS):
        yield Unfit.STEPS
    remarks = [_strip_comment_mark(comment) for section in told for comment in _comments(section, known)]
    prose = [*(line for section in told for line in section.prose), *remarks]
    if any(map(own.has_markup, prose)):
        yield Unfit.MARKUP
    alone = [*(line for section in told for line in section.alone), *remarks]
    if any(map(own.gains, prose)) or any(map(own.is_command, alone)):
        yield Unfit.PROSE


def _comments(section: MarkdownSection, known: KnownCommands) -> Iterator[str]:
    """The comments in code that are a model's. Inside a line there is no room for one."""
    for code in (*section.code, *section.cells):
        yield from (f"#{comment}" for comment in known.comments(code))
    for block in section.blocks:
        yield from known.comments(block)


def _is_remark(comment: str) -> bool:
    """Whether a comment is a sentence, and no first line of a script or switched off setting."""
    return _REMARK.match(comment) is not None


def _strip_comment_mark(comment: str) -> str:
    return comment.lstrip("# \t")


_REMARK = re.compile(r"^# +[^\W_]")


def _is_complete(suggestion: Suggestion, body: str, sections: Sequence[MarkdownSection]) -> bool:
    if tuple(section.title for section in sections) != SECTIONS:
        return False
    if suggestion.heuristic is Heuristic.ERROR_RECOVERY and not BEFORE_AFTER.search(body):
        return False
    return not any(section.is_empty or section.level != 2 for section in sections)


def _has_room(answer: _Answer) -> bool:
    return (
        0 < len(answer.description) <= limits.SKILL_DESCRIPTION_CHARS_MAX
        and "\n" not in answer.description
        and len(answer.body) <= limits.SKILL_BODY_CHARS_MAX
        and answer.body.count("\n") < limits.SKILL_BODY_LINES_MAX
        and len(answer.actions) <= ACTIONS_MAX
    )


def _is_keyword(word: str) -> bool:
    return is_valid_name(word) and len(word) <= KEYWORD_CHARS_MAX


def _is_fixed(suggestion: Suggestion) -> bool:
    """Whether the user chose the name."""
    return suggestion.heuristic is Heuristic.EXPLICIT_INSTRUCTION


def _read(output: JsonObject) -> _Answer | None:
    """The fields of an answer; None where one is missing or is no text that can be kept."""
    if not isinstance(output, Mapping):
        return None
    texts = [output.get(name) for name in ("name", "description", "topic", "body")]
    actions = output.get("actions")
    if not isinstance(actions, Sequence) or isinstance(actions, str):
        return None
    if not all(_is_text(value) for value in (*texts, *actions)):
        return None
    name, description, topic, body = map(str, texts)
    return _Answer(
        name=name.strip(),
        description=description.strip(),
        topic=topic.strip().lower(),
        actions=tuple(dict.fromkeys(str(action).strip().lower() for action in actions)),
        body=body.strip("\n") + "\n",
    )


def _is_text(value: JsonValue) -> bool:
    return isinstance(value, str) and bool(value.strip()) and is_storable(value)
