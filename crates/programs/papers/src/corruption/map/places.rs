//! The channels of the map, and the ways in which they are used.

const PIPE: &str = include_str!("../../../../../../scenarios/paper-004/map-pipe.toml");
const WIFI: &str = include_str!("../../../../../../scenarios/paper-004/map-wifi.toml");
const GSM: &str = include_str!("../../../../../../scenarios/paper-004/map-gsm.toml");

/// The TCP of both ends as the scenarios have it.
pub(super) const TCP: &str = "tcp = \"sack\"";
/// Passing damage up, as the scenarios have it.
const DAMAGE_UP: &str = "accept-damaged = true";

/// The ways of TCP: name and settings of both ends.
pub(super) const WAYS: [(&str, &str); 7] = [
    ("no reports", "sack"),
    ("draft-safe, no reaction", "sack, corruption=draft-safe, reaction=ignore"),
    ("paper, no reaction", "sack, corruption=paper, reaction=ignore"),
    ("extended, no reaction", "sack, corruption=extended, reaction=ignore"),
    ("extended, as a mark", "sack, corruption=extended, reaction=as-mark"),
    ("extended, as a loss", "sack, corruption=extended, reaction=as-loss"),
    (
        "extended, no reaction, losses of the link too",
        "sack, corruption=extended, reaction=ignore, link-losses=on",
    ),
];
pub(super) const NONE: usize = 0;
pub(super) const DRAFT_SAFE: usize = 1;
pub(super) const PAPER: usize = 2;
pub(super) const EXTENDED: usize = 3;
pub(super) const AS_MARK: usize = 4;
pub(super) const AS_LOSS: usize = 5;
pub(super) const LOSSES: usize = 6;

/// A kind of channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Channel {
    /// A pipe whose damage lies within a window.
    Window,
    /// A pipe that loses packets as well as it damages them.
    Losses,
    /// A pipe with independent bit errors.
    Bits,
    /// The radio with poll and response.
    Polled,
    /// 802.11b as the paper's cards heard it.
    PaperCards,
    /// 802.11b with receivers that notice weaker preambles.
    SensitiveCards,
    /// 802.11g at 54 Mb/s.
    Fast,
    /// 802.11g at 12 Mb/s.
    Slow,
    /// A transparent GSM circuit.
    Gsm,
}

/// All kinds, in the order in which they are shown.
pub(super) const CHANNELS: [Channel; 9] = [
    Channel::Window,
    Channel::Losses,
    Channel::Bits,
    Channel::Polled,
    Channel::PaperCards,
    Channel::SensitiveCards,
    Channel::Fast,
    Channel::Slow,
    Channel::Gsm,
];

impl Channel {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Window => "pipe, damage in a window",
            Self::Losses => "pipe, losses beside damage",
            Self::Bits => "pipe, bit errors",
            Self::Polled => "polled radio, losses beside damage",
            Self::PaperCards => "802.11b, 11 Mb/s, the paper's cards",
            Self::SensitiveCards => "802.11b, 11 Mb/s, sensitive cards",
            Self::Fast => "802.11g, 54 Mb/s",
            Self::Slow => "802.11g, 12 Mb/s",
            Self::Gsm => "GSM, transparent circuit",
        }
    }

    /// Tells whether the link numbers its frames, so that it knows of those that it has lost.
    pub(super) const fn counts_losses(self) -> bool {
        !matches!(self, Self::Window | Self::Losses | Self::Bits | Self::Gsm)
    }

    /// The length of a run, over that on the others.
    pub(super) const fn stretch(self) -> u64 {
        if matches!(self, Self::Gsm) { 20 } else { 1 }
    }

    /// Datagrams of UDP-Lite: bytes, and a rate that the channel has room for.
    const fn datagrams(self) -> (u32, &'static str) {
        match self {
            Self::Gsm => (500, "4kbps"),
            Self::Fast | Self::Slow => (1_400, "2Mbps"),
            _ => (1_400, "400kbps"),
        }
    }
}

/// One point of the map.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) channel: Channel,
    /// Its place within the channel, such as `30 m`.
    pub(super) name: String,
    /// Its scenario, with the TCP of [`TCP`].
    text: String,
}

