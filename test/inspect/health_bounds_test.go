package inspect

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

func TestBadRequestsAreAnsweredAndClosed(t *testing.T) {
	probed(t, func(t *testing.T, p harness.Probed) {
		for request, want := range map[string]string{
			"GET /readyz HTTP/1.1\r\n\r\nGET /readyz HTTP/1.1\r\n\r\n": "200",
			"POST /readyz HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello":  "405",
			"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03\n\n":         "400",
			strings.Repeat("GET /readyz ", 4000):                       "431",
		} {
			if answer := p.Exchange(request); !strings.HasPrefix(answer, "HTTP/1.1 "+want+" ") ||
				strings.Count(answer, "HTTP/1.1") != 1 {
				t.Errorf("%.60q: %q, want %s", request, answer, want)
			}
		}
		p.WantProbes("200 running", "200 running")
		wantEndsAlone(p)
	})
}

// wantEndsAlone stops the worker, which must not have noticed anything before.
func wantEndsAlone(p harness.Probed) {
	p.T.Helper()
	p.Signal(syscall.SIGTERM)
	p.WaitOut(`^got SIGTERM`)
	p.Signal(syscall.SIGUSR1)
	p.WantExit(7)
	p.WantGots("got SIGTERM", "got SIGUSR1")
}

func TestSlowProbesAreCutOff(t *testing.T) {
	harness.Usual(t)
	probed(t, func(t *testing.T, p harness.Probed) {
		files := idleFiles(p)
		began := time.Now()
		var slow []net.Conn
		for _, more := range []string{"", "ET /readyz HTTP/1.1\r\n", "ET /readyz HTTP/1.1\r\n\r"} {
			slow = append(slow, begin(p))
			io.WriteString(slow[len(slow)-1], more)
		}
		p.WantProbes("200 running", "200 running")
		for _, conn := range slow {
			wantClosed(t, conn)
			harness.WantTookAtLeast(t, began, harness.ProbeTime)
		}
		harness.WaitUntil(t, "they are forgotten", func() bool { return harness.OpenFiles(p.Pid()) == files })
		wantEndsAlone(p)
	})
}

// wantOnceBeforeTheCutOff tries something until it once took less than the time after which a
// probe is cut off, and so was not brought about by that. A busy machine may need several tries.
func wantOnceBeforeTheCutOff(t *testing.T, try func()) {
	t.Helper()
	harness.WaitUntil(t, "before a probe is cut off", func() bool {
		began := time.Now()
		try()
		return t.Failed() || time.Since(began) < harness.ProbeTime
	})
}

// One that has hung up can't be answered, and must not be waited for.
func TestProbeThatHangsUpIsForgotten(t *testing.T) {
	probed(t, func(t *testing.T, p harness.Probed) {
		wantOnceBeforeTheCutOff(t, func() {
			conn := begin(p)
			harness.Must(t, conn.(*net.TCPConn).CloseWrite())
			wantClosed(t, conn)
		})
		wantEndsAlone(p)
	})
}

func TestEndlessRequestIsCutOffEarly(t *testing.T) {
	const buffered = 32 << 20 // by the kernel, at most
	probed(t, func(t *testing.T, p harness.Probed) {
		conn := p.Dial()
		var sent int
		var err error
		for chunk := make([]byte, 64<<10); err == nil; {
			var n int
			n, err = conn.Write(chunk)
			sent += n
		}
		if sent > buffered || os.IsTimeout(err) {
			t.Errorf("%d bytes were taken, %v", sent, err)
		}
		p.WantProbes("200 running", "200 running")
		wantEndsAlone(p)
	})
}

func TestNewProbeDisplacesTheOldest(t *testing.T) {
	probed(t, func(t *testing.T, p harness.Probed) {
		files, second := idleFiles(p), ""
		wantOnceBeforeTheCutOff(t, func() {
			began := time.Now()
			var waiting []net.Conn
			for range harness.ProbesAtOnce {
				waiting = append(waiting, begin(p))
			}
			harness.WaitUntil(t, "all are heard, or some were cut off", func() bool {
				return harness.OpenFiles(p.Pid()) == files+harness.ProbesAtOnce ||
					time.Since(began) > harness.ProbeTime
			})
			waiting = append(waiting, begin(p))
			wantClosed(t, waiting[0])
			io.WriteString(waiting[1], "ET /readyz HTTP/1.1\r\n\r\n")
			answer, _ := io.ReadAll(waiting[1])
			second = string(answer)
			for _, conn := range waiting {
				conn.Close()
			}
			idleFiles(p)
		})
		if !strings.HasPrefix(second, "HTTP/1.1 200") {
			t.Errorf("the second got %q", second)
		}
		wantEndsAlone(p)
	})
}

