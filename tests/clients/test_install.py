"""Gemini CLI reads the file that `install` has edited, and connects to the server."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

GEMINI = Path(__file__).parents[1] / "node_modules" / ".bin" / "gemini"
SETTINGS = """{
    // Ada's settings
    "privacy": {"usageStatisticsEnabled": false},
    "general": {"enableAutoUpdate": false},
    "security": {"folderTrust": {"enabled": false}}, /* at home */
    "mcpServers": {}
}
"""


def test_gemini_cli_connects_to_an_installed_server(tmp_path: Path) -> None:
    assert GEMINI.exists(), "the npm packages of the tests are missing: run `nox -s tests`, or `npm ci` in tests/"
    settings = tmp_path / ".gemini" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(SETTINGS, encoding="utf-8")
    environ = os.environ | {"GEMINI_CLI_HOME": str(tmp_path), "GEMINI_TELEMETRY_ENABLED": "false", "NO_COLOR": "1"}
    options = {"env": environ, "cwd": tmp_path, "encoding": "utf-8", "capture_output": True, "timeout": 120}

    install = [sys.executable, "-m", "workbench_server", "install", "gemini-cli"]
    installed = subprocess.run(install, check=False, **options)  # type: ignore[call-overload]
    listed = subprocess.run([GEMINI, "mcp", "list"], check=False, **options)  # type: ignore[call-overload]

    assert installed.returncode == 0, installed.stderr
    assert "Started as Gemini CLI starts it: 3 tools" in installed.stdout
    assert "workbench: " in listed.stdout + listed.stderr
    assert "Connected" in listed.stdout + listed.stderr
