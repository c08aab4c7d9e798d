// Package workers tests real workers, started in all the ways that people start them.
//
// TestMatrix has one row for each way. It starts the worker with a job in hand, asks for the stop, and looks
// at four things: whether the job ended whole, how often and when its process got the signal, how the init
// ended, and what is left. testdata/starts.tsv has each outcome; with -peers the other inits run, too, and
// -update writes the file.
//
//	kept, sent 1 after 0.0 s, +0.1 s, 7
//
// says: the job ended whole, its process got the signal once, at once; the container ended 0.1 s after the
// job, with status 7. Where a job is lost, how often it got the signal is a race, and changes from run to
// run. Where the script or wrapper passes the signal on by itself, a second signal ends the application at
// once.
//
//   - The grace period is 12 s, and for servers and queues 30 s with the job of 3 s, 16 s with the job of 6
//     s. Of 12 s the last call comes after 9 s. A process that waits for it is late, and the test asks for a
//     line that says so.
//   - -busy gives each application in Node a timer of 20 ms, so that none can be proven untouched. -pressed
//     leaves the applications little CPU time. Both have a job of 8 s under a grace period of 20 s.
//   - Standard input is as Docker and Kubernetes give it: /dev/null, opened for reading and writing. If a
//     shell takes part, -inputs adds three others: /dev/null opened for reading, a pipe, and a terminal.
//   - Some programs need time of their own to exit: celery's pool 1 s to 2 s, RabbitMQ and supervisord 1 s,
//     rq, gunicorn and sidekiq up to half a second.
//   - Settings: PM2 has PM2_KILL_TIMEOUT=20000, supervisord stopwaitsecs=60. For nginx drainit has --rewrite
//     TERM:QUIT and dumb-init -r 15:3; for a program that handles INT alone --rewrite TERM:INT and -r 15:2.
//   - nx signals its tasks more than once by itself, and PM2 what tsx signals, too: their signals are not
//     counted.
//   - An application whose terminal goes before it has ended must handle HUP. script is such a terminal: the
//     kernel sends its application HUP, so that this is not untouched, and waits for the last call.
//
// Without -peers the starts that need no other program also run with an application in Perl, whose job ends
// when it has been signalled: at rest, and with a timer of 10, 50 or 200 ms or a thread that computes
// (NeverRest). WereFound has starts that once lost a job.
package workers
