use super::*;

/// The totals of a trace, counted from its events alone.
fn measure(trace: &ErrorTrace) -> Totals {
    let bits = u64::from(FRAME_LENGTH) * 8;
    let mut lost = 0_u64;
    let mut truncated = 0_u64;
    let mut corrupted = 0_u64;
    let mut missing = 0_u64;
    let mut inverted_bits = 0_u64;
    for entry in trace.entries() {
        match &entry.fault {
            Fault::Lost => lost += entry.count,
            Fault::Damaged { truncated: Some(bit), inverted } => {
                truncated += 1;
                missing += bits - u64::from(*bit);
                inverted_bits += inverted.len() as u64;
            }
            Fault::Damaged { truncated: None, inverted } => {
                corrupted += 1;
                inverted_bits += inverted.len() as u64;
            }
            Fault::Inverted => unreachable!("the trace counts frames"),
        }
    }
    let arrived = trace.len() - lost;
    let share = |part: u64, of: u64| part as f64 / of as f64;
    Totals {
        loss: share(lost, trace.len()),
        truncation: share(truncated, arrived),
        corruption: share(corrupted, arrived - truncated),
        bit_error_rate: share(inverted_bits, arrived * bits - missing),
    }
}

//= S3.17
#[test]
fn every_environment_matches_its_row_within_ten_per_cent() {
    for environment in Environment::ALL {
        for seed in 1..=5 {
            let got = measure(&environment.synthesize(Seed(seed), ENVIRONMENT_FRAMES));
            let row = environment.totals();
            let near = |got: f64, row: f64| (got - row).abs() <= 0.1 * row + 1e-7;
            assert!(
                near(got.loss, row.loss)
                    && near(got.truncation, row.truncation)
                    && near(got.corruption, row.corruption)
                    && near(got.bit_error_rate, row.bit_error_rate),
                "{environment:?}, seed {seed}: {got:?} instead of {row:?}"
            );
        }
    }
}

//= S3.17
#[test]
fn trivial_means_below_one_per_cent() {
    let trivial = |share: f64| share < 0.01;
    let office = Environment::Office.totals();
    let walking = Environment::Walking.totals();
    assert!(trivial(office.corruption) && trivial(walking.loss) && trivial(walking.truncation));
    assert!(trivial(Environment::Adjacent.totals().corruption));
}

#[test]
fn faults_come_in_spells() {
    let trace = Environment::Walls.synthesize(Seed(1), ENVIRONMENT_FRAMES);
    let damaged = |number| matches!(trace.fault(number), Some(Fault::Damaged { .. }));
    let count = (0..trace.len()).filter(|&n| damaged(n)).count() as f64;
    let follow = (1..trace.len()).filter(|&n| damaged(n - 1) && damaged(n)).count() as f64;
    let share = count / trace.len() as f64;
    // Independent faults would follow one another with the overall share, 0.28.
    assert!(follow / count > 2.0 * share, "{follow} of {count}, share {share}");
}

/// Runs of frames with this fate among those that the column of its share counts, as `(runs,
/// frames with it, frames counted)`.
fn runs(trace: &ErrorTrace, fate: Fate) -> (f64, f64, f64) {
    let fate_of = |number| match trace.fault(number) {
        None => Fate::Intact,
        Some(Fault::Damaged { truncated: Some(_), .. }) => Fate::Truncated,
        Some(Fault::Damaged { .. }) => Fate::Corrupted,
        Some(_) => Fate::Lost,
    };
    // Each spell was laid among the frames that the columns before had left.
    let left = FATES.iter().skip_while(|other| **other != fate);
    let counted: Vec<Fate> = (0..trace.len())
        .map(fate_of)
        .filter(|found| *found == Fate::Intact || left.clone().any(|other| other == found))
        .collect();
    let hits = counted.iter().filter(|found| **found == fate).count();
    let begins = |&i: &usize| counted[i] == fate && (i == 0 || counted[i - 1] != fate);
    let runs = (0..counted.len()).filter(begins).count();
    (runs as f64, hits as f64, counted.len() as f64)
}

//= S3.17
#[test]
fn spells_are_as_long_as_the_arrangement_says() {
    for environment in Environment::ALL {
        let trace = environment.synthesize(Seed(1), ENVIRONMENT_FRAMES);
        for (fate, mean) in FATES.into_iter().zip(environment.arrangement().spells) {
            let (runs, hits, counted) = runs(&trace, fate);
            // Spells begun at random among what is calm; two at one place are one run.
            let spells = hits / mean;
            let calm = counted - hits + 1.0;
            let expected = calm * (1.0 - (1.0 - 1.0 / calm).powf(spells));
            // A geometric length varies as much as it is long.
            let sigma = spells.sqrt();
            assert!(
                (runs - expected).abs() <= 4.0 * sigma + 1.0,
                "{environment}, {fate:?}: {runs} runs, expected {expected:.1} ± {sigma:.1}"
            );
        }
    }
}

//= S3.17
#[test]
fn a_trace_begins_anywhere_in_the_life_of_its_place() {
    let begins_damaged = |seed| {
        let trace = Environment::Table.synthesize(Seed(seed), ENVIRONMENT_FRAMES);
        trace.fault(0).is_some()
    };
    let count = (0..60).filter(|&seed| begins_damaged(seed)).count();
    // Of all frames 94 in a hundred are lost or damaged, so that 57 of 60 are expected.
    assert!(count >= 50, "{count} of 60");
}

//= S3.17
#[test]
fn inverted_bits_come_in_clusters() {
    for environment in [Environment::Walking, Environment::Adjacent, Environment::Walls] {
        let trace = environment.synthesize(Seed(1), ENVIRONMENT_FRAMES);
        let mut near = 0_u32;
        let mut all = 0_u32;
        for entry in trace.entries() {
            let Fault::Damaged { inverted, .. } = &entry.fault else { continue };
            for pair in inverted.windows(2) {
                all += 1;
                near += u32::from(pair[1] - pair[0] <= 3);
            }
        }
        // Inside a cluster every second bit is hit; alone, some tens of bits in 10 200 would seldom
        // lie that near.
        assert!(f64::from(near) > 0.6 * f64::from(all), "{environment}: {near} of {all}");
    }
}

#[test]
fn a_seed_fixes_the_trace_and_another_changes_it() {
    let trace = |seed| Environment::Table.synthesize(Seed(seed), 300);
    assert_eq!(trace(1), trace(1));
    assert_ne!(trace(1), trace(2));
}

#[test]
fn any_length_will_do() {
    for environment in Environment::ALL {
        for frames in [0, 1, 2, 17] {
            assert_eq!(environment.synthesize(Seed(3), frames).len(), u64::from(frames));
        }
    }
}
