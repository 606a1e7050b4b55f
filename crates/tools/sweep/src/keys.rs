//! Dotted keys: the place in a scenario that a name such as `link.air.ber` means.

use windfall_base::nearest;
use windfall_scenario::wifi::{Radio, StationRadio};
use windfall_scenario::{
    App, Direction, Flow, Link, RunSettings, Scenario, ScenarioOptions, Setting, Settings, Station,
    TCP_SETTINGS, TcpSetting,
};

use crate::error::SweepError;

/// The name that stands for every link, station, flow or application.
const ALL: &str = "*";

/// A key of a scenario that has been found in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioKey {
    /// The key as it was written.
    text: String,
    /// The name of the setting in its table.
    setting: &'static str,
    place: KeyPlace,
    is_whole: bool,
}

/// The table that a key belongs to, and which of the scenario's objects it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
enum KeyPlace {
    SweepRun,
    Link(Vec<usize>, LinkPart),
    Station(Vec<usize>),
    StationRadio(Vec<usize>),
    /// One setting among those of `tcp`.
    Tcp(Vec<usize>),
    Flow(Vec<usize>),
    App(Vec<usize>),
}

/// The part of a link that a key belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LinkPart {
    Link,
    Both,
    Uplink,
    Downlink,
    Radio,
}

impl ScenarioKey {
    /// Finds a key in a scenario.
    ///
    /// # Errors
    /// Names the key that is nearest, or those that there are.
    pub fn find(scenario: &Scenario, key: &str) -> Result<Self, SweepError> {
        let words: Vec<&str> = key.split('.').collect();
        let found = Finder { scenario, key, is_suggested: false }.find(&words);
        found.map(|(place, setting, is_whole)| Self {
            text: key.to_owned(),
            setting,
            place,
            is_whole,
        })
    }

    /// Returns the key as it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Tells whether its values are whole numbers.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Sets the key; a value for both directions of a link wins over what stands for one of them.
    ///
    /// # Errors
    /// If the key takes no such value; says what to write.
    pub fn set(&self, scenario: &mut Scenario, value: &str) -> Result<(), SweepError> {
        let done = match &self.place {
            KeyPlace::SweepRun => put(&mut scenario.run, self.setting, value),
            KeyPlace::Link(places, part) => self.set_links(scenario, places, *part, value),
            KeyPlace::Station(places) => {
                each(&mut scenario.stations, places, |it| put(it, self.setting, value))
            }
            KeyPlace::StationRadio(places) => each(&mut scenario.stations, places, |station| {
                let radio = station.radio.get_or_insert_with(StationRadio::unset);
                put(radio, self.setting, value)
            }),
            KeyPlace::Tcp(places) => each(&mut scenario.stations, places, |station| {
                let tcp = Station::row(|it| &it.tcp);
                let before = tcp.text(station);
                let own = format!("{}={value}", self.setting);
                let all = before.into_iter().chain([own]).collect::<Vec<_>>().join(", ");
                tcp.set(station, &all)
            }),
            KeyPlace::Flow(places) => {
                each(&mut scenario.flows, places, |it| put(it, self.setting, value))
            }
            KeyPlace::App(places) => {
                each(&mut scenario.apps, places, |it| put(it, self.setting, value))
            }
        };
        done.map_err(|fix| SweepError::Value {
            key: self.text.clone(),
            value: value.to_owned(),
            fix,
        })
    }

    fn set_links(
        &self,
        scenario: &mut Scenario,
        places: &[usize],
        part: LinkPart,
        value: &str,
    ) -> Result<(), String> {
        let mut options = ScenarioOptions::default();
        let link = &mut options.link;
        match part {
            LinkPart::Link => put(link, self.setting, value)?,
            LinkPart::Both => put(&mut link.both, self.setting, value)?,
            LinkPart::Uplink => put(&mut link.uplink, self.setting, value)?,
            LinkPart::Downlink => put(&mut link.downlink, self.setting, value)?,
            LinkPart::Radio => put(&mut link.radio, self.setting, value)?,
        }
        each(&mut scenario.links, places, |link| {
            options.apply_to(link);
            Ok(())
        })
    }
}

