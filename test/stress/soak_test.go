package stress

import (
	"bufio"
	"fmt"
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

// soakSample is what drainit holds after a step.
type soakSample struct{ memory, files, threads int }

// TestSoak reaps orphans and passes on signals, one drainit for all of them, and
// looks whether it holds more in the end than at first:
//
//	go test ./test/stress -run TestSoak -v -soak -timeout 30m
func TestSoak(t *testing.T) {
	harness.Need(t, "perl")
	t.Parallel()
	t.Run("short", func(t *testing.T) { soakBy(t, soakPlan{2, 10, 5, 20, 1.5}) })
	t.Run("long", func(t *testing.T) {
		harness.Full(t)
		plan := soakPlan{10, 30, 50, 100, 1.15}
		if *harness.SoakWhole {
			plan = soakPlan{10, 2000, 50, 500, 1.05}
		}
		soakBy(t, plan)
	})
}

func soakBy(t *testing.T, plan soakPlan) {
	t.Helper()
	r, w := harness.Pipe(t)
	p := &soaking{harness.Run(t, harness.Launch{Stdout: w, Args: append([]string{"-v"}, harness.Script(soaked, strconv.Itoa(plan.orphans))...)}), plan, r, bufio.NewReader(r)}
	w.Close()
	for range 2 {
		p.wantAnswer("ready")
	}
	began := time.Now()
	var samples []soakSample
	for n := 1; n <= p.warmUp+p.steps; n++ {
		p.soak()
		if n > p.warmUp {
			samples = append(samples, p.sample())
		}
		if n > p.warmUp && (n-p.warmUp)%(p.steps/10) == 0 || n == p.warmUp {
			t.Logf("%9d orphans, %7d signals, %4.0f s: %v", n*p.orphans, n*p.signals, time.Since(began).Seconds(), p.sample())
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

func (p *soaking) sample() soakSample {
	p.T.Helper()
	return soakSample{harness.StatusField(p.T, p.Pid(), "VmRSS"), harness.OpenFiles(p.T, p.Pid()), harness.StatusField(p.T, p.Pid(), "Threads")}
}

// String is the sample for a person.
func (s soakSample) String() string {
	return fmt.Sprintf("RSS %d kB, %d descriptors, %d threads", s.memory, s.files, s.threads)
}

// wantFlat compares the first tenth of the samples with the last.
func wantFlat(t *testing.T, samples []soakSample, growth float64) {
	t.Helper()
	tenth := len(samples) / 10
	first, last := samples[:tenth], samples[len(samples)-tenth:]
	before, after := meanMemory(first), meanMemory(last)
	t.Logf("RSS %.0f kB in the first tenth, %.0f kB in the last: %+.1f %%", before, after, 100*(after/before-1))
	if after > before*growth {
		t.Errorf("the memory grew from %.0f kB to %.0f kB", before, after)
	}
	if first[0].files < last[tenth-1].files {
		t.Errorf("it had %d descriptors and has %d", first[0].files, last[tenth-1].files)
	}
	if most := maxThreads(first); most < maxThreads(last) {
		t.Errorf("it had %d threads and has %d", most, maxThreads(last))
	}
}

func meanMemory(samples []soakSample) float64 {
	sum := 0
	for _, s := range samples {
		sum += s.memory
	}
	return float64(sum) / float64(len(samples))
}

func maxThreads(samples []soakSample) (most int) {
	for _, s := range samples {
		most = max(most, s.threads)
	}
	return most
}
