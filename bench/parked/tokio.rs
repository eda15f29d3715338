//! tokio: tasks that wait for a semaphore that is closed; see parked.hpp. A task is no stack, only what its function
//! needs across the wait.

use sennit_bench::{on_tokio, Program};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use tokio::sync::Semaphore;

async fn park(n: u64) {
    let gate = Arc::new(Semaphore::new(0));
    let begun = Arc::new(AtomicU64::new(0));
    let mut all = Vec::with_capacity(n as usize);
    for _ in 0..n {
        let (gate, begun) = (gate.clone(), begun.clone());
        all.push(tokio::spawn(async move {
            begun.fetch_add(1, Ordering::Relaxed);
            assert!(gate.acquire().await.is_err());
        }));
    }
    while begun.load(Ordering::Relaxed) != n {
        tokio::task::yield_now().await;
    }
    gate.close();
    for each in all {
        each.await.unwrap();
    }
}

fn main() {
    let mut program = Program::new(
        "tokio",
        "tasks without a stack; a semaphore that is closed",
        &[("n", &[1_000, 10_000, 100_000, 1_000_000], &[1_000, 10_000])],
    );
    let runtime = on_tokio::runtime(&program);
    program.begin_with_one("", || on_tokio::run(&runtime, park(1)));
    for n in program.values("n") {
        let params = [("n", n.into())];
        program.measure("", &params, "fiber", n as f64, |count| {
            on_tokio::run(&runtime, async move {
                for _ in 0..count {
                    park(n).await;
                }
            });
        });
        program.report_memory_beside_one("", &params, "fiber", n as f64);
    }
}
