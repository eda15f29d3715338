#!/usr/bin/env python3
"""Measures what a public header costs a translation unit that includes nothing else, beside its counterpart in std.

Compiles each with g++-12 -std=c++20 -O2 -c, in turn, and prints the median of the user times. A header should take at most
1.5 times its counterpart, or 0.45 s.
"""

import argparse
import re
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include"
sys.path.insert(0, str(ROOT / "bench"))

from harness.text_table import aligned  # noqa: E402

COMPILE = ("g++-12", "-std=c++20", "-O2", "-pthread", f"-I{INCLUDE}")
MOST_TIMES, MOST_SECONDS = 1.5, 0.45

# By the name of the header, in sennit/ and in sennit/local/.
COUNTERPARTS = {
    "barrier": "barrier", "condition_variable": "condition_variable", "condition_variable_any": "condition_variable",
    "coroutine": "coroutine", "counting_semaphore": "semaphore", "errno": "cerrno", "event": "latch", "fiber": "thread",
    "file": "fstream", "fp_control": "cfenv", "future": "future", "generator": "ranges", "latch": "latch", "mutex": "mutex",
    "once": "mutex", "recursive_mutex": "mutex", "runtime": "thread", "scope": "thread", "shared_mutex": "shared_mutex",
    "stop_guard": "stop_token", "wait_group": "latch",
}


def public_headers():
    """Their names, as a program includes them."""
    found = [*INCLUDE.glob("sennit/*.h*"), *INCLUDE.glob("sennit/local/*.h*")]
    return sorted(str(path.relative_to(INCLUDE)) for path in found)


def counterpart(header):
    return COUNTERPARTS.get(Path(header).stem)


class Meter:
    """Compiles files that include one header each."""

    def __init__(self, folder):
        self._folder = Path(folder)

    def _source(self, header):
        path = self._folder / (re.sub(r"\W", "_", header) + ".cpp")
        path.write_text(f"#include <{header}>\n")
        return path

    def seconds(self, header):
        """The user time of one compilation."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        subprocess.run([*COMPILE, "-c", self._source(header), "-o", self._folder / "out.o"], check=True)
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before

    def contents(self, header):
        """(files of Sennit, lines of them, lines of all files) that a compiler reads for it."""
        done = subprocess.run([*COMPILE, "-E", self._source(header)], check=True, capture_output=True, text=True)
        file, own_lines, all_lines = "", {}, 0
        for line in done.stdout.splitlines():
            if marker := re.match(r'# \d+ "([^"]*)"', line):
                file = marker[1]
            elif line.strip():
                all_lines += 1
                if file.startswith(str(INCLUDE)):
                    own_lines[file] = own_lines.get(file, 0) + 1
        return len(own_lines), sum(own_lines.values()), all_lines


def measure(headers, rounds, meter, say):
    """{header: median of its seconds}. The headers take turns, so that a busy moment does not hit all runs of one."""
    taken = {header: [] for header in headers}
    for number in range(1, rounds + 1):
        say(f"round {number} of {rounds}")
        for header in headers:
            taken[header].append(meter.seconds(header))
    return {header: statistics.median(seconds) for header, seconds in taken.items()}


def rows(headers, seconds, contents):
    """The table, most expensive first."""
    yield "header", "s", "beside", "s", "times", "", "own headers", "own lines", "all lines"
    for header in sorted(headers, key=lambda header: -seconds[header]):
        other = counterpart(header)
        times = seconds[header] / seconds[other] if other else None
        missed = seconds[header] > MOST_SECONDS and (times is None or times > MOST_TIMES)
        yield (header, f"{seconds[header]:.2f}", other or "", f"{seconds[other]:.2f}" if other else "",
               f"{times:.1f}" if other else "", "missed" if missed else "", *(f"{each:,}" for each in contents[header]))


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(prog="./run bench headers", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("headers", nargs="*", metavar="HEADER", help="as in sennit/mutex.hpp (default: all public headers)")
    parser.add_argument("--rounds", type=int, default=9, metavar="N", help="compilations of each header (default: 9)")
    chosen = parser.parse_args(arguments)
    chosen.headers = chosen.headers or public_headers()
    if unknown := set(chosen.headers) - set(public_headers()):
        parser.error(f"no public header: {', '.join(sorted(unknown))}")
    return chosen


def main(arguments):
    chosen = parse_arguments(arguments)
    others = sorted({other for header in chosen.headers if (other := counterpart(header))})
    with tempfile.TemporaryDirectory() as folder:
        meter = Meter(folder)
        seconds = measure([*chosen.headers, *others], chosen.rounds, meter,
                          lambda text: print(text, file=sys.stderr, flush=True))
        contents = {header: meter.contents(header) for header in chosen.headers}
    for line in aligned(rows(chosen.headers, seconds, contents)):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
