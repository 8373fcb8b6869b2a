//! Files of users: what is written appears whole and replaces nothing of others, what is mapped may
//! be cut short.
#![allow(clippy::unwrap_used, clippy::panic)]

use cloakwork_formats::files::{
    Access, FolderLock, Pending, Watch, claim, commit, is_mapped, read, save_bytes,
};
use cloakwork_formats::{LoadError, SaveError};
use cloakwork_ir::Bytes;
use cloakwork_process::Reading;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn refusal(result: Result<(), SaveError>) -> String {
    match result.unwrap_err() {
        SaveError::Target { got, .. } => got.into(),
        other => panic!("{other}"),
    }
}

#[test]
fn only_new_names_and_regular_files_are_written_to() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("file"), "old").unwrap();
    fs::create_dir(path("dir")).unwrap();
    symlink("file", path("link")).unwrap();
    symlink("nowhere", path("dangling")).unwrap();
    let socket = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, path("pipe"), 0o600.into()).unwrap();
    for (name, words) in [
        ("dir", "a folder"),
        ("link", "a symbolic link to file"),
        ("dangling", "a symbolic link to nowhere"),
        ("socket", "a socket"),
        ("pipe", "a pipe"),
    ] {
        let before = fs::symlink_metadata(path(name)).unwrap().ino();
        assert_eq!(refusal(claim(&[path(name)], &[])), words);
        assert_eq!(
            refusal(save_bytes(path(name), Access::Shared, &[b"x"])),
            words
        );
        assert_eq!(fs::symlink_metadata(path(name)).unwrap().ino(), before);
    }
    drop(socket);
    assert_eq!(refusal(claim(&["/dev/null".into()], &[])), "a device");
    claim(&[path("file"), path("new")], &[path("other"), path("dir")]).unwrap();
    save_bytes(path("file"), Access::Shared, &[b"new", b"er"]).unwrap();
    assert_eq!(fs::read(path("file")).unwrap(), b"newer");
    assert_eq!(names(folder.path()).len(), 6, "nothing temporary is left");
}

#[test]
fn outputs_are_no_inputs_and_no_two_are_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("key"), "key").unwrap();
    fs::hard_link(path("key"), path("same")).unwrap();
    symlink("key", path("link")).unwrap();
    fs::create_dir(path("program")).unwrap();
    fs::write(path("program/consts.bin"), "c").unwrap();
    for (outputs, inputs) in [
        (vec!["key"], vec!["key"]),
        (vec!["same"], vec!["key"]),
        (vec!["key"], vec!["link"]),
        (vec!["new", "key"], vec!["other", "key"]),
        (vec!["program/consts.bin"], vec!["program"]),
    ] {
        let list = |names: &[&str]| names.iter().map(|n| path(n)).collect::<Vec<PathBuf>>();
        let got = refusal(claim(&list(&outputs), &list(&inputs)));
        assert!(got.starts_with("the input "), "{got}");
    }
    for pair in [["new", "new"], ["key", "same"], ["new", "program/../new"]] {
        let got = refusal(claim(&pair.map(path), &[]));
        assert!(got.starts_with("the same as "), "{got}");
    }
    claim(&[path("program/out.json")], &[path("program")]).unwrap();
    let missing = claim(&[path("no/such/file")], &[]).unwrap_err();
    assert!(matches!(missing, SaveError::Write { .. }), "{missing}");
}

#[test]
fn modes_are_never_wider_than_what_was_there_or_than_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let path = folder.path().join("f");
    save_bytes(&path, Access::Private, &[b"x"]).unwrap();
    assert_eq!(mode(&path) & !0o600, 0);
    save_bytes(&path, Access::Shared, &[b"x"]).unwrap();
    assert_eq!(mode(&path) & !0o600, 0, "it was the owner's alone");
    let plain = folder.path().join("plain");
    File::create(&plain).unwrap();
    let fresh = folder.path().join("fresh");
    save_bytes(&fresh, Access::Shared, &[b"x"]).unwrap();
    assert_eq!(mode(&fresh), mode(&plain), "the umask decides");
}

#[test]
fn files_that_belong_together_replace_all_of_the_old_ones() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (folder.path().join("a"), folder.path().join("b"));
    for text in [b"1", b"2"] {
        let files = [&first, &second].map(|path| Pending::of_bytes(path, Access::Shared, &[text]));
        commit(files.into_iter().collect::<Result<_, _>>().unwrap()).unwrap();
        assert_eq!(
            [&first, &second].map(|path| fs::read(path).unwrap()),
            [text, text]
        );
    }
    // The second cannot be written: the first keeps what it has.
    let pending = Pending::of_bytes(&first, Access::Shared, &[b"3"]).unwrap();
    let later = Pending::of_bytes(&second, Access::Shared, &[b"3"]).unwrap();
    fs::remove_file(&second).unwrap();
    fs::create_dir(&second).unwrap();
    assert_eq!(refusal(commit(vec![pending, later])), "a folder");
    assert_eq!(fs::read(&first).unwrap(), b"2");
    assert_eq!(names(folder.path()), ["a", "b"]);
}

