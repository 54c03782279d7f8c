//! Kernels of variable size: one row for each way in which programs grow.

/// A family of sources.
pub(crate) struct Family {
    pub(crate) name: &'static str,
    /// The first size at which it is measured.
    pub(crate) size: usize,
    /// Lines before the kernel.
    before: &'static str,
    /// The beginning of the kernel. If empty, whole kernels are repeated.
    begin: &'static str,
    /// The repeated text; `@` is the number of the repetition.
    repeat: &'static str,
    /// The text after that, repeated as often.
    after: &'static str,
    /// The end of the kernel.
    end: &'static str,
}

impl Family {
    /// The source at a size.
    pub(crate) fn source(&self, size: usize) -> String {
        let mut body = String::new();
        for part in [self.repeat, self.after].iter().filter(|part| !part.is_empty()) {
            for i in 0..size {
                body += &part.replace('@', &i.to_string());
                body.push('\n');
            }
        }
        let Family { before, begin, end, .. } = self;
        if begin.is_empty() {
            return body;
        }
        format!("{before}{ARGUMENTS} {{ {START}\n{begin}\n{body}{end}\no[g] = x; f[g] = y; }}\n")
    }
}

const ARGUMENTS: &str = "kernel void k(global int* o, global const int* a, int n, global float* f, local int* l, read_only image2d_t img, sampler_t smp)";
const START: &str = "int g = get_global_id(0), i = get_local_id(0), x = a[g + n]; float y = f[g];";

const fn family(name: &'static str, size: usize, repeat: &'static str) -> Family {
    Family { name, size, before: "", begin: "int z = 0;", repeat, after: "", end: "x += z;" }
}

