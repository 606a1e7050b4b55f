//! Video over loopback, with strangers who send to the same port, and over a line that worsens.
#![expect(clippy::disallowed_methods, reason = "video is sent and received in real time")]

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use windfall_base::Duration;
use windfall_rtp::{RtcpPacket, RtpHeader, RtpPacket, SenderInfo};
use windfall_socket::Carrier;
use windfall_video::{
    AdaptiveVideo, CodedClip, EncodeConfig, ReceivedVideo, VideoCodec, VideoDiscards, VideoError,
    VideoProtocol, VideoReceiverConfig, VideoSenderConfig, VideoSource, receive_video,
    send_adaptive, send_video,
};

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

const SENDER: VideoSenderConfig = VideoSenderConfig {
    to: HERE,
    port: 0,
    protocol: VideoProtocol::Udp,
    payload_type: 96,
    payload: 60,
    coverage: None,
    repeat: false,
    reports: VideoSenderConfig::REPORTS,
};

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

/// Waits for a program to listen at a port, without taking it even for a moment.
fn wait_for(port: u16) {
    let local = format!(":{port:04X} ");
    for _ in 0..10_000 {
        let sockets = std::fs::read_to_string("/proc/net/udp").expect("Linux lists its sockets");
        if sockets.contains(&local) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(3));
    }
    panic!("nothing listens at port {port}");
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
        payload_type: None,
        buffer: Duration::from_millis(100),
        idle: Duration::from_secs(20),
    };
    let sender = VideoSenderConfig { to: HERE, port, protocol, ..SENDER };
    let stranger = UdpSocket::bind((HERE, 0)).expect("a port");
    std::thread::scope(|scope| {
        let received = scope.spawn(|| receive_video(&receiver, &mut || false));
        // The port of reports is taken once the receiver is there.
        wait_for(port + 1);
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
            // More sources than a receiver keeps, and their reports.
            for ssrc in 0..20_u8 {
                let rtp = [&[0x80, 96, 0, 1, 0, 0, 0, 0, 7, 7, 7, ssrc][..], &[0; 40]].concat();
                socket.send_to(&rtp, to).expect("it sends");
                let report = RtcpPacket::Report {
                    ssrc: 0x0707_0700 + u32::from(ssrc),
                    sender: Some(SenderInfo::default()),
                    blocks: vec![],
                };
                let report = RtcpPacket::encode_compound(&[report]);
                socket.send_to(&report, control).expect("it sends");
            }
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

/// A test picture of libx264 with B pictures: the coded stream, and the places of its pictures in
/// the order of output by ffprobe. Each test has files of its own.
fn with_b_pictures(test: &str) -> Option<(Vec<u8>, Vec<usize>)> {
    let at = |name: &str| {
        let name = format!("windfall-{test}-{}-{name}", std::process::id());
        std::env::temp_dir().join(name)
    };
    let file = at("clip.mp4");
    let stream = at("clip.264");
    let run = |program: &str, words: &str, path: &std::path::Path| {
        let mut command = std::process::Command::new(program);
        let output = command.args(words.split(' ')).arg(path).output().ok()?;
        output.status.success().then_some(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let source = "-v error -nostdin -y -f lavfi -i testsrc=s=176x144:r=25 -frames:v 24";
    run("ffmpeg", &format!("{source} -c:v libx264 -g 12 -bf 3 -b_strategy 0"), &file)?;
    let copy = format!("-v error -nostdin -y -i {} -c copy -f h264", file.display());
    run("ffmpeg", &copy, &stream)?;
    let times = run("ffprobe", "-v error -show_entries packet=pts -of csv=p=0", &file)?;
    let bytes = std::fs::read(&stream).expect("it was written");
    for path in [file, stream] {
        std::fs::remove_file(path).expect("it is there");
    }
    let times: Vec<i64> =
        times.lines().filter_map(|it| it.trim_end_matches(',').parse().ok()).collect();
    let place = |time: &i64| times.iter().filter(|it| *it < time).count();
    let places = times.iter().map(place).collect();
    Some((bytes, places))
}

#[test]
fn b_pictures_have_the_times_at_which_they_are_shown() {
    let Some((stream, expected)) = with_b_pictures("b-pictures") else {
        windfall_testkit::skip!("ffmpeg with libx264 is not installed");
    };
    let format = windfall_video::VideoFormat { rate: 25.0, ..EncodeConfig::NARROW.format };
    let source = VideoSource::Stream("clip.264".to_owned(), VideoCodec::H264, stream);
    let config = EncodeConfig { format, ..EncodeConfig::NARROW };
    let clip = source.coded(&config, 24).expect("a stream");
    assert!(!expected.is_sorted() && expected.len() == 24, "{expected:?}");
    assert_eq!(clip.places(), expected);
    let original = source.pictures(format, 24).expect("ffmpeg decodes");
    assert_eq!(clip.reference().expect("ffmpeg decodes"), original);
    let received = exchange(VideoProtocol::Udp, &clip, |_, _| {});
    assert_eq!(received.report.whole, 24, "{:?}", received.report);
    let decoded = received.decode(VideoCodec::H264, format, 24).expect("ffmpeg decodes");
    assert!(decoded == original, "every picture is in its place");
    // The first of them is shown when the receiver has it, so that no packet comes too early.
    let delay = received.report.delay_seconds.expect("the sender reports");
    assert!((-1e-3..20.0).contains(&delay), "{delay}");
}

#[test]
fn what_cannot_be_decoded_is_no_video() {
    let Some((stream, _)) = with_b_pictures("no-video") else {
        windfall_testkit::skip!("ffmpeg with libx264 is not installed");
    };
    let format = EncodeConfig::NARROW.format;
    let coded = windfall_video::cut(VideoCodec::H264, &stream);
    let without_sets = coded.iter().skip(1).take(8).cloned().collect();
    let clip = |coded| CodedClip {
        name: "clip.264".to_owned(),
        codec: VideoCodec::H264,
        format: windfall_video::VideoFormat { rate: 50.0, ..format },
        coded,
        original: Vec::new(),
    };
    let tried = |codec, coded| {
        let port = free_port();
        let receiver = VideoReceiverConfig {
            on: HERE,
            port,
            protocol: VideoProtocol::Udp,
            codec,
            payload_type: None,
            buffer: Duration::ZERO,
            idle: Duration::from_secs(20),
        };
        let sender = VideoSenderConfig { to: HERE, port, ..SENDER };
        std::thread::scope(|scope| {
            let received = scope.spawn(|| receive_video(&receiver, &mut || false));
            wait_for(port + 1);
            send_video(&sender, &clip(coded)).expect("it sends");
            received.join().expect("no panic").expect_err("no picture can be decoded")
        })
    };
    let error = tried(VideoCodec::H264, without_sets);
    assert!(matches!(error, VideoError::NoParameters(_)), "{error}");
    assert!(error.to_string().contains("dump_extra"), "{error}");
    let error = tried(VideoCodec::H263Plus, coded);
    assert!(matches!(error, VideoError::NoPicture { .. }), "{error}");
}

#[test]
fn silence_is_an_error_with_the_port() {
    let port = free_port();
    let receiver = VideoReceiverConfig {
        on: HERE,
        port,
        protocol: VideoProtocol::Udp,
        codec: VideoCodec::H263Plus,
        payload_type: None,
        buffer: Duration::ZERO,
        idle: Duration::from_millis(20),
    };
    let error = receive_video(&receiver, &mut || false).expect_err("nothing came");
    assert!(matches!(error, VideoError::Silence(it) if it == port), "{error}");
}

fn bound(port: u16) -> UdpSocket {
    let socket = UdpSocket::bind((HERE, port)).expect("a free port");
    socket.set_nonblocking(true).expect("it can");
    socket
}

/// A line between sender and receiver of 30 kB/s that falls to 12 kB/s after two seconds, with a
/// queue without end; reports pass it in the same queue, their answers beside it.
fn line(inputs: &[UdpSocket; 2], to: u16, is_over: &AtomicBool) {
    let outputs = [bound(0), bound(0)];
    let mut queue: VecDeque<(usize, Vec<u8>)> = VecDeque::new();
    let mut sender = None;
    let begun = Instant::now();
    let mut last = 0.0;
    let mut credit = 0.0;
    let mut buffer = [0; 2_048];
    while !is_over.load(Ordering::Relaxed) {
        for (way, input) in inputs.iter().enumerate() {
            while let Ok((length, source)) = input.recv_from(&mut buffer) {
                sender = if way == 1 { Some(source) } else { sender };
                queue.push_back((way, buffer[..length].to_vec()));
            }
        }
        while let (Ok((length, _)), Some(sender)) = (outputs[1].recv_from(&mut buffer), sender) {
            let _ = inputs[1].send_to(&buffer[..length], sender);
        }
        let now = begun.elapsed().as_secs_f64();
        let rate = if now < 2.0 { 30_000.0 } else { 12_000.0 };
        credit = if queue.is_empty() { 0.0 } else { credit + (now - last) * rate };
        last = now;
        while queue.front().is_some_and(|(_, it)| it.len() as f64 <= credit) {
            let Some((way, datagram)) = queue.pop_front() else { break };
            credit -= datagram.len() as f64;
            let _ = outputs[way].send_to(&datagram, (HERE, to + way as u16));
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

/// Sends nine seconds of 24 kB/s over the line, or of less where the sender adapts. Returns what
/// arrived, and the rates of the sender.
fn over_a_line_that_worsens(adapts: bool) -> (ReceivedVideo, Vec<(usize, u32)>) {
    const RATE: f64 = 25.0;
    let port = free_port();
    let line_port = free_port();
    let receiver = VideoReceiverConfig {
        on: HERE,
        port,
        protocol: VideoProtocol::Udp,
        codec: VideoCodec::H263Plus,
        payload_type: None,
        buffer: Duration::from_millis(100),
        idle: Duration::from_secs(20),
    };
    let reports = Duration::from_millis(200);
    let sender = VideoSenderConfig { port: line_port, payload: 1_000, reports, ..SENDER };
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let received = scope.spawn(|| receive_video(&receiver, &mut || false));
        let inputs = [bound(line_port), bound(line_port + 1)];
        let until = &is_over;
        scope.spawn(move || line(&inputs, port, until));
        wait_for(port + 1);
        // Pictures of the size that the rate allows.
        let mut encode = |_: usize, bits: u32| {
            let bits = if adapts { bits } else { 192_000 };
            let filler = vec![1; (f64::from(bits) / RATE / 8.0) as usize - 6];
            Ok(vec![[&[0, 0, 0x80, 2, 0x1c, 0xa8][..], &filler].concat(); 25])
        };
        let codec = VideoCodec::H263Plus;
        let video = AdaptiveVideo { codec, pictures: 225, rate: RATE, highest: 192_000 };
        let sent = send_adaptive(&sender, &video, &mut encode);
        let received = received.join().expect("no panic").expect("a stream came");
        is_over.store(true, Ordering::Relaxed);
        (received, sent.expect("it sends").rates)
    })
}

//= S1.57
#[test]
fn the_rate_follows_a_line_that_worsens_and_the_delay_stays_small() {
    let (fixed, _) = over_a_line_that_worsens(false);
    let (adapted, rates) = over_a_line_that_worsens(true);
    let delay = |it: &ReceivedVideo| it.report.delay_seconds.expect("reports came");
    println!("{:.2} s fixed, {:.2} s adapted: {rates:?}", delay(&fixed), delay(&adapted));
    assert_eq!(rates[0], (0, 192_000));
    // 12 kB/s carry half of the rate; headers do not count on this line.
    assert!(rates.iter().any(|(_, rate)| *rate <= 96_000), "{rates:?}");
    assert!(delay(&adapted) < 0.6 * delay(&fixed), "{:?} {:?}", adapted.report, fixed.report);
    assert_eq!(adapted.report.whole, adapted.report.pictures);
}

/// Sends pictures of one packet each by their numbers, and, if there is a last `count`, the report
/// with it and a goodbye; returns what the receiver makes of it.
fn by_hand(
    payloads: &[(u16, &[u8])],
    count: Option<u32>,
    is_stopped: &AtomicBool,
    after: impl Fn(),
) -> Result<ReceivedVideo, VideoError> {
    const SSRC: u32 = 77;
    let port = free_port();
    let receiver = VideoReceiverConfig {
        on: HERE,
        port,
        protocol: VideoProtocol::Udp,
        codec: VideoCodec::H263Plus,
        payload_type: None,
        buffer: Duration::from_secs(30),
        idle: Duration::from_secs(1),
    };
    let socket = UdpSocket::bind((HERE, 0)).expect("a port");
    std::thread::scope(|scope| {
        let received = scope
            .spawn(move || receive_video(&receiver, &mut || is_stopped.load(Ordering::Relaxed)));
        wait_for(port + 1);
        for (number, payload) in payloads {
            let header = RtpHeader {
                marker: true,
                payload_type: 96,
                sequence: number.wrapping_add(u16::MAX - 3),
                timestamp: u32::from(*number) * 9_000,
                ssrc: SSRC,
            };
            let packet = RtpPacket { header, payload, ..RtpPacket::default() }.encode();
            socket.send_to(&packet, (HERE, port)).expect("it sends");
        }
        if let Some(packets) = count {
            let sender = Some(SenderInfo { ntp: 0, timestamp: 0, packets, octets: 0 });
            let goodbye = RtcpPacket::encode_compound(&[
                RtcpPacket::Report { ssrc: SSRC, sender, blocks: Vec::new() },
                RtcpPacket::Goodbye { sources: vec![SSRC], reason: None },
            ]);
            // Not before the receiver knows the source.
            std::thread::sleep(std::time::Duration::from_millis(300));
            socket.send_to(&goodbye, (HERE, port + 1)).expect("it sends");
        }
        after();
        received.join().expect("no panic")
    })
}

/// The payload of a picture: the beginning of one, without its two zeros, in a packet of RFC 4629.
const PICTURE: &[u8] = &[4, 0, 0x80, 2, 0x1c, 0xa8, 9, 9, 9];

#[test]
fn pictures_of_which_nothing_came_are_counted() {
    let pictures = |numbers: &[u16]| numbers.iter().map(|it| (*it, PICTURE)).collect::<Vec<_>>();
    let running = AtomicBool::new(false);
    let report = |numbers: &[u16], count| {
        let video = by_hand(&pictures(numbers), count, &running, || {});
        video.expect("pictures came").report
    };
    let all = report(&[0, 1, 2, 3, 4, 5], Some(6));
    assert_eq!((all.pictures, all.pictures_lost, all.lost_outside), (6, 0, Some(0)), "{all:?}");
    // The fourth and fifth, and two before the first or after the last.
    let some = report(&[0, 1, 2, 5, 6, 7], Some(10));
    assert_eq!((some.pictures, some.lost, some.lost_outside), (6, 2, Some(2)), "{some:?}");
    assert_eq!(some.pictures_lost, 4, "{some:?}");
    let text = some.to_text();
    let expected = "6 packets received, 2 lost and 2 at the ends; 6 of 10 pictures whole, 4 lost\n";
    assert!(text.starts_with(expected), "{text}");
    let silent = report(&[0, 1, 3], None);
    assert_eq!((silent.pictures_lost, silent.lost_outside), (1, None), "{silent:?}");
}

#[test]
fn a_receiver_that_is_told_to_end_has_what_came() {
    let stopped = AtomicBool::new(false);
    let stop = || {
        std::thread::sleep(std::time::Duration::from_millis(300));
        stopped.store(true, Ordering::Relaxed);
    };
    let payloads: Vec<_> = (0..5).map(|it| (it, PICTURE)).collect();
    // All of it waits in the jitter buffer.
    let video = by_hand(&payloads, None, &stopped, stop).expect("pictures came");
    assert_eq!((video.report.pictures, video.report.whole), (5, 5));
    assert_eq!(video.stream(), [&[0, 0][..], &PICTURE[2..]].concat().repeat(5));
    let error = by_hand(&[], None, &AtomicBool::new(true), || {}).expect_err("nothing came");
    assert!(matches!(error, VideoError::Stopped(_)), "{error}");
}

#[test]
fn a_stream_without_a_picture_is_an_error_that_says_what_came() {
    let running = AtomicBool::new(false);
    let error = by_hand(&[(0, &[0, 0, 7, 7]), (1, &[9])], None, &running, || {});
    let error = error.expect_err("no picture came");
    assert!(matches!(error, VideoError::NoPicture { packets: 2, .. }), "{error}");
    let port = free_port();
    let receiver = VideoReceiverConfig {
        on: HERE,
        port,
        protocol: VideoProtocol::Udp,
        codec: VideoCodec::H263Plus,
        payload_type: Some(96),
        buffer: Duration::ZERO,
        idle: Duration::from_millis(300),
    };
    let stranger = UdpSocket::bind((HERE, 0)).expect("a port");
    let error = std::thread::scope(|scope| {
        let received = scope.spawn(|| receive_video(&receiver, &mut || false));
        wait_for(port + 1);
        let other_type = [&[0x80, 5, 0, 1, 0, 0, 0, 0, 1, 2, 3, 5][..], &[0; 40]].concat();
        for datagram in [b"garbage", &other_type[..]] {
            stranger.send_to(datagram, (HERE, port)).expect("it sends");
        }
        received.join().expect("no panic").expect_err("strangers alone")
    });
    assert!(matches!(error, VideoError::Strangers { strangers: 2, .. }), "{error}");
}

/// The packet of RTP with this number and timestamp, which holds a picture of H.263+ of its own.
fn picture_packet(sequence: u16, timestamp: u32, marker: bool) -> Vec<u8> {
    let header = RtpHeader { marker, payload_type: 33, sequence, timestamp, ssrc: 7 };
    let payload = [&[0x04, 0, 0x80, 2, 0x1c, 0xa8][..], &[sequence as u8 | 1; 30]].concat();
    RtpPacket { header, payload: &payload, ..RtpPacket::default() }.encode()
}

/// Receives what `send` sends to a receiver that stops when nothing comes for a while.
fn received_of(send: impl Fn(&UdpSocket, SocketAddr)) -> ReceivedVideo {
    let port = free_port();
    let receiver = VideoReceiverConfig {
        on: HERE,
        port,
        protocol: VideoProtocol::Udp,
        codec: VideoCodec::H263Plus,
        payload_type: None,
        buffer: Duration::from_millis(60),
        idle: Duration::from_millis(1_500),
    };
    let sender = UdpSocket::bind((HERE, 0)).expect("a port");
    std::thread::scope(|scope| {
        let received = scope.spawn(|| receive_video(&receiver, &mut || false));
        wait_for(port + 1);
        send(&sender, SocketAddr::new(HERE, port));
        received.join().expect("no panic").expect("a stream came")
    })
}

fn rest(ms: u64) {
    std::thread::sleep(std::time::Duration::from_millis(ms));
}

#[test]
fn a_stream_may_begin_with_any_number_and_have_any_type() {
    for first in [0_u16, 65_530] {
        let video = received_of(|socket, to| {
            for number in 0..20_u16 {
                let sequence = first.wrapping_add(number);
                let packet = picture_packet(sequence, u32::from(number) * 1_800, true);
                socket.send_to(&packet, to).expect("it sends");
            }
        });
        let report = video.report;
        assert_eq!((report.received, report.lost, report.whole), (20, 0, 20), "{report:?}");
    }
}

/// Sends `count` pictures from this number and timestamp on, one in 20 ms, and returns the longest
/// time by which one was late.
fn send_pictures(
    socket: &UdpSocket,
    to: SocketAddr,
    first: (u16, u32),
    count: u16,
) -> std::time::Duration {
    use std::time::Duration;

    let start = Instant::now();
    let mut longest = Duration::ZERO;
    for number in 0..count {
        let due = start + Duration::from_millis(20) * u32::from(number);
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        longest = longest.max(due.elapsed());
        let timestamp = first.1.wrapping_add(u32::from(number) * 1_800);
        let packet = picture_packet(first.0 + number, timestamp, true);
        socket.send_to(&packet, to).expect("it sends");
    }
    longest
}

#[test]
fn a_sender_that_starts_again_goes_on() {
    // Other numbers and other times, then numbers just behind the last, then the same again.
    for (first, offset) in [(20_000_u16, 77_u32 << 24), (15, 1 << 30), (0, 0)] {
        // A machine that stops the sender for so long that it is not steady shows nothing.
        let mut attempts = 0;
        let video = loop {
            attempts += 1;
            let (late, longest) = std::sync::mpsc::channel();
            let video = received_of(|socket, to| {
                for life in [(0, 0), (first, offset)] {
                    late.send(send_pictures(socket, to, life, 25)).expect("this test waits");
                    rest(200);
                }
            });
            if attempts == 5 || longest.try_iter().all(|late| late.as_millis() < 40) {
                break video;
            }
        };
        let report = &video.report;
        let found = (report.received, report.lost, report.pictures, report.whole);
        assert_eq!(found, (50, 0, 50, 50), "{first}: {report:?}");
        assert_eq!(report.discarded, VideoDiscards::default(), "{first}");
        // The second life is shown behind the first.
        let places = video.coded(50.0, 200);
        let came: Vec<_> = (0..200).filter(|at| !places[*at].is_empty()).collect();
        assert!(came.len() == 50 && came[25] > came[24] + 4, "{first}: {came:?}");
    }
}

#[test]
fn the_report_names_what_was_discarded_here() {
    let video = received_of(|socket, to| {
        let send = |packet: &[u8]| socket.send_to(packet, to).map(drop).expect("it sends");
        send(b"no RTP");
        for number in 0..10_u16 {
            // The fourth comes when the others have been played, the fifth twice.
            if number != 3 {
                send(&picture_packet(number, u32::from(number) * 180, true));
            }
            if number == 4 {
                send(&picture_packet(number, u32::from(number) * 180, true));
            }
        }
        send(&picture_packet(30_000, 0, true));
        let mut other = picture_packet(10, 1_800, true);
        other[1] = 0x80 | 5;
        send(&other);
        let header =
            RtpHeader { payload_type: 33, sequence: 10, timestamp: 1_800, ..RtpHeader::default() };
        let short = RtpPacket {
            header: RtpHeader { ssrc: 7, ..header },
            payload: &[4],
            ..RtpPacket::default()
        };
        send(&short.encode());
        rest(400);
        send(&picture_packet(3, 540, true));
    });
    let report = &video.report;
    let wanted = VideoDiscards {
        late: 1,
        copies: 1,
        far: 1,
        malformed: 1,
        other_types: 1,
        strangers: 1,
        ..VideoDiscards::default()
    };
    assert_eq!(report.discarded, wanted, "{report:?}");
    // What arrived is not lost.
    assert_eq!((report.received, report.lost), (11, 0), "{report:?}");
    let text = report.to_text();
    assert!(text.contains("discarded here: 1 late, 1 copies, 1 of numbers far"), "{text}");
}

#[test]
fn copies_and_packets_of_another_source_are_named_and_hide_no_loss() {
    let video = received_of(|socket, to| {
        for number in 0..40_u16 {
            let packet = picture_packet(number, u32::from(number) * 1_800, true);
            let mut other = picture_packet(number + 900, u32::from(number) * 1_800, true);
            other[11] = 8;
            // Every fourth is lost, and the others come twice; the other source sends less.
            for _ in (0..2).filter(|_| number % 4 != 3) {
                socket.send_to(&packet, to).expect("it sends");
            }
            if number % 2 == 0 {
                socket.send_to(&other, to).expect("it sends");
            }
        }
    });
    let report = &video.report;
    assert_eq!((report.received, report.lost), (30, 9), "{report:?}");
    let wanted = VideoDiscards { copies: 30, other_sources: 20, ..VideoDiscards::default() };
    assert_eq!(report.discarded, wanted, "{report:?}");
    let text = report.to_text();
    assert!(text.starts_with("30 packets received, 9 lost; "), "{text}");
    assert!(text.contains("discarded here: 30 copies, 20 of other sources\n"), "{text}");
}

#[test]
fn a_burst_of_packets_finds_room_in_the_socket() {
    let video = received_of(|socket, to| {
        // More than the default buffer holds, while the receiver may be busy.
        for number in 0..600_u16 {
            let mut packet = picture_packet(number, u32::from(number) * 10, true);
            packet.resize(1_400, 1);
            socket.send_to(&packet, to).expect("it sends");
        }
    });
    let report = &video.report;
    let lost = report.discarded.socket_full;
    assert_eq!(u64::from(report.received) + lost, 600, "{report:?}");
    // The system may grant less than is asked for.
    assert!(lost == 0 || lost < 300, "{report:?}");
}

#[test]
fn a_clip_of_h265_arrives_bit_for_bit_and_is_decoded() {
    let config = EncodeConfig {
        codec: VideoCodec::H265,
        bit_rate: 60_000,
        slice: 60,
        ..EncodeConfig::NARROW
    };
    let clip = match VideoSource::TalkingHead.coded(&config, 12) {
        Err(VideoError::Codec(error)) => {
            windfall_testkit::skip!("ffmpeg with libx265 is not installed: {error}");
        }
        clip => clip.expect("it is coded"),
    };
    assert_eq!(clip.coded.len(), 12);
    let clip =
        CodedClip { format: windfall_video::VideoFormat { rate: 50.0, ..clip.format }, ..clip };
    let received = exchange(VideoProtocol::UdpLite(Carrier::Udp), &clip, |_, _| {});
    assert_eq!((received.report.whole, received.report.lost), (12, 0), "{:?}", received.report);
    assert_eq!(received.stream(), clip.coded.concat());
    let decoded = received.decode(VideoCodec::H265, clip.format, 12).expect("ffmpeg decodes");
    let quality = windfall_video::ClipQuality::of(&decoded, &clip.original);
    assert!(quality.mean_psnr() > Some(25.0), "{:?}", quality.mean_psnr());
}

#[test]
fn a_stream_of_long_slices_is_cut_small_when_it_is_coded_anew() {
    let config = EncodeConfig {
        codec: VideoCodec::H264,
        bit_rate: 60_000,
        slice: 20_000,
        ..EncodeConfig::NARROW
    };
    let clip = match VideoSource::TalkingHead.coded(&config, 8) {
        Err(VideoError::Codec(error)) => {
            windfall_testkit::skip!("ffmpeg with libx264 is not installed: {error}");
        }
        clip => clip.expect("it is coded"),
    };
    let (long, all) = clip.long_slices(242);
    assert!(long > 0 && all == 8, "{long} of {all}");
    let stream = VideoSource::Stream("clip.264".to_owned(), VideoCodec::H264, clip.coded.concat());
    let small = EncodeConfig { slice: 121, ..config };
    let anew = stream.coded_anew(&small, 8).expect("it is coded");
    let (long, all) = anew.long_slices(242);
    assert!(long == 0 && all > 8, "{long} of {all}");
}
