package stress

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// crowdOf is a worker with many processes of one kind below it; each way one process says
// that it got TERM, and works on.
//
//	sleepers   the worker handles TERM, the others don't
//	readers    the worker dies of TERM: a writer handles it, and orphans that read its pipe do
//	blockers   the worker dies of TERM: one child handles it, the others block every signal
//	handlers   the worker dies of TERM: all children handle it
const crowdOf = `
my ($kind, $count) = @ARGV;
pipe my $ups, my $up; pipe my $in, my $out;
sub up { syswrite $up, "." }
sub rest { POSIX::pause() while 1 }
sub deafly { $SIG{TERM} = sub { } }
my %one = (
	sleepers => sub { up; rest },
	readers => sub { deafly; close $out; up; 1 while !defined sysread $in, my $byte, 1 },
	blockers => sub { my $all = POSIX::SigSet->new; $all->fillset; POSIX::sigprocmask(POSIX::SIG_BLOCK(), $all); up; rest },
	handlers => sub { deafly; up; rest },
);
for (1 .. $count) { spawn { $one{$kind}->() } }
if ($kind eq "sleepers") { catch "TERM"; up } else { spawn { catch "TERM"; up; rest } }
for (0 .. $count) { sysread $ups, my $byte, 1 }
close $out;
say "ready"; rest`

// Among many processes drainit sees a stop signal, the first one as the second, whatever they
// do.
func TestStopSignalIsSeenAmongACrowd(t *testing.T) {
	harness.NeedRoot(t)
	harness.Need(t, "perl", "setpriv")
	for _, c := range []struct {
		kind   string
		setup  harness.Setup
		as     []string // before the worker's command
		status int
	}{
		{"sleepers", harness.Setup{}, nil, 137},
		{"readers", harness.Setup{}, nil, 143},
		{"blockers", harness.Setup{}, nil, 143},
		{"handlers", harness.Setup{Docker: true}, harness.AsNobody, 143},
	} {
		for _, count := range []int{50, 1000} {
			t.Run(fmt.Sprint(c.kind, " ", count), func(t *testing.T) {
				if count > 50 {
					harness.Full(t)
				}
				p := harness.Run(t, harness.Launch{Setup: c.setup,
					Args: harness.Line([]string{harness.LongGrace}, slices.Concat(c.as, harness.Script(crowdOf, c.kind, strconv.Itoa(count)))...)})
				p.WaitReady()
				p.Signal(unix.SIGTERM)
				p.WaitOut(`^worker got TERM$`)
				harness.PastTheSameRequest(p)
				p.Signal(unix.SIGTERM) // without which drainit would wait
				p.WantExit(c.status)
				p.WantCount("worker got TERM", 1)
				p.WantLogged(`second stop signal, force-stop: `, 1)
				p.WantNothingLeft()
			})
		}
	}
}
