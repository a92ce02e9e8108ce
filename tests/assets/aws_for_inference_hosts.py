"""The AWS CLI of a host of the tests: its bucket is the directory `bucket` of $STATE, and it copies for real.

Source: AWS CLI 2 reference. `s3 sync` compares sizes and deletes with --delete; a killed one leaves a temporary name
(s3transfer, utils.py, get_temp_filename). `--output text` has tabs between fields.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

STATE = Path(os.environ["STATE"])
GLOBAL_OPTIONS = {"--region", "--output"}


def option(arguments: list[str], name: str) -> str:
    """Return the value of an option."""
    return arguments[arguments.index(name) + 1]


def objects(url: str) -> dict[str, Path]:
    """Return what the bucket has below an address, by the rest of the key."""
    folder = STATE / "bucket" / url.removeprefix("s3://").partition("/")[2]
    return {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*")) if path.is_file()}


def sync(source: str, destination: str) -> int:
    """Copy what has another size, delete what the source has not; `kill` and `damage` in $STATE go wrong once."""
    wanted, folder = objects(source), Path(destination)
    for path in folder.rglob("*"):
        if path.is_file() and str(path.relative_to(folder)) not in wanted:
            path.unlink()
    for name, path in wanted.items():
        target = folder / name
        if target.exists() and target.stat().st_size == path.stat().st_size:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        kill = STATE / "kill"
        if kill.exists() and kill.read_text() == name:
            kill.unlink()
            target.with_name(f"{target.name}.4fA9b1").write_bytes(path.read_bytes()[:7])
            return 130
        shutil.copyfile(path, target)
        with (STATE / "copied").open("a") as log:
            log.write(f"{name}\n")
        damage = STATE / "damage"
        if damage.exists() and damage.read_text() == name:
            damage.unlink()
            target.write_bytes(b"?" * path.stat().st_size)
    return 0


def main(arguments: list[str]) -> int:
    """Do what a command says, as far as the hosts use it."""
    while arguments[0] in GLOBAL_OPTIONS:
        arguments = arguments[2:]
    if arguments[0] == "s3" and "sync" in arguments:
        return sync(*arguments[-2:])
    if arguments[0] == "s3":
        shutil.copyfile(STATE / "host.zip", arguments[-1])
    elif arguments[0] == "s3api":
        prefix = option(arguments, "--prefix")
        found = [[f"{prefix}{name}", path.stat().st_size] for name, path in objects(f"s3://bucket/{prefix}").items()]
        print(json.dumps(found or None))
    elif arguments[1] == "describe-auto-scaling-instances":
        print((STATE / "group").read_text())
    elif arguments[1] == "describe-auto-scaling-groups":
        print((STATE / "wanted").read_text())
    elif arguments[1] == "put-log-events":
        shutil.copyfile(option(arguments, "--log-events").removeprefix("file://"), STATE / "log-events")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
