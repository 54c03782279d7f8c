//! Names of overloaded functions for the linker: the Itanium C++ ABI's, as clang mangles for SPIR targets.

use super::Checker;
use super::describe::image_name;
use crate::types::{Access, AddressSpace, QualTy, Scalar, Ty, TypeKind};

/// A name that is being mangled. What was mangled before is referred to by its number.
struct Mangler {
    text: String,
    /// What a substitution can stand for, by its unsubstituted mangling.
    seen: Vec<String>,
}

impl Checker<'_, '_> {
    /// The mangled name of a function.
    pub(crate) fn mangle(&self, name: &str, ty: Ty) -> String {
        let mut mangler = Mangler { text: format!("_Z{}{name}", name.len()), seen: Vec::new() };
        let TypeKind::Function(function) = self.module.types.kind(ty) else { return name.to_owned() };
        if function.parameters.is_empty() {
            mangler.text.push('v');
        }
        for parameter in &function.parameters {
            self.mangle_type(&mut mangler, *parameter);
        }
        if function.is_variadic {
            mangler.text.push('z');
        }
        mangler.text
    }

    /// Mangles a type; its outermost qualifiers do not count.
    fn mangle_type(&self, mangler: &mut Mangler, ty: QualTy) {
        let types = &self.module.types;
        let plain = self.plain_mangling(ty.ty);
        // Clang refers back to none of these.
        if matches!(types.kind(ty.ty), TypeKind::Scalar(_) | TypeKind::Void | TypeKind::Pipe(..)) {
            mangler.text.push_str(&plain);
            return;
        }
        if mangler.substitute(&plain) {
            return;
        }
        #[expect(clippy::wildcard_enum_match_arm, reason = "all other types contain none that a substitution may name")]
        match types.kind(ty.ty) {
            TypeKind::Pointer(to) => {
                mangler.text.push('P');
                self.mangle_pointee(mangler, *to);
            }
            TypeKind::Vector(scalar, lanes) => {
                mangler.text.push_str(&format!("Dv{lanes}_{}", scalar_code(*scalar)));
            }
            TypeKind::Atomic(of) => {
                mangler.text.push_str("U7_Atomic");
                self.mangle_type(mangler, QualTy::plain(*of));
            }
            _ => mangler.text.push_str(&plain),
        }
        mangler.seen.push(plain);
    }

    /// What a pointer points to, with its qualifiers.
    fn mangle_pointee(&self, mangler: &mut Mangler, to: QualTy) {
        // The qualifiers of an array are those of its elements.
        if let TypeKind::Array(element, count) = self.module.types.kind(to.ty) {
            let plain = self.plain_pointee(to);
            if mangler.substitute(&plain) {
                return;
            }
            mangler.text.push_str(&array_prefix(*count));
            self.mangle_pointee(mangler, QualTy { ty: element.ty, quals: to.quals });
            mangler.seen.push(plain);
            return;
        }
        let prefix = qualifiers(to);
        if prefix.is_empty() {
            self.mangle_type(mangler, to);
            return;
        }
        let plain = format!("{prefix}{}", self.plain_mangling(to.ty));
        if mangler.substitute(&plain) {
            return;
        }
        mangler.text.push_str(&prefix);
        self.mangle_type(mangler, to);
        mangler.seen.push(plain);
    }

    /// The mangling of what a pointer points to, without substitutions.
    fn plain_pointee(&self, to: QualTy) -> String {
        if let TypeKind::Array(element, count) = self.module.types.kind(to.ty) {
            return array_prefix(*count) + &self.plain_pointee(QualTy { ty: element.ty, quals: to.quals });
        }
        qualifiers(to) + &self.plain_mangling(to.ty)
    }

