//! Atomic functions of OpenCL C 2.0. Each has three forms: sequentially consistent in the device; with an order, in the device;
//! with an order and a scope. OpenCL C 3.0 has them for pointers to global and local memory too, as it may lack the generic
//! address space.

use super::super::condition::When::{self, All, Extension, Feature};
use super::{Group, SCALAR, Types, V3_0, over, types};
use crate::builtins::AtomicForm::C11;
use crate::builtins::AtomicOp::{
    self, Add, And, CompareExchange, Exchange, FlagClear, FlagSet, Init, Load, Max, Min, Or, Store, Sub, Xor,
};
use crate::builtins::Lowering;
use crate::types::Scalar;

/// The integers.
const INTEGERS: Types = types(&[Scalar::Int, Scalar::UInt, Scalar::Long, Scalar::ULong], SCALAR);
/// All types.
const ALL: Types =
    types(&[Scalar::Int, Scalar::UInt, Scalar::Float, Scalar::Long, Scalar::ULong, Scalar::Double], SCALAR);
/// `atomic_flag`
const FLAG: Types = types(&[Scalar::Int], SCALAR);
const HALF: Types = types(&[Scalar::Half], SCALAR);
const FLOAT: Types = types(&[Scalar::Float], SCALAR);
const DOUBLE: Types = types(&[Scalar::Double], SCALAR);

const DEVICE: When = Feature("__opencl_c_atomic_scope_device");
const STRICT: When = All(&[Feature("__opencl_c_atomic_order_seq_cst"), DEVICE]);
const GENERIC: When = Feature("__opencl_c_generic_address_space");
const FLOATS: When = Extension("cl_ext_float_atomics");

const fn c11(op: AtomicOp) -> Lowering {
    Lowering::Atomic(op, C11)
}

/// A table with the three forms of each row: condition, types, result, parameters, orders, names.
macro_rules! forms {
    ($($when:expr, $types:expr, $result:literal, $parameters:literal, $orders:literal, [$($name:literal $op:expr),+];)+) => {
        &[$(
            over(
                All(&[$when, STRICT]),
                $types,
                concat!($result, "(", $parameters, ")"),
                &[$(($name, c11($op))),+],
            ),
            over(
                All(&[$when, DEVICE]),
                $types,
                concat!($result, "(", $parameters, $orders, ")"),
                &[$((concat!($name, "_explicit"), c11($op))),+],
            ),
            over(
                $when,
                $types,
                concat!($result, "(", $parameters, $orders, ", memory_scope)"),
                &[$((concat!($name, "_explicit"), c11($op))),+],
            ),
        )+]
    };
}

pub(super) const INIT: &[Group] = &[
    over(GENERIC, ALL, "void(volatile generic atomic_T*, T)", &[("atomic_init", c11(Init))]),
    over(V3_0, ALL, "void(volatile base atomic_T*, T)", &[("atomic_init", c11(Init))]),
];

pub(super) const TABLE: &[Group] = forms! {
    GENERIC, ALL, "T", "volatile generic atomic_T*", ", memory_order", ["atomic_load" Load];
    V3_0, ALL, "T", "volatile base atomic_T*", ", memory_order", ["atomic_load" Load];
    GENERIC, ALL, "void", "volatile generic atomic_T*, T", ", memory_order", ["atomic_store" Store];
    V3_0, ALL, "void", "volatile base atomic_T*, T", ", memory_order", ["atomic_store" Store];
    GENERIC, ALL, "T", "volatile generic atomic_T*, T", ", memory_order", ["atomic_exchange" Exchange];
    V3_0, ALL, "T", "volatile base atomic_T*, T", ", memory_order", ["atomic_exchange" Exchange];
    GENERIC, INTEGERS, "T", "volatile generic atomic_T*, T", ", memory_order", [
        "atomic_fetch_add" Add, "atomic_fetch_sub" Sub, "atomic_fetch_min" Min, "atomic_fetch_max" Max,
        "atomic_fetch_and" And, "atomic_fetch_or" Or, "atomic_fetch_xor" Xor
    ];
    V3_0, INTEGERS, "T", "volatile base atomic_T*, T", ", memory_order", [
        "atomic_fetch_add" Add, "atomic_fetch_sub" Sub, "atomic_fetch_min" Min, "atomic_fetch_max" Max,
        "atomic_fetch_and" And, "atomic_fetch_or" Or, "atomic_fetch_xor" Xor
    ];
    GENERIC, ALL, "bool", "volatile generic atomic_T*, generic T*, T", ", memory_order, memory_order", [
        "atomic_compare_exchange_strong" CompareExchange, "atomic_compare_exchange_weak" CompareExchange
    ];
    V3_0, ALL, "bool", "volatile base atomic_T*, named T*, T", ", memory_order, memory_order", [
        "atomic_compare_exchange_strong" CompareExchange, "atomic_compare_exchange_weak" CompareExchange
    ];
    GENERIC, FLAG, "bool", "volatile generic atomic_int*", ", memory_order", ["atomic_flag_test_and_set" FlagSet];
    V3_0, FLAG, "bool", "volatile base atomic_int*", ", memory_order", ["atomic_flag_test_and_set" FlagSet];
    GENERIC, FLAG, "void", "volatile generic atomic_int*", ", memory_order", ["atomic_flag_clear" FlagClear];
    V3_0, FLAG, "void", "volatile base atomic_int*", ", memory_order", ["atomic_flag_clear" FlagClear];
};