/// Returns the setting of a table by its key, or by its name on the command line.
fn setting<T: Settings>(name: &str) -> Option<&'static Setting<T>> {
    let mut own = T::TABLE.iter().filter(|it| !it.is_required);
    own.find(|it| it.name == name || it.option() == name)
}

fn put<T: Settings>(object: &mut T, name: &str, value: &str) -> Result<(), String> {
    let mut change = T::unset();
    if let Some(setting) = setting::<T>(name) {
        setting.set_by_option(&mut change, value)?;
    }
    object.overlay(&change);
    Ok(())
}

fn each<T>(
    all: &mut [T],
    places: &[usize],
    mut change: impl FnMut(&mut T) -> Result<(), String>,
) -> Result<(), String> {
    places.iter().filter_map(|place| Some(change(all.get_mut(*place)?))).collect()
}

/// A place, the name of its setting, and whether its values are whole numbers.
type Found = (KeyPlace, &'static str, bool);

/// Looks for a key in a scenario.
struct Finder<'a> {
    scenario: &'a Scenario,
    key: &'a str,
    /// Set for a key that an error suggests, so that none is suggested for it in turn.
    is_suggested: bool,
}

impl Finder<'_> {
    fn find(&self, words: &[&str]) -> Result<Found, SweepError> {
        match words {
            ["seed"] => Err(self.unknown("the seeds are those of --seeds and --seed")),
            ["station" | "app" | "flow"] => {
                Err(self.unknown("write one such as tcp.mss, station.*.energy, app.1.rate"))
            }
            [word] => self.bare(word),
            ["link", rest @ ..] => self.of_link(rest),
            ["uplink" | "downlink" | "radio", _] => self.of_link(words),
            ["station", name, rest @ ..] if !rest.is_empty() => self.of_station(name, rest),
            ["tcp", _] => self.of_station(ALL, words),
            ["app", rest @ ..] => self.of_app(rest),
            ["flow", name, setting] => {
                let names = self.scenario.flows.iter().map(|it| it.name.get_ref().clone());
                let places = self.named("flow", name, &names.collect::<Vec<_>>())?;
                self.in_table::<Flow>(setting, &format!("flow.{name}."), || KeyPlace::Flow(places))
            }
            [first, rest @ ..] => {
                let rest: String = rest.iter().flat_map(|word| [".", word]).collect();
                Err(self.nearest_of(first, ("", &rest), &PARTS.map(str::to_owned)))
            }
            [] => Err(self.unknown("write one such as link.ber")),
        }
    }

    /// A key without a place: of the run, else of the links, else of the applications or of the
    /// stations.
    fn bare(&self, word: &str) -> Result<Found, SweepError> {
        if setting::<RunSettings>(word).is_some() {
            return self.in_table::<RunSettings>(word, "", || KeyPlace::SweepRun);
        }
        if is_of_link(word) {
            return self.of_link(&[word]);
        }
        if setting::<App>(word).is_some() && !self.scenario.apps.is_empty() {
            return self.of_app(&[word]);
        }
        if setting::<Station>(word).is_some() {
            return self.of_station(ALL, &[word]);
        }
        if tcp_setting(word).is_some() {
            return Err(self.suggestion(&format!("tcp.{word}")));
        }
        let known = [keys::<RunSettings>(), link_keys(), keys::<App>(), keys::<Station>()].concat();
        Err(self.nearest_of(word, ("", ""), &known))
    }

    fn of_link(&self, words: &[&str]) -> Result<Found, SweepError> {
        let links = &self.scenario.links;
        let names: Vec<String> = links.iter().map(Link::name).collect();
        let (places, words, prefix) = match words {
            [name, rest @ ..] if !rest.is_empty() && (rest.len() > 1 || !is_part(name)) => {
                (self.named("link", name, &names)?, rest, format!("link.{name}."))
            }
            _ if links.len() == 1 => (vec![0], words, "link.".to_owned()),
            _ => return Err(self.unknown(&which("link", &names))),
        };
        match words {
            ["uplink", word] => {
                self.in_table::<Direction>(word, &format!("{prefix}uplink."), || {
                    KeyPlace::Link(places, LinkPart::Uplink)
                })
            }
            ["downlink", word] => {
                self.in_table::<Direction>(word, &format!("{prefix}downlink."), || {
                    KeyPlace::Link(places, LinkPart::Downlink)
                })
            }
            ["radio", word] => self.in_table::<Radio>(word, &format!("{prefix}radio."), || {
                KeyPlace::Link(places, LinkPart::Radio)
            }),
            [word] if setting::<Link>(word).is_some() => {
                self.in_table::<Link>(word, &prefix, || KeyPlace::Link(places, LinkPart::Link))
            }
            [word] if setting::<Direction>(word).is_some() => {
                self.in_table::<Direction>(word, &prefix, || KeyPlace::Link(places, LinkPart::Both))
            }
            [word] if setting::<Radio>(word).is_some() => {
                self.in_table::<Radio>(word, &prefix, || KeyPlace::Link(places, LinkPart::Radio))
            }
            [first, ..] => Err(self.nearest_of(first, (&prefix, ""), &link_keys())),
            [] => Err(self.unknown(&format!("write one such as {prefix}ber"))),
        }
    }

    fn of_station(&self, name: &str, words: &[&str]) -> Result<Found, SweepError> {
        let names = self.scenario.stations.iter().map(|it| it.name.get_ref().clone());
        let places = self.named("station", name, &names.collect::<Vec<_>>())?;
        let prefix = format!("station.{name}.");
        match words {
            ["radio", word] => {
                self.in_table::<StationRadio>(word, &format!("{prefix}radio."), || {
                    KeyPlace::StationRadio(places)
                })
            }
            ["tcp", word] => match tcp_setting(word) {
                Some(setting) => Ok((KeyPlace::Tcp(places), setting.name, false)),
                None => {
                    let known: Vec<_> = TCP_SETTINGS.iter().map(|it| it.name.to_owned()).collect();
                    Err(self.nearest_of(word, (&format!("{prefix}tcp."), ""), &known))
                }
            },
            [word] if tcp_setting(word).is_some() => {
                Err(self.suggestion(&format!("{prefix}tcp.{word}")))
            }
            [word] => self.in_table::<Station>(word, &prefix, || KeyPlace::Station(places)),
            _ => Err(self.unknown(&format!("write one such as {prefix}tcp.mss"))),
        }
    }

    /// An application by its number or kind; the only one needs neither.
    fn of_app(&self, words: &[&str]) -> Result<Found, SweepError> {
        let kinds = self.scenario.apps.iter().map(app_kind);
        let kinds: Vec<String> = kinds.collect();
        match words {
            [word] if kinds.len() == 1 => {
                self.in_table::<App>(word, "app.", || KeyPlace::App(vec![0]))
            }
            [word] => {
                let fix = format!("write app.N.{word} with its number from 1, or app.*.{word}");
                Err(self.unknown(&fix))
            }
            [name, word] => {
                let number = name.parse::<usize>().ok().filter(|it| (1..=kinds.len()).contains(it));
                let places = match number {
                    Some(number) => vec![number - 1],
                    None => self.named("app", name, &kinds)?,
                };
                self.in_table::<App>(word, &format!("app.{name}."), || KeyPlace::App(places))
            }
            _ => Err(self.unknown("write one such as app.1.rate")),
        }
    }

    fn in_table<T: Settings>(
        &self,
        word: &str,
        prefix: &str,
        place: impl FnOnce() -> KeyPlace,
    ) -> Result<Found, SweepError> {
        match setting::<T>(word) {
            Some(setting) => Ok((place(), setting.name, setting.kind == "whole number")),
            None => Err(self.nearest_of(word, (prefix, ""), &keys::<T>())),
        }
    }

    /// Returns the places of the objects of a name, or of all for `*`.
    fn named(&self, what: &str, name: &str, names: &[String]) -> Result<Vec<usize>, SweepError> {
        let is_meant = |own: &String| name == ALL || own == name;
        let places = names.iter().enumerate().filter(|(_, own)| is_meant(own));
        let places: Vec<usize> = places.map(|(place, _)| place).collect();
        if places.is_empty() {
            return Err(match nearest(name, names.iter().map(String::as_str)) {
                Some(near) => {
                    self.unknown(&format!("there is no {what} \"{name}\", but \"{near}\""))
                }
                None => {
                    self.unknown(&format!("there is no {what} \"{name}\"; {}", which(what, names)))
                }
            });
        }
        Ok(places)
    }

    /// The error with the nearest of the known words between what stands before and behind it.
    fn nearest_of(&self, word: &str, (prefix, rest): (&str, &str), known: &[String]) -> SweepError {
        // Two letters the wrong way round are two changes, which are many in a short word.
        let turned = || known.iter().map(String::as_str).find(|it| letters(it) == letters(word));
        match nearest(word, known.iter().map(String::as_str)).or_else(turned) {
            Some(near) => self.suggestion(&format!("{prefix}{near}{rest}")),
            None => self.unknown(&format!("known are {}", known.join(", "))),
        }
    }

    /// The error with another key; if that one is not whole either, with what it lacks.
    fn suggestion(&self, key: &str) -> SweepError {
        if self.is_suggested {
            return self.unknown(&format!("did you mean \"{key}\"?"));
        }
        let words: Vec<&str> = key.split('.').collect();
        let other = Finder { scenario: self.scenario, key, is_suggested: true };
        match other.find(&words) {
            Err(SweepError::UnknownKey { fix, .. }) if fix.starts_with("did you mean") => {
                self.unknown(&fix)
            }
            Err(SweepError::UnknownKey { fix, .. }) => {
                self.unknown(&format!("did you mean \"{key}\"? {fix}"))
            }
            _ => self.unknown(&format!("did you mean \"{key}\"?")),
        }
    }

    fn unknown(&self, fix: &str) -> SweepError {
        SweepError::UnknownKey { key: self.key.to_owned(), fix: fix.to_owned() }
    }
}

