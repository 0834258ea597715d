"""What leaves the editor."""

from __future__ import annotations

import msgspec

from zot.provider.messages import ImageBlock


class Submitted(msgspec.Struct, frozen=True):
    """What the user said, every chip and paste expanded."""

    text: str
    images: tuple[ImageBlock, ...] = ()
