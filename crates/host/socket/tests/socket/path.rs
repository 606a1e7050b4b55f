//! Path MTU discovery finds the size of the path without fragmentation. The path of 1500 bytes is
//! the loopback of a network namespace, in which this test runs once more.
#![expect(clippy::disallowed_methods, reason = "the search takes its time")]

use std::time::Duration;

use windfall_socket::{SapListener, SapSocket};

/// The name of the test.
const NAME: &str = "path::discovery_ends_at_the_size_of_the_path";
const PREPARE: &str = "ip link set lo mtu 1500 up";

#[test]
fn discovery_ends_at_the_size_of_the_path() {
    crate::namespace::run(NAME, PREPARE, inside);
}

/// The value of a counter of UDP in this namespace.
fn counted(name: &str) -> u64 {
    let counters = std::fs::read_to_string("/proc/net/snmp").expect("there are counters");
    let mut lines = counters.lines().filter_map(|line| line.strip_prefix("Udp: "));
    let mut words = || lines.next().expect("names and values").split(' ');
    let found = words().zip(words()).find(|(found, _)| *found == name);
    found.and_then(|(_, value)| value.parse().ok()).expect("it is counted")
}

#[test]
fn exact_datagrams_go_in_runs_over_a_path_that_shows_no_damage() {
    const NAME: &str = "path::exact_datagrams_go_in_runs_over_a_path_that_shows_no_damage";
    crate::namespace::run(NAME, PREPARE, || {
        let listener = SapListener::bind("127.0.0.1:0").expect("a free port");
        let to = listener.local_addr().expect("bound");
        let sender = SapSocket::connect(to).expect("connected");
        let (receiver, _) = listener.accept().expect("accepted");
        std::thread::sleep(Duration::from_millis(700));
        let count = 300_usize;
        let before = counted("InDatagrams");
        let message = |number: usize| -> Vec<u8> {
            (0..60_000).map(|at| ((at + number) % 251) as u8).collect()
        };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                (0..count).for_each(|number| sender.send(&message(number)).expect("it is open"));
                sender.finish();
            });
            for number in 0..count {
                let got = receiver.recv().expect("it is open").expect("not finished");
                assert!(got.data == message(number), "message {number}");
            }
        });
        // Each of them takes more than 40 datagrams of at most 1500 bytes.
        let arrived = counted("InDatagrams") - before;
        assert!(arrived < 20 * count as u64, "{arrived} arrivals");
    });
}

/// Bodies of a web page are cut as soon as the size of the path is known.
#[test]
fn the_size_of_802_11_is_found_by_the_first_probe() {
    const NAME: &str = "path::the_size_of_802_11_is_found_by_the_first_probe";
    crate::namespace::run(NAME, "ip link set lo mtu 2296 up", || {
        let listener = SapListener::bind("127.0.0.1:0").expect("a free port");
        let to = listener.local_addr().expect("bound");
        // The second probe of a size is sent after 100 ms.
        let found: Vec<usize> = (0..20)
            .map(|_| {
                let socket = SapSocket::connect(to).expect("connected");
                let accepted = listener.accept().expect("accepted");
                accepted.0.settle_path(windfall_socket::Duration::from_millis(50));
                drop(socket);
                accepted.0.max_whole()
            })
            .collect();
        assert!(found.iter().any(|most| (2210..2240).contains(most)), "{found:?}");
    });
}

fn inside() {
    let listener = SapListener::bind("127.0.0.1:0").expect("a free port");
    // A search ends after three unanswered probes, which happens on a busy machine.
    let mut found = Vec::new();
    let mut searches = (0..20).map(|_| {
        let socket = SapSocket::connect(listener.local_addr().expect("bound")).expect("connected");
        let (peer, _) = listener.accept().expect("accepted");
        // Three probes of the first size that is too large take 300 ms.
        std::thread::sleep(Duration::from_millis(700));
        let most = socket.max_whole();
        found.push(most);
        (socket, peer, most)
    });
    let good = searches.find(|(_, _, most)| (1420..1500).contains(most));
    drop(searches);
    let Some((socket, peer, most)) = good else { panic!("messages of {found:?} bytes") };
    for _ in 0..100 {
        socket.send(&vec![7; most]).expect("it fits");
        assert_eq!(peer.recv().expect("it arrives").map(|it| it.data.len()), Some(most));
    }
    let counters = std::fs::read_to_string("/proc/net/snmp").expect("there are counters");
    let mut lines = counters.lines().filter_map(|line| line.strip_prefix("Ip: "));
    let mut words = || lines.next().expect("names and values").split(' ');
    let fragments = words().zip(words()).find(|(name, _)| *name == "FragCreates");
    assert_eq!(fragments, Some(("FragCreates", "0")));
}
