//! Work-item functions.

use spirv::BuiltIn;

use super::super::condition::When::Always;
use super::{Group, V2_0, plain};
use crate::builtins::Lowering::{Dimension, Variable};

pub(super) const TABLE: &[Group] = &[
    plain(Always, "uint()", &[("get_work_dim", Variable(BuiltIn::WorkDim))]),
    plain(
        Always,
        "size_t(uint)",
        &[
            ("get_global_id", Dimension(BuiltIn::GlobalInvocationId, 0)),
            ("get_global_size", Dimension(BuiltIn::GlobalSize, 1)),
            ("get_group_id", Dimension(BuiltIn::WorkgroupId, 0)),
            ("get_local_id", Dimension(BuiltIn::LocalInvocationId, 0)),
            ("get_local_size", Dimension(BuiltIn::WorkgroupSize, 1)),
            ("get_num_groups", Dimension(BuiltIn::NumWorkgroups, 1)),
        ],
    ),
    plain(Always, "size_t(uint)", &[("get_global_offset", Dimension(BuiltIn::GlobalOffset, 0))]),
    plain(V2_0, "size_t(uint)", &[("get_enqueued_local_size", Dimension(BuiltIn::EnqueuedWorkgroupSize, 1))]),
    plain(
        V2_0,
        "size_t()",
        &[
            ("get_global_linear_id", Variable(BuiltIn::GlobalLinearId)),
            ("get_local_linear_id", Variable(BuiltIn::LocalInvocationIndex)),
        ],
    ),
];
