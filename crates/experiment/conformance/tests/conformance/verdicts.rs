//! What is told of scripts that do not pass.

use windfall_base::Duration;
use windfall_conformance::{Conformance, ScriptFailure, ScriptOutcome};
use windfall_packet_script::Place;
use windfall_tcp::TcpConfig;

use super::{OPENED, run, run_opened, script};

fn failure(verdict: ScriptOutcome) -> ScriptFailure {
    match verdict {
        ScriptOutcome::Failed(failure) => *failure,
        other => panic!("{other:?}"),
    }
}

fn feature(verdict: ScriptOutcome) -> String {
    match verdict {
        ScriptOutcome::Unsupported { feature, .. } => feature,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_failure_names_the_place_both_segments_and_what_came_before() {
    let verdict = run("0 < S 0:0(0) win 9\n+0 > R. 0:0(0) ack 2 win 0\n");
    let text = |text: &str| Some(text.to_owned());
    let wanted = ScriptFailure {
        place: Place { line: 2, column: 1 },
        what: "what left differs in acknowledgment number".to_owned(),
        expected: text("0.000000 > R. 0:0(0) ack 2 win 0"),
        got: text("0.000000 > R. 0:0(0) ack 1 win 0"),
        timeline: vec!["0.000000 < S 0:0(0) win 9".to_owned()],
    };
    assert_eq!(failure(verdict), wanted);
}

#[test]
fn each_kind_of_failure_says_what_is_wrong() {
    for (rest, wanted) in [
        ("+0 > . 1:1(0) ack 1", "nothing left"),
        ("+0 write(4, ..., 10) = 9", "the result differs"),
        ("+0 write(9, ..., 10) = 10", "the result differs"),
        ("+0 read(4, ..., 10) = 0", "read(4, ..., 10) = 0 blocks; write START...END as its time"),
        ("+0...0.1 read(4, ..., 9) = 9", "read(4, ..., 9) = 9 still blocks"),
        ("+0 write(4, ..., 10) = 10\n+.1 > P. 1:11(10) ack 1", "what left differs in time"),
        ("+0 write(4, ..., 10) = 10\n+0 >[ce] P. 1:11(10) ack 1", "what left differs in ECN field"),
        ("+0 write(4, ..., 10) = 10\n+0 > P. 1:11(10) ack 1 win 3", "what left differs in window"),
        (
            "+0 write(4, ..., 10) = 10\n+0 > P. 1:11(10) ack 1 <mss 5>",
            "what left differs in options",
        ),
        ("+0 getsockopt(4, SOL_SOCKET, SO_ERROR, [104], [4]) = 0", "SO_ERROR differs"),
        ("+0 ioctl(4, SIOCINQ, [7]) = 0", "bytes differ"),
        ("+0 poll([{fd=4, events=POLLIN, revents=POLLIN}], 1, 0) = 1", "events of poll differ"),
        ("+0 %{ assert tcpi_snd_cwnd == 11 }%", "an assertion does not hold"),
        ("+0 close(4) = 0\n+0 close(4) = 0", "the result differs"),
    ] {
        assert_eq!(failure(run_opened(rest)).what, wanted, "{rest}");
    }
}

#[test]
fn what_is_not_there_is_named() {
    for (rest, wanted) in [
        ("+0 epoll_create(1) = 5", "epoll_create"),
        ("+0 < udp (1000)", "udp"),
        ("+0 < . 1:1(0) ack 1 win 5 <mp_capable v1>", "the option mp_capable"),
        ("+0 socket(..., SOCK_DGRAM, 0) = 5", "a socket that is not one of TCP"),
        ("+0 setsockopt(4, SOL_TCP, TCP_CORK, [1], 4) = 0", "TCP_CORK"),
        ("+0 setsockopt(4, SOL_TCP, TCP_CONGESTION, \"vegas\", 4) = 0", "congestion control vegas"),
        ("`tc qdisc add dev tun0`", "the command tc"),
        ("`sysctl -w net.ipv4.tcp_odd=1`", "the setting net.ipv4.tcp_odd=1"),
        ("+0 %{ print(tcpi_unacked) }%", "the Python code \"print(tcpi_unacked)\""),
        ("+0 %{ assert tcpi_reordering == 3 }%", "tcpi_reordering"),
        ("+0 send(4, ..., 10, MSG_OOB) = 10", "MSG_OOB"),
        ("+0 read(4, ..., -1) = 0", "read of -1 bytes"),
        ("+0 < icmp unreachable port_unreachable [1:1(0)]", "icmp unreachable port_unreachable"),
        ("+999999999 close(4) = 0", "a time beyond ten days"),
    ] {
        assert_eq!(feature(run_opened(rest)), wanted, "{rest}");
    }
    assert_eq!(feature(run("--ip_version=ipv5\n+0 `true`")), "the option --ip_version=ipv5");
}

#[test]
fn settings_of_systems_become_settings_of_the_engine() {
    let syn = |settings: &str, options: &str| {
        let text = format!(
            "`{settings}`\n0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n\
             +0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0\n\
             +0 connect(3, ..., ...) = -1 EINPROGRESS (In progress)\n+0 > {options}\n"
        );
        assert_eq!(run(&text), ScriptOutcome::Passed, "{text}");
    };
    syn("true", "S 0:0(0) win 65535 <mss 1460, sackOK, TS val 9 ecr 0, wscale 9>");
    syn("sysctl -q net.ipv4.tcp_sack=0", "S 0:0(0) <mss 1460, TS val 9 ecr 0, wscale 9>");
    syn("sysctl -w net.inet.tcp.rfc1323=0", "S 0:0(0) <mss 1460, sackOK>");
    syn("sysctl net.ipv4.tcp_timestamps=0 > /dev/null 2>&1", "S 0:0(0) <mss 1460,sackOK,wscale 9>");
    syn(
        "../set_sysctls.py /proc/sys/net/ipv4/tcp_rmem=\"4096 8000 9000\"\n./defaults.sh",
        "S 0:0(0) win 8000 <mss 1460, sackOK, TS val 9 ecr 0, wscale 0>",
    );
    // 1 asks for marks, 2 only answers who does.
    syn("sysctl net.ipv4.tcp_ecn=1", "SEW 0:0(0) <...>");
    syn("sysctl net.inet.tcp.ecn.enable=2", "S 0:0(0) <...>");
    // 3 asks for accurate ECN, 5 only answers who does.
    syn("sysctl net.ipv4.tcp_ecn=3", "SEWA 0:0(0) <...>");
    syn("sysctl net.ipv4.tcp_ecn=5", "S 0:0(0) <...>");
}

#[test]
fn the_tolerance_is_four_milliseconds_unless_the_script_says_another() {
    let sent = |options: &str, time: &str| {
        let text =
            format!("{options}\n{OPENED}+0 write(4, ..., 10) = 10\n{time} > P. 1:11(10) ack 1");
        run(&text)
    };
    assert_eq!(sent("", "+.004"), ScriptOutcome::Passed);
    assert_eq!(failure(sent("", "+.0041")).what, "what left differs in time");
    assert_eq!(sent("--tolerance_usecs=20000", "+.02"), ScriptOutcome::Passed);
    assert_eq!(sent("", "+0~+1"), ScriptOutcome::Passed);
    assert_eq!(sent("", "*"), ScriptOutcome::Passed);
}

#[test]
fn what_is_ignored_is_not_compared() {
    let text = format!("{OPENED}+0 write(4, ..., 10) = 10\n+0 > . 1:11(10) ack 1 win 3 <mss 5>");
    let verdict = |ignored: &str| {
        let unchecked = ignored.parse().expect("these are parts");
        Conformance { unchecked, ..Conformance::default() }.run(&script(&text))
    };
    assert_eq!(failure(verdict("")).what, "what left differs in flags, window, options");
    assert_eq!(failure(verdict("push, window")).what, "what left differs in options");
    assert_eq!(verdict("push,window,options"), ScriptOutcome::Passed);
    assert!("pull".parse::<windfall_conformance::Unchecked>().is_err());
}

#[test]
fn the_engine_runs_with_the_settings_it_is_given() {
    let text = format!("{OPENED}+0 %{{ assert tcpi_snd_cwnd == 3 }}%");
    let tcp = TcpConfig { initial_window: 3, ..TcpConfig::default() };
    let tolerance = Duration::from_millis(1);
    let conformance = Conformance { tcp, tolerance, ..Conformance::default() };
    assert_eq!(conformance.run(&script(&text)), ScriptOutcome::Passed);
    assert!(failure(run(&text)).got.is_some_and(|got| got == "tcpi_snd_cwnd = 10"));
}

#[test]
fn assertions_know_operators_and_their_order() {
    for (code, holds) in [
        ("assert 1 + 2 * 3 == 7 and not 1 > 2", true),
        ("assert (1 + 2) * 3 == 7", false),
        ("assert 7 // 2 == 3 or 1 == 2, 'a message'", true),
        ("assert (tcpi_options & TCPI_OPT_SACK) == 0", true),
        ("# a comment\n\nassert tcpi_state == TCP_ESTABLISHED; assert 0x10 == 16", true),
        ("assert -1 < 0 and 4 | 2 & 1 == 4", true),
        ("assert tcpi_rto >= 200 * 1000", true),
    ] {
        let verdict = run_opened(&format!("+0 %{{ {code} }}%"));
        assert_eq!(verdict == ScriptOutcome::Passed, holds, "{code}: {verdict:?}");
    }
    for code in ["assert 1 // 0", "assert 1 < 2 < 3", "assert 1 +", "assert (1"] {
        let named = feature(run_opened(&format!("+0 %{{ {code} }}%")));
        assert_eq!(named, format!("the Python code \"{code}\""));
    }
}

#[test]
fn options_of_accepted_sockets_hold_from_the_beginning() {
    let nagle = "+0 write(4, ..., 10) = 10\n+0 > P. 1:11(10) ack 1\n+0 write(4, ..., 10) = 10\n";
    let second = "+0 > P. 11:21(10) ack 1\n";
    assert_eq!(failure(run_opened(&format!("{nagle}{second}"))).what, "nothing left");
    let option = "+0 setsockopt(4, SOL_TCP, TCP_NODELAY, [1], 4) = 0\n\
                  +0 getsockopt(4, SOL_TCP, TCP_NODELAY, [1], [4]) = 0\n";
    assert_eq!(run_opened(&format!("{option}{nagle}{second}")), ScriptOutcome::Passed);
    let late = format!("{nagle}{option}");
    assert_eq!(feature(run_opened(&late)), "TCP_NODELAY on a socket that listens or is connected");
}

#[test]
fn connections_follow_each_other() {
    let again = "+0 close(4) = 0\n+0 > F. 1:1(0) ack 1\n+0 < R. 1:1(0) ack 2 win 0\n\
                 +.1 < S 700:700(0) win 32792 <mss 1000>\n+0 > S. 0:0(0) ack 701 <...>\n\
                 +0 < . 701:701(0) ack 1 win 9\n+0 accept(3, ..., ...) = 5\n\
                 +0 < P. 701:711(10) ack 1 win 9\n+0 read(5, ..., 100) = 10\n";
    assert_eq!(run_opened(again), ScriptOutcome::Passed);
}
