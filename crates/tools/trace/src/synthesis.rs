//! Traces from the parameters of a model.

use bytes::Bytes;
use windfall_base::{Frame, Instant, Port, Seed, Tag};
use windfall_channel::{Air, AirConfig, Exposure, FrameFacts, FrameFate, MediumEvent, Recorder};
use windfall_files::traces::ErrorTrace;
use windfall_files::traces::error_trace::{Fault, Index, TraceHeader};

/// The name under which a synthesized air draws; the seed and this decide the trace.
const DIRECTION: &str = "synth";
/// The number of bytes by which a bit trace grows at once.
const STRETCH: usize = 4096;

/// Why a model gives no such trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SynthesisError {
    /// The model acts on frames, so there is no stream of bits.
    #[error(
        "a trace indexed by bits holds nothing but inverted bits: leave losses, truncation and \
         windows out, or index it by frames"
    )]
    NeedsFrames,
}

/// Applies an error model to `count` frames of `length` bytes.
#[must_use]
pub fn synthesize_frames(
    config: &AirConfig,
    seed: Seed,
    count: u64,
    length: u32,
    workload: &str,
) -> ErrorTrace {
    let config = AirConfig { exposure: Exposure::default(), ..config.clone() };
    let mut air = Air::new(&config, seed, DIRECTION);
    let frame = frame(length as usize);
    let facts = FrameFacts::of(&frame);
    let time = (Instant::START, Instant::START);
    let header =
        TraceHeader { seed: Some(seed), workload: workload.to_owned(), ..TraceHeader::default() };
    let mut recorder = Recorder::new(header, config.exposure);
    for _ in 0..count {
        let judged = air.judge(&frame);
        recorder.record(&MediumEvent::new(facts, (Port(0), Port(1)), time, judged));
    }
    recorder.finish()
}

/// Applies an error model to a stream of `count` bits.
///
/// # Errors
/// If a model does something to frames that is no inversion of bits.
pub fn synthesize_bits(
    config: &AirConfig,
    seed: Seed,
    count: u64,
    workload: &str,
) -> Result<ErrorTrace, SynthesisError> {
    use windfall_channel::Model::{BitBursts, BitErrors, Replay};
    let is_of_bits = |model| match model {
        &BitErrors(_) | &BitBursts(_) => true,
        Replay(trace) => trace.header().index == Index::Bit,
        _ => false,
    };
    if !config.models.iter().all(is_of_bits) {
        return Err(SynthesisError::NeedsFrames);
    }
    let mut air = Air::new(config, seed, DIRECTION);
    let mut trace = ErrorTrace::new(TraceHeader {
        seed: Some(seed),
        index: Index::Bit,
        workload: workload.to_owned(),
        ..TraceHeader::default()
    });
    let whole = frame(STRETCH);
    while trace.len() < count {
        let end = (count - trace.len()).min(STRETCH as u64 * 8);
        let mut place = 0;
        let (_, fate) = air.judge(&whole);
        for bit in inverted(&fate).map(u64::from).take_while(|&bit| bit < end) {
            trace.push_ok(bit - place);
            trace.push(Fault::Inverted, 1);
            place = bit + 1;
        }
        trace.push_ok(end - place);
    }
    Ok(trace)
}

fn inverted(fate: &FrameFate) -> impl Iterator<Item = u32> + '_ {
    fate.inverted().iter().copied()
}

/// A frame that carries `length` bytes.
fn frame(length: usize) -> Frame {
    Frame { tag: Some(Tag(0)), ..Frame::packet(Bytes::from(vec![0; length])) }
}
