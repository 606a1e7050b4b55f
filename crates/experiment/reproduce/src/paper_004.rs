//! Welzl, Rossi, Fumagalli and Tacca, *TCP/IP over IEEE 802.11b WLAN: the Challenge of Harnessing
//! Known-Corrupt Data*.

pub(crate) mod benefits;
