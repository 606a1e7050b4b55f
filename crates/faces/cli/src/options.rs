//! The options that describe a link, the same for every command that runs one.

use std::path::{Path, PathBuf};

use windfall_base::{Duration, Seed};
use windfall_scenario::wifi::Radio;
use windfall_scenario::{
    Change, Direction, Flow, Get, Link, NamedLink, RunKind, RunSettings, Scenario, ScenarioError,
    ScenarioOptions, Settings, Spanned, Topology, level_inside, named_link, without_span,
};
use windfall_system::files::UsedFiles;

use crate::exit::{CliError, Result};
use crate::face::{OptionGroup, Options, option_groups};
use crate::input;
use crate::usage::whole;

/// The variable that holds the address of the far end for programs inside.
pub(crate) const BASE: &str = "WINDFALL_BASE";

/// The most stations that a radio joins beside its two ends and the one that all of these send to.
const MOST_CONTENDERS: u16 = 4_997;

/// Options that describe a link, a scenario to start from, and the seed.
#[derive(Debug, clap::Args)]
pub(crate) struct LinkOptions {
    /// Start from a link that has a name, such as wpt-lte: `windfall links` lists them
    #[arg(long, value_name = "NAME", help_heading = "Link",
          value_parser = |name: &str| named_link(name))]
    like: Option<&'static NamedLink>,
    #[command(flatten)]
    link: Options<LinkGroup>,
    /// Flow with impairments or its own share of the link: "voice: dst port 5004, loss 5%, delay
    /// 30ms"
    #[arg(long = "flow", value_name = "FLOW", help_heading = "Flows")]
    flows: Vec<Flow>,
    /// Change of the link at a time of the run: "10s: rate 1Mbps, uplink loss 5%, over 2s"
    #[arg(long = "change", value_name = "CHANGE", help_heading = "Changes",
          value_parser = Change::by_option)]
    changes: Vec<Change>,
    /// File of changes, one per line
    #[arg(long = "changes", value_name = "FILE", help_heading = "Changes")]
    changes_file: Option<PathBuf>,
    #[command(flatten)]
    radio: Options<RadioGroup>,
    /// Number of additional simulated stations, 0 to 4997. They always have frames to send
    /// [default: 0]
    #[arg(long, value_name = "NUMBER", default_value_t = 0, hide_default_value = true,
          help_heading = RadioGroup::HEADING, value_parser = whole(0..=MOST_CONTENDERS))]
    stations: u16,
    #[command(flatten)]
    both: Options<BothDirections>,
    #[command(flatten)]
    uplink: Options<UplinkOnly>,
    #[command(flatten)]
    downlink: Options<DownlinkOnly>,
    #[command(flatten)]
    run: Options<RunGroup>,
    /// Print a scenario file that is equivalent to the options, and exit
    #[arg(long, help_heading = "Scenario")]
    pub(crate) generate: bool,
}

