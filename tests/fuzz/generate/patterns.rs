//! Loops and control flow of real kernels: searches, stacks, lists and sorts of one work-item, flow that is not structured, and
//! what the work-items of a group do together in loops with barriers.

use super::types::{Elem, Ty, UINT, ULONG};
use super::{Generator, Kind, MOST_LOCAL, fill};

impl Generator {
    /// A macro that defines functions, and functions with one name.
    pub(super) fn pattern_prelude(&mut self) {
        for line in [
            "#define OPERATION(T, NAME, ...) T PASTE(NAME, PASTE(_, T))(T a, T b) { __VA_ARGS__; }",
            "#define FOR_TYPES(X, ...) X(uchar, ##__VA_ARGS__) X(ushort, ##__VA_ARGS__) X(uint, ##__VA_ARGS__) X(ulong, ##__VA_ARGS__)",
            "#define ROTATED(T) OPERATION(T, rotated, const T n = b % (T)(sizeof(T) * 8); return n ? a << n | a >> (sizeof(T) * 8 - n) : a)",
            "FOR_TYPES(ROTATED)",
            "#define BLEND(T, w) OPERATION(T, blend, if ((a & w) == 0) return (T)(a + b); return a ^ b)",
            "FOR_TYPES(BLEND, 3)",
            "#undef BLEND",
            "#if defined(ROTATED) && !defined BLEND && (1 << 3) / 2 - 4 == 0 && 'a' == 97 // Nothing\\",
            "  else",
            "uint __attribute__((overloadable)) folded(uint x) { return x ^ x >> 7; }",
            "uint __attribute__((overloadable)) folded(ulong x) { return folded((uint)x ^ (uint)(x >> 32)); }",
            "uint __attribute__((overloadable)) folded(uint4 x) { return folded(x.x) + folded(x.y) * 3 + folded(x.zw.x ^ x.w); }",
            "uint __attribute__((overloadable)) folded(private const uint *x, uint n) { uint s = 0; while (n--) s = folded(s + *x++); return s; }",
            "#else",
            "#error",
            "#endif",
        ] {
            self.line(line);
        }
    }

