//! One end beside a peer that says what a test wants: the rules of RFC 1661, 1332 and 5072.

use core::net::Ipv4Addr;

use windfall_base::{Duration, Seed};

use super::*;
use crate::ppp::config::FrameMode;

const REQUEST: u8 = ControlCode::ConfigureRequest as u8;
const ACK: u8 = ControlCode::ConfigureAck as u8;
const NAK: u8 = ControlCode::ConfigureNak as u8;
const REJECT: u8 = ControlCode::ConfigureReject as u8;

/// A control packet: protocol, code, identifier and data.
type Said = (u16, u8, u8, Vec<u8>);

struct End {
    link: PppLink,
    now: Instant,
}

impl End {
    fn new(config: PppConfig) -> Self {
        let link = PppLink::new(config, &Stream::new(Seed(1), "end"));
        Self { link, now: Instant::START + Duration::from_secs(1) }
    }

    /// Takes the control packets that it has sent.
    fn said(&mut self) -> Vec<Said> {
        let line = self.link.take_line();
        let mut deframer = Deframer::new(FrameMode::Strict, HdlcCheck::Fcs16, Accm::NONE, 1_500);
        let mut said = Vec::new();
        deframer.take(&line, |frame| {
            let it = ControlPacket::parse(frame.packet).expect("a control packet");
            said.push((frame.protocol, it.code, it.identifier, it.data.to_vec()));
        });
        assert_eq!((deframer.counts().malformed, deframer.counts().frame_check), (0, 0));
        said
    }

    /// Lets the peer send a packet of this protocol.
    fn hear_packet(&mut self, protocol: u16, packet: &[u8]) {
        let mut line = Vec::new();
        let head = ppp::encode_protocol(protocol, Compression::default());
        encode_frame(&[&head, packet], HdlcCheck::Fcs16, Accm::ALL, &mut line);
        self.link.handle_line(self.now, &line);
    }

    /// Lets the peer send a control packet; returns what it is answered.
    fn hear(&mut self, protocol: u16, code: u8, identifier: u8, data: &[u8]) -> Vec<Said> {
        let mut packet = Vec::new();
        ControlPacket { code, identifier, data }.encode(&mut packet);
        self.hear_packet(protocol, &packet);
        self.said()
    }

    fn events(&mut self) -> Vec<PppEvent> {
        std::iter::from_fn(|| self.link.poll_event()).collect()
    }

    /// Opens LCP with a peer that asks for these options; returns what begins with that.
    fn opened(config: PppConfig, asks: &[u8]) -> (Self, Vec<Said>) {
        let mut end = Self::new(config);
        end.link.open(end.now);
        let [(LCP, REQUEST, identifier, options)] = &end.said()[..] else { panic!("no request") };
        assert_eq!(end.hear(LCP, REQUEST, 9, asks), [(LCP, ACK, 9, asks.to_vec())]);
        let begun = end.hear(LCP, ACK, *identifier, options);
        assert_eq!(end.events(), [PppEvent::Up]);
        (end, begun)
    }
}

fn request_of(said: &[Said], protocol: u16) -> (u8, Vec<u8>) {
    let found = said.iter().find(|it| it.0 == protocol && it.1 == REQUEST);
    found.map(|it| (it.2, it.3.clone())).expect("a request")
}

/// The kinds of the options in some data.
fn kinds(data: &[u8]) -> Vec<u8> {
    ppp::options(data).map(|option| option.expect("an option").kind).collect()
}

