use windfall_files::traces::ErrorTrace;
use windfall_files::traces::error_trace::{Fault, TraceHeader};

use super::*;

/// A trace of single blocks: `1` is damaged, `0` correct.
fn trace(blocks: &str) -> BlockErrors {
    let header = TraceHeader { frame_length: Some(30), ..TraceHeader::default() };
    let mut trace = ErrorTrace::new(header);
    for block in blocks.chars() {
        if block == '1' {
            trace.push(Fault::Damaged { truncated: None, inverted: Box::new([17]) }, 1);
        } else {
            trace.push_ok(1);
        }
    }
    BlockErrors::new(&trace, Stream::new(Seed(1), "noise")).unwrap()
}

fn config(protocol: WsimProtocol, corruption: BlockCorruption) -> LiteralConfig {
    LiteralConfig { protocol, adu: 242, corruption, seed: Seed(5) }
}

const BOTH: [WsimProtocol; 2] = [WsimProtocol::Udp, WsimProtocol::UdpLite];

//= S1.38
//= S1.39
#[test]
fn a_packet_of_242_bytes_fills_eleven_blocks() {
    let run = literal(
        &config(WsimProtocol::Udp, BlockCorruption::All),
        &[&[7; 242], &[8; 10]],
        &trace("0"),
        0,
    );
    let packet = run.packets[0];
    assert_eq!((packet.packet_len, packet.blocks), (284, 11), "284 / 28 = 10.14");
    assert_eq!((run.packets[1].packet_len, run.packets[1].blocks), (52, 2));
    assert_eq!(run.packets[1].first_block, 11);
    assert_eq!(run.blocks, 13);
}

//= S1.40
//= S1.42
/// Packets of one block of headers, one of headers and data, one of data: the trace decides which
/// is hit, and goes on where the packet before ended.
#[test]
fn a_damaged_header_drops_a_packet_of_either_and_damaged_data_one_of_udp() {
    // 42 + 42 bytes are three blocks.
    let packets = ["000", "100", "010", "001"];
    let outcomes = |protocol| {
        let config = LiteralConfig { adu: 42, ..config(protocol, BlockCorruption::All) };
        let run = literal(&config, &[&[9; 168]], &trace(&packets.concat()), 0);
        (run.packets.iter().map(|it| it.outcome.name()).collect::<Vec<_>>(), run)
    };
    let (udp, _) = outcomes(WsimProtocol::Udp);
    assert_eq!(udp, ["intact", "dropped", "dropped", "dropped"]);
    let (lite, run) = outcomes(WsimProtocol::UdpLite);
    assert_eq!(lite, ["intact", "dropped", "dropped", "damaged"]);
    let arrived = run.stream();
    assert_eq!(arrived.len(), 84);
    // The second block of a packet ends 14 bytes into its data; all 28 of the third are changed.
    assert!(arrived[..56].iter().all(|byte| *byte == 9));
    assert!(arrived[56..].iter().all(|byte| *byte != 9));
}

//= S1.41
#[test]
fn a_fifth_of_a_block_are_six_of_its_thirty_bytes() {
    // 42 + 28 000 bytes; block 10 is data alone.
    let mut blocks = vec!['0'; 1_002];
    blocks[10] = '1';
    let errors = trace(&blocks.into_iter().collect::<String>());
    let mut counts = [0; 7];
    for seed in 0..300 {
        let mut packet = vec![0; 28_042];
        let stream = Stream::new(Seed(seed), "wsim");
        let (changed, hits) = damage(BlockCorruption::Fifth, &mut packet, &errors, 0, &stream);
        assert_eq!(hits, 1);
        assert!(changed.iter().all(|at| (280..308).contains(at)));
        counts[changed.len()] += 1;
    }
    // Two of the thirty carry no data: 6, 5 or 4 of the rest are hit in 63, 33 and 3 % of blocks.
    assert_eq!(counts[..4], [0; 4]);
    assert!(counts[6] > 150 && counts[5] > 60 && counts[4] > 0, "{counts:?}");
}

//= S1.42
//= S1.54
/// With a fifth of its bytes changed, the second block need not hit the header.
#[test]
fn in_the_reading_of_a_fifth_a_byte_decides_and_not_a_block() {
    let config =
        LiteralConfig { adu: 242, ..config(WsimProtocol::UdpLite, BlockCorruption::Fifth) };
    let pictures = vec![3; 242 * 400];
    let errors = trace("01000000000");
    let run = literal(&config, &[&pictures], &errors, 0);
    // 14 of the 28 bytes of block 2 are headers: none of them is hit with chance C(16,6) / C(30,6).
    let spared = run.share(WsimOutcome::Damaged);
    assert!((spared - 0.0135).abs() < 0.0175, "{spared}");
}

//= S1.43
//= S1.44
/// S1.43: independent blocks at the paper's 1.58 %. The tolerance is four standard deviations of
/// the share of 20 000 packets.
#[test]
fn independent_blocks_lose_the_expected_share_of_packets() {
    const RATE: f64 = 0.0158;
    let mut stream = Stream::new(Seed(3), "blocks");
    let blocks: String =
        (0..220_000).map(|_| if stream.below(100_000) < 1_580 { '1' } else { '0' }).collect();
    let errors = trace(&blocks);
    let pictures = vec![1; 242 * 20_000];
    let expected = [1.0 - (1.0 - RATE).powi(11), 1.0 - (1.0 - RATE).powi(2)];
    assert!((expected[0] - 0.161).abs() < 0.001 && (expected[1] - 0.0313).abs() < 0.001);
    for (protocol, expected) in BOTH.into_iter().zip(expected) {
        let run = literal(&config(protocol, BlockCorruption::All), &[&pictures], &errors, 0);
        let tolerance = 4.0 * (expected * (1.0 - expected) / 20_000.0).sqrt();
        assert!((run.loss() - expected).abs() < tolerance, "{protocol:?}: {}", run.loss());
    }
}

//= S1.43
/// At the same rate of block errors bursts lose fewer packets.
#[test]
fn bursts_lose_fewer_packets_than_single_errors() {
    let spread = format!("1{}", "0".repeat(59));
    let burst = format!("{}{}", "1".repeat(10), "0".repeat(590));
    let pictures = vec![1; 242 * 2_000];
    let config = config(WsimProtocol::Udp, BlockCorruption::All);
    let loss = |blocks: &str| literal(&config, &[&pictures], &trace(blocks), 0).loss();
    assert!(loss(&burst) < 0.3 * loss(&spread), "{} {}", loss(&burst), loss(&spread));
}

#[test]
fn traces_of_other_things_are_refused() {
    use crate::wsim::BlockTraceError;
    let new = |trace: &ErrorTrace| BlockErrors::new(trace, Stream::new(Seed(1), "noise")).err();
    let mut other =
        ErrorTrace::new(TraceHeader { frame_length: Some(1_500), ..TraceHeader::default() });
    assert_eq!(new(&ErrorTrace::new(TraceHeader::default())), Some(BlockTraceError::Empty));
    other.push_ok(5);
    assert_eq!(new(&other), Some(BlockTraceError::Length(1_500)));
}
