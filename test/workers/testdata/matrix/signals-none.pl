$SIG{TERM} = sub { };
unless ($c = fork) { exec "node app.js" }
1 while waitpid($c, 0) != $c;
exit $? >> 8;
