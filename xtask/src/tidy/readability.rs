//! How long the sentences and pages of the documents are.
//!
//! Guides, explanations, the tutorial and the README are read from start to end; the reference and
//! the measurements are looked up, and may have longer sentences.

use super::Breach;
use crate::workspace::Workspace;

/// A sentence with more words is long.
const LONG: usize = 30;
/// Pages with fewer sentences are not judged.
const FEWEST: usize = 10;
/// Most words of a guide, with its examples and tables.
const GUIDE_WORDS: usize = 1500;
/// Most words of everything that is read from start to end.
const ALL_WORDS: usize = 45_000;
/// Most lines of the README.
const README_LINES: usize = 160;

/// The kinds of pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Page {
    /// A page that is read from start to end.
    Read,
    /// A page in which a reader looks something up.
    LookedUp,
}

fn kind(path: &str) -> Option<Page> {
    let folder = path.strip_prefix("docs/").and_then(|rest| rest.split('/').next());
    match folder {
        _ if path == "README.md" => Some(Page::Read),
        Some("tutorial" | "guides" | "explanation") => Some(Page::Read),
        Some("reference" | "measurements") => Some(Page::LookedUp),
        _ => None,
    }
}

pub(super) fn check(workspace: &Workspace) -> Vec<Breach> {
    let mut breaches = Vec::new();
    let mut all_words = 0;
    for file in &workspace.files {
        let Some(kind) = kind(&file.path).filter(|_| file.path.ends_with(".md")) else { continue };
        let words = file.text.split_whitespace().count();
        let mut breach = |what| breaches.push(Breach::new(&file.path, 0, what));
        if kind == Page::Read {
            all_words += words;
        }
        if file.path.starts_with("docs/guides/") && words > GUIDE_WORDS {
            breach(format!("{words} words; a guide has at most {GUIDE_WORDS}"));
        }
        let lines = file.text.lines().count();
        if file.path == "README.md" && lines > README_LINES {
            breach(format!("{lines} lines; the README has at most {README_LINES}"));
        }
        if let Some(what) = too_long(kind, &sentence_lengths(&file.text)) {
            breach(what);
        }
    }
    if all_words > ALL_WORDS {
        let what = format!(
            "README, tutorial, guides and explanations have {all_words} words; the limit is \
             {ALL_WORDS}"
        );
        breaches.push(Breach::new("docs", 0, what));
    }
    breaches
}

/// Returns what is wrong with the lengths of a page's sentences, in words.
fn too_long(kind: Page, lengths: &[usize]) -> Option<String> {
    if lengths.len() < FEWEST {
        return None;
    }
    let tenths = 10 * lengths.iter().sum::<usize>() / lengths.len();
    let percent = 100 * lengths.iter().filter(|&&words| words > LONG).count() / lengths.len();
    let found = format!(
        "{}.{} words a sentence, {percent} % of the sentences above {LONG}",
        tenths / 10,
        tenths % 10
    );
    match kind {
        Page::Read if tenths > 185 || percent > 10 => {
            Some(format!("{found}; at most 18.5 and 10 %: split them"))
        }
        Page::LookedUp if tenths > 220 => Some(format!("{found}; at most 22: split them")),
        Page::Read | Page::LookedUp => None,
    }
}

/// Returns the number of words of each sentence of a page's prose. Code, tables, headings and raw
/// HTML are left out; what links and inline code say counts as words.
fn sentence_lengths(page: &str) -> Vec<usize> {
    let mut lengths = Vec::new();
    for paragraph in paragraphs(page) {
        let paragraph = without_markup(&paragraph);
        for sentence in sentences(&paragraph) {
            let words = sentence.split_whitespace().count();
            if words > 2 {
                lengths.push(words);
            }
        }
    }
    lengths
}

