//! Attributes.

use super::Checker;
use crate::source::Span;
use crate::syntax::ast::{Attribute, AttributeArgument, Expr, ExprKind};
use crate::types::{AddressSpace, Scalar, Ty, TypeKind};

/// What the attributes of a declaration say.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attributes {
    /// `aligned`: the largest; 0 for none.
    pub align: u32,
    /// `packed`
    pub packed: bool,
    /// `address_space`: the one that its number means, and where it is written.
    pub space: Option<(AddressSpace, Span)>,
    /// `ext_vector_type`: the number of lanes.
    pub vector: Option<i128>,
    /// `vector_size`: bytes.
    pub vector_bytes: Option<i128>,
    /// `overloadable`
    pub overloadable: bool,
    /// `always_inline` (`Some(true)`), `noinline` (`Some(false)`)
    pub inline: Option<bool>,
    /// `noreturn`
    pub noreturn: bool,
    /// `weak`, `weak_import`, `linkonce`-like
    pub weak: bool,
    /// `reqd_work_group_size`
    pub required_size: Option<[u32; 3]>,
    /// `work_group_size_hint`
    pub size_hint: Option<[u32; 3]>,
    /// `vec_type_hint`
    pub vector_hint: Option<Ty>,
    /// `intel_reqd_sub_group_size`
    pub required_sub_group_size: Option<u32>,
    /// `opencl_unroll_hint`, as [`crate::tree::LoopHints`] has it.
    pub unroll: Option<u32>,
    /// `deprecated`
    pub deprecated: Option<String>,
    /// `unavailable`
    pub unavailable: Option<String>,
    /// `warn_unused_result`
    pub warn_unused_result: bool,
    /// `pure` or `const`
    pub pure: bool,
    /// The first attribute that only kernels may have, and its name.
    pub kernel_only: Option<(Span, &'static str)>,
}

impl Attributes {
    /// Adds what other attributes of the same declaration say.
    pub(crate) fn merge(&mut self, other: &Attributes) {
        self.align = self.align.max(other.align);
        self.packed |= other.packed;
        self.space = other.space.or(self.space);
        self.vector = other.vector.or(self.vector);
        self.vector_bytes = other.vector_bytes.or(self.vector_bytes);
        self.overloadable |= other.overloadable;
        self.inline = other.inline.or(self.inline);
        self.noreturn |= other.noreturn;
        self.weak |= other.weak;
        self.required_size = other.required_size.or(self.required_size);
        self.size_hint = other.size_hint.or(self.size_hint);
        self.vector_hint = other.vector_hint.or(self.vector_hint);
        self.required_sub_group_size = other.required_sub_group_size.or(self.required_sub_group_size);
        self.unroll = other.unroll.or(self.unroll);
        self.deprecated = other.deprecated.clone().or(self.deprecated.take());
        self.unavailable = other.unavailable.clone().or(self.unavailable.take());
        self.warn_unused_result |= other.warn_unused_result;
        self.pure |= other.pure;
        self.kernel_only = self.kernel_only.or(other.kernel_only);
    }
}

/// Attributes that are known and change nothing here, in alphabetical order.
const IGNORED: &[&str] = &[
    "amdgpu_flat_work_group_size",
    "amdgpu_num_sgpr",
    "amdgpu_num_vgpr",
    "amdgpu_waves_per_eu",
    "annotate",
    "artificial",
    "assume_aligned",
    "cdecl",
    "cold",
    "convergent",
    "device_kernel",
    "diagnose_if",
    "enable_if",
    "endian",
    "fallthrough",
    "flatten",
    "format",
    "format_arg",
    "gnu_inline",
    "hot",
    "kernel_arg_info",
    "leaf",
    "likely",
    "malloc",
    "may_alias",
    "max_constant_size",
    "minsize",
    "ms_struct",
    "no_sanitize",
    "nodebug",
    "nomerge",
    "nonnull",
    "noalias",
    "noduplicate",
    "nosvm",
    "nothrow",
    "optnone",
    "opencl_kernel",
    "regparm",
    "returns_nonnull",
    "section",
    "transparent_union",
    "type_visibility",
    "uniform_work_group_size",
    "unlikely",
    "unused",
    "used",
    "visibility",
];

/// The address spaces by the numbers that `address_space` has for SPIR.
const SPACES: [AddressSpace; 5] =
    [AddressSpace::Private, AddressSpace::Global, AddressSpace::Constant, AddressSpace::Local, AddressSpace::Generic];

impl Checker<'_, '_> {
    /// What attributes say. Unknown ones get a warning.
    pub(crate) fn attributes(&mut self, list: &[Attribute]) -> Attributes {
        let mut result = Attributes::default();
        for attribute in list {
            self.attribute(attribute, &mut result);
        }
        result
    }

