"""Where the program `runlore` begins."""

import signal


def main() -> None:
    """The command line. Whoever presses Ctrl-C while it is loaded ends it without a word."""
    is_told = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_told:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from runlore.cli.main import main as command_line

    if is_told:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    command_line()
