//! tokio: spawn n tasks that do nothing, then join them all; see spawn-many.hpp.

use sennit_bench::{on_tokio, Program};

fn main() {
    let program = Program::new(
        "tokio",
        "tokio::spawn, all JoinHandles awaited",
        &[("n", &[1_000, 100_000, 1_000_000], &[1_000, 10_000])],
    );
    let runtime = on_tokio::runtime(&program);
    for n in program.values("n") {
        let params = [("n", n.into())];
        program.measure("", &params, "fiber", n as f64, |count| {
            on_tokio::run(&runtime, async move {
                for _ in 0..count {
                    let all: Vec<_> = (0..n).map(|_| tokio::spawn(async {})).collect();
                    for each in all {
                        each.await.unwrap();
                    }
                }
            });
        });
    }
}
