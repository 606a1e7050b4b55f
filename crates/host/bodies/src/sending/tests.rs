use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use windfall_socket::{MessageKind, SapConfig, SapListener, SapOptions};

use super::*;

/// The longest datagram of SAP in these tests: that of 802.11.
const DATAGRAM: usize = 2240;
/// The kind of a datagram with a message in it.
const DATA: u8 = 5;
/// The flag of a piece that is sent again.
const AGAIN: u8 = 64;

/// A JPEG in all that its structure needs: a head, entropy-coded bytes, an end.
fn picture(head: usize, coded: usize) -> Bytes {
    let mut bytes = vec![0xff, 0xd8, 0xff, 0xfe];
    bytes.extend((head as u16).to_be_bytes());
    bytes.resize(4 + head, b'a');
    bytes.extend([0xff, 0xda, 0, 4, 1, 2]);
    bytes.extend((0..coded).map(|at| ((at * at) >> 3) as u8 & 0x7f));
    bytes.extend([0xff, 0xd9]);
    bytes.into()
}

fn parcel(bytes: &Bytes) -> Parcel {
    let content = Content::Memory(bytes.clone());
    Parcel { token: [3; 16], content, is_precise: false, exact: None }
}

fn plan(bytes: &Bytes, datagram: usize) -> BodyPlan {
    plan_of(&parcel(bytes), datagram, 100).0
}

#[test]
fn a_short_end_is_exact_where_the_plan_has_room() {
    let ends: Vec<_> = [1_000, 1_400, 2_000, 2_001, 2_512, 2_513, 3_000]
        .into_iter()
        .map(|coded| {
            let bytes = picture(100, coded);
            let plan = plan(&bytes, 1_000);
            let exact: u32 = plan.exact.iter().map(|range| range.end - range.start).sum();
            let ranges = plan.exact.len();
            let length = bytes.len() as u32;
            assert_eq!(plan.exact.last().map(|last| last.end), Some(length));
            let message = Control::Plan(plan.clone(), Bytes::new()).encode(1);
            assert!(Control::decode(message).is_ok(), "{plan:?}");
            (ranges, exact - 112, plan.pieces())
        })
        .collect();
    let expected =
        [(2, 0, 1), (2, 400, 1), (2, 0, 2), (2, 1, 2), (2, 512, 2), (2, 0, 3), (2, 0, 3)];
    assert_eq!(ends, expected);
    // All of a short body, which is one range then; none of one whose plan is full.
    let short = plan(&picture(100, 300), 1_000);
    assert_eq!((short.exact.len(), short.pieces()), (1, 0));
    assert_eq!(plan(&picture(700, 300), 1_000).pieces(), 1);
    // Of other bodies nothing else is exact.
    let other = plan(&Bytes::from(vec![1; 1_100]), 1_000);
    let end: Vec<_> = core::iter::once(1_000..1_100).collect();
    assert_eq!((other.exact, other.piece), (end, 1_000));
    // A text is exact as a whole, whatever type it is served under.
    let text = plan(&Bytes::from(vec![b'a'; 5_000]), 1_000);
    assert_eq!((text.pieces(), text.exact), (0, Vec::from_iter(Some(0..5_000))));
}

#[test]
fn exact_ranges_are_read_as_if_they_were_joined() {
    let bytes = Bytes::from_iter(0..200);
    let content = Content::Memory(bytes.clone());
    for ranges in [vec![], vec![0..120, 120..200], vec![3..4, 10..60, 61..62, 150..200]] {
        let all = joined(&bytes, &ranges);
        let exact = ExactBytes::new(&content, &ranges);
        assert_eq!(exact.total, all.len());
        for at in 0..all.len() {
            for end in at..=all.len() {
                let mut read = vec![0; end - at];
                exact.read(at, &mut read).expect("they are in memory");
                assert_eq!(read, all[at..end]);
            }
        }
    }
}

