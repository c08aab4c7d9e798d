package inspect

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// prober is a worker that prints what its parent is called and what a readiness probe is answered in the
// moment in which it handles a signal. One that a busy machine kept from asking is cut off, and asks again.
const prober = `
use Socket;
my $port = shift @ARGV;
sub title { open my $f, "<", "/proc/" . getppid . "/comm" or die $!; my $t = <$f>; chomp $t; $t }
sub probe {
	my $all = "";
	until ($all ne "") {
		socket my $s, PF_INET, SOCK_STREAM, 0 or die $!;
		connect $s, sockaddr_in($port, INADDR_LOOPBACK) or die $!;
		syswrite $s, "GET /readyz HTTP/1.1\r\n\r\n";
		1 while sysread $s, $all, 4096, length $all;
	}
	join " ", $all =~ m{^HTTP/1\.1 (\d+) .*\r\n\r\n(.*)\n$}s;
}
for my $s (qw(TSTP CONT TERM)) { $SIG{$s} = sub { my $t = title(); say "$s under $t, " . probe(); exit 7 if $s eq "TERM" } }
say "ready"; forever`

// No probe finds a drainit ready whose worker knows already that it is not to be. A stop delay is a drain
// that has not signalled the worker yet.
func TestTitleAndReadinessHaveChangedBeforeTheWorkerIsSignalled(t *testing.T) {
	harness.Need(t, "perl")
	type step struct {
		sig  syscall.Signal
		says string
	}
	for delay, steps := range map[string][]step{
		"0": {
			{unix.SIGTSTP, "TSTP under drainit:quiet, 503 quiet"}, {unix.SIGCONT, "CONT under drainit:run, 200 running"},
			{unix.SIGTSTP, "TSTP under drainit:quiet, 503 quiet"}, {unix.SIGTERM, "TERM under drainit:drain, 503 draining"},
		},
		"1s": {{unix.SIGTERM, "TSTP under drainit:drain, 503 draining"}, {0, "TERM under drainit:drain, 503 draining"}},
	} {
		t.Run("stop delay "+delay, func(t *testing.T) {
			harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
				port := harness.ReservePort(t)
				p := harness.LaunchAt(t, fmt.Sprintf("127.0.0.1:%d", port), harness.Launch{NoPID1: noPID1,
					Args: harness.Line([]string{harness.LongGrace, "--stop-delay", delay}, harness.Script(prober, strconv.Itoa(port))...)})
				want := "ready\n"
				for n, step := range steps {
					if step.sig != 0 {
						p.Signal(step.sig)
					}
					p.WaitOut(fmt.Sprintf(`\A(.*\n){%d}`, n+2))
					want += step.says + "\n"
				}
				p.WantExit(7)
				if p.Out() != want {
					t.Errorf("stdout:\n%s\nwant:\n%s", p.Out(), want)
				}
			})
		})
	}
}

// Probes must not find a drainit before there is a worker.
func TestTitleComesWithTheWorker(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: listening()})
		// The second is what sets the stage. An exec closes descriptors before it sets the name.
		order, seen := []string{harness.Comm(os.Getpid()), "worker", "drainit", "drainit:start", "drainit:run"}, 0
		for deadline := time.Now().Add(harness.Patience); order[seen] != "drainit:run"; {
			title := harness.Comm(p.Pid())
			i := slices.Index(order, title)
			if i < seen || time.Now().After(deadline) {
				t.Fatalf("the title is %q, and was %q before", title, order[seen])
			}
			seen = max(seen, i)
		}
		if got := harness.DescriptorsOf(t, p.Pid()); strings.Contains(got, "socket:") { // without --health-addr
			t.Errorf("drainit has\n%s", got)
		}
		p.Signal(unix.SIGTERM)
		p.Wait()
	})
}

func TestTitleWithoutProcAndWithoutRights(t *testing.T) {
	harness.NeedRoot(t)
	for name, setup := range map[string]harness.Setup{
		"no /proc":       {Proc: "none"},
		"read-only root": {ReadOnly: true},
		"plain user":     {UID: harness.PlainUser},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := harness.Run(t, harness.Launch{Setup: setup, Args: listening()})
			p.WaitReady()
			p.Signal(unix.SIGTSTP)
			p.WaitTitle("drainit:quiet")
			p.Signal(unix.SIGTERM)
			p.WantExit(7)
		})
	}
}
