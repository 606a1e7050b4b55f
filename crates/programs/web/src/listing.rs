//! The page that lists a folder.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;

use percent_encoding::{AsciiSet, CONTROLS, percent_encode};

/// The characters that a path in a link cannot hold as they are; browsers read a backslash as a
/// slash.
const NOT_IN_PATHS: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'\\')
    .add(b'`');

/// Quotes a path for a link or a header.
pub(crate) fn quoted(path: &OsStr) -> String {
    percent_encode(path.as_bytes(), NOT_IN_PATHS).to_string()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Returns the page of a folder; the names of folders end in a slash.
pub(crate) fn page(path: &str, names: &[OsString], is_cut: bool) -> String {
    let title = escaped(path);
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
         </head>\n<body><h1>{title}</h1>\n<ul>\n"
    );
    if path != "/" {
        page.push_str("<li><a href=\"../\">../</a></li>\n");
    }
    for name in names {
        // A name with a colon would be taken as the scheme of an address without the "./".
        let shown = escaped(&name.to_string_lossy());
        let to = escaped(&quoted(name));
        let _ = writeln!(page, "<li><a href=\"./{to}\">{shown}</a></li>");
    }
    page.push_str("</ul>\n");
    if is_cut {
        page.push_str("<p>There are more files.</p>\n");
    }
    page.push_str("</body></html>\n");
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_and_quoted() {
        let names = ["a b.txt", "<i>\"&.jpg", "100%/", "back\\slash"].map(OsString::from);
        let page = page("/x&y/", &names, true);
        assert!(page.contains("<title>/x&amp;y/</title>"), "{page}");
        assert!(page.contains("<a href=\"./a%20b.txt\">a b.txt</a>"), "{page}");
        assert!(page.contains("href=\"./%3Ci%3E%22&amp;.jpg\">&lt;i&gt;&quot;&amp;.jpg"), "{page}");
        assert!(page.contains("href=\"./100%25/\""), "{page}");
        assert!(page.contains("href=\"./back%5Cslash\""), "{page}");
        let latin = quoted(OsStr::from_bytes(b"caf\xe9"));
        assert_eq!(latin, "caf%E9");
        assert!(page.contains("../") && page.contains("more files"), "{page}");
    }
}
