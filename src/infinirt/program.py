"""Programs: kernels in source form."""

from __future__ import annotations

import os

from . import _core
from ._arguments import expect
from ._options import Options
from .errors import CompileError
from .object_code import ObjectCode

TYPE_CHECKING = False  # as type checkers know it; importing `typing` would cost more than this package
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Protocol

    Path = str | os.PathLike[str]
    Macro = str | tuple[str, str]

    class Writable(Protocol):
        def write(self, text: str, /) -> object: ...


__all__ = ["Program", "ProgramOptions"]

_CODE_TYPES = {"cubin": 0, "ptx": 1}
_INVALID_SOURCE = 300


def _paths(given: Path | Iterable[Path]) -> tuple[str, ...]:
    one = isinstance(given, (str, os.PathLike))
    return tuple(os.fspath(path) for path in ((given,) if one else given))  # type: ignore[union-attr,arg-type]


def _macros(given: Macro | Iterable[Macro]) -> tuple[str, ...]:
    if isinstance(given, str):
        return (given,)
    if isinstance(given, tuple) and len(given) == 2 and all(isinstance(part, str) for part in given):
        # A pair is a macro with a value; two macros without values are given as a list.
        return (f"{given[0]}={given[1]}",)
    return tuple(macro if isinstance(macro, str) else "=".join(macro) for macro in given)


def _architecture(given: str | None) -> str | None:
    """As the compiler spells it: "90" stands for "sm_90"."""
    return f"sm_{given}" if given and given[0].isdigit() else given


class ProgramOptions(Options):
    """How a program is compiled. What is None is left to the compiler.

    `arch`: "sm_90" or "90"; by default that of the current GPU. `define_macro`: "NAME", ("NAME", "value"), or a list
    of these. `include_path`: one folder or several; CUDA's own headers are found without it where NVIDIA's wheels or a toolkit
    are installed. `headers`: texts that the program can include, by name. `extra`: further options in the compiler's own
    spelling.

    >>> import infinirt
    >>> infinirt.ProgramOptions(arch="90", define_macro=("N", "4"), use_fast_math=True).as_strings()
    ['-std=c++17', '--define-macro=N=4', '--use_fast_math']
    """

    __slots__ = (
        "arch",
        "debug",
        "define_macro",
        "extra",
        "fma",
        "ftz",
        "headers",
        "include_path",
        "lineinfo",
        "max_register_count",
        "name",
        "pre_include",
        "prec_div",
        "prec_sqrt",
        "std",
        "undefine_macro",
        "use_fast_math",
    )
    name: str
    arch: str | None
    std: str | None
    include_path: tuple[str, ...]
    define_macro: tuple[str, ...]
    undefine_macro: tuple[str, ...]
    pre_include: tuple[str, ...]
    headers: tuple[tuple[str, str], ...]
    debug: bool
    lineinfo: bool
    max_register_count: int | None
    use_fast_math: bool
    ftz: bool | None
    fma: bool | None
    prec_div: bool | None
    prec_sqrt: bool | None
    extra: tuple[str, ...]

    def __init__(
        self,
        name: str = "program.cu",
        arch: str | None = None,
        std: str | None = "c++17",
        include_path: Path | Iterable[Path] = (),
        define_macro: Macro | Iterable[Macro] = (),
        undefine_macro: str | Iterable[str] = (),
        pre_include: Path | Iterable[Path] = (),
        headers: Mapping[str, str] | None = None,
        debug: bool = False,
        lineinfo: bool = False,
        max_register_count: int | None = None,
        use_fast_math: bool = False,
        ftz: bool | None = None,
        fma: bool | None = None,
        prec_div: bool | None = None,
        prec_sqrt: bool | None = None,
        extra: Iterable[str] = (),
    ) -> None:
        self._set(
            name=name,
            arch=_architecture(arch),
            std=std,
            include_path=_paths(include_path),
            define_macro=_macros(define_macro),
            undefine_macro=_paths(undefine_macro),
            pre_include=_paths(pre_include),
            headers=tuple((headers or {}).items()),
            debug=debug,
            lineinfo=lineinfo,
            max_register_count=max_register_count,
            use_fast_math=use_fast_math,
            ftz=ftz,
            fma=fma,
            prec_div=prec_div,
            prec_sqrt=prec_sqrt,
            extra=(extra,) if isinstance(extra, str) else tuple(extra),
        )

    def as_strings(self) -> list[str]:
        """The options in the compiler's spelling; the architecture is not among them."""
        options = [f"-std={self.std}"] if self.std else []
        options += [f"--include-path={folder}" for folder in self.include_path]
        options += [f"--define-macro={macro}" for macro in self.define_macro]
        options += [f"--undefine-macro={macro}" for macro in self.undefine_macro]
        options += [f"--pre-include={header}" for header in self.pre_include]
        switches = {"--device-debug": self.debug, "--generate-line-info": self.lineinfo}
        options += [option for option, wanted in switches.items() if wanted]
        if self.max_register_count is not None:
            options.append(f"--maxrregcount={self.max_register_count}")
        if self.use_fast_math:
            options.append("--use_fast_math")
        choices = {"ftz": self.ftz, "fmad": self.fma, "prec-div": self.prec_div, "prec-sqrt": self.prec_sqrt}
        options += [
            f"--{option}={str(value).lower()}" for option, value in choices.items() if value is not None
        ]
        return [*options, *self.extra]


class Program:
    """Kernels in source form: CUDA C++, compiled by NVIDIA's compiler library.

    No GPU is needed to compile, only to launch. Results are kept on disk and found again by any process of the user (see
    docs/kernels.md).

    >>> import infinirt
    >>> program = infinirt.Program('extern "C" __global__ void nothing() {}', "c++")
    >>> program
    <Program program.cu>
    """

    __slots__ = ("_code", "options")

    def __init__(self, code: str, code_type: str = "c++", options: ProgramOptions | None = None) -> None:
        if code_type != "c++":
            raise ValueError(f"code_type {code_type!r}: programs are written in 'c++'")
        expect(code, str, "code")
        self._code = code
        self.options = options if options is not None else ProgramOptions()
        expect(self.options, ProgramOptions, "options")

    def compile(
        self,
        target_type: str = "cubin",
        name_expressions: Iterable[str] = (),
        logs: Writable | None = None,
    ) -> ObjectCode:
        """Compiles to "cubin", machine code of one architecture, or to "ptx", which drivers translate.

        `name_expressions` are C++ names that `get_kernel()` shall find: "scale<float>", "space::kernel". What the compiler
        says goes to `logs.write()`; `CompileError.log` has it when the program is wrong.
        """
        if target_type not in _CODE_TYPES:
            raise ValueError(f"target_type {target_type!r} is none of {', '.join(_CODE_TYPES)}")
        options = self.options
        code, log, names, compiler, cached, message = _core.compile(
            self._code,
            options.name,
            options.arch,
            _CODE_TYPES[target_type],
            options.as_strings(),
            tuple(name_expressions),
            tuple(name for name, _ in options.headers),
            tuple(text for _, text in options.headers),
        )
        if logs is not None and log:
            logs.write(log)
        if code is None:
            raise CompileError(_INVALID_SOURCE, message or "", log)
        return ObjectCode(
            code, target_type, name=options.name, symbol_mapping=names, compiler=compiler, is_cached=cached
        )

    def __repr__(self) -> str:
        return f"<Program {self.options.name}>"
