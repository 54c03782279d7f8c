//! Expressions without side effects that are defined for all values of their operands.

use super::types::{Elem, INTS, Ty, float_literal, int_literal};
use super::{Generator, Kind};

/// Components of vectors by name.
const COMPONENTS: [&str; 16] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "a", "b", "c", "d", "e", "f"];

impl Generator {
    /// An expression of a type.
    pub(super) fn expr(&mut self, ty: Ty, depth: u32) -> String {
        if depth == 0 || self.rng.u32(..8) == 0 {
            return self.leaf(ty);
        }
        if ty.is_vector() && self.rng.u32(..4) == 0 {
            return self.vector_expr(ty, depth);
        }
        if !ty.elem.is_float() && self.rng.u32(..8) == 0 {
            return if ty.is_vector() { self.surface_vector(ty, depth) } else { self.surface_expr(ty, depth) };
        }
        if ty.elem.is_float() { self.float_expr(ty, depth) } else { self.int_expr(ty, depth) }
    }

    pub(super) fn literal(&mut self, ty: Ty) -> String {
        let one = |g: &mut Self| {
            if ty.elem.is_float() { float_literal(&mut g.rng, ty.elem) } else { int_literal(&mut g.rng, ty.elem) }
        };
        if ty.lanes == 1 {
            return one(self);
        }
        let parts: Vec<String> = (0..if self.rng.bool() { ty.lanes } else { 1 }).map(|_| one(self)).collect();
        format!("(({})({}))", ty.name(), parts.join(", "))
    }

    /// A variable, or a part of one, or a literal.
    fn leaf(&mut self, ty: Ty) -> String {
        for _ in 0..6 {
            let Some(var) = self.any_var() else { break };
            let found = match var.kind {
                Kind::Value(of) => self.part(&var.name, of, ty),
                Kind::Array { of, len } => {
                    let index = self.index(len, 0);
                    self.part(&format!("{}[{index}]", var.name), of, ty)
                }
                Kind::Record(record) => {
                    let (path, of) = self.member(record, &var.name);
                    self.part(&path, of, ty)
                }
                Kind::Records { record, len } => {
                    let index = self.index(len, 0);
                    let (path, of) = self.member(record, &format!("{}[{index}]", var.name));
                    self.part(&path, of, ty)
                }
            };
            if let Some(found) = found {
                return found;
            }
        }
        if self.rng.u32(..4) == 0 {
            return self.literal(ty);
        }
        self.convertible(ty)
    }

    /// A converted expression with a variable of another type.
    fn convertible(&mut self, ty: Ty) -> String {
        for _ in 0..8 {
            let Some(var) = self.any_var() else { break };
            let Kind::Value(of) = var.kind else { continue };
            let scalar = Ty::scalar(of.elem);
            let name = self.part(&var.name, of, scalar).unwrap_or(var.name);
            return self.cast(&name, scalar, ty);
        }
        self.literal(ty)
    }

    /// A scalar as a value of any type.
    fn cast(&mut self, value: &str, from: Ty, to: Ty) -> String {
        let saturate = from.elem.is_float() && !to.elem.is_float();
        let value = if saturate || self.rng.u32(..3) == 0 {
            let sat = if to.elem.is_float() || !(saturate || self.rng.bool()) { "" } else { "_sat" };
            format!("convert_{}{sat}({value})", to.elem.name())
        } else {
            format!("({})({value})", to.elem.name())
        };
        if to.lanes == 1 { value } else { format!("(({})({value}))", to.name()) }
    }

    /// What of a value `path` of type `of` has the wanted type.
    fn part(&mut self, path: &str, of: Ty, ty: Ty) -> Option<String> {
        if of == ty && (ty.lanes == 1 || self.rng.u32(..3) != 0) {
            return Some(path.to_owned());
        }
        if of.elem != ty.elem || !of.is_vector() {
            return None;
        }
        let twice = of.lanes == 2 * ty.lanes || (of.lanes == 3 && ty.lanes == 2);
        if twice && self.rng.bool() {
            let half = ["lo", "hi", "even", "odd"][self.rng.usize(..4)];
            // The upper half of three has a component that does not exist.
            let half = if of.lanes == 3 { "lo" } else { half };
            return Some(format!("{path}.{half}"));
        }
        let names: String = (0..ty.lanes).map(|_| COMPONENTS[self.rng.usize(..of.lanes as usize)]).collect();
        Some(format!("{path}.s{names}"))
    }

