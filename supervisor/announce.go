package supervisor

import (
	"fmt"
	"os"
	"slices"
	"time"

	"go.uber.org/zap/zapcore"
	"golang.org/x/sys/unix"

	"drainit/internal/logx"
	"drainit/internal/phase"
	"drainit/internal/proc"
	"drainit/internal/signals"
	"drainit/reaper"
)

// announce writes the line of one action.
func (s *supervisor) announce(now time.Time, a Action) {
	name := signals.Name(a.Signal)
	switch a.Kind {
	case AnnounceDrain:
		advice := "the platform must wait longer (docker stop 10s, Kubernetes 30s by default)"
		if s.tty.exists() && s.stopSignal == unix.SIGINT {
			advice = "Ctrl-C again kills at once"
		}
		s.log.Info(fmt.Sprintf("draining, %s; %s", s.timeLeft(now), advice), s.phaseField(), logx.Text("signal", name), s.leftSeconds(now))
	case AnnounceExit:
		s.announceExit(now)
	case AnnounceStop:
		s.log.Info(fmt.Sprintf("%s: the grace starts now, %s", name, s.timeLeft(now)),
			s.phaseField(), logx.Text("signal", name), s.leftSeconds(now))
	case AnnounceSame:
		s.log.Info(fmt.Sprintf("%s within %v of the first stop signal, or of acting upon it, is the same request, no force-stop", name, sameRequest),
			s.phaseField(), logx.Text("signal", name))
	case AnnounceProgress:
		s.announceProgress(now)
	case AnnounceOver:
		s.announceKill(now, fmt.Sprintf("grace of %v over", s.graceGiven()))
	case AnnounceForce:
		s.announceKill(now, "second stop signal, force-stop")
	case AnnounceStuck:
		s.victims = "" // not all of them were
		left, err := s.left()
		if err != nil {
			s.log.Error(fmt.Sprintf("leaving %v after SIGKILL, and what is still alive can't be seen: %v", killingAtMost, err), s.phaseField())
			return
		}
		s.log.Error(fmt.Sprintf("leaving %v after SIGKILL, still alive: %s", killingAtMost, logx.List(left, logx.WithState)),
			s.phaseField(), logx.Number("left", len(left)))
	default:
		s.log.Error(fmt.Sprintf("no such action: %d", a.Kind)) // a bug, and no reason for PID 1 to end
	}
}

// announceExit names what a worker that exited by itself has left. What is
// dying with it, and only not reaped yet, is not worth a line.
func (s *supervisor) announceExit(now time.Time) {
	left, err := s.left()
	if err == nil && len(left) == 0 {
		return
	}
	s.loud = true
	fields := []zapcore.Field{s.phaseField(), logx.Number("pid", s.worker), logx.Text("comm", s.name)}
	what := "what /proc does not show"
	if err == nil {
		what = fmt.Sprintf("%s (%s)", logx.Processes(len(left)), logx.List(left, logx.Name))
		fields = append(fields, logx.Number("left", len(left)))
	}
	fields = append(fields, s.leftSeconds(now))
	s.log.Warn(fmt.Sprintf("%s %s and left %s, %s%s", s.workerLabel(), s.howExited(), what, s.timeLeft(now), s.forkingHint(left)), fields...)
}

// forkingHint is for a worker that has daemonized, it seems: what it left leads
// a session of its own.
func (s *supervisor) forkingHint(left []proc.Process) string {
	session := s.worker
	if s.tty.exists() {
		session, _ = unix.Getsid(0)
	}
	daemon := slices.ContainsFunc(left, func(p proc.Process) bool { return p.PPID == os.Getpid() && p.SID != session })
	if s.cfg.Forking || s.status != 0 || !daemon {
		return ""
	}
	return "; if it runs on in them, give drainit the flag --forking, or start it in the foreground"
}

func (s *supervisor) announceDaemonized(left []proc.Process) {
	s.log.Info(fmt.Sprintf("%s %s and runs on in %s (%s)", s.workerLabel(), s.howExited(), logx.Processes(len(left)), logx.List(left, logx.Name)),
		s.phaseField(), logx.Number("pid", s.worker), logx.Text("comm", s.name), logx.Number("left", len(left)))
}

