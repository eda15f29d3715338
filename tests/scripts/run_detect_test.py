"""run_detect.py fails when a report is missing, and when there is one that should not be."""
import os
import subprocess
import tempfile
import unittest

RUN = os.path.join(os.path.dirname(__file__), "..", "sanitizer_detect", "run_detect.py")
SOURCE = "// sanitizer: address\n// expect: Sanitizer: a [a-z]+ bug\n// frame: culprit\n// options: a=b\n"
INNOCENT = "echo done"
REPORT = "echo 'Sanitizer: a planted bug' >&2; echo '  #3 0x12 in culprit(int) file' >&2; exit 1"


class RunPlanted(unittest.TestCase):
    def result(self, with_bug, without, source=SOURCE):
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, name) for name in ("source.cpp", "program")]
            program = f"#!/bin/sh\nif [ $# = 1 ]; then {with_bug}\nelse {without}\nfi\n"
            for path, text in zip(paths, (source, program)):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
            os.chmod(paths[1], 0o755)
            return subprocess.run([RUN, *paths], capture_output=True, check=False, text=True)

    def test_passes_a_bug_that_is_reported_and_a_twin_that_is_not(self):
        self.assertEqual(self.result(REPORT, INNOCENT).returncode, 0)

    def test_fails_without_a_report(self):
        result = self.result(INNOCENT, INNOCENT)
        self.assertEqual(result.returncode, 1)
        self.assertIn("the bug did not end the program", result.stdout)

    def test_fails_on_another_report(self):
        self.assertEqual(self.result(REPORT.replace("planted", "3"), INNOCENT).returncode, 1)
        self.assertEqual(self.result(REPORT.replace("culprit", "culprit_too"), INNOCENT).returncode, 1)

    def test_fails_on_a_report_of_the_twin(self):
        result = self.result(REPORT, REPORT)
        self.assertEqual(result.returncode, 1)
        self.assertIn("the innocent twin was reported", result.stdout)
        self.assertEqual(self.result(REPORT, INNOCENT + "; echo warning >&2").returncode, 1)

    def test_fails_on_a_twin_that_does_not_come_to_its_end(self):
        self.assertEqual(self.result(REPORT, "true").returncode, 1)

    def test_runs_only_the_twin_where_nothing_is_expected(self):
        self.assertEqual(self.result("exit 1", INNOCENT, "// sanitizer: thread\n").returncode, 0)
        self.assertEqual(self.result("exit 1", REPORT, "// sanitizer: thread\n").returncode, 1)

    def test_gives_the_options(self):
        without = 'case "$ASAN_OPTIONS" in *a=b*) exit 1;; *) echo done;; esac'
        self.assertEqual(self.result(REPORT, without).returncode, 1)


if __name__ == "__main__":
    unittest.main()
