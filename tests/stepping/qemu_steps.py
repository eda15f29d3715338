"""Executes tests/stepping's program for AArch64 instruction by instruction: qemu_steps.py PROGRAM [SCENARIO...]

By qemu's gdb stub: at each instruction of the program's own it gets SIGUSR1, whose handler unwinds, before that one is
executed. PROGRAM is not position-independent: its symbols are its addresses.
"""

import os
import re
import socket
import subprocess
import sys
import tempfile

PREFIX = "/usr/aarch64-linux-gnu"
USER_SIGNAL = "1e"  # gdb's number of SIGUSR1
PC = 32 * 8  # its place behind x0 to x30 and sp


class Stub:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        while True:
            try:
                self.socket.connect(path)
                break
            except OSError:
                pass  # qemu has not made it yet
        self.socket.settimeout(60)
        self.received = b""

    def read(self, size):
        while len(self.received) < size:
            more = self.socket.recv(65536)
            if not more:
                raise EOFError
            self.received += more
        taken, self.received = self.received[:size], self.received[size:]
        return taken

    def ask(self, request):
        packet = request.encode()
        self.socket.sendall(b"$%s#%02x" % (packet, sum(packet) & 255))
        while self.read(1) != b"$":
            pass
        answer = b""
        while (byte := self.read(1)) != b"#":
            answer += byte
        self.read(2)
        self.socket.sendall(b"+")
        return answer.decode()

    def pc(self):
        return int.from_bytes(bytes.fromhex(self.ask("g"))[PC : PC + 8], "little")

    # The program stops there; what else it stops for is wrong.
    def run_to(self, address, how="c"):
        self.ask(f"Z0,{address:x},4")
        answer = self.ask(how)
        if not answer.startswith("T05") or self.pc() != address:
            raise EOFError(f"{answer} at {self.pc():#x}, not at {address:#x}")
        self.ask(f"z0,{address:x},4")


def step_scenario(stub, symbols):
    stub.run_to(symbols["begin_steps"])
    end = symbols["end_steps"]
    while (pc := stub.pc()) != end:
        if symbols["__executable_start"] <= pc < symbols["etext"]:
            stub.run_to(pc, "C" + USER_SIGNAL)
        answer = stub.ask("s")
        if not answer.startswith("T05"):
            raise EOFError(answer)


def main():
    program, *scenarios = sys.argv[1:]
    listed = subprocess.run(["nm", program], check=True, capture_output=True, text=True).stdout
    symbols = {name: int(at, 16) for at, name in re.findall(r"^(\w+) \w (\w+)$", listed, re.M)}
    with tempfile.TemporaryDirectory() as folder:
        for scenario in scenarios:
            path = os.path.join(folder, "stub")
            process = subprocess.Popen(["qemu-aarch64", "-L", PREFIX, "-g", path, program, "unwind", "alternate", scenario],
                                       stdout=subprocess.PIPE, text=True)
            try:
                stub = Stub(path)
                stub.ask("?")
                step_scenario(stub, symbols)
                stub.ask("c")
            except EOFError as problem:
                print(f"{scenario}: the program stopped or ended: {problem}", file=sys.stderr)
                process.kill()
            output, _ = process.communicate(timeout=60)
            os.path.exists(path) and os.remove(path)
            print(output, end="", flush=True)
            found = re.search(r": (\d+) instructions, (\d+) backtraces, (\d+) ended early", output)
            if process.returncode != 0 or found is None or int(found[1]) < 100 or int(found[3]) == 0:
                sys.exit(f"{scenario}: status {process.returncode}")


main()
