//! Settings that are used in a run: those that a search found, or others in the same words.

use core::str::FromStr;

use windfall_base::nearest;
use windfall_ip::RouteMetric;
use windfall_output::summary::{AppliedSetting, Summary};
use windfall_scenario::{Scenario, TCP_SETTINGS, TcpSetting};
use windfall_settings::tcp::KernelWay;

use super::tuned::{HEADERS, TunedSetting, longest_packet, make_room, mss, set_mtu};

/// The format of the advice in JSON, without its number.
const FORMAT: &str = "windfall-energy-tune/";
/// The line of the advice behind which its settings stand, and the one before which they end.
const BEGIN: &str = "in Windfall:";
const END: &str = "on Linux, at both ends:";
/// Settings of links beside those of TCP.
const OF_LINKS: [TunedSetting; 3] =
    [TunedSetting::RtsThreshold, TunedSetting::Rate, TunedSetting::Power];

/// Settings of TCP and of links, to be used in a run whose TCP is that of kernels.
///
/// Its text is what `windfall tune --for` prints, as JSON or as text, or a list such as `mss=2256,
/// timestamps=off` with commas or lines between.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AppliedSettings {
    tcp: Vec<KernelSetting>,
    links: Vec<(LinkSetting, String)>,
}

/// A setting of TCP, its value, and the way in which a kernel is told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelSetting {
    /// The row of the setting.
    pub setting: &'static TcpSetting,
    /// The value of the setting.
    pub value: String,
    /// The way in which a kernel is told.
    pub way: KernelWay,
}

