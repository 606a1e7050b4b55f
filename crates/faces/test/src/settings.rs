//! Settings of links, by the names that the command line has for them.

use std::fmt::Display;

use serde_json::{Map, Value, json};

/// Adds the methods for settings to a type that has `setting`, `uplink` and `downlink`.
macro_rules! settings {
    () => {
        $crate::settings::settings! {
            /// Sets the rate, such as `2Mbps`.
            rate
            /// Sets the file of a rate trace.
            rate_trace
            /// Sets the delay, such as `30ms`.
            delay
            /// Sets the jitter, such as `10ms normal`.
            jitter
            /// Sets the reordering, such as `1% 25%`.
            reorder
            /// Sets the probability that a packet is duplicated.
            duplicate
            /// Sets the probability that a frame is lost.
            loss
            /// Sets the bit error rate.
            ber
        }
    };
    ($($(#[doc = $help:literal])+ $name:ident)*) => {
        $(
            $(#[doc = $help])+
            #[must_use]
            pub fn $name(self, value: impl Display) -> Self {
                self.setting(stringify!($name), value)
            }
        )*
    };
}
pub(crate) use settings;

/// Returns the name that a setting has outside Rust: `rate_trace` is `rate-trace`.
pub(crate) fn spelled(name: &str) -> String {
    name.replace('_', "-")
}

/// New settings of a link that is up; what is unset stays as it is.
///
/// ```
/// # use windfall_test::Change;
/// let change = Change::new().rate("1Mbps").uplink("loss", "5%").over("2s");
/// assert_eq!(
///     change.to_json().to_string(),
///     r#"{"over":"2s","rate":"1Mbps","uplink":{"loss":"5%"}}"#
/// );
/// ```
#[derive(Clone, Debug, Default)]
pub struct Change {
    members: Map<String, Value>,
}

impl Change {
    /// Returns a change of nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a setting of both directions by its name.
    #[must_use]
    pub fn setting(mut self, name: &str, value: impl Display) -> Self {
        self.members.insert(spelled(name), value.to_string().into());
        self
    }

    /// Sets a setting of the uplink, from near to far.
    #[must_use]
    pub fn uplink(self, name: &str, value: impl Display) -> Self {
        self.of_side("uplink", name, &value)
    }

    /// Sets a setting of the downlink, from far to near.
    #[must_use]
    pub fn downlink(self, name: &str, value: impl Display) -> Self {
        self.of_side("downlink", name, &value)
    }

    /// Moves rate and delay gradually, within this time.
    #[must_use]
    pub fn over(self, time: impl Display) -> Self {
        self.setting("over", time)
    }

    settings!();

    fn of_side(mut self, side: &str, name: &str, value: &dyn Display) -> Self {
        let own = self.members.entry(side).or_insert_with(|| json!({}));
        own[spelled(name)] = value.to_string().into();
        self
    }

    /// Returns the change as the control socket takes it.
    #[must_use]
    pub fn to_json(&self) -> Value {
        Value::Object(self.members.clone())
    }
}
