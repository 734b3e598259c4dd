"""Episodes: what a user asked for, and everything that was done for it, whichever tool did it.

A run that is asked for nothing of its own ("yes", "go on", "2") goes on with the episode before it. What was
done is known by acts: a command without its values, an endpoint of an API, a tool of an MCP server, an edit.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from posixpath import basename

from runlore.domain.detectors.command_acts import FORMS_CACHED_MAX, RUNNING, act_of
from runlore.domain.detectors.command_kinds import LOCAL_PROGRAMS, NEVER_COUNTING
from runlore.domain.detectors.mined import CommandKind, MinedRun, Outcome, Step, StepCommand, UserRequest
from runlore.domain.detectors.tool_calls import AGENT, SKILL
from runlore.domain.lazy import dataclass
from runlore.domain.text.analysis import is_stop_word, stem
from runlore.domain.text.word_tables import words

REQUEST_WORDS_MAX = 24
ACTS_MAX = 400
_WORD = re.compile(r"[a-z][a-z'\u2019-]{1,30}|(?<![\w/])/[a-z][\w:-]{2,60}")
# What says yes, asks politely, or names no work.
_EMPTY = words(
    "yes yeah yep yup ok okay sure thanks thank please go ahead continue proceed fine great cool nice "
    "perfect good right correct do it let lets now again more also just maybe think want would like "
    "could can should need make sense one two three first second next last option all both same here "
    "there look take get give show tell see try put well really thing things something anything stuff "
    "way bit sorry hmm hey hi hello done ready start going still already actually instead today "
    "sounds idea question know mean work working works"
)
# What asks a server by the path of an address.
_APIS = frozenset({"gh api", "glab api", "curl <url>", "curl", "http", "https", "wget <url>"})
_PATH_WORDS = re.compile(r"(?<=/)[a-z][a-z_-]{2,30}(?=[/?'\"\s]|$)")
# What stands before the words of an address: its host, and whose repository it is about.
_HOST = re.compile(r"[a-z]+://[^/\s'\"]+|\brepos/[^/\s]+/[^/\s]+")
# Addresses, paths, ids and people say which one, and not what is done with it.
_NAMED = re.compile(r"\w+://\S+|@\S+|[\w.~-]*(?:/[\w.-]+){2,}|\b[a-z]+-\d+\b|`[^`]*`")
# What ends with an error where its answer is not the one hoped for.
_ANSWERING = frozenset(
    {
        *("gh pr checks", "gh run watch", "glab ci status", "kubectl rollout status"),
        *("git merge", "git rebase", "git cherry-pick"),
    }
)
_OWN_FILE = re.compile(r"^(?!/tmp|/var|/private)[\w./-]{1,120}$")
_PLAIN_WORD = re.compile(r"^[a-z][a-z-]{1,20}$")


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkAct:
    """One thing that was done: what it is known by, and the step and the command that did it."""

    key: str
    step: Step
    command: StepCommand | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkEpisode:
    """What was asked, the words of it that say what, and what was done. `run` is the last that took part."""

    run: MinedRun
    request: UserRequest | None
    words: tuple[str, ...]
    steps: tuple[Step, ...]
    acts: tuple[WorkAct, ...]

    @property
    def keys(self) -> frozenset[str]:
        """What was done, in any order."""
        return frozenset(act.key for act in self.acts)


def episodes_of(runs: Sequence[MinedRun | None]) -> Iterator[WorkEpisode]:
    """The episodes of a session in their order; None stands for a run that is told with another session."""
    parts: list[MinedRun] = []
    for run in runs:
        if parts and (run is None or words_of_request(run.request)):
            yield _episode(parts)
            parts = []
        if run is not None:
            parts.append(run)
    if parts:
        yield _episode(parts)


def _episode(parts: Sequence[MinedRun]) -> WorkEpisode:
    steps = tuple(step for run in parts for step in run.steps)
    acts = tuple(act for step in steps for act in acts_of(step))
    return WorkEpisode(
        run=parts[-1],
        request=parts[0].request,
        words=words_of_request(parts[0].request),
        steps=steps,
        acts=acts[:ACTS_MAX],
    )


def words_of_request(request: UserRequest | None) -> tuple[str, ...]:
    """The words of a request that say what is asked for, each once, in their order."""
    if request is None:
        return ()
    found = _WORD.findall(_NAMED.sub(" ", request.own[:600].lower()))[:REQUEST_WORDS_MAX]
    words = (word.replace("\u2019", "'").removesuffix("'s").strip("'") for word in found)
    # A contraction ("i'm", "don't") says nothing of what is asked for.
    said = (each for each in words if "'" not in each and not is_stop_word(each))
    return tuple(dict.fromkeys(each for each in said if each not in _EMPTY))


def stems_of(words: Iterable[str]) -> frozenset[str]:
    """The words, whatever their endings."""
    return frozenset(map(_stem, words))


_stem = lru_cache(FORMS_CACHED_MAX)(stem)


def acts_of(step: Step) -> Iterator[WorkAct]:
    """What a step that succeeded did. What looks at files and the repository alone is nothing to repeat."""
    is_answered = step.outcome is Outcome.FAILED and any(map(answers, step.commands))
    if step.outcome is not Outcome.SUCCEEDED and not is_answered:
        return
    if step.tool:
        first_line = step.text.split("\n")[0] if step.tool in (SKILL, AGENT) else ""
        yield WorkAct(key=f"{step.tool} {first_line}".strip(), step=step)
    for command in step.commands:
        if is_done(command) and (key := key_of(command)):
            yield WorkAct(key=key, step=step, command=command)


def answers(command: StepCommand) -> bool:
    """Whether it ends with an error where its answer is not the one hoped for: failed checks, a conflict."""
    return act_of(command.form) in _ANSWERING


def is_done(command: StepCommand) -> bool:
    """Whether a command is something that was done, or asked of a server."""
    program = command.form.partition(" ")[0]
    if command.kind is CommandKind.LOOKING:
        return program not in LOCAL_PROGRAMS and command.text != command.form
    return command.kind is CommandKind.WORK and program not in NEVER_COUNTING


def key_of(command: StepCommand) -> str:
    """What a command is known by: program and subcommands; of an API the words of the address."""
    act = act_of(command.form).replace(" <url>", "")
    if act in _APIS:
        words = _PATH_WORDS.findall(_HOST.sub("", command.text))
        return " ".join((act.partition(" <")[0], *words[:3]))
    if act in RUNNING:
        return _program_run(act, command)
    return act


def _program_run(act: str, command: StepCommand) -> str:
    """What an interpreter runs: the program of the project, and what it is told to do."""
    values = [value for value in command.values if not value.startswith("-")]
    if not values or not _OWN_FILE.match(values[0]):
        return ""
    name = values[1] if len(values) > 1 and _PLAIN_WORD.match(values[1]) else ""
    return f"{act} {basename(values[0].rstrip('/'))} {name}".strip()
