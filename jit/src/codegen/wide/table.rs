//! The instructions that this backend uses: a row each.
//!
//! Rows of vectors are named for one element; where an instruction exists for several, [`Row`]s stand in a table by the bytes of
//! the element (`None` where there is none).

use super::encode::{Format, Map, Prefix, Row};

const fn row(format: Format, name: &'static str, prefix: Prefix, map: Map, wide: bool, opcode: u8) -> Row {
    Row { name, format, prefix, map, wide, opcode }
}

macro_rules! rows {
    ($($kind:ident $constant:ident $name:literal $prefix:ident $map:ident $wide:literal $opcode:literal;)+) => {
        $(pub(super) const $constant: Row = row(rows!(@$kind), $name, Prefix::$prefix, Map::$map, $wide == 1, $opcode);)+

        /// All rows.
        #[cfg(test)]
        pub(super) const ALL: &[Row] = &[$($constant),+];
    };
    (@plain) => { Format::Plain };
    (@vex) => { Format::Vex(false) };
    (@vex1) => { Format::Vex(true) };
    (@evex) => { Format::Evex };
}

rows! {
    // -- scalar integers --
    plain ADD      "add"      None One  0 0x03;
    plain SUB      "sub"      None One  0 0x2b;
    plain AND      "and"      None One  0 0x23;
    plain OR       "or"       None One  0 0x0b;
    plain XOR      "xor"      None One  0 0x33;
    plain CMP      "cmp"      None One  0 0x3b;
    plain TEST     "test"     None One  0 0x85;
    plain IMUL     "imul"     None M0F  0 0xaf;
    plain IMUL_IMM "imul"     None One  0 0x69;
    // Digits of 81: 0 add, 1 or, 4 and, 5 sub, 6 xor, 7 cmp.
    plain ALU_IMM  "add"      None One  0 0x81;
    plain MOV      "mov"      None One  0 0x8b;
    plain MOV_TO   "mov"      None One  0 0x89;
    plain MOV_BYTE_TO "mov"   None One  0 0x88;
    plain MOV_IMM  "mov"      None One  0 0xc7;
    plain MOVZX8   "movzx"    None M0F  0 0xb6;
    plain MOVZX16  "movzx"    None M0F  0 0xb7;
    plain MOVSX8   "movsx"    None M0F  0 0xbe;
    plain MOVSX16  "movsx"    None M0F  0 0xbf;
    plain MOVSXD   "movsxd"   None One  1 0x63;
    plain LEA      "lea"      None One  0 0x8d;
    // Digits of f7: 2 not, 3 neg, 4 mul, 5 imul, 6 div, 7 idiv.
    plain GROUP3   "not"      None One  0 0xf7;
    // Digits of c1: 0 rol, 4 shl, 5 shr, 7 sar.
    plain SHIFT_IMM "shl"     None One  0 0xc1;
    plain SHIFT_CL "rol"      None One  0 0xd3;
    plain LZCNT    "lzcnt"    F3   M0F  0 0xbd;
    plain TZCNT    "tzcnt"    F3   M0F  0 0xbc;
    plain POPCNT   "popcnt"   F3   M0F  0 0xb8;
    plain SETCC    "seto"     None M0F  0 0x90;
    plain CMOVCC   "cmovo"    None M0F  0 0x40;
    plain XCHG     "xchg"     None One  0 0x87;
    plain XCHG8    "xchg"     None One  0 0x86;
    plain XADD     "xadd"     None M0F  0 0xc1;
    plain XADD8    "xadd"     None M0F  0 0xc0;
    plain CMPXCHG  "cmpxchg"  None M0F  0 0xb1;
    plain CMPXCHG8 "cmpxchg"  None M0F  0 0xb0;
    // Digits of ff: 2 call, 4 jmp.
    plain CALL_JUMP "call"    None One  0 0xff;
    vex   SHLX     "shlx"     P66  M0F38 0 0xf7;
    vex   SHRX     "shrx"     F2   M0F38 0 0xf7;
    vex   SARX     "sarx"     F3   M0F38 0 0xf7;

    // -- masks --
    vex1  KANDQ    "kandq"    None M0F  1 0x41;
    vex1  KANDNQ   "kandnq"   None M0F  1 0x42;
    vex1  KORQ     "korq"     None M0F  1 0x45;
    vex1  KXORQ    "kxorq"    None M0F  1 0x47;
    vex1  KXNORQ   "kxnorq"   None M0F  1 0x46;
    vex1  KUNPCKBW "kunpckbw" P66  M0F  0 0x4b;
    vex1  KUNPCKWD "kunpckwd" None M0F  0 0x4b;
    vex1  KUNPCKDQ "kunpckdq" None M0F  1 0x4b;
    vex   KNOTQ    "knotq"    None M0F  1 0x44;
    vex   KMOVQ    "kmovq"    None M0F  1 0x90;
    vex   KMOVQ_TO "kmovq"    None M0F  1 0x91;
    vex   KMOVQ_FROM_SCALAR "kmovq" F2 M0F 1 0x92;
    vex   KMOVQ_TO_SCALAR "kmovq" F2 M0F 1 0x93;
    vex   KORTESTB "kortestb" P66  M0F  0 0x98;
    vex   KORTESTW "kortestw" None M0F  0 0x98;
    vex   KORTESTD "kortestd" P66  M0F  1 0x98;
    vex   KORTESTQ "kortestq" None M0F  1 0x98;
    vex   KSHIFTRQ "kshiftrq" P66  M0F3A 1 0x31;

    // -- floats --
    evex  VADDPS   "vaddps"   None M0F  0 0x58;
    evex  VADDPD   "vaddpd"   P66  M0F  1 0x58;
    evex  VADDSS   "vaddss"   F3   M0F  0 0x58;
    evex  VADDSD   "vaddsd"   F2   M0F  1 0x58;
    evex  VSUBPS   "vsubps"   None M0F  0 0x5c;
    evex  VSUBPD   "vsubpd"   P66  M0F  1 0x5c;
    evex  VSUBSS   "vsubss"   F3   M0F  0 0x5c;
    evex  VSUBSD   "vsubsd"   F2   M0F  1 0x5c;
    evex  VMULPS   "vmulps"   None M0F  0 0x59;
    evex  VMULPD   "vmulpd"   P66  M0F  1 0x59;
    evex  VMULSS   "vmulss"   F3   M0F  0 0x59;
    evex  VMULSD   "vmulsd"   F2   M0F  1 0x59;
    evex  VDIVPS   "vdivps"   None M0F  0 0x5e;
    evex  VDIVPD   "vdivpd"   P66  M0F  1 0x5e;
    evex  VDIVSS   "vdivss"   F3   M0F  0 0x5e;
    evex  VDIVSD   "vdivsd"   F2   M0F  1 0x5e;
    evex  VMINPS   "vminps"   None M0F  0 0x5d;
    evex  VMINPD   "vminpd"   P66  M0F  1 0x5d;
    evex  VMINSS   "vminss"   F3   M0F  0 0x5d;
    evex  VMINSD   "vminsd"   F2   M0F  1 0x5d;
    evex  VMAXPS   "vmaxps"   None M0F  0 0x5f;
    evex  VMAXPD   "vmaxpd"   P66  M0F  1 0x5f;
    evex  VMAXSS   "vmaxss"   F3   M0F  0 0x5f;
    evex  VMAXSD   "vmaxsd"   F2   M0F  1 0x5f;
    evex  VSQRTPS  "vsqrtps"  None M0F  0 0x51;
    evex  VSQRTPD  "vsqrtpd"  P66  M0F  1 0x51;
    evex  VSQRTSS  "vsqrtss"  F3   M0F  0 0x51;
    evex  VSQRTSD  "vsqrtsd"  F2   M0F  1 0x51;
    evex  VRCP14PS "vrcp14ps" P66  M0F38 0 0x4c;
    evex  VRCP14PD "vrcp14pd" P66  M0F38 1 0x4c;
    evex  VRCP14SS "vrcp14ss" P66  M0F38 0 0x4d;
    evex  VRCP14SD "vrcp14sd" P66  M0F38 1 0x4d;
    evex  VRSQRT14PS "vrsqrt14ps" P66 M0F38 0 0x4e;
    evex  VRSQRT14PD "vrsqrt14pd" P66 M0F38 1 0x4e;
    evex  VRSQRT14SS "vrsqrt14ss" P66 M0F38 0 0x4f;
    evex  VRSQRT14SD "vrsqrt14sd" P66 M0F38 1 0x4f;
    evex  VRNDSCALEPS "vrndscaleps" P66 M0F3A 0 0x08;
    evex  VRNDSCALEPD "vrndscalepd" P66 M0F3A 1 0x09;
    evex  VRNDSCALESS "vrndscaless" P66 M0F3A 0 0x0a;
    evex  VRNDSCALESD "vrndscalesd" P66 M0F3A 1 0x0b;
    evex  VFMADD213PS "vfmadd213ps" P66 M0F38 0 0xa8;
    evex  VFMADD213PD "vfmadd213pd" P66 M0F38 1 0xa8;
    evex  VFMADD213SS "vfmadd213ss" P66 M0F38 0 0xa9;
    evex  VFMADD213SD "vfmadd213sd" P66 M0F38 1 0xa9;
    evex  VFMADD231PS "vfmadd231ps" P66 M0F38 0 0xb8;
    evex  VFMADD231PD "vfmadd231pd" P66 M0F38 1 0xb8;
    evex  VFMADD231SS "vfmadd231ss" P66 M0F38 0 0xb9;
    evex  VFMADD231SD "vfmadd231sd" P66 M0F38 1 0xb9;
    evex  VFMSUB213PS "vfmsub213ps" P66 M0F38 0 0xaa;
    evex  VFMSUB213PD "vfmsub213pd" P66 M0F38 1 0xaa;
    evex  VFMSUB213SS "vfmsub213ss" P66 M0F38 0 0xab;
    evex  VFMSUB213SD "vfmsub213sd" P66 M0F38 1 0xab;
    evex  VFMSUB231PS "vfmsub231ps" P66 M0F38 0 0xba;
    evex  VFMSUB231PD "vfmsub231pd" P66 M0F38 1 0xba;
    evex  VFMSUB231SS "vfmsub231ss" P66 M0F38 0 0xbb;
    evex  VFMSUB231SD "vfmsub231sd" P66 M0F38 1 0xbb;
    evex  VFNMADD213PS "vfnmadd213ps" P66 M0F38 0 0xac;
    evex  VFNMADD213PD "vfnmadd213pd" P66 M0F38 1 0xac;
    evex  VFNMADD213SS "vfnmadd213ss" P66 M0F38 0 0xad;
    evex  VFNMADD213SD "vfnmadd213sd" P66 M0F38 1 0xad;
    evex  VFNMADD231PS "vfnmadd231ps" P66 M0F38 0 0xbc;
    evex  VFNMADD231PD "vfnmadd231pd" P66 M0F38 1 0xbc;
    evex  VFNMADD231SS "vfnmadd231ss" P66 M0F38 0 0xbd;
    evex  VFNMADD231SD "vfnmadd231sd" P66 M0F38 1 0xbd;
    evex  VFNMSUB213PS "vfnmsub213ps" P66 M0F38 0 0xae;
    evex  VFNMSUB213PD "vfnmsub213pd" P66 M0F38 1 0xae;
    evex  VFNMSUB213SS "vfnmsub213ss" P66 M0F38 0 0xaf;
    evex  VFNMSUB213SD "vfnmsub213sd" P66 M0F38 1 0xaf;
    evex  VFNMSUB231PS "vfnmsub231ps" P66 M0F38 0 0xbe;
    evex  VFNMSUB231PD "vfnmsub231pd" P66 M0F38 1 0xbe;
    evex  VFNMSUB231SS "vfnmsub231ss" P66 M0F38 0 0xbf;
    evex  VFNMSUB231SD "vfnmsub231sd" P66 M0F38 1 0xbf;
    evex  VCMPPS   "vcmpeqps"   None M0F  0 0xc2;
    evex  VCMPPD   "vcmpeqpd"   P66  M0F  1 0xc2;
    evex  VCMPSS   "vcmpeqss"   F3   M0F  0 0xc2;
    evex  VCMPSD   "vcmpeqsd"   F2   M0F  1 0xc2;

    // -- conversions --
    evex  VCVTDQ2PS "vcvtdq2ps" None M0F 0 0x5b;
    evex  VCVTQQ2PS "vcvtqq2ps" None M0F 1 0x5b;
    evex  VCVTUDQ2PS "vcvtudq2ps" F2 M0F 0 0x7a;
    evex  VCVTUQQ2PS "vcvtuqq2ps" F2 M0F 1 0x7a;
    evex  VCVTDQ2PD "vcvtdq2pd" F3  M0F 0 0xe6;
    evex  VCVTQQ2PD "vcvtqq2pd" F3  M0F 1 0xe6;
    evex  VCVTUDQ2PD "vcvtudq2pd" F3 M0F 0 0x7a;
    evex  VCVTUQQ2PD "vcvtuqq2pd" F3 M0F 1 0x7a;
    evex  VCVTTPS2DQ "vcvttps2dq" F3 M0F 0 0x5b;
    evex  VCVTTPS2UDQ "vcvttps2udq" None M0F 0 0x78;
    evex  VCVTTPD2DQ "vcvttpd2dq" P66 M0F 1 0xe6;
    evex  VCVTTPD2UDQ "vcvttpd2udq" None M0F 1 0x78;
    evex  VCVTTPS2QQ "vcvttps2qq" P66 M0F 0 0x7a;
    evex  VCVTTPS2UQQ "vcvttps2uqq" P66 M0F 0 0x78;
    evex  VCVTTPD2QQ "vcvttpd2qq" P66 M0F 1 0x7a;
    evex  VCVTTPD2UQQ "vcvttpd2uqq" P66 M0F 1 0x78;
    evex  VCVTPS2PD "vcvtps2pd" None M0F 0 0x5a;
    evex  VCVTPD2PS "vcvtpd2ps" P66  M0F 1 0x5a;
    evex  VCVTSS2SD "vcvtss2sd" F3   M0F 0 0x5a;
    evex  VCVTSD2SS "vcvtsd2ss" F2   M0F 1 0x5a;
    evex  VCVTSI2SS "vcvtsi2ss" F3   M0F 0 0x2a;
    evex  VCVTSI2SD "vcvtsi2sd" F2   M0F 0 0x2a;
    evex  VCVTUSI2SS "vcvtusi2ss" F3 M0F 0 0x7b;
    evex  VCVTUSI2SD "vcvtusi2sd" F2 M0F 0 0x7b;

    // -- integers in lanes --
    evex  VPADDB   "vpaddb"   P66  M0F  0 0xfc;
    evex  VPADDW   "vpaddw"   P66  M0F  0 0xfd;
    evex  VPADDD   "vpaddd"   P66  M0F  0 0xfe;
    evex  VPADDQ   "vpaddq"   P66  M0F  1 0xd4;
    evex  VPSUBB   "vpsubb"   P66  M0F  0 0xf8;
    evex  VPSUBW   "vpsubw"   P66  M0F  0 0xf9;
    evex  VPSUBD   "vpsubd"   P66  M0F  0 0xfa;
    evex  VPSUBQ   "vpsubq"   P66  M0F  1 0xfb;
    evex  VPADDUSB "vpaddusb" P66  M0F  0 0xdc;
    evex  VPADDUSW "vpaddusw" P66  M0F  0 0xdd;
    evex  VPADDSB  "vpaddsb"  P66  M0F  0 0xec;
    evex  VPADDSW  "vpaddsw"  P66  M0F  0 0xed;
    evex  VPSUBUSB "vpsubusb" P66  M0F  0 0xd8;
    evex  VPSUBUSW "vpsubusw" P66  M0F  0 0xd9;
    evex  VPSUBSB  "vpsubsb"  P66  M0F  0 0xe8;
    evex  VPSUBSW  "vpsubsw"  P66  M0F  0 0xe9;
    evex  VPMULLW  "vpmullw"  P66  M0F  0 0xd5;
    evex  VPMULLD  "vpmulld"  P66  M0F38 0 0x40;
    evex  VPMULLQ  "vpmullq"  P66  M0F38 1 0x40;
    evex  VPMULUDQ "vpmuludq" P66  M0F  1 0xf4;
    evex  VPMULDQ  "vpmuldq"  P66  M0F38 1 0x28;
    evex  VPMULHUW "vpmulhuw" P66  M0F  0 0xe4;
    evex  VPMULHW  "vpmulhw"  P66  M0F  0 0xe5;
    evex  VPANDD   "vpandd"   P66  M0F  0 0xdb;
    evex  VPANDQ   "vpandq"   P66  M0F  1 0xdb;
    evex  VPORD    "vpord"    P66  M0F  0 0xeb;
    evex  VPORQ    "vporq"    P66  M0F  1 0xeb;
    evex  VPXORD   "vpxord"   P66  M0F  0 0xef;
    evex  VPXORQ   "vpxorq"   P66  M0F  1 0xef;
    evex  VPTERNLOGD "vpternlogd" P66 M0F3A 0 0x25;
    evex  VPTERNLOGQ "vpternlogq" P66 M0F3A 1 0x25;
    evex  VPMINSB  "vpminsb"  P66  M0F38 0 0x38;
    evex  VPMINSW  "vpminsw"  P66  M0F  0 0xea;
    evex  VPMINSD  "vpminsd"  P66  M0F38 0 0x39;
    evex  VPMINSQ  "vpminsq"  P66  M0F38 1 0x39;
    evex  VPMINUB  "vpminub"  P66  M0F  0 0xda;
    evex  VPMINUW  "vpminuw"  P66  M0F38 0 0x3a;
    evex  VPMINUD  "vpminud"  P66  M0F38 0 0x3b;
    evex  VPMINUQ  "vpminuq"  P66  M0F38 1 0x3b;
    evex  VPMAXSB  "vpmaxsb"  P66  M0F38 0 0x3c;
    evex  VPMAXSW  "vpmaxsw"  P66  M0F  0 0xee;
    evex  VPMAXSD  "vpmaxsd"  P66  M0F38 0 0x3d;
    evex  VPMAXSQ  "vpmaxsq"  P66  M0F38 1 0x3d;
    evex  VPMAXUB  "vpmaxub"  P66  M0F  0 0xde;
    evex  VPMAXUW  "vpmaxuw"  P66  M0F38 0 0x3e;
    evex  VPMAXUD  "vpmaxud"  P66  M0F38 0 0x3f;
    evex  VPMAXUQ  "vpmaxuq"  P66  M0F38 1 0x3f;
    evex  VPABSB   "vpabsb"   P66  M0F38 0 0x1c;
    evex  VPABSW   "vpabsw"   P66  M0F38 0 0x1d;
    evex  VPABSD   "vpabsd"   P66  M0F38 0 0x1e;
    evex  VPABSQ   "vpabsq"   P66  M0F38 1 0x1f;
    // By an immediate; digits 2 right, 4 right with signs, 6 left, of d and q also 1 rotate left.
    evex  VPSHIFTW_IMM "vpsrlw" P66 M0F 0 0x71;
    evex  VPSHIFTD_IMM "vpsrld" P66 M0F 0 0x72;
    evex  VPSHIFTQ_IMM "vpsrlq" P66 M0F 1 0x73;
    evex  VPSRAQ_IMM   "vpsraq" P66 M0F 1 0x72;
    evex  VPSLLVW  "vpsllvw"  P66  M0F38 1 0x12;
    evex  VPSLLVD  "vpsllvd"  P66  M0F38 0 0x47;
    evex  VPSLLVQ  "vpsllvq"  P66  M0F38 1 0x47;
    evex  VPSRLVW  "vpsrlvw"  P66  M0F38 1 0x10;
    evex  VPSRLVD  "vpsrlvd"  P66  M0F38 0 0x45;
    evex  VPSRLVQ  "vpsrlvq"  P66  M0F38 1 0x45;
    evex  VPSRAVW  "vpsravw"  P66  M0F38 1 0x11;
    evex  VPSRAVD  "vpsravd"  P66  M0F38 0 0x46;
    evex  VPSRAVQ  "vpsravq"  P66  M0F38 1 0x46;
    evex  VPROLVD  "vprolvd"  P66  M0F38 0 0x15;
    evex  VPROLVQ  "vprolvq"  P66  M0F38 1 0x15;
    evex  VPLZCNTD "vplzcntd" P66  M0F38 0 0x44;
    evex  VPLZCNTQ "vplzcntq" P66  M0F38 1 0x44;
    evex  VPOPCNTB "vpopcntb" P66  M0F38 0 0x54;
    evex  VPOPCNTW "vpopcntw" P66  M0F38 1 0x54;
    evex  VPOPCNTD "vpopcntd" P66  M0F38 0 0x55;
    evex  VPOPCNTQ "vpopcntq" P66  M0F38 1 0x55;
    evex  VPCMPB   "vpcmpeqb" P66  M0F3A 0 0x3f;
    evex  VPCMPUB  "vpcmpequb" P66 M0F3A 0 0x3e;
    evex  VPCMPW   "vpcmpeqw" P66  M0F3A 1 0x3f;
    evex  VPCMPUW  "vpcmpequw" P66 M0F3A 1 0x3e;
    evex  VPCMPD   "vpcmpeqd" P66  M0F3A 0 0x1f;
    evex  VPCMPUD  "vpcmpequd" P66 M0F3A 0 0x1e;
    evex  VPCMPQ   "vpcmpeqq" P66  M0F3A 1 0x1f;
    evex  VPCMPUQ  "vpcmpequq" P66 M0F3A 1 0x1e;
    evex  VPTESTMB "vptestmb" P66  M0F38 0 0x26;
    evex  VPTESTMW "vptestmw" P66  M0F38 1 0x26;
    evex  VPTESTMD "vptestmd" P66  M0F38 0 0x27;
    evex  VPTESTMQ "vptestmq" P66  M0F38 1 0x27;
    evex  VPTESTNMB "vptestnmb" F3 M0F38 0 0x26;
    evex  VPTESTNMW "vptestnmw" F3 M0F38 1 0x26;
    evex  VPTESTNMD "vptestnmd" F3 M0F38 0 0x27;
    evex  VPTESTNMQ "vptestnmq" F3 M0F38 1 0x27;

    // -- movement between lanes, and to and from elsewhere --
    evex  VMOVUPS  "vmovups"  None M0F  0 0x10;
    evex  VMOVUPS_TO "vmovups" None M0F 0 0x11;
    evex  VMOVAPS  "vmovaps"  None M0F  0 0x28;
    evex  VMOVDQU8 "vmovdqu8" F2  M0F  0 0x6f;
    evex  VMOVDQU8_TO "vmovdqu8" F2 M0F 0 0x7f;
    evex  VMOVDQU16 "vmovdqu16" F2 M0F 1 0x6f;
    evex  VMOVDQU16_TO "vmovdqu16" F2 M0F 1 0x7f;
    evex  VMOVDQU32 "vmovdqu32" F3 M0F 0 0x6f;
    evex  VMOVDQU32_TO "vmovdqu32" F3 M0F 0 0x7f;
    evex  VMOVDQU64 "vmovdqu64" F3 M0F 1 0x6f;
    evex  VMOVDQU64_TO "vmovdqu64" F3 M0F 1 0x7f;
    evex  VPGATHERQD "vpgatherqd" P66 M0F38 0 0x91;
    evex  VPGATHERQQ "vpgatherqq" P66 M0F38 1 0x91;
    evex  VPSCATTERQD "vpscatterqd" P66 M0F38 0 0xa1;
    evex  VPSCATTERQQ "vpscatterqq" P66 M0F38 1 0xa1;
    evex  VMOVSS   "vmovss"   F3   M0F  0 0x10;
    evex  VMOVSS_TO "vmovss"  F3   M0F  0 0x11;
    evex  VMOVSD   "vmovsd"   F2   M0F  1 0x10;
    evex  VMOVSD_TO "vmovsd"  F2   M0F  1 0x11;
    evex  VMOVD_FROM_SCALAR "vmovd" P66 M0F 0 0x6e;
    evex  VMOVD_TO_SCALAR "vmovd" P66 M0F 0 0x7e;
    evex  VPBROADCASTB "vpbroadcastb" P66 M0F38 0 0x78;
    evex  VPBROADCASTW "vpbroadcastw" P66 M0F38 0 0x79;
    evex  VPBROADCASTD "vpbroadcastd" P66 M0F38 0 0x58;
    evex  VPBROADCASTQ "vpbroadcastq" P66 M0F38 1 0x59;
    evex  VPBROADCASTB_SCALAR "vpbroadcastb" P66 M0F38 0 0x7a;
    evex  VPBROADCASTW_SCALAR "vpbroadcastw" P66 M0F38 0 0x7b;
    evex  VPBROADCASTD_SCALAR "vpbroadcastd" P66 M0F38 0 0x7c;
    evex  VPBROADCASTQ_SCALAR "vpbroadcastq" P66 M0F38 1 0x7c;
    evex  VPBLENDMB "vpblendmb" P66 M0F38 0 0x66;
    evex  VPBLENDMW "vpblendmw" P66 M0F38 1 0x66;
    evex  VPBLENDMD "vpblendmd" P66 M0F38 0 0x64;
    evex  VPBLENDMQ "vpblendmq" P66 M0F38 1 0x64;
    evex  VPERMB   "vpermb"   P66  M0F38 0 0x8d;
    evex  VPERMW   "vpermw"   P66  M0F38 1 0x8d;
    evex  VPERMD   "vpermd"   P66  M0F38 0 0x36;
    evex  VPERMQ   "vpermq"   P66  M0F38 1 0x36;
    evex  VPERMI2B "vpermi2b" P66  M0F38 0 0x75;
    evex  VPERMI2W "vpermi2w" P66  M0F38 1 0x75;
    evex  VPERMI2D "vpermi2d" P66  M0F38 0 0x76;
    evex  VPERMI2Q "vpermi2q" P66  M0F38 1 0x76;
    evex  VPSHUFB  "vpshufb"  P66  M0F38 0 0x00;
    evex  VPSHUFD  "vpshufd"  P66  M0F  0 0x70;
    evex  VALIGND  "valignd"  P66  M0F3A 0 0x03;
    evex  VALIGNQ  "valignq"  P66  M0F3A 1 0x03;
    evex  VEXTRACTI32X4 "vextracti32x4" P66 M0F3A 0 0x39;
    evex  VEXTRACTI64X4 "vextracti64x4" P66 M0F3A 1 0x3b;
    evex  VINSERTI32X4 "vinserti32x4" P66 M0F3A 0 0x38;
    evex  VINSERTI64X4 "vinserti64x4" P66 M0F3A 1 0x3a;
    evex  VPEXTRB  "vpextrb"  P66  M0F3A 0 0x14;
    evex  VPEXTRW  "vpextrw"  P66  M0F3A 0 0x15;
    evex  VPINSRB  "vpinsrb"  P66  M0F3A 0 0x20;
    evex  VPINSRW  "vpinsrw"  P66  M0F  0 0xc4;
    evex  VPINSRD  "vpinsrd"  P66  M0F3A 0 0x22;
    evex  VINSERTPS "vinsertps" P66 M0F3A 0 0x21;
    evex  VUNPCKLPD "vunpcklpd" P66 M0F 1 0x14;
    evex  VPMOVM2B "vpmovm2b" F3   M0F38 0 0x28;
    evex  VPMOVM2W "vpmovm2w" F3   M0F38 1 0x28;
    evex  VPMOVM2D "vpmovm2d" F3   M0F38 0 0x38;
    evex  VPMOVM2Q "vpmovm2q" F3   M0F38 1 0x38;
    evex  VPMOVB2M "vpmovb2m" F3   M0F38 0 0x29;
    evex  VPMOVWB  "vpmovwb"  F3   M0F38 0 0x30;
    evex  VPMOVDB  "vpmovdb"  F3   M0F38 0 0x31;
    evex  VPMOVQB  "vpmovqb"  F3   M0F38 0 0x32;
    evex  VPMOVDW  "vpmovdw"  F3   M0F38 0 0x33;
    evex  VPMOVQW  "vpmovqw"  F3   M0F38 0 0x34;
    evex  VPMOVQD  "vpmovqd"  F3   M0F38 0 0x35;
    evex  VPMOVSXBW "vpmovsxbw" P66 M0F38 0 0x20;
    evex  VPMOVSXBD "vpmovsxbd" P66 M0F38 0 0x21;
    evex  VPMOVSXBQ "vpmovsxbq" P66 M0F38 0 0x22;
    evex  VPMOVSXWD "vpmovsxwd" P66 M0F38 0 0x23;
    evex  VPMOVSXWQ "vpmovsxwq" P66 M0F38 0 0x24;
    evex  VPMOVSXDQ "vpmovsxdq" P66 M0F38 0 0x25;
    evex  VPMOVZXBW "vpmovzxbw" P66 M0F38 0 0x30;
    evex  VPMOVZXBD "vpmovzxbd" P66 M0F38 0 0x31;
    evex  VPMOVZXBQ "vpmovzxbq" P66 M0F38 0 0x32;
    evex  VPMOVZXWD "vpmovzxwd" P66 M0F38 0 0x33;
    evex  VPMOVZXWQ "vpmovzxwq" P66 M0F38 0 0x34;
    evex  VPMOVZXDQ "vpmovzxdq" P66 M0F38 0 0x35;
}
