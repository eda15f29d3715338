"""Reads x86-64 object files: their functions as blocks, and the loops around the switches in them.

A switch is where the header's inline assembly begins to suspend:

    lea RESUME(%rip),%r9 ; lea -0x98(%rsp),%rdi ; ... ; jmp *(%rax)  or  jmp sennit_suspend_dispatch

Its successor is RESUME: whoever resumes us enters there. On the way it may go to sennit_*_busy, which comes back to
RESUME too and is no part of a loop. The hot loop of a switch is what lies on a path from the switch to itself.
"""
import dataclasses
import re
import subprocess

RECORD = "-0x98(%rsp),%rdi"  # how a switch finds the place of its record
# What -r says behind an instruction, with -w on its line.
RELOCATION = r"\t[0-9a-f]+: R_X86_64_\S+\t(.*?)([-+]0x[0-9a-f]+)?$"
# Where it is written whether light fences are free (native_memory.hpp).
FENCES = "native_memory::kind_"
# Calls that do not come back.
NO_RETURN = re.compile(
    r"throw|__cxa_rethrow|__cxa_call|_Unwind_Resume|terminate|abort|__assert_fail|__stack_chk_fail|__glibcxx_assert|fatal")


@dataclasses.dataclass(eq=False)
class Instruction:
    address: int
    mnemonic: str
    operands: str
    symbol: str = ""  # what a relocation in it names
    of_switch: bool = False  # the header's, not the compiler's
    locked: bool = False  # has the lock prefix
    frame: str = r"\(%rsp"  # what an address in the function's frame looks like

    def __str__(self):
        lock = "lock " if self.locked else ""
        return f"{self.address:x}: {lock}{self.mnemonic} {self.operands} {self.symbol}".rstrip()

    @property
    def target(self):
        """Where a direct jump within the function goes, or None."""
        match = re.match(r"([0-9a-f]+) <", self.operands)
        return int(match.group(1), 16) if match and not self.symbol else None

    @property
    def is_call(self):
        return self.mnemonic.startswith("call")

    @property
    def is_return(self):
        return self.mnemonic.split()[-1] in ("ret", "retq")

    @property
    def is_atomic(self):
        """A read-modify-write that is atomic, or a full fence, which costs as much."""
        exchanges = self.mnemonic.startswith("xchg") and "(" in self.operands  # locked without a prefix
        return self.locked or exchanges or self.mnemonic == "mfence"

    @property
    def touches_frame(self):
        """A load or store of the function's own frame by the compiler: a spill, a restore, a local in memory."""
        return (not self.of_switch and not self.mnemonic.startswith(("lea", "nop", "push", "pop"))
                and re.search(self.frame, self.operands) is not None)

    @property
    def stores_to_frame(self):
        return self.touches_frame and re.search(self.frame + r"[^)]*\)$", self.operands) is not None


def functions(object_file):
    """{name: Function}; names demangled."""
    text = subprocess.run(["objdump", "-dr", "--no-show-raw-insn", "-w", "-C", object_file], check=True,
                          capture_output=True, text=True).stdout
    found = {}
    current = None
    for line in text.splitlines():
        if match := re.match(r"[0-9a-f]+ <(.*)>:$", line):
            current = found.setdefault(match.group(1), [])
        elif match := re.match(r"\s+([0-9a-f]+):\s+(\S+)\s*(.*?)\s*$", line):
            mnemonic, operands = match.group(2), match.group(3)
            operands, _, symbol = re.sub(RELOCATION, r"\n\1", operands).partition("\n")
            locked = mnemonic == "lock"
            if mnemonic in ("notrack", "bnd", "rep", "repz", "lock", "data16", "cs"):
                mnemonic, _, operands = operands.partition(" ")
            if current is not None:
                current.append(Instruction(int(match.group(1), 16), mnemonic, operands.strip(), symbol, locked=locked))
    return {name: Function(name, instructions) for name, instructions in found.items() if instructions}