// begin opens a connection and sends the first byte of a request.
func begin(p harness.Probed) net.Conn {
	p.T.Helper()
	conn := p.Dial()
	if _, err := io.WriteString(conn, "G"); err != nil {
		p.T.Fatal(err)
	}
	return conn
}

// aFew is how many threads the Go runtime may add by itself: far from one for each probe.
const aFew = 4

func TestCrowdHoldsUpNoOtherProbe(t *testing.T) {
	harness.Usual(t)
	for name, request := range map[string]string{"that is silent": "", "that breaks off": "GET /"} {
		t.Run(name, func(t *testing.T) {
			probed(t, func(t *testing.T, p harness.Probed) {
				threads := harness.StatusField(t, p.Pid(), "Threads")
				var come, gone sync.WaitGroup
				enough := make(chan struct{})
				for range 1000 {
					come.Add(1)
					gone.Go(func() {
						conn, err := net.Dial("tcp", p.Addr)
						come.Done()
						if err != nil {
							t.Error(err)
							return
						}
						io.WriteString(conn, request)
						if request == "" {
							<-enough
						}
						conn.(*net.TCPConn).SetLinger(0)
						conn.Close()
					})
				}
				come.Wait()
				// within the patience: if each had its time, it would be 125 s
				p.WantProbes("200 running", "200 running")
				close(enough)
				gone.Wait()
				p.WantProbes("200 running", "200 running")
				if now := harness.StatusField(t, p.Pid(), "Threads"); now > threads+aFew {
					t.Errorf("%d threads, %d before", now, threads)
				}
				wantEndsAlone(p)
			})
		})
	}
}

func TestManyProbesLeaveNothingBehind(t *testing.T) {
	harness.Usual(t)
	t.Parallel()
	p := harness.LaunchProbed(t, 0, harness.Launch{Args: harness.EndsByUSR1()})
	probes := func(n int) {
		for range n {
			if answer := p.Exchange("GET /readyz HTTP/1.1\r\n\r\n"); !strings.HasPrefix(answer,
				"HTTP/1.1 200") {
				t.Fatalf("%q", answer)
			}
		}
	}
	probes(harness.Of(1000, 300))
	files, threads, memory := idleFiles(p), harness.StatusField(t, p.Pid(), "Threads"), harness.StatusField(t,
		p.Pid(), "RssAnon")
	probes(harness.Of(10000, 1000))
	if now := idleFiles(p); now != files {
		t.Errorf("%d descriptors, %d before", now, files)
	}
	if now := harness.StatusField(t, p.Pid(), "Threads"); now > threads+aFew {
		t.Errorf("%d threads, %d before", now, threads)
	}
	const leeway = 512 // kB, of what else the runtime does
	// Pages of the file come and go with the memory of the machine.
	now := harness.StatusField(t, p.Pid(), "RssAnon")
	if now > memory+leeway && !harness.Raced {
		t.Errorf("%d kB, %d kB before", now, memory)
	}
	wantEndsAlone(p)
}

// limitFiles leaves a process no descriptor, and returns a way to take that back.
func limitFiles(t *testing.T, pid int) (lift func()) {
	t.Helper()
	var before unix.Rlimit
	harness.Must(t, unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &before))
	none := unix.Rlimit{Max: before.Max}
	for err := error(nil); err == nil; none.Cur++ { // to the number of the next that it opens
		_, err = os.Lstat(fmt.Sprintf("/proc/%d/fd/%d", pid, none.Cur))
	}
	none.Cur--
	harness.Must(t, unix.Prlimit(pid, unix.RLIMIT_NOFILE, &none, nil))
	return func() {
		if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &before, nil); err != nil {
			t.Error(err)
		}
	}
}

