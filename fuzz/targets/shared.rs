//! What every target does with the tensors of a file that was opened.

use recinto_weights::File;

/// Finds each tensor by its name, and expands its first and its last block.
pub fn tensors(file: &File) {
    let mut values = Vec::new();
    for (index, info) in file.tensors().iter().enumerate() {
        assert_eq!(file.find(&info.name), Some(index));
        let tensor = file.tensor(index);
        assert_eq!(tensor.bytes.len(), info.bytes());
        let row = info.dtype.layout();
        values.resize(row.values, 0.0);
        let last = tensor.bytes.len() - row.bytes;
        for block in [&tensor.bytes[..row.bytes], &tensor.bytes[last..]] {
            recinto_quant::expand(info.dtype, block, &mut values).unwrap();
        }
    }
}
