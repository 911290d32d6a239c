"""`toolmason dev`."""

from __future__ import annotations

import os
import signal
import socket
from contextlib import nullcontext, suppress
from typing import NoReturn

import click

from toolmason.commands.options import CommandLineError, ExitCode, find_current_project, split_manifest


@click.command(context_settings={"ignore_unknown_options": True})
@click.option("--port", type=click.IntRange(1, 65_535), default=8000, show_default=True, help="Port on this machine.")
@click.option("--inspector", "with_inspector", is_flag=True, help="Open the MCP Inspector; needs Node.js 22.19.")
@click.option("--stubs", is_flag=True, help="Write missing functions of handlers/, as `generate --stubs` does.")
@click.argument("arguments", metavar="[MANIFEST] [SERVER ARGUMENTS]...", nargs=-1, type=click.UNPROCESSED)
def dev(port: int, with_inspector: bool, stubs: bool, arguments: tuple[str, ...]) -> None:
    """Generate and serve, and repeat both after each change, until Ctrl-C.

    The server listens on this machine alone, at http://127.0.0.1:PORT/mcp. It is restarted when the manifest, a
    template, a schema or a handler is saved; while the manifest has errors, the last version keeps running. The log of
    the server shows the tracebacks of handlers.

    This runs the project's code: use it only for projects you trust.
    """
    signal.signal(signal.SIGTERM, _interrupt)
    with suppress(KeyboardInterrupt):
        _serve_changes(port, with_inspector=with_inspector, stubs=stubs, arguments=arguments)


def _serve_changes(port: int, *, with_inspector: bool, stubs: bool, arguments: tuple[str, ...]) -> None:
    """Generate and serve, and repeat both after each change."""
    from toolmason.commands.generate import add_missing_functions
    from toolmason.commands.pipeline_run import Run
    from toolmason.development.inspector import InspectorError, inspector
    from toolmason.development.server_process import ServerProcess
    from toolmason.watch import run_on_changes

    _require_free(port)
    manifest, server_arguments = split_manifest(arguments)
    run = Run(find_current_project(manifest), "text", None)
    server = ServerProcess(run.project, port, server_arguments, _serve)

    def generate_and_serve() -> None:
        if stubs:
            add_missing_functions(run)
        if run.generate() == ExitCode.FINE:
            server.restart()

    def ready() -> None:
        click.echo("watching for changes; press Ctrl-C to stop", err=True)

    def report_end() -> None:
        if (code := server.exit_code()) is not None:
            click.echo(f"the server has ended with exit code {code}; it starts again after the next change", err=True)

    try:
        server.import_libraries()
        with inspector(server.url) if with_inspector else nullcontext():
            run_on_changes(run.project, generate_and_serve, ready=ready, idle=report_end)
    except InspectorError as error:
        raise CommandLineError(str(error)) from error
    finally:
        server.stop()


def _require_free(port: int) -> None:
    """Exit if another program listens on the port."""
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise CommandLineError(f"port {port}: {reason}; choose another with --port") from error


def _serve(arguments: list[str]) -> None:
    """Serve as `toolmason run` does, in a process of its own."""
    from toolmason.commands.run import run

    run.main(arguments, prog_name="toolmason run")


def _interrupt(*_: object) -> NoReturn:
    """End as after Ctrl-C: the server must not outlive this process."""
    raise KeyboardInterrupt
