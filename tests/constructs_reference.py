"""The table of constructs: `python -m tests.constructs_reference` writes it into constructs/README.md."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator

from constructs import Construct

import neuron_constructs
from tests.assembly import PROJECT

DOCUMENT = PROJECT / "constructs" / "README.md"
_BEGIN, _END = "<!-- begin: constructs -->", "<!-- end: constructs -->"


def public_constructs() -> Iterator[type[Construct]]:
    """Yield every construct of the package, by module."""
    for module in pkgutil.walk_packages(neuron_constructs.__path__, "neuron_constructs."):
        for name, found in vars(importlib.import_module(module.name)).items():
            if (
                inspect.isclass(found)
                and issubclass(found, Construct)
                and found.__module__ == module.name
                and not name.startswith("_")
            ):
                yield found


def documented(text: str) -> str:
    """Return the document with a new table: how each construct is imported, and the first sentence of what it says."""
    rows = [
        f"| `from {found.__module__} import {found.__name__}` | {' '.join(_summary(found).split())} |"
        for found in public_constructs()
    ]
    before, rest = text.split(_BEGIN)
    _, after = rest.split(_END)
    table = "\n".join(("| import | what it is |", "|---|---|", *rows))
    return f"{before}{_BEGIN}\n{table}\n{_END}{after}"


def _summary(found: type[Construct]) -> str:
    # Not inspect.getdoc: it would inherit the base class's words.
    assert found.__doc__, f"{found.__module__}.{found.__name__} has no docstring"
    return found.__doc__.split("\n\n", 1)[0]


if __name__ == "__main__":
    DOCUMENT.write_text(documented(DOCUMENT.read_text("utf-8")), "utf-8")
