//! Typing: operand and result types of an instruction against its [`TypeRule`].

use crate::inst::{Imm, InstData};
use crate::ops::TypeRule;
use crate::types::{Elem, Type};

/// What typing needs to know around an instruction.
#[derive(Clone, Copy, Debug, Default)]
pub struct Env<'a> {
    /// Return types of the function the instruction stands in.
    pub returns: &'a [Type],
    /// Parameter and return types of the function a `call` names; `None` when there is no such function.
    pub callee: Option<(&'a [Type], &'a [Type])>,
}

/// Checks the number and types of operands and results. The immediate is of the kind the op asks for.
///
/// # Errors
/// The rule broken, in words.
pub fn check(data: &InstData, args: &[Type], results: &[Type], env: &Env<'_>) -> Result<(), String> {
    match data.op.info().rule {
        TypeRule::Stated => {
            let ([], [_]) = shape(args, results)?;
            Ok(())
        }
        TypeRule::Int1 => unary(args, results, Type::is_int, "integers"),
        TypeRule::Int2 => binary(args, results, Type::is_int, "integers"),
        TypeRule::Bits1 => unary(args, results, |t| t.is_int() || t.is_bool(), "integers or Booleans"),
        TypeRule::Bits2 => binary(args, results, |t| t.is_int() || t.is_bool(), "integers or Booleans"),
        TypeRule::Float1 => unary(args, results, Type::is_float, "floats"),
        TypeRule::Float2 => binary(args, results, Type::is_float, "floats"),
        TypeRule::Float3 => {
            let ([a, b, c], [r]) = shape(args, results)?;
            ensure(a.is_float(), || format!("operands are floats, not {a}"))?;
            same("second operand", b, a)?;
            same("third operand", c, a)?;
            same("result", r, a)
        }
        TypeRule::IntCompare => {
            let ([a, b], [r]) = shape(args, results)?;
            ensure(!a.is_float(), || format!("operands are integers, Booleans or pointers, not {a}"))?;
            same("second operand", b, a)?;
            same("result", r, a.as_mask())
        }
        TypeRule::FloatCompare => {
            let ([a, b], [r]) = shape(args, results)?;
            ensure(a.is_float(), || format!("operands are floats, not {a}"))?;
            same("second operand", b, a)?;
            same("result", r, a.as_mask())
        }
        TypeRule::Select => {
            let ([cond, a, b], [r]) = shape(args, results)?;
            ensure(cond == Type::B1 || cond == a.as_mask(), || {
                format!("condition is b1 or {}, not {cond}", a.as_mask())
            })?;
            same("third operand", b, a)?;
            same("result", r, a)
        }
        TypeRule::Widen => {
            let ([a], [r]) = shape(args, results)?;
            ensure(a.is_int() || a.is_bool(), || format!("operand is an integer or a Boolean, not {a}"))?;
            ensure(r.is_int() && r.elem.bits() > a.elem.bits(), || {
                format!("result is an integer wider than {a}, not {r}")
            })?;
            lanes(a, r)
        }
        TypeRule::Narrow => {
            let ([a], [r]) = shape(args, results)?;
            ensure(a.is_int(), || format!("operand is an integer, not {a}"))?;
            ensure(r.is_int() && r.elem.bits() < a.elem.bits(), || {
                format!("result is an integer narrower than {a}, not {r}")
            })?;
            lanes(a, r)
        }
        TypeRule::FloatToInt => {
            let ([a], [r]) = shape(args, results)?;
            ensure(a.is_float() && r.is_int(), || format!("converts floats to integers, not {a} to {r}"))?;
            lanes(a, r)
        }
        TypeRule::IntToFloat => {
            let ([a], [r]) = shape(args, results)?;
            ensure(a.is_int() && r.is_float(), || format!("converts integers to floats, not {a} to {r}"))?;
            lanes(a, r)
        }
        TypeRule::FloatToFloat => {
            let ([a], [r]) = shape(args, results)?;
            ensure(a.is_float() && r.is_float() && a.elem != r.elem, || {
                format!("converts floats to floats of another width, not {a} to {r}")
            })?;
            lanes(a, r)
        }
        TypeRule::Bitcast => {
            let ([a], [r]) = shape(args, results)?;
            for ty in [a, r] {
                ensure(ty.is_int() || ty.is_float(), || format!("casts integers and floats, not {ty}"))?;
            }
            ensure(a.bits() == r.bits(), || format!("{a} has {} bits, {r} has {}", a.bits(), r.bits()))
        }
        TypeRule::PtrToInt => {
            let ([a], [r]) = shape(args, results)?;
            pointer("operand", a)?;
            same("result", r, a.with_elem(Elem::I64))
        }
        TypeRule::IntToPtr => {
            let ([a], [r]) = shape(args, results)?;
            pointer("result", r)?;
            same("operand", a, r.with_elem(Elem::I64))
        }
        TypeRule::PtrToPtr => {
            let ([a], [r]) = shape(args, results)?;
            pointer("operand", a)?;
            pointer("result", r)?;
            ensure(a.elem != r.elem, || format!("operand and result are in different spaces, not both {a}"))?;
            lanes(a, r)
        }
        TypeRule::PtrTest => {
            let ([a], [r]) = shape(args, results)?;
            pointer("operand", a)?;
            same("result", r, a.as_mask())
        }
        TypeRule::Splat => {
            let ([a], [r]) = shape(args, results)?;
            ensure(!a.is_vector(), || format!("operand is a scalar, not {a}"))?;
            vector("result", r)?;
            same("element of the result", r.lane(), a)
        }
        TypeRule::Extract => {
            let ([a], [r]) = shape(args, results)?;
            vector("operand", a)?;
            same("result", r, a.lane())
        }
        TypeRule::Insert => {
            let ([a, b], [r]) = shape(args, results)?;
            vector("first operand", a)?;
            same("second operand", b, a.lane())?;
            same("result", r, a)
        }
        TypeRule::ExtractDyn => {
            let ([a, n], [r]) = shape(args, results)?;
            vector("first operand", a)?;
            same("lane number", n, Type::I32)?;
            same("result", r, a.lane())
        }
        TypeRule::InsertDyn => {
            let ([a, b, n], [r]) = shape(args, results)?;
            vector("first operand", a)?;
            same("second operand", b, a.lane())?;
            same("lane number", n, Type::I32)?;
            same("result", r, a)
        }
        TypeRule::Lookup => {
            let ([a, n], [r]) = shape(args, results)?;
            vector("first operand", a)?;
            ensure(a.is_int() || a.is_float(), || format!("first operand has ints or floats, not {a}"))?;
            ensure(a.lanes().is_power_of_two(), || format!("first operand has a power of two of lanes, not {a}"))?;
            vector("second operand", n)?;
            same("second operand's element", n.lane(), Type::scalar(a.elem.as_int()))?;
            same("result", r, n.with_elem(a.elem))
        }
        TypeRule::Shuffle => {
            let ([a, b], [r]) = shape(args, results)?;
            same("second operand", b, a)?;
            let Imm::Lanes(lanes) = &data.imm else { unreachable!("broken invariant: shuffle with {:?}", data.imm) };
            let count = lanes.len() as u32;
            let Some(ty) = Type::new(a.elem, count) else { return Err(format!("no type has {count} lanes")) };
            same("result", r, ty)
        }
        TypeRule::Vec => {
            let (&[first, ..], &[r]) = (args, results) else {
                return Err("takes at least one operand and gives one result".to_owned());
            };
            for (i, &arg) in args.iter().enumerate() {
                ensure(!arg.is_vector(), || format!("operand {i} is a scalar, not {arg}"))?;
                same(&format!("operand {i}"), arg, first)?;
            }
            let count = args.len() as u32;
            ensure(count >= 2, || "takes at least two operands".to_owned())?;
            let Some(ty) = Type::new(first.elem, count) else { return Err(format!("no type has {count} lanes")) };
            same("result", r, ty)
        }
        TypeRule::MaskToBool => {
            let ([a], [r]) = shape(args, results)?;
            ensure(a.is_bool(), || format!("operand is a mask, not {a}"))?;
            same("result", r, Type::B1)
        }
        TypeRule::MaskBits => {
            let ([a], [r]) = shape(args, results)?;
            ensure(a.is_bool(), || format!("operand is a mask, not {a}"))?;
            same("result", r, Type::I64)
        }
        TypeRule::Reduce => {
            let ([a], [r]) = shape(args, results)?;
            vector("operand", a)?;
            ensure(a.is_int() || a.is_float(), || format!("operand has integers or floats, not {a}"))?;
            same("result", r, a.lane())
        }
        TypeRule::Combine => {
            let ([a], [r]) = shape(args, results)?;
            ensure(!a.is_ptr(), || format!("operand has integers, floats or Booleans, not {a}"))?;
            same("result", r, a)
        }
        TypeRule::Truth => {
            let ([a], [r]) = shape(args, results)?;
            same("operand", a, Type::B1)?;
            same("result", r, Type::B1)
        }
        TypeRule::Ballot => {
            let ([a], [r]) = shape(args, results)?;
            same("operand", a, Type::B1)?;
            same("result", r, Type::I32.with_lanes(4))
        }
        TypeRule::Pick => {
            let ([a, n], [r]) = shape(args, results)?;
            same("number", n, Type::I32)?;
            same("result", r, a)
        }
        TypeRule::Addr => address(args, results),
        TypeRule::Address => {
            let ([], [r]) = shape(args, results)?;
            pointer("result", r)?;
            ensure(!r.is_vector(), || format!("result is a scalar, not {r}"))
        }
        TypeRule::Load => {
            let ([p], [r]) = shape(args, results)?;
            scalar_pointer(p)?;
            in_memory("result", r)
        }
        TypeRule::Store => {
            let ([p, a], []) = shape(args, results)?;
            scalar_pointer(p)?;
            in_memory("value", a)
        }
        TypeRule::MaskedLoad => {
            let ([p, mask, other], [r]) = shape(args, results)?;
            scalar_pointer(p)?;
            in_memory("result", r)?;
            same("mask", mask, r.as_mask())?;
            same("third operand", other, r)
        }
        TypeRule::MaskedStore => {
            let ([p, a, mask], []) = shape(args, results)?;
            scalar_pointer(p)?;
            in_memory("value", a)?;
            same("mask", mask, a.as_mask())
        }
        TypeRule::Gather => {
            let ([p, mask, other], [r]) = shape(args, results)?;
            pointer("first operand", p)?;
            in_memory("result", r)?;
            lanes(p, r)?;
            same("mask", mask, r.as_mask())?;
            same("third operand", other, r)
        }
        TypeRule::Scatter => {
            let ([p, a, mask], []) = shape(args, results)?;
            pointer("first operand", p)?;
            in_memory("value", a)?;
            lanes(p, a)?;
            same("mask", mask, a.as_mask())
        }
        TypeRule::Memcpy => {
            let ([to, from, count], []) = shape(args, results)?;
            scalar_pointer(to)?;
            scalar_pointer(from)?;
            same("count", count, Type::I64)
        }
        TypeRule::Memset => {
            let ([to, byte, count], []) = shape(args, results)?;
            scalar_pointer(to)?;
            same("byte", byte, Type::I8)?;
            same("count", count, Type::I64)
        }
        TypeRule::AtomicLoad => {
            let ([p], [r]) = shape(args, results)?;
            scalar_pointer(p)?;
            atomic("result", r)
        }
        TypeRule::AtomicStore => {
            let ([p, a], []) = shape(args, results)?;
            scalar_pointer(p)?;
            atomic("value", a)
        }
        TypeRule::AtomicRmw => {
            let ([p, a], [r]) = shape(args, results)?;
            scalar_pointer(p)?;
            atomic("operand", a)?;
            same("result", r, a)
        }
        TypeRule::AtomicCmpxchg => {
            let ([p, expected, new], [r]) = shape(args, results)?;
            scalar_pointer(p)?;
            atomic("new value", new)?;
            same("expected value", expected, new)?;
            same("result", r, new)
        }
        TypeRule::Nothing | TypeRule::Jump => {
            let ([], []) = shape(args, results)?;
            Ok(())
        }
        TypeRule::Arrive => {
            let ([p], []) = shape(args, results)?;
            scalar_pointer(p)
        }
        TypeRule::Query64 => {
            let ([], [r]) = shape(args, results)?;
            same("result", r, Type::I64)
        }
        TypeRule::Query32 => {
            let ([], [r]) = shape(args, results)?;
            same("result", r, Type::I32)
        }
        TypeRule::Call => {
            let Some((params, returns)) = env.callee else {
                return Err("calls a function that does not exist".to_owned());
            };
            list("arguments", args, params)?;
            list("results", results, returns)
        }
        TypeRule::ImageRead => {
            let ([image, sampler, coordinates, level], [r]) = shape(args, results)?;
            scalar_pointer(image)?;
            same("sampler", sampler, Type::I64)?;
            let four = [Type::I32, Type::F32].map(|ty| ty.with_lanes(4));
            ensure(four.contains(&coordinates), || {
                format!("coordinates are four numbers of 32 bits, not {coordinates}")
            })?;
            same("level", level, Type::F32)?;
            colour("result", r)
        }
        TypeRule::ImageWrite => {
            let ([image, coordinates, level, value], []) = shape(args, results)?;
            scalar_pointer(image)?;
            same("coordinates", coordinates, Type::I32.with_lanes(4))?;
            same("level", level, Type::I32)?;
            colour("value", value)
        }
        TypeRule::Lib => library(data, args, results),
        TypeRule::Printf => {
            let (&[format, ref values @ ..], &[r]) = (args, results) else {
                return Err("takes a format and values, gives one result".to_owned());
            };
            scalar_pointer(format)?;
            for &value in values {
                in_memory("value", value)?;
            }
            same("result", r, Type::I32)
        }
        TypeRule::Check => {
            let ([site, at, bytes, item], [r]) = shape(args, results)?;
            for (what, ty) in [("site", site), ("place", at), ("size", bytes), ("work-item", item)] {
                same(what, ty, Type::I64)?;
            }
            same("result", r, Type::I32)
        }
        TypeRule::Request => {
            let (&[number, ref operands @ ..], &[r]) = (args, results) else {
                return Err("takes a number and operands, gives one result".to_owned());
            };
            same("number", number, Type::I32)?;
            for &operand in operands {
                if operand.is_vector() || !(operand.is_ptr() || operand == Type::I32 || operand == Type::I64) {
                    return Err(format!("an operand is {operand}"));
                }
            }
            same("result", r, Type::I64)
        }
        TypeRule::Branch => {
            let ([cond], []) = shape(args, results)?;
            same("condition", cond, Type::B1)
        }
        TypeRule::Switch => {
            let ([selector], []) = shape(args, results)?;
            ensure(selector.is_int() && !selector.is_vector(), || {
                format!("selector is a scalar integer, not {selector}")
            })
        }
        TypeRule::Ret => {
            list("results", results, &[])?;
            list("values", args, env.returns)
        }
    }
}

