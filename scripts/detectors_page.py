"""Writes docs/detectors.md from the tables: what counts, how outcomes are judged, what things are called."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from runlore.domain.detectors import (
    cross_session,
    error_recovery,
    explicit_instruction,
    multi_step,
    repeated_action,
    user_correction,
)
from runlore.domain.detectors.command_kinds import (
    KINDS,
    LOOKING_WORDS,
    TELLING,
    TELLING_ALONE,
    WRITERS,
    KindRow,
)
from runlore.domain.detectors.mined import CommandKind
from runlore.domain.detectors.mining import ASKING
from runlore.domain.detectors.mining_commands import step_commands
from runlore.domain.detectors.outcome import ENDED
from runlore.domain.detectors.outcome_texts import FAILURES, REFUSALS, UNFINISHED, TextRow
from runlore.domain.detectors.recovery_texts import ABOUT_CODE, ABOUT_COMMAND
from runlore.domain.detectors.topics import RUNNERS
from runlore.domain.detectors.verbs import TASK_RUNNERS, VERB_PROGRAMS, VERB_WORDS, VERBS_BEHIND
from runlore.domain.shell import script_of

INTRODUCTION = """\
Detectors look at the calls of a session and find what would be worth keeping as a skill. They use only what
this page describes: the same runs give the same findings. `cross-session` looks at the tools of servers,
skills, sub-agents and edits as well, the others at shell calls alone.

A match is suggested only with support. `explicit-instruction` is at once; `error-recovery` where the error
says itself what is wrong with the call, and `user-correction` where the user's words are about that very
command. The others need several sessions, and more than everybody runs untold: `multi-step` two (three for a
row of nothing but everyday commands of which three are tasks of the project), `repeated-action` three.

One shell call is one step, however many commands are joined in it. A step **counts** if one of its commands
does work or handles files, or if it is only `cd`; `cd` before another command only says where that runs. A
step that does not count neither makes a row longer nor breaks it.
"""
FORMS = """\
The normal form of a command is its program and subcommand, with paths, versions and values dropped and
addresses as `<url>`. A flag that takes a value is dropped with it (a table for each program, in
`domain/shell/`), other flags stay, sorted. The topic is the first word with a meaning, the verb says what is
done. `sudo`, `env`, `FOO=1` and the like are skipped, and so are programs that run another command:
"""
EXAMPLES = (
    "go test ./pkg/auth/...",
    "go test -v -count=1 ./...",
    "docker build -t myapp:v1 .",
    'curl -H "Auth: xxx" https://api.example.com/data',
    "pip install requests==2.31.0",
    "git clone https://github.com/example/repo.git",
    "cd repo",
    "npm install",
    "npm run build:prod",
    "rm -rf build",
    "tar -xzf a.tgz",
    "tar -czf a.tgz b",
    "FOO=1 sudo make test",
    "./run.sh --fast",
    "uv run pytest -q tests",
    "python -m pytest -x",
    "mise exec -- go test ./...",
    "kubectl rollout restart deployment/app",
    "python manage.py migrate",
    "go test ./... 2>&1 | tail -5",
    "cd web && npm ci && npm test",
)
OUTCOMES = f"""\
A call has succeeded or failed, or it says nothing: it was refused, or its outcome is not known.

1. **The exit code**, if the transcript has one: 0 is success. {", ".join(map(str, sorted(ENDED)))} say
   nothing: `timeout`, Ctrl-C or `kill` has ended it. 1 from a command that answers a question
   ({", ".join(f"`{name}`" for name in sorted(ASKING))}) is no failure.
2. **The tool's error flag**, unless its text is one of a refusal below.
3. **The text**, if there is neither, or if the success is that of another command: `make | tail`,
   `make || true`. If a call only looks around, its text says nothing: it is the content that was looked at.

