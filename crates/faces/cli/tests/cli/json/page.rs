//! The tables of `docs/reference/json.md` and of the pages in `docs/reference/json`, and what an
//! output must be to be as they say.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

const PAGE: &str = concat!(
    include_str!("../../../../../../docs/reference/json.md"),
    include_str!("../../../../../../docs/reference/json/summary.md"),
    include_str!("../../../../../../docs/reference/json/tcp.md"),
    include_str!("../../../../../../docs/reference/json/data.md"),
    include_str!("../../../../../../docs/reference/json/video.md"),
    include_str!("../../../../../../docs/reference/json/sweep.md"),
    include_str!("../../../../../../docs/reference/json/trace.md"),
    include_str!("../../../../../../docs/reference/json/reproduce.md"),
);

/// The members of this histogram stand on the page; those of all others are the same.
const HISTOGRAM: &str = "statistics.frames.loss_bursts";

/// Units in which quantities are given, and the ends of their names.
const UNITS: [(&str, &str); 7] = [
    ("s²", "square_seconds"),
    ("s", "seconds"),
    ("b/s", "bps"),
    ("m/s", "mps"),
    ("dB", "db"),
    ("J", "joules"),
    ("J/byte", "joules_per_byte"),
];

/// A row of a table.
#[derive(Clone, Debug)]
struct Member {
    path: String,
    types: String,
    unit: String,
    present: String,
}

impl Member {
    fn parse(line: &str) -> Option<Self> {
        let cells: Vec<&str> = line.strip_prefix("| `")?.strip_suffix(" |")?.split(" | ").collect();
        let [path, types, unit, .., present] = cells[..] else { return None };
        let path = path.trim_end_matches('`').to_owned();
        let unit = unit.trim().to_owned();
        Some(Self { path, types: types.to_owned(), unit, present: present.to_owned() })
    }

    /// The object that it belongs to, and its name there.
    fn place(&self) -> (&str, &str) {
        self.path.rsplit_once('.').unwrap_or(("", &self.path))
    }

    fn is_of_real_time(&self) -> bool {
        self.present.starts_with("real time")
    }

    fn is_always_there(&self) -> bool {
        self.present.ends_with("always") && self.place().1 != "*"
    }

    /// The last words of its name, or of the object whose members are all such quantities.
    fn ends_in(&self, unit: &str) -> bool {
        let name = self.path.trim_end_matches(".*");
        let name = name.rsplit('.').next().unwrap_or_default();
        name.strip_suffix(unit).is_some_and(|rest| rest.is_empty() || rest.ends_with('_'))
    }

    fn allows(&self, value: &Value) -> bool {
        self.types.split(" or ").any(|it| match it {
            "text" => value.is_string(),
            "number" => value.is_number(),
            "boolean" => value.is_boolean(),
            "list" => value.is_array(),
            "object" | "histogram" => value.is_object(),
            "null" => value.is_null(),
            other => other == "any",
        })
    }
}

/// The members of each format on the page, and those that were seen.
#[derive(Debug, Default)]
pub(crate) struct Page {
    formats: BTreeMap<String, Vec<Member>>,
    seen: BTreeSet<(String, String)>,
}

impl Page {
    pub(crate) fn read() -> Self {
        let mut page = Self::default();
        let mut format = "";
        for line in PAGE.lines() {
            if let Some(heading) = line.strip_prefix("## ") {
                format = heading;
            } else if format.starts_with("windfall-")
                && let Some(member) = Member::parse(line)
            {
                page.formats.entry(format.to_owned()).or_default().push(member);
            }
        }
        page.formats.values_mut().for_each(spell_out);
        page
    }

    /// Holds that no name of a member has a hyphen, as the page promises.
    pub(crate) fn assert_spelt_with_underscores(&self) {
        for member in self.formats.values().flatten() {
            assert!(!member.path.contains('-'), "{}: write it with underscores", member.path);
        }
    }

    /// Holds that each quantity with a unit ends in it, and nothing else does.
    pub(crate) fn assert_units(&self) {
        for member in self.formats.values().flatten().filter(|it| !it.types.contains("object")) {
            let of_name = UNITS.iter().find(|(_, name)| member.ends_in(name));
            let of_unit = UNITS.iter().find(|(unit, _)| *unit == member.unit);
            assert_eq!(of_name, of_unit, "{} in {}", member.path, member.unit);
        }
    }

    /// Compares an output with the page.
    pub(crate) fn check(&mut self, output: &Value) {
        let format = output["format"].as_str().unwrap_or_else(|| panic!("no format: {output}"));
        let members = self.formats.get(format).unwrap_or_else(|| panic!("no {format} on the page"));
        let mut seen = BTreeSet::new();
        compare(members, "", output.as_object().expect("an object"), &mut seen);
        self.seen.extend(seen.into_iter().map(|path| (format.to_owned(), path)));
    }

    /// Panics unless each member of the page was in some output: those of real time, or all others.
    pub(crate) fn assert_all_seen(&self, real_time: bool) {
        for (format, members) in &self.formats {
            for member in members.iter().filter(|it| it.is_of_real_time() == real_time) {
                let is_seen = self.seen.contains(&(format.clone(), member.path.clone()));
                assert!(is_seen, "{format}: {} was in no output", member.path);
            }
        }
    }
}

/// Gives every histogram the members that the page gives to one of them.
fn spell_out(members: &mut Vec<Member>) {
    let is_histogram = |it: &&Member| it.types == "histogram" && it.path != HISTOGRAM;
    let others: Vec<_> = members.iter().filter(is_histogram).map(|it| it.path.clone()).collect();
    let inside = format!("{HISTOGRAM}.");
    let shown = members.iter().filter(|it| it.path.starts_with(&inside));
    let shown: Vec<_> = shown.cloned().collect();
    for other in others {
        members.extend(shown.iter().cloned().map(|member| {
            let path = member.path.replacen(HISTOGRAM, &other, 1);
            Member { path, ..member }
        }));
    }
}

/// Compares the object at `path` with the page, and what is in it.
fn compare(
    members: &[Member],
    path: &str,
    object: &Map<String, Value>,
    seen: &mut BTreeSet<String>,
) {
    let here = || members.iter().filter(|it| it.place().0 == path);
    for member in here().filter(|it| it.is_always_there()) {
        let name = member.place().1;
        assert!(object.contains_key(name), "{} is not always there: {object:?}", member.path);
    }
    for (name, value) in object {
        let named = |name: &str| here().find(|it| it.place().1 == name);
        let member = named(name).or_else(|| named("*"));
        let member = member.unwrap_or_else(|| panic!("\"{path}\".{name} is not on the page"));
        assert!(member.allows(value), "{} is no {}: {value}", member.path, member.types);
        seen.insert(member.path.clone());
        if let Some(inner) = value.as_object() {
            compare(members, &member.path, inner, seen);
        }
        let list = value.as_array().into_iter().flatten().filter_map(Value::as_object);
        list.for_each(|inner| compare(members, &format!("{}[]", member.path), inner, seen));
    }
}
