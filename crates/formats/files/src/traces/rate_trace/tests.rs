use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn millis(n: u64) -> Instant {
    Instant::from_nanos(n * 1_000_000)
}

fn steps(list: &[(u64, u64)]) -> RateTrace {
    let steps = list.iter().map(|&(mbps, ms)| (Rate::from_mbps(mbps), Duration::from_millis(ms)));
    RateTrace::from_steps(steps).expect("a trace")
}

#[test]
fn rates_are_integrated_across_the_wrap() {
    let mut line = TracePosition::new(steps(&[(8, 1000), (0, 1000)]));
    // 1 MB takes one second at 8 Mb/s; the line is down in each second second.
    assert_eq!(line.finish(Instant::START, false, 1_000_000), millis(1000));
    assert_eq!(line.finish(millis(500), false, 1_000_000), millis(2500));
    assert_eq!(line.finish(millis(1200), false, 3_000_000), millis(7000));
}

#[test]
fn an_opportunity_carries_1500_bytes() {
    let mut line = TracePosition::new(RateTrace::from_mahimahi("1\n1\n5\n").expect("a trace"));
    // 2000 bytes take the first opportunity and a third of the second, both at 1 ms.
    assert_eq!(line.finish(Instant::START, false, 2000), millis(1));
    // What follows without a gap shares the opportunity; then comes that of 5 ms.
    assert_eq!(line.finish(millis(1), true, 1000), millis(1));
    assert_eq!(line.finish(millis(1), true, 100), millis(5));
    // The rest of it is lost when nothing waits; the trace repeats after 5 ms: 6, 6, 10.
    assert_eq!(line.finish(Instant::from_nanos(5_000_001), false, 3000), millis(6));
    assert_eq!(line.finish(millis(9), false, 4501), millis(15));
    assert_eq!(line.finish(millis(15), true, 1499), millis(15));
    assert_eq!(line.finish(millis(15), true, 1), millis(16));
}

#[test]
fn what_is_left_of_an_opportunity_is_for_what_follows_at_once_alone() {
    let first = || {
        let mut line = TracePosition::new(RateTrace::from_mahimahi("1\n1\n5\n").expect("a trace"));
        assert_eq!(line.finish(Instant::START, false, 100), millis(1));
        line
    };
    assert_eq!(first().finish(millis(1), true, 1_400), millis(1));
    // At the same moment, but after nothing had waited; and in the same run, but later.
    assert_eq!(first().finish(millis(1), false, 100), millis(5));
    assert_eq!(first().finish(millis(3), true, 100), millis(5));
}

#[test]
fn mahimahi_traces_are_read_strictly() {
    let trace = RateTrace::from_mahimahi("0\n3\n3\n10\n").expect("a trace");
    assert_eq!(trace.period(), Duration::from_millis(10));
    assert!((trace.mean_bps() - 4.8e6).abs() < 1e-6);
    let cases = [
        ("", "no lines"),
        ("0\n0\n", "above 0 ms"),
        ("1\n\n2\n", "line 2: \"\" is empty"),
        ("5\n4\n", "line 2: \"4\" is before the line above"),
        ("1\n2.5\n", "line 2: \"2.5\" is not a whole number"),
        ("+1\n", "line 1: \"+1\" is not a whole number"),
        ("99999999999999999999\n", "line 1"),
    ];
    for (text, message) in cases {
        let error = RateTrace::from_mahimahi(text).expect_err("it is wrong").to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn netem_trace_is_read_in_all_its_spellings() {
    let expected = steps(&[(12, 1000), (24, 1000)]);
    let texts = [
        r#"{"RepeatedBwPatternConfig":{"pattern":[
            {"StaticBwConfig":{"bw":{"gbps":0,"bps":12000000},"duration":{"secs":1,"nanos":0}}},
            {"StaticBwConfig":{"bw":"24Mbps","duration":"500ms 500ms"}}],"count":0}}"#,
        r#"{"TraceBwConfig":[[1000.0,[12.0,24.0]]]}"#,
        r#"{"TraceBwConfig":[["1s",["12Mbps","24000kbps"]]]}"#,
        "[[RepeatedBwPatternConfig.pattern]]\n\
         StaticBwConfig = { bw = \"12Mbps\", duration = \"1s\" }\n\
         [[RepeatedBwPatternConfig.pattern]]\n\
         StaticBwConfig = { bw = \"24Mbps\" }\n",
    ];
    for text in texts {
        assert_eq!(text.parse(), Ok(expected.clone()), "{text}");
    }
    for bw in [r#"{"gbps":1,"bps":500000000}"#, r#""1Gbps 500Mbps""#, r#""0.0015Tbps""#, "1500.0"] {
        let text = format!(r#"{{"StaticBwConfig":{{"bw":{bw},"duration":"1s"}}}}"#);
        assert_eq!(text.parse(), Ok(steps(&[(1_500, 1_000)])), "{text}");
    }
    let twice = r#"{"RepeatedBwPatternConfig":{"count":1,"pattern":[{"RepeatedBwPatternConfig":
        {"count":2,"pattern":[{"StaticBwConfig":{"bw":"1Mbps","duration":"1ms"}}]}}]}}"#;
    assert_eq!(twice.parse(), Ok(steps(&[(1, 1), (1, 1)])));
}

