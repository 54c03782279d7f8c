//! Objects that are not automatic: `OpVariable`s at module scope.

use spirv::{Decoration, LinkageType, Op};

use super::Id;
use super::constants::{MAX_ELEMENTS, is_zero};
use super::module::ModuleBuilder;
use super::types::storage_class;
use crate::source::Span;
use crate::tree::{AddressBase, Constant, Global, GlobalId, Linkage};
use crate::types::{AddressSpace, QualTy, Scalar, TypeKind};

/// In the table of objects: what the object refers to is being declared.
const VISITED: Id = u32::MAX;
/// In the table of objects: its initializer is being made.
const UNFINISHED: Id = u32::MAX - 1;

impl ModuleBuilder<'_> {
    /// The pointer to an object. It is declared, with the objects that its initializer refers to, when it is first used.
    pub(crate) fn global(&mut self, id: GlobalId) -> Id {
        if let Some(found) = self.global_ids.get(id.0 as usize).filter(|id| **id != 0) {
            return self.finished(id, *found);
        }
        // Not by recursion: the chain of initializers may be long.
        let mut stack = vec![id];
        while let Some(next) = stack.last().copied() {
            let index = next.0 as usize;
            match self.global_ids.get(index) {
                Some(0) => {}
                Some(&VISITED) => {
                    stack.pop();
                    self.global_ids[index] = UNFINISHED;
                    self.global_ids[index] = self.define_global(next);
                    continue;
                }
                Some(_) | None => {
                    stack.pop();
                    continue;
                }
            }
            self.global_ids[index] = VISITED;
            if let Some(init) = self.source.globals.get(index).and_then(|global| global.init.as_ref()) {
                let before = stack.len();
                references(init, &mut stack);
                let mut kept = before;
                for at in before..stack.len() {
                    if self.global_ids.get(stack[at].0 as usize) == Some(&0) {
                        stack.swap(kept, at);
                        kept += 1;
                    }
                }
                stack.truncate(kept);
            }
        }
        let found = self.global_ids.get(id.0 as usize).copied().unwrap_or(0);
        self.finished(id, found)
    }

    /// The entry of an object in the table, if the object is not being declared: SPIR-V has no initializer that refers to its
    /// variable, or to one that comes later.
    fn finished(&mut self, id: GlobalId, found: Id) -> Id {
        if found >= UNFINISHED {
            let span = self.source.globals.get(id.0 as usize).map_or(Span::NONE, |global| global.span);
            self.fail(span, "the address of an object in its own initializer, or in that of an object it refers to, is not supported");
        }
        found
    }

    /// The sampler that an object is, if it is one.
    pub(crate) fn sampler_global(&mut self, id: GlobalId) -> Option<Id> {
        let global = self.source.globals.get(id.0 as usize)?;
        match (self.source.types.kind(global.ty.ty), &global.init) {
            (TypeKind::Sampler, Some(Constant::Scalar(bits))) => Some(self.sampler(*bits)),
            (TypeKind::Sampler, None | Some(_)) => Some(self.sampler(0)),
            _ => None,
        }
    }

    fn define_global(&mut self, id: GlobalId) -> Id {
        let Some(global) = self.source.globals.get(id.0 as usize) else { return 0 };
        let class = storage_class(global.ty.quals.space);
        let variable = self.fresh();
        let (memory_type, init) = self.initializer(global);
        let pointer = self.pointer_type(class, memory_type);
        let operands = [pointer, variable, class as u32];
        match init {
            Some(init) => self.globals.push_parts(Op::Variable, &[&operands, &[init]]),
            None => self.globals.push(Op::Variable, &operands),
        }
        self.name(variable, &global.name);
        if global.ty.quals.space == AddressSpace::Constant {
            self.decorate(variable, Decoration::Constant, &[]);
        }
        let natural = self.source.types.layout(global.ty.ty).map_or(1, |layout| layout.align);
        self.decorate(variable, Decoration::Alignment, &[natural.max(global.align)]);
        let linkage = match (global.linkage, global.is_defined) {
            (Linkage::Internal, _) => None,
            (_, false) => Some(LinkageType::Import),
            (Linkage::External, true) => Some(LinkageType::Export),
            (Linkage::LinkOnce, true) => Some(LinkageType::LinkOnceODR),
        };
        let linkage = linkage.filter(|linkage| *linkage == LinkageType::Import || !self.session.options.whole_program);
        if let Some(linkage) = linkage {
            self.linkage(variable, &global.name, linkage);
        }
        // An object with an initializer that SPIR-V cannot write in one piece has another type.
        let expected = self.pointer_to(global.ty.quals.space, global.ty.ty);
        self.cast_constant(variable, pointer, expected)
    }

    /// The type in memory and the initializer of an object.
    fn initializer(&mut self, global: &Global) -> (Id, Option<Id>) {
        let ty = global.ty.ty;
        let memory_type = self.memory_type_id(ty);
        let is_initialized = global.is_defined && global.ty.quals.space != AddressSpace::Local;
        let init = match &global.init {
            Some(init) if is_initialized => init,
            // Program-scope variables are zero; SPIR-V's are undefined without an initializer.
            None if is_initialized => return (memory_type, Some(self.null(memory_type))),
            Some(_) | None => return (memory_type, None),
        };
        match (self.source.types.kind(ty), init) {
            (TypeKind::Array(element, Some(count)), Constant::Aggregate(_) | Constant::Bytes(_))
                if *count > MAX_ELEMENTS as u64 && !is_zero(init) =>
            {
                self.pieces(*element, *count, init)
            }
            _ => (memory_type, Some(self.memory_constant(ty, init))),
        }
    }

    /// A long array as a structure of shorter ones.
    fn pieces(&mut self, element: QualTy, count: u64, init: &Constant) -> (Id, Option<Id>) {
        let element_type = self.memory_type_id(element.ty);
        let given = if let Constant::Bytes(bytes) = init {
            bytes.len()
        } else if let Constant::Aggregate(parts) = init {
            parts.len()
        } else {
            0
        };
        let (mut types, mut values) = (Vec::new(), Vec::new());
        let mut at = 0;
        while at < given {
            let end = given.min(at + MAX_ELEMENTS);
            let ids: Vec<Id> = if let Constant::Bytes(bytes) = init {
                bytes[at..end].iter().map(|byte| self.scalar(Scalar::UChar, (*byte).into())).collect()
            } else if let Constant::Aggregate(parts) = init {
                self.elements(element.ty, &parts[at..end])
            } else {
                Vec::new()
            };
            let ty = self.array_type(element_type, ids.len() as u64);
            types.push(ty);
            values.push(self.unique(Op::ConstantComposite, ty, &ids));
            at = end;
        }
        if count > given as u64 {
            let ty = self.array_type(element_type, count - given as u64);
            types.push(ty);
            values.push(self.null(ty));
        }
        if types.len() > MAX_ELEMENTS {
            self.fail(Span::NONE, "an initializer that is too large for SPIR-V");
        }
        let ty = self.struct_type(&types);
        (ty, Some(self.unique(Op::ConstantComposite, ty, &values)))
    }
}

/// The objects that a constant refers to.
fn references(constant: &Constant, found: &mut Vec<GlobalId>) {
    match constant {
        Constant::Zero | Constant::Undefined | Constant::Scalar(_) | Constant::Vector(_) | Constant::Bytes(_) => {}
        Constant::Aggregate(parts) => parts.iter().for_each(|part| references(part, found)),
        Constant::Union(_, value) => references(value, found),
        Constant::Address(address) => {
            if let AddressBase::Global(id) = address.base {
                found.push(id);
            }
        }
    }
}
