//! corosensei: see guarded.hpp. A DefaultStack each, which is a mapping with a guard page.

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};
use sennit_bench::{require, Program};

const STACK_SIZE: usize = 64 * 1024;

fn main() {
    let program = Program::new(
        "corosensei",
        "Coroutine::with_stack on a DefaultStack",
        &[("n", &[1_000, 30_000, 1_000_000], &[1_000, 30_000])],
    );
    program.require_one_worker("a coroutine has one thread");

    for n in program.values("n") {
        let params = [("n", n.into())];
        if let Err((made, error)) = all(n) {
            program.unsupported("fresh", &params, &format!("after {made} stacks: {error}"));
            continue;
        }
        program.measure("fresh", &params, "stack", n as f64, |count| {
            for _ in 0..count {
                require(all(n).is_ok(), "there was no stack");
            }
        });
    }
}

/// Makes n coroutines, each suspended once; then lets each end.
fn all(n: u64) -> Result<(), (u64, std::io::Error)> {
    let mut coroutines = Vec::with_capacity(n as usize);
    for index in 0..n {
        let stack = DefaultStack::new(STACK_SIZE).map_err(|error| (index, error))?;
        let mut coroutine = Coroutine::<(), (), u64>::with_stack(stack, move |yielder, ()| {
            yielder.suspend(());
            index
        });
        coroutine.resume(());
        coroutines.push(coroutine);
    }
    let mut sum = 0;
    for mut coroutine in coroutines {
        if let CoroutineResult::Return(index) = coroutine.resume(()) {
            sum += index;
        }
    }
    require(sum == n * (n - 1) / 2, "a coroutine did not run to its end");
    Ok(())
}
