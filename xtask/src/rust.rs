//! Just enough understanding of Rust source, as rustfmt writes it, to count and to search.

use std::ops::Range;

/// The text with comments and the contents of literals replaced by blanks; lines stay in place.
pub(crate) fn blank(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = literal(rest, out.chars().next_back()).unwrap_or(0);
        if length == 0 {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            out.extend(rest[..length].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
            rest = &rest[length..];
        }
    }
    out
}

/// The length of the comment or literal at the start of `rest`, if there is one.
fn literal(rest: &str, before: Option<char>) -> Option<usize> {
    let in_word = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return Some(block_comment(rest));
    }
    if rest.starts_with('"') {
        return Some(quoted(rest));
    }
    if !in_word && rest.starts_with(['r', 'b', 'c']) {
        let tail = rest.trim_start_matches(['r', 'b', 'c']);
        let prefix = rest.len() - tail.len();
        let quote = tail.trim_start_matches('#');
        let hashes = tail.len() - quote.len();
        if prefix <= 2 && quote.starts_with('"') {
            if !rest[..prefix].contains('r') {
                return (hashes == 0).then(|| prefix + quoted(tail));
            }
            let end = format!("\"{}", "#".repeat(hashes));
            let found = quote[1..].find(&end).map(|at| 1 + at + end.len());
            return Some(prefix + hashes + found.unwrap_or(quote.len()));
        }
    }
    if rest.starts_with('\'') { character(rest) } else { None }
}

fn block_comment(rest: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest[at..].starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// The length of a string in quotes, with escapes.
fn quoted(rest: &str) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// The length of a character in quotes; `None` for a lifetime.
fn character(rest: &str) -> Option<usize> {
    let inner = &rest[1..];
    if let Some(escape) = inner.strip_prefix('\\') {
        let skipped = escape.chars().next()?.len_utf8();
        return Some(2 + skipped + escape[skipped..].find('\'')? + 1);
    }
    let c = inner.chars().next()?;
    inner[c.len_utf8()..].starts_with('\'').then_some(c.len_utf8() + 2)
}

/// The lines (from 0) of inline `#[cfg(test)]` modules, in blanked code.
pub(crate) fn test_regions(code: &str) -> Vec<Range<usize>> {
    let lines: Vec<&str> = code.lines().collect();
    let mut regions = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if line.trim() == "#[cfg(test)]" && lines.get(at + 1).is_some_and(|l| l.ends_with('{')) {
            regions.push(at..block_end(&lines, at + 1) + 1);
        }
    }
    regions
}

/// The line on which the block that opens on line `start` closes, as rustfmt indents it.
fn block_end(lines: &[&str], start: usize) -> usize {
    let indent = lines[start].len() - lines[start].trim_start().len();
    let closes = |line: &str| line.trim_start().starts_with('}') && line.find('}') == Some(indent);
    (start..lines.len()).find(|at| closes(lines[*at])).unwrap_or(lines.len() - 1)
}

/// Lines that hold code, outside of inline test modules.
pub(crate) fn code_lines(code: &str) -> usize {
    let tests = test_regions(code);
    let outside = |at: &usize| !tests.iter().any(|region| region.contains(at));
    let filled = code.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    filled.filter(|(at, _)| outside(at)).count()
}

/// A function: its name, its first line (from 1), and how many lines it takes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Function<'a> {
    pub(crate) name: &'a str,
    pub(crate) line: usize,
    pub(crate) lines: usize,
}

/// The functions of blanked code that have a body.
pub(crate) fn functions(code: &str) -> Vec<Function<'_>> {
    let lines: Vec<&str> = code.lines().collect();
    let mut all = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(name) = function_name(line) else { continue };
        let opens = (at..lines.len()).find(|at| lines[*at].trim_end().ends_with(['{', '}', ';']));
        let Some(opens) = opens else { continue };
        if lines[opens].trim_end().ends_with('{') {
            let end = block_end(&lines, at).max(opens);
            all.push(Function { name, line: at + 1, lines: end - at + 1 });
        }
    }
    all
}

/// The parameters of functions that are destructured tuples: the line (from 1) of the function,
/// its name, and the number of elements. Closures do not count.
pub(crate) fn tuple_parameters(code: &str) -> Vec<(usize, &str, usize)> {
    let mut found = Vec::new();
    for (start, _) in code.match_indices("fn ") {
        let before = code[..start].chars().next_back();
        let rest = &code[start + 3..];
        let Some(opens) = rest.find('(') else { continue };
        if before.is_some_and(|c| !c.is_whitespace()) || rest[..opens].contains(['{', ';', ' ']) {
            continue;
        }
        let name = rest[..opens].split('<').next().unwrap_or_default();
        let line = code[..start].matches('\n').count() + 1;
        for parameter in elements(&rest[opens..]) {
            let pattern = parameter.trim_start().trim_start_matches('&');
            if pattern.starts_with('(') {
                found.push((line, name, elements(pattern).len()));
            }
        }
    }
    found
}

/// The elements of the list in parentheses at the start of `text`.
fn elements(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let mut from = 1;
    let mut found = Vec::new();
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' | '<' => depth += 1,
            ')' if depth == 1 => {
                found.push(&text[from..at]);
                break;
            }
            // The arrow of a function's type closes nothing.
            '>' if text[..at].ends_with('-') => {}
            ')' | ']' | '}' | '>' => depth = depth.saturating_sub(1),
            ',' if depth == 1 => {
                found.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    found.retain(|element| !element.trim().is_empty());
    found
}

fn function_name(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    let name = loop {
        match words.next()? {
            "fn" => break words.next()?,
            "pub" | "const" | "async" | "unsafe" | "extern" | "default" => {}
            // `extern "C"` with its string blanked leaves nothing between.
            word if word.starts_with("pub(") || word.ends_with("super)") => {}
            _ => return None,
        }
    };
    name.split(['(', '<']).next()
}

#[cfg(test)]
mod tests;
