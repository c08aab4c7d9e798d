package signals

import (
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// Docker's seccomp profile of some versions allows pidfd_open(2) and answers
// pidfd_send_signal(2) with EPERM, as old ones of other engines do. A quiet reaches a process
// that is not drainit's child all the same.
func TestQuietWithoutPidfdSendSignal(t *testing.T) {
	harness.Need(t, "perl", "dash")
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		t.Parallel()
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Bin: harness.WorkerBin, Args: append(withoutCall(unix.SYS_PIDFD_SEND_SIGNAL),
			harness.Line([]string{harness.LongGrace}, append([]string{"dash", "-c", `"$@"; exit $?`, "dash"}, harness.Script(`
				catch "TSTP", "CONT", "TERM"; say "ready"; await "TERM"; exit 7`)...)...)...)})
		p.WaitOut(`^ready`)
		p.Signal(unix.SIGTSTP)
		p.WaitTitle("drainit:quiet")
		p.WaitErr(`quiet`)
		p.WantLogged(`cannot send|not permitted`, 0)
		p.WaitOut(`^worker got TSTP`)
		passTo(p, unix.SIGTERM, "worker")
		p.WantExit(7)
		p.WantLogged(`cannot send|not permitted`, 0)
	})
}

// So does the kill of a drainit that is not PID 1, where no call of the kernel reaches
// everything: of three generations each has a session of its own.
func TestKillWithoutPidfdSendSignal(t *testing.T) {
	harness.Need(t, "perl")
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		t.Parallel()
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Bin: harness.WorkerBin, Args: append(withoutCall(unix.SYS_PIDFD_SEND_SIGNAL),
			harness.Line([]string{"--grace=300ms"}, harness.Script(`
				$SIG{TERM} = "IGNORE";
				spawn { POSIX::setsid(); spawn { POSIX::setsid(); spawn { POSIX::setsid(); say "ready"; forever }; forever }; forever };
				forever`)...)...)})
		p.WaitOut(`^ready`)
		p.Signal(unix.SIGTERM)
		p.WantExit(137)
		p.WantLogged(`cannot kill|cannot send|not permitted|after SIGKILL`, 0)
		p.WantNothingLeft()
	})
}

// withoutCall is a drainit that may not make a system call.
func withoutCall(number int) []string {
	return []string{"nocall", strconv.Itoa(number), harness.DrainitBin}
}

// startReady starts drainit with a worker and waits until that is ready.
func startReady(t *testing.T, noPID1 bool, command ...string) *harness.Init {
	t.Helper()
	harness.Need(t, command[0])
	p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: append([]string{"--"}, command...)})
	p.WaitOut(`^ready`)
	return p
}

// offAndOnATerminal runs a test with a worker that is ready, without a terminal and on one.
func offAndOnATerminal(t *testing.T, command []string, test func(t *testing.T, p *harness.Init, terminal bool)) {
	t.Helper()
	forEach(t, []string{"no terminal", "on a terminal"}, func(t *testing.T, where string, noPID1 bool) {
		terminal := where == "on a terminal"
		l := harness.Launch{NoPID1: noPID1, Args: append([]string{"--"}, command...)}
		if terminal {
			l = harness.OnTerminal(t, l)
		}
		p := harness.Run(t, l)
		p.WaitOut(`^ready`)
		test(t, p, terminal)
	})
}

func TestQuietReachesAWorkerThatCatchesTstp(t *testing.T) {
	for name, command := range map[string][]string{
		"go":   {harness.WorkerBin, "listen", "-catch", "TERM,TSTP,CONT", "-exit", "7"},
		"perl": {"perl", "-e", harness.PerlTree, "a[TSTP,CONT,TERM=7]"},
		"node": {"node", "-e", `
			for (const sig of ["SIGTSTP", "SIGCONT"]) process.on(sig, () => console.log("got " + sig));
			process.on("SIGTERM", () => { console.log("got SIGTERM"); process.exit(7) });
			setInterval(() => {}, 1000);
			console.log("ready " + process.pid)`},
	} {
		t.Run(name, func(t *testing.T) {
			harness.BothModes(t, func(t *testing.T, noPID1 bool) {
				t.Parallel()
				p := startReady(t, noPID1, command...)
				p.Signal(unix.SIGTSTP)
				p.WaitOut(`got (SIG)?TSTP$`)
				p.WaitErr(`quiet`)
				p.Signal(unix.SIGCONT)
				p.WaitOut(`got (SIG)?CONT$`)
				p.Signal(unix.SIGTERM)
				p.WantExit(7)
				if got := harness.Gots(p.Out()); len(got) != 3 {
					t.Errorf("the worker got %q", got)
				}
			})
		})
	}
}

