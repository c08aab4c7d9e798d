package tree

import (
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// hopping is a worker that exits with 0 on TERM and leaves a process that forks itself anew
// every few milliseconds: each of them has gone before a snapshot of it is done. Should
// nothing end it, it ends by itself.
const hopping = `
spawn {
	$SIG{TERM} = "IGNORE"; POSIX::setsid();
	my $end = time + 60; my $said;
	while (time < $end) {
		my $pid = fork;
		POSIX::_exit(0) if $pid;
		say "hops" unless $said++;
		nap 0.003;
	}
};
catch "TERM"; say "ready"; await "TERM"; exit 0`

// A stop whose grace ends with a kill is none that went well, though what was killed had
// lived for less than a snapshot: 137 and not the worker's 0.
func TestKilledInLessThanASnapshotIs137(t *testing.T) {
	harness.Need(t, "perl")
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		for range harness.Of(10, 2) {
			p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: harness.Line([]string{"--grace=300ms"}, harness.Script(hopping)...)})
			p.WaitOut(`^ready`)
			p.WaitOut(`^hops`)
			p.Signal(unix.SIGTERM)
			p.WantExit(137)
			p.WantLogged(`grace period of 300ms over: `, 1)
			p.WantNothingLeft()
			if t.Failed() {
				return
			}
		}
	})
}

// hardToKill are trees that ignore or never see TERM. Each says "ready" when
// all of it is there.
var hardToKill = map[string]string{
	"ignores every signal":    `ignore_all; spawn { ignore_all; say "ready"; forever }; forever`,
	"has sessions of its own": harness.Stubborn,
	"is what a worker leaves": `spawn { POSIX::setsid(); $SIG{TERM} = "IGNORE"; say "ready"; forever }; $SIG{TERM} = sub { exit 0 }; forever`,
	"is a daemon": `
		$SIG{TERM} = "IGNORE";
		waitpid spawn { POSIX::setsid(); my $parent = $$; spawn { nap 0.01 until getppid != $parent; say "ready"; forever } }, 0;
		forever`,
	"is stopped": `
		$SIG{TERM} = "IGNORE";
		my $child = spawn { kill STOP => $$; forever };
		waitpid $child, POSIX::WUNTRACED(); say "ready"; forever`,
	"stops again when it is continued": `
		$SIG{TERM} = $SIG{CONT} = sub { kill STOP => $$ };
		spawn { $SIG{TERM} = "IGNORE"; say "ready"; forever }; forever`,
}

// Not before the grace is over, and the moment that all are dead: the 5 s that drainit gives to a
// kill are a bound. Each is named.
func TestKillReachesEverything(t *testing.T) {
	harness.Need(t, "perl")
	workers := map[string][]string{"is one whose first thread has ended": {harness.WorkerBin, "headless"}}
	for name, tree := range hardToKill {
		workers[name] = harness.Script(tree)
	}
	for name, worker := range workers {
		t.Run(name, func(t *testing.T) {
			harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
				p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: harness.Line([]string{"--grace", "300ms"}, worker...)})
				p.WaitOut(`^ready`)
				began := time.Now()
				p.Signal(syscall.SIGTERM)
				p.WantExit(137)
				harness.WantTookAtLeast(t, began, 300*time.Millisecond)
				p.WantLogged(`grace period of 300ms over: killing (\w+\[\d+\] \([a-z ]+, \d+\.\ds old\)(, )?)+(; --grace gives more time)?"`, 1)
				p.WantLogged(`leaving 5s after SIGKILL`, 0)
				p.WantNothingLeft()
			})
		})
	}
}

// respawners are masters that start a new child for each that dies, and whose
// first child forks now and then: while they are killed one by one there is
// always a new one. All ignore TERM.
const respawners = `
my ($masters, $each) = @ARGV;
$SIG{TERM} = "IGNORE";
pipe my $r, my $w;
sub forker { for (1 .. 50) { nap 0.2; spawn { forever } } forever }
sub master {
	for (my $n = 0; ; $n++) {
		if ($n == $each) { close $w }
		if ($n >= $each) { wait }
		spawn { close $w; $n == 0 ? forker() : forever };
	}
}
for (1 .. $masters) { spawn { close $r; master() } }
close $w;
sysread $r, my $end, 1;
say "ready"; forever`

// Not as PID 1 nothing but a walk from process to process can kill them.
func TestManyThatForkWhileTheyAreKilledAllDie(t *testing.T) {
	harness.Need(t, "perl")
	masters := harness.Of(20, 3) // of 25 each
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: harness.Line([]string{"--grace", "1s"}, harness.Script(respawners, strconv.Itoa(masters), "24")...)})
		p.WaitOut(`^ready`)
		p.Signal(syscall.SIGTERM)
		p.WantExit(137)
		p.WantLogged(`grace period of 1s over: killing (perl\[\d+\] \([a-z ]+, [^)]*\), ){9}perl\[\d+\] \([a-z ]+, [^)]*\) and \d{2,} more`, 1)
		p.WantNothingLeft() // one that is not killed would live on, and start others
	})
}
