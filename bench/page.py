"""The page that shows a run: the promises first, then what stands behind them."""

from __future__ import annotations

import os
import platform
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from statistics import median

from bench.generating import CHECK, FULL, Generation
from bench.promises import Findings, rows
from bench.schemas.comparison import OURS as OUR_CONVERTER
from bench.schemas.comparison import TIMEOUT_S, Comparison, Score, through
from bench.searching import Latency, Search
from bench.starting import Starts

_HEAD = """\
# Benchmarks

What we hold ourselves to, and what one run of `python -m bench` measured of it. The page is written by that command.

Measured in {rounds} alternating rounds{starts}, everything compared within a round of the other.
Figures are medians; a ratio is the median of the ratios taken round by round, with the middle half of them in brackets.
Absolute times depend on the machine and on what else it does: read the ratios. Tokens are estimated without a
vocabulary, for all alike; against o200k the estimate is 2 to 21 % high.

- Machine: {cores} cores, {system}, {python}.
- Compared: {versions}.
- Tools: synthetic, {sizes} of them. Half of them read (a path and two query parameters with bounds or
  choices), half change something (a choice, a list, a nested named type); each has a description, all four hints, a use
  case and an example.
"""

_REPEAT = """\
## Repeat it

```bash
nox -s bench                        # all of it; rewrites this page
python -m bench --short             # does the bench itself work? its figures say nothing, and it writes none
python -m bench --only generate --sizes 1000 --rounds 3
python -m bench --only schemas --corpus my-schemas.jsonl   # other schemas: a JSON object a line, with a key `schema`
```
"""

_START = """\
## Start

From spawning the process to the whole first `tools/list`, with a handshake of revision 2025-11-25. Byte code is cached.
The bare server is the SDK's low-level `Server` with the very table that ours lists; the default style lists its
meta-tools only.
"""

_SEARCH = """\
## Search

Milliseconds. The first answer loads our index, and builds FastMCP's. Queries are the tools' use cases.
"""

_GENERATION = """\
## Generation

Seconds of the real commands, each a process of its own. datamodel-code-generator alone makes one module of all models,
in one call, laid out by ruff; a full run makes all artefacts, those models among them.
"""

_STAGES = """\
### Where the time goes

Seconds within the process, by the stages that `toolmason.pipeline` names, at {size} tools. "Imports" is what comes
before the first stage; what a stage imports itself counts to it.
"""

_IMPORTS = """\
## What profiling shows

Importing is the floor of most figures above. Seconds from spawning Python to its end, nothing but the import done:
"""

_CONVERTING = """\
## Schemas

To the message `Schema` that Gemini's `parameters` holds. {count} schemas ({styles}); our own corpus stands in
`bench/schemas/corpus/`. Of them {hard} are hard: they have references, recursion, unions, `oneOf` or `allOf`, numbers
to choose from, tuples, maps, nodes without a type or leftovers of other dialects. Shares are of all.{unusable}

- *accepted*: valid for the protobuf message and for the server rules known from its error messages.
- *kept*: no property is missing, and every valid value of the corpus is still accepted.
- *good*: both. *failed*: the converter raised an error or gave no answer within {patience:.0f} s.
- Microseconds are medians of the converted schemas.
"""

_ADVERTISED = """\
What `advertise` makes of a schema has to come through the converter of a client, which the server cannot choose. The
first line of each pair is the schema as it is, the second what we advertise.
"""

_READING = """\
- A server's start is the import of the SDK; what we add is the dispatcher and the table, which byte code makes quick to
  load. When all tools are listed, the rest of the growth is the SDK checking and encoding each of them, for any server
  that stands on it. Where byte code cannot be written, the table is compiled at every start.
- A full generation is above all datamodel-code-generator: its import, then about a millisecond a class, whether it is
  called once or once a category.
- A run that changes nothing is the import of the toolkit and a look at the hashes of what went in and came out; without
  the record of an earlier run (in the user's cache), as in CI, `check` has to render everything.
- An edit has to parse the whole manifest and to write again what tells of all tools at once: the table, the index, the
  schemas. That, and not the models of one category, is its cost, unless a schema changed.
"""


def page(findings: Findings) -> str:
    """Write the page as Markdown."""
    return "\n".join(_sections(findings))


