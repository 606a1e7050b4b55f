use windfall_base::Duration;

use super::*;

const NONE: Plan = Plan { blocks: 5, level: Level::NONE, whole: false, uncoded: false };
const LIGHT: Plan = Plan { level: Level::LIGHT, ..NONE };
const REQUEST: Request = Request {
    bytes: 1_500,
    packet: 1_200,
    time_left: None,
    is_scarce: false,
    round_trip: Duration::ZERO,
    tries_left: None,
    welcomes_damage: false,
    may_be_uncoded: true,
};

fn rule(when: Sight, at_least: u8, of: u8, to: usize) -> TableRule {
    TableRule { when, at_least, of, to }
}

fn state(plan: Plan, rules: &[TableRule]) -> TableState {
    TableState { plan, last: None, rules: rules.to_vec() }
}

/// Good air without parity, and light parity after a failed frame.
fn two() -> Vec<TableState> {
    let down = [rule(Sight::Slack(2), 3, 3, 0)];
    vec![state(NONE, &[rule(Sight::Failed, 2, 4, 1)]), state(LIGHT, &down)]
}

fn build(states: Vec<TableState>) -> Box<dyn Policy> {
    Arc::new(PolicyTable::new(states).expect("a legal table")).build()
}

fn level(policy: &mut dyn Policy) -> usize {
    policy.plan(&REQUEST).expect("a table always has a frame").level.index()
}

#[test]
fn rules_count_among_the_last_frames_and_begin_anew_in_each_state() {
    let mut policy = build(two());
    let mut tell = |plan, fates: &[Fate]| {
        policy.learn(plan, 1_000, Outcome::Report(fates));
        level(&mut *policy)
    };
    let good = [Fate::Good(0); 5];
    let failed = [Fate::Good(0), Fate::Failed];
    // Two of the last four: not with three good frames between them.
    for (fates, then) in [(&failed[..], 0), (&good, 0), (&good, 0), (&good, 0), (&failed, 0)] {
        assert_eq!(tell(NONE, fates), then);
    }
    assert_eq!(tell(NONE, &failed), 1);
    // Frames under way since the first state say nothing of the second, nor does an empty report.
    for _ in 0..5 {
        assert_eq!(tell(NONE, &good), 1);
        assert_eq!(tell(LIGHT, &[]), 1);
    }
    // Three consecutive frames that needed at most two symbols.
    let slack = [Fate::Good(2), Fate::Good(0)];
    for (fates, then) in [(slack, 1), (slack, 1), ([Fate::Good(3); 2], 1), (slack, 1), (slack, 1)] {
        assert_eq!(tell(LIGHT, &fates), then);
    }
    assert_eq!(tell(LIGHT, &slack), 0);
}

/// Tells of each sight whether a frame with this outcome is seen so.
fn sights(outcome: Outcome<'_>) -> [bool; 7] {
    let all = [
        Sight::Lost,
        Sight::Cut,
        Sight::Failed,
        Sight::Bad,
        Sight::Good,
        Sight::Tight(4),
        Sight::Slack(4),
    ];
    let seen = Seen::of(outcome).expect("it says something");
    all.map(|sight| seen.is(sight))
}

#[test]
fn frames_are_seen_as_they_came() {
    let [t, f] = [true, false];
    assert_eq!(sights(Outcome::Silence), [t, f, f, t, f, f, f]);
    let report = |fates: &[Fate]| sights(Outcome::Report(fates));
    assert_eq!(report(&[Fate::Good(4), Fate::Missing]), [f, t, f, t, f, t, f]);
    assert_eq!(report(&[Fate::Good(9), Fate::Failed]), [f, f, t, t, f, t, f]);
    assert_eq!(report(&[Fate::Combined]), [f, f, t, t, f, t, f]);
    assert_eq!(report(&[Fate::Damaged]), [f, f, t, t, f, t, f]);
    assert_eq!(report(&[Fate::Good(3), Fate::Good(0)]), [f, f, f, f, t, f, t]);
    assert_eq!(report(&[Fate::Good(4)]), [f, f, f, f, t, t, t]);
    assert_eq!(report(&[Fate::Good(5)]), [f, f, f, f, t, t, f]);
    assert!(Seen::of(Outcome::Report(&[])).is_none());
}

