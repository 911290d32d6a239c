"""Real PostgreSQL and MariaDB servers, as fixtures for the `conftest.py` of a folder.

`postgresql_url`  the URL of a database of a server that all tests of a process share
`mysql_url`       the same for MariaDB; its tests are skipped where it is not installed
"""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

PATIENCE_S: Final = 60.0
PASSWORD: Final = "s3cret-of-tests"


def _program(name: str) -> str:
    """Find a program of a server: on the path, or where Debian installs those of PostgreSQL."""
    folders = [*map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)), "/usr/sbin"]
    found = shutil.which(name) or shutil.which(name, path=os.pathsep.join(folders))
    if found is None:
        pytest.skip(f"{name} is not installed")  # `.ci/run` installs it
    return found


def _account(folder: Path, name: str) -> dict[str, Any]:
    """Return the options of a process that is not root's, which servers refuse, and give it the folder."""
    if sys.platform == "win32" or os.geteuid() != 0:
        return {}
    import pwd

    try:
        user = pwd.getpwnam(name)
    except KeyError:
        user = pwd.getpwnam("nobody")
    os.chown(folder, user.pw_uid, user.pw_gid)
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def _run(command: Sequence[str], **options: Any) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False, **options)
    assert done.returncode == 0, done.stderr


def _wait(connect: Callable[[], Any], process: subprocess.Popen[bytes]) -> None:
    ends = time.monotonic() + PATIENCE_S
    while True:
        try:
            connect().close()
        except Exception:  # noqa: BLE001  each driver has errors of its own
            assert process.poll() is None, "the server has ended"
            assert time.monotonic() < ends, "the server does not answer"
            time.sleep(0.1)
        else:
            return


def _probe(address: str) -> socket.socket:
    """Open a connection; a client of MariaDB would leave its socket open if it fails."""
    with contextlib.ExitStack() as stack:
        probe = stack.enter_context(socket.socket(socket.AF_UNIX))
        probe.connect(address)
        stack.pop_all()
        return probe


@contextmanager
def _folder(name: str) -> Iterator[Path]:
    # The path of a socket has room for about 100 characters.
    with tempfile.TemporaryDirectory(prefix=name, dir="/tmp", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture(scope="session")
def postgresql_url() -> Iterator[str]:
    import psycopg

    with _folder("pg") as folder:
        account = _account(folder, "postgres")
        data = str(folder / "data")
        password = folder / "password"
        password.write_text(PASSWORD, encoding="utf-8")
        if account:
            os.chown(password, account["user"], account["group"])
        settings = ["--auth=scram-sha-256", "-U", "author", f"--pwfile={password}", "-E", "UTF8", "--no-sync"]
        _run([_program("initdb"), "-D", data, *settings], cwd=folder, **account)
        options = ["-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=30", "-k", str(folder)]
        process = subprocess.Popen(
            [_program("postgres"), "-D", data, *options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            **account,
        )
        url = f"postgresql://author:{PASSWORD}@/postgres?host={folder}"
        try:
            _wait(lambda: psycopg.connect(url), process)
            yield url
        finally:
            process.terminate()
            process.wait(PATIENCE_S)


@pytest.fixture(scope="session")
def mysql_url() -> Iterator[str]:
    pymysql = pytest.importorskip("pymysql")
    with _folder("my") as folder:
        account = _account(folder, "mysql")
        server, data, address = _program("mariadbd"), str(folder / "data"), str(folder / "s")
        user = f"--auth-root-socket-user={getpass.getuser()}"
        install = [_program("mariadb-install-db"), "--no-defaults", f"--datadir={data}", user, "--skip-test-db"]
        _run([*install, "--auth-root-authentication-method=normal"], cwd=folder, **account)
        process = subprocess.Popen(
            [server, "--no-defaults", f"--datadir={data}", f"--socket={address}", "--skip-networking"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            **account,
        )
        try:
            _wait(lambda: _probe(address), process)
            with pymysql.connect(user="root", unix_socket=address) as connection, connection.cursor() as cursor:
                cursor.execute("create database shop character set utf8mb4")
                cursor.execute("create user author@localhost identified by %s", (PASSWORD,))
                cursor.execute("grant all on shop.* to author@localhost")
            yield f"mysql://author:{PASSWORD}@localhost/shop?unix_socket={address}"
        finally:
            process.terminate()
            process.wait(PATIENCE_S)