/// The first words of dotted keys.
const PARTS: [&str; 8] = ["link", "station", "app", "flow", "uplink", "downlink", "radio", "tcp"];

/// The tables within a link.
const LINK_PARTS: [&str; 3] = ["uplink", "downlink", "radio"];

fn is_part(word: &str) -> bool {
    LINK_PARTS.contains(&word)
}

fn tcp_setting(name: &str) -> Option<&'static TcpSetting> {
    TCP_SETTINGS.iter().find(|it| it.name == name)
}

fn is_of_link(word: &str) -> bool {
    setting::<Link>(word).is_some()
        || setting::<Direction>(word).is_some()
        || setting::<Radio>(word).is_some()
}

fn app_kind(app: &App) -> String {
    App::row(|it| &it.kind).text(app).unwrap_or_default()
}

/// The letters of a word, sorted.
fn letters(word: &str) -> Vec<char> {
    let mut letters: Vec<char> = word.chars().collect();
    letters.sort_unstable();
    letters
}

/// Says which there are of a kind.
fn which(what: &str, names: &[String]) -> String {
    match names {
        [] => format!("the scenario has no {what}"),
        [one] => format!("the {what} is \"{one}\""),
        many => format!("name one of {}, or * for all", many.join(", ")),
    }
}

fn keys<T: Settings>() -> Vec<String> {
    // The seeds are those of the sweep.
    let seed = RunSettings::row(|it| &it.seed).name;
    let rows = T::TABLE.iter().filter(|it| !it.is_required && it.name != seed);
    rows.map(|it| it.name.to_owned()).collect()
}

fn link_keys() -> Vec<String> {
    [keys::<Link>(), keys::<Direction>(), keys::<Radio>()].concat()
}

#[cfg(test)]
mod tests;
