package forward

// conditions are stops that each hold one condition of a rule, by what they are about.
var conditions = []struct {
	about string
	rows  []stop
}{
	// A living process is expected to signal it, or not.
	{"managers", []stop{
		{"a manager that waits has a second", "app[*,asleep](sh(job[*,idle]))", `
			sent app TERM; snapshot at 50; sh dies of TERM; snapshot at 100; why job: left to app for 1s;
			next in 100; snapshot at 199; next in 1; snapshot at 200; sent job TERM`},
		{"one that naps between two steps has five", "app[*,naps](sh(job[*,idle]))", `
			sent app TERM; sh dies of TERM; snapshot at 100; why job: left to app for 5s; next in 500;
			snapshot at 599; snapshot at 600; sent job TERM`},
		{"so has one whose child of the stop lives", "app[*,asleep](sh(job[*,idle]))", `
			sent app TERM; sh dies of TERM; app starts kill; snapshot at 100; next in 500; snapshot at 400;
			next in 200; kill exits; snapshot at 410; sent job TERM`},
		{"one that runs has five at most, and half a second of sleep", "app*(sh(job[*,idle]))", `
			sent app TERM; sh dies of TERM; snapshot at 100; next in 100; snapshot at 200; next in 50;
			app now asleep; snapshot at 250; next in 50; snapshot at 299; snapshot at 300; sent job TERM`},
		{"it runs all the time", "app*(sh(job[*,idle]))", `
			sent app TERM; sh dies of TERM; snapshot at 100; snapshot at 590; next in 10; snapshot at 600;
			sent job TERM`},
		{"it has the same second for what is left in its turn",
			"app[*,asleep](sh(job1[*,idle](job2[*,idle])))", `
			sent app TERM; sh dies of TERM; snapshot at 100; snapshot at 200; sent job1 TERM; job1 exits;
			snapshot at 210; sent job2 TERM`},
		{"what would only die is left to it, and what is below that is not",
			"app[*,asleep](sh1(sh2[idle](job[*,idle])))", `
			sent app TERM; sh1 dies of TERM; snapshot at 100; next in 100;
			why sh2: not while app lives: it would only die of the signal; snapshot at 200; sent job TERM`},
		{"the nearest has had its second, and one above naps",
			"app[*,naps](mid[*,asleep](sh(job[*,idle])))", `
			sent app TERM; sh dies of TERM; snapshot at 100; why job: left to mid for 1s; next in 100;
			snapshot at 200; why job: left to app for 5s; next in 400; snapshot at 600; sent job TERM`},
		{"the first who may have signalled it is not its parent", "app*(sh1(sh2(job*)))", `
			sent app TERM; sh1 dies of TERM; snapshot; app exits; snapshot; sent sh2 TERM; sh2 dies of TERM;
			snapshot; why job: may have been signalled by app, which has gone`},
		{"it was untouched when the manager had gone", "app*(sh1(sh2(job[*,idle])))", `
			sent app TERM; sh1 dies of TERM; app exits; snapshot; sent sh2 TERM; job now busy;
			sh2 dies of TERM; snapshot; sent job TERM: sh2 above has no handler`},
		{"it was untouched when it came, and the manager has slept since", "app[*,asleep](sh(job[*,idle]))", `
			sent app TERM; sh dies of TERM; snapshot at 100; job now busy; snapshot at 110;
			why job: left to app for 1s; snapshot at 200; sent job TERM: sh above has no handler`},
		{"the manager has run since", "app[*,asleep](sh(job[*,idle]))", `
			sent app TERM; sh dies of TERM; snapshot at 100; job now busy; app now woken; snapshot at 110;
			why job: left to app; snapshot at 300`},
		{"what it has started in the stop may signal it", "bash*(job[*,idle])", `
			sent bash TERM; bash starts kill*; bash exits; snapshot;
			why job: its parent left a helper that may signal it; job now busy; kill exits; snapshot;
			why job: may have been signalled by bash, which has gone`},
		{"the manager runs all the time", "app*(sh(job[*,idle]))", `
			sent app TERM; sh dies of TERM; snapshot at 100; job now busy; snapshot at 110; snapshot at 300`},
		{"the next snapshot is for the first whose time is over",
			"app*(sh1(job1[*,idle]) sh2(job2[*,idle]) sh3(job3[*,idle]))", `
			sent app TERM; sh2 exits; snapshot at 100; next in 100; sh1 exits; sh3 exits; snapshot at 130;
			next in 70`},
		{"a program is waited for", "app*(sh(job[*,idle]))", "sent app TERM; sh dies of TERM; snapshot"},
		{"a shell is waited for", "bash*(sh(job[*,idle]))", "sent bash TERM; sh dies of TERM; snapshot"},
		{"one that dies is not waited for", "app(sh(job[*,idle]))", `
			sent app TERM; sh dies of TERM; snapshot; sent job TERM`},
		{"one that ignores it is not waited for", "app[ignores](sh(job[*,idle]))", `
			sent app TERM; sh dies of TERM; snapshot; sent job TERM`},
		{"timeout signals its group after its child", "timeout[*,asleep](sh(job[*,idle]))", `
			sent timeout TERM; sh dies of TERM; snapshot at 10; why job: left to timeout for 1s; next in 100;
			snapshot at 110; sent job TERM`},
		{"timeout does not signal another group", "timeout*(sh(job[*,idle,session]))", `
			sent timeout TERM; sh dies of TERM; snapshot; sent job TERM`},
		{"one above timeout is waited for as without it",
			"app[*,asleep](timeout*(sh(job[*,idle,session])))", `
			sent app TERM; sh exits; snapshot at 10; why job: left to app for 1s; snapshot at 110;
			sent job TERM`},
		{"npm is not waited for", "npm*(sh(job[*,idle]))", `
			sent npm TERM; sh dies of TERM; snapshot; sent job TERM`},
		{"one that has gone is not waited for", "app*(sh(job[*,idle]))", `
			sent app TERM; sh dies of TERM; app exits; snapshot; sent job TERM`},
		{"what is proven not to have been signalled is left to it for a time", "app*(runsvdir*(job*))", `
			sent app TERM; runsvdir exits; snapshot at 100; why job: left to app for 1s; snapshot at 600;
			sent job TERM`},
		{"what would only die is left to it for ever", "app*(sh(mid(tail)))", `
			sent app TERM; sh dies of TERM; snapshot at 100;
			why mid: not while app lives: it would only die of the signal; snapshot at 700;
			why mid: not while app lives: it would only die of the signal`},
		{"a sibling of the stop may be a helper", "npm*(sh(job[*,idle]))", `
			sent npm TERM; sh starts kill[*,session]; snapshot; sh exits; snapshot; kill exits; snapshot;
			sent job TERM`},
		{"one whose parent was never seen may be a helper", "npm*(sh(job[*,idle]))", `
			sent npm TERM; sh starts kill*; sh exits; snapshot; kill exits; snapshot; sent job TERM`},
		{"one in another session is no helper", "npm*(sh(job[*,idle]))", `
			sent npm TERM; sh starts kill[*,session]; sh exits; snapshot; sent job TERM`},
		{"one that was there before is no helper", "npm*(sh(job[*,idle] kill*))", `
			sent npm TERM; snapshot; sh exits; snapshot; sent job TERM; sent kill TERM`},
		{"one that another started is no helper", "npm*(sh(job[*,idle]))", `
			sent npm TERM; npm starts kill*; snapshot; sh exits; snapshot; sent job TERM`},
		{"a busy orphan is left to the process above", "app*(sh(job*))", `
			sent app TERM; snapshot; sh exits; snapshot; why job: left to app`},
		{"an untouched orphan is left to it for a time", "app*(sh(job[*,idle]))", `
			sent app TERM; snapshot; sh exits; snapshot; why job: left to app for 1s`},
		{"an untouched orphan is left to a dead one that is still to be waited for",
			"app*(sh(job[*,idle]))", `
			sent app TERM; snapshot; sh exits; app vanishes; snapshot; why job: left to app for 1s`},
		{"the living parent is named, not one that has gone", "app1*(app2*(app3*))", `
			sent app1 TERM; app1 exits; snapshot; why app2: may have been signalled by app1, which has gone;
			why app3: left to app2`},
		{"the parent may have died before any snapshot showed it", "app*", `
			sent app TERM; app starts mid[*,X](job*); snapshot; why job: left to its parent`},
		{"what each below a living one waits for",
			"app*(tail job1[ignores] job2[*,<other] job3[*,<job2,<job3])", `
			sent app TERM; snapshot; why tail: not while app lives: it would only die of the signal;
			why job1: not while app lives: it does not act upon the signal;
			why job2: waits until its writer has ended; why job3: waits until its writer job2 has ended`},
		{"a line is written once, until its rule changes", "app*(job*) | redis1* redis2*", `
			sent app TERM; snapshot; told redis1 redis2: waits until the worker has gone / job: left to app;
			snapshot; told; app exits; redis2 now <redis1; snapshot;
			told job: may have been signalled by app, which has gone (undecided) /
			redis2: waits until its writer redis1 has ended`},
		{"it is written anew when the last call may signal it", "app*(sh(job[*,<other]))", `
			sent app TERM; snapshot; told sh: not while app lives: it would only die of the signal /
			job: waits until its writer has ended; snapshot; told; sh exits; snapshot;
			told job: waits until its writer has ended; snapshot; told`},
		{"the final call leaves it to one that has woken it", "app1*(sh(app2*(app3[*,idle])))", `
			sent app1 TERM; snapshot; final call at 1200; sent app2 TERM; app3 now woken; final call at 1220;
			final call at 1399; final call at 1400; sent app3 TERM`},
		{"a manager keeps the signal from two until the final call", "app1*(sh(app2*(app3*)))", `
			sent app1 TERM; snapshot at 300; told sh: not while app1 lives: it would only die of the signal /
			app2: left to app1 / app3: left to app2; snapshot at 399; told; snapshot at 400;
			told app2: left to app1 (undecided); snapshot at 1000; told; last call at 1100; told;
			final call at 1200; sent app2 TERM; final call at 1204; told; final call at 1205;
			sent app3 TERM`},
	}},

	// They were there before the stop, or a shell started them beside the worker.
	{"daemons", []stop{
		{"an untouched daemon waits for the worker", "app* | redis[*,idle]", `
			sent app TERM; snapshot; app exits; snapshot; sent redis TERM: untouched`},
		{"a daemon sleeps for half a second before it is signalled", "app* | redis*", `
			sent app TERM; app exits; snapshot at 100; snapshot at 149; redis now busy; snapshot at 150;
			redis now rests; snapshot at 160; sent redis TERM`},
		{"half a second, to the tick", "app* | redis*", `
			sent app TERM; app exits; snapshot at 100; next in 50; snapshot at 149; snapshot at 150;
			sent redis TERM`},
		{"a worker without a handler has stopped no daemon", "app | redis*", `
			sent app TERM; app dies of TERM; snapshot; sent redis TERM`},
		{"server & exec worker", "app*(server[*,marked])", `
			sent app TERM; app exits; snapshot at 100; snapshot at 149; server now busy; snapshot at 150;
			server now rests; snapshot at 160; sent server TERM: a shell started it beside app`},
		{"such a server, where the other has no handler", "app(server[*,marked])", `
			sent app TERM; app exits; snapshot; sent server TERM: a shell started it beside app`},
		{"a shell with a trap has seen to its daemons", "bash* | redis*", `
			sent bash TERM; bash exits; snapshot; half a second; snapshot;
			why redis: it was there before the stop, and its shell has seen to it; last call;
			sent redis TERM`},
		{"such a server with a handler for INT", "app*(server[*,INT,-QUIT])", `
			sent app TERM; app exits; snapshot; half a second; snapshot; sent server TERM`},
		{"what the worker itself has started", "app*(server*)", `
			sent app TERM; app exits; snapshot; half a second; snapshot`},
		{"the worker was in the background, too", "app[*,marked](server[*,marked])", `
			sent app TERM; app exits; snapshot; half a second; snapshot`},
		{"a server that ignores QUIT alone", "app*(server[*,-QUIT])", `
			sent app TERM; app exits; snapshot; half a second; snapshot`},
		{"server & exec app, below a shell", "sh(app*(server[*,marked]))", `
			sent sh TERM; sh dies of TERM; snapshot; sent app TERM; successor app; app exits; snapshot;
			half a second; snapshot; sent server TERM`},
		{"server & exec app, where the server's pid was another's", "sh(app*(server[*,marked]))", `
			sent sh TERM; sh dies of TERM; server now newer; snapshot; sent app TERM; successor app;
			app exits; snapshot; half a second; snapshot`},
		{"server & exec app, where another may have signalled app", "outer*(app*(server[*,marked]))", `
			sent outer TERM; outer exits; snapshot; app exits; snapshot; half a second; snapshot`},
	}},

	// They end when their input does.
	{"readers", []stop{
		{"the worker is signalled, whatever it reads", "app1[*,<app2] | app2*", "sent app1 TERM"},
		{"what a daemonized worker left waits for its writer", "daemonized | app1[*,<app2] app2*", `
			sent app2 TERM`},
		{"a busy reader ends by itself", "sh(app1* app2[*,<app1])", `
			sent sh TERM; snapshot; sh dies of TERM; snapshot; sent app1 TERM; successor app1; app1 exits;
			app2 now busy; snapshot; last call; sent app2 TERM`},
		{"one that slept when its writer ended is no reader", "sh(app1[*,leads] app2[*,asleep,<app1])", `
			sent sh TERM; sh dies of TERM; snapshot; sent app1 TERM; successor app1; app1 exits; snapshot;
			next in 5; snapshot; sent app2 TERM`},
		{"one that woke when its writer ended is a reader", "sh(app1[*,leads] app2[*,asleep,<app1])", `
			sent sh TERM; sh dies of TERM; snapshot; sent app1 TERM; successor app1; app1 exits;
			app2 now woken; snapshot; next in 0; snapshot`},
		{"a call leaves a reader to its writer", "sh(app1* app2[*,<app1])", `
			sent sh TERM; sh exits; last call; sent app1 TERM`},
		{"a worker that exits by itself leaves a reader; a socket is no pipe",
			"| app1[*,pipe] app2[*,socket] app3[*,pipe] app4*", `
			sent app2 TERM; sent app4 TERM; next in 5; app3 now idle; snapshot; sent app3 TERM; last call;
			sent app1 TERM`},
	}},

	// Another may have signalled it, or it ends by itself.
	{"doubt", []stop{
		{"what ignored the signal may have had it, and is not certain later", "app1*(app2[ignores])", `
			sent app1 TERM; app1 exits; snapshot; why app2: may have been signalled by app1, which has gone;
			app2 now plain; snapshot; why app2: may have been signalled by app1, which has gone`},
		{"what ignores the signal is not untouched", "app1*(app2[ignores,idle](job*))", `
			sent app1 TERM; app1 exits; snapshot at 100; snapshot at 200`},
		{"nor is the first of a namespace", "app1*(app2[init,idle](job*))", `
			sent app1 TERM; app1 exits; snapshot at 100; snapshot at 200`},
		{"one that exits in order may have had a handler", "app(job*)", "sent app TERM; app exits; snapshot"},
		{"one that another has waited for has died of the group's signal",
			"app[ignores](job1(job2[*,leads]))", `
			stop by TERM group; sent app TERM; job1 dies of TERM; snapshot; sent job2 TERM`},
		{"what cleans up and ignores the signal passes nothing on", "app*", `
			sent app TERM; app starts tidy[ignores](job*); snapshot; app exits; job now idle; snapshot;
			sent job TERM`},
		{"one whose parent was never seen cleans up if it is of the session", "app*", `
			sent app TERM; app starts tidy*; app exits; snapshot; why tidy: it cleans up`},
		{"one of another session does not", "app*", `
			sent app TERM; app starts tidy[*,session]; app exits; snapshot;
			why tidy: may have been signalled by its parent, which has gone`},
		{"what sleeps for half a second is not stopping", "bash*(tail)", `
			sent bash TERM; bash exits; tail now asleep; snapshot at 10; snapshot at 50; snapshot at 61;
			sent tail TERM`},
		{"half a second of sleep, to the tick", "bash*(tail)", `
			sent bash TERM; bash exits; tail now asleep; snapshot at 10; snapshot at 59; snapshot at 60;
			sent tail TERM`},
		{"what runs is not stopping for more than ten seconds", "bash*(tail)", `
			sent bash TERM; bash exits; tail now busy; snapshot at 10; snapshot at 1009; snapshot at 1010;
			sent tail TERM`},
		{"what has run since may be stopping", "bash*(tail)", `
			sent bash TERM; bash exits; tail now asleep; snapshot at 10; tail now woken; snapshot at 50;
			snapshot at 61`},
		{"what is forgotten had a handler", "sh", `
			sent sh TERM; sh starts app1*(job[*,hidden]); sh starts app2*; snapshot; sh dies of TERM;
			snapshot; sent app1 TERM; sent app2 TERM; app1 dies of TERM; app2 dies of TERM; snapshot;
			snapshot; snapshot; job now shown; snapshot`},
		{"what is forgotten had none", "sh", `
			sent sh TERM; sh starts app1(job[*,hidden]); sh starts app2; snapshot; sh dies of TERM; snapshot;
			sent app1 TERM; sent app2 TERM; app1 dies of TERM; app2 dies of TERM; snapshot; snapshot;
			snapshot; job now shown; snapshot; sent job TERM`},
		{"a shell without a trap does not drain", "sh(mksh* tail)", `
			sent sh TERM; sh dies of TERM; snapshot; sent mksh TERM; sent tail TERM; successor mksh`},
		{"what is certain has its reason in a call", "sh(app*)", `
			sent sh TERM; sh dies of TERM; last call; sent app TERM: sh above has no handler;
			successor app`},
		{"what dies already is not signalled", "app*(sh(job*))", `
			sent app TERM; app dies of TERM; sh now dying; snapshot; last call; sent job TERM`},
		{"a worker that /proc hides lives until it is waited for", "app[hidden](job*) | redis*", `
			sent app TERM; snapshot; redis exits; app exits; snapshot; last call; sent job TERM`},
		{"so does one that could not be read", "app[X](job*) | redis*", `
			sent app TERM; snapshot; redis exits; app exits; snapshot; last call; sent job TERM`},
		{"a worker that is shown later is not signalled again", "app[*,hidden] | redis*", `
			sent app TERM; app now shown; snapshot; last call; sent redis TERM`},
		{"what had gone when its signal came has passed nothing on", "app*(job*)", `
			lost app TERM; app exits; snapshot; sent job TERM`},
		{"what was due and had gone has seen to nothing", "app[ignores](job1*(job2*))", `
			sent app TERM; snapshot; lost job1 TERM; job1 exits; final call at 500; sent job2 TERM`},
		{"a worker that was not waited for may have handled it", "app(job* tail)", `
			sent app TERM; app vanishes; snapshot; app dies of TERM; snapshot; sent job TERM; job exits;
			snapshot; sent tail TERM`},
		{"what was shown before the signal was started before it", "app*(job[newer])", `
			sent app TERM; snapshot; app exits; snapshot; sent job TERM`},
		{"what was shown after it in the same tick cleans up", "app*(job[newer,hidden])", `
			sent app TERM; job now shown; snapshot; app exits; snapshot`},
		{"a shell that dies of INT had no trap", "bash[INT](job[INT,leads])", `
			stop by INT group; sent bash INT; bash dies of INT; snapshot; sent job INT; successor job`},
		{"a program that dies of INT may have sent it to itself", "app[INT](job[INT,leads])", `
			stop by INT group; sent app INT; app dies of INT; snapshot`},
		{"without masks, what dies of it has passed nothing on", "app[unread](job[unread])", `
			sent app TERM; snapshot; app dies of TERM; snapshot; sent job TERM`},
		{"without masks, what exits may have", "app[unread](job[unread])", `
			sent app TERM; snapshot; app exits; snapshot`},
		{"without masks, what dies of another signal may have", "app[unread](job[unread])", `
			sent app TERM; snapshot; app dies of KILL; snapshot`},
		{"without masks, a child of one that was never seen", "app[unread](job[unread,hidden])", `
			sent app TERM; app dies of TERM; job now shown; snapshot; sent job TERM`},
		{"without masks, a child of one that exits", "app[unread](job[unread,hidden])", `
			sent app TERM; app exits; job now shown; snapshot`},
	}},

	// Which signal is sent, and where the platform sends it.
	{"signals", []stop{
		{"QUIT to a program", "app[QUIT,TERM,INT]", "stop by QUIT; sent app QUIT"},
		{"QUIT to a worker without a handler", "app", "stop by QUIT; sent app QUIT"},
		{"QUIT to a shell with a trap for it", "bash[QUIT,TERM,INT]", "stop by QUIT; sent bash QUIT"},
		{"QUIT to a shell with a trap for TERM", "bash[TERM]", "stop by QUIT; sent bash TERM"},
		{"QUIT to a shell whose masks are not known", "bash[unread]", "stop by QUIT; sent bash TERM"},
		{"INT to a shell with traps for both", "bash[QUIT,TERM,INT]", "stop by INT; sent bash TERM"},
		{"INT to a launcher with a handler for INT alone", "npm[INT]", "stop by INT; sent npm TERM"},
		{"QUIT to a launcher", "npm[QUIT,TERM,INT]", "stop by QUIT; sent npm TERM"},
		{"a program that handled INT once may have ended what is below it", "app1(app2[INT](job[INT]))", `
			stop by INT; sent app1 INT; app2 loses INT; last call`},
		{"a shell acts upon INT after its child only", "app1(bash[INT,waits](job[INT]))", `
			stop by INT; sent app1 INT; bash loses INT; last call; sent job INT`},
		{"what the platform has missed", "app*(job1[*,idle] job2[idle])", `
			stop by TERM none; app starts job3*; snapshot;
			told app job1 job2 job3: the platform signals each process (--forward none); last call;
			sent job1 TERM: the platform has not signalled it;
			sent job3 TERM: the platform has not signalled it`},
		{"no successor where the platform signals", "sh(app*)", `
			stop by TERM none; sh dies of TERM; snapshot`},
	}},

	// What INT does to shells. One that waits for none, or for its foreground, is interrupted with that.
	{"interrupts", []stop{
		{"a script that may have a trap, with its foreground", "bash[INT,waits](app[INT,fore])", `
			stop by INT; sent bash INT; snapshot; sent app INT; snapshot; snapshot`},
		{"a foreground without a handler", "bash[INT,waits](tail[fore])", `
			stop by INT; sent bash INT; snapshot; sent tail INT`},
		{"it runs, and so waits for none", "bash[INT](tail[fore])", "stop by INT; sent bash INT; snapshot"},
		{"its background", "bash[INT,waits](tail[back])", "stop by INT; sent bash INT; snapshot"},
		{"a launcher in its foreground", "bash[INT,waits](npm[INT,fore])", "stop by INT; sent bash TERM"},
		{"a child that may be in its foreground", "bash[INT,waits](app[INT])", "stop by INT; sent bash TERM"},
		{"a child that was not read in time", "bash[INT,waits](app[INT,nameless])", `
			stop by INT; sent bash INT; snapshot`},
		{"such a child of a shell that leaves no marks", "zsh[INT,waits](app[INT,nameless])", `
			stop by INT; sent zsh TERM`},
		{"a command without a trap", "bash[INT,command]", "stop by INT; sent bash TERM"},
		{"a shell that is not the worker", "app(bash[INT])", `
			stop by INT; sent app INT; app dies of INT; snapshot; sent bash TERM`},
		{"it starts the same again, and is sent TERM", "bash[INT,waits](app[INT,fore])", `
			stop by INT; sent bash INT; snapshot; sent app INT; app exits; bash starts app[INT,fore];
			snapshot; sent bash TERM: it goes on after SIGINT`},
		{"it starts the same without a handler", "bash[INT,waits](app[INT,fore])", `
			stop by INT; sent bash INT; snapshot; sent app INT; app exits; bash starts app[back]; snapshot`},
		{"its trap starts a launcher", "bash[INT,waits](app[INT,fore])", `
			stop by INT; sent bash INT; snapshot; sent app INT; app exits; bash starts npm[INT,TERM,fore];
			snapshot; final call at 3300; sent npm TERM`},
		{"it starts another", "bash[INT,waits](app[INT,fore])", `
			stop by INT; sent bash INT; snapshot; sent app INT; app exits; bash starts tidy[INT,fore];
			snapshot`},
		{"a program that starts the same again", "app[INT](job[INT])", `
			stop by INT; sent app INT; job exits; app starts job[INT]; snapshot`},
		{"QUIT, and it starts the same again", "bash[QUIT,waits](app[QUIT,fore])", `
			stop by QUIT; sent bash QUIT; snapshot; sent app QUIT; app exits; bash starts app[QUIT,fore];
			snapshot`},
	}},

	// Whose exit status counts.
	{"successors", []stop{
		{"one that was signalled with its group", "sh(app*)", `
			stop by TERM group; sent sh TERM; sh dies of TERM; snapshot; successor app`},
		{"a dead one below a shell that lives is waited for by that", "sh1(sh2(app*))", `
			stop by TERM group; sent sh1 TERM; sh1 dies of TERM; app vanishes; snapshot; successor sh2`},
		{"a signalled launcher is about to die", "sh(npm* app*)", `
			stop by TERM group; sent sh TERM; sh dies of TERM; snapshot; successor app`},
		{"one that has got its handler by an exec", "sh1(sh2)", `
			sent sh1 TERM; sh2 runs app; sh2 now *; snapshot; sh1 dies of TERM; snapshot; sent sh2 TERM;
			successor sh2`},
		{"one whose fork was under way when its group was signalled", "bash*", `
			stop by TERM group; sent bash TERM; bash starts app*; snapshot; bash dies of TERM; snapshot;
			successor app`},
		{"a dead one that none has waited for may be it", "sh(app*(job))", `
			stop by TERM group; sent sh TERM; sh dies of TERM; app vanishes; job vanishes; app exits;
			finally app`},
		{"it may be for one snapshot", "sh(app*(job))", `
			stop by TERM group; sent sh TERM; sh dies of TERM; app vanishes; job vanishes; snapshot;
			app exits; finally app`},
		{"it may be for three snapshots", "sh(app*(job))", `
			stop by TERM group; sent sh TERM; sh dies of TERM; app vanishes; job vanishes; snapshot; snapshot;
			snapshot; app exits; finally app`},
		{"it is none after four snapshots", "sh(app*(job))", `
			stop by TERM group; sent sh TERM; sh dies of TERM; app vanishes; job vanishes; snapshot; snapshot;
			snapshot; snapshot; app exits; finally`},
		{"what reads is none", "sh(app1* app2[*,<app1])", `
			stop by TERM group; sent sh TERM; sh dies of TERM; snapshot; successor app1`},
	}},

	// What was signalled passes nothing on.
	{"deaf", []stop{
		{"one that blocks it and waits for its one child", "app[blocks](job*)", `
			sent app TERM; snapshot at 4; snapshot at 5; sent job TERM; snapshot at 100`},
		{"the end of another child may wake it", "app[blocks](job* tail)", "sent app TERM; snapshot at 300"},
		{"so may a handler for a timer", "app[blocks,ALRM](job*)", "sent app TERM; snapshot at 300"},
		{"one that has taken it has handled it", "app[blocks](sh(job*))", `
			sent app TERM; app now took; snapshot; sh exits; snapshot; why job: left to app; app exits;
			snapshot; why job: may have been signalled by app, which has gone`},
		{"the first below a namespace's first", "app[init](sh(job1*(job2*)))", `
			sent app TERM; snapshot at 4; snapshot at 5; sent job1 TERM; snapshot at 100`},
		{"below one that ignores it, a mksh, which may have a trap", "app[ignores](mksh*(job*))", `
			sent app TERM; snapshot at 4; snapshot at 5; sent mksh TERM; snapshot at 100`},
		{"past two that ignore it", "app1[ignores](app2[ignores](job*))", `
			sent app1 TERM; snapshot at 4; snapshot at 5; sent job TERM; snapshot at 100`},
		{"the first that handles it", "app[blocks](sh(job1*(job2*)))", `
			sent app TERM; snapshot at 4; snapshot at 5; sent job1 TERM; snapshot at 100`},
		{"composer, which handles it and tells none", "composer*(sh(job1*(job2*)))", `
			sent composer TERM; snapshot at 4; snapshot at 5; sent job1 TERM; snapshot at 100`},
		{"a program that handles it", "app*(job[*,idle])", "sent app TERM; snapshot at 5; snapshot at 100"},
		{"one that had a handler, and ignores it now", "app[*,waits](job*)", `
			sent app TERM; app now ignores; snapshot at 100; snapshot at 200`},
		{"one that had a handler, and blocks another one now", "app[*,waits](job*)", `
			sent app TERM; app now blocks; snapshot at 100; snapshot at 200`},
		{"one that had a handler, and has none as an init", "app[*,waits](job*)", `
			sent app TERM; app now init; snapshot at 100; snapshot at 200`},
		{"one that looks for the signal now and then", "app[polls](job*)", `
			sent app TERM; snapshot at 300; final call at 3300; sent job TERM`},
		{"one that runs with it all the time", "app[blocks,R](job*)", "sent app TERM; snapshot at 300"},
		{"one that hangs with it all the time", "app[blocks,D](job*)", `
			sent app TERM; snapshot at 199; snapshot at 200; sent job TERM`},
		{"one with the pending signal", "sh[waits](job[*,idle])", `
			sent sh TERM; sh now blocks; snapshot at 300; sent job TERM`},
		{"one that hangs with it", "sh[waits](job[*,idle])", `
			sent sh TERM; sh now blocks; sh now D; snapshot at 300; sent job TERM`},
		{"one that runs with it", "sh[waits](job[*,idle])", `
			sent sh TERM; sh now blocks; sh now R; snapshot at 300`},
		{"one that is suspended with it", "sh[waits](job[*,idle])", `
			sent sh TERM; sh now blocks; sh now T; snapshot at 300`},
		{"one that is traced with it", "sh[waits](job[*,idle])", `
			sent sh TERM; sh now blocks; sh now t; snapshot at 300`},
		{"one with a handler and the pending signal", "app[*,waits](job[*,idle])", `
			sent app TERM; app now blocks; snapshot at 300`},
		{"one with a handler that hangs with it", "app[*,waits](job[*,idle])", `
			sent app TERM; app now blocks; app now D; snapshot at 300`},
		{"below a deaf one, of the group of one that may signal that", "app[ignores](job1*(job2*))", `
			sent app TERM; snapshot; sent job1 TERM; app starts job3*; snapshot`},
		{"below a deaf one, of another group", "app[ignores](job1*(job2*))", `
			sent app TERM; snapshot; sent job1 TERM; app starts job3[*,leads]; snapshot; sent job3 TERM`},

		{"below an orphan that ignores it, busy", "app*(deaf[ignores](job*))", `
			sent app TERM; app exits; snapshot at 100; snapshot at 200`},
		{"below an orphan that ignores it, untouched", "app*(deaf[ignores](job[*,idle]))", `
			sent app TERM; app exits; snapshot at 100; sent job TERM`},
		{"below an orphan that blocks it, busy", "app*(deaf[blocks](job*))", `
			sent app TERM; app exits; snapshot at 100; snapshot at 200`},
		{"below an orphan that blocks it, untouched", "app*(deaf[blocks](job[*,idle]))", `
			sent app TERM; app exits; snapshot at 100; sent job TERM`},
		{"below an orphan that is a namespace's first, busy", "app*(deaf[init](job*))", `
			sent app TERM; app exits; snapshot at 100; snapshot at 200`},
		{"below an orphan that is a namespace's first, untouched", "app*(deaf[init](job[*,idle]))", `
			sent app TERM; app exits; snapshot at 100; sent job TERM`},
		{"below an orphan that is a shell with a trap, busy", "app*(dash[*,waits](job*))", `
			sent app TERM; app exits; snapshot at 100; snapshot at 200`},
		{"below an orphan that is a shell with a trap, untouched", "app*(dash[*,waits](job[*,idle]))", `
			sent app TERM; app exits; snapshot at 100; sent job TERM`},
	}},

	// A shell with a trap waits for a child in its foreground. Bash shows that
	// it sleeps, and dash that it waits for its child.
	{"shells", []stop{
		{"dash waits for its child", "dash[*,waits](job*)", `
			sent dash TERM; snapshot at 4; snapshot at 5; sent job TERM;
			snapshot at 100`},
		{"dash waits for a shell", "dash[*,waits](sh(job*))", `
			sent dash TERM; snapshot at 4; snapshot at 5; sent job TERM; snapshot at 100`},
		{"bash waits for none", "bash*(job*)", "sent bash TERM; snapshot at 5; snapshot at 100"},
		{"bash may wait for its child", "bash[*,waits](job*)", `
			sent bash TERM; snapshot at 5; snapshot at 100`},
		{"bash may, where no trap has signalled the child", "bash[*,waits](job[*,idle])", `
			sent bash TERM; snapshot at 4; snapshot at 5; sent job TERM; snapshot at 100`},
		{"bash may wait for a shell above a busy one", "bash[*,waits](sh(job*))", `
			sent bash TERM; snapshot at 5; snapshot at 100`},
		{"mksh, whose handler proves nothing", "mksh[*,waits](job[*,idle])", `
			sent mksh TERM; snapshot at 4; snapshot at 5; sent job TERM; snapshot at 100`},
		{"a reader of a pipe is left", "dash[*,waits](job[*,<other])", `
			sent dash TERM; snapshot at 5; snapshot at 100`},
		{"its trap has started one, and so runs", "dash[*,waits](job1*)", `
			sent dash TERM; dash starts job2*; snapshot at 100; last call`},

		{"dash waits for the youngest", "dash[*,waits](job1* job2*)", `
			sent dash TERM; dash now elsewhere; snapshot; sent job2 TERM`},
		{"dash, which ran when it was signalled", "dash*(job*)", `
			sent dash TERM; dash now waits; snapshot; sent job TERM`},
		{"dash: what writes to the youngest", "dash[*,waits](job1* job2[*,<job1])", `
			sent dash TERM; snapshot; sent job1 TERM`},
		{"dash: a child with a group of its own, of set -m", "dash[*,waits](job1* job2[*,leads])", `
			sent dash TERM; snapshot; sent job2 TERM`},
		{"dash: a child in the background", "dash[*,waits](job1* job2[*,marked])", `
			sent dash TERM; snapshot`},
		{"dash, when a child has gone", "dash[*,waits](job1* job2*)", `
			sent dash TERM; job1 exits; snapshot at 2; snapshot at 100`},
		{"bash, where none was touched", "bash[*,waits](job1[*,idle] job2[*,idle])", `
			sent bash TERM; snapshot; sent job2 TERM`},
		{"bash, whose trap runs", "bash[*,waits](job1[*,idle] job2[*,idle])", `
			sent bash TERM; bash now elsewhere; snapshot`},
		{"bash, which ran when it was signalled", "bash*(job1[*,idle] job2[*,idle])", `
			sent bash TERM; bash now waits; snapshot`},
		{"bash, which ran when it was signalled, and its call is not shown",
			"bash*(job1[*,idle] job2[*,idle])", "sent bash TERM; bash now called; snapshot"},
		{"bash, whose call was never shown", "bash[*,called](job1[*,idle] job2[*,idle])", `
			sent bash TERM; snapshot; sent job2 TERM`},
		{"bash, where another was touched", "bash[*,waits](job1* job2[*,idle])", "sent bash TERM; snapshot"},
		{"bash, where it was itself", "bash[*,waits](job1[*,idle] job2*)", "sent bash TERM; snapshot"},
		{"bash, beside one that would have died", "bash[*,waits](tail job[*,idle])", `
			sent bash TERM; snapshot; sent job TERM`},
		{"bash: what writes to the youngest", "bash[*,waits](job1[*,idle] job2[*,idle,<job1])", `
			sent bash TERM; snapshot; sent job1 TERM`},
		{"bash: a child in the background", "bash[*,waits](job1[*,idle] job2[*,idle,marked])", `
			sent bash TERM; snapshot`},
		{"bash, by the marks", "bash[*,waits](job1[*,back] job2[*,fore])", `
			sent bash TERM; snapshot; sent job2 TERM`},
		{"bash, by the marks, when a child has gone", "bash[*,waits](job1[*,back] job2[*,fore])", `
			sent bash TERM; job1 exits; snapshot at 2; snapshot at 100`},
		{"zsh: what slept when its trap had run, and no trap has run since",
			"zsh[*,waits,asleep](job[*,idle])", `
			sent zsh TERM; next in 1; snapshot at 1; job now busy; snapshot at 6; next in 94; snapshot at 99;
			snapshot at 100; sent job TERM: untouched since zsh above has run`},
		{"zsh, which has run since", "zsh[*,waits,asleep](job[*,idle])", `
			sent zsh TERM; snapshot at 1; job now busy; zsh now woken; snapshot at 6; snapshot at 100`},
		{"zsh, whose trap has started one", "zsh[*,waits,asleep](job[*,idle])", `
			sent zsh TERM; zsh starts nap; snapshot at 1; job now busy; snapshot at 100; snapshot at 300`},
		{"zsh: a child in its background", "zsh[*,waits,asleep](job1[*,idle,marked] job2*)", `
			sent zsh TERM; snapshot at 1; job1 now busy; snapshot at 100; snapshot at 300`},
		{"another program that waits", "app[*,waits,asleep](job[*,idle])", `
			sent app TERM; next in 0; snapshot at 1; job now busy; snapshot at 100; snapshot at 300`},
		{"bash, by the marks, when it runs", "bash[*,waits](job1[*,back] job2[*,fore])", `
			sent bash TERM; bash now running; snapshot`},
	}},
}
