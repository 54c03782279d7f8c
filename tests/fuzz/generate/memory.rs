//! Pointers and memory as programs use them: pointers to pointers, memory seen as another type, structures of the host's layout,
//! program-scope variables that point to each other, pointers to the generic address space, atomic operations in loops, half
//! precision, and images. Results are independent of the order of work-items.

use super::types::{Elem, Ty, UINT, ULONG};
use super::{Generator, Kind, Var};

/// Pixels of an image in each direction.
pub(crate) const PICTURE: [usize; 2] = [16, 8];
/// Pixels of a row of the image that each work-item writes a pixel of.
pub(crate) const CANVAS_WIDTH: usize = 32;
/// Bytes of the structure `Plain`.
pub(crate) const PLAIN_BYTES: usize = 24;

impl Generator {
    /// What these statements use, at file scope.
    pub(super) fn memory_prelude(&mut self) {
        self.line("typedef struct { uint a; ushort b[2]; uchar4 c; int d; ulong e; } Plain;");
        self.line("constant Plain plain_table[2] = { { 1, { 2, 3 }, (uchar4)(4, 5, 6, 7), -8, 9 }, { .e = ~0ul, .b[1] = 5 } };");
        if self.modern {
            for line in [
                "global uint numbers[8] = { 9, 8, [4] = 7, 0xffffffff, 5 };",
                "global uint *first_number = numbers + 1;",
                "struct Link { global uint *at; int step; global struct Link *next; };",
                "static global struct Link last_link[2] = { [1] = { .at = numbers + 4 } };",
                "global struct Link links[3] = { { &numbers[2], 1, last_link }, { numbers, 2, &last_link[1] }, { &numbers[7], .next = last_link } };",
                "static global uint *constant number_table[2][2] = { { numbers }, { numbers + 3, &numbers[5] } };",
                "typedef union { ulong whole; uint2 parts; uchar bytes[8]; } Either;",
                "global Either eithers[2] = { { 0x0102030405060708ul }, { .bytes = { 1, 2, 3 } } };",
            ] {
                self.line(line);
            }
        }
        if self.halves {
            self.line("#pragma OPENCL EXTENSION cl_khr_fp16 : enable");
            for lanes in ["", "2", "3", "4", "8", "16"] {
                let (ty, bound) = (format!("half{lanes}"), format!("(half{lanes})(1024)"));
                let body = if lanes.is_empty() {
                    format!("fabs(x) < {bound} ? x + (half)0 : (half)1")
                } else {
                    format!("fabs(x) < {bound} ? x + ({ty})(0) : ({ty})(1)")
                };
                self.line(format!("{ty} s_{ty}({ty} x) {{ return {body}; }}"));
            }
        }
        if self.images {
            let samplers = [
                ("exact", "CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST"),
                ("bordered", "CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST"),
                ("repeated", "CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_REPEAT | CLK_FILTER_NEAREST"),
                ("mirrored", "CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_MIRRORED_REPEAT | CLK_FILTER_NEAREST"),
            ];
            for (name, value) in samplers {
                self.line(format!("constant sampler_t {name} = {value};"));
            }
        }
    }

    /// A statement of these.
    pub(super) fn memory_statement(&mut self) {
        match self.rng.u32(..12) {
            10 => self.message(),
            11 => self.words_of_bytes(),
            0 | 1 => self.pointers_to_pointers(),
            2 | 3 => self.seen_as_another_type(),
            4 if self.modern => self.program_scope(),
            5 if self.modern => self.generic_pointer(),
            6 if self.in_kernel() => self.atomic_loop(),
            7 if self.halves => self.half_arithmetic(),
            8 if self.images && self.in_kernel() => self.image(),
            _ => self.plain(),
        }
    }

