//! Signatures of the table: short texts such as `T(T, const any T*)`, which are expanded to overloads when their function is
//! used.
//!
//! | word | type |
//! |---|---|
//! | `T` | each type of the group: scalar and number of lanes |
//! | `S` | the scalar of `T` |
//! | `I`, `U` | the signed, the unsigned integers of the same size as `T` |
//! | `R` | the result of a comparison of `T`s: `int` for scalars, `I` for vectors |
//! | `W` | integers of twice the size of `T` |
//! | `M` | vectors of `S` of any number of lanes but 3 |
//! | `intN` and so on | a scalar with the lanes of `T` |
//! | `image` | each image type of the group |
//! | `coord`, `fcoord` | the coordinates of `image`: `int`s or `float`s |
//! | `grad` | a gradient of `image` |
//! | `texel` | an element of `image`: `T`, or `S` if it has one channel |
//! | `atomic_` ... | an atomic type |
//! | `pipe`, `packet`, `block` | what the call has |
//!
//! Pointers have an address space, or one of the words `any` (`generic`; without that, all but `constant`), `all` (`any` and
//! `constant`), `base` (`global`, `local`) and `named` (`global`, `local`, `private`). Without a word it is the one that C
//! declarations have.

use smallvec::SmallVec;

use super::condition::When;
use super::table::{Group, Images};
use super::{Environment, Lowering, Overload};
use crate::options::Version;
use crate::types::{Access, AddressSpace, ImageShape, QualTy, Quals, Scalar, Ty, TypeKind, TypeTable};

/// The scalar of a slot's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    Fixed(Scalar),
    Own,
    Signed,
    Unsigned,
    Relational,
    Wide,
}

/// The lanes of a slot's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lanes {
    Fixed(u8),
    Own,
    /// The second variable: 2, 4, 8, 16.
    Other,
    Coordinates,
    Gradient,
    Texel,
}

/// The type of a slot, without pointers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Base {
    Void,
    Value(Element, Lanes),
    SizeT,
    PtrdiffT,
    Atomic(Element),
    Image,
    Sampler,
    Event,
    ClkEvent,
    Queue,
    NdRange,
    ReserveId,
    NamedBarrier,
    /// Whatever the call has: it is compatible with everything.
    Open,
}

