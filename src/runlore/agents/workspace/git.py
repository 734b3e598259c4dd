"""Worktrees made by git: added, set apart from their repository, compared, and forgotten again.

Every git command runs as confined as those of an agent, because the repository's settings may name programs
and an agent may have written them. A worktree that was added is given a repository of its own, which reads
the objects of the real one and keeps everything new beside the copy: what a child agent commits, branches or
breaks in there never reaches the repository that it came from.

Finds the repository that a folder is in, by looking alone: no program is run, and no setting believed.

What a command in the folder could have written is not trusted: a `.git` that leads elsewhere counts only
where the place it leads to says so too, which nobody could write from inside.
"""

import os
import secrets
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from threading import Event

from runlore.agents.workspace.copies import remove_tree
from runlore.agents.workspace.permissions import is_within
from runlore.agents.workspace.private_folder import NUL_SHOWN, is_filter, settings_text
from runlore.agents.workspace.safe_paths import FOLDER_FLAGS, WORKTREES, folder_below, read_bytes
from runlore.agents.workspace.shell import Command, CommandLimits, CommandRunner
from runlore.agents.workspace.worktree_slots import WorktreeSlot, new_file
from runlore.atomic_write import temporary_file
from runlore.domain import limits
from runlore.domain.errors import RunloreError
from runlore.domain.text.safe_text import escape

_POINTER_BYTES_MAX = 8_192
_EXCLUDE_BYTES_MAX = 1024**2
_EXCLUDED = f"{WORKTREES}/"
WORKTREES_OF = "worktrees"
_TRIES = 5


@dataclass(frozen=True, kw_only=True)
class Repository:
    """Where a repository's files are (`top`), what git keeps for them (`git_dir`), and what it keeps for all
    of its worktrees (`common`)."""

    top: str
    git_dir: str
    common: str


def repository_of(folder: str) -> Repository | None:
    """The repository that a folder, told without links, is in; None where there is none that counts."""
    top = folder
    while True:
        pointer = os.path.join(top, ".git")
        try:
            status = os.lstat(pointer)
        except OSError:
            above = os.path.dirname(top)
            if above == top:
                return None
            top = above
            continue
        if stat.S_ISDIR(status.st_mode):
            return Repository(top=top, git_dir=pointer, common=pointer) if _is_git(pointer) else None
        return _linked_repository(top) if stat.S_ISREG(status.st_mode) else None


def records_of(common: str, copy: str) -> tuple[str, ...]:
    """The names of what git keeps about a worktree at a place; more than one where one was left behind."""
    found = []
    with suppress(OSError), open_folder(common) as top, folder_below(top, (WORKTREES_OF,)) as folder:
        for name in os.listdir(folder):
            if _pointer(folder, name, "gitdir") == os.path.join(copy, ".git"):
                found.append(name)
    return tuple(sorted(found))


def exclude_copies(common: str) -> None:
    """Keep the copies of child agents out of what git calls untracked: one line, added once. What cannot be
    read or written without following a link stays as it is."""
    with suppress(OSError, RunloreError), open_folder(common) as folder:
        with suppress(FileExistsError):
            os.mkdir("info", 0o777, dir_fd=folder)
        with folder_below(folder, ("info",)) as info:
            for _ in range(_TRIES):
                before = _exclude(info)
                if _EXCLUDED.encode() in before.splitlines():
                    return
                gap = b"" if before.endswith(b"\n") or not before else b"\n"
                if _replace_exclude(info, before, before + gap + _EXCLUDED.encode() + b"\n"):
                    return


@contextmanager
def open_folder(path: str) -> Iterator[int]:
    """A folder that is no link, held open."""
    handle = os.open(path, FOLDER_FLAGS)
    try:
        yield handle
    finally:
        os.close(handle)