#[test]
fn a_packet_that_welcomes_damage_is_learned_from_as_well() {
    let strong = Plan { level: Level::ROBUST, ..NONE };
    let mut policy = build(vec![
        state(strong, &[rule(Sight::Bad, 1, 1, 1)]),
        state(NONE, &[rule(Sight::Good, 1, 1, 0)]),
    ]);
    let weaker = Plan { level: Level::ROBUST.weaker().weaker(), ..NONE };
    policy.learn(weaker, 900, Outcome::Silence);
    assert_eq!(level(&mut *policy), 4);
    policy.plan(&Request { welcomes_damage: true, ..REQUEST });
    policy.learn(weaker, 900, Outcome::Silence);
    assert_eq!(level(&mut *policy), 0);
}

#[test]
fn the_last_attempt_has_the_frames_of_another_state_and_pieces_go_in_blocks() {
    let uncoded = Plan { blocks: 1, uncoded: true, ..NONE };
    let first = TableState { last: Some(1), ..state(uncoded, &[]) };
    let mut policy = build(vec![first, state(LIGHT, &[])]);
    let mut plan = |request| policy.plan(&request);
    assert_eq!(plan(REQUEST), Some(uncoded));
    assert_eq!(plan(Request { may_be_uncoded: false, ..REQUEST }), Some(NONE));
    assert_eq!(plan(Request { tries_left: Some(2), ..REQUEST }), Some(uncoded));
    assert_eq!(plan(Request { tries_left: Some(1), ..REQUEST }), Some(LIGHT));
}

#[test]
fn what_cannot_be_is_refused_with_its_place() {
    let at = |plan, rules: &[TableRule]| {
        vec![state(plan, rules), state(LIGHT, &[rule(Sight::Bad, 1, 1, 0)])]
    };
    let bad = rule(Sight::Bad, 2, 4, 1);
    let cases = [
        (vec![], (0, None, "name")),
        (vec![state(NONE, &[]); MOST_STATES + 1], (MOST_STATES, None, "name")),
        (at(Plan { blocks: 0, ..NONE }, &[bad]), (0, None, "blocks")),
        (at(Plan { blocks: 6, ..NONE }, &[bad]), (0, None, "blocks")),
        (at(Plan { uncoded: true, ..NONE }, &[bad]), (0, None, "blocks")),
        (at(Plan { uncoded: true, blocks: 1, ..LIGHT }, &[bad]), (0, None, "parity")),
        (at(NONE, &[rule(Sight::Bad, 1, 1, 0)]), (0, Some(0), "to")),
        (at(NONE, &[rule(Sight::Bad, 1, 1, 2)]), (0, Some(0), "to")),
        (at(NONE, &[rule(Sight::Bad, 0, 4, 1)]), (0, Some(0), "at-least")),
        // What a file without `of` says.
        (at(NONE, &[rule(Sight::Bad, 0, 0, 1)]), (0, Some(0), "at-least")),
        (at(NONE, &[rule(Sight::Bad, 70, 70, 1)]), (0, Some(0), "at-least")),
        (at(NONE, &[rule(Sight::Bad, 5, 4, 1)]), (0, Some(0), "at-least")),
        (at(NONE, &[rule(Sight::Bad, 1, 0, 1)]), (0, Some(0), "of")),
        (at(NONE, &[rule(Sight::Bad, 1, 65, 1)]), (0, Some(0), "of")),
        (at(NONE, &[rule(Sight::Tight(1), 1, 1, 1)]), (0, Some(0), "symbols")),
        (at(LIGHT, &[rule(Sight::Tight(7), 1, 1, 1)]), (0, Some(0), "symbols")),
        (at(LIGHT, &[rule(Sight::Tight(0), 1, 1, 1)]), (0, Some(0), "symbols")),
        (at(LIGHT, &[rule(Sight::Slack(6), 1, 1, 1)]), (0, Some(0), "symbols")),
        // Three of four bad frames are two of four, and failed ones are bad.
        (at(NONE, &[bad, rule(Sight::Bad, 3, 4, 1)]), (0, Some(1), "when")),
        (at(NONE, &[bad, rule(Sight::Failed, 2, 3, 1)]), (0, Some(1), "when")),
        (at(NONE, &[rule(Sight::Lost, 2, 2, 1); MOST_RULES + 1]), (0, None, "rules")),
        (at(NONE, &[]), (1, None, "name")),
    ];
    for (states, (place, rule, key)) in cases {
        let error = PolicyTable::new(states).expect_err("it is refused");
        assert_eq!((error.state, error.rule, error.key), (place, rule, key), "{error}");
    }
    let everything =
        [rule(Sight::Bad, 1, 2, 1), rule(Sight::Good, 1, 1, 1), rule(Sight::Lost, 3, 9, 1)];
    let error = PolicyTable::new(at(NONE, &everything)).expect_err("nothing is left for it");
    assert_eq!((error.rule, error.key), (Some(2), "when"), "{error}");
    for last in [0, 2] {
        let states = vec![TableState { last: Some(last), ..state(NONE, &[]) }, state(NONE, &[])];
        assert_eq!(PolicyTable::new(states).expect_err("no other state").key, "last");
    }
    // What no earlier rule hides is fine: fewer frames, or another sight.
    let both = [bad, rule(Sight::Bad, 2, 8, 1), rule(Sight::Lost, 1, 4, 1)];
    assert!(PolicyTable::new(at(NONE, &both)).is_ok());
}

