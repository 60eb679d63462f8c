use strict;
use warnings;
no warnings 'recursion';

sub rest {
    my $ms = shift;
    select(undef, undef, undef, $ms / 1000) if $ms > 0;
    return;
}

sub one {
    my $x = getppid();
    return $x;
}

sub two {
    my $x = getppid() + getppid();
    return $x;
}

sub three {
    my $x = getppid() + getppid() + getppid();
    return $x;
}

sub down {
    my ($depth, $ms) = @_;
    if ($depth > 0) {
        my $x = down($depth - 1, $ms);
        return $x;
    }
    one();
    rest($ms);
    two();
    rest($ms);
    three();
    return rest($ms);
}

$| = 1;
print "ready\n";
<STDIN>;
down(10, $ARGV[1]) for 1 .. $ARGV[0];
print "done\n";
<STDIN>;
