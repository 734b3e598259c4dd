"""A run of Runlore's own agent as a person sees it: its words as they come, its calls, what became of them.

At a terminal all of it stands on the screen. Elsewhere the answer alone goes to standard output, when it is
there, and everything else to standard error: once, where nobody watches it there. Every text passes through
`terminal.visible` or `terminal.spoken`. Where nobody reads any more the run goes on: its journal has it all.
"""

import sys
from collections.abc import Callable, Mapping

import orjson

from runlore.cli.tables.table_cells import plural
from runlore.cli.terminal import escape_spoken, let_go, say, say_spoken, write_spoken
from runlore.domain.record import JsonObject, JsonValue
from runlore.domain.run import RunStatus
from runlore.domain.runs.journal import EventType, text_of
from runlore.domain.text.excerpt import excerpt
from runlore.ports import operations as ops

# More of a call than this hides what the agent says; the journal has all of it.
CALL_CHARS_MAX = 400
OUTPUT_CHARS_MAX = 2_000
OUTPUT_LINES_MAX = 20
# A word this long is shown before its end has come; not everybody writes with spaces.
_WORD_CHARS_MAX = 200
_WORD_ENDS = " \n、。，．・：；！？"
_ENDS = {
    RunStatus.FAILED: ("The run failed", "red"),
    RunStatus.CANCELLED: ("The run was cancelled", "yellow"),
    RunStatus.INTERRUPTED: ("The run was interrupted", "yellow"),
}


