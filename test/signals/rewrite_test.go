package signals

import (
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

func TestRewriteDeliversOneSignalInPlaceOfAnother(t *testing.T) {
	harness.Usual(t)
	for rule, tc := range map[string]struct {
		send syscall.Signal
		want string
	}{
		"USR1:USR2":          {unix.SIGUSR1, "got SIGUSR2"},
		"SIGHUP:SIGQUIT":     {unix.SIGHUP, "got SIGQUIT"},
		"usr1:sigusr2":       {unix.SIGUSR1, "got SIGUSR2"},
		"10:12":              {unix.SIGUSR1, "got SIGUSR2"},
		"37:WINCH":           {37, "got SIGWINCH"},
		"RTMIN+3:USR1":       {37, "got SIGUSR1"},
		"USR1:RTMIN+30":      {unix.SIGUSR1, "got SIGRTMIN+30"},
		"SIGRTMAX-1:RTMAX":   {63, "got SIGRTMIN+30"},
		"QUIT:TERM":          {unix.SIGQUIT, "got SIGTERM"},
		"WINCH:CONT":         {unix.SIGWINCH, "got SIGCONT"},
		"USR2:TSTP":          {unix.SIGUSR2, "got SIGTSTP"},
		"POLL:SEGV":          {unix.SIGIO, "got SIGSEGV"},
		"USR1:USR1":          {unix.SIGUSR1, "got SIGUSR1"},
		"USR1:HUP,HUP:ALRM":  {unix.SIGUSR1, "got SIGHUP"}, // not rewritten twice
		"USR1:0,USR1:HUP":    {unix.SIGUSR1, "got SIGHUP"}, // the last one counts
		"WINCH:0,USR1:WINCH": {unix.SIGUSR1, "got SIGWINCH"},
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			p := harness.Start(t, append(rewrites(rule), "--", harness.WorkerBin, "listen", "-catch", "all", "-end", "INT", "-exit", "7")...)
			p.WaitOut(`^ready`)
			p.Signal(tc.send)
			p.WaitOut(`^` + strings.ReplaceAll(tc.want, "+", `\+`) + `$`)
			p.Signal(unix.SIGINT)
			p.WantExit(7)
			p.WantGots(tc.want, "got SIGINT")
		})
	}
}

// rewrites makes a flag of each rule.
func rewrites(rules string) (flags []string) {
	for rule := range strings.SplitSeq(rules, ",") {
		flags = append(flags, "--rewrite", rule)
	}
	return flags
}

func TestRewriteToNothingDropsTheSignal(t *testing.T) {
	forEach(t, []string{"USR1", "HUP", "QUIT", "TTIN", "CONT", "44"}, func(t *testing.T, sig string, noPID1 bool) {
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: []string{"-r", sig + ":0", "--", harness.WorkerBin, "listen", "-catch", "all", "-exit", "7"}})
		p.WaitOut(`^ready`)
		p.Signal(numberOf(sig))
		p.Signal(unix.SIGUSR2)
		p.WaitOut(`^got SIGUSR2`)
		wantStop(p, 7, "got SIGUSR2", "got SIGTERM")
	})
}

func numberOf(name string) syscall.Signal {
	if name == "44" {
		return 44
	}
	return unix.SignalNum("SIG" + name)
}

// drop sends a signal that drainit drops, as its log says at -v.
func drop(p *harness.Init, sig syscall.Signal) {
	p.T.Helper()
	p.Signal(sig)
	p.WaitErr(`dropped ` + unix.SignalName(sig))
}

// whileDropping runs a test with a PerlTree, whose first process is "a", below a drainit
// that drops a signal.
func whileDropping(t *testing.T, sig, tree string, test func(t *testing.T, p *harness.Init)) {
	t.Helper()
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		t.Parallel()
		test(t, harness.StartTree(t, harness.Launch{NoPID1: noPID1, Args: []string{"-v", "-r", sig + ":0"}}, tree, "a"))
	})
}

// A dropped stop signal begins nothing: the other one is the first, and tells
// the worker; it would be a force-stop, or the same request, if it were not.
func TestDroppedStopSignalHasNotCome(t *testing.T) {
	for dropped, stop := range map[syscall.Signal]syscall.Signal{unix.SIGTERM: unix.SIGINT, unix.SIGINT: unix.SIGTERM} {
		t.Run(unix.SignalName(dropped), func(t *testing.T) {
			harness.BothModes(t, func(t *testing.T, noPID1 bool) {
				t.Parallel()
				p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: []string{"-v", "-r", unix.SignalName(dropped) + ":0",
					"--", harness.WorkerBin, "listen", "-catch", "TERM,INT,USR1", "-end", "TERM,INT", "-exit", "7"}})
				p.WaitOut(`^ready`)
				drop(p, dropped)
				p.Signal(unix.SIGUSR1)
				p.WaitOut(`^got SIGUSR1`)
				p.Signal(stop)
				p.WantExit(7)
				p.WantGots("got SIGUSR1", "got "+unix.SignalName(stop))
				if strings.Contains(p.Err(), "treated as one request") {
					t.Errorf("the dropped signal counted:\n%s", p.Err())
				}
			})
		})
	}
}

