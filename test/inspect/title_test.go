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
for my $s (qw(TSTP CONT TERM)) {
	$SIG{$s} = sub { my $t = title(); say "$s under $t, " . probe(); exit 7 if $s eq "TERM" }
}
say "ready"; forever`

// No probe finds a drainit ready whose worker knows already that it is not to be. A stop delay is a drain
// that has not signalled the worker yet.
func TestTitleAndReadinessHaveChangedBeforeTheWorkerIsSignalled(t *testing.T) {
	type step struct {
		sig  syscall.Signal
		says string
	}
	for delay, steps := range map[string][]step{
		"0": {
			{unix.SIGTSTP, "TSTP under drainit:quiet, 503 quiet"},
			{unix.SIGCONT, "CONT under drainit:run, 200 running"},
			{unix.SIGTSTP, "TSTP under drainit:quiet, 503 quiet"},
			{unix.SIGTERM, "TERM under drainit:drain, 503 draining"},
		},
		"1s": {{unix.SIGTERM, "TSTP under drainit:drain, 503 draining"},
			{0, "TERM under drainit:drain, 503 draining"}},
	} {
		t.Run("stop delay "+delay, func(t *testing.T) {
			harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
				port := harness.ReservePort(t)
				p := harness.LaunchProbed(t, port, harness.Launch{NoPID1: noPID1,
					Args: harness.Line([]string{harness.LongGrace, "--stop-delay", delay},
						harness.Script(prober, strconv.Itoa(port))...)})
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

// An application that lives and does not listen is healthy and not ready; once it listens, drainit no
// longer asks.
func TestReadyOnceTheApplicationListens(t *testing.T) {
	const app = `
const server = require("net").createServer(), ready = () => console.log("listens")
process.on("SIGUSR2", () => server.listen(+process.argv[1], "localhost", ready))
process.on("SIGTSTP", () => server.close(() => console.log("closed")))
process.on("SIGCONT", () => {}).on("SIGTERM", () => process.exit(7))
setInterval(() => {}, 1e9)
console.log("ready")`
	askedOf(t, func(t *testing.T, run func(harness.Launch) *container) {
		addr, port := fmt.Sprintf("127.0.0.1:%d",
			harness.ReservePort(t)), strconv.Itoa(harness.ReservePort(t))
		c := run(harness.Launch{Args: []string{harness.LongGrace, "--health-addr", addr, "--ready-port", port,
			"--", "node", "-e", app, port}})
		p := harness.Probed{Init: c.Init, Addr: addr}
		c.WaitOut(`^ready`)
		c.WaitTitle("drainit:startup")
		inPhase{"starting", false, 1}.check(t, c.Ask)
		c.Ask("status").Want(0, `\Astarting: drainit\[\d+\], port `+port+
			` of loopback does not accept yet, 1 process below it\n`, "")
		p.WantProbes("503 starting", "200 starting")
		c.Ask("quiet").WantSilent()
		c.WantTitle("drainit:quiet")
		c.Ask("resume").WantSilent()
		c.WantTitle("drainit:startup")
		c.Signal(unix.SIGUSR2)
		c.WaitTitle("drainit:run")
		inPhase{"running", false, 1}.check(t, c.Ask)
		p.WantProbes("200 running", "200 running")
		c.Ask("quiet").WantSilent()
		c.WaitOut(`(?s)(closed.*){2}`)
		c.Ask("resume").WantSilent()
		c.WantTitle("drainit:run")
		c.Signal(unix.SIGTERM)
		c.WantExit(7)
	})
}

// Probes must not find a drainit before there is a worker.
func TestTitleComesWithTheWorker(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: listening()})
		// The second is what sets the stage. An exec closes descriptors before it sets the name.
		order, seen := []string{harness.Comm(os.Getpid()), "worker", "drainit",
			"drainit:start", "drainit:run"}, 0
		for deadline := time.Now().Add(harness.Patience); order[seen] != "drainit:run"; {
			title := harness.Comm(p.Pid())
			i := slices.Index(order, title)
			if i < seen || time.Now().After(deadline) {
				t.Fatalf("the title is %q, and was %q before", title, order[seen])
			}
			seen = max(seen, i)
		}
		if got := harness.DescriptorsOf(p.Pid()); strings.Contains(got, "socket:") { // without --health-addr
			t.Errorf("drainit has\n%s", got)
		}
		p.Signal(unix.SIGTERM)
		p.Wait()
	})
}
