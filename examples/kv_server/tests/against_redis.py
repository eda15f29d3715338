#!/usr/bin/env python3
"""Sends the same bytes to kv_server and to redis-server and compares the replies, byte for byte.

Each conversation has a connection of its own: bytes are sent, the sending side is closed, and everything
received until the server closes is its result. Every conversation is had twice, in one piece and byte by
byte. Those on the types of values are in conversations.txt; they end with QUIT, since to both servers a
client that has closed its sending side while it is blocked is gone. scenarios.py tells what several clients
say to each other. Where a difference is intended, the list says why and what kv_server answers.
"""

import ast
import contextlib
import os
import pathlib
import random
import re
import socket

import scenarios
from server_process import ServerProcess, check, connect, encode, receive_all, redis_command, run_scenarios


# One conversation a line, commands divided by " ; ", as a user types them into redis-cli.
COMMANDS = r"""
PING ; ping ; PiNg hello ; ping a b ; ping "" ; PING "a\r\nb"
ECHO hello ; echo ; echo a b ; ECHO "" ; ECHO "\x00\xff"
SET a 1 ; GET a ; get a ; GET a b ; GET ; SET a ; SET
SET a b c ; SET a b c d ; SET a b NX XX ; GET a
GET missing ; DEL missing
SET a 1 ; SET b 2 ; DEL a b c a
DEL ; DEL a a a
SET "" empty ; GET "" ; DEL ""
SET "k\x00ey" "v\x00al" ; GET "k\x00ey" ; GET k ; DEL "k\x00ey"
INCR n ; INCR n ; GET n ; DEL n ; INCR ; INCR n m
SET n 9223372036854775806 ; INCR n ; INCR n ; GET n ; DEL n
SET n -9223372036854775808 ; INCR n ; GET n ; DEL n
SET n -1 ; INCR n ; INCR n ; DEL n
SET n 9223372036854775808 ; INCR n ; SET n 99999999999999999999999 ; INCR n ; DEL n
SET n "" ; INCR n ; SET n abc ; INCR n ; SET n " 1" ; INCR n ; SET n "1 " ; INCR n ; DEL n
SET n 01 ; INCR n ; SET n -0 ; INCR n ; SET n +1 ; INCR n ; SET n 0 ; INCR n ; SET n 1.0 ; INCR n ; DEL n
SET n "1\x00" ; INCR n ; SET n "\x001" ; INCR n ; SET n 0x10 ; INCR n ; SET n 1e3 ; INCR n ; DEL n
SET x 1 ; DEL x
QUIT ; PING
QUIT now
PING ; QUIT ; garbage
foo ; FOO ; foo a ; foo a b c ; "" ; "" a ; " " ; "foo bar" baz
foo "a\r\nb" ; "fo\r\no" ; foo "a\x00b" c ; "f\x00o" a ; foo it's "q\"q"
get1 a ; ge a ; GETT a ; "GET " a ; " GET" a
CONFIG ; CONFIG FOO ; CONFIG GET save ; CONFIG GET appendonly ; CONFIG GET SAVE
CONFIG GET nonsense ; config get APPENDONLY
COMMAND FOO
HELLO 1 ; HELLO 4 ; HELLO x ; HELLO "" ; HELLO 2 FOO ; HELLO 2 SETNAME ; HELLO 2 SETNAME "a b" ; HELLO -2
HELLO 2 SETNAME joe FOO
HELLO 2 AUTH default x ; HELLO 2 AUTH default x SETNAME ann ; HELLO 2 AUTH joe x ; HELLO 2 AUTH default
AUTH ; AUTH x ; AUTH default x ; AUTH joe x ; AUTH a b c ; MULTI ; AUTH default x ; EXEC
CONFIG HELP x ; COMMAND HELP x
HELLO ; HELLO 2 ; HELLO 2 SETNAME ann ; HELLO 2 SETNAME ""
"""

