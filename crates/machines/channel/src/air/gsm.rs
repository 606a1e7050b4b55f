//! The data channel of GSM at 9.6 kb/s, bit by bit: fading bursts, interleaving, Viterbi decoder.
//!
//! Each burst meets a signal-to-noise ratio of its own, that of the path at that moment, and so a
//! bit error rate; each block of 240 bits is decoded from what 22 bursts left of it (3GPP TS
//! 45.003, section 3.3). The bits that come out wrong have the arrangement that the decoder gives
//! them: clusters of some ten bits, about half of them inverted, in a few blocks.

use core::fmt;

use windfall_base::{Dbm, Duration, Instant, Probability, Rate, Seed, Stream};
use windfall_fec::tch_f96::{
    BLOCK_BITS, BLOCK_BURSTS, BURST_BITS, BURSTS_PER_BLOCK, BlockDecoder, CODED_BITS, encode_block,
    place,
};
use windfall_files::traces::error_trace::{ErrorTrace, Fault, TraceHeader};

use super::bits::Gaps;
use super::{FrameDamage, Target};
use crate::fading::{Fading, Process};

/// Noise in the channel of 200 kHz at a receiver with a noise figure of 8 dB.
const NOISE_DBM: f64 = -113.0;
/// The loss of GMSK with BT = 0.3 against antipodal signals (Murota and Hirade 1981).
const GMSK: f64 = 0.68;
/// Traffic bursts between two bursts of signalling, in each 26 frames twice.
const TRAFFIC_RUN: u64 = 12;
/// 13 TDMA frames, of 60/13 ms each, hold twelve traffic bursts.
const RUN_NANOS: u64 = 60_000_000;
/// Bursts that are remembered: those of a block.
const REMEMBERED: usize = 32;
/// Octets of a block.
const BLOCK_LEN: u32 = BLOCK_BITS as u32 / 8;

/// The signal strength as a modem reports it by `AT+CSQ`: 0 to 31.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SignalQuality(u8);

impl SignalQuality {
    /// The report `csq`; `None` if it is beyond 31.
    #[must_use]
    pub const fn new(csq: u8) -> Option<Self> {
        if csq <= 31 { Some(Self(csq)) } else { None }
    }

    //= S1.46
    /// The strength that it stands for; 31 means as much or more.
    #[must_use]
    pub fn strength(self) -> Dbm {
        Dbm(-113.0 + 2.0 * f64::from(self.0))
    }

    /// The report as a number.
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }
}

/// The circumstances of a data channel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GsmConfig {
    /// The mean strength of the signal.
    pub signal: SignalQuality,
    /// The variation of the signal.
    pub fading: Fading,
}

/// The environments of paper 001, section 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GsmEnvironment {
    /// At rest with four to five bars.
    StationaryGood,
    /// At rest with one to two bars.
    StationaryBad,
    /// Carried by a person on foot.
    Walking,
    /// In a car.
    Driving,
}

impl GsmEnvironment {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::StationaryGood, Self::StationaryBad, Self::Walking, Self::Driving];

    /// The name in options and files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::StationaryGood => "gsm-good",
            Self::StationaryBad => "gsm-bad",
            Self::Walking => "gsm-walking",
            Self::Driving => "gsm-driving",
        }
    }

    //= S1.37
    //= S1.46
    /// The circumstances. The signal of the first two is that of the paper; the direct ray of the
    /// bad one is fitted to its block error rate of 1.58 %, and the rest is ours: 900 MHz, 1.5 m/s
    /// on foot, 15 m/s in a car.
    #[must_use]
    pub const fn config(self) -> GsmConfig {
        let (csq, fading) = match self {
            Self::StationaryGood => (17, Fading::Rician { k: 4.0, doppler: 1.0 }),
            Self::StationaryBad => (7, Fading::Rician { k: 3.4, doppler: 1.0 }),
            Self::Walking => (8, Fading::Rayleigh { doppler: 4.5 }),
            Self::Driving => (5, Fading::Rayleigh { doppler: 45.0 }),
        };
        GsmConfig { signal: SignalQuality(csq), fading }
    }

    //= S1.37
    /// An error trace of `blocks` blocks of 30 bytes, one every 20 ms.
    #[must_use]
    pub fn synthesize(self, seed: Seed, blocks: u32) -> ErrorTrace {
        let mut channel = GsmBlocks::new(self.config(), &mut Stream::new(seed, self.name()));
        let mut trace = ErrorTrace::new(TraceHeader {
            seed: Some(seed),
            rate: Rate::from_bps(12_000),
            frame_length: Some(BLOCK_LEN),
            workload: format!("synthetic environment {}, radio blocks of 20 ms", self.name()),
            ..TraceHeader::default()
        });
        for number in 0..u64::from(blocks) {
            let mut inverted = Vec::new();
            channel.errors(number, |bit| inverted.push(bit));
            if inverted.is_empty() {
                trace.push_ok(1);
            } else {
                let inverted = inverted.into_boxed_slice();
                trace.push(Fault::Damaged { truncated: None, inverted }, 1);
            }
        }
        trace
    }
}

impl fmt::Display for GsmEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A burst as it was received.
#[derive(Clone, Copy, Debug)]
struct Burst {
    /// Its number and one, so that 0 is none.
    ordinal: u64,
    has_errors: bool,
    /// The weight of each bit for the decoder, 1 to 127, and negative where it is inverted.
    bits: [i8; BURST_BITS],
}

impl Burst {
    const NONE: Self = Self { ordinal: 0, has_errors: false, bits: [0; BURST_BITS] };
}

