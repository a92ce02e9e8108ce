"""The names that Slurm's programs see: nodes from the cluster's private zone in Route 53, and the user `slurm`."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path

from tests.contracts.real_packages import unpacked


class PrivateZone:
    """Files that libnss-wrapper reads in place of /etc/hosts, /etc/passwd and /etc/group.

    clustermgtd reserves nodes for the user `slurm`. A node that was reset has its name as its address: where that does
    not resolve, slurmctld never gives up a job that ran there. On AWS, Route 53 still answers.
    """

    def __init__(self, directory: Path) -> None:
        """Keep the files in a directory, which `write` expects."""
        self._directory = directory

    @property
    def variables(self) -> dict[str, str]:
        """Environment variables that make a program read the files."""
        library = next((unpacked("debian") / "root").glob("usr/lib/*/libnss_wrapper.so"))
        files = {f"NSS_WRAPPER_{kind.upper()}": str(self._directory / kind) for kind in ("hosts", "passwd", "group")}
        return {"LD_PRELOAD": str(library), **files}

    def write(self, addresses: Mapping[str, str]) -> None:
        """Write the files anew where something changed.

        Args:
            addresses: of the nodes, by name.
        """
        host = socket.gethostname()
        own = f"127.0.0.1 localhost {host} {host.split('.')[0]}\n"
        nodes = "".join(f"{address} {name}\n" for name, address in addresses.items())
        users = {"passwd": "slurm:x:64030:64030::/:/bin/false\n", "group": "slurm:x:64030:\n"}
        texts = {"hosts": own + nodes} | {name: Path("/etc", name).read_text() + line for name, line in users.items()}
        for name, text in texts.items():
            file = self._directory / name
            if not file.exists() or file.read_text() != text:
                file.with_suffix(".new").write_text(text)
                file.with_suffix(".new").rename(file)
