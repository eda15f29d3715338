"""Scenarios of clients whose command dereferences null: DEBUG SEGFAULT. Used by hostile.py."""

import contextlib
import signal
import threading
import time

from hostile_company import information
from hostile_support import MIB, PROMPT, Failure, check, check_answers, receive, receive_all, wait_until
from server_process import connect

ALLOWED = ("--enable-debug-command", "yes")


class Companion(threading.Thread):
    """A client that sets and gets, and checks every reply, until it is told to stop."""

    def __init__(self, port, number):
        super().__init__()
        self.port, self.number = port, number
        self.told, self.turns, self.wrong = threading.Event(), 0, None

    def run(self):
        try:
            with connect(self.port, timeout=PROMPT) as client:
                while not self.told.is_set():
                    value = b"%d-%09d" % (self.number, self.turns)
                    client.sendall(b"SET mine:%d %s\r\nGET mine:%d\r\n" % (self.number, value, self.number))
                    expected = b"+OK\r\n$%d\r\n%s\r\n" % (len(value), value)
                    got = receive(client, len(expected))
                    check(got == expected, f"got {got!r} instead of {expected!r}")
                    self.turns += 1
        except Exception as error:  # reported by the main thread
            self.wrong = error


@contextlib.contextmanager
def companions(server, count):
    everybody = [Companion(server.port, number) for number in range(count)]
    for each in everybody:
        each.start()
    try:
        yield everybody
    finally:
        for each in everybody:
            each.told.set()
        for each in everybody:
            each.join()
    for each in everybody:
        check(each.wrong is None, f"a companion: {each.wrong!r}\n{server.output()}")
        check(each.turns > 0, "a companion had no turn")


# What is sent before, and what comes back. What is sent after it is never executed.
HABITS = [
    (b"", b""),
    (b"PING\r\nSET before x\r\nGET before\r\n", b"+PONG\r\n+OK\r\n$1\r\nx\r\n"),
    (b"SUBSCRIBE news\r\nUNSUBSCRIBE\r\n",
     b"*3\r\n$9\r\nsubscribe\r\n$4\r\nnews\r\n:1\r\n*3\r\n$11\r\nunsubscribe\r\n$4\r\nnews\r\n:0\r\n"),
    (b"BLPOP nothing 0.001\r\n", b"*-1\r\n"),
    (b"WATCH mine:0 before\r\n", b"+OK\r\n"),
    (b"MULTI\r\nDEBUG SEGFAULT\r\nSET before y\r\nEXEC\r\n",
     b"+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n-ERR DEBUG SEGFAULT is not allowed in a transaction\r\n+OK\r\n"),
    (b"ECHO " + b"x" * 40000 + b"\r\n", b"$40000\r\n" + b"x" * 40000 + b"\r\n"),
]


def fault(server, count, habits):
    """So many clients fault, eight at a time, all of the eight after the same habit. Returns how many."""
    for turn in range(count // 8):
        sent, expected = habits[turn % len(habits)]
        clients = [connect(server.port, timeout=PROMPT) for _ in range(8)]
        if turn % 2:  # who has rested before, without a stack, and who has not
            for client in clients:
                client.sendall(b"PING\r\n")
            for client in clients:
                receive(client, 7)
        for client in clients:
            client.sendall(sent + b"DEBUG SEGFAULT\r\nSET after x\r\nPING\r\n")
        for client in clients:
            got = receive_all(client)
            if got != expected:
                raise Failure(f"after {sent!r} and a fault: {got!r}\n{server.output()[-2000:]}")
            client.close()
    return count // 8 * 8


def check_nothing_is_left(server, faults):
    """Every fault was said and counted, and nothing is left of whoever faulted."""
    with connect(server.port, timeout=PROMPT) as client:
        client.sendall(b"CLIENT ID\r\n")
        number = int(client.recv(100)[1:])
        client.sendall(b"EXISTS after\r\nDEBUG SEGFAULT\r\n")
        check(receive_all(client) == b":0\r\n", "what came after a fault was executed")
    check(information(server, b"client_faults") == faults + 1, "they are not counted")
    lines = server.output().count(": memory fault at 0x0; its connection is closed\n")
    check(lines == faults + 1, f"{faults + 1} faults, {lines} lines")
    check(f"kv_server: client {number}: memory fault at 0x0;" in server.output(), "it has another name")


def faulting_clients(start):
    """Commands that dereference null: they are closed, nothing of them is left, the others go on."""
    if not start.serves_faults:
        return "none: this server refuses it"
    said = []
    for options, plain in (((), 4000), (("--timeout", "30"), 0)):
        with start(*ALLOWED, *options) as server, companions(server, 3) as others:
            faults = fault(server, 500, HABITS)
            # What each worker keeps for the next client, stacks and blocks, is in use by and by; what is lost, each time.
            for _ in range(8):
                descriptors, resident = server.descriptors(), server.resident_bytes()
                faults += fault(server, plain, HABITS[:1])
                wait_until(lambda: server.descriptors() <= descriptors,
                           f"{server.descriptors()} descriptors, {descriptors} before")
                more = server.resident_bytes() - resident
                if more < 2 * MIB:  # 500 each; a connection has 1,000
                    break
            check(more < 2 * MIB, f"{plain} faults took {more} bytes, and so did those before")
            check_nothing_is_left(server, faults)
            wait_until(lambda: information(server, b"connected_clients") == len(others) + 1, "some are counted still")
            turns = sum(each.turns for each in others)
        said.append(f"{faults + 1} faults beside {turns} SETs and GETs, {max(more, 0) // 1024} KiB more")
    return "; ".join(said)


def faults_at_the_end(start):
    """The server ends as always, in the midst of faults."""
    if not start.serves_faults:
        return "none: this server refuses it"
    for _ in range(5):
        with start(*ALLOWED) as server:
            told = threading.Event()

            def go_on_faulting(port=server.port, until=told):
                while not until.is_set():
                    with contextlib.suppress(OSError), connect(port, timeout=PROMPT) as client:
                        client.sendall(b"DEBUG SEGFAULT\r\n")
                        receive_all(client)

            faulting = [threading.Thread(target=go_on_faulting) for _ in range(4)]
            for each in faulting:
                each.start()
            time.sleep(0.2)
            try:
                status = server.stop(signal.SIGTERM)
            finally:
                told.set()
                for each in faulting:
                    each.join()
            check(status == 0, f"exit status {status}\n{server.output()[-2000:]}")


def debug_refused(start):
    """Without the option, and where nobody would survive it: an error, and nothing happens."""
    refused = [((), b"-ERR DEBUG command not allowed: start the server with --enable-debug-command yes\r\n")]
    if not start.serves_faults:
        refused.append((ALLOWED, b"-ERR DEBUG SEGFAULT would end the server here: only --front fiber survives it, on "
                                 b"x86-64, without sanitizers\r\n"))
    for options, error in refused:
        with start(*options) as server, connect(server.port, timeout=PROMPT) as client:
            client.sendall(b"DEBUG SEGFAULT\r\nPING\r\nMULTI\r\nDEBUG SEGFAULT\r\nEXEC\r\nQUIT\r\n")
            got = receive_all(client)
            check(got == error + b"+PONG\r\n+OK\r\n+QUEUED\r\n*1\r\n" + error + b"+OK\r\n", f"got {got!r}")
            check_answers(server)
            check(information(server, b"client_faults") == 0, "a fault is counted")


SCENARIOS = [faulting_clients, faults_at_the_end, debug_refused]
