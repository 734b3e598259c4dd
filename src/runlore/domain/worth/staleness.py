"""Whether what a text says of a repository is still so (VAL-5): its files, tasks, flags and versions.

What a text seems to name counts only once it was found in the repository. So a word that looks like a path
and is none says nothing, and what is told as gone was there before. Nothing is run to find out.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from enum import StrEnum
from hashlib import blake2b
from typing import TypeAlias

from runlore.domain.lazy import dataclass
from runlore.domain.suggesting.already_documented import TASK_FILES, instructions_of

ANCHORS_MAX = 96
ANYWHERE = "*"
"""Of a file that is named without a folder: wherever in the repository."""
_TOLD_MAX = 3
_SENTENCE_CHARS_MAX = 1_000
_TRIMMED = "`'\"()[]{},;:!?*"
_SENTENCE_END = re.compile(r"(?<=[.;!?])\s+|\n")
_PATH = re.compile(r"(?:\./)?[\w+-][\w.@+-]*(?:/[\w.@+-]+)+/?|[\w-][\w.-]*/")
_FILE = re.compile(
    r"\.?[\w-][\w.-]*\.[A-Za-z][A-Za-z0-9]{0,9}|\.[a-z][\w-]+rc|(?:Make|Docker|Just|Proc|Rake|Gem)file"
    r"|[A-Z]{4,}|[a-z_]\w*(?:\.[a-z_]\w*)+"
)
_NAMED_FILE = re.compile(r"\b([A-Z][a-z]+) file\b")
_FLAG = re.compile(r"(--[a-z][a-z0-9-]+)(?:=.*)?")
# A name as only code has it, in a file that the same sentence names.
_SYMBOL = re.compile(r"\w*[A-Za-z]_\w+|[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+|[a-z]+[A-Z]\w*")
_NAME = re.compile(r"[\w.-]{3,}")
_QUOTED = re.compile(r"`([A-Za-z][\w.-]+)`")
_TASK = re.compile(
    r"\b(make|just|task|npm run|npm|pnpm run|pnpm|yarn run|yarn|bun run|mise run|mise|tox|nox)"
    r"(?: +-C +([\w./-]+))?((?: +-[\w-]+)*) +([A-Za-z][\w:.-]*)"
    r"(?:`? +(?:in|from|under) +(?:the +)?`?([\w./-]+))?"
)
_NUMBER = r"v?(\d{1,4}(?:\.\d{1,4})?)(?:\.\d[\w.]*)?(\+)?(?![\w%-])"
_VERSION = re.compile(rf"(?<![\w@/.-])(@?[A-Za-z][\w./-]*?)(?:\[[\w,]*\])?(@|==| -v| *[<>~^]=?) *{_NUMBER}")
_BARE_VERSION = re.compile(rf"(?<![\w.@/#$-]){_NUMBER}(?=((?: +\S+){{0,3}}))")
_DISTRIBUTION = re.compile(r"(?<![\w/.-])[A-Za-z]\w+(?:-\w+)+(?![\w/.-])")
_PACKAGE = re.compile(r"@?[A-Za-z][\w./-]*")
_BELOW = re.compile(r"\b(?:below|under|before|less than|at most)\b[^,;]*$")
_AT_LEAST = re.compile(r"\b(?:at least|from|since|minimum|least)\b[^,;]*$")
_OR_LATER = re.compile(r"^ +(?:(?:or|and) +)?(?:newer|later|above|higher|up|upwards?|more)\b")
_SUPPORTED = re.compile(r"\b(?:support\w*|compatible|works?|runs? on|tested|both)\b", re.IGNORECASE)
_NEAR_WORDS, _NEAR_CHARS = 6, 80
# Words that name no package, so that there is room for those that may.
_PLAIN = frozenset(
    {
        *("a", "an", "and", "are", "as", "at", "be", "below", "but", "by", "for", "from", "held", "in", "is"),
        *("it", "must", "need", "needs", "of", "on", "or", "our", "stay", "than", "the", "to", "use", "we"),
    }
)


class AnchorKind(StrEnum):
    """What a text can name of a repository."""

    PATH = "path"
    TASK = "task"
    FLAG = "flag"
    SYMBOL = "symbol"
    VERSION = "version"


@dataclass(frozen=True, kw_only=True)
class Anchor:
    """One thing that a text names: a path, the words that call a task (of the folder `of`), a flag of the
    script `of`, a name in the file `of`, or the version of the package `of`.

    A version may be told with what it is: `<` a bound that is not reached, `>=` the least, `~` one of those
    that are supported. Without a number it is that there is such a package.
    """

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
            return self._tell_version(now)
        if self.kind is AnchorKind.FLAG:
            return f"{self.of} no longer knows {self.name}"
        if self.kind is AnchorKind.SYMBOL:
            return f"{self.of} no longer has {self.name}"
        where = f" of {self.of}" if self.of else ""
        return f"{self.name} is {'gone' if self.kind is AnchorKind.PATH else f'no longer a task{where}'}"

    def _tell_version(self, now: str | None) -> str:
        if not self.name:
            return f"{self.of} is no longer a dependency"
        but = f" but at {now}" if now else ""
        told = {"<": f"held below {self.number}", ">=": f"{self.number} at the least", "~": "supported"}
        if self.relation == "~":
            return f"{self.of} {self.number} is no longer supported"
        return f"{self.of} is no longer {told.get(self.relation, f'at {self.number}')}{but}"

    @property
    def number(self) -> str:
        """The version alone."""
        return self.name.lstrip("<>=~")

    @property
    def relation(self) -> str:
        return self.name.removesuffix(self.number)


def find_anchors(text: str) -> tuple[Anchor, ...]:
    """What a text names, each once, a bounded number."""
    sentences = [each[:_SENTENCE_CHARS_MAX] for each in _SENTENCE_END.split(text) if each]
    found: dict[Anchor, None] = {}
    for finder in (_find_paths, _find_tasks, _find_versions, _find_symbols):
        for anchor in (each for sentence in sentences for each in finder(sentence)):
            found[anchor] = None
            if len(found) == ANCHORS_MAX:
                return tuple(found)
    return tuple(found)


def _find_paths(sentence: str) -> Iterator[Anchor]:
    """Paths inside of the repository, and the flags behind them."""
    script = ""
    paths = _NAMED_FILE.findall(sentence)
    for word in sentence.split():
        bare = _bare(word)
        if flag := _FLAG.fullmatch(bare):
            if script:
                yield Anchor(kind=AnchorKind.FLAG, name=flag[1], of=script)
        elif path := _path_of(word):
            script = path
            paths.append(path)
        elif word.endswith((".", ";", "&&", "|")) or bare in ("&&", "||", "|", "then"):
            script = ""
    folders = [each for each in paths if "/" in each]
    for path in paths:
        yield Anchor(kind=AnchorKind.PATH, name=path)
        if "/" not in path and "." in path:
            yield Anchor(kind=AnchorKind.PATH, name=path, of=ANYWHERE)
            yield from (Anchor(kind=AnchorKind.PATH, name=f"{folder}/{path}") for folder in folders)


def _find_symbols(sentence: str) -> Iterator[Anchor]:
    """Names in the files that the sentence names too."""
    words = sentence.split()
    names = [_bare(word).removesuffix("'s") for word in words]
    for path in filter(None, map(_path_of, words)):
        symbols = [*(each for each in names if _SYMBOL.fullmatch(each)), *_QUOTED.findall(sentence)]
        for name in (*symbols, *(names if is_sectioned(path) else ())):
            if name != path and _NAME.fullmatch(name):
                yield Anchor(kind=AnchorKind.SYMBOL, name=name, of=path)


def _bare(word: str) -> str:
    return word.strip(_TRIMMED).rstrip(".")


def _path_of(word: str) -> str:
    """The path that a word is; empty where it is none, or lies outside."""
    bare = _bare(word)
    is_path = _PATH.fullmatch(bare) or _FILE.fullmatch(bare)
    is_inside = is_path and f"{bare}(" not in word and ".." not in bare.split("/")
    return bare.removeprefix("./").rstrip("/") if is_inside else ""


def _find_tasks(sentence: str) -> Iterator[Anchor]:
    for runner, folder, _options, name, inside in _TASK.findall(sentence):
        call = f"{runner} {name.rstrip('.:')}"
        if not folder:
            yield Anchor(kind=AnchorKind.TASK, name=call)
        if of := (folder or inside).strip("./"):
            yield Anchor(kind=AnchorKind.TASK, name=call, of=of)


def _find_versions(sentence: str) -> Iterator[Anchor]:
    for package, sign, number, more in _VERSION.findall(sentence):
        least = ">=" if more or sign.strip()[:1] in (">", "~", "^") else ""
        yield _version_of(package, "<" if sign.strip().startswith("<") else least, number)
    for found in _BARE_VERSION.finditer(sentence):
        before, behind = sentence[max(0, found.start() - _NEAR_CHARS) : found.start()], found[3]
        is_least = found[2] or _OR_LATER.match(behind) or _AT_LEAST.search(before)
        relation = "<" if _BELOW.search(before) else ">=" if is_least else ""
        named = [*before.split()[-_NEAR_WORDS:], *(behind.split()[1:] if behind.startswith(" of ") else ())]
        for word in named:
            package = word.strip(_TRIMMED).removesuffix("'s")
            if _PACKAGE.fullmatch(package) and package.lower() not in _PLAIN:
                yield _version_of(package, relation, found[1])
                if _SUPPORTED.search(sentence):
                    yield _version_of(package, "~", found[1])
    for package in _DISTRIBUTION.findall(sentence):
        yield _version_of(package, "", "")


def _version_of(package: str, relation: str, number: str) -> Anchor:
    return Anchor(
        kind=AnchorKind.VERSION, name=f"{relation}{number}", of=normalize_package(package.rstrip("."))
    )


def normalize_package(name: str) -> str:
    return name.lower().replace("_", "-")


_ENVIRONMENTS = {"tox.ini": ("tox", re.compile(r"^\[testenv:([\w.-]+)\]", re.MULTILINE))}
_ENVIRONMENTS["noxfile.py"] = "nox", re.compile(r"^def (\w+)\(", re.MULTILINE)


def find_tasks(file: str, text: str) -> frozenset[str]:
    """The words that call each task of a task file."""
    if file in _ENVIRONMENTS:
        call, names = _ENVIRONMENTS[file]
        return frozenset(f"{call} {name}" for name in names.findall(text))
    if file.lower() not in TASK_FILES:
        return frozenset()
    told = instructions_of(file, file, text).told
    return frozenset(" ".join(segment) for segment in told if len(segment) <= 3)


def has_tasks(file: str) -> bool:
    return file in _ENVIRONMENTS or file.lower() in TASK_FILES


_TOML_LOCK = re.compile(r'^name = "([^"\n]+)"\nversion = "([^"\n]+)"', re.MULTILINE)
_YARN_LOCK = re.compile(r'^"?((?:@[\w.-]+/)?[\w.-]+)@[^\n]*:\n  version:? "?([^"\n]+)', re.MULTILINE)
_PNPM_LOCK = re.compile(r"^ +'?/?((?:@[\w.-]+/)?[\w.-]+)[@/](\d[\w.]*)", re.MULTILINE)
_NPM_LOCK = re.compile(r'"node_modules/((?:@[^"/\n]+/)?[^"/\n]+)": \{\s*"version": "([^"\n]+)"')
_GO_MODULE = re.compile(r"^(?:require)?\s*(\S+) v(\d\S*)", re.MULTILINE)
_TOOLS = re.compile(r"^([\w-]+) +(\d\S*)", re.MULTILINE)
# A requirement as Python writes it, in a line or quoted; and a name that is given a range.
_REQUIREMENT = re.compile(
    r"(?:^|[\"'])[ \t]*([A-Za-z][\w.-]*)(?:\[[\w, -]*\])?[ \t]*"
    r"((?:[<>=!~]=?=?[ \t]*\d[\w.*]*[ \t,]*)+|(?=[\"';#\n]|$))",
    re.MULTILINE,
)
_RANGED = re.compile(
    r"(?:^|[{,])[ \t]*\"?(?:requires-)?(@?[\w./-]+?)(?:_requires)?\"?[ \t]*[:=][ \t]*"
    r"[\"'](?:[^\"'\n]*#)?([~^<>=v ]*\d[^\"'\n]*)[\"']",
    re.MULTILINE,
)
_BOUND = re.compile(r"([<>=!~^]*)=?[ v]*(\d[\w.]*)")
_CLASSIFIER = re.compile(r"Programming Language :: (Python) :: (\d+\.\d+)")
_LOCKS: Mapping[str, re.Pattern[str]] = {
    **dict.fromkeys(("uv.lock", "poetry.lock", "pdm.lock", "Cargo.lock"), _TOML_LOCK),
    "yarn.lock": _YARN_LOCK,
    "pnpm-lock.yaml": _PNPM_LOCK,
    "package-lock.json": _NPM_LOCK,
    "go.mod": _GO_MODULE,
    ".tool-versions": _TOOLS,
}
_MANIFESTS = (
    "pyproject.toml",
    "setup.cfg",
    "setup.py",
    "package.json",
    "bower.json",
    "Cargo.toml",
    "Pipfile",
)
VERSION_FILES = (*_LOCKS, *_MANIFESTS)
"""The files that say which version of what a repository uses."""
_SECTIONED = (".cfg", ".ini", ".toml")
# Files with pins, and the folder that has one for each purpose.
PIN_FILE = re.compile(r"(?:[\w.-]*[-_.])?(?:requirements|constraints|vendor(?:ed)?)(?:[-_.][\w.-]*)?\.txt")
PIN_FOLDER = "requirements"
# A file whose whole text is the version of one program.
TOOL_FILES: Mapping[str, str] = {".python-version": "python", ".nvmrc": "node", ".node-version": "node"}


def is_pin_file(path: str) -> bool:
    *folders, name = path.split("/")
    is_one = PIN_FILE.fullmatch(name) is not None or (PIN_FOLDER in folders and name.endswith(".txt"))
    return is_one and "examples" not in folders


def is_sectioned(path: str) -> bool:
    """Whether plain words are names in a file: sections of settings, or packages."""
    return path.endswith(_SECTIONED) or is_pin_file(path)


def find_versions(file: str, text: str) -> Iterator[tuple[str, str, str]]:
    """The packages that a file names, each with how it is bound to a version, and to which; to none where it
    says none. `~` is one of those that are supported."""
    if tool := TOOL_FILES.get(file):
        yield tool, "", text.strip().removeprefix("v")
    elif lock := _LOCKS.get(file):
        yield from ((normalize_package(name), "", version) for name, version in lock.findall(text))
    else:
        yield from (("python", "~", version) for _, version in _CLASSIFIER.findall(text))
        ranged = _RANGED.findall(text) if file in _MANIFESTS else ()
        for name, bounds in (*_REQUIREMENT.findall(text), *ranged):
            found = _BOUND.findall(bounds)
            # In code any word may be quoted; that it is a package is only known by its version.
            for sign, version in found or [("", "")] * is_pin_file(file):
                yield normalize_package(name), _RELATIONS.get(sign[:1], ""), version


_RELATIONS = {"<": "<", ">": ">=", "~": ">=", "^": ">=", "!": "!"}


def has_flag(text: str, flag: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(flag)}(?![\w-])", text) is not None


def has_symbol(text: str, name: str) -> bool:
    """Whether a text defines a name: as code does, as a line of settings, or as a section."""
    word = rf"(?<![\w-]){re.escape(name)}(?![\w-])"
    return (
        re.search(
            rf"^[^\n#]*\b(?:class|def|function|func|fn|const|let|var|type|interface|struct|enum) +\*?{word}"
            rf"|^[ \t\"'\[.-]*{word}[\"'\]]?[ \t]*(?:[:=(<>~!;,\[]|$)|^[ \t]*\[[^\]\n]*{word}[^\]\n]*\]",
            text,
            re.MULTILINE,
        )
        is not None
    )


def cut_version(version: str, like: str) -> str:
    """A version, told as exactly as another: 3.11 of 3.11.7 where that says 3.12."""
    return ".".join(version.split(".")[: like.count(".") + 1])


def look_at_version(anchor: Anchor, found: Collection[tuple[str, str]]) -> str | None:
    """What a repository says in the place of a version: the same words where that is so, another version, or
    None. `found` is how the package is bound, and to what."""
    if not anchor.name:
        return anchor.name if found else None
    said, relation = anchor.number, anchor.relation
    bound = [(sign, cut_version(version, said)) for sign, version in found if version and sign != "!"]
    pins = [version for sign, version in bound if not sign]
    of_kind = [version for sign, version in bound if sign == relation]
    if relation in ("<", ">=") and not of_kind:
        # Where no bound is told, a version that is used shows that it is kept.
        is_kept = [(_order(each) < _order(said)) is (relation == "<") for each in pins]
        return anchor.name if is_kept and all(is_kept) else max(pins, key=_order, default=None)
    if not relation:
        of_kind = [version for sign, version in bound if sign in ("", ">=")]
    return anchor.name if said in of_kind else max(of_kind, key=_order, default=None)


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))


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
    told = (anchor.tell_gone(now) for anchor, now in changed.items() if anchor.of not in files)
    sentences = list(dict.fromkeys(told))
    more = f"; and {len(sentences) - _TOLD_MAX} more" if len(sentences) > _TOLD_MAX else ""
    return "; ".join(sentences[:_TOLD_MAX]) + more
