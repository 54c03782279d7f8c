//! What a front end can get wrong: conversions between types in one operation, types of expressions, constants, initializers,
//! pointers, layout, and C's operators with effects. The rest of the generator keeps operands in one type.

use super::types::{Elem, INTS, Ty, UINT};
use super::{Generator, Kind, Var, fill};

/// Scalars in the order of their numbers in [`Generator::type_number`].
const SCALARS: [Elem; 10] =
    [Elem::I8, Elem::U8, Elem::I16, Elem::U16, Elem::I32, Elem::U32, Elem::I64, Elem::U64, Elem::F32, Elem::F64];

/// The type of the result of an arithmetic operation.
fn common(a: Elem, b: Elem) -> Elem {
    let promoted = |elem: Elem| if elem.bits() < 32 { Elem::I32 } else { elem };
    let (a, b) = (promoted(a), promoted(b));
    match (a.bits(), b.bits()) {
        (x, y) if x > y => a,
        (x, y) if x < y => b,
        _ if a.is_signed() => b,
        _ => a,
    }
}

/// Whether an operation on two types cannot overflow.
fn is_defined(op: &str, a: Elem, b: Elem) -> bool {
    let bits = a.bits().max(b.bits());
    match op {
        "+" | "-" => !common(a, b).is_signed() || bits <= 16,
        "*" => !common(a, b).is_signed() || bits <= 8,
        _ => true,
    }
}

impl Generator {
    /// What these parts of programs use, at file scope.
    pub(super) fn surface_prelude(&mut self) {
        for line in [
            "#define PASTE_(a, b) a ## b",
            "#define PASTE(a, b) PASTE_(a, b)",
            "#define TEXT_(...) #__VA_ARGS__",
            "#define TEXT(...) TEXT_(__VA_ARGS__)",
            "#define FIRST(a, ...) a",
            "enum number { ZERO, FIVE = 5, SIX, MINUS = -3, LARGE = 1 << 20, FOLDED = (LARGE | 7) % 1000 - SIX * 'a' };",
            "typedef struct { uchar a; ulong b; uchar3 c; ushort d[3]; struct { char e; float f; }; } Mixed;",
            "typedef struct __attribute__((packed)) { uchar a; uint b; ushort3 c; } Tight;",
            "constant Mixed mixed_table[] = { { .b = 5, .d = { [1] = 6, 7 } }, [2] = { 1, 2, (uchar3)(3, 4, 5), { 6 }, { 7, 8.5f } } };",
            "constant uint cube[2][2][3] = { { { 1, 2 }, { 3 } }, 4, 5, 6, 7, };",
            "constant char text[] = \"ab\\x01\\n\" \"\\377c\";",
        ] {
            self.line(line);
        }
        if self.doubles {
            self.line("#define TYPE_NUMBER(x) _Generic((x), char: 1, uchar: 2, short: 3, ushort: 4, int: 5, uint: 6, long: 7, ulong: 8, float: 9, double: 10, default: 0)");
        } else {
            self.line("#define TYPE_NUMBER(x) _Generic((x), char: 1, uchar: 2, short: 3, ushort: 4, int: 5, uint: 6, long: 7, ulong: 8, float: 9, default: 0)");
        }
    }

    /// Functions that get and return structures.
    pub(super) fn surface_functions(&mut self) {
        for record in 0..self.records.len() {
            self.line(format!(
                "R{record} choose_{record}(R{record} a, const R{record} b, uint c) {{ R{record} t = a; if (c & 1) t = b; return t; }}"
            ));
        }
    }

    fn any_int(&mut self) -> Ty {
        Ty::scalar(INTS[self.rng.usize(..INTS.len())])
    }