/// A parameter or the result.
#[derive(Clone, Copy, Debug)]
struct Slot {
    base: Base,
    /// For a pointer: qualifiers of what it points to, and the address spaces.
    pointer: Option<(Quals, &'static [AddressSpace])>,
}

/// The slots of a signature, the result first.
type Slots = SmallVec<[Slot; 8]>;

/// One choice of the variables.
struct Choice {
    scalar: Scalar,
    lanes: u8,
    other: u8,
    image: Option<(ImageShape, Access)>,
}

const GENERIC: &[AddressSpace] = &[AddressSpace::Generic];
const PRIVATE: &[AddressSpace] = &[AddressSpace::Private];
const GLOBAL: &[AddressSpace] = &[AddressSpace::Global];
const LOCAL: &[AddressSpace] = &[AddressSpace::Local];
const CONSTANT: &[AddressSpace] = &[AddressSpace::Constant];
const BASE: &[AddressSpace] = &[AddressSpace::Global, AddressSpace::Local];
const NAMED: &[AddressSpace] = &[AddressSpace::Global, AddressSpace::Local, AddressSpace::Private];
const NAMED_AND_CONSTANT: &[AddressSpace] =
    &[AddressSpace::Global, AddressSpace::Local, AddressSpace::Private, AddressSpace::Constant];
const GENERIC_AND_CONSTANT: &[AddressSpace] = &[AddressSpace::Generic, AddressSpace::Constant];

/// Adds the overloads of a row to a list.
pub(super) fn expand(
    group: &Group,
    lowering: Lowering,
    environment: Environment<'_>,
    types: &mut TypeTable,
    overloads: &mut Vec<Overload>,
) {
    let Some((slots, is_variadic)) = parse(group.signature, environment) else { return };
    let uses = |wanted: Lanes| slots.iter().any(|slot| matches!(slot.base, Base::Value(_, lanes) if lanes == wanted));
    let others: &[u8] = if uses(Lanes::Other) { &[2, 4, 8, 16] } else { &[0] };
    let is_atomic = slots.iter().any(|slot| matches!(slot.base, Base::Atomic(_)));
    let mut add = |image: Option<(ImageShape, Access)>| {
        for &scalar in group.types.scalars {
            if !has(environment, scalar, is_atomic) {
                continue;
            }
            for &lanes in group.types.lanes {
                for &other in others {
                    let choice = Choice { scalar, lanes, other, image };
                    choose_spaces(&slots, &choice, types, |result, parameters| {
                        overloads.push(Overload { result, parameters, is_variadic, lowering });
                    });
                }
            }
        }
    };
    match group.images {
        None => add(None),
        Some(Images { shapes, accesses }) => {
            for &access in accesses {
                for &shape in shapes {
                    if has_image(environment, shape, access) {
                        add(Some((shape, access)));
                    }
                }
            }
        }
    }
}

/// Whether a type exists.
fn has(environment: Environment<'_>, scalar: Scalar, is_atomic: bool) -> bool {
    let long_atomics = || {
        ["cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics"]
            .iter()
            .all(|name| environment.profile.has_extension(name))
    };
    match scalar {
        Scalar::Half => environment.has_half(),
        Scalar::Double => environment.has_double() && (!is_atomic || long_atomics()),
        Scalar::Long | Scalar::ULong => !is_atomic || long_atomics(),
        Scalar::Bool
        | Scalar::Char
        | Scalar::UChar
        | Scalar::Short
        | Scalar::UShort
        | Scalar::Int
        | Scalar::UInt
        | Scalar::Float => true,
    }
}

/// Whether images of a shape can be accessed this way.
fn has_image(environment: Environment<'_>, shape: ImageShape, access: Access) -> bool {
    let has_access = access != Access::ReadWrite || When::Feature("__opencl_c_read_write_images").holds(environment);
    let depth = || {
        environment.profile.has_extension("cl_khr_depth_images")
            || When::Feature("__opencl_c_images").holds(environment)
    };
    let has_shape = match shape {
        ImageShape::Dim2Depth | ImageShape::Dim2ArrayDepth => depth(),
        ImageShape::Dim2Msaa
        | ImageShape::Dim2ArrayMsaa
        | ImageShape::Dim2MsaaDepth
        | ImageShape::Dim2ArrayMsaaDepth => environment.profile.has_extension("cl_khr_gl_msaa_sharing"),
        ImageShape::Dim3 if access != Access::ReadOnly => {
            environment.profile.has_extension("cl_khr_3d_image_writes")
                || When::Feature("__opencl_c_3d_image_writes").holds(environment)
                || (environment.version == Version::V2_0)
        }
        ImageShape::Dim1
        | ImageShape::Dim1Buffer
        | ImageShape::Dim1Array
        | ImageShape::Dim2
        | ImageShape::Dim2Array
        | ImageShape::Dim3 => true,
    };
    has_access && has_shape
}

/// Calls a function for every combination of the address spaces of the pointers.
fn choose_spaces(slots: &[Slot], choice: &Choice, types: &mut TypeTable, mut add: impl FnMut(Ty, Vec<QualTy>)) {
    let count = |slot: &Slot| slot.pointer.map_or(1, |(_, spaces)| spaces.len());
    let total: usize = slots.iter().map(count).product();
    for number in 0..total {
        let mut rest = number;
        let mut result = None;
        let mut parameters = Vec::with_capacity(slots.len().saturating_sub(1));
        // The last pointer's space changes first.
        let mut picked: SmallVec<[usize; 8]> = SmallVec::from_elem(0, slots.len());
        for (slot, pick) in slots.iter().zip(&mut picked).rev() {
            *pick = rest % count(slot);
            rest /= count(slot);
        }
        for (slot, pick) in slots.iter().zip(&picked) {
            let base = base_type(slot.base, choice, types);
            let ty = match slot.pointer {
                None => base,
                Some((quals, spaces)) => {
                    let space = spaces.get(*pick).copied().unwrap_or_default();
                    types.pointer(QualTy { ty: base, quals: Quals { space, ..quals } })
                }
            };
            match result {
                None => result = Some(ty),
                Some(_) => parameters.push(QualTy::plain(ty)),
            }
        }
        if let Some(result) = result {
            add(result, parameters);
        }
    }
}

/// The type of a slot.
fn base_type(base: Base, choice: &Choice, types: &mut TypeTable) -> Ty {
    let image = choice.image.map(|(shape, _)| shape);
    match base {
        Base::Void => types.void(),
        Base::Value(element, lanes) => {
            let lanes = match lanes {
                Lanes::Fixed(lanes) => lanes,
                Lanes::Own => choice.lanes,
                Lanes::Other => choice.other,
                Lanes::Coordinates => image.map_or(1, coordinates),
                Lanes::Gradient => image.map_or(1, gradient),
                Lanes::Texel => {
                    if image.is_some_and(is_depth) {
                        1
                    } else {
                        4
                    }
                }
            };
            let scalar = self::element(element, choice.scalar, lanes);
            types.vector(scalar, lanes)
        }
        Base::SizeT => types.size_t(),
        Base::PtrdiffT => types.ptrdiff_t(),
        Base::Atomic(element) => {
            let scalar = self::element(element, choice.scalar, 1);
            let of = types.scalar(scalar);
            types.intern(TypeKind::Atomic(of))
        }
        Base::Image => match choice.image {
            Some((shape, access)) => types.intern(TypeKind::Image(shape, access)),
            None => types.error(),
        },
        Base::Sampler => types.intern(TypeKind::Sampler),
        Base::Event => types.intern(TypeKind::Event),
        Base::ClkEvent => types.intern(TypeKind::ClkEvent),
        Base::Queue => types.intern(TypeKind::Queue),
        Base::NdRange => types.intern(TypeKind::NdRange),
        Base::ReserveId => types.intern(TypeKind::ReserveId),
        Base::NamedBarrier => types.intern(TypeKind::NamedBarrier),
        Base::Open => types.error(),
    }
}

/// The scalar of a slot.
fn element(element: Element, own: Scalar, lanes: u8) -> Scalar {
    let integer = |bytes, signed| Scalar::integer(bytes, signed).unwrap_or(own);
    match element {
        Element::Fixed(scalar) => scalar,
        Element::Own => own,
        Element::Signed => integer(own.bytes(), true),
        Element::Unsigned => integer(own.bytes(), false),
        Element::Relational if lanes == 1 => Scalar::Int,
        Element::Relational => integer(own.bytes(), true),
        Element::Wide => integer(2 * own.bytes(), own.is_signed()),
    }
}

/// Lanes of the coordinates of an image.
pub(crate) fn coordinates(shape: ImageShape) -> u8 {
    match shape {
        ImageShape::Dim1 | ImageShape::Dim1Buffer => 1,
        ImageShape::Dim1Array
        | ImageShape::Dim2
        | ImageShape::Dim2Depth
        | ImageShape::Dim2Msaa
        | ImageShape::Dim2MsaaDepth => 2,
        ImageShape::Dim2Array
        | ImageShape::Dim2ArrayDepth
        | ImageShape::Dim2ArrayMsaa
        | ImageShape::Dim2ArrayMsaaDepth
        | ImageShape::Dim3 => 4,
    }
}

/// Lanes of a gradient of an image.
fn gradient(shape: ImageShape) -> u8 {
    match shape {
        ImageShape::Dim1 | ImageShape::Dim1Buffer | ImageShape::Dim1Array => 1,
        ImageShape::Dim2
        | ImageShape::Dim2Depth
        | ImageShape::Dim2Msaa
        | ImageShape::Dim2MsaaDepth
        | ImageShape::Dim2Array
        | ImageShape::Dim2ArrayDepth
        | ImageShape::Dim2ArrayMsaa
        | ImageShape::Dim2ArrayMsaaDepth => 2,
        ImageShape::Dim3 => 4,
    }
}

/// Whether the elements of an image are scalars.
fn is_depth(shape: ImageShape) -> bool {
    match shape {
        ImageShape::Dim2Depth
        | ImageShape::Dim2ArrayDepth
        | ImageShape::Dim2MsaaDepth
        | ImageShape::Dim2ArrayMsaaDepth => true,
        ImageShape::Dim1
        | ImageShape::Dim1Buffer
        | ImageShape::Dim1Array
        | ImageShape::Dim2
        | ImageShape::Dim2Array
        | ImageShape::Dim2Msaa
        | ImageShape::Dim2ArrayMsaa
        | ImageShape::Dim3 => false,
    }
}

/// The slots of a signature, and whether more arguments may follow; `None` if it is not well-formed, which a test excludes.
fn parse(text: &str, environment: Environment<'_>) -> Option<(Slots, bool)> {
    let (result, rest) = text.split_once('(')?;
    let parameters = rest.strip_suffix(')')?;
    let mut slots = Slots::new();
    slots.push(slot(result, environment)?);
    let mut is_variadic = false;
    for parameter in parameters.split(',').map(str::trim).filter(|parameter| !parameter.is_empty()) {
        if parameter == "..." {
            is_variadic = true;
        } else {
            slots.push(slot(parameter, environment)?);
        }
    }
    Some((slots, is_variadic))
}

/// One parameter, or the result.
fn slot(text: &str, environment: Environment<'_>) -> Option<Slot> {
    let (text, is_pointer) = match text.strip_suffix('*') {
        Some(text) => (text, true),
        None => (text, false),
    };
    let has_generic = environment.has_generic();
    let mut quals = Quals::default();
    let mut spaces = if has_generic { GENERIC } else { PRIVATE };
    let mut base = None;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        match word {
            "const" => quals.is_const = true,
            "volatile" => quals.is_volatile = true,
            "global" => spaces = GLOBAL,
            "local" => spaces = LOCAL,
            "private" => spaces = PRIVATE,
            "constant" => spaces = CONSTANT,
            "generic" => spaces = GENERIC,
            "base" => spaces = BASE,
            "named" => spaces = NAMED,
            "any" => spaces = if has_generic { GENERIC } else { NAMED },
            "all" => spaces = if has_generic { GENERIC_AND_CONSTANT } else { NAMED_AND_CONSTANT },
            _ => base = Some(self::base(word)?),
        }
    }
    Some(Slot { base: base?, pointer: is_pointer.then_some((quals, spaces)) })
}

