"""The folder that one command has to itself: its home, its temporary files, and who it commits as.

The home folder's own settings are not shown to commands. Of git's, the few are copied that say who somebody
is, which folders they trust and how files are filtered; what could hold a password is not among them. A
folder that looks like a bare repository is not taken for one: plain files would do for that, and its settings
could name programs that the most harmless git command runs.
"""

import codecs
import os
import shutil
import subprocess
import tempfile
from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import suppress

from runlore.agents.workspace.copies import remove_tree
from runlore.agents.workspace.safe_paths import FOLDER_FLAGS

_COPIED = ("user.name", "user.email", "init.defaultbranch", "core.autocrlf", "core.eol", "safe.directory")
_NOBODY = (("user.name", "Runlore agent"), ("user.email", "agent@runlore.invalid"))
_SAFE = (("safe.bareRepository", "explicit"),)
_ASKING_S = 5.0
_ASKED_WITH = ("HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL")
# Asked without confinement, and so not from the search path: a command may have written to a folder on it.
_INSTALLED = ("/usr/bin", "/usr/local/bin", "/opt/homebrew/bin", "/run/current-system/sw/bin")


class PrivateFolder:
    """A folder in the system's folder for temporary files, gone with everything in it at the end. OSError."""

    def __init__(self, git_settings: str) -> None:
        self.path = os.path.realpath(tempfile.mkdtemp(prefix="runlore-"))
        self.handle = os.open(self.path, FOLDER_FLAGS)
        try:
            for name in ("home", "tmp"):
                os.mkdir(name, 0o700, dir_fd=self.handle)
            with open(os.path.join(self.path, "home", ".gitconfig"), "x", encoding="utf-8") as file:
                file.write(git_settings)
        except BaseException:
            self.remove()
            raise

    @property
    def environment(self) -> dict[str, str]:
        """What tells a command where its own places are."""
        return {
            "HOME": os.path.join(self.path, "home"),
            "TMPDIR": os.path.join(self.path, "tmp"),
            "GIT_CONFIG_GLOBAL": os.path.join(self.path, "home", ".gitconfig"),
        }

    def remove(self) -> None:
        """Remove it. What cannot be removed stays for whoever tidies up temporary files: how a command
        ended is worth more."""
        os.close(self.handle)
        with suppress(OSError):
            above = os.open(os.path.dirname(self.path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                remove_tree(above, os.path.basename(self.path))
            finally:
                os.close(above)


def git_settings(environment: Mapping[str, str]) -> str:
    """The text of a settings file for git: who this user is, or who an agent is where nobody says so."""
    asked_with = {name: environment[name] for name in _ASKED_WITH if name in environment}
    program = shutil.which("git", path=os.pathsep.join(_INSTALLED))
    if program is None:
        return settings_text([*_SAFE, *_NOBODY])
    command = [program, "config", "--global", "--null", "--list"]
    try:
        asked = subprocess.run(
            command, env=asked_with, cwd="/", capture_output=True, check=False, timeout=_ASKING_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return settings_text([*_SAFE, *_NOBODY])
    lines = []
    for entry in asked.stdout.decode(errors="replace").split("\0"):
        name, _, value = entry.partition("\n")
        if name in _COPIED or is_filter(name):
            lines.append((name, value))
    names = {name for name, _ in lines}
    return settings_text([*_SAFE, *(pair for pair in _NOBODY if pair[0] not in names), *lines])


def is_filter(name: str) -> bool:
    """Whether a setting says how files are kept and how they look when they are checked out. Without it
    large files would be committed whole where only pointers to them belong."""
    part = name.rpartition(".")[2]
    return name.startswith("filter.") and part in ("clean", "smudge", "process", "required")


def settings_text(pairs: Iterable[tuple[str, str]]) -> str:
    """The text of a file of settings that git reads back as these."""
    lines = []
    for name, value in pairs:
        section, _, key = name.rpartition(".")
        kind, _, about = section.partition(".")
        quoted = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
        about = about.replace("\\", "\\\\").replace('"', '\\"')
        title = f'{kind} "{about}"' if about else kind
        lines.append(f'[{title}]\n\t{key} = "{quoted}"\n')
    return "".join(lines)


# No database holds a NUL character; this is what stands for one.
NUL_SHOWN = "\ufffd"
# Room for the line that says what was left out.
_REMARK_CHARS = 60


class Output:
    """Takes pieces as they come, in any encoding; what is no UTF-8 is replaced."""

    def __init__(self, chars_max: int) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._chars_max = max(0, chars_max)
        self._has_remark = self._chars_max > 4 * _REMARK_CHARS
        kept = self._chars_max - (_REMARK_CHARS if self._has_remark else 0)
        self._head_max = kept // 2
        self._tail_max = kept - self._head_max
        self._head: list[str] = []
        self._head_chars = 0
        self._tail: deque[str] = deque()
        self._tail_chars = 0
        self._chars = 0

    def add(self, content: bytes, *, is_last: bool = False) -> str:
        """Take a piece; the same as text, as far as it can be read yet."""
        text = self._decoder.decode(content, is_last).replace("\0", NUL_SHOWN)
        self._chars += len(text)
        head = text[: self._head_max - self._head_chars]
        if head:
            self._head.append(head)
            self._head_chars += len(head)
        self._add_to_tail(text[len(head) :])
        return text

    @property
    def omitted(self) -> int:
        """How many characters are left out of `text`."""
        if self._chars <= self._chars_max:
            return 0
        return self._chars - self._head_max - self._tail_max

    @property
    def text(self) -> str:
        """All of it where it is short enough; else its beginning and its end."""
        head, tail = "".join(self._head), "".join(self._tail)
        if not self.omitted:
            return head + tail
        # While it was not known that more would come, a little more was kept.
        tail = tail[len(tail) - self._tail_max :]
        return (
            f"{head}\n[... {self.omitted:,} characters left out ...]\n{tail}"
            if self._has_remark
            else head + tail
        )

    def _add_to_tail(self, text: str) -> None:
        kept_max = self._chars_max - self._head_max
        if not text or not kept_max:
            return
        self._tail.append(text[-kept_max:])
        self._tail_chars += len(self._tail[-1])
        while self._tail_chars - len(self._tail[0]) >= kept_max:
            self._tail_chars -= len(self._tail.popleft())
