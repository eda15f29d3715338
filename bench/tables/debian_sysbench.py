#!/usr/bin/env python3
"""Compares the Pthreads row of the workload sysbench with Debian's sysbench. Prints a Markdown table.

Run by ./run tables sysbench: events per second of both on the same parameters, the most of all rounds, in which they
take turns. The row is right if the ratio is about 1. On a machine with other work, use short runs and many rounds:
--locks 500 --events 2 --rounds 100.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCH))
from harness import machine  # noqa: E402
from harness.text_table import markdown  # noqa: E402

YIELDS, LOOPS, LOCKS = 1000, 10_000, 50_000  # of an event, as sysbench's defaults are


def sysbench_rate(output):
    """Events per second, from what sysbench prints."""
    seconds = re.search(r"total time:\s*([\d.]+)s", output)
    events = re.search(r"total number of events:\s*(\d+)", output)
    if not seconds or not events or float(seconds[1]) == 0:
        sys.exit(f"sysbench: it printed no time or no events:\n{output}")
    return int(events[1]) / float(seconds[1])


def row_rate(output, operations):
    """The same of what bench_sysbench_pthread prints; an event is so many of its operations."""
    values = [line["value"] for line in map(json.loads, output.splitlines()) if "value" in line]
    if len(values) != 1:
        sys.exit(f"sysbench: the program printed {len(values)} results instead of one:\n{output}")
    return 1e9 / (values[0] * operations)


def run(cpus, *command):
    chosen = machine.choose_cpus(cpus)
    done = subprocess.run(["taskset", "-c", ",".join(map(str, chosen)), *map(str, command)], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{command[0]}: exit code {done.returncode}:\n{done.stdout}")
    return done.stdout


def compare(test, cpus, options, program):
    """(sysbench's events per second, ours), the most of all rounds. Both do as much in a run."""
    n = options.fibers
    if test == "threads":
        words = (f"--thread-yields={YIELDS}", "--thread-locks=8", "--time=0", f"--events={n * options.events}")
        only, operations, count = f"yields={YIELDS}", YIELDS, options.events
    else:
        words = ("--mutex-num=4096", f"--mutex-locks={options.locks}", f"--mutex-loops={LOOPS}")
        only, operations, count = f"loops={LOOPS}", options.locks, options.locks
    theirs = ("sysbench", test, f"--threads={n}", *words, "run")
    ours = (program, "--workers", cpus, "--fibers", n, "--yields", YIELDS, "--loops", LOOPS, "--count", count,
            "--only", f"test={test},fibers={n},{only}")
    rates = [(sysbench_rate(run(cpus, *theirs)), row_rate(run(cpus, *ours), operations)) for _ in range(options.rounds)]
    return tuple(map(max, zip(*rates)))


def main():
    parser = argparse.ArgumentParser(prog="./run tables sysbench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="short runs: to see that it works")
    parser.add_argument("--fibers", type=int, default=8, metavar="N", help="threads (default: 8)")
    parser.add_argument("--locks", type=int, default=LOCKS, metavar="N",
                        help=f"locks of one event of the test mutex (default: {LOCKS:,})")
    parser.add_argument("--events", type=int, default=100, metavar="N",
                        help="events of the test threads, for each thread (default: 100)")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="runs of each (default: 3)")
    parser.add_argument("--build-dir", type=Path, default=BENCH.parent / "build" / "release", metavar="DIR",
                        help="where CMake built the programs (default: build/release)")
    options = parser.parse_args()
    if options.quick:
        options.fibers, options.locks, options.events, options.rounds = 4, 500, 1, 1
    if shutil.which("sysbench") is None:
        sys.exit("sysbench: it is not installed: ./scripts/install_packages bench")
    program = options.build_dir / "bench" / "bench_sysbench_pthread"
    rows = []
    for test in ("threads", "mutex"):
        for cpus in (1, 2):
            if machine.choose_cpus(cpus) is None:
                continue
            theirs, ours = compare(test, cpus, options, program)
            rows.append([f"{test}, {options.fibers} threads", cpus, f"{theirs:,.4g}", f"{ours:,.4g}", f"{ours / theirs:.2f}"])
    print(f"{run(1, 'sysbench', '--version').strip()}; {machine.processor_model()}\n")
    print("\n".join(markdown(["events per second", "CPUs", "sysbench", "the row of Pthreads", "ratio"], rows)))


if __name__ == "__main__":
    main()
