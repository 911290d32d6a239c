"""The names that generated code imports. Handlers import `toolmason_runtime`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolmason_runtime._lazy import lazy_exports

if TYPE_CHECKING:
    from toolmason_runtime.apis.handler import http_tool as http_tool
    from toolmason_runtime.apis.spec import Api as Api
    from toolmason_runtime.apis.spec import Auth as Auth
    from toolmason_runtime.apis.spec import HttpTool as HttpTool
    from toolmason_runtime.apis.spec import Pagination as Pagination
    from toolmason_runtime.apis.spec import Place as Place
    from toolmason_runtime.apis.spec import Placement as Placement
    from toolmason_runtime.kinds import bind as bind
    from toolmason_runtime.programs.handler import PreRunHook as PreRunHook
    from toolmason_runtime.programs.handler import command as command
    from toolmason_runtime.programs.settings import ProgramSettings as ProgramSettings
    from toolmason_runtime.programs.spec import ArgumentPlacement as ArgumentPlacement
    from toolmason_runtime.programs.spec import CommandTool as CommandTool
    from toolmason_runtime.programs.spec import Permissions as Permissions
    from toolmason_runtime.programs.spec import PlacementKind as PlacementKind
    from toolmason_runtime.programs.spec import Program as Program
    from toolmason_runtime.programs.spec import Risk as Risk
    from toolmason_runtime.protocol.binding import Binding as Binding
    from toolmason_runtime.protocol.catalogue import Catalogue as Catalogue
    from toolmason_runtime.protocol.catalogue import load_catalogue as load_catalogue
    from toolmason_runtime.protocol.completion import Completer as Completer
    from toolmason_runtime.protocol.model import Model as Model
    from toolmason_runtime.protocol.selection import Selection as Selection
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
    from toolmason_runtime.transports.http_app import public as public
    from toolmason_runtime.upstreams.handler import upstream as upstream
    from toolmason_runtime.upstreams.spec import Upstream as Upstream
    from toolmason_runtime.upstreams.spec import UpstreamTool as UpstreamTool

EXPORTS: Final = {
    "toolmason_runtime.apis.handler": ("http_tool",),
    "toolmason_runtime.apis.spec": ("Api", "Auth", "HttpTool", "Pagination", "Place", "Placement"),
    "toolmason_runtime.kinds": ("bind",),
    "toolmason_runtime.programs.handler": ("PreRunHook", "command"),
    "toolmason_runtime.programs.settings": ("ProgramSettings",),
    "toolmason_runtime.programs.spec": (
        "CommandTool",
        "Permissions",
        "PlacementKind",
        "ArgumentPlacement",
        "Program",
        "Risk",
    ),
    "toolmason_runtime.protocol.binding": ("Binding",),
    "toolmason_runtime.protocol.catalogue": ("Catalogue", "load_catalogue"),
    "toolmason_runtime.protocol.completion": ("Completer",),
    "toolmason_runtime.server.dispatch": ("Dispatcher",),
    "toolmason_runtime.protocol.model": ("Model",),
    "toolmason_runtime.protocol.selection": ("Selection",),
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
    "toolmason_runtime.upstreams.spec": ("Upstream", "UpstreamTool"),
}

__getattr__ = lazy_exports(__name__, EXPORTS)
