package test

// pipeWays are the starts where a reader of the application's output handles the signal
// itself. A reader that leaves first costs the application its job, by SIGPIPE or EPIPE.
var pipeWays = []way{
	{name: "`sh -c 'node app | pino-pretty'`", npm: true, programs: []string{"sh"}, status: 7,
		prepare: app(env{"STATUS": "7", "CHATTY": "1"}, nil, "sh", "-c", "node app.js | pino-pretty")},
	{name: "`mkfifo f; perl reader <f & node app >f` in a script", programs: []string{"node", "bash", "perl", "mkfifo"}, status: 7,
		prepare: app(env{"STATUS": "7", "CHATTY": "1"}, files{
			"start.sh":  "mkfifo f\nperl reader.pl <f &\nnode app.js >f\n",
			"reader.pl": "$SIG{TERM} = sub { exit };\nprint while <STDIN>;\n",
		}, "bash", "start.sh")},
}
