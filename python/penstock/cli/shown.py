"""How help is shown: flags without a type, defaults that were written in brackets, and examples."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from penstock.cli.examples import EXAMPLES


def plain(params: list[Any]) -> list[Any]:
    """A flag has no type. Brackets in the words of an option are no markup of rich's."""
    for param in params:
        if getattr(param, "is_flag", False):
            param.metavar = ""
        words = getattr(param, "help", None)
        if words:
            param.help = words.replace("\\[", "[").replace("[", "\\[")
    return params


def examples_of(ctx: Any) -> list[tuple[str, str]]:
    """(command line, what it does) of a command, by its name beneath `penstock`."""
    names = []
    while ctx is not None and ctx.parent is not None:
        names.append(ctx.info_name)
        ctx = ctx.parent
    return EXAMPLES.get(" ".join(reversed(names)), [])


class Commands(TyperGroup):
    """A command that has commands of its own."""

    def get_params(self, ctx: Any) -> list[Any]:
        return plain(super().get_params(ctx))


class Command(TyperCommand):
    """A command whose help ends with its examples."""

    def get_params(self, ctx: Any) -> list[Any]:
        return plain(super().get_params(ctx))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        super().format_help(ctx, formatter)
        lines = [f"   {line}\n       {words}" for line, words in examples_of(ctx)]
        typer.echo("\n".join([" Examples:", *lines, ""]))
