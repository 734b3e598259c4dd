"""What a command printed, in little memory: its beginning and its end, and how much was between them."""

import codecs
from collections import deque

# No database holds a NUL character; this is what stands for one.
NUL_SHOWN = "\ufffd"
# Room for the line that says what was left out.
_REMARK_CHARS = 60


class Output:
    """Takes pieces as they come, in any encoding; what is no UTF-8 is replaced."""

    def __init__(self, chars_max: int) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._chars_max = max(0, chars_max)
        self._has_remark = self._chars_max > 4 * _REMARK_CHARS
        kept = self._chars_max - (_REMARK_CHARS if self._has_remark else 0)
        self._head_max = kept // 2
        self._tail_max = kept - self._head_max
        self._head: list[str] = []
        self._head_chars = 0
        self._tail: deque[str] = deque()
        self._tail_chars = 0
        self._chars = 0

    def add(self, content: bytes, *, is_last: bool = False) -> str:
        """Take a piece; the same as text, as far as it can be read yet."""
        text = self._decoder.decode(content, is_last).replace("\0", NUL_SHOWN)
        self._chars += len(text)
        head = text[: self._head_max - self._head_chars]
        if head:
            self._head.append(head)
            self._head_chars += len(head)
        self._add_to_tail(text[len(head) :])
        return text

    @property
    def omitted(self) -> int:
        """How many characters are left out of `text`."""
        if self._chars <= self._chars_max:
            return 0
        return self._chars - self._head_max - self._tail_max

    @property
    def text(self) -> str:
        """All of it where it is short enough; else its beginning and its end."""
        head, tail = "".join(self._head), "".join(self._tail)
        if not self.omitted:
            return head + tail
        # While it was not known that more would come, a little more was kept.
        tail = tail[len(tail) - self._tail_max :]
        return (
            f"{head}\n[... {self.omitted:,} characters left out ...]\n{tail}"
            if self._has_remark
            else head + tail
        )

    def _add_to_tail(self, text: str) -> None:
        kept_max = self._chars_max - self._head_max
        if not text or not kept_max:
            return
        self._tail.append(text[-kept_max:])
        self._tail_chars += len(self._tail[-1])
        while self._tail_chars - len(self._tail[0]) >= kept_max:
            self._tail_chars -= len(self._tail.popleft())
