//! Checks every row of the instruction table with an independent decoder.

use iced_x86::{Decoder, DecoderOptions, Formatter, NasmFormatter};

use crate::codegen::x86::encode::{InstEncoding, InstFormat, InstRow, Lengths, OperandSize, RmOperand};
use crate::codegen::x86::{oracle, table};

/// An instruction's text.
fn decoded(bytes: &[u8]) -> String {
    let mut decoder = Decoder::new(64, bytes, DecoderOptions::NONE);
    let instruction = decoder.decode();
    assert_eq!(instruction.len(), bytes.len(), "{bytes:02x?} decodes to {instruction:?}");
    let mut text = String::new();
    let mut formatter = NasmFormatter::new();
    formatter.format(&instruction, &mut text);
    text
}

/// An immediate for a row that takes one, with its size of one or four bytes.
fn immediate(row: InstRow) -> Option<(i64, u8)> {
    let four = [table::ALU_IMM, table::IMUL_IMM, table::MOV_IMM];
    let one = [
        table::SHIFT_IMM,
        table::KSHIFTRQ,
        table::VCVTPS2PH,
        table::VRNDSCALEPS,
        table::VRNDSCALEPD,
        table::VRNDSCALESS,
        table::VRNDSCALESD,
        table::VCMPPS,
        table::VCMPPD,
        table::VCMPSS,
        table::VCMPSD,
        table::VRNDSCALEPH,
        table::VRNDSCALESH,
        table::VCMPPH,
        table::VCMPSH,
        table::VPTERNLOGD,
        table::VPTERNLOGQ,
        table::VPSHIFTW_IMM,
        table::VPSHIFTD_IMM,
        table::VPSHIFTQ_IMM,
        table::VPSRAQ_IMM,
        table::VPCMPB,
        table::VPCMPUB,
        table::VPCMPW,
        table::VPCMPUW,
        table::VPCMPD,
        table::VPCMPUD,
        table::VPCMPQ,
        table::VPCMPUQ,
        table::VPSHUFD,
        table::VALIGND,
        table::VALIGNQ,
        table::VEXTRACTI32X4,
        table::VEXTRACTI64X4,
        table::VINSERTI32X4,
        table::VINSERTI64X4,
        table::VSHUFI32X4,
        table::VPEXTRB,
        table::VPEXTRW,
        table::VPEXTRQ,
        table::VPINSRB,
        table::VPINSRW,
        table::VPINSRD,
        table::VINSERTPS,
        table::VPBLENDD,
        table::VSHUFPS,
        table::VPERMQ_IMM,
        table::VPERM2I128,
        table::VPEXTRD,
        table::MOV_BYTE_IMM,
    ];
    let among = |rows: &[InstRow]| rows.iter().any(|other| (other.name, other.opcode) == (row.name, row.opcode));
    if among(&four) {
        Some((0x1234, 4))
    } else if among(&one) {
        Some((0, 1))
    } else {
        None
    }
}

/// All forms of a row at one size: register or opcode extension, second register, register or memory operand, mask, zeroing,
/// broadcast.
fn forms(row: InstRow, size: OperandSize) -> Vec<InstEncoding> {
    let mut forms = Vec::new();
    let places = [
        RmOperand::Register(2),
        RmOperand::Memory(2, None, 0),
        RmOperand::Memory(9, Some((12, 3)), 64),
        RmOperand::Memory(13, None, 0),
        RmOperand::Memory(4, None, -128),
        RmOperand::Memory(5, Some((6, 1)), 127),
        RmOperand::Memory(12, None, 128),
        RmOperand::Memory(0, None, -129),
        RmOperand::Lanes(19, None),
    ];
    let masks = [(None, false), (Some(1), false), (Some(1), true)];
    for (reg, second, rm) in combinations(&[0, 1, 2, 3, 4, 5, 6, 7], &[None, Some(1)], &places) {
        for (mask, zeroing) in match row.format {
            InstFormat::VexBlend => &masks[1..2],
            _ if row.is_evex() => &masks[..],
            _ => &masks[..1],
        } {
            for broadcast in [false, true] {
                if broadcast && (!row.is_evex() || !matches!(rm, RmOperand::Memory(..))) {
                    continue;
                }
                let encoding = InstEncoding::new(row, size, reg, rm);
                forms.push(InstEncoding {
                    second,
                    mask: *mask,
                    zeroing: *zeroing,
                    broadcast,
                    immediate: immediate(row),
                    ..encoding
                });
            }
        }
    }
    forms
}