/// The operands and results as arrays.
fn shape<const N: usize, const M: usize>(args: &[Type], results: &[Type]) -> Result<([Type; N], [Type; M]), String> {
    let operands = args.try_into().map_err(|_| format!("takes {N} operands, has {}", args.len()))?;
    let results = results.try_into().map_err(|_| format!("gives {M} results, has {}", results.len()))?;
    Ok((operands, results))
}

fn ensure(holds: bool, message: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(message()) }
}

fn same(what: &str, ty: Type, wanted: Type) -> Result<(), String> {
    ensure(ty == wanted, || format!("{what} is {wanted}, not {ty}"))
}

fn lanes(a: Type, b: Type) -> Result<(), String> {
    ensure(a.lanes() == b.lanes(), || format!("{a} and {b} have different numbers of lanes"))
}

fn pointer(what: &str, ty: Type) -> Result<(), String> {
    ensure(ty.is_ptr(), || format!("{what} is a pointer, not {ty}"))
}

fn scalar_pointer(ty: Type) -> Result<(), String> {
    ensure(ty.is_ptr() && !ty.is_vector(), || format!("address is a scalar pointer, not {ty}"))
}

fn vector(what: &str, ty: Type) -> Result<(), String> {
    ensure(ty.is_vector(), || format!("{what} is a vector, not {ty}"))
}