    fn pointers_to_pointers(&mut self) {
        let ty = self.ty();
        let (t, list, at, name) = (ty.name(), self.fresh("t"), self.fresh("q"), self.fresh("v"));
        let values: Vec<String> = (0..4).map(|_| self.assigned(ty, 1)).collect();
        let (i, j, test) = (self.expr(UINT, 1), self.expr(UINT, 1), self.condition(2));
        self.line(format!("{t} {list}[4] = {{{}}};", values.join(", ")));
        match self.rng.u32(..5) {
            0 => {
                self.line(format!("private {t} *{at}[4] = {{ {list} + 3, {list}, &{list}[2], 1 + {list} }};"));
                self.line(format!("private {t} **{at}p = &{at}[({i}) & 3]; {t} {name} = **{at}p;"));
                self.line(format!("*{at}p = {at}[({j}) & 3]; *{at}[({i}) & 3] = {list}[3]; {name} = *{at}[0];"));
            }
            1 => {
                // Swapped buffers.
                self.line(format!("private {t} *{at}a = {list}, *{at}b = {list} + 2;"));
                self.line(format!(
                    "for (int k = 0; k < 3; k++) {{ {at}b[k & 1] = {at}a[(k + ({i})) & 1]; if ({test}) {{ private {t} *s = {at}a; {at}a = {at}b; {at}b = s; }} }}"
                ));
                self.line(format!("{t} {name} = *{at}a;"));
            }
            2 => {
                // A structure of pointers.
                self.line(format!(
                    "struct {{ private {t} *at; uint count; private {t} *const end; }} {at} = {{ {list}, 0, {list} + 3 }}, *{at}p = &{at};"
                ));
                self.line(format!(
                    "while ({at}p->at < {at}p->end) {{ if ({test}) {at}.at++; {at}p->count += {at}p->end - {at}p->at++; }}"
                ));
                self.line(format!("{t} {name} = {list}[{at}.count & 3];"));
            }
            3 => {
                // A pointer that may be null.
                self.line(format!("private {t} *{at} = {test} ? &{list}[({i}) & 3] : 0;"));
                self.line(format!("{t} {name} = {list}[1]; if ({at}) {name} = *{at}; if ({at} != NULL && {at} > {list}) {at}[-1] = {name};"));
            }
            _ => {
                // Differences and addresses.
                self.line(format!("private {t} *{at} = {list} + (({i}) & 3);"));
                self.line(format!(
                    "size_t {at}d = (uintptr_t){at} - (uintptr_t){list}; {t} {name} = *(private {t} *)((private char *){list} + {at}d);"
                ));
                self.line(format!("{name} = {list}[({at}d / sizeof({t}) + (size_t)({list} + 3 - {at}) + ({j})) & 3];"));
            }
        }
        for (suffix, k) in [("a", 0), ("b", 3)] {
            self.line(format!("{t} {name}{suffix} = {list}[{k}];"));
            self.declare(&format!("{name}{suffix}"), Kind::Value(ty), true, false);
        }
        self.declare(&name, Kind::Value(ty), true, false);
    }

    /// Words of memory read and written as elements of other types.
    fn seen_as_another_type(&mut self) {
        let name = self.fresh("v");
        let elem = [Elem::U8, Elem::U16, Elem::I16, Elem::U32, Elem::U64, Elem::I64][self.rng.usize(..6)];
        let lanes = [1, 2, 4, 8, 16][self.rng.usize(..5)];
        let ty = Ty { elem, lanes };
        let (t, bytes) = (ty.name(), ty.bytes());
        if bytes > 64 {
            return self.assignment();
        }
        let index = format!("({}) & {}", self.expr(UINT, 1), 64 / bytes - 1);
        let value = self.expr(ty, 2);
        let (space, base) = if self.in_kernel() && self.rng.bool() {
            ("global", "mem".to_owned())
        } else {
            let list = self.fresh("t");
            let fill = self.expr(ULONG, 1);
            // The alignment of the largest vector.
            self.line(format!("ulong8 {list}; {list} = (ulong8)({fill}) + (ulong8)(1, 2, 3, 4, 5, 6, 7, 8);"));
            ("private", format!("(&{list})"))
        };
        // The work-item's part of the buffer is aligned to its size.
        let place = format!("((({space} {t} *){base}) [{index}])");
        self.line(format!("{t} {name} = {place};"));
        match self.rng.u32(..4) {
            0 => self.line(format!("{place} = {value}; {name} ^= {place};")),
            1 => self.line(format!("*(({space} {t} *){base} + (({index}) ^ {})) = {value};", u32::from(bytes < 64))),
            2 => {
                let byte = self.index(32, 1);
                self.line(format!("(({space} uchar *){base})[{byte}] ^= 0x5a; {name} = {place};"));
            }
            _ => {
                let byte = self.index(16, 1);
                self.line(format!("{name} ^= ({t})((({space} const volatile ushort *){base} + 1)[{byte}]);"));
            }
        }
        self.declare(&name, Kind::Value(ty), true, false);
    }

