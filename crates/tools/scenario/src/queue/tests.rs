use proptest::prelude::*;
use windfall_base::Duration;
use windfall_queue::management::{CodelConfig, FairConfig, PieConfig};

use super::*;

#[test]
fn what_keeps_a_queue_short_is_read_with_its_parameters() {
    let ms = Duration::from_millis;
    let codel = CodelConfig { target: ms(20), ecn: false, ..CodelConfig::USUAL };
    let pie = PieConfig { update: ms(30), ..PieConfig::USUAL };
    let fair = FairConfig { codel: CodelConfig::USUAL, flows: 16, quantum: 300 };
    for (text, management) in [
        ("droptail", Management::DropTail),
        ("drophead", Management::DropHead),
        ("codel", Management::Codel(CodelConfig::USUAL)),
        ("target:20ms,noecn,codel", Management::Codel(codel)),
        ("pie,update:30ms", Management::Pie(pie)),
        ("fq_codel,flows:16,quantum:300", Management::FqCodel(fair)),
    ] {
        let queue: Queue = text.parse().expect(text);
        assert_eq!(queue.management, Some(management), "{text}");
        let with_length: Queue = format!("100,{text},64kB").parse().expect(text);
        assert_eq!(with_length.management, Some(management), "{text}");
        assert_eq!(with_length.to_string().parse(), Ok(with_length), "{text}");
    }
}

#[test]
fn parameters_without_their_management_are_refused_with_the_fix() {
    for (text, fix) in [
        ("target:5ms", "name what it belongs to"),
        ("droptail,target:5ms", "use target, interval and noecn with codel"),
        ("codel,burst:5ms", "target, update, burst and noecn with pie"),
        ("codel,target:5ms,target:6ms", "say each parameter once"),
        ("codel,interval:4ms", "the target is longer than the interval"),
        ("fq-codel,target:200ms", "use about a twentieth of the interval"),
        ("codel,target:0ms", "use a time from 1ms to 60s"),
        ("fq-codel,flows:0", "use 1 to 16384 queues"),
        ("fq-codel,quantum:65536", "use 1 to 65535 bytes"),
        ("codel,pie", "write a discipline (fifo, wrr"),
    ] {
        let error = text.parse::<Queue>().expect_err(text).to_string();
        assert!(error.contains(fix) && error.contains(text), "{text}: {error}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "[a-z0-9:,_-]{0,40}") {
        if let Ok(queue) = text.parse::<Queue>() {
            prop_assert_eq!(queue.to_string().parse(), Ok(queue));
        }
    }
}
