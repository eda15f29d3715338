//! may: coroutines that do nothing but yield; see yield.hpp. Eight different functions take turns.

use may::coroutine::yield_now;
use sennit_bench::{on_may, Program};
use std::hint::black_box;

#[inline(never)]
fn yield_many<const INDEX: usize>(n: u64) {
    for _ in 0..n {
        yield_now();
    }
    black_box(INDEX);
}

/// The work of coroutine i is done i % 8 calls deep.
#[inline(never)]
fn at_depth(depth: usize, work: fn(u64), n: u64) {
    if depth == 0 {
        work(n);
    } else {
        at_depth(depth - 1, work, n);
    }
    black_box(work);
}

fn main() {
    let functions = [
        yield_many::<0>,
        yield_many::<1>,
        yield_many::<2>,
        yield_many::<3>,
        yield_many::<4>,
        yield_many::<5>,
        yield_many::<6>,
        yield_many::<7>,
    ];
    let program =
        Program::new("may", "coroutine::yield_now; no default features", &[("fibers", &[2, 100], &[2, 100])]);
    on_may::run(program, move |program| {
        for fibers in program.values("fibers") {
            program.measure("yield_now", &[("fibers", fibers.into())], "yield", fibers as f64, |count| {
                let start = |i| on_may::spawn(move || at_depth(i % 8, black_box(functions[i % 8]), count));
                let running: Vec<_> = (0..fibers as usize).map(start).collect();
                running.into_iter().for_each(|each| each.join().unwrap());
            });
        }
    });
}
