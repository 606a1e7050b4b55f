use windfall_base::{Duration, MemoryBudget, Rate, Seed};

use super::*;

/// A circuit of which one block in sixty is damaged, now and then two in a row.
fn bad() -> MeasuredChannel {
    let list: String =
        (0..6_000).map(|at| if [7, 8, 67].contains(&(at % 180)) { "1\n" } else { "0\n" }).collect();
    let budget = &mut MemoryBudget::default();
    MeasuredChannel::read("list", list.as_bytes(), None, budget).expect("a list")
}

fn good() -> MeasuredChannel {
    let budget = &mut MemoryBudget::default();
    MeasuredChannel::read("list", "0\n".repeat(1_000).as_bytes(), None, budget).expect("a list")
}

fn advise(
    channel: &MeasuredChannel,
    needs: &TrafficNeeds,
    class: Option<ApplicationClass>,
    seed: u64,
) -> Result<Advice, TuneError> {
    Advice::of(channel, needs, class, Seed(seed), &mut |_, _| {})
}

fn best(advice: &Advice) -> &Trial {
    &advice.trials[advice.best]
}

//= S1.52
#[test]
fn the_paper_s_table_is_returned_by_class() {
    let choices = ApplicationClass::ALL.map(PaperChoice::of).map(|it| (it.transport, it.rlp));
    assert_eq!(choices, [("tcp", true), ("udp", true), ("udp", true), ("udplite", false)]);
}

//= S1.52
#[test]
fn what_bears_no_loss_gets_rlp_on_a_bad_circuit() {
    for (class, transport) in
        [(ApplicationClass::Batch, "tcp"), (ApplicationClass::Interactive, "udp")]
    {
        let advice = advise(&bad(), &class.needs(), Some(class), 1).expect("trials");
        let best = best(&advice);
        assert!(best.is_enough && best.repeats, "{class:?}: {best:?}");
        assert_eq!((best.lost, best.damaged, advice.transport), (0.0, 0.0, transport));
        let paper = advice.paper.expect("of a class");
        assert_eq!((paper.transport, paper.rlp), (advice.transport, best.repeats));
    }
}

//= S1.52
#[test]
fn a_deadline_that_no_repetition_meets_leaves_the_transparent_circuit() {
    // A repeated frame takes a round trip of more than 0.25 s longer.
    let needs = TrafficNeeds {
        rate: Rate::from_bps(1_600).expect("a rate"),
        size: Some(40),
        deadline: Some(Duration::from_millis(230)),
        loss: 0.1,
        damage: 0.2,
        exact: 12,
    };
    let advice = advise(&bad(), &needs, None, 1).expect("trials");
    let of = |mode: &str| advice.trials.iter().find(|it| it.mode == mode).expect("a trial");
    let lite = of("transparent, PPP Lite");
    let rlp = of("RLP");
    assert_eq!((lite.coverage, rlp.coverage, rlp.lost), (Some(20), None, 0.0));
    assert!(lite.damaged > 0.0 && lite.lost < of("transparent").lost, "{lite:?}");
    assert!(rlp.late > 0.0 && rlp.bit_error_rate == 0.0, "{rlp:?}");
    // What is enough depends on the share that may be lost.
    let bears = |loss| TrafficNeeds { loss, ..needs };
    let share = lite.lost + lite.late;
    let advice = advise(&bad(), &bears(share), None, 1).expect("trials");
    let again = advice.trials.iter().find(|it| it.mode == lite.mode).expect("a trial");
    assert!(again.is_enough, "{again:?}");
    let advice = advise(&bad(), &bears(0.0), None, 1).expect("trials");
    assert!(!best(&advice).is_enough, "{:?}", best(&advice));
    assert!(advice.to_text().contains("nothing is enough"), "{}", advice.to_text());
}

#[test]
fn a_load_beyond_the_line_is_late_in_every_mode() {
    let rate = Rate::from_bps(20_000).expect("a rate");
    let needs = TrafficNeeds { rate, size: Some(160), ..ApplicationClass::Adaptive.needs() };
    let advice = advise(&good(), &needs, None, 1).expect("trials");
    assert!(advice.trials.iter().all(|it| it.late + it.lost > 0.5 && !it.is_enough));
}

#[test]
fn without_errors_nothing_is_lost_and_the_same_seed_gives_the_same_advice() {
    let needs = TrafficNeeds { size: Some(100), ..ApplicationClass::Adaptive.needs() };
    let advice = advise(&good(), &needs, None, 3).expect("trials");
    assert!(advice.trials.iter().all(|it| it.is_enough && it.lost + it.damaged == 0.0));
    assert_eq!(advise(&good(), &needs, None, 3).expect("trials"), advice);
}

#[test]
fn frames_of_a_pipe_are_tried_with_its_own_modes() {
    let text = "{\"format\":\"windfall-error-trace\",\"version\":1,\"rate\":\"1Mbps\"}\n9\nl\n10\n\
                b 400 3\nend 21\n";
    let budget = &mut MemoryBudget::default();
    let channel = MeasuredChannel::read("t", text.as_bytes(), None, budget).expect("a trace");
    let rate = Rate::from_bps(100_000).expect("a rate");
    let needs =
        TrafficNeeds { rate, size: Some(200), loss: 0.01, ..ApplicationClass::Adaptive.needs() };
    let advice = advise(&channel, &needs, None, 1).expect("trials");
    let of = |mode: &str| advice.trials.iter().find(|it| it.mode == mode).expect("a trial");
    assert!((of("no retransmission").lost - 2.0 / 21.0).abs() < 0.01);
    assert!((of("damage passed up").lost - 1.0 / 21.0).abs() < 0.01);
    assert!((of("damage passed up").damaged - 1.0 / 21.0).abs() < 0.01);
    assert_eq!((of("retransmission").lost, of("coded").lost), (0.0, 0.0));
    assert!(best(&advice).repeats);
}

