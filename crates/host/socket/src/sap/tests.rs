use std::thread;

use bytes::Bytes;
use windfall_sap::{Decision, Integrity, Message, MessageKind, SapConfig, SapSendError, SharedKey};

use super::*;
use crate::carrier::Carrier;
use crate::error::UnfinishedReason;

fn pair(options: SapOptions) -> (SapSocket, SapSocket) {
    let listener = options.listen("127.0.0.1:0").expect("a free port");
    let here = options.connect(listener.local_addr().expect("bound")).expect("it listens");
    let (there, from) = listener.accept().expect("it connected");
    assert_eq!(from, SocketAddr::new(here.local_addr().ip(), from.port()).max(from));
    for socket in [&here, &there] {
        socket.set_timeout(Some(Duration::from_secs(20)));
    }
    (here, there)
}

//= S0.1
//= S0.17
#[test]
fn the_mode_changes_from_message_to_message() {
    let (here, there) = pair(SapOptions::default());
    assert_eq!(here.mode(), Mode::Precise);
    here.send(b"exact").expect("sent");
    here.set_mode(Mode::Approximate { protected: 2 });
    here.send(b"about").expect("sent");
    here.set_mode(Mode::Precise);
    here.send(b"exact again").expect("sent");
    let mut got: Vec<_> =
        (0..3).map(|_| there.recv().expect("open").expect("not finished")).collect();
    got.sort_by_key(|it| (it.kind != MessageKind::Precise, it.number));
    let texts: Vec<_> = got.iter().map(|it| &it.data[..]).collect();
    assert_eq!(texts, [&b"exact"[..], b"exact again", b"about"]);
    assert_eq!(got[2].integrity, Integrity::Intact);
}

#[test]
fn a_message_after_the_wait_is_behind_all_that_were_sent_before() {
    let (here, there) = pair(SapOptions::default());
    let data = Bytes::from(vec![7; 1_000]);
    let mode = Mode::Approximate { protected: 0 };
    let messages = vec![Message { stream: 3, mode, data }; 2_000];
    let sending = thread::spawn(move || {
        here.send_messages(&messages).expect("room");
        here.wait_until_sent().expect("open");
        here.send(b"end").expect("room");
        here
    });
    let mut pieces = 0;
    loop {
        let received = there.recv().expect("open").expect("not finished");
        match received.kind {
            MessageKind::Precise => break,
            _ => pieces += 1,
        }
    }
    // Whatever has not come by now was lost.
    drop(sending.join().expect("no panic"));
    there.set_timeout(Some(Duration::from_millis(50)));
    if let Ok(Some(late)) = there.recv() {
        panic!("message {} came after the end, {pieces} before", late.number);
    }
}

#[test]
fn a_listener_calls_from_its_own_port() {
    let [here, there] = [(); 2].map(|()| SapListener::bind("127.0.0.1:0").expect("a free port"));
    let at = there.local_addr().expect("bound");
    for text in [&b"one"[..], b"another"] {
        let calling = here.connect(at).expect("it listens");
        let (called, from) = there.accept().expect("it connected");
        assert_eq!(from, here.local_addr().expect("bound"));
        calling.send(text).expect("sent");
        assert_eq!(called.recv().expect("open").expect("not finished").data, text);
    }
    assert!(matches!(here.connect("[::1]:9".parse().expect("one")), Err(SapError::Address(_))));
}

//= S0.16
#[test]
fn sockets_of_one_thread_do_not_interact() {
    let [(a, far_a), (b, far_b)] = [(); 2].map(|()| pair(SapOptions::default()));
    a.set_mode(Mode::Approximate { protected: 0 });
    assert_eq!(b.mode(), Mode::Precise);
    for n in 0..10 {
        a.send(&[n]).expect("sent");
        b.send(&[n, n]).expect("sent");
    }
    // The end of one is nothing to the other.
    drop((a, far_a));
    b.send(b"last").expect("sent");
    for n in 0..10 {
        let received = far_b.recv().expect("open").expect("not finished");
        assert_eq!((&received.data[..], received.number), (&[n, n][..], n.into()));
    }
    assert_eq!(far_b.recv().expect("open").expect("not finished").data, &b"last"[..]);
}

