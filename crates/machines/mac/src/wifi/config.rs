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

/// The threshold that switches RTS/CTS or fragmentation off: no frame is longer.
///
/// The value is 2347, the default of dot11RTSThreshold.
pub const NO_THRESHOLD: usize = DATA_HEADER + MAX_BODY + FCS_LEN + 15;
/// The smallest fragmentation threshold that the standard allows, in bytes of the whole frame.
pub const LEAST_FRAGMENT: usize = 256;

/// The bytes of WEP before the body (IV and key ID), and after it (ICV).
pub(super) const WEP: usize = 4;

/// The adaptation of the contention window to failures and successes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backoff {
    /// Binary exponential backoff: doubled after each failure, the minimum after each success.
    #[default]
    Binary,
    /// MILD of MACAW: multiplied by 1.5 after each failure, reduced by one after each success
    /// (S2.46).
    Mild,
    /// Always the minimum.
    Constant,
}

impl Backoff {
    /// Returns the contention window after a failure at contention window `window`.
    pub(super) fn grown(self, window: u16) -> u16 {
        match self {
            Self::Binary => window.saturating_mul(2).saturating_add(1),
            Self::Mild => window.saturating_add(window.div_ceil(2)),
            Self::Constant => window,
        }
    }
}

/// The failed receptions after which a station waits EIFS instead of DIFS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EifsPolicy {
    /// Every reception with a preamble but without an intact frame.
    Always,
    /// Only frames with a readable PHY header. The standard requires EIFS after
    /// PHY-RXSTART.indication (802.11-2007, 9.2.3.4). The PHY does not issue that indication if the
    /// check of the header fails (17.3.12, 18.2.6). Radio cards and ns-3 do the same.
    #[default]
    ReadableHeader,
    /// None, as in Bianchi's model.
    Never,
}

/// The protection mechanism: the frames by which a station of 802.11g sets the NAV of 802.11b
/// stations before an OFDM frame, which they cannot read (802.11-2007, 9.13).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// CTS-to-self, which has no response.
    CtsToSelf,
    /// RTS and CTS; CTS-to-self before frames without acknowledgement.
    RtsCts,
}

/// The first frame of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opening {
    /// The exchange begins with the data frame.
    Data,
    /// The exchange begins with a CTS-to-self.
    Clearance,
    /// The exchange begins with an RTS.
    Request,
}

/// The retry limits: the number of attempts of a packet in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retries {
    /// For frames up to the RTS threshold, and for RTS frames (dot11ShortRetryLimit).
    pub short: NonZeroU8,
    /// For frames above the RTS threshold (dot11LongRetryLimit).
    pub long: NonZeroU8,
}

impl Default for Retries {
    /// Returns the defaults of the standard: seven and four.
    fn default() -> Self {
        const SHORT: NonZeroU8 = NonZeroU8::new(7).unwrap();
        const LONG: NonZeroU8 = NonZeroU8::new(4).unwrap();
        Self { short: SHORT, long: LONG }
    }
}

/// The role of a station in its network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// A station of an independent BSS, which sends to every other station directly.
    #[default]
    AdHoc,
    //= S2.19
    /// The access point: others associate with it, and it relays between them. Its address is the
    /// BSSID.
    AccessPoint {
        /// The SSID of the network.
        ssid: Ssid,
        /// The beacon interval, in TUs of 1024 µs.
        interval: u16,
        /// The channel number in its beacons.
        channel: u8,
    },
    //= S2.19
    /// A non-AP station. It associates with the access point of this SSID that has the strongest
    /// signal, and roams to a better one.
    Member {
        /// The SSID of the network.
        ssid: Ssid,
        /// Power save mode: the radio is off between beacons.
        power_save: bool,
    },
}

