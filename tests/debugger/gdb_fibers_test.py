#!/usr/bin/env python3
"""tools/gdb/sennit.py: usage: gdb_fibers_test.py PROGRAM... (builds of parked_program.cpp)

On the live process, started by gdb and attached to, on a core of it, and without debug information: the list names every fiber, its
state and what it waits for; each backtrace leads from where the fiber is suspended to its beginning. Exit status
77 where gdb cannot trace here.
"""
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools/gdb/sennit.py"

# name: (runtime, KiB of stack, state, functions of its backtrace in their order)
EXPECTED = {
    "at-mutex": ("parallel", 64, "parked: mutex at OBJECT for LONG", ["waits_for_the_mutex"]),
    "at-channel": ("parallel", 128, "parked: channel receive at CHANNEL for LONG", ["waits_for_the_channel"]),
    "stackless": ("parallel", 0, "parked: channel receive at CHANNEL for LONG, without a stack", []),
    "in-catch": ("parallel", 64, "parked: channel receive at CHANNEL for LONG", ["waits_in_a_catch"]),
    "reader": ("parallel", 64, "parked: readable of file descriptor 100 for LONG", ["reads_nothing"]),
    "sleeper": ("parallel", 64, "parked: sleep for LONG", ["sleeps_long"]),
    "joiner": ("parallel", 64, "parked: join of fiber {sleeper} for LONG", ["joins_the_sleeper"]),
    "runner": ("parallel", 64, "running on thread", ["runs_on"]),
    "local-channel": ("local", 64, "parked: channel receive at NOTHING for LONG", ["local_waits_for_the_channel"]),
    "local-stackless": ("local", 0, "parked: channel receive at NOTHING for LONG, without a stack", []),
    "local-generator": ("local", 64, "parked: sleep for LONG", ["local_sleeps_long", "parks_in_a_generator"]),
    "local-joiner": ("local", 64, "parked: join of fiber {local-generator} for LONG", []),
    "local-holder": ("local", 64, "parked: sleep for LONG", ["local_sleeps_long"]),
    "local-at-mutex": ("local", 64, "parked: mutex at LOCK held by fiber {local-holder} for LONG", []),
    "not-begun": ("local", 64, "ready, not begun", []),
    "main": ("local", 64, "running on thread", ["everything_is_parked"]),
}
ROW = re.compile(r"^ *(\d+) (\S+) +\d+ (parallel|local) +(\d+) KiB  (.*)$", re.M)
TRACE = re.compile(r'^fiber (\d+) "([^"]*)", (.*)\n((?:(?!fiber \d).*\n)*)', re.M)
TROUBLE = re.compile(r"Backtrace stopped|corrupt stack|inner to this frame|Cannot access memory|Traceback"
                     r"|Error occurred|sennit: ")
# A variable that nobody needs after the switch may still be said to be in a register there. Those are of
# whatever the thread does now.
UNSAVED = re.compile(r"<error reading variable: Cannot access memory at address \w+>")
DUMPED = re.compile(r'^fiber (\d+) "([^"]*)": (.*)$', re.M)
LOOK = ["sennit fibers", "sennit bt all", "echo ONE\\n", "sennit bt sleeper", "echo SELECTED\\n", "bt 1"]


def gdb(program, *commands, core=None, process=None):
    line = ["gdb", "-batch", "-nx", "-iex", "set debuginfod enabled off", "-iex", "set width 0", str(program)]
    if process is not None:
        line += ["-p", str(process)]
    if core is not None:
        line.append(str(core))
    for each in commands:
        line += ["-ex", each]
    run = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=170,
                         errors="replace")
    return run.stdout + run.stderr


def faults_of(output, stripped):
    faults = []
    if not stripped:  # gdb itself fails to print a value that was optimised away
        faults += [line for line in output.splitlines() if TROUBLE.search(UNSAVED.sub("", line))]
    rows = {name: (number, *rest) for number, name, *rest in ROW.findall(output)}
    numbers = {name: row[0] for name, row in rows.items()}
    if rows.keys() != EXPECTED.keys():
        return [*faults, f"lists the fibers {sorted(rows)}"]
    whole, _, one = output.partition("ONE\n")
    one, _, selected = one.partition("SELECTED\n")
    traces = {name: body for _, name, _, body in TRACE.findall(whole)}
    objects = {}
    for name, (runtime, size, state, functions) in EXPECTED.items():
        state = state.format(**numbers)
        shown = re.escape(state).replace("LONG", r"\d+\.\d{3} s")
        for object_name in ("OBJECT", "CHANNEL", "NOTHING", "LOCK"):  # of one name, at one address
            if object_name in state and (found := re.search(r" at (0x[0-9a-f]+)", rows[name][3])):
                shown = shown.replace(object_name, objects.setdefault(object_name, found[1]))
        if rows[name][1:3] != (runtime, str(size)) or not re.match(shown, rows[name][3]):
            faults.append(f"{name}: listed as {rows[name]}, not as {state}")
        body = traces.get(name, "")
        found = [f for f in re.findall(r"\w+", body) if f in functions]
        if list(dict.fromkeys(found)) != functions:
            faults.append(f"{name}: no {functions} in its backtrace:\n{body}")
        ends = re.findall(r"^#\d+ .*$", body, re.M)[-1:]
        if not ends or not re.search(r"<signal handler called>|has not begun|has no stack, and resumes in", ends[0]):
            faults.append(f"{name}: its backtrace does not end at its beginning:\n{body}")
        if not body.startswith("#0 "):
            faults.append(f"{name}: its backtrace does not begin with #0:\n{body}")
    if len(set(objects.values())) != 4:
        faults.append(f"different objects are at {objects}")
    if "sleeps_long" not in one or "runs_on" in one:
        faults.append("`sennit bt NAME` does not print that fiber's backtrace")
    if not re.search(r"#0 .*(everything_is_parked|pause|raise|pthread_kill|abort)", selected):
        faults.append("another thread or frame is selected afterwards")
    return faults


