//! What kernels have besides functions: rules for their parameters, attributes, and what the host can ask about them.

use rustc_hash::FxHashSet;

use super::Checker;
use super::declarators::{Declared, DeclaredParameter};
use crate::diagnostics::Diagnostic;
use crate::options::Version;
use crate::source::Span;
use crate::syntax::ast::{self, DeclaratorPart, Storage, TypeSpecifier};
use crate::tree::{Kernel, KernelArgument};
use crate::types::{AddressSpace, QualTy, RecordId, Scalar, Ty, TypeKind, Uses};

/// Names of types whose size depends on the device: the host could not know what to pass.
const SIZED_BY_DEVICE: &[&str] = &["size_t", "ptrdiff_t", "intptr_t", "uintptr_t"];

impl Checker<'_, '_> {
    /// Checks a kernel's declaration and describes it.
    pub(crate) fn kernel(
        &mut self,
        declared: &Declared,
        declarator: &ast::Declarator,
        specifiers: &ast::Specifiers,
    ) -> Kernel {
        if specifiers.storage.contains(Storage::STATIC) {
            self.error(declared.span, "kernel functions cannot be declared static");
        }
        if let TypeKind::Function(function) = self.module.types.kind(declared.ty.ty)
            && !matches!(self.module.types.kind(function.result), TypeKind::Void | TypeKind::Error)
        {
            self.error(declared.span, "kernel must have void return type");
        }
        let parts = match declarator.parts.last() {
            Some(DeclaratorPart::Function(function)) => &function.parameters[..],
            _ => &[],
        };
        let mut arguments = Vec::new();
        for (parameter, written) in declared.parameters.iter().zip(parts) {
            self.check_kernel_parameter(parameter, written);
            arguments.push(self.kernel_argument(parameter, written));
        }
        let attributes = &declared.attributes;
        let mut kernel = Kernel {
            required_size: attributes.required_size,
            size_hint: attributes.size_hint,
            vector_hint: attributes.vector_hint,
            required_sub_group_size: attributes.required_sub_group_size,
            attributes: String::new(),
            arguments,
        };
        kernel.attributes = self.kernel_attributes(&kernel);
        kernel
    }

    /// The text of `CL_KERNEL_ATTRIBUTES`.
    fn kernel_attributes(&self, kernel: &Kernel) -> String {
        let mut list = Vec::new();
        if let Some(hint) = kernel.vector_hint {
            list.push(format!("vec_type_hint({})", self.spell(QualTy::plain(hint))));
        }
        for (name, size) in [("work_group_size_hint", kernel.size_hint), ("reqd_work_group_size", kernel.required_size)]
        {
            if let Some([x, y, z]) = size {
                list.push(format!("{name}({x},{y},{z})"));
            }
        }
        if let Some(size) = kernel.required_sub_group_size {
            list.push(format!("intel_reqd_sub_group_size({size})"));
        }
        list.join(" ")
    }

    /// Whether a type's name is that of a type whose size depends on the device.
    pub(crate) fn is_device_sized(&self, name: crate::source::Symbol) -> bool {
        match self.scopes.find(name) {
            Some(_) => self.typedefs.get(&name).is_some_and(|info| info.is_device_sized),
            None => SIZED_BY_DEVICE.contains(&self.text(name)),
        }
    }

    /// Reports a parameter that a kernel cannot have.
    fn check_kernel_parameter(&mut self, parameter: &DeclaredParameter, written: &ast::Parameter) {
        let span = parameter.name.map_or(parameter.span, |name| name.span);
        let ty = parameter.ty.ty;
        let cannot = |checker: &Self, ty: Ty| {
            format!("'__private {}' cannot be used as the type of a kernel parameter", checker.spell(QualTy::plain(ty)))
        };
        if let TypeSpecifier::Name(name) = &written.specifiers.ty
            && matches!(self.module.types.kind(ty), TypeKind::Scalar(_))
            && self.is_device_sized(name.symbol)
        {
            let text =
                format!("'__private {}' cannot be used as the type of a kernel parameter", self.text(name.symbol));
            self.error(span, text);
            return;
        }
        let kind = self.module.types.kind(ty);
        if let TypeKind::Record(id) = *kind {
            return self.check_kernel_record(id, span);
        }
        let text = if kind.forbids(Uses::KERNEL_PARAMETER) || self.is_missing_half(ty) {
            cannot(self, ty)
        } else if let Some(text) = kind.pointee().and_then(|to| self.kernel_pointer(to)) {
            text.to_owned()
        } else {
            return;
        };
        self.error(span, text);
    }

