//! The headers with which a client offers to receive a body over SAP.

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
