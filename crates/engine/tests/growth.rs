//! Memory does not grow from request to request. A process of its own: neighbours would count.

use crate::common;

use common::{open, sink};
use recinto_engine::{Finish, Request, Stop};

/// What this process has of its own, in memory or in the swap.
fn own() -> u64 {
    let memory = recinto_os::memory::resident().unwrap();
    memory.anon + memory.swapped
}

#[test]
fn two_hundred_requests_of_three_hundred_tokens() {
    // SYS-09 of docs/cases.md, in full, on a tiny model.
    let model = open("qwen2-plain", 1);
    let ask = |number: u64| {
        let texts = ["¿Qué es un ñandú?", "Cuenta hasta diez, por favor", "hola", "¡Adiós, año!"];
        let mut request = Request::user(texts[number as usize % texts.len()]);
        request.options.max_tokens = 300;
        request.options.temperature = 1.0;
        request.options.seed = Some(number);
        for end in model.tokenizer().ends() {
            request.options.logit_bias.insert(*end, -1e9);
        }
        let reply = model.reply(&request, &Stop::never(), &mut sink()).unwrap();
        assert_eq!((&reply.finish, reply.usage.output_tokens), (&Finish::Length, 300));
    };
    (0..20).for_each(&ask);
    let warm = own();
    let mut most = 0;
    for number in 20..220 {
        ask(number);
        most = most.max(own());
    }
    let now = own();
    println!("own memory: {warm} bytes after 20 requests, {now} after 200 more, {most} at most");
    assert!(now < warm + warm / 100, "{warm} bytes after the warm-up, {now} at the end");
}
