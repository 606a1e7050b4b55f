//! The options of video that programs read from their users, and those that would change nothing.

use windfall_rtp::VideoCodec;
use windfall_socket::Carrier;

use crate::clip::VideoSource;
use crate::socket::VideoProtocol;

/// Reads a width and a height, as in `176x144`.
///
/// # Errors
/// Says how to write them.
pub fn parse_size(text: &str) -> Result<(u32, u32), String> {
    let parts = text.split_once('x').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
    parts.ok_or_else(|| "write width and height as 176x144".to_owned())
}

/// Reads a number of pictures a second.
///
/// # Errors
/// Says which numbers there are.
pub fn parse_rate(text: &str) -> Result<f64, String> {
    let rate = text.parse::<f64>().ok().filter(|rate| (0.1..=120.0).contains(rate));
    rate.ok_or_else(|| "use a number from 0.1 to 120".to_owned())
}

/// The first of some options that is given.
fn first<'a>(options: impl IntoIterator<Item = &'a (&'a str, bool)>) -> Option<&'a str> {
    options.into_iter().find(|(_, is_given)| *is_given).map(|(option, _)| *option)
}

impl VideoProtocol {
    /// Returns UDP-Lite with its carrier, UDP by default, or UDP, with which `options`, each with
    /// whether it is given, have no effect.
    ///
    /// # Errors
    /// If an option of UDP-Lite is given with UDP.
    pub fn of(
        is_lite: bool,
        carrier: Option<Carrier>,
        options: &[(&str, bool)],
    ) -> Result<Self, String> {
        if is_lite {
            return Ok(Self::UdpLite(carrier.unwrap_or(Carrier::Udp)));
        }
        match first(options.iter().chain([&("--carrier", carrier.is_some())])) {
            None => Ok(Self::Udp),
            Some(option) => Err(format!(
                "{option} is an option of UDP-Lite: remove it, or add --protocol udplite"
            )),
        }
    }
}

impl VideoSource {
    /// Refuses those `options` of an encoder, each with whether it is given, that have no effect on
    /// a coded stream, unless that `is_coded_anew`; and the repetition of headers where the stream
    /// is not of H.263. A source that is not coded yet is of `codec`.
    ///
    /// # Errors
    /// If there is such an option.
    pub fn check_effect(
        &self,
        codec: VideoCodec,
        is_coded_anew: bool,
        repeats: bool,
        options: &[(&str, bool)],
    ) -> Result<(), String> {
        let own = match self {
            Self::Stream(name, own, _) if !is_coded_anew => Some((name, *own)),
            _ => None,
        };
        if let (Some((name, _)), Some(option)) = (own, first(options)) {
            return Err(format!(
                "{name} is a coded stream, which is sent as it stands: remove {option}, or add \
                 --recode or --adapt, which code it anew"
            ));
        }
        let codec = own.map_or(codec, |(_, own)| own);
        if repeats && matches!(codec, VideoCodec::H264 | VideoCodec::H265) {
            let name = codec.name().replacen('H', "H.", 1);
            return Err(format!(
                "--repeat repeats headers of H.263, and {name} has none: remove it"
            ));
        }
        Ok(())
    }
}