#[test]
fn a_protocol_that_is_not_known_is_rejected_once_the_link_is_open() {
    // RFC 1661, section 5.7.
    let mut closed = End::new(PppConfig::default());
    closed.link.open(closed.now);
    closed.said();
    assert_eq!(closed.hear(0x80fd, REQUEST, 1, &[]), []);
    let (mut end, _) = End::opened(PppConfig::default(), &[]);
    let [(LCP, 8, first, data)] = &end.hear(0x80fd, REQUEST, 7, &[1, 2, 3])[..] else {
        panic!("no reject")
    };
    assert_eq!(data[..], [0x80, 0xfd, REQUEST, 7, 0, 7, 1, 2, 3]);
    // The next one has another identifier; of a long packet the beginning is returned.
    let [(LCP, 8, second, data)] = &end.hear(0x80fd, REQUEST, 7, &[5; 200])[..] else {
        panic!("no reject")
    };
    assert_ne!(first, second);
    assert_eq!(
        (data.len(), &data[..2], &data[6..9]),
        (2 + REJECTED, &[0x80, 0xfd][..], &[5; 3][..])
    );
    // Packets of the network before their protocol is open are not rejected (section 3.5).
    for protocol in [IPV4, IPV6] {
        end.hear_packet(protocol, &[0x45; 40]);
        assert_eq!((end.said(), end.link.poll_packet()), (Vec::new(), None));
    }
    let (mut without, _) = End::opened(PppConfig { ipv6: false, ..PppConfig::default() }, &[]);
    without.hear_packet(IPV6, &[0x60; 40]);
    let [(LCP, 8, _, data)] = &without.said()[..] else { panic!("no reject") };
    assert_eq!(data[..3], [0, 0x57, 0x60]);
}

#[test]
fn a_layer_whose_protocol_the_peer_rejects_ends_by_itself() {
    // RFC 1661, section 5.7; RFC 1332 and 5072 negotiate apart.
    for (rejected, other) in [([0x80, 0x57], IPCP), ([0, 0x57], IPCP), ([0x80, 0x21], IPV6CP)] {
        let local = Some(Ipv4Addr::new(10, 0, 0, 1));
        let (mut end, begun) = End::opened(PppConfig { local, ..PppConfig::default() }, &[]);
        for protocol in [IPCP, IPV6CP] {
            let (identifier, options) = request_of(&begun, protocol);
            let asks = if protocol == IPCP {
                &[3, 6, 10, 0, 0, 2][..]
            } else {
                &[1, 10, 0, 0, 0, 0, 0, 0, 0, 5]
            };
            assert_eq!(end.hear(protocol, REQUEST, 1, asks), [(protocol, ACK, 1, asks.to_vec())]);
            assert_eq!(end.hear(protocol, ACK, identifier, &options), []);
        }
        assert_eq!(end.events().len(), 2);
        assert!(end.link.send(&[0x45; 20]) && end.link.send(&[0x60; 40]));
        end.link.take_line();
        let ended = if other == IPCP { IPV6CP } else { IPCP };
        let said = end.hear(LCP, 8, 1, &rejected);
        let [(protocol, code, ..)] = &said[..] else { panic!("{said:?}") };
        assert_eq!((*protocol, *code), (ended, ControlCode::TerminateRequest as u8));
        let down = if other == IPCP { PppEvent::Ipv6Down } else { PppEvent::Ipv4Down };
        assert_eq!(end.events(), [down]);
        assert_eq!(end.link.send(&[0x45; 20]), other == IPCP);
        assert_eq!(end.link.send(&[0x60; 40]), other == IPV6CP);
    }
    // Another protocol is none of them, and a packet too short names none.
    let (mut end, _) = End::opened(PppConfig::default(), &[]);
    assert_eq!(end.hear(LCP, 8, 1, &[0x80, 0xfd]), []);
    assert_eq!(end.hear(LCP, 8, 1, &[0x80]), []);
    assert_eq!(end.events(), []);
}

#[test]
fn an_echo_is_answered_with_the_own_magic_number_while_the_link_is_open() {
    // RFC 1661, section 5.8.
    let echo = ControlCode::EchoRequest as u8;
    let mut closed = End::new(PppConfig::default());
    closed.link.open(closed.now);
    closed.said();
    assert_eq!(closed.hear(LCP, echo, 3, &[0; 4]), []);
    let (mut end, _) = End::opened(PppConfig::default(), &[]);
    let magic = end.link.lcp.negotiation.magic();
    assert_ne!(magic, [0; 4]);
    let data = [&magic[..], b"hello"].concat();
    let reply = ControlCode::EchoReply as u8;
    assert_eq!(end.hear(LCP, echo, 3, b"\0\0\0\0hello"), [(LCP, reply, 3, data)]);
    for code in [ControlCode::EchoReply, ControlCode::DiscardRequest] {
        assert_eq!(end.hear(LCP, code as u8, 4, &[0; 8]), []);
    }
    assert_eq!(end.events(), []);
}

