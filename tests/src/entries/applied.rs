//! Settings for the TCP of kernels: the advice of a search, or a list.

use windfall_scenario::ScenarioOptions;
use windfall_tune::AppliedSettings;

/// Any text. What is read changes the links of a run, or says why it cannot.
pub fn applied(bytes: &[u8]) {
    let Ok(settings) = String::from_utf8_lossy(bytes).parse::<AppliedSettings>() else { return };
    let mut scenario = ScenarioOptions::default().scenario();
    if let Err(why) = settings.change_links(&mut scenario) {
        assert!(!why.is_empty());
    }
}
