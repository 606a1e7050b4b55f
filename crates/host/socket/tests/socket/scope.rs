//! Addresses of a link, which need the interface: two interfaces of a network namespace, in which
//! this test runs once more.

use std::net::{Ipv6Addr, SocketAddrV6};

use windfall_socket::{SapListener, SapSocket};

/// The name of the test.
const NAME: &str = "scope::an_address_of_a_link_needs_its_interface";
const PREPARE: &str = "ip link add near type veth peer name far && \
                       ip address add fe80::a/64 dev near nodad && \
                       ip address add fe80::b/64 dev far nodad && \
                       ip link set near up && ip link set far up";

#[test]
fn an_address_of_a_link_needs_its_interface() {
    crate::namespace::run(NAME, PREPARE, inside);
}

/// The index of an interface that has an IPv6 address.
fn index(name: &str) -> u32 {
    let table = std::fs::read_to_string("/proc/net/if_inet6").expect("this host has IPv6");
    let named = |line: &&str| line.split_whitespace().last() == Some(name);
    let entry = table.lines().find(named).and_then(|line| line.split_whitespace().nth(1));
    u32::from_str_radix(entry.expect("it has an address"), 16).expect("a number")
}

fn inside() {
    let listener = SapListener::bind("[::]:0").expect("a free port");
    let port = listener.local_addr().expect("bound").port();
    let far = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0xb);
    let to = SocketAddrV6::new(far, port, 0, index("near"));
    let here = SapSocket::connect(to).expect("it listens");
    let (there, from) = listener.accept().expect("it connected");
    assert!(from.to_string().contains("fe80::a%"), "{from}");
    for (from, to) in [(&here, &there), (&there, &here)] {
        from.send(b"over the link").expect("sent");
        assert_eq!(to.recv().expect("open").expect("no end").data, &b"over the link"[..]);
    }
}