impl KernelSetting {
    /// Returns what the summary of a run says of it.
    fn summary(&self) -> AppliedSetting {
        let Self { setting, value, way } = self.clone();
        let (how, cannot) = match way {
            KernelWay::AsItIs => (None, None),
            KernelWay::Route(metric) => (Some(metric.to_string()), None),
            KernelWay::Parameter(key, value) => (Some(format!("{key}={value}")), None),
            KernelWay::Cannot(why) => (None, Some(why.to_owned())),
        };
        AppliedSetting { setting: setting.name.to_owned(), value, how, cannot }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LinkSetting {
    Mtu,
    Tuned(TunedSetting),
}

impl AppliedSettings {
    /// Returns the settings of TCP, in the order of the text.
    #[must_use]
    pub fn tcp(&self) -> &[KernelSetting] {
        &self.tcp
    }

    /// Returns what the summary of a run says of them.
    #[must_use]
    pub fn summaries(&self) -> Vec<AppliedSetting> {
        let links = self.links.iter().map(|(setting, value)| {
            let (name, links) = match setting {
                LinkSetting::Mtu => (longest_packet().name, "every link"),
                LinkSetting::Tuned(setting) => (setting.name(), "every link of 802.11"),
            };
            let how = Some(format!("{name} of {links}"));
            AppliedSetting { setting: name.to_owned(), value: value.clone(), how, cannot: None }
        });
        self.tcp.iter().map(KernelSetting::summary).chain(links).collect()
    }

    /// Returns the summary of a run that used them.
    #[must_use]
    pub fn noted(&self, summary: Summary) -> Summary {
        Summary { applied: self.summaries(), ..summary }
    }

    /// Sets what the links of the scenario are to have: the radio's settings, and packets that hold
    /// the segments.
    ///
    /// # Errors
    /// If no link has such a setting, or takes no such value; says what to write.
    pub fn change_links(&self, scenario: &mut Scenario) -> Result<(), String> {
        for KernelSetting { value, .. } in self.tcp.iter().filter(|it| it.setting == mss()) {
            make_room(scenario, value)?;
        }
        for (setting, value) in &self.links {
            match setting {
                LinkSetting::Mtu => set_mtu(scenario, value)
                    .map_err(|fix| wrong(longest_packet().name, value, &fix)),
                LinkSetting::Tuned(setting) if !setting.is_of(scenario) => {
                    let fix = "no link of 802.11 has it: add --link wifi-b, or remove the setting";
                    Err(wrong(setting.name(), value, fix))
                }
                LinkSetting::Tuned(setting) => {
                    setting.set(scenario, value).map_err(|fix| wrong(setting.name(), value, &fix))
                }
            }?;
        }
        Ok(())
    }

    /// Refuses settings that exclude each other.
    fn check_together(self) -> Result<Self, String> {
        let of_tcp = |row: &TcpSetting| self.tcp.iter().find(|it| it.setting == row);
        let mss = of_tcp(mss()).and_then(|it| it.value.parse::<u32>().ok());
        let mtu = self.links.iter().find(|(it, _)| *it == LinkSetting::Mtu);
        let mtu = mtu.and_then(|(_, value)| value.parse::<u32>().ok());
        if let (Some(mss), Some(mtu)) = (mss, mtu)
            && mss + u32::from(HEADERS) > mtu
        {
            let most = mtu.saturating_sub(HEADERS.into());
            return Err(format!(
                "mss={mss} does not fit into packets of mtu={mtu}: write mss={most} or less, or \
                 leave mtu out"
            ));
        }
        let is_unscaled =
            of_tcp(TcpSetting::row(|it| &it.window_scale)).is_some_and(|it| it.value == "off");
        let buffer = of_tcp(TcpSetting::row(|it| &it.receive_buffer)).filter(|_| is_unscaled);
        if let Some(KernelSetting { value, way: KernelWay::Route(metric), .. }) = buffer
            && matches!(metric, RouteMetric::Window(bytes) if *bytes > u32::from(u16::MAX))
        {
            return Err(format!(
                "receive-buffer={value} and window-scale=off exclude each other: without scaling \
                 no window beyond 65535 bytes is announced: write receive-buffer=65535B, or leave \
                 one of them out"
            ));
        }
        Ok(self)
    }

    fn add(&mut self, name: &str, value: &str) -> Result<(), String> {
        let tuned = OF_LINKS.into_iter().find(|it| it.name() == name).map(LinkSetting::Tuned);
        let of_link = tuned.or((name == longest_packet().name).then_some(LinkSetting::Mtu));
        let is_there = match of_link {
            Some(setting) => self.links.iter().any(|(other, _)| *other == setting),
            None => self.tcp.iter().any(|it| it.setting.name == name),
        };
        if is_there {
            return Err(format!("the setting {name} is given twice: write it once"));
        }
        if let Some(setting) = of_link {
            self.links.push((setting, value.to_owned()));
            return Ok(());
        }
        let setting = TCP_SETTINGS.iter().find(|setting| setting.name == name);
        let setting = setting.ok_or_else(|| unknown(name))?;
        let way = setting.kernel_way(value).map_err(|error| error.to_string())?;
        self.tcp.push(KernelSetting { setting, value: value.to_owned(), way });
        Ok(())
    }

    /// Adds a setting that is written as `NAME=VALUE`.
    fn add_pair(&mut self, text: &str) -> Result<(), String> {
        let Some((name, value)) = text.split_once('=') else {
            return Err(format!("\"{text}\" is no setting: write NAME=VALUE, such as mss=1460"));
        };
        self.add(name.trim(), value.trim())
    }

    fn read_json(text: &str) -> Result<Self, String> {
        let advice: serde_json::Value =
            serde_json::from_str(text).map_err(|error| format!("it is no JSON: {error}"))?;
        let format = advice["format"].as_str().unwrap_or_default();
        let list = advice["linux"].as_array().filter(|_| format.starts_with(FORMAT));
        let list = list.ok_or("it is no advice of windfall tune --for GOAL --json")?;
        let mut applied = Self::default();
        for it in list {
            let (Some(name), Some(value)) = (it["setting"].as_str(), it["value"].as_str()) else {
                return Err("an entry of \"linux\" has no setting or no value".to_owned());
            };
            applied.add(name, value)?;
        }
        Ok(applied)
    }

    /// Reads the text of an advice from the line behind [`BEGIN`].
    fn read_advice<'a>(lines: impl Iterator<Item = &'a str>) -> Result<Self, String> {
        let mut applied = Self::default();
        for line in lines.take_while(|line| *line != END) {
            if let Some(quoted) = line.strip_prefix("tcp = \"") {
                let settings = quoted.split('"').next().unwrap_or_default();
                settings.split(',').try_for_each(|pair| applied.add_pair(pair.trim()))?;
                continue;
            }
            let mut words = line.split_whitespace();
            while let Some(word) = words.next() {
                let name = word.strip_prefix("--").ok_or_else(|| {
                    format!("\"{line}\" is no line of an advice of windfall tune --for")
                })?;
                let value = words.next().ok_or_else(|| format!("--{name} has no value"))?;
                applied.add(name, value)?;
            }
        }
        Ok(applied)
    }
}

impl FromStr for AppliedSettings {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim_start().starts_with('{') {
            return Self::read_json(text)?.check_together();
        }
        let mut lines = text.lines().map(str::trim);
        if lines.by_ref().any(|line| line == BEGIN) {
            return Self::read_advice(lines)?.check_together();
        }
        if text.lines().any(|line| line.starts_with("nothing that was tried saves anything")) {
            return Ok(Self::default());
        }
        let mut applied = Self::default();
        for line in text.lines() {
            let line = line.split('#').next().unwrap_or_default();
            let pairs = line.split(',').map(str::trim).filter(|pair| !pair.is_empty());
            for pair in pairs {
                applied.add_pair(pair)?;
            }
        }
        if applied == Self::default() {
            return Err("it has no setting: write NAME=VALUE, such as mss=1460".to_owned());
        }
        applied.check_together()
    }
}

fn wrong(name: &str, value: &str, fix: &str) -> String {
    format!("{name}={value}: {fix}")
}

fn unknown(name: &str) -> String {
    let of_links = OF_LINKS.map(TunedSetting::name);
    let names =
        || TCP_SETTINGS.iter().map(|it| it.name).chain(of_links).chain([longest_packet().name]);
    match nearest(name, names()) {
        Some(near) => format!("there is no setting \"{name}\": did you mean {near}?"),
        None => {
            let names = names().collect::<Vec<_>>().join(", ");
            format!("there is no setting \"{name}\": there are {names}")
        }
    }
}

#[cfg(test)]
mod tests;
