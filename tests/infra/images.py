"""A Dockerfile played without Docker: what it copies is laid out under a root, and what it starts is known with the folder it starts in."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

INTERPRETER = "/var/lang/bin/python3.13"
"""Of AWS's base image for Python 3.13."""


@dataclass(frozen=True, slots=True)
class Image:
    """`root` stands for `/`; `folder` and `entrypoint` are as in the image."""

    base: str
    root: Path
    folder: str
    entrypoint: tuple[str, ...]

    def command(self, python: str) -> list[str]:
        """The entrypoint with an interpreter of this machine. Raises `ValueError` for one that the base image does not have."""
        program, *arguments = self.entrypoint
        if program != INTERPRETER:
            raise ValueError(f"the base image has no {program}")
        return [python, *arguments]

    @property
    def working_folder(self) -> Path:
        return self.root / self.folder.lstrip("/")


def play(dockerfile: Path, context: Path, root: Path) -> Image:
    """Raises `ValueError` for an instruction that cannot be played, `FileNotFoundError` for a source that the context lacks."""
    base, folder, entrypoint = "", "/", ()
    for line in dockerfile.read_text(encoding="utf-8").splitlines():
        instruction, _, rest = line.partition(" ")
        if instruction == "FROM":
            base = rest
        elif instruction == "COPY":
            source, target = rest.split()
            shutil.copytree(context / source, root / target.lstrip("/"), dirs_exist_ok=True)
        elif instruction == "WORKDIR":
            folder = rest
        elif instruction == "ENTRYPOINT":
            entrypoint = tuple(json.loads(rest))
        elif line and not line.startswith("#"):
            raise ValueError(f"not played here: {line}")
    return Image(base, root, folder, entrypoint)
