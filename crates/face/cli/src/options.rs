//! The options that describe a link, the same for every command that runs one.

use std::path::{Path, PathBuf};

use windfall_base::{Duration, Probability, Rate, Seed};
use windfall_scenario::{
    Arq, ByteRange, Direction, Environment, Exposed, Flags, Flow, GilbertElliott, LinkKind,
    Pattern, Policy, Queue, Scenario, ScenarioError, Spanned, Topology, Window, level_inside,
};

use crate::exit::{CliError, Result};
use crate::input;
use crate::usage::whole;
use crate::wifi::WifiOptions;

/// The default seed: a run is repeatable unless another seed is given.
pub(crate) const DEFAULT_SEED: Seed = Seed(1);
/// The variable that holds the address of the far end for programs inside.
pub(crate) const BASE: &str = "WINDFALL_BASE";

/// Options that describe a link, a scenario to start from, and the seed.
#[derive(Debug, clap::Args)]
pub(crate) struct LinkOptions {
    /// LinkName of link [default: pipe]
    #[arg(long, value_name = "KIND", help_heading = "Link")]
    link: Option<LinkName>,
    /// Longest packet, in bytes [default: 1500]
    #[arg(long, value_name = "BYTES", help_heading = "Link", value_parser = whole(68..=65_535_u16))]
    mtu: Option<u16>,
    /// Flow with a share of its own: "video: dst port 5004, reserve 350kbps, power-factor 2.23"
    #[arg(long = "flow", value_name = "FLOW", help_heading = "Flows")]
    flows: Vec<Flow>,
    /// Admit reservations beyond what the link can keep in the worst case
    #[arg(long, help_heading = "Flows")]
    overcommit: bool,
    #[command(flatten)]
    wifi: WifiOptions,
    #[command(flatten)]
    both: Both,
    #[command(flatten)]
    uplink: Uplink,
    #[command(flatten)]
    downlink: Downlink,
    /// Seed of all random draws [default: 1]
    #[arg(long, value_name = "NUMBER", help_heading = "Scenario")]
    seed: Option<Seed>,
    /// Print the scenario file equivalent to the options, and do nothing else
    #[arg(long, help_heading = "Scenario")]
    pub(crate) generate: bool,
}

/// Kinds of link by their names on the command line.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum LinkName {
    /// A wire for each direction: rate, delay, queue
    Pipe,
    /// A radio of 2 Mb/s with poll and response and an acknowledgement for every frame
    Wavelan,
    /// 802.11b: 1 to 11 Mb/s, with stations at places
    WifiB,
    /// 802.11g: 6 to 54 Mb/s, with stations at places
    WifiG,
}

/// Parts of frames that errors may hit, by their names on the command line.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum ExposedName {
    /// The link header
    Header,
    /// The link trailer
    Trailer,
    /// Frames without a packet
    Control,
}