def faults_of_dump(output):
    """gdb lists the fibers before the program dumps them, and afterwards: each has one id, and waits for the same."""
    before, _, rest = output.partition(f"sennit: {len(EXPECTED)} fibers\n")
    rows = [{name: (number, state) for number, name, _, _, state in ROW.findall(part)} for part in (before, rest)]
    dumped = {name: (number, state) for number, name, state in DUMPED.findall(rest)}
    faults = []
    for name in EXPECTED:
        seen = [part.get(name, ("none", "")) for part in (*rows, dumped)]
        if len({number for number, _ in seen}) != 1 or seen[0][0] == "none":
            faults.append(f"{name}: its id is {seen[0][0]} in gdb, {seen[2][0]} in the dump, then {seen[1][0]} in gdb")
        waits = {re.match(r"(parked: .*?|[a-z]+[, a-z]*?)(?: for \d| on thread|;|, without|$)", state)[1]
                 for _, state in seen if state}
        if len(waits) != 1:
            faults.append(f"{name}: gdb and the dump differ in what it does: {sorted(waits)}")
    return faults


def look_before_and_after_a_dump(program):
    # The dump holds the workers by a signal.
    return gdb(program, "handle all nostop noprint pass", "break everything_is_parked",
               "break everything_is_dumped", f"source {SCRIPT}", "run", "sennit fibers", "continue", "sennit fibers")


def check(what, output, stripped=False):
    faults = faults_of(output, stripped)
    for each in faults:
        print(f"{what}: {each}")
    if faults:
        print(output)
    else:
        print(f"{what}: {len(EXPECTED)} fibers")
    return not faults


def look_at_a_process(program):
    """By attaching to it, as one does where something hangs."""
    with subprocess.Popen([program, "stay"], stdout=subprocess.PIPE, text=True) as process:
        try:
            process.stdout.readline()
            return gdb(program, f"source {SCRIPT}", *LOOK, process=process.pid)
        finally:
            process.kill()


def core_of(program, place):
    """The kernel's own core, where it writes one to the working directory."""
    if pathlib.Path("/proc/sys/kernel/core_pattern").read_text(encoding="ascii").strip() != "core":
        return None
    def allow():
        resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    inner = pathlib.Path(place) / "kernel"
    inner.mkdir()
    try:
        subprocess.run([pathlib.Path(program).resolve(), "abort"], cwd=inner, preexec_fn=allow, timeout=60, check=False)
    except (OSError, subprocess.SubprocessError):
        return None
    return next(inner.glob("core*"), None)


def main(programs):
    if not shutil.which("gdb"):
        print("no gdb here")
        return 77
    good = True
    for program in programs:
        with tempfile.TemporaryDirectory() as place:
            core = pathlib.Path(place) / "core"
            stripped = pathlib.Path(place) / "stripped"
            live = gdb(program, "break everything_is_parked", f"source {SCRIPT}", "run", *LOOK)
            if "ptrace: Operation not permitted" in live or "Could not trace the inferior" in live:
                print("gdb may not trace programs here")
                return 77
            good &= check(f"{program} live", live)
            both = look_before_and_after_a_dump(program)
            if faults := faults_of_dump(both):
                print(*(f"{program} and its dump: {each}" for each in faults), both, sep="\n")
                good = False
            attached = look_at_a_process(program)
            if "ptrace: Operation not permitted" in attached:
                print("gdb may not attach to processes here")
            else:
                good &= check(f"{program} attached", attached)
            gdb(program, "run abort split", f"generate-core-file {core}", "kill")
            good &= check(f"{program} core", gdb(program, f"source {SCRIPT}", *LOOK, core=core))
            if kernel_core := core_of(program, place):
                good &= check(f"{program} kernel's core", gdb(program, f"source {SCRIPT}", *LOOK, core=kernel_core))
            subprocess.run(["objcopy", "--strip-debug", program, stripped], check=True)
            good &= check(f"{program} stripped, core", gdb(stripped, f"source {SCRIPT}", *LOOK, core=core), True)
            listed = {name: number for number, name, *_ in
                      ROW.findall(gdb(program, f"source {SCRIPT}", "sennit fibers", core=core))}
            for name in ("sleeper", "local-generator"):
                said = gdb(program, f"source {SCRIPT}", f"sennit bt {listed.get(name)}", core=core)
                if [each[:2] for each in TRACE.findall(said)] != [(listed.get(name), name)]:
                    print(f"{program}: of {name} by its number it says:\n{said}")
                    good = False
            said = gdb(program, f"source {SCRIPT}", "sennit fibers")
            if "there is no process" not in said:
                print(f"{program}: without a process it says:\n{said}")
                good = False
            said = gdb(program, f"source {SCRIPT}", "sennit bt nobody", core=core)
            if "there is no fiber nobody" not in said:
                print(f"{program}: of a fiber that there is not it says:\n{said}")
                good = False
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
