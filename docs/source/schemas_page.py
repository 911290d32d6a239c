"""Render docs/schemas.md and docs/schemas-reference.md: `python docs/source/schemas_page.py`.

The templates are the pages; the functions below print the output of today's code in its place.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from toolmason.schema import Finding, Projection, Severity, Target, emit, normalize, project, references, scan, walk
from toolmason.schema.hosts import hosts
from toolmason.schema.providers import providers

SOURCE: Final = Path(__file__).parent
GUIDE: Final = SOURCE.parent / "schemas.md"
REFERENCE: Final = SOURCE.parent / "schemas-reference.md"
_TEMPLATES: Final = {GUIDE: "schemas_guide.md.jinja", REFERENCE: "schemas_reference.md.jinja"}
ANYTHING: Final = "Any value"
"""The construct whose rows show the union of all types in full; everywhere else it is `ANY`."""
_THREAD: Final = re.compile(r"\b[\w.-]+/[\w.-]+#\d+")
Json = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Construct:
    """An example of the page: the schema of the optional property `x`, or with `whole` of all arguments.

    `unusable` schemas have no meaning: every target reports `refused`.
    """

    name: str
    written: Any
    required: bool = False
    whole: bool = False
    defs: Json | None = None
    rename: bool | None = None
    unusable: bool = False

    @property
    def schema(self) -> Json:
        """The schema of all arguments."""
        if self.whole:
            return dict(self.written)
        schema: Json = {"type": "object", "properties": {"x": self.written}}
        required = {"required": ["x"]} if self.required else {}
        return schema | required | ({"$defs": self.defs} if self.defs else {})

    @cached_property
    def projections(self) -> Mapping[Target, Projection]:
        """The projection to each target."""
        return {target: project(self.schema, target, rename=self.rename) for target in Target}

    def sent(self, target: Target) -> Any:
        """Return the projected form of the example."""
        schema = self.projections[target].schema
        return schema if self.whole else schema["properties"]["x"]

    def cost(self, target: Target) -> tuple[Finding, ...]:
        """Return the findings about the construct itself, without those about the object around a property."""
        around = () if self.whole else _findings_around(target, required=self.required)
        return tuple(finding for finding in self.projections[target].findings if finding not in around)


@cache
def _findings_around(target: Target, *, required: bool) -> tuple[Finding, ...]:
    return Construct(name="", written={"type": "string"}, required=required).projections[target].findings


@dataclass
class Page:
    """The functions of the templates, and everything that they were called with."""

    constructs: dict[str, Construct] = field(default_factory=dict)
    groups: dict[str, list[str]] = field(default_factory=dict)
    """Names of constructs by heading."""
    explained: list[str] = field(default_factory=list)
    """Patterns of findings, in the order of their table."""
    hidden: list[Construct] = field(default_factory=list)
    """Schemas that are not on the page and lead to further findings."""

    def group(self, heading: str) -> str:
        """Begin a group of constructs."""
        self.groups[heading] = []
        return f"### {heading}"

    def construct(self, name: str, written: Any, *, caller: Callable[[], str], **options: Any) -> str:
        """Return the section of a construct: the example, the reason (the body of the call), a row for each answer."""
        construct = Construct(name=name, written=written, **options)
        if self.constructs.setdefault(name, construct) is not construct:
            raise ValueError(f"two constructs are called {name}")
        list(self.groups.values())[-1].append(name)
        example = _quoted(written) + (f" with `$defs` {_quoted(construct.defs)}" if construct.defs else "")
        example += ", required" if construct.required else ""
        table = _table(("sent to", "as", "cost"), _answers(construct))
        return f"#### {name}\n\n{example}. {caller().strip()}\n\n{table}\n"

    def hide(self, schemas: Iterable[Json]) -> str:
        """Add schemas that only lead to findings."""
        self.hidden += [Construct(name="", written=schema, whole=True) for schema in schemas]
        return ""

    def overview(self) -> str:
        """Return the table of the worst finding by construct and target."""
        rows: list[Sequence[str]] = []
        for heading, names in self.groups.items():
            rows.append((f"**{heading}**", *("" for _ in Target)))
            rows += [(link(name), *map(_worst(self.constructs[name]), Target)) for name in names]
        return _table(("construct", *Target), rows)

    def today(self, name: str) -> str:
        """Return a link to a construct, and the schema that `gemini-parameters` is sent for it."""
        return f"{link(name)}: {_shown(self.constructs[name].sent(Target.GEMINI_PARAMETERS), Target.GEMINI_PARAMETERS)}"

    @cached_property
    def severities(self) -> Mapping[str, set[Severity]]:
        """The patterns of all findings that the examples lead to, with their severities."""
        found: dict[str, set[Severity]] = {}
        for construct in (*self.constructs.values(), *self.hidden):
            for projection in construct.projections.values():
                for finding in projection.findings:
                    found.setdefault(finding.pattern, set()).add(finding.severity)
        return found

    def finding(self, patterns: str) -> str:
        """Return the first cells of a row: patterns of findings and their severities."""
        names = patterns.split()
        self.explained += names
        ranked = sorted({severity for name in names for severity in self.severities[name]}, key=lambda each: each.rank)
        return f"| {', '.join(map(_code, names))} | {', '.join(ranked)} |"

    def rules(self, keys: Mapping[str, str]) -> str:
        """Return the table of all rules. `keys` are the short names of sources."""
        by_source = {source: f"[{key}]" for key, source in keys.items()}
        rows = (
            (
                _code(rule.pattern),
                ", ".join(rule.targets),
                str(rule.severity),
                _cell(rule.text),
                by_source.get(rule.source, _cell(rule.source)),
            )
            for rule in (*providers().rules, *providers().tool_rules.values())
        )
        return _table(("pattern", "targets", "severity", "why", "source"), rows)

    def hosts(self) -> str:
        """Return the table of the rules of providers that accept the requests of a target."""
        rows = (
            (
                host.title,
                f"{_code(key)}, as {host.target}",
                _code(rule.pattern),
                str(rule.severity),
                _cell(rule.text),
                _cell(rule.source),
            )
            for key, host in hosts().items()
            for rule in host.rules.values()
        )
        return _table(("provider", "name", "pattern", "severity", "why", "source"), rows)

    def keywords(self) -> str:
        """Return the table of the keywords of targets that list them."""
        listed = {target: dialect.keywords for target, dialect in providers().dialects.items() if dialect.keywords}
        rows = ((target, ", ".join(map(_code, sorted(names)))) for target, names in listed.items())
        return _table(("target", "keywords that it lists"), rows)

    def threads(self, text: str) -> str:
        """Return links to the threads that a text and the rules name."""
        own = (rule for host in hosts().values() for rule in host.rules.values())
        text += "".join(
            f"{rule.text} {rule.source}\n" for rule in (*providers().rules, *providers().tool_rules.values(), *own)
        )
        threads = sorted(set(_THREAD.findall(text)), key=str.lower)
        return "\n".join(f"[{thread}](https://github.com/{thread.replace('#', '/issues/')})" for thread in threads)


def example(caller: Callable[[], str]) -> str:
    """Run the Python code of a call, and return it with its output."""
    code = caller().strip() + "\n"
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, GUIDE.name, "exec"), {})
    return f"```python\n{code}```\n\n```text\n{printed.getvalue()}```\n"


def wide(properties: int) -> Json:
    """Return `properties` properties."""
    return {f"x{number}": {"type": "string"} for number in range(properties)}


def deep(levels: int) -> Json:
    """Return an object that has `levels` of objects in it."""
    schema: Json = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"x": schema}}
    return schema


def anchor(heading: str) -> str:
    """Return the name by which GitHub links to a heading: `No arguments` -> `no-arguments`."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def link(heading: str) -> str:
    """Return a Markdown link to a heading of the page."""
    return f"[{heading}](#{anchor(heading)})"


