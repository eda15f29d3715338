"""scripts/weak_memory, as far as it goes without GenMC: its programs fit the headers, and each order is weakened."""

import importlib.machinery
import importlib.util
import pathlib
import subprocess
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/weak_memory"


def load():
    loader = importlib.machinery.SourceFileLoader("weak_memory", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("weak_memory", loader))
    loader.exec_module(module)
    return module


class WeakMemory(unittest.TestCase):
    def test_what_the_programs_say_is_in_the_headers(self):
        done = subprocess.run([SCRIPT, "--list"], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("work_ring", done.stdout.split())

    def test_without_genmc_it_says_what_to_do(self):
        done = subprocess.run([SCRIPT, "--genmc", "/nowhere/genmc"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 2)
        self.assertIn("there is no /nowhere/genmc", done.stderr)

    def test_each_order_and_fence_is_weakened_by_a_step(self):
        header = """
bool f() { return a.load(std::memory_order_seq_cst); }
void g() { a.store(1, std::memory_order_seq_cst); b.exchange(2, std::memory_order_acq_rel); }
bool h() { return a.compare_exchange_strong(x, y, std::memory_order_release, std::memory_order_acquire); }
void i() { Memory::light_fence(); a.load(std::memory_order_relaxed); }
"""
        each = [(line, what.rsplit(" -> ", 1)[1]) for line, what, _ in load().weakened("", header)]
        self.assertEqual(each, [(2, "acquire"), (3, "release"), (3, "acquire"), (3, "release"), (4, "relaxed"),
                                (4, "relaxed"), (5, "none")])


if __name__ == "__main__":
    unittest.main()
