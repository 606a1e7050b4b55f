//! The sources of the congestion controls, from the list of the algorithms.

use std::sync::LazyLock;

use windfall_tcp::CongestionControl;

/// Returns the documents that describe them; an RFC right after another is its number alone.
pub(super) fn sources() -> &'static str {
    static SOURCES: LazyLock<String> = LazyLock::new(|| {
        let mut text = String::new();
        let mut follows_rfc = false;
        for source in CongestionControl::BUILT_IN.iter().map(|it| it.source()) {
            let number = source.strip_prefix("RFC ");
            let comma = if text.is_empty() || source.is_empty() { "" } else { ", " };
            text += comma;
            text += number.filter(|_| follows_rfc).unwrap_or(source);
            follows_rfc = number.is_some();
        }
        text
    });
    &SOURCES
}
