//! The measures of the papers, each a named function (S0.58).
//!
//! Functions over observations return `None` where there are too few to say anything.

//= S0.58
/// The arithmetic mean.
#[must_use]
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

//= S0.58
/// The middle value, or the mean of the two in the middle.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

/// The lowest and the highest value.
#[must_use]
pub fn range(values: &[f64]) -> Option<(f64, f64)> {
    let low = values.iter().copied().reduce(f64::min)?;
    let high = values.iter().copied().reduce(f64::max)?;
    Some((low, high))
}

/// The unbiased variance of the population from which `values` is a sample; needs two values.
#[must_use]
pub fn variance(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    (values.len() > 1).then(|| squares / (values.len() - 1) as f64)
}

//= S0.58
/// The standard error of the mean; needs two values.
#[must_use]
pub fn standard_error(values: &[f64]) -> Option<f64> {
    variance(values).map(|variance| (variance / values.len() as f64).sqrt())
}

//= S0.58
/// The share of packets that no receiver got, one way or the other: FLR (S0.37, S0.58).
///
/// `missing` frames never arrived, `damaged` ones did with bit errors; a stock receiver loses both.
#[must_use]
pub fn frame_loss_rate(missing: u64, damaged: u64, sent: u64) -> Option<f64> {
    share(missing + damaged, sent)
}

//= S0.58
/// The share of packets that never arrived: FLR/B, the loss that remains when damage is accepted.
#[must_use]
pub fn frame_loss_rate_but_damaged(missing: u64, sent: u64) -> Option<f64> {
    share(missing, sent)
}

//= S0.58
/// The share of frames that were sent more than once (S0.34, S0.58).
#[must_use]
pub fn retransmitted_fraction(sent_more_than_once: u64, sent: u64) -> Option<f64> {
    share(sent_more_than_once, sent)
}

//= S0.58
/// The share of bits in error in the damaged frames (S0.35, S0.58).
#[must_use]
pub fn bit_error_rate_in_damaged(wrong_bits: u64, bits_of_damaged_frames: u64) -> Option<f64> {
    share(wrong_bits, bits_of_damaged_frames)
}

//= S0.58
/// The variance of the times between arrivals, in seconds squared; needs three arrivals (S0.58).
#[must_use]
pub fn inter_arrival_variance(arrivals: &[f64]) -> Option<f64> {
    let gaps: Vec<f64> = arrivals.windows(2).map(|pair| pair[1] - pair[0]).collect();
    variance(&gaps)
}

//= S0.58
/// The distance of `measured` from `truth`, as a share of the truth (S0.54, S0.58).
#[must_use]
pub fn quality_error(measured: f64, truth: f64) -> Option<f64> {
    (truth != 0.0).then(|| (measured - truth).abs() / truth.abs())
}

//= S3.12
/// The loss that is left after up to `retransmissions` repetitions over a link that loses each
/// frame independently with probability `loss`: pⁿ⁺¹ (S3.12).
#[must_use]
pub fn residual_loss(loss: f64, retransmissions: u32) -> f64 {
    loss.powi(i32::try_from(retransmissions).unwrap_or(i32::MAX - 1).saturating_add(1))
}

//= S3.12
/// The loss that is left where losses come in bursts of `burst` frames on average (S3.12).
///
/// The air is in its bad state for a share `loss` of the frames and loses all of them; it changes
/// its state between frames, as a chain without memory. A packet is lost if the air is bad when its
/// first frame is sent and stays so for all repetitions. Packets pass faster while the air is good,
/// so that fewer of them begin in the bad state than frames do.
#[must_use]
pub fn residual_loss_in_bursts(loss: f64, burst: f64, retransmissions: u32) -> f64 {
    let leave = 1.0 / burst;
    let enter = leave * loss / (1.0 - loss);
    let stays = residual_loss(1.0 - leave, retransmissions) / (1.0 - leave);
    // The share of packets that begin in the bad state, times the share of those that are lost.
    enter * stays / (1.0 - stays * (1.0 - leave - enter))
}

//= S3.12
/// The number of retransmissions that keep the loss that is left below `target` (S3.12).
///
/// `None` if no number does: the link loses everything, or the target is zero.
#[must_use]
pub fn retransmissions_needed(loss: f64, target: f64) -> Option<u32> {
    if loss >= 1.0 || target <= 0.0 {
        return None;
    }
    // The logarithm finds the place, the formula itself decides.
    let guess = (target.ln() / loss.ln()).floor().max(0.0) as u32;
    (guess.saturating_sub(2)..=guess + 2).find(|n| residual_loss(loss, *n) < target)
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests;
