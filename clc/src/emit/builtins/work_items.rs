//! Built-in variables and the clock.

use spirv::{BuiltIn, Capability, Op, Scope};

use super::Call;
use crate::emit::Id;
use crate::emit::function::FunctionEmitter;
use crate::types::Scalar;

impl FunctionEmitter<'_, '_> {
    /// A component of a built-in variable of three dimensions; `beyond` for other dimensions.
    pub(super) fn dimension(&mut self, call: &Call<'_>, built_in: BuiltIn, beyond: u32) -> Id {
        let size = self.module.size_type();
        let beyond = self.module.size(beyond.into());
        let constant = self.module.constant_bits(call.value(0));
        if constant.is_some_and(|dimension| dimension > 2) {
            return beyond;
        }
        let vector_type = self.module.vector_type(size, 3);
        let pointer = self.module.built_in_of(built_in, vector_type);
        let align = self.module.memory_layout(vector_type).align;
        let vector = self.load(vector_type, pointer, align, false);
        if let Some(dimension) = constant {
            return self.lane(vector, size, dimension as u32);
        }
        let component = self.op(Op::VectorExtractDynamic, size, &[vector, call.value(0)]);
        let (bool_type, three) = (self.module.bool_type(), self.module.int(3));
        let is_inside = self.op(Op::ULessThan, bool_type, &[call.value(0), three]);
        self.op(Op::Select, size, &[is_inside, component, beyond])
    }

    /// The value of a built-in variable of the result's type.
    pub(super) fn built_in_value(&mut self, call: &Call<'_>, built_in: BuiltIn) -> Id {
        let is_mask = matches!(
            built_in,
            BuiltIn::SubgroupEqMask
                | BuiltIn::SubgroupGeMask
                | BuiltIn::SubgroupGtMask
                | BuiltIn::SubgroupLeMask
                | BuiltIn::SubgroupLtMask
        );
        if is_mask {
            self.module.require_version(1, 3);
            self.module.capability(Capability::GroupNonUniformBallot);
        }
        let ty = self.module.type_id(call.result);
        let pointer = self.module.built_in(built_in, call.result);
        let align = self.module.memory_layout(ty).align;
        self.load(ty, pointer, align, false)
    }

    /// The clock, as 64 bits or two words.
    pub(super) fn clock(&mut self, call: &Call<'_>, scope: Scope) -> Id {
        self.module.capability(Capability::ShaderClockKHR);
        self.module.extension("SPV_KHR_shader_clock");
        let (ty, scope) = (self.module.type_id(call.result), self.module.scalar(Scalar::UInt, scope as u64));
        self.op(Op::ReadClockKHR, ty, &[scope])
    }
}
