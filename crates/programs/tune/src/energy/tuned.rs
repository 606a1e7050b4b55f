//! What the search turns: settings of TCP, of the radio, and their values.

use core::str::FromStr;

use windfall_base::nearest;
use windfall_scenario::wifi::Radio;
use windfall_scenario::{
    DEFAULT_MTU, Direction, Get as _, Link, LinkKind, Scenario, Setting, Settings, TcpSetting,
    TcpSettings, without_span,
};

/// A setting: a setting that is changed at every station, or at every link of 802.11.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TunedSetting {
    /// The greatest segment of TCP; a link of 802.11 takes longer packets where it needs them.
    Mss,
    /// The time of acknowledgments.
    DelayedAck,
    /// The timestamps option.
    Timestamps,
    /// The option of selective acknowledgments.
    Sack,
    /// Windows above 65535 bytes.
    WindowScale,
    /// The length of frames beyond which RTS and CTS come first.
    RtsThreshold,
    /// The rate of the radio.
    Rate,
    /// The power of the radio.
    Power,
}

/// Bytes of the headers of IP and TCP in a packet, and the longest packet of 802.11 (S2.12).
pub(super) const HEADERS: u16 = 40;
const MOST_MTU: u16 = 2_296;
/// An RTS threshold that no frame exceeds.
const NO_RTS: &str = "2347";
/// The rate that a link chooses by itself together with its code: a policy in place of a rate.
pub(super) const JOINT: &str = "joint";

impl TunedSetting {
    /// All settings, those first that matter most in paper 002.
    pub const ALL: [Self; 8] = [
        Self::Mss,
        Self::DelayedAck,
        Self::Timestamps,
        Self::Sack,
        Self::WindowScale,
        Self::RtsThreshold,
        Self::Rate,
        Self::Power,
    ];

    /// Returns its name, that of the setting of TCP or of the link.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rate => rate().name,
            Self::RtsThreshold => Radio::row(|it| &it.rts_threshold).name,
            Self::Power => Radio::row(|it| &it.power).name,
            _ => self.of_tcp().map_or("", |setting| setting.name),
        }
    }

    /// Returns the setting of TCP that it is, if it is one.
    #[must_use]
    pub fn of_tcp(self) -> Option<&'static TcpSetting> {
        match self {
            Self::Mss => Some(mss()),
            Self::DelayedAck => Some(TcpSetting::row(|it| &it.acks)),
            Self::Timestamps => Some(TcpSetting::row(|it| &it.timestamps)),
            Self::Sack => Some(TcpSetting::row(|it| &it.sack)),
            Self::WindowScale => Some(TcpSetting::row(|it| &it.window_scale)),
            Self::RtsThreshold | Self::Rate | Self::Power => None,
        }
    }

    /// Tells whether it is a setting of TCP.
    #[must_use]
    pub fn is_of_tcp(self) -> bool {
        self.of_tcp().is_some()
    }

    /// Tells whether the scenario has what it changes.
    pub(super) fn is_of(self, scenario: &Scenario) -> bool {
        self.is_of_tcp() || scenario.links.iter().any(is_wifi)
    }

    /// Returns the values that are tried; none if the scenario has nothing to change.
    pub(super) fn values(self, scenario: &Scenario) -> Vec<String> {
        let words = |values: &[&str]| values.iter().map(|it| (*it).to_owned()).collect();
        let mut wifi = scenario.links.iter().filter(|link| is_wifi(link));
        match self {
            Self::Mss => {
                let least = scenario.links.iter().map(|link| room(link) - HEADERS).min();
                let most = least.unwrap_or(DEFAULT_MTU - HEADERS);
                let mut sizes: Vec<u16> =
                    [460, 960, 1_460].into_iter().filter(|size| *size < most).collect();
                sizes.push(most);
                sizes.iter().map(ToString::to_string).collect()
            }
            Self::DelayedAck => {
                words(&["off", "every:2:40ms", "every:2:200ms", "time:200ms", "time:500ms"])
            }
            Self::Timestamps | Self::Sack | Self::WindowScale => words(&["on", "off"]),
            Self::RtsThreshold if wifi.next().is_some() => words(&["500", "1000", NO_RTS]),
            Self::Rate => {
                let fixed = wifi.filter(|link| !is_adaptive(link));
                let mut all = fixed.map(|link| rates(link.kind())).min().unwrap_or_default();
                if !all.is_empty() {
                    all.push(JOINT.to_owned());
                }
                all
            }
            Self::Power if wifi.next().is_some() => words(&["5dBm", "10dBm", "15dBm", "20dBm"]),
            Self::RtsThreshold | Self::Power => Vec::new(),
        }
    }

    /// Returns its value in the scenario as it stands, at the first station or link.
    pub(super) fn current(self, scenario: &Scenario) -> String {
        if let Some(setting) = self.of_tcp() {
            let tcp = scenario.stations.first().and_then(|it| it.tcp.value()).unwrap_or_default();
            let value = setting.text_of(tcp.config());
            return match (self, value.parse::<u16>()) {
                // A packet of the link holds no more.
                (Self::Mss, Ok(mss)) => {
                    let rooms = scenario.links.iter().map(|link| link.mtu().max(68) - HEADERS);
                    mss.min(rooms.min().unwrap_or(mss)).to_string()
                }
                _ => plain_ack(&value),
            };
        }
        let Some(link) = scenario.links.iter().find(|link| is_wifi(link)) else {
            return String::new();
        };
        match self {
            Self::RtsThreshold => Radio::row(|it| &it.rts_threshold).text(&link.radio),
            Self::Power => Radio::row(|it| &it.power).text(&link.radio),
            _ => {
                let of = |row: &Setting<Direction>| row.text(&link.both);
                of(rate()).or_else(|| of(policy()).filter(|policy| policy == JOINT))
            }
        }
        .unwrap_or_else(|| self.of_itself(link))
    }

    /// The value that a link has where nothing is set.
    fn of_itself(self, link: &Link) -> String {
        match self {
            Self::RtsThreshold => NO_RTS.to_owned(),
            Self::Power => "15dBm".to_owned(),
            _ => rates(link.kind()).last().cloned().unwrap_or_default(),
        }
    }

    /// Sets it at every station or link of a scenario.
    ///
    /// # Errors
    /// If it takes no such value; says what to write.
    pub(super) fn set(self, scenario: &mut Scenario, value: &str) -> Result<(), String> {
        if let Some(setting) = self.of_tcp() {
            for station in &mut scenario.stations {
                let own = station.tcp.value().unwrap_or_default();
                let text = format!("{own}, {}={value}", setting.name);
                let tcp: TcpSettings = text.parse().map_err(|error| format!("{error}"))?;
                station.tcp = Some(without_span(tcp));
            }
            return if self == Self::Mss { make_room(scenario, value) } else { Ok(()) };
        }
        for link in scenario.links.iter_mut().filter(|link| is_wifi(link)) {
            match self {
                Self::Rate if value == JOINT => {
                    link.both.rate = None;
                    policy().set(&mut link.both, JOINT)?;
                }
                Self::Rate => {
                    if policy().text(&link.both).as_deref() == Some(JOINT) {
                        link.both.policy = None;
                    }
                    rate().set(&mut link.both, value)?;
                }
                Self::Power => Radio::row(|it| &it.power).set(&mut link.radio, value)?,
                _ => Radio::row(|it| &it.rts_threshold).set(&mut link.radio, value)?,
            }
        }
        Ok(())
    }
}

