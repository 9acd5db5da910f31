"""Ranks that a launcher starts: `infinirt run`, variables of other launchers, and the data-parallel example."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import infiniccl
from infiniccl.process_group import _from_environment
from installed import output_of
from left_behind import shared_memory

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "data_parallel.py"
RUN = [sys.executable, "-m", "infinirt", "run"]


def loss(text: str) -> float:
    found = re.search(r"ranks after \d+ steps: ([0-9.]+)\n$", text)
    assert found, text
    return float(found[1])


def test_data_parallel_training_gives_the_loss_of_one_rank() -> None:
    alone = loss(output_of(sys.executable, EXAMPLE, RANKS="1"))
    assert 0 < alone < 0.1
    assert loss(output_of(sys.executable, EXAMPLE)) == pytest.approx(alone, abs=2e-4)
    assert loss(output_of(*RUN, "-n", "3", sys.executable, EXAMPLE)) == pytest.approx(alone, abs=2e-4)


def test_a_script_with_options_of_its_own(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, numpy, infiniccl\n"
        "comm = infiniccl.init_process_group(device='cpu')\n"
        "array = numpy.array([float(comm.rank)])\n"
        "infiniccl.all_reduce(array)\n"
        "infiniccl.broadcast(array, src=1)\n"
        "infiniccl.barrier()\n"
        "sys.stdout.write(f'{comm.rank} {array[0]} {sys.argv[1:]}\\n')\n"  # whole, even where Python does not buffer
        "infiniccl.destroy_process_group()\n"
    )
    said = output_of(*RUN, "-n", "3", script, "-n", "7", "--json")
    assert sorted(said.splitlines()) == [f"{rank} 3.0 ['-n', '7', '--json']" for rank in range(3)]


def test_the_program_of_the_manual(tmp_path: Path) -> None:
    page = (EXAMPLE.parents[1] / "docs" / "collectives.md").read_text()
    script = tmp_path / "train.py"
    script.write_text(page[page.index("```\nimport infiniccl\n") + 4 :].partition("```")[0])
    said = output_of(*RUN, "-n", "3", "--label", script)
    assert sorted(said.splitlines()) == [f"[{rank}] rank {rank} of 3: 3.0" for rank in range(3)]


def test_lines_can_begin_with_the_rank() -> None:
    code = "import sys; print('first'); sys.stderr.write('second')"
    done = subprocess.run(
        [*RUN, "-n", "3", "--label", sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["[0] first", "[1] first", "[2] first"]
    assert sorted(done.stderr.splitlines()) == ["[0] second", "[1] second", "[2] second"]


def test_one_failure_ends_all() -> None:
    code = "import os, sys, time; sys.exit(3) if os.environ['INFINICCL_RANK'] == '1' else time.sleep(100)"
    done = subprocess.run(
        [*RUN, "-n", "3", sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 3
    assert "rank 1 ended with status 3; the others are ended" in done.stderr
    missing = subprocess.run(
        [*RUN, "no-such-program"], capture_output=True, text=True, timeout=60, check=False
    )
    assert missing.returncode == 127
    assert "no-such-program: No such file" in missing.stderr


@pytest.mark.parametrize(
    ("told", "rank", "size"),
    [
        ({"RANK": "2", "WORLD_SIZE": "4", "MASTER_ADDR": "localhost", "MASTER_PORT": "29500"}, 2, 4),
        ({"PADDLE_TRAINER_ID": "0", "PADDLE_TRAINERS_NUM": "2"}, 0, 2),
        ({"PMI_RANK": "1", "PMI_SIZE": "8"}, 1, 8),
        ({"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "5"}, 3, 5),
    ],
)
def test_variables_of_other_launchers(told: dict[str, str], rank: int, size: int) -> None:
    assert _from_environment(told)[:2] == (rank, size)
    first, second = (_from_environment({**told, "MASTER_PORT": port})[2] for port in ("1", "2"))
    assert (first != second) == ("MASTER_ADDR" in told or "PADDLE_TRAINER_ID" in told)


def test_no_launcher() -> None:
    with pytest.raises(ValueError, match="start it with `infinirt run`"):
        _from_environment({})
    with pytest.raises(RuntimeError, match="init_process_group"):
        infiniccl.get_rank()


TORCHRUN_SCRIPT = """
import os, sys
import numpy, torch, infiniccl
comm = infiniccl.init_process_group(device="cpu")
rank, size = infiniccl.get_rank(), infiniccl.get_world_size()
assert (rank, size) == (int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])), (rank, size)
total, triangle = size * (size + 1) // 2, size * (size - 1) // 2

tensor = torch.full((5,), float(rank + 1))
infiniccl.all_reduce(tensor)
assert tensor.tolist() == [total] * 5
reduced = torch.tensor([rank], dtype=torch.int64)
infiniccl.reduce(reduced, dst=1, op="sum")
assert rank != 1 or reduced.item() == triangle
told = numpy.array([rank * 10.0])
infiniccl.broadcast(told, src=size - 1)
assert told[0] == 10.0 * (size - 1)
everything = torch.zeros(2 * size, dtype=torch.bfloat16)
infiniccl.all_gather_into_tensor(everything, torch.full((2,), rank, dtype=torch.bfloat16))
assert everything.tolist() == [r for r in range(size) for _ in range(2)]
part = torch.zeros(3)
infiniccl.reduce_scatter_tensor(part, torch.arange(3.0 * size))
assert part.tolist() == [size * (3 * rank + i) for i in range(3)]
swapped = torch.zeros(size)
infiniccl.all_to_all_single(swapped, torch.arange(float(size)) + 100 * rank)
assert swapped.tolist() == [100.0 * r + rank for r in range(size)]
got = torch.zeros(4)
with infiniccl.group():
    infiniccl.send(torch.full((4,), float(rank)), (rank + 1) % size)
    infiniccl.recv(got, (rank - 1) % size)
assert got.tolist() == [(rank - 1) % size] * 4
infiniccl.barrier()
infiniccl.destroy_process_group()
sys.stdout.write("agrees\\n")  # whole, even where Python does not buffer
"""


@pytest.mark.peer("torch")
@pytest.mark.parametrize("ranks", [2, pytest.param(4, marks=pytest.mark.full)])
def test_torchrun(ranks: int, tmp_path: Path) -> None:
    """The same script under PyTorch's launcher, with every function that is named as in torch.distributed."""
    script = tmp_path / "script.py"
    script.write_text(TORCHRUN_SCRIPT)
    before = shared_memory()
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
    said = output_of(*launcher, script, OMP_NUM_THREADS="1", INFINICCL_TIMEOUT="60")
    assert said.count("agrees") == ranks, said
    assert shared_memory() == before


def test_torchruns_variables_are_enough() -> None:
    """As torchrun does it: variables, and no launcher of ours."""
    code = (
        "import numpy, infiniccl; comm = infiniccl.init_process_group(device='cpu'); a = numpy.ones(5);"
        "infiniccl.all_reduce(a, 'sum'); print(a[0]); infiniccl.destroy_process_group()"
    )
    told = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(20000 + os.getpid() % 20000)}
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", code],
            env={**os.environ, **told, "RANK": str(rank)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    assert [rank.communicate(timeout=60)[0] for rank in ranks] == ["2.0\n", "2.0\n"]
