"""A static model of the processor of Jaaskelainen et al. 2008: what its register file allows in a cycle.

Applied to the parts of blocks that a program executes, as the plugin describes them (compiler/block_trace.hpp). It says
how many cycles a part takes with a check at its beginning and without, and how many a switch takes that saves so many
registers.
"""

import bisect
import collections
import itertools
import math
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Machine:
    """The first five are of the paper's Table 2 and section 4. The paper names neither load/store units nor latencies."""

    write_ports: int = 2
    read_ports: int = 4
    alus: int = 2
    muls: int = 2
    delay_slots: int = 3
    memory_units: int = 2  # as many as the register file can serve
    latency: dict = field(default_factory=lambda: {"alu": 1, "mul": 2, "move": 1, "load": 3, "store": 1})
    not_in_file: tuple = ("EFLAGS",)

    def units(self, unit):
        """How many of these can begin in a cycle."""
        return {"alu": self.alus, "mul": self.muls, "load": self.memory_units, "store": self.memory_units}.get(unit, math.inf)

    @property
    def jump(self):
        """Cycles of a change of control."""
        return 1 + self.delay_slots


# ---- Cycles of a part.

@dataclass
class Step:
    """What one unit does in one cycle."""

    unit: str
    reads: set
    writes: set
    needs: list = field(default_factory=list)  # (index of an earlier step, cycles between the beginnings)


def steps_of(operations):
    """An operation with memory operands is a load, the operation, and a store. All jumps at a part's end are one."""
    steps, jump = [], None
    for unit, loads, stores, writes, reads in operations:
        if unit in ("jump", "call"):
            jump = jump or Step("jump", set(), set())
            jump.reads |= set(reads)
            continue
        writes, reads = set(writes), set(reads)
        computes = unit != "move" or not (loads or stores)
        if loads:
            both = reads & writes if computes else set()
            steps.append(Step("load", reads - both, set() if computes else writes))
            reads = both
        if computes:
            if loads:
                steps.append(Step(unit, reads, writes, [(len(steps) - 1, None)]))
            else:
                steps.append(Step(unit, reads if not stores or writes else set(), writes))
        if stores:
            steps.append(Step("store", set() if computes and (loads or writes) else reads, set() if computes else writes,
                              [(len(steps) - 1, None)] if computes else []))
    return steps + ([jump] if jump else [])


def latency(machine, step):
    return 1 if step.unit == "jump" else machine.latency[step.unit]


def find_needs(machine, steps):
    last_write, last_reads, last_store, loads = {}, collections.defaultdict(list), None, []
    for number, step in enumerate(steps):
        # To the unit that needs it, the value goes beside the register file.
        step.needs = [(before, latency(machine, steps[before]) if cycles is None else cycles) for before, cycles in step.needs]
        for each in step.reads:
            if each in last_write:
                step.needs.append((last_write[each], latency(machine, steps[last_write[each]])))
            last_reads[each].append(number)
        for each in step.writes:
            step.needs += [(reader, 0) for reader in last_reads[each] if reader != number]
            if each in last_write:
                writer = last_write[each]
                step.needs.append((writer, max(0, latency(machine, steps[writer]) - latency(machine, step) + 1)))
            last_write[each], last_reads[each] = number, []
        if step.unit in ("load", "store") and last_store is not None:
            step.needs.append((last_store, 1))
        if step.unit == "load":
            loads.append(number)
        if step.unit == "store":
            step.needs += [(load, 0) for load in loads]
            last_store, loads = number, []


def urgency(machine, steps):
    """Of each step: the cycles from its beginning to the end of the last step that needs it."""
    found = [latency(machine, step) for step in steps]
    for number in reversed(range(len(steps))):
        for before, cycles in steps[number].needs:
            found[before] = max(found[before], cycles + found[number])
    return found


def cycles_of(machine, operations, check=False):
    """Of a part, scheduled by a list: in each cycle the most urgent steps that the units and ports allow.

    A check at the beginning is a predicated call. The part's own operations fill its delay slots, except a jump."""
    steps = steps_of(operations)
    find_needs(machine, steps)
    urgent = urgency(machine, steps)
    in_file = lambda names: sum(each not in machine.not_in_file for each in names)  # noqa: E731
    begins, units, reads, writes = {}, collections.Counter(), collections.Counter(), collections.Counter()
    left, end = sorted(range(len(steps)), key=lambda number: (-urgent[number], number)), machine.jump if check else 0
    cycle = 0
    while left:
        for number in list(left):
            step = steps[number]
            if any(before not in begins or begins[before] + wait > cycle for before, wait in step.needs):
                continue
            finish = cycle + latency(machine, step)
            read, written = min(in_file(step.reads), machine.read_ports), min(in_file(step.writes), machine.write_ports)
            if (units[step.unit, cycle] >= machine.units(step.unit) or reads[cycle] + read > machine.read_ports
                    or writes[finish] + written > machine.write_ports):
                continue
            if step.unit == "jump" and check and cycle < machine.jump:
                continue
            begins[number] = cycle
            units[step.unit, cycle] += 1
            if step.unit in ("load", "store"):  # they share their units
                units["store" if step.unit == "load" else "load", cycle] += 1
            reads[cycle] += read
            writes[finish] += written
            left.remove(number)
            end = max(end, cycle + machine.jump if step.unit == "jump" else finish)
        cycle += 1
    return end


