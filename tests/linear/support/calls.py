"""Calls of the functions that build patterns when they run, so that what they build is measured as well."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType, SimpleNamespace
from typing import Any, Final, cast

AUTHORS: Final = MappingProxyType(
    {
        "re.compile(self._pattern)": "an author's pattern is only compiled: `regex` matches it with a timeout",
        "regex.compile(_for_regex(self._pattern))": "an author's pattern is matched with a timeout",
        "re.compile(pattern)": "an author's pattern, or one of an OpenAPI document, is only compiled, to find mistakes",
        "re.compile(table.pattern)": "an author's pattern is only compiled, to find mistakes",
        "re.compile(''.join((python for _, python in tokens)))": "a translated pattern is only compiled",
        "re.fullmatch(pattern, plain)": "the patterns of `_RULES`, without unlimited repeats",
        "re.fullmatch(syntax['argument'], each)": "a fact of clients.toml: a sign and a digit",
        "re.compile('|'.join((f'(?P<{kind}_{number}>{pattern})' for number, (kind, pattern) in "
        "enumerate((*tokens, *_COMMON)))), re.DOTALL)": "a statement ends at its first open text or comment",
        "re.search(pattern, name, re.ASCII)": "one repetition, and at most 100 characters of pattern and name",
        "regex.fullmatch(_regex(glob.removeprefix('/')), name, timeout=_MATCH_S)": "a glob, with a timeout",
        "regex.search(pattern, text, timeout=PATTERN_TIMEOUT_S)": "a pattern of a schema, with a timeout",
        "re.search('(.{1,100}?)'.join(parts), content)": "a prompt of the server's own; a repeat has 100 characters",
        "re.compile(value)": "a pattern of a schema is only compiled, to find mistakes",
        **dict.fromkeys(
            (
                "re.fullmatch(pattern, value)",
                "re.search(pattern, value)",
                "re.search(filled, subject.files.readme_text)",
                "re.fullmatch(pattern, _snake_case(name))",
            ),
            "a pattern of a publishing rule, which another test measures",
        ),
        "re.finditer(reference.placeholder, value)": "the placeholder of a text, as in `references`",
        **dict.fromkeys(
            (
                're.compile(f"""(["\\\\\']){re.escape(old)}\\\\1(?=\\\\s*:)""")',
                r"re.finditer(f'(?<= ){re.escape(dashed)}(?![\\w-])', text)",
                r"re.finditer(f'(?<![\\w.]){re.escape(name)}\\.{re.escape(old)}(?!\\w)', self.source[start:end])",
                r"re.compile(f'(?:async\\s+)?def\\s+(?={re.escape(old)}\\b)')",
            ),
            "a name of the manifest: a fixed text",
        ),
        "re.compile(pattern, flags)": "the pattern of a call to `grep_content` is matched in a child with a timeout",
    }
)
"""Expressions with patterns of others, and how their time is limited."""

BOUNDED: Final = MappingProxyType(
    {
        "generator/toolmason/schema/patterns.py:_TOKEN": (2_000, "`_MAX_PATTERN_LENGTH`"),
        "generator/toolmason/schema/patterns.py:_SIMPLE": (100, "`_MAX_MATCHED_LENGTH`"),
    }
)
"""Patterns that are not linear: the maximum characters of their texts, and the constant that the code checks."""
BOUNDED_S: Final = 0.1
"""Time that such a pattern may take for the longest text."""


def call_builders() -> None:
    """Call each function that builds a pattern, with every form that it can build."""
    import yaml
    from toolmason_runtime.calls.secrets import protect
    from toolmason_runtime.install.clients import Client
    from toolmason_runtime.remote.parse import _escaped_secrets
    from toolmason_runtime.shared.toml.reader import _is_quoted_literal
    from toolmason_runtime.shared.toml.rules import _pattern_check
    from toolmason_runtime.shared.toml.tables import Table, keys_of

    from toolmason.clients import clients
    from toolmason.importers.yaml_core import use_core_schema
    from toolmason.manifest.references import _params
    from toolmason.manifest.rules import NAMES
    from toolmason.schema import hosts as schema_hosts
    from toolmason.schema.providers import providers
    from toolmason.schema.scan.values import is_described, is_number_text
    from workbench_handlers.editing.text.folding import Positions
    from workbench_handlers.workflows.command_file import _check_inert, check_runs_nothing
    from workbench_handlers.workflows.data import hosts
    from workbench_handlers.workspace.ignore import parse_gitignore
    from workbench_handlers.workspace.worker_main import _yaml_loader
    from workbench_research.backends.retry import RetryConfig

    providers.__wrapped__()  # without its cache
    schema_hosts.hosts.__wrapped__()
    for client in clients().values():
        if client.live:
            for effect in ("run", "read", "replace"):
                list(client.live.texts(effect, "text"))
        if client.withheld:
            client.withheld.includes("NAME")
            withheld: Any = {"pattern": client.withheld.pattern, "names": (), "passed_prefixes": ()}
            Client._passes(cast("Client", SimpleNamespace(passed=(), withheld=withheld)), "NAME")
    for host in hosts().values():
        _check_inert(host, "text")
    check_runs_nothing("text")
    protect(["a secret text 0123456789"])
    _escaped_secrets(("a secret text", "\U0001f511"))
    for table in _subclasses(Table):
        for field in keys_of(table).values():
            if "pattern" in field.metadata:
                _pattern_check(field.metadata)
            names, placeholder = field.metadata.get(NAMES, ("", ""))
            if names == "param":
                list(_params(("key",), "text", placeholder))
    _call_builders_of_names()
    _call_builders_of_help()
    for typography in (True, False):
        Positions("a", typography=typography)
    parse_gitignore("*.pyc\n/build/\n**/a/**/b/**/c\na*b*c\n[!a-z]?\n")
    _yaml_loader()
    use_core_schema(type("Loader", (yaml.SafeLoader,), {}))
    is_described(5, "up to 5")
    for keyword in ("maxLength", "maximum"):
        is_number_text(keyword, "1")
    for expected in ("a boolean", "an integer", "a number"):
        _is_quoted_literal("1", expected)
    RetryConfig().is_retryable("not found")
    RetryConfig().is_retryable("none of both")


def _call_builders_of_help() -> None:
    from toolmason.importers.command_line.help.completion import _unquote
    from toolmason.importers.command_line.help.parser import _split_choices

    for separator in (r"[,|]", r"\|"):
        _split_choices("a,b", separator)
    for word in ("'a'", '"a"'):
        _unquote(word)


def _call_builders_of_names() -> None:
    from toolmason.refactor.mentions import param_mentions, tool_mentions
    from toolmason.resolve.client_names import full_name, tool_names

    for names in tool_names():
        full_name(names, "server", "tool")
    for name in ("count", "count_words"):
        for is_ambiguous in (True, False):
            tool_mentions(name, is_ambiguous=is_ambiguous)
        param_mentions(name)


def _subclasses(table: type[Any]) -> Iterator[type[Any]]:
    for each in table.__subclasses__():
        yield each
        yield from _subclasses(each)
