#!/usr/bin/env python3
"""Talks to the echo server and ends it: echo_server_test.py COMMAND..."""

import pathlib
import re
import resource
import signal
import socket
import subprocess
import sys
import threading

LIMIT = 20  # seconds
MOST_IDLE = 1024  # bytes for each idle connection: no stack, not even a page of it


def start(command):
    server = subprocess.Popen([*command, "--port", "0"], stdout=subprocess.PIPE, text=True)
    line = server.stdout.readline()
    found = re.search(r"127\.0\.0\.1:(\d+)", line)
    if not found:
        server.kill()
        sys.exit(f"the server said {line!r}")
    return server, int(found[1])


def connect(port):
    return socket.create_connection(("127.0.0.1", port), timeout=LIMIT)


def receive_all(client):
    parts = []
    while part := client.recv(65536):
        parts.append(part)
    return b"".join(parts)


def talk(port, seed, wrong):
    data = bytes((i * seed) % 251 for i in range(300_000))
    with connect(port) as client:
        sender = threading.Thread(target=lambda: (client.sendall(data), client.shutdown(socket.SHUT_WR)))
        sender.start()
        if receive_all(client) != data:
            wrong.append(f"client {seed} did not get back what it sent")
        sender.join()


def stop(server, which, wrong):
    """Asks it to end. ThreadSanitizer keeps a signal for the fiber that it interrupts, until that one makes a call that
    blocks, which may be never. The next signal comes while the server waits."""
    sanitized = b"__tsan_init" in pathlib.Path(server.args[-3]).read_bytes()
    for _ in range(4 if sanitized else 1):
        server.send_signal(which)
        try:
            said = server.communicate(timeout=LIMIT / 4 if sanitized else LIMIT)[0]
            break
        except subprocess.TimeoutExpired:
            pass
    else:
        server.kill()
        wrong.append(f"the server did not end on {which.name}")
        return
    if server.returncode != 0 or "Ended." not in said:
        wrong.append(f"on {which.name} the server exited with {server.returncode} and said {said!r}")


def idle_client_is_let_go(command, which, wrong):
    server, port = start(command)
    with connect(port) as idle, connect(port) as deaf:
        idle.sendall(b"hello")
        if idle.recv(5) != b"hello":
            wrong.append("no echo")
        deaf.setblocking(False)
        try:  # never reads: fills every buffer, so that the server cannot send
            while True:
                deaf.send(bytes(65536))
        except BlockingIOError:
            pass
        stop(server, which, wrong)
        if receive_all(idle) != b"":
            wrong.append("an idle client got something")


def resident_bytes(server):
    status = pathlib.Path(f"/proc/{server.pid}/status").read_text(encoding="ascii")
    return int(re.search(r"VmRSS:\s*(\d+)", status)[1]) * 1024


def has_memory_of_its_own(command):
    """Neither an emulator's nor a sanitizer's is in it."""
    program = pathlib.Path(command[-1]).read_bytes()
    return len(command) == 1 and not any(word in program for word in (b"__asan_init", b"__tsan_init", b"__msan_init"))


def idle_clients_take_little(command, wrong):
    count = min(3000, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 200)
    server, port = start(command)
    clients = [connect(port)]

    def all_are_served():
        for client in clients:
            client.sendall(b"hello")
        if any(client.recv(5) != b"hello" for client in clients):
            wrong.append("one of many idle clients was not served")

    all_are_served()
    before = resident_bytes(server)
    clients += [connect(port) for _ in range(count)]
    for _ in range(2):
        all_are_served()
        each = (resident_bytes(server) - before) / count
        if has_memory_of_its_own(command) and each >= MOST_IDLE:
            wrong.append(f"{each:.0f} bytes for each of {count} idle connections")
    stop(server, signal.SIGTERM, wrong)
    for client in clients:
        client.close()


def main():
    command = sys.argv[1:]
    wrong = []
    server, port = start(command)
    clients = [threading.Thread(target=talk, args=(port, seed, wrong)) for seed in range(1, 6)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    stop(server, signal.SIGTERM, wrong)
    idle_client_is_let_go(command, signal.SIGINT, wrong)
    idle_clients_take_little(command, wrong)
    if subprocess.run([*command, "--port", "none"], capture_output=True, timeout=LIMIT).returncode != 2:
        wrong.append("a wrong option was taken")
    sys.exit("\n".join(wrong) or 0)


if __name__ == "__main__":
    main()