//= S0.16
#[test]
fn nothing_is_shared_by_sockets() {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = ["src", "../../faces/c/src", "../../machines/sap/src"];
    let files = folders.iter().flat_map(|folder| {
        let entries = std::fs::read_dir(here.join(folder)).expect("the source is there");
        entries.map(|entry| entry.expect("it can be read").path()).filter(|path| path.is_file())
    });
    let mut found = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("it is text");
        let lines = text.lines().map(|line| line.trim().trim_start_matches("pub "));
        found.extend(lines.filter(|line| line.starts_with("static ")).map(str::to_owned));
    }
    // The memory of all sockets of the process, and a thread's last errors, as in errno.
    assert_eq!(
        found,
        [
            "static PROCESS: LazyLock<SapBudget> =",
            "static EXPLANATION: RefCell<CString> = RefCell::default();",
            "static WITHOUT_SOCKET: LastError = LastError::default();",
        ]
    );
}

#[test]
fn many_messages_are_sent_at_once_and_in_their_order() {
    let (here, there) = pair(SapOptions::default());
    // More than the send buffer holds.
    let text = |n: u32| [&n.to_be_bytes()[..], &[7; 996]].concat();
    let messages: Vec<_> = (0..6_000).map(|n| here.message(&text(n))).collect();
    let sent = here.try_send_messages(&messages).expect("open");
    assert!((1..messages.len()).contains(&sent), "{sent}");
    thread::scope(|scope| {
        scope.spawn(|| here.send_messages(&messages[sent..]).expect("open"));
        for n in 0..6_000 {
            let received = there.recv().expect("open").expect("not finished");
            assert_eq!(received.data, text(n), "message {n}");
        }
    });
    let too_long = Message::new(Mode::Precise, vec![0; 2 << 20]);
    assert!(here.send_messages(&[here.message(b"before it"), too_long]).is_err());
    assert_eq!(there.recv().expect("open").expect("not finished").data, &b"before it"[..]);
    assert_eq!(here.try_send_messages(&[]).expect("open"), 0);
}

#[test]
fn every_carrier_carries_connections() {
    for carrier in Carrier::ALL {
        let options = SapOptions { carrier: Some(carrier), ..SapOptions::default() };
        let listener = match options.listen("127.0.0.1:0") {
            Ok(listener) => listener,
            Err(error) => {
                windfall_testkit::skip::announce(&format!("carrier {carrier}: {error}"));
                continue;
            }
        };
        let here = options.connect(listener.local_addr().expect("bound")).expect("it listens");
        let (there, _) = listener.accept().expect("it connected");
        here.send(b"hello").expect("sent");
        assert_eq!(there.recv().expect("open").expect("not finished").data, &b"hello"[..]);
    }
}

//= S0.21
#[test]
fn both_directions_at_once_from_four_threads() {
    let (here, there) = pair(SapOptions::default());
    thread::scope(|scope| {
        for socket in [&here, &there] {
            scope.spawn(move || {
                for number in 0_u32..3000 {
                    socket.send(&number.to_be_bytes().repeat(200)).expect("sent");
                }
                socket.finish();
            });
            scope.spawn(move || {
                let mut next = 0_u32;
                while let Some(message) = socket.recv().expect("open") {
                    assert_eq!(message.data[..4], next.to_be_bytes());
                    next += 1;
                }
                assert_eq!(next, 3000);
            });
        }
    });
    here.close().expect("confirmed");
    there.close().expect("confirmed");
}

#[test]
fn a_ping_that_precedes_the_listener_is_accepted() {
    for key in [None, Some(SharedKey::new([7; 32]))].into_iter().cycle().take(40) {
        let options = SapOptions { key, ..SapOptions::default() };
        let socket = options.bind("127.0.0.1:0".parse().expect("an address")).expect("free");
        let to = socket.local_addr();
        let sender = thread::spawn(move || options.connect(to));
        // The ping is in the socket before it is read.
        let mut waiting = [rustix::event::PollFd::new(&socket, rustix::event::PollFlags::IN)];
        rustix::event::poll(&mut waiting, None).expect("it comes");
        let listener = options.listen_on(socket).expect("it starts");
        sender.join().expect("no panic").expect("it is connected");
        listener.accept().expect("it is accepted");
    }
}

#[test]
fn a_connect_without_an_answer_times_out() {
    let config = SapConfig::standard().with(|it| it.connect_timeout = Duration::from_millis(200));
    let quiet = std::net::UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let to = quiet.local_addr().expect("bound");
    let error =
        SapOptions { config, ..SapOptions::default() }.connect(to).err().expect("it is no SAP");
    assert_eq!(error.to_string(), "the peer does not answer");
}

