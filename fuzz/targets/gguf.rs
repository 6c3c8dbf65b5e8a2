//! Any bytes as a GGUF file: opened and looked at everywhere, or refused.
#![no_main]

mod shared;

use libfuzzer_sys::fuzz_target;
use recinto_weights::{File, Value};

fuzz_target!(|bytes: &[u8]| {
    match File::from_bytes(bytes.to_vec()) {
        Ok(file) => walk(&file),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    // No file is a set of shards with itself.
    assert!(File::from_shards(vec![bytes.to_vec(); 2]).is_err());
});

fn walk(file: &File) {
    let shard = &file.shards()[0];
    let data = shard.data_range();
    assert!(data.start <= data.end && data.end == shard.bytes().len());
    let metadata = file.metadata();
    for (name, value) in metadata.iter() {
        assert!(metadata.get(name).is_some());
        // Every accessor, whether it fits or not.
        let _ = (metadata.u64(name), metadata.f64(name), metadata.bool(name), metadata.str(name));
        let _ = metadata.i32s(name).map(|values| values.map(|values| values.count()));
        let _ = metadata.f32s(name).map(|values| values.map(|values| values.count()));
        let _ = metadata.strings(name).map(|values| values.map(|values| values.count()));
        if let Value::Array(array) = value {
            let strings = array.strings().map(|strings| strings.map(|_| ()).count());
            let scalars = array.scalars().map(|scalars| scalars.count());
            assert!([strings, scalars].into_iter().flatten().all(|count| count == array.len()));
        }
    }
    shared::tensors(file);
}
