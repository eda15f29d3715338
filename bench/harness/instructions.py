"""Counts instructions, loads and stores instead of time: what bounds an operation where there are no hardware counters.

A program is run under valgrind's cachegrind twice, with two counts of operations; the difference is what the
operations took, without start and end. Instructions are the same in every run, but for a hundredth where
fibers take turns: when a worker looks outside depends on the time. What they cost is not counted. Lines of code and of
data that are not in the first caches are counted too, of a processor that has 32 and 48 KiB of them.

Atomic read-modify-writes are counted by callgrind, which says how often each instruction was executed: those that the
disassembly shows with a lock prefix, or as xchg with memory. Fences are not among them, though gcc makes a locked
instruction of one that changes nothing (`lock or $0`).

Store slots are counted from a trace of valgrind's lackey: of two stores that follow each other and are to one line, both
go to the first cache in one cycle; else each takes one.
"""

import json
import platform
import re
import subprocess
import tempfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .workloads import workload_named


class NoValgrind(Exception):
    """Valgrind is not installed."""


# Bytes, ways, bytes of a line.
FIRST_CACHES = ("--I1=32768,8,64", "--D1=49152,12,64")


def _count(command):
    """Instructions, loads and stores; and misses of code and of data."""
    try:
        done = subprocess.run(["valgrind", "--tool=cachegrind", "--cache-sim=yes", *FIRST_CACHES,
                               "--cachegrind-out-file=/dev/null", *command],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=600)
    except FileNotFoundError as error:
        raise NoValgrind("valgrind is not installed: ./scripts/install_packages bench") from error
    found = re.search(r"I +refs: +([\d,]+).*I1 +misses: +([\d,]+).*D +refs:[^(]*\( *([\d,]+) rd *\+ *([\d,]+) wr\)"
                      r".*D1 +misses: +([\d,]+)", done.stderr, re.DOTALL)
    if done.returncode != 0 or not found:
        return None
    each, code, loads, stores, data = (int(number.replace(",", "")) for number in found.groups())
    return [each, loads, stores, code, data]


def _executed(lines):
    """{(object, address): how often it was executed}, from what callgrind writes with --dump-instr=yes."""
    executed = defaultdict(int)
    of_call = False
    binary = None
    for line in lines:
        if line.startswith("ob="):
            binary = line[3:].strip()
        elif line.startswith("calls="):
            of_call = True  # the next line is what was called, with all that it called
        elif line.startswith("0x"):
            if not of_call:
                address, _, count = line.split()[:3]
                executed[binary, int(address, 16)] += int(count)
            of_call = False
    return executed


def _is_atomic(instruction):
    """Whether it is a read-modify-write that no other processor may come between, and not a fence."""
    if re.match(r"lock or[bwlq]? +\$0x0,", instruction):
        return False
    return instruction.startswith("lock ") or re.match(r"xchg\b.*\(", instruction) is not None


def _atomic_addresses(binary):
    try:
        done = subprocess.run(["objdump", "-d", "--no-show-raw-insn", binary], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, timeout=120)
    except FileNotFoundError as error:
        raise NoValgrind("objdump is not installed: ./scripts/install_packages") from error
    found = re.findall(r"^ *([0-9a-f]+):\t(.*)$", done.stdout, re.MULTILINE)
    return {int(address, 16) for address, instruction in found if _is_atomic(instruction)}


def _count_atomics(command):
    """Atomic read-modify-writes; None where it fails, or the processor has other instructions for them."""
    if platform.machine() != "x86_64":
        return None
    with tempfile.NamedTemporaryFile("r", prefix="callgrind") as out:
        done = subprocess.run(["valgrind", "--tool=callgrind", "--dump-instr=yes", "--compress-pos=no",
                               "--compress-strings=no", f"--callgrind-out-file={out.name}", *command],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=600)
        if done.returncode != 0:
            return None
        executed = _executed(Path(out.name).read_text().splitlines())
    atomic = {binary: _atomic_addresses(binary) for binary in {binary for binary, _ in executed}
              if binary is not None and Path(binary).is_file()}
    return sum(count for (binary, address), count in executed.items() if address in atomic.get(binary, ()))


def _slots(trace):
    """How many stores in lackey's trace, where two in a row to one line count once."""
    slots = 0
    last = None  # the line of a store that another one may still join
    for text in trace:
        if text[:2] in (" S", " M"):
            line = int(text[3:text.index(",")], 16) // 64
            slots += line != last
            last = None if line == last else line
    return slots


def _count_store_slots(command):
    """None where it fails."""
    with subprocess.Popen(["valgrind", "--tool=lackey", "--trace-mem=yes", *command], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True) as traced:
        slots = _slots(traced.stderr)
    return slots if traced.returncode == 0 else None


def _sizes(program):
    """Options for sizes at which valgrind takes seconds."""
    return ("--quick", *workload_named(program.workload).counted)


def _measurements(program):
    """What the program measures: the entries it prints, one for each variant and its parameters."""
    done = subprocess.run([*program.command, *_sizes(program), "--count", "1"], stdout=subprocess.PIPE, text=True,
                          timeout=120)
    entries = map(json.loads, done.stdout.splitlines())
    return [entry for entry in entries if entry.get("metric") == "ns"]


def _entry(program, measured, atomics):
    def for_each(less, more, many):
        return round((more - less) / (many - few) / measured["operations"], 1) + 0.0  # no -0.0

    def also(name, count, many):
        less, more = (count([*command, "--count", str(operations)]) for operations in (few, many))
        if None not in (less, more):
            entry[name] = for_each(less, more, many)

    params = ",".join(f"{name}={value}" for name, value in measured["params"].items()) or "none"
    command = [*program.command, *_sizes(program), "--variant", measured["variant"], "--only", params]
    few, many = workload_named(program.workload).counts
    counts = [_count([*command, "--count", str(count)]) for count in (few, many)]
    if None in counts:
        return None
    each, loads, stores, code_misses, data_misses = (for_each(*pair, many) for pair in zip(*counts))
    entry = {"workload": program.workload, "peer": program.peer, "variant": measured["variant"],
             "params": measured["params"], "metric": "instructions",
             "unit": measured["unit"].replace("ns/", "instructions/"), "value": each, "loads": loads,
             "stores": stores, "code_misses": code_misses, "data_misses": data_misses}
    if atomics:
        also("atomics", _count_atomics, many)
        also("store_slots", _count_store_slots, few + (many - few) // 10)  # a trace takes ten times as long
    return entry


def count(programs, say, wants=lambda program, measured: True, atomics=False):
    """Yields an entry for every measurement of `programs` that `wants(program, entry)`. `atomics`: with the atomic
    read-modify-writes and the store slots, too, where they can be told."""
    programs = [program for program in programs if workload_named(program.workload).counted is not None]
    wanted = [(program, measured) for program in programs for measured in _measurements(program)
              if wants(program, measured)]
    say(f"{len(wanted)} measurements under valgrind")
    with ThreadPoolExecutor(max_workers=2) as pool:
        for (program, measured), entry in zip(wanted, pool.map(lambda each: _entry(*each, atomics), wanted)):
            if entry is None:
                say(f"  {program.workload} {program.peer} {measured['variant']}: it fails under valgrind")
            else:
                yield entry
