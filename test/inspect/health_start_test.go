package inspect

import (
	"fmt"
	"net"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"drainit/test/harness"
)

// listenElsewhere takes a port of the loopback, as another server would.
func listenElsewhere(t *testing.T, host string) string {
	t.Helper()
	l, err := net.Listen("tcp", host+":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

// A worker that starts and can't be seen would be restarted by the platform
// again and again.
func TestAddressThatCannotBeListenedOnGives125(t *testing.T) {
	harness.Usual(t)
	wants := make(map[string]string)
	t.Run("an address of others", func(t *testing.T) {
		const elsewhere = "192.0.2.77:8080" // RFC 5737
		if l, err := net.Listen("tcp", elsewhere); err == nil {
			l.Close()
			harness.Skip(t, "needs net.ipv4.ip_nonlocal_bind=0, or the address of another machine can be listened on")
		}
		wants[elsewhere] = "cannot assign requested address"
	})
	for _, host := range loopbacks(t) {
		taken := listenElsewhere(t, host)
		_, port, _ := net.SplitHostPort(taken)
		wants[taken], wants[":"+port] = "address already in use", "address already in use"
	}
	for addr, want := range wants {
		t.Run(addr, func(t *testing.T) {
			harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
				for _, l := range []harness.Launch{{Args: []string{"--health-addr", addr}}, {Env: []string{"DRAINIT_HEALTH_ADDR=" + addr}}} {
					l.NoPID1 = noPID1
					l.Args = append(l.Args, "--log-format=text", "--", "echo", "started")
					r := harness.RunToEnd(t, l)
					if line := fmt.Sprintf("drainit: error: cannot start: --health-addr %s: %s\n", addr, want); r.Status != 125 || r.Out != "" || r.Err != line {
						t.Errorf("exit status %d, stdout %q, stderr %q, want %q", r.Status, r.Out, r.Err, line)
					}
				}
			})
		})
	}
}

func TestNoAddressGives125(t *testing.T) {
	for _, addr := range []string{"drainit:8080", "localhost", ":0", ":http", "127.0.0.1", "::1:8080"} {
		for _, l := range []harness.Launch{{Args: []string{"--health-addr", addr}}, {Env: []string{"DRAINIT_HEALTH_ADDR=" + addr}}} {
			l.NoPID1 = true
			l.Args = append(l.Args, "--", "echo", "started")
			r := harness.RunToEnd(t, l)
			line := regexp.MustCompile(fmt.Sprintf(`^drainit: (--health-addr|DRAINIT_HEALTH_ADDR): invalid value %q: want :8080 or 127.0.0.1:8080, an address and not a name\n$`, addr))
			if r.Status != 125 || r.Out != "" || !line.MatchString(r.Err) {
				t.Errorf("exit status %d, stdout %q, stderr %q", r.Status, r.Out, r.Err)
			}
		}
	}
}

func TestHealthAddressIsASetting(t *testing.T) {
	addr := fmt.Sprintf("127.0.0.1:%d", harness.ReservePort(t))
	for _, tt := range []struct {
		flags []string
		env   string
		want  string
	}{
		{nil, addr, "--health-addr " + addr},
		{nil, "", "the defaults"},
		{[]string{"--health-addr=" + addr}, "nonsense", "--health-addr " + addr},
	} {
		if line := harness.SettingsLine(t, tt.flags, []string{"DRAINIT_HEALTH_ADDR=" + tt.env}); !harness.Settles(line, tt.want) {
			t.Errorf("no %q in %q", tt.want, line)
		}
	}
}

// The connections of the one before are still about to end, for a minute.
func TestRestartedDrainitListensAgain(t *testing.T) {
	harness.Usual(t)
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		addr := fmt.Sprintf("127.0.0.1:%d", harness.ReservePort(t))
		for range 3 {
			p := harness.LaunchAt(t, addr, harness.Launch{NoPID1: noPID1, Args: harness.EndsByUSR1()})
			wantEndsAlone(p)
		}
	})
}

// A worker that held the socket would take the probes of a drainit that has
// gone, and never answer.
func TestWorkerDoesNotInheritTheListener(t *testing.T) {
	probed(t, func(t *testing.T, p harness.Probed) {
		if got := harness.DescriptorsOf(t, p.FirstChild()); strings.Contains(got, "socket:") {
			t.Errorf("the worker has\n%s", got)
		}
		p.IdleFiles()
		wantEndsAlone(p)
	})
}

