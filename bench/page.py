"""The page with the results of a run: the targets first, then the details."""

from __future__ import annotations

import os
import platform
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from bench import lessons
from bench.calling import IN_FLIGHT, PAUSE_S, QUIET_S, Calls, FirstCall
from bench.calling_http import HttpCalls
from bench.cold import ColdStart
from bench.contestants import BARE, OURS_DEFAULT, OURS_SDK
from bench.contestants import OURS as OUR_SERVER
from bench.documents import DocumentImport
from bench.editing.measure import Editing
from bench.editing.servers import FS_MCP, OURS, THEIRS
from bench.file_tools import FileTask
from bench.generating import CHECK, FULL, Generation
from bench.idle import IDLE_S
from bench.installing import Installation
from bench.large_results import LargeResult
from bench.plots import Plot, make_plots
from bench.promises import Findings, rows
from bench.requests import Requests
from bench.research.measure import ResearchFindings
from bench.rounds import Cost, typical
from bench.scaling import PAGE_SIZE, Scale
from bench.schemas.comparison import OURS as OUR_CONVERTER
from bench.schemas.comparison import TIMEOUT_S, Comparison, Score, through
from bench.searching import Latency, Search
from bench.starting import Starts
from bench.upstreams import CALLS, Served

PLOTS = Path("docs", "benchmarks")
"""The directory of the plots, beside the page."""

_HEAD = """\
# Benchmarks

Targets, and results measured on {dates}. `python -m bench` writes this page, including the sentences about the results.

Measured in {rounds} alternating rounds, long tasks in fewer; each round measures all programs one after another.
Figures are medians. A ratio is the median of the ratios of all rounds; in brackets are the middle half of them and the
median of the ratios of CPU time. CPU is that of the measured process, with the programs that it started.
Targets are compared with the time by the clock. Absolute times depend on the machine and its load: compare the ratios.
Tokens are estimated without a vocabulary, for all programs in the same way; compared with o200k, the estimate is 2 to
21 % high.

- Machine: {processor}, {cores} cores, {memory}{system}, {python}.
- Compared: {versions}.
- Tools: synthetic, {sizes} of them. Half of them read (a path, a bounded number and an enum), half write
  (an enum, a nested named type and a list); each has a description, all four hints, a use case and an example. No two
  tools share a text, and no two a parameter.
"""

_REPEAT = """\
## Repeat it

```bash
nox -s bench                        # everything; rewrites this page
nox -s bench -- --results DIR       # the same; keeps measured parts in DIR, to continue after an interruption
nox -s bench -- --results DIR --only start,call            # some parts; the command above then writes the page
python -m bench --short             # a test of the benchmark; its figures have no meaning and are not written
nox -s counts                       # instructions of typical work, compared with bench/counts.json, as in CI
python -m bench --only generate --sizes 1000 --rounds 3
python -m bench --only schemas --corpus my-schemas.jsonl   # other schemas: JSON lines with a key `schema`
python -m bench --only editing --fs-mcp PYTHON             # an interpreter with fs-mcp, instead of installing it
python -m bench --only cold                                # an empty cache of uv; needs uv, pip and fastmcp
```

The parts are {parts}. The Go server is built with `go` and the module proxy of `GOPROXY`; the TypeScript SDK is
installed in `bench/peers/`, servers from npm in `tests/`. A peer that cannot run is named on this page with the reason.

Times are not compared in CI, because they depend on the load of the machine. Instructions do not: `nox -s counts`
counts them with valgrind or perf, names each count that grew by over 10 %, and fails. `nox -s counts -- --write`
accepts the growth. Counts of another processor, counter, version or build of Python are printed and not compared.
"""

_COLD = """\
## Cold start with `uvx`

Two servers with the same tool: the project of `toolmason init`, and one with FastMCP. The time includes the
installation by `uvx` from wheels on the disk into an empty cache, the start, `tools/list` and a first call. Packages
and megabytes include the server itself, without compiled files.
"""

_START = """\
## Start

From the start of the process to the end of the first `tools/list`, with a handshake of revision 2025-11-25. Byte code
is cached. The bare server is the low-level `Server` of the Python SDK with the same tool table as ours; the servers of
the TypeScript SDK and the Go SDK also have this table. The default style lists only its meta-tools. The exit is the
time from the end of the input to the end of the process.
"""