    /// An index into an array of `len` elements, a power of two.
    pub(super) fn index(&mut self, len: u32, depth: u32) -> String {
        if self.rng.u32(..3) == 0 {
            return self.rng.u32(..len).to_string();
        }
        let ty = Ty::scalar([Elem::U32, Elem::I32, Elem::U64, Elem::U8][self.rng.usize(..4)]);
        // Indices are not nested without limit.
        let index = if depth == 0 { self.convertible(ty) } else { self.expr(ty, depth) };
        format!("({index}) & {}", len - 1)
    }

    fn vector_expr(&mut self, ty: Ty, depth: u32) -> String {
        let elem = ty.elem;
        match self.rng.u32(..4) {
            // Of scalars and vectors.
            0 => {
                let mut left = ty.lanes;
                let mut parts = Vec::new();
                while left > 0 {
                    let options: Vec<u32> =
                        [1, 2, 3, 4, 8].into_iter().filter(|&n| n <= left && n < ty.lanes).collect();
                    let lanes = options[self.rng.usize(..options.len())];
                    parts.push(self.expr(Ty { elem, lanes }, depth.saturating_sub(2)));
                    left -= lanes;
                }
                format!("({})({})", ty.name(), parts.join(", "))
            }
            // Of a scalar.
            1 => format!("({})({})", ty.name(), self.expr(Ty::scalar(elem), depth - 1)),
            2 if ty.lanes != 3 => {
                let from = [2, 4, 8, 16][self.rng.usize(..4)];
                let mask = self.expr(ty.with(elem.unsigned()), depth - 1);
                let a = self.expr(Ty { elem, lanes: from }, depth - 1);
                if self.rng.bool() {
                    format!("shuffle({a}, {mask})")
                } else {
                    let b = self.expr(Ty { elem, lanes: from }, depth.saturating_sub(2));
                    format!("shuffle2({a}, {b}, {mask})")
                }
            }
            // Of components of another vector.
            _ => {
                let from = Ty { elem, lanes: [2, 3, 4, 8, 16][self.rng.usize(..5)] };
                let value = self.expr(from, depth - 1);
                let names: String = (0..ty.lanes).map(|_| COMPONENTS[self.rng.usize(..from.lanes as usize)]).collect();
                format!("({value}).s{names}")
            }
        }
    }

    /// A scalar condition.
    pub(super) fn condition(&mut self, depth: u32) -> String {
        let below = depth.saturating_sub(1);
        match self.rng.u32(..10) {
            0 if depth > 0 => format!("({} && {})", self.condition(below), self.condition(below)),
            1 if depth > 0 => format!("({} || {})", self.condition(below), self.condition(below)),
            2 if depth > 0 => format!("!{}", self.condition(below)),
            3 => {
                let ty =
                    Ty { elem: [Elem::I8, Elem::I16, Elem::I32, Elem::I64][self.rng.usize(..4)], lanes: self.lanes() };
                let which = ["any", "all"][self.rng.usize(..2)];
                if ty.is_vector() {
                    format!("{which}({})", self.comparison(ty, below))
                } else {
                    format!("({})", self.expr(ty, below))
                }
            }
            4 if depth > 0 => {
                let ty = Ty::scalar(self.int());
                format!("(bool)({})", self.expr(ty, below))
            }
            _ => {
                let of = if self.rng.u32(..4) == 0 { self.float() } else { self.int() };
                self.compare(Ty::scalar(of), below)
            }
        }
    }

