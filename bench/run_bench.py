#!/usr/bin/env python3
"""Measures Sennit beside its peers: runs the benchmark programs and prints a table per workload, best first."""

import argparse
import datetime
import json
import os
import re
import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parent
ROOT = BENCH.parent
sys.path.insert(0, str(BENCH))

from harness import instructions, machine, measure, table  # noqa: E402
from harness.programs import Absent, BuildMissing, find_programs  # noqa: E402
from harness.results import Collection  # noqa: E402
from harness.toolchains import LWP_FOLDER  # noqa: E402
from harness.workloads import PEERS, WORKLOADS, workload_named  # noqa: E402

ROUNDS, QUICK_ROUNDS = 7, 3


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(
        prog="./run bench", description=__doc__,
        epilog="Workloads: " + ", ".join(WORKLOADS) + ". See bench/README.md for what they measure and how.")
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help="what to measure; everything without")
    parser.add_argument("--peers", default="installed", metavar="A,B|all|installed",
                        help="beside whom; Sennit is always measured (default: installed)")
    parser.add_argument("--workers", metavar="1,2", help="numbers of kernel threads (default: as the workload needs)")
    parser.add_argument("--oversubscribe", action="store_true", help="measure more workers than there are CPUs, too")
    parser.add_argument("--quick", action="store_true", help=f"short runs, {QUICK_ROUNDS} rounds, small sizes")
    parser.add_argument("--json", metavar="FILE", help="write the results there too")
    parser.add_argument("--list", action="store_true", help="list workloads, peers and what is missing, and end")
    parser.add_argument("--instructions", action="store_true",
                        help="count instructions per operation, and atomic ones, under valgrind instead (C++ only)")
    parser.add_argument("--variant", metavar="NAME", help="measure only variants of that name")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUES", dest="settings",
                        help="other values for a parameter of the workloads, as in --set fibers=2,1000")
    parser.add_argument("--rounds", type=int, metavar="N", help=f"runs of each program (default: {ROUNDS})")
    parser.add_argument("--seconds", type=float, metavar="S", help="time of one measurement")
    parser.add_argument("--build-dir", type=Path, default=ROOT / "build" / "release", metavar="DIR",
                        help="where CMake built the programs (default: build/release)")
    parser.add_argument("--lwp", type=Path, metavar="DIR",
                        help="measure LWP, too, from that folder: lib-src/lwp of the Coda File System's sources")
    parser.add_argument("--strict", action="store_true", help="fail if any program fails")
    parser.add_argument("--parse", action="store_true", help=argparse.SUPPRESS)  # only say what is wrong with the rest
    chosen = parser.parse_args(arguments)
    _check(parser, chosen)
    return chosen


def _check(parser, chosen):
    """Turns the options' text into values, or ends with what is wrong with it."""
    for name in chosen.workloads:
        if not (name in WORKLOADS or list((BENCH / name).glob("*.*"))) or "/" in name:
            parser.error(f"no workload '{name}'; there are: {', '.join(WORKLOADS)}")
    chosen.workloads = list(dict.fromkeys(chosen.workloads)) or list(WORKLOADS)

    chosen.all_peers = chosen.peers in ("all", "installed")
    chosen.peers = set(PEERS) if chosen.all_peers else {"sennit", *chosen.peers.split(",")}
    for peer in chosen.peers - set(PEERS):
        parser.error(f"no peer '{peer}'; there are: {', '.join(PEERS)}")

    if chosen.workers is not None:
        if not re.fullmatch(r"[1-9]\d*(,[1-9]\d*)*", chosen.workers):
            parser.error("--workers takes numbers above zero, as in 1,2")
        chosen.workers = tuple(map(int, chosen.workers.split(",")))

    if chosen.lwp is not None:
        if not (chosen.lwp / "src" / "lwp.c").is_file():
            parser.error(f"{chosen.lwp} has no src/lwp.c: --lwp names the folder lib-src/lwp of the Coda File System")
        os.environ[LWP_FOLDER] = str(chosen.lwp.resolve())

    settings = {}
    for setting in chosen.settings:
        if not re.fullmatch(r"\w+=\d+(,\d+)*", setting):
            parser.error(f"--set takes NAME=VALUES, as in fibers=2,1000; not '{setting}'")
        name, values = setting.split("=")
        settings[name] = tuple(map(int, values.split(",")))
        if not any(name in workload_named(each).options for each in chosen.workloads):
            parser.error(f"none of the workloads has a parameter '{name}'")
    chosen.settings = settings
    chosen.rounds = chosen.rounds or (QUICK_ROUNDS if chosen.quick else ROUNDS)
    if chosen.rounds < 1:
        parser.error("--rounds takes a number above zero")


