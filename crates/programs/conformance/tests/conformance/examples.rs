//! The scripts of the examples pass, and none of them when it is changed.

use std::path::{Path, PathBuf};

use windfall_conformance::ScriptOutcome;
use windfall_files::packet_script::{Action, PacketDirection, Script, ScriptPacket, ScriptSegment};

use super::{Conformance, script};

fn scripts() -> Vec<(PathBuf, Script)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../examples/tcp-scripts");
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("it can be read").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|it| it == "pkt"));
    paths.sort();
    assert!(paths.len() >= 18, "{paths:?}");
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).expect("it is text");
        let script = script(&text);
        (path, script)
    };
    paths.into_iter().map(read).collect()
}

#[test]
fn every_script_passes() {
    for (path, script) in scripts() {
        let verdict = Conformance::default().run(&script);
        assert_eq!(verdict, ScriptOutcome::Passed, "{}", path.display());
    }
}

#[test]
fn a_script_whose_expectation_is_changed_fails_there() {
    let changes: [fn(&mut ScriptSegment); 4] = [
        |it| it.flags ^= 0x01,
        |it| it.seq = it.seq.wrapping_add(1),
        |it| it.len += 1,
        |it| it.ack = Some(it.ack.map_or(7, |ack| ack.wrapping_add(1))),
    ];
    for (path, script) in scripts() {
        for at in 0..script.events.len() {
            for (number, change) in changes.iter().enumerate() {
                let mut changed = script.clone();
                let event = &mut changed.events[at];
                let Action::Packet(PacketDirection::Outbound, ScriptPacket::Tcp(segment)) =
                    &mut event.action
                else {
                    break;
                };
                // The first number of the engine is the script's choice.
                if number == 1 && segment.flags & 0x02 != 0 {
                    continue;
                }
                change(segment);
                let place = event.place;
                let shown = format!("{}:{place}, change {number}", path.display());
                match Conformance::default().run(&changed) {
                    ScriptOutcome::Failed(failure) => assert_eq!(failure.place, place, "{shown}"),
                    verdict => panic!("{shown}: {verdict:?}"),
                }
            }
        }
    }
}
