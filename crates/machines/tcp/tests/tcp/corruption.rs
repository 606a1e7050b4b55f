//! Segments that arrive damaged: detection, notification, and what the sender makes of it (S4).

use windfall_base::{DropReason, Duration};
use windfall_tcp::{Corruption, NotificationMode, Reaction, TcpConfig};
use windfall_wire_net::tcp::{CorruptionKinds, Notification, Packing};
use windfall_wire_net::{TcpFlags, TcpRepr};

use crate::pair::*;

const MODES: [NotificationMode; 3] =
    [NotificationMode::DraftSafe, NotificationMode::Paper, NotificationMode::Extended];

fn config(mode: NotificationMode) -> TcpConfig {
    TcpConfig::new_reno().with(|it| {
        it.corruption = Corruption::on(mode);
        it.nagle = false;
    })
}

/// Damages the data segments of the near end with these numbers, the first time they are sent.
fn damage(pair: &mut Pair, numbers: &'static [u64]) {
    let mut count = 0;
    pair.fate = Box::new(move |seen| {
        if seen.from != NEAR || !seen.is_data() || seen.again {
            return Fate::default();
        }
        count += 1;
        if numbers.contains(&count) { Fate::damaged(seen) } else { Fate::default() }
    });
}

#[test]
fn the_four_branches_of_the_receiver() {
    //= S4.8
    let branch = |detect: bool, bits: &[u32]| {
        let mut corruption = Corruption::on(NotificationMode::DraftSafe);
        corruption.detect = detect;
        let mut pair =
            Pair::with(config(NotificationMode::DraftSafe).with(|it| it.corruption = corruption));
        let mut once = true;
        let bits = bits.to_vec();
        pair.fate = Box::new(move |seen| {
            let hit = seen.is_data() && core::mem::take(&mut once);
            Fate { bits: if hit { bits.clone() } else { Vec::new() }, ..Fate::default() }
        });
        pair.send(NEAR, 1_000).run_for(ms(60));
        let notified = pair.sent(FAR).any(|seen| seen.header.options.notification.is_some());
        (pair.ends[FAR].drops.iter().collect::<Vec<_>>(), notified)
    };
    // Checksum good.
    assert_eq!(branch(true, &[]), (vec![], false));
    // Checksum bad, detection good: a bit of the data.
    assert_eq!(branch(true, &[60 * 8]), (vec![(DropReason::TcpDamaged, 1)], true));
    // Checksum bad, detection bad: a bit of the sequence number.
    assert_eq!(branch(true, &[60]), (vec![(DropReason::TcpChecksum, 1)], false));
    // No detection option.
    assert_eq!(branch(false, &[60 * 8]), (vec![(DropReason::TcpChecksum, 1)], false));
}

#[test]
fn the_option_stands_on_data_and_nowhere_else() {
    //= S4.7
    let mut pair = Pair::new(config(MODES[0]), config(MODES[0]));
    pair.connect().transfer(20_000, Duration::from_secs(2));
    pair.run_for(Duration::from_secs(1));
    for seen in &pair.seen {
        let plain = seen.is_data() && !seen.header.flags.has_any(TcpFlags::SYN | TcpFlags::FIN);
        assert_eq!(seen.header.options.detection.is_some(), plain, "{seen:?}");
    }
}

#[test]
fn a_notification_brings_the_segment_within_a_round_trip_in_every_mode() {
    //= S4.4
    //= S4.10
    for mode in MODES {
        for (packing, kinds) in [
            (Packing::Packed, CorruptionKinds::default()),
            (Packing::Aligned, CorruptionKinds::EXPERIMENTAL),
        ] {
            let mut config = config(mode);
            (config.corruption.packing, config.corruption.kinds) = (packing, kinds);
            let mut pair = Pair::with(config);
            damage(&mut pair, &[3]);
            pair.send(NEAR, 14_000).run_for(ms(45));
            let times = pair.retransmissions(NEAR);
            assert_eq!(times.len(), 1, "{mode:?} {:#?}", pair.timeline);
            // Sent at 100 ms, noticed at 110 ms, sent again at 120 ms.
            assert_eq!(times[0], at(120));
            assert_eq!(pair.ends[FAR].incoming.len(), 14_000);
            let operations = pair.connection(NEAR).operations();
            assert_eq!(operations.notifications_received, 1);
            assert_eq!((operations.timeouts, operations.fast_retransmits), (0, 0));
        }
    }
}

