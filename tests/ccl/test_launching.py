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


def test_torchrun_is_enough() -> None:
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
