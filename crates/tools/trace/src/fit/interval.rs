//! Confidence intervals of fitted parameters, from the curvature of the likelihood.

use super::chain::{Chain, log_likelihood};
use super::steps::Steps;

/// Standard deviations to each side of an estimate that hold the parameter in 95 % of all cases.
const DEVIATIONS: f64 = 1.96;

/// One of the four parameters of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parameter {
    P,
    R,
    Bad,
    Good,
}

impl Parameter {
    pub(super) const ALL: [Self; 4] = [Self::P, Self::R, Self::Bad, Self::Good];

    fn of(self, chain: &mut Chain) -> &mut f64 {
        match self {
            Self::P => &mut chain.p,
            Self::R => &mut chain.r,
            Self::Bad => &mut chain.bad,
            Self::Good => &mut chain.good,
        }
    }
}

/// Returns the 95 % interval of each of the `free` parameters of `chain`, fitted to `steps`.
///
/// On the scale of log odds the likelihood is nearly normal around its top; the inverse of its
/// curvature there is the covariance of the estimates. A parameter at an end of its scale has no
/// interval, nor has any where the likelihood is flat.
pub(super) fn intervals(chain: Chain, steps: &Steps, free: &[Parameter]) -> [Option<[f64; 2]>; 4] {
    let value = |parameter: Parameter| *parameter.of(&mut chain.clone());
    let free: Vec<Parameter> = free
        .iter()
        .copied()
        .filter(|parameter| (1e-9..=1.0 - 1e-9).contains(&value(*parameter)))
        .collect();
    let height = |moves: &[(Parameter, f64)]| {
        let mut moved = chain;
        for &(parameter, by) in moves {
            let place = parameter.of(&mut moved);
            *place = odds_moved(*place, by);
        }
        log_likelihood(&moved, steps)
    };
    let top = height(&[]);
    let curvature = |parameter: Parameter, by: f64| {
        (height(&[(parameter, by)]) + height(&[(parameter, -by)]) - 2.0 * top) / (by * by)
    };
    // Half a deviation to each side: far enough for the digits, near enough for the shape.
    let width = |parameter: &Parameter| {
        let rough = -curvature(*parameter, 0.01);
        if rough > 0.0 { (0.5 / rough.sqrt()).clamp(1e-5, 0.5) } else { 0.1 }
    };
    let widths: Vec<f64> = free.iter().map(width).collect();
    let count = free.len();
    let mut information = vec![vec![0.0; count]; count];
    for a in 0..count {
        information[a][a] = -curvature(free[a], widths[a]);
        for b in 0..a {
            let at = |x: f64, y: f64| height(&[(free[a], x * widths[a]), (free[b], y * widths[b])]);
            let twist = at(1.0, 1.0) + at(-1.0, -1.0) - at(1.0, -1.0) - at(-1.0, 1.0);
            let value = -twist / (4.0 * widths[a] * widths[b]);
            (information[a][b], information[b][a]) = (value, value);
        }
    }
    let covariance = inverse(information);
    Parameter::ALL.map(|parameter| {
        let place = free.iter().position(|other| *other == parameter)?;
        let variance = covariance.as_ref()?[place][place];
        let reach = (variance > 0.0).then(|| DEVIATIONS * variance.sqrt())?;
        let low = odds_moved(value(parameter), -reach);
        let high = odds_moved(value(parameter), reach);
        (low.is_finite() && high.is_finite()).then_some([low, high])
    })
}

/// A probability whose log odds were moved.
fn odds_moved(probability: f64, by: f64) -> f64 {
    let odds = probability / (1.0 - probability) * by.exp();
    odds / (1.0 + odds)
}

/// The inverse of a small symmetric matrix, by Gauss and Jordan; `None` if it has none.
fn inverse(mut matrix: Vec<Vec<f64>>) -> Option<Vec<Vec<f64>>> {
    let count = matrix.len();
    let mut result: Vec<Vec<f64>> =
        (0..count).map(|i| (0..count).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    for i in 0..count {
        let pivot =
            (i..count).max_by(|a, b| matrix[*a][i].abs().total_cmp(&matrix[*b][i].abs()))?;
        matrix.swap(i, pivot);
        result.swap(i, pivot);
        let scale = matrix[i][i];
        if !scale.is_finite() || scale == 0.0 {
            return None;
        }
        for rows in [&mut matrix, &mut result] {
            rows[i].iter_mut().for_each(|value| *value /= scale);
        }
        for row in (0..count).filter(|row| *row != i) {
            let factor = matrix[row][i];
            for rows in [&mut matrix, &mut result] {
                let source = rows[i].clone();
                rows[row].iter_mut().zip(source).for_each(|(value, x)| *value -= factor * x);
            }
        }
    }
    Some(result)
}
