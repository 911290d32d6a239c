"""The command line of a generated server. Help and `--list-tools` need neither the SDK nor pydantic."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from toolmason_runtime.audit.variables import variable as audit_variable
from toolmason_runtime.programs.settings import POLICY, ProgramSettings, load_program_settings
from toolmason_runtime.protocol.catalogue import Catalogue, ToolEntry, has_programs
from toolmason_runtime.protocol.fetch_chunk import FETCH_CHUNK, FETCH_CHUNK_ENTRY
from toolmason_runtime.protocol.selection import Selection, visible_tools
from toolmason_runtime.protocol.styles import CLASSIC, STYLES
from toolmason_runtime.server.memory import try_to_protect_memory
from toolmason_runtime.server.option_types import parse_value
from toolmason_runtime.server.options import OptionError, OptionSpec, option_values
from toolmason_runtime.transports.shutdown import Shutdown
from toolmason_runtime.transports.stdio.descriptors import open_standard_streams
from toolmason_runtime.transports.stdio.reserved_streams import reserved_streams

if TYPE_CHECKING:
    from toolmason_runtime.transports.stdio.session import Opened

__all__ = ["OptionSpec", "main", "option_values"]

LEAN = "lean"
ENGINES = ("sdk", LEAN)
"""Implementations of MCP over stdio: with the official SDK, or with the standard library alone."""
_ASYNC_PHASE = "toolmason_runtime.transports.stdio.async_phase"
"""The module that the lean engine imports at the first call."""
DEFAULT_ENGINE = "sdk" if sys.platform == "win32" else LEAN
LOG_LEVELS = ("debug", "info", "warning", "error", "critical")
LOG_FORMATS = ("text", "json")
DEFAULT_LOG_LEVEL = "warning"
STARTUP_CHECK_DELAY_S = 1.0
"""Seconds until the startup check runs; clients have their first responses by then."""
SERVE = "serve"
INSTALL = "install"
AUDIT = "audit"
BUILT_IN = (SERVE, INSTALL, AUDIT)
"""Subcommands of every server."""
_INSTALL_HELP = (INSTALL, "Add this server to the configuration of an MCP client")
_AUDIT_HELP = (AUDIT, "Filter and count the lines of an audit log")
_AUTH = {
    "issuer": "authorization server whose access tokens are accepted",
    "audience": "audience of the access tokens",
    "jwks_url": "public keys of the authorization server",
    "resource": "public address of this server's endpoint, for clients",
}
"""The settings of authorization that a flag replaces."""
USAGE_ERROR = 2
MAX_PORT = 65_535


SubcommandFunction = Callable[[list[str]], int]
"""The function of a subcommand: takes the arguments after its name and returns the exit code."""
StartupCheck = Callable[[], Iterable[object]]
"""The startup check: returns warnings, whose text is logged."""


class Subcommand(NamedTuple):
    """A subcommand of a server: `target` (`module:function`) gets the arguments after its name."""

    name: str
    summary: str
    target: str

    def run(self, argv: Sequence[str]) -> int:
        """Run the subcommand and return its exit code."""
        status: int = _load(self.target)(list(argv))
        return status


def _load(target: str) -> Callable[..., Any]:
    module, _, function = target.partition(":")
    loaded: Callable[..., Any] = getattr(importlib.import_module(module), function)
    return loaded


def main(
    *,
    catalogue: Catalogue,
    load_index: Callable[[], dict[str, Any]],
    load_postings: Callable[[], bytes] | None = None,
    options: Sequence[OptionSpec] = (),
    load_options: Callable[[Any], object] | None = None,
    subcommands: Sequence[Subcommand] = (),
    startup_check: str = "",
    routes: str = "",
    middleware: str = "",
    package: str = "",
    prog: str,
    version: str,
    argv: Sequence[str] | None = None,
    opened: Opened | None = None,
) -> int:
    """Run the command and return its exit code: 0, 2 for an invalid command line, or that of the subcommand.

    Serving takes over the process: its signals, and with stdio its standard streams. When the server ends, the process
    exits with code 0 and without `atexit` hooks; resources of handlers are closed by the server's lifespan.

    Args:
        catalogue: the tools of the server.
        load_index: returns the content of `search_index.json`.
        load_postings: returns the content of `semantic.postings`; None if there is no file.
        options: the manifest's options.
        load_options: makes the object that the lifespan receives from the values of the options.
        subcommands: the manifest's subcommands.
        startup_check: `module:function` that returns warnings, which are logged after the start; empty for none.
        routes: `module:function` that returns further routes over HTTP; empty for none.
        middleware: `module:function` that wraps the application over HTTP; empty for none.
        package: import name of the generated package, which contains `install.json`; empty for a server without it.
        prog: name of the command.
        version: version of the server.
        argv: arguments; by default those of the process.
        opened: the session that `boot.open_session` has begun.
    """
    argv = sys.argv[1:] if argv is None else argv
    for subcommand in subcommands:
        if argv[:1] == [subcommand.name]:
            return subcommand.run(argv[1:])
    if package and argv[:1] == [INSTALL]:
        from toolmason_runtime.install.command import main as install
        from toolmason_runtime.server.package_files import server_files

        return install(argv[1:], package=package, server_files=server_files(package))
    if argv[:1] == [AUDIT]:
        from toolmason_runtime.audit.command import main as audit

        return audit(argv[1:], prog=f"{prog} {AUDIT}", server=catalogue["server"], command=prog)
    shown = [_AUDIT_HELP, *((name, summary) for name, summary, _ in subcommands)]
    parser = _parser(catalogue, options, [_INSTALL_HELP, *shown] if package else shown, prog, version)
    try:
        args = parser.parse_args(argv)
        if args.command != SERVE:
            raise ValueError(f"`{args.command}` must be the first argument: {prog} {args.command} ...")  # noqa: TRY301  reported below
        selection = _selection(catalogue, args)
        commands = _commands(catalogue, args)
        tools = visible_tools(commands.allowed(catalogue) if commands else catalogue, selection)
        if catalogue["discovery"].get("list_fetch_chunk"):
            tools = {**tools, FETCH_CHUNK: FETCH_CHUNK_ENTRY}
    except (argparse.ArgumentError, ValueError) as error:
        return _usage_error(prog, str(error))
    if args.list_tools:
        return _print_tools(tools)
    try:
        values = option_values(options, {option.name: getattr(args, _attribute(option), None) for option in options})
    except OptionError as error:
        return _usage_error(prog, str(error))

    def make_dispatcher() -> Any:
        from toolmason_runtime.server.dispatch import Dispatcher
        from toolmason_runtime.server.preparation import DELAY_S

        return Dispatcher(
            catalogue,
            selection=selection,
            load_index=load_index,
            load_postings=load_postings,
            options=values,
            load_options=load_options,
            commands=commands,
            prepare_after_s=DELAY_S,
            prepare_modules=[_ASYNC_PHASE] if args.engine == LEAN and not args.http else (),
        )

    open_standard_streams()
    if not args.debuggable:
        try_to_protect_memory()
    shutdown = Shutdown()
    shutdown.install()
    from toolmason_runtime.server.logging import log_to_stderr

    log_to_stderr(args.log_level, args.log_format)
    try:
        _start_audit(catalogue, args, prog)
    except ValueError as error:
        return _usage_error(prog, str(error))
    if not args.http and sys.stdin is not None and sys.stdin.isatty():
        print(f"{prog} serves MCP on stdin and stdout: register it with an MCP client, or see --help", file=sys.stderr)  # noqa: T201  for the user
    with nullcontext((0, 1)) if args.http else reserved_streams() as streams:
        if startup_check and not (opened and opened.is_checked) and not args.http:
            _schedule_startup_check(startup_check)
        if args.http:
            from toolmason_runtime.server.workers import is_worker

            if startup_check and not is_worker():
                _schedule_startup_check(startup_check)
            hooks = {"routes": routes, "middleware": middleware}
            return _serve_http(make_dispatcher, catalogue, args, prog=prog, shutdown=shutdown, hooks=hooks)
        _serve_stdio(make_dispatcher, args, shutdown, streams, opened)
    return shutdown.exit()


def _start_audit(catalogue: Catalogue, args: argparse.Namespace, prog: str) -> None:
    """Open the audit log, if the server has one. With several workers, each of them opens it.

    Raises:
        ValueError: it cannot be used.
    """
    if not (args.audit or "audit" in catalogue["server"] or os.environ.get(audit_variable(prog))):
        return
    from toolmason_runtime.audit.start import start_audit, stop_audit
    from toolmason_runtime.server.workers import is_worker
    from toolmason_runtime.transports.shutdown import exit_hooks

    if args.http and args.workers > 1 and not is_worker():
        return
    transport = "http" if args.http else "stdio"
    if start_audit(catalogue["server"], prog, flag=args.audit or "", transport=transport):
        exit_hooks.append(stop_audit)


def _serve_stdio(
    make_dispatcher: Callable[[], Any],
    args: argparse.Namespace,
    shutdown: Shutdown,
    streams: tuple[int, int],
    opened: Opened | None,
) -> None:
    if args.engine == LEAN:
        from toolmason_runtime.transports.stdio.lean import serve

        serve(make_dispatcher, shutdown, *streams, opened)
    else:
        from toolmason_runtime.transports.stdio import sdk

        sdk.serve(_server_maker(make_dispatcher), shutdown, *streams)


def _server_maker(make_dispatcher: Callable[[], Any]) -> Callable[[], Any]:
    """Return a function that makes the SDK's server."""

    def make_server() -> Any:
        from toolmason_runtime.server.sdk import sdk_server

        return sdk_server(make_dispatcher())

    return make_server


