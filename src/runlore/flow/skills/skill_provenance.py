"""Whose words a skill's file has: what is suspicious in it, and what taints it beside that (TNT-2 to TNT-4).

A file may be believed where it taints, never where it clears. An edit clears nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from hashlib import sha256
from types import MappingProxyType
from typing import TYPE_CHECKING

from runlore.domain import limits
from runlore.domain.lazy import LazyModule
from runlore.domain.skill import Skill, SkillDocument, SkillState
from runlore.domain.skill_document import front_texts
from runlore.domain.suspicion.flagging import FLAG
from runlore.domain.taint import TRUSTED, Provenance
from runlore.ports.skill_files import ReadSkill

if TYPE_CHECKING:
    from runlore.domain import suspicion
else:
    suspicion = LazyModule("runlore.domain.suspicion")

ALWAYS_THERE = f"{FLAG}it asks to be in every prompt"
TOLD = "told by the file: "


def flags_of(read: ReadSkill) -> tuple[str, ...]:
    """What is suspicious in a file, as sources say it: in its text as it stands there, and in every field as
    it reads when the codes of YAML are taken off."""
    texts = dict.fromkeys((read.text, *front_texts(read.document), *read.provenance.sources))
    return tuple(dict.fromkeys(f"{FLAG}{reason}" for text in texts for reason in suspicion.suspicions(text)))


def imported_provenance(read: ReadSkill, source: str) -> Provenance:
    sources = (source, *flags_of(read), *map(_as_told, read.provenance.sources))
    return Provenance(untrusted=True, needs_review=True, sources=_bound_sources(sources))


def local_provenance(
    read: ReadSkill, known: Skill | None, suspects: Mapping[str, Provenance] = MappingProxyType({})
) -> Provenance:
    """The provenance of what somebody wrote here: clean, unless it is flagged, was tainted before, or is new
    and says what a skill says that nobody has vouched for (`suspects`, as `suspects_among` tells them).

    A new file that would be in every prompt waits too: it may have been copied from anywhere.
    """
    flags, of_file = flags_of(read), _file_provenance(read, known)
    parents = [] if known is None else [known.provenance]
    if known is None or known.state is not SkillState.ACTIVE:
        flags = (*flags, *((ALWAYS_THERE,) if read.document.auto_load else ()))
        parents += [like for like in [suspects.get(_words(read.document))] if like is not None]
    parents += [of_file] if of_file.tainted else []
    return Provenance(
        untrusted=any(each.untrusted for each in parents),
        needs_review=bool(flags) or any(each.tainted for each in parents),
        sources=_bound_sources((*flags, *(source for each in parents for source in each.sources))),
    )


def suspects_among(skills: Iterable[Skill]) -> dict[str, Provenance]:
    """The provenance of all that nobody has vouched for, by their words: a copy is what its original is."""
    tainted: dict[str, Provenance] = {}
    vouched = set[str]()
    for skill in skills:
        words = _words(skill.document)
        if skill.provenance.tainted:
            tainted[words] = skill.provenance
        elif skill.state is SkillState.ACTIVE:
            vouched.add(words)
    return {words: provenance for words, provenance in tainted.items() if words not in vouched}


def _words(document: SkillDocument) -> str:
    """What a skill is recognised by whatever it is called: what it tells agents."""
    return sha256(f"{document.description.strip()}\n{document.body.strip()}".encode()).hexdigest()


def _file_provenance(read: ReadSkill, known: Skill | None) -> Provenance:
    """What a file says of itself. Whoever has vouched for a skill has done so for the marks that its file may
    still have."""
    before = TRUSTED if known is None else known.provenance
    sources = tuple(each if each in before.sources else _as_told(each) for each in read.provenance.sources)
    if before.sources and not before.tainted and {*sources} <= {*before.sources}:
        return TRUSTED
    return replace(read.provenance, sources=sources)


def _as_told(source: str) -> str:
    return source if source.startswith(TOLD) else f"{TOLD}{source}"


def _bound_sources(sources: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(sources))[: limits.TAINT_SOURCES_MAX]
