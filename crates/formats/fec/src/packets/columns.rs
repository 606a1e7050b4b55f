//! Columns of bytes across damaged packets and repairs: which one or two of them are wrong.

use super::field;

/// Equations at least for which two wrong bytes of a column are looked for: two of them say what
/// would be wrong, and another must agree.
const EQUATIONS_FOR_TWO: usize = 3;
/// Suspects at most among which two are looked for.
const SUSPECTS_FOR_TWO: usize = 24;
/// Equations beyond the wrong bytes that must agree so that an answer is sure: where more bytes are
/// wrong than could be found, a false answer fits one of 256 times by each of them.
const EQUATIONS_TO_BE_SURE: usize = 2;
/// Bytes within which a wrong one has another, if damage comes in bursts.
const NEAR: usize = 16;

/// A wrong byte of a column: the place among the suspects, and what to add to it.
type Wrong = (usize, u8);

/// A wrong byte of a suspect.
#[derive(Clone, Copy, Debug)]
struct WrongByte {
    at: usize,
    /// The sum with it is right.
    value: u8,
    is_sure: bool,
}

/// The wrong bytes of a suspect that its columns tell of.
#[derive(Clone, Debug, Default)]
pub(super) struct WrongBytes(Vec<WrongByte>);

impl WrongBytes {
    /// Yields two candidates for the suspect, of `bytes` as it came: with all of them put right,
    /// and with those alone that are sure and in a burst, for others may be blamed on it falsely.
    pub(super) fn candidates(&self, bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> {
        let all = &self.0;
        let is_in_burst = |place: usize| {
            place > 0 && are_near(&all[place - 1], &all[place])
                || place + 1 < all.len() && are_near(&all[place], &all[place + 1])
        };
        let sure = (0..all.len()).filter(|place| all[*place].is_sure && is_in_burst(*place));
        let sure: Vec<WrongByte> = sure.map(|place| all[place]).collect();
        let with = |wrong: &[WrongByte]| {
            let mut right = bytes.to_vec();
            for it in wrong {
                right.get_mut(it.at).into_iter().for_each(|byte| *byte ^= it.value);
            }
            right
        };
        let second = (sure.len() < all.len()).then(|| with(&sure));
        core::iter::once(with(all)).chain(second)
    }
}

/// Returns whether two wrong bytes are so close that one burst explains both.
fn are_near(a: &WrongByte, b: &WrongByte) -> bool {
    b.at - a.at <= NEAR
}

/// Examines each column: `left` has the sums that the equations leave over, and `suspects` for each
/// packet or repair that may be wrong the coefficient in each equation.
pub(super) fn examine(left: &[Vec<u8>], suspects: &[Vec<u8>]) -> Vec<WrongBytes> {
    let pairs = Pairs::new(suspects, left.len());
    let mut found = vec![WrongBytes::default(); suspects.len()];
    let mut column = vec![0; left.len()];
    for at in 0..left.iter().map(Vec::len).max().unwrap_or(0) {
        let bytes = left.iter().map(|sum| sum.get(at).copied().unwrap_or(0));
        column.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
        let wrong = explain(&column, suspects, &pairs).unwrap_or_default();
        let is_sure = left.len() >= wrong.len() + EQUATIONS_TO_BE_SURE;
        for (suspect, value) in wrong {
            found[suspect].0.push(WrongByte { at, value, is_sure });
        }
    }
    found
}

/// Finds the wrong bytes of a column, by the sums that its equations leave over.
///
/// The answer is the only one with one wrong byte, or with two; `None` if there is no such answer.
fn explain(left: &[u8], suspects: &[Vec<u8>], pairs: &Pairs) -> Option<Vec<Wrong>> {
    if left.iter().all(|sum| *sum == 0) {
        return Some(Vec::new());
    }
    let found = only(
        (0..suspects.len())
            .filter_map(|place| alone(left, &suspects[place]).map(|value| vec![(place, value)])),
    );
    if found != Found::None {
        return found.answer();
    }
    let two = |[a, b]: [usize; 2]| {
        let [of_a, of_b] = together(left, &suspects[a], &suspects[b])?;
        Some(vec![(a, of_a), (b, of_b)])
    };
    only(pairs.that_may_fit(left).filter_map(two)).answer()
}

/// The pairs of suspects, ready for a quick look that nearly all fail which do not fit.
struct Pairs(Vec<Group>);

/// The pairs of one suspect with those behind it.
struct Group {
    first: usize,
    /// The first equation that has it.
    pivot: usize,
    /// The factors that rid each equation of it, by the equation `pivot`.
    factors: Vec<u8>,
    pairs: Vec<Pair>,
}

/// Two equations that the first of a pair was removed from: the second says that what is left over
/// of one is `ratio` times that of the other.
struct Pair {
    second: usize,
    equations: [usize; 2],
    ratio: u8,
}

impl Pairs {
    /// The pairs among suspects in a number of equations; none where two are not looked for.
    fn new(suspects: &[Vec<u8>], equations: usize) -> Self {
        if equations < EQUATIONS_FOR_TWO || suspects.len() > SUSPECTS_FOR_TWO {
            return Self(Vec::new());
        }
        let group = |first: usize| {
            let of_first = &suspects[first];
            let pivot = of_first.iter().position(|it| *it != 0)?;
            let factors: Vec<u8> =
                of_first.iter().map(|it| field().div(*it, of_first[pivot]).unwrap_or(0)).collect();
            let pair = |second: usize| {
                let rest = without(&suspects[second], pivot, &factors);
                let base = rest.iter().position(|it| *it != 0)?;
                // One more that has it, or any: there nothing may be left over.
                let others = || (0..equations).filter(|it| ![pivot, base].contains(it));
                let other = others().find(|it| rest[*it] != 0).or_else(|| others().next())?;
                let ratio = field().div(rest[other], rest[base])?;
                Some(Pair { second, equations: [base, other], ratio })
            };
            let pairs = (first + 1..suspects.len()).filter_map(pair).collect();
            Some(Group { first, pivot, factors, pairs })
        };
        Self((0..suspects.len()).filter_map(group).collect())
    }

