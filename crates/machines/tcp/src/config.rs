//! The settings of a connection, with their defaults and sources.

use windfall_base::Duration;
use windfall_congestion::CongestionControl;
use windfall_wire_net::TcpFlags;
use windfall_wire_net::tcp::{CorruptionKinds, Packing};

use crate::rtt::{TickEstimation, TimeoutConfig};

/// The configuration of a connection; the table in `docs/reference/tcp-engine.md` lists every
/// setting.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TcpConfig {
    //= S2.12
    /// The largest segment taken, in bytes of data and options (RFC 9293, section 3.7.1; S2.12).
    pub mss: u16,
    /// The most bytes that may wait to be sent or acknowledged.
    pub send_buffer: BufferSize,
    /// The most bytes that may wait to be read or for a hole to be filled; the window.
    pub receive_buffer: BufferSize,
    /// The most bytes that all connections of an endpoint may hold in both buffers; a host sets it
    /// by [`crate::TcpEndpoint::set_memory`].
    pub memory: usize,
    //= S2.2
    /// Timestamps (RFC 7323; S2.2).
    pub timestamps: bool,
    /// When old duplicates are looked for (RFC 7323, section 5; S2.3, S2.8).
    pub paws: Paws,
    //= S2.4
    /// Windows above 65 535 bytes (RFC 7323, section 2; S2.4).
    pub window_scale: bool,
    //= S2.5
    /// Selective acknowledgment (RFC 2018, 2883, 6675; S2.5).
    pub sack: bool,
    /// Explicit congestion notification (RFC 3168).
    pub ecn: bool,
    /// Accurate ECN: each packet that was marked is reported (RFC 9768); falls back to ECN, and to
    /// none.
    pub accurate_ecn: bool,
    /// Header prediction on receiving (S2.6).
    pub prediction: bool,
    /// Header prediction on sending, by a template header (S2.7).
    pub template: bool,
    /// When data are acknowledged (S2.10, S2.47).
    pub acks: AckPolicy,
    /// Data whose sender had no more for now (PSH) are acknowledged at once, as by NetBSD 1.2.
    pub ack_pushes: bool,
    /// Nagle's algorithm: short segments wait for an acknowledgment (RFC 9293, section 3.7.4).
    pub nagle: bool,
    /// The computation of the retransmission timeout (RFC 6298; S3.15).
    pub timeout: TimeoutConfig,
    /// The congestion control algorithm.
    pub congestion_control: CongestionControl,
    /// `HyStart++` in the first slow start of Reno and CUBIC (RFC 9406).
    pub hystart: bool,
    /// Appropriate byte counting, if the congestion control supports it (RFC 3465; S2.47).
    pub byte_counting: bool,
    /// Segments in the first window (RFC 6928).
    pub initial_window: u16,
    /// The loss recovery algorithm of connections without SACK.
    pub loss_recovery: LossRecovery,
    /// Time-based loss detection and tail loss probes, if SACK was negotiated (RFC 8985).
    pub rack: bool,
    /// Proportional rate reduction during fast recovery, if SACK was negotiated (RFC 9937).
    pub prr: bool,
    /// Detection of spurious timeouts, whose reduction is undone (RFC 5682).
    pub f_rto: bool,
    /// New data on the first two duplicate acknowledgments (RFC 3042).
    pub limited_transmit: bool,
    //= S2.46
    /// Fast retransmit on duplicate acknowledgments; off if the link below retransmits and reorders
    /// (S2.46).
    pub fast_retransmit: bool,
    /// Data on the SYN, proved by a cookie; a SYN with a cookie waits for the first data (RFC 7413;
    /// S2.17).
    pub fast_open: bool,
    /// Segments leave at the pace of the congestion window instead of in bursts; BBR always paces.
    pub pacing: bool,
    //= S2.47
    /// Segments that may leave back to back; more leave paced over the round trip (S2.47).
    pub burst: Option<u16>,
    /// Probes of a connection on which nothing is received (RFC 9293, section 3.8.4).
    pub keepalive: Option<Keepalive>,
    /// Timeouts in a row before the connection is given up (RFC 9293, section 3.8.3).
    pub retries: u8,
    /// Timeouts of a SYN in a row before the attempt to connect is given up (RFC 9293, section
    /// 3.8.3).
    pub syn_retries: u8,
    /// The duration of TIME-WAIT: twice the longest life of a segment.
    pub time_wait: Duration,
    /// The time that a closed application waits for the peer's FIN.
    pub fin_wait: Duration,
    /// The corruption options (S4).
    pub corruption: Corruption,
    /// A CRC-32C over the data of each segment, if both ends negotiate it. It finds damage that the
    /// checksum misses on a link that delivers damaged packets.
    pub data_check: bool,
    /// The choices that the standards leave to each system.
    pub manner: Manner,
}

