//! The delays that the machine added to a run in real time.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

/// Delays of packets behind their due time, for want of processor time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LatenessSummary {
    /// Packets that were delivered.
    pub delivered: u64,
    /// Packets that were delivered late.
    pub late_deliveries: u64,
    /// The delay from which on a packet counts as late, in seconds.
    pub threshold_seconds: f64,
    /// Packets that were read from the stations' devices.
    pub reads: u64,
    /// Packets that may have waited on a device for longer than the threshold.
    pub late_reads: u64,
    /// The worst delay of both, in seconds.
    pub worst_seconds: f64,
    /// True if the run stood still at any time with something to do; then the delays that programs
    /// saw are not the link's alone.
    pub disturbed: bool,
    /// Number of times that it stood still.
    pub pauses: u64,
    /// The sum of these pauses, in seconds.
    pub paused_seconds: f64,
    /// The longest of them, in seconds.
    pub longest_pause_seconds: f64,
}

impl LatenessSummary {
    /// Writes the lines of the text.
    pub(super) fn lines(&self, out: &mut String) {
        let Self { delivered, late_deliveries, reads, late_reads, .. } = self;
        // Writing to a string cannot fail.
        let _ = write!(out, "late by more than {} ms: ", self.threshold_seconds * 1e3);
        let _ = write!(out, "{late_deliveries} of {delivered} deliveries");
        if *late_reads > 0 {
            let _ = write!(out, ", {late_reads} of {reads} reads from devices");
        }
        let _ = writeln!(out, "; worst {:.3} ms", self.worst_seconds * 1e3);
        if let Some(line) = self.disturbance() {
            let _ = writeln!(out, "{line}");
        }
    }

    /// Returns the line that marks a disturbed run, without its end.
    #[must_use]
    pub fn disturbance(&self) -> Option<String> {
        let Self { pauses, paused_seconds, longest_pause_seconds, .. } = self;
        if !self.disturbed {
            return None;
        }
        let times = match pauses {
            1 => "once".to_owned(),
            pauses => format!("{pauses} times"),
        };
        Some(format!(
            "disturbed: the run stood still {times}, {paused_seconds:.3} s in all, \
             {longest_pause_seconds:.3} s at worst; delays are not the link's alone"
        ))
    }
}
