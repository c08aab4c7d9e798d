package signals

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/signals"
	"drainit/test/harness"
)

// catchable are the signals that drainit can see and passes on: 1 to 63, but
// KILL and STOP, PROF and 32 to 34, which the Go runtime never delivers, and
// URG, CHLD, PIPE, XCPU, XFSZ and the faults, which are drainit's own. The list is written out: one
// that is computed would have the same hole as the code.
var catchable = []syscall.Signal{
	1, 2, 3, 6, 10, 12, 14, 15, 18, 20, 21, 22, 26, 28, 29, 30,
	35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57,
	58, 59, 60, 61, 62, 63,
}

func TestEachSignalReachesTheWorkerOnce(t *testing.T) {
	for _, stop := range []syscall.Signal{unix.SIGTERM, unix.SIGINT} {
		t.Run(signals.Name(stop), func(t *testing.T) {
			harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
				p := launch(t, noPID1, asTheyCome(), listening("-end", "TERM,INT")...)
				var want []string
				pass := func(sig syscall.Signal) {
					t.Helper()
					line := "got " + signals.Name(sig)
					want = append(want, line)
					p.Signal(sig)
					p.WaitOut(`^` + regexp.QuoteMeta(line) + `$`)
				}
				for _, sig := range catchable {
					if sig != unix.SIGTERM && sig != unix.SIGINT {
						pass(sig)
					}
				}
				pass(stop)
				p.WantExit(7)
				p.WantGots(want...)
			})
		})
	}
}

// meaningless are signals that mean nothing to drainit, by perl's names. spread puts them in a tree that
// says "@".
var (
	meaningless = harness.Words("HUP USR1 USR2 QUIT WINCH ALRM CONT TTIN TTOU VTALRM IO")
	spread      = strings.NewReplacer("-@", "-"+strings.Join(meaningless, ",-"), "@",
		strings.Join(meaningless, ","))
)

// On each way down a signal goes to the first that handles it, and to no process below that one.
func TestSignalGoesToTheFirstThatHandlesIt(t *testing.T) {
	for tree, names := range map[string]string{
		"a[@](b[@])": "a",
		"a[-@](b[@](c[@]) d(e[@] f[pgrp,@](g[pgrp,@])) h(i(j[@])))": "b e f j",
	} {
		t.Run(tree, func(t *testing.T) {
			harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
				// All signals in one tree: each finds its own way.
				ready := strings.Join(regexp.MustCompile(`\b[a-j]\b`).FindAllString(tree, -1), " ")
				p := harness.StartTree(t, harness.Launch{NoPID1: noPID1, Args: []string{harness.LongGrace}},
					spread.Replace(tree), ready)
				var want []string
				for _, sig := range meaningless {
					p.Signal(unix.SignalNum("SIG" + sig))
					for name := range strings.FieldsSeq(names) {
						want = append(want, name+" got "+sig)
						p.WaitOut(`^` + name + ` got ` + sig + `$`)
					}
				}
				wantStop(p, 143, want...)
			})
		})
	}
}

// On a terminal the groups are not orphaned: the kernel would stop those without a handler.
func TestTtinAndTtouGoOnlyToThoseThatHandleThem(t *testing.T) {
	forEach(t, forwardModes, func(t *testing.T, mode string, noPID1 bool) {
		p := harness.StartTree(t, harness.OnTerminal(t,
			harness.Launch{NoPID1: noPID1, Args: []string{"--forward", mode, harness.LongGrace}}),
			"a[TTIN,USR1,TERM=7](b c[pgrp])", "a b c")
		p.Signal(unix.SIGTTOU)
		passTo(p, unix.SIGTTIN, "a")
		p.Signal(unix.SIGTTOU)
		p.Signal(unix.SIGTTIN)
		harness.WaitUntil(t, "two TTIN", func() bool { return len(harness.Gots(p.Out())) == 2 })
		wantNotStopped(p)
		wantStop(p, 7, "a got TTIN", "a got TTIN", "a got TERM")
	})
}

func TestMain(m *testing.M) { harness.Main(m) }

// forwardModes are the values of --forward.
var forwardModes = []string{"auto", "group", "worker"}

// forEach runs a test with each of some values, as PID 1 and not as PID 1.
func forEach(t *testing.T, values []string, test func(t *testing.T, value string, noPID1 bool)) {
	t.Helper()
	for _, value := range values {
		t.Run(value, func(t *testing.T) {
			harness.WaitingModes(t, func(t *testing.T, noPID1 bool) { test(t, value, noPID1) })
		})
	}
}

// launch starts drainit with flags and a worker, and waits until that is ready.
func launch(t *testing.T, noPID1 bool, flags []string, command ...string) *harness.Init {
	t.Helper()
	p := harness.Run(t, harness.Launch{NoPID1: noPID1,
		Args: harness.Line(append(flags, harness.LongGrace), command...)})
	p.WaitReady()
	return p
}

// asTheyCome are flags by which no signal begins the stop but TERM and INT. Else those that every Go
// program handles, and few drain on, would.
func asTheyCome() (flags []string) {
	for _, sig := range catchable {
		flags = append(flags, fmt.Sprintf("--rewrite=%d:%d", sig, sig))
	}
	return flags
}

// listening is a worker that prints all signals and ends with 7.
func listening(args ...string) []string {
	return append(harness.Words("WORKER listen -catch all -exit 7"), args...)
}

