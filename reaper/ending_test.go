package reaper

import (
	"bufio"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
)

// The end of a process that another has waited for is known, where the kernel tells it, and not before.
func TestEndingTellsHowAnothersChildEnded(t *testing.T) {
	for what, want := range map[string]unix.WaitStatus{"exit 3": 3 << 8, "kill $$; sleep 9": unix.WaitStatus(unix.SIGTERM)} {
		shell := exec.Command("sh", "-c", `exec 3<&0; sh -c 'read line; `+what+`' <&3 & echo $!; wait; echo ended; read line`)
		in, _ := shell.StdinPipe()
		out, _ := shell.StdoutPipe()
		if err := shell.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(out)
		first, _ := lines.ReadString('\n')
		pid, _ := strconv.Atoi(strings.TrimSpace(first))
		reader := new(proc.Reader)
		p, err := reader.Read(pid)
		for err == proc.ErrNoAnswer { // on a busy machine
			p, err = reader.Read(pid)
		}
		if err != nil {
			t.Fatal(err)
		}
		e, err := NewEnding(p.ID, reader.Read)
		if err != nil {
			t.Fatal(err)
		}
		if status, ok := e.Status(); ok {
			t.Errorf("%s: it lives, and its status is %v", what, status)
		}
		_, _ = in.Write([]byte("\n"))
		_, _ = lines.ReadString('\n') // it has been waited for
		if got, ok := e.Status(); ok && got != want {
			t.Errorf("%s: status %v, want %v", what, got, want)
		}
		_ = unix.Close(e.pidfd)
		if _, err := NewEnding(p.ID, reader.Read); err == nil {
			t.Errorf("%s: it has ended, and is there", what)
		}
		_ = in.Close()
		_ = shell.Wait()
	}
}
