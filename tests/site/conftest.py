"""Make Chromium and the generators of pages importable, and build the site once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
for path in ("docs/source", "tests/workbench/editing/surfaces/support"):
    sys.path.insert(0, str(ROOT / path))


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the site of `nox -s docs`, or build it; a link to a missing heading, for example, fails the build."""
    if built := os.environ.get("TOOLMASON_SITE"):
        return Path(built)
    directory = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(directory)]
    environ = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    build = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, encoding="utf-8", check=False)
    assert build.returncode == 0, build.stderr
    return directory
