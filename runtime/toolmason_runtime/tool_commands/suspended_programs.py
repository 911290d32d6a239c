"""The subcommand `programs`: approve or refuse, in a terminal, suspended programs of the discovery style `code`."""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from toolmason_runtime.shared.errors import ToolError
from toolmason_runtime.tool_commands.interrupts import handled_interrupt
from toolmason_runtime.tool_commands.output import write
from toolmason_runtime.tool_commands.terminal import Person, note, safe, safe_json

if TYPE_CHECKING:
    from toolmason_runtime.code_mode.suspended import Suspended, SuspendedPrograms
    from toolmason_runtime.tool_commands.in_process import Server

DONE: Final = 0
FAILED: Final = 1
USAGE: Final = 2
NOT_APPROVED: Final = 3
INTERRUPTED: Final = 130

MAX_ARGUMENT_CHARS: Final = 20_000
"""Characters of the arguments of one call in a question; a call with more is not approved here."""


def programs_command(argv: Sequence[str], prog: str, make_server: Callable[[], Server]) -> int:
    """Run the command and return its exit code."""
    try:
        options = _parser(prog).parse_args(argv)
        server = make_server()
        dispatcher = server.open_tools()
    except ValueError as error:
        note(str(error))
        return USAGE
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else USAGE

    async def run() -> int:
        try:
            return await _run(options, dispatcher.suspended, prog)
        finally:
            await dispatcher.aclose()

    try:
        with handled_interrupt(signal.default_int_handler):
            return asyncio.run(run())
    except ToolError as error:
        note(f"{prog}: {error.message}")
        return FAILED
    except KeyboardInterrupt:
        note("\ninterrupted: the program still waits")
        return INTERRUPTED
    finally:
        server.close()


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=prog,
        description="List, approve and refuse programs of the discovery style `code` that wait for an approval.",
        epilog="Exit codes: 0 done, 1 no such program, 2 wrong usage, 3 not approved. "
        "An approved program continues when the client resumes it.",
        allow_abbrev=False,
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="{list,show,approve,refuse}")
    listing = actions.add_parser("list", help="list the waiting programs", allow_abbrev=False)
    listing.add_argument("--json", action="store_true", help="print JSON")
    for name, text in (
        ("show", "print a program and its waiting calls"),
        ("approve", "print the waiting calls, and approve them after a question in this terminal"),
        ("refuse", "refuse the waiting calls: the program ends when the client resumes it"),
    ):
        action = actions.add_parser(name, help=text, allow_abbrev=False)
        action.add_argument(
            "id",
            nargs="?",
            default="",
            metavar="ID",
            help="ID of a waiting program, or the beginning of it; optional if only one program waits",
        )
    return parser


async def _run(options: argparse.Namespace, suspended: SuspendedPrograms, prog: str) -> int:
    programs = await suspended.listed()
    if options.action == "list":
        _print_list(programs, as_json=options.json)
        return DONE
    found = [program for program in programs if program.id.startswith((options.id, f"program_{options.id}"))]
    if len(found) != 1:
        if not programs:
            reason = "no program waits for an approval"
        elif not found:
            reason = f"no waiting program has the ID `{options.id}`"
        else:
            reason = f"{len(found)} programs wait; specify the ID of one"
        note(f"{prog}: {reason}; see `{prog} list`")
        return FAILED
    (program,) = found
    if options.action == "show":
        write(safe(f"{program.code.rstrip()}\n\n{_calls(program)}\n"))
        return DONE
    if options.action == "refuse":
        await suspended.decide(program, "decline")
        note(f"Refused: {program.id}")
        return DONE
    return await _approve(program, suspended, prog)


async def _approve(program: Suspended, suspended: SuspendedPrograms, prog: str) -> int:
    asked = [each for each in program.waiting if each.needs_approval]
    if not asked:
        note(f"Nothing to approve here: {program.waiting[0].reason}")
        return FAILED
    if any(len(_arguments(each)) > MAX_ARGUMENT_CHARS for each in asked):
        note(f"Not approved: the arguments are too long to show. `{prog} show {program.id}` prints them.")
        return NOT_APPROVED
    person = Person()
    if not person.can_answer:
        note(f"Not approved: there is no terminal to ask on. Run `{prog} approve {program.id}` in a terminal.")
        return NOT_APPROVED
    answer = await person.answer_in_thread({"message": _calls(program)})
    if answer["action"] == "cancel":
        note("Not decided: the program still waits.")
        return NOT_APPROVED
    await suspended.decide(program, answer["action"])
    if answer["action"] == "decline":
        note("Refused: the program ends when the client resumes it.")
        return NOT_APPROVED
    note("Approved: the program goes on when the client resumes it.")
    return DONE


def _calls(program: Suspended) -> str:
    """Return the calls that wait, with their places in the program."""
    lines = []
    for each in program.waiting:
        line = program.code.encode()[: each.start].decode("utf-8", "replace").count("\n") + 1
        decided = program.decisions.get(str(each.number))
        state = {"accept": " (approved)", "decline": " (refused)"}.get(decided or "", "")
        lines.append(f"{each.number}. Line {line}: {each.function}{state}\n{_arguments(each)}")
        if not each.needs_approval:
            lines.append(f"   {each.reason or 'It waits for an answer in the client.'}")
    return "\n".join(lines)


def _arguments(waiting: Any) -> str:
    return "\n".join(
        f"   {name} = {json.dumps(value, ensure_ascii=False)}" for name, value in waiting.arguments.items()
    )


def _print_list(programs: Sequence[Suspended], *, as_json: bool) -> None:
    if as_json:
        rows = [
            {
                "id": program.id,
                "expires": program.expires,
                "calls": [{"function": each.function, "arguments": each.arguments} for each in program.waiting],
                "decisions": program.decisions,
            }
            for program in programs
        ]
        write(f"{safe_json(json.dumps(rows, ensure_ascii=False, indent=2))}\n")
        return
    for program in programs:
        hours = max(0.0, (program.expires - time.time()) / 3600)
        calls = ", ".join(each.function for each in program.waiting)
        decided = " decided" if program.decisions else ""
        write(safe(f"{program.id}  {calls}  expires in {hours:.1f} h{decided}") + "\n")
    if not programs:
        note("No program waits.")
