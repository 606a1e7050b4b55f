//! The settings of one direction of a link.

mod error_models;

use windfall_base::{Duration, LineRate, Probability};
use windfall_channel::{
    AirConfig, Bucket, BurstWindow, ByteRange, Cell, Chance, GilbertElliott, Jitter, LossPattern,
    Model, OnOff, Reorder, Slotting, Surroundings, Truncation,
};

use windfall_link::{Arq, RepairConfig};
use windfall_settings::policy::PolicyName;
use windfall_settings::{
    Choice, Get, Requirement, RowMetadata, Setting, Settings, settings, value_if_set,
};

use crate::queue::{self, Queue};

pub use error_models::ListedModels;

/// The part of a link that a setting of a direction describes.
#[derive(Clone, Copy, Debug)]
pub enum AppliesTo {
    /// The sender, on links of every kind.
    Sender,
    /// The sender or the wire, on links other than 802.11.
    Wire,
    /// The wire of a pipe.
    Pipe,
    /// The air, on links other than 802.11; it may differ from path to path of a radio.
    Air,
    /// An error model of the air, in the order of the table.
    Errors(fn(&Direction, &Setting<Direction>) -> Option<Model>),
}

impl AppliesTo {
    /// Tells whether links of every kind have such settings; a link of 802.11 refuses the others.
    pub(crate) const fn is_of_every_link(&self) -> bool {
        matches!(self, Self::Sender)
    }
}

impl RowMetadata for AppliesTo {
    fn remark(&self) -> &'static str {
        match self {
            Self::Sender => "",
            Self::Pipe => "only on a pipe",
            _ => "not on wifi",
        }
    }
}

/// A part of a frame to which the air may do damage, beside the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FramePart {
    /// The link header.
    Header,
    /// The link trailer, the frame check.
    Trailer,
    /// Frames that are neither packets nor repairs of them: polls and acknowledgements.
    Control,
}

impl Choice for FramePart {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("header", Self::Header, "the link header"),
        ("trailer", Self::Trailer, "the link trailer"),
        ("control", Self::Control, "polls and acknowledgements"),
    ];
}

/// The treatment of the transport checksums of packets that arrive damaged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Checksums {
    /// They stay as their sender wrote them, so that a kernel drops the packets.
    #[default]
    Keep,
    /// UDP over IPv4 is sent without a checksum.
    Clear,
    /// The receiving interface writes them anew.
    Mend,
}

impl Choice for Checksums {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("keep", Self::Keep, "leave them: kernels drop what is damaged"),
        ("clear", Self::Clear, "send UDP over IPv4 without one"),
        ("mend", Self::Mend, "write those of UDP, UDP-Lite, TCP and ICMP anew on arrival"),
    ];
}