A_64K = 64 * 1024

HOSTILE = [
    b"", b"\r\n", b"\n\n\n", b"  \t \r\n", b"\r\nPING\r\n\r\n", b"\x00\r\nPING\r\n", b"PI\x00NG\r\nPING\r\n",
    b"PING", b"PING\r", b"PING\n", b"PING\r\r\n", b"PI\rNG\r\n", b"PING\vx\r\n", b"\v\fPING \v x\r\n",
    b"*", b"*\r", b"*\r\n", b"*\n", b"*1\r", b"*1\n", b"*x\r\n", b"*1x\r\n", b"* 1\r\n", b"*1 \r\n", b"*+1\r\n",
    b"*01\r\n", b"*-0\r\n", b"*00\r\n", b"*0\r\nPING\r\n", b"*-1\r\nPING\r\n", b"*-5\r\nPING\r\n",
    b"*-9223372036854775808\r\nPING\r\n", b"*-9223372036854775809\r\nPING\r\n",
    b"*2147483648\r\n", b"*9223372036854775807\r\n", b"*9223372036854775808\r\n",
    b"*99999999999999999999999999\r\n", b"*\x00\r\n", b"*1\x00\r\n$4\r\nPING\r\n", b"*1.5\r\n", b"*1e1\r\n",
    b"*0x1\r\n", b"*1\r\n", b"*1\r\n$", b"*1\r\n$\r\n", b"*1\r\n$x\r\n", b"*1\r\n$-1\r\n", b"*1\r\n$-0\r\n",
    b"*1\r\n$04\r\nPING\r\n", b"*1\r\n$+4\r\nPING\r\n", b"*1\r\n$4 \r\nPING\r\n", b"*1\r\n$ 4\r\nPING\r\n",
    b"*1\r\n$536870913\r\n", b"*1\r\n$4294967300\r\nPING\r\n", b"*1\r\n$9223372036854775807\r\n",
    b"*1\r\n$9223372036854775808\r\n", b"*1\r\n$18446744073709551620\r\nPING\r\n",
    b"*1\r\n$-9223372036854775808\r\n", b"*1\r\n$99999999999999999999999\r\n", b"*1\r\n$0\r\n\r\n",
    b"*1\r\n$4\r\nPING", b"*1\r\n$4\r\nPING\r", b"*1\r\n$4\r\nPI", b"*1\r\n$4\r\nPINGxxPING\r\n",
    b"*1\r\n$4\r\nPING\r\n\r\nPING\r\n", b"*1\rx$4\rxPING\r\n", b"*1\r\r$4\r\rPING\r\r", b"*1\r\n:4\r\n",
    b"*1\r\n+PING\r\n", b"*1\r\n\r\n", b"*1\r\n\n\r\n", b"*1\r\n\x01\r\n", b"*1\r\n\xff\r\n", b"*1\r\n*1\r\n",
    b"*2\r\n$4\r\nECHO\r\n*1\r\n$1\r\na\r\n", b"*2\r\n$4\r\nECHO\r\nx\r\n", b"*2\r\n$4\r\nECHO\r\n$1\r\n",
    b"*1\r\n\x00\r\n", b"*1\r\n$\x004\r\nPING\r\n", b"*1\r\n$4\x00\r\nPING\r\n", b"$4\r\nPING\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\n\r\nPING\r\n", b"host: x\r\nPING\r\n", b"post\r\nPING\r\n",
    encode("POST", "a") + encode("PING"), encode("HOST:") + encode("PING"), b"POSTX\r\nHOST\r\n",
    b"+OK\r\n", b"-ERR\r\n", b":1\r\nPING\r\n", b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\r\n",
    b"a" * A_64K, b"a" * (A_64K + 1), b"PING " + b"a" * (A_64K - 6) + b"\r\n", b"*" + b"1" * (A_64K - 1),
    b"*" + b"1" * A_64K, b"*1\r\n$" + b"1" * A_64K, b"\x00" * (A_64K + 1), b"*1\r\n" + b"\x00" * (A_64K + 1),
    b"*1\r\n" + b"y" * (A_64K + 1), b"PING\r\n" + b'"' * (A_64K + 1), encode("ECHO", b"\r\n" * 40000),
    encode(b"f" * 300, b"a" * 300, "b"), encode("foo", "a" * 127, "bc", "d"), encode("foo", "a" * 123, "bc", "d"),
    encode("foo", *("a" * 5,) * 50), encode("foo", *("",) * 100), encode("GET" * 50),
    encode("SET", "big", b"x" * 100000) + encode("GET", "big") + encode("DEL", "big"),
    encode(*["DEL"] + ["a"] * 4000), encode("PING") * 5000, b"PING\r\n" * 5000,
    encode("PING") * 100 + b"*1\r\n!" + b"\r\n" + encode("PING") * 100,
    encode("") + encode("", "") + encode("GET", ""),
]

