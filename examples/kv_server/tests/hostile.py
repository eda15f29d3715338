#!/usr/bin/env python3
"""Drives kv_server as hostile and careless clients do; it must stay up, answer others, and stay small.

Asserts no time beyond generous time-outs.
"""

import pathlib
import platform
import resource
import signal
import socket
import sys
import time

import hostile_company
import hostile_faults
from hostile_support import (
    MIB, PROMPT, Failure, check, check_answers, check_resident, pumps, receive, receive_all, reset, send_until_blocked, wait_until)
from server_process import ServerError, ServerProcess, connect, kv_server_command, parse_arguments, server_title

def bad_lengths(start):
    """Oversized, negative and nonsense lengths get Redis's error and a closed connection."""
    cases = {
        b"*-2147483649x\r\n": b"invalid multibulk length", b"*2147483648\r\n": b"invalid multibulk length",
        b"*1\r\n$-2\r\n": b"invalid bulk length", b"*1\r\n$536870913\r\n": b"invalid bulk length",
        b"*1\r\n$99999999999999999999\r\n": b"invalid bulk length",
        b"*1\r\n?\r\n": b"expected '$', got '?'", b"x" * 70000: b"too big inline request",
        b"GET \"a\r\n": b"unbalanced quotes in request",
    }
    with start() as server:
        before = server.resident_bytes()
        for sent, error in cases.items():
            with connect(server.port) as client:
                client.sendall(b"PING\r\n")
                check(receive(client, 7) == b"+PONG\r\n", "no PONG")
                client.sendall(sent)
                got = receive_all(client)
                check(got == b"-ERR Protocol error: " + error + b"\r\n", f"{sent[:40]!r} got {got!r}")
        # Announced, never sent: costs nothing.
        waiting = [connect(server.port) for _ in range(100)]
        for client in waiting:
            client.sendall(b"*2147483647\r\n$60000000\r\n")
        check_answers(server)
        check_resident(server, before + 16 * MIB, "after 100 announcements of 60 MB")
        for client in waiting:
            client.close()


