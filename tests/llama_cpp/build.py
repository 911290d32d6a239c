"""Build llama.cpp's converter and grammar parser from llama-cpp-python's sdist: `python build.py SDIST DIRECTORY`."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Final

SOURCES: Final = (
    *("common/json-schema-to-grammar.cpp", "common/json-schema.cpp", "common/json.cpp", "common/common.cpp"),
    *("common/unicode.cpp", "common/trie.cpp", "src/llama-grammar.cpp"),
)
PYTHON: Final = Path("llama_grammar.py")
INCLUDES: Final = ("common", "vendor", "include", "ggml/include", "src")
FLAGS: Final = ("-std=c++17", "-O1", "-ffunction-sections", "-fdata-sections")
"""With --gc-sections, functions that nothing calls need no other source."""


def build(sdist: Path, directory: Path) -> Path:
    """Return the path of the program. Beside it is the converter in Python, which llama-cpp-python has too."""
    with tarfile.open(sdist) as archive:
        members = archive.getmembers()
        project = members[0].name.partition("/")[0]
        root = f"{project}/vendor/llama.cpp"
        folders = tuple(f"{root}/{include}/" for include in INCLUDES)
        archive.extractall(directory, [one for one in members if one.name.startswith(folders)], filter="data")
        python = archive.getmember(f"{project}/llama_cpp/{PYTHON.name}")
        python.name = PYTHON.name
        archive.extract(python, directory, filter="data")
    source = directory / root
    objects = []
    for path in (*(source / name for name in SOURCES), Path(__file__).with_name("convert.cpp")):
        objects.append(directory / f"{path.stem}.o")
        options = [*FLAGS, *(f"-I{source / include}" for include in INCLUDES)]
        subprocess.run(["g++", *options, "-c", path, "-o", objects[-1]], check=True)
    program = directory / "convert"
    subprocess.run(["g++", "-Wl,--gc-sections", *objects, "-o", program], check=True)
    return program


if __name__ == "__main__":
    build(Path(sys.argv[1]), Path(sys.argv[2]))