def _linked_repository(top: str) -> Repository | None:
    """A worktree of a repository elsewhere, where that one knows of it."""
    with suppress(OSError), open_folder(top) as folder:
        pointer = _pointer(folder, "", ".git")
        if not pointer.startswith("gitdir: "):
            return None
        git_dir = os.path.realpath(os.path.join(top, pointer.removeprefix("gitdir: ")))
        above, common = os.path.dirname(git_dir), os.path.dirname(os.path.dirname(git_dir))
        # A repository inside of its own worktree is one that a command there made, and may change meanwhile.
        if os.path.basename(above) != WORKTREES_OF or is_within(common, top) or not _is_git(common):
            return None
        with open_folder(git_dir) as kept:
            knows = os.path.realpath(os.path.join(git_dir, _pointer(kept, "", "gitdir")))
            shares = os.path.realpath(os.path.join(git_dir, _pointer(kept, "", "commondir")))
        if knows == os.path.join(top, ".git") and shares == common:
            return Repository(top=top, git_dir=git_dir, common=common)
    return None


def _is_git(folder: str) -> bool:
    return os.path.isfile(os.path.join(folder, "HEAD")) and all(
        os.path.isdir(os.path.join(folder, name)) for name in ("objects", "refs")
    )


def _pointer(folder: int, below: str, name: str) -> str:
    """What a small file says in its first line; nothing where it is none."""
    with suppress(OSError, RunloreError), folder_below(folder, (below,) if below else ()) as handle:
        content, _ = read_bytes(handle, name, bytes_max=_POINTER_BYTES_MAX)
        return os.fsdecode(content.partition(b"\n")[0])
    return ""


def _exclude(info: int) -> bytes:
    try:
        content, _ = read_bytes(info, "exclude", bytes_max=_EXCLUDE_BYTES_MAX)
    except FileNotFoundError:
        return b""
    return content


def _replace_exclude(info: int, before: bytes, after: bytes) -> bool:
    """Put a new list in place, where it is still the one that was read."""
    temporary = f"exclude.{secrets.token_hex(8)}"
    with temporary_file(info, temporary, after, mode=0o666):
        if _exclude(info) != before:
            return False
        os.rename(temporary, "exclude", src_dir_fd=info, dst_dir_fd=info)
        return True


OWN_REPOSITORY = "git"
SAFELY = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "gc.auto=0")
_PLAINLY = (
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--no-renames",
    "--src-prefix=a/",
    "--dst-prefix=b/",
)
# Large files that are kept elsewhere stay pointers in a copy: nobody waits for all of them.
_FAST = {"GIT_LFS_SKIP_SMUDGE": "1"}
_STATUS_CHARS_MAX = 200_000
# What is listed of changed files, and all else that is read whole.
_ANSWER_CHARS_MAX = 32 * 1024**2
# Larger files are not compared: one that is nothing but a size would take all the time there is.
COMPARED_BYTES_MAX = 64 * 1024**2
_LARGE_MAX = 100
_NOT_IN_TIME = "[not all of it could be compared in time]\n"
_INDEX_BYTES_MAX = 256 * 1024**2
# What of a repository's settings its copy needs to look the same.
_COPIED = frozenset(
    {"core.filemode", "core.symlinks", "core.ignorecase", "core.precomposeunicode", "core.autocrlf"}
    | {"core.eol", "core.safecrlf", "extensions.objectformat", "user.name", "user.email"}
)
_NEW_FORMAT = (("core.repositoryformatversion", "1"), ("core.bare", "false"))


@dataclass(frozen=True, kw_only=True)
class AddedWorktree:
    """A worktree that was added: the commit it began with, the name that git keeps it under, and where in
    it the working folder is."""

    commit: str
    record: str
    prefix: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class _Within:
    """Where a git command works and what it may write; nothing, in the repository's own files, by itself."""

    folder: int | None = None
    writable: Sequence[int] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


