//! Video over loopback, with strangers who send to the same port.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};

use windfall_base::Duration;
use windfall_socket::Carrier;
use windfall_video::{
    CodedClip, EncodeConfig, ReceivedVideo, VideoCodec, VideoError, VideoProtocol,
    VideoReceiverConfig, VideoSenderConfig, receive_video, send_video,
};

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A stream of pictures that no decoder needs to understand: a start code each.
fn clip(pictures: u8) -> CodedClip {
    let picture = |number| [&[0, 0, 0x80, 2, 0x1c, 0xa8][..], &[number | 1; 90]].concat();
    CodedClip {
        name: "made".to_owned(),
        codec: VideoCodec::H263Plus,
        format: windfall_video::VideoFormat { rate: 50.0, ..EncodeConfig::NARROW.format },
        coded: (0..pictures).map(picture).collect(),
        original: Vec::new(),
    }
}

/// An even port that is free, with the next.
fn free_port() -> u16 {
    loop {
        let one = UdpSocket::bind((HERE, 0)).expect("a free port");
        let port = one.local_addr().expect("bound").port();
        if port.is_multiple_of(2) && UdpSocket::bind((HERE, port + 1)).is_ok() {
            return port;
        }
    }
}

/// Sends a clip while `disturb` sends to the same port; returns what arrived.
fn exchange(
    protocol: VideoProtocol,
    clip: &CodedClip,
    disturb: impl Fn(&UdpSocket, SocketAddr),
) -> ReceivedVideo {
    let port = free_port();
    let receiver = VideoReceiverConfig {
        on: HERE,
        port,
        protocol,
        codec: clip.codec,
        buffer: Duration::from_millis(100),
        idle: Duration::from_secs(20),
    };
    let sender =
        VideoSenderConfig { to: HERE, port, protocol, payload: 60, coverage: None, repeat: false };
    let stranger = UdpSocket::bind((HERE, 0)).expect("a port");
    std::thread::scope(|scope| {
        let received = scope.spawn(|| receive_video(&receiver));
        // The port of reports is taken once the receiver is there.
        while UdpSocket::bind((HERE, port + 1)).is_ok() {
            std::thread::yield_now();
        }
        disturb(&stranger, SocketAddr::new(HERE, port));
        send_video(&sender, clip).expect("it sends");
        received.join().expect("no panic").expect("a stream came")
    })
}

//= S1.4
//= S1.8
#[test]
fn a_clip_arrives_bit_for_bit_whatever_strangers_send() {
    let clip = clip(20);
    for protocol in [VideoProtocol::Udp, VideoProtocol::UdpLite(Carrier::Udp)] {
        let received = exchange(protocol, &clip, |socket, to| {
            let stranger = [&[0x80, 96, 0, 1, 0, 0, 0, 0, 1, 2, 3, 4][..], &[0; 40]].concat();
            let other_type = [&[0x80, 5, 0, 1, 0, 0, 0, 0, 1, 2, 3, 5][..], &[0; 40]].concat();
            let goodbye = [0x81, 203, 0, 1, 9, 9, 9, 9];
            for datagram in [b"garbage", &stranger[..], &other_type, &[0x80; 3]] {
                socket.send_to(datagram, to).expect("it sends");
            }
            let control = SocketAddr::new(HERE, to.port() + 1);
            socket.send_to(&goodbye, control).expect("it sends");
        });
        let report = &received.report;
        assert_eq!((report.pictures, report.whole, report.lost), (20, 20, 0), "{report:?}");
        assert_eq!(received.coded(clip.format.rate, 20), clip.coded);
        assert_eq!(received.stream(), clip.coded.concat());
        // The first report comes before the first packet; a busy machine delays all of them.
        assert!(report.delay_seconds.is_some_and(|it| (-1e-3..20.0).contains(&it)), "{report:?}");
    }
}

#[test]
fn silence_is_an_error_with_the_port() {
    let port = free_port();
    let receiver = VideoReceiverConfig {
        on: HERE,
        port,
        protocol: VideoProtocol::Udp,
        codec: VideoCodec::H263Plus,
        buffer: Duration::ZERO,
        idle: Duration::from_millis(20),
    };
    let error = receive_video(&receiver).expect_err("nothing came");
    assert!(matches!(error, VideoError::Silence(it) if it == port), "{error}");
}
