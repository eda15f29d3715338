//! corosensei: the fastest published switch, in its documented form (`resume` and `suspend`). See switch.hpp for
//! the loops.

use corosensei::{Coroutine, CoroutineResult};
use sennit_bench::{require, Program};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};

type FourValues = [u64; 4];

#[inline(always)]
fn advance(got: FourValues) -> FourValues {
    got.map(|value| value + 1)
}

/// Whether the side that is entered goes on, which no compiler knows.
static GOES_ON: AtomicBool = AtomicBool::new(true);

/// Calls `switch` while it returns true, with ten values alive.
#[inline(always)]
fn loop_with_ten_values(mut switch: impl FnMut() -> bool) {
    let (mut a, mut b, mut c, mut d, mut e) = (
        black_box(1u64),
        black_box(2u64),
        black_box(3u64),
        black_box(4u64),
        black_box(5u64),
    );
    let (mut f, mut g, mut h, mut i, mut j) = (
        black_box(6u64),
        black_box(7u64),
        black_box(8u64),
        black_box(9u64),
        black_box(10u64),
    );
    while switch() {
        let first = a;
        a = a.wrapping_add(b);
        b = b.wrapping_add(c);
        c = c.wrapping_add(d);
        d = d.wrapping_add(e);
        e = e.wrapping_add(f);
        f = f.wrapping_add(g);
        g = g.wrapping_add(h);
        h = h.wrapping_add(i);
        i = i.wrapping_add(j);
        j = j.wrapping_add(first);
    }
    for value in [a, b, c, d, e, f, g, h, i, j] {
        black_box(value);
    }
}

fn main() {
    let program = Program::new(
        "corosensei",
        "Coroutine::resume and Yielder::suspend, default stack",
        &[],
    );
    program.require_one_worker("a coroutine has one thread");

    let mut plain = Coroutine::<(), (), ()>::new(|yielder, ()| loop {
        yielder.suspend(());
    });
    program.measure("resume", &[], "switch", 2.0, |count| {
        for _ in 0..count {
            plain.resume(());
        }
    });

    let mut ten_values = Coroutine::<(), (), ()>::new(|yielder, ()| {
        loop_with_ten_values(|| {
            yielder.suspend(());
            black_box(&GOES_ON).load(Ordering::Relaxed)
        })
    });
    program.measure("live10", &[], "switch", 2.0, |mut count| {
        loop_with_ten_values(|| {
            if count == 0 {
                return false;
            }
            count -= 1;
            ten_values.resume(());
            true
        })
    });

    let mut exchange = Coroutine::<FourValues, FourValues, ()>::new(|yielder, mut got| loop {
        got = yielder.suspend(advance(got));
    });
    program.measure("value4", &[], "switch", 2.0, |count| {
        let mut values = [0, black_box(1), 2, 3];
        for _ in 0..count {
            values = match exchange.resume(values) {
                CoroutineResult::Yield(back) => advance(back),
                CoroutineResult::Return(()) => unreachable!("the coroutine never ends"),
            };
        }
        require(
            values[0] == 2 * count && values[3] == 2 * count + 3,
            "values were lost in a switch",
        );
    });
    // Coroutines that never return: dropping them would unwind their stacks for nothing.
    std::mem::forget((plain, ten_values, exchange));
}