impl Default for TcpConfig {
    /// Returns the defaults of today's systems, with the corruption options off.
    fn default() -> Self {
        Self {
            mss: 1460,
            send_buffer: BufferSize::GROWING,
            receive_buffer: BufferSize::GROWING,
            memory: 256 << 20,
            timestamps: true,
            paws: Paws::BeforePrediction,
            window_scale: true,
            sack: true,
            ecn: false,
            accurate_ecn: false,
            prediction: true,
            template: true,
            acks: AckPolicy::default(),
            ack_pushes: false,
            nagle: true,
            timeout: TimeoutConfig::default(),
            congestion_control: CongestionControl::CUBIC,
            hystart: true,
            byte_counting: true,
            initial_window: 10,
            loss_recovery: LossRecovery::NewReno,
            rack: true,
            prr: true,
            f_rto: true,
            limited_transmit: true,
            fast_retransmit: true,
            fast_open: false,
            pacing: false,
            burst: None,
            keepalive: None,
            retries: 15,
            syn_retries: 6,
            time_wait: Duration::from_secs(60),
            fin_wait: Duration::from_secs(60),
            corruption: Corruption::default(),
            data_check: false,
            manner: Manner::STANDARD,
        }
    }
}

impl TcpConfig {
    /// Returns the configuration with what `change` sets.
    ///
    /// Other crates cannot write out all fields, because later versions may have more.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Returns the default without later extensions: the base of the TCPs of the papers.
    fn classic() -> Self {
        Self {
            send_buffer: BufferSize::fixed(1 << 20),
            receive_buffer: BufferSize::fixed(1 << 20),
            hystart: false,
            rack: false,
            prr: false,
            f_rto: false,
            pacing: false,
            ..Self::default()
        }
    }

    //= S3.15
    /// Returns the settings of 4.4BSD's Net/3 without the options of RFC 1323 (RFC 2001; S3.15).
    #[must_use]
    pub fn net3_reno() -> Self {
        Self {
            send_buffer: BufferSize::fixed(16 << 10),
            receive_buffer: BufferSize::fixed(16 << 10),
            timestamps: false,
            paws: Paws::Off,
            window_scale: false,
            sack: false,
            acks: AckPolicy::EverySegments {
                segments: 2,
                delay: Duration::from_millis(200),
                tick: Duration::from_millis(200),
            },
            timeout: TimeoutConfig {
                initial: Duration::from_secs(6),
                minimum: Duration::from_secs(1),
                maximum: Duration::from_secs(64),
                tick: Duration::from_millis(500),
                in_ticks: TickEstimation::Net3,
            },
            congestion_control: CongestionControl::NET3_RENO,
            byte_counting: false,
            initial_window: 1,
            loss_recovery: LossRecovery::Net3,
            limited_transmit: false,
            retries: 12,
            syn_retries: 4,
            ..Self::classic()
        }
    }

    //= S3.15
    /// Returns the settings of NetBSD 1.2, on which paper 003 measured (S3.2, S3.15).
    ///
    /// It differs from Net/3 by its estimate of the round trip, by acknowledging PSH at once, and
    /// by offering RFC 1323 as it came. A segment with a timestamp is shorter than the size by
    /// which its receiver counts to two, so that every third is acknowledged (RFC 2525, 2.13).
    /// Neither the eighth of a segment that Net/3 adds to each step of congestion avoidance, nor
    /// the buffers that both round up to whole segments, is in either set.
    #[must_use]
    pub fn netbsd_1_2() -> Self {
        let old = Self::net3_reno();
        Self {
            timestamps: true,
            paws: Paws::BeforePrediction,
            window_scale: true,
            acks: AckPolicy::EverySegments {
                segments: 3,
                delay: Duration::from_millis(200),
                tick: Duration::from_millis(200),
            },
            ack_pushes: true,
            timeout: TimeoutConfig { in_ticks: TickEstimation::NetBsd, ..old.timeout },
            ..old
        }
    }

    /// Returns the textbooks' TCP: Reno with NewReno's recovery or, where negotiated, SACK's.
    #[must_use]
    pub fn new_reno() -> Self {
        Self { congestion_control: CongestionControl::RENO, ..Self::classic() }
    }

