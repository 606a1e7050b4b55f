//! Against foreign programs: ffmpeg and GStreamer send to us and receive from us, ffplay plays what
//! we send, tshark reads what we write.

use std::io::Write as _;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use windfall_rtp::{
    Depacketizer, ReceptionStatistics, ReportBlock, RtcpPacket, RtpHeader, RtpPacket, SdesItem,
    SdpSession, SenderInfo, SourceChunk, VIDEO_CLOCK, VideoCodec, access_units, h265_access_units,
    nal_units, packetize, pictures, sdes,
};

/// The time for which a busy machine may keep a peer waiting.
const PATIENCE: Duration = Duration::from_secs(40);

/// A folder that goes with its test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("windfall-rtp-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder can be made");
        Self(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn ffmpeg() -> Command {
    let mut command = Command::new("ffmpeg");
    command.args(["-hide_banner", "-loglevel", "error", "-nostdin", "-y"]);
    command
}

/// Twenty pictures of ffmpeg's own.
const SOURCE_FILTER: &str = "testsrc2=size=176x144:rate=10:duration=2";
const ENCODING: [&str; 6] = ["-pix_fmt", "yuv420p", "-b:v", "60k", "-g", "8"];

/// The options of ffmpeg's encoder and muxer for a format.
fn encoder(codec: VideoCodec) -> (&'static [&'static str], &'static str) {
    match codec {
        VideoCodec::H263Plus => (&["-c:v", "h263p", "-ps", "300"], "h263"),
        // Without motion: ffmpeg 5.1 writes a negative vector over the header before it.
        VideoCodec::H263 => (&["-c:v", "h263", "-mb_info", "300", "-g", "1"], "h263"),
        VideoCodec::H264 => (&["-c:v", "libx264", "-x264-params", "slices=3"], "h264"),
        VideoCodec::H265 => (&["-c:v", "libx265", "-x265-params", "log-level=none"], "hevc"),
    }
}

/// Makes a clip of 20 pictures; `None` if ffmpeg or its encoder is missing.
fn clip(folder: &Folder, codec: VideoCodec) -> Option<PathBuf> {
    let (options, muxer) = encoder(codec);
    let path = folder.file("clip");
    let mut command = ffmpeg();
    command.args(["-f", "lavfi", "-i", SOURCE_FILTER]).args(ENCODING);
    command.args(options).args(["-f", muxer]).arg(&path);
    let is_made = command.stderr(Stdio::null()).status().is_ok_and(|status| status.success());
    is_made.then_some(path)
}

/// The parts of an elementary stream that are compared: pictures, or units without start codes.
fn parts(codec: VideoCodec, stream: &[u8]) -> Vec<&[u8]> {
    match codec {
        VideoCodec::H264 | VideoCodec::H265 => nal_units(stream).collect(),
        VideoCodec::H263Plus | VideoCodec::H263 => pictures(stream).collect(),
    }
}

fn bound() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback has a port");
    socket.set_read_timeout(Some(PATIENCE)).expect("a timeout can be set");
    socket
}

/// Receives what ffmpeg sends until its goodbye or until enough pictures have come.
fn receive(socket: &UdpSocket, codec: VideoCodec, pictures: usize) -> Vec<u8> {
    let mut receiver = Depacketizer::new(codec);
    let mut statistics: Option<ReceptionStatistics> = None;
    let mut stream = Vec::new();
    let mut count = 0;
    let mut buffer = [0; 65_536];
    while count < pictures {
        let length = socket.recv(&mut buffer).expect("ffmpeg sends");
        let packet = RtpPacket::parse(&buffer[..length]).expect("ffmpeg sends RTP");
        let sequence = packet.header.sequence;
        let known = statistics.get_or_insert_with(|| ReceptionStatistics::trusted(sequence));
        known.update(sequence);
        receiver.push(&packet.header, packet.payload, &[]);
        while let Some(picture) = receiver.poll_picture() {
            assert!(picture.is_whole, "loopback loses nothing");
            stream.extend(picture.data);
            count += 1;
        }
    }
    assert_eq!(statistics.expect("packets came").lost(), 0);
    assert_eq!(receiver.malformed(), 0);
    stream
}

