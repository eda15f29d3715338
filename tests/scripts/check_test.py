"""./check on stages of its own: what passes, fails, is skipped, hangs, and how that is counted."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

CHECK = Path(__file__).resolve().parents[2] / "check"


class Check(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.stages = Path(folder.name) / "stages"
        self.stages.mkdir()
        self.logs = Path(folder.name) / "logs"

    def stage(self, name: str, body: str, mode: int = 0o755) -> None:
        path = self.stages / name
        path.write_text("#!/usr/bin/env bash\n# The purpose of " + name + "\n" + body, encoding="utf-8")
        path.chmod(mode)

    def check(self, *arguments: str) -> tuple[int, list[str]]:
        environment = os.environ | {"SENNIT_CHECK_STAGES": str(self.stages), "SENNIT_CHECK_LOGS": str(self.logs),
                                    "SENNIT_CHECK_STAGE_LIMIT": "2"}
        ran = subprocess.run([CHECK, *arguments], env=environment, capture_output=True, text=True)
        return ran.returncode, (ran.stdout + ran.stderr).splitlines()

    def test_all_passed(self):
        self.stage("10-one", "echo found 3\n")
        self.stage("20-two", "echo found 4\n")
        status, lines = self.check()
        self.assertEqual(status, 0)
        self.assertEqual(lines[-1], "2 passed, 0 failed")
        self.assertIn("== one: The purpose of 10-one", lines)
        self.assertTrue(any(line.startswith("PASS     one") and "found 3" in line for line in lines))

    def test_stages_after_a_failed_one_still_run(self):
        self.stage("10-one", "echo this is why; exit 1\n")
        self.stage("20-two", "true\n")
        status, lines = self.check()
        self.assertEqual(status, 1)
        self.assertEqual(lines[-1], "1 passed, 1 failed")
        self.assertIn("   | this is why", lines)
        self.assertEqual((self.logs / "one.log").read_text(), "this is why\n")

    def test_required_stage_that_did_not_run_is_a_failure(self):
        self.stage("10-one", "echo no compiler here; exit 77\n")
        status, lines = self.check()
        self.assertEqual(status, 1)
        self.assertEqual(lines[-1], "0 passed, 1 failed")
        self.assertTrue(any("SKIPPED" in line and "no compiler here" in line for line in lines))

    def test_optional_stage_may_be_skipped_but_not_fail(self):
        self.stage("10-one", "# optional\nexit 77\n")
        self.stage("20-two", "true\n")
        self.assertEqual(self.check()[1][-1], "1 passed, 0 failed")
        self.stage("10-one", "# optional\nexit 1\n")
        self.assertEqual(self.check()[1][-1], "1 passed, 1 failed")

    def test_in_continuous_integration_folders_go_with_the_last_stage_that_needs_them(self):
        folder = self.logs.parent / "tree"
        for ci, body, left in (("false", "true\n", True), ("true", "exit 1\n", True), ("true", "true\n", False)):
            folder.mkdir(exist_ok=True)
            self.stage("10-one", f"# last to need {folder}\n{body}")
            os.environ["CI"] = ci
            self.addCleanup(os.environ.pop, "CI", None)
            self.check()
            self.assertEqual(folder.exists(), left, (ci, body))

    def test_named_stages_only(self):
        self.stage("10-one", "true\n")
        self.stage("20-two", "exit 1\n")
        self.assertEqual(self.check("one")[1][-1], "1 passed, 0 failed")
        self.assertEqual(self.check("20-two")[1][-1], "0 passed, 1 failed")

    def test_some_stages_come_last_and_only_with_all(self):
        self.stage("10-one", "# only with --all\ntrue\n")
        self.stage("20-two", "true\n")
        status, lines = self.check()
        self.assertEqual((status, lines[-1]), (0, "1 passed, 0 failed"))
        self.assertFalse((self.logs / "one.log").exists())
        status, lines = self.check("--all")
        self.assertEqual((status, lines[-1]), (0, "2 passed, 0 failed"))
        ran = [line for line in lines if line.startswith("== ")]
        self.assertEqual([line.split(":")[0] for line in ran], ["== two", "== one"])
        self.assertEqual(self.check("one")[1][-1], "1 passed, 0 failed")

    def test_these_are_not_begun_too_late(self):
        self.stage("10-one", "sleep 1.5\n")
        self.stage("20-two", "true\n")
        self.stage("30-three", "# only with --all\nfalse\n")
        status, lines = self.check("--within", "1s")
        self.assertEqual((status, lines[-1]), (0, "2 passed, 0 failed, 1 not begun"))
        self.assertTrue(any(line.startswith("LATE     three") for line in lines))
        self.stage("10-one", "true\n")
        status, lines = self.check("--within", "1h")
        self.assertEqual((status, lines[-1]), (1, "2 passed, 1 failed"))

    def test_bad_choices(self):
        self.stage("10-one", "true\n")
        for arguments, said in [(["--all", "one"], "name none"), (["one", "--within", "1h"], "name none"),
                                (["--within"], "as in 55m"), (["--within", "soon"], "as in 55m")]:
            with self.subTest(arguments):
                status, lines = self.check(*arguments)
                self.assertEqual(status, 2)
                self.assertIn(said, lines[-1])

    def test_unknown_stage(self):
        self.stage("10-one", "true\n")
        status, lines = self.check("three")
        self.assertEqual(status, 2)
        self.assertIn("no stage 'three'", lines[-1])

    def test_tables_of_a_stage_that_passed_are_printed_if_it_says_so(self):
        body = "echo compiling\necho '| a | b (1) |'\necho '|---|---|'\necho '(1) A note.'\necho '(all) done'\n"
        table = ["| a | b (1) |", "|---|---|", "(1) A note."]
        self.stage("10-one", "# shows tables\n" + body)
        lines = self.check()[1]
        self.assertEqual(lines[1:4], table)
        self.assertNotIn("compiling", lines)
        self.stage("10-one", body)
        self.assertFalse(set(table) & set(self.check()[1]))
        self.stage("10-one", "# shows tables\necho none\n")
        self.assertEqual(self.check()[0], 0)

    def test_stage_that_hangs_is_stopped(self):
        self.stage("10-one", "sleep 60\n")
        status, lines = self.check()
        self.assertEqual(status, 1)
        self.assertTrue(any("stopped after 2 s" in line for line in lines))

    def test_stage_that_lost_its_mode_does_not_vanish(self):
        self.stage("10-one", "true\n")
        self.stage("20-two", "true\n", mode=0o644)
        status, lines = self.check()
        self.assertEqual(status, 2)
        self.assertIn("20-two is not executable", lines[-1])

    def test_time_is_passed_to_the_stage_fuzz(self):
        self.stage("10-one", "true\n")
        self.stage("20-fuzz", "echo time ${SENNIT_FUZZ_TIME:-unset}\n")
        for arguments in [["fuzz", "--time", "10m"], ["--time=10m", "fuzz"], ["--time", "10m", "20-fuzz", "one"]]:
            status, lines = self.check(*arguments)
            self.assertEqual(status, 0, lines)
            self.assertTrue(any(line.endswith("time 10m") for line in lines), lines)
        self.assertTrue(any(line.endswith("time unset") for line in self.check("fuzz")[1]))

    def test_time_makes_the_limit_of_a_stage_longer(self):
        self.stage("10-fuzz", "sleep 4; echo slept\n")
        self.assertEqual(self.check("fuzz")[0], 1)
        self.assertEqual(self.check("fuzz", "--time", "5s")[0], 0)

    def test_bad_times(self):
        self.stage("10-fuzz", "true\n")
        for time in ["", "10", "m", "0s", "-1m", "1.5h", "10x", "10 m", "1d", "1234567s", "10m10s"]:
            status, lines = self.check("fuzz", "--time", time)
            self.assertEqual(status, 2, time)
            self.assertEqual(lines, [f"check: '{time}' is not a time: a whole number and s, m or h, as in 10m"])
        self.assertEqual(self.check("fuzz", "--time"), (2, ["check: --time is followed by a time, as in 10m"]))

    def test_time_is_passed_to_the_stage_stress(self):
        self.stage("10-stress", "echo time ${SENNIT_STRESS_TIME:-unset}\n")
        self.assertTrue(any(line.endswith("time 1h") for line in self.check("stress", "--time", "1h")[1]))
        self.assertTrue(any(line.endswith("time unset") for line in self.check("stress")[1]))

    def test_time_is_for_the_stages_fuzz_and_stress_only(self):
        self.stage("10-one", "true\n")
        self.stage("20-fuzz", "true\n")
        for arguments in [["--time", "1m"], ["one", "--time", "1m"]]:
            self.assertEqual(self.check(*arguments),
                             (2, ["check: --time is for the stages fuzz and stress: ./check fuzz --time 10m"]))

    def test_unknown_option(self):
        self.stage("10-one", "true\n")
        self.assertEqual(self.check("--tiem", "1m"), (2, ["check: there is no option '--tiem'; ./check --help names them"]))

    def test_help(self):
        self.stage("10-one", "exit 1\n")
        status, lines = self.check("--help")
        self.assertEqual(status, 0)
        self.assertTrue(any("./check fuzz --time TIME" in line for line in lines))

    def test_list(self):
        self.stage("10-one", "exit 1\n")
        status, lines = self.check("--list")
        self.assertEqual(status, 0)
        self.assertEqual(lines, ["one              The purpose of 10-one"])
        self.stage("05-two", "# only with --all\nexit 1\n")
        self.assertEqual(self.check("--list")[1], lines + ["only with --all:", "two              The purpose of 05-two"])


if __name__ == "__main__":
    unittest.main()