    /// An array of words that is filled with smaller elements in a loop, as messages are for hash functions.
    fn message(&mut self) {
        let (list, k, name) = (self.fresh("t"), self.fresh("k"), self.fresh("v"));
        let word = [UINT, ULONG, Ty { elem: Elem::U16, lanes: 1 }][self.rng.usize(..3)];
        let part = if self.rng.bool() && word.bytes() > 2 { Elem::U16 } else { Elem::U8 };
        let part = Ty { elem: part, lanes: 1 };
        let count = 8 * word.bytes() / part.bytes();
        let (t, p) = (word.name(), part.name());
        let (fill, value, start) = (self.expr(word, 1), self.expr(part, 1), self.expr(UINT, 1));
        let bound = if self.rng.bool() { count.to_string() } else { format!("({}) % {count}", self.expr(UINT, 1)) };
        let flip = [0, 1, word.bytes() / part.bytes() - 1][self.rng.usize(..3)];
        let index = match self.rng.u32(..3) {
            0 => format!("{k} ^ {flip}"),
            1 => format!("(({start}) + {k} ^ {flip}) & {}", count - 1),
            _ => format!("({k} * 5 + {flip}) & {}", count - 1),
        };
        let test = if self.rng.bool() { format!("if ({}) ", self.condition(1)) } else { String::new() };
        self.line(format!("{t} {list}[8]; for (uint {k} = 0; {k} < 8; {k}++) {list}[{k}] = ({t})(({fill}) + {k});"));
        self.line(format!("private {p} *{list}p = (private {p} *){list}; uint {list}n = {bound};"));
        self.line(format!("for (uint {k} = 0; {k} < {list}n; {k}++) {test}{list}p[{index}] = ({p})(({value}) + {k});"));
        self.line(format!("{t} {name} = 0; for (uint {k} = 0; {k} < 8; {k}++) {name} = {name} * 31 + {list}[{k}];"));
        self.line(format!("{name} ^= {list}p[({start}) & {}];", count - 1));
        self.declare(&name, Kind::Value(word), true, false);
    }

    /// Words that are loaded byte by byte, and stored so after a change.
    fn words_of_bytes(&mut self) {
        let (p, name) = (self.fresh("q"), self.fresh("v"));
        let word = [UINT, ULONG, Ty { elem: Elem::U16, lanes: 1 }][self.rng.usize(..3)];
        let (t, bytes) = (word.name(), word.bytes());
        let is_big = self.rng.bool();
        let place = |k: u32| if is_big { bytes - 1 - k } else { k };
        let joined: Vec<String> = (0..bytes).map(|k| format!("({t}){p}[{}] << {}", place(k), 8 * k)).collect();
        let (start, value) = (self.index(32, 1), self.expr(word, 1));
        let space = if self.in_kernel() {
            self.line(format!("global uchar *{p} = (global uchar *)mem + ({start});"));
            "global"
        } else {
            self.line(format!("ulong8 {p}l = (ulong8)({value}) + (ulong8)(1, 2, 3, 4, 5, 6, 7, 8);"));
            self.line(format!("private uchar *{p} = (private uchar *)&{p}l + ({start});"));
            "private"
        };
        let joined = joined.join([" | ", " + ", " ^ "][self.rng.usize(..3)]);
        let (at, read) = (self.rng.u32(..9), self.rng.u32(..9));
        self.line(format!("{t} {name} = {joined};"));
        if self.rng.bool() {
            let joined = if self.rng.bool() { name.clone() } else { format!("({t})({name} ^ {value})") };
            self.line(format!("{{ {t} w = {joined}; {space} uchar *q = {p} + {at};"));
            for k in 0..bytes {
                self.line(format!("q[{}] = (uchar)(w >> {});", place(k), 8 * k));
            }
            self.line(format!("}} {name} ^= {p}[{read}];"));
        }
        self.declare(&name, Kind::Value(word), true, false);
    }

