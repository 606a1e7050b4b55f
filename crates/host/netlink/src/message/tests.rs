use std::os::fd::AsFd;

use netlink_packet_core::{NetlinkMessage, NetlinkPayload};
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};
use netlink_packet_route::{RouteNetlinkMessage, link};

use super::*;

/// The message as the library of all messages reads it.
fn as_others_read(message: Message) -> RouteNetlinkMessage {
    let mut request = NetlinkMessage::from(message);
    request.finalize();
    let mut bytes = vec![0; request.buffer_len()];
    request.serialize(&mut bytes);
    let read = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&bytes).expect("a message");
    let NetlinkPayload::InnerMessage(message) = read.payload else {
        panic!("{read:?}");
    };
    message
}

#[test]
fn a_pair_of_devices_is_described_as_others_read_it() {
    let namespace = std::fs::File::open("/proc/self/ns/net").expect("a namespace");
    let end =
        |name, last| VethEnd { name, mac: [2, 0, 0, 0, 0, last], namespace: namespace.as_fd() };
    let near = end("near", 1);
    let far = end("far0", 2);
    let read = as_others_read(Message {
        verb: Verb::New,
        subject: Subject::Link(Link::veth(&near, &far)),
    });
    let described = |end: &VethEnd<'_>| {
        vec![
            LinkAttribute::IfName(end.name.to_owned()),
            LinkAttribute::Address(end.mac.to_vec()),
            LinkAttribute::NetNsFd(end.namespace.as_raw_fd()),
        ]
    };
    let mut peer = LinkMessage::default();
    peer.attributes = described(&far);
    let mut pair = LinkMessage::default();
    pair.attributes = described(&near);
    pair.attributes.push(LinkAttribute::LinkInfo(vec![
        LinkInfo::Kind(InfoKind::Veth),
        LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(peer))),
    ]));
    assert_eq!(read, RouteNetlinkMessage::NewLink(pair));
}

#[test]
fn requests_about_a_link_are_read_by_others_as_they_are_meant() {
    let mut link = Link::numbered(7).with_mtu(1400).with_queue(3);
    link.header.flags = LinkFlags::Up;
    link.header.change_mask = LinkFlags::Up;
    let RouteNetlinkMessage::SetLink(read) =
        as_others_read(Message { verb: Verb::Set, subject: Subject::Link(link) })
    else {
        panic!("no message about a link");
    };
    assert_eq!((read.header.index, read.header.flags), (7, LinkFlags::Up));
    assert_eq!(read.attributes, [LinkAttribute::Mtu(1400), LinkAttribute::TxQueueLen(3)]);
}

#[test]
fn what_others_say_of_a_link_is_read() {
    let mut told = LinkMessage::default();
    told.header.index = 4;
    told.header.link_layer_type = link::LinkLayerType::Ether;
    told.header.flags = LinkFlags::Up | LinkFlags::Loopback;
    told.attributes = vec![
        LinkAttribute::IfName("eth0".to_owned()),
        LinkAttribute::Mtu(9000),
        LinkAttribute::Controller(2),
    ];
    let mut message = NetlinkMessage::from(RouteNetlinkMessage::NewLink(told));
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    let read = NetlinkMessage::<Message>::deserialize(&bytes).expect("a message").payload;
    let NetlinkPayload::InnerMessage(Message { verb: Verb::New, subject: Subject::Link(read) }) =
        read
    else {
        panic!("{read:?}");
    };
    assert_eq!((read.header.index, read.mtu(), read.master()), (4, Some(9000), Some(2)));
    assert!(read.header.flags.contains(LinkFlags::Loopback));
    // Cut short anywhere, it is refused or read, and nothing else.
    for length in 0..bytes.len() {
        let _ = NetlinkMessage::<Message>::deserialize(&bytes[..length]);
        let _ = Link::parse(&bytes[16.min(length)..length]);
    }
    assert_eq!(Link::numbered(1).mtu(), None);
}