/// Defines the options of one direction, or of both: the same with another prefix.
macro_rules! direction_options {
    ($name:ident, $prefix:literal, $heading:literal, $hide:literal) => {
        #[derive(Debug, clap::Args)]
        #[group(skip)]
        struct $name {
            /// Rate; without one, sending takes no time. A bare number is in Mbps
            #[arg(long = concat!($prefix, "rate"), id = concat!($prefix, "rate"),
                          alias = concat!($prefix, "bandwidth"), value_name = "RATE",
                          conflicts_with = concat!($prefix, "rate-trace"),
                          help_heading = $heading, hide_short_help = $hide)]
            rate: Option<Rate>,
            /// Trace of the rate over time, of mahimahi or netem-trace
            #[arg(long = concat!($prefix, "rate-trace"), id = concat!($prefix, "rate-trace"),
                          alias = concat!($prefix, "trace"), value_name = "FILE",
                          help_heading = $heading, hide_short_help = $hide)]
            rate_trace: Option<String>,
            /// Delay of every bit; a bare number is in ms
            #[arg(long = concat!($prefix, "delay"), id = concat!($prefix, "delay"),
                          value_name = "TIME", help_heading = $heading, hide_short_help = $hide)]
            delay: Option<Duration>,
            /// Probability that a frame is lost: 0..1 or with %
            #[arg(long = concat!($prefix, "loss"), id = concat!($prefix, "loss"),
                          value_name = "P", help_heading = $heading, hide_short_help = $hide)]
            loss: Option<Probability>,
            /// Frames lost in bursts by a two-state chain: "p [r [1-h [1-k]]]" as in netem
            #[arg(long = concat!($prefix, "gemodel"), id = concat!($prefix, "gemodel"),
                          value_name = "MODEL", help_heading = $heading, hide_short_help = $hide)]
            gemodel: Option<GilbertElliott>,
            /// Periodic loss: 5/100 loses the first 5 of every 100 frames
            #[arg(long = concat!($prefix, "burst"), id = concat!($prefix, "burst"),
                          value_name = "K/N", help_heading = $heading, hide_short_help = $hide)]
            burst: Option<Pattern>,
            /// Probability that a bit is inverted
            #[arg(long = concat!($prefix, "ber"), id = concat!($prefix, "ber"),
                          value_name = "P", help_heading = $heading, hide_short_help = $hide)]
            ber: Option<Probability>,
            /// Bits inverted in bursts, as --gemodel but one step per bit
            #[arg(long = concat!($prefix, "bit-gemodel"), id = concat!($prefix, "bit-gemodel"),
                          value_name = "MODEL", help_heading = $heading, hide_short_help = $hide)]
            bit_gemodel: Option<GilbertElliott>,
            /// Bits inverted within one window of a frame: "p bits rate", such as "10% 256 5%"
            #[arg(long = concat!($prefix, "window"), id = concat!($prefix, "window"),
                          value_name = "WINDOW", help_heading = $heading, hide_short_help = $hide)]
            window: Option<Window>,
            /// Probability that exactly one bit of a packet is inverted, as in netem
            #[arg(long = concat!($prefix, "corrupt"), id = concat!($prefix, "corrupt"),
                          value_name = "P", help_heading = $heading, hide_short_help = $hide)]
            corrupt: Option<Probability>,
            /// Probability that a frame is cut short
            #[arg(long = concat!($prefix, "truncate"), id = concat!($prefix, "truncate"),
                          value_name = "P", help_heading = $heading, hide_short_help = $hide)]
            truncate: Option<Probability>,
            /// Trace of losses, truncations and inverted bits, of `windfall trace`
            #[arg(long = concat!($prefix, "error-trace"), id = concat!($prefix, "error-trace"),
                          value_name = "FILE", help_heading = $heading, hide_short_help = $hide)]
            error_trace: Option<String>,
            /// Synthetic trace of a place: office, walking, adjacent, table, walls
            #[arg(long = concat!($prefix, "environment"), id = concat!($prefix, "environment"),
                          value_name = "PLACE", help_heading = $heading, hide_short_help = $hide)]
            environment: Option<Environment>,
            /// Only these bytes of a packet have bit errors: 28..1500
            #[arg(long = concat!($prefix, "range"), id = concat!($prefix, "range"),
                          alias = concat!($prefix, "corrupt-range"), value_name = "A..B",
                          help_heading = $heading, hide_short_help = $hide)]
            range: Option<ByteRange>,
            /// Parts that errors may hit besides packets; separate by commas
            #[arg(long = concat!($prefix, "expose"), id = concat!($prefix, "expose"),
                          value_name = "PARTS", value_delimiter = ',',
                          help_heading = $heading, hide_short_help = $hide)]
            expose: Option<Vec<ExposedName>>,
            /// Coding policy of frames: bold, light, robust, flex or best
            #[arg(long = concat!($prefix, "policy"), id = concat!($prefix, "policy"),
                          value_name = "POLICY", help_heading = $heading, hide_short_help = $hide)]
            policy: Option<Policy>,
            /// Pad coded frames to the whole number of blocks of the policy: true or false
            #[arg(long = concat!($prefix, "padded"), id = concat!($prefix, "padded"),
                          value_name = "BOOL", help_heading = $heading, hide_short_help = $hide)]
            padded: Option<bool>,
            /// Retransmission of frames that did not arrive whole: none, persistent, or at most N
            /// times [default: none on a pipe, persistent on wavelan and with --policy, limits of
            /// the radio on wifi]
            #[arg(long = concat!($prefix, "arq"), id = concat!($prefix, "arq"),
                          value_name = "POLICY", help_heading = $heading, hide_short_help = $hide)]
            arq: Option<Arq>,
            /// Hand packets up that failed the frame check, marked as damaged
            #[arg(long = concat!($prefix, "accept-damaged"),
                          id = concat!($prefix, "accept-damaged"), value_name = "BOOL",
                          num_args = 0..=1, require_equals = true, default_missing_value = "true",
                          help_heading = $heading, hide_short_help = $hide)]
            accept_damaged: Option<bool>,
            /// Queue before the link: fifo, wrr, wfq, priority, airtime or elf, and how long it may
            /// become: packets, bytes with a unit, or infinite; "elf,100" is both
            #[arg(long = concat!($prefix, "queue"), id = concat!($prefix, "queue"),
                          alias = concat!($prefix, "limit"), value_name = "QUEUE",
                          help_heading = $heading, hide_short_help = $hide)]
            queue: Option<Queue>,
        }

        impl $name {
            fn direction(&self) -> Direction {
                Direction {
                    rate: self.rate.map(unplaced),
                    rate_trace: self.rate_trace.clone().map(unplaced),
                    delay: self.delay.map(unplaced),
                    loss: self.loss.map(unplaced),
                    gemodel: self.gemodel,
                    burst: self.burst,
                    ber: self.ber.map(unplaced),
                    bit_gemodel: self.bit_gemodel,
                    window: self.window,
                    corrupt: self.corrupt.map(unplaced),
                    truncate: self.truncate.map(unplaced),
                    error_trace: self.error_trace.clone().map(unplaced),
                    range: self.range.clone().map(unplaced),
                    expose: self.expose.as_deref().map(exposed),
                    arq: self.arq.map(unplaced),
                    accept_damaged: self.accept_damaged,
                    queue: self.queue.map(unplaced),
                    environment: self.environment,
                    policy: self.policy,
                    padded: self.padded,
                }
            }
        }
    };
}

