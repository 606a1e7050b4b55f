//! Every row of every table of a scenario.

use serde::Serialize;
use windfall_settings::table::{check, parse};

use crate::{
    App, Direction, Flow, Link, Path, Route, RunSettings, Setting, Settings, Station,
    StationInterface, TcpSettings, Value as _, wifi,
};

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
fn check_switches<T: Settings>() {
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
}

#[test]
fn switches_are_on_or_off_in_text_and_true_or_false_in_a_scenario() {
    check_switches::<Link>();
    check_switches::<Direction>();
    check_switches::<Station>();
    check_switches::<StationInterface>();
    check_switches::<wifi::Radio>();
    check_switches::<wifi::StationRadio>();
    check_switches::<Flow>();
    check_switches::<App>();
    check_switches::<RunSettings>();
    for setting in crate::TCP_SETTINGS {
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