fn combinations(regs: &[u8], seconds: &[Option<u8>], places: &[RmOperand]) -> Vec<(u8, Option<u8>, RmOperand)> {
    let pairs = regs.iter().flat_map(|&reg| seconds.iter().map(move |&second| (reg, second)));
    pairs.flat_map(|(reg, second)| places.iter().map(move |&rm| (reg, second, rm))).collect()
}

fn bytes_of(encoding: &InstEncoding) -> Vec<u8> {
    let mut bytes = Vec::new();
    encoding.write(&mut bytes);
    bytes
}

/// Names of the VEX forms of instructions that have another name as EVEX ones.
const OTHER_NAMES: [(&str, &str); 12] = [
    ("vpandd", "vpand"),
    ("vpandq", "vpand"),
    ("vpord", "vpor"),
    ("vporq", "vpor"),
    ("vpxord", "vpxor"),
    ("vpxorq", "vpxor"),
    ("vrndscaleps", "vroundps"),
    ("vrndscalepd", "vroundpd"),
    ("vrndscaless", "vroundss"),
    ("vrndscalesd", "vroundsd"),
    ("vextracti32x4", "vextracti128"),
    ("vinserti32x4", "vinserti128"),
];

fn is_vex(row: InstRow) -> bool {
    matches!(row.format, InstFormat::VexVector(_))
}

