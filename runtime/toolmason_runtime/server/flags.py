"""The flags of a generated server: those of every server in one table, and the options of its manifest."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from toolmason_runtime.audit.variables import variable as audit_variable
from toolmason_runtime.programs.settings import POLICY
from toolmason_runtime.server.option_types import parse_value
from toolmason_runtime.server.options import OptionSpec
from toolmason_runtime.shared.catalogue import Catalogue, has_programs
from toolmason_runtime.shared.engines import DEFAULT_ENGINE, ENGINES
from toolmason_runtime.shared.shown_names import MAX_PREFIX_CHARS
from toolmason_runtime.shared.styles import CLASSIC, STYLES

if TYPE_CHECKING:
    from toolmason_runtime.shared.opening import PreparedFlag

SERVE: Final = "serve"
LOG_LEVELS: Final = ("debug", "info", "warning", "error", "critical")
LOG_FORMATS: Final = ("text", "json")
DEFAULT_LOG_LEVEL: Final = "warning"
MAX_PORT: Final = 65_535
_PREFIX: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def _always(_: Catalogue) -> bool:
    return True


def _never(_: Catalogue) -> bool:
    return False


class Flag(NamedTuple):
    """A flag of every server, or of every server with `exists`."""

    name: str
    """With its dashes."""
    group: str
    """Title of its group in `--help`; empty for the first one."""
    help: str
    """A text for `argparse`; `{style}`, `{prefix}`, `{categories}` and `{audit}` are filled in for the server."""
    settings: Mapping[str, Any]
    """Further arguments of `ArgumentParser.add_argument`."""
    exists: Callable[[Catalogue], bool] = _always
    is_prepared: Callable[[Catalogue], bool] = _never
    """Whether the boot phase may answer: the flag changes no answer, or `opening.json` has answers for it."""


def option_attribute(option: OptionSpec) -> str:
    """Return the name of an option of the manifest in the parsed arguments."""
    return f"option_{option.name}"


def own_flags() -> frozenset[str]:
    """Return the flags of every server, without their dashes: `list-tools`, `policy`."""
    return frozenset(name.removeprefix("--") for name in ("--help", "--version", *(flag.name for flag in FLAGS)))


def make_parser(
    catalogue: Catalogue, options: Sequence[OptionSpec], subcommands: Sequence[tuple[str, str]], prog: str, version: str
) -> argparse.ArgumentParser:
    """Return the parser of the command line; it raises `argparse.ArgumentError`, and exits for `--help`, `--version`.

    Args:
        catalogue: the tools of the server.
        options: the manifest's options.
        subcommands: name and summary of each subcommand but `serve`.
        prog: name of the command.
        version: version of the server.
    """
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
    values = {
        "style": catalogue["discovery"]["style"],
        "prefix": catalogue["discovery"]["prefix"] or "none",
        "categories": ", ".join(catalogue["categories"]),
        "audit": audit_variable(prog),
    }
    variable = server.get("expose_all_env")
    expose_all = f"Setting {variable}=true is the same as --classic --all; --discovery overrides the style."
    groups: dict[str, Any] = {"": parser, TOOLS: parser.add_argument_group(TOOLS, expose_all if variable else None)}
    for flag in FLAGS:
        if flag.exists(catalogue):
            if flag.group not in groups:
                groups[flag.group] = parser.add_argument_group(flag.group)
            groups[flag.group].add_argument(flag.name, help=flag.help.format_map(values), **flag.settings)
    if options:
        _add_options(parser.add_argument_group("options of this server", _secrets_help(options)), options)
    return parser


def _secrets_help(options: Sequence[OptionSpec]) -> str | None:
    """Return the description of the variables of secrets. They have no flag, since processes can read command lines."""
    lines = [
        f"{option.env}: {option.description}{' (required)' if option.required else ''}"
        for option in options
        if option.secret
    ]
    return f"Set these variables in the environment: {'; '.join(lines)}".replace("%", "%%") if lines else None


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
        settings: dict[str, Any] = {
            "dest": option_attribute(option),
            "help": " ".join(note for note in notes if note).replace("%", "%%"),
        }
        if option.type == "boolean":
            group.add_argument(option.flag, action=argparse.BooleanOptionalAction, default=None, **settings)
            continue
        if option.implicit:
            settings |= {"nargs": "?", "const": option.implicit}
        group.add_argument(
            option.flag,
            action="append" if option.many else "store",
            type=partial(_parsed, option.type),
            metavar=option.metavar or None,
            **settings,
        )


def prepared_flags(catalogue: Catalogue, options: Sequence[OptionSpec]) -> dict[str, PreparedFlag]:
    """Return the flags with which the boot phase answers: those of every server, and those of the options."""
    styles = list(dict.fromkeys((CLASSIC, catalogue["discovery"]["style"])))
    flags: dict[str, PreparedFlag] = {}
    for flag in FLAGS:
        if flag.exists(catalogue) and flag.is_prepared(catalogue):
            if flag.settings == _SWITCH:
                flags[flag.name] = {"switch": True}
            else:
                flags[flag.name] = {"choices": styles if flag.name == "--discovery" else [*flag.settings["choices"]]}
    for option in options:
        if option.type == "boolean" and not option.secret:
            flags[f"--no-{option.flag.removeprefix('--')}"] = {"switch": True}
        flags[option.flag] = _prepared_option(option)
    return flags


def _prepared_option(option: OptionSpec) -> PreparedFlag:
    flag: PreparedFlag = {}
    if option.type != "string":
        flag["type"] = option.type
    if option.env and (option.required or option.type != "string"):  # any other text is a valid string
        flag["env"] = option.env
    if option.required:
        flag["required"] = True
    if option.secret:
        flag["secret"] = True
    elif option.type == "boolean":
        flag["switch"] = True
    elif option.implicit:
        flag["implicit"] = True
    return flag


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


def _prefix(value: str) -> str:
    if len(value) <= MAX_PREFIX_CHARS and (not value or _PREFIX.fullmatch(value)):
        return value
    raise argparse.ArgumentTypeError(
        f"expected at most {MAX_PREFIX_CHARS} letters, digits and underscores after a first letter, got {value!r}"
    )


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


def _has_one_tier(catalogue: Catalogue) -> bool:
    return all(entry["tier"] == "core" for entry in catalogue["tools"].values())


def _has_auth(catalogue: Catalogue) -> bool:
    return "auth" in catalogue["server"]


def _has_command_prompts(catalogue: Catalogue) -> bool:
    return any(entry.get("command") for entry in catalogue.get("prompts", {}).values())


TOOLS: Final = "tools"
_HTTP: Final = "http"
_PROGRAMS: Final = "programs"
_SWITCH: Final = {"action": "store_true"}
_FILE: Final = {"type": _non_empty, "metavar": "FILE"}
_URL: Final = {"type": _non_empty, "metavar": "URL"}
_COUNT: Final = {"type": _positive, "metavar": "N"}
_AUTH_DEFAULT: Final = "(default: [server.auth] of the manifest)"

FLAGS: Final = (
    Flag("--list-tools", "", "print the tools and exit", _SWITCH),
    Flag(
        "--log-level",
        "",
        "minimum level of messages logged to stderr (default: %(default)s)",
        {"choices": LOG_LEVELS, "default": DEFAULT_LOG_LEVEL},
        is_prepared=_always,
    ),
    Flag(
        "--log-format",
        "",
        "format of the log (default: text on a terminal, else json)",
        {"choices": LOG_FORMATS},
        is_prepared=_always,
    ),
    Flag(
        "--audit",
        "",
        "audit log with one line for each call, approval and refusal: an absolute path, `otel`, or `off`"
        " [env: {audit}]",
        _FILE,
    ),
    Flag(
        "--engine",
        "",
        "implementation of MCP: the official SDK (sdk), or one that starts and answers faster (lean)"
        " (default: %(default)s)",
        {"choices": ENGINES, "default": DEFAULT_ENGINE},
    ),
    Flag(
        "--debuggable",
        "",
        "allow debuggers and other processes of this user to read the memory and environment of the server",
        _SWITCH,
    ),
    Flag(
        "--discovery",
        TOOLS,
        f"discovery style: {', '.join(STYLES)} (default: {{style}})",
        {"type": _non_empty, "metavar": "STYLE"},
        is_prepared=_always,
    ),
    Flag(
        "--classic",
        TOOLS,
        "list every `core` tool (with --all: every tool) directly; same as --discovery classic",
        _SWITCH,
        is_prepared=_always,
    ),
    Flag("--all", TOOLS, "also serve the tools of the tier `all`", _SWITCH, is_prepared=_has_one_tier),
    Flag(
        "--no-command-prompts",
        TOOLS,
        "do not serve slash commands as prompts, for clients that have their files",
        _SWITCH,
        _has_command_prompts,
        is_prepared=_always,
    ),
    Flag(
        "--prefix",
        TOOLS,
        "prefix of the tools' names, such as `home_`, in clients that add none themselves; an empty one for none"
        " (default: {prefix})",
        {"type": _prefix, "metavar": "PREFIX"},
    ),
    Flag("--toolsets", TOOLS, "serve only these categories, from {categories}", {"type": _names, "metavar": "A,B"}),
    Flag("--http", _HTTP, "serve streamable HTTP instead of stdio", _SWITCH),
    Flag("--host", _HTTP, "address to listen on (default: %(default)s)", {"type": _non_empty, "default": "127.0.0.1"}),
    Flag("--port", _HTTP, "port; 0 selects a free one (default: %(default)s)", {"type": _port, "default": 8000}),
    Flag(
        "--allow-host",
        _HTTP,
        "host name that clients may use; required if other machines can reach the address; repeatable",
        {"action": "append", "type": _non_empty, "metavar": "NAME[:PORT]"},
    ),
    Flag(
        "--allow-origin",
        _HTTP,
        "origin whose web pages may use the server, such as https://app.example; repeatable",
        {"action": "append", "type": _non_empty, "metavar": "ORIGIN"},
    ),
    Flag(
        "--token-file",
        _HTTP,
        "file with the bearer token that every request needs (default: none on loopback, else a created file)",
        _FILE,
    ),
    Flag("--workers", _HTTP, "processes that serve (default: %(default)s)", {**_COUNT, "default": 1}),
    Flag(
        "--max-requests",
        _HTTP,
        "maximum concurrent requests of a process; further ones get 503 (default: 1000)",
        _COUNT,
    ),
    Flag(
        "--max-client-requests",
        _HTTP,
        "maximum concurrent requests of one client; further ones get 429 (default: half of --max-requests)",
        _COUNT,
    ),
    Flag(
        "--max-client-sessions",
        _HTTP,
        "maximum sessions of one client; a further one ends its oldest idle one (default: 500)",
        _COUNT,
    ),
    Flag(
        "--call-timeout",
        _HTTP,
        "maximum time of a call (default: none)",
        {"type": _positive, "metavar": "SECONDS"},
    ),
    Flag(
        "--auth-issuer",
        _HTTP,
        f"authorization server whose access tokens are accepted {_AUTH_DEFAULT}",
        _URL,
        _has_auth,
    ),
    Flag(
        "--auth-audience",
        _HTTP,
        f"audience of the access tokens {_AUTH_DEFAULT}",
        {"type": _non_empty, "metavar": "AUDIENCE"},
        _has_auth,
    ),
    Flag("--auth-jwks-url", _HTTP, f"public keys of the authorization server {_AUTH_DEFAULT}", _URL, _has_auth),
    Flag(
        "--auth-resource",
        _HTTP,
        f"public address of this server's endpoint, for clients {_AUTH_DEFAULT}",
        _URL,
        _has_auth,
    ),
    Flag(
        "--policy",
        _PROGRAMS,
        f"TOML policy file: permitted tools, executor, approval rules [env: {POLICY}]",
        _FILE,
        has_programs,
    ),
    Flag(
        "--headless-approve",
        _PROGRAMS,
        "run tools that need approval even if the client cannot prompt the user",
        _SWITCH,
        has_programs,
        is_prepared=_always,
    ),
)
"""In the order of `--help`."""
