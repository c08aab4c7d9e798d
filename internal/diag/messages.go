package diag

import "go.uber.org/zap/zapcore"

// Message is one kind of line of the log. Alerts rely on its event, a single word that several messages may
// share. Its text may change; the names in it stand for facts and arguments, as package journal has it.
// docs/messages.md is made from all messages: those of the warnings, here, and those of package journal.
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
		"drainit's parent $process is a shell that does not forward signals, so no stop signal " +
			"reaches drainit. Better: the exec form of ENTRYPOINT with drainit as its first word, or " +
			"exec where the script ends with drainit"}
	shellWorker = Message{"wrapped", atWarn,
		"$process does not forward signals, so drainit sends the stop signal to $these itself$better"}
	launcherWorker = Message{"wrapped", atWarn,
		"$process ($launcher) may not forward signals: drainit sends the stop signal to $these " +
			"itself, if no other process has$better"}
	wrappedAlone = Message{"wrapped", atWarn,
		"$process may not forward signals, and with --forward worker drainit sends none to " +
			"$these$better"}
	noMasks = Message{"kernel_tells_no_handlers", atInfo,
		"this kernel does not tell which signals a process handles: drainit signals the processes " +
			"below a living one only when the grace period is nearly over; --forward group signals " +
			"all at once"}
	signalsEach = Message{"signals_each", atWarn,
		"$process was sent $signal by another than drainit, as it was itself: the platform seems to " +
			"signal each process, so that each gets two. Write --forward none, or KillMode=mixed in " +
			"a systemd unit"}
	ignoring = Message{"ignores_signal", atWarn,
		"$process ignores $signal and works on, $kill|$left_s"}
	lacking = Message{"no_handler", atWarnLoses,
		"$process has no $signal handler: it died at once, whatever it was doing. Add a handler, or " +
			"send the signal that it drains on: --rewrite $from:$to"}
	mayLack = Message{"no_handler", atWarnMayLose,
		"$process $how at once: it may have no handler of its own, and then what it was doing is " +
			"lost. Add one, or send the signal that it drains on: --rewrite $from:$to|$signal"}
	endedAtOnce = Message{"no_handler", atDebugMayLose,
		"$process ended within 0.2s of $signal: it may have no handler of its own, and then what it " +
			"was doing is lost"}
	endedWithWorker = Message{"no_handler", atWarnMayLose,
		"$process ended within 0.2s of $signal: it may have no handler of its own, and then what it " +
			"was doing is lost"}
)
