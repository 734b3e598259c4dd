"""Plots as inline SVG: bars over time, and bars beside each other. Their words are HTML around them.

The bars stretch with the page, so that they fit a phone and a wall; words would be stretched too. Whoever
sees no bars is told the same in a table.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from runlore.cli.report.markup import NOTHING, Markup, element, join_markup, text

# A plot has at most this many bars; the step between them is the smallest that fits.
BARS_MAX = 62
# And at least so many, so that a few days of work stand as bars among the others, and not as blocks.
BARS_MIN = 21
STEPS = (
    (1, "one day"),
    (7, "one week"),
    (30, "30 days"),
    (91, "a quarter"),
    (365, "a year"),
    (3_650, "ten years"),
    (36_500, "a hundred years"),
)
# Beyond this many series the rest is shown as one.
SERIES_MAX = 5
_HEIGHT = 100
_ROUND = (2, 4, 6, 8, 10, 12, 16, 20, 24, 30, 40, 50, 60, 80, 100)
_GAP = 0.22
_TOP_SHARE = 0.94


@dataclass(frozen=True, kw_only=True)
class Series:
    """One kind of thing that is counted over time: its name, its colour's class, its count for each day."""

    name: str
    colour: str
    counts: Mapping[date, int]

    @property
    def total(self) -> int:
        return sum(self.counts.values())


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A bar beside others, and what stands at its end."""

    name: str
    number: int
    colour: str = "c1"


@dataclass(frozen=True, kw_only=True)
class _Bins:
    first: date
    step_days: int
    step_name: str
    count: int

    def of(self, day: date) -> int:
        return (day - self.first).days // self.step_days

    def day(self, number: int) -> date:
        return self.first + timedelta(days=min(number * self.step_days, (date.max - self.first).days))


def over_time(
    title: str, note: str, series: Sequence[Series], *, mark: tuple[date, str] | None = None
) -> Markup:
    """Bars for each step of time; `mark` is a day that gets a line, and what that says."""
    days = [day for each in series for day in each.counts]
    if not days:
        return _figure(title, note, element("p", text("Nothing has a time here."), class_="none"))
    bins = _bins(min(days), max(days))
    columns = [_bin_counts(each, bins) for each in series]
    highest = max(sum(counts) for counts in zip(*columns, strict=True)) or 1
    top = _round_up(highest)
    plot = element(
        "div",
        element("div", element("span", text(f"{top:,}")), element("span", text("0")), class_="y"),
        _svg(title, series, columns, bins=bins, top=top, mark=mark),
        element("div", *_marks(bins), class_="x"),
        class_="plot",
    )
    legend = _legend(series) if len(series) > 1 else NOTHING
    step = text(f"Each bar is {bins.step_name}.")
    table = _as_table(series, columns, bins)
    told = NOTHING if mark is None else element("p", text(mark[1]), class_="step")
    return _figure(title, note, join_markup(plot, legend), told, element("p", step, class_="step"), table)


def beside(title: str, note: str, bars: Sequence[Bar]) -> Markup:
    highest = max((bar.number for bar in bars), default=0) or 1
    rows = [
        element(
            "div",
            element("span", text(bar.name), class_="name"),
            element(
                "svg",
                element("rect", width=f"{100 * bar.number / highest:.2f}%", height="100%", class_=bar.colour),
                class_="bar",
                aria_hidden="true",
            ),
            element("span", text(f"{bar.number:,}"), class_="number"),
            class_="row",
        )
        for bar in sorted(bars, key=lambda bar: (-bar.number, bar.name))
    ]
    inside = join_markup(*rows) if rows else element("p", text("Nothing yet."), class_="none")
    return _figure(title, note, element("div", inside, class_="beside"))


def make_series(counts: Mapping[str, Mapping[date, int]]) -> tuple[Series, ...]:
    """Series by name, the greatest first; beyond the colours there are, the rest as one."""
    ordered = sorted(counts, key=lambda name: (-sum(counts[name].values()), name))
    named = ordered if len(ordered) <= SERIES_MAX else ordered[: SERIES_MAX - 1]
    series = [
        Series(name=name, colour=f"c{number}", counts=counts[name])
        for number, name in enumerate(named, start=1)
    ]
    if rest := ordered[len(named) :]:
        together: dict[date, int] = {}
        for name in rest:
            for day, count in counts[name].items():
                together[day] = together.get(day, 0) + count
        series.append(Series(name="others", colour=f"c{SERIES_MAX}", counts=together))
    return tuple(series)


def _figure(title: str, note: str, *inside: Markup) -> Markup:
    caption = element("figcaption", element("h3", text(title)), element("p", text(note)))
    return element("figure", caption, *inside, class_="panel")


def _bins(first: date, last: date) -> _Bins:
    first = min(first, date.fromordinal(max(last.toordinal() - BARS_MIN + 1, 1)))
    span = (last - first).days + 1
    fitting = (step for step in STEPS if -(-span // step[0]) <= BARS_MAX)
    step_days, step_name = next(fitting, STEPS[-1])
    return _Bins(first=first, step_days=step_days, step_name=step_name, count=-(-span // step_days))


def _bin_counts(series: Series, bins: _Bins) -> list[int]:
    counts = [0] * bins.count
    for day, count in series.counts.items():
        counts[bins.of(day)] += count
    return counts


def _round_up(highest: int) -> int:
    """The next number that reads well, and of which half reads well too."""
    tenth = int("1" + "0" * max(0, len(str(highest)) - 2))
    rounded = (step * tenth for step in _ROUND if step * tenth >= highest)
    return next(rounded, highest)


def _svg(
    title: str,
    series: Sequence[Series],
    columns: Sequence[Sequence[int]],
    *,
    bins: _Bins,
    top: int,
    mark: tuple[date, str] | None,
) -> Markup:
    grid = [
        element("line", x1=0, x2=bins.count, y1=y, y2=y, class_="grid")
        for y in (_HEIGHT * (1 - _TOP_SHARE), _HEIGHT * (1 - _TOP_SHARE / 2))
    ]
    told = ", ".join(f"{each.total:,} {each.name}" for each in series)
    return element(
        "svg",
        *grid,
        *(
            _stack([column[number] for column in columns], number, series=series, bins=bins, top=top)
            for number in range(bins.count)
        ),
        element("line", x1=0, x2=bins.count, y1=_HEIGHT, y2=_HEIGHT, class_="axis"),
        *_line(bins, mark),
        viewBox=f"0 0 {bins.count} {_HEIGHT}",
        preserveAspectRatio="none",
        role="img",
        aria_label=f"{title}: {told}, from {bins.day(0)} on",
    )


def _line(bins: _Bins, mark: tuple[date, str] | None) -> list[Markup]:
    """A line before the bar of a day, where the plot has that day."""
    number = -1 if mark is None else bins.of(mark[0])
    if mark is None or not 0 <= number < bins.count:
        return []
    return [
        element(
            "line", element("title", text(mark[1])), x1=number, x2=number, y1=0, y2=_HEIGHT, class_="mark"
        )
    ]


def _stack(counts: Sequence[int], number: int, *, series: Sequence[Series], bins: _Bins, top: int) -> Markup:
    if not sum(counts):
        return NOTHING
    told = ", ".join(f"{count:,} {each.name}" for each, count in zip(series, counts, strict=True) if count)
    bars, below = [], 0.0
    for each, count in zip(series, counts, strict=True):
        height = _HEIGHT * _TOP_SHARE * count / top
        if count:
            bars.append(
                element(
                    "rect",
                    x=number + _GAP / 2,
                    y=_HEIGHT - below - height,
                    width=1 - _GAP,
                    height=height,
                    class_=each.colour,
                )
            )
        below += height
    return element("g", element("title", text(f"{bins.day(number)}: {told}")), *bars)


def _marks(bins: _Bins) -> list[Markup]:
    """The first day, the last, and one between them where there is room."""
    numbers = sorted({0, bins.count // 2, bins.count - 1} if bins.count > 2 else {0, bins.count - 1})
    return [element("span", text(f"{bins.day(number):%d %b %Y}".lstrip("0"))) for number in numbers]


def _legend(series: Sequence[Series]) -> Markup:
    entries = [
        element(
            "li",
            element(
                "svg",
                element("rect", width="100%", height="100%", rx=2, class_=each.colour),
                class_="key",
                aria_hidden="true",
            ),
            text(f"{each.name} "),
            element("b", text(f"{each.total:,}")),
        )
        for each in series
    ]
    return element("ul", *entries, class_="legend")


def _as_table(series: Sequence[Series], columns: Sequence[Sequence[int]], bins: _Bins) -> Markup:
    head = element("tr", *(element("th", text(name)) for name in ("from", *(each.name for each in series))))
    rows = [
        element(
            "tr",
            element("td", text(bins.day(number))),
            *(element("td", text(f"{column[number]:,}")) for column in columns),
        )
        for number in range(bins.count)
        if any(column[number] for column in columns)
    ]
    table = element("table", element("thead", head), element("tbody", *rows))
    return element("details", element("summary", text("As a table")), element("div", table, class_="wide"))
