"""scripts/check_words finds each kind of phrase and sentence when it is planted, and accepts plain text and code."""

import subprocess
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "check_words"
HEADER = """\
// sennit::rope: strands.
//
//   rope.pull();  // who waits
//
// It is plaited.
#pragma once

/// A strand.
///
/// - Length: it is
///   bounded.
///
/// \\code
///   // Nobody is told.
/// \\endcode
class strand {
public:
  /* `who` pulls */
  void pull() { report("// nobody pulls"); }
  char end = '"';  // a quote, and not the start of a string
};
"""
PLAIN = "# Ropes\n\nThe waiter resumes.\nThe caller that holds the lock wakes it, and a program who-knows ends.\n"


def run_on(pages: dict[str, str]) -> tuple[int, str]:
    with tempfile.TemporaryDirectory() as folder:
        for page, text in pages.items():
            (Path(folder) / page).parent.mkdir(parents=True, exist_ok=True)
            (Path(folder) / page).write_text(text, encoding="utf-8")
        ran = subprocess.run([SCRIPT, "--root", folder], capture_output=True, text=True)
        return ran.returncode, ran.stdout + ran.stderr


class CheckWords(unittest.TestCase):
    def assert_found(self, what: str, sentence: str) -> None:
        status, output = run_on({"README.md": f"{PLAIN}\n{sentence}\n"})
        self.assertEqual(status, 1, output)
        self.assertIn(what, output)
        self.assertIn("1 documents and 0 headers read, 1 faults", output)

    def test_plain_text_is_accepted(self):
        status, output = run_on({"README.md": PLAIN})
        self.assertEqual(status, 0, output)

    def test_headless_who_is_found(self):
        self.assert_found('README.md:6: "Who"', "Who waits is woken.")
        self.assert_found('README.md:6: "of who"', "It wakes the first of who waits.")
        self.assert_found('README.md:7: "by whom"', "The lock is held, by\nwhom is unknown.")

    def test_nobody_is_found(self):
        self.assert_found('"nobody"', "There nobody waits.")

    def test_told_and_said_are_found(self):
        self.assert_found('"is told"', "The sanitizer is told of it.")
        self.assert_found('"said:"', "It is misuse, they said: the program ends.")

    def test_but_for_and_alone_are_found(self):
        self.assert_found('"but for"', "All of them but\nfor one.")
        self.assert_found('"alone"', "The owner alone may do it.")

    def test_go_on_is_found(self):
        self.assert_found('"goes on"', "The fiber goes on.")

    def test_table_cell_that_refers_to_another_is_found(self):
        self.assert_found('"the same"', "| a | b |\n|---|---|\n| one | the same |")

    def test_long_sentences_are_found(self):
        self.assert_found("a sentence of 41 words", "Rope " * 41 + ".\n\n" + "- It is short.\n" * 41)
        self.assert_found("words a sentence on average", ("Rope " * 25 + "is plaited.\n\n") * 9)

    def test_code_is_not_checked(self):
        status, output = run_on({"README.md": PLAIN + "\n`who waits`\n\n```cpp\n// Nobody is told. Who waits goes on.\n```\n"})
        self.assertEqual(status, 0, output)

    def test_documents_are_checked_and_other_pages_are_not(self):
        wrong = "There nobody waits.\n"
        status, output = run_on({"docs/rope.md": wrong, "docs/papers/rope.md": wrong, "examples/rope.md": wrong})
        self.assertEqual(status, 1, output)
        self.assertIn("docs/rope.md:1", output)
        self.assertIn("papers/rope.md:1", output)
        self.assertIn("2 documents and 0 headers read, 2 faults", output)

    def assert_in_header(self, output_has: str, old: str, new: str) -> None:
        self.assertIn(old, HEADER)
        pages = [f"include/sennit/{page}" for page in ("rope.hpp", "local/rope.hpp", "rope.h")]
        status, output = run_on({page: HEADER.replace(old, new) for page in pages})
        self.assertEqual(status, 1, output)
        for page in pages:
            self.assertIn(f"{page}:{output_has}", output)
        self.assertIn("0 documents and 3 headers read, 3 faults", output)

    def test_plain_comments_of_headers_are_accepted(self):
        status, output = run_on({"include/sennit/rope.hpp": HEADER})
        self.assertEqual(status, 0, output)

    def test_phrases_in_comments_of_headers_are_found(self):
        self.assert_in_header('5: "goes on"', "It is plaited.", "It goes on.")
        self.assert_in_header('8: "Policy for"', "/// A strand.", "/// Policy for the next strand.")
        self.assert_in_header('8: "Policy, as"', "/// A strand.", "/// Pulls. Policy, as a server, for one.")
        self.assert_in_header('8: "Who"', "/// A strand.", "/// Who pulls is woken.")
        self.assert_in_header('11: "but for"', "///   bounded.", "///   bounded, but for one.")
        self.assert_in_header('18: "somebody"', "/* `who` pulls */", "/** somebody pulls */")
        self.assert_in_header('18: "who"', "/* `who` pulls */", "/// \\returns who pulls")
        self.assert_in_header('20: "be told"', "// a quote", "///< to be told")
        self.assert_in_header('11: "of who"', "/// - Length: it is\n///   bounded.", "/// - Length: it is of\n///   who pulls.")

    def test_sources_are_checked(self):
        pages = ["include/sennit/detail/sync/rope.hpp", "src/sync/rope.cpp", "compiler/rope.hpp", "bench/rope/rope.c",
                 "tests/unit/sync/rope_test.cpp", "tests/model/rope_test.cpp"]
        status, output = run_on({page: "// Nobody pulls.\n" for page in pages})
        self.assertEqual(status, 1, output)
        for page in pages:
            self.assertIn(f'{page}:1: "Nobody"', output)

    def test_inputs_of_tests_are_not_checked(self):
        status, output = run_on({"tests/compiler/rope.c": "// CHECK: nobody\n"})
        self.assertEqual(status, 0, output)


if __name__ == "__main__":
    unittest.main()
