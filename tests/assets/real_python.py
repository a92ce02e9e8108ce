"""The interpreter of the tests, which stands for the operating system's own on a node."""

from __future__ import annotations

import sys
from pathlib import Path

VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
INTERPRETER = Path(sys.base_exec_prefix, "bin", f"python{VERSION}")

# Stands before the interpreter in a node's stub: environments are copies of one that venv has made, because venv takes
# seconds to put pip into each.
COPY_ENVIRONMENT = 'if [[ "$1 $2" == "-m venv" ]]; then mkdir -p "${{3%/*}}"; exec cp -a {blank} "$3"; fi'
