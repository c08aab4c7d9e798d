package stress

import (
	"bufio"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// soakPlan is how much a soak does. What is measured is what comes after the warm-up, in which
// a Go program takes the memory that it needs.
type soakPlan struct {
	warmUp, steps    int
	signals, orphans int     // in each step
	growth           float64 // of the memory, at most: a collection more or less is some percent
}

// soaked answers each signal by its name; the process below it answers HUP. By
// USR2 it leaves as many orphans as its argument says, in every state of dying.
const soaked = `
my @caught;
sub answer {
	my @signals = map { no strict "refs"; &{"POSIX::SIG$_"}() } grep { $_ ne "WINCH" } @_;
	for my $s (@_) { $SIG{$s} = sub { push @caught, $s } }
	POSIX::sigprocmask(POSIX::SIG_BLOCK(), POSIX::SigSet->new(@signals, 28));
	say "ready";
	while (1) {
		POSIX::sigsuspend(POSIX::SigSet->new);
		while (my $s = shift @caught) {
			waitpid spawn { spawn { } for 1 .. $ARGV[0] }, 0 if $s eq "USR2";
			exit if $s eq "TERM";
			say $s;
		}
	}
}
spawn { answer("HUP") };
answer(qw(USR1 USR2 WINCH TSTP CONT TERM))`

// soaking is a drainit with that worker.
type soaking struct {
	*harness.Init
	soakPlan
	pipe    *os.File
	answers *bufio.Reader
}

// soakSample is what drainit holds after a step: memory in kB, descriptors and threads.
type soakSample struct{ RSS, files, threads int }

// TestSoak reaps orphans and passes on signals, one drainit for all of them, and
// looks whether it holds more in the end than at first:
//
//	go test ./test/stress -run TestSoak -v -soak -timeout 30m
func TestSoak(t *testing.T) {
	t.Parallel()
	plan := soakPlan{2, 10, 5, 20, 1.5}
	switch {
	case *harness.SoakWhole:
		plan = soakPlan{10, 2000, 50, 500, 1.05}
	case harness.Of(1, 0) > 0:
		plan = soakPlan{10, 30, 50, 100, 1.15}
	}
	r, w := harness.Pipe(t)
	init := harness.Run(t, harness.Launch{Stdout: w,
		Args: append([]string{"-v"}, harness.Script(soaked, strconv.Itoa(plan.orphans))...)})
	p := &soaking{init, plan, r, bufio.NewReader(r)}
	w.Close()
	p.wantAnswer("ready")
	p.wantAnswer("ready")
	began := time.Now()
	var samples []soakSample
	for n := 1; n <= p.warmUp+p.steps; n++ {
		p.soak()
		s := soakSample{harness.StatusField(t, p.Pid(), "VmRSS"), harness.OpenFiles(p.Pid()),
			harness.StatusField(t, p.Pid(), "Threads")}
		if n > p.warmUp {
			samples = append(samples, s)
		}
		if n >= p.warmUp && (n-p.warmUp)%(p.steps/10) == 0 {
			t.Logf("%9d orphans, %7d signals, %4.0f s: RSS %d kB, %d descriptors, %d threads",
				n*p.orphans, n*p.signals, time.Since(began).Seconds(), s.RSS, s.files, s.threads)
		}
	}
	wantFlat(t, samples, p.growth)
	p.Signal(unix.SIGTERM)
	p.WantExit(0)
}

// drained ignores TERM, and by USR2 leaves as many orphans as its argument says. Each handles TERM and is
// there for some snapshots, as is its child.
const drained = `
$SIG{TERM} = "IGNORE"; my $asked = 0; $SIG{USR2} = sub { $asked++ };
POSIX::sigprocmask(POSIX::SIG_BLOCK(), POSIX::SigSet->new(POSIX::SIGUSR2()));
say "ready";
while (1) {
	POSIX::sigsuspend(POSIX::SigSet->new);
	next unless $asked; $asked = 0;
	waitpid spawn {
		spawn { $SIG{TERM} = sub { POSIX::_exit(0) }; spawn { nap 0.2 }; nap 0.2 } for 1 .. $ARGV[0]
	}, 0;
	say "USR2";
}`

// A drain may last for ever, and any number of orphans come and go in it, which were signalled, or wait
// to be.
func TestSoakOfADrain(t *testing.T) {
	harness.Full(t)
	t.Parallel()
	r, w := harness.Pipe(t)
	init := harness.Run(t, harness.Launch{Stdout: w, Args: harness.Line([]string{"--grace", "infinity"},
		harness.Script(drained, "100")...)})
	p := &soaking{init, soakPlan{orphans: 100}, r, bufio.NewReader(r)}
	w.Close()
	p.wantAnswer("ready")
	p.Signal(unix.SIGTERM)
	p.WaitErr(`"event":"stopping"`)
	var samples []soakSample
	for n := range 110 { // ten samples at each end: a single one differs by some percent
		p.soak()
		if n >= 10 { // by then a Go program has the memory that it needs
			samples = append(samples, soakSample{harness.StatusField(t, p.Pid(), "RssAnon"), 0, 0})
		}
	}
	wantFlat(t, samples, 1.15)
	harness.PastTheSameRequest()
	p.Signal(unix.SIGTERM)
	p.WantExit(137)
}

// soak is one step: each signal is answered before the next is sent.
func (p *soaking) soak() {
	p.T.Helper()
	kinds := []syscall.Signal{unix.SIGUSR1, unix.SIGHUP, unix.SIGWINCH, unix.SIGTSTP, unix.SIGCONT}
	for n := range p.signals {
		sig := kinds[n%len(kinds)]
		p.Signal(sig)
		p.wantAnswer(unix.SignalName(sig)[len("SIG"):])
	}
	p.Signal(unix.SIGUSR2)
	p.wantAnswer("USR2")
	harness.WaitUntil(p.T, "all orphans have been reaped",
		func() bool { return len(harness.ChildPids(p.Pid())) == 1 })
}

func (p *soaking) wantAnswer(want string) {
	p.T.Helper()
	_ = p.pipe.SetReadDeadline(time.Now().Add(harness.Patience))
	got, err := p.answers.ReadString('\n')
	if strings.TrimSpace(got) != want || err != nil && err != io.EOF {
		p.T.Fatalf("the worker answers %q (%v), want %s\nstderr:\n%s", got, err, want, p.Err())
	}
}

// wantFlat compares the first tenth of the samples with the last.
func wantFlat(t *testing.T, samples []soakSample, growth float64) {
	t.Helper()
	tenth := len(samples) / 10
	sum := func(of []soakSample) (s soakSample) {
		for _, one := range of {
			s = soakSample{s.RSS + one.RSS, one.files, max(s.threads, one.threads)}
		}
		return s
	}
	before, after := sum(samples[:tenth]), sum(samples[len(samples)-tenth:])
	grown := float64(after.RSS) / float64(before.RSS)
	t.Logf("RSS %d kB in the first tenth, %d kB in the last: %+.1f %%", before.RSS/tenth,
		after.RSS/tenth, 100*(grown-1))
	if grown > growth || after.files > before.files || after.threads > before.threads {
		t.Errorf("it grew from %+v to %+v", before, after)
	}
}

func TestMain(m *testing.M) { harness.Main(m) }

// talkative makes drainit write more lines than it queues. It keeps its handlers to its very
// end: a USR1 that waited after the TERM is none to die of.
const talkative = `
waitpid spawn { spawn { } for 1 .. 300 }, 0;
catch "USR1", "TERM"; say "ready"; await "TERM"; nap 0.3; say "drained"; POSIX::_exit(7)`

func TestLogThatIsNotTakenChangesNothing(t *testing.T) {
	t.Parallel()
	for name, l := range harness.BadStderr(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l.Args = harness.Line([]string{"-v", "-w", harness.LongGrace}, harness.Script(talkative)...)
			p := harness.Run(t, l)
			p.WaitOut(`^ready`)
			harness.WaitUntil(t, "all orphans have been waited for",
				func() bool { return len(harness.ChildPids(p.Pid())) == 1 })
			for range 200 {
				p.Signal(syscall.SIGUSR1)
			}
			p.WaitOut(`^worker got USR1`)
			p.Signal(syscall.SIGTERM)
			p.WaitOut(`^drained`)
			p.WantExit(7)
			p.WantCount("worker got TERM", 1)
			p.WantNothingLeft()
		})
	}
}

