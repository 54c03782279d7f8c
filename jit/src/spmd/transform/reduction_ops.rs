//! The ops by which iterations of a loop may combine a value in any order.

use clift_kir::{AtomicOp, Opcode};

/// Those of integers, and how partial results are combined. Differences are subtracted as a sum.
pub(crate) const INTEGER_REDUCTIONS: [(Opcode, AtomicOp); 10] = [
    (Opcode::Iadd, AtomicOp::Add),
    (Opcode::Isub, AtomicOp::Add),
    (Opcode::Imul, AtomicOp::Mul),
    (Opcode::And, AtomicOp::And),
    (Opcode::Or, AtomicOp::Or),
    (Opcode::Xor, AtomicOp::Xor),
    (Opcode::Smin, AtomicOp::Smin),
    (Opcode::Smax, AtomicOp::Smax),
    (Opcode::Umin, AtomicOp::Umin),
    (Opcode::Umax, AtomicOp::Umax),
];

/// Those of floats. Sums and products depend on the order unless flags say that they may be reassociated.
pub(crate) const FLOAT_REDUCTIONS: [(Opcode, AtomicOp); 6] = [
    (Opcode::Fadd, AtomicOp::Fadd),
    (Opcode::Fsub, AtomicOp::Fadd),
    (Opcode::Fma, AtomicOp::Fadd),
    (Opcode::Fmul, AtomicOp::Fmul),
    (Opcode::Fmin, AtomicOp::Fmin),
    (Opcode::Fmax, AtomicOp::Fmax),
];
