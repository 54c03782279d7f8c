//! Atomic functions of OpenCL C 1.x, and of the extensions before them (`atom_`).

use super::super::condition::When::{self, Always};
use super::{Group, SCALAR, Types, over, types};
use crate::builtins::AtomicForm::Old;
use crate::builtins::AtomicOp::{
    self, Add, And, CompareExchange, Decrement, Exchange, Increment, Max, Min, Or, Sub, Xor,
};
use crate::builtins::Lowering;
use crate::types::Scalar;

const WORDS: Types = types(&[Scalar::Int, Scalar::UInt], SCALAR);
const LONGS: Types = types(&[Scalar::Long, Scalar::ULong], SCALAR);
const FLOAT: Types = types(&[Scalar::Float], SCALAR);

const GLOBAL_BASE: When = When::Extension("cl_khr_global_int32_base_atomics");
const LOCAL_BASE: When = When::Extension("cl_khr_local_int32_base_atomics");
const LONG_BASE: When = When::Extension("cl_khr_int64_base_atomics");
const GLOBAL_EXTENDED: When = When::Extension("cl_khr_global_int32_extended_atomics");
const LOCAL_EXTENDED: When = When::Extension("cl_khr_local_int32_extended_atomics");
const LONG_EXTENDED: When = When::Extension("cl_khr_int64_extended_atomics");

/// Functions with one operand, of the base extensions and of the extended ones.
type Functions = &'static [(&'static str, Lowering)];

const BASE: Functions = &[("atom_add", old(Add)), ("atom_sub", old(Sub)), ("atom_xchg", old(Exchange))];
const STEPS: Functions = &[("atom_inc", old(Increment)), ("atom_dec", old(Decrement))];
const COMPARE: Functions = &[("atom_cmpxchg", old(CompareExchange))];
const EXTENDED: Functions = &[
    ("atom_and", old(And)),
    ("atom_max", old(Max)),
    ("atom_min", old(Min)),
    ("atom_or", old(Or)),
    ("atom_xor", old(Xor)),
];

const fn old(op: AtomicOp) -> Lowering {
    Lowering::Atomic(op, Old)
}

pub(super) const TABLE: &[Group] = &[
    over(
        Always,
        WORDS,
        "T(volatile base T*, T)",
        &[
            ("atomic_add", old(Add)),
            ("atomic_and", old(And)),
            ("atomic_max", old(Max)),
            ("atomic_min", old(Min)),
            ("atomic_or", old(Or)),
            ("atomic_sub", old(Sub)),
            ("atomic_xchg", old(Exchange)),
            ("atomic_xor", old(Xor)),
        ],
    ),
    over(Always, FLOAT, "T(volatile base T*, T)", &[("atomic_xchg", old(Exchange))]),
    over(Always, WORDS, "T(volatile base T*)", &[("atomic_inc", old(Increment)), ("atomic_dec", old(Decrement))]),
    over(Always, WORDS, "T(volatile base T*, T, T)", &[("atomic_cmpxchg", old(CompareExchange))]),
    over(GLOBAL_BASE, WORDS, "T(volatile global T*, T)", BASE),
    over(LOCAL_BASE, WORDS, "T(volatile local T*, T)", BASE),
    over(LONG_BASE, LONGS, "T(volatile base T*, T)", BASE),
    over(GLOBAL_BASE, WORDS, "T(volatile global T*)", STEPS),
    over(LOCAL_BASE, WORDS, "T(volatile local T*)", STEPS),
    over(LONG_BASE, LONGS, "T(volatile base T*)", STEPS),
    over(GLOBAL_BASE, WORDS, "T(volatile global T*, T, T)", COMPARE),
    over(LOCAL_BASE, WORDS, "T(volatile local T*, T, T)", COMPARE),
    over(LONG_BASE, LONGS, "T(volatile base T*, T, T)", COMPARE),
    over(GLOBAL_EXTENDED, WORDS, "T(volatile global T*, T)", EXTENDED),
    over(LOCAL_EXTENDED, WORDS, "T(volatile local T*, T)", EXTENDED),
    over(LONG_EXTENDED, LONGS, "T(volatile base T*, T)", EXTENDED),
];
