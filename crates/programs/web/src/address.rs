//! Addresses of files, as users write them.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

use hyper::Uri;

use crate::fetch_error::check_authority;
use crate::userinfo::without_user;

/// The name of a file whose address ends in a slash.
const INDEX: &str = "index.html";

/// Returns the name of the file at an address, with escapes as what they stand for, unless that
/// would be a path.
#[must_use]
pub fn file_name(url: &Uri) -> OsString {
    let escaped = url.path().rsplit('/').next().unwrap_or_default();
    let name: Vec<u8> = percent_encoding::percent_decode_str(escaped).collect();
    let name = if name.contains(&b'/') || name.contains(&0) { escaped.into() } else { name };
    let name = if [&b""[..], b".", b".."].contains(&name.as_slice()) { INDEX.into() } else { name };
    OsString::from_vec(name)
}

/// Reads an address of HTTP.
///
/// # Errors
/// If it has no scheme or another one, or is none: says how to write it.
pub fn parse_address(text: &str) -> Result<Uri, String> {
    let Some((scheme, _)) = text.split_once("://") else {
        let whole = without_user(&format!("http://{text}"));
        return Err(format!("an address begins with its scheme: {whole}"));
    };
    if scheme.eq_ignore_ascii_case("https") {
        return Err(
            "https is encrypted between the server and a browser, and does not travel over \
                    SAP: fetch it with another program, or by http"
                .to_owned(),
        );
    }
    if !scheme.eq_ignore_ascii_case("http") {
        return Err(format!("{scheme} is no scheme that windfall speaks: http"));
    }
    let uri: Uri = text.parse().map_err(|error| format!("{error}"))?;
    check_authority(&uri).map_err(|error| error.to_string())?;
    Ok(uri)
}