_IDLE = """\
### Memory

Resident memory {seconds:g} s after the first list, without a request in between, and the CPU time of the wait. Our
servers prepare the first call meanwhile.
"""

_CALLS = """\
## Calls

Calls over stdio of a tool that returns a constant, with {tools} tools: one after the other, and with {window} requests
in flight. Our servers and FastMCP validate the arguments, the low-level servers do not. The default style calls the
tool through its meta-tool.
"""

_FIRST_CALL = """\
### First call and exit

The first call of a new server: immediately after the first list, {quiet:g} s later, and {pause:g} s after a search that
finds the tool. Our servers load what it needs in the meantime. The exit follows the first call.
"""

_HTTP = """\
### HTTP

Calls over streamable HTTP by clients that wait for each answer. All servers check the host, a bearer token and the
envelope of the request. In the revision with sessions, all store events, except the server of the TypeScript SDK: its
handler for both revisions has no sessions.
"""

_RESULTS = """\
### Large results

One call over stdio whose result is a text of so many megabytes, from the request to the last byte, in a new process.
Meanwhile the client sends a ping every 10 ms. Peak memory is that of the process.
"""

_DOCUMENT = """\
### Import of an OpenAPI document

Seconds of a process that imports a document of {megabytes:.1f} MB, with the imports of its modules.
"""

_DEVELOPING = """\
### From save to answer

The time from a saved edit of one description, under `toolmason dev`, to a list over HTTP with the new text.
"""

_INSTALLATION = """\
## Installation

Packages and megabytes that a server over stdio needs, without compiled files, and without Python or Node.js. A server
with the Go SDK is one file.
"""

_SCALING = """\
## Scale

Projects of {sizes} tools, pages of {page_size} tools. Costs are CPU milliseconds; *per tool* compares the cost per tool
at the largest size with that at the next smaller one: 1.0x is linear, less is better.
"""

_LINEAR = """\
The commands read and hash all files; a search adds the scores of all tools, and its first one loads the catalogue.
If a catalogue of 10,000 tools is too slow, split it into several servers.
"""

_SEARCH = """\
## Search

Milliseconds. The first search loads our index and builds FastMCP's. Queries are the tools' use cases. CPU is that of a
typical search.
"""

_REQUESTS = """\
Queries of one to fourteen words in process, of which every third is in no tool, and SQLite FTS5 in the same process.
"""

_GENERATION = """\
## Generation

Seconds of the real commands, each in its own process. datamodel-code-generator alone writes one module with all models
in one call, formatted by ruff; a full run writes all files, including those models.
"""

_STAGES = """\
### Stages

Seconds of each stage of `toolmason.pipeline` at {size} tools. "Imports" is the time before the first stage; imports
within a stage are part of it.
"""

_IMPORTS = """\
## Imports and short commands

Imports are the lower bound of most figures above. Seconds from the start of Python to its end, with nothing but the
import, and of two commands that do little more.
"""

_CONVERTING = """\
## Schemas

Conversion to Gemini's message `Schema`, the type of `parameters`. {count} schemas ({styles}); our corpus is in
`bench/schemas/corpus/`. {hard} of them are hard: they have references, recursion, unions, `oneOf` or `allOf`, numeric
enums, tuples, maps, nodes without a type or keywords of other dialects. Percentages are of all schemas.{unusable}

- *accepted*: valid for the protobuf message and for the server rules known from its error messages.
- *kept*: no property is missing, and every valid value of the corpus is still accepted.
- *good*: both. *failed*: the converter raised an error or gave no answer within {patience:.0f} s.
- Microseconds are medians of the converted schemas.
"""

_ADVERTISED = """\
Clients convert the schemas that a server advertises, and the server cannot choose the client. The first line of each
pair is the original schema, the second the result of `advertise`.
"""

_RESEARCH = """\
## Files for a question

Thirty questions in words, without identifiers, whose answers are at known lines of three trees. They were written
before anything was measured; half of them was used to tune the ranking, the others are kept apart. Each method fills a
window of so many tokens. *Files*: the share of questions of whose right file something is sent; *lines*: the line with
the answer is sent. *packing* is ours, which sends excerpts of many files; the others send whole files in their order:
*map*, the ranking of aider's map; *bm25*, plain BM25 of whole files; *names*, the order of names.

{trees}
"""