func (s *supervisor) announceProgress(now time.Time) {
	left, err := s.left()
	if err != nil {
		s.log.Info("draining, "+s.timeLeft(now), s.phaseField(), s.leftSeconds(now))
		return
	}
	s.log.Info(fmt.Sprintf("draining, %s left (%s), %s", logx.Processes(len(left)), logx.List(left, logx.Name), s.timeLeft(now)),
		s.phaseField(), logx.Number("left", len(left)), s.leftSeconds(now))
}

// announceKill names each process that is about to be killed, for nobody can
// ask it afterwards.
func (s *supervisor) announceKill(now time.Time, why string) {
	s.report.killed(why, now)
	left, err := s.left()
	if err != nil {
		s.victims, s.killing = "what was left", true
		s.log.Warn(why+": killing everything that is left", s.phaseField())
		return
	}
	if len(left) == 0 { // what there is, is ending or hidden from us
		s.log.Warn(why+": killing what is left", s.phaseField(), logx.Number("left", 0))
		return
	}
	s.victims, s.killing = logx.List(left, logx.Name), true
	s.log.Warn(fmt.Sprintf("%s: killing %s", why, logx.List(left, logx.WithState)), s.phaseField(), logx.Number("left", len(left)))
}

// announceEnd is the last line: how long it took, what was killed. There is
// none where the worker ended by itself and left nothing.
func (s *supervisor) announceEnd() {
	since, what := s.ended, s.workerLabel()+" exited"
	at, asked := s.machine.Asked()
	if asked {
		since, what = at, signals.Name(s.stopSignal)
	}
	s.report.end(since, what, s.victims)
	if !asked && !s.loud {
		return
	}
	end := "done " + logx.Round(time.Since(since)) + " after " + what
	if s.gone {
		end += fmt.Sprintf(": %s %s", s.workerLabel(), s.howExited())
	}
	if s.victims != "" {
		end += "; killed " + s.victims
	}
	s.log.Info(end, s.phaseField(), logx.Number("status", s.ending()&0xff))
}

func (s *supervisor) announceQuiet(sig unix.Signal, caught, sent []proc.Process, err error) {
	name := signals.Name(sig)
	fields := []zapcore.Field{s.phaseField(), logx.Text("signal", name)}
	switch {
	case err != nil:
		s.log.Warn(fmt.Sprintf("quiet, but %s was sent to nobody, for who catches it is unknown: %v; the worker goes on fetching", name, err), fields...)
	case len(caught) == 0:
		s.log.Warn(fmt.Sprintf("quiet, but nobody catches %s, so the worker goes on fetching; if it has another signal for this, use --rewrite TSTP:USR1, say", name), fields...)
	case len(sent) == 0:
		s.log.Info(fmt.Sprintf("quiet: nobody new catches %s", name), fields...)
	default:
		s.log.Info(fmt.Sprintf("quiet: %s to %s", name, logx.List(sent, logx.Name)), fields...)
	}
}

func (s *supervisor) announceResume(sig unix.Signal, resumed []proc.Process) {
	msg := "running again"
	if len(resumed) > 0 {
		msg += fmt.Sprintf(": %s to %s", signals.Name(sig), logx.List(resumed, logx.Name))
	}
	s.log.Info(msg, s.phaseField(), logx.Text("signal", signals.Name(sig)))
}

func (s *supervisor) announceFrozen(p proc.Process) {
	s.log.Warn(logx.Name(p)+" stopped itself on SIGTSTP instead of becoming quiet, and was continued; if it has another signal for this, use --rewrite TSTP:USR1, say",
		s.phaseField(), logx.Number("pid", p.PID), logx.Text("comm", p.Comm))
}

// logTold is a line for each telling, with its rule.
func (s *supervisor) logTold(p proc.Process, sig unix.Signal, rule string) {
	if !s.log.Verbose() {
		return
	}
	s.log.Debug(fmt.Sprintf("told %s %s: %s", logx.Name(p), signals.Name(sig), rule),
		s.phaseField(), logx.Text("signal", signals.Name(sig)), logx.Number("pid", p.PID), logx.Text("comm", p.Comm))
}

