"""A real browser that the tests start for themselves: Debian's Chromium, driven by playwright.

Nothing is downloaded: playwright brings the driver, and the system brings the browser.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

from tests.system_programs import find_browser


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
