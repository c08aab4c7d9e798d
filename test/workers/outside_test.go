package workers

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// signalledEach are starts on a platform that signals every process.
var signalledEach = named(read("signalled-each"))

// orders are when an init gets the platform's signal, beside the processes below it.
var orders = []string{"first", "last", "in between"}

// toEach signals the init and each process below it.
func toEach(order string) func(t *testing.T, s *scene) {
	return func(t *testing.T, s *scene) {
		pids := s.init.Below()[1:] // without the init
		at := map[string]int{"first": 0, "last": len(pids), "in between": len(pids) / 2}[order]
		for _, pid := range slices.Insert(pids, at, s.init.Pid()) {
			if err := unix.Kill(pid, unix.SIGTERM); err != nil && !errors.Is(err, unix.ESRCH) {
				t.Errorf("signalling %d: %v", pid, err)
			}
		}
	}
}

// With --forward none a process gets the platform's signal alone, the jobs are kept, and drainit signals
// none. With -peers it prints how often tini, tini -g and dumb-init keep them.
func TestPlatformSignalsEachProcess(t *testing.T) {
	t.Parallel()
	harness.Full(t)
	for _, w := range signalledEach {
		for _, order := range orders {
			w.ask = toEach(order)
			t.Run(w.name+", drainit "+order, func(t *testing.T) {
				t.Parallel()
				w.need(t, false)
				o := inHand(t, func(times time.Duration) outcome {
					s := newScene(t, times*shortJob)
					o := w.run(t, s, harness.DrainitBin,
						[]string{"-v", "--log-format", "json", "--forward", "none", "--grace",
							(times * 30 * time.Second).String()})
					log := s.logAtEnd(o)
					if sent := deliveries.FindAllString(log, -1); len(sent) > 0 ||
						strings.Contains(log, `"event":"signals_each"`) {
						t.Errorf("drainit has signalled %q, or warns:\n%s", sent, log)
					}
					return o
				})
				if !o.kept || o.hangs || !w.uncounted && o.signalled != 1 {
					t.Errorf("begun %d, signalled %d, done %d, hangs %t", o.begun, o.signalled,
						o.done, o.hangs)
				}
			})
			if !*withPeers {
				continue
			}
			for _, peer := range []string{"tini", "tini -g", "dumb-init", harness.DrainitBin} {
				t.Run(w.name+", "+peer+" "+order, func(t *testing.T) {
					t.Parallel()
					bin, flag, _ := strings.Cut(peer, " ")
					o := inHand(t, func(times time.Duration) outcome {
						s := newScene(t, times*shortJob)
						s.peer = true
						return w.run(t, s, harness.PathOf(t, bin), strings.Fields(flag))
					})
					fmt.Printf("%s | %s %s | kept %t, signalled %d\n", w.name, peer, order,
						o.kept, o.signalled)
				})
			}
		}
	}
}

// drainers are workers that handle TERM alone.
var drainers = named(read("drainers"))

// stopSignals are what an image may have as its STOPSIGNAL. By WINCH nothing happens to a process without a
// handler.
var stopSignals = map[string]unix.Signal{
	"QUIT": unix.SIGQUIT, "INT": unix.SIGINT, "USR1": unix.SIGUSR1, "PWR": unix.SIGPWR, "RTMIN+3": 37,
	"WINCH": unix.SIGWINCH,
}

// A worker on an image with another STOPSIGNAL drains: a signal by which it would die with its job is meant
// as the stop.
func TestStopSignalOfAnotherImage(t *testing.T) {
	t.Parallel()
	harness.Full(t)
	for _, d := range drainers {
		deafTo, lostBy := strings.Fields(d.deaf), strings.Fields(d.lost)
		for name, sig := range stopSignals {
			for _, form := range []string{"%s", "sh -c '%s; exit $?'"} {
				w := d
				w.start, w.signal = fmt.Sprintf(form, w.start), sig
				if !harness.Row(name + w.start) {
					continue
				}
				t.Run(name+" to "+w.start, func(t *testing.T) {
					t.Parallel()
					w.need(t, false)
					deaf := name == "WINCH" || slices.Contains(deafTo, name)
					var s *scene
					o := inHand(t, func(times time.Duration) outcome {
						s = newScene(t, times*shortJob)
						s.peer = deaf // it is not waited for
						return w.run(t, s, harness.DrainitBin,
							[]string{"-v", "--log-format", "json", "--grace",
								(times * 30 * time.Second).String()})
					})
					log := s.logAtEnd(o)
					lost, adopted := slices.Contains(lostBy, name),
						strings.Contains(log, `"event":"stop_adopted"`)
					switch {
					case deaf && (!o.hangs || strings.Contains(log, `"stopping"`)):
						t.Errorf("it ends by %s: %+v\n%s", name, o, log)
					case deaf && !slices.Contains(deafTo, name):
						s.init.WantLogged(`"event":"signal_no_effect"`, 1)
					case !deaf && (o.hangs || o.kept == lost || !lost && o.signalled > 1 ||
						adopted && o.status != w.status || adopted == lost && name != "INT"):
						t.Errorf("lost %t, adopted %t: %+v\n%s", lost, adopted, o, log)
					}
				})
			}
		}
	}
}

// goApp builds the application in Go.
func goApp(t *testing.T, s *scene) {
	t.Helper()
	app := filepath.Join(s.dir, "app")
	harness.OutputOf(t, exec.Command(
		"go", "build", "-o", app, harness.Repo("test/workers/testdata/matrix/app.go")))
	s.vars = append(s.vars, "$APP", app)
}
