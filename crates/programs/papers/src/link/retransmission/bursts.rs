//! The losses of Figures 1 to 7, and the number of transfers over them.

use windfall_base::{Seed, Stream};

use crate::experiment::{Context, Extent};

/// TCP over the radio of the paper, without local retransmission.
pub(super) const WITHOUT: &str =
    include_str!("../../../../../../scenarios/paper-003/tcp-without-retransmission.toml");
/// TCP over the radio of the paper, with persistent local retransmission.
pub(super) const WITH: &str =
    include_str!("../../../../../../scenarios/paper-003/tcp-with-retransmission.toml");

/// The socket buffers of NetBSD 1.2, in bytes.
pub(super) const BUFFER: Option<usize> = Some(16 * 1024);

/// The losses of the air: of every `of` frames the last `lost`, in one burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Burst {
    pub(super) lost: u32,
    pub(super) of: u32,
}

impl Burst {
    /// The share of frames that are lost.
    pub(super) fn loss(self) -> f64 {
        f64::from(self.lost) / f64::from(self.of)
    }

    /// Returns the key of a direction with these losses, for a scenario.
    pub(super) fn toml(self) -> String {
        let Self { lost, of } = self;
        // The first frames pass, so that no connection begins with the loss of its SYN.
        let first = if lost > 0 { of - lost } else { 0 };
        format!("burst = \"{lost}/{of}+{first}\"")
    }

    /// As [`toml`](Self::toml), with the first burst anywhere behind the first packet.
    pub(super) fn at_random(self, seed: Seed) -> String {
        let Self { lost, of } = self;
        if lost == 0 {
            return self.toml();
        }
        let first = 1 + Stream::new(seed, "first burst").below(u64::from(of - lost));
        format!("burst = \"{lost}/{of}+{first}\"")
    }
}

/// The number of transfers at each point of Figures 1 and 3, and the bytes of each.
pub(super) struct Runs {
    pub(super) each: u64,
    pub(super) bytes: u64,
}

impl Runs {
    //= S3.5
    /// As the paper does it, five times 1 MB; less if in a hurry (S3.5).
    pub(super) fn of(extent: Extent) -> Self {
        match extent {
            Extent::Quick => Self { each: 2, bytes: 150_000 },
            Extent::Paper => Self { each: 5, bytes: 1_000_000 },
            Extent::Full => Self { each: 15, bytes: 1_000_000 },
        }
    }

    /// Simulated transfers cost little: more of them, since when a transfer begins matters.
    pub(super) const fn simulated(context: &Context<'_>) -> Self {
        let each = match context.extent {
            // Most of these do not end.
            _ if context.is_mutated => 3,
            Extent::Quick => 3,
            Extent::Paper => 50,
            Extent::Full => 100,
        };
        Self { each, bytes: 1_000_000 }
    }

    /// In words: `5 runs of 1 MB a point`.
    pub(super) fn text(&self) -> String {
        let Self { each, bytes } = self;
        let size = match bytes % 1_000_000 {
            0 => format!("{} MB", bytes / 1_000_000),
            _ => format!("{} kB", bytes / 1_000),
        };
        format!("{each} runs of {size} a point")
    }
}