#[test]
fn what_the_peer_rejects_is_not_asked_for_again() {
    // RFC 1661, section 5.4.
    let config = PppConfig { mru: 600, ..PppConfig::default() };
    let all = [1, 2, 5, 7, 8];
    for kind in all {
        let mut end = End::new(config);
        end.link.open(end.now);
        let (identifier, options) = request_of(&end.said(), LCP);
        assert_eq!(kinds(&options), all);
        let option = ppp::options(&options).flatten().find(|it| it.kind == kind).expect("it");
        let mut refused = Vec::new();
        option.encode(&mut refused);
        let (next, options) = request_of(&end.hear(LCP, REJECT, identifier, &refused), LCP);
        let left: Vec<u8> = all.into_iter().filter(|it| *it != kind).collect();
        assert_eq!(kinds(&options), left);
        assert_ne!(next, identifier, "what asks for something else has another identifier");
        // What it did not ask for cannot be rejected: such a packet is discarded.
        assert_eq!(end.hear(LCP, REJECT, next, &[200, 2]), []);
        // Without magic numbers an echo carries zeros, and without a map all is escaped.
        let lcp = &end.link.lcp.negotiation;
        assert_eq!(lcp.magic() == [0; 4], kind == 5);
        assert_eq!(lcp.accm(), if kind == 2 { Accm::ALL } else { Accm::NONE });
    }
    for protocol in [IPCP, IPV6CP] {
        let (mut end, begun) = End::opened(PppConfig::default(), &[]);
        let (identifier, options) = request_of(&begun, protocol);
        assert_eq!(end.hear(protocol, REJECT, identifier, &[200, 2]), []);
        let (_, none) = request_of(&end.hear(protocol, REJECT, identifier, &options), protocol);
        assert_eq!(none, []);
    }
}

#[test]
fn a_hint_lowers_what_is_asked_for_and_adds_bytes_to_escape() {
    // RFC 1661, section 5.3; RFC 1662, section 7.1.
    let config = PppConfig { mru: 600, accm: Accm(0x0000_000f), ..PppConfig::default() };
    let mut end = End::new(config);
    end.link.open(end.now);
    let (identifier, before) = request_of(&end.said(), LCP);
    let hint = [1, 4, 1, 44, 2, 6, 0, 0, 0xa0, 0x01];
    let (identifier, after) = request_of(&end.hear(LCP, NAK, identifier, &hint), LCP);
    assert_eq!(after[..10], [1, 4, 1, 44, 2, 6, 0, 0, 0xa0, 0x0f]);
    assert_eq!(after[10..], before[10..]);
    // It takes no more than it can.
    let (identifier, after) = request_of(&end.hear(LCP, NAK, identifier, &[1, 4, 9, 0]), LCP);
    assert_eq!(after[..4], [1, 4, 1, 44]);
    // A magic number is drawn anew.
    let magic = after[12..16].to_vec();
    let (_, after) = request_of(&end.hear(LCP, NAK, identifier, &[5, 6, 0, 0, 0, 1]), LCP);
    assert_eq!(after[10..12], [5, 6]);
    assert_ne!(after[12..16], magic);
}

