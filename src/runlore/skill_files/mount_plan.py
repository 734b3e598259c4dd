"""What is to be done with each managed copy in a folder where an agent looks for skills.

A copy is ours where the list that the state root keeps of the folder (`mount_lists`) has it as it is, or
where the seal inside it is ours (`seal`): a list that is lost, or a project that is moved, gives nothing
away. What stands there decides:

| what stands in a wanted skill's folder | what is done |
| --- | --- |
| nothing | written; called a repair where the list has it |
| a copy of ours, as it was written | left as it is, or written anew where the skill has changed |
| a copy of ours that was changed and still bears the mark | put back; the changed text is kept beside it |
| a copy of ours that was changed and lost the mark | left: it is hand-written now |
| a copy of another state root | left |
| a skill that is not ours | left |
| a link, a pipe, a device | left |

A copy that is no longer wanted goes by the same rules, and so does one whose skill cannot be copied any more.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from runlore.domain import limits
from runlore.domain.errors import Invalid, Refused
from runlore.domain.lazy import dataclass
from runlore.domain.suggesting.naming import is_valid_name
from runlore.domain.text.safe_text import escape
from runlore.ports.skill_files import Mounted, MountState
from runlore.skill_files.folder import Folder
from runlore.skill_files.manifest import Manifest, digest_of
from runlore.skill_files.seal import Mark, Seal

FILE = "SKILL.md"
_EDITED_OPENING = "SKILL.edited-"
_CHANGES = frozenset({MountState.WRITTEN, MountState.REPAIRED, MountState.REMOVED})
_NOT_OURS = "a skill of this name is there that Runlore did not write"
_NOT_OURS_ANY_MORE = "it was changed by hand and is no longer marked as managed: it is hand-written now"
_ANOTHERS = "the Runlore of another state root put a skill of this name there"
_BESIDE_NAMED = 3
# What a write that did not end leaves behind goes with the copy.
_ASIDE = f".{FILE}.new"


@dataclass(frozen=True, kw_only=True)
class WantedCopies:
    """The copies that shall be in a folder, as bytes; the skills that cannot be copied, with the reason; and
    what tells our copies from those of others."""

    seal: Seal
    copies: Mapping[str, bytes]
    refused: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class MountStep:
    """What is to be done with one skill: what stands there, what is wanted, and if somebody changed it."""

    mounted: Mounted
    there: bytes | None = None
    wanted: bytes | None = None
    is_edited: bool = False

    @property
    def is_change(self) -> bool:
        return self.mounted.state in _CHANGES


def plan_steps(
    target: Folder | None, path: str, wanted: WantedCopies, listed: Manifest
) -> tuple[MountStep, ...]:
    """The steps that make the copies in a folder the wanted ones, by name."""
    ours = () if target is None else _find_marked(target, wanted.seal)
    plan = _Plan(target, path, wanted, listed)
    steps = map(plan.step, sorted({*wanted.copies, *wanted.refused, *listed.written, *ours}))
    return tuple(step for step in steps if step is not None)


def edited_name(content: bytes) -> str:
    """Where the text of a copy is kept that somebody changed."""
    return f"{_EDITED_OPENING}{digest_of(content)[:8]}.md"


class _Plan:
    """What is wanted in one folder, against what stands there."""

    def __init__(self, target: Folder | None, path: str, wanted: WantedCopies, listed: Manifest) -> None:
        self._target, self._path = target, path
        self._wanted, self._listed = wanted, listed

    def step(self, name: str) -> MountStep | None:
        """What is to be done with one skill; None where there is nothing to say."""
        there = _looked_at(self._target, name)
        wanted = self._wanted.copies.get(name)
        refused = self._wanted.refused.get(name, "")
        if isinstance(there, str):
            return self._make_step(name, MountState.LEFT, there)
        if there is None:
            if wanted is None:
                return self._make_step(name, MountState.LEFT, refused) if refused else None
            is_missed = name in self._listed.written
            return self._make_step(
                name, MountState.REPAIRED if is_missed else MountState.WRITTEN, wanted=wanted
            )
        if there == wanted:
            return self._make_step(name, MountState.UNCHANGED, there=there, wanted=wanted)
        mark = self._wanted.seal.mark_of(name, there)
        is_as_written = mark is Mark.INTACT or self._listed.knows(name, there)
        is_edited = not is_as_written and mark is Mark.CHANGED and name in self._listed.written
        if not is_as_written and not is_edited:
            return self._not_ours(name, mark)
        reasons = [refused] if refused else []
        if is_edited:
            reasons.append(f"it was changed; the changed text is kept as {edited_name(there)}")
        if wanted is None:
            state = MountState.REMOVED
            reasons.extend(_beside(self._target, name))
        else:
            state = MountState.REPAIRED if is_edited else MountState.WRITTEN
        step = self._make_step(name, state, "; ".join(reasons), there=there, wanted=wanted)
        keeps_text = is_edited or any(_EDITED_OPENING in reason for reason in reasons)
        return replace(step, mounted=replace(step.mounted, keeps_text=keeps_text), is_edited=is_edited)

    def _not_ours(self, name: str, mark: Mark) -> MountStep:
        was_ours = mark is not Mark.ANOTHERS and name in self._listed.written
        never_ours = _ANOTHERS if mark is Mark.ANOTHERS else _NOT_OURS
        step = self._make_step(name, MountState.LEFT, _NOT_OURS_ANY_MORE if was_ours else never_ours)
        return replace(step, mounted=replace(step.mounted, keeps_text=was_ours))

    def _make_step(
        self,
        name: str,
        state: MountState,
        reason: str = "",
        *,
        there: bytes | None = None,
        wanted: bytes | None = None,
    ) -> MountStep:
        mounted = Mounted(name=name, folder=self._path, state=state, reason=reason)
        return MountStep(mounted=mounted, there=there, wanted=wanted)


def _find_marked(target: Folder, seal: Seal) -> Iterator[str]:
    """The copies that say themselves that they are ours, whatever the list says."""
    for name in target.names(limits.SKILL_FOLDERS_MAX):
        there = _looked_at(target, name) if is_valid_name(name) else None
        if isinstance(there, bytes) and seal.mark_of(name, there) is Mark.INTACT:
            yield name


def _looked_at(target: Folder | None, name: str) -> bytes | str | None:
    """What stands in a skill's folder; None where nothing does; a sentence where it is not to be touched."""
    if target is None:
        return None
    try:
        with target.child(name) as folder:
            if folder is not None:
                return folder.read(FILE, limits.SKILL_FILE_BYTES_MAX)
            return None if target.status(name) is None else "something that is no folder has its name"
    except (Invalid, Refused) as error:
        return error.sentence
    except PermissionError:
        return "what stands there cannot be read"


def _beside(target: Folder | None, name: str) -> Iterator[str]:
    """What stays in a skill's folder when the copy goes: changed texts that were kept, and others' files."""
    if target is None:
        return
    with target.child(name) as folder:
        names = [] if folder is None else folder.names(limits.SKILL_FOLDERS_MAX)
    others = [escape(f"{name}/{each}") for each in names if each not in (FILE, _ASIDE)]
    changed = [each for each in others if each.startswith(f"{name}/{_EDITED_OPENING}")]
    if changed:
        yield f"left {_join(changed)}, which somebody changed"
    if len(others) > len(changed):
        yield f"left {_join([each for each in others if each not in changed])}, which Runlore did not write"


def _join(names: list[str]) -> str:
    more = len(names) - _BESIDE_NAMED
    return f"{', '.join(names[:_BESIDE_NAMED])}{f' and {more:,} more' if more > 0 else ''}"
