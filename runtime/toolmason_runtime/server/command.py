"""The command line of a generated server. Help and `--list-tools` need neither the SDK nor pydantic."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from toolmason_runtime.programs.settings import POLICY, ProgramSettings, commands_for
from toolmason_runtime.protocol.catalogue import Catalogue, ToolEntry
from toolmason_runtime.protocol.selection import STYLES, Selection, visible_tools
from toolmason_runtime.server.options import OptionSpec, option_values
from toolmason_runtime.transports.shutdown import Ending

__all__ = ["OptionSpec", "main", "option_values"]

EXPOSE_ALL = "GEMINI_EXPOSE_ALL_TOOLS"
"""Environment variable that, when `true`, lists every tool."""
_ENVIRONMENT = f"{EXPOSE_ALL}=true in the environment stands for --classic --all; --discovery still chooses the style."
LOG_LEVELS = ("debug", "info", "warning", "error", "critical")
_TALKATIVE = ("mcp", "sse_starlette")
"""Loggers that on `debug` log the messages themselves: what was asked, and what was answered."""
CHECK_AFTER_S = 1.0
"""Seconds after which the check at the start runs: clients have their first answers by then."""
SERVE = "serve"
WRONG_USAGE = 2
MAX_PORT = 65_535


class Subcommand(NamedTuple):
    """Something else that the command does: `target` (`module:function`) is given the arguments after its name."""

    name: str
    summary: str
    target: str

    def run(self, argv: Sequence[str]) -> int:
        """Do it, and give the exit status."""
        module, _, function = self.target.partition(":")
        status: int = getattr(importlib.import_module(module), function)(argv)
        return status


def main(
    *,
    catalogue: Catalogue,
    load_index: Callable[[], dict[str, Any]],
    options: Sequence[OptionSpec] = (),
    subcommands: Sequence[Subcommand] = (),
    startup_check: str = "",
    prog: str,
    version: str,
    argv: Sequence[str] | None = None,
) -> int:
    """Run the command and give its exit status: 0, or 2 if the command line is wrong; that of a subcommand is its own.

    `startup_check` is the `module:function` that gives warnings to log once the server runs, or empty.

    Serving takes the process over: its signals, with stdio its standard streams. When the server ends, so does the
    process, with status 0 and without `atexit` hooks; what a handler holds is closed by the server's lifespan.
    """
    given = sys.argv[1:] if argv is None else argv
    for subcommand in subcommands:
        if given[:1] == [subcommand.name]:
            return subcommand.run(given[1:])
    parser = _parser(catalogue, options, subcommands, prog, version)
    try:
        chosen = parser.parse_args(given)
        if chosen.command != SERVE:
            raise ValueError(f"`{chosen.command}` comes first: {prog} {chosen.command} ...")  # noqa: TRY301  as what else is refused
        selection = _selection(catalogue, chosen)
        commands = _commands(catalogue, chosen)
        tools = visible_tools(commands.allowed(catalogue) if commands else catalogue, selection)
    except (argparse.ArgumentError, ValueError) as error:
        return _refused(prog, str(error))
    if chosen.list_tools:
        return _print_tools(tools)
    values = option_values(options, {option.name: getattr(chosen, f"option_{option.name}") for option in options})

    def make_server() -> Any:
        from toolmason_runtime.server.dispatch import Dispatcher
        from toolmason_runtime.server.sdk import sdk_server

        return sdk_server(
            Dispatcher(catalogue, selection=selection, load_index=load_index, options=values, commands=commands)
        )

    _open_standard_streams()
    if not chosen.debuggable:
        _protect_memory()
    ending = Ending()
    ending.install()
    _log_to_stderr(chosen.log_level)
    if startup_check:
        _check_later(startup_check)
    return (_serve_http if chosen.http else _serve_stdio)(make_server, chosen, prog, ending)


def _open_standard_streams() -> None:
    """Open the null device in place of standard streams that are closed.

    Otherwise the next descriptors that are opened, such as our own sockets, take their numbers, and are read as input.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)


def _serve_stdio(make_server: Callable[[], Any], chosen: argparse.Namespace, prog: str, ending: Ending) -> NoReturn:  # noqa: ARG001  as _serve_http
    if sys.stdin is not None and sys.stdin.isatty():
        print(f"{prog} speaks MCP on stdin and stdout: register it with an MCP client, or see --help", file=sys.stderr)  # noqa: T201  said to a person
    from toolmason_runtime.transports import stdio

    stdio.serve(make_server, ending)
    ending.leave()


