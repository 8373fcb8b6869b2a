//! Calls that a thread has prepared, by their keys.
//!
//! Each thread has its own: no lock is taken, and a forked child keeps those of the thread that
//! forked. There are two generations. When the young one is full, the old one is dropped and the
//! young one becomes old; an old call that is found becomes young again. So frequent calls stay,
//! however many others come once.

use super::key::Key;
use super::prepared::Prepared;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::mem::take;
use std::sync::Arc;

/// The most calls of a generation.
const MOST: usize = 512;

#[derive(Default)]
struct Generations {
    young: FxHashMap<Key, Arc<Prepared>>,
    elder: FxHashMap<Key, Arc<Prepared>>,
}

thread_local! {
    static KEPT: RefCell<Generations> = RefCell::default();
}

/// The call of this key, if this thread has prepared it.
pub(super) fn find(key: &Key) -> Option<Arc<Prepared>> {
    // A thread that ends has none any more.
    KEPT.try_with(|kept| kept.borrow_mut().find(key))
        .ok()
        .flatten()
}

/// Keeps a call, if it has a key.
pub(super) fn keep(key: Option<Key>, prepared: Prepared) -> Arc<Prepared> {
    let prepared = Arc::new(prepared);
    if let Some(key) = key {
        let own = Arc::clone(&prepared);
        let _ = KEPT.try_with(|kept| kept.borrow_mut().insert(key, own));
    }
    prepared
}

impl Generations {
    fn find(&mut self, key: &Key) -> Option<Arc<Prepared>> {
        if let Some(found) = self.young.get(key) {
            return Some(Arc::clone(found));
        }
        let (key, found) = self.elder.remove_entry(key)?;
        self.insert(key, Arc::clone(&found));
        Some(found)
    }

    fn insert(&mut self, key: Key, prepared: Arc<Prepared>) {
        if self.young.len() >= MOST {
            self.elder = take(&mut self.young);
        }
        self.young.insert(key, prepared);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eager::{EagerArg, Tensor, call};
    use cloakwork_ir::{DType, Shape, Type};
    use cloakwork_kernels::best_isa;
    use cloakwork_ops::find as find_op;

    fn sum(elements: u64) -> Vec<EagerArg> {
        let ty = Type::new(DType::I64, Shape::new(&[elements]).unwrap());
        let axes = vec![cloakwork_ir::ShapeItem::Int(0)];
        vec![
            EagerArg::Tensor(Tensor::zeros(&ty).unwrap()),
            EagerArg::Shape(axes),
        ]
    }

    fn is_kept(elements: u64) -> bool {
        let def = find_op("sum").unwrap();
        let mut args = sum(elements);
        args.resize(def.params.len(), EagerArg::None);
        crate::eager::fill_in(def, &mut args);
        find(&Key::of(def, &args, best_isa()).unwrap()).is_some()
    }

    #[test]
    fn calls_of_ten_thousand_shapes_are_not_all_kept_but_one_in_between_is() {
        let def = find_op("sum").unwrap();
        for elements in 1..=10_000 {
            for elements in [1, elements] {
                call(def, sum(elements), 1, best_isa()).unwrap();
            }
        }
        let held = KEPT.with_borrow(|kept| kept.young.len() + kept.elder.len());
        assert!(held <= 2 * MOST, "{held} calls are kept");
        assert!(is_kept(1) && is_kept(10_000) && !is_kept(2));
    }

    #[test]
    fn what_one_thread_prepared_another_prepares_itself() {
        call(find_op("sum").unwrap(), sum(7), 1, best_isa()).unwrap();
        assert!(is_kept(7));
        assert!(!std::thread::spawn(|| is_kept(7)).join().unwrap());
    }
}
