"""One run: the parts to measure, each with a method that returns fields of `Findings`."""

# ruff: noqa: T201  reports its progress

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cached_property
from time import perf_counter
from typing import Any, Final

from bench.calling import measure_calls, measure_first_calls
from bench.calling_http import measure_http_calls
from bench.cold import measure_cold
from bench.contestants import Contestants, all_programs, make_contestants, workbench_programs
from bench.developing import measure_developing
from bench.documents import measure_import
from bench.editing.measure import measure_editing
from bench.file_tools import measure_file_tools
from bench.generating import measure_generation
from bench.idle import measure_idle
from bench.importing import measure_imports
from bench.installing import measure_installations
from bench.large_results import measure_large_results
from bench.listing import LISTED, measure_listing
from bench.peers import Peers, find_peers
from bench.promises import Findings
from bench.requests import REQUEST_SIZES, SHORT_REQUEST_SIZES, measure_requests
from bench.research.measure import measure_research
from bench.scaling import SCALE, SHORT_SCALE, measure_scale
from bench.schemas.comparison import compare_converters
from bench.schemas.corpus import load_corpus
from bench.searching import measure_search
from bench.session import Workspace
from bench.starting import LARGE_SIZE, SHORT_LARGE_SIZE, measure_starts
from bench.store import Store
from bench.upstreams import measure_upstreams

Fields = dict[str, Any]
"""Values of fields of `Findings`."""