    /// `a < b` and its relatives, of two values of a type.
    fn compare(&mut self, of: Ty, depth: u32) -> String {
        let op = ["<", ">", "<=", ">=", "==", "!="][self.rng.usize(..6)];
        let (a, b) = (self.expr(of, depth), self.expr(of, depth));
        format!("({a} {op} {b})")
    }

    /// A comparison of vectors that has the signed integer type `ty`.
    fn comparison(&mut self, ty: Ty, depth: u32) -> String {
        let of = match ty.elem.bits() {
            32 if self.rng.u32(..3) == 0 => Elem::F32,
            64 if self.doubles && self.rng.u32(..3) == 0 => Elem::F64,
            _ if self.rng.bool() => ty.elem.unsigned(),
            _ => ty.elem.signed(),
        };
        if of.is_float() && self.rng.bool() {
            let name =
                ["isless", "isgreaterequal", "isequal", "isnotequal", "islessgreater", "isordered", "isunordered"]
                    [self.rng.usize(..7)];
            let (a, b) = (self.expr(ty.with(of), depth), self.expr(ty.with(of), depth));
            return format!("{name}({a}, {b})");
        }
        if of.is_float() && self.rng.bool() {
            let name = ["isnan", "isinf", "isfinite", "isnormal", "signbit"][self.rng.usize(..5)];
            let value = self.float_expr(ty.with(of), depth.max(1));
            // The sign of a NaN is unspecified.
            let value = if name == "signbit" { format!("s_{}({value})", ty.with(of).name()) } else { value };
            return format!("{name}({value})");
        }
        self.compare(ty.with(of), depth)
    }

    fn int_expr(&mut self, ty: Ty, depth: u32) -> String {
        let (elem, below) = (ty.elem, depth - 1);
        match self.rng.u32(..30) {
            0..=7 => self.arithmetic(ty, below),
            8 | 9 => {
                let op = ["<<", ">>"][self.rng.usize(..2)];
                let (a, b) = (self.expr(ty, below), self.expr(ty, below));
                format!("({})({a} {op} {b})", ty.name())
            }
            10 => {
                // The divisor is in 1 to 8, so that nothing overflows.
                let op = ["/", "%"][self.rng.usize(..2)];
                let (a, b) = (self.expr(ty, below), self.expr(ty, below));
                if elem.is_signed() || self.rng.bool() {
                    let (one, seven) = (format!("({})1", ty.elem.name()), format!("({})7", ty.elem.name()));
                    format!("({})({a} {op} (({})(({b}) & {seven}) + {one}))", ty.name(), ty.name())
                } else {
                    format!("({})({a} {op} ({b} | ({})1))", ty.name(), ty.elem.name())
                }
            }
            11 => {
                let op = ["~", "-", "+"][self.rng.usize(..3)];
                let unsigned = ty.with(elem.unsigned());
                let a = self.expr(unsigned, below);
                format!("as_{}(({})({op}({a})))", ty.name(), unsigned.name())
            }
            12 | 13 if ty.is_vector() => {
                if elem.is_signed() {
                    self.comparison(ty, below)
                } else {
                    let inner = self.comparison(ty.with(elem.signed()), below);
                    format!("as_{}({inner})", ty.name())
                }
            }
            12 | 13 => format!("({}){}", ty.name(), self.condition(below)),
            14 | 15 => self.choice(ty, below),
            16 | 17 => self.conversion(ty, below),
            18 => self.reinterpreted(ty, below).unwrap_or_else(|| self.arithmetic(ty, below)),
            19 | 20 => self.call(ty, below).unwrap_or_else(|| self.arithmetic(ty, below)),
            21 => self.widening(ty, below),
            _ => self.int_builtin(ty, below),
        }
    }