def _serve_http(make_server: Callable[[], Any], chosen: argparse.Namespace, prog: str, ending: Ending) -> int:
    from toolmason_runtime.transports import http
    from toolmason_runtime.transports.http_access import AccessError

    is_remote = not http.is_loopback(chosen.host)
    if is_remote and not chosen.allow_host:
        return _refused(
            prog,
            f"--host {chosen.host} can be reached from other machines: name the hosts that clients may use with"
            " --allow-host NAME, and give them the bearer token (of --token-file FILE, or of a file that is created)",
        )
    try:
        token, note = _token(prog, chosen.token_file, is_required=is_remote)
        http.serve(
            make_server,
            ending,
            host=chosen.host,
            port=chosen.port,
            allowed_hosts=chosen.allow_host,
            allowed_origins=chosen.allow_origin,
            token=token,
            note=note,
        )
    except AccessError as error:
        return _refused(prog, str(error))
    except OSError as error:
        return _refused(prog, f"cannot listen on {chosen.host}:{chosen.port}: {error.strerror}")
    return ending.leave()


def _token(prog: str, path: str | None, *, is_required: bool) -> tuple[str, str]:
    """Return the bearer token, empty if there is none, and a note on the file that was created for it.

    Raises:
        AccessError: the file cannot be used.
    """
    from toolmason_runtime.transports.bearer_token import own_token, read_token

    if path:
        return read_token(Path(path)), ""
    if not is_required:
        return "", ""
    token, place = own_token(prog)
    return token, f" (bearer token in {place})"


def _parser(
    catalogue: Catalogue, options: Sequence[OptionSpec], subcommands: Sequence[Subcommand], prog: str, version: str
) -> argparse.ArgumentParser:
    server = catalogue["server"]
    parser = argparse.ArgumentParser(
        prog=prog,
        description=f"{server['title'] or server['name']}, an MCP server on stdin and stdout, or with --http.",
        allow_abbrev=False,
        exit_on_error=False,
    )
    names = [SERVE, *(each.name for each in subcommands)]
    others = "".join(f"; {each.name}: {each.summary}" for each in subcommands).replace("%", "%%")
    parser.add_argument("command", nargs="?", choices=names, default=SERVE, help=f"what to do (default: serve){others}")
    parser.add_argument("--version", action="version", version=f"{prog} {version}")
    parser.add_argument("--list-tools", action="store_true", help="print the tools and end")
    parser.add_argument("--log-level", choices=LOG_LEVELS, default="warning", help="least level logged to stderr")
    parser.add_argument(
        "--debuggable",
        action="store_true",
        help="let debuggers and other processes of this user read the memory and environment of the server",
    )
    _add_selection(parser.add_argument_group("tools", _ENVIRONMENT), catalogue)
    _add_http(parser.add_argument_group("http"))
    if catalogue.get("clis"):
        _add_commands(parser.add_argument_group("programs"))
    if options:
        _add_options(parser.add_argument_group("options of this server"), options)
    return parser


def own_flags() -> frozenset[str]:
    """Return the flags of every server, without their dashes: `list-tools`, `policy`."""
    server: Any = {"server": {"name": "", "title": ""}, "discovery": {"style": ""}, "categories": (), "clis": ("any",)}
    flags = (flag for action in _parser(server, (), (), "", "")._actions for flag in action.option_strings)  # noqa: SLF001
    return frozenset(flag.removeprefix("--") for flag in flags if flag.startswith("--"))


def _add_selection(group: Any, catalogue: Catalogue) -> None:
    default = catalogue["discovery"]["style"]
    group.add_argument(
        "--discovery",
        type=_filled,
        metavar="STYLE",
        help=f"how tools are found: {', '.join(STYLES)} (default: {default})",
    )
    group.add_argument(
        "--classic",
        action="store_true",
        help="list every tool of the tier `core`, with --all of each tier: the same as --discovery classic",
    )
    group.add_argument("--all", action="store_true", help="serve the tools of the tier `all` too")
    categories = ", ".join(catalogue["categories"])
    group.add_argument("--toolsets", type=_names, metavar="A,B", help=f"serve these categories only, of {categories}")


