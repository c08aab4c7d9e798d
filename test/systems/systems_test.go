// Package systems stops the workers of real job systems while they have jobs in hand, and has each
// system's broker say what became of the jobs. docs/systems.md has its sums.
package systems

import (
	"strconv"
	"strings"
	"testing"

	"drainit/test/harness"
	"drainit/test/harness/rows"
)

// system is a job system: a broker on the loopback, and a worker in the system's own style. The worker gets
// the broker's address in BROKER_URL, a name that is its own in QUEUE, and in LIMIT how many seconds it may
// take to end its jobs. It appends lines to $RECORD, each by one write: "begin JOB", "done JOB", or
// "back JOB" where it is told to give the job up.
type system struct {
	name    string // as in docs/systems.md
	files   string // the folder in testdata with the worker's files
	goes    string // the program that is $PROGRAM, below the folder of its module
	needs   string // Debian's packages beside those of test/programs.txt
	broker  broker
	work    string // the command of the worker
	client  string // what adds jobs ("add j1:3 j2:3": of 3 s each), and lists those that are left ("list")
	runner  string // what a user starts the command by; `make run` if empty
	slots   int    // how many jobs it does at a time
	limited bool   // it gives jobs back when its LIMIT is over
	quiets  bool   // it takes no new job after TSTP
	inCI    bool
	turns   bool   // CI has some of these, at another commit others
	stop    string // the flags by which drainit sends another signal than TERM
	start   form   // its only one, if it has a name
	isTwice bool   // its jobs are done twice, below drainit too
	isLost  bool   // they are interrupted, below drainit too
}

// isServer is of what answers requests: its jobs are these, and it needs no broker but its port.
func (y system) isServer() bool { return y.client == "" }

// brokers are by their names in the file of the systems.
var brokers = map[string]broker{
	"beanstalkd": beanstalkd, "faktory": faktory, "gearman": gearman, "kafka": kafka, "nats": nats,
	"mongodb": mongodb, "none": none, "port": atFreePort, "postgres": postgres, "rabbitmq": rabbitmq,
	"redis": redis, "temporal": temporal,
}

// The rows of docs/systems.md, in its order.
var (
	systems = readSystems("systems")
	servers = readSystems("servers")
	avoided = onlyByRunner(readSystems("avoided"))
)

func readSystems(file string) (all []system) {
	for _, row := range rows.Read(rows.AtStart{}, "testdata/"+file+".tsv", 11) {
		slots, _ := strconv.Atoi(row[5])
		is := func(word string) bool { return strings.Contains(row[9], word) }
		all = append(all, system{name: row[0], files: row[1], goes: row[2], needs: row[3],
			broker: brokers[row[4]], slots: slots, work: row[6], client: row[7], runner: row[8],
			limited: is("limited"), quiets: is("quiets"), inCI: is("inCI"), turns: is("turns"),
			isTwice: is("twice"), isLost: is("lost"), stop: row[10]})
	}
	return all
}

// onlyByRunner is for what is started by its runner alone, or as the command itself.
func onlyByRunner(all []system) []system {
	for i, y := range all {
		all[i].start = forms[0]
		if y.runner != "" {
			all[i].start = runners[y.runner]
		}
	}
	return all
}

// besides are the starts of a worker with a server in its container, which it needs at its end.
var besides = []system{
	beside("`server & exec worker`",
		form{"exec", "start.sh", "node server.js &\nexec $WORK\n", "bash start.sh"}),
	beside("`server &`, and a trap that signals the worker",
		form{"trap", "trap.sh", "node server.js &\n" + forms[2].text, "bash trap.sh"}),
	beside("`server &`, and a trap that signals the worker, waits for it, and signals the server",
		form{"trap", "trap.sh", "node server.js &\ns=$!\n$WORK &\nc=$!\n" +
			"trap 'kill $c; wait $c; kill $s' TERM\nwait\nwait\n", "bash trap.sh"}),
	twice(beside("`server &`, and the worker in the foreground",
		form{"foreground", "start.sh", "node server.js &\n$WORK\n", "bash start.sh"})),
	twice(beside("`npm-run-all -p server worker`", form{"npm-run-all", "package.json",
		`{"scripts": {"server": "node server.js", "worker": "$WORK"}}`, "npm-run-all -p server worker"})),
}

func beside(name string, start form) system {
	return system{name: name, files: "beside", broker: atFreePort, slots: 1, work: "node worker.js",
		client: "node client.js", runner: "npm start", start: start}
}

// twice is for a start that signals the server with the worker: what the worker has done it can't report.
func twice(y system) system {
	y.isTwice = true
	return y
}

func TestMain(m *testing.M) { harness.Main(m) }
