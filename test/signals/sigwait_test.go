package signals

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// waitsBeside is a worker that blocks its signals. They are taken by one thread, by
// sigwait or signalfd, while its main one does something else, or by the main one itself. It ends by
// TERM with status 7.
const waitsBeside = `
import ctypes, os, signal, sys, threading, time
def take():
    while True:
        sig = os.read(fd, 128)[0] if sys.argv[2] == "signalfd" else signal.sigwait(signals)
        os.write(1, f"got {signal.Signals(sig).name}\n".encode()) # whole, beside the other thread's
        if sig == signal.SIGTERM:
            os._exit(7)
signals = {signal.SIGCONT, signal.SIGUSR1, signal.SIGTERM}
if sys.argv[1] != "takes no TSTP":
    signals.add(signal.SIGTSTP)
signal.pthread_sigmask(signal.SIG_BLOCK, signals)
if sys.argv[2] == "signalfd":
    mask = ctypes.c_uint64(sum(1 << sig - 1 for sig in signals))
    fd = ctypes.CDLL(None).syscall(int(sys.argv[3]), -1, ctypes.byref(mask), 8, 0)
os.write(1, b"ready\n")
if sys.argv[1].startswith("takes"):
    take()
threading.Thread(target=take).start()
while sys.argv[1] == "wakes up often":
    time.sleep(0.0003)
while sys.argv[1] == "computes":
    sum(range(1000))
signal.pause()
`

// While sigwait(3) waits the kernel takes the signal out of the mask, signalfd(2) leaves it in. What
// the main thread does meanwhile is no matter.
func TestBlockedSignalsAreHandledByWhoTakesThem(t *testing.T) {
	for _, main := range []string{"takes them", "takes no TSTP", "sleeps", "computes", "wakes up often"} {
		for _, by := range []string{"sigwait", "signalfd"} {
			args := []string{waitsBeside, main, by, strconv.Itoa(unix.SYS_SIGNALFD4)}
			for name, command := range map[string][]string{
				"the worker":    append([]string{"python3", "-c"}, args...),
				"below a shell": append([]string{"sh", "-c", `python3 -c "$@"; exit $?`, "sh"}, args...),
			} {
				t.Run(main+", "+by+", "+name, func(t *testing.T) {
					harness.Need(t, "python3")
					if main == "computes" || main == "wakes up often" {
						harness.Full(t)
					}
					t.Parallel()
					p := launch(t, false, nil, command...)
					take, want := []unix.Signal{unix.SIGTSTP, unix.SIGCONT, unix.SIGUSR1, unix.SIGTERM}, []string(nil)
					if main == "takes no TSTP" { // which would stop it
						waitInCall(p, by)
						p.Signal(unix.SIGTSTP)
						p.WaitErr(`no SIGTSTP handler`)
						take = take[2:]
					}
					for _, sig := range take {
						waitInCall(p, by)
						p.Signal(sig)
						want = append(want, "got "+unix.SignalName(sig))
						p.WaitOut(`^` + want[len(want)-1])
					}
					p.WantExit(7)
					p.WantGots(want...)
				})
			}
		}
	}
}

// waitInCall waits until a thread below the init is in sigwait. A signalfd is open all the time.
func waitInCall(p *harness.Init, by string) {
	p.T.Helper()
	in := strconv.Itoa(unix.SYS_RT_SIGTIMEDWAIT) + " "
	harness.WaitUntil(p.T, "a thread is in sigwait", func() bool {
		if by == "signalfd" {
			return true
		}
		return slices.ContainsFunc(p.Below()[1:], func(pid int) bool {
			calls, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", pid)) // fails for a bad pattern only
			return slices.ContainsFunc(calls, func(file string) bool {
				call, _ := os.ReadFile(file) // empty if it has gone
				return strings.HasPrefix(string(call), in)
			})
		})
	})
}
