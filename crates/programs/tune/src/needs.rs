//! What an application sends, and what it bears.

use serde::Serialize;
use windfall_base::{Duration, Rate};

//= S1.67
/// The traffic of an application, and the losses, delays and damage that it bears.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrafficNeeds {
    /// The rate of its data, without headers.
    pub rate: Rate,
    /// Bytes of data in a datagram; several sizes are tried if unset.
    pub size: Option<u32>,
    /// The age at which a datagram is of no use any more; none for data that never age.
    pub deadline: Option<Duration>,
    /// The share of datagrams that may be lost or late.
    pub loss: f64,
    /// The share of datagrams that may arrive damaged.
    pub damage: f64,
    /// Bytes at the front of each datagram that must be right, such as a header of RTP.
    pub exact: u32,
}

//= S1.52
/// A class of applications of the table in section 5.3 of paper 001.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApplicationClass {
    /// Intolerant, in batches: mail, files.
    Batch,
    /// Intolerant and interactive: a shell, the web.
    Interactive,
    /// Tolerant, in hard real time: a shared whiteboard.
    HardRealTime,
    /// Tolerant and adaptive, in real time: video and audio.
    Adaptive,
}

impl ApplicationClass {
    /// All of them, as the paper lists them.
    pub const ALL: [Self; 4] = [Self::Batch, Self::Interactive, Self::HardRealTime, Self::Adaptive];

    /// The name in options and outputs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Batch => "batch",
            Self::Interactive => "interactive",
            Self::HardRealTime => "hard-real-time",
            Self::Adaptive => "adaptive",
        }
    }

    /// Needs that stand for the class over a line of 9.6 kb/s. The paper gives no numbers: these
    /// are ours.
    #[must_use]
    pub fn needs(self) -> TrafficNeeds {
        let rate = |bps| Rate::from_bps(bps).expect("not zero");
        let intolerant = TrafficNeeds {
            rate: rate(4_800),
            size: None,
            deadline: None,
            loss: 0.0,
            damage: 0.0,
            exact: 0,
        };
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        match self {
            Self::Batch => intolerant,
            Self::Interactive => {
                TrafficNeeds { rate: rate(1_600), deadline: seconds(5), ..intolerant }
            }
            Self::HardRealTime => {
                let loss = 0.01;
                TrafficNeeds { rate: rate(2_400), deadline: seconds(2), loss, ..intolerant }
            }
            Self::Adaptive => TrafficNeeds {
                rate: rate(4_200),
                size: None,
                deadline: seconds(1),
                loss: 0.05,
                damage: 0.1,
                exact: 16,
            },
        }
    }
}