func TestProbeWaitsWhereDescriptorsHaveRunOut(t *testing.T) {
	harness.Usual(t)
	probed(t, func(t *testing.T, p harness.Probed) {
		idleFiles(p)
		lift := limitFiles(t, p.Pid())
		conn := p.Dial()
		io.WriteString(conn, "GET /readyz HTTP/1.1\r\n\r\n")
		const window = 500 * time.Millisecond
		conn.SetReadDeadline(time.Now().Add(window))
		if n, err := conn.Read(make([]byte, 1)); n > 0 || !os.IsTimeout(err) {
			t.Errorf("%d bytes, %v", n, err)
		}
		// Short to the 100 ms after which it tries again: what tries again and again never sleeps.
		harness.WaitUntil(t, "drainit sleeps meanwhile",
			func() bool { return harness.IsIdle(20*time.Millisecond, p.Pid()) })
		lift()
		conn.SetReadDeadline(time.Now().Add(harness.Patience))
		if answer, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 200") {
			t.Errorf("%q, %v", answer, err)
		}
		wantEndsAlone(p)
	})
}

func TestProbeTakesTheLastDescriptorOfAnother(t *testing.T) {
	probed(t, func(t *testing.T, p harness.Probed) {
		wantOnceBeforeTheCutOff(t, func() {
			files, began := idleFiles(p), time.Now()
			idle := begin(p)
			harness.WaitUntil(t, "it is heard, or was cut off", func() bool {
				return harness.OpenFiles(p.Pid()) == files+1 || time.Since(began) > harness.ProbeTime
			})
			lift := limitFiles(t, p.Pid())
			defer lift()
			// if it was cut off before that, no other gives way
			defer time.AfterFunc(harness.ProbeTime, lift).Stop()
			p.WantProbes("200 running", "200 running")
			wantClosed(t, idle)
		})
		wantEndsAlone(p)
	})
}

// Where no thread can be started any more, probes need none.
func TestProbesAreAnsweredWithAFullProcessTable(t *testing.T) {
	harness.NeedRoot(t)
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.LaunchProbed(t, 0, harness.Launch{NoPID1: noPID1,
			Setup: harness.Setup{UID: harness.OwnUID(), MaxProcs: 100},
			Args: harness.Line([]string{"-v", "--grace", "5m"}, harness.Script(`
				$SIG{TERM} = "IGNORE"; catch "USR1"; $SIG{TSTP} = $SIG{CONT} = sub { };
				while (defined(my $pid = fork)) { if (!$pid) { $SIG{USR1} = $SIG{TSTP} = "IGNORE"; forever } }
				say "ready"; forever`)...)})
		var clients sync.WaitGroup
		for range harness.ProbesAtOnce {
			clients.Go(func() {
				for range 20 {
					if answer, err := harness.Get("http://" + p.Addr + "/healthz"); answer != "200 running" &&
						answer != "200 quiet" {
						t.Errorf("%q, %v", answer, err)
					}
				}
			})
		}
		for _, sig := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGTSTP, syscall.SIGCONT,
			syscall.SIGWINCH} {
			p.Signal(sig)
		}
		clients.Wait()
		harness.WaitUntil(t, "it has resumed", func() bool { return p.Get("/healthz") == "200 running" })
		p.WantProbes("200 running", "200 running")
		p.Signal(syscall.SIGTERM)
		p.WaitErr(`draining`)
		p.WantProbes("503 draining", "200 draining")
		harness.WaitUntil(t, "forced, once 100 ms have passed", func() bool {
			p.Signal(syscall.SIGTERM)
			return !p.Running()
		})
		p.WantExit(137)
		p.WantNothingLeft()
	})
}

// wantClosed checks that drainit closes a connection to which it owes nothing.
func wantClosed(t *testing.T, conn net.Conn) {
	t.Helper()
	if b, err := io.ReadAll(conn); len(b) > 0 || err != nil {
		t.Errorf("%q, %v, want it closed", b, err)
	}
}

// idleFiles is how many descriptors drainit has when it hears no probe and sleeps: by then its first look
// at what is above it has ended, which leaves a descriptor.
func idleFiles(p harness.Probed) int {
	p.T.Helper()
	harness.WaitUntil(p.T, "no probe is heard",
		func() bool { return strings.Count(harness.DescriptorsOf(p.Pid()), "socket:") == 1 })
	harness.WaitUntil(p.T, "drainit sleeps", func() bool {
		return harness.IsIdle(20*time.Millisecond,
			p.Pid())
	})
	return harness.OpenFiles(p.Pid())
}
