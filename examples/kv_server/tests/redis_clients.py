#!/usr/bin/env python3
"""Runs the real clients, redis-cli and redis-benchmark, against kv_server."""

import contextlib
import csv
import os
import pty
import subprocess
import time

from server_process import check, run_scenarios, wait_until


def run(*arguments, given=""):
    done = subprocess.run(arguments, input=given, capture_output=True, text=True, timeout=120, check=False)
    failed = done.returncode != 0 or done.stderr
    check(not failed, f"{' '.join(arguments)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def check_cli(port):
    """A day's use: every type, errors, a transaction, listening and publishing."""
    cli = ("redis-cli", "-p", str(port))
    script = ("SET k 'a b'\nGET k\nDEL k n\nGET k\nNOPE\nRPUSH l a b c\nLRANGE l 0 -1\nSADD s 2 1\nSMEMBERS s\nHSET h f v\n"
              "HGET h f\nZADD z 1.5 m\nZPOPMIN z\nGET l\nMULTI\nINCR n\nEXEC\n")
    expected = ('OK\n"a b"\n(integer) 1\n(nil)\n(error) ERR unknown command \'NOPE\', with args beginning with: \n'
                '(integer) 3\n1) "a"\n2) "b"\n3) "c"\n(integer) 2\n1) "1"\n2) "2"\n(integer) 1\n"v"\n'
                '(integer) 1\n1) "m"\n2) "1.5"\n'
                "(error) WRONGTYPE Operation against a key holding the wrong kind of value\nOK\nQUEUED\n1) (integer) 1\n")
    got = run(*cli, "--no-raw", given=script).replace("\n\n", "\n")
    check(got == expected, f"redis-cli printed\n{got}\ninstead of\n{expected}")
    piped = run(*cli, "--pipe", given="PING\r\n" * 1000).splitlines()[-1]
    check(piped == "errors: 0, replies: 1000", f"redis-cli --pipe: {piped}")
    listening = subprocess.Popen([*cli, "SUBSCRIBE", "news"], stdout=subprocess.PIPE, text=True)
    wait_until(lambda: run(*cli, "PUBLISH", "news", "hello") == "1\n", "redis-cli does not subscribe")
    shown = [listening.stdout.readline().strip() for _ in range(6)]
    listening.kill()
    listening.wait()
    check(shown == ["subscribe", "news", "1", "message", "news", "hello"], f"redis-cli SUBSCRIBE showed {shown}")


def check_interactive_cli(port):
    """On a terminal redis-cli asks for COMMAND DOCS, and shows help from it."""
    child, terminal = pty.fork()
    if child == 0:
        os.environ["TERM"] = "dumb"
        os.execvp("redis-cli", ["redis-cli", "-p", str(port)])
    shown = b""
    for line, answer in ((b"PING\r", b"PONG"), (b"HELP GET\r", b"Get the value of a key"), (b"QUIT\r", b"")):
        time.sleep(0.2)
        os.write(terminal, line)
        shown = b""
        with contextlib.suppress(OSError):  # the terminal's other side is closed
            while (answer not in shown or not answer) and (chunk := os.read(terminal, 4096)):
                shown += chunk
        check(answer in shown, f"redis-cli showed {shown!r}")
    os.waitpid(child, 0)
    os.close(terminal)


def check_benchmark(port):
    """All of redis-benchmark's default tests."""
    expected = ["PING_INLINE", "PING_MBULK", "SET", "GET", "INCR", "LPUSH", "RPUSH", "LPOP", "RPOP", "SADD", "HSET",
                "SPOP", "ZADD", "ZPOPMIN", "LPUSH (needed to benchmark LRANGE)", "LRANGE_100 (first 100 elements)",
                "LRANGE_300 (first 300 elements)", "LRANGE_500 (first 500 elements)",
                "LRANGE_600 (first 600 elements)", "MSET (10 keys)"]
    for pipeline in ("1", "16"):
        output = run("redis-benchmark", "-p", str(port), "-n", "3000", "-P", pipeline, "-r", "1000", "--csv")
        names = [row["test"] for row in csv.DictReader(output.splitlines())]
        check(names == expected, f"redis-benchmark ran {names}:\n{output}")


def redis_clients(start):
    with start() as server:
        check_cli(server.port)
        check_interactive_cli(server.port)
        check_benchmark(server.port)


if __name__ == "__main__":
    run_scenarios(__doc__, [redis_clients])