impl Place {
    /// The scenario with one of [`WAYS`].
    pub(super) fn with_tcp(&self, way: usize) -> String {
        self.text.replace(TCP, &format!("tcp = \"{}\"", WAYS[way].1))
    }

    /// The scenario with datagrams of UDP-Lite whose headers alone are covered.
    pub(super) fn with_datagrams(&self) -> String {
        let (size, rate) = self.channel.datagrams();
        let datagrams = format!(
            "kind = \"cbr\"\ntransport = \"udplite\"\ncoverage = 8\nsize = {size}\n\
             rate = \"{rate}\""
        );
        self.text.replace("kind = \"bulk\"", &datagrams)
    }
}

/// Returns every place of the map; no link passes damage up if `is_mutated`.
pub(super) fn all(is_mutated: bool) -> Vec<Place> {
    let mut places: Vec<Place> = CHANNELS.iter().flat_map(|it| of(*it)).collect();
    if is_mutated {
        for place in &mut places {
            place.text = place.text.replace(DAMAGE_UP, "accept-damaged = false");
        }
    }
    places
}

fn of(channel: Channel) -> Vec<Place> {
    let place = |name: String, text: String| Place { channel, name, text };
    let pipe = |name: String, damage: &str| {
        place(name, PIPE.replace("uplink.window = \"3% 16 50%\"", damage))
    };
    let wifi = |rate: &str, preamble: &str, metres: u32| {
        let (kind, rate) = if rate == "11" { ("wifi-b", rate) } else { ("wifi-g", rate) };
        let text = WIFI
            .replace("wifi-b", kind)
            .replace("rate = \"11Mbps\"", &format!("rate = \"{rate}Mbps\""))
            .replace("[30.0, 0.0]", &format!("[{metres}.0, 0.0]"))
            .replace("-84dBm", &format!("{preamble}dBm"));
        place(format!("{metres} m"), text)
    };
    let both = |(lost, damaged): (&str, &str)| {
        let damage = format!("uplink.loss = \"{lost}\"\nuplink.window = \"{damaged} 16 50%\"");
        (format!("{lost} lost, {damaged} damaged"), damage)
    };
    match channel {
        Channel::Window => [16, 4_000, 8_000, 10_000, 11_000, 11_500, 12_000]
            .map(|bits| {
                let damage = format!("uplink.window = \"3% {bits} 50%\"");
                pipe(format!("{bits} bits"), &damage)
            })
            .to_vec(),
        Channel::Losses => [("1%", "2%"), ("2%", "1%"), ("2.7%", "0.3%")]
            .map(both)
            .map(|(name, damage)| pipe(name, &damage))
            .to_vec(),
        Channel::Bits => ["1e-6", "3e-6", "1e-5", "2e-5"]
            .map(|ber| pipe(ber.to_owned(), &format!("uplink.ber = {ber}")))
            .to_vec(),
        Channel::Polled => [("1%", "2%"), ("2%", "1%"), ("2.7%", "0.3%")]
            .map(both)
            .map(|(name, damage)| {
                let Place { text, .. } = pipe(String::new(), &damage);
                let text = text.replace("\"pipe\"", "\"wavelan\"");
                // Its delay is that of its exchange.
                let text = text.replace("delay = \"10ms\"\n", "");
                place(name, text.replace("rate = \"10Mbps\"", "rate = \"2Mbps\""))
            })
            .to_vec(),
        Channel::PaperCards => [30, 40, 44].map(|metres| wifi("11", "-84", metres)).to_vec(),
        Channel::SensitiveCards => {
            [30, 40, 44, 48].map(|metres| wifi("11", "-95", metres)).to_vec()
        }
        Channel::Fast => [8, 12, 14, 16].map(|metres| wifi("54", "-95", metres)).to_vec(),
        Channel::Slow => [30, 36, 40].map(|metres| wifi("12", "-95", metres)).to_vec(),
        Channel::Gsm => ["gsm-bad", "gsm-walking", "gsm-driving"]
            .map(|name| place(name.to_owned(), GSM.replace("gsm-bad", name)))
            .to_vec(),
    }
}