// leavesOnTERM is a worker that exits on TERM, and leaves a child that was
// not signalled and drains.
const leavesOnTERM = `
$SIG{TERM} = sub { say "worker got TERM"; exit 3 };
spawn { $name = "child"; catch "TERM"; say "ready"; await "TERM"; nap 1.5; say "drained" };
forever`

// With no /proc, and with one whose pids mean other processes, PID 1 signals and kills what it
// can't see.
func TestWithoutProc(t *testing.T) {
	t.Parallel()
	term := func(p *harness.Init, _ *os.File) { p.Signal(syscall.SIGTERM) }
	for _, tt := range []struct {
		name   string
		grace  string
		worker []string
		begin  func(p *harness.Init, input *os.File)
		status int
		once   []string // what the workers print
		logged string
	}{
		{"a leftover drains", "60s", harness.Script(leavesOnTERM), term, 3,
			[]string{"worker got TERM", "child got TERM", "drained"}, ``},
		{"a worker exits", "60s", harness.Script(harness.LeavesChild, "1.5"),
			func(_ *harness.Init, input *os.File) { input.Close() }, 5,
			[]string{"child got TERM", "drained"},
			`exited with status 5 and left what /proc does not show, SIGKILL in 30s`},
		{"the grace ends", "500ms", harness.Script(harness.Stubborn), term, 137, nil,
			`grace period of 500ms over: killing what is left`},
	} {
		for _, proc := range []string{"none", "foreign"} {
			t.Run(tt.name+", "+proc, func(t *testing.T) {
				t.Parallel()
				input, w := harness.Pipe(t)
				hold, release := harness.Pipe(t)
				p := harness.Run(t, harness.Launch{Setup: harness.Setup{Proc: proc}, Stdin: input,
					Files: []*os.File{hold},
					Args:  harness.Line([]string{"--grace", tt.grace}, tt.worker...)})
				p.WaitOut(`^ready`)
				tt.begin(p, w)
				if tt.once != nil {
					p.WaitOut(`^child got TERM`)
				}
				release.Close()
				p.WantExit(tt.status)
				for _, line := range tt.once {
					p.WantCount(line, 1)
				}
				if tt.logged != "" {
					p.WantLogged(tt.logged, 1)
				}
				p.WantNothingLeft()
			})
		}
	}
}

