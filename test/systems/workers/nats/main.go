// Command nats is a worker of NATS JetStream; `nats add JOB...` adds jobs, and `nats list` prints those in
// the stream.
package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"drainit/test/systems/workers"
)

var (
	ctx   = context.Background()
	queue = os.Getenv("QUEUE")
)

func main() {
	conn, err := nats.Connect(os.Getenv("BROKER_URL"))
	workers.Must(err)
	js, err := jetstream.New(conn)
	workers.Must(err)
	config := jetstream.StreamConfig{Name: queue, Subjects: []string{queue}}
	config.Retention = jetstream.WorkQueuePolicy
	stream, err := js.CreateOrUpdateStream(ctx, config)
	workers.Must(err)
	switch {
	case len(os.Args) == 1:
		work(stream)
	case os.Args[1] == "add":
		for _, job := range os.Args[2:] {
			_, err := js.Publish(ctx, queue, []byte(job))
			workers.Must(err)
		}
	default:
		list(stream)
	}
}

func work(stream jetstream.Stream) {
	config := jetstream.ConsumerConfig{Durable: "worker", AckWait: time.Minute}
	consumer, err := stream.CreateOrUpdateConsumer(ctx, config)
	workers.Must(err)
	stop, cancel := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer cancel()
	jobs, err := consumer.Consume(func(message jetstream.Msg) {
		workers.Must(workers.Run(ctx, string(message.Data())))
		workers.Must(message.DoubleAck(ctx))
	}, jetstream.PullMaxMessages(1))
	workers.Must(err)
	<-stop.Done()
	jobs.Stop()
	<-jobs.Closed()
}

func list(stream jetstream.Stream) {
	info, err := stream.Info(ctx)
	workers.Must(err)
	for n := info.State.FirstSeq; n <= info.State.LastSeq; n++ {
		message, err := stream.GetMsg(ctx, n)
		if !errors.Is(err, jetstream.ErrMsgNotFound) {
			workers.Must(err)
			workers.Print(string(message.Data), "")
		}
	}
}
