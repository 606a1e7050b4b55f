//! Whether the settings of a GSM circuit fit together.

use toml::Spanned;
use windfall_link::Arq;
use windfall_settings::Get;

use super::{Checked, check_no_wire, check_pipe};
use crate::direction::Direction;
use crate::error::SettingFault;
use crate::link::Link;

/// Only RLP can end behind a tunnel: what it loses is sent again.
pub(super) fn check_tunnel(link: &Link) -> Checked {
    let Some(tunnel) = &link.tunnel else { return Ok(()) };
    if !link.kind().is_circuit() {
        let message = "only a gsm circuit has a tunnel: remove it, or use kind = \"gsm\"";
        return Err(SettingFault::at(tunnel.span(), message));
    }
    if matches!(link.both.arq.value(), None | Some(Arq::None)) {
        let message = "a tunnel carries frames of RLP: add arq = \"6\", or remove tunnel";
        return Err(SettingFault::at(tunnel.span(), message));
    }
    Ok(())
}

/// Modems correct errors on the transparent service of a circuit.
pub(super) fn check_modem(link: &Link) -> Checked {
    let Some(modem) = &link.modem else { return Ok(()) };
    if !link.kind().is_circuit() {
        let message = "only a gsm circuit has modems: remove modem, or use kind = \"gsm\"";
        return Err(SettingFault::at(modem.span(), message));
    }
    if !matches!(link.both.arq.value(), None | Some(Arq::None)) {
        let message = "modems correct errors on the transparent service: remove arq, or modem";
        return Err(SettingFault::at(modem.span(), message));
    }
    Ok(())
}

/// A circuit has one rate and one service, and codes its blocks itself.
pub(super) fn check_gsm(link: &Link) -> Checked {
    check_pipe(link)?;
    check_no_wire(link, "gsm circuit")?;
    for direction in [&link.both, &link.uplink, &link.downlink] {
        let Direction { rate, rate_trace, policy, fec, combine, expose, .. } = direction;
        let spans = [rate.as_ref().map(Spanned::span), rate_trace.as_ref().map(Spanned::span)];
        if let Some(span) = spans.into_iter().flatten().next() {
            let message = "a gsm circuit has 9.6 kb/s: remove the rate, or use kind = \"pipe\"";
            return Err(SettingFault::at(span, message));
        }
        if let Some(policy) = policy {
            let message = "a gsm circuit has a code of its own: remove policy, or use arq";
            return Err(SettingFault::at(policy.span(), message));
        }
        if let Some(fec) = fec {
            let message = "a gsm circuit has a code of its own: remove fec, or use arq";
            return Err(SettingFault::at(fec.span(), message));
        }
        if let Some(combine) = combine {
            let message = "a gsm circuit combines no copies: remove combine";
            return Err(SettingFault::at(combine.span(), message));
        }
        if let Some(expose) = expose {
            let message = "the air may damage every bit of a gsm block: remove expose";
            return Err(SettingFault::at(expose.span(), message));
        }
    }
    check_damage_of_circuit(link)?;
    for direction in [&link.uplink, &link.downlink] {
        if let Some(arq) = &direction.arq {
            let message = "both directions of a gsm circuit have one service: set arq on the link";
            return Err(SettingFault::at(arq.span(), message));
        }
    }
    Ok(())
}

/// Refuses to pass up damage where errors are corrected.
fn check_damage_of_circuit(link: &Link) -> Checked {
    let correction = match (&link.modem, link.both.arq.value()) {
        (Some(_), _) => "modem",
        (None, Some(Arq::Attempts(_) | Arq::Persistent)) => "arq",
        _ => return Ok(()),
    };
    for direction in [&link.both, &link.uplink, &link.downlink] {
        if let Some(accept) = direction.accept_damaged.as_ref().filter(|it| *it.get_ref()) {
            let message = format!(
                "a gsm circuit with {correction} delivers nothing that is damaged: remove \
                 accept-damaged, or {correction}"
            );
            return Err(SettingFault::at(accept.span(), message));
        }
    }
    Ok(())
}