def _serve_http(
    make_dispatcher: Callable[[], Any],
    catalogue: Catalogue,
    args: argparse.Namespace,
    *,
    prog: str,
    shutdown: Shutdown,
    hooks: Mapping[str, str],
) -> int:
    from toolmason_runtime.server.http_command import serve_http
    from toolmason_runtime.transports.http_access import AccessError

    loaded = {name: _load(target) for name, target in hooks.items() if target}
    try:
        code = serve_http(make_dispatcher, catalogue, vars(args), prog=prog, shutdown=shutdown, hooks=loaded)
    except AccessError as error:
        return _usage_error(prog, str(error))
    except OSError as error:
        return _usage_error(prog, f"cannot listen on {args.host}:{args.port}: {error.strerror}")
    return code or shutdown.exit()


def _parser(
    catalogue: Catalogue, options: Sequence[OptionSpec], subcommands: Sequence[tuple[str, str]], prog: str, version: str
) -> argparse.ArgumentParser:
    server = catalogue["server"]
    parser = argparse.ArgumentParser(
        prog=prog,
        description=f"{server['title'] or server['name']}, an MCP server on stdin and stdout, or with --http.",
        allow_abbrev=False,
        exit_on_error=False,
    )
    names = [SERVE, *(name for name, _ in subcommands)]
    others = "".join(f"; {name}: {summary}" for name, summary in subcommands).replace("%", "%%")
    parser.add_argument("command", nargs="?", choices=names, default=SERVE, help=f"default: serve{others}")
    parser.add_argument("--version", action="version", version=f"{prog} {version}")
    parser.add_argument("--list-tools", action="store_true", help="print the tools and exit")
    parser.add_argument(
        "--log-level",
        choices=LOG_LEVELS,
        default=DEFAULT_LOG_LEVEL,
        help="minimum level of messages logged to stderr (default: %(default)s)",
    )
    parser.add_argument(
        "--log-format",
        choices=LOG_FORMATS,
        help="format of the log (default: text on a terminal, else json)",
    )
    parser.add_argument(
        "--audit",
        type=_non_empty,
        metavar="FILE",
        help="audit log with one line for each call, approval and refusal: an absolute path, `otel`, or `off`"
        f" [env: {audit_variable(prog)}]",
    )
    parser.add_argument(
        "--engine",
        choices=ENGINES,
        default=DEFAULT_ENGINE,
        help="implementation of MCP over stdio: the official SDK (sdk), or one that starts faster (lean)"
        f" (default: {DEFAULT_ENGINE})",
    )
    parser.add_argument(
        "--debuggable",
        action="store_true",
        help="allow debuggers and other processes of this user to read the memory and environment of the server",
    )
    variable = server.get("expose_all_env")
    text = f"Setting {variable}=true is the same as --classic --all; --discovery overrides the style."
    _add_selection(parser.add_argument_group("tools", text if variable else None), catalogue)
    http = parser.add_argument_group("http")
    _add_http(http)
    if "auth" in server:
        _add_auth(http)
    if has_programs(catalogue):
        _add_commands(parser.add_argument_group("programs"))
    if options:
        _add_options(parser.add_argument_group("options of this server", _secrets_help(options)), options)
    return parser


