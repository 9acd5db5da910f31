"""The `infinirt` command. Each subcommand is a module of its own, imported when it is called."""

from __future__ import annotations

import sys
from functools import partial
from typing import Annotated

import typer

app = typer.Typer(
    name="infinirt",
    help="One runtime for every accelerator: what is here, and does it work?",
    epilog="infinirt --include-dir | --lib-dir | --cmake-dir | --pkgconfig-dir | --v0-root prints where the parts are.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


def _version(wanted: bool) -> None:
    if wanted:
        from infinirt import __version__

        print(f"InfiniRT {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Print the version, and nothing else."
        ),
    ] = False,
) -> None:
    """One runtime for every accelerator: what is here, and does it work?"""


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


@app.command()
def conformance(
    backend: Annotated[str, typer.Option("--backend", "-b", help="Device type to test, such as cpu.")] = "",
    level: Annotated[
        str, typer.Option(help="minimal, advanced or full; each contains those before it.")
    ] = "full",
    device: Annotated[int, typer.Option(help="Which device of the type.")] = 0,
    json: Annotated[str, typer.Option("--json", metavar="FILE", help="Write every result as JSON.")] = "",
    html: Annotated[str, typer.Option("--html", metavar="FILE", help="Write a page to publish.")] = "",
    plugin: Annotated[
        list[str] | None, typer.Option("--plugin", metavar="PATH", help="Load this plugin first; repeatable.")
    ] = None,
    imports: Annotated[
        list[str] | None,
        typer.Option(
            "--import", metavar="MODULE", help="Import this module (or .py file) first; repeatable."
        ),
    ] = None,
    group: Annotated[list[str] | None, typer.Option(help="Only this group; repeatable.")] = None,
    case: Annotated[
        list[str] | None, typer.Option(metavar="GLOB", help="Only cases whose id fits; repeatable.")
    ] = None,
    limit: Annotated[float, typer.Option(help="Seconds after which a case counts as hanging.")] = 60.0,
    jobs: Annotated[
        int,
        typer.Option("--jobs", metavar="N", help="Processes for the operators' cases; the others run alone."),
    ] = 1,
    listing: Annotated[bool, typer.Option("--list", help="List the cases and run nothing.")] = False,
) -> None:
    """Does a device type keep the rules? For whoever brings one: tables, JSON and a page to publish."""
    from infinirt.conformance.command import main

    status = main(
        backend,
        level,
        device,
        json,
        html,
        tuple(plugin or ()),
        tuple(imports or ()),
        tuple(group or ()),
        tuple(case or ()),
        limit,
        jobs,
        listing,
    )
    raise typer.Exit(status)