    /// An algorithm of one work-item.
    pub(super) fn pattern(&mut self) {
        let (n, list) = (self.fresh("v"), self.fresh("t"));
        let (x, y, z) = (self.expr(UINT, 2), self.expr(UINT, 2), self.expr(UINT, 1));
        let which = self.rng.u32(..17);
        let text = match which {
            // A kernel with flow that is not structured has one lane, which no required size of sub-groups allows.
            _ if self.sub_groups && matches!(which, 5 | 6) => "uint N = X;",
            0 => "uint N = (X) | 1, Na = Y; while (Na) { uint s = N % Na; N = Na; Na = s; }",
            1 => "uint N = 0; for (uint s = (X) & 0xffff; s > 1 && N < 40; N++) s = s & 1 ? 3 * s + 1 : s >> 1;",
            2 => {
                "uint L[8] = { 1, 5, 9, 60, 200, 70000, 0x80000000, 0xfffffffe }, Na = 0, Nb = 8, Nk = X; \
                 while (Na < Nb) { uint m = (Na + Nb) / 2; if (L[m] < Nk) Na = m + 1; else Nb = m; } uint N = Na;"
            }
            3 => {
                "uchar L[8] = { 3, 7, 0, 5, 1, 2, 4, 6 }; uint N = 0; \
                 for (uint at = (X) & 7, k = 0; k < 9; k++) { N = N * 8 + at; if (at == ((Y) & 7)) break; at = L[at]; }"
            }
            4 => {
                "uint L[16], Ns = 0, N = 0, Nv = 0; L[Ns++] = (X) & 31 | 1; while (Ns > 0 && Nv++ < 24) { uint k = L[--Ns]; N = N * 31 + k; \
                 if (k < 32 && Ns < 14) { if (((Y) ^ k) & 1) L[Ns++] = 2 * k; L[Ns++] = 2 * k + 1; } }"
            }
            5 => {
                "uint N = X, Nk = 0; if ((Y) & 1) goto Nb; Na: N = N * 3 + 1; Nb: N ^= Nk; if (++Nk < 6) { if (N & 1) goto Na; if (Nk & 1) goto Nb; goto Nc; } \
                 goto Nd; Nc: N += 7; if (N & 2) goto Na; Nd:;"
            }
            6 => {
                "uint N = 0, Nk = ((X) & 7) + 1, Nl = (Nk + 3) / 4; switch (Nk & 3) { case 0: do { N = N * 5 + 1; case 3: N ^= Y; case 2: N++; case 1: N = N * 3; } while (--Nl > 0); }"
            }
            7 => {
                "uint N = (X) | 1; for (int k = 0; k < 8; k++) { N ^= N << 13; N ^= N >> 17; N ^= N << 5; if (N % 7 == (Y) % 7) continue; N += k; if (N & 0x100) break; }"
            }
            8 => {
                "uint N = 0; bool Nm = false; for (uint k = (Z) % sizeof text; text[k]; k++) { char c = text[k]; if (c == 'a') { Nm = !Nm; continue; } \
                 N = N * 10 + (c >= 'b' && c <= 'c' ? c - 'b' : Nm ? 5 : 6); }"
            }
            9 => {
                "uint L[6] = { X, Y, Z, 4, 9, 1 }; for (int a = 1; a < 6; a++) { uint s = L[a]; int b = a - 1; while (b >= 0 && L[b] > s) { L[b + 1] = L[b]; b--; } L[b + 1] = s; } \
                 uint N = L[0] ^ L[2] * 3 ^ L[5] * 7;"
            }
            10 => {
                "uint N = rotated_uint(X, Y) + rotated_uchar((uchar)(Y), (uchar)(Z)) + blend_ushort((ushort)(X), (ushort)(Z)) ^ (uint)(blend_ulong(X, Y) >> 3);"
            }
            11 => {
                "uint L[3] = { X, Y, 3 }; uint N = folded(L, 2 + ((Z) & 1)) + folded((uint4)(X, L[1], Y, 5)) ^ folded((ulong)(Z) << 20) + folded(L[2]);"
            }
            12 => {
                "uint N = 0; for (int ka = 0; ka < 4; ka++) { for (int kb = 0; kb < 4; kb++) { if (((X) >> (ka * 4 + kb) & 1) == 0) continue; if (ka == kb && (Y) & 4) goto Na; \
                 N = N * 3 + ka * 4 + kb; if (N > 0x10000) break; } N++; } Na: N ^= Z;"
            }
            13 => {
                "uint N = 1, Nl = (X) & 15; { uint s = (Y) | 1; while (Nl) { if (Nl & 1) N *= s; s *= s; Nl >>= 1; } } do { if (N & 8) break; N += 3; } while (N % 5);"
            }
            14 => {
                // A search that goes back: a loop whose only exit is in one arm of a branch.
                "uint L[4] = { (X) & 7 }, Nk = 0, N = 0; for (;;) { if (L[Nk] == 0) { if (Nk == 0) break; Nk--; continue; } \
                 L[Nk] &= L[Nk] - 1; if (Nk == 3) { N++; continue; } N = N * 3 + Nk; L[++Nk] = (Y) + N & 3; }"
            }
            15 => {
                // Two loops left at once: what the inner one has computed is used after both.
                "uint N = 0, Nk = 0; do { N = (X) & 7; for (uint k = 0; k < (((Y) >> Nk) & 7); k++) { if ((N ^ (Z)) % 5 == 3) goto Na; N = N * 3 + k; } } \
                 while (++Nk < 4 && ((X) >> Nk & 3)); Na: N ^= 1;"
            }
            _ => {
                "uint L[2][3] = { { X, Y }, { Z } }, N = 0; uint (*Np)[3] = L; for (int k = 0; k < 6; k++) { Np[k & 1][k % 3] += Np[(k + 1) & 1][(k * 2) % 3] ^ k; N ^= *(*(L + k / 3) + k % 3); }"
            }
        };
        let text = fill(text, &[('N', &n), ('L', &list), ('X', &x), ('Y', &y), ('Z', &z)]);
        self.line(text);
        self.declare(&n, Kind::Value(UINT), true, false);
    }

    /// Local arrays for [`Self::group_pattern`].
    pub(super) fn pattern_memory(&mut self) {
        self.line(format!(
            "local uint pool[2 * {MOST_LOCAL}]; local ulong4 tile[{MOST_LOCAL}]; local Plain cabinet[{MOST_LOCAL}];"
        ));
    }

