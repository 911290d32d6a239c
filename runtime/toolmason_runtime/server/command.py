"""The command of a generated server. Help and `--list-tools` need neither the SDK nor pydantic."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from toolmason_runtime.audit.variables import variable as audit_variable
from toolmason_runtime.programs.settings import ProgramSettings, load_program_settings
from toolmason_runtime.server.flags import SERVE, make_parser, option_attribute
from toolmason_runtime.server.memory import try_to_protect_memory
from toolmason_runtime.server.options import OptionError, OptionSpec, OptionValues, option_values
from toolmason_runtime.server.startup_check import schedule_startup_check
from toolmason_runtime.shared.built_in import requested
from toolmason_runtime.shared.catalogue import Catalogue, ToolEntry, has_programs
from toolmason_runtime.shared.client_profiles import TOOLMASON
from toolmason_runtime.shared.engines import LEAN
from toolmason_runtime.shared.extras import CODE as CODE_EXTRA
from toolmason_runtime.shared.extras import HTTP, USERS, missing_extra
from toolmason_runtime.shared.selection import Selection, visible_tools
from toolmason_runtime.shared.styles import CLASSIC, CODE
from toolmason_runtime.shared.subcommands import COMPLETION, PROGRAMS, SUBCOMMANDS, TOOLS
from toolmason_runtime.shared.suggestions import did_you_mean
from toolmason_runtime.transports.shutdown import Shutdown
from toolmason_runtime.transports.stdio.descriptors import open_standard_streams
from toolmason_runtime.transports.stdio.reserved_streams import reserved_streams

if TYPE_CHECKING:
    from toolmason_runtime.server.dispatch import Dispatcher
    from toolmason_runtime.tool_commands import ServerCommands
    from toolmason_runtime.transports.stdio.session import Opened

INSTALL: Final = "install"
AUDIT: Final = "audit"
BUILT_IN: Final = (SERVE, INSTALL, AUDIT, TOOLS, COMPLETION, PROGRAMS)
"""Subcommands of every server."""
_TOOL_WORDS: Final = frozenset(name for name, _ in SUBCOMMANDS)
USAGE_ERROR: Final = 2
_INSTALL_HELP: Final = (INSTALL, "Add this server to the configuration of an MCP client")
_AUDIT_HELP: Final = (AUDIT, "Filter and count the lines of an audit log")
_ASYNC_PHASE: Final = "toolmason_runtime.transports.stdio.async_phase"
"""The module that the lean engine imports at the first call."""

SubcommandFunction = Callable[[list[str]], int]
"""The function of a subcommand: takes the arguments after its name and returns the exit code."""


class Subcommand(NamedTuple):
    """A subcommand of a server: `target` (`module:function`) gets the arguments after its name."""

    name: str
    summary: str
    target: str

    def run(self, argv: Sequence[str]) -> int:
        """Run the subcommand and return its exit code."""
        status: int = resolve_name(self.target)(list(argv))
        return status


@dataclass(frozen=True, kw_only=True)
class Command:
    """The command of a server. `module:function` names a function of the project; an empty text means none."""

    catalogue: Catalogue
    """The tools of the server."""
    load_index: Callable[[], dict[str, Any]]
    """Returns the content of `search_index.json`."""
    load_postings: Callable[[], bytes] | None = None
    """Returns the content of `semantic.postings`; None if there is no file."""
    options: Sequence[OptionSpec] = ()
    """The manifest's options."""
    load_options: Callable[[Any], object] | None = None
    """Makes the object that the lifespan receives from the values of the options."""
    subcommands: Sequence[Subcommand] = ()
    """The manifest's subcommands."""
    startup_check: str = ""
    """`module:function` that returns warnings, which are logged after the start."""
    routes: str = ""
    """`module:function` that returns further routes over HTTP."""
    middleware: str = ""
    """`module:function` that wraps the application over HTTP."""
    tool_commands: str = ""
    """`module:constant` with the commands of tools; empty for a server without them."""
    arguments: Sequence[str] = ()
    """Options of the server before the command of a tool."""
    extra: str = ""
    """Extra of toolmason that tools of the server need on every transport."""
    package: str = ""
    """Import name of the generated package, which contains `install.json`; empty for a server without it."""
    prog: str
    """Name of the command."""
    version: str
    """Version of the server."""

    def run(self, argv: Sequence[str] | None = None, opened: Opened | None = None) -> int:
        """Run the command and return its exit code: 0, 2 for an invalid command line, or that of the subcommand.

        Serving takes over the process: its signals, and with stdio its standard streams. When the server ends, the
        process exits with code 0 and without `atexit` hooks; resources of handlers are closed by its lifespan.

        Args:
            argv: arguments; by default those of the process.
            opened: the session that `boot.open_session` has begun.
        """
        argv = sys.argv[1:] if argv is None else argv
        if (subcommand := self._subcommand(argv[0] if argv else "")) is not None:
            return subcommand(list(argv[1:]))
        if not _TOOL_WORDS.isdisjoint(argv) and (code := self._run_tool(argv)) is not None:
            return code
        try:
            args = self._parsed(argv)
        except (argparse.ArgumentError, ValueError) as error:
            # A server that starts does not import its commands: other words are none of its options.
            if (code := self._run_tool(argv)) is not None:
                return code
            return self._usage_error(self._unknown_command(argv[0] if argv else "") or error)
        if args.prefix is None:
            return self.serve(args, opened)
        catalogue: Catalogue = {**self.catalogue, "discovery": {**self.catalogue["discovery"], "prefix": args.prefix}}
        return replace(self, catalogue=catalogue).serve(args, opened)

    def serve(self, args: argparse.Namespace, opened: Opened | None = None) -> int:
        """Serve with the parsed arguments and return the exit code."""
        try:
            selection = self._selection(args)
            programs = self._programs(args)
        except (argparse.ArgumentError, ValueError) as error:
            return self._usage_error(error)
        if args.list_tools:
            return _print_tools(self._tools(selection, programs))
        if problem := self._missing_extra(args, selection.style):
            return self._usage_error(problem)
        try:
            values = option_values(
                self.options, {option.name: getattr(args, option_attribute(option), None) for option in self.options}
            )
        except OptionError as error:
            return self._usage_error(error)
        make_dispatcher = partial(self._dispatcher, args, selection, programs, values)
        open_standard_streams()
        if not args.debuggable:
            try_to_protect_memory()
        shutdown = Shutdown()
        shutdown.install()
        from toolmason_runtime.server.logging import log_to_stderr

        log_to_stderr(args.log_level, args.log_format)
        try:
            self._start_audit(args)
        except ValueError as error:
            return self._usage_error(error)
        if self.load_postings and opened is None:  # otherwise its checksum was compared
            self._check_postings(self.load_postings)
        if args.http:
            return self.serve_http(make_dispatcher, args, shutdown)
        return self.serve_stdio(make_dispatcher, args.engine, shutdown, opened)

    def serve_stdio(
        self, make_dispatcher: Callable[[], Any], engine: str, shutdown: Shutdown, opened: Opened | None
    ) -> int:
        """Serve on the standard streams until the client closes its end or a signal arrives."""
        if sys.stdin is not None and sys.stdin.isatty():
            print(  # noqa: T201  for the user
                f"{self.prog} serves MCP on stdin and stdout: register it with an MCP client, or see --help",
                file=sys.stderr,
            )
        with reserved_streams() as streams:
            if self.startup_check and not (opened and opened.is_checked):
                schedule_startup_check(self.startup_check)
            if engine == LEAN:
                from toolmason_runtime.server.preparation import prepare_first_call
                from toolmason_runtime.transports.stdio.lean import serve

                prepare = partial(prepare_first_call, self.package)
                serve(make_dispatcher, shutdown, *streams, opened, prepare=prepare)
            else:
                from toolmason_runtime.server.sdk import sdk_server
                from toolmason_runtime.transports.stdio import sdk

                sdk.serve(lambda: sdk_server(make_dispatcher()), shutdown, *streams)
        return shutdown.exit()

    def serve_http(self, make_dispatcher: Callable[[], Any], args: argparse.Namespace, shutdown: Shutdown) -> int:
        """Serve streamable HTTP until a signal arrives; with several workers, supervise them."""
        from toolmason_runtime.server.http_command import serve_http
        from toolmason_runtime.server.workers import is_worker
        from toolmason_runtime.transports.http_access import AccessError

        if self.startup_check and not is_worker():
            schedule_startup_check(self.startup_check)
        hooks = {"routes": self.routes, "middleware": self.middleware}
        loaded = {name: resolve_name(target) for name, target in hooks.items() if target}
        try:
            code = serve_http(
                make_dispatcher, self.catalogue, vars(args), prog=self.prog, shutdown=shutdown, hooks=loaded
            )
        except AccessError as error:
            return self._usage_error(error)
        except OSError as error:
            return self._usage_error(f"cannot listen on {args.host}:{args.port}: {error.strerror}")
        return code or shutdown.exit()

    def _subcommand(self, name: str) -> SubcommandFunction | None:
        """Return the function of a subcommand other than `serve`; None for any other first argument."""
        for subcommand in self.subcommands:
            if subcommand.name == name:
                return subcommand.run
        return {AUDIT: self._audit, INSTALL: self._install if self.package else None}.get(name)

    def _install(self, argv: list[str]) -> int:
        from toolmason_runtime.install.command import main
        from toolmason_runtime.server.package_files import server_files

        return main(argv, package=self.package, server_files=server_files(self.package))

    def _audit(self, argv: list[str]) -> int:
        from toolmason_runtime.audit.command import audit_command

        return audit_command(argv, prog=f"{self.prog} {AUDIT}", server=self.catalogue["server"], command=self.prog)

    def _run_tool(self, argv: Sequence[str]) -> int | None:
        """Run the command of a tool after options of the server; return None if there is none."""
        if not self.tool_commands or all(word.startswith("-") for word in argv):
            return None
        commands: ServerCommands = resolve_name(self.tool_commands)
        for index, word in enumerate(argv):
            # The value of an option may be such a word, too: `--auto-approve notes`.
            if commands.has(word) and self._are_options(argv[:index]) and not self._are_options(argv[: index + 1]):
                return commands.run(argv[index:], partial(replace, self, arguments=argv[:index]))
        return None

    def _unknown_command(self, word: str) -> str:
        """Return the error for a first argument that is no command; the empty string for an option or `serve`."""
        if not self.tool_commands or word in {"", SERVE} or word.startswith("-"):
            return ""
        commands: ServerCommands = resolve_name(self.tool_commands)
        names = [*BUILT_IN, *(name for name, _, _ in self.subcommands), *commands.words]
        hint = did_you_mean(word, names)
        return f"unknown command `{word}`; {f'{hint} ' if hint else ''}`{self.prog} {TOOLS}` lists the tools"

    def _are_options(self, argv: Sequence[str]) -> bool:
        try:
            return bool(self._parsed(argv).command == SERVE)
        except (argparse.ArgumentError, ValueError):
            return False

    def open_tools(self) -> Dispatcher:
        """Return a dispatcher that calls every tool by its own name, for commands of tools.

        Raises:
            ValueError: an option of the server or its environment is wrong, or an extra is missing.
        """
        from toolmason_runtime.server.logging import log_to_stderr
        from toolmason_runtime.tool_commands.in_process import MAX_WAIT_S

        try:
            args = self._parsed(self.arguments)
            _require_none(self._missing_extra(args, CLASSIC))
            selection = Selection(CLASSIC, True, args.toolsets or ())
            values = option_values(
                self.options, {option.name: getattr(args, option_attribute(option), None) for option in self.options}
            )
            log_to_stderr(args.log_level, args.log_format)
            self._start_audit(args)
            # A tool may wait for the person at the terminal.
            timeouts = {"server": {**self.catalogue["server"], "tool_timeouts": {TOOLMASON: MAX_WAIT_S}}}
            catalogue: Any = {**self.catalogue, **timeouts}
            return self._dispatcher(args, selection, self._programs(args), values, catalogue)
        except (argparse.ArgumentError, OptionError, ValueError) as error:
            raise ValueError(f"{self.prog}: {error}") from error

    def close(self) -> None:
        """Close the audit log of `open_tools`."""
        from toolmason_runtime.transports.shutdown import exit_hooks

        while exit_hooks:
            exit_hooks.pop()()

    def _parsed(self, argv: Sequence[str]) -> argparse.Namespace:
        """Parse the arguments of `serve`.

        Raises:
            argparse.ArgumentError: a flag is unknown, or its value is invalid.
            ValueError: another subcommand is not the first argument.
        """
        own = SUBCOMMANDS if self.tool_commands else ()
        shown = [_AUDIT_HELP, *own, *((name, summary) for name, summary, _ in self.subcommands)]
        if self.package:
            shown = [_INSTALL_HELP, *shown]
        args = make_parser(self.catalogue, self.options, shown, self.prog, self.version).parse_args(argv)
        if args.command != SERVE:
            raise ValueError(f"`{args.command}` must be the first argument: {self.prog} {args.command} ...")
        return args

    def _missing_extra(self, args: argparse.Namespace, style: str) -> str:
        """Return an error line if an extra that the command line or a tool needs is not installed; empty otherwise."""
        if style == CODE and (problem := missing_extra("the discovery style `code`", CODE_EXTRA)):
            return problem
        if self.extra and (problem := missing_extra(USERS[self.extra], self.extra)):
            return problem
        if args.http:
            return missing_extra("--http", HTTP)
        return "" if args.engine == LEAN else missing_extra(f"--engine {args.engine}", HTTP)

    def _selection(self, args: argparse.Namespace) -> Selection:
        """Return the selection of the flags, else of the environment, else of the manifest.

        Raises:
            ValueError: the style or a category does not exist, or two flags choose different styles.
        """
        if args.classic and args.discovery not in (None, CLASSIC):
            raise ValueError(f"--classic and --discovery {args.discovery} contradict each other; remove one of them")
        variable = self.catalogue["server"].get("expose_all_env", "")
        exposes_all = os.environ.get(variable, "").strip().lower() == "true"
        style = CLASSIC if args.classic or exposes_all else self.catalogue["discovery"]["style"]
        command_prompts = not getattr(args, "no_command_prompts", False)
        selection = Selection(args.discovery or style, args.all or exposes_all, args.toolsets or (), command_prompts)
        visible_tools(self.catalogue, selection)  # checks the names of the categories
        return selection

    def _programs(self, args: argparse.Namespace) -> ProgramSettings | None:
        """Return the settings for running programs; None without programs.

        Raises:
            ValueError: the policy is invalid.
        """
        if not has_programs(self.catalogue):
            return None
        return load_program_settings(self.catalogue, args.policy or "", headless_approve=args.headless_approve)

    def _tools(self, selection: Selection, programs: ProgramSettings | None) -> Mapping[str, ToolEntry]:
        """Return the tools that a client can reach."""
        tools = visible_tools(programs.allowed(self.catalogue) if programs else self.catalogue, selection)
        return {**tools, **requested(self.catalogue["discovery"])}

    def _dispatcher(
        self,
        args: argparse.Namespace,
        selection: Selection,
        programs: ProgramSettings | None,
        values: OptionValues,
        catalogue: Catalogue | None = None,
    ) -> Dispatcher:
        from toolmason_runtime.server.dispatch import Dispatcher
        from toolmason_runtime.server.preparation import DELAY_S

        return Dispatcher(
            catalogue or self.catalogue,
            selection=selection,
            load_index=self.load_index,
            load_postings=self.load_postings,
            options=values,
            load_options=self.load_options,
            commands=programs,
            prepare_after_s=DELAY_S,
            prepare_modules=[_ASYNC_PHASE] if args.engine == LEAN and not args.http else (),
        )

    def _start_audit(self, args: argparse.Namespace) -> None:
        """Open the audit log, if the server has one. With several workers, each of them opens it.

        Raises:
            ValueError: it cannot be used.
        """
        server = self.catalogue["server"]
        if not (args.audit or "audit" in server or os.environ.get(audit_variable(self.prog))):
            return
        from toolmason_runtime.audit.start import start_audit, stop_audit
        from toolmason_runtime.server.workers import is_worker
        from toolmason_runtime.transports.shutdown import exit_hooks

        if args.http and args.workers > 1 and not is_worker():
            return
        transport = "http" if args.http else "stdio"
        if start_audit(server, self.prog, flag=args.audit or "", transport=transport):
            exit_hooks.append(stop_audit)

    def _check_postings(self, load: Callable[[], bytes]) -> None:
        """Log an error if `semantic.postings` is unusable; the server works without it."""
        from toolmason_runtime.shared.opening import POSTINGS
        from toolmason_runtime.shared.search.postings import damage_text, open_postings

        try:
            open_postings(load, self.catalogue["tools"])
        except (OSError, ValueError) as error:
            path = getattr(error, "filename", None) or f"{self.package}/{POSTINGS}".lstrip("/")
            logging.getLogger(__name__).error("%s", damage_text(str(path), error))  # noqa: TRY400  no traceback

    def _usage_error(self, reason: object) -> int:
        print(f"{self.prog}: {reason}", file=sys.stderr)  # noqa: T201  for the user
        return USAGE_ERROR


def _require_none(problem: str) -> None:
    """Raise ValueError if there is a problem."""
    if problem:
        raise ValueError(problem)


def _print_tools(tools: Mapping[str, ToolEntry]) -> int:
    try:
        sys.stdout.writelines(f"{name}: {entry['summary']}\n" for name, entry in tools.items())
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has closed the pipe. Python would fail again when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
