"""Debian's Chromium, unpacked by install.sh, with its own libraries and fonts."""

import os
from pathlib import Path
from xml.etree import ElementTree as ET

from tests.assembly import PROJECT

ROOT = PROJECT / ".tools" / "chromium" / "root"
EXECUTABLE = ROOT / "usr" / "lib" / "chromium" / "chromium-headless-shell"
ARGUMENTS = ("--no-sandbox",)
"""Chromium's sandbox needs rights that root in a container does not have; the only pages that it opens are ours."""


def variables(directory: Path) -> dict[str, str]:
    """The environment variables that Chromium is started with.

    Args:
        directory: where the configuration and the cache of its fonts are put.
    """
    libraries = sorted({str(library.parent) for library in (ROOT / "usr" / "lib").rglob("*.so*")})
    configuration = directory / "fonts.conf"
    fonts = ET.Element("fontconfig")
    ET.SubElement(fonts, "dir").text = str(ROOT / "usr" / "share" / "fonts")
    ET.SubElement(fonts, "cachedir").text = str(directory / "fonts")
    alias = ET.SubElement(fonts, "alias")
    ET.SubElement(alias, "family").text = "system-ui"
    ET.SubElement(ET.SubElement(alias, "prefer"), "family").text = "DejaVu Sans"
    ET.ElementTree(fonts).write(configuration)
    return {
        **os.environ,
        "LD_LIBRARY_PATH": ":".join(libraries),
        "FONTCONFIG_FILE": str(configuration),
        "XDG_CACHE_HOME": str(directory),
    }