    /// A structure in memory, behind pointers to several address spaces.
    fn plain(&mut self) {
        let (p, name) = (self.fresh("q"), self.fresh("v"));
        let (x, y, i) = (self.expr(UINT, 2), self.expr(ULONG, 2), self.expr(UINT, 1));
        let own = format!("Plain {p}o = {{ {x}, {{ 1, 2 }}, (uchar4)(3), 4, {y} }};");
        let (space, target) = match (self.in_kernel(), self.rng.u32(..4)) {
            (true, 0 | 1) => ("global", format!("(global Plain *)(mem + 2 * (({i}) % 5))")),
            (true, 2) => {
                self.line(format!("Plain {p}o = plain;"));
                ("private", format!("&{p}o"))
            }
            (_, 3) => {
                self.line(format!("Plain {p}o = plain_table[({i}) & 1]; {p}o.a ^= plain_table[({x}) & 1].c.z;"));
                ("private", format!("&{p}o"))
            }
            _ => {
                self.line(own);
                ("private", format!("&{p}o"))
            }
        };
        self.line(format!("{space} Plain *{p} = {target};"));
        let text = match self.rng.u32(..5) {
            0 => format!("{p}->b[({i}) & 1] += {x}; {p}->c.yz = {p}->c.zw ^ (uchar2)(1, 2);"),
            1 => format!("{p}->e ^= {y}; {p}->d = (int){p}->e & 0xffff; {p}->c = as_uchar4({p}->a);"),
            2 => format!(
                "for ({space} uchar *{p}b = ({space} uchar *){p}, *end = {p}b + sizeof(Plain); {p}b < end; {p}b += 5) *{p}b ^= {x};"
            ),
            3 => format!("*({space} uint *)&{p}->b = {x}; {p}->a++; {p}->c.s3 -= {p}->b[0];"),
            _ => format!("Plain {p}c = *{p}; {p}c.a *= 5; {p}c.b[1]--; *{p} = {p}c;"),
        };
        self.line(text);
        self.line(format!(
            "ulong {name} = {p}->a + ((ulong){p}->b[0] << 16) + ((ulong){p}->b[1] << 32) ^ as_uint({p}->c) ^ (ulong){p}->d ^ {p}->e;"
        ));
        self.declare(&name, Kind::Value(ULONG), true, false);
    }

    /// Program-scope variables, which are only read: work-items share them.
    fn program_scope(&mut self) {
        let name = self.fresh("v");
        let i = self.expr(UINT, 1);
        let text = match self.rng.u32(..5) {
            0 => format!("first_number[(int)(({i}) & 7) - 1]"),
            1 => format!("*links[({i}) % 3].at + links[({i}) % 3].step + (links[({i}) % 3].next->next == 0)"),
            2 => format!(
                "links[1].next->at[({i}) & 3] ^ (uint)(links[1].at - first_number) ^ *number_table[1][({i}) & 1]"
            ),
            3 => format!("eithers[({i}) & 1].parts.y ^ eithers[1].bytes[({i}) & 7]"),
            _ => {
                let p = self.fresh("q");
                self.line(format!(
                    "uint {name}s = 0; global struct Link *{p} = links + ({i}) % 3; while ({p}) {{ if ({p}->at) {name}s = {name}s * 3 + *{p}->at; {p} = {p}->next; }}"
                ));
                format!("{name}s")
            }
        };
        self.line(format!("uint {name} = {text};"));
        self.declare(&name, Kind::Value(UINT), true, false);
    }

