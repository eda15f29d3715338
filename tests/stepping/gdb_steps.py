"""Executed by gdb: steps through a scenario, and has gdb unwind from each instruction of the program's own.

gdb -batch -x gdb_steps.py --args PROGRAM none own SCENARIO...
"""

import gdb

LONGEST_GAP = 32  # as in stepping.cpp
OUTERMOST = {"main", "sennit_enter_root", "sennit_enter_root8", "sennit_enter_rounds"}


def depth_and_last():
    frame, depth = gdb.newest_frame(), 0
    while True:
        depth += frame.type() != gdb.INLINE_FRAME
        if depth > 200:
            raise gdb.GdbError("a backtrace does not end")
        older = frame.older()
        if older is None or older.pc() == 0 or frame.name() == "main":
            return depth, frame.name()
        frame = older


def is_ours():
    return gdb.current_progspace().solib_name(gdb.newest_frame().pc()) is None


def step_scenario():
    steps = gap = 0
    gdb.execute("finish", to_string=True)
    while gdb.newest_frame().name() != "end_steps":
        gdb.execute("stepi", to_string=True)
        if not is_ours():
            gdb.execute("finish", to_string=True)
        steps += 1
        depth, last = depth_and_last()
        gap = 0 if last in OUTERMOST else gap + 1
        if gap > 0 and (depth != 1 or gap > LONGEST_GAP):
            gdb.execute("backtrace 20")
            gdb.execute("x/4i $pc")
            raise gdb.GdbError(f"a backtrace ends after {depth} frames, in {last}")
    return steps


gdb.execute("set pagination off")
gdb.execute("set confirm off")
gdb.execute("break begin_steps", to_string=True)
gdb.execute("run", to_string=True)
total = 0
try:
    while gdb.selected_inferior().pid != 0:
        total += step_scenario()
        gdb.execute("continue", to_string=True)
except gdb.GdbError as problem:
    print(f"wrong: {problem}")
    gdb.execute("quit 1")
print(f"{total} instructions")
gdb.execute(f"quit {int(total < 500)}")
