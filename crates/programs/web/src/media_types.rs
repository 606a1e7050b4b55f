//! Media types: lists with wildcards, and the type of a file by its name.

use core::fmt;
use core::str::FromStr;
use std::path::Path;

use hyper::HeaderMap;
use hyper::header::CONTENT_TYPE;

/// The most types of a list; a longer one is not believed.
const MOST: usize = 64;
/// The longest text of a list.
const LONGEST: usize = 2_048;

/// A list of media types, such as `image/jpeg, audio/*`.
///
/// A wildcard stands for all subtypes, `audio/*`, or for all types, `*/*`. Types are separated by
/// commas, spaces around them and empty elements are ignored, and so are parameters after `;`.
/// Letter case has no meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeList(Vec<String>);

/// The text is no list of media types.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no list of media types such as image/jpeg, audio/*")]
pub struct BadTypeList(String);

impl TypeList {
    /// Tells whether a media type, whose parameters are ignored, is in the list.
    #[must_use]
    pub fn matches(&self, media_type: &str) -> bool {
        let found = essence(media_type);
        let (kind, _) = found.split_once('/').unwrap_or_default();
        self.0.iter().any(|pattern| match pattern.split_once('/') {
            Some(("*", _)) => true,
            Some((of, "*")) => of == kind,
            _ => *pattern == found,
        })
    }
}

/// Returns a media type in lower case without parameters.
pub(crate) fn essence(media_type: &str) -> String {
    media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

impl FromStr for TypeList {
    type Err = BadTypeList;

    fn from_str(text: &str) -> Result<Self, BadTypeList> {
        let bad = || BadTypeList(text.chars().take(80).collect());
        if text.len() > LONGEST {
            return Err(bad());
        }
        let elements = text.split(',').map(essence).filter(|it| !it.is_empty());
        let types: Vec<String> = elements.collect();
        let are_types = types.iter().all(|it| is_pattern(it));
        if types.is_empty() || types.len() > MOST || !are_types {
            return Err(bad());
        }
        Ok(Self(types))
    }
}

impl fmt::Display for TypeList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(", "))
    }
}

/// Tells whether a text is a type and a subtype, or has a wildcard in the right place.
fn is_pattern(text: &str) -> bool {
    match text.split_once('/') {
        Some(("*", "*")) => true,
        Some((kind, "*")) => is_token(kind),
        Some((kind, subtype)) => is_token(kind) && is_token(subtype),
        None => false,
    }
}

/// Returns whether a part of a media type is a token.
fn is_token(part: &str) -> bool {
    !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || "!#$&-^_.+".contains(c))
}

/// Returns the media type that the headers of a reply name; none if they name several.
pub(crate) fn media_type(headers: &HeaderMap) -> String {
    let mut values = headers.get_all(CONTENT_TYPE).iter();
    let first = values.next().filter(|first| values.all(|other| other == *first));
    first.and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
}

/// Returns the media type of a file by the ending of its name.
pub(crate) fn of_file(path: &Path) -> String {
    let ending = path.extension().and_then(|it| it.to_str()).unwrap_or_default();
    match ending.to_ascii_lowercase().as_str() {
        "npy" => return "application/x-npy".to_owned(),
        "opus" => return "audio/ogg".to_owned(),
        _ => {}
    }
    let guess = mime_guess::from_path(path).first_raw().unwrap_or("application/octet-stream");
    if guess.starts_with("text/") {
        return format!("{guess}; charset=utf-8");
    }
    guess.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> TypeList {
        text.parse().expect(text)
    }

    //= S0.39
    #[test]
    fn lists_have_several_types_with_spaces_and_wildcards() {
        let types = list(" image/jpeg ,audio/*,, Application/X-NPY;q=0.5 ");
        for found in ["image/jpeg", "IMAGE/JPEG; q=1", "audio/ogg", "application/x-npy"] {
            assert!(types.matches(found), "{found}");
        }
        for other in ["image/png", "image/jpeg2000", "video/mp4", "text/html", "audio", ""] {
            assert!(!types.matches(other), "{other}");
        }
        assert!(list("*/*").matches("text/html"));
        assert_eq!(list("a/b,c/*").to_string(), "a/b, c/*");
    }

    //= S0.39
    #[test]
    fn what_is_no_list_of_types_is_refused() {
        let many = "a/b,".repeat(MOST + 1);
        let long = format!("a/{}", "b".repeat(LONGEST));
        for text in ["", ",", "image", "*", "*/jpeg", "a/b/c", "a b/c", "a/b c/d", &many, &long] {
            assert!(text.parse::<TypeList>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_reply_has_one_type_or_none() {
        for (values, expected) in [
            (&["image/jpeg"][..], "image/jpeg"),
            (&["image/jpeg", "image/jpeg"], "image/jpeg"),
            (&["image/jpeg", "text/html"], ""),
            (&[], ""),
        ] {
            let lines = values.iter().map(|it| (CONTENT_TYPE, it.parse().expect("a value")));
            let mut headers = HeaderMap::new();
            lines.for_each(|(name, value)| _ = headers.append(name, value));
            assert_eq!(media_type(&headers), expected, "{values:?}");
        }
    }

    #[test]
    fn files_have_the_type_of_their_ending() {
        for (name, found) in [
            ("a.html", "text/html; charset=utf-8"),
            ("a.JPG", "image/jpeg"),
            ("a.npy", "application/x-npy"),
            ("a.opus", "audio/ogg"),
            ("a.unheard-of", "application/octet-stream"),
            ("a", "application/octet-stream"),
        ] {
            assert_eq!(of_file(Path::new(name)), found, "{name}");
        }
    }
}
