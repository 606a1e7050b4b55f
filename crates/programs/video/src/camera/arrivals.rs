//! The datagrams that arrived, compared with those that were sent.

use core::cmp::Reverse;
use std::collections::BTreeMap;

use windfall_base::Duration;

use crate::camera::error::CameraError;
use crate::camera::plan::{CameraHeader, CameraPlan};

mod clocks;

use clocks::ClockCheck;

/// The most streams of which arrivals are kept; the one with the least gives way to another.
const MOST_STREAMS: usize = 8;
/// The time for which a stream that has not ended may bring nothing.
const LONGEST_SILENCE: Duration = Duration::from_secs(60);

/// A datagram as it arrived.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    /// The delay of its first copy, in nanoseconds from the instant of its picture.
    delay: u64,
    /// The most bytes that a copy had right within the deadline.
    usable: u32,
    /// Bytes that the best copy had right, whenever it came.
    right: u32,
}

/// The datagrams of one stream, the best copy of each.
#[derive(Clone, Debug)]
struct Stream {
    plan: CameraPlan,
    began: u64,
    arrived: BTreeMap<u32, Arrival>,
    /// Those of which a copy is whole.
    whole: u32,
    copies: u64,
    /// When the latest datagram came that was no copy.
    latest: u64,
}

impl Stream {
    fn of(header: &CameraHeader) -> Self {
        let plan = header.plan;
        let began = header.began;
        Self { plan, began, arrived: BTreeMap::new(), whole: 0, copies: 0, latest: 0 }
    }

    fn end(&self) -> u64 {
        self.began.saturating_add(self.plan.length().as_nanos())
    }

    /// All that came of it, copies too.
    fn datagrams(&self) -> u64 {
        self.arrived.len() as u64 + self.copies
    }
}

/// The streams of which something came. That of which the most came counts: a stranger's datagram
/// that comes first must not decide for which stream a receiver waits, and how long.
#[derive(Clone, Debug)]
pub struct CameraArrivals {
    deadline: Duration,
    wait: Duration,
    streams: Vec<Stream>,
    clocks: ClockCheck,
    foreign: u64,
}

/// Why a receiver ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CameraEnd {
    /// Every datagram has arrived right.
    Complete,
    /// Nothing more came.
    Silence,
    /// The sender closed the connection.
    Closed,
    /// It was told to end by a signal.
    Signal,
}

impl CameraEnd {
    fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Silence => "silence",
            Self::Closed => "closed",
            Self::Signal => "signal",
        }
    }
}

/// The outcome of a stream at its receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CameraReport {
    /// The datagrams that were sent.
    pub sent: u64,
    /// Datagrams that arrived, each counted once.
    pub arrived: u64,
    /// Those whose best copy is damaged.
    pub damaged: u64,
    /// Those whose first copy came after the deadline.
    pub late: u64,
    /// Further copies, such as the whole one after a damaged one.
    pub copies: u64,
    /// Datagrams that are of no stream like this, or whose header is damaged.
    pub foreign: u64,
    /// The bytes of data that were sent.
    pub bytes: u64,
    /// The bytes that arrived right within the deadline.
    pub usable_bytes: u64,
    /// The bytes that arrived within the deadline and were wrong.
    pub wrong_bytes: u64,
    /// Pictures that were sent, and those of which every byte arrived right within the deadline.
    pub pictures: u64,
    /// Pictures of which every byte arrived right within the deadline.
    pub whole_pictures: u64,
    /// Seconds from the instant of a picture to the arrival of its datagrams: the median, and what
    /// 95 and 99 % of those that arrived were not later than.
    pub delay: [f64; 3],
    /// Why the receiver ended.
    pub ended: CameraEnd,
}

impl CameraArrivals {
    /// No arrivals yet. Datagrams are of no use after `deadline`, and a stream is over when `wait`
    /// has passed since its end and since the latest of its datagrams.
    #[must_use]
    pub fn new(deadline: Duration, wait: Duration) -> Self {
        let clocks = ClockCheck::new(LONGEST_SILENCE.saturating_add(wait));
        Self { deadline, wait, streams: Vec::new(), clocks, foreign: 0 }
    }

