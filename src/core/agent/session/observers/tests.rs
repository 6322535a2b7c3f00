use super::*;

#[derive(Default)]
struct Names(Mutex<Vec<String>>);

impl SessionObserver for Names {
    fn named(&self, id: &str, name: &str) {
        lock(&self.0).push(format!("{id}: {name}"));
    }
}

#[test]
fn an_observer_gets_names_until_it_is_dropped() {
    let observers = SessionObservers::default();
    let weak = |observer: &Arc<Names>| Arc::downgrade(observer) as Weak<dyn SessionObserver>;
    let (stays, leaves) = (Arc::new(Names::default()), Arc::new(Names::default()));
    observers.add(weak(&stays));
    observers.add(weak(&leaves));
    drop(leaves);
    observers.tell(|it| it.named("1", "a"));
    assert_eq!(*lock(&stays.0), ["1: a"]);
    assert_eq!(observers.ask(|_| ()).count(), 1);
}
