"""What `--help` looks like on a terminal of 80 columns."""

from __future__ import annotations

import inspect
import textwrap

import pytest
from typer.testing import CliRunner

from loopscm.cli.main import app
from loopscm.simulate._families import FAMILIES

COMMANDS = {command.name: command.callback for command in app.registered_commands}


def help_of(*command: str) -> str:
    result = CliRunner().invoke(app, [*command, "--help"], env={"COLUMNS": "80"})
    assert result.exit_code == 0
    return result.output


@pytest.mark.parametrize("name", COMMANDS)
def test_paragraphs_fill_the_width(name):
    lines = [line.strip() for line in help_of(name).splitlines()]
    for paragraph in inspect.cleandoc(COMMANDS[name].__doc__ or "").split("\n\n"):
        if not paragraph.startswith("-"):
            wrapped = textwrap.wrap(" ".join(paragraph.split()), 78, break_on_hyphens=False)
            assert wrapped == [line for line in lines if line in wrapped]


@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_is_cut_off(name):
    text = help_of(name)
    assert "…" not in text
    types = [line.split("<", 1)[1] for line in text.splitlines() if "│ --" in line and "<" in line]
    assert all(">" in kind or "[x" in kind for kind in types)


def test_every_kind_of_scenario_has_an_example():
    text = help_of("simulate")
    assert all(family.example in text for family in FAMILIES.values())