def own_flags() -> frozenset[str]:
    """Return the flags of every server, without their dashes: `list-tools`, `policy`."""
    server: Any = {
        "server": {"name": "", "title": "", "auth": {}},
        "discovery": {"style": ""},
        "categories": (),
        "clis": ("any",),
        "prompts": {"any": {"command": True}},
    }
    flags = (flag for action in _parser(server, (), (), "", "")._actions for flag in action.option_strings)  # noqa: SLF001
    return frozenset(flag.removeprefix("--") for flag in flags if flag.startswith("--"))


def _add_selection(group: Any, catalogue: Catalogue) -> None:
    default = catalogue["discovery"]["style"]
    group.add_argument(
        "--discovery",
        type=_non_empty,
        metavar="STYLE",
        help=f"discovery style: {', '.join(STYLES)} (default: {default})",
    )
    group.add_argument(
        "--classic",
        action="store_true",
        help="list every `core` tool (with --all: every tool) directly; same as --discovery classic",
    )
    group.add_argument("--all", action="store_true", help="also serve the tools of the tier `all`")
    if any(entry.get("command") for entry in catalogue.get("prompts", {}).values()):
        group.add_argument(
            "--no-command-prompts",
            action="store_true",
            help="do not serve slash commands as prompts, for clients that have their files",
        )
    categories = ", ".join(catalogue["categories"])
    group.add_argument("--toolsets", type=_names, metavar="A,B", help=f"serve only these categories, from {categories}")