option_groups! {
    RunGroup: RunSettings, "", "Scenario", false, of None;
    SimulationGroup: RunSettings, "", "Scenario", false, of Some(&RunKind::Simulated);
    KernelGroup: RunSettings, "", "Stations", false, of Some(&RunKind::RealTime);
    LinkGroup: Link, "", "Link", false;
    RadioGroup: Radio, "", "Radio of 802.11", false;
    BothDirections: Direction, "", "Link, in both directions", false;
    UplinkOnly: Direction, "uplink-", "Uplink, from the near end or to a radio's base", true;
    DownlinkOnly: Direction, "downlink-", "Downlink, from the far end or a radio's base", true;
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
    /// `others` are the settings of the run among the other options of the command.
    pub(crate) fn load(&self, file: Option<&Path>, others: &RunSettings) -> Result<Loaded> {
        let mut flags = self.flags(others);
        flags.changes.extend(self.changes_of_file()?);
        if let (Some(link), Some(path)) = (self.like, file) {
            let message = format!("--like {}: {} is a link already", link.name, path.display());
            return Err(CliError::usage(format!("{message}: give one of the two")));
        }
        if let Some(link) = self.like {
            let text = link.scenario();
            let mut scenario = Scenario::read(&link.name, &text).map_err(of_scenario)?;
            flags.apply(&mut scenario, (&link.name, &text)).map_err(of_scenario)?;
            return Ok(Loaded { scenario, file: String::new(), text: String::new() });
        }
        let Some(path) = file else {
            if self.stations > 0 && flags.link.kind().phy().is_none() {
                let message =
                    "only a radio of 802.11 has more stations: add --link wifi-b or --link wifi-g";
                return Err(CliError::usage(format!("--stations: {message}")));
            }
            let scenario = flags.scenario();
            scenario.check().map_err(of_scenario)?;
            return Ok(Loaded { scenario, file: String::new(), text: String::new() });
        };
        let file = path.display().to_string();
        let text = input::read_tree(path, "scenario")?;
        let mut scenario = Scenario::read(&file, &text).map_err(of_scenario)?;
        // A scenario names files from where it lies itself, the options from where the user is.
        let changes = flags.changes.iter_mut().flat_map(Change::directions_mut);
        for direction in flags.link.directions_mut().chain(changes) {
            place_files(direction, Path::new(""))?;
        }
        place_model(&mut flags.run.energy, Path::new(""))?;
        flags.apply(&mut scenario, (&file, &text)).map_err(of_scenario)?;
        Ok(Loaded { scenario, file, text })
    }

    /// Reads the changes of the file that is named, if one is.
    fn changes_of_file(&self) -> Result<Vec<Change>> {
        let Some(path) = &self.changes_file else { return Ok(Vec::new()) };
        Change::read_all(&input::read_tree(path, "file of changes")?)
            .map_err(|error| CliError::usage(format!("{}: {error}", path.display())))
    }

    /// The files that a run reads: the scenario, the changes, and those that either names.
    pub(crate) fn files(&self, file: Option<&Path>, loaded: &Loaded) -> Result<UsedFiles> {
        let mut used = UsedFiles::default();
        file.iter().for_each(|path| used.read("the scenario", path));
        self.changes_file.iter().for_each(|path| used.read("--changes", path));
        let mut scenario = loaded.placed()?;
        for direction in directions_mut(&mut scenario) {
            for setting in Direction::TABLE {
                let name = setting.text(direction).filter(|text| setting.names_file(text));
                name.iter().for_each(|path| used.read(setting.name, Path::new(path)));
            }
        }
        Ok(used)
    }

    /// Tells whether the radios are to log every state.
    pub(crate) fn observe(&self) -> bool {
        self.radio.0.observe.value() == Some(true)
    }

    fn flags(&self, others: &RunSettings) -> ScenarioOptions {
        let mut run = self.run.0.clone();
        run.overlay(others);
        ScenarioOptions {
            run,
            flows: self.flows.clone(),
            changes: self.changes.clone(),
            contenders: self.stations,
            link: Link {
                radio: self.radio.0.clone(),
                both: self.both.0.clone(),
                uplink: self.uplink.0.clone(),
                downlink: self.downlink.0.clone(),
                ..self.link.0.clone()
            },
        }
    }
}

impl Loaded {
    /// The text of the scenario file that says the same as the options, from wherever it lies.
    ///
    /// What could not run is refused as a run would refuse it.
    pub(crate) fn generated(&self) -> Result<String> {
        self.topology()?;
        // The names of files in a scenario count from where it lies, and this text may lie
        // elsewhere.
        if self.directory().as_os_str().is_empty() {
            return Ok(self.scenario.clone().spelled_out().to_toml());
        }
        Ok(self.placed()?.to_toml())
    }

    /// The text of the scenario before options are added to it, valid in any folder: what depends
    /// on these stays open.
    pub(crate) fn base(&self) -> Result<String> {
        self.topology()?;
        Ok(self.placed_as_said()?.to_toml())
    }

    /// The scenario of the file, without what the options change.
    pub(crate) fn as_written(&self) -> Result<Scenario> {
        Scenario::parse(&self.file, &self.text).map_err(of_scenario)
    }

    /// The scenario with names of files that are the same from everywhere.
    pub(crate) fn placed(&self) -> Result<Scenario> {
        Ok(self.placed_as_said()?.spelled_out())
    }

    fn placed_as_said(&self) -> Result<Scenario> {
        let mut scenario = self.scenario.clone();
        let directory = self.directory();
        for direction in directions_mut(&mut scenario) {
            place_files(direction, &directory)?;
        }
        let stations = scenario.stations.iter_mut().map(|station| &mut station.energy);
        for model in stations.chain([&mut scenario.run.energy]) {
            place_model(model, &directory)?;
        }
        Ok(scenario)
    }

