//! Users and passwords in addresses, which no log and no message shows.

/// Returns an address or the target of a request without the user and the password that it may name
/// before an `@`, which belong into no log and no message.
pub(crate) fn without_user(text: &str) -> String {
    let start = text
        .find("://")
        .filter(|at| text[..*at].bytes().all(|c| c.is_ascii_alphanumeric() || b"+-.".contains(&c)))
        .map_or(0, |at| at + 3);
    let rest = &text[start..];
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    match authority.rfind('@') {
        Some(at) => format!("{}...{}", &text[..start], &rest[at..]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_and_passwords_are_not_shown() {
        for (text, shown) in [
            ("http://me:secret@host:80/a@b", "http://...@host:80/a@b"),
            ("http://me@secret@host", "http://...@host"),
            ("me:secret@host:443", "...@host:443"),
            ("http://host/a@b?c@d", "http://host/a@b?c@d"),
            ("/a@b?u=http://x@y", "/a@b?u=http://x@y"),
            ("*", "*"),
        ] {
            assert_eq!(without_user(text), shown, "{text}");
        }
    }
}
