"""Import a document, generate its server, and call each tool against a local HTTP server."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from bench.openapi.documents import Document

TIMEOUT_S: Final = 1800


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


def measure(document: Document, path: Path, project: Path) -> Result:
    """Run all steps for one document in the empty directory `project`."""
    manifest = project / "manifest" / f"{document.name}.toml"
    manifest.parent.mkdir(parents=True)
    arguments = (
        "import",
        "openapi",
        str(path),
        "-o",
        str(manifest),
        "--name",
        document.name,
        "--all-params",
        "--report",
        "report.json",
    )
    import_s = _run(project, *arguments)
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
    return result


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
