//! corosensei as a generator: the coroutine suspends with each element. A nested walk needs no nested generator: it
//! is recursion on the generator's own stack, which is one used again for each walk.

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, ScopedCoroutine, Yielder};
use sennit_bench::{require, Program};
use std::hint::black_box;

type Generator = Coroutine<(), u64, ()>;
type Tree = Option<Box<Node>>;

struct Node {
    left: Tree,
    right: Tree,
    value: u64,
}

fn make_tree(depth: u64, next: &mut u64) -> Tree {
    if depth == 0 {
        return None;
    }
    let left = make_tree(depth - 1, next);
    let value = *next;
    *next += 1;
    let right = make_tree(depth - 1, next);
    Some(Box::new(Node { left, right, value }))
}

#[inline(never)]
fn walk(yielder: &Yielder<(), u64>, tree: &Tree) {
    if let Some(node) = tree {
        walk(yielder, &node.left);
        yielder.suspend(node.value);
        walk(yielder, &node.right);
    }
}

/// The generator is made out of the consumer's sight.
#[inline(never)]
fn count_to(limit: u64) -> Generator {
    Generator::new(move |yielder, ()| {
        for value in 0..limit {
            yielder.suspend(value);
        }
    })
}

fn main() {
    let parameters: &[(&str, &[u64], &[u64])] = &[("depth", &[4, 10, 16], &[4, 10])];
    let program = Program::new(
        "corosensei",
        "Coroutine::new; walks on a stack that is used again",
        parameters,
    );
    program.require_one_worker("a coroutine has one thread");

    program.measure("resume", &[], "element", 1.0, |count| {
        let mut generator = black_box(count_to(count));
        let mut sum = 0u64;
        while let CoroutineResult::Yield(value) = generator.resume(()) {
            sum = sum.wrapping_add(value);
        }
        require(
            sum == (count as u128 * (count as u128).wrapping_sub(1) / 2) as u64,
            "an element was lost",
        );
    });
    for depth in program.values("depth") {
        let mut nodes = 0;
        let tree: &'static Tree = Box::leak(Box::new(make_tree(depth, &mut nodes)));
        let mut stack = DefaultStack::default();
        program.measure(
            "resume",
            &[("depth", depth.into())],
            "element",
            nodes as f64,
            |count| {
                for _ in 0..count {
                    let body = |yielder: &Yielder<(), u64>, ()| walk(yielder, black_box(tree));
                    let generator = ScopedCoroutine::<(), u64, (), _>::with_stack(&mut stack, body);
                    let sum = generator.scope(|mut generator| {
                        let mut sum = 0u64;
                        while let CoroutineResult::Yield(value) = generator.as_mut().resume(()) {
                            sum = sum.wrapping_add(value);
                        }
                        sum
                    });
                    require(sum == nodes * (nodes - 1) / 2, "an element was lost");
                }
            },
        );
    }
}