_EDITING = """\
## Editing

Scripted callers of `propose_and_review`, here and in {theirs}. They make the mistakes of weak models, then follow the
error text. Each change is approved at once: ours by the client's answer to the question, theirs by an editor that
saves the proposed file unchanged. A turn is one call of a tool; tokens are those of all requests and answers of a task.
A *wrong* file was reported as committed. The definition of our tool has {ours_defined:,} tokens, that of fs-mcp
{theirs_defined:,}.
"""

_LOSING = """\
Random edits of files in UTF-8, UTF-16, Latin-1, Shift JIS and invalid UTF-8, with and without byte order mark and final
newline, and with all kinds of line breaks. *Damaged* files changed outside of the edit; *lost* are the bytes that are
missing there. A refused edit changes nothing. Functions are called in process; fs-mcp's is called without its wait for
the editor.
"""

_UPSTREAMS = """\
## Upstreams

Servers from npm, called directly and through a server that `toolmason import server` and `toolmason generate` made.
Tokens are those of `tools/list`. Calls are sequential, over stdio, {calls} a round: `get-sum` of everything,
`list_allowed_directories` of filesystem, `read_graph` of an empty memory; through ours, by the meta-tool `call`.
"""

_FILE_TOOLS = """\
## Tools for files

Calls of Workbench over stdio, and the same work by another server over stdio or by a program with its start;
`grep_content` and `query_json` start a program as well. Memory is that of our server after all rounds, less that before
the first one.
"""

_READING = """\
- The start of a server that uses the SDK is mostly its import. Ours over stdio imports neither it nor the dispatcher
  until a request needs them.
- A full generation is datamodel-code-generator, in a process beside ours, and the conversion of each schema for the
  providers.
- A run without changes compares the inodes, sizes and times of all inputs and outputs with those of the last clean run
  (in the user's cache). If one differs, or has changed in the two seconds before that run, it imports the toolkit and
  compares the hashes of all contents. Without any record, as in CI, `check` renders everything, except what a restored
  content cache has.
- After an edit, only edited tools are parsed, converted and rendered. The rest is the import of the toolkit, the
  resolution of all tools, and the files that cover all of them: the table, the index, the schemas.
"""


def page(findings: Findings) -> str:
    """Return the page as Markdown."""
    return "\n".join(_sections(findings))


def _sections(findings: Findings) -> Iterator[str]:
    yield _HEAD.format(
        rounds=findings.rounds,
        dates=" and ".join(findings.dates),
        processor=_processor(),
        cores=os.cpu_count(),
        memory=_memory(),
        system=f"{platform.system()} {platform.machine()}",
        python=f"{platform.python_implementation()} {platform.python_version()}",
        versions=", ".join(_versions(findings)),
        sizes=_listed(findings.sizes),
    )
    if findings.missing:
        yield from _as_text(lessons.missing(findings.missing))
    yield "## Targets\n"
    head = ("measure", "best of others, measured before", "target", "this run", "")
    yield _table(head, ((row.what, row.elsewhere, row.promised, row.measured, row.verdict) for row in rows(findings)))
    yield _REPEAT.format(parts=", ".join(f"`{part}`" for part in findings.parts))
    plots = {plot.name: plot for plot in make_plots(findings)}
    yield from _serving(findings, plots)
    if findings.searches:
        yield _SEARCH
        yield from _as_text(lessons.search(findings.searches))
        yield _searches(findings.searches)
    if findings.requests:
        yield _REQUESTS
        yield from _as_text(lessons.requests(findings.requests))
        yield _requests(findings.requests)
    if findings.generations:
        yield _GENERATION
        yield from _as_text(lessons.generation(findings.generations))
        yield from _shown(plots, "generation")
        yield _generations(findings.generations)
        yield _STAGES.format(size=findings.generations[-1].size)
        yield from _as_text(lessons.stages(findings.generations[-1]))
        yield _stages(findings.generations[-1])
    if findings.document is not None:
        yield _DOCUMENT.format(megabytes=findings.document.megabytes)
        yield from _as_text(lessons.document(findings.document))
        yield _document(findings.document)
    if findings.developing:
        yield _DEVELOPING
        yield from _as_text(lessons.developing(findings.developing))
    yield from _working(findings)
    yield from _growing(findings, plots)


