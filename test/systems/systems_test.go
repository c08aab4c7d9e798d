// Package systems stops the workers of real job systems while they have jobs in hand, and has each
// system's broker say what became of the jobs. docs/systems.md has its sums.
package systems

import (
	"testing"

	"drainit/test/harness"
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
	start   form // its only one, if it has a name
	isTwice bool // its jobs are done twice, below drainit too
}

// The clients of more than one worker.
const (
	goes   = "$PROGRAM"
	python = "/usr/bin/python3 client.py"
	ruby   = "ruby client.rb"
	node   = "node client.js"
	pika   = "/usr/bin/python3 pika_client.py" // of each that takes its jobs from RabbitMQ by its protocol
)

// systems are the rows of docs/systems.md, in its order.
var systems = []system{
	{name: "RQ", files: "rq", broker: redis, slots: 1, work: "rq worker --url $BROKER_URL jobs",
		client: python, inCI: true},
	{name: "BullMQ", files: "bullmq", broker: redis, slots: 2, work: "node worker.js", client: node,
		runner: "npm start", quiets: true, inCI: true},
	{name: "asynq", goes: "workers/asynq", broker: redis, slots: 2, work: goes, client: goes,
		limited: true, quiets: true, inCI: true},
	celery("Celery, prefork, Redis", redis, "--pool prefork"),
	celery("Celery, threads, Redis", redis, "--pool threads"),
	celery("Celery, prefork with beat, Redis", redis, "--pool prefork -B"),
	celery("Celery, prefork, RabbitMQ", rabbitmq, "--pool prefork"),
	celery("Celery, threads, RabbitMQ", rabbitmq, "--pool threads"),
	{name: "Sidekiq", files: "sidekiq", needs: "ruby-bundler", broker: redis, slots: 2,
		work: "sidekiq -r ./app.rb -c 2 -t $LIMIT", client: ruby, runner: "bundle exec",
		limited: true, quiets: true},
	{name: "delayed_job", files: "delayed", needs: "ruby-delayed-job-active-record ruby-sqlite3 ruby-bundler",
		broker: none, slots: 1, work: "rake jobs:work", client: ruby, runner: "bundle exec"},
	{name: "Temporal", goes: "temporal/worker", broker: temporal, slots: 2, work: goes, client: goes,
		limited: true},
	{name: "pika (RabbitMQ)", files: "pika", needs: "python3-pika", broker: rabbitmq, slots: 1,
		work: "python3 worker.py", client: pika},
	{name: "amqplib (RabbitMQ)", files: "amqplib", needs: "python3-pika", broker: rabbitmq, slots: 2,
		work: "node worker.js", client: pika, runner: "npm start"},
	{name: "Java (RabbitMQ)", files: "jvm", needs: "librabbitmq-client-java python3-pika", broker: rabbitmq,
		slots: 2, work: "java -cp /usr/share/java/amqp-client.jar:/usr/share/java/slf4j-api.jar Worker.java",
		client: pika, limited: true},
	{name: "PHP (RabbitMQ)", files: "php", needs: "php-amqplib python3-pika", broker: rabbitmq, slots: 1,
		work: "php worker.php", client: pika},
	{name: "franz-go (Kafka)", goes: "workers/franz", broker: kafka, slots: 1, work: goes, client: goes},
	{name: "kafkajs (Kafka)", files: "kafkajs", goes: "workers/franz", broker: kafka, slots: 1,
		work: "node worker.js", client: goes, runner: "npm start"},
	{name: "NATS JetStream", goes: "workers/nats", needs: "nats-server", broker: nats, slots: 1, work: goes,
		client: goes},
	{name: "river", goes: "workers/river", needs: "postgresql", broker: postgres, slots: 2, work: goes,
		client: goes, limited: true},
	{name: "graphile-worker", files: "graphile", needs: "postgresql", broker: postgres, slots: 2,
		work: "graphile-worker -c $BROKER_URL -j 2", client: node, runner: "npm start"},
	{name: "pg-boss", files: "pgboss", needs: "postgresql", broker: postgres, slots: 2,
		work: "node worker.js", client: node, runner: "npm start", limited: true},
	{name: "faktory-worker", files: "faktory", broker: faktory, slots: 2, work: "node worker.js",
		client: node, runner: "npm start", limited: true, quiets: true},
	{name: "Gearman", files: "gearman", needs: "gearman-job-server libgearman-client-perl", broker: gearman,
		slots: 1, work: "perl worker.pl", client: "perl client.pl"},
	{name: "beanstalkd", files: "beanstalkd", needs: "beanstalkd ruby-beaneater", broker: beanstalkd,
		slots: 1, work: "ruby worker.rb", client: ruby},
	{name: "Elixir (Redis)", files: "elixir", needs: "elixir", broker: redis, slots: 2,
		work: "elixir worker.exs", client: python},
}

// celery is a worker with two processes or threads.
func celery(name string, b broker, flags string) system {
	work := "celery -A app worker --concurrency 2 " + flags
	return system{name: name, files: "celery", broker: b, slots: 2, work: work, client: python}
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
		client: node, runner: "npm start", start: start}
}

// twice is for a start that signals the server with the worker: what the worker has done it can't report.
func twice(y system) system {
	y.isTwice = true
	return y
}

func TestMain(m *testing.M) { harness.Main(m) }
