import java.io.FileInputStream;
import java.io.IOException;

class Opens {
    static long sink;
    static int rounds, work;

    static void burn(int n) {
        for (int i = 0; i < n; i++) sink += i * (long) i % 7;
    }

    static void attempt(String path) {
        try {
            new FileInputStream(path).close();
        } catch (IOException e) {
            burn(work);
        }
    }

    static void one() {
        attempt("/nonexistent/one");
    }

    static void two() {
        attempt("/nonexistent/two");
    }

    static void down(int depth) {
        if (depth > 0) {
            down(depth - 1);
            return;
        }
        one();
        two();
        two();
    }

    public static void main(String[] args) throws IOException {
        rounds = Integer.parseInt(args[0]);
        work = Integer.parseInt(args[1]);
        System.out.println("ready");
        System.in.read();
        for (int i = 0; i < rounds; i++) {
            down(10);
        }
    }
}
