"""What every command has in common: `--json`, `--home`, `--url`, the operations it calls, how it answers."""

import dataclasses
import functools
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, ParamSpec, TypeVar, cast, get_args

import orjson
import typer

from runlore.cli.terminal import let_go, say
from runlore.cli.typer_commands import CommandParameter, HelpfulCommand, option
from runlore.client.connect import choose_settings, open_operations
from runlore.config.settings import Settings
from runlore.domain.errors import Invalid, NotFound, RunloreError, Unavailable
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

    @contextmanager
    def operations(
        self, *, mounts_follow: bool = True, works_last: bool = True, learns_s: float | None = None
    ) -> Iterator["Operations"]:
        """The operations: of a Runlore elsewhere, of the daemon of the state root, or embedded on it."""
        settings = self.settings()
        with open_operations(
            settings, mounts_follow=mounts_follow, works_last=works_last, learns_s=learns_s
        ) as operations:
            yield operations
        if settings.url is None and not self.as_json:
            _tell_news(settings.state_root)

    def project_names(self, operations: "Operations", records: Iterable["Record"]) -> dict[str, str]:
        """What people call the records' projects that have a hash for an id: as far as the folders of the
        latest sessions tell, of several the shortest, or this one. A list is shown without them, too."""
        scopes = [] if self.as_json else [record.scope for record in records]
        projects = {each.id for each in scopes if each.kind is ScopeKind.PROJECT}
        if not projects:
            return {}
        from runlore.domain.project import project_name
        from runlore.ports.operations import PageRequest

        wanted = {each for each in projects if not project_name(each)}
        found: dict[str, str] = {}
        with suppress(RunloreError, OSError):
            latest = operations.list_sessions(PageRequest(limit=LIST_LIMIT_MAX)).items if wanted else ()
            for session in latest:
                folder = session.working_folder or ""
                for project in wanted.intersection(session.binding.project_ids) if folder else ():
                    found[project] = min(found.get(project, folder), folder, key=len)
            if unnamed := wanted - found.keys():
                from runlore.daemon.calls.working_folders import bindings_of, working_folder

                here = working_folder(os.getcwd(), bindings_of(operations))
                found.update(dict.fromkeys(unnamed & {here.project}, here.path))
        return {project: project_name(project, folder) or folder for project, folder in found.items()}

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
                self._remember(plain)
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

    def _remember(self, plain: JsonValue) -> None:
        """Keep the ids of what was shown, so that the next command can name it by its place."""
        if not isinstance(plain, dict) or not any(name in plain for name in _NAMES_THINGS):
            return
        place = self.list_file()
        # An empty list only takes the place of another.
        is_full = any(plain.get(name) for name in _NAMES_THINGS)
        if is_full or ("items" in plain and os.path.exists(place)):
            from runlore.cli.last_list import remember_answer

            remember_answer(place, plain)

    def list_file(self) -> str:
        return os.path.join(self.settings().state_root, "last-list.json")


# The types of ids that can be written short; `ThingId` is a record's, a run's or a session's.
_ID_TYPES = frozenset({"RecordId", "SessionId", "RunId", "ApprovalId", "JobId", "ThingId"})
# What people call by names that they choose or learn, and may misspell.
_NAMED = frozenset({"agent", "skill", "suggestion", "policy", "PersonaId"})
# One of these is in every answer that lists or is a thing with an id.
_NAMES_THINGS = ("items", "record_id", "session_id", "run_id", "approval_id", "job_id")


def _tell_news(state_root: str) -> None:
    """Say in one line, once and beside the answer, what the daemon has learned by itself."""
    from runlore.daemon.notifications import take_notifications

    counted = zip(take_notifications(state_root), ("suggestion", "statement"), strict=True)
    new = [f"{count} new {what}{'s' * (count > 1)}" for count, what in counted if count]
    if new:
        say(f"{' and '.join(new)}: `runlore inbox`", "yellow", on_stderr=True)


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
            act = cast("Callable[..., None]", body)
            ids = _IdArguments(call, [field for p in own for field in _fields(p)])
            taken = ids.read_listed(options)
            try:
                act(call, **{p.name: _collect_options(p, taken) for p in own})
            except (NotFound, Invalid) as error:
                whole = ids.complete(taken) if isinstance(error, NotFound) else taken
                if whole == taken:
                    raise _with_guess(call, error, own, taken) from None
                act(call, **{p.name: _collect_options(p, whole) for p in own})

        parameters = [expanded for p in own for expanded in _expand(p)] + _SHARED
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        app.command(name, cls=HelpfulCommand, hidden=hidden)(run)
        return body

    return register


