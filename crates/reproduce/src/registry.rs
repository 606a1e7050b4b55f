//! The list of figures, and how they are chosen by name.

use crate::error::Error;
use crate::figure::Figure;
use crate::{paper_000, paper_002, paper_003, paper_004};

/// Every figure that can be reproduced, in the order of the papers.
pub const FIGURES: &[Figure] = &[
    paper_000::fig2::FIGURE,
    paper_000::fig3::FIGURE,
    paper_000::fig4::FIGURE,
    paper_000::knobs::KNOBS,
    paper_002::stretch::FIGURE,
    paper_002::lookup::FIGURE,
    paper_002::trailer::FIGURE,
    paper_003::fig1::FIGURE,
    paper_003::fig2::FIGURE,
    paper_003::fig3::FIGURE,
    paper_003::fig4::FIGURE,
    paper_003::fig5::FIGURE,
    paper_003::fig6::FIGURE,
    paper_003::fig7::FIGURE,
    paper_003::steps::FIGURE,
    paper_003::table1::FIGURE,
    paper_003::fig8::FIGURE,
    paper_003::fig9::FIGURE,
    paper_003::shares::TABLE2,
    paper_003::shares::TABLE3,
    paper_003::shares::READINGS,
    paper_003::formulas::CROSSOVERS,
    paper_003::formulas::FORMULAS,
    paper_003::fig11::FIGURE,
    paper_003::fig12::FIGURE,
    paper_003::cell_live::FIGURE,
    paper_003::cell::SIMULATED,
    paper_003::residual::FIGURE,
    paper_003::hops::FIGURE,
    paper_003::shares::UTILITY,
    paper_004::benefits::FIGURE,
];

/// The figures that `names` choose: figures such as `S3.fig5`, papers such as `S3`, all that begin
/// alike such as `S3.fig*`, or `all`.
///
/// Names are not case-sensitive; no names choose all. The order is that of [`FIGURES`].
///
/// # Errors
/// If a name chooses nothing.
pub fn select(names: &[String]) -> Result<Vec<&'static Figure>, Error> {
    let chooses = |name: &str, figure: &Figure| {
        let paper = figure.name.split('.').next().unwrap_or_default();
        let begins = |start: &str| {
            figure.name.get(..start.len()).is_some_and(|own| own.eq_ignore_ascii_case(start))
        };
        name.eq_ignore_ascii_case("all")
            || name.eq_ignore_ascii_case(paper)
            || name.strip_suffix('*').is_some_and(begins)
            || name.eq_ignore_ascii_case(figure.name)
    };
    for name in names {
        if !FIGURES.iter().any(|figure| chooses(name, figure)) {
            let known: Vec<_> = FIGURES.iter().map(|figure| figure.name).collect();
            return Err(Error::NoSuchFigure { name: name.clone(), known: known.join(", ") });
        }
    }
    let chosen =
        |figure: &&Figure| names.is_empty() || names.iter().any(|name| chooses(name, figure));
    Ok(FIGURES.iter().filter(chosen).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_choose_figures_papers_or_all() {
        let names = |chosen: &[&str]| -> Vec<_> {
            let chosen: Vec<_> = chosen.iter().map(ToString::to_string).collect();
            select(&chosen).unwrap().iter().map(|figure| figure.name).collect()
        };
        assert_eq!(names(&["S3.fig5", "s3.FIG3"]), ["S3.fig3", "S3.fig5"]);
        assert_eq!(names(&["S4"]), ["S4.31"]);
        assert_eq!(names(&["S3.*"]), names(&["S3"]));
        assert_eq!(names(&["s3.TABLE*"]), ["S3.table1", "S3.table2", "S3.table3"]);
        assert_eq!(names(&[]), names(&["all"]));
    }

    #[test]
    fn an_unknown_name_is_an_error_that_lists_the_known() {
        let Err(error) = select(&["S9.fig1".to_owned()]) else { panic!("there is no paper S9") };
        let message = error.to_string();
        assert!(message.contains("\"S9.fig1\"") && message.contains("S3.fig5"), "{message}");
    }
}