direction_options!(Both, "", "Link, in both directions", false);
direction_options!(Uplink, "uplink-", "Uplink, from the near end to the far end", true);
direction_options!(Downlink, "downlink-", "Downlink, from the far end to the near end", true);

fn exposed(parts: &[ExposedName]) -> Vec<Exposed> {
    let exposed = parts.iter().map(|part| match part {
        ExposedName::Header => Exposed::Header,
        ExposedName::Trailer => Exposed::Trailer,
        ExposedName::Control => Exposed::Control,
    });
    exposed.collect()
}

/// A scenario that is ready to run, and where it was read.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) scenario: Scenario,
    /// The file and its text; both empty if the options alone made the scenario.
    file: String,
    text: String,
}

impl LinkOptions {
    /// The scenario in `file`, changed as the options say, or the one of the options alone.
    ///
    /// `rest` holds what other options say of the scenario.
    pub(crate) fn load(&self, file: Option<&Path>, rest: Flags) -> Result<Loaded> {
        let mut flags = self.flags(rest);
        let Some(path) = file else {
            if self.wifi.stations > 0
                && !matches!(self.link, Some(LinkName::WifiB | LinkName::WifiG))
            {
                let message = "only a radio has more stations: add --link wifi-b or --link wifi-g";
                return Err(CliError::usage(format!("--stations: {message}")));
            }
            let scenario = flags.scenario();
            scenario.check().map_err(of_scenario)?;
            return Ok(Loaded { scenario, file: String::new(), text: String::new() });
        };
        let file = path.display().to_string();
        let text = input::read_tree(path, "scenario")?;
        let mut scenario = Scenario::parse(&file, &text).map_err(of_scenario)?;
        // A scenario names files from where it lies itself, the options from where the user is.
        for direction in [&mut flags.both, &mut flags.uplink, &mut flags.downlink] {
            place_files(direction, Path::new(""))?;
        }
        flags.apply(&mut scenario).map_err(of_scenario)?;
        Ok(Loaded { scenario, file, text })
    }

