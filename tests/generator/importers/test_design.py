"""The design pass of `import server` and `import python`: names, texts and token budget, before and after."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

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


@pytest.mark.parametrize("options", [[]], ids=["default"])
def test_a_server_gives_its_committed_manifest(
    options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file_regression: FileRegressionFixture
) -> None:
    monkeypatch.setenv(SANDBOX, "off")  # the server writes a log

    result = run(tmp_path, "import", "server", "-o", "manifest/orders.toml", *options, "--", *listing(tmp_path))

    assert result.exit_code == 0, result.output
    files = [tmp_path / "manifest" / "orders.toml", *sorted(tmp_path.glob("manifest/*/*.json"))]
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    file_regression.check(f"{text}\n{comments(result.stderr)}", encoding="utf-8", extension=".toml", newline="")


@pytest.mark.parametrize("options", [[]], ids=["default"])
def test_a_module_gives_its_committed_manifest(
    options: list[str], tmp_path: Path, file_regression: FileRegressionFixture
) -> None:
    (tmp_path / "handlers").mkdir()
    shutil.copy(FIXTURES / "modules" / "awkward.py", tmp_path / "handlers")

    result = run(tmp_path, "import", "python", "awkward", *options)

    assert result.exit_code == 0, result.output
    manifest = (tmp_path / "manifest" / "awkward.toml").read_text(encoding="utf-8")
    file_regression.check(f"{manifest}\n{comments(result.stderr)}", encoding="utf-8", extension=".toml", newline="")


def comments(text: str) -> str:
    return "".join(f"# {line}\n" for line in text.splitlines())
