"""Schemas as we send them and as their authors wrote them, run once through the converters of both languages."""

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.schemas.corpus import load_corpus
from hard_schemas import HARD, Schema
from toolmason_runtime.calls.binding import load_model
from toolmason_runtime.server.dispatch import Dispatcher
from toolmason_runtime.shared.selection import Selection
from toolmason_runtime.shared.styles import STYLES

from toolmason.schema import advertise, project
from workbench_server.catalogue import CATALOGUE
from workbench_server.server import load_index

HERE = Path(__file__).parents[1]
TIMEOUT_S = 300
SENT, WRITTEN, CORPUS, LANGCHAIN = "sent", "written", "corpus", "for langchain"


@dataclass(frozen=True, slots=True)
class Conversions:
    """What the converters made of each schema: as it is sent, and of most also as it was written."""

    sent: dict[str, Schema]
    written: dict[str, Schema]
    results: dict[str, dict[str, Any]]

    def of_sent(self, converter: str, name: str) -> dict[str, Any]:
        """Give `{"schema": ...}`, None where the declaration has no schema, or `{"error": ...}`."""
        found: dict[str, Any] = self.results[converter][f"{SENT} {name}"]
        return found

    def of_written(self, converter: str, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.results[converter][f"{WRITTEN} {name}"]
        return found

    def of_langchain(self, converter: str, name: str) -> dict[str, Any]:
        """Return the result for a schema in the form for langchain."""
        found: dict[str, Any] = self.results[converter][f"{LANGCHAIN} {name}"]
        return found

    def of_corpus(self, converter: str) -> dict[str, dict[str, Any]]:
        """Return the results for the schemas of the corpus, by name."""
        results = self.results[converter].items()
        return {key.removeprefix(f"{CORPUS} "): found for key, found in results if key.startswith(CORPUS)}


def convert_all() -> Conversions:
    """Run every schema through every converter: one process a language, no account, no network."""
    sent = {**sent_by_workbench(), **{name: advertise(schema).schema for name, schema in HARD.items()}}
    written = {**written_by_pydantic(), **HARD}
    asked = {f"{SENT} {name}": schema for name, schema in sent.items()}
    asked |= {f"{WRITTEN} {name}": schema for name, schema in written.items()}
    asked |= {f"{LANGCHAIN} {name}": project(schema, "langchain").schema for name, schema in HARD.items()}
    asked |= {f"{CORPUS} {row.style} {row.name}": advertise(row.schema, rename=True).schema for row in load_corpus()}
    node = shutil.which("node")
    assert node is not None, "node is missing: install Node.js 20 or later"
    assert (HERE / "node_modules").is_dir(), "the npm packages are missing: run `nox -s converters`"
    return Conversions(
        sent, written, {**converted(sys.executable, "convert.py", asked), **converted(node, "convert.mjs", asked)}
    )


def sent_by_workbench() -> dict[str, Schema]:
    """Give the schema of every tool, and of the meta-tools of every style."""
    found: dict[str, Schema] = {}
    for style in STYLES:
        listed = Dispatcher(CATALOGUE, selection=Selection(style, all_tools=True), load_index=load_index).listed
        for name, tool in listed.items():
            found[name if name in CATALOGUE["tools"] else f"{style}: {name}"] = tool["inputSchema"]
    return found


def written_by_pydantic() -> dict[str, Schema]:
    """Give the schemas that the same tools would have if Pydantic wrote them."""
    found: dict[str, Schema] = {}
    package = CATALOGUE["server"]["package"]
    for name, entry in CATALOGUE["tools"].items():
        module = importlib.import_module(f"{package}.{CATALOGUE['categories'][entry['category']]['module']}.bindings")
        params = module.BINDINGS[name].params
        model = load_model(params) if isinstance(params, str) else params
        found[name] = model.model_json_schema()
    return found


def converted(program: str, script: str, schemas: dict[str, Schema]) -> dict[str, Any]:
    run = subprocess.run(
        [program, script],
        cwd=HERE,
        input=json.dumps(schemas),
        capture_output=True,
        encoding="utf-8",
        timeout=TIMEOUT_S,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    results: dict[str, Any] = json.loads(run.stdout)
    return results