#[test]
fn what_the_link_lost_without_a_trace_is_notified_as_damage_is() {
    //= S2.46
    //= S4.27
    let run =
        |mode, link_losses, lost: &'static [u64]| {
            let mut config = config(mode);
            config.corruption.link_losses = link_losses;
            (config.corruption.reaction, config.initial_window) = (Reaction::Ignore, 10);
            let mut pair = Pair::with(config);
            damage(&mut pair, lost);
            let mut damaging = core::mem::replace(&mut pair.fate, Box::new(|_| Fate::default()));
            pair.fate = Box::new(move |seen| {
                if damaging(seen).bits.is_empty() { Fate::default() } else { Fate::lost() }
            });
            pair.send(NEAR, 14_000).run_for(ms(75));
            let times = pair.retransmissions(NEAR);
            let operations = *pair.connection(NEAR).operations();
            (times, pair.ends[FAR].incoming.len(), operations)
        };
    for mode in [NotificationMode::DraftSafe, NotificationMode::Extended] {
        // Sent at 100 ms, missed at 110 ms, sent again at 120 ms.
        let (times, arrived, operations) = run(mode, true, &[3]);
        assert_eq!((times, arrived), (vec![at(120)], 14_000), "{mode:?}");
        assert_eq!((operations.notifications_received, operations.reductions), (1, 0), "{mode:?}");
        // Without the link's word it takes three duplicates, and the window is reduced.
        let (_, _, operations) = run(mode, false, &[3]);
        assert_eq!((operations.notifications_received, operations.reductions), (0, 1), "{mode:?}");
    }
    // Where the option names each, all that are lost in a row come again after one round trip; if
    // it names the next alone, one in each.
    let (times, arrived, operations) = run(NotificationMode::Extended, true, &[3, 4, 6]);
    assert_eq!((times, arrived), (vec![at(120); 3], 14_000));
    assert_eq!((operations.notifications_received, operations.reductions), (3, 0));
    let (times, arrived, operations) = run(NotificationMode::DraftSafe, true, &[3, 4, 6]);
    assert_eq!((times, arrived), (vec![at(120), at(140), at(160)], 14_000));
    assert_eq!((operations.notifications_received, operations.reductions), (3, 0));
}

#[test]
fn a_notification_measures_the_round_trip_of_the_segment_that_it_names() {
    //= S4.4
    let mut pair = Pair::with(config(NotificationMode::DraftSafe));
    damage(&mut pair, &[1]);
    let before = pair.connection(NEAR).round_trip_samples();
    // The notification is back after 20 ms, the acknowledgment of the retransmission after 40 ms.
    pair.send(NEAR, 1_000).run_for(ms(21));
    let connection = pair.connection(NEAR);
    assert_eq!(connection.operations().notifications_received, 1);
    assert_eq!(connection.round_trip_samples() - before, 1, "{:#?}", pair.timeline);
}

#[test]
fn what_the_notification_names_depends_on_the_mode() {
    //= S4.3
    //= S4.9
    let answer = |mode| {
        let mut pair = Pair::with(config(mode));
        damage(&mut pair, &[3]);
        pair.send(NEAR, 14_000).run_for(ms(45));
        let named = |seen: &&Seen| seen.header.options.notification.is_some();
        let found = pair.sent(FAR).skip(1).find(named);
        let found = found.unwrap();
        let relative = |seq: windfall_base::seq::Seq32| {
            seq.0.wrapping_sub(pair.sent(NEAR).next().unwrap().header.seq.0)
        };
        let named = match found.header.options.notification {
            Some(Notification::Extended(seq)) => Some(relative(seq)),
            _ => None,
        };
        (found.ack, named)
    };
    // The third segment is 1 + 2 · 1440 .. 1 + 3 · 1440.
    assert_eq!(answer(NotificationMode::DraftSafe), (2_881, None));
    assert_eq!(answer(NotificationMode::Paper), (4_321, None));
    assert_eq!(answer(NotificationMode::Extended), (2_881, Some(2_881)));
}