def _add_http(group: Any) -> None:
    group.add_argument("--http", action="store_true", help="serve streamable HTTP instead of stdio")
    group.add_argument("--host", type=_filled, default="127.0.0.1", help="address to listen on (default: %(default)s)")
    group.add_argument("--port", type=_port, default=8000, help="port; 0 takes a free one (default: %(default)s)")
    group.add_argument(
        "--allow-host",
        action="append",
        type=_filled,
        default=[],
        metavar="NAME[:PORT]",
        help="host name that clients may use, required where other machines can reach the address; repeatable",
    )
    group.add_argument(
        "--allow-origin",
        action="append",
        type=_filled,
        default=[],
        metavar="ORIGIN",
        help="origin whose web pages may use the server, such as https://app.example; repeatable",
    )
    group.add_argument(
        "--token-file",
        type=_filled,
        metavar="FILE",
        help="file with the bearer token that every request needs (default: none on loopback, else one is made)",
    )


def _add_commands(group: Any) -> None:
    group.add_argument(
        "--policy",
        type=_filled,
        metavar="FILE",
        help=f"what programs may be run, how, and what is asked before: a TOML file [env: {POLICY}]",
    )
    group.add_argument(
        "--headless-approve",
        action="store_true",
        help="run what needs approval also where the client has no way to ask a person",
    )


def _add_options(group: Any, options: Sequence[OptionSpec]) -> None:
    for option in options:
        notes = [option.description, f"[env: {option.env}]" if option.env else "", "repeatable" if option.many else ""]
        notes.append(f"(default: {option.default})" if option.default else "")
        group.add_argument(
            option.flag,
            dest=f"option_{option.name}",
            action="append" if option.many else "store",
            type=_filled,
            metavar=option.metavar or None,
            help=" ".join(note for note in notes if note).replace("%", "%%"),
        )


def _filled(value: str) -> str:
    """Refuse an empty value: it is a variable that was not set, and must not pass for leaving the flag out."""
    if not value:
        raise argparse.ArgumentTypeError("expected a value, got an empty one")
    return value


def _names(value: str) -> tuple[str, ...]:
    """Read names between commas. None at all is refused: it would pass for all of them."""
    names = tuple(name.strip() for name in _filled(value).split(",") if name.strip())
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


def _selection(catalogue: Catalogue, chosen: argparse.Namespace) -> Selection:
    """Give what the flags choose, then the environment, then the manifest.

    Raises:
        ValueError: there is no such style, or two flags choose different ones.
    """
    if chosen.classic and chosen.discovery not in (None, "classic"):
        raise ValueError(f"--classic and --discovery {chosen.discovery} contradict each other: give one of them")
    shows_all = os.environ.get(EXPOSE_ALL, "").strip().lower() == "true"
    style = chosen.discovery or ("classic" if chosen.classic or shows_all else catalogue["discovery"]["style"])
    return Selection(style, chosen.all or shows_all, chosen.toolsets or ())


def _commands(catalogue: Catalogue, chosen: argparse.Namespace) -> ProgramSettings | None:
    """Give how programs are run; None if there are none.

    Raises:
        ValueError: the policy cannot be used.
    """
    if not catalogue.get("clis"):
        return None
    return commands_for(catalogue, chosen.policy or "", headless_approve=chosen.headless_approve)


def _protect_memory() -> None:
    from toolmason_runtime.server.memory import protect_memory

    with suppress(OSError):
        protect_memory()


def _log_to_stderr(level: str) -> None:
    import logging

    from toolmason_runtime.server.logging import LogLines

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(LogLines())
    logging.basicConfig(handlers=[handler], level=level.upper())
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(max(logging.INFO, logging.getLogger().getEffectiveLevel()))


def _check_later(target: str) -> None:
    """Log what `target` warns of, from a thread of its own: the first answers do not wait, and nor does the end."""
    from threading import Timer

    timer = Timer(CHECK_AFTER_S, _check, (target,))
    timer.daemon = True
    timer.start()


def _check(target: str) -> None:
    import logging

    log = logging.getLogger(__name__)
    module, _, function = target.partition(":")
    try:
        for warning in getattr(importlib.import_module(module), function)():
            log.warning("%s", warning)
    except Exception:
        log.exception("the check at the start failed")


def _print_tools(tools: Mapping[str, ToolEntry]) -> int:
    try:
        sys.stdout.writelines(f"{name}: {entry['summary']}\n" for name, entry in tools.items())
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read it has seen enough. Python would complain once more when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _refused(prog: str, reason: str) -> int:
    print(f"{prog}: {reason}", file=sys.stderr)  # noqa: T201  said to a person
    return WRONG_USAGE
