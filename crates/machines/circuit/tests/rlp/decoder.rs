//! An independent decoder of the frames, in Python.

use std::io::Write as _;
use std::process::{Command, Stdio};

use windfall_circuit::rlp::RejectMode;
use windfall_wire_link::rlp::RlpFrame;

use crate::circuit::{Circuit, UP, standard, text};

//= S1.20
//= S1.31
#[test]
fn a_decoder_written_from_the_standard_reads_the_same_frames() {
    if Command::new("python3").arg("-c").arg("").output().is_err() {
        windfall_testkit::skip!("python3 is missing");
    }
    let mut configs = standard();
    configs[1].reject = RejectMode::GoBack;
    let mut circuit = Circuit::new(configs, 3);
    circuit.ends[UP].connect();
    circuit.run(30, 0.0, 1);
    circuit.ends.iter_mut().for_each(|end| assert_eq!(end.write(&[0x5a; 3_000]), 3_000));
    circuit.run(600, 0.1, 1);
    circuit.ends[UP].disconnect();
    circuit.run(10, 0.0, 1);
    let mut blocks = circuit.blocks;
    let mut damaged = blocks[0];
    damaged[9] ^= 0x10;
    blocks.push(damaged);
    let hex = |block: &[u8; 30]| block.map(|octet| format!("{octet:02x}")).concat() + "\n";
    let input: String = blocks.iter().map(hex).collect();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/rlp/decode.py");
    let mut python = Command::new("python3")
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 runs");
    let mut stdin = python.stdin.take().expect("a pipe");
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = python.wait_with_output().expect("python3 ends");
    writer.join().expect("no panic").expect("all is read");
    let theirs = String::from_utf8(output.stdout).expect("text");
    let ours = |block| RlpFrame::parse(block).map_or("damaged".to_owned(), |frame| text(&frame));
    let ours: Vec<String> = blocks.iter().map(|block| ours(block)).collect();
    assert_eq!(theirs.lines().collect::<Vec<_>>(), ours);
    for kind in ["Xid P", "Xid F", "Sabm P", "Ua F", "I+Srej", "I+Rej", "Rr", "Disc P", "damaged"] {
        assert!(ours.iter().any(|line| line.starts_with(kind)), "no {kind}");
    }
}
