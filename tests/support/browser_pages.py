"""HTML pages in a browser: a server on loopback, and measurements of their pictures."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Final

OVERFLOW: Final = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
"""The pixels by which a page is wider than its window."""
LABELS_OUTSIDE: Final = """[...document.querySelectorAll('svg text')].filter(text => {
    const box = text.getBoundingClientRect(), map = text.closest('svg').getBoundingClientRect();
    return box.left < map.left - 1 || box.right > map.right + 1 || box.top < map.top - 1 || box.bottom > map.bottom + 1;
}).map(text => text.textContent)"""
"""Labels and counts that a picture cuts off."""
OVERLAPS: Final = """[...document.querySelectorAll('svg')].flatMap(svg => {
    const boxes = [...svg.querySelectorAll('text')].map(text => [text.textContent, text.getBoundingClientRect()]);
    return boxes.flatMap(([name, box], place) => boxes.slice(place + 1).filter(([, other]) =>
        box.left < other.right - 1 && other.left < box.right - 1
        && box.top < other.bottom - 3 && other.top < box.bottom - 3
    ).map(([other]) => `${name} | ${other}`));
})"""
"""Pairs of labels of a picture that overlap."""
SMALL_TEXTS: Final = """[...document.querySelectorAll('main *')].filter(element =>
    [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim())
    && parseFloat(getComputedStyle(element).fontSize) < 10).map(element => element.textContent)"""
"""Texts of less than 10 pixels. Pictures have no `viewBox`, so that no text is scaled."""
CONTRAST: Final = """(() => {
    const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    const channels = colours => {
        canvas.clearRect(0, 0, 1, 1);
        for (const [colour, alpha] of colours) {
            canvas.globalAlpha = alpha; canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
        }
        return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
    };
    const luminance = colours => channels(colours)
        .map(value => value / 255).map(value => value <= .03928 ? value / 12.92 : ((value + .055) / 1.055) ** 2.4)
        .reduce((sum, value, place) => sum + value * [.2126, .7152, .0722][place], 0);
    const ratio = (one, other) => {
        const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a);
        return (light + .05) / (dark + .05);
    };
    const back = getComputedStyle(document.body).backgroundColor;
    const cells = [...document.querySelectorAll('.heat g, g:has(> .square)')].map(cell => {
        const rect = getComputedStyle(cell.querySelector('rect'));
        const fill = rect.fill === 'none' ? [] : [[rect.fill, rect.fillOpacity]];
        return ratio([[getComputedStyle(cell.querySelector('text')).fill, 1]], [[back, 1], ...fill]);
    });
    const texts = [...document.querySelectorAll('.muted, .verdict, summary, svg text')]
        .map(text => getComputedStyle(text)[text.closest('svg') ? 'fill' : 'color'])
        .map(colour => ratio([[colour, 1]], [[back, 1]]));
    const parts = [...document.querySelectorAll('svg rect:not(.track):not(.square)')]
        .filter(part => !part.closest('.heat'))
        .map(part => ratio([[getComputedStyle(part).fill, 1]], [[back, 1]]));
    return {text: Math.min(...cells, ...texts), part: Math.min(...parts)};
})()"""
"""The lowest contrast of a text with its background, and of a part of a bar with the page."""


class QuietHandler(SimpleHTTPRequestHandler):
    """Logs nothing."""

    def log_message(self, *_arguments: object) -> None:
        """Log nothing."""


@contextmanager
def served(directory: Path) -> Iterator[str]:
    """Serve a directory on loopback: the browser opens no file of the disk from a link."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(directory)))
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()
