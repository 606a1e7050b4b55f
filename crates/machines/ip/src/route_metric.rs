//! Metrics of the routes of a Linux kernel.

use core::fmt;

use windfall_base::Duration;

/// A metric of a route, which holds for the kernel's connections over this route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RouteMetric {
    /// Greatest segment of IPv4 that is announced, in bytes of data and options.
    AdvMss(u32),
    /// Acknowledge every segment at once.
    QuickAck(bool),
    /// Greatest window that is announced, in bytes.
    Window(u32),
    /// Congestion window of a new connection, in segments.
    InitCwnd(u32),
    /// Least retransmission timeout, a whole number of milliseconds.
    RtoMin(Duration),
    /// The congestion control, as the kernel calls it.
    Congestion(&'static str),
}

impl fmt::Display for RouteMetric {
    /// As `ip route` takes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AdvMss(bytes) => write!(f, "advmss {bytes}"),
            Self::QuickAck(on) => write!(f, "quickack {}", u8::from(*on)),
            Self::Window(bytes) => write!(f, "window {bytes}"),
            Self::InitCwnd(segments) => write!(f, "initcwnd {segments}"),
            Self::RtoMin(time) => write!(f, "rto_min {}ms", time.as_millis()),
            Self::Congestion(name) => write!(f, "congctl {name}"),
        }
    }
}
