//! Metrics of routes as the kernel takes them.

use windfall_ip::RouteMetric;
use windfall_netlink::route;

/// The number of the least retransmission timeout among the metrics, for the mask of those that the
/// kernel may not change itself; it follows this one only where it is among them.
const RTO_MIN: u32 = 13;
/// The bytes by which the header of IPv6 is longer than that of IPv4.
const LONGER_HEADER: u32 = 20;

/// The metrics of a route to an address of IPv6, or of IPv4.
pub(crate) fn of_kernel(metrics: &[RouteMetric], is_v6: bool) -> Vec<route::RouteMetric> {
    metrics.iter().flat_map(|it| metric(it, is_v6)).collect()
}

fn metric(metric: &RouteMetric, is_v6: bool) -> Vec<route::RouteMetric> {
    vec![match metric {
        RouteMetric::AdvMss(bytes) => {
            route::RouteMetric::Advmss(bytes.saturating_sub(if is_v6 { LONGER_HEADER } else { 0 }))
        }
        RouteMetric::QuickAck(on) => route::RouteMetric::QuickAck((*on).into()),
        RouteMetric::Window(bytes) => route::RouteMetric::Window(*bytes),
        RouteMetric::InitCwnd(segments) => route::RouteMetric::InitCwnd(*segments),
        RouteMetric::RtoMin(time) => {
            let millis = u32::try_from(time.as_millis()).unwrap_or(u32::MAX);
            return vec![
                route::RouteMetric::Lock(1 << RTO_MIN),
                route::RouteMetric::RtoMin(millis),
            ];
        }
        RouteMetric::Congestion(name) => route::RouteMetric::CcAlgo((*name).to_owned()),
    }]
}
