//! The pages of `docs/reference` are what the tables of settings say.
//!
//! `WINDFALL_BLESS=1 cargo test -p windfall-scenario --test reference` writes them.

use std::path::Path;

use windfall_scenario::wifi::{Radio, StationRadio};
use windfall_scenario::{
    App, AppKind, Change, Choice, Direction, Flow, Link, Route, RunKind, RunSettings, Scenario,
    Setting, Settings, Station, StationInterface, TcpSettings,
};

/// The first lines of every page.
const NOTE: &str = "These tables are made from those of the program. \
                    [The scenario](scenario-file.md) has examples, and the form of times, rates, \
                    sizes and probabilities. Switches are `true` or `false` here, and `on` or \
                    `off` in the text of an option or a flow.\n";

/// The note on switches for the page whose values are all text.
const SWITCHES: &str = "As everywhere in text, switches are `on` or `off`.";

/// The head of a column, and the cell that a setting has in it.
type Column<'a, T> = (&'a str, &'a dyn Fn(&Setting<T>) -> String);

/// A table of one object; `column` is the head of a column beside, and what stands in it.
fn table<T: Settings>(column: Option<Column<'_, T>>) -> String {
    let head = column.map_or(String::new(), |(head, _)| format!(" {head} |"));
    let rule = column.map_or("", |_| "---|");
    let mut text = format!("| key |{head} value | default | meaning |\n|---|{rule}---|---|---|\n");
    for setting in T::TABLE {
        let beside = column.map_or(String::new(), |(_, cell)| format!(" {} |", cell(setting)));
        text += &format!(
            "| `{}` |{beside} {} | {} | {} |\n",
            setting.name,
            value(setting),
            default(setting),
            meaning(setting)
        );
    }
    text
}

fn value<T: Settings>(setting: &Setting<T>) -> String {
    let words = (setting.words)();
    let kind = if setting.is_switch() {
        "`true`, `false`".to_owned()
    } else if !words.is_empty() {
        words.iter().map(|(word, _)| format!("`{word}`")).collect::<Vec<_>>().join(", ")
    } else if setting.is_file {
        "name of a file".to_owned()
    } else {
        setting.kind.to_owned()
    };
    let range = setting.range().map_or(String::new(), |range| format!(", {range}"));
    let example =
        if words.is_empty() { format!(", such as `{}`", setting.example) } else { String::new() };
    kind + &range + &example
}

fn default<T: Settings>(setting: &Setting<T>) -> String {
    match (setting.is_required, setting.default) {
        (true, _) => "required".to_owned(),
        (_, "") => setting.unset.to_owned(),
        (_, "off") if setting.is_switch() => "`false`".to_owned(),
        (_, default) => format!("`{default}`"),
    }
}

fn meaning<T: Settings>(setting: &Setting<T>) -> String {
    let mut text = setting.help().to_owned();
    if !setting.requirement.is_empty() {
        text += &format!(" ({})", setting.requirement);
    }
    let words = (setting.words)();
    let words = words.iter().filter(|(_, meaning)| !meaning.is_empty());
    let words: Vec<_> = words.map(|(word, meaning)| format!("`{word}`: {meaning}")).collect();
    for sentence in [words.join("; "), setting.detail.to_owned()] {
        if !sentence.is_empty() {
            text += &format!(". {}", sentence.trim_end_matches('.'));
        }
    }
    if !setting.remark().is_empty() {
        let (first, rest) = setting.remark().split_at(1);
        text += &format!(". {}{rest}", first.to_uppercase());
    }
    if !setting.excludes.is_empty() {
        text += &format!(". Not with `{}`", setting.excludes);
    }
    if !setting.needs.is_empty() {
        let or = setting.needs_or;
        let or = if or.is_empty() { String::new() } else { format!(", {or}") };
        text += &format!(". Needs `{}`{or}", setting.needs);
    }
    text.replace('|', "\\|")
}

fn option<T: Settings>(setting: &Setting<T>) -> String {
    if setting.is_required || setting.is_key_only {
        String::new()
    } else {
        format!("`--{}`", setting.option())
    }
}

fn scenario() -> String {
    let option = |setting: &Setting<RunSettings>| match setting.metadata {
        None => option(setting),
        Some(RunKind::Simulated) => format!("{} of `sim`", option(setting)),
        Some(RunKind::RealTime) => format!("{} of `run` and `up`", option(setting)),
    };
    let options = Some(("option", &option as &dyn Fn(&Setting<RunSettings>) -> String));
    format!(
        "# Settings of a scenario as a whole\n\n{NOTE}\n## The file\n\n{}\n## The run\n\n{}",
        table::<Scenario>(None),
        table::<RunSettings>(options),
    )
}

fn link() -> String {
    let options = Some(("option", &option as &dyn Fn(&Setting<Link>) -> String));
    let of_direction = Some(("option", &option as &dyn Fn(&Setting<Direction>) -> String));
    format!(
        "# Settings of a link\n\n{NOTE}\n## `[[link]]`\n\n{}\n## Directions\n\nThese stand in \
         `[[link]]` for both directions, or in `[link.uplink]` and `[link.downlink]` for one of \
         them; on the command line `--uplink-` and `--downlink-` stand before the name. Error \
         models act one after the other, in the order of the table.\n\n{}\n## `[[link.path]]`\n\n\
         The air of a radio from station to station, by the keys `from` and `to`, which every \
         station matches where they are unset, and by {}. Of several that match, the last wins.\n",
        table::<Link>(options),
        table::<Direction>(of_direction),
        keys_of_the_air(),
    )
}