fn ffmpeg_sends(codec: VideoCodec, name: &str) {
    let folder = Folder::new(name);
    let Some(clip) = clip(&folder, codec) else {
        windfall_testkit::skip!("ffmpeg or its encoder of {codec:?} is missing");
    };
    let (options, muxer) = encoder(codec);
    let socket = bound();
    let port = socket.local_addr().expect("it is bound").port();
    let address = format!("rtp://127.0.0.1\\:{port}?pkt_size=400");
    let mut command = ffmpeg();
    command.args(["-re", "-f", "lavfi", "-i", SOURCE_FILTER, "-map", "0:v"]);
    command.args(ENCODING).args(options).args(["-f", "tee"]);
    // Encoded anew, since only the encoder tells the sender where RFC 2190 may cut.
    let flags = if codec == VideoCodec::H263 { ":rtpflags=rfc2190" } else { "" };
    command.arg(format!("[f={muxer}]{}|[f=rtp{flags}]{address}", clip.display()));
    let child = command.stdout(Stdio::null()).spawn().expect("ffmpeg runs");
    let stream = receive(&socket, codec, 20);
    assert_success(child);
    let expected = std::fs::read(&clip).expect("the clip is there");
    let ours = parts(codec, &stream);
    let theirs = parts(codec, &expected);
    assert_eq!(ours.len(), theirs.len());
    for (number, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        let same = ours.iter().zip(*theirs).take_while(|(a, b)| a == b).count();
        let lengths = (ours.len(), theirs.len());
        assert!(ours == theirs, "part {number} differs at {same}: {lengths:?} bytes");
    }
}

fn assert_success(mut child: Child) {
    assert!(child.wait().expect("it was started").success());
}

//= S1.4
#[test]
fn ffmpeg_sends_h263_plus_and_the_same_stream_arrives() {
    ffmpeg_sends(VideoCodec::H263Plus, "from-h263p");
}

//= S1.4
#[test]
fn ffmpeg_sends_h263_by_rfc_2190_and_the_same_stream_arrives() {
    ffmpeg_sends(VideoCodec::H263, "from-h263");
}

//= S1.56
#[test]
fn ffmpeg_sends_h264_and_the_same_stream_arrives() {
    ffmpeg_sends(VideoCodec::H264, "from-h264");
}

#[test]
fn ffmpeg_sends_h265_and_the_same_stream_arrives() {
    ffmpeg_sends(VideoCodec::H265, "from-h265");
}

const SOURCE: u32 = 0x77f1_4d00;

/// The packets of a clip, one list for each picture.
fn packets(codec: VideoCodec, stream: &[u8]) -> Vec<Vec<Vec<u8>>> {
    let units = if codec == VideoCodec::H265 { h265_access_units } else { access_units };
    let pictures: Vec<Vec<u8>> = match codec {
        VideoCodec::H264 | VideoCodec::H265 => units(stream)
            .iter()
            .map(|units| units.iter().flat_map(|it| [&[0, 0, 0, 1], *it].concat()).collect())
            .collect(),
        VideoCodec::H263Plus | VideoCodec::H263 => pictures(stream).map(<[u8]>::to_vec).collect(),
    };
    let mut sequence = 65_500_u16;
    let mut result = Vec::new();
    for (number, picture) in pictures.iter().enumerate() {
        let payloads = packetize(codec, picture, 300, true);
        let packets = payloads.iter().map(|payload| {
            sequence = sequence.wrapping_add(1);
            let header = RtpHeader {
                marker: payload.is_last,
                payload_type: 96,
                sequence,
                timestamp: number as u32 * VIDEO_CLOCK / 10,
                ssrc: SOURCE,
            };
            RtpPacket { header, payload: &payload.bytes, ..RtpPacket::default() }.encode()
        });
        result.push(packets.collect());
    }
    result
}