#[test]
fn each_option_of_the_peer_is_granted_corrected_or_refused() {
    let mut end = End::new(PppConfig { max_failure: 10, ..PppConfig::default() });
    end.link.open(end.now);
    end.said();
    let granted = [1, 4, 0, 64, 2, 6, 0, 0, 0, 1, 5, 6, 1, 2, 3, 4, 7, 2, 8, 2];
    assert_eq!(end.hear(LCP, REQUEST, 1, &granted), [(LCP, ACK, 1, granted.to_vec())]);
    let lcp = &end.link.lcp.negotiation;
    assert_eq!((lcp.peer_mru, lcp.peer_accm), (64, Accm(1)));
    assert!(lcp.compression.protocol && lcp.compression.address_control);
    // A new request forgets what the one before had.
    assert_eq!(end.hear(LCP, REQUEST, 2, &[]), [(LCP, ACK, 2, vec![])]);
    let lcp = &end.link.lcp.negotiation;
    assert_eq!((lcp.peer_mru, lcp.peer_accm), (1_500, Accm::ALL));
    assert!(!lcp.compression.protocol && !lcp.compression.address_control);
    assert_eq!(end.hear(LCP, REQUEST, 3, &[1, 4, 0, 63]), [(LCP, NAK, 3, vec![1, 4, 0, 64])]);
    // What is not negotiable is refused before anything is corrected, and alone named.
    let mixed = [1, 4, 0, 63, 3, 4, 0xc0, 0x23, 7, 2];
    assert_eq!(end.hear(LCP, REQUEST, 4, &mixed), [(LCP, REJECT, 4, vec![3, 4, 0xc0, 0x23])]);
    // A length that does not fit the kind is corrected; what cannot be read is discarded.
    for (wrong, right) in [
        (&[1, 3, 5][..], &[1, 4, 5, 220][..]),
        (&[2, 4, 0, 0], &[2, 6, 255, 255, 255, 255]),
        (&[7, 3, 0], &[7, 2]),
        (&[8, 3, 0], &[8, 2]),
    ] {
        assert_eq!(end.hear(LCP, REQUEST, 5, wrong), [(LCP, NAK, 5, right.to_vec())]);
    }
    let [(LCP, NAK, 5, hint)] = &end.hear(LCP, REQUEST, 5, &[5, 3, 1])[..] else {
        panic!("not corrected")
    };
    assert_eq!((hint.len(), kinds(hint)), (6, vec![5]));
    assert_eq!(end.hear(LCP, REQUEST, 6, &[1, 9, 0]), []);
    assert_eq!(end.events(), []);
}

#[test]
fn a_magic_number_of_zero_or_the_own_one_is_corrected() {
    // RFC 1661, section 6.4.
    let mut end = End::new(PppConfig::default());
    end.link.open(end.now);
    end.said();
    let [(LCP, NAK, 1, hint)] = &end.hear(LCP, REQUEST, 1, &[5, 6, 0, 0, 0, 0])[..] else {
        panic!("not corrected")
    };
    assert_eq!(kinds(hint), [5]);
    assert_eq!(end.events(), [], "zero is no loop");
    let own = end.link.lcp.negotiation.magic();
    let same = [&[5, 6][..], &own].concat();
    let [(LCP, NAK, 2, hint)] = &end.hear(LCP, REQUEST, 2, &same)[..] else {
        panic!("not corrected")
    };
    assert_ne!(hint[2..], own);
    assert_eq!(end.events(), [PppEvent::Looped]);
}

#[test]
fn after_five_corrections_in_a_row_options_are_refused() {
    // RFC 1661, section 4.6, Max-Failure.
    let mut end = End::new(PppConfig::default());
    end.link.open(end.now);
    end.said();
    let short = [1, 4, 0, 1];
    let codes = [1, 2, 3, 4, 5, 6, 7].map(|n| end.hear(LCP, REQUEST, n, &short)[0].1);
    assert_eq!(codes, [NAK, NAK, NAK, NAK, NAK, REJECT, REJECT]);
}