    /// A scalar integer of operands of several types.
    pub(super) fn surface_expr(&mut self, ty: Ty, depth: u32) -> String {
        let below = depth.saturating_sub(1);
        let (a, b) = (self.any_int(), self.any_int());
        let name = ty.name();
        match self.rng.u32(..18) {
            0..=4 => {
                let op = ["+", "-", "*", "&", "|", "^"][self.rng.usize(..6)];
                let op = if is_defined(op, a.elem, b.elem) { op } else { "^" };
                format!("({name})({} {op} {})", self.expr(a, below), self.expr(b, below))
            }
            5 | 6 => {
                let op = ["<", ">", "<=", ">=", "==", "!="][self.rng.usize(..6)];
                format!("({name})({} {op} {})", self.expr(a, below), self.expr(b, below))
            }
            7 => {
                let op = ["<<", ">>"][self.rng.usize(..2)];
                format!("({name})({} {op} {})", self.expr(a, below), self.expr(b, below))
            }
            8 => format!("({name})({} ? {} : {})", self.condition(below), self.expr(a, below), self.expr(b, below)),
            9 => format!("({name})({} ?: {})", self.expr(a, below), self.expr(b, below)),
            10 => {
                let (x, y) = (self.expr(a, below), self.expr(b, below));
                format!("({name})({x} && !{y} || {x} | {y})")
            }
            11 => format!("({name}){}", self.type_number()),
            12 => format!("({name})({})", self.constant()),
            13 => {
                let t = self.fresh("t");
                let op = ["+", "^", "|", "<<"][self.rng.usize(..4)];
                let op = if is_defined(op, a.elem, b.elem) { op } else { "^" };
                let (x, y) = (self.expr(a, below), self.expr(b, below));
                format!("({name})({{ {} {t} = {x}; {t} {op}= {y}; {t}; }})", a.name())
            }
            14 => {
                let vector = Ty { elem: a.elem, lanes: [2, 4, 8, 16][self.rng.usize(..4)] };
                let (value, index) = (self.expr(vector, below), self.expr(b, below));
                format!("({name})({value})[({index}) & {}]", vector.lanes - 1)
            }
            15 => {
                let vector = Ty { elem: a.elem, lanes: [8, 16][self.rng.usize(..2)] };
                let part = [".lo.hi.x", ".odd.s1", ".s7654.yx.hi", ".even.lo.lo", ".s01.y"][self.rng.usize(..5)];
                let part = if vector.lanes == 8 { part } else { &format!(".hi{part}") };
                format!("({name})({}){part}", self.expr(vector, below))
            }
            16 => {
                let index = self.expr(UINT, below);
                match self.rng.u32(..4) {
                    0 => format!("({name})mixed_table[({index}) % 3].d[({index}) & 1]"),
                    1 => format!("({name})(&mixed_table[2])[-(int)(({index}) % 3)].b"),
                    2 => format!("({name})cube[({index}) & 1][1][({index}) % 3]"),
                    _ => format!("({name})text[({index}) % sizeof text]"),
                }
            }
            _ => format!("PASTE(as_, {name})(({name})FIRST({}, unused))", self.expr(ty, below)),
        }
    }

    /// A vector with a scalar operand, or of logical operations.
    pub(super) fn surface_vector(&mut self, ty: Ty, depth: u32) -> String {
        let below = depth.saturating_sub(1);
        let scalar = Ty::scalar(ty.elem);
        let (signed, name) = (ty.with(ty.elem.signed()), ty.name());
        let op = if ty.elem.is_signed() { ["&", "|", "^", "<<", ">>", "^"] } else { ["+", "-", "*", "&", "<<", ">>"] }
            [self.rng.usize(..6)];
        match self.rng.u32(..6) {
            0 | 1 => format!("({} {op} {})", self.expr(ty, below), self.expr(scalar, below)),
            2 => {
                let unsigned = ty.with(ty.elem.unsigned());
                let text =
                    format!("({} - {})", self.expr(Ty::scalar(unsigned.elem), below), self.expr(unsigned, below));
                format!("as_{name}({text})")
            }
            3 => {
                let text =
                    format!("({} && {} || !{})", self.expr(ty, below), self.expr(ty, below), self.expr(ty, below));
                format!("as_{name}({text})")
            }
            4 => {
                let text = format!("({} < {})", self.expr(ty, below), self.expr(scalar, below));
                format!("as_{name}({text})")
            }
            _ => {
                let mask = self.expr(signed, below);
                format!("({mask} ? {} : {})", self.expr(ty, below), self.expr(ty, below))
            }
        }
    }

    /// The number of the type of an expression.
    fn type_number(&mut self) -> String {
        let count = if self.doubles { 10 } else { 9 };
        let one = |g: &mut Self| {
            let elem = SCALARS[g.rng.usize(..count)];
            format!("({})1", elem.name())
        };
        let (a, b) = (one(self), one(self));
        match self.rng.u32(..8) {
            0 => format!("TYPE_NUMBER({a} + {b})"),
            1 => format!("TYPE_NUMBER(1 ? {a} : {b})"),
            2 => format!("TYPE_NUMBER(-{a})"),
            3 => format!("TYPE_NUMBER({a} < {b})"),
            4 => format!("TYPE_NUMBER({})", self.literal_text()),
            5 => format!("TYPE_NUMBER(({a}, {b}))"),
            6 => format!("TYPE_NUMBER({} << {})", self.literal_text(), self.rng.u32(..8)),
            _ => "TYPE_NUMBER(sizeof(int))".to_owned(),
        }
    }

