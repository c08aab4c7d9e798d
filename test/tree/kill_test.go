package tree

import (
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/signals"
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
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		for range harness.Of(10, 2) {
			p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: harness.Line([]string{"--grace=300ms"},
				harness.Script(hopping)...)})
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
	"is what a worker leaves": `$SIG{TERM} = sub { exit 0 }; spawn { POSIX::setsid(); $SIG{TERM} = ` +
		`"IGNORE"; say "ready"; forever }; forever`,
	"is a daemon": `
		$SIG{TERM} = "IGNORE";
		waitpid spawn {
			POSIX::setsid(); my $parent = $$;
			spawn { nap 0.01 until getppid != $parent; say "ready"; forever }
		}, 0;
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
	workers := map[string][]string{"is one whose first thread has ended": {harness.WorkerBin, "headless"}}
	for name, tree := range hardToKill {
		workers[name] = harness.Script(tree)
	}
	for name, worker := range workers {
		t.Run(name, func(t *testing.T) {
			harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
				p := harness.Run(t, harness.Launch{NoPID1: noPID1,
					Args: harness.Line([]string{"--grace", "300ms"}, worker...)})
				p.WaitOut(`^ready`)
				began := time.Now()
				p.Signal(syscall.SIGTERM)
				p.WantExit(137)
				harness.WantTookAtLeast(t, began, 300*time.Millisecond)
				p.WantLogged(`grace period of 300ms over: killing (\w+\[\d+\] \([a-z ]+, \d+\.\ds old\)(, `+
					`)?)+(; --grace gives more time)?"`, 1)
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
	masters := harness.Of(20, 3) // of 25 each
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: harness.Line([]string{"--grace", "1s"},
			harness.Script(respawners, strconv.Itoa(masters), "24")...)})
		p.WaitOut(`^ready`)
		p.Signal(syscall.SIGTERM)
		p.WantExit(137)
		p.WantLogged(`grace period of 1s over: killing (perl\[\d+\] \([a-z ]+, [^)]*\), ){9}perl\[\d+\] `+
			`\([a-z ]+, [^)]*\) and \d{2,} more`, 1)
		p.WantNothingLeft() // one that is not killed would live on, and start others
	})
}

// manyStarts starts n inits, some at a time, and hands over each.
func manyStarts(t *testing.T, n int, launchOne func(i int) *harness.Init,
	check func(i int, p *harness.Init)) {
	t.Helper()
	const atATime = 16
	for first := 0; first < n; first += atATime {
		var running []*harness.Init
		for i := first; i < min(n, first+atATime); i++ {
			running = append(running, launchOne(i))
		}
		for i, p := range running {
			check(first+i, p)
		}
	}
}

// These workers also exit about as early as they can: none may be missed.
func TestExitStatusIsTheWorkersExactly(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		n := harness.Of(256, 16)
		statusOf := func(i int) int { return i * 255 / (n - 1) }
		manyStarts(t, n, func(i int) *harness.Init {
			return harness.Run(t, harness.Launch{NoPID1: noPID1,
				Args: []string{"sh", "-c", "exit " + strconv.Itoa(statusOf(i))}})
		}, func(i int, p *harness.Init) {
			p.WantExit(statusOf(i))
			if lines := harness.JsonLines(t, p.Err()); len(lines) != min(statusOf(i), 1) { // none of status 0
				t.Errorf("a worker that ended by itself and left nothing: %s", p.Err())
			}
		})
	})
}

// For ten of these the status that wait4 gives has one more bit: a core was written.
func TestWorkerKilledBySignalNGives128PlusN(t *testing.T) {
	harness.Usual(t)
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		fatals := []syscall.Signal{syscall.SIGHUP, syscall.SIGSEGV, syscall.SIGKILL, syscall.SIGTERM, 34, 64}
		if harness.Of(1, 0) == 1 { // all whose default action ends a process (signal(7))
			harmless := []syscall.Signal{syscall.SIGCHLD, syscall.SIGCONT, syscall.SIGSTOP, syscall.SIGTSTP,
				syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGURG, syscall.SIGWINCH}
			fatals = nil
			for sig := syscall.Signal(1); sig <= 64; sig++ {
				if !slices.Contains(harmless, sig) {
					fatals = append(fatals, sig)
				}
			}
		}
		manyStarts(t, len(fatals), func(i int) *harness.Init {
			return harness.Run(t, harness.Launch{NoPID1: noPID1, Dir: t.TempDir(),
				Args: []string{"sh", "-c", "ulimit -c $(ulimit -H -c); kill -$0 $$; exit 99",
					strconv.Itoa(int(fatals[i]))}})
		}, func(i int, p *harness.Init) {
			p.WantExit(128 + int(fatals[i]))
			p.WantLogged(`sh\[\d+\] was killed by `+regexp.QuoteMeta(signals.Name(fatals[i]))+
				`, which drainit did not send`, 1)
			p.WantLogged(`^.+$`, 2) // and the end
		})
	})
}

// The kernel is to kill the worker before drainit, which else takes the whole container with
// it: drainit has a low oom_score_adj, where it may have that (CAP_SYS_RESOURCE). The worker, and
// what it starts, has the one that drainit was given. A drainit that may not lower it says nothing:
// it is so for every plain user, and in most containers.
func TestOutOfMemoryTakesTheWorkerBeforeDrainit(t *testing.T) {
	mayLower := exec.Command("/bin/sh", "-c", "echo -999 >/proc/self/oom_score_adj").Run() == nil
	for _, uid := range []int{0, harness.PlainUser} {
		t.Run(fmt.Sprint("user ", uid), func(t *testing.T) {
			if uid != 0 {
				harness.NeedRoot(t)
			}
			harness.BothModes(t, func(t *testing.T, noPID1 bool) {
				t.Parallel()
				worker := harness.Script(`spawn { say "child $$"; forever }; catch "TERM"; say "ready ` +
					`$$"; await "TERM"; exit 7`)
				p := harness.Run(t, harness.Launch{NoPID1: noPID1, Setup: harness.Setup{UID: uid},
					Args:  harness.Line([]string{harness.LongGrace}, worker...),
					Under: []string{"/bin/sh", "-c", `echo 500 >/proc/self/oom_score_adj && exec "$0" "$@"`}})
				wantScore := func(pid, want int) {
					if got := strings.TrimSpace(harness.TextOf(t,
						fmt.Sprintf("/proc/%d/oom_score_adj", pid))); got != fmt.Sprint(want) {
						t.Errorf("%d has oom_score_adj %s, want %d", pid, got, want)
					}
				}
				wantScore(p.ReadyPid("^ready"), 500)
				wantScore(p.ReadyPid("^child"), 500)
				p.WaitTitle("drainit:run") // what the worker need not wait for is done by then
				if mayLower && uid == 0 {
					wantScore(p.Pid(), -999)
				} else {
					wantScore(p.Pid(), 500)
				}
				p.Signal(unix.SIGTERM)
				p.WantExit(7)
				p.WantLogged(`oom`, 0)
			})
		})
	}
}
