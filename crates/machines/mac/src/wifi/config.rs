//! The configuration of a station.

use core::iter;
use core::num::NonZeroU8;
use std::sync::Arc;

use windfall_base::{Duration, Preamble, Rate};
use windfall_wire_link::ieee80211::coding::REPORT_LEN;
use windfall_wire_link::ieee80211::header::{DATA_HEADER, FCS_LEN, MAX_BODY};
use windfall_wire_link::ieee80211::management::Ssid;
use windfall_wire_link::ieee80211::timing::{ACK_LEN, RTS_LEN};
use windfall_wire_link::ieee80211::{Code, MacAddress, Phy, PhyRate, Timing, snap};

use super::rate_control::{self, RateControlKind, Setup};

/// Above every frame: the threshold that switches RTS/CTS or fragmentation off.
pub const NO_THRESHOLD: usize = DATA_HEADER + MAX_BODY + FCS_LEN + 15;
/// The smallest fragment that the standard allows, in bytes of the whole frame.
pub const LEAST_FRAGMENT: usize = 256;

/// Bytes of WEP before the body, and after it.
pub(super) const WEP: usize = 4;

/// The answer of the contention window to collisions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backoff {
    /// Doubled after each failure, smallest after each success.
    #[default]
    Binary,
    /// MACAW: one and a half times as large after each failure, one less after each success
    /// (S2.46).
    Mild,
    /// Always the smallest.
    Constant,
}

impl Backoff {
    /// Returns the window after a failure with one of up to `window` slots.
    pub(super) fn grown(self, window: u16) -> u16 {
        match self {
            Self::Binary => window.saturating_mul(2).saturating_add(1),
            Self::Mild => window.saturating_add(window.div_ceil(2)),
            Self::Constant => window,
        }
    }
}

/// The receptions after which a station waits EIFS instead of DIFS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EifsPolicy {
    /// Whenever a preamble was heard and no whole frame came of it.
    Always,
    /// Only after frames whose PHY header could be read. The standard asks for EIFS after a frame
    /// whose beginning the PHY has indicated to the MAC (802.11-2007, 9.2.3.4), by
    /// PHY-RXSTART.indication, which is not issued where the check of the header fails (17.3.12,
    /// 18.2.6). Radio cards and ns-3 do the same.
    #[default]
    ReadableHeader,
    /// Never, as Bianchi's model assumes.
    Never,
}

/// The frames with which a station of 802.11g reserves the medium before a frame of OFDM, which
/// stations of 802.11b cannot read (802.11-2007, 9.13).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// A CTS to the station itself, which nothing answers.
    CtsToSelf,
    /// RTS and CTS; before frames that nothing acknowledges a CTS to the station itself.
    RtsCts,
}

/// The beginning of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opening {
    /// The data frame.
    Data,
    /// A CTS to the station itself.
    Clearance,
    /// A request to send.
    Request,
}

/// The number of attempts of a packet, in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retries {
    /// Frames up to the RTS threshold, and RTS frames.
    pub short: NonZeroU8,
    /// Frames above the RTS threshold.
    pub long: NonZeroU8,
}

impl Default for Retries {
    /// Seven and four.
    fn default() -> Self {
        const SHORT: NonZeroU8 = NonZeroU8::new(7).unwrap();
        const LONG: NonZeroU8 = NonZeroU8::new(4).unwrap();
        Self { short: SHORT, long: LONG }
    }
}

/// The part of a station in its network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// It talks to every other station without a relay.
    #[default]
    AdHoc,
    //= S2.19
    /// Others join it, and talk to each other through it; its address names the network.
    AccessPoint {
        /// The name of the network.
        ssid: Ssid,
        /// Between beacons, in units of 1024 µs.
        interval: u16,
        /// The channel, which its beacons state.
        channel: u8,
    },
    //= S2.19
    /// It joins the access point of this name with the strongest signal, and roams to a better one.
    Member {
        /// The name of the network.
        ssid: Ssid,
        /// Set if it switches the radio off between beacons.
        power_save: bool,
    },
}

