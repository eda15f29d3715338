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

SHARED_KEYS = [130, 131, 132, 133, 134]  # bytes that name them, in command_input.cpp
MANY_KEYS = range(192, 256)
LITERAL = 240
FREE_WORDS = 245

# What else happens besides commands, and the byte for it; those that take a number have it behind them.
EVENTS = {"@pass": 255, "@expire": 254, "@client": 253, "@leave": 252, "@end": 251, "@timeout": 250, "@scan": 249,
          "@flush": 248}
MANY = 243  # of the command that follows: "@many N"

SITUATIONS = """
BLPOP a 0 ; @client 1 ; RPUSH a x y ; @client 0 ; PING ; LLEN a
BLPOP a b 10 ; @client 1 ; BRPOP b a 0 ; @client 2 ; RPUSH b 1 2 3 ; LPUSH a 1 ; LRANGE b 0 -1
BLPOP a 0 ; @timeout ; PING ; BRPOP a 10 ; @leave ; RPUSH a 1
BLPOP a 0 ; @client 1 ; MULTI ; RPUSH a 1 ; DEL a ; BLPOP a 0 ; EXEC ; RPUSH a 1
BLPOP a 0 ; @end ; @client 1 ; RPUSH a x ; LLEN a
BLPOP b 0 ; @client 1 ; RPUSH a x ; RENAME a b ; RPUSH a x ; LMOVE a b LEFT LEFT ; RPOPLPUSH a b
SUBSCRIBE a b ; PSUBSCRIBE a* * ; @client 1 ; PUBLISH a x ; PUBSUB CHANNELS ; PUBSUB NUMSUB a ; PUBSUB NUMPAT
SUBSCRIBE a ; PING ; GET a ; UNSUBSCRIBE ; PSUBSCRIBE * ; PUNSUBSCRIBE ; UNSUBSCRIBE a b ; GET a ; RESET
MULTI ; SUBSCRIBE a ; PUBLISH a x ; UNSUBSCRIBE ; EXEC
WATCH a b ; @client 1 ; SET a 1 ; @client 0 ; MULTI ; GET a ; EXEC ; WATCH a ; MULTI ; INCR a ; EXEC ; UNWATCH
WATCH a ; SET a 1 PX 100 ; WATCH a ; @pass 8 ; MULTI ; GET a ; EXEC ; WATCH a ; DISCARD ; MULTI ; DISCARD
@many 250 MSET a 1 ; @scan 3 ; @scan 9 ; @many 100 DEL a ; @scan 4 ; @many 250 DEL a ; @scan 200 ; DBSIZE ; SET a 1
@many 250 MSET a 1 ; KEYS * ; RANDOMKEY ; SCAN 0 COUNT 100 ; EXPIRE a 10 ; @flush ; @many 20 MSET a 1
@many 255 SADD a x ; SPOP a ; SREM a 5 ; SRANDMEMBER a 3 ; @many 250 SREM a 1 ; SMEMBERS a ; SPOP a 3
@many 252 HSET a b c ; HDEL a 4 ; HDEL a 600 ; HKEYS a ; @many 254 HDEL a 1 ; HGETALL a
@many 252 ZADD a 1 b ; ZREM a 3 ; ZPOPMIN a 3 ; ZRANK a 7 ; @many 250 ZREM a 1 ; ZRANGE a 0 -1 WITHSCORES
@many 255 RPUSH a b ; LREM a 0 3 ; LINSERT a BEFORE 10 x ; LTRIM a 10 -10 ; LPOP a 100
SET a 1 PX 100 ; SETEX b 60000 1 ; @pass 9 ; DBSIZE ; @expire 1 ; DBSIZE ; @pass 10 ; @expire 0 ; EXISTS a b
SADD a 1 2 3 ; EXPIRE a 60000 ; @pass 9 ; SINTER a b ; @pass 10 ; SINTERSTORE a a b ; RENAME a b
COMMAND ; COMMAND COUNT ; COMMAND LIST ; COMMAND INFO get x ; COMMAND DOCS get ; COMMAND DOCS
INFO ; INFO all ; INFO memory keyspace ; CONFIG GET * ; CLIENT ID ; CLIENT SETINFO a b ; CLIENT SETNAME a ; CLIENT GETNAME
"""


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


class Alphabet:
    """The lists of command_input.cpp."""

    def __init__(self):
        source = (HERE / "command_input.cpp").read_text(encoding="utf-8")
        lists = re.findall(r"constexpr std::string_view (\w+)\[\] = \{(.*?)\n\};", source, re.DOTALL)
        found = {name: [unescape(word.replace("\\0", "\\x00").encode()) for word in
                        re.findall(r'"((?:[^"\\]|\\.)*)"', re.sub(r"//.*", "", text))] for name, text in lists}
        self.names, self.words = found["command_names"], found["alphabet"]
        table = (HERE.parent / "command_table.cpp").read_text(encoding="utf-8")
        self.arities = {name.encode(): (int(arity), keys) for name, arity, keys in
                        re.findall(r'\{"(\w+)", (-?\d+), [^"]*?, (\w+), "', table)}

    def key(self, word, keys):
        if word not in keys:
            keys.append(word)
        at = keys.index(word)
        return SHARED_KEYS[at] if at < len(SHARED_KEYS) else MANY_KEYS[at]

    def word(self, word):
        if word in self.words:
            return bytes([self.words.index(word)])
        return bytes([LITERAL, min(len(word), 31)]) + word[:31]

    def command(self, words, keys):
        name = words[0].lower()
        arity, kind = self.arities.get(name, (0, ""))
        extra = len(words) + arity if arity < 0 else 0
        if name not in self.names or not (len(words) == arity or (arity < 0 and 0 <= extra < 8)):
            return bytes([FREE_WORDS, min(len(words), 4) - 1]) + b"".join(map(self.word, words[:4]))
        made = bytes([self.names.index(name)]) + (bytes([extra]) if arity < 0 else b"")
        positions = {"first_argument": [1], "two_arguments": [1, 2], "every_argument": range(1, len(words)),
                     "every_other": range(1, len(words), 2), "all_but_last": range(1, len(words) - 1)}
        for at, word in enumerate(words[1:], 1):
            made += bytes([self.key(word, keys)]) if at in positions.get(kind, ()) else self.word(word)
        return made


    def step(self, words, keys):
        if words[0] == b"@many":
            # The number comes last: the command is read first.
            return bytes([MANY]) + self.command(words[2:], keys) + bytes([int(words[1])])
        if words[0].startswith(b"@"):
            return bytes([EVENTS[words[0].decode()], *map(int, words[1:])])
        return self.command(words, keys)


def command_seeds():
    alphabet = Alphabet()
    for line in SITUATIONS.strip().splitlines():
        for settings in (0, 1, 2, 4):
            keys = []
            yield bytes([settings]) + b"".join(alphabet.step(split(each), keys) for each in line.split(" ; "))
    for talk in conversations():
        keys = []
        yield b"\0" + b"".join(alphabet.command(words, keys) for words in talk)


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
    for target, seeds in [("commands", command_seeds()), ("session", session_seeds()),
                          ("protocol", protocol_seeds())]:
        folder = pathlib.Path(sys.argv[1]) / target
        folder.mkdir(parents=True, exist_ok=True)
        for number, seed in enumerate(seeds):
            (folder / f"{number:03}").write_bytes(seed)


if __name__ == "__main__":
    main()