# (what is sent, the start of kv_server's reply, why it differs)
INTENDED = [
    (b'PING "a b"\r\n', b"-ERR wrong number of arguments for 'ping' command\r\n", "no quotes in inline requests"),
    (b"HELLO 3\r\n", b"-NOPROTO unsupported protocol version\r\n", "RESP2 only"),
    (b"HELLO 2 AUTH default any\r\n", encode("server", "sennit", "version", "0.1.0").replace(b"*4", b"*14"),
     "a version below any of Redis: it promises nothing"),
    (b"COMMAND DOCS\r\n", b"*", "fewer commands"),
    (b"INFO server\r\n", b"$", "contents"),
    (b"CONFIG GET port\r\n", b"*0\r\n", "what redis-benchmark asks for"),
    (b"SORT l BY nosort\r\n", b"-ERR syntax error\r\n", "left out"),
    (b"SORT l STORE d\r\n", b"-ERR syntax error\r\n", "left out"),
    (b"LPOP l 1\r\n", b"-ERR wrong number of arguments for 'lpop' command\r\n", "one item at a time"),
    (b"SET a 1 EX 10\r\n", b"-ERR syntax error\r\n", "no options"),
    (b"*1\r\n$536870912\r\n", b"-ERR Protocol error: request exceeds client-query-buffer-limit\r\n",
     "a smaller limit on one request"),
    (encode("DEL", *["a"] * 4096),
     b"-ERR Protocol error: invalid multibulk length: at most 4096 arguments; send several requests", "a limit on elements"),
    (b"*2147483647\r\n", b"-ERR Protocol error: invalid multibulk length: at most 4096", "the same limit"),
    (b"COMMAND HELP\r\n", b"*5\r\n+COMMAND <subcommand> [<arg> [value] [opt] ...]. Subcommands are:\r\n", "fewer subcommands"),
    (b"COMMAND\r\n", b"-ERR wrong number of arguments for 'command' command\r\n", "redis-cli sends COMMAND DOCS"),
    (b"SELECT 0\r\n", b"-ERR unknown command 'SELECT', with args", "one database"),
    (b"CLIENT GETNAME\r\n", b"-ERR unknown command 'CLIENT', with args", "fewer commands"),
]


def converse(port, sent, bytewise, half_close=True):
    with connect(port) as client:
        with contextlib.suppress(OSError):  # the server closes after an error, while this sends
            for part in (sent[at:at + 1] for at in range(len(sent))) if bytewise else [sent]:
                client.sendall(part)
            if half_close:
                client.shutdown(socket.SHUT_WR)
        return receive_all(client)


def unify(reply):
    """Replaces what must differ: the server, its version and the client's number in HELLO's reply."""
    reply = re.sub(rb"\$\d+\r\n(redis|sennit)\r\n(\$7\r\nversion\r\n)\$\d+\r\n[0-9.]+\r\n", rb"\2", reply)
    return re.sub(rb"(\$2\r\nid\r\n):\d+", rb"\1:N", reply)