#[test]
fn a_sawtooth_and_a_normal_distribution() {
    let text = r#"{"SawtoothBwConfig":{"bottom":"12Mbps","top":"16Mbps","duration":"1s",
        "step":"100ms","interval":"500ms","duty_ratio":0.8}}"#;
    let round = [(12, 100), (13, 100), (14, 100), (15, 100), (16, 100)];
    assert_eq!(text.parse(), Ok(steps(&[round, round].concat())));
    let text = r#"{"NormalizedBwConfig":{"mean":"12Mbps","std_dev":"1Mbps","duration":"10s"}}"#;
    let trace: RateTrace = text.parse().expect("a trace");
    // 10 000 draws of 1 Mb/s deviation: the mean is within 4.5 × 10 kb/s.
    assert!((trace.mean_bps() - 12e6).abs() < 45e3, "{}", trace.mean_bps());
}

#[test]
fn a_pattern_of_rates_is_read_in_the_form_of_today_and_in_that_before() {
    let today = r#"{"TraceBwConfig":{"pattern":
        [["25ms",["1.23Mbps","2.46 Mbps"]],["1s",["0bps"]]]}}"#;
    let before = r#"{"TraceBwConfig":[[25,[1.23,2.46]],[1000,[0]]]}"#;
    let toml = "[TraceBwConfig]\npattern = [[\"25ms\", [\"1Mbps 230kbps\", \"2.46Mbps\"]], \
                [\"1s\", [\"0bps\"]]]\n";
    let traces = [today, before, toml].map(|text| text.parse::<RateTrace>().expect(text));
    assert_eq!(traces[0], traces[1]);
    assert_eq!(traces[0], traces[2]);
    assert_eq!(traces[0].period(), Duration::from_millis(1_050));
    let wrong = r#"{"TraceBwConfig":{"patern":[]}}"#.parse::<RateTrace>().expect_err("a slip");
    assert!(wrong.to_string().contains("pattern"), "{wrong}");
}

#[test]
fn a_compressed_trace_is_read() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    std::io::Write::write_all(&mut encoder, b"2\n2\n5\n").expect("memory takes it");
    let bytes = encoder.finish().expect("memory takes it");
    let budget = &mut windfall_base::MemoryBudget::default();
    let trace = RateTrace::from_bytes_within(&bytes, budget).expect("a trace");
    assert_eq!(Ok(trace), "2\n2\n5\n".parse());
    let half = &bytes[..bytes.len() - 9];
    let cut = RateTrace::from_bytes_within(half, budget).expect_err("it is cut");
    assert!(cut.to_string().contains("the compressed file is damaged"), "{cut}");
}

