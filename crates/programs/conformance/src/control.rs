//! Shell commands of scripts: none is run; settings of the system in them become settings of the
//! engine.

use windfall_base::Duration;
use windfall_tcp::{AckPolicy, BufferSize, Keepalive, Manner, TcpConfig};

use crate::cookie;
use crate::socket_option::congestion_control;
use crate::verdict::Stop;
use crate::world::System;

/// Commands that prepare a system for the tests or look at it, of which nothing is needed here.
const WITHOUT_EFFECT: [&str; 18] = [
    "rm", "dd", "/bin/rm", "/bin/dd", "kldload", "true", "echo", "cat", "sync", ":", "ethtool",
    "sockstat", "ss", "netstat", "tc", "ip", "nstat", "sleep",
];

/// Settings that change nothing that a script can see here: caches of other connections, limits
/// that are not reached, defences that the engine always has.
const NOTHING_TO_SET: [&str; 43] = [
    "syncookies_only",
    "tolerate_missing_ts",
    "rexmit_slop",
    "rexmit_drop_options",
    // How Linux groups segments for its devices, keeps statistics and caches.
    "tcp_tso_win_divisor",
    "tcp_limit_output_bytes",
    "tcp_pacing_ss_ratio",
    "tcp_pacing_ca_ratio",
    "tcp_fastopen_blackhole_timeout_sec",
    "tcp_fastopen_blackhole_detect_timeout_sec",
    "tcp_ecn_option",
    "tcp_ecn_option_beacon",
    "tcp_reordering",
    "tcp_max_reordering",
    "tcp_workaround_signed_windows",
    "tcp_adv_win_scale",
    "tcp_app_win",
    "tcp_shrink_window",
    "tcp_rfc1337",
    "tcp_orphan_retries",
    "tcp_autocorking",
    "tcp_no_metrics_save",
    "tcp_mtu_probing",
    "tcp_syncookies",
    "tcp_challenge_ack_limit",
    "tcp_max_syn_backlog",
    "tcp_mem",
    "tcp_invalid_ratelimit",
    "tcp_tw_reuse",
    "tcp_abc",
    "tcp_moderate_rcvbuf",
    "tcp_low_latency",
    "ip_no_pmtu_disc",
    "tcp_dsack",
    "tcp_fack",
    "hostcache.purgenow",
    "hostcache.enable",
    "hostcache.purge",
    "syncookies",
    "blackhole",
    "recvbuf_auto",
    "sendbuf_auto",
    "functions_default",
];

/// The places at which Linux and FreeBSD keep the settings of their TCP.
const PREFIXES: [&str; 4] = ["net.ipv4.", "net.inet.tcp.", "net.core.", "net.inet."];

/// Follows a command, which may have several lines.
pub(crate) fn run(system: &mut System, text: &str) -> Result<(), Stop> {
    // A backslash at the end of a line joins it with the next.
    let text = text.replace("\\\n", " ");
    for line in text.split(['\n', ';']).flat_map(|line| line.split("&&")) {
        let words = words(line.trim());
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words[..] {
            [] => {}
            ["sysctl", ref settings @ ..] => set_all(system, settings)?,
            [script, ref settings @ ..] if script.ends_with("set_sysctls.py") => {
                set_all(system, settings)?;
            }
            [script, ..] if script.ends_with("defaults.sh") => set_linux(system),
            [script, ..] if script.contains("sysctl_restore") => {}
            [path, ..] if path.starts_with("/proc/sys/") || path.starts_with("net.") => {
                set_all(system, &words)?;
            }
            [program, ..] if WITHOUT_EFFECT.contains(&program) || program.starts_with('#') => {}
            [program, ..] => return Stop::unsupported(format!("the command {program}")),
        }
    }
    Ok(())
}

/// Cuts a line into words, those in quotation marks whole; where it goes is left out.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = None;
    for it in line.chars() {
        match (it, quoted) {
            ('"' | '\'', None) => quoted = Some(it),
            (it, Some(quote)) if it == quote => quoted = None,
            (it, None) if it.is_whitespace() => words.push(String::new()),
            _ => words.last_mut().expect("there is one at least").push(it),
        }
    }
    words.retain(|word| !word.is_empty());
    let end = words.iter().position(|word| word.contains('>') || word == "|");
    words.truncate(end.unwrap_or(words.len()));
    words
}

fn set_all(system: &mut System, settings: &[&str]) -> Result<(), Stop> {
    for setting in settings.iter().filter(|setting| !setting.starts_with('-')) {
        let name = setting.strip_prefix("/proc/sys/").unwrap_or(setting);
        // The name may be a path, the value not.
        let name = match name.split_once('=') {
            Some((name, value)) => format!("{}={value}", name.replace('/', ".")),
            None => name.to_owned(),
        };
        let name = name.as_str();
        // Without a value it is only shown.
        let Some((name, value)) = name.split_once('=') else { continue };
        set(system, name.trim(), value.trim())?;
    }
    Ok(())
}

