package workers

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// debianPath is where Debian's programs are, before what else may be installed:
// its Python knows its Python programs' modules.
const debianPath = "PATH=/usr/sbin:/usr/bin:/sbin:/bin"

// nginx prepares a start of nginx, which cuts its clients off on TERM and lets them finish on QUIT.
func nginx(t *testing.T, s *scene) {
	dir := serverDir(t)
	user := "user nobody nogroup;"
	if os.Getuid() != 0 { // who is root in a namespace that knows no others
		user = "user root root;"
	}
	// How long a download takes is the client's business here.
	fill := strings.NewReplacer(
		"\nUSER\n", "\n"+user+"\n", ":PORT", ":"+strconv.Itoa(s.port), " DIR/", " "+dir+"/",
		"limit_rate 4m;", "")
	conf := fill.Replace(harness.TextOf(t, "testdata/nginx.conf"))
	harness.WriteFile(t, filepath.Join(dir, "nginx.conf"), conf)
	harness.WriteFile(t, filepath.Join(dir, "root", "file"), string(nginxFile(s)))
	s.vars = append(s.vars, "$NGINX", "nginx -p "+dir+" -e stderr -c "+filepath.Join(dir, "nginx.conf"))
}

// nginxFile is what nginx serves in a scene: more than the buffers of both
// sockets, so that what the client has not read can't have been sent.
func nginxFile(s *scene) []byte {
	file := make([]byte, 16<<20)
	rand.New(rand.NewSource(int64(s.port))).Read(file)
	return file
}

// slowDownload begins to read the file, and reads on when the job's time is
// over.
func slowDownload(t *testing.T, s *scene) {
	t.Helper()
	addr := "127.0.0.1:" + strconv.Itoa(s.port)
	harness.WaitUntil(t, "nginx listens", func() bool { return harness.Listens(addr) })
	first, rest := make([]byte, 1000), download(t, addr)
	if _, err := io.ReadFull(rest, first); err != nil {
		t.Fatal(err)
	}
	s.note("begin")
	s.answer = make(chan string, 1)
	go func() {
		select {
		case <-time.After(s.job):
		case <-t.Context().Done():
			return
		}
		s.note("done") // before the rest: nginx may be gone before it has been read
		body, err := io.ReadAll(rest)
		if err != nil {
			body = fmt.Appendf(body, "%v", err)
		}
		s.answer <- string(first) + string(body)
	}()
}

// downloaded reports whether the client got the whole file.
func downloaded(t *testing.T, s *scene) bool { return s.answered(t) == string(nginxFile(s)) }

// download asks for the file by a connection that takes little of it unread.
func download(t *testing.T, addr string) io.Reader {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	harness.Must(t, err)
	t.Cleanup(func() { conn.Close() })
	_, writeErr := io.WriteString(conn, "GET /file HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n")
	err = errors.Join(conn.(*net.TCPConn).SetReadBuffer(64<<10),
		conn.SetDeadline(time.Now().Add(2*harness.Patience)), writeErr)
	response, readErr := http.ReadResponse(bufio.NewReader(conn), nil)
	harness.Must(t, errors.Join(err, readErr))
	t.Cleanup(func() { response.Body.Close() })
	return response.Body
}

// request asks the scene's server for an answer, which takes the job's time,
// as soon as the server listens.
func request(t *testing.T, s *scene) {
	ctx := t.Context()
	if s.answer == nil {
		s.answer = make(chan string, 2) // who asks for more waits for each
	}
	get, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:"+strconv.Itoa(s.port), nil)
	harness.Must(t, err)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	go func() {
		response, err := client.Do(get)
		for errors.Is(err, unix.ECONNREFUSED) && ctx.Err() == nil {
			time.Sleep(10 * time.Millisecond)
			response, err = client.Do(get)
		}
		if err != nil {
			s.answer <- err.Error()
			return
		}
		defer response.Body.Close()
		var body bytes.Buffer
		if _, err := body.ReadFrom(response.Body); err != nil {
			body.WriteString(err.Error())
		}
		s.answer <- body.String()
	}()
}

// answeredWhole reports whether the client got the server's whole answer.
func answeredWhole(t *testing.T, s *scene) bool { return s.answered(t) == "whole\n" }