    fn flags(&self, rest: Flags) -> Flags {
        Flags {
            seed: self.seed,
            kind: self.link.map(|kind| match kind {
                LinkName::Pipe => LinkKind::Pipe,
                LinkName::Wavelan => LinkKind::Wavelan,
                LinkName::WifiB => LinkKind::WifiB,
                LinkName::WifiG => LinkKind::WifiG,
            }),
            mtu: self.mtu,
            flows: self.flows.clone(),
            overcommit: self.overcommit,
            radio: self.wifi.radio(),
            contenders: self.wifi.stations,
            both: self.both.direction(),
            uplink: self.uplink.direction(),
            downlink: self.downlink.direction(),
            ..rest
        }
    }
}

impl Loaded {
    /// The text of the scenario file that says the same as the options, from wherever it lies.
    pub(crate) fn generated(&self) -> Result<String> {
        let mut scenario = self.scenario.clone().spelled_out();
        let directory = Path::new(&self.file).parent().map(Path::to_owned).unwrap_or_default();
        if !directory.as_os_str().is_empty() {
            // The names of files in a scenario count from where it lies, and this text may lie
            // elsewhere.
            for link in &mut scenario.links {
                let mut both = link.both();
                for direction in [&mut both, &mut link.uplink, &mut link.downlink] {
                    place_files(direction, &directory)?;
                }
                link.set_both(&both);
                for path in &mut link.paths {
                    let mut said = path.said();
                    place_files(&mut said, &directory)?;
                    path.error_trace = said.error_trace;
                }
            }
        }
        Ok(scenario.to_toml())
    }

    /// The seed of the run.
    pub(crate) fn seed(&self) -> Seed {
        self.scenario.seed.unwrap_or(DEFAULT_SEED)
    }

    /// Builds the scenario, with addresses that do not clash with those of an outer run.
    pub(crate) fn topology(&self) -> Result<Topology> {
        let level = level_inside(std::env::var(BASE).ok().as_deref());
        let directory = Path::new(&self.file).parent().map(PathBuf::from).unwrap_or_default();
        let budget = input::budget()?;
        let mut read = |name: &str| input::read_named(&directory.join(name), &budget);
        let place = (self.file.as_str(), self.text.as_str());
        let topology = self.scenario.topology_within(level, place, &mut read, budget.clone());
        topology.map_err(of_scenario)
    }
}

/// Makes the names of files absolute that count from `directory`.
fn place_files(direction: &mut Direction, directory: &Path) -> Result<()> {
    let names = [&mut direction.rate_trace, &mut direction.error_trace];
    for name in names.into_iter().flatten() {
        let path = std::path::absolute(directory.join(name.get_ref()))?;
        *name.get_mut() = path.display().to_string();
    }
    Ok(())
}

/// An error in a file names its line; one that stands nowhere is of the options, and its advice is
/// given in options.
fn of_scenario(error: ScenarioError) -> CliError {
    match error.line() {
        Some(_) => CliError::from(error).into_usage(),
        None => CliError::usage(as_options(error.message())),
    }
}

/// Advice that is written as keys of a scenario, `kind = "wifi-g"`, as options: `--link wifi-g`.
fn as_options(message: &str) -> String {
    let mut parts = message.split(" = ");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let key = text.rfind(' ').map_or(0, |at| at + 1);
        let option = match text.split_off(key).as_str() {
            "kind" => "--link".to_owned(),
            key => format!("--{key}"),
        };
        let quoted = part.strip_prefix('"').and_then(|rest| rest.split_once('"'));
        text += &match (quoted, part.strip_prefix("true")) {
            (Some((value, rest)), _) => format!("{option} {value}{rest}"),
            (None, Some(rest)) => format!("{option}{rest}"),
            (None, None) => format!("{option} {part}"),
        };
    }
    text
}

/// A value that stands in no file.
fn unplaced<T>(value: T) -> Spanned<T> {
    Spanned::new(0..0, value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_for_options_is_given_in_options() {
        let cases = [
            ("add kind = \"wifi-g\"", "add --link wifi-g"),
            ("use queue = \"fifo\" or a length", "use --queue fifo or a length"),
            ("add infrastructure = true", "add --infrastructure"),
            ("remove it", "remove it"),
        ];
        for (keys, options) in cases {
            assert_eq!(as_options(keys), options);
        }
    }
}
