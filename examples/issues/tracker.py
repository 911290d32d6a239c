"""An issue tracker with a REST API, in memory, for this example: `python tracker.py [PORT]`."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

TOKEN: Final = "demo"
PAGE_SIZE: Final = 3

Json = dict[str, Any]


class Project:
    """A project with two issues."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.labels: dict[str, Json] = {"bug": {"name": "bug", "color": "cc0000"}}
        self.issues: dict[int, Json] = {}
        self.comments: dict[int, list[Json]] = {}
        self.add_issue({"title": "Login fails with a long name", "text": "After 64 characters.", "labels": ["bug"]})
        self.add_issue({"title": "Dark colors", "text": "For the evening."})

    def add_issue(self, fields: Json) -> Json:
        number = max(self.issues, default=0) + 1
        defaults: Json = {"number": number, "state": "open", "text": "", "labels": [], "assignee": None}
        self.issues[number] = defaults | fields
        self.comments[number] = []
        return self.issues[number]


class NotFoundError(Exception):
    """A project or an issue does not exist."""


class Tracker(BaseHTTPRequestHandler):
    """Answers the requests of one connection."""

    protocol_version = "HTTP/1.1"
    projects: Final = {"web": Project("Web site"), "app": Project("Phone app")}

    def do_GET(self) -> None:
        self.answer()

    do_POST = do_PATCH = do_DELETE = do_GET

    def answer(self) -> None:
        """Answer with the JSON of the route that matches."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            return self.send(HTTPStatus.UNAUTHORIZED, {"message": "send the token: demo"})
        url = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        for method, pattern, route in ROUTES:
            match = re.fullmatch(pattern, url.path)
            if match and method == self.command:
                try:
                    return self.send(HTTPStatus.OK, route(*match.groups(), query | json.loads(body or "{}")))
                except NotFoundError as error:
                    return self.send(HTTPStatus.NOT_FOUND, {"message": f"not found: {error}"})
        return self.send(HTTPStatus.NOT_FOUND, {"message": "no such route"})

    def send(self, status: HTTPStatus, answer: object) -> None:
        content = json.dumps(answer).encode() if answer is not None else b""
        self.send_response(status if content else HTTPStatus.NO_CONTENT)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *arguments: object) -> None:
        """Log nothing."""


def project(key: str) -> Project:
    """Return a project.

    Raises:
        NotFoundError: there is none with this key.
    """
    if key not in Tracker.projects:
        raise NotFoundError(key)
    return Tracker.projects[key]


def issue(key: str, number: str) -> Json:
    """Return an issue.

    Raises:
        NotFoundError: the project or the issue does not exist.
    """
    if int(number) not in project(key).issues:
        raise NotFoundError(f"{key} {number}")
    return project(key).issues[int(number)]


def list_projects(_fields: Json) -> list[Json]:
    return [
        {"key": key, "name": project.name, "open_issues": sum(i["state"] == "open" for i in project.issues.values())}
        for key, project in Tracker.projects.items()
    ]


def list_labels(key: str, _fields: Json) -> list[Json]:
    return list(project(key).labels.values())


def create_label(key: str, fields: Json) -> Json:
    return project(key).labels.setdefault(fields["name"], fields)


def list_issues(key: str, query: Json) -> list[Json]:
    labels = set(filter(None, query.get("labels", "").split(",")))
    found = [
        issue
        for issue in sorted(project(key).issues.values(), key=lambda issue: -issue["number"])
        if query.get("state") in {None, issue["state"]} and labels <= set(issue["labels"])
    ]
    start = (int(query.get("page", 1)) - 1) * PAGE_SIZE
    return found[start : start + PAGE_SIZE]


def search(query: Json) -> list[Json]:
    words = query["q"].lower().split()
    issues = project(query["project"]).issues.values()
    return [issue for issue in issues if all(word in f"{issue['title']} {issue['text']}".lower() for word in words)]


def update_issue(key: str, number: str, fields: Json) -> Json:
    issue(key, number).update(fields)
    return issue(key, number)


def delete_issue(key: str, number: str, _fields: Json) -> None:
    del project(key).issues[issue(key, number)["number"]]


def list_comments(key: str, number: str, _fields: Json) -> list[Json]:
    return project(key).comments[issue(key, number)["number"]]


def add_comment(key: str, number: str, fields: Json) -> Json:
    comments = list_comments(key, number, {})
    comments.append({"id": len(comments) + 1, "author": "ada", **fields})
    return comments[-1]


ROUTES: Final[list[tuple[str, str, Callable[..., object]]]] = [
    ("GET", "/projects", list_projects),
    ("GET", "/search", search),
    ("GET", r"/projects/(\w+)/labels", list_labels),
    ("POST", r"/projects/(\w+)/labels", create_label),
    ("GET", r"/projects/(\w+)/issues", list_issues),
    ("POST", r"/projects/(\w+)/issues", lambda key, fields: project(key).add_issue(fields)),
    ("GET", r"/projects/(\w+)/issues/(\d+)", lambda key, number, _fields: issue(key, number)),
    ("PATCH", r"/projects/(\w+)/issues/(\d+)", update_issue),
    ("DELETE", r"/projects/(\w+)/issues/(\d+)", delete_issue),
    ("GET", r"/projects/(\w+)/issues/(\d+)/comments", list_comments),
    ("POST", r"/projects/(\w+)/issues/(\d+)/comments", add_comment),
]

if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if sys.argv[1:] else 8321), Tracker)
    print(f"http://127.0.0.1:{server.server_port} (token: {TOKEN})", flush=True)
    server.serve_forever()
