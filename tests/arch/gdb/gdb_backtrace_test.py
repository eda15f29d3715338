#!/usr/bin/env python3
"""Backtraces in gdb: usage: gdb_backtrace_test.py PROGRAM... (builds of backtrace_program.cpp)

A root context's ends at its first frame, a linked context's and a scheduler step's go on into the context that was
left, up to main; and gdb never says that a stack is corrupt. Exit status 77 where gdb cannot trace here.
"""
import pathlib
import re
import shutil
import subprocess
import sys

COMMANDS = pathlib.Path(__file__).with_name("backtrace.gdb")
TROUBLE = re.compile(r"Backtrace stopped|corrupt stack|inner to this frame|Cannot access memory|error", re.I)
FRAME = re.compile(r"^#(\d+)\s+(?:0x[0-9a-f]+ in )?(<signal handler called>|[\w:~]+)")


def traces_of(output):
    """[(scenario, goes on, [function, ...])] in the order of gdb's output."""
    traces = []
    for line in output.splitlines():
        words = line.split()
        if line.startswith("SCENARIO "):
            traces.append((words[1], words[2] == "1", []))
        frame = FRAME.match(line)
        if frame and traces:
            traces[-1][2].append(frame.group(2).split("::")[-1])
    return traces


def faults_of(output):
    faults = [line for line in output.splitlines() if TROUBLE.search(line)]
    traces = traces_of(output)
    if "\ndone\n" not in output:
        faults.append("the program did not run to its end")
    if len(traces) < 18:
        faults.append(f"only {len(traces)} backtraces")
    for name, goes_on, frames in traces:
        where = f"{name}: {' < '.join(frames)}"
        if frames[:3] != ["backtrace_here", "inner_second", "inner_first"]:
            faults.append(f"wrong innermost frames in {where}")
        outer = [f for f in frames if f in ("outer_second", "outer_first", "main")]
        if outer != (["outer_second", "outer_first", "main"] if goes_on else []):
            faults.append(f"{'does not go on' if goes_on else 'goes on'} in {where}")
        if goes_on and frames[-1] != "main":
            faults.append(f"does not end at main in {where}")
        if not goes_on and len(frames) > 6:
            faults.append(f"does not end at the first frame in {where}")
    return faults


def main(programs):
    if not shutil.which("gdb"):
        print("no gdb here")
        return 77
    status = 0
    for program in programs:
        command = ["gdb", "-batch", "-nx", "-x", str(COMMANDS), program]
        run = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        output = run.stdout + run.stderr
        if "ptrace: Operation not permitted" in output or "Could not trace the inferior" in output:
            print("gdb may not trace programs here")
            return 77
        faults = faults_of(output)
        for fault in faults:
            print(f"{program}: {fault}")
        if faults:
            print(output)
            status = 1
        else:
            print(f"{program}: {len(traces_of(output))} backtraces")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