#[test]
fn a_damaged_segment_beyond_a_hole_never_acknowledges_the_hole() {
    for mode in [NotificationMode::DraftSafe, NotificationMode::Extended] {
        let mut pair = Pair::with(config(mode));
        // The second is lost, the fourth damaged.
        let mut count = 0;
        pair.fate = Box::new(move |seen| {
            if seen.from != NEAR || !seen.is_data() || seen.again {
                return Fate::default();
            }
            count += 1;
            match count {
                2 => Fate::lost(),
                4 => Fate::damaged(seen),
                _ => Fate::default(),
            }
        });
        pair.transfer(14_000, Duration::from_secs(5));
        let mut arrived = 1;
        for seen in &pair.seen {
            if seen.from == FAR {
                assert!(seen.ack <= arrived.max(1_441) || pair.retransmissions(NEAR)[0] < seen.now);
            } else if seen.is_data() {
                arrived = arrived.max(seen.seq + seen.len as u32);
            }
        }
        let sent = pair.connection(FAR).operations().notifications_sent;
        assert_eq!(sent, 1, "{mode:?} {:#?}", pair.timeline);
    }
}

#[test]
fn the_reaction_of_the_window_is_a_choice() {
    //= S4.5
    let reductions = |reaction| {
        let mut config = config(NotificationMode::Extended);
        config.corruption.reaction = reaction;
        let mut pair = Pair::with(config);
        damage(&mut pair, &[20, 22, 24, 26]);
        pair.transfer(100_000, Duration::from_secs(5));
        let operations = pair.connection(NEAR).operations();
        assert_eq!((operations.timeouts, operations.retransmissions), (0, 4), "{reaction:?}");
        operations.reductions
    };
    assert_eq!(reductions(Reaction::Ignore), 0);
    assert_eq!(reductions(Reaction::AsMark), 1);
    assert_eq!(reductions(Reaction::AsLoss), 4);
}

#[test]
fn the_sender_of_the_paper_retransmits_and_keeps_its_window() {
    //= S4.12
    // NewReno without SACK, the paper's acknowledgment number, no reaction of the window (S4.5).
    let mut config = config(NotificationMode::Paper).with(|it| it.sack = false);
    config.corruption.reaction = Reaction::Ignore;
    let mut pair = Pair::with(config);
    damage(&mut pair, &[20, 22, 24, 26]);
    pair.transfer(100_000, Duration::from_secs(5));
    let operations = pair.connection(NEAR).operations();
    assert_eq!((operations.notifications_received, operations.retransmissions), (4, 4));
    assert_eq!(
        (operations.fast_retransmits, operations.timeouts, operations.reductions),
        (0, 0, 0)
    );
}

#[test]
fn resets_and_syns_in_damaged_segments_are_not_obeyed() {
    for flags in [TcpFlags::RST | TcpFlags::ACK, TcpFlags::SYN | TcpFlags::ACK] {
        let mut pair = Pair::with(config(MODES[0]));
        pair.send(NEAR, 1_000).run_for(ms(100));
        let mut header = pair.forged(FAR, flags);
        header.options.detection = Some(0);
        let state = pair.connection(FAR).state();
        let result = pair.inject_damaged(FAR, &header, b"data");
        assert_eq!(result, Err(DropReason::TcpDamaged));
        assert_eq!(pair.connection(FAR).state(), state);
    }
}

#[test]
fn a_duplicate_notification_is_followed_once() {
    let mut pair = Pair::with(config(MODES[0]));
    damage(&mut pair, &[3]);
    let inner = core::mem::replace(&mut pair.fate, Box::new(|_| Fate::default()));
    let mut inner = inner;
    pair.fate = Box::new(move |seen| {
        let twice = seen.header.options.notification.is_some();
        Fate { twice, ..inner(seen) }
    });
    pair.send(NEAR, 14_000).run_for(ms(45));
    assert_eq!(pair.retransmissions(NEAR).len(), 1, "{:#?}", pair.timeline);
}

/// Damages the data segments of the near end with these numbers, the first `times` that they leave.
fn damage_often(pair: &mut Pair, numbers: &'static [u64], times: u32) {
    let mut count = 0;
    let mut hits = std::collections::BTreeMap::new();
    pair.fate = Box::new(move |seen| {
        if seen.from != NEAR || !seen.is_data() {
            return Fate::default();
        }
        count += u64::from(!seen.again);
        if !seen.again && numbers.contains(&count) {
            hits.insert(seen.seq, 0);
        }
        match hits.get_mut(&seen.seq) {
            Some(hit) if *hit < times => {
                *hit += 1;
                Fate::damaged(seen)
            }
            _ => Fate::default(),
        }
    });
}

