"""scripts/side_by_side: what is said of commands that run beside each other."""

import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/side_by_side"


def run(*commands):
    done = subprocess.run([SCRIPT, *commands], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout.splitlines(), done.stderr


class SideBySide(unittest.TestCase):
    def test_what_each_prints_comes_whole(self):
        pairs = [f"echo a{i}; sleep 0.2; printf b{i} >&2" for i in range(4)]
        status, lines, _ = run(*pairs)
        self.assertEqual(status, 0)
        self.assertEqual(sorted(lines), sorted(f"{which}{i}" for i in range(4) for which in "ab"))
        self.assertTrue(all(second == "b" + first[1:] for first, second in zip(lines[::2], lines[1::2])))

    def test_they_run_at_once(self):
        with tempfile.TemporaryDirectory() as folder:
            wait = "for ((i = 0; i < 500; ++i)); do [[ ! -e {0}/{1} ]] || exit 0; sleep 0.01; done; exit 1"
            status, lines, _ = run(*(f"touch {folder}/{mine}; " + wait.format(folder, other)
                                     for mine, other in (("a", "b"), ("b", "a"))))
            self.assertEqual((status, [line for line in lines if line]), (0, []))

    def test_one_that_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            others = 20 * len(os.sched_getaffinity(0))
            status, lines, _ = run("echo no; exit 3", *[f"sleep 0.2; touch {folder}/$$"] * others)
            self.assertEqual(status, 1)
            self.assertIn("no", lines)
            self.assertIn("status 3: echo no; exit 3", lines)
            begun = len(list(pathlib.Path(folder).iterdir()))
            self.assertLess(begun, others)
            time.sleep(0.5)
            self.assertEqual(len(list(pathlib.Path(folder).iterdir())), begun)

    def test_the_last_one_fails(self):
        self.assertEqual(run("true", "true", "exit 255")[0], 1)

    def test_what_was_said_before_a_stage_is_stopped(self):
        with tempfile.TemporaryDirectory() as folder:
            command = f"echo begun; touch {folder}/begun; sleep 20"
            with subprocess.Popen([SCRIPT, command], stdout=subprocess.PIPE, text=True,
                                  start_new_session=True) as stage:
                while not os.path.exists(f"{folder}/begun"):
                    self.assertIsNone(stage.poll())
                    time.sleep(0.01)
                os.killpg(stage.pid, signal.SIGTERM)
                said, _ = stage.communicate(timeout=60)
        self.assertEqual((stage.returncode, said.splitlines()), (1, ["begun", f"status -15: {command}"]))

    def test_more_for_each_cpu(self):
        count = 6 * len(os.sched_getaffinity(0))
        with tempfile.TemporaryDirectory() as folder:
            all_are_here = (f"for ((i = 0; i < 500; ++i)); do [[ $(ls {folder} | wc -l) != {count} ]] || exit 0; "
                            "sleep 0.01; done; exit 1")
            status, _, _ = run("--per-cpu", "6", *(f"touch {folder}/{i}; {all_are_here}" for i in range(count)))
            self.assertEqual(status, 0)

    def test_no_commands(self):
        for arguments in [(), ("--per-cpu", "3"), ("--per-cpu", "0", "true"), ("--per-cpu",), ("-j", "true")]:
            with self.subTest(arguments):
                status, _, said = run(*arguments)
                self.assertEqual(status, 2)
                self.assertIn("usage: side_by_side", said)


if __name__ == "__main__":
    unittest.main()