/// The configuration of an 802.11b or 802.11g station. All stations of a cell need the same slot
/// time.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The station's own address.
    pub address: MacAddress,
    /// The BSSID of the station's network.
    pub network: MacAddress,
    /// The only other station of the network; `None` if there are several, or unknown ones. All
    /// frames of the only peer are for this station, so numbers missing in its sequence are lost
    /// frames.
    pub only_peer: Option<MacAddress>,
    /// The station's role in the network.
    pub role: Role,
    /// The PHY, which determines the rates.
    pub phy: Phy,
    /// The slot time, the interframe spaces and the contention windows.
    pub timing: Timing,
    /// The rate of data frames if the rate control is fixed.
    pub rate: PhyRate,
    /// The rate control.
    pub rate_control: RateControlKind,
    /// Codes individually addressed data frames, with this code unless the rate control chooses
    /// one. Acknowledgements then report the number of corrected symbols. Of two stations that
    /// exchange frames, both must code or neither. Their codes may differ, because each frame names
    /// its code.
    pub coding: Option<Code>,
    /// Keeps coded frames that could not be corrected, and combines several copies of a frame. Only
    /// the receiver decides: senders obey the requests in its reports.
    pub combine: bool,
    /// The BSSBasicRateSet, which all stations support: for responses and group-addressed frames.
    pub basic_rates: Vec<PhyRate>,
    /// The preamble at the rates that allow a long and a short one.
    pub preamble: Preamble,
    /// Frames longer than this are preceded by RTS and CTS; in bytes of the whole frame.
    pub rts_threshold: usize,
    /// The rate of RTS and CTS frames. If `None`, an RTS uses the highest suitable basic rate, and
    /// a CTS the rate of any response.
    pub rts_rate: Option<PhyRate>,
    /// The protection of OFDM frames; `None` for no protection.
    pub protection: Option<Protection>,
    /// The stations that support only 802.11b rates: frames to them never use OFDM.
    pub without_ofdm: Arc<[MacAddress]>,
    /// Packets whose frame would be longer are fragmented; in bytes of the whole frame.
    pub fragment_threshold: usize,
    /// The retry limits.
    pub retries: Retries,
    /// The growth of the contention window.
    pub backoff: Backoff,
    /// The failed receptions after which EIFS applies.
    pub eifs: EifsPolicy,
    /// Frames carry the eight bytes of WEP; nothing is encrypted (S2.19).
    pub wep: bool,
    /// Passes up frames with a wrong FCS if their address matches (S0.11).
    pub accept_damaged: bool,
    /// Reports each state of the radio as an event.
    pub observe_radio: bool,
}

