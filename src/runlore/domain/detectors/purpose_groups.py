"""Procedures by what was asked: episodes that share a telling act, and the words that ask for it (SKL-15).

A telling act is one that says what the work was for: it opens a pull request, answers a comment, rolls out
a release. What every change needs (edits, commits, tests, tasks of the project) never is. Telling acts that
mostly come together are one purpose. Several sessions show it, and ask for it in the same words; without
words, more of them. The words are those that are far more frequent here than elsewhere.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from runlore.domain.detectors.command_acts import RUNNING
from runlore.domain.detectors.episodes import WorkAct, WorkEpisode, stems_of
from runlore.domain.detectors.mined import CommandKind
from runlore.domain.detectors.tool_calls import AGENT, EDIT, SKILL
from runlore.domain.detectors.toolchains import is_everyday, settings_of
from runlore.domain.lazy import dataclass

ASKED, SETTING = "asked: ", "setting: "
"""What the patterns begin with of what is asked for, and of commands with a setting of their own."""
SESSIONS_MIN = 2
WORDLESS_SESSIONS_MIN, READING_SESSIONS_MIN = 4, 5
TOGETHER_MIN = 0.4
WORD_SHARE_MIN, WORD_LIFT_MIN = 0.25, 2.0
NAME_WORDS_MAX = 4
NEARLY = 0.8
OTHERS = 10
"""As many episodes are thought of that ask for something else, so that little is enough to begin with."""
TOLD_WORDS_MIN = 3
_LISTING = re.compile(r"(?:^|[_/ -])(?:list|search|query)(?:$|[_/ -])")
_PARTS = re.compile(r"[\s_-]+")
_GENERAL = frozenset({AGENT, EDIT, SKILL})
_READING = re.compile(
    r"(?:^|[_/ -])(?:list|get|search|read|fetch|find|query|view|status|describe|logs)(?:$|[_/ -])"
)


@dataclass(frozen=True, kw_only=True)
class PurposeGroup:
    """Episodes with one purpose: the acts that tell it, the most frequent first, and the words that ask."""

    acts: tuple[str, ...]
    words: tuple[str, ...]
    episodes: tuple[WorkEpisode, ...]
    setting: str = ""

    @property
    def pattern(self) -> str:
        """What it is known by, whatever else comes to be done with it."""
        return f"{SETTING}{self.setting} {self.acts[0]}" if self.setting else f"{ASKED}{self.acts[0]}"

    @property
    def variants(self) -> tuple[str, ...]:
        """What it may come to be known by instead, when more sessions show it: what is done as often."""
        done = Counter(key for episode in self.episodes for key in episode.keys)
        return tuple(f"{ASKED}{key}" for key in self.acts[1:] if done[key] >= NEARLY * done[self.acts[0]])

    @property
    def sessions(self) -> int:
        """How many sessions show it."""
        return count_sessions(self.episodes)


def group_by_purpose(episodes: Sequence[WorkEpisode]) -> list[PurposeGroup]:
    """The purposes that several sessions show, those that most show first."""
    showing: dict[str, dict[int, WorkEpisode]] = {}
    for number, episode in enumerate(episodes):
        for key in {act.key for act in episode.acts if is_telling(act)}:
            showing.setdefault(key, {})[number] = episode
    shared = {key: shown for key, shown in showing.items() if count_sessions(shown.values()) >= SESSIONS_MIN}
    everywhere = Counter(word for episode in episodes for word in stems_of(episode.words))
    groups: list[PurposeGroup] = []
    for keys in _together(shared):
        counts = Counter(number for key in keys for number in shared[key])
        # The first tells it alone; of the others two do.
        shown = sorted(number for number, count in counts.items() if number in shared[keys[0]] or count > 1)
        members = tuple(episodes[number] for number in shown)
        words = _asking_words(members, everywhere, len(episodes))
        group = PurposeGroup(acts=keys, words=words, episodes=members)
        if group.sessions >= _sessions_needed(group):
            groups.append(group)
    return sorted(groups, key=lambda group: (-group.sessions, group.acts))


def _sessions_needed(group: PurposeGroup) -> int:
    """The fewer words ask for it, the more sessions; for what only asks a server, most."""
    if all(map(is_reading, group.acts)):
        # A list is looked at on the way to something.
        return READING_SESSIONS_MIN if not _LISTING.search(group.acts[0]) else group.sessions + 1
    named = frozenset(_PARTS.split(group.acts[0]))
    is_named = any(word in named for word in group.words)
    return (
        WORDLESS_SESSIONS_MIN if not group.words else SESSIONS_MIN + (len(group.words) < 2 and not is_named)
    )


def specific_groups(episodes: Sequence[WorkEpisode]) -> list[PurposeGroup]:
    """Everyday commands that several sessions give the same setting of the project: a tag, a variable."""
    showing: dict[tuple[str, str], dict[int, WorkEpisode]] = {}
    # A cache that lies elsewhere is one thing, whatever its program does.
    acts = (act for episode in episodes for act in episode.acts if act.command and is_everyday(act.command))
    used = Counter((act.key, each) for act in acts if act.command for each in settings_of(act.command))
    program_of = {
        setting: key for (key, setting), _ in sorted(used.items(), key=lambda each: (each[1], each[0]))
    }
    for number, episode in enumerate(episodes):
        for act in episode.acts:
            if act.command is not None and is_everyday(act.command):
                for setting in settings_of(act.command):
                    key = program_of[setting] if _is_cache(setting) else act.key
                    showing.setdefault((key, setting), {})[number] = episode
    groups = []
    for (key, setting), shown in sorted(showing.items()):
        members = tuple(shown[number] for number in sorted(shown))
        group = PurposeGroup(acts=(key,), words=(), episodes=members, setting=setting)
        # A variable is of the project that reads it; what a flag chooses may be of any, a cache of a machine.
        is_own = setting[0].isupper() and not _is_cache(setting)
        if group.sessions >= (SESSIONS_MIN if is_own else SESSIONS_MIN + 1):
            groups.append(group)
    return groups


def _is_cache(setting: str) -> bool:
    return "CACHE" in setting


def count_sessions(episodes: Iterable[WorkEpisode]) -> int:
    """In how many sessions episodes stand."""
    return len({episode.run.session_id for episode in episodes})


def is_telling(act: WorkAct) -> bool:
    """Whether an act says what the work was for."""
    if act.command is None:
        return act.key.partition(" ")[0] not in _GENERAL
    words = act.key.split()
    # What an interpreter runs says what for where it is told to do something.
    if act.command.kind is CommandKind.FILES or (words[0] in RUNNING and len(words) < TOLD_WORDS_MIN):
        return False
    return not is_everyday(act.command)


def is_reading(key: str) -> bool:
    """Whether an act only asks a server for something."""
    return _READING.search(key) is not None


def _together(shared: Mapping[str, Mapping[int, WorkEpisode]]) -> list[tuple[str, ...]]:
    """Acts that mostly come together, the most frequent first in each."""
    ordered = sorted(shared, key=lambda key: (is_reading(key), -len(shared[key]), key))
    found: list[list[str]] = []
    for key in ordered:
        here = shared[key].keys()
        best = max(found, key=lambda keys: _likeness(here, shared[keys[0]].keys()), default=None)
        if best is not None and _likeness(here, shared[best[0]].keys()) >= TOGETHER_MIN:
            best.append(key)
        else:
            found.append([key])
    return [tuple(keys) for keys in found]


def _likeness(one: Iterable[int], other: Iterable[int]) -> float:
    ours, theirs = frozenset(one), frozenset(other)
    return len(ours & theirs) / len(ours | theirs)


def _asking_words(
    members: Sequence[WorkEpisode], everywhere: Mapping[str, int], total: int
) -> tuple[str, ...]:
    """The words that ask for this, as they are mostly written, in the order of the request that has most."""
    written: dict[str, Counter[str]] = {}
    sessions: dict[str, set[str]] = {}
    asked = [episode for episode in members if episode.words]
    requests: list[list[str]] = []
    for episode in asked:
        requests.append([])
        for word in episode.words:
            (key,) = stems_of([word])
            written.setdefault(key, Counter())[word] += 1
            sessions.setdefault(key, set()).add(episode.run.session_id)
            requests[-1].append(key)
    scores: dict[str, float] = {}
    for key, forms in written.items():
        share = sum(forms.values()) / len(asked)
        lift = share / (everywhere[key] / (total + OTHERS))
        if len(sessions[key]) >= SESSIONS_MIN and share >= WORD_SHARE_MIN and lift >= WORD_LIFT_MIN:
            scores[key] = share * min(lift, 10)
    best = sorted(scores, key=lambda key: (-scores[key], key))[:NAME_WORDS_MAX]
    # Words that nobody said together make no request.
    said = (
        [key for key in keys if key in best] for keys in sorted(requests, key=lambda keys: (len(keys), keys))
    )
    in_order = max(said, key=len, default=[])
    return tuple(max(written[key], key=lambda word: (written[key][word], word)) for key in in_order)
