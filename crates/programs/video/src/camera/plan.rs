//! The plan of a stream, and the header that each of its datagrams bears.

use windfall_apps::streamer::StreamPlan;
use windfall_base::Duration;

/// The first bytes of every datagram.
const MAGIC: [u8; 4] = *b"WCAM";

/// The parameters of a stream: pictures at a fixed rate, each of as many datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CameraPlan {
    /// The data of all datagrams.
    pub stream: StreamPlan,
    /// The time between two pictures.
    pub interval: Duration,
    /// The number of datagrams of each picture, at least one.
    pub per_picture: u32,
}

impl CameraPlan {
    /// The longest time between two pictures.
    const LONGEST: Duration = Duration::from_secs(10);

    /// Returns the stream of `pictures` pictures a second at `bits` bits a second for `span`, in
    /// datagrams of `size` bytes.
    ///
    /// # Errors
    /// If that is no stream, or more than one can be: says what can.
    pub fn of_rate(pictures: f64, bits: f64, span: Duration, size: u32) -> Result<Self, String> {
        let per_picture = (bits / 8.0 / pictures / f64::from(size)).round().max(1.0);
        let count = (span.as_secs_f64() * pictures).round().max(1.0) * per_picture;
        let is_bounded = count <= f64::from(StreamPlan::MAX_COUNT) && pictures >= 0.1;
        let plan = Self {
            stream: StreamPlan { seed: 1, count: count as u32, size },
            interval: Duration::from_secs_f64(1.0 / pictures),
            per_picture: per_picture as u32,
        };
        if is_bounded && plan.is_valid() {
            return Ok(plan);
        }
        Err(format!(
            "{pictures} pictures a second of {bits} b/s for {span} in datagrams of {size} bytes \
             are no stream: use 0.1 to 10000 pictures a second, up to {} datagrams of up to {} \
             bytes",
            StreamPlan::MAX_COUNT,
            StreamPlan::MAX_SIZE
        ))
    }

    fn is_valid(&self) -> bool {
        let counts = 1..=StreamPlan::MAX_COUNT;
        counts.contains(&self.stream.count)
            && (1..=StreamPlan::MAX_SIZE).contains(&self.stream.size)
            && counts.contains(&self.per_picture)
            && (Duration::from_micros(100)..=Self::LONGEST).contains(&self.interval)
    }

    /// Returns the time from the start at which a datagram is sent: that of its picture.
    #[must_use]
    pub fn due(&self, number: u32) -> Duration {
        let picture = u64::from(number / self.per_picture);
        Duration::from_nanos(self.interval.as_nanos().saturating_mul(picture))
    }

    /// Returns the length of the stream.
    #[must_use]
    pub fn length(&self) -> Duration {
        self.due(self.stream.count.saturating_sub(1)).saturating_add(self.interval)
    }
}

/// The header before the data of each datagram: the plan, and which datagram it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CameraHeader {
    /// The plan of the whole stream.
    pub plan: CameraPlan,
    /// The start of the stream, in nanoseconds since 1970.
    pub began: u64,
    /// The number of the datagram, from 0.
    pub number: u32,
}

impl CameraHeader {
    /// The length of the header, in bytes: a magic number, eight numbers and a CRC-32.
    pub const LEN: usize = 44;

    /// Returns the datagram: the header, and the data of the stream.
    #[must_use]
    pub fn datagram(&self) -> Vec<u8> {
        let CameraPlan { stream, interval, per_picture } = self.plan;
        let mut bytes = MAGIC.to_vec();
        for word in [stream.seed, stream.count, stream.size, per_picture, self.number] {
            bytes.extend(word.to_be_bytes());
        }
        bytes.extend(interval.as_nanos().to_be_bytes());
        bytes.extend(self.began.to_be_bytes());
        bytes.extend(crc32fast::hash(&bytes).to_be_bytes());
        bytes.extend(stream.datagram(self.number));
        bytes
    }

    /// Reads a datagram; `None` if it is not one that a sender writes, or its header is damaged.
    #[must_use]
    pub fn parse(datagram: &[u8]) -> Option<(Self, &[u8])> {
        let (header, data) = datagram.split_at_checked(Self::LEN)?;
        let (body, check) = header.split_at(Self::LEN - 4);
        if !body.starts_with(&MAGIC) || crc32fast::hash(body).to_be_bytes() != check {
            return None;
        }
        let number = |at: usize, length: usize| {
            body[at..at + length].iter().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte))
        };
        let word = |at: usize| number(at, 4) as u32;
        let plan = CameraPlan {
            stream: StreamPlan { seed: word(4), count: word(8), size: word(12) },
            interval: Duration::from_nanos(number(24, 8)),
            per_picture: word(16),
        };
        let header = Self { plan, began: number(32, 8), number: word(20) };
        let fits = header.number < plan.stream.count && data.len() == plan.stream.size as usize;
        (plan.is_valid() && fits).then_some((header, data))
    }
}

#[cfg(test)]
mod tests;
