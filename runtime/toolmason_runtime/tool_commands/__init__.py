"""Tools as shell commands: the declarations of a generated server, and the code that runs a command.

Generated modules import the declarations from here. Click and the server are imported only when a command needs them.
"""

from __future__ import annotations

from toolmason_runtime.tool_commands.declarations import CommandCategory as CommandCategory
from toolmason_runtime.tool_commands.declarations import CommandEntry as CommandEntry
from toolmason_runtime.tool_commands.declarations import CommandOption as CommandOption
from toolmason_runtime.tool_commands.declarations import ToolCommand as ToolCommand
from toolmason_runtime.tool_commands.server_commands import ServerCommands as ServerCommands
