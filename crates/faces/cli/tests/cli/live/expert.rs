//! What tshark's expert analysis says of the segments that an engine sent.

use std::path::Path;
use std::process::Command;

use crate::live::{Folder, WINDFALL, require, windfall};

/// The engine's addresses at the near and at the far end.
const ENGINES: [(&str, [&str; 2]); 2] =
    [("near", ["10.177.0.1", "fd77:696e:e400::1"]), ("far", ["10.177.0.2", "fd77:696e:e400::2"])];
/// The fields that tshark prints of each segment.
const FIELDS: [&str; 10] = [
    "ip.src",
    "ipv6.src",
    "tcp.srcport",
    "tcp.seq",
    "tcp.len",
    "tcp.ack",
    "tcp.window_size",
    "tcp.flags.syn",
    "tcp.flags.fin",
    "tcp.checksum.status",
];

/// Looks at the capture of `station`, where what its engine sends is undamaged yet; `damaged` says
/// that what arrives there may be anything.
pub(crate) fn check(folder: &Path, station: &str, damaged: bool) -> Result<(), String> {
    let file = folder.join(format!("{station}.pcapng"));
    let (_, [v4, v6]) = ENGINES.into_iter().find(|(name, _)| *name == station).expect("known");
    let ours = format!("(ip.src == {v4} or ipv6.src == {v6})");
    // 8388608 is the severity of an error.
    let faults = format!(
        "{ours} and not icmp and not icmpv6 and (_ws.malformed or tcp.checksum.status == 0 \
         or ip.checksum.status == 0 or _ws.expert.severity >= 8388608)"
    );
    let found = tshark(&file, &faults, &["frame.number", "_ws.expert.message"])?;
    if !found.is_empty() {
        let first: Vec<_> = found.lines().take(5).collect();
        return Err(format!("tshark on {station}: {}", first.join("; ")));
    }
    numbers(&tshark(&file, "tcp and not icmp and not icmpv6", &FIELDS)?, [v4, v6], damaged)
}

/// The fields of the packets of a station's device that a filter lets through, one packet a line.
pub(crate) fn tshark(file: &Path, filter: &str, fields: &[&str]) -> Result<String, String> {
    let mut command = Command::new("tshark");
    command.args(["-n", "-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]);
    // The segments carry noise: joining it takes time that grows with its square, and now and then
    // it looks like the beginning of some protocol, and a bad one.
    command.args(["-o", "tcp.desegment_tcp_streams:FALSE", "-d", "tcp.port==5001,data"]);
    command.arg("-r").arg(file).args(["-Y", filter, "-T", "fields"]);
    command.args(fields.iter().flat_map(|field| ["-e", field]));
    let output = command.output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Checks that no segment of ours goes beyond the window that the peer has offered until then, and
/// that none acknowledges what has not arrived; that cannot be told where arrivals are `damaged`.
///
/// tshark's own `ack_lost_segment` will not do: it follows the peer's segments as long as each
/// begins where the last one ended, and loses them where retransmissions are cut otherwise.
fn numbers(table: &str, ours: [&str; 2], damaged: bool) -> Result<(), String> {
    let mut offered = 0;
    let mut arrived = 0;
    let mut seen = 0;
    for (number_of_line, line) in table.lines().enumerate() {
        let columns: Vec<&str> = line.split('\t').collect();
        let [v4, v6, port, seq, len, ack, window, syn, fin, checksum] = columns[..] else {
            return Err(format!("tshark printed \"{line}\""));
        };
        let number = |text: &str| text.parse::<u64>().unwrap_or(0);
        let flag = |text: &str| u64::from(text == "1" || text == "True");
        let end = number(seq) + number(len) + flag(syn) + flag(fin);
        if !ours.contains(&v4) && !ours.contains(&v6) {
            // What arrived damaged offers nothing, but for a header that its own check vouches for.
            if checksum != "0" {
                offered = number(ack).saturating_add(number(window)).max(offered);
            }
            arrived = end.max(arrived);
            continue;
        }
        seen += 1;
        if !damaged && number(ack) > arrived {
            return Err(format!("port {port} acknowledged {ack} where {arrived} had arrived"));
        }
        // The first segment has no offer yet; a window probe goes one byte beyond.
        if number(len) > 1 && end > offered + 1 {
            let around = table.lines().skip(number_of_line.saturating_sub(4)).take(10);
            let around = around.collect::<Vec<_>>().join(" / ");
            return Err(format!(
                "port {port} sent up to {end} where {offered} was offered, among {around}"
            ));
        }
    }
    if seen == 0 { Err("the capture has no segment of ours".to_owned()) } else { Ok(()) }
}

#[test]
fn what_the_link_damaged_does_not_pass_as_ours() {
    require!("tshark");
    let folder = Folder::new("expert");
    let line = format!("{WINDFALL} tcp send -q --bytes 300kB 10.77.0.2:5001");
    let options =
        format!("run -q --corrupt 10% --accept-damaged --pcap {}", folder.path().display());
    let output = windfall(&format!("{options} --far"))
        .args([&format!("exec {WINDFALL} tcp receive --kernel -q"), "--", "sh", "-c", &line])
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(check(folder.path(), "near", true), Ok(()));
    // What arrived at the far end, taken for what left the near end.
    let file = |station: &str| folder.path().join(format!("{station}.pcapng"));
    std::fs::rename(file("far"), file("near")).expect("the captures are there");
    let found = check(folder.path(), "near", true).expect_err("of 206 segments 20 are damaged");
    assert!(found.contains("checksum"), "{found}");
}

#[test]
fn what_goes_beyond_the_offer_is_found() {
    let ours = ["10.177.0.1", "fd77:696e:e400::1"];
    let line = |from: &str, numbers: &str| format!("{from}\t\t5001\t{numbers}\tFalse\tFalse\t1\n");
    // Up to 1 + 1000 is offered, so up to 1002 with a window probe.
    let offer = line("10.77.0.2", "1\t0\t1\t1000");
    let segment = |len: u32| line(ours[0], &format!("1\t{len}\t1\t65535"));
    assert_eq!(numbers(&(offer.clone() + &segment(1001)), ours, false), Ok(()));
    let beyond = numbers(&(offer.clone() + &segment(1002)), ours, false);
    let beyond = beyond.expect_err("it is one byte too much");
    assert!(beyond.starts_with("port 5001 sent up to 1003 where 1001 was offered"), "{beyond}");
    let shows_nothing = numbers(&offer, ours, false);
    assert!(shows_nothing.is_err(), "a capture without a segment of ours shows nothing");
}

#[test]
fn what_acknowledges_the_unseen_is_found() {
    let ours = ["10.177.0.1", "fd77:696e:e400::1"];
    let line = |from: &str, numbers: &str| format!("{from}\t\t5001\t{numbers}\tFalse\t1\n");
    let syn = line("10.77.0.2", "0\t0\t0\t1000\tTrue");
    let data = line("10.77.0.2", "1\t500\t1\t1000\tFalse");
    let ack = |number: u32| line(ours[0], &format!("1\t0\t{number}\t65535\tFalse"));
    let capture = [syn, ack(1), data, ack(501)].concat();
    assert_eq!(numbers(&capture, ours, false), Ok(()));
    let unseen = capture + &ack(502);
    let found = numbers(&unseen, ours, false);
    assert_eq!(found, Err("port 5001 acknowledged 502 where 501 had arrived".to_owned()));
    assert_eq!(numbers(&unseen, ours, true), Ok(()));
}
