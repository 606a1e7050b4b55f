//! The grid: every combination of values, with every seed.

use core::hash::Hasher as _;

use siphasher::sip128::{Hasher128 as _, SipHasher13};
use windfall_base::Seed;
use windfall_scenario::{Scenario, without_span};

use crate::error::SweepError;
use crate::values::Variation;

/// The most runs of a sweep.
const MOST_RUNS: usize = 1_000_000;

/// Builds a scenario to see that it can be, and hands over the content of the files that it names.
pub type BuildPoint<'a> = dyn FnMut(&Scenario, &mut dyn FnMut(&[u8])) -> Result<(), String> + 'a;

/// Everything that a sweep runs.
#[derive(Clone, Debug)]
pub struct Grid {
    /// The keys that are varied.
    pub variations: Vec<Variation>,
    /// The seeds, the same ones at every point.
    pub seeds: Vec<Seed>,
    /// Every combination of the values; the last key changes fastest.
    pub points: Vec<GridPoint>,
}

/// One combination of values.
#[derive(Clone, Debug)]
pub struct GridPoint {
    /// The value of each variation, in their order.
    pub values: Vec<String>,
    /// The scenario with these values.
    pub scenario: Scenario,
}

/// One run: a point with a seed.
#[derive(Clone, Debug)]
pub struct SweepRun {
    /// The place of its point.
    pub point: usize,
    /// The seed of the run.
    pub seed: Seed,
    /// The scenario with the values of the point and the seed.
    pub scenario: Scenario,
    /// A hash of the scenario and of what it depends on, by which a finished run is found again.
    pub identity: String,
}

impl Grid {
    /// Makes the grid of a scenario; `seeds` of them, from that of the scenario on.
    ///
    /// Every combination is checked before anything runs.
    ///
    /// # Errors
    /// If a key is given twice or a later one overrides it, a combination makes no scenario,
    /// the runs are too many, or the seeds go beyond the greatest.
    pub fn new(
        scenario: &Scenario,
        variations: Vec<Variation>,
        seeds: usize,
    ) -> Result<Self, SweepError> {
        for (place, variation) in variations.iter().enumerate() {
            if variations[..place].iter().any(|it| it.key.text() == variation.key.text()) {
                return Err(SweepError::Twice(variation.key.text().to_owned()));
            }
        }
        let sizes = variations.iter().map(|it| it.values.len() as u128);
        let runs = sizes.fold(seeds as u128, u128::saturating_mul);
        if runs > MOST_RUNS as u128 {
            return Err(SweepError::TooManyRuns { runs, most: MOST_RUNS });
        }
        let mut combinations: Vec<Vec<String>> = vec![Vec::new()];
        for variation in &variations {
            let longer = combinations.iter().flat_map(|before| {
                let with =
                    |value: &String| [before.as_slice(), core::slice::from_ref(value)].concat();
                variation.values.iter().map(with)
            });
            combinations = longer.collect();
        }
        let points = combinations.into_iter().map(|it| point(scenario, &variations, it));
        let points = points.collect::<Result<_, _>>()?;
        check_effects(scenario, &variations)?;
        let first = scenario.seed().0;
        let numbers = (0..seeds as u64).map(|number| first.checked_add(number).map(Seed));
        let numbers: Option<Vec<_>> = numbers.collect();
        Ok(Self { points, seeds: numbers.ok_or(SweepError::Seeds { seeds, first })?, variations })
    }

    /// Returns the runs, point by point, each with its seeds in order, if every point can be built.
    ///
    /// `version` is that of the program. `build` builds a scenario as a run does, and hands over
    /// the content of each file that the scenario names.
    ///
    /// # Errors
    /// If a point cannot be built.
    pub fn checked_runs(
        &self,
        version: &str,
        build: &mut BuildPoint<'_>,
    ) -> Result<Vec<SweepRun>, SweepError> {
        let mut runs = Vec::with_capacity(self.points.len() * self.seeds.len());
        for (place, point) in self.points.iter().enumerate() {
            let mut depends = version.as_bytes().to_vec();
            let built = build(&point.scenario, &mut |bytes| depends.extend(bytes));
            let starts = || point.scenario.check_starts(("", "")).map_err(|it| it.to_string());
            built
                .and_then(|()| starts())
                .map_err(|error| SweepError::Point { values: self.name_of(place), error })?;
            let one = |seed: &Seed| SweepRun::new(place, &point.scenario, *seed, &depends);
            runs.extend(self.seeds.iter().map(one));
        }
        Ok(runs)
    }

