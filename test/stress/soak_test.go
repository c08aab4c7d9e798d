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

// What is measured is what comes after the warm-up, in which a Go program takes the
// memory that it needs.
const (
	soakSignals = 50 // in each step
	soakWarmUp  = 10 // steps
)

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
	pipe    *os.File
	answers *bufio.Reader
	orphans int // in each step
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
	// A collection more or less is some percent of the memory: in a short run it shows.
	steps, growth, orphans := 30, 1.15, 100
	if *harness.SoakWhole {
		steps, growth, orphans = 2000, 1.05, 500
	}
	r, w := harness.Pipe(t)
	p := &soaking{harness.Run(t, harness.Launch{Stdout: w, Args: append([]string{"-v"}, harness.Script(soaked, strconv.Itoa(orphans))...)}), r, bufio.NewReader(r), orphans}
	w.Close()
	for range 2 {
		p.wantAnswer("ready")
	}
	began := time.Now()
	var samples []soakSample
	for n := 1; n <= soakWarmUp+steps; n++ {
		p.soak()
		if n > soakWarmUp {
			samples = append(samples, p.sample())
		}
		if n > soakWarmUp && (n-soakWarmUp)%(steps/10) == 0 || n == soakWarmUp {
			t.Logf("%9d orphans, %7d signals, %4.0f s: %v", n*orphans, n*soakSignals, time.Since(began).Seconds(), p.sample())
		}
	}
	wantFlat(t, samples, growth)
	p.Signal(unix.SIGTERM)
	p.WantExit(0)
}

// soak is one step: each signal is answered before the next is sent.
func (p *soaking) soak() {
	p.T.Helper()
	kinds := []syscall.Signal{unix.SIGUSR1, unix.SIGHUP, unix.SIGWINCH, unix.SIGTSTP, unix.SIGCONT}
	for n := range soakSignals {
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
