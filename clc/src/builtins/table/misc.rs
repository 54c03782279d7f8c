//! Shuffles, `printf`, the clock.

use spirv::Scope;

use super::super::condition::When::{self, Always};
use super::{Group, NUMBERS, V1_2, ext, over, plain, types};
use crate::builtins::Lowering::{Clock, Printf};
use crate::builtins::ext as std;

const KERNEL_CLOCK: When = When::Extension("cl_khr_kernel_clock");
const DEVICE: When = When::All(&[KERNEL_CLOCK, When::Feature("__opencl_c_kernel_clock_scope_device")]);
const WORK_GROUP: When = When::All(&[KERNEL_CLOCK, When::Feature("__opencl_c_kernel_clock_scope_work_group")]);
const SUB_GROUP: When = When::All(&[KERNEL_CLOCK, When::Feature("__opencl_c_kernel_clock_scope_sub_group")]);

pub(super) const TABLE: &[Group] = &[
    over(Always, types(NUMBERS, &[2, 4, 8, 16]), "T(M, U)", &[("shuffle", ext(std::SHUFFLE))]),
    over(Always, types(NUMBERS, &[2, 4, 8, 16]), "T(M, M, U)", &[("shuffle2", ext(std::SHUFFLE2))]),
    plain(V1_2, "int(const constant char*, ...)", &[("printf", Printf)]),
    plain(DEVICE, "ulong()", &[("clock_read_device", Clock(Scope::Device))]),
    plain(WORK_GROUP, "ulong()", &[("clock_read_work_group", Clock(Scope::Workgroup))]),
    plain(SUB_GROUP, "ulong()", &[("clock_read_sub_group", Clock(Scope::Subgroup))]),
    plain(DEVICE, "uint2()", &[("clock_read_hilo_device", Clock(Scope::Device))]),
    plain(WORK_GROUP, "uint2()", &[("clock_read_hilo_work_group", Clock(Scope::Workgroup))]),
    plain(SUB_GROUP, "uint2()", &[("clock_read_hilo_sub_group", Clock(Scope::Subgroup))]),
];
