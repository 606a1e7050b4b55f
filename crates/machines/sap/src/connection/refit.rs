//! Re-encoding of queued messages after the path MTU has changed.

use super::Connection;
use super::outbox::Bodies;
use crate::encode::{Encoded, join};

impl Connection {
    /// Re-encodes the queued messages of which no part was sent, for the new path MTU.
    pub(super) fn refit(&mut self) {
        let waiting: Bodies = core::mem::take(&mut self.outbox.approximate).into();
        self.outbox.approximate = self.refit_all(&waiting).into();
        let new = core::mem::take(&mut self.outbox.new);
        let precise = &mut self.outbox.precise;
        let waiting: Bodies = new.into_iter().filter_map(|name| precise.remove(name)).collect();
        for encoded in self.refit_all(&waiting) {
            self.outbox.push_precise(encoded);
        }
    }

    /// Replaces the parts of each message by others that fit, if all of them are queued and none
    /// was ever sent.
    fn refit_all(&mut self, waiting: &[Encoded]) -> Bodies {
        let mut all = Vec::with_capacity(waiting.len());
        for parts in waiting.chunk_by(|a, b| a.of.is_with(&b.of)) {
            let Some(fitting) = self.refitted(parts) else {
                all.extend_from_slice(parts);
                continue;
            };
            self.outbox.bytes -= parts.iter().map(Encoded::len).sum::<usize>();
            self.outbox.bytes += fitting.iter().map(Encoded::len).sum::<usize>();
            if parts[0].again.is_some() {
                let fates = self.outbox.fates.entry(parts[0].of.stream).or_default();
                fates.open = fates.open + fitting.len() as u64 - parts.len() as u64;
            }
            all.extend(fitting);
        }
        all
    }

    /// Encodes the message of these parts for the present path MTU; `None` if they fit and fewer
    /// parts would not do.
    fn refitted(&self, parts: &[Encoded]) -> Option<Bodies> {
        let room = self.path.size() - self.datagram_overhead;
        let fits = parts.iter().all(|part| part.len() <= room);
        let was_sent = |part: &Encoded| part.again.is_some_and(|again| again.sent > 0);
        if fits && parts.len() < 2 || parts.iter().any(was_sent) {
            return None;
        }
        let bodies = self.encode(&join(parts)?, parts[0].of.number).ok()?;
        let again = parts[0].again;
        let fitting: Bodies = bodies.into_iter().map(|it| Encoded { again, ..it }).collect();
        (!fits || fitting.len() < parts.len()).then_some(fitting)
    }
}
