use strict;
use warnings;
no warnings 'recursion';
use Time::HiRes;

sub nap {
    my ($depth, $us) = @_;
    if ($depth > 0) {
        my $x = nap($depth - 1, $us);
        return $x;
    }
    Time::HiRes::usleep($us);
    return 1;
}

sub hold {
    my ($depth, $us) = @_;
    if ($depth > 0) {
        my $x = hold($depth - 1, $us);
        return $x;
    }
    select(undef, undef, undef, $us / 1e6);
    return 1;
}

for (1 .. $ARGV[0]) {
    nap(10, $ARGV[1]);
    hold(10, $ARGV[1]);
}
