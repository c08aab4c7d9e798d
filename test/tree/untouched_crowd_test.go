package tree

import (
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

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
		if strings.Contains(p.Err(), untouched) {
			t.Errorf("one that was signalled is called untouched:\n%s", p.Err())
		}
	}
}