/// Truth values have no memory form.
fn in_memory(what: &str, ty: Type) -> Result<(), String> {
    ensure(!ty.is_bool(), || format!("{what} has a memory form, which {ty} has not"))
}

fn atomic(what: &str, ty: Type) -> Result<(), String> {
    ensure(!ty.is_vector() && !ty.is_bool(), || format!("{what} is a scalar integer, float or pointer, not {ty}"))
}

fn list(what: &str, types: &[Type], wanted: &[Type]) -> Result<(), String> {
    ensure(types == wanted, || format!("{what} are {wanted:?}, not {types:?}"))
}

fn unary(args: &[Type], results: &[Type], class: fn(Type) -> bool, name: &str) -> Result<(), String> {
    let ([a], [r]) = shape(args, results)?;
    ensure(class(a), || format!("operands are {name}, not {a}"))?;
    same("result", r, a)
}

fn binary(args: &[Type], results: &[Type], class: fn(Type) -> bool, name: &str) -> Result<(), String> {
    let ([a, b], [r]) = shape(args, results)?;
    ensure(class(a), || format!("operands are {name}, not {a}"))?;
    same("second operand", b, a)?;
    same("result", r, a)
}

fn address(args: &[Type], results: &[Type]) -> Result<(), String> {
    let (base, index) = match *args {
        [base] => (base, None),
        [base, index] => (base, Some(index)),
        _ => return Err(format!("takes 1 or 2 operands, has {}", args.len())),
    };
    pointer("base", base)?;
    let mut wanted = base;
    if let Some(index) = index {
        ensure(index.elem == Elem::I64, || format!("index is i64, not {index}"))?;
        if base.is_vector() && index.is_vector() {
            lanes(base, index)?;
        }
        wanted = base.with_lanes(base.lanes().max(index.lanes()));
    }
    let [r] = *results else { return Err(format!("gives 1 results, has {}", results.len())) };
    same("result", r, wanted)
}

