//! Eckhardt and Steenkiste, *An Internet-style Approach to Wireless Link Errors*, sections 3 to 8.

mod budget;
pub(crate) mod cell;
pub(crate) mod cell_live;
mod coded;
pub(crate) mod fig1;
pub(crate) mod fig11;
pub(crate) mod fig12;
pub(crate) mod fig2;
pub(crate) mod fig3;
pub(crate) mod fig4;
pub(crate) mod fig5;
pub(crate) mod fig6;
pub(crate) mod fig7;
pub(crate) mod fig8;
pub(crate) mod fig9;
pub(crate) mod formulas;
pub(crate) mod hops;
mod mix;
mod paired;
pub(crate) mod residual;
mod senders;
pub(crate) mod shares;
mod slots;
mod spray;
pub(crate) mod steps;
pub(crate) mod table1;

use windfall_base::Seed;

use crate::error::ExperimentError;
use crate::figure::{Context, Extent};
use crate::transfer::{self, Transfer, Transferred};

/// TCP over the radio of the paper, without local retransmission.
const WITHOUT: &str =
    include_str!("../../../../scenarios/paper-003/tcp-without-retransmission.toml");
/// TCP over the radio of the paper, with persistent local retransmission.
const WITH: &str = include_str!("../../../../scenarios/paper-003/tcp-with-retransmission.toml");

/// The socket buffers of NetBSD 1.2, in bytes.
const BUFFER: Option<usize> = Some(16 * 1024);

/// What the air loses: of every so many frames the last so many, in one burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Burst {
    lost: u32,
    of: u32,
}

impl Burst {
    /// The share of frames that are lost.
    fn loss(self) -> f64 {
        f64::from(self.lost) / f64::from(self.of)
    }

    /// What a scenario says of a direction with these losses.
    fn toml(self) -> String {
        let Self { lost, of } = self;
        // The first frames pass, so that no connection begins with the loss of its SYN.
        let first = if lost > 0 { of - lost } else { 0 };
        format!("burst = \"{lost}/{of}+{first}\"")
    }
}

/// How often each point of Figures 1 and 3 is measured, and with how many bytes.
struct Runs {
    each: u64,
    bytes: u64,
}

impl Runs {
    /// As the paper does it, five times 1 MB; less if in a hurry (S3.5).
    //= S3.5
    fn of(extent: Extent) -> Self {
        match extent {
            Extent::Quick => Self { each: 2, bytes: 150_000 },
            Extent::Paper => Self { each: 5, bytes: 1_000_000 },
            Extent::Full => Self { each: 15, bytes: 1_000_000 },
        }
    }

    /// Simulated transfers cost little: more of them, since when a transfer begins matters.
    const fn simulated(extent: Extent) -> Self {
        let each = match extent {
            Extent::Quick => 5,
            Extent::Paper => 25,
            Extent::Full => 100,
        };
        Self { each, bytes: 1_000_000 }
    }

    /// In words: `5 runs of 1 MB a point`.
    fn text(&self) -> String {
        let Self { each, bytes } = self;
        let size = match bytes % 1_000_000 {
            0 => format!("{} MB", bytes / 1_000_000),
            _ => format!("{} kB", bytes / 1_000),
        };
        format!("{each} runs of {size} a point")
    }
}

/// Makes `runs` transfers for each of `bursts`; the results are in the order of the bursts.
fn sweep(
    context: &Context<'_>,
    figure: &'static str,
    scenario: &'static str,
    bursts: &[Burst],
    runs: &Runs,
) -> Result<Vec<Vec<Transferred>>, ExperimentError> {
    let transfers: Vec<_> = bursts
        .iter()
        .flat_map(|burst| (0..runs.each).map(move |run| (burst, run)))
        .map(|(burst, run)| Transfer {
            figure,
            scenario,
            uplink: burst.toml(),
            bytes: runs.bytes,
            buffer: BUFFER,
            seed: Seed(context.seed.0.wrapping_add(run)),
            capture: false,
        })
        .collect();
    let done = transfer::all(context, &transfers)?;
    Ok(done.chunks(runs.each as usize).map(<[Transferred]>::to_vec).collect())
}

/// One transfer with a capture at the sender.
fn captured(
    context: &Context<'_>,
    figure: &'static str,
    scenario: &'static str,
    burst: Burst,
    bytes: u64,
) -> Result<Transferred, ExperimentError> {
    let uplink = burst.toml();
    let seed = context.seed;
    let buffer = BUFFER;
    let transfer = Transfer { figure, scenario, uplink, bytes, buffer, seed, capture: true };
    let mut done = transfer::all(context, &[transfer])?;
    done.pop()
        .ok_or_else(|| ExperimentError::Scenario { figure, message: "nothing was run".to_owned() })
}

/// How the kernel's transfers are made, for the text below a figure.
fn method_of_kernel() -> String {
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!(
        "The kernel's TCP (Linux {}) runs in real time: Reno, no selective \
         acknowledgements, socket buffers of 16 kB.",
        kernel.trim()
    )
}

#[cfg(test)]
mod tests;
