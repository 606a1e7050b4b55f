//! Whether the clock of a sender agrees with that of the receiver.

use windfall_base::Duration;

use crate::camera::error::CameraError;
use crate::camera::plan::CameraHeader;

/// The time by which a datagram may come before its picture: clocks that follow a time server
/// differ by less.
const AHEAD: Duration = Duration::from_millis(100);
/// The datagrams of one stream that show that its clock is wrong: fewer are a stranger's, or stale.
const ENOUGH: u32 = 10;

/// The datagrams of the latest stream whose clock is not that of the receiver.
#[derive(Clone, Debug)]
pub(super) struct ClockCheck {
    /// The longest time after its picture at which the first datagram of a stream may come.
    behind: Duration,
    refused: Option<(CameraHeader, u32, i128)>,
}

impl ClockCheck {
    pub(super) fn new(behind: Duration) -> Self {
        Self { behind, refused: None }
    }

    /// Tells whether the first datagram of a stream comes when it can come.
    ///
    /// # Errors
    /// If ten of that stream do not: its clock must be wrong.
    pub(super) fn agree(&mut self, now: u64, header: &CameraHeader) -> Result<bool, CameraError> {
        let due = header.began.saturating_add(header.plan.due(header.number).as_nanos());
        let late = i128::from(now) - i128::from(due);
        if (-i128::from(AHEAD.as_nanos())..=i128::from(self.behind.as_nanos())).contains(&late) {
            return Ok(true);
        }
        let before = self
            .refused
            .filter(|it| (it.0.plan, it.0.began) == (header.plan, header.began))
            .map_or(0, |it| it.1);
        self.refused = Some((*header, before + 1, late));
        match self.failure() {
            Some(error) if before + 1 >= ENOUGH.min(header.plan.stream.count) => Err(error),
            _ => Ok(false),
        }
    }

    /// Returns what was wrong with the clock of the latest stream that was refused.
    pub(super) fn failure(&self) -> Option<CameraError> {
        let (_, _, late) = self.refused?;
        let nanos = u64::try_from(late.unsigned_abs()).unwrap_or(u64::MAX);
        let rounded = match nanos / 1_000_000_000 {
            0..10 => Duration::from_millis(nanos / 1_000_000),
            _ => Duration::from_secs(nanos.saturating_add(500_000_000) / 1_000_000_000),
        };
        Some(if late < 0 { CameraError::Ahead(rounded) } else { CameraError::Behind(rounded) })
    }
}
