"""The one way from stored text into an HTML page."""

from __future__ import annotations

import re
from html import escape
from typing import Final

from hermes_sessions.text import neutralise

_EMBEDDED: Final = re.compile(
    r"data:(image|audio|video)/[\w.+-]{1,60};base64,[A-Za-z0-9+/=_-]{100,}"
)


def safe(text: str) -> str:
    """Return stored text as text of an element or a quoted attribute, whatever is in it."""
    return escape(neutralise(text))


def without_media(text: str) -> str:
    """Replace pictures and sounds that are written into text by ``[image]`` (R044)."""
    return _EMBEDDED.sub(r"[\1]", text)
