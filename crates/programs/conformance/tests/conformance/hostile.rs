//! No script makes the run panic or hang.

use proptest::prelude::*;

use super::{Conformance, OPENED, script};

/// Events that scripts are made of, in any order.
const EVENTS: [&str; 30] = [
    "+0 < S 0:0(0) win 9 <mss 1000,sackOK,TS val 1 ecr 0,wscale 9>",
    "+0 < . 1:1(0) ack 1 win 900",
    "+.1 < P. 1:1001(1000) ack 1 win 65535",
    "+.1 < P. 2001:3001(1000) ack 4294967295 win 1",
    "+0 < F. 1001:1001(0) ack 1 win 0",
    "+0 < R 1:1(0) win 0",
    "+0 < . 1:1(0) ack 2001 win 900 <sack 1:9 3000:2000,nop,eol,FO 01>",
    "+0 <[ce] SEWFRPU. 5:65540(65535) ack 1 win 1 urg 3 <TS val 7 ecr 7,FO>",
    "+0 < icmp unreachable frag_needed mtu 1 [1:1001(1000)]",
    "* > . 1:1(0) ack 1 <...>",
    "+0~+90 > P. 1:1001(1000) ack 1",
    "+0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 5",
    "+0 fcntl(5, F_SETFL, O_NONBLOCK) = 0",
    "+0 connect(5, ..., ...) = ?",
    "+0 accept(3, ..., ...) = 6",
    "+0 listen(5, 1) = ?",
    "+0 write(4, ..., 100000) = ?",
    "+0...9 write(5, ..., 3000000) = ?",
    "+0...90 read(4, ..., 100000) = ?",
    "+0 sendto(5, ..., 5, MSG_FASTOPEN, ..., ...) = ?",
    "+0 shutdown(4, SHUT_RDWR) = ?",
    "+0 close(4) = ?",
    "+0 close(3) = ?",
    "+0 close(5) = ?",
    "+0 setsockopt(5, SOL_SOCKET, SO_LINGER, {onoff=1, linger=0}, 8) = ?",
    "+0 setsockopt(5, SOL_SOCKET, SO_RCVBUF, [-5], 4) = ?",
    "+0 getsockopt(4, SOL_SOCKET, SO_ERROR, ..., ...) = ?",
    "+0...5 poll([{fd=4, events=POLLIN, revents=POLLIN}], 1, 5000) = ?",
    "+86400 `sysctl net.ipv4.tcp_sack=0`",
    "+0 %{ assert tcpi_rto > 0 or tcpi_snd_cwnd < 0 }%",
];

proptest! {
    #[test]
    fn any_order_of_events_ends(
        opened in any::<bool>(),
        events in prop::collection::vec(0..EVENTS.len(), 0..25),
    ) {
        let mut text = if opened { OPENED.to_owned() } else { String::new() };
        for event in events {
            text.push_str(EVENTS[event]);
            text.push('\n');
        }
        let _ = Conformance::default().run(&script(&text));
    }
}
