// A program that writes which blocks it executes, and a description of each: what a model of another
// processor needs (bench/mp3/register_file.py).
//
// Option -sennit-block-trace=FILE, for a program whose compiled code is one unit, on x86-64. The code is part
// of a block that has no call but at its end, since other blocks are executed meanwhile. At the beginning of
// each part the program calls sennit_part_begins with the number of the part in edi, which must preserve all
// registers (bench/mp3/trace.c). The red zone must be off (-mno-red-zone). The file gets a line for each
// part:
//
//   {"part": 3, "block": true, "live": 4, "scratch": [2, 1], "operations": [["alu", 1, 0, ["RAX"], ["RAX",
//   "RSP"]], ...]}
//
// block: the part begins a block. live: how many registers are live at its beginning. scratch: how many of
// those that a call may change are live before each operation. An operation has the unit that executes it
// (alu, mul, move, jump or call), whether it loads and stores, and the registers that it writes and reads.
#pragma once

namespace sennit::compiler {

void add_block_trace();

}  // namespace sennit::compiler
