//! The receiver of an exchange: keeps the good blocks of a packet until it is complete.

use arrayvec::ArrayVec;
use windfall_base::seq::Seq16;
use windfall_base::{DropReason, Frame};
use windfall_wire_link::coded::{Head, Progress, Report};

use super::begun::{Begun, Fates};
use crate::arrival::Arrival;
use crate::output::Output;

#[derive(Debug)]
pub(super) struct Receiver {
    accept_damaged: bool,
    combine: bool,
    begun: Option<(Seq16, Begun)>,
    /// The number of the last packet that was passed up.
    received: Option<Seq16>,
}

impl Receiver {
    pub(super) fn new(accept_damaged: bool, combine: bool) -> Self {
        Self { accept_damaged, combine, begun: None, received: None }
    }

    pub(super) fn is_busy(&self) -> bool {
        self.begun.is_some()
    }

    /// Takes the blocks of a frame with this header; the caller returns the report at once.
    pub(super) fn take(
        &mut self,
        seq: Seq16,
        head: &Head,
        unit: &Frame,
        out: &mut Output<'_>,
    ) -> (Arrival, Option<Report>) {
        if self.received == Some(seq) {
            out.discard(unit, DropReason::Duplicate);
            let report = report(Progress::Complete, seq, ArrayVec::new());
            return (Arrival::Packet, Some(report));
        }
        let arrival = match &self.begun {
            Some((begun, packet)) if *begun == seq && packet.fits(head) => Arrival::More,
            Some((begun, _)) if *begun == seq => {
                out.discard(unit, DropReason::Malformed);
                return (Arrival::Packet, None);
            }
            _ => {
                self.abandon(out);
                Arrival::Packet
            }
        };
        let new = || (seq, Begun::new(head, unit, self.combine));
        let (_, begun) = self.begun.get_or_insert_with(new);
        let accepts = head.wish.accept_damaged.unwrap_or(self.accept_damaged);
        let fates = begun.take(head, unit, head.wish.last && accepts);
        if !begun.is_whole() {
            return (arrival, Some(report(Progress::Partial, seq, fates)));
        }
        if !begun.is_consistent() {
            begun.restart();
            return (arrival, Some(report(Progress::Again, seq, fates)));
        }
        if let Some((_, begun)) = self.begun.take() {
            self.received = Some(seq);
            begun.report(out);
            out.finish(begun.into_frame(), accepts);
        }
        (arrival, Some(report(Progress::Complete, seq, fates)))
    }

    /// Drops an incomplete packet that its sender has dropped.
    fn abandon(&mut self, out: &mut Output<'_>) {
        if let Some((_, begun)) = self.begun.take() {
            let mut frame = begun.into_frame();
            // The sender reports the drop of the packet; this reports only its received parts.
            frame.kept = true;
            out.discard(&frame, DropReason::Uncorrectable);
        }
    }
}

fn report(progress: Progress, seq: Seq16, fates: Fates) -> Report {
    Report { progress, seq, fates }
}
