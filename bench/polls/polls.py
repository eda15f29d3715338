#!/usr/bin/env python3
"""The `polls` workload: what checks cost real programs and kernels, in CPU time, text, and time of the compiler.

Run by ./run bench polls, one process a round; the first compiles what has changed. In a round the variants take turns.
Prints a line of JSON for each thing measured.

  none       no checks, alone
  thread     no checks, beside a thread that sleeps: libc takes locks, as in any runtime of several workers or with a slice
  timer      checks; the runtime's time slice sets the flag, and another fiber runs
  no-timer   checks, and the flag is always set: each calls the scheduler, which runs the other fiber and comes back
  signals    no checks: a timer's signal, whose handler yields
  page       checks by a load from a page, which the time slice has protected: no compare, no branch
  early-ir   checks that are placed before optimization, with the time slice

For the kernels alone, as `timer`: `each-round`, with a check in each round of each loop; `max`, with the checks where the
most registers are live; `initial-exec`, with the flag found as in shared objects. `polls.py --instructions` counts what is executed, which is the same each time.
`polls.py --in-fibers` measures a lock and a look of the time-slice thread in fibers, with checks and without (fibers.cpp).
"""

import functools
import re
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import plugin  # noqa: E402
from harness.text_table import markdown  # noqa: E402

SLICE = 1_000_000  # ns
VARIANTS = {
    "none": ([], "none"),
    "thread": ([], "thread"),
    "timer": (plugin.checks("polls"), "slice"),
    "no-timer": (plugin.checks("polls"), "always"),
    "signals": ([], "signal"),
    "page": (plugin.checks("polls", "polls-check=page"), "slice"),
    "early-ir": (plugin.checks("polls-ir=check"), "slice"),
}
OF_KERNELS = {
    **VARIANTS,
    "each-round": (plugin.checks("polls", "polls-limit=0"), "slice"),
    "max": (plugin.checks("polls", "polls-placement=max"), "slice"),
    "initial-exec": (plugin.checks("polls", "polls-tls=initial-exec"), "slice"),
}
# How often each goes round: some 0.4 s of each.
ROUNDS = {"minimp3": 8, "zlib": 15, "sqlite": 50, "lua": 2}
ALWAYS = 10  # times fewer rounds where each check calls the scheduler
QUICK = ("minimp3", "zlib")
VECTORS = "-O3 -march=native"


def built(name, variant, flags):
    return plugin.build_beside(name, [*flags, *OF_KERNELS[variant][0]])


def arguments(name, rounds, quick):
    inputs = {"lua": lambda: [plugin.DRIVERS / "everything.lua"], "minimp3": lambda: [plugin.music(2 if quick else 60)]}
    return [rounds, *inputs.get(name, list)()]


