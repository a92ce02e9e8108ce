"""Elastic Fabric Adapter: the installers of its software, for images that do not carry it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated

from pydantic import Field

from slipway.facts.rows import Row, Text, find, load_rows


class EfaInstaller(Row):
    """One release of the EFA installer: libfabric, Open MPI and RDMA libraries as packages for several systems.

    Attributes:
        name: Its version, for example ``1.47.0``.
        address: Where AWS keeps the archive.
        sha256: Checksum of the archive that AWS publishes, in hexadecimal digits.
    """

    name: Text
    address: Annotated[str, Field(pattern=r"^https://\S+\.tar\.gz$")]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


@cache
def efa_installers() -> Mapping[str, EfaInstaller]:
    """Return every EFA installer by version, the newest last."""
    return load_rows(EfaInstaller, "efa_installers.yaml")


def efa_installer(name: str) -> EfaInstaller:
    """Return one EFA installer.

    Raises:
        UnknownFact: Slipway knows no checksum of such a version.
    """
    return find("EFA installer", name, efa_installers())
