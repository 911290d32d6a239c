"""The catalogue entry of `fetch_chunk`, which every server has; manifests do not contain it.

It has no category, and search finds it by its name. Its handler is in `chunks.fetch`.
"""

from __future__ import annotations

from typing import Final

from toolmason_runtime.shared.catalogue import ToolEntry

FETCH_CHUNK: Final = "fetch_chunk"

FETCH_CHUNK_ENTRY: Final[ToolEntry] = {
    "tool": {
        "name": FETCH_CHUNK,
        "title": "Fetch chunk",
        "description": (
            "Read a further part of an answer that was too long for one result: the answer names the cacheKey and the "
            "number of parts. Texts are kept for an hour; if one is gone, repeat the original call."
        ),
        "inputSchema": {
            "type": "object",
            "properties": {
                "cacheKey": {"type": "string", "description": "The cacheKey of the answer", "minLength": 1},
                "chunkIndex": {
                    "type": "integer",
                    "description": "Number of the part; the answer itself was part 1",
                    "minimum": 1,
                },
            },
            "required": ["cacheKey", "chunkIndex"],
        },
        "annotations": {
            "readOnlyHint": True,
            "destructiveHint": False,
            "idempotentHint": True,
            "openWorldHint": False,
        },
    },
    "summary": "Read a further part of a long answer",
    "category": "",
    "complexity": "simple",
    "tier": "core",
    "keywords": ["rest", "remaining", "truncated", "more", "next", "continue", "part"],
    "use_cases": ["Get the rest of a long answer", "Fetch the remaining parts of an output that was cut"],
    "related": [],
    "examples": [
        {
            "description": "The second part of a long answer",
            "arguments": {"cacheKey": "cache_9f86d081884c7d659a2feaa0c55ad015", "chunkIndex": 2},
            "invocation": "fetch_chunk(cacheKey='cache_9f86d081884c7d659a2feaa0c55ad015', chunkIndex=2)",
        }
    ],
}
