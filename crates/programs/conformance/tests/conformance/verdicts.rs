//! What is told of scripts that do not pass.

use windfall_base::Duration;
use windfall_conformance::{Conformance, ScriptFailure, ScriptOutcome};
use windfall_files::packet_script::Place;
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
        ("+0 pipe([5, 6]) = 0", "pipe"),
        ("+0 < udp (1000)", "udp"),
        ("+0 < . 1:1(0) ack 1 win 5 <mp_capable v1>", "the option mp_capable"),
        ("+0 socket(..., SOCK_DGRAM, 0) = 5", "a socket that is not one of TCP"),
        ("+0 setsockopt(4, SOL_TCP, TCP_USER_TIMEOUT, [1], 4) = 0", "TCP_USER_TIMEOUT"),
        ("+0 setsockopt(4, SOL_TCP, TCP_CONGESTION, \"vegas\", 4) = 0", "congestion control vegas"),
        ("`iptables -F`", "the command iptables"),
        ("`sysctl -w net.ipv4.tcp_odd=1`", "the setting net.ipv4.tcp_odd=1"),
        ("+0 %{ import os }%", "the Python code \"import os\""),
        ("+0 %{ assert tcpi_fackets == 3 }%", "tcpi_fackets"),
        ("+0 send(4, ..., 10, MSG_OOB) = 10", "MSG_OOB"),
        ("+0 read(4, ..., -1) = 0", "read of -1 bytes"),
        ("+0 < icmp unreachable odd [1:1(0)]", "icmp unreachable odd"),
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
        "./defaults.sh\n../set_sysctls.py \\\n/proc/sys/net/ipv4/tcp_rmem=\"4096 8000 9000\"",
        "S 0:0(0) win 8000 <mss 1460, sackOK, TS val 9 ecr 0, wscale 0>",
    );
    // Packetdrill's suite on Linux, and what FreeBSD takes its shift from.
    syn("../common/defaults.sh", "S 0:0(0) <mss 1460, sackOK, TS val 9 ecr 0, wscale 8>");
    syn(
        "sysctl -w kern.ipc.maxsockbuf=2097152\nsysctl -w net.inet.tcp.recvspace=65536\n\
         sysctl -w net.inet.tcp.insecure_rst=0",
        "S 0:0(0) win 65535 <mss 1460, sackOK, TS val 9 ecr 0, wscale 6>",
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
    let tcp = TcpConfig::default().with(|it| it.initial_window = 3);
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
        ("assert 1 < 2 < 3 <= 3", true),
        ("assert 1 < 3 < 2", false),
        ("assert 3 < 2 < 4", false),
        ("assert tcpi_advmss == 1460 and tcpi_last_data_recv == 0", true),
    ] {
        let verdict = run_opened(&format!("+0 %{{ {code} }}%"));
        assert_eq!(verdict == ScriptOutcome::Passed, holds, "{code}: {verdict:?}");
    }
    for code in ["assert 1 // 0", "assert 1 +", "assert (1"] {
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

/// A listener whose peer has a SYN of its own number, and the numbers behind it in `rest`.
fn run_numbered(rest: &str) -> ScriptOutcome {
    run(&format!(
        "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 bind(3, ..., ...) = 0\n\
         +0 listen(3, 1) = 0\n+0 < S 9000:9000(0) win 32792 <mss 1000,sackOK>\n\
         +0 > S. 5000:5000(0) ack 9001 <...>\n{rest}"
    ))
}

#[test]
fn numbers_behind_a_syn_go_on_from_it_or_count_from_it() {
    for (theirs, ours) in [(1, 1), (9_001, 5_001), (1, 5_001), (9_001, 1)] {
        let next = theirs + 10;
        let beyond = theirs + 20;
        let end = theirs + 30;
        let rest = format!(
            "+0 < . {theirs}:{theirs}(0) ack {ours} win 9\n+0 accept(3, ..., ...) = 4\n\
             +0 < P. {theirs}:{next}(10) ack {ours} win 9\n+0 read(4, ..., 100) = 10\n\
             +0 < P. {beyond}:{end}(10) ack {ours} win 9\n\
             +0~+.1 > . {ours}:{ours}(0) ack {next} <nop,nop,sack {beyond}:{end}>\n"
        );
        assert_eq!(run_numbered(&rest), ScriptOutcome::Passed, "{theirs} {ours}");
    }
}

#[test]
fn what_is_peeked_at_stays_and_errors_have_two_names() {
    let rest = "+0 < P. 1:11(10) ack 1 win 9\n+0 recv(4, ..., 100, MSG_PEEK) = 10\n\
                +0 recv(4, ..., 4, MSG_PEEK) = 4\n+0 read(4, ..., 100) = 10\n\
                +0 recv(4, ..., 9, MSG_PEEK|MSG_DONTWAIT) = -1 EWOULDBLOCK\n\
                +0 recv(4, ..., 9, MSG_DONTWAIT) = -1 EAGAIN\n";
    assert_eq!(run_opened(rest), ScriptOutcome::Passed);
}

#[test]
fn messages_are_sent_and_received_and_their_ends_are_told() {
    let send = "+0 setsockopt(4, SOL_SOCKET, SO_ZEROCOPY, [1], 4) = 0\n\
                +0 sendmsg(4, {msg_name(...)=..., msg_iov(2)=[{..., 4}, {..., 6}], msg_flags=0}, \
                MSG_ZEROCOPY) = 10\n+0 > P. 1:11(10) ack 1\n";
    let told = |info: u32, result: &str| {
        format!(
            "+0 recvmsg(4, {{msg_name(...)=..., msg_iov(1)=[{{...,0}}], msg_flags=MSG_ERRQUEUE, \
             msg_control=[{{cmsg_level=CMSG_LEVEL_IP, cmsg_type=CMSG_TYPE_RECVERR, cmsg_data=\
             {{ee_errno=0, ee_info={info}, ee_data=0}}}}]}}, MSG_ERRQUEUE) = {result}\n"
        )
    };
    let acked = "+0 < . 1:1(0) ack 11 win 9\n";
    let wanted = format!("{send}{}{acked}{}", told(0, "-1 EAGAIN"), told(0, "0"));
    assert_eq!(run_opened(&wanted), ScriptOutcome::Passed);
    let wrong = format!("{send}{acked}{}", told(1, "0"));
    assert_eq!(failure(run_opened(&wrong)).what, "ee_info differs");
    let receive = "+0 < P. 1:21(20) ack 1 win 9\n\
                   +0 recvmsg(4, {msg_name(...)=..., msg_iov(1)=[{..., 15}], msg_flags=0, \
                   msg_control=[{cmsg_level=SOL_TCP, cmsg_type=TCP_CM_INQ, cmsg_data=5}]}, 0) \
                   = 15\n";
    assert_eq!(run_opened(receive), ScriptOutcome::Passed);
}

#[test]
fn linux_cookies_prove_a_client_and_others_do_not() {
    let accept = |cookie: &str, taken: u32| {
        run(&format!(
            "--local_ip=192.168.0.1\n--remote_ip=192.0.2.1\n`../common/defaults.sh`\n\
             0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 bind(3, ..., ...) = 0\n\
             +0 listen(3, 1) = 0\n+0 < S 0:10(10) win 32792 <mss 1460,sackOK,{cookie}>\n\
             +0 > S. 0:0(0) ack {taken} <...>\n"
        ))
    };
    for good in ["FO 3021b9d889017eeb", "FOEXP 3021b9d889017eeb", "FO TFO_COOKIE"] {
        assert_eq!(accept(good, 11), ScriptOutcome::Passed, "{good}");
    }
    assert_eq!(accept("FO 3021b9d889017eec", 1), ScriptOutcome::Passed);
}
