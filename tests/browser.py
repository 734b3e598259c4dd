"""A real browser that the tests start for themselves: Debian's Chromium, driven by playwright.

Nothing is downloaded: playwright brings the driver, and the system brings the browser.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from playwright.sync_api import Browser, BrowserType, sync_playwright

from tests.system_programs import find_browser


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser without a window; it ends with the block."""
    with sync_playwright() as driver, launched(driver.chromium) as opened:
        yield opened


@contextmanager
def launched(kind: BrowserType, *, leave_out: Sequence[str] = ()) -> Iterator[Browser]:
    """One more of that kind, without some of the options that playwright gives it."""
    # As root, Chromium refuses to start with its own sandbox; the pages are ours.
    sandbox = [] if os.geteuid() else ["--no-sandbox"]
    opened = kind.launch(
        executable_path=find_browser(),
        args=[*sandbox, "--disable-dev-shm-usage"],
        ignore_default_args=list(leave_out),
    )
    try:
        yield opened
    finally:
        opened.close()