// passTo sends a signal and waits until a process of a tree has got it.
func passTo(p *harness.Init, sig syscall.Signal, name string) {
	p.T.Helper()
	p.Signal(sig)
	p.WaitOut(`^` + name + ` got ` + strings.TrimPrefix(signals.Name(sig), "SIG"))
}

// wantStop sends TERM, waits for the end, and compares the exit status and all that
// arrived.
func wantStop(p *harness.Init, status int, gots ...string) {
	p.T.Helper()
	p.Signal(unix.SIGTERM)
	p.WantExit(status)
	p.WantGots(gots...)
}

// A TERM that comes the moment the worker has been forked must reach it: peers
// lose two thirds of these in their group modes, because the worker is not in
// its group yet, or has not unblocked its signals.
func TestTermTheMomentTheWorkerExistsIsNotLost(t *testing.T) {
	for _, tc := range []struct {
		starts  int
		command []string
		want    []int
	}{
		{harness.Of(200, 5), []string{"sleep", "1000"}, []int{143}},
		// 143 before the trap is set.
		{harness.Of(50, 3), []string{"dash", "-c", `trap "exit 7" TERM; while :; do sleep 0.01; done`},
			[]int{143, 7}},
	} {
		forEach(t, []string{"auto", "group"}, func(t *testing.T, mode string, noPID1 bool) {
			for range tc.starts {
				p := harness.Run(t, harness.Launch{NoPID1: noPID1,
					Args: harness.Line([]string{"--grace=infinity", "--forward", mode}, tc.command...)})
				// no sleep: a look takes microseconds
				for deadline := time.Now().Add(harness.Patience); p.FirstChild() == 0; {
					if !p.Running() || time.Now().After(deadline) {
						t.Fatal("no worker")
					}
				}
				p.Signal(unix.SIGTERM)
				if got := p.Wait(); !slices.Contains(tc.want, got) {
					t.Fatalf("exit status %d, want one of %v\nstderr:\n%s", got, tc.want, p.Err())
				}
			}
		})
	}
}

// A worker may send its init a signal as the first thing it does, to hear that it comes
// through: by then those are subscribed to that workers send, and those that a flag names.
func TestSignalThatTheWorkerSendsFirstIsNotLost(t *testing.T) {
	harness.Usual(t)
	for sig, flags := range map[string][]string{"USR1": nil, "63": {"--rewrite", "63:63"}} {
		t.Run(sig, func(t *testing.T) {
			harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
				for range 2 {
					harness.Run(t, harness.Launch{NoPID1: noPID1, Args: harness.Line(flags, "dash", "-c",
						fmt.Sprintf(`trap "exit 7" %[1]s; kill -s %[1]s $PPID; while :; do sleep 0.01; done`,
							sig))}).WantExit(7)
				}
			})
		})
	}
}

// Signals about drainit's own children, pipes and limits are not the worker's, who handles them all.
func TestSignalsAboutDrainitItselfAreNotTheWorkers(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.StartTree(t, harness.Launch{NoPID1: noPID1},
			"a[URG,CHLD,PIPE,XCPU,XFSZ,USR1,TERM=7](b[URG,CHLD,PIPE,XCPU,XFSZ])", "a b")
		for _, sig := range []unix.Signal{unix.SIGURG, unix.SIGCHLD, unix.SIGPIPE,
			unix.SIGXCPU, unix.SIGXFSZ} {
			p.Signal(sig)
			harness.WaitUntil(t, "drainit has taken it", func() bool { return !p.Running() || !pending(p) })
		}
		passTo(p, unix.SIGUSR1, "a")
		wantStop(p, 7, "a got USR1", "a got TERM")
	})
}

func TestRewriteDeliversOneSignalInPlaceOfAnother(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := launch(t, noPID1, harness.Words("-r 37:WINCH -r USR1:RTMIN+29 -r USR2:TSTP -r POLL:SEGV"),
			listening()...)
		want := []string{"got SIGWINCH", "got SIGRTMIN+29", "got SIGTSTP", "got SIGSEGV", "got SIGTERM"}
		for n, sig := range []syscall.Signal{37, unix.SIGUSR1, unix.SIGUSR2, unix.SIGIO, unix.SIGTERM} {
			p.Signal(sig)
			p.WaitOut(`^` + regexp.QuoteMeta(want[n]) + `$`)
		}
		p.WantExit(7)
		p.WantGots(want...)
	})
}

// TSTP in place of another signal stops those that do not handle it just as well.
func TestRewriteToTstpFreezesNoProcess(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.StartTree(t, harness.OnTerminal(t,
			harness.Launch{NoPID1: noPID1, Args: []string{"-r", "HUP:TSTP"}}), "a[USR2](b[pgrp])", "a b")
		p.WaitTitle("drainit:run")
		p.Signal(unix.SIGHUP)
		passTo(p, unix.SIGUSR2, "a")
		wantNotStopped(p)
		p.Signal(unix.SIGTERM)
		p.WantExit(143)
	})
}

// wantNotStopped checks that no process below an init, nor that, is in state T.
func wantNotStopped(p *harness.Init) {
	p.T.Helper()
	for _, pid := range p.Alive() {
		if harness.StateOf(pid) == 'T' {
			p.T.Errorf("process %d is stopped", pid)
		}
	}
}