    /// Returns the settings that paper 002 recommends to save energy on a wireless link
    /// (S2.2–S2.12).
    #[must_use]
    pub fn energy_saving() -> Self {
        Self {
            timestamps: false,
            paws: Paws::Off,
            window_scale: false,
            sack: false,
            receive_buffer: BufferSize::fixed(65_535),
            mss: 2296 - 40,
            acks: AckPolicy::TimeOnly { interval: Duration::from_millis(500) },
            ..Self::new_reno()
        }
    }

    /// Returns the first size of the receive buffer: at least 16 units of the window, since one of
    /// fewer could be expressed by none.
    pub(crate) fn first_receive_buffer(&self) -> usize {
        let BufferSize { initial, most } = self.receive_buffer;
        initial.max(most.min(16 << self.window_shift()))
    }

    /// Returns the shift that lets 16 bits express the receive buffer, however far it grows (RFC
    /// 7323, section 2.3).
    #[must_use]
    pub const fn window_shift(&self) -> u8 {
        let mut shift = 0;
        while shift < 14 && (self.receive_buffer.most >> shift) > 65_535 {
            shift += 1;
        }
        shift
    }
}

/// The choices that the standards leave to each system, and its deviations from them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Manner {
    /// Each header offers all the room that there is; else the window opens in steps that are worth
    /// a segment (RFC 9293, section 3.8.6.2.2).
    pub offers_all_room: bool,
    /// The receive buffer is rounded up to whole segments, as by 4.4BSD.
    pub whole_segments: bool,
    /// Acknowledges every second segment of any size; else after the bytes of two full-sized
    /// segments (RFC 9293, section 3.8.6.3).
    pub counts_segments: bool,
    /// The last segment of each write carries PSH, and the last one of several that leave together;
    /// else the segment that empties the buffer.
    pub pushes_writes: bool,
    /// Acknowledgments carry this end's FIN again until it is acknowledged, as by 4.4BSD.
    pub repeats_fin: bool,
    /// A reset anywhere in the window ends the connection (RFC 793, without RFC 5961).
    pub obeys_blind_resets: bool,
    /// A SYN anywhere in the window ends the connection, and is answered by a reset.
    pub obeys_blind_syns: bool,
    /// Segments that carry SYN and FIN are dropped.
    pub drops_syn_fin: bool,
    /// The least number of segments in one burst, if the window allows as many.
    pub least_together: u16,
    /// Data on a SYN leave room for all options that there may be.
    pub spares_options: bool,
    /// A SYN that had to be sent again, or whose data were left aside, does not end fast open on a
    /// path (against RFC 7413, section 4.1.3.1).
    pub keeps_fast_open: bool,
    /// A segment that acknowledges data not yet sent is dropped without an answer (against RFC
    /// 9293, section 3.10.7.4).
    pub ignores_wrong_acks: bool,
    /// The minimum RTO is a lower bound of the variance term; else of the whole RTO (RFC 6298,
    /// section 2.4).
    pub adds_least_timeout: bool,
    /// A probe of a closed window carries no data (against RFC 9293, section 3.8.6.1).
    pub probes_without_data: bool,
    /// Data are acknowledged at once until data answer data; else as `acks` says.
    pub quick_until_dialogue: bool,
    /// In slow start the window grows while it is below twice the recent maximum in flight; else
    /// while the data in flight fill it.
    pub grows_by_most: bool,
    /// After a pause the window stays as it is (against RFC 5681, section 4.1).
    pub keeps_idle_window: bool,
    /// Segments without a timestamp are taken though timestamps were agreed on (against RFC 7323,
    /// section 3.2).
    pub takes_missing_timestamps: bool,
    /// Data that arrived before a reset can be read.
    pub keeps_data_at_reset: bool,
    /// A SYN with a good cookie opens at once, though it carries no data (RFC 7413).
    pub opens_fast_without_data: bool,
    /// A server that was asked for a cookie and gives none is not asked again for an hour.
    pub needs_cookie: bool,
    /// Data leave on a SYN though no cookie is known.
    pub sends_without_cookie: bool,
    /// Data are taken from a SYN though it shows no cookie.
    pub takes_without_cookie: bool,
}

impl Manner {
    /// The choices that the standards recommend.
    pub const STANDARD: Self = Self {
        offers_all_room: false,
        whole_segments: false,
        counts_segments: false,
        pushes_writes: false,
        repeats_fin: false,
        obeys_blind_resets: false,
        obeys_blind_syns: false,
        drops_syn_fin: false,
        least_together: 2,
        spares_options: false,
        keeps_fast_open: false,
        ignores_wrong_acks: false,
        adds_least_timeout: false,
        probes_without_data: false,
        quick_until_dialogue: false,
        grows_by_most: false,
        keeps_idle_window: false,
        takes_missing_timestamps: false,
        keeps_data_at_reset: false,
        opens_fast_without_data: false,
        needs_cookie: false,
        sends_without_cookie: false,
        takes_without_cookie: false,
    };