#[test]
fn a_receiver_is_told_of_the_end() {
    let (here, there) = pair(SapOptions::default());
    here.send(b"last words").expect("sent");
    drop(here);
    assert_eq!(there.recv().expect("open").expect("one message").data, &b"last words"[..]);
    assert!(there.recv().expect("in order").is_none());
}

#[test]
fn readiness_can_be_polled() {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let (here, there) = pair(SapOptions::default());
    let ready = there.readiness().expect("open");
    let wait = |millis: i64| {
        let timeout = Timespec { tv_sec: millis / 1000, tv_nsec: millis % 1000 * 1_000_000 };
        poll(&mut [PollFd::new(&ready, PollFlags::IN)], Some(&timeout)).expect("poll works")
    };
    assert_eq!(wait(20), 0);
    assert!(matches!(there.try_recv(), Err(SapError::WouldBlock)));
    here.send(b"one").expect("sent");
    assert_eq!(wait(20_000), 1);
    assert!(there.try_recv().expect("open").is_some());
    assert_eq!(wait(20), 0, "all is read");
    here.finish();
    assert_eq!(wait(20_000), 1, "the end");
    assert!(matches!(there.try_recv(), Ok(None)));
}

#[test]
fn the_longest_message_is_the_same_at_any_time() {
    let (here, there) = pair(SapOptions::default());
    let most = here.max_message();
    assert_eq!(most, 1 << 20);
    let len = most + 1;
    let error = here.send(&vec![0; len]).expect_err("it is too long");
    let expected = SapSendError::TooLong { len, most };
    assert!(matches!(&error, SapError::Send(found) if *found == expected), "{error}");
    here.send(&vec![7; most]).expect("it fits");
    assert_eq!(there.recv().expect("open").expect("not finished").data.len(), most);
}

#[test]
fn ends_with_the_same_key_connect_and_others_are_refused() {
    let key = Some(windfall_sap::SharedKey::new([7; 32]));
    let (here, there) = pair(SapOptions { key, ..SapOptions::default() });
    here.set_mode(Mode::Approximate { protected: 2 });
    here.send(b"about").expect("sent");
    assert_eq!(there.recv().expect("open").expect("not finished").data, &b"about"[..]);
    let listener = SapOptions { key, ..SapOptions::default() }.listen("127.0.0.1:0").expect("free");
    let error = SapSocket::connect(listener.local_addr().expect("bound")).err();
    let said = error.expect("it has no key").to_string();
    assert_eq!(said, "the peer refused: the keys do not agree");
}

//= S0.26
//= S1.67
#[test]
fn a_tolerance_and_a_check_inspect_messages() {
    let (here, there) = pair(SapOptions::default());
    let tolerance = Tolerance { bit_errors: 1e-3, loss: true, in_order: true, protected: 2 };
    assert!(here.set_tolerance(Some(Tolerance { bit_errors: 1.0, ..tolerance })).is_err());
    for socket in [&here, &there] {
        socket.set_tolerance(Some(tolerance)).expect("it is a rate");
    }
    // Values that move by at most ten.
    let mut last = 0_u8;
    there.set_check(Some(Box::new(move |received| {
        let value = received.data[0];
        if value.abs_diff(last) > 10 {
            return Decision::Discard;
        }
        last = value;
        Decision::Accept
    })));
    for value in [1, 200, 9] {
        here.send(&[value; 100]).expect("sent");
    }
    here.finish();
    let mut values = Vec::new();
    while let Some(received) = there.recv().expect("open") {
        let front = 0..2;
        assert_eq!((received.kind, &received.exact[..]), (MessageKind::Approximate, &[front][..]));
        values.push(received.data[0]);
    }
    assert_eq!(values, [1, 9]);
}

