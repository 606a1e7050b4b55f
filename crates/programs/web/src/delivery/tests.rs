use std::net::{Ipv4Addr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};

use windfall_socket::{Message, MessageKind, Mode};
use windfall_testkit::folder::Folder;

use super::*;
use crate::blocking::blocking;

#[test]
fn the_memory_of_a_body_is_charged_until_its_last_message_is_gone() {
    let folder = Folder::new("web-delivery");
    let path = folder.path().join("body");
    std::fs::write(&path, [7; 1_000]).expect("room");
    let file = Arc::new(File::open(path).expect("it is there"));
    let all = BodyMemory::default();
    for as_it_is_sent in [false, true] {
        let mut memory = all.share();
        memory.take(1_010).expect("room");
        let source = BodySource::File { file: Arc::clone(&file), range: 0..1_000, of: 1_000 };
        let content = source.content(as_it_is_sent, &mut memory).expect("it can be read");
        let message = match &content {
            Content::Memory(bytes) => Some(bytes.slice(10..20)),
            Content::File(..) => None,
        };
        assert_eq!((all.held(), message.is_none()), (1_010, as_it_is_sent));
        drop((content, memory));
        assert_eq!(all.held(), if as_it_is_sent { 0 } else { 1_000 });
        drop(message);
        assert_eq!(all.held(), 0);
    }
}

/// A connection stays open for further bodies, and kept the last messages of the one before.
#[tokio::test]
async fn a_connection_that_stays_open_keeps_no_body() {
    let settings = DeliverySettings {
        options: SapOptions::default(),
        listen: (Ipv4Addr::LOCALHOST, 0).into(),
        memory: BodyMemory::default(),
    };
    let delivery = BodyDelivery::start(settings).expect("a free port");
    let mut memory = delivery.memory.share();
    memory.take(100_000).expect("room");
    let source = BodySource::Memory(memory.bind(vec![1; 100_000]));
    let opener = SapOpener::Client { open: None };
    let offer = SapOffer { types: None, is_precise: false, opener, forbids_change: false };
    let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let started = delivery.start_transfer(&offer, here, source).await.expect("room");
    let to = SocketAddr::new(here, delivery.port());
    let receiving = blocking(move || {
        let client = SapOptions::default().connect(to).expect("it listens");
        let data = Control::Ask(started.token).encode(1);
        let ask = Message { stream: CONTROL_STREAM, mode: Mode::Precise, data };
        client.send_message(&ask).expect("open");
        let mut came = 0;
        let mut all = u32::MAX;
        while came < all {
            let message = client.recv().expect("open").expect("no end");
            if message.kind != MessageKind::Precise {
                came += 1;
            } else if let Ok((_, Control::Plan(plan, _))) = Control::decode(message.data) {
                all = plan.pieces();
            }
        }
        client
    });
    let client = receiving.await.expect("a thread");
    let places = Arc::clone(&delivery.open().values().next().expect("it is open").places);
    // The transfer is over once its place is free.
    drop(places.acquire_many(AT_ONCE as u32).await.expect("it ends"));
    assert_eq!((delivery.memory.held(), delivery.open().len()), (0, 1));
    drop(client);
}

/// Passes datagrams on between clients and a server until it is told that they have vanished.
fn relay(server: SocketAddr, vanished: Arc<AtomicBool>) -> SocketAddr {
    let here = (Ipv4Addr::LOCALHOST, 0);
    let [inner, outer] = [(); 2].map(|()| UdpSocket::bind(here).expect("a free port"));
    let at = outer.local_addr().expect("bound");
    inner.connect(server).expect("an address");
    thread::spawn(move || {
        let mut client = None;
        let mut bytes = vec![0; 1 << 16];
        for socket in [&inner, &outer] {
            let turn = std::time::Duration::from_millis(1);
            socket.set_read_timeout(Some(turn)).expect("a timeout");
        }
        while !vanished.load(Ordering::Relaxed) {
            if let Ok((length, from)) = outer.recv_from(&mut bytes) {
                client = Some(from);
                let _ = inner.send(&bytes[..length]);
            }
            if let (Some(client), Ok(length)) = (client, inner.recv(&mut bytes)) {
                let _ = outer.send_to(&bytes[..length], client);
            }
        }
    });
    at
}

#[tokio::test]
async fn a_client_that_has_vanished_keeps_no_memory_from_others() {
    let settings = DeliverySettings {
        options: SapOptions::default(),
        listen: (Ipv4Addr::LOCALHOST, 0).into(),
        memory: BodyMemory::new(9_000_000),
    };
    let delivery = BodyDelivery::start(settings).expect("a free port");
    let folder = Folder::new("web-vanished");
    let path = folder.path().join("body");
    std::fs::write(&path, vec![0xa5; 2_000_000]).expect("room");
    let file = Arc::new(File::open(path).expect("it is there"));
    let opener = SapOpener::Client { open: None };
    let offer = SapOffer { types: None, is_precise: false, opener, forbids_change: false };
    let body = |of: u64| BodySource::File { file: Arc::clone(&file), range: 0..of, of };
    let vanished = Arc::new(AtomicBool::new(false));
    let to = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), delivery.port());
    let at = relay(to, Arc::clone(&vanished));
    let client = blocking(move || SapOptions::default().connect(at).expect("it listens"));
    let client = client.await.expect("a thread");
    let hog = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
    // It has asked for four bodies, and nothing of it comes any more.
    for transfer in 1..=4 {
        let started = delivery.start_transfer(&offer, hog, body(2_000_000)).await;
        let data = Control::Ask(started.expect("room").token).encode(transfer);
        let ask = Message { stream: CONTROL_STREAM, mode: Mode::Precise, data };
        client.send_message(&ask).expect("open");
        while !delivery.waiting().is_empty() {
            tokio::task::yield_now().await;
        }
        vanished.store(transfer == 4, Ordering::Relaxed);
    }
    let other = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
    let started = delivery.start_transfer(&offer, other, body(1_900_000)).await;
    assert!(started.is_ok(), "{:?}", started.err());
    drop(client);
}
