//! Covering arrays: few combinations of options in which every pair of values occurs.

use std::collections::BTreeSet;

/// Two values of two options: `(option, value, option, value)`, the first option the smaller.
type Pair = (usize, usize, usize, usize);

/// Combinations of options, of which option *i* has `sizes[i]` values, such that every two values
/// of every two options occur together in one of them.
///
/// Greedy: each combination begins with a pair that is still missing, and each further option takes
/// the value that adds the most missing pairs.
#[must_use]
pub fn pairwise(sizes: &[usize]) -> Vec<Vec<usize>> {
    let mut missing = all_pairs(sizes);
    let mut rows = Vec::new();
    while let Some(&(a, x, b, y)) = missing.first() {
        let mut row: Vec<Option<usize>> = vec![None; sizes.len()];
        (row[a], row[b]) = (Some(x), Some(y));
        for option in 0..sizes.len() {
            if row[option].is_none() {
                let gain = |value: &usize| {
                    let pairs = pairs_with(&row, option, *value);
                    // Of equally good values the smallest, so that the rows are always the same.
                    (pairs.filter(|pair| missing.contains(pair)).count(), usize::MAX - value)
                };
                row[option] = (0..sizes[option]).max_by_key(gain);
            }
        }
        for option in 0..sizes.len() {
            for pair in pairs_with(&row, option, row[option].unwrap_or(0)) {
                missing.remove(&pair);
            }
        }
        rows.push(row.into_iter().map(|value| value.unwrap_or(0)).collect());
    }
    rows
}

/// The combination of this number among all that there are, and how many there are.
#[must_use]
pub fn combination(sizes: &[usize], mut number: usize) -> (Vec<usize>, usize) {
    let digit = |size: &usize| {
        let value = number % size;
        number /= size;
        value
    };
    (sizes.iter().map(digit).collect(), sizes.iter().product())
}

fn all_pairs(sizes: &[usize]) -> BTreeSet<Pair> {
    let mut pairs = BTreeSet::new();
    for (b, &size) in sizes.iter().enumerate() {
        for (a, &before) in sizes[..b].iter().enumerate() {
            pairs.extend((0..before).flat_map(|x| (0..size).map(move |y| (a, x, b, y))));
        }
    }
    pairs
}

/// The pairs that `option` with `value` makes with what is chosen in `row`.
fn pairs_with(
    row: &[Option<usize>],
    option: usize,
    value: usize,
) -> impl Iterator<Item = Pair> + '_ {
    let chosen = row.iter().enumerate().filter_map(|(other, chosen)| Some((other, (*chosen)?)));
    chosen.filter(move |(other, _)| *other != option).map(move |(other, chosen)| {
        if other < option { (other, chosen, option, value) } else { (option, value, other, chosen) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_occurs_and_the_rows_are_few() {
        for (sizes, most) in [(&[2, 2][..], 4), (&[2; 10], 12), (&[3, 2, 4, 2, 3], 16), (&[3], 0)] {
            let rows = pairwise(sizes);
            for (a, x, b, y) in all_pairs(sizes) {
                assert!(rows.iter().any(|row| row[a] == x && row[b] == y), "{a}={x}, {b}={y}");
            }
            assert!(rows.len() <= most, "{} rows for {sizes:?}", rows.len());
        }
    }

    #[test]
    fn every_combination_has_a_number() {
        let all: BTreeSet<_> = (0..12).map(|number| combination(&[3, 2, 2], number).0).collect();
        assert_eq!(all.len(), 12);
        assert_eq!(combination(&[3, 2, 2], 0).1, 12);
    }
}