/// All families.
pub(crate) const FAMILIES: &[Family] = &[
    family(
        "printf-loops",
        100,
        "{ int v = a[g + @], b = 0; while (b < 32) { if (v & (1 << b)) break; ++b; } \
         if (o[g + @] != b) printf(\"x %d %d\\n\", b, v); }",
    ),
    family("loops", 100, "{ int v = a[g + @], b = 0; while (b < v) { if (a[v ^ b] == @) break; ++b; } x += b; }"),
    family("uniform-loops", 100, "_Pragma(\"nounroll\") for (int b = 0; b < n; ++b) x += a[g + b * (@ + 3)];"),
    family("ifs", 400, "if (a[g + @] > x) { o[g + @] = x; x += a[g * 3 + @]; }"),
    family("uniform-ifs", 400, "if (a[@] > n) { o[g + @] = x; x += a[g * 3 + @]; }"),
    Family { after: "o[g + @] = x; }", ..family("nested-ifs", 60, "if (a[g + @] > x) { x += a[g * 3 + @];") },
    Family { after: "}", ..family("nested-loops", 12, "for (int b@ = 0; b@ < a[g + @]; ++b@) { x += b@;") },
    family(
        "nests",
        20,
        "for (int b = 0; b < a[g + @]; ++b) for (int c = b; c < n; ++c) for (int d = c; d < a[c + @]; ++d) \
         for (int e = d; e < n; ++e) for (int h = 0; h < a[e]; ++h) for (int k = h; k < n; ++k) x += a[b + c + d + e + h + k];",
    ),
    family("returns", 200, "if (a[g + @] == x) { o[g + @] = 1; return; }"),
    Family {
        begin: "for (int b = 0; b < n; ++b) {",
        end: "}",
        ..family("breaks", 200, "if (a[g + b + @] == x) { o[g + @] = b; break; }")
    },
    Family {
        begin: "for (int b = 0; b < n; ++b) {",
        end: "}",
        ..family("continues", 200, "if (a[g + b + @] == x) { o[g + @] = b; continue; }")
    },
    Family { end: "out: x ^= 5;", ..family("gotos", 200, "if (a[g + @] == x) { x += @; goto out; } o[g + @] = 1;") },
    Family {
        begin: "for (int b = 0; b < n; ++b) switch (a[g + b]) {",
        end: "}",
        ..family("switch", 400, "case @ * 7: x += o[g + @]; break;")
    },
    Family {
        begin: "int s = 0; while (s != 99999) switch (s) {",
        end: "default: s = 99999; }",
        ..family("machine", 100, "case @: x += o[g + @]; s = x & 1 ? @ + 1 : a[x & 255]; break;")
    },
    family(
        "barriers",
        100,
        "l[i] = x; barrier(CLK_LOCAL_MEM_FENCE); x += l[(i + @) & 63]; barrier(CLK_LOCAL_MEM_FENCE);",
    ),
    Family {
        after: "x += v@;",
        ..family("barriers-live", 60, "int v@ = a[g * 3 + @]; l[i] = v@; barrier(CLK_LOCAL_MEM_FENCE);")
    },
    Family {
        begin: "for (int b = 0; b < n; ++b) {",
        end: "}",
        ..family(
            "barriers-loop",
            60,
            "l[i] = x; barrier(CLK_LOCAL_MEM_FENCE); x += l[(i + @) & 63]; barrier(CLK_LOCAL_MEM_FENCE);",
        )
    },
    family(
        "barriers-divergent",
        30,
        "if (a[g + @] > 0) { l[i] = x; barrier(CLK_LOCAL_MEM_FENCE); x += l[(i + @) & 63]; barrier(CLK_LOCAL_MEM_FENCE); }",
    ),
    family("atomics", 200, "x += atomic_add(o + ((x + @) & 255), @);"),
    family("atomics-if", 200, "if (a[g + @] > x) x += atomic_cmpxchg(o + ((x + @) & 255), @, x);"),
    family(
        "private-arrays",
        60,
        "{ int p[8]; for (int b = 0; b < 8; ++b) p[b ^ (x & 7)] = a[g + b + @]; x += p[x & 7]; }",
    ),
    family("private-scalars", 200, "int p@ = a[g + @]; if (x & 1) p@ += x; x ^= p@;"),
    Family {
        before: "constant int t[16] = { 3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3 };\n",
        ..family("tables", 400, "x = x * 5 + t[x & 15] + @;")
    },
    family("volatile", 200, "{ volatile int p = x; p += a[g + @]; x += p; }"),
    family(
        "vectors",
        400,
        "{ float8 v = vload8(@, f + g * 8); v = v * v.s76543210 + (float8)(y); vstore8(v, @ + 5, f + g * 8); y += v.s3; }",
    ),
    Family {
        before: "__attribute__((noinline)) int h(int v, int c) { for (int b = 0; b < 4; ++b) { v = v * 31 + c; if (v & 1) v ^= c; } return v; }\n",
        ..family("calls", 200, "x = h(x, a[g + @]);")
    },
    Family {
        before: "int s(int v, int c) { return v * 31 + (c ^ v >> 3); }\nfloat t(float v, int c) { return v * c + 1.0f; }\n",
        ..family("small-calls", 400, "x = s(s(x, @), a[g + @]); y = t(y, x);")
    },
    family("images", 100, "y += read_imagef(img, smp, (float2)(y, x + @)).x;"),
    family("math", 100, "y += sin(y) * pow(y, @ + 0.5f);"),
    family("divisions", 400, "x += (a[g + @] / (x | 1)) % ((a[g + @ + 1] | 1));"),
    family("straight", 4000, "x = rotate(x, 7) * (x ^ @) + a[(g + @) & 1023];"),
    family(
        "rounds",
        1000,
        "{ uint t = x + (rotate((uint)z, 26u) ^ rotate((uint)z, 21u)) + (z & x) + a[g + @]; x = z; z = t ^ @; }",
    ),
    Family { after: "x = x * 3 + v@;", ..family("live", 1000, "int v@ = a[g * 3 + @]; v@ *= a[g + v@];") },
    Family {
        begin: "int p0 = x, p1 = x;",
        ..family("sums", 400, "p0 = p0 + p1 * a[p0]; p1 = p1 + p0; if (p1 == @) z ^= p0;")
    },
    Family {
        begin: "int2 c = (int2)(x, g);",
        end: "y += read_imagef(img, smp, c).x;",
        ..family("chains", 12, "c.x = c.x + c.y; c.y = c.y + c.x;")
    },
    family("stores", 2000, "o[g * 4 + (@ % 4) + @] = x + @; x += a[g + @ * 2];"),
    family("selects", 2000, "x = a[g + @] > x ? x * 3 : (x & 1) ? z : @; z += x;"),
    Family {
        before: "struct S { int q[9]; };\n",
        ..family(
            "copies",
            200,
            "{ struct S s = ((global struct S*)a)[x & 63]; s.q[x & 7] = @; ((global struct S*)o)[x & 31] = s; x += s.q[z & 7]; }",
        )
    },
    family("group-sums", 40, "x += work_group_reduce_add(x + @);"),
    family("sub-groups", 100, "x += sub_group_reduce_add(x + @); x ^= sub_group_broadcast(x, @ & 3);"),
    family(
        "halves",
        400,
        "{ float h = vload_half(g + @, (global half*)a); y = y * h + @; vstore_half(y, g + @, (global half*)o); }",
    ),
    family("doubles", 400, "{ double d = y; d = d * @ + sqrt(d); y = d; x += convert_int_sat(d); }"),
    family("longs", 400, "{ long v = (long)x * a[g + @]; v = mul_hi(v, (long)@ << 40) + (v >> 7); x = v; }"),
    Family {
        begin: "",
        ..family(
            "kernels",
            60,
            "kernel void k@(global int* o, int n) { int g = get_global_id(0); for (int b = 0; b < n; ++b) if (o[g + b] > @) o[g] += b; }",
        )
    },
];
