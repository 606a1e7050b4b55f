use std::collections::BTreeSet;

use super::*;
use crate::Scenario;

#[test]
fn each_link_has_a_name_of_its_own_and_makes_a_scenario() {
    let file: LinksFile = toml::from_str(include_str!("../named_links.toml")).expect("a file");
    assert_eq!(named_links().len(), file.link.len(), "each source is known");
    let names: BTreeSet<_> = named_links().iter().map(|link| &link.name).collect();
    assert_eq!(names.len(), named_links().len());
    let used: BTreeSet<_> = named_links().iter().map(|link| &link.source).collect();
    assert_eq!(used.len(), file.source.len(), "each source is used");
    for link in named_links() {
        let text = link.scenario();
        let scenario = Scenario::read(&link.name, &text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let checked = scenario.check();
        checked.unwrap_or_else(|error| panic!("{}: {error}", link.name));
        assert!(link.figures.up.is_some() && link.figures.down.is_some(), "{}", link.name);
    }
}

#[test]
fn a_name_that_is_misspelt_is_refused_with_the_one_that_was_meant() {
    assert_eq!(named_link("wpt-lte").expect("it is known").title, "LTE");
    let error = named_link("wpt-ltr").expect_err("misspelt");
    assert_eq!(error, "no link is called \"wpt-ltr\": did you mean \"wpt-lte\"?");
    let error = named_link("the moon").expect_err("unknown");
    assert!(error.ends_with("windfall links lists them"), "{error}");
}