def _add_http(group: Any) -> None:
    group.add_argument("--http", action="store_true", help="serve streamable HTTP instead of stdio")
    group.add_argument(
        "--host", type=_non_empty, default="127.0.0.1", help="address to listen on (default: %(default)s)"
    )
    group.add_argument("--port", type=_port, default=8000, help="port; 0 selects a free one (default: %(default)s)")
    group.add_argument(
        "--allow-host",
        action="append",
        type=_non_empty,
        metavar="NAME[:PORT]",
        help="host name that clients may use; required if other machines can reach the address; repeatable",
    )
    group.add_argument(
        "--allow-origin",
        action="append",
        type=_non_empty,
        metavar="ORIGIN",
        help="origin whose web pages may use the server, such as https://app.example; repeatable",
    )
    group.add_argument(
        "--token-file",
        type=_non_empty,
        metavar="FILE",
        help="file with the bearer token that every request needs (default: none on loopback, else a created file)",
    )
    group.add_argument(
        "--workers", type=_positive, default=1, metavar="N", help="processes that serve (default: %(default)s)"
    )
    group.add_argument(
        "--max-requests",
        type=_positive,
        metavar="N",
        help="maximum concurrent requests of a process; further ones get 503 (default: 1000)",
    )
    group.add_argument(
        "--max-client-requests",
        type=_positive,
        metavar="N",
        help="maximum concurrent requests of one client; further ones get 429 (default: half of --max-requests)",
    )
    group.add_argument(
        "--max-client-sessions",
        type=_positive,
        metavar="N",
        help="maximum sessions of one client; a further one ends its oldest idle one (default: 500)",
    )
    group.add_argument(
        "--call-timeout", type=_positive, metavar="SECONDS", help="maximum time of a call (default: none)"
    )


def _add_auth(group: Any) -> None:
    for key, meaning in _AUTH.items():
        group.add_argument(
            f"--auth-{key.replace('_', '-')}",
            type=_non_empty,
            metavar="AUDIENCE" if key == "audience" else "URL",
            help=f"{meaning} (default: [server.auth] of the manifest)",
        )


def _add_commands(group: Any) -> None:
    group.add_argument(
        "--policy",
        type=_non_empty,
        metavar="FILE",
        help=f"TOML policy file: permitted tools, executor, approval rules [env: {POLICY}]",
    )
    group.add_argument(
        "--headless-approve",
        action="store_true",
        help="run tools that need approval even if the client cannot prompt the user",
    )


def _secrets_help(options: Sequence[OptionSpec]) -> str | None:
    """Return the description of the variables of secrets. They have no flag, since processes can read command lines."""
    lines = [
        f"{option.env}: {option.description}{' (required)' if option.required else ''}"
        for option in options
        if option.secret
    ]
    return f"Set these variables in the environment: {'; '.join(lines)}".replace("%", "%%") if lines else None


def _attribute(option: OptionSpec) -> str:
    return f"option_{option.name}"


