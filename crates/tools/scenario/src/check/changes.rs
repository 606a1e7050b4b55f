//! Checks of the changes of links while a scenario runs.

use core::ops::Range;

use windfall_base::nearest;
use windfall_settings::{Settings, table};

use crate::change::{Change, STEP, may_change};
use crate::direction::Direction;
use crate::error::SettingFault;
use crate::link::Link;
use crate::model::Scenario;

/// The number of steps of the longest gradual change.
const MOST_STEPS: u64 = 10_000;

/// Why a change of no link is refused, and of one that cannot change.
const NO_LINK: &str = "there is no link to change: add [[link]], or remove the change";
const ONLY_PIPES: &str =
    "only a pipe can change while it runs: use kind = \"pipe\", or remove the change";

/// Finds the first change that cannot be.
pub(crate) fn check(scenario: &Scenario) -> Result<(), SettingFault> {
    scenario.changes.iter().try_for_each(|change| {
        table::check(change)?;
        change.directions().into_iter().try_for_each(table::check)?;
        check_link(change, scenario)?;
        check_keys(change)
    })
}

fn check_link(change: &Change, scenario: &Scenario) -> Result<(), SettingFault> {
    let fault = |span: Range<usize>, message: String| Err(SettingFault::at(span, message));
    let mut named = scenario.links.iter().filter(|link| change.is_of(link));
    let first = named.next();
    let second = named.next();
    let names: Vec<String> = scenario.links.iter().map(Link::name).collect();
    match (&change.link, first) {
        (_, None) if names.is_empty() => fault(change.at.span(), NO_LINK.to_owned()),
        (Some(name), None) => {
            let known = names.iter().map(String::as_str);
            let fix = nearest(name.get_ref(), known).map_or_else(
                || format!("name one of {}", names.join(", ")),
                |it| format!("did you mean \"{it}\"?"),
            );
            fault(name.span(), format!("no link is called \"{}\": {fix}", name.get_ref()))
        }
        (None, None) => fault(change.at.span(), ONLY_PIPES.to_owned()),
        (_, Some(link)) if !link.kind().is_wire() => {
            fault(change.at.span(), format!("\"{}\" is no pipe, and {ONLY_PIPES}", link.name()))
        }
        (None, Some(_)) if second.is_some() => fault(
            change.at.span(),
            format!("there are several pipes: name one by the key link, of {}", names.join(", ")),
        ),
        _ => Ok(()),
    }
}

fn check_keys(change: &Change) -> Result<(), SettingFault> {
    for direction in change.directions() {
        let set = Direction::TABLE.iter().filter(|setting| setting.is_set(direction));
        if let Some(foreign) = set.into_iter().find(|setting| !may_change(setting)) {
            let span = foreign.field(direction).span().unwrap_or_default();
            let message = format!(
                "a change says what the wire and the air do: set {} on the link",
                foreign.name
            );
            return Err(SettingFault::at(span, message));
        }
    }
    if change.directions().into_iter().all(Settings::is_unset) {
        let message = "the change has no setting: add rate = \"1Mbps\" or another setting";
        return Err(SettingFault::at(change.at.span(), message));
    }
    let Some(over) = &change.over else { return Ok(()) };
    let moves = |it: &&Direction| it.rate.is_some() || it.delay.is_some();
    if !change.directions().iter().any(moves) {
        let message = "over changes nothing here, since only rate and delay change gradually: \
                       add one of them, or remove it";
        return Err(SettingFault::at(over.span(), message));
    }
    if over.get_ref().as_nanos() / STEP.as_nanos() > MOST_STEPS {
        return Err(SettingFault::at(
            over.span(),
            "a gradual change takes 1000 s at most: use several",
        ));
    }
    Ok(())
}
