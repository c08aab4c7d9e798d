package diag

import "go.uber.org/zap/zapcore"

// Message is one kind of line of the log. Alerts rely on its event, a single word that several messages may
// share. Its text, a format of printf, may change. docs/messages.md is made from all messages: those of the
// warnings are here, and the others in package journal.
type Message struct {
	Event string
	Level
	Text string
}

// Level is the level of a line, and whether the line says that work was lost.
type Level struct {
	zapcore.Level
	Loss
}

// Loss says that work was lost, or may be. It is "" where it was not.
type Loss string

// The losses. With MayLose, none was if a check has found the work done.
const (
	Loses   Loss = "yes"
	MayLose Loss = "maybe"
)

var (
	atDebugMayLose = Level{zapcore.DebugLevel, MayLose}
	atInfo         = Level{Level: zapcore.InfoLevel}
	atWarn         = Level{Level: zapcore.WarnLevel}
	atWarnMayLose  = Level{zapcore.WarnLevel, MayLose}
	atWarnLoses    = Level{zapcore.WarnLevel, Loses}
)

var (
	unreachable = Message{"unreachable", atWarn,
		"drainit's parent %v is a shell that does not forward signals, so no stop signal reaches drainit. " +
			"Better: the exec form of ENTRYPOINT with drainit as its first word, or exec where the script " +
			"ends with drainit"}
	shellWorker = Message{"wrapped", atWarn,
		"%v does not forward signals, so drainit sends the stop signal to %s itself%s"}
	launcherWorker = Message{"wrapped", atWarn,
		"%v (%s) may not forward signals: drainit sends the stop signal to %s itself, if no other process " +
			"has%s"}
	wrappedAlone = Message{"wrapped", atWarn,
		"%v may not forward signals, and with --forward worker drainit sends none to %s%s"}
	noMasks = Message{"kernel_tells_no_handlers", atInfo,
		"this kernel does not tell which signals a process handles: drainit signals the processes below a " +
			"living one only when the grace period is nearly over; --forward group signals all at once"}
	signalsEach = Message{"signals_each", atWarn,
		"%v was sent %v by another than drainit, as it was itself: the platform seems to signal each " +
			"process, so that each gets two. Write --forward none, or KillMode=mixed in a systemd unit"}
	ignoring = Message{"ignores_signal", atWarn, "%v ignores %v and works on, %v"}
	lacking  = Message{"no_handler", atWarnLoses,
		"%v has no %v handler: it died at once, whatever it was doing. Add a handler, or send the signal " +
			"that it drains on: --rewrite %s:%s"}
	mayLack = Message{"no_handler", atWarnMayLose,
		"%v %s at once: it may have no handler of its own, and then what it was doing is lost. Add one, or " +
			"send the signal that it drains on: --rewrite %s:%s"}
	endedAtOnce = Message{"no_handler", atDebugMayLose,
		"%v ended within 0.2s of %v: it may have no handler of its own, and then what it was doing is lost"}
	endedWithWorker = Message{"no_handler", atWarnMayLose,
		"%v ended within 0.2s of %v: it may have no handler of its own, and then what it was doing is lost"}
)