//= S0.26
/// A thread that sends may hold a lock that the check needs, such as that of Python's interpreter.
#[test]
fn a_check_may_wait_for_another_thread_that_sends() {
    let (here, there) = pair(SapOptions::default());
    here.set_mode(Mode::Approximate { protected: 1 });
    let (asks, asked) = std::sync::mpsc::channel();
    let (answers, answered) = std::sync::mpsc::channel();
    there.set_check(Some(Box::new(move |received| {
        asks.send(received.data[0]).expect("the other thread runs");
        // Only a deadlock takes so long.
        let answer = answered.recv_timeout(std::time::Duration::from_secs(60));
        answer.map_or(Decision::Fail, |()| Decision::Accept)
    })));
    for value in [1, 2, 3] {
        here.send(&[value; 100]).expect("sent");
    }
    std::thread::scope(|scope| {
        let there = &there;
        scope.spawn(move || {
            for value in asked.iter().take(3) {
                there.send(&[value]).expect("sent while the check waits");
                assert!(matches!(there.try_recv(), Err(SapError::WouldBlock)), "it is inspected");
                there.set_tolerance(None).expect("it takes effect later");
                answers.send(()).expect("the check waits");
            }
        });
        for value in [1, 2, 3] {
            assert_eq!(there.recv().expect("open").expect("more").data[0], value);
        }
    });
    for value in [1, 2, 3] {
        assert_eq!(here.recv().expect("open").expect("more").data[0], value);
    }
}

/// Threads that receive from one socket wait for each other's checks, and none is forgotten.
#[test]
fn several_threads_receive_what_a_check_has_passed() {
    let (here, there) = pair(SapOptions::default());
    here.set_mode(Mode::Approximate { protected: 2 });
    there.set_check(Some(Box::new(|received| match received.data[0] % 3 {
        0 => Decision::Discard,
        _ => Decision::Accept,
    })));
    std::thread::scope(|scope| {
        let there = &there;
        let receive = move || core::iter::from_fn(|| there.recv().expect("open")).count();
        let receivers: Vec<_> = (0..3).map(|_| scope.spawn(receive)).collect();
        for value in 0..90 {
            here.send(&[value; 100]).expect("sent");
        }
        here.finish();
        let received: usize = receivers.into_iter().map(|it| it.join().expect("it ends")).sum();
        assert_eq!(received, 60);
    });
}

#[test]
fn a_check_that_fails_is_reported_where_the_message_would_have_come() {
    let (here, there) = pair(SapOptions::default());
    here.set_mode(Mode::Approximate { protected: 1 });
    there.set_check(Some(Box::new(|received| match received.data[0] {
        1 => Decision::Fail,
        _ => Decision::Accept,
    })));
    here.send(&[1; 100]).expect("sent");
    here.send(&[2; 100]).expect("sent");
    assert!(matches!(there.recv(), Err(SapError::Check)));
    assert_eq!(there.recv().expect("open").expect("more").data[0], 2);
}

#[test]
fn invalid_input_is_reported_and_the_socket_stays_usable() {
    let (here, there) = pair(SapOptions::default());
    let at = format!("127.0.0.1:{}", here.local_addr().port());
    let error = SapListener::bind(&at).err().expect("the port is in use").to_string();
    assert!(error.contains(&at) && error.contains("in use"), "{error}");
    let most = here.max_message();
    here.set_mode(Mode::Approximate { protected: 9 });
    let error = here.send(b"too short").and_then(|()| here.send(b"short")).err();
    let error = error.expect("nine bytes of five cannot be protected").to_string();
    assert_eq!(error, "9 protected bytes are more than the message's 5");
    let error = here.send(&vec![0; 1_100_000]).expect_err("it is too long").to_string();
    assert_eq!(error, "a message of 1100000 bytes is too long; 1048576 bytes fit");
    here.set_mode(Mode::Precise);
    here.send(&vec![7; most]).expect("the socket goes on");
    here.finish();
    let error = here.send(b"late").expect_err("the end was announced").to_string();
    assert_eq!(error, "nothing can be sent after the end was announced");
    let mut lengths = Vec::new();
    while let Some(message) = there.recv().expect("open") {
        lengths.push(message.data.len());
    }
    lengths.sort_unstable();
    assert_eq!(lengths, [9, most]);
}

/// Returns two sockets, of which the accepting one has room for some messages of 1000 bytes.
fn narrow_pair() -> (SapSocket, SapSocket) {
    let config = SapConfig::standard().with(|it| it.receive_buffer = 20_000);
    let listener =
        SapOptions { config, ..SapOptions::default() }.listen("127.0.0.1:0").expect("free");
    let here = SapSocket::connect(listener.local_addr().expect("bound")).expect("it listens");
    let there = listener.accept().expect("it connected").0;
    there.set_timeout(Some(Duration::from_secs(20)));
    (here, there)
}