#[test]
fn each_copy_that_is_reported_brings_the_segment_again_even_on_a_path_that_got_faster() {
    //= S4.10
    for (mode, timestamps) in MODES.into_iter().flat_map(|mode| [(mode, true), (mode, false)]) {
        let mut pair = Pair::with(config(mode).with(|it| it.timestamps = timestamps));
        // The smoothed round trip is 80 ms when the damage comes, the least 20 ms.
        pair.delay = ms(60);
        for _ in 0..8 {
            pair.send(NEAR, 1_000).run_for(ms(200));
        }
        pair.delay = ms(10);
        let before = pair.now;
        let arrived = pair.ends[FAR].incoming.len();
        damage_often(&mut pair, &[3], 3);
        pair.send(NEAR, 7_000).run_for(ms(95));
        let times = pair.retransmissions(NEAR);
        let times: Vec<_> = times.iter().map(|at| at.saturating_since(before)).collect();
        assert_eq!(times, [ms(20), ms(40), ms(60)], "{mode:?} {timestamps} {:#?}", pair.timeline);
        assert_eq!(pair.ends[FAR].incoming.len() - arrived, 7_000);
        let operations = pair.connection(NEAR).operations();
        assert_eq!((operations.timeouts, operations.fast_retransmits), (0, 0));
        assert_eq!(operations.notifications_received, 3);
    }
}

#[test]
fn damage_that_is_ignored_reduces_nothing_where_losses_are_noticed_by_time() {
    //= S4.5
    // The draft's numbers name nothing beyond a hole, so that some damage looks like a loss there.
    for mode in [NotificationMode::Paper, NotificationMode::Extended] {
        let mut corruption = Corruption::on(mode);
        corruption.reaction = Reaction::Ignore;
        let mut pair = Pair::with(TcpConfig::default().with(|it| it.corruption = corruption));
        let mut stream = windfall_base::Stream::new(windfall_base::Seed(3), "damage");
        pair.fate = Box::new(move |seen| {
            let hit = seen.from == NEAR && seen.is_data() && stream.below(20) == 0;
            if hit { Fate::damaged(seen) } else { Fate::default() }
        });
        pair.rate = windfall_base::Rate::from_mbps(10);
        pair.transfer(1_000_000, Duration::from_secs(60));
        let operations = pair.connection(NEAR).operations();
        assert!(operations.notifications_received > 20, "{operations:?}");
        assert_eq!((operations.reductions, operations.timeouts), (0, 0), "{mode:?} {operations:?}");
    }
}

#[test]
fn a_peer_in_another_mode_is_detected_and_loses_nothing() {
    //= S4.9
    for (near, far) in MODES.into_iter().flat_map(|near| MODES.map(|far| (near, far))) {
        for base in [TcpConfig::new_reno(), TcpConfig::default()] {
            for timestamps in [true, false] {
                let base = base.clone().with(|it| it.timestamps = timestamps);
                let config = |mode| base.clone().with(|it| it.corruption = Corruption::on(mode));
                let mut pair = Pair::established(config(near), config(far));
                damage_often(&mut pair, &[3, 20, 22, 24, 26, 40], 1);
                pair.transfer(100_000, Duration::from_secs(5));
                let foreign = pair.connection(NEAR).operations().foreign_notifications;
                let is_paper = [near, far].map(|mode| mode == NotificationMode::Paper);
                let differs = is_paper[0] != is_paper[1];
                let how = format!("{near:?} {far:?} {timestamps}");
                assert_eq!(foreign > 0, differs, "{how} {:#?}", pair.timeline);
            }
        }
    }
}

#[test]
fn an_acknowledgment_after_a_copy_does_not_show_the_mode_of_the_peer() {
    //= S4.9
    for (near, far) in MODES.into_iter().flat_map(|near| MODES.map(|far| (near, far))) {
        let config = |mode| TcpConfig::default().with(|it| it.corruption = Corruption::on(mode));
        let mut pair = Pair::established(config(near), config(far));
        for sent in 1..=4 {
            damage(&mut pair, &[1]);
            pair.send(NEAR, 1_000).run_for(Duration::from_secs(9));
            assert_eq!(pair.ends[FAR].incoming.len(), sent * 1_000, "{near:?} {far:?}");
        }
    }
}

