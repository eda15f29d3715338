//! may: spawn a coroutine that does nothing and join it; see spawn.hpp. A spawned coroutine goes to a global queue, and
//! its worker is woken by a system call; spawn_local runs it at once.

use sennit_bench::{on_may, Program};

fn main() {
    let program = Program::new(
        "may",
        "coroutine::spawn, or Builder::spawn_local, and join; pooled 32 KiB stacks; no default features",
        &[],
    );
    on_may::run(program, |program| {
        program.measure("spawn", &[], "spawn", 1.0, |count| {
            for _ in 0..count {
                on_may::spawn(|| ()).join().unwrap();
            }
        });
        program.measure("spawn_local", &[], "spawn", 1.0, |count| {
            for _ in 0..count {
                on_may::spawn_local(|| ()).join().unwrap();
            }
        });
    });
}