const GLOBAL_HALF_ACCESS: When = All(&[FLOATS, Feature("__opencl_c_ext_fp16_global_atomic_load_store")]);
const LOCAL_HALF_ACCESS: When = All(&[FLOATS, Feature("__opencl_c_ext_fp16_local_atomic_load_store")]);
const GENERIC_HALF_ACCESS: When = All(&[GENERIC, GLOBAL_HALF_ACCESS, LOCAL_HALF_ACCESS]);
const GLOBAL_HALF_EXTREMA: When = All(&[FLOATS, Feature("__opencl_c_ext_fp16_global_atomic_min_max")]);
const LOCAL_HALF_EXTREMA: When = All(&[FLOATS, Feature("__opencl_c_ext_fp16_local_atomic_min_max")]);
const GENERIC_HALF_EXTREMA: When = All(&[GENERIC, GLOBAL_HALF_EXTREMA, LOCAL_HALF_EXTREMA]);
const GLOBAL_HALF_SUM: When = All(&[FLOATS, Feature("__opencl_c_ext_fp16_global_atomic_add")]);
const LOCAL_HALF_SUM: When = All(&[FLOATS, Feature("__opencl_c_ext_fp16_local_atomic_add")]);
const GENERIC_HALF_SUM: When = All(&[GENERIC, GLOBAL_HALF_SUM, LOCAL_HALF_SUM]);
const GLOBAL_FLOAT_EXTREMA: When = All(&[FLOATS, Feature("__opencl_c_ext_fp32_global_atomic_min_max")]);
const LOCAL_FLOAT_EXTREMA: When = All(&[FLOATS, Feature("__opencl_c_ext_fp32_local_atomic_min_max")]);
const GENERIC_FLOAT_EXTREMA: When = All(&[GENERIC, GLOBAL_FLOAT_EXTREMA, LOCAL_FLOAT_EXTREMA]);
const GLOBAL_FLOAT_SUM: When = All(&[FLOATS, Feature("__opencl_c_ext_fp32_global_atomic_add")]);
const LOCAL_FLOAT_SUM: When = All(&[FLOATS, Feature("__opencl_c_ext_fp32_local_atomic_add")]);
const GENERIC_FLOAT_SUM: When = All(&[GENERIC, GLOBAL_FLOAT_SUM, LOCAL_FLOAT_SUM]);
const GLOBAL_DOUBLE_EXTREMA: When = All(&[FLOATS, Feature("__opencl_c_ext_fp64_global_atomic_min_max")]);
const LOCAL_DOUBLE_EXTREMA: When = All(&[FLOATS, Feature("__opencl_c_ext_fp64_local_atomic_min_max")]);
const GENERIC_DOUBLE_EXTREMA: When = All(&[GENERIC, GLOBAL_DOUBLE_EXTREMA, LOCAL_DOUBLE_EXTREMA]);
const GLOBAL_DOUBLE_SUM: When = All(&[FLOATS, Feature("__opencl_c_ext_fp64_global_atomic_add")]);
const LOCAL_DOUBLE_SUM: When = All(&[FLOATS, Feature("__opencl_c_ext_fp64_local_atomic_add")]);
const GENERIC_DOUBLE_SUM: When = All(&[GENERIC, GLOBAL_DOUBLE_SUM, LOCAL_DOUBLE_SUM]);