/// A colour: four components.
fn colour(what: &str, ty: Type) -> Result<(), String> {
    let four = [Type::I32, Type::F32, Type::F16].map(|ty| ty.with_lanes(4));
    ensure(four.contains(&ty), || format!("{what} is four integers of 32 bits or floats, not {ty}"))
}

fn library(data: &InstData, args: &[Type], results: &[Type]) -> Result<(), String> {
    let Imm::Lib(function) = data.imm else { unreachable!("broken invariant: libcall with {:?}", data.imm) };
    let signature = function.signature();
    ensure(args.len() == signature.arity(), || format!("takes {} operands, has {}", signature.arity(), args.len()))?;
    let float = args[0];
    ensure(matches!(float.elem, Elem::F32 | Elem::F64), || format!("first operand is f32 or f64, not {float}"))?;
    for (i, &arg) in args.iter().enumerate() {
        let wanted = match signature.param_is_float(i) {
            Some(true) => float,
            Some(false) => float.with_elem(Elem::I32),
            None => unreachable!("broken invariant: operand {i} of {}", function.name()),
        };
        same(&format!("operand {i}"), arg, wanted)?;
    }
    let [r] = *results else { return Err(format!("gives 1 results, has {}", results.len())) };
    same("result", r, signature.result(float))
}
