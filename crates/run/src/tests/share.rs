//! Sharing pieces with real workers.
#![allow(clippy::unwrap_used)]

use crate::share::share;
use rayon::ThreadPoolBuilder;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

#[test]
fn every_piece_is_run_once_whoever_is_awake() {
    let pool = ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    for pieces in [1, 2, 3, 50] {
        for round in 0..200 {
            let counts: Vec<AtomicU32> = (0..pieces).map(|_| AtomicU32::new(0)).collect();
            share(&pool, 3, pieces, &|piece, thread| {
                assert!(thread <= 3);
                counts[piece as usize].fetch_add(1, Ordering::Relaxed);
                if round % 50 == 0 {
                    std::thread::sleep(Duration::from_micros(50));
                }
            });
            assert!(
                counts
                    .iter()
                    .all(|count| count.load(Ordering::Relaxed) == 1)
            );
        }
    }
}

#[test]
fn busy_workers_are_not_waited_for() {
    let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let (release, held) = std::sync::mpsc::channel::<()>();
    pool.spawn(move || {
        let _ = held.recv();
    });
    let threads = Mutex::new(Vec::new());
    share(&pool, 1, 4, &|_, thread| {
        threads.lock().unwrap().push(thread)
    });
    assert_eq!(*threads.lock().unwrap(), [0; 4]);
    release.send(()).unwrap();
}

#[test]
fn a_panic_of_a_worker_is_the_callers_when_all_is_done() {
    let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let begun = AtomicU32::new(0);
    let both = || {
        begun.fetch_add(1, Ordering::AcqRel);
        while begun.load(Ordering::Acquire) < 2 {
            std::hint::spin_loop();
        }
    };
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        share(&pool, 1, 2, &|_, thread| {
            both();
            assert!(thread == 0, "the worker's mistake");
        });
    }));
    let payload = outcome.unwrap_err();
    assert_eq!(payload.downcast_ref(), Some(&"the worker's mistake"));
    share(&pool, 1, 4, &|_, _| {});
}

#[test]
fn a_panic_of_the_caller_waits_for_what_others_took() {
    let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let ended = AtomicU32::new(0);
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        share(&pool, 1, 8, &|piece, thread| {
            std::thread::sleep(Duration::from_millis(2));
            ended.fetch_add(1, Ordering::Relaxed);
            assert!(piece < 4 || thread != 0, "the caller's mistake");
        });
    }));
    let before = ended.load(Ordering::Relaxed);
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(ended.load(Ordering::Relaxed), before, "{outcome:?}");
}
