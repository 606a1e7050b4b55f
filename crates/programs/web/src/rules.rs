//! The rules by type of a proxy: a small file.

use serde::Deserialize;

use crate::media_types::TypeList;
use crate::repair::Repair;

/// The types that bear damage: their decoders go on after it. Of PNG, GIF, WebP and SVG none does,
/// a single bit error there costs the rest of the picture.
const APPROXIMATE: &str = "image/jpeg, image/bmp, image/x-portable-pixmap, \
     image/x-portable-graymap, audio/*, video/*, application/x-npy";

/// The types that travel approximately, and what of their damage is repaired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryRules {
    /// The types that travel approximately; all others travel over TCP.
    pub approximate: TypeList,
    repair: Vec<(TypeList, Repair)>,
}

/// The file of rules cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RulesError {
    /// The text is no TOML, or has other keys.
    #[error("{0}")]
    Format(#[from] toml::de::Error),
    /// A list of types is none.
    #[error(transparent)]
    Types(#[from] crate::media_types::BadTypeList),
}

/// The keys of the file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Keys {
    approximate: Option<Vec<String>>,
    repair: Vec<RepairKeys>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RepairKeys {
    types: Vec<String>,
    what: Repair,
}

impl Default for DeliveryRules {
    fn default() -> Self {
        Self::parse("").unwrap_or_else(|error| unreachable!("the default: {error}"))
    }
}

impl DeliveryRules {
    /// Reads the rules of a file in TOML.
    ///
    /// # Errors
    /// If it has other keys, or a list of types is none.
    pub fn parse(text: &str) -> Result<Self, RulesError> {
        let keys: Keys = toml::from_str(text)?;
        let approximate = keys.approximate.map(|types| types.join(","));
        let approximate = approximate.as_deref().unwrap_or(APPROXIMATE).parse()?;
        let mut repair = Vec::new();
        for rule in keys.repair {
            repair.push((rule.types.join(",").parse()?, rule.what));
        }
        Ok(Self { approximate, repair })
    }

    /// Returns what is repaired of a body of this type: as the first rule that names it says, or
    /// what is intolerable.
    #[must_use]
    pub fn repair(&self, media_type: &str) -> Repair {
        let rule = self.repair.iter().find(|(types, _)| types.matches(media_type));
        rule.map_or_else(Repair::default, |(_, repair)| *repair)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_from_a_small_file() {
        let rules = DeliveryRules::parse(
            "approximate = [\"image/*\", \"audio/ogg\"]\n\
             [[repair]]\ntypes = [\"image/jpeg\"]\nwhat = \"all\"\n\
             [[repair]]\ntypes = [\"image/*\"]\nwhat = \"none\"\n",
        );
        let rules = rules.expect("rules");
        assert!(rules.approximate.matches("image/png") && !rules.approximate.matches("video/mp4"));
        assert_eq!(rules.repair("image/jpeg"), Repair::All);
        assert_eq!(rules.repair("image/png"), Repair::None);
        assert_eq!(rules.repair("audio/ogg"), Repair::Intolerable);
    }

    #[test]
    fn by_default_what_cannot_bear_damage_is_precise() {
        let types = DeliveryRules::default().approximate;
        for precise in ["text/html", "text/css", "image/png", "image/svg+xml", "application/zip"] {
            assert!(!types.matches(precise), "{precise}");
        }
        assert!(types.matches("image/jpeg") && types.matches("video/mp4"));
    }

    #[test]
    fn what_a_file_cannot_say_is_refused() {
        for text in ["approx = []", "approximate = [\"jpeg\"]", "repair = 1", "approximate = []"] {
            assert!(DeliveryRules::parse(text).is_err(), "{text}");
        }
    }
}
