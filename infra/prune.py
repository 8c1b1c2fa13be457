"""What an installed package brings that no function ever reads."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

# The services a function talks to. botocore's other 400 models are 15 of the 20 zipped MB of an unpruned bundle.
SERVICES = ("dynamodb", "s3", "sts", "ssm", "secretsmanager", "lambda")
EXTRA_SERVICES = {"bedrock": ("bedrock", "bedrock-runtime")}

# Console scripts carry the building machine's path, RECORD their hashes: both differ between machines. The rest is never imported.
_JUNK = ("bin", "Scripts", ".lock", "*.dist-info/RECORD", "*.dist-info/direct_url.json", "**/*.pyi", "**/*.c", "**/*.h", "**/*.pyx")
# powertools' own web framework, with a Swagger page of 1.7 MB: FastAPI does that here.
_UNUSED = ("aws_lambda_powertools/event_handler",)


def prune(root: Path, extras: tuple[str, ...] = ()) -> None:
    """Delete junk under the bundle folder `root`, in place; `extras` keep the service models they need."""
    for pattern in (*_JUNK, *_UNUSED):
        _drop(root, pattern)
    for folder in ("test", "tests"):
        _drop(root, f"*/**/{folder}/")
    kept = {*SERVICES, *(service for extra in extras for service in EXTRA_SERVICES.get(extra, ()))}
    for package in ("boto3", "botocore"):
        _drop_services(root / package / "data", kept)
    _keep_endpoints(root / "botocore" / "data" / "endpoints.json", kept)


def _drop(root: Path, pattern: str) -> None:
    for path in sorted(root.glob(pattern)):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def _drop_services(data: Path, kept: set[str]) -> None:
    for folder in sorted(data.glob("*/")):
        if folder.name not in kept:
            shutil.rmtree(folder)
    _drop(data, "*/*/examples-1.json*")


def _keep_endpoints(path: Path, kept: set[str]) -> None:
    """Every client reads all of this file, 1.2 MB of JSON, at a cold start. Regions and partitions stay as they are; of the services only
    those that are called (for any other botocore makes the name by the partition's rule, as it does for a service newer than itself)."""
    if not path.is_file():
        return
    endpoints = json.loads(path.read_bytes())
    for partition in endpoints["partitions"]:
        partition["services"] = {name: entry for name, entry in partition["services"].items() if name in kept}
    path.write_text(json.dumps(endpoints, separators=(",", ":")), encoding="utf-8")
