"""Pages of a long file reach the model of each client whole, and join to the file."""

from __future__ import annotations

import json
import re

import pytest
from toolmason_runtime.shared.answer_size import DEFAULT_SIZE
from toolmason_runtime.shared.client_profiles import client_profile
from workbench_room import Client, Room

from toolmason.clients import clients

NAMES = [
    *(
        name.replace("*", "lab")
        for client in clients().values()
        if client.session
        for name in client.session.client_info
    ),
    *("an unknown client", ""),
]
LINES = [f'{number:5} a line of a file with a "quote", a\ttab and é\n' for number in range(1, 701)]
"""About 34 kB."""


@pytest.mark.parametrize("name", NAMES)
def test_each_page_fits_the_client_and_both_ends_show_how_to_continue(room: Room, name: str) -> None:
    room.write("long.txt", "".join(LINES))
    limit = min(client_profile(name).answer_size, DEFAULT_SIZE)
    start, read = 1, ""
    while start:
        answer = room.call(
            "read_files", client=Client(client_name=name), files=[{"path": "long.txt", "start_line": start}]
        )
        header, _, text = answer.text.partition("\n")
        following = re.search(r"continue with start_line=(\d+)", header)

        assert len(json.dumps(answer.raw, ensure_ascii=False).encode()) <= limit
        assert f"of {1 + len(text.splitlines())} lines" in answer.end or len(text) < 4_000
        assert following is None or following[0] in answer.end
        read += text
        start = int(following[1]) if following else 0

    assert read == "".join(LINES)


@pytest.mark.parametrize("count", [2, 30, 50])
@pytest.mark.parametrize("name", ["@cline/core", "claude-code"])
def test_many_files_fit_the_client(room: Room, name: str, count: int) -> None:
    paths = [f"file{number}.txt" for number in range(count)]
    for path in paths:
        room.write(path, "".join(LINES[:40]))
    answer = room.call("read_files", client=Client(client_name=name), files=[{"path": path} for path in paths])

    limit = min(client_profile(name).answer_size, DEFAULT_SIZE)
    assert len(json.dumps(answer.raw, ensure_ascii=False).encode()) <= limit
    assert LINES[0] in answer.texts[0]
    note = answer.texts[0].partition("\n")[0]
    left = 0
    if note.startswith("[to read in another call: "):
        assert note in answer.end
        left = note.count("file") + int((re.findall(r"and (\d+) more", note) or ["0"])[0])
    assert left + sum(LINES[39] in text for text in answer.texts) == count
