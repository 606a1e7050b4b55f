use proptest::prelude::*;

use super::*;
use crate::packet_script::{
    Action, Argument, Call, Icmp, OptionList, Place, Returned, ScriptPacket, ScriptSegment,
    SegmentOption,
};

fn read(text: &str) -> Script {
    text.parse().unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

fn only(text: &str) -> Event {
    read(text).events.remove(0)
}

fn failure(text: &str) -> String {
    text.parse::<Script>().expect_err(text).to_string()
}

fn call(text: &str) -> Call {
    match only(text).action {
        Action::Call(call) => call,
        other => panic!("{other:?} is no call"),
    }
}

#[test]
fn times_are_absolute_relative_ranges_or_any() {
    let at = |relative, from, until: Option<u64>| When::At {
        relative,
        from: Duration::from_millis(from),
        until: until.map(Duration::from_millis),
    };
    for (text, wanted) in [
        ("0.25 `a`", at(false, 250, None)),
        ("+.1 `a`", at(true, 100, None)),
        ("+0 `a`", at(true, 0, None)),
        ("1~2.5 `a`", at(false, 1000, Some(2500))),
        ("+.2~+.3 `a`", at(true, 200, Some(300))),
        ("* `a`", When::Any),
        ("`a`", When::Now),
    ] {
        assert_eq!(only(text).time, wanted, "{text}");
    }
}

#[test]
fn a_blocking_call_has_a_second_time() {
    for (text, from, ends) in [
        ("+0...0.100 read(4, ..., 2000) = 2000", 0, 100),
        ("+.1...0.200 read(4, ..., 2000) = 2000", 100, 200),
        ("0.1...1 read(4, ..., 2000) = 2000", 100, 1000),
    ] {
        assert_eq!(call(text).ends, Some(Duration::from_millis(ends)), "{text}");
        let When::At { from: found, .. } = only(text).time else { panic!("{text}") };
        assert_eq!(found, Duration::from_millis(from));
    }
}

#[test]
fn a_segment_has_every_part_that_is_written() {
    let text = "+0 <[ect0] SEWP. 1:5841(5840) ack 7 win 257 urg 3 \
                <mss 1460,nop, wscale 7,sackOK,TS val 100 ecr 4294967295,\
                sack 1:2 3:4,FO 0aff,FO,eol,mp_capable x y,FO NAME>";
    let Action::Packet(PacketDirection::Inbound, ScriptPacket::Tcp(segment)) = only(text).action
    else {
        panic!("{text}")
    };
    use SegmentOption::*;
    let options = vec![
        Mss(1460),
        Nop,
        Scale(7),
        SackPermitted,
        Timestamps { value: 100, echo: u32::MAX },
        Sack(vec![(1, 2), (3, 4)]),
        FastOpen(vec![0x0a, 0xff]),
        FastOpen(vec![]),
        End,
        Foreign("mp_capable".to_owned()),
        FastOpen(b"NAME".to_vec()),
    ];
    let options = OptionList::These(options);
    let wanted = ScriptSegment {
        ecn: Some(2),
        flags: 0xda,
        seq: 1,
        len: 5840,
        ack: Some(7),
        window: Some(257),
        urgent: Some(3),
        options,
        encapsulation: None,
    };
    assert_eq!(segment, wanted);
}

#[test]
fn the_flags_of_accurate_ecn_are_letters_or_a_number() {
    let same = [("SEWA", 0x1c2), ("S7", 0x1c2), ("SW.", 0x92), ("5.", 0x150), ("EA.", 0x150)];
    for (text, flags) in same {
        let action = only(&format!("+0 > {text} 1:1(0) ack 1")).action;
        let Action::Packet(_, ScriptPacket::Tcp(segment)) = action else { panic!("{text}") };
        assert_eq!(segment.flags, flags, "{text}");
    }
}

#[test]
fn what_is_not_tcp_is_named_and_its_line_skipped() {
    let text = "+0 < udp (1000)\n+0 < [tos 0x10] . 1:1(0) ack 1\n+0 `next`";
    let names: Vec<_> = read(text)
        .events
        .into_iter()
        .map(|event| match event.action {
            Action::Packet(_, ScriptPacket::Foreign(name)) => name,
            other => format!("{other:?}"),
        })
        .collect();
    assert_eq!(names, ["udp", "[tos 0x10]", "Shell(\"next\")"]);
}

#[test]
fn messages_of_icmp_quote_a_segment() {
    let text = "+0 < icmp unreachable frag_needed mtu 1200 [1:1001(1000)]";
    let Action::Packet(_, ScriptPacket::Icmp(icmp)) = only(text).action else { panic!("{text}") };
    let [kind, code] = ["unreachable", "frag_needed"].map(str::to_owned);
    let wanted = Icmp { kind, code: Some(code), mtu: Some(1200), quoted: Some((1, 1000)) };
    assert_eq!(icmp, wanted);
}

#[test]
fn calls_have_values_of_every_kind() {
    let text = "+0 poll([{fd=4, events=POLLIN|POLLOUT, revents=0}], 1, -1) = -1 EINTR (bad luck)\n\
                +0 sendto(3, ..., 0x10, MSG_A, {sa_family = AF_INET, sin_port = htons(80)}, \"x\") \
                = ?\n+0 fcntl(3, F_GETFL) = 0x2 (flags O_RDWR)";
    let name = |text: &str| Argument::Name(text.to_owned());
    let some = |text: &str| Some(text.to_owned());
    let events = Argument::Or(vec![name("POLLIN"), name("POLLOUT")]);
    let fields = Argument::Fields(vec![
        (some("fd"), Argument::Number(4)),
        (some("events"), events),
        (some("revents"), Argument::Number(0)),
    ]);
    let script = read(text);
    let Action::Call(poll) = &script.events[0].action else { panic!("{text}") };
    let list = Argument::List(vec![fields]);
    assert_eq!(poll.arguments, [list, Argument::Number(1), Argument::Number(-1)]);
    assert_eq!(poll.returned, Returned::Error(-1, "EINTR".to_owned()));
    let Action::Call(send) = &script.events[1].action else { panic!("{text}") };
    let port = Argument::Applied("htons".to_owned(), vec![Argument::Number(80)]);
    assert_eq!(send.arguments[4].field("sin_port"), Some(&port));
    assert_eq!((&send.arguments[1], send.arguments[2].number()), (&Argument::Any, Some(16)));
    assert_eq!((&send.arguments[5], &send.returned), (&Argument::Text("x".into()), &Returned::Any));
    let Action::Call(fcntl) = &script.events[2].action else { panic!("{text}") };
    assert_eq!(fcntl.returned, Returned::Value(2));
}

#[test]
fn options_comments_commands_and_code_are_read() {
    let text = "// first\n--tolerance_usecs=5000 /* two\nlines */ --dry_run\n--a=\"b c\"\n\
                `sysctl -q x=1\nsysctl y=2`\n+0 %{ assert tcpi_unacked == 1 }%\n";
    let script = read(text);
    let options: Vec<_> =
        script.options.iter().map(|it| (it.name.as_str(), it.value.as_str())).collect();
    assert_eq!(options, [("tolerance_usecs", "5000"), ("dry_run", ""), ("a", "b c")]);
    assert_eq!(script.options[1].place, Place { line: 3, column: 10 });
    assert_eq!(script.events[0].action, Action::Shell("sysctl -q x=1\nsysctl y=2".to_owned()));
    assert_eq!(script.events[1].action, Action::Code(" assert tcpi_unacked == 1 ".to_owned()));
    assert_eq!(script.events[1].place, Place { line: 7, column: 1 });
}

#[test]
fn an_error_names_the_place_and_what_was_expected() {
    for (text, wanted) in [
        ("+0 < S 0:1(0)", "1:13: 0:1 are not 0 bytes"),
        (
            "0\n",
            "2:1: expected a packet, a system call, `a command` or %{ code }%, found the end \
          of the script",
        ),
        ("\n\n+x", "3:2: expected a time in seconds, with at most nine decimals, found \"x\""),
        ("+0 read(4, ..., 1 = 0", "1:19: expected \",\" or \")\", found \"= 0\""),
        ("+0 read(4) + 1", "1:12: expected \"=\", found \"+ 1\""),
        ("+0 < x", "1:6: expected flags such as \"S.\", or \"icmp\", found \"x\""),
        ("+0 < S 0:0(0) win 70000", "1:19: expected a window below 65536, found \"70000\""),
        ("`never", "1:2: there is no \"`\" that ends what begins here"),
        ("+0 < S 0:0(0) <TS ecr 1>", "1:19: expected \"val\" and a timestamp, found \"ecr 1>\""),
        ("é", "1:1: expected a packet, a system call, `a command` or %{ code }%, found \"é\""),
    ] {
        assert_eq!(failure(text), wanted, "{text:?}");
    }
    let deep = format!("+0 a({}", "[".repeat(1 << 16));
    assert!(failure(&deep).contains("too deep"));
}

fn options() -> impl Strategy<Value = OptionList> {
    let one = prop_oneof![
        any::<u16>().prop_map(SegmentOption::Mss),
        any::<u8>().prop_map(SegmentOption::Scale),
        Just(SegmentOption::SackPermitted),
        Just(SegmentOption::Nop),
        Just(SegmentOption::End),
        any::<(u32, u32)>().prop_map(|(value, echo)| SegmentOption::Timestamps { value, echo }),
        prop::collection::vec(any::<(u32, u32)>(), 0..4).prop_map(SegmentOption::Sack),
        prop::collection::vec(any::<u8>(), 0..9).prop_map(SegmentOption::FastOpen),
    ];
    let some = prop::collection::vec(one, 0..6).prop_map(OptionList::These);
    prop_oneof![Just(OptionList::Any), some]
}

prop_compose! {
    fn segments()(
        ecn in prop::option::of(0..4_u8),
        flags in 0..512_u16,
        numbers in any::<(u32, u32)>(),
        ack in any::<Option<u32>>(),
        window in any::<Option<u16>>(),
        urgent in any::<Option<u16>>(),
        options in options(),
    ) -> ScriptSegment {
        let (seq, len) = numbers;
        let encapsulation = None;
        ScriptSegment { ecn, flags, seq, len, ack, window, urgent, options, encapsulation }
    }
}

/// Pieces that scripts are made of.
const PIECES: [&str; 30] = [
    "+0 ", "1.5", "~", "...", "*", "< ", "> ", "S.", "1:1(0)", " ack 1", " win 5", "<mss 9>", "[",
    "]", "{", "}", "(", ")", ",", "=", "-1 ", "EAGAIN", "`", "%{", "}%", "//", "\n", "read", "é",
    "\"",
];

proptest! {
    #[test]
    fn no_text_panics(text in "\\PC{0,200}") {
        let _ = text.parse::<Script>();
    }

    #[test]
    fn no_mixture_of_pieces_panics(pieces in prop::collection::vec(0..PIECES.len(), 0..60)) {
        let text: String = pieces.into_iter().map(|it| PIECES[it]).collect();
        let _ = text.parse::<Script>();
    }

    #[test]
    fn a_segment_reads_as_it_was_written(segment in segments()) {
        let event = only(&format!("+0 > {segment}"));
        let same = Action::Packet(PacketDirection::Outbound, ScriptPacket::Tcp(segment));
        prop_assert_eq!(event.action, same);
    }
}

fn texts(script: &str) -> Vec<String> {
    let script: Script = script.parse().expect("a script");
    script.events.into_iter().map(|it| it.text).collect()
}

#[test]
fn lines_of_conditions_hold_for_the_standard_and_for_no_system() {
    let script = "0 close(1) = 0\n#ifdef STANDARD\n+0 close(2) = 0\n#endif\n#ifdef FreeBSD\n\
                  +0 close(3) = 0\n#ifdef STANDARD\n+0 close(4) = 0\n#endif\n#else\n\
                  +0 close(5) = 0\n#endif\n  #ifndef Linux\n+0 close(6) = 0\n#endif\n";
    let found = texts(script);
    assert_eq!(found, ["close(1) = 0", "close(2) = 0", "close(5) = 0", "close(6) = 0"]);
    let places: Script = script.parse().expect("a script");
    assert_eq!(places.events[2].place.line, 11, "lines keep their numbers");
    for (script, line) in [
        ("#ifdef A\n", 1),
        ("0 close(1) = 0\n#endif\n", 2),
        ("#else\n#ifdef A\n#endif\n", 1),
        ("#ifdef A\n#else\n#else\n#endif\n", 3),
        ("#ifdef\n#endif\n", 1),
    ] {
        let error = script.parse::<Script>().expect_err("a condition is wrong");
        assert_eq!(error.place.line, line, "{script:?}: {error}");
    }
    // In Python it is a comment.
    assert_eq!(texts("0 %{\n# if\nassert 1\n}%").len(), 1);
}

#[test]
fn what_travels_in_other_packets_is_read_and_told() {
    let script = "0 < S 0:0(0) win 1 <mss 9> /udp(9811 > 1)\n\
                  +0 > S. 0:0(0) ack 1 <...> /udp(1 > 9811)\n\
                  +0 < (ttl 4) S 0:0(0)\n+0 < R 1:1(0) !ack 1 win 3\n--mtu=900\n+0 close(3) = 0";
    let script: Script = script.parse().expect("a script");
    let [first, _, third, fourth, _] = &script.events[..] else { panic!("five events") };
    let Action::Packet(_, ScriptPacket::Tcp(segment)) = &first.action else { panic!("TCP") };
    assert_eq!(segment.encapsulation.as_deref(), Some("udp"));
    let foreign = ScriptPacket::Foreign("the field (ttl 4) of the IP header".to_owned());
    assert!(matches!(&third.action, Action::Packet(_, it) if *it == foreign), "{third:?}");
    let Action::Packet(_, ScriptPacket::Tcp(segment)) = &fourth.action else { panic!("TCP") };
    assert_eq!((segment.ack, segment.window), (Some(1), Some(3)));
    assert_eq!(script.options[0].value, "900");
}

#[test]
fn messages_hold_anything_for_addresses() {
    let script = "0 sendmsg(4, {msg_name(...)=..., msg_iov(1)=[{..., 40}, {..., 0}], \
                  msg_flags=0}, MSG_MORE) = 40";
    let script: Script = script.parse().expect("a script");
    let Action::Call(call) = &script.events[0].action else { panic!("a call") };
    let Some(Argument::List(parts)) = call.arguments[1].field("msg_iov") else {
        panic!("{:?}", call.arguments)
    };
    assert_eq!(parts.len(), 2);
}