    /// The mangling of a type without substitutions.
    fn plain_mangling(&self, ty: Ty) -> String {
        let types = &self.module.types;
        let sourced = |name: &str| format!("{}{name}", name.len());
        match types.kind(ty) {
            TypeKind::Error => "v".to_owned(),
            TypeKind::Void => "v".to_owned(),
            TypeKind::Scalar(scalar) => scalar_code(*scalar).to_owned(),
            TypeKind::Vector(scalar, lanes) => format!("Dv{lanes}_{}", scalar_code(*scalar)),
            TypeKind::Pointer(to) => format!("P{}", self.plain_pointee(*to)),
            TypeKind::FunctionPointer(to) => format!("P{}", self.plain_mangling(*to)),
            TypeKind::BlockPointer(to) => format!("U13block_pointer{}", self.plain_mangling(*to)),
            TypeKind::Array(element, count) => array_prefix(*count) + &self.plain_mangling(element.ty),
            TypeKind::Function(function) => {
                let mut text = format!("F{}", self.plain_mangling(function.result));
                if function.parameters.is_empty() {
                    text.push('v');
                }
                for parameter in &function.parameters {
                    text.push_str(&self.plain_mangling(parameter.ty));
                }
                text.push('E');
                text
            }
            TypeKind::Record(id) => match types.record(*id).name {
                Some(name) => sourced(self.text(name)),
                None => "Ut_".to_owned(),
            },
            TypeKind::Enum(id) => match types.enumeration(*id).name {
                Some(name) => sourced(self.text(name)),
                None => "Ut_".to_owned(),
            },
            TypeKind::Atomic(of) => format!("U7_Atomic{}", self.plain_mangling(*of)),
            TypeKind::Image(shape, access) => {
                let access = match access {
                    Access::ReadOnly => "ro",
                    Access::WriteOnly => "wo",
                    Access::ReadWrite => "rw",
                };
                sourced(&format!("ocl_{}_{access}", image_name(*shape).trim_end_matches("_t")))
            }
            TypeKind::Pipe(_, _) => sourced("ocl_pipe"),
            TypeKind::Sampler => sourced("ocl_sampler"),
            TypeKind::Event => sourced("ocl_event"),
            TypeKind::ClkEvent => sourced("ocl_clkevent"),
            TypeKind::Queue => sourced("ocl_queue"),
            TypeKind::NdRange => sourced("ndrange_t"),
            TypeKind::ReserveId => sourced("ocl_reserveid"),
            TypeKind::NamedBarrier => sourced("named_barrier_t"),
        }
    }
}

impl Mangler {
    /// Refers to what was mangled before. False if it was not.
    fn substitute(&mut self, plain: &str) -> bool {
        let Some(index) = self.seen.iter().position(|one| one == plain) else { return false };
        self.text.push('S');
        if let Some(number) = index.checked_sub(1) {
            // In base 36; the first one has no number.
            let mut digits = Vec::new();
            let mut rest = number;
            loop {
                digits.push(char::from_digit((rest % 36) as u32, 36).unwrap_or('0').to_ascii_uppercase());
                rest /= 36;
                if rest == 0 {
                    break;
                }
            }
            self.text.extend(digits.iter().rev());
        }
        self.text.push('_');
        true
    }
}

/// The code of an array before that of its elements.
fn array_prefix(count: Option<u64>) -> String {
    format!("A{}_", count.map_or_else(String::new, |count| count.to_string()))
}

/// The code of a scalar type.
fn scalar_code(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::Bool => "b",
        Scalar::Char => "c",
        Scalar::UChar => "h",
        Scalar::Short => "s",
        Scalar::UShort => "t",
        Scalar::Int => "i",
        Scalar::UInt => "j",
        Scalar::Long => "l",
        Scalar::ULong => "m",
        Scalar::Half => "Dh",
        Scalar::Float => "f",
        Scalar::Double => "d",
    }
}

/// The codes of qualifiers and address space. Private is the target's default.
fn qualifiers(ty: QualTy) -> String {
    let mut text = String::new();
    let space = match ty.quals.space {
        AddressSpace::Private => "",
        AddressSpace::Global => "U3AS1",
        AddressSpace::Constant => "U3AS2",
        AddressSpace::Local => "U3AS3",
        AddressSpace::Generic => "U3AS4",
    };
    text.push_str(space);
    for (is, code) in [(ty.quals.is_restrict, 'r'), (ty.quals.is_volatile, 'V'), (ty.quals.is_const, 'K')] {
        if is {
            text.push(code);
        }
    }
    text
}
