package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
	"drainit/test/harness/cgroup"
)

// spawned is an init that the bench started, by its pid in the bench's
// namespace, and the read end of the pipe that its worker has as descriptor 3.
type spawned struct {
	pid  int
	pipe int
}

// spawnReady starts a command as PID 1, with a worker that has sent its first byte.
func spawnReady(argv []string) *spawned { return spawnStaged("run,ready", argv, true) }

// spawnStaged starts a command by way of a stage, see there, as PID 1 of a namespace or not.
func spawnStaged(how string, argv []string, pid1 bool) *spawned {
	self, err := os.Executable()
	must(err)
	null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	must(err)
	defer unix.Close(null)
	var pipe [2]int
	must(unix.Pipe2(pipe[:], unix.O_CLOEXEC))
	defer unix.Close(pipe[1])
	attr := &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if pid1 {
		how += ",mount"
		harness.InNamespaces(attr)
	}
	pid, err := syscall.ForkExec(self, append([]string{self, "stage", how}, argv...), &syscall.ProcAttr{
		Env:   append(os.Environ(), "TINI_VERBOSITY=0"), // no warning where it is not PID 1
		Files: []uintptr{uintptr(null), uintptr(null), 2, uintptr(pipe[1])},
		Sys:   attr,
	})
	must(err)
	s := &spawned{pid, pipe[0]}
	if strings.Contains(how, "ready") {
		must(s.read())
	}
	return s
}

func (s *spawned) signal(sig unix.Signal) { must(os.NewSyscallError("kill", unix.Kill(s.pid, sig))) }

// timeSignal sends an init a signal, and takes the time until its worker says that it has come.
func (s *spawned) timeSignal(sig unix.Signal) time.Duration {
	begin := monotonic()
	s.signal(sig)
	must(s.read())
	return monotonic() - begin
}

func (s *spawned) wait() (status syscall.WaitStatus) {
	for {
		if _, err := syscall.Wait4(s.pid, &status, 0, nil); err != syscall.EINTR {
			must(err)
			return status
		}
	}
}

// waitWell is wait for one that ends with 0.
func (s *spawned) waitWell() {
	if status := s.wait(); status != 0 {
		said, _ := s.rest()
		must(fmt.Errorf("it ended with wait status %#x, and said %.300q", uint32(status), said))
	}
}

// end kills the init; as PID 1 it takes everything with it.
func (s *spawned) end() {
	_ = syscall.Kill(s.pid, syscall.SIGKILL)
	s.wait()
	unix.Close(s.pipe)
}

// read waits for one byte of the worker.
func (s *spawned) read() error {
	if err := s.hear(); err != nil {
		return err
	}
	var b [1]byte
	if n, err := unix.Read(s.pipe, b[:]); err != nil || n != 1 {
		return fmt.Errorf("the worker has gone (%w)", err)
	}
	return nil
}

// hear waits until something comes through the pipe, or nothing can any more.
func (s *spawned) hear() error {
	const patience = 60_000 // milliseconds
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(s.pipe), Events: unix.POLLIN}}, patience)
		if n > 0 {
			return nil
		} else if err != unix.EINTR {
			return fmt.Errorf("it said nothing for a minute (%w)", err)
		}
	}
}

// rest is what comes through the pipe until its end.
func (s *spawned) rest() (all []byte, err error) {
	for b := make([]byte, 4096); ; {
		n, err := unix.Read(s.pipe, b)
		if n <= 0 {
			return all, err
		}
		all = append(all, b[:n]...)
	}
}

// stage is the process that becomes the command: the first of a PID namespace,
// if asked to mount /proc. Asked to "stamp", it sends the time last, and "stderr" makes the
// pipe its standard error after that.
func stage(how string, argv []string) error {
	if _, dir, ok := strings.Cut(how, "cgroup="); ok {
		dir, _, _ = strings.Cut(dir, ",")
		if err := cgroup.Join(dir); err != nil {
			return err
		}
	}
	if strings.Contains(how, "mount") {
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			return fmt.Errorf("cannot make / private: %w", err)
		}
		if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
			return fmt.Errorf("cannot mount /proc: %w", err)
		}
	}
	const pipe = 3
	if strings.Contains(how, "stamp") {
		ts := unix.NsecToTimespec(int64(monotonic()))
		stamp := binary.NativeEndian.AppendUint64(nil, uint64(ts.Sec))
		if _, err := unix.Write(pipe, binary.NativeEndian.AppendUint64(stamp, uint64(ts.Nsec))); err != nil {
			return err
		}
	}
	if strings.Contains(how, "stderr") {
		if err := unix.Dup3(pipe, 2, 0); err != nil {
			return err
		}
		unix.CloseOnExec(pipe)
	}
	return syscall.Exec(argv[0], argv, os.Environ())
}

// stamp is a time that came through the pipe, as the kernel writes one.
func (s *spawned) stamp() (time.Duration, error) {
	b := make([]byte, 16)
	if n, err := unix.Read(s.pipe, b); n != len(b) {
		return 0, fmt.Errorf("no time has come (%w)", err)
	}
	sec, nsec := binary.NativeEndian.Uint64(b), binary.NativeEndian.Uint64(b[8:])
	return time.Duration(sec)*time.Second + time.Duration(nsec), nil
}

// numbersOf adds up the lines that are numbers of files of a process that are made like its
// status (proc(5)); files is a pattern.
func numbersOf(pid int, files string) map[string]float64 {
	all := make(map[string]float64)
	paths, _ := filepath.Glob(fmt.Sprintf("/proc/%d/%s", pid, files)) // fails for a bad pattern only
	for _, path := range paths {
		text, _ := os.ReadFile(path) // empty if it has gone
		for line := range strings.Lines(string(text)) {
			name, value, _ := strings.Cut(line, ":")
			var n float64
			_, _ = fmt.Sscan(value, &n) // 0 where it is none
			all[name] += n
		}
	}
	return all
}

// switches is how often the threads of a process were put to sleep.
func switches(pid int) float64 {
	n := numbersOf(pid, "task/*/status")
	return n["voluntary_ctxt_switches"] + n["nonvoluntary_ctxt_switches"]
}

// monotonic is a time that means the same in every process.
func monotonic() time.Duration {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) // which fails for no clock that there is
	return time.Duration(ts.Nano())
}
