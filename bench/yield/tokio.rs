//! tokio: tasks that do nothing but yield; see yield.hpp. Eight different futures take turns; a task has no stack, so
//! that none is at a depth.

use sennit_bench::{on_tokio, Program};
use std::hint::black_box;
use tokio::task::{yield_now, JoinHandle};

fn spawn_yielder<const INDEX: usize>(n: u64) -> JoinHandle<()> {
    tokio::spawn(async move {
        for _ in 0..n {
            yield_now().await;
        }
        black_box(INDEX);
    })
}

fn main() {
    let functions = [
        spawn_yielder::<0>,
        spawn_yielder::<1>,
        spawn_yielder::<2>,
        spawn_yielder::<3>,
        spawn_yielder::<4>,
        spawn_yielder::<5>,
        spawn_yielder::<6>,
        spawn_yielder::<7>,
    ];
    let program = Program::new("tokio", "task::yield_now", &[("fibers", &[2, 100], &[2, 100])]);
    let runtime = on_tokio::runtime(&program);
    for fibers in program.values("fibers") {
        program.measure("yield_now", &[("fibers", fibers.into())], "yield", fibers as f64, |count| {
            on_tokio::run(&runtime, async move {
                let running: Vec<_> = (0..fibers as usize).map(|i| functions[i % 8](count)).collect();
                for each in running {
                    each.await.unwrap();
                }
            });
        });
    }
}