fn reports() -> Vec<RtcpPacket> {
    let sender = SenderInfo { ntp: 0xe800_0000_0000_0000, timestamp: 0, packets: 0, octets: 0 };
    let item = SdesItem { kind: sdes::CNAME, text: b"windfall@loopback".to_vec() };
    vec![
        RtcpPacket::Report { ssrc: SOURCE, sender: Some(sender), blocks: Vec::new() },
        RtcpPacket::Description(vec![SourceChunk { ssrc: SOURCE, items: vec![item] }]),
    ]
}

/// Two ports in a row, for RTP and RTCP, that are free.
fn free_ports() -> u16 {
    loop {
        let first = bound().local_addr().expect("it is bound").port() & !1;
        if first > 1_024
            && [first, first + 1].iter().all(|it| UdpSocket::bind(("127.0.0.1", *it)).is_ok())
        {
            return first;
        }
    }
}

fn is_listening(port: u16) -> bool {
    let table = std::fs::read_to_string("/proc/net/udp").unwrap_or_default();
    table.contains(&format!("0100007F:{port:04X}"))
        || table.contains(&format!("00000000:{port:04X}"))
}

/// Waits for a condition without reading a clock: by a socket on which nothing comes.
fn wait_until(mut is_true: impl FnMut() -> bool) {
    let idle = UdpSocket::bind("127.0.0.1:0").expect("loopback has a port");
    idle.set_read_timeout(Some(Duration::from_millis(20))).expect("a timeout can be set");
    for _ in 0..PATIENCE.as_millis() / 20 {
        if is_true() {
            return;
        }
        let _ = idle.recv(&mut [0; 1]);
    }
    panic!("it did not happen in {PATIENCE:?}");
}

fn ffmpeg_receives(codec: VideoCodec, name: &str) {
    let folder = Folder::new(name);
    let Some(clip) = clip(&folder, codec) else {
        windfall_testkit::skip!("ffmpeg or its encoder of {codec:?} is missing");
    };
    let (_, muxer) = encoder(codec);
    let stream = std::fs::read(&clip).expect("the clip is there");
    let port = free_ports();
    let address = "127.0.0.1".parse().expect("it is an address");
    let session = SdpSession { address, port, payload_type: 96, codec, size: None };
    let sdp = folder.file("session.sdp");
    let out = folder.file("received");
    std::fs::write(&sdp, session.to_text("a test")).expect("the folder can be written");
    let mut command = ffmpeg();
    command.args(["-protocol_whitelist", "file,rtp,udp", "-max_delay", "0", "-i"]).arg(&sdp);
    command.args(["-c", "copy", "-f", muxer]).arg(&out);
    let mut child = command.spawn().expect("ffmpeg runs");
    wait_until(|| is_listening(port) && is_listening(port + 1));
    send_all(codec, &stream, port);
    wait_until(|| child.try_wait().expect("it was started").is_some());
    assert_success(child);
    compare(codec, &std::fs::read(&out).expect("ffmpeg has written"), &stream);
}

/// Sends a clip and, since it ends with a goodbye, lets ffmpeg end too.
fn send_all(codec: VideoCodec, stream: &[u8], port: u16) {
    let socket = bound();
    let mut compound = reports();
    let rtcp = RtcpPacket::encode_compound(&compound);
    socket.send_to(&rtcp, ("127.0.0.1", port + 1)).expect("loopback carries it");
    let quiet = bound();
    quiet.set_read_timeout(Some(Duration::from_millis(30))).expect("a timeout can be set");
    for picture in packets(codec, stream) {
        for packet in picture {
            socket.send_to(&packet, ("127.0.0.1", port)).expect("loopback carries it");
        }
        // ffmpeg's socket holds only so much.
        let _ = quiet.recv(&mut [0; 1]);
    }
    compound.push(RtcpPacket::Goodbye { sources: vec![SOURCE], reason: None });
    let rtcp = RtcpPacket::encode_compound(&compound);
    socket.send_to(&rtcp, ("127.0.0.1", port + 1)).expect("loopback carries it");
}