/// Sets what a setting of a system stands for.
fn set(system: &mut System, name: &str, value: &str) -> Result<(), Stop> {
    let config = &mut system.tcp;
    let short = PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix));
    let short = short.unwrap_or(name);
    if name.starts_with(PREFIXES[1]) && config.manner == Manner::STANDARD {
        config.manner = Manner::FREEBSD;
    }
    if NOTHING_TO_SET.contains(&short) {
        return Ok(());
    }
    let unknown = || Stop::Unsupported(format!("the setting {name}={value}"));
    if matches!(short, "tcp_congestion_control" | "cc.algorithm") {
        config.congestion_control = congestion_control(value)?;
        return Ok(());
    }
    if short == "kern.ipc.maxsockbuf" {
        // FreeBSD takes the shift of windows from it (RFC 7323, section 2.2).
        let most = value.parse::<usize>().map_err(|_| unknown())?.clamp(1, 1 << 30);
        config.receive_buffer.most = most.max(config.receive_buffer.initial);
        return Ok(());
    }
    if short == "tcp_fastopen_key" {
        system.cookie_key = Some(cookie::key(value).ok_or_else(unknown)?);
        return Ok(());
    }
    let read = |word: &str| match word.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => word.parse().ok(),
    };
    let numbers: Vec<u64> = value.split_whitespace().filter_map(read).collect();
    let number = *numbers.last().ok_or_else(unknown)?;
    if matches!(short, "tcp_ecn" | "ecn.enable") && number <= 5 {
        // 2 answers a peer that asks, and does not ask; from 3 on accurate ECN is answered too.
        config.ecn = matches!(number, 1 | 4);
        config.accurate_ecn = number == 3;
        system.answers_ecn = number > 0;
        system.answers_accurate_ecn = number > 2;
        return Ok(());
    }
    if short == "tcp_fastopen" {
        config.manner.sends_without_cookie = number & LINUX_CLIENT_WITHOUT_COOKIE != 0;
        config.manner.takes_without_cookie = number & LINUX_SERVER_WITHOUT_COOKIE != 0;
        system.clients_open_fast = number & LINUX_CLIENT != 0;
        let serves = number & LINUX_SERVER != 0;
        system.listeners_open_fast = serves && number & LINUX_EVERY_LISTENER != 0;
        return Ok(());
    }
    if short == "icmp_may_rst" {
        system.heeds_refusals = number != 0;
        return Ok(());
    }
    if short == "keepinit" {
        system.patience = (number / 1000) as i64;
    }
    system.keepalive = with_keepalive(system.keepalive, short, number);
    if let ("tcp_rmem" | "tcp_wmem", [_, initial, most]) = (short, &numbers[..]) {
        set_buffer(config, short, *initial, *most);
        return Ok(());
    }
    if set_switch(config, short, number) || set_number(config, short, number) {
        return Ok(());
    }
    Err(unknown())
}

/// Settings of Linux's `tcp_fastopen`: data on a SYN without a cookie, and listeners that take data
/// without being told to.
const LINUX_CLIENT: u64 = 0x1;
const LINUX_SERVER: u64 = 0x2;
const LINUX_CLIENT_WITHOUT_COOKIE: u64 = 0x4;
const LINUX_SERVER_WITHOUT_COOKIE: u64 = 0x200;
const LINUX_EVERY_LISTENER: u64 = 0x400;

/// Sets what packetdrill's suite sets before each script on Linux, and what Linux does besides: it
/// acknowledges the first segments of a connection at once, and holds no small segment back behind
/// full ones.
fn set_linux(system: &mut System) {
    system.listeners_open_fast = true;
    system.clients_open_fast = true;
    system.cookie_key = cookie::key("a1a1a1a1-b2b2b2b2-c3c3c3c3-d4d4d4d4");
    let config = &mut system.tcp;
    config.receive_buffer = BufferSize { initial: 540_000, most: 15 << 20 };
    config.send_buffer = BufferSize { initial: 256 << 10, most: 4 << 20 };
    config.manner = Manner { keeps_idle_window: true, ..Manner::LINUX };
    config.syn_retries = 5;
    config.nagle = false;
}

/// Sets a buffer that begins with `initial` bytes and grows up to `most`.
fn set_buffer(config: &mut TcpConfig, name: &str, initial: u64, most: u64) {
    let [initial, most] = [initial, most].map(|bytes| bytes.clamp(1, 1 << 30) as usize);
    let size = BufferSize { initial, most: most.max(initial) };
    if name == "tcp_rmem" {
        config.receive_buffer = size;
    } else {
        config.send_buffer = size;
    }
}

