package cli

import (
	"os"
	"path/filepath"
	"testing"

	"drainit/test/harness"
)

// systemd names drainit in LISTEN_PID, for the sockets that it has opened for a service
// (sd_listen_fds(3)). A shell names the worker: exec keeps its pid and the sockets.
func TestShellNamesTheWorkerInListenPid(t *testing.T) {
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		file := filepath.Join(t.TempDir(), "socket")
		harness.WriteFile(t, file, "")
		f, err := os.Open(file)
		harness.Must(t, err)
		defer f.Close()
		r := harness.RunToEnd(t, harness.Launch{NoPID1: noPID1, Files: []*os.File{f}, Bin: "/bin/sh",
			Args: []string{"-c",
				`export LISTEN_FDS=1 LISTEN_PID=$$; exec "$0" -- sh -c 'LISTEN_PID=$$ exec "$0" "$@"' sh ` +
					`-c 'echo $((LISTEN_PID - $$)); readlink /proc/self/fd/3'`,
				harness.DrainitBin}})
		r.WantQuietRun(t, "0\n"+file+"\n")
	})
}
