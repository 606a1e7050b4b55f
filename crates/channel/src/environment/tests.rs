use super::*;

/// What a trace holds, counted from its events alone.
fn measure(trace: &ErrorTrace) -> Totals {
    let bits = u64::from(FRAME_LENGTH) * 8;
    let (mut lost, mut truncated, mut corrupted) = (0_u64, 0_u64, 0_u64);
    let (mut missing, mut inverted_bits) = (0_u64, 0_u64);
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
    let (arrived, share) = (trace.len() - lost, |part: u64, of: u64| part as f64 / of as f64);
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
            let got = measure(&environment.synthesize(Seed(seed), FRAMES));
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
    let (office, walking) = (Environment::Office.totals(), Environment::Walking.totals());
    assert!(trivial(office.corruption) && trivial(walking.loss) && trivial(walking.truncation));
    assert!(trivial(Environment::Adjacent.totals().corruption));
}

#[test]
fn faults_come_in_spells() {
    let trace = Environment::Walls.synthesize(Seed(1), FRAMES);
    let damaged = |number| matches!(trace.fault(number), Some(Fault::Damaged { .. }));
    let count = (0..trace.len()).filter(|&n| damaged(n)).count() as f64;
    let follow = (1..trace.len()).filter(|&n| damaged(n - 1) && damaged(n)).count() as f64;
    let share = count / trace.len() as f64;
    // Independent faults would follow one another with the overall share, 0.28.
    assert!(follow / count > 2.0 * share, "{follow} of {count}, share {share}");
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
