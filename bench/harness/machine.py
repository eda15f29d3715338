"""The machine the results are of: processor, kernel, compilers, commit, and the clock it really ran at."""

import json
import os
import platform
import re
import statistics
import subprocess
from pathlib import Path

from .toolchains import TOOLCHAINS


def _first_line(*command):
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.splitlines()[0].strip() if done.returncode == 0 and done.stdout else None


def processor_model():
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.machine()
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found.group(1) if found else platform.machine()


def _memory_gib():
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)


def _commit(root):
    commit = _first_line("git", "-C", str(root), "rev-parse", "--short=12", "HEAD")
    if commit and _first_line("git", "-C", str(root), "status", "--porcelain"):
        commit += " and changes"
    return commit


def _built_with(build):
    """The compiler and build type in CMake's cache of `build`."""
    try:
        cache = (build / "CMakeCache.txt").read_text()
    except OSError:
        return None
    values = dict(re.findall(r"^(CMAKE_CXX_COMPILER|CMAKE_BUILD_TYPE):\w+=(.*)$", cache, re.MULTILINE))
    return " ".join(values[key] for key in sorted(values, reverse=True))


def describe(root, build):
    """All but the clock and the peers' versions, which are known when the programs have run."""
    compilers = {
        "gcc": _first_line("g++", "--version"),
        "clang": _first_line("clang++-19", "--version") or _first_line("clang++", "--version"),
    }
    compilers.update({toolchain.tools[0]: toolchain.installed_version() for toolchain in TOOLCHAINS})
    return {
        "cpu": processor_model(),
        "architecture": platform.machine(),
        "cpus": len(os.sched_getaffinity(0)),
        "memory_gib": _memory_gib(),
        "kernel": platform.release(),
        "libc": " ".join(platform.libc_ver()),
        "compilers": {name: version for name, version in compilers.items() if version},
        "built_with": _built_with(build),
        "commit": _commit(root),
    }


def _topology(cpu, item):
    try:
        return Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/{item}").read_text().strip()
    except OSError:
        return str(cpu)


def choose_cpus(count):
    """`count` CPUs of those this process may use, on as many cores as there are; the first CPU, which serves most
    interrupts, last. None when there are too few."""
    cpus = sorted(os.sched_getaffinity(0), reverse=True)
    if len(cpus) < count:
        return None
    cores, chosen = set(), []
    for cpu in cpus:
        core = (_topology(cpu, "physical_package_id"), _topology(cpu, "core_id"))
        if core not in cores:
            cores.add(core)
            chosen.append(cpu)
    chosen += [cpu for cpu in cpus if cpu not in chosen]
    return sorted(chosen[:count])


class Clock:
    """Readings of the core's clock, in GHz, by a chain of instructions that take one cycle each."""

    def __init__(self, program):
        self._program = program
        self.readings = []

    def read(self):
        cpus = choose_cpus(1)
        line = _first_line("taskset", "-c", str(cpus[0]), str(self._program))
        if line:
            self.readings.append(json.loads(line)["ghz"])

    @property
    def ghz(self):
        """The median reading. Each is the best of many short ones, so other work does not lower it; the processor's
        own changes of clock do."""
        return round(statistics.median(self.readings), 4) if self.readings else None

    def describe(self):
        if not self.readings:
            return None
        return {"min": min(self.readings), "median": self.ghz, "max": max(self.readings)}