Of several results of one call the last one with an exit code counts.
"""
_REQUIREMENTS = re.compile(r" \(SKL-[^)]*\)")
KIND_NAMES: Mapping[CommandKind, str] = {
    CommandKind.LOOKING: "looking around",
    CommandKind.EDITING: "editing",
    CommandKind.PLUMBING: "serving the shell",
    CommandKind.FILES: "handling files (counts)",
    CommandKind.MOVING: "moving (counts alone)",
    CommandKind.WORK: "work (counts)",
}


def detectors_page(generated: str) -> str:
    """The page, with the line that says it is generated."""
    return "\n".join(
        [
            *("# Detectors: what is found in a session", "", generated, INTRODUCTION),
            *("## The heuristics", ""),
            *_heuristics(),
            *("## What does not count", ""),
            "The first row that fits decides. A command that no row names is work, and counts.",
            "",
            *_table(("kind", "commands", "with", "but not with", "why"), map(_kind, KINDS)),
            "",
            f"Any command with {_names(sorted(TELLING))} looks around, and so does one that has nothing but",
            f"{_names(sorted(TELLING_ALONE))}, `version` or `help` after it. What {_names(sorted(WRITERS))}",
            "print into a file counts as an edit. A text that an interpreter is fed serves the shell.",
            f"A program that no row names looks around if {_names(sorted(LOOKING_WORDS))} follows it;",
            "after a task runner such a word is the name of a task.",
            "",
            *("## Outcomes", "", OUTCOMES),
            *("### Refusals: the call says nothing", ""),
            *_table(("an output that begins with", "why"), map(_text, REFUSALS)),
            *("", "### Calls that went on or were cut off: the outcome is not known", ""),
            *_table(("an output that begins with", "why"), map(_text, UNFINISHED)),
            *("", "### Failures, by a line of text", ""),
            "`0 errors`, `no failures` and names such as `error_handling` are none.",
            "",
            *_table(("a line such as", "why"), map(_text, FAILURES)),
            *("", "## Normal form, topic and verb", "", FORMS),
            *_table(("program", "words before the other command"), map(_runner, RUNNERS.items())),
            "",
            *_table(("command", "normal form", "topic", "verb"), map(_example, EXAMPLES)),
            *("", "### Verbs", ""),
            f"After a task runner ({_names(sorted(TASK_RUNNERS))}) and in a script's name, a part of",
            "the word is enough: `npm run test:unit` tests.",
            "",
            *_table(("verb", "words", "programs", "in particular"), _verbs()),
            *("", "## What an error is about", ""),
            "Tests, builds and linters mostly fail because of the code, and succeed once somebody has",
            "changed it. Their failures count as recovered only if the error is about the command or",
            "the machine.",
            "",
            *_table(("about", "such as", "why"), _errors()),
            "",
        ]
    )


def _heuristics() -> Iterator[str]:
    for module in (
        multi_step,
        error_recovery,
        user_correction,
        repeated_action,
        explicit_instruction,
        cross_session,
    ):
        title, _, text = (module.__doc__ or "").strip().partition("\n\n")
        told = " ".join(_REQUIREMENTS.sub("", title).split()).rstrip(".")
        yield from (f"### {told}", "", text, "")


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield f"|{'---|' * len(columns)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"


def _kind(row: KindRow) -> tuple[str, ...]:
    behind = _names(sorted(row.behind)) if row.behind else ""
    only = _names(row.only) if row.only else "nothing but flags" if row.bare else ""
    told = " and ".join(part for part in (behind, only) if part) or "anything"
    return KIND_NAMES[row.kind], _names(row.programs), told, _names(row.never) or "-", row.why


def _text(row: TextRow) -> tuple[str, str]:
    return f"`{row.shows}`", row.why


def _runner(row: tuple[str, tuple[str, ...]]) -> tuple[str, str]:
    program, behind = row
    return f"`{program}`", _names(word for word in behind if word) or "nothing"


def _example(text: str) -> tuple[str, ...]:
    counting = [command for command in step_commands(script_of(text)) if not command.is_looking]
    forms = " && ".join(command.form for command in counting)
    verbs = ", ".join(command.verb or "-" for command in counting)
    return f"`{text}`", f"`{forms}`", ", ".join(command.topic for command in counting), verbs


def _verbs() -> Iterator[tuple[str, ...]]:
    for verb in sorted({*VERB_WORDS, *VERB_PROGRAMS, *VERBS_BEHIND.values()}):
        behind = (text for text, told in VERBS_BEHIND.items() if told == verb)
        words, programs = VERB_WORDS.get(verb, ""), VERB_PROGRAMS.get(verb, "")
        yield verb, _names(words.split()) or "-", _names(programs.split()) or "-", _names(behind) or "-"


def _errors() -> Iterator[tuple[str, ...]]:
    told = (("the command", ABOUT_COMMAND), ("the code", ABOUT_CODE))
    for about, rows in told:
        yield from ((about, f"`{row.shows}`", row.why) for row in rows)


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
