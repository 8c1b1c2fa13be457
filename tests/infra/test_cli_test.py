"""`agents test` and `agents bench`: what they run, with a uv that only says what it was asked."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from infra.cli import app, chromium, tooling
from infra.cli.test import SIDE_BY_SIDE, marked


@pytest.fixture
def uv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A uv that writes its arguments to `asked` and ends with 5."""
    program = tmp_path / "uv"
    program.write_text(f'#!{sys.executable}\nimport sys\nopen("{tmp_path}/asked", "w").write("\\n".join(sys.argv[1:]))\nsys.exit(5)\n')
    program.chmod(0o755)
    monkeypatch.setenv("UV", str(program))
    return tmp_path / "asked"


@pytest.fixture
def empty_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with nothing in it, and no browser elsewhere."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(chromium, "PLACES", ())
    (tmp_path / "bin").mkdir()
    return tmp_path / "bin"


def program(folder: Path, name: str) -> Path:
    file = folder / name
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    return file


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["test", "-k", "x"], ["--group", "dev", "--group", "infra", "python", "-m", "pytest", *SIDE_BY_SIDE, "-m", "not long", "-k", "x"]),
        (
            ["test", "-n", "0", "--help"],
            ["--group", "dev", "--group", "infra", "python", "-m", "pytest", "-m", "not long", "-n", "0", "--help"],
        ),
        (["bench", "--tokens", "5"], ["--group", "bench", "python", "-m", "tests.bench", "--tokens", "5"]),
    ],
)
def test_arguments_are_passed_on(uv: Path, empty_path: Path, arguments: list[str], expected: list[str]) -> None:
    """The groups are installed by uv, the rest goes to the program, and its exit code is ours."""
    program(empty_path, "chromium")
    assert CliRunner().invoke(app, arguments).exit_code == 5
    assert uv.read_text().splitlines() == ["run", "--frozen", "--project", str(tooling.ROOT), *expected]


@pytest.mark.parametrize(
    ("arguments", "browser", "expected"),
    [
        ([], True, ["-m", "not long"]),
        (["-m", "long", "-x"], True, ["-m", "(long)", "-x"]),
        (["-x", "-m", "long or node"], False, ["-m", "(long or node) and not browser", "-x"]),
        ([f"{__file__}::test_install", "-q"], True, [f"{__file__}::test_install", "-q"]),
        ([__file__], False, ["-m", "not browser", __file__]),
    ],
)
def test_long_tests_are_run_when_they_are_asked_for(arguments: list[str], browser: bool, expected: list[str]) -> None:
    """By their marker or by their file."""
    assert marked(arguments, browser=browser) == expected


def test_without_a_browser_its_tests_are_left_out_loudly(uv: Path, empty_path: Path) -> None:
    """What is not run is said before and after, with how to get it."""
    result = CliRunner().invoke(app, ["test"])
    assert uv.read_text().splitlines()[-2:] == ["-m", "not long and not browser"]
    assert result.stderr.count("NOT RUN") == 2
    assert "apt-get install chromium" in result.stderr


def test_without_uv_it_says_how_to_get_it(empty_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No uv: exit code 2 and one command."""
    monkeypatch.delenv("UV", raising=False)
    monkeypatch.setattr(sys, "executable", str(empty_path / "python"))
    program(empty_path, "chromium")
    result = CliRunner().invoke(app, ["test"])
    assert result.exit_code == 2
    assert "python -m pip install uv" in result.stderr


@pytest.mark.parametrize("place", ["environment", "path", "beside"])
def test_where_uv_is_found(empty_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    """The one that started us, one on PATH, one in our virtual environment."""
    folder = empty_path if place == "path" else tmp_path
    found = program(folder, "uv")
    monkeypatch.setattr(sys, "executable", str((tmp_path if place == "beside" else tmp_path / "elsewhere") / "python"))
    environ = {"PATH": str(empty_path), **({"UV": str(found)} if place == "environment" else {})}
    assert tooling.find_uv(environ) == str(found)


@pytest.mark.parametrize("name", chromium.COMMANDS)
def test_browsers_that_will_do(empty_path: Path, name: str) -> None:
    """Chromium under any of its names."""
    assert chromium.find_chromium() is None
    assert chromium.find_chromium({"PATH": str(program(empty_path, name).parent)}) == str(empty_path / name)


def test_install_stops_at_the_first_failure() -> None:
    """Without a package list nothing is installed."""
    asked: list[list[str]] = []

    def fails(command: list[str]) -> bool:
        asked.append(command)
        return False

    assert chromium.install(fails) is False
    assert [command[:2] for command in asked] == [["apt-get", "update"]]