#[test]
fn a_refused_rule_says_which_rule_is_in_its_way_or_what_to_write_instead() {
    let problem = |plan, rules: &[TableRule]| {
        let refused = PolicyTable::new(vec![state(plan, rules), state(NONE, &[])]);
        refused.expect_err("it is refused").to_string()
    };
    let whenever = |first: TableRule, other: TableRule| {
        problem(LIGHT, &[first, other]).starts_with("rule 1 of the state holds whenever")
    };
    let bad = |at_least, of| rule(Sight::Bad, at_least, of, 1);
    for sight in [Sight::Lost, Sight::Cut, Sight::Failed] {
        assert!(whenever(bad(3, 4), rule(sight, 3, 4, 1)), "{sight:?}");
    }
    assert!(whenever(rule(Sight::Good, 3, 4, 1), rule(Sight::Slack(2), 3, 4, 1)));
    assert!(whenever(rule(Sight::Tight(3), 3, 4, 1), rule(Sight::Failed, 3, 4, 1)));
    assert!(whenever(rule(Sight::Tight(3), 3, 4, 1), rule(Sight::Tight(4), 3, 4, 1)));
    // Of five among nine some two are as close as three.
    assert!(whenever(bad(2, 3), bad(5, 9)));
    for sight in [Sight::Tight(1), Sight::Slack(0)] {
        let problem = problem(NONE, &[rule(sight, 1, 1, 1)]);
        assert_eq!(problem, "without parity no symbol is corrected: use failed or good");
    }
}

