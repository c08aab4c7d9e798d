package supervisor

import (
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"go.uber.org/zap/zapcore"
	"golang.org/x/sys/unix"

	"drainit/internal/health"
	"drainit/internal/logx"
	"drainit/internal/phase"
	"drainit/internal/signals"
	"drainit/internal/sigqueue"
	"drainit/internal/spawn"
)

// beforeStart makes a supervisor that subscribes to the signals of this very process, in
// real time: what it does before it starts a worker is a matter of the kernel's. The log
// is returned as a function, which may be called once, at the end.
func beforeStart(t *testing.T, cfg Config, w *world) (s *Supervisor, lines func() string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "log")
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		out.Close()
		signal.Reset()
	})
	log := logx.New(int(out.Fd()), false, zapcore.DebugLevel)
	s = New(cfg, w, sigqueue.Open(), log)
	return s, func() string {
		log.Close()
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
}

// A worker that can't be started gives the status of the reason, and a termination message.
func TestRunOfACommandThatIsNotThere(t *testing.T) {
	w := newWorld()
	_, w.startErr = spawn.Start(spawn.Config{Command: []string{"/no/such/file"}})
	s, lines := beforeStart(t, config(), w)
	if got := s.run(); got != (Outcome{Status: spawn.StatusNotFound}) {
		t.Errorf("%+v", got)
	}
	const want = `cannot run "/no/such/file": there is no such file`
	if log := lines(); !strings.Contains(log, "drainit: error: "+want) || !strings.HasPrefix(s.journal.Message, want) {
		t.Errorf("the log says %q, and the message is %q", log, s.journal.Message)
	}
}

func TestRunWithAnAddressThatIsTaken(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	at, err := health.ParseAddress(taken.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	cfg := config()
	cfg.HealthAddr = at
	s, lines := beforeStart(t, cfg, newWorld())
	if got := s.run(); got != (Outcome{Status: spawn.StatusFailed}) {
		t.Errorf("%+v", got)
	}
	if log := lines(); !strings.HasPrefix(log, "drainit: error: cannot start: --health-addr "+at.String()+": ") {
		t.Errorf("the log says %q", log)
	}
}

// signalSelf sends this process a stop signal, and waits until its supervisor has it.
func signalSelf(t *testing.T, s *Supervisor, sig unix.Signal) {
	t.Helper()
	if err := unix.Kill(os.Getpid(), sig); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(30 * time.Second); !s.queue.StopPending() && time.Now().Before(end); {
		time.Sleep(time.Millisecond) // it is on its way through the runtime
	}
}

// A stop signal that comes before the worker is started ends drainit, and starts none.
func TestStopBeforeTheStart(t *testing.T) {
	for _, tt := range []struct {
		sig    unix.Signal
		remap  []int
		status int
	}{{unix.SIGTERM, nil, 143}, {unix.SIGINT, nil, 130}, {unix.SIGUSR2, nil, 140}, {unix.SIGTERM, []int{143}, 0}} {
		cfg := config()
		cfg.StopSignals, cfg.RemapExit = []unix.Signal{unix.SIGUSR2}, tt.remap
		w := newWorld()
		s, lines := beforeStart(t, cfg, w)
		s.queue.Subscribe(s.cfg.stops, nil)
		if s.stopBeforeStart() {
			t.Fatal("stopped before a signal came")
		}
		signalSelf(t, s, tt.sig)
		stopped := s.stopBeforeStart()
		if got := s.exitCode(); !stopped || got != (Outcome{Status: tt.status}) || s.machine.Phase() != phase.Done || len(w.procs) > 0 {
			t.Errorf("%v: %+v in phase %v, %d processes", tt.sig, got, s.machine.Phase(), len(w.procs))
		}
		want := signals.Name(tt.sig) + " came before the start: the worker is not started"
		if log := lines(); log != "drainit: "+want+"\n" || s.journal.Message != want {
			t.Errorf("the log says %q, and the message is %q", log, s.journal.Message)
		}
	}
}

// A parent-death signal is asked for only where there is one.
func TestParentDeathSignal(t *testing.T) {
	runtime.LockOSThread() // it is the thread's, which ends with the test
	for _, sig := range []unix.Signal{0, unix.SIGUSR1} {
		cfg := config()
		cfg.ParentDeathSignal = sig
		w := newWorld()
		_, w.startErr = spawn.Start(spawn.Config{Command: []string{"/no/such/file"}})
		s, lines := beforeStart(t, cfg, w)
		s.run()
		lines()
		var got int32
		if err := unix.Prctl(unix.PR_GET_PDEATHSIG, uintptr(unsafe.Pointer(&got)), 0, 0, 0); err != nil || got != int32(sig) {
			t.Errorf("%d, %v, want %d", got, err, sig)
		}
		_ = unix.Prctl(unix.PR_SET_PDEATHSIG, 0, 0, 0, 0)
	}
}

// The stop signals are TERM, INT and those asked for, but none that is dropped.
func TestStopSignalsOfAConfig(t *testing.T) {
	cfg := config()
	cfg.StopSignals = []unix.Signal{unix.SIGQUIT, unix.SIGUSR1}
	cfg.Rewrites = signals.Rewrites{unix.SIGINT: signals.Drop, unix.SIGUSR1: signals.Drop, unix.SIGTERM: unix.SIGQUIT}
	if got, want := stopSignals(cfg), []unix.Signal{unix.SIGTERM, unix.SIGQUIT}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
