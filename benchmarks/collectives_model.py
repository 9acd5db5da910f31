"""What an all-reduce would cost on many ranks: measures one message between two ranks here, and computes the rest.

The model has three numbers. Alpha is what a message costs before its first byte, beta what each further byte costs, gamma what adding
up a byte costs. Measured between two processes of this machine, over shared memory or over MPI; for a network, measure there
(start it with MPI's launcher on two machines) or give the numbers.

    python benchmarks/collectives_model.py                                  measure here, estimate 1,000 ranks
    mpiexec -n 2 -hosts one,two python benchmarks/collectives_model.py      the same between two machines
    python benchmarks/collectives_model.py --alpha 2e-6 --beta 4e-11 --ranks 1000 --per-host 8
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass

MESSAGES = (4, 1 << 20, 16 << 20)
SIZES = {"1 KiB": 1 << 10, "1 MiB": 1 << 20, "64 MiB": 64 << 20, "1 GiB": 1 << 30}


@dataclass(frozen=True)
class Link:
    """Between two ranks: seconds for a message, for each byte of it, and for each byte that is added up."""

    alpha: float
    beta: float
    gamma: float


# ---- the model


def ring(link: Link, ranks: int, size: float) -> float:
    """Reduce-scatter and all-gather around a ring: the fewest bytes, and a message for every rank."""
    part = size * (ranks - 1) / ranks
    return 2 * (ranks - 1) * link.alpha + 2 * part * link.beta + part * link.gamma


def doubling(link: Link, ranks: int, size: float) -> float:
    """Recursive doubling: the fewest messages, each with everything."""
    return math.ceil(math.log2(ranks)) * (link.alpha + size * (link.beta + link.gamma))


def halving(link: Link, ranks: int, size: float) -> float:
    """Recursive halving, then doubling: as few bytes as a ring, in a logarithmic number of messages."""
    part = size * (ranks - 1) / ranks
    return 2 * math.ceil(math.log2(ranks)) * link.alpha + 2 * part * link.beta + part * link.gamma


ALGORITHMS = {"ring": ring, "recursive doubling": doubling, "halving and doubling": halving}


def cheapest(link: Link, ranks: int, size: float, sharing: int = 1) -> tuple[float, str]:
    """The best algorithm and its seconds, where `sharing` ranks of a host have one link: a ring leaves each host only once."""
    if ranks == 1:
        return 0.0, ""
    shared = Link(link.alpha, link.beta * sharing, link.gamma)
    return min(
        (cost(link if cost is ring else shared, ranks, size), name) for name, cost in ALGORITHMS.items()
    )


def in_levels(inside: Link, between: Link, hosts: int, per_host: int, size: float) -> float:
    """Reduce-scatter in each host, all-reduce of the parts among hosts (which share the host's link), all-gather in each host."""
    if per_host == 1:
        return cheapest(between, hosts, size)[0]
    within = ring(inside, per_host, size)
    shared = Link(between.alpha, between.beta * per_host, between.gamma)
    return within + cheapest(shared, hosts, size / per_host)[0]


# ---- the measurement: two ranks, each with a process of its own


def by_mpi() -> bool:
    """Whether MPI's launcher has started this process."""
    return "PMI_RANK" in os.environ or "OMPI_COMM_WORLD_RANK" in os.environ


def measure() -> Link | None:
    """None on the second rank."""
    import numpy

    import infiniccl

    comm = infiniccl.init_process_group(device="cpu", transport="mpi" if by_mpi() else None)
    if comm.size != 2:
        raise SystemExit(f"the measurement takes two ranks; there are {comm.size}")
    times = {}
    for size in MESSAGES:
        memory = numpy.zeros(size, numpy.uint8)
        calls = 2000 if size < 1 << 10 else 20
        best = math.inf
        for _ in range(5):
            begin = time.perf_counter()
            for _ in range(calls):
                for sender in (0, 1):
                    if comm.rank == sender:
                        comm.send(memory, 1 - comm.rank)
                    else:
                        comm.recv(memory, 1 - comm.rank)
            best = min(best, (time.perf_counter() - begin) / calls / 2)
        times[size] = best
    a, b = (numpy.ones(1 << 22, numpy.float32) for _ in range(2))
    adding = math.inf
    for _ in range(5):
        begin = time.perf_counter()
        numpy.add(a, b, out=a)
        adding = min(adding, time.perf_counter() - begin)
    small, middle, large = MESSAGES
    found = Link(times[small], (times[large] - times[middle]) / (large - middle), adding / a.nbytes)
    return found if comm.rank == 0 else None


def between_two_processes() -> Link:
    told = {"INFINICCL_SIZE": "2", "INFINICCL_NAME": uuid.uuid4().hex}
    ranks = [
        subprocess.Popen(
            [sys.executable, __file__, "--measure"],
            env={**os.environ, **told, "INFINICCL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    said = [rank.communicate(timeout=300)[0] for rank in ranks]
    return Link(**json.loads(said[0]))


def report(link: Link, ranks: int, per_host: int, inside: Link | None) -> None:
    print(
        f"alpha {link.alpha * 1e6:.2f} us, beta {link.beta * 1e9:.3f} ns/byte ({1e-9 / link.beta:.2f} GB/s), ",
        end="",
    )
    print(f"gamma {link.gamma * 1e9:.3f} ns/byte")
    print(f"all-reduce of {ranks} ranks:")
    for name, size in SIZES.items():
        seconds, algorithm = cheapest(link, ranks, size, per_host)
        line = f"  {name:>7} {seconds * 1e3:12.3f} ms  {algorithm}"
        if inside is not None and per_host > 1:
            levels = in_levels(inside, link, math.ceil(ranks / per_host), per_host, size)
            line += f"; {levels * 1e3:.3f} ms in two levels, {per_host} to a host"
        print(line)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ranks", type=int, default=1000)
    parser.add_argument("--per-host", type=int, default=8)
    parser.add_argument("--alpha", type=float, help="seconds for a message between hosts")
    parser.add_argument("--beta", type=float, help="seconds for each of its bytes")
    parser.add_argument("--gamma", type=float, default=0.0, help="seconds for each byte that is added up")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure or by_mpi():
        found = measure()
        if found is not None and given.measure:
            print(json.dumps(found.__dict__))
        elif found is not None:
            report(found, given.ranks, 1, None)
        return
    inside = between_two_processes()
    print("here, between two processes:")
    report(inside, given.ranks, 1, None)
    if given.alpha is not None and given.beta is not None:
        print("with the numbers that were given, between hosts:")
        report(
            Link(given.alpha, given.beta, given.gamma or inside.gamma), given.ranks, given.per_host, inside
        )


if __name__ == "__main__":
    main()
