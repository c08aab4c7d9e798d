package cli

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// From the first title on no stop signal is lost, and no worker is left that was not
// signalled. With -soak there are 10,000 starts:
//
//	go test ./test/cli -run AtAnyMomentOfTheStart -soak
func TestStopSignalAtAnyMomentOfTheStartIsNotLost(t *testing.T) {
	harness.Usual(t)
	starts := harness.Of(40, 4)
	if *harness.SoakWhole {
		starts = 10_000 / (2 * 4)
	}
	for name, sig := range map[string]unix.Signal{"TERM": unix.SIGTERM, "INT": unix.SIGINT,
		"USR2": unix.SIGUSR2, "RTMIN+5": 39} {
		t.Run(name, func(t *testing.T) {
			var flags []string
			if sig != unix.SIGTERM && sig != unix.SIGINT {
				flags = []string{"--stop-signal", name}
			}
			harness.BothModes(t, func(t *testing.T, noPID1 bool) {
				t.Parallel()
				random := rand.New(rand.NewPCG(14, uint64(sig)))
				for range starts {
					p := harness.Run(t, harness.Launch{NoPID1: noPID1,
						Args: harness.Line(flags, "sleep", "1000")})
					spinToTitle(p)
					time.Sleep(time.Duration(random.Int64N(int64(5 * time.Millisecond)))) // what is tested
					p.Signal(sig)
					p.WantExit(128 + int(sig))
				}
			})
		})
	}
}

// spinToTitle waits for the first title, without a sleep: a look takes microseconds.
func spinToTitle(p *harness.Init) {
	p.T.Helper()
	for deadline := time.Now().Add(harness.Patience); ; {
		comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", p.Pid()))
		if err == nil && strings.HasPrefix(string(comm), "drainit:") {
			return
		}
		if time.Now().After(deadline) {
			p.T.Fatalf("no title: %q, %v", comm, err)
		}
	}
}