fn keys_of_the_air() -> String {
    use windfall_scenario::AppliesTo::{Air, Errors};
    let is_of_air = |it: &&Setting<Direction>| matches!(it.metadata, Some(Air | Errors(_)));
    let keys = Direction::TABLE.iter().filter(is_of_air);
    keys.map(|setting| format!("`{}`", setting.name)).collect::<Vec<_>>().join(", ")
}

fn radio() -> String {
    let options = Some(("option", &option as &dyn Fn(&Setting<Radio>) -> String));
    format!(
        "# Settings of a radio\n\n{NOTE}\n## `[link.radio]`\n\nThe radio of a link of the kind \
         `wifi-b` or `wifi-g`.\n\n{}\n## `[station.radio]`\n\nThe radio of one station.\n\n{}",
        table::<Radio>(options),
        table::<StationRadio>(None),
    )
}

fn station() -> String {
    format!(
        "# Settings of a station\n\n{NOTE}\n## `[[station]]`\n\n[Its radio](radio.md) has a page \
         of its own.\n\n{}\n## `[[station.interface]]`\n\nAn interface that differs from what the \
         link alone would make it.\n\n{}\n## `[[station.route]]`\n\nBy default a station has the \
         shortest ways to every network.\n\n{}",
        table::<Station>(None),
        table::<StationInterface>(None),
        table::<Route>(None),
    )
}

fn flow() -> String {
    let clause = |setting: &Setting<Flow>| {
        if setting.is_required {
            "before the colon".to_owned()
        } else {
            format!("`{}`", Flow::clause(setting).replace(", ", "`, `"))
        }
    };
    let clauses = Some(("in `--flow`", &clause as &dyn Fn(&Setting<Flow>) -> String));
    format!("# Settings of a flow\n\n{NOTE}\n## `[[flow]]`\n\n{}", table::<Flow>(clauses))
}

fn change() -> String {
    let clause = |setting: &Setting<Change>| {
        let name = format!("`{}`", setting.name);
        if setting.is_required { "before the colon".to_owned() } else { name }
    };
    let clauses = Some(("in `--change`", &clause as &dyn Fn(&Setting<Change>) -> String));
    format!(
        "# Settings of a change\n\n{NOTE}\n## `[[change]]`\n\nA change of a pipe while the \
         scenario runs. Beside these keys it has those of the [directions of a \
         link](link.md#directions) that say what the wire and the air do: rate, delay, jitter, \
         the error models and their like, for both directions, or in `uplink` and `downlink` for \
         one.\n\n{}",
        table::<Change>(clauses)
    )
}

fn app() -> String {
    let kinds = |setting: &Setting<App>| {
        let all = AppKind::CHOICES.iter();
        let fits = |kind| setting.metadata.is_none_or(|kinds| kinds.contains(kind));
        let kinds: Vec<_> = all.filter(|(_, kind, _)| fits(kind)).collect();
        if kinds.len() == AppKind::CHOICES.len() {
            "all".to_owned()
        } else {
            kinds.iter().map(|(word, ..)| *word).collect::<Vec<_>>().join(", ")
        }
    };
    let kinds = Some(("for", &kinds as &dyn Fn(&Setting<App>) -> String));
    format!("# Settings of an application\n\n{NOTE}\n## `[[app]]`\n\n{}", table::<App>(kinds))
}

fn tcp() -> String {
    let mut text = format!(
        "# Settings of TCP\n\nThe values of `tcp` in a [scenario](scenario-file.md) and of \
         `--tcp`: a preset and the settings that differ from it, such as `new-reno, \
         min-rto=500ms`. \
         [TCP](tcp-engine.md#settings) explains them. The default is that of the preset `cubic`. \
         {SWITCHES}\n\n\
         | setting | value | default | meaning |\n|---|---|---|---|\n",
    );
    let settings = TcpSettings::default();
    for (setting, default) in settings.values() {
        let legal = setting.legal().replace('|', "\\|");
        let source = match setting.source() {
            "" => String::new(),
            source => format!(" ({source})"),
        };
        let meaning = format!("{}{source}", setting.help);
        text += &format!("| `{}` | {legal} | `{default}` | {meaning} |\n", setting.name);
    }
    text
}

#[test]
fn the_pages_are_those_of_the_tables() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/reference");
    let pages = [
        ("scenario.md", scenario()),
        ("link.md", link()),
        ("radio.md", radio()),
        ("station.md", station()),
        ("flow.md", flow()),
        ("change.md", change()),
        ("app.md", app()),
        ("tcp.md", tcp()),
    ];
    for (name, page) in pages {
        let path = folder.join(name);
        if std::env::var_os("WINDFALL_BLESS").is_some() {
            std::fs::write(&path, &page).expect("it can be written");
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(kept == page, "docs/reference/{name} is stale; WINDFALL_BLESS=1 writes it");
    }
}
