//! Repairs, in the source, of what clang's SPIR-V back end translates wrongly.
//!
//! Each repair is a macro that puts something of the same meaning in place of a built-in function, and is added only to
//! sources that name the function: most programs are compiled as they are. Facts are of clang 22; a repair does no harm
//! where a later version needs it no more.
//!
//! - `convert_T` between integers extends by the signedness of the destination alone, and the wrong way round: a `char` of -1
//!   becomes the `int` 255;
//! - `convert_T_sat` between integers takes the source to be of the other signedness: the `int` -1000 becomes the `char` 127;
//! - `vloada_half3` is translated as `vload_half3`, whose vectors lie 3 apart, not 4;
//! - a `__local` array that is only passed to `async_work_group_copy` and its like gets the size of one element;
//! - `atomic_load_explicit` takes the order for the scope and the scope for the order; `atomic_load`, which is as strong as any of
//!   its forms, is right and costs no more;
//! - the compare-exchanges without a scope end the back end;
//! - `bit_reverse` and `bitfield_...` need an extension of SPIR-V with which a loop that the optimizer takes for the reversal of 9 bits
//!   reverses 16. They are written in OpenCL C instead, and the extension stays off;
//! - clang does not know `async_work_group_copy_2D2D`, `async_work_group_copy_3D3D` and `async_work_group_copy_fence`. They are written
//!   in OpenCL C;
//! - levels of images: see [`levels`].

mod levels;

use std::collections::BTreeSet;
use std::fmt::Write;

use super::Job;
use super::cache::may_read_files;

/// An integer type that `convert_` can name.
#[derive(Clone, Copy)]
struct Number {
    name: &'static str,
    bits: u32,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Signed,
    Unsigned,
}

const fn number(name: &'static str, bits: u32, kind: Kind) -> Number {
    Number { name, bits, kind }
}

const INTEGERS: [Number; 8] = [
    number("char", 8, Kind::Signed),
    number("uchar", 8, Kind::Unsigned),
    number("short", 16, Kind::Signed),
    number("ushort", 16, Kind::Unsigned),
    number("int", 32, Kind::Signed),
    number("uint", 32, Kind::Unsigned),
    number("long", 64, Kind::Signed),
    number("ulong", 64, Kind::Unsigned),
];

/// Widths as they stand in names of types.
const LANES: [&str; 6] = ["", "2", "3", "4", "8", "16"];

/// Rounding modes as they stand in names of functions.
const ROUNDINGS: [&str; 5] = ["", "_rte", "_rtz", "_rtp", "_rtn"];

/// One function to repair.
#[derive(Clone, Copy)]
enum Repair {
    Convert {
        to: Number,
        lanes: &'static str,
        saturate: bool,
        rounding: &'static str,
    },
    AlignedHalfLoad,
    /// A copy by the whole work-group, with or without a stride on the side of global memory.
    AsyncCopy {
        strided: bool,
    },
    /// A copy of a block of two or three dimensions by the whole work-group.
    BlockCopy {
        dimensions: u32,
    },
    /// Orders copies by the work-group.
    CopyFence,
    /// The load with an order.
    OrderedLoad,
    /// A function of `cl_khr_extended_bit_ops`.
    Bits(BitFunction),
    /// A function that reads or writes an image, with the type of colours: calls that name a level.
    Levels {
        name: &'static str,
        colour: &'static str,
    },
    /// A function of OpenCL C 2.0 atomics, with the number of arguments that it has before its scope.
    Scope {
        name: &'static str,
        arguments: usize,
    },
}

/// A function of `cl_khr_extended_bit_ops`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BitFunction {
    Insert,
    ExtractSigned,
    ExtractUnsigned,
    Reverse,
}

impl BitFunction {
    const ALL: [BitFunction; 4] =
        [BitFunction::Insert, BitFunction::ExtractSigned, BitFunction::ExtractUnsigned, BitFunction::Reverse];

