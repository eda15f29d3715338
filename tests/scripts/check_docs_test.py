"""scripts/check_docs compiles and compares a document's examples, and finds each kind of fault when it is planted."""

import subprocess
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "check_docs"
GOOD = '#include <cstdio>\nint main() { std::puts("rope"); }\n'


def block(language: str, text: str) -> str:
    return f"Some words.\n\n```{language}\n{text}```\n\n"


def run_on(text: str) -> tuple[int, str]:
    with tempfile.TemporaryDirectory() as folder:
        document = Path(folder) / "README.md"
        document.write_text(text, encoding="utf-8")
        ran = subprocess.run([SCRIPT, "--root", folder], capture_output=True, text=True)
        return ran.returncode, ran.stdout + ran.stderr


class CheckDocs(unittest.TestCase):
    def test_right_output_is_accepted(self):
        status, output = run_on(block("cpp", GOOD) + block("text", "rope\n"))
        self.assertEqual(status, 0, output)
        self.assertIn("1 examples compiled, 1 outputs compared, 0 wrong", output)

    def test_example_without_output_is_compiled_only(self):
        status, output = run_on(block("cpp", GOOD) + block("sh", "./run\n") + block("text", "rope\n"))
        self.assertEqual(status, 0, output)
        self.assertIn("1 examples compiled, 0 outputs compared", output)

    def test_c_is_compiled_as_c(self):
        source = '#include <stdio.h>\nint main(void) { int class = 1; return printf("%d\\n", class) < 0; }\n'
        status, output = run_on(block("c", source) + block("text", "1\n"))
        self.assertEqual(status, 0, output)

    def test_flags_after_the_language_are_passed_on(self):
        status, output = run_on(block("cpp -DKNOT=0", "int main() { return KNOT; }\n") + block("text", ""))
        self.assertEqual(status, 0, output)

    def assert_wrong(self, what: str, text: str) -> None:
        status, output = run_on(text)
        self.assertEqual(status, 1, output)
        self.assertIn(what, output)

    def test_wrong_output_is_found(self):
        self.assert_wrong("README.md:3: this example printed something else",
                          block("cpp", GOOD) + block("text", "string\n"))

    def test_example_that_does_not_compile_is_found(self):
        self.assert_wrong("does not compile", block("cpp", "int main() { return rope; }\n"))

    def test_example_that_fails_is_found(self):
        self.assert_wrong("ended with status 3", block("cpp", "int main() { return 3; }\n") + block("text", ""))

    def test_block_that_is_never_closed_is_found(self):
        self.assert_wrong("never closed", "```cpp\nint main() {}\n")

    def test_path_that_is_missing_is_found(self):
        self.assert_wrong("README.md: there is no src/knot.cpp", "See `src/knot.cpp`.\n")
        self.assert_wrong("README.md: there is no scripts/plait", "Call `scripts/plait --all`.\n")

    def test_placeholders_and_other_names_are_no_paths(self):
        status, output = run_on("See `src/<room>/`, `src/*.cpp`, and `knots/reef.cpp`.\n")
        self.assertEqual(status, 0, output)

    def test_what_is_in_docs_is_checked_too(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "README.md").write_text(block("cpp", GOOD), encoding="utf-8")
            (Path(folder) / "docs" / "howto").mkdir(parents=True)
            for page in ("ropes.md", "howto/splice.md"):
                (Path(folder) / "docs" / page).write_text(block("cpp", "int main() { return rope; }\n"), encoding="utf-8")
            ran = subprocess.run([SCRIPT, "--root", folder], capture_output=True, text=True)
        self.assertEqual(ran.returncode, 1, ran.stdout)
        self.assertIn("ropes.md:3: this example does not compile", ran.stdout)
        self.assertIn("splice.md:3: this example does not compile", ran.stdout)
        self.assertIn("3 examples compiled", ran.stdout)

    def test_links_to_files_and_headings_are_accepted(self):
        status, output = run_on("# A rope\n\n## How `it` is made\n\n[here](README.md#how-it-is-made), [there](#a-rope), "
                                "[elsewhere](https://example.com/rope)\n")
        self.assertEqual(status, 0, output)

    def test_link_to_a_missing_file_is_found(self):
        self.assert_wrong("README.md: the link to docs/ropes.md has no target", "[ropes](docs/ropes.md)\n")

    def test_link_to_a_missing_heading_is_found(self):
        self.assert_wrong("README.md: the link to #knots has no target", "# Ropes\n\n[knots](#knots)\n")

    def test_numbers_of_the_readme_are_in_the_tables_of_performance(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "README.md").write_text(
                "| knot 9 | 8 |\n\n## Performance\n\n| Operation | ns |\n|---|---|\n| 7 knots | 1.5 / 2,000 |\n"
                "| splice | 1.6 |\n\n## Next\n\n| knot | 5 |\n", encoding="utf-8")
            (Path(folder) / "docs").mkdir()
            (Path(folder) / "docs" / "performance.md").write_text("Not 1.6.\n\n| knots | 2,000 / 1.5 |\n", encoding="utf-8")
            ran = subprocess.run([SCRIPT, "--root", folder], capture_output=True, text=True)
        self.assertEqual(ran.returncode, 1, ran.stdout)
        self.assertIn("README.md: row 'splice' has 1.6, which is not in a table of", ran.stdout)
        self.assertIn("1 wrong", ran.stdout)

    def test_rows_of_waits_and_their_tests_are_compared(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "README.md").write_text("", encoding="utf-8")
            (Path(folder) / "docs" / "explanation").mkdir(parents=True)
            (Path(folder) / "docs" / "explanation" / "waits.md").write_text(
                "| wait | cancelled | deadline |\n|---|---|---|\n| knot | Nothing. | Nothing. |\n"
                "| splice | Nothing. | |\n", encoding="utf-8")
            tests = Path(folder) / "tests" / "unit" / "sync"
            tests.mkdir(parents=True)
            (tests / "consumed_test.cpp").write_text(
                '#include "support/consumed.hpp"\nadd("knot", f);\nadd(\n    "hitch", f);\n', encoding="utf-8")
            ran = subprocess.run([SCRIPT, "--root", folder], capture_output=True, text=True)
        self.assertEqual(ran.returncode, 1, ran.stdout)
        self.assertIn("no test of row 'splice'", ran.stdout)
        self.assertIn("no row for the test of 'hitch'", ran.stdout)
        self.assertIn("row 'splice' needs three cells", ran.stdout)
        self.assertNotIn("knot", ran.stdout)


if __name__ == "__main__":
    unittest.main()