// logDeath is for a worker that died of a signal which drainit did not send:
// the status alone would not tell that from a stop.
func (s *supervisor) logDeath(c reaper.Change) {
	if !c.Status.Signaled() || s.killing || s.sent.Has(c.Status.Signal()) || s.byTerminal(c.Status.Signal()) {
		return
	}
	why := "it came from the worker itself, or from outside"
	if c.Status.Signal() == unix.SIGKILL {
		why = "out of memory, or a kill from outside"
	}
	s.report.text = fmt.Sprintf("%s was killed by %s, which drainit did not send: %s", s.workerLabel(), signals.Name(c.Status.Signal()), why)
	s.log.Warn(s.report.text, logx.Text("signal", signals.Name(c.Status.Signal())), logx.Number("pid", c.PID), logx.Text("comm", s.name))
}

// byTerminal reports whether a signal is what people at a terminal end programs
// by, and what pipelines end by: they know.
func (s *supervisor) byTerminal(sig unix.Signal) bool {
	switch sig {
	case unix.SIGINT, unix.SIGQUIT, unix.SIGPIPE:
		return s.tty.exists()
	case unix.SIGHUP:
		return s.tty.gone()
	}
	return false
}

// logReaped is tini's -w: what became of an orphan. Its name went with it.
func (s *supervisor) logReaped(c reaper.Change) {
	if s.cfg.WarnReaped {
		s.log.Warn(fmt.Sprintf("reaped orphan %d, exit status %d", c.PID, c.ExitStatus()), logx.Number("pid", c.PID))
	}
}

func (s *supervisor) logSettings() {
	if !s.log.Verbose() {
		return
	}
	c := s.cfg
	parentDeath := "nothing"
	if c.ParentDeathSignal != 0 {
		parentDeath = signals.Name(c.ParentDeathSignal)
	}
	health := "off"
	if c.HealthAddr.Given() {
		health = c.HealthAddr.String()
	}
	report := "off"
	if c.TerminationLog != "" {
		report = c.TerminationLog
	}
	s.log.Debug(fmt.Sprintf("settings: grace %s, stop delay %v, also stopped by %v, rewrites [%v], forward %s, forking %v, exit statuses reported as 0 %v, sent %s when the parent dies, reaped orphans logged %v, health address %s, termination log %s, log level %v, log format %s, pid %d",
		graceText(c.Grace), c.StopDelay, signalNames(c.StopSignals), c.Rewrites, c.Mode, c.Forking, c.RemapExit, parentDeath, c.WarnReaped, health, report, s.log.Level(), s.log.Format(), os.Getpid()))
}

// left is what is alive below drainit.
func (s *supervisor) left() ([]proc.Process, error) {
	t, err := proc.ReadTree()
	if err != nil {
		return nil, err
	}
	return t.Below(os.Getpid()), nil
}

func (s *supervisor) phaseField() zapcore.Field {
	return logx.Text("phase", s.machine.Phase().String())
}

func (s *supervisor) workerLabel() string { return logx.Label(s.name, s.worker) }

func (s *supervisor) howExited() string {
	if s.status > 128 && s.signaled {
		return "died of " + signals.Name(unix.Signal(s.status-128))
	}
	return fmt.Sprintf("exited with status %d", s.status)
}

func (s *supervisor) timeLeft(now time.Time) string {
	if end, ok := s.machine.GraceEnd(); ok {
		return "SIGKILL in " + end.Sub(now).Round(100*time.Millisecond).String()
	}
	if s.machine.Phase() == phase.Killing {
		return "SIGKILL at once: the grace is 0"
	}
	return "no SIGKILL: the grace is infinite"
}

func (s *supervisor) leftSeconds(now time.Time) zapcore.Field {
	if end, ok := s.machine.GraceEnd(); ok {
		return logx.Seconds("left_s", end.Sub(now))
	}
	return zapcore.Field{Type: zapcore.SkipType}
}

// graceGiven is the grace that was over when the kill began.
func (s *supervisor) graceGiven() time.Duration {
	if _, asked := s.machine.Asked(); asked {
		return s.cfg.Grace
	}
	return min(s.cfg.Grace, crashGrace)
}

func graceText(d time.Duration) string {
	if d == Forever {
		return "infinity"
	}
	return d.String()
}

func signalNames(all []unix.Signal) []string {
	names := make([]string, len(all))
	for i, sig := range all {
		names[i] = signals.Name(sig)
	}
	return names
}
