"""Where `slipway connect` leads."""

from enum import StrEnum


class Place(StrEnum):
    """Where to connect to; the names are the command line's."""

    HEAD_NODE = "head-node"
    LOGIN = "login"
    USER = "user"
    SHELL = "shell"
    ENDPOINT = "endpoint"
    CLUSTER = "cluster"
