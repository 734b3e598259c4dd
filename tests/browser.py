"""A real browser that the tests start for themselves: Debian's Chromium, driven by playwright.

Nothing is downloaded: playwright brings the driver, and the system brings the browser.
`python -m tests.browser` prints where the browser is, or what to run to have it.
"""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from playwright.sync_api import Browser, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
LINE_TO_RUN = "sudo apt-get update && sudo apt-get install --yes chromium"


class BrowserMissing(Exception):
    """There is no browser to start; the text says what to run."""


@cache
def find_browser() -> str:
    """The first browser on PATH."""
    for name in NAMES:
        if path := shutil.which(name):
            return path
    raise BrowserMissing(f"the tests open pages in Chromium, and there is none here. Run:  {LINE_TO_RUN}")


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser without a window; it ends with the block."""
    # As root, Chromium refuses to start with its own sandbox; the pages are ours.
    sandbox = [] if os.geteuid() else ["--no-sandbox"]
    with sync_playwright() as driver:
        opened = driver.chromium.launch(
            executable_path=find_browser(), args=[*sandbox, "--disable-dev-shm-usage"]
        )
        try:
            yield opened
        finally:
            opened.close()


if __name__ == "__main__":
    try:
        print(find_browser())
    except BrowserMissing as missing:
        sys.exit(str(missing))
