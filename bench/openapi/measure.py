"""Import a document, generate its server, and call each tool against a local HTTP server.

Requests are measured with all parameters. Tokens, names and searches are those of an import without options.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from toolmason_runtime.shared.tokens import estimate_tokens

from bench.openapi.documents import Document
from bench.openapi.samples import Sampler

TIMEOUT_S: Final = 1800
MIN_SENT: Final = 0.99
MAX_TOKENS: Final = 900
MAX_NAME: Final = 40
MIN_RECALL: Final = 0.8
MIN_TYPED: Final = 0.8
TOP: Final = 5
_PLACES: Final = ("query", "path", "header", "cookie", "body")


@dataclass(slots=True, kw_only=True)
class Result:
    """The operations of one document that passed each step; `failures` has a reason for each other one."""

    title: str
    version: str
    operations: int
    import_s: float
    generate_s: float
    generated: int = 0
    started: int = 0
    sent: int = 0
    unsampled: int = 0
    failures: dict[str, str] = field(default_factory=dict)
    hollow: list[str] = field(default_factory=list)
    """Tools without a parameter whose operation declares parameters or a body, and no loss of one."""
    tokens: list[int] = field(default_factory=list)
    """Estimated tokens of the input schema of each tool, in ascending order."""
    longest: str = ""
    """The longest name of a tool."""
    doubled: list[str] = field(default_factory=list)
    """Names with the same word twice in a row."""
    prefixed: list[str] = field(default_factory=list)
    """Parameters whose names differ from another one of the tool by a place only: `id` and `query_id`."""
    answers: int = 0
    """Operations with a JSON schema of their answer."""
    typed: int = 0
    """Those whose tool has the type of the result."""
    recall: float | None = None
    """Share of everyday phrases with a right tool among the first five; None if there are no phrases."""

    @property
    def misses(self) -> list[str]:
        """The goals that the document misses."""
        checks = {
            f"{len(self.hollow)} hollow": not self.hollow,
            f"{self.sent / self.operations:.1%} sent": self.sent >= MIN_SENT * self.operations,
            f"{self.tokens[-1]} tokens": self.tokens[-1] <= MAX_TOKENS,
            f"the name {self.longest}": len(self.longest) <= MAX_NAME,
            f"doubled words: {self.doubled}": not self.doubled,
            f"prefixes: {self.prefixed}": not self.prefixed,
            f"{self.typed} of {self.answers} answers typed": self.typed >= MIN_TYPED * self.answers,
            f"recall {self.recall}": self.recall is None or self.recall >= MIN_RECALL,
        }
        return [text for text, is_met in checks.items() if not is_met]


def measure(document: Document, path: Path, project: Path) -> Result:
    """Run all steps for one document in the empty directory `project`."""
    manifest = project / "manifest" / f"{document.name}.toml"
    import_s = _import(document, path, manifest, "--all-params")
    _point_to_loopback(manifest)
    generate_s = _run(project, "generate")
    report = json.loads((project / "report.json").read_text(encoding="utf-8"))["operations"]
    data = json.loads(path.read_text(encoding="utf-8"))
    result = Result(
        title=document.title,
        version=data["openapi"],
        operations=len(report),
        import_s=import_s,
        generate_s=generate_s,
    )
    tools = {key: entry["tool"] for key, entry in report.items() if entry["tool"]}
    for key, entry in report.items():
        if not entry["tool"]:
            result.failures[key] = "; ".join(loss["detail"] for loss in entry["losses"])
    result.generated = len(tools)
    answers = _call_all(path, manifest, project, tools)
    result.started = sum(answer != "not listed" for answer in answers.values())
    result.sent = sum(not answer for answer in answers.values())
    result.unsampled = sum(answer.startswith("no sample") for answer in answers.values())
    result.failures |= {key: answer for key, answer in answers.items() if answer}
    _measure_design(document, path, project / "designed", result)
    return result


def _import(document: Document, path: Path, manifest: Path, *options: str) -> float:
    manifest.parent.mkdir(parents=True)
    arguments = ("import", "openapi", str(path), "-o", str(manifest), "--name", document.name)
    return _run(manifest.parents[1], *arguments, "--report", "report.json", *options)


def _measure_design(document: Document, path: Path, project: Path, result: Result) -> None:
    """Add what a model sees of an import without options."""
    manifest = project / "manifest" / f"{document.name}.toml"
    _import(document, path, manifest)
    _run(project, "generate")
    report = json.loads((project / "report.json").read_text(encoding="utf-8"))["operations"]
    tables = tomllib.loads(manifest.read_text(encoding="utf-8"))["tools"]
    (catalogue,) = (project / "generated").glob("*/catalogue.json")
    listed = json.loads(catalogue.read_text(encoding="utf-8"))["tools"]
    result.tokens = sorted(estimate_tokens(json.dumps(each["tool"]["inputSchema"])) for each in listed.values())
    result.longest = max(tables, key=len)
    result.doubled = [name for name in tables if any(one == other for one, other in pairwise(name.split("_")))]
    for name, entry in tables.items():
        names = entry.get("params") or entry.get("input_schema", {}).get("properties", {})
        others = {f"{place}_{each}" for each in names for place in _PLACES}
        result.prefixed += [f"{name}.{each}" for each in names if each in others]
    data = json.loads(path.read_text(encoding="utf-8"))
    result.hollow = list(_hollow(data, report, tables))
    answers = ["returns" in tables[tool] for tool in _answering(data, report)]
    result.answers, result.typed = len(answers), sum(answers)
    result.recall = _recall(document.name, report, project)


def _hollow(data: Mapping[str, Any], report: Mapping[str, Any], tables: Mapping[str, Any]) -> Iterator[str]:
    """Yield each tool without a parameter whose operation declares some that are not reported as lost."""
    for method, path, operation, parameters in Sampler(data).operations():
        entry = report.get(f"{method} {path}", {})
        table = tables.get(entry.get("tool") or "", {"params": {"": {}}})
        is_empty = not (table.get("params") or table.get("input_schema", {}).get("properties"))
        kinds = {loss["kind"] for loss in entry.get("losses", ())}
        sent = [each for each in parameters if each["in"] != "header"]
        if is_empty and (sent or operation.get("requestBody")) and not kinds & {"parameter", "header"}:
            yield entry["tool"]


def _answering(data: Mapping[str, Any], report: Mapping[str, Any]) -> Iterator[str]:
    """Yield the tool of each operation with a JSON schema of a success."""
    sampler = Sampler(data)
    for method, path, operation, _ in sampler.operations():
        tool = report.get(f"{method} {path}", {}).get("tool")
        responses = operation.get("responses", {})
        contents = [
            sampler.resolve(response).get("content", {}) for status, response in responses.items() if status[:1] == "2"
        ]
        if tool and any(media.get("schema") for each in contents for kind, media in each.items() if "json" in kind):
            yield tool


def _recall(name: str, report: Mapping[str, Any], project: Path) -> float | None:
    """Return the share of the phrases of a document that find one of their tools."""
    phrases = tomllib.loads(Path(__file__).with_name("phrases.toml").read_text(encoding="utf-8")).get(name)
    if phrases is None:
        return None
    queries: dict[str, list[str]] = {}
    for phrase, keys in phrases.items():
        for key in keys:
            queries.setdefault(report[key]["tool"], []).append(phrase)
    toml = "".join(f"{tool} = {json.dumps(texts)}\n" for tool, texts in queries.items())
    (project / "queries.toml").write_text(f"[queries]\n{toml}", encoding="utf-8")
    command = [sys.executable, "-m", "toolmason", "eval", "queries.toml", "--top", str(TOP), "--format", "json"]
    done = subprocess.run(command, cwd=project, check=True, capture_output=True, text=True)  # noqa: S603
    missed = {
        each["query"]
        for each in json.loads(done.stdout)["misses"]
        if not any(rank and rank <= TOP for rank in each["ranks"].values())
    }
    return 1 - len(missed) / len(phrases)


def _run(project: Path, *arguments: str) -> float:
    """Run the toolkit and return its seconds."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "toolmason", *arguments]
    quiet = subprocess.DEVNULL
    subprocess.run(command, cwd=project, check=True, timeout=TIMEOUT_S, stdout=quiet, stderr=quiet)  # noqa: S603
    return time.perf_counter() - start


