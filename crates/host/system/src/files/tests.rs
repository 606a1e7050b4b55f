use std::os::unix::fs::symlink;

use windfall_testkit::folder::Folder;

use super::*;

#[test]
fn a_link_to_nothing_is_followed_and_stays() {
    let folder = Folder::new("files-dangling");
    let link = folder.path().join("link");
    let file = folder.path().join("file");
    let middle = folder.path().join("middle");
    symlink("middle", &link).expect("a link");
    symlink(&file, &middle).expect("a link");
    replace(&link, b"one").expect("it is written");
    assert_eq!(fs::read(&file).expect("it is there"), b"one");
    replace(&link, b"two").expect("it is written");
    assert_eq!(fs::read(&file).expect("it is there"), b"two");
    for link in [&link, &middle] {
        assert!(fs::symlink_metadata(link).expect("it stands").is_symlink());
    }
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 3);
}

#[test]
fn a_file_has_no_name_before_it_is_whole() {
    let folder = Folder::new("files-nameless");
    let file = folder.path().join("file");
    let count = || fs::read_dir(folder.path()).expect("a folder").count();
    let mut replacement = Replacement::begin(&file).expect("it is made");
    replacement.write_all(b"whole").expect("room");
    if replacement.is_named {
        windfall_testkit::skip!("this file system makes no file without a name");
    }
    assert_eq!(count(), 0);
    // A program that had this number and was killed as it named its file.
    let left = folder.path().join(format!(".file.{}", std::process::id()));
    fs::write(&left, "a part").expect("a file");
    replacement.place().expect("it takes its place");
    assert_eq!((fs::read(&file).expect("it is there"), count()), (b"whole".to_vec(), 1));
    drop(Replacement::begin(&file).expect("it is made"));
    assert_eq!((fs::read(&file).expect("it stays"), count()), (b"whole".to_vec(), 1));
}

#[test]
fn a_file_opened_early_leaves_nothing_even_if_its_program_is_killed() {
    let folder = Folder::new("files-pending");
    let file = folder.path().join("file");
    let count = || fs::read_dir(folder.path()).expect("a folder").count();
    let pending = PendingFile::open(&file).expect("it is made");
    if pending.state.get() != Pending::Nameless {
        windfall_testkit::skip!("this file system makes no file without a name");
    }
    // Whoever is killed now leaves what is there: nothing.
    assert_eq!(count(), 0);
    pending.fill(b"whole").expect("it is written");
    assert_eq!((fs::read(&file).expect("it is there"), count()), (b"whole".to_vec(), 1));
    // What was there stays until all of the new content is.
    let pending = PendingFile::open(&file).expect("it is there");
    assert_eq!(fs::read(&file).expect("it stays"), b"whole");
    pending.fill(b"new").expect("it is written");
    assert_eq!((fs::read(&file).expect("it is there"), count()), (b"new".to_vec(), 1));
    // A file that grows has its name from its beginning, also where another came meanwhile.
    let growing = folder.path().join("growing");
    let pending = PendingFile::open(&growing).expect("it is made");
    fs::write(&growing, "of another").expect("room");
    pending.begin().expect("it gets its name").as_ref().write_all(b"a part").expect("room");
    assert_eq!(fs::read(&growing).expect("it is there"), b"a part");
    // Early errors stay early.
    for bad in ["none/file", "file/below", "folder/", "."] {
        assert!(PendingFile::open(&folder.path().join(bad)).is_err(), "{bad}");
    }
    let long = folder.path().join("n".repeat(300));
    assert!(PendingFile::open(&long).is_err(), "the name is too long");
}

#[test]
fn the_name_of_the_standard_output_is_no_file() {
    let dash = Path::new("-");
    for error in [write(dash, b"").err(), replace(dash, b"").err(), make_folder(dash).err()] {
        assert!(error.expect("it is refused").to_string().contains("/dev/stdout"));
    }
    assert!(!dash.exists());
}

