"""scripts/install_packages on a PATH of impostors: what it asks apt for, and what it says when it cannot."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "install_packages"
TOOLS = "bash sh cat env grep mktemp rm mv tail tee chmod touch true".split()


class InstallPackages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.path = self.folder / "bin"
        self.path.mkdir()
        self.policy = self.folder / "policy-rc.d"
        self.calls = self.folder / "calls"
        self.calls.touch()
        for tool in TOOLS:
            (self.path / tool).symlink_to(shutil.which(tool))
        self.impostor("id", "echo 0")
        # Installed is what apt-get was asked to install.
        self.impostor("dpkg-query", f'[[ -e {self.folder}/has-${{@: -1}} ]] && echo -n installed')
        self.impostor("apt-get", f'echo "apt-get $*" >>{self.calls}\n'
                      f'[[ ! -x {self.policy} ]] || {{ {self.policy} redis-server start || '
                      f'echo "policy says $?" >>{self.calls}; }}\n'
                      f'for package in "$@"; do : >{self.folder}/has-"${{package//\\//-}}"; done')

    def impostor(self, name: str, body: str) -> None:
        path = self.path / name
        path.unlink(missing_ok=True)
        path.write_text(f"#!{shutil.which('bash')}\n{body}\n", encoding="utf-8")
        path.chmod(0o755)

    def run_script(self, *groups: str) -> tuple[int, str]:
        ran = subprocess.run([SCRIPT, *groups], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                             env={"PATH": str(self.path), "SENNIT_POLICY_RC_D": str(self.policy),
                                  "TMPDIR": str(self.folder)})
        return ran.returncode, ran.stdout + ran.stderr

    def asked(self) -> str:
        return self.calls.read_text()

    def test_installs_what_is_missing_and_a_second_run_does_nothing(self):
        (self.folder / "has-cmake").touch()
        status, output = self.run_script("build")
        self.assertEqual(status, 0, output)
        self.assertIn("ninja-build              runs the build", output)
        self.assertNotIn("cmake", output)
        install = [line for line in self.asked().splitlines() if " install " in line]
        self.assertEqual(len(install), 1)
        self.assertIn("--no-install-recommends", install[0])
        self.assertNotIn("cmake", install[0])
        self.assertNotIn("gcc-multilib", install[0])
        self.calls.write_text("")
        self.assertEqual(self.run_script("build"), (0, ""))
        self.assertEqual(self.asked(), "")

    def test_group_decides(self):
        self.run_script("server")
        self.assertIn("redis-tools redis-server", self.asked())
        self.assertNotIn("cmake", self.asked())
        self.run_script()
        self.assertIn("cmake", self.asked())
        self.assertNotIn("ghc", self.asked())
        self.run_script("paper")
        self.assertIn("ghc erlang-base", self.asked())

    def test_a_command_on_path_serves_instead_of_its_package(self):
        self.impostor("go", "")
        self.run_script("bench")
        self.assertNotIn("golang-go", self.asked())
        self.assertIn("cargo", self.asked())

    def test_no_service_is_started_and_no_policy_left_behind(self):
        self.run_script("server")
        self.assertIn("policy says 101", self.asked())
        self.assertFalse(self.policy.exists())

    def test_a_policy_that_was_there_comes_back(self):
        self.policy.write_text("#!/bin/sh\nexit 0\n")
        self.policy.chmod(0o755)
        self.run_script("server")
        self.assertIn("policy says 101", self.asked())
        self.assertEqual(self.policy.read_text(), "#!/bin/sh\nexit 0\n")
        self.assertEqual([p.name for p in self.folder.glob("policy*")], ["policy-rc.d"])

    def test_policy_comes_back_after_a_failure_too(self):
        self.impostor("apt-get", "exit 100")
        self.assertEqual(self.run_script("server")[0], 1)
        self.assertFalse(self.policy.exists())

    def test_sudo_is_used_when_not_root(self):
        self.impostor("id", "echo 1000")
        self.impostor("sudo", f'echo "sudo $*" >>{self.calls}\n[[ $1 != -n ]] || shift\nexec "$@"')
        status, output = self.run_script("build")
        self.assertEqual(status, 0, output)
        self.assertIn("sudo -n env DEBIAN_FRONTEND=noninteractive apt-get", self.asked())

    def assert_refusal(self, *sentences: str) -> None:
        status, output = self.run_script("build")
        self.assertEqual(status, 1, output)
        for sentence in sentences:
            self.assertIn(sentence, output)

    def test_neither_root_nor_sudo(self):
        self.impostor("id", "echo 1000")
        self.assert_refusal("not root, and there is no sudo", "run as root: apt-get install", "ninja-build")
        self.assertEqual(self.asked(), "")

    def test_sudo_that_refuses(self):
        self.impostor("id", "echo 1000")
        self.impostor("sudo", "exit 1")
        self.assert_refusal("sudo refused", "run as root")

    def test_no_apt(self):
        (self.path / "apt-get").unlink()
        self.assert_refusal("there is no apt-get", "install them by hand")

    def test_not_debian(self):
        (self.path / "dpkg-query").unlink()
        self.assert_refusal("not a Debian system")

    def test_network_down(self):
        self.impostor("apt-get", 'echo "E: Failed to fetch http://deb.debian.org/: Temporary failure resolving"; exit 100')
        self.assert_refusal("cannot reach its mirror", "check the network and the proxy", "Failed to fetch")

    def test_unknown_package(self):
        self.impostor("apt-get", 'echo "E: Unable to locate package lld-19"; exit 100')
        self.assert_refusal("does not know some of these packages", "Debian 12")

    def test_apt_that_lies(self):
        self.impostor("apt-get", "exit 0")
        self.assert_refusal("is not installed")

    def test_unknown_group(self):
        status, output = self.run_script("kitchen")
        self.assertEqual(status, 1)
        self.assertIn("there is no group 'kitchen'", output)


if __name__ == "__main__":
    unittest.main()