#[test]
fn pairs_of_two_savers_are_never_mixed() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["a", "b"].map(|name| folder.path().join(name));
    let save = |text: &[u8]| {
        let pending = paths
            .each_ref()
            .map(|path| Pending::of_bytes(path, Access::Shared, &[text]));
        commit(pending.into_iter().collect::<Result<_, _>>().unwrap()).unwrap();
    };
    for _ in 0..40 {
        std::thread::scope(|scope| {
            for text in [b"1", b"2", b"3"] {
                scope.spawn(|| save(text));
            }
        });
        assert_eq!(fs::read(&paths[0]).unwrap(), fs::read(&paths[1]).unwrap());
    }
}

#[test]
fn a_mapped_file_that_is_cut_short_is_an_error_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large");
    fs::write(&path, vec![7; 1 << 20]).unwrap();
    let watch = Watch::start();
    let bytes = read(&path).unwrap();
    let sum = |bytes: &[u8]| bytes.iter().map(|&byte| u64::from(byte)).sum::<u64>();
    assert_eq!(sum(bytes.as_slice()), 7 << 20);
    watch.end().unwrap();
    fs::OpenOptions::new()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(4096)
        .unwrap();
    for _ in 0..3 {
        let watch = Watch::start();
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let bytes = bytes.clone();
                std::thread::spawn(move || {
                    let _reading = Reading::start();
                    sum(bytes.as_slice())
                })
            })
            .collect();
        for thread in threads {
            assert_eq!(thread.join().unwrap(), 7 << 12);
        }
        let error = watch.end().unwrap_err();
        assert!(
            matches!(&error, LoadError::Changed { path: told } if *told == path),
            "{error}"
        );
    }
    let watch = Watch::start();
    assert_eq!(bytes.as_slice()[..4096], vec![7; 4096]);
    watch.end().unwrap();
    // Whoever reads and does not ask: the next to read is not told of it.
    let watch = Watch::start();
    assert_eq!(sum(bytes.as_slice()), 7 << 12);
    drop(watch);
    Watch::start().end().unwrap();
    drop(bytes);
    let other = read(&path).unwrap();
    assert_eq!(other.as_slice().len(), 4096);
}

/// A file of 1 MiB, mapped, and then cut to a page.
fn cut_short(path: &Path) -> Bytes {
    fs::write(path, vec![7; 1 << 20]).unwrap();
    let bytes = read(path).unwrap();
    assert!(is_mapped(&bytes));
    let file = fs::OpenOptions::new().write(true).open(path).unwrap();
    file.set_len(4096).unwrap();
    bytes
}

#[test]
fn a_read_that_nobody_asks_about_ends_the_process_and_never_gives_zeros() {
    const NAME: &str =
        "files::a_read_that_nobody_asks_about_ends_the_process_and_never_gives_zeros";
    const PLACE: &str = "CLOAKWORK_CUT_SHORT";
    if let Some(path) = std::env::var_os(PLACE) {
        let bytes = cut_short(Path::new(&path));
        println!("read {}", bytes.as_slice()[1 << 19]);
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let done = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", NAME, "--nocapture"])
        .env(PLACE, folder.path().join("large"))
        .output()
        .unwrap();
    assert_eq!(done.status.signal(), Some(libc::SIGBUS), "{done:?}");
    // On one core the test's own name stands there, too.
    assert!(!String::from_utf8_lossy(&done.stdout).contains("read 0"));
}

#[test]
fn pipes_are_read_to_their_end_and_devices_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, 0o600.into()).unwrap();
    let writer = std::thread::spawn({
        let path = path.clone();
        move || {
            let mut pipe = fs::OpenOptions::new().write(true).open(path).unwrap();
            for _ in 0..100 {
                pipe.write_all(&[3; 10_000]).unwrap();
            }
        }
    });
    assert_eq!(read(&path).unwrap().as_slice(), vec![3; 1_000_000]);
    writer.join().unwrap();
    for device in ["/dev/zero", "/dev/null"] {
        assert!(matches!(read(device), Err(LoadError::Source(_))));
    }
    assert!(matches!(read(folder.path()), Err(LoadError::Read { .. })));
}

#[test]
fn a_folder_is_held_by_one_writer() {
    let folder = tempfile::tempdir().unwrap();
    let take = |exclusive, keep: bool| FolderLock::take(folder.path(), exclusive, &mut || keep);
    let (one, other) = (take(false, false).unwrap(), take(false, false).unwrap());
    assert!(take(true, false).is_err());
    drop((one, other));
    let alone = take(true, false).unwrap();
    assert!(take(false, false).is_err());
    drop(alone);
    take(false, false).unwrap();
}