func TestNoSocketWithoutTheFlag(t *testing.T) {
	p := harness.Run(t, harness.Launch{NoPID1: true, Args: harness.EndsByUSR1()})
	p.WaitOut(`^ready`)
	if got := harness.DescriptorsOf(t, p.Pid()); strings.Contains(got, "socket:") {
		t.Errorf("drainit has\n%s", got)
	}
}

// loopbacks are the loopback addresses that there are.
func loopbacks(t *testing.T) []string {
	t.Helper()
	hosts := []string{"127.0.0.1"}
	t.Run("IPv6", func(t *testing.T) { // its part alone is skipped
		l, err := net.Listen("tcp", "[::1]:0")
		if err != nil {
			harness.Skip(t, "needs IPv6 on the loopback: "+err.Error())
		}
		l.Close()
		hosts = append(hosts, "[::1]")
	})
	return hosts
}

func TestAllAddressesAreThoseOfIPv4AndIPv6(t *testing.T) {
	harness.Usual(t)
	hosts := loopbacks(t)
	port := harness.ReservePort(t)
	addrs := []string{fmt.Sprintf(":%d", port), fmt.Sprintf("[::]:%d", port), fmt.Sprintf("0.0.0.0:%d", port)}
	for i, addr := range addrs {
		p := harness.Probed{Addr: fmt.Sprintf("127.0.0.1:%d", port)}
		p.Init = harness.Run(t, harness.Launch{NoPID1: true, Args: append([]string{"--health-addr", addr}, harness.EndsByUSR1()...)})
		p.WaitOut(`^ready`)
		p.WaitRunning()
		for j, host := range hosts {
			want := "200 running"
			if i == 2 && j == 1 {
				want = "" // IPv4 alone was asked for
			}
			if got, err := harness.Get(fmt.Sprintf("http://%s:%d/readyz", host, port)); got != want {
				t.Errorf("%s at %s: %q, %v, want %q", addr, host, got, err, want)
			}
		}
		wantEndsAlone(p)
	}
}

func TestAllAddressesWithoutIPv6(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		port := harness.ReservePort(t)
		p := harness.Probed{Addr: fmt.Sprintf("127.0.0.1:%d", port)}
		p.Init = harness.Run(t, harness.Launch{NoPID1: noPID1, Bin: harness.WorkerBin,
			Args: append([]string{"noipv6", harness.DrainitBin, "--health-addr", fmt.Sprintf(":%d", port)}, harness.EndsByUSR1()...)})
		p.WaitOut(`^ready`)
		p.WaitRunning()
		wantEndsAlone(p)
	})
}

// What images and platforms probe with.
func TestClientsOfProbes(t *testing.T) {
	harness.Need(t, "busybox", "wget", "curl")
	p := harness.LaunchProbed(t, harness.Launch{NoPID1: true, Args: harness.EndsByUSR1()})
	url := "http://" + p.Addr + "/readyz"
	clients := [][]string{
		{"busybox", "wget", "-q", "-O-", url}, {"wget", "-q", "-O-", url}, {"busybox", "wget", "-q", "--spider", url}, {"wget", "-q", "--spider", url},
		{"curl", "-fsS", url}, {"curl", "-fsS", "--http1.0", url}, {"curl", "-fsSI", url}, {"curl", "-fsS", url, url}, {"curl", "-fsS", url + "?x=y"},
	}
	for _, client := range clients {
		out, err := exec.Command(client[0], client[1:]...).CombinedOutput()
		if quiet := strings.Contains(strings.Join(client, " "), "--spider"); err != nil || !quiet && !strings.Contains(string(out), "running\n") && !strings.Contains(string(out), "200 OK") {
			t.Errorf("%q: %v, %q", client, err, out)
		}
	}
	p.Signal(syscall.SIGTSTP)
	p.WaitOut(`^got SIGTSTP`)
	for _, client := range clients {
		if out, err := exec.Command(client[0], client[1:]...).CombinedOutput(); err == nil {
			t.Errorf("%q in quiet: %q", client, out)
		}
	}
}