# ---- Cycles of a switch.

def save(machine, registers):
    """A store reads two registers: the value and the address."""
    return math.ceil(registers / min(machine.memory_units, machine.read_ports // 2))


def restore(machine, registers):
    """A load writes one register. The last one ends when its latency has passed."""
    if registers == 0:
        return 0
    return math.ceil(registers / min(machine.memory_units, machine.write_ports)) + machine.latency["load"] - 1


def scheduler(machine):
    """Keeps the stack pointer, finds the other thread, and loads its stack pointer."""
    return machine.latency["store"] + 2 * machine.latency["load"]


def player(machine):
    """A sample is loaded and added, and the loop's jump."""
    return machine.latency["load"] + machine.latency["alu"] + machine.jump


PLAYER_LIVE = 2  # its sample, and where the samples are


def turn(machine, saved, saved_of_player):
    """A turn of the player: a call of a stub, which saves the decoder's registers; the player; and back."""
    return (4 * machine.jump + 2 * scheduler(machine) + player(machine)
            + save(machine, saved) + restore(machine, saved)
            + save(machine, saved_of_player) + restore(machine, saved_of_player))


# ---- A program.

class Program:
    """Cycles of its parts, and what is live at their beginnings."""

    def __init__(self, machine, parts):
        self.parts = sorted(parts, key=lambda part: part["part"])
        if [part["part"] for part in self.parts] != list(range(len(self.parts))):
            raise ValueError("the parts are not numbered from 0: compiled twice, or of several units")
        self.plain = [cycles_of(machine, part["operations"]) for part in self.parts]
        self.checked = [cycles_of(machine, part["operations"], part["block"]) for part in self.parts]
        self.marks = [marks_of(part, cycles) for part, cycles in zip(self.parts, self.plain)]

    def run(self, executed, period, limit):
        """What happened in a run, with a timer that is due every `period` cycles."""
        return Ran(self, executed, period, limit)


def marks_of(part, cycles):
    """The cycles of a part at which an instruction begins that has no scratch register live."""
    scratch = part["scratch"]
    return [number * cycles // len(scratch) for number, live in enumerate(scratch) if live == 0]


class Ran:
    """Counts of a run. `executed` yields lists of parts, in their order."""

    def __init__(self, program, executed, period, limits):
        self.executions = collections.Counter()  # of parts
        self.at_timer = collections.Counter()    # registers live at the first check after the timer was due
        self.waits = collections.Counter()       # cycles from then to the first mark, up to the largest limit
        self._live = {number: part["live"] for number, part in enumerate(program.parts) if part["block"]}
        before_check, before_mark, base = [], [], 0  # when the timer was due
        for parts in executed:
            self.executions.update(parts)
            begins = list(itertools.accumulate((program.plain[part] for part in parts), initial=base))
            due = range(max(1, -(-base // period)) * period, begins[-1], period)
            before_check = self._find_checks(parts, begins, [*before_check, *due])
            marks = [begins[at] + mark for at, part in enumerate(parts) for mark in program.marks[part]]
            before_mark = self._find_marks(marks, begins[-1], [*before_mark, *due], max(limits))
            base = begins[-1]
        self.plain = sum(count * program.plain[part] for part, count in self.executions.items())
        self.checked = sum(count * program.checked[part] for part, count in self.executions.items())
        self.at_checks = collections.Counter()  # registers live at each check
        for part, registers in self._live.items():
            self.at_checks[registers] += self.executions[part]

    def _find_checks(self, parts, begins, due):
        """Those that find no check here."""
        at = 0
        for number, each in enumerate(due):
            at = bisect.bisect_left(begins, each, at)
            while at < len(parts) and parts[at] not in self._live:
                at += 1
            if at == len(parts):
                return due[number:]
            self.at_timer[self._live[parts[at]]] += 1
        return []

    def _find_marks(self, marks, end, due, most):
        """Those that may still find a mark."""
        left = []
        for each in due:
            at = bisect.bisect_left(marks, each)
            if at < len(marks) or end - each > most:
                self.waits[min(most + 1, marks[at] - each if at < len(marks) else most + 1)] += 1
            else:
                left.append(each)
        return left

    def share_marked(self, limit):
        """Of the times that the timer was due: those at which a mark was at most so many cycles away."""
        return sum(count for wait, count in self.waits.items() if wait <= limit) / max(1, sum(self.waits.values()))


def mean(counts):
    """Of numbers with their counts."""
    total = sum(counts.values())
    return sum(number * count for number, count in counts.items()) / total if total else 0.0


def mean_turn(machine, counts, saved_of_player):
    """Cycles of a turn, where so many registers are saved so often."""
    total = sum(counts.values())
    return sum(count * turn(machine, number, saved_of_player) for number, count in counts.items()) / total if total else 0.0