    fn attribute(&mut self, attribute: &Attribute, result: &mut Attributes) {
        let name = self.session.names.text(attribute.name.symbol).to_owned();
        let arguments = &attribute.arguments;
        match name.as_str() {
            "aligned" => {
                let align = match arguments.first() {
                    // The largest alignment of the target.
                    None => Some(16),
                    Some(_) => {
                        let value = self.attribute_integer(attribute, 0);
                        value.and_then(|value| self.check_alignment(value, attribute.name.span))
                    }
                };
                result.align = result.align.max(align.unwrap_or(0));
            }
            "packed" => result.packed = true,
            "ext_vector_type" => result.vector = self.attribute_integer(attribute, 0),
            "vector_size" => result.vector_bytes = self.attribute_integer(attribute, 0),
            "overloadable" => result.overloadable = true,
            "always_inline" => result.inline = Some(true),
            "noinline" => result.inline = Some(false),
            "noreturn" => result.noreturn = true,
            "weak" | "weak_import" => result.weak = true,
            "pure" | "const" => result.pure = true,
            "warn_unused_result" => result.warn_unused_result = true,
            "deprecated" => result.deprecated = Some(self.attribute_text(attribute, 0)),
            "unavailable" => result.unavailable = Some(self.attribute_text(attribute, 0)),
            "reqd_work_group_size" => {
                result.required_size = self.attribute_size(attribute);
                result.kernel_only = result.kernel_only.or(Some((attribute.name.span, "reqd_work_group_size")));
            }
            "work_group_size_hint" => {
                result.size_hint = self.attribute_size(attribute);
                result.kernel_only = result.kernel_only.or(Some((attribute.name.span, "work_group_size_hint")));
            }
            "vec_type_hint" => {
                result.vector_hint = self.attribute_vector_hint(attribute);
                result.kernel_only = result.kernel_only.or(Some((attribute.name.span, "vec_type_hint")));
            }
            "intel_reqd_sub_group_size" => {
                if let Some(value) = self.attribute_integer(attribute, 0) {
                    match u32::try_from(value) {
                        Ok(size @ 1..) => result.required_sub_group_size = Some(size),
                        _ => self.error(attribute.span, "'intel_reqd_sub_group_size' attribute must be greater than 0"),
                    }
                }
                result.kernel_only = result.kernel_only.or(Some((attribute.name.span, "intel_reqd_sub_group_size")));
            }
            "opencl_unroll_hint" => {
                result.unroll = match arguments.first() {
                    None => Some(0),
                    Some(_) => match self.attribute_integer(attribute, 0) {
                        Some(value @ 1..) => Some(u32::try_from(value).unwrap_or(u32::MAX)),
                        Some(_) => {
                            self.error(
                                attribute.span,
                                "'opencl_unroll_hint' attribute requires a positive integral compile time constant expression",
                            );
                            None
                        }
                        None => None,
                    },
                };
            }
            "address_space" => {
                if let Some(number) = self.attribute_integer(attribute, 0) {
                    let space = usize::try_from(number).ok().and_then(|number| SPACES.get(number));
                    match space {
                        Some(space) => result.space = Some((*space, attribute.span)),
                        None => self.error(attribute.span, "the device has the address spaces 0 to 4 only"),
                    }
                }
            }
            "blocks" => self.error(attribute.span, "the __block storage type is not permitted"),
            other if IGNORED.contains(&other) => {}
            other => {
                let text = format!("unknown attribute '{other}' ignored");
                self.warning(attribute.name.span, "unknown-attributes", text);
            }
        }
    }

    /// An argument that is an integer.
    fn attribute_integer(&mut self, attribute: &Attribute, index: usize) -> Option<i128> {
        match attribute.arguments.get(index) {
            Some(AttributeArgument::Expr(expr)) => Some(self.integer_constant(expr, "")?.0),
            _ => {
                let name = self.text(attribute.name.symbol).to_owned();
                let count = index + 1;
                let plural = if count == 1 { "one argument" } else { "more arguments" };
                self.error(attribute.span, format!("'{name}' attribute takes {plural}"));
                None
            }
        }
    }

    /// An argument that is a string, without quotes; empty if there is none.
    fn attribute_text(&self, attribute: &Attribute, index: usize) -> String {
        match attribute.arguments.get(index) {
            Some(AttributeArgument::Expr(Expr { kind: ExprKind::String(parts), .. })) => {
                parts.iter().map(|part| self.text(part.symbol).trim_matches('"')).collect()
            }
            _ => String::new(),
        }
    }

    /// Three sizes, all above 0.
    fn attribute_size(&mut self, attribute: &Attribute) -> Option<[u32; 3]> {
        let name = self.text(attribute.name.symbol).to_owned();
        if attribute.arguments.len() != 3 {
            self.error(attribute.span, format!("'{name}' attribute requires exactly 3 arguments"));
            return None;
        }
        let mut sizes = [0; 3];
        for (index, size) in sizes.iter_mut().enumerate() {
            let value = self.attribute_integer(attribute, index)?;
            if value == 0 {
                self.error(attribute.span, format!("'{name}' attribute must be greater than 0"));
                return None;
            }
            let Ok(value) = u32::try_from(value) else {
                self.error(
                    attribute.span,
                    format!("'{name}' attribute requires a non-negative integral compile time constant expression"),
                );
                return None;
            };
            *size = value;
        }
        Some(sizes)
    }

    /// The type of a `vec_type_hint`.
    fn attribute_vector_hint(&mut self, attribute: &Attribute) -> Option<Ty> {
        let ty = match attribute.arguments.first() {
            None => {
                self.error(attribute.span, "'vec_type_hint' attribute takes one argument");
                return None;
            }
            Some(AttributeArgument::Type(name)) => self.type_name(name).ty,
            Some(AttributeArgument::Expr(_)) => {
                self.error(attribute.span, "expected a type");
                return None;
            }
        };
        let kind = self.module.types.kind(ty);
        if matches!(kind, TypeKind::Vector(..) | TypeKind::Scalar(_)) && *kind != TypeKind::Scalar(Scalar::Bool) {
            return Some(ty);
        }
        if *kind != TypeKind::Error {
            let text =
                "a non-vector or non-vectorizable scalar type is an invalid argument to attribute 'vec_type_hint'";
            self.error(attribute.span, text);
        }
        None
    }
}