    fn name(self) -> &'static str {
        match self {
            BitFunction::Insert => "bitfield_insert",
            BitFunction::ExtractSigned => "bitfield_extract_signed",
            BitFunction::ExtractUnsigned => "bitfield_extract_unsigned",
            BitFunction::Reverse => "bit_reverse",
        }
    }

    /// Its definition for a type of `bits` bits, `s` signed and `u` unsigned.
    fn definition(self, ty: &str, bits: u32, s: &str, u: &str) -> String {
        let head = |result: &str| {
            format!("inline {result} __attribute__((overloadable, always_inline, unused)) clift_{}", self.name())
        };
        let (low, high) = (format!("({bits}-c-o)&{}", bits - 1), format!("({bits}-c)&{}", bits - 1));
        match self {
            BitFunction::Insert => format!(
                "{}({ty} b,{ty} i,uint o,uint c){{if(c==0)return b;{u} m=({u})((({u})(-1)>>({u})({high}))<<({u})(o));\
                 return as_{ty}(({u})((as_{u}(b)&~m)|((as_{u}(i)<<({u})(o))&m)));}}\n",
                head(ty)
            ),
            BitFunction::ExtractSigned => format!(
                "{}({ty} b,uint o,uint c){{if(c==0)return ({s})(0);\
                 return ({s})(as_{s}(({u})(as_{u}(b)<<({u})({low})))>>({s})({high}));}}\n",
                head(s)
            ),
            BitFunction::ExtractUnsigned => format!(
                "{}({ty} b,uint o,uint c){{if(c==0)return ({u})(0);return ({u})(({u})(as_{u}(b)<<({u})({low}))>>({u})({high}));}}\n",
                head(u)
            ),
            BitFunction::Reverse => {
                let mut text = format!("{}({ty} b){{{u} x=as_{u}(b);", head(ty));
                let mut step = bits / 2;
                while step > 0 {
                    // The lower half of each group of twice as many bits.
                    let group =
                        (0..bits).filter(|bit| (bit / step).is_multiple_of(2)).fold(0u64, |mask, bit| mask | 1 << bit);
                    let _ = write!(
                        text,
                        "x=({u})(((x>>({u})({step}))&({u})({group}UL))|((x&({u})({group}UL))<<({u})({step})));"
                    );
                    step /= 2;
                }
                let _ = writeln!(text, "return as_{ty}(x);}}");
                text
            }
        }
    }
}

/// The functions that need their scope.
const SCOPES: [Repair; 2] = [
    Repair::Scope { name: "atomic_compare_exchange_strong_explicit", arguments: 5 },
    Repair::Scope { name: "atomic_compare_exchange_weak_explicit", arguments: 5 },
];

impl Repair {
    /// All of them.
    fn all() -> impl Iterator<Item = Repair> {
        let conversions = INTEGERS.iter().flat_map(|to| {
            LANES.iter().flat_map(move |lanes| {
                ROUNDINGS.iter().flat_map(move |rounding| {
                    [false, true].map(|saturate| Repair::Convert { to: *to, lanes, saturate, rounding })
                })
            })
        });
        let copies = [false, true].map(|strided| Repair::AsyncCopy { strided });
        conversions
            .chain([Repair::AlignedHalfLoad])
            .chain(copies)
            .chain([2, 3].map(|dimensions| Repair::BlockCopy { dimensions }))
            .chain([Repair::CopyFence])
            .chain([Repair::OrderedLoad])
            .chain(SCOPES)
            .chain(BitFunction::ALL.map(Repair::Bits))
            .chain(levels::FUNCTIONS.map(|(name, colour)| Repair::Levels { name, colour }))
    }

    /// The function's name.
    fn name(self) -> String {
        match self {
            Repair::Convert { to, lanes, saturate, rounding } => {
                format!("convert_{}{lanes}{}{rounding}", to.name, if saturate { "_sat" } else { "" })
            }
            Repair::AlignedHalfLoad => "vloada_half3".to_owned(),
            Repair::AsyncCopy { strided: false } => "async_work_group_copy".to_owned(),
            Repair::AsyncCopy { strided: true } => "async_work_group_strided_copy".to_owned(),
            Repair::BlockCopy { dimensions } => format!("async_work_group_copy_{dimensions}D{dimensions}D"),
            Repair::CopyFence => "async_work_group_copy_fence".to_owned(),
            Repair::OrderedLoad => "atomic_load_explicit".to_owned(),
            Repair::Scope { name, .. } | Repair::Levels { name, .. } => name.to_owned(),
            Repair::Bits(function) => function.name().to_owned(),
        }
    }