#[test]
fn lcp_escapes_everything_and_others_what_the_peer_asked_for() {
    // RFC 1662, section 7: LCP packets go out as if nothing had been negotiated.
    let (mut end, _) = End::opened(PppConfig::default(), &[2, 6, 0, 0, 0, 0, 7, 2, 8, 2]);
    let line = |end: &mut End, protocol, data: &[u8]| {
        let mut packet = Vec::new();
        ControlPacket { code: REQUEST, identifier: 1, data }.encode(&mut packet);
        end.hear_packet(protocol, &packet);
        end.link.take_line()
    };
    // IPCP: without address and control, its control characters bare.
    let ipcp = line(&mut end, IPCP, &[200, 2]);
    assert_eq!(ipcp[..10], [FLAG, 0x80, 0x21, REJECT, 1, 0, 6, 200, 2, ipcp[9]]);
    // A protocol that is rejected: that is LCP.
    let lcp = line(&mut end, 0x80fd, &[]);
    assert_eq!(lcp[..8], [FLAG, 0xff, 0x7d, 0x23, 0xc0, 0x21, 0x7d, 0x28]);
    // A peer that asked for nothing has all escaped in IPCP too.
    let (mut end, _) = End::opened(PppConfig::default(), &[]);
    let ipcp = line(&mut end, IPCP, &[200, 2]);
    assert_eq!(ipcp[..8], [FLAG, 0xff, 0x7d, 0x23, 0x80, 0x21, 0x7d, 0x20 ^ REJECT]);
}

const FLAG: u8 = 0x7e;

#[test]
fn the_peer_has_the_address_that_it_is_to_have_and_no_other() {
    // RFC 1332, section 3.3.
    let address = |last| vec![3, 6, 10, 0, 0, last];
    let answers = |peer: Option<Ipv4Addr>, asks: &[u8]| {
        let (mut end, _) = End::opened(PppConfig { peer, ..PppConfig::default() }, &[]);
        let said = end.hear(IPCP, REQUEST, 1, asks);
        let [(IPCP, code, 1, data)] = &said[..] else { panic!("{said:?}") };
        (*code, data.clone(), end.link.ipcp.negotiation.peer)
    };
    let assigned = Some(Ipv4Addr::new(10, 0, 0, 2));
    let own = Some(Ipv4Addr::new(10, 0, 0, 7));
    assert_eq!(answers(assigned, &address(2)), (ACK, address(2), assigned));
    assert_eq!(answers(assigned, &address(7)), (NAK, address(2), None));
    assert_eq!(answers(assigned, &[3, 6, 0, 0, 0, 0]), (NAK, address(2), None));
    assert_eq!(answers(None, &address(7)), (ACK, address(7), own));
    let zero = vec![3, 6, 0, 0, 0, 0];
    assert_eq!(answers(None, &zero), (REJECT, zero, None));
    // Header compression is not negotiated.
    assert_eq!(answers(None, &[2, 4, 0, 0x2d]), (REJECT, vec![2, 4, 0, 0x2d], None));
    assert_eq!(answers(None, &[3, 4, 1, 2]), (REJECT, vec![3, 4, 1, 2], None));
}

#[test]
fn an_end_takes_the_address_that_the_peer_names_unless_it_has_one() {
    for (local, asked) in [(None, [10, 0, 0, 9]), (Some(Ipv4Addr::new(10, 0, 0, 1)), [10, 0, 0, 1])]
    {
        let (mut end, begun) = End::opened(PppConfig { local, ..PppConfig::default() }, &[]);
        let (identifier, first) = request_of(&begun, IPCP);
        assert_eq!(first[2..], local.map_or([0; 4], |it| it.octets()));
        let said = end.hear(IPCP, NAK, identifier, &[3, 6, 10, 0, 0, 9]);
        let (identifier, second) = request_of(&said, IPCP);
        assert_eq!(second, [&[3, 6][..], &asked].concat());
        end.hear(IPCP, ACK, identifier, &second);
        end.hear(IPCP, REQUEST, 1, &[]);
        let up = PppEvent::Ipv4Up { local: asked.into(), peer: None };
        assert_eq!(end.events(), [up]);
    }
}