/// The configuration of a station of 802.11b or g. Stations of a cell must have the same slot.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Its own address.
    pub address: MacAddress,
    /// The name of its network on the air: the BSSID.
    pub network: MacAddress,
    /// Its part in the network.
    pub role: Role,
    /// The PHY, which defines the rates.
    pub phy: Phy,
    /// Slots, gaps and windows.
    pub timing: Timing,
    /// The rate of data frames, unless the rate control chooses it.
    pub rate: PhyRate,
    /// The choice of the rate of each attempt.
    pub rate_control: RateControlKind,
    /// Data frames to individual addresses are coded, with this code unless the rate control
    /// chooses one, and acknowledgements report the corrections. All stations of a network must
    /// agree.
    pub coding: Option<Code>,
    /// Keep frames that stay damaged, and make whole ones of several copies; of coded frames.
    pub combine: bool,
    /// The rates that every station understands; responses and group frames use them.
    pub basic_rates: Vec<PhyRate>,
    /// The form of the preamble at the rates that have two.
    pub preamble: Preamble,
    /// Frames longer than this are preceded by RTS and CTS, in bytes of the whole frame.
    pub rts_threshold: usize,
    /// The rate of RTS and CTS frames; if `None`, an RTS goes at the highest suitable basic rate,
    /// and a CTS as every response.
    pub rts_rate: Option<PhyRate>,
    /// The reservation of the medium before frames of OFDM; none if `None`.
    pub protection: Option<Protection>,
    /// Stations that have the rates of 802.11b alone: frames to them go at none of OFDM.
    pub without_ofdm: Arc<[MacAddress]>,
    /// Packets whose frame would be longer are cut, in bytes of the whole frame.
    pub fragment_threshold: usize,
    /// The number of attempts of a packet.
    pub retries: Retries,
    /// The growth of the contention window.
    pub backoff: Backoff,
    /// The receptions after which EIFS applies.
    pub eifs: EifsPolicy,
    /// Frames bear the eight bytes of WEP; nothing is encrypted (S2.19).
    pub wep: bool,
    /// Pass up frames whose check failed if their address is right (S0.11).
    pub accept_damaged: bool,
    /// Report each state of the radio as an event.
    pub observe_radio: bool,
}

impl Config {
    /// A station of a network at its highest rate, with the defaults of the standard.
    #[must_use]
    pub fn new(address: MacAddress, phy: Phy) -> Self {
        Self {
            address,
            network: MacAddress([0x02, b'w', b'i', b'n', 0xff, 0xff]),
            role: Role::default(),
            phy,
            timing: Timing::of(phy, true),
            rate: phy.highest_rate(),
            rate_control: RateControlKind::default(),
            coding: None,
            combine: false,
            basic_rates: phy.basic_rates().to_vec(),
            preamble: Preamble::Long,
            rts_threshold: NO_THRESHOLD,
            rts_rate: None,
            protection: None,
            without_ofdm: Arc::default(),
            fragment_threshold: NO_THRESHOLD,
            retries: Retries::default(),
            backoff: Backoff::default(),
            eifs: EifsPolicy::default(),
            wep: false,
            accept_damaged: false,
            observe_radio: false,
        }
    }

    /// The lowest rate that every station understands.
    #[must_use]
    pub fn lowest_basic_rate(&self) -> PhyRate {
        let lowest = match self.phy {
            Phy::B | Phy::G => PhyRate::Dsss1,
        };
        self.basic_rates.iter().copied().min_by_key(|rate| rate.rate()).unwrap_or(lowest)
    }

    /// The rate of a response to a frame at `rate`: the highest basic rate that is not higher and
    /// of the same kind, and the highest mandatory one if there is none (802.11-2007, 9.6).
    #[must_use]
    pub fn response_rate(&self, rate: PhyRate) -> PhyRate {
        let fits = |known: &PhyRate| *known <= rate && known.is_ofdm() == rate.is_ofdm();
        let basic = self.basic_rates.iter().copied().filter(fits).max();
        let mandatory = || PhyRate::ALL.into_iter().filter(|rate| rate.is_mandatory());
        basic.or_else(|| mandatory().filter(fits).max()).unwrap_or(rate)
    }

    /// The rate of an RTS before a frame at `rate`: the configured one, or a basic one, of the same
    /// kind if there is one, and of 802.11b where that protects frames of OFDM.
    #[must_use]
    pub fn request_rate(&self, rate: PhyRate) -> PhyRate {
        if let Some(rate) = self.rts_rate {
            return rate;
        }
        let is_read = |basic: &PhyRate| self.protection.is_none() || !basic.is_ofdm();
        let basic = self.basic_rates.iter().copied().filter(is_read);
        let basic = basic.filter(|basic| *basic <= rate);
        let alike = |basic: &PhyRate| (basic.is_ofdm() == rate.is_ofdm(), *basic);
        basic.max_by_key(alike).unwrap_or_else(|| self.lowest_basic_rate())
    }

