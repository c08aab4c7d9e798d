package proc

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMain reaps what the tests leave: in a container go test can be PID 1, and reaps none.
func TestMain(m *testing.M) {
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	status := m.Run()
	for {
		if pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); err != nil || pid == 0 {
			os.Exit(status)
		}
	}
}
