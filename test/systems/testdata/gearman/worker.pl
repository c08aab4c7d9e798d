use strict;
use warnings;
use Gearman::Worker;

sub record {
    open my $file, '>>', $ENV{RECORD} or die;
    syswrite $file, "@_\n";
}

my $stopping;
$SIG{TERM} = sub { $stopping = 1 };
my $worker = Gearman::Worker->new(job_servers => [$ENV{BROKER_URL}]);
$worker->register_function($ENV{QUEUE} => sub {
    my ($job, $seconds) = split /:/, $_[0]->arg;
    record('begin', $job);
    my $end = time + $seconds;
    sleep $end - time while time < $end;    # a signal ends it early
    record('done', $job);
});
$worker->work(stop_if => sub { $stopping }) until $stopping;
