//! tokio: its Mutex, uncontended with one worker, contended by two tasks with two; see mutex.hpp.

use sennit_bench::{on_tokio, require, Program};
use std::hint::black_box;
use std::sync::Arc;
use tokio::sync::Mutex;

fn main() {
    let program = Program::new("tokio", "tokio::sync::Mutex", &[]);
    let runtime = on_tokio::runtime(&program);
    if program.workers() == 1 {
        let mutex = Arc::new(Mutex::new(()));
        program.measure("Mutex", &[("fibers", 1.into())], "pair", 1.0, |count| {
            let mutex = mutex.clone();
            on_tokio::run(&runtime, async move {
                for _ in 0..count {
                    // An object of which the compiler knows nothing, anew each time.
                    drop(black_box(&*mutex).lock().await);
                }
            });
        });
        return;
    }
    const FIBERS: u64 = 2;
    program.measure("Mutex", &[("fibers", FIBERS.into())], "pair", FIBERS as f64, |count| {
        let locked = on_tokio::run(&runtime, async move {
            let locked = Arc::new(Mutex::new(0));
            let contend = |_| {
                let locked = locked.clone();
                tokio::spawn(async move {
                    for _ in 0..count {
                        *locked.lock().await += 1;
                    }
                })
            };
            let running: Vec<_> = (0..FIBERS).map(contend).collect();
            for each in running {
                each.await.unwrap();
            }
            let total = *locked.lock().await;
            total
        });
        require(locked == FIBERS * count, "the mutex let two in at once");
    });
}