    /// A literal whose type follows from its value and spelling.
    fn literal_text(&mut self) -> String {
        let value = match self.rng.u32(..6) {
            0 => self.rng.u64(..) >> 1,
            1 => 0x8000_0000,
            2 => 0x7fff_ffff,
            3 => 0xffff_ffff + self.rng.u64(..2),
            _ => self.rng.u64(..300),
        };
        let suffix = ["", "", "u", "l", "ul", "UL", "Lu"][self.rng.usize(..7)];
        match self.rng.u32(..6) {
            0 => format!("0x{value:x}{suffix}"),
            1 => format!("0{value:o}{suffix}"),
            2 => format!("0b{value:b}{suffix}"),
            3 => ["'a'", "'\\n'", "'\\xff'", "'\\0'", "'\\177'", "'\\''"][self.rng.usize(..6)].to_owned(),
            _ => format!("{value}{suffix}"),
        }
    }

    /// An integer constant expression.
    fn constant(&mut self) -> String {
        let one = |g: &mut Self| match g.rng.u32(..6) {
            0 => ["ZERO", "FIVE", "SIX", "MINUS", "LARGE", "FOLDED"][g.rng.usize(..6)].to_owned(),
            1 => {
                let of = ["Mixed", "Tight", "float3", "cube", "text", "text[0]", "1 + 'a'", "(char)1", "TEXT(a, b)"]
                    [g.rng.usize(..9)];
                format!("sizeof({of})")
            }
            2 => format!(
                "__builtin_offsetof({})",
                ["Mixed, b", "Mixed, c", "Mixed, d[1]", "Mixed, f", "Tight, b", "Tight, c"][g.rng.usize(..6)]
            ),
            _ => g.literal_text(),
        };
        let (a, b, c) = (one(self), one(self), one(self));
        match self.rng.u32(..6) {
            0 => format!("{a} ^ {b}"),
            1 => format!("({a} < {b} ? {b} : {c})"),
            2 => format!("~({a} | {b}) & {c}"),
            3 => format!("({a}) / (({b} & 7) + 1u) % 1000u"),
            4 => format!("(uint)({a}) * (uint)({b}) >> ({c} & 7)"),
            _ => format!("!{a} + ({b} == {c}) - ({a} && {b})"),
        }
    }