def make_jobs(chosen, programs):
    """The processes of one round, in the order of the workloads and of the peers."""
    jobs = []
    ordered = sorted(programs, key=lambda program: (PEERS.index(program.peer), program.command))
    for workload in map(workload_named, chosen.workloads):
        options = ["--quick"] if chosen.quick else []
        options += ["--variant", chosen.variant] if chosen.variant else []
        options += ["--seconds", str(chosen.seconds)] if chosen.seconds else []
        settings = {name: values for name, values in chosen.settings.items() if name in workload.options}
        split_name, split_values = "", ((),)
        if workload.split:
            split_name, full, quick = workload.split
            split_values = [(value,) for value in settings.pop(split_name, quick if chosen.quick else full)]
        for name, values in settings.items():
            options += [f"--{name}", ",".join(map(str, values))]
        for split in split_values:
            sized = options + [f"--{split_name}", str(split[0])] if split else options
            params = tuple((split_name, value) for value in split)
            for workers in chosen.workers or workload.workers:
                jobs += [measure.Job(program, workers, tuple(sized), params, workload.timeout, chosen.oversubscribe)
                         for program in ordered if program.workload == workload.name]
    return jobs


def print_list(chosen, programs, absent):
    for workload in map(workload_named, chosen.workloads):
        print(f"{workload.name}: {workload.measures}")
        present = dict.fromkeys(program.peer for program in programs if program.workload == workload.name)
        print("  peers: " + (", ".join(sorted(present, key=PEERS.index)) or "none"))
        for each in absent:
            if each.workload == workload.name:
                print(f"  absent: {each.peer}: {each.reason}")


def find(chosen):
    """(programs, absent) of what was chosen, with those peers that cannot do a workload or were asked for in vain."""
    def wanted(workload, peer):
        return workload in chosen.workloads and peer in chosen.peers

    def say(text):
        print(text, file=sys.stderr, flush=True)

    programs, absent = find_programs(BENCH, chosen.build_dir, ROOT / "build" / "bench", wanted, say)
    for workload in map(workload_named, chosen.workloads):
        known = {each.peer for each in programs if each.workload == workload.name}
        known |= {each.peer for each in absent if each.workload == workload.name}
        absent += [Absent(workload.name, peer, reason) for peer, reason in workload.cannot.items()
                   if peer in chosen.peers - known]
        known |= set(workload.cannot)
        if not chosen.all_peers:
            absent += [Absent(workload.name, peer, f"it has no program for {workload.name}")
                       for peer in sorted(chosen.peers - known)]
    return programs, absent


