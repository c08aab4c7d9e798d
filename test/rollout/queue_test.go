package rollout

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// talk has a worker write lines to a queue and go. It asks for a job until there is one.
func talk(t *testing.T, q *queue, lines string) {
	t.Helper()
	conn, err := net.Dial("unix", q.listener.Addr().String())
	harness.Must(t, err)
	defer conn.Close()
	answers := bufio.NewScanner(conn)
	for line := range strings.FieldsSeq(lines) {
		harness.WaitUntil(t, "an answer to "+line, func() bool {
			fmt.Fprintln(conn, line)
			return line != "take" || answers.Scan() && answers.Text() != "0"
		})
	}
}

func TestQueue(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		workers []string // one after the other
		want    counts
	}{
		{"a job is done", []string{"take effect done"}, counts{jobs: 1, done: 1}},
		{"each is another", []string{"take effect done take effect done"}, counts{jobs: 2, done: 2}},
		{"one is lost", []string{"take", "take effect done"}, counts{jobs: 2, done: 1, interrupted: 1}},
		{"one is lost after its effect", []string{"take effect"}, counts{jobs: 1, interrupted: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			q := newQueue(t, 0)
			for _, lines := range tt.workers {
				talk(t, q, lines)
			}
			harness.WaitUntil(t, "the queue is drained", q.drained)
			if got := q.count(); got != tt.want {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}
}

// What was interrupted is given again when its lease has ended, also when there are no new jobs.
func TestLeaseGivesAJobAgain(t *testing.T) {
	t.Parallel()
	q := newQueue(t, 100*time.Millisecond)
	talk(t, q, "take effect")
	harness.WaitUntil(t, "the job is interrupted", func() bool { return q.count().interrupted == 1 })
	if q.drained() {
		t.Error("drained with a job to give again")
	}
	talk(t, q, "take effect done")
	harness.WaitUntil(t, "the queue is drained", q.drained)
	if got, want := q.count(), (counts{jobs: 1, done: 1, interrupted: 1, twice: 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func newQueue(t *testing.T, lease time.Duration) *queue {
	t.Helper()
	q, err := listen(filepath.Join(t.TempDir(), "q"), lease)
	harness.Must(t, err)
	t.Cleanup(func() { q.listener.Close() })
	return q
}

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
