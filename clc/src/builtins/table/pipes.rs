//! Pipes. What a pipe holds is up to the program, so its type and those of pointers to packets are left open here; the check of
//! the call compares them.

use super::super::condition::When::{self, All, Feature};
use super::{Group, plain};
use crate::builtins::Lowering::Pipe;
use crate::builtins::PipeOp;

const PIPES: When = Feature("__opencl_c_pipes");
const SUB_GROUP: When = All(&[PIPES, When::SubGroups]);

pub(super) const TABLE: &[Group] = &[
    plain(PIPES, "int(pipe, packet*)", &[("read_pipe", Pipe(PipeOp::Read)), ("write_pipe", Pipe(PipeOp::Write))]),
    plain(
        PIPES,
        "int(pipe, reserve_id_t, uint, packet*)",
        &[("read_pipe", Pipe(PipeOp::Read)), ("write_pipe", Pipe(PipeOp::Write))],
    ),
    plain(
        PIPES,
        "reserve_id_t(pipe, uint)",
        &[
            ("reserve_read_pipe", Pipe(PipeOp::ReserveRead)),
            ("reserve_write_pipe", Pipe(PipeOp::ReserveWrite)),
            ("work_group_reserve_read_pipe", Pipe(PipeOp::WorkGroupReserveRead)),
            ("work_group_reserve_write_pipe", Pipe(PipeOp::WorkGroupReserveWrite)),
        ],
    ),
    plain(
        PIPES,
        "void(pipe, reserve_id_t)",
        &[
            ("commit_read_pipe", Pipe(PipeOp::CommitRead)),
            ("commit_write_pipe", Pipe(PipeOp::CommitWrite)),
            ("work_group_commit_read_pipe", Pipe(PipeOp::WorkGroupCommitRead)),
            ("work_group_commit_write_pipe", Pipe(PipeOp::WorkGroupCommitWrite)),
        ],
    ),
    plain(
        SUB_GROUP,
        "reserve_id_t(pipe, uint)",
        &[
            ("sub_group_reserve_read_pipe", Pipe(PipeOp::SubGroupReserveRead)),
            ("sub_group_reserve_write_pipe", Pipe(PipeOp::SubGroupReserveWrite)),
        ],
    ),
    plain(
        SUB_GROUP,
        "void(pipe, reserve_id_t)",
        &[
            ("sub_group_commit_read_pipe", Pipe(PipeOp::SubGroupCommitRead)),
            ("sub_group_commit_write_pipe", Pipe(PipeOp::SubGroupCommitWrite)),
        ],
    ),
    plain(PIPES, "bool(reserve_id_t)", &[("is_valid_reserve_id", Pipe(PipeOp::IsValidReserveId))]),
    plain(
        PIPES,
        "uint(pipe)",
        &[("get_pipe_max_packets", Pipe(PipeOp::MaxPackets)), ("get_pipe_num_packets", Pipe(PipeOp::NumPackets))],
    ),
];
