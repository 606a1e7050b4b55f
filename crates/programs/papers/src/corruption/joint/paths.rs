//! The paths, and what may choose rate and code on them.

/// The scenarios of a path that does not move, and of the walk.
const EDGE: &str = include_str!("../../../../../../scenarios/examples/joint-edge.toml");
const WALK: &str = include_str!("../../../../../../scenarios/examples/joint-walk.toml");

/// The keys of the scenarios for the control, and for the path, the stations and the packets of the
/// first.
const POLICY: &str = "policy = \"joint\"";
const LOSS: &str = "path-loss = \"107dB\"";
const STATIONS: &str = "stations = [\"near\", \"far\"]";
const SENDER: &str = "station = \"near\"";

/// A kind of path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Its loss stays what it is.
    Constant,
    /// Its loss stays the same on average.
    Fading,
    /// The receiver walks.
    Walk,
    /// Several stations send to one, over equal paths that stay the same.
    Crowd,
}

/// The air between the two stations.
#[derive(Debug)]
pub(super) struct Path {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// The keys of its air, in place of those of the scenario.
    air: &'static str,
    /// Stations that send.
    pub(super) senders: usize,
    /// Bytes of a packet, if they are not those of the scenario.
    size: Option<u32>,
}

const fn constant(name: &'static str, air: &'static str) -> Path {
    Path { name, kind: Kind::Constant, air, senders: 1, size: None }
}

const fn fading(name: &'static str, air: &'static str) -> Path {
    Path { name, kind: Kind::Fading, air, senders: 1, size: None }
}

const fn crowd(name: &'static str, senders: usize, air: &'static str) -> Path {
    Path { name, kind: Kind::Crowd, air, senders, size: None }
}

/// A path with packets of 200 bytes.
const SMALL: Path = Path {
    size: Some(200),
    ..constant("101.5 dB, packets of 200 bytes", "path-loss = \"101.5dB\"")
};

const WALKED: Path = Path { kind: Kind::Walk, ..constant("walk from 5 to 120 m and back", "") };

/// All paths, from the best to the worst of each kind.
pub(super) const PATHS: [Path; 18] = [
    constant("80 dB", "path-loss = \"80dB\""),
    constant("91 dB", "path-loss = \"91dB\""),
    constant("93 dB", "path-loss = \"93dB\""),
    constant("96 dB", "path-loss = \"96dB\""),
    constant("100 dB", "path-loss = \"100dB\""),
    SMALL,
    constant("103 dB", "path-loss = \"103dB\""),
    constant("105 dB", "path-loss = \"105dB\""),
    constant("107 dB, near the edge", "path-loss = \"107dB\""),
    constant("108 dB", "path-loss = \"108dB\""),
    constant("108.5 dB, at the edge", "path-loss = \"108.5dB\""),
    fading("90 dB, Rayleigh, 2 Hz", "path-loss = \"90dB\"\nfading = \"rayleigh 2\""),
    fading("95 dB, Rayleigh, 10 Hz", "path-loss = \"95dB\"\nfading = \"rayleigh 10\""),
    WALKED,
    crowd("two senders, 85 dB", 2, "path-loss = \"85dB\""),
    crowd("five senders, 85 dB", 5, "path-loss = \"85dB\""),
    crowd("five senders, 100 dB", 5, "path-loss = \"100dB\""),
    crowd("ten senders, 100 dB", 10, "path-loss = \"100dB\""),
];

/// The places of all of them.
pub(super) const ALL: [usize; 18] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17];

/// Those of quick runs.
pub(super) const QUICK: [usize; 5] = [2, 8, 12, 15, 16];

/// The pairs that carried most on them of all pairs, in a full run.
pub(super) const BEST_OF_QUICK: [Pair; 5] =
    [Pair(54, 32), Pair(12, 16), Pair(36, 32), Pair(54, 0), Pair(24, 8)];

/// A rate in Mb/s, and symbols of parity in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pair(pub(super) u32, pub(super) u32);

/// The rates of 802.11g, and the codes.
const RATES: [u32; 8] = [6, 9, 12, 18, 24, 36, 48, 54];
const PARITIES: [u32; 5] = [0, 8, 16, 32, 64];

impl Pair {
    /// All that 802.11g has.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        RATES.into_iter().flat_map(|rate| PARITIES.map(|parity| Self(rate, parity)))
    }

    /// This pair, and those with the next rate or the next code, up and down.
    pub(super) fn and_beside(self) -> impl Iterator<Item = Self> {
        let place = |all: &[u32], it: u32| all.iter().position(|other| *other == it).unwrap_or(0);
        let places = move |it: Self| (place(&RATES, it.0), place(&PARITIES, it.1));
        let (rate, code) = places(self);
        Self::all().filter(move |other| {
            let (other_rate, other_code) = places(*other);
            rate.abs_diff(other_rate) + code.abs_diff(other_code) <= 1
        })
    }

    pub(super) fn name(self) -> String {
        format!("{} Mb/s, {}", self.0, self.1)
    }
}

/// The chooser of rate and code.
#[derive(Clone, Copy, Debug)]
pub(super) enum Control {
    Joint,
    Minstrel,
    Fixed(Pair),
}

impl Path {
    pub(super) fn moves(&self) -> bool {
        self.kind == Kind::Walk
    }

    /// The scenario of a path that does not move, with as many senders and such packets.
    fn still(&self) -> String {
        let text = EDGE.replace(LOSS, self.air);
        let (head, app) = text.split_once("[[app]]").unwrap_or((&text, ""));
        let size = self.size.map_or(String::new(), |size| format!("size = {size}\n"));
        let mut names = String::new();
        let mut text = head.to_owned();
        for number in 2..=self.senders {
            let name = format!("near{number}");
            names += &format!(", \"{name}\"");
            text += &format!("[[station]]\nname = \"{name}\"\n\n");
        }
        text = text.replace(STATIONS, &format!("{}{names}]", &STATIONS[..STATIONS.len() - 1]));
        for number in 1..=self.senders {
            let name = if number == 1 { "near".to_owned() } else { format!("near{number}") };
            let sender = format!("station = \"{name}\"\nport = {}", 9000 + number);
            text += &format!("[[app]]{}\n{size}", app.replace(SENDER, &sender));
        }
        text
    }

    /// The scenario with a control.
    pub(super) fn scenario(&self, control: Control) -> String {
        let text = if self.moves() { WALK.to_owned() } else { self.still() };
        match control {
            Control::Joint => text,
            Control::Minstrel => {
                let radio = "[link.radio]\nrate-control = \"minstrel\"";
                text.replace(POLICY, "").replace("[link.radio]", radio)
            }
            Control::Fixed(Pair(rate, 0)) => {
                text.replace(POLICY, &format!("rate = \"{rate}Mbps\""))
            }
            Control::Fixed(Pair(rate, parity)) => {
                let keys = format!("rate = \"{rate}Mbps\"\npolicy = \"parity-{parity}\"");
                text.replace(POLICY, &keys)
            }
        }
    }
}
