"""Objects of another build, and second copies of the library, are refused by the linker: COMPILER LIBRARY INCLUDE."""

import os
import subprocess
import sys
import tempfile

COMPILER, LIBRARY, INCLUDE = sys.argv[1:]
SOURCE = """
#include "sennit/mutex.hpp"
#include "sennit/runtime.hpp"
void NAME() {
  sennit::mutex m;
  sennit::runtime({.workers = 1}).run([&m] { m.lock(); m.unlock(); sennit::this_fiber::yield(); });
}
#if defined(WITH_MAIN)
int main() { NAME(); }
#endif
"""
# A macro that changes what is inlined, and what the linker then calls what it misses.
BUILDS = {
    "SENNIT_COUNTERS": "_with_counters",
    "SENNIT_BACKEND_UCONTEXT": "_on_ucontext",
    "SENNIT_VERSION_MINOR=99": "sennit_thread_of_0_99_0",
}


def run(*command):
    return subprocess.run(command, capture_output=True, text=True)


def must(result, why):
    if result.returncode != 0:
        sys.exit(f"{why}: {result.stderr}")


def must_not(result, text):
    if result.returncode == 0 or text not in result.stderr:
        sys.exit(f"expected an error with {text!r}, status {result.returncode}: {result.stderr}")


def compile_as(folder, name, *options):
    made = os.path.join(folder, name + ".o")
    include = INCLUDE
    for option in options:
        if option.startswith("-DSENNIT_VERSION_MINOR"):  # which its header defines
            include = os.path.join(folder, "include")
            run("cp", "-r", INCLUDE, include)
            header = os.path.join(include, "sennit/version.h")
            text = open(header).read()
            open(header, "w").write(text.replace("SENNIT_VERSION_MINOR 1", "SENNIT_VERSION_MINOR 99"))
    source = os.path.join(folder, name + ".cpp")
    with open(source, "w") as file:
        file.write(SOURCE)
    options = [each for each in options if "VERSION_MINOR" not in each]
    must(run(COMPILER, "-std=c++20", f"-I{include}", f"-DNAME={name}", *options, "-c", source, "-o", made), name)
    return made


def main():
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "program")

        def link(*what):
            return run(COMPILER, *what, "-pthread", "-o", program)

        plain = compile_as(folder, "plain", "-DWITH_MAIN")
        must(link(plain, LIBRARY), "the same build")
        must(run(program), "the program")
        for number, (macro, text) in enumerate(BUILDS.items()):
            other = compile_as(folder, f"other{number}", f"-D{macro}")
            must_not(link(plain, other, LIBRARY), text)

        # A library of another build, to which the second object belongs.
        copy = os.path.join(folder, "copy.a")
        must(run("cp", LIBRARY, copy), "cp")
        old = "sennit_thread_of_0_1_0"
        must(run("objcopy", f"--redefine-sym={old}={old}_with_counters", copy), "objcopy")
        other = compile_as(folder, "counting", "-DSENNIT_COUNTERS")
        must_not(link(plain, other, LIBRARY, copy), "sennit_thread")
        # And of the same one, where all of both is asked for.
        must_not(link(plain, "-Wl,--whole-archive", LIBRARY, copy, "-Wl,--no-whole-archive"), "multiple definition")


main()
