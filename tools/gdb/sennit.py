"""Sennit's fibers in gdb: on a live process and on a core, with debug information or without.

  (gdb) source sennit.py
  (gdb) sennit fibers        every fiber: its id, as in dump(), name, stack and state: what it waits for, and
                             how long it has (on a core: until some worker looked at a clock)
  (gdb) sennit bt ID         the backtrace of the fiber with that id, wherever it is suspended or runs
  (gdb) sennit bt NAME       the same, by its name
  (gdb) sennit bt all        of every fiber

What is where in memory is read from the table sennit_debug in the library (src/observe/registry.cpp). Backtraces
go by the tables that exceptions go by, so no frame pointers are needed. x86-64 only, so far.
"""
import re
import struct
import time

import gdb
import gdb.unwinder

MAGIC = b"sennit 6"
RECORD_SIZE = 152  # of a suspended context, with the red zone: arch/x86_64.h
SLOW_STATE_SIZE = 32  # of what lies between two records of one that was busy: SLOW_STATE in src/arch/switch_x86_64.S
WORD = 2**64 - 1


class Trouble(gdb.GdbError):
    pass


# ---- Memory.

def read(address, size):
    try:
        return bytes(gdb.selected_inferior().read_memory(address & WORD, size))
    except gdb.MemoryError:
        raise Trouble(f"sennit: cannot read memory at {address:#x}") from None


def word(address):
    return struct.unpack("<Q", read(address, 8))[0]


def text(address, limit=256):
    taken = b""
    while address and len(taken) < limit:
        try:
            byte = read(address + len(taken), 1)
        except Trouble:
            break
        if byte == b"\0":
            break
        taken += byte
    return taken.decode("utf-8", "replace")


def symbol_at(address):
    said = gdb.execute(f"info symbol {address:#x}", to_string=True)
    return "" if said.startswith("No symbol") else said.split()[0]


def table():
    try:
        at = int(gdb.parse_and_eval("(unsigned long)&sennit_debug"))
        head = read(at, 40)
    except (gdb.error, Trouble):
        raise Trouble("sennit: there is no Sennit in this program, or it was not started yet") from None
    if head[:8] != MAGIC:
        raise Trouble("sennit: this script and the library in this program are of different versions")
    blocks, workers, given, count = struct.unpack("<4Q", head[8:])
    words = struct.iter_unpack("<24sQ", read(at + 40, 32 * count))
    return {"blocks": blocks, "workers": workers, "ids_given": given,
            **{name.rstrip(b"\0").decode(): value for name, value in words}}


# ---- Threads, workers, fibers.

class Thread:
    def __init__(self, thread):
        self.thread = thread
        self.number = thread.num
        self.kernel_number = thread.ptid[1]
        thread.switch()
        frame = gdb.newest_frame()
        self.sp = int(frame.read_register("rsp")) & WORD
        self.pc = int(frame.read_register("rip")) & WORD


class Selection:
    """Whatever happens to be selected is selected again at the end."""

    def __enter__(self):
        self.thread = gdb.selected_thread()
        if self.thread is None:
            raise Trouble("sennit: there is no process; run or attach to one, or load a core")
        self.frame = gdb.selected_frame()

    def __exit__(self, *_):
        self.thread.switch()
        try:
            self.frame.select()
        except gdb.error:
            pass