/// Lets links take packets that hold segments of this size, where they can.
///
/// # Errors
/// If it is no size.
pub(super) fn make_room(scenario: &mut Scenario, mss: &str) -> Result<(), String> {
    let mss: u16 = mss.parse().map_err(|error| format!("{error}"))?;
    let mtu = mss.saturating_add(HEADERS);
    for link in scenario.links.iter_mut().filter(|link| link.mtu() < mtu) {
        longest_packet().set(link, &mtu.min(room(link)).to_string())?;
    }
    Ok(())
}

/// Sets the longest packet of every link.
///
/// # Errors
/// If it is none; says what to write.
pub(super) fn set_mtu(scenario: &mut Scenario, mtu: &str) -> Result<(), String> {
    scenario.links.iter_mut().try_for_each(|link| longest_packet().set(link, mtu))
}

/// The packets that a link could take: those of 802.11 are longer than most systems make them.
fn room(link: &Link) -> u16 {
    if is_wifi(link) { link.mtu().max(MOST_MTU) } else { link.mtu().max(HEADERS + 88) }
}

fn is_wifi(link: &Link) -> bool {
    link.kind().phy().is_some()
}

/// Tells whether a link chooses its rate by itself.
fn is_adaptive(link: &Link) -> bool {
    link.radio.rate_control.value().is_some_and(|control| control.is_adaptive)
}

/// The rates of a link that are worth a trial.
fn rates(kind: LinkKind) -> Vec<String> {
    let rates: &[&str] = match kind {
        LinkKind::WifiB => &["1Mbps", "2Mbps", "5.5Mbps", "11Mbps"],
        LinkKind::WifiG => &["6Mbps", "12Mbps", "24Mbps", "36Mbps", "54Mbps"],
        LinkKind::Pipe | LinkKind::Wavelan | LinkKind::Gsm => &[],
    };
    rates.iter().map(|rate| (*rate).to_owned()).collect()
}

/// The text of a time of acknowledgments without the clock that it runs by, where that is exact.
fn plain_ack(value: &str) -> String {
    value.strip_suffix(":0s").unwrap_or(value).to_owned()
}

fn rate() -> &'static Setting<Direction> {
    Direction::row(|it| &it.rate)
}

fn policy() -> &'static Setting<Direction> {
    Direction::row(|it| &it.policy)
}

/// The greatest segment of TCP.
pub(super) fn mss() -> &'static TcpSetting {
    TcpSetting::row(|it| &it.mss)
}

/// The setting of the longest packet.
pub(super) fn longest_packet() -> &'static Setting<Link> {
    Link::row(|it| &it.mtu)
}

/// A setting that was named, and the values to try; none for its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingChoice {
    /// The setting that was named.
    pub setting: TunedSetting,
    /// The values to try beside that of the scenario.
    pub values: Vec<String>,
}

impl FromStr for SettingChoice {
    type Err = String;

    /// Reads `mss` or `mss=500,1000`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, values) = text.split_once('=').unwrap_or((text, ""));
        let name = name.trim();
        let names = TunedSetting::ALL.map(TunedSetting::name);
        let setting = TunedSetting::ALL.into_iter().find(|it| it.name() == name).ok_or_else(
            || match nearest(name, names) {
                Some(near) => format!("there is no setting \"{name}\": did you mean {near}?"),
                None => format!("there is no setting \"{name}\": {}", names.join(", ")),
            },
        )?;
        let values = values.split(',').map(str::trim).filter(|value| !value.is_empty());
        let values: Vec<String> = values.map(str::to_owned).collect();
        if values.is_empty() && text.contains('=') {
            return Err(format!("{name}= has no value: write {name}, or {name}=VALUE,VALUE"));
        }
        Ok(Self { setting, values })
    }
}
