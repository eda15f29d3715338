"""scripts/parallel runs commands in parallel and keeps the output of each together."""

import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/parallel"


def run(*arguments):
    done = subprocess.run([SCRIPT, *map(str, arguments)], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout.splitlines(), done.stderr


class Parallel(unittest.TestCase):
    def test_output_of_each_is_printed_as_a_whole(self):
        long = "x" * 20_000
        status, lines, _ = run(4, *(f"echo a{i}; sleep 0.1; echo {long} >&2; printf b{i}" for i in range(4)))
        self.assertEqual(status, 0)
        self.assertEqual(sorted(lines[::3]), [f"a{i}" for i in range(4)])
        self.assertEqual(set(lines[1::3]), {long})
        self.assertEqual(lines[2::3], ["b" + first[1:] for first in lines[::3]])

    def test_as_many_run_at_once_as_asked(self):
        with tempfile.TemporaryDirectory() as folder:
            all_are_here = (f"for ((i = 0; i < 500; ++i)); do [[ $(ls {folder} | wc -l) != 5 ]] || exit 0; sleep 0.01; "
                            "done; exit 1")
            self.assertEqual(run(5, *(f"touch {folder}/{i}; {all_are_here}" for i in range(5)))[0], 0)

    def test_no_further_one_starts_when_one_has_failed(self):
        with tempfile.TemporaryDirectory() as folder:
            status, lines, _ = run(2, "echo no; exit 3", *[f"sleep 0.2; touch {folder}/$$"] * 20)
            self.assertNotEqual(status, 0)
            self.assertIn("no", lines)
            self.assertIn("status 3: echo no; exit 3", lines)
            self.assertLess(len(list(pathlib.Path(folder).iterdir())), 20)

    def test_failure_of_the_last_one(self):
        self.assertNotEqual(run(1, "true", "true", "false")[0], 0)

    def test_output_is_printed_when_a_stage_is_stopped(self):
        with tempfile.TemporaryDirectory() as folder:
            command = f"echo begun; touch {folder}/begun; sleep 20"
            with subprocess.Popen([SCRIPT, "1", command], stdout=subprocess.PIPE, text=True,
                                  start_new_session=True) as stage:
                while not os.path.exists(f"{folder}/begun"):
                    self.assertIsNone(stage.poll())
                    time.sleep(0.01)
                os.killpg(stage.pid, signal.SIGTERM)
                output, _ = stage.communicate(timeout=10)
        self.assertNotEqual(stage.returncode, 0)
        self.assertEqual(output.splitlines(), ["begun", f"status 143: {command}"])

    def test_wrong_arguments(self):
        for arguments in ((), (3,), (0, "true"), ("true",)):
            with self.subTest(arguments):
                status, _, error = run(*arguments)
                self.assertEqual(status, 2)
                self.assertIn("usage: scripts/parallel", error)


if __name__ == "__main__":
    unittest.main()
