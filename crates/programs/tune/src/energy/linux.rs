//! How Linux is told of a setting, and where it cannot be.

use serde::Serialize;
use windfall_ip::RouteMetric;
use windfall_settings::tcp::KernelWay;

use super::search::Choice;
use super::tuned::{HEADERS, JOINT, TunedSetting};

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
        if let Some(row) = setting.of_tcp() {
            let way = row.kernel_way(value);
            let way = way.unwrap_or(KernelWay::Cannot("it is no value of this setting"));
            return Self { setting: row.name, value: value.to_owned(), ..told(&way, found, mtu) };
        }
        match setting {
            TunedSetting::RtsThreshold => {
                let frames = if value == "2347" { "off" } else { value };
                own(vec![format!("iw phy PHY set rts {frames}")])
            }
            TunedSetting::Rate if value == JOINT => Self {
                cannot: Some("no driver codes frames of 802.11 so".to_owned()),
                ..own(Vec::new())
            },
            TunedSetting::Rate => {
                let rate = value.trim_end_matches("Mbps");
                own(vec![format!("iw dev DEV set bitrates legacy-2.4 {rate}")])
            }
            _ => {
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

/// The commands that tell a kernel of a setting of TCP in this way.
fn told(way: &KernelWay, found: &Choice, mtu: Option<u16>) -> LinuxAdvice {
    let mut commands = Vec::new();
    let mut socket_call = None;
    let mut cannot = None;
    match way {
        KernelWay::Route(RouteMetric::AdvMss(bytes)) => {
            commands.extend(mtu.map(|mtu| format!("ip link set dev DEV mtu {mtu}")));
            commands.push(format!("ip route change PREFIX dev DEV advmss {bytes}"));
            socket_call = Some(format!("setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, {bytes})"));
        }
        KernelWay::Route(metric) => {
            // A change of a route drops what an earlier one gave it.
            let mss = found.get(&TunedSetting::Mss).map(|mss| format!("advmss {mss} "));
            let mss = mss.unwrap_or_default();
            commands.push(format!("ip route change PREFIX dev DEV {mss}{metric}"));
            if matches!(metric, RouteMetric::QuickAck(true)) {
                let call = "setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, 1), again after each read";
                socket_call = Some(call.to_owned());
            }
        }
        KernelWay::Parameter(key, value) => commands.push(format!("sysctl -w {key}={value}")),
        KernelWay::AsItIs => cannot = Some("it is the kernel's own way".to_owned()),
        KernelWay::Cannot(reason) => cannot = Some((*reason).to_owned()),
    }
    LinuxAdvice { setting: "", value: String::new(), commands, socket_call, cannot }
}

/// The longest packet that segments of this size need.
pub(super) fn mtu_of(mss: &str) -> Option<u16> {
    mss.parse::<u16>().ok()?.checked_add(HEADERS)
}
