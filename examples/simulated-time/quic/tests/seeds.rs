//! Twenty seeded links, four of each kind.

use quic_over_links::{KINDS, EventKind, run};

#[test]
fn data_comes_back_whole_over_every_kind_of_link_and_a_seed_repeats_its_trace() {
    let (mut damaged, mut marked) = (0, 0);
    for seed in 0..4 * KINDS.len() as u64 {
        let (kind, exchange) = run(seed, 50_000).expect("it ends");
        let (_, again) = run(seed, 50_000).expect("it ends");
        assert!(exchange == again, "seed {seed}, {}: the second run differs", kind.name);
        let arrived = exchange.trace.iter().filter_map(|step| match step.what {
            What::Arrived(_, ecn, damaged) => Some((ecn, damaged)),
            _ => None,
        });
        for (ecn, is_damaged) in arrived {
            damaged += u32::from(is_damaged);
            marked += u32::from(ecn.bits() == 3);
        }
    }
    // Of some hundred packets at 1e-5 every tenth is hit.
    assert!(damaged > 20, "{damaged}");
    assert!(marked > 0, "no queue has marked");
    let (_, one) = run(3, 50_000).expect("it ends");
    let (_, other) = run(8, 50_000).expect("it ends");
    assert_ne!(one.digest(), other.digest(), "two seeds of one kind");
}
