use super::*;

#[test]
fn comments_and_literals_are_blanked() {
    let cases = [
        ("a // b\nc", "a     \nc"),
        ("a /* b /* c */ d */ e", "a                   e"),
        (r#"f("b\"c") d"#, r#"f(      ) d"#),
        ("f(r#\"a\"b\"#)", "f(        )"),
        ("f(b\"ab\", br\"c\")", "f(     ,      )"),
        ("'a' b '\\n' c '\\u{1f}'", "    b      c         "),
        ("&'a str", "&'a str"),
        ("for_r\"x\"", "for_r   "),
    ];
    for (text, expected) in cases {
        assert_eq!(blank(text), expected, "{text}");
    }
}

#[test]
fn unfinished_literals_reach_to_the_end() {
    for text in ["\"abc", "r#\"abc\"", "/* abc", "'", "b'", "r#abc"] {
        assert_eq!(blank(text).lines().count(), text.lines().count(), "{text}");
    }
}

#[test]
fn functions_are_measured_from_their_name_to_their_brace() {
    let code = "\
impl A {
    pub(crate) const fn one(
        a: u8,
    ) -> u8 {
        if a {
        }
    }

    fn none(&self);
    fn two() {}
}
";
    let found: Vec<_> = functions(code).into_iter().map(|f| (f.name, f.line, f.lines)).collect();
    assert_eq!(found, [("one", 2, 6)]);
}

#[test]
fn inline_tests_are_no_code() {
    let code = "fn a() {}\n\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\nfn c() {}\n";
    assert_eq!(test_regions(code).first(), Some(&(2..6)));
    assert_eq!(code_lines(code), 2);
}
