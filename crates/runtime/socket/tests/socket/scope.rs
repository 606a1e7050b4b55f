//! Addresses of a link, which need the interface: two interfaces of a network namespace, in which
//! this test runs once more.

use std::net::{Ipv6Addr, SocketAddrV6};
use std::process::Command;

use windfall_socket::{SapListener, SapSocket};

/// The variable that marks the run inside the namespace.
const INSIDE: &str = "WINDFALL_TEST_INSIDE";
/// The name of the test.
const NAME: &str = "scope::an_address_of_a_link_needs_its_interface";
const PREPARE: &str = "ip link add near type veth peer name far && \
                       ip address add fe80::a/64 dev near nodad && \
                       ip address add fe80::b/64 dev far nodad && \
                       ip link set near up && ip link set far up";

#[test]
fn an_address_of_a_link_needs_its_interface() {
    if std::env::var_os(INSIDE).is_some() {
        return inside();
    }
    let namespace = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--net", "sh", "-c", script]);
        command
    };
    if !namespace(PREPARE).status().is_ok_and(|status| status.success()) {
        return windfall_testkit::skip::announce("a network namespace cannot be made here");
    }
    let me = std::env::current_exe().expect("a test knows its file");
    let mut again = namespace(&format!("{PREPARE} && exec \"$0\" --exact {NAME} --nocapture"));
    let output = again.arg(me).env(INSIDE, "1").output().expect("it ran before");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The index of an interface.
fn index(name: &str) -> u32 {
    let found = std::fs::read_to_string(format!("/sys/class/net/{name}/ifindex"));
    let named = |line: &&str| line.split_whitespace().last() == Some(name);
    let table = std::fs::read_to_string("/proc/net/if_inet6").unwrap_or_default();
    let entry = table.lines().find(named).and_then(|line| line.split_whitespace().nth(1));
    let listed = entry.and_then(|digits| u32::from_str_radix(digits, 16).ok());
    listed.or_else(|| found.ok()?.trim().parse().ok()).expect("it has one")
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
