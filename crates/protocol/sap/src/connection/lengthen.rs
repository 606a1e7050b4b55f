//! What waits in parts, encoded anew for a path that carries longer datagrams.

use super::Connection;
use super::outbox::Bodies;
use crate::encode::{Encoded, join};

impl Connection {
    /// Encodes the messages anew that wait in parts and of which none was sent, since longer
    /// datagrams pass now.
    pub(super) fn lengthen(&mut self) {
        let waiting: Bodies = core::mem::take(&mut self.outbox.approximate).into();
        self.outbox.approximate = self.join_parts(&waiting).into();
        let new = core::mem::take(&mut self.outbox.new);
        let precise = &mut self.outbox.precise;
        let waiting: Bodies = new.into_iter().filter_map(|name| precise.remove(name)).collect();
        for encoded in self.join_parts(&waiting) {
            self.outbox.push_precise(encoded);
        }
    }

    /// Replaces the parts of each message by fewer and longer ones, if they are all here and were
    /// never sent.
    fn join_parts(&mut self, waiting: &[Encoded]) -> Bodies {
        let mut fewer = Vec::with_capacity(waiting.len());
        for parts in waiting.chunk_by(|a, b| a.of.is_with(&b.of)) {
            let Some(longer) = self.longer(parts) else {
                fewer.extend_from_slice(parts);
                continue;
            };
            self.outbox.bytes -= parts.iter().map(Encoded::len).sum::<usize>();
            self.outbox.bytes += longer.iter().map(Encoded::len).sum::<usize>();
            if parts[0].again.is_some() {
                let fates = self.outbox.fates.entry(parts[0].of.stream).or_default();
                fates.open -= (parts.len() - longer.len()) as u64;
            }
            fewer.extend(longer);
        }
        fewer
    }

    /// Encodes the message of these parts for the path of now; `None` if that does not take fewer.
    fn longer(&self, parts: &[Encoded]) -> Option<Bodies> {
        let was_sent = |part: &Encoded| part.again.is_some_and(|again| again.sent > 0);
        if parts.len() < 2 || parts.iter().any(was_sent) {
            return None;
        }
        let bodies = self.encode(&join(parts)?, parts[0].of.number).ok()?;
        let again = parts[0].again;
        let longer: Bodies = bodies.into_iter().map(|it| Encoded { again, ..it }).collect();
        (longer.len() < parts.len()).then_some(longer)
    }
}
