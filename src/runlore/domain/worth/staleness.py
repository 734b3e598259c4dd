"""Whether what a text says of a repository is still so (VAL-5): its files, tasks, flags and versions.

What a text seems to name counts only once it was found in the repository. So a word that looks like a path
and is none says nothing, and what is told as gone was there before. Nothing is run to find out.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from enum import StrEnum
from hashlib import blake2b
from itertools import islice
from typing import TypeAlias

from runlore.domain.lazy import dataclass
from runlore.domain.suggesting.already_documented import TASK_FILES, instructions_of

ANCHORS_MAX = 32
_TOLD_MAX = 3
_TRIMMED = "`'\"()[]{},;:!?*"
_PATH = re.compile(r"(?:\./)?[\w+-][\w.@+-]*(?:/[\w.@+-]+)+/?")
_FILE = re.compile(
    r"\.?[\w-][\w.-]*\.[A-Za-z][A-Za-z0-9]{0,9}|\.[a-z][\w-]+rc|(?:Make|Docker|Just|Proc|Rake|Gem)file"
)
_FLAG = re.compile(r"(--[a-z][a-z0-9-]+)(?:=.*)?")
_TASK = re.compile(
    r"\b(make|just|task|npm run|npm|pnpm run|pnpm|yarn run|yarn|bun run|mise run|mise)"
    r"((?: +-[\w-]+)*) +([A-Za-z][\w:.-]*)"
)
_VERSION = re.compile(
    r"(?<![\w@/.-])(@?[A-Za-z][\w/.-]*?)(?:@|==| +v?|-v| +version +)(\d{1,4}(?:\.\d{1,4})?)(?![\w-])"
)


class AnchorKind(StrEnum):
    """What a text can name of a repository."""

    PATH = "path"
    TASK = "task"
    FLAG = "flag"
    VERSION = "version"


@dataclass(frozen=True, kw_only=True)
class Anchor:
    """One thing that a text names: a path, the words that call a task, a flag of the script `of`, or the
    version of the package `of`."""

    kind: AnchorKind
    name: str
    of: str = ""

    @property
    def key(self) -> str:
        """What is kept of it: a hash, so that forgetting the text leaves none of its words."""
        named = f"{self.kind}\n{self.of}\n{self.name}".encode()
        return blake2b(named, digest_size=8).hexdigest()

    def tell_gone(self, now: str | None) -> str:
        """What a person is told who once read it, where it is something else now, or nothing."""
        if self.kind is AnchorKind.VERSION:
            return f"{self.of} is no longer at {self.name}" + (f" but at {now}" if now else "")
        if self.kind is AnchorKind.FLAG:
            return f"{self.of} no longer knows {self.name}"
        return f"{self.name} is {'gone' if self.kind is AnchorKind.PATH else 'no longer a task'}"


def find_anchors(text: str) -> tuple[Anchor, ...]:
    """What a text names, each once, a bounded number."""
    found = (*_find_paths(text), *_find_tasks(text), *_find_versions(text))
    return tuple(islice(dict.fromkeys(found), ANCHORS_MAX))


def _find_paths(text: str) -> Iterator[Anchor]:
    """Paths inside of the repository, and the flags behind them."""
    script = ""
    for word in text.split():
        bare = word.strip(_TRIMMED).rstrip(".")
        if flag := _FLAG.fullmatch(bare):
            if script:
                yield Anchor(kind=AnchorKind.FLAG, name=flag[1], of=script)
            continue
        if (_PATH.fullmatch(bare) or _FILE.fullmatch(bare)) and ".." not in bare.split("/"):
            script = bare.removeprefix("./").rstrip("/")
            yield Anchor(kind=AnchorKind.PATH, name=script)
        elif word.endswith((".", ";", "&&", "|")) or bare in ("&&", "||", "|", "then"):
            script = ""


def _find_tasks(text: str) -> Iterator[Anchor]:
    for runner, _options, name in _TASK.findall(text):
        yield Anchor(kind=AnchorKind.TASK, name=f"{runner} {name.rstrip('.:')}")


def _find_versions(text: str) -> Iterator[Anchor]:
    for package, version in _VERSION.findall(text):
        yield Anchor(kind=AnchorKind.VERSION, name=version, of=normalize_package(package))


def normalize_package(name: str) -> str:
    return name.lower().replace("_", "-")


def find_tasks(file: str, text: str) -> frozenset[str]:
    """The words that call each task of a task file."""
    if file.lower() not in TASK_FILES:
        return frozenset()
    told = instructions_of(file, file, text).told
    return frozenset(" ".join(segment) for segment in told if len(segment) <= 3)


_TOML_LOCK = re.compile(r'^name = "([^"\n]+)"\nversion = "([^"\n]+)"', re.MULTILINE)
_YARN_LOCK = re.compile(r'^"?((?:@[\w.-]+/)?[\w.-]+)@[^\n]*:\n  version:? "?([^"\n]+)', re.MULTILINE)
_PNPM_LOCK = re.compile(r"^ +'?/?((?:@[\w.-]+/)?[\w.-]+)[@/](\d[\w.]*)", re.MULTILINE)
_NPM_LOCK = re.compile(r'"node_modules/((?:@[^"/\n]+/)?[^"/\n]+)": \{\s*"version": "([^"\n]+)"')
_GO_MODULE = re.compile(r"^(?:require)?\s*(\S+) v(\d\S*)", re.MULTILINE)
_PINS = re.compile(r"^([\w.-]+)(?:\[[\w,-]*\])?==(\d\S*)", re.MULTILINE)
_TOOLS = re.compile(r"^([\w-]+) +(\d\S*)", re.MULTILINE)
# From which version on: what a text says of it is told again where that changes.
_LEAST_PYTHON = re.compile(
    r"^[ \t]*(?:requires-)?(python)(?:_requires)?[ \t]*=[ \t]*[\"\']?[~>=^ ]*(\d[\w.]*)", re.MULTILINE
)
_NPM_RANGES = re.compile(r'"((?:@[\w.-]+/)?[\w.-]+)": *"[~^>=v ]*(\d[\w.]*)')
VERSION_FILES: Mapping[str, re.Pattern[str]] = {
    **dict.fromkeys(("uv.lock", "poetry.lock", "pdm.lock", "Cargo.lock"), _TOML_LOCK),
    "yarn.lock": _YARN_LOCK,
    "pnpm-lock.yaml": _PNPM_LOCK,
    "package-lock.json": _NPM_LOCK,
    "go.mod": _GO_MODULE,
    ".tool-versions": _TOOLS,
    **dict.fromkeys(("pyproject.toml", "setup.cfg", "setup.py"), _LEAST_PYTHON),
    "package.json": _NPM_RANGES,
}
"""The files that say which version of what a repository uses, and how each says it."""
# Files with pins, and the folder that has one for each purpose.
PIN_FILE = re.compile(r"(?:[\w.-]*[-_.])?(?:requirements|constraints)(?:[-_.][\w.-]*)?\.txt")
PIN_FOLDER = "requirements"
# A file whose whole text is the version of one program.
TOOL_FILES: Mapping[str, str] = {".python-version": "python", ".nvmrc": "node", ".node-version": "node"}


def find_versions(file: str, text: str) -> Iterator[tuple[str, str]]:
    """The packages that a file fixes, with their versions."""
    if tool := TOOL_FILES.get(file):
        yield tool, text.strip().removeprefix("v")
        return
    for name, version in VERSION_FILES.get(file, _PINS).findall(text):
        yield normalize_package(name), version


def has_flag(text: str, flag: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(flag)}(?![\w-])", text) is not None


def cut_version(version: str, like: str) -> str:
    """A version, told as exactly as another: 3.11 of 3.11.7 where that says 3.12."""
    return ".".join(version.split(".")[: like.count(".") + 1])


# What a repository has in the place of what a text names: the same words where that is still so, another
# version, or nothing.
Look: TypeAlias = Callable[[Anchor], str | None]


def find_seen(anchors: Iterable[Anchor], look: Look) -> tuple[str, ...]:
    """The keys of what is in the repository as the text names it."""
    return tuple(anchor.key for anchor in anchors if look(anchor) == anchor.name)


def find_gone(anchors: Iterable[Anchor], seen: Collection[str], look: Look) -> dict[Anchor, str | None]:
    """What was seen once and is no longer so, with what there is now."""
    return {anchor: now for anchor in anchors if anchor.key in seen and (now := look(anchor)) != anchor.name}


def tell_gone(changed: Mapping[Anchor, str | None]) -> str:
    """That in words; empty where nothing is."""
    files = {anchor.name for anchor in changed if anchor.kind is AnchorKind.PATH}
    sentences = [anchor.tell_gone(now) for anchor, now in changed.items() if anchor.of not in files]
    more = f"; and {len(sentences) - _TOLD_MAX} more" if len(sentences) > _TOLD_MAX else ""
    return "; ".join(sentences[:_TOLD_MAX]) + more
