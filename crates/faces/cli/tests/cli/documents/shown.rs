//! The output that a document shows beside the output that there is.
//!
//! A line `...` stands for any lines, `...` within a line for any text, and `~` before a number
//! says that the number depends on the machine: any number matches. What a run says of a machine
//! that was too busy is left out.

/// A number: its length in bytes at the beginning of `text`, or 0 if none begins there.
fn number(text: &str) -> usize {
    let sign = usize::from(text.starts_with(['-', '+']));
    let digits = |at: usize| text[at..].bytes().take_while(u8::is_ascii_digit).count();
    let whole = sign + digits(sign);
    if whole == sign {
        return 0;
    }
    let fraction = match text[whole..].strip_prefix('.') {
        Some(_) if digits(whole + 1) > 0 => whole + 1 + digits(whole + 1),
        _ => whole,
    };
    let exponent = ["e-", "e+", "e"].into_iter().find(|e| text[fraction..].starts_with(e));
    match exponent.map(|e| fraction + e.len()) {
        Some(at) if digits(at) > 0 => at + digits(at),
        _ => fraction,
    }
}

/// The rest of `text` behind a mark, if it begins with one: `~` before a number.
fn marked(text: &str) -> Option<&str> {
    text.strip_prefix('~').filter(|rest| number(rest) > 0)
}

/// Compares a line as shown with a line as printed.
pub(crate) fn same_line(shown: &str, actual: &str) -> bool {
    let shown = shown.trim_end();
    let actual = actual.trim_end();
    shown == actual || has_marks(shown) && same_marked(shown, actual)
}

fn has_marks(shown: &str) -> bool {
    shown.contains("...") || shown.match_indices('~').any(|(at, _)| marked(&shown[at..]).is_some())
}

fn same_marked(shown: &str, actual: &str) -> bool {
    if let Some(rest) = shown.strip_prefix("...") {
        let mut ends = actual.char_indices().map(|(at, _)| at).chain([actual.len()]);
        return ends.any(|at| same_marked(rest, &actual[at..]));
    }
    // A number of another length moves what follows, so any two gaps are alike.
    let gap = |text: &str| text.len() - text.trim_start().len();
    if gap(shown) > 0 && gap(actual) > 0 {
        return same_marked(shown.trim_start(), actual.trim_start());
    }
    if let Some(rest) = marked(shown) {
        let there = number(rest);
        let here = number(actual);
        return here > 0 && same_marked(&rest[there..], &actual[here..]);
    }
    match (shown.chars().next(), actual.chars().next()) {
        (None, None) => true,
        (Some(a), Some(b)) if a == b => {
            same_marked(&shown[a.len_utf8()..], &actual[b.len_utf8()..])
        }
        _ => false,
    }
}

/// Returns the line about late packets without those that were read late from devices.
fn without_late_reads(line: String) -> String {
    if !line.starts_with("late by more than ") {
        return line;
    }
    let Some((deliveries, rest)) = line.split_once(" deliveries, ") else { return line };
    let Some((_, worst)) = rest.split_once(" reads from devices") else { return line };
    format!("{deliveries} deliveries{worst}")
}

/// The lines that a program printed without those parts that depend on a machine that was too busy:
/// the line that marks a disturbed run, and the packets that were read late.
pub(crate) fn undisturbed(printed: Vec<String>) -> Vec<String> {
    let is_mark = |line: &String| {
        let line = line.strip_prefix("windfall: ").unwrap_or(line);
        line.starts_with("disturbed: the run stood still ")
    };
    printed.into_iter().filter(|line| !is_mark(line)).map(without_late_reads).collect()
}

/// Compares lines as shown with lines as printed.
pub(crate) fn same(shown: &[String], actual: &[String]) -> bool {
    match (shown.split_first(), actual.split_first()) {
        (None, None) => true,
        (Some((line, rest)), _) if line == "..." => {
            (0..=actual.len()).any(|at| same(rest, &actual[at..]))
        }
        (Some((line, rest)), Some((other, others))) => same_line(line, other) && same(rest, others),
        _ => false,
    }
}

/// Returns the text to show in place of `shown`: the lines as printed, with the marks and
/// the elisions of the old ones; `None` if an elided part cannot be found again.
pub(crate) fn refreshed(shown: &[String], actual: &[String]) -> Option<Vec<String>> {
    if !shown.iter().any(|line| line == "...") {
        let mut old = shown;
        let lines = actual.iter().map(|line| {
            let Some(at) = old.iter().position(|it| is_alike(it, line)) else {
                return line.clone();
            };
            let refreshed = with_marks(&old[at], line);
            old = &old[at + 1..];
            refreshed
        });
        return Some(lines.collect());
    }
    let mut lines = Vec::new();
    let mut rest = actual;
    let mut is_open = false;
    for part in shown.split_inclusive(|line| line == "...") {
        let elides = part.last().is_some_and(|line| line == "...");
        let part = &part[..part.len() - usize::from(elides)];
        if let Some(first) = part.first() {
            let start =
                if is_open { rest.iter().position(|line| is_alike(first, line))? } else { 0 };
            let found = rest.get(start..start + part.len())?;
            lines.extend(part.iter().zip(found).map(|(old, new)| with_marks(old, new)));
            rest = &rest[start + part.len()..];
        }
        is_open = elides;
        lines.extend(elides.then(|| "...".to_owned()));
    }
    Some(lines)
}

