use super::*;

/// Sends a message and returns it as the peer receives it.
fn through(message: &Message) -> Message {
    let (a, b) = Control::pair().expect("a socket pair");
    a.send(message).expect("it is sent");
    b.receive().expect("it arrives").expect("it is no end")
}

#[test]
fn messages_arrive_as_they_were() {
    for message in [
        Message::Go,
        Message::Ready(DeviceKind::Tun),
        Message::Ready(DeviceKind::Packet),
        Message::Failed(125, "no such thing".into()),
        Message::Ended(3),
        Message::Signal(15),
        Message::Finish,
        Message::Counters(7, "Udp: 1\n".repeat(1000)),
        Message::Finished,
        Message::Neighbour("10.77.0.2".parse().expect("an address")),
        Message::Neighbour("fd77::1".parse().expect("an address")),
    ] {
        assert_eq!(format!("{:?}", through(&message)), format!("{message:?}"));
    }
}

#[test]
fn descriptors_travel() {
    let (_keep, socket) = Control::pair().expect("a socket pair");
    let Message::Namespaces(namespaces) = through(&Message::Namespaces(vec![socket.0])) else {
        unreachable!()
    };
    assert_eq!(namespaces.len(), 1);
}

#[test]
fn a_closed_end_is_an_end() {
    let (a, b) = Control::pair().expect("a socket pair");
    drop(a);
    assert!(b.receive().expect("no error").is_none());
}

#[test]
fn unknown_messages_are_refused() {
    assert!(decode(99, &[], Vec::new()).is_none());
    assert!(decode(1, &[0, 0], Vec::new()).is_none(), "a device without a descriptor");
    assert!(decode(7, &[1, 2], Vec::new()).is_none(), "a signal cut short");
}
