//! Claims, chart and table.

use windfall_report::{Axis, Chart, Estimate, Mark, Point, Series, Table};

use super::Row;
use super::paths::Kind;
use crate::experiment::{Band, Claim, Verdict};

/// The requirement: schemes of others beside ours.
const ID: &str = "S0.66";
/// The share of Minstrel's that it has where nothing is damaged, and of the best fixed pair's.
const CLEAN: f64 = 0.98;
const FIXED: f64 = 0.97;

/// The reason why ten seeds leave the path of 105 dB open.
const BETWEEN: &str = "at 105 dB two pairs differ by a twentieth, of which the better fails now \
    and then, and some runs stay with the other";
/// The reason why crowds near the edge fall behind the best fixed pair.
const CROWDED: &str = "near the edge, where frames of others are not heard as energy, the long \
    frames with which all begin at once are trampled for some seconds, by stations that sent when \
    they began and hear no carrier";

/// A name, and what it carried.
type Way<'a> = (&'a str, fn(&Row) -> &[f64]);

impl Row {
    /// The mean ratio over the seeds.
    fn over(&self, other: &[f64]) -> Estimate {
        let ratios = self.joint.iter().zip(other).map(|(own, other)| own / other.max(1e-6));
        Estimate::mean(&ratios.collect::<Vec<_>>())
    }
}

//= S0.66
pub(super) fn claims(rows: &[Row], best: &str, any: &str) -> Vec<Claim> {
    let all = |claim: Claim, kinds: &[Kind], of: fn(&Row) -> (Estimate, Band)| {
        rows.iter().filter(|row| kinds.contains(&row.path.kind)).fold(claim, |claim, row| {
            let (estimate, band) = of(row);
            claim.compare(row.path.name, estimate, band)
        })
    };
    let still = "a path that stays the same: as much as Minstrel, to within a fiftieth";
    let beside = format!("a path that stays the same: at least 0.97 of the {best}");
    let changing = "where the signal fades, and on the walk: more than Minstrel";
    let crowd = "several senders: as much as Minstrel, to within a fiftieth";
    let crowd_beside = format!("several senders: at least 0.97 of the {best}");
    let beyond = format!("where the signal fades, and on the walk: more than {any}");
    vec![
        all(Claim::ours(ID, still), &[Kind::Constant], |row| {
            (row.over(&row.minstrel), Band::from(CLEAN, "a fiftieth less: ours"))
        }),
        all(Claim::ours(ID, beside), &[Kind::Constant], |row| {
            (row.over(&row.fixed), Band::from(FIXED, "the pair has nothing to learn: ours"))
        })
        .recorded(Verdict::InPart)
        .left_open()
        .because(BETWEEN),
        all(Claim::ours(ID, crowd), &[Kind::Crowd], |row| {
            (row.over(&row.minstrel), Band::from(CLEAN, "a fiftieth less: ours"))
        }),
        all(Claim::ours(ID, crowd_beside), &[Kind::Crowd], |row| {
            (row.over(&row.fixed), Band::from(FIXED, "the pair has nothing to learn: ours"))
        })
        .recorded(Verdict::InPart)
        .because(CROWDED),
        all(Claim::ours(ID, changing), &[Kind::Fading, Kind::Walk], |row| {
            (row.over(&row.minstrel), Band::above(1.0, "an ordering"))
        }),
        all(Claim::ours(ID, beyond), &[Kind::Fading, Kind::Walk], |row| {
            (row.over(&row.fixed), Band::above(1.0, "an ordering"))
        }),
    ]
}

pub(super) fn chart(rows: &[Row], best: &str) -> Chart {
    let ways: [Way<'_>; 3] =
        [("joint", |row| &row.joint), ("Minstrel", |row| &row.minstrel), (best, |row| &row.fixed)];
    let series = ways.into_iter().map(|(name, of)| {
        let points = rows.iter().enumerate();
        let points = points.filter_map(|(place, row)| Point::of(place as f64, of(row)));
        Series::new(name, Mark::Points, points.collect())
    });
    Chart {
        title: "What saturated senders of 802.11g deliver".to_owned(),
        subtitle: rows.iter().map(|row| row.path.name).collect::<Vec<_>>().join("; "),
        x: Axis::linear("path, in the order of the table"),
        y: Axis::linear("Mb/s").from_zero(),
        series: series.collect(),
        rules: Vec::new(),
    }
}

pub(super) fn table(rows: &[Row], best: &str) -> Table {
    let carried = format!("{best} (Mb/s)");
    let mut table = Table::new([
        "path",
        "joint (Mb/s)",
        "Minstrel (Mb/s)",
        carried.as_str(),
        "rate and parity",
        "joint of Minstrel",
        "joint of the fixed pair",
    ]);
    for row in rows {
        let mean = |values: &[f64]| format!("{:.2}", Estimate::mean(values).value);
        let text = |it: Estimate| format!("{:.2} ({:.2} to {:.2})", it.value, it.low, it.high);
        table.push([
            row.path.name.to_owned(),
            mean(&row.joint),
            mean(&row.minstrel),
            mean(&row.fixed),
            row.pair.name(),
            text(row.over(&row.minstrel)),
            text(row.over(&row.fixed)),
        ]);
    }
    table
}
