//! The impairments that a flow has of its own: settings of the direction of a link whose rows are
//! those of a flow too.

use serde::ser::SerializeMap;
use windfall_settings::document::{DocumentNode, FormError};
use windfall_settings::table::{Accessors, Listed};
use windfall_settings::{Setting, Settings};

use super::Flow;
use crate::direction::{AppliesTo, Direction};

/// The impairments of a flow: a direction of which no other settings are set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Impairments(pub(crate) Direction);

impl Impairments {
    /// Returns the impairments on a link with this direction, which says which bytes of packets
    /// bit errors spare unless the flow does.
    pub(crate) fn on(&self, link: &Direction) -> Direction {
        let mut own = Direction {
            range: link.range.clone(),
            checksums: link.checksums.clone(),
            ..Direction::unset()
        };
        own.overlay(&self.0);
        own
    }
}

impl Listed<Flow> for Impairments {
    const ROWS: &'static [Setting<Flow>] = &ROWS;

    fn read(&mut self, key: &str, node: &DocumentNode<'_>) -> Option<Result<(), FormError>> {
        ROWS.iter().any(|row| row.name == key).then(|| self.0.read_key(key, node))
    }

    fn write<S: SerializeMap>(&self, map: &mut S) -> Result<(), S::Error> {
        self.0.write_keys(map)
    }
}

const COUNT: usize = {
    let mut count = 0;
    let mut place = 0;
    while place < Direction::TABLE.len() {
        count += is_of_flow(&Direction::TABLE[place]) as usize;
        place += 1;
    }
    count
};

const ROWS: [Setting<Flow>; COUNT] = {
    let mut rows = [row(0); COUNT];
    let mut count = 0;
    let mut place = 0;
    while place < Direction::TABLE.len() {
        if is_of_flow(&Direction::TABLE[place]) {
            rows[count] = row(place);
            count += 1;
        }
        place += 1;
    }
    rows
};

/// Tells whether a flow has this setting of a direction.
const fn is_of_flow(row: &Setting<Direction>) -> bool {
    let is_of_wire = matches!(
        row.name.as_bytes(),
        b"delay" | b"jitter" | b"reorder" | b"duplicate" | b"onoff" | b"range"
    );
    is_of_wire || matches!(row.metadata, Some(AppliesTo::Errors(_)))
}

/// The row of a flow that is the row at this place of the table of directions.
const fn row(place: usize) -> Setting<Flow> {
    let of_link = Direction::TABLE[place];
    let accessors = Accessors {
        field: |flow: &Flow, place| Direction::TABLE[place].field(&flow.impairments.0),
        field_mut: |flow, place| Direction::TABLE[place].field_mut(&mut flow.impairments.0),
        copy: |to, from, place| {
            let row = &Direction::TABLE[place];
            (row.accessors.copy)(&mut to.impairments.0, &from.impairments.0, row.index);
        },
    };
    Setting {
        value: of_link.value,
        kind: of_link.kind,
        words: of_link.words,
        example: of_link.example,
        detail: match of_link.name.as_bytes() {
            b"delay" => "It is added to that of the link.",
            _ => of_link.detail,
        },
        default: of_link.default,
        unset: match of_link.name.as_bytes() {
            b"range" => "as the link",
            _ => of_link.unset,
        },
        units: of_link.units,
        index: place,
        ..Setting::of_field::<String>(of_link.name, of_link.doc, accessors, of_link.limits)
    }
}
