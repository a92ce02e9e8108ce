"""The environment file of a new repository: a shipped one, with another name, Region and zones."""

import re
from typing import get_args

from slipway.bundle import BUNDLE
from slipway.errors import RefusedError
from slipway.facts import regions
from slipway.start.wish import Orchestrator, Size, Wish

SIZES: tuple[str, ...] = get_args(Size)
"""Each is a shipped environment."""

_ORCHESTRATORS: tuple[str, ...] = get_args(Orchestrator)
_NAME = re.compile(r"[a-z][a-z0-9-]{0,19}")


def check(wish: Wish) -> None:
    """Refuse what cannot be.

    Raises:
        RefusedError: with all that is wrong.
    """
    wrong = []
    if not _NAME.fullmatch(wish.name):
        wrong.append(f"--name {wish.name!r}: a letter, then lower-case letters, digits and hyphens, 20 at most")
    if wish.size not in SIZES:
        wrong.append(f"--size {wish.size!r}: one of {', '.join(SIZES)}")
    if wish.region not in regions():
        wrong.append(f"--region {wish.region!r}: one of {', '.join(regions())}")
    if wish.orchestrator not in _ORCHESTRATORS:
        wrong.append(f"--orchestrator {wish.orchestrator!r}: slurm or kubernetes")
    elif wish.orchestrator == "kubernetes" and wish.size != "default":
        wrong.append("--orchestrator kubernetes: has one size, --size default")
    if wrong:
        raise RefusedError("\n".join((*wrong, "Nothing was written")))


def environment_text(wish: Wish) -> str:
    """Return the text of the file; its zones are still those of the pattern's Region."""
    pattern = "kubernetes" if wish.orchestrator == "kubernetes" else wish.size
    sections = _sections(pattern)
    if not wish.endpoint:
        sections.pop("inference", None)
    elif "inference" not in sections:
        operations = sections.pop("operations")
        sections |= {"inference": _sections("default")["inference"], "operations": operations}
    sections["name"] = f"name: {wish.name}\n"
    sections["region"] = f"region: {wish.region}\n"
    text = "".join(sections.values())
    # One account has each cluster's name once.
    return re.sub(r"^  cluster_name: .*$", f"  cluster_name: {wish.name}", text, flags=re.MULTILINE)


def _sections(pattern: str) -> dict[str, str]:
    """Return the text of each top-level key of a shipped environment, in order; what stands before the first is ``."""
    text = (BUNDLE / "environments" / f"{pattern}.yaml").read_text("utf-8")
    parts = re.split(r"^(?=[a-z_]+:)", text, flags=re.MULTILINE)
    return {"" if part.startswith("#") else part.partition(":")[0]: part for part in parts}
