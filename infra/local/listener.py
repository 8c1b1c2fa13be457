"""The front's port: taken before anything starts, so that a port in use is the first thing that is said and not the last."""

from __future__ import annotations

import errno
import socket
import sys


class PortInUse(Exception):
    """Somebody else listens there; the message says what to do."""


def bind(host: str, port: int) -> socket.socket:
    """A listening socket. Raises `PortInUse`, or `OSError` for an address that is not ours."""
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    if sys.platform != "win32":
        # a port whose last connections are still in TIME_WAIT is free; on Windows the option would share a live one
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(128)
    except OSError as exc:
        listener.close()
        if exc.errno != errno.EADDRINUSE:
            raise
        raise PortInUse(f"Port {port} is in use. Try: agents dev --port {_free_after(host, port)}") from exc
    return listener


def _free_after(host: str, port: int) -> int:
    for candidate in range(port + 1, min(port + 50, 65536)):
        try:
            bind_only(host, candidate)
        except OSError:
            continue
        return candidate
    return 0


def bind_only(host: str, port: int) -> None:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((host, port))
