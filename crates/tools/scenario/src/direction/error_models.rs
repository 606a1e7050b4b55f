//! The settings of the error models that the list of the channel has.

use core::ops::Range;

use serde::ser::SerializeMap;
use toml::Spanned;
use windfall_channel::{ErrorModelKind, ListedModel, Model};
use windfall_settings::Setting;
use windfall_settings::document::{DocumentNode, FormError, text_of};
use windfall_settings::table::{Accessors, Listed, SettingField};
use windfall_settings::text::ConstText;

use super::{AppliesTo, Direction};

const KINDS: &[ErrorModelKind] = ErrorModelKind::BUILT_IN;

/// The word that takes a model away.
const NONE: &str = "none";

/// The settings of listed error models, in the order of the list.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedModels([ModelField; KINDS.len()]);

impl Default for ListedModels {
    fn default() -> Self {
        Self(core::array::from_fn(|index| ModelField { index, model: None }))
    }
}

/// The setting of one model.
#[derive(Clone, Debug, PartialEq)]
struct ModelField {
    /// The place of its kind in the list.
    index: usize,
    model: Option<Spanned<Option<ListedModel>>>,
}

impl ModelField {
    const fn kind(&self) -> ErrorModelKind {
        KINDS[self.index]
    }

    fn parse(&self, text: &str) -> Result<Option<ListedModel>, String> {
        if text.trim() == NONE {
            return Ok(None);
        }
        ListedModel::parse(self.kind(), text).map(Some).map_err(|error| error.to_string())
    }
}

impl SettingField for ModelField {
    fn set(&mut self, text: &str) -> Result<(), String> {
        self.model = Some(Spanned::new(0..0, self.parse(text)?));
        Ok(())
    }

    fn text(&self) -> Option<String> {
        let model = self.model.as_ref()?.get_ref();
        Some(model.as_ref().map_or_else(|| NONE.to_owned(), ToString::to_string))
    }

    fn span(&self) -> Option<Range<usize>> {
        self.model.as_ref().map(Spanned::span)
    }

    fn is_taken_away(&self) -> bool {
        self.model.as_ref().is_some_and(|model| model.get_ref().is_none())
    }

    fn clear(&mut self) {
        self.model = None;
    }
}

impl Listed<Direction> for ListedModels {
    const ROWS: &'static [Setting<Direction>] = &{
        let mut rows = [row(0); KINDS.len()];
        let mut index = 1;
        while index < rows.len() {
            rows[index] = row(index);
            index += 1;
        }
        rows
    };

    fn read(&mut self, key: &str, node: &DocumentNode<'_>) -> Option<Result<(), FormError>> {
        let field = self.0.iter_mut().find(|field| field.kind().name == key)?;
        let parsed = text_of(node)
            .and_then(|text| field.parse(&text).map_err(FormError::new))
            .map(|model| field.model = Some(Spanned::new(node.span(), model)));
        Some(parsed)
    }

    fn write<S: SerializeMap>(&self, map: &mut S) -> Result<(), S::Error> {
        for field in &self.0 {
            if let Some(text) = field.text() {
                map.serialize_entry(field.kind().name, &text)?;
            }
        }
        Ok(())
    }
}

/// The row of the kind at this place of the list.
const fn row(index: usize) -> Setting<Direction> {
    let kind = KINDS[index];
    let accessors = Accessors {
        field: |object: &Direction, index| &object.listed_models.0[index],
        field_mut: |object, index| &mut object.listed_models.0[index],
        copy: |to, from, index| to.listed_models.0[index].clone_from(&from.listed_models.0[index]),
    };
    Setting {
        kind: kind.parameters,
        value: kind.value,
        example: kind.example,
        detail: kind.detail,
        unset: NONE,
        metadata: Some(AppliesTo::Errors(|object, row| {
            let model = object.listed_models.0[row.index].model.as_ref()?;
            model.get_ref().clone().map(Model::Listed)
        })),
        index,
        ..Setting::of_field::<Option<String>>(kind.name, kind.help, accessors, None)
    }
}

/// The description of the setting that marks packets in place of losing them.
pub(crate) const MARKS: &str = {
    const TEXT: ConstText<1024> = {
        let start = "Mark packets of senders with ECN instead of losing them by burst, loss";
        let mut text = ConstText::EMPTY.with(start);
        let mut index = 0;
        while index < KINDS.len() {
            if KINDS[index].only_loses {
                text = text.with(", ").with(KINDS[index].name);
            }
            index += 1;
        }
        text.with(" or gemodel")
    };
    TEXT.as_str()
};
