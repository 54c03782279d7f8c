//! Callbacks for the events of a run, and reports of faults.

use std::fmt;

use crate::entities::{Func, Inst};
use crate::function::Loc;
use crate::types::{Space, Type};

use super::memory::{Accessor, Fault, Memory};

/// A work-item by its ids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ItemId {
    /// `get_group_id`.
    pub group: [u64; 3],
    /// `get_local_id`.
    pub local: [u64; 3],
    /// `get_global_id`.
    pub global: [u64; 3],
}

/// A fault and where it happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// What happened.
    pub fault: Fault,
    /// The function.
    pub func: Func,
    /// Its name.
    pub function: String,
    /// The instruction.
    pub inst: Inst,
    /// Its text.
    pub text: String,
    /// Where it comes from.
    pub loc: Loc,
    /// The work-item; `None` in a plain function.
    pub item: Option<ItemId>,
    /// Number of faults of the same kind at this instruction.
    pub count: u64,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: function `{}`, `{}`", self.fault, self.function, self.text)?;
        if let Some(ItemId { group, local, global }) = self.item {
            let [a, b, c] = [global, local, group].map(|[x, y, z]| format!("({x}, {y}, {z})"));
            write!(f, ", work-item {a} (local {b}, group {c})")?;
        }
        if self.count > 1 { write!(f, ", {} times", self.count) } else { Ok(()) }
    }
}

/// A value as lanes of bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lanes {
    /// Its type.
    pub ty: Type,
    /// One word of bits per lane.
    pub bits: Vec<u64>,
}

/// One call of `printf`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrintfCall {
    /// Address of the format.
    pub format: u64,
    /// Space of the format.
    pub space: Space,
    /// The values.
    pub values: Vec<Lanes>,
}

/// A memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessEvent {
    /// Its origin.
    pub access: Accessor,
    /// Its address.
    pub address: u64,
    /// Bytes.
    pub size: u64,
    /// Whether it may write.
    pub write: bool,
}

/// Callbacks for the events of a run. By default all methods do nothing.
pub trait Observer {
    /// A fault, the first of its kind at its instruction.
    fn fault(&mut self, report: &Report) {
        let _ = report;
    }

    /// An instruction is about to be executed.
    fn step(&mut self, func: Func, inst: Inst, item: Option<ItemId>) {
        let _ = (func, inst, item);
    }

    /// Memory is about to be accessed.
    fn touch(&mut self, inst: Inst, touch: &AccessEvent) {
        let _ = (inst, touch);
    }

    /// A work-group (or sub-group) has passed a barrier.
    fn barrier(&mut self, id: u32) {
        let _ = id;
    }

    /// A call of `printf`; returns its result.
    fn printf(&mut self, memory: &mut dyn Memory, call: &PrintfCall) -> i32 {
        let _ = (memory, call);
        0
    }

    /// A question to the launch's checker: site, place, bytes, work-item. Whether the access may be performed.
    fn check(&mut self, operands: [u64; 4]) -> bool {
        let _ = operands;
        true
    }

    /// A request to the runtime, with its operands as words; returns its result.
    fn request(&mut self, number: u32, operands: &[u64]) -> u64 {
        let _ = (number, operands);
        0
    }

    /// The value of the clock.
    fn clock(&mut self) -> u64 {
        0
    }
}

/// An observer that does nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {}

/// Reads a NUL-terminated string of at most `limit` bytes.
pub fn read_c_string(memory: &mut dyn Memory, address: u64, limit: usize) -> Vec<u8> {
    let mut text = Vec::new();
    while text.len() < limit {
        let mut byte = [0];
        let outcome = memory.read(&Accessor::default(), address.wrapping_add(text.len() as u64), &mut byte);
        if byte[0] == 0 || outcome.is_err_and(|fault| matches!(fault, Fault::OutOfBounds { .. })) {
            break;
        }
        text.push(byte[0]);
    }
    text
}