    /// The lines that repair it.
    fn lines(self) -> String {
        let name = self.name();
        match self {
            Repair::Convert { to, lanes, saturate, .. } => {
                let mut cases = String::new();
                // Saturation between signs is translated rightly; so are conversions of floats.
                for from in INTEGERS.iter().filter(|from| !saturate || from.kind == to.kind) {
                    let source = format!("{}{lanes}", from.name);
                    // Converting to its own type changes nothing, and makes the case acceptable whatever x is.
                    let same = plain("x", from.name, lanes);
                    let value = match (saturate && from.bits > to.bits, to.kind) {
                        (false, _) => "x".to_owned(),
                        (true, Kind::Signed) => {
                            let high = (1_u64 << (to.bits - 1)) - 1;
                            format!("clamp({same},({source})(-{high}-1),({source}){high})")
                        }
                        (true, Kind::Unsigned) => format!("min({same},({source}){}U)", (1_u64 << to.bits) - 1),
                    };
                    let _ = write!(cases, "{source}:{},", plain(&value, to.name, lanes));
                }
                // In its own expansion a macro's name means the function.
                format!("#define {name}(x) _Generic((x),{cases}default:{name}(x))\n")
            }
            Repair::AlignedHalfLoad => format!("#define {name}(o, p) vload_half3(0, (p) + (size_t)(o) * 4)\n"),
            Repair::AsyncCopy { strided } => {
                let mut text = String::new();
                let (parameter, to, from) = if strided {
                    // Overloads tell which side is global. No `static`: old versions of the language do not have it.
                    for (space, step) in [("global", "s"), ("local", "1")] {
                        let head = "inline size_t __attribute__((overloadable, always_inline, unused)) clift_step";
                        let _ =
                            writeln!(text, "{head}(const volatile __{space} void *p, size_t s) {{ return {step}; }}");
                    }
                    (", s", "clift_i * clift_step(clift_d, clift_s)", "clift_i * clift_step(clift_p, clift_s)")
                } else {
                    ("", "clift_i", "clift_i")
                };
                let step = if strided { "size_t clift_s = (s);" } else { "" };
                let _ = writeln!(
                    text,
                    "#define {name}(d, p, n{parameter}, e) __extension__ ({{ \
                     __auto_type clift_d = &*(d); __auto_type clift_p = &*(p); size_t clift_n = (n); {step} event_t clift_e = (e); \
                     size_t clift_w = get_local_size(0) * get_local_size(1) * get_local_size(2); \
                     size_t clift_i = (get_local_id(2) * get_local_size(1) + get_local_id(1)) * get_local_size(0) + get_local_id(0); \
                     for (; clift_i < clift_n; clift_i += clift_w) clift_d[{to}] = clift_p[{from}]; \
                     clift_e; }})"
                );
                text
            }
            Repair::BlockCopy { dimensions } => {
                let directions = [("local", "global"), ("global", "local")];
                let mut text: String = directions.map(|(to, from)| block_copy(dimensions, to, from)).concat();
                let _ = writeln!(text, "#define {name}(...) clift_{name}(__VA_ARGS__)");
                text
            }
            // The work-items make the copies together: each has to have made its part.
            Repair::CopyFence => format!("#define {name}(flags) barrier(flags)\n"),
            Repair::OrderedLoad => format!(
                "#define {name}(p, ...) __extension__ ({{ int clift_o[] = {{ __VA_ARGS__ }}; (void)clift_o; atomic_load(p); }})\n"
            ),
            Repair::Bits(function) => {
                let pairs = INTEGERS.chunks_exact(2);
                let types = pairs.flat_map(|pair| pair.iter().map(move |ty| (ty, pair[0].name, pair[1].name)));
                let mut text = String::new();
                for (ty, signed, unsigned) in types {
                    for lanes in LANES {
                        let [of, signed, unsigned] = [ty.name, signed, unsigned].map(|name| format!("{name}{lanes}"));
                        text += &function.definition(&of, ty.bits, &signed, &unsigned);
                    }
                }
                let _ = writeln!(text, "#define {name}(...) clift_{name}(__VA_ARGS__)");
                text
            }
            Repair::Levels { name, colour } => levels::lines(name, colour),
            Repair::Scope { arguments, .. } => {
                // Macros are chosen by the number of arguments: the one that stands where the scope's place ends.
                let given: String = (0..arguments).map(|i| format!("a{i},")).collect();
                let bare = given.trim_end_matches(',');
                format!(
                    "#define clift_without_{name}({bare}) {name}({given}memory_scope_device)\n\
                     #define clift_with_{name}({given}s) {name}({given}s)\n\
                     #define clift_of_{name}({given}s,f,...) f\n\
                     #define {name}(...) clift_of_{name}(__VA_ARGS__,clift_with_{name},clift_without_{name},)(__VA_ARGS__)\n"
                )
            }
        }
    }
}

