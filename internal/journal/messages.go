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
	Settings        = Message{"settings", atDebug, "settings: $given; pid $self"}
	WorkersLimit    = Message{"worker_limit", atWarn, "$doubt"}
	DoubtfulSetting = Message{"setting", atWarn, "$doubt"}
	NotAdopting     = Message{"cannot_adopt", atWarn,
		"cannot adopt orphans here, so what the worker leaves is neither waited for nor signalled: " +
			"$error"}
	Unguarded = Message{"cannot_guard", atWarn,
		"the worker will not be signalled if drainit is killed: $error"}
	Started  = Message{"started", atDebug, "started $worker"}
	NotReady = Message{"not_ready", atWarn,
		"not ready after $time: port $port of loopback does not accept"}
	ReadyAtLast  = Message{"ready", atInfo, "ready after $time"}
	quieted      = Message{"quiet", atInfo, "quiet: $signal to $these"}
	quietAlready = Message{"quiet", atInfo, "quiet: no new process handles $signal"}
	quietUnknown = Message{"quiet_no_effect", atWarn,
		"quiet has no effect: $signal was sent to no process, since which of them handle it is " +
			"unknown: $error"}
	quietNowhere = Message{"quiet_no_effect", atWarn,
		"quiet has no effect: $worker has no $signal handler and keeps taking work. If it uses " +
			"another signal for this: --rewrite TSTP:SIG"}
	Frozen = Message{"quiet_froze", atWarn,
		"$process stopped itself on SIGTSTP instead of becoming quiet, and was continued. If it uses " +
			"another signal for this: --rewrite TSTP:SIG"}
	running    = Message{"running", atInfo, "running again$to|$signal"}
	StillQuiet = Message{"still_quiet", atWarn,
		"still quiet: $process has no $signal handler and takes no work. If it uses another signal " +
			"for this: --rewrite CONT:SIG; else restart it"}
	WorkerPaused = Message{"worker_stopped", atWarn,
		"$worker is stopped (state T) and does no work; drainit did not stop it, and SIGCONT " +
			"continues it (kill -CONT $number)"}
	TerminalGone = Message{"terminal_gone", atInfo,
		"the terminal is gone: $request counts as $stop"}
	stopping   = Message{"stopping", atInfo, "stopping: $sent; $then|$signal$left_s$request"}
	stoppingOn = Message{"stopping", atInfo,
		"stopping on $request$sent; $then|$signal$left_s"}
	stoppingUnsent = Message{"stopping", atInfo,
		"stopping on $request, passed on to no process: the platform signals each itself ($setting); " +
			"$then|$left_s"}
	delayOver = Message{"delay_over", atInfo,
		"the stop delay is over$sent, $kill|$signal$left_s$request"}
	GraceStarts = Message{"stopping", atInfo,
		"$request: the grace period starts now, $kill|$left_s"}
	StopRepeated = Message{"stop_repeated", atInfo,
		"$request repeated within $time: treated as one request"}
	StopIgnored = Message{"stop_ignored", atInfo,
		"$request again: ignored, as --second-stop says; drainit stop --force kills what is left"}
	draining    = Message{"draining", atInfo, "draining, $remaining$kill|$left$left_s"}
	killing     = Message{"killing", atWarnLoses, "$why: killing $states$hint|$reason"}
	killLeaving = Message{"killing", atInfoLoses,
		"$worker $exit: killing $left, as --forward worker says|$as"}
	StillAlive = Message{"still_alive", atError,
		"leaving $time after SIGKILL, still alive: $states|$reason"}
	leftBehind = Message{"worker_exited", atWarn,
		"$worker $exit and left $left, $now$kill$hint|$left_s$reason"}
	daemonized = Message{"worker_exited", atInfo, "$worker $exit and runs on in $left|$reason"}
	Successor  = Message{"worker_exited", atDebug,
		"$worker $exit; $process is the worker now|$reason"}
	diedOf = Message{"worker_killed", atWarnLoses,
		"$worker was killed by $signal, which drainit did not send: $why|$reason$exit"}
	diedForwarded = Message{"worker_killed", atWarnLoses,
		"$worker died of $signal, which drainit forwarded$why. If the stop was meant: $setting; if " +
			"not: --rewrite $name:0|$reason$exit"}
	ended = Message{"ended", atInfo,
		"stopped$after: $how|$duration_s$reason$status$worker$killed$request"}
	endAsPlanned = Message{"ended", atDebug,
		"stopped$after: $how|$duration_s$reason$status$worker$killed$request"}
	ChildEnded = Message{"child_ended", atDebug, "ended: $process $end|$signal"}
	EndEarly   = Message{"ended", atInfo,
		"$request came before the start: the worker is not started|$as$status"}
	notStarted = Message{"ended", atError, "$error|$as$status"}
	Dropped    = Message{"signal_dropped", atDebug, "dropped $request: $why"}
	delivered  = Message{"signal_sent", atDebug, "sent $signal to $process: $rule"}
	Broadcast  = Message{"signal_sent", atWarn,
		"sent $signal to every process that is left, signalled before or not: $error"}
	signalledLate = Message{"signalled_late", atWarnLoses,
		"$signal to $these only now, $kill|$process$left_s"}
	refused = Message{"cannot_signal", atWarn,
		"cannot send $signal to $process: $error$hint"}
	NotKilled       = Message{"cannot_kill", atWarnLoses, "$error"}
	notSignalled    = Message{"not_signalled", atDebug, "not signalled: $these: $why|$process"}
	notSignalledYet = Message{"not_signalled", atInfo, "$process not signalled yet: $why"}
	undecided       = Message{"not_signalled", atInfo, "not signalled: $these: $why|$process"}
	LeftUnknown     = Message{"left_unknown", atWarn,
		"cannot tell what the worker left behind: $error"}
	WaitFailed  = Message{"cannot_wait", atError, "cannot wait for children: $error"}
	takenAsStop = Message{"stop_adopted", atWarn,
		"$request begins the stop, by $signal: no process handles it, and it would end them$dump " +
			"with their work. If the stop is meant: $setting, or --stop-signal $name --rewrite " +
			"$name:$to; if not: --rewrite $name:0"}
	noEffect = Message{"signal_no_effect", atWarn,
		"$request has no effect: no process handles it. If the platform means the stop by it: " +
			"$setting, or --stop-signal $name --rewrite $name:TERM"}
)

// Warn writes the lines of package diag, each once for what it is about.
func (j *Journal) Warn(lines ...diag.Line) {
	for _, l := range lines {
		j.OnceOf(l.Of, Message(l.Message), l.Args...)
	}
}