    /// The rate of a CTS that answers an RTS at `rate`.
    #[must_use]
    pub fn clear_rate(&self, rate: PhyRate) -> PhyRate {
        self.rts_rate.unwrap_or_else(|| self.response_rate(rate))
    }

    /// Returns how the exchange of a frame of `len` bytes at `rate` begins; without a request if it
    /// `is_unanswered`.
    pub(super) fn opening(&self, rate: PhyRate, len: usize, is_unanswered: bool) -> Opening {
        let protection = self.protection.filter(|_| rate.is_ofdm());
        let is_requested = len > self.rts_threshold || protection == Some(Protection::RtsCts);
        match protection {
            _ if is_requested && !is_unanswered => Opening::Request,
            Some(_) => Opening::Clearance,
            None => Opening::Data,
        }
    }

    /// Returns the time from such a beginning to that of the data frame at `rate`.
    pub(super) fn opening_time(&self, opening: Opening, rate: PhyRate) -> Duration {
        let request = self.request_rate(rate);
        let time = |rate: PhyRate, len| rate.frame_duration(self.preamble, len) + self.timing.sifs;
        match opening {
            Opening::Data => Duration::ZERO,
            Opening::Clearance => time(request, ACK_LEN),
            Opening::Request => time(request, RTS_LEN) + time(self.clear_rate(request), ACK_LEN),
        }
    }

    /// Returns the rate to `peer` for frames that would otherwise be sent at `rate`.
    pub(super) fn rate_to(&self, peer: MacAddress, rate: PhyRate) -> PhyRate {
        if self.reads_ofdm(peer) { rate } else { rate.without_ofdm() }
    }

    /// Returns `true` if a station, or each of a group, reads frames of OFDM.
    pub(super) fn reads_ofdm(&self, peer: MacAddress) -> bool {
        let is_for_all = peer.is_group() && !self.without_ofdm.is_empty();
        !is_for_all && !self.without_ofdm.contains(&peer)
    }

    /// Returns the time from the end of a PS-Poll to that of its acknowledgement.
    pub(super) fn poll_answer_time(&self) -> Duration {
        let rate = self.response_rate(self.lowest_basic_rate());
        self.timing.sifs + rate.frame_duration(self.preamble, self.ack_len())
    }

    /// Returns the bytes of an acknowledgement, with its report if frames are coded.
    #[must_use]
    pub const fn ack_len(&self) -> usize {
        if self.coding.is_some() { ACK_LEN + REPORT_LEN } else { ACK_LEN }
    }

    /// Returns the mean time before a frame at the smallest contention window.
    #[must_use]
    pub fn contention_time(&self) -> Duration {
        self.contention_time_of(self.timing.cw_min)
    }

    /// Returns the time before a frame in which no other may begin: DIFS, and the mean of a backoff
    /// of up to `window` slots.
    pub(super) fn contention_time_of(&self, window: u16) -> Duration {
        self.timing.difs() + self.timing.slot * u64::from(window) / 2
    }

    /// Returns the air time of one attempt at a frame of `len` bytes for one station at `rate`,
    /// with all that the exchange takes beside the frame.
    #[must_use]
    pub fn attempt_time(&self, rate: PhyRate, len: usize) -> Duration {
        let sifs = self.timing.sifs;
        let time = |rate: PhyRate, len| rate.frame_duration(self.preamble, len);
        let opening = self.opening(rate, len, false);
        let before = self.contention_time() + self.opening_time(opening, rate);
        before + time(rate, len) + sifs + time(self.response_rate(rate), self.ack_len())
    }

    /// Returns the air time of one attempt at a packet of `bytes` bytes at the highest rate that
    /// the station may choose.
    #[must_use]
    pub fn packet_time(&self, bytes: usize) -> Duration {
        let wep = if self.wep { 2 * WEP } else { 0 };
        let len = DATA_HEADER + wep + snap::LEN + bytes + FCS_LEN;
        self.attempt_time(self.highest_rate(), len)
    }

    /// Returns the highest rate that the station may choose.
    #[must_use]
    pub fn highest_rate(&self) -> PhyRate {
        let ladder = self.rate_control.is_adaptive.then(|| rate_control::ladder(self.phy));
        ladder.and_then(|mut rates| rates.next_back()).unwrap_or(self.rate)
    }

