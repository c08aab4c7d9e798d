package test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// mysqldSafeWay is Debian's start script of MariaDB, a shell that ignores TERM and waits
// for the server. Its job is the server's own stop, which ends what its clients do: the
// stores are closed and marked as whole.
var mysqldSafeWay = way{
	name:      "`mysqld_safe`",
	programs:  []string{"mysqld_safe", "mariadbd", "mariadb-install-db"},
	uncounted: true,
	tells:     2, // the script, and the server
	leaves:    time.Second,
	prepare: func(t *testing.T, s *scene) []string {
		data := filepath.Join(s.dir, "data")
		if err := os.CopyFS(data, os.DirFS(mariadbData(t))); err != nil {
			t.Fatal(err)
		}
		s.notes = filepath.Join(s.dir, "log.err")
		s.env = append(s.env, debianPath)
		return []string{"mysqld_safe", "--no-defaults", "--user=root", "--datadir=" + data, "--skip-networking",
			"--socket=" + filepath.Join(s.dir, "socket"), "--pid-file=" + filepath.Join(s.dir, "pid"),
			"--log-error=" + s.notes, innodbLog}
	},
	begin: watchMariaDB,
	kept:  mariadbLeftCleanly,
}

// innodbLog keeps the stores small, and must be the same at each start.
const innodbLog = "--innodb-log-file-size=4M"

// mariadbData returns the folder of a database that has been set up, to be copied.
func mariadbData(t *testing.T) string {
	t.Helper()
	dir, err := newMariaDB()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// newMariaDB sets a database up, once.
var newMariaDB = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp(filepath.Dir(drainitBin), "mariadb-")
	if err != nil {
		return "", err
	}
	data := filepath.Join(dir, "data")
	out, err := exec.Command("mariadb-install-db", "--no-defaults", "--user=root", "--datadir="+data, "--skip-test-db", innodbLog).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("cannot set up MariaDB: %w\n%s", err, out)
	}
	return data, nil
})

// watchMariaDB writes the record by the server's own log.
func watchMariaDB(t *testing.T, s *scene) {
	logged := func(words string) bool {
		log, _ := os.ReadFile(s.notes) // none yet is an empty one
		return strings.Contains(string(log), words)
	}
	waitUntil(t, "MariaDB is ready", func() bool { return logged(": ready for connections.") || !s.init.running() })
	s.note("begin")
	s.noteDone(t, func() bool { return logged(": Shutdown complete") })
}

// mariadbLeftCleanly reports whether the server was signalled once. Only one that is stopped as
// it should be says that it is shutting down.
func mariadbLeftCleanly(t *testing.T, s *scene) bool {
	t.Helper()
	log, err := os.ReadFile(s.notes)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(log), "(initiated by: unknown): Normal shutdown") == 1
}
