//! The data channel of GSM bit by bit, and PPP's framing.
//!
//! Goals: the channel at 2000 times real time, framing with an empty escape map at 1 GB/s.

use rustix::time::{ClockId, clock_gettime};
use windfall_base::{Seed, Stream};
use windfall_channel::{GsmBlocks, GsmConfig, GsmEnvironment, SignalQuality};
use windfall_circuit::ppp::{Deframer, FrameMode};
use windfall_wire_link::hdlc::{Accm, HdlcCheck, encode_frame};

/// Blocks of a measurement: four minutes.
const BLOCKS: u64 = 12_000;
/// Measurements of which the fastest counts.
const ROUNDS: usize = 7;

/// The time of the processor, so that others on the machine do not count.
fn now() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// The shortest time of several runs, in seconds.
fn fastest(mut run: impl FnMut()) -> f64 {
    let times = (0..ROUNDS).map(|_| {
        let start = now();
        run();
        now() - start
    });
    times.fold(f64::INFINITY, f64::min)
}

fn channel(name: &str, config: GsmConfig) {
    let mut blocks = GsmBlocks::new(config, &mut Stream::new(Seed(1), "bench"));
    let mut inverted = 0_u64;
    let seconds = fastest(|| (0..BLOCKS).for_each(|n| blocks.errors(n, |_| inverted += 1)));
    let share = inverted as f64 / (ROUNDS as u64 * BLOCKS * 240) as f64;
    let times = BLOCKS as f64 * 0.02 / seconds;
    println!("{name}: {times:.0} times real time, {share:.1e} of the bits inverted");
}

fn framing(name: &str, check: HdlcCheck, accm: Accm, content: &[u8]) {
    let mut line = Vec::new();
    let frames = content.len() / 1_500;
    let encode = fastest(|| {
        line.clear();
        let head = [0xff, 3, 0, 0x21];
        content.chunks(1_500).for_each(|it| encode_frame(&[&head, it], check, accm, &mut line));
    });
    let mut deframer = Deframer::new(FrameMode::Strict, check, accm, 1_500);
    let mut taken = 0;
    let decode = fastest(|| deframer.take(&line, |frame| taken += frame.packet.len()));
    assert_eq!(taken, ROUNDS * frames * 1_500);
    let rate = |seconds: f64| content.len() as f64 / seconds / 1e9;
    println!("{name}, {frames} frames: {:.2} GB/s out, {:.2} GB/s in", rate(encode), rate(decode));
}

fn main() {
    for environment in GsmEnvironment::ALL {
        channel(environment.name(), environment.config());
    }
    let signal = SignalQuality::new(0).expect("a report");
    let noisy = GsmConfig { signal, ..GsmEnvironment::Driving.config() };
    channel("every burst damaged", noisy);
    let mut stream = Stream::new(Seed(1), "content");
    let random: Vec<u8> = (0..6_000_000).map(|_| stream.bits() as u8).collect();
    let text = vec![b'a'; 6_000_000];
    for (name, check) in [("FCS-16", HdlcCheck::Fcs16), ("FCS-32", HdlcCheck::Fcs32)] {
        framing(&format!("{name}, empty map, random bytes"), check, Accm::NONE, &random);
        framing(&format!("{name}, empty map, text"), check, Accm::NONE, &text);
    }
    framing("FCS-16, full map, random bytes", HdlcCheck::Fcs16, Accm::ALL, &random);
}