/// A picture without the zeros at its end, of which GStreamer adds four.
fn without_zeros(part: &[u8]) -> &[u8] {
    let length = part.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    &part[..length]
}

/// ffmpeg looks at the first pictures to know the format, and copies from the first that it
/// understands; it may leave out the last, whose end it did not see.
fn compare(codec: VideoCodec, received: &[u8], sent: &[u8]) {
    let cut = |stream| parts(codec, stream).into_iter().map(without_zeros).collect::<Vec<_>>();
    let ours = cut(sent);
    let theirs = cut(received);
    let has_units = matches!(codec, VideoCodec::H264 | VideoCodec::H265);
    let slack = if has_units { 4 } else { 1 };
    assert!(theirs.len() + slack >= ours.len(), "{} of {} arrived", theirs.len(), ours.len());
    for (number, part) in theirs.iter().enumerate() {
        assert!(ours.contains(part), "part {number} of {} bytes was not sent", part.len());
    }
}

//= S1.4
#[test]
fn ffmpeg_receives_our_h263_plus() {
    ffmpeg_receives(VideoCodec::H263Plus, "to-h263p");
}

#[test]
fn ffmpeg_receives_our_h264() {
    ffmpeg_receives(VideoCodec::H264, "to-h264");
}

#[test]
fn ffmpeg_receives_our_h265() {
    ffmpeg_receives(VideoCodec::H265, "to-h265");
}

/// The names of an encoding in GStreamer: in packets, and its parser, payloader and depayloader.
fn gstreamer(codec: VideoCodec) -> [&'static str; 4] {
    match codec {
        VideoCodec::H264 => ["H264", "h264parse", "rtph264pay", "rtph264depay"],
        _ => ["H263-1998", "h263parse", "rtph263ppay", "rtph263pdepay"],
    }
}

/// Returns GStreamer with a pipeline; `None` if it or one of the elements is missing.
fn pipeline(codec: VideoCodec, text: &str) -> Option<Command> {
    let has = |name: &&str| {
        let mut inspect = Command::new("gst-inspect-1.0");
        let found = inspect.args(["--exists", name]).stderr(Stdio::null()).status();
        found.is_ok_and(|status| status.success())
    };
    if !gstreamer(codec)[1..].iter().all(has) {
        return None;
    }
    let mut command = Command::new("gst-launch-1.0");
    command.arg("-q").args(text.split_whitespace()).stdout(Stdio::null());
    Some(command)
}

fn gstreamer_receives(codec: VideoCodec, name: &str) {
    let folder = Folder::new(name);
    let Some(clip) = clip(&folder, codec) else {
        windfall_testkit::skip!("ffmpeg or its encoder of {codec:?} is missing");
    };
    let stream = std::fs::read(&clip).expect("the clip is there");
    let port = free_ports();
    let out = folder.file("received");
    let [encoding, _, _, depayloader] = gstreamer(codec);
    let count = packets(codec, &stream).iter().map(Vec::len).sum::<usize>();
    let form = if codec == VideoCodec::H264 {
        "! video/x-h264,stream-format=byte-stream,alignment=au"
    } else {
        ""
    };
    let text = format!(
        "udpsrc address=127.0.0.1 port={port} num-buffers={count} caps=application/x-rtp,\
         media=video,clock-rate=90000,encoding-name={encoding},payload=96 ! {depayloader} {form} \
         ! filesink location={}",
        out.display()
    );
    let Some(mut command) = pipeline(codec, &text) else {
        windfall_testkit::skip!("GStreamer or its plugins good and bad are missing");
    };
    let mut child = command.spawn().expect("GStreamer runs");
    wait_until(|| is_listening(port));
    send_all(codec, &stream, port);
    wait_until(|| child.try_wait().expect("it was started").is_some());
    assert_success(child);
    compare(codec, &std::fs::read(&out).expect("GStreamer has written"), &stream);
}

