"""The design pass of `import server` and `import python`: names, texts and token budget, before and after."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from pytest_regressions.file_regression import FileRegressionFixture
from toolmason_runtime.programs.access import SANDBOX

from toolmason.commands import toolmason

FIXTURES = Path(__file__).parent / "fixtures"


def run(project: Path, *arguments: str | Path) -> Result:
    with contextlib.chdir(project):
        return CliRunner().invoke(toolmason, list(map(str, arguments)))


def listing(project: Path) -> list[str]:
    """Return the command line of a server that lists awkward tools; it has the same words in each project."""
    for name in ("listing_server.py", "awkward_tools.json"):
        shutil.copy(FIXTURES / name, project)
    return ["python3", "listing_server.py", "awkward_tools.json", "starts.log"]


OPTIONS = pytest.mark.parametrize(
    "options", [[], ["--max-tokens", "300"], ["--all-params"]], ids=["default", "small", "all"]
)


@OPTIONS
def test_a_server_gives_its_committed_manifest(
    options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file_regression: FileRegressionFixture
) -> None:
    monkeypatch.setenv(SANDBOX, "off")  # the server writes a log

    result = run(tmp_path, "import", "server", "-o", "manifest/orders.toml", *options, "--", *listing(tmp_path))

    assert result.exit_code == 0, result.output
    files = [tmp_path / "manifest" / "orders.toml", *sorted(tmp_path.glob("manifest/*/*.json"))]
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    file_regression.check(f"{text}\n{comments(result.stderr)}", encoding="utf-8", extension=".toml", newline="")


@OPTIONS
def test_a_module_gives_its_committed_manifest(
    options: list[str], tmp_path: Path, file_regression: FileRegressionFixture
) -> None:
    (tmp_path / "handlers").mkdir()
    shutil.copy(FIXTURES / "modules" / "awkward.py", tmp_path / "handlers")

    result = run(tmp_path, "import", "python", "awkward", *options)

    assert result.exit_code == 0, result.output
    manifest = (tmp_path / "manifest" / "awkward.toml").read_text(encoding="utf-8")
    file_regression.check(f"{manifest}\n{comments(result.stderr)}", encoding="utf-8", extension=".toml", newline="")


def call(project: Path, tool: str, **arguments: Any) -> str:
    command = [sys.executable, "-m", "toolmason", "call", tool, json.dumps(arguments)]
    result = subprocess.run(command, cwd=project, capture_output=True, encoding="utf-8", check=False, timeout=300)
    return (result.stdout + result.stderr).strip()


def test_the_server_gets_its_own_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SANDBOX, "off")
    manifest = tmp_path / "manifest" / "orders.toml"
    assert run(tmp_path, "import", "server", "-o", manifest, "--", *listing(tmp_path)).exit_code == 0
    hints = "hints = { read_only = true, destructive = false, idempotent = true, open_world = false }"
    text = manifest.read_text(encoding="utf-8")
    manifest.write_text(f"{text}\n[upstreams.orders.defaults]\n{hints}\n", encoding="utf-8")
    generated = run(tmp_path, "generate")
    assert generated.exit_code == 0, generated.output
    assert "9 tools of upstreams: no changes" in run(tmp_path, "check", "--upstreams").stdout

    assert '["get-order", {"orderId": "7"}]' in call(tmp_path, "get-order", orderId="7")
    assert '["查询库存", {"货号": "7"}]' in call(tmp_path, "query_stock", argument_value="7")
    arguments = {"DateSent<": "2026-01-01", "date_sent": "2026-01-02", "filter[state][eq]": "new", "pageSize": 3}
    sent = {"DateSent": "2026-01-02", "DateSent<": "2026-01-01", "filter[state][eq]": "new", "pageSize": 3}
    assert json.dumps(["filter_messages", sent]) in call(tmp_path, "filter_messages", **arguments)


def test_functions_get_their_own_names_and_hidden_parameters_their_defaults(tmp_path: Path) -> None:
    (tmp_path / "handlers").mkdir()
    shutil.copy(FIXTURES / "modules" / "awkward.py", tmp_path / "handlers")
    assert run(tmp_path, "import", "python", "awkward", "--max-tokens", "100").exit_code == 0
    generated = run(tmp_path, "generate")
    assert generated.exit_code == 0, generated.output

    messages = {"result": ["2026-01-01", "None", "3"]}
    assert json.loads(call(tmp_path, "list_messages", **{"from": "2026-01-01", "grosse": 3})) == messages
    assert json.dumps(messages, separators=(",", ":")) in call(tmp_path, "list_messages", from_="2026-01-01", größe=3)
    assert call(tmp_path, "getOrder", id="7").startswith("7")
    parcel = {"weight": 2, "kind": "tube"}
    assert call(tmp_path, "create_shipment", order_id="7", parcel=parcel, dispatch_note="x") == "7 2 tube x"
    assert "Argument 'parcel.kind' is invalid" in call(
        tmp_path, "create_shipment", order_id="7", parcel={"weight": 2, "kind": "bag"}, dispatch_note="x"
    )


def comments(text: str) -> str:
    return "".join(f"# {line}\n" for line in text.splitlines())
