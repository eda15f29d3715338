#!/usr/bin/env python3
"""That the signal stack backend is ISO C and POSIX, which backend a CPU without a switch of its own gets, and what the
probes of CMake find out."""
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SOURCE = ROOT / "src/arch/signalstack_backend.c"
STRICT = ["-std=c11", "-pedantic-errors", "-Wall", "-Wextra", "-Werror"]
# POSIX.1-2008 with the option that sigaltstack belongs to.
POSIX = "-D_XOPEN_SOURCE=700"
MIPS = "mips64el-linux-gnuabi64"


def run(*command, text=None):
    return subprocess.run(command, input=text, capture_output=True, text=True)


def own_text(compiler):
    """What the preprocessor makes of the file, without the text of libc's headers."""
    own, lines = True, []
    for line in run(compiler, "-std=c11", POSIX, f"-I{ROOT}/include", "-E", SOURCE).stdout.splitlines():
        if marker := re.match(r'# \d+ "([^"]*)"', line):
            own = marker.group(1).startswith(str(ROOT))
        elif own:
            lines.append(line)
    return "\n".join(lines)


class SignalStackBackend(unittest.TestCase):
    def test_is_iso_c_and_posix(self):
        # The attributes are hints: without them, too, it is a program of the language.
        for compiler in ("gcc-12", "clang-19", "musl-gcc", f"{MIPS}-gcc-12"):
            with self.subTest(compiler=compiler):
                done = run(compiler, *STRICT, POSIX, "-D__attribute__(x)=", f"-I{ROOT}/include", "-fsyntax-only", SOURCE)
                self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_planted_extension_is_refused(self):
        for planted in ("int f(void) { return ({ 1; }); }", "typeof(1) f;", "int f(void) { return gettid(); }"):
            with self.subTest(planted=planted):
                text = SOURCE.read_text() + planted
                done = run("gcc-12", *STRICT, POSIX, "-D__attribute__(x)=", f"-I{ROOT}/include", "-fsyntax-only", "-xc", "-",
                           text=text)
                self.assertNotEqual(done.returncode, 0)

    def test_has_no_assembly(self):
        text = own_text("gcc-12")
        self.assertIn("sennit_signalstack_make", text)
        self.assertEqual(re.findall(r"\b(?:asm|__asm__|__asm|__thread|__builtin_\w+|typeof)\b", text), [])


class Choice(unittest.TestCase):
    def chosen_by_the_header(self, compiler, *flags):
        macros = run(compiler, "-std=c11", POSIX, *flags, f"-I{ROOT}/include", "-dM", "-E", "-xc", "-",
                     text='#include "sennit/detail/arch/context.h"\n').stdout
        self.assertIn("SENNIT_DETAIL_ARCH_CONTEXT_H", macros)
        return re.findall(r"^#define SENNIT_BACKEND_(UCONTEXT|SIGNALSTACK)\b", macros, re.MULTILINE)

    def test_of_the_header(self):
        self.assertEqual(self.chosen_by_the_header("gcc-12"), [])  # a switch of its own
        self.assertEqual(self.chosen_by_the_header(f"{MIPS}-gcc-12"), ["UCONTEXT"])
        self.assertEqual(self.chosen_by_the_header(f"{MIPS}-gcc-12", "-DSENNIT_BACKEND_SIGNALSTACK"), ["SIGNALSTACK"])
        self.assertEqual(self.chosen_by_the_header("gcc-12", "-DSENNIT_BACKEND_UCONTEXT"), ["UCONTEXT"])

    def configured(self, toolchain, *options):
        """The compiler's commands for the arch room, as CMake has them."""
        with tempfile.TemporaryDirectory() as folder:
            done = run("cmake", "-GNinja", "-S", ROOT, "-B", folder, "-DSENNIT_ROOMS=arch", "-DSENNIT_TESTS=OFF",
                       "-DSENNIT_EXAMPLES=OFF", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", *toolchain, *options)
            self.assertEqual(done.returncode, 0, done.stderr)
            return (pathlib.Path(folder) / "compile_commands.json").read_text()

    def test_of_the_build(self):
        unknown = [f"--toolchain={ROOT}/cmake/mips64el.cmake"]
        # By default what its libc links, which is told before it is asked here.
        with_makecontext = self.configured(unknown)
        self.assertNotIn("-DSENNIT_BACKEND_", with_makecontext)  # so the header's
        self.assertIn("ucontext_backend.cpp", with_makecontext)
        without = self.configured(unknown, "-DSENNIT_MAKECONTEXT=OFF")
        self.assertIn("-DSENNIT_BACKEND_SIGNALSTACK", without)
        self.assertNotIn("ucontext_backend.cpp", without)
        # A swapcontext that links, and does nothing, counts as none.
        fails = self.configured(unknown, "-DCMAKE_C_FLAGS=-Dswapcontext=sched_yield")
        self.assertIn("-DSENNIT_BACKEND_SIGNALSTACK", fails)
        known = self.configured(["-DCMAKE_CXX_COMPILER=g++-12", "-DCMAKE_C_COMPILER=gcc-12"], "-DSENNIT_MAKECONTEXT=OFF")
        self.assertNotIn("-DSENNIT_BACKEND_", known)

    def test_of_stacks_that_grow_up(self):
        def cache(*options):
            with tempfile.TemporaryDirectory() as folder:
                done = run("cmake", "-GNinja", "-S", ROOT, "-B", folder, "-DSENNIT_TESTS=OFF", "-DSENNIT_EXAMPLES=OFF", *options)
                found = re.findall(r"^SENNIT_STACK_GROWTH:\w+=(\w+)", (pathlib.Path(folder) / "CMakeCache.txt").read_text(), re.M)
                return done.returncode, done.stderr, found

        arch = "-DSENNIT_ROOMS=arch"
        here = ["-DCMAKE_CXX_COMPILER=g++-12", "-DCMAKE_C_COMPILER=gcc-12"]
        self.assertEqual(cache(arch, *here), (0, "", ["down"]))
        self.assertEqual(cache(arch, f"--toolchain={ROOT}/cmake/mips64el.cmake"), (0, "", ["down"]))
        code, error, _ = cache("-DSENNIT_STACK_GROWTH=up", *here)
        self.assertNotEqual(code, 0)
        self.assertIn("configure with -DSENNIT_ROOMS=arch", " ".join(error.split()))
        hppa = ["-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_SYSTEM_PROCESSOR=hppa", "-DCMAKE_C_COMPILER=hppa-linux-gnu-gcc",
                "-DCMAKE_CXX_COMPILER=hppa-linux-gnu-g++"]
        emulated = "-DCMAKE_CROSSCOMPILING_EMULATOR=qemu-hppa;-L;/usr/hppa-linux-gnu"
        if shutil.which("hppa-linux-gnu-g++") and shutil.which("qemu-hppa"):  # installed for ./check arch
            self.assertEqual(cache(arch, *hppa, emulated), (0, "", ["up"]))
            self.assertNotEqual(cache(*hppa)[0], 0)


if __name__ == "__main__":
    missing = [each for each in ("gcc-12", "clang-19", "musl-gcc", f"{MIPS}-gcc-12", "cmake") if not shutil.which(each)]
    if missing:
        raise SystemExit(f"not installed: {', '.join(missing)}")
    unittest.main()
