//! Policies of coded frames by name: one of the kinds, or a file.

use core::fmt;
use core::str::FromStr;

use windfall_link::policy::PolicyKind;

/// The end of the names of files with policies.
pub const POLICY_SUFFIX: &str = ".toml";
/// The policy of coded frames, as an option or a key names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyName {
    /// One of those that have names.
    Kind(PolicyKind),
    /// The file of a table, whose name ends in `.toml`.
    File(String),
}

impl From<PolicyKind> for PolicyName {
    fn from(kind: PolicyKind) -> Self {
        Self::Kind(kind)
    }
}

impl fmt::Display for PolicyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind(kind) => kind.fmt(f),
            Self::File(name) => f.write_str(name),
        }
    }
}

impl FromStr for PolicyName {
    type Err = <PolicyKind as FromStr>::Err;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.strip_suffix(POLICY_SUFFIX) {
            Some(stem) if !stem.is_empty() => Ok(Self::File(text.to_owned())),
            _ => text.parse().map(Self::Kind),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_files_read_back() {
        for text in ["flex", "flex-whole", "own.toml", "/a/best.toml"] {
            let name: PolicyName = text.parse().expect("a policy");
            assert_eq!(matches!(name, PolicyName::File(_)), text.contains('.'));
            assert_eq!(name.to_string(), text);
        }
        for text in ["brave", ".toml", "own.tom"] {
            assert!(text.parse::<PolicyName>().is_err(), "{text}");
        }
    }
}
