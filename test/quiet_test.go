package test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestQuietReachesAWorkerThatCatchesTstp(t *testing.T) {
	for name, command := range map[string][]string{
		"go":   {workerBin, "listen", "-catch", "TERM,TSTP,CONT", "-exit", "7"},
		"perl": {"perl", "-e", perlTree, "a[TSTP,CONT,TERM=7]"},
		"node": {"node", "-e", `
			for (const sig of ["SIGTSTP", "SIGCONT"]) process.on(sig, () => console.log("got " + sig));
			process.on("SIGTERM", () => { console.log("got SIGTERM"); process.exit(7) });
			setInterval(() => {}, 1000);
			console.log("ready " + process.pid)`},
	} {
		t.Run(name, func(t *testing.T) {
			bothModes(t, func(t *testing.T, noPID1 bool) {
				t.Parallel()
				need(t, command[0])
				p := launch(t, Launch{NoPID1: noPID1, Args: append([]string{"--"}, command...)})
				p.waitOut(`^ready`)
				p.signal(unix.SIGTSTP)
				p.waitOut(`got (SIG)?TSTP$`)
				p.waitErr(`quiet`)
				p.signal(unix.SIGCONT)
				p.waitOut(`got (SIG)?CONT$`)
				p.signal(unix.SIGTERM)
				p.wantExit(7)
				if got := gots(p.out()); len(got) != 3 {
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
		"perl":     {[]string{"perl", "-e", perlTree, "a(b c[pgrp](d))"}, `^ready d`},
		"ignoring": {[]string{"perl", "-e", perlTree, "a[-TSTP](b)"}, `^ready b`},
	} {
		for _, terminal := range []bool{false, true} {
			t.Run(name+map[bool]string{true: " on a terminal"}[terminal], func(t *testing.T) {
				bothModes(t, func(t *testing.T, noPID1 bool) {
					t.Parallel()
					need(t, worker.command[0])
					l := Launch{NoPID1: noPID1, Args: append([]string{"--"}, worker.command...)}
					if terminal {
						l = onTerminal(t, l)
					}
					p := launch(t, l)
					p.waitOut(worker.ready)
					neverFrozen(p)
				})
			})
		}
	}
}

// neverFrozen quiets an init whose worker does not handle TSTP, and stops it.
func neverFrozen(p *Init) {
	p.t.Helper()
	p.waitUntilStarted()
	p.signal(unix.SIGTSTP)
	if warning := p.waitErr(`.*quiet.*`)[0]; !strings.Contains(warning, "--rewrite") || !strings.Contains(warning, "warn") {
		p.t.Errorf("no warning that says what to do: %s", warning)
	}
	p.signal(unix.SIGTSTP)
	p.waitErr(`(?s)quiet has no effect.*quiet has no effect`)
	p.wantNotStopped()
	p.signal(unix.SIGTERM)
	p.wantExit(143)
	if strings.Contains(p.err(), "stopped itself") {
		p.t.Errorf("TSTP was sent to one that does not handle it:\n%s", p.err())
	}
}

// waitUntilStarted waits until the init has forked its worker.
func (p *Init) waitUntilStarted() {
	p.t.Helper()
	waitUntil(p.t, "the worker has started", func() bool { return p.firstChild() != 0 })
}

// firstChild is the pid, in the test's namespace, of a child of the init, 0 if
// it has none. It is quick enough to see a worker the moment it is forked.
func (p *Init) firstChild() int {
	p.t.Helper()
	path := fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", p.Pid())
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && p.running() {
		p.t.Fatalf("needs a kernel with CONFIG_PROC_CHILDREN: %v", err)
	}
	pids := strings.Fields(string(b))
	if len(pids) == 0 {
		return 0
	}
	pid, err := strconv.Atoi(pids[0])
	if err != nil {
		p.t.Fatal(err)
	}
	return pid
}

// Two ways to wait, which look unlike in /proc: while sigwait(3) waits the kernel
// takes the signal out of the mask, signalfd(2) leaves it in.
func TestQuietReachesAWorkerThatBlocksTstpAndWaitsForIt(t *testing.T) {
	for name, command := range map[string][]string{
		"signalfd": {workerBin, "sigwait", "TSTP"},
		"sigwait":  {"perl", "-e", sigwait, strconv.Itoa(unix.SYS_RT_SIGTIMEDWAIT)},
	} {
		t.Run(name, func(t *testing.T) {
			bothModes(t, func(t *testing.T, noPID1 bool) {
				t.Parallel()
				need(t, command[0])
				p := launch(t, Launch{NoPID1: noPID1, Args: append([]string{"--"}, command...)})
				p.waitOut(`^ready`)
				worker := p.firstChild()
				waitUntil(t, "the worker waits", func() bool { return stateOf(worker) == 'S' })
				p.signal(unix.SIGTSTP)
				if line := p.waitErr(`.*quiet.*`)[0]; !strings.Contains(line, "SIGTSTP to ") {
					t.Fatal(line)
				}
				p.waitOut(`^got SIGTSTP`)
				p.signal(unix.SIGTERM)
				p.wantExit(143)
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
	for _, terminal := range []bool{false, true} {
		t.Run(map[bool]string{false: "no terminal", true: "on a terminal"}[terminal], func(t *testing.T) {
			bothModes(t, func(t *testing.T, noPID1 bool) {
				t.Parallel()
				l := Launch{NoPID1: noPID1, Args: []string{"--", workerBin, "blockone", "TSTP"}}
				if terminal {
					l = onTerminal(t, l)
				}
				p := launch(t, l)
				p.waitOut(`^ready`)
				neverFrozen(p)
			})
		})
	}
}

func TestQuietGoesToTheFirstThatCatchesTstp(t *testing.T) {
	for _, tc := range []struct {
		name, tree, ready string
		want              []string
	}{
		{"worker", "a[TSTP](b[TSTP])", "a b", []string{"a got TSTP"}},
		{"below a shell", "a(b[TSTP](c[TSTP]))", "a b c", []string{"b got TSTP"}},
		{"two ways down", "a(b[TSTP](c[TSTP]) d(e[TSTP]) f)", "a b c d e f", []string{"b got TSTP", "e got TSTP"}},
		{"in a group of its own", "a(b[pgrp,TSTP] c[pgrp])", "a b c", []string{"b got TSTP"}},
	} {
		// Section 3.3: whatever --forward says.
		for _, mode := range []string{"auto", "group", "worker"} {
			t.Run(tc.name+", forward "+mode, func(t *testing.T) {
				bothModes(t, func(t *testing.T, noPID1 bool) {
					t.Parallel()
					p := startTree(t, Launch{NoPID1: noPID1, Args: []string{"--forward", mode, "--grace", "1"}}, tc.tree, tc.ready)
					p.signal(unix.SIGTSTP)
					if line := p.waitErr(`.*quiet.*`)[0]; strings.Count(line, "perl[") != len(tc.want) {
						t.Fatalf("want it for %q: %s", tc.want, line)
					}
					for _, line := range tc.want {
						p.waitOut(`^` + line)
					}
					p.wantNotStopped()
					p.signal(unix.SIGTERM)
					p.wantExit(143)
					p.wantGots(tc.want...)
				})
			})
		}
	}
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
			bothModes(t, func(t *testing.T, noPID1 bool) {
				t.Parallel()
				p := startTree(t, Launch{NoPID1: noPID1}, tc.tree, tc.ready)
				p.signal(unix.SIGTSTP)
				p.waitErr(`quiet`)
				for _, line := range tc.before {
					p.waitOut(`^` + line)
				}
				p.signal(unix.SIGUSR1) // to the one that waits for it
				p.waitOut(tc.came)
				p.signal(unix.SIGTSTP)
				p.waitOut(`^late got TSTP`)
				p.signal(unix.SIGTERM)
				p.wantExit(143)
				p.wantGots(append(tc.before, "late got TSTP")...)
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
			bothModes(t, func(t *testing.T, noPID1 bool) {
				t.Parallel()
				p := startTree(t, Launch{NoPID1: noPID1}, tc.tree, tc.ready)
				var want []string
				// Quieted and resumed, one can be quieted again.
				for range 2 {
					for _, sig := range []string{"TSTP", "CONT"} {
						want = append(want, tc.quieted+" got "+sig)
						p.signal(unix.SignalNum("SIG" + sig))
						waitUntil(t, strings.Join(want, ", "), func() bool { return len(gots(p.out())) == len(want) })
					}
				}
				p.signal(unix.SIGTERM)
				p.wantExit(143)
				p.wantGots(want...)
			})
		})
	}
}

// systemd sends CONT right behind TERM. In every second turn both wait until
// drainit may go on.
func TestContRightBehindAStopResumesNoProcess(t *testing.T) {
	for i := range 40 {
		p := startTree(t, Launch{}, "a[TSTP,CONT,TERM=7]", "a")
		p.signal(unix.SIGTSTP)
		p.waitOut(`^a got TSTP`)
		if i%2 == 0 {
			p.signal(unix.SIGSTOP)
			waitUntil(t, "drainit is stopped", func() bool { return stateOf(p.Pid()) == 'T' })
		}
		p.signal(unix.SIGTERM)
		p.signal(unix.SIGCONT)
		p.wantExit(7)
		p.wantGots("a got TSTP", "a got TERM")
	}
}

// A worker that is stopping must not be asked to fetch again.
func TestTstpAndContDoNothingInADrain(t *testing.T) {
	for _, quiet := range []bool{false, true} {
		t.Run(map[bool]string{false: "from running", true: "from quiet"}[quiet], func(t *testing.T) {
			bothModes(t, func(t *testing.T, noPID1 bool) {
				t.Parallel()
				p := startTree(t, Launch{NoPID1: noPID1}, "a[TSTP,CONT,TERM,USR1,USR2=7](b[TSTP,CONT])", "a b")
				want := []string{"a got TERM", "a got USR1", "a got USR2"}
				if quiet {
					p.signal(unix.SIGTSTP)
					p.waitOut(`^a got TSTP`)
					want = append(want, "a got TSTP")
				}
				p.signal(unix.SIGTERM)
				p.waitOut(`^a got TERM`)
				p.signal(unix.SIGTSTP)
				p.signal(unix.SIGCONT)
				p.signal(unix.SIGUSR1)
				p.waitOut(`^a got USR1`)
				p.signal(unix.SIGUSR2)
				p.wantExit(7)
				p.wantGots(want...)
			})
		})
	}
}

// The safety net: what stops by the TSTP that it was sent is continued. The
// worker handles it and then stops itself, as an editor does; what it must have
// for that is a terminal, else its group is orphaned and the kernel discards it.
func TestWorkerThatStopsItselfByTstpIsContinued(t *testing.T) {
	for _, terminal := range []bool{false, true} {
		t.Run(map[bool]string{false: "no terminal", true: "on a terminal"}[terminal], func(t *testing.T) {
			bothModes(t, func(t *testing.T, noPID1 bool) {
				t.Parallel()
				l := Launch{NoPID1: noPID1, Args: []string{"--", "perl", "-e", stopsItself}}
				if terminal {
					l = onTerminal(t, l)
				}
				p := launch(t, l)
				p.waitOut(`^ready`)
				p.signal(unix.SIGTSTP)
				p.waitOut(`^goes on`)
				if terminal {
					p.waitErr(`warn.*perl\[\d+\] stopped itself.*--rewrite`)
				}
				p.signal(unix.SIGTERM)
				p.wantExit(7)
				if !terminal && strings.Contains(p.err(), "stopped itself") {
					t.Errorf("it can't have stopped:\n%s", p.err())
				}
			})
		})
	}
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