def main(arguments):
    chosen = parse_arguments(arguments)
    if chosen.parse:
        return 0
    try:
        programs, absent = find(chosen)
    except BuildMissing as error:
        print(error, file=sys.stderr)
        return 1
    if chosen.list:
        print_list(chosen, programs, absent)
        return 0
    if chosen.instructions:
        return count_instructions(chosen, programs)
    jobs = make_jobs(chosen, programs)
    if not jobs:
        print("nothing to measure:", file=sys.stderr)
        for each in absent:
            print(f"  {each.workload} {each.peer}: {each.reason}", file=sys.stderr)
        return 1

    described = machine.describe(ROOT, chosen.build_dir)
    print(f"{described['cpu']}, {described['cpus']} CPUs, Linux {described['kernel']}; commit {described['commit']}")
    clock = machine.Clock(chosen.build_dir / "bench" / "bench_clock")
    progress = measure.Progress(jobs, chosen.rounds)
    collection = Collection()
    for each in absent:
        collection.add_absent(each)

    def print_workload(workload):
        entries = [entry for entry in collection.results(clock.ghz) if entry["workload"] == workload]
        missing = [entry for entry in collection.not_measured() if entry["workload"] == workload]
        print("\n" + table.format_workload(workload, entries, missing, collection.configurations(workload)), flush=True)

    try:
        measure.measure(jobs, chosen.rounds, clock, progress, collection, print_workload)
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return 130
    for workload in chosen.workloads:
        if not any(job.program.workload == workload for job in jobs):
            print_workload(workload)
    print_clock(clock)
    if chosen.json:
        write_json(chosen, described, clock, collection)
    return exit_code(chosen, collection)


def count_instructions(chosen, programs):
    """Prints how many instructions, loads, stores and atomic read-modify-writes an operation takes, and writes them if
    that was asked for."""
    compiled = [program for program in programs if str(chosen.build_dir) in program.command[0]]
    entries = []

    def wants(_, measured):
        return chosen.variant in (None, measured["variant"])

    try:
        for entry in instructions.count(compiled, lambda text: print(text, file=sys.stderr, flush=True), wants, atomics=True):
            atomics = f", {entry['atomics']:.1f} RMW" if "atomics" in entry else ""
            slots = f" in {entry['store_slots']:,.1f} slots" if "store_slots" in entry else ""
            params = " ".join(f"{name} {value}" for name, value in entry["params"].items())
            print(f"{entry['workload']:11} {entry['peer']:14} {entry['variant']:18} {params:24} "
                  f"{entry['value']:12,.1f}  {entry['unit']}, {entry['loads']:,.1f} loads, "
                  f"{entry['stores']:,.1f} stores{slots}, {entry['code_misses']:,.1f} + {entry['data_misses']:,.1f} misses"
                  f"{atomics}", flush=True)
            entries.append(entry)
    except instructions.NoValgrind as error:
        print(error, file=sys.stderr)
        return 1
    if chosen.json:
        Path(chosen.json).write_text(json.dumps({"results": entries}, indent=1) + "\n")
    return 0 if entries else 1


def print_clock(clock):
    if clock.readings:
        print(f"clock: {clock.ghz:.2f} GHz (readings {min(clock.readings):.2f} to {max(clock.readings):.2f}); "
              "cycles are the least time at it")
    else:
        print("clock: not calibrated on this architecture, so no cycles")


def write_json(chosen, described, clock, collection):
    """Writes {"machine": {...}, "results": [...]}, a result a line, and what has no result beside it."""
    machine_entry = dict(described, clock_ghz=clock.ghz, clock_readings_ghz=clock.describe(),
                         peers=collection.versions(), rounds=chosen.rounds, quick=chosen.quick,
                         date=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"))
    parts = [f'"machine": {json.dumps(machine_entry, indent=1)}']
    for name, entries in (("results", collection.results(clock.ghz)), ("not_measured", collection.not_measured())):
        parts.append(f'"{name}": [\n' + ",\n".join(map(json.dumps, entries)) + "\n]")
    path = Path(chosen.json)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{" + ",\n".join(parts) + "}\n")
    print(f"results: {path}")


def exit_code(chosen, collection):
    """Not zero when nothing was measured, when Sennit failed, or, if that was asked for, when any peer did."""
    failed = [entry for entry in collection.not_measured() if entry["failed"]]
    for entry in failed:
        print(f"failed: {entry['workload']} {entry['peer']}: {entry['reason']}", file=sys.stderr)
    results = len(collection.results(None))
    print(f"{results} results, {len(failed)} failures")
    if not results:
        print("nothing was measured", file=sys.stderr)
        return 1
    return 1 if any(chosen.strict or entry["peer"] == "sennit" for entry in failed) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
