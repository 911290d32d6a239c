"""The names that generated code imports. Handlers import `toolmason_runtime`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolmason_runtime._lazy import lazy_exports

if TYPE_CHECKING:
    from toolmason_runtime.apis.handler import http_tool as http_tool
    from toolmason_runtime.calls.binding import Binding as Binding
    from toolmason_runtime.calls.completion import Completer as Completer
    from toolmason_runtime.calls.model import Model as Model
    from toolmason_runtime.kinds import bind as bind
    from toolmason_runtime.programs.handler import PreRunHook as PreRunHook
    from toolmason_runtime.programs.handler import command as command
    from toolmason_runtime.programs.settings import ProgramSettings as ProgramSettings
    from toolmason_runtime.server.asgi import AsgiApp as AsgiApp
    from toolmason_runtime.server.command import Command as Command
    from toolmason_runtime.server.command import Subcommand as Subcommand
    from toolmason_runtime.server.command import SubcommandFunction as SubcommandFunction
    from toolmason_runtime.server.dispatch import Dispatcher as Dispatcher
    from toolmason_runtime.server.lifespan import LifespanFactory as LifespanFactory
    from toolmason_runtime.server.options import OptionError as OptionError
    from toolmason_runtime.server.options import OptionSpec as OptionSpec
    from toolmason_runtime.server.options import option_values as option_values
    from toolmason_runtime.server.sdk import sdk_server as sdk_server
    from toolmason_runtime.server.startup_check import StartupCheck as StartupCheck
    from toolmason_runtime.shared.catalogue import Catalogue as Catalogue
    from toolmason_runtime.shared.catalogue import load_catalogue as load_catalogue
    from toolmason_runtime.shared.selection import Selection as Selection
    from toolmason_runtime.shared.specs.program import ArgumentPlacement as ArgumentPlacement
    from toolmason_runtime.shared.specs.program import CommandTool as CommandTool
    from toolmason_runtime.shared.specs.program import Permissions as Permissions
    from toolmason_runtime.shared.specs.program import PlacementKind as PlacementKind
    from toolmason_runtime.shared.specs.program import Program as Program
    from toolmason_runtime.shared.specs.program import Risk as Risk
    from toolmason_runtime.shared.specs.request import Api as Api
    from toolmason_runtime.shared.specs.request import Auth as Auth
    from toolmason_runtime.shared.specs.request import HttpTool as HttpTool
    from toolmason_runtime.shared.specs.request import Pagination as Pagination
    from toolmason_runtime.shared.specs.request import Place as Place
    from toolmason_runtime.shared.specs.request import Placement as Placement
    from toolmason_runtime.shared.specs.upstream import Upstream as Upstream
    from toolmason_runtime.shared.specs.upstream import UpstreamTool as UpstreamTool
    from toolmason_runtime.transports.http_app import public as public
    from toolmason_runtime.upstreams.handler import upstream as upstream

EXPORTS: Final = {
    "toolmason_runtime.apis.handler": ("http_tool",),
    "toolmason_runtime.shared.specs.request": ("Api", "Auth", "HttpTool", "Pagination", "Place", "Placement"),
    "toolmason_runtime.kinds": ("bind",),
    "toolmason_runtime.programs.handler": ("PreRunHook", "command"),
    "toolmason_runtime.programs.settings": ("ProgramSettings",),
    "toolmason_runtime.shared.specs.program": (
        "CommandTool",
        "Permissions",
        "PlacementKind",
        "ArgumentPlacement",
        "Program",
        "Risk",
    ),
    "toolmason_runtime.calls.binding": ("Binding",),
    "toolmason_runtime.shared.catalogue": ("Catalogue", "load_catalogue"),
    "toolmason_runtime.calls.completion": ("Completer",),
    "toolmason_runtime.server.dispatch": ("Dispatcher",),
    "toolmason_runtime.calls.model": ("Model",),
    "toolmason_runtime.shared.selection": ("Selection",),
    "toolmason_runtime.server.asgi": ("AsgiApp",),
    "toolmason_runtime.server.command": ("Command", "Subcommand", "SubcommandFunction"),
    "toolmason_runtime.server.lifespan": ("LifespanFactory",),
    "toolmason_runtime.server.options": (
        "OptionError",
        "OptionSpec",
        "option_values",
    ),
    "toolmason_runtime.server.sdk": ("sdk_server",),
    "toolmason_runtime.server.startup_check": ("StartupCheck",),
    "toolmason_runtime.transports.http_app": ("public",),
    "toolmason_runtime.upstreams.handler": ("upstream",),
    "toolmason_runtime.shared.specs.upstream": ("Upstream", "UpstreamTool"),
}

__getattr__ = lazy_exports(__name__, EXPORTS)