// Nor does one that comes in a drain: it does not force the stop.
func TestDroppedStopSignalForcesNothing(t *testing.T) {
	whileDropping(t, "INT", "a[TERM,INT,USR1=7]", func(t *testing.T, p *harness.Init) {
		passTo(p, unix.SIGTERM, "a")
		drop(p, unix.SIGINT)
		p.Signal(unix.SIGUSR1)
		p.WantExit(7)
		p.WantGots("a got TERM", "a got USR1")
	})
}

func TestDroppedTstpHasNotCome(t *testing.T) {
	whileDropping(t, "TSTP", "a[TSTP,CONT,TERM=7]", func(t *testing.T, p *harness.Init) {
		drop(p, unix.SIGTSTP)
		p.Signal(unix.SIGCONT) // in running it passes on
		p.WaitOut(`^a got CONT`)
		wantStop(p, 7, "a got CONT", "a got TERM")
		if strings.Contains(p.Err(), `"quiet`) {
			t.Errorf("a dropped TSTP made it quiet:\n%s", p.Err())
		}
	})
}

// While a dropped CONT has not come drainit stays quiet, and no process gets a
// second TSTP.
func TestDroppedContDoesNotResume(t *testing.T) {
	whileDropping(t, "CONT", "a[TSTP,CONT,USR1,TERM=7]", func(t *testing.T, p *harness.Init) {
		passTo(p, unix.SIGTSTP, "a")
		drop(p, unix.SIGCONT)
		p.Signal(unix.SIGTSTP)
		passTo(p, unix.SIGUSR1, "a")
		wantStop(p, 7, "a got TSTP", "a got USR1", "a got TERM")
	})
}

// The phases go by the signal that came: TERM stops whatever is delivered in
// its place, and a QUIT that comes by itself does not.
func TestRewrittenTermIsAStopSignal(t *testing.T) {
	forEach(t, forwardModes, func(t *testing.T, mode string, noPID1 bool) {
		p := harness.StartTree(t, harness.Launch{NoPID1: noPID1, Args: []string{"--forward", mode, "-r", "TERM:QUIT", "-r", "USR1:TERM"}},
			"a[QUIT,TERM,USR2=7]", "a")
		for n, sig := range []syscall.Signal{unix.SIGQUIT, unix.SIGUSR1, unix.SIGTERM} {
			if strings.Contains(p.Err(), "draining") {
				t.Errorf("not TERM, and yet:\n%s", p.Err())
			}
			p.Signal(sig)
			harness.WaitUntil(t, "the worker got it", func() bool { return len(harness.Gots(p.Out())) == n+1 })
		}
		p.WaitErr(`stopping.*"SIGTERM"`)
		p.Signal(unix.SIGUSR2)
		p.WantExit(7)
		p.WantGots("a got QUIT", "a got QUIT", "a got TERM", "a got USR2")
	})
}

func TestRewrittenTstpQuiets(t *testing.T) {
	for _, tc := range []treeCase{
		{"the worker", "a[TSTP,CONT,USR1](b[USR1])", "a b", []string{"a got USR1", "a got CONT"}},
		{"below", "a(b[CONT,USR1] c[TSTP])", "a b c", []string{"b got USR1", "b got CONT"}},
		{"no process", "a(b[TSTP])", "a b", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			harness.BothModes(t, func(t *testing.T, noPID1 bool) {
				t.Parallel()
				p := harness.StartTree(t, harness.Launch{NoPID1: noPID1, Args: []string{"-r", "TSTP:USR1"}}, tc.tree, tc.ready)
				p.Signal(unix.SIGTSTP)
				line := p.WaitErr(`.*quiet.*`)[0]
				if none := strings.Contains(line, "quiet has no effect"); none != (tc.want == nil) || !strings.Contains(line, "SIGUSR1") {
					t.Errorf("it says %s", line)
				}
				p.Signal(unix.SIGTSTP)
				p.WaitErr(`(?s)"msg":"quiet.*"msg":"quiet`)
				p.Signal(unix.SIGCONT)
				p.WaitErr(`running again`)
				for _, line := range tc.want {
					p.WaitOut(`^` + line)
				}
				wantStop(p, 143, tc.want...)
			})
		})
	}
}

// TSTP in place of another signal stops those that do not handle it just as well.
func TestRewriteToTstpFreezesNoProcess(t *testing.T) {
	forEach(t, []string{"USR1", "HUP"}, func(t *testing.T, from string, noPID1 bool) {
		p := harness.StartTree(t, harness.OnTerminal(t, harness.Launch{NoPID1: noPID1, Args: []string{"-r", from + ":TSTP"}}), "a[USR2](b[pgrp])", "a b")
		p.Signal(numberOf(from))
		passTo(p, unix.SIGUSR2, "a")
		p.WantNotStopped()
		p.Signal(unix.SIGTERM)
		p.WantExit(143)
	})
}
