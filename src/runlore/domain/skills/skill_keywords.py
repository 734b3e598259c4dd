"""The trigger of a learned skill: what it is about and what is done, from its commands and its suggestion.

No word of the form that every skill has can be one: where `##`, `1`, `exit` and `code` were keywords, all
skills were about the same.
"""

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from runlore.domain.detectors.mined import StepCommand
from runlore.domain.detectors.topics import slug
from runlore.domain.lazy import LazyModule
from runlore.domain.suggestion import Suggestion

if TYPE_CHECKING:
    from runlore.domain import shell
    from runlore.domain.detectors import mining_commands
else:
    mining_commands = LazyModule("runlore.domain.detectors.mining_commands")
    shell = LazyModule("runlore.domain.shell")

TOPICS_MAX = 12
ACTIONS_MAX = 12
WORD_CHARS_MIN = 2

# What every skill says, whatever it is about: the headings, and the sentences that they are filled with.
STRUCTURAL = frozenset(
    word
    for line in (
        "overview step steps step-by-step procedure procedures common pitfall pitfalls verification verify",
        "before after what changed fill in such as use when seen once times time session sessions exit code",
        "codes failed fails fail succeeded success error errors output result no none with should call calls",
        "told skill skills draft command commands shell user correction repeated runlore the and this that",
        "other than rather it its of or to by on at is are be",
    )
    for word in line.split()
)
# What only runs another command.
RUNNING = frozenset(("run", "exec", "x", "dlx", "npx", "bunx", "uvx", "pipx", "tool"))
_PARAMETER = re.compile(r"<([a-z0-9-]{1,40})>")
_LETTER = re.compile(r"[a-z]")


def topics_of(suggestion: Suggestion) -> tuple[str, ...]:
    """What a suggestion is about: its topic, then the programs and the subcommands of its commands."""
    commands = tuple(commands_in(suggestion.commands))
    programs = (command.topic for command in commands)
    words = (word for command in commands for word in words_of(command))
    return _keep_keywords((suggestion.trigger.topic, *programs, *words), TOPICS_MAX)


def actions_of(suggestion: Suggestion) -> tuple[str, ...]:
    """What is done: its actions, then the verbs of its commands."""
    verbs = (command.verb for command in commands_in(suggestion.commands))
    return _keep_keywords((*suggestion.trigger.actions, *verbs), ACTIONS_MAX)


def commands_in(texts: Iterable[str]) -> Iterator[StepCommand]:
    """The commands of some texts that do more than look around. A shell would read `<name>` as a file."""
    for text in texts:
        script = shell.script_of(_PARAMETER.sub(r"%\1%", text))
        yield from (command for command in mining_commands.step_commands(script) if not command.is_looking)


def words_of(command: StepCommand) -> tuple[str, ...]:
    """The words that tell what a command is about: program, subcommands and tasks, and no flag or value."""
    words = (word for word in command.form.split() if not word.startswith(("-", "<")))
    slugs = (slug(word) for word in words if word not in RUNNING)
    return tuple(dict.fromkeys(word for word in slugs if is_keyword(word)))


def is_keyword(word: str) -> bool:
    """Whether a word can say what a skill is about."""
    return (
        len(word) >= WORD_CHARS_MIN
        and _LETTER.search(word) is not None
        and word not in STRUCTURAL
        and word not in RUNNING
    )


def _keep_keywords(words: Iterable[str], most: int) -> tuple[str, ...]:
    slugs = (slug(word) for word in words)
    return tuple(dict.fromkeys(word for word in slugs if is_keyword(word)))[:most]
