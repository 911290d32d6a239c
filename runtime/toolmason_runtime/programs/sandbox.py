"""Confine a program to the files and the network that its manifest declares.

Linux only: Landlock if the kernel has it, else `bwrap` if a trial run succeeds. Imports only the standard library, so
`python -I -S` can load this file by its path.

What Landlock leaves open:

- Network: plain TCP `connect` and `bind` are refused (from Linux 6.7 on). TCP fast open, MPTCP, UDP and everything else
  (`listen` without `bind`, sockets that are files) are not covered, so a confined program may still send data.
- Files outside of the declared directories: names, sizes and times can be read (`stat`); mode, owner, times and
  extended attributes of the user's own files can be changed (`chmod`, `chown`, `utime`, `setxattr`). Before 6.2, these
  files can also be truncated.
- Programs: any file that can be read can be started, through the ELF loader or from a copy in memory (`memfd_create`).
- Processes: `prlimit` changes the limits of the user's other processes. Before 6.12, these also get signals, and
  abstract sockets can be reached. `/proc` shows the processes that it shows any user.
- The kernel's key rings.

What `bwrap` leaves open: running any program that can be read, and the kernel's key rings.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final


@dataclass(frozen=True, slots=True)
class Access:
    """The files and the network that a program may use.

    Paths are absolute and without links; a directory includes everything below it. `writes` and `executes` are
    readable too. A path that does not exist, or has become a link, grants nothing.
    """

    reads: tuple[str, ...]
    writes: tuple[str, ...]
    executes: tuple[str, ...]
    network: bool
    lists: bool = False
    """Whether Landlock allows listing every directory: some programs resolve paths from `/`."""


LIBRARIES: Final = ("/usr", "/lib", "/lib32", "/lib64", "/libx32", "/bin", "/sbin")
"""Directories that every program may read; they contain no private files."""
DEVICES: Final = ("/dev/null", "/dev/zero", "/dev/full")
"""Devices that every program may read and write."""
FILES: Final = (
    *("/proc", "/dev/urandom", "/dev/random"),
    *("/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/localtime", "/etc/timezone", "/etc/locale.alias"),
    *("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload", "/etc/alternatives"),
    *("/etc/resolv.conf", "/etc/hosts", "/etc/host.conf", "/etc/gai.conf", "/etc/services", "/etc/protocols"),
    *("/etc/ssl/certs", "/etc/ssl/cert.pem", "/etc/ssl/openssl.cnf", "/etc/ca-certificates", "/etc/crypto-policies"),
    *("/etc/pki/tls/certs", "/etc/pki/tls/cert.pem", "/etc/pki/tls/openssl.cnf", "/etc/pki/ca-trust"),
    *("/etc/gitconfig", "/etc/gitattributes", "/etc/mime.types", "/etc/os-release", "/etc/machine-info"),
)
"""Other files that every program may read: accounts, time zone, certificates and similar."""

MIN_ABI: Final = 1
TCP_ABI: Final = 4
"""The first version of Landlock with rules for TCP: plain `connect` and `bind` alone."""

_KERNEL_SETTINGS: Final = ("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus")
"""Files of the whole machine that root could write to in `bwrap`, even without capabilities."""

_CREATE_RULESET: Final = 444
_ADD_RULE: Final = 445
_RESTRICT_SELF: Final = 446
_OPENAT2: Final = 437
_SET_NO_NEW_PRIVS: Final = 38
_DROP_CAPABILITY: Final = 24
_KEPT_CAPABILITIES: Final = frozenset({1, 4, 5, 6, 7})
"""Capabilities of root to read and write files, to signal, and to become another user. Dropped are, among others, those
to change the owner or mode of any file, to read the memory of another process, and to make devices."""
_AT_FDCWD: Final = -100
_NO_LINKS: Final = 0x02 | 0x04
"""`RESOLVE_NO_MAGICLINKS` and `RESOLVE_NO_SYMLINKS` of openat2(2)."""
_VERSION: Final = 1
_PATH_BENEATH: Final = 1

# https://docs.kernel.org/userspace-api/landlock.html
_EXECUTE: Final = 1 << 0
_WRITE_FILE: Final = 1 << 1
_READ_FILE: Final = 1 << 2
_READ_DIR: Final = 1 << 3
_MAKE_DEVICES: Final = 1 << 6 | 1 << 11
_TRUNCATE: Final = 1 << 14
_IOCTL_DEV: Final = 1 << 15
_ON_FILES: Final = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
"""The rights that a rule for a single file may have."""
_READ: Final = _READ_FILE | _READ_DIR
_MAX_FS_RIGHT: Final = {1: 12, 2: 13, 3: 14, 4: 14}
"""The highest file right of each Landlock version; 15 from version 5 on."""
_TCP: Final = 1 << 0 | 1 << 1
_ABSTRACT_SOCKETS: Final = 1 << 0
_SIGNALS: Final = 1 << 1


class _RulesetAttr(ctypes.Structure):
    _fields_ = (("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathBeneathAttr(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


@cache
def supported() -> str:
    """Return the sandbox of this machine: "landlock", "bwrap", or "" for none.

    Call it once before a fork: it fills the caches that `restrict` uses.
    """
    if abi() >= MIN_ABI:
        _base_reads()
        return "landlock"
    return "bwrap" if can_use_bwrap() else ""


@cache
def abi() -> int:
    """Return the kernel's version of Landlock; 0 if it cannot be used."""
    if sys.platform != "linux":
        return 0
    try:
        version = _call(_CREATE_RULESET, None, 0, _VERSION)
        os.close(_open("/"))
    except (OSError, AttributeError):
        return 0
    return version


