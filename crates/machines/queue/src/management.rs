//! The ways in which a queue keeps itself short, and their parameters.

use windfall_base::Duration;

/// A way in which a queue keeps itself short.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Management {
    /// A packet that finds no room is refused.
    #[default]
    DropTail,
    /// The packet at the head is dropped for the arriving one.
    DropHead,
    /// Controlled delay (RFC 8289).
    Codel(CodelConfig),
    /// Proportional integral controller enhanced (RFC 8033).
    Pie(PieConfig),
    /// A queue with controlled delay for each transport flow, served in turn (RFC 8290).
    FqCodel(FairConfig),
}

impl Management {
    /// Every management, each with its usual parameters.
    pub const ALL: [Self; 5] = [
        Self::DropTail,
        Self::DropHead,
        Self::Codel(CodelConfig::USUAL),
        Self::Pie(PieConfig::USUAL),
        Self::FqCodel(FairConfig::USUAL),
    ];

    /// Returns the name in options and files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::DropTail => "droptail",
            Self::DropHead => "drophead",
            Self::Codel(_) => "codel",
            Self::Pie(_) => "pie",
            Self::FqCodel(_) => "fq-codel",
        }
    }

    /// Returns the target of the queueing delay, if the algorithm has one.
    #[must_use]
    pub const fn target(self) -> Option<Duration> {
        match self {
            Self::DropTail | Self::DropHead => None,
            Self::Codel(it) | Self::FqCodel(FairConfig { codel: it, .. }) => Some(it.target),
            Self::Pie(it) => Some(it.target),
        }
    }
}

/// The parameters of controlled delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodelConfig {
    /// The delay in the queue that is acceptable for any time (RFC 8289, section 4.4).
    pub target: Duration,
    /// The time for which a longer delay is acceptable (RFC 8289, section 4.3).
    pub interval: Duration,
    /// Packets whose senders understand it are marked instead of dropped.
    pub ecn: bool,
}

impl CodelConfig {
    /// 5 ms and 100 ms, with marks.
    pub const USUAL: Self =
        Self { target: Duration::from_millis(5), interval: Duration::from_millis(100), ecn: true };
}

/// The parameters of the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PieConfig {
    /// The delay that is aimed at (`QDELAY_REF`).
    pub target: Duration,
    /// The time between two updates of the probability (`T_UPDATE`).
    pub update: Duration,
    /// The time for which a burst is allowed after a time without congestion (`MAX_BURST`).
    pub burst: Duration,
    /// Packets whose senders understand it are marked instead of dropped, up to a probability of
    /// 10 %.
    pub ecn: bool,
}

impl PieConfig {
    /// 15 ms, updated each 15 ms, with bursts of 150 ms (RFC 8033, section 5.1) and marks.
    pub const USUAL: Self = Self {
        target: Duration::from_millis(15),
        update: Duration::from_millis(15),
        burst: Duration::from_millis(150),
        ecn: true,
    };
}

/// The parameters of fair queueing with controlled delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FairConfig {
    /// The control of each flow's delay.
    pub codel: CodelConfig,
    /// The number of queues that flows are spread over.
    pub flows: u16,
    /// Bytes that a flow may send before it is the next one's turn.
    pub quantum: u16,
}

impl FairConfig {
    /// 1024 queues and a quantum of 1514 bytes (RFC 8290, sections 5.2.3 and 5.2.4).
    pub const USUAL: Self = Self { codel: CodelConfig::USUAL, flows: 1_024, quantum: 1_514 };
}
