"""Writes times, sums and numbers for people."""

from __future__ import annotations

import time


def duration(seconds: float) -> str:
    """Write `45 s`, `12 min`, `3 h 20 min`, `5 d 4 h`."""
    seconds = max(0.0, seconds)
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h" if hours else f"{days} d"


def moment(seconds: float) -> str:
    """Write Unix seconds as a date and time of this machine's time zone."""
    return time.strftime("%Y-%m-%d %H:%M %Z", time.localtime(seconds))


def usd(amount: float | None) -> str:
    """Write a sum; an unknown one is no 0."""
    return "no price" if amount is None else f"${amount:,.2f}"


def count(number: float) -> str:
    """Write `950`, `12.3k`, `4.5M`, `1.2B`."""
    for size, letter in ((1e9, "B"), (1e6, "M"), (1e4, "k")):
        if abs(number) >= size:
            return f"{number / (1e3 if letter == 'k' else size):.1f}{letter}"
    return f"{number:,.0f}"
