use super::*;
use crate::experiment::verdict::Verdict;

const fn figure(name: &'static str) -> Figure {
    Figure {
        name,
        title: "a figure",
        basis: Basis::Simulated,
        record: VerdictRecord::exact(Verdict::Reproduced),
        mutation: None,
        run: |_, _| {
            Err(ExperimentError::NoSuchFigure { name: String::new(), known: String::new() })
        },
    }
}

const FIGURES: &[Figure] = &[figure("S3.fig3"), figure("S3.fig5"), figure("S4.31")];

#[test]
fn names_choose_figures_papers_or_all() {
    let names = |chosen: &[&str]| -> Vec<_> {
        let chosen: Vec<_> = chosen.iter().map(ToString::to_string).collect();
        select(FIGURES.iter(), &chosen).unwrap().iter().map(|figure| figure.name).collect()
    };
    assert_eq!(names(&["S3.fig5", "s3.FIG3"]), ["S3.fig3", "S3.fig5"]);
    assert_eq!(names(&["S4"]), ["S4.31"]);
    assert_eq!(names(&["s3.FIG*"]), names(&["S3"]));
    assert_eq!(names(&[]), names(&["all"]));
}

#[test]
fn an_unknown_name_is_an_error_that_lists_the_known() {
    let Err(error) = select(FIGURES.iter(), &["S9.fig1".to_owned()]) else {
        panic!("there is no paper S9")
    };
    let message = error.to_string();
    assert!(message.contains("\"S9.fig1\"") && message.contains("S3.fig5"), "{message}");
}

#[test]
fn replications_have_seeds_of_their_own_and_keep_their_order() {
    let runs = |seed| Context::simulated(Extent::Quick, Seed(seed)).replicate(50, |seed| seed.0);
    let one = runs(1);
    assert_eq!(one, runs(1));
    let mut all = [one, runs(2)].concat();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 100, "seeds next to each other share no run");
}