#[test]
fn the_round_trip_is_measured_only_of_segments_sent_once() {
    // Karn's rule: without timestamps, only the segment that is timed and was sent once counts.
    let mut pair = Pair::with(config(MODES[0]).with(|it| it.timestamps = false));
    pair.run_for(Duration::from_secs(1));
    let before = pair.connection(NEAR).round_trip_samples();
    let mut count = 0;
    pair.fate = Box::new(move |seen| {
        let data = seen.from == NEAR && seen.is_data();
        count += u64::from(data);
        if data && count <= 2 { Fate::damaged(seen) } else { Fate::default() }
    });
    pair.send(NEAR, 1_000).run_for(ms(30));
    assert_eq!(pair.connection(NEAR).round_trip_samples(), before + 1, "sent once: a sample");
    pair.run_for(ms(100));
    assert_eq!(pair.connection(NEAR).round_trip_samples(), before + 1, "retransmitted: none");
    assert_eq!(pair.ends[FAR].incoming.len(), 1_000);
}

#[test]
fn a_cut_segment_is_known_by_the_length_in_the_ip_header() {
    let mut pair = Pair::with(config(MODES[0]));
    let mut once = true;
    pair.fate = Box::new(move |seen| {
        let cut = if seen.is_data() && core::mem::take(&mut once) { 700 } else { 0 };
        Fate { cut, ..Fate::default() }
    });
    pair.send(NEAR, 1_000).run_for(ms(45));
    assert_eq!(pair.ends[FAR].drops.of(DropReason::TcpDamaged), 1);
    assert_eq!(pair.ends[FAR].incoming.len(), 1_000);
}

#[test]
fn what_arrived_before_is_acknowledged_again_and_what_lies_outside_is_not_looked_at() {
    //= S4.8
    let mut pair = Pair::with(config(MODES[0]));
    pair.send(NEAR, 1_000).run_for(ms(100));
    let acks = pair.sent(FAR).count();
    let next = pair.forged(FAR, TcpFlags::ACK);
    let damaged = |pair: &mut Pair, seq| {
        let mut header = TcpRepr { seq, ..next.clone() };
        header.options.detection = Some(0);
        pair.inject_damaged(FAR, &header, b"data")
    };
    // The very number of the SYN, and numbers beyond the window, carry no data of this stream.
    for seq in [next.seq + 1_001_u32.wrapping_neg(), next.seq + (1 << 20) + 1] {
        assert_eq!(damaged(&mut pair, seq), Err(DropReason::TcpSequence));
    }
    assert_eq!(pair.sent(FAR).count(), acks);
    assert_eq!(damaged(&mut pair, next.seq + 500_u32.wrapping_neg()), Err(DropReason::TcpDamaged));
    assert_eq!(pair.sent(FAR).count(), acks + 1);
    assert!(pair.sent(FAR).all(|seen| seen.header.options.notification.is_none()));
    let operations = pair.connection(FAR).operations();
    assert_eq!((operations.damaged, operations.detections), (3, 3));
    assert_eq!(pair.connection(NEAR).operations().detections, 1, "one was written");
}

#[test]
fn a_damaged_probe_of_a_closed_window_is_told_of() {
    //= S4.8
    let small = config(MODES[0]).with(|it| it.receive_buffer = 2_000.into());
    let mut pair = Pair::established(config(MODES[0]), small);
    pair.ends[FAR].reads = false;
    pair.send(NEAR, 2_000).run_for(ms(100));
    assert_eq!(pair.connection(FAR).readable(), 2_000);
    let mut header = pair.forged(FAR, TcpFlags::ACK);
    header.options.detection = Some(0);
    assert_eq!(pair.inject_damaged(FAR, &header, b"x"), Err(DropReason::TcpDamaged));
    assert_eq!(pair.connection(FAR).operations().notifications_sent, 1);
}

#[test]
fn an_echoed_mark_on_a_damaged_segment_reduces_once_and_only_where_it_was_agreed_on() {
    //= S4.8
    for (ecn, reductions) in [(true, 1), (false, 0)] {
        let mut pair = Pair::with(config(MODES[0]).with(|it| it.ecn = ecn));
        pair.fate = Box::new(|seen| Fate { lost: seen.from == NEAR, ..Fate::default() });
        pair.send(NEAR, 10_000).settle();
        let mut header = pair.forged(NEAR, TcpFlags::ACK | TcpFlags::ECE);
        header.options.detection = Some(0);
        for _ in 0..2 {
            let result = pair.inject_damaged(NEAR, &header, b"data");
            assert_eq!(result, Err(DropReason::TcpDamaged));
            assert_eq!(pair.connection(NEAR).operations().reductions, reductions, "{ecn}");
        }
        header.flags = TcpFlags::ACK;
        assert_eq!(pair.inject_damaged(NEAR, &header, b"data"), Err(DropReason::TcpDamaged));
        assert_eq!(pair.connection(NEAR).operations().reductions, reductions, "{ecn}");
    }
}