/// `cl_ext_float_atomics`: accesses to halves; sums and extrema of all floats.
pub(super) const FLOAT_TABLE: &[Group] = forms! {
    GLOBAL_HALF_ACCESS, HALF, "T", "volatile global atomic_T*", ", memory_order", ["atomic_load" Load];
    GLOBAL_HALF_ACCESS, HALF, "void", "volatile global atomic_T*, T", ", memory_order", ["atomic_store" Store];
    GLOBAL_HALF_ACCESS, HALF, "T", "volatile global atomic_T*, T", ", memory_order", ["atomic_exchange" Exchange];
    LOCAL_HALF_ACCESS, HALF, "T", "volatile local atomic_T*", ", memory_order", ["atomic_load" Load];
    LOCAL_HALF_ACCESS, HALF, "void", "volatile local atomic_T*, T", ", memory_order", ["atomic_store" Store];
    LOCAL_HALF_ACCESS, HALF, "T", "volatile local atomic_T*, T", ", memory_order", ["atomic_exchange" Exchange];
    GENERIC_HALF_ACCESS, HALF, "T", "volatile generic atomic_T*", ", memory_order", ["atomic_load" Load];
    GENERIC_HALF_ACCESS, HALF, "void", "volatile generic atomic_T*, T", ", memory_order", ["atomic_store" Store];
    GENERIC_HALF_ACCESS, HALF, "T", "volatile generic atomic_T*, T", ", memory_order", ["atomic_exchange" Exchange];
    GLOBAL_HALF_EXTREMA, HALF, "T", "volatile global atomic_T*, T", ", memory_order", ["atomic_fetch_min" Min, "atomic_fetch_max" Max];
    LOCAL_HALF_EXTREMA, HALF, "T", "volatile local atomic_T*, T", ", memory_order", ["atomic_fetch_min" Min, "atomic_fetch_max" Max];
    GENERIC_HALF_EXTREMA, HALF, "T", "volatile generic atomic_T*, T", ", memory_order", ["atomic_fetch_min" Min, "atomic_fetch_max" Max];
    GLOBAL_FLOAT_EXTREMA, FLOAT, "T", "volatile global atomic_T*, T", ", memory_order", ["atomic_fetch_min" Min, "atomic_fetch_max" Max];
    LOCAL_FLOAT_EXTREMA, FLOAT, "T", "volatile local atomic_T*, T", ", memory_order", ["atomic_fetch_min" Min, "atomic_fetch_max" Max];
    GENERIC_FLOAT_EXTREMA, FLOAT, "T", "volatile generic atomic_T*, T", ", memory_order", ["atomic_fetch_min" Min, "atomic_fetch_max" Max];
    GLOBAL_DOUBLE_EXTREMA, DOUBLE, "T", "volatile global atomic_T*, T", ", memory_order", ["atomic_fetch_min" Min, "atomic_fetch_max" Max];
    LOCAL_DOUBLE_EXTREMA, DOUBLE, "T", "volatile local atomic_T*, T", ", memory_order", ["atomic_fetch_min" Min, "atomic_fetch_max" Max];
    GENERIC_DOUBLE_EXTREMA, DOUBLE, "T", "volatile generic atomic_T*, T", ", memory_order", ["atomic_fetch_min" Min, "atomic_fetch_max" Max];
    GLOBAL_HALF_SUM, HALF, "T", "volatile global atomic_T*, T", ", memory_order", ["atomic_fetch_add" Add, "atomic_fetch_sub" Sub];
    LOCAL_HALF_SUM, HALF, "T", "volatile local atomic_T*, T", ", memory_order", ["atomic_fetch_add" Add, "atomic_fetch_sub" Sub];
    GENERIC_HALF_SUM, HALF, "T", "volatile generic atomic_T*, T", ", memory_order", ["atomic_fetch_add" Add, "atomic_fetch_sub" Sub];
    GLOBAL_FLOAT_SUM, FLOAT, "T", "volatile global atomic_T*, T", ", memory_order", ["atomic_fetch_add" Add, "atomic_fetch_sub" Sub];
    LOCAL_FLOAT_SUM, FLOAT, "T", "volatile local atomic_T*, T", ", memory_order", ["atomic_fetch_add" Add, "atomic_fetch_sub" Sub];
    GENERIC_FLOAT_SUM, FLOAT, "T", "volatile generic atomic_T*, T", ", memory_order", ["atomic_fetch_add" Add, "atomic_fetch_sub" Sub];
    GLOBAL_DOUBLE_SUM, DOUBLE, "T", "volatile global atomic_T*, T", ", memory_order", ["atomic_fetch_add" Add, "atomic_fetch_sub" Sub];
    LOCAL_DOUBLE_SUM, DOUBLE, "T", "volatile local atomic_T*, T", ", memory_order", ["atomic_fetch_add" Add, "atomic_fetch_sub" Sub];
    GENERIC_DOUBLE_SUM, DOUBLE, "T", "volatile generic atomic_T*, T", ", memory_order", ["atomic_fetch_add" Add, "atomic_fetch_sub" Sub];
};
