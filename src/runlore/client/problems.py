"""The errors of a connection: nobody there, somebody else there, or an answer that is none."""

from runlore.domain.errors import Denied, Invalid, Unavailable


def unreachable(where: str, why: str, *, may_be_done: bool) -> Unavailable:
    return Unavailable(
        f"{where} does not answer: {why}",
        code="daemon.unreachable",
        hint="what was asked may have been done: look before you ask again"
        if may_be_done
        else "nothing was changed; check that it runs and that the address is right, then try again",
    )


def stranger(path: str, user: int) -> Denied:
    return Denied(
        f"{path} is served by another user ({user}), so the token is not sent there",
        code="daemon.stranger",
        hint="find out who listens there; a daemon of your own uses your own state root",
    )


def no_http(what: str) -> Unavailable:
    return Unavailable(
        f"the server answered something else than what was asked for ({what})",
        code="answer.format",
        hint="check that the address is that of a Runlore, and of the same version as this one",
    )


def too_large(bytes_max: int) -> Unavailable:
    return Unavailable(
        f"the answer is larger than {bytes_max:,} bytes",
        code="answer.size",
        hint="ask for less at once: a smaller --limit, a narrower scope",
    )


def became_shorter() -> Invalid:
    return Invalid(
        "the file became shorter while it was sent; nothing was imported",
        code="import.file",
        hint="let whatever writes it finish, then import it again",
    )
