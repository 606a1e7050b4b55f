//! The page: one document with its style and its script, which loads nothing else.

/// The document, with places for the other two.
const PAGE: &str = include_str!("../../page/page.html");
const STYLE: &str = include_str!("../../page/style.css");
const SCRIPT: &str = include_str!("../../page/script.js");

/// Returns the page; its script has the `nonce` without which a browser runs none.
pub(crate) fn page(nonce: &str) -> String {
    let page = PAGE.replace("/*STYLE*/", STYLE).replace("/*SCRIPT*/", SCRIPT);
    page.replace("NONCE", nonce)
}

/// Returns the policy by which a browser loads, runs and sends nothing that is not the page's own.
pub(crate) fn policy(nonce: &str) -> String {
    format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; \
         connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_one_document_that_loads_nothing() {
        let page = page("abc");
        assert!(page.contains("<script nonce=\"abc\">") && page.contains("<style nonce=\"abc\">"));
        for place in ["/*STYLE*/", "/*SCRIPT*/", "NONCE", " src=", "//cdn", "https://", "@import"] {
            assert!(!page.contains(place), "{place}");
        }
        // What a run says is text, never part of the document.
        for way in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("] {
            assert!(!page.contains(way), "{way}");
        }
        assert!(policy("abc").starts_with("default-src 'none'; script-src 'nonce-abc'"));
    }
}