def _working(findings: Findings) -> Iterator[str]:
    """Return the sections about schemas, and the tools of Workbench."""
    if findings.converting is not None:
        yield from _converting(findings.converting)
    if findings.editing is not None:
        yield from _editing(findings.editing)
    if findings.upstreams:
        yield _UPSTREAMS.format(calls=CALLS)
        yield from _as_text(lessons.upstreams(findings.upstreams))
        yield _upstreams(findings.upstreams)
    if findings.file_tools:
        yield _FILE_TOOLS
        yield from _as_text(lessons.files(findings.file_tools))
        yield _file_tools(findings.file_tools)
    if findings.research is not None:
        yield _RESEARCH.format(trees=_research_trees(findings.research))
        yield from _as_text(lessons.research(findings.research))
        yield _research(findings.research)


def _growing(findings: Findings, plots: Mapping[str, Plot]) -> Iterator[str]:
    """Return the sections about scale, installation and imports."""
    if findings.scale is not None:
        yield _SCALING.format(sizes=_listed(findings.scale.sizes), page_size=PAGE_SIZE)
        yield from _as_text(lessons.scale(findings.scale))
        yield from _shown(plots, "scale")
        yield _scale(findings.scale)
        yield _LINEAR
    if findings.installations:
        yield _INSTALLATION
        yield from _as_text(lessons.installations(findings.installations))
        yield _installations(findings.installations)
    if findings.imports:
        yield _IMPORTS
        yield from _as_text(lessons.imports(findings.imports))
        yield _table(
            ("process", "seconds", "CPU"),
            ((label, _seconds(cost.wall), _seconds(cost.cpu)) for label, cost in findings.imports.items()),
        )
    if findings.imports and findings.generations:
        yield _READING


def _as_text(sentences: Iterable[str]) -> Iterator[str]:
    """Return the sentences about a table as one paragraph or a list."""
    lines = list(sentences)
    if len(lines) == 1:
        yield f"{lines[0]}\n"
    elif lines:
        yield "\n".join(f"- {line}" for line in lines) + "\n"


def _serving(findings: Findings, plots: Mapping[str, Plot]) -> Iterator[str]:
    """Return the sections about start, memory and calls of servers."""
    if findings.starts is not None:
        yield _START
        yield from _as_text(lessons.start(findings.starts, findings.large_starts))
        yield from _shown(plots, "start")
        yield _starts(findings.starts, findings.large_starts, findings.workbench_starts)
    if findings.cold:
        yield _COLD
        yield _cold(findings.cold)
    if findings.idle:
        yield _IDLE.format(seconds=IDLE_S)
        yield from _as_text(lessons.idle(findings.idle))
        yield _idle(findings.idle)
    if findings.calls is not None:
        yield _CALLS.format(tools=findings.sizes[0], window=IN_FLIGHT)
        yield from _as_text(lessons.calls(findings.calls, (OUR_SERVER, OURS_DEFAULT, OURS_SDK)))
        yield from _shown(plots, "calls")
        yield _calls(findings.calls)
        yield _FIRST_CALL.format(pause=PAUSE_S, quiet=QUIET_S)
        yield from _as_text(lessons.first_calls(findings.first_calls))
        yield _first_calls(findings.first_calls)
    if findings.http_calls:
        yield _HTTP
        yield from _as_text((*lessons.http(findings.http_calls), *lessons.refused(findings.http_calls)))
        yield from _shown(plots, "http")
        yield _http_calls(findings.http_calls)
    if findings.large_results:
        yield _RESULTS
        yield from _as_text(lessons.results(findings.large_results))
        yield from _shown(plots, "results")
        yield _large_results(findings.large_results)


def _processor() -> str:
    """Return the name of the processor."""
    with suppress(OSError, StopIteration):
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
        line = next(line for line in text.splitlines() if line.startswith("model name"))
        return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _memory() -> str:
    with suppress(OSError, IndexError, ValueError):
        kilobytes = int(Path("/proc/meminfo").read_text(encoding="utf-8").split()[1])
        return f"{kilobytes / 2**20:.0f} GiB, "
    return ""


