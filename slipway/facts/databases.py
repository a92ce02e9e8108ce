"""Amazon RDS: the engine of the accounting database and the instance classes to choose from."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated

from pydantic import Field

from slipway.facts.rows import Row, Text, find, load_rows

_PositiveCount = Annotated[int, Field(ge=1)]


class DatabaseEngine(Row):
    """A database engine at the version that is deployed.

    Attributes:
        name: RDS's name, for example ``mysql``.
        version: The exact version.
        major_version: The version that parameter groups are named after.
        port: The TCP port of the server.
        note: Why this version.
    """

    name: Text
    version: Text
    major_version: Text
    port: Annotated[int, Field(ge=1, le=65535)]
    note: Text


class DatabaseInstanceType(Row):
    """An RDS instance class that runs the engine.

    Attributes:
        name: For example ``db.t4g.medium``.
        vcpus: Virtual CPUs.
        memory_gib: Memory in GiB; RDS gives three quarters of it to MySQL's buffer pool.
    """

    name: Text
    vcpus: _PositiveCount
    memory_gib: _PositiveCount


@cache
def database_engines() -> Mapping[str, DatabaseEngine]:
    """Return every engine by name."""
    return load_rows(DatabaseEngine, "database_engines.yaml")


def database_engine(name: str) -> DatabaseEngine:
    """Return one engine.

    Raises:
        UnknownFact: Slipway uses no such engine.
    """
    return find("database engine", name, database_engines())


@cache
def database_instance_types() -> Mapping[str, DatabaseInstanceType]:
    """Return every instance class by name."""
    return load_rows(DatabaseInstanceType, "database_instance_types.yaml")


def database_instance_type(name: str) -> DatabaseInstanceType:
    """Return one instance class.

    Raises:
        UnknownFact: Slipway knows no such instance class.
    """
    return find("database instance type", name, database_instance_types())
