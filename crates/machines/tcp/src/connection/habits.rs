//! The state that an operating system's habits of writing and sending need.

use std::collections::VecDeque;

use windfall_base::{Duration, Instant};

use super::Connection;

/// The memory of a sender that does as a system does.
#[derive(Debug, Default)]
pub(super) struct Habits {
    /// The positions that end a segment with PSH, in the order of the stream.
    pushes: VecDeque<u64>,
    /// The ends of records, over which no segment reaches.
    records: VecDeque<u64>,
    /// Segments that have left together so far.
    run: u16,
    /// The most bytes in flight lately, whether they filled the window, and SND.NXT at that time.
    most: u64,
    filled: bool,
    until: u64,
    /// Short segments wait for more data.
    cork: Cork,
    /// FIN has left in a segment of its own.
    fin_alone: bool,
    /// When data arrived last, and whether data have answered data since.
    data_at: Option<Instant>,
    dialogue: bool,
}

/// The time within which data answer data.
const ANSWER: Duration = Duration::from_millis(40);

/// The reason for which short segments wait for more data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cork {
    /// They do not.
    #[default]
    Off,
    /// Until the next write or acknowledgment, since more was announced.
    More,
    /// Until it is taken off.
    On,
}

fn note(marks: &mut VecDeque<u64>, position: u64) {
    if let Err(at) = marks.binary_search(&position) {
        marks.insert(at, position);
    }
}

fn forget(marks: &mut VecDeque<u64>, below: u64) {
    let passed = marks.partition_point(|mark| *mark <= below);
    marks.drain(..passed);
}

impl Connection {
    /// Notes that a write ends at the end of the buffer.
    pub(super) fn note_write(&mut self) {
        let end = self.sender.data_end();
        if self.config.manner.pushes_writes && self.cork_now() != Cork::More {
            note(&mut self.sender.habits.get_or_insert_default().pushes, end);
        }
    }

    /// Lets no segment cross the end of the data written so far.
    pub(crate) fn end_record(&mut self) {
        let end = self.sender.data_end();
        note(&mut self.sender.habits.get_or_insert_default().records, end);
    }

    /// Holds short segments back until more is written or this ends.
    pub(crate) fn cork(&mut self, cork: Cork) {
        self.sender.habits.get_or_insert_default().cork = cork;
    }

    /// Returns whether short segments wait for more data.
    #[must_use]
    pub fn cork_now(&self) -> Cork {
        self.sender.habits.as_ref().map_or(Cork::Off, |habits| habits.cork)
    }

    pub(super) fn is_corked(&self) -> bool {
        self.cork_now() != Cork::Off
    }

    /// Notes that data arrive; returns whether they are to be acknowledged at once.
    pub(super) fn is_quick(&mut self, now: Instant) -> bool {
        if !self.config.manner.quick_until_dialogue {
            return false;
        }
        let habits = self.sender.habits.get_or_insert_default();
        habits.data_at = Some(now);
        !habits.dialogue
    }

    /// Notes that data leave at `now`, perhaps as an answer.
    pub(super) fn note_answer(&mut self, now: Instant) {
        if let Some(habits) = &mut self.sender.habits
            && habits.data_at.is_some_and(|at| now.saturating_since(at) < ANSWER)
        {
            habits.dialogue = true;
        }
    }

    /// Notes that the SYN-ACK has arrived: the next data segment acknowledges it.
    pub(super) fn note_opened(&mut self) {
        if self.config.manner.quick_until_dialogue && self.sender.max < self.sender.data_end() {
            self.sender.habits.get_or_insert_default().dialogue = true;
        }
    }

    /// Notes that FIN leaves in a segment of its own.
    pub(super) fn note_fin_alone(&mut self) {
        if self.config.manner.pushes_writes {
            self.sender.habits.get_or_insert_default().fin_alone = true;
        }
    }

    /// Returns where the last segment that was sent began, if that is FIN alone.
    pub(super) fn start_of_fin(&self) -> u64 {
        let alone = self.sender.habits.as_ref().is_some_and(|habits| habits.fin_alone);
        if alone && self.sender.max > self.sender.data_end() { self.sender.data_end() } else { 0 }
    }

    /// Sets PSH on the segment that ends at `end`.
    pub(super) fn note_push(&mut self, end: u64) {
        if self.config.manner.pushes_writes {
            note(&mut self.sender.habits.get_or_insert_default().pushes, end);
        }
    }

    /// Returns the end of the record that `position` lies in.
    pub(super) fn record_end(&self, position: u64) -> Option<u64> {
        let records = &self.sender.habits.as_ref()?.records;
        records.get(records.partition_point(|end| *end <= position)).copied()
    }

    /// Returns whether a record ends at `position`.
    pub(super) fn ends_record(&self, position: u64) -> bool {
        let habits = self.sender.habits.as_ref();
        habits.is_some_and(|habits| habits.records.binary_search(&position).is_ok())
    }

    /// Returns whether the segment that ends at `end` carries PSH; `follows` is whether another
    /// leaves at once after it.
    pub(super) fn is_pushed(&mut self, end: u64, follows: bool) -> bool {
        let una = self.sender.una;
        let most = self.most_together();
        let habits = self.sender.habits.get_or_insert_default();
        forget(&mut habits.pushes, una);
        let together = habits.run > 0;
        let follows = follows && u64::from(habits.run) + 1 < most;
        habits.run = if follows { habits.run.saturating_add(1) } else { 0 };
        (together && !follows) || habits.pushes.binary_search(&end).is_ok()
    }

    /// Returns the segments that leave together at most: those of half the window, and of about a
    /// millisecond at the pace of the connection.
    fn most_together(&self) -> u64 {
        let mss = self.sender.mss.max(1);
        let window = self.congestion.window();
        let half = (window / mss / 2).max(1).min((self.sender.max_snd_wnd / 2 / mss).max(1));
        let Some(smoothed) = self.rtt.smoothed() else { return half };
        let factor = if window < self.congestion.threshold() / 2 { 200 } else { 120 };
        let pace =
            u128::from(window) * factor / 100 * 1_000_000 / u128::from(smoothed.as_micros().max(1));
        let near = self.rtt.least().map_or(0, |least| least.as_micros() >> 9);
        let bytes = pace as u64 / 1024 + (65_536_u64 >> near.min(17));
        (bytes / mss).max(u64::from(self.config.manner.least_together)).min(half)
    }

    /// Notes how much is in flight, by which the window may grow.
    pub(super) fn note_flight(&mut self) {
        if !self.config.manner.grows_by_most {
            return;
        }
        let flow = self.flow();
        let out = flow.max - flow.una;
        let filled = out + flow.mss > self.congestion.window();
        let habits = self.sender.habits.get_or_insert_default();
        if flow.una >= habits.until || filled || (!habits.filled && out > habits.most) {
            (habits.most, habits.filled, habits.until) = (out, filled, flow.max);
        }
    }

    /// Returns whether the window may grow, judged by the recent maximum in flight.
    pub(super) fn is_limited_lately(&self) -> bool {
        let Some(habits) = self.sender.habits.as_ref() else { return false };
        let window = self.congestion.window();
        if window < self.congestion.threshold() {
            return window < 2 * habits.most;
        }
        habits.filled
    }

    /// Drops the positions below SND.UNA.
    pub(super) fn forget_habits(&mut self) {
        let una = self.sender.una;
        if let Some(habits) = &mut self.sender.habits {
            forget(&mut habits.pushes, una);
            forget(&mut habits.records, una);
            if habits.cork == Cork::More {
                habits.cork = Cork::Off;
            }
        }
    }
}
