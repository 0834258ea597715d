"""``docs/pictures/login-page.png``: the key page as a real browser shows it, light and dark side by side.

``python -m docs.make_login_picture``; it needs Chromium and Pillow, and no network.
"""

from __future__ import annotations

import asyncio
import io
import tempfile
from pathlib import Path

from PIL import Image

from tests.fakes import chromium
from zot.features.login.page_server import KeyForm, PageServer

TARGET = Path(__file__).parent / "pictures" / "login-page.png"
WIDTH, HEIGHT = 560, 640


async def main() -> None:
    async def accept(key: str) -> None:
        """Never called: the picture needs no key."""

    place = "in ~/.local/state/zot/auth.json, which only you can read"
    keys = "https://console.anthropic.com/settings/keys"
    shots: list[Image.Image] = []
    for scheme in ("light", "dark"):
        async with PageServer(
            KeyForm("anthropic", "Anthropic", account="", place=place, keys_url=keys), accept
        ) as server:
            shots.append(await asyncio.to_thread(_shot, server.url, scheme))
    whole = Image.new("RGB", (2 * WIDTH, HEIGHT))
    for number, shot in enumerate(shots):
        whole.paste(shot, (number * WIDTH, 0))
    whole.quantize(128).save(TARGET, optimize=True)


def _shot(url: str, scheme: str) -> Image.Image:
    program = chromium.find()
    assert program is not None, "there is no Chromium"
    with tempfile.TemporaryDirectory() as scratch, chromium.browse(program, Path(scratch) / "browser") as page:
        page.call("Emulation.setDeviceMetricsOverride", width=WIDTH, height=HEIGHT, deviceScaleFactor=1, mobile=False)
        page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        page.open(url)
        picture = Path(scratch) / "shot.png"
        page.screenshot(picture)
        return Image.open(io.BytesIO(picture.read_bytes())).convert("RGB")


if __name__ == "__main__":
    asyncio.run(main())