// Every way of passing TSTP on that looks at no handler freezes such a worker:
// its jobs stall, its heartbeats stop, and it does not see the TERM that follows.
func TestQuietNeverFreezesAWorkerWithoutAHandler(t *testing.T) {
	for name, worker := range map[string]struct {
		command []string
		ready   string
	}{
		"sleep":    {[]string{"sleep", "1000"}, ""},
		"dash":     {[]string{"dash", "-c", "echo ready; sleep 1000; :"}, `^ready`},
		"perl":     {[]string{"perl", "-e", harness.PerlTree, "a(b c[pgrp](d))"}, `^ready d`},
		"ignoring": {[]string{"perl", "-e", harness.PerlTree, "a[-TSTP](b)"}, `^ready b`},
	} {
		for _, terminal := range []bool{false, true} {
			t.Run(name+map[bool]string{true: " on a terminal"}[terminal], func(t *testing.T) {
				harness.BothModes(t, func(t *testing.T, noPID1 bool) {
					t.Parallel()
					harness.Need(t, worker.command[0])
					l := harness.Launch{NoPID1: noPID1, Args: append([]string{"--"}, worker.command...)}
					if terminal {
						l = harness.OnTerminal(t, l)
					}
					p := harness.Run(t, l)
					p.WaitOut(worker.ready)
					neverFrozen(p)
				})
			})
		}
	}
}

// neverFrozen quiets an init whose worker does not handle TSTP, and stops it.
func neverFrozen(p *harness.Init) {
	p.T.Helper()
	p.WaitUntilStarted()
	p.Signal(unix.SIGTSTP)
	if warning := p.WaitErr(`.*quiet.*`)[0]; !strings.Contains(warning, "--rewrite") || !strings.Contains(warning, "warn") {
		p.T.Errorf("no warning that says what to do: %s", warning)
	}
	p.Signal(unix.SIGTSTP)
	p.WaitErr(`(?s)quiet has no effect.*quiet has no effect`)
	p.WantNotStopped()
	p.Signal(unix.SIGTERM)
	p.WantExit(143)
	if strings.Contains(p.Err(), "stopped itself") {
		p.T.Errorf("TSTP was sent to one that does not handle it:\n%s", p.Err())
	}
}

// Two ways to wait, which look unlike in /proc: while sigwait(3) waits the kernel
// takes the signal out of the mask, signalfd(2) leaves it in.
func TestQuietReachesAWorkerThatBlocksTstpAndWaitsForIt(t *testing.T) {
	for name, command := range map[string][]string{
		"signalfd": {harness.WorkerBin, "sigwait", "TSTP"},
		"sigwait":  {"perl", "-e", sigwait, strconv.Itoa(unix.SYS_RT_SIGTIMEDWAIT)},
	} {
		t.Run(name, func(t *testing.T) {
			harness.BothModes(t, func(t *testing.T, noPID1 bool) {
				t.Parallel()
				p := startReady(t, noPID1, command...)
				worker := p.FirstChild()
				harness.WaitUntil(t, "the worker waits", func() bool { return harness.StateOf(worker) == 'S' })
				p.Signal(unix.SIGTSTP)
				if line := p.WaitErr(`.*quiet.*`)[0]; !strings.Contains(line, "SIGTSTP to ") {
					t.Fatal(line)
				}
				p.WaitOut(`^got SIGTSTP`)
				p.Signal(unix.SIGTERM)
				p.WantExit(143)
			})
		})
	}
}