    /// A pointer that points to one of several address spaces.
    fn generic_pointer(&mut self) {
        let (p, list, name) = (self.fresh("q"), self.fresh("t"), self.fresh("v"));
        let (x, i, test, other) = (self.expr(UINT, 2), self.expr(UINT, 1), self.condition(1), self.condition(1));
        self.line(format!("uint {list}[4] = {{ {x}, 5, ({i}) }};"));
        if self.in_kernel() {
            self.line(format!("uint *{p} = {test} ? (uint *){list} : {other} ? (uint *)(mem + 4) : (uint *)numbers;"));
            self.line(format!("uint {name} = {p}[({i}) & 3];"));
            self.line(format!("if (to_global({p}) == 0) {p}[1] = {name} + 1;"));
            self.line(format!(
                "private uint *{p}p = to_private({p}); if ({p}p) {name} += *{p}p; {name} ^= (to_local({p}) != 0);"
            ));
        } else {
            self.line(format!("uint *{p} = {test} ? (uint *){list} : (uint *)numbers; uint {name} = {p}[({i}) & 3];"));
        }
        self.line(format!("{name} += {list}[1];"));
        self.declare(&name, Kind::Value(UINT), true, false);
    }

    /// Atomic operations whose order has no effect, spelled in other ways than `atomic_max`.
    fn atomic_loop(&mut self) {
        let memory = if self.barriers && self.rng.bool() { "cells" } else { "atoms" };
        let space = if memory == "cells" { "local" } else { "global" };
        let (test, value, old) = (self.condition(1), self.expr(UINT, 2), self.fresh("t"));
        let text = match self.rng.u32(..if self.modern { 8 } else { 4 }) {
            0 => format!("atomic_inc(&{memory}[1]); atomic_sub((volatile {space} uint *)&{memory}[1], {value});"),
            1 => format!(
                "uint {old} = {memory}[3], {old}s, {old}x = {value}; do {{ {old}s = {old}; {old} = atomic_cmpxchg(&{memory}[3], {old}s, max({old}s, {old}x)); }} while ({old} != {old}s);"
            ),
            2 => format!(
                "atomic_max((volatile {space} uint *)({memory} + 3), ({value}) >> 1); atomic_dec({memory} + 1);"
            ),
            3 => format!("for (int k = 0; k < 3; k++) atomic_xor(&{memory}[5], ({value}) << k);"),
            4 => format!(
                "atomic_fetch_add_explicit((volatile {space} atomic_uint *)&{memory}[1], {value}, memory_order_relaxed, memory_scope_device);"
            ),
            5 => format!(
                "uint {old} = atomic_load((volatile {space} atomic_uint *)&{memory}[3]), {old}x = {value}; \
                 while ({old} < {old}x && !atomic_compare_exchange_weak((volatile {space} atomic_uint *)&{memory}[3], &{old}, {old}x)) ;"
            ),
            6 => format!(
                "atomic_fetch_or_explicit((atomic_uint *)&{memory}[7], {value}, memory_order_acq_rel, memory_scope_work_group);"
            ),
            _ => format!("atomic_fetch_min((volatile {space} atomic_uint *)&{memory}[2], {value});"),
        };
        self.line(format!("if ({test}) {{ {text} }}"));
    }

