"""An interpreter that has imported the packages of this project and forks for each request of `forked_start.py`.

A fork becomes what `exec` of the same command would have given. It differs in what is imported already; a test of
that is marked `real_start`.
"""

from __future__ import annotations

import atexit
import ctypes
import errno
import fcntl
import gc
import importlib
import io
import os
import pickle
import pkgutil
import random
import runpy
import signal
import socket
import sys
import tempfile
import time
import types
from typing import Any

PACKAGES = ("toolmason", "toolmason_runtime", "workbench_server", "workbench_handlers")
LAZY = ("datamodel_code_generator", "filelock", "jsonschema", "referencing")
LEFT_OUT = ("__main__", "asgi", "frameworks", "semantic")
"""Modules that do more than define something, need a missing package, or need numpy, which starts threads."""
LENGTH_BYTES = 8
MAX_DESCRIPTORS = 253
LIBC = ctypes.PyDLL(None)
"""The C library, called without a release of the interpreter's lock."""
CLONE = {"x86_64": 56, "aarch64": 220}.get(os.uname().machine)
"""The number of the system call `clone`."""
CLONE_PARENT = 0x8000
ENCODING, ERRORS = sys.stdin.encoding, sys.stdin.errors

_exit_code = -1


def leave() -> None:
    """End the process after all other functions of `atexit`.

    Tearing down the imported modules would take longer than many a command. Where the output cannot be flushed, the
    interpreter reports that as it always does.
    """
    if _exit_code >= 0:
        try:
            for stream in (sys.stdout, sys.stderr):
                if stream is not None and not stream.closed:
                    stream.flush()
        except OSError:
            return
        os._exit(_exit_code)


atexit.register(leave)


def load() -> None:
    """Import; nothing is called."""
    for name in (*LAZY, *PACKAGES):
        package = importlib.import_module(name)
        modules = pkgutil.walk_packages(package.__path__, f"{name}.") if name in PACKAGES else ()
        for module in modules:
            if not set(module.name.split(".")) & set(LEFT_OUT):
                importlib.import_module(module.name)


def serve(connection: socket.socket) -> dict[str, Any]:
    """Fork for each request. Return it in the fork; the parent exits when the tests end."""
    is_usable = CLONE is not None and len(os.listdir("/proc/self/task")) == 1
    while True:
        length, descriptors, _, _ = socket.recv_fds(connection, LENGTH_BYTES, MAX_DESCRIPTORS)
        if not length:
            os._exit(0)
        request: dict[str, Any] = pickle.loads(received(connection, int.from_bytes(length, "big")))
        request["path"] = first_paths(request)
        pid = 0
        if is_usable and not hides_a_module(request["path"]):
            pid = fork()
            if not pid:
                become(request, descriptors)
                return request
        for descriptor in descriptors:
            os.close(descriptor)
        connection.sendall(max(pid, 0).to_bytes(LENGTH_BYTES, "big"))


def received(connection: socket.socket, length: int) -> bytes:
    """Return the next bytes."""
    data = bytearray()
    while len(data) < length:
        data += connection.recv(length - len(data))
    return bytes(data)


def fork() -> int:
    """Return the pid of a fork whose parent is the parent of this process; 0 in the fork, -1 if there is none.

    `os.fork` would make it a child of this process.
    """
    ctypes.pythonapi.PyOS_BeforeFork()
    pid: int = LIBC.syscall(CLONE, CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0)
    if pid:
        ctypes.pythonapi.PyOS_AfterFork_Parent()
    else:
        ctypes.pythonapi.PyOS_AfterFork_Child()
    return pid


def first_paths(request: dict[str, Any]) -> list[str]:
    """Return what the command line and PYTHONPATH put before the paths of the installation."""
    cwd, argv = os.path.realpath(os.fsdecode(request["cwd"])), [os.fsdecode(each) for each in request["argv"]]
    first = cwd if argv[0] == sys.executable else os.path.dirname(os.path.realpath(argv[0]))
    others = os.fsdecode(request["env"].get(b"PYTHONPATH", b"")).split(os.pathsep)
    return [first, *(os.path.abspath(os.path.join(cwd, path)) for path in others if path)]


def hides_a_module(paths: list[str]) -> bool:
    """Tell whether another module than the one that is imported here would be found in `paths`."""
    loaded = {name.partition(".")[0] for name in sys.modules} | {"sitecustomize", "usercustomize"}
    for path in paths:
        names = os.listdir(path) if path not in sys.path and os.path.isdir(path) else ()
        for name in names:
            stem, dot, _ = name.partition(".")
            # A directory without this file hides no module: `site/` of the documentation, for example.
            is_module = dot or os.path.isfile(os.path.join(path, name, "__init__.py"))
            if is_module and stem in loaded and not is_same(stem, os.path.join(path, name)):
                return True
    return False