    /// The longest delay of a link, changes included.
    pub(crate) fn delay(&self) -> Duration {
        let mut scenario = self.scenario.clone();
        let delays = directions_mut(&mut scenario).filter_map(|direction| direction.delay.value());
        delays.max().unwrap_or(Duration::ZERO)
    }

    /// The folder in which the scenario lies.
    fn directory(&self) -> PathBuf {
        Path::new(&self.file).parent().map(Path::to_owned).unwrap_or_default()
    }

    /// Refuses an application that begins after the end of a simulation.
    pub(crate) fn check_starts(&self) -> Result<()> {
        self.scenario.check_starts((&self.file, &self.text)).map_err(of_scenario)
    }

    /// The seed of the run.
    pub(crate) fn seed(&self) -> Seed {
        self.scenario.seed()
    }

    /// Replaces the scenario by one that a sweep has made of it.
    pub(crate) fn varied(&self, scenario: &Scenario) -> Self {
        let file = self.file.clone();
        let text = String::new();
        Self { scenario: scenario.clone(), file, text }
    }

    /// Builds the scenario, with addresses that do not clash with those of an outer run.
    pub(crate) fn topology(&self) -> Result<Topology> {
        self.topology_reading(&mut |_| {})
    }

    /// Builds the scenario; the content of each file that it names goes to `seen`.
    pub(crate) fn topology_reading(&self, seen: &mut dyn FnMut(&[u8])) -> Result<Topology> {
        let level = level_inside(std::env::var(BASE).ok().as_deref());
        let directory = self.directory();
        let budget = input::budget()?;
        let mut read = |name: &str| {
            let read = input::read_named(&directory.join(name), &budget);
            read.inspect(|bytes| seen(bytes))
        };
        let place = (self.file.as_str(), self.text.as_str());
        let topology = self.scenario.topology_within(level, place, &mut read, budget.clone());
        topology.map_err(of_scenario)
    }
}

/// The scenario in a file, with these settings of the run.
pub(crate) fn load_file(path: &Path, run: &RunSettings) -> Result<Loaded> {
    let file = path.display().to_string();
    let text = input::read_tree(path, "scenario")?;
    let mut scenario = Scenario::parse(&file, &text).map_err(of_scenario)?;
    let mut run = run.clone();
    place_model(&mut run.energy, Path::new(""))?;
    scenario.run.overlay(&run);
    Ok(Loaded { scenario, file, text })
}

/// The topologies of the scenario in a file: without its applications, and as it stands.
pub(crate) fn with_and_without_traffic(path: &Path) -> Result<[Topology; 2]> {
    let sending = load_file(path, &RunSettings::unset())?;
    let mut idle = sending.scenario.clone();
    idle.apps.clear();
    Ok([sending.varied(&idle).topology()?, sending.topology()?])
}

/// All that a scenario says of directions: its links, and its changes.
fn directions_mut(scenario: &mut Scenario) -> impl Iterator<Item = &mut Direction> {
    let links = scenario.links.iter_mut().flat_map(Link::directions_mut);
    links.chain(scenario.changes.iter_mut().flat_map(Change::directions_mut))
}

/// Makes the names of files absolute that count from `directory`.
fn place_files(direction: &mut Direction, directory: &Path) -> Result<()> {
    for setting in Direction::TABLE {
        if let Some(name) = setting.text(direction).filter(|text| setting.names_file(text)) {
            let path = std::path::absolute(directory.join(name))?.display().to_string();
            setting.set(direction, &path).map_err(CliError::new)?;
        }
    }
    Ok(())
}

/// Makes the name of a file of an energy model absolute that counts from `directory`; presets stay.
fn place_model(model: &mut Option<Spanned<String>>, directory: &Path) -> Result<()> {
    if let Some(name) = model.as_ref().map(Spanned::get_ref).filter(|it| it.ends_with(".toml")) {
        let path = std::path::absolute(directory.join(name))?.display().to_string();
        *model = Some(without_span(path));
    }
    Ok(())
}

/// An error in a file names its line; one that stands nowhere is of the options, and its advice is
/// given in options.
pub(crate) fn of_scenario(error: ScenarioError) -> CliError {
    match error.line() {
        Some(_) => CliError::from(error).into_usage(),
        None => CliError::usage(as_options(error.message())),
    }
}