/// Tells whether two lines are the same but for their numbers, or match as they are.
fn is_alike(shown: &str, actual: &str) -> bool {
    same_line(shown, actual) || shape(shown) == shape(actual)
}

/// A line without its marks, its numbers and the width of its gaps.
fn shape(line: &str) -> String {
    let pieces = pieces(line).into_iter();
    let text: String = pieces.map(|(_, text)| if number(text) > 0 { "#" } else { text }).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A line cut at its numbers; with each piece, whether a mark stands before it.
fn pieces(line: &str) -> Vec<(bool, &str)> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut at = 0;
    let mut mark = false;
    while at < line.len() {
        let rest = &line[at..];
        // A digit within a word belongs to the word.
        let in_word = line[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '.');
        let length = if in_word { 0 } else { number(rest) };
        if marked(rest).is_some() || length > 0 {
            pieces.extend((start < at).then(|| (false, &line[start..at])));
            start = at + length;
        }
        if marked(rest).is_some() {
            (at, start, mark) = (at + 1, at + 1, true);
            continue;
        }
        if length > 0 {
            pieces.push((mark, &line[at..at + length]));
        }
        mark = false;
        at += length.max(rest.chars().next().map_or(1, char::len_utf8) * usize::from(length == 0));
    }
    pieces.extend((start < line.len()).then(|| (false, &line[start..])));
    pieces
}

/// The new line with the marks of the old one, and the old one where it still matches.
fn with_marks(shown: &str, actual: &str) -> String {
    if same_line(shown, actual) {
        return shown.to_owned();
    }
    if shape(shown) != shape(actual) {
        return actual.trim_end().to_owned();
    }
    let is_number = |piece: &(bool, &str)| number(piece.1) > 0;
    let old = pieces(shown).into_iter().filter(is_number).map(|(mark, _)| mark);
    let mut marks = old;
    let mut line = String::new();
    for (_, piece) in pieces(actual.trim_end()) {
        if number(piece) > 0 && marks.next() == Some(true) {
            // The mark takes the place of a blank, so that columns stay where they are.
            if line.ends_with("  ") {
                line.pop();
            }
            line.push('~');
        }
        line += piece;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_line_without_marks_must_be_the_same() {
        assert!(same_line("bits inverted   79", "bits inverted   79"));
        assert!(!same_line("bits inverted   79", "bits inverted   75"));
        assert!(!same_line("bits inverted   79", "bits inverted  79"));
    }

    #[test]
    fn a_marked_number_matches_any_and_the_others_do_not() {
        let shown = "late: ~15 of 32 by more than 1 ms, worst ~9.211 ms";
        assert!(same_line(shown, "late: 2 of 32 by more than 1 ms, worst 10.5 ms"));
        assert!(!same_line(shown, "late: 2 of 33 by more than 1 ms, worst 10.5 ms"));
        assert!(!same_line(shown, "late: 2 of 32 by more than 1 ms, worst long ms"));
        assert!(same_line("a   ~2.1 %", "a   12.1 %"), "a longer number takes a blank");
    }

    #[test]
    fn three_dots_stand_for_text_and_for_lines() {
        assert!(same_line("TCP at near: ...", "TCP at near: bbr"));
        assert!(!same_line("TCP at near: ...", "TCP at far: bbr"));
        assert!(same(&lines("a\n...\nz"), &lines("a\nb\nc\nz")));
        assert!(same(&lines("a\n..."), &lines("a")));
        assert!(!same(&lines("a\n...\nz"), &lines("a\nb\nc")));
        assert!(!same(&lines("a"), &lines("a\nb")), "nothing is elided without a mark");
    }

    #[test]
    fn what_a_busy_machine_adds_is_left_out() {
        let printed = "late by more than 1 ms: 2 of 36 deliveries, 3 of 38 reads from devices; \
                       worst 9.211 ms\n\
                       disturbed: the run stood still once, 0.020 s in all, 0.020 s at worst; \
                       delays are not the link's alone\n\
                       a deliveries, b of c reads from devices";
        let shown = "late by more than 1 ms: 2 of 36 deliveries; worst 9.211 ms\n\
                     a deliveries, b of c reads from devices";
        assert_eq!(undisturbed(lines(printed)), lines(shown));
    }

    #[test]
    fn refreshing_keeps_marks_and_elisions() {
        let shown = lines("20 sent, time ~992ms\n...\nbits   2   ~4\n...");
        let actual = lines("21 sent, time 7ms\nx\nbits  31   5\ny");
        let expected = lines("21 sent, time ~7ms\n...\nbits  31  ~5\n...");
        assert_eq!(refreshed(&shown, &actual), Some(expected));
        assert_eq!(refreshed(&shown, &lines("21 sent, time 7ms\nx")), None, "a part is gone");
    }

    #[test]
    fn refreshing_takes_lines_that_are_new() {
        let refreshed = refreshed(&lines("a 1\nb ~2"), &lines("a 1\nnew 3\nb 4"));
        assert_eq!(refreshed, Some(lines("a 1\nnew 3\nb ~2")));
    }

    #[test]
    fn numbers_are_read_whole() {
        assert_eq!(
            ["12.5 s", "-3", "1e-5x", "1.", "e5", "-", "+1.5e3"].map(number),
            [4, 2, 4, 1, 0, 0, 6]
        );
        assert_eq!(shape("at ~1.5 ms, H2: 7"), "at # ms, H2: #");
    }
}
