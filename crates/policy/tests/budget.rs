//! Budgets: exact to a token, a thousandth of a second and a millionth of a currency, from any
//! number of threads.

use std::time::Duration;

use recinto_policy::{Budget, Exhausted, Limits, Money, Prices, Scope, Usage, tree};

fn limits(text: &str) -> Limits {
    Limits::read(&tree::parse(text, |_| false).unwrap()).unwrap_or_else(|f| panic!("{f:?}"))
}

fn prices(text: &str) -> Prices {
    Prices::read(&tree::parse(text, |_| false).unwrap()).unwrap_or_else(|f| panic!("{f:?}"))
}

const PRICES: &str = "\
currency = \"EUR\"
\"anthropic/claude\" = { input = 3, output = 15.5 }
\"openai/gpt\" = { input = 0.05, output = 0.000001 }
";

fn usage(input: u64, output: u64, millis: u64) -> Usage {
    Usage { input, output, time: Duration::from_millis(millis) }
}

fn money(text: &str) -> Money {
    text.parse().unwrap()
}

#[test]
fn ceilings() {
    let budget = |text: &str| Budget::new(limits(text), prices(PRICES));
    let take = |budget: &Budget, who: &str, what: Usage| {
        budget.reserve(who, "anthropic", "claude", &what).map(|taken| taken.settle(&what))
    };
    // To the last token.
    let tokens = budget("tokens = 100\n[identity]\ntokens = 60\n");
    take(&tokens, "ana", usage(40, 20, 0)).unwrap();
    let error = take(&tokens, "ana", usage(1, 0, 0)).unwrap_err();
    assert_eq!(error, Exhausted::Tokens { scope: Scope::Identity, limit: 60, left: 0 });
    take(&tokens, "íñigo", usage(40, 0, 0)).unwrap();
    let error = take(&tokens, "íñigo", usage(0, 1, 0)).unwrap_err();
    assert_eq!(error, Exhausted::Tokens { scope: Scope::Process, limit: 100, left: 0 });
    assert_eq!(tokens.tokens(), 100);
    // To the last millionth: 1 000 tokens in and 1 000 out cost 0.0185.
    let cents = budget("money = \"0.0185 EUR\"");
    take(&cents, "", usage(1000, 999, 0)).unwrap();
    assert_eq!(cents.money(), Some(money("0.018485 EUR")), "0.0184845, rounded up to a millionth");
    let error = take(&cents, "", usage(0, 2, 0)).unwrap_err();
    let left = money("0.000015 EUR");
    let limit = money("0.0185 EUR");
    assert_eq!(error, Exhausted::Money { scope: Scope::Process, limit, left });
    take(&cents, "", usage(0, 1, 0)).unwrap();
    assert_eq!(cents.money(), Some(limit), "no token was rounded");
    // A price that is far below a millionth for one token adds up, too.
    let small = budget("money = \"0.000001 EUR\"");
    for _ in 0..10 {
        let one = usage(2, 0, 0);
        small.reserve("", "openai", "gpt", &one).unwrap().settle(&one);
    }
    assert!(small.reserve("", "openai", "gpt", &usage(0, 1, 0)).is_err());
    // To the last thousandth of a second.
    let seconds = budget("seconds = 1.5");
    take(&seconds, "", usage(0, 0, 1499)).unwrap();
    let error = take(&seconds, "", usage(0, 0, 2)).unwrap_err();
    let (limit, left) = (Duration::from_millis(1500), Duration::from_millis(1));
    assert_eq!(error, Exhausted::Seconds { scope: Scope::Process, limit, left });
    let started = Usage { time: Duration::from_nanos(1), ..Usage::default() };
    seconds.reserve("", "local", "x", &started).unwrap().settle(&started);
    assert_eq!(seconds.time(), limit, "a started thousandth counts");
    // Without a ceiling, and beyond all numbers.
    let open = budget("");
    let most = Usage { input: u64::MAX, output: u64::MAX, time: Duration::MAX };
    (0..5).for_each(|_| take(&open, "", most).unwrap());
    assert_eq!((open.tokens(), open.money()), (u64::MAX, None));
    let cents = budget("money = \"18446744073709.551615 EUR\"");
    assert!(matches!(take(&cents, "", most), Err(Exhausted::Money { .. })));
}

#[test]
fn what_became_of_a_reservation() {
    let budget = Budget::new(limits("tokens = 100"), Prices::default());
    let take = |n| budget.reserve("", "local", "m", &usage(n, 0, 0));
    take(80).unwrap().settle(&usage(10, 0, 0));
    assert_eq!(budget.tokens(), 10, "less was used");
    take(80).unwrap().release();
    assert_eq!(budget.tokens(), 10, "nothing was sent");
    drop(take(30).unwrap());
    assert_eq!(budget.tokens(), 40, "nobody knows: it stays used");
    let held = take(60).unwrap();
    assert!(take(1).is_err(), "what is reserved is not there for others");
    held.settle(&usage(90, 0, 0));
    assert_eq!(budget.tokens(), 130, "more was used");
    assert_eq!(
        take(0).err(),
        Some(Exhausted::Tokens { scope: Scope::Process, limit: 100, left: 0 }),
    );
}