//= S0.19
#[test]
#[expect(clippy::disallowed_methods, reason = "a slow reader takes its time")]
fn a_close_waits_for_a_slow_reader_while_there_is_progress() {
    let (here, there) = narrow_pair();
    let reader = thread::spawn(move || {
        let mut read = 0;
        // Reading takes twice as long as a close waits without progress.
        while there.recv().expect("open").is_some() {
            read += 1;
            thread::sleep(std::time::Duration::from_millis(100));
        }
        read
    });
    for _ in 0..60 {
        here.send(&[7; 1000]).expect("there is room");
    }
    here.close().expect("everything is delivered");
    assert_eq!(reader.join().expect("no panic"), 60);
}

//= S0.19
#[test]
fn a_close_without_progress_reports_undelivered_messages_and_resets_the_peer() {
    let (here, there) = narrow_pair();
    here.set_linger(Duration::from_secs(3));
    let from = here.local_addr();
    let to = here.peer_addr();
    for _ in 0..60 {
        here.send(&[7; 1000]).expect("there is room");
    }
    let error = here.close().expect_err("the peer does not read").to_string();
    let left: u64 = error.split(' ').next().and_then(|it| it.parse().ok()).expect("a number");
    let why = "nothing more was acknowledged in time";
    let size = left * 1000;
    let end =
        format!("{left} messages ({size} bytes) from {from} were not delivered to {to}: {why}");
    assert_eq!(error, end);
    let mut read = 0;
    let ended = loop {
        match there.recv() {
            Ok(Some(_)) => read += 1,
            Ok(None) => panic!("it has not finished"),
            Err(error) => break error.to_string(),
        }
    };
    assert_eq!(ended, "the peer closed the connection");
    // The last acknowledgement may not have been sent yet.
    assert!(read + left >= 60 && left > 20, "{read} read, {left} left");
}

//= S0.19
#[test]
fn a_wait_for_the_end_is_bounded_by_the_timeout_and_delivery_continues() {
    let (here, there) = narrow_pair();
    for _ in 0..60 {
        here.send(&[7; 1000]).expect("there is room");
    }
    here.set_timeout(Some(Duration::from_millis(100)));
    let error = here.finish_and_wait().expect_err("the peer does not read");
    let SapError::Unfinished { left, reason, .. } = &error else { panic!("{error}") };
    assert_eq!(*reason, UnfinishedReason::TimedOut);
    assert!(left.messages > 20, "{left:?}");
    assert!(error.to_string().ends_with("the timeout of the socket has expired"), "{error}");
    here.close().expect_err("the peer does not read");
    let mut read = 0;
    while there.recv().expect("in order").is_some() {
        read += 1;
    }
    assert_eq!(read, 60);
}

//= S0.19
#[test]
fn a_close_succeeds_where_the_peer_has_everything_and_its_program_has_ended() {
    let listener = SapListener::bind("127.0.0.1:0").expect("free");
    let there = listener.local_addr().expect("bound");
    let path = std::net::UdpSocket::bind("127.0.0.1:0").expect("free");
    path.set_read_timeout(Some(std::time::Duration::from_millis(20))).expect("it is not zero");
    let to = path.local_addr().expect("bound");
    let ended = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let is_ended = ended.clone();
    let relay = thread::spawn(move || {
        let mut near = None;
        let mut datagram = [0; 2000];
        while !is_ended.load(std::sync::atomic::Ordering::Relaxed) {
            let Ok((size, from)) = path.recv_from(&mut datagram) else { continue };
            let next = if from == there { near.expect("it has sent") } else { there };
            near = Some(if from == there { next } else { from });
            path.send_to(&datagram[..size], next).expect("loopback carries it");
        }
    });
    let here = SapSocket::connect(to).expect("it listens");
    let accepted = listener.accept().expect("it connected").0;
    here.send(b"everything").expect("there is room");
    assert_eq!(accepted.recv().expect("open").expect("a message").data.as_ref(), b"everything");
    here.flush().expect("it is acknowledged");
    ended.store(true, std::sync::atomic::Ordering::Relaxed);
    relay.join().expect("no panic");
    here.close().expect("nothing is left to deliver");
}

#[test]
fn newest_first_never_waits_for_a_slow_reader() {
    let (here, there) = pair(SapOptions::default());
    for socket in [&here, &there] {
        socket.set_newest_first(true);
    }
    here.set_mode(Mode::Approximate { protected: 4 });
    // More than all buffers hold, while the peer reads nothing.
    for number in 0..3_000_u32 {
        let message = here.message(&[&number.to_be_bytes()[..], &[7; 8_000]].concat());
        here.try_send(&message).expect("it never waits");
    }
    here.flush().expect("the rest is sent");
    let first = there.recv().expect("open").expect("not finished");
    assert!(u32::from_be_bytes(first.data[..4].try_into().expect("four bytes")) > 0);
}