#[test]
fn parity_of_damaged_packets_is_found_where_it_alone_loses_nothing_in_time() {
    // Every frame has a few bit errors, so that no copy of it is whole.
    let mut text =
        "{\"format\":\"windfall-error-trace\",\"version\":1,\"rate\":\"1Mbps\"}\n".to_owned();
    for at in 0..400 {
        text += &format!("b {} {}\n", 300 + at % 7, 800 + at % 11);
    }
    text += "end 400\n";
    let budget = &mut MemoryBudget::default();
    let channel = MeasuredChannel::read("t", text.as_bytes(), None, budget).expect("a trace");
    let rate = Rate::from_bps(50_000).expect("a rate");
    let needs = TrafficNeeds { rate, size: Some(200), ..ApplicationClass::Adaptive.needs() };
    let needs = TrafficNeeds { loss: 0.0, damage: 0.0, ..needs };
    let advice = advise(&channel, &needs, None, 1).expect("trials");
    let best = best(&advice);
    assert!(best.is_enough, "{}", advice.to_text());
    assert!(["increments", "policy"].iter().any(|it| best.options.contains(it)), "{best:?}");
    let of = |mode: &str| advice.trials.iter().find(|it| it.mode == mode).expect("a trial");
    assert!(!of("retransmission").is_enough && of("increments").is_enough, "{}", advice.to_text());
    let mortal = of("increments, lifetime");
    assert!(mortal.options.contains("--flow 'data: lifetime "), "{}", mortal.options);
}

fn pipe(rate: u64) -> MeasuredChannel {
    let text = "{\"format\":\"windfall-error-trace\",\"version\":1}\n1000\nend 1000\n";
    let budget = &mut MemoryBudget::default();
    let mut channel = MeasuredChannel::read("t", text.as_bytes(), None, budget).expect("a trace");
    channel.rate = Rate::from_bps(rate).expect("a rate");
    channel
}

#[test]
fn a_fast_pipe_gets_large_datagrams_and_its_rate_is_told() {
    let rate = Rate::from_bps(500_000).expect("a rate");
    let needs = TrafficNeeds { rate, ..ApplicationClass::Adaptive.needs() };
    let mut told = Vec::new();
    let channel = pipe(10_000_000);
    let seed = Seed(1);
    let advice = Advice::of(&channel, &needs, None, seed, &mut |at, all| told.push((at, all)));
    let advice = advice.expect("trials");
    // 1280 bytes take 1.05 ms, and 40 bytes 0.06 ms; both are nothing beside a second.
    assert_eq!(best(&advice).size, 1_280, "{}", advice.to_text());
    assert_eq!(advice.line_rate_bps, Some(10_000_000));
    let text = advice.to_text();
    assert!(text.contains("a pipe of 10Mbps") && text.contains("pipe --rate 10Mbps"), "{text}");
    let all = 4 * LinkMode::of(TunedLink::Pipe, needs.deadline).len();
    assert_eq!(told, (0..all).map(|at| (at, all)).collect::<Vec<_>>());
    // Where a millisecond matters they are not: 0.2 ms more are borne.
    let needs = TrafficNeeds { deadline: Some(Duration::from_millis(20)), ..needs };
    let advice = advise(&channel, &needs, None, 1).expect("trials");
    assert_eq!(best(&advice).size, 160, "{}", advice.to_text());
}

#[test]
fn sizes_that_fill_after_the_deadline_are_not_tried() {
    let needs = ApplicationClass::Adaptive.needs();
    assert_eq!(sizes(TunedLink::Gsm, &needs).unwrap(), [40, 80, 160, 320]);
    assert_eq!(sizes(TunedLink::Pipe, &needs).unwrap(), [40, 160]);
    let hurried = TrafficNeeds { deadline: Some(Duration::from_millis(1)), ..needs };
    assert_eq!(sizes(TunedLink::Gsm, &hurried).unwrap(), [40]);
    assert_eq!(sizes(TunedLink::Gsm, &TrafficNeeds { size: Some(7), ..hurried }).unwrap(), [7]);
}

#[test]
fn a_rate_beyond_all_links_is_told_in_the_user_s_words() {
    let rate = Rate::from_bps(100_000_000_000).expect("a rate");
    let needs = TrafficNeeds { rate, size: Some(40), ..ApplicationClass::Adaptive.needs() };
    let error = advise(&pipe(2_000_000), &needs, None, 1).expect_err("too fast").to_string();
    assert!(error.starts_with("100Gbps in datagrams of 40 bytes"), "{error}");
}

#[test]
fn datagrams_hold_what_must_be_right_or_the_needs_are_refused() {
    let needs = ApplicationClass::Adaptive.needs();
    let error = advise(&bad(), &TrafficNeeds { exact: 1_000, ..needs }, None, 1).unwrap_err();
    assert!(error.to_string().contains("1000 bytes must be right"), "{error}");
    let advice = advise(&bad(), &TrafficNeeds { exact: 200, ..needs }, None, 1).expect("trials");
    assert!(advice.trials.iter().all(|it| it.size >= 200));
}
