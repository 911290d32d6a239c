"""`install`: add this server to the configuration file of an MCP client, and start it as that client does.

Handlers import these names for commands of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolmason_runtime._lazy import lazy_exports

if TYPE_CHECKING:
    from toolmason_runtime.install.changes import printable as printable
    from toolmason_runtime.install.clients import load_facts as load_facts
    from toolmason_runtime.install.clients import project_directory as project_directory
    from toolmason_runtime.install.commands import OURS as OURS
    from toolmason_runtime.install.commands import CommandDirectory as CommandDirectory
    from toolmason_runtime.install.commands import State as State
    from toolmason_runtime.install.commands import command_directories as command_directories
    from toolmason_runtime.install.commands import read_file as read_file
    from toolmason_runtime.install.configuration import new_configuration as new_configuration
    from toolmason_runtime.install.errors import InstallError as InstallError

EXPORTS: Final = {
    "toolmason_runtime.install.changes": ("printable",),
    "toolmason_runtime.install.clients": ("load_facts", "project_directory"),
    "toolmason_runtime.install.commands": ("OURS", "CommandDirectory", "State", "command_directories", "read_file"),
    "toolmason_runtime.install.configuration": ("new_configuration",),
    "toolmason_runtime.install.errors": ("InstallError",),
}

__getattr__ = lazy_exports(__name__, EXPORTS)