class Screen:
    """What is shown of one run after the other. A `hidden` one shows nothing; one that `asks_next` about what
    waits does not tell how to keep it."""

    def __init__(self, *, hidden: bool, asks_next: bool = False) -> None:
        self._hidden = hidden
        self._asks_next = asks_next
        self._is_terminal = sys.stdout.isatty()
        self._is_watched = self._is_terminal or sys.stderr.isatty()
        self._said = ""
        self._held = ""
        self._is_mid_line = False
        self._printed: dict[str, int] = {}

    def show_event(self, event: ops.RunEvent) -> None:
        if self._hidden:
            return
        text = text_of(event.data)
        if event.kind is ops.RunEventKind.TEXT:
            # A piece of a message as it comes; where nobody watches, the whole is enough.
            if self._is_watched:
                self._said += text
                self._words(text)
        elif event.kind is ops.RunEventKind.OUTPUT:
            self._output(str(event.data.get("call_id", "")), text)
        elif event.kind is ops.RunEventKind.REMARK:
            self._remark(text)
        elif event.kind is ops.RunEventKind.JOURNAL:
            self._show_journal_event(event.data)

    def note(self, text: str, style: str = "dim") -> None:
        self._end_line()
        self._try(lambda: say(text, style, on_stderr=not self._is_terminal))

    def show_end(self, ended: ops.RunEnded) -> None:
        run = ended.view.run
        unheard, self._said = self._said, ""
        if not self._is_watched and unheard.strip() != ended.final_output.strip():
            self._words(unheard)
        self._end_line()
        if ended.final_output and not self._is_terminal:
            write_spoken(ended.final_output)
        if run.status in _ENDS:
            sentence, style = _ENDS[run.status]
            why = run.error or run.reason
            self.note(f"{sentence}: {why}" if why else f"{sentence}.", style)
        for found in ended.detected:
            self.became(found, is_asked_next=self._asks_next)

    def became(self, found: ops.DetectedPattern, *, is_asked_next: bool = False) -> None:
        """What has become of a pattern that a run shows, in a line, and what can be done about it."""
        name = found.name
        match found.became:
            case ops.PatternOutcome.SAVED:
                self.note(f"Saved the skill {name}: {found.description}", "green")
                self.note(
                    f"To read it: runlore skill view {name}. To take it away: runlore skill delete {name}"
                )
            case ops.PatternOutcome.DECLINED:
                self.note(f"Not saved: {name}, {found.reason}")
                self.note(f"To read it and keep it: runlore skill save {name}")
            case ops.PatternOutcome.SUPPRESSED:
                self.note(f"Not suggested: {name}, {found.reason or 'it was skipped before'}")
                self.note(f"To have it suggested again: runlore skill reset-skips {name}")
            case ops.PatternOutcome.PROPOSED:
                self.note(f"Done again and again: {name}  {found.description}", "green")
                self.note("It waits as a procedure: runlore inbox")
            case ops.PatternOutcome.KNOWN:
                self.note(f"Seen again: {name}, which is saved")
            case ops.PatternOutcome.IMPROVING:
                self.note(f"Worth a skill: {name} ({found.heuristic})  {found.description}", "green")
                self.note(f"The model improves its text first; what becomes of it: runlore skill log {name}")
            case ops.PatternOutcome.WAITING:
                self.note(f"Worth a skill: {name} ({found.heuristic})  {found.description}", "green")
                if not is_asked_next:
                    self.note(f"To keep it: runlore skill save {name}")

    def _show_journal_event(self, data: JsonObject) -> None:
        body = data.get("body")
        fields: Mapping[str, JsonValue] = body if isinstance(body, Mapping) else {}
        kind = data.get("type")
        if kind == EventType.ASSISTANT_MESSAGE.value:
            self._message(text_of(fields))
        elif kind == EventType.TOOL_CALL.value:
            self._flush_message()
            name = " ".join(str(fields.get("name", "")).split())
            self._line(f"• {name}  {call_text(fields.get('arguments'))}", "cyan")
        elif kind == EventType.TOOL_RESULT.value:
            self._result(fields)

    def _remark(self, text: str) -> None:
        """What a person should know; what the agent was saying then is said anew behind it."""
        self.note(text, "yellow")
        if self._is_watched:
            self._said = ""

    def _message(self, text: str) -> None:
        """A whole message: what of it was not shown as it came. The last one may be the answer, which is told
        elsewhere: where nobody watches it waits until something follows it."""
        if not self._is_watched:
            self._flush_message()
            self._said = text
            return
        shown, self._said = self._said, ""
        self._flush()
        # Where an answer broke off and was asked for again, more was shown than the message.
        if text.startswith(shown):
            self._words(text[len(shown) :])
        elif not shown.strip().endswith(text.strip()):
            self._end_line()
            self._words(text)
        self._end_line()

    def _flush_message(self) -> None:
        if not self._is_watched:
            held, self._said = self._said, ""
            self._words(held)
        self._end_line()

    def _words(self, text: str) -> None:
        """Words as they come; the last is held back until it is whole, so that nothing is cut inside."""
        self._held += text
        whole = max(map(self._held.rfind, _WORD_ENDS)) + 1
        if len(self._held) - whole > _WORD_CHARS_MAX:
            whole = len(self._held)
        ready, self._held = self._held[:whole], self._held[whole:]
        self._write(ready)

    def _output(self, call_id: str, text: str) -> None:
        printed = self._printed.get(call_id, 0)
        room = max(0, OUTPUT_CHARS_MAX - printed)
        self._printed[call_id] = printed + len(text)
        if room:
            self._flush()
            self._write(text[:room])
            if len(text) > room:
                self.note("… more is in the run's journal")

    def _result(self, body: Mapping[str, JsonValue]) -> None:
        code, output = body.get("exit_code"), body.get("output")
        was_shown = self._printed.pop(str(body.get("call_id", "")), 0)
        self._end_line()
        if isinstance(output, str) and output and not was_shown:
            for line in _first_lines(output):
                self._line(f"  {line}", "dim")
        if code not in (None, 0):
            self.note(f"exit code {code}", "yellow")
        elif body.get("is_error") is True:
            self.note("it failed", "yellow")

    def _line(self, text: str, style: str) -> None:
        self._try(lambda: say_spoken(text, style, on_stderr=not self._is_terminal))

    def _flush(self) -> None:
        held, self._held = self._held, ""
        self._write(held)

    def _write(self, text: str) -> None:
        if text:
            self._try(lambda: _write(escape_spoken(text), on_stderr=not self._is_terminal))
            self._is_mid_line = not text.endswith("\n")

    def _end_line(self) -> None:
        self._flush()
        if self._is_mid_line:
            self._write("\n")

    def _try(self, show: Callable[[], None]) -> None:
        if self._hidden:
            return
        try:
            show()
        except OSError:
            # A reader that went away, or a full disk: no reason to end the run.
            self._hidden = True
            let_go(sys.stdout if self._is_terminal else sys.stderr)


def _write(text: str, *, on_stderr: bool) -> None:
    stream = sys.stderr if on_stderr else sys.stdout
    stream.write(text)
    stream.flush()


def call_text(arguments: JsonValue) -> str:
    if isinstance(arguments, Mapping):
        values = list(arguments.values())
        if len(values) == 1 and isinstance(values[0], str):
            return excerpt(" ".join(values[0].split()), CALL_CHARS_MAX)
    return excerpt(orjson.dumps(arguments, default=dict).decode(), CALL_CHARS_MAX)


def _first_lines(output: str) -> list[str]:
    whole = output.replace("\r\n", "\n").removesuffix("\n")
    lines = whole[:OUTPUT_CHARS_MAX].split("\n")[:OUTPUT_LINES_MAX]
    left = whole.count("\n") + 1 - len(lines)
    if left > 0 or len(whole) > OUTPUT_CHARS_MAX:
        lines.append(f"… {plural(max(left, 1), 'more line')} in the run's journal")
    return lines
