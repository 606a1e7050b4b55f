//! The best rate of coded frames under the errors of a trace.

use windfall_files::traces::ErrorTrace;
use windfall_files::traces::error_trace::Fault;
use windfall_wire_link::coded::{BLOCK, BLOCK_CHECK, Level, MAX_BLOCKS};

/// Returns the greatest rate in bytes per second at which frames of one to five coded blocks, or
/// uncoded ones, could carry packets of `packet` bytes under the errors of `trace`.
///
/// The sender knows the errors of each frame before it chooses size and parity; `seconds` gives the
/// air time of a number of bytes. No frame carries more than a packet, and the rest of a packet
/// costs nothing extra, so this is a bound that no policy reaches.
#[must_use]
pub fn best_rate(trace: &ErrorTrace, packet: usize, seconds: impl Fn(usize) -> f64) -> f64 {
    let options: Vec<Vec<(f64, f64)>> =
        (0..trace.len()).map(|frame| options(trace.fault(frame), packet, &seconds)).collect();
    // The best ratio of sums: take what is best at the price of time so far until nothing changes.
    let mut rate = 0.0;
    loop {
        let mut bytes = 0.0;
        let mut time = 0.0;
        for frame in &options {
            let worth = |option: &(f64, f64)| option.0 - rate * option.1;
            let best = frame.iter().copied().max_by(|a, b| worth(a).total_cmp(&worth(b)));
            let (gained, spent) = best.unwrap_or_default();
            bytes += gained;
            time += spent;
        }
        if bytes <= rate * time * (1.0 + 1e-9) {
            return rate;
        }
        rate = bytes / time;
    }
}

/// Returns the bytes that each kind of frame carries under this fault, and its air time.
fn options(
    fault: Option<&Fault>,
    packet: usize,
    seconds: impl Fn(usize) -> f64,
) -> Vec<(f64, f64)> {
    let blocks = blocks(fault);
    let mut options = Vec::new();
    if is_clean(fault, packet + BLOCK_CHECK) {
        options.push((packet as f64, seconds(packet + BLOCK_CHECK)));
    }
    for level in Level::all() {
        let mut gained = 0;
        for count in 1..=MAX_BLOCKS {
            let data = level.data().min(packet.saturating_sub((count - 1) * level.data()));
            let Block { wrong, missing } = blocks[count - 1];
            if 2 * wrong + missing <= level.parity() {
                gained += data;
            }
            let sent = packet.min(count * level.data()) + count * (BLOCK_CHECK + level.parity());
            options.push((gained as f64, seconds(sent)));
        }
    }
    options
}

/// Tells whether the first `bytes` bytes arrived undamaged.
fn is_clean(fault: Option<&Fault>, bytes: usize) -> bool {
    let is_beyond = |bit: &u32| *bit as usize >= bytes * 8;
    match fault {
        None => true,
        Some(Fault::Lost | Fault::Inverted) => false,
        Some(Fault::Damaged { truncated, inverted }) => {
            truncated.as_ref().is_none_or(is_beyond) && inverted.iter().all(is_beyond)
        }
    }
}

/// Damage to a block, in bytes.
#[derive(Clone, Copy, Default)]
struct Block {
    wrong: usize,
    missing: usize,
}

fn blocks(fault: Option<&Fault>) -> [Block; MAX_BLOCKS] {
    let mut blocks = [Block::default(); MAX_BLOCKS];
    match fault {
        None | Some(Fault::Inverted) => {}
        Some(Fault::Lost) => blocks = [Block { wrong: 0, missing: BLOCK }; MAX_BLOCKS],
        Some(Fault::Damaged { truncated, inverted }) => {
            let mut last = None;
            for byte in inverted.iter().map(|bit| *bit as usize / 8) {
                if Some(byte) != last
                    && let Some(block) = blocks.get_mut(byte / BLOCK)
                {
                    block.wrong += 1;
                }
                last = Some(byte);
            }
            let end = truncated.map_or(usize::MAX, |bit| bit as usize / 8);
            for (index, block) in blocks.iter_mut().enumerate() {
                block.missing = ((index + 1) * BLOCK).saturating_sub(end).min(BLOCK);
            }
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use windfall_files::traces::error_trace::TraceHeader;

    use super::*;

    /// A hundredth of a second for each frame, a microsecond for each byte.
    fn seconds(bytes: usize) -> f64 {
        1e-3 + bytes as f64 * 1e-5
    }

    #[test]
    fn a_clean_air_carries_whole_frames() {
        let mut trace = ErrorTrace::new(TraceHeader::default());
        trace.push_ok(10);
        let rate = best_rate(&trace, 10_000, seconds);
        // The whole packet uncoded, with a check behind it.
        assert!((rate - 10_000.0 / seconds(10_002)).abs() < 1e-6, "{rate}");
        let short = best_rate(&trace, 100, seconds);
        assert!((short - 100.0 / seconds(102)).abs() < 1e-6, "{short}");
    }

    #[test]
    fn lost_frames_cost_as_little_as_a_frame_can() {
        let mut trace = ErrorTrace::new(TraceHeader::default());
        trace.push_ok(1);
        trace.push(Fault::Lost, 1);
        let rate = best_rate(&trace, 10_000, seconds);
        let expected = 10_000.0 / (seconds(10_002) + seconds(255));
        assert!((rate - expected).abs() < 1e-6, "{rate}, not {expected}");
    }

    #[test]
    fn damage_is_met_by_just_enough_parity() {
        let mut trace = ErrorTrace::new(TraceHeader::default());
        let inverted: Box<[u32]> = (0..5 * 7).map(|i| i / 7 * 255 * 8 + i % 7 * 8).collect();
        trace.push(Fault::Damaged { truncated: None, inverted }, 1);
        // Seven wrong bytes in each block: six are too few, and level 2 corrects thirteen.
        let rate = best_rate(&trace, 10_000, seconds);
        assert!((rate - 5.0 * 227.0 / seconds(1_275)).abs() < 1e-6, "{rate}");
    }
}