    /// Returns the rates among which the rate control may choose for a station of `phy`.
    pub(super) fn rates(&self, phy: Phy) -> Setup {
        let phy = if self.phy == Phy::B { Phy::B } else { phy };
        let rates: Vec<_> = if self.rate_control.is_adaptive {
            rate_control::ladder(phy).collect()
        } else {
            vec![if phy == Phy::B { self.rate.without_ofdm() } else { self.rate }]
        };
        let answer = |rate: &PhyRate| {
            let ack = self.response_rate(*rate).frame_duration(self.preamble, self.ack_len());
            self.timing.sifs + ack
        };
        let answers = rates.iter().map(answer).collect();
        let mut contention = self.contention_time();
        let growth = self.contention_time_of(self.backoff.grown(self.timing.cw_min)) - contention;
        // All of the rates are of one kind.
        if let Some(&rate) = rates.first() {
            contention += self.opening_time(self.opening(rate, 0, false), rate);
        }
        Setup { rates, preamble: self.preamble, contention, growth, answers }
    }

    /// The rate in the form of the PHY; `None` if this PHY has no such rate.
    #[must_use]
    pub fn phy_rate(&self, rate: Rate) -> Option<PhyRate> {
        PhyRate::from_rate(rate).filter(|rate| self.phy.has(*rate))
    }

    /// Checks that a station can be built so.
    ///
    /// # Errors
    /// Names the first value that cannot be, and the fix.
    pub fn check(&self) -> Result<(), ConfigError> {
        let rates = iter::once(&self.rate).chain(&self.basic_rates).chain(&self.rts_rate);
        if let Some(rate) = rates.copied().find(|rate| !self.phy.has(*rate)) {
            return Err(ConfigError::Rate { rate, phy: self.phy });
        }
        if self.basic_rates.is_empty() {
            return Err(ConfigError::NoBasicRate);
        }
        let is_shared = self.protection.is_some();
        if is_shared && let Some(rate) = self.rts_rate.filter(|rate| rate.is_ofdm()) {
            return Err(ConfigError::UnreadRequest(rate));
        }
        if is_shared && self.basic_rates.iter().all(|rate| rate.is_ofdm()) {
            return Err(ConfigError::UnreadProtection);
        }
        let fragment = self.fragment_threshold;
        if !(LEAST_FRAGMENT..=NO_THRESHOLD).contains(&fragment) {
            return Err(ConfigError::FragmentThreshold(fragment));
        }
        if self.rts_threshold > NO_THRESHOLD {
            return Err(ConfigError::RtsThreshold(self.rts_threshold));
        }
        if self.wep && self.coding.is_some() {
            return Err(ConfigError::CodedWep);
        }
        if self.combine && self.coding.is_none() {
            return Err(ConfigError::UncodedCopies);
        }
        Ok(())
    }
}

/// Why a station cannot be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The PHY has no such rate.
    #[error("{phy:?} has no rate of {rate}: choose 1, 2, 5.5 or 11 Mb/s, or use 802.11g")]
    Rate {
        /// The rate that is refused.
        rate: PhyRate,
        /// The PHY of the station.
        phy: Phy,
    },
    /// No rate is understood by everybody.
    #[error("the list of basic rates is empty: name one at least, such as 1Mbps")]
    NoBasicRate,
    /// Stations of 802.11b would not read the frames that reserve the medium.
    #[error(
        "rts-rate {0} is one of OFDM, which stations of 802.11b do not read: use 1, 2, 5.5 or 11 \
         Mb/s, or protection = \"none\""
    )]
    UnreadRequest(PhyRate),
    /// There is no rate for the frames that reserve the medium.
    #[error(
        "protection goes at a basic rate that stations of 802.11b read: add 1Mbps or 2Mbps to \
         basic-rates, or protection = \"none\""
    )]
    UnreadProtection,
    /// Fragments would be too short or too long.
    #[error(
        "a fragmentation threshold of {0} bytes is not between {LEAST_FRAGMENT} and {NO_THRESHOLD}"
    )]
    FragmentThreshold(usize),
    /// The threshold is beyond every frame.
    #[error("an RTS threshold of {0} bytes is above {NO_THRESHOLD}, which switches RTS off")]
    RtsThreshold(usize),
    /// Coded frames have no place for the bytes of WEP.
    #[error("frames with wep are not coded: remove wep or policy")]
    CodedWep,
    /// Only coded frames are reported and combined.
    #[error(
        "combine changes nothing on a wifi link without a policy, by which frames are coded: add \
         policy = \"parity-16\", or remove it"
    )]
    UncodedCopies,
}