    /// What is wrong with a pointer as a kernel's parameter.
    fn kernel_pointer(&self, to: QualTy) -> Option<&'static str> {
        if matches!(to.quals.space, AddressSpace::Private | AddressSpace::Generic) {
            return Some(
                "pointer arguments to kernel functions must reside in '__global', '__constant' or '__local' address space",
            );
        }
        let inner = self.module.types.kind(to.ty).pointee()?;
        if self.version() < Version::V2_0 {
            return Some("kernel parameter cannot be declared as a pointer to a pointer");
        }
        self.kernel_pointer(inner)
    }

    /// Reports members that a record as a kernel's parameter cannot have.
    fn check_kernel_record(&mut self, id: RecordId, span: Span) {
        let mut stack = vec![id];
        let mut seen = FxHashSet::from_iter([id]);
        while let Some(record) = stack.pop() {
            for (index, field) in self.module.types.record(record).fields.clone().into_iter().enumerate() {
                let element = self.element_of_arrays(field.ty.ty);
                let kind = self.module.types.kind(element);
                if let TypeKind::Record(inner) = kind {
                    if seen.insert(*inner) {
                        stack.push(*inner);
                    }
                    continue;
                }
                // Later than 1.2 a pointer can be one to shared virtual memory.
                let is_host_pointer = |to: QualTy| {
                    self.version() < Version::V2_0
                        || matches!(to.quals.space, AddressSpace::Private | AddressSpace::Generic)
                };
                let has_device_size =
                    matches!(kind, TypeKind::Scalar(_)) && self.device_sized_fields.contains(&(record, index as u32));
                let text = if kind.pointee().is_some_and(is_host_pointer) {
                    let word = if self.module.types.record(id).is_union { "union" } else { "struct" };
                    format!("{word} kernel parameters may not contain pointers")
                } else if matches!(kind, TypeKind::Scalar(Scalar::Bool) | TypeKind::BlockPointer(_)) || has_device_size
                {
                    format!("'{}' cannot be used as the type of a kernel parameter", self.spell_record(id))
                } else {
                    continue;
                };
                let note = if matches!(self.module.types.kind(element), TypeKind::Pointer(_)) {
                    format!("field of illegal pointer type {} declared here", self.describe(field.ty))
                } else {
                    format!("field of illegal type {} declared here", self.describe(field.ty))
                };
                self.report(Diagnostic::error(span, text).note(field.span, note));
                return;
            }
        }
    }

    /// A record's name in diagnostics.
    fn spell_record(&self, id: RecordId) -> String {
        let record = self.module.types.record(id);
        let word = if record.is_union { "union" } else { "struct" };
        record.name.map_or_else(|| word.to_owned(), |name| format!("{word} {}", self.text(name)))
    }

    /// What `clGetKernelArgInfo` reports of a parameter.
    fn kernel_argument(&self, parameter: &DeclaredParameter, written: &ast::Parameter) -> KernelArgument {
        let name = parameter.name.map_or_else(String::new, |name| self.text(name.symbol).to_owned());
        let kind = self.module.types.kind(parameter.ty.ty);
        let mut argument = KernelArgument { name, ..KernelArgument::default() };
        #[expect(clippy::wildcard_enum_match_arm, reason = "all other types are those of values")]
        match kind {
            TypeKind::Pointer(to) => {
                let pointee = match (&written.declarator.parts[..], &written.specifiers.ty) {
                    ([_], _) => self.spell_specifiers(&written.specifiers, to.ty),
                    ([], TypeSpecifier::Name(name)) => self
                        .typedefs
                        .get(&name.symbol)
                        .and_then(|info| info.pointee.clone())
                        .unwrap_or_else(|| self.spell(QualTy::plain(to.ty))),
                    _ => self.spell(QualTy::plain(to.ty)),
                };
                argument.type_name = format!("{pointee}*").replace(' ', "");
                argument.address = to.quals.space;
                if to.quals.is_const || to.quals.space == AddressSpace::Constant {
                    argument.type_qualifiers |= 1;
                }
                if parameter.ty.quals.is_restrict {
                    argument.type_qualifiers |= 2;
                }
                if to.quals.is_volatile {
                    argument.type_qualifiers |= 4;
                }
            }
            TypeKind::Image(_, access) => {
                argument.type_name = self.spell_specifiers(&written.specifiers, parameter.ty.ty);
                argument.address = AddressSpace::Global;
                argument.access = Some(*access);
            }
            TypeKind::Pipe(of, access) => {
                argument.type_name = if matches!(written.specifiers.ty, TypeSpecifier::Words(_)) {
                    self.spell(QualTy::plain(*of))
                } else {
                    self.spell_specifiers(&written.specifiers, *of)
                }
                .replace(' ', "");
                argument.address = AddressSpace::Global;
                argument.access = Some(*access);
                argument.type_qualifiers = 8;
            }
            _ => {
                argument.type_name = self.spell_specifiers(&written.specifiers, parameter.ty.ty).replace(' ', "");
            }
        }
        argument
    }
}
