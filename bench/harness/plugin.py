"""Programs in C compiled by clang 19 with Sennit's plugin and without, to be compared: what measures that, and the
tests of real programs, build by these. What is built lies in build/polls/, and is built again when it must be."""

import argparse
import concurrent.futures
import functools
import hashlib
import json
import os
import resource
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import programs  # noqa: E402

FOLDER = ROOT / "build/polls"
DRIVERS = ROOT / "bench/polls"
PLUGIN = ROOT / "build/clang/compiler/sennit_compiler.so"
CONFIG = PLUGIN.with_name("sennit.cfg")
LIBRARY = ROOT / "build/release/libsennit.a"
KERNELS = "kernels"


class Failed(Exception):
    """With the cause."""


class OutOfReach(Failed):
    """The sources of a program cannot be fetched here."""


def done(command, **how):
    """The finished process of a command that must succeed."""
    try:
        return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True, **how)
    except FileNotFoundError as error:
        raise Failed(f"{error.filename} is not installed: scripts/install_packages test bench") from error
    except subprocess.CalledProcessError as error:
        raise Failed(f"{' '.join(map(str, command))}:\n{error.stdout[-1000:]}{error.stderr[-2000:]}") from error
    except subprocess.TimeoutExpired as error:
        raise Failed(f"{' '.join(map(str, command))}: did not end within {error.timeout:.0f} s") from error


def missing():
    """Why nothing can be built here, or None."""
    if os.uname().machine != "x86_64":
        return "what checks cost is measured on x86-64 only"
    if not PLUGIN.exists():
        return "the plugin has not been built: scripts/build clang --target sennit_compiler"
    if not LIBRARY.exists():
        return "the library has not been built: scripts/build release --target sennit"
    return None


def music(seconds):
    """An MP3 file of 128 kbit/s, 44.1 kHz, stereo: the same each time."""
    path = FOLDER / f"music{seconds}.mp3"
    if not path.is_file():
        FOLDER.mkdir(parents=True, exist_ok=True)
        # Names of its own until it is whole: somebody else may be making it.
        wave, made = path.with_suffix(f".{os.getpid()}.wav"), path.with_suffix(f".{os.getpid()}")
        done(["sox", "-R", "-n", "-r", "44100", "-c", "2", "-b", "16", wave, "synth", seconds, "sine", "220-880",
              "synth", seconds, "square", "mix", "110-55", "synth", seconds, "pinknoise", "mix", "gain", "-6"])
        done(["lame", "--quiet", "-b", "128", wave, made])
        wave.unlink()
        made.rename(path)
    return path


@dataclass
class Built:
    program: Path
    text: int       # bytes
    seconds: float  # of the compiler


def program_named(name):
    """One of scripts/programs.py, fetched; None for the kernels, which are here."""
    try:
        return None if name == KERNELS else programs.fetch(programs.PROGRAMS[name])
    except programs.CannotFetch as error:
        raise OutOfReach(str(error)) from error


def build(name, variant, options, runtime=(), more=(), link=()):
    """The program `name`, compiled with `options`; `runtime`: what is linked with it; `more`: options of its driver;
    `link`: of the linker."""
    program = program_named(name)
    folder = FOLDER / name / variant
    folder.mkdir(parents=True, exist_ok=True)
    # The driver of minimp3 decodes by the header alone.
    units = [*([] if program is None or name == "minimp3" else program.sources()), DRIVERS / f"{name}.c"]
    base = ["clang-19", *options, "-w", *(program.flags if program else ()),
            *([f"-I{program.folder}"] if program else ())]
    record, program_file = folder / "built.json", folder / "program"
    known = json.loads(record.read_text()) if record.is_file() else {}
    plugins = [PLUGIN] if "-mllvm" in options else []
    compiled_from = _digest([*units, DRIVERS / "data.h", *plugins], [*base, *more])
    linked_from = _digest(runtime, [compiled_from, *link])
    if known.get("linked") == linked_from:
        return Built(program_file, known["text"], known["seconds"])
    record.unlink(missing_ok=True)
    objects = [folder / f"{unit.parent.name}-{unit.stem}.o" for unit in units]
    if known.get("compiled") != compiled_from:
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
            list(workers.map(lambda unit, output: done(
                [*base, *(more if unit.parent == DRIVERS else ()), "-c", unit, "-o", output]), units, objects))
        known = {"seconds": resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before}
    at_link = ["-O2", "-flto", f"-Wl,--load-pass-plugin={PLUGIN}"] if "-flto" in options else []
    done(["clang-19", *link, *at_link, *objects, *runtime, "-fuse-ld=lld", "-lm", "-lstdc++", "-pthread",
          "-o", program_file])
    measured = [program_file] if at_link else objects
    known["text"] = sum(int(line.split()[0]) for line in done(["size", *measured]).stdout.splitlines()[1:])
    record.write_text(json.dumps({**known, "compiled": compiled_from, "linked": linked_from}))
    return Built(program_file, known["text"], known["seconds"])


