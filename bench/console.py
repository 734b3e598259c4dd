"""How long the console takes with ten thousand waiting items, beside how long it takes with a hundred.

A person's page in a real Chromium: until the inbox is drawn, and from one item to the next by key. Wall time:
waiting is the point. Look at the ratios; the machine and whatever else it does are in both columns.
"""

import statistics
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page, expect

from bench.measure import print_table
from runlore.config.settings import Settings
from tests.browser import browser
from tests.builders import fact, proposed
from tests.surfaces.api_client import Api
from tests.surfaces.console.walks import console_on, walking

TITLE = "the console with ten thousand waiting items"
SIZES = (100, 10_000)
STEPS = 30


def main() -> None:
    with browser() as chromium, tempfile.TemporaryDirectory(prefix="rl-bench-") as folder:
        columns = []
        for size in SIZES:
            with console_on(Settings(state_root=str(Path(folder) / str(size)))) as api:
                fill(api, size)
                with walking(chromium, api) as walk:
                    walk.page.reload()
                    columns.append(measure(walk.page))
    few, many = columns
    print_table(
        ("what", *(f"{size:,} items, ms" for size in SIZES), "times"),
        [(name, f"{few[name]:,.0f}", f"{many[name]:,.0f}", f"{many[name] / few[name]:.1f}") for name in few],
    )


def fill(api: Api, size: int) -> None:
    records = [proposed(fact(f"Service {number} is owned by team {number}")) for number in range(size)]
    with api.service.parts.store.transaction() as tx:
        tx.write(records)


def measure(page: Page) -> dict[str, float]:
    """Milliseconds, the middle one of several: the first list, and from one item to the next."""
    drawn, steps = [], []
    for _ in range(5):
        began = time.perf_counter()
        page.reload()
        expect(page.locator(".detail .facts")).to_be_visible()
        drawn.append(1_000 * (time.perf_counter() - began))
    for _ in range(STEPS):
        title = page.locator(".item[aria-current] .title").inner_text()
        began = time.perf_counter()
        page.keyboard.press("j")
        expect(page.locator(".item[aria-current] .title")).not_to_have_text(title)
        steps.append(1_000 * (time.perf_counter() - began))
    return {
        "inbox drawn with its first item": statistics.median(drawn),
        "next item": statistics.median(steps),
    }
