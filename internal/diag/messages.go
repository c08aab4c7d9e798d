package diag

// The warnings. docs/messages.md is made from them, and those of package journal.
var (
	shellWorker = Message{"wrapped", "",
		"%v does not forward signals, so drainit sends the stop signal to %s itself%s"}
	launcherWorker = Message{"wrapped", "",
		"%v (%s) may not forward signals: drainit sends the stop signal to %s itself, if no other process " +
			"has%s"}
	wrappedAlone = Message{"wrapped", "",
		"%v may not forward signals, and with --forward worker drainit sends none to %s%s"}
	lacksHandler = Message{"no_handler", Loses,
		"%v has no %v handler: it died at once, whatever it was doing. Add a handler, or send the signal " +
			"that it drains on: --rewrite %s:%s"}
	mayLack = Message{"no_handler", MayLose,
		"%v %s at once: it may have no handler of its own, and then what it was doing is lost. Add " +
			"one, or send the signal that it drains on: --rewrite %s:%s"}
)
