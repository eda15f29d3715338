#!/usr/bin/env python3
"""Runs one program with a planted bug, and its innocent twin: run_detect.py SOURCE [RUNNER...] PROGRAM

The twin must end well and say nothing but "done"; with the bug, the sanitizer must report it as SOURCE says, and
end the program. sanitizer_detect.hpp says how SOURCE does. Both are run once, and once more with the options named there.
"""
import os
import re
import subprocess
import sys

LIMIT = 100  # seconds, for all of it; generous
OPTIONS = ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS")


def said_by(source, what):
    return re.findall(rf"^// {what}: (.+)$", open(source, encoding="utf-8").read(), re.MULTILINE)


def run(command, bug, option):
    environment = dict(os.environ)
    for name in OPTIONS:
        environment[name] = ":".join(filter(None, [environment.get(name), option if name == "ASAN_OPTIONS" else ""]))
    return subprocess.run([*command, "bug"] if bug else command, env=environment, capture_output=True, text=True, errors="replace",
                          timeout=LIMIT, check=False)


def faults(result, bug, expected):
    """What is wrong with a run."""
    report = re.sub(r"^--\d+-- .*\n", "", result.stderr, flags=re.MULTILINE)  # Valgrind, of system calls it does not know
    if not bug:
        if result.returncode != 0:
            yield f"the innocent twin ended with {result.returncode}"
        if report:
            yield "the innocent twin was reported"
        if result.stdout != "done\n":
            yield f"the innocent twin printed {result.stdout!r}"
        return
    if result.returncode == 0:
        yield "the bug did not end the program"
    for pattern in expected:
        if not re.search(pattern, report):
            yield f"the report does not say {pattern!r}"


def main():
    source, *command = sys.argv[1:]
    program = command[-1]
    expected = said_by(source, "expect")
    expected += [rf"(#\d+ |\b(at|by) )(0x[0-9a-fA-F]+(: | in ))?{function}\b" for function in said_by(source, "frame")]
    failed = 0
    always = said_by(source, "always")
    for option in ["", *said_by(source, "options")]:
        option = ":".join(filter(None, [*always, option]))
        for bug in [False, True] if expected else [False]:
            result = run(command, bug, option)
            wrong = list(faults(result, bug, expected))
            for line in wrong:
                print(f"{os.path.basename(program)}{' with the bug' if bug else ''} {option}: {line}")
            if wrong:
                print(result.stderr)
            failed += bool(wrong)
    print("failed" if failed else "as it should be")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
