"""The pictures of `docs/console.md`, drawn from a Runlore with a few things in it.

python -m tests.surfaces.console.pictures writes them again.
"""

import tempfile
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, expect

from runlore.config.settings import Settings
from tests.browser import browser
from tests.surfaces.api_client import Api
from tests.surfaces.console.walks import console_on, open_run, publish, say, settle, walking

FOLDER = Path(__file__).parents[3] / "docs" / "pictures"
# Each with its page, what is there once it is drawn, and its colours.
PICTURES: dict[str, tuple[str, str, Literal["light", "dark"]]] = {
    "console-inbox.png": ("inbox", ".against", "light"),
    "console-run.png": ("sessions/checkout/checkout-1", ".section pre", "dark"),
}
_SAID = (
    "Releases are cut on Mondays, once the nightly build is green",
    "Integration tests need the fixture server on port 4010",
    "Columns of the table events are never renamed",
    "The checkout service owns the table orders",
    "Invoices use the customer's own time zone",
)


def fill(api: Api) -> None:
    """A conflict, memories that wait, and a run that was given one that is in use."""
    for text in _SAID:
        say(api, text)
    publish(api, say(api, "The staging port is 8080"))
    say(api, "The staging port is 9090")
    open_run(api, "checkout", "checkout-1", "Find out why checkout fails on the staging port")
    command = {"command": "make test ONLY=checkout"}
    events = [
        {"type": "tool_call", "call_id": "c1", "name": "shell", "arguments": command},
        {"type": "tool_result", "call_id": "c1", "output": "1 failed, 12 passed in 4.2s", "exit_code": 1},
        {"type": "assistant_message", "text": "The test compares local dates. I use UTC in both places."},
    ]
    api.post("/v1/runs/checkout-1/events", {"events": events}, status=201)
    settle(api)


def draw(chromium: Browser, api: Api) -> dict[str, bytes]:
    """The pictures by their names."""
    drawn = {}
    for name, (place, sign, scheme) in PICTURES.items():
        size = {"width": 1_080, "height": 640}
        with walking(chromium, api, color_scheme=scheme, viewport=size) as walk:
            walk.go(place)
            expect(walk.page.locator(sign).first).to_be_visible()
            drawn[name] = walk.page.screenshot()
    return drawn


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="rl-") as home,
        browser() as chromium,
        console_on(Settings(state_root=f"{home}/runlore")) as api,
    ):
        fill(api)
        for name, picture in draw(chromium, api).items():
            (FOLDER / name).write_bytes(picture)


if __name__ == "__main__":
    main()
