"""Targets, one row each, with the results of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from bench.calling import IN_FLIGHT, Calls, FirstCall
from bench.calling_http import HttpCalls
from bench.cold import ColdStart
from bench.contestants import (
    BARE,
    DECORATORS,
    FASTMCP,
    FASTMCP_SEARCH,
    OURS,
    OURS_DEFAULT,
    OURS_SDK,
    WORKBENCH,
)
from bench.documents import DocumentImport
from bench.editing.measure import PURE, SERVER, Editing
from bench.editing.servers import THEIRS
from bench.file_tools import FileTask
from bench.generating import CHECK, CHECK_EMPTY, CHECK_RESTORED, FULL, NOTHING, SCHEMA, TEXT, Generation
from bench.importing import CHECK as CHECK_COMMAND
from bench.importing import FASTMCP_IMPORT, HELP
from bench.installing import OURS as OUR_PACKAGE
from bench.installing import Installation
from bench.large_results import LargeResult
from bench.listing import Listing
from bench.peers import GO, TYPESCRIPT, TYPESCRIPT_1
from bench.requests import Requests
from bench.research.measure import ResearchFindings
from bench.rounds import Cost, typical
from bench.scaling import EDITED, GENERATED, LINTED, Scale
from bench.schemas.comparison import OURS as OUR_CONVERTER
from bench.schemas.comparison import Comparison
from bench.searching import Search
from bench.starting import Starts
from bench.upstreams import Served

PROMISED_SIZE = 1000
"""Number of tools of the targets; smaller runs are not compared with them."""
MAX_GROWTH_MIB: Final = 10
MAX_PACKAGES: Final = 12
MAX_MEGABYTES: Final = 15
"""Targets of an installed server over stdio, with its own package."""
NOT_MEASURED = "not measured here"


@dataclass(frozen=True, slots=True)
class Findings:
    """The results of one run; None or empty if not measured."""

    sizes: tuple[int, ...]
    rounds: int
    parts: tuple[str, ...]
    starts: Starts | None = None
    cold: tuple[ColdStart, ...] = ()
    """Ours first."""
    listing: Listing | None = None
    searches: tuple[Search, ...] = ()
    requests: tuple[Requests, ...] = ()
    generations: tuple[Generation, ...] = ()
    imports: dict[str, Cost] = field(default_factory=dict)
    converting: Comparison | None = None
    editing: Editing | None = None
    upstreams: tuple[Served, ...] = ()
    file_tools: tuple[FileTask, ...] = ()
    workbench_starts: Starts | None = None
    large_starts: Starts | None = None
    idle: Mapping[tuple[str, int], tuple[float | None, float]] = field(default_factory=dict)
    """Resident memory in MiB after a wait and the CPU seconds of the wait, by label and number of tools."""
    calls: Calls | None = None
    first_calls: tuple[FirstCall, ...] = ()
    http_calls: tuple[HttpCalls, ...] = ()
    scale: Scale | None = None
    research: ResearchFindings | None = None
    large_results: tuple[LargeResult, ...] = ()
    document: DocumentImport | None = None
    developing: Mapping[int, float] = field(default_factory=dict)
    """Seconds from a saved edit to an answer that has it, by number of tools."""
    installations: tuple[Installation, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)
    """The reason of each peer that cannot run on this machine."""
    peer_versions: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()

    @property
    def is_short(self) -> bool:
        """Whether the run is a test of the benchmark: too small for the targets."""
        return self.rounds == 1

    @property
    def largest(self) -> int:
        """The size that is compared with the targets."""
        return self.sizes[-1]


@dataclass(frozen=True, slots=True)
class Row:
    """One target. `kept` is None if it was not measured."""

    what: str
    elsewhere: str
    promised: str
    measured: str
    kept: bool | None = None

    @property
    def verdict(self) -> str:
        """Return the text of the last column."""
        return "-" if self.kept is None else ("met" if self.kept else "**not met**")


def rows(findings: Findings) -> tuple[Row, ...]:
    """Return all targets, the start of a server first."""
    return (
        *_start_rows(findings),
        _cold_row(findings),
        *_idle_rows(findings),
        *_call_rows(findings),
        *_listing_rows(findings),
        Row(
            "search recall@5 on paraphrased requests",
            "FastMCP BM25 .610 mean",
            ">= .74",
            f"{NOT_MEASURED}: it needs sets of real requests",
        ),
        _names_row(findings),
        *_schema_rows(findings),
        _latency_row(findings),
        _requests_row(findings),
        *_generation_rows(findings),
        _editing_row(findings),
        *_file_rows(findings),
        _results_row(findings),
        *_command_rows(findings),
        _installation_row(findings),
        *_large_catalogue_rows(findings),
        _scale_row(findings),
    )


def _start_rows(findings: Findings) -> Iterator[Row]:
    starts, size = findings.starts, findings.largest
    what = "server start to first `tools/list`"
    if starts is None or "start" not in findings.parts:
        yield Row(what, "TypeScript SDK 0.3x; FastMCP 4.5x", "<= 0.05x of the bare SDK server", NOT_MEASURED)
        yield Row("start at 1000 tools against 10", "FastMCP 3.0x, SDK decorators 3.6x", "<= 1.05x", NOT_MEASURED)
        return
    default, classic = starts.to_bare(OURS_DEFAULT, size), starts.to_bare(OURS, size)
    labels = (GO, TYPESCRIPT_1, TYPESCRIPT, DECORATORS, FASTMCP)
    beside = "; ".join(
        f"{label} {starts.to_bare(label, size).median:.2f}x" for label in labels if label in starts.labels
    )
    small = starts.to_bare(OURS_DEFAULT, starts.sizes[0])
    yield Row(
        f"{what}, {size} tools, to the bare SDK server",
        "TypeScript SDK 0.3x; FastMCP 4.5x; Go 0.9x",
        "<= 0.05x",
        f"{default}; {small} with {starts.sizes[0]} tools; {classic} when all are listed; {beside}",
        _kept(findings, max(default.median, small.median, classic.median), 0.05),
    )
    if findings.large_starts is not None:
        (tools,) = findings.large_starts.sizes
        compared = findings.large_starts.to_bare(OURS_DEFAULT, tools)
        others = "; ".join(
            f"{label} {findings.large_starts.to_bare(label, tools).median:.2f}x"
            for label in findings.large_starts.labels
            if label not in {BARE, OURS_DEFAULT}
        )
        yield Row(
            f"{what}, {tools} tools, to the bare SDK server",
            "Go 0.5x",
            "<= 0.05x",
            f"{compared}; {others}",
            _kept(findings, compared.median, 0.05),
        )
    if findings.workbench_starts is not None:
        (tools,) = findings.workbench_starts.sizes
        compared = findings.workbench_starts.to_bare(WORKBENCH, tools)
        yield Row(
            f"{what}, Workbench, to a bare SDK server with its {tools} tools",
            "bare SDK server 1.0x",
            "<= 0.05x",
            str(compared),
            _kept(findings, compared.median, 0.05),
        )
    growth = {label: starts.growth(label) for label in starts.labels}
    yield Row(
        f"start at {size} tools against {starts.sizes[0]}",
        "FastMCP 3.0x, SDK decorators 3.6x",
        "<= 1.05x",
        f"{growth[OURS_DEFAULT]} in the default style; {growth[OURS]} when all are listed, as {BARE} {growth[BARE]};"
        f" {DECORATORS} {growth[DECORATORS].median:.2f}x; {FASTMCP} {growth[FASTMCP].median:.2f}x",
        _kept(findings, growth[OURS_DEFAULT].median, 1.05),
    )


def _cold_row(findings: Findings) -> Row:
    what = "cold start with `uvx` up to the answer of the first call, to a FastMCP server"
    elsewhere, target = "FastMCP 1.0x, 73 packages, 68 MB", "<= 0.6x, <= 12 packages, <= 15 MB"
    if not findings.cold:
        return Row(what, elsewhere, target, NOT_MEASURED)
    ours, theirs = findings.cold
    compared = ours.to(theirs)
    is_small = ours.packages <= MAX_PACKAGES and ours.megabytes <= MAX_MEGABYTES
    measured = f"{compared}, {ours.packages} packages, {ours.megabytes:.1f} MB"
    return Row(what, elsewhere, target, measured, _kept(findings, compared.median, 0.6) and is_small)


def _idle_rows(findings: Findings) -> Iterator[Row]:
    # The first call is prepared by then: its modules are most of it. `scale` has the memory before that, 11 MiB.
    what, target = "memory of a server 5 s after its start, to the bare SDK server", "<= 0.75x"
    elsewhere = "bare SDK server: see the result"
    ours = {
        key: memory
        for key, (memory, _) in findings.idle.items()
        if key[0] in {WORKBENCH, OURS_DEFAULT, BARE} and memory is not None
    }
    if not ours:
        yield Row(what, elsewhere, target, NOT_MEASURED)
        return
    others = {tools: memory for (label, tools), memory in ours.items() if label == BARE}
    shares = [memory / others[tools] for (label, tools), memory in ours.items() if label != BARE and tools in others]
    yield Row(
        what,
        elsewhere,
        target,
        "; ".join(f"{label}, {tools} tools: {memory:.1f} MiB" for (label, tools), memory in ours.items()),
        _kept(findings, max(shares, default=0.0), 0.75),
    )


def _call_rows(findings: Findings) -> Iterator[Row]:
    what = f"calls per second over stdio, {IN_FLIGHT} in flight, to the bare SDK server"
    calls = findings.calls
    if calls is None:
        yield Row(what, "TypeScript SDK 9.0x", ">= 9x", NOT_MEASURED)
        yield Row("exit after the end of the input", "-", "<= 50 ms", NOT_MEASURED)
        yield Row("first call of a server", "-", "<= 60 ms", NOT_MEASURED)
    else:
        labels = [label for label in (OURS_SDK, GO, TYPESCRIPT_1, TYPESCRIPT, FASTMCP) if label in calls.pipelined]
        yield Row(
            what,
            "TypeScript SDK 9.0x; FastMCP 0.6x",
            ">= 9x",
            f"{calls.speedup(OURS)}; {calls.speedup(OURS_DEFAULT)} through the meta-tool; "
            + "; ".join(f"{label} {calls.speedup(label).median:.2f}x" for label in labels),
            _at_least(findings, calls.speedup(OURS).median, 9),
        )
        ours = [call for call in findings.first_calls if call.label.startswith((OURS_DEFAULT, WORKBENCH))]
        exits = {f"{call.label}, {call.tool}": call.exit.wall * 1000 for call in ours}
        slowest = max(exits, key=exits.__getitem__)
        yield Row(
            "exit after the end of the input, nothing in flight",
            "-",
            "<= 50 ms",
            f"{min(exits.values()):.0f} to {exits[slowest]:.0f} ms after a call (longest: {slowest})"
            + "".join(f"; {text} before any call" for text in _exits_without_call(findings)),
            _kept(findings, exits[slowest], 50),
        )
        times = {
            f"{call.label}, {call.tool}, {when}": cost.wall * 1000
            for call in ours
            for when, cost in (
                ("at once", call.at_once),
                ("after a pause", call.after_pause),
                ("after a search", call.after_search),
            )
            if cost is not None
        }
        slowest = max(times, key=times.__getitem__)
        yield Row(
            "first call of a server",
            "bare SDK server: see the table",
            "<= 60 ms",
            f"{min(times.values()):.0f} to {times[slowest]:.0f} ms (longest: {slowest})",
            _kept(findings, times[slowest], 60),
        )
    what = "calls per second over HTTP at 1, 16 and 64 clients, to the bare SDK server"
    elsewhere, target = "Go 5 / 7 / 9x", ">= 3x in both eras"
    if not findings.http_calls:
        yield Row(what, elsewhere, target, NOT_MEASURED)
        return
    texts = []
    for result in findings.http_calls:
        peers = [label for label in result.costs if label not in {OURS, BARE}]
        beside = ", ".join(f"{label} {result.speedup(label).median:.1f}x" for label in peers)
        texts.append(f"{result.era}, {result.clients}: {result.speedup(OURS)}, {beside}")
    least = min(result.speedup(OURS).median for result in findings.http_calls)
    yield Row(what, elsewhere, target, "; ".join(texts), _at_least(findings, least, 3))


def _exits_without_call(findings: Findings) -> Iterator[str]:
    if findings.starts is not None and "start" in findings.parts:
        ends = typical(findings.starts.ends(OURS_DEFAULT, findings.largest))
        yield f"{ends.wall * 1000:.0f} ms"


def _listing_rows(findings: Findings) -> Iterator[Row]:
    starts, listing, size = findings.starts, findings.listing, findings.largest
    if starts is None or listing is None:
        yield Row("bytes per tool in `tools/list`, same meaning", "SDK decorators 642", "<= 440", NOT_MEASURED)
        yield Row("tokens of the default surface", "FastMCP search 253, climax 278", "<= 250", NOT_MEASURED)
        yield Row("tokens of a 12-tool listing / one description", "budget 500 / 400", "<= 250 / <= 200", NOT_MEASURED)
        return
    ours, theirs = starts.bytes_per_tool(OURS, size), starts.bytes_per_tool(DECORATORS, size)
    hints = starts.all[OURS, size][0].hint_bytes
    yield Row(
        "bytes per tool in `tools/list`, same meaning",
        "SDK decorators 642, static table 437 (0.68x)",
        "<= 440",
        f"{ours:.0f}, of them {hints:.0f} for the hints; {DECORATORS} {theirs:.0f} ({ours / theirs:.2f}x of that);"
        f" {FASTMCP} {starts.bytes_per_tool(FASTMCP, size):.0f}",
        ours <= 440,
    )
    surface = [starts.tokens(OURS_DEFAULT, tools) for tools in starts.sizes]
    yield Row(
        "tokens of the default surface",
        "FastMCP search 253, climax 278",
        "<= 250 with any catalogue",
        f"{' / '.join(map(str, surface))} at {' / '.join(map(str, starts.sizes))} tools;"
        f" {listing.split_surface} with `split_calls`; {FASTMCP_SEARCH} {starts.tokens(FASTMCP_SEARCH, size)}",
        max(surface) <= 250,
    )
    yield Row(
        "tokens of a 12-tool listing / one description",
        "budget 500 / 400",
        "<= 250 / <= 200 typical, 400 at most",
        f"{listing.listing} / {listing.description} typical, {listing.largest_description} at most",
        listing.listing <= 250 and listing.description <= 200 and listing.largest_description <= 400,
    )


def _names_row(findings: Findings) -> Row:
    what, elsewhere = "exact and spaced tool names at rank 1", "FastMCP .90, climax .03 for spaced names"
    if not findings.searches:
        return Row(what, elsewhere, "1.00", NOT_MEASURED)
    result = findings.searches[-1]
    return Row(
        what,
        elsewhere,
        "1.00",
        f"{result.named:.2f} and {result.spaced:.2f} of {result.size};"
        f" {FASTMCP_SEARCH} {result.fastmcp_named:.2f} and {result.fastmcp_spaced:.2f}",
        min(result.named, result.spaced) == 1,
    )


def _schema_rows(findings: Findings) -> Iterator[Row]:
    clients, converted = "schemas that survive every client path", "schemas converted to Gemini's `parameters` well"
    of_clients = ("45 % of real ones as advertised today; hard ones 0 %", ">= 98 %, hard >= 90 %")
    of_converters = ("real hard ones: mastra 91.0 %, litellm 85.7 %, google-adk 82.7 %", "hard >= 96 %")
    result = findings.converting
    if result is None:
        yield Row(clients, *of_clients, NOT_MEASURED)
        yield Row(converted, *of_converters, NOT_MEASURED)
        return
    paths = len(result.clients)
    as_they_are, advertised = result.surviving(advertised=False), result.surviving(advertised=True)
    hard_as_they_are, hard = (result.surviving(advertised=is_advertised, hard=True) for is_advertised in (False, True))
    yield Row(
        f"{clients}, {paths} of them measured",
        *of_clients,
        f"{advertised:.1%}, hard {hard:.1%} of the corpus ({as_they_are:.1%} and {hard_as_they_are:.1%} as they are)",
        advertised >= 0.98 and hard >= 0.9 if paths else None,
    )
    scores = {score.label: score for score in result.scores(hard=True)}
    others = [score for label, score in scores.items() if label in result.competitors]
    yield Row(
        converted,
        *of_converters,
        f"hard {scores[OUR_CONVERTER].good:.1%}; " + "; ".join(f"{score.label} {score.good:.1%}" for score in others),
        scores[OUR_CONVERTER].good >= 0.96,
    )


def _latency_row(findings: Findings) -> Row:
    what, elsewhere = "search latency", "FastMCP 370 ms first, 15 to 566 ms after"
    if not findings.searches:
        return Row(what, elsewhere, "<= 2 ms", NOT_MEASURED)
    result = findings.searches[-1]
    ours, theirs = result.ours, result.fastmcp
    return Row(
        f"{what}, {result.size} tools",
        elsewhere,
        "<= 2 ms",
        f"{result.in_process.typical:.2f} ms in process (p95 {result.in_process.slow:.2f});"
        f" over stdio {ours.first:.0f} ms first, {ours.typical:.1f} ms after;"
        f" {FASTMCP_SEARCH} {theirs.first:.0f} ms first, {theirs.typical:.0f} ms after",
        _kept(findings, result.in_process.typical, 2),
    )


def _requests_row(findings: Findings) -> Row:
    what, elsewhere = "searches with words that no tool has, in process", "SQLite FTS5: see the result"
    if not findings.requests:
        return Row(what, elsewhere, "<= 2x SQLite FTS5", NOT_MEASURED)
    return Row(
        what,
        elsewhere,
        "<= 2x SQLite FTS5",
        "; ".join(
            f"{result.ratio:.2f}x with {result.size} tools ({result.ours.typical:.2f} and {result.fts5.typical:.2f} ms)"
            for result in findings.requests
        ),
        _kept(findings, max(result.ratio for result in findings.requests), 2),
    )


_GENERATION_TARGETS: Final = (
    ("full generation, all artefacts", FULL, 0.8),
    ("generation after an edit of one description", TEXT, 0.15),
    ("generation after an edit of one parameter", SCHEMA, 0.15),
    ("`check` as in CI, empty content cache", CHECK_EMPTY, 1.0),
    ("`check` as in CI, restored content cache", CHECK_RESTORED, 0.5),
)
"""Measure, command, and the largest ratio to datamodel-code-generator alone."""


def _generation_rows(findings: Findings) -> Iterator[Row]:
    elsewhere = "datamodel-code-generator alone 1.0x"
    quick, kept = "nothing changed / `check`", "files rewritten on a no-op; hand edits lost"
    if not findings.generations:
        for what, _, target in _GENERATION_TARGETS:
            yield Row(what, elsewhere, f"<= {target:g}x", NOT_MEASURED)
        yield Row(quick, "nobody is incremental; `check` 7.0 s", "<= 0.5 s each", NOT_MEASURED)
        yield Row(kept, "100 %; 6 of 6 generators", "0; 0", NOT_MEASURED)
        return
    result = findings.generations[-1]
    for what, command, target in _GENERATION_TARGETS:
        compared = result.to_alone(command)
        yield Row(
            f"{what}, {result.size} tools",
            elsewhere,
            f"<= {target:g}x",
            f"{compared}; {result.typical(command).wall:.2f} s",
            _kept(findings, compared.median, target),
        )
    times = [result.typical(what).wall for what in (NOTHING, CHECK)]
    yield Row(
        f"{quick}, {result.size} tools",
        "nobody is incremental; `check` 7.0 s",
        "<= 0.5 s each",
        f"{' / '.join(f'{seconds:.2f}' for seconds in times)} s",
        _kept(findings, max(times), 0.5),
    )
    yield Row(
        kept,
        "100 %; 6 of 6 generators",
        "0; 0",
        f"{result.rewritten} of {result.files}; {result.edits_lost} of 1",
        result.rewritten == result.edits_lost == 0,
    )


def _editing_row(findings: Findings) -> Row:
    what, elsewhere = "bytes lost outside of an edit, in any encoding and with any line breaks", "not known"
    result = findings.editing
    if result is None:
        return Row(what, elsewhere, "0", NOT_MEASURED)
    pure, server, theirs = (result.losses[name] for name in (PURE, SERVER, THEIRS))
    return Row(
        what,
        f"fs-mcp {theirs.lost:,} in {theirs.edits - theirs.refused:,} edits",
        "0",
        f"{pure.lost} in {pure.edits - pure.refused:,} edits; {server.lost} in {server.edits:,} through the server",
        pure.lost == server.lost == pure.damaged == server.damaged == 0,
    )


def _file_rows(findings: Findings) -> Iterator[Row]:
    if not findings.file_tools:
        yield Row("tools for files, to their peers", "1.0x", "<= 2x, <= 1.1x of ripgrep", NOT_MEASURED)
        return
    for task in findings.file_tools:
        if task.target is not None:
            measured = f"{task.ratio}; {task.ours.wall * 1000:,.1f} and {task.theirs.wall * 1000:,.1f} ms"
            is_met = None if findings.is_short else task.ratio.median <= task.target
            yield Row(task.label, f"{task.other} 1.0x", f"<= {task.target:g}x", measured, is_met)
    growths = {task.label: task.growth_mib for task in findings.file_tools if task.growth_mib is not None}
    if growths:
        largest = max(growths, key=growths.__getitem__)
        yield Row(
            "growth of our server's memory by one of these tasks",
            "-",
            f"<= {MAX_GROWTH_MIB} MiB",
            f"{growths[largest]:.1f} MiB ({largest})",
            None if findings.is_short else growths[largest] <= MAX_GROWTH_MIB,
        )


def _results_row(findings: Findings) -> Row:
    what, target = "longest ping during a large result, to the bare SDK server", "<= 1x"
    if not findings.large_results:
        return Row(what, "bare SDK server 1.0x", target, NOT_MEASURED)
    largest = max(result.megabytes for result in findings.large_results)
    pings = {result.label: result.longest_ping for result in findings.large_results if result.megabytes == largest}
    ratio = pings[OURS] / pings[BARE]
    return Row(
        f"{what}, {largest} MB",
        "; ".join(f"{label} {ping:,.0f} ms" for label, ping in pings.items() if label != OURS),
        target,
        f"{ratio:.2f}x; {pings[OURS]:,.0f} ms",
        _kept(findings, ratio, 1),
    )


def _command_rows(findings: Findings) -> Iterator[Row]:
    what = "`toolmason --help` and a `check` without changes, to the import of FastMCP"
    if findings.imports:
        theirs = findings.imports[FASTMCP_IMPORT].wall
        ratios = [findings.imports[label].wall / theirs for label in (HELP, CHECK_COMMAND)]
        measured = " / ".join(f"{ratio:.2f}x" for ratio in ratios)
        yield Row(what, "FastMCP 1.0x", "<= 0.15x each", measured, _kept(findings, max(ratios), 0.15))
    else:
        yield Row(what, "FastMCP 1.0x", "<= 0.15x each", NOT_MEASURED)
    what = "import of a large OpenAPI document, to FastMCP"
    if (found := findings.document) is None:
        yield Row(what, "FastMCP 1.0x", "<= 1x", NOT_MEASURED)
    else:
        measured = f"{found.ratio}; {found.ours.wall:.2f} and {found.theirs.wall:.2f} s"
        is_met = _kept(findings, found.ratio.median, 1)
        yield Row(f"{what}, {found.operations:,} operations", "FastMCP 1.0x", "<= 1x", measured, is_met)


def _installation_row(findings: Findings) -> Row:
    what, elsewhere, target = "bare installation", "mcp: 28 packages, 32 MB", "<= 12 packages, <= 15 MB"
    known = {each.label: each for each in findings.installations if not each.missing}
    if OUR_PACKAGE not in known:
        return Row(what, elsewhere, target, NOT_MEASURED)
    texts = [f"{label}: {each.packages} packages, {each.megabytes:.0f} MB" for label, each in known.items()]
    ours = known[OUR_PACKAGE]
    return Row(what, elsewhere, target, "; ".join(texts), ours.packages <= 12 and ours.megabytes <= 15)


def _large_catalogue_rows(findings: Findings) -> Iterator[Row]:
    scale, elsewhere = findings.scale, "nobody is incremental"
    for what, measure, target in (
        ("generation, nothing there", GENERATED, 15.0),
        ("generation after an edit of one description", EDITED, 2.0),
        ("lint", LINTED, 5.0),
    ):
        goal = f"<= {target:g} s"
        if scale is None:
            yield Row(f"{what}, 10,000 tools", elsewhere, goal, NOT_MEASURED)
            continue
        seconds = scale.costs[measure][scale.sizes[-1]].wall
        is_met = None if findings.is_short else seconds <= target
        yield Row(f"{what}, {scale.sizes[-1]:,} tools", elsewhere, goal, f"{seconds:.1f} s", is_met)


def _kept(findings: Findings, measured: float, most: float) -> bool | None:
    return measured <= most if findings.largest == PROMISED_SIZE else None


def _at_least(findings: Findings, measured: float, least: float) -> bool | None:
    return measured >= least if findings.largest == PROMISED_SIZE else None


def _scale_row(findings: Findings) -> Row:
    what, target = "cost per tool at the largest size, to that at the next smaller one", "<= 1.1x: flat or falling"
    scale = findings.scale
    if scale is None:
        return Row(what, "-", target, NOT_MEASURED)
    growth = {measure: scale.growth(scale.cpu_per_tool(measure)) for measure in scale.costs}
    growth |= {measure: scale.growth(scale.memory_per_tool(measure)) for measure in scale.memory}
    *_, before, largest = scale.sizes
    return Row(
        f"cost per tool at {largest:,} tools, to that at {before:,}",
        "-",
        target,
        "; ".join(f"{measure} {ratio:.2f}x" for measure, ratio in growth.items()),
        None if findings.is_short else max(growth.values()) <= 1.1,
    )