#[test]
fn a_price_that_is_missing_is_not_zero() {
    let reserve = |limit: &str, provider: &str, model: &str| {
        let budget = Budget::new(limits(limit), prices(PRICES));
        budget.reserve("", provider, model, &usage(1, 1, 1)).map(drop)
    };
    for limit in ["money = \"5 EUR\"", "identity = { money = \"5 EUR\" }"] {
        assert_eq!(reserve(limit, "anthropic", "claude"), Ok(()));
        assert_eq!(reserve(limit, "local", "qwen3:0.6b"), Ok(()), "nobody bills");
        for (provider, model) in
            [("anthropic", "claude-2"), ("openai", "claude"), ("gemini", "x"), ("anthropic", "")]
        {
            let want = Exhausted::NoPrice { provider: provider.into(), model: model.into() };
            assert_eq!(reserve(limit, provider, model), Err(want.clone()));
            assert!(want.to_string().contains("[prices]"), "{want}");
        }
    }
    assert_eq!(reserve("tokens = 9", "gemini", "x"), Ok(()), "no money is limited");
    let usd = reserve("money = \"5 USD\"", "anthropic", "claude").unwrap_err();
    assert!(matches!(usd, Exhausted::Currency { .. }), "{usd}");
    let two = "money = \"5 EUR\"\nidentity = { money = \"5 USD\" }";
    assert!(matches!(reserve(two, "anthropic", "claude"), Err(Exhausted::Currency { .. })));
}

#[test]
fn threads_share_it_exactly() {
    const EACH: u64 = 3;
    let budget =
        Budget::new(limits("tokens = 1000\nidentity = { tokens = 700 }"), Prices::default());
    let taken: u64 = std::thread::scope(|scope| {
        let work = |who: &'static str| {
            let budget = &budget;
            scope.spawn(move || {
                let one = usage(EACH, 0, 0);
                let tries = (0..1000).filter(|n| match budget.reserve(who, "local", "m", &one) {
                    Ok(taken) if n % 3 == 0 => {
                        taken.release();
                        false
                    }
                    Ok(taken) => {
                        taken.settle(&one);
                        true
                    }
                    Err(_) => false,
                });
                tries.count() as u64
            })
        };
        let threads = [work("ana"), work("ana"), work("íñigo"), work("íñigo")];
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(budget.tokens(), taken * EACH);
    assert!(budget.tokens() <= 1000 && budget.tokens() > 1000 - 4 * EACH, "{}", budget.tokens());
}

#[test]
fn tables_that_cannot_be() {
    let cases = [
        ("tokens = -1", "a whole number is needed"),
        ("tokens = 1.5", "a whole number is needed"),
        ("tokens = '5'", "a number is needed"),
        ("tokens = inf", "a whole number is needed"),
        ("tokens = 99999999999999999999", "a whole number is needed"),
        ("seconds = 0.0001", "to the thousandth"),
        ("seconds = 1e3", "to the thousandth"),
        ("seconds = true", "to the thousandth"),
        ("money = 5", "an amount is needed"),
        ("money = '5'", "an amount is needed"),
        ("money = '5 €'", "three capital letters"),
        ("euros = 5", "unknown word `euros`"),
        ("identity = 5", "a table is needed"),
        ("[identity]\nidentity = 5", "unknown word `identity`"),
    ];
    for (text, part) in cases {
        let fault = Limits::read(&tree::parse(text, |_| false).unwrap()).expect_err(text);
        assert!(fault.what.contains(part), "{text}: {fault:?}");
    }
    let cases = [
        ("'anthropic/x' = { input = 1, output = 1 }", "prices without a `currency`"),
        ("currency = 'EUR'\nanthropic = { input = 1, output = 1 }", "unknown word `anthropic`"),
        ("currency = 'EUR'\n'año/x' = { input = 1, output = 1 }", "unknown provider `año`"),
        ("currency = 'EUR'\n'local/x' = { input = 1, output = 1 }", "nobody bills"),
        ("currency = 'EUR'\n'openai/*' = { input = 1, output = 1 }", "a whole name of a model"),
        ("currency = 'EUR'\n'openai/x' = { input = 1 }", "a price is needed"),
        ("currency = 'EUR'\n'openai/x' = { input = -1, output = 1 }", "a price is needed"),
        ("currency = 'EUR'\n'openai/x' = { input = nan, output = 1 }", "a price is needed"),
        ("currency = 'EUR'\n'openai/x' = { input = 1e-7, output = 1 }", "a price is needed"),
        ("currency = 'EUR'\n'openai/x' = 3", "a price is needed"),
        ("currency = 'euro'", "three capital letters"),
    ];
    for (text, part) in cases {
        let fault = Prices::read(&tree::parse(text, |_| false).unwrap()).expect_err(text);
        assert!(fault.what.contains(part), "{text}: {fault:?}");
    }
}

#[test]
fn files_together_are_the_careful_one() {
    let one = limits("tokens = 5\nmoney = \"2 EUR\"\nidentity = { seconds = 3 }");
    let two = limits("tokens = 9\nmoney = \"1 EUR\"\nseconds = 7\nidentity = { seconds = 2 }");
    let both = one.and(&two).unwrap();
    let want = "tokens = 5\nmoney = \"1 EUR\"\nseconds = 7\nidentity = { seconds = 2 }";
    assert_eq!((both, two.and(&one).unwrap()), (limits(want), limits(want)));
    assert!(one.and(&limits("money = \"1 USD\"")).is_err());
    let cheap = prices("currency = \"EUR\"\n\"anthropic/claude\" = { input = 0, output = 99 }");
    let both = prices(PRICES).and(&cheap).unwrap();
    assert_eq!(both, cheap.and(&prices(PRICES)).unwrap());
    let (price, _) = both.of("anthropic", "claude").unwrap();
    assert_eq!((price.input, price.output), (3_000_000, 99_000_000), "the dearer of each");
    assert!(prices("currency = \"USD\"").and(&cheap).is_err());
    assert_eq!(Prices::default().and(&cheap).unwrap(), cheap);
}
