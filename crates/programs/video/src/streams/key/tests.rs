use std::os::unix::fs::PermissionsExt as _;

use super::*;

/// A file of this name, text and mode, in a folder of this process.
fn file(name: &str, text: &str, mode: u32) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("windfall-key-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join(name);
    std::fs::write(&path, text).expect("a file");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("its owner");
    path
}

#[test]
fn a_key_that_others_may_have_written_or_know_is_refused() {
    let key = "5a".repeat(32);
    for (mode, said) in [
        (0o600, None),
        (0o400, None),
        (0o640, Some("others can read it (mode 640)")),
        (0o604, Some("others can read it (mode 604)")),
        (0o620, Some("others can write it (mode 620)")),
        (0o602, Some("others can write it (mode 602)")),
        (0o666, Some("others can write it (mode 666)")),
    ] {
        let error = read(&file("mode", &key, mode)).err().map(|error| error.to_string());
        assert_eq!(error.is_some(), said.is_some(), "{mode:o}: {error:?}");
        assert!(error.unwrap_or_default().starts_with(said.unwrap_or_default()), "{mode:o}");
    }
}

#[test]
fn a_file_without_a_whole_key_is_refused_and_says_why() {
    for (text, said) in [
        ("", "it is empty: remove it"),
        (" \n", "it is empty: remove it"),
        ("5a5a\n", "it holds 4 characters, not 64"),
        (&"zz".repeat(32), "it holds 64 characters, not 64 hexadecimal"),
        (&"5a".repeat(3_000), "it is longer than 4096 bytes"),
    ] {
        let error = read(&file("text", text, 0o600)).expect_err("no key").to_string();
        assert!(error.contains(said), "{text:?}: {error}");
    }
}

#[test]
fn a_key_in_a_folder_that_everybody_may_write_is_refused_unless_only_owners_replace_files() {
    let folder = windfall_testkit::folder::Folder::new("key-folder");
    let path = folder.path().join("key");
    let link = folder.path().join("link");
    std::fs::write(&path, "5a".repeat(32)).expect("a file");
    std::os::unix::fs::symlink("key", &link).expect("a link");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("its owner");
    for (mode, is_refused) in [(0o755, false), (0o775, false), (0o777, true), (0o1777, false)] {
        let rights = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(folder.path(), rights).expect("its owner");
        for place in [&path, &link] {
            let error = read(place).err().map(|error| error.to_string());
            assert_eq!(error.is_some(), is_refused, "{mode:o}: {error:?}");
            assert!(error.is_none_or(|it| it.contains("(mode 777 of its folder)")), "{mode:o}");
        }
    }
}

#[test]
fn a_device_without_a_key_is_not_to_be_removed() {
    let error = read("/dev/null".as_ref()).expect_err("no key").to_string();
    assert!(error.starts_with("it holds no key: name a file"), "{error}");
}

#[test]
fn a_key_of_another_user_is_refused_and_one_of_root_is_taken() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let key = "5a".repeat(32);
    let path = file("owner", &key, 0o444);
    std::os::unix::fs::chown(&path, Some(4_711), None).expect("root may");
    let error = read(&path).expect_err("another user's").to_string();
    assert!(error.starts_with("it belongs to user 4711"), "{error}");
    assert!(read(&file("root", &key, 0o400)).is_ok());
}
