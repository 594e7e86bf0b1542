"""The application: its commands, and the one place where errors become a line on stderr and an exit
code."""

from __future__ import annotations

import sys
from typing import Any

import typer

from penstock.cli import (
    centrality,
    components,
    convert,
    demo,
    doctor,
    generate,
    generate_models,
    info,
    multiply,
    partition,
    probe,
    run,
    scale,
    search,
    shown,
    solve,
    spgemm,
    ui,
)

# Typer carries its own click in some versions and needs the package in others; this finds it in
# either.
_ClickException: Any = typer.BadParameter.__mro__[2]


class Group(shown.Commands):
    """Commands return an exit code or None. `--debug` is accepted anywhere on the line."""

    def main(self, args: Any = None, prog_name: Any = None, **rest: Any) -> Any:
        words = list(sys.argv[1:] if args is None else args) or ["--help"]
        debug = "--debug" in words
        words = [word for word in words if word != "--debug"]
        rest.pop("standalone_mode", None)
        try:
            code = super().main(words, "penstock", standalone_mode=False, **rest) or 0
            if code == 130:
                ui.complain("interrupted")
            sys.stdout.flush()
        except (KeyboardInterrupt, typer.Abort):
            ui.complain("interrupted")
            code = 130
        except BrokenPipeError:
            raise
        except _ClickException as error:
            code = error.exit_code
            path = getattr(getattr(error, "ctx", None), "command_path", "penstock")
            ui.complain(f"{error.format_message()} (see {path} --help)")
        except Exception as error:
            if debug:
                raise
            code, text = ui.explain_error(error)
            ui.complain(text)
        sys.exit(code)


app = typer.Typer(
    name="penstock",
    cls=Group,
    help="Sparse matrices and graphs larger than one GPU.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _version(asked: bool) -> None:
    if asked:
        import penstock

        typer.echo(f"penstock {penstock.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version and exit."
    ),
    debug: bool = typer.Option(
        False, "--debug", help="Show the traceback of an error; works after a command too."
    ),
    max_inflation: float = typer.Option(
        None,
        "--max-inflation",
        metavar="TIMES",
        help="How many times its size a packed file may unpack to; inf for any. [default: 200]",
    ),
) -> None:
    """Sparse matrices and graphs larger than one GPU.

    Exit codes: 0 done, 1 the operation failed, 2 bad usage or input, 130 interrupted.
    """
    if max_inflation is not None:
        from penstock._io._errors import inflation_limit

        context.with_resource(inflation_limit(max_inflation))


app.command("demo")(demo.demo)
app.command("info")(info.info)
app.command("convert")(convert.convert)
generate_models.add(generate.app)
app.add_typer(generate.app, name="generate")
app.command("multiply")(multiply.multiply)
app.command("spgemm")(spgemm.spgemm)
app.command("solve")(solve.solve)
app.command("bfs")(search.bfs)
app.command("sssp")(search.sssp)
app.command("cc")(components.cc)
app.command("scc")(components.scc)
app.command("pagerank")(centrality.pagerank)
app.command("triangles")(centrality.triangles)
app.command("core")(centrality.core)
app.command("betweenness")(centrality.betweenness)
app.command("partition")(partition.partition)
app.command("scale")(scale.scale)
app.command("probe")(probe.probe)
app.command("run", context_settings={"allow_interspersed_args": False})(run.run)
app.command("doctor")(doctor.doctor)

for each in (*app.registered_commands, *generate.app.registered_commands):
    each.cls = shown.Command
