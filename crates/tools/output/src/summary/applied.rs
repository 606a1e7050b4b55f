//! The settings of TCP that a run told kernels of.

use std::fmt;

use serde::Serialize;

/// A setting of TCP of which a run told the kernels of its stations, or could not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AppliedSetting {
    /// The name of the setting.
    pub setting: String,
    /// The value of the setting.
    pub value: String,
    /// A metric of routes as `ip route` takes it, or a kernel parameter and its value; `None` where
    /// the kernel does so by itself or cannot.
    pub how: Option<String>,
    /// The reason why the kernel cannot do it.
    pub cannot: Option<String>,
}

impl fmt::Display for AppliedSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { setting, value, how, cannot } = self;
        match (cannot, how) {
            (Some(why), _) => write!(f, "not applied: {setting}={value}: {why}"),
            (None, Some(how)) => write!(f, "applied: {setting}={value}, as {how}"),
            (None, None) => write!(f, "applied: {setting}={value}, the kernel's own way"),
        }
    }
}
