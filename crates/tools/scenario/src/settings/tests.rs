use serde::Serialize;

use super::{RowMetadata, Setting, Settings, check, parse};
use crate::value::Value;
use crate::{
    App, Direction, Flow, Link, Path, Route, RunSettings, Station, StationInterface, TcpSettings,
    wifi,
};

/// A particular of gadgets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Noise;

impl RowMetadata for Noise {
    fn remark(&self) -> &'static str {
        "loud"
    }
}

settings! {
    /// An object that only this test knows.
    pub(crate) struct Gadget with Noise {
        /// Number of teeth
        "tooth-count" tooth_count: u8 [3..=40] {
            value: "NUMBER", example: "5", default: "12", detail: "Odd numbers run smoother.",
            metadata: Some(Noise), requirement: "S0.1",
        }
        /// Speed of the gadget
        "speed" speed: f64 { value: "SPEED", example: "2.5", excludes: "tooth-count" }
        /// Oil between the teeth
        "oil" oil: bool { value: "SWITCH", example: "on", needs: "speed" }
    }
    required {
        /// Name of the gadget
        "name" name: String { value: "NAME", example: "cog" }
    }
    parts {
        /// The smaller ones inside.
        "inner" inner: Vec<Gadget>
    }
}

fn read(text: &str) -> Result<Gadget, String> {
    parse(text).map_err(|error| error.message)
}

#[test]
fn a_row_makes_a_key_and_its_description() {
    let text = "name = \"cog\"\ntooth-count = 5\n\n[[inner]]\nname = \"pin\"\nspeed = 2.5\n";
    let gadget = read(text).expect("good");
    assert_eq!(toml::to_string(&gadget).expect("it has a form"), text);
    let [name, teeth, ..] = Gadget::TABLE else { panic!("four rows") };
    assert!(name.is_required && !teeth.is_required);
    assert_eq!((teeth.help(), teeth.range().as_deref()), ("Number of teeth", Some("3 to 40")));
    assert_eq!((teeth.kind, teeth.metadata), ("whole number", Some(Noise)));
    assert_eq!(teeth.text(&gadget).as_deref(), Some("5"));
    assert_eq!((name.remark(), teeth.remark()), ("", "loud"));
}

#[test]
fn a_value_out_of_range_is_refused_with_the_range() {
    let mut gadget = Gadget::unset();
    for text in ["2", "41", "many"] {
        let advice = Gadget::TABLE[1].set(&mut gadget, text).expect_err(text);
        assert_eq!(advice, "use a whole number from 3 to 40");
    }
    Gadget::TABLE[1].set(&mut gadget, "40").expect("the greatest");
    assert_eq!(check(&gadget), Ok(()));
    let gadget = read("name = \"cog\"\ntooth-count = 41\n").expect("the form is right");
    let message = check(&gadget).expect_err("too many").message;
    assert_eq!(message, "tooth-count of 41 is out of range: use a whole number from 3 to 40");
}

#[test]
fn unknown_missing_and_exclusive_keys_are_told() {
    assert_eq!(read("speed = 1.0\n").unwrap_err(), "missing field `name`");
    let known = "`name`, `tooth-count`, `speed`, `oil`, `inner`";
    let unknown = read("name = \"cog\"\nteeth = 1\n").unwrap_err();
    assert_eq!(unknown, format!("unknown field `teeth`, expected one of {known}"));
    let both = read("name = \"cog\"\ntooth-count = 5\nspeed = 1.0\n").expect("the form is right");
    let message = check(&both).expect_err("both").message;
    assert_eq!(message, "speed and tooth-count exclude each other: remove one");
}

#[test]
fn a_setting_without_the_one_that_it_needs_is_refused_with_the_fix() {
    let refusal = |keys: &str| {
        let gadget = read(&format!("name = \"cog\"\n{keys}")).expect("the form is right");
        check(&gadget).err().map(|fault| fault.message)
    };
    let said = "oil changes nothing without speed: add speed = 2.5";
    assert_eq!(refusal("oil = true\n").as_deref(), Some(said));
    assert_eq!(refusal("oil = true\nspeed = 1.0\n"), None);
    assert_eq!(refusal("oil = false\n"), None);
}