#[test]
fn without_the_peer_s_consent_notifications_carry_no_number() {
    //= S4.9
    let extended = config(NotificationMode::Extended);
    let mut pair = Pair::established(config(NotificationMode::DraftSafe), extended);
    damage(&mut pair, &[3]);
    pair.send(NEAR, 14_000).run_for(ms(45));
    let told: Vec<Notification> =
        pair.sent(FAR).filter_map(|seen| seen.header.options.notification).collect();
    assert_eq!(told, [Notification::Plain]);
    assert_eq!(pair.retransmissions(NEAR), [at(120)]);
}

#[test]
fn repairs_that_have_arrived_are_forgotten_and_make_room_for_others() {
    //= S4.10
    let mut pair = Pair::with(config(MODES[0]));
    pair.fate = Box::new(|seen| {
        let hit = seen.from == NEAR && seen.is_data() && !seen.again;
        if hit { Fate::damaged(seen) } else { Fate::default() }
    });
    for sent in 1..=70 {
        pair.send(NEAR, 100).run_for(ms(100));
        assert_eq!(pair.connection(NEAR).operations().notifications_received, sent);
    }
    assert_eq!(pair.connection(NEAR).operations().timeouts, 0);
}

#[test]
fn once_a_round_trip_a_notification_counts_as_a_mark() {
    //= S4.5
    let mut config = config(MODES[0]);
    config.corruption.reaction = Reaction::AsMark;
    let mut pair = Pair::with(config);
    damage(&mut pair, &[1, 2]);
    for reductions in 1..=2 {
        pair.send(NEAR, 1_000).run_for(ms(100));
        assert_eq!(pair.connection(NEAR).operations().reductions, reductions);
    }
}

/// S4.31: even where the window reacts as to a loss, four things are better.
mod benefits {
    use super::*;

    fn conservative(notify: bool) -> TcpConfig {
        let mut config = config(NotificationMode::DraftSafe);
        config.corruption.notify = notify;
        config.corruption.reaction = Reaction::AsLoss;
        config
    }

    /// The last segment damaged: nothing behind it can hint at the loss.
    #[test]
    fn earlier_retransmission() {
        //= S4.31
        let time = |notify| {
            let mut pair = Pair::with(conservative(notify));
            pair.ends[NEAR].finishes = false;
            damage(&mut pair, &[10]);
            let began = pair.now;
            pair.send(NEAR, 14_400);
            let done = |pair: &Pair| pair.ends[FAR].incoming.len() == 14_400;
            assert!(pair.run_until(Duration::from_secs(5), done));
            pair.now.saturating_since(began)
        };
        assert_eq!(time(true), ms(30));
        assert!(time(false) >= ms(200));
    }

    /// The acknowledgment on a damaged segment counts: the peer's data need not be retransmitted.
    #[test]
    fn kept_control_information() {
        //= S4.31
        let time = |notify| {
            let mut pair = Pair::with(conservative(notify));
            pair.ends[FAR].outgoing = pattern(FAR, 1_000);
            let mut once = true;
            pair.fate = Box::new(move |seen| {
                // The answer carries the acknowledgment and arrives damaged; bare ones are lost.
                if seen.from != NEAR || (seen.is_data() && !once) {
                    return Fate::default();
                }
                if seen.is_data() {
                    once = false;
                    return Fate::damaged(seen);
                }
                Fate::lost()
            });
            pair.send(FAR, 1_000);
            pair.run_for(ms(12));
            pair.send(NEAR, 1_000);
            let began = pair.now;
            let acked = |pair: &Pair| pair.connection(FAR).unacknowledged() == 0;
            assert!(pair.run_until(Duration::from_secs(5), acked));
            (pair.now.saturating_since(began), pair.retransmissions(FAR).len())
        };
        let (with, repeated) = time(true);
        assert_eq!((with, repeated), (ms(10), 0));
        let (without, _) = time(false);
        assert!(without >= ms(100), "{without}");
    }