#[test]
fn interface_identifiers_differ_and_are_not_zero() {
    // RFC 5072, section 4.1.
    let (mut end, begun) = End::opened(PppConfig::default(), &[]);
    let (identifier, own) = request_of(&begun, IPV6CP);
    assert_eq!((own.len(), own[2] & 2), (10, 0), "it is not unique in the world");
    assert_ne!(own[2..], [0; 8]);
    for wrong in [&[1, 10, 0, 0, 0, 0, 0, 0, 0, 0], &own[..]] {
        let said = end.hear(IPV6CP, REQUEST, 1, wrong);
        let [(IPV6CP, NAK, 1, hint)] = &said[..] else { panic!("{said:?}") };
        assert!(hint[2..] != [0; 8] && hint[2..] != own[2..] && hint[2] & 2 == 0);
    }
    assert_eq!(
        end.hear(IPV6CP, REQUEST, 2, &[1, 4, 1, 2]),
        [(IPV6CP, REJECT, 2, vec![1, 4, 1, 2])]
    );
    let hint = [1, 10, 0, 0, 0, 0, 0, 0, 7, 7];
    let (identifier, second) = request_of(&end.hear(IPV6CP, NAK, identifier, &hint), IPV6CP);
    assert_eq!(second, hint);
    end.hear(IPV6CP, ACK, identifier, &second);
    end.hear(IPV6CP, REQUEST, 3, &[1, 10, 0, 0, 0, 0, 0, 0, 0, 5]);
    assert_eq!(end.events(), [PppEvent::Ipv6Up { local: 0x0707, peer: 5 }]);
}

#[test]
fn no_ipv6_is_negotiated_where_it_is_not_wanted() {
    let config = PppConfig { ipv6: false, ..PppConfig::default() };
    let (mut end, begun) = End::opened(config, &[]);
    assert!(begun.iter().all(|it| it.0 == IPCP), "{begun:?}");
    assert_eq!(end.hear(IPV6CP, REQUEST, 1, &[])[0].1, ControlCode::ProtocolReject as u8);
}

#[test]
fn a_packet_goes_out_if_the_peer_takes_as_much() {
    let (mut end, begun) = End::opened(PppConfig::default(), &[1, 4, 0, 100]);
    assert!(!end.link.send(&[0x45; 20]), "IPv4 is not open yet");
    let (identifier, options) = request_of(&begun, IPCP);
    end.hear(IPCP, REQUEST, 1, &[]);
    end.hear(IPCP, ACK, identifier, &options);
    assert!(end.link.send(&[0x45; 100]) && !end.link.send(&[0x45; 101]));
    assert!(end.link.unsent() > 100 && !end.link.send(&[0x60; 40]) && !end.link.send(&[]));
    end.link.take_line();
    assert_eq!(end.link.unsent(), 0);
}

#[test]
fn packets_that_are_not_read_are_counted() {
    let (mut end, begun) = End::opened(PppConfig::default(), &[]);
    let (identifier, options) = request_of(&begun, IPCP);
    end.hear(IPCP, REQUEST, 1, &[]);
    end.hear(IPCP, ACK, identifier, &options);
    (0..MAX_PACKETS + 3).for_each(|_| end.hear_packet(IPV4, &[0x45; 20]));
    assert_eq!(end.link.overrun(), 3);
    let read = std::iter::from_fn(|| end.link.poll_packet()).count();
    assert_eq!((read, end.said()), (MAX_PACKETS, vec![]));
}

#[test]
fn unknown_codes_are_rejected_and_the_rejection_of_a_necessary_one_ends_the_link() {
    // RFC 1661, section 5.6; codes 1 to 7 are necessary.
    let (mut end, _) = End::opened(PppConfig::default(), &[]);
    let said = end.hear(LCP, 99, 5, &[1; 100]);
    let [(LCP, 7, _, data)] = &said[..] else { panic!("{said:?}") };
    assert_eq!((data.len(), &data[..5]), (64, &[99, 5, 0, 104, 1][..]));
    assert_eq!(end.hear(LCP, 7, 1, &[9, 1, 0, 4]), []);
    assert_eq!(end.events(), []);
    assert_eq!(end.hear(LCP, 7, 1, &[7, 1, 0, 4])[0].1, ControlCode::TerminateRequest as u8);
    assert!(end.events().contains(&PppEvent::Down));
}