#[test]
fn rows_decode_to_their_names() {
    let mut wrong = Vec::new();
    let vex = table::ALL.iter().filter(|row| matches!(row.format, InstFormat::Either(..))).map(|row| row.as_vex());
    for row in table::ALL.iter().copied().chain(vex) {
        let sizes: &[OperandSize] = match row.format {
            InstFormat::Legacy if row.name == "setcc" => &[OperandSize::S8],
            InstFormat::Legacy => &[OperandSize::S32, OperandSize::S64],
            InstFormat::Vex(_) => &[OperandSize::X],
            InstFormat::VexVector(_) | InstFormat::VexBlend => &[OperandSize::X, OperandSize::Y],
            InstFormat::Evex(_) | InstFormat::Either(..) => &[OperandSize::X, OperandSize::Y, OperandSize::Z],
        };
        let mut texts = Vec::new();
        for &size in sizes {
            let exists = match row.format {
                InstFormat::Evex(lengths) | InstFormat::Either(lengths, _) | InstFormat::VexVector(lengths) => {
                    lengths.have(size)
                }
                InstFormat::Legacy | InstFormat::Vex(_) | InstFormat::VexBlend => true,
            };
            // Whether a length exists is decided by the decoder, whatever the table says.
            let lengths_ignored = match row.format {
                InstFormat::Evex(_) | InstFormat::Either(..) => {
                    InstRow { format: InstFormat::Evex(Lengths::All), ..row }
                }
                InstFormat::Legacy | InstFormat::Vex(_) | InstFormat::VexVector(_) | InstFormat::VexBlend => row,
            };
            let forms = forms(lengths_ignored, size);
            let found: Vec<_> = forms
                .iter()
                .map(|encoding| (encoding, bytes_of(encoding)))
                .filter(|(encoding, bytes)| oracle::compare(encoding, bytes).is_ok())
                .collect();
            if found.is_empty() == exists {
                wrong.push((row.name, vec![format!("{size:?}: exists: {}", !found.is_empty())]));
            }
            texts.extend(found.iter().map(|(_, bytes)| decoded(bytes)));
        }
        let called = |text: &String| {
            let mnemonic = text.split(' ').next().unwrap_or_default();
            mnemonic == row.name
                || is_vex(row) && OTHER_NAMES.contains(&(row.name, mnemonic))
                || text.trim_start_matches("lock ").starts_with(&format!("{} ", row.name))
        };
        // Opcode extensions and 64-bit operands select among several mnemonics.
        let alone = row.is_vector() && !row.has_digit() && row.name != "vpinsrd" && row.name != "vmovd";
        let named = if alone { texts.iter().all(called) } else { texts.iter().any(called) };
        if !named || texts.is_empty() {
            texts.retain(|text| !called(text));
            texts.truncate(3);
            wrong.push((row.name, texts));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn operands_decode_as_given() {
    let text = |encoding: InstEncoding| {
        let mut bytes = Vec::new();
        encoding.write(&mut bytes);
        decoded(&bytes)
    };
    let three = InstEncoding {
        second: Some(20),
        ..InstEncoding::new(table::VADDPS, OperandSize::Z, 9, RmOperand::Register(30))
    };
    assert_eq!(text(three), "vaddps zmm9,zmm20,zmm30");
    let masked = InstEncoding { mask: Some(3), zeroing: true, ..three };
    assert_eq!(text(masked), "vaddps zmm9{k3}{z},zmm20,zmm30");
    let memory = InstEncoding { rm: RmOperand::Memory(13, Some((12, 2)), -64), broadcast: true, ..three };
    assert_eq!(text(memory), "vaddps zmm9,zmm20,[r13+r12*4-40h]{1to16}");
    let lanes = InstEncoding {
        mask: Some(2),
        ..InstEncoding::new(table::VPGATHERQD, OperandSize::Z, 17, RmOperand::Lanes(26, None))
    };
    assert_eq!(text(lanes), "vpgatherqd ymm17{k2},[zmm26*1]");
    let indexed = |base: u8| InstEncoding { rm: RmOperand::Lanes(26, Some((base, 3))), ..lanes };
    assert_eq!(text(indexed(9)), "vpgatherqd ymm17{k2},[r9+zmm26*8]");
    assert_eq!(text(indexed(13)), "vpgatherqd ymm17{k2},[r13+zmm26*8]");
    assert_eq!(text(indexed(12)), "vpgatherqd ymm17{k2},[r12+zmm26*8]");
    let plain = InstEncoding::new(table::MOV, OperandSize::S64, 8, RmOperand::Memory(4, None, 0x40));
    assert_eq!(text(plain), "mov r8,[rsp+40h]");
    for (disp, expected, bytes) in
        [(0, "", 4), (127, "+7Fh", 4), (-128, "-80h", 4), (128, "+80h", 7), (-129, "-81h", 7)]
    {
        let encoding = InstEncoding { rm: RmOperand::Memory(13, None, disp), ..plain };
        assert_eq!(text(encoding).replace("+0]", "]"), format!("mov r8,[r13{expected}]"));
        assert_eq!(bytes_of(&encoding).len(), bytes, "a displacement of {disp}");
    }
    let byte = InstEncoding::new(table::MOV_BYTE_TO, OperandSize::S8, 6, RmOperand::Memory(5, None, 0));
    assert_eq!(text(byte), "mov [rbp],sil");
    let mask =
        InstEncoding { second: Some(2), ..InstEncoding::new(table::KANDNQ, OperandSize::X, 1, RmOperand::Register(7)) };
    assert_eq!(text(mask), "kandnq k1,k2,k7");
    let shift = InstEncoding {
        second: Some(9),
        ..InstEncoding::new(table::SHLX, OperandSize::S64, 8, RmOperand::Register(10))
    };
    assert_eq!(text(shift), "shlx r8,r10,r9");
}