/// The type that a word stands for.
fn base(word: &str) -> Option<Base> {
    Some(match word {
        "void" => Base::Void,
        "T" => Base::Value(Element::Own, Lanes::Own),
        "S" => Base::Value(Element::Own, Lanes::Fixed(1)),
        "I" => Base::Value(Element::Signed, Lanes::Own),
        "U" => Base::Value(Element::Unsigned, Lanes::Own),
        "R" => Base::Value(Element::Relational, Lanes::Own),
        "W" => Base::Value(Element::Wide, Lanes::Own),
        "M" => Base::Value(Element::Own, Lanes::Other),
        "image" => Base::Image,
        "coord" => Base::Value(Element::Fixed(Scalar::Int), Lanes::Coordinates),
        "fcoord" => Base::Value(Element::Fixed(Scalar::Float), Lanes::Coordinates),
        "grad" => Base::Value(Element::Fixed(Scalar::Float), Lanes::Gradient),
        "texel" => Base::Value(Element::Own, Lanes::Texel),
        "size_t" => Base::SizeT,
        "ptrdiff_t" => Base::PtrdiffT,
        "sampler_t" => Base::Sampler,
        "event_t" => Base::Event,
        "clk_event_t" => Base::ClkEvent,
        "queue_t" => Base::Queue,
        "ndrange_t" => Base::NdRange,
        "reserve_id_t" => Base::ReserveId,
        "named_barrier_t" => Base::NamedBarrier,
        "pipe" | "packet" | "block" => Base::Open,
        "cl_mem_fence_flags" | "memory_order" | "memory_scope" => {
            Base::Value(Element::Fixed(Scalar::UInt), Lanes::Fixed(1))
        }
        "atomic_T" => Base::Atomic(Element::Own),
        _ => match word.strip_prefix("atomic_") {
            Some(of) => Base::Atomic(Element::Fixed(scalar(of)?)),
            None => {
                let name = word.trim_end_matches(|c: char| c.is_ascii_digit() || c == 'N');
                let lanes = match word.strip_prefix(name)? {
                    "" => Lanes::Fixed(1),
                    "N" => Lanes::Own,
                    count => Lanes::Fixed(count.parse().ok()?),
                };
                Base::Value(Element::Fixed(scalar(name)?), lanes)
            }
        },
    })
}

/// The scalar type with a name.
pub(super) fn scalar(name: &str) -> Option<Scalar> {
    Scalar::ALL.into_iter().find(|scalar| scalar.name() == name)
}

/// Whether a signature is well-formed.
#[cfg(test)]
pub(super) fn is_well_formed(text: &str, environment: Environment<'_>) -> bool {
    parse(text, environment).is_some()
}