/// A copy of a block from one address space to the other, in OpenCL C. The work-items share each line's elements; an element has
/// any number of bytes, and its address need not suit a number of that size.
fn block_copy(dimensions: u32, to: &str, from: &str) -> String {
    let (planes, of_planes) = match dimensions {
        2 => ("", ["", ""]),
        _ => (" size_t planes,", [" size_t from_area,", " size_t to_area,"]),
    };
    let [from_area, to_area] = of_planes;
    let head = format!(
        "inline event_t __attribute__((overloadable, always_inline, unused)) clift_async_work_group_copy_{dimensions}D{dimensions}D(\
         __{to} void *to, size_t to_offset, const __{from} void *from, size_t from_offset, size_t bytes, size_t elements, \
         size_t lines,{planes} size_t from_length,{from_area} size_t to_length,{to_area} event_t event)"
    );
    let whole = if dimensions == 2 { "const size_t planes = 1, from_area = 0, to_area = 0; " } else { "" };
    let number = |size: u32, ty: &str| {
        format!(
            "case {size}: for (size_t i = first; i < elements; i += items) {{ \
             typedef {ty} __attribute__((aligned(1))) number; \
             ((__{to} number *)into)[i] = ((const __{from} number *)of)[i]; }} break; "
        )
    };
    let numbers = [(1, "uchar"), (2, "ushort"), (4, "uint"), (8, "ulong")].map(|(size, ty)| number(size, ty)).concat();
    format!(
        "{head} {{ {whole}\
         size_t items = get_local_size(0) * get_local_size(1) * get_local_size(2); \
         size_t first = (get_local_id(2) * get_local_size(1) + get_local_id(1)) * get_local_size(0) + get_local_id(0); \
         for (size_t plane = 0; plane < planes; plane++) for (size_t line = 0; line < lines; line++) {{ \
         __{to} uchar *into = (__{to} uchar *)to + (to_offset + plane * to_area + line * to_length) * bytes; \
         const __{from} uchar *of = (const __{from} uchar *)from + (from_offset + plane * from_area + line * from_length) * bytes; \
         switch (bytes) {{ {numbers}\
         default: for (size_t i = first; i < elements * bytes; i += items) into[i] = of[i]; }} }} \
         return event; }}\n"
    )
}

/// An expression converted by the language itself.
fn plain(value: &str, name: &str, lanes: &str) -> String {
    if lanes.is_empty() {
        format!("({name})({value})")
    } else {
        format!("__builtin_convertvector({value},{name}{lanes})")
    }
}

/// How the names of all functions begin that are repaired.
const PREFIXES: [&[u8]; 7] = [b"convert_", b"vloada_", b"async_", b"atomic_", b"bit", b"read_image", b"write_image"];

