"""Reads the chat history of aider: one Markdown file in which chat follows chat.

`# aider chat started at` opens a chat, lines with `#### ` are the user's, those with `> ` aider's own, and
the rest is the model's. What aider writes itself ends with two spaces; a longer output has its mark only in
front of its first line. Commands count where the text shows that they were run; an exit code is told only
where one failed.
"""

import re
from datetime import datetime
from pathlib import Path

from runlore.agents.transcripts.assembly import Assembly, LinePosition, digest_of
from runlore.agents.transcripts.parsing import NEAR_CHARS, beginning, moment, shorten
from runlore.agents.transcripts.reader import LineParser
from runlore.domain import limits
from runlore.domain.runs.transcript import TranscriptAgent, TranscriptSource

_STARTED = "# aider chat started at "
_USER = "####"
_TOOL = ">"
_ENDS = "  "
_BEGAN = "began"
_NAME = ".aider.chat.history.md"
_BLOCK_CHARS_MAX = 4 * limits.TOLD_TEXT_CHARS_MAX

_VERSION = re.compile(r"Aider v(\S{1,40})")
_MODEL = re.compile(r"(?:Main model|Models?): (\S{1,200}) with ")
_RAN = re.compile(r"(?:/run\s+|!{1,8}\s*)(?=[^\s!])")
_RAN_GIT = re.compile(r"/git\s+(?=\S)")
_TESTED = re.compile(r"/test\s+(?=\S)")
_ASKED = re.compile(r"/(?:ask|code|architect|context)\s+(?=\S)")
_STEERING = re.compile(r"/[a-z][a-z-]{0,30}(?:\s|$)")
_OFFER = re.compile(
    r"Run shell commands?(?:\(s\))?\?[^\n]{0,80}?(?:\]:?\s*|\s)(y|yes|a|all)?\s*$", re.IGNORECASE
)
_RUNNING = re.compile(r"Running (?=\S)")
_FAILED = re.compile(r"Command '([\s\S]{1,4000})' exited with status (-?\d{1,10})")
_ADD_OUTPUT = re.compile(r"Add [^\n?]{0,60}output to the chat\?")
_INSTRUCTED = re.compile(r"[\s\S]{0,120}?\(y/n/instructions\):?\s*([\s\S]{1,4000})")
_SCRAPING = re.compile(r"Scraping (\S{1,2000}?)(?:\.\.\.)?\s*$")
_ADD_URL = re.compile(
    r"(?:(\S{1,2000})\s{1,8})?Add URL to the chat\?(?![^\n]{0,80}(?:\]:?\s*|\s)n(?:o)?\s*$)", re.IGNORECASE
)
_WEB = re.compile(r"/web\s+(\S{1,2000})")
_WEB_PAGE = "a web page"
_YES_OR_NO = frozenset({"y", "n", "yes", "no"})


class AiderReader:
    """Reads `.aider.chat.history.md`, whatever it is called."""

    agent = TranscriptAgent.AIDER

    def recognises(self, head: bytes, path: str) -> bool:
        mark = _STARTED.encode()
        return path.endswith(".md") and (head.lstrip().startswith(mark) or b"\n" + mark in head)

    def begin(self, source: TranscriptSource, assembly: Assembly) -> LineParser:
        return _AiderParser(source, assembly)


class _TextBuffer:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self._chars = 0

    def add(self, line: str) -> None:
        self._chars += len(line) + 1
        # A little more than is told, so that a secret across the cut is seen.
        if self._chars <= _BLOCK_CHARS_MAX + NEAR_CHARS:
            self.lines.append(line)

    def take(self) -> str:
        text = "\n".join(self.lines)
        if len(text) > _BLOCK_CHARS_MAX:
            text = beginning(text, _BLOCK_CHARS_MAX)
        self.lines, self._chars = [], 0
        return text