/// Advice that is written as keys of a scenario, `kind = "wifi-g"`, as options: `--link wifi-g`.
pub(crate) fn as_options(message: &str) -> String {
    let mut parts = message.split(" = ");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let key = text.rfind(' ').map_or(0, |at| at + 1);
        let key = text.split_off(key);
        let of_link = Link::TABLE.iter().find(|setting| setting.name == key);
        let option = format!("--{}", of_link.map_or(key.as_str(), |setting| setting.option()));
        let quoted = part.strip_prefix('"').and_then(|rest| rest.split_once('"'));
        text += &match (quoted, part.strip_prefix("true")) {
            (Some((value, rest)), _) => format!("{option} {value}{rest}"),
            (None, Some(rest)) => format!("{option}{rest}"),
            (None, None) => format!("{option} {part}"),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    /// A command line of the options alone.
    #[derive(Debug, clap::Parser)]
    struct Line {
        #[command(flatten)]
        link: LinkOptions,
    }

    /// Returns what `--generate` prints for these words, or why it refuses them.
    fn generated(words: &[&str]) -> std::result::Result<(String, Topology), String> {
        let line = [&["windfall"], words].concat();
        let line = Line::try_parse_from(line).map_err(|error| error.to_string())?;
        let loaded = line.link.load(None, &RunSettings::unset());
        let loaded = loaded.map_err(|error| error.to_string())?;
        let text = loaded.generated().map_err(|error| error.to_string())?;
        Ok((text, loaded.topology().map_err(|error| error.to_string())?))
    }

    /// The options of a table, each with its example.
    fn examples<F: crate::face::OptionGroup>() -> impl Iterator<Item = String> {
        let settings = F::Object::TABLE.iter().filter(|setting| F::has(setting));
        settings.map(|it| format!("--{}{}={}", F::PREFIX, it.option(), it.example))
    }

    #[test]
    fn what_is_generated_builds_what_the_options_build() {
        let of_link =
            examples::<LinkGroup>().chain(examples::<RadioGroup>()).chain(examples::<RunGroup>());
        let of_directions = examples::<BothDirections>()
            .chain(examples::<UplinkOnly>())
            .chain(examples::<DownlinkOnly>());
        let beside = ["--ber=1e-5", "--rts-threshold=500", "--infrastructure", "--policy=flex"];
        let mut built = 0;
        for option in of_link.chain(of_directions) {
            for kind in ["pipe", "wavelan", "wifi-b", "wifi-g"] {
                let link = format!("--link={kind}");
                for beside in [&[][..], &beside[..1], &beside[1..3], &beside[3..]] {
                    let words = [&[link.as_str(), option.as_str()], beside].concat();
                    let Ok((text, topology)) = generated(&words) else { continue };
                    let read = Scenario::parse("generated.toml", &text);
                    let read = read.unwrap_or_else(|error| panic!("{words:?}: {error}\n{text}"));
                    let mut none = |_: &str| Err(std::io::ErrorKind::NotFound.into());
                    let level = level_inside(std::env::var(BASE).ok().as_deref());
                    let again = read.topology(level, ("", ""), &mut none).expect(&text);
                    assert_eq!(format!("{again:?}"), format!("{topology:?}"), "{words:?}");
                    built += 1;
                }
            }
        }
        assert!(built > 200, "{built}");
    }

    #[test]
    fn what_could_not_run_is_not_generated() {
        for (line, said) in [
            ("--link=wifi-g --rate=7", "802.11g has no rate of 7Mbps"),
            ("--link=wifi-b --rate=54", "802.11b has no rate of 54Mbps"),
            ("--link=wifi-g --power-save", "add --infrastructure"),
            ("--rate=10 --flow=v:reserve|20Mbps", "flow \"v\": "),
            ("--error-trace=", "name a file"),
            ("--rate-trace=", "name a file"),
            ("--error-trace=no.trace", "cannot read no.trace"),
            ("--link=wifi-g --basic-rates=", "basic-rates names no rate"),
            ("--range=28..100", "add --ber 1e-5 or another model"),
            ("--overcommit", "no flow has a reservation"),
            ("--link=wifi-g --rts-rate=2", "without rts-threshold: add --rts-threshold 500"),
        ] {
            let words: Vec<_> = line.split(' ').map(|word| word.replace('|', " ")).collect();
            let words: Vec<_> = words.iter().map(String::as_str).collect();
            let refusal = generated(&words).expect_err(line);
            assert!(refusal.contains(said), "{line}: {refusal}");
        }
    }

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