#[test]
fn an_overlay_wins_and_takes_away_what_it_excludes() {
    let mut below = read("name = \"cog\"\ntooth-count = 5\n").expect("good");
    below.overlay(&read("name = \"pin\"\nspeed = 1.0\n").expect("good"));
    assert_eq!(toml::to_string(&below).expect("it has a form"), "name = \"cog\"\nspeed = 1.0\n");
}

/// Every row: its example is allowed, is written as it is read, and its range refuses more.
fn check_rows<T: Settings + Serialize>() {
    for setting in T::TABLE {
        let name = setting.name;
        assert!(!setting.help().is_empty() && !setting.help().ends_with('.'), "{name}");
        assert!(!setting.value.is_empty() && !setting.kind.is_empty(), "{name}");
        let told = [setting.default, setting.unset].iter().filter(|text| !text.is_empty()).count();
        assert_eq!(told, usize::from(!setting.is_required), "{name} has one default");
        let mut object = T::unset();
        let set = |object: &mut T, text| setting.set(object, text).expect(name);
        if !setting.default.is_empty() {
            set(&mut object, setting.default);
        }
        set(&mut object, setting.example);
        assert_eq!(setting.needed().is_some(), !setting.needs.is_empty(), "{name}");
        if let Some(needed) = setting.needed() {
            needed.set(&mut object, needed.example).expect(needed.name);
        }
        let written = setting.text(&object).expect("it is set");
        set(&mut object, &written);
        assert_eq!(setting.text(&object), Some(written), "{name}");
        for other in T::TABLE.iter().filter(|other| other.is_required) {
            other.set(&mut object, other.example).expect(other.name);
        }
        assert_eq!(check(&object), Ok(()), "{name}");
        let text = toml::to_string(&object).expect("it has a form");
        assert!(text.contains(&format!("{name} = ")), "{text}");
        let read: T = parse(&text).expect(&text);
        assert!(read == object, "{text}");
        assert!(setting.excludes.is_empty() || setting.excluded().count() == 1, "{name}");
    }
}

#[test]
fn every_row_of_every_table_holds() {
    check_rows::<Link>();
    check_rows::<Direction>();
    check_rows::<Path>();
    check_rows::<wifi::Radio>();
    check_rows::<wifi::StationRadio>();
    check_rows::<Station>();
    check_rows::<StationInterface>();
    check_rows::<Route>();
    check_rows::<Flow>();
    check_rows::<App>();
}

/// Rows of which a default is written as a value, and that value.
fn defaults<T: Settings>() -> impl Iterator<Item = (&'static Setting<T>, &'static str)> {
    let rows = T::TABLE.iter().map(|setting| (setting, setting.default));
    rows.filter(|(_, default)| !default.is_empty())
}

