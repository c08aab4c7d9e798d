package systems

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// broker starts a broker, which ends with the test, and returns what gives its address for the next worker.
type broker func(t *testing.T) (next func() string)

// atPort puts a port in the place of $PORT in the words of a server.
func atPort(t *testing.T, l harness.Launch) (_ harness.Launch, port int) {
	port = harness.ReservePort(t)
	for i, word := range l.Args {
		l.Args[i] = strings.ReplaceAll(word, "$PORT", strconv.Itoa(port))
	}
	return l, port
}

// listening starts a server that is not below the init, and waits until it listens.
func listening(t *testing.T, l harness.Launch) (port int) {
	t.Helper()
	l, port = atPort(t, l)
	l.NoPID1 = true
	awaitPort(t, harness.Run(t, l), port)
	return port
}

func awaitPort(t *testing.T, p *harness.Init, port int) {
	t.Helper()
	listens := func() bool { return harness.Listens(fmt.Sprint("127.0.0.1:", port)) }
	if !harness.Within(4*harness.Patience, func() bool { return listens() || !p.Running() }) || !p.Running() {
		t.Fatal("the broker does not listen")
	}
}

// shared is a broker that all workers of a system share, each with a QUEUE of its own: url has %d for the
// port.
func shared(url string, launch func(t *testing.T) harness.Launch) broker {
	return func(t *testing.T) func() string {
		t.Helper()
		address := fmt.Sprintf(url, listening(t, launch(t)))
		return func() string { return address }
	}
}

// server is shared for a program that needs no more than its words.
func server(url, program string, words ...string) broker {
	return shared(url, func(t *testing.T) harness.Launch {
		return harness.Launch{Bin: harness.PathOf(t, program), Args: slices.Clone(words), Dir: t.TempDir()}
	})
}

// ours is shared for a program of a module here.
func ours(url, program string) broker {
	return shared(url, func(t *testing.T) harness.Launch {
		return harness.Launch{Bin: buildWorker(t, program), Args: []string{"$PORT"}}
	})
}

var (
	beanstalkd = server("127.0.0.1:%d", "beanstalkd", "-l", "127.0.0.1", "-p", "$PORT")
	faktory    = ours("tcp://127.0.0.1:%d", "workers/faktory")
	gearman    = server("127.0.0.1:%d", "gearmand", "-L", "127.0.0.1", "-p", "$PORT", "-l", "stderr")
	kafka      = ours("127.0.0.1:%d", "workers/kfake")
	mongodb    = ours("mongodb://127.0.0.1:%d", "ferretdb/server")
	nats       = server("nats://127.0.0.1:%d", "nats-server", "-a", "127.0.0.1", "-p", "$PORT", "-sd=.",
		"-js")
	rabbitmq = shared("amqp://guest:guest@127.0.0.1:%d/%%2F", rabbitmqNode)
)

// none is for a worker that has its jobs in a file of its own.
func none(*testing.T) func() string { return func() string { return "" } }

// atFreePort is for a server, or one that a worker's start starts.
func atFreePort(t *testing.T) func() string {
	return func() string { return strconv.Itoa(harness.ReservePort(t)) }
}

// temporal has a task queue for each worker.
func temporal(t *testing.T) func() string {
	p := harness.Run(t, harness.Launch{NoPID1: true, Bin: buildWorker(t, "temporal/server")})
	address := p.WaitOut(`^listens (\S+)$`)[1]
	return func() string { return address }
}

// redis has a database for each worker.
func redis(t *testing.T) func() string {
	port, n := listening(t, redisServer(t)), new(atomic.Int64)
	return func() string { return fmt.Sprintf("redis://127.0.0.1:%d/%d", port, n.Add(1)) }
}

func redisServer(t *testing.T) harness.Launch {
	return harness.Launch{Bin: harness.PathOf(t, "redis-server"), Dir: t.TempDir(),
		Args: []string{"--port", "$PORT", "--bind", "127.0.0.1", "--appendonly", "no", "--databases", "99"}}
}

// postgresServer is no root's.
func postgresServer(t *testing.T) harness.Launch {
	harness.NeedRoot(t)
	const bin = "/usr/lib/postgresql/15/bin/"
	dir := ownedBy(t, "postgres")
	as := []string{"--reuid=postgres", "--regid=postgres", "--clear-groups", "--"}
	initdb := append(as, bin+"initdb", "-D", dir, "--auth=trust", "--username=postgres", "--no-sync")
	harness.OutputOf(t, exec.Command("setpriv", initdb...))
	server := append(as, bin+"postgres", "-D", dir, "-h", "127.0.0.1", "-p", "$PORT", "-k", dir)
	return harness.Launch{Bin: harness.PathOf(t, "setpriv"), Args: server}
}