    /// The pairs that leave nothing over in three of the equations.
    fn that_may_fit(&self, left: &[u8]) -> impl Iterator<Item = [usize; 2]> {
        self.0.iter().flat_map(move |group| {
            let rest = without(left, group.pivot, &group.factors);
            let fits = move |pair: &&Pair| {
                let [base, other] = pair.equations;
                rest[other] == field().mul(pair.ratio, rest[base])
            };
            group.pairs.iter().filter(fits).map(|pair| [group.first, pair.second])
        })
    }
}

/// The rest of the equations when a multiple of one of them is taken from each.
fn without(of: &[u8], pivot: usize, factors: &[u8]) -> Vec<u8> {
    of.iter().zip(factors).map(|(it, factor)| it ^ field().mul(*factor, of[pivot])).collect()
}

/// The answers that there are.
#[derive(PartialEq, Eq)]
enum Found {
    None,
    One(Vec<Wrong>),
    Several,
}

impl Found {
    fn answer(self) -> Option<Vec<Wrong>> {
        match self {
            Self::One(answer) => Some(answer),
            Self::None | Self::Several => None,
        }
    }
}

fn only(mut answers: impl Iterator<Item = Vec<Wrong>>) -> Found {
    match (answers.next(), answers.next()) {
        (None, _) => Found::None,
        (Some(answer), None) => Found::One(answer),
        (Some(_), Some(_)) => Found::Several,
    }
}

/// Returns the value to add to one byte so that nothing is left over.
fn alone(left: &[u8], of: &[u8]) -> Option<u8> {
    let place = of.iter().position(|coefficient| *coefficient != 0)?;
    let value = field().div(left[place], of[place]).filter(|value| *value != 0)?;
    left.iter().zip(of).all(|(left, of)| *left == field().mul(*of, value)).then_some(value)
}

/// Returns the values to add to two bytes so that nothing is left over.
fn together(left: &[u8], of_a: &[u8], of_b: &[u8]) -> Option<[u8; 2]> {
    let field = field();
    let determinant =
        |i: usize, j: usize| field.mul(of_a[i], of_b[j]) ^ field.mul(of_a[j], of_b[i]);
    // Two equations that tell the bytes apart.
    let i = (0..left.len()).find(|i| of_a[*i] != 0 || of_b[*i] != 0)?;
    let j = (i + 1..left.len()).find(|j| determinant(i, *j) != 0)?;
    let of = determinant(i, j);
    let a = field.div(field.mul(left[i], of_b[j]) ^ field.mul(left[j], of_b[i]), of)?;
    let b = field.div(field.mul(of_a[i], left[j]) ^ field.mul(of_a[j], left[i]), of)?;
    (a != 0
        && b != 0
        && (0..left.len()).all(|at| (field.mul(of_a[at], a) ^ field.mul(of_b[at], b)) == left[at]))
    .then_some([a, b])
}

#[cfg(test)]
mod tests;