    /// Arithmetic that wraps around.
    fn arithmetic(&mut self, ty: Ty, depth: u32) -> String {
        let op = ["+", "-", "*", "&", "|", "^"][self.rng.usize(..6)];
        let (a, b) = (self.expr(ty, depth), self.expr(ty, depth));
        let bitwise = matches!(op, "&" | "|" | "^");
        if bitwise || (!ty.elem.is_signed() && (ty.is_vector() || ty.elem.bits() >= 32)) {
            return format!("({})({a} {op} {b})", ty.name());
        }
        if ty.elem.bits() < 32 && !ty.is_vector() {
            if op != "*" && self.rng.bool() {
                return format!("({})({a} {op} {b})", ty.name());
            }
            return format!("({})((uint)({a}) {op} (uint)({b}))", ty.name());
        }
        let unsigned = ty.with(ty.elem.unsigned()).name();
        format!("as_{}(as_{unsigned}({a}) {op} as_{unsigned}({b}))", ty.name())
    }

    /// `?:` and `select`, by condition or by component.
    fn choice(&mut self, ty: Ty, depth: u32) -> String {
        let (a, b) = (self.expr(ty, depth), self.expr(ty, depth));
        if !ty.is_vector() {
            // Small integers are promoted.
            return format!("({})({} ? {a} : {b})", ty.name(), self.condition(depth));
        }
        let mask = self.comparison(ty.with(ty.elem.signed()), depth);
        match self.rng.u32(..3) {
            0 => format!("({mask} ? {a} : {b})"),
            1 => format!("select({a}, {b}, {mask})"),
            _ => format!("bitselect({a}, {b}, as_{}({mask}))", ty.name()),
        }
    }

    /// A conversion from another type.
    fn conversion(&mut self, ty: Ty, depth: u32) -> String {
        let from = if self.rng.u32(..4) == 0 { self.float() } else { self.int() };
        let value = self.expr(ty.with(from), depth);
        let mut suffix = String::new();
        if !ty.elem.is_float() && (from.is_float() || self.rng.u32(..3) == 0) {
            suffix += "_sat";
        }
        // A rounding mode matters where there is a float; the default differs between directions.
        if (from.is_float() || ty.elem.is_float()) && self.rng.bool() {
            suffix += ["_rte", "_rtz", "_rtp", "_rtn"][self.rng.usize(..4)];
        }
        let value = if from.is_float() { format!("s_{}({value})", ty.with(from).name()) } else { value };
        format!("convert_{}{suffix}({value})", ty.name())
    }

    /// The bits of a value of another type.
    fn reinterpreted(&mut self, ty: Ty, depth: u32) -> Option<String> {
        let fits: Vec<Ty> = INTS
            .iter()
            .flat_map(|&elem| [1, 2, 4, 8, 16].map(|lanes| Ty { elem, lanes }))
            .filter(|&from| from != ty && from.bytes() == ty.bytes() && ty.lanes != 3)
            .collect();
        if fits.is_empty() {
            return None;
        }
        let from = fits[self.rng.usize(..fits.len())];
        Some(format!("as_{}({})", ty.name(), self.expr(from, depth)))
    }

    /// What makes one value of two of half the size.
    fn widening(&mut self, ty: Ty, depth: u32) -> String {
        let Some(half) = ty.elem.half() else { return self.arithmetic(ty, depth) };
        let (hi, lo) = (self.expr(ty.with(half), depth), self.expr(ty.with(half.unsigned()), depth));
        format!("upsample({hi}, {lo})")
    }

