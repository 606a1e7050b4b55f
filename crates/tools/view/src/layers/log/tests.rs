use super::*;

/// A log of a circuit: two packets from `a`, of which the second is lost, and RLP around them.
const LOG: &str = include_str!("../../../../../../fuzz/corpus/event_log/circuit");

fn read(text: &str) -> Result<LayerLog, LayerError> {
    LayerLog::read(text, &mut MemoryBudget::default())
}

/// A row: what happened, number, position, direction, note.
type Shown = (Act, Option<u64>, Option<u64>, Option<usize>, String);

/// Returns the rows of a layer.
fn rows(layer: LogLayer) -> Vec<Shown> {
    let log = read(LOG).unwrap();
    let of_layer = log.rows.into_iter().filter(|row| row.layer == layer);
    of_layer.map(|it| (it.act, it.number, it.position, it.sender, it.note)).collect()
}

//= S1.30
#[test]
fn packets_have_their_place_in_the_bytes_of_their_direction() {
    let none = String::new();
    assert_eq!(
        rows(LogLayer::Ip),
        [
            (Act::Sent, Some(0), Some(0), Some(0), none.clone()),
            (Act::Damaged, Some(0), Some(0), Some(0), none.clone()),
            (Act::Sent, Some(1), Some(128), Some(0), none.clone()),
            (Act::Lost, Some(1), Some(128), Some(0), "frame-check".to_owned()),
        ]
    );
    assert_eq!(rows(LogLayer::Application), [(Act::Sent, Some(0), Some(0), Some(0), none)]);
}

//= S1.31
#[test]
fn frames_of_rlp_have_their_numbers_and_are_known_as_copies() {
    let text = |text: &str| text.to_owned();
    assert_eq!(
        rows(LogLayer::Rlp),
        [
            // One before 0 is the last of the round before.
            (Act::Sent, Some(61), Some(0), Some(0), text("i+rr nr=0")),
            (Act::Sent, Some(0), Some(0), Some(0), text("i+rr nr=0")),
            (Act::Arrived, Some(0), Some(0), Some(0), text("i+rr nr=0")),
            (Act::Sent, None, None, Some(1), text("srej nr=61 F")),
            (Act::Again, Some(61), Some(0), Some(0), text("i+rr nr=0")),
        ]
    );
    let damaged = (Act::Damaged, Some(25), None, Some(0), text("3 bits inverted"));
    assert_eq!(rows(LogLayer::Block), [damaged]);
}

#[test]
fn numbers_count_on_beyond_the_modulus() {
    let header = LOG.lines().next().unwrap();
    let frame = |ns: u64| {
        format!(
            r#"{{"ev":"rlp.sent","t":1.0,"at":"line/a","rlp":{{"kind":"i+rr","ns":{ns},"nr":0}}}}"#
        )
    };
    let lines: Vec<String> = (0..200).map(|number| frame(number % 62)).collect();
    let log = read(&[header, &lines.join("\n")].join("\n")).unwrap();
    let positions: Vec<u64> = log.rows.iter().filter_map(|row| row.position).collect();
    assert_eq!(positions, (0..200).map(|number| 24 * number).collect::<Vec<_>>());
}

//= S1.34
#[test]
fn measures_are_of_the_packets_that_enter_in_the_window() {
    let log = read(LOG).unwrap();
    let [all] = &log.measures(LogWindow::ALL)[..] else { panic!("one direction") };
    assert_eq!((all.entered, all.arrived, all.lost, all.loss()), (2, 1, 1, Some(0.5)));
    assert_eq!((all.delays.as_slice(), all.throughput()), (&[0.5][..], None));
    let [late] = &log.measures(LogWindow { begin: 1.2, end: 9.0 })[..] else { panic!("one") };
    assert_eq!((late.entered, late.arrived, late.lost), (1, 0, 1));
    assert_eq!(log.busiest(LogWindow::ALL), Some(0));
    assert_eq!(log.busiest(LogWindow { begin: 3.0, end: 9.0 }), None);
}

//= S1.32
#[test]
fn the_view_has_all_layers_on_one_axis() {
    let chart = read(LOG).unwrap().view(0, LogWindow::ALL);
    let names: Vec<&str> = chart.series.iter().map(|series| series.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "datagram sent",
            "packet entered",
            "packet arrived",
            "packet lost",
            "RLP frame sent",
            "RLP frame sent again",
            "RLP frame arrived",
            "damaged block",
        ]
    );
}

#[test]
fn what_is_no_log_is_refused_with_its_line() {
    for (text, expected) in [
        ("", "no header"),
        ("{\"ev\":\"packet.queued\",\"t\":1}", "no header"),
        ("what", "line 1 is no event"),
        ("{\"ev\":\"header\",\"t\":0,\"format\":9}", "format 9"),
    ] {
        let error = read(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

proptest::proptest! {
    #[test]
    fn no_text_panics(text in "(\\{\"ev\":\"[a-z.]{0,16}\",\"t\":[0-9]{1,3}\\}\n){0,4}\\PC{0,40}") {
        let _ = read(&text);
    }

    #[test]
    fn no_numbers_panic(ns in 0_u8..=255, tag in proptest::num::u64::ANY, from in 0_u16..9) {
        let header = LOG.lines().next().unwrap();
        let lines = [
            format!(r#"{{"ev":"rlp.sent","t":1,"at":"line/a","rlp":{{"kind":"x","ns":{ns}}}}}"#),
            format!(r#"{{"ev":"packet.queued","t":1,"at":"q","tag":{tag},"len":{tag}}}"#),
            format!(r#"{{"ev":"packet.queued","t":1,"at":"q","tag":{tag},"len":{tag}}}"#),
            format!(r#"{{"ev":"medium.lost","t":1,"at":"line","medium":{{"from":{from}}}}}"#),
        ];
        let log = read(&[header, &lines.join("\n")].join("\n")).unwrap();
        let _ = (log.measures(LogWindow::ALL), log.view(0, LogWindow::ALL).to_svg());
    }
}

#[test]
fn a_last_line_that_is_cut_is_left_out_and_named() {
    let whole = read(LOG).unwrap();
    assert_eq!(whole.cut, None);
    let cut = read(&LOG[..LOG.trim_end().len() - 5]).unwrap();
    assert_eq!(cut.cut, Some(LOG.lines().count()));
    assert!(cut.rows.len() <= whole.rows.len() && !cut.rows.is_empty());
    // What is broken elsewhere, or ends with its line, was not cut.
    let broken = LOG.replacen("{\"ev\":\"packet", "{\"ev:\"packet", 1);
    assert!(matches!(read(&broken), Err(LayerError::Line { .. })));
    assert!(matches!(read(&format!("{LOG}{{\n")), Err(LayerError::Line { .. })));
    assert!(matches!(read("{"), Err(LayerError::Line { number: 1, .. })));
}

#[test]
fn a_table_without_rows_says_why() {
    let log = read(LOG).unwrap();
    assert_eq!(log.why_empty(&LogLayer::ALL, LogWindow::ALL), None);
    let late = LogWindow { begin: 1e6, end: 2e6 };
    let why = log.why_empty(&[LogLayer::Ip], late).expect("nothing is there");
    assert!(why.starts_with("there are events from "), "{why}");
    let why = log.why_empty(&[LogLayer::Rtp], LogWindow::ALL).expect("no captures");
    assert!(why.contains("--captures"), "{why}");
}