def _worst(construct: Construct) -> Callable[[Target], str]:
    def cell(target: Target) -> str:
        worst = min((finding.severity for finding in construct.cost(target)), key=lambda each: each.rank, default=None)
        return "" if worst in {None, Severity.NOTE} else str(worst)

    return cell


def _answers(construct: Construct) -> list[tuple[str, str, str]]:
    """Return a row for each answer; targets with the same answer at the same cost share it."""
    rows: dict[tuple[str, str], list[str]] = {}
    for target in Target:
        sent = construct.sent(target)
        answer = _quoted(sent) if construct.name == ANYTHING else _shown(sent, target)
        if renamed := construct.projections[target].renamed:
            answer += f"; renamed {_quoted(dict(renamed))}"
        rows.setdefault((answer, _cost(construct.cost(target))), []).append(str(target))
    return [(", ".join(targets), answer, cost) for (answer, cost), targets in rows.items()]


def _cost(findings: Iterable[Finding]) -> str:
    ranked = sorted({(finding.severity.rank, finding.severity, finding.pattern) for finding in findings})
    return "; ".join(f"{severity} `{pattern}`" for _, severity, pattern in ranked)


def _shown(value: Any, target: Target) -> str:
    """Quote a schema, with `ANY` for the union of all types."""
    text = json.dumps(value, ensure_ascii=False)
    for union in _unions(target):
        text = text.replace(union, "ANY")
    return _code(text)


@cache
def _unions(target: Target) -> tuple[str, ...]:
    """Return the unions that stand for any value, longest first; none if the target takes `{}`."""
    schema: Json = {"properties": {"x": {}, "y": {"type": "array"}}, "required": ["x", "y"]}
    properties = project({"type": "object"} | schema, target).schema["properties"]
    texts = (json.dumps(properties["x"]), json.dumps(properties["y"]["items"]))
    return tuple(text for text in texts if text != "{}")


def _code(text: str) -> str:
    text = _cell(text)
    fence = "``" if "`" in text else "`"
    return f"{fence}{text}{fence}"


def _quoted(value: Any) -> str:
    return _code(json.dumps(value, ensure_ascii=False))


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))


def render() -> tuple[dict[Path, str], Page]:
    """Return the texts of both pages, and the examples of the reference."""
    page = Page()
    environment = Environment(
        loader=FileSystemLoader(SOURCE),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701  the page is Markdown
    )
    environment.globals["null"] = None
    modules = {"emit": emit, "normalize": normalize, "references": references, "scan": scan, "walk": walk}
    names = {"page": page, "hosts": tuple(hosts()), "example": example, "deep": deep, "wide": wide, **modules}
    return {path: environment.get_template(name).render(names) for path, name in _TEMPLATES.items()}, page


if __name__ == "__main__":
    for path, text in render()[0].items():
        path.write_text(text, encoding="utf-8", newline="\n")
