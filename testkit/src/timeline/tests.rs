use super::*;

#[test]
fn equal_texts_do_not_differ() {
    assert_eq!(difference("a\nb\n", "a\nb\n"), None);
}

#[test]
fn a_difference_names_its_line() {
    let text = difference("a\nb\nc\n", "a\nx\nc\n").unwrap();
    assert!(text.contains("line 2"), "{text}");
    assert!(text.contains("  a\n- b\n- c\n+ x\n+ c\n"), "{text}");
}

#[test]
fn a_missing_last_line_is_a_difference() {
    assert!(difference("a\nb\n", "a\n").is_some());
}

#[test]
fn lines_carry_the_time_in_seconds() {
    let mut timeline = Timeline::new();
    timeline.note(Instant::from_nanos(1_500_000), "> DATA");
    assert_eq!(timeline.as_str(), "0.001500 > DATA\n");
}
