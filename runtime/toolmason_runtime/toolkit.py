"""The parts of a server that the toolkit runs: for imports, audits, checks of a server, and prepared answers.

All other imports of the toolkit are from `toolmason_runtime.shared`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolmason_runtime._lazy import lazy_exports

if TYPE_CHECKING:
    from toolmason_runtime.apis.select_check import UnfinishedProgramError as UnfinishedProgramError
    from toolmason_runtime.apis.select_check import compile_errors as compile_errors
    from toolmason_runtime.apis.select_check import is_installed as is_installed
    from toolmason_runtime.audit.command import audit_command as audit_command
    from toolmason_runtime.audit.command import shown as shown
    from toolmason_runtime.audit.reader import DamagedLine as DamagedLine
    from toolmason_runtime.audit.reader import log_files as log_files
    from toolmason_runtime.audit.reader import read_lines as read_lines
    from toolmason_runtime.audit.settings import audit_settings as audit_settings
    from toolmason_runtime.calls.dispatcher import KnownClient as KnownClient
    from toolmason_runtime.calls.in_process import InProcessContext as InProcessContext
    from toolmason_runtime.calls.in_process import OnProgress as OnProgress
    from toolmason_runtime.calls.in_process import OnQuestion as OnQuestion
    from toolmason_runtime.discovery import style_for as style_for
    from toolmason_runtime.programs.argv import UnsafeArgumentError as UnsafeArgumentError
    from toolmason_runtime.programs.argv import build_invocation as build_invocation
    from toolmason_runtime.programs.argv import expand_variables as expand_variables
    from toolmason_runtime.programs.argv import items as items
    from toolmason_runtime.programs.argv import with_joined_maps as with_joined_maps
    from toolmason_runtime.programs.execute import Command as Command
    from toolmason_runtime.programs.execute import base_environment as base_environment
    from toolmason_runtime.programs.execute import run as run
    from toolmason_runtime.programs.invocation import Invocation as Invocation
    from toolmason_runtime.programs.launcher_client import Limits as Limits
    from toolmason_runtime.programs.linear_regex import Pattern as Pattern
    from toolmason_runtime.programs.linear_regex import PatternError as PatternError
    from toolmason_runtime.programs.policy import Approval as Approval
    from toolmason_runtime.programs.policy import DefaultAccess as DefaultAccess
    from toolmason_runtime.programs.policy import ExecutorName as ExecutorName
    from toolmason_runtime.programs.policy import HeadlessMode as HeadlessMode
    from toolmason_runtime.programs.policy import Policy as Policy
    from toolmason_runtime.programs.policy_file import PolicyError as PolicyError
    from toolmason_runtime.programs.policy_file import load_policy as load_policy
    from toolmason_runtime.programs.running_process import RunningProcess as RunningProcess
    from toolmason_runtime.programs.settings import POLICY as POLICY
    from toolmason_runtime.programs.settings import ProgramSettings as ProgramSettings
    from toolmason_runtime.remote.parse import RemoteDataError as RemoteDataError
    from toolmason_runtime.remote.parse import TooDeepError as TooDeepError
    from toolmason_runtime.remote.parse import TooManyValuesError as TooManyValuesError
    from toolmason_runtime.remote.parse import parse as parse
    from toolmason_runtime.server.command import BUILT_IN as BUILT_IN
    from toolmason_runtime.server.dispatch import Dispatcher as Dispatcher
    from toolmason_runtime.server.flags import own_flags as own_flags
    from toolmason_runtime.server.flags import prepared_flags as prepared_flags
    from toolmason_runtime.server.options import OptionSpec as OptionSpec
    from toolmason_runtime.shared.subcommands import SUBCOMMANDS as SUBCOMMANDS
    from toolmason_runtime.shared.subcommands import TOOLS as TOOLS
    from toolmason_runtime.sql.connections import Connections as Connections
    from toolmason_runtime.sql.failures import ERRORS as ERRORS
    from toolmason_runtime.sql.failures import reason as reason
    from toolmason_runtime.sql.open import open_connections as open_connections
    from toolmason_runtime.sql.packages import EXTRAS as EXTRAS
    from toolmason_runtime.sql.packages import missing_package as missing_package
    from toolmason_runtime.sql.settings import url_secrets as url_secrets
    from toolmason_runtime.tool_commands.completion import SHELLS as SHELLS
    from toolmason_runtime.tool_commands.completion import completion_script as completion_script
    from toolmason_runtime.tool_commands.declarations import CommandCategory as CommandCategory
    from toolmason_runtime.tool_commands.declarations import CommandEntry as CommandEntry
    from toolmason_runtime.tool_commands.declarations import CommandOption as CommandOption
    from toolmason_runtime.tool_commands.declarations import ToolCommand as ToolCommand
    from toolmason_runtime.transports.framing import error_message as error_message
    from toolmason_runtime.transports.messages import MalformedError as MalformedError
    from toolmason_runtime.upstreams.confinement import Confinement as Confinement
    from toolmason_runtime.upstreams.confinement import home_directory as home_directory
    from toolmason_runtime.upstreams.confinement import is_script as is_script
    from toolmason_runtime.upstreams.confinement import sandbox_advice as sandbox_advice
    from toolmason_runtime.upstreams.foreign_text import visible_text as visible_text
    from toolmason_runtime.upstreams.limits import LimitedTransport as LimitedTransport
    from toolmason_runtime.upstreams.process import UpstreamProcess as UpstreamProcess
    from toolmason_runtime.upstreams.process import receive_limited as receive_limited
    from toolmason_runtime.wire.json_boundary import problems_of as problems_of
    from toolmason_runtime.wire.results import compact_json as compact_json

EXPORTS: Final = {
    "toolmason_runtime.sql.connections": ("Connections",),
    "toolmason_runtime.sql.failures": ("ERRORS", "reason"),
    "toolmason_runtime.sql.open": ("open_connections",),
    "toolmason_runtime.sql.packages": ("EXTRAS", "missing_package"),
    "toolmason_runtime.sql.settings": ("url_secrets",),
    "toolmason_runtime.apis.select_check": ("UnfinishedProgramError", "compile_errors", "is_installed"),
    "toolmason_runtime.audit.command": ("audit_command", "shown"),
    "toolmason_runtime.audit.reader": ("DamagedLine", "log_files", "read_lines"),
    "toolmason_runtime.audit.settings": ("audit_settings",),
    "toolmason_runtime.discovery": ("style_for",),
    "toolmason_runtime.programs.argv": (
        "UnsafeArgumentError",
        "build_invocation",
        "expand_variables",
        "items",
        "with_joined_maps",
    ),
    "toolmason_runtime.programs.execute": ("Command", "base_environment", "run"),
    "toolmason_runtime.programs.invocation": ("Invocation",),
    "toolmason_runtime.programs.launcher_client": ("Limits",),
    "toolmason_runtime.programs.linear_regex": ("Pattern", "PatternError"),
    "toolmason_runtime.programs.policy": ("Approval", "DefaultAccess", "ExecutorName", "HeadlessMode", "Policy"),
    "toolmason_runtime.programs.policy_file": ("PolicyError", "load_policy"),
    "toolmason_runtime.programs.running_process": ("RunningProcess",),
    "toolmason_runtime.programs.settings": ("POLICY", "ProgramSettings"),
    "toolmason_runtime.remote.parse": ("RemoteDataError", "TooDeepError", "TooManyValuesError", "parse"),
    "toolmason_runtime.server.command": ("BUILT_IN",),
    "toolmason_runtime.tool_commands.completion": ("SHELLS", "completion_script"),
    "toolmason_runtime.tool_commands.declarations": (
        "CommandCategory",
        "CommandEntry",
        "CommandOption",
        "ToolCommand",
    ),
    "toolmason_runtime.shared.subcommands": ("SUBCOMMANDS", "TOOLS"),
    "toolmason_runtime.calls.dispatcher": ("KnownClient",),
    "toolmason_runtime.calls.in_process": ("InProcessContext", "OnProgress", "OnQuestion"),
    "toolmason_runtime.server.dispatch": ("Dispatcher",),
    "toolmason_runtime.server.flags": ("own_flags", "prepared_flags"),
    "toolmason_runtime.server.options": ("OptionSpec",),
    "toolmason_runtime.transports.framing": ("error_message",),
    "toolmason_runtime.transports.messages": ("MalformedError",),
    "toolmason_runtime.upstreams.confinement": ("Confinement", "home_directory", "is_script", "sandbox_advice"),
    "toolmason_runtime.upstreams.foreign_text": ("visible_text",),
    "toolmason_runtime.upstreams.limits": ("LimitedTransport",),
    "toolmason_runtime.upstreams.process": ("UpstreamProcess", "receive_limited"),
    "toolmason_runtime.wire.json_boundary": ("problems_of",),
    "toolmason_runtime.wire.results": ("compact_json",),
}

__getattr__ = lazy_exports(__name__, EXPORTS)
