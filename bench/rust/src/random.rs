//! The order of a ring that is linked at random.

/// The numbers below `n` in an order that is the same in every run.
pub fn shuffled(n: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    let mut state = 1u64;
    for i in (1..n).rev() {
        // splitmix64
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        order.swap(i, ((bits ^ (bits >> 31)) % (i as u64 + 1)) as usize);
    }
    order
}

/// For each node the node after it, in a ring that is linked in `order`, which has each number below its length once.
pub fn next_in_ring(order: &[usize]) -> Vec<usize> {
    let mut next_of = vec![0; order.len()];
    for (i, &node) in order.iter().enumerate() {
        next_of[node] = order[(i + 1) % order.len()];
    }
    next_of
}
