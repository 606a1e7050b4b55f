use windfall_base::{Seed, Stream};

use super::*;

fn key(n: u32) -> ConnectionKey {
    let remote = core::net::Ipv4Addr::from_bits(0x0a00_0000 | n);
    let local = core::net::Ipv4Addr::new(192, 0, 2, 1);
    ConnectionKey {
        local: local.into(),
        remote: remote.into(),
        local_port: 80,
        remote_port: 40_000,
    }
}

/// Returns a trace of segments over `connections`: trains of packets (Jain), the next train mostly
/// on a connection used lately. Deterministic in its seed.
fn trace(connections: u64, lookups: usize) -> Vec<u32> {
    let mut stream = Stream::new(Seed(7), "lookups");
    let mut warm: Vec<u64> = (0..16).collect();
    let mut trace = Vec::new();
    while trace.len() < lookups {
        let pick = stream.below(16) as usize;
        // One train in five begins or wakes a connection that was cold.
        if stream.below(5) == 0 {
            warm[pick] = stream.below(connections);
        }
        let train = 1 + stream.below(4);
        (0..train).for_each(|_| trace.push(warm[pick] as u32));
    }
    trace
}

fn run(kind: Lookup, connections: u32, trace: &[u32]) -> LookupCounts {
    let mut table = ConnectionTable::new(kind, [1, 2]);
    (0..connections).for_each(|n| table.insert(key(n), n));
    for &n in trace {
        assert_eq!(table.find(&key(n)), Some(n));
    }
    *table.counts()
}

#[test]
fn twenty_remembered_entries_answer_nine_lookups_of_ten() {
    //= S2.14
    let trace = trace(1_000, 50_000);
    let rate = |counts: LookupCounts| counts.remembered as f64 / counts.lookups as f64;
    let one = rate(run(Lookup::OneEntry, 1_000, &trace));
    let twenty = rate(run(Lookup::Recent(20), 1_000, &trace));
    // Trains of 2.5 segments: one entry answers 1.5 of 2.5. Twenty miss the cold trains alone,
    // one in five of them: 1 - 0.2 / 2.5 = 0.92.
    assert!((one - 0.6).abs() < 0.04, "{one}");
    assert!((twenty - 0.92).abs() < 0.02, "{twenty}");
}

#[test]
fn hashing_compares_fewer_keys_than_a_list() {
    //= S2.14
    let trace = trace(1_000, 20_000);
    let cost = |kind| {
        let counts = run(kind, 1_000, &trace);
        counts.compared as f64 / counts.lookups as f64
    };
    let (list, recent, hashed) =
        (cost(Lookup::OneEntry), cost(Lookup::Recent(20)), cost(Lookup::Hashed));
    assert!(hashed < 2.0, "{hashed}");
    assert!(recent < list, "{recent} against {list}");
    assert!(hashed * 10.0 < recent, "{hashed} against {recent}");
}

#[test]
fn what_is_removed_is_not_found() {
    for kind in [Lookup::OneEntry, Lookup::Recent(20), Lookup::Hashed] {
        let mut table = ConnectionTable::new(kind, [3, 4]);
        assert!(table.is_empty());
        (0..100).for_each(|n| table.insert(key(n), n));
        table.find(&key(7));
        table.remove(&key(7));
        assert_eq!(table.find(&key(7)), None);
        assert_eq!(table.find(&key(8)), Some(8));
        assert_eq!(table.len(), 99);
        assert!(!table.is_empty());
    }
}

/// This key, and keys that differ from it in one bit of one of its parts.
fn neighbours(key: ConnectionKey) -> Vec<ConnectionKey> {
    fn flipped(address: IpAddr, bit: u32) -> IpAddr {
        match address {
            IpAddr::V4(v4) => core::net::Ipv4Addr::from_bits(v4.to_bits() ^ 1 << bit).into(),
            IpAddr::V6(v6) => core::net::Ipv6Addr::from_bits(v6.to_bits() ^ 1 << bit).into(),
        }
    }
    let bits = if key.local.is_ipv4() { 32 } else { 128 };
    let mut all = vec![key];
    for bit in 0..bits {
        all.push(ConnectionKey { local: flipped(key.local, bit), ..key });
        all.push(ConnectionKey { remote: flipped(key.remote, bit), ..key });
    }
    for bit in 0..16 {
        all.push(ConnectionKey { local_port: key.local_port ^ 1 << bit, ..key });
        all.push(ConnectionKey { remote_port: key.remote_port ^ 1 << bit, ..key });
    }
    all
}

