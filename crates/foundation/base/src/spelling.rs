//! The known word that another was perhaps meant for.

/// Returns the entry of `known` that is most like `word`, if one is like it at all.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let distances = known.into_iter().map(|name| (distance(word, name), name));
    distances.min().filter(|(d, name)| *d <= name.len().div_ceil(3)).map(|(_, name)| name)
}

/// The number of letters that must be inserted, removed or replaced to make one word the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.to_lowercase().chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.to_lowercase().chars().enumerate() {
        let mut diagonal = core::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_similar_word_is_found_if_one_is_similar_at_all() {
        let known = ["rate", "delay", "loss"];
        assert_eq!(nearest("rat", known), Some("rate"));
        assert_eq!(nearest("Dealy", known), Some("delay"));
        assert_eq!(nearest("xyz", known), None);
        assert_eq!(nearest("", []), None);
    }
}