    /// Returns whether a segment with `flags` is dropped unseen.
    pub(crate) const fn drops(&self, flags: TcpFlags) -> bool {
        self.drops_syn_fin && flags.has(TcpFlags::SYN) && flags.has(TcpFlags::FIN)
    }

    /// The choices of Linux.
    pub const LINUX: Self = Self {
        pushes_writes: true,
        spares_options: true,
        keeps_fast_open: true,
        ignores_wrong_acks: true,
        adds_least_timeout: true,
        probes_without_data: true,
        quick_until_dialogue: true,
        grows_by_most: true,
        takes_missing_timestamps: true,
        keeps_data_at_reset: true,
        opens_fast_without_data: true,
        ..Self::STANDARD
    };

    /// The choices of FreeBSD.
    pub const FREEBSD: Self = Self {
        offers_all_room: true,
        whole_segments: true,
        counts_segments: true,
        repeats_fin: true,
        needs_cookie: true,
        ..Self::STANDARD
    };
}

/// The size of a buffer, in bytes, and how far it grows by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferSize {
    /// The size at first.
    pub initial: usize,
    /// The upper limit, if the path needs it and the endpoint has the memory; at least the initial
    /// size.
    pub most: usize,
}

impl BufferSize {
    /// The size that a path of 8 ms at 1 Gb/s fills, up to that of one of 130 ms.
    const GROWING: Self = Self { initial: 1 << 20, most: 16 << 20 };

    /// Creates the size of a buffer that never grows.
    #[must_use]
    pub const fn fixed(bytes: usize) -> Self {
        Self { initial: bytes, most: bytes }
    }
}

impl From<usize> for BufferSize {
    fn from(bytes: usize) -> Self {
        Self::fixed(bytes)
    }
}

/// The bytes that each connection may hold regardless of the others.
pub(crate) const SHARE: usize = 16 << 10;

//= S2.3
//= S2.8
/// The place of the check against old duplicates (S2.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Paws {
    /// H1, H2, H3: before header prediction, for every segment.
    BeforePrediction,
    /// H2, H1, H3: only for segments that header prediction did not take (S2.8).
    AfterPrediction,
    /// No check at all.
    Off,
}

/// The time of acknowledgments; a hole, a filled hole, a duplicate and FIN are acknowledged at
/// once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckPolicy {
    //= S2.10
    /// After a number of full-sized segments, or after a delay (RFC 9293, section 3.8.6.3).
    EverySegments {
        /// Full-sized segments; 1 acknowledges each.
        segments: u16,
        /// The longest delay.
        delay: Duration,
        /// The delay ends at a multiple of this; zero means exactly.
        tick: Duration,
    },
    //= S2.10
    /// By time only, as paper 002 modifies it (S2.10); RFC 2525 (2.13) calls it a stretch ACK
    /// violation.
    TimeOnly {
        /// From the first unacknowledged byte to the acknowledgment.
        interval: Duration,
    },
    //= S2.47
    /// Every second segment at first, ever more while data flow in order (S2.47).
    ByTraffic {
        /// The most segments for one acknowledgment.
        most: u16,
        /// The longest delay.
        delay: Duration,
    },
}

impl Default for AckPolicy {
    /// Returns the usual delay: every second segment, 40 ms at most.
    fn default() -> Self {
        let delay = Duration::from_millis(40);
        Self::EverySegments { segments: 2, delay, tick: Duration::ZERO }
    }
}

/// Algorithms of loss recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LossRecovery {
    /// Fast recovery ends with the first new acknowledgment (RFC 2001).
    Net3,
    /// A partial acknowledgment names the next loss (RFC 6582).
    #[default]
    NewReno,
    /// By the SACK scoreboard (RFC 6675).
    Sack,
}

/// The probes of an idle connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keepalive {
    /// Silence before the first probe; two hours at least by RFC 9293.
    pub idle: Duration,
    /// From probe to probe.
    pub interval: Duration,
    /// Unanswered probes after which the connection is given up.
    pub probes: u8,
}

impl Default for Keepalive {
    /// Returns the values of RFC 9293 and 4.4BSD: two hours, then nine probes 75 s apart.
    fn default() -> Self {
        Self { idle: Duration::from_secs(2 * 3600), interval: Duration::from_secs(75), probes: 9 }
    }
}

