"""Says in one line that a node's Neuron driver does not work with the runtime library of the training image.

In a pod the library comes with the image and the driver with the node. Where they do not fit, `nrt_init()` fails in
every worker, after minutes and without naming the driver. Status 1 then; 0 also where the node tells no driver.

    python -m slipway_jobs.chain.neuron_driver RUNTIME FROM|any BELOW|any [VERSION_FILE]
"""

from __future__ import annotations

import sys
from pathlib import Path

VERSION_FILE = Path("/sys/module/neuron/version")
"""Version of the loaded driver, in pods too: MODULE_VERSION of aws-neuronx-dkms 2.27.4.0, neuron_module.c line 23."""


def problem(driver: str, runtime: str, first: str, below: str) -> str | None:
    """Return why a driver does not work with a runtime library, in one sentence, or None if it does.

    Args:
        driver: version of the driver.
        runtime: version of the library.
        first: first driver that works, or `any`.
        below: first driver that no longer works, or `any`.
    """
    version = _numbers(driver)
    if first != "any" and version < _numbers(first):
        needed = f"from {first}"
    elif below != "any" and version >= _numbers(below):
        needed = f"below {below}"
    else:
        return None
    return f"Neuron driver {driver} with runtime library {runtime}: nrt_init() fails, that library needs one {needed}"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in version.split("."))


def main(arguments: list[str]) -> int:
    """Compare the node's driver, and say what is wrong."""
    runtime, first, below, *file = arguments
    try:
        driver = Path(file[0] if file else VERSION_FILE).read_text(encoding="utf-8").strip()
        found = problem(driver, runtime, first, below)
    except (OSError, ValueError) as error:
        print(f"warning: the node's Neuron driver is not known: {error}", file=sys.stderr)
        return 0
    if found:
        print(f"FAILED: {found}. The node group needs another image (`slipway docs kubernetes`)", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