/// The lines that a program needs before it.
pub fn prelude(job: &Job<'_>) -> String {
    let texts = || std::iter::once(job.source).chain(job.headers.iter().map(|header| header.text.as_slice()));
    // Names may come from files, or be put together by the preprocessor: then any may occur.
    let unknown = texts().any(|text| may_read_files(text) || text.windows(2).any(|pair| pair == b"##"));
    let options = job.options.front_end.iter().map(|option| option.as_bytes());
    let mut named: BTreeSet<&[u8]> = BTreeSet::new();
    for text in texts().chain(options) {
        let words = text.split(|byte| !(byte.is_ascii_alphanumeric() || *byte == b'_'));
        // An option's name sticks to a macro's: -Dconvert_...
        let words = words.map(|word| word.strip_prefix(b"D").filter(|_| text.starts_with(b"-D")).unwrap_or(word));
        named.extend(words.filter(|word| PREFIXES.iter().any(|prefix| word.starts_with(prefix))));
    }
    if named.is_empty() && !unknown {
        return String::new();
    }
    // Levels take types of other extensions, which devices with levels have.
    let has_levels = job.profile.extensions.contains(&"cl_khr_mipmap_image");
    let needed = |repair: &Repair| {
        let name = repair.name();
        let is_named = unknown || named.contains(name.as_bytes());
        is_named
            && match repair {
                Repair::Levels { .. } => {
                    has_levels && (unknown || texts().any(|text| levels::are_named_in(text, &name)))
                }
                Repair::Convert { .. }
                | Repair::AlignedHalfLoad
                | Repair::AsyncCopy { .. }
                | Repair::BlockCopy { .. }
                | Repair::CopyFence
                | Repair::OrderedLoad
                | Repair::Bits(_)
                | Repair::Scope { .. } => true,
            }
    };
    Repair::all().filter(needed).map(Repair::lines).collect()
}

#[cfg(test)]
mod tests {
    use super::prelude;
    use crate::frontend::options::Stage;
    use crate::frontend::{BuildOptions, Job, Profile};

    fn names_for(source: &str, options: &str) -> Vec<String> {
        let options = BuildOptions::parse(options, Stage::Compile).unwrap();
        let profile = Profile { extensions: vec!["cl_khr_mipmap_image"], ..Profile::default() };
        let job = Job { source: source.as_bytes(), headers: &[], options: &options, profile: &profile, level: 2 };
        let name = |line: &str| Some(line.strip_prefix("#define ")?.split('(').next()?.to_owned());
        prelude(&job).lines().filter_map(name).collect()
    }

    #[test]
    fn only_what_is_named_is_repaired() {
        assert!(names_for("kernel void k() { as_int(1.0f); convert_float(1); }", "").is_empty());
        assert_eq!(
            names_for("x = vloada_half3(1, p); /* convert_char_sat */", ""),
            ["convert_char_sat", "vloada_half3"]
        );
        assert_eq!(names_for("CONV(x)", "-DCONV=convert_uint4_rtz"), ["convert_uint4_rtz"]);
        assert!(names_for("convert_double2_rtn(x)", "").is_empty());
        assert_eq!(names_for("e = async_work_group_copy(a, b, 1, 0)", ""), ["async_work_group_copy"]);
        assert_eq!(names_for("async_work_group_copy_2D2D(a, b)", ""), ["async_work_group_copy_2D2D"]);
        assert_eq!(
            names_for("atomic_load_explicit(p, o)", "").last().map(String::as_str),
            Some("atomic_load_explicit")
        );
        assert!(names_for("read_imagef(i, s, c)", "").is_empty());
        assert_eq!(names_for("write_imageui(i, c, 1, v)", ""), ["clift_of_write_imageui", "write_imageui"]);
        let all = 8 * 6 * 5 * 2 + 1 + 2 + 3 + 1 + 2 * 4 + 4 + 6 * 2;
        assert_eq!(names_for("#include \"x.h\"", "").len(), all);
        assert_eq!(names_for("#define C(T) convert_##T", "").len(), all);
    }
}
