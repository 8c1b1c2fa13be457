"""Environment variables whose values are in Secrets Manager or Parameter Store: read when first needed, and again when they are old."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from functions.logs import hide
from functions.settings import is_parameter
from functions.store.clients import secrets_client, ssm_client

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.parameters import BaseProvider

log = logging.getLogger(__name__)


class SecretUnavailable(Exception):
    """A secret cannot be read, and never was. The text names the variable and where its value should be, never a value."""


class Secrets:
    """Values of `sources` (variable → ARN or name), each at most `max_age` seconds old. Used by one thread at a time.

    A value that cannot be read again stays as it was: Secrets Manager being down stops no agent that works. One is looked for anew at
    every `read` until it is there.
    """

    def __init__(self, sources: Mapping[str, str], max_age: int) -> None:
        self._sources, self._max_age = sources, max_age
        self._values: dict[str, str] = {}
        self._providers: dict[str, BaseProvider] = {}
        _after_restore(self.forget)

    def read(self) -> Mapping[str, str]:
        """Every variable with its value. Blocks while AWS is asked.

        Raises `SecretUnavailable` for the first that was never read.
        """
        for variable, source in self._sources.items():
            try:
                self._values[variable] = self._read(variable, source)
            except SecretUnavailable as exc:
                if variable not in self._values:
                    raise
                log.warning("%s stays as it was: %s", variable, exc)
        hide(self._values.values())
        return dict(self._values)

    def forget(self) -> None:
        """After a restore: values and connections may be weeks old."""
        self._values, self._providers = {}, {}

    def _read(self, variable: str, source: str) -> str:
        from aws_lambda_powertools.utilities.parameters import GetParameterError

        service = "ssm" if is_parameter(source) else "secretsmanager"
        options: dict[str, Any] = {"decrypt": True} if service == "ssm" else {}
        if service not in self._providers:
            self._providers[service] = _provider(service)
        try:
            found = self._providers[service].get(source, max_age=self._max_age, **options)
        except GetParameterError as exc:
            raise SecretUnavailable(f"{variable} cannot be read from {source!r}: {exc}") from exc
        if not isinstance(found, str) or not found:
            raise SecretUnavailable(f"{variable} cannot be read from {source!r}: there is no text in it")
        return found if service == "ssm" else _of_object(found, variable, source)


def _of_object(text: str, variable: str, source: str) -> str:
    """The console of Secrets Manager makes JSON objects: the variable's own entry. Other text is the value itself."""
    try:
        entries = json.loads(text)
    except ValueError:
        return text
    if not isinstance(entries, dict):
        return text
    value = entries.get(variable)
    if not isinstance(value, str) or not value:
        raise SecretUnavailable(f"{variable} cannot be read from {source!r}: its JSON object has no text under {variable!r}")
    return value


def export(values: Mapping[str, str]) -> None:
    """Sets the process's variables: each provider's package, and a program that an agent starts, reads its key there."""
    os.environ.update(values)


def _provider(service: str) -> BaseProvider:
    """Powertools' cache in front of the service."""
    from aws_lambda_powertools.utilities.parameters import SecretsProvider, SSMProvider

    return SSMProvider(boto3_client=ssm_client()) if service == "ssm" else SecretsProvider(boto3_client=secrets_client())


def _after_restore(hook: Callable[[], None]) -> None:
    """Where Lambda's own Python has SnapStart's registry."""
    if find_spec("snapshot_restore_py") is not None:
        import_module("snapshot_restore_py").register_after_restore(hook)
