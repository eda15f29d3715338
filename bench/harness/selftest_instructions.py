#!/usr/bin/env python3
"""Tests of the counting of misses, of stores and of atomic read-modify-writes, with small programs under valgrind."""

import platform
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from harness import instructions  # noqa: E402

# Two in each round, and a fence, which gcc makes a locked instruction.
PROGRAM = """
#include <stdlib.h>
long n;
int main(int count, char** words) {
  for (int i = atoi(words[1]); i > 0; --i) {
    __atomic_fetch_add(&n, 1, __ATOMIC_RELAXED);
    __atomic_exchange_n(&n, i, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    n = count;
  }
}
"""


# In each round, all of 64 KiB of data, and as much of code.
MISSES = """
#include <stdlib.h>
#define EIGHT(x) x x x x x x x x
static volatile char data[65536];
int main(int count, char** words) {
  for (int i = atoi(words[1]); i > 0; --i) {
    for (int at = 0; at < 65536; at += 64) ++data[at];
    EIGHT(EIGHT(EIGHT(__asm__ volatile("jmp 1f; .skip 126, 0x90; 1:");)))
  }
}
"""


def counts_of(text, count, rounds=(10, 110)):
    """What `count` counts of the program in so many rounds, and in so many."""
    with tempfile.TemporaryDirectory() as directory:
        source, program = Path(directory, "program.c"), Path(directory, "program")
        source.write_text(text)
        subprocess.run(["gcc-12", "-O1", "-o", program, source], check=True)
        return [count([program, str(number)]) for number in rounds]


class Misses(unittest.TestCase):
    @unittest.skipUnless(platform.machine() == "x86_64", "the jumps are of this processor")
    def test_of_a_program_are_counted(self):
        few, many = counts_of(MISSES, instructions._count)
        *_, code, data = (more - less for less, more in zip(few, many))
        self.assertAlmostEqual(data, 100 * 1024, delta=1024)
        self.assertAlmostEqual(code, 100 * 512, delta=2048)


# In each round, two stores to one line, one to another, and two more to the first, which is its own again.
STORES = """
#include <stdlib.h>
static volatile long data[64] __attribute__((aligned(64)));
int main(int count, char** words) {
  for (register int i = atoi(words[1]); i > 0; --i)
    data[0] = i, data[1] = i, data[8] = i, data[2] = i, data[3] = i;
}
"""


class StoreSlots(unittest.TestCase):
    def test_two_in_a_row_to_one_line_are_one(self):
        trace = ["I  04000000,3", " S 1000,8", " L 2000,8", " S 1038,8", " S 1010,8", " M 1040,4", " S 1000,8"]
        self.assertEqual(instructions._slots(trace), 4)

    def test_of_a_program_are_counted(self):
        few, many = counts_of(STORES, instructions._count_store_slots, (10, 2010))
        # The program's start differs from run to run, by some slots and rarely by 200; without the merging there would be
        # 10,000.
        self.assertAlmostEqual(many - few, 6000, delta=600)


class Atomics(unittest.TestCase):
    def test_are_what_is_locked_and_no_fence(self):
        for text in ("lock cmpxchg %rdx,(%rdi)", "lock addq $0x1,(%rsp)", "lock orq $0x1,(%rsp)", "xchg   %rcx,(%rsp)"):
            self.assertTrue(instructions._is_atomic(text), text)
        for text in ("lock orq $0x0,(%rsp)", "lock orl $0x0,-0x8(%rsp)", "mfence", "xchg   %ax,%ax",
                     "mov    (%rdi),%rax"):
            self.assertFalse(instructions._is_atomic(text), text)

    def test_what_was_called_is_not_counted_again(self):
        lines = ["ob=/a", "fn=main", "0x10 1 5", "calls=1 0x20 7", "0x12 1 900", "0x12 1 1", "ob=/b", "0x10 0 3",
                 "0x10 2 4"]
        self.assertEqual(instructions._executed(lines), {("/a", 0x10): 5, ("/a", 0x12): 1, ("/b", 0x10): 7})

    @unittest.skipUnless(platform.machine() == "x86_64", "other processors have other instructions")
    def test_of_a_program_are_counted(self):
        few, many = counts_of(PROGRAM, instructions._count_atomics)
        self.assertEqual(many - few, 200)


if __name__ == "__main__":
    unittest.main()