    /// Returns the stream of which the most came; of several with as much, the first to end.
    fn stream(&self) -> Option<&Stream> {
        self.streams.iter().max_by_key(|it| (it.arrived.len(), Reverse(it.end())))
    }

    /// Returns the number of datagrams of the stream, once something of it has come.
    #[must_use]
    pub fn announced(&self) -> Option<u32> {
        Some(self.stream()?.plan.stream.count)
    }

    /// Tells why nothing more is to be waited for at `now`, if so.
    #[must_use]
    pub fn ended(&self, now: u64) -> Option<CameraEnd> {
        let stream = self.stream()?;
        let end = stream.end();
        let (since, wait) = if now >= end {
            (stream.latest.max(end), self.wait)
        } else {
            (stream.latest, self.wait.max(LONGEST_SILENCE))
        };
        if stream.whole == stream.plan.stream.count {
            return Some(CameraEnd::Complete);
        }
        (now >= since.saturating_add(wait.as_nanos())).then_some(CameraEnd::Silence)
    }

    /// Takes a datagram that arrived `now`, in nanoseconds since 1970, and tells whether it is one
    /// of a stream that had not come yet.
    ///
    /// # Errors
    /// If several datagrams of a stream show that the sender's clock is another.
    pub fn take(&mut self, now: u64, datagram: &[u8]) -> Result<bool, CameraError> {
        let Some((header, data)) = CameraHeader::parse(datagram) else {
            self.foreign += 1;
            return Ok(false);
        };
        let place = match self
            .streams
            .iter()
            .position(|it| (it.plan, it.began) == (header.plan, header.began))
        {
            Some(place) => place,
            None if !self.clocks.agree(now, &header)? => {
                self.foreign += 1;
                return Ok(false);
            }
            None => {
                self.make_room();
                self.streams.push(Stream::of(&header));
                self.streams.len() - 1
            }
        };
        Ok(self.streams[place].take(now, &header, data, self.deadline))
    }

    fn make_room(&mut self) {
        let least = (0..self.streams.len()).min_by_key(|place| self.streams[*place].arrived.len());
        if let Some(place) = least.filter(|_| self.streams.len() >= MOST_STREAMS) {
            self.foreign += self.streams.remove(place).datagrams();
        }
    }

    /// Returns why there is no report.
    #[must_use]
    pub fn failure(&self) -> CameraError {
        self.clocks.failure().unwrap_or(CameraError::Nothing)
    }

    /// Returns the outcome; `None` if nothing of a stream has come.
    #[must_use]
    pub fn report(&self, ended: CameraEnd) -> Option<CameraReport> {
        let stream = self.stream()?;
        let all: u64 = self.streams.iter().map(Stream::datagrams).sum();
        let foreign = self.foreign + all - stream.datagrams();
        Some(stream.report(self.deadline, ended, foreign))
    }
}

impl Stream {
    /// Takes a datagram; tells whether it is no copy.
    fn take(&mut self, now: u64, header: &CameraHeader, data: &[u8], deadline: Duration) -> bool {
        let size = header.plan.stream.size;
        let sent = header.plan.stream.datagram(header.number);
        let right = sent.iter().zip(data).filter(|(sent, got)| sent == got).count() as u32;
        let due = header.began.saturating_add(header.plan.due(header.number).as_nanos());
        let delay = now.saturating_sub(due);
        let is_in_time = delay <= deadline.as_nanos();
        let is_new = !self.arrived.contains_key(&header.number);
        self.copies += u64::from(!is_new);
        self.latest = if is_new { self.latest.max(now) } else { self.latest };
        let arrival = Arrival { delay, usable: 0, right: 0 };
        let arrival = self.arrived.entry(header.number).or_insert(arrival);
        self.whole += u32::from(right == size && arrival.right < size);
        arrival.right = arrival.right.max(right);
        arrival.usable = arrival.usable.max(if is_in_time { right } else { 0 });
        is_new
    }