// sigwait waits for TSTP by rt_sigtimedwait(2), in its only thread.
const sigwait = `
	use POSIX qw(:signal_h);
	$| = 1;
	sigprocmask(SIG_BLOCK, POSIX::SigSet->new(SIGTSTP));
	print "ready $$\n";
	my $tstp = pack "Q", 1 << SIGTSTP - 1;
	for (;;) {
		print "got SIGTSTP\n" if syscall($ARGV[0] + 0, $tstp, 0, 0, 8) == SIGTSTP;
	}`

// What one thread blocks the kernel gives to another, by its default action.
func TestQuietSparesAWorkerThatBlocksTstpInOneThreadOnly(t *testing.T) {
	offAndOnATerminal(t, []string{harness.WorkerBin, "blockone", "TSTP"}, func(t *testing.T, p *harness.Init, terminal bool) {
		neverFrozen(p)
	})
}

func TestQuietGoesToTheFirstThatCatchesTstp(t *testing.T) {
	twoWays := treeCase{"two ways down", "a(b[TSTP](c[TSTP]) d(e[TSTP]) f)", "a b c d e f", []string{"b got TSTP", "e got TSTP"}}
	for _, tc := range []treeCase{
		{"worker", "a[TSTP](b[TSTP])", "a b", []string{"a got TSTP"}},
		{"below a shell", "a(b[TSTP](c[TSTP]))", "a b c", []string{"b got TSTP"}},
		twoWays,
		{"in a group of its own", "a(b[pgrp,TSTP] c[pgrp])", "a b c", []string{"b got TSTP"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			harness.BothModes(t, func(t *testing.T, noPID1 bool) {
				t.Parallel()
				quietsFirst(t, harness.Launch{NoPID1: noPID1}, tc)
			})
		})
	}
	for _, mode := range forwardModes { // whatever --forward says
		t.Run("forward "+mode, func(t *testing.T) {
			t.Parallel()
			quietsFirst(t, harness.Launch{Args: []string{"--forward", mode}}, twoWays)
		})
	}
}

// quietsFirst sends TSTP, which comes to those that are named, and stops no process.
func quietsFirst(t *testing.T, l harness.Launch, tc treeCase) {
	t.Helper()
	l.Args = append(l.Args, harness.LongGrace)
	p := harness.StartTree(t, l, tc.tree, tc.ready)
	p.Signal(unix.SIGTSTP)
	if line := p.WaitErr(`.*quiet.*`)[0]; strings.Count(line, "perl[") != len(tc.want) {
		t.Fatalf("want it for %q: %s", tc.want, line)
	}
	for _, line := range tc.want {
		p.WaitOut(`^` + line)
	}
	p.WantNotStopped()
	wantStop(p, 143, tc.want...)
}

func TestSecondQuietGoesToThoseThatCameLater(t *testing.T) {
	for _, tc := range []struct {
		name, tree, ready, came string
		before                  []string
	}{
		{"a new child", "a[USR1>](late[TSTP])", "a", `^ready late`, nil},
		{"a new child beside others", "a(b[TSTP] c[USR1>](late[TSTP]))", "a b c", `^ready late`, []string{"b got TSTP"}},
		{"one that was booting", "late[USR1*,TSTP]", "late", `^up late`, nil},
		{"one that was booting below", "a(late[USR1*,TSTP] b[TSTP])", "a late b", `^up late`, []string{"b got TSTP"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			harness.BothModes(t, func(t *testing.T, noPID1 bool) {
				t.Parallel()
				p := harness.StartTree(t, harness.Launch{NoPID1: noPID1}, tc.tree, tc.ready)
				p.Signal(unix.SIGTSTP)
				p.WaitErr(`quiet`)
				for _, line := range tc.before {
					p.WaitOut(`^` + line)
				}
				p.Signal(unix.SIGUSR1) // to the one that waits for it
				p.WaitOut(tc.came)
				passTo(p, unix.SIGTSTP, "late")
				wantStop(p, 143, append(tc.before, "late got TSTP")...)
			})
		})
	}
}