class _AiderParser:
    def __init__(self, source: TranscriptSource, assembly: Assembly) -> None:
        path = Path(source.path).absolute()
        self._assembly = assembly
        self._source = path.parent.name
        home = str(path.parent) if path.name.removesuffix(".gz") == _NAME else ""
        self._home = home[: limits.PATH_CHARS_MAX]
        self._input, self._said, self._block, self._output = (
            _TextBuffer(),
            _TextBuffer(),
            _TextBuffer(),
            _TextBuffer(),
        )
        self._place = self._block_place = assembly.here
        self._input_end = -1
        self._is_block_open = False
        self._block_before = ""
        self._commands: dict[str, str] = {}
        self._told = 0
        self._pages: set[str] = set()
        self._runs = ""

    def line(self, line: bytes) -> str:
        text = line.decode(errors="replace").rstrip("\r\n")
        is_ended = text.endswith(_ENDS)
        if text.startswith(_STARTED):
            self._begin_run()
            self._end_run()
            began = text.removeprefix(_STARTED).strip()
            self._assembly.carried[_BEGAN] = began if moment(began) else ""
            self._assembly.folder = self._home
            self._assembly.model = ""
            self._speak_of(began)
        elif is_ended and (text.startswith(f"{_USER} ") or text.rstrip() == _USER):
            self._user(text.removeprefix(_USER)[1:].removesuffix(_ENDS), len(line))
        elif self._is_block_open and not self._begins_block(text):
            self._tool(text, is_ended=is_ended)
        elif text.startswith(f"{_TOOL} ") or text.rstrip() == _TOOL:
            self._begin_run()
            self._tell_said()
            self._end_block()
            self._block_place = self._assembly.here
            self._tool(text[2:], is_ended=is_ended)
        else:
            self._begin_run()
            self._tell_output()
            self._said.add(text)
        return ""

    def end(self) -> None:
        self._begin_run()
        self._end_run()

    def _begins_block(self, text: str) -> bool:
        """Whether a line within what aider says begins another thing. The output of a command may hold such
        lines too."""
        if not text.startswith(f"{_TOOL} "):
            return False
        return not self._runs or _ADD_OUTPUT.match(text[2:]) is not None

    def _speak_of(self, began: str) -> None:
        """A chat has no id: its folder and its time stand for one, and are not to be read in it."""
        self._assembly.speak_of(digest_of(f"{self._source}:{began}"[: limits.PATH_CHARS_MAX]))

    def _user(self, text: str, size: int) -> None:
        here = self._assembly.here
        self._end_block()
        if self._input.lines and here.start != self._input_end:
            self._begin_run()
        if not self._input.lines:
            self._place = here
        self._input_end = here.start + size
        self._input.add(text)

    def _begin_run(self) -> None:
        """An input is complete: what it asks for, or which command it runs."""
        if not self._input.lines:
            return
        text = self._input.take()
        command = _command(text)
        page = _WEB.match(text)
        if not command and not page and _STEERING.match(text) and not _ASKED.match(text):
            return
        self._end_run()
        asked = _ASKED.match(text)
        self._begin(text[asked.end() :] if asked else text, self._place)
        if command:
            self._runs = self._tell_command(command)
        if page:
            self._tell_page(page[1])

    def _begin(self, text: str, place: LinePosition) -> None:
        if not self._assembly.session:
            self._speak_of("")
        self._commands, self._told, self._pages = {}, 0, set()
        self._assembly.begin(text, self._at(), place=place)

    def _end_run(self) -> None:
        self._end_block()
        self._tell_output()
        self._tell_said()
        self._block_before = ""

    def _tell_said(self) -> None:
        text = self._said.take().strip("\n")
        if text.strip():
            self._assembly.say(text, self._at())

    def _tool(self, text: str, *, is_ended: bool) -> None:
        self._is_block_open = True
        self._block.add(text.removesuffix(_ENDS))
        if is_ended:
            self._end_block()

    def _end_block(self) -> None:
        """Aider has said something: the lines that matter are known by how they begin."""
        if not self._is_block_open:
            return
        self._is_block_open = False
        text = self._block.take()
        if found := _VERSION.match(text):
            self._assembly.agent_version = found[1]
        elif found := _MODEL.match(text):
            self._assembly.model = found[1]
        elif _ADD_OUTPUT.match(text):
            self._tell_output()
            self._begin_instruction(text)
        elif found := _OFFER.search(text[-200:]):
            if found[1]:
                self._offer(text)
        elif found := _SCRAPING.match(text):
            self._tell_page(found[1])
        elif found := _ADD_URL.match(text):
            self._tell_page(found[1] or self._block_before.strip())
        elif found := _RUNNING.match(text):
            self._ran(text[found.end() :])
        elif found := _FAILED.match(text):
            self._note_failure(found[1], int(found[2]))
        elif self._runs:
            self._output.add(text)
        self._block_before = text

    def _tell_output(self) -> None:
        text, runs, self._runs = self._output.take(), self._runs, ""
        if runs and text.strip():
            self._answer(runs, text)

    def _offer(self, text: str) -> None:
        """Commands that the model suggested were run: they stand before the question, one on each line."""
        asked = text.rpartition("\n")[0] or self._block_before
        for command in asked.split("\n"):
            if command.strip():
                self._tell_command(command.strip())

    def _ran(self, command: str) -> None:
        if command not in self._commands:
            self._tell_command(command)

    def _note_failure(self, command: str, code: int) -> None:
        id = self._commands.get(command) or self._tell_command(command)
        self._answer(id, "", code)

    def _begin_instruction(self, text: str) -> None:
        """The question whether to show an output to the model can be answered with what to do about it."""
        found = _INSTRUCTED.match(text)
        words = found[1].strip() if found else ""
        if words and words.lower() not in _YES_OR_NO:
            self._begin(words, self._block_place)

    def _tell_command(self, command: str) -> str:
        command = shorten(command)
        self._told += 1
        id = f"run_{self._told}"
        if self._assembly.call(id, "run", {"command": command}, self._at()):
            self._commands[command] = id
        return id

    def _tell_page(self, url: str) -> None:
        """A web page was put into the chat, for the run that is open or before the next one."""
        if not self._assembly.is_open:
            # An address may hold a secret, and this one may be noted with the position.
            self._assembly.outside(_WEB_PAGE)
        elif url not in self._pages:
            self._pages.add(url)
            self._told += 1
            self._assembly.call(f"web_{self._told}", "web", {"url": url}, self._at())

    def _answer(self, id: str, text: str, code: int | None = None) -> None:
        self._assembly.answer(id, text, self._at(), exit_code=code)

    def _at(self) -> datetime | None:
        return moment(self._assembly.carried.get(_BEGAN))


def _command(text: str) -> str:
    """The command that an input runs in the shell; empty where it is something else."""
    if found := _RAN.match(text):
        return text[found.end() :].strip()
    if found := _RAN_GIT.match(text):
        return f"git {text[found.end() :].strip()}"
    if found := _TESTED.match(text):
        return text[found.end() :].strip()
    return ""
