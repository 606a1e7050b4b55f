//! Answers to a Configure-Request that a peer must not give (RFC 1661, 5.2 to 5.4).

use windfall_base::{Duration, Instant, Seed, Stream};
use windfall_circuit::ppp::{Deframer, FrameMode, PppConfig, PppEvent, PppLink};
use windfall_wire_link::hdlc::{Accm, HdlcCheck, encode_frame};

const LCP: [u8; 2] = [0xc0, 0x21];
const REQUEST: u8 = 1;
const ACK: u8 = 2;
const NAK: u8 = 3;
const REJECT: u8 = 4;

/// An end whose peer is written by hand.
struct End {
    link: PppLink,
    now: Instant,
}

impl End {
    fn new(config: PppConfig) -> Self {
        let mut link = PppLink::new(config, &Stream::new(Seed(1), "end"));
        link.open(Instant::START);
        Self { link, now: Instant::START }
    }

    fn say(&mut self, code: u8, identifier: u8, options: &[u8]) {
        let mut line = Vec::new();
        let head = [code, identifier, 0, 4 + options.len() as u8];
        encode_frame(&[&LCP, &head, options], HdlcCheck::Fcs16, Accm::ALL, &mut line);
        self.link.handle_line(self.now, &line);
    }

    /// The identifier and the options of the next request, by the timer at the latest.
    fn request(&mut self) -> (u8, Vec<u8>) {
        for _ in 0..50 {
            if let Some(request) = last_request(&self.link.take_line()) {
                return request;
            }
            self.now += Duration::from_millis(100);
            self.link.handle_timeout(self.now);
        }
        panic!("no request within five seconds");
    }
}

/// The last Configure-Request of LCP among the bytes of a line.
fn last_request(line: &[u8]) -> Option<(u8, Vec<u8>)> {
    let mut request = None;
    let mut deframer = Deframer::new(FrameMode::Strict, HdlcCheck::Fcs16, Accm::NONE, 1_500);
    deframer.take(line, |frame| {
        if let [REQUEST, identifier, _, _, options @ ..] = frame.packet {
            request = Some((*identifier, options.to_vec()));
        }
    });
    request
}

/// The value of the magic number in options.
fn magic(options: &[u8]) -> Vec<u8> {
    let at = options.windows(2).position(|it| it == [5, 6]).expect("a magic number");
    options[at + 2..at + 6].to_vec()
}

#[test]
fn answers_that_do_not_fit_the_request_leave_it_as_it_is() {
    let mut end = End::new(PppConfig { max_configure: 100, ..PppConfig::default() });
    let asked = end.request();
    let (identifier, options) = asked.clone();
    let mut altered = options.clone();
    *altered.last_mut().expect("options") ^= 1;
    let magic = [&[5, 6][..], &magic(&options)].concat();
    let other_magic = [5, 6, 1, 2, 3, 4];
    let answers: [(u8, &[u8]); 14] = [
        (ACK, &altered),
        (ACK, &[]),
        (ACK, &options[..6]),
        (ACK, &[&options[..], &[13, 3, 6]].concat()),
        (ACK, &[&options[6..], &options[..6]].concat()),
        // Not asked for.
        (REJECT, &[13, 3, 6]),
        (REJECT, &[1, 4, 5, 220]),
        (REJECT, &[&magic[..], &[13, 3, 6]].concat()),
        // Asked for with another value.
        (REJECT, &other_magic),
        (REJECT, &[]),
        (NAK, &[]),
        (NAK, &[13, 3, 6]),
        (NAK, &[4, 6, 0xc0, 0x25, 0, 0]),
        // Beyond the packet.
        (NAK, &[5, 9, 1, 2]),
    ];
    for (code, answer) in answers {
        end.say(code, identifier, answer);
        assert_eq!(end.request(), asked, "after {code} with {answer:02x?}");
    }
    // The one that fits still counts.
    end.say(ACK, identifier, &options);
    end.say(REQUEST, 1, &other_magic);
    assert_eq!(end.link.poll_event(), Some(PppEvent::Up));
}

#[test]
fn answers_that_fit_change_the_request_and_its_identifier() {
    let mut end = End::new(PppConfig::default());
    let (first, options) = end.request();
    end.say(NAK, first, &[5, 6, 1, 2, 3, 4]);
    let (second, corrected) = end.request();
    assert_ne!(first, second);
    assert_ne!(magic(&options), magic(&corrected), "RFC 1661, 6.4: a new magic number");
    end.say(REJECT, second, &[7, 2, 8, 2]);
    let (third, shorter) = end.request();
    assert_ne!(second, third);
    assert_eq!(shorter, corrected[..corrected.len() - 4]);
    // The peer may ask for an option by its Nak (5.3): a shorter packet here.
    end.say(NAK, third, &[1, 4, 2, 64]);
    let (fourth, longer) = end.request();
    assert_ne!(third, fourth);
    assert_eq!(longer, [&[1, 4, 2, 64], &shorter[..]].concat());
    // Less than a packet of 64 bytes is a mistake, as in the request of a peer.
    end.say(NAK, fourth, &[1, 4, 0, 0]);
    assert_eq!(end.request().1[..4], [1, 4, 0, 64]);
}
