#!/usr/bin/env python3
"""Where the instructions of a request go: kv_server's fiber front beside its callback front, under cachegrind.

    bench/server/profile.py [--clients 50] [--pipeline 1] [--command get]

Each front answers redis-benchmark under valgrind twice, with two numbers of requests; the difference is what the
requests took, without start and end. Instructions in user mode only: what the kernel does for both is the same.
Cache misses are of a modelled first-level data cache of 48 KiB.
"""

import argparse
import collections
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness.text_table import aligned  # noqa: E402
from load import ROOT, Client, ServerError, ServerProcess, kv_server_command  # noqa: E402

FEW, MANY = 2_000, 12_000
FRONTS = ("fiber", "callback")
# Files to parts, first match counts. A file is the one where the code stands, wherever it was inlined.
PARTS = (
    ("sennit: switch (arch)", r"sennit/detail/arch/|src/arch/"),
    ("sennit: scheduler (sched, coro)", r"(sennit/detail|src)/(stack|coro|timer|sched|parallel|wait|runtime|cont)/|local/runtime|local/fiber"),
    ("sennit: io", r"sennit/detail/io/|src/io/|sennit/local/"),
    ("the front", r"kv_server/fronts/"),
    ("protocol, commands, store", r"examples/kv_server/|c\+\+/12/"),
    ("C library", r""),
)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kv-server", default=str(ROOT / "build/release/examples/kv_server/kv_server"), metavar="FILE")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--pipeline", type=int, default=1)
    parser.add_argument("--command", default="get", choices=("get", "set"))
    parser.add_argument("--functions", type=int, default=8, help="how many to list, those that differ most")
    return parser.parse_args()


def read_counts(path):
    """{(file, function): (instructions, data misses)} of a cachegrind file."""
    counts = collections.Counter()
    misses = collections.Counter()
    events, file, function = [], "", ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("events:"):
            events = line.split()[1:]
        elif line.startswith("fl="):
            file = line[3:]
        elif line.startswith("fn="):
            function = line[3:]
        elif line[:1].isdigit():
            values = dict(zip(events, map(int, line.split()[1:])))
            counts[file, function] += values["Ir"]
            misses[file, function] += values["D1mr"] + values["D1mw"]
    return counts, misses


def run(options, front, requests, directory):
    output = directory / f"{front}.{requests}"
    valgrind = ["valgrind", "--tool=cachegrind", "--cache-sim=yes", "--D1=49152,12,64",
                f"--cachegrind-out-file={output}"]
    with ServerProcess(lambda port: valgrind + kv_server_command(options.kv_server, port, "--front", front)) as server:
        Client(None).run(server, options.command, requests, options.clients, options.pipeline)
        server.stop()
    return read_counts(output)


def per_request(options, front, directory):
    few, many = (run(options, front, requests, directory) for requests in (FEW, MANY))
    result = []
    for before, after in zip(few, many):
        keys = set(before) | set(after)
        result.append({key: (after[key] - before[key]) / (MANY - FEW) for key in keys})
    return result


def grouped(counts, name_of):
    sums = collections.Counter()
    for (file, function), value in counts.items():
        sums[name_of(file, function)] += value
    return sums


def part_of(file, _):
    return next(part for part, pattern in PARTS if re.search(pattern, file))


def function_of(_, function):
    name = re.sub(r"std::chrono::time_point<.*", "...", function.removeprefix("decltype ({parm#1}()) "))
    return re.sub(r"\(anonymous namespace\)::|\(.*|\[clone.*|<.*", "", name)


def print_rows(title, rows, ends):
    if ends:
        rows = [*rows, ("all", tuple(sum(row[1][i] for row in rows) for i in (0, 1)))]
    cells = [[name, f"{one:.0f}", f"{other:.0f}", f"{one - other:+.0f}"] for name, (one, other) in rows]
    print("", *aligned([[title, *FRONTS, "difference"], *cells]), sep="\n")


def main():
    options = parse_arguments()
    if shutil.which("valgrind") is None:
        raise ServerError("valgrind is not installed: ./scripts/install_packages bench")
    with tempfile.TemporaryDirectory() as directory:
        results = [per_request(options, front, pathlib.Path(directory)) for front in FRONTS]
    print(f"{options.command.upper()}, {options.clients} clients, -P {options.pipeline}: "
          f"a request, in user mode, the mean of {MANY - FEW}")
    for index, what in enumerate(("instructions", "misses of a 48 KiB D1 cache")):
        sums = [grouped(result[index], part_of) for result in results]
        print_rows(what, [(part, tuple(each[part] for each in sums)) for part, _ in PARTS], True)
    sums = [grouped(result[0], function_of) for result in results]
    pairs = {name: tuple(each[name] for each in sums) for name in set(sums[0]) | set(sums[1])}
    differing = sorted(pairs.items(), key=lambda pair: -abs(pair[1][0] - pair[1][1]))
    print_rows("instructions, functions that differ", differing[:options.functions], False)


if __name__ == "__main__":
    try:
        main()
    except (ServerError, subprocess.TimeoutExpired) as error:
        sys.exit(f"profile: {error}")
