"""Which code may stand in a text about a suggestion: its own commands, and words that it has anyway.

A line of code is one of the suggestion's where it has the same words and operators in the same order. Where
the command has a parameter, its name or one of its examples may stand there. So nothing can be gained: no
program, flag, path, address, pipe or redirection, and no other order of words.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from runlore.domain.suggesting.fixes import FIXES
from runlore.domain.suggesting.fragments import sections_of
from runlore.domain.suggesting.words import unquote_word
from runlore.domain.suggestion import Parameter, Suggestion

STEPS = "Step-by-Step"

# A placeholder goes before a redirection that looks like its beginning.
_TOKEN = re.compile(
    r"""(?:<[a-z0-9-]{1,40}>|[^\s'"\\;|&<>()]|\\.|'[^']*'|"(?:[^"\\]|\\.)*"|['"\\])+"""
    r"""|\n|&&|\|\||\|&|[;|]|&?>{1,2}&?|<{1,3}|[()&]""",
    re.DOTALL,
)
_BREAKS = frozenset({"\n", ";", "&&"})
_PLACEHOLDER = re.compile(r"<([a-z0-9-]{1,40})>")
_NUMBER = re.compile(r"^\d{1,3}$")
_PROMPT = re.compile(r"^\s*\$\s+")
_COMMENT = re.compile(r"^\s*#")

Segment = tuple[str, ...]


class KnownCommands:
    """The commands, words and code of a suggestion."""

    def __init__(self, suggestion: Suggestion) -> None:
        self._examples = {parameter.name: _examples(parameter) for parameter in suggestion.parameters}
        sections = sections_of(suggestion.body)
        code = [text for section in sections for text in section.all_code]
        told = [text for section in sections_of(suggestion.description) for text in section.code]
        # What is to be run; of a fix that is what worked, and not what failed.
        to_run = suggestion.commands[1:] if suggestion.heuristic in FIXES else suggestion.commands
        self._in_order = [segment for text in to_run for segment in segments(_bare(text))]
        self._to_run = {*self._in_order, *(segment for text in to_run for segment in segments(text))}
        self._segments = self._to_run | {
            segment for text in (*suggestion.commands, *code, *told) for segment in segments(text)
        }
        # What the steps name beside their commands: the words that a fix has changed.
        self._named = {text for section in sections if section.title == STEPS for text in section.code}
        self._texts = {" ".join(text.split()) for text in (*code, *told)}
        self.words = frozenset(_words(suggestion, [*code, *told]))
        self.programs = frozenset(segment[0] for segment in self._segments)
        self._comments = {
            line for text in (*suggestion.commands, *code) for line in map(str.strip, text.split("\n"))
        }
        own_steps = [text for section in sections if section.title == STEPS for text in section.ordered]
        # What the steps name beside what is to be run.
        self._beside = frozenset(self._left_by(own_steps)[0])

    def comments(self, code: str) -> list[str]:
        """The comments in code that the suggestion has not."""
        lines = map(str.strip, code.split("\n"))
        return [line for line in lines if _COMMENT.match(line) and line not in self._comments]

    def arguments(self, program: str) -> frozenset[str]:
        """The words that stand behind a program in the suggestion."""
        return frozenset(
            word for segment in self._segments if program in segment for word in segment if word != program
        )

    def is_in_order(self, steps: Sequence[str]) -> bool:
        """Whether the code of steps is all that is to be run, each once and in its order."""
        beside, is_whole = self._left_by(steps)
        return is_whole and all(
            text in self._beside or not text or self._is_placeholder(text) for text in beside
        )

    def _left_by(self, steps: Sequence[str]) -> tuple[list[str], bool]:
        """What is no step at its place, and whether all steps are there."""
        place, beside = 0, list[str]()
        for code in steps:
            text = _bare(code)
            commands = list(segments(text))
            due = self._in_order[place : place + len(commands)]
            if commands and len(due) == len(commands) and all(map(self._fits, commands, due)):
                place += len(commands)
            else:
                beside.append(text)
        return beside, place == len(self._in_order)

    def is_known(self, code: str, *, is_step: bool) -> bool:
        """Whether code is of the suggestion; a step has to be one of the commands that are to be run."""
        text = _bare(code)
        if not text or self._is_placeholder(text):
            return True
        if text in self._named if is_step else self._is_mentioned(text):
            return True
        among = self._to_run if is_step else self._segments
        return all(any(self._fits(segment, own) for own in among) for segment in segments(text))

    def _is_placeholder(self, text: str) -> bool:
        return text.startswith("<") and text.endswith(">") and text[1:-1] in self._examples

    def _is_mentioned(self, text: str) -> bool:
        return text in self.words or _NUMBER.match(text) is not None or " ".join(text.split()) in self._texts

    def _fits(self, segment: Segment, own: Segment) -> bool:
        return len(segment) == len(own) and all(map(self._is_word, segment, own))

    def _is_word(self, word: str, own: str) -> bool:
        if word == own:
            return True
        found = _PLACEHOLDER.search(own)
        if found is None or found[1] not in self._examples:
            return False
        before, after = own[: found.start()], own[found.end() :]
        return any(word == f"{before}{example}{after}" for example in self._examples[found[1]])


def segments(text: str) -> Iterator[Segment]:
    """The commands of a text, one after the other, as words and operators."""
    segment: list[str] = []
    for found in _TOKEN.finditer(text):
        token = found[0]
        if token not in _BREAKS:
            segment.append(unquote_word(token))
        elif segment:
            yield tuple(segment)
            segment = []
    if segment:
        yield tuple(segment)


def _examples(parameter: Parameter) -> frozenset[str]:
    return frozenset(parameter.examples)


def _bare(code: str) -> str:
    """Code without prompts and comments. What another program is given has none: each line of it counts."""
    lines = [line for line in map(_strip_prompt, code.split("\n")) if line]
    if "<<" not in code:
        lines = [line for line in lines if not _COMMENT.match(line)]
    return "\n".join(lines).strip()


def _strip_prompt(line: str) -> str:
    return _PROMPT.sub("", line).rstrip()


def _words(suggestion: Suggestion, code: Iterable[str]) -> Iterator[str]:
    texts: Sequence[str] = [
        *suggestion.commands,
        *code,
        suggestion.pattern,
        suggestion.trigger.topic,
        *suggestion.trigger.actions,
        *(example for parameter in suggestion.parameters for example in parameter.examples),
    ]
    for text in texts:
        for segment in segments(text):
            yield from segment
    yield from (f"<{parameter.name}>" for parameter in suggestion.parameters)
