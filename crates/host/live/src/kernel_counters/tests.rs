use super::*;

const TEXT: &str = "= snmp
Ip: Forwarding InReceives InHdrErrors
Ip: 1 20 3
Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors InCsumErrors
Udp: 5 6 7 8 9 0 11
= netstat
TcpExt: TCPTimeouts
TcpExt: 4
= snmp6
Ip6InReceives                   \t2
Udp6InCsumErrors                \t1
= dev
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo
   wf0:     100       2    0    3    0     0          0         0      200       4    0    5    0
";

#[test]
fn counters_are_read_by_name() {
    let counters = KernelCounters::parse(TEXT);
    for (name, value) in [
        ("Ip.InHdrErrors", 3),
        ("Udp.InCsumErrors", 11),
        ("TcpExt.TCPTimeouts", 4),
        ("Udp6InCsumErrors", 1),
        ("dev.wf0.rx_dropped", 3),
        ("dev.wf0.tx_dropped", 5),
        ("dev.wf0.tx_carrier", 0),
        ("no.such", 0),
    ] {
        assert_eq!(counters.get(name), value, "{name}");
    }
    assert!(counters.iter().all(|(_, value)| value > 0));
}

//= S0.71
#[test]
fn drops_have_reasons_and_count_once() {
    let text = "= snmp
Ip: InHdrErrors InAddrErrors
Ip: 5 1
Tcp: InErrs InCsumErrors
Tcp: 4 3
Udp: NoPorts InErrors RcvbufErrors InCsumErrors
Udp: 2 9 1 8
UdpLite: NoPorts InErrors RcvbufErrors InCsumErrors
UdpLite: 0 7 1 4
= netstat
IpExt: InCsumErrors
IpExt: 3
= dev
   wf0: 0 0 4 6 0 1 0 0 0 0 0 7 0 0 0 0
= congestion
reno
";
    let counters = KernelCounters::parse(text);
    let expected = [
        (DropReason::NotForUs, 1),
        (DropReason::Malformed, 2 + 1),
        (DropReason::IpHeaderChecksum, 3),
        (DropReason::UdpChecksum, 8),
        (DropReason::UdpLiteChecksum, 4),
        (DropReason::UdpLiteCoverage, 2),
        (DropReason::TcpChecksum, 3),
        (DropReason::NoListener, 2),
        (DropReason::ReceiveBuffer, 2),
        (DropReason::Device, 4),
    ];
    assert_eq!(counters.drops_after().iter().collect::<Vec<_>>(), expected);
    assert_eq!(counters.drops_before().iter().collect::<Vec<_>>(), [(DropReason::Device, 7)]);
    assert_eq!(counters.congestion(), Some("reno"));
}

/// The drops after the link that these texts of `snmp` and `snmp6` tell.
fn drops_after(snmp: &str, snmp6: &str) -> Vec<(DropReason, u64)> {
    let counters = KernelCounters::parse(&format!("= snmp\n{snmp}\n= snmp6\n{snmp6}\n"));
    counters.drops_after().iter().collect()
}

//= S0.71
#[test]
fn a_forwarders_drops_have_the_reasons_of_the_simulator() {
    // Seven of eleven answers to a hop limit were held back, and two headers were wrong.
    let snmp = "Ip: Forwarding InHdrErrors FragFails\nIp: 1 13 10\n\
                Icmp: OutTimeExcds OutRateLimitHost OutRateLimitGlobal\nIcmp: 4 6 1";
    let snmp6 = "Ip6InHdrErrors 5\nIp6InTooBigErrors 3\nIp6FragFails 3\nIcmp6OutTimeExcds 5";
    let expected =
        [(DropReason::TooBig, 13), (DropReason::Malformed, 2), (DropReason::HopLimit, 16)];
    assert_eq!(drops_after(snmp, snmp6), expected);
    // Without an answer no hop limit ran out, whatever else was held back.
    let snmp = "Ip: Forwarding InHdrErrors\nIp: 1 4\nIcmp: OutRateLimitHost\nIcmp: 9";
    assert_eq!(drops_after(snmp, ""), [(DropReason::Malformed, 4)]);
    // A host that does not forward answers so to fragments, and cuts nothing but its own packets.
    let snmp = "Ip: Forwarding InHdrErrors FragFails\nIp: 2 4 1\nIcmp: OutTimeExcds\nIcmp: 9";
    assert_eq!(drops_after(snmp, ""), [(DropReason::Malformed, 4)]);
}

//= S0.71
#[test]
fn datagrams_of_a_wrong_length_are_malformed() {
    let snmp = "Udp: InErrors RcvbufErrors InCsumErrors MemErrors\nUdp: 29 2 3 4";
    let snmp6 = "Udp6InErrors 7\nUdp6InCsumErrors 6";
    let expected =
        [(DropReason::Malformed, 21), (DropReason::UdpChecksum, 9), (DropReason::ReceiveBuffer, 6)];
    assert_eq!(drops_after(snmp, snmp6), expected);
}

proptest::proptest! {
    #[test]
    fn any_text_is_read_without_panic(
        text: String,
        lines in "(= (snmp|dev|snmp6)\n[ -~\n]{0,200})*",
    ) {
        let _ = KernelCounters::parse(&text);
        let _ = KernelCounters::parse(&lines);
    }
}