#[test]
fn keys_that_differ_in_one_bit_fall_into_all_chains_alike() {
    let v6 = |text: &str| IpAddr::V6(text.parse().unwrap());
    let wide = ConnectionKey { local: v6("fd00:1::1"), remote: v6("fd00:2::2"), ..key(1) };
    for key in [key(1), wide] {
        let keys = neighbours(key);
        let mut table = ConnectionTable::new(Lookup::Hashed, [1, 2]);
        (0..).zip(&keys).for_each(|(n, key)| table.insert(*key, n));
        for (n, key) in (0..).zip(&keys) {
            assert_eq!(table.find(key), Some(n));
        }
        // Two to a chain at most: about two are compared where chance spreads them.
        let cost = table.counts().compared as f64 / keys.len() as f64;
        assert!(cost < 2.5, "{cost}");
    }
}

#[test]
fn an_outsider_cannot_tell_which_keys_share_a_chain() {
    // With one secret these keys all fall into one chain of sixteen; if but half of the secret is
    // another, they are spread.
    let secret = [0x1234_5678_9abc_def0, 0x0fed_cba9_8765_4321];
    let chain =
        |key: &ConnectionKey, secret| ConnectionTable::new(Lookup::Hashed, secret).chain(key);
    let keys: Vec<ConnectionKey> =
        (0..4_000).map(key).filter(|key| chain(key, secret) == 3).collect();
    assert!((150..350).contains(&keys.len()), "{}", keys.len());
    for other in [[secret[0] ^ 1, secret[1]], [secret[0], secret[1] ^ 1]] {
        let fullest = (0..16)
            .map(|number| keys.iter().filter(|key| chain(key, other) == number).count())
            .max();
        assert!(fullest.is_some_and(|most| most < keys.len() / 3), "{fullest:?} of {}", keys.len());
    }
}

#[test]
fn each_way_of_finding_counts_what_it_compares() {
    //= S2.14
    let counts = |kind, finds: &[u32]| {
        let mut table = ConnectionTable::new(kind, [1, 2]);
        (0..3).for_each(|n| table.insert(key(n), n));
        for &n in finds {
            assert_eq!(table.find(&key(n)), (n < 3).then_some(n), "{kind:?}");
        }
        let LookupCounts { lookups, remembered, compared } = *table.counts();
        (lookups, remembered, compared)
    };
    // A list is looked through from its end; what is remembered comes before it.
    assert_eq!(counts(Lookup::OneEntry, &[0]), (1, 0, 3));
    assert_eq!(counts(Lookup::OneEntry, &[0, 0]), (2, 1, 4));
    assert_eq!(counts(Lookup::OneEntry, &[0, 0, 2]), (3, 1, 6));
    assert_eq!(counts(Lookup::OneEntry, &[0, 0, 2, 9]), (4, 1, 10));
    assert_eq!(counts(Lookup::Recent(2), &[0, 1, 0, 1, 1]), (5, 3, 3 + 3 + 2 + 2 + 1));
}

#[test]
fn the_one_found_last_is_in_front_of_its_chain() {
    //= S2.14
    let mut table = ConnectionTable::new(Lookup::Hashed, [1, 2]);
    let shares = |n: &u32| table.chain(&key(*n)) == table.chain(&key(0));
    let other = (1..1_000).find(shares).unwrap();
    table.insert(key(0), 0);
    table.insert(key(other), other);
    let mut told = Vec::new();
    for n in [other, 0, 0, other] {
        assert_eq!(table.find(&key(n)), Some(n));
        told.push((table.counts().remembered, table.counts().compared));
    }
    assert_eq!(told, [(1, 1), (1, 3), (2, 4), (2, 6)]);
}

#[test]
fn chains_are_more_once_there_are_two_keys_for_each() {
    let mut table = ConnectionTable::new(Lookup::Hashed, [1, 2]);
    (0..32).for_each(|n| table.insert(key(n), n));
    assert_eq!(table.chains.len(), 16);
    table.insert(key(32), 32);
    assert_eq!(table.chains.len(), 64);
}

#[test]
fn a_look_without_a_trace_finds_the_same() {
    for kind in [Lookup::OneEntry, Lookup::Recent(20), Lookup::Hashed] {
        let mut table = ConnectionTable::new(kind, [3, 4]);
        (0..40).for_each(|n| table.insert(key(n), n));
        for n in 0..50 {
            assert_eq!(table.peek(&key(n)), (n < 40).then_some(n));
        }
        assert_eq!(*table.counts(), LookupCounts::default());
    }
}
