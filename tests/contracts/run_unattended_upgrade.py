"""Runs the real unattended-upgrade without root's locks and files: `PROGRAM DIRECTORY ROOT`.

It needs no root then, and installs nothing: a dry run downloads.
"""

import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from types import SimpleNamespace

program, directory, root = sys.argv[1:]
spec = spec_from_loader("unattended_upgrade", SourceFileLoader("unattended_upgrade", program))
assert spec is not None
assert spec.loader is not None
module = module_from_spec(spec)
spec.loader.exec_module(module)
vars(module)["LOCK_FILE"] = f"{directory}/lock"
vars(module)["REBOOT_REQUIRED_FILE"] = f"{directory}/reboot-required"
module.apt_pkg.init()
options = SimpleNamespace(
    dry_run=True,
    debug=True,
    apt_debug=False,
    verbose=False,
    download_only=False,
    minimal_upgrade_steps=True,
)
sys.exit(module.main(options, rootdir=root))
