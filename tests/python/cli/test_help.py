"""The help of every command: two examples or more that are valid lines, and flags without a type."""

from __future__ import annotations

import re
import shlex

import pytest
from penstock.cli.app import app
from penstock.cli.examples import EXAMPLES
from test_cli import run
from typer.main import get_command

ROOT = get_command(app)
COMMANDS = [name for name in ROOT.commands if name != "generate"]
COMMANDS += [f"generate {name}" for name in ROOT.commands["generate"].commands]


def find(name):
    found = ROOT
    for word in name.split():
        found = found.commands[word]
    return found


def test_the_list_of_examples_has_every_command_and_no_other():
    assert sorted(EXAMPLES) == sorted(COMMANDS)
    assert len(COMMANDS) > 25


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_ends_with_two_examples(name):
    result = run(*name.split(), "--help")
    assert result.exit_code == 0
    shown = result.stdout.split("Examples:\n")[1].splitlines()
    lines = [line.strip() for line in shown if line.strip().startswith("penstock ")]
    assert len(lines) >= 2 and len(set(lines)) == len(lines)
    assert lines == [line for line, _ in EXAMPLES[name]]


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_are_lines_that_the_command_takes(name):
    for line, words in EXAMPLES[name]:
        given = shlex.split(line)
        depth = 1 + len(name.split())
        assert given[:depth] == ["penstock", *name.split()]
        how = {"allow_interspersed_args": False} if name == "run" else {}
        find(name).make_context(
            given[depth - 1], given[depth:], **how
        )  # raises what a user would see
        assert words and len(line) <= 90


def test_a_line_that_is_wrong_is_noticed():
    with pytest.raises(Exception, match="[Nn]o such option"):
        find("solve").make_context("solve", ["a.mtx", "--no-such-option"])


@pytest.mark.parametrize("name", ["", "generate", *COMMANDS])
def test_flags_have_no_type(name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    text = run(*name.split(), "--help").stdout
    assert not re.search(r"<bool>|BOOLEAN", text)
    assert "--help" in text


def test_defaults_in_brackets_are_shown(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert "[default: 10 n, at most 5000]" in run("solve", "--help").stdout
    assert "[default: 5 from one, else 1]" in run("bfs", "--help").stdout
    assert "[default: 0]" in run("bfs", "--help").stdout  # Typer's own