@app.command()
def bench(
    device: Annotated[
        str,
        typer.Option("--device", "-d", help="Which device, such as cpu:0; default: the first accelerator."),
    ] = "",
    group: Annotated[
        list[str] | None,
        typer.Option(
            help="Only runtime, memory, allocator, graphs, operators or collectives, or the id of one case, as --list "
            "shows it, of what is measured or loaded; repeatable."
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Few short rounds, small buffers: a first look.")
    ] = False,
    rounds: Annotated[int, typer.Option(min=0, help="How many rounds; 0: as many as usual.")] = 0,
    peers: Annotated[bool, typer.Option(help="Measure other projects that are installed, too.")] = True,
    json: Annotated[str, typer.Option("--json", metavar="FILE", help="Write everything as JSON.")] = "",
    html: Annotated[str, typer.Option("--html", metavar="FILE", help="Write a page with plots.")] = "",
    compare: Annotated[
        str, typer.Option(metavar="FILE", help="An earlier --json: exit status 1 if something became slower.")
    ] = "",
    threshold: Annotated[float, typer.Option(help="What counts as slower, as a share.")] = 0.15,
    load: Annotated[
        str, typer.Option(metavar="FILE", help="Show or compare an earlier --json instead of measuring.")
    ] = "",
    listing: Annotated[
        bool, typer.Option("--list", help="List what is measured, and measure nothing.")
    ] = False,
    plugin: Annotated[
        list[str] | None, typer.Option("--plugin", metavar="PATH", help="Load this plugin first; repeatable.")
    ] = None,
    imports: Annotated[
        list[str] | None,
        typer.Option(
            "--import", metavar="MODULE", help="Import this module (or .py file) first; repeatable."
        ),
    ] = None,
) -> None:
    """How fast is it? Calls, memory, graphs, operators, collectives, beside peers that are installed."""
    from infinirt.tools.bench.command import main

    status = main(
        device,
        tuple(group or ()),
        quick,
        rounds,
        peers,
        json,
        html,
        compare,
        threshold,
        load,
        listing,
        tuple(plugin or ()),
        tuple(imports or ()),
    )
    raise typer.Exit(status)


@app.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
def run(
    command: Annotated[
        list[str],
        typer.Argument(metavar="SCRIPT [ARGUMENTS]...", help="A Python file or program, and its arguments."),
    ],
    ranks: Annotated[int, typer.Option("-n", "--ranks", min=1, help="How many processes.")] = 1,
    hosts: Annotated[
        str,
        typer.Option(
            metavar="HOST,...", help="Machines to run on, through MPI's launcher (pip install mpich)."
        ),
    ] = "",
    label: Annotated[
        bool, typer.Option("-l", "--label", help="Begin every line that a rank prints with its number.")
    ] = False,
) -> None:
    """Starts a program several times, as the ranks of one process group: infiniccl.init_process_group() finds them."""
    from infinirt.tools.launch import run, run_on_hosts

    start = partial(run_on_hosts, hosts=hosts) if hosts else run
    raise typer.Exit(start(command, ranks, label=label))


@app.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
def sanitize(
    command: Annotated[
        list[str], typer.Argument(metavar="SCRIPT [ARGUMENTS]...", help="A Python file, and its arguments.")
    ],
    json: Annotated[str, typer.Option("--json", metavar="FILE", help="Write what was found as JSON.")] = "",
    leaks: Annotated[bool, typer.Option(help="Also say what was never freed.")] = True,
) -> None:
    """Runs a program and finds what its streams may do in the wrong order: races, use after free, and more. Exit status 9: found."""
    from infinirt.sanitizer.command import run

    raise typer.Exit(run(command, json, leaks))


@app.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
def trace(
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SCRIPT [ARGUMENTS]...",
            help="A Python file, -m MODULE, or a program, and its arguments; options of this command come before.",
        ),
    ] = None,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Where to; empty: only the summary.")
    ] = "trace.json",
    stacks: Annotated[
        bool, typer.Option("--stacks", help="Keep the Python stack of every call; slower.")
    ] = False,
    json: Json = False,
    raw: Annotated[
        str,
        typer.Option(
            "--raw", metavar="FOLDER", help="Keep the recorded files there; without SCRIPT: read them."
        ),
    ] = "",
) -> None:
    """Runs a program and records every call and every stream's work, for Perfetto; then says where the time went."""
    from pathlib import Path

    from infinirt.tools.trace import run, show

    if not command and not raw:
        raise typer.BadParameter(
            "a program to trace is missing, or --raw FOLDER to read", param_hint="SCRIPT"
        )
    raise typer.Exit(
        run(command, output, stacks, json, raw)
        if command
        else show(Path(raw), output, json, where=f" in {raw}")
    )


@app.command("new-backend")
def new_backend(
    name: Annotated[str, typer.Argument(help="Name of the device type, such as mychip.")],
    lang: Annotated[
        str, typer.Option(help="c: a plugin, which PaddlePaddle loads as well; python: a class.")
    ] = "c",
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="FOLDER", help="Where to; default: a folder of that name."),
    ] = "",
) -> None:
    """A project for your own hardware: a few blanks to fill in, and a check that counts them and runs the conformance kit."""
    from infinirt.tools.new_backend import run

    raise typer.Exit(run(name, lang, output))


def main() -> None:
    """Entry point of the `infinirt` script and of `python -m infinirt`."""
    from infinirt.__main__ import print_parts

    if not print_parts(sys.argv[1:]):
        app()


if __name__ == "__main__":
    main()
