"""A key-value server under test: started on a free port, watched through /proc, stopped.

Used by the tests here and by bench/server/load.py.
"""

import argparse
import contextlib
import os
import random
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time


MIB = 1 << 20
PROMPT = 10  # seconds; an answer later than this counts as a stall


class ServerError(Exception):
    """The server did not start, or ended when it should not."""


class Failure(Exception):
    """A test's."""


def check(condition, text):
    if not condition:
        raise Failure(text)


def wait_until(condition, text, timeout=20, pause=0.02):
    deadline = time.monotonic() + timeout
    while not condition():
        check(time.monotonic() < deadline, text)
        time.sleep(pause)


def receive(client, count):
    received = b""
    while len(received) < count:
        chunk = client.recv(count - len(received))
        check(chunk, f"closed after {received!r}")
        received += chunk
    return received


def receive_all(client):
    received = b""
    with contextlib.suppress(ConnectionResetError):
        while chunk := client.recv(1 << 16):
            received += chunk
    return received


def reset(client):
    """Closes with a reset instead of a FIN."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


def encode(*words):
    """A request: an array of bulk strings."""
    words = [each if isinstance(each, bytes) else str(each).encode() for each in words]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(each), each) for each in words)


def information(server, name):
    """A number from INFO. `server` is a server, or the socket of a client that asks."""
    if not isinstance(server, socket.socket):
        with connect(server.port) as client:
            return information(client, name)
    server.sendall(b"INFO\r\n")
    head = b""
    while not head.endswith(b"\r\n"):
        head += receive(server, 1)
    return int(re.search(rf"^{name}:(\d+)", receive(server, int(head[1:]) + 2).decode(), re.MULTILINE)[1])


def free_port():
    """A free port below those that the kernel gives to clients."""
    for _ in range(100):
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", random.randrange(5000, 32000)))
            return probe.getsockname()[1]
    raise ServerError("no port from 5000 to 32000 is free")


def connect(port, timeout=20):
    client = socket.create_connection(("127.0.0.1", port), timeout=timeout)
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return client


def run_scenarios(description, scenarios):
    """A test's main: each function gets one that starts a server with more options; it may return what to print."""
    names = {each.__name__: each for each in scenarios}
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("server", type=os.path.abspath, help="kv_server's binary")
    parser.add_argument("--options", default=[], type=str.split, metavar="WORDS",
                        help="for the server, as in --options='--front callback'")
    parser.add_argument("scenario", nargs="*", help="only these: " + " ".join(names))
    asked = parser.parse_intermixed_args()
    chosen = [names[each] for each in asked.scenario or names]

    def start(*options):
        return ServerProcess(lambda port: kv_server_command(asked.server, port, *asked.options, *options))

    start.server, start.options = asked.server, asked.options
    failed = 0
    for scenario in chosen:
        started = time.monotonic()
        try:
            said = scenario(start)
            print(f"ok   {scenario.__name__} ({time.monotonic() - started:.1f} s){': ' + said if said else ''}", flush=True)
        except (Failure, ServerError, OSError, subprocess.TimeoutExpired) as error:
            failed += 1
            print(f"FAIL {scenario.__name__}: {type(error).__name__}: {error}", flush=True)
    print(f"kv_server {' '.join(asked.options)}: {len(chosen)} scenarios, {failed} failed")
    sys.exit(1 if failed else 0)


def kv_server_command(binary, port, *options):
    return [binary, "--port", str(port), *options]


def redis_command(port, *options):
    binary = shutil.which("redis-server")
    if binary is None:
        raise ServerError("redis-server is not installed (Debian package redis-server)")
    return [binary, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
            "--databases", "1", *options]


class ServerProcess:
    """with ServerProcess(lambda port: [...]) as server: ... server.port ..."""

    def __init__(self, command, cpu=None, answer=b"+PONG\r\n"):
        """`answer`: its reply to PING when it is ready."""
        self.port = free_port()
        self.directory = tempfile.TemporaryDirectory(prefix="kv_server_test_")
        self.log = open(os.path.join(self.directory.name, "log"), "w+b")
        arguments = command(self.port)
        try:
            self.process = subprocess.Popen(
                arguments, cwd=self.directory.name, stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT,
                preexec_fn=None if cpu is None else lambda: os.sched_setaffinity(0, {cpu}))
        except OSError as error:
            raise ServerError(f"cannot start {arguments[0]}: {error}") from error
        self.pid = self.process.pid
        self._wait_until_ready(arguments[0], answer)

    def _wait_until_ready(self, name, answer):
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise ServerError(f"{name} ended with status {self.process.returncode}:\n{self.output()}")
            try:
                with connect(self.port, timeout=5) as client:
                    client.sendall(b"PING\r\n")
                    if client.recv(7) == answer:
                        return
            except OSError:
                time.sleep(0.02)
        self.kill()
        raise ServerError(f"{name} does not answer on port {self.port}:\n{self.output()}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
        self.log.close()
        self.directory.cleanup()

    def kill(self):
        self.process.kill()  # does nothing if it has ended
        self.process.wait()

    def output(self):
        self.log.flush()
        with open(self.log.name, "rb") as log:
            return log.read().decode(errors="replace")

    def is_running(self):
        return self.process.poll() is None

    def stop(self, sent=signal.SIGTERM, timeout=20):
        """Sends the signal, and returns the exit status (negative: ended by that signal)."""
        self.process.send_signal(sent)
        return self.process.wait(timeout)

    def resident_bytes(self):
        with open(f"/proc/{self.pid}/statm", encoding="ascii") as sizes:
            return int(sizes.read().split()[1]) * resource.getpagesize()

    def cpu_ns(self):
        """CPU time of all its threads so far, those that have ended too."""
        process_clock = ~self.pid << 3 | 2  # clock_getcpuclockid(3)
        return time.clock_gettime_ns(process_clock)

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))
