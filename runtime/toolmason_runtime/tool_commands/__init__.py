"""Tools as commands of a shell: what a generated server declares about each, and how one runs.

Generated modules import the declarations from here. Click is imported when a command runs, the server at its call.
"""

from __future__ import annotations

from toolmason_runtime.tool_commands.declarations import CommandCategory as CommandCategory
from toolmason_runtime.tool_commands.declarations import CommandEntry as CommandEntry
from toolmason_runtime.tool_commands.declarations import CommandOption as CommandOption
from toolmason_runtime.tool_commands.declarations import ToolCommand as ToolCommand
from toolmason_runtime.tool_commands.server_commands import ServerCommands as ServerCommands
