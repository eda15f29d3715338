#!/usr/bin/env python3
"""Writes the seeds of the fuzz targets: make_corpus.py FOLDER

They are what against_redis.py says to both servers, in the form of each target's input. Each target has a folder of
its own in FOLDER; the same seeds are written every time.
"""

import pathlib
import re
import shlex
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

import against_redis  # noqa: E402

def unescape(word):
    """As the server undoes what is quoted in an inline command."""
    return re.sub(rb"\\x([0-9a-fA-F]{2})|\\(.)",
                  lambda m: bytes([int(m[1], 16)]) if m[1] else {b"n": b"\n", b"r": b"\r"}.get(m[2], m[2]), word)


def split(command):
    words = []
    for word in shlex.split(command, posix=False):
        raw = word.encode()
        quote = raw[:1] in (b'"', b"'") and raw[-1:] == raw[:1]
        words.append(unescape(raw[1:-1]) if quote else raw)
    return words


def conversations():
    """Lists of commands, each a list of words."""
    lines = against_redis.COMMANDS.splitlines()
    lines += (HERE.parent / "tests/conversations.txt").read_text(encoding="utf-8").splitlines()
    for line in lines:
        if line and not line.startswith("#"):
            try:
                yield [words for words in map(split, line.removeprefix("~ ").split(" ; ")) if words]
            except ValueError:  # its quotes do not balance: that is what it is about
                continue


def byte_seeds():
    for talk in conversations():
        yield b"".join(against_redis.encode(*words) for words in talk)
    yield from (each for each in against_redis.HOSTILE if len(each) < 2000)
    yield from (line.replace(" ; ", "\r\n").encode() + b"\r\n" for line in against_redis.COMMANDS.splitlines())


def session_seeds():
    for number, data in enumerate(byte_seeds()):
        parts = [data[at:at + 250] for at in range(0, len(data), 250)]
        yield bytes([number % 2]) + b"".join(bytes([0, len(part)]) + part for part in parts)


def protocol_seeds():
    for number, data in enumerate(byte_seeds()):
        yield bytes([number % 4, 2, number % 7, number % 11]) + data


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for target, seeds in [("session", session_seeds()), ("protocol", protocol_seeds())]:
        folder = pathlib.Path(sys.argv[1]) / target
        folder.mkdir(parents=True, exist_ok=True)
        for number, seed in enumerate(seeds):
            (folder / f"{number:03}").write_bytes(seed)


if __name__ == "__main__":
    main()
