//! 802.11b/g against ns-3 and against closed forms.

mod bianchi;
mod capture;
mod combining;
mod contention;
mod elf;
mod equals;
mod examples;
mod flows;
mod infrastructure;
mod joint;
mod mixed;
mod ns3;
mod rate_control;
mod redundancy;
mod requests;
