#!/usr/bin/env python3
"""Counts the instructions of the core operations under valgrind, and compares them with a baseline.

Fails if an operation takes more instructions than its baseline and the tolerance. The
baseline is bench/instructions/baseline.json. ./run bench instructions and ./check instructions build the programs first.
"""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
ROOT = BENCH.parent
sys.path.insert(0, str(BENCH))

from harness.text_table import markdown  # noqa: E402

BASELINE = Path(__file__).with_name("baseline.json")
RENEW = "./run bench instructions --renew"

# An operation fails above its baseline times the first plus the second. Counts of one build are equal in every run, except
# that waits with a deadline differ by 0.005 %. One more instruction in an operation of up to 50 therefore fails.
TOLERANCE = (1.01, 0.5)


@dataclass(frozen=True)
class Operation:
    """A measurement of a program: enough of them to take about a million instructions."""

    workload: str
    variant: str
    params: str
    count: int

    @property
    def name(self):
        return " ".join((self.workload, self.variant, self.params)).removesuffix(" none")

    @property
    def options(self):
        """Those that make the program measure this only."""
        sizes = {key: value for key, value in re.findall(r"(\w+)=(\d+)", self.params)}
        sizes = {key: sizes[key] for key in SIZES.get(self.workload, ()) if key in sizes}
        if self.workload == "fib":
            sizes = {"n": "8"}  # which it does not print
        options = [word for key, value in sizes.items() for word in (f"--{key}", value)]
        return [*options, "--variant", self.variant, "--only", self.params, "--count", str(self.count), "--callgrind"]


# Parameters that are options of the programs, and not only printed.
SIZES = {"yield": ("fibers",), "channel": ("capacity", "bytes"), "rpc": ("clients",), "threadring": ("n",),
         "waiters": ("n",), "timers": ("n",), "generator": ("depth",)}


def _operations():
    both = ("local", "parallel")
    yield Operation("switch", "inline", "none", 10_000)
    yield Operation("create", "coroutine", "none", 5_000)
    yield Operation("generator", "recursive", "none", 10_000)
    for kind in both:
        yield Operation("yield", kind, "fibers=2", 5_000)
        yield Operation("spawn", kind, "none", 5_000)
    for variant in ("parallel", "parallel-call"):
        yield Operation("fib", variant, "none", 100)
    for kind in both:
        yield Operation("mutex", kind, "fibers=1", 10_000)
        yield Operation("condvar", kind, "none", 3_000)
        yield Operation("queue", kind, "none", 5_000)
        yield Operation("channel", kind, "capacity=0,bytes=8", 5_000)
        yield Operation("channel", kind, "capacity=64,bytes=8", 5_000)
        for work in ("otherwise", "ready", "synchronous"):
            yield Operation("select", kind, f"work={work}", 5_000)
        for receiver in ("actor", "actor-stackless"):
            yield Operation("channel", f"{kind}-{receiver}", "capacity=64,bytes=8", 5_000)
    for variant in ("stack", "continuation", "lrpc"):
        for prefix in ("", "parallel-"):
            yield Operation("rpc", prefix + variant, "clients=1", 100)
    for variant in (*both, "local-actor", "parallel-actor", "local-continuation", "parallel-continuation"):
        yield Operation("threadring", variant, "n=503,order=memory", 10)
    for kind in both:
        for waited in ("mutex", "condvar", "channel"):
            yield Operation("waiters", kind, f"n=100,object={waited},ends=wake", 30)
        yield Operation("waiters", kind, "n=100,object=channel,ends=deadline", 10)


OPERATIONS = tuple(_operations())


class CannotCount(Exception):
    """The reason why an operation could not be counted."""


def count(operation, build):
    """The instructions of one operation. Callgrind counts the thread that runs it, and only after a warm-up."""
    program = build / "bench" / f"bench_{operation.workload}_sennit"
    environment = {**os.environ, "LD_PRELOAD": str(build / "bench" / "libbench_fixed_clock.so")}
    command = ["valgrind", "--tool=callgrind", "--collect-atstart=no", "--callgrind-out-file=/dev/null",
               str(program), *operation.options]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    except OSError as error:
        raise CannotCount(f"{error}: ./scripts/install_packages bench") from error
    collected = re.search(r"Collected : (\d+)", done.stderr)
    results = [json.loads(line) for line in done.stdout.splitlines() if '"metric":"ns"' in line]
    if done.returncode or not collected or not int(collected[1]) or len(results) != 1:
        raise CannotCount(f"{operation.name}: {len(results)} results, exit status {done.returncode}\n{done.stderr}")
    return round(int(collected[1]) / operation.count / results[0]["operations"], 2)


