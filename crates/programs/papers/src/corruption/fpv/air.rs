//! The air of a drone's one-way link: frames lost, damaged in bursts, or damaged all over.

use windfall_base::{Duration, Stream};

/// Bytes of video in a packet.
pub(super) const BYTES: usize = 1_024;
/// Bytes of a frame before its packet: headers of 802.11 and of the stream.
pub(super) const HEADER: usize = 32;
/// The time from one packet to the next: 4 Mb/s of video.
pub(super) const INTERVAL: Duration = Duration::from_millis(2);
/// The time that a frame takes.
pub(super) const AIR_TIME: Duration = Duration::from_micros(250);
/// The frames lost, for each damaged one.
pub(super) const LOST: f64 = 0.2;
/// The longest burst, as a share of the frame; a third of a damaged frame is hit on average.
const LONGEST: f64 = 2.0 / 3.0;
/// The probability that a byte in a burst is wrong.
const IN_BURST: f64 = 0.5;
/// The probability that a byte of a frame that is damaged all over is wrong: of 32 bytes as many
/// survive as in bursts.
pub(super) const ALL_OVER: f64 = 0.0126;

/// The places of wrong bytes in damaged frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spread {
    Bursts,
    AllOver,
}

impl Spread {
    pub(super) const ALL: [Self; 2] = [Self::Bursts, Self::AllOver];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Bursts => "bursts",
            Self::AllOver => "all over",
        }
    }
}

/// The fate of each frame, by its number.
#[derive(Debug)]
pub(super) struct Air {
    pub(super) spread: Spread,
    /// The share of damaged frames.
    pub(super) damaged: f64,
    pub(super) stream: Stream,
}

impl Air {
    /// Returns what the air adds to the bytes of a frame, nothing if they are whole; `None` if it
    /// is lost.
    pub(super) fn frame(&self, number: usize, len: usize) -> Option<Vec<u8>> {
        let mut draw = self.stream.at(number as u64);
        let fate = draw.unit();
        if fate < LOST * self.damaged {
            return None;
        }
        let mut added = Vec::new();
        if fate >= (1.0 + LOST) * self.damaged {
            return Some(added);
        }
        added.resize(len, 0);
        let wrong = |draw: &mut Stream| 1 + draw.below(255) as u8;
        match self.spread {
            Spread::Bursts => {
                let start = draw.below(len as u64) as usize;
                let burst = 1 + draw.below((LONGEST * len as f64) as u64) as usize;
                for place in start..start + burst {
                    if draw.unit() < IN_BURST {
                        added[place % len] = wrong(&mut draw);
                    }
                }
            }
            Spread::AllOver => {
                for byte in &mut added {
                    if draw.unit() < ALL_OVER {
                        *byte = wrong(&mut draw);
                    }
                }
            }
        }
        Some(added)
    }
}

/// Tells whether any byte was changed.
pub(super) fn is_wrong(added: &[u8]) -> bool {
    added.iter().any(|byte| *byte != 0)
}
