//! may: its Mutex, uncontended with one worker, contended by two coroutines with two; see mutex.hpp.

use may::sync::Mutex;
use sennit_bench::{on_may, require, Program};
use std::hint::black_box;
use std::sync::Arc;

fn main() {
    let program = Program::new("may", "may::sync::Mutex; no default features", &[]);
    on_may::run(program, |program| {
        if program.workers() == 1 {
            let mutex = Mutex::new(());
            program.measure("Mutex", &[("fibers", 1.into())], "pair", 1.0, |count| {
                for _ in 0..count {
                    // An object of which the compiler knows nothing, anew each time.
                    drop(black_box(&mutex).lock().unwrap());
                }
            });
            return;
        }
        const FIBERS: u64 = 2;
        program.measure("Mutex", &[("fibers", FIBERS.into())], "pair", FIBERS as f64, |count| {
            let locked = Arc::new(Mutex::new(0));
            let contend = |_| {
                let locked = locked.clone();
                on_may::spawn(move || (0..count).for_each(|_| *locked.lock().unwrap() += 1))
            };
            let running: Vec<_> = (0..FIBERS).map(contend).collect();
            running.into_iter().for_each(|each| each.join().unwrap());
            require(*locked.lock().unwrap() == FIBERS * count, "the mutex let two in at once");
        });
    });
}
