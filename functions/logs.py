"""One JSON line per log record, as CloudWatch reads it: Powertools' formatter on the root logger."""

from __future__ import annotations

import logging
import sys

from aws_lambda_powertools.logging.formatter import LambdaPowertoolsFormatter

from functions.settings import Settings


def configure_logs(settings: Settings) -> None:
    """Sends every logger of the process through one handler; called once per environment."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(LambdaPowertoolsFormatter(service=settings.name or "agents", log_record_order=["level", "message"]))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(settings.log_level.upper())
    for noisy in ("botocore", "boto3", "urllib3", "httpx", "httpcore"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