    /// What a work-group does together.
    pub(super) fn group_pattern(&mut self) {
        let n = self.fresh("v");
        let (x, y) = (self.expr(UINT, 2), self.expr(UINT, 2));
        let steps = self.uniform(UINT, 1);
        let wait = if self.modern && self.rng.bool() {
            "work_group_barrier(CLK_LOCAL_MEM_FENCE, memory_scope_work_group);"
        } else {
            "barrier(CLK_LOCAL_MEM_FENCE);"
        };
        let text = match self.rng.u32(..9) {
            0 => {
                "pool[lid] = X; W for (uint s = MOST / 2; s > 0; s >>= 1) { if (lid < s && lid + s < items) pool[lid] += pool[lid + s]; W } uint N = pool[0]; W"
            }
            1 => {
                "pool[lid] = X; W for (uint s = 1; s < items; s <<= 1) { uint t = lid >= s ? pool[lid - s] : 0; W pool[lid] += t; W } uint N = pool[lid]; W"
            }
            2 => {
                "pool[lid] = X; W for (uint k = 0; k < items; k++) { uint a = 2 * lid + (k & 1); \
                 if (a + 1 < items && pool[a] > pool[a + 1]) { uint t = pool[a]; pool[a] = pool[a + 1]; pool[a + 1] = t; } W } uint N = pool[lid]; W"
            }
            3 => {
                "tile[lid] = (ulong4)(X, lid, Y, 3); W ulong4 Nt = tile[(lid * 7 + 1) % items].wzyx; W ((local ulong *)tile)[lid] = Nt.y; W \
                 uint N = (uint)(Nt.x ^ ((local ulong *)tile)[items - 1 - lid]); W"
            }
            4 => {
                "cabinet[lid].a = X; cabinet[lid].b[0] = Y; cabinet[lid].b[1] = lid; cabinet[lid].c = (uchar4)(1, 2, 3, lid); cabinet[lid].d = -5; cabinet[lid].e = X; W \
                 local const Plain *Np = &cabinet[(Y) % items]; Plain Nc = *Np; uint N = Nc.a ^ Nc.b[1] ^ Np->c.w + (uint)Nc.e; W"
            }
            5 => {
                "if (lid < 16) pool[lid] = 0; W if (lid == 0) for (uint k = items; k < 16; k++) pool[k] = 0; W atomic_add(&pool[(X) & 15], 1u + ((Y) & 3)); W uint N = pool[(lid + 3) & 15]; W"
            }
            6 => {
                "{ event_t e = async_work_group_copy((local ulong *)tile, in + ((S) & 63), 4 * 16, 0); wait_group_events(1, &e); } \
                 uint N = (uint)((local ulong *)tile)[(X) & 63]; W { event_t e[2]; e[0] = async_work_group_strided_copy((local ulong *)tile, in + ((S) & 31), 8, 3, 0); \
                 e[1] = async_work_group_copy((local ulong *)tile + 8, in, 5, e[0]); wait_group_events(2, e); } N ^= (uint)((local ulong *)tile)[(X) % 13]; W"
            }
            7 => {
                // Work between barriers that only some work-items have, in a loop that all leave together.
                "uint N = X; for (uint k = 0; k < ((S) & 3) + 1; k++) { if ((N ^ k) & 1) { for (uint s = 0; s < (N & 3); s++) N = N * 3 + s; } else if (N & 2) N ^= Y; \
                 pool[lid] = N; pool[MOST + lid] = ~N; W N += pool[(lid + k + 1) % items] ^ pool[MOST + items - 1 - lid]; W if (pool[0] == 5) break; W } W"
            }
            _ => {
                "local uint *Na = pool, *Nb = pool + MOST; Na[lid] = X; W for (uint k = 0; k < ((S) & 3); k++) { Nb[lid] = Na[(lid + 1) % items] * 3 + Na[items - 1 - lid]; W \
                 local uint *s = Na; Na = Nb; Nb = s; } uint N = Na[lid]; W"
            }
        };
        let most = MOST_LOCAL.to_string();
        let text = text.replace("MOST", &most);
        let text = fill(&text, &[('N', &n), ('W', wait), ('X', &x), ('Y', &y), ('S', &steps)]);
        self.line(text);
        self.declare(&n, Kind::Value(UINT), true, false);
        if self.rng.u32(..4) == 0 {
            let of = Ty { elem: Elem::U64, lanes: 2 };
            let name = self.fresh("v");
            let value = self.expr(ULONG, 1);
            self.line(format!("vstore2((ulong2)({value}, {n}), lid, (local ulong *)tile); {wait}"));
            self.line(format!("ulong2 {name} = vload2(items - 1 - lid, (local const ulong *)tile); {wait}"));
            self.declare(&name, Kind::Value(of), true, false);
        }
    }
}