    /// A built-in function of integers.
    fn int_builtin(&mut self, ty: Ty, depth: u32) -> String {
        let elem = ty.elem;
        let a = self.expr(ty, depth);
        let b = self.expr(ty, depth.saturating_sub(1));
        let c = self.expr(ty, depth.saturating_sub(1));
        match self.rng.u32(..20) {
            0 => format!("add_sat({a}, {b})"),
            1 => format!("sub_sat({a}, {b})"),
            2 => format!("hadd({a}, {b})"),
            3 => format!("rhadd({a}, {b})"),
            4 => format!("max({a}, {b})"),
            5 => format!("min({a}, {b})"),
            6 => format!("mul_hi({a}, {b})"),
            7 => format!("rotate({a}, {b})"),
            8 => format!("mad_hi({a}, {b}, {c})"),
            9 => format!("mad_sat({a}, {b}, {c})"),
            10 => format!("clamp({a}, min({b}, {c}), max({b}, {c}))"),
            11 => format!("bitselect({a}, {b}, {c})"),
            12 => format!("clz({a})"),
            13 => format!("popcount({a})"),
            14 if self.modern => format!("ctz({a})"),
            15 if !elem.is_signed() => {
                let from = if self.rng.bool() { elem.signed() } else { elem };
                format!("abs({})", self.expr(ty.with(from), depth))
            }
            16 if !elem.is_signed() => {
                let from = ty.with(if self.rng.bool() { elem.signed() } else { elem });
                format!("abs_diff({}, {})", self.expr(from, depth), self.expr(from, depth))
            }
            17 if elem.bits() == 32 => {
                let mask = if elem.is_signed() { "0x7fff" } else { "0xffff" };
                let mask = format!("({}){mask}", elem.name());
                if self.rng.bool() {
                    format!("mul24({a} & {mask}, {b} & {mask})")
                } else {
                    format!("mad24({a} & {mask}, {b} & {mask}, {c} & {mask})")
                }
            }
            18 if ty.is_vector() => format!("max({a}, {})", self.expr(Ty::scalar(elem), depth)),
            19 if ty.is_vector() => format!("min({a}, {})", self.expr(Ty::scalar(elem), depth)),
            _ => format!("select({a}, {b}, {})", self.expr(ty, depth)),
        }
    }

    /// Exact operations only: results are compared bit by bit.
    fn float_expr(&mut self, ty: Ty, depth: u32) -> String {
        let below = depth - 1;
        let name = ty.name();
        match self.rng.u32(..26) {
            0..=7 => {
                let op = ["+", "-", "*"][self.rng.usize(..3)];
                let (a, b) = (self.expr(ty, below), self.expr(ty, below));
                format!("({a} {op} {b})")
            }
            8 => format!("(-{})", self.expr(ty, below)),
            9 => self.choice(ty, below),
            10 | 11 => self.conversion(ty, below),
            12 => self.call(ty, below).unwrap_or_else(|| self.leaf(ty)),
            13 => {
                let (a, b, c) = (self.expr(ty, below), self.expr(ty, below), self.expr(ty, below));
                format!("fma({a}, {b}, {c})")
            }
            14 => {
                let which = ["fmin", "fmax"][self.rng.usize(..2)];
                let (a, b) = (self.expr(ty, below), self.expr(ty, below));
                // Either zero may be the result.
                format!("({which}({a}, {b}) + ({name})(0))")
            }
            15 => {
                let which = ["copysign", "nextafter", "fmod", "remainder", "fdim"][self.rng.usize(..5)];
                let (a, b) = (self.expr(ty, below), self.expr(ty, below));
                let b = if which == "copysign" { format!("s_{name}({b})") } else { b };
                format!("{which}({a}, {b})")
            }
            16 => {
                let exponent = self.expr(ty.with(Elem::I32), below);
                let exponent = format!("({exponent} & 15) - 8");
                format!("ldexp({}, {exponent})", self.expr(ty, below))
            }
            17 => format!("sign({})", self.expr(ty, below)),
            18 => {
                let (a, b) = (self.expr(ty, below), self.expr(ty, below));
                format!("step(s_{name}({a}), s_{name}({b}))")
            }
            _ => {
                let which = ["fabs", "floor", "ceil", "trunc", "rint", "round"][self.rng.usize(..6)];
                format!("{which}({})", self.expr(ty, below))
            }
        }
    }

    /// A call of a function that has the type.
    fn call(&mut self, ty: Ty, depth: u32) -> Option<String> {
        let fits: Vec<usize> = (0..self.functions.len()).filter(|&i| self.functions[i].result == ty).collect();
        if fits.is_empty() || self.calls_left == 0 {
            return None;
        }
        self.calls_left -= 1;
        let function = self.functions[fits[self.rng.usize(..fits.len())]].clone();
        let args: Vec<String> = function.params.iter().map(|&param| self.expr(param, depth.min(2))).collect();
        Some(format!("{}({})", function.name, args.join(", ")))
    }
}
