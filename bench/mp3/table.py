#!/usr/bin/env python3
"""Jaaskelainen et al. 2008, Table 3, on minimp3: what a player beside the decoder costs. Prints Markdown.

Run by ./run tables mp3. First with the player due every 22.676 us of the time that passes; then with a switch at each
check, which is how the paper's method works without a timer. With --cachegrind the latter again in cycles that valgrind
estimates, with three sizes of caches. With --model only what a model of the paper's processor says (model.py).
"""

import argparse
import concurrent.futures
import os
import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import model  # noqa: E402
import mp3  # noqa: E402
from harness import machine, plugin  # noqa: E402
from harness.text_table import filled, markdown  # noqa: E402

NAMES = {"none": "no threading", "timer": "an ignored timer", "live-set": "optimized: the live set is saved",
         "save-all": "full save", "call": "a call for each check", "early-ir": "checks before optimization",
         "signals": "a timer's signals"}
# The paper's processor: cycles, overhead, required MHz.
PAPER = [("no threading", "17,051,815,737", "", 284), ("optimized", "19,194,172,482", 12.6, 318),
         ("full save", "21,116,286,373", 23.8, 352)]
# Of a small embedded system, as the paper's is; of most processors; of more than a frame's work needs. For valgrind:
# bytes, ways, bytes of a line.
CACHES = {"8 KiB, 128 KiB": ("8192,4,32", "131072,16,32"), "32 KiB, 512 KiB": ("32768,8,64", "524288,8,64"),
          "64 KiB, 4 MiB": ("65536,8,64", "4194304,16,64")}
FIRST_MISS, LAST_MISS = 10, 100  # cycles, as kcachegrind has it
BETWEEN_TURNS = 7_700  # cycles: 22 us of the paper's processor
METHODS = ("live-set", "save-all", "call")
# (variant, yields): "none" has the checks but never yields; "always" yields at each check.
AT_EACH = [("none", "none"), *((variant, timer) for variant in METHODS for timer in ("none", "always"))]


def table(header, rows):
    return "\n".join(markdown(header, filled(rows))) + "\n"


def more(cycles, base):
    return f"{100 * (cycles / base - 1):+.1f}" if cycles != base else ""


def paper_rows(columns, before):
    """Rows of the paper, with so many columns, of which `before` stand between the method and the cycles."""
    for name, cycles, overhead, required in PAPER:
        cells = [f"the paper: {name}", *[""] * before, cycles, overhead, required]
        yield cells + [""] * (columns - len(cells))


def of_time(options, seconds, ghz):
    runs = mp3.measure(list(mp3.VARIANTS), options.times, seconds)
    base = runs["none"].cpu
    yield f"## Table 3, the player due every {mp3.PERIOD / 1000:.3f} us of the time that passes\n"
    yield table(["method", "run time, ms", "cycles", "overhead, %", "required MHz", "switches",
                 "deadlines missed, %"], [
        *([NAMES[name], f"{run.cpu / 1e6:.2f}", f"{run.cpu * ghz:,.0f}", more(run.cpu, base),
           f"{run.cpu * ghz / seconds / 1e6:.2f}", f"{2 * run.turns:,}" if name != "none" else "",
           f"{100 * run.missed_share():.1f}" if name not in ("none", "timer") else ""]
          for name, run in runs.items()),
        *paper_rows(7, 1)])


COLUMNS = ["method", "cycles, nothing due", "overhead, %", "cycles, a turn at each check", "overhead, %",
           "required MHz", "switches", "cycles for a turn", f"overhead, %, a turn every {BETWEEN_TURNS:,} cycles"]


def of_checks(cycles, turns, seconds):
    """Rows of COLUMNS, from {(variant, timer): cycles} and {variant: the player's turns where each check yields}."""
    base = cycles["none", "none"]
    yield [NAMES["none"], f"{base:,.0f}", "", "", "", f"{base / seconds / 1e6:.2f}", "", "", ""]
    for variant in METHODS:
        idle, busy = cycles[variant, "none"], cycles[variant, "always"]
        turn = (busy - idle) / turns[variant]
        yield [NAMES[variant], f"{idle:,.0f}", more(idle, base), f"{busy:,.0f}", more(busy, base),
               f"{busy / seconds / 1e6:.2f}", f"{2 * turns[variant]:,}", f"{turn:.1f}",
               f"{100 * (idle / base - 1 + turn / BETWEEN_TURNS):+.1f}"]


def at_each_check(options, seconds, ghz):
    runs = {}
    for _ in range(options.times):
        for variant, timer in AT_EACH:
            run, _ = mp3.decode(mp3.VARIANTS[variant][0], timer, seconds)
            if (variant, timer) not in runs or run.cpu < runs[variant, timer].cpu:
                runs[variant, timer] = run
    mp3.check(runs)
    yield "## Table 3, a switch to the player and one back at each check\n"
    yield table(COLUMNS, of_checks({key: run.cpu * ghz for key, run in runs.items()},
                                   {variant: runs[variant, "always"].turns for variant in METHODS}, seconds))


