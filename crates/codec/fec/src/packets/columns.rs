//! Columns of bytes across damaged packets: which one or two of them are wrong.

use super::field;

/// Equations at least for which two wrong bytes of a column are looked for: two of them say what
/// would be wrong, and another must agree.
const EQUATIONS_FOR_TWO: usize = 3;
/// Suspects at most among which two are looked for.
const SUSPECTS_FOR_TWO: usize = 24;

/// A wrong byte of a column: the place among the suspects, and what to add to it.
pub(super) type Wrong = (usize, u8);

/// Finds the wrong bytes of a column, by the sums that its equations leave over; `suspects` has
/// for each packet that may be wrong the coefficient in each equation.
///
/// The answer is the only one with one wrong byte, or with two; `None` if there is no such answer.
pub(super) fn explain(left: &[u8], suspects: &[Vec<u8>]) -> Option<Vec<Wrong>> {
    if left.iter().all(|sum| *sum == 0) {
        return Some(Vec::new());
    }
    let one = |place: usize| alone(left, &suspects[place]).map(|value| vec![(place, value)]);
    let found = only((0..suspects.len()).filter_map(one));
    if found != Found::None {
        return found.answer();
    }
    if left.len() < EQUATIONS_FOR_TWO || suspects.len() > SUSPECTS_FOR_TWO {
        return None;
    }
    let pairs = (0..suspects.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
    let two = |(a, b): (usize, usize)| {
        let [of_a, of_b] = together(left, &suspects[a], &suspects[b])?;
        Some(vec![(a, of_a), (b, of_b)])
    };
    only(pairs.filter_map(two)).answer()
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
    let fits = |(left, of): (&u8, &u8)| *left == field().mul(*of, value);
    left.iter().zip(of).all(fits).then_some(value)
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
    let sum = |at: usize| field.mul(of_a[at], a) ^ field.mul(of_b[at], b);
    (a != 0 && b != 0 && (0..left.len()).all(|at| sum(at) == left[at])).then_some([a, b])
}
