"""The ledger, generated, and a log for each test."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from issuer import running_issuer
from ledger_process import LEDGER, Ledger, Trail


@pytest.fixture(scope="session")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    project = tmp_path_factory.mktemp("ledger") / "project"
    shutil.copytree(LEDGER, project)
    subprocess.run([sys.executable, "-m", "toolmason", "generate"], cwd=project, check=True, timeout=120)
    path = [str(project / "generated"), str(project / "handlers"), *sys.path]
    with running_issuer() as issuer:
        environment = {
            "PYTHONPATH": os.pathsep.join(path),
            "LEDGER_PYTHON": sys.executable,
            "LEDGER_RELAY": str(project / "relay.py"),
            "LEDGER_ISSUER": issuer.url,
        }
        yield Ledger(environment, issuer)


@pytest.fixture
def trail(tmp_path: Path) -> Trail:
    return Trail(tmp_path / "log" / "audit.jsonl")
