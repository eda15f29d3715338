"""Runs the programs, interleaved, pinned, and watched: rounds of processes, one of each program a round."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field

from . import machine

NO_RESULT = "printed no result"


@dataclass(frozen=True)
class Job:
    """One process to be run every round."""

    program: object
    workers: int
    options: tuple
    # Shown to the user, and in results, beside a failure.
    params: tuple = ()
    timeout: int = 60
    # May have more workers than this process has CPUs.
    oversubscribes: bool = False

    @property
    def title(self):
        text = f"{self.program.workload} {self.program.peer}"
        text += "".join(f" {name}={value}" for name, value in self.params)
        return text + (f", {self.workers} workers" if self.workers != 1 else "")


@dataclass
class Outcome:
    lines: list = field(default_factory=list)
    failure: str = ""


def run_process(command, timeout):
    """Runs one program and reads its lines. What it printed before it failed counts."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True)
    _let_die_first(process.pid)
    failure = ""
    try:
        output, errors = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        failure = f"timed out after {timeout} s"
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    if failure:
        output, errors = process.communicate()
    elif process.returncode < 0:
        failure = f"crashed ({signal.Signals(-process.returncode).name})"
    elif process.returncode > 0:
        failure = f"failed (exit code {process.returncode})"
    if failure and errors.strip():
        failure += ": " + errors.strip().splitlines()[-1][:160]
    outcome = Outcome(failure=failure)
    for text in output.splitlines():
        try:
            line = json.loads(text)
        except ValueError:
            line = None
        if isinstance(line, dict):
            outcome.lines.append(line)
        elif not outcome.failure:
            outcome.failure = f"printed what is no result: {text[:80]}"
    if not outcome.failure and not any("value" in line or "unsupported" in line for line in outcome.lines):
        outcome.failure = NO_RESULT
    return outcome


def _let_die_first(pid):
    """Should memory run out, for a size that is too much for the machine, the kernel shall end this process."""
    try:
        with open(f"/proc/{pid}/oom_score_adj", "w", encoding="ascii") as file:
            file.write("1000")
    except OSError:
        pass


class Progress:
    """Says on stderr what runs and how long the rest will take; one line that changes, if that is a terminal."""

    def __init__(self, jobs, rounds, stream=None):
        self._left = {job: rounds for job in jobs}
        self._seconds = {}
        self._stream = stream or sys.stderr
        self._shown_round = None

    def start(self, job, round_number, rounds):
        text = f"round {round_number} of {rounds}: {job.title}"
        if self._seconds:
            text += f"  (about {_duration(self._remaining())} left)"
        if self._stream.isatty():
            print(f"\r\x1b[K{text}", end="", file=self._stream, flush=True)
        elif self._shown_round != (job.program.workload, round_number):
            self._shown_round = (job.program.workload, round_number)
            print(text.replace(job.title, job.program.workload), file=self._stream, flush=True)

    def finish(self, job, seconds):
        self._seconds[job] = seconds
        self._left[job] -= 1

    def give_up(self, job):
        self._left[job] = 0

    def clear(self):
        if self._stream.isatty():
            print("\r\x1b[K", end="", file=self._stream, flush=True)

    def _remaining(self):
        usual = sum(self._seconds.values()) / len(self._seconds)
        return sum(count * self._seconds.get(job, usual) for job, count in self._left.items())


def _duration(seconds):
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def measure(jobs, rounds, clock, progress, collection, on_workload_done=lambda workload: None):
    """Measures `jobs`, workload by workload, and adds what they print to `collection`."""
    for workload in dict.fromkeys(job.program.workload for job in jobs):
        active = [job for job in jobs if job.program.workload == workload]
        for round_number in range(1, rounds + 1):
            clock.read()
            # Each round begins with another program, so that none always runs after the same one.
            shift = round_number % len(active) if active else 0
            for job in active[shift:] + active[:shift]:
                progress.start(job, round_number, rounds)
                started = time.monotonic()
                outcome = _run_pinned(job)
                progress.finish(job, time.monotonic() - started)
                # A program need not have the variant that the user asked for.
                if not (outcome.failure == NO_RESULT and "--variant" in job.options):
                    collection.add(job, outcome)
                if outcome.failure and not any("value" in line for line in outcome.lines):
                    progress.give_up(job)
                    active.remove(job)
        progress.clear()
        on_workload_done(workload)


def _run_pinned(job):
    cpus = machine.choose_cpus(job.workers)
    if cpus is None and job.oversubscribes:
        cpus = sorted(os.sched_getaffinity(0))
    if cpus is None:
        return Outcome(failure=f"needs {job.workers} CPUs, and this process may use fewer")
    command = ["taskset", "-c", ",".join(map(str, cpus)), *job.program.command, "--workers", str(job.workers)]
    return run_process(command + list(job.options), job.timeout)