class Fiber:
    def __init__(self, of, address):
        known = of.table
        self.address = address
        self.context = word(address + known["fiber_context"])
        self.home = word(address + known["fiber_home"])
        self.id = struct.unpack("<I", read(address + known["fiber_id"], 4))[0]
        stack_state = read(address + known["fiber_stackless"], 1)[0]
        self.stackless = stack_state != 0
        self.name = text(self.context if self.stackless else address + known["fiber_name"], known["fiber_name_size"])
        self.status = read(address + known["fiber_status"], 1)[0]
        self.thread = None
        self.low = self.size = 0
        frame = 0 if self.stackless else word(address + known["fiber_frame"])
        self.begun = stack_state != known["stack_state_not_begun"]
        if frame:
            self.low = word(frame + known["frame_memory_low"])
            self.size = word(frame + known["frame_memory_size"])
            if self.size == 0:
                raise Trouble("sennit: the stacks of the fibers are not in this core; `help sennit` says why")
            self.begun = not (self.context == word(frame + known["frame_context"])
                              and symbol_at(word(self.context)) == "sennit_enter_rounds")
        self.parked = known["status_parked"] <= self.status <= known["status_joining"]

    def has(self, address):
        return self.low <= address < self.low + self.size


class Process:
    """All that there is at this moment."""

    def __init__(self):
        self.table = table()
        self.threads = [Thread(each) for each in sorted(gdb.selected_inferior().threads(), key=lambda t: t.num)]
        self.workers = self.find_workers()
        self.now = self.find_now()
        self.runtimes = list(dict.fromkeys(self.runtime_of(each) for each in self.workers))
        self.fibers = self.find_fibers()
        for each in self.fibers:
            self.find_thread(each)

    def find_workers(self):
        found = []
        at = self.table["workers"]
        while at:
            found.append(word(at + self.table["registration_worker"]))
            at = word(at + self.table["registration_older"])
        return found[::-1]

    def find_now(self):
        clocks = [word(each + self.table["worker_now"]) for each in self.workers]
        if gdb.selected_inferior().connection is not None and gdb.selected_inferior().connection.type == "native":
            clocks.append(time.clock_gettime_ns(time.CLOCK_MONOTONIC))
        return max(clocks, default=0)

    def find_fibers(self):
        """In the order of their ids. A fiber without one has the one that dump() would give it now."""
        known = self.table
        homes = set(self.workers)
        found = []
        given = known["ids_given"]
        block = known["blocks"]
        while block:
            fibers = word(block + known["block_fibers"])
            for i in range(word(block + known["block_begun"])):
                at = fibers + i * known["fiber_size"]
                status = read(at + known["fiber_status"], 1)[0]
                home = word(at + known["fiber_home"])
                if 0 < status < known["status_finished"] and home in homes:
                    fiber = Fiber(self, at)
                    if fiber.id == 0:
                        given += 1
                        fiber.id = given
                    found.append(fiber)
            block = word(block + known["block_older"])
        return sorted(found, key=lambda f: f.id)

    def runtime_of(self, worker):
        return word(worker + self.table["worker_shared"]) or worker

    def find_thread(self, fiber):
        """The thread that a fiber runs on. Who is said to run may be about to be entered, or just have left."""
        for thread in self.threads:
            if fiber.has(thread.sp):
                fiber.thread = thread
                return
        for worker in self.workers:
            if word(worker + self.table["worker_current"]) != fiber.address:
                continue
            number = struct.unpack("<i", read(worker + self.table["worker_thread"], 4))[0]
            for thread in self.threads:
                entered = thread.kernel_number == number
                if entered and not any(other.has(thread.sp) for other in self.fibers):
                    fiber.thread = thread

    def reason(self, fiber):
        at = word(fiber.address + self.table["fiber_reason"])
        if fiber.stackless or word(fiber.home + self.table["worker_shared"]):  # it is the place of a wait_site
            at = word(at + self.table["site_reason"])
        return text(at)

    def object(self, fiber):
        """What it waits for: a fiber, a file descriptor's number, or an address and the owner of the lock there."""
        known = self.table
        tags = known["object_tags"]
        site = word(fiber.address + known["fiber_reason"])
        if fiber.stackless:
            at = word(site + known["code_object_at"])
            if at == known["no_object"]:
                return ""
            in_overflow = read(site + known["code_in_overflow"], 1)[0] != 0
            place = fiber.context + known["overflow_size"] if in_overflow else fiber.address + known["fiber_room"]
            found = word(place + at - at % tags) + at % tags
        elif word(fiber.home + known["worker_shared"]):
            found = word(site + known["site_object"])
        else:
            found = word(fiber.address + known["fiber_object"])
        if found == 0:
            return ""
        address, tag = found - found % tags, found % tags
        if tag == known["is_descriptor"]:
            return f" of file descriptor {struct.unpack('<i', read(address, 4))[0]}"
        joined = [each.id for each in self.fibers if each.address == found]
        if joined:
            return f" of fiber {joined[0]}"
        return f" at {address:#x}" + (self.holder(address) if tag == known["has_owner"] else "")

    def holder(self, lock):
        owner = struct.unpack("<I", read(lock + self.table["lock_owner_id"], 4))[0]
        return "" if owner in (0, self.table["lock_owner_none"]) else f" held by fiber {owner}"

    def waited(self, fiber):
        """How long; on a core, until some worker last looked at the clock."""
        parked = word(fiber.address + self.table["fiber_since"])
        unit = self.table["park_unit"]
        times = self.table["park_times"] >> 1
        units = ((self.now >> unit) - (parked >> 1)) & times  # parked_for, in fiber.hpp
        if parked % 2 == 0 or units >= (times + 1) // 2:
            return ""
        return f" for {(units << unit) / 1e9:.3f} s"

    def state(self, fiber):
        if fiber.thread is not None:
            return f"running on thread {fiber.thread.number}"
        if not fiber.begun:
            return "ready, not begun"
        if fiber.stackless:
            return (self.wait(fiber) if fiber.parked else "ready") + ", without a stack"
        if not fiber.parked:
            return "ready"
        return self.wait(fiber)

    def wait(self, fiber):
        return f"parked: {self.reason(fiber)}{self.object(fiber)}{self.waited(fiber)}"

    def place(self, fiber):
        number = self.runtimes.index(self.runtime_of(fiber.home)) + 1
        return f"{number} parallel" if word(fiber.home + self.table["worker_shared"]) else f"{number} local"

    def named(self, what):
        found = [f for f in self.fibers if what in (str(f.id), f.name)]
        if not found:
            raise Trouble(f"sennit: there is no fiber {what}; see `sennit fibers`")
        return found


