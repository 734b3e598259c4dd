"""Typer's commands with plain words in, and plain words about themselves out.

Values stay as they were typed. Typer would read each of them through pydantic, whose import takes longer
than most commands; and `options` knows better what to say about a wrong one.
"""

import inspect
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple, get_origin

import typer
from typer.core import TyperCommand, TyperGroup


class CommandParameter(NamedTuple):
    """How an argument or an option is written on the command line, and how its text is read.

    It stands in `Annotated` beside the type that the command gets. A tuple or a frozenset is repeatable.
    `completes` is what it is a name of, for shells to offer: a key of `completion`, or the words themselves.
    """

    names: tuple[str, ...]
    metavar: str | None
    about: str
    parse: Callable[[str], object] | None
    completes: str | tuple[str, ...] = ""

    def declare(
        self, name: str, kind: Any, default: Any, offer: Callable[..., object] | None = None
    ) -> inspect.Parameter:
        """It as typer takes it: texts and flags, with the default as people would write it, and what a shell
        offers for it."""
        is_given = default is not inspect.Parameter.empty
        typed: object = kind
        if get_origin(kind) in (tuple, frozenset):
            typed, default = list[str], list(default) if is_given else default
        elif kind is not bool:
            typed = str | None if default is None else str
            default = str(default) if is_given and default is not None else default
        declare = typer.Option if self.names else typer.Argument
        info = declare(*self.names, metavar=self.metavar, help=self.about, autocompletion=offer)
        return inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[typed, info]
        )

    def read(self, kind: Any, value: object) -> object:
        if isinstance(value, list):
            return get_origin(kind)(map(self.parse or str, value))
        return self.parse(value) if self.parse and isinstance(value, str) else value


def option(
    usage: str,
    about: str,
    parse: Callable[[str], object] | None = None,
    completes: str | tuple[str, ...] = "",
) -> CommandParameter:
    """An option from how it is used: `--limit N`, `--state --status STATE`, or for a flag `--yes -y`."""
    words = usage.split()
    names = tuple(word for word in words if word.startswith("-"))
    return CommandParameter(names, " ".join(words[len(names) :]) or None, about, parse, completes)


def argument(
    metavar: str,
    about: str,
    parse: Callable[[str], object] | None = None,
    completes: str | tuple[str, ...] = "",
) -> CommandParameter:
    return CommandParameter((), metavar, about, parse, completes)


def group(about: str, *, cls: type[TyperGroup] | None = None) -> typer.Typer:
    """A group of commands; without a command it shows its help."""
    return typer.Typer(
        cls=cls or HelpfulGroup,
        no_args_is_help=True,
        rich_markup_mode=None,
        help=about,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


class _AsTyped:
    """Stands in for typer's coercion."""

    def coerce(self, value: Any, *, param: Any, **_context: Any) -> Any:
        return [] if value is None and param.multiple else value


_AS_TYPED = _AsTyped()


def _plain(parameters: list[Any]) -> list[Any]:
    for parameter in parameters:
        # Where another typer knows no such attribute, this changes nothing but the time it takes.
        parameter._runtime_param = _AS_TYPED
    return parameters


class HelpfulGroup(TyperGroup):
    """A group with plain values."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _plain(super().get_params(ctx))


class HelpfulCommand(TyperCommand):
    """A command whose help names its arguments as people write them: `ID`, not `{ID} <str>`."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Its arguments and options, those that are required first."""
        return sorted(_plain(super().get_params(ctx)), key=lambda parameter: not parameter.required)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """`[OPTIONS] ID`, with brackets around what may be left out."""
        arguments = [p for p in self.get_params(ctx) if _is_argument(p)]
        names = [_name(p) if p.required else f"[{_name(p)}]" for p in arguments]
        return [self.options_metavar or "", *names]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        parameters = self.get_params(ctx)
        arguments = [(_name(p), p.help or "") for p in parameters if _is_argument(p)]
        options = [p.get_help_record(ctx) for p in parameters if not _is_argument(p)]
        for title, records in (("Arguments", arguments), ("Options", options)):
            if records:
                with formatter.section(title):
                    formatter.write_dl([record for record in records if record])


def _is_argument(parameter: Any) -> bool:
    return bool(parameter.param_type_name == "argument")


def _name(parameter: Any) -> str:
    return str(parameter.metavar or parameter.name.upper())