#[test]
fn rules_that_are_never_taken_are_refused() {
    let refused = |rules: &[TableRule]| {
        let error = PolicyTable::new(vec![state(LIGHT, rules), state(NONE, &[])]).err()?;
        assert_eq!((error.state, error.key), (0, "when"), "{error}");
        error.rule
    };
    let lost = |at_least, of| rule(Sight::Lost, at_least, of, 1);
    let bad = |at_least, of| rule(Sight::Bad, at_least, of, 1);
    let good = |at_least, of| rule(Sight::Good, at_least, of, 1);
    for (rules, which) in [
        // A rule that needs one frame is satisfied after it, whatever the order of the rules.
        (vec![bad(1, 1), lost(2, 4)], Some(1)),
        (vec![bad(3, 3), bad(1, 1)], Some(0)),
        (vec![bad(3, 3), lost(1, 1)], None),
        (vec![bad(1, 1), bad(3, 3)], Some(1)),
        // Two of three bad frames come before three of four do, but two of nine need not.
        (vec![bad(3, 4), bad(2, 3)], Some(0)),
        (vec![bad(3, 9), bad(2, 3)], None),
        (vec![bad(3, 9), bad(2, 9)], Some(0)),
        // Of five among nine some two are as close as three.
        (vec![bad(2, 3), bad(5, 9)], Some(1)),
        (vec![bad(2, 2), bad(5, 9)], None),
        // Both rules are satisfied by the same frame, and the first one is taken.
        (vec![bad(2, 4), bad(2, 5)], None),
        (vec![bad(2, 5), bad(2, 4)], Some(1)),
        // Some together leave nothing.
        (
            vec![lost(1, 1), rule(Sight::Cut, 1, 1, 1), rule(Sight::Failed, 1, 1, 1), bad(1, 1)],
            Some(3),
        ),
        (
            vec![lost(1, 1), rule(Sight::Cut, 1, 1, 1), bad(2, 9), rule(Sight::Tight(2), 1, 1, 1)],
            Some(2),
        ),
        (vec![lost(1, 1), rule(Sight::Cut, 1, 1, 1), bad(1, 1)], None),
        (vec![rule(Sight::Tight(3), 1, 1, 1), rule(Sight::Slack(2), 1, 1, 1), good(4, 9)], Some(2)),
        (vec![rule(Sight::Tight(4), 1, 1, 1), rule(Sight::Slack(2), 1, 1, 1), good(4, 9)], None),
        // Of five frames three are good, or three are bad; of 39 twenty.
        (vec![good(3, 5), bad(3, 5), lost(4, 10)], Some(2)),
        (vec![good(3, 5), lost(4, 10), bad(3, 5)], Some(1)),
        (vec![good(3, 5), bad(4, 5), lost(4, 10)], None),
        (vec![good(3, 5), lost(4, 10), bad(4, 5)], None),
        (vec![good(3, 4), bad(3, 5), lost(4, 10)], Some(2)),
        (vec![good(20, 39), bad(20, 39), lost(20, 64)], Some(2)),
        (vec![good(20, 39), lost(20, 64), bad(20, 39)], None),
        (vec![good(20, 39), bad(21, 39), lost(30, 64)], None),
        // Good and failed in turn, and none of them stays.
        (vec![good(2, 2), bad(2, 2), good(3, 9)], None),
        (vec![good(2, 2), bad(2, 2), good(2, 3), bad(4, 9)], Some(3)),
        // Three that leave nothing, each alone much.
        (
            vec![lost(2, 6), rule(Sight::Cut, 2, 6, 1), rule(Sight::Failed, 2, 6, 1), bad(4, 6)],
            Some(3),
        ),
        (vec![lost(2, 6), rule(Sight::Cut, 2, 6, 1), bad(3, 6)], None),
    ] {
        assert_eq!(refused(&rules), which, "{rules:?}");
    }
    // The state of last attempts is never left.
    let ends = |last: TableState| {
        let first = TableState { last: Some(1), ..state(NONE, &[bad(2, 2)]) };
        let first = TableState { rules: vec![rule(Sight::Bad, 2, 2, 2)], ..first };
        PolicyTable::new(vec![first, last, state(NONE, &[])]).err().map(|it| (it.state, it.key))
    };
    assert_eq!(ends(state(LIGHT, &[])), None);
    assert_eq!(ends(state(LIGHT, &[rule(Sight::Bad, 2, 2, 2)])), Some((1, "when")));
    assert_eq!(ends(TableState { last: Some(2), ..state(LIGHT, &[]) }), Some((1, "last")));
}