def asks(
    show: Callable[[Any], None], *, then: Callable[[Invocation, "Operations"], None] | None = None
) -> Callable[[Callable[..., None]], Callable[Concatenate[Invocation, ...], None]]:
    """A command that is the operation of its own name: what it takes are the fields of the operation's
    request, or its parameters, and what it answers is shown. `then` follows it, before that."""

    def declare(body: Callable[..., None]) -> Callable[Concatenate[Invocation, ...], None]:
        name = body.__name__

        @functools.wraps(body)
        def act(call: Invocation, /, **given: object) -> None:
            from runlore.ports.operations.declaration import OPERATIONS

            values: dict[str, object] = {}
            for key, each in given.items():
                values.update(vars(each) if dataclasses.is_dataclass(each) else {key: each})
            parameters = OPERATIONS[name].parameters
            first = next(iter(parameters), "")
            kind = parameters[first][0] if parameters else None
            if isinstance(kind, type) and dataclasses.is_dataclass(kind):
                values = {first: kind(**values)}
            arguments = [values.pop(first)] if first else []

            def ask(operations: "Operations") -> object:
                answer: object = getattr(operations, name)(*arguments, **values)
                if then is not None:
                    then(call, operations)
                return answer

            call.ask(ask, show)

        signature = inspect.signature(body)
        own = inspect.Parameter("call", inspect.Parameter.POSITIONAL_ONLY)
        act.__signature__ = signature.replace(parameters=[own, *signature.parameters.values()])  # type: ignore[attr-defined]
        return act

    return declare


def _with_guess(
    call: Invocation, error: RunloreError, own: Iterable[inspect.Parameter], taken: Mapping[str, object]
) -> RunloreError:
    """The error, with the name that was probably meant where it repeats one that nobody has."""
    for name, annotation in (field for p in own for field in _fields(p)):
        what, typed = _completes(annotation), taken.get(name)
        if what in _NAMED and isinstance(typed, str) and repr(typed) in error.sentence:
            from runlore.cli.last_list import guess_meant

            if meant := guess_meant(call, str(what), typed):
                return type(error)(
                    f"{error.sentence}. Did you mean {meant!r}?", code=error.code, hint=error.hint
                )
    return error


class _IdArguments:
    """The arguments of a command that are ids, and may be written short."""

    def __init__(self, call: Invocation, fields: Iterable[tuple[str, object]]) -> None:
        self._call = call
        self._kinds = {name: kind for name, annotation in fields if (kind := _id_kind(annotation))}

    def read_listed(self, options: Mapping[str, object]) -> dict[str, object]:
        """The options with ids for `@1` and `last`, and with the cursor that `next` stands for."""
        found = {name: self._each(name, value, self._find_listed) for name, value in options.items()}
        if found.get("cursor") == "next":
            from runlore.cli.last_list import find_next

            found["cursor"] = find_next(self._call.list_file())
        return found

    def complete(self, options: Mapping[str, object]) -> dict[str, object]:
        """The options with whole ids for their beginnings, as far as they name one thing."""
        if not any(options.get(name) for name in self._kinds):
            return dict(options)
        from runlore.cli.last_list import complete_id

        place = self._call.list_file()
        # The command itself opens it again.
        with self._call.operations(works_last=False) as operations:

            def whole(kind: str, text: str) -> str:
                return complete_id(operations, place, kind, text) or text

            return {name: self._each(name, value, whole) for name, value in options.items()}

    def _each(self, name: str, value: object, change: Callable[[str, str], str]) -> object:
        kind = self._kinds.get(name)
        if kind is None:
            return value
        if isinstance(value, list):
            return [change(kind, text) for text in value]
        return change(kind, value) if isinstance(value, str) else value

    def _find_listed(self, _kind: str, text: str) -> str:
        if not (text == "last" or text.startswith("@")):
            return text
        from runlore.cli.last_list import find_listed, is_short

        return find_listed(self._call.list_file(), text) if is_short(text) else text


def _fields(parameter: inspect.Parameter) -> Iterator[tuple[str, object]]:
    """The names and annotations of what a parameter takes."""
    if not dataclasses.is_dataclass(parameter.annotation):
        yield parameter.name, parameter.annotation
        return
    for field in dataclasses.fields(parameter.annotation):
        yield field.name, field.type


def _id_kind(annotation: object) -> str:
    """The type of an id that an option takes and that may be short, by its name; else empty."""
    kind = get_args(annotation)[0]
    named = {getattr(each, "__name__", "") for each in (kind, *get_args(kind))}
    return next(iter(named & _ID_TYPES), "")


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
    what = _completes(annotation)
    return cast("CommandParameter", parameter).declare(name, kind, default, _offering(what) if what else None)


def _completes(annotation: object) -> str | tuple[str, ...]:
    """What an argument or option takes the name or the id of, for a shell to offer; empty for other texts."""
    kind, parameter = get_args(annotation)
    own = cast("CommandParameter", parameter).completes
    return own or _id_kind(annotation) or ("PersonaId" if "PersonaId" in str(kind) else "")


def _offering(what: str | tuple[str, ...]) -> Callable[..., object]:
    """What typer asks when a shell wants to know what can stand there."""

    def offer_names(ctx: Any, incomplete: str) -> list[str] | list[tuple[str, str]]:
        if isinstance(what, tuple):
            return [each for each in what if each.startswith(incomplete)]
        from runlore.cli.last_list import offer

        places = {name: ctx.params.get(name) for name in _PLACES}
        found = offer(Invocation(as_json=True, **places), what)
        return [each for each in found if each[0].startswith(incomplete)]

    return offer_names


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
