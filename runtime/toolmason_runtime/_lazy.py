"""Import public names when they are first used (PEP 562)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from toolmason_runtime.extras import HTTP, MODULES, missing_extra


def lazy_exports(package: str, exports: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """Return a module-level `__getattr__` for `package`; `exports` lists the public names of each module.

    Only the module of the requested name is imported, so that a server pays for the names it uses.
    """
    modules = {name: module for module, names in exports.items() for name in names}

    def getattr_(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            return getattr(import_module(modules[name]), name)
        except ModuleNotFoundError as error:
            is_optional = (error.name or "").partition(".")[0] in MODULES[HTTP]
            if is_optional and (problem := missing_extra(f"`{name}`", HTTP)):
                raise ImportError(problem) from error
            raise

    return getattr_