/// Tells which of the rules, each of which leads to a state of its own, some frames take: all
/// sequences of `steps` of `frames`, one by one. A table that is refused says so by its rule.
fn taken(
    rules: &[TableRule],
    frames: &[Outcome<'static>],
    steps: u32,
) -> (Option<usize>, Vec<bool>) {
    let rules: Vec<_> = (1..).zip(rules).map(|(to, rule)| TableRule { to, ..*rule }).collect();
    let others = (0..rules.len()).map(|_| state(NONE, &[]));
    let states: Vec<_> = core::iter::once(state(LIGHT, &rules)).chain(others).collect();
    let fault = PolicyTable::new(states.clone()).err().and_then(|error| error.rule);
    let table = Arc::new(PolicyTable { states });
    let mut is_taken = vec![false; rules.len()];
    for code in 0..frames.len().pow(steps) {
        let mut at_work =
            Tabled { table: table.clone(), now: 0, softens: false, seen: VecDeque::new() };
        for step in 0..steps {
            at_work.learn(LIGHT, 1_000, frames[code / frames.len().pow(step) % frames.len()]);
            if at_work.now > 0 {
                is_taken[at_work.now - 1] = true;
                break;
            }
        }
    }
    (fault, is_taken)
}

/// The frames of [`taken`].
const FRAMES: [Outcome<'static>; 5] = [
    Outcome::Silence,
    Outcome::Report(&[Fate::Failed]),
    Outcome::Report(&[Fate::Good(0)]),
    Outcome::Report(&[Fate::Good(3)]),
    Outcome::Report(&[Fate::Missing]),
];

/// No outcomes of frames lead by rules that are refused: all short sequences, one by one.
#[test]
fn no_sequence_of_frames_takes_a_rule_that_is_refused() {
    let sights = [Sight::Bad, Sight::Good, Sight::Failed, Sight::Lost, Sight::Tight(2)];
    let rules: Vec<TableRule> = sights
        .into_iter()
        .flat_map(|sight| [(1, 1), (2, 2), (2, 4), (3, 4)].map(|(n, of)| rule(sight, n, of, 1)))
        .collect();
    let mut refused = 0;
    let mut accepted = 0;
    for pair in rules.iter().flat_map(|a| rules.iter().map(move |b| [*a, *b])) {
        let (fault, is_taken) = taken(&pair, &FRAMES, 5);
        match fault {
            Some(which) => assert!(!is_taken[which], "{pair:?}"),
            None => assert_eq!(is_taken, [true; 2], "{pair:?}"),
        }
        refused += usize::from(fault.is_some());
        accepted += usize::from(fault.is_none());
    }
    assert!(refused > 40 && accepted > 200, "{refused} {accepted}");
}

/// Tables of three rules, of which two together may keep the third from ever being taken.
#[test]
fn no_sequence_of_frames_takes_a_rule_that_two_others_keep_from_it() {
    let rules: Vec<TableRule> = [Sight::Bad, Sight::Good, Sight::Lost]
        .into_iter()
        .flat_map(|sight| [(2, 2), (2, 3), (3, 5)].map(|(n, of)| rule(sight, n, of, 1)))
        .collect();
    let mut refused = 0;
    let mut together = 0;
    for code in 0..rules.len().pow(3) {
        let three = [1, 9, 81].map(|of| rules[code / of % rules.len()]);
        let (fault, is_taken) = taken(&three, &FRAMES[..3], 7);
        let Some(which) = fault else {
            assert_eq!(is_taken, [true; 3], "{three:?}");
            continue;
        };
        assert!(!is_taken[which], "{three:?}");
        refused += 1;
        // Beside only one of the other rules, it can be satisfied.
        let others = [0, 1, 2].into_iter().filter(|other| *other != which);
        let is_fine = |other: usize| {
            let pair = [three[which.min(other)], three[which.max(other)]];
            taken(&pair, &FRAMES[..3], 7).1[usize::from(which > other)]
        };
        together += usize::from(others.into_iter().all(is_fine));
    }
    assert!(refused > 200 && together > 20, "{refused} {together}");
}