fn gstreamer_sends(codec: VideoCodec, name: &str) {
    let folder = Folder::new(name);
    let Some(clip) = clip(&folder, codec) else {
        windfall_testkit::skip!("ffmpeg or its encoder of {codec:?} is missing");
    };
    let socket = bound();
    let port = socket.local_addr().expect("it is bound").port();
    let [_, parser, payloader, _] = gstreamer(codec);
    let text = format!(
        "filesrc location={} ! {parser} ! {payloader} mtu=400 pt=96 ! udpsink host=127.0.0.1 \
         port={port} sync=false",
        clip.display()
    );
    let Some(mut command) = pipeline(codec, &text) else {
        windfall_testkit::skip!("GStreamer or its plugins good and bad are missing");
    };
    let child = command.spawn().expect("GStreamer runs");
    let stream = receive(&socket, codec, 19);
    assert_success(child);
    compare(codec, &stream, &std::fs::read(&clip).expect("the clip is there"));
}

//= S1.4
#[test]
fn gstreamer_receives_our_h263_plus() {
    gstreamer_receives(VideoCodec::H263Plus, "to-gst-h263p");
}

//= S1.4
#[test]
fn gstreamer_receives_our_h264() {
    gstreamer_receives(VideoCodec::H264, "to-gst-h264");
}

//= S1.4
#[test]
fn gstreamer_sends_h263_plus_and_the_same_stream_arrives() {
    gstreamer_sends(VideoCodec::H263Plus, "from-gst-h263p");
}

//= S1.4
#[test]
fn gstreamer_sends_h264_and_the_same_stream_arrives() {
    gstreamer_sends(VideoCodec::H264, "from-gst-h264");
}

fn ffplay_plays(codec: VideoCodec, name: &str) {
    if Command::new("ffplay").arg("-version").stdout(Stdio::null()).status().is_err() {
        windfall_testkit::skip!("ffplay is not installed (Debian: ffmpeg)");
    }
    let folder = Folder::new(name);
    let Some(clip) = clip(&folder, codec) else {
        windfall_testkit::skip!("ffmpeg or its encoder of {codec:?} is missing");
    };
    let stream = std::fs::read(&clip).expect("the clip is there");
    let port = free_ports();
    let address = "127.0.0.1".parse().expect("it is an address");
    let size = Some((176, 144, 10.0));
    let session = SdpSession { address, port, payload_type: 96, codec, size };
    let sdp = folder.file("session.sdp");
    std::fs::write(&sdp, session.to_text("a test")).expect("the folder can be written");
    let shown = std::fs::File::create(folder.file("shown")).expect("the folder can be written");
    // Without a screen: the filter tells of each picture that is decoded.
    let mut command = Command::new("ffplay");
    command.env("SDL_VIDEODRIVER", "dummy").args(["-hide_banner", "-autoexit", "-an"]);
    command.args(["-protocol_whitelist", "file,rtp,udp", "-max_delay", "0", "-noframedrop"]);
    command.args(["-vf", "showinfo", "-i"]).arg(&sdp).stdin(Stdio::null()).stderr(shown);
    let mut child = command.spawn().expect("ffplay runs");
    wait_until(|| is_listening(port) && is_listening(port + 1));
    send_all(codec, &stream, port);
    wait_until(|| child.try_wait().expect("it was started").is_some());
    let shown = std::fs::read_to_string(folder.file("shown")).expect("ffplay has written");
    let pictures = shown.lines().filter(|line| line.contains("s:176x144")).count();
    assert!(pictures >= 15, "{pictures} of 20 pictures: {shown}");
}

//= S1.4
#[test]
fn ffplay_plays_our_h263_plus() {
    ffplay_plays(VideoCodec::H263Plus, "play-h263p");
}

//= S1.4
#[test]
fn ffplay_plays_our_h264() {
    ffplay_plays(VideoCodec::H264, "play-h264");
}