def damaged_requests(count):
    """Requests with a few bytes changed, the same ones every time."""
    good = encode("SET", "key", "value") + b"GET  a b\r\n" + encode("DEL", "key", "other") + b"PING\r\n"
    alphabet = b"*$+-0123456789\r\n \\\x00~"
    chance = random.Random(1)
    for _ in range(count):
        damaged = bytearray(good)
        for _ in range(chance.randint(1, 4)):
            at, byte = chance.randrange(len(damaged)), chance.choice(alphabet)
            damaged[at:at + chance.randrange(4)] = chance.choice([b"", bytes([byte])])
        yield bytes(damaged)


def requests(line):
    """The commands of a line. Arguments may be quoted, with the escapes of Python."""
    words = [re.findall(r'"(?:\\.|[^"\\])*"|\S+', command) for command in line.split(" ; ")]
    return b"".join(encode(*(ast.literal_eval("b" + word) if word[0] == '"' else word.encode() for word in command))
                    for command in words)


def conversations():
    """(what is sent, whether the sending side is closed then, how the reply is made comparable)"""
    for line in COMMANDS.strip().splitlines():
        yield requests(line), True, unify
    for sent in [*HOSTILE, *damaged_requests(400)]:
        yield sent, True, unify
    for line in recorded():
        yield requests(f"FLUSHALL ; {line.removeprefix('~ ')} ; QUIT"), False, with_sorted_elements if line[0] == "~" else unify


def recorded():
    text = pathlib.Path(__file__).with_name("conversations.txt").read_text(encoding="ascii")
    return [line for line in text.splitlines() if line and line[0] != "#"]


def with_sorted_elements(replies):
    """The replies, the elements of each in order: for those that Redis gives in the order of a random hash."""
    reader = scenarios.ReplyReader(replies)
    return repr([sorted(each, key=repr) if isinstance(each, list) else each for each in reader.all()]).encode()


def from_difference(text, other):
    """The text from shortly before where it differs."""
    same = len(os.path.commonprefix([text, other]))
    return ("... " if same > 60 else "") + repr(text[max(0, same - 60):same + 200])


def compare(ours, theirs):
    compared = 0
    failures = 0
    for sent, half_close, comparable in conversations():
        for bytewise in (False, True):
            if bytewise and len(sent) > 2000:
                continue
            expected = comparable(converse(theirs.port, sent, bytewise, half_close))
            got = comparable(converse(ours.port, sent, bytewise, half_close))
            compared += 1
            if got != expected:
                failures += 1
                print(f"DIFFERENT{' byte by byte' if bytewise else ''}\n  sent   {sent[:300]!r}\n"
                      f"  redis  {from_difference(expected, got)}\n  kv     {from_difference(got, expected)}")
    for sent, beginning, reason in INTENDED:
        expected = converse(theirs.port, sent, False)
        got = converse(ours.port, sent, False)
        if not got.startswith(beginning) or got == expected:
            failures += 1
            print(f"NOT THE INTENDED DIFFERENCE ({reason})\n  sent   {sent[:300]!r}\n"
                  f"  redis  {expected[:300]!r}\n  kv     {got[:300]!r}")
    return compared, failures


def against_redis(start):
    with start() as ours, ServerProcess(redis_command) as theirs:
        compared, different = compare(ours, theirs)
        played, failed = scenarios.compare(ours, theirs)
    check(different + failed == 0, f"{different} conversations and {failed} scenarios of several clients are different")
    commands = sum(line.count(" ; ") + 1 for line in COMMANDS.strip().splitlines() + recorded())
    return (f"{compared} conversations; {commands} recorded commands; {len(INTENDED)} intended differences; "
            f"{played} scenarios of several clients")


if __name__ == "__main__":
    run_scenarios(__doc__, [against_redis])
