"""`toolmason release`."""

from __future__ import annotations

from pathlib import Path

import click

from toolmason.commands.options import (
    CommandLineError,
    ExitCode,
    OverwriteRefusedError,
    exit_with,
    find_current_project,
    manifest_option,
    print_findings,
)


@click.command()
@click.option("--force", is_flag=True, help="Replace another contract of this version, or a damaged file.")
@manifest_option
def release(*, force: bool, manifest: Path | None) -> None:
    """Record the contract of a published version in contract.lock, beside the manifest.

    The contract is all that callers depend on, such as names and arguments of tools. Run this command when you publish
    a version, and commit the file. Then `toolmason check` fails if the contract changes without a new `[server]
    version`.

    Exit codes: 0 written, 1 the manifest has errors, 4 the version was published with another contract, or is too low.
    """
    from toolmason.diagnostics import Diagnostics
    from toolmason.diff.lock import LockError, compare_released, dump, read_lock, version_problem
    from toolmason.diff.manifest_side import manifest_contract
    from toolmason.pipeline import read
    from toolmason.write.replace_file import replace_file

    project = find_current_project(manifest)
    diagnostics = Diagnostics()
    reading = read(project, diagnostics=diagnostics)
    if reading is None:
        print_findings(diagnostics, "text")
        exit_with(ExitCode.FINDINGS)
    path = project.contract_lock
    shown = project.shown_contract_lock
    contract = manifest_contract(reading, project.root, source=project.shown_manifest)
    since = ""
    if path.exists() or path.is_symlink():
        try:
            comparison = compare_released(read_lock(path), contract)
        except (LockError, OSError) as error:
            if not force:
                raise OverwriteRefusedError(
                    f"{shown}: {error}; restore the file, or use --force to replace it"
                ) from error
        else:
            if not force and (problem := version_problem(comparison)):
                raise OverwriteRefusedError(f"{problem}; nothing was written. To replace the contract, use --force")
            since = f"; changes since {comparison.old.version}: {comparison.counted or 'none'}"
    try:
        replace_file(path, dump(contract))
    except OSError as error:
        raise CommandLineError(f"cannot write {shown}: {(error.strerror or str(error)).lower()}") from error
    click.echo(f"{shown}: version {contract.version}{since}")