#[test]
fn wrong_netem_traces_are_refused_with_the_place() {
    let forever = r#"{"RepeatedBwPatternConfig":{"pattern":[{"RepeatedBwPatternConfig":
        {"pattern":[],"count":0}}],"count":2}}"#;
    let endless = r#"{"RepeatedBwPatternConfig":{"pattern":[{"StaticBwConfig":{}}],
        "count":18446744073709551615}}"#;
    let cases = [
        (r#"{"StaticDelayConfig":{}}"#, "unknown variant `StaticDelayConfig`"),
        (r#"{"StaticBwConfig":{"bw":"12MB"}}"#, "\"12MB\" is no bandwidth"),
        (r#"{"StaticBwConfig":{"bw":"0bps","duration":"0s"}}"#, "no step that lasts"),
        (r#"{"RepeatedBwPatternConfig":{"pattern":[],"count":3}}"#, "no step that lasts"),
        (r#"{"StaticBwConfig":{"rate":1}}"#, "unknown field `rate`"),
        ("[StaticBwConfig]\nbw = -1\n", "line 2"),
        (r#"{"StaticBwConfig":{"bw":1e308}}"#, "1e308 Mb/s is no bandwidth"),
        (
            r#"{"NormalizedBwConfig":{"lower_bound":"9Mbps","upper_bound":"2Mbps"}}"#,
            "the lower_bound, 9000000 bps, lies above the upper_bound, 2000000 bps",
        ),
        (r#"{"NormalizedBwConfig":{"step":"0ms"}}"#, "a step of 0s"),
        (r#"{"SawtoothBwConfig":{"duty_ratio":1.5}}"#, "12000000 bps, 1.5 and 1 s"),
        (forever, "outermost"),
        (endless, "steps"),
        ("hello", "not a rate trace"),
        ("\u{7f}ELF\u{0}\u{1}=\u{fffd}", "not a rate trace"),
        ("some text\nwith = a sign", "not a rate trace"),
    ];
    for (text, message) in cases {
        let error = text.parse::<RateTrace>().expect_err("it is wrong").to_string();
        assert!(error.contains(message) && !error.contains('\n'), "{error}");
    }
}

#[test]
fn a_rate_in_bytes_is_refused_with_the_rate_in_bits() {
    let cases = [
        ("1MB/s", "8Mbps"),
        ("1MBps", "8Mbps"),
        ("8kB/s", "64kbps"),
        ("1KBps", "8kbps"),
        ("1B/s", "8bps"),
        ("0.5 TB/s", "4000Gbps"),
        ("2Mbps 500kBps", "4000kbps"),
    ];
    for (bw, bits) in cases {
        let text = format!(r#"{{"StaticBwConfig":{{"bw":"{bw}","duration":"1s"}}}}"#);
        let error = text.parse::<RateTrace>().expect_err(bw).to_string();
        let fix = format!("a capital B is for bytes, and rates are in bits: write {bits}");
        assert!(error.contains(&fix), "{error}");
    }
    for bw in ["1Mb/s", "1MBIT/s", "1mbit", "1Mbit/s"] {
        let text = format!(r#"{{"StaticBwConfig":{{"bw":"{bw}","duration":"1s"}}}}"#);
        assert_eq!(text.parse(), Ok(steps(&[(1, 1_000)])), "{bw}");
    }
}

#[test]
fn a_trace_of_rate_0_is_a_pause_without_an_end() {
    for text in [
        r#"{"StaticBwConfig":{"bw":"0bps"}}"#,
        r#"{"RepeatedBwPatternConfig":{"pattern":[{"StaticBwConfig":{"bw":"0bps"}}],"count":0}}"#,
        "[TraceBwConfig]\npattern = [[\"10ms\", [\"0bps\", \"0bps\"]]]\n",
        // It rounds to nothing.
        r#"{"StaticBwConfig":{"bw":"0.4bps"}}"#,
    ] {
        let trace: RateTrace = text.parse().expect(text);
        assert!(trace.is_paused() && trace.mean_bps() == 0.0, "{text}");
        let mut place = TracePosition::new(trace.clone());
        let began = Instant::START + Duration::from_millis(1_234);
        let never = Instant::from_nanos(u64::MAX);
        assert_eq!(place.finish(began, true, 0), began);
        assert_eq!(place.finish(began, true, 1), never);
        assert_eq!(place.finish(never, false, 1_500), never);
        assert_eq!(place.finish_rest(began, 7), never);
        assert_eq!(place.work_until(began, never), 0);
        let error = trace.to_mahimahi(Duration::from_secs(9)).expect_err("nothing passes");
        assert!(error.to_string().contains("a pause without an end"), "{error}");
    }
    let steps = [(None, Duration::from_secs(1)), (Rate::from_bps(1), Duration::from_nanos(1))];
    assert!(!RateTrace::from_steps(steps).expect("a trace").is_paused());
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(text in ".{0,80}", digits in "[0-9\n]{0,40}") {
        let _ = text.parse::<RateTrace>();
        let _ = digits.parse::<RateTrace>();
    }

    /// Bits pass in order, none is lost, and a whole period carries what the trace says.
    #[test]
    fn steps_agree_with_a_slow_integral(
        list in vec((0_u64..20, 1_u64..9), 1..6), start in 0_u64..100, bytes in 1_usize..9000,
    ) {
        prop_assume!(list.iter().any(|&(mbps, _)| mbps > 0));
        let ended = TracePosition::new(steps(&list)).finish(millis(start), false, bytes);
        let per_ms: Vec<u64> =
            list.iter().flat_map(|&(mbps, ms)| vec![mbps * 1000; ms as usize]).collect();
        let mut bits = bytes as u64 * 8;
        let mut at = start;
        while per_ms[at as usize % per_ms.len()] < bits {
            bits -= per_ms[at as usize % per_ms.len()];
            at += 1;
        }
        let rate = per_ms[at as usize % per_ms.len()];
        let rest = (bits * 1_000_000).div_ceil(rate);
        prop_assert_eq!(ended, Instant::from_nanos(at * 1_000_000 + rest));
    }

    /// mahimahi's own loop: opportunities one by one, each for 1500 bytes of what waits.
    #[test]
    fn opportunities_agree_with_mahimahis_loop(
        gaps in vec(0_u64..4, 1..8), frames in vec((0_u64..7, 1_usize..4000), 1..20),
    ) {
        let mut times: Vec<u64> = gaps.iter().scan(0, |t, gap| { *t += gap; Some(*t) }).collect();
        let last = times.last_mut().expect("one at least");
        *last += 1;
        let text: String = times.iter().map(|t| format!("{t}\n")).collect();
        let mut line = TracePosition::new(RateTrace::from_mahimahi(&text).expect("a trace"));
        let mut arrivals = Vec::new();
        let mut at = 0;
        let mut free = None;
        let mut ends = Vec::new();
        for &(gap, bytes) in &frames {
            at += gap;
            arrivals.push((at, bytes));
            // Half a millisecond off the grid, so that no arrival meets an opportunity.
            let arrival = Instant::from_nanos(at * 1_000_000 + 500_000);
            let began = free.map_or(arrival, |free: Instant| free.max(arrival));
            let ended = line.finish(began, free == Some(began), bytes);
            free = Some(ended);
            ends.push(ended.as_micros() / 1000);
        }
        let mut expected = Vec::new();
        let mut base = 0;
        let mut next = 0;
        let mut waiting = 0;
        let mut left = arrivals[0].1;
        while expected.len() < arrivals.len() {
            let now = base + times[next];
            let mut room = OPPORTUNITY;
            while room > 0 && waiting < arrivals.len() && arrivals[waiting].0 < now {
                let used = room.min(left);
                room -= used;
                left -= used;
                if left == 0 {
                    expected.push(now);
                    waiting += 1;
                    left = arrivals.get(waiting).map_or(0, |arrival| arrival.1);
                }
            }
            next += 1;
            if next == times.len() {
                (next, base) = (0, now);
            }
        }
        prop_assert_eq!(ends, expected);
    }
}

/// The rates of a trace, in Mb/s.
fn rates(text: &str) -> Vec<f64> {
    let trace: RateTrace = text.parse().expect("a trace");
    match &*trace.kind {
        Kind::Steps(steps) => steps.rates.iter().map(|bps| *bps as f64 / 1e6).collect(),
        Kind::Opportunities(_) => panic!("it has steps"),
    }
}

fn sawtooth(more: &str) -> String {
    let wave = r#""bottom":"2Mbps","top":"10Mbps","duration":"2s","step":"250ms","interval":"1s""#;
    format!(r#"{{"SawtoothBwConfig":{{{wave}{more}}}}}"#)
}

#[test]
fn a_sawtooth_rises_to_its_turn_and_falls_to_its_end() {
    assert_eq!(rates(&sawtooth("")), [2.0, 6.0, 10.0, 6.0, 2.0, 6.0, 10.0, 6.0]);
    let late = [2.0, 14.0 / 3.0, 22.0 / 3.0, 10.0].repeat(2);
    let found = rates(&sawtooth(r#","duty_ratio":0.75"#));
    assert!(found.iter().zip(late).all(|(found, rate)| (found - rate).abs() < 1e-5), "{found:?}");
    assert_eq!(rates(&sawtooth(r#","duty_ratio":0.0"#))[..4], [10.0, 8.0, 6.0, 4.0]);
    // A step that does not divide the interval runs on into the next.
    let uneven = r#"{"SawtoothBwConfig":{"bottom":"0Mbps","top":"10Mbps","duration":"2s",
        "step":"400ms","interval":"1s","duty_ratio":1.0}}"#;
    assert_eq!(rates(uneven), [0.0, 4.0, 8.0, 2.0, 6.0]);
}

#[test]
fn the_noise_of_a_sawtooth_stays_within_its_bounds() {
    let quiet = rates(&sawtooth(""));
    let noisy = |bounds: &str| {
        let text = sawtooth(&format!(r#","std_dev":"1Mbps"{bounds}"#));
        let rates = rates(&text);
        rates.iter().zip(&quiet).map(|(noisy, quiet)| noisy - quiet).collect::<Vec<f64>>()
    };
    let free = noisy("");
    assert!(free.iter().any(|by| *by > 0.1) && free.iter().any(|by| *by < -0.1), "{free:?}");
    let bound = noisy(r#","lower_noise_bound":"0.1Mbps","upper_noise_bound":"0.2Mbps""#);
    for (free, bound) in free.iter().zip(&bound) {
        assert!((free.clamp(-0.1, 0.2) - bound).abs() < 1e-5, "{free} {bound}");
    }
}

#[test]
fn a_sawtooth_that_is_none_is_refused() {
    for wrong in [
        r#"{"bottom":"3Mbps","top":"2Mbps"}"#,
        r#"{"duty_ratio":1.5}"#,
        r#"{"duty_ratio":-0.5}"#,
        r#"{"interval":"0ms"}"#,
    ] {
        let text = format!(r#"{{"SawtoothBwConfig":{wrong}}}"#);
        let error = text.parse::<RateTrace>().expect_err("it is wrong").to_string();
        assert!(error.contains("a sawtooth needs bottom <= top"), "{error}");
    }
    // A flat one is one.
    assert_eq!(
        rates(r#"{"SawtoothBwConfig":{"bottom":"2Mbps","top":"2Mbps","duration":"2ms"}}"#),
        [2.0, 2.0]
    );
}

#[test]
fn normal_rates_have_the_deviation_that_is_asked_for() {
    let text = r#"{"NormalizedBwConfig":{"mean":"12Mbps","std_dev":"1Mbps","duration":"10s"}}"#;
    let rates = rates(text);
    let square = rates.iter().map(|rate| (rate - 12.0).powi(2)).sum::<f64>() / 1e4;
    // The variance of 10 000 values is known to 1.4 %; four times that.
    assert!((square - 1.0).abs() < 0.06, "{square}");
    let within = r#"{"NormalizedBwConfig":{"mean":"12Mbps","std_dev":"1Mbps","duration":"1s",
        "lower_bound":"11.5Mbps","upper_bound":"12.5Mbps"}}"#;
    assert!(self::rates(within).iter().all(|rate| (11.5..=12.5).contains(rate)));
}

#[test]
fn a_trace_from_bytes_keeps_to_its_budget() {
    use windfall_base::MemoryBudget;
    let read = |text: &str, limit| {
        let mut budget = MemoryBudget::new(limit);
        RateTrace::from_bytes_within(text.as_bytes(), &mut budget).map(|_| limit - budget.left())
    };
    // Eight bytes for each line, and three numbers of 8, 8 and 16 bytes for each step.
    let lines = (1..=1_000).map(|n| format!("{n}\n")).collect::<String>();
    let kept = read(&lines, 1_000_000).expect("it is a trace");
    assert!((8_000..=16_384).contains(&kept), "{kept}");
    let tree = r#"{"TraceBwConfig":[[1.0,[1.0,2.0,3.0,4.0]]]}"#;
    let kept = read(tree, 1_000_000).expect("it is a trace");
    assert!((4 * 32..=8 * 32).contains(&kept), "{kept}");
    // What reading takes is checked before: ten times the text of lines, 32 times that of others.
    assert!(read(&lines, lines.len() * 10).is_ok());
    assert!(read(&lines, lines.len() * 10 - 1).is_err());
    assert!(read(tree, tree.len() * 32).is_ok());
    assert!(read(tree, tree.len() * 32 - 1).is_err());
    assert!(read("\u{0}", 1_000).is_err());
}

#[test]
fn an_error_trace_is_told_where_it_belongs() {
    let text = "{\"format\":\"windfall-error-trace\",\"version\":1}\nend 0\n";
    let error = text.parse::<RateTrace>().expect_err("no rates").to_string();
    assert!(error.contains("this is an error trace: give it by --error-trace"), "{error}");
}

#[test]
fn a_scenario_is_told_what_it_is_and_other_tables_what_is_wanted() {
    let scenario = "format = 1\n\n[[station]]\nname = \"near\"\n";
    let cases = [(scenario, "this is a scenario"), ("a = 1\nb = 2\n", "one table, such as [Trace")];
    for (text, message) in cases {
        let error = text.parse::<RateTrace>().expect_err("no trace").to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn what_begins_like_toml_is_read_as_toml() {
    for text in ["key = 5", "a_b-c.\"d\" = [1]", "Key=1"] {
        let error = text.parse::<RateTrace>().expect_err("no trace").to_string();
        assert!(!error.contains("this is not a rate trace"), "{error}");
    }
    for text in ["hello", "what is = this", "= 5", "x y"] {
        let error = text.parse::<RateTrace>().expect_err("no trace").to_string();
        assert!(error.contains("this is not a rate trace"), "{text}: {error}");
    }
}

#[test]
fn what_is_written_for_mahimahi_lets_the_same_pass() {
    // 12 Mb/s is an opportunity in each millisecond.
    let rate = |mbps: u64| Rate::from_bps(mbps * 1_000_000);
    let millis = Duration::from_millis;
    let steps = [(rate(12), millis(4)), (None, millis(3)), (rate(24), millis(3))];
    let trace = RateTrace::from_steps(steps).expect("a trace");
    let text = trace.to_mahimahi(millis(10)).expect("opportunities");
    assert_eq!(text, "1\n2\n3\n4\n8\n8\n9\n9\n10\n10\n");
    let again: RateTrace = text.parse().expect("mahimahi's format");
    assert_eq!(again.period(), trace.period());
    assert!((again.mean_bps() - trace.mean_bps()).abs() < 1.0);
    assert_eq!(again.to_mahimahi(millis(10)).expect("opportunities"), text);
    let error = trace.to_mahimahi(Duration::from_micros(10)).expect_err("nothing passes");
    assert!(error.to_string().contains("a longer part"), "{error}");
}

#[test]
fn a_trace_that_is_used_once_is_over_after_its_last_moment() {
    let repeating: RateTrace = "1\n4\n".parse().expect("a trace");
    let once = repeating.clone().once();
    let at = |millis| Instant::START + Duration::from_millis(millis);
    assert_eq!([4, 5].map(|it| repeating.is_over(at(it))), [false, false]);
    assert_eq!([4, 5].map(|it| once.is_over(at(it))), [false, true]);
    assert_ne!(repeating, once);
}

#[test]
fn the_mark_of_the_byte_order_is_no_part_of_a_trace() {
    for text in
        [r#"{"StaticBwConfig":{"bw":"12Mbps","duration":"1s"}}"#, "1\n2\n", "[StaticBwConfig]\n"]
    {
        let marked = format!("\u{feff}{text}");
        let trace = text.parse::<RateTrace>().expect(text);
        assert_eq!(marked.parse::<RateTrace>().as_ref(), Ok(&trace), "{text}");
        let bytes = RateTrace::from_bytes_within(marked.as_bytes(), &mut MemoryBudget::default());
        assert_eq!(bytes, Ok(trace), "{text}");
    }
}
