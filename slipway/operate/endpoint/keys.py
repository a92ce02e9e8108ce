"""The API keys in an endpoint's secret.

The text is `current[,previous[,coming]]`. The endpoint takes each of them; clients use the first. A key made by hand is
such a text as well: no key has a comma in it (RFC 6750, section 2.1).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, repr=False)
class Keys:
    """The keys that an endpoint takes.

    Attributes:
        current: what clients use.
        previous: what they used before the last rotation; None when it is finished.
        coming: what they use after the rotation that has begun; None when none has.
    """

    current: str
    previous: str | None = None
    coming: str | None = None

    @classmethod
    def of(cls, text: str) -> Keys:
        """Read the secret's text."""
        current, previous, coming, *_ = [*text.split(","), "", ""]
        return cls(current, previous or None, coming or None)

    @property
    def text(self) -> str:
        """The secret's text."""
        return ",".join((self.current, self.previous or "", self.coming or "")).rstrip(",")