class Run:
    """Measures parts in one workspace.

    Args:
        workspace: a directory for this run.
        sizes: numbers of tools, ascending.
        rounds: measurements of each value.
        parts: the keys of `MEASURES` to measure.
        options: those of the command line.
        store: results of earlier runs; their parts are not measured again.
    """

    def __init__(
        self,
        workspace: Workspace,
        *,
        sizes: Sequence[int],
        rounds: int,
        parts: Sequence[str],
        options: argparse.Namespace,
        store: Store | None = None,
    ) -> None:
        self._workspace = workspace
        self._parts = tuple(parts)
        self._sizes = tuple(sizes)
        self._rounds = rounds
        self._options = options
        self._store = store
        self._started = perf_counter()

    def measure(self) -> Findings:
        """Measure the parts one after another, except those that the store has."""
        found: Fields = {}
        dates = set()
        for part in self._parts:
            stored = self._store.read(part) if self._store else None
            if stored is None:
                self._report(part)
                stored = {**MEASURES[part](self), "date": datetime.now(UTC).strftime("%Y-%m-%d")}
                if self._store:
                    self._store.write(part, stored)
            dates.add(stored["date"])
            # Of several parts with the same field, the first one measures it completely.
            found = {**stored, **found}
        self._report("done")
        del found["date"]
        return Findings(self._sizes, self._rounds, self._parts, dates=tuple(sorted(dates)), **found)

    def start(self) -> Fields:
        """Start, exit, and memory after a wait."""
        programs, workbench = all_programs(self._contestants), workbench_programs(self._workspace)
        size = SHORT_LARGE_SIZE if self._options.short else LARGE_SIZE
        large = all_programs([make_contestants(self._workspace, self._peers, size)])
        waiting = {key: program for key, program in programs.items() if key[1] in {self._sizes[0], self._sizes[-1]}}
        waiting |= large | workbench
        return {
            "starts": measure_starts(self._workspace, programs, self._rounds),
            "large_starts": measure_starts(self._workspace, large, self._few_rounds),
            "workbench_starts": measure_starts(self._workspace, workbench, self._rounds),
            "idle": measure_idle(self._workspace, waiting, 1, is_short=self._options.short),
            "imports": measure_imports(self._workspace, self._rounds),
            **self._about_peers,
        }

    def cold(self) -> Fields:
        """Start with `uvx` and an empty cache."""
        return {"cold": measure_cold(self._workspace, self._rounds)}

    def list(self) -> Fields:
        """Bytes and tokens of lists."""
        small = make_contestants(self._workspace, self._peers, LISTED, split_calls=True)
        fields: Fields = {"listing": measure_listing(self._workspace, small)}
        # Bytes are those of the lists of `start`.
        if "start" not in self._parts:
            fields["starts"] = measure_starts(self._workspace, all_programs(self._contestants), 1)
        return fields

    def call(self) -> Fields:
        """Calls over stdio and HTTP, first calls and exits."""
        small, large = self._contestants[0], self._contestants[-1]
        is_short: bool = self._options.short
        return {
            "calls": measure_calls(self._workspace, small, self._rounds, is_short=is_short),
            "first_calls": measure_first_calls(self._workspace, (small, large), self._few_rounds),
            "http_calls": measure_http_calls(self._workspace, self._peers, small, self._rounds, is_short=is_short),
            **self._about_peers,
        }

    def search(self) -> Fields:
        """Searches."""
        sizes = SHORT_REQUEST_SIZES if self._options.short else REQUEST_SIZES
        return {
            "searches": tuple(
                measure_search(self._workspace, compared, self._few_rounds) for compared in self._contestants
            ),
            "requests": tuple(measure_requests(size, self._few_rounds) for size in sizes),
        }

    def generate(self) -> Fields:
        """Commands of the toolkit."""
        return {
            "generations": tuple(
                measure_generation(self._workspace, compared, self._rounds) for compared in self._contestants
            )
        }

    def schemas(self) -> Fields:
        """Conversion of schemas."""
        return {"converting": compare_converters(load_corpus(self._options.corpus), self._options.converters)}

    def editing(self) -> Fields:
        """Edits of files."""
        return {"editing": measure_editing(self._workspace, self._options.fs_mcp, is_short=self._options.short)}

    def upstreams(self) -> Fields:
        """Servers behind ours."""
        return {"upstreams": measure_upstreams(self._workspace, self._rounds, is_short=self._options.short)}

    def files(self) -> Fields:
        """Workbench's tools for files."""
        return {"file_tools": measure_file_tools(self._workspace, self._rounds, is_short=self._options.short)}

    def results(self) -> Fields:
        """Large results."""
        large = measure_large_results(self._workspace, self._peers, self._few_rounds, is_short=self._options.short)
        return {"large_results": large, **self._about_peers}

    def toolkit(self) -> Fields:
        """Import of a large document, and `toolmason dev`."""
        is_short: bool = self._options.short
        return {
            "document": measure_import(self._workspace, self._few_rounds, is_short=is_short),
            "developing": measure_developing(self._workspace, self._rounds, is_short=is_short),
        }

    def install(self) -> Fields:
        """Size of an installation."""
        return {"installations": measure_installations(self._workspace, self._peers), **self._about_peers}

    def scale(self) -> Fields:
        """All of it at growing sizes."""
        sizes = self._options.sizes or (SHORT_SCALE if self._options.short else SCALE)
        return {"scale": measure_scale(self._workspace, sizes, self._few_rounds)}

    def research(self) -> Fields:
        """Files that are chosen for a question to a model."""
        return {"research": measure_research(is_short=self._options.short)}

    @cached_property
    def _peers(self) -> Peers:
        return find_peers(self._workspace.directory)

    @property
    def _about_peers(self) -> Fields:
        return {"missing": dict(self._peers.missing), "peer_versions": self._peers.versions}

    @cached_property
    def _contestants(self) -> Sequence[Contestants]:
        return [make_contestants(self._workspace, self._peers, size) for size in self._sizes]

    @property
    def _few_rounds(self) -> int:
        return -(-self._rounds // 2)

    def _report(self, text: str) -> None:
        """Report the minutes since the start of the run, by the clock and of processors."""
        times = os.times()
        cpu = times.user + times.system + times.children_user + times.children_system
        minutes = (perf_counter() - self._started) / 60
        print(f"bench: {minutes:.1f} min, CPU {cpu / 60:.1f} min: {text}", file=sys.stderr)


MEASURES: Final[dict[str, Callable[[Run], Fields]]] = {
    "start": Run.start,
    "cold": Run.cold,
    "list": Run.list,
    "call": Run.call,
    "search": Run.search,
    "generate": Run.generate,
    "schemas": Run.schemas,
    "editing": Run.editing,
    "upstreams": Run.upstreams,
    "files": Run.files,
    "results": Run.results,
    "toolkit": Run.toolkit,
    "install": Run.install,
    "scale": Run.scale,
    "research": Run.research,
}
"""The parts, in their order."""