func TestResumeGoesToThoseThatWereQuieted(t *testing.T) {
	for _, tc := range []struct{ name, tree, ready, quieted string }{
		{"the worker", "a[TSTP,CONT](b[CONT])", "a b", "a"},
		{"a child", "a[CONT](b[TSTP,CONT] c[CONT])", "a b c", "b"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			harness.BothModes(t, func(t *testing.T, noPID1 bool) {
				t.Parallel()
				p := harness.StartTree(t, harness.Launch{NoPID1: noPID1}, tc.tree, tc.ready)
				var want []string
				// Quieted and resumed, one can be quieted again.
				for range 2 {
					for _, sig := range []string{"TSTP", "CONT"} {
						want = append(want, tc.quieted+" got "+sig)
						p.Signal(unix.SignalNum("SIG" + sig))
						harness.WaitUntil(t, strings.Join(want, ", "), func() bool { return len(harness.Gots(p.Out())) == len(want) })
					}
				}
				wantStop(p, 143, want...)
			})
		})
	}
}

// systemd sends CONT right behind TERM. In every second turn both wait until
// drainit may go on.
func TestContRightBehindAStopResumesNoProcess(t *testing.T) {
	t.Parallel()
	fewAndMany(t, 4, 40, contBehindStops)
}

func contBehindStops(t *testing.T, rounds int) {
	for i := range rounds {
		p := harness.StartTree(t, harness.Launch{}, "a[TSTP,CONT,TERM=7]", "a")
		passTo(p, unix.SIGTSTP, "a")
		if i%2 == 0 {
			p.Signal(unix.SIGSTOP)
			harness.WaitUntil(t, "drainit is stopped", func() bool { return harness.StateOf(p.Pid()) == 'T' })
		}
		p.Signal(unix.SIGTERM)
		p.Signal(unix.SIGCONT)
		p.WantExit(7)
		p.WantGots("a got TSTP", "a got TERM")
	}
}

// A worker that is stopping must not be asked to fetch again.
func TestTstpAndContDoNothingInADrain(t *testing.T) {
	for _, quiet := range []bool{false, true} {
		t.Run(map[bool]string{false: "from running", true: "from quiet"}[quiet], func(t *testing.T) {
			harness.BothModes(t, func(t *testing.T, noPID1 bool) {
				t.Parallel()
				p := harness.StartTree(t, harness.Launch{NoPID1: noPID1}, "a[TSTP,CONT,TERM,USR1,USR2=7](b[TSTP,CONT])", "a b")
				want := []string{"a got TERM", "a got USR1", "a got USR2"}
				if quiet {
					passTo(p, unix.SIGTSTP, "a")
					want = append(want, "a got TSTP")
				}
				passTo(p, unix.SIGTERM, "a")
				p.Signal(unix.SIGTSTP)
				p.Signal(unix.SIGCONT)
				passTo(p, unix.SIGUSR1, "a")
				p.Signal(unix.SIGUSR2)
				p.WantExit(7)
				p.WantGots(want...)
			})
		})
	}
}

// The safety net: what stops by the TSTP that it was sent is continued. The
// worker handles it and then stops itself, as an editor does; what it must have
// for that is a terminal, else its group is orphaned and the kernel discards it.
func TestWorkerThatStopsItselfByTstpIsContinued(t *testing.T) {
	offAndOnATerminal(t, []string{"perl", "-e", stopsItself}, func(t *testing.T, p *harness.Init, terminal bool) {
		p.Signal(unix.SIGTSTP)
		p.WaitOut(`^goes on`)
		if terminal {
			p.WaitErr(`warn.*perl\[\d+\] stopped itself.*--rewrite`)
		}
		p.Signal(unix.SIGTERM)
		p.WantExit(7)
		if !terminal && strings.Contains(p.Err(), "stopped itself") {
			t.Errorf("it can't have stopped:\n%s", p.Err())
		}
	})
}

const stopsItself = `
	use POSIX ();
	$| = 1;
	my $stop;
	$SIG{TERM} = sub { print "got TERM\n"; exit 7 };
	$SIG{TSTP} = sub { print "got TSTP\n"; $stop = 1 };
	print "ready\n";
	for (;;) {
		select undef, undef, undef, 0.05;
		next unless $stop;
		$SIG{TSTP} = "DEFAULT";
		kill TSTP => $$;
		print "goes on\n";
		$stop = 0;
	}`