#[test]
fn the_defaults_that_are_told_are_those_that_hold() {
    let built = |link: &Link, app: &App| {
        let mut scenario = crate::ScenarioOptions::default().scenario();
        scenario.links = vec![link.clone()];
        scenario.apps = vec![app.clone()];
        let mut read = |_: &str| Err(std::io::Error::from(std::io::ErrorKind::NotFound));
        format!("{:?}", scenario.topology(0, ("", ""), &mut read).expect("it can be built"))
    };
    let app = App {
        to: Some(toml::Spanned::new(0..0, "far".parse().expect("a station"))),
        rate: Some(toml::Spanned::new(0..0, "64kbps".parse().expect("a rate"))),
        transport: Some(toml::Spanned::new(0..0, crate::AppTransport::Udplite)),
        ..App::new(crate::AppKind::Cbr, "near")
    };
    let link = |kind| {
        let kind = Some(toml::Spanned::new(0..0, kind));
        Link { kind, ..Link::between("near", "far") }
    };
    let pipe = link(crate::LinkKind::Pipe);
    for (setting, default) in defaults::<Link>() {
        let mut object = Link::between("near", "far");
        setting.set(&mut object, default).expect(setting.name);
        let plain = Link::between("near", "far");
        assert_eq!(built(&object, &app), built(&plain, &app), "{}", setting.name);
    }
    // A probability of 0 adds a model that does nothing.
    let is_model = |setting: &Setting<Direction>| {
        matches!(setting.metadata, Some(crate::AppliesTo::Errors(_))) || setting.name == "padded"
    };
    for (setting, default) in defaults::<Direction>().filter(|(setting, _)| !is_model(setting)) {
        let mut object = pipe.clone();
        setting.set(&mut object.both, default).expect(setting.name);
        assert_eq!(built(&object, &app), built(&pipe, &app), "{}", setting.name);
    }
    let wifi = link(crate::LinkKind::WifiG);
    for (setting, default) in defaults::<wifi::Radio>() {
        let mut object = wifi.clone();
        setting.set(&mut object.radio, default).expect(setting.name);
        assert_eq!(built(&object, &app), built(&wifi, &app), "{}", setting.name);
    }
    for (setting, default) in defaults::<App>() {
        let mut object = app.clone();
        if setting.name == "transport" {
            object.transport = None;
        }
        let plain = object.clone();
        setting.set(&mut object, default).expect(setting.name);
        assert_eq!(built(&pipe, &object), built(&pipe, &plain), "{}", setting.name);
    }
}

#[test]
fn a_word_is_advised_where_there_are_words() {
    let advice = crate::LinkKind::parse("wire").expect_err("no such kind");
    assert_eq!(advice, "use pipe, wavelan, wifi-b, wifi-g or gsm");
    assert_eq!(bool::parse("yes").expect_err("no such word"), "use on or off");
}

/// Checks that each switch of an object is on or off in text, and nothing else.
fn check_switches<T: Settings>() -> usize {
    let switches: Vec<_> = T::TABLE.iter().filter(|setting| setting.kind == bool::KIND).collect();
    for setting in &switches {
        let mut object = T::unset();
        for word in ["on", "off"] {
            setting.set(&mut object, word).expect(setting.name);
            assert_eq!(setting.text(&object).as_deref(), Some(word), "{}", setting.name);
        }
        // The words of a scenario file serve too.
        for (word, same) in [("true", "on"), ("false", "off")] {
            setting.set(&mut object, word).expect(setting.name);
            assert_eq!(setting.text(&object).as_deref(), Some(same), "{}", setting.name);
        }
        for word in ["yes", "1", ""] {
            assert_eq!(setting.set(&mut object, word), Err("use on or off".to_owned()));
        }
    }
    switches.len()
}

#[test]
fn switches_are_on_or_off_in_text_and_true_or_false_in_a_scenario() {
    let of_links = check_switches::<Link>() + check_switches::<Direction>();
    let of_stations = check_switches::<Station>() + check_switches::<StationInterface>();
    let of_radios = check_switches::<wifi::Radio>() + check_switches::<wifi::StationRadio>();
    let others =
        check_switches::<Flow>() + check_switches::<App>() + check_switches::<RunSettings>();
    assert_eq!(of_links + of_stations + of_radios + others, 21);
    for setting in &crate::TCP_SETTINGS {
        let takes = |word| format!("{}={word}", setting.name).parse::<TcpSettings>().is_ok();
        assert!(!takes("true") && !takes("false") && !takes("yes"), "{}", setting.name);
        assert!(takes("off") || setting.legal() != "on or off", "{}", setting.name);
    }
    let text = |word: &str| format!("format = 1\n[[station]]\nname = \"a\"\nforward = {word}\n");
    let refusal = crate::Scenario::parse("a.toml", &text("\"on\"")).expect_err("text");
    assert!(refusal.to_string().contains("write true or false"), "{refusal}");
    let scenario = crate::Scenario::parse("a.toml", &text("true")).expect("a boolean");
    assert!(scenario.to_toml().contains("forward = true"));
}