/// One direction of a data channel: the bit errors of each of its blocks.
///
/// The errors of block *n* follow from the stream and *n* alone.
#[derive(Clone, Debug)]
pub struct GsmBlocks {
    /// The mean signal-to-noise ratio.
    snr: f64,
    fading: Option<Process>,
    stream: Stream,
    bursts: Box<[Burst; REMEMBERED]>,
    decoder: BlockDecoder,
    /// The block that is sent, and its code. Its bits are random, so that ties in the decoder
    /// favour neither right nor wrong.
    block: [u8; BLOCK_BITS],
    /// The sign of each coded bit: −1 for 0, 1 for 1.
    signs: [i8; CODED_BITS],
    /// The place of each coded bit: the burst within its block, the bit within the burst.
    places: Box<[(u8, u8)]>,
    /// The next block, where frames are met one after the other.
    next: u64,
}

impl GsmBlocks {
    /// The channel that `stream` describes.
    #[must_use]
    pub fn new(config: GsmConfig, stream: &mut Stream) -> Self {
        let signal = config.signal.strength().0 - NOISE_DBM;
        let block = core::array::from_fn(|_| (stream.bits() >> 63) as u8);
        let parts = config.fading.parts();
        let fading = parts.map(|(k, doppler)| Process::new(k, doppler, stream));
        let narrow = |(burst, bit): (usize, usize)| (burst as u8, bit as u8);
        Self {
            snr: libm::exp10(signal / 10.0),
            fading,
            stream: stream.clone(),
            bursts: Box::new([Burst::NONE; REMEMBERED]),
            decoder: BlockDecoder::default(),
            signs: encode_block(&block).map(|bit| 2 * bit as i8 - 1),
            block,
            places: (0..CODED_BITS).map(|bit| narrow(place(bit))).collect(),
            next: 0,
        }
    }

    /// The time at which burst `number` is sent, counted from the first: in each multiframe of 26
    /// frames, or 120 ms, two carry no traffic.
    fn time_of(number: u64) -> Instant {
        let frame = number % TRAFFIC_RUN;
        let nanos = number / TRAFFIC_RUN * RUN_NANOS + frame * RUN_NANOS / (TRAFFIC_RUN + 1);
        Instant::from_nanos(nanos)
    }

    /// The time from the first burst of a block to the end of its last, at the longest.
    ///
    /// A block is complete at the sender 20 ms after the one before it, so a bit of it takes this
    /// time through the interleaver.
    #[must_use]
    pub fn interleaving_delay() -> Duration {
        // Of 22 bursts in a row at most two runs are begun behind a burst of signalling.
        let frames = BLOCK_BURSTS as u64 + 2;
        Duration::from_nanos((frames * RUN_NANOS).div_ceil(TRAFFIC_RUN + 1))
    }

    /// Makes sure that the burst of this number is remembered; `true` if it has errors.
    fn remember(&mut self, number: u64) -> bool {
        let slot = number as usize % REMEMBERED;
        if self.bursts[slot].ordinal != number + 1 {
            self.bursts[slot] = self.receive(number);
        }
        self.bursts[slot].has_errors
    }

    fn receive(&self, number: u64) -> Burst {
        let power = self.fading.as_ref().map_or(1.0, |it| it.power(Self::time_of(number)));
        let rate = 0.5 * libm::erfc((GMSK * self.snr * power).sqrt());
        let rate = Probability::new(rate).unwrap_or(Probability::ZERO);
        // The logarithm of the likelihood ratio, and at least 1 so that no bit is an erasure.
        let ratio = ((1.0 - rate.get()) / rate.get()).ln();
        let weight = (8.0 * ratio).clamp(1.0, 127.0) as i8;
        let mut burst =
            Burst { ordinal: number + 1, has_errors: false, bits: [weight; BURST_BITS] };
        Gaps::new(rate).strike_at(&self.stream, number, BURST_BITS as u32, |bit| {
            burst.has_errors = true;
            burst.bits[bit as usize] = -weight;
        });
        burst
    }

    /// Calls `hit` with each inverted bit of block `number`, ascending.
    pub fn errors(&mut self, number: u64, mut hit: impl FnMut(u32)) {
        let first = BURSTS_PER_BLOCK as u64 * number;
        let mut has_errors = false;
        for burst in first..first + BLOCK_BURSTS as u64 {
            has_errors |= self.remember(burst);
        }
        if !has_errors {
            return;
        }
        let mut soft = [0; CODED_BITS];
        for ((soft, &(burst, bit)), sign) in soft.iter_mut().zip(&self.places).zip(&self.signs) {
            let slot = (first as usize + usize::from(burst)) % REMEMBERED;
            *soft = sign * self.bursts[slot].bits[usize::from(bit)];
        }
        let decoded = self.decoder.decode(&soft);
        for (position, (got, sent)) in decoded.iter().zip(&self.block).enumerate() {
            if got != sent {
                hit(position as u32);
            }
        }
    }

    /// Inverts bits of the next frame, which fills as many blocks as its exposed bits need.
    pub(super) fn apply(&mut self, target: &Target, damage: &mut FrameDamage) {
        let blocks = target.bits.div_ceil(BLOCK_BITS as u32);
        for block in 0..blocks {
            let start = block * BLOCK_BITS as u32;
            let left = target.bits - start;
            let number = self.next + u64::from(block);
            let positions = &mut damage.positions;
            self.errors(number, |bit| positions.extend((bit < left).then_some(start + bit)));
        }
        self.next += u64::from(blocks);
    }
}

#[cfg(test)]
mod tests;
