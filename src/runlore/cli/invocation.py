"""What every command has in common: `--json`, `--home`, `--url`, the operations it calls, how it answers."""

import dataclasses
import functools
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING, Annotated, Concatenate, ParamSpec, TypeVar, cast, get_args

import orjson
import typer

from runlore.cli.connect import choose_settings, open_operations
from runlore.cli.terminal import let_go
from runlore.cli.typer_commands import CommandParameter, HelpfulCommand, option
from runlore.config.settings import Settings
from runlore.domain.errors import RunloreError, Unavailable
from runlore.domain.lazy import dataclass
from runlore.domain.limits import LIST_LIMIT_MAX
from runlore.domain.record import JsonValue
from runlore.domain.scope import ScopeKind

if TYPE_CHECKING:
    from runlore.domain.record import Record
    from runlore.ports.operations import Operations

AnswerT = TypeVar("AnswerT")
CommandT = ParamSpec("CommandT")
JsonOption = Annotated[bool, option("--json", "Print one JSON document and nothing else.")]
HomeOption = Annotated[str | None, option("--home PATH", "The state root (RUNLORE_HOME, else ~/.runlore).")]
UrlOption = Annotated[
    str | None, option("--url URL", "A Runlore elsewhere (RUNLORE_URL), with RUNLORE_TOKEN.")
]
TokenFileOption = Annotated[str | None, option("--token-file PATH", "A file with the token for it.")]


@dataclass(frozen=True, kw_only=True)
class Invocation:
    """One invocation: how it answers, and where its state lies."""

    as_json: bool
    home: str | None
    url: str | None = None
    token_file: str | None = None

    def settings(self) -> Settings:
        return choose_settings(
            home=self.home, url=self.url, token_file=self.token_file, environment=os.environ
        )

    def operations(
        self, *, mounts_follow: bool = True, learns_s: float | None = None
    ) -> AbstractContextManager["Operations"]:
        """The operations: of a Runlore elsewhere, of the daemon of the state root, or embedded on it."""
        return open_operations(self.settings(), mounts_follow=mounts_follow, learns_s=learns_s)

    def project_folders(self, operations: "Operations", records: Iterable["Record"]) -> dict[str, str]:
        """The folders of the records' projects that have a hash for a name, for people to read: as far as the
        latest sessions tell them, of several the shortest. A list is shown without them, too."""
        scopes = [] if self.as_json else [record.scope for record in records]
        projects = {each.id for each in scopes if each.kind is ScopeKind.PROJECT}
        if not projects:
            return {}
        from runlore.domain.project import project_name
        from runlore.ports.operations import PageRequest

        wanted = {each for each in projects if not project_name(each)}
        found: dict[str, str] = {}
        with suppress(RunloreError):
            latest = operations.list_sessions(PageRequest(limit=LIST_LIMIT_MAX)).items if wanted else ()
            for session in latest:
                folder = session.working_folder or ""
                for project in wanted.intersection(session.binding.project_ids) if folder else ():
                    found[project] = min(found.get(project, folder), folder, key=len)
        return found

    def ask(self, ask: Callable[["Operations"], AnswerT], show: Callable[[AnswerT], None]) -> None:
        """Call the operations, and print the answer: as JSON, or as `show` shows it to a person."""
        from runlore.daemon import answers

        with self.operations() as operations:
            answer = ask(operations)
        self.answer(answers.write(answer), lambda: show(answer))

    def answer(self, plain: JsonValue, show: Callable[[], None]) -> None:
        """Print the JSON document, or let the command show it to a person."""
        try:
            if self.as_json:
                document = orjson.dumps(plain, option=orjson.OPT_INDENT_2, default=list)
                sys.stdout.buffer.write(document + b"\n")
            else:
                show()
            sys.stdout.flush()
        except BrokenPipeError:
            # The reader went away, as `head` does.
            let_go(sys.stdout)
        except OSError as error:
            let_go(sys.stdout)
            raise Unavailable(
                f"the answer cannot be written: {error.strerror}",
                code="answer.write",
                hint="what was asked for is done; ask for the answer again, where there is room for it",
            ) from error


def command(
    app: typer.Typer, name: str, *, hidden: bool = False
) -> Callable[
    [Callable[Concatenate[Invocation, CommandT], None]], Callable[Concatenate[Invocation, CommandT], None]
]:
    """Register a command, told of unless `hidden`; it takes `--json`, `--home` and `--url` beside its own
    parameters."""

    def register(
        body: Callable[Concatenate[Invocation, CommandT], None],
    ) -> Callable[Concatenate[Invocation, CommandT], None]:
        own = list(inspect.signature(body).parameters.values())[1:]

        @functools.wraps(body)
        def run(**options: object) -> None:
            named = {name: cast("str | None", options.pop(name)) for name in _PLACES}
            call = Invocation(as_json=bool(options.pop("as_json")), **named)
            cast("Callable[..., None]", body)(call, **{p.name: _collect_options(p, options) for p in own})

        parameters = [expanded for p in own for expanded in _expand(p)] + _SHARED
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        app.command(name, cls=HelpfulCommand, hidden=hidden)(run)
        return body

    return register


_PLACES = {"home": HomeOption, "url": UrlOption, "token_file": TokenFileOption}


def _expand(parameter: inspect.Parameter) -> Iterator[inspect.Parameter]:
    """A parameter as typer takes it: a group of options becomes its fields."""
    if not dataclasses.is_dataclass(parameter.annotation):
        yield _declare(parameter.name, parameter.annotation, parameter.default)
        return
    for field in dataclasses.fields(parameter.annotation):
        yield _declare(field.name, field.type, _default(field))


def _declare(name: str, annotation: object, default: object) -> inspect.Parameter:
    kind, parameter = get_args(annotation)
    return cast("CommandParameter", parameter).declare(name, kind, default)


def _collect_options(parameter: inspect.Parameter, options: Mapping[str, object]) -> object:
    group = parameter.annotation
    if not dataclasses.is_dataclass(group):
        return _read(group, options[parameter.name])
    fields = dataclasses.fields(group)
    return cast("type", group)(**{field.name: _read(field.type, options[field.name]) for field in fields})


def _read(annotation: object, value: object) -> object:
    kind, parameter = get_args(annotation)
    return cast("CommandParameter", parameter).read(kind, value)


def _default(field: dataclasses.Field[object]) -> object:
    return inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default


_SHARED = [
    _declare("as_json", JsonOption, False),
    *(_declare(name, annotation, None) for name, annotation in _PLACES.items()),
]
