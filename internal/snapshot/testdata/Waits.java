/** Waits has a thread that waits below calls of its own, and prints where that thread says it is. */
public class Waits {
    static final Object never = new Object();

    static void hold(int n) throws InterruptedException {
        if (n > 0) {
            hold(n - 1);
            return;
        }
        synchronized (never) {
            never.wait();
        }
    }

    static void begin() {
        try {
            hold(7);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    public static void main(String[] args) throws Exception {
        Thread thread = new Thread(Waits::begin, "waits");
        thread.setDaemon(true);
        thread.start();
        while (thread.getState() != Thread.State.WAITING) Thread.yield();
        for (StackTraceElement e : thread.getStackTrace()) {
            if (e.getClassName().equals("Waits")) System.out.println(e.getClassName() + "." + e.getMethodName() + ":" + e.getLineNumber());
        }
        System.out.println();
        System.in.read();
    }
}
