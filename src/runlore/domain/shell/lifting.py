"""Takes heredocs and long quoted texts out of a script, so that only its structure is left to be parsed.

They are data to the shell, and can be as long as a file. What is taken out is not parsed at all, which bounds
the time that a hostile script takes. One pass of expressions that read every character once.
"""

import re
from collections.abc import Iterator

from runlore.domain.lazy import dataclass

QUOTED_CHARS_MIN = 48
# How often the end of a quoted heredoc is looked for in vain: each time reads the rest of the text.
MISSES_MAX = 8

# What a heredoc ends with is written bare, in quotes or behind a backslash.
_WORD = r"(?:'[^'\n]+'|\"[^\"\n]+\"|\\?[A-Za-z0-9_.!?%@+~-]+)"
# In the order in which they are tried: an escape, a quoted text, a comment, a heredoc's beginning, a line.
# A quoted text may be a heredoc as a whole, and then hold quotes of its own: `"$(cat <<'EOF'`.
_TOKEN = re.compile(
    rf"""\\. | '[^']*' | "\$\([ \t]*cat[ \t]+<<-?[ \t]*{_WORD}[ \t]*\n | "(?:\\.|[^"\\])*"
    | (?:(?<=\s)|^)\#[^\n]* | <<< | <<-?[ \t]*{_WORD} | \n""",
    re.DOTALL | re.VERBOSE,
)
_QUOTED = re.compile(r'"(?:\\.|[^"\\])*"?', re.DOTALL)
_TEXT_ENDS = re.compile(r'\s*\)"')
# What is run inside a text; brackets inside it, one level deep.
_SUBSTITUTION = re.compile(r"\$\(((?:[^()]|\([^()]*\))*)\)?|`([^`]*)`?")


@dataclass(frozen=True, kw_only=True)
class Lifted:
    """A script without its long texts, and the texts by the words that stand for them.

    `inner` are the scripts that the shell still runs inside them: what stands in `$(...)`.
    """

    text: str
    texts: dict[str, str]
    inner: tuple[str, ...] = ()


def lift_texts(text: str, *, quotes: bool) -> Lifted:
    """The script without heredocs, and where asked for without long quoted texts."""
    lift = _Lift(text, quotes=quotes)
    out = "".join(lift.pieces())
    return Lifted(text=out, texts=lift.texts, inner=tuple(lift.inner))


class _Lift:
    def __init__(self, text: str, *, quotes: bool) -> None:
        self.text = text
        self.quotes = quotes
        self.texts: dict[str, str] = {}
        self.inner: list[str] = []
        # A word that does not occur in the text.
        mark = "Lifted"
        while mark in text:
            mark += "Q"
        self._mark = mark
        self._misses = 0

    def pieces(self) -> Iterator[str]:
        """The script piece by piece. A heredoc's body begins on the line after its operator."""
        at = 0
        open_docs: list[tuple[str, str, bool]] = []
        while found := _TOKEN.search(self.text, at):
            yield self.text[at : found.start()]
            token, at = found[0], found.end()
            if token.startswith("<<") and token != "<<<":
                name, word, is_raw = self._open_heredoc(token)
                open_docs.append((name, word, is_raw))
                yield f"<<< {name} "
            elif token.startswith('"$(') and token.endswith("\n"):
                at, piece = self._quoted_doc(token, at)
                yield piece
            elif token == "\n":
                yield token
                for number, (name, word, is_raw) in enumerate(open_docs):
                    at += number > 0 and self.text.startswith("\n", at)
                    at = self._body(at, name, word=word, is_raw=is_raw)
                open_docs.clear()
            elif token == "\\\n":
                # The shell joins the two lines before it does anything else.
                continue
            elif token.startswith("#"):
                # A comment says nothing to the shell, and its quotes and brackets mislead a parser.
                continue
            else:
                yield self._lift_quoted(token)
        yield self.text[at:]

    def _quoted_doc(self, token: str, at: int) -> tuple[int, str]:
        """A quoted text that is a heredoc as a whole: where it ends, and what stands for it."""
        _, word, is_raw = self._open_heredoc(token[token.index("<<") :])
        end = _doc_end(word).search(self.text, at) if self._misses < MISSES_MAX else None
        closed = _TEXT_ENDS.match(self.text, end.end()) if end else None
        if end is None or closed is None:
            self._misses += 1
            quoted = _QUOTED.match(self.text, at - len(token))
            assert quoted is not None, "it begins with a quote"
            return quoted.end(), self._lift_quoted(quoted[0])
        body = self.text[at : end.start()]
        if not is_raw:
            self.inner.extend(_substitutions(body))
        return closed.end(), self._store_text(body)

    def _open_heredoc(self, token: str) -> tuple[str, str, bool]:
        word = token[2:].lstrip("-").strip()
        is_raw = word[0] in "'\"\\"
        name = self._store_text("")
        return name, word.strip("'\"\\"), is_raw

    def _body(self, at: int, name: str, *, word: str, is_raw: bool) -> int:
        end = _doc_end(word).search(self.text, at)
        body = self.text[at : end.start() if end else len(self.text)]
        self.texts[name] = body
        if not is_raw:
            self.inner.extend(_substitutions(body))
        return end.end() if end else len(self.text)

    def _lift_quoted(self, token: str) -> str:
        if not self.quotes or len(token) < QUOTED_CHARS_MIN or token[0] not in "'\"":
            return token
        if token[0] == '"':
            self.inner.extend(_substitutions(token))
        return self._store_text(_unescape(token))

    def _store_text(self, text: str) -> str:
        name = f"{self._mark}{len(self.texts)}x"
        self.texts[name] = text
        return name


def _doc_end(word: str) -> re.Pattern[str]:
    return re.compile(rf"^\t*{re.escape(word)}[ \t]*$", re.MULTILINE)


def _substitutions(text: str) -> Iterator[str]:
    for found in _SUBSTITUTION.finditer(text) if "$(" in text or "`" in text else ():
        yield found[1] or found[2] or ""


def _unescape(token: str) -> str:
    if token[0] == "'":
        return token[1:-1]
    return re.sub(r'\\([$`"\\]|\n)', lambda found: found[1].strip("\n"), token[1:-1])