/// A capture in the classic format of libpcap, of IPv4 packets without a link header.
fn capture(path: &Path, datagrams: &[(u16, Vec<u8>)]) {
    let mut file = std::fs::File::create(path).expect("the folder can be written");
    let mut out = Vec::new();
    out.extend([
        0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 101, 0, 0, 0,
    ]);
    for (number, (port, data)) in datagrams.iter().enumerate() {
        let length = data.len() as u32 + 28;
        for word in [number as u32, 0, length, length] {
            out.extend(word.to_le_bytes());
        }
        out.extend([0x45, 0]);
        out.extend((length as u16).to_be_bytes());
        out.extend([0, 0, 0, 0, 64, 17, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1]);
        for half in [4_000, *port, length as u16 - 20, 0] {
            out.extend(half.to_be_bytes());
        }
        out.extend(data);
    }
    file.write_all(&out).expect("the folder can be written");
}

/// Returns what tshark prints of the fields of a capture whose port 5004 is RTP and 5005 RTCP.
fn tshark(path: &Path, fields: &[&str]) -> Vec<String> {
    let output = Command::new("tshark")
        .args(["-n", "-o", "ip.check_checksum:FALSE", "-d", "rtp.pt==96,h263p"])
        .args(["-o", "rtp.heuristic_rtp:TRUE", "-d", "udp.port==5004,rtp"])
        .args(["-d", "udp.port==5005,rtcp", "-T", "fields", "-E", "separator=|", "-r"])
        .arg(path)
        .args(fields.iter().flat_map(|field| ["-e", field]))
        .output()
        .expect("tshark runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

//= S1.6
#[test]
fn tshark_reads_our_packets_and_reports_without_complaint() {
    if Command::new("tshark").arg("-v").output().is_err() {
        windfall_testkit::skip!("tshark is not installed");
    }
    let folder = Folder::new("tshark");
    let Some(clip) = clip(&folder, VideoCodec::H263Plus) else {
        windfall_testkit::skip!("ffmpeg or its encoder of H.263+ is missing");
    };
    let stream = std::fs::read(&clip).expect("the clip is there");
    let mut datagrams: Vec<(u16, Vec<u8>)> =
        packets(VideoCodec::H263Plus, &stream).concat().into_iter().map(|it| (5_004, it)).collect();
    let count = datagrams.len();
    let mut compound = reports();
    if let RtcpPacket::Report { blocks, .. } = &mut compound[0] {
        blocks.push(ReportBlock {
            ssrc: 9,
            fraction_lost: 25,
            lost: -3,
            highest: 70_000,
            jitter: 12,
            ..ReportBlock::default()
        });
    }
    compound.push(RtcpPacket::Goodbye { sources: vec![SOURCE], reason: Some(b"end".to_vec()) });
    datagrams.push((5_005, RtcpPacket::encode_compound(&compound)));
    let path = folder.file("session.pcap");
    capture(&path, &datagrams);
    let fields = [
        "rtp.seq",
        "rtp.marker",
        "rtp.timestamp",
        "rtp.ssrc",
        "_ws.malformed",
        "_ws.expert.message",
    ];
    let lines = tshark(&path, &fields);
    assert_eq!(lines.len(), count + 1);
    let marks = lines.iter().filter(|line| line.split('|').nth(1) == Some("1")).count();
    assert_eq!(marks, 20, "one for each picture");
    for (line, (_, datagram)) in lines[..count].iter().zip(&datagrams) {
        let header = RtpPacket::parse(datagram).expect("it is ours").header;
        let ssrc = format!("0x{:08x}", header.ssrc);
        let mark = u8::from(header.marker);
        assert_eq!(*line, format!("{}|{mark}|{}|{ssrc}||", header.sequence, header.timestamp));
    }
    let fields = [
        "rtcp.pt",
        "rtcp.ssrc.fraction",
        "rtcp.ssrc.cum_nr",
        "rtcp.sdes.text",
        "rtcp.length_check",
        "_ws.malformed",
    ];
    let rtcp = tshark(&path, &fields).pop().expect("a line for each");
    assert_eq!(rtcp, "200,202,203|25|-3|windfall@loopback,end|1|");
}
