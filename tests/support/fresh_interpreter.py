"""Code in a new interpreter, for tests of imported modules."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def run_code(code: str, directory: Path, **variables: str) -> str:
    """Run Python code in a directory, with a minimal environment, and return its output."""
    env = {"PYTHONPATH": ":".join(path for path in sys.path if path), "HOME": str(directory), **variables}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", cwd=directory, env=env, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