def count_all(build):
    """{name of an operation: its instructions}."""
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        counts = pool.map(lambda operation: count(operation, build), OPERATIONS)
        return {operation.name: each for operation, each in zip(OPERATIONS, counts)}


def compare(before, now):
    """A row for each operation: its name, its instructions before and now, and "more", "fewer", "new", "gone" or ""."""
    factor, addend = TOLERANCE
    for name in {**before, **now}:
        old, new = before.get(name), now.get(name)
        if old is None or new is None:
            verdict = "new" if old is None else "gone"
        elif new > old * factor + addend:
            verdict = "more"
        else:
            verdict = "fewer" if new < (old - addend) / factor else ""
        yield name, old, new, verdict


def summarize(rows):
    """(exit status, a line that says what was found)."""
    names = {verdict: [row[0] for row in rows if row[3] == verdict] for verdict in ("more", "fewer", "new", "gone")}
    status = 1 if names["more"] or names["new"] or names["gone"] else 0
    parts = [f"{len(rows)} operations"]
    if names["more"]:
        parts.append(f"{len(names['more'])} take more instructions than the baseline: {', '.join(names['more'])}")
    if names["new"] or names["gone"]:
        parts.append(f"the baseline names others: {', '.join(names['new'] + names['gone'])}; renew it by {RENEW}")
    if names["fewer"]:
        parts.append(f"{len(names['fewer'])} take fewer ({', '.join(names['fewer'])}), so renew the baseline by {RENEW}")
    return status, "; ".join(parts if len(parts) > 1 else [*parts, "none takes more instructions than the baseline"])


def made_with(build):
    """What counts depend on besides the source."""
    cache = (build / "CMakeCache.txt").read_text()
    compiler = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", cache, re.MULTILINE)[1]
    version = subprocess.run([compiler, "-dumpfullversion", "-dumpversion"], capture_output=True, text=True, check=True)
    return {"machine": platform.machine(), "compiler": f"{Path(compiler).name} {version.stdout.strip()}",
            "libc": " ".join(platform.libc_ver())}


def write(path, environment, counts):
    path.write_text(json.dumps({**environment, "instructions": counts}, indent=1) + "\n")


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(prog="./run bench instructions", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--renew", action="store_true", help="write the counts as the new baseline")
    parser.add_argument("--build-dir", type=Path, default=ROOT / "build" / "release", metavar="DIR",
                        help="where CMake built the programs (default: build/release)")
    parser.add_argument("--targets", action="store_true", help="print the targets to build, and end")
    return parser.parse_args(arguments)


def main(arguments):
    chosen = parse_arguments(arguments)
    if chosen.targets:
        print("bench_fixed_clock", *sorted({f"bench_{operation.workload}_sennit" for operation in OPERATIONS}))
        return 0
    environment = made_with(chosen.build_dir)
    baseline = json.loads(BASELINE.read_text()) if BASELINE.exists() else {"instructions": {}}
    before = baseline.pop("instructions")
    try:
        now = count_all(chosen.build_dir)
    except CannotCount as error:
        print(error)
        return 1
    rows = list(compare(before, now))
    cells = [["" if cell is None else cell for cell in row] for row in rows]
    print(*markdown(("operation", "baseline", "now", ""), cells), sep="\n")
    if chosen.renew:
        write(BASELINE, environment, now)
        print(f"{len(now)} counts written to {BASELINE.relative_to(ROOT)}")
        return 0
    if baseline != environment:
        print(f"the baseline was made with {baseline}, and this is {environment}: counts cannot be compared; "
              f"renew the baseline at a commit that is known to be good, by {RENEW}")
        return 1
    status, said = summarize(rows)
    print(said)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
