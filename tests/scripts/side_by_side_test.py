"""scripts/side_by_side: what is said of commands that run beside each other."""

import os
import pathlib
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/side_by_side"


def run(*commands):
    done = subprocess.run([SCRIPT, *commands], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout.splitlines(), done.stderr


class SideBySide(unittest.TestCase):
    def test_what_each_prints_comes_whole(self):
        pairs = [f"echo a{i}; sleep 0.2; echo b{i} >&2" for i in range(4)]
        status, lines, _ = run(*pairs)
        self.assertEqual(status, 0)
        self.assertEqual(sorted(lines), sorted(f"{which}{i}" for i in range(4) for which in "ab"))
        self.assertTrue(all(second == "b" + first[1:] for first, second in zip(lines[::2], lines[1::2])))

    @unittest.skipIf(os.cpu_count() == 1, "one CPU runs one at a time")
    def test_they_run_at_once(self):
        with tempfile.TemporaryDirectory() as folder:
            wait = "for ((i = 0; i < 500; ++i)); do [[ ! -e {0}/{1} ]] || exit 0; sleep 0.01; done; exit 1"
            status, lines, _ = run(*(f"touch {folder}/{mine}; " + wait.format(folder, other)
                                     for mine, other in (("a", "b"), ("b", "a"))))
            self.assertEqual((status, [line for line in lines if line]), (0, []))

    def test_one_that_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            status, lines, _ = run("echo no; exit 3", *[f"sleep 0.2; touch {folder}/$$"] * 40)
            self.assertNotEqual(status, 0)
            self.assertIn("no", lines)
            self.assertIn("status 3: echo no; exit 3", lines)
            self.assertLess(len(list(pathlib.Path(folder).iterdir())), 40)

    def test_no_commands(self):
        status, _, said = run()
        self.assertEqual((status, said), (2, "usage: scripts/side_by_side COMMAND...\n"))


if __name__ == "__main__":
    unittest.main()
