//! What Table 1 leaves open about its places, swept: how faults follow one another.

use windfall_base::{Duration, Stream};
use windfall_report::{Estimate, Table};
use windfall_scenario::{Arrangement, Environment, PolicyKind};

use super::coded::{self, Air};
use crate::experiment::{Band, Claim, Context, ExperimentError, Extent, Verdict};

/// The policies of the paper; the last one adapts.
const POLICIES: [PolicyKind; 4] =
    [PolicyKind::Bold, PolicyKind::Light, PolicyKind::Robust, PolicyKind::Flex];
/// The share of arrangements in which an ordering must hold to be called robust.
const MOST: f64 = 0.8;

/// The throughput of each policy in each place, in one arrangement of the faults of each.
pub(super) struct Arranged([[f64; 4]; 5]);

impl Arranged {
    fn of(&self, place: Environment) -> [f64; 4] {
        let row = Environment::ALL.iter().position(|other| *other == place);
        row.map_or([0.0; 4], |row| self.0[row])
    }

    fn average(&self, policy: usize) -> f64 {
        self.0.iter().map(|row| row[policy]).sum::<f64>() / self.0.len() as f64
    }

    /// FLEX has the greatest mean over the places.
    fn flex_is_best(&self) -> bool {
        (0..3).all(|policy| self.average(3) > self.average(policy))
    }

    /// FLEX has nine tenths of the best static policy in every place.
    fn flex_is_good_everywhere(&self) -> bool {
        self.0.iter().all(|row| row[..3].iter().all(|other| row[3] >= 0.9 * other))
    }

    /// BOLD is the best static policy in the office, and the worst on table.
    fn bold_is_for_calm(&self) -> bool {
        let office = self.of(Environment::Office);
        let table = self.of(Environment::Table);
        office[0] >= office[1].max(office[2]) && table[0] <= table[1].min(table[2])
    }

    /// A static policy has less than 0.7 of the best of them somewhere.
    fn fails_somewhere(&self, policy: usize) -> bool {
        let best = |row: &[f64; 4]| row[..3].iter().copied().fold(0.0, f64::max);
        self.0.iter().any(|row| row[policy] < 0.7 * best(row))
    }

    /// All static policies do.
    fn all_static_fail_somewhere(&self) -> bool {
        (0..3).all(|policy| self.fails_somewhere(policy))
    }
}

type Ordering = (&'static str, fn(&Arranged) -> bool);

const ORDERINGS: [Ordering; 4] = [
    ("FLEX is the best on average", Arranged::flex_is_best),
    ("FLEX has 0.9 of the best static policy everywhere", Arranged::flex_is_good_everywhere),
    ("BOLD is the best static one in the office, the worst on table", Arranged::bold_is_for_calm),
    ("each static policy has less than 0.7 somewhere", Arranged::all_static_fail_somewhere),
];

/// Sprays of every policy in every place, in random arrangements.
///
/// # Errors
/// If the scenario is wrong.
pub(super) fn sweep(
    context: &Context<'_>,
    figure: &'static str,
) -> Result<Vec<Arranged>, ExperimentError> {
    let (count, length) = match context.extent {
        Extent::Quick => (2, Duration::from_secs(5)),
        Extent::Paper => (40, Duration::from_secs(20)),
        Extent::Full => (200, Duration::from_secs(60)),
    };
    (context.progress)("other arrangements of the faults");
    let all = context.replicate(count, |seed| {
        let mut random = Stream::new(seed, "arrangement");
        let mut rates = [[0.0; 4]; 5];
        for (row, place) in rates.iter_mut().zip(Environment::ALL) {
            let air = Air::new(place, seed).arranged(draw(place, &mut random));
            for (rate, policy) in row.iter_mut().zip(POLICIES) {
                let policy = substitute(context, policy);
                *rate = coded::spray(figure, air, &coded::settings(policy), length)?;
            }
        }
        Ok(Arranged(rates))
    });
    all.into_iter().collect()
}

/// The policy itself; in a mutated run BOLD in place of FLEX.
pub(super) fn substitute(context: &Context<'_>, policy: PolicyKind) -> PolicyKind {
    if context.is_mutated && policy == PolicyKind::Flex { PolicyKind::Bold } else { policy }
}

/// An arrangement whose every length is up to four times as long or as short as that of the place,
/// with any drift: Table 1 leaves them open.
fn draw(place: Environment, random: &mut Stream) -> Arrangement {
    let Arrangement { spells, cluster, in_truncated, .. } = place.arrangement();
    let mut about = |value: f64| (value * 4_f64.powf(2.0 * random.unit() - 1.0)).max(1.0);
    let spells = spells.map(&mut about);
    let cluster = about(cluster);
    let in_truncated = about(in_truncated);
    Arrangement { spells, cluster, drift: 0.95 * random.unit(), in_truncated }
}

fn share(all: &[Arranged], holds: fn(&Arranged) -> bool) -> Estimate {
    Estimate::share(all.iter().filter(|it| holds(it)).count() as u64, all.len() as u64)
}

/// Holds a static policy to doing poorly somewhere in most arrangements.
pub(super) fn poorly_somewhere(claim: Claim, all: &[Arranged], policy: PolicyKind) -> Claim {
    let place = POLICIES.iter().position(|other| *other == policy).unwrap_or(0);
    let count = all.iter().filter(|arranged| arranged.fails_somewhere(place)).count();
    claim.compare(
        "share of arrangements in which it has less than 0.7 of the best static one somewhere",
        Estimate::share(count as u64, all.len() as u64),
        Band::from(MOST, "robust: in four of five arrangements, ours"),
    )
}

//= S3.22
/// That the orderings do not depend on what Table 1 leaves open.
pub(super) fn claim(all: &[Arranged]) -> Claim {
    let claim = Claim::ours("S3.22", "the orderings do not depend on how faults are arranged")
        .recorded(Verdict::InPart)
        .because("that each static policy fails somewhere does depend on it; the others do not");
    let most = || Band::from(MOST, "robust: in four of five arrangements, ours");
    ORDERINGS.into_iter().fold(claim, |claim, (name, holds)| {
        claim.compare(format!("share in which {name}"), share(all, holds), most())
    })
}

/// The share of arrangements in which each ordering holds.
pub(super) fn table(all: &[Arranged]) -> Table {
    let mut table = Table::new(["ordering", "arrangements", "share", "least", "most"]);
    for (name, holds) in ORDERINGS {
        let Estimate { value, low, high, runs } = share(all, holds);
        let [value, low, high] = [value, low, high].map(|value| format!("{value:.2}"));
        table.push([name.to_owned(), runs.to_string(), value, low, high]);
    }
    table
}

#[cfg(test)]
mod tests {
    use windfall_base::Seed;

    use super::*;

    #[test]
    fn other_arrangements_keep_within_their_bounds() {
        for run in 0..20 {
            let mut random = Stream::new(Seed(run), "arrangement");
            for place in Environment::ALL {
                let drawn = draw(place, &mut random);
                let own = place.arrangement();
                let ratio = drawn.cluster / own.cluster;
                assert!((0.24..4.01).contains(&ratio) && drawn.drift < 1.0, "{drawn:?}");
                assert!(drawn.spells.iter().all(|spell| *spell >= 1.0), "{drawn:?}");
            }
        }
    }
}
