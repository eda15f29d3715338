"""scripts/fuzz in a tree of impostors: a target that has not run, or misses a bug, must not pass."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

FUZZ = Path(__file__).resolve().parents[2] / "scripts/fuzz"

# A fuzz target: it is given options, folders or files.
TARGET = """#!/usr/bin/env bash
for argument; do
  case $argument in
    -runs=*) runs=${argument#-runs=} ;;
    -max_total_time=*) runs=$((1000 * ${argument#-max_total_time=})); echo "$*" >>"$0.timed" ;;
    -artifact_prefix=*) prefix=${argument#-artifact_prefix=} ;;
    -*) ;;
    *) [[ ! -f $argument ]] || files+=("$argument") ;;
  esac
done
find() {
  echo "Test unit written to ${prefix}crash-1"
  exit 77
}
case ${SENNIT_FUZZ_PLANT:-} in
  property) echo "BROKEN: a property"; find ;;
  memory) echo "==1==ERROR: AddressSanitizer: heap-buffer-overflow on address"; find ;;
  undefined) echo "harness.cpp:1:1: runtime error: signed integer overflow: 1"; find ;;
esac
for file in "${files[@]}"; do
  echo "Running: $file"
  if grep -q bad "$file"; then
    echo "BROKEN: a property"
    exit 77
  fi
  echo "Executed $file in 0 ms"
done
((${#files[@]})) || echo "stat::number_of_executed_units: $runs"
"""

CORPUS = """import pathlib, sys
for target in ["protocol", "session"]:
    folder = pathlib.Path(sys.argv[1]) / target
    folder.mkdir(parents=True)
    (folder / "000").write_text("seed")
"""


class Fuzz(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.file("scripts/fuzz", FUZZ.read_text(encoding="utf-8"))
        self.file("scripts/build", "#!/bin/sh\n")
        self.file("examples/kv_server/fuzz/make_corpus.py", CORPUS)
        for name in ("protocol", "session"):
            self.target(name)

    def file(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
        return path

    def target(self, name: str, old: str = "", new: str = "") -> Path:
        self.assertIn(old, TARGET)
        return self.file(f"build/asan/examples/kv_server/fuzz/fuzz_{name}", TARGET.replace(old, new, 1))

    def fuzz(self, *arguments: str) -> tuple[int, str]:
        ran = subprocess.run([self.root / "scripts/fuzz", *arguments], capture_output=True, text=True, check=False)
        return ran.returncode, ran.stdout + ran.stderr

    def test_passes(self):
        self.file("examples/kv_server/fuzz/cases/session/one", "good")
        status, output = self.fuzz()
        self.assertEqual(status, 0, output)
        self.assertIn("protocol, session: 3 kept inputs, ", output.splitlines()[-1])

    def test_one_target(self):
        self.assertIn("session: 1 kept inputs, ", self.fuzz("session")[1])
        status, output = self.fuzz("sesion")
        self.assertEqual(status, 2)
        self.assertIn("there is no target 'sesion'", output)

    def test_time_is_shared(self):
        program = self.target("session")
        self.assertEqual(self.fuzz("--time", "3m")[0], 0)
        each = 180 // -(-2 // min(2, os.cpu_count()))
        self.assertIn(f"-max_total_time={each} ", Path(f"{program}.timed").read_text(encoding="utf-8"))
        self.assertNotIn("-seed=", Path(f"{program}.timed").read_text(encoding="utf-8"))

    def test_bad_time(self):
        status, output = self.fuzz("--time", "10")
        self.assertEqual(status, 2)
        self.assertIn("'10' is not a time: a whole number and s, m or h, as in 10m", output)

    def test_bug_that_is_not_found(self):
        for bug in ("property", "memory", "undefined"):
            self.target("protocol", f"  {bug})", "  other)")
            status, output = self.fuzz()
            self.assertEqual(status, 1)
            self.assertIn(f"protocol does not find the bug planted in it (SENNIT_FUZZ_PLANT={bug})", output)

    def test_sanitizer_that_does_not_report(self):
        self.target("protocol", "AddressSanitizer: ", "")
        self.assertIn("(SENNIT_FUZZ_PLANT=memory)", self.fuzz()[1])

    def test_case_that_fails(self):
        case = self.file("examples/kv_server/fuzz/cases/session/one", "bad")
        status, output = self.fuzz()
        self.assertEqual(status, 1)
        self.assertIn(f"session has found something; the input is {case}", output)
        self.assertIn(f"see it again:     build/asan/examples/kv_server/fuzz/fuzz_session {case}", output)

    def test_case_that_is_not_run(self):
        self.target("session", 'echo "Executed $file in 0 ms"', "true")
        self.assertIn("session ran 0 of 1 kept inputs", self.fuzz()[1])

    def test_target_that_does_not_run(self):
        self.target("session", 'echo "stat::number_of_executed_units: $runs"', "true")
        self.assertIn("session made no runs", self.fuzz()[1])
        self.target("session", "units: $runs", "units: 3")
        status, output = self.fuzz()
        self.assertEqual(status, 1)
        self.assertIn("session made 3 runs, where", output)

    def test_finding(self):
        self.target("session", '((${#files[@]})) ||',
                    '((${#files[@]})) && exit; echo "BROKEN: a property"; find;')
        status, output = self.fuzz("session")
        self.assertEqual(status, 1)
        self.assertIn("BROKEN: a property", output)
        found = self.root / "build/fuzz/findings/session-crash-1"
        self.assertIn(f"keep it:          cp {found} examples/kv_server/fuzz/cases/session/", output)

    def test_without_seeds(self):
        self.file("examples/kv_server/fuzz/make_corpus.py", "")
        self.assertIn("protocol has no seeds", self.fuzz()[1])


if __name__ == "__main__":
    unittest.main()
