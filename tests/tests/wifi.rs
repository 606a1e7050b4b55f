//! 802.11b/g against ns-3 and against closed forms.

#[path = "wifi/bianchi.rs"]
mod bianchi;
#[path = "wifi/capture.rs"]
mod capture;
#[path = "wifi/examples.rs"]
mod examples;
#[path = "wifi/infrastructure.rs"]
mod infrastructure;
#[path = "wifi/ns3.rs"]
mod ns3;
#[path = "wifi/rate_control.rs"]
mod rate_control;
