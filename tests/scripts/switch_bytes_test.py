"""scripts/switch_bytes finds the switches of a program, with what each keeps, and those of them that a run resumed."""

import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "switch_bytes"
SWITCH = ROOT / "src/arch/switch_x86_64.S"
COMPILERS = ("gcc-12", "clang-19")
# `few` keeps one word of its own, `many` ten, `uneven` a frame whose size is known only at run time. The library's
# slow path is not used.
PROGRAM = """
#include "sennit/detail/arch/context.h"
static volatile long in, out;
static _Alignas(16) char stack[16384];
__attribute__((noinline)) void few(sennit_context* other) {
  *other = sennit_swapstack(*other, 0).from;
}
__attribute__((noinline)) void many(sennit_context* other) {
  const long a = in, b = in, c = in, d = in, e = in, f = in, g = in, h = in, i = in, j = in;
  *other = sennit_swapstack(*other, 0).from;
  out = a, out = b, out = c, out = d, out = e, out = f, out = g, out = h, out = i, out = j;
}
__attribute__((noinline)) void uneven(sennit_context* other, long size) {
  volatile char place[size];
  place[0] = 1;
  *other = sennit_swapstack(*other, 0).from;
  out = place[0];
}
static void entry(sennit_context from, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d) {
  (void)a, (void)b, (void)c, (void)d;
  for (;;)
    few(&from);
}
int main(int argc, char** argv) {
  (void)argv;
  sennit_context other = sennit_newstack(stack + sizeof stack, entry);
  few(&other);
  if (argc > 1)
    many(&other);
  if (argc > 2)
    uneven(&other, argc);
  return argc > 3;
}
static struct sennit_exception_state none;
__thread void* sennit_thread_word = &none;
__asm__(".globl sennit_thread, sennit_thread_of_0_1_0\\nsennit_thread = sennit_thread_word\\n"
        "sennit_thread_of_0_1_0 = sennit_thread_word\\n");
uintptr_t sennit_slow_state_save(struct sennit_slow_state* saved) { (void)saved; __builtin_trap(); }
void sennit_slow_state_restore(struct sennit_slow_state* saved) { (void)saved; __builtin_trap(); }
void sennit_entry_personality(void) {}
"""


def run(*arguments):
    ran = subprocess.run([SCRIPT, *arguments], capture_output=True, text=True)
    return ran.returncode, ran.stdout + ran.stderr


def table(said):
    """{function: (bytes, record, frame, red zone)}, bytes as they are printed"""
    rows = [line.split() for line in said.splitlines() if "switch_bytes.c:" in line]
    return {row[5].rstrip(","): (row[0], *map(int, row[1:4])) for row in rows}


class SwitchBytes(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def build(self, compiler, *flags):
        source, program = self.folder / "switch_bytes.c", self.folder / "program"
        source.write_text(PROGRAM, encoding="utf-8")
        subprocess.run([compiler, "-std=c17", "-O2", "-g", f"-I{ROOT}/include", *flags, source, SWITCH, "-o", program],
                       check=True)
        return program

    def test_each_switch_is_listed_with_what_it_keeps(self):
        for compiler in COMPILERS:
            for flags in ((), ("-fno-omit-frame-pointer",), ("-mno-red-zone",), ("-O0",), ("-fcf-protection",)):
                with self.subTest(compiler=compiler, flags=flags):
                    status, said = run(self.build(compiler, *flags))
                    self.assertEqual(status, 0, said)
                    found = table(said)
                    self.assertEqual(set(found), {"few", "many", "uneven"}, said)
                    for total, *parts in found.values():
                        self.assertEqual(int(total.rstrip("+")), sum(parts))
                        self.assertEqual(parts[0], 24)
                    few, many = (found[name] for name in ("few", "many"))
                    self.assertGreaterEqual(int(many[0].rstrip("+")) - int(few[0]), 8 * 8)  # ten words, not one; two in rbx and rbp
                    self.assertTrue(found["uneven"][0].endswith("+"))

    def test_only_what_a_run_resumed(self):
        program = self.build("clang-19")
        for arguments, resumed in (((), {"few"}), (("a",), {"few", "many"}), (("a", "b"), {"few", "many", "uneven"})):
            status, said = run(program, "--ran", *arguments)
            self.assertEqual((status, set(table(said))), (0, resumed), said)
        status, said = run(program, "--ran", "a", "b", "c")
        self.assertEqual(status, 1, "a run that fails was accepted")
        self.assertIn("ended with status 1", said)

    def test_a_function_can_be_chosen(self):
        status, said = run(self.build("gcc-12"), "--function", "^man")
        self.assertEqual((status, set(table(said))), (0, {"many"}), said)

    def test_a_wrong_pattern_is_an_error(self):
        status, said = run("/bin/true", "--function", "(")
        self.assertEqual(status, 2)
        self.assertIn("is no regular expression", said)

    def test_what_has_no_switch_is_refused(self):
        for program, cause in (("/bin/true", "no switch"), (ROOT / "README.md", "ELF"), ("/none", "cannot be read")):
            status, said = run(program)
            self.assertEqual(status, 1)
            self.assertIn(cause, said)


if __name__ == "__main__":
    unittest.main()