// Where orphans do not come to drainit a worker drains as ever, and what it leaves lives on: qemu-user and a
// seccomp profile may refuse the call.
func TestWithoutASubreaperTheWorkerDrains(t *testing.T) {
	t.Parallel()
	p := harness.Run(t, harness.Launch{NoPID1: true,
		Under: []string{harness.WorkerBin, "nocall", strconv.Itoa(unix.SYS_PRCTL)},
		Args: harness.Line([]string{harness.LongGrace},
			harness.Script(`catch "TERM"; spawn { $name = "child"; catch "TERM"; say "ready $$"; forever `+
				`}; await "TERM"; exit 7`)...)})
	child := p.ReadyPid(`^ready`)
	p.Signal(syscall.SIGTERM)
	p.WaitErr(`"msg":"stopped after .*exited with status 7"`)
	harness.Kill(t, child, syscall.SIGKILL) // it holds the pipes
	p.WantExit(7)
	p.WantLogged(`"warn".*cannot adopt orphans here, so what the worker leaves is neither waited for nor `+
		`signalled`, 1)
	p.WantCount("child got TERM", 0)
}

// A thread that the Go runtime could not start would end drainit, and PID 1
// with it: nothing that a stop needs may need another one, not even with a log that blocks.
func TestWorkerThatFillsTheProcessTableIsKilledAtTheGrace(t *testing.T) {
	harness.NeedRoot(t)
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Stderr: harness.FullPipe(t),
			Setup: harness.Setup{UID: harness.OwnUID(), MaxProcs: 100},
			Args: harness.Line([]string{"-v", "--grace", "1s"}, harness.Script(`
				$SIG{TERM} = "IGNORE"; catch "USR1"; $SIG{TSTP} = $SIG{CONT} = sub { };
				while (defined(my $pid = fork)) { if (!$pid) { $SIG{USR1} = $SIG{TSTP} = "IGNORE"; forever } }
				say "full"; forever`)...)})
		p.WaitOut(`^full`)
		for range 20 {
			for _, sig := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGTSTP, syscall.SIGCONT,
				syscall.SIGURG, syscall.SIGWINCH} {
				p.Signal(sig)
			}
		}
		p.WaitOut(`^worker got USR1`)
		p.Signal(syscall.SIGTERM)
		p.WantExit(137)
		p.WantNothingLeft()
	})
}
