//! The datagrams that arrived, compared with those that were sent.

use std::collections::BTreeMap;

use windfall_base::Duration;

use crate::plan::{CameraHeader, CameraPlan};

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
pub struct CameraArrivals {
    deadline: Duration,
    /// The plan of the stream and its start.
    stream: Option<(CameraPlan, u64)>,
    arrived: BTreeMap<u32, Arrival>,
    copies: u64,
    foreign: u64,
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
}

impl CameraArrivals {
    /// No arrivals yet of a stream whose datagrams are of no use after `deadline`.
    #[must_use]
    pub fn new(deadline: Duration) -> Self {
        Self { deadline, stream: None, arrived: BTreeMap::new(), copies: 0, foreign: 0 }
    }

    /// Returns the end of the stream, in nanoseconds since 1970, once something of it has come.
    #[must_use]
    pub fn end(&self) -> Option<u64> {
        let (plan, began) = self.stream?;
        Some(began.saturating_add(plan.length().as_nanos()))
    }

    /// Takes a datagram that arrived `now`, in nanoseconds since 1970.
    pub fn take(&mut self, now: u64, datagram: &[u8]) {
        let Some((header, data)) = CameraHeader::parse(datagram) else {
            self.foreign += 1;
            return;
        };
        if *self.stream.get_or_insert((header.plan, header.began)) != (header.plan, header.began) {
            self.foreign += 1;
            return;
        }
        let sent = header.plan.stream.datagram(header.number);
        let right = sent.iter().zip(data).filter(|(sent, got)| sent == got).count() as u32;
        let due = header.began.saturating_add(header.plan.due(header.number).as_nanos());
        let delay = now.saturating_sub(due);
        let is_in_time = delay <= self.deadline.as_nanos();
        self.copies += u64::from(self.arrived.contains_key(&header.number));
        let arrival = Arrival { delay, usable: 0, right: 0 };
        let arrival = self.arrived.entry(header.number).or_insert(arrival);
        arrival.right = arrival.right.max(right);
        arrival.usable = arrival.usable.max(if is_in_time { right } else { 0 });
    }

    /// Returns the outcome; `None` if nothing of a stream has come.
    #[must_use]
    pub fn report(&self) -> Option<CameraReport> {
        let (plan, _) = self.stream?;
        let (size, sent) = (plan.stream.size, u64::from(plan.stream.count));
        let deadline = self.deadline.as_nanos();
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
        let is_whole = |(picture, count): &(&u32, &u64)| **count == of_picture(**picture);
        let mut delays: Vec<u64> = self.arrived.values().map(|it| it.delay).collect();
        delays.sort_unstable();
        Some(CameraReport {
            sent,
            arrived: self.arrived.len() as u64,
            damaged: count(&|it| it.right < size),
            late: count(&|it| it.delay > deadline),
            copies: self.copies,
            foreign: self.foreign,
            bytes: sent * u64::from(size),
            usable_bytes: sum(&|it| it.usable),
            wrong_bytes: sum(&wrong),
            pictures,
            whole_pictures: whole.iter().filter(is_whole).count() as u64,
            delay: [0.5, 0.95, 0.99].map(|share| quantile(&delays, share)),
        })
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
             of 99 %\n",
            self.arrived,
            self.sent,
            self.damaged,
            self.late,
            100.0 * self.usable(),
            self.whole_pictures,
            self.pictures,
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
            "delay_99_seconds": nearly_all,
        })
    }
}

#[cfg(test)]
mod tests;
