"""The CUDA C++ of element-wise operators without a GPU: the text that the library compiles, and that text run on the host."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from op_support import DTYPE_NUMBERS, numbers_of

from infiniop.schema import Operator
from infiniop.schema.emit.glue import truths
from infiniop.schema.emit.header import in_create_order
from infiniop.schema.emit.maps import MAPS
from installed import directory, output_of, program

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
KINDS = [
    "map",
    "copy",
    "cast",
    "constant",
    "fill",
    "gemm",
    "rows",
    "written",
    "scale",
]  # as OperatorKind in csrc/op/operator.h
# As the build does: files that go into the library as text.
EMBEDDED = (
    "nvidia/kernel.cu", "nvidia/chain.cu", "nvidia/rows.cu", "nvidia/arguments.h", "nvidia/elements.h", "expression.h", "elementary.h", "narrow.h",
    "nvidia/written_arguments.h", *(f"nvidia/written/{path.name}" for path in sorted((ROOT / "csrc/op/nvidia/written").glob("*.cu*"))),
)  # fmt: skip
NAME_SIZE, ARGUMENTS_SIZE = 1 << 16, 4096


@dataclass
class Described:
    """What a plan becomes: the text of "variant.h", and for kernels of single elements and of vectors what a launch passes."""

    text: str
    width: int
    arguments: tuple[bytes, bytes]
    blocks: tuple[int, int]
    tiles: int = 0  # blocks of the kernel for tiles, where the plan has one


@dataclass
class DescribedRows:
    """What a plan of an operator on rows becomes. `numbers`: threads and items of the kernel for vectors, threads of the other."""

    text: str
    width: int
    arguments: bytes
    numbers: tuple[int, ...]
    blocks: tuple[int, int]


@dataclass
class ChainStep:
    """A step of a chain: the operator, its inputs (operands, then steps) and the operand that the result goes to."""

    operator: Operator
    inputs: tuple[int, ...]
    output: int = -1
    dtypes: tuple[str, str] = ("F32", "F32")  # of the inputs, of the result
    attributes: tuple[float, ...] = ()
    element: bytes = b""


class CudaText:
    def __init__(self, folder: Path) -> None:
        generated = folder / "generated"
        generator = ROOT / "src/infiniop/schema/generate.py"
        subprocess.run([sys.executable, "-B", str(generator), "--out", str(generated)], check=True)
        for name in EMBEDDED:
            source = ROOT / "csrc/op" / name
            target = generated / f"build/infiniop/generated/{source.name}.inc"
            target.write_text(f'R"CUDA({source.read_text()})CUDA"\n')
        self.compiler = program("c++", "g++")
        assert self.compiler is not None
        built = folder / "cuda_text.so"
        sources = [
            "nvidia/source.cpp",
            "nvidia/chain_source.cpp",
            "nvidia/rows_source.cpp",
            "rows.cpp",
            "written.cpp",
            "composed.cpp",
            *(f"composed/{path.name}" for path in (ROOT / "csrc/op/composed").glob("*.cpp")),
            "nvidia/written.cpp",
            "nvidia/program.cpp",
            "nvidia/library_places.cpp",
            "nvidia/cudnn.cpp",
            "nvidia/cudnn_attention.cpp",
            *(f"nvidia/written/{path.name}" for path in (ROOT / "csrc/op/nvidia/written").glob("*.cpp")),
            "tensor.cpp",
            "object.cpp",
            "runtime.cpp",
        ]
        includes = [ROOT / "csrc", ROOT / "include", generated / "include", generated / "build"]
        files = [HERE / "cuda_text.cpp", generated / "build/infiniop/generated/operators.cpp"]
        files += [ROOT / "csrc/op" / name for name in sources]
        options = ["-std=c++20", "-O1", "-fPIC", *(f"-I{path}" for path in includes)]

        def compiled(number: int) -> Path:
            output_of(self.compiler, *options, "-c", files[number], "-o", folder / f"{number}.o")
            return folder / f"{number}.o"

        with ThreadPoolExecutor(os.cpu_count()) as workers:
            objects = list(workers.map(compiled, range(len(files))))
        output_of(
            self.compiler, "-shared", *objects, f"-L{directory('--lib-dir')}", f"-Wl,-rpath,{directory('--lib-dir')}", "-linfinirt", "-o", built,
        )  # fmt: skip
        self.library = ctypes.CDLL(str(built))
        self.library.program.restype = ctypes.c_char_p
        self.folder = folder
        self.program: str = self.library.program().decode()
        self.library.chain_program.restype = ctypes.c_char_p
        self.chain_program: str = self.library.chain_program().decode()
        self.library.rows_program.restype = ctypes.c_char_p
        self.rows_program: str = self.library.rows_program().decode()
        self.files = self._files()
        self.library.option.restype = ctypes.c_char_p
        self.options: list[str] = []
        while (option := self.library.option(len(self.options))) is not None:
            self.options.append(option.decode())
        self.runners: dict[str, ctypes.CDLL] = {}

    def _files(self) -> dict[str, str]:
        files = {}
        name, text = ctypes.c_char_p(), ctypes.c_char_p()
        while self.library.file(len(files), ctypes.byref(name), ctypes.byref(text)):
            assert name.value is not None
            assert text.value is not None
            files[name.value.decode()] = text.value.decode()
        return files

    def _create(self, operator: Operator, tensors: dict[str, Any], values: dict[str, Any]) -> None:
        """The plan of an operator, which the library keeps."""
        made = {}
        for name, given in tensors.items():
            made[name] = ctypes.c_void_p()
            if given is not None:
                dtype, shape, strides = given
                assert not self.library.infiniopCreateTensorDescriptor(
                    ctypes.byref(made[name]), ctypes.c_size_t(len(shape)), (ctypes.c_size_t * len(shape))(*shape),
                    (ctypes.c_ssize_t * len(shape))(*strides), ctypes.c_int(DTYPE_NUMBERS[dtype]),
                )  # fmt: skip
        create = getattr(self.library, f"infiniopCreate{operator.name}Descriptor")
        assert not create(None, None, *in_create_order(operator, made, numbers_of(operator, values, False)))
        for descriptor in made.values():
            if descriptor:
                self.library.infiniopDestroyTensorDescriptor(descriptor)

    def describe_written(
        self, operator: Operator, tensors: dict[str, tuple[str, Sequence[int], Sequence[int]]], **values: Any
    ) -> tuple[str, str]:
        """The program of a written operator and its "variant.h". Tensors are type, shape and strides in elements."""
        self._create(operator, dict.fromkeys(t.name for t in operator.tensors) | tensors, values)
        text = ctypes.create_string_buffer(NAME_SIZE)
        self.library.describe_written.restype = ctypes.c_char_p
        program = self.library.describe_written(text, ctypes.c_size_t(NAME_SIZE))
        return program.decode(), text.value.decode()

    def run_written_on_host(
        self, operator: Operator, arrays: dict[str, Any], dtypes: dict[str, str], **values: Any
    ) -> list[str]:
        """Every launch of a written operator's plan, on arrays of the host; the kernels' names."""
        described = {
            name: (dtypes[name], array.shape, [step // array.itemsize for step in array.strides])
            for name, array in arrays.items()
            if array is not None
        }
        program, variant = self.describe_written(operator, described, **values)
        ordered = [arrays[tensor.name] for tensor in operator.ordered]
        addresses = (ctypes.c_void_p * 12)(*(None if a is None else a.ctypes.data for a in ordered))
        numbers = [float(values[attribute.name]) for attribute in operator.attributes]
        attributes = (ctypes.c_double * 20)(*numbers)
        arguments, text = ctypes.create_string_buffer(8192), ctypes.create_string_buffer(NAME_SIZE)
        sizes = (ctypes.c_uint * 64)()
        self.library.plan_written.restype = ctypes.c_size_t
        workspace = self.library.plan_written(addresses, attributes, None, arguments, text, sizes)
        scratch = ctypes.create_string_buffer(workspace + 16)
        at = (ctypes.addressof(scratch) + 15) // 16 * 16
        self.library.plan_written(addresses, attributes, ctypes.c_void_p(at), arguments, text, sizes)
        # Dynamic shared memory has a name of the program's own.
        host = re.sub(
            r"extern __shared__ __align__\(16\) char (\w+)\[\];",
            r"alignas(16) static char \1[1 << 17];",
            program,
        )
        runner = self.runner(variant, "-DWRITTEN", program=host)
        kernels = text.value.decode().split()
        for i, kernel in enumerate(kernels):
            assert runner.run_written(kernel.encode(), ctypes.byref(sizes, 8 * i), arguments), kernel
        return kernels

    def describe(
        self,
        operator: Operator,
        dtypes: Sequence[str],
        shape: Sequence[int],
        strides: Sequence[Sequence[int]],
    ) -> Described:
        """Operands in the order output, inputs; strides in bytes, of the output's shape."""
        text = ctypes.create_string_buffer(NAME_SIZE)
        elements, vectors = (ctypes.create_string_buffer(ARGUMENTS_SIZE) for _ in range(2))
        blocks = (ctypes.c_uint * 3)()
        flat = [step for steps in strides for step in steps]
        width = self.library.describe(
            f"infiniop{operator.name}".encode(), KINDS.index(operator.kind),
            MAPS.index(operator) if operator.kind == "map" else -1, ctypes.c_uint(truths(operator)), len(dtypes),
            (ctypes.c_int * len(dtypes))(*(DTYPE_NUMBERS[name] for name in dtypes)), len(shape),
            (ctypes.c_int64 * len(shape))(*shape), (ctypes.c_int64 * len(flat))(*flat), text, ctypes.c_size_t(NAME_SIZE),
            elements, vectors, blocks,
        )  # fmt: skip
        assert width > 0
        return Described(
            text.value.decode(), width, (elements.raw, vectors.raw), (blocks[0], blocks[1]), blocks[2]
        )

    def describe_arrays(self, operator: Operator, dtypes: Sequence[str], arrays: Sequence[Any]) -> Described:
        shape = arrays[0].shape
        strides = [np.broadcast_to(array, shape).strides for array in arrays]
        return self.describe(operator, dtypes, shape, strides)

    def run_on_host(
        self,
        operator: Operator,
        dtypes: Sequence[str],
        arrays: Sequence[Any],
        attributes: Sequence[float] = (),
        element: bytes = b"",
    ) -> int:
        """Every kernel of the plan, on arrays of the host: thread after thread. Returns the width of the last one."""
        described = self.describe_arrays(operator, dtypes, arrays)
        runner = self.runner(described.text)
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
        pointers += [ctypes.c_void_p()] * (4 - len(pointers))
        for vectors in (False, True) if described.width > 1 else (False,):
            assert runner.run(
                int(vectors), described.blocks[vectors], *pointers, described.arguments[vectors],
                (ctypes.c_double * 2)(*[*attributes, 0.0, 0.0][:2]), element.ljust(16, b"\0"),
            )  # fmt: skip
        return described.width

    def run_tiles_on_host(
        self,
        operator: Operator,
        dtypes: Sequence[str],
        arrays: Sequence[Any],
        attributes: Sequence[float] = (),
    ) -> None:
        """The kernel for inputs that lie across the output's rows; the plan must have it."""
        described = self.describe_arrays(operator, dtypes, arrays)
        assert described.tiles > 0, described.text
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
        pointers += [ctypes.c_void_p()] * (4 - len(pointers))
        numbers = (ctypes.c_double * 2)(*[*attributes, 0.0, 0.0][:2])
        assert self.runner(described.text).run_tiles(
            described.tiles, *pointers, described.arguments[0], numbers
        )

    def describe_chain(
        self, dtypes: Sequence[str], arrays: Sequence[Any], steps: Sequence[ChainStep]
    ) -> Described:
        """The first operand that a step writes has the shape of the chain."""
        shape = next(arrays[step.output].shape for step in steps if step.output >= 0)
        strides = [np.broadcast_to(array, shape).strides for array in arrays]
        text = ctypes.create_string_buffer(NAME_SIZE)
        elements, vectors = (ctypes.create_string_buffer(ARGUMENTS_SIZE) for _ in range(2))
        blocks = (ctypes.c_uint * 2)()
        flat = [step for all_strides in strides for step in all_strides]
        described: list[int] = []
        for step in steps:
            kind = step.operator.kind
            described += [
                KINDS.index(kind), MAPS.index(step.operator) if kind == "map" else -1, len(step.inputs),
                *(DTYPE_NUMBERS[name] for name in step.dtypes), *[*step.inputs, 0, 0, 0][:3], step.output,
            ]  # fmt: skip
        attributes = [value for step in steps for value in [*step.attributes, 0.0, 0.0][:2]]
        width = self.library.describe_chain(
            len(arrays), (ctypes.c_int * len(arrays))(*(DTYPE_NUMBERS[name] for name in dtypes)), len(shape),
            (ctypes.c_int64 * len(shape))(*shape), (ctypes.c_int64 * len(flat))(*flat), len(steps),
            (ctypes.c_int * len(described))(*described), (ctypes.c_double * len(attributes))(*attributes),
            b"".join(step.element.ljust(16, b"\0") for step in steps), text, ctypes.c_size_t(NAME_SIZE), elements, vectors,
            blocks,
        )  # fmt: skip
        assert width > 0
        return Described(text.value.decode(), width, (elements.raw, vectors.raw), (blocks[0], blocks[1]))

    def run_chain_on_host(
        self, dtypes: Sequence[str], arrays: Sequence[Any], steps: Sequence[ChainStep], vectors: bool
    ) -> int:
        """One kernel of the chain, on arrays of the host. Returns the width; 1: there is no kernel for vectors."""
        described = self.describe_chain(dtypes, arrays, steps)
        if vectors and described.width == 1:
            return 1
        runner = self.runner(described.text, "-DCHAIN")
        pointers = (ctypes.c_void_p * 8)(*(array.ctypes.data for array in arrays))
        assert runner.run_chain(
            int(vectors), described.blocks[vectors], pointers, described.arguments[vectors]
        )
        return described.width

    def describe_rows(
        self, operator: Operator, tensors: dict[str, tuple[str, Any, Any] | None], **values: Any
    ) -> DescribedRows:
        """Of each tensor type, shape and strides in elements; None: it is not given."""
        self._create(operator, tensors, values)
        text, arguments = (ctypes.create_string_buffer(size) for size in (NAME_SIZE, ARGUMENTS_SIZE))
        numbers, blocks = (ctypes.c_int * 3)(), (ctypes.c_uint * 2)()
        width = self.library.describe_rows(text, ctypes.c_size_t(NAME_SIZE), arguments, numbers, blocks)
        assert width > 0
        return DescribedRows(
            text.value.decode(), width, arguments.raw, tuple(numbers), (blocks[0], blocks[1])
        )

    def run_rows_on_host(
        self, operator: Operator, arrays: dict[str, Any], dtypes: dict[str, str], vectors: bool, **values: Any
    ) -> DescribedRows:
        """One kernel of the plan, on arrays of the host. There is none for vectors where the width is 1."""
        tensors = {
            name: None
            if array is None
            else (dtypes[name], array.shape, [step // array.itemsize for step in array.strides])
            for name, array in arrays.items()
        }
        described = self.describe_rows(operator, tensors, **values)
        if vectors and described.width == 1:
            return described
        runner = self.runner(described.text, "-DROWS")
        ordered = [arrays[tensor.name] for tensor in operator.ordered]
        pointers = (ctypes.c_void_p * 6)(*(None if a is None else a.ctypes.data for a in ordered))
        attributes = [*(float(values[a.name]) for a in operator.attributes), 0.0, 0.0][:2]
        assert runner.run_rows(
            int(vectors),
            described.blocks[vectors],
            pointers,
            described.arguments,
            (ctypes.c_double * 2)(*attributes),
        )
        return described

    def runner(self, text: str, *options: str, program: str = "") -> ctypes.CDLL:
        """`program`: of a written operator, whose kernels are in a table by their names."""
        if text not in self.runners:
            place = self.folder / f"host{len(self.runners)}"
            place.mkdir()
            (place / "variant.h").write_text(text)
            (place / "program.inc").write_text(program)
            names = re.findall(r'extern "C" __global__ void (?:__launch_bounds__\(\d+\) )?(\w+)\(', program)
            (place / "kernels.inc").write_text("".join(f"KERNEL({name})\n" for name in names))
            built = place / "run.so"
            assert self.compiler is not None
            # -fno-gnu-unique: variants have variables of the same names and other sizes, which the process must not share.
            output_of(
                self.compiler, "-x", "c++", "-std=c++17", "-O1", "-w", "-fwrapv", "-ffp-contract=off", "-fno-gnu-unique", "-shared", "-fPIC",
                *options, HERE / "cuda_on_host.cpp", f"-I{place}", f"-I{HERE}", f"-I{ROOT / 'csrc'}",
                f"-I{self.folder / 'generated/build'}", "-o", built,
            )  # fmt: skip
            self.runners[text] = ctypes.CDLL(str(built))
        return self.runners[text]
