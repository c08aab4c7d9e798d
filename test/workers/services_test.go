package workers

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"drainit/test/harness"
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
	dir, err := os.MkdirTemp(filepath.Dir(harness.DrainitBin), "mariadb-")
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
	harness.WaitUntil(t, "MariaDB is ready", func() bool { return logged(": ready for connections.") || !s.init.Running() })
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

// rabbitmqWay is Debian's start script, which as root is sh → su → sh → sh →
// beam, with an epmd beside it that has made itself a daemon. The su ends its
// child's work 2 s after it was signalled: here that child is a shell, which is dead
// by then, and what is below it is signalled when su has gone. The job ends when the
// broker has closed its stores; its virtual machine leaves a second later.
var rabbitmqWay = way{
	name:      "`rabbitmq-server` as root",
	programs:  []string{"rabbitmq-server", "su", "bash"},
	status:    143, // su's
	leaves:    2 * time.Second,
	uncounted: true,
	prepare: func(t *testing.T, s *scene) []string {
		dir := brokerDir(t)
		s.notes = filepath.Join(dir, "log")
		s.env = append(s.env, debianPath,
			"RABBITMQ_NODENAME=drainit@localhost",
			"RABBITMQ_NODE_IP_ADDRESS=127.0.0.1",
			"RABBITMQ_NODE_PORT="+strconv.Itoa(s.port),
			"RABBITMQ_DIST_PORT="+strconv.Itoa(harness.ReservePort(t)),
			"ERL_EPMD_ADDRESS=127.0.0.1",
			"ERL_EPMD_PORT="+strconv.Itoa(harness.ReservePort(t)),
			"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=-setcookie drainit -kernel inet_dist_use_interface {127,0,0,1}",
			"RABBITMQ_CONF_ENV_FILE=/dev/null",
			"RABBITMQ_CONFIG_FILE="+filepath.Join(dir, "none"),
			"RABBITMQ_ENABLED_PLUGINS_FILE="+filepath.Join(dir, "plugins"),
			"RABBITMQ_MNESIA_BASE="+dir,
			"RABBITMQ_LOG_BASE="+dir,
			"RABBITMQ_LOGS="+s.notes,
			"RABBITMQ_PID_FILE="+filepath.Join(dir, "pid"))
		return []string{"rabbitmq-server"}
	},
	begin: watchBroker,
	kept:  brokerLeftCleanly,
}

// brokerDir makes a folder that the broker's user may write to.
func brokerDir(t *testing.T) string {
	t.Helper()
	if os.Getuid() != 0 {
		harness.Skip(t, "needs root")
	}
	owner, err := user.Lookup("rabbitmq")
	if err != nil {
		t.Fatal(err)
	}
	uid, err := strconv.Atoi(owner.Uid)
	if err != nil {
		t.Fatal(err)
	}
	return harness.ServerDir(t, uid)
}

// watchBroker writes the record by the broker's own log.
func watchBroker(t *testing.T, s *scene) {
	logged := func(words string, times int) bool {
		b, _ := os.ReadFile(s.notes) // none yet is an empty one
		return strings.Count(string(b), words) >= times
	}
	// Its start is seconds of work for a machine with nothing else to do.
	for deadline := time.Now().Add(4 * harness.Patience); !logged("Server startup complete", 1); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) || !s.init.Running() {
			t.Fatalf("the broker has not started:\n%s\n%s", s.init.Stdout.Text(), s.init.Stderr.Text())
		}
	}
	s.note("begin")
	s.noteDone(t, func() bool { return logged("Message store for directory", 2) && logged("is stopped", 2) })
}

// brokerLeftCleanly reports whether the broker was signalled once and left its
// stores marked as whole: else it would go through them at its next start.
func brokerLeftCleanly(t *testing.T, s *scene) bool {
	t.Helper()
	log, err := os.ReadFile(s.notes)
	if err != nil {
		t.Fatal(err)
	}
	marks, err := filepath.Glob(filepath.Join(filepath.Dir(s.notes), "*", "msg_stores", "vhosts", "*", "*", "clean.dot"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(log), "SIGTERM received - shutting down") == 1 && len(marks) > 0
}

// What su runs has 2 s from the signal that su is sent, whatever sends it. What
// changes the user and then becomes the command leaves it its time.
func TestSuKillsItsCommandAfterTwoSeconds(t *testing.T) {
	harness.Full(t)
	if os.Getuid() != 0 {
		harness.Skip(t, "needs root")
	}
	const job = `catch "TERM"; say "begin"; await "TERM"; nap 0.1 for 1..40; say "done"`
	command := harness.Script(job)
	quoted := "exec perl -e '" + strings.ReplaceAll(command[2], "'", `'\''`) + "'"
	su := []string{"su", "nobody", "-s", "/bin/sh", "-c", quoted}
	setpriv := append([]string{"setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"}, command...)
	for _, row := range []struct {
		name    string
		launch  harness.Launch
		program string
		kept    bool
	}{
		{"su by itself", harness.Launch{Bin: "su", Args: su[1:], NoPID1: true}, "su", false},
		{"su under drainit", harness.Launch{Args: harness.Line([]string{harness.LongGrace}, su...)}, "su", false},
		{"setpriv under drainit", harness.Launch{Args: harness.Line([]string{harness.LongGrace}, setpriv...)}, "setpriv", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			harness.Need(t, row.program)
			if row.launch.Bin != "" {
				row.launch.Bin, _ = exec.LookPath(row.launch.Bin)
			}
			p := harness.Run(t, row.launch)
			p.WaitOut(`^begin`)
			signalled := time.Now()
			p.Signal(syscall.SIGTERM)
			p.Wait()
			wantNotBefore(t, signalled, 2*time.Second)
			if kept := strings.Contains(p.Out(), "done"); kept != row.kept {
				t.Errorf("job kept: %v, want %v\n%s\n%s", kept, row.kept, p.Out(), p.Err())
			}
			p.WantCount("worker got TERM", 1)
			p.WantNothingLeft()
		})
	}
}
