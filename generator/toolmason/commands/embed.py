"""`toolmason embed`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolmason.commands.options import (
    CommandLineError,
    ExitCode,
    exit_with,
    find_current_project,
    load_current_server,
    manifest_option,
)

if TYPE_CHECKING:
    from toolmason_runtime.shared.catalogue import Catalogue

    from toolmason.project import Project
    from toolmason.semantic.embedder import Embedder
    from toolmason.semantic.postings_file import Header

SAMPLE = 5
"""Number of tools that `--check` embeds again."""


@click.command()
@click.option(
    "--model",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Directory with model.onnx and vocab.txt; without it, fastembed downloads a model.",
)
@click.option(
    "--embedder",
    metavar="MODULE:FACTORY",
    default="",
    help="Embed with the embedder that this function returns; it gets the directory of --model, or None.",
)
@click.option(
    "--model-sha256",
    metavar="HASH",
    default="",
    help="SHA-256 of the only model to accept. Default: that of semantic.postings.",
)
@click.option("--check", "is_check", is_flag=True, help=f"Write nothing; embed {SAMPLE} tools again to compare.")
@manifest_option
def embed(model: Path | None, embedder: str, model_sha256: str, is_check: bool, manifest: Path | None) -> None:
    """Write semantic.postings beside the manifest, so that searches find tools by meaning.

    Embeds only tools whose text has changed. Commit the file; generate copies it, and embeds changed tools itself where
    this command was run before. The file records the SHA-256 of the model; another model is refused without
    --model-sha256. --check exits with 3 if the file is outdated
    or was made with another model.
    """
    from toolmason.catalogue.table import catalogue
    from toolmason.semantic.embedder import EmbedderError, load_embedder
    from toolmason.semantic.postings_file import MODEL_HASH, read_header
    from toolmason.write.model_cache import ModelPlace, remember_model

    if model_sha256 and not MODEL_HASH.fullmatch(model_sha256):
        raise CommandLineError(f"--model-sha256 must be 64 hexadecimal digits in lower case, not `{model_sha256}`")
    project = find_current_project(manifest)
    server = load_current_server(manifest)
    table = catalogue(server)
    previous = read_header(server.postings) if server.postings else None
    # A check reports another model itself.
    expected = model_sha256 or ("" if is_check or previous is None else previous.model)
    try:
        loaded = load_embedder(embedder, model, expected)
        if is_check:
            exit_with(_check(table, loaded, previous))
        _write(project, table, loaded, previous)
        remember_model(project.root, loaded.model, ModelPlace(embedder, str(model.resolve()) if model else ""))
    except EmbedderError as error:
        raise CommandLineError(str(error)) from error


def _write(project: Project, table: Catalogue, embedder: Embedder, previous: Header | None) -> None:
    from toolmason_runtime.shared.search.query_model import MIN_KNOWN

    from toolmason.diagnostics.terminal import progress
    from toolmason.manifest.input_files import MAX_INPUT_BYTES
    from toolmason.semantic.embed import embed as make
    from toolmason.write.model_cache import cached_vectors
    from toolmason.write.replace_file import replace_file

    with progress() as show:
        show("embedding")
        result = make(table, embedder, previous, embed_words=partial(cached_vectors, project.root))
    if len(result.text.encode()) > MAX_INPUT_BYTES:
        raise CommandLineError(
            f"{project.postings.name} would exceed {MAX_INPUT_BYTES // 1024**2} MiB, the limit of `toolmason generate`"
        )
    try:
        replace_file(project.postings, result.text)
    except OSError as error:
        raise CommandLineError(f"cannot write {project.postings}: {error.strerror}") from error
    name = project.postings.relative_to(project.root).as_posix()
    if result.known < MIN_KNOWN:
        click.echo(
            f"the model knows only {result.known:.0%} of the words of the summaries: searches find the tools by words",
            err=True,
        )
    click.echo(
        f"{name}: {result.words:,} words; {result.embedded} tools embedded, {result.reused} unchanged, "
        f"{result.removed} removed\nrun: toolmason generate"
    )


def _check(table: Catalogue, embedder: Embedder, header: Header | None) -> ExitCode:
    from toolmason.semantic.embed import MIN_COSINE, compare_sample
    from toolmason.semantic.freshness import differences

    if header is None:
        raise CommandLineError("there is no semantic.postings to check; run: toolmason embed")
    problems = [f"{name} is {state}: run toolmason embed" for name, state in differences(table, header).items()]
    if header.model != embedder.model:
        problems.append(f"the file has the vectors of model {header.model}, not of {embedder.model}")
    else:
        cosines = compare_sample(table, embedder, header, SAMPLE)
        for name, value in cosines.items():
            click.echo(f"{name}: cosine {value:.6f}")
        problems += [
            f"the stored vector of {name} differs from the new one"
            for name, value in cosines.items()
            if value < MIN_COSINE
        ]
    for problem in problems:
        click.echo(problem, err=True)
    return ExitCode.DRIFT if problems else ExitCode.FINE
