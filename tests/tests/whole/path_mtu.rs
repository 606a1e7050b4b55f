//! TCP over a path whose middle carries shorter packets than both ends' own links (RFC 1191, 8201).

use windfall_network::ElementId;
use windfall_tests::run::run;

/// The packets that the sender puts on its link, on the way to `to`.
fn frames(to: &str) -> (u64, f64) {
    let text = format!(
        "format = 1\nduration = \"20s\"\n\
         [[station]]\nname = \"near\"\n\
         [[station]]\nname = \"a\"\nforward = true\n\
         [[station]]\nname = \"b\"\nforward = true\n\
         [[station]]\nname = \"far\"\n\
         [[link]]\nname = \"first\"\nstations = [\"near\", \"a\"]\nrate = \"10Mbps\"\nmtu = 3000\n\
         [[link]]\nname = \"narrow\"\nstations = [\"a\", \"b\"]\nrate = \"10Mbps\"\nmtu = 1400\n\
         delay = \"5ms\"\n\
         [[link]]\nname = \"last\"\nstations = [\"b\", \"far\"]\nrate = \"10Mbps\"\nmtu = 3000\n\
         [[app]]\nkind = \"bulk\"\nstation = \"near\"\nto = \"{to}\"\nbytes = \"2MB\"\n\
         [[app]]\nkind = \"bulk\"\nstation = \"b\"\nto = \"far\"\nbytes = \"1kB\"\n"
    );
    let outcome = run(&text, 1);
    (outcome.ledger(ElementId(0)).entered, outcome.report("bulk-sink")["received_bytes"])
}

#[test]
fn tcp_obeys_the_path_mtu_that_icmp_names_in_both_families() {
    // The far station on the third link, whose networks are the third ones.
    for (to, headers) in [("10.77.0.10", 40.0), ("fd77:696e:6400:2::2", 60.0)] {
        let (entered, received) = frames(to);
        // A short stream of the neighbour brings the receiver into being.
        assert_eq!(received, 2e6 + 1e3, "{to}");
        // Timestamps take twelve bytes. Everything but the first flight fits into 1400 bytes, and
        // the SYN, the FIN and some acknowledgments carry nothing.
        let least = 2e6 / (1_400.0 - headers - 12.0);
        let found = entered as f64;
        assert!((least..least * 1.02 + 20.0).contains(&found), "{to}: {found}, at least {least}");
    }
}