#[test]
fn impossible_addresses_are_rejected_at_once() {
    let error = SapSocket::connect("127.0.0.1:0").err().expect("no host has port 0");
    assert_eq!(error.to_string(), "127.0.0.1:0 (port 0) is no address");
    let error = SapSocket::connect("a..b:5").err().expect("no host has this name");
    assert!(matches!(error, SapError::Name(_)), "{error}");
}

#[test]
fn a_closed_port_is_reported_at_once() {
    let taken = std::net::UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let to = taken.local_addr().expect("bound");
    drop(taken);
    let config = SapConfig::standard().with(|it| it.connect_timeout = Duration::from_secs(600));
    let options = SapOptions { config, ..SapOptions::default() };
    let closed = "no program receives at the peer's port";
    assert_eq!(options.connect(to).err().expect("closed").to_string(), closed);
    // A listener has many peers, of which this is one.
    let listener = options.listen("127.0.0.1:0").expect("a free port");
    let other = SapListener::bind("127.0.0.1:0").expect("a free port");
    let here = listener.connect(other.local_addr().expect("bound")).expect("it listens");
    let (there, _) = other.accept().expect("it connected");
    for _ in 0..3 {
        assert_eq!(listener.connect(to).err().expect("closed").to_string(), closed);
        here.send(b"still here").expect("it is open");
        assert_eq!(there.recv().expect("open").expect("no end").data, &b"still here"[..]);
    }
    assert_eq!((here.close_reason(), there.close_reason()), (None, None));
}

#[test]
fn a_listener_on_all_addresses_serves_both_families() {
    let listener = match SapListener::bind("[::]:0") {
        Ok(listener) => listener,
        Err(error) => return windfall_testkit::skip::announce(&error.to_string()),
    };
    let port = listener.local_addr().expect("bound").port();
    for ip in ["127.0.0.1", "[::1]"] {
        let here = SapSocket::connect(format!("{ip}:{port}")).expect("it listens");
        let (there, from) = listener.accept().expect("it connected");
        let expected: SocketAddr = format!("{ip}:{}", from.port()).parse().expect("legal");
        assert_eq!(from, expected);
        for (from, to) in [(&here, &there), (&there, &here)] {
            from.send(b"exact").expect("sent");
            assert_eq!(to.recv().expect("open").expect("no end").data, &b"exact"[..]);
            from.set_mode(Mode::Approximate { protected: 1 });
            from.send(b"about").expect("sent");
            assert_eq!(to.recv().expect("open").expect("no end").data, &b"about"[..]);
        }
    }
}

#[test]
fn a_closed_listener_refuses_and_ends_what_waits_for_it() {
    let listener = SapListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    let here = SapSocket::connect(address).expect("it listens");
    let (there, _) = listener.accept().expect("it connected");
    let ended = thread::scope(|scope| {
        let waiting = scope.spawn(|| listener.accept().map(drop));
        // No peer comes meanwhile.
        let nothing = listener.accept_timeout(Duration::from_millis(50)).map(drop);
        assert!(matches!(nothing, Err(SapError::TimedOut)), "{nothing:?}");
        listener.close();
        waiting.join().expect("it returns")
    });
    assert!(matches!(ended, Err(SapError::Closed(CloseReason::Closed))), "{ended:?}");
    let refused = SapSocket::connect(address).map(drop);
    assert!(matches!(refused, Err(SapError::Closed(CloseReason::Refused(_)))), "{refused:?}");
    // What was accepted lives on.
    here.send(b"still here").expect("it is open");
    let got = there.recv().expect("it is open").expect("not finished");
    assert_eq!((&got.data[..], there.close_reason()), (&b"still here"[..], None));
    drop(here);
    assert!(there.recv().expect("an orderly end").is_none());
}

#[test]
fn a_closed_listener_closes_what_was_not_accepted() {
    let listener = SapListener::bind("127.0.0.1:0").expect("a free port");
    let here = SapSocket::connect(listener.local_addr().expect("bound")).expect("it listens");
    here.set_timeout(Some(Duration::from_secs(20)));
    drop(listener);
    let ended = here.recv();
    assert!(!matches!(ended, Ok(Some(_)) | Err(SapError::TimedOut)), "{ended:?}");
}
