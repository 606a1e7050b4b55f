//! Links with names, each with the figures of its source.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use toml::{Table, Value};
use windfall_base::{Duration, Rate};

/// The links, in the order of the file.
static LINKS: LazyLock<Vec<NamedLink>> = LazyLock::new(read);

/// A link that a name stands for.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedLink {
    /// The name of the link.
    pub name: String,
    /// The network or the place that it models.
    pub title: String,
    /// The source of its figures.
    pub source: String,
    /// The properties of the original that it lacks.
    pub lacks: String,
    /// The figures of the source.
    pub figures: LinkFigures,
    /// The settings of the link beside those that follow from the figures.
    settings: Table,
}

/// The figures of a source; `near` is the user's end.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LinkFigures {
    /// The round trip of a small packet on the idle link: the median where it varies.
    pub rtt: Option<Duration>,
    /// The shortest round trip.
    pub least_rtt: Option<Duration>,
    /// The longest round trip.
    pub most_rtt: Option<Duration>,
    /// The rate of what the user receives.
    pub down: Option<Rate>,
    /// The rate of what the user sends.
    pub up: Option<Rate>,
}

impl NamedLink {
    /// Returns the text of a scenario whose stations `near` and `far` the link joins.
    #[must_use]
    pub fn scenario(&self) -> String {
        let station = |name: &str| Table::from_iter([("name".to_owned(), name.into())]);
        let stations = ["near", "far"].map(|name| Value::Table(station(name)));
        let mut link = self.settings.clone();
        link.insert("stations".to_owned(), Value::Array(vec!["near".into(), "far".into()]));
        if !link.contains_key("kind") {
            if let Some(rtt) = self.figures.rtt {
                link.insert("delay".to_owned(), (rtt / 2).to_string().into());
            }
            for (side, rate) in [("uplink", self.figures.up), ("downlink", self.figures.down)] {
                let rate = rate.map(|rate| ("rate".to_owned(), rate.to_string().into()));
                link.insert(side.to_owned(), Value::Table(rate.into_iter().collect()));
            }
        }
        let scenario = Table::from_iter([
            ("format".to_owned(), 1.into()),
            ("station".to_owned(), Value::Array(stations.to_vec())),
            ("link".to_owned(), Value::Array(vec![Value::Table(link)])),
        ]);
        scenario.to_string()
    }
}

/// Returns all links that have a name.
#[must_use]
pub fn named_links() -> &'static [NamedLink] {
    &LINKS
}

/// Returns the link of a name.
///
/// # Errors
/// If there is none: with the name that is most like it.
pub fn named_link(name: &str) -> Result<&'static NamedLink, String> {
    named_links().iter().find(|link| link.name == name).ok_or_else(|| {
        let names = named_links().iter().map(|link| link.name.as_str());
        let like = windfall_base::nearest(name, names);
        let fix = match like {
            Some(like) => format!("did you mean \"{like}\"?"),
            None => "windfall links lists them".to_owned(),
        };
        format!("no link is called \"{name}\": {fix}")
    })
}

/// The file of the links.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LinksFile {
    source: BTreeMap<String, Source>,
    link: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Source {
    title: String,
    lacks: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    title: String,
    source: String,
    figures: LinkFigures,
    #[serde(default)]
    link: Table,
}

fn read() -> Vec<NamedLink> {
    // A test reads the file.
    let Ok(file) = toml::from_str::<LinksFile>(include_str!("named_links.toml")) else {
        return Vec::new();
    };
    let with_source = |entry: Entry| {
        let Source { title, lacks } = file.source.get(&entry.source)?;
        Some(NamedLink {
            name: entry.name,
            title: entry.title,
            source: title.clone(),
            lacks: lacks.clone(),
            figures: entry.figures,
            settings: entry.link,
        })
    };
    file.link.into_iter().filter_map(with_source).collect()
}

#[cfg(test)]
mod tests;
