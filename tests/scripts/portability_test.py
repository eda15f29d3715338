"""scripts/portability fails when a cell of its table is other than known, whichever way."""
import contextlib
import io
import pathlib
import types
import unittest

PATH = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "portability"
portability = types.ModuleType("portability")  # by hand: it has no suffix, and an import would leave a cache beside it
portability.__file__ = str(PATH)
exec(compile(PATH.read_text(encoding="utf-8"), PATH, "exec"), portability.__dict__)


class Portability(unittest.TestCase):
    def table(self, name, compiler, outcomes):
        """The counts, and what is printed."""
        pair = types.SimpleNamespace(name=name, compiler=compiler, backends=["ucontext"])
        column = "gcc" if compiler == "musl" else compiler
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            counts = portability.print_table("libc", {(name, "glibc"): {column: (pair, outcomes)}})
        return counts, printed.getvalue()

    def test_a_cell_that_works(self):
        counts, printed = self.table("MIPS", "gcc", {"ucontext": None})
        self.assertEqual(counts, (1, 0, 0))
        self.assertIn("| MIPS | glibc | none | - | yes | - | none | - |", printed)

    def test_a_remark_of_what_works_is_a_note(self):
        counts, printed = self.table("MIPS", "gcc", {"ucontext": "By halves."})
        self.assertEqual(counts, (1, 0, 0))
        self.assertIn("yes (1)", printed)
        self.assertIn("(1) By halves.", printed)

    def test_a_failure_is_shown_with_what_was_said(self):
        counts, printed = self.table("MIPS", "gcc", {"ucontext": portability.Failed("boom")})
        self.assertEqual(counts, (0, 1, 1))
        self.assertIn("**no**", printed)
        self.assertIn("MIPS, gcc, ucontext: boom", printed)

    def test_a_known_failure_has_a_note(self):
        failure = portability.Failed("undefined reference to `makecontext'")
        counts, printed = self.table("x86-64", "musl", {"ucontext": failure})
        self.assertEqual(counts, (0, 1, 0))
        self.assertIn("no (1)", printed)
        self.assertIn("(1) musl has no makecontext.", printed)

    def test_a_known_failure_for_another_reason_is_one(self):
        counts, _ = self.table("x86-64", "musl", {"ucontext": portability.Failed("boom")})
        self.assertEqual(counts, (0, 1, 1))

    def test_a_known_failure_that_works_is_one(self):
        counts, printed = self.table("x86-64", "musl", {"ucontext": None})
        self.assertEqual(counts, (1, 0, 1))
        self.assertIn("works, and is known not to", printed)


if __name__ == "__main__":
    unittest.main()
