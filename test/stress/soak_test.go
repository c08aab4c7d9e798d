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
	harness.Need(t, "perl")
	t.Parallel()
	plan := soakPlan{2, 10, 5, 20, 1.5}
	switch {
	case *harness.SoakWhole:
		plan = soakPlan{10, 2000, 50, 500, 1.05}
	case harness.Of(1, 0) > 0:
		plan = soakPlan{10, 30, 50, 100, 1.15}
	}
	r, w := harness.Pipe(t)
	init := harness.Run(t, harness.Launch{Stdout: w, Args: append([]string{"-v"}, harness.Script(soaked, strconv.Itoa(plan.orphans))...)})
	p := &soaking{init, plan, r, bufio.NewReader(r)}
	w.Close()
	p.wantAnswer("ready")
	p.wantAnswer("ready")
	began := time.Now()
	var samples []soakSample
	for n := 1; n <= p.warmUp+p.steps; n++ {
		p.soak()
		s := soakSample{harness.StatusField(t, p.Pid(), "VmRSS"), harness.OpenFiles(t, p.Pid()), harness.StatusField(t, p.Pid(), "Threads")}
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
	harness.WaitUntil(p.T, "all orphans have been reaped", func() bool { return len(harness.ChildPids(p.Pid())) == 1 })
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
	t.Logf("RSS %d kB in the first tenth, %d kB in the last: %+.1f %%", before.RSS/tenth, after.RSS/tenth, 100*(grown-1))
	if grown > growth || after.files > before.files || after.threads > before.threads {
		t.Errorf("it grew from %+v to %+v", before, after)
	}
}