def restrict(access: Access) -> None:
    """Confine this process and its descendants permanently. Call it between fork and exec.

    Raises:
        OSError: it failed; the process must not continue.
    """
    version = abi()
    if version < MIN_ABI:
        raise OSError(errno.ENOSYS, "the kernel has no Landlock")
    every = (1 << _MAX_FS_RIGHT.get(version, 15) + 1) - 1
    attr = _RulesetAttr(
        fs=every,
        net=0 if access.network or version < TCP_ABI else _TCP,
        scoped=(_SIGNALS if access.network else _SIGNALS | _ABSTRACT_SOCKETS) if version >= 6 else 0,
    )
    size = 24 if version >= 6 else 16 if version >= TCP_ABI else 8
    ruleset = _call(_CREATE_RULESET, ctypes.byref(attr), size, 0)
    try:
        _allow(ruleset, (*_base_reads(), *access.reads), _READ)
        _allow(ruleset, ("/",) if access.lists else (), _READ_DIR)
        _allow(ruleset, DEVICES, (_READ_FILE | _WRITE_FILE | _TRUNCATE | _IOCTL_DEV) & every)
        _allow(ruleset, access.writes, every & ~(_EXECUTE | _MAKE_DEVICES | _IOCTL_DEV))
        _allow(ruleset, access.executes, _READ | _EXECUTE)
        _drop_capabilities()
        if _libc().prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
            raise _failed()
        _call(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def wrap(access: Access, argv: Sequence[str]) -> list[str]:
    """Return the command line that runs `argv` in bwrap, in the current working directory."""
    writes = set(access.writes)
    reads = {*LIBRARIES, *FILES, *access.reads, *access.executes} - {"/proc", "/dev/urandom", "/dev/random"} - writes
    binds = [*(("--ro-bind-try", path) for path in reads), *(("--bind-try", path) for path in writes)]
    binds += [("--ro-bind-try", path) for path in _KERNEL_SETTINGS]
    binds.sort(key=lambda bind: bind[1])  # a directory before its entries, which it would hide otherwise
    return [
        *(_bwrap(), "--die-with-parent", "--unshare-all", *(["--share-net"] if access.network else [])),
        # Root keeps its capabilities otherwise, with which it could mount these directories again to write to them.
        *("--cap-drop", "ALL", "--proc", "/proc", "--dev", "/dev"),
        *(word for kind, path in binds for word in (kind, path, path)),
        *("--", *argv),
    ]


@cache
def can_use_bwrap() -> bool:
    """Return whether `bwrap` can run a program; many systems install it and forbid user namespaces."""
    import subprocess

    if sys.platform != "linux" or not _bwrap():
        return False
    argv = wrap(Access((), (), (), network=False), [_bwrap(), "--version"])
    try:
        return subprocess.run(argv, check=False, capture_output=True, timeout=5, cwd="/").returncode == 0  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return False


@cache
def _bwrap() -> str:
    """Return the path of `bwrap`. PATH is not searched: it may contain directories of a project."""
    directories = ("/usr/bin", "/bin", "/usr/local/bin", "/run/current-system/sw/bin")
    return next((path for path in (f"{directory}/bwrap" for directory in directories) if os.access(path, os.X_OK)), "")


@cache
def _base_reads() -> tuple[str, ...]:
    """Return the real paths that every program may read: `/lib` is a link on most systems."""
    return tuple({os.path.realpath(path): None for path in (*LIBRARIES, *FILES)})


def _allow(ruleset: int, paths: Iterable[str], rights: int) -> None:
    """Add a rule for each existing path. A path with a link in it grants nothing."""
    for path in paths:
        try:
            descriptor = _open(path)
        except OSError as error:
            if error.errno in {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES}:
                continue
            raise
        try:
            is_directory = stat.S_ISDIR(os.fstat(descriptor).st_mode)
            rule = _PathBeneathAttr(rights if is_directory else rights & _ON_FILES, descriptor)
            _call(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0)
        finally:
            os.close(descriptor)


def _drop_capabilities() -> None:
    """Drop the capabilities that bypass the rules. Only root has them and may drop them."""
    for number in range(64):
        if number not in _KEPT_CAPABILITIES and _libc().prctl(_DROP_CAPABILITY, number, 0, 0, 0):
            return  # no further capabilities, or not root


def _open(path: str) -> int:
    """Open `path` with `O_PATH`; fail if it contains a link."""
    how = _OpenHow(os.O_PATH | os.O_CLOEXEC, 0, _NO_LINKS)
    return _call(_OPENAT2, _AT_FDCWD, os.fsencode(path), ctypes.byref(how), ctypes.sizeof(how))


@cache
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    libc.prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
    return libc


def _call(number: int, *arguments: object) -> int:
    values = [ctypes.c_long(argument) if isinstance(argument, int) else argument for argument in arguments]
    result: int = _libc().syscall(ctypes.c_long(number), *values)
    if result < 0:
        raise _failed()
    return result


def _failed() -> OSError:
    code = ctypes.get_errno()
    return OSError(code, os.strerror(code))
