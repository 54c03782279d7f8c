//! Running a kernel in the interpreter.

use clift_jit::spirv::Imported;
use clift_kir::Space;
use clift_kir::interp::{
    Geometry, GroupLaunch, InterpOptions, Interpreter, Memory, NoObserver, PreparedModule, SimMemory, SimOptions,
    load_globals,
};

use crate::case::{Arg, Run};

/// Runs a kernel and compares its buffers.
pub(crate) fn run(imported: &Imported, run: &Run) -> Result<(), String> {
    let module = &imported.module;
    let number = imported.kernels.iter().position(|kernel| kernel.name == run.kernel);
    let number = number.ok_or_else(|| format!("no kernel `{}`", run.kernel))?;
    let (data, desc) = (&module.kernels[number], &imported.kernels[number]);
    if desc.args.len() != run.args.len() {
        return Err(format!("{} arguments for {} parameters", run.args.len(), desc.args.len()));
    }
    let mut memory = SimMemory::new(SimOptions::default());
    let text = |error: clift_kir::interp::InterpError| error.to_string();
    let globals = load_globals(module, &mut memory).map_err(text)?;
    let mut block = vec![0; data.arg_block_bytes as usize];
    let mut buffers = Vec::new();
    let local_bytes: u64 = run.args.iter().map(|arg| if let Arg::Local(size) = arg { *size } else { 0 }).sum();
    let local_base = memory.allocate(Space::Local, local_bytes, 128).map_err(text)?;
    let mut local_offset = 0u64;
    for (arg, info) in run.args.iter().zip(&desc.args) {
        let mut address = 0;
        let bytes = match arg {
            Arg::Buffer(bytes) => {
                address = memory.allocate(Space::Global, bytes.len() as u64, 128).map_err(text)?;
                memory.initialize(address, bytes).map_err(text)?;
                address.to_le_bytes().to_vec()
            }
            Arg::Value(bytes) => bytes.clone(),
            Arg::Local(size) => {
                let bytes = local_offset.to_le_bytes().to_vec();
                local_offset += size;
                bytes
            }
        };
        buffers.push(address);
        let (start, size) = (info.slot.offset as usize, info.slot.size as usize);
        if bytes.len() > size {
            return Err(format!("{} bytes for an argument of {size}", bytes.len()));
        }
        block[start..start + bytes.len()].copy_from_slice(&bytes);
    }
    let work_dim = 3 - run.global.iter().rev().take_while(|&&size| size == 1).count().min(2) as u32;
    let geometry = Geometry { work_dim, global_size: run.global, global_offset: run.offset, local_size: run.local };
    let launch = GroupLaunch { geometry, group: [0; 3], args: &block, local_base };
    let prepared = PreparedModule::new(module);
    let interpreter = Interpreter::new(module, &prepared);
    let options = InterpOptions { seed: 7, sub_group_size: run.sub_group, ..InterpOptions::default() };
    let outcome =
        interpreter.run_launch(data.func, &launch, &globals, &options, &mut memory, &mut NoObserver).map_err(text)?;
    if !outcome.is_clean() {
        return Err(format!("{outcome:?}"));
    }
    for expect in &run.expect {
        let found = memory.bytes(buffers[expect.arg]).unwrap_or_default();
        let size = expect.elem.bytes();
        for (index, wanted) in expect.bytes.chunks(size).enumerate() {
            let got = found.get(index * size..(index + 1) * size).unwrap_or_default();
            if got != wanted {
                let (got, wanted) = (expect.elem.show(got), expect.elem.show(wanted));
                return Err(format!("argument {} at {index}: {got} instead of {wanted}", expect.arg));
            }
        }
    }
    Ok(())
}
