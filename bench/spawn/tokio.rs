//! tokio: spawn a task that does nothing and join it; see spawn.hpp.

use sennit_bench::{on_tokio, Program};

fn main() {
    let program = Program::new("tokio", "tokio::spawn, its JoinHandle awaited", &[]);
    let runtime = on_tokio::runtime(&program);
    program.measure("spawn", &[], "spawn", 1.0, |count| {
        on_tokio::run(&runtime, async move {
            for _ in 0..count {
                tokio::spawn(async {}).await.unwrap();
            }
        });
    });
}