    /// Numbers of half precision: exact operations, and those that round once.
    fn half_arithmetic(&mut self) {
        let lanes = self.lanes();
        let (float, bits) = (Ty { elem: Elem::F32, lanes }, Ty { elem: Elem::U16, lanes });
        let h = format!("half{}", if lanes == 1 { String::new() } else { lanes.to_string() });
        let (x, name) = (self.fresh("t"), self.fresh("v"));
        let mode = ["", "_rte", "_rtz", "_rtp", "_rtn"][self.rng.usize(..5)];
        let (a, b) = (self.assigned(float, 2), self.assigned(float, 2));
        let int = Ty { elem: [Elem::I8, Elem::U8, Elem::I16, Elem::I32, Elem::U64][self.rng.usize(..5)], lanes };
        let from_int = self.expr(int, 1);
        self.line(format!("{h} {x} = s_{h}(convert_{h}{mode}({a})), {x}b = s_{h}(convert_{h}({b}));"));
        let text = match self.rng.u32(..11) {
            0 => format!("{x} + {x}b * {x}"),
            1 => format!("fma({x}, {x}b, {x})"),
            2 => format!("floor({x}) - rint({x}b)"),
            3 => format!("({h})({x} < {x}b ? {x} : -{x}b)"),
            4 => format!("fmin({x}, {x}b) + ({h})(0.25h)"),
            5 => format!("convert_{h}{mode}({from_int})"),
            6 if lanes == 1 => format!("select({x}, {x}b, (short)({x} >= {x}b)) * (half)3"),
            6 => format!("select({x}, {x}b, {x} >= {x}b) * ({h})(3)"),
            7 => format!("fabs({x}) - trunc({x}b)"),
            8 => format!("copysign({x}, {x}b) + ceil({x})"),
            9 => format!("clamp({x}, ({h})(-2.0h), ({h})(2.5h))"),
            _ => format!("ldexp({x}, ({}) & 3) - {x}b", self.expr(Ty { elem: Elem::I32, lanes }, 1)),
        };
        self.line(format!("{x} = s_{h}({text});"));
        if self.in_kernel() && self.rng.bool() {
            let at = self.index(16, 1);
            let part = if lanes == 1 { x.clone() } else { format!("{x}.s1") };
            self.line(format!("halves[{at}] = {part};"));
        }
        if self.rng.bool() {
            self.line(format!("{} {name} = as_{}({x});", bits.name(), bits.name()));
            self.declare(&name, Kind::Value(bits), true, false);
        } else {
            self.line(format!("{} {name} = convert_{}_sat({x});", int.name(), int.name()));
            self.declare(&name, Kind::Value(int), true, false);
        }
    }

    /// Pixels that are read, or the work-item's own one written.
    fn image(&mut self) {
        let name = self.fresh("v");
        let int2 = Ty { elem: Elem::I32, lanes: 2 };
        let float2 = Ty { elem: Elem::F32, lanes: 2 };
        let (at, place) = (self.expr(int2, 2), self.assigned(float2, 2));
        let sampler = ["exact", "bordered"][self.rng.usize(..2)];
        let normalized = ["repeated", "mirrored"][self.rng.usize(..2)];
        let (pixel, read) = match self.rng.u32(..7) {
            0 => (Elem::U32, format!("read_imageui(picture, {sampler}, {at})")),
            1 => (Elem::U32, format!("read_imageui(picture, {sampler}, {place})")),
            2 => (Elem::U32, format!("read_imageui(picture, {normalized}, {place})")),
            3 => (Elem::U32, format!("read_imageui(picture, ({at}) & (int2)(15, 7))")),
            4 => (Elem::F32, format!("read_imagef(field, {sampler}, {at})")),
            5 => (Elem::F32, format!("read_imagef(field, {normalized}, {place})")),
            _ => {
                let value = self.expr(Ty { elem: Elem::U32, lanes: 4 }, 2);
                self.line(format!(
                    "write_imageui(canvas, (int2)(gid % {CANVAS_WIDTH}, gid / {CANVAS_WIDTH}), {value});"
                ));
                self.line(format!(
                    "int2 {name} = get_image_dim(field) + (int2)(get_image_width(picture), get_image_height(picture));"
                ));
                return self.declare(&name, Kind::Value(int2), true, false);
            }
        };
        let ty = Ty { elem: pixel, lanes: 4 };
        let read = if pixel == Elem::F32 { format!("s_float4({read})") } else { read };
        self.line(format!("{} {name} = {read};", ty.name()));
        self.declare(&name, Kind::Value(ty), true, false);
    }

    /// Parameters of the kernel that the host passes by value.
    pub(super) fn declare_values(&mut self) {
        for (name, kind) in [
            ("plain.a", Kind::Value(UINT)),
            ("plain.b", Kind::Array { of: Ty::scalar(Elem::U16), len: 2 }),
            ("plain.c", Kind::Value(Ty { elem: Elem::U8, lanes: 4 })),
            ("plain.d", Kind::Value(Ty::scalar(Elem::I32))),
            ("plain.e", Kind::Value(ULONG)),
            ("odd", Kind::Value(Ty { elem: Elem::I16, lanes: 3 })),
        ] {
            let var = Var { name: name.to_owned(), kind, mutable: false, uniform: true };
            self.scopes.last_mut().into_iter().for_each(|scope| scope.push(var.clone()));
        }
    }
}