    fn report(&self, deadline: Duration, ended: CameraEnd, foreign: u64) -> CameraReport {
        let plan = self.plan;
        let size = plan.stream.size;
        let sent = u64::from(plan.stream.count);
        let deadline = deadline.as_nanos();
        let count = |is: &dyn Fn(&Arrival) -> bool| {
            self.arrived.values().filter(|arrival| is(arrival)).count() as u64
        };
        let sum = |of: &dyn Fn(&Arrival) -> u32| {
            self.arrived.values().map(|arrival| u64::from(of(arrival))).sum()
        };
        let wrong = |it: &Arrival| if it.usable > 0 { size - it.usable } else { 0 };
        let mut whole = BTreeMap::<u32, u64>::new();
        for (number, _) in self.arrived.iter().filter(|(_, it)| it.usable == size) {
            *whole.entry(number / plan.per_picture).or_default() += 1;
        }
        let per_picture = u64::from(plan.per_picture);
        let pictures = sent.div_ceil(per_picture);
        let of_picture = |picture: u32| per_picture.min(sent - u64::from(picture) * per_picture);
        let mut delays: Vec<u64> = self.arrived.values().map(|it| it.delay).collect();
        delays.sort_unstable();
        CameraReport {
            sent,
            arrived: self.arrived.len() as u64,
            damaged: count(&|it| it.right < size),
            late: count(&|it| it.delay > deadline),
            copies: self.copies,
            foreign,
            bytes: sent * u64::from(size),
            usable_bytes: sum(&|it| it.usable),
            wrong_bytes: sum(&wrong),
            pictures,
            whole_pictures: whole
                .iter()
                .filter(|(picture, count)| **count == of_picture(**picture))
                .count() as u64,
            delay: [0.5, 0.95, 0.99].map(|share| quantile(&delays, share)),
            ended,
        }
    }
}

/// Returns the seconds that a share of the sorted delays does not exceed.
fn quantile(sorted: &[u64], share: f64) -> f64 {
    let place = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(place.max(1) - 1).map_or(f64::NAN, |nanos| *nanos as f64 / 1e9)
}

impl CameraReport {
    /// Returns the share of the bytes that arrived right within the deadline.
    #[must_use]
    pub fn usable(&self) -> f64 {
        self.usable_bytes as f64 / self.bytes.max(1) as f64
    }

    /// Returns the report in lines of text.
    #[must_use]
    pub fn to_text(&self, deadline: Duration) -> String {
        let [median, most, nearly_all] = self.delay.map(|seconds| 1e3 * seconds);
        format!(
            "{} of {} datagrams arrived, {} of them damaged, {} late\n\
             {:.2} % of the bytes are usable: right, within {deadline}; {} of {} pictures are \
             whole\ndelay {median:.1} ms in the median, {most:.1} ms of 95 %, {nearly_all:.1} ms \
             of 99 %; ended by {}\n",
            self.arrived,
            self.sent,
            self.damaged,
            self.late,
            100.0 * self.usable(),
            self.whole_pictures,
            self.pictures,
            self.ended.name(),
        )
    }

    /// Returns the report as a JSON object.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        let [median, most, nearly_all] = self.delay;
        serde_json::json!({
            "sent": self.sent, "arrived": self.arrived, "damaged": self.damaged,
            "late": self.late, "duplicates": self.copies, "unknown": self.foreign,
            "bytes": self.bytes, "usable_bytes": self.usable_bytes,
            "wrong_bytes": self.wrong_bytes, "usable": self.usable(),
            "pictures": self.pictures, "whole_pictures": self.whole_pictures,
            "delay_median_seconds": median, "delay_95_seconds": most,
            "delay_99_seconds": nearly_all, "ended": self.ended.name(),
        })
    }
}

#[cfg(test)]
mod tests;
