package rollout

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// The test is the queue: it sees each line of the worker.
func TestWorker(t *testing.T) {
	t.Parallel()
	harness.Need(t, "node")
	socket := filepath.Join(t.TempDir(), "q")
	l, err := net.Listen("unix", socket)
	harness.Must(t, err)
	defer l.Close()
	worker := exec.Command("node", filepath.Join("files", "worker.js"))
	worker.Env = append(os.Environ(), "QUEUE="+socket, "AT_ONCE=1", "PORT=0")
	worker.Stdout, worker.Stderr = os.Stdout, os.Stderr
	harness.Must(t, worker.Start())
	defer worker.Process.Kill() // fails where it has ended
	conn, err := l.Accept()
	harness.Must(t, err)
	lines := bufio.NewScanner(conn)
	want := func(line string) {
		t.Helper()
		lines.Scan()
		if got := lines.Text(); got != line {
			t.Fatalf("the worker has written %q, want %q", got, line)
		}
	}
	answer := func(milliseconds int) { fmt.Fprintln(conn, milliseconds) }

	want("take")
	answer(0) // there is none: it asks again
	want("take")
	harness.Kill(t, worker.Process.Pid, unix.SIGTSTP)
	answer(20) // asked for before, so it is done
	want("effect")
	want("done")
	harness.Kill(t, worker.Process.Pid, unix.SIGCONT)
	want("take")
	harness.Kill(t, worker.Process.Pid, unix.SIGTSTP)
	answer(20)
	want("effect")
	want("done")
	harness.Kill(t, worker.Process.Pid, unix.SIGTERM)
	if lines.Scan() {
		t.Errorf("quiet, and then stopped, the worker has written %q", lines.Text())
	}
	conn.Close() // as the queue does: the worker waits for it
	if err := worker.Wait(); err != nil {
		t.Error(err)
	}
}
