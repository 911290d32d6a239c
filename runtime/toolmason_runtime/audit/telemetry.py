"""Send the events of an audit log to an OpenTelemetry collector, as log records with one attribute a field."""

from __future__ import annotations

import json
import os
import time
from typing import Any, Final

from toolmason_runtime.audit.errors import AuditError

ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT")
"""The standard variables with the address of a collector."""
SCOPE: Final = "toolmason.audit"
FLUSH_MS: Final = 1000
"""Milliseconds in which the last records are sent before the process exits."""


class TelemetryOutput:
    """Sends each line as a log record. A thread of the SDK sends them in batches, also after failures.

    Raises:
        AuditError: OpenTelemetry is not installed, or the environment names no collector.
    """

    def __init__(self, name: str, version: str) -> None:
        if not any(map(os.environ.get, ENDPOINTS)):
            raise AuditError(f"the audit log `otel` needs the address of a collector: set {ENDPOINTS[0]}")
        try:
            from opentelemetry._logs import LogRecord, SeverityNumber
            from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
            from opentelemetry.sdk._logs import LoggerProvider
            from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
            from opentelemetry.sdk.resources import Resource
        except ImportError as error:
            message = "the audit log `otel` needs OpenTelemetry: `pip install 'toolmason[telemetry]'`"
            raise AuditError(message) from error
        own = {} if os.environ.get("OTEL_SERVICE_NAME") else {"service.name": name}
        self._provider = LoggerProvider(resource=Resource.create({**own, "service.version": version}))
        self._provider.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter()))
        self._logger = self._provider.get_logger(SCOPE)
        self._record: Any = LogRecord
        self._severity = SeverityNumber.INFO

    def append(self, line: bytes) -> None:
        """Queue one line; the body of its record is the event."""
        fields = json.loads(line)
        event = fields.pop("event")
        now = time.time_ns()
        self._logger.emit(
            self._record(
                timestamp=now,
                observed_timestamp=now,
                severity_number=self._severity,
                severity_text="INFO",
                body=event,
                event_name=f"{SCOPE}.{event}",
                attributes=fields,
            )
        )

    def close(self) -> None:
        """Send the queued records."""
        self._provider.force_flush(FLUSH_MS)
