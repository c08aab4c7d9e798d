package inspect

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"drainit/test/harness"
)

// probed runs a test with a drainit that answers probes, and whose worker ends by USR1.
func probed(t *testing.T, test func(t *testing.T, p harness.Probed)) {
	t.Helper()
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		test(t, harness.LaunchProbed(t, harness.Launch{NoPID1: noPID1, Args: harness.EndsByUSR1()}))
	})
}

// wantHealthyDrain stops drainit, whose worker is alive until it is sent USR1.
func wantHealthyDrain(p harness.Probed, status int) {
	p.T.Helper()
	p.Signal(syscall.SIGTERM)
	p.WaitOut(`^got SIGTERM`)
	p.WantProbes("503 draining", "200 draining")
	p.Signal(syscall.SIGUSR1)
	p.WantExit(status)
}

// When the worker has been signalled, probes know already.
func TestProbesFollowThePhases(t *testing.T) {
	probed(t, func(t *testing.T, p harness.Probed) {
		p.WantProbes("200 running", "200 running")
		for n := range 3 {
			p.Signal(syscall.SIGTSTP)
			p.WaitOut(fmt.Sprintf(`(?s)(got SIGTSTP.*){%d}`, n+1))
			p.WantProbes("503 quiet", "200 quiet")
			p.Signal(syscall.SIGCONT)
			p.WaitErr(fmt.Sprintf(`(?s)(running again.*){%d}`, n+1))
			p.WantProbes("200 running", "200 running")
		}
		wantHealthyDrain(p, 7)
		if answer, err := harness.Get("http://" + p.Addr + "/healthz"); err == nil {
			t.Errorf("%q after the end", answer)
		}
	})
}

func TestReadinessFallsBeforeAStopDelay(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.LaunchProbed(t, harness.Launch{NoPID1: noPID1, Args: append([]string{"--stop-delay", "25s"}, harness.EndsByUSR1()...)})
		p.Signal(syscall.SIGTERM)
		p.WaitOut(`^got SIGTSTP`)
		p.WantProbes("503 draining", "200 draining")
		p.Signal(syscall.SIGUSR1)
		p.WantExit(7)
		p.WantGots("got SIGTSTP", "got SIGUSR1")
	})
}

// prober is a worker that prints what a readiness probe is answered in the moment in which it
// handles a signal. One that a busy machine kept from asking is cut off, and asks again.
const prober = `
use Socket;
my $port = shift @ARGV;
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
for my $s (qw(TSTP CONT TERM)) { $SIG{$s} = sub { say "$s under " . probe(); exit 7 if $s eq "TERM" } }
say "ready"; forever`

// No probe finds a drainit ready whose worker knows already that it is not to be.
func TestReadinessHasChangedBeforeTheWorkerIsSignalled(t *testing.T) {
	harness.Need(t, "perl")
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		port := harness.ReservePort(t)
		p := harness.LaunchAt(t, fmt.Sprintf("127.0.0.1:%d", port), harness.Launch{NoPID1: noPID1,
			Args: harness.Line([]string{harness.LongGrace}, harness.Script(prober, strconv.Itoa(port))...)})
		wantSteps(p.Init, []step{
			{syscall.SIGTSTP, "TSTP under 503 quiet\n"},
			{syscall.SIGCONT, "CONT under 200 running\n"},
			{syscall.SIGTSTP, "TSTP under 503 quiet\n"},
			{syscall.SIGTERM, "TERM under 503 draining\n"},
		})
	})
}

// wantUnhealthy waits until drainit is not healthy, as its worker has gone, and lets what
// that left end.
func wantUnhealthy(p harness.Probed, left int) {
	p.T.Helper()
	harness.WaitUntil(p.T, "not healthy", func() bool { return p.Get("/healthz") == "503 draining" })
	p.WantProbes("503 draining", "503 draining")
	harness.Kill(p.T, left, syscall.SIGUSR1)
	p.WantExit(3)
}

// The worker is dead, and what it left is not.
func TestHealthFallsWithTheWorker(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		stdin, end := harness.Pipe(t)
		p := harness.LaunchProbed(t, harness.Launch{NoPID1: noPID1, Stdin: stdin, Args: []string{"--", "sh", "-c",
			`"$0" listen -catch TERM,USR1 -end USR1 & read line; exit 3`, harness.WorkerBin}})
		left := p.ReadyPid(`^ready`)
		p.WantProbes("200 running", "200 running")
		end.Close()
		p.WaitErr(`exited with status 3 and left 1 process`)
		p.WaitOut(`^got SIGTERM`)
		wantUnhealthy(p, left)
	})
}

func TestHealthFallsWithTheWorkerInADrain(t *testing.T) {
	harness.Usual(t)
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.LaunchProbed(t, harness.Launch{NoPID1: noPID1, Args: []string{"--", "sh", "-c",
			`trap "exit 3" TERM; "$0" listen -catch TERM,USR1 -end USR1 & wait`, harness.WorkerBin}})
		left := p.ReadyPid(`^ready`)
		p.Signal(syscall.SIGTERM)
		wantUnhealthy(p, left)
	})
}

func TestWorkerThatHasDaemonizedIsHealthy(t *testing.T) {
	harness.Usual(t)
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.LaunchProbed(t, harness.Launch{NoPID1: noPID1, Args: []string{"--forking", "--", "sh", "-c",
			`"$0" listen -catch TERM,TSTP,USR1 -end USR1 & exit 0`, harness.WorkerBin}})
		p.WaitErr(`runs on in`)
		p.WantProbes("200 running", "200 running")
		p.Signal(syscall.SIGTSTP)
		p.WaitOut(`^got SIGTSTP`)
		p.WantProbes("503 quiet", "200 quiet")
		wantHealthyDrain(p, 0)
	})
}

// A shell that dies by the stop signal hands the work over: a probe in between
// must not have the platform kill it.
func TestHealthStaysWithTheHeir(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.LaunchProbed(t, harness.Launch{NoPID1: noPID1, Args: []string{"--", "sh", "-c",
			`"$0" listen -catch TERM,USR1 -end USR1 -exit 7; exit $?`, harness.WorkerBin}})
		successor := p.ReadyPid(`^ready`)
		p.Signal(syscall.SIGTERM)
		for !strings.Contains(p.Out(), "got SIGTERM") {
			if answer := p.Get("/healthz"); answer != "200 running" && answer != "200 draining" {
				t.Fatalf("/healthz: %q", answer)
			}
		}
		p.WantProbes("503 draining", "200 draining")
		harness.Kill(t, successor, syscall.SIGUSR1)
		p.WantExit(7)
	})
}
