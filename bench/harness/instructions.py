"""Counts instructions, loads and stores instead of time: what bounds an operation where there are no hardware counters.

A program is run under valgrind's cachegrind twice, with two counts of operations; the difference is what the
operations took, without start and end. Instructions are the same in every run; what they cost is not counted.
"""

import json
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

from .workloads import workload_named


class NoValgrind(Exception):
    """Valgrind is not installed."""


def _count(command):
    """Instructions, loads and stores."""
    try:
        done = subprocess.run(["valgrind", "--tool=cachegrind", "--cache-sim=yes", "--cachegrind-out-file=/dev/null",
                               *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=600)
    except FileNotFoundError as error:
        raise NoValgrind("valgrind is not installed: ./scripts/install_packages bench") from error
    found = re.search(r"I +refs: +([\d,]+).*D +refs:[^(]*\( *([\d,]+) rd *\+ *([\d,]+) wr\)", done.stderr, re.DOTALL)
    if done.returncode != 0 or not found:
        return None
    return [int(number.replace(",", "")) for number in found.groups()]


def _sizes(program):
    """Options for sizes at which valgrind takes seconds."""
    return ("--quick", *workload_named(program.workload).counted)


def _measurements(program):
    """What the program measures: the entries it prints, one for each variant and its parameters."""
    done = subprocess.run([*program.command, *_sizes(program), "--count", "1"], stdout=subprocess.PIPE, text=True,
                          timeout=120)
    entries = map(json.loads, done.stdout.splitlines())
    return [entry for entry in entries if entry.get("metric") == "ns"]


def _entry(program, measured):
    params = ",".join(f"{name}={value}" for name, value in measured["params"].items()) or "none"
    command = [*program.command, *_sizes(program), "--variant", measured["variant"], "--only", params]
    few, many = workload_named(program.workload).counts
    counts = [_count([*command, "--count", str(count)]) for count in (few, many)]
    if None in counts:
        return None
    each, loads, stores = (round((more - less) / (many - few) / measured["operations"], 1)
                           for less, more in zip(*counts))
    return {"workload": program.workload, "peer": program.peer, "variant": measured["variant"],
            "params": measured["params"], "metric": "instructions",
            "unit": measured["unit"].replace("ns/", "instructions/"), "value": each, "loads": loads,
            "stores": stores}


def count(programs, say, wants=lambda program, measured: True):
    """Yields an entry for every measurement of `programs` that `wants(program, entry)`."""
    programs = [program for program in programs if workload_named(program.workload).counted is not None]
    wanted = [(program, measured) for program in programs for measured in _measurements(program)
              if wants(program, measured)]
    say(f"{len(wanted)} measurements under valgrind")
    with ThreadPoolExecutor(max_workers=2) as pool:
        for (program, measured), entry in zip(wanted, pool.map(lambda each: _entry(*each), wanted)):
            if entry is None:
                say(f"  {program.workload} {program.peer} {measured['variant']}: it fails under valgrind")
            else:
                yield entry
