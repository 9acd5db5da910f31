"""Runs random programs in this process, under the schedule and memory that the environment sets. See random_programs.py.

usage: random_programs_main.py equal COUNT     programs that must equal the model, found and shrunk by hypothesis
       random_programs_main.py planted COUNT   one program with a missing synchronisation: how many seeds expose it
"""

from __future__ import annotations

import os
import sys

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from random_programs import Program, check

from infinirt import runtime as rt

RANDOM = os.environ.get("INFINIRT_CPU_SCHEDULE", "").startswith("random")


def run_one(seed: int, length: int, schedule_seed: int, **options: bool | int) -> list[str]:
    if RANDOM:
        check(rt.infinirtXSeedSchedule(schedule_seed))
    return Program(seed, length, **options).run()  # type: ignore[arg-type]


def equal(count: int) -> None:
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )
    @given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.integers(0, 2**32 - 1), st.booleans())
    def programs_equal_the_model(seed: int, length: int, schedule_seed: int, graphs: bool) -> None:
        mismatches = run_one(seed, length, schedule_seed, graphs=graphs)
        assert not mismatches, (
            f"program seed={seed} length={length} graphs={graphs}, schedule seed={schedule_seed}: {mismatches}"
        )

    programs_equal_the_model()
    print(f"{count} programs equal the model")


def planted(count: int) -> None:
    """A program in which one dependency is left out: some schedule must show it, and show it again."""
    for program in range(20):
        if run_one(program, 40, 0):
            raise SystemExit(f"program {program} is wrong even with all its dependencies")
        for missing in range(1, 6):
            for schedule in range(count):
                found = run_one(program, 40, schedule, skip_dependency=missing)
                if found:
                    again = run_one(program, 40, schedule, skip_dependency=missing)
                    if [text.split(":", 1)[1] for text in again] != [text.split(":", 1)[1] for text in found]:
                        raise SystemExit(f"schedule {schedule} did not repeat: {found} then {again}")
                    print(
                        f"exposed by schedule seed {schedule} (program {program}, dependency {missing} left out): {found[0]}"
                    )
                    return
    raise SystemExit(f"no schedule out of {count} exposed any missing dependency")


if __name__ == "__main__":
    {"equal": equal, "planted": planted}[sys.argv[1]](int(sys.argv[2]))