    /// Returns a point in words: `link.ber=1e-5, policy=flex`.
    #[must_use]
    pub fn name_of(&self, point: usize) -> String {
        let values = self.points.get(point).map_or(&[][..], |it| &it.values);
        named(&self.variations, values)
    }
}

impl SweepRun {
    fn new(point: usize, scenario: &Scenario, seed: Seed, depends: &[u8]) -> Self {
        let mut scenario = scenario.clone();
        scenario.run.seed = Some(without_span(seed));
        let mut hasher = SipHasher13::new();
        hasher.write(scenario.to_toml().as_bytes());
        hasher.write_u8(0);
        hasher.write(depends);
        let hash = hasher.finish128();
        let identity = format!("{:016x}{:016x}", hash.h1, hash.h2);
        Self { point, seed, scenario, identity }
    }
}

fn point(
    scenario: &Scenario,
    variations: &[Variation],
    values: Vec<String>,
) -> Result<GridPoint, SweepError> {
    let mut scenario = scenario.clone();
    for (variation, value) in variations.iter().zip(&values) {
        variation.key.set(&mut scenario, value)?;
    }
    let checked = scenario.check();
    checked.map_err(|error| SweepError::Point {
        values: named(variations, &values),
        error: error.to_string(),
    })?;
    Ok(GridPoint { values, scenario })
}

/// Refuses a key that a later one sets again, so that no point states what its runs do not have.
///
/// A later key may refine an earlier one, as `tcp.mss` does `tcp`, which then still has an effect.
fn check_effects(scenario: &Scenario, variations: &[Variation]) -> Result<(), SweepError> {
    for (place, variation) in variations.iter().enumerate() {
        let earlier = &variations[..place];
        let later = &variations[place + 1..];
        let before = with_first_values(scenario, earlier)?;
        if let Some(by) = hidden_by(&before, variation, later)? {
            let [hidden, by] = [variation, by].map(|it| it.key.text().to_owned());
            return Err(SweepError::Hidden { hidden, by });
        }
    }
    Ok(())
}

/// The later variation that leaves nothing of any value of this one, if there is one.
fn hidden_by<'a>(
    before: &Scenario,
    variation: &Variation,
    later: &'a [Variation],
) -> Result<Option<&'a Variation>, SweepError> {
    let mut by = None;
    for value in &variation.values {
        let mut own = before.clone();
        variation.key.set(&mut own, value)?;
        // What the scenario says itself makes no difference, whatever comes later.
        if is_same(&own, before) {
            continue;
        }
        if !are_same_after(later, [&own, before])? {
            return Ok(None);
        }
        by = first_to_hide(later, [&own, before])?;
    }
    Ok(by)
}

/// The first of some variations after which two scenarios say the same; the last one if it takes
/// several.
fn first_to_hide<'a>(
    variations: &'a [Variation],
    both: [&Scenario; 2],
) -> Result<Option<&'a Variation>, SweepError> {
    for it in variations {
        if are_same_after(core::slice::from_ref(it), both)? {
            return Ok(Some(it));
        }
    }
    Ok(variations.last())
}

/// Tells whether two scenarios say the same with the first value of each of some variations.
fn are_same_after(
    variations: &[Variation],
    [one, other]: [&Scenario; 2],
) -> Result<bool, SweepError> {
    let one = with_first_values(one, variations)?;
    let other = with_first_values(other, variations)?;
    Ok(is_same(&one, &other))
}

/// Returns a scenario with the first value of each of some variations.
fn with_first_values(
    scenario: &Scenario,
    variations: &[Variation],
) -> Result<Scenario, SweepError> {
    let mut scenario = scenario.clone();
    for variation in variations {
        if let Some(first) = variation.values.first() {
            variation.key.set(&mut scenario, first)?;
        }
    }
    Ok(scenario)
}

/// Tells whether two scenarios say the same, wherever it stands in them.
fn is_same(one: &Scenario, other: &Scenario) -> bool {
    one.to_toml() == other.to_toml()
}

fn named(variations: &[Variation], values: &[String]) -> String {
    let all = variations.iter().zip(values);
    let named: Vec<_> = all.map(|(it, value)| format!("{}={value}", it.key.text())).collect();
    if named.is_empty() { "the scenario as it is".to_owned() } else { named.join(", ") }
}

#[cfg(test)]
mod tests;