def _sections(findings: Findings) -> Iterator[str]:
    yield _HEAD.format(
        rounds=findings.rounds,
        starts=f" ({findings.starts.rounds} of starts)" if findings.starts else "",
        cores=os.cpu_count(),
        system=f"{platform.system()} {platform.machine()}",
        python=f"{platform.python_implementation()} {'.'.join(platform.python_version_tuple()[:2])}",
        versions=", ".join(_versions(findings)),
        sizes=_listed(findings.sizes),
    )
    yield "## Promises\n"
    head = ("what", "best measured elsewhere", "ours", "this run", "")
    yield _table(head, ((row.what, row.elsewhere, row.promised, row.measured, row.verdict) for row in rows(findings)))
    yield _REPEAT
    if findings.starts is not None:
        yield _START
        yield _starts(findings.starts)
    if findings.searches:
        yield _SEARCH
        yield _searches(findings.searches)
    if findings.generations:
        yield _GENERATION
        yield _generations(findings.generations)
        yield _STAGES.format(size=findings.generations[-1].size)
        yield _stages(findings.generations[-1])
    if findings.converting is not None:
        yield from _converting(findings.converting)
    if findings.imports:
        yield _IMPORTS
        yield _table(("import", "seconds"), ((what, _seconds(took)) for what, took in findings.imports.items()))
    if findings.imports and findings.generations:
        yield _READING


def _versions(findings: Findings) -> Iterator[str]:
    for name in ("mcp", "fastmcp", "datamodel-code-generator"):
        # A part that needs none of them is measured without them too.
        with suppress(PackageNotFoundError):
            yield f"{name} {version(name)}"
    if findings.converting is not None:
        yield from findings.converting.versions


def _starts(starts: Starts) -> str:
    head = ("program", "tools", "seconds", "to the bare server", "peak MiB", "bytes listed", "bytes a tool", "tokens")
    return _table(
        head,
        (
            (
                label,
                str(size),
                f"{median(starts.seconds(label, size)):.2f}",
                str(starts.to_bare(label, size)),
                _or_dash(starts.memory(label, size)),
                f"{starts.all[label, size][0].size:,}",
                f"{starts.bytes_per_tool(label, size):.0f}",
                f"{starts.tokens(label, size):,}",
            )
            for size in starts.sizes
            for label in starts.labels
        ),
    )


def _searches(searches: Sequence[Search]) -> str:
    return _table(
        ("where", "tools", "first", "typical", "95th percentile"),
        (
            (where, str(search.size), f"{latency.first:.1f}", f"{latency.typical:.2f}", f"{latency.slow:.2f}")
            for search in searches
            for where, latency in _latencies(search)
        ),
    )


def _latencies(search: Search) -> tuple[tuple[str, Latency], ...]:
    return (
        ("our index, in process", search.in_process),
        ("our server, over stdio", search.ours),
        ("FastMCP's search, over stdio", search.fastmcp),
    )


def _generations(generations: Sequence[Generation]) -> str:
    return _table(
        ("command", "tools", "seconds", "to datamodel-code-generator alone"),
        (
            (what, str(each.size), f"{each.typical(what):.2f}", str(each.to_alone(what)))
            for each in generations
            for what in each.seconds
        ),
    )


def _stages(generation: Generation) -> str:
    full, check = generation.stages[FULL], generation.stages[CHECK]
    return _table(
        ("stage", FULL, CHECK),
        ((stage, _seconds(full.get(stage)), _seconds(check.get(stage))) for stage in dict.fromkeys((*full, *check))),
    )


def _converting(found: Comparison) -> Iterator[str]:
    styles = Counter(row.style for row in found.rows)
    yield _CONVERTING.format(
        count=len(found.rows),
        styles=", ".join(f"{count} {style}" for style, count in styles.items()),
        hard=found.hard,
        unusable=f" {found.unusable} that nobody can use are left out." if found.unusable else "",
        patience=TIMEOUT_S,
    )
    if found.missing:
        yield f"Not installed, so not measured: {', '.join(found.missing)}.\n"
    labels = (OUR_CONVERTER, *found.competitors)
    for what, hard in (("All of them", False), ("The hard ones", True)):
        yield f"{what}:\n"
        yield _scores([score for score in found.scores(hard=hard) if score.label in labels])
    yield _ADVERTISED
    for what, hard in (("All of them", False), ("The hard ones", True)):
        yield f"{what}:\n"
        scores = {score.label: score for score in found.scores(hard=hard)}
        yield _scores([scores[each] for label in found.clients for each in (label, through(label))])


def _scores(scores: Sequence[Score]) -> str:
    head = ("converter", "accepted", "kept", "good", "failed", "microseconds")
    return _table(
        head,
        (
            (
                each.label,
                *(f"{share:.1%}" for share in (each.accepted, each.kept, each.good, each.failed)),
                f"{each.microseconds:.0f}",
            )
            for each in scores
        ),
    )


def _table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Write a Markdown table, columns aligned for those who read it raw."""
    whole = [tuple(head), *(tuple(line) for line in lines)]
    widths = [max(3, *(len(line[column]) for line in whole)) for column in range(len(head))]
    rule = tuple("-" * width for width in widths)
    shown = (whole[0], rule, *whole[1:])
    return "".join(f"| {' | '.join(map(str.ljust, line, widths))} |\n" for line in shown)


def _or_dash(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}"


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _listed(sizes: Sequence[int]) -> str:
    *front, last = map(str, sizes)
    return f"{', '.join(front)} and {last}" if front else last
