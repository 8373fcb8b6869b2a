//! A driver in a process of its own: transfers, errors, ends. The process is this program again, so
//! the tests have a `main` of their own.
#![allow(missing_docs, clippy::unwrap_used)]

use cloakwork_csrc as _;
use cloakwork_devices::{DeviceError, Driver, at_step, isolate, watched};
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

fn main() {
    let first = std::env::args().nth(1);
    if let Some(parent) = first.and_then(|number| number.parse().ok()) {
        isolate::serve(parent);
    }
    isolate::set_program(isolate::Program {
        file: std::env::current_exe().unwrap().into(),
        arguments: Vec::new(),
    });
    let tests: [fn(); 5] = [
        transfers_larger_than_the_memory_for_them_and_many_small_ones_arrive,
        an_error_of_the_driver_comes_with_its_words_when_the_queue_is_finished,
        devices_that_threads_open_at_the_same_time_are_served_apart,
        a_wait_that_is_interrupted_ends_the_process_and_the_next_device_gets_another,
        what_cannot_be_loaded_is_refused_in_words,
    ];
    tests.iter().for_each(|test| test());
}

/// `sim` in a process of its own.
fn isolated() -> &'static Driver {
    static DRIVER: OnceLock<Driver> = OnceLock::new();
    DRIVER.get_or_init(|| isolate::driver(Path::new("sim:0"), None).unwrap())
}

fn transfers_larger_than_the_memory_for_them_and_many_small_ones_arrive() {
    let device = isolated().open(0).unwrap();
    let bytes = 300usize << 20;
    let memory = device.allocate(bytes as u64).unwrap();
    let mut queue = device.queue().unwrap();
    let sent: Vec<u8> = (0..bytes).map(|i| (i % 251) as u8).collect();
    let mut back = vec![0u8; bytes];
    let at = memory.address();
    // SAFETY: both have so many bytes until the queue is done.
    unsafe {
        queue
            .upload(at, sent.as_ptr().cast(), bytes as u64)
            .unwrap();
        queue
            .download(back.as_mut_ptr().cast(), at, bytes as u64)
            .unwrap();
        for i in 0..1000 {
            let from = sent[i * 3..].as_ptr().cast();
            queue.upload(at.wrapping_byte_add(i), from, 1).unwrap();
        }
        let done = queue.record().unwrap();
        queue.finish(done).unwrap();
        assert!(back == sent);
        queue.download(back.as_mut_ptr().cast(), at, 1000).unwrap();
        let done = queue.record().unwrap();
        queue.finish(done).unwrap();
    }
    assert!((0..1000).all(|i| back[i] == sent[i * 3]));
}

fn an_error_of_the_driver_comes_with_its_words_when_the_queue_is_finished() {
    let device = isolated().open(0).unwrap();
    let mut queue = device.queue().unwrap();
    let before = queue.record().unwrap();
    let nowhere = std::ptr::without_provenance_mut(1 << 56);
    // SAFETY: the driver refuses the address.
    unsafe { queue.upload(nowhere, [1u8; 8].as_ptr().cast(), 8) }.unwrap();
    let after = queue.record().unwrap();
    queue.finish(before).unwrap();
    let error = queue.finish(after).unwrap_err().to_string();
    assert!(error.contains("are not memory of the device"), "{error}");
}

fn devices_that_threads_open_at_the_same_time_are_served_apart() {
    let library = isolated();
    let uses = |thread: u8| {
        for round in 0..40u8 {
            let device = library.open(0).unwrap();
            let mut queue = device.queue().unwrap();
            let memory = device.allocate(2).unwrap();
            let (sent, mut back) = ([thread, round], [0u8; 2]);
            // SAFETY: all have two bytes until the queue is done.
            unsafe {
                queue
                    .upload(memory.address(), sent.as_ptr().cast(), 2)
                    .unwrap();
                queue
                    .download(back.as_mut_ptr().cast(), memory.address(), 2)
                    .unwrap();
                let done = queue.record().unwrap();
                queue.finish(done).unwrap();
            }
            assert_eq!(back, sent);
        }
    };
    std::thread::scope(|scope| {
        (0..4).for_each(|thread| drop(scope.spawn(move || uses(thread))));
    });
}

fn a_wait_that_is_interrupted_ends_the_process_and_the_next_device_gets_another() {
    let device = isolated().open(0).unwrap();
    let mut queue = device.queue().unwrap();
    let memory = device.allocate(8).unwrap();
    at_step(Some(7));
    for _ in 0..10_000 {
        // `sim` takes its time: a quarter of these is late.
        // SAFETY: both have a byte.
        unsafe { queue.upload(memory.address(), [1u8].as_ptr().cast(), 1) }.unwrap();
    }
    let done = queue.record().unwrap();
    let error = watched(&mut || false, || queue.finish(done)).unwrap_err();
    assert!(
        matches!(&error, DeviceError::Lost { step: Some(7), .. }),
        "{error:?}"
    );
    assert!(error.to_string().contains("interrupted"), "{error}");
    assert_eq!(
        device.allocate(8).unwrap_err().to_string(),
        error.to_string()
    );
    at_step(None);
    assert!(isolated().open(0).unwrap().allocate(8).is_ok());
}

fn what_cannot_be_loaded_is_refused_in_words() {
    let refused =
        |path| isolate::driver(Path::new(path), Some(Duration::from_secs(60))).unwrap_err();
    let text = refused("/nowhere/libchip.so");
    assert!(
        text.contains("cannot be loaded") && text.contains("/nowhere/libchip.so"),
        "{text}"
    );
}
