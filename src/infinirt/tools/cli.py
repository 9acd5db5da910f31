"""The `infinirt` command. Each subcommand is a module of its own, imported when it is called."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(
    name="infinirt",
    help="One runtime for every accelerator: what is here, and does it work?",
    epilog="python -m infinirt --include-dir | --lib-dir | --cmake-dir | --v0-root prints where the parts are.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


@app.command()
def info(
    json: Json = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Also say where libraries were looked for that were not found.")
    ] = False,
) -> None:
    """Devices and backends: what was found, what was tried, and why it is not used."""
    from infinirt.tools.info import run

    run(as_json=json, everything=everything)


@app.command()
def demo(
    device: Annotated[
        str, typer.Option("--device", "-d", help="Only this device, such as cpu:0; default: all.")
    ] = "",
    json: Json = False,
) -> None:
    """One program on every device found: overlap, events, stream-ordered memory, a graph, and an error with its message."""
    from infinirt.tools.demo import run

    raise typer.Exit(run(only=device or None, as_json=json))


def main() -> None:
    """Entry point of the `infinirt` script and of `python -m infinirt`."""
    app()


if __name__ == "__main__":
    main()