settings! {
    /// The settings of one direction of a link; what is unset is as the link has it.
    pub struct Direction with AppliesTo {
        /// Rate. A bare number is in Mbps, 0 is a pause, none is no limit
        "rate" rate: LineRate {
            is_live: true,
            value: "RATE", example: "10Mbps", excludes: "rate-trace",
            short: "Rate. Bare in Mbps, 0 is a pause, none is no limit",
            metadata: Some(AppliesTo::Sender),
            unset: "sending takes no time on a pipe; 2Mbps on wavelan; the highest rate on wifi; \
                    9.6kbps on gsm, which has no other",
        }
        /// File with the rate over time, in the format of mahimahi or netem-trace
        "rate-trace" rate_trace: String {
            is_live: true,
            value: "FILE", example: "cell.trace", is_file: true,
            excludes: "rate", metadata: Some(AppliesTo::Wire), unset: "a constant rate",
            detail: "[rate-trace.md](rate-trace.md) has the formats.",
        }
        /// Stop at the end of the rate trace instead of repeating it. Later frames are lost
        "once" once: bool {
            requires: Some(Requirement::new(|it| it.rate_trace.is_some(), "rate-trace = \"FILE\"")),
            value: "SWITCH", example: "on", default: "off", metadata: Some(AppliesTo::Pipe),
            detail: "The trace counts from the start of the run, also where a change brings it.",
        }
        /// Delay of every bit. In a file a bare number is in ms
        "delay" delay: Duration [Duration::ZERO..=Duration::from_secs(3600)] {
            is_live: true,
            value: "TIME", example: "5ms", default: "0s", metadata: Some(AppliesTo::Wire),
            short: "Delay of every bit. In a file a bare number is in ms",
            detail: "On gsm, where it is unset, that of the interleaver, some 111 ms.",
        }
        /// Deviation of the delay, optionally with correlation and distribution: "10ms 25% normal".
        /// The distribution is uniform, normal, pareto or paretonormal
        "jitter" jitter: Option<Jitter> {
            value: "JITTER", example: "2ms 25% normal", unset: "none",
            metadata: Some(AppliesTo::Pipe),
            detail: "Of a uniform distribution the greatest deviation, of others the standard \
                     deviation. Frames keep their order, unless `reorder` is set; none is earlier \
                     than without any delay.",
        }
        /// File with the distribution of jitter, in netem's format
        "jitter-table" jitter_table: String {
            requires: Some(Requirement::new(
                |it| value_if_set(&it.jitter).is_some(),
                "jitter = \"10ms\"",
            )),
            value: "FILE", example: "normal.dist", is_file: true,
            metadata: Some(AppliesTo::Pipe), unset: "the distribution that jitter names",
        }
        /// Probability that a frame skips the delay and overtakes others, optionally with
        /// correlation and gap: "25% 50% gap 5". With 0, only jitter reorders frames
        "reorder" reorder: Option<Reorder> {
            requires: Some(Requirement::new(Direction::has_delay, "delay = \"10ms\" or a jitter")),
            value: "REORDER", example: "25% gap 5", unset: "frames keep their order",
            metadata: Some(AppliesTo::Pipe),
        }
        /// Probability that a frame arrives twice, optionally with correlation: "1% 25%"
        "duplicate" duplicate: Chance {
            value: "P", example: "1%", default: "0", metadata: Some(AppliesTo::Pipe),
        }
        /// Size of a token bucket in bytes, optionally with its peak rate: "20kB 100Mbps". It fills
        /// at the rate of the link, as in tc's tbf
        "bucket" bucket: Option<Bucket> {
            requires: Some(Requirement::new(
                Direction::has_constant_rate,
                "rate = \"1Mbps\", at which it fills",
            )),
            value: "BYTES", example: "20kB 100Mbps", unset: "none",
            metadata: Some(AppliesTo::Pipe),
        }
        /// Mean times during which frames pass and during which all are lost: "5s 500ms". The times
        /// are random, or fixed with "5s 500ms periodic"
        "onoff" onoff: Option<OnOff> {
            value: "TIMES", example: "5s 500ms", unset: "none", metadata: Some(AppliesTo::Pipe),
        }
        /// Time between the moments at which frames leave: "20ms 40ms" or "distribution normal 20ms
        /// 5ms". "packets 32" or "bytes 64kB" limits each moment
        "slots" slots: Option<Slotting> {
            value: "SLOT", example: "20ms 40ms", unset: "none", metadata: Some(AppliesTo::Pipe),
            detail: "`none` in a change takes them away: frames that wait for one arrive in it, \
                     and none overtakes them.",
        }
        /// File with the distribution of the times between slots, in netem's format
        "slots-table" slots_table: String {
            requires: Some(Requirement::new(
                Direction::has_gaps,
                "slots = \"distribution normal 20ms 5ms\"",
            )),
            value: "FILE", example: "gaps.dist", is_file: true,
            metadata: Some(AppliesTo::Pipe), unset: "the distribution that slots names",
        }
        /// Bytes that each packet takes on the line beside its own, instead of those of its frame:
        /// 0 for none, 18 for Ethernet
        "overhead" overhead: u32 [0..=10_000] {
            requires: Some(Requirement::new(Direction::has_rate, "rate = \"1Mbps\"")),
            value: "BYTES", example: "18", unset: "those of the frame, 9 or 19",
            metadata: Some(AppliesTo::Pipe),
        }
        /// Cells that the line cuts packets into, as "PAYLOAD+HEADER" in bytes: 48+5 for ATM
        "cell" cell: Option<Cell> {
            requires: Some(Requirement::new(Direction::has_rate, "rate = \"1Mbps\"")),
            value: "CELL", example: "48+5", unset: "none", metadata: Some(AppliesTo::Pipe),
            detail: "The last cell is filled up.",
        }
        /// Fixed pattern of losses, the first K of every N frames: 5/100
        "burst" burst: Option<LossPattern> {
            value: "K/N", example: "5/100", unset: "none",
            detail: "`5/100+95` loses the last five.",
            metadata: Some(AppliesTo::Errors(|it, _| {
                value_if_set(&it.burst).map(Model::LossPattern)
            })),
        }
        /// Probability that a frame is lost, 0..1 or with %, optionally with correlation: "1% 25%"
        "loss" loss: Chance {
            value: "P", example: "0.01", default: "0",
            short: "Probability that a frame is lost: 0..1 or with %",
            metadata: Some(AppliesTo::Errors(|it, _| it.loss.value().map(Model::from))),
        }
        listed listed_models: ListedModels,
        /// Bursts of lost frames from a chain of two states: "p [r [1-h [1-k]]]" as in netem
        "gemodel" gemodel: Option<GilbertElliott> {
            value: "MODEL", example: "1% 10% 70% 0.1%", unset: "none",
            metadata: Some(AppliesTo::Errors(|it, _| {
                value_if_set(&it.gemodel).map(Model::FrameBursts)
            })),
        }
        /// Mark packets in place of losing them
        "loss-ecn" loss_ecn: bool {
            requires: Some(Requirement::new(Direction::can_mark, "loss = \"1%\" and no policy")),
            doc: error_models::MARKS,
            value: "SWITCH", example: "on", default: "off", metadata: Some(AppliesTo::Pipe),
        }
        /// Probability that a bit is inverted, 0..1 or with %
        "ber" ber: Probability {
            value: "P", example: "1e-5", default: "0", short: "Probability that a bit is inverted",
            metadata: Some(AppliesTo::Errors(|it, _| it.ber.value().map(Model::BitErrors))),
        }
        /// Bursts of inverted bits, as --gemodel but with one step per bit
        "bit-gemodel" bit_gemodel: Option<GilbertElliott> {
            value: "MODEL", example: "1e-5 0.01 0.3 0", unset: "none",
            metadata: Some(AppliesTo::Errors(|it, _| {
                value_if_set(&it.bit_gemodel).map(Model::BitBursts)
            })),
        }
        /// Inverted bits in one window of a frame: "p bits rate", such as "10% 256 5%"
        "window" window: Option<BurstWindow> {
            value: "WINDOW", example: "10% 256 5%", unset: "none",
            detail: "The probability that a frame has the window, its length in bits, and the bit \
                     error rate in it.",
            metadata: Some(AppliesTo::Errors(|it, _| {
                value_if_set(&it.window).map(Model::BurstWindow)
            })),
        }
        /// Probability that exactly one bit of a packet is inverted, as in netem, optionally with
        /// correlation: "1% 25%"
        "corrupt" corrupt: Chance {
            value: "P", example: "0.01", default: "0",
            metadata: Some(AppliesTo::Errors(|it, _| it.corrupt.value().map(Model::Corruption))),
        }
        /// Probability that a frame is cut short at a random place
        "truncate" truncate: Probability {
            value: "P", example: "0.01", default: "0",
            metadata: Some(AppliesTo::Errors(|it, _| {
                let cut = |probability| Model::Truncation(Truncation { probability, least: 0 });
                it.truncate.value().map(cut)
            })),
        }
        /// Errors of a measured place: office, walking, adjacent, table, walls, gsm-good, gsm-bad,
        /// gsm-walking or gsm-driving
        "environment" environment: Surroundings {
            value: "PLACE", example: "office", unset: "none", requirement: "S3.17",
            detail: "The places of paper 003 are traces ([coding.md](coding.md#environments)), the \
                     circuits of paper 001 a model ([gsm.md](../explanation/gsm.md)).",
            metadata: Some(AppliesTo::Air),
        }
        /// File with losses, truncations and inverted bits, made by `windfall trace`
        "error-trace" error_trace: String {
            value: "FILE", example: "office.trace", is_file: true, unset: "none",
            detail: "[error-trace.md](error-trace.md) has the format.",
            metadata: Some(AppliesTo::Air),
        }
        /// Bytes of a packet that bit errors can hit: payload, 28..1500 or payload 0..40
        "range" range: ByteRange {
            value: "RANGE", example: "payload 12..", unset: "the whole packet",
            metadata: Some(AppliesTo::Air),
            detail: "`payload` is what follows the headers of IP and of UDP, UDP-Lite, TCP or \
                     ICMP. Bytes count from 0, and the second number is the first byte that is \
                     not hit.",
        }
        /// Parts that errors can hit besides the packet: header, trailer, control
        "expose" expose: Vec<FramePart> {
            value: "PARTS", example: "header,trailer", unset: "none",
            metadata: Some(AppliesTo::Air),
            detail: "The link header, the link trailer, and what carries no packet, as an ACK.",
        }
        /// Parity of coded frames: bold, light, robust, flex or best, or a table of your own,
        /// NAME.toml. On wifi: joint, or parity-N with 0, 8, 16, 32 or 64 symbols
        "policy" policy: Option<PolicyName> {
            value: "POLICY", example: "flex", unset: "frames are not coded",
            short: "Parity of coded frames", metadata: Some(AppliesTo::Sender),
            detail: "[coding.md](coding.md#policies) compares the policies, \
                     [policy.md](policy.md) has the format of tables.",
        }
        /// Always give coded frames as many whole blocks as the policy says
        "padded" padded: bool {
            value: "SWITCH", example: "on", default: "off", metadata: Some(AppliesTo::Wire),
        }
        /// Code across packets: blocks 8/12 or 8/12:40ms, interleaved blocks 8/12,interleave:4, or
        /// a sliding window window:32:25%:40ms
        "fec" fec: Option<RepairConfig> {
            value: "CODE", example: "8/12", unset: "none", metadata: Some(AppliesTo::Sender),
            excludes: "policy",
            detail: "Of packets and all of a block, or packets, share and delay of a window. \
                     [link-behaviour.md](link-behaviour.md#codes-across-packets) says how.",
        }
        /// Build whole packets from the damaged copies of retransmitted frames
        "combine" combine: bool {
            value: "SWITCH", example: "on", default: "off", metadata: Some(AppliesTo::Sender),
            detail: "On wifi beside a policy. \
                     [link-behaviour.md](link-behaviour.md#combining-copies) says how.",
        }
        /// Send parity for damaged packets instead of another copy
        "increments" increments: bool {
            value: "SWITCH", example: "on", default: "off", metadata: Some(AppliesTo::Wire),
            excludes: "policy",
            detail: "Only on a pipe with `arq`; \
                     [link-behaviour.md](link-behaviour.md#incremental-redundancy) says how.",
        }
        /// Retransmission of frames that did not arrive whole: none, persistent, or at most N times
        /// (0 to 254)
        "arq" arq: Arq {
            value: "POLICY", example: "3", metadata: Some(AppliesTo::Sender),
            short: "Retransmission: none, persistent, or at most N times",
            unset: "none on a pipe, persistent on wavelan and with policy, the attempts of the \
                    radio on wifi",
            detail: "N is 0 to 254. On gsm none is the transparent service, and N is N2 of RLP.",
        }
        /// Deliver packets that failed the frame check, marked as damaged
        "accept-damaged" accept_damaged: bool {
            value: "SWITCH", example: "on", default: "off", metadata: Some(AppliesTo::Sender),
        }
        /// Checksums of packets that may arrive damaged: keep, clear or mend
        "checksums" checksums: Checksums {
            value: "WORD", example: "mend", default: "keep", metadata: Some(AppliesTo::Sender),
            detail: "With `clear` and `mend` damage reaches programs whose kernels check \
                     everything. Bit errors then spare the headers of packets, unless `range` says \
                     otherwise. `clear` sends UDP over IPv4 without a checksum (RFC 768), and \
                     leaves all else alone. `mend` is not for gsm and coded frames, whose headers \
                     cannot be spared.",
        }
        /// Queue before the link: its discipline, its length, and what keeps it short
        "queue" queue: Queue {
            doc: queue::HELP,
            value: "QUEUE", example: "wfq,100,64kB", default: "elf,1000",
            short: "Length of the queue, or its discipline", metadata: Some(AppliesTo::Sender),
        }
    }
}

impl Direction {
    /// Tells whether frames are coded.
    pub(crate) fn is_coded(&self) -> bool {
        value_if_set(&self.policy).is_some()
    }

    /// Tells whether bit errors spare the headers of packets, so that damage reaches programs. In
    /// coded frames a packet has no place of its own.
    pub(crate) fn spares_headers(&self) -> bool {
        let checksums = self.checksums.value().unwrap_or_default();
        checksums != Checksums::Keep && !self.is_coded()
    }

    /// Returns the error models of the air, in the order in which they act, and the bytes that
    /// they are limited to.
    #[must_use]
    pub fn errors(&self) -> AirConfig {
        let models = Self::TABLE.iter().filter_map(|setting| match setting.metadata {
            Some(AppliesTo::Errors(model)) => model(self, setting),
            _ => None,
        });
        let unset = self.spares_headers().then_some(ByteRange::PAYLOAD);
        let range = self.range.value().or(unset);
        AirConfig { models: models.collect(), range, ..AirConfig::default() }
    }
}
