use windfall_base::Seed;

use crate::experiment::{Context, Extent, Figure, Finding};
use crate::link::retransmission::{fig1, fig2, fig3, fig4, fig6, fig7, hops, residual};
use crate::link::scheduling::{cell, formulas};

/// The figure in a hurry, without the kernel's TCP.
fn finding(figure: &Figure, seed: u64) -> Finding {
    let extent = Extent::Quick;
    let seed = Seed(seed);
    let context = Context::simulated(extent, seed);
    figure.run(&context).unwrap()
}

//= S3.6
//= S3.7
//= S3.8
//= S3.9
//= S3.13
//= S3.14
//= S3.15
#[test]
fn the_old_tcp_does_in_simulated_time_what_the_paper_saw() {
    let figures =
        [fig1::FIGURE, fig2::FIGURE, fig3::FIGURE, fig4::FIGURE, fig6::FIGURE, fig7::FIGURE];
    for figure in figures {
        let finding = finding(&figure, 1);
        assert!(finding.is_as_recorded(), "{}", finding.claims_table().to_text());
        assert!(finding.claims.len() > 1, "{} claims nothing", finding.figure);
    }
}

#[test]
fn a_transfer_repeats_itself_from_its_seed() {
    let seeds = [1, 1, 2].map(|seed| finding(&fig2::FIGURE, seed).files());
    assert_eq!(seeds[0], seeds[1]);
    assert_ne!(seeds[0], seeds[2]);
}

//= S3.30
//= S3.31
//= S3.32
//= S3.33
//= S3.34
//= S3.36
//= S3.41
//= S3.42
//= S3.43
//= S3.50
//= S3.51
#[test]
fn errors_are_paid_for_and_repaired_where_the_paper_says() {
    let scheduling = [formulas::CROSSOVERS, formulas::FORMULAS];
    let figures = scheduling.into_iter().chain([cell::SIMULATED, residual::FIGURE, hops::FIGURE]);
    for figure in figures {
        let finding = finding(&figure, 1);
        assert!(finding.is_as_recorded(), "{}", finding.claims_table().to_text());
        assert!(finding.claims.len() > 1, "{} claims nothing", finding.figure);
    }
}