def _versions(findings: Findings) -> Iterator[str]:
    for name in ("mcp", "fastmcp", "datamodel-code-generator"):
        # A part that needs none of them is measured without them too.
        with suppress(PackageNotFoundError):
            yield f"{name} {version(name)}"
    yield from findings.peer_versions
    if findings.converting is not None:
        yield from findings.converting.versions


def _shown(plots: Mapping[str, Plot], name: str) -> Iterator[str]:
    if name in plots:
        yield f"![{plots[name].text}]({PLOTS.name}/{name}.svg)\n"


def _starts(starts: Starts, *others: Starts | None) -> str:
    head = (
        "program",
        "tools",
        "seconds",
        "CPU",
        "to the bare server",
        "exit, ms",
        "peak MiB",
        "bytes listed",
        "bytes a tool",
        "tokens",
    )
    return _table(
        head,
        (
            (
                label,
                str(size),
                f"{typical(measured.costs(label, size)).wall:.3f}",
                f"{typical(measured.costs(label, size)).cpu:.3f}",
                str(measured.to_bare(label, size)),
                f"{typical(measured.ends(label, size)).wall * 1000:.0f}",
                _or_dash(measured.memory(label, size)),
                f"{measured.all[label, size][0].size:,}",
                f"{measured.bytes_per_tool(label, size):.0f}",
                f"{measured.tokens(label, size):,}",
            )
            for measured in (starts, *others)
            if measured is not None
            for size in measured.sizes
            for label in measured.labels
        ),
    )


def _cold(starts: Sequence[ColdStart]) -> str:
    reference = starts[-1]
    return _table(
        ("server", "packages", "MB", "seconds", "CPU", "ratio"),
        (
            (
                start.label,
                str(start.packages),
                f"{start.megabytes:.1f}",
                *(_seconds(value) for value in (typical(start.costs).wall, typical(start.costs).cpu)),
                str(start.to(reference)),
            )
            for start in starts
        ),
    )


def _idle(idle: Mapping[tuple[str, int], tuple[float | None, float]]) -> str:
    bare = {size: memory for (label, size), (memory, _) in idle.items() if label == BARE}
    return _table(
        ("program", "tools", "MiB", "to the bare server", "CPU, ms"),
        (
            (
                label,
                str(size),
                "-" if memory is None else f"{memory:.1f}",
                _quotient(memory, bare[size]),
                f"{cpu * 1000:.1f}",
            )
            for (label, size), (memory, cpu) in idle.items()
        ),
    )


def _quotient(value: float | None, other: float | None) -> str:
    return f"{value / other:.2f}x" if value and other else "-"


def _calls(calls: Calls) -> str:
    return _table(
        (
            "program",
            "one at a time, ms",
            "CPU, ms",
            "in flight, calls/s",
            "CPU per call, ms",
            "calls/s to the bare server",
        ),
        (
            (
                label,
                *_milliseconds(typical(calls.sequential[label]), digits=3),
                f"{1 / pipelined.wall:,.0f}",
                f"{pipelined.cpu * 1000:.3f}",
                str(calls.speedup(label)),
            )
            for label in calls.pipelined
            for pipelined in (typical(calls.pipelined[label]),)
        ),
    )


def _first_calls(calls: Sequence[FirstCall]) -> str:
    return _table(
        (
            *("program", "tool", "at once, ms", "CPU", "after a pause, ms", "CPU", "after a search, ms", "CPU"),
            "exit, ms",
        ),
        (
            (
                call.label,
                f"`{call.tool}`",
                *_milliseconds(call.at_once, digits=1),
                *_milliseconds(call.after_pause, digits=1),
                *(("-", "-") if call.after_search is None else _milliseconds(call.after_search, digits=1)),
                # Without CPU: the clock loses the programs of the server that end with it.
                f"{call.exit.wall * 1000:.0f}",
            )
            for call in calls
        ),
    )


def _http_calls(results: Sequence[HttpCalls]) -> str:
    return _table(
        ("revision", "clients", "program", "calls/s", "CPU per call, ms", "calls/s to the bare server"),
        (
            (
                result.era,
                str(result.clients),
                label,
                f"{1 / typical(costs).wall:,.0f}",
                f"{typical(costs).cpu * 1000:.2f}",
                str(result.speedup(label)),
            )
            for result in results
            for label, costs in result.costs.items()
        ),
    )