def half_frames(start):
    """Clients that stop in mid-request cost only what they sent, and all of them together are bounded."""
    with start("--maxmemory-clients", str(64 * MIB)) as server:
        before = server.resident_bytes()
        small = [connect(server.port) for _ in range(300)]
        for client in small:
            client.sendall(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$50000\r\n" + b"x" * 1000)
        check_answers(server)
        big = [connect(server.port) for _ in range(12)]
        for client in big:
            client.sendall(b"*2\r\n$4\r\nECHO\r\n$20000000\r\n")
            send_until_blocked(client, b"x" * MIB, 18 * MIB)
            check_answers(server)
        check_resident(server, before + 120 * MIB, "12 clients with 18 MiB of a request each")
        for client in small:
            client.sendall(b"x" * 49000 + b"\r\n")
            check(receive(client, 5) == b"+OK\r\n", "a small half request was not served in the end")
        for client in small + big:
            client.close()
        wait_until(lambda: server.resident_bytes() < before + 40 * MIB, "memory was not given back")


def slow_sender(start):
    """One byte at a time, while others are served."""
    with start() as server, connect(server.port) as slow, connect(server.port) as other:
        for byte in b"*3\r\n$3\r\nSET\r\n$4\r\nslow\r\n$5\r\nvalue\r\nGET slow\r\n":
            slow.sendall(bytes([byte]))
            other.sendall(b"PING\r\n")
            check(receive(other, 7) == b"+PONG\r\n", "another client was not served")
        check(receive(slow, 16) == b"+OK\r\n$5\r\nvalue\r\n", "the slow client was not served")


def endless_pipelines(start):
    """Clients that send requests for ever and never read: bounded memory, others served."""
    with start() as server:
        with connect(server.port) as client:
            client.sendall(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$100000\r\n" + b"x" * 100000 + b"\r\n")
            check(receive(client, 5) == b"+OK\r\n", "SET failed")
        before = server.resident_bytes()
        clients = []
        for request in (b"PING\r\n", b"GET k\r\n", b"*1\r\n$4\r\nPING\r\n", b"COMMAND DOCS\r\n"):
            for _ in range(5):
                clients.append(connect(server.port))
                send_until_blocked(clients[-1], request * 10000, 20 * MIB)
                check_answers(server)
        check_resident(server, before + 64 * MIB, "20 clients that never read")
        # One of them reads after all: every reply is there.
        clients[0].settimeout(PROMPT)
        check(receive(clients[0], 70000) == b"+PONG\r\n" * 10000, "replies are missing")
        for client in clients:
            client.close()
        check_answers(server)


def busy_pipelines(start):
    """Clients that send for ever and do read: others are served all the same."""
    with start() as server:
        with pumps(server.port, 4):
            for _ in range(200):
                check_answers(server)


def idle_connections(start):
    """Thousands of connections that say nothing, and then little: not even a page is left of each."""
    return "; ".join(hold_idle_connections(start, *options) for options in ((), ("--timeout", "1000")))


def hold_idle_connections(start, *options):
    """Says how much they take. What the first of them leave with the server, as stacks that it keeps, is not theirs."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))  # the server's, too
    first = 400
    count = start.many if limit == resource.RLIM_INFINITY else min(start.many, limit - 200 - first)
    with start(*options) as server:
        clients = [connect(server.port) for _ in range(first)]
        ask_each(clients)
        before = server.resident_bytes()
        clients += [connect(server.port) for _ in range(count)]
        ask_each(clients[-1:])
        each = (server.resident_bytes() - before) / count
        check(each < start.most_idle, f"{each:.0f} bytes for each of {count} idle connections")
        used = server.cpu_ns()
        time.sleep(1)
        check(server.cpu_ns() - used < 300_000_000, "idle connections cost CPU time")
        ask_each(clients)
        again = (server.resident_bytes() - before) / count
        check(again < start.most_idle, f"{again:.0f} bytes for each of {count} connections that are idle again")
        for client in clients:
            client.sendall(b"ECHO hello\r\n")
        for client in clients:
            check(receive(client, 11) == b"$5\r\nhello\r\n", "one of many is not served")
        for client in clients:
            client.close()
        check_answers(server)
        return f"{count} connections, {each:.0f} bytes each, {again:.0f} once they have asked"


def ask_each(clients):
    """One after the other."""
    for client in clients:
        client.sendall(b"PING\r\n")
        check(receive(client, 7) == b"+PONG\r\n", "one of many is not served")


def too_many_clients(start):
    """Over --maxclients: an error and a closed connection; room again when one leaves."""
    error = b"-ERR max number of clients reached\r\n"
    with start("--maxclients", "10") as server:
        clients = []
        wait_until(lambda: admit(server.port, clients) == 10, "one within the limit is not served")
        with connect(server.port) as refused:
            check(receive_all(refused) == error, "one too many was not refused")
        clients.pop().close()
        wait_until(lambda: admit(server.port, clients) == 10, "no room after a client left")
        for client in clients:
            client.close()


def admit(port, clients):
    """Connects a client more, kept if it is served, and returns how many there are.

    It may be refused while one that has left is still counted.
    """
    client = connect(port, timeout=5)
    try:
        client.sendall(b"PING\r\n")
        served = client.recv(7) == b"+PONG\r\n"
    except OSError:
        served = False
    if served:
        clients.append(client)
    else:
        client.close()
    return len(clients)


def serves_new_client(port):
    clients = []
    admit(port, clients)
    for client in clients:
        client.close()
    return clients != []


def flood(server, served, expect_served):
    """Opens 200 connections where there is no room for them; `served` go on being served."""
    flooding = []
    for _ in range(200):
        flooding.append(connect(server.port))
        flooding[-1].setblocking(False)
    for client in served:
        client.sendall(b"PING\r\n")
        check(receive(client, 7) == b"+PONG\r\n", "an old client is not served while descriptors run out")
    used = server.cpu_ns()
    time.sleep(2)
    check(server.cpu_ns() - used < 1_000_000_000, "the server spins while descriptors run out")
    for client in flooding + served[expect_served:]:
        client.close()
    wait_until(lambda: serves_new_client(server.port), "nobody is accepted after descriptors came back")
    for client in served[:expect_served]:
        client.sendall(b"PING\r\n")
        check(receive(client, 7) == b"+PONG\r\n", "an old client was forgotten")


def no_descriptors(start):
    """Started with few descriptors, and later robbed of those it has."""
    few = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    with start(before_start=few) as server:
        served = [connect(server.port) for _ in range(10)]
        flood(server, served, 5)
    with start() as server:
        served = [connect(server.port) for _ in range(10)]
        check_answers(server)
        wait_until(lambda: server.descriptors() >= 10, "ten clients, fewer descriptors")
        robbed = server.descriptors() + 1
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (robbed, robbed))
        flood(server, served, 5)


def resets(start):
    """Peers that vanish in the middle of a reply, or while the server waits for the rest of a request."""
    with start() as server:
        with connect(server.port) as client:
            client.sendall(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1000000\r\n" + b"x" * 1000000 + b"\r\n")
            check(receive(client, 5) == b"+OK\r\n", "SET failed")
        before = server.resident_bytes()
        for round_number in range(60):
            client = connect(server.port)
            client.sendall(b"GET k\r\n" * 50 + b"*2\r\n$4\r\nEC")
            if round_number % 2:
                receive(client, 100000)
            if round_number % 3:
                reset(client)
            else:
                client.close()
        for _ in range(60):
            client = connect(server.port)
            client.sendall(b"*2\r\n$4\r\nECHO\r\n$100000\r\nabc")
            reset(client)
        check_answers(server)
        check_resident(server, before + 48 * MIB, "after 120 resets")


def time_out(start):
    """--timeout closes those who say nothing, not those who do, or who wait for others."""
    with start("--timeout", "1") as server, connect(server.port) as idle, connect(server.port) as busy, \
            connect(server.port) as half, connect(server.port) as blocked:
        half.sendall(b"*1\r\n$4\r\nPI")
        blocked.sendall(b"PING\r\nBLPOP queue 0\r\n")
        end = time.monotonic() + 2.5
        while time.monotonic() < end:
            busy.sendall(b"PING\r\n")
            check(receive(busy, 7) == b"+PONG\r\n", "the busy client was closed")
            time.sleep(0.1)
        check(idle.recv(1) == b"" and half.recv(1) == b"", "the idle client was not closed")
        busy.sendall(b"RPUSH queue x\r\n")
        check(receive(blocked, 29) == b"+PONG\r\n*2\r\n$5\r\nqueue\r\n$1\r\nx\r\n", "the blocked client was closed")


def clean_shutdown(start):
    """SIGTERM and SIGINT end it with status 0, whatever its clients are doing; the port is free at once."""
    for sent in (signal.SIGTERM, signal.SIGINT):
        with start("--shutdown-timeout", "1") as server:
            clients = [connect(server.port) for _ in range(50)]
            send_until_blocked(clients[0], b"COMMAND DOCS\r\n" * 1000, 10 * MIB)
            clients[1].sendall(b"*2\r\n$4\r\nEC")
            for client in clients[3:20]:
                client.sendall(b"BLPOP queue 0\r\n")
            for client in clients[20:40]:
                client.sendall(b"SUBSCRIBE news\r\n")
            clients[2].sendall(b"PING\r\n")
            check(receive(clients[2], 7) == b"+PONG\r\n", "no PONG")
            clients[41].sendall(b"RPUSH queue a b c\r\nPUBLISH news x\r\n")
            status = server.stop(sent)
            check(status == 0, f"{sent.name}: exit status {status}\n{server.output()}")
            clients[2].settimeout(PROMPT)
            check(receive_all(clients[2]) == b"", "the connection was not closed")
            with socket.socket() as again:
                again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                again.bind(("127.0.0.1", server.port))
            for client in clients:
                client.close()


def graceful_shutdown(start):
    """What has been received is executed and answered; idle clients are closed; nobody new is accepted."""
    with start() as server:
        idle, blocked, subscribed, slow = (connect(server.port) for _ in range(4))
        blocked.sendall(b"BLPOP queue 0\r\n")
        subscribed.sendall(b"SUBSCRIBE news\r\n")
        receive(subscribed, 10)
        asked = 20_000
        slow.sendall(b"SET key " + b"v" * 1000 + b"\r\n")
        check(receive(slow, 5) == b"+OK\r\n", "no OK")
        slow.setblocking(False)
        sent = slow.send(b"GET key\r\n" * asked) // len(b"GET key\r\n")
        slow.settimeout(PROMPT)
        time.sleep(0.1)  # the server is in the midst of it, its replies do not get out
        server.process.send_signal(signal.SIGTERM)
        for client in (idle, blocked, subscribed):
            client.settimeout(PROMPT)
            receive_all(client)
        check(server.is_running(), "it did not wait for the slow client")
        try:
            connect(server.port).close()
            raise Failure("it accepts still")
        except ConnectionRefusedError:
            pass
        replies = receive_all(slow).count(b"$1000\r\n")
        check(replies == sent, f"{replies} of {sent} requests were answered")
        check(server.process.wait(PROMPT) == 0, f"exit status\n{server.output()}")


def shutdown_deadline(start):
    """A client that does not take its replies is broken off in the end; a second signal does it at once."""
    for timeout, signals in (("1", 1), ("1000", 2)):
        with start("--shutdown-timeout", timeout) as server, connect(server.port) as deaf:
            send_until_blocked(deaf, b"COMMAND DOCS\r\n" * 1000, 10 * MIB)
            for _ in range(signals):
                check(server.is_running(), "it did not wait")
                server.process.send_signal(signal.SIGTERM)
                time.sleep(0.3)
            check(server.process.wait(PROMPT) == 0, f"exit status\n{server.output()}")


def port_taken(start):
    """A clear message and a failure, not a crash."""
    with start() as server:
        try:
            with ServerProcess(lambda _: server.process.args):
                raise Failure("two servers on one port")
        except ServerError as error:
            check("ddress already in use" in str(error), f"unclear message: {error}")
            check("status -" not in str(error), f"ended by a signal: {error}")


SCENARIOS = [bad_lengths, half_frames, slow_sender, endless_pipelines, busy_pipelines, idle_connections,
             too_many_clients, no_descriptors, resets, time_out, clean_shutdown, graceful_shutdown,
             shutdown_deadline, port_taken, *hostile_company.SCENARIOS, *hostile_faults.SCENARIOS]


def serves_faults(asked):
    """Whether that server survives a client's fault."""
    program = pathlib.Path(asked.server).read_bytes()
    return (platform.machine() == "x86_64" and not {"callback", "thread"} & set(asked.options)
            and b"__asan_init" not in program and b"__tsan_init" not in program)


def run(scenario, asked):
    def start(*options, before_start=None):
        return ServerProcess(lambda port: kv_server_command(asked.server, port, *asked.options, *options),
                             before_start=before_start)

    threads = "thread" in asked.options
    start.most_idle = 32768 if threads else 1024
    start.many = 3000 if threads else 8000
    start.serves_faults = serves_faults(asked)
    started = time.monotonic()
    try:
        said = scenario(start)
    except (Failure, ServerError, OSError) as error:
        print(f"FAIL {scenario.__name__}: {type(error).__name__}: {error}", flush=True)
        return False
    print(f"ok   {scenario.__name__} ({time.monotonic() - started:.1f} s){': ' + said if said else ''}", flush=True)
    return True


def main():
    names = [each.__name__ for each in SCENARIOS]
    asked = parse_arguments(__doc__, scenario={"nargs": "*", "help": "only these: " + " ".join(names)})
    chosen = [each for each in SCENARIOS if each.__name__ in (asked.scenario or names)]
    if len(chosen) != len(asked.scenario or names):
        sys.exit("the scenarios are: " + " ".join(names))
    failed = sum(not run(each, asked) for each in chosen)
    print(f"hostile clients{server_title(asked)}: {len(chosen)} scenarios, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