def _add_options(group: Any, options: Sequence[OptionSpec]) -> None:
    for option in options:
        if option.secret:
            group.add_argument(
                option.flag, nargs="?", action=_RefusedSecret, variable=option.env, help=argparse.SUPPRESS
            )
            continue
        notes = [option.description, f"[env: {option.env}]" if option.env else "", "repeatable" if option.many else ""]
        notes.append("(required)" if option.required else "")
        notes.append(f"(default: {_as_text(option.default)})" if option.default not in {None, ""} else "")
        notes.append(f"(without a value: {option.implicit})" if option.implicit else "")
        settings: dict[str, Any] = {"help": " ".join(note for note in notes if note).replace("%", "%%")}
        if option.type == "boolean":
            group.add_argument(
                option.flag, dest=_attribute(option), action=argparse.BooleanOptionalAction, default=None, **settings
            )
            continue
        if option.implicit:
            settings |= {"nargs": "?", "const": option.implicit}
        group.add_argument(
            option.flag,
            dest=_attribute(option),
            action="append" if option.many else "store",
            type=partial(_parsed, option.type),
            metavar=option.metavar or None,
            **settings,
        )


class _RefusedSecret(argparse.Action):
    """Refuses a secret on the command line, without printing it."""

    def __init__(self, *args: Any, variable: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._variable = variable

    def __call__(self, *_: object) -> None:
        raise argparse.ArgumentError(
            self, f"other processes can read a command line; set the environment variable {self._variable} instead"
        )


def _as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _parsed(kind: str, text: str) -> object:
    try:
        return parse_value(kind, _non_empty(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{error}, got {text!r}") from None


def _non_empty(value: str) -> str:
    """Reject an empty value: it usually is a shell variable that is not set."""
    if not value:
        raise argparse.ArgumentTypeError("expected a value, got an empty one")
    return value


def _names(value: str) -> tuple[str, ...]:
    """Parse names between commas. Reject an empty list, which would select all of them."""
    names = tuple(name.strip() for name in _non_empty(value).split(",") if name.strip())
    if not names:
        raise argparse.ArgumentTypeError(f"expected names between commas, got {value!r}")
    return names


def _port(value: str) -> int:
    try:
        if 0 <= (port := int(value)) <= MAX_PORT:
            return port
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"expected a number from 0 to {MAX_PORT}, got {value!r}")


def _positive(value: str) -> int:
    if value.isascii() and value.isdecimal() and int(value) > 0:
        return int(value)
    raise argparse.ArgumentTypeError(f"expected a number of at least 1, got {value!r}")


def _selection(catalogue: Catalogue, args: argparse.Namespace) -> Selection:
    """Return the selection of the flags, else of the environment, else of the manifest.

    Raises:
        ValueError: the style does not exist, or two flags choose different styles.
    """
    if args.classic and args.discovery not in (None, CLASSIC):
        raise ValueError(f"--classic and --discovery {args.discovery} contradict each other; remove one of them")
    variable = catalogue["server"].get("expose_all_env", "")
    exposes_all = os.environ.get(variable, "").strip().lower() == "true"
    style = args.discovery or (CLASSIC if args.classic or exposes_all else catalogue["discovery"]["style"])
    command_prompts = not getattr(args, "no_command_prompts", False)
    return Selection(style, args.all or exposes_all, args.toolsets or (), command_prompts)


def _commands(catalogue: Catalogue, args: argparse.Namespace) -> ProgramSettings | None:
    """Return the settings for running programs; None without programs.

    Raises:
        ValueError: the policy is invalid.
    """
    if not has_programs(catalogue):
        return None
    return load_program_settings(catalogue, args.policy or "", headless_approve=args.headless_approve)


def _schedule_startup_check(target: str) -> None:
    """Run `target` in a daemon thread and log its warnings: neither the first responses nor the exit wait for it."""
    from threading import Timer

    timer = Timer(STARTUP_CHECK_DELAY_S, _run_startup_check, (target,))
    timer.daemon = True
    timer.start()


def check_at_start(target: str) -> None:
    """Run the startup check and log its warnings; `boot` calls this in a process of its own."""
    from toolmason_runtime.server.logging import log_to_stderr

    log_to_stderr(DEFAULT_LOG_LEVEL, None)
    _run_startup_check(target)
    if sys.stdout is not None:
        sys.stdout.flush()


def _run_startup_check(target: str) -> None:
    import logging

    log = logging.getLogger(__name__)
    try:
        for warning in _load(target)():
            log.warning("%s", warning)
    except Exception:
        log.exception("the startup check failed")


def _print_tools(tools: Mapping[str, ToolEntry]) -> int:
    try:
        sys.stdout.writelines(f"{name}: {entry['summary']}\n" for name, entry in tools.items())
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has closed the pipe. Python would fail again when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _usage_error(prog: str, reason: str) -> int:
    print(f"{prog}: {reason}", file=sys.stderr)  # noqa: T201  for the user
    return USAGE_ERROR
