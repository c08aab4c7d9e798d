package journal

import (
	"go.uber.org/zap/zapcore"

	"drainit/internal/diag"
)

// Message is one kind of line of the log.
type Message diag.Message

var (
	atDebug     = diag.Level{Level: zapcore.DebugLevel}
	atInfo      = diag.Level{Level: zapcore.InfoLevel}
	atWarn      = diag.Level{Level: zapcore.WarnLevel}
	atError     = diag.Level{Level: zapcore.ErrorLevel}
	atInfoLoses = diag.Level{Level: zapcore.InfoLevel, Loss: diag.Loses}
	atWarnLoses = diag.Level{Level: zapcore.WarnLevel, Loss: diag.Loses}
)

// All lines. The supervisor writes the exported ones by Say or Once. The others have a function of Journal.
// The last line of a run has event ended.
var (
	Settings        = Message{"settings", atDebug, "settings: %s; pid %d"}
	WorkersLimit    = Message{"worker_limit", atWarn, "%s"}
	DoubtfulSetting = Message{"setting", atWarn, "%s"}
	NotAdopting     = Message{"cannot_adopt", atWarn,
		"cannot adopt orphans here, so what the worker leaves is neither waited for nor signalled: %v"}
	Unguarded = Message{"cannot_guard", atWarn,
		"the worker will not be signalled if drainit is killed: %v"}
	Started      = Message{"started", atDebug, "started %v"}
	NotReady     = Message{"not_ready", atWarn, "not ready after %s: port %d of loopback does not accept"}
	ReadyAtLast  = Message{"ready", atInfo, "ready after %s"}
	quieted      = Message{"quiet", atInfo, "quiet: %v to %s"}
	quietAlready = Message{"quiet", atInfo, "quiet: no new process handles %v"}
	quietUnknown = Message{"quiet_no_effect", atWarn,
		"quiet has no effect: %v was sent to no process, since which of them handle it is unknown: %v"}
	quietNowhere = Message{"quiet_no_effect", atWarn,
		"quiet has no effect: %v has no %v handler and keeps taking work. If it uses another signal for " +
			"this: --rewrite TSTP:SIG"}
	Frozen = Message{"quiet_froze", atWarn,
		"%v stopped itself on SIGTSTP instead of becoming quiet, and was continued. If it uses another " +
			"signal for this: --rewrite TSTP:SIG"}
	running    = Message{"running", atInfo, "running again%s"}
	StillQuiet = Message{"still_quiet", atWarn,
		"still quiet: %v has no %v handler and takes no work. If it uses another signal for this: " +
			"--rewrite CONT:SIG; else restart it"}
	WorkerPaused = Message{"worker_stopped", atWarn,
		"%v is stopped (state T) and does no work; drainit did not stop it, and SIGCONT continues it (kill " +
			"-CONT %d)"}
	TerminalGone   = Message{"terminal_gone", atInfo, "the terminal is gone: %v counts as %v"}
	stopping       = Message{"stopping", atInfo, "stopping: %v; %v"}
	stoppingOn     = Message{"stopping", atInfo, "stopping on %v%v; %v"}
	stoppingUnsent = Message{"stopping", atInfo,
		"stopping on %v, passed on to no process: the platform signals each itself (%s); %v"}
	delayOver    = Message{"delay_over", atInfo, "the stop delay is over%v, %v"}
	GraceStarts  = Message{"stopping", atInfo, "%v: the grace period starts now, %v"}
	StopRepeated = Message{"stop_repeated", atInfo, "%v repeated within %v: treated as one request"}
	StopIgnored  = Message{"stop_ignored", atInfo,
		"%v again: ignored, as --second-stop says; drainit stop --force kills what is left"}
	draining    = Message{"draining", atInfo, "draining, %v%v"}
	killing     = Message{"killing", atWarnLoses, "%s: killing %v%s"}
	killLeaving = Message{"killing", atInfoLoses, "%v %s: killing %v, as --forward worker says"}
	stillAlive  = Message{"still_alive", atError, "leaving %v after SIGKILL, still alive: %v"}
	leftBehind  = Message{"worker_exited", atWarn, "%v %s and left %v, %v%s"}
	daemonized  = Message{"worker_exited", atInfo, "%v %s and runs on in %v"}
	Successor   = Message{"worker_exited", atDebug, "%v %s; %v is the worker now"}
	diedOf      = Message{"worker_killed", atWarnLoses,
		"%v was killed by %v, which drainit did not send: %s"}
	diedForwarded = Message{"worker_killed", atWarnLoses,
		"%v died of %v, which drainit forwarded%s. If the stop was meant: %s; if not: --rewrite %s:0"}
	ended        = Message{"ended", atInfo, "stopped%s: %s"}
	endAsPlanned = Message{"ended", atDebug, "stopped%s: %s"}
	ChildEnded   = Message{"child_ended", atDebug, "ended: %v %v"}
	endEarly     = Message{"ended", atInfo, "%v came before the start: the worker is not started"}
	notStarted   = Message{"ended", atError, "%s"}
	Dropped      = Message{"signal_dropped", atDebug, "dropped %v: %s"}
	delivered    = Message{"signal_sent", atDebug, "sent %v to %v: %s"}
	Broadcast    = Message{"signal_sent", atWarn,
		"sent %v to every process that is left, signalled before or not: %v"}
	signalledLate   = Message{"signalled_late", atWarnLoses, "%v to %v only now, %v"}
	refused         = Message{"cannot_signal", atWarn, "cannot send %v to %v: %v%s"}
	NotKilled       = Message{"cannot_kill", atWarnLoses, "%v"}
	notSignalled    = Message{"not_signalled", atDebug, "not signalled: %v: %s"}
	notSignalledYet = Message{"not_signalled", atInfo, "%v not signalled yet: %s"}
	undecided       = Message{"not_signalled", atInfo, "not signalled: %v: %s; %s"}
	LeftUnknown     = Message{"left_unknown", atWarn, "cannot tell what the worker left behind: %v"}
	WaitFailed      = Message{"cannot_wait", atError, "cannot wait for children: %v"}
	takenAsStop     = Message{"stop_adopted", atWarn,
		"%v begins the stop, by %v: no process handles it, and it would end them%s with their work. If the " +
			"stop is meant: %s, or --stop-signal %s --rewrite %s:%s; if not: --rewrite %s:0"}
	noEffect = Message{"signal_no_effect", atWarn,
		"%v has no effect: no process handles it. If the platform means the stop by it: %s, or " +
			"--stop-signal %s --rewrite %s:TERM"}
)

// Warn writes the lines of package diag, each once for what it is about.
func (j *Journal) Warn(lines ...diag.Line) {
	for _, l := range lines {
		j.OnceOf(l.Of, Message(l.Message), l.Args...)
	}
}