class Function:
    def __init__(self, name, instructions):
        self.name = name
        self.instructions = instructions
        self.switches = []  # (index of the first instruction, index of the jump that leaves)
        if any(i.mnemonic.startswith("mov") and i.operands == "%rsp,%rbp" for i in instructions):
            for each in instructions:
                each.frame = r"\(%r[sb]p"
        self._find_switches()
        self._next = [self._successors(i) for i in range(len(instructions))]

    def _find_switches(self):
        for i, instruction in enumerate(self.instructions[1:], 1):
            if instruction.mnemonic.startswith("lea") and instruction.operands.startswith(RECORD):
                first = i - 1
                last = i
                while not self.instructions[last].mnemonic.startswith(("jmp", "ret")):
                    last += 1
                for each in self.instructions[first:last + 1]:
                    each.of_switch = True
                self.switches.append((first, last))

    def _index(self, address):
        for i, instruction in enumerate(self.instructions):
            if instruction.address == address:
                return i
        return None

    def _resume(self, first):
        """Where the switch that begins at `first` is resumed."""
        match = re.search(r"# ([0-9a-f]+) <", self.instructions[first].operands)
        return self._index(int(match.group(1), 16)) if match else None

    def _successors(self, i):
        instruction = self.instructions[i]
        for first, last in self.switches:
            if i == last:
                resume = self._resume(first)
                return [resume] if resume is not None and instruction.mnemonic.startswith("jmp") else []
        if instruction.is_return or instruction.mnemonic.startswith(("ud2", "hlt")):
            return []
        if instruction.is_call and NO_RETURN.search(instruction.symbol or instruction.operands):
            return []
        following = [i + 1] if i + 1 < len(self.instructions) else []
        if not instruction.mnemonic.startswith("j"):
            return following
        target = instruction.target
        goes_to = [self._index(target)] if target is not None and self._index(target) is not None else []
        return goes_to if instruction.mnemonic.startswith("jmp") else goes_to + following

    def _reachable(self, start, edges):
        seen, work = set(), list(edges[start])
        while work:
            i = work.pop()
            if i not in seen:
                seen.add(i)
                work += edges[i]
        return seen

    def hot_loops(self):
        """The instructions of each switch's loop, in order; switches outside of loops have none."""
        before = [[] for _ in self.instructions]
        for i, following in enumerate(self._next):
            for j in following:
                before[j].append(i)
        loops = []
        for _, last in self.switches:
            loop = sorted(self._reachable(last, self._next) & self._reachable(last, before))
            if last in loop:
                loops.append([self.instructions[i] for i in loop])
        return loops

    def usual_way(self):
        """What may run, in order, once light fences are free: a branch that found they are not is left out."""
        edges = list(self._next)
        for look, instruction in enumerate(self.instructions):
            if FENCES in instruction.symbol:
                branch = next(i for i in range(look, len(self.instructions))
                              if re.match("j(?!mp)", self.instructions[i].mnemonic))
                compared, jump = self.instructions[branch - 1], self.instructions[branch]
                assert compared.operands.startswith("$0x2,") and jump.mnemonic in ("je", "jne"), f"{compared}, {jump}"
                edges[branch] = [branch + 1 if jump.mnemonic == "jne" else self._index(jump.target)]
        return [self.instructions[i] for i in sorted({0} | self._reachable(0, edges))]

    def outside(self, loop):
        return [i for i in self.instructions if i not in loop and not i.of_switch]


def only_loop(function):
    """The one hot loop; switches of one loop share it."""
    loops = function.hot_loops()
    assert loops, f"{function.name}: no loop around a switch"
    assert all(loop == loops[0] for loop in loops), f"{function.name}: several loops"
    return loops[0]


def faults_of_loop(loop, cold=()):
    """What must not be between two switches of a hot loop. `cold`: functions that only a rare branch calls."""
    faults = [f"a call: {i}" for i in loop if i.is_call and not any(name in str(i) for name in cold)]
    faults += [f"a return: {i}" for i in loop if i.is_return]
    # A value that is saved in each round and never read is not live.
    slots = {i: re.search(r"(-?0x[0-9a-f]+)?\(%r[sb]p[^)]*\)", i.operands).group(0) for i in loop if i.touches_frame}
    read = {slot for i, slot in slots.items() if not i.stores_to_frame or not i.mnemonic.startswith("mov")}
    faults += [f"spilled and not read in the loop: {i}" for i, slot in slots.items() if slot not in read]
    return faults
