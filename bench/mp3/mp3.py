#!/usr/bin/env python3
"""The `mp3` workload: 60 s of sound decoded by minimp3 beside a player (Jaaskelainen 2008, section 4).

Run by ./run bench mp3, one process a round; the first compiles what has changed. In a round the variants take turns.
The player is due every 22.676 us of the time that passes: at 44.1 kHz. Prints a line of JSON for each thing measured.
`./run tables mp3` prints the paper's Table 3.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import plugin  # noqa: E402

SECONDS, QUICK_SECONDS = 60, 2
PERIOD = 22_676  # ns: 1 s / 44,100
SAVE_ALL = plugin.checks("polls", "polls-save=all")
# name: the compiler's options, what makes it give way (bench/polls/beside.cpp)
VARIANTS = {
    "none": ([], "none"),
    "timer": ([], "byte"),
    "live-set": (plugin.checks("polls"), "byte"),
    "save-all": (SAVE_ALL, "byte"),
    "call": (plugin.checks("polls-ir=call"), "byte"),
    "early-ir": (plugin.checks("polls-ir=check"), "byte"),
    "signals": ([], "signal"),
}


def built(options):
    return plugin.build_beside("minimp3", ["-O2", *options])


def decode(options, timer, seconds, prefix=()):
    """(Run, what was printed on stderr before)"""
    return plugin.run_beside(built(options), timer, PERIOD, [1, plugin.music(seconds)], prefix)


def measure(variants, times, seconds):
    """{variant: its Run with the least CPU time}; all decode the same.

    Of the half that missed the fewest deadlines: where other work takes the timer's CPU there is less to do."""
    runs = {name: [] for name in variants}
    for _ in range(times):
        for name in variants:
            runs[name].append(decode(*VARIANTS[name], seconds)[0])
    best = {}
    for name, all_runs in runs.items():
        all_runs.sort(key=lambda run: (run.missed_share(), run.cpu))
        best[name] = min(all_runs[:(times + 1) // 2], key=lambda run: run.cpu)
    check(best)
    return best


def check(runs):
    """Fails unless all have decoded the same."""
    outputs = {run.output for run in runs.values()}
    if len(outputs) != 1:
        raise plugin.Failed(f"the variants decode differently: {({name: run.output for name, run in runs.items()})}")


def main(options):
    variants = [each for each in VARIANTS if options.variant in (None, each) or each == "none"]
    runs = measure(variants, 1 if options.quick else 10, QUICK_SECONDS if options.quick else SECONDS)
    for name, run in runs.items():
        plugin.say(name, {}, "ns", "ns/decoding", run.cpu)
        if name != "none":
            plugin.say(name, {}, "overhead_real", "x none", run.cpu / runs["none"].cpu)
            plugin.say(name, {}, "switches", "switches", 2 * run.turns)
            plugin.say(name, {}, "missed_percent", "% missed", 100 * run.missed_share())


if __name__ == "__main__":
    plugin.workload(__doc__, "minimp3, clang 19 -O2, two fibers of a local runtime", main)
