//! The ELF file that describes functions to a debugger: symbols, source lines, and how to unwind their frames. The code itself
//! is not in it.

use gimli::constants::{
    DW_AT_high_pc, DW_AT_language, DW_AT_low_pc, DW_AT_name, DW_AT_producer, DW_LANG_OpenCL, DW_TAG_subprogram,
};
use gimli::write::{
    Address, AttributeValue, CallFrameInstruction, CommonInformationEntry, DwarfUnit, EndianVec, FrameDescriptionEntry,
    FrameTable, LineProgram, LineString, Sections,
};
use gimli::{Encoding, Format, LineEncoding, LittleEndian, SectionId, X86_64};
use object::elf;
use object::write::elf::{FileHeader, SectionHeader, Sym, Writer};

use super::{CodeSymbol, SOURCE_NAME};

/// `push rbp; mov rbp, rsp`, with which functions begin that have a frame.
pub(super) const PROLOGUE: [u8; 4] = [0x55, 0x48, 0x89, 0xe5];

const ENCODING: Encoding = Encoding { address_size: 8, format: Format::Dwarf32, version: 4 };

/// A section of debug information.
type Part = (&'static str, Vec<u8>);

/// The file. Functions are sorted by address.
pub(super) fn image(functions: &[CodeSymbol<'_>]) -> Option<Vec<u8>> {
    let mut parts = debug_information(functions)?;
    parts.push((SectionId::DebugFrame.name(), frames(functions)?));
    Some(elf_file(functions, &parts))
}

/// A compilation unit with the functions and their lines.
fn debug_information(functions: &[CodeSymbol<'_>]) -> Option<Vec<Part>> {
    let mut dwarf = DwarfUnit::new(ENCODING);
    let directory = || LineString::String(b".".to_vec());
    let source = LineString::String(SOURCE_NAME.as_bytes().to_vec());
    let mut lines = LineProgram::new(ENCODING, LineEncoding::default(), directory(), None, source.clone(), None);
    let file = lines.add_file(source, lines.default_directory(), None);
    for function in functions {
        lines.begin_sequence(Some(Address::Constant(function.start)));
        for (offset, line) in function.lines() {
            let row = lines.row();
            (row.address_offset, row.file, row.line, row.is_statement) = (offset, file, u64::from(line), true);
            lines.generate_row();
        }
        lines.end_sequence(function.len);
    }
    dwarf.unit.line_program = lines;
    let (first, last) = (functions.first()?, functions.last()?);
    let root = dwarf.unit.root();
    let unit = dwarf.unit.get_mut(root);
    unit.set(DW_AT_producer, AttributeValue::String(b"clift".to_vec()));
    unit.set(DW_AT_language, AttributeValue::Language(DW_LANG_OpenCL));
    unit.set(DW_AT_name, AttributeValue::String(SOURCE_NAME.into()));
    unit.set(DW_AT_low_pc, AttributeValue::Address(Address::Constant(first.start)));
    unit.set(DW_AT_high_pc, AttributeValue::Udata(last.start + last.len - first.start));
    for function in functions {
        let entry = dwarf.unit.add(root, DW_TAG_subprogram);
        let entry = dwarf.unit.get_mut(entry);
        entry.set(DW_AT_name, AttributeValue::String(function.kernel().into()));
        entry.set(DW_AT_low_pc, AttributeValue::Address(Address::Constant(function.start)));
        entry.set(DW_AT_high_pc, AttributeValue::Udata(function.len));
    }
    let mut sections = Sections::new(EndianVec::new(LittleEndian));
    dwarf.write(&mut sections).ok()?;
    let mut parts = Vec::new();
    let added: gimli::write::Result<()> = sections.for_each(|id, section| {
        if !section.slice().is_empty() {
            parts.push((id.name(), section.slice().to_vec()));
        }
        Ok(())
    });
    added.ok().map(|()| parts)
}

/// How to find the caller's frame: generated code has a frame pointer, or no frame.
fn frames(functions: &[CodeSymbol<'_>]) -> Option<Vec<u8>> {
    use CallFrameInstruction::{Cfa, CfaOffset, CfaRegister, Offset};
    let mut table = FrameTable::default();
    let mut common = CommonInformationEntry::new(ENCODING, 1, -8, X86_64::RA);
    common.add_instruction(Cfa(X86_64::RSP, 8));
    common.add_instruction(Offset(X86_64::RA, -8));
    let common = table.add_cie(common);
    for function in functions {
        let mut entry = FrameDescriptionEntry::new(Address::Constant(function.start), function.len.try_into().ok()?);
        if function.has_frame {
            entry.add_instruction(1, CfaOffset(16));
            entry.add_instruction(1, Offset(X86_64::RBP, -16));
            entry.add_instruction(PROLOGUE.len() as u32, CfaRegister(X86_64::RBP));
        }
        table.add_fde(common, entry);
    }
    let mut section = gimli::write::DebugFrame::from(EndianVec::new(LittleEndian));
    table.write_debug_frame(&mut section).ok()?;
    Some(section.0.into_vec())
}

fn elf_file(functions: &[CodeSymbol<'_>], parts: &[Part]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut writer = Writer::new(object::Endianness::Little, true, &mut file);
    writer.reserve_file_header();
    writer.reserve_null_section_index();
    let text_name = writer.add_section_name(b".text");
    let text = writer.reserve_section_index();
    let places: Vec<_> = parts
        .iter()
        .map(|(name, bytes)| {
            let name = writer.add_section_name(name.as_bytes());
            writer.reserve_section_index();
            (name, writer.reserve(bytes.len(), 1))
        })
        .collect();
    writer.reserve_symtab_section_index();
    writer.reserve_strtab_section_index();
    writer.reserve_shstrtab_section_index();
    writer.reserve_null_symbol_index();
    let names: Vec<_> = functions
        .iter()
        .map(|function| {
            writer.reserve_symbol_index(Some(text));
            writer.add_string(function.kernel().as_bytes())
        })
        .collect();
    writer.reserve_symtab();
    writer.reserve_strtab();
    writer.reserve_shstrtab();
    writer.reserve_section_headers();

    let header = FileHeader {
        os_abi: 0,
        abi_version: 0,
        e_type: elf::ET_EXEC,
        e_machine: elf::EM_X86_64,
        e_entry: 0,
        e_flags: 0,
    };
    // Fails only if the buffer cannot grow.
    let _ = writer.write_file_header(&header);
    for (_, bytes) in parts {
        writer.write(bytes);
    }
    writer.write_null_symbol();
    for (function, name) in functions.iter().zip(names) {
        writer.write_symbol(&Sym {
            name: Some(name),
            section: Some(text),
            st_info: (elf::STB_GLOBAL << 4) | elf::STT_FUNC,
            st_other: 0,
            st_shndx: 0,
            st_value: function.start,
            st_size: function.len,
        });
    }
    writer.write_strtab();
    writer.write_shstrtab();
    writer.write_null_section_header();
    let (first, last) = (functions[0], functions[functions.len() - 1]);
    let section = SectionHeader {
        name: None,
        sh_type: elf::SHT_PROGBITS,
        sh_flags: 0,
        sh_addr: 0,
        sh_offset: 0,
        sh_size: 0,
        sh_link: 0,
        sh_info: 0,
        sh_addralign: 1,
        sh_entsize: 0,
    };
    writer.write_section_header(&SectionHeader {
        name: Some(text_name),
        // The code is in memory, not in the file.
        sh_type: elf::SHT_NOBITS,
        sh_flags: u64::from(elf::SHF_ALLOC | elf::SHF_EXECINSTR),
        sh_addr: first.start,
        sh_size: last.start + last.len - first.start,
        ..section.clone()
    });
    for ((_, bytes), (name, offset)) in parts.iter().zip(places) {
        writer.write_section_header(&SectionHeader {
            name: Some(name),
            sh_offset: offset as u64,
            sh_size: bytes.len() as u64,
            ..section.clone()
        });
    }
    // The null symbol is the only local one.
    writer.write_symtab_section_header(1);
    writer.write_strtab_section_header();
    writer.write_shstrtab_section_header();
    file
}
