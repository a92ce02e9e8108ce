"""The checks of the preflight, a module for each thing that is asked. Every module here is one: importing registers."""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