# ---- Backtraces.

class FrameId:
    def __init__(self, sp, pc):
        self.sp = sp
        self.pc = pc


def registers_of(context):
    """Those of a suspended context, where its own code goes on; the switch's own frames are left out."""
    at = context
    while True:
        pc, rbp, rbx = (word(at + 8 * i) for i in range(3))
        sp = at + RECORD_SIZE
        symbol = symbol_at(pc)
        if symbol.startswith("sennit_swapstack_call"):
            r12, r13, r14, r15, back = (word(sp + 8 * i) for i in range(5))
            return {"rip": back, "rsp": sp + 40, "rbp": rbp, "rbx": rbx, "r12": r12, "r13": r13, "r14": r14,
                    "r15": r15}
        if not re.match(r"sennit_\w+_busy\b", symbol):
            # A landing's unwind rules tell by rax that its context is suspended.
            return {"rip": pc, "rsp": sp, "rbp": rbp, "rbx": rbx, "rax": at}
        at = sp + SLOW_STATE_SIZE  # its first record


class FiberUnwinder(gdb.unwinder.Unwinder):
    """While it is told a context, it says that the selected thread's newest frame was called by that one.

    Registers of a core cannot be written, and those of a live process had better not be.
    """

    def __init__(self):
        super().__init__("sennit fiber")
        self.registers = None
        self.beneath = None

    def __call__(self, pending):
        if self.registers is None:
            return None
        sp = pending.read_register("rsp")
        if (int(sp) & WORD, int(pending.read_register("rip")) & WORD) != self.beneath:
            return None
        # A frame that lies below its caller: else gdb takes the stack to be corrupt.
        below = gdb.Value(self.registers["rsp"] - RECORD_SIZE - 16).cast(sp.type)
        info = pending.create_unwind_info(FrameId(below, pending.read_register("rip")))
        for name, value in self.registers.items():
            info.add_saved_register(name, gdb.Value(value).cast(pending.read_register(name).type))
        return info


