"""What processes of the pool do in tests: a module, since they import what they do."""

import os
import signal

from runlore.daemon.mining.process_pool import ReportProgress
from runlore.domain.errors import Invalid


def square(number: int, told: ReportProgress) -> int:
    """What goes well."""
    told(number)
    return number * number


def die(number: int, told: ReportProgress) -> int:
    """One number kills its process, as a machine without memory does."""
    if number == 7:
        os.kill(os.getpid(), signal.SIGKILL)
    return square(number, told)


def leave(number: int, told: ReportProgress) -> int:
    """One number ends its process."""
    if number == 7:
        os._exit(3)
    return square(number, told)


def always_leave(number: int, told: ReportProgress) -> int:
    """Each number ends its process."""
    os._exit(3)


class Unstartable:
    """Work that ends whoever is told what it is."""

    def __call__(self, number: int, told: ReportProgress) -> int:
        """What nobody gets to do."""
        return square(number, told)

    def __reduce__(self) -> tuple[object, ...]:
        """What is done to make it anew."""
        return os._exit, (4,)


def fail(number: int, told: ReportProgress) -> int:
    """One number is a mistake."""
    return square(number, told) // (number - 7)


def quote(number: int, told: ReportProgress) -> int:
    """One number is a mistake that quotes what was read."""
    if number == 7:
        raise ValueError("the words of a transcript")
    return square(number, told)


def refuse(number: int, told: ReportProgress) -> int:
    """One number is refused with an error of ours."""
    if number == 7:
        raise Invalid("seven is taken", code="number.taken", hint="take another")
    return square(number, told)


def where(number: int, told: ReportProgress) -> int:
    """In which process it is done."""
    told(number)
    return os.getpid()
