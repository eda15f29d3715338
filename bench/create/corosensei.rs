//! corosensei: create, run and destroy a coroutine on one stack that is used again and again, as its own benchmark
//! does, and on a stack mapped each time.

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, ScopedCoroutine};
use sennit_bench::{require, Program};
use std::hint::black_box;

fn main() {
    let program = Program::new(
        "corosensei",
        "reused: one DefaultStack for all; fresh: Coroutine::new",
        &[],
    );
    program.require_one_worker("a coroutine has one thread");

    let mut stack = DefaultStack::default();
    program.measure("reused", &[], "create", 1.0, |count| {
        let mut sum = 0;
        for i in 0..count {
            let coroutine =
                ScopedCoroutine::<u64, (), u64, _>::with_stack(&mut stack, |_, input| {
                    black_box(input)
                });
            coroutine.scope(|mut coroutine| {
                if let CoroutineResult::Return(back) = coroutine.as_mut().resume(i & 1) {
                    sum += back;
                }
            });
        }
        require(sum == count / 2, "a coroutine did not run");
    });
    program.measure("fresh", &[], "create", 1.0, |count| {
        let mut sum = 0;
        for i in 0..count {
            let mut coroutine = Coroutine::<u64, (), u64>::new(|_, input| black_box(input));
            if let CoroutineResult::Return(back) = coroutine.resume(i & 1) {
                sum += back;
            }
        }
        require(sum == count / 2, "a coroutine did not run");
    });
}