UNWINDER = FiberUnwinder()
gdb.unwinder.register_unwinder(None, UNWINDER, replace=True)


def print_suspended(process, fiber):
    if process.table["record"] != 1:
        raise Trouble("sennit: contexts are not of a kind that this script knows")
    if not fiber.begun:
        print("#0  (it has not begun)")
        return
    if fiber.stackless:
        code = word(fiber.address + process.table["fiber_reason"])
        run = word(code + process.table["code_run"])
        symbol = gdb.execute(f"info symbol {run:#x}", to_string=True).partition(" in section")[0]
        print(f"#0  (it has no stack, and resumes in {symbol.strip()})")
        return
    thread = process.threads[0]
    thread.thread.switch()
    UNWINDER.registers = registers_of(fiber.context)
    UNWINDER.beneath = (thread.sp, thread.pc)
    try:
        gdb.invalidate_cached_frames()
        skip = 1
        frame = gdb.newest_frame()
        while frame.type() == gdb.INLINE_FRAME:
            frame = frame.older()
            skip += 1
        lines = gdb.execute("backtrace", to_string=True).splitlines()
    finally:
        UNWINDER.registers = None
        gdb.invalidate_cached_frames()
    show = False
    for line in lines:
        number = re.match(r"#(\d+)(\s+)", line)
        if number:
            show = int(number[1]) >= skip
            line = f"#{int(number[1]) - skip:<3}" + line[number.end():]
        if show:
            print(line)


def print_backtrace(process, fiber):
    name = f' "{fiber.name}"' if fiber.name else ""
    print(f"fiber {fiber.id}{name}, {process.state(fiber)}")
    if fiber.thread is None:
        print_suspended(process, fiber)
    else:
        fiber.thread.thread.switch()
        gdb.execute("backtrace")


# ---- Commands.

class SennitCommand(gdb.Command):
    """Sennit's fibers: `sennit fibers`, `sennit bt ID`.

Cores that the kernel writes have all of them. gdb's generate-core-file (and gcore) leaves memory out behind
guard pages that the kernel only marks (Linux 6.13 and later): it cannot read them, and gives the mapping up."""

    def __init__(self):
        super().__init__("sennit", gdb.COMMAND_STACK, gdb.COMPLETE_NONE, True)


class FibersCommand(gdb.Command):
    """Lists every fiber: sennit fibers

The id is what `sennit bt` takes, and what sennit::dump() and this_fiber::id() print. A fiber gets it when the
program first asks. Until then the id here is the one that dump() would give it at this moment."""

    def __init__(self):
        super().__init__("sennit fibers", gdb.COMMAND_STACK, gdb.COMPLETE_NONE)

    def invoke(self, argument, from_tty):
        with Selection():
            process = Process()
            row = "{:>6} {:<16} {:<11} {:>8}  {}"
            print(row.format("id", "name", "runtime", "stack", "state"))
            for each in process.fibers:
                print(row.format(each.id, each.name or "-", process.place(each),
                                 f"{each.size // 1024} KiB", process.state(each)))
            print(f"{len(process.fibers)} fibers of {len(process.runtimes)} runtimes")


class BacktraceCommand(gdb.Command):
    """Prints a fiber's backtrace: sennit bt ID|NAME|all"""

    def __init__(self):
        super().__init__("sennit bt", gdb.COMMAND_STACK, gdb.COMPLETE_NONE)

    def invoke(self, argument, from_tty):
        what = argument.strip()
        if not what:
            raise Trouble("usage: sennit bt ID|NAME|all")
        with Selection():
            process = Process()
            for each in process.fibers if what == "all" else process.named(what):
                print_backtrace(process, each)


SennitCommand()
FibersCommand()
BacktraceCommand()