def _large_results(results: Sequence[LargeResult]) -> str:
    return _table(
        ("program", "MB", "ms", "CPU", "peak MiB", "longest ping, ms"),
        (
            (
                result.label,
                str(result.megabytes),
                *_milliseconds(result.cost, digits=1),
                _or_dash(result.memory),
                f"{result.longest_ping:,.1f}",
            )
            for result in results
        ),
    )


def _document(found: DocumentImport) -> str:
    return _table(
        ("program", "seconds", "CPU", "to FastMCP"),
        (
            ("`toolmason import openapi`", _seconds(found.ours.wall), _seconds(found.ours.cpu), str(found.ratio)),
            ("`FastMCP.from_openapi`", _seconds(found.theirs.wall), _seconds(found.theirs.cpu), "1.00x"),
        ),
    )


def _installations(found: Sequence[Installation]) -> str:
    return _table(
        ("installed", "packages", "MB"),
        (
            (each.label, *((each.missing, "-") if each.missing else (str(each.packages), f"{each.megabytes:.1f}")))
            for each in found
        ),
    )


def _scale(scale: Scale) -> str:
    head = ("measure", *(f"{size:,}" for size in scale.sizes), "per tool")
    times = (
        (
            f"{measure}, ms",
            *(_significant(costs[size].cpu * 1000) for size in scale.sizes),
            f"{scale.growth(scale.cpu_per_tool(measure)):.2f}x",
        )
        for measure, costs in scale.costs.items()
    )
    memory = (
        (
            f"{measure}, MiB",
            *(f"{values[size]:,.1f}" for size in scale.sizes),
            f"{scale.growth(scale.memory_per_tool(measure)):.2f}x",
        )
        for measure, values in scale.memory.items()
    )
    return _table(head, (*times, *memory))