    /// A statement of C that the rest of the generator does not write.
    pub(super) fn surface_statement(&mut self) {
        let name = self.fresh("v");
        let (a, b) = (self.any_int(), self.any_int());
        let (an, bn) = (a.name(), b.name());
        match self.rng.u32(..16) {
            0 => {
                // Compound assignment of another type.
                let fits = |var: &Var| {
                    var.mutable && matches!(var.kind, Kind::Value(ty) if !ty.is_vector() && !ty.elem.is_float())
                };
                let Some(var) = self.choose(fits) else { return };
                let Kind::Value(of) = var.kind else { return };
                let op = ["+", "-", "*", "&", "|", "^", "<<", ">>"][self.rng.usize(..8)];
                let op = if is_defined(op, of.elem, b.elem) { op } else { "^" };
                let value = self.expr(b, 2);
                self.line(format!("{} {op}= {value};", var.name));
                return;
            }
            1 => {
                // Pointers.
                let values: Vec<String> = (0..4).map(|_| self.assigned(a, 1)).collect();
                let list = self.fresh("t");
                self.line(format!("{an} {list}[4] = {{{}}}, {name} = 0;", values.join(", ")));
                let text = [
                    "for (P *p = L, *end = L + 4; p != end; ++p) N ^= *p;",
                    "for (P *p = L + 4; p > L; ) N = N * (P)3 ^ *--p;",
                    "{ P *p = L; do N ^= *p++ ^ (P)(p - L); while (p < &L[4]); }",
                    "for (int k = -2; k < 2; k++) { P *p = &L[2]; N ^= p[k] ^ (P)(k + (p + k)[0]); }",
                    "{ P (*p)[4] = &L; P *const q = *p + 1; N = (*p)[3] ^ *q ^ (P)(&(*p)[2] - q) ^ (P)(p == &L); }",
                ][self.rng.usize(..5)];
                let text = text.replace('P', &an).replace('L', &list).replace('N', &name);
                let text = if a.elem.is_signed() { text.replace(&format!("{name} * ({an})3"), &name) } else { text };
                self.line(text);
            }
            2 => {
                // Arrays of arrays, partly initialized.
                let list = self.fresh("t");
                let (x, y) = (self.assigned(a, 1), self.assigned(a, 1));
                let init = match self.rng.u32(..3) {
                    0 => format!("{{ {{ {x} }}, {{ 1, {y}, 3 }} }}"),
                    1 => format!("{{ [1][2] = {x}, [0] = {{ [1] = {y} }} }}"),
                    _ => format!("{{ {x}, 2, 3, {y} }}"),
                };
                self.line(format!("{an} {list}[2][3] = {init}; {an} {name} = sizeof {list} / sizeof *{list};"));
                self.line(format!("for (int i = 0; i < 6; i++) {name} ^= {list}[i / 3][i % 3] ^ ({an})i;"));
            }
            3 => {
                // Designators, anonymous members and compound literals.
                let (x, y) = (self.assigned(a, 1), self.assigned(b, 1));
                let text = match self.rng.u32(..3) {
                    0 => format!("Mixed {name}t = {{ .d[1] = {x}, {y}, .c = (uchar3)(({y})), .e = 2, .b = {x} }};"),
                    1 => format!("Mixed {name}t = (Mixed) {{ {x}, {y}, .f = 2, .a = 3, }};"),
                    _ => format!("Mixed {name}t; {name}t = (Mixed) {{ .c = 7, {{ {x} }}, .e = {y} }};"),
                };
                self.line(text);
                let t = format!("{name}t");
                self.line(format!(
                    "{an} {name} = {t}.a ^ {t}.b ^ {t}.c.x ^ {t}.c.z ^ {t}.d[0] ^ ({t}.d[1] << 3) ^ {t}.d[2] ^ {t}.e ^ ({an}){t}.f;"
                ));
            }
            4 => {
                // Bytes of an object.
                let value = self.assigned(b, 2);
                let index = self.index(b.elem.bits() / 8, 1);
                self.line(format!("{bn} {name}t = {value};"));
                let qualifier = ["", "const ", "volatile "][self.rng.usize(..3)];
                self.line(format!("{an} {name} = ((private {qualifier}uchar *)&{name}t)[{index}];"));
            }
            5 => {
                let value = self.assigned(Ty::scalar(Elem::U64), 2);
                self.line(format!("union {{ ulong a; struct {{ ushort b, c; uint d; }}; uchar e[8]; ushort4 f; }} {name}t = {{ {value} }};"));
                self.line(format!("{name}t.e[3] ^= 5; {name}t.f.w += {name}t.c;"));
                self.line(format!("{an} {name} = ({an})({name}t.a ^ {name}t.d ^ {name}t.f.x);"));
            }
            6 => {
                // Effects within expressions.
                let (x, y) = (self.expr(UINT, 2), self.expr(UINT, 2));
                self.line(format!("uint {name}t = {x}, {name}s = {y};"));
                let text = [
                    "A N = T++ > S && (S = T, S & 1) || ++T & 2;",
                    "A N = (T ^= S, S += T--, T ? S : T) ;",
                    "A N = S & 1 ? T : S; N += (T = S = T >> 1);",
                    "A N = 0; while (T++ & 3 && S--) N++;",
                    "A N = 0; do { if (T & 1) continue; N ^= (A)S; } while (T >>= 1, T & 7);",
                    "A N = !T-- == !S ? ~T : -S;",
                ][self.rng.usize(..6)];
                let text = text.replace('T', &format!("{name}t")).replace('S', &format!("{name}s"));
                self.line(text.replace('A', "uint").replace('N', &name));
                self.declare(&name, Kind::Value(UINT), true, false);
                return;
            }
            7 => {
                // A loop by `goto`.
                let value = self.expr(UINT, 2);
                let label = self.fresh("again");
                self.line(format!("uint {name} = {value}, {name}k = 0;"));
                self.line(format!("{label}: {name} = {name} * 5 + {name}k; if (++{name}k < 3) goto {label};"));
                self.declare(&name, Kind::Value(UINT), true, false);
                return;
            }
            8 => {
                let value = self.expr(a, 2);
                let constant = self.constant();
                self.line(format!("{an} {name} = {value};"));
                self.block(&format!("switch ({name} & 15)"), "}", |g| {
                    g.line(format!("case 0 ... 3: {name} ^= 1;"));
                    g.line(format!("default: {name} ^= 2; break;"));
                    g.line(format!("case 4: case (({constant}) & 7) + 5: {{ {name} ^= 7; break; }} case 14 ... 15:;"));
                });
            }
            9 => {
                let Some(var) = self.choose(|var| matches!(var.kind, Kind::Record(_)) && var.mutable) else { return };
                let Kind::Record(record) = var.kind else { return };
                let which = self.expr(UINT, 1);
                self.line(format!("{} = choose_{record}({}, (R{record}) {{ 0 }}, {which});", var.name, var.name));
                let (path, of) = self.member(record, &format!("choose_{record}({}, {}, 1)", var.name, var.name));
                self.line(format!("{} {name} = {path};", of.name()));
                self.declare(&name, Kind::Value(of), true, false);
                return;
            }
            10 => {
                // Boolean objects.
                let (x, y) = (self.expr(a, 2), self.expr(b, 2));
                let float = self.float();
                let f = self.expr(Ty::scalar(float), 2);
                self.line(format!(
                    "bool {name}t = {x}; {name}t ^= ({y}) & 2; bool {name}s = s_{}({f}); {name}s |= !{name}t;",
                    float.name()
                ));
                self.line(format!("{an} {name} = {name}t + 2 * {name}s + (bool)0.25f + ({name}t == {name}s);"));
            }
            11 => {
                // Parts of vectors as places.
                let elem = a.elem.unsigned();
                let ty = Ty { elem, lanes: [4, 8, 16][self.rng.usize(..3)] };
                let (value, x, index) =
                    (self.expr(ty, 2), self.expr(Ty { elem, lanes: 2 }, 1), self.index(ty.lanes, 1));
                self.line(format!("{} {name} = {value};", ty.name()));
                let text = [
                    "N.xy += X;",
                    "N.s20 = N.s02 ^ X; N.hi.odd++;",
                    "N[I] ^= N.w; N.lo.y--;",
                    "N.even.s1 = X.x; N <<= N.x;",
                    "(N).yx = (N.zw = X) + N.xy; N++;",
                    "for (int i = 0; i < 3; i++) N[i] += N[i + 1];",
                    "(&N)->s3 = X.y; ((private E *)&N)[1] *= 3;",
                ][self.rng.usize(..7)];
                // Expressions have capital letters of their own, in the names of macros.
                let text = fill(text, &[('X', &format!("({x})")), ('I', &index), ('E', elem.name()), ('N', &name)]);
                self.line(text);
                self.declare(&name, Kind::Value(ty), true, false);
                return;
            }
            12 => {
                let list = self.fresh("t");
                let index = self.expr(UINT, 1);
                let text = ["\"xyz\"", "{ 'x', \"yz\"[0], MINUS, 0 }", "TEXT(a+b)"][self.rng.usize(..3)];
                self.line(format!("char {list}[4] = {text}; {an} {name} = {list}[({index}) & 3];"));
            }
            13 => {
                let value = self.expr(a, 2);
                let tail = self.constant();
                self.line(format!(
                    "const enum number {name}t = FIVE; {an} {name} = {value}, *{name}p = &{name}, {name}q[FIVE == 5];"
                ));
                self.line(format!("{name}q[0] = *{name}p; *{name}p ^= {name}q[0] & ({an})({tail}) ^ ({an}){name}t;"));
            }
            14 => {
                // A float of integers of any type.
                let float = self.float();
                let ty = Ty::scalar(float);
                let (f, x) = (self.assigned(ty, 2), self.expr(a, 2));
                let op = ["+", "-", "*"][self.rng.usize(..3)];
                self.line(format!("{} {name} = {f}; {name} {op}= {x}; {name} = s_{}({name});", ty.name(), ty.name()));
                self.declare(&name, Kind::Value(ty), true, false);
                return;
            }
            _ => {
                // Layout of a packed structure, through a pointer.
                let (x, y) = (self.expr(UINT, 1), self.expr(a, 1));
                self.line(format!(
                    "Tight {name}t[2] = {{ {{ 1, {x}, 3 }}, {{ .c = {y} }} }}; {name}t[1].b = {name}t[0].b++;"
                ));
                self.line(format!(
                    "{an} {name} = {name}t[1].b ^ ((private uchar *){name}t)[sizeof(Tight) + 1] ^ {name}t[0].c.z ^ {name}t->a;"
                ));
            }
        }
        self.declare(&name, Kind::Value(a), true, false);
    }
}