/// Passes datagrams on between a client and `server`; counts those that the server sends with
/// messages in them, and drops those that `loses` names by their number and by whether they are
/// sent again.
fn relay(
    server: SocketAddr,
    loses: impl Fn(usize, bool) -> bool + Send + 'static,
) -> (SocketAddr, Arc<AtomicUsize>) {
    let [inner, outer] =
        [(); 2].map(|()| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port"));
    let at = outer.local_addr().expect("bound");
    inner.connect(server).expect("an address");
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let [inner_too, outer_too] = [&inner, &outer].map(|it| it.try_clone().expect("a descriptor"));
    let client = Arc::new(Mutex::new(None));
    let known = Arc::clone(&client);
    thread::spawn(move || {
        let mut bytes = vec![0; 1 << 16];
        while let Ok((length, from)) = outer.recv_from(&mut bytes) {
            *known.lock().unwrap_or_else(PoisonError::into_inner) = Some(from);
            let _ = inner.send(&bytes[..length]);
        }
    });
    thread::spawn(move || {
        let mut bytes = vec![0; 1 << 16];
        while let Ok(length) = inner_too.recv(&mut bytes) {
            // Behind the eight bytes of the carrier: version and kind, then the flags.
            let is_data = bytes[8] & 0x0f == DATA;
            let is_again = bytes[9] & AGAIN != 0;
            let number = if is_data { counted.fetch_add(1, Ordering::Relaxed) } else { 0 };
            let to = *client.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(to) = to.filter(|_| !(is_data && loses(number, is_again))) {
                let _ = outer_too.send_to(&bytes[..length], to);
            }
        }
    });
    (at, count)
}

/// The two ends of a connection through a relay.
fn pair(
    loses: impl Fn(usize, bool) -> bool + Send + 'static,
) -> (SapSocket, SapSocket, Arc<AtomicUsize>) {
    let config = SapConfig::default().with(|it| it.max_datagram = DATAGRAM);
    let options = SapOptions::default().with(|it| it.config = config);
    let listener: SapListener = options.listen("127.0.0.1:0").expect("a free port");
    let (at, count) = relay(listener.local_addr().expect("bound"), loses);
    let client = options.connect(at).expect("it listens");
    let (server, _) = listener.accept().expect("it connected");
    for socket in [&client, &server] {
        socket.set_timeout(Some(Duration::from_secs(20)));
    }
    server.settle_path(Duration::from_secs(5));
    assert!(server.max_whole() > 2_000, "{}", server.max_whole());
    (client, server, count)
}

/// Receives until the body of a transfer is there, or its end; returns the kinds of its control
/// messages and the numbers of its pieces.
fn received(client: &SapSocket, transfer: u16) -> (Vec<u8>, Vec<u32>) {
    let mut kinds = Vec::new();
    let mut pieces = Vec::new();
    let mut all = u32::MAX;
    while (pieces.len() as u32) < all && kinds.last() != Some(&5) {
        let message = client.recv().expect("open").expect("no end");
        if message.kind == MessageKind::Precise {
            let (of, control) = Control::decode(message.data.clone()).expect("sound");
            assert_eq!(of, transfer);
            kinds.push(message.data[0]);
            if let Control::Plan(plan, _) = control {
                all = plan.pieces();
            }
        } else {
            assert_eq!(message.stream, transfer);
            pieces.push(message.number);
        }
    }
    (kinds, pieces)
}

#[test]
fn a_small_picture_needs_one_datagram_besides_its_pieces() {
    let (client, server, count) = pair(|_, _| false);
    let bytes = picture(600, 30_000);
    let pieces = plan(&bytes, server.max_whole()).pieces() as usize;
    assert_eq!(pieces, 14);
    let mut counts = Vec::new();
    for transfer in 1..=8 {
        let before = count.load(Ordering::Relaxed);
        thread::scope(|scope| {
            scope.spawn(|| send(&server, transfer, &parcel(&bytes)).expect("open"));
            received(&client, transfer);
            // An acknowledgement is sent by whoever receives.
            client.set_timeout(Some(Duration::from_millis(100)));
            assert!(matches!(client.recv(), Err(SapError::TimedOut) | Ok(Some(_))));
            client.set_timeout(Some(Duration::from_secs(20)));
        });
        counts.push(count.load(Ordering::Relaxed) - before);
    }
    // What is late on a busy machine is sent again, and an end may be needed then.
    assert_eq!(counts.iter().min(), Some(&(pieces + 1)), "{counts:?}");
    // A picture of a datagram needs no other.
    let before = count.load(Ordering::Relaxed);
    send(&server, 9, &parcel(&picture(600, 400))).expect("open");
    assert_eq!(received(&client, 9), (vec![3], Vec::new()));
    assert!(count.load(Ordering::Relaxed) > before);
}

#[test]
fn a_body_that_has_arrived_is_kept_by_no_message() {
    let (client, server, _) = pair(|_, _| false);
    let bytes = picture(600, 30_000);
    thread::scope(|scope| {
        scope.spawn(|| send(&server, 1, &parcel(&bytes)).expect("open"));
        received(&client, 1);
    });
    // The last datagrams are let go with their acknowledgement.
    server.flush().expect("open");
    assert!(bytes.is_unique());
}

#[test]
fn a_piece_that_is_lost_is_sent_again() {
    // The plan and 14 pieces, of which every third is lost.
    let (client, server, _) = pair(|number, is_again| !is_again && number % 3 == 2);
    let bytes = picture(600, 30_000);
    thread::scope(|scope| {
        scope.spawn(|| send(&server, 1, &parcel(&bytes)).expect("open"));
        let (kinds, mut pieces) = received(&client, 1);
        pieces.sort_unstable();
        assert_eq!((kinds, pieces), (vec![3], (0..14).collect()));
    });
}

#[test]
fn a_piece_that_is_given_up_is_followed_by_an_end() {
    let (client, server, _) = pair(|number, is_again| is_again || number == 14);
    let bytes = picture(600, 30_000);
    thread::scope(|scope| {
        scope.spawn(|| send(&server, 1, &parcel(&bytes)).expect("open"));
        assert_eq!(received(&client, 1), (vec![3, 5], (0..13).collect()));
    });
}

#[test]
fn the_paper_profile_ends_at_once() {
    let options = SapOptions::default().with(|it| it.config = SapConfig::paper());
    let listener = options.listen("127.0.0.1:0").expect("a free port");
    let client = options.connect(listener.local_addr().expect("bound")).expect("it listens");
    let (server, _) = listener.accept().expect("it connected");
    client.set_timeout(Some(Duration::from_secs(20)));
    assert!(!server.is_reported());
    thread::scope(|scope| {
        scope.spawn(|| send(&server, 1, &parcel(&picture(100, 3_000))).expect("open"));
        let mut kinds = Vec::new();
        while kinds.last() != Some(&5) {
            let message = client.recv().expect("open").expect("no end");
            if message.kind == MessageKind::Precise {
                kinds.push(message.data[0]);
            }
        }
        assert_eq!(kinds, [3, 5]);
    });
}