#[test]
fn links_in_a_circle_are_an_error_and_stay() {
    let folder = Folder::new("files-circle");
    let one = folder.path().join("one");
    let other = folder.path().join("other");
    symlink("other", &one).expect("a link");
    symlink("one", &other).expect("a link");
    let error = replace(&one, b"lost").expect_err("there is no file");
    assert_eq!(error.raw_os_error(), Some(Errno::LOOP.raw_os_error()));
    assert!(fs::symlink_metadata(&one).expect("it stands").is_symlink());
}

#[test]
fn a_link_into_a_folder_that_is_missing_is_an_error() {
    let folder = Folder::new("files-missing");
    let link = folder.path().join("link");
    symlink("none/file", &link).expect("a link");
    let error = replace(&link, b"lost").expect_err("there is no folder");
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[test]
fn a_place_is_checked_and_everything_stays() {
    let folder = Folder::new("files-place");
    let file = folder.path().join("file");
    let new = folder.path().join("new");
    fs::write(&file, "kept").expect("a file");
    check_place(&file).expect("it can be written");
    check_place(&new).expect("it can be made");
    check_place(Path::new("/dev/null")).expect("it takes everything");
    assert_eq!(fs::read_to_string(&file).expect("it is there"), "kept");
    assert!(!new.exists());
    check_place(folder.path()).expect_err("it is a folder");
    check_place(&folder.path().join("none/file")).expect_err("there is no folder");
    let mut used = UsedFiles::default();
    used.write_at_end("--page", &file).expect("it can be written");
    let refusal = used.write_at_end("--junit", &file).expect_err("one place, two files");
    assert!(refusal.contains("the file of --page"), "{refusal}");
    let refusal = used.write_at_end("--summary", folder.path()).expect_err("it is a folder");
    assert!(refusal.starts_with("cannot write "), "{refusal}");
}

#[test]
fn devices_are_written_as_they_stand() {
    let null = Path::new("/dev/null");
    replace(null, b"nothing").expect("it takes everything");
    write(null, b"nothing").expect("it takes everything");
    assert!(!fs::metadata(null).expect("it is there").is_file());
    let error = replace(Path::new("/dev/full"), b"much").expect_err("it is full");
    assert_eq!(error.kind(), ErrorKind::StorageFull);
}

#[test]
fn two_names_of_one_file_are_refused_and_devices_are_not() {
    let folder = std::env::temp_dir().join(format!("windfall-distinct-{}", std::process::id()));
    fs::create_dir(&folder).expect("a folder");
    let film = folder.join("film");
    let link = folder.join("link");
    let new = folder.join("new");
    fs::write(&film, "film").expect("a file");
    std::os::unix::fs::symlink("film", &link).expect("a link");
    let null = Path::new("/dev/null");
    let refused = |a: &Path, b: &Path| distinct(&[("it", Some(a)), ("--out", Some(b))]).is_err();
    assert!(refused(&film, &film) && refused(&film, &link) && refused(&new, &new));
    assert!(!refused(&film, &new) && !refused(null, null));
    assert_eq!(distinct(&[("it", Some(&film)), ("--out", None)]), Ok(()));
    fs::remove_dir_all(&folder).expect("it was made here");
}

#[test]
fn a_named_pipe_is_opened_once_a_program_reads_it_and_does_not_wait_for_it() {
    use std::io::Read as _;
    let folder = Folder::new("files-pipe");
    let pipe = folder.path().join("pipe");
    let mode = Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).expect("a pipe");
    let error = open_pipe(&pipe).expect_err("no reader");
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    let flags = OFlags::RDONLY | OFlags::NONBLOCK;
    let mut reader = File::from(rustix::fs::open(&pipe, flags, Mode::empty()).expect("a reader"));
    let writer = open_pipe(&pipe).expect("a reader").expect("a pipe");
    assert!(!rustix::fs::fcntl_getfl(&writer).expect("open").contains(OFlags::NONBLOCK));
    (&writer).write_all(b"whole").expect("room");
    drop(writer);
    let mut text = String::new();
    reader.read_to_string(&mut text).expect("text");
    assert_eq!(text, "whole");
    for none in ["/dev/null", "nothing"] {
        assert!(open_pipe(Path::new(none)).expect("no error").is_none(), "{none}");
    }
}