#[test]
fn a_request_to_terminate_is_acknowledged_and_the_end_follows() {
    // RFC 1661, sections 4.4 and 5.5.
    let (mut end, _) = End::opened(PppConfig::default(), &[]);
    let ack = ControlCode::TerminateAck as u8;
    assert_eq!(
        end.hear(LCP, ControlCode::TerminateRequest as u8, 77, &[]),
        [(LCP, ack, 77, vec![])]
    );
    assert_eq!(end.events(), [PppEvent::Down]);
    // It waits for a restart time, so that the acknowledgment can arrive.
    assert_eq!(end.link.poll_timeout(), Some(end.now + Duration::from_secs(3)));
    end.link.handle_timeout(end.now + Duration::from_secs(3));
    assert_eq!(end.events(), [PppEvent::Finished]);
    assert_eq!(end.link.poll_timeout(), None);
}

#[test]
fn replies_that_answer_no_request_are_discarded() {
    // RFC 1661, sections 5.2 to 5.4: the identifier must be that of the last request.
    let mut end = End::new(PppConfig::default());
    end.link.open(end.now);
    let (identifier, options) = request_of(&end.said(), LCP);
    for code in [ACK, NAK, REJECT] {
        assert_eq!(end.hear(LCP, code, identifier.wrapping_add(1), &options), []);
    }
    end.hear(LCP, REQUEST, 9, &[]);
    end.hear(LCP, ACK, identifier, &options);
    assert_eq!(end.events(), [PppEvent::Up]);
    // Nor does a second copy end what the first has begun.
    for code in [ACK, NAK, REJECT] {
        assert_eq!(end.hear(LCP, code, identifier, &options), []);
    }
    assert_eq!(end.events(), []);
}

#[test]
fn what_comes_before_the_link_is_open_costs_no_patience() {
    // RFC 1661, section 3.5: such packets are silently discarded.
    let peer = Some(Ipv4Addr::new(10, 0, 0, 2));
    let mut end = End::new(PppConfig { peer, ..PppConfig::default() });
    end.link.open(end.now);
    let (identifier, options) = request_of(&end.said(), LCP);
    let wrong = [3, 6, 10, 0, 0, 7];
    (0..9).for_each(|number| assert_eq!(end.hear(IPCP, REQUEST, number, &wrong), []));
    end.hear(LCP, REQUEST, 9, &[]);
    end.hear(LCP, ACK, identifier, &options);
    assert_eq!(end.hear(IPCP, REQUEST, 1, &wrong), [(IPCP, NAK, 1, vec![3, 6, 10, 0, 0, 2])]);
}

#[test]
fn a_late_copy_of_the_granted_request_does_not_open_the_negotiation_again() {
    let asks = [1, 4, 5, 0];
    let second = Duration::from_secs(1);
    for (later, identifier, options, is_copy) in [
        (Duration::ZERO, 9, asks, true),
        (second * 3, 9, asks, true),
        (second * 3 + Duration::from_nanos(1), 9, asks, false),
        (Duration::ZERO, 10, asks, false),
        (Duration::ZERO, 9, [1, 4, 5, 1], false),
    ] {
        let (mut end, _) = End::opened(PppConfig::default(), &asks);
        end.now += later;
        let said = end.hear(LCP, REQUEST, identifier, &options);
        let answers = said.iter().filter(|it| it.1 == ACK).count();
        let down: &[_] = if is_copy { &[] } else { &[PppEvent::Down] };
        assert_eq!((answers, &end.events()[..]), (1, down), "{later:?} {identifier} {options:?}");
        // A new request is answered by one of its own.
        assert_eq!(said.iter().any(|it| it.1 == REQUEST), !is_copy);
    }
}