def is_same(name: str, path: str) -> bool:
    """Tell whether a module that is imported comes from `path`."""
    file = getattr(sys.modules.get(name), "__file__", None)
    return file is not None and os.path.realpath(file) in {
        os.path.realpath(path),
        os.path.realpath(os.path.join(path, "__init__.py")),
    }


def become(request: dict[str, Any], descriptors: list[int]) -> None:
    """Take over all that a process inherits or is given, and then what an interpreter makes of it."""
    if request["new_session"]:
        os.setsid()
    if request["process_group"] >= 0:
        os.setpgid(0, request["process_group"])
    os.umask(request["umask"])
    os.chdir(request["cwd"])
    place_descriptors(dict(zip(request["numbers"], descriptors, strict=True)))
    reset_signals(request["ignored"], request["blocked"])
    os.environ.clear()
    os.environb.update(request["env"])
    time.tzset()
    random.seed()
    tempfile.tempdir = None
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    is_unbuffered = bool(os.environ.get("PYTHONUNBUFFERED"))
    for number, name, errors in ((0, "stdin", ERRORS), (1, "stdout", ERRORS), (2, "stderr", "backslashreplace")):
        stream = opened(number, f"<{name}>", "w" if number else "r", errors, is_unbuffered)
        vars(sys).update({name: stream, f"__{name}__": stream})
    first, *others = request["path"]
    sys.path[:] = [first, *dict.fromkeys([*others, *sys.path])]  # `site` removes duplicates; the first comes later


def place_descriptors(given: dict[int, int]) -> None:
    """Give each descriptor its number and close all others."""
    above = max(given, default=2) + 1
    moved = {number: fcntl.fcntl(descriptor, fcntl.F_DUPFD, above) for number, descriptor in given.items()}
    for number, descriptor in moved.items():
        os.dup2(descriptor, number)
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in given:
            try:
                os.close(int(name))
            except OSError as error:  # that of the list itself
                if error.errno != errno.EBADF:
                    raise


def reset_signals(ignored: list[int], blocked: list[int]) -> None:
    """Do what the start of an interpreter does with the signals that it inherits."""
    unchangeable = {signal.SIGKILL, signal.SIGSTOP}
    always_ignored = {signal.SIGPIPE, signal.SIGXFSZ}
    for number in signal.valid_signals() - unchangeable:
        is_ignored = number in ignored or number in always_ignored
        handler = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
        try:
            signal.signal(number, signal.SIG_IGN if is_ignored else handler)
        except OSError:  # The C library keeps two for itself.
            continue
    signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def opened(descriptor: int, name: str, mode: str, errors: str | None, is_unbuffered: bool) -> Any:
    """Return a standard stream as `create_stdio` of CPython makes it; None if its descriptor is closed."""
    try:
        os.fstat(descriptor)
    except OSError:
        return None
    is_raw = is_unbuffered and mode == "w"
    buffer: Any = open(descriptor, f"{mode}b", 0 if is_raw else -1, closefd=False)  # noqa: SIM115  stays open
    raw = buffer if is_raw else buffer.raw
    raw.name = name
    is_line_buffered = not is_unbuffered and (raw.isatty() or descriptor == 2)
    text: Any = io.TextIOWrapper(buffer, ENCODING, errors, "\n", is_line_buffered, is_unbuffered)
    text.mode = mode
    return text


def prepare_main(request: dict[str, Any]) -> str:
    """Make an empty `__main__` and set `sys.argv`. Return the module to run; empty for a script."""
    argv = [os.fsdecode(each) for each in request["argv"]]
    main = types.ModuleType("__main__")
    main.__dict__["__builtins__"] = sys.modules["builtins"]
    sys.modules["__main__"] = main
    sys.orig_argv = [sys.executable, *argv] if argv[0] != sys.executable else argv
    module = argv[2] if argv[0] == sys.executable else ""
    sys.argv = ["-m", *argv[3:]] if module else argv
    sys.modules.pop(module if "." in module else "", None)
    return module


def run_script(path: str) -> None:
    """Run an installed program in `__main__`."""
    main = sys.modules["__main__"].__dict__
    main["__file__"] = path
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec")
    exec(code, main)


del sys.path[0]
load()
gc.collect()
gc.freeze()
signal.signal(signal.SIGINT, signal.SIG_IGN)
_request = serve(socket.socket(fileno=int(sys.argv[1])))
_module = prepare_main(_request)
# At the top of the program, so that an exception or an interrupt ends this process as it ends any interpreter.
try:
    if _module:
        runpy._run_module_as_main(_module)  # type: ignore[attr-defined]
    else:
        run_script(sys.argv[0])
    _exit_code = 0
except BaseException as _error:
    if isinstance(_error, SystemExit):
        _exit_code = 0 if _error.code is None else _error.code & 0xFF if isinstance(_error.code, int) else 1
    elif not isinstance(_error, KeyboardInterrupt):  # which ends the process by its signal
        _exit_code = 1
    if _error.__traceback__:
        _error.__traceback__ = _error.__traceback__.tb_next  # without this file
    raise