def _digest(files, words):
    digest = hashlib.sha256("\0".join(map(str, words)).encode())
    for path in files:
        digest.update(hashlib.sha256(Path(path).read_bytes()).digest())
    return digest.hexdigest()


def checks(*options):
    """The compiler's options that load the plugin and have these of its own: `polls`, `polls-save=all`, ..."""
    return [f"--config={CONFIG}", *(part for each in options for part in ("-mllvm", f"-sennit-{each}"))]


# ---- Beside a player.

def build_beside(name, options):
    """The program `name`, compiled with `options`, that runs beside a player: beside.cpp."""
    return _build_beside(name, tuple(options))


@functools.cache
def _build_beside(name, options):
    source, made = DRIVERS / "beside.cpp", FOLDER / "beside.o"
    record, stamp = FOLDER / "beside.json", _digest([source, LIBRARY], [])
    if not record.is_file() or record.read_text() != stamp:
        FOLDER.mkdir(parents=True, exist_ok=True)
        done(["clang++-19", "-std=c++20", "-O2", "-DNDEBUG", f"-I{ROOT}/include", "-c", source, "-o", made])
        record.write_text(stamp)
    variant = "".join(part.removeprefix("-sennit") for part in options if part.startswith(("-O", "-m", "-sennit-")))
    return build(name, f"beside{variant.replace('-mllvm', '')}", options, [made, LIBRARY], ["-Dmain=program_main"])


@dataclass
class Run:
    output: str
    cpu: int      # ns of the program's thread
    passed: int   # ns
    turns: int    # of the player
    periods: int
    missed: int

    def missed_share(self):
        return self.missed / max(1, self.periods)


def run_beside(built, timer, period, arguments, prefix=(), timeout=600):
    """Runs it; `period` in ns. (Run, all that it printed on stderr)"""
    finished = done([*prefix, built.program, timer, period, *arguments], timeout=timeout)
    *before, last = finished.stderr.strip().splitlines()
    return Run(finished.stdout, **json.loads(last)), "\n".join(before)


# ---- What the runner reads.

def say(variant, params, metric, unit, value):
    print(json.dumps({"peer": "sennit", "variant": variant, "workers": 1, "params": params, "metric": metric,
                      "unit": unit, "value": value}), flush=True)


def workload(description, configuration, measure):
    """Runs measure(options) as a program of the runner."""
    parser = argparse.ArgumentParser(description=description.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--quick", action="store_true", help="little work")
    parser.add_argument("--seconds", type=float, help="below 0.05: as little as can be")
    parser.add_argument("--variant")
    parser.add_argument("--workers")  # the runner's word for CPUs
    options = parser.parse_args()
    print(json.dumps({"peer": "sennit", "version": "this checkout", "configuration": configuration}), flush=True)
    try:
        measure(options)
    except OutOfReach as reason:
        print(json.dumps({"peer": "sennit", "variant": "", "workers": 1, "params": {}, "unsupported": str(reason)}))
    except Failed as failure:
        sys.exit(str(failure))
