"""`runlore` with Ctrl-C at one place: `python -m tests.surfaces.cli.interrupted FILE ANSWERS CALLS WORD...`.

Once ANSWERS lines were typed, it comes with the CALLS-th call of a function of ours until the next line is;
with the 0-th never. FILE gets how many calls there were until then.
"""

import atexit
import signal
import sys
from pathlib import Path
from types import FrameType

import runlore
from runlore.cli.main import main

_OURS = str(Path(runlore.__file__).parent)
_READS = frozenset({"input", "readline"})


class Interrupt:
    """What looks at each call of the main thread."""

    def __init__(self, answers: int, calls: int) -> None:
        self._answers = answers
        self._calls = calls
        self._typed = 0
        self.counted = 0

    def look(self, frame: FrameType, event: str, called: object) -> None:
        if event == "c_return" and getattr(called, "__name__", "") in _READS:
            # What reads a file in a line is no answer.
            self._typed += getattr(called, "__self__", sys) in (sys.stdin, sys.modules["builtins"])
        elif event == "call" and self._typed == self._answers and _OURS in frame.f_code.co_filename:
            self.counted += 1
            if self.counted == self._calls:
                sys.setprofile(None)
                signal.raise_signal(signal.SIGINT)


if __name__ == "__main__":
    file, answers, calls, *words = sys.argv[1:]
    interrupt = Interrupt(int(answers), int(calls))
    atexit.register(lambda: Path(file).write_text(str(interrupt.counted)))
    sys.argv[1:] = words
    sys.setprofile(interrupt.look)
    main()