/// The corruption options of paper 004.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Corruption {
    //= S4.7
    /// Put a detection option into every data segment sent (S4.1, S4.7).
    pub detect: bool,
    /// Answer damaged segments whose detection option holds, and follow notifications (S4.8).
    pub notify: bool,
    /// Notify, too, of segments that the link says it lost without a trace (S4.27).
    pub link_losses: bool,
    /// The segments that an answer may name, and the way in which it does.
    pub mode: NotificationMode,
    /// The layout of the covered fields.
    pub packing: Packing,
    /// The option kinds on the wire.
    pub kinds: CorruptionKinds,
    //= S4.5
    /// The reaction of the congestion window to a notification (S4.5).
    pub reaction: Reaction,
}

impl Corruption {
    /// Switches both options on, in `mode`.
    #[must_use]
    pub fn on(mode: NotificationMode) -> Self {
        Self { detect: true, notify: true, mode, ..Self::default() }
    }
}

/// The damaged segments that a notification may name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotificationMode {
    /// The next expected one alone, by the acknowledgment number.
    #[default]
    DraftSafe,
    /// Any, by an acknowledgment number of its sequence number plus its length (S4.9). Only a
    /// sender in the same mode understands that the data before it are not acknowledged.
    Paper,
    /// Any, by its sequence number in the option; negotiated by a plain notification in both SYNs.
    Extended,
}

/// Reactions of the sender to a notification (S4.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reaction {
    /// Nothing: corruption is not congestion.
    Ignore,
    /// As of a mark of the network: reduce, once per round trip.
    #[default]
    AsMark,
    /// As of a loss: reduce, for every notification.
    AsLoss,
}

#[cfg(test)]
mod tests {
    use super::*;

    //= S2.3
    #[test]
    fn the_recommended_settings_fit_a_header_without_options() {
        let config = TcpConfig::energy_saving();
        // The largest window that 16 bits express, and a link frame of 2296 bytes.
        assert_eq!((config.receive_buffer, config.window_shift()), (65_535.into(), 0));
        assert_eq!(config.mss, 2_256);
        assert!(!config.timestamps && !config.window_scale && !config.sack);
        assert_eq!((config.paws, config.congestion_control), (Paws::Off, CongestionControl::RENO));
    }

    #[test]
    fn the_shift_is_the_least_that_expresses_the_buffer() {
        for (buffer, shift) in [(1, 0), (65_535, 0), (65_536, 1), (1 << 20, 5), (1 << 31, 14)] {
            let config = TcpConfig { receive_buffer: buffer.into(), ..TcpConfig::default() };
            assert_eq!(config.window_shift(), shift, "{buffer}");
        }
    }

    #[test]
    fn the_textbooks_and_the_papers_know_nothing_that_came_later() {
        let sets = [
            TcpConfig::new_reno(),
            TcpConfig::net3_reno(),
            TcpConfig::netbsd_1_2(),
            TcpConfig::energy_saving(),
        ];
        for it in sets {
            assert!(!it.hystart && !it.rack && !it.prr && !it.f_rto && !it.pacing, "{it:?}");
            let is_fixed = |size: BufferSize| size.initial == size.most;
            assert!(is_fixed(it.send_buffer) && is_fixed(it.receive_buffer), "{it:?}");
        }
        let today = TcpConfig::default();
        assert!(today.hystart && today.rack && today.prr && today.f_rto);
    }

    #[test]
    fn the_old_tcps_are_what_the_sources_say() {
        //= S3.15
        let old = TcpConfig::net3_reno();
        assert_eq!((old.send_buffer, old.receive_buffer), (16_384.into(), 16_384.into()));
        assert_eq!((old.paws, old.timestamps, old.window_scale), (Paws::Off, false, false));
        assert_eq!((old.initial_window, old.byte_counting), (1, false));
        assert_eq!((old.retries, old.syn_retries), (12, 4));
        let netbsd = TcpConfig::netbsd_1_2();
        assert_eq!((netbsd.timestamps, netbsd.window_scale, netbsd.ack_pushes), (true, true, true));
        assert_eq!(netbsd.timeout.in_ticks, TickEstimation::NetBsd);
        assert_eq!(netbsd.receive_buffer, old.receive_buffer);
    }

    #[test]
    fn to_save_energy_acknowledgments_follow_the_time() {
        //= S2.10
        let interval = Duration::from_millis(500);
        assert_eq!(TcpConfig::energy_saving().acks, AckPolicy::TimeOnly { interval });
    }
}
