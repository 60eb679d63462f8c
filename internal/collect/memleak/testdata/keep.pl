use strict;
use warnings;
no warnings 'recursion';

my @kept;

sub one {
    my $a = '';
    vec($a, 100000, 8) = 1;
    push @kept, \$a;
}

sub two {
    my ($a, $b) = ('', '');
    vec($a, 100000, 8) = 1;
    vec($b, 100000, 8) = 1;
    push @kept, \$a, \$b;
}

sub three {
    my ($a, $b, $c) = ('', '', '');
    vec($a, 100000, 8) = 1;
    vec($b, 100000, 8) = 1;
    vec($c, 100000, 8) = 1;
    push @kept, \$a, \$b, \$c;
}

sub passing {
    my $a = '';
    vec($a, 100000, 8) = 1;
    undef $a;
    return 1;
}

sub down {
    my ($depth, $rest) = @_;
    if ($depth > 0) {
        my $x = down($depth - 1, $rest);
        return $x;
    }
    one();
    select(undef, undef, undef, $rest);
    two();
    select(undef, undef, undef, $rest);
    passing();
    three();
    select(undef, undef, undef, $rest);
    return 1;
}

$| = 1;
print "ready\n";
<STDIN>;
down(10, $ARGV[1]) for 1 .. $ARGV[0];
print "done\n";
<STDIN>;
