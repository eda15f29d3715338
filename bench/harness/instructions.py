"""Counts instructions instead of time: what bounds an operation on a machine without hardware counters.

A program is run under valgrind's cachegrind twice, with two counts of operations; the difference is what the
operations took, without start and end. Instructions are the same in every run; what they cost is not counted.
"""

import json
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

FEW, MANY = 1000, 11000


class NoValgrind(Exception):
    """Valgrind is not installed."""


def _count(command):
    try:
        done = subprocess.run(["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null",
                               *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=600)
    except FileNotFoundError as error:
        raise NoValgrind("valgrind is not installed: ./scripts/install_packages bench") from error
    found = re.search(r"I +refs: +([\d,]+)", done.stderr)
    if done.returncode != 0 or not found:
        return None
    return int(found.group(1).replace(",", ""))


def _measurements(program, options):
    """What the program measures: (variant, the options that single it out, how many operations one count is)."""
    done = subprocess.run([*program.command, *options, "--quick", "--count", "1"], stdout=subprocess.PIPE, text=True,
                          timeout=120)
    found = {}
    for line in done.stdout.splitlines():
        entry = json.loads(line)
        if entry.get("metric") == "ns":
            found.setdefault((entry["variant"], tuple(entry["params"].items())), entry)
    return list(found.values())


def _entry(program, measured, settable):
    params = {name: value for name, value in measured["params"].items() if name in settable}
    command = [*program.command, "--variant", measured["variant"]]
    for name, value in params.items():
        command += [f"--{name}", str(value)]
    counts = [_count([*command, "--count", str(count)]) for count in (FEW, MANY)]
    if None in counts:
        return None
    per_operation = (counts[1] - counts[0]) / (MANY - FEW) / measured["operations"]
    return {"workload": program.workload, "peer": program.peer, "variant": measured["variant"], "params": params,
            "metric": "instructions", "unit": measured["unit"].replace("ns/", "instructions/"),
            "value": round(per_operation, 1)}


def count(programs, settable, say):
    """Yields an entry for every measurement of `programs`; `settable(workload)` are the parameters that are options.

    Of measurements that no option tells apart, as the orders of a ring, the first stands for all.
    """
    wanted = []
    for program in programs:
        seen = set()
        for measured in _measurements(program, []):
            key = (measured["variant"], *[(name, value) for name, value in measured["params"].items()
                                          if name in settable(program.workload)])
            if key not in seen:
                seen.add(key)
                wanted.append((program, measured))
    say(f"{len(wanted)} measurements under valgrind")
    with ThreadPoolExecutor(max_workers=2) as pool:
        for (program, measured), entry in zip(wanted, pool.map(
                lambda each: _entry(each[0], each[1], settable(each[0].workload)), wanted)):
            if entry is None:
                say(f"  {program.workload} {program.peer} {measured['variant']}: it fails under valgrind")
            else:
                yield entry
