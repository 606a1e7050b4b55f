//! Policies of coded frames by name: one of the kinds, or a file.

use core::fmt;
use core::str::FromStr;

use windfall_link::policy::PolicyKind;
use windfall_mac::wifi::RadioPolicy;

/// The end of the names of files with policies.
pub const POLICY_SUFFIX: &str = ".toml";
/// The policy of coded frames, as an option or a key names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyName {
    /// One of those that have names.
    Kind(PolicyKind),
    /// One of an 802.11 link.
    Radio(RadioPolicy),
    /// The file of a table, whose name ends in `.toml`.
    File(String),
}

/// The name is none of a policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "policy \"{0}\": write bold, light, robust, flex or best, on wifi joint or parity-N of 0, 8, \
     16, 32 or 64, or a file that ends in .toml"
)]
pub struct UnknownPolicyName(String);

impl From<PolicyKind> for PolicyName {
    fn from(kind: PolicyKind) -> Self {
        Self::Kind(kind)
    }
}

impl fmt::Display for PolicyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind(kind) => kind.fmt(f),
            Self::Radio(policy) => policy.fmt(f),
            Self::File(name) => f.write_str(name),
        }
    }
}

impl FromStr for PolicyName {
    type Err = UnknownPolicyName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.strip_suffix(POLICY_SUFFIX).is_some_and(|stem| !stem.is_empty()) {
            return Ok(Self::File(text.to_owned()));
        }
        let radio = text.parse().map(Self::Radio);
        radio
            .or_else(|_| text.parse().map(Self::Kind))
            .map_err(|_| UnknownPolicyName(text.to_owned()))
    }
}

crate::by_text! {
    PolicyName: "policy",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_files_read_back() {
        for text in ["flex", "flex-whole", "joint", "parity-16", "own.toml", "/a/best.toml"] {
            let name: PolicyName = text.parse().expect("a policy");
            assert_eq!(matches!(name, PolicyName::File(_)), text.contains('.'));
            assert_eq!(name.to_string(), text);
        }
        for text in ["brave", ".toml", "own.tom", "parity-7"] {
            assert!(text.parse::<PolicyName>().is_err(), "{text}");
        }
    }
}