def _point_to_loopback(manifest: Path) -> None:
    """Replace scheme and host of each API; the path of the base URL stays."""
    text = manifest.read_text(encoding="utf-8")
    text = re.sub(r'(?m)^base_url = "(?:https?://[^/"]+|\$\w+)', 'base_url = "$API_SERVER', text)
    manifest.write_text(text, encoding="utf-8")


def _call_all(path: Path, manifest: Path, project: Path, tools: Mapping[str, str]) -> dict[str, str]:
    """Call all tools in a process of their own; return the reason of each failed one, empty for success."""
    tables: dict[str, Any] = tomllib.loads(manifest.read_text(encoding="utf-8"))
    work = project / "calls.json"
    work.write_text(json.dumps({"document": str(path), "manifest": tables, "tools": tools}), encoding="utf-8")
    paths = os.pathsep.join([str(project / "generated"), str(Path(__file__).parents[2])])
    command = [sys.executable, "-m", "bench.openapi.calls", str(work)]
    env = {**os.environ, "PYTHONPATH": paths}
    subprocess.run(command, cwd=project, check=True, timeout=TIMEOUT_S, env=env)  # noqa: S603  our own command
    answers: dict[str, str] = json.loads((project / "answers.json").read_text(encoding="utf-8"))
    return answers
