//! Policies of one's own: the tables in `examples/policies` beside the policies that have names.

use std::fmt::Write as _;

use windfall_base::{Seed, Stream};
use windfall_report::Estimate;
use windfall_tests::run::{Outcome, UPLINK, pair, run};

use super::document::{FULL, hold_table};

/// The marks around the table in the document.
const BEGIN: &str = "<!-- own -->\n";
const END: &str = "<!-- end of own -->\n";

/// The errors of frames on the way, and whether every run tries them.
const CHANNELS: [(&str, bool); 9] = [
    ("", false),
    ("ber = 1e-5", false),
    ("ber = 1e-4", true),
    ("ber = 1e-3", false),
    ("ber = 3e-3", false),
    ("ber = 1e-2", true),
    ("loss = \"10%\"", false),
    ("bit-gemodel = \"1e-4 0.001 0.1 1e-5\"", true),
    ("truncate = \"50%\"", true),
];

fn spray(air: &str, policy: &str, seconds: u64, seed: u64) -> Outcome {
    let link =
        format!("rate = \"10Mbps\"\ndelay = \"5ms\"\npolicy = \"{policy}\"\n[link.uplink]\n{air}");
    let spray = "[[app]]\nkind = \"spray\"\nstation = \"near\"\nto = \"far\"\n";
    run(&pair(seconds, &link, spray), seed)
}

fn table(name: &str) -> String {
    format!("examples/policies/{name}.toml")
}

#[test]
fn tables_of_the_static_policies_send_the_same_frames() {
    for name in ["bold", "light", "robust"] {
        let air = "ber = 1e-4\nloss = \"5%\"\ntruncate = \"5%\"";
        let [named, tabled] = [name.to_owned(), table(name)]
            .map(|policy| format!("{:?}", spray(air, &policy, 1, 1).ledger(UPLINK)));
        assert_eq!(named, tabled, "{name}");
    }
}

/// The share of FLEX's bytes that the ladder brings over a channel, in pairs of the same air.
fn shares(air: &str, seeds: u64, seconds: u64) -> Vec<f64> {
    let seed = |n| Stream::new(Seed(n), air).bits();
    let bytes = |policy: &str, n: u64| {
        let outcome = spray(air, policy, seconds, seed(n));
        outcome.report("sink")["received_bytes"]
    };
    (0..seeds).map(|n| bytes(&table("ladder"), n) / bytes("flex", n)).collect()
}

#[test]
fn a_ladder_of_states_comes_near_the_adaptive_policy() {
    if std::env::var_os(FULL).is_some() {
        return whole();
    }
    for (air, _) in CHANNELS.into_iter().filter(|(_, always)| *always) {
        let share = shares(air, 1, 2)[0];
        assert!(share > 0.65, "{air}: {share}");
    }
}

/// Tries all channels and compares the document with what comes out.
fn whole() {
    let mut text = String::from("| channel | ladder of FLEX |\n|---|---|\n");
    for (air, _) in CHANNELS {
        let share = Estimate::mean(&shares(air, 10, 4));
        let what = if air.is_empty() { "clean".to_owned() } else { air.replace('"', "") };
        let Estimate { value, low, high, .. } = share;
        let _ = writeln!(text, "| {what} | {value:.2} ({low:.2} to {high:.2}) |");
    }
    hold_table(BEGIN, END, &text);
}
