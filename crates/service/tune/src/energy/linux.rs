//! How Linux is told of a setting, and where it cannot be.

use serde::Serialize;

use super::search::Choice;
use super::tuned::{HEADERS, TunedSetting};

/// The ways to tell Linux of the value of one setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LinuxAdvice {
    /// The name of the setting.
    pub setting: &'static str,
    /// The value of the setting.
    pub value: String,
    /// Commands of the shell, with `DEV`, `PHY` and `PREFIX` for what is the machine's own.
    pub commands: Vec<String>,
    /// A call on a socket, for one program alone.
    pub socket_call: Option<String>,
    /// The reason why Linux cannot be told.
    pub cannot: Option<String>,
}

impl LinuxAdvice {
    /// Says how Linux is told of the value of a setting that was found. `mtu` is the longest packet
    /// that the link is to take, if it took less.
    pub(super) fn of(found: &Choice, setting: TunedSetting, value: &str, mtu: Option<u16>) -> Self {
        let own = |commands| Self {
            setting: setting.name(),
            value: value.to_owned(),
            commands,
            socket_call: None,
            cannot: None,
        };
        let switch =
            |key: &str| own(vec![format!("sysctl -w net.ipv4.{key}={}", u8::from(value == "on"))]);
        match setting {
            TunedSetting::Mss => {
                let mtu = mtu.map(|mtu| format!("ip link set dev DEV mtu {mtu}"));
                let route = format!("ip route change PREFIX dev DEV advmss {value}");
                let call = format!("setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, {value})");
                let commands = mtu.into_iter().chain([route]).collect();
                Self { socket_call: Some(call), ..own(commands) }
            }
            TunedSetting::Sack => switch("tcp_sack"),
            TunedSetting::Timestamps => switch("tcp_timestamps"),
            TunedSetting::WindowScale => switch("tcp_window_scaling"),
            TunedSetting::DelayedAck if value == "off" => {
                let call = "setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, 1), again after each read";
                // A change of a route drops what an earlier one gave it.
                let mss = found.get(&TunedSetting::Mss).map(|mss| format!("advmss {mss} "));
                let mss = mss.unwrap_or_default();
                let route = format!("ip route change PREFIX dev DEV {mss}quickack 1");
                Self { socket_call: Some(call.to_owned()), ..own(vec![route]) }
            }
            TunedSetting::DelayedAck => {
                let reason = if is_own_way(value) {
                    "it is the kernel's own way"
                } else {
                    "the kernel acknowledges every second full segment at the latest, and never \
                     waits beyond 200 ms"
                };
                Self { cannot: Some(reason.to_owned()), ..own(Vec::new()) }
            }
            TunedSetting::RtsThreshold => {
                let frames = if value == "2347" { "off" } else { value };
                own(vec![format!("iw phy PHY set rts {frames}")])
            }
            TunedSetting::Rate => {
                let rate = value.trim_end_matches("Mbps");
                own(vec![format!("iw dev DEV set bitrates legacy-2.4 {rate}")])
            }
            TunedSetting::Power => {
                // iw counts in hundredths of a dBm.
                let dbm = value.trim_end_matches("dBm").parse::<f64>().unwrap_or(0.0);
                own(vec![format!("iw dev DEV set txpower fixed {:.0}", dbm * 100.0)])
            }
        }
    }

    /// Tells whether it is a setting of TCP that kernels have.
    pub(super) fn is_of_kernel(&self, setting: TunedSetting) -> bool {
        setting.is_of_tcp() && self.cannot.is_none()
    }
}

/// Tells whether acknowledgments come when a kernel gives them without being asked.
fn is_own_way(value: &str) -> bool {
    value.starts_with("every:2:40ms")
}

/// The longest packet that segments of this size need.
pub(super) fn mtu_of(mss: &str) -> Option<u16> {
    mss.parse::<u16>().ok()?.checked_add(HEADERS)
}