def count(variant, timer, cache, seconds):
    """(Run, {event: number}, cycles)"""
    first, last = CACHES[cache]
    with tempfile.NamedTemporaryFile(prefix="sennit_mp3_") as log:
        # The same addresses each time, for caches go by them.
        prefix = ["setarch", "-R", "valgrind", "--tool=cachegrind", "--cache-sim=yes",
                  "--cachegrind-out-file=/dev/null",
                  f"--log-file={log.name}", f"--I1={first}", f"--D1={first}", f"--LL={last}"]
        run, _ = mp3.decode(mp3.VARIANTS[variant][0], timer, seconds, prefix)
        text = Path(log.name).read_text(encoding="utf-8")
    found = {re.sub(" +", " ", name): int(number.replace(",", "")) for name, number in
             re.findall(r"== (I +refs|I1 +misses|D1 +misses|LL misses): +([\d,]+)", text)}
    misses = found["I1 misses"] + found["D1 misses"]
    return run, found, found["I refs"] + FIRST_MISS * misses + LAST_MISS * found["LL misses"]


def counted(seconds):
    for variant, _ in AT_EACH:  # not two at once
        mp3.built(mp3.VARIANTS[variant][0])
    keys = [(variant, timer, cache) for cache in CACHES for variant, timer in AT_EACH]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        results = dict(zip(keys, workers.map(lambda key: count(*key, seconds), keys)))
    mp3.check({key: run for key, (run, _, _) in results.items()})
    yield (f"## Table 3 under cachegrind\n\nA cycle for each instruction, {FIRST_MISS} for a miss of a first cache "
           f"(one for instructions, one for data), {LAST_MISS} for one of the last.\n")
    for cache in CACHES:
        yield f"First caches of {cache.replace(', ', ' each, a last one of ')}:\n"
        yield table(COLUMNS, of_checks(
            {key: results[*key, cache][2] for key in AT_EACH},
            {variant: results[variant, "always", cache][0].turns for variant in METHODS}, seconds))
    yield "Instructions, and misses:\n"
    events = ("I refs", "I1 misses", "D1 misses", "LL misses")
    yield table(["caches", "method", "turns", "instructions", "first cache: instructions", "first cache: data",
                 "last cache"],
                [[cache, NAMES[variant], "at each check" if timer == "always" else "",
                  *(f"{results[variant, timer, cache][1][each]:,}" for each in events)]
                 for variant, timer, cache in keys])


def print_model(seconds):
    described = machine.describe(plugin.ROOT, plugin.ROOT / "build/release")
    print(f"A model, on no machine; Linux {described['kernel']}; commit {described['commit']}; {seconds} s of sound\n")
    for text in model.texts(seconds):
        print(text, flush=True)


def main():
    parser = argparse.ArgumentParser(prog="./run tables mp3", description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--quick", action="store_true", help="little sound, once: to see that it works")
    parser.add_argument("--cachegrind", action="store_true", help="estimate cycles with three sizes of caches, too")
    parser.add_argument("--model", action="store_true", help="only cycles by a model of the paper's processor")
    parser.add_argument("--sound", type=int, default=mp3.SECONDS, metavar="S",
                        help="seconds of it (default: as the paper's, %(default)s)")
    options = parser.parse_args()
    options.times = 1 if options.quick else 50
    seconds = mp3.QUICK_SECONDS if options.quick else options.sound
    reason = plugin.missing()
    if reason:
        raise plugin.Failed(reason)
    if options.model:
        print_model(seconds)
        return
    build = plugin.ROOT / "build/release"
    described, clock = machine.describe(plugin.ROOT, build), machine.Clock(build / "bench/bench_clock")
    for _ in range(3):
        clock.read()
    if clock.ghz is None:
        raise plugin.Failed("no clock: scripts/build release --target bench_clock")
    print(f"{described['cpu']}, {described['cpus']} CPUs at {clock.ghz:.2f} GHz, Linux {described['kernel']}; commit "
          f"{described['commit']}; {seconds} s of sound, the least of {options.times} runs"
          f"{'; --quick: too little work to say anything' if options.quick else ''}\n")
    for part in (of_time(options, seconds, clock.ghz), at_each_check(options, seconds, clock.ghz),
                 counted(seconds) if options.cachegrind else ()):
        for text in part:
            print(text, flush=True)


if __name__ == "__main__":
    try:
        main()
    except plugin.Failed as failure:
        sys.exit(f"mp3: {failure}")
