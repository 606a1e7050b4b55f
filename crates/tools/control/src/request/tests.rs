use proptest::prelude::*;

use super::*;
use crate::protocol::{FORMAT, line};

fn parse(line: &str) -> Result<ControlRequest, String> {
    ControlRequest::parse(line.as_bytes())
}

#[test]
fn words_say_what_the_table_of_a_change_says() {
    let words = ["over=2s", "rate=1Mbps", "uplink", "loss=5%", "downlink", "delay=40ms"];
    let Ok(ControlRequest::Set(set)) = parse(&line(&of_words(words).expect("settings"))) else {
        panic!("a change");
    };
    let text = "0s: over 2s, rate 1Mbps, uplink loss 5%, downlink delay 40ms";
    assert_eq!(*set, text.parse::<Change>().expect("the same in words"));
}

#[test]
fn requests_that_make_no_sense_are_refused_with_the_fix() {
    for (line, said) in [
        ("", "no JSON object"),
        ("[1]", "no JSON object"),
        ("{}", "no \"do\": add it, one of status, samples"),
        (r#"{"do":"dance"}"#, "\"dance\" is no request: use one of status"),
        (r#"{"do":"status","at":1}"#, "\"at\" is no member of the request status"),
        (r#"{"do":"samples","since":"x"}"#, "no number of seconds"),
        (r#"{"do":"set"}"#, "add \"change\""),
        (r#"{"do":"set","change":{"rte":"1Mbps"}}"#, "did you mean rate?"),
        (r#"{"do":"set","change":{"uplink.loss":"3%"}}"#, "write loss behind the word uplink"),
        (
            r#"{"do":"set","change":{"downlink-rate":"1Mbps"}}"#,
            "write rate behind the word downlink",
        ),
        (r#"{"do":"set","change":{"uplink.over":"5s"}}"#, "over is of the whole change"),
        (r#"{"do":"set","change":{"rate":"fast"}}"#, "rate=fast: "),
        (r#"{"do":"set","change":{"loss":[1]}}"#, "loss: write its value as text"),
        (r#"{"do":"set","change":{"at":"5s"}}"#, "at cannot change while a link runs"),
        (r#"{"do":"set","change":{"queue":"9"}}"#, "queue cannot change while a link runs"),
        (r#"{"do":"set","change":{"limit":"9"}}"#, "there is no setting limit: "),
        (r#"{"do":"set","change":{"seed":"9"}}"#, "seed cannot change while a link runs"),
        (r#"{"do":"set","change":{"uplink":{"over":"1s"}}}"#, "over is of the whole change"),
        (r#"{"do":"fault"}"#, "add \"fault\": "),
        (r#"{"do":"fault","fault":"far:80 dance"}"#, "is no fault: write STATION:PORT"),
        (r#"{"do":"set","do":"status"}"#, "\"do\" is given twice"),
        (r#"{"do":"set","change":{"loss":0,"loss":1}}"#, "\"loss\" is given twice"),
    ] {
        let refusal = parse(line).expect_err(line);
        assert!(refusal.contains(said), "{line}: {refusal}");
    }
    for words in [
        &["rate"][..],
        &[],
        &["uplink"],
        &["rate=1", "rate=2"],
        &["uplink", "loss"],
        &["fault=far:80 down", "loss=1"],
        &["fault=far"],
        &["rate=1", "uplink"],
        &["uplink", "downlink", "rate=1"],
        &["loss=10%,delay=5ms"],
    ] {
        of_words(words.iter().copied()).expect_err("no settings");
    }
    let refusal = of_words(["loss=10%, delay=5ms"]).expect_err("one word");
    assert_eq!(refusal, "separate settings by spaces: loss=10% delay=5ms");
}

proptest! {
    #[test]
    fn any_line_is_read_or_refused(line in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = ControlRequest::parse(&line);
    }

    #[test]
    fn any_words_are_a_request_or_refused(words in proptest::collection::vec(".{0,12}", 0..6)) {
        if let Ok(request) = of_words(words.iter().map(String::as_str)) {
            let _ = ControlRequest::parse(line(&request).as_bytes());
        }
    }
}

#[test]
fn the_page_of_the_protocol_lists_the_requests_that_there_are() {
    let page = include_str!("../../../../../docs/reference/control.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `{\"do\": \""));
    let listed: Vec<_> = rows.filter_map(|row| row.split('"').next()).collect();
    let mut listed = listed;
    let mut known = NAMES.to_vec();
    listed.sort_unstable();
    known.sort_unstable();
    assert_eq!(listed, known);
    assert!(page.contains(&format!("`{FORMAT}`")));
    let requests = page.lines().filter(|line| line.starts_with("{\"do\""));
    let read: Vec<_> = requests.map(|line| parse(line).expect(line)).collect();
    assert!(!read.is_empty(), "the page has no request as an example");
}
