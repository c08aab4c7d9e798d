package inspect

import (
	"fmt"
	"net"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"drainit/test/harness"
)

// A worker that starts and can't be seen would be restarted by the platform
// again and again.
func TestAddressThatCannotBeListenedOnGives125(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	harness.Must(t, err)
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	for _, addr := range []string{l.Addr().String(), ":" + port} {
		r := harness.RunToEnd(t, harness.Launch{NoPID1: true,
			Args: []string{"--health-addr", addr, "--log-format=text", "--", "echo", "started"}})
		if line := fmt.Sprintf("drainit: error: cannot start: --health-addr %s: address already in use\n",
			addr); r.Status != 125 || r.Out != "" || r.Err != line {
			t.Errorf("exit status %d, stdout %q, stderr %q, want %q", r.Status, r.Out, r.Err, line)
		}
	}
}

// The connections of the one before are still about to end, for a minute. A worker that held the socket
// would take the probes of a drainit that has gone, and never answer.
func TestRestartedDrainitListensAgain(t *testing.T) {
	harness.Usual(t)
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		port := harness.ReservePort(t)
		for range 2 {
			p := harness.LaunchProbed(t, port, harness.Launch{NoPID1: noPID1, Args: harness.EndsByUSR1()})
			if got := harness.DescriptorsOf(p.FirstChild()); strings.Contains(got, "socket:") {
				t.Errorf("the worker has\n%s", got)
			}
			wantEndsAlone(p)
		}
	})
}

// probedOnEach is a drainit that listens at this port of several addresses.
func probedOnEach(t *testing.T, port int, l harness.Launch) harness.Probed {
	t.Helper()
	p := harness.Probed{Init: harness.Run(t, l), Addr: fmt.Sprintf("127.0.0.1:%d", port)}
	p.WaitOut(`^ready`)
	p.WaitRunning()
	return p
}

func TestAllAddressesAreThoseOfIPv4AndIPv6(t *testing.T) {
	harness.Usual(t)
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		harness.Skip(t, "needs IPv6 on the loopback: "+err.Error())
	}
	l.Close()
	// IPv4 alone was asked for
	for host, six := range map[string]string{"": "200 running", "[::]": "200 running", "0.0.0.0": ""} {
		port := harness.ReservePort(t)
		addr := fmt.Sprintf("%s:%d", host, port)
		p := probedOnEach(t, port, harness.Launch{NoPID1: true, Args: append([]string{"--health-addr", addr},
			harness.EndsByUSR1()...)})
		if got, err := harness.Get(fmt.Sprintf("http://[::1]:%d/readyz", port)); got != six {
			t.Errorf("%q: %q, %v, want %q", host, got, err, six)
		}
		wantEndsAlone(p)
	}
}

func TestAllAddressesWithoutIPv6(t *testing.T) {
	t.Parallel()
	port := harness.ReservePort(t)
	wantEndsAlone(probedOnEach(t, port, harness.Launch{NoPID1: true,
		Under: []string{harness.WorkerBin, "noipv6"},
		Args:  append([]string{"--health-addr", fmt.Sprintf(":%d", port)}, harness.EndsByUSR1()...)}))
}

// What images and platforms probe with.
func TestClientsOfProbes(t *testing.T) {
	harness.Need(t, "busybox", "wget", "curl")
	p := harness.LaunchProbed(t, 0, harness.Launch{NoPID1: true, Args: harness.EndsByUSR1()})
	url := "http://" + p.Addr + "/readyz"
	clients := [][]string{
		{"busybox", "wget", "-q", "-O-", url}, {"wget", "-q", "-O-", url},
		{"busybox", "wget", "-q", "--spider", url}, {"wget", "-q", "--spider", url},
		{"curl", "-fsS", url}, {"curl", "-fsS", "--http1.0", url}, {"curl", "-fsSI", url},
		{"curl", "-fsS", url, url}, {"curl", "-fsS", url + "?x=y"},
	}
	for _, quiet := range []bool{false, true} {
		if quiet {
			p.Signal(syscall.SIGTSTP)
			p.WaitOut(`^got SIGTSTP`)
		}
		for _, client := range clients {
			if out, err := exec.Command(client[0], client[1:]...).CombinedOutput(); (err == nil) == quiet {
				t.Errorf("%q, quiet %v: %v, %q", client, quiet, err, out)
			}
		}
	}
}