impl Config {
    /// Returns the configuration of a station at its highest rate, with the defaults of the
    /// standard.
    #[must_use]
    pub fn new(address: MacAddress, phy: Phy) -> Self {
        Self {
            address,
            network: MacAddress([0x02, b'w', b'i', b'n', 0xff, 0xff]),
            only_peer: None,
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

    /// Returns the lowest basic rate.
    #[must_use]
    pub fn lowest_basic_rate(&self) -> PhyRate {
        let lowest = match self.phy {
            Phy::B | Phy::G => PhyRate::Dsss1,
        };
        self.basic_rates.iter().copied().min_by_key(|rate| rate.rate()).unwrap_or(lowest)
    }

    /// Returns the rate of a response to a frame at `rate` (802.11-2007, 9.6): the highest basic
    /// rate of the same modulation class that is not higher. If there is none, it is the highest
    /// mandatory rate.
    #[must_use]
    pub fn response_rate(&self, rate: PhyRate) -> PhyRate {
        let fits = |known: &PhyRate| *known <= rate && known.is_ofdm() == rate.is_ofdm();
        let basic = self.basic_rates.iter().copied().filter(fits).max();
        let mandatory = || PhyRate::ALL.into_iter().filter(|rate| rate.is_mandatory());
        basic.or_else(|| mandatory().filter(fits).max()).unwrap_or(rate)
    }

    /// Returns the rate of an RTS before a frame at `rate`. This is the configured rate, or else a
    /// basic rate, of the same modulation class if possible. If the RTS protects OFDM frames, it is
    /// an 802.11b rate.
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

    /// Returns the rate of a CTS in response to an RTS at `rate`.
    #[must_use]
    pub fn clear_rate(&self, rate: PhyRate) -> PhyRate {
        self.rts_rate.unwrap_or_else(|| self.response_rate(rate))
    }

    /// Returns the first frame of the exchange of a frame of `len` bytes at `rate`. A frame without
    /// acknowledgement (`is_unanswered`) has no RTS.
    pub(super) fn opening(&self, rate: PhyRate, len: usize, is_unanswered: bool) -> Opening {
        let protection = self.protection.filter(|_| rate.is_ofdm());
        let is_requested = len > self.rts_threshold || protection == Some(Protection::RtsCts);
        match protection {
            _ if is_requested && !is_unanswered => Opening::Request,
            Some(_) => Opening::Clearance,
            None => Opening::Data,
        }
    }

    /// Returns the time from the beginning of `opening` to the beginning of the data frame at
    /// `rate`.
    pub(super) fn opening_time(&self, opening: Opening, rate: PhyRate) -> Duration {
        let request = self.request_rate(rate);
        let time = |rate: PhyRate, len| rate.frame_duration(self.preamble, len) + self.timing.sifs;
        match opening {
            Opening::Data => Duration::ZERO,
            Opening::Clearance => time(request, ACK_LEN),
            Opening::Request => time(request, RTS_LEN) + time(self.clear_rate(request), ACK_LEN),
        }
    }

    /// Returns `rate`, or a lower rate without OFDM if `peer` does not support OFDM.
    pub(super) fn rate_to(&self, peer: MacAddress, rate: PhyRate) -> PhyRate {
        if self.reads_ofdm(peer) { rate } else { rate.without_ofdm() }
    }

    /// Returns `true` if a station, or each station of a group, supports OFDM.
    pub(super) fn reads_ofdm(&self, peer: MacAddress) -> bool {
        let is_for_all = peer.is_group() && !self.without_ofdm.is_empty();
        !is_for_all && !self.without_ofdm.contains(&peer)
    }

    /// Returns the time from the end of a PS-Poll to the end of its acknowledgement.
    pub(super) fn poll_answer_time(&self) -> Duration {
        let rate = self.response_rate(self.lowest_basic_rate());
        self.timing.sifs + rate.frame_duration(self.preamble, self.ack_len())
    }

    /// Returns the length of an acknowledgement in bytes, with its report if frames are coded.
    #[must_use]
    pub const fn ack_len(&self) -> usize {
        if self.coding.is_some() { ACK_LEN + REPORT_LEN } else { ACK_LEN }
    }

    /// Returns DIFS plus the mean backoff at the minimum contention window.
    #[must_use]
    pub fn contention_time(&self) -> Duration {
        self.contention_time_of(self.timing.cw_min)
    }

    /// Returns DIFS plus the mean backoff at contention window `window`, in slots.
    pub(super) fn contention_time_of(&self, window: u16) -> Duration {
        self.timing.difs() + self.timing.slot * u64::from(window) / 2
    }

    /// Returns the air time of one attempt at an individually addressed frame of `len` bytes at
    /// `rate`, with backoff, RTS/CTS or CTS-to-self, interframe spaces and ACK.
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
        // All these rates have the same modulation class.
        if let Some(&rate) = rates.first() {
            contention += self.opening_time(self.opening(rate, 0, false), rate);
        }
        Setup { rates, preamble: self.preamble, contention, growth, answers }
    }

    /// Converts a rate to a rate of this PHY; `None` if the PHY does not have it.
    #[must_use]
    pub fn phy_rate(&self, rate: Rate) -> Option<PhyRate> {
        PhyRate::from_rate(rate).filter(|rate| self.phy.has(*rate))
    }

    /// Checks that the configuration is valid.
    ///
    /// # Errors
    /// Names the first invalid value, and the fix.
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
#[non_exhaustive]
pub enum ConfigError {
    /// The PHY has no such rate.
    #[error("{phy:?} has no rate of {rate}: choose 1, 2, 5.5 or 11 Mb/s, or use 802.11g")]
    Rate {
        /// The rate that is refused.
        rate: PhyRate,
        /// The PHY of the station.
        phy: Phy,
    },
    /// The basic rate set is empty.
    #[error("the list of basic rates is empty: name one at least, such as 1Mbps")]
    NoBasicRate,
    /// An RTS at an OFDM rate does not protect against 802.11b stations.
    #[error(
        "rts-rate {0} is one of OFDM, which stations of 802.11b do not read: use 1, 2, 5.5 or 11 \
         Mb/s, or protection = \"none\""
    )]
    UnreadRequest(PhyRate),
    /// There is no basic rate for protection frames that 802.11b stations can read.
    #[error(
        "protection goes at a basic rate that stations of 802.11b read: add 1Mbps or 2Mbps to \
         basic-rates, or protection = \"none\""
    )]
    UnreadProtection,
    /// The fragmentation threshold is out of range.
    #[error(
        "a fragmentation threshold of {0} bytes is not between {LEAST_FRAGMENT} and {NO_THRESHOLD}"
    )]
    FragmentThreshold(usize),
    /// The RTS threshold is longer than any frame.
    #[error("an RTS threshold of {0} bytes is above {NO_THRESHOLD}, which switches RTS off")]
    RtsThreshold(usize),
    /// The format of coded frames has no room for the fields of WEP.
    #[error("frames with wep are not coded: remove wep or policy")]
    CodedWep,
    /// Only coded frames are reported and combined.
    #[error(
        "combine changes nothing on a wifi link without a policy, by which frames are coded: add \
         policy = \"parity-16\", or remove it"
    )]
    UncodedCopies,
}
