"""The parts that all backends share: the library, the HTTP client's settings, and failures."""

from __future__ import annotations

import importlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import anyio.to_thread

from workbench_research.backends.failure_kinds import AttemptError
from workbench_research.backends.failures import attempt_error
from workbench_research.backends.keys import Endpoint, Environ, is_loopback
from workbench_research.backends.models import Provider
from workbench_research.backends.prompt import estimate_tokens
from workbench_research.backends.protocol import Options, Part
from workbench_research.packages import require_library

CONNECT_TIMEOUT_S: Final = 20.0
COUNT_TIMEOUT_S: Final = 30.0


@dataclass(kw_only=True)
class Connection:
    """A provider, its base URL and key. `environ` is the server's environment, whose secrets are in no message."""

    provider: Provider
    endpoint: Endpoint
    environ: Environ = field(repr=False)

    async def library(self, name: str = "") -> Any:
        """Import the provider's library, which takes up to a second, and return it or one of its modules.

        Raises:
            ToolError: it is not installed; the message names the extra.
        """
        require_library(self.provider.library, extra=self.provider.extra)
        return await anyio.to_thread.run_sync(importlib.import_module, name or self.provider.library)

    @property
    def http_options(self) -> dict[str, Any]:
        """Return arguments of an HTTP client: no redirects, and no proxy for servers on this machine."""
        return {"follow_redirects": False, "trust_env": not is_loopback(self.endpoint.url)}

    @asynccontextmanager
    async def failures(self) -> AsyncIterator[None]:
        """Replace exceptions of the library.

        Raises:
            AttemptError: instead of them.
        """
        try:
            yield
        except AttemptError:
            raise
        except Exception as error:  # noqa: BLE001  a library may raise those of any other library; bugs are raised again
            # Without the original as its cause, which may contain the key.
            raise self._failure(error) from None

    def _failure(self, error: Exception) -> AttemptError:
        return attempt_error(error, source=self.provider.title, key=self.endpoint.key, environ=self.environ)

    def temperature(self, options: Options) -> float | None:
        """Return the temperature to send; None for models that refuse it."""
        return options.temperature if self.provider.model(options.model).temperature else None

    def estimate(self, question: str, parts: tuple[Part, ...]) -> int:
        """Return an estimate of the tokens."""
        return estimate_tokens(question, parts)