// answered waits for what came to the scene's client.
func (s *scene) answered(t *testing.T) string {
	t.Helper()
	select {
	case answer := <-s.answer:
		return answer
	case <-time.After(harness.Patience):
		t.Errorf("the client still has no answer after %v", harness.Patience)
		return ""
	}
}

// mysqldSafeWay is Debian's start script of MariaDB, a shell that ignores TERM and waits
// for the server. Its job is the server's own stop, which ends what its clients do: the
// stores are closed and marked as whole. Only a server that is stopped as it should be says that
// it is shutting down.
var mysqldSafeWay = way{
	name: "`mysqld_safe`",
	start: "mysqld_safe --no-defaults --user=root --datadir=$DIR/data --skip-networking " +
		"--socket=$DIR/socket " +
		"--pid-file=$DIR/pid --log-error=$DIR/log.err " + innodbLog,
	uses:      "mariadbd mariadb-install-db",
	uncounted: true,
	tells:     2, // the script, and the server
	leaves:    time.Second,
	prepare: func(t *testing.T, s *scene) {
		data, err := newMariaDB()
		if err == nil {
			err = os.CopyFS(filepath.Join(s.dir, "data"), os.DirFS(data))
		}
		harness.Must(t, err)
		s.notes = filepath.Join(s.dir, "log.err")
		s.env = append(s.env, debianPath)
	},
	begin: func(t *testing.T, s *scene) {
		s.awaitLog(t, ": ready for connections.")
		s.noteDone(t, func() bool { return strings.Contains(s.logged(), ": Shutdown complete") })
	},
	kept: func(t *testing.T, s *scene) bool {
		return strings.Count(s.logged(), "(initiated by: unknown): Normal shutdown") == 1
	},
}

// innodbLog keeps the stores small, and must be the same at each start.
const innodbLog = "--innodb-log-file-size=4M"

// newMariaDB sets a database up, once, to be copied.
var newMariaDB = sync.OnceValues(func() (data string, err error) {
	dir, err := os.MkdirTemp(filepath.Dir(harness.DrainitBin), "mariadb-")
	if err != nil {
		return "", err
	}
	data = filepath.Join(dir, "data")
	out, err := exec.Command(
		"mariadb-install-db", "--no-defaults", "--user=root", "--datadir="+data, "--skip-test-db",
		innodbLog).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("cannot set up MariaDB: %w\n%s", err, out)
	}
	return data, nil
})

// awaitLog waits until a program's own log says that it is ready. A broker's start is seconds of
// work for a machine with nothing else to do.
func (s *scene) awaitLog(t *testing.T, ready string) {
	t.Helper()
	is := func() bool { return strings.Contains(s.logged(), ready) }
	harness.Within(4*harness.Patience, func() bool { return is() || !s.init.Running() })
	if !is() {
		t.Fatalf("no %q", ready)
	}
	s.note("begin")
}

// startRabbitMQ waits until the broker serves. Its job ends when it has closed its stores.
func startRabbitMQ(t *testing.T, s *scene) {
	s.awaitLog(t, "Server startup complete")
	s.noteDone(t, func() bool {
		log := s.logged()
		return strings.Count(log, "Message store for directory") >= 2 &&
			strings.Count(log, "is stopped") >= 2
	})
}

// stopOfRabbitMQ reports whether the broker has stopped once, and marked its stores as whole: else it would
// go through them at its next start.
func stopOfRabbitMQ(_ *testing.T, s *scene) bool {
	// fails for a bad pattern only
	marks, _ := filepath.Glob(
		filepath.Join(filepath.Dir(s.notes), "*", "msg_stores", "vhosts", "*", "*", "clean.dot"))
	return strings.Count(s.logged(), "SIGTERM received - shutting down") == 1 && len(marks) > 0
}

func prepareRabbitMQ(t *testing.T, s *scene) {
	harness.NeedRoot(t)
	uid := harness.Number(t, harness.OutputOf(t, exec.Command("id", "-u", "rabbitmq")))
	dir := serverDir(t)
	harness.Must(t, os.Chown(dir, uid, uid))
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
}

// serverDir makes a folder that all can look into, which t.TempDir's parent does not allow.
func serverDir(t *testing.T) string {
	dir := harness.ShortDir(t)
	harness.Must(t, errors.Join(os.Chmod(dir, 0o755), os.Mkdir(filepath.Join(dir, "root"), 0o755)))
	return dir
}
