"""Writes much. `flood.py SIZE STREAMS` writes SIZE bytes of numbered lines to each stream (1, 2 or 12) in turn."""

import os
import sys

size, streams = int(sys.argv[1]), [int(each) for each in sys.argv[2]]
left = dict.fromkeys(streams, size)
number = 0
while any(left.values()):
    block = "".join(f"{line:09} \u00e9\u20ac\U0001f600\n" for line in range(number, number + 3000)).encode()
    number += 3000
    for stream in streams:
        piece = block[: left[stream]]
        left[stream] -= len(piece)
        while piece:
            piece = piece[os.write(stream, piece) :]