// postgres has a database for each worker.
func postgres(t *testing.T) func() string {
	port := listening(t, postgresServer(t))
	n := new(atomic.Int64)
	return func() string {
		url := fmt.Sprintf("postgres://postgres@127.0.0.1:%d/", port)
		name := fmt.Sprint("jobs", n.Add(1))
		harness.WaitUntil(t, "the database is made", func() bool { // not while another is
			return exec.Command("psql", url+"postgres", "-c", "CREATE DATABASE "+name).Run() == nil
		})
		return url + name
	}
}

// ownedBy makes a folder that is a user's.
func ownedBy(t *testing.T, name string) (dir string) {
	t.Helper()
	account, err := user.Lookup(name)
	harness.Must(t, err)
	uid, _ := strconv.Atoi(account.Uid) // a number, as in passwd(5)
	dir = harness.ShortDir(t)
	harness.Must(t, os.Chown(dir, uid, uid))
	return dir
}

// rabbitmqNode is a node with all its files in a folder.
func rabbitmqNode(t *testing.T) harness.Launch {
	t.Helper()
	dir, port := t.TempDir(), func() string { return strconv.Itoa(harness.ReservePort(t)) }
	args := []string{"RABBITMQ_NODE_PORT=$PORT", "/usr/lib/rabbitmq/bin/rabbitmq-server"}
	return harness.Launch{Bin: "env", Args: args, Env: []string{
		"HOME=" + dir,
		"RABBITMQ_NODENAME=drainit" + port() + "@localhost",
		"RABBITMQ_NODE_IP_ADDRESS=127.0.0.1",
		"RABBITMQ_DIST_PORT=" + port(),
		"ERL_EPMD_ADDRESS=127.0.0.1",
		"ERL_EPMD_PORT=" + port(),
		"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=-setcookie drainit -kernel inet_dist_use_interface {127,0,0,1}",
		"RABBITMQ_CONF_ENV_FILE=/dev/null",
		"RABBITMQ_CONFIG_FILE=" + dir + "/none",
		"RABBITMQ_ENABLED_PLUGINS_FILE=" + dir + "/plugins",
		"RABBITMQ_MNESIA_BASE=" + dir,
		"RABBITMQ_LOG_BASE=" + dir,
		"RABBITMQ_LOGS=-", // standard output
		"RABBITMQ_PID_FILE=" + dir + "/pid",
	}}
}

// TestBrokers stops brokers below drainit, as its command and below a shell: each ends in order, by one
// signal. RabbitMQ leaves a daemon that never ends, epmd, which waits for no call.
func TestBrokers(t *testing.T) {
	harness.Full(t)
	for _, b := range []struct {
		name, needs string
		server      func(t *testing.T) harness.Launch
		flags       string
		prints      map[string]int // how often it does
	}{
		{"redis", "", redisServer, "",
			map[string]int{"Received SIGTERM": 1, "Redis is now ready to exit": 1}},
		// TERM, which the trap passes on, waits until the clients have gone: there are none.
		{"postgres", "postgresql", postgresServer, "--rewrite TERM:INT",
			map[string]int{"shutdown request": 1, "database system is shut down": 1}},
		{"RabbitMQ", "", rabbitmqNode, "",
			map[string]int{"SIGTERM received - shutting down": 1, "Stopping message store for directory": 2}},
	} {
		for _, f := range forms[:3] {
			if (system{name: b.name, client: "none", inCI: b.name == "redis"}).isChosen() {
				t.Run(b.name+"/"+f.name, func(t *testing.T) {
					t.Parallel()
					needPackages(t, b.needs)
					p := below(t, b.server(t), f, b.flags)
					p.Signal(unix.SIGTERM)
					p.Wait()
					p.WantLogged(`"event":"(signalled_late|killing)"`, 0)
					for text, want := range b.prints {
						if got := strings.Count(p.Out()+p.Err(), text); got != want {
							t.Errorf("%q comes %d times, want %d", text, got, want)
						}
					}
				})
			}
		}
	}
}

// below starts a server below drainit, and waits until it listens.
func below(t *testing.T, l harness.Launch, f form, flags string) *harness.Init {
	t.Helper()
	l, port := atPort(t, l)
	l.Dir = t.TempDir()
	fill := strings.NewReplacer("$WORK", strings.Join(append([]string{l.Bin}, l.Args...), " "))
	if f.file != "" {
		harness.WriteFile(t, filepath.Join(l.Dir, f.file), fill.Replace(f.text))
	}
	command := strings.Fields(fill.Replace(f.command))
	l.Bin, l.Args = "", harness.Line(strings.Fields("-v --grace 30s "+flags), command...)
	p := harness.Run(t, l)
	awaitPort(t, p, port)
	return p
}