def _significant(value: float) -> str:
    """Return a number with at least three digits, without an exponent."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _milliseconds(cost: Cost, *, digits: int = 0) -> tuple[str, str]:
    """Return the time by the clock and that of processors."""
    return f"{cost.wall * 1000:,.{digits}f}", f"{cost.cpu * 1000:,.{digits}f}"


def _searches(searches: Sequence[Search]) -> str:
    return _table(
        ("where", "tools", "first", "typical", "95th percentile", "CPU"),
        (
            (where, str(search.size), f"{latency.first:.1f}", *_latency(latency))
            for search in searches
            for where, latency in _latencies(search)
        ),
    )


def _latency(latency: Latency) -> tuple[str, str, str]:
    return f"{latency.typical:.2f}", f"{latency.slow:.2f}", f"{latency.cpu:.2f}"


def _requests(results: Sequence[Requests]) -> str:
    return _table(
        ("engine", "tools", "typical", "95th percentile", "CPU"),
        (
            (engine, str(result.size), *_latency(latency))
            for result in results
            for engine, latency in (("our index", result.ours), ("SQLite FTS5", result.fts5))
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
        ("command", "tools", "seconds", "CPU", "to datamodel-code-generator alone"),
        (
            (
                command,
                str(generation.size),
                f"{generation.typical(command).wall:.2f}",
                f"{generation.typical(command).cpu:.2f}",
                str(generation.to_alone(command)),
            )
            for generation in generations
            for command in generation.costs
        ),
    )


def _stages(generation: Generation) -> str:
    full, check = generation.stages[FULL], generation.stages[CHECK]
    return _table(
        ("stage", FULL, CHECK),
        ((stage, _seconds(full.get(stage)), _seconds(check.get(stage))) for stage in dict.fromkeys((*full, *check))),
    )


def _editing(results: Editing) -> Iterator[str]:
    yield _EDITING.format(
        theirs=FS_MCP.replace("==", " "),
        ours_defined=results.definitions[OURS],
        theirs_defined=results.definitions[THEIRS],
    )
    yield from _as_text(lessons.editing(results))
    labels = (OURS, THEIRS)
    head = ("task", *(f"{label}: {what}" for label in labels for what in ("turns", "tokens", "file")))
    yield _table(
        head,
        (
            (
                task,
                *(
                    cell
                    for label in labels
                    for outcome in (results.outcomes[label, task],)
                    for cell in (str(outcome.turns), f"{outcome.tokens:,}", outcome.file)
                ),
            )
            for task in results.tasks
        ),
    )
    yield _LOSING
    yield _table(
        ("program", "edits", "refused", "damaged files", "bytes lost"),
        (
            (name, f"{losses.edits:,}", f"{losses.refused:,}", f"{losses.damaged:,}", f"{losses.lost:,}")
            for name, losses in results.losses.items()
        ),
    )


def _upstreams(results: Sequence[Served]) -> str:
    return _table(
        (
            "server",
            "tools",
            "tokens, direct",
            "default style",
            "classic",
            "calls/s, direct",
            "CPU, ms",
            "through",
            "CPU, ms",
            "ratio",
        ),
        (
            (
                served.name,
                str(served.tools),
                *(f"{tokens:,}" for tokens in (served.direct_tokens, served.default_tokens, served.classic_tokens)),
                *(
                    text
                    for cost in (served.direct, served.through)
                    for text in (f"{1 / cost.wall:,.0f}", f"{cost.cpu * 1000:.2f}")
                ),
                str(served.ratio),
            )
            for served in results
        ),
    )


def _file_tools(tasks: Sequence[FileTask]) -> str:
    return _table(
        ("task", "compared with", "ours, ms", "CPU", "theirs, ms", "CPU", "ratio", "memory, MiB"),
        (
            (
                task.label,
                task.other,
                *_milliseconds(task.ours, digits=1),
                *_milliseconds(task.theirs, digits=1),
                str(task.ratio),
                "-" if task.growth_mib is None else f"{task.growth_mib:+.1f}",
            )
            for task in tasks
        ),
    )


def _research_trees(found: ResearchFindings) -> str:
    return "\n".join(
        f"- {name}: {files:,} files, {characters / 1e6:.1f} MB; at most {found.seconds[name]:.1f} s of CPU to rank"
        for name, (files, characters) in found.trees.items()
    )


def _research(found: ResearchFindings) -> str:
    return _table(
        ("window", "method", "files, tuning", "files, apart", "lines, tuning", "lines, apart"),
        (
            (
                f"{window:,}",
                method,
                *(
                    f"{getattr(recall, kind):.2f}"
                    for kind in ("files", "lines")
                    for is_tuning in (True, False)
                    for recall in found.recalls
                    if (recall.method, recall.window, recall.is_tuning) == (method, window, is_tuning)
                ),
            )
            for window, method in dict.fromkeys((recall.window, recall.method) for recall in found.recalls)
        ),
    )


def _converting(results: Comparison) -> Iterator[str]:
    styles = Counter(row.style for row in results.rows)
    yield _CONVERTING.format(
        count=len(results.rows),
        styles=", ".join(f"{count} {style}" for style, count in styles.items()),
        hard=results.hard,
        unusable=f" {results.unusable} that nobody can use are left out." if results.unusable else "",
        patience=TIMEOUT_S,
    )
    if results.missing:
        yield f"Not installed, so not measured: {', '.join(results.missing)}.\n"
    yield from _as_text(lessons.converting(results))
    labels = (OUR_CONVERTER, *results.competitors)
    for title, hard in (("All schemas", False), ("Hard schemas", True)):
        yield f"{title}:\n"
        yield _scores([score for score in results.scores(hard=hard) if score.label in labels])
    yield _ADVERTISED
    for title, hard in (("All schemas", False), ("Hard schemas", True)):
        yield f"{title}:\n"
        scores = {score.label: score for score in results.scores(hard=hard)}
        yield _scores([scores[name] for label in results.clients for name in (label, through(label))])


def _scores(scores: Sequence[Score]) -> str:
    head = ("converter", "accepted", "kept", "good", "failed", "microseconds")
    return _table(
        head,
        (
            (
                score.label,
                *(f"{share:.1%}" for share in (score.accepted, score.kept, score.good, score.failed)),
                f"{score.microseconds:.0f}",
            )
            for score in scores
        ),
    )


def _table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table with aligned columns. A `|` in a cell would end it, even in code."""
    whole = [tuple(cell.replace("|", "\\|") for cell in line) for line in (head, *lines)]
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