class Git:
    """Git commands about one repository."""

    def __init__(self, shell: CommandRunner, repository: Repository) -> None:
        self._shell = shell
        self._repository = repository
        self._objects = os.path.join(repository.common, "objects")

    def add(self, place: WorktreeSlot, prefix: tuple[str, ...]) -> AddedWorktree | None:
        """Add a worktree at an empty place; None where git cannot, or has no commit with the folder in it."""
        with suppress(OSError, RunloreError), open_folder(self._repository.common) as common:
            commit = self._query("rev-parse", "--verify", "-q", "HEAD^{commit}").strip()
            if not commit:
                return None
            adding = ("worktree", "add", "--detach", "-q", place.path, commit)
            with self._records(common) as kept:
                self._query(*adding, within=_Within(writable=(kept, place.handle)))
            # A folder that is not in the commit is missing from the worktree, or something else.
            os.close(place.open(*prefix))
            records = records_of(self._repository.common, place.path)
            if len(records) == 1:
                self._set_apart(place, commit, records[0])
                return AddedWorktree(commit=commit, record=records[0], prefix=prefix)
        return None

    @contextmanager
    def _records(self, common: int) -> Iterator[int]:
        """What git writes to when it adds a worktree. Where commands in the folder write only a part of the
        repository, the programs that its settings name write no more: they may be what a command named."""
        if self._repository.git_dir == self._repository.common:
            yield common
        else:
            with folder_below(common, (WORKTREES_OF,)) as kept:
                yield kept

    def count_uncommitted(self, added: AddedWorktree) -> int:
        """How many files of the folder are changed or new since the commit, and so not in its worktree."""
        looking = ("status", "--porcelain", "-z", "--no-renames", "--ignore-submodules=all")
        with suppress(OSError, RunloreError), open_folder(self._repository.top) as top:
            here = ("--no-optional-locks", f"--work-tree={self._repository.top}")
            only = ("--", "/".join(added.prefix) or ".")
            status = self._query(
                *here, *looking, *only, within=_Within(folder=top), chars_max=_STATUS_CHARS_MAX
            )
            return status.count(NUL_SHOWN)
        return 0

    def forget(self, place: WorktreeSlot) -> None:
        """Remove what git keeps about a worktree. Others that are missing by now are left: they may be on
        a disk that comes back."""
        records = records_of(self._repository.common, place.path)
        with suppress(OSError), open_folder(self._repository.common) as common:
            with folder_below(common, (WORKTREES_OF,)) as kept:
                for record in records:
                    with suppress(OSError):
                        remove_tree(kept, record)
            os.rmdir(WORKTREES_OF, dir_fd=common)

    def diff(self, added: AddedWorktree, place: WorktreeSlot, *, chars_max: int) -> str:
        """What was changed since the commit, one character more than wanted where there is more. What could
        not be compared is told before it.

        It is compared by a list of files that the child could not write."""
        name = f"diff-{os.urandom(6).hex()}"
        aside, copy = place.make_aside(name), place.open()
        try:
            self._copy_index(added.record, aside)
            os.mkdir("objects", 0o700, dir_fd=aside)
            apart = self._apart(os.path.join(place.aside_path, name))
            within = _Within(folder=copy, writable=(aside,), environment=apart)
            here = f"--work-tree={place.path}"
            listing = (here, "ls-files", "-m", "-o", "--exclude-standard", "-z")
            names = self._query(*listing, within=within).split(NUL_SHOWN)
            large = list(islice(_large(copy, names), _LARGE_MAX))
            but = [f":(exclude,top,literal){path}" for path, _ in large]
            adding = (here, "add", "-A", "--ignore-errors", "--", ".", *but)
            is_in_time = self._run(*adding, within=within)[1]
            comparing = (here, "diff", "--cached", *_PLAINLY, added.commit, "--")
            lines = [f"[not compared: {escape(path)}, {size:,} bytes]\n" for path, size in large]
            lines += [] if is_in_time else [_NOT_IN_TIME]
            return "".join(lines) + self._query(*comparing, within=within, chars_max=chars_max)
        finally:
            os.close(copy)
            os.close(aside)
            with suppress(OSError):
                place.remove_aside(name)

    def _apart(self, folder: str) -> dict[str, str]:
        quoted = self._objects.replace("\\", "\\\\").replace('"', '\\"')
        return {
            "GIT_INDEX_FILE": os.path.join(folder, "index"),
            "GIT_OBJECT_DIRECTORY": os.path.join(folder, "objects"),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": f'"{quoted}"',
        }

    def _set_apart(self, place: WorktreeSlot, commit: str, record: str) -> None:
        """Give a worktree a repository of its own beside it. The real one goes on knowing it as it was."""
        refs = self._query("for-each-ref", "--format=%(objectname) %(refname)")
        own = place.make_aside(OWN_REPOSITORY)
        try:
            for folder in ("objects", "refs", "info"):
                os.mkdir(folder, 0o700, dir_fd=own)
            with folder_below(own, ("objects",)) as objects:
                os.mkdir("info", 0o700, dir_fd=objects)
                with folder_below(objects, ("info",)) as info:
                    new_file(info, "alternates", os.fsencode(self._objects) + b"\n")
            new_file(own, "HEAD", f"{commit}\n".encode())
            new_file(own, "packed-refs", refs.encode())
            settings = self._query("config", "--local", "--null", "--list").split(NUL_SHOWN)
            pairs = [(name, value) for name, _, value in (entry.partition("\n") for entry in settings)]
            kept = [pair for pair in pairs if pair[0] in _COPIED or is_filter(pair[0])]
            new_file(own, "config", settings_text([*_NEW_FORMAT, *kept]).encode())
            self._copy_index(record, own)
            with suppress(OSError, RunloreError), open_folder(self._repository.common) as common:
                new_file(own, "shallow", read_bytes(common, "shallow", bytes_max=_INDEX_BYTES_MAX)[0])
        finally:
            os.close(own)
        with folder_below(place.handle, (place.name,)) as copy:
            os.unlink(".git", dir_fd=copy)
            leads = os.fsencode(os.path.join(place.aside_path, OWN_REPOSITORY))
            new_file(copy, ".git", b"gitdir: " + leads + b"\n")

    def _copy_index(self, record: str, folder: int) -> None:
        """Copy the list of files with its time: git looks again into files that are as young as the list, and
        would take one that was changed within the second of the checkout for unchanged by a younger list."""
        with (
            open_folder(self._repository.common) as common,
            folder_below(common, (WORKTREES_OF, record)) as kept,
        ):
            content, status = read_bytes(kept, "index", bytes_max=_INDEX_BYTES_MAX)
        new_file(folder, "index", content)
        os.utime("index", ns=(status.st_mtime_ns, status.st_mtime_ns), dir_fd=folder)

    def _query(
        self,
        *arguments: str,
        within: "_Within | None" = None,
        chars_max: int | None = None,
    ) -> str:
        """What a git command prints; nothing where it fails. Of much, the beginning, where as much is wanted,
        and else nothing: a part of it would say something else."""
        wanted = _ANSWER_CHARS_MAX if chars_max is None else chars_max
        text, _ = self._run(*arguments, within=within, chars_max=wanted)
        return "" if chars_max is None and len(text) > wanted else text

    def _run(
        self, *arguments: str, within: "_Within | None" = None, chars_max: int = _ANSWER_CHARS_MAX
    ) -> tuple[str, bool]:
        """What a git command prints, no more of it than is wanted, and whether it came to an end in time."""
        within = within or _Within()
        pieces: list[str] = []
        chars = 0
        enough = Event()

        def hear(piece: str) -> None:
            nonlocal chars
            pieces.append(piece)
            chars += len(piece)
            if chars > chars_max:
                enough.set()

        with open_folder(self._repository.common) as common, open_folder(self._repository.git_dir) as git_dir:
            command = Command(
                argv=["git", *SAFELY, f"--git-dir={self._repository.git_dir}", *arguments],
                folder=common if within.folder is None else within.folder,
                readable=(common, git_dir, *(() if within.folder is None else (within.folder,))),
                writable=within.writable,
                # It may write more than a command, and so runs nothing that one has left.
                environment={**_FAST, "PATH": self._shell.own_path, **within.environment},
                errors=False,
            )
            bounds = CommandLimits(
                timeout_s=limits.WORKTREE_SETUP_S_MAX, stop=enough, output_chars_max=0, on_output=hear
            )
            result = self._shell.run(command, bounds)
        text = "".join(pieces) if result.exit_code == 0 or enough.is_set() else ""
        return text, not result.timed_out


def _large(copy: int, names: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Those files of a copy that are too large to be compared, with their sizes."""
    for name in names:
        *above, last = name.split("/")
        size = 0
        with suppress(OSError), folder_below(copy, tuple(above)) as folder:
            size = os.stat(last, dir_fd=folder, follow_symlinks=False).st_size
        if size > COMPARED_BYTES_MAX:
            yield name, size
