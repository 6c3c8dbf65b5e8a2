use recinto_engine::*;
use std::{ops::ControlFlow, path::Path, time::Instant};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let t = Instant::now();
    let model = Model::open(Path::new(&args[1]), &OpenOptions::default()).unwrap_or_else(|e| {
        eprintln!("{e}");
        std::process::exit(4)
    });
    eprintln!("open {:?} {:?}", t.elapsed(), model.facts());
    let mut r = Request::user(args[2].clone());
    r.options.max_tokens = 64;
    use std::io::Write;
    let reply = model
        .reply(&r, &Stop::never(), &mut |p| {
            if let Piece::Text(t) = p {
                print!("{t}");
                std::io::stdout().flush().ok();
            }
            ControlFlow::Continue(())
        })
        .unwrap_or_else(|e| {
            eprintln!("{e}");
            std::process::exit(4)
        });
    println!();
    let u = reply.usage;
    let t = reply.times;
    eprintln!(
        "{:?} {:?} {:?}\nprefill {:.1} tok/s decode {:.1} tok/s",
        reply.finish,
        u,
        t,
        u.prompt_tokens as f64 / t.prefill_ms * 1e3,
        (u.output_tokens as f64 - 1.0) / t.decode_ms * 1e3
    );
}
