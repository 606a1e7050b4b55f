use super::*;

/// Echoes each segment after a tenth of a second, with the ports and addresses turned around.
#[derive(Default)]
struct Echo(Vec<(Instant, Packet)>);

impl Subject for Echo {
    fn configure(&mut self, name: &str, value: &str) -> Result<(), String> {
        Err(format!("no setting {name} can be {value}"))
    }

    fn command(&mut self, _: Instant, words: &[&str]) -> Result<(), String> {
        self.0.clear();
        if words == ["forget"] { Ok(()) } else { Err(format!("{words:?} is unknown")) }
    }

    fn handle_segment(&mut self, now: Instant, packet: &Packet) -> Result<(), &'static str> {
        if packet.missing > 0 {
            return Err("truncated");
        }
        let later = now.saturating_add(windfall_base::Duration::from_millis(100));
        self.0.push((later, packet.clone()));
        Ok(())
    }

    fn handle_timeout(&mut self, now: Instant) {
        for (at, _) in &mut self.0 {
            if *at <= now {
                *at = Instant::START;
            }
        }
    }

    fn poll_transmit(&mut self, _: Instant) -> Option<Packet> {
        let due = self.0.iter().position(|(at, _)| *at == Instant::START)?;
        Some(self.0.remove(due).1)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.0.iter().map(|(at, _)| *at).min()
    }
}

fn failure(text: &str) -> String {
    run(text, &mut Echo::default()).unwrap_err().to_string()
}

#[test]
fn what_is_written_is_what_is_read() {
    let script = "# a comment\n\
        1.5 < S 0:5(5) win 700 ect0 <mss 1000, sackOK, wscale 3, cdo, raw fe04abcd>\n\
        +0.1 > S 0:5(5) win 700 ect0 <mss 1000, sackOK, wscale 3, cdo, raw fe04abcd>\n\
        2 < P. 5:5(0) ack 0 win 9 <TS val 7 ecr 0, sack 1:2 4:5> damaged\n\
        2 forget\n\
        3 < - 9:19(10) cut 3 ! truncated\n";
    assert_eq!(run(script, &mut Echo::default()), Ok(()));
}

#[test]
fn a_difference_names_the_parts_and_shows_both() {
    let text = failure("0 < . 1:1(0) ack 1 win 700\n0.1 > F. 1:1(0) ack 2 win 701\n");
    assert_eq!(
        text,
        "line 2: what left differs in flags, acknowledgment number, window:\n\
         expected 0.100000 > F. 1:1(0) ack 2 win 701\n\
         got      0.100000 > . 1:1(0) ack 1 win 700\n\
         before it: 0.000000 < . 1:1(0) ack 1 win 700"
    );
}

#[test]
fn each_kind_of_failure_says_what_is_wrong() {
    for (script, wanted) in [
        ("0 < . 1:1(0)\n0.2 > . 1:1(0)", "differs in time"),
        ("0 < . 1:1(0)\n0.05 > . 1:1(0)", "nothing left; the next wake-up is at 0.100000"),
        ("0 > . 1:1(0)", "nothing left; there is no wake-up"),
        ("0 < . 1:1(0)\n1 forget", "nothing was expected to leave, and at 0.100000 > . 1:1(0)"),
        ("0 < . 1:1(0) ! malformed", "expected to be discarded as malformed, and was taken"),
        ("0 < . 1:9(8) cut 2", "expected to be taken, and discarded as truncated"),
        ("0 < . 1:9(8) cut 2 ! x", "expected to be discarded as x, and was as truncated"),
        ("0 dance", "[\"dance\"] is unknown"),
        ("set sack on", "no setting sack can be on"),
        ("1 forget\n0.5 forget", "0.500000 lies before 1.000000"),
        ("soon forget", "\"soon\" is not a time"),
        ("0 < X 1:1(0)", "\"X\" is not flags of"),
        ("0 < . 1:3(1)", "\"1:3(1)\" is not START:END(LEN)"),
        ("0 < . 1:1(0) <mss big>", "\"mss big\" is not an option"),
        ("0 < . 1:1(0) ack", "\"\" is not an acknowledgment number"),
        ("0 < . 1:1(0) often", "\"often\" is not ack, win"),
        ("0", "\"0\" is a time without anything to do"),
    ] {
        let text = failure(script);
        assert!(text.contains(wanted), "{script:?} fails with {text:?}, not {wanted:?}");
    }
}