/// Sets what is on or off.
fn set_switch(config: &mut TcpConfig, name: &str, number: u64) -> bool {
    let on = number != 0;
    match name {
        "tcp_sack" | "sack.enable" => config.sack = on,
        "tcp_timestamps" => config.timestamps = on,
        "tcp_window_scaling" => config.window_scale = on,
        "insecure_rst" => config.manner.obeys_blind_resets = on,
        "insecure_syn" => config.manner.obeys_blind_syns = on,
        "drop_synfin" => config.manner.drops_syn_fin = on,
        "rfc1323" => (config.timestamps, config.window_scale) = (on, on),
        "rfc3042" => config.limited_transmit = on,
        "delayed_ack" => set_delayed(config, on),
        // It permits what each socket asks for.
        "fastopen.client_enable" | "fastopen.server_enable" => {}
        "tcp_recovery" | "tcp_early_retrans" => config.rack = on,
        "tcp_slow_start_after_idle" => config.manner.keeps_idle_window = !on,
        // The limit of what is not sent yet is no limit.
        "tcp_notsent_lowat" => return number >= u64::from(u32::MAX) >> 1,
        "tcp_frto" => config.f_rto = on,
        // What is not there is off.
        "tcp_thin_linear_timeouts" => return !on,
        _ => return false,
    }
    true
}

/// Acknowledges every second segment, or each.
fn set_delayed(config: &mut TcpConfig, on: bool) {
    if let AckPolicy::EverySegments { segments, .. } = &mut config.acks {
        *segments = if on { 2 } else { 1 };
    }
}

/// Sets what has a number; times of Linux are in seconds, those of FreeBSD in milliseconds.
fn set_number(config: &mut TcpConfig, name: &str, number: u64) -> bool {
    let seconds = Duration::from_secs(number);
    let millis = Duration::from_millis(number);
    let bytes = number.clamp(1, 1 << 30) as usize;
    let count = number.min(255) as u8;
    let keepalive = config.keepalive.unwrap_or_default();
    match name {
        "tcp_rmem" => config.receive_buffer = bytes.into(),
        "recvspace" => {
            config.receive_buffer.initial = bytes;
            config.receive_buffer.most = config.receive_buffer.most.max(bytes);
        }
        "tcp_wmem" | "sendspace" => config.send_buffer = bytes.into(),
        "tcp_syn_retries" | "tcp_synack_retries" | "syncache.rexmtlimit" => {
            config.syn_retries = count;
        }
        "tcp_retries2" => config.retries = count,
        "tcp_fin_timeout" => config.fin_wait = seconds,
        "finwait2_timeout" => config.fin_wait = millis,
        "msl" => config.time_wait = millis * 2,
        "rexmit_min" | "tcp_rto_min_ms" => config.timeout.minimum = millis,
        "tcp_rto_min_us" => config.timeout.minimum = Duration::from_micros(number),
        "rexmit_initial" => config.timeout.initial = millis,
        "delacktime" => {
            config.acks =
                AckPolicy::EverySegments { segments: 2, delay: millis, tick: Duration::ZERO };
        }
        "tcp_min_tso_segs" => config.manner.least_together = count.into(),
        "initcwnd_segments" => config.initial_window = number.clamp(1, 1000) as u16,
        "mssdflt" | "minmss" => {}
        // They hold for sockets that switch keepalives on.
        "tcp_keepalive_time"
        | "tcp_keepalive_intvl"
        | "tcp_keepalive_probes"
        | "keepidle"
        | "keepintvl"
        | "keepcnt"
        | "keepinit"
        | "always_keepalive" => {
            if config.keepalive.is_some() {
                config.keepalive = Some(with_keepalive(keepalive, name, number));
            }
        }
        _ => return false,
    }
    true
}

fn with_keepalive(keepalive: Keepalive, name: &str, number: u64) -> Keepalive {
    let seconds = Duration::from_secs(number);
    let millis = Duration::from_millis(number);
    match name {
        "tcp_keepalive_time" => Keepalive { idle: seconds, ..keepalive },
        "tcp_keepalive_intvl" => Keepalive { interval: seconds, ..keepalive },
        "keepidle" => Keepalive { idle: millis, ..keepalive },
        "keepintvl" => Keepalive { interval: millis, ..keepalive },
        "tcp_keepalive_probes" | "keepcnt" => {
            Keepalive { probes: number.min(255) as u8, ..keepalive }
        }
        _ => keepalive,
    }
}