    /// The damaged round trip gives a sample, so that the timeout follows a path that grew longer.
    #[test]
    fn correct_timeout() {
        //= S4.31
        let timeout = |notify| {
            let mut pair = Pair::with(conservative(notify));
            pair.send(NEAR, 14_400).run_for(ms(500));
            pair.delay = ms(80);
            pair.fate = Box::new(|seen| {
                let data = seen.from == NEAR && seen.is_data();
                if data { Fate::damaged(seen) } else { Fate::default() }
            });
            pair.send(NEAR, 1_000).run_for(ms(165));
            pair.connection(NEAR).round_trip_time().unwrap()
        };
        assert!(timeout(true) > timeout(false));
        assert!(timeout(true) >= ms(20 + (160 - 20) / 8 - 1));
    }

    /// A mark on a damaged packet is answered at once.
    #[test]
    fn earlier_reaction_to_marks() {
        //= S4.31
        let marked = |notify| {
            let mut pair = Pair::with(conservative(notify).with(|it| it.ecn = true));
            pair.fate = Box::new(|seen| {
                let data = seen.from == NEAR && seen.is_data() && !seen.again;
                let fate = if data { Fate::damaged(seen) } else { Fate::default() };
                Fate { mark: data, ..fate }
            });
            pair.send(NEAR, 1_000).run_for(ms(15));
            pair.sent(FAR).any(|seen| seen.header.flags == TcpFlags::ACK | TcpFlags::ECE)
        };
        assert!(marked(true));
        assert!(!marked(false));
    }
}

/// Inverts two bits of one column of 16 that differ in value, which the checksum does not notice.
fn unnoticed(seen: &Seen) -> Fate {
    let header = 20 + seen.header.options.emit(&CorruptionKinds::default()).unwrap().len();
    let bit = |at: usize| seen.data[at] & 1;
    let other = (1..seen.len / 2).map(|word| 2 * word).find(|at| bit(*at) != bit(0)).unwrap();
    let position = |at: usize| (header + at) as u32 * 8 + 7;
    Fate { bits: vec![position(0), position(other)], ..Fate::default() }
}

/// Sends 50 000 bytes of which the third segment meets what the checksum misses; returns whether
/// they arrived right, and how many bytes each segment had.
fn survives(near: &TcpConfig, far: &TcpConfig) -> (bool, u64, u64) {
    let mut pair = Pair::established(near.clone(), far.clone());
    let mut count = 0;
    pair.fate = Box::new(move |seen| {
        count += u64::from(seen.from == NEAR && seen.len > 100);
        if count == 3 && seen.from == NEAR && seen.is_data() {
            unnoticed(seen)
        } else {
            Fate::default()
        }
    });
    pair.ends[NEAR].finishes = true;
    pair.send(NEAR, 50_000).run_for(Duration::from_secs(10));
    let arrived = &pair.ends[FAR].incoming;
    assert_eq!(arrived.len(), 50_000);
    let noticed = pair.ends[FAR].drops.of(DropReason::TcpChecksum)
        + pair.ends[FAR].drops.of(DropReason::TcpDamaged);
    (arrived[..] == pattern(NEAR, 50_000)[..], pair.connection(NEAR).segment_size(), noticed)
}

#[test]
fn a_data_check_finds_what_the_checksum_misses() {
    let without = TcpConfig::default();
    for template in [true, false] {
        let checked = TcpConfig::default().with(|it| {
            it.data_check = true;
            it.template = template;
        });
        assert_eq!(survives(&checked, &checked), (true, 1_440, 1));
        // The option is used where both ends want it.
        assert_eq!(survives(&checked, &without), (false, 1_448, 0));
        assert_eq!(survives(&without, &checked), (false, 1_448, 0));
        // Beside the detection option, which covers the header: the sender is notified.
        let corruption = Corruption::on(NotificationMode::Extended);
        let both = checked.with(|it| it.corruption = corruption);
        assert_eq!(survives(&both, &both), (true, 1_432, 1));
    }
}

#[test]
fn a_segment_without_the_data_check_that_was_agreed_on_is_not_taken() {
    let config = TcpConfig::default().with(|it| it.data_check = true);
    let mut pair = Pair::with(config);
    let header = pair.forged(FAR, TcpFlags::ACK);
    assert_eq!(pair.inject(FAR, &header, b"forged"), Err(DropReason::TcpChecksum));
    // An acknowledgment has no data to check.
    assert_eq!(pair.inject(FAR, &header, b""), Ok(()));
}