/// Returns the paragraphs and list items of a page, each in one line.
fn paragraphs(page: &str) -> Vec<String> {
    let mut paragraphs = Vec::new();
    let mut current = String::new();
    let mut is_code = false;
    for line in page.lines() {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        if is_code || is_fence || line.starts_with("    ") || line.starts_with(['|', '#', '<']) {
            continue;
        }
        let item = item_text(line);
        if (line.trim().is_empty() || item.is_some()) && !current.is_empty() {
            paragraphs.push(std::mem::take(&mut current));
        }
        let text = item.unwrap_or(line).trim();
        if !text.is_empty() {
            current.push_str(text);
            current.push(' ');
        }
    }
    paragraphs.push(current);
    paragraphs
}

/// Returns the text of a list item's first line.
fn item_text(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered = number.len() < line.len() && number.starts_with(". ");
    let is_bullet = line.starts_with("- ") || line.starts_with("* ");
    match (is_bullet, is_numbered) {
        (true, _) => Some(&line[2..]),
        (false, true) => Some(&number[2..]),
        (false, false) => None,
    }
}

/// Returns a paragraph with the text of its links, without its pictures, and with one word for
/// each piece of inline code.
fn without_markup(paragraph: &str) -> String {
    let mut text = String::new();
    for (number, part) in paragraph.split('`').enumerate() {
        text += if number % 2 == 1 { "CODE" } else { part };
    }
    let mut plain = String::new();
    let mut rest = &*text;
    while let Some(open) = rest.find('[') {
        let link = rest[open + 1..]
            .split_once("](")
            .and_then(|(shown, after)| after.split_once(')').map(|(_, behind)| (shown, behind)));
        let Some((shown, behind)) = link.filter(|(shown, _)| !shown.contains('[')) else {
            plain += &rest[..=open];
            rest = &rest[open + 1..];
            continue;
        };
        match rest[..open].strip_suffix('!') {
            Some(before) => plain += before,
            None => plain += &format!("{}{shown}", &rest[..open]),
        }
        rest = behind;
    }
    plain + rest
}

/// Splits a paragraph after a full stop, a colon, a question or an exclamation mark that a capital,
/// an asterisk or a parenthesis follows.
fn sentences(paragraph: &str) -> Vec<String> {
    let mut sentences = Vec::new();
    let mut current = Vec::new();
    for word in paragraph.split_whitespace() {
        let begins = word.starts_with(|c: char| c.is_ascii_uppercase() || "*(".contains(c));
        let ended = current.last().is_some_and(|last: &&str| last.ends_with(['.', '!', '?', ':']));
        if begins && ended {
            sentences.push(std::mem::take(&mut current).join(" "));
        }
        current.push(word);
    }
    sentences.push(current.join(" "));
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_code_and_headings_are_no_sentences() {
        let page = "# A heading with four words\n\n| a | b | c |\n\n```console\n$ a b c d\n```\n\n\
                    \x20   indented code is code\n\nOne two three four.\n";
        assert_eq!(sentence_lengths(page), [4]);
    }

    #[test]
    fn sentences_end_at_their_marks_and_at_list_items() {
        let page =
            "One two three. Four five\nsix: Seven eight nine.\n- a b c\n- d e f g\n2. h i j\n";
        assert_eq!(sentence_lengths(page), [3, 3, 3, 3, 4, 3]);
        // A full stop within a number or before a small letter ends no sentence.
        assert_eq!(sentence_lengths("About 1.5 words, e.g. this one.\n"), [6]);
    }

    #[test]
    fn links_count_by_their_text_and_code_as_one_word() {
        let page = "See [the long guide](docs/a.md) and `windfall run -- x`.\n";
        assert_eq!(sentence_lengths(page), [6]);
        assert_eq!(sentence_lengths("![A picture of four words](a.png)\n"), [0; 0]);
    }

    #[test]
    fn pages_of_each_kind_have_their_bounds() {
        let twenty = [20; 10];
        assert!(too_long(Page::Read, &twenty).is_some());
        assert_eq!(too_long(Page::LookedUp, &twenty), None);
        assert!(too_long(Page::LookedUp, &[23; 10]).is_some());
        let two_long = [10, 10, 10, 10, 10, 10, 10, 10, 31, 31];
        assert!(too_long(Page::Read, &two_long).is_some());
        assert_eq!(too_long(Page::Read, &two_long[..9]), None, "too few to judge");
    }
}
