"""`runlore capture`: whether anything of runs is stored at all."""

from runlore.cli import service_tables
from runlore.cli.calls import Call, command
from runlore.cli.usage import group
from runlore.daemon import answers

capture = group("Whether anything of runs is stored at all.")


@command(capture, "pause")
def pause(call: Call) -> None:
    """Store nothing of any run from now on.

    Agents go on working: what they report is answered with `stored: false` and dropped.
    """
    with call.operations() as operations:
        status = operations.pause_capture()
    call.answer(answers.capture_to_plain(status), lambda: service_tables.show_capture(status))


@command(capture, "resume")
def resume(call: Call) -> None:
    """Capture again."""
    with call.operations() as operations:
        status = operations.resume_capture()
    call.answer(answers.capture_to_plain(status), lambda: service_tables.show_capture(status))


@command(capture, "status")
def show(call: Call) -> None:
    """Show whether runs are captured."""
    with call.operations() as operations:
        status = operations.capture_status()
    call.answer(answers.capture_to_plain(status), lambda: service_tables.show_capture(status))
