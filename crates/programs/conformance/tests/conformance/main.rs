//! Scripts against the TCP: those of the examples, and what a script may get wrong.

mod bbr;
mod examples;
mod hostile;
mod verdicts;

use windfall_conformance::{Conformance, ScriptOutcome};
use windfall_files::packet_script::Script;

fn script(text: &str) -> Script {
    text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn run(text: &str) -> ScriptOutcome {
    Conformance::default().run(&script(text))
}

/// A connection that the peer has opened, with descriptor 4 and segments of 1000 bytes.
const OPENED: &str = "\
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 32792 <mss 1000>
+0 > S. 0:0(0) ack 1 <...>
+0 < . 1:1(0) ack 1 win 40000
+0 accept(3, ..., ...) = 4
";

/// Runs `rest` on a connection that is open.
fn run_opened(rest: &str) -> ScriptOutcome {
    run(&format!("{OPENED}{rest}"))
}