def measure_programs(names, variants, times, quick):
    """{name: {variant: ns a round}}, the least. All variants print what the stock build does."""
    least = {name: {} for name in names}

    @functools.cache
    def wanted(name, rounds):
        return run(name, "none", rounds).output

    def run(name, variant, rounds):
        program, timer = built(name, variant, ["-O2"]), VARIANTS[variant][1]
        return plugin.run_beside(program, timer, SLICE, arguments(name, rounds, quick))[0]

    for _ in range(times):
        for name in names:
            for variant in variants:
                always = VARIANTS[variant][1] == "always"
                rounds = 1 if quick else max(1, ROUNDS[name] // (ALWAYS if always else 1))
                found = run(name, variant, rounds)
                if found.output != wanted(name, rounds):
                    raise plugin.Failed(f"{name}, {variant}: '{found.output}', not '{wanted(name, rounds)}'")
                if always and found.turns == 0:
                    raise plugin.Failed(f"{name}, {variant}: no check yielded")
                least[name][variant] = min(found.cpu / rounds, least[name].get(variant, float("inf")))
    return least


def measure_kernels(flags, variants, times, milliseconds):
    """{kernel: {variant: ns}}, the least."""
    least = {}
    for variant in variants * times:
        program, timer = built(plugin.KERNELS, variant, flags), OF_KERNELS[variant][1]
        run, _ = plugin.run_beside(program, timer, SLICE, [milliseconds])
        for kernel, time in map(str.split, run.output.splitlines()):
            of_kernel = least.setdefault(kernel, {})
            of_kernel[variant] = min(float(time), of_kernel.get(variant, float("inf")))
    return least


def mean_ratio(times, variant, to="none"):
    """Of {what: {variant: time}}."""
    return statistics.geometric_mean(each[variant] / each[to] for each in times.values())


def report(programs, kernels, variants):
    for variant in variants:
        if variant == "none":
            continue
        if variant in VARIANTS:
            plugin.say(variant, {}, "overhead_real", "x none", mean_ratio(programs, variant))
            if variant != "thread":
                plugin.say(variant, {"to": "thread"}, "overhead_real", "x thread", mean_ratio(programs, variant, "thread"))
            plugin.say(variant, {}, "overhead_kernels", "x none, kernels", mean_ratio(kernels["-O2"], variant))
        for flags, of_flags in kernels.items():
            if variant not in VARIANTS or flags != "-O2":
                plugin.say(variant, {"flags": flags}, "overhead_kernels", "x none, kernels",
                           mean_ratio(of_flags, variant))
    for variant in variants:
        options, timer = OF_KERNELS[variant]
        if variant in VARIANTS and options and timer == "slice":
            both = {name: {each: built(name, each, ["-O2"]) for each in (variant, "none")} for name in programs}
            for metric, unit, of in (("growth_text", "x none, text", lambda made: made.text),
                                     ("growth_compile", "x none, compiler", lambda made: made.seconds)):
                sizes = {name: {each: of(made) for each, made in pair.items()} for name, pair in both.items()}
                plugin.say(variant, {}, metric, unit, mean_ratio(sizes, variant))
    for name, times in programs.items():
        for variant, ns in times.items():
            plugin.say(variant, {"program": name}, "ns", "ns/round", ns)
    for flags, of_flags in kernels.items():
        for kernel, times in of_flags.items():
            for variant, ns in times.items():
                plugin.say(variant, {"kernel": kernel, "flags": flags}, "ns", "ns/run", ns)


# ---- Instructions.

def executed(program, words):
    """With these arguments, from the process's beginning on; nothing is ever due."""
    with tempfile.NamedTemporaryFile(prefix="sennit_polls_") as log:
        plugin.run_beside(program, "none", SLICE, words, [
            "valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", f"--log-file={log.name}"])
        return int(re.search(r"I +refs: +([\d,]+)", Path(log.name).read_text())[1].replace(",", ""))


def print_table(flags, variants, names, count):
    def row(name):
        found = {variant: count(name, variant) for variant in variants}
        return [name, *(f"{number:,.0f}" + (f" {100 * (number / found['none'] - 1):+.1f} %" if variant != "none" else "")
                        for variant, number in found.items())]

    print()
    for line in markdown([f"instructions, {flags}", *variants], map(row, names)):
        print(line, flush=True)


def print_instructions():
    kernels = re.findall(r'\{"(\w+)",', (plugin.DRIVERS / "kernels.c").read_text(encoding="utf-8"))
    by_checks = [variant for variant, (_, timer) in OF_KERNELS.items() if variant == "none" or timer == "slice"]

    def of_kernel(flags, name, variant):
        program = built(plugin.KERNELS, variant, flags.split())
        return (executed(program, [name, 20]) - executed(program, [name, 0])) / 20

    for flags in ("-O2", "-O3 -march=x86-64-v3"):  # valgrind does not know the widest vectors
        print_table(flags, by_checks, kernels, functools.partial(of_kernel, flags))
    print_table("-O2, programs", [each for each in by_checks if each in VARIANTS], ROUNDS,
                lambda name, variant: executed(built(name, variant, ["-O2"]), arguments(name, 1, True)))


# ---- In fibers.

def print_in_fibers(rounds=5):
    """The least of the rounds, each the least of many. No yield is requested."""
    builds, least = {"none": [], "checks": plugin.checks("polls")}, {}
    with tempfile.TemporaryDirectory() as folder:
        for name, options in builds.items():
            program = Path(folder) / name
            plugin.done(["clang++-19", "-std=c++20", "-O2", *options, f"-I{plugin.ROOT}/include",
                         plugin.DRIVERS / "fibers.cpp", plugin.LIBRARY, "-pthread", "-o", program])
            for line in "".join(plugin.done([program]).stdout for _ in range(rounds)).splitlines():
                what, time = line.split()
                least[what, name] = min(float(time), least.get((what, name), float("inf")))
    print(f"in fibers, -O2, ns\nlock and unlock: {least['lock', 'none']:.1f} without checks, "
          f"{least['lock', 'checks']:.1f} with\na look in a slice: {least['look', 'none']:.0f}, of another thread")


def main(options):
    variants = [each for each in OF_KERNELS if options.variant in (None, each) or each in ("none", "thread")]
    of_programs = [each for each in variants if each in VARIANTS]
    tiny = options.seconds is not None and options.seconds < 0.05
    times = 1 if options.quick else 3
    kernels = {flags: measure_kernels(flags.split(), variants, times, 0.01 if tiny else 2)
               for flags in (["-O2"] if options.quick else ["-O2", VECTORS])}
    programs = measure_programs(QUICK if options.quick else list(ROUNDS), of_programs, times, options.quick)
    report(programs, kernels, variants)


if __name__ == "__main__":
    by_hand = {("--instructions",): print_instructions, ("--in-fibers",): print_in_fibers}.get(tuple(sys.argv[1:]))
    if by_hand is not None:
        try:
            sys.exit(plugin.missing() or by_hand())
        except plugin.Failed as failure:
            sys.exit(str(failure))
    plugin.workload(__doc__, "clang 19 -O2, a local runtime with a slice of 1 ms, another fiber that yields", main)
