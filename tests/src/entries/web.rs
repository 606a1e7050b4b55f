//! The headers with which a client offers to receive a body over SAP, and the messages of bodies.

use bytes::Bytes;
use windfall_bodies::Control;
use windfall_web::{HeaderMap, HeaderName, HeaderValue, SapOffer};

/// The lines of a head, `name:value`, as the offer of a request.
pub fn sap_offer(bytes: &[u8]) {
    let mut headers = HeaderMap::new();
    for line in bytes.split(|byte| *byte == b'\n').take(100) {
        let mut parts = line.splitn(2, |byte| *byte == b':');
        let name = parts.next().and_then(|name| HeaderName::from_bytes(name).ok());
        let value = parts.next().and_then(|value| HeaderValue::from_bytes(value).ok());
        if let Some((name, value)) = name.zip(value) {
            headers.append(name, value);
        }
    }
    if let Some(offer) = SapOffer::from_headers(&headers) {
        let mut again = HeaderMap::new();
        offer.write(&mut again);
        assert_eq!(SapOffer::from_headers(&again), Some(offer));
    }
}

/// A control message of a body, which is written the same as it was read.
pub fn body_control(bytes: &[u8]) {
    let bytes = Bytes::copy_from_slice(bytes);
    match Control::decode(bytes.clone()) {
        Ok((transfer, control)) => {
            assert_eq!(control.encode(transfer), bytes);
            let Control::Plan(plan, exact) = control else { return };
            let sum = |ranges: &[core::ops::Range<u32>]| -> u32 {
                ranges.iter().map(|range| range.end - range.start).sum()
            };
            assert_eq!(sum(&plan.exact) + sum(&plan.gaps()), plan.length);
            assert!(exact.len() <= sum(&plan.exact) as usize);
            assert!(plan.pieces() <= plan.length);
        }
        Err(why) => assert!(!why.to_string().is_empty()),
    }
}
