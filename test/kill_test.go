package test

import (
	"syscall"
	"testing"
	"time"
)

// hardToKill are trees that ignore or never see TERM. Each says "ready" when
// all of it is there.
var hardToKill = map[string]string{
	"ignores every signal": `ignore_all; spawn { ignore_all; say "ready"; forever }; forever`,
	"has sessions of its own": `
		$SIG{TERM} = "IGNORE";
		spawn { POSIX::setsid(); spawn { POSIX::setsid(); say "ready"; forever }; forever }; forever`,
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
	"is one whose first thread has ended": `THREADS`,
}

func TestKillReachesEverything(t *testing.T) {
	need(t, "perl")
	for name, tree := range hardToKill {
		t.Run(name, func(t *testing.T) {
			waitingModes(t, func(t *testing.T, noPID1 bool) {
				command := script(tree)
				if tree == "THREADS" {
					command = []string{workerBin, "headless"}
				}
				p := launch(t, Launch{NoPID1: noPID1, Args: line([]string{"--grace", "300ms"}, command...)})
				p.waitOut(`^ready`)
				p.signal(syscall.SIGTERM)
				p.wantExit(137)
				p.wantLogged(`grace period of 300ms over: killing `, 1)
				p.wantNothingLeft()
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
func TestFiveHundredThatForkWhileTheyAreKilledAllDie(t *testing.T) {
	need(t, "perl")
	bothModes(t, func(t *testing.T, noPID1 bool) {
		p := launch(t, Launch{NoPID1: noPID1, Args: line([]string{"--grace", "1s"}, script(respawners, "20", "24")...)})
		p.waitOut(`^ready`)
		began := time.Now()
		p.signal(syscall.SIGTERM)
		p.wantExit(137)
		wantTook(t, began, time.Second, patience)
		p.wantLogged(`grace period of 1s over: killing (perl\[\d+\] \([a-z ]+, [^)]*\), ){9}perl\[\d+\] \([a-z ]+, [^)]*\) and \d{3,} more`, 1)
		p.wantLogged(`still alive`, 0)
		p.wantNothingLeft()
	})
}

// The 5 s that drainit gives to a kill are a bound too.
func TestKillEndsTheMomentAllAreDead(t *testing.T) {
	need(t, "perl")
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		p := launch(t, Launch{NoPID1: noPID1, Args: line([]string{"--grace", "0"}, script(hardToKill["has sessions of its own"])...)})
		p.waitOut(`^ready`)
		p.signal(syscall.SIGTERM)
		p.wantExit(137)
		p.wantLogged(`leaving 5s after SIGKILL`, 0)
		p.wantLogged(`stopped after [0-4]\.\ds: killed perl\[\d+\], perl\[\d+\], perl\[\d+\]`, 1)
		p.wantNothingLeft()
	})
}
