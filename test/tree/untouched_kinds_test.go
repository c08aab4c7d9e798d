package tree

import (
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// childKind is a kind of program that drains from TERM, and records each that it gets.
type childKind struct {
	name     string
	command  string // the program, and its file in testdata/untouched; empty where start says it
	idle     bool   // it sleeps until it is signalled, and never wakes up by itself
	usual    bool   // it is tried in the usual tests
	children int    // how many a worker starts at most
}

// childKinds are the programs whose threads sleep, wake up or compute in every way.
var childKinds = []childKind{
	{"python, handler", "python3 child.py handler 0", true, true, 10},
	{"python, 20 threads", "python3 child.py handler 20", false, false, 10},
	{"python, 100 threads", "python3 child.py handler 100", false, false, 4},
	{"python, sigwait in a thread", "python3 child.py sigwait 0", false, false, 10},
	{"python, sigwait and 100 threads", "python3 child.py sigwait 100", false, false, 4},
	{"python, signalfd", "python3 child.py signalfd 0", true, false, 10},
	{"node, http server", "node child.js http", false, false, 10},
	{"node, 10 ms timer", "node child.js timer", false, false, 10},
	{"go", "", false, false, 10},
	{"java", "", false, false, 4},
	{"perl", "perl child.pl", true, true, 10},
	{"python, busy", "python3 child.py busy 0", false, false, 2},
}

func (k childKind) start(t *testing.T) []string {
	t.Helper()
	switch k.name {
	case "go":
		return []string{harness.WorkerBin, "drains"}
	case "java":
		return harness.Java(t, "testdata/untouched/Drains.java")
	}
	words := strings.Fields(k.command)
	harness.Need(t, words[0])
	words[1] = harness.Testdata(t, "untouched", words[1])
	return words
}

// settled waits until no process below the init has woken up for a while, as a program
// does for some time after it has said that it is ready.
func settled(p *harness.Init) {
	p.T.Helper()
	const window = 200 * time.Millisecond
	pids, before := p.Alive(), -1
	harness.WaitUntil(p.T, "the children sleep", func() bool {
		now := 0
		for _, pid := range pids {
			now += harness.WakeUps(p.T, pid)
		}
		same := now == before
		before = now
		if !same {
			time.Sleep(window)
		}
		return same
	})
}

// manager signals each of its children, one after the other, waits until each has taken it, and
// leaves. The children have one thread and drain for a while, asleep.
const manager = `
pipe my $taken, my $take;
my $none = POSIX::SigSet->new;
sub sleep_until { POSIX::sigsuspend($none) until $got{TERM} }
POSIX::sigprocmask(POSIX::SIG_BLOCK, POSIX::SigSet->new(POSIX::SIGTERM));
my @children = map { spawn {
	$SIG{TERM} = sub { syswrite $take, "x" unless $got{TERM}++ };
	sleep_until;
	POSIX::sigprocmask(POSIX::SIG_SETMASK, $none);
	nap 1.5;
	nap 0.1 if $got{TERM} > 1; # the nap was cut short
	say "TERM came $got{TERM} times";
} } 1 .. shift @ARGV;
$SIG{TERM} = sub { $got{TERM}++ };
say "ready";
sleep_until;
for (@children) { kill "TERM", $_; nap 0.0007 }
my $left = @children;
$left -= sysread $taken, my $bytes, $left while $left;
nap 0.003;
POSIX::_exit(7)`

// hog takes a processor from all others, for some milliseconds at a time.
const hog = `while (1) { my $n = int rand 20000; 1 while $n--; select undef, undef, undef, 0.012 * rand }`

// Where time is taken from the processors, a run of a process may be too short to be counted as
// time. It is counted as a switch: none of many that were signalled is called untouched.
//
//	go test ./test/tree -run NoneOfMany -v -trials 300000 -timeout 2h
func TestNoneOfManyThatAManagerSignalsIsCalledUntouched(t *testing.T) {
	t.Parallel()
	harness.Need(t, "perl")
	children, rounds := harness.Of(50, 20), 1
	if *trials > 0 {
		children, rounds = 300, *trials/300
		harness.Need(t, "chrt", "taskset")
		for cpu := range runtime.NumCPU() {
			harness.StartBeside(t, "chrt", "-f", "10", "taskset", "-c", strconv.Itoa(cpu), "perl", "-e", hog)
		}
	}
	for range rounds {
		p := harness.Start(t, harness.Line([]string{"-v", "--grace", "60s"}, harness.Script(manager, strconv.Itoa(children))...)...)
		p.WaitOut(`^ready`)
		p.Signal(unix.SIGTERM)
		p.WantExit(7)
		p.WantCount("TERM came 1 times", children)
		p.WantLogged(untouched, 0)
	}
}
